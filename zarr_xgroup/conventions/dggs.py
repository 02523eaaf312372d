"""The `dggs` principal convention: arrays with values for cells of a discrete global grid system.

The ids of cells become a coordinate, whose attributes describe the grid for xdggs.

Source: dggs convention (zarr-conventions/dggs).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    chunks_along,
    once_per_array,
    parse_once,
    shape_of,
)
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
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
from zarr_xgroup.conventions.multiscales import follows_by_level, level_of, scopes_of
from zarr_xgroup.conventions.values import integer, positive_number
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.findings import Finding, Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node
from zarr_xgroup.variables.functions import FINEST, Regular, UnpackedCells
from zarr_xgroup.variables.sources import Computed, Stored

DOCUMENT = "dggs convention (zarr-conventions/dggs)"

FORM = Rule("dggs/object", DOCUMENT, "Properties")
DIMENSION = Rule("dggs/spatial-dimension", DOCUMENT, "spatial_dimension")
CELLS = Rule("dggs/cells", DOCUMENT, "coordinate, compression")

RULES = rules_in(vars())

_EXAMPLE = (
    '"dggs": {"name": "healpix", "refinement_level": 2, "indexing_scheme": "nested", '
    '"spatial_dimension": "cells"}'
)
#: The name of the coordinate of cells in xdggs.
_CELL_IDS = "cell_ids"
#: The ratio of the side lengths of cells at a level and at the next finer level, by the name of the grid.
LENGTHS = {"healpix": 2.0}
_COMPRESSIONS = ("none", "compacted", "ranges")
#: Indexing schemes of HEALPix for which the ids of all cells of a level can be computed; "" means nested.
_IN_ORDER = ("", "nested", "ring", "zuniq")

_POSITIVE_NUMBER = Parsed(positive_number)


class Ellipsoid(Model, frozen=True, kw_only=True):
    """The shape of the Earth, a sphere or an ellipsoid, in metres."""

    form: ClassVar[Rule] = FORM
    others: ClassVar[frozenset[str]] = frozenset({"semimajor_axis", "semiminor_axis"})

    name: Annotated[str, Text(), Member(example='"name": "WGS84"', severity="warning")] = ""
    radius: Annotated[float | None, _POSITIVE_NUMBER, Member(example='"radius": 6370997.0')] = None
    semi_major_axis: Annotated[
        float | None,
        _POSITIVE_NUMBER,
        Member(required=True, unless=("radius",), example='"semi_major_axis": 6378137.0'),
    ] = None
    semi_minor_axis: Annotated[
        float | None,
        _POSITIVE_NUMBER,
        Member(
            required=True,
            unless=("inverse_flattening", "radius"),
            example='"semi_minor_axis": 6356752.3142',
        ),
    ] = None
    inverse_flattening: Annotated[
        float | None, _POSITIVE_NUMBER, Member(example='"inverse_flattening": 298.257223563')
    ] = None

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Read the keys before summer 2026, ``semimajor_axis`` and ``semiminor_axis``; the newer keys take precedence."""
        for key in ("semi_major_axis", "semi_minor_axis"):
            kind, member = fields_of(cls)[key]
            older = fragment.get(key.replace("semi_", "semi"))
            value = UNUSABLE if older is None else kind.read(older, reader.of(member))
            if fragment.get(key) is None and value is not UNUSABLE:
                fields[key] = value

    @property
    def attributes(self) -> dict[str, Any]:
        """The ellipsoid for xdggs: the radius of a sphere, otherwise the axes.

        xdggs refuses an ellipsoid with equal axes, which becomes a sphere.
        """
        is_sphere = self.semi_major_axis is None or self.semi_major_axis == self.semi_minor_axis
        attributes: dict[str, Any] = {"name": self.name or None}
        if is_sphere:
            attributes["radius"] = self.semi_major_axis or self.radius
        else:
            attributes["semimajor_axis"] = self.semi_major_axis
            attributes["semiminor_axis"] = self.semi_minor_axis
            attributes["inverse_flattening"] = self.inverse_flattening
        return {key: value for key, value in attributes.items() if value is not None}


