"""The `CF` principal convention: references between the groups of a hierarchy.

Names and paths in the attributes by which arrays refer to others are resolved as CF 1.12 has it, section 2.7
"Groups". What they lead to is attached, and xarray finds it by the flat name that takes their place
(specification, ResolvedZarrStore). Paths are followed for the arrays of every principal convention. For
those of CF itself, names that lead to groups further up are followed, too, and so is what the attached
arrays refer to in turn.

Coordinate variables of dimensions are found in the same way: from the group of an array upwards to its
local apex, the group that defines the dimension, and then from there downwards, breadth first. Zarr does not
say which group defines a dimension, but NCZarr does. Where it is not said, each group above is taken for the
apex in turn, the nearest first, as far up as none has another dimension of the name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

from zarr_xgroup.conventions.array import ArrayView, own_dims_of, shape_of
from zarr_xgroup.conventions.axes import fitting_dims
from zarr_xgroup.conventions.base import ConventionHandler, Surroundings
from zarr_xgroup.conventions.checked import CheckedNode
from zarr_xgroup.conventions.descriptions import Attribute, Parsed, got, such_as, write
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.conventions.units import (
    CALENDAR,
    CALENDARS,
    CF,
    EPOCH,
    UNIT_OF_TIME,
    faults_of,
    is_epoch,
)
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule, XGroupReferenceError
from zarr_xgroup.findings import Finding, Topic, coordinate_named, referred_to_by, report
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
from zarr_xgroup.variables.sources import Stored

__all__ = ["CfHandler"]

NAMES = Rule("cf/names", CF, "Appendix A Attributes")
SOMEWHERE = Rule("cf/leads-somewhere", CF, "2.7 Groups")
MISSING = Rule("cf/missing-value", CF, "2.5.1 Missing data, valid and actual range of data")
PACKED = Rule("cf/packed", CF, "8.1 Packed Data")

#: How many references may follow one another: that to a coordinate, from there to its boundaries,
#: from these to the terms of their formula.
_MAX_STEPS = 3

#: How many references of attached arrays are followed for one array, which has a few as a rule.
_MAX_FURTHER = 100

_SINCE = re.compile(r"(\S+)\s+since\s+(\S.*)", re.IGNORECASE)

#: How attributes with roles are written.
_WITH_ROLES = {
    "cell_measures": "area: cell_area",
    "formula_terms": "sigma: lev ps: ps ptop: ptop",
}


# How the attributes are written.


def _as_written(attribute: Fragment) -> str:
    """Return the text of an attribute, or raise XGroupMetadataError if CF writes it otherwise."""
    key, text = attribute.keys[-1], attribute.value
    if isinstance(text, str) and _is_spelt(key, text):
        return text
    are = _("names with blanks between them")
    if key in PAIRS:
        are = _("pairs of a role with a colon and a name, with blanks between them")
    raise attribute.error(got(are, text), NAMES, _remedy(attribute))


def _remedy(attribute: Fragment) -> str:
    """Return the remedy to write the same names with blanks between them, and roles with a colon."""
    key, value = attribute.keys[-1], attribute.value
    names = value if isinstance(value, list) else [value]
    if all(isinstance(name, str) for name in names):
        spelt = _respelt(key, " ".join(names))
        if _is_spelt(key, spelt):
            return write(key, spelt)
    return such_as(f'"{key}": "{_WITH_ROLES.get(key, "name")}"')


def _respelt(key: str, text: str) -> str:
    """Return the text of an attribute with what CF has between names: blanks, and colons after roles."""
    spaced = " ".join(text.replace(",", " ").replace(";", " ").split())
    if key in PAIRS:
        return " ".join(spaced.replace(":", " : ").split()).replace(" :", ":")
    if key in LISTS:
        return " ".join(word.rstrip(":") for word in spaced.split())
    return spaced.rstrip(": ")


@lru_cache(maxsize=1)  # it is asked for each name of an attribute that leads nowhere
def _is_spelt(key: str, text: str) -> bool:
    """Tell whether an attribute has between names, and roles of names, what CF has there."""
    if _respelt(key, text) != " ".join(text.split()):
        return False
    are_roles = [word.endswith(":") for word in text.split()]
    if key in PAIRS:
        return are_roles == [True, False] * (len(are_roles) // 2)
    return not any(are_roles if key in LISTS else are_roles[-1:])


class CfHandler(ConventionHandler):
    """Attaches what CF attributes refer to in other groups, and coordinates of dimensions there."""

    tier = "principal"
    name = "cf"
    uuid: ClassVar[str | None] = "77c308c7-4db2-4774-8b2d-aa37e9997db6"
    other_uuids = ("0c0a02d2-8a95-4303-8b62-16a50b439d74",)
    repositories = ("zarr-conventions/CF",)
    named_by_root = re.compile(r"cf-1\.\d+")
    follows_names = True
    implies = ("proj",)
    # What the attributes name is looked for where references are followed.
    described = tuple(
        Attribute(
            key,
            Parsed(_as_written),
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
    def seems_meant(cls, attributes: Mapping[str, Any], around: Surroundings) -> bool:
        """Tell whether coordinates are named outside of the group, or a dimension is that of another one."""
        paths = [dim for dim in around.bare if "/" in dim]  # of dimensions, which NCZarr writes
        if any(map(around.leads_out, [*words_of(attributes, "coordinates"), *paths])):
            return True
        nodes = [group.child(dim) for group in around.group.ancestors() for dim in around.bare]
        return any(_is_coordinate_variable(node, around.tree.known(node)) for node in nodes)

    @classmethod
    def seems_to_say_crs(cls, attributes: Mapping[str, Any], around: Surroundings) -> bool:
        """Tell whether a grid mapping variable is named outside of the group."""
        return any(map(around.leads_out, mappings_in(attributes)))

    @classmethod
    def check(cls, subject: CheckedNode) -> Iterator[Finding]:
        """Yield attributes by which values cannot be decoded: an open leaves the values as they are then.

        Only in stores that declare conventions: in others, attributes may mean anything.
        """
        if not (subject.is_array and subject.store.declares_something):
            return
        for key, example in (("scale_factor", "0.01"), ("add_offset", "0.0")):
            packing = subject.attribute(key)
            values = [] if packing is None else packing.value
            (number, *others) = values if isinstance(values, list) and values else [values]
            if packing is not None and (others or not is_finite(number)):
                text = got("a number", packing.value)
                yield report(PACKED, packing, text, such_as(f'"{key}": {example}'))
        missing = subject.attribute("missing_value")
        if missing is not None and isinstance(missing.value, OBJECT):
            text = got("a value of the array's type", missing.value)
            yield report(MISSING, missing, text, such_as('"missing_value": -999.0'))
        units, calendar = subject.attribute("units"), subject.attribute("calendar")
        match = units and isinstance(units.value, str) and _SINCE.fullmatch(units.value.strip())
        if not (units and match):
            return
        unit, epoch = match.groups()
        example = f'"units": "{unit} since 2028-02-01T00:00:00"'
        remedies = {UNIT_OF_TIME: "write seconds, minutes, hours or days", EPOCH: such_as(example)}
        counted_in = "" if calendar is None else str(calendar.value)
        for rule, text in faults_of(f"{unit} since {epoch}", counted_in):
            if rule in remedies:
                yield report(rule, units, text, remedies[rule])
        if not is_epoch(epoch):
            text = got("a date and time as ISO 8601 writes it", epoch)
            yield report(EPOCH, units, text, remedies[EPOCH])
        if calendar is not None and counted_in.lower() not in CALENDARS:
            names = ", ".join(CALENDARS)
            text = got(f"one of {names}", calendar.value)
            yield report(CALENDAR, calendar, text, f"write one of {names}")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return what the array's attributes refer to, and the coordinates of its dimensions."""
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


