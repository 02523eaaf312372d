"""Decode variables by xarray, each by itself: one that xarray cannot decode spoils no other.

xarray raises for the whole Dataset when the attributes of one variable are invalid. Here only that variable
is left undecoded, as far as needed, and a finding says so.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from xarray.conventions import decode_cf_variables
from xarray.indexes import PandasIndex

from zarr_xgroup.conventions.units import is_regular_epoch, problems_of_time_units
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, after_place, containing
from zarr_xgroup.findings import Finding, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import DECODED_BY, REFERRING, STRING_ATTRIBUTES
from zarr_xgroup.metadata.documents import copy_of
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.options import DecodingOptions
from zarr_xgroup.variables.fillvalues import FILL
from zarr_xgroup.variables.sources import Computed, Literal, Offset

_Coder: TypeAlias = typing.Literal[
    "decode_times", "decode_timedelta", "mask_and_scale", "concat_characters"
]

#: The coders switched off, one step after the other, for a variable that cannot be decoded.
_STEPS: tuple[tuple[_Coder, ...], ...] = (
    (),
    ("decode_times", "decode_timedelta"),
    ("decode_times", "decode_timedelta", "mask_and_scale", "concat_characters"),
)

#: xarray writes a variable with the name None under this name, and reads it as None again.
_NAMELESS = "__values__"

#: The kinds of numpy's types that are numbers.
_NUMBERS = "iufc"

#: How many values a trial of decoding has along the first dimension.
_TRIAL_SIZE = 2

#: Attributes by which numbers are packed.
_PACKING = ("scale_factor", "add_offset")

#: Attributes that xarray applies only when values are read; units of time it applies at once.
_APPLIED_LAZILY = DECODED_BY - {"units", "calendar"}


@dataclass(frozen=True, eq=False)
class Decoded:
    """A variable as xarray decodes it, with its default index.

    Attributes
    ----------
    name : hashable
        Its name in the Dataset.
    variable : xarray.Variable
        The variable.
    index : xarray.Index, optional
        The index of a dimension coordinate.
    named : collection of hashable
        The variables that its attributes make coordinates.
    """

    name: Hashable
    variable: xr.Variable
    index: xr.Index | None = None
    named: Collection[Hashable] = ()

    def copy(self) -> Decoded:
        """Return a copy for another group: a change of one does not show in the other."""
        variable, index = self.variable, self.index
        if (
            index is not None and variable.values.flags.writeable
        ):  # values of an index are, before pandas 3
            index = index.copy(deep=True)
            variable = index.create_variables({self.name: variable})[self.name]
        data = variable._data
        data = data.copy() if isinstance(data, np.ndarray) else data
        attrs, encoding = copy_of(self.variable.attrs), copy_of(self.variable.encoding)
        copied = type(variable)(variable.dims, data, attrs, encoding, fastpath=True)
        return Decoded(self.name, copied, index, self.named)


@dataclass(frozen=True)
class _Remedy:
    """A way to open a variable after all: decoded without some attributes, with some coders switched off."""

    #: Attributes that xarray does not see; the variable gets them back undecoded.
    set_aside: Mapping[str, Any]
    switched_off: tuple[_Coder, ...] = ()


class Decoder:
    """Decodes variables as the options of an open say.

    Attributes
    ----------
    relates_all : bool
        Whether ``decode_coords="all"`` is set: variables that any CF attribute names become coordinates.
    """

    def __init__(self, options: DecodingOptions, *, with_indexes: bool) -> None:
        self._options: dict[str, Any] = {**options, "drop_variables": None}
        self._with_indexes = with_indexes
        self.relates_all = options.get("decode_coords") == "all"

    def decoded(
        self,
        group: Node,
        planned: PlannedVariable,
        undecoded: xr.Variable,
        others: Mapping[str, xr.Variable],
        unread: XGroupError | None = None,
    ) -> tuple[Decoded | None, Finding | None]:
        """Return a variable decoded by the first remedy that works, and a finding if one was needed.

        Parameters
        ----------
        group : Node
            The group of the variable.
        planned : PlannedVariable
            The plan of the variable.
        undecoded : xarray.Variable
            The variable.
        others : mapping of str to xarray.Variable
            All variables of the group, this one included.
        unread : XGroupError, optional
            Why its values cannot be read: then its times are not decoded.

        Returns
        -------
        tuple
            The variable, None if it cannot be opened in any way; and the finding or None.
        """
        error = unread
        for remedy in _remedies(undecoded, is_readable=unread is None):
            try:
                with containing():
                    found = self._decode_with(remedy, planned, undecoded, others)
            except XGroupError as problem:
                error = error or problem
                continue
            found.variable.attrs.update(remedy.set_aside)
            if error is None:
                return found, None
            return found, _remedy_finding(group, planned, undecoded, remedy, error)
        return None, _remedy_finding(group, planned, undecoded, None, error or XGroupError())

    def group_attributes(
        self, attributes: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], set[Hashable]]:
        """Return a group's attributes as xarray decodes them, and the names in their ``coordinates``."""
        if "coordinates" not in attributes:
            return attributes, set()
        options = {"decode_coords": self._options.get("decode_coords", True)}
        _none, decoded, named = decode_cf_variables({}, dict(attributes), **options)
        return decoded, named

    def _decode_with(
        self,
        remedy: _Remedy,
        planned: PlannedVariable,
        undecoded: xr.Variable,
        others: Mapping[str, xr.Variable],
    ) -> Decoded:
        """Return a variable decoded with a remedy; whatever xarray raises is raised."""
        name: Hashable = None if planned.name == _NAMELESS else planned.name
        bare = undecoded
        if remedy.set_aside:
            bare = undecoded.copy(deep=False)
            kept = undecoded.attrs.items()
            bare.attrs = {key: value for key, value in kept if key not in remedy.set_aside}
        options, stand_ins = self._options, self._stand_ins(planned.name, bare, others)
        if remedy.switched_off or stand_ins:
            options = options | dict.fromkeys(map(str, remedy.switched_off), False)
            options["drop_variables"] = list(stand_ins)

        def decode(variable: xr.Variable) -> tuple[xr.Variable, set[Hashable]]:
            together = {**stand_ins, name: variable}
            variables, _attributes, named = decode_cf_variables(together, {}, **options)
            return variables[name], named

        is_in_memory = isinstance(bare._data, np.ndarray)
        # Decode a few made-up values, so that an error shows now, not when the user reads the variable.
        if _may_fail_when_read(planned, bare) and not is_in_memory:
            with np.errstate(over="ignore", invalid="ignore"):
                trial = xr.Variable(bare.dims, _few_values(bare), bare.attrs, bare.encoding)
                decode(trial)[0].load()
        # numpy warns when scaled numbers overflow their type: as with engine zarr for arrays as they are
        # stored, not where attributes are declared elsewhere.
        is_as_stored = planned.is_own and not planned.has_declared_decoding
        with np.errstate() if is_as_stored else np.errstate(over="ignore", invalid="ignore"):
            variable, named = decode(bare)
            if is_in_memory and not planned.is_own:
                variable.load()  # values given by metadata
            index = None
            if self._with_indexes and name is not None and variable.dims == (name,):
                index = PandasIndex.from_variables({name: variable}, options={})
                variable = index.create_variables({name: variable})[name]
        if isinstance(planned.source, Computed | Literal | Offset):
            # Computed coordinates have no missing values (CF 1.12, 2.5.1): else xarray writes _FillValue NaN.
            # Only after decoding: a fill value would have xarray decode packed numbers as floats.
            variable.encoding.setdefault(FILL, None)
        return Decoded(name, variable, index, named)

    def _stand_ins(
        self, own: str, variable: xr.Variable, others: Mapping[str, xr.Variable]
    ) -> dict[Hashable, xr.Variable]:
        """Return scalar stand-ins for the other variables whose existence xarray checks while it decodes one.

        These are the coordinates that attributes name, and a variable that keeps characters from being joined.
        """
        attributes, is_letters = variable.attrs, variable.dtype == "S1" and variable.ndim > 0
        texts = attributes.values() if self.relates_all else [attributes.get("coordinates")]
        words = (f"{text} {text.replace(':', ' ')}" for text in texts if isinstance(text, str))
        names: set[Hashable] = {name for text in words for name in text.split() if name in others}
        if is_letters:
            # xarray joins characters to strings along a dimension that only character arrays have last.
            dim = variable.dims[-1]
            along = [other for other in others.values() if dim in other.dims]
            if dim in others or any(
                other.dtype.kind != "S" or other.dims[-1] != dim for other in along
            ):
                names.add(dim)
        return {name: xr.Variable((), 0) for name in names - {own}}


