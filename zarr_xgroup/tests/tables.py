"""Tables of stores and expected output: a row has nodes, and the opened Dataset as text.

The text has a line for each variable, coordinates first and sorted by name, and for each warning::

    lat (y) 50.0 51.5 | axis=Y units=degrees
    spatial_ref () EPSG:4326
    data (y x) @ lat spatial_ref | grid_mapping=spatial_ref units=K
    ! Resolution: /data#/attributes/cs/crs/0: ...

The line of a coordinate has its dimensions, values and attributes. The line of a data variable has its
dimensions, coordinate names, and attributes except those of conventions. Dtypes are given if the numbers do
not show them. A dimension coordinate without an index has "no index".
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

#: Attributes of conventions, which the text omits because it shows their result.
_OF_CONVENTIONS = re.compile(
    r"(zarr_conventions|cs|crs|ref|uom|geolocation|multiscales|dggs|tile_matrix\w*|"
    r"(spatial|proj|coords|dimensions|stac)[:_].*)$"
)
#: A warning: its topic, the first arrays that it names, and its text.
_WARNED = re.compile(r"^(! \w+): ((?:/[^\s:#,]*)(?:, /[^\s:#,]*)*).*$")
#: Dtypes that the text omits.
_PLAIN = ("float64", "int64", "bool", "object")


def rows(table: Mapping[str, Any], names: str = "nodes, expected") -> pytest.MarkDecorator:
    """Return a mark that runs a test for each row of a table. Its keys become the ids."""
    is_single = "," not in names
    params = [
        pytest.param(row, id=topic) if is_single else pytest.param(*row, id=topic)
        for topic, row in table.items()
    ]
    return pytest.mark.parametrize(names, params)


def store_of(
    nodes: Group | Nodes, zarr_format: ZarrFormat = 3, *, consolidated: bool = False
) -> MemoryStore:
    """Return a store in memory. For the parameters see `build`."""
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
    """Open a store, compare it with the expected text, and return the opened object.

    Parameters
    ----------
    store : Group, mapping, or anything that xarray opens
        Nodes for `build`, the contents of a store by key, or an address or store.
    expected : str
        The text of `text_of`, and a line for each warning. Indentation and empty lines are ignored.
    only : str, optional
        The names of the variables to compare, separated by spaces, or ``coords`` for all
        coordinates. Warnings are always compared. Default: all variables.
    function : callable
        `xarray.open_dataset`, `open_datatree` or `open_groups`.
    zarr_format : {2, 3}
        The format of the nodes.
    **options
        Options for opening.
    """
    opened, lines = outcome(store, only=only, function=function, zarr_format=zarr_format, **options)
    assert lines == _lines(expected)
    return opened


def outcome(
    store: Any,
    *,
    only: str | None = None,
    function: Open = xr.open_dataset,
    zarr_format: ZarrFormat = 3,
    **options: Any,
) -> tuple[Any, list[str]]:
    """Return the opened object, or None if opening fails, and its text as lines; see `check`."""
    if isinstance(store, Mapping) and all(isinstance(value, bytes) for value in store.values()):
        store = memory_store(dict(store))
    elif isinstance(store, Group | Mapping):
        store = store_of(store, zarr_format)
    try:
        opened, given = opened_with_warnings(function, store, **options)
    except XGroupError as error:
        return None, [f"raises {type(error).__name__}: {error}"]
    names = None if only is None else only.split()
    warned = [f"! {_topic(warning)}: {warning}" for warning in given]
    return opened, [*text_of(opened, names), *warned]


def brief(store: Any, **options: Any) -> str:
    """Return the text of the opened object in one line, with only the topic and first arrays of each warning.

    This is for rows about names and dimensions, which are short. For the parameters see `check`.
    """
    _opened, lines = outcome(store, **options)
    return "; ".join(_WARNED.sub(r"\1 \2", line) for line in lines)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in dedent(text).strip().splitlines() if line.strip()]


def _topic(warning: Warning) -> str:
    return type(warning).__name__.removeprefix("XGroup").removesuffix("Warning")


def text_of(opened: Any, names: Sequence[str] | None = None) -> list[str]:
    """Return the text of a Dataset, or of each group of a tree or dict, as lines."""
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
            attrs = {
                key: value for key, value in array.attrs.items() if not _OF_CONVENTIONS.match(key)
            }
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
    text = " ".join(map(_text, values)) if values.ndim == 1 else _text(values)
    return f"{start}{dtype} {text}{index}{_attrs(array.attrs)}"


def _text(value: Any) -> str:
    """Return values of an array as text, with brackets around nested values."""
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
    """Return a time without trailing zeros for hours, minutes, seconds and fractions."""
    return re.sub(r"(T00)?(:00)?(:00)?(\.0+)?$", "", time) if time.endswith(("0", "00")) else time


def _attrs(attrs: Mapping[Any, Any]) -> str:
    if not attrs:
        return ""
    texts = {str(k): v if isinstance(v, str) else _json(v) for k, v in attrs.items()}
    return " | " + " ".join(f"{key}={texts[key]}" for key in sorted(texts))


def _json(value: Any) -> str:
    return json.dumps(value, default=lambda it: it.tolist() if hasattr(it, "tolist") else str(it))


__all__ = ["Contents", "brief", "check", "outcome", "rows", "store_of", "text_of"]
