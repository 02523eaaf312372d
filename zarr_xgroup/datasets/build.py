"""Planned variables made: lazy and undecoded, with what was fetched of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import xarray as xr

from zarr_xgroup.conventions.model import DeclaredValues
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.datasets.prefetch import Reads, Values
from zarr_xgroup.errors import XGroupStoreError
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.documents import copy_of
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.lazy import EndsFetched, FetchedArray, lazy_variable
from zarr_xgroup.variables.making import Maker


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
    """Makes the variables of the groups of one open, with values that were fetched."""

    def __init__(self, maker: Maker, values: Values, reads: Reads) -> None:
        self._maker = maker
        self._values = values
        self._fetched_arrays = frozenset(node for node, _whole in values)
        self._reads = reads

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
        if self._reads.decode_times:
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
        found = self._fetched(planned)
        is_there = found is not None and not isinstance(found, XGroupStoreError)
        return is_there and bool(self._reads.whole(planned))

    def is_lost(self, planned: PlannedVariable) -> bool:
        """Tell whether all values of a variable have to be read, and cannot be."""
        return bool(self._reads.whole(planned)) and self.problem_of(planned) is not None

    def problem_of(self, planned: PlannedVariable) -> XGroupStoreError | None:
        """Return why what has to be read of a variable cannot be, None if it can."""
        found = self._fetched(planned)
        is_needed = not (planned.is_own and planned.is_compared)
        return found if isinstance(found, XGroupStoreError) and is_needed else None

    def attributes_of(self, group: Node) -> dict[str, Any]:
        """Return the attributes of a group, as engine zarr: what NCZarr keeps for itself is not shown."""
        attributes = self._maker.attributes(group).fresh()
        return {key: it for key, it in attributes.items() if not key.lower().startswith("_nc")}

    def _with_values(self, planned: PlannedVariable, variable: xr.Variable) -> xr.Variable:
        found = self._fetched(planned)
        if found is None or isinstance(found, XGroupStoreError):
            return variable
        if self._reads.whole(planned):
            array: Any = FetchedArray(found, variable.dtype)
        else:
            array = EndsFetched(variable, *found)
        fetched = lazy_variable(array, variable.dims, variable.attrs)
        fetched.encoding = variable.encoding
        return fetched

    def _fetched(self, planned: PlannedVariable) -> Any:
        """Return what was fetched of a variable, or why it could not be; None if it was not."""
        array = planned.stored
        if array is None or array not in self._fetched_arrays:
            return None
        whole = self._reads.whole(planned)
        return None if whole is None else self._values.get((array, whole))


def renamed_encoding(encoding: Mapping[Any, Any], names: Mapping[str, str]) -> dict[Any, Any]:
    """Return an encoding whose ``preferred_chunks`` have dimensions renamed.

    xarray divides a variable by these when it is opened with ``chunks``.
    """
    result = dict(encoding)
    chunks = (result.get("preferred_chunks") or {}).items()
    if chunks:
        result["preferred_chunks"] = {names.get(str(dim), dim): size for dim, size in chunks}
    return result
