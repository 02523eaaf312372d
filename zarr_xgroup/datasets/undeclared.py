"""Arrays of data that declare no principal convention: which, what they lack, what would help."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from zarr_xgroup.conventions.base import Surroundings, failure_of
from zarr_xgroup.conventions.layout import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.registry import (
    Handler,
    declared_principal,
    in_order,
    seemingly_meant,
    why_not_declared,
)
from zarr_xgroup.conventions.standing import SPATIAL_REF
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import XGroupError, containing
from zarr_xgroup.findings import Finding, Kind, noted, shortened
from zarr_xgroup.i18n import _, listed, ngettext
from zarr_xgroup.metadata.cf import BOUNDARIES, candidate_paths, mappings_in, referred_names
from zarr_xgroup.metadata.dimensions import declared_dimensions, dimension_references, shape_of
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import Snapshot
from zarr_xgroup.redaction import printable
from zarr_xgroup.variables.sources import Stored

#: Attributes that name coordinates, or the boundaries of some.
_OF_COORDINATES = ("coordinates", *BOUNDARIES)

#: How many of the arrays are named, and how long the warning may be.
_NAMED_EXAMPLES = 3
_LONGEST = 400


@dataclass(frozen=True)
class Undeclared:
    """An array that declares no principal convention, and lacks coordinates or a CRS.

    Attributes
    ----------
    node : Node
        The array.
    dims, bare : tuple of str
        Its dimensions, and those without a coordinate.
    why : str
        Why what it or its group declares does not count, "" if they declare nothing.
    for_coordinates, for_crs : tuple of str
        The conventions that would give coordinates, and the CRS, by the marks that its attributes have of them.
    principal : handler or None
        What its group declares, though it does not apply to the array.
    """

    node: Node
    dims: tuple[str, ...]
    bare: tuple[str, ...]
    why: str = ""
    for_coordinates: tuple[str, ...] = ()
    for_crs: tuple[str, ...] = ()
    principal: Handler | None = None

    @property
    def assumable(self) -> tuple[str, ...]:
        """The conventions that would help."""
        return tuple(dict.fromkeys([*self.for_coordinates, *self.for_crs]))


# Which arrays.


def by_documents(
    groups: Iterable[Node], snapshot: Snapshot, *, assumed: Collection[str] = (), is_tree: bool
) -> Iterator[Undeclared]:
    """Yield the arrays of groups that declare no principal convention, and lack something by their documents.

    Not coordinates, nor arrays that others or the group's ``coordinates`` refer to.

    Parameters
    ----------
    groups : iterable of Node
        The groups, parents first: their members are known.
    snapshot : Snapshot
        Their store.
    assumed : collection of str
        The conventions that are assumed: they would not help.
    is_tree : bool
        Whether groups have the coordinates of their parents.
    """
    found, referred = list[Undeclared](), set[Node]()
    indexes: dict[Node, set[tuple[str, int]]] = {}
    members: dict[Node, frozenset[str]] = {}
    for group in groups:
        attributes, arrays = _attributes(group, snapshot), snapshot.arrays(group.path)
        members[group] = frozenset(arrays)
        sizes = {name: along for name, it in arrays.items() if (along := _sizes(it))}
        parents = (indexes.get(node, set()) for node in group.ancestors() if is_tree)
        own = {along[0] for name, along in sizes.items() if len(along) == 1 and along[0][0] == name}
        indexes[group] = own.union(*parents)
        covered = set(indexes[group])
        for written in (attributes, *(document.attributes for document in arrays.values())):
            referred.update(_named(group, written, snapshot))
            coordinates = {key: written.get(key) for key in _OF_COORDINATES}
            for node in _named(group, coordinates, snapshot):
                covered.update(sizes.get(node.name, ()) if node.group == group else ())
        principal, why = declared_principal(attributes), _why_not(group, attributes)
        for name, along in sizes.items():
            dims = tuple(dim for dim, _size in along)
            if dims != (name,) and declared_principal(arrays[name].attributes) is None:
                bare = tuple(it[0] for it in along if it not in covered and it[0][:1] != "/")
                found.append(Undeclared(group.child(name), dims, bare, why, principal=principal))
    for array in found:
        if array.node in referred:
            continue
        if array.principal is None:
            array = _marked(array, members[array.node.group], snapshot, assumed)
        if array.bare or array.for_crs:
            yield array


def _sizes(document: Document) -> list[tuple[str, int]]:
    """Return the dimensions of an array with their sizes, none if its document does not say them."""
    try:
        names = declared_dimensions(document)
    except XGroupError:  # which is told of the array
        return []
    return [(name or "", size) for name, size in zip(names, shape_of(document), strict=True)]


def _marked(
    array: Undeclared, names: frozenset[str], snapshot: Snapshot, assumed: Collection[str]
) -> Undeclared:
    """Return an array with the conventions whose marks it has, and why what it declares does not count.

    Given the names of its group's arrays.
    """
    group, document = array.node.group, snapshot.document(array.node.path)
    attributes, above = _attributes(array.node, snapshot), _attributes(group.group, snapshot)
    layout = {LAYOUT.key: above[LAYOUT.key]} if LAYOUT.key in above else {}
    places = [attributes, *filter(None, (_attributes(group, snapshot), layout))]
    mappings = [*_named(group, {"grid_mapping": attributes.get("grid_mapping")}, snapshot)]
    places += [_attributes(node, snapshot) for node in mappings]
    paths = () if document is None else dimension_references(document)
    elsewhere = {
        dim: path
        for dim, path in zip(array.dims, paths, strict=False)
        if path and path.rpartition("/")[0].strip("/") != group.path
    }
    bare = tuple(elsewhere.get(dim, dim) for dim in array.bare)
    around = Surroundings(group, names, array.dims, bare, snapshot)
    has_crs = not names.isdisjoint([*mappings_in(attributes), SPATIAL_REF])
    declared = [_attributes(node, snapshot) for node in group.ancestors()]
    for_coordinates, for_crs, failure = seemingly_meant(places, declared, around, has_crs=has_crs)
    return replace(
        array,
        why=_why_not(array.node, attributes) or array.why or failure,
        for_coordinates=tuple(name for name in for_coordinates if name not in assumed),
        for_crs=tuple(name for name in for_crs if name not in assumed),
    )


def undeclared(
    plans: Collection[GroupPlan],
    snapshot: Snapshot,
    *,
    assumed: Collection[str] = (),
    is_tree: bool = False,
) -> Iterator[Undeclared]:
    """Yield the arrays of data without a principal convention that lack something as they are planned.

    Of those of a group that declares one, only grids. The parameters are those of `by_documents`.
    """
    if all(array.has_principal for plan in plans for array in plan.reading.arrays):
        return
    nodes = [plan.node for plan in plans]
    found = {it.node: it for it in by_documents(nodes, snapshot, assumed=assumed, is_tree=is_tree)}
    referred = set(chain.from_iterable(map(_referred, plans)))
    known = {plan.node: plan for plan in plans if is_tree}
    for plan in plans:
        data = {it.name for it in plan.variables if not (it.is_coordinate or _is_index(it))}
        arrays = [
            it
            for it in plan.reading.arrays
            if it.node in found and not (it.has_principal or it.node in referred)
        ]
        if not arrays:
            continue
        parents = [known[node] for node in plan.node.ancestors() if node in known]
        bare, lost = without_coordinate(plan, snapshot, parents), set(_dims_told(plan))
        for array in arrays:
            dims, it = bare.get(array.node, ()), found[array.node]
            if array.node.name not in data or (len(array.dims) == 1 and array.dims[0] in lost):
                continue
            if it.principal is not None and (not dims or len(array.dims) == 1):
                continue
            has_crs = array.interpretation.crs is not None
            it = replace(
                it,
                bare=dims,
                for_coordinates=it.for_coordinates if dims else (),
                for_crs=() if has_crs else it.for_crs,
            )
            if it.bare or it.for_crs:
                yield it


def _dims_told(plan: GroupPlan) -> Iterator[str]:
    """Yield the dimensions of arrays that are told to be opened without something.

    Their coordinates may be other arrays along these, to which nothing refers for that.
    """
    told = {path for it in plan.findings if it.kind is Kind.PROBLEM for path in it.arrays}
    for array in plan.reading.arrays:
        if array.has_principal and str(array.node) in told:
            yield from array.dims


def without_coordinate(
    plan: GroupPlan, snapshot: Snapshot, parents: Iterable[GroupPlan]
) -> dict[Node | None, tuple[str, ...]]:
    """Return the dimensions along which there is no coordinate, of each array of a group."""
    named: set[Node] = set()
    documents = [array.document.attributes for array in plan.reading.arrays]
    for attributes in (_attributes(plan.node, snapshot), *documents):
        naming = {key: attributes.get(key) for key in _OF_COORDINATES}
        named.update(_named(plan.node, naming, snapshot))
    along = {
        dim
        for it in plan.variables
        if it.is_coordinate or _is_index(it) or it.stored in named
        for dim in it.dims
    }
    sizes = _sizes_of(plan)
    for parent in parents if sizes.keys() - along else ():
        theirs, names = _sizes_of(parent), (it.name for it in parent.variables if _is_index(it))
        along.update(name for name in names if name in sizes and theirs.get(name) == sizes[name])
    own = (it for it in plan.variables if it.is_own)
    return {it.stored: tuple(dim for dim in it.dims if dim not in along) for it in own}


def _is_index(planned: PlannedVariable) -> bool:
    """Tell whether a variable is the coordinate of a dimension."""
    return planned.dims == (planned.name,)


def _sizes_of(plan: GroupPlan) -> dict[str, int]:
    """Return the sizes of the dimensions of a group's arrays."""
    arrays = plan.reading.arrays
    return {dim: size for it in arrays for dim, size in zip(it.dims, it.shape, strict=True)}


