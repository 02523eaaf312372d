"""References to arrays of other groups in the CF attributes of an array (CF 1.12, section 2.7).

They are resolved, attached and replaced by the flat names of what was attached, so that xarray
finds these among its variables (specification, ResolvedZarrStore): paths for arrays of every
principal convention, for those of CF itself also names that lead to groups further up, and what
the attached arrays refer to in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial

from zarr_xgroup.conventions.array import ArrayView, own_dims_of, shape_of
from zarr_xgroup.conventions.axes import fitting_dims
from zarr_xgroup.conventions.descriptions import Attribute, Parsed, got, such_as, write
from zarr_xgroup.conventions.model import Coordinate, Link
from zarr_xgroup.errors import Rule, XGroupMetadataError, XGroupReferenceError, rules_in
from zarr_xgroup.findings import Topic, referred_to_by
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import (
    ALONG,
    BOUNDARIES,
    REFERRING,
    candidate_paths,
    is_spelt,
    references_in,
    respelt,
)
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.sources import Stored

NAMES = Rule("cf/names", "CF conventions 1.12", "Appendix A Attributes")
SOMEWHERE = Rule("cf/leads-somewhere", "CF conventions 1.12", "2.7 Groups")

RULES = rules_in(vars())

#: How many references may follow one another: that to a coordinate, from there to its boundaries,
#: from these to the terms of their formula.
_FARTHEST = 3

#: How many references of attached arrays are followed for one array, which has a few as a rule.
_MOST = 100

#: The attribute that names the terms of a formula, of which the coordinate itself may be one.
_TERMS = "formula_terms"

#: Attributes with roles, and how they are written.
_WITH_ROLES = {
    "cell_measures": "area: cell_area",
    "formula_terms": "sigma: lev ps: ps ptop: ptop",
}

#: The attribute that lists what ``cell_measures`` may name though it is in another file.
_EXTERNAL = "external_variables"


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
    found, _tried = _followed(array, place)
    return found


def _as_written(attribute: Fragment) -> str:
    key, text = attribute.keys[-1], attribute.value
    if isinstance(text, str) and is_spelt(key, text):
        return text
    raise _not_names(attribute)


def _not_names(attribute: Fragment) -> XGroupMetadataError:
    """Return the error of an attribute that is not written as CF has it."""
    key, text = attribute.keys[-1], attribute.value
    are = _("names with blanks between them")
    if key in _WITH_ROLES:
        are = _("pairs of a role with a colon and a name, with blanks between them")
    return attribute.error(got(are, text), NAMES, _as_names(attribute))


def _as_names(written: Fragment) -> str:
    """Return the remedy to write names as CF has them: with blanks between them, and roles with a colon."""
    key, value = written.keys[-1], written.value
    names = value if isinstance(value, list) else [value]
    spelt = respelt(key, " ".join(map(str, names)))
    if is_spelt(key, spelt) and all(isinstance(name, str) for name in names):
        return write(key, spelt)
    return such_as(f'"{key}": "{_WITH_ROLES.get(key, "name")}"')


#: The attributes, and how they are written. What they name is looked for where references are followed.
ATTRIBUTES = tuple(
    Attribute(
        key,
        Parsed(_as_written, _as_names),
        NAMES,
        f'"{key}": "{_WITH_ROLES.get(key, "name")}"',
        on="array",
        is_needed=False,
    )
    for key in REFERRING
)


def _is_any(_node: Node) -> bool:
    return True


def _followed(
    array: ArrayView, place: Fragment, is_meant: Callable[[Node], bool] = _is_any
) -> tuple[Node | None, list[Node]]:
    """Return the array that a name or path leads to, and where it was looked for."""
    group = "" if place.value.startswith("/") else place.node.group.path
    paths = candidate_paths(place.value, group)
    nodes = [Node(place.node.store, path) for path in paths]
    for node in nodes:
        document = array.document_of(node)
        if document is not None and document.is_array and is_meant(node):
            return node, nodes
    return None, nodes


class Follower:
    """Follows the CF references of one array, and of what they lead to.

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
        self._known: dict[Node, Coordinate] = {}
        self._left = _MOST

    def links(self, keys: Collection[str] = REFERRING) -> tuple[Link, ...]:
        """Return the references of the array itself."""
        array = self._array
        found = []
        for key, name in dict.fromkeys(references_in(array.attributes)):
            if key not in keys:
                continue
            if "/" not in name and not (self._by_name and array.sibling(name) is None):
                continue
            lost = partial(referred_to_by, key, name.strip(",;:"))
            coordinate = array.try_reporting(self._referred, key, name, cost=lost)
            if coordinate is not None:
                found.append(Link(key, name, coordinate))
        return tuple(found)

    def attached(
        self, node: Node, dims: tuple[str, ...], place: Fragment, links_left: int = _FARTHEST - 1
    ) -> Coordinate:
        """Return an array as a coordinate, with what it refers to.

        `place` is what refers to it. Raises XGroupMetadataError if it cannot be opened.
        """
        source = self._array.stored(Stored(node, dims), place)
        is_followed = self._by_name and node.group != self._array.node.group
        bare = Coordinate(node.name, source)
        if not is_followed or not links_left:
            return bare
        if node not in self._known:
            self._known[node] = bare  # for what leads back to it
            further = tuple(self._further(source, links_left - 1))
            self._known[node] = replace(bare, links=further)
        known = self._known[node]
        return known if known.source == source else bare

    def _referred(self, key: str, name: str) -> Coordinate | None:
        """Return what a reference of the array leads to; None for what may be missing.

        None for itself, too, unless it is a term of its own formula: that has a name, as others have.
        """
        array = self._array
        place = Fragment(array.node, ("attributes", key), name)
        node = self._node(place)
        if node is None:
            return None
        if node == array.node:
            return Coordinate(node.name, Stored(node, array.dims)) if key == _TERMS else None
        return self.attached(node, fitting_dims(array, node), place)

    def _further(self, source: Stored, links_left: int) -> Iterator[Link]:
        """Yield the references of an attached array."""
        array = self._array
        document = array.document_of(source.node)
        attributes = {} if document is None else document.attributes
        for key, name in dict.fromkeys(references_in(attributes)):
            place = Fragment(source.node, ("attributes", key), name)
            if not self._may_follow():
                return
            lost = partial(referred_to_by, key, name)
            coordinate = array.try_reporting(
                self._referred_further, place, source.dims, links_left, cost=lost
            )
            if coordinate is not None:
                yield Link(key, name, coordinate)

    def _may_follow(self) -> bool:
        """Count a reference of an attached array, and tell when there are too many."""
        self._left -= 1
        if self._left == -1:
            message = _(
                "the arrays that it refers to refer to more than {most} others, of which the rest were left out"
            )
            self._array.report(Topic.CHOICE, self._array.node, message.format(most=_MOST))
        return self._left >= 0

    def _referred_further(
        self, place: Fragment, along: tuple[str, ...], links_left: int
    ) -> Coordinate | None:
        """Return what an attached array refers to; None for what the array does not span.

        The terms of a vertical coordinate are those of arrays that have their dimensions, too.
        `along` says what the dimensions of the attached array are called.
        """
        array, node = self._array, self._node(place)
        if node is None:
            return None
        names = dict(zip(own_dims_of(array, place.node), along, strict=True))
        dims = tuple(names.get(dim, dim) for dim in own_dims_of(array, node))
        spanned = dict(zip(along, shape_of(array, place.node), strict=True)) | array.sizes
        sizes = zip(dims, shape_of(array, node), strict=True)
        if place.keys[-1] not in BOUNDARIES and any(spanned.get(dim) != n for dim, n in sizes):
            return None
        return self.attached(node, dims, place, links_left)

    def _node(self, place: Fragment) -> Node | None:
        """Return the array that a name or path leads to, None for one that may be missing."""
        is_own_name = place.node == self._array.node and "/" not in place.value
        is_along = is_own_name and place.keys[-1] in ALONG
        meant = self._is_along if is_along else _is_any
        node, nodes = _followed(self._array, place, meant)
        if node is not None:
            self._array.resolver.take_down(place, place.value, node)
        if node is not None or self._may_be_missing(place):
            return node
        self._check_spelling(place)
        raise self._error(place, nodes, is_along=is_along)

    def _check_spelling(self, place: Fragment) -> None:
        """Raise XGroupMetadataError if an attribute is not written as CF has it."""
        document, key = self._array.document_of(place.node), place.keys[-1]
        text = str(self._array.attributes[key] if document is None else document.attributes[key])
        if not is_spelt(key, text):
            raise _not_names(Fragment(place.node, place.keys, text))

    def _error(self, place: Fragment, nodes: list[Node], *, is_along: bool) -> XGroupReferenceError:
        """Return the error of a name or path that leads to no array that is meant."""
        array = self._array
        reason = _("leads to no array")
        if not nodes:
            reason = _("leads above the root of the store")
        elif is_along and _followed(array, place)[0] is not None:
            reason = _("leads to no array along its dimensions")
        array.resolver.take_down(place, place.value, text=reason)
        there = [
            _("{node} (a group)").format(node=it) if self._is_group(it) else str(it) for it in nodes
        ]
        if there:
            reason = _("{reason}, tried {tried}").format(reason=reason, tried=", ".join(there))
        message = f"{place.value!r} {reason}"
        return XGroupReferenceError(message, place=str(place), target=place.value, reason=reason)

    def _is_group(self, node: Node) -> bool:
        document = self._array.document_of(node)
        return document is not None and not document.is_array

    def _is_along(self, node: Node) -> bool:
        """Tell whether an array lies along dimensions of the array; letters of texts do not count."""
        array = self._array
        dims = fitting_dims(array, node)
        known = {name: array.sizes[here] for name, here in array.dim_names.items()} | array.sizes
        sizes = zip(dims, shape_of(array, node), strict=True)
        others = tuple(dim for dim, size in sizes if known.get(dim) != size)
        if others and others == dims[-1:]:
            return array.maker.decoded_dtype(Stored(node, dims)).kind == "S"
        return not others

    def _may_be_missing(self, place: Fragment) -> bool:
        """Tell whether a name is that of a dimension, or of an array said to be in another file."""
        array, name = self._array, place.value
        if name in own_dims_of(array, place.node):
            return True  # a dimension without a coordinate, or with one found by another search
        groups = place.node.ancestors()
        listed = (array.attribute(_EXTERNAL, group) for group in groups)
        return any(name in str(it.value).split() for it in listed if it is not None)
