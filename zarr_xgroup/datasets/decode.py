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

from zarr_xgroup.conventions.units import (
    is_bare_unit_of_time,
    unit_and_epoch,
    why_not_times,
)
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupStoreError,
    after_place,
    converting_errors,
)
from zarr_xgroup.findings import Finding, Topic, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import PACKED_BY, STRING_ATTRIBUTES
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


class BuiltVariable(msgspec.Struct, eq=False):
    """A variable of a group: first as it is stored, then as xarray decodes it."""

    planned: PlannedVariable
    variable: xr.Variable
    is_decoded: bool = False
    #: Its index, if it is a decoded dimension coordinate.
    index: xr.Index | None = None
    #: Equal for variables of different groups that are decoded to the same values, None if it is not shared.
    likeness: Hashable = None
    #: Units and calendar of times that are left undecoded.
    hidden_units: Mapping[str, Any] | None = None
    #: The finding that it is not decoded, or only in part.
    fault: Finding | None = None

    @property
    def name(self) -> str:
        """Its name in the plan."""
        return self.planned.name

    @property
    def key(self) -> Hashable:
        """Its name in the Dataset."""
        return _key(self.planned.name)

    def copy_for(self, planned: PlannedVariable) -> BuiltVariable:
        """Return an independent copy of the decoded variable, as a variable of a different plan."""
        variable, index = self.variable, self.index
        attrs, encoding = copy_of(variable.attrs), copy_of(variable.encoding)
        # Before pandas 3, the values of an index are writeable.
        if index is not None and variable.values.flags.writeable:
            index = index.copy(deep=True)
            variable = index.create_variables({self.key: variable})[self.key]
        data: Any = variable._data
        data = data.copy() if isinstance(data, np.ndarray) else data
        copied = type(variable)(variable.dims, data, attrs, encoding, fastpath=True)
        return BuiltVariable(planned, copied, True, index)