# References of attributes.


def links_of(
    array: ArrayView, *, by_name: bool = False, keys: Collection[str] = REFERRING
) -> tuple[Link, ...]:
    """Return the references in an array's CF attributes that lead to arrays.

    One that leads nowhere stays as it is, and is told.

    Parameters
    ----------
    array : ArrayView
        The array.
    by_name : bool
        Whether names without a slash are looked for, too, in the groups above the array's own.
    keys : collection of str
        The attributes.
    """
    return Follower(array, by_name=by_name).links(keys)


def array_named(array: ArrayView, place: Fragment) -> Node | None:
    """Return the array that a name or path in a CF attribute leads to, or None."""
    return next((node for node in _candidates(place) if _is_array(array, node)), None)


def _candidates(place: Fragment) -> list[Node]:
    """Return where a name or path in an attribute may lead, the nearest first."""
    node = place.node
    return [Node(node.store, path) for path in candidate_paths(place.value, node.group.path)]


def _is_array(array: ArrayView, node: Node) -> bool:
    document = array.document_of(node)
    return document is not None and document.is_array


class Follower:
    """Follows the references in the CF attributes of one array, and of what they lead to.

    Parameters
    ----------
    array : ArrayView
        The array.
    by_name : bool
        Whether names are followed, and what is attached is followed further.
    """

    def __init__(self, array: ArrayView, *, by_name: bool) -> None:
        self._array = array
        self._by_name = by_name
        self._attached: dict[Node, Coordinate] = {}
        self._further_left = _MAX_FURTHER

    def links(self, keys: Collection[str] = REFERRING) -> tuple[Link, ...]:
        """Return the references in the array's own attributes."""
        array = self._array
        links = []
        for key, name in dict.fromkeys(names_by_key(array.attributes)):
            is_elsewhere = "/" in name or (self._by_name and array.sibling(name) is None)
            if key in keys and is_elsewhere:
                place = Fragment(array.node, ("attributes", key), name)
                links.append(self._link(place, self._referred_by_array))
        return tuple(filter(None, links))

    def attached(
        self, node: Node, dims: tuple[str, ...], place: Fragment, steps_left: int = _MAX_STEPS - 1
    ) -> Coordinate:
        """Return an array that is referred to as a coordinate, with what its own attributes refer to.

        `place` is where it is referred to. Raises XGroupMetadataError if it cannot be opened.
        """
        array = self._array
        bare = Coordinate(node.name, array.stored(Stored(node, dims), place))
        # What an array of the same group refers to is attached for that array itself.
        if not (self._by_name and steps_left) or node.group == array.node.group:
            return bare
        if node not in self._attached:
            self._attached[node] = bare  # for what leads back to it
            attributes = array.attributes_of(node)
            links = []
            for key, name in dict.fromkeys(names_by_key(attributes.value if attributes else {})):
                self._further_left -= 1
                if self._further_left == -1:
                    message = _(
                        "the arrays that it refers to refer to more than {most} others, of which the rest were left out"
                    )
                    array.report(Topic.CHOICE, array.node, message.format(most=_MAX_FURTHER))
                if self._further_left < 0:
                    break
                written = Fragment(node, ("attributes", key), name)
                links.append(self._link(written, self._referred_by_attached, dims, steps_left - 1))
            self._attached[node] = replace(bare, links=tuple(filter(None, links)))
        known = self._attached[node]
        return known if known.source == bare.source else bare

    def _link(
        self, place: Fragment, follow: Callable[..., Coordinate | None], *arguments: Any
    ) -> Link | None:
        """Return a reference with what it leads to; None if that is nothing to attach, or after reporting why."""
        key, name = place.keys[-1], place.value
        lost = partial(referred_to_by, key, name.strip(",;:"))
        coordinate = self._array.try_reporting(follow, place, *arguments, cost=lost)
        return None if coordinate is None else Link(key, name, coordinate)

    def _referred_by_array(self, place: Fragment) -> Coordinate | None:
        """Return what the array refers to as a coordinate; None for what may be missing, and for itself.

        Only as a term of its own formula the array is attached to itself: terms are found by their names.
        """
        array, node = self._array, self._find(place)
        if node is None:
            return None
        if node == array.node:
            is_term = place.keys[-1] == "formula_terms"
            return Coordinate(node.name, Stored(node, array.dims)) if is_term else None
        return self.attached(node, fitting_dims(array, node), place)

    def _referred_by_attached(
        self, place: Fragment, along: tuple[str, ...], steps_left: int
    ) -> Coordinate | None:
        """Return what an attached array refers to as a coordinate; None if it has dimensions that the array has not.

        `along` says what the dimensions of the attached array are called.
        """
        array, node = self._array, self._find(place)
        if node is None:
            return None
        names = dict(zip(own_dims_of(array, place.node), along, strict=True))
        dims = tuple(names.get(dim, dim) for dim in own_dims_of(array, node))
        # The terms of a vertical coordinate may have more dimensions than it has, if the array has these.
        spanned = dict(zip(along, shape_of(array, place.node), strict=True)) | array.sizes
        sizes = zip(dims, shape_of(array, node), strict=True)
        if place.keys[-1] not in BOUNDARIES and any(spanned.get(dim) != n for dim, n in sizes):
            return None
        return self.attached(node, dims, place, steps_left)

    def _find(self, place: Fragment) -> Node | None:
        """Return the array that a name or path leads to; None for one that may be missing.

        Raises XGroupReferenceError if there is none, XGroupMetadataError if CF writes the attribute otherwise.
        """
        array, key, name = self._array, place.keys[-1], place.value
        needs_dims = place.node == array.node and "/" not in name and key in ALONG
        nodes = _candidates(place)
        has_other = False
        for node in nodes:
            if _is_array(array, node):
                if not needs_dims or self._lies_along_dims(node):
                    array.resolver.take_down(place, name, node)
                    return node
                has_other = True
        # A dimension need not have a coordinate, or has one that another search finds; and an array may be
        # said to be in another file.
        above = place.node.ancestors()
        external = (array.attribute("external_variables", group) for group in above)
        if name in own_dims_of(array, place.node) or any(
            name in str(listed.value).split() for listed in external if listed is not None
        ):
            return None
        if (attribute := array.attribute(key, place.node)) is not None:
            _as_written(attribute)
        reason = _("leads to no array")
        if not nodes:
            reason = _("leads above the root of the store")
        elif has_other:
            reason = _("leads to no array along its dimensions")
        array.resolver.take_down(place, name, text=reason)
        tried = [
            str(node)
            if array.document_of(node) is None or _is_array(array, node)
            else _("{node} (a group)").format(node=node)
            for node in nodes
        ]
        if tried:
            reason = _("{reason}, tried {tried}").format(reason=reason, tried=", ".join(tried))
        message = f"{name!r} {reason}"
        raise XGroupReferenceError(message, place=str(place), target=name, reason=reason)

    def _lies_along_dims(self, node: Node) -> bool:
        """Tell whether another array lies along dimensions of the array; the letters of texts may be one more."""
        array = self._array
        dims = fitting_dims(array, node)
        known = {name: array.sizes[here] for name, here in array.dim_names.items()} | array.sizes
        sizes = zip(dims, shape_of(array, node), strict=True)
        others = tuple(dim for dim, size in sizes if known.get(dim) != size)
        if others and others == dims[-1:]:
            return array.factory.decoded_dtype(Stored(node, dims)).kind == "S"
        return not others


