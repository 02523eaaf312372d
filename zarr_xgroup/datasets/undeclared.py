"""Arrays of data that declare no principal convention: which, what they lack, what would help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

from zarr_xgroup.conventions.base import failure_of
from zarr_xgroup.conventions.dialects.gcp import MEASUREMENTS
from zarr_xgroup.conventions.layout import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.registry import (
    AUTO,
    Handler,
    declared_principal,
    seemingly_meant,
    why_not_declared,
)
from zarr_xgroup.datasets.interpretation import ArrayReading
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import XGroupError, containing
from zarr_xgroup.findings import Finding, Kind, noted, shortened
from zarr_xgroup.i18n import _, listed, ngettext
from zarr_xgroup.metadata.cf import BOUNDARIES, candidate_paths, referred_names
from zarr_xgroup.metadata.dimensions import dimension_references
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import Snapshot
from zarr_xgroup.redaction import printable
from zarr_xgroup.variables.sources import Stored

#: Attributes that name coordinates, or the boundaries of some.
_OF_COORDINATES = ("coordinates", *BOUNDARIES)

#: How many of the arrays are named, and how long the warning may be.
_NAMED_EXAMPLES = 3
_LONGEST = 400

#: In how many groups conventions are tried.
_MOST_TRIED = 8

#: What may give coordinates by what arrays and groups are called, and so by no attribute that looks like it.
#: By convention, the group that it is about, "" for any.
_BY_NAMES = {"cf": "", "gcp": MEASUREMENTS}

#: Returns the plans of groups if a convention is assumed.
PlansIf: TypeAlias = Callable[[list[Node], str], list[GroupPlan]]


@dataclass(frozen=True)
class Undeclared:
    """An array of data that declares no principal convention.

    Attributes
    ----------
    plan : GroupPlan
        Its group.
    array : ArrayReading
        The array.
    bare : tuple of str
        Its dimensions without a coordinate.
    why : str
        Why what it or its group declares does not count, "" if they declare nothing.
    assumable : tuple of str
        The conventions that its attributes look like.
    principal : handler or None
        What its group declares, though it does not apply to the array.
    is_elsewhere : bool
        Whether some of these dimensions are, as NCZarr has it, those of groups that were not read.
    """

    plan: GroupPlan
    array: ArrayReading
    bare: tuple[str, ...]
    why: str = ""
    assumable: tuple[str, ...] = ()
    principal: Handler | None = None
    is_elsewhere: bool = False


def without_principal(
    found: Iterable[Undeclared], plans_if: PlansIf, taken: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield what is told of arrays without a principal convention.

    That is what grids lack to follow what their group declares, and one finding about all others.

    Parameters
    ----------
    found : iterable of Undeclared
        The arrays.
    plans_if : callable
        Returns the plans of groups if a convention is assumed, [] where something had to be read.
    taken : collection of str
        The conventions that were assumed because they help.
    """
    others = []
    for it in found:
        if it.principal is None:
            others.append(it)
        else:
            yield _lacking(it, it.principal)
    if others:
        elsewhere = (AUTO,) if any(it.is_elsewhere for it in others) else ()
        yield _in_one(others, () if taken else helpful(others, plans_if) or elsewhere, taken)
    elif taken:
        told = noted(Kind.NO_PRINCIPAL, _taken(taken), "/")
        yield replace(told, arrays=())


def helpful(found: Iterable[Undeclared], plans_if: PlansIf) -> tuple[str, ...]:
    """Return the conventions that give coordinates along bare dimensions if they are assumed.

    Of the first groups that lack some: these are planned once more for each convention.
    """
    lacking: dict[Node, list[Undeclared]] = {}
    for it in found:
        if it.plan.node in lacking or len(lacking) < _MOST_TRIED:
            lacking.setdefault(it.plan.node, []).append(it)
    arrays = list(chain.from_iterable(lacking.values()))
    groups = {"", *(node.name for node in lacking)} if lacking else set()
    by_names = (name for name, group in _BY_NAMES.items() if group in groups)
    names = dict.fromkeys([*(name for it in arrays for name in it.assumable), *by_names])
    return tuple(name for name in names if _help_along(arrays, plans_if(list(lacking), name)))


