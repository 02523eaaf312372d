"""Decode the variables of a group with xarray, in one call.

xarray raises for the whole group if the attributes of one variable are invalid. Only then is each variable decoded
alone. The invalid one is left undecoded, as far as necessary, and reported.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
import numpy as np
import xarray as xr
from msgspec.structs import replace
from xarray.conventions import decode_cf_variables
from xarray.indexes import PandasIndex

from zarr_xgroup.conventions.units import is_regular_epoch, problems_of_time_units
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupStoreError,
    after_place,
    containing,
)
from zarr_xgroup.findings import Finding, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import DECODED_BY, REFERRING, STRING_ATTRIBUTES
from zarr_xgroup.metadata.documents import copy_of
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.options import DecodingOptions
from zarr_xgroup.storage.failures import is_of_reading
from zarr_xgroup.variables.fillvalues import FILL
from zarr_xgroup.variables.sources import Computed, Literal, Offset

_Coder: TypeAlias = typing.Literal[
    "decode_times", "decode_timedelta", "mask_and_scale", "concat_characters"
]

#: The coders to switch off for a variable that cannot be decoded, in steps.
_STEPS: tuple[tuple[_Coder, ...], ...] = (
    (),
    ("decode_times", "decode_timedelta"),
    ("decode_times", "decode_timedelta", "mask_and_scale", "concat_characters"),
)

#: xarray writes a variable with the name None under this name, and reads it as None again.
_NAMELESS = "__values__"

#: Kinds of numeric NumPy types.
_NUMBERS = "iufc"

#: The length of a decoding trial along the first dimension.
_TRIAL_SIZE = 2

#: Attributes of packed numbers.
_PACKING = ("scale_factor", "add_offset")

#: Attributes that xarray applies only when values are read.
_APPLIED_LAZILY = DECODED_BY - {"units", "calendar"}


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


class _Remedy(msgspec.Struct, frozen=True):
    """A way to open a variable after an error: without some attributes, or with some coders switched off."""

    #: Attributes that are hidden from xarray, and then kept undecoded.
    set_aside: Mapping[str, Any]
    switched_off: tuple[_Coder, ...] = ()

    def bare(self, variable: xr.Variable) -> xr.Variable:
        """Return a variable without the attributes that are set aside."""
        if not self.set_aside:
            return variable
        bare = variable.copy(deep=False)
        kept = variable.attrs.items()
        bare.attrs = {key: value for key, value in kept if key not in self.set_aside}
        return bare


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
        with the first remedy that works, or left out, with a finding. Attributes of bounds may be changed in place.
        """
        planned = {variable.name: variable for variable in plan.variables}
        stand_ins = _without_attributes(others)
        attributes_before = {name: dict(variable.attrs) for name, variable in undecoded.items()}
        try:
            with containing():
                return self._decode(planned, undecoded, stand_ins, attributes), {}
        except XGroupError:  # raised again, and reported, when the variable is decoded alone
            for name, before in attributes_before.items():
                undecoded[name].attrs = before

        if self._options.get("decode_times", True):
            _give_time_units_to_bounds(undecoded)
        stand_ins |= _without_attributes(undecoded)
        group, findings = self._decode(planned, {}, {}, attributes), dict[str, Finding]()
        for name, variable in undecoded.items():
            if name in self._dropped:
                continue
            needed = _needed_to_decode(variable, stand_ins)
            alone, remedy, problem = self._decoded_alone(plan, planned, name, variable, needed)
            group.variables.update(alone.variables)
            group.coordinates.update(alone.coordinates)
            if problem is not None:
                finding = _remedy_finding(plan.node, planned[name], variable, remedy, problem)
                findings[name] = finding
        return group, findings

    def _decoded_alone(
        self,
        plan: GroupPlan,
        planned: Mapping[str, PlannedVariable],
        name: str,
        variable: xr.Variable,
        needed: Mapping[str, xr.Variable],
    ) -> tuple[DecodedGroup, _Remedy | None, XGroupError | None]:
        """Return one variable decoded with the first remedy that works, the remedy, and the first error.

        The group is empty if no remedy works.

        Raises
        ------
        XGroupStoreError
            If values that xarray needs cannot be read.
        """
        error: XGroupError | None = None
        for remedy in _remedies(variable):
            try:
                with containing():
                    alone = {name: remedy.bare(variable)}
                    group = self._decode(planned, alone, needed, {}, remedy.switched_off)
            except XGroupError as problem:
                if is_of_reading(problem):
                    node = planned[name].stored or plan.node.child(name)
                    text = _("{node} cannot be read: {reason}")
                    raise XGroupStoreError(text.format(node=node, reason=problem)) from problem
                error = error or problem
            else:
                group.variables[name].variable.attrs.update(remedy.set_aside)
                return group, remedy, error
        return DecodedGroup({}, {}, set()), None, error

    def _decode(
        self,
        planned: Mapping[str, PlannedVariable],
        undecoded: Mapping[str, xr.Variable],
        stand_ins: Mapping[str, xr.Variable],
        attributes: Mapping[str, Any],
        switched_off: Sequence[_Coder] = (),
    ) -> DecodedGroup:
        """Return variables decoded together, with stand-ins for other variables. Errors of xarray are not caught."""
        options = self._options | dict.fromkeys(map(str, switched_off), False)

        def decode(variables: Mapping[str, xr.Variable], others: Mapping[str, xr.Variable]) -> Any:
            together = {_key(name): variable for name, variable in {**others, **variables}.items()}
            dropped = [*self._dropped, *(others.keys() - variables.keys())]
            options["drop_variables"] = [_key(name) for name in dropped]
            return decode_cf_variables(together, dict(attributes), **options)

        # Decode a few synthetic values, so that an error is raised now, not when the user reads the variable.
        if trials := dict(_trials(planned, undecoded)):
            with np.errstate(over="ignore", invalid="ignore"):
                for variable in decode(trials, {**stand_ins, **undecoded})[0].values():
                    variable.load()
        variables, attributes, coordinates = decode(undecoded, stand_ins)
        decoded: dict[str, Decoded] = {}
        for key, variable in variables.items():
            name, index = _NAMELESS if key is None else str(key), None
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
        return DecodedGroup(decoded, attributes, coordinates)


