"""Data arrays without a principal convention: which, what they lack, and the option that would help."""

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

#: How many letters the warning may have, how many of the arrays it names, and how many letters of each.
_LONGEST, _NAMED_EXAMPLES, _LONGEST_PATH = 400, 3, 45


@dataclass(frozen=True)
class Undeclared:
    """A data array that no principal convention applies to, and that lacks coordinates or a CRS."""

    node: Node
    ndim: int
    #: The dimensions without a coordinate.
    bare: tuple[str, ...]
    #: Why a declaration of the array or of its group does not count, "" if there is none.
    why: str = ""
    #: The conventions whose marks the array has: assumed, they would give the coordinates or the CRS.
    assumable: tuple[str, ...] = ()
    #: The principal convention that its group declares, though it does not apply to the array.
    principal: Handler | None = None


def undeclared_data_arrays(
    plans: Collection[GroupPlan],
    tree: Tree,
    *,
    assumed: Collection[str] = (),
    is_tree: bool = False,
) -> Iterator[Undeclared]:
    """Yield the data arrays that no principal convention applies to, and that lack coordinates or a CRS.

    Left out are arrays

    - that another array, or the group's ``coordinates``, refers to;
    - that are coordinates of their group's Dataset;
    - along just one dimension of an array that is opened without something: they may be its coordinate;
    - of a group that declares a principal convention, unless they are grids and one of their last two
      dimensions has no coordinate;
    - of other groups, if their dimensions have coordinates and no convention's marks show that it would help.

    Parameters
    ----------
    plans : collection of GroupPlan
        The groups as they are planned; in a tree, parents first.
    tree : Tree
        Knows the documents.
    assumed : collection of str
        The conventions that the user assumes: these would not help.
    is_tree : bool
        Whether groups inherit the coordinates of their parents, as in `xarray.DataTree`.
    """
    if all(array.has_principal for plan in plans for array in plan.reading.arrays):
        return
    referred = _referred_arrays(plans, tree)
    known = {plan.node: plan for plan in plans if is_tree}
    for plan in plans:
        group = _attributes(plan.node, tree)
        principal = declared_principal(group)
        parents = [known[node] for node in plan.node.ancestors() if node in known]
        bare = without_coordinate(plan, tree, parents)
        coordinates = {it.stored for it in plan.variables if _is_coordinate(it)}
        incomplete = _dims_of_incomplete(plan)
        for array in plan.reading.arrays:
            node, dims, ndim = array.node, bare.get(array.node, ()), len(array.dims)
            is_secondary = node in referred or node in coordinates or array.dims in incomplete
            if array.has_principal or is_secondary:
                continue
            if principal is not None:
                if ndim > 1 and not set(dims).isdisjoint(array.dims[-2:]):
                    yield Undeclared(node, ndim, dims, principal=principal)
                continue
            names, failure = _marks(plan, array, dims, tree)
            assumable = tuple(name for name in names if name not in assumed)
            if dims or assumable:
                own = array.document.attributes
                reasons = (
                    (place, why_not_declared(attributes))
                    for place, attributes in ((node, own), (plan.node, group))
                )
                why = next((f"{place}: {reason}" for place, reason in reasons if reason), failure)
                yield Undeclared(node, ndim, dims, why, assumable)


def _referred_arrays(plans: Iterable[GroupPlan], tree: Tree) -> set[Node]:
    """Return the arrays that CF attributes of groups and arrays name, and those that conventions refer to."""
    referred: set[Node] = set()
    for plan in plans:
        referred.update(_arrays_named(plan.node, _attributes(plan.node, tree), tree))
        for array in plan.reading.arrays:
            referred.update(_arrays_named(plan.node, array.document.attributes, tree))
            referred.update(node for node, _attributes_said in array.said_of_arrays())
    return referred


def _dims_of_incomplete(plan: GroupPlan) -> set[tuple[str]]:
    """Return the dimensions, each alone, of arrays that a principal convention applies to but not in full.

    What they are opened without, as findings tell, may be a coordinate along one of these dimensions.
    """
    problems = [finding for finding in plan.findings if finding.topic is Topic.PROBLEM]
    incomplete = {path for finding in problems for path in finding.arrays}
    return {
        (dim,)
        for array in plan.reading.arrays
        if array.has_principal and str(array.node) in incomplete
        for dim in array.dims
    }


