"""Data arrays without a principal convention: the missing coordinates or CRS, and the option that would help."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.axes import rows_and_columns
from zarr_xgroup.conventions.cf import unused_coordinates
from zarr_xgroup.conventions.crs import SPATIAL_REF
from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.registry import (
    AUTO,
    Handler,
    declared_principal,
    in_handler_order,
    why_not_declared,
)
from zarr_xgroup.conventions.spatial import missing_dimensions
from zarr_xgroup.datasets.interpretation import Interpreter
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.findings import Finding, Place, Topic, new_finding, shortened
from zarr_xgroup.i18n import _, listed, ngettext
from zarr_xgroup.metadata.cf import BOUNDARIES, candidate_paths, mappings_in, names_by_key
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.redaction import printable

#: The greatest length of the warning and of the reasons in it, and of its list of arrays.
_LONGEST, _LONGEST_WHY, _NAMED_EXAMPLES = 400, 200, 3


class Undeclared(msgspec.Struct, frozen=True):
    """A data array without a principal convention, and without coordinates along a dimension or a CRS."""

    node: Node
    ndim: int
    #: The dimensions without a coordinate.
    bare: tuple[str, ...]
    #: Why a declaration of the array or of its group is ignored, "" if there is no declaration.
    why: str = ""
    #: The conventions that would give the coordinates or the CRS if they were assumed, by the array's marks.
    assumable: tuple[str, ...] = ()
    #: The conventions that would give only the CRS if they were assumed, and none of the coordinates.
    only_crs: tuple[str, ...] = ()
    #: The principal convention of its group, which does not apply to the array.
    principal: Handler | None = None
    #: The arrays that would be its coordinates, each with the reason why it is not used.
    unused: tuple[tuple[Node, str], ...] = ()
    #: The place where it needs ``spatial:dimensions``, and the attribute that is not used without it.
    missing: tuple[Fragment, str] | None = None
    #: Whether it inherits coordinates, but not all coordinates of other groups that it names.
    has_unattached: bool = False

    @property
    def reasons(self) -> list[str]:
        """Why it has no coordinates or CRS, as far as known."""
        reasons = [self.why] if self.why else []
        if self.missing is not None:
            place, attribute = self.missing
            text = _("{place} is missing, so {attribute!r} is not used")
            reasons.append(text.format(place=Place.of(place), attribute=attribute))
        return [*reasons, *(reason for _node, reason in self.unused)]


def undeclared_data_arrays(
    plans: Collection[GroupPlan], interpreter: Interpreter, *, is_tree: bool = False
) -> Iterator[Undeclared]:
    """Yield the data arrays without a principal convention, and without coordinates or a CRS.

    Documents that show which conventions would help may be unread: call it through `Library.ask`. Left out are arrays

    - that a different array, or the group's ``coordinates``, refers to;
    - that are coordinates of their group's Dataset;
    - along only one dimension of an incomplete array, because they may be its coordinate;
    - of a group that declares a principal convention, unless one of their dimensions along Y and X has no coordinate;
    - of other groups, if their dimensions have coordinates and no marks of a convention show that it would help.

    With `is_tree`, groups inherit the coordinates of their parents, which are first in `plans`.
    """
    if all(array.has_principal for plan in plans for array in plan.reading.arrays):
        return
    tree = interpreter.tree
    referred = _referred_arrays(plans, tree)
    known = {plan.node: plan for plan in plans if is_tree}
    for plan in plans:
        principal = declared_principal(_attributes(plan.node, tree))
        parents = [known[node] for node in plan.node.ancestors() if node in known]
        bare_dims = without_coordinate(plan, tree, parents)
        arrays = plan.reading.arrays
        siblings = {array.node.name: array.sizes for array in arrays}
        shared: dict[Hashable, Undeclared | None] = {}
        for array in _data_without_principal(plan, referred):
            bare = bare_dims.get(array.node, ())
            likeness = array.likeness if array.may_be_shared else array.node
            key = likeness, array.dims, bare, array.interpretation.crs is None
            if key not in shared:
                inherited = _inherited_dims(array, plan, tree, parents)
                shared[key] = _undeclared(array, bare, inherited, principal, siblings, interpreter)
            undeclared = shared[key]
            if undeclared is not None:
                yield replace(undeclared, node=array.node)


def _undeclared(
    array: ArrayReading,
    bare: tuple[str, ...],
    inherited: tuple[str, ...],
    principal: Handler | None,
    siblings: Mapping[str, Mapping[str, int]],
    interpreter: Interpreter,
) -> Undeclared | None:
    """Return the record of an undeclared array, None if it has all coordinates and no option would help.

    `inherited` are the dimensions by `_inherited_dims`. `principal` is the principal convention of its group, which does
    not apply to it; only grids are reported.
    """
    node, ndim = array.node, len(array.dims)
    view = interpreter.view(node, array.dims, siblings=siblings)
    grid = rows_and_columns(view) or array.dims[-2:]
    is_bare_grid = ndim > 1 and not set(bare).isdisjoint(grid)
    if principal is not None and not is_bare_grid:
        return None
    unused = tuple(unused_coordinates(view)) if bare else ()
    missing = missing_dimensions(view) if is_bare_grid else None
    undeclared = Undeclared(node, ndim, bare, principal=principal, unused=unused, missing=missing)
    if principal is not None:
        return undeclared
    placing, with_crs = _assumable(array, view, {*bare, *inherited}, interpreter)
    # An option that gives only the CRS is no help for positions.
    helpful = placing if bare and not placing else placing | with_crs
    if not (bare or helpful):
        return None
    return replace(
        undeclared,
        why=_why_ignored(view, interpreter.tree),
        assumable=in_handler_order(helpful),
        only_crs=in_handler_order(with_crs - helpful),
        has_unattached=bool(inherited),
    )


def _assumable(
    array: ArrayReading, view: ArrayView, dims: set[str], interpreter: Interpreter
) -> tuple[set[str], set[str]]:
    """Return the conventions that would give coordinates along `dims` if they were assumed, and those that would give a CRS.

    If the array has a CRS, no convention is among the latter.
    """
    mappings = {*mappings_in(array.document.attributes), SPATIAL_REF}
    has_crs = array.interpretation.crs is not None or not mappings.isdisjoint(view.siblings)
    marks = {} if AUTO in interpreter.assumed else interpreter.handlers.marks_of(view)
    marks = {name: mark for name, mark in marks.items() if name not in interpreter.assumed}
    placing = {name for name, mark in marks.items() if not dims.isdisjoint(mark.dims)}
    return placing, {name for name, mark in marks.items() if mark.has_crs and not has_crs}


def _why_ignored(view: ArrayView, tree: Tree) -> str:
    """Return why a declaration of an array or of its group is ignored, or why a handler failed; "" if neither."""
    for node in (view.node, view.node.group):
        if reason := why_not_declared(_attributes(node, tree)):
            return f"{node}: {reason}"
    return next((finding.text for finding in view.findings if finding.cost), "")


def _inherited_dims(
    array: ArrayReading, plan: GroupPlan, tree: Tree, parents: Sequence[GroupPlan]
) -> tuple[str, ...]:
    """Return the dimensions whose coordinates an array inherits, if it names other coordinates of other groups; or ()."""
    named = {"coordinates": array.document.attributes.get("coordinates")}
    indexes = inherited_indexes(plan, parents) if named["coordinates"] else {}
    attached = {variable.stored for _group, variable in indexes.values()}
    elsewhere = (node for node in _arrays_named(plan.node, named, tree) if node.group != plan.node)
    if not indexes or attached.issuperset(elsewhere):
        return ()
    bare = without_coordinate(plan, tree, ())[array.node]
    return tuple(dim for dim in bare if dim in indexes)


def _referred_arrays(plans: Iterable[GroupPlan], tree: Tree) -> set[Node]:
    """Return the arrays that CF attributes of groups and arrays name, and those that conventions refer to."""
    referred: set[Node] = set()
    for plan in plans:
        referred.update(_arrays_named(plan.node, _attributes(plan.node, tree), tree))
        for array in plan.reading.arrays:
            referred.update(_arrays_named(plan.node, array.document.attributes, tree))
            referred.update(node for node, _attributes_of_node in array.referred_arrays())
    return referred


def _data_without_principal(plan: GroupPlan, referred: Collection[Node]) -> list[ArrayReading]:
    """Return the arrays of a group without a principal convention that are probably not coordinates."""
    # In xarray, a variable with the name of a dimension is a coordinate, whatever its dimensions.
    dims = {dim for variable in plan.variables for dim in variable.dims}
    coordinates = {
        variable.stored
        for variable in plan.variables
        if variable.is_coordinate or variable.name in dims
    }
    incomplete = _incomplete_dims(plan)
    return [
        array
        for array in plan.reading.arrays
        if not (array.has_principal or array.node in coordinates or array.node in referred)
        and (len(array.dims) != 1 or incomplete.isdisjoint(array.dims))
    ]


def _incomplete_dims(plan: GroupPlan) -> set[str]:
    """Return the dimensions of incomplete arrays: the missing part may be a coordinate along one of them."""
    problems = [finding for finding in plan.findings if finding.topic is Topic.PROBLEM]
    incomplete = {path for finding in problems for path in finding.arrays}
    arrays = (array for array in plan.reading.arrays if array.has_principal)
    return {dim for array in arrays if str(array.node) in incomplete for dim in array.dims}


def without_coordinate(
    plan: GroupPlan, tree: Tree, parents: Iterable[GroupPlan]
) -> dict[Node | None, tuple[str, ...]]:
    """Return the dimensions without a coordinate of each array of a group, by the array's node.

    A dimension has a coordinate if a coordinate, or an array named in ``coordinates`` or ``bounds``, lies along it, or
    if a parent has an index with its name and size.
    """
    named: set[Node] = set()
    of_arrays = [array.document.attributes for array in plan.reading.arrays]
    for attributes in (_attributes(plan.node, tree), *of_arrays):
        naming = {key: attributes.get(key) for key in ("coordinates", *BOUNDARIES)}
        named.update(_arrays_named(plan.node, naming, tree))
    along = {
        dim
        for variable in plan.variables
        if variable.is_in_coords or variable.stored in named
        for dim in variable.dims
    }
    if {*_sizes(plan)} - along:
        along |= inherited_indexes(plan, parents).keys()
    return {
        variable.stored: tuple(dim for dim in variable.dims if dim not in along)
        for variable in plan.variables
        if variable.is_own
    }


def inherited_indexes(
    plan: GroupPlan, parents: Iterable[GroupPlan]
) -> dict[str, tuple[Node, PlannedVariable]]:
    """Return the indexes of parents, nearest first, that fit dimensions of a group: by dimension, with their group."""
    sizes, inherited = _sizes(plan), dict[str, tuple[Node, PlannedVariable]]()
    for parent in parents:
        theirs = _sizes(parent)
        for variable in parent.variables:
            dim = variable.name
            if variable.is_dimension_coordinate and theirs.get(dim) == sizes.get(dim, -1):
                inherited.setdefault(dim, (parent.node, variable))
    return inherited


def _arrays_named(group: Node, attributes: Mapping[str, Any], tree: Tree) -> Iterator[Node]:
    """Yield the arrays that names and paths in CF attributes of a group, or of one of its arrays, refer to."""
    for _key, name in names_by_key(attributes):
        for path in candidate_paths(name, group.path):
            document = tree.document_if_read(node := Node(group.store, path))
            if document is not None and document.is_array:
                yield node
                break


def _attributes(node: Node, tree: Tree) -> Mapping[str, Any]:
    """Return the attributes of a node, {} if its document is not known."""
    document = tree.document_if_read(node)
    return {} if document is None else document.attributes


def _sizes(plan: GroupPlan) -> dict[str, int]:
    """Return the sizes of the dimensions of a group's arrays, by name in the Dataset."""
    arrays = plan.reading.arrays
    return {dim: size for array in arrays for dim, size in array.sizes.items()}