def _key(name: str) -> Hashable:
    """Return the name of a variable in xarray."""
    return None if name == _NAMELESS else name


def _without_attributes(variables: Mapping[str, xr.Variable]) -> dict[str, xr.Variable]:
    """Return variables without attributes, as stand-ins that affect the decoding of others only by their existence."""
    return {
        name: xr.Variable(variable.dims, variable._data, fastpath=True)
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


def _remedies(variable: xr.Variable) -> Iterator[_Remedy]:
    """Yield the remedies to try: first none, then from the least loss to the greatest."""
    yield _Remedy({})
    attributes = variable.attrs.items()
    relations = {key: value for key, value in attributes if key in REFERRING}
    not_strings = {
        key: value
        for key, value in attributes
        if key in STRING_ATTRIBUTES and not isinstance(value, str)
    }
    for set_aside in (not_strings, {**not_strings, **relations}):
        # Without its calendar, a time would be decoded to a wrong date, so it stays undecoded.
        for step in _STEPS[1:] if "calendar" in set_aside else _STEPS:
            yield _Remedy(set_aside, step)


def _trials(
    planned: Mapping[str, PlannedVariable], undecoded: Mapping[str, xr.Variable]
) -> Iterator[tuple[str, xr.Variable]]:
    """Yield copies, with a few synthetic values, of variables for which xarray may raise only when values are read.

    This can happen if attributes of a different array are applied to stored strings, booleans or packed numbers,
    or if ``scale_factor`` or ``add_offset`` is not a number.
    """
    for name, variable in undecoded.items():
        plan = planned[name]
        if isinstance(variable._data, np.ndarray):
            continue
        packing = [variable.attrs.get(key, 1) for key in _PACKING]
        are_numbers = all(isinstance(value, int | float) for value in packing)
        is_number = variable.dtype.kind in _NUMBERS
        is_sound = is_number and _APPLIED_LAZILY.isdisjoint(plan.attributes)
        is_declared = plan.declared_decoding or plan.bounds_declared_times
        if not (plan.stored and not are_numbers) and not (is_declared and not is_sound):
            continue
        few = np.zeros((_TRIAL_SIZE, *(1,) * variable.ndim)[: variable.ndim], variable.dtype)
        if few.dtype.kind == "O":
            few.fill("")
        elif few.dtype.kind == "b":
            few.flat[-1:] = True  # in case False is the fill value
        yield name, xr.Variable(variable.dims, few, variable.attrs, variable.encoding)


def why_not_times(attributes: Mapping[str, Any]) -> str:
    """Return why the units and calendar in `attributes` cannot be decoded as times, "" if no reason is known."""
    units, calendar = (attributes.get(key, "") for key in ("units", "calendar"))
    if not (isinstance(units, str) and isinstance(calendar, str) and " since " in units):
        return ""
    reason = next((text for _rule, text in problems_of_time_units(units, calendar)), "")
    return reason or _why_not_epoch(units, calendar)


@lru_cache
def _why_not_epoch(units: str, calendar: str) -> str:
    """Return why the epoch of units cannot be decoded, "" if it can. Unit and calendar are known to be valid.

    An epoch is tried only if its validity depends on the calendar, or only pandas can parse it.
    """
    epoch = units.partition(" since ")[2]
    if is_regular_epoch(epoch):
        return ""
    attributes = {"units": units} | ({"calendar": calendar} if calendar else {})
    try:
        with containing():
            decode_cf_variables({"times": xr.Variable((), 0.0, attributes)}, {})
    except XGroupError:
        text = _("{epoch} is not a date and time that can be decoded in the calendar {calendar!r}")
        return text.format(epoch=json.dumps(epoch), calendar=calendar or "standard")
    return ""


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


def _remedy_finding(
    group: Node,
    planned: PlannedVariable,
    variable: xr.Variable,
    remedy: _Remedy | None,
    error: XGroupError,
) -> Finding:
    """Return the finding that a variable was opened with a remedy, or left out without one, because of an error."""
    if remedy is None:
        text = _("left out, because xarray cannot decode it: {reason}").format(reason=error)
        return _variable_finding(group, planned, text, error)
    attributes, reason = variable.attrs, str(error)
    keys, names = list(remedy.set_aside), ", ".join(map(repr, remedy.set_aside))
    if keys and not remedy.switched_off:
        text = _("opened without {names}: not a string")
        if any(isinstance(value, str) for value in remedy.set_aside.values()):
            text = _("opened without {names}: {reason}")
    elif "mask_and_scale" in remedy.switched_off:
        text = _("left undecoded, because xarray cannot decode it: {reason}")
        keys = [key for key in _PACKING if isinstance(attributes.get(key), str | Mapping)]
        if keys:
            reasons = (_("{key!r} is not a number").format(key=key) for key in keys)
            error = XGroupMetadataError("; ".join(reasons))
            reason = str(error)
    else:
        finding = times_undecoded(group, planned, why_not_times(attributes) or reason)
        return replace(finding, error=error)
    return _variable_finding(group, planned, text.format(names=names, reason=reason), error, keys)
