"""The demonstration: one small store, opened with engine zarr and with engine xgroup.

Run it with ``xgroup demo``. What it shows is the list that `comparisons`
returns; each needs something in the store that `write_store` writes.
"""

import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import xarray as xr
import zarr
from rich.console import Console
from rich.text import Text

from zarr_xgroup.errors import XGroupWarning
from zarr_xgroup.i18n import _
from zarr_xgroup.report.terminal import (
    TWO_COLUMNS,
    StreamConsole,
    beside,
    print_lines,
    said,
    wrapped,
)

Opened: TypeAlias = xr.Dataset | xr.DataTree

_WIDEST = 120


@dataclass(frozen=True)
class Comparison:
    """Something to open with both engines.

    Attributes
    ----------
    title : str
        What is special about it.
    function : {"open_dataset", "open_datatree"}
        The function of xarray that opens it.
    group : str
        The group to open.
    difference : str
        One sentence: what the engines make of it.
    """

    title: str
    function: Literal["open_dataset", "open_datatree"]
    group: str
    difference: str

    def open(self, store: Path, engine: str) -> Opened:
        """Open it with an engine."""
        opened: Opened = getattr(xr, self.function)(store, engine=engine, group=self.group)
        return opened


@dataclass(frozen=True)
class Outcome:
    """What an engine gave.

    Attributes
    ----------
    lines : list of str
        A summary of what was opened, or the error.
    opened : xarray.Dataset, xarray.DataTree or None
        None if there was an error.
    warnings : list of XGroupWarning
        The warnings given.
    """

    lines: list[str]
    opened: Opened | None = None
    warnings: list[XGroupWarning] = field(default_factory=list)


def main() -> int:
    """Make the store in a temporary folder, compare the engines on it, print what they give."""
    console = StreamConsole(sys.stdout)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "demo.zarr"
        write_store(store)
        print_lines(console, show(store, console))
    return 0


def write_store(target: Path) -> None:
    """Write a small hierarchical v3 store, with what is found in real ones.

    Parameters
    ----------
    target : Path
        Where to; must not exist.
    """
    root = zarr.create_group(target, zarr_format=3)
    _write_axes_of_all(root.create_group("axes"))
    _write_ocean(root.create_group("ocean"))
    _write_scene(root.create_group("scene"))
    _write_swath(root.create_group("swath"))
    _write_buoy(root.create_group("buoy"))
    _write_satellite(root.create_group("satellite"))
    _write_radar(root.create_group("radar"))
    _write_model(root.create_group("model"))


def comparisons() -> list[Comparison]:
    """Return what to compare, in the order in which it is shown."""
    return [*_of_conventions(), *_of_unusual_stores()]


def _of_conventions() -> list[Comparison]:
    """Return what engine zarr makes of conventions."""
    return [
        Comparison(
            _("cs: coordinates that arrays declare, a time axis that another group has"),
            "open_dataset",
            "/ocean",
            _(
                "What an array declares by cs is attached: latitudes and longitudes from two "
                "numbers each, their bounds, and a time axis of another group, decoded in its "
                "calendar. Engine zarr knows none of it."
            ),
        ),
        Comparison(
            _("spatial and proj: coordinates from a transform, and their CRS"),
            "open_dataset",
            "/scene",
            _(
                "A spatial:transform becomes x and y at the centres of cells, a proj:code becomes "
                "spatial_ref, where GDAL, rioxarray and others look for the CRS."
            ),
        ),
        Comparison(
            _("geolocation: where the cells of a swath are"),
            "open_dataset",
            "/swath/data",
            _(
                "Latitudes and longitudes that a geolocation refers to are attached from the group "
                "where they are."
            ),
        ),
    ]


