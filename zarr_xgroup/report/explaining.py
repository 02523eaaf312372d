"""Explanations of stores, made from plans: no Dataset is built, and no chunk is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import prod
from typing import Any, Unpack

import numpy as np
from msgspec.structs import replace

from zarr_xgroup.conventions.crs import CRS_ATTRIBUTES, Crs, crs_in
from zarr_xgroup.conventions.declaring import (
    NOT_DECLARED,
    Declared,
    declarations,
    declared_by,
    declared_by_root,
    declared_name,
    is_known_without_coordinates,
    matches,
)
from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.registry import Nz, declarable
from zarr_xgroup.conventions.units import TIME_KEYS, is_time, why_not_times
from zarr_xgroup.datasets.decode import times_undecoded
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.datasets.pyramids import Pyramid, pyramids_of
from zarr_xgroup.datasets.undeclared import (
    inherited_indexes,
    undeclared_findings,
    without_coordinate,
)
from zarr_xgroup.findings import Place, group_findings, of_opening
from zarr_xgroup.metadata.cf import BOUNDARIES, mappings_in, names_in
from zarr_xgroup.metadata.nodes import Keys, Node, pointer_to
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.opening import Opening, opening
from zarr_xgroup.options import ReportOptions, TreeReportOptions, with_report_options_shown
from zarr_xgroup.redaction import presentable, redact
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundCrs,
    FoundGroup,
    FoundLevel,
    FoundProblem,
    FoundReference,
    Kind,
)
from zarr_xgroup.report.results import Explanation, Levels
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.functions import Regular, RegularBounds, RotatedCentres
from zarr_xgroup.variables.sources import (
    Computed,
    HandlerVariable,
    Literal,
    Offset,
    Source,
    Stored,
    Unusable,
)

#: The longest text of a CRS, or of units, that is shown whole, in characters.
_LONGEST = 80
#: How many values in metadata are shown, and how many characters of each.
_SHOWN_VALUES, _LONGEST_VALUE = 3, 30

#: The kinds of coordinates by the class of their source; all others are computed.
_KINDS: Mapping[type, Kind] = {Stored: "stored", Literal: "inline", HandlerVariable: "given"}


@with_report_options_shown
def explain(filename_or_obj: Any, **options: Unpack[TreeReportOptions]) -> Explanation:
    """Explain the content of a store, and how `xarray.open_datatree` opens it, without reading a chunk.

    An explanation has the conventions of each array, the references, the coordinates and their sources, the
    coordinate reference systems, and the warnings that opening gives (except those that depend on values).

    Parameters
    ----------
    filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
        The store, as for `xarray.open_datatree` with ``engine="xgroup"``.
    **options
        The options of `XGroupBackendEntrypoint.open_dataset`, except those of engine zarr (`mode`, `stacklevel`, ...).
        Options about values have no effect. ``group`` is explained with all groups below it; ``group_filter``
        chooses groups of the tree.

    Returns
    -------
    Explanation
        It prints as text; `Explanation.to_dict` returns it as JSON values.

    Raises
    ------
    XGroupStoreError, XGroupStoreNotFoundError, XGroupGroupError, XGroupPathError, \
XGroupMetadataError, ValueError, TypeError
        As for `xarray.open_datatree`.

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
    with opening(filename_or_obj, options, TreeReportOptions) as call:
        return _Explaining(call).explanation()


def levels(filename_or_obj: Any, group: str | None = None, **options: Any) -> Levels:
    """Return the levels of a pyramid, from which the option ``resolution`` chooses.

    Only metadata documents are read, and the first and last values of the levels' stored coordinates.

    Parameters
    ----------
    filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
        The store, as for `xarray.open_dataset` with ``engine="xgroup"``.
    group : str, optional
        The group with the layout of ``multiscales``. Default: the root.
    **options
        The options of `XGroupBackendEntrypoint.open_dataset`.

    Returns
    -------
    Levels
        A tuple, the finest level first. It prints as a table.

    Raises
    ------
    XGroupGroupError
        If the group is not a pyramid.
    XGroupStoreError, XGroupStoreNotFoundError, XGroupPathError, XGroupMetadataError, ValueError, \
TypeError
        As for `xarray.open_dataset`.
    """
    all_options: Any = {"group": group, **options}
    with opening(filename_or_obj, all_options, ReportOptions) as call:
        return _levels(call.pyramid(), is_measured=True)