def without_coordinate(
    plan: GroupPlan, tree: Tree, parents: Iterable[GroupPlan]
) -> dict[Node | None, tuple[str, ...]]:
    """Return the dimensions without a coordinate of each array of a group, by the array's node.

    A dimension has one if a coordinate, or an array that ``coordinates`` or ``bounds`` name, lies along it;
    or if a parent has an index of its name, and the dimension with the same size.
    """
    named: set[Node] = set()
    of_arrays = [array.document.attributes for array in plan.reading.arrays]
    for attributes in (_attributes(plan.node, tree), *of_arrays):
        naming = {key: attributes.get(key) for key in ("coordinates", *BOUNDARIES)}
        named.update(_arrays_named(plan.node, naming, tree))
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
    """Return the conventions whose marks an array has, if these would give it the coordinates or CRS it lacks.

    Marks are in the attributes of the array, of its group, of its grid mapping variables, and in
    ``multiscales`` of the group above. The second value says how a handler failed to look for its marks,
    "" if none did.
    """
    group, attributes = plan.node, array.document.attributes
    layout = _attributes(group.group, tree).get(LAYOUT.key)
    mappings = _arrays_named(group, {"grid_mapping": attributes.get("grid_mapping")}, tree)
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


def _arrays_named(group: Node, attributes: Mapping[str, Any], tree: Tree) -> Iterator[Node]:
    """Yield the arrays that names and paths in CF attributes of a group, or of an array in it, lead to."""
    for _key, name in names_by_key(attributes):
        for path in candidate_paths(name, group.path):
            document = tree.known(node := Node(group.store, path))
            if document is not None and document.is_array:
                yield node
                break


def _attributes(node: Node, tree: Tree) -> Mapping[str, Any]:
    """Return the attributes of a node, {} if its document is not known."""
    document = tree.known(node)
    return {} if document is None else document.attributes


def _sizes(plan: GroupPlan) -> dict[str, int]:
    """Return the sizes of the dimensions of a group's arrays, by name in the Dataset."""
    arrays = plan.reading.arrays
    return {dim: n for array in arrays for dim, n in zip(array.dims, array.shape, strict=True)}


def _is_index(variable: PlannedVariable) -> bool:
    """Tell whether xarray makes an index of a variable: it is one-dimensional, with the name of its dimension."""
    return variable.dims == (variable.name,)


def _is_coordinate(variable: PlannedVariable) -> bool:
    """Tell whether a variable is a coordinate of the Dataset, by a convention or by its name."""
    return variable.is_coordinate or _is_index(variable)


# Findings about these arrays.


def undeclared_findings(
    found: Iterable[Undeclared], taken: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield a finding for each grid that its group's convention does not apply to, and one about all other arrays.

    The text of that one is never long. It ends with the option `assume_conventions` to write, or else says why
    a declaration does not count. `taken` are the conventions that ``assume_conventions="auto"`` assumed.
    """
    others = []
    for array in found:
        if array.principal is None:
            others.append(array)
        else:
            yield _not_applying(array, array.principal)
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


def forgotten_declarations(found: Iterable[Undeclared], tree: Tree) -> Iterator[Finding]:
    """Yield mistakes of grids without coordinates whose group, or other arrays of it, declare a principal convention."""
    for group, arrays in groupby(found, lambda array: array.node.group):
        documents = tree.arrays(group).values()
        is_declared = any(declared_principal(document.attributes) for document in documents)
        for array in arrays:
            if array.principal is not None:
                yield _not_applying(array, array.principal)
            elif is_declared and array.bare and array.ndim > 1:
                text = "declares no principal convention, as others of the group do: no coordinates"
                remedy = 'write "zarr_conventions", and what it declares, as the others have it'
                yield report(Topic.NO_PRINCIPAL, array.node, text, remedy)


def _not_applying(array: Undeclared, principal: Handler) -> Finding:
    """Return the finding that says why the convention that its group declares does not apply to a grid."""
    try:
        with containing():
            lack = principal.why_not()
    except XGroupError as error:
        lack = failure_message(principal, error.__cause__ or error)
    message = _("its group declares {name!r}, but {lack}: it has no coordinates along {dims}")
    text = message.format(name=principal.name, lack=lack, dims=", ".join(map(repr, array.bare)))
    return report(Topic.CHOICE, array.node, text)
