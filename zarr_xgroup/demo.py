"""The demonstration: one small store, opened with engine zarr and with engine xgroup.

Run it with ``xgroup demo``. The store is ``demo.zarr`` next to this module. ``scripts/make_demo_store.py`` of the
repository writes it.
"""

import os
import shlex
import shutil
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import pyproj
import xarray as xr
from rich import box
from rich.table import Table
from rich.text import Text

from zarr_xgroup.errors import XGroupWarning
from zarr_xgroup.report.terminal import StreamConsole, Wrapped, literal

STORE = Path(__file__).with_name("demo.zarr")

#: Groups with declared conventions first, then unusual ones. The last two are opened as trees.
GROUPS = ("/ocean", "/scene", "/swath/data", "/buoy", "/satellite", "/radar", "/model", "/")
TREES = ("/model", "/")

_WIDEST = 100

#: What to try next, and the arguments of the command; none of them is about the user's own store, which is not known.
_NEXT = (
    ("Where each coordinate of this store comes from", "explain"),
    ("Mistakes in its metadata", "check"),
)

#: The longest text of a warning that is shown, in characters.
_LONGEST_WARNING = 145


def main() -> int:
    """Print a table of each group as both engines open it, the warnings, and what to try next."""
    console = StreamConsole(sys.stdout)
    console.width = min(console.width, _WIDEST)
    title = "The groups of one Zarr store, opened with two engines (* has an index)"
    console.print(Wrapped(literal(title, "bold")))
    table = Table(box=box.SIMPLE_HEAD, expand=True, leading=1, pad_edge=False)
    table.add_column(literal("group"), no_wrap=True, overflow="ignore")
    for engine, ratio in (("zarr", 2), ("xgroup", 3)):
        table.add_column(literal(f'engine="{engine}"'), overflow="fold", ratio=ratio)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for group in GROUPS:
            given.clear()  # the last group is the whole store: its warnings include those of all groups
            cells = [_cell(opened(group, engine)) for engine in ("zarr", "xgroup")]
            table.add_row(literal(group, "bold"), *cells)
    console.print(table)
    texts = [str(it.message) for it in given if issubclass(it.category, XGroupWarning)]
    if texts:
        console.print(literal("Engine xgroup warns about the whole store:", "bold"))
    for text in texts:
        shown = textwrap.shorten(text, _LONGEST_WARNING, placeholder=" ...")
        console.print(Wrapped(literal(shown, "yellow"), indent=2))
    for purpose, command in _NEXT:
        console.print(literal(f"{purpose}:", "bold"))
        # Never wrapped, so that it can be copied.
        line = literal(f"  {_program()} {command} {_from_here(STORE)}", "cyan")
        console.print(line, soft_wrap=True)
    return 0


def _program() -> str:
    """Return the start of a command that runs this package, from where the user is."""
    script = shutil.which("xgroup")
    if script is not None and Path(script).parent == Path(sys.executable).parent:
        return "xgroup"
    return f"{_from_here(Path(sys.executable))} -m zarr_xgroup"


def _from_here(path: Path) -> str:
    """Return a path for the shell, relative to the working directory if it is below that."""
    here = Path.cwd()
    text = str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
    return shlex.quote(text) if os.name == "posix" else subprocess.list2cmdline([text])


def opened(group: str, engine: str) -> Any:
    """Return a group as an engine opens it, a Dataset or a tree, or the error that the engine raises."""
    try:
        if group in TREES:
            return xr.open_datatree(STORE, engine=engine, group=group)
        return xr.open_dataset(STORE, engine=engine, group=group)
    except Exception as error:  # noqa: BLE001 - any error is a result here
        return error


def _cell(result: Any) -> Text:
    """Return the coordinates, the CRS and the data of a Dataset, the size of a tree, or the name of an error."""
    if isinstance(result, Exception):
        kind = type(result.__cause__ or result)  # the cause is more specific
        module = f"{kind.__module__}." if kind.__name__ == "Error" else ""
        return literal(f"fails: {module}{kind.__name__}", "red")
    if isinstance(result, xr.DataTree):
        nodes = list(result.subtree)
        with_data = sum(bool(node.data_vars) for node in nodes)
        return literal("tree:   ", "dim") + f"{len(nodes)} groups, {with_data} with data"
    # Sorted: engine zarr returns variables in the order in which they are read.
    names = sorted(map(str, result.coords), key=lambda name: (name not in result.indexes, name))
    facts = {
        "coords": [f"*{name}" if name in result.indexes else name for name in names],
        "CRS": _crs_codes(result),
        "data": sorted(map(str, result.data_vars)),
    }
    lines = [
        literal(f"{fact + ':':8}", "dim") + literal(", ".join(words), "green")
        for fact, words in facts.items()
        if words
    ]
    return Text("\n").join(lines)


def _crs_codes(dataset: xr.Dataset) -> list[str]:
    """Return the codes of the CRSs in the coordinates of a Dataset, or their names if they have no code."""
    texts = [
        variable.attrs["crs_wkt"]
        for variable in dataset.coords.values()
        if "crs_wkt" in variable.attrs
    ]
    systems = map(pyproj.CRS.from_wkt, texts)
    return [":".join(crs.to_authority() or (crs.name,)) for crs in systems]
