"""What an open finds in a store, told instead of opened: nothing is built, no chunk is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import is_declared, is_declared_of_store
from zarr_xgroup.datasets.interpretation import ArrayReading
from zarr_xgroup.datasets.plan import (
    GroupPlan,
    PlannedVariable,
    without_coordinate,
    without_principal,
)
from zarr_xgroup.datasets.planning import Planning, planning
from zarr_xgroup.findings import Finding, Kind, Place, summed_up
from zarr_xgroup.i18n import _, ngettext
from zarr_xgroup.metadata.cf import names_in
from zarr_xgroup.metadata.nodes import Keys, Node, pointer_to
from zarr_xgroup.metadata.snapshots import Snapshots
from zarr_xgroup.options import OpenOptions
from zarr_xgroup.redaction import presentable, redact
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundCrs,
    FoundGroup,
    FoundProblem,
    FoundReference,
    FoundStore,
)
from zarr_xgroup.report.sources import described, kind_of_source
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.sources import Literal, Stored

#: How many problems of one kind are told.
_MOST_PROBLEMS = 200
#: How much is told of a CRS that is not understood, or of units.
_LONGEST = 80

#: Attributes of a coordinate that name the boundaries of its cells.
_BOUNDS = ("bounds", "climatology")


# What draws an explanation, and rich with it, is imported when it is drawn.


@dataclass(frozen=True, repr=False)
class Explanation(FoundStore):
    """What was found in a store, and what an open makes of it: it prints as text.

    Its members are those of `FoundStore`.
    """

    def __repr__(self) -> str:
        """Return what matters of it as text."""
        from zarr_xgroup.report.terminal import as_text, explanation_lines

        return as_text(lambda console: explanation_lines(console, self, is_text=True))

    def _repr_html_(self) -> str:
        """Return it as notebooks show it: its page, in a frame."""
        from zarr_xgroup.report.page import framed

        return framed(self, repr(self))


def explain(filename_or_obj: Any, **options: Unpack[OpenOptions]) -> Explanation:
    """Return what a store says, and what an open makes of it, without reading a chunk.

    It is what `xarray.open_datatree` with ``engine="xgroup"`` finds: the conventions of each
    array, the references, the coordinates and where these come from, the coordinate reference
    systems, and what the warnings of an open tell (but for what only values show).

    Parameters
    ----------
    filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
        The store: whatever an open takes.
    **options
        Those of an open, see `XGroupBackendEntrypoint.open_dataset`; what concerns values alone
        changes nothing. ``group`` is explained with all groups below it.

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
    with planning(filename_or_obj, options) as planned:
        explanation = _Explaining(planned).explanation()
        planned.library.close()
    return explanation


