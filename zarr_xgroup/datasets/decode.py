"""A variable decoded by xarray, by itself: one that xarray cannot decode spoils no other.

xarray raises for the whole Dataset when the attributes of one variable make no sense. Here only that
variable is left undecoded, as far as needed, and a finding says so.
"""

from __future__ import annotations

import typing
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from xarray.conventions import decode_cf_variables
from xarray.indexes import PandasIndex

from zarr_xgroup.conventions.units import problems_of_time_units
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

#: What is switched off, one after the other, for a variable that cannot be decoded.
_STEPS: tuple[tuple[_Coder, ...], ...] = (
    (),
    ("decode_times", "decode_timedelta"),
    ("decode_times", "decode_timedelta", "mask_and_scale", "concat_characters"),
)

#: Under this name xarray writes a variable that is called None, and so it reads it.
_NAMELESS = "__values__"

#: The kinds of numpy's types that are numbers.
_NUMBERS = "iufc"

#: How many numbers are read to see whether any can be.
_FEW = 2

#: Attributes by which numbers are packed.
_PACKING = ("scale_factor", "add_offset")

#: Attributes that xarray heeds when values are read; by units of time it looks at some at once.
_AT_READING = DECODED_BY - {"units", "calendar"}


@dataclass(frozen=True, eq=False)
class Decoded:
    """A variable as xarray decodes it, with its default index.

    Attributes
    ----------
    name : hashable
        What it is called in the Dataset.
    variable : xarray.Variable
        The variable.
    index : xarray.Index, optional
        The index of a dimension coordinate.
    named : collection of hashable
        Variables that are coordinates because it names them.
    """

    name: Hashable
    variable: xr.Variable
    index: xr.Index | None = None
    named: Collection[Hashable] = ()

    def copy(self) -> Decoded:
        """Return the same for another group, such that nothing changed in one shows in the other."""
        variable, index = self.variable, self.index
        if index is not None and variable.values.flags.writeable:  # as they are before pandas 3
            index = index.copy(deep=True)
            variable = index.create_variables({self.name: variable})[self.name]
        data = variable._data
        data = data.copy() if isinstance(data, np.ndarray) else data
        said = copy_of(self.variable.attrs), copy_of(self.variable.encoding)
        own = type(variable)(variable.dims, data, *said, fastpath=True)
        return Decoded(self.name, own, index, self.named)


@dataclass(frozen=True)
class _Remedy:
    """How a variable can be opened after all: without some attributes, partly undecoded."""

    set_aside: Mapping[str, Any]
    switched_off: tuple[_Coder, ...] = ()


