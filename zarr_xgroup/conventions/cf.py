"""The `CF` principal convention: references between the groups of a hierarchy.

Names and paths in attributes such as ``coordinates`` and ``grid_mapping`` are resolved by CF 1.12, section 2.7
"Groups". The referenced arrays are attached as coordinates, and their names replace the paths in the attribute
(specification, ResolvedZarrStore). Paths are followed for the arrays of every principal convention. For arrays that
follow CF, names are also searched for in the groups above, and the attributes of attached arrays are followed in turn.
If a group only names CF-1.8 or later in its ``Conventions``, the arrays in it and below get coordinates of other groups
(`coordinates_of_other_groups`).

Coordinate variables of dimensions are searched for from the group of an array upwards to the local apex, the group that
defines the dimension, and from there downwards, breadth first. NCZarr specifies which group defines a dimension, Zarr
does not. If it is not specified, each group above is tried as the apex, the nearest first, up to a group with a
different dimension of that name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

from msgspec.structs import replace

from zarr_xgroup.conventions.array import ArrayView, NodeView, own_dims_of, shape_of
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.axes import fitting_dims
from zarr_xgroup.conventions.base import ConventionHandler, Marks
from zarr_xgroup.conventions.declaring import names_cf_with_groups
from zarr_xgroup.conventions.descriptions import Parsed, must_be, such_as, write
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.conventions.units import (
    CALENDAR,
    CALENDARS,
    CF,
    EPOCH,
    UNIT_OF_TIME,
    is_epoch,
    problems_of_time_units,
    unit_and_epoch,
)
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule, XGroupReferenceError, after_place
from zarr_xgroup.findings import Finding, Topic, coordinate_named, new_finding, referred_to_by
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import (
    ALONG,
    BOUNDARIES,
    LISTS,
    PAIRS,
    REFERRING,
    candidate_paths,
    mappings_in,
    names_by_key,
    names_in,
    words_of,
)
from zarr_xgroup.metadata.dimensions import (
    declared_dimensions,
    dimension_keys,
    dimension_references,
)
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node
from zarr_xgroup.metadata.paths import is_below
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.variables.sources import Stored, Unusable

__all__ = ["CfHandler"]

NAMES = Rule("cf/names", CF, "Appendix A Attributes")
SOMEWHERE = Rule("cf/leads-somewhere", CF, "2.7 Groups")
MISSING = Rule("cf/missing-value", CF, "2.5.1 Missing data, valid and actual range of data")
PACKED = Rule("cf/packed", CF, "8.1 Packed Data")

#: The longest chain of references: to a coordinate, to its boundaries, and to the terms of their formula.
_MAX_STEPS = 3

#: How many references of attached arrays are followed for one array. Most arrays have a few: the limit is for stores in
#: which all arrays refer to all others.
_MAX_FURTHER = 100

#: Examples of attributes that are pairs of a role and a name, for remedies.
_WITH_ROLES = {
    "cell_measures": "area: cell_area",
    "formula_terms": "sigma: lev ps: ps ptop: ptop",
}


# The syntax of the attributes.


def _checked_text(attribute: Fragment) -> str:
    """Return the attribute's text, or raise XGroupMetadataError if it does not have CF's syntax."""
    key, text = attribute.keys[-1], attribute.value
    if isinstance(text, str) and _has_cf_separators(key, text):
        return text
    syntax = _("names separated by spaces")
    if key in PAIRS:
        syntax = _("pairs of a role with a colon and a name, separated by spaces")
    raise attribute.error(must_be(syntax, text), NAMES, _remedy(attribute))


def _remedy(attribute: Fragment) -> str:
    """Return a remedy: the attribute's names in CF's syntax if possible, otherwise an example."""
    key, value = attribute.keys[-1], attribute.value
    names = value if isinstance(value, list) else [value]
    if all(isinstance(name, str) for name in names):
        text = _with_cf_separators(key, " ".join(names))
        if _has_cf_separators(key, text):
            return write(key, text)
    return such_as(f'"{key}": "{_WITH_ROLES.get(key, "name")}"')


def _with_cf_separators(key: str, text: str) -> str:
    """Return an attribute's text with CF's separators: spaces between names, and colons only after roles."""
    spaced = " ".join(text.replace(",", " ").replace(";", " ").split())
    if key in PAIRS:
        return " ".join(spaced.replace(":", " : ").split()).replace(" :", ":")
    if key in LISTS:
        return " ".join(word.rstrip(":") for word in spaced.split())
    return spaced.rstrip(": ")


# Cached, because an attribute is checked for each of its names that cannot be resolved, one after the other.
@lru_cache(maxsize=1)
def _has_cf_separators(key: str, text: str) -> bool:
    """Return whether an attribute's text has CF's separators, and roles and names alternate in pairs."""
    words = text.split()
    if _with_cf_separators(key, text) != " ".join(words):
        return False
    are_roles = [word.endswith(":") for word in words]
    return key not in PAIRS or are_roles == [True, False] * (len(words) // 2)


class CfHandler(ConventionHandler):
    """Attaches arrays of other groups that CF attributes name, and coordinate variables of dimensions."""

    tier = "principal"
    name = "cf"
    uuid: ClassVar[str | None] = "77c308c7-4db2-4774-8b2d-aa37e9997db6"
    identifiers = ("zarr-conventions/CF", "0c0a02d2-8a95-4303-8b62-16a50b439d74")
    priority = 1  # other conventions are more specific
    # Following the references reports missing arrays.
    described = tuple(
        Attribute(
            key,
            Parsed(_checked_text),
            NAMES,
            f'"{key}": "{_WITH_ROLES.get(key, "name")}"',
            on="array",
            is_needed=False,
        )
        for key in REFERRING
    )
    rules = (NAMES, SOMEWHERE, MISSING, PACKED, CALENDAR, UNIT_OF_TIME, EPOCH)
    reads = ()

    @classmethod
    def marks(cls, array: ArrayView) -> Marks | None:
        """Return the dimensions with coordinates in other groups, and whether the grid mapping variable is in one."""
        names = words_of(array.attributes, "coordinates")
        elsewhere = [node for name in names if (node := _array_outside(array, name))]
        has_crs = any(_array_outside(array, name) for name in mappings_in(array.attributes))
        placed = {dim for node in elsewhere for dim in fitting_dims(array, node)}
        dimensions = _dimensions_without_coordinate(array, ())
        placed.update(it.dim for it in dimensions if _has_coordinate_elsewhere(array, it))
        if not (elsewhere or has_crs or placed):
            return None
        return Marks(tuple(dim for dim in array.dims if dim in placed), has_crs)

    @classmethod
    def check(cls, subject: NodeView) -> Iterator[Finding]:
        """Report mistakes in attributes with which xarray decodes values."""
        if not subject.is_array:
            return
        for key, example in (("scale_factor", "0.01"), ("add_offset", "0.0")):
            packing = subject.attribute(key)
            value = None if packing is None else packing.value
            numbers = value if isinstance(value, list) else [value]  # xarray accepts [number]
            if packing is not None and not (len(numbers) == 1 and is_finite(numbers[0])):
                remedy = such_as(f'"{key}": {example}')
                yield new_finding(PACKED, packing, must_be("a number", value), remedy)
        missing = subject.attribute("missing_value")
        if missing is not None and isinstance(missing.value, OBJECT):
            text = must_be("a value of the array's type", missing.value)
            yield new_finding(MISSING, missing, text, such_as('"missing_value": -999.0'))
        yield from _time_mistakes(subject)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return links to the arrays that the CF attributes name, and coordinates of dimensions."""
        follower = Follower(array, by_name=True)
        links = follower.links()
        coordinates = [
            array.try_reporting(
                *(_coordinate_of, array, dimension, follower),
                cost=partial(coordinate_named, dimension.dim),
            )
            for dimension in _dimensions_without_coordinate(array, links)
        ]
        return array.interpretation(*filter(None, coordinates), links=links)