def _levels(pyramid: Pyramid, *, is_measured: bool) -> Levels:
    """Return the levels of a pyramid for users; `is_measured` is whether values of their stored coordinates were read."""
    is_declared = not is_measured and any(level.stored for level in pyramid.levels)
    # The arrays of groups are compared by name. A level that is an array has only itself.
    groups = [level for level in pyramid.levels if level.node == level.group]
    names = frozenset[str]().union(*(level.arrays for level in groups))
    # Levels without a known size of cells are sorted by the sizes of their arrays.
    levels = sorted(pyramid.levels, key=lambda level: (level.coarseness, -prod(level.shape)))
    return Levels(
        FoundLevel(
            str(level.node),
            level.resolution,
            level.unit,
            level.shape or None,
            level.chunk or None,
            pyramid.factor(level),
            level.refinement,
            is_declared=is_declared and level.resolution is not None,
            arrays=tuple(sorted(names & level.members if level in groups else level.arrays)),
            missing=tuple(sorted(names - level.members if level in groups else ())),
        )
        for level in levels
    )


class _Explaining:
    """Makes the explanation of the plans of one open call."""

    def __init__(self, call: Opening) -> None:
        self._call, self._tree = call, call.tree
        self._plans = {plan.node: plan for plan in call.plan_tree()}
        readings = {node: plan.reading for node, plan in self._plans.items()}
        self._pyramids = pyramids_of(readings, readings, self._tree, call.assumed)
        self._declared: dict[Node, Declared] = {}

    def explanation(self) -> Explanation:
        """Return the explanation."""
        return Explanation(
            self._tree.stores[0].name,
            f"/{self._call.group}",
            self._tree.stores[0].zarr_format,
            self._tree.is_consolidated(Node(0, self._call.group)),
            groups=tuple(map(self._group, self._plans.values())),
            references=tuple(found_references(self._plans.values(), self._tree)),
            problems=tuple(self._problems()),
            assumed=tuple(sorted(self._call.assumed)),
        )

    def _group(self, plan: GroupPlan) -> FoundGroup:
        """Return a group with its arrays, the coordinates of its Dataset, and the levels of its pyramid."""
        dropped = self._call.dropped
        variables = {
            variable.name: variable for variable in plan.variables if variable.name not in dropped
        }
        # In xarray, a variable with the name of a dimension is a coordinate, whatever its dimensions.
        names = {*names_in(self._attributes(plan.node), "coordinates")}
        for variable in variables.values():
            names.update(_names(variable, "coordinates"), variable.dims)
        coordinates = [
            variable
            for variable in variables.values()
            if variable.is_coordinate or variable.name in names
        ]
        coordinates.sort(key=lambda coordinate: not coordinate.is_dimension_coordinate)
        inherited = {}
        if any(dim not in variables for variable in variables.values() for dim in variable.dims):
            indexes = inherited_indexes(plan, self._parents(plan))
            inherited = {dim: index for dim, index in indexes.items() if dim not in variables}
        known = [*(index for _node, index in inherited.values()), *coordinates]
        arrays = tuple(self._arrays(plan, variables, known))
        in_dataset = (
            *self._inherited(inherited, arrays),
            *self._coordinates(plan, variables, coordinates, arrays),
        )
        pyramid = self._pyramids.get(plan.node)
        levels = () if pyramid is None else tuple(_levels(pyramid, is_measured=False))
        return FoundGroup(str(plan.node), arrays, in_dataset, levels)

    def _parents(self, plan: GroupPlan) -> Iterator[GroupPlan]:
        """Yield the plans of the groups above a group, the nearest first."""
        return (self._plans[node] for node in plan.node.ancestors() if node in self._plans)

    def _inherited(
        self,
        inherited: Mapping[str, tuple[Node, PlannedVariable]],
        arrays: Iterable[FoundArray],
    ) -> Iterator[FoundCoordinate]:
        """Yield the coordinates that a tree passes on to a group, by dimension."""
        for dim, (group, variable) in inherited.items():
            origin = None if variable.stored is None else _place(self._tree, variable.stored)
            kind = _KINDS.get(type(variable.source), "computed")
            users = tuple(array.path for array in arrays if dim in array.coordinates)
            text = f"inherited from {group}"
            yield FoundCoordinate(dim, (dim,), kind, origin, text, is_index=True, arrays=users)

    def _coordinates(
        self,
        plan: GroupPlan,
        variables: Mapping[str, PlannedVariable],
        coordinates: Iterable[PlannedVariable],
        arrays: Iterable[FoundArray],
    ) -> Iterator[FoundCoordinate]:
        """Yield the coordinates of a group, each with the arrays that have it."""
        users: defaultdict[str, list[str]] = defaultdict(list)
        for array in arrays:
            for name in array.coordinates:
                users[name].append(array.path)
        roles, replaced = _roles(variables), _replaced(plan, variables, self._tree)
        for coordinate in coordinates:
            name, source, dims = coordinate.name, coordinate.source, coordinate.dims
            texts = [*roles[name], *replaced[name]]
            if dims or not texts or not isinstance(source, Literal):  # not a CRS
                texts.insert(0, _described(source))
            kind: Kind = "own" if coordinate.is_own else _KINDS.get(type(source), "computed")
            origin = None
            if isinstance(source, Stored):
                origin = _place(self._tree, source.node)
                kind = "foreign" if kind == "stored" and origin.store is not None else kind
                group = source.node.group
                is_inherited = coordinate.is_dimension_coordinate and group in plan.node.ancestors()
                if kind != "own" and is_inherited:
                    texts.insert(0, f"inherited from {group}")
            bounds = chain(*(_names(coordinate, key) for key in BOUNDARIES))
            yield FoundCoordinate(
                name,
                dims,
                kind,
                origin,
                "; ".join(filter(None, texts)),
                is_index=coordinate.is_dimension_coordinate,
                bounds=next(filter(variables.get, bounds), None),
                arrays=tuple(users[name]),
                replaces=tuple(replaced[name]),
            )

    def _arrays(
        self,
        plan: GroupPlan,
        variables: Mapping[str, PlannedVariable],
        coordinates: Sequence[PlannedVariable],
    ) -> Iterator[FoundArray]:
        """Yield the arrays of a group, each with the coordinates that fit its dimensions."""
        # A group may have thousands of coordinates: an array is compared only with those whose first dimension it has.
        by_first: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, coordinate in enumerate(coordinates):
            by_first[coordinate.dims[:1]].append(number)
        along: dict[tuple[str, ...], list[str]] = {}
        for dims in {variable.dims for variable in variables.values()}:
            numbers = chain(by_first[()], *(by_first[dim,] for dim in set(dims)))
            near = [coordinates[number] for number in sorted(numbers)]
            along[dims] = [other.name for other in near if set(other.dims) <= set(dims)]
        names = {coordinate.name for coordinate in coordinates}
        missing = without_coordinate(plan, self._tree, self._parents(plan))
        for reading in plan.reading.arrays:
            variable = variables[reading.node.name]
            is_coordinate = variable.name in names
            yield FoundArray(
                str(reading.node),
                variable.dims,
                reading.shape[::-1] if variable.is_transposed else reading.shape,
                str(reading.template.dtype),
                is_coordinate=is_coordinate,
                conventions=tuple(self._conventions(reading)),
                coordinates=tuple(name for name in along[variable.dims] if name != variable.name),
                missing=() if is_coordinate else missing.get(reading.node, ()),
                crs=None if is_coordinate else _crs_of(reading, variables),
                times=_declared_times(variable),
                units=_units(variable),
            )

    def _conventions(self, reading: ArrayReading) -> Iterator[FoundConvention]:
        """Yield the conventions of an array, then the declared ones of the array and its group that are not read."""
        array = reading.node
        for handler in reading.conventions:
            nodes = (array, *array.ancestors())
            declaring = next((node for node in nodes if handler in self._declared_at(node)), None)
            path = None if declaring is None else str(declaring)
            is_assumed = path is None and handler.name in reading.assumed
            yield FoundConvention(handler.name, handler.tier, path, is_assumed)
        for node in (array, array.group):
            for item in declarations(self._attributes(node)):
                is_nz = matches(Nz, item)
                if is_nz or not any(matches(convention, item) for convention in declarable()):
                    name = presentable(redact(declared_name(item)))
                    is_known = is_nz or is_known_without_coordinates(item)
                    yield FoundConvention(name, "recognised" if is_known else "unknown", str(node))

    def _declared_at(self, node: Node) -> Declared:
        """Return the conventions that a node declares. The root may also declare conventions for the whole store."""
        if node not in self._declared:
            attributes = self._attributes(node)
            for_store = NOT_DECLARED if node.path else declared_by_root(attributes)
            self._declared[node] = declared_by(attributes) | for_store
        return self._declared[node]

    def _attributes(self, node: Node) -> Mapping[str, Any]:
        document = self._tree.document_if_read(node)
        return {} if document is None else document.attributes

    def _problems(self) -> Iterator[FoundProblem]:
        """Yield the findings that opening warns about."""
        findings = [*self._call.library.findings, *self._call.findings]
        for plan in self._plans.values():
            findings.extend(plan.findings)
            for variable in plan.variables:
                # Opening reports times that cannot be decoded only when it decodes them.
                if reason := why_not_times(variable.times):
                    findings.append(times_undecoded(plan.node, variable, reason))
        bare = self._call.undeclared(self._plans.values(), is_tree=True)
        findings.extend(undeclared_findings(bare))
        for finding in group_findings(of_opening(findings)):
            kind = "" if finding.topic is None else finding.topic.value
            yield FoundProblem(
                *(kind, finding.text, finding.place, finding.arrays, finding.cost, finding.count),
                rule=finding.rule.name,
            )