def give_time_units_to_bounds(variables: Mapping[str, xr.Variable]) -> None:
    """Copy units and calendar of times to their bounds if these have none, as xarray does: both decode alike.

    Changes attributes of the variables in place.
    """
    for variable in variables.values():
        units, name = variable.attrs.get("units"), variable.attrs.get("bounds")
        if not (isinstance(units, str) and "since" in units and isinstance(name, str)):
            continue
        if name in variables and not why_not_times(variable.attrs):
            for key in ("units", "calendar"):
                if key in variable.attrs:
                    variables[name].attrs.setdefault(key, variable.attrs[key])


def _remedies(variable: xr.Variable, *, is_readable: bool) -> Iterator[_Remedy]:
    """Yield the remedies to try in turn: what loses least first, to begin with nothing at all."""
    # Without values xarray cannot decode times.
    yield _Remedy({}, () if is_readable else _STEPS[1])
    attributes = variable.attrs.items()
    relations = {key: value for key, value in attributes if key in REFERRING}
    not_strings = {
        key: value
        for key, value in attributes
        if key in STRING_ATTRIBUTES and not isinstance(value, str)
    }
    for set_aside in (not_strings, {**not_strings, **relations}):
        # Without its calendar a time would decode to another one: it stays undecoded then.
        for step in _STEPS[1:] if "calendar" in set_aside or not is_readable else _STEPS:
            yield _Remedy(set_aside, step)


