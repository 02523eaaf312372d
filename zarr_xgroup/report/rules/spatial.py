"""The attributes of the convention `spatial`, on arrays, groups and the items of layouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from affine import Affine

from zarr_xgroup.conventions.axes import what_turns
from zarr_xgroup.conventions.crs import Crs, crs_in
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.transforms import (
    OVERHANG,
    Transform,
    extent_of,
    in_order_of_gdal,
    is_turned_in,
    spans,
)
from zarr_xgroup.conventions.values import is_finite, is_representable
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.report.rules.declarations import is_meant, is_used
from zarr_xgroup.report.rules.subject import Severity, Subject, got, mistake, shown, write

DOCUMENT = "spatial convention (zarr-conventions/spatial)"

NAMES = Rule("spatial/dimensions", DOCUMENT, "spatial:dimensions")
OF_ARRAY = Rule("spatial/dimensions-of-the-array", DOCUMENT, "spatial:dimensions")
REQUIRED = Rule("spatial/dimensions-required", DOCUMENT, "spatial:dimensions")
Y_FIRST = Rule("spatial/order-of-dimensions", DOCUMENT, "spatial:dimensions")
TRANSFORM = Rule("spatial/transform", DOCUMENT, "spatial:transform")
ORDER = Rule("spatial/order-of-transform", DOCUMENT, "spatial:transform")
TYPE = Rule("spatial/transform-type", DOCUMENT, "spatial:transform_type")
REGISTRATION = Rule("spatial/registration", DOCUMENT, "spatial:registration")
BOX = Rule("spatial/bbox", DOCUMENT, "spatial:bbox")
BOX_OF_GRID = Rule("spatial/bbox-of-the-grid", DOCUMENT, "spatial:bbox")
SHAPE = Rule("spatial/shape", DOCUMENT, "spatial:shape")
SHAPE_OF_ARRAY = Rule("spatial/shape-of-the-array", DOCUMENT, "spatial:shape")

RULES = (
    NAMES,
    OF_ARRAY,
    REQUIRED,
    Y_FIRST,
    TRANSFORM,
    ORDER,
    TYPE,
    REGISTRATION,
    BOX,
    BOX_OF_GRID,
    SHAPE,
    SHAPE_OF_ARRAY,
)

#: Half a cell, by which the outer edges are off the outermost centres.
_CENTRES = {"pixel": 0.5, "node": 0.0}


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of `spatial` of a node."""
    if not is_meant(subject, SpatialHandler):
        return
    for place in _places(subject):
        yield from _forms(subject, place)
    if subject.is_array:
        yield from _of_array(subject)
    else:
        yield from _of_group(subject)


def _places(subject: Subject) -> Iterator[Fragment]:
    """Yield the objects of a node that may have attributes of the convention."""
    yield subject.all_attributes
    multiscales = subject.attribute("multiscales")
    layout = None if multiscales is None else multiscales.get("layout")
    if layout is not None and isinstance(layout.value, list):
        yield from (item for item in layout.items() if isinstance(item.value, OBJECT))


# What each attribute must be.


def _forms(subject: Subject, place: Fragment) -> Iterator[Finding]:
    """Yield attributes that are not what they must be, wherever they stand."""
    written = {
        key: place.value[f"spatial:{key}"] for key in _FORMS if f"spatial:{key}" in place.value
    }
    for key, value in written.items():
        rule, is_right, expected, example = _FORMS[key]
        if is_right(value):
            continue
        example = _example(subject, key) or example
        remedy = _("write {example}").format(example=f'"spatial:{key}": {example}')
        text = got(expected(), value)
        severity: Severity = "error" if key != "shape" else "warning"
        yield mistake(rule, place, text, remedy, severity, key=f"spatial:{key}")
    box = written.get("bbox")
    if box is not None and is_box(box) and not _has_area(box):
        text = _("{value} spans no area").format(value=shown(box))
        remedy = _('write "spatial:bbox": [xmin, ymin, xmax, ymax] of the grid, or leave it out')
        yield mistake(BOX, place, text, remedy, "warning", key="spatial:bbox")


def _example(subject: Subject, key: str) -> str:
    """Return what the value would be for an array, as far as that follows from it."""
    dims = [name for name in subject.dims if name is not None] if subject.is_array else []
    if key == "dimensions" and len(dims) > 1:
        return shown(dims[-2:])
    if key == "shape" and subject.is_array and len(subject.dims) > 1:
        grid = Grid.of(subject)
        return shown(list(grid.sizes) if grid else subject.document["shape"][-2:])
    return ""