# Coordinate variables of dimensions.


class _Dimension(NamedTuple):
    """A dimension of an array: what is needed to find its coordinate variable.

    Attributes
    ----------
    dim : str
        What the dimension is called in the Dataset.
    name : str
        What the array's metadata call it.
    size : int
        Its size.
    path : str or None
        Its path in the store, if that is known: that of the group that defines it, and the name.
    """

    dim: str
    name: str
    size: int
    path: str | None

    def is_of(self, node: Node, document: Document | None) -> bool:
        """Tell whether an array is a coordinate variable of the dimension."""
        if document is None or not _is_coordinate_variable(node, document):
            return False
        return self.has(document["shape"][0], dimension_references(document)[0])

    def has(self, size: int, path: str | None) -> bool:
        """Tell whether it has this size and path, as far as both paths are known."""
        return size == self.size and (None in (path, self.path) or path == self.path)


def _is_coordinate_variable(node: Node, document: Document | None) -> bool:
    """Tell whether an array is along one dimension, by the name of which it is called."""
    if document is None or not document.is_array:
        return False
    return declared_dimensions(document) == (node.name,)


def _dimensions_without_coordinate(
    array: ArrayView, links: Collection[Link]
) -> Iterator[_Dimension]:
    """Yield the named dimensions of an array that neither its group nor its attributes give one."""
    attached = [link.coordinate for link in links]
    referred = {found.name for found in attached if found.source.dims == (found.name,)}
    names = {here: name for name, here in array.dim_names.items()}
    declared = declared_dimensions(array.document)
    paths = dimension_references(array.document)
    named = zip(array.dims, declared, array.shape, paths, strict=True)
    for dim, name, size, path in named:
        # Other names were made up, or lead with a slash to an ancestor, whose coordinate comes with them.
        if name is not None and name == names.get(dim, dim) and dim not in referred:
            dimension = _Dimension(dim, name, size, path)
            node, own = array.node.group.child(name), array.sibling(name)
            if own is None or (
                _is_coordinate_variable(node, own) and not dimension.is_of(node, own)
            ):
                yield dimension