# Hierarchies by ``Conventions``.


def declares_hierarchy(tree: Tree, group: Node) -> bool:
    """Return whether ``Conventions`` of a group, or of one above it, names a version of CF that has groups."""

    def declares(node: Node, above: bool | None) -> bool:
        document = tree.document(node)
        return bool(above) or (document is not None and names_cf_with_groups(document.attributes))

    return tree.memo.upwards("CF hierarchy", declares, group)


def references_of(array: ArrayView, *, has_principal: bool) -> Interpretation | None:
    """Return links and coordinates by the CF attributes of an array that does not follow `cf`, or None.

    Paths in CF attributes of an array with a principal convention are followed. If ``Conventions`` names CF-1.8 or
    later, an array also gets the arrays of other groups that ``coordinates`` names by a path, and coordinate variables
    in the groups above of dimensions without a coordinate. These are of the same sizes as the array, and nothing is
    reported for missing ones.
    """
    if CfHandler.name in array.conventions:
        return None
    links = links_of(array) if has_principal else ()
    if not declares_hierarchy(array.tree, array.node.group):
        return Interpretation(links=links) if links else None
    given = {link.path for before in array.before for link in before.links}
    given.update(link.path for link in links)
    paths = [name for name in names_in(array.attributes, "coordinates") if "/" in name]
    links += tuple(
        Link("coordinates", path, coordinate)
        for path in dict.fromkeys(paths)
        if path not in given and (coordinate := _coordinate_at(array, path)) is not None
    )
    inherited = (
        _inherited_coordinate(array, dimension)
        for dimension in _dimensions_without_coordinate(array, links)
        if array.sibling(dimension.name) is None
    )
    return Interpretation(tuple(filter(None, inherited)), links=links)