class Dggs(Model, frozen=True, kw_only=True):
    """A discrete global grid system, and the cells of an array.

    If `coordinate` is empty, the array has all cells of its level, in order.
    """

    form: ClassVar[Rule] = FORM

    name: Annotated[str, Text(), Member(required=True, example='"name": "healpix"')] = ""
    refinement_level: Annotated[
        int | None,
        Parsed(partial(integer, least=0)),
        Member(example='"refinement_level": 2'),
    ] = None
    indexing_scheme: Annotated[str, Text(), Member(example='"indexing_scheme": "nested"')] = ""
    spatial_dimension: Annotated[
        str, Text(), Member(required=True, example='"spatial_dimension": "cells"')
    ] = ""
    coordinate: Annotated[str, Text(), Member(example=f'"coordinate": "{_CELL_IDS}"')] = ""
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
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Warn if ``refinement_level`` is missing; null is allowed, for cells of several levels."""
        key = "refinement_level"
        if key in fragment.value:
            fields.setdefault(key, None)
        elif key not in reader.misspelt.values():
            _kind, member = fields_of(cls)[key]
            text, place = _("is missing"), fragment.place(key)
            reader.of(member).refuse(place, text, severity="warning", value_kept=True)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of a coordinate of cell ids from which xdggs reads the grid."""
        attributes: dict[str, Any] = {"grid_name": self.name, "level": self.refinement_level}
        if self.indexing_scheme:
            attributes["indexing_scheme"] = self.indexing_scheme
        if self.ellipsoid is not None and self.ellipsoid.lost is None:
            attributes["ellipsoid"] = self.ellipsoid.attributes
        return attributes


ATTRIBUTE = Attribute("dggs", Nested(Dggs), FORM, _EXAMPLE, marks=("spatial_dimension",))

#: The keys of the attribute in a document; the object of a level has more keys.
_ATTRIBUTE_KEYS = ("attributes", ATTRIBUTE.key)


class DggsHandler(ConventionHandler):
    """Attaches the cell ids of an array as a coordinate."""

    tier = "principal"
    name = "dggs"
    uuid: ClassVar[str | None] = "7b255807-140c-42ca-97f6-7a1cfecdbc38"
    identifiers = ("zarr-conventions/dggs",)
    described = (ATTRIBUTE,)
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Return whether the convention is declared, and a ``dggs`` object applies to the array.

        A group's object applies to the arrays with its ``spatial_dimension``, except the cell ids themselves. If no
        array of the group has that dimension, it applies to all arrays, so that `interpret` reports the mistake.
        """
        if not follows_by_level(cls, array):
            return False
        written = _object_for(array)
        if written is None or written.node is array.node:
            return written is not None
        dggs = _read(array, written)[0]
        if not isinstance(dggs, Dggs):
            return True
        named: Node | None = None
        if dggs.coordinate:
            reference = _reference_to_cell_ids(dggs, written.node)
            named = array.try_without_findings(array.resolver.array, reference)
        own = array.node.group.child(_CELL_IDS)
        if array.sibling(_CELL_IDS) is not None:
            # An equal array with this name gets a different interpretation.
            array.resolver.reached.add(own)
        if array.node in (own, named):
            return False
        if not array.dims:
            return False
        dimension = dggs.spatial_dimension
        return dimension in array.dims or not array.tree.memo(
            (array.node.group, dimension), _group_has_dimension, array, dimension
        )

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the cell ids as a coordinate, or no coordinate if the metadata cannot be used."""
        written, cost = _object_for(array), _("the ids of its cells")
        if written is None:
            return array.interpretation()
        dggs, findings = _read(array, written)
        array.report_wrong(written.node, findings, cost)
        array.report_wrong(written.node, dggs, cost)
        if not isinstance(dggs, Dggs) or dggs.lost is not None:
            return array.interpretation()
        array.report_wrong(written.node, dggs.ellipsoid, _("the ellipsoid of its cells"))
        cells = array.try_reporting(_cell_ids, array, dggs, written.node, cost=lambda: cost)
        return array.interpretation(*filter(None, [cells]))


def naming_cell_ids(
    attributes: Mapping[str, Any], dims: Mapping[str, tuple[str, ...]]
) -> Mapping[str, Any]:
    """Return the attributes with a ``dggs`` that names the attached coordinate of cell ids, without compression.

    Programs that read ``dggs`` from the Dataset, or from a store written from it, need that coordinate. If the
    Dataset does not have it, the attributes are unchanged.

    Parameters
    ----------
    attributes : mapping
        The attributes of an array or a group that follows the convention.
    dims : mapping
        The dimensions of each variable of the Dataset, by the name of the variable.
    """
    written = attributes.get(ATTRIBUTE.key)
    if not isinstance(written, Mapping):
        return attributes
    along = (written.get("spatial_dimension"),)
    ids = (name for name in (written.get("coordinate"), _CELL_IDS) if isinstance(name, str))
    name = next((name for name in ids if dims.get(name) == along), None)
    if name is None:
        return attributes
    unpacked = {"compression": "none"} if "compression" in written else {}
    return {**attributes, ATTRIBUTE.key: {**written, "coordinate": name, **unpacked}}