def _coordinate_of(
    array: ArrayView, dimension: _Dimension, follower: Follower
) -> Coordinate | None:
    """Return the coordinate of a dimension, or None if no array can be, or several may be."""
    nodes = _coordinate_variables(array, dimension)
    if len(nodes) > 1:
        message = _(
            "dimension {dim!r} has no coordinate in its group or above it, and {nodes} are equally "
            "near; none of them was attached"
        )
        text = message.format(dim=dimension.name, nodes=", ".join(map(str, nodes)))
        array.report(Topic.CHOICE, array.node, text)
    if len(nodes) != 1:
        return None
    place = Fragment(array.node, dimension_keys(array.document), dimension.name)
    array.resolver.take_down(place, dimension.name, nodes[0])
    found = follower.attached(nodes[0], (dimension.dim,), place)
    return replace(found, name=dimension.dim)


def _coordinate_variables(array: ArrayView, dimension: _Dimension) -> list[Node]:
    """Return the coordinate variable of a dimension; several if they are equally near."""
    before = len(array.tree.lacking)
    apexes = list(array.node.ancestors())
    if dimension.path is not None:
        apex = Node(array.node.store, dimension.path.rpartition("/")[0].strip("/"))
        apexes = [group for group in apexes if is_below(group.path, apex.path)] or [apex]
    for depth, group in enumerate(apexes):
        node = group.child(dimension.name)
        document = array.document_of(node)
        if dimension.is_of(node, document):
            return [node]
        if depth and dimension.path is None and _is_coordinate_variable(node, document):
            apexes = apexes[:depth]  # from here on, the name is that of another dimension
            break
    for apex in apexes if dimension.path is None else apexes[-1:]:
        if len(array.tree.lacking) > before:
            break  # before it is known, nobody looks further
        found = _nearest_below(array, dimension, apex)
        if found:
            return found
    return []


