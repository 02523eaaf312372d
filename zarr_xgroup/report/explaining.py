"""What an open finds in a store, told instead of opened: nothing is built, no chunk is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack
from typing import Literal as OneOf

import numpy as np

from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import (
    declarations,
    is_declared,
    is_declared_of_store,
    is_of_other_things,
    matches,
    self_called,
)
from zarr_xgroup.conventions.registry import Nz, declarable
from zarr_xgroup.datasets.decode import times_undecoded, why_no_times
from zarr_xgroup.datasets.interpretation import ArrayReading
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.datasets.planning import Planning, planning
from zarr_xgroup.datasets.pyramids import Pyramid, layout_at, pyramid_of
from zarr_xgroup.datasets.undeclared import lacks, undeclared, without_coordinate
from zarr_xgroup.findings import Finding, Place, by_cause
from zarr_xgroup.metadata.cf import BOUNDARIES, mappings_in, names_in
from zarr_xgroup.metadata.nodes import Keys, Node, pointer_to
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.options import ReportOptions, with_report_options_shown
from zarr_xgroup.redaction import presentable, redact
from zarr_xgroup.report.explanation import (
    Explanation,
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundCrs,
    FoundGroup,
    FoundLevel,
    FoundProblem,
    FoundReference,
    Levels,
)
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.functions import Regular, RegularBounds, RotatedCentres
from zarr_xgroup.variables.making import Maker
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Literal, Offset, Source, Stored

#: How many letters are shown of a CRS that is not understood, or of units.
_LONGEST = 80
#: How many values that are written in metadata are shown, and how many letters of each.
_SHOWN_VALUES, _LONGEST_VALUE = 3, 30


@with_report_options_shown
def explain(filename_or_obj: Any, **options: Unpack[ReportOptions]) -> Explanation:
    """Return what a store says, and what an open makes of it, without reading a chunk.

    It is what `xarray.open_datatree` with ``engine="xgroup"`` finds: the conventions of each
    array, the references, the coordinates and where these come from, the coordinate reference
    systems, and what the warnings of an open tell (but for what only values show).

    Parameters
    ----------
    filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
        The store: whatever an open takes.
    **options
        Those of an open, see `XGroupBackendEntrypoint.open_dataset`, but for those of engine zarr
        (`mode`, `stacklevel`, ...); what concerns values alone changes nothing. ``group`` is explained with all groups below it.

    Returns
    -------
    Explanation
        To print it is to read it; `Explanation.to_dict` is JSON.

    Raises
    ------
    XGroupStoreError, XGroupStoreNotFoundError, XGroupGroupError, XGroupPathError, \
XGroupMetadataError, ValueError, TypeError
        As for an open.

    Examples
    --------
    >>> import zarr, zarr_xgroup
    >>> store = zarr.storage.MemoryStore()
    >>> group = zarr.create_group(store)
    >>> array = group.create_array("t", shape=(3,), dtype="f8", dimension_names=["time"])
    >>> explanation = zarr_xgroup.explain(store)
    >>> [array.path for group in explanation.groups for array in group.arrays]
    ['/t']
    >>> explanation.groups[0].arrays[0].missing
    ('time',)
    """
    with planning(filename_or_obj, options, ReportOptions) as planned:
        explanation = _Explaining(planned).explanation()
        planned.library.close()
    return explanation


def levels(filename_or_obj: Any, group: str | None = None, **options: Any) -> Levels:
    """Return the levels of a pyramid: what the option ``resolution`` of an open chooses from.

    Documents alone are read.

    Parameters
    ----------
    filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
        The store: whatever an open takes.
    group : str, optional
        The group with the layout of ``multiscales``. Default: the root.
    **options
        Those of an open, see `XGroupBackendEntrypoint.open_dataset`.

    Returns
    -------
    Levels
        A tuple, the finest level first: to print it is to read it.

    Raises
    ------
    XGroupGroupError
        If the group is no pyramid.
    XGroupStoreError, XGroupStoreNotFoundError, XGroupPathError, XGroupMetadataError, ValueError, \
