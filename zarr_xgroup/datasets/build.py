"""Planned variables made: lazy and undecoded, with what was fetched of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import xarray as xr

from zarr_xgroup.datasets.budget import MOST_OWN_VALUES, MOST_VALUES, chunk_size
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import XGroupMetadataError, XGroupStoreError
from zarr_xgroup.findings import (
    Finding,
    Topic,
    coordinate_named,
    left_out,
    opened_without,
    report,
)
from zarr_xgroup.i18n import _
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
        if self._with_indexes and planned.dims == (planned.name,):
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

    def is_lost(self, planned: PlannedVariable) -> bool:
        """Tell whether all values of a variable have to be read, and cannot be."""
        return bool(self._whole(planned)) and self.problem_of(planned) is not None

    def problem_of(self, planned: PlannedVariable) -> XGroupStoreError | None:
        """Return why what has to be read of a variable cannot be, None if it can."""
        found = self._found(planned)
        return found if isinstance(found, XGroupStoreError) else None

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


def built_group(plan: GroupPlan, builder: Builder) -> BuiltGroup:
    """Return a group with the variables that can be made.

    What has to be read as a whole and cannot be is left out; of other times no value is known.
    """
    attributes, findings = _attributes_of(plan.node, builder)
    kept = {it.name: it for it in plan.variables if not builder.is_lost(it)}
    return BuiltGroup(
        plan.node,
        attributes,
        kept,
        builder.variable,
        {name: error for name, it in kept.items() if (error := builder.problem_of(it))},
        (*_unread(plan, builder), *findings),
    )


def _attributes_of(group: Node, builder: Builder) -> tuple[dict[str, Any], list[Finding]]:
    """Return the attributes of a group, none if they cannot be read, which is told."""
    try:
        return builder.attributes_of(group), []
    except XGroupMetadataError as error:
        return {}, [opened_without(_("attributes"), group, error)]


def _unread(plan: GroupPlan, builder: Builder) -> Iterator[Finding]:
    """Yield the findings of coordinates that xarray cannot index, and of times left undecoded."""
    for it in plan.variables:
        problem = builder.problem_of(it)
        if problem is None:
            continue
        if it.referrer:
            lost = coordinate_named(it.name)
            if not builder.is_lost(it):
                lost = _("the decoded times of {name!r}").format(name=it.name)
            users = map(plan.node.child, dict.fromkeys(it.users))
            yield from (report(Topic.PROBLEM, user, problem, cost=lost) for user in users)
        elif builder.is_lost(it):
            yield left_out(plan.node.child(it.name), problem)