# Findings about these arrays.


def undeclared_findings(arrays: Iterable[Undeclared]) -> Iterator[Finding]:
    """Yield a finding for each grid that its group's convention does not apply to, and one about all other arrays.

    The latter begins with advice. It names as many arrays as fit, first those that `assume_conventions` would help.
    """
    others = []
    for array in arrays:
        if array.principal is None:
            others.append(array)
        else:
            yield _not_applying(array, array.principal)
    if not others:
        return
    others.sort(key=lambda array: not array.assumable)
    paths = tuple(str(array.node) for array in others)
    text = f"{_advice(others)}: {_fact(others)}"
    reasons = dict.fromkeys(chain.from_iterable(array.reasons for array in others))
    why = shortened(". " + printable("; ".join(reasons)), _LONGEST_WHY) if reasons else ""
    examples = [printable(path) for path in paths[:_NAMED_EXAMPLES]]
    texts = (
        f"{text}: {listed(examples, count, len(paths))}{ending}"
        for ending in (why, "")
        for count in range(len(examples), 0, -1)
    )
    text = next((named for named in texts if len(named) <= _LONGEST), text)
    yield new_finding(Topic.NO_PRINCIPAL, others[0].node, text, arrays=paths)


def _fact(arrays: Sequence[Undeclared]) -> str:
    """Return what arrays do not have: coordinates along a dimension, coordinates that they name, a CRS, or one of these."""
    count = len(arrays)
    are_bare = {bool(array.bare) for array in arrays}
    are_unattached = {array.has_unattached and not array.bare for array in arrays}
    if are_bare == {True}:
        fact = ngettext(
            "{count} array has no coordinates along a dimension, and declares no principal "
            "convention (such as cs or spatial)",
            "{count} arrays have no coordinates along a dimension, and declare no principal "
            "convention (such as cs or spatial)",
            count,
        )
    elif are_unattached == {True}:
        fact = ngettext(
            "{count} array does not have all coordinates that it names, and declares no principal "
            "convention (such as cs or spatial)",
            "{count} arrays do not have all coordinates that they name, and declare no principal "
            "convention (such as cs or spatial)",
            count,
        )
    elif are_bare == are_unattached == {False}:
        fact = ngettext(
            "{count} array has no CRS, and declares no principal convention (such as cs or spatial)",
            "{count} arrays have no CRS, and declare no principal convention (such as cs or spatial)",
            count,
        )
    else:
        fact = ngettext(
            "{count} array does not have all coordinates, or has no CRS, and declares no principal "
            "convention (such as cs or spatial)",
            "{count} arrays do not have all coordinates, or have no CRS, and declare no principal "
            "convention (such as cs or spatial)",
            count,
        )
    return fact.format(count=count)


