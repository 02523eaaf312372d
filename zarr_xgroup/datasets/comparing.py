"""What values have a say in, once they are read: whether what is declared beside what stands is the same.

The last place that decides which variables a group has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec
import numpy as np
import xarray as xr
from xarray.conventions import decode_cf_variable

from zarr_xgroup.conventions.model import DeclaredValues
from zarr_xgroup.datasets.build import Builder, BuiltGroup
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, containing
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
from zarr_xgroup.metadata.nodes import Node

#: By how much of a step numbers may differ that were computed and stored in different ways.
_OF_A_STEP = 1e-3


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