def _attributes(node: Node, snapshot: Snapshot) -> Mapping[str, Any]:
    document = snapshot.document(node.path)
    return {} if document is None else document.attributes


def _why_not(node: Node, attributes: Mapping[str, Any]) -> str:
    """Return why what a node declares does not count, "" if it declares nothing."""
    why = why_not_declared(attributes)
    return f"{node}: {why}" if why else ""


def _referred(plan: GroupPlan) -> Iterator[Node]:
    """Yield the arrays that conventions say arrays of a group refer to."""
    for array in plan.reading.arrays:
        yield from array.interpretation.referred
        inherited = array.inherited.coordinates
        companions = (link.coordinate for it in inherited for link in it.links)
        for coordinate in (*array.interpretation.coordinates, *inherited, *companions):
            sources = (part.source for part in coordinate.parts())
            yield from (source.node for source in sources if isinstance(source, Stored))


def _named(group: Node, attributes: Mapping[str, Any], snapshot: Snapshot) -> Iterator[Node]:
    """Yield the arrays that CF attributes of a group or its arrays name."""
    for name in referred_names(attributes):
        for path in candidate_paths(name, group.path):
            document = snapshot.document(path)
            if document is not None and document.is_array:
                yield Node(group.store, path)
                break


# What is told of them.