@once_per_array
def _object_for(array: ArrayView) -> Fragment | None:
    """Return the ``dggs`` object of an array, otherwise of its level, otherwise of its group, or None.

    The object of a level may have only some members, which then override those of the layout's group.
    """
    nearest = scopes_of(array).get(ATTRIBUTE.key, skip_shared=True)
    nearest = nearest or array.attribute(ATTRIBUTE.key, array.node.group)
    level = level_of(array)
    if level is None:
        return nearest
    whole = array.attribute(ATTRIBUTE.key, level.group)
    items = (item.whole.at(level.group) for item in level.items if item.whole is not None)
    reduced = next(filter(None, (item.get(ATTRIBUTE.key) for item in items)), None)
    if reduced is None or whole is None or nearest not in (reduced, whole):
        return nearest
    if not (isinstance(whole.value, OBJECT) and isinstance(reduced.value, OBJECT)):
        return reduced
    return Fragment(reduced.node, reduced.keys, {**whole.value, **reduced.value})


def _read(array: ArrayView, written: Fragment) -> tuple[Any, tuple[Finding, ...]]:
    """Return the `Dggs` of an object, None if it cannot be used, and findings about the object as a whole."""
    if written.keys == _ATTRIBUTE_KEYS:
        return parse_once(array, ATTRIBUTE.read, written)
    # The object of a level depends on two attributes of one group.
    return array.tree.memo((written.node, written.keys), ATTRIBUTE.read, written)


def _group_has_dimension(array: ArrayView, dimension: str) -> bool:
    """Return whether any array of an array's group has a dimension."""
    return any(dimension in sizes for sizes in array.siblings.values())


def _reference_to_cell_ids(dggs: Dggs, node: Node) -> Fragment:
    """Return the array of cell ids that ``coordinate`` names as a reference. `node` has the ``dggs`` object."""
    place = dggs.place(node, "coordinate")
    return Fragment(place.node, place.keys, {"node": dggs.coordinate})


def _cell_ids(array: ArrayView, dggs: Dggs, written_in: Node) -> Coordinate:
    """Return the coordinate of cell ids, or raise XGroupError.

    Its values are those of the group's own ``cell_ids``; else all cells of the level if ``coordinate`` is missing; else
    those of the array that ``coordinate`` names, unpacked if necessary.
    """
    dimension = dggs.spatial_dimension
    if dimension not in array.sizes:
        text = _("{dimension!r} is not a dimension of the array ({dims})")
        if written_in != array.node:
            text = _("{dimension!r} is not a dimension of any array of the group")
        text = text.format(dimension=dimension, dims=", ".join(array.dims))
        remedy = write("spatial_dimension", (*array.dims, "cells")[-1])
        raise dggs.place(written_in, "spatial_dimension").error(text, DIMENSION, remedy)
    size = array.sizes[dimension]
    is_packed, name = dggs.compression != "none", dggs.coordinate
    reference = _reference_to_cell_ids(dggs, written_in)
    own = array.node.group.child(_CELL_IDS)
    if array.sibling(_CELL_IDS) is not None and array.siblings[_CELL_IDS] == {dimension: size}:
        # Data that were written again contain their unpacked cell ids, but still have the original attributes.
        if is_packed or name in ("", _CELL_IDS) or "/" in name:
            return _stored_cell_ids(array, dggs, written_in, dimension, own)
        if array.sibling(name) is None:
            text = _("cannot be resolved; the group's own array {name!r} is used")
            text = text.format(name=_CELL_IDS)
            remedy, topic = write("coordinate", _CELL_IDS), Topic.CHOICE
            array.report(CELLS, reference, text, remedy, topic=topic, severity="warning")
            return _stored_cell_ids(array, dggs, written_in, dimension, own)
    if not name:
        source = _all_cell_ids(array, dggs, written_in, dimension)
        return Coordinate(_CELL_IDS, source, dggs.attributes)
    node = array.resolver.array(reference, partial(_shape_misfit, array, dggs.compression, size))
    if is_packed:
        source = _unpacked_cell_ids(array, dggs, dimension, node, reference)
        return Coordinate(_CELL_IDS, source, dggs.attributes)
    return _stored_cell_ids(array, dggs, written_in, dimension, node, reference)


