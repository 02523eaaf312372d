"""Planned variables made: lazy and undecoded, with what was fetched of them.

Once values are read they have a say: whether what is declared beside what stands is the same. That is the
last place that decides which variables a group has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import xarray as xr
from xarray.conventions import decode_cf_variable

from zarr_xgroup.conventions.model import DeclaredValues
from zarr_xgroup.datasets.budget import MOST_OWN_VALUES, MOST_VALUES, chunk_size
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, XGroupStoreError, containing
from zarr_xgroup.findings import (
    Finding,
    Kind,
    Place,
    coordinate_named,
    group_without,
    left_out,
    noted,
    problem_of,
)
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import with_names
from zarr_xgroup.metadata.documents import copy_of
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import read_problem
from zarr_xgroup.storage.library import Library
from zarr_xgroup.variables.lazy import ends_fetched, fetched, lazy_variable
from zarr_xgroup.variables.making import Maker
from zarr_xgroup.variables.sources import Stored
from zarr_xgroup.variables.stored import Template

if TYPE_CHECKING:
    from zarr_xgroup.datasets.planning import Planning

#: By how much of a step numbers may differ that were computed and stored in different ways.
_OF_A_STEP = 1e-3


@dataclass(frozen=True, eq=False)
class BuiltGroup:
    """A group's variables, before they are decoded."""

    node: Node
    attributes: Mapping[str, Any]
    #: What became variables.
    planned: Mapping[str, PlannedVariable]
    #: Makes one of the variables; raises XGroupMetadataError if it cannot be made.
    make: Callable[[PlannedVariable], xr.Variable]
    #: Variables that cannot be read, so that their times are not to be decoded.
    unreadable: Mapping[str, XGroupStoreError] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


class Builder:
    """Makes the variables of planned groups, the plans of one open.

    Whatever xarray is about to read of them, one thing after the other, is fetched at once: dimension
    coordinates for its indexes, and the first and the last value of times, to find out how they decode.
    Over a network each of these reads is a round trip. Each array is read once however many groups have it.
    """

    def __init__(
        self, plans: Iterable[GroupPlan], planning: Planning, *, with_indexes: bool
    ) -> None:
        self._maker = planning.maker
        self._dropped = planning.dropped
        self._decode_times = planning.decoding.get("decode_times", True)
        self._with_indexes = with_indexes
        variables = (it for plan in plans for it in plan.variables)
        wanted = [(it, whole) for it in variables if (whole := self._whole(it)) is not None]
        self._values = _read_at_once(wanted, self._maker, planning.library)

    def _whole(self, planned: PlannedVariable) -> bool | None:
        """Return whether xarray will read all of a variable, or its ends; None if nothing."""
        if planned.name in self._dropped or planned.stored is None:
            return None
        if self._with_indexes and (planned.is_compared or planned.dims == (planned.name,)):
            return True
        times = self._decode_times
        is_wanted = times.get(planned.name, True) if isinstance(times, Mapping) else times
        return False if is_wanted is not False and planned.is_time else None

    def variable(self, planned: PlannedVariable) -> xr.Variable:
        """Return a planned variable, lazy and undecoded."""
        variable = self._maker.variable(planned.source)
        if planned.is_own:
            del variable.encoding["source"]
        if variable.dims != planned.dims:
            names = dict(zip(map(str, variable.dims), planned.dims, strict=True))
            variable.dims = planned.dims
            variable.encoding = renamed_encoding(variable.encoding, names)
        attributes = variable.attrs
        for key, value in planned.attributes.items():
            if key not in attributes:
                attributes[key] = copy_of(value)
        attributes.update(planned.rewritten)
        if self._decode_times:
            for key, value in planned.of_times.items():
                attributes.setdefault(key, copy_of(value))
        if planned.coordinates:
            variable.encoding["coordinates"] = " ".join(planned.coordinates)
        return self._with_values(planned, variable)

    def declared(self, values: DeclaredValues) -> xr.Variable:
        """Return other values that are declared for a coordinate, lazy and undecoded."""
        variable = self._maker.variable(values.coordinate.source)
        variable.attrs = dict(values.coordinate.attributes)
        return variable

    def has_values(self, planned: PlannedVariable) -> bool:
        """Tell whether all values of a variable were fetched."""
        return isinstance(self._found(planned), np.ndarray)

    def is_lost(self, planned: PlannedVariable) -> bool:
        """Tell whether all values of a variable have to be read, and cannot be."""
        return bool(self._whole(planned)) and self.problem_of(planned) is not None

    def problem_of(self, planned: PlannedVariable) -> XGroupStoreError | None:
        """Return why what has to be read of a variable cannot be, None if it can."""
        found = self._found(planned)
        is_needed = not (planned.is_own and planned.is_compared)
        return found if isinstance(found, XGroupStoreError) and is_needed else None

    def attributes_of(self, group: Node) -> dict[str, Any]:
        """Return the attributes of a group, as engine zarr: what NCZarr keeps for itself is not shown."""
        attributes = self._maker.attributes(group).fresh()
        return {key: it for key, it in attributes.items() if not key.lower().startswith("_nc")}

    def _with_values(self, planned: PlannedVariable, variable: xr.Variable) -> xr.Variable:
        found = self._found(planned)
        if found is None or isinstance(found, XGroupStoreError):
            return variable
        if self._whole(planned):
            array = fetched(found, variable.dtype)
        else:
            array = ends_fetched(variable, *found)
        with_values = lazy_variable(array, variable.dims, variable.attrs)
        with_values.encoding = variable.encoding
        return with_values

    def _found(self, planned: PlannedVariable) -> Any:
        """Return what was fetched of a variable, or why it could not be; None if it was not."""
        return self._values.get((planned.stored, self._whole(planned)))