def lacks(found: Iterable[Undeclared], taken: Collection[str] = ()) -> Iterator[Finding]:
    """Yield what grids lack to follow what their group declares, and one finding about all other arrays.

    Parameters
    ----------
    found : iterable of Undeclared
        The arrays.
    taken : collection of str
        The conventions that were assumed for their marks.
    """
    others = []
    for it in found:
        if it.principal is None:
            others.append(it)
        else:
            yield _lacking(it, it.principal)
    if others:
        yield _in_one(others, taken)
    elif taken:
        yield replace(noted(Kind.NO_PRINCIPAL, _taken(taken), "/"), arrays=())


def forgotten(found: Iterable[Undeclared], snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what to mend of grids without coordinates in groups of which other arrays have some."""
    declaring: dict[Node, bool] = {}
    for it in found:
        group = it.node.group
        if it.principal is not None:
            yield _lacking(it, it.principal)
        elif it.bare and len(it.dims) > 1:
            if group not in declaring:
                documents = snapshot.arrays(group.path).values()
                declaring[group] = any(declared_principal(each.attributes) for each in documents)
            if declaring[group]:
                text = _(
                    "declares no principal convention, as others of the group do: no coordinates"
                )
                remedy = _('write "zarr_conventions", and what it declares, as the others have it')
                yield replace(noted(Kind.NO_PRINCIPAL, text, it.node), remedy=remedy)


def _lacking(it: Undeclared, principal: Handler) -> Finding:
    try:
        with containing():
            lack = principal.why_not()
    except XGroupError as error:
        lack = failure_of(principal, error.__cause__ or error)
    message = _("its group declares {name!r}, but {lack}: it has no coordinates along {dims}")
    text = message.format(name=principal.name, lack=lack, dims=", ".join(map(repr, it.bare)))
    return noted(Kind.CHOICE, text, it.node)


def _in_one(found: Sequence[Undeclared], taken: Collection[str]) -> Finding:
    """Return the one finding about all arrays without a principal convention, never long."""
    paths, is_bare = tuple(str(it.node) for it in found), all(it.bare for it in found)
    help_ = _taken(taken) if taken else _help(found, is_bare=is_bare)
    if is_bare:
        arrays = ngettext(
            "{count} array has dimensions without coordinates and declares no principal convention "
            "(such as cs or spatial): {names}",
            "{count} arrays have dimensions without coordinates and declare no principal convention "
            "(such as cs or spatial): {names}",
            len(paths),
        )
    else:
        arrays = ngettext(
            "{count} array lacks coordinates or a CRS and declares no principal convention "
            "(such as cs or spatial): {names}",
            "{count} arrays lack coordinates or a CRS and declare no principal convention "
            "(such as cs or spatial): {names}",
            len(paths),
        )
    message = ""
    for longest in (_LONGEST, 60, 45, 30, 20):
        examples = [shortened(printable(path), longest) for path in paths[:_NAMED_EXAMPLES]]
        names = listed(examples, count=len(paths))
        message = f"{arrays.format(count=len(paths), names=names)}. {help_}"
        if len(message) <= _LONGEST:
            break
    told = noted(Kind.NO_PRINCIPAL, shortened(message, _LONGEST), found[0].node)
    return replace(told, arrays=paths)


def _taken(names: Iterable[str]) -> str:
    return _("assume_conventions='auto' took {names}").format(names=", ".join(names))


def _help(found: Sequence[Undeclared], *, is_bare: bool) -> str:
    """Return why a declaration does not count, or what would help; the option to write comes last."""
    why = next((it.why for it in found if it.why), "")
    names = in_order(chain.from_iterable(it.assumable for it in found))
    if not names:
        return why or _(
            "'zarr_conventions' of an array or of its group can declare one, which says where "
            "coordinates are"
        )
    message = (
        _("For coordinates, open with {option}") if is_bare else _("For these, open with {option}")
    )
    shown = repr(names[0] if len(names) == 1 else list(names))
    option = message.format(option=f"assume_conventions={shown}")
    return f"{why}. {option}" if why else option