class Decoder:
    """Decodes variables as the options of an open say."""

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
        """Return a variable decoded, and a finding if it is not as asked for.

        Parameters
        ----------
        group : Node
            The group that it is in.
        planned : PlannedVariable
            What it is.
        undecoded : xarray.Variable
            The variable.
        others : mapping of str to xarray.Variable
            All variables of the group, it among them.
        unread : XGroupError, optional
            Why its values cannot be read, so that its times are not to be decoded.

        Returns
        -------
        tuple
            The variable, None if it cannot be opened in any way; and the finding.
        """
        error = unread
        for remedy in _remedies(undecoded, is_readable=unread is None):
            try:
                with containing():
                    found = self._by(remedy, planned, undecoded, others)
            except XGroupError as problem:
                error = error or problem
                continue
            found.variable.attrs.update(remedy.set_aside)
            if error is None:
                return found, None
            return found, _finding(group, planned, undecoded, remedy, error)
        return None, _finding(group, planned, undecoded, None, error or XGroupError())

    def of_group(self, attributes: Mapping[str, Any]) -> tuple[Mapping[str, Any], set[Hashable]]:
        """Return a group's attributes as xarray decodes them, and the coordinates that these name."""
        if "coordinates" not in attributes:
            return attributes, set()
        options = {"decode_coords": self._options.get("decode_coords", True)}
        _none, decoded, named = decode_cf_variables({}, dict(attributes), **options)
        return decoded, named

    def _by(
        self,
        remedy: _Remedy,
        planned: PlannedVariable,
        undecoded: xr.Variable,
        others: Mapping[str, xr.Variable],
    ) -> Decoded:
        """Return a variable as it is with a remedy."""
        name: Hashable = None if planned.name == _NAMELESS else planned.name
        bare = undecoded
        if remedy.set_aside:
            bare = undecoded.copy(deep=False)
            kept = undecoded.attrs.items()
            bare.attrs = {key: value for key, value in kept if key not in remedy.set_aside}
        options, beside = self._options, self._beside(planned.name, bare, others)
        if remedy.switched_off or beside:
            options = options | dict.fromkeys(map(str, remedy.switched_off), False)
            options["drop_variables"] = list(beside)

        def decode(variable: xr.Variable) -> tuple[xr.Variable, set[Hashable]]:
            together = {**beside, name: variable}
            variables, _attributes, named = decode_cf_variables(together, {}, **options)
            return variables[name], named

        is_in_memory = isinstance(bare._data, np.ndarray)
        if _is_doubtful(planned, bare) and not is_in_memory:
            with np.errstate(over="ignore", invalid="ignore"):
                trial = xr.Variable(bare.dims, _few_values(bare), bare.attrs, bare.encoding)
                decode(trial)[0].load()
        # numpy tells of numbers that end up beyond their type when they are scaled: as with engine zarr
        # of what is as stored, not of what is declared.
        is_as_stored = planned.is_own and not planned.has_declared_decoding
        with np.errstate() if is_as_stored else np.errstate(over="ignore", invalid="ignore"):
            variable, named = decode(bare)
            if is_in_memory and not planned.is_own:
                variable.load()  # values of metadata
            index = None
            if self._with_indexes and name is not None and variable.dims == (name,):
                index = PandasIndex.from_variables({name: variable}, options={})
                variable = index.create_variables({name: variable})[name]
        if isinstance(planned.source, Computed | Literal | Offset):
            # None is missing (CF 1.12, 2.5.1): else xarray writes NaN. Not before they are decoded: to
            # xarray it would mean that packed numbers are floats already.
            variable.encoding.setdefault(FILL, None)
        return Decoded(name, variable, index, named)

    def _beside(
        self, own: str, variable: xr.Variable, others: Mapping[str, xr.Variable]
    ) -> dict[Hashable, xr.Variable]:
        """Return what stands for those of the other variables that xarray asks for."""
        attributes, is_letters = variable.attrs, variable.dtype == "S1" and variable.ndim > 0
        texts = attributes.values() if self.relates_all else [attributes.get("coordinates")]
        words = (f"{text} {text.replace(':', ' ')}" for text in texts if isinstance(text, str))
        names: set[Hashable] = {name for text in words for name in text.split() if name in others}
        if is_letters:
            # Letters are joined along a dimension that is theirs alone.
            dim = variable.dims[-1]
            along = [other for other in others.values() if dim in other.dims]
            if dim in others or any(
                other.dtype.kind != "S" or other.dims[-1] != dim for other in along
            ):
                names.add(dim)
        return {name: xr.Variable((), 0) for name in names - {own}}


def give_units_to_boundaries(variables: Mapping[str, xr.Variable]) -> None:
    """Have boundaries of times, if they have no units, be decoded as these: as xarray does it."""
    for variable in variables.values():
        units, name = variable.attrs.get("units"), variable.attrs.get("bounds")
        if not (isinstance(units, str) and "since" in units and isinstance(name, str)):
            continue
        if name in variables and not why_no_times(variable.attrs):
            for key in ("units", "calendar"):
                if key in variable.attrs:
                    variables[name].attrs.setdefault(key, variable.attrs[key])


