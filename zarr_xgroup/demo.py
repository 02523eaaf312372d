"""The demonstration: one small store, opened with engine zarr and with engine xgroup.

Run it with ``xgroup demo``. The store is ``demo.zarr`` beside this module, which
``scripts/make_demo_store.py`` of the repository writes.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from rich.box import MINIMAL
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zarr_xgroup.errors import XGroupWarning
from zarr_xgroup.i18n import _
from zarr_xgroup.report.terminal import TWO_COLUMNS, StreamConsole, literal, print_lines, wrapped

STORE = Path(__file__).with_name("demo.zarr")

_WIDEST = 120


#: The groups of the store that are opened as trees.
_TREES = ("/model", "/")


def comparisons() -> dict[str, str]:
    """Return what is different, by group to open: what conventions declare, what is unusual, all."""
    return {
        "/ocean": _(
            "What an array declares by cs is attached: latitudes and longitudes from two numbers "
            "each, their bounds, and a time axis of another group, decoded in its calendar. Engine "
            "zarr knows none of it."
        ),
        "/scene": _(
            "A spatial:transform becomes x and y at the centres of cells, a proj:code becomes "
            "spatial_ref, where GDAL, rioxarray and others look for the CRS."
        ),
        "/swath/data": _(
            "Latitudes and longitudes that a geolocation refers to are attached from the group "
            "where they are."
        ),
        "/buoy": _("Where engine zarr opens a group, engine xgroup returns the identical Dataset."),
        "/satellite": _(
            "A _FillValue in plain JSON, as GeoZarr writes it, fails in engine zarr; engine xgroup "
            "masks missing data by it."
        ),
        "/radar": _(
            "An array without dimension names fails in engine zarr; engine xgroup numbers its "
            "dimensions (phony_dim_0, ...)."
        ),
        "/model": _(
            "A group that does not align with its parent makes engine zarr refuse the tree; engine "
            "xgroup renames the dimensions of that group."
        ),
        "/": _("One unusual array costs engine zarr the whole tree; in engine xgroup all opens."),
    }


def main() -> int:
    """Compare the engines on the store, and print what they give."""
    console = StreamConsole(sys.stdout)
    console.width = min(console.width, _WIDEST)
    _print(
        console,
        _(
            "One small hierarchical Zarr store, opened with xarray's own engine and with this "
            "package's: first what its conventions declare, then what is unusual in it. A star "
            "marks a coordinate."
        ),
    )
    told: Sequence[str] = ()
    for number, (group, difference) in enumerate(comparisons().items(), 1):
        function = "open_datatree" if group in _TREES else "open_dataset"
        _print_heading(console, f'{number}. xr.{function}(store, group="{group}")')
        _print(console, difference)
        console.print()
        (theirs, _told), (ours, told) = (
            attempt(function, group, engine) for engine in ("zarr", "xgroup")
        )
        _print_beside(console, theirs, ours)
        console.print()
        _print(console, f"=> {_verdict(theirs, ours)}", indent=3)
    # The whole store comes last: its warnings are about all the others, too.
    _print_heading(console, _("What engine xgroup told of the whole store, in warnings"))
    for text in told:
        _print(console, f"- {text}", indent=2)
    return 0


def attempt(function: str, group: str, engine: str) -> tuple[Any, list[str]]:
    """Open a group with an engine: return what was opened, or the error, and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opened: Any
        try:
            opened = getattr(xr, function)(STORE, engine=engine, group=group)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is what is shown
            opened = error
    given = [it for it in caught if issubclass(it.category, XGroupWarning)]
    return opened, [f"{it.category.__name__}: {it.message}" for it in given]


def _verdict(theirs: Any, ours: Any) -> str:
    if isinstance(theirs, Exception):
        return _("Only engine xgroup opens it.")
    if theirs.identical(ours):
        return _("Identical.")
    names = ", ".join(sorted({*map(str, ours.coords)} - {*map(str, theirs.coords)}))
    return _("Both open it. Only engine xgroup attaches {names}.").format(names=names)


def _lines(opened: Any) -> Iterator[str]:
    """Yield an error and its causes, or the variables of a Dataset, or of each node of a tree."""
    if isinstance(opened, Exception):
        yield from _error_lines(opened)
    elif isinstance(opened, xr.DataTree):
        for node in opened.subtree:
            yield node.path
            yield from _variables(node.to_dataset(inherit=False), lambda _coordinate: "")
    else:
        yield from _variables(opened, _values)
        if bare := ", ".join(str(name) for name in opened.sizes if name not in opened.coords):
            yield f"Dimensions without coordinates: {bare}"


def _variables(dataset: xr.Dataset, values: Callable[[xr.DataArray], str]) -> Iterator[str]:
    """Yield a line for each variable, coordinates with a star, and what their values are."""
    # Sorted, since engine zarr gives variables in the order in which they happened to be read.
    for name in (*sorted(dataset.coords, key=str), *sorted(dataset.data_vars, key=str)):
        variable = dataset[name]
        sizes = ", ".join(f"{dimension}: {size}" for dimension, size in variable.sizes.items())
        star, told = ("*", values(variable)) if name in dataset.coords else (" ", "")
        yield f"  {star} {name} ({sizes}) {variable.dtype} {told}".rstrip()


def _values(coordinate: xr.DataArray) -> str:
    """Return the first and the last value of a coordinate with their unit; of a CRS what it is."""
    if "bounds" in coordinate.dims:
        return ""
    if "grid_mapping_name" in coordinate.attrs:
        return str(coordinate.attrs["grid_mapping_name"])
    values = coordinate.values.ravel()
    ends = " .. ".join(_value(value) for value in (values[0], values[-1]))
    return f"{ends} {coordinate.attrs.get('units', '')}"


def _value(value: object) -> str:
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[m]")).replace("T", " ")
    return str(value).removesuffix(" 00:00:00")


def _error_lines(error: BaseException | None) -> Iterator[str]:
    """Yield the first lines of an error and of what caused it."""
    while error is not None:
        kind = type(error)
        module = "" if kind.__module__ == "builtins" else f"{kind.__module__.split('.')[-1]}."
        # Not str(error), which for a KeyError is the repr of its message.
        text = str(error.args[0]) if error.args else ""
        yield f"{module}{kind.__name__}: {text.partition(chr(10))[0]}"
        error = error.__cause__


def _print(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    print_lines(console, wrapped(console, literal(text, style), console.width, indent))


def _print_heading(console: Console, text: str) -> None:
    rule = "-" if console.options.ascii_only else "─"
    console.print()
    _print(console, text, "bold")
    console.print(Text(rule * console.width, "dim"))


def _print_beside(console: Console, *opened: Any) -> None:
    """Print what both engines gave in two columns, or one below the other if there is no room."""
    is_wide = console.width >= TWO_COLUMNS
    width = (console.width - 3) // 2 if is_wide else console.width
    table = Table(box=MINIMAL, show_edge=False, show_header=False, pad_edge=False)
    columns = []
    for engine, given in zip(("zarr", "xgroup"), opened, strict=True):
        style = "red" if isinstance(given, Exception) else "green"
        texts = [
            literal(f'engine="{engine}"', "bold"),
            *(literal(it, style) for it in _lines(given)),
        ]
        lines = [line for text in texts for line in wrapped(console, text, width, 6)]
        columns.append(Text("\n").join(lines))
        table.add_column(width=width)
    if is_wide:
        table.add_row(*columns)
        console.print(table)
    else:
        console.print(*columns, sep="\n")
