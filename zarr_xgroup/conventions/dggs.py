"""The `dggs` principal convention: the cells of a discrete global grid system that an array has values of.

The ids of cells become a coordinate with the attributes by which xdggs knows the grid.

Source: dggs convention (zarr-conventions/dggs).
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView, chunks_along, once, parsed, shape_of
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.descriptions import (
    Attribute,
    Member,
    Model,
    Nested,
    Parsed,
    Reader,
    Text,
    fields_of,
    write,
)
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.functions import IdsOfRanges, Regular
from zarr_xgroup.variables.sources import Computed, Source, Stored

DOCUMENT = "dggs convention (zarr-conventions/dggs)"

FORM = Rule("dggs/object", DOCUMENT, "Properties")
DIMENSION = Rule("dggs/spatial-dimension", DOCUMENT, "spatial_dimension")
CELLS = Rule("dggs/cells", DOCUMENT, "coordinate, compression")

RULES = rules_in(vars())

_EXAMPLE = (
    '"dggs": {"name": "healpix", "refinement_level": 2, "indexing_scheme": "nested", '
    '"spatial_dimension": "cells"}'
)
#: What xdggs calls the coordinate of cells.
CELL_IDS = "cell_ids"
#: How ids may be packed.
_COMPRESSIONS = ("none", "compacted", "ranges")
#: How HEALPix counts the cells of a level from 0, nested where it is not said.
_IN_ORDER = ("", "nested", "ring")
#: The finest level of HEALPix whose ids 64 bits hold.
_FINEST = 29


def _level(value: Fragment) -> int:
    if isinstance(value.value, int) and not isinstance(value.value, bool) and value.value >= 0:
        return value.value
    raise value.error(_("must be an integer that is not negative"))


def _positive(value: Fragment) -> float:
    with suppress(OverflowError):
        if is_finite(value.value) and value.value > 0:
            return float(value.value)
    raise value.error(_("must be a positive number"))


_POSITIVE = Parsed(_positive)


class Ellipsoid(Model, frozen=True, kw_only=True):
    """The shape of the Earth.

    Attributes
    ----------
    name : str
        What it is called.
    semimajor_axis, semiminor_axis : float
        Its radii at the equator and at the poles, in metres.
    inverse_flattening : float
        The former by the difference of both.
    """

    form: ClassVar[Rule] = FORM

    name: Annotated[str, Text(for_people=True), Member(example='"name": "WGS84"')] = ""
    semimajor_axis: Annotated[
        float | None, _POSITIVE, Member(required=True, example='"semimajor_axis": 6378137.0')
    ] = None
    semiminor_axis: Annotated[
        float | None,
        _POSITIVE,
        Member(
            required=True, unless=("inverse_flattening",), example='"semiminor_axis": 6356752.3142'
        ),
    ] = None
    inverse_flattening: Annotated[
        float | None, _POSITIVE, Member(example='"inverse_flattening": 298.257223563')
    ] = None


class Dggs(Model, frozen=True, kw_only=True):
    """A discrete global grid system, and which of its cells there are.

    Attributes
    ----------
    name : str
        The system.
    refinement_level : int or None
        How fine the cells are; None where they differ.
    indexing_scheme : str
        How HEALPix counts them.
    spatial_dimension : str
        The dimension of cells.
    coordinate : str
        The array of their ids; all cells in order where there is none.
    compression : str
        How the ids are packed.
    ellipsoid : Ellipsoid or None
        The shape of the Earth.
    """

    form: ClassVar[Rule] = FORM

    name: Annotated[str, Text(), Member(required=True, example='"name": "healpix"')] = ""
    refinement_level: Annotated[
        int | None,
        Parsed(_level),
        Member(example='"refinement_level": 2', or_null=True),
    ] = None
    indexing_scheme: Annotated[str, Text(), Member(example='"indexing_scheme": "nested"')] = ""
    spatial_dimension: Annotated[
        str, Text(), Member(required=True, example='"spatial_dimension": "cells"')
    ] = ""
    coordinate: Annotated[str, Text(), Member(example=f'"coordinate": "{CELL_IDS}"')] = ""
    compression: Annotated[str, Text(_COMPRESSIONS, rule=CELLS)] = "none"
    ellipsoid: Annotated[
        Ellipsoid | None,
        Nested(Ellipsoid),
        Member(
            example='"ellipsoid": {"name": "WGS84", "semimajor_axis": 6378137.0, '
            '"inverse_flattening": 298.257223563}'
        ),
    ] = None

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down that it does not say how fine the cells are, which ids may say."""
        _kind, member = fields_of(cls)["refinement_level"]
        if member.key not in (*fragment.value, *cls.misspelt(fragment.value).values()):
            place = Fragment(fragment.node, (*fragment.keys, member.key), None)
            reader.object_to(
                place, _("is missing"), member=member, severity="warning", is_used=True
            )

    @property
    def attributes(self) -> dict[str, Any]:
        """What xdggs reads of a coordinate of cells."""
        found = {
            "grid_name": self.name,
            "level": self.refinement_level,
            "indexing_scheme": self.indexing_scheme,
        }
        return {key: value for key, value in found.items() if value not in (None, "")}


ATTRIBUTE = Attribute("dggs", Nested(Dggs), FORM, _EXAMPLE, marks=("spatial_dimension",))


