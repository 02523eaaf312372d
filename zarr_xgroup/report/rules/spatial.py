"""The attributes of the convention `spatial`, on arrays, groups and the items of layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zarr_xgroup.conventions import spatial_model
from zarr_xgroup.conventions.axes import what_turns
from zarr_xgroup.conventions.crs import Crs, crs_in
from zarr_xgroup.conventions.descriptions import Attribute
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.spatial_model import (
    ATTRIBUTES,
    BOX,
    BOX_OF_GRID,
    CENTRES,
    DIMENSIONS,
    OF_ARRAY,
    ORDER,
    REGISTRATION,
    REQUIRED,
    SHAPE,
    SHAPE_OF_ARRAY,
    TRANSFORM,
    Y_FIRST,
)
from zarr_xgroup.conventions.transforms import (
    OVERHANG,
    Transform,
    extent_of,
    in_order_of_gdal,
    is_turned_in,
    spans,
)
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.report.rules.declarations import is_meant, is_used
from zarr_xgroup.report.rules.subject import Severity, Subject, mistake, mistakes_at, shown, write

RULES = spatial_model.RULES


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of `spatial` of a node."""
    if not is_meant(subject, SpatialHandler):
        return
    for place in _places(subject):
        yield from _forms(place)
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


def _forms(place: Fragment) -> Iterator[Finding]:
    """Yield attributes that are not what they must be, wherever they stand."""
    for attribute in ATTRIBUTES:
        if attribute.key in place.value:
            value = place.value[attribute.key]
            written = Fragment(place.node, (*place.keys, attribute.key), value)
            yield from mistakes_at(place.node, attribute.all_wrong(written))


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
        names = value(subject, DIMENSIONS)
        if names is None:
            return None
        y, x = names
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
        written, affine = nearest(self.subject, TRANSFORM), value(self.subject, TRANSFORM)
        if written is None or affine is None:
            return None
        centre = value(self.subject, REGISTRATION)
        return written, Transform(affine, CENTRES["pixel"] if centre is None else centre)

    def box(self) -> tuple[Fragment, list[float]] | None:
        """Return the bounding box that is declared, and where; None if it cannot be one."""
        written = nearest(self.subject, BOX)
        found, wrong = (None, ()) if written is None else BOX.read(written)
        return None if written is None or found is None or wrong else (written, found)

    @property
    def unit(self) -> str:
        """The unit of its CRS, "" if that is not known."""
        crs = _crs(self.subject)
        return "" if crs is None else str(crs.axis_attributes()["X"].get("units", ""))


def nearest(subject: Subject, attribute: Attribute) -> Fragment | None:
    """Return the attribute that counts for an array."""
    return subject.places.get(attribute.key)


def value(subject: Subject, attribute: Attribute) -> Any:
    """Return what it means, None if there is none that can be used."""
    written = nearest(subject, attribute)
    return None if written is None else attribute.read(written)[0]


def _crs(subject: Subject) -> Crs | None:
    places = subject.places
    return next((crs for it in (*places.own, *places.around) for crs in crs_in(it.value)), None)


def _of_array(subject: Subject) -> Iterator[Finding]:
    """Yield what does not go together for an array."""
    declared = nearest(subject, DIMENSIONS)
    if declared is None:
        declares_it = subject.declares(SpatialHandler) and is_used(subject, SpatialHandler)
        if declares_it and len(subject.dims) > 1:
            remedy = write(DIMENSIONS.key, _last_two(subject))
            text = _("is missing: an array that declares 'spatial' must have it")
            place = subject.all_attributes
            yield mistake(REQUIRED, place, text, remedy, key=DIMENSIONS.key)
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
    if DIMENSIONS.read(declared)[0] is None or None in subject.dims:
        return  # told elsewhere
    text = _("{value} are not both dimensions of the array, which has {dims}").format(
        value=shown(declared.value), dims=shown(list(subject.dims))
    )
    meant = _spelt_as(subject, declared.value) or _last_two(subject)
    remedy = write(DIMENSIONS.key, meant)
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
    declared = subject.attribute(DIMENSIONS.key)
    if declared is None or DIMENSIONS.read(declared)[0] is None:
        return
    grids = [
        it
        for it in subject.below()
        if it.is_array and len(it.dims) > 1 and None not in it.dims
        if nearest(it, DIMENSIONS) == declared
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
    yield mistake(Y_FIRST, declared, text, write(DIMENSIONS.key, list(grid.dims)), "warning")


def _shape(grid: Grid) -> Iterator[Finding]:
    written = nearest(grid.subject, SHAPE)
    sizes = list(grid.sizes)
    if written is None or SHAPE.read(written)[0] is None or written.value == sizes:
        return
    text = _("is {value}, but there are {sizes} cells along {dims}").format(
        value=shown(written.value), sizes=sizes, dims=", ".join(grid.dims)
    )
    remedy = write(SHAPE.key, sizes)
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
        yield mistake(ORDER, written, text, write(TRANSFORM.key, list(meant.affine)[:6]))
    elif box and numbers and not spans(numbers, transform, sizes, OVERHANG):
        extent = extent_of(transform, sizes)
        text = _("is {box}, but by spatial:transform the grid spans {extent}").format(
            box=shown(numbers), extent=extent
        )
        yield mistake(BOX_OF_GRID, box, text, write(BOX.key, extent), "warning")