def are_names(value: object) -> bool:
    """Tell whether a value is two different names."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(name, str) for name in value)
        and value[0] != value[1]
    )


def is_transform(value: object) -> bool:
    """Tell whether a value is six numbers by which cells have an area."""
    if not (isinstance(value, list) and len(value) == 6 and all(map(is_finite, value))):
        return False
    if not all(map(is_representable, value)):
        return False
    area = float(value[0]) * value[4] - float(value[1]) * value[3]
    return area != 0 and math.isfinite(area)


def is_box(value: object) -> bool:
    """Tell whether a value is four numbers."""
    return isinstance(value, list) and len(value) == 4 and all(map(is_finite, value))


def is_shape(value: object) -> bool:
    """Tell whether a value is two sizes."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in value)
    )


def _has_area(box: list[float]) -> bool:
    return box[0] != box[2] and box[1] < box[3]  # a box across the antimeridian ends west


#: By key: the rule, whether a value is right, what it must be, an example.
_FORMS: Mapping[str, tuple[Rule, Callable[[object], bool], Callable[[], str], str]] = {
    "dimensions": (NAMES, are_names, lambda: _("the names of two dimensions"), '["y", "x"]'),
    "transform": (
        TRANSFORM,
        is_transform,
        lambda: _("six finite numbers by which cells have an area"),
        "[a, b, c, d, e, f], by which x = a*column + b*row + c and y = d*column + e*row + f",
    ),
    "transform_type": (TYPE, lambda it: isinstance(it, str), lambda: _("a string"), '"affine"'),
    "registration": (
        REGISTRATION,
        lambda it: isinstance(it, str) and it in _CENTRES,
        lambda: _('"pixel" or "node"'),
        '"pixel"',
    ),
    "bbox": (BOX, is_box, lambda: _("four finite numbers"), "[xmin, ymin, xmax, ymax]"),
    "shape": (SHAPE, is_shape, lambda: _("two positive integers"), "[height, width]"),
}


# What goes with what.