def _help_along(arrays: Iterable[Undeclared], plans: Iterable[GroupPlan]) -> bool:
    """Tell whether arrays have more coordinates in the plans of their groups with a convention."""
    along = {
        plan.node: {
            dim for it in plan.variables if it.is_coordinate or _is_index(it) for dim in it.dims
        }
        for plan in plans
    }
    return any(not along.get(it.plan.node, set()).isdisjoint(it.bare) for it in arrays)


def forgotten(found: Iterable[Undeclared]) -> Iterator[Finding]:
    """Yield what to mend of grids without coordinates in groups of which other arrays have some."""
    declaring: dict[Node, bool] = {}
    for it in found:
        if it.principal is not None:
            yield _lacking(it, it.principal)
        elif len(it.array.dims) > 1:
            group = it.plan.node
            if group not in declaring:
                attributes = (array.document.attributes for array in it.plan.reading.arrays)
                declaring[group] = any(map(declared_principal, attributes))
            if declaring[group]:
                yield _forgotten(it)


def _forgotten(it: Undeclared) -> Finding:
    text = _("declares no principal convention, as others of the group do: no coordinates")
    remedy = _('write "zarr_conventions", and what it declares, as the others have it')
    return replace(noted(Kind.NO_PRINCIPAL, text, it.array.node), remedy=remedy)


def _lacking(it: Undeclared, principal: Handler) -> Finding:
    try:
        with containing():
            lack = principal.why_not()
    except XGroupError as error:
        lack = failure_of(principal, error.__cause__ or error)
    message = _("its group declares {name!r}, but {lack}: it has no coordinates along {dims}")
    text = message.format(name=principal.name, lack=lack, dims=", ".join(map(repr, it.bare)))
    return noted(Kind.CHOICE, text, it.array.node)


def _in_one(
    found: Sequence[Undeclared], assumable: tuple[str, ...], taken: Collection[str]
) -> Finding:
    """Return the one finding about all arrays without a principal convention, never long."""
    paths = tuple(str(it.array.node) for it in found)
    why = next((it.why for it in found if it.why), "")
    help_ = _taken(taken) if taken else _help(why, assumable)
    message = ""
    for longest in (_LONGEST, 60, 45, 30, 20):
        message = _told(paths, help_, longest)
        if len(message) <= _LONGEST:
            break
    told = noted(Kind.NO_PRINCIPAL, shortened(message, _LONGEST), found[0].array.node)
    return replace(told, arrays=paths)


def _taken(names: Iterable[str]) -> str:
    return _("assume_conventions='auto' took {names}").format(names=", ".join(names))


def _help(why: str, assumable: tuple[str, ...]) -> str:
    """Return why a declaration does not count, or what would help; the option to write comes last."""
    if not assumable:
        return why or _(
            "'zarr_conventions' of an array or of its group can declare one, which says where "
            "coordinates are"
        )
    message = _("For coordinates, open with {option}")
    if assumable == (AUTO,):
        message = _(
            "Their dimensions are those of other groups, which may have coordinates: open with {option}"
        )
    names = repr(assumable[0] if len(assumable) == 1 else list(assumable))
    option = message.format(option=f"assume_conventions={names}")
    return f"{why}. {option}" if why else option


def _told(paths: tuple[str, ...], help_: str, longest: int) -> str:
    """Return the text of the warning, with paths of at most so many letters."""
    examples = [shortened(printable(path), longest) for path in paths[:_NAMED_EXAMPLES]]
    arrays = ngettext(
        "{count} array has dimensions without coordinates and declares no principal convention "
        "(such as cs or spatial): {names}",
        "{count} arrays have dimensions without coordinates and declare no principal convention "
        "(such as cs or spatial): {names}",
        len(paths),
    ).format(count=len(paths), names=listed(examples, count=len(paths)))
    return f"{arrays}. {help_}"