def _of_unusual_stores() -> list[Comparison]:
    """Return what engine zarr makes of groups as they come, the last of which is all of them."""
    return [
        Comparison(
            _("A group as any other"),
            "open_dataset",
            "/buoy",
            _("Where engine zarr opens a group, engine xgroup returns the identical Dataset."),
        ),
        Comparison(
            _('A _FillValue written as plain JSON: "NaN"'),
            "open_dataset",
            "/satellite",
            _(
                "A _FillValue in plain JSON, as GeoZarr writes it, fails in engine zarr; engine "
                "xgroup masks missing data by it."
            ),
        ),
        Comparison(
            _("An array without dimension names"),
            "open_dataset",
            "/radar",
            _(
                "An array without dimension names fails in engine zarr; engine xgroup numbers "
                "its dimensions (phony_dim_0, ...)."
            ),
        ),
        Comparison(
            _("A subgroup whose x and y have other sizes than its parent's"),
            "open_datatree",
            "/model",
            _(
                "A group that does not align with its parent makes engine zarr refuse the tree; "
                "engine xgroup renames the dimensions of that group."
            ),
        ),
        Comparison(
            _("The whole store"),
            "open_datatree",
            "/",
            _("One unusual array costs engine zarr the whole tree; in engine xgroup all opens."),
        ),
    ]


def show(store: Path, console: Console) -> Iterator[Text]:
    """Yield the lines of the demonstration.

    Parameters
    ----------
    store : Path
        What `write_store` wrote.
    console : rich.console.Console
        Where it is drawn.
    """
    page = _Page(console)
    compared = comparisons()
    yield from page.paragraph(
        _(
            "One small hierarchical Zarr store, opened with xarray's own engine and with this "
            "package's: first what its conventions declare, then what is unusual in it. A star "
            "marks a coordinate."
        )
    )
    yield Text()
    for number, comparison in enumerate(compared, 1):
        yield from page.heading(f"{number}. {comparison.title}")
        yield from page.paragraph(f'xr.{comparison.function}(store, group="{comparison.group}")')
        yield Text()
        theirs = attempt(store, comparison, "zarr")
        ours = attempt(store, comparison, "xgroup")
        yield from page.columns(_column("zarr", theirs), _column("xgroup", ours))
        yield Text()
        yield from page.paragraph(f"=> {_verdict(theirs, ours)}", indent=3)
        yield Text()
    # The whole store comes last: its warnings are about all the others, too.
    yield from page.heading(_("What engine xgroup told of the whole store, in warnings"))
    yield from page.items(f"{type(told).__name__}: {told}" for told in ours.warnings)
    yield Text()
    yield from page.heading(_("What is different"))
    yield from page.items(comparison.difference for comparison in compared)


@dataclass(frozen=True)
class _Page:
    """Lays out what is shown, as wide as a console but never so wide that it is hard to read."""

    console: Console

    @property
    def width(self) -> int:
        return min(self.console.width, _WIDEST)

    def paragraph(self, text: str, style: str = "", indent: int = 0) -> list[Text]:
        return wrapped(self.console, said(text, style), self.width, indent)

    def items(self, texts: Iterable[str]) -> Iterator[Text]:
        for text in texts:
            yield from self.paragraph(f"- {text}", indent=2)

    def heading(self, text: str) -> Iterator[Text]:
        yield from self.paragraph(text, "bold")
        rule = "-" if self.console.options.ascii_only else "─"
        yield Text(rule * self.width, "dim")

    def columns(self, left: list[Text], right: list[Text]) -> Iterator[Text]:
        """Yield the lines of two columns side by side, or of one below the other."""
        if self.width < TWO_COLUMNS:
            for head, *texts in (left, right):
                yield head
                yield from (Text("  ") + line for line in self._column(texts, self.width - 2))
            return
        width = (self.width - 3) // 2
        bar = "|" if self.console.options.ascii_only else "│"
        divider = Text(f" {bar} ", "dim")
        columns = self._column(left, width), self._column(right, width)
        yield from beside(*columns, width, divider)

    def _column(self, texts: Iterable[Text], width: int) -> list[Text]:
        return [line for text in texts for line in wrapped(self.console, text, width, 6)]