class DggsHandler(ConventionHandler):
    """Attaches the ids of the cells that an array has values of."""

    tier = "principal"
    name = "dggs"
    gives_way = True  # it says nothing of times or levels, which another convention may
    uuid: ClassVar[str | None] = "7b255807-140c-42ca-97f6-7a1cfecdbc38"
    repositories = ("zarr-conventions/dggs",)
    implies = ("proj",)
    described = (ATTRIBUTE,)
    rules = RULES

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array declares it, or its group does and the array has the dimension of cells."""
        if not super().applies(array):
            return False
        own, written = array.attribute(ATTRIBUTE.key), _written(array)
        if written is None:
            return False
        model = parsed(array, ATTRIBUTE.read, written)[0]
        if own is not None or not isinstance(model, Dggs):
            return True
        return _dimension(array, model) in array.dims and array.node != _referred(array, model)

    @classmethod
    def why_not(cls) -> str:
        """Return why it does not apply to an array, where the array's group declares it."""
        return _("it does not have the dimension of cells, or is their ids")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the ids of cells."""
        written, lost = _written(array), _("the ids of its cells")
        if written is None:
            return array.found()
        model, wrong = parsed(array, ATTRIBUTE.read, written)
        array.tell(written.node, wrong, lost)
        array.tell(written.node, model, lost)
        if not isinstance(model, Dggs) or model.lost is not None:
            return array.found()
        cells = array.attempt(_cells, array, model, written, lost=lambda: lost)
        return array.found() if cells is None else array.found(cells)


@once
def _written(array: ArrayView) -> Fragment | None:
    """Return the object that is about an array: its own, else its group's."""
    own = array.attribute(ATTRIBUTE.key)
    return own or array.attribute(ATTRIBUTE.key, array.node.group)


def _dimension(array: ArrayView, model: Dggs) -> str:
    return array.names.get(model.spatial_dimension, model.spatial_dimension)


def _referred(array: ArrayView, model: Dggs) -> Node | None:
    """Return the array of ids that an object of the group names."""
    written = _written(array)
    if written is None or not model.coordinate:
        return None
    found: Node | None = array.quietly(array.resolver.array, _reference(model, written.node))
    return found


def _reference(model: Dggs, node: Node) -> Fragment:
    place = model.place(node, "coordinate")
    return Fragment(place.node, place.keys, {"node": model.coordinate})


def _cells(array: ArrayView, model: Dggs, written: Fragment) -> Coordinate:
    """Return the coordinate of cells, or raise XGroupError."""
    dimension = _dimension(array, model)
    size = array.sizes.get(dimension)
    if size is None:
        text = _("{dimension!r} is no dimension of the array ({dims})")
        place = model.place(written.node, "spatial_dimension")
        remedy = write("spatial_dimension", array.dims[-1] if array.dims else "cells")
        named = text.format(dimension=dimension, dims=", ".join(array.dims))
        raise place.error(named, DIMENSION, remedy)
    own = CELL_IDS if array.sibling(CELL_IDS) is not None else ""
    if own and array.siblings[own] == {dimension: size}:  # they stand, whatever is declared
        source = array.stored(Stored(array.node.group.child(own), (dimension,)))
        return Coordinate(own, source, model.attributes)
    if not model.coordinate:
        return Coordinate(CELL_IDS, _all_cells(array, model, written, dimension), model.attributes)
    needed = None if model.compression == "ranges" else [size]
    reference = _reference(model, written.node)
    node = array.resolver.array(reference, partial(_misfit, array, needed))
    if needed is not None:
        name = node.name if node.group == array.node.group else CELL_IDS
        source = array.stored(Stored(node, (dimension,)), reference)
        return Coordinate(name, source, model.attributes)
    return _unpacked(array, model, node, reference)


def _misfit(array: ArrayView, needed: list[int] | None, node: Node) -> str | None:
    """Return why an array cannot be the ids of cells: its shape, or that it is no list of ranges."""
    shape = list(shape_of(array, node))
    if shape == needed or (needed is None and len(shape) == 2 and shape[1] == 2):
        return None
    text = _("its shape is {shape}, the cells need {needed}")
    return text.format(shape=shape, needed=needed or ["n", 2])


def _unpacked(array: ArrayView, model: Dggs, node: Node, reference: Fragment) -> Coordinate:
    """Return the ids of the ranges that an array has."""
    array.referred.add(node)
    dimension = _dimension(array, model)
    size = array.sizes[dimension]
    ranges = array.stored(Stored(node, ("range", "end"), decoded=False), reference)
    kind = array.maker.decoded_dtype(ranges)
    if kind.kind not in "iu":
        text, remedy = _("names {node}, which has no integers"), _("name an array of integers")
        raise reference.error(text.format(node=node), CELLS, remedy)
    chunks = chunks_along(array, (dimension,))
    cells = Computed(
        IdsOfRanges(size), (size,), kind.str, (dimension,), chunks=chunks, arrays=(ranges,)
    )
    return Coordinate(CELL_IDS, cells, model.attributes)


def _all_cells(array: ArrayView, model: Dggs, written: Fragment, dimension: str) -> Source:
    """Return the ids of all cells of a level in order, which is known of HEALPix."""
    size = array.sizes[dimension]
    place, level = model.place(written.node), model.refinement_level
    is_known = model.name.lower() == "healpix" and model.indexing_scheme in _IN_ORDER
    if not is_known or level is None or level > _FINEST:
        text = _("has no 'coordinate', without which the ids of cells are only known of HEALPix")
        raise place.error(text, CELLS, write("coordinate", CELL_IDS))
    number = 12 * 4**level
    if size != number:
        text = _("has no 'coordinate': all {number} cells of level {level}, but there are {size}")
        said = text.format(number=number, level=level, size=size)
        raise place.error(said, CELLS, write("coordinate", CELL_IDS))
    chunks = chunks_along(array, (dimension,))
    return Computed(Regular(0, 1), (size,), "int64", (dimension,), chunks=chunks)