@dataclass(frozen=True)
class Grid:
    """The grid of an array.

    Attributes
    ----------
    subject : Subject
        The array.
    dims : tuple of str
        Its dimensions along Y and X.
    turned_by : str
        By what they are declared the wrong way round, "" if they are not.
    """

    subject: Subject
    dims: tuple[str, str]
    turned_by: str = ""

    @classmethod
    def of(cls, subject: Subject) -> Grid | None:
        """Return the grid of an array that has the dimensions that are declared."""
        declared = nearest(subject, "dimensions")
        if declared is None or not are_names(declared.value):
            return None
        y, x = declared.value
        if y not in subject.sizes or x not in subject.sizes:
            return None
        grid = cls(subject, (y, x))
        reason = what_turns(
            grid.dims, map(grid._attributes_of, grid.dims), grid._is_turned_by_box()
        )
        return cls(subject, (x, y), reason) if reason else grid

    def _attributes_of(self, name: str) -> Mapping[str, Any]:
        """Return the attributes of the group's own coordinate of a dimension, none without it."""
        subject = self.subject
        found = subject.store.subject(subject.node.group.child(name).path)
        if found is None or found.document.get("shape") != [subject.sizes[name]]:
            return {}
        return found.attributes

    def _is_turned_by_box(self) -> bool | None:
        """Tell whether the grid fills its box if Y and X are the other way round."""
        found, box = self.transform(), self.box()
        return is_turned_in(box[1], found[1], self.sizes) if found and box else None

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of rows, and of columns."""
        return self.subject.sizes[self.dims[0]], self.subject.sizes[self.dims[1]]

    def transform(self) -> tuple[Fragment, Transform] | None:
        """Return the transform that is declared, and where."""
        written = nearest(self.subject, "transform")
        if written is None or not is_transform(written.value):
            return None
        registration = nearest(self.subject, "registration")
        name = "pixel" if registration is None else str(registration.value)
        return written, Transform(Affine(*map(float, written.value)), _CENTRES.get(name, 0.5))

    def box(self) -> tuple[Fragment, list[float]] | None:
        """Return the bounding box that is declared, and where; None if it cannot be one."""
        written = nearest(self.subject, "bbox")
        if written is None or not (is_box(written.value) and _has_area(written.value)):
            return None
        return written, written.value

    @property
    def unit(self) -> str:
        """The unit of its CRS, "" if that is not known."""
        crs = _crs(self.subject)
        return "" if crs is None else str(crs.axis_attributes()["X"].get("units", ""))


def nearest(subject: Subject, key: str) -> Fragment | None:
    """Return the attribute ``spatial:<key>`` that counts for an array."""
    return subject.places.get(f"spatial:{key}")


def _crs(subject: Subject) -> Crs | None:
    places = subject.places
    return next((crs for it in (*places.own, *places.around) for crs in crs_in(it.value)), None)


def _of_array(subject: Subject) -> Iterator[Finding]:
    """Yield what does not go together for an array."""
    declared = nearest(subject, "dimensions")
    if declared is None:
        declares_it = subject.declares(SpatialHandler) and is_used(subject, SpatialHandler)
        if declares_it and len(subject.dims) > 1:
            remedy = write("spatial:dimensions", _last_two(subject))
            text = _("is missing: an array that declares 'spatial' must have it")
            place = subject.all_attributes
            yield mistake(REQUIRED, place, text, remedy, key="spatial:dimensions")
        return
    grid = Grid.of(subject)
    if grid is not None:
        yield from _order(grid, declared)
        yield from _shape(grid)
        yield from _transform(grid)
    elif declared.node == subject.node or subject.declares(SpatialHandler):
        yield from _not_its_own(subject, declared)


def _last_two(subject: Subject) -> list[str]:
    names = [name for name in subject.dims if name is not None]
    return names[-2:] if len(names) > 1 else ["y", "x"]


def _not_its_own(subject: Subject, declared: Fragment) -> Iterator[Finding]:
    if not are_names(declared.value) or None in subject.dims:
        return  # told elsewhere
    text = _("{value} are not both dimensions of the array, which has {dims}").format(
        value=shown(declared.value), dims=shown(list(subject.dims))
    )
    meant = _spelt_as(subject, declared.value) or _last_two(subject)
    remedy = write("spatial:dimensions", meant)
    if len(subject.dims) < 2:
        remedy = _("take it off the array, which does not have two dimensions")
    severity: Severity = "warning" if _spelt_as(subject, declared.value) else "error"
    yield mistake(OF_ARRAY, declared, text, remedy, severity)


def _spelt_as(subject: Subject, names: list[str]) -> list[str]:
    """Return names as an array spells them, where only upper and lower case differ."""
    known = {name.lower(): name for name in subject.sizes}
    return [known[it.lower()] for it in names] if all(it.lower() in known for it in names) else []


def _of_group(subject: Subject) -> Iterator[Finding]:
    """Yield names of dimensions that none of the arrays has which a group declares them for."""
    declared = subject.attribute("spatial:dimensions")
    if declared is None or not are_names(declared.value):
        return
    grids = [
        it
        for it in subject.below()
        if it.is_array and len(it.dims) > 1 and None not in it.dims
        if nearest(it, "dimensions") == declared
    ]
    if grids and not any(map(Grid.of, grids)):
        yield from _not_its_own(grids[0], declared)


def _order(grid: Grid, declared: Fragment) -> Iterator[Finding]:
    """Yield names of which the one along X comes first."""
    if not grid.turned_by:
        return
    text = _("is {value}, but Y comes first, and {reason} they are along X and Y").format(
        value=shown(declared.value), reason=grid.turned_by
    )
    yield mistake(Y_FIRST, declared, text, write("spatial:dimensions", list(grid.dims)), "warning")


def _shape(grid: Grid) -> Iterator[Finding]:
    written = nearest(grid.subject, "shape")
    sizes = list(grid.sizes)
    if written is None or not is_shape(written.value) or written.value == sizes:
        return
    text = _("is {value}, but there are {sizes} cells along {dims}").format(
        value=shown(written.value), sizes=sizes, dims=", ".join(grid.dims)
    )
    remedy = write("spatial:shape", sizes)
    if written.node != grid.subject.node and _has_several_sizes(grid):
        remedy = _("take it off the group, whose arrays have several sizes, and {write}").format(
            write=_("write each array's own")
        )
        text = _("is {value}, but arrays of the group have other numbers of cells").format(
            value=shown(written.value)
        )
    yield mistake(SHAPE_OF_ARRAY, written, text, remedy, "warning")


def _has_several_sizes(grid: Grid) -> bool:
    group = grid.subject.group
    found = (Grid.of(it) for it in group.arrays()) if group is not None else ()
    return len({it.sizes for it in found if it is not None and it.dims == grid.dims}) > 1


def _transform(grid: Grid) -> Iterator[Finding]:
    """Yield a transform in the order of GDAL, or a box that is not that of the grid."""
    found = grid.transform()
    if found is None:
        return
    written, transform = found
    sizes, (box, numbers) = grid.sizes, grid.box() or (None, None)
    meant = in_order_of_gdal(transform, sizes, numbers, grid.unit)
    if meant is not None:
        text = _("{value} spans {extent}: its numbers are in the order of GDAL").format(
            value=shown(written.value), extent=extent_of(transform, sizes)
        )
        yield mistake(ORDER, written, text, write("spatial:transform", list(meant.affine)[:6]))
    elif box and numbers and not spans(numbers, transform, sizes, OVERHANG):
        extent = extent_of(transform, sizes)
        text = _("is {box}, but by spatial:transform the grid spans {extent}").format(
            box=shown(numbers), extent=extent
        )
        yield mistake(BOX_OF_GRID, box, text, write("spatial:bbox", extent), "warning")