def _coordinate_at(array: ArrayView, path: str) -> Coordinate | None:
    """Return the array of a different group at a path, None if it does not exist or does not fit the array."""
    place = Fragment(array.node, ("attributes", "coordinates"), path)
    node = array_named(array, place)
    if node is not None:
        array.resolver.reached.add(node)
    if node is None or node.group == array.node.group:
        return None
    dims = own_dims_of(array, node)
    sizes = zip(dims, shape_of(array, node), strict=True)
    if any(array.sizes.get(dim) != size for dim, size in sizes):
        return None
    return _found(array, place, Stored(node, dims), node.name)


def _inherited_coordinate(array: ArrayView, dimension: _Dimension) -> Coordinate | None:
    """Return the nearest coordinate variable of a dimension in the groups above, or None."""
    node, _apexes = _nearest_above(array, dimension, _groups_to_search(array, dimension))
    if node is None:
        return None
    place = Fragment(array.node, dimension_keys(array.document), dimension.name)
    return _found(array, place, Stored(node, (dimension.dim,)), dimension.dim)


def _found(array: ArrayView, place: Fragment, source: Stored, name: str) -> Coordinate | None:
    """Record a reference, and return its target as a coordinate; None, with a finding, if that cannot be opened."""
    array.resolver.record(place, place.value, source.node)
    cost = partial(coordinate_named, name)
    if array.try_reporting(array.stored, source, place, cost=cost) is None:
        return None
    return Coordinate(name, source)


def _time_mistakes(subject: NodeView) -> Iterator[Finding]:
    """Report mistakes in ``units`` of the form "unit since epoch", and in ``calendar``."""
    units, calendar = subject.attribute("units"), subject.attribute("calendar")
    parts = None if units is None else unit_and_epoch(units.value)
    if units is None or parts is None:
        return
    unit, epoch = parts
    example = f'"units": "{unit} since 2028-02-01T00:00:00"'
    remedies = {UNIT_OF_TIME: "write seconds, minutes, hours or days", EPOCH: such_as(example)}
    calendar_name = "" if calendar is None else str(calendar.value)
    for rule, text in problems_of_time_units(unit, epoch, calendar_name):
        if rule in remedies:
            yield new_finding(rule, units, text, remedies[rule])
    if not is_epoch(epoch):
        text = must_be("an ISO 8601 date and time", epoch)
        yield new_finding(EPOCH, units, text, remedies[EPOCH])
    if calendar is not None and calendar_name.lower() not in CALENDARS:
        names = ", ".join(CALENDARS)
        text = must_be(f"one of {names}", calendar.value)
        yield new_finding(CALENDAR, calendar, text, f"write one of {names}")


# References of attributes.


def links_of(
    array: ArrayView, *, by_name: bool = False, keys: Collection[str] = REFERRING
) -> tuple[Link, ...]:
    """Return the references to arrays in some of an array's CF attributes, by default in all.

    A reference that cannot be resolved is reported, and kept unchanged in its attribute. With `by_name`, names without
    a slash are also searched for in the groups above.
    """
    return Follower(array, by_name=by_name).links(keys)


