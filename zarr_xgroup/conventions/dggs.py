"""The `dggs` principal convention: the cells of a discrete global grid system that an array has values of.

The ids of cells become a coordinate with the attributes by which xdggs knows the grid.

Source: dggs convention (zarr-conventions/dggs).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    chunks_along,
    once_per_array,
    parse_once,
    shape_of,
)
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.declaring import is_declared_by_array
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
from zarr_xgroup.conventions.multiscales import is_declared_around, places_of
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.functions import FINEST, Regular, UnpackedCells
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
#: How many times as long cells are as those of the next finer level.
LENGTHS = {"healpix": 2.0}
#: How ids may be packed.
_COMPRESSIONS = ("none", "compacted", "ranges")
#: How HEALPix counts the cells of a level in order, nested where it is not said.
_IN_ORDER = ("", "nested", "ring", "zuniq")


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
    """The shape of the Earth: a sphere, or an ellipsoid.

    Attributes
    ----------
    name : str
        What it is called.
    radius : float
        That of a sphere, in metres.
    semi_major_axis, semi_minor_axis : float
        Its radii at the equator and at the poles, in metres.
    inverse_flattening : float
        The former by the difference of both.
    """

    form: ClassVar[Rule] = FORM
    others: ClassVar[frozenset[str]] = frozenset({"semimajor_axis", "semiminor_axis"})

    name: Annotated[str, Text(), Member(example='"name": "WGS84"', severity="warning")] = ""
    radius: Annotated[float | None, _POSITIVE, Member(example='"radius": 6370997.0')] = None
    semi_major_axis: Annotated[
        float | None,
        _POSITIVE,
        Member(required=True, unless=("radius",), example='"semi_major_axis": 6378137.0'),
    ] = None
    semi_minor_axis: Annotated[
        float | None,
        _POSITIVE,
        Member(
            required=True,
            unless=("inverse_flattening", "radius"),
            example='"semi_minor_axis": 6356752.3142',
        ),
    ] = None
    inverse_flattening: Annotated[
        float | None, _POSITIVE, Member(example='"inverse_flattening": 298.257223563')
    ] = None

    @classmethod
    def member(cls, fragment: Fragment, key: str) -> Fragment | None:
        """Return a member; before summer 2026 the axes were ``semimajor_axis`` and ``semiminor_axis``."""
        return fragment.get(key) or fragment.get(key.replace("semi_", "semi"))

    @property
    def attributes(self) -> dict[str, Any]:
        """What xdggs reads of an ellipsoid: to it one of equal axes is none."""
        is_sphere = self.semi_major_axis is None or self.semi_major_axis == self.semi_minor_axis
        found: dict[str, Any] = {"name": self.name or None}
        if is_sphere:
            found["radius"] = self.semi_major_axis or self.radius
        else:
            found["semimajor_axis"] = self.semi_major_axis
            found["semiminor_axis"] = self.semi_minor_axis
            found["inverse_flattening"] = self.inverse_flattening
        return {key: value for key, value in found.items() if value is not None}


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
        Member(example='"refinement_level": 2'),
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
            example='"ellipsoid": {"name": "WGS84", "semi_major_axis": 6378137.0, '
            '"inverse_flattening": 298.257223563}'
        ),
    ] = None

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down that it does not say how fine the cells are, which ids may say."""
        key = "refinement_level"
        if key in fragment.value:
            found.setdefault(key, None)  # null says that cells differ
        elif key not in cls.misspelt(fragment.value).values():
            _kind, member = fields_of(cls)[key]
            text = _("is missing")
            reader.report(member, fragment.place(key), text, severity="warning", value_kept=True)

    @property
    def attributes(self) -> dict[str, Any]:
        """What xdggs reads of a coordinate of cells."""
        found: dict[str, Any] = {"grid_name": self.name, "level": self.refinement_level}
        if self.indexing_scheme:
            found["indexing_scheme"] = self.indexing_scheme
        if self.ellipsoid is not None and self.ellipsoid.lost is None:
            found["ellipsoid"] = self.ellipsoid.attributes
        return found

    @property
    def is_nested(self) -> bool:
        """Whether its cells are those of one level of HEALPix, in the scheme ``nested``."""
        is_of_level = self.refinement_level is not None and self.refinement_level <= FINEST
        return (
            self.name.lower() == "healpix"
            and self.indexing_scheme in ("", "nested")
            and is_of_level
        )


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
    reads = ()
    arrays = (CELL_IDS,)

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array declares it, or what does around it means the array.

        That is an array with the dimension of cells; where the group has none with it, all are told so.
        """
        if not (is_declared_by_array(cls, array) or is_declared_around(cls, array)):
            return False
        written = _written(array)
        if written is None or written.node is array.node:
            return written is not None
        model = parse_once(array, ATTRIBUTE.read, written)[0]
        if not isinstance(model, Dggs):
            return True
        dimension = _dimension(array, model)
        is_meant = dimension in array.dims or not array.memo(
            _is_in_group, array, dimension, by=(array.node.group, dimension)
        )
        ids = array.node.group.child(CELL_IDS), _referred(array, model)
        return is_meant and bool(array.dims) and array.node not in ids

    @classmethod
    def why_not(cls) -> str:
        """Return why it does not apply to an array, where the array's group declares it."""
        return _("it does not have the dimension of cells, or is their ids")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the ids of cells."""
        written, lost = _written(array), _("the ids of its cells")
        if written is None:
            return array.interpretation()
        model, wrong = parse_once(array, ATTRIBUTE.read, written)
        array.report_wrong(written.node, wrong, lost)
        array.report_wrong(written.node, model, lost)
        if not isinstance(model, Dggs) or model.lost is not None:
            return array.interpretation()
        array.report_wrong(written.node, model.ellipsoid, _("the ellipsoid of its cells"))
        cells = array.try_reporting(_cells, array, model, written, cost=lambda: lost)
        return array.interpretation() if cells is None else array.interpretation(cells)

    @classmethod
    def restated(
        cls, attributes: Mapping[str, Any], dims: Mapping[str, tuple[str, ...]]
    ) -> Mapping[str, Any]:
        """Return attributes that name the ids of cells that are attached, which are no longer packed.

        Whoever reads them there, or where the Dataset is written, looks for the array that is named.
        """
        written = attributes.get(ATTRIBUTE.key)
        if not isinstance(written, Mapping):
            return attributes
        along = (written.get("spatial_dimension"),)
        ids = (name for name in (written.get("coordinate"), CELL_IDS) if isinstance(name, str))
        name = next((name for name in ids if dims.get(name) == along), None)
        if name is None:
            return attributes
        unpacked = {"compression": "none"} if "compression" in written else {}
        return {**attributes, ATTRIBUTE.key: {**written, "coordinate": name, **unpacked}}


@once_per_array
def _written(array: ArrayView) -> Fragment | None:
    """Return the object that is about an array: its own, its level's, else its group's."""
    places = places_of(array)
    of_level = places.get(ATTRIBUTE.key, of_level=True)
    return of_level or array.attribute(ATTRIBUTE.key, array.node.group)


def _dimension(array: ArrayView, model: Dggs) -> str:
    return array.dim_names.get(model.spatial_dimension, model.spatial_dimension)


def _is_in_group(array: ArrayView, dimension: str) -> bool:
    """Tell whether any array of the group has a dimension."""
    return any(dimension in sizes for sizes in array.siblings.values())


def _referred(array: ArrayView, model: Dggs) -> Node | None:
    """Return the array of ids that an object around an array names."""
    written = _written(array)
    if written is None or not model.coordinate:
        return None
    found: Node | None = array.try_silently(array.resolver.array, _reference(model, written.node))
    return found


def _reference(model: Dggs, node: Node) -> Fragment:
    place = model.place(node, "coordinate")
    return Fragment(place.node, place.keys, {"node": model.coordinate})


def _cells(array: ArrayView, model: Dggs, written: Fragment) -> Coordinate:
    """Return the coordinate of cells, or raise XGroupError."""
    # 1. The dimension.
    dimension = _dimension(array, model)
    size = array.sizes.get(dimension)
    if size is None:
        place = model.place(written.node, "spatial_dimension")
        meant = (*array.dims, "cells")[-1]
        text = _("{dimension!r} is no dimension of the array ({dims})")
        if written.node != array.node:
            text = _("{dimension!r} is no dimension of an array of the group")
        said = text.format(dimension=dimension, dims=", ".join(array.dims))
        raise place.error(said, DIMENSION, write("spatial_dimension", meant))
    # 2. The group's own array of what the coordinate would be called stands.
    is_packed = model.compression != "none"
    is_named = bool(model.coordinate) and not is_packed and "/" not in model.coordinate
    has_own = array.sibling(CELL_IDS) is not None and array.siblings[CELL_IDS] == {dimension: size}
    own = array.node.group.child(CELL_IDS)
    if has_own and (not is_named or model.coordinate == CELL_IDS):
        return _stored(array, model, written, own)
    # 3. All cells of a level.
    if not model.coordinate:
        return Coordinate(CELL_IDS, _all_cells(array, model, written, dimension), model.attributes)
    # 4. The array that is named, unpacked where it has to be.
    reference = _reference(model, written.node)
    if has_own and array.sibling(model.coordinate) is None:
        text = _("leads nowhere; the group's own {name!r} was taken").format(name=CELL_IDS)
        array.report(
            CELLS,
            reference,
            text,
            write("coordinate", CELL_IDS),
            topic=Topic.CHOICE,
            severity="warning",
        )
        return _stored(array, model, written, own)
    shape: list[int | None] = [None, 2] if model.compression == "ranges" else [None]
    shape = shape if is_packed else [size]
    node = array.resolver.array(reference, partial(_misfit, array, shape))
    if is_packed:
        return _unpacked(array, model, node, reference)
    return _stored(array, model, written, node, reference)


def _stored(
    array: ArrayView, model: Dggs, written: Fragment, node: Node, reference: Fragment | None = None
) -> Coordinate:
    """Return the coordinate of cells that an array is.

    xdggs takes all attributes of it for parameters of the grid if it has a ``grid_name``, else it reads
    those of the group.
    """
    name = node.name if node.group == array.node.group else CELL_IDS
    source = array.stored(Stored(node, (_dimension(array, model),)), reference)
    found = array.attributes_of(node)
    own = [] if found is None else [key for key in found.value if not key.startswith("_")]
    attributes = model.attributes
    if "grid_name" in own:
        attributes = {key: attributes[key] for key in ("ellipsoid",) if key in attributes}
    elif own and written.node == array.node.group:
        attributes = {}
    return Coordinate(name, source, attributes)


def _misfit(array: ArrayView, needed: list[int | None], node: Node) -> str | None:
    """Return why an array cannot be the ids of cells: its shape."""
    shape = list(shape_of(array, node))
    if len(shape) == len(needed) and all(
        length in (None, own) for length, own in zip(needed, shape, strict=True)
    ):
        return None
    text = _("its shape is {shape}, the cells need {needed}")
    return text.format(shape=shape, needed=["n" if it is None else it for it in needed])


def _unpacked(array: ArrayView, model: Dggs, node: Node, reference: Fragment) -> Coordinate:
    """Return the ids of the cells that an array has packed."""
    if not model.is_nested:
        text = _("is packed, which is only known of nested cells of a level of HEALPix")
        raise reference.error(text, CELLS, write("compression", "none"))
    array.referred.add(node)
    dimension = _dimension(array, model)
    size = array.sizes[dimension]
    along = ("range", "end")[: len(shape_of(array, node))]
    packed = array.stored(Stored(node, along, decoded=False), reference)
    kind = array.maker.decoded_dtype(packed)
    if kind.kind not in "iu":
        text, remedy = _("names {node}, which has no integers"), _("name an array of integers")
        raise reference.error(text.format(node=node), CELLS, remedy)
    chunks = chunks_along(array, (dimension,))
    function = UnpackedCells(size, model.refinement_level or 0)
    cells = Computed(function, (size,), kind.str, (dimension,), chunks=chunks, arrays=(packed,))
    return Coordinate(CELL_IDS, cells, model.attributes)


def _all_cells(array: ArrayView, model: Dggs, written: Fragment, dimension: str) -> Source:
    """Return the ids of all cells of a level in order, which is known of HEALPix."""
    size = array.sizes[dimension]
    place, level = model.place(written.node), model.refinement_level
    is_known = model.name.lower() == "healpix" and model.indexing_scheme in _IN_ORDER
    if not is_known or level is None or level > FINEST:
        text = _("has no 'coordinate', without which the ids of cells are only known of HEALPix")
        raise place.error(text, CELLS, write("coordinate", CELL_IDS))
    number = 12 * 4**level
    if size != number:
        text = _("has no 'coordinate': all {number} cells of level {level}, but there are {size}")
        said = text.format(number=number, level=level, size=size)
        raise place.error(said, CELLS, write("coordinate", CELL_IDS))
    lowest = 4 ** (FINEST - level)
    ids = Regular(lowest, 2 * lowest) if model.indexing_scheme == "zuniq" else Regular(0, 1)
    chunks = chunks_along(array, (dimension,))
    return Computed(ids, (size,), "int64", (dimension,), chunks=chunks)