class Decoder:
    """Decodes the variables of groups with the decoding options of an open call."""

    def __init__(
        self, options: DecodingOptions, dropped: Collection[str], *, with_indexes: bool
    ) -> None:
        self._options: dict[str, Any] = dict(options)
        self._dropped = dropped
        self._with_indexes = with_indexes

    def decode(
        self, group: Node, variables: Collection[BuiltVariable], attributes: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], set[Hashable]]:
        """Decode the variables of a group by xarray in one call; if that raises, each alone.

        A variable that cannot be decoded alone is decoded without attributes that must be strings and are not; if that
        fails, it is left undecoded. Both are reported as its `fault`. Attributes of bounds may be changed in place.

        Returns
        -------
        tuple of mapping and set
            The attributes of the group's Dataset, and the names that attributes make coordinates.
        """
        left = [variable for variable in variables if not variable.is_decoded]
        undecoded = {variable.name: variable.variable for variable in left}
        others = {it.name: it.variable for it in variables if it.is_decoded}
        # Without attributes, which xarray would use to decode the others.
        stand_ins = {
            name: xr.Variable(variable.dims, variable._data, fastpath=True)
            for name, variable in others.items()
        }
        if not any(map(self._wrongly_decoded, left)):
            before = {name: dict(variable.attrs) for name, variable in undecoded.items()}
            try:
                with converting_errors():
                    opened = self._decode(left, undecoded, stand_ins, attributes)
                return opened.attrs, set(opened.coords)
            except XGroupError:  # raised again, and reported, when the variable is decoded alone
                for name, attrs in before.items():
                    undecoded[name].attrs = attrs

        stand_ins = _stand_ins({**others, **undecoded})
        attributes, coordinates = self._decode((), {}, {}, attributes).attrs, set[Hashable]()
        for variable in left:
            if variable.name not in self._dropped:
                needed = _needed_to_decode(variable.variable, stand_ins)
                coordinates.update(self._decode_alone(group, variable, needed).coords)
        return attributes, coordinates

    def _decode_alone(
        self, group: Node, variable: BuiltVariable, needed: Mapping[str, xr.Variable]
    ) -> xr.Dataset:
        """Decode one variable as far as possible, and set its `fault` if something is left undecoded.

        Raises
        ------
        XGroupStoreError
            If values that xarray needs cannot be read.
        """
        attributes = variable.variable.attrs
        if wrong := self._wrongly_decoded(variable):
            is_number = variable.variable.dtype.kind in _NUMBERS
            text = _("{key!r} is not a number") if is_number else _("{key!r} is for numbers")
            reasons = (text.format(key=key) for key in wrong)
            return self._left_undecoded(
                group, variable, XGroupMetadataError("; ".join(reasons)), wrong
            )
        opened = problem = self._tried(group, variable, attributes, needed)
        if isinstance(problem, xr.Dataset):
            return problem
        not_strings = {
            key: attributes[key]
            for key in STRING_ATTRIBUTES
            if key in attributes and not isinstance(attributes[key], str)
        }
        # Without its calendar, a time would be decoded to a wrong date.
        if not_strings and "calendar" not in not_strings:
            strings = {key: attributes[key] for key in attributes if key not in not_strings}
            opened = self._tried(group, variable, strings, needed)
        if isinstance(opened, XGroupError):
            return self._left_undecoded(group, variable, problem)
        variable.variable.attrs.update(not_strings)
        text = _("opened without {names}: not a string")
        text = text.format(names=", ".join(map(repr, not_strings)))
        keys = list(not_strings)
        variable.fault = _variable_finding(group, variable.planned, text, problem, keys)
        return opened

    def _left_undecoded(
        self, group: Node, variable: BuiltVariable, problem: XGroupError, wrong: Sequence[str] = ()
    ) -> xr.Dataset:
        """Leave a variable undecoded, or out if its values cannot be computed, and set its `fault` to the problem.

        `wrong` are the attributes with which it must not be decoded.
        """
        planned, attributes = variable.planned, variable.variable.attrs
        opened = self._tried(group, variable, attributes, {}, _UNDECODED)
        if isinstance(opened, XGroupError):  # its values, which an index needs, cannot be computed
            if planned.stored is not None:
                raise opened
            text = _("left out: {reason}").format(reason=opened)
            variable.fault = _variable_finding(group, planned, text, opened)
            return xr.Dataset()
        if not wrong and (reason := why_not_times(attributes)):
            variable.fault = replace(times_undecoded(group, planned, reason), error=problem)
            return opened
        text = _("left undecoded, because xarray cannot decode it: {reason}")
        text = text.format(reason=problem)
        variable.fault = _variable_finding(group, planned, text, problem, wrong)
        return opened

    def _tried(
        self,
        group: Node,
        built: BuiltVariable,
        attributes: Mapping[str, Any],
        needed: Mapping[str, xr.Variable],
        options: Mapping[str, Any] | None = None,
    ) -> xr.Dataset | XGroupError:
        """Return a variable decoded alone, or the error; raise XGroupStoreError if its values cannot be read."""
        variable = built.variable.copy(deep=False)
        variable.attrs = dict(attributes)
        try:
            with converting_errors():
                return self._decode([built], {built.name: variable}, needed, {}, options)
        except XGroupError as error:
            if is_of_reading(error):
                node = built.planned.stored or group.child(built.name)
                text = _("{node} cannot be read: {reason}")
                raise XGroupStoreError(text.format(node=node, reason=error)) from error
            return error

    def _wrongly_decoded(self, built: BuiltVariable) -> list[str]:
        """Return the names of the attributes with which xarray would raise only when the values are read."""
        planned, variable = built.planned, built.variable
        is_unpacked, are_times = (
            (value.get(planned.name, True) if isinstance(value, Mapping) else value) is not False
            for value in map(self._options.get, ("mask_and_scale", "decode_times"))
        )
        attributes, wrong = variable.attrs, list[str]()
        if is_unpacked:
            wrong += [key for key in PACKED_BY if isinstance(attributes.get(key), str | Mapping)]
        if variable.dtype.kind not in _NUMBERS:
            wrong += ["units"] if are_times and planned.inherits_declared else []
            for key, value in planned.declared_decoding.items():
                is_unit_of_time = unit_and_epoch(value) is not None or is_bare_unit_of_time(value)
                if (are_times and is_unit_of_time) if key == "units" else is_unpacked:
                    wrong.append(key)
        return wrong

    def _decode(
        self,
        variables: Collection[BuiltVariable],
        undecoded: Mapping[str, xr.Variable],
        stand_ins: Mapping[str, xr.Variable],
        attributes: Mapping[str, Any],
        options: Mapping[str, Any] | None = None,
    ) -> xr.Dataset:
        """Decode variables together, with stand-ins for other variables. Errors of xarray are not caught."""
        together: Any = {
            _key(name): variable for name, variable in {**stand_ins, **undecoded}.items()
        }
        store: Any = ResolvedZarrStore(together, attributes)
        # A variable that is decoded alone names others as its coordinates, which xarray finds only among its variables.
        unused = stand_ins.keys() - undecoded.keys() if len(undecoded) > 1 else ()
        dropped = [_key(name) for name in (*self._dropped, *unused)]
        options = {**self._options, **(options or {}), "drop_variables": dropped}
        opened = StoreBackendEntrypoint().open_dataset(store, **options)
        decoded: list[tuple[BuiltVariable, xr.Variable, xr.Index | None]] = []
        for built in variables:
            key, planned = built.key, built.planned
            if key not in opened.variables:
                continue  # dropped
            index: xr.Index | None = None
            variable = opened.variables[key]
            if isinstance(undecoded[built.name]._data, np.ndarray) and not planned.is_own:
                variable.load()  # values given by metadata
            if self._with_indexes and variable.dims == (key,):
                if not variable.size:
                    variable.load()  # xarray decodes no timedeltas as seconds, which a lazy variable does not show
                index = PandasIndex.from_variables({key: variable}, options={})
                variable = index.create_variables({key: variable})[key]
            if isinstance(planned.source, Computed | Literal | Offset):
                # Computed coordinates have no missing values (CF 1.12, 2.5.1): xarray must not write _FillValue NaN.
                # Set after decoding, because xarray decodes packed numbers with a fill value as floats.
                variable.encoding.setdefault(FILL, None)
            decoded.append((built, variable, index))
        # Only now, because reading the values may raise.
        for built, variable, its_index in decoded:
            built.is_decoded, built.variable, built.index = True, variable, its_index
        return opened


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


