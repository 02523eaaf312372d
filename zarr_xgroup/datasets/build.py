"""Datasets of planned groups: variables are made lazy, some of their values are read at once, each is decoded by itself."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import xarray as xr

from zarr_xgroup._compat import dataset_of
from zarr_xgroup.datasets.decode import (
    Decoded,
    Decoder,
    give_time_units_to_bounds,
    left_out_undecoded,
)
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, XGroupStoreError, containing
from zarr_xgroup.findings import (
    Finding,
    Topic,
    coordinate_named,
    left_out,
    report,
    without_attributes,
)
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import REFERRING
from zarr_xgroup.metadata.documents import copy_of
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.storage.library import Library, Part
from zarr_xgroup.variables.factory import MOST_OWN_VALUES, MOST_VALUES, VariableFactory, chunk_size
from zarr_xgroup.variables.lazy import ends_fetched, fetched, lazy_variable
from zarr_xgroup.variables.sources import HandlerVariable, Stored
from zarr_xgroup.variables.stored import Template

if TYPE_CHECKING:
    from zarr_xgroup.datasets.planning import Planning


class Builder:
    """Makes the Datasets of the planned groups of one open.

    What xarray would read one after the other is read concurrently beforehand: dimension coordinates for
    indexes, and the first and the last value of times, by which xarray chooses their type. Over a network each
    such read is a round trip. Each array is read once, however many groups have it as a coordinate.

    Default indexes are made here, not by xarray afterwards: a coordinate that many groups have is decoded and
    indexed once.
    """

    def __init__(
        self, plans: Collection[GroupPlan], planning: Planning, *, with_indexes: bool
    ) -> None:
        self._factory = planning.factory
        self._dropped = planning.dropped
        self._decode_times = planning.decoding.get("decode_times", True)
        self._with_indexes = with_indexes
        self._decoder = Decoder(planning.decoding, with_indexes=with_indexes)
        # Decoded coordinates that several groups have, by `_decoding_key`.
        self._shared: dict[Hashable, Decoded] = {}
        self._is_single = len(plans) == 1
        read = [
            (planned, part)
            for plan in plans
            for planned in plan.variables
            if (part := self._part_read(planned))
        ]
        self._values = _fetched_values(read, self._factory, planning.library)

    def dataset(self, plan: GroupPlan) -> tuple[xr.Dataset, list[Finding]]:
        """Return the Dataset of a group, and findings about variables that are left out or partly undecoded.

        A variable is left out if it cannot be made, read for its index, or decoded in any way.
        """
        group, findings = plan.node, list[Finding]()
        # 1. Make the variables, or copy those that another group has decoded already. Not those that
        #    attributes name, such as bounds: they are decoded by the attributes of the naming variable.
        named = {
            name
            for planned in plan.variables
            for key, text in planned.rewritten.items()
            if key in REFERRING
            for name in text.split()
        }
        decoded: dict[str, Decoded] = {}
        undecoded: dict[str, xr.Variable] = {}
        unread: dict[str, XGroupStoreError] = {}
        keys: dict[str, Hashable | None] = {}
        for planned in plan.variables:
            name, part = planned.name, self._part_read(planned)
            values = self._values.get((planned.stored, part)) if part else None
            if isinstance(values, XGroupStoreError):
                unread[name] = values
                findings += _unread_findings(group, planned, values, part)
                if part == "all":
                    continue
                values = None
            key = None if self._is_single or name in named else _decoding_key(planned)
            if key is not None and key in self._shared:
                decoded[name] = self._shared[key].copy()
                continue
            try:
                with containing():
                    undecoded[name] = self._undecoded(planned, values, part)
                    is_shared = key is not None and self._can_be_shared(planned, undecoded[name])
                    keys[name] = key if is_shared else None
            except XGroupError as error:
                findings.append(left_out(group.child(name), error))

        # 2. Decode each, with the others at hand that its attributes name.
        variables = {name: found.variable for name, found in decoded.items()} | undecoded
        if self._decode_times:
            give_time_units_to_bounds(undecoded)
        for planned in plan.variables:
            name = planned.name
            if name not in undecoded or name in self._dropped:
                continue
            problem = unread.get(name)
            found, finding = self._decoder.decoded(
                group, planned, undecoded[name], variables, problem
            )
            if finding is not None and not (
                problem and planned.referrer
            ):  # else reported as unread
                findings.append(finding)
            if found is None:
                continue
            key = keys[name]
            if finding is None and key is not None:
                self._shared[key] = found
                found = found.copy()
            decoded[name] = found
        return self._assembled_dataset(plan, decoded, findings), findings

    def _part_read(self, planned: PlannedVariable) -> Part | None:
        """Return which values of a variable xarray will read on opening: all for an index, the ends of times; None for none."""
        if planned.stored is None or planned.name in self._dropped:
            return None
        if self._with_indexes and planned.dims == (planned.name,):
            return "all"
        times = self._decode_times
        is_decoded = times.get(planned.name, True) if isinstance(times, Mapping) else times
        return "ends" if planned.is_time and is_decoded is not False else None

    def _undecoded(self, planned: PlannedVariable, values: Any, part: Part | None) -> xr.Variable:
        """Return a planned variable, lazy and undecoded, with the values that were fetched, if any."""
        variable = self._factory.variable(planned.source)
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
            for key, value in planned.dropped_times.items():
                attributes.setdefault(key, copy_of(value))
        if planned.coordinates:
            variable.encoding["coordinates"] = " ".join(planned.coordinates)
        if values is None:
            return variable
        is_whole = part == "all"
        array = fetched(values, variable.dtype) if is_whole else ends_fetched(variable, *values)
        with_values = lazy_variable(array, variable.dims, attributes)
        with_values.encoding = variable.encoding
        return with_values

    def _can_be_shared(self, planned: PlannedVariable, undecoded: xr.Variable) -> bool:
        """Tell whether a variable decodes alike in all groups: nothing in its decoding depends on other variables."""
        is_bounds_of_times = planned.is_time and "units" not in undecoded.attrs
        return (
            undecoded.attrs.keys().isdisjoint(REFERRING)
            and not is_bounds_of_times
            and not self._decoder.relates_all
            and undecoded.dtype.kind != "S"
        )

    def _assembled_dataset(
        self, plan: GroupPlan, decoded: Mapping[str, Decoded], findings: list[Finding]
    ) -> xr.Dataset:
        """Return the Dataset of decoded variables; those that conflict with variables before them are left out and reported."""
        attributes: Mapping[str, Any] = {}
        try:
            attributes = self._factory.attributes(plan.node).fresh()
        except XGroupMetadataError as error:
            findings.append(without_attributes(plan.node, error))
        # As with engine zarr: attributes that NCZarr keeps for itself are not shown.
        attributes = {
            key: value for key, value in attributes.items() if not key.lower().startswith("_nc")
        }
        attributes, named = self._decoder.group_attributes(attributes)
        named = named.union(*(found.named for found in decoded.values()))

        def dataset(decoded: Mapping[str, Decoded]) -> xr.Dataset:
            """Return the Dataset of some of the variables; xarray raises if these conflict, as by sizes of dimensions."""
            data: dict[Hashable, xr.Variable] = {}
            coordinates: dict[Hashable, xr.Variable] = {}
            for planned in plan.variables:
                name = planned.name
                if (found := decoded.get(name)) is None:
                    continue
                is_index = found.variable.dims == (name,)
                is_coordinate = planned.is_coordinate or is_index or name in named
                (coordinates if is_coordinate else data)[found.name] = found.variable
            indexes = {
                found.name: found.index for found in decoded.values() if found.index is not None
            }
            return dataset_of(data, coordinates, indexes, attributes)

        try:
            with containing():
                return dataset(decoded)
        except XGroupError:
            # Add one variable at a time, to find those that conflict.
            fitting: dict[str, Decoded] = {}
            for planned in plan.variables:
                if planned.name not in decoded:
                    continue
                more = {planned.name: decoded[planned.name]}
                try:
                    with containing():
                        dataset({**fitting, **more})
                    fitting |= more
                except XGroupError as error:
                    findings.append(left_out_undecoded(plan.node, planned, error))
            return dataset(fitting)


def _unread_findings(
    group: Node, planned: PlannedVariable, problem: XGroupStoreError, part: Part | None
) -> Iterator[Finding]:
    """Yield findings that values could not be read: an index coordinate is left out, or times stay undecoded.

    Of a coordinate that references brought, each array that has it is told.
    """
    if planned.referrer:
        lost = coordinate_named(planned.name)
        if part == "ends":
            lost = _("the decoded times of {name!r}").format(name=planned.name)
        for user in dict.fromkeys(planned.users):
            yield report(Topic.PROBLEM, group.child(user), problem, cost=lost)
    elif part == "all":
        yield left_out(group.child(planned.name), problem)


def _fetched_values(
    read: Iterable[tuple[PlannedVariable, Part]], factory: VariableFactory, library: Library
) -> Mapping[Any, Any]:
    """Return, by array and part, the values that xarray will read (all, or both ends) or the error of reading.

    Times in long chunks are not read for two values: an error stands for them. Those of the group itself,
    unless very long, are left to xarray, which reads them as with any engine.
    """
    wanted: dict[tuple[Node, Part], Template] = {}
    own_times: set[Node] = set()
    for planned, part in read:
        source = planned.source
        if isinstance(source, Stored):
            template = factory.template(source.node, source.along)
            if part == "all" or 0 not in template.shape:
                wanted.setdefault((source.node, part), template)
            if planned.is_own and part == "ends":
                own_times.add(source.node)
    arrays: dict[Any, Any] = {}
    problems: dict[Any, Any] = {}
    for (node, part), template in wanted.items():
        length = chunk_size(template)
        if part == "all" or length <= MOST_VALUES:
            array = template.zarr_array(library.zarr_store(node.store), node.path)
            arrays[node, part] = array
        elif (
            node not in own_times or length > MOST_OWN_VALUES
        ):  # an error keeps xarray from reading it, too
            text = _("{node} was not read, its chunks are too long to be read for one value")
            problem = library.tree.read_problem(node.store, text.format(node=node))
            problems[node, part] = problem
    return {**problems, **library.read_values(arrays)}


def renamed_encoding(encoding: Mapping[Any, Any], names: Mapping[str, str]) -> dict[Any, Any]:
    """Return a copy of an encoding with the dimensions of its ``preferred_chunks`` renamed.

    xarray chunks a variable by these when it is opened with ``chunks``.
    """
    result = dict(encoding)
    chunks = (result.get("preferred_chunks") or {}).items()
    if chunks:
        result["preferred_chunks"] = {names.get(str(dim), dim): size for dim, size in chunks}
    return result


def _decoding_key(planned: PlannedVariable) -> Hashable:
    """Return a key that is equal for coordinates of several groups that decode alike; None if it cannot be shared."""
    if planned.is_own or planned.identity is None:
        return None
    if isinstance(planned.source, HandlerVariable):
        return None  # variables of a plug-in may be equal and differ in attributes
    # The identity of a computed coordinate may be equal for another size: the source tells.
    attributes = repr((planned.attributes, planned.declared_decoding))
    return planned.name, planned.source, planned.dims, attributes, planned.is_time
