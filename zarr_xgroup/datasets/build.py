"""Planned variables made: lazy and undecoded, with what was fetched of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
import xarray as xr

from zarr_xgroup.conventions.model import Claim
from zarr_xgroup.datasets.comparing import same_values
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.datasets.prefetch import Values, Wishes
from zarr_xgroup.datasets.renaming import renamed_encoding
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, XGroupStoreError
from zarr_xgroup.findings import (
    Finding,
    Kind,
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
from zarr_xgroup.variables.lazy import EndsFetched, FetchedArray, lazy_variable
from zarr_xgroup.variables.making import Maker


@dataclass(frozen=True, eq=False)
class BuiltGroup:
    """A group's variables, before they are decoded.

    Attributes
    ----------
    node : Node
        The group.
    attributes : mapping
        Those of the group.
    planned : mapping of str to PlannedVariable
        What became variables, by name.
    make : callable
        Makes one of the variables; raises XGroupMetadataError if it cannot be made.
    unreadable : mapping of str to XGroupStoreError
        Variables that cannot be read, so that their times are not to be decoded.
    findings : tuple of Finding
        What could not be read.
    """

    node: Node
    attributes: Mapping[str, Any]
    planned: Mapping[str, PlannedVariable]
    make: Callable[[PlannedVariable], xr.Variable]
    unreadable: Mapping[str, XGroupStoreError] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


class Builder:
    """Makes the variables of the groups of one open.

    Parameters
    ----------
    maker : Maker
        Makes variables of sources.
    values : mapping
        What was fetched.
    wishes : Wishes
        What for.
    """

    def __init__(self, maker: Maker, values: Values, wishes: Wishes) -> None:
        self._maker = maker
        self._values = values
        self._fetched_arrays = frozenset(node for node, _whole in values)
        self._wishes = wishes

    def built(self, plan: GroupPlan) -> BuiltGroup:
        """Return a group without the variables that cannot be read and have to be."""
        planned: dict[str, PlannedVariable] = {}
        unreadable: dict[str, XGroupStoreError] = {}
        findings: list[Finding] = []
        repeated: dict[str, str] = {}
        for variable in plan.variables:
            if variable.rival is not None and self._is_repeated(variable, planned):
                repeated[variable.name] = variable.rival.own
                continue
            problem = self._fetched(variable)
            is_needed = not (variable.is_own and variable.is_compared)
            if isinstance(problem, XGroupStoreError) and is_needed:
                is_whole = bool(self._wishes.whole(variable))
                findings.extend(_unread(plan.node, variable, problem, is_whole=is_whole))
                if is_whole:
                    continue
                unreadable[variable.name] = problem
            if variable.rival is not None:
                findings.append(variable.rival.finding)
            planned[variable.name] = variable
        contradictions = list(self._contradictions(planned.values()))
        findings.extend(_told(contradictions))
        declared = {it.own.name for it in contradictions if not it.claim.place}
        planned = dict(_without_contradicted(planned, declared))
        if repeated:
            planned = {name: _naming(it, repeated) for name, it in planned.items()}
        attributes: dict[str, Any] = {}
        try:
            attributes = self._group_attributes(plan.node)
        except XGroupMetadataError as error:
            findings.append(group_without(_("attributes"), plan.node, error))
        return BuiltGroup(
            plan.node, attributes, planned, self.variable, unreadable, tuple(findings)
        )

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
        if self._wishes.decode_times:
            for key, value in planned.of_times.items():
                attributes.setdefault(key, copy_of(value))
        if planned.coordinates:
            variable.encoding["coordinates"] = " ".join(planned.coordinates)
        return self._with_values(planned, variable)

    def _is_repeated(self, rival: PlannedVariable, planned: Mapping[str, PlannedVariable]) -> bool:
        """Tell whether a declared array has the values of the group's own coordinate."""
        own = planned.get(rival.rival.own) if rival.rival is not None else None
        if own is None or not (self._has_values(own) and self._has_values(rival)):
            return False
        with suppress(XGroupMetadataError):  # told when they are made for the Dataset
            return same_values(self.variable(own), self.variable(rival))
        return False

    def _contradictions(self, planned: Iterable[PlannedVariable]) -> Iterator[_Contradiction]:
        """Yield the own coordinates for which other values are declared."""
        for own in planned:
            for claim, referrer in own.claims if own.claims and self._has_values(own) else ():
                if self._contradicts(own, claim):
                    yield _Contradiction(own, claim, referrer)

    def _contradicts(self, own: PlannedVariable, claim: Claim) -> bool:
        """Tell whether other values are declared than a coordinate has."""
        with suppress(XGroupMetadataError):  # told when it is made for the Dataset
            declared = self._maker.variable(claim.coordinate.source)
            declared.attrs = dict(claim.coordinate.attributes)
            return not same_values(self.variable(own), declared, claim.tolerance)
        return False

    def _has_values(self, planned: PlannedVariable) -> bool:
        """Tell whether all values of a variable were fetched."""
        found = self._fetched(planned)
        is_there = found is not None and not isinstance(found, XGroupStoreError)
        return is_there and bool(self._wishes.whole(planned))

    def _with_values(self, planned: PlannedVariable, variable: xr.Variable) -> xr.Variable:
        found = self._fetched(planned)
        if found is None or isinstance(found, XGroupStoreError):
            return variable
        if self._wishes.whole(planned):
            array: Any = FetchedArray(found, variable.dtype)
        else:
            array = EndsFetched(variable, *found)
        fetched = lazy_variable(array, variable.dims, variable.attrs)
        fetched.encoding = variable.encoding
        return fetched

    def _fetched(self, planned: PlannedVariable) -> Any:
        """Return what was fetched of a variable, or why it could not be; None if it was not."""
        if planned.stored is None or planned.stored not in self._fetched_arrays:
            return None
        whole = self._wishes.whole(planned)
        return None if whole is None else self._values.get((planned.stored, whole))

    def _group_attributes(self, group: Node) -> dict[str, Any]:
        # As engine zarr: what NCZarr keeps for itself is not shown.
        return {
            key: value
            for key, value in self._maker.attributes(group).fresh().items()
            if not key.lower().startswith("_nc")
        }