def times_undecoded(
    group: Node, planned: PlannedVariable, reason: str, remedy: str = ""
) -> Finding:
    """Return the finding that the times of a variable are left undecoded, for a reason."""
    text = _("opened with undecoded times: {reason}").format(reason=reason)
    return _variable_finding(group, planned, text, remedy=remedy)


def repeating_index(group: Node, planned: PlannedVariable) -> Finding:
    """Return the finding that the index of a variable repeats because chunks are missing."""
    text = _("chunks are missing in the store, so values of its index repeat")
    return _variable_finding(group, planned, text, remedy=_("write the missing chunks"))


def _variable_finding(
    group: Node,
    planned: PlannedVariable,
    text: str,
    error: XGroupError | None = None,
    keys: Sequence[str] = (),
    remedy: str = "",
) -> Finding:
    """Return a finding about a variable of a group, or about the array whose coordinate it is.

    `keys` are the faulty attributes; the place of the finding is the first one.
    """
    remedy = remedy or _("correct the attributes with which xarray decodes it")
    if not planned.referrer:
        place = Fragment(group.child(planned.name), ("attributes", *keys[:1]) if keys else (), None)
        return new_finding(Topic.METADATA, place, text, remedy, error=error)
    name = _("its coordinate {name!r}").format(name=planned.name)
    user = group.child(planned.referrer)
    return new_finding(Topic.METADATA, user, after_place(name, text), remedy, error=error)