def undeclared(
    plans: Collection[GroupPlan],
    snapshot: Snapshot,
    *,
    assumed: Collection[str] = (),
    is_tree: bool = False,
) -> Iterator[Undeclared]:
    """Yield the arrays of data with bare dimensions that declare no principal convention.

    Not coordinates, nor arrays that others or the group's ``coordinates`` refer to. Of those
    of a group that declares one, only grids. In a tree groups have the coordinates of their
    parents. What is assumed already would not help.
    """
    found = {plan: arrays for plan in plans if (arrays := list(_undeclared(plan)))}
    if not found:
        return
    referred = set(chain.from_iterable(_referred(plan, snapshot) for plan in plans))
    known = {plan.node: plan for plan in plans if is_tree}
    for plan, arrays in found.items():
        parents = [known[node] for node in plan.node.ancestors() if node in known]
        bare = without_coordinate(plan, snapshot, parents)
        lost = set(_dims_told(plan))
        others = [
            (it, bare.get(it.node, ()))
            for it in arrays
            if it.node not in referred and not (len(it.dims) == 1 and it.dims[0] in lost)
        ]
        yield from _of_group(plan, [it for it in others if it[1]], snapshot, assumed)


def _dims_told(plan: GroupPlan) -> Iterator[str]:
    """Yield the dimensions of arrays that are told to be opened without something.

    Their coordinates may be other arrays along these, to which nothing refers for that.
    """
    told = {path for it in plan.findings if it.kind is Kind.PROBLEM for path in it.arrays}
    for array in plan.reading.arrays:
        if array.has_principal and str(array.node) in told:
            yield from array.dims


def _of_group(
    plan: GroupPlan,
    arrays: Iterable[tuple[ArrayReading, tuple[str, ...]]],
    snapshot: Snapshot,
    assumed: Collection[str],
) -> Iterator[Undeclared]:
    """Yield arrays of a group, given with their dimensions without coordinates."""
    principal = declared_principal(_attributes(plan.node, snapshot))
    if principal is None:
        yield from _of_undeclaring_group(plan, arrays, snapshot, assumed)
        return
    for array, dims in arrays:
        if len(array.dims) > 1:
            yield Undeclared(plan, array, dims, principal=principal)


def _of_undeclaring_group(
    plan: GroupPlan,
    arrays: Iterable[tuple[ArrayReading, tuple[str, ...]]],
    snapshot: Snapshot,
    assumed: Collection[str],
) -> Iterator[Undeclared]:
    """Yield arrays of a group that declares none, given with their dimensions without coordinates."""
    siblings = [array.node.name for array in plan.reading.arrays]
    group = _attributes(plan.node, snapshot)
    of_group = _why_not(plan.node, group)
    for array, dims in arrays:
        node, attributes = array.node, array.document.attributes
        meant, failure = seemingly_meant(
            [attributes, group, *_of_grid(plan, attributes, snapshot)], siblings
        )
        assumable = tuple(name for name in meant if name not in assumed)
        yield Undeclared(
            plan,
            array,
            dims,
            _why_not(node, attributes) or of_group or failure,
            assumable,
            is_elsewhere=_is_elsewhere(array, dims, snapshot),
        )


def _is_elsewhere(array: ArrayReading, dims: tuple[str, ...], snapshot: Snapshot) -> bool:
    """Tell whether dimensions of an array are those of groups that were not read."""
    paths = zip(array.dims, dimension_references(array.document), strict=True)
    return any(
        dim in dims and path and not snapshot.is_known(path.strip("/")) for dim, path in paths
    )


def _why_not(node: Node, attributes: Mapping[str, Any]) -> str:
    """Return why what a node declares does not count, "" if it declares nothing."""
    why = why_not_declared(attributes)
    return f"{node}: {why}" if why else ""