class _Explaining:
    """What is told of the plans of one open."""

    def __init__(self, planned: Planning) -> None:
        self._planned = planned
        self._plans = planned.plan_tree(with_indexes=True)
        self._snapshots = planned.library.snapshots
        self._snapshot = self._snapshots[0]
        self._by_node = {plan.node: plan for plan in self._plans}
        self._declared: dict[tuple[type[ConventionHandler], Node], bool] = {}

    def explanation(self) -> Explanation:
        """Return all that is told."""
        return Explanation(
            self._snapshot.name,
            f"/{self._planned.group}",
            self._snapshot.zarr_format,
            self._snapshot.is_consolidated(self._planned.group),
            tuple(map(self._group, self._plans)),
            tuple(found_references(self._plans, self._snapshots)),
            tuple(self._problems()),
        )

    # Groups.

    def _group(self, plan: GroupPlan) -> FoundGroup:
        variables = {it.name: it for it in plan.variables if it.name not in self._planned.dropped}
        coordinates = self._coordinates_in(plan, variables)
        of_dims = _names_along({it.dims for it in variables.values()}, coordinates)
        called = {it.name for it in coordinates}
        parents = (self._by_node[it] for it in plan.node.ancestors() if it in self._by_node)
        missing = without_coordinate(plan, self._snapshot, parents)
        having: defaultdict[str, list[str]] = defaultdict(list)
        arrays = []
        for reading in plan.reading.arrays:
            planned = variables[reading.node.name]
            path, is_data = str(reading.node), planned.name not in called
            names = of_dims[planned.dims]
            if not is_data:
                names = tuple([name for name in names if name != planned.name])
            for name in names:
                having[name].append(path)
            arrays.append(
                FoundArray(
                    path,
                    planned.dims,
                    reading.shape,
                    str(reading.template.dtype),
                    not is_data,
                    tuple(self._conventions(reading)),
                    names,
                    missing.get(reading.node, ()) if is_data else (),
                    self._crs(reading, planned, variables) if is_data else None,
                    _declared_times(planned),
                )
            )
        roles = self._roles(variables)
        found = (self._coordinate(it, variables, roles, having) for it in coordinates)
        return FoundGroup(str(plan.node), tuple(arrays), tuple(found))

    def _coordinates_in(
        self, plan: GroupPlan, variables: Mapping[str, PlannedVariable]
    ) -> list[PlannedVariable]:
        """Return the coordinates of a group's Dataset, those of dimensions first."""
        document = self._snapshot.document(plan.node.path)
        attributes = {} if document is None else document.attributes
        named = set(names_in(attributes, "coordinates"))
        for planned in variables.values():
            named.update(self._named(planned, "coordinates"))
        # What is called as a dimension is a coordinate to xarray, however many it has itself.
        named.update(dim for planned in variables.values() for dim in planned.dims)
        found = [it for it in variables.values() if it.is_coordinate or it.name in named]
        return sorted(found, key=lambda it: it.dims != (it.name,))

    def _coordinate(
        self,
        planned: PlannedVariable,
        variables: Mapping[str, PlannedVariable],
        roles: Mapping[str, list[str]],
        having: Mapping[str, list[str]],
    ) -> FoundCoordinate:
        source = planned.source
        bounds = (name for key in _BOUNDS for name in self._named(planned, key))
        said = roles.get(planned.name, [])
        is_crs = isinstance(source, Literal) and not planned.dims and bool(said)
        texts = said if is_crs else [described(source), *said]
        return FoundCoordinate(
            planned.name,
            planned.dims,
            "own" if planned.is_own else kind_of_source(source),
            self._place(source.node) if isinstance(source, Stored) else None,
            "; ".join(text for text in texts if text),
            planned.dims == (planned.name,),
            next((name for name in bounds if name in variables), None),
            tuple(having.get(planned.name, ())),
        )

    def _roles(self, variables: Mapping[str, PlannedVariable]) -> dict[str, list[str]]:
        """Return what variables are to others, in words, by name."""
        roles: defaultdict[str, list[str]] = defaultdict(list)
        for name, planned in variables.items():
            for key in _BOUNDS:
                for bounds in self._named(planned, key):
                    roles[bounds].append(_("cell boundaries of {name!r}").format(name=name))
            terms = str(self._attribute(planned, "formula_terms") or "").split()
            for term, word in zip(terms[::2], terms[1::2], strict=False):
                text = _("term {term!r} of the formula of {name!r}")
                roles[word].append(text.format(term=term.rstrip(":"), name=name))
        for name in {name for it in variables.values() for name in self._named_crs(it)}:
            if (crs := self._crs_of_variable(variables.get(name))) is not None:
                roles[name].append(_("stands for the CRS {name}").format(name=crs.name))
        return roles

    def _attribute(self, planned: PlannedVariable, key: str) -> Any:
        """Return an attribute that a variable will have, or None."""
        if key in planned.rewritten:
            return planned.rewritten[key]
        source = planned.source
        if isinstance(source, Stored):
            own = self._planned.maker.attributes(source.node)
            if key in own:
                return own[key]
        return planned.attributes.get(key)

    def _named(self, planned: PlannedVariable, key: str) -> list[str]:
        return names_in({key: self._attribute(planned, key)}, key)

    # Arrays.

    def _conventions(self, reading: ArrayReading) -> Iterator[FoundConvention]:
        for handler in reading.conventions:
            node = self._declaring(handler, reading.node)
            yield FoundConvention(handler.name, handler.tier, None if node is None else str(node))

    def _declaring(self, handler: type[ConventionHandler], array: Node) -> Node | None:
        """Return the nearest node that declares a convention of an array."""
        for node in (array, *array.ancestors()):
            key = (handler, node)
            if key not in self._declared:
                document = self._snapshot.document(node.path)
                attributes: Mapping[str, Any] = {} if document is None else document.attributes
                of_store = not node.path and is_declared_of_store(handler, attributes)
                self._declared[key] = of_store or is_declared(handler, attributes)
            if self._declared[key]:
                return node
        return None

    def _crs(
        self,
        reading: ArrayReading,
        planned: PlannedVariable,
        variables: Mapping[str, PlannedVariable],
    ) -> FoundCrs | None:
        """Return the CRS of an array of data, and the variable that stands for it."""
        name = next((it for it in self._named_crs(planned) if it in variables), None)
        crs = reading.interpretation.crs
        if crs is not None:
            return _found_crs(crs, name)
        return None if name is None else self._crs_of_variable(variables[name])

    def _named_crs(self, planned: PlannedVariable) -> list[str]:
        """Return the names of the CRS variables of a variable."""
        names = self._named(planned, "grid_mapping")
        roles = [name.removesuffix(":") for name in names if name.endswith(":")]
        return roles or names[:1]

    def _crs_of_variable(self, planned: PlannedVariable | None) -> FoundCrs | None:
        """Return the CRS that a CF grid mapping variable says."""
        if planned is None:
            return None
        for key in ("crs_wkt", "spatial_ref", "grid_mapping_name"):
            if isinstance(text := self._attribute(planned, key), str):
                return _found_crs(Crs(key, text), planned.name)
        return None

    # References and problems.

    def _problems(self) -> Iterator[FoundProblem]:
        found: list[Finding] = list(self._planned.library.findings)
        for plan in self._plans:
            found.extend(plan.findings)
        assumed = self._planned.assumed
        found.extend(without_principal(self._plans, self._snapshot, assumed=assumed, is_tree=True))
        kinds: defaultdict[Kind | None, list[Finding]] = defaultdict(list)
        for finding in summed_up(found):
            kinds[finding.kind].append(finding)
        for same in kinds.values():
            yield from map(self._problem, _limited(same))

    def _problem(self, finding: Finding) -> FoundProblem:
        kind = "" if finding.kind is None else finding.kind.value
        return FoundProblem(kind, finding.in_full, finding.place, finding.arrays, finding.lost)

    def _place(self, node: Node, keys: Keys = (), pointer: str = "") -> Place:
        return _place(self._snapshots, node, pointer or pointer_to(keys))