def _may_fail_when_read(planned: PlannedVariable, variable: xr.Variable) -> bool:
    """Tell whether xarray may decode a variable without an error, and raise only when values are read.

    That can be so if attributes of another array are applied to stored strings, booleans or packed numbers,
    and if ``scale_factor`` or ``add_offset`` is no number.
    """
    packing = (variable.attrs.get(key, 1) for key in _PACKING)
    if planned.stored is not None and not all(
        isinstance(number, int | float) for number in packing
    ):
        return True
    is_number = variable.dtype.kind in _NUMBERS
    is_sound = is_number and _APPLIED_LAZILY.isdisjoint(planned.attributes)
    return planned.has_declared_decoding and not is_sound


def _few_values(variable: xr.Variable) -> np.ndarray[Any, Any]:
    """Return a few made-up values with the type and the number of dimensions of a variable."""
    few = np.zeros((_TRIAL_SIZE, *(1,) * variable.ndim)[: variable.ndim], variable.dtype)
    if few.dtype.kind == "O":
        few.fill("")
    elif few.dtype.kind == "b":
        few.flat[-1:] = True  # in case that False is the fill value
    return few


def why_not_times(attributes: Mapping[str, Any]) -> str:
    """Return why units and calendar among attributes cannot be decoded as times, "" if they have no known fault."""
    units, calendar = (attributes.get(key, "") for key in ("units", "calendar"))
    if not (isinstance(units, str) and isinstance(calendar, str) and " since " in units):
        return ""
    reason = next((text for _rule, text in problems_of_time_units(units, calendar)), "")
    return reason or _why_not_epoch(units, calendar)


@lru_cache
def _why_not_epoch(units: str, calendar: str) -> str:
    """Return why the epoch of units of a known unit and calendar cannot be decoded, "" if it can.

    Only forms of epochs that depend on the calendar, or that pandas alone knows, are tried.
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
    text = _("opened with its times undecoded: {reason}").format(reason=reason)
    return _variable_finding(group, planned, text)


def _variable_finding(
    group: Node,
    planned: PlannedVariable,
    text: str,
    error: XGroupError | None = None,
    keys: Sequence[str] = (),
) -> Finding:
    """Return a finding about a variable of a group: of its own array, else of the array that has it as a coordinate.

    `keys` are the attributes at fault; the first one is named as the place.
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
    """Return the finding that a variable was opened with a remedy, or left out if there is None, because of an error."""
    if remedy is None:
        return left_out_undecoded(group, planned, error)
    attributes, reason = variable.attrs, str(error)
    keys, names = list(remedy.set_aside), ", ".join(map(repr, remedy.set_aside))
    if keys and not remedy.switched_off:
        text = _("opened without {names}: it must be a string")
        if any(isinstance(value, str) for value in remedy.set_aside.values()):
            text = _("opened without {names}: {reason}")
    elif "mask_and_scale" in remedy.switched_off:
        text = _("left undecoded, xarray cannot decode it: {reason}")
        keys = [key for key in _PACKING if isinstance(attributes.get(key), str | Mapping)]
        if keys:
            reasons = (_("{key!r} is no number").format(key=key) for key in keys)
            error = XGroupMetadataError("; ".join(reasons))
            reason = str(error)
    else:
        found = times_undecoded(group, planned, why_not_times(attributes) or reason)
        return replace(found, error=error)
    return _variable_finding(group, planned, text.format(names=names, reason=reason), error, keys)


def left_out_undecoded(group: Node, planned: PlannedVariable, error: XGroupError) -> Finding:
    """Return the finding that a variable is left out of the Dataset of a group because of an error."""
    text = _("left out, xarray cannot decode it: {reason}").format(reason=error)
    return _variable_finding(group, planned, text, error)