def attempt(store: Path, comparison: Comparison, engine: str) -> Outcome:
    """Open something with an engine and return what it gave, an error included."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            opened = comparison.open(store, engine)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is what is shown
            return Outcome(_error_lines(error))
    given = [item.message for item in caught if isinstance(item.message, XGroupWarning)]
    return Outcome(list(_summary(opened)), opened, given)


def _column(engine: str, outcome: Outcome) -> list[Text]:
    style = "red" if outcome.opened is None else "green"
    return [said(f'engine="{engine}"', "bold"), *(said(line, style) for line in outcome.lines)]


def _verdict(theirs: Outcome, ours: Outcome) -> str:
    if ours.opened is None:
        return _("Engine xgroup does not open it.")
    if theirs.opened is None:
        return _("Only engine xgroup opens it.")
    # Both engines were asked for the same kind of thing.
    identical: Any = theirs.opened.identical
    if identical(ours.opened):
        return _("Identical.")
    attached = sorted(set(map(str, ours.opened.coords)) - set(map(str, theirs.opened.coords)))
    if not attached:
        return _("Both open it, with differences.")
    return _("Both open it. Only engine xgroup attaches {names}.").format(names=", ".join(attached))


def _error_lines(error: BaseException) -> list[str]:
    """Return the first lines of an error and of what caused it."""
    name = type(error).__name__
    if (module := type(error).__module__) != "builtins":
        name = f"{module.rpartition('.')[2]}.{name}"
    # Not str(error), which for a KeyError is the repr of its message.
    text = str(error.args[0]) if error.args else ""
    lines = [f"{name}: {text.partition(chr(10))[0]}"]
    return lines if error.__cause__ is None else lines + _error_lines(error.__cause__)


def _summary(opened: Opened) -> Iterator[str]:
    """Yield a line for each variable of a Dataset, or for each node of a tree and its variables.

    Coordinates have a star; those of a Dataset, cell boundaries apart, are shown with values.
    """
    if isinstance(opened, xr.Dataset):
        for variable, line in _variable_lines(opened):
            has_values = variable.name in opened.coords and "bounds" not in variable.dims
            yield f"{line} {_values(variable)}" if has_values else line
        bare = [str(name) for name in opened.sizes if name not in opened.coords]
        if bare:
            yield f"Dimensions without coordinates: {', '.join(bare)}"
        return
    for node in opened.subtree:
        yield node.path
        for _variable, line in _variable_lines(node.to_dataset(inherit=False)):
            yield line


def _variable_lines(dataset: xr.Dataset) -> Iterator[tuple[xr.DataArray, str]]:
    # Sorted, since engine zarr gives variables in the order in which they happened to be read.
    for name in (*sorted(dataset.coords, key=str), *sorted(dataset.data_vars, key=str)):
        variable = dataset[name]
        star = "*" if name in dataset.coords else " "
        sizes = ", ".join(f"{dimension}: {size}" for dimension, size in variable.sizes.items())
        yield variable, f"  {star} {name} ({sizes}) {variable.dtype}"


def _values(coordinate: xr.DataArray) -> str:
    """Return the first and the last value with their unit; of a CRS what kind it is."""
    if "crs_wkt" in coordinate.attrs:
        return str(coordinate.attrs["grid_mapping_name"])
    values = coordinate.values.ravel()
    ends = " .. ".join(_value(value) for value in (values[0], values[-1]))
    return f"{ends} {coordinate.attrs.get('units', '')}".rstrip()


def _value(value: object) -> str:
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[m]")).replace("T", " ")
    return str(value).removesuffix(" 00:00:00")


# What is in the store.

_CS = {"name": "cs", "uuid": "e4dbf0b7-7a00-4ce6-b23e-484292014ab4"}
_SPATIAL = {"name": "spatial", "uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"}
_PROJ = {"name": "proj", "uuid": "f17cb550-5864-4468-aeb7-f3180cfb622f"}


def _write_axes_of_all(group: zarr.Group) -> None:
    _write_array(group, "time", np.array([57.0, 58.0, 59.0]), ("time",), {})


def _write_ocean(group: zarr.Group) -> None:
    calendar = {"unit": "days", "epoch": "2028-01-01", "calendar": "noleap"}
    surface = {
        "name": "WGS 84",
        "axes": {
            "lat": _regular_axis("Y", "degrees_north", 44.0, -2.0),
            "lon": _regular_axis("X", "degrees_east", -19.0, 2.0),
        },
    }
    times = {
        "axes": {
            "time": {
                "abbreviation": "T",
                "coordinates": [
                    {"time": calendar, "values": {"external": {"node": "../axes/time"}}}
                ],
            },
        },
    }
    attributes = {"zarr_conventions": [_CS], "cs": {"crs": [surface, times]}}
    for name, unit, first in (("salinity", "1e-3", 35.0), ("temperature", "degC", 12.0)):
        values = first + np.arange(24.0).reshape(3, 2, 4) / 10
        _write_array(group, name, values, ("time", "lat", "lon"), {"units": unit, **attributes})


def _regular_axis(abbreviation: str, unit: str, first: float, step: float) -> dict[str, Any]:
    half = abs(step) / 2
    values = {"regular": [first, step]}
    return {
        "abbreviation": abbreviation,
        "coordinates": [{"unit": unit, "values": values, "boundaries": {"regular": [-half, half]}}],
    }


def _write_scene(group: zarr.Group) -> None:
    group.attrs.update(
        {
            "zarr_conventions": [_SPATIAL, _PROJ],
            "spatial:dimensions": ["y", "x"],
            "spatial:transform": [10.0, 0.0, 600000.0, 0.0, -10.0, 5100000.0],
            "proj:code": "EPSG:32632",
        }
    )
    reflectances = np.arange(12.0).reshape(3, 4) / 100
    _write_array(group, "red", reflectances, ("y", "x"), {"units": "1"})


def _write_swath(group: zarr.Group) -> None:
    rows, columns = np.mgrid[0:3, 0:4]
    places = group.create_group("geolocation")
    for name, unit, values in (
        ("latitude", "degrees_north", 60.0 - rows + columns / 4),
        ("longitude", "degrees_east", 5.0 + rows / 4 + columns),
    ):
        _write_array(places, name, values, ("row", "column"), {"units": unit})
    geodetic = {
        "x": {"node": "../geolocation/longitude"},
        "y": {"node": "../geolocation/latitude"},
    }
    system = {"axes": {"row": {}, "column": {}}, "geolocation": {"geodetic": geodetic}}
    attributes = {"units": "K", "zarr_conventions": [_CS], "cs": {"crs": [system]}}
    data = group.create_group("data")
    _write_array(data, "brightness", 250.0 + rows + columns, ("row", "column"), attributes)


def _write_buoy(group: zarr.Group) -> None:
    time = {"units": "hours since 2026-05-04", "standard_name": "time"}
    _write_array(group, "time", np.arange(4.0), ("time",), time)
    _write_array(group, "temperature", 288.0 + np.arange(4.0), ("time",), {"units": "K"})


def _write_satellite(group: zarr.Group) -> None:
    _write_axes(group, rows=3, columns=4)
    values = 280.0 + np.arange(12.0).reshape(3, 4)
    values[0, 0] = np.nan
    attributes = {"units": "K", "_FillValue": "NaN"}
    _write_array(group, "sst", values, ("y", "x"), attributes)


def _write_radar(group: zarr.Group) -> None:
    _write_array(group, "echoes", np.arange(10).reshape(2, 5), None, {"units": "1"})


def _write_model(group: zarr.Group) -> None:
    for place, rows, columns in ((group, 4, 6), (group.create_group("coarse"), 2, 3)):
        _write_axes(place, rows, columns)
        heights = np.arange(float(rows * columns)).reshape(rows, columns)
        _write_array(place, "height", heights, ("y", "x"), {"units": "m"})


def _write_axes(group: zarr.Group, rows: int, columns: int) -> None:
    for name, size in (("y", rows), ("x", columns)):
        _write_array(group, name, 12.0 / size * (np.arange(size) + 0.5), (name,), {"units": "km"})


def _write_array(
    group: zarr.Group,
    name: str,
    values: np.ndarray[Any, np.dtype[Any]],
    dimensions: tuple[str, ...] | None,
    attributes: Mapping[str, Any],
) -> None:
    array = group.create_array(
        name,
        shape=values.shape,
        chunks=values.shape,
        dtype=values.dtype,
        dimension_names=dimensions,
        attributes=dict(attributes),
    )
    array[...] = values