def _nearest_below(array: ArrayView, dimension: _Dimension, apex: Node) -> list[Node]:
    """Return the coordinate variables of a dimension that are the fewest levels below a group."""
    array.memo(_list_below, array.tree, apex)
    groups = array.tree.groups_with(apex.store, dimension.name)
    variables = array.memo(
        _all_coordinate_variables,
        *(array, groups, dimension.name),
        by=(apex.store, dimension.name, len(groups)),  # more become known, never fewer
    )
    levels: defaultdict[int, list[Node]] = defaultdict(list)
    for node, size, path in variables:
        if is_below(node.path, apex.path) and dimension.has(size, path):
            levels[node.path.count("/")].append(node)
    return levels[min(levels)] if levels else []


def _list_below(tree: Tree, group: Node) -> None:
    """Ask for the members of all groups below one, so that the tree notes those that are not known yet."""
    if not tree.is_consolidated(group):
        for _below in tree.subtree(group):
            pass


def _all_coordinate_variables(
    array: ArrayView, groups: Collection[Node], name: str
) -> list[tuple[Node, int, str | None]]:
    """Return the coordinate variables of a name in groups, with size and path of the dimension."""
    nodes = [group.child(name) for group in groups]
    return [
        (node, document["shape"][0], dimension_references(document)[0])
        for node, document in zip(nodes, map(array.document_of, nodes), strict=True)
        if document is not None and _is_coordinate_variable(node, document)
    ]