def _advice(arrays: Sequence[Undeclared]) -> str:
    """Return advice for the user. The first arrays are those that an option would help."""
    helped = sum(bool(array.assumable) for array in arrays)
    of_arrays = (array.assumable if helped else array.only_crs for array in arrays)
    names = in_handler_order(chain.from_iterable(of_arrays))
    option = f"assume_conventions={names[0] if len(names) == 1 else list(names)!r}"
    if not helped:
        advice = _("Select by position (isel), or assign coordinates")
        only_crs = _("{option} adds only the CRS").format(option=option)
        return f"{advice} ({only_crs})" if names else advice
    if helped == len(arrays):
        return _("Open with {option}").format(option=option)
    message = ngettext(
        "Open with {option} for the first array",
        "Open with {option} for the first {count} arrays",
        helped,
    )
    return message.format(option=option, count=helped)


def forgotten_declarations(undeclared: Iterable[Undeclared], tree: Tree) -> Iterator[Finding]:
    """Yield findings about grids without coordinates if their group or its other arrays declare a principal convention."""
    for group, arrays in groupby(undeclared, lambda array: array.node.group):
        documents = tree.arrays(group).values()
        is_declared = any(declared_principal(document.attributes) for document in documents)
        for array in arrays:
            if array.principal is not None:
                yield _not_applying(array, array.principal)
            elif is_declared and array.bare and array.ndim > 1:
                text = "declares no principal convention, but other arrays of the group do"
                remedy = 'write "zarr_conventions" and the attributes that it declares, as the other arrays do'
                yield new_finding(Topic.NO_PRINCIPAL, array.node, text, remedy)


def _not_applying(array: Undeclared, principal: Handler) -> Finding:
    """Return the finding about a grid that the convention declared by its group does not apply to."""
    message = _(
        "its group declares {name!r}, which does not apply to it: it has no coordinates along {dims}"
    )
    text = message.format(name=principal.name, dims=", ".join(map(repr, array.bare)))
    finding = new_finding(Topic.CHOICE, array.node, "; ".join([text, *array.reasons]))
    related = () if array.missing is None else (Place.of(array.missing[0]),)
    return replace(finding, related=related)
