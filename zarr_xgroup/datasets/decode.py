"""Decode the variables of a group with xarray, in one call.

xarray raises for the whole group if the attributes of one variable are invalid. Only then is each variable decoded
alone. One that cannot be decoded is left as it is stored, with all its attributes, and reported.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import xarray as xr
from msgspec.structs import replace
from xarray.backends import StoreBackendEntrypoint
from xarray.indexes import PandasIndex

from zarr_xgroup.conventions.units import is_bare_unit_of_time, why_not_times
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupStoreError,
    after_place,
    converting_errors,
)
from zarr_xgroup.findings import Finding, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import STRING_ATTRIBUTES
from zarr_xgroup.metadata.documents import copy_of
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.options import DecodingOptions
from zarr_xgroup.resolved import ResolvedZarrStore
from zarr_xgroup.storage.failures import is_of_reading
from zarr_xgroup.variables.fillvalues import FILL
from zarr_xgroup.variables.sources import Computed, Literal, Offset

#: The options that switch off all decoding.
_UNDECODED = dict.fromkeys(
    ("mask_and_scale", "decode_times", "concat_characters", "decode_coords", "decode_timedelta"),
    False,
)

#: xarray writes a variable with the name None under this name, and reads it as None again.
_NAMELESS = "__values__"

#: Kinds of numeric NumPy types.
_NUMBERS = "iufc"

#: Attributes of packed numbers.
_PACKING = ("scale_factor", "add_offset")


class Decoded(msgspec.Struct, frozen=True, eq=False):
    """A decoded variable, and its default index if it is a dimension coordinate."""

    #: Its name in the Dataset.
    name: Hashable
    variable: xr.Variable
    index: xr.Index | None

    def copy(self) -> Decoded:
        """Return an independent copy for a different group."""
        variable, index = self.variable, self.index
        # Before pandas 3, the values of an index are writeable.
        if index is not None and variable.values.flags.writeable:
            index = index.copy(deep=True)
            variable = index.create_variables({self.name: variable})[self.name]
        data: Any = variable._data
        data = data.copy() if isinstance(data, np.ndarray) else data
        attrs, encoding = copy_of(self.variable.attrs), copy_of(self.variable.encoding)
        copied = type(variable)(variable.dims, data, attrs, encoding, fastpath=True)
        return Decoded(self.name, copied, index)


class DecodedGroup(msgspec.Struct, frozen=True, eq=False):
    """The decoded variables of a group, by their names in the plan, and its attributes."""

    variables: dict[str, Decoded]
    attributes: Mapping[str, Any]
    #: The names that attributes make coordinates.
    coordinates: set[Hashable]


class Decoder:
    """Decodes the variables of groups with the decoding options of an open call."""

    def __init__(
        self, options: DecodingOptions, dropped: Collection[str], *, with_indexes: bool
    ) -> None:
        self._options: dict[str, Any] = dict(options)
        self._dropped = dropped
        self._with_indexes = with_indexes

    def decoded(
        self,
        plan: GroupPlan,
        undecoded: Mapping[str, xr.Variable],
        others: Mapping[str, xr.Variable],
        attributes: Mapping[str, Any],
    ) -> tuple[DecodedGroup, dict[str, Finding]]:
        """Return the variables of a group, decoded by xarray in one call; if that raises, each decoded alone.

        `others` are variables of the group that are decoded already. A variable that cannot be decoded alone is decoded
        without attributes that must be strings and are not; if that fails, it is left undecoded. Both are reported.
        Attributes of bounds may be changed in place.
        """
        planned = {variable.name: variable for variable in plan.variables}
        # Without attributes, which xarray would use to decode the others.
        stand_ins = {
            name: xr.Variable(variable.dims, variable._data, fastpath=True)
            for name, variable in others.items()
        }
        if not any(self._wrongly_decoded(planned[name], it) for name, it in undecoded.items()):
            before = {name: dict(variable.attrs) for name, variable in undecoded.items()}
            try:
                with converting_errors():
                    return self._decode(planned, undecoded, stand_ins, attributes), {}
            except XGroupError:  # raised again, and reported, when the variable is decoded alone
                for name, attrs in before.items():
                    undecoded[name].attrs = attrs

        if self._options.get("decode_times", True):
            _give_time_units_to_bounds(undecoded)
        stand_ins = _stand_ins({**others, **undecoded})
        group, findings = self._decode(planned, {}, {}, attributes), dict[str, Finding]()
        for name, variable in undecoded.items():
            if name in self._dropped:
                continue
            needed = _needed_to_decode(variable, stand_ins)
            alone, finding = self._decoded_alone(plan.node, planned[name], variable, needed)
            group.variables.update(alone.variables)
            group.coordinates.update(alone.coordinates)
            if finding is not None:
                findings[name] = finding
        return group, findings

    def _decoded_alone(
        self,
        group: Node,
        planned: PlannedVariable,
        variable: xr.Variable,
        needed: Mapping[str, xr.Variable],
    ) -> tuple[DecodedGroup, Finding | None]:
        """Return one variable decoded as far as possible, and a finding about what is left undecoded.

        Raises
        ------
        XGroupStoreError
            If values that xarray needs cannot be read.
        """
        name, attributes = planned.name, variable.attrs
        not_strings = {
            key: attributes[key]
            for key in STRING_ATTRIBUTES
            if key in attributes and not isinstance(attributes[key], str)
        }
        # Without its calendar, a time would be decoded to a wrong date.
        attempts = [{}, not_strings] if not_strings and "calendar" not in not_strings else [{}]
        wrong, problem = self._wrongly_decoded(planned, variable), None
        for set_aside in attempts if not wrong else ():
            bare = variable.copy(deep=False)
            bare.attrs = {key: attributes[key] for key in attributes if key not in set_aside}
            try:
                with converting_errors():
                    decoded = self._decode({name: planned}, {name: bare}, needed, {})
            except XGroupError as error:
                if is_of_reading(error):
                    node = planned.stored or group.child(name)
                    text = _("{node} cannot be read: {reason}")
                    raise XGroupStoreError(text.format(node=node, reason=error)) from error
                problem = problem or error
            else:
                decoded.variables[name].variable.attrs.update(set_aside)
                if not set_aside:
                    return decoded, None
                text = _("opened without {names}: not a string")
                text = text.format(names=", ".join(map(repr, set_aside)))
                finding = _variable_finding(group, planned, text, problem, list(set_aside))
                return decoded, finding
        decoded = self._decode({name: planned}, {name: variable}, {}, {}, _UNDECODED)
        if not wrong and (reason := why_not_times(attributes)):
            return decoded, replace(times_undecoded(group, planned, reason), error=problem)
        if wrong:
            is_number = variable.dtype.kind in _NUMBERS
            text = _("{key!r} is not a number") if is_number else _("{key!r} is for numbers")
            reasons = (text.format(key=key) for key in wrong)
            problem = XGroupMetadataError("; ".join(reasons))
        text = _("left undecoded, because xarray cannot decode it: {reason}")
        text = text.format(reason=problem)
        return decoded, _variable_finding(group, planned, text, problem, wrong)

    def _wrongly_decoded(self, planned: PlannedVariable, variable: xr.Variable) -> list[str]:
        """Return the names of the attributes with which xarray would raise only when the values are read."""
        is_unpacked, are_times = (
            (value.get(planned.name, True) if isinstance(value, Mapping) else value) is not False
            for value in map(self._options.get, ("mask_and_scale", "decode_times"))
        )
        attributes, wrong = variable.attrs, list[str]()
        if is_unpacked:
            wrong += [key for key in _PACKING if isinstance(attributes.get(key), str | Mapping)]
        if variable.dtype.kind not in _NUMBERS:
            wrong += ["units"] if are_times and planned.bounds_declared_times else []
            for key, value in planned.declared_decoding.items():
                is_time = " since " in str(value) or is_bare_unit_of_time(value)
                if (are_times and is_time) if key == "units" else is_unpacked:
                    wrong.append(key)
        return wrong

    def _decode(
        self,
        planned: Mapping[str, PlannedVariable],
        undecoded: Mapping[str, xr.Variable],
        stand_ins: Mapping[str, xr.Variable],
        attributes: Mapping[str, Any],
        options: Mapping[str, Any] | None = None,
    ) -> DecodedGroup:
        """Return variables decoded together, with stand-ins for other variables. Errors of xarray are not caught."""
        together: Any = {
            _key(name): variable for name, variable in {**stand_ins, **undecoded}.items()
        }
        store: Any = ResolvedZarrStore(together, attributes)
        # A variable that is decoded alone names others as its coordinates, which xarray finds only among its variables.
        unused = stand_ins.keys() - undecoded.keys() if len(undecoded) > 1 else ()
        dropped = [_key(name) for name in (*self._dropped, *unused)]
        options = {**self._options, **(options or {}), "drop_variables": dropped}
        opened = StoreBackendEntrypoint().open_dataset(store, **options)
        decoded: dict[str, Decoded] = {}
        for key, variable in opened.variables.items():
            name, index = _NAMELESS if key is None else str(key), None
            if name not in undecoded:
                continue
            plan = planned[name]
            if isinstance(undecoded[name]._data, np.ndarray) and not plan.is_own:
                variable.load()  # values given by metadata
            if self._with_indexes and variable.dims == (key,):
                if not variable.size:
                    variable.load()  # xarray decodes no timedeltas as seconds, which a lazy variable does not show
                index = PandasIndex.from_variables({key: variable}, options={})
                variable = index.create_variables({key: variable})[key]
            if isinstance(plan.source, Computed | Literal | Offset):
                # Computed coordinates have no missing values (CF 1.12, 2.5.1): xarray must not write _FillValue NaN.
                # Set after decoding, because xarray decodes packed numbers with a fill value as floats.
                variable.encoding.setdefault(FILL, None)
            decoded[name] = Decoded(key, variable, index)
        return DecodedGroup(decoded, opened.attrs, set(opened.coords))


def _key(name: str) -> Hashable:
    """Return the name of a variable in xarray."""
    return None if name == _NAMELESS else name


def _stand_ins(variables: Mapping[str, xr.Variable]) -> dict[str, xr.Variable]:
    """Return zeros for variables, as stand-ins that affect the decoding of others only by their existence."""
    return {
        name: xr.Variable(variable.dims, np.broadcast_to(np.int8(0), variable.shape))
        for name, variable in variables.items()
    }


def _needed_to_decode(
    variable: xr.Variable, others: Mapping[str, xr.Variable]
) -> Mapping[str, xr.Variable]:
    """Return the other variables whose existence xarray checks while it decodes a variable."""
    if variable.dtype == "S1":
        return others  # xarray joins characters along a dimension only if no other variable has it
    texts = (text for text in variable.attrs.values() if isinstance(text, str))
    names = {name for text in texts for name in text.replace(":", " ").split()}
    return {name: others[name] for name in names & others.keys()}


def _give_time_units_to_bounds(variables: Mapping[str, xr.Variable]) -> None:
    """Copy units and calendar of times to bounds without units, in place, as xarray does."""
    for variable in variables.values():
        units, name = variable.attrs.get("units"), variable.attrs.get("bounds")
        if not (isinstance(units, str) and "since" in units and isinstance(name, str)):
            continue
        if name in variables and not why_not_times(variable.attrs):
            for key in ("units", "calendar"):
                if key in variable.attrs:
                    variables[name].attrs.setdefault(key, variable.attrs[key])


def times_undecoded(group: Node, planned: PlannedVariable, reason: str) -> Finding:
    """Return the finding that the times of a variable are left undecoded, for a reason."""
    text = _("opened with undecoded times: {reason}").format(reason=reason)
    return _variable_finding(group, planned, text)


def _variable_finding(
    group: Node,
    planned: PlannedVariable,
    text: str,
    error: XGroupError | None = None,
    keys: Sequence[str] = (),
) -> Finding:
    """Return a finding about a variable of a group, or about the array whose coordinate it is.

    `keys` are the faulty attributes; the place of the finding is the first one.
    """
    if not planned.referrer:
        place = Fragment(group.child(planned.name), ("attributes", *keys[:1]) if keys else (), None)
        return report(Topic.METADATA, place, text, error=error)
    name = _("its coordinate {name!r}").format(name=planned.name)
    user = group.child(planned.referrer)
    return report(Topic.METADATA, user, after_place(name, text), error=error)