def _remedies(variable: xr.Variable, *, is_readable: bool) -> Iterator[_Remedy]:
    """Yield how a variable may be opened, by what it loses, least first."""
    yield _Remedy({}, () if is_readable else _STEPS[1])
    attributes = variable.attrs.items()
    relations = {key: value for key, value in attributes if key in REFERRING}
    no_text = {
        key: value
        for key, value in attributes
        if key in STRING_ATTRIBUTES and not isinstance(value, str)
    }
    for set_aside in (no_text, {**no_text, **relations}):
        # Without its calendar a time would be another one: it is left undecoded then.
        for step in _STEPS[1:] if "calendar" in set_aside or not is_readable else _STEPS:
            yield _Remedy(set_aside, step)


def _is_doubtful(planned: PlannedVariable, variable: xr.Variable) -> bool:
    """Tell whether xarray may decode a variable, and raise only when it is read.

    That may be so of stored texts and truth values, of numbers that are declared to be packed, and of
    all that is packed by what is no number.
    """
    packing = (variable.attrs.get(key, 1) for key in _PACKING)
    if planned.stored is not None and not all(
        isinstance(number, int | float) for number in packing
    ):
        return True
    is_number = variable.dtype.kind in _NUMBERS
    is_sound = is_number and _AT_READING.isdisjoint(planned.attributes)
    return planned.has_declared_decoding and not is_sound


def _few_values(variable: xr.Variable) -> np.ndarray[Any, Any]:
    """Return some values of the type and the number of dimensions of a variable."""
    few = np.zeros((_FEW, *(1,) * variable.ndim)[: variable.ndim], variable.dtype)
    if few.dtype.kind == "O":
        few.fill("")
    elif few.dtype.kind == "b":
        few.flat[-1:] = True  # in case that the other one means missing data
    return few


def why_no_times(attributes: Mapping[str, Any]) -> str:
    """Return why what has these attributes cannot be decoded as times, "" if they do not tell."""
    units, calendar = (attributes.get(key, "") for key in ("units", "calendar"))
    if not (isinstance(units, str) and isinstance(calendar, str) and " since " in units):
        return ""
    return next((text for _rule, text in problems_of_time_units(units, calendar)), "")


def times_undecoded(group: Node, planned: PlannedVariable, reason: str) -> Finding:
    """Return the finding of a variable in a group whose times cannot be decoded."""
    text = _("opened with its times undecoded: {reason}").format(reason=reason)
    return _told(group, planned, text)


def _told(
    group: Node,
    planned: PlannedVariable,
    text: str,
    error: XGroupError | None = None,
    keys: Sequence[str] = (),
) -> Finding:
    """Return the finding of a variable in a group, as its array is told of it, or who has it as a coordinate."""
    if not planned.referrer:
        place = Fragment(group.child(planned.name), ("attributes", *keys[:1]) if keys else (), None)
        return report(Topic.METADATA, place, text, error=error)
    name = _("its coordinate {name!r}").format(name=planned.name)
    user = group.child(planned.referrer)
    return report(Topic.METADATA, user, after_place(name, text), error=error)


def _finding(
    group: Node,
    planned: PlannedVariable,
    variable: xr.Variable,
    remedy: _Remedy | None,
    error: XGroupError,
) -> Finding:
    """Return the finding of a variable that could not be decoded as asked for, or in no way."""
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
            said = (_("{key!r} is no number").format(key=key) for key in keys)
            error = XGroupMetadataError("; ".join(said))
            reason = str(error)
    else:
        found = times_undecoded(group, planned, why_no_times(attributes) or reason)
        return replace(found, error=error)
    return _told(group, planned, text.format(names=names, reason=reason), error, keys)


def left_out_undecoded(group: Node, planned: PlannedVariable, error: XGroupError) -> Finding:
    """Return the finding of a variable that cannot be in the Dataset of a group."""
    text = _("left out, xarray cannot decode it: {reason}").format(reason=error)
    return _told(group, planned, text, error)
