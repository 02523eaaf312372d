"""Arrays of data without a principal convention: which, what they lack, and the option that would help."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from zarr_xgroup.conventions.base import Surroundings, failure_message
from zarr_xgroup.conventions.crs import SPATIAL_REF
from zarr_xgroup.conventions.multiscales import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.registry import (
    Handler,
    declared_principal,
    in_handler_order,
    seemingly_meant,
    why_not_declared,
)
from zarr_xgroup.datasets.interpretation import ArrayReading
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import XGroupError, containing
from zarr_xgroup.findings import Finding, Place, Topic, report, shortened
from zarr_xgroup.i18n import _, listed, ngettext
from zarr_xgroup.metadata.cf import BOUNDARIES, candidate_paths, mappings_in, names_by_key
from zarr_xgroup.metadata.dimensions import dimension_references
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.redaction import printable

#: How long the warning may be, how many of the arrays it names, and with how many letters.
_LONGEST, _NAMED_EXAMPLES, _LONGEST_PATH = 400, 3, 45


@dataclass(frozen=True)
class Undeclared:
    """An array that follows no principal convention, and lacks coordinates or a CRS."""

    node: Node
    ndim: int
    #: The dimensions without a coordinate.
    bare: tuple[str, ...]
    #: Why what it or its group declares does not count, "" if they declare nothing.
    why: str = ""
    #: The conventions whose marks it has: assumed, they would give what it lacks.
    assumable: tuple[str, ...] = ()
    #: What its group declares, though it does not apply to the array.
    principal: Handler | None = None


def undeclared(
    plans: Collection[GroupPlan],
    tree: Tree,
    *,
    assumed: Collection[str] = (),
    is_tree: bool = False,
) -> Iterator[Undeclared]:
    """Yield the arrays of data without a principal convention that lack something as they are planned.

    Not coordinates, nor arrays that others or the group's ``coordinates`` refer to. Of a group that
    declares a principal convention, only grids that have none along one of their last two dimensions.

    `assumed` conventions would not help. In a tree (`is_tree`), groups have the coordinates of their parents,
    and plans come parents first.
    """
    if all(array.has_principal for plan in plans for array in plan.reading.arrays):
        return
    referred: set[Node] = set()
    for plan in plans:
        referred.update(_named(plan.node, _attributes(plan.node, tree), tree))
        for array in plan.reading.arrays:
            referred.update(_named(plan.node, array.document.attributes, tree))
            referred.update(node for node, _attributes_said in array.said_of_arrays())
    known = {plan.node: plan for plan in plans if is_tree}
    for plan in plans:
        group = _attributes(plan.node, tree)
        principal = declared_principal(group)
        parents = [known[node] for node in plan.node.ancestors() if node in known]
        bare = without_coordinate(plan, tree, parents)
        coordinates = {it.stored for it in plan.variables if _is_coordinate(it)}
        # What lies along a dimension of an array that is told to be opened without something may be just that.
        problems = [finding for finding in plan.findings if finding.topic is Topic.PROBLEM]
        incomplete = {path for finding in problems for path in finding.arrays}
        lost = {
            (dim,)
            for array in plan.reading.arrays
            if array.has_principal and str(array.node) in incomplete
            for dim in array.dims
        }
        for array in plan.reading.arrays:
            node, dims, ndim = array.node, bare.get(array.node, ()), len(array.dims)
            is_secondary = node in referred or node in coordinates or array.dims in lost
            if array.has_principal or is_secondary:
                continue
            if principal is not None:
                if ndim > 1 and not set(dims).isdisjoint(array.dims[-2:]):
                    yield Undeclared(node, ndim, dims, principal=principal)
                continue
            names, failure = _marks(plan, array, dims, tree)
            assumable = tuple(name for name in names if name not in assumed)
            if dims or assumable:
                reasons = (
                    (place, why_not_declared(attributes))
                    for place, attributes in ((node, array.document.attributes), (plan.node, group))
                )
                why = next((f"{place}: {reason}" for place, reason in reasons if reason), failure)
                yield Undeclared(node, ndim, dims, why, assumable)


def without_coordinate(
    plan: GroupPlan, tree: Tree, parents: Iterable[GroupPlan]
) -> dict[Node | None, tuple[str, ...]]:
    """Return the dimensions along which there is no coordinate, of each array of a group."""
    named: set[Node] = set()
    of_arrays = [array.document.attributes for array in plan.reading.arrays]
    for attributes in (_attributes(plan.node, tree), *of_arrays):
        naming = {key: attributes.get(key) for key in ("coordinates", *BOUNDARIES)}
        named.update(_named(plan.node, naming, tree))
    along = {
        dim
        for variable in plan.variables
        if _is_coordinate(variable) or variable.stored in named
        for dim in variable.dims
    }
    sizes = _sizes(plan)
    for parent in parents if {*sizes} - along else ():
        theirs = _sizes(parent)
        indexes = {variable.name for variable in parent.variables if _is_index(variable)}
        along |= {dim for dim in indexes & sizes.keys() if theirs.get(dim) == sizes[dim]}
    return {
        variable.stored: tuple(dim for dim in variable.dims if dim not in along)
        for variable in plan.variables
        if variable.is_own
    }


def _marks(
    plan: GroupPlan, array: ArrayReading, bare: tuple[str, ...], tree: Tree
) -> tuple[list[str], str]:
    """Return the conventions whose marks an array has of what it lacks, and how a handler failed to tell.

    Looked at are its attributes, those of its group, of its grid mapping variables, and ``multiscales`` of
    the group above.
    """
    group, attributes = plan.node, array.document.attributes
    layout = _attributes(group.group, tree).get(LAYOUT.key)
    mappings = _named(group, {"grid_mapping": attributes.get("grid_mapping")}, tree)
    places = [
        attributes,
        _attributes(group, tree),
        {} if layout is None else {LAYOUT.key: layout},
        *(_attributes(node, tree) for node in mappings),
    ]
    above = [_attributes(node, tree) for node in group.ancestors()]
    # NCZarr says which group defines a dimension.
    defined = zip(array.dims, dimension_references(array.document), strict=True)
    paths = {dim: path for dim, path in defined if path and path != str(group.child(dim))}
    names = frozenset(other.node.name for other in plan.reading.arrays)
    is_mapped = not names.isdisjoint([*mappings_in(attributes), SPATIAL_REF])
    has_crs = array.interpretation.crs is not None or is_mapped
    dims = tuple(paths.get(dim, dim) for dim in bare)
    around = Surroundings(group, names, array.dims, dims, tree)
    return seemingly_meant(places, above, around, has_crs=has_crs)


def _named(group: Node, attributes: Mapping[str, Any], tree: Tree) -> Iterator[Node]:
    """Yield the arrays that CF attributes of a group or its arrays name."""
    for _key, name in names_by_key(attributes):
        for path in candidate_paths(name, group.path):
            document = tree.known(node := Node(group.store, path))
            if document is not None and document.is_array:
                yield node
                break


def _attributes(node: Node, tree: Tree) -> Mapping[str, Any]:
    document = tree.known(node)
    return {} if document is None else document.attributes


def _sizes(plan: GroupPlan) -> dict[str, int]:
    """Return the sizes of the dimensions of a group's arrays."""
    arrays = plan.reading.arrays
    return {dim: n for array in arrays for dim, n in zip(array.dims, array.shape, strict=True)}