@dataclass(frozen=True, eq=False)
class _Contradiction:
    """A coordinate of the group, and other values that an array declares for it."""

    own: PlannedVariable
    claim: Claim
    referrer: Node


def _told(contradictions: Iterable[_Contradiction]) -> Iterator[Finding]:
    """Yield what is to be told of contradictions: of those declared at one place, one finding."""
    placed: defaultdict[tuple[Node, str], list[str]] = defaultdict(list)
    for it in contradictions:
        if it.claim.place:
            placed[it.referrer, it.claim.place].append(str(it.own.stored))
            continue
        message = _(
            "its metadata declare other values of dimension {dim!r} than {own} has; the latter "
            "were used"
        )
        if it.own.bounds_of:
            message = _(
                "its metadata declare other values of dimension {dim!r} than {own} are boundaries "
                "of; the latter were used, and no values"
            )
        message = message.format(dim=it.own.bounds_of or it.own.name, own=it.own.stored)
        yield noted(Kind.CHOICE, message, it.referrer)
    for (referrer, place), arrays in placed.items():
        message = _(
            "{place} gives other coordinates than {arrays}; the latter were used: correct the "
            "former, or remove it if they are right"
        ).format(place=place, arrays=", ".join(arrays))
        yield noted(Kind.CHOICE, message, referrer)


def _without_contradicted(
    planned: Mapping[str, PlannedVariable], contradicted: Collection[str]
) -> Iterator[tuple[str, PlannedVariable]]:
    """Yield planned variables without what is declared that is not of the group's own values.

    That is boundaries of other values than a coordinate has, and values of other boundaries.
    """
    own = (planned[name] for name in contradicted)
    unbounded = {variable.bounds_of for variable in own}
    for name, variable in planned.items():
        if name in unbounded or variable.bounds_of in contradicted:
            continue
        if name in contradicted and "bounds" in variable.attributes:
            kept = {key: it for key, it in variable.attributes.items() if key != "bounds"}
            variable = msgspec.structs.replace(variable, attributes=kept)
        yield name, variable


def _naming(variable: PlannedVariable, names: Mapping[str, str]) -> PlannedVariable:
    """Return a planned variable whose CF attributes name other variables, which replace some."""
    if not variable.rewritten:
        return variable
    rewritten = {key: with_names(key, text, names) for key, text in variable.rewritten.items()}
    return msgspec.structs.replace(variable, rewritten=rewritten)


def _unread(
    group: Node, planned: PlannedVariable, problem: XGroupError, *, is_whole: bool
) -> Iterable[Finding]:
    """Return the findings of a coordinate that xarray cannot index, or of times left undecoded."""
    if planned.referrer is not None:
        lost = coordinate_named(planned.name)
        if not is_whole:
            lost = _("the decoded times of {name!r}").format(name=planned.name)
        return [problem_of(user, problem, lost) for user in planned.users]
    return [left_out(group.child(planned.name), problem)] if is_whole else []
