"""Datasets of planned groups: variables made, with what was fetched of them, each decoded by itself."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import xarray as xr

from zarr_xgroup._compat import dataset_of
from zarr_xgroup.datasets.decode import (
    Decoded,
    Decoder,
    give_units_to_boundaries,
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
from zarr_xgroup.storage.library import Library
from zarr_xgroup.variables.lazy import ends_fetched, fetched, lazy_variable
from zarr_xgroup.variables.making import MOST_OWN_VALUES, MOST_VALUES, Maker, chunk_size
from zarr_xgroup.variables.sources import HandlerVariable, Stored
from zarr_xgroup.variables.stored import Template

if TYPE_CHECKING:
    from zarr_xgroup.datasets.planning import Planning


class Builder:
    """Makes the Datasets of planned groups, the plans of one open.

    Whatever xarray is about to read of them, one thing after the other, is fetched at once: dimension
    coordinates for its indexes, and the first and the last value of times, to find out how they decode.
    Over a network each of these reads is a round trip. Each array is read once however many groups have it.

    xarray would build its default indexes afterwards: here it is done once for coordinates that are
    the same in many groups, as they are decoded once.
    """

    def __init__(
        self, plans: Collection[GroupPlan], planning: Planning, *, with_indexes: bool
    ) -> None:
        self._maker = planning.maker
        self._dropped = planning.dropped
        self._decode_times = planning.decoding.get("decode_times", True)
        self._with_indexes = with_indexes
        self._decoder = Decoder(planning.decoding, with_indexes=with_indexes)
        self._shared: dict[Hashable, Decoded] = {}
        self._is_single = len(plans) == 1
        variables = (it for plan in plans for it in plan.variables)
        wanted = [(it, whole) for it in variables if (whole := self._whole(it)) is not None]
        self._values = _read_at_once(wanted, self._maker, planning.library)

    def dataset(self, plan: GroupPlan) -> tuple[xr.Dataset, list[Finding]]:
        """Return a group as a Dataset, and what is wrong with variables that are not as asked for.

        What cannot be made, read for an index or decoded in any way is not in it.
        """
        group, findings = plan.node, list[Finding]()
        # Boundaries are decoded as what names them.
        named = {
            name for it in plan.variables for text in it.rewritten.values() for name in text.split()
        }
        decoded: dict[str, Decoded] = {}
        made: dict[str, tuple[PlannedVariable, xr.Variable, Hashable]] = {}
        for planned in plan.variables:
            name = planned.name
            findings += self._unread(group, planned)
            if self._is_lost(planned):
                continue
            key = None if self._is_single or name in named else _key(planned)
            if key is not None and key in self._shared:
                decoded[name] = self._shared[key].copy()
                continue
            try:
                with containing():
                    made[name] = planned, self._made(planned), key
            except XGroupError as error:
                findings.append(left_out(group.child(name), error))

        variables = {name: it.variable for name, it in decoded.items()}
        variables |= {name: variable for name, (_planned, variable, _key) in made.items()}
        if self._decode_times:
            give_units_to_boundaries(variables)
        for name, (planned, variable, key) in made.items():
            if name in self._dropped:
                continue
            unread = self._problem_of(planned)
            found, finding = self._decoder.decoded(group, planned, variable, variables, unread)
            if finding is not None and (
                unread is None or not planned.referrer
            ):  # else told already
                findings.append(finding)
            if found is None:
                continue
            if finding is None and key is not None and self._can_be_shared(planned, variable):
                self._shared[key] = found
                found = found.copy()
            decoded[name] = found
        return self._assembled(plan, decoded, findings), findings

    def _whole(self, planned: PlannedVariable) -> bool | None:
        """Return whether xarray will read all of a variable, or its ends; None if nothing."""
        if planned.name in self._dropped or planned.stored is None:
            return None
        if self._with_indexes and planned.dims == (planned.name,):
            return True
        times = self._decode_times
        is_wanted = times.get(planned.name, True) if isinstance(times, Mapping) else times
        return False if is_wanted is not False and planned.is_time else None

    def _made(self, planned: PlannedVariable) -> xr.Variable:
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

    def _is_lost(self, planned: PlannedVariable) -> bool:
        """Tell whether all values of a variable have to be read, and cannot be."""
        return bool(self._whole(planned)) and self._problem_of(planned) is not None

    def _problem_of(self, planned: PlannedVariable) -> XGroupStoreError | None:
        """Return why what has to be read of a variable cannot be, None if it can."""
        found = self._found(planned)
        return found if isinstance(found, XGroupStoreError) else None

    def _unread(self, group: Node, planned: PlannedVariable) -> Iterator[Finding]:
        """Yield what is said of a coordinate that xarray cannot index, or of times left undecoded."""
        problem = self._problem_of(planned)
        if problem is not None and planned.referrer:
            lost = coordinate_named(planned.name)
            if not self._is_lost(planned):
                lost = _("the decoded times of {name!r}").format(name=planned.name)
            users = map(group.child, dict.fromkeys(planned.users))
            yield from (report(Topic.PROBLEM, user, problem, cost=lost) for user in users)
        elif problem is not None and self._is_lost(planned):
            yield left_out(group.child(planned.name), problem)

    def _can_be_shared(self, planned: PlannedVariable, undecoded: xr.Variable) -> bool:
        """Tell whether how a variable decodes does not depend on others of its group."""
        is_bounds_of_times = planned.is_time and "units" not in undecoded.attrs
        return (
            undecoded.attrs.keys().isdisjoint(REFERRING)
            and not is_bounds_of_times
            and not self._decoder.relates_all
            and undecoded.dtype.kind != "S"
        )

    def _assembled(
        self, plan: GroupPlan, decoded: Mapping[str, Decoded], findings: list[Finding]
    ) -> xr.Dataset:
        """Return a Dataset of variables, without those that do not go together with what is before them."""
        attributes: Mapping[str, Any] = {}
        try:
            attributes = self._maker.attributes(plan.node).fresh()
        except XGroupMetadataError as error:
            findings.append(without_attributes(plan.node, error))
        # As with engine zarr: what NCZarr keeps for itself is not shown.
        attributes = {k: it for k, it in attributes.items() if not k.lower().startswith("_nc")}
        attributes, named = self._decoder.of_group(attributes)
        named = named.union(*(it.named for it in decoded.values()))

        def dataset(decoded: Mapping[str, Decoded]) -> xr.Dataset:
            data: dict[Hashable, xr.Variable] = {}
            coordinates: dict[Hashable, xr.Variable] = {}
            for planned in plan.variables:
                name = planned.name
                if (it := decoded.get(name)) is None:
                    continue
                is_index = it.variable.dims == (name,)
                is_coordinate = planned.is_coordinate or is_index or name in named
                (coordinates if is_coordinate else data)[it.name] = it.variable
            indexes = {it.name: it.index for it in decoded.values() if it.index is not None}
            return dataset_of(data, coordinates, indexes, attributes)

        try:
            with containing():
                return dataset(decoded)
        except XGroupError:
            fitting: dict[str, Decoded] = {}
            for planned in plan.variables:
                try:
                    with containing():
                        more = {it: decoded[it] for it in [planned.name] if it in decoded}
                        dataset({**fitting, **more})
                    fitting |= more
                except XGroupError as error:
                    findings.append(left_out_undecoded(plan.node, planned, error))
            return dataset(fitting)

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
        (it, False): library.tree.read_problem(it.store, text.format(node=it)) for it in refused
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


def _key(planned: PlannedVariable) -> Hashable:
    """Return what a coordinate is decoded from, equal in all groups that have it; None if it is not one."""
    if planned.is_own or planned.identity is None:
        return None
    if isinstance(planned.source, HandlerVariable):
        return None  # equal variables of a third party may be described otherwise
    # Numbers of a grid can be the same where its size is not: the source tells.
    attributes = repr(planned.attributes)
    return planned.name, planned.source, planned.dims, attributes, planned.is_time
