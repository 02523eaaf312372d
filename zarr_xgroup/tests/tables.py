"""Tables of stores and of what comes out of them: a row has nodes, and the Dataset they open as, in text.

The text has a line for each variable, coordinates first, each by name, and one for each warning::

    lat (y) 50.0 51.5 | axis=Y units=degrees
    spatial_ref () EPSG:4326
    data (y x) @ lat spatial_ref | grid_mapping=spatial_ref units=K
    ! Resolution: /data#/attributes/cs/crs/0: ...

A coordinate has its dimensions, its values and its attributes, a variable of data has its dimensions, the names
of its coordinates, and its attributes but those of conventions. Dtypes are told where numbers do not
show them, and indexes where a dimension coordinate has none.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Any

import cftime
import numpy as np
import pyproj
import pytest
import xarray as xr
from zarr.storage import MemoryStore

from zarr_xgroup import XGroupError
from zarr_xgroup.tests.builders import (
    Contents,
    Group,
    Nodes,
    Open,
    ZarrFormat,
    build,
    memory_store,
    opened_with_warnings,
)

#: Attributes that conventions are declared by: what they say is told by what comes out of it.
_OF_CONVENTIONS = re.compile(
    r"(zarr_conventions|cs|crs|ref|uom|geolocation|multiscales|dggs|tile_matrix\w*|"
    r"(spatial|proj|coords|dimensions|stac)[:_].*)$"
)
#: A warning: its topic, the arrays that it names first, and its text.
_WARNED = re.compile(r"^(! \w+): ((?:/[^\s:#,]*)(?:, /[^\s:#,]*)*).*$")
#: What numbers in the text are without being said to be.
_PLAIN = ("float64", "int64", "bool", "object")


def rows(table: Mapping[str, Any], names: str = "nodes, expected") -> pytest.MarkDecorator:
    """Return what runs a test for each row of a table, whose keys say what a row is about."""
    is_single = "," not in names
    params = [
        pytest.param(row, id=about) if is_single else pytest.param(*row, id=about)
        for about, row in table.items()
    ]
    return pytest.mark.parametrize(names, params)


def store_of(
    nodes: Group | Nodes, zarr_format: ZarrFormat = 3, *, consolidated: bool = False
) -> MemoryStore:
    """Return a store in memory; for parameters see `build`."""
    return memory_store(build(nodes, zarr_format, consolidated=consolidated))


def check(
    store: Any,
    expected: str,
    *,
    only: str | None = None,
    function: Open = xr.open_dataset,
    zarr_format: ZarrFormat = 3,
    **options: Any,
) -> Any:
    """Assert what a store opens as, and return that.

    Parameters
    ----------
    store : Group, mapping, or anything that names a store
        Nodes as `build` takes them, the contents of a store by key, or what xarray opens.
    expected : str
        The text, see `text_of`; indentation and empty lines do not matter.
    only : str, optional
        The names of the variables that are looked at, with spaces between them, or ``coords`` for all
        coordinates; warnings always are. Default: all variables.
    function : callable
        Opens the store: `xarray.open_dataset`, `open_datatree` or `open_groups`.
    zarr_format : {2, 3}
        How nodes are written.
    **options
        What it is opened with.
    """
    opened, found = outcome(store, only=only, function=function, zarr_format=zarr_format, **options)
    assert found == _lines(expected)
    return opened


def outcome(
    store: Any,
    *,
    only: str | None = None,
    function: Open = xr.open_dataset,
    zarr_format: ZarrFormat = 3,
    **options: Any,
) -> tuple[Any, list[str]]:
    """Return what a store opens as, None if that fails, and the lines of text that tell it; see `check`."""
    if isinstance(store, Mapping) and all(isinstance(it, bytes) for it in store.values()):
        store = memory_store(dict(store))
    elif isinstance(store, Group | Mapping):
        store = store_of(store, zarr_format)
    try:
        opened, given = opened_with_warnings(function, store, **options)
    except XGroupError as error:
        return None, [f"raises {type(error).__name__}: {error}"]
    names = None if only is None else only.split()
    told = [f"! {_topic(warning)}: {warning}" for warning in given]
    return opened, [*text_of(opened, names), *told]


def brief(store: Any, **options: Any) -> str:
    """Return what a store opens as in one line: of warnings their topics, and the arrays that they name first.

    For rows about names and dimensions, whose lines are short; for parameters see `check`.
    """
    _opened, lines = outcome(store, **options)
    return "; ".join(_WARNED.sub(r"\1 \2", line) for line in lines)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in dedent(text).strip().splitlines() if line.strip()]


def _topic(warning: Warning) -> str:
    return type(warning).__name__.removeprefix("XGroup").removesuffix("Warning")


def text_of(opened: Any, names: Sequence[str] | None = None) -> list[str]:
    """Return the lines that tell a Dataset, or the groups of a tree or of a dict under their paths."""
    if isinstance(opened, xr.Dataset):
        return list(_dataset_lines(opened, names))
    if isinstance(opened, xr.DataTree):
        opened = {node.path: node.to_dataset(inherit=False) for node in opened.subtree}
    lines = []
    for path, dataset in opened.items():
        lines += [f"{path}:", *_dataset_lines(dataset, names)]
    return lines


def _dataset_lines(dataset: xr.Dataset, names: Sequence[str] | None) -> Iterator[str]:
    for name in sorted(dataset.coords, key=str):
        if names is None or name in names or names == ["coords"]:
            yield _coordinate_line(dataset, str(name))
    for name in sorted(dataset.data_vars, key=str):
        if names is None or name in names:
            array = dataset[name]
            coords = " ".join(["", "@", *sorted(map(str, array.coords))]) if array.coords else ""
            attrs = {key: it for key, it in array.attrs.items() if not _OF_CONVENTIONS.match(key)}
            yield f"{name} ({' '.join(map(str, array.dims))}){coords}{_attrs(attrs)}"


def _coordinate_line(dataset: xr.Dataset, name: str) -> str:
    array = dataset.coords[name].variable
    start = f"{name} ({' '.join(map(str, array.dims))})"
    if "crs_wkt" in array.attrs:
        crs = pyproj.CRS.from_wkt(array.attrs["crs_wkt"])
        transform = {k: v for k, v in array.attrs.items() if k == "GeoTransform"}
        return f"{start} {':'.join(crs.to_authority() or (crs.name,))}{_attrs(transform)}"
    dtype = "" if array.dtype.name in _PLAIN or array.dtype.kind in "UMmT" else f" {array.dtype}"
    index = " no index" if array.dims == (name,) and name not in dataset.xindexes else ""
    values = np.asarray(array.values)
    text = " ".join(_text(it) for it in values) if values.ndim == 1 else _text(values)
    return f"{start}{dtype} {text}{index}{_attrs(array.attrs)}"


def _text(value: Any) -> str:
    """Return values of an array as text, nested ones in brackets."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"[{' '.join(map(_text, value))}]"
    if isinstance(value, np.ndarray):
        value = value[()]
    if isinstance(value, np.datetime64):
        return _short(np.datetime_as_string(value))
    if isinstance(value, cftime.datetime):
        return f"{value.calendar}:{_short(value.isoformat())}"
    if isinstance(value, np.timedelta64):
        return str(value.astype("timedelta64[s]"))
    return str(value.item() if isinstance(value, np.generic) else value)


def _short(time: str) -> str:
    """Return a time without the fractions, seconds, minutes and hours that are zero."""
    return re.sub(r"(T00)?(:00)?(:00)?(\.0+)?$", "", time) if time.endswith(("0", "00")) else time


def _attrs(attrs: Mapping[Any, Any]) -> str:
    if not attrs:
        return ""
    texts = {str(k): v if isinstance(v, str) else _json(v) for k, v in attrs.items()}
    return " | " + " ".join(f"{key}={texts[key]}" for key in sorted(texts))


def _json(value: Any) -> str:
    return json.dumps(value, default=lambda it: it.tolist() if hasattr(it, "tolist") else str(it))


__all__ = ["Contents", "brief", "check", "outcome", "rows", "store_of", "text_of"]