TypeError
        As for an open.
    """
    all_options: Any = {"group": group, **options}
    with planning(filename_or_obj, all_options, ReportOptions) as planned:
        found = Levels(_levels(planned.pyramid()))
        planned.library.close()
    return found


def _levels(pyramid: Pyramid) -> Iterator[FoundLevel]:
    for it in pyramid.levels:
        shape, chunk = it.shape or None, it.chunk or None
        told = (it.resolution, it.unit, shape, chunk, pyramid.factor(it), it.refinement)
        yield FoundLevel(str(it.node), *told)


class _Explaining:
    """Makes an explanation of the plans of one open."""

    def __init__(self, planned: Planning) -> None:
        self._planned = planned
        self._plans = planned.plan_tree(with_indexes=True)
        self._tree = planned.library.tree
        self._by_node = {plan.node: plan for plan in self._plans}
        self._readings = {plan.node: plan.reading for plan in self._plans}
        self._declared: dict[tuple[type[ConventionHandler], Node], bool] = {}

    def explanation(self) -> Explanation:
        """Return the explanation."""
        return Explanation(
            self._tree.stores[0].name,
            f"/{self._planned.group}",
            self._tree.stores[0].zarr_format,
            self._tree.is_consolidated(Node(0, self._planned.group)),
            groups=tuple(map(self._group, self._plans)),
            references=tuple(found_references(self._plans, self._tree)),
            problems=tuple(self._problems()),
        )

    def _group(self, plan: GroupPlan) -> FoundGroup:
        held = {it.name: it for it in plan.variables if it.name not in self._planned.dropped}
        variables = _Variables(held, self._planned.maker)
        coordinates = variables.coordinates(self._attributes(plan.node))
        arrays = tuple(self._arrays(plan, variables, coordinates))
        users: defaultdict[str, list[str]] = defaultdict(list)
        for array in arrays:
            for name in array.coordinates:
                users[name].append(array.path)
        roles = variables.roles()
        for name, text in dict.fromkeys(_overruled(plan, variables, self._tree)):
            roles[name].append(text)
        found = (
            self._coordinate(it, variables, roles.get(it.name, []), tuple(users.get(it.name, ())))
            for it in coordinates
        )
        assumed = self._planned.assumed
        layout = layout_at(plan.node, self._tree, assumed)
        if layout is None:
            pyramid = None
        else:
            pyramid = pyramid_of(plan.node, layout, self._tree, self._readings, assumed)
        levels = () if pyramid is None else tuple(_levels(pyramid))
        return FoundGroup(str(plan.node), arrays, tuple(found), levels)

    def _arrays(
        self, plan: GroupPlan, variables: _Variables, coordinates: Sequence[PlannedVariable]
    ) -> Iterator[FoundArray]:
        along = _names_along({it.dims for it in variables.by_name.values()}, coordinates)
        called = {it.name for it in coordinates}
        parents = (self._by_node[it] for it in plan.node.ancestors() if it in self._by_node)
        missing = without_coordinate(plan, self._tree, parents)
        for reading in plan.reading.arrays:
            planned = variables.by_name[reading.node.name]
            found = FoundArray(
                str(reading.node),
                planned.dims,
                reading.shape,
                str(reading.template.dtype),
                is_coordinate=planned.name in called,
                conventions=tuple(self._conventions(reading)),
                coordinates=tuple([it for it in along[planned.dims] if it != planned.name]),
                times=_declared_times(planned),
            )
            if not found.is_coordinate:
                crs = variables.crs_of(planned, reading.interpretation.crs)
                found = replace(found, missing=missing.get(reading.node, ()), crs=crs)
            yield found

    def _coordinate(
        self,
        planned: PlannedVariable,
        variables: _Variables,
        roles: Sequence[str],
        arrays: tuple[str, ...],
    ) -> FoundCoordinate:
        source = planned.source
        is_crs = isinstance(source, Literal) and not planned.dims and bool(roles)
        texts = roles if is_crs else [_described(source), *roles]
        return FoundCoordinate(
            planned.name,
            planned.dims,
            "own" if planned.is_own else _kind_of(source),
            self._place(source.node) if isinstance(source, Stored) else None,
            "; ".join(filter(None, texts)),
            is_index=planned.dims == (planned.name,),
            bounds=next(iter(variables.bounds_of(planned)), None),
            arrays=arrays,
        )

    def _conventions(self, reading: ArrayReading) -> Iterator[FoundConvention]:
        for handler in reading.conventions:
            node = self._declaring(handler, reading.node)
            yield FoundConvention(handler.name, handler.tier, None if node is None else str(node))
        for node in (reading.node, reading.node.group):
            yield from self._others(node)

    def _others(self, node: Node) -> Iterator[FoundConvention]:
        """Yield the conventions that a node declares and of which nothing is read."""
        for item in declarations(self._attributes(node)):
            is_nz = matches(Nz, item)
            if is_nz or not any(matches(it, item) for it in declarable()):
                name = presentable(redact(self_called(item)))
                is_known = is_nz or is_of_other_things(item)
                yield FoundConvention(name, "recognised" if is_known else "unknown", str(node))

    def _declaring(self, handler: type[ConventionHandler], array: Node) -> Node | None:
        """Return the nearest node that declares a convention of an array."""
        for node in (array, *array.ancestors()):
            key = (handler, node)
            if key not in self._declared:
                attributes = self._attributes(node)
                of_store = not node.path and is_declared_of_store(handler, attributes)
                self._declared[key] = of_store or is_declared(handler, attributes)
            if self._declared[key]:
                return node
        return None

    def _attributes(self, node: Node) -> Mapping[str, Any]:
        document = self._tree.known(node)
        return {} if document is None else document.attributes

    def _problems(self) -> Iterator[FoundProblem]:
        found = [*self._planned.library.findings, *self._planned.findings]
        for plan in self._plans:
            found.extend(plan.findings)
            variables = _Variables({it.name: it for it in plan.variables}, self._planned.maker)
            found.extend(variables.undecoded(plan.node))
        assumed = self._planned.assumed
        bare = undeclared(self._plans, self._tree, assumed=assumed, is_tree=True)
        found.extend(lacks(bare, self._planned.taken))
        return map(self._problem, by_cause(found))

    def _problem(self, finding: Finding) -> FoundProblem:
        kind = "" if finding.topic is None else finding.topic.value
        told = (finding.text, finding.place, finding.arrays, finding.cost, finding.count)
        return FoundProblem(kind, *told)

    def _place(self, node: Node, pointer: str = "") -> Place:
        return _place(self._tree, node, pointer)


@dataclass(frozen=True)
class _Variables:
    """The variables of a group's Dataset, and what they will be to one another."""

    by_name: Mapping[str, PlannedVariable]
    maker: Maker

    def coordinates(self, attributes: Mapping[str, Any]) -> list[PlannedVariable]:
        """Return the coordinates, given the group's attributes: those of dimensions first."""
        named = set(names_in(attributes, "coordinates"))
        for planned in self.by_name.values():
            # What is called as a dimension is a coordinate to xarray, however many it has itself.
            named.update(self._named(planned, "coordinates"), planned.dims)
        found = [it for it in self.by_name.values() if it.is_coordinate or it.name in named]
        return sorted(found, key=lambda it: it.dims != (it.name,))

    def roles(self) -> dict[str, list[str]]:
        """Return in words what variables are to others (boundaries, formula terms, CRS), by name."""
        roles: defaultdict[str, list[str]] = defaultdict(list)
        for name, planned in self.by_name.items():
            for key in BOUNDARIES:
                for bounds in self._named(planned, key):
                    roles[bounds].append(f"cell boundaries of {name!r}")
            terms = str(self._attribute(planned, "formula_terms") or "").split()
            for term, word in zip(terms[::2], terms[1::2], strict=False):
                text = "term {term!r} of the formula of {name!r}"
                roles[word].append(text.format(term=term.rstrip(":"), name=name))
        for name in {name for it in self.by_name.values() for name in self.crs_names(it)}:
            if (crs := self._crs_called(name)) is not None:
                roles[name].append(f"stands for the CRS {crs.name}")
        return roles

    def bounds_of(self, planned: PlannedVariable) -> list[str]:
        """Return the variables of the cell boundaries of one."""
        names = (name for key in BOUNDARIES for name in self._named(planned, key))
        return [name for name in names if name in self.by_name]

    def crs_of(self, planned: PlannedVariable, crs: Crs | None) -> FoundCrs | None:
        """Return the CRS of an array, as it was understood or else as its grid mapping says."""
        name = next((it for it in self.crs_names(planned) if it in self.by_name), None)
        if crs is not None:
            return _found_crs(crs, name)
        return None if name is None else self._crs_called(name)

    def crs_names(self, planned: PlannedVariable) -> list[str]:
        """Return the variables of the CRSs of one."""
        return mappings_in({"grid_mapping": self._attribute(planned, "grid_mapping")})

    def _crs_called(self, name: str) -> FoundCrs | None:
        """Return the CRS that a CF grid mapping variable says."""
        for key in ("crs_wkt", "spatial_ref", "grid_mapping_name"):
            planned = self.by_name.get(name)
            if planned and isinstance(text := self._attribute(planned, key), str):
                return _found_crs(Crs(key, text), name)
        return None

    def undecoded(self, group: Node) -> Iterator[Finding]:
        """Yield that times of a group cannot be decoded, as an open tells that tries it."""
        for planned in self.by_name.values():
            written = {key: self._attribute(planned, key) for key in ("units", "calendar")}
            reason = why_no_times({key: it for key, it in written.items() if it is not None})
            if reason:
                yield times_undecoded(group, planned, reason)

    def _attribute(self, planned: PlannedVariable, key: str) -> Any:
        """Return an attribute that a variable will have, or None."""
        if key in planned.rewritten:
            return planned.rewritten[key]
        source = planned.source
        own = self.maker.attributes(source.node) if isinstance(source, Stored) else {}
        return own[key] if key in own else planned.attributes.get(key)

    def _named(self, planned: PlannedVariable, key: str) -> list[str]:
        return names_in({key: self._attribute(planned, key)}, key)