def _read_at_once(
    variables: Iterable[tuple[PlannedVariable, bool]], maker: Maker, library: Library
) -> Mapping[Any, Any]:
    """Return the values of variables by array and whether all are wanted: these, the ends, or the error.

    Of the group's own times xarray may read some itself, one after the other, as with any engine.
    """
    wanted: dict[tuple[Node, bool], Template] = {}
    own_times: set[Node] = set()
    for planned, whole in variables:
        source = planned.source
        if isinstance(source, Stored):
            template = maker.template(source.node, source.along)
            if whole or 0 not in template.shape:
                wanted.setdefault((source.node, whole), template)
            if planned.is_own and not whole:
                own_times.add(source.node)
    lengths = {node: chunk_size(it) for (node, whole), it in wanted.items() if not whole}
    beyond = {node for node, length in lengths.items() if length > MOST_VALUES}
    arrays = {
        (node, whole): template.zarr_array(library.zarr_store(node.store), node.path)
        for (node, whole), template in wanted.items()
        if whole or node not in beyond
    }
    # xarray must not read them either.
    text = _("{node} was not read, its chunks are too long to be read for one value")
    refused = (it for it in beyond if it not in own_times or lengths[it] > MOST_OWN_VALUES)
    problems = {
        (it, False): read_problem(library.snapshots[it.store], text.format(node=it))
        for it in refused
    }
    return {**problems, **library.read_values(arrays)}


def renamed_encoding(encoding: Mapping[Any, Any], names: Mapping[str, str]) -> dict[Any, Any]:
    """Return an encoding whose ``preferred_chunks`` have dimensions renamed.

    xarray divides a variable by these when it is opened with ``chunks``.
    """
    result = dict(encoding)
    chunks = (result.get("preferred_chunks") or {}).items()
    if chunks:
        result["preferred_chunks"] = {names.get(str(dim), dim): size for dim, size in chunks}
    return result


# What values have a say in.


def compared(plan: GroupPlan, builder: Builder) -> BuiltGroup:
    """Return a group with the variables that it has once values have had their say."""
    # 1. What is declared beside the group's own coordinate is left out where it has the same values.
    repeated = dict(_repeated(plan, builder))
    variables = [it for it in plan.variables if it.name not in repeated]
    # 2. What has to be read as a whole and cannot be is left out, of other times no value is known.
    planned = {it.name: it for it in variables if not builder.is_lost(it)}
    # 3. Where other values are declared the own ones stand, and what belongs to the others goes.
    contradictions = list(_contradictions(planned.values(), builder))
    kept = dict(_without_contradicted(planned, contradictions))
    # 4. All of this is told, and that another array has other values under another name.
    attributes, findings = _attributes_of(plan.node, builder)
    return BuiltGroup(
        plan.node,
        attributes,
        {name: _naming(it, repeated) for name, it in kept.items()},
        builder.variable,
        {name: error for name, it in kept.items() if (error := builder.problem_of(it))},
        (
            *_unread(plan.node, variables, builder),
            *filter(None, (it.told_beside for it in planned.values())),
            *_findings_of(contradictions),
            *findings,
        ),
    )


def _attributes_of(group: Node, builder: Builder) -> tuple[dict[str, Any], list[Finding]]:
    """Return the attributes of a group, none if they cannot be read, which is told."""
    try:
        return builder.attributes_of(group), []
    except XGroupMetadataError as error:
        return {}, [group_without(_("attributes"), group, error)]


def _repeated(plan: GroupPlan, builder: Builder) -> Iterator[tuple[str, str]]:
    """Yield declared arrays that have the values of the group's own coordinate, with that."""
    planned = {it.name: it for it in plan.variables}
    for variable in plan.variables:
        if variable.beside:
            own = planned[variable.beside]
            if builder.has_values(own) and builder.has_values(variable):
                with suppress(XGroupMetadataError):  # told when they are made for the Dataset
                    if same_values(builder.variable(own), builder.variable(variable)):
                        yield variable.name, own.name


#: A coordinate of the group, other values that an array declares for it, and that array.
_Contradiction: TypeAlias = tuple[PlannedVariable, DeclaredValues, Node]


