"""The demonstration: what engine zarr and engine xgroup give of the groups of one small store.

Run it with ``xgroup demo``. The store is ``demo.zarr`` beside this module, which
``scripts/make_demo_store.py`` of the repository writes.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import xarray as xr
from rich.table import Table
from rich.text import Text

from zarr_xgroup.errors import XGroupWarning
from zarr_xgroup.report.terminal import StreamConsole, Wrapped, literal

STORE = Path(__file__).with_name("demo.zarr")

#: What conventions declare comes first, then what is unusual; the last two are opened as trees.
GROUPS = ("/ocean", "/scene", "/swath/data", "/buoy", "/satellite", "/radar", "/model", "/")
TREES = ("/model", "/")

_WIDEST = 120


def main() -> int:
    """Print a table of what both engines give for each group, and what was warned of."""
    console = StreamConsole(sys.stdout)
    console.width = min(console.width, _WIDEST)
    title = "A small hierarchical Zarr store: variables by group and engine, * coordinates"
    console.print(Wrapped(literal(title, "bold")))
    table = Table(show_lines=True, expand=True)
    for heading in ("group", 'engine="zarr"', 'engine="xgroup"'):
        table.add_column(literal(heading), overflow="fold", ratio=1 + 2 * ("=" in heading))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for group in GROUPS:
            given.clear()  # the whole store comes last: its warnings are about all the others, too
            cells = [_cell(opened(group, engine)) for engine in ("zarr", "xgroup")]
            table.add_row(literal(group), *cells)
    console.print(table)
    for warning in given:
        if issubclass(warning.category, XGroupWarning):
            text = literal(f"{warning.category.__name__}: {warning.message}")
            console.print(Wrapped(text))
    return 0


def opened(group: str, engine: str) -> Any:
    """Return what an engine gives of a group: a Dataset, a tree, or the error that it raises."""
    try:
        if group in TREES:
            return xr.open_datatree(STORE, engine=engine, group=group)
        return xr.open_dataset(STORE, engine=engine, group=group)
    except Exception as error:  # noqa: BLE001 - whatever an engine raises is what is shown
        return error


def _cell(given: Any) -> Text:
    """Return a line for each variable of a Dataset, or for each group of a tree; or an error in red.

    Coordinates come first and have a star. Names are sorted, since engine zarr gives variables in the
    order in which they happened to be read.
    """
    if isinstance(given, Exception):
        # The cause says more; and str(error) of a KeyError is the repr of its message.
        error = given.__cause__ or given
        return literal(f"{type(error).__name__}: {(error.args or ('',))[0]}", "red")
    nodes = {"": given}
    if isinstance(given, xr.DataTree):
        nodes = {node.path: node.to_dataset(inherit=False) for node in given.subtree}
    lines = []
    for path, dataset in nodes.items():
        variables = [("*", name) for name in sorted(dataset.coords, key=str)]
        variables += [("", name) for name in sorted(dataset.data_vars, key=str)]
        if path:
            lines.append(f"{path}: {', '.join(f'{star}{name}' for star, name in variables)}")
            continue
        for star, name in variables:
            sizes = ", ".join(f"{dim}: {size}" for dim, size in dataset[name].sizes.items())
            lines.append(f"{star:1} {name} ({sizes})")
    return Text("\n").join(literal(line, "green") for line in lines)