def _declared_times(planned: PlannedVariable) -> str:
    """Return in words which times an array of the group is, if others declare it; "" if not."""
    declared = [planned.attributes.get(key) for key in ("units", "calendar")]
    if not (planned.is_own and planned.is_time and declared[0]):
        return ""
    text = "times, as the arrays that refer to it declare: {units}"
    return text.format(units=", ".join(_shortened(str(it)) for it in declared if it is not None))


def _overruled(plan: GroupPlan, variables: _Variables, tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield the group's own variables that stand, and in words against what is declared."""
    for own in variables.by_name.values():
        for source, array in own.stood_against.values():
            declared = _described(source)
            if isinstance(source, Stored):
                declared = str(_place(tree, source.node, ""))
            yield own.name, f"stands against what {plan.node.child(array)} declares: {declared}"
    for reading in plan.reading.arrays:
        crs = reading.interpretation.overruled_crs
        if crs is not None:
            text = f"stands against the declared CRS {_shortened(crs.title)}"
            planned = variables.by_name[reading.node.name]
            yield from ((name, text) for name in variables.crs_names(planned))


def _names_along(
    of_arrays: Iterable[tuple[str, ...]], coordinates: Iterable[PlannedVariable]
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the coordinates of arrays, in their order, by the arrays' dimensions."""
    by_first: defaultdict[tuple[str, ...], list[tuple[int, PlannedVariable]]] = defaultdict(list)
    for place, planned in enumerate(coordinates):
        by_first[planned.dims[:1]].append((place, planned))
    found = {}
    for dims in of_arrays:
        near = [it for first in ((), *((dim,) for dim in set(dims))) for it in by_first[first]]
        fitting = sorted([(place, it.name) for place, it in near if set(it.dims) <= set(dims)])
        found[dims] = tuple([name for _place, name in fitting])
    return found


def found_references(plans: Iterable[GroupPlan], tree: Tree) -> Iterator[FoundReference]:
    """Yield the references that were followed for the arrays of groups, each place once."""
    users: dict[tuple[Node, Keys, Followed], dict[str, None]] = {}
    for plan in plans:
        for reading in plan.reading.arrays:
            for it in reading.references:
                key = (it.written_for(reading.node), it.keys, it.without_place())
                users.setdefault(key, {})[str(reading.node)] = None
    for (node, keys, it), arrays in users.items():
        end = None
        if it.leads_to is not None:
            end = _place(tree, it.leads_to, pointer_to(it.leads_to_keys))
        yield FoundReference(
            _place(tree, node, pointer_to(keys)),
            redact(it.target),
            end,
            it.by_fallback,
            presentable(it.text),
            tuple(arrays),
        )


def _place(tree: Tree, node: Node, pointer: str) -> Place:
    store = tree.stores[node.store].name if node.store else None
    return Place(str(node), pointer, store)


def _found_crs(crs: Crs, variable: str | None) -> FoundCrs:
    return FoundCrs(_shortened(crs.title), crs.code, variable)


def _shortened(text: str) -> str:
    """Return a text of a store, shortened and without what may be secret."""
    text = redact(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


# Sources in words.


def _kind_of(source: Source) -> OneOf["stored", "foreign", "computed", "inline", "given"]:
    """Return where the values of a source are."""
    if isinstance(source, Stored):
        return "foreign" if source.node.store else "stored"
    if isinstance(source, Literal):
        return "inline"
    return "given" if isinstance(source, HandlerVariable) else "computed"


def _described(source: Source) -> str:
    """Return in words what a source says besides its place, "" if that is all."""
    if isinstance(source, Stored):
        return _of_array(source)
    if isinstance(source, Literal):
        return _values(source.values)
    if isinstance(source, Offset):
        return _distances(source.below, source.above)
    if isinstance(source, HandlerVariable):
        return "a variable that the handler of a convention gave"
    return _of_function(source)


def _of_array(source: Stored) -> str:
    if source.first:
        return f"its first element along {source.along[0]!r}"
    return "transposed" if source.transposed else ""


def _of_function(source: Computed) -> str:
    function = source.function
    if isinstance(function, Regular):
        line = _line(function.first, function.step, _position("i", function.offset or 0))
        is_of_cells = function.offset is not None
        text = "affine transform: {formula}" if is_of_cells else "regular: {formula}"
        return text.format(formula=line)
    if isinstance(function, RegularBounds):
        line = _line(function.values.first, function.values.step, "i")
        return f"{line}; {_distances(function.below, function.above)}"
    if isinstance(function, RotatedCentres):
        column, row = (_position(name, function.offset) for name in ("column", "row"))
        line = _line(function.origin, function.column, column)
        return "rotated affine transform: {formula}".format(
            formula=f"{line}{_term(function.row, row)}"
        )
    return "computed"


def _line(first: float, step: float, position: str) -> str:
    return f"{first}{_term(step, position)}"


def _term(factor: float, position: str) -> str:
    return f" - {-factor} * {position}" if factor < 0 else f" + {factor} * {position}"


def _position(name: str, offset: float) -> str:
    return f"({name} + {offset})" if offset else name


def _distances(below: float, above: float) -> str:
    return f"from {below:+} to {above:+} of each value"


def _values(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    flat = values.ravel()
    shown = [redact(str(value))[:_LONGEST_VALUE] for value in flat[:_SHOWN_VALUES].tolist()]
    if flat.size > _SHOWN_VALUES:
        shown += ["...", redact(str(flat[-1:].tolist()[0]))[:_LONGEST_VALUE]]
    return "values {values}".format(values=", ".join(shown)) if shown else "no values"