def _contradictions(
    planned: Iterable[PlannedVariable], builder: Builder
) -> Iterator[_Contradiction]:
    """Yield the own coordinates for which other values are declared."""
    for own in planned:
        for values, referrer in (
            own.declared_values if own.declared_values and builder.has_values(own) else ()
        ):
            with suppress(XGroupMetadataError):  # told when it is made for the Dataset
                declared = builder.declared(values)
                if not same_values(builder.variable(own), declared, values.tolerance):
                    yield own, values, referrer


def _findings_of(contradictions: Iterable[_Contradiction]) -> Iterator[Finding]:
    """Yield what is to be told of contradictions: of those declared at one place, one finding."""
    declared: defaultdict[tuple[Node, Place], list[str]] = defaultdict(list)
    for own, values, referrer in contradictions:
        if values.place:
            declared[referrer, values.place].append(str(own.stored))
            continue
        message = _(
            "its metadata declare other values of dimension {dim!r} than {own} has; the latter "
            "were used"
        )
        if own.bounds_of:
            message = _(
                "its metadata declare values of dimension {dim!r} to which the boundaries {own} do "
                "not belong; the boundaries were used, and no values"
            )
        message = message.format(dim=own.bounds_of or own.name, own=own.stored)
        yield noted(Kind.CHOICE, message, referrer)
    for (referrer, place), arrays in declared.items():
        message = _(
            "gives other coordinates than {arrays}, which were used: correct it, or remove it if they "
            "are right"
        ).format(arrays=", ".join(arrays))
        yield noted(Kind.CHOICE, message, referrer, place=place)


def _without_contradicted(
    planned: Mapping[str, PlannedVariable], contradictions: Iterable[_Contradiction]
) -> Iterator[tuple[str, PlannedVariable]]:
    """Yield planned variables without what is declared that is not of the group's own values.

    That is boundaries of other values than a coordinate has, and values of other boundaries.
    """
    own = [variable for variable, values, _referrer in contradictions if not values.place]
    contradicted, unbounded = {it.name for it in own}, {it.bounds_of for it in own}
    for name, variable in planned.items():
        if name not in unbounded and variable.bounds_of not in contradicted:
            yield name, _without_bounds(variable) if name in contradicted else variable


def _without_bounds(variable: PlannedVariable) -> PlannedVariable:
    kept = {key: it for key, it in variable.attributes.items() if key != "bounds"}
    return msgspec.structs.replace(variable, attributes=kept)


def _naming(variable: PlannedVariable, names: Mapping[str, str]) -> PlannedVariable:
    """Return a planned variable whose CF attributes name other variables, which replace some."""
    if not names or not variable.rewritten:
        return variable
    rewritten = {key: with_names(key, text, names) for key, text in variable.rewritten.items()}
    return msgspec.structs.replace(variable, rewritten=rewritten)


def _unread(
    group: Node, variables: Iterable[PlannedVariable], builder: Builder
) -> Iterator[Finding]:
    """Yield the findings of coordinates that xarray cannot index, and of times left undecoded."""
    for it in variables:
        problem = builder.problem_of(it)
        if problem is None:
            continue
        if it.referrer is not None:
            lost = coordinate_named(it.name)
            if not builder.is_lost(it):
                lost = _("the decoded times of {name!r}").format(name=it.name)
            yield from (problem_of(user, problem, lost) for user in it.users)
        elif builder.is_lost(it):
            yield left_out(group.child(it.name), problem)


@np.errstate(over="ignore", invalid="ignore")  # what is infinite is another value
def same_values(mine: xr.Variable, theirs: xr.Variable, tolerance: float | None = None) -> bool:
    """Tell whether two one-dimensional variables have the same values once they are decoded.

    Both are undecoded, and of the same length. Numbers may differ by what types and ways of
    computing make of them, far less than the distance from one value to the next, or by a
    tolerance that is larger. What cannot be compared is not the same.
    """
    try:
        with containing():
            return _are_same(mine, theirs, tolerance)
    except XGroupError:
        return False


def _are_same(mine: xr.Variable, theirs: xr.Variable, tolerance: float | None) -> bool:
    one, other = _decoded(mine), _decoded(theirs)
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "iuf" or other.dtype.kind not in "iuf":
        return bool(np.all(one == other))
    allowed = max(_tolerance(one, other), tolerance or 0.0)
    close = np.isclose(one, other, rtol=0.0, atol=allowed, equal_nan=True)
    return bool(close.all())


def _decoded(variable: xr.Variable) -> np.ndarray[Any, Any]:
    try:
        with containing():
            return np.asarray(decode_cf_variable("coordinate", variable).values)
    except XGroupError:  # told when it is decoded for the Dataset
        return np.asarray(variable.values)


def _tolerance(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    steps = np.abs(np.diff(one.astype("float64")))
    steps = steps[np.isfinite(steps) & (steps > 0)]
    of_step = float(steps.min()) * _OF_A_STEP if steps.size else 0.0
    widths = [np.finfo(a.dtype).eps for a in (one, other) if a.dtype.kind == "f"]
    largest = float(np.max(np.abs(one[np.isfinite(one)]), initial=0.0))
    return max(of_step, 4 * largest * max(map(float, widths), default=0.0))