def array_named(array: ArrayView, place: Fragment) -> Node | None:
    """Return the first existing array that a name or path in a CF attribute may refer to, or None."""
    nodes = _candidate_nodes(place.node, place.value)
    return next((node for node in nodes if _is_array(array, node)), None)


def _candidate_nodes(node: Node, name: str) -> list[Node]:
    """Return the nodes to which a name or path in an attribute of a node may refer, the nearest group's first.

    The list is empty if a path points above the root of the store.
    """
    return [Node(node.store, path) for path in candidate_paths(name, node.group.path)]


def _array_outside(array: ArrayView, name: str) -> Node | None:
    """Return the array to which a name or path in a CF attribute refers, None if it is in the array's group or missing."""
    node = array_named(array, Fragment(array.node, ("attributes",), name))
    return None if node is None or node.group == array.node.group else node


def _is_array(array: ArrayView, node: Node) -> bool:
    """Return whether a node is an array; False if its document has not been read yet."""
    document = array.document_of(node)
    return document is not None and document.is_array


class Follower:
    """Follows the references in the CF attributes of one array, and of the arrays that they refer to.

    With `by_name`, names without a slash are also searched for in the groups above, and the attributes of attached
    arrays are followed in turn.
    """

    def __init__(self, array: ArrayView, *, by_name: bool) -> None:
        self._array = array
        self._by_name = by_name
        self._attached: dict[Node, Coordinate] = {}
        self._further_left = _MAX_FURTHER

    def links(self, keys: Collection[str] = REFERRING) -> tuple[Link, ...]:
        """Return the references to arrays in the array's own attributes, each with its coordinate."""
        array = self._array
        links = []
        for key, name in dict.fromkeys(names_by_key(array.attributes)):
            is_elsewhere = "/" in name or (self._by_name and array.sibling(name) is None)
            if key in keys and is_elsewhere:
                links.append(self._link(Fragment(array.node, ("attributes", key), name)))
        return tuple(filter(None, links))

    def attached(
        self, node: Node, dims: tuple[str, ...], place: Fragment, steps_left: int = _MAX_STEPS - 1
    ) -> Coordinate:
        """Return a referenced array as a coordinate, with links to the arrays that its own attributes name.

        `dims` are its dimensions in the Dataset, `place` is the reference to it, and `steps_left` is the length of the
        longest chain of references from it. Raises XGroupMetadataError if the array cannot be opened.
        """
        array = self._array
        bare = Coordinate(node.name, array.stored(Stored(node, dims), place))
        # The attributes of an array of the same group are followed for that array itself.
        if not (self._by_name and steps_left) or node.group == array.node.group:
            return bare
        if node not in self._attached:
            self._attached[node] = bare  # for references back to it
            attributes = array.attributes_of(node)
            links = []
            for key, name in dict.fromkeys(names_by_key(attributes.value if attributes else {})):
                self._further_left -= 1
                if self._further_left == -1:
                    message = _(
                        "the referenced arrays refer to more than {most} other arrays; the rest is left out"
                    )
                    text = message.format(most=_MAX_FURTHER)
                    array.report(Topic.CHOICE, array.node, text, severity="error")
                if self._further_left < 0:
                    break
                further = Fragment(node, ("attributes", key), name)
                links.append(self._link(further, dims, steps_left - 1))
            self._attached[node] = replace(bare, links=tuple(filter(None, links)))
        known = self._attached[node]
        # The links are those of an array with dimensions of these names.
        return known if known.source == bare.source else bare

    def _link(
        self, place: Fragment, dims: tuple[str, ...] = (), steps_left: int = _MAX_STEPS - 1
    ) -> Link | None:
        """Return a reference with its coordinate; None if nothing is attached. A wrong reference is reported."""
        key, name = place.keys[-1], place.value
        cost = partial(referred_to_by, key, name.strip(",;:"))
        coordinate = self._array.try_reporting(self._named, place, dims, steps_left, cost=cost)
        return None if coordinate is None else Link(key, name, coordinate)

    def _named(
        self, place: Fragment, attached_dims: tuple[str, ...], steps_left: int
    ) -> Coordinate | None:
        """Return the coordinate to which an attribute of the array, or of an attached array, refers.

        None if nothing is attached. `attached_dims` are the attached array's dimensions in the Dataset.
        """
        array, key, node = self._array, place.keys[-1], self._find(place)
        if node is None:
            return None
        if node == array.node == place.node:
            # An array may be a term of its own formula, which xarray finds by its name.
            return (
                Coordinate(node.name, Stored(node, array.dims)) if key == "formula_terms" else None
            )
        if place.node == array.node:
            return self.attached(node, fitting_dims(array, node), place, steps_left)
        names = dict(zip(own_dims_of(array, place.node), attached_dims, strict=True))
        dims = tuple(names.get(dim, dim) for dim in own_dims_of(array, node))
        if key not in BOUNDARIES:  # which have their own dimension of vertices
            # The terms of a vertical coordinate may also have other dimensions of the array.
            attached_sizes = zip(attached_dims, shape_of(array, place.node), strict=True)
            known = dict(attached_sizes) | array.sizes
            sizes = zip(dims, shape_of(array, node), strict=True)
            if any(known.get(dim) != size for dim, size in sizes):
                return None
        return self.attached(node, dims, place, steps_left)

    def _find(self, place: Fragment) -> Node | None:
        """Return the array that a name or path refers to, and record the reference; None if it may be missing.

        Raises XGroupReferenceError if the array does not exist, XGroupMetadataError if the attribute does not have CF's
        syntax.
        """
        array, key, name = self._array, place.keys[-1], place.value
        needs_dims = place.node == array.node and "/" not in name and key in ALONG
        nodes = _candidate_nodes(place.node, name)
        has_unfitting = False
        for node in nodes:
            if _is_array(array, node):
                if not needs_dims or self._lies_along_dims(node):
                    array.resolver.record(place, name, node)
                    return node
                has_unfitting = True
        if self._may_be_missing(place):
            return None
        if (attribute := array.attribute(key, place.node)) is not None:
            _checked_text(attribute)
        reason = _("does not refer to an array")
        if not nodes:
            reason = _("points above the root of the store")
        elif has_unfitting:
            reason = _("does not refer to an array along dimensions of this one")
        array.resolver.record(place, name, text=reason)
        tried = [
            str(node)
            if array.document_of(node) is None or _is_array(array, node)
            else _("{node} (a group)").format(node=node)
            for node in nodes
        ]
        if tried:
            reason = _("{reason}; tried {tried}").format(reason=reason, tried=", ".join(tried))
        message = f"{name!r} {reason}"
        raise XGroupReferenceError(message, place=str(place), target=name, reason=reason)

    def _may_be_missing(self, place: Fragment) -> bool:
        """Return whether a name may be that of a dimension or an external variable instead of an array.

        ``external_variables`` of a group lists the variables in other files (CF 1.12, 2.6.3).
        """
        array, name = self._array, place.value
        if name in own_dims_of(array, place.node):
            return True
        groups = place.node.ancestors()
        external = (array.attribute("external_variables", group) for group in groups)
        return any(name in str(listed.value).split() for listed in external if listed is not None)

    def _lies_along_dims(self, node: Node) -> bool:
        """Return whether the array has all dimensions of a different array, with the same sizes.

        Fixed-length strings that are stored as single characters may have one more dimension, the last.
        """
        array = self._array
        dims = fitting_dims(array, node)
        sizes = zip(dims, shape_of(array, node), strict=True)
        unknown = tuple(dim for dim, size in sizes if array.sizes.get(dim) != size)
        if unknown and unknown == dims[-1:]:
            return array.factory.decoded_dtype(Stored(node, dims)).kind == "S"
        return not unknown