def _shape_misfit(array: ArrayView, compression: str, size: int, node: Node) -> str | None:
    """Return why an array does not have the shape of the ids of `size` cells with a compression, or None.

    There may be any number ("n") of packed ids. Ranges have a start and an end.
    """
    shapes: dict[str, list[int | str]] = {"none": [size], "ranges": ["n", 2]}
    needed, shape = shapes.get(compression, ["n"]), list(shape_of(array, node))
    pairs = zip(needed, shape, strict=False)
    if len(shape) == len(needed) and all(length in ("n", own) for length, own in pairs):
        return None
    return _("its shape is {shape}, but the cells need {needed}").format(shape=shape, needed=needed)


def _stored_cell_ids(
    array: ArrayView,
    dggs: Dggs,
    written_in: Node,
    dimension: str,
    node: Node,
    reference: Fragment | None = None,
) -> Coordinate:
    """Return an array of unpacked cell ids as the coordinate.

    It gets only the attributes of the grid that xdggs does not find itself: xdggs reads all attributes of an array with a
    ``grid_name`` as parameters of the grid, otherwise it reads ``dggs`` of the group.
    """
    name = node.name if node.group == array.node.group else _CELL_IDS
    source = array.stored(Stored(node, (dimension,)), reference)
    document = array.document_of(node)
    own = [] if document is None else [key for key in document.attributes if key[:1] != "_"]
    attributes = dggs.attributes
    if "grid_name" in own:
        attributes = {key: attributes[key] for key in ("ellipsoid",) if key in attributes}
    elif own and written_in == array.node.group and dggs.keys == _ATTRIBUTE_KEYS:
        attributes = {}
    return Coordinate(name, source, attributes)


def _unpacked_cell_ids(
    array: ArrayView, dggs: Dggs, dimension: str, node: Node, reference: Fragment
) -> Computed:
    """Return the source of cell ids that are unpacked from an array, or raise XGroupMetadataError.

    Unpacking is supported only for nested cells of HEALPix at one level.
    """
    level, scheme = dggs.refinement_level, dggs.indexing_scheme
    is_healpix = dggs.name.lower() == "healpix" and scheme in ("", "nested")
    if not is_healpix or level is None or level > FINEST:
        text = _("is packed, which is supported only for nested HEALPix cells of one level")
        raise reference.error(text, CELLS, write("compression", "none"))
    array.referred.add(node)
    along = ("range", "end")[: len(shape_of(array, node))]
    packed = array.stored(Stored(node, along, decoded=False), reference)
    kind = array.factory.decoded_dtype(packed)
    if kind.kind not in "iu":
        text, remedy = _("needs integers in {node}"), _("use an array of integers")
        raise reference.error(text.format(node=node), CELLS, remedy)
    size, chunks = array.sizes[dimension], chunks_along(array, (dimension,))
    function = UnpackedCells(size, level)
    return Computed(function, (size,), kind.str, (dimension,), chunks=chunks, arrays=(packed,))


def _all_cell_ids(array: ArrayView, dggs: Dggs, written_in: Node, dimension: str) -> Computed:
    """Return the source of the ids of all cells of a level, in order, or raise XGroupMetadataError.

    Only HEALPix is supported. It divides the sphere into 12 cells, and each cell into 4 at the next level.
    """
    size, level = array.sizes[dimension], dggs.refinement_level
    place, remedy = dggs.place(written_in), write("coordinate", _CELL_IDS)
    is_supported = dggs.name.lower() == "healpix" and dggs.indexing_scheme in _IN_ORDER
    if not is_supported or level is None or level > FINEST:
        text = _(
            "must have 'coordinate': cell ids can be computed only for HEALPix (nested, ring or "
            "zuniq) and a known level"
        )
        raise place.error(text, CELLS, remedy)
    number = 12 * 4**level
    if size != number:
        text = _(
            "has no 'coordinate', so it needs all {number} cells of level {level}, but has {size}"
        )
        raise place.error(text.format(number=number, level=level, size=size), CELLS, remedy)
    # An id of zuniq is ``2 * nested + 1``, shifted to the finest level: the lowest set bit encodes the level.
    lowest = 4 ** (FINEST - level)
    ids = Regular(lowest, 2 * lowest) if dggs.indexing_scheme == "zuniq" else Regular(0, 1)
    chunks = chunks_along(array, (dimension,))
    return Computed(ids, (size,), "int64", (dimension,), chunks=chunks)