def _crs_of(reading: ArrayReading, variables: Mapping[str, PlannedVariable]) -> FoundCrs | None:
    """Return the CRS of an array: the declared one, or that of its grid mapping variable."""
    mapping = next(filter(variables.get, _mappings(variables[reading.node.name])), None)
    crs = reading.interpretation.crs
    if crs is None and mapping is not None:
        crs = _written_crs(variables[mapping])
    return None if crs is None else FoundCrs(_shortened(crs.title), crs.code, mapping)


def _roles(variables: Mapping[str, PlannedVariable]) -> defaultdict[str, list[str]]:
    """Return descriptions of the roles that variables have for others, by the variables' names."""
    roles: defaultdict[str, list[str]] = defaultdict(list)
    for name, variable in variables.items():
        for key in BOUNDARIES:
            for bounds in _names(variable, key):
                roles[bounds].append(f"cell boundaries of {name!r}")
        terms = str(variable.get("formula_terms") or "").split()
        for term, word in zip(terms[::2], terms[1::2], strict=False):
            roles[word].append(f"term {term.rstrip(':')!r} of the formula of {name!r}")
    for name in {name for variable in variables.values() for name in _mappings(variable)}:
        if name in variables and (crs := _written_crs(variables[name])) is not None:
            roles[name].append(f"CRS {_shortened(crs.title)}")
    return roles