# Coordinate variables of dimensions.


class _Dimension(NamedTuple):
    """A dimension of an array whose coordinate variable is searched for."""

    #: Its name in the Dataset, and in the array's metadata.
    dim: str
    name: str
    size: int
    #: Its path in the store by NCZarr: the group that defines it, and the name; None if not known.
    path: str | None

    def has_coordinate_variable(self, node: Node, document: Document | None) -> bool:
        """Return whether a node with a document is a coordinate variable of this dimension."""
        if document is None or not _is_coordinate_variable(node, document):
            return False
        return self.agrees(document["shape"][0], dimension_references(document)[0])

    def agrees(self, size: int, path: str | None) -> bool:
        """Return whether the dimension has a size, and a path unless one of the paths is not known."""
        return size == self.size and (None in (path, self.path) or path == self.path)


def _is_coordinate_variable(node: Node, document: Document | None) -> bool:
    """Return whether a node is a 1-D array with the name of its dimension."""
    if document is None or not document.is_array:
        return False
    return declared_dimensions(document) == (node.name,)


def _dimensions_without_coordinate(
    array: ArrayView, links: Collection[Link]
) -> Iterator[_Dimension]:
    """Yield the named dimensions of an array without a coordinate in its group, in `links` or by other conventions."""
    given = [coordinate for before in array.before for coordinate in before.coordinates]
    linked = [link.coordinate for before in array.before for link in before.links]
    linked += [link.coordinate for link in links]
    usable = [other for other in (*given, *linked) if not isinstance(other.source, Unusable)]
    taken = {other.name for other in usable if other.is_dimension_coordinate}
    # A grid with 2-D positions must not get the 1-D positions of a different grid.
    taken.update(dim for other in given if other.places_cells for dim in other.source.dims)
    declared = declared_dimensions(array.document)
    paths = dimension_references(array.document)
    for dim, name, size, path in zip(array.dims, declared, array.shape, paths, strict=True):
        # Other names were generated, or begin with a slash: the dimension of an ancestor, attached with its coordinate.
        if name != dim or dim in taken:
            continue
        dimension, node = _Dimension(dim, name, size, path), array.node.group.child(name)
        own = array.sibling(name)
        is_other = own is not None and not dimension.has_coordinate_variable(node, own)
        if own is None or (is_other and _is_coordinate_variable(node, own)):
            yield dimension