def _is_index(variable: PlannedVariable) -> bool:
    """Tell whether a variable is the coordinate of a dimension."""
    return variable.dims == (variable.name,)


def _is_coordinate(variable: PlannedVariable) -> bool:
    return variable.is_coordinate or _is_index(variable)


# What is told of them.


def lacks(found: Iterable[Undeclared], taken: Collection[str] = ()) -> Iterator[Finding]:
    """Yield what grids lack to follow what their group declares, and one finding about all other arrays.

    It is never long. It ends with the option to write, else says why a declaration does not count.

    `taken` are the conventions that were assumed for their marks.
    """
    others = []
    for array in found:
        if array.principal is None:
            others.append(array)
        else:
            yield _lacking(array, array.principal)
    ending = _("assume_conventions='auto' took {names}").format(names=", ".join(taken))
    if not taken:
        ending = next((array.why for array in others if array.why), "")
        names = in_handler_order(name for array in others for name in array.assumable)
        if names:
            shown = names[0] if len(names) == 1 else list(names)
            option = f"assume_conventions={shown!r}"
            advice = _("For these, open with {option}").format(option=option)
            ending = f"{ending}. {advice}" if ending else advice
        ending = ending or _(
            "'zarr_conventions' of an array or of its group can declare one, which says where "
            "coordinates are"
        )
    if others:
        paths = tuple(str(array.node) for array in others)
        examples = [shortened(printable(path), _LONGEST_PATH) for path in paths[:_NAMED_EXAMPLES]]
        text = ngettext(
            "{count} array lacks coordinates or a CRS and declares no principal convention "
            "(such as cs or spatial): {names}",
            "{count} arrays lack coordinates or a CRS and declare no principal convention "
            "(such as cs or spatial): {names}",
            len(paths),
        ).format(count=len(paths), names=listed(examples, count=len(paths)))
        message = shortened(f"{text}. {ending}", _LONGEST)
        yield report(Topic.NO_PRINCIPAL, others[0].node, message, arrays=paths)
    elif taken:
        yield report(Topic.NO_PRINCIPAL, Place("/"), ending, arrays=())


def forgotten(found: Iterable[Undeclared], tree: Tree) -> Iterator[Finding]:
    """Yield what to mend of grids without coordinates in groups of which other arrays have some."""
    for group, arrays in groupby(found, lambda array: array.node.group):
        documents = tree.arrays(group).values()
        is_declared = any(declared_principal(document.attributes) for document in documents)
        for array in arrays:
            if array.principal is not None:
                yield _lacking(array, array.principal)
            elif is_declared and array.bare and array.ndim > 1:
                text = "declares no principal convention, as others of the group do: no coordinates"
                remedy = 'write "zarr_conventions", and what it declares, as the others have it'
                yield report(Topic.NO_PRINCIPAL, array.node, text, remedy)


def _lacking(array: Undeclared, principal: Handler) -> Finding:
    """Return what a grid lacks to follow what its group declares."""
    try:
        with containing():
            lack = principal.why_not()
    except XGroupError as error:
        lack = failure_message(principal, error.__cause__ or error)
    message = _("its group declares {name!r}, but {lack}: it has no coordinates along {dims}")
    text = message.format(name=principal.name, lack=lack, dims=", ".join(map(repr, array.bare)))
    return report(Topic.CHOICE, array.node, text)
