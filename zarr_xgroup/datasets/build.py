"""Build the Datasets of planned groups: make lazy variables, fetch the values needed on opening, let xarray decode."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from zarr_xgroup._compat import dataset_of
from zarr_xgroup.conventions.units import TIME_KEYS
from zarr_xgroup.datasets.decode import BuiltVariable, Decoder, repeating_index, times_undecoded
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, XGroupStoreError, converting_errors
from zarr_xgroup.findings import (
    Finding,
    Topic,
    coordinate_named,
    left_out,
    new_finding,
    without_attributes,
)
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import REFERRING
from zarr_xgroup.metadata.documents import copy_of
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.options import DecodingOptions
from zarr_xgroup.storage.library import Library, ValuesNeeded
from zarr_xgroup.storage.reading import Reading
from zarr_xgroup.variables.factory import MOST_OWN_VALUES, MOST_VALUES, VariableFactory, chunk_size
from zarr_xgroup.variables.lazy import ends_fetched, fetched, lazy_variable
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Stored
from zarr_xgroup.variables.stored import first_empty_chunk


class Builder:
    """Makes the Datasets of the planned groups of one open call.

    It makes default indexes itself, so that a coordinate of several groups is decoded and indexed only once.
    """

    def __init__(
        self,
        library: Library,
        factory: VariableFactory,
        decoding: DecodingOptions,
        dropped: frozenset[str],
        *,
        with_indexes: bool,
    ) -> None:
        self._factory = factory
        self._library = library
        self._dropped = dropped
        self._decoding = decoding
        self._with_indexes = with_indexes
        self._decoder = Decoder(decoding, dropped, with_indexes=with_indexes)
        # The values that `read` fetched, or the error of reading, by array and part.
        self._values: Mapping[Any, Any] = {}
        # The arrays whose values repeat because chunks are missing.
        self._incomplete: Collection[Node | None] = ()
        # Decoded coordinates of several groups, by `_decoding_keys`. They are copied for each group.
        self._shared: dict[Hashable, BuiltVariable] = {}
        self._shares = False

    def reading(self, plans: Collection[GroupPlan]) -> Reading | None:
        """Return a function that reads the values that xarray needs to open these groups; None if it needs none.

        These are dimension coordinates, for indexes, and the first and the last value of times, from which xarray
        chooses their type. xarray reads them one after the other, and over a network each read is a round trip.
        """
        planned = ((var, self._part_read(var)) for plan in plans for var in plan.variables)
        read = [(variable, part) for variable, part in planned if part]
        arrays = _arrays_read(read, self._factory, self._library)
        # With "all", xarray uses more attributes that name variables than `_decoding_keys` considers.
        self._shares = len(plans) > 1 and self._decoding.get("decode_coords") != "all"

        async def reading() -> None:
            self._values = await self._library.read_values(*arrays)
            self._incomplete = await self._library.missing(_empty_chunks(arrays[0], self._values))

        return reading if arrays[0] else None

    def dataset(self, plan: GroupPlan) -> tuple[xr.Dataset, list[Finding]]:
        """Return the Dataset of a group, and findings about variables that are left out or partly undecoded.

        A variable is left out if it cannot be made, read for its index, or decoded in any way.
        """
        variables, findings = self._variables(plan)
        attributes, problems = self._attributes(plan.node)
        attributes, coordinates = self._decoder.decode(plan.node, variables, attributes)
        for variable in variables:
            likeness, hidden = variable.likeness, variable.hidden_units
            if hidden is not None:
                for name in TIME_KEYS:
                    variable.variable.attrs.pop(name, None)
                variable.variable.attrs.update(hidden)
            if variable.fault is not None:
                findings.append(variable.fault)
            elif hidden is None and variable.is_decoded and likeness:
                self._shared.setdefault(likeness, variable.copy_for(variable.planned))
        return _dataset(variables, attributes, coordinates), [*findings, *problems]

    def _variables(self, plan: GroupPlan) -> tuple[list[BuiltVariable], list[Finding]]:
        """Return the variables of a group, and findings about those that are left out or cannot be decoded.

        They are undecoded, or copies of variables that a different group has decoded already.
        """
        group, variables = plan.node, list[BuiltVariable]()
        findings = list(self._repeating_indexes(plan))
        keys = self._decoding_keys(plan)
        huge = self._huge_times(plan)
        # xarray gives bounds the units and calendar of their times only if it decodes these.
        without_times = {*huge, *(str(times.get("bounds")) for times in huge.values())}
        for planned in plan.variables:
            name, part = planned.name, self._part_read(planned)
            values = self._values.get((planned.stored, part)) if part else None
            if isinstance(values, XGroupStoreError):  # of a foreign store
                for user in dict.fromkeys(planned.users):
                    cost = coordinate_named(name)
                    findings.append(
                        new_finding(Topic.PROBLEM, group.child(user), values, cost=cost)
                    )
                continue
            if (shared := self._shared.get(keys.get(name))) is not None:
                variables.append(shared.copy_for(planned))
                continue
            try:
                with converting_errors():
                    inherits = name not in without_times
                    undecoded = self._undecoded(planned, values, part, inherits=inherits)
            except XGroupError as error:
                findings.append(left_out(group.child(name), error))
                continue
            variable = BuiltVariable(planned, undecoded)
            if undecoded.dtype.kind != "S":  # characters may be joined in only one of the groups
                variable.likeness = keys.get(name)
            if name in huge:
                variable.hidden_units = _hidden_units(undecoded)
                text = _("its chunks are too large to be read for two values")
                remedy = _("write smaller chunks")
                findings.append(times_undecoded(group, planned, text, remedy))
            variables.append(variable)
        return variables, findings

    def _part_read(self, planned: PlannedVariable) -> ValuesNeeded | None:
        """Return the part of a variable that xarray reads on opening: all for an index, the ends of times, or None."""
        if planned.stored is None or planned.name in self._dropped:
            return None
        if self._with_indexes and planned.is_dimension_coordinate:
            return "all"
        times = self._decoding.get("decode_times", True)
        is_decoded = times.get(planned.name, True) if isinstance(times, Mapping) else times
        return "ends" if planned.is_time and is_decoded is not False else None

    def _repeating_indexes(self, plan: GroupPlan) -> Iterator[Finding]:
        """Yield findings about coordinates whose indexes repeat because chunks are missing."""
        for planned in plan.variables:
            if planned.stored in self._incomplete and self._part_read(planned) == "all":
                yield repeating_index(plan.node, planned)

    def _huge_times(self, plan: GroupPlan) -> dict[str, PlannedVariable]:
        """Return the times whose chunks are too large to be read for their first and last value, by name."""
        times = [planned for planned in plan.variables if self._part_read(planned) == "ends"]
        return {planned.name: planned for planned in times if self._has_huge_chunks(planned)}

    def _has_huge_chunks(self, planned: PlannedVariable) -> bool:
        """Return whether the chunks of times are too large to be read for their first and last value.

        xarray reads those of the group's own times unless they are very large, as with any engine.
        """
        most = MOST_OWN_VALUES if planned.is_own else MOST_VALUES
        source = planned.source
        if not isinstance(source, Stored):
            return False
        template = self._factory.template(source.node, source.along)
        return 0 not in template.shape and chunk_size(template) > most

    def _undecoded(
        self, planned: PlannedVariable, values: Any, part: ValuesNeeded | None, *, inherits: bool
    ) -> xr.Variable:
        """Return a planned variable, lazy and undecoded, with the fetched values, if any.

        As in xarray, bounds get the units and calendar of their times, if these are decoded (`inherits`).
        """
        variable = self._factory.variable(planned.source)
        if planned.is_own:
            del variable.encoding["source"]
        if variable.dims != planned.dims:
            names = dict(zip(map(str, variable.dims), planned.dims, strict=True))
            variable.dims = planned.dims
            variable.encoding = renamed_encoding(variable.encoding, names)
        attributes = variable.attrs
        for key in planned.removed:
            attributes.pop(key, None)
        for key, value in planned.attributes.items():
            if key not in attributes:
                attributes[key] = copy_of(value)
        attributes.update(planned.rewritten)
        if inherits and self._decoding.get("decode_times", True):
            for key, value in planned.inherited.items():
                attributes.setdefault(key, copy_of(value))
        if planned.coordinates:
            # xarray moves the attribute to the encoding when it decodes it.
            is_decoded = self._decoding.get("decode_coords", True) is not False
            named = variable.encoding if is_decoded else attributes
            named["coordinates"] = " ".join(planned.coordinates)
        if values is None:
            return variable
        is_whole = part == "all"
        array = fetched(values, variable.dtype) if is_whole else ends_fetched(variable, *values)
        with_values = lazy_variable(array, variable.dims, attributes)
        with_values.encoding = variable.encoding
        return with_values

    def _attributes(self, group: Node) -> tuple[Mapping[str, Any], list[Finding]]:
        """Return the attributes of a group, or {} and a finding if they cannot be used."""
        try:
            attributes = self._factory.attributes(group).copied()
        except XGroupMetadataError as error:
            return {}, [without_attributes(group, error)]
        # As with engine zarr, internal attributes of NCZarr are left out.
        items = attributes.items()
        return {key: value for key, value in items if not key.lower().startswith("_nc")}, []

    def _decoding_keys(self, plan: GroupPlan) -> dict[str, Hashable]:
        """Return the coordinates whose decoding depends on no other variable: their keys by name.

        Coordinates with equal keys, in any groups, are decoded to the same values.
        """
        if not self._shares:
            return {}
        # A variable that attributes name, such as bounds, is decoded with attributes of the variable that names it.
        rewritten = (pair for planned in plan.variables for pair in planned.rewritten.items())
        named = {name for key, text in rewritten if key in REFERRING for name in text.split()}
        keys: dict[str, Hashable] = {}
        for planned in plan.variables:
            if planned.is_own or planned.identity is None or planned.name in named:
                continue
            if any(map(planned.has, REFERRING)):
                continue
            if isinstance(planned.source, HandlerVariable):
                continue  # equal variables of a plug-in may have different attributes
            if planned.inherited:
                continue
            attributes = repr((planned.attributes, planned.declared_decoding))
            # Equal sources may have different chunks for dask.
            chunks = planned.source.chunks if isinstance(planned.source, Computed) else ()
            place = planned.name, planned.source, chunks, planned.dims
            keys[planned.name] = *place, attributes
        return keys


def _dataset(
    variables: Iterable[BuiltVariable], attributes: Mapping[str, Any], coordinates: set[Hashable]
) -> xr.Dataset:
    """Return the Dataset of the decoded variables of a group. Attributes make the variables in `coordinates` coordinates."""
    data: dict[Hashable, xr.Variable] = {}
    attached: dict[Hashable, xr.Variable] = {}
    indexes: dict[Hashable, xr.Index] = {}
    for built in variables:
        if not built.is_decoded:
            continue
        is_axis = built.variable.dims == (built.name,)
        is_coordinate = is_axis or built.planned.is_coordinate or built.name in coordinates
        (attached if is_coordinate else data)[built.key] = built.variable
        if built.index is not None:
            indexes[built.key] = built.index
    return dataset_of(data, attached, indexes, attributes)


def _arrays_read(
    read: Iterable[tuple[PlannedVariable, ValuesNeeded]], factory: VariableFactory, library: Library
) -> tuple[dict[tuple[Node, ValuesNeeded], Any], dict[tuple[Node, ValuesNeeded], str]]:
    """Return the arrays whose values xarray reads on opening, and the names of their variables, by array and part."""
    arrays: dict[tuple[Node, ValuesNeeded], Any] = {}
    names: dict[tuple[Node, ValuesNeeded], str] = {}
    for planned, part in read:
        source = planned.source
        if isinstance(source, Stored):
            key, template = (source.node, part), factory.template(source.node, source.along)
            is_small = part == "all" or chunk_size(template) <= MOST_VALUES
            if key not in arrays and is_small and (part == "all" or 0 not in template.shape):
                names[key] = planned.name
                arrays[key] = template.zarr_array(
                    library.zarr_store(source.node.store), source.node.path
                )
    return arrays, names


def _empty_chunks(
    arrays: Mapping[tuple[Node, ValuesNeeded], Any], values: Mapping[Any, Any]
) -> dict[Node, str]:
    """Return the keys of chunks that seem to be missing, by the arrays whose indexes would repeat for them."""
    empty = {
        node: first_empty_chunk(values[node, part], array)
        for (node, part), array in arrays.items()
        if part == "all" and isinstance(values[node, part], np.ndarray)
    }
    return {node: chunk for node, chunk in empty.items() if chunk is not None}


def _hidden_units(variable: xr.Variable) -> dict[str, Any]:
    """Replace the units and the calendar of times, so that xarray does not decode them; return both."""
    times = {key: variable.attrs.pop(key) for key in TIME_KEYS if key in variable.attrs}
    variable.attrs["units"] = (
        ""  # otherwise xarray adds the units of the times that this variable bounds
    )
    return times


def renamed_encoding(encoding: Mapping[Any, Any], names: Mapping[str, str]) -> dict[Any, Any]:
    """Return a copy of an encoding with the dimensions of its ``preferred_chunks`` (for option ``chunks``) renamed."""
    result = dict(encoding)
    chunks = (result.get("preferred_chunks") or {}).items()
    if chunks:
        result["preferred_chunks"] = {names.get(str(dim), dim): size for dim, size in chunks}
    return result