def _has_coordinate_elsewhere(array: ArrayView, dimension: _Dimension) -> bool:
    """Return whether a group above, or the group that NCZarr names, has an array for a dimension."""
    if dimension.path is not None:
        return array.exists(Node(array.node.store, dimension.path.strip("/")))
    nodes = (group.child(dimension.name) for group in array.node.group.ancestors())
    return any(dimension.has_coordinate_variable(node, array.document_of(node)) for node in nodes)


def _coordinate_of(
    array: ArrayView, dimension: _Dimension, follower: Follower
) -> Coordinate | None:
    """Return the coordinate of a dimension: the coordinate variable that is nearest to the array.

    The search goes upwards from the array's group to the local apex, then downwards. Return None if there is no such
    variable, or if several are equally near, which is reported.
    """
    groups = _groups_to_search(array, dimension)
    (above, apexes), is_whole = array.tree.whole(_nearest_above, array, dimension, groups)
    nodes = [] if above is None else [above]
    if above is None and is_whole:
        nodes = array.tree.first(partial(_nearest_below, array, dimension), apexes) or []
    if len(nodes) > 1:
        message = _(
            "dimension {dim!r} has no coordinate in its group or above it, and {nodes} are equally "
            "near; none of them is attached"
        )
        text = message.format(dim=dimension.name, nodes=", ".join(map(str, nodes)))
        array.report(Topic.CHOICE, array.node, text, severity="error")
    if not nodes:
        _report_unused(array, dimension)
    if len(nodes) != 1:
        return None
    place = Fragment(array.node, dimension_keys(array.document), dimension.name)
    array.resolver.record(place, dimension.name, nodes[0])
    coordinate = follower.attached(nodes[0], (dimension.dim,), place)
    return replace(coordinate, name=dimension.dim)


def _report_unused(array: ArrayView, dimension: _Dimension) -> None:
    """Report arrays above an array's group that would be the coordinate of a dimension if they could be used."""
    for node, reason in _unused(array, dimension.name, dimension):
        problem = array.tree.problem(node)
        if node.group == array.node.group:  # the group reports it
            continue
        array.depends_on_name = True  # other groups have different arrays above
        if problem is not None:
            cost = coordinate_named(dimension.dim)
            remedy = remedy_for_unused(is_unreadable=True)
            array.report(Topic.PROBLEM, array.node, reason, remedy, cost=cost)
        else:
            text = _("dimension {dim!r} has no coordinate: {reason}")
            text = text.format(dim=dimension.name, reason=reason)
            array.report(Topic.CHOICE, array.node, text, remedy_for_unused(is_unreadable=False))