def without_coordinate(
    plan: GroupPlan, snapshot: Snapshot, parents: Iterable[GroupPlan]
) -> dict[Node | None, tuple[str, ...]]:
    """Return the dimensions along which there is no coordinate, of each array of a group."""
    along = set(_with_coordinate(plan, snapshot))
    sizes = _sizes(plan)
    for parent in parents if sizes.keys() - along else ():
        theirs, names = _sizes(parent), (it.name for it in parent.variables if _is_index(it))
        along.update(name for name in names if name in sizes and theirs.get(name) == sizes[name])
    own = (it for it in plan.variables if it.is_own)
    return {it.stored: tuple(dim for dim in it.dims if dim not in along) for it in own}


def _is_index(planned: PlannedVariable) -> bool:
    """Tell whether a variable is the coordinate of a dimension."""
    return planned.dims == (planned.name,)


def _with_coordinate(plan: GroupPlan, snapshot: Snapshot) -> Iterator[str]:
    """Yield the dimensions of a group along which there is a coordinate, also if it is only named."""
    documents = [array.document.attributes for array in plan.reading.arrays]
    named: set[Node] = set()
    for attributes in (_attributes(plan.node, snapshot), *documents):
        naming = {key: attributes.get(key) for key in _OF_COORDINATES}
        named.update(_named(plan, naming, snapshot))
    for it in plan.variables:
        if it.is_coordinate or _is_index(it) or it.stored in named:
            yield from it.dims


def _sizes(plan: GroupPlan) -> dict[str, int]:
    """Return the sizes of the dimensions of a group's arrays."""
    arrays = plan.reading.arrays
    return {dim: size for it in arrays for dim, size in zip(it.dims, it.shape, strict=True)}


def _attributes(node: Node, snapshot: Snapshot) -> Mapping[str, Any]:
    document = snapshot.document(node.path)
    return {} if document is None else document.attributes


def _of_grid(
    plan: GroupPlan, attributes: Mapping[str, Any], snapshot: Snapshot
) -> Iterator[Mapping[str, Any]]:
    """Yield what describes the grid of an array elsewhere, as far as it is known.

    That is the attributes of its grid mapping variables, and ``multiscales`` of the group above.
    """
    yield {LAYOUT.key: _attributes(plan.node.group, snapshot).get(LAYOUT.key)}
    for node in _named(plan, {"grid_mapping": attributes.get("grid_mapping")}, snapshot):
        yield _attributes(node, snapshot)


def _undeclared(plan: GroupPlan) -> Iterator[ArrayReading]:
    """Yield the arrays of data of a group to which no principal convention applies."""
    data = {it.name for it in plan.variables if not (it.is_coordinate or _is_index(it))}
    for array in plan.reading.arrays:
        if not array.has_principal and array.node.name in data:
            yield array


def _referred(plan: GroupPlan, snapshot: Snapshot) -> Iterator[Node]:
    """Yield the arrays that a group and its arrays refer to."""
    yield from _named(plan, _attributes(plan.node, snapshot), snapshot)
    for array in plan.reading.arrays:
        yield from array.interpretation.referred
        inherited = array.inherited.coordinates
        companions = (link.coordinate for it in inherited for link in it.links)
        for coordinate in (*array.interpretation.coordinates, *inherited, *companions):
            sources = (part.source for part in coordinate.parts())
            yield from (source.node for source in sources if isinstance(source, Stored))
        yield from _named(plan, array.document.attributes, snapshot)


def _named(plan: GroupPlan, attributes: Mapping[str, Any], snapshot: Snapshot) -> Iterator[Node]:
    """Yield the arrays that CF attributes name."""
    for name in referred_names(attributes):
        for path in candidate_paths(name, plan.node.path):
            document = snapshot.document(path)
            if document is not None and document.is_array:
                yield Node(plan.node.store, path)
                break