def _declared_times(planned: PlannedVariable) -> str:
    """Return in words which times an array of the group is, if others declare it; "" if not."""
    declared = [planned.attributes.get(key) for key in ("units", "calendar")]
    if not (planned.is_own and planned.is_time and declared[0]):
        return ""
    text = _("times, as the arrays that refer to it declare: {units}")
    return text.format(units=", ".join(_shortened(str(it)) for it in declared if it is not None))


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


def found_references(plans: Iterable[GroupPlan], snapshots: Snapshots) -> Iterator[FoundReference]:
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
            end = _place(snapshots, it.leads_to, pointer_to(it.leads_to_keys))
        yield FoundReference(
            _place(snapshots, node, pointer_to(keys)),
            redact(it.target),
            end,
            it.by_fallback,
            presentable(it.text),
            tuple(arrays),
        )


def _place(snapshots: Snapshots, node: Node, pointer: str) -> Place:
    store = snapshots[node.store].name if node.store else None
    return Place(str(node), pointer, store)


def _found_crs(crs: Crs, variable: str | None) -> FoundCrs:
    return FoundCrs(_shortened(crs.title), crs.code, variable)


def _shortened(text: str) -> str:
    """Return what a store says without what may be secret, and not too much of it."""
    text = redact(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _limited(same: list[Finding]) -> Iterable[Finding]:
    """Return the findings of one kind, what is too many of them as one."""
    if len(same) <= _MOST_PROBLEMS:
        return same
    kept, rest = same[: _MOST_PROBLEMS - 1], same[_MOST_PROBLEMS - 1 :]
    text = ngettext(
        "{count} more of this kind. The first: {text}",
        "{count} more of this kind. The first: {text}",
        len(rest),
    ).format(count=len(rest), text=rest[0].in_full)
    arrays = tuple(dict.fromkeys(path for finding in rest for path in finding.arrays))
    return [*kept, replace(rest[0], sentence=text, arrays=arrays, lost="")]