def remedy_for_unused(*, is_unreadable: bool) -> str:
    """Return the remedy for an array that cannot be the coordinate of others: unreadable, or of a different size."""
    if is_unreadable:
        return _("write the document again with zarr")
    return _("give one of the dimensions a different name, or write arrays of one size")


def unused_coordinates(array: ArrayView) -> Iterator[tuple[Node, str]]:
    """Yield arrays that would be coordinates of an array if they could be used, each with the reason.

    They have the name of a dimension without a coordinate, in the array's group or above, or ``coordinates`` names them.
    """
    array.depends_on_name = True
    for dimension in _dimensions_without_coordinate(array, ()):
        yield from _unused(array, dimension.name, dimension)
    for name in names_in(array.attributes, "coordinates"):
        yield from _unused(array, name)


def _unused(
    array: ArrayView, name: str, dimension: _Dimension | None = None
) -> Iterator[tuple[Node, str]]:
    """Yield the read nodes of a name that have no usable document, or not the size of a dimension; and the reason.

    The search ends at an array that fits. If NCZarr names the dimension, one of a different size is a different dimension.
    """
    for node in _candidate_nodes(array.node, name):
        document, problem = array.tree.document_if_read(node), array.tree.problem(node)
        if document is not None and _is_coordinate_variable(node, document):
            length = document["shape"][0]
            if dimension is None or dimension.path is not None or length == dimension.size:
                return
            text = _("{node} has length {length}, not {size}")
            yield node, text.format(node=node, length=length, size=dimension.size)
        elif problem is not None:
            is_named = problem.text.startswith(str(node))
            yield node, problem.text if is_named else after_place(str(node), problem.text)


def _groups_to_search(array: ArrayView, dimension: _Dimension) -> list[Node]:
    """Return the groups that contain an array, the nearest first, up to the apex if NCZarr names it."""
    groups = list(array.node.ancestors())
    if dimension.path is None:
        return groups
    apex = Node(array.node.store, dimension.path.rpartition("/")[0].strip("/"))
    return [group for group in groups if is_below(group.path, apex.path)] or [apex]


def _nearest_above(
    array: ArrayView, dimension: _Dimension, groups: Sequence[Node]
) -> tuple[Node | None, Sequence[Node]]:
    """Return the first coordinate variable of a dimension in `groups`, or None and the possible apexes."""
    for depth, group in enumerate(groups):
        node = group.child(dimension.name)
        document = array.document_of(node)
        if dimension.has_coordinate_variable(node, document):
            return node, ()
        if depth and dimension.path is None and _is_coordinate_variable(node, document):
            return None, groups[:depth]  # from here on, the name means a different dimension
    return None, groups if dimension.path is None else groups[-1:]


def _nearest_below(array: ArrayView, dimension: _Dimension, apex: Node) -> list[Node] | None:
    """Return the coordinate variables of a dimension that are the fewest levels below the local apex, or None."""
    array.tree.memo(apex, _ask_for_members_below, array.tree, apex)
    groups = array.tree.groups_with(apex.store, dimension.name)
    variables = array.tree.memo(
        (apex.store, dimension.name, len(groups)),  # the number of known groups only grows
        *(_coordinate_variables_in, array, groups, dimension.name),
    )
    levels: defaultdict[int, list[Node]] = defaultdict(list)
    for node, size, path in variables:
        if is_below(node.path, apex.path) and dimension.agrees(size, path):
            levels[node.path.count("/")].append(node)
    return levels[min(levels)] if levels else None


def _ask_for_members_below(tree: Tree, group: Node) -> None:
    """Query the members of all groups below a group, so that the tree records unread ones."""
    if not tree.is_consolidated(group):
        for _below in tree.subtree(group):
            pass


def _coordinate_variables_in(
    array: ArrayView, groups: Collection[Node], name: str
) -> list[tuple[Node, int, str | None]]:
    """Return the coordinate variables with a name in groups, each with the size and path of its dimension."""
    nodes = [group.child(name) for group in groups]
    return [
        (node, document["shape"][0], dimension_references(document)[0])
        for node, document in zip(nodes, map(array.document_of, nodes), strict=True)
        if document is not None and _is_coordinate_variable(node, document)
    ]