def _replaced(
    plan: GroupPlan, variables: Mapping[str, PlannedVariable], tree: Tree
) -> defaultdict[str, dict[str, None]]:
    """Return descriptions of the declarations that a group's own variables override, by the variables' names."""
    replaced: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for declaration in plan.replaced:
        coordinate, array = declaration.coordinate, declaration.referrer.name
        declared = _described(coordinate.source)
        if isinstance(coordinate.source, Stored):
            declared = str(_place(tree, coordinate.source.node))
        text = f"overrides the declaration of {array!r}: {declared}"
        if declaration.outcome == "left out":
            text = f"leaves out {coordinate.name!r}, which {array!r} declares for the same axis: {declared}"
        replaced[declaration.variable][text] = None
    for reading in plan.reading.arrays:
        overruled, crs = reading.interpretation.overruled_crs, reading.interpretation.crs
        if overruled is not None and crs is not None and overruled.differs(crs):
            text = f"overrides the declared CRS {_shortened(overruled.title)}"
            for name in _mappings(variables[reading.node.name]):
                replaced[name][text] = None
    return replaced


def _names(variable: PlannedVariable, key: str) -> list[str]:
    """Return the variables that an attribute of a variable names."""
    return names_in({key: variable.get(key)}, key)


def _mappings(variable: PlannedVariable) -> list[str]:
    """Return the names of a variable's grid mapping variables."""
    return mappings_in({"grid_mapping": variable.get("grid_mapping")})


def _written_crs(mapping: PlannedVariable) -> Crs | None:
    """Return the CRS in the attributes of a grid mapping variable, understood or not."""
    return next(crs_in({key: mapping.get(key) for key in CRS_ATTRIBUTES}, CRS_ATTRIBUTES), None)


def _declared_times(variable: PlannedVariable) -> str:
    """Return a description of the times that other arrays declare an array of the group to be, or ""."""
    units, calendar = map(variable.declared_decoding.get, TIME_KEYS)
    if not (variable.is_own and is_time(units)):
        return ""
    texts = [_shortened(str(value)) for value in (units, calendar) if value is not None]
    return f"times, declared by the arrays that refer to it: {', '.join(texts)}"


def _units(variable: PlannedVariable) -> str:
    """Return the units of a variable, "" if it has none."""
    units = variable.get("units")
    return _shortened(units) if isinstance(units, str) else ""


def found_references(plans: Iterable[GroupPlan], tree: Tree) -> Iterator[FoundReference]:
    """Yield the references that were followed for the arrays of groups, one for each place."""
    users: dict[tuple[Node, Keys, Followed], dict[str, None]] = {}
    for plan in plans:
        replaced = _own_arrays_instead(plan)
        for reading in plan.reading.arrays:
            for followed in reading.references:
                place = Place(str(followed.written), pointer_to(followed.keys))
                if followed.leads_to is None and (own := replaced.get(place)) is not None:
                    text = f"cannot be resolved; the group's own array {own.name!r} is used"
                    followed = replace(followed, leads_to=own, by_fallback=True, text=text)
                where = followed.written_for(reading.node)
                key = (where, followed.keys, followed.without_place())
                users.setdefault(key, {})[str(reading.node)] = None
    for (node, keys, followed), arrays in users.items():
        end = followed.leads_to
        yield FoundReference(
            _place(tree, node, keys),
            redact(followed.target),
            None if end is None else _place(tree, end, followed.leads_to_keys),
            followed.by_fallback,
            presentable(followed.text),
            tuple(arrays),
        )


def _own_arrays_instead(plan: GroupPlan) -> dict[Place, Node]:
    """Return the arrays of a group that take the place of coordinates that cannot be made, by the place of the error.

    A place with several is left out: its reference is not one to these arrays.
    """
    arrays: defaultdict[Place, set[Node]] = defaultdict(set)
    for declaration in plan.replaced:
        source = declaration.source
        if isinstance(source, Unusable) and declaration.is_replaced:
            arrays[source.finding.place].add(plan.node.child(declaration.variable))
    return {place: nodes.pop() for place, nodes in arrays.items() if len(nodes) == 1}


def _place(tree: Tree, node: Node, keys: Keys = ()) -> Place:
    store = tree.stores[node.store].name if node.store else None
    return Place(str(node), pointer_to(keys), store)


def _shortened(text: str) -> str:
    """Return a text of a store, shortened and without possible secrets."""
    text = redact(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _described(source: Source) -> str:
    """Return a description of a source, "" if it is a stored array used unchanged."""
    match source:
        case Stored(first=True):
            return f"its first element along {source.along[0]!r}"
        case Stored():
            return "transposed" if source.transposed else ""
        case Literal():
            return _first_values(source.values)
        case Offset():
            return _sides(source)
        case Unusable():
            return f"not usable: {presentable(source.finding.text)}"
        case HandlerVariable():
            return "a variable of a convention's handler"
        case Computed(arrays=(_first, *_others) as arrays):
            names: defaultdict[Node, list[str]] = defaultdict(list)
            for array in arrays:
                names[array.node.group].append(array.node.name)
            places = (f"{group} ({', '.join(members)})" for group, members in names.items())
            return f"computed from {', '.join(places)}"
        case Computed():
            return _computation(source.function)
    return "computed"


def _first_values(array: np.ndarray[Any, Any]) -> str:
    """Return the first values of an array, and the last one."""
    values = array.ravel()
    kept = [*values[:_SHOWN_VALUES].tolist(), *values[_SHOWN_VALUES:][-1:].tolist()]
    shown = [redact(str(value))[:_LONGEST_VALUE] for value in kept]
    if len(shown) > _SHOWN_VALUES:
        shown.insert(_SHOWN_VALUES, "...")
    return f"values {', '.join(shown)}" if shown else "no values"


def _computation(function: object) -> str:
    """Return a description of the function of positions that computes a coordinate."""
    match function:
        case Regular(offset=None):
            return f"regular: {_formula(function.first, (function.step, 'i', 0))}"
        case Regular():
            step = (function.step, "i", function.offset or 0)
            return f"affine transform: {_formula(function.first, step)}"
        case RegularBounds(values=line):
            return f"{_formula(line.first, (line.step, 'i', 0))}; {_sides(function)}"
        case RotatedCentres():
            column = (function.column, "column", function.offset)
            row = (function.row, "row", function.offset)
            return f"rotated affine transform: {_formula(function.origin, column, row)}"
    return "computed"


def _sides(bounds: Offset | RegularBounds) -> str:
    return f"from {bounds.below:+} to {bounds.above:+} of each value"


def _formula(first: float, *terms: tuple[float, str, float]) -> str:
    text = str(first)
    for factor, name, offset in terms:
        position = f"({name} + {offset})" if offset else name
        text += f" {'-' if factor < 0 else '+'} {abs(factor)} * {position}"
    return text
