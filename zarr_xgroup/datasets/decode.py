"""Decoding by xarray, such that an array it cannot decode spoils no other.

xarray raises for the whole Dataset when the attributes of one variable make no sense. Here
only that variable is left undecoded, as far as needed, and a finding says so.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from xarray.conventions import decode_cf_variables
from xarray.indexes import PandasIndex

from zarr_xgroup.conventions.timeunits import faults_of
from zarr_xgroup.datasets.build import BuiltGroup
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.datasets.store import ResolvedZarrStore
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, after_place, containing
from zarr_xgroup.findings import Finding, Topic, left_out, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import DECODED_BY, STRING_ATTRIBUTES, referred_names
from zarr_xgroup.metadata.documents import copy_of
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.options import DecodingOptions
from zarr_xgroup.variables.fillvalues import FILL
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Literal, Offset

_Coder: TypeAlias = typing.Literal[
    "decode_times", "decode_timedelta", "mask_and_scale", "concat_characters"
]

#: What is switched off, one after the other, for a variable that cannot be decoded.
_STEPS: tuple[tuple[_Coder, ...], ...] = (
    (),
    ("decode_times", "decode_timedelta"),
    ("decode_times", "decode_timedelta", "mask_and_scale", "concat_characters"),
)


@dataclass(frozen=True)
class _Remedy:
    """How a variable can be opened after all: without some attributes, partly undecoded."""

    error: XGroupError
    set_aside: Mapping[str, Any] = field(default_factory=dict)
    switched_off: tuple[_Coder, ...] | None = None


#: Attributes by which a variable says something of others, or is told something by them.
_RELATIONS = frozenset(
    {"coordinates", "grid_mapping", "bounds", "cell_measures", "ancillary_variables"}
    | {"formula_terms", "climatology"}
)

#: Under this name xarray writes a variable that is called None, and so it reads it.
_NAMELESS = "__values__"

#: The kinds of numpy's types that are numbers.
_NUMBERS = "biufc"

#: How many numbers are read to see whether any can be.
_FEW = 2
#: What numpy makes arrays of, also such without elements: the product of lengths but for 0.
_LONGEST = 2**31

#: Attributes by which numbers are packed.
_PACKING = ("scale_factor", "add_offset")

#: Attributes that xarray heeds when values are read; by units of time it looks at some at once.
_AT_READING = DECODED_BY - {"units", "calendar"}


@dataclass(frozen=True, eq=False)
class _Shared:
    """A coordinate that is decoded once for all groups that have it, with its default index."""

    decoded: xr.Variable
    index: xr.Index | None = None

    @cached_property
    def has_writeable_index(self) -> bool:
        """Whether values of its index can be written to, as they can before pandas 3."""
        return self.index is not None and bool(self.decoded.values.flags.writeable)


class Decoder:
    """Makes Datasets of the groups of one open, decoded by xarray.

    xarray would build its default indexes afterwards: here it is done once for coordinates that are
    the same in many groups.
    """

    def __init__(self, options: DecodingOptions, *, with_indexes: bool) -> None:
        self._options = options
        self._with_indexes = with_indexes
        self._seen: set[Hashable] = set()
        self._shared: dict[Hashable, _Shared | None] = {}

    def dataset(self, group: BuiltGroup) -> tuple[xr.Dataset, list[Finding]]:
        """Return a group as a Dataset, and a finding for each variable not decoded as asked for.

        Those that cannot be opened in any way are not in it.
        """
        findings: list[Finding] = []
        remedies = {
            name: _Remedy(error, switched_off=_STEPS[1]) for name, error in group.unreadable.items()
        }
        try:
            with containing():
                shared = self._shared_of(group, remedies)
                variables = self._made(group, shared, findings)
                dataset = self._opened(group, variables, shared, remedies)
                _read_at_hand(group, variables, dataset)
                self._try_decoding(group, variables)
        except XGroupError:
            findings.clear()
            variables = self._made(group, {}, findings)
            readable = {name: item for name, item in variables.items() if name not in remedies}
            remedies |= self._remedies(group, readable)
            remedies |= self._misfits(group, variables, remedies)
            dataset = self._opened(group, variables, {}, remedies)
        for name, remedy in remedies.items():
            planned = group.planned[name]
            if name not in group.unreadable or not planned.referrer:  # else told already
                attributes = dataset.variables[name].attrs if name in dataset.variables else {}
                findings.append(_finding(group, planned, remedy, attributes))
        return dataset, findings

    def _made(
        self, group: BuiltGroup, shared: Mapping[str, _Shared], findings: list[Finding]
    ) -> dict[str, xr.Variable]:
        """Return the variables that are not shared with other groups."""
        variables = {}
        for name, planned in group.planned.items():
            if name in shared:
                continue
            try:
                with containing():
                    variables[name] = group.make(planned)
            except XGroupError as error:
                findings.append(left_out(group.node.child(name), error))
        return variables

    def _opened(
        self,
        group: BuiltGroup,
        undecoded: Mapping[str, xr.Variable],
        shared: Mapping[str, _Shared],
        remedies: Mapping[str, _Remedy],
    ) -> xr.Dataset:
        """Return a Dataset in which remedies are applied."""
        variables, options = dict(undecoded), self._options
        remedies = {name: remedy for name, remedy in remedies.items() if name in variables}
        for name, remedy in remedies.items():
            if remedy.switched_off is None:
                del variables[name]
            else:
                variables[name] = _without_attributes(variables[name], remedy.set_aside)
        if remedies:
            switched_off = {name: remedy.switched_off or () for name, remedy in remedies.items()}
            options = _switched_off(options, switched_off, variables)
        store = ResolvedZarrStore(variables, group.attributes)
        dataset = self._decoded(store, group, shared, options)
        for name, remedy in remedies.items():
            if name in dataset.variables:
                dataset[name].attrs.update(remedy.set_aside)
        return dataset

    def _decoded(
        self,
        store: ResolvedZarrStore,
        group: BuiltGroup,
        shared: Mapping[str, _Shared],
        options: DecodingOptions,
    ) -> xr.Dataset:
        """Return a Dataset as xarray's StoreBackendEntrypoint makes it of a store."""
        undecoded, attributes = store.load()  # type: ignore[no-untyped-call]
        with _errstate(is_told=all(map(_is_as_stored, group.planned.values()))):
            decoded, attributes, names = decode_cf_variables(undecoded, attributes, **options)
        own = _coordinates_among(decoded, group, names)
        rest = decoded.keys() - own
        order = (*((None,) if _NAMELESS in group.planned else ()), *group.planned)
        data = {name: decoded[name] for name in order if name in rest}
        coordinates: dict[str, xr.Variable] = {}
        indexes: dict[str, xr.Index] = {}
        for name in group.planned:
            index: xr.Index | None = None
            if name in shared:
                coordinates[name], index = _own(name, shared[name])
            elif name not in own:
                continue
            elif self._with_indexes and own[name].dims == (name,):
                with _errstate(is_told=_is_as_stored(group.planned[name])):
                    coordinates[name], index = _indexed(name, own[name])
            else:
                coordinates[name] = own[name]
            if name not in shared:
                _say_that_none_is_missing(group.planned[name], coordinates[name])
            indexes |= {} if index is None else {name: index}
        return xr.Dataset(data, xr.Coordinates(coordinates, indexes), attributes)

    def _shared_of(self, group: BuiltGroup, remedies: Mapping[str, _Remedy]) -> dict[str, _Shared]:
        """Return what can be shared with other groups: what is the same and related to nothing."""
        variables = group.planned.values()
        if remedies or self._options.get("decode_coords") == "all":
            return {}
        if any(it.is_own and it.has("coordinates") for it in variables):
            return {}  # xarray looks for what is named among the variables
        named = _named_elsewhere(variables)
        shared = {}
        for planned in variables:
            known = None if planned.name in named else self._shared_one(group, planned)
            if known is not None:
                shared[planned.name] = known
        return shared

    def _shared_one(self, group: BuiltGroup, planned: PlannedVariable) -> _Shared | None:
        """Return a coordinate that another group had before, None if it is not to be shared."""
        if planned.is_own or planned.identity is None:
            return None
        if isinstance(planned.source, HandlerVariable):
            return None  # equal variables of a third party may be described otherwise
        # Numbers of a grid can be the same where its size is not: the source tells.
        attributes = repr(planned.attributes)
        key = (planned.name, planned.source, planned.dims, attributes, planned.is_time)
        if key not in self._seen:
            self._seen.add(key)  # worth it from the second group on that has it
            return None
        if key not in self._shared:
            self._shared[key] = self._share(group, planned)
        return self._shared[key]

    def _share(self, group: BuiltGroup, planned: PlannedVariable) -> _Shared | None:
        """Return a coordinate to share; None if it says something of others, or is not wanted."""
        name = planned.name
        try:
            with containing():
                variable = group.make(planned)
                if not _RELATIONS.isdisjoint(variable.attrs):
                    return None
                if planned.is_time and "units" not in variable.attrs:
                    return None  # it bounds times, and is decoded with them
                self._try_decoding(group, {name: variable})
                decoded, index = self._alone(name, {name: variable}, self._options)
                if decoded is not None and isinstance(variable._data, np.ndarray):
                    decoded.load()  # values of metadata: each group is to have its own
        except XGroupError:
            return None  # told when it is decoded with the others
        if decoded is None:
            return None
        _say_that_none_is_missing(planned, decoded)
        return _Shared(decoded, index)

    def _alone(
        self, name: str, variables: Mapping[str, xr.Variable], options: DecodingOptions
    ) -> tuple[xr.Variable | None, xr.Index | None]:
        """Return one of some variables decoded, with its index; None if it is not wanted."""
        with _errstate(is_told=False):
            found, _attributes, _names = decode_cf_variables(variables, {}, **options)
            if name in found and _is_at_hand(variables[name]):
                found[name].load()
            if name in found and self._with_indexes and found[name].dims == (name,):
                return _indexed(name, found[name])
            return found.get(name), None

    def _try_decoding(self, group: BuiltGroup, variables: Mapping[str, xr.Variable]) -> None:
        """Raise what xarray would only raise on reading, because of what is declared."""
        for name, variable in variables.items():
            trial = _trial(group.planned[name], variable)
            error = None if trial is variable else self._error_of(name, trial, _AS_IT_IS)
            if error is not None:
                raise error

    def _remedies(
        self, group: BuiltGroup, variables: Mapping[str, xr.Variable]
    ) -> dict[str, _Remedy]:
        """Return which variables cannot be opened as they are, and how each can be after all."""
        remedies = {}
        for name, stored in variables.items():
            variable = _trial(group.planned[name], stored)
            error = self._error_of(name, variable, _AS_IT_IS)
            if error is not None:
                remedy = next(
                    remedy
                    for remedy in _possible_remedies(variable, error)
                    if self._error_of(name, variable, remedy) is None
                )
                remedies[name] = _blaming(variable, remedy)
        return remedies

    def _error_of(self, name: str, variable: xr.Variable, remedy: _Remedy) -> XGroupError | None:
        """Return what keeps a variable from being decoded or indexed, for all that a remedy does."""
        if remedy.switched_off is None:
            return None
        bare = _without_attributes(variable, remedy.set_aside)
        # What it names is there, lest xarray warn that it is not.
        named = {other: xr.Variable((), 0) for other in referred_names(bare.attrs)}
        options = _switched_off(self._options, {name: remedy.switched_off}, [*named, name])
        return _raised(self._alone, name, {**named, name: bare}, options)

    def _misfits(
        self,
        group: BuiltGroup,
        variables: Mapping[str, xr.Variable],
        remedies: Mapping[str, _Remedy],
    ) -> dict[str, _Remedy]:
        """Return the variables that cannot be opened together with those before them.

        Tried by halves: mostly there is none.
        """
        found: dict[str, _Remedy] = {}
        fitting: dict[str, xr.Variable] = {}

        def opened_with(part: Mapping[str, xr.Variable]) -> None:
            together = {**fitting, **part}
            dataset = self._opened(group, together, {}, {**remedies, **found})
            _read_at_hand(group, together, dataset)

        def error_of(part: Mapping[str, xr.Variable]) -> XGroupError | None:
            return _raised(opened_with, part)

        pending = [dict(variables)]
        while pending:
            part = pending.pop()
            error = error_of(part)
            if error is not None and len(part) > 1:
                items, middle = list(part.items()), len(part) // 2
                pending += [dict(items[middle:]), dict(items[:middle])]
                continue
            if error is not None:
                ((name, variable),) = part.items()
                for remedy in _possible_remedies(variable, error):
                    found[name] = remedy
                    if error_of(part) is None:
                        break
            fitting |= part
        return found


#: What is done for a variable with which nothing is wrong.
_AS_IT_IS = _Remedy(XGroupError(), switched_off=())


def _possible_remedies(variable: xr.Variable, error: XGroupError) -> Iterator[_Remedy]:
    """Yield how a variable may be opened after all, by what it loses, least first."""
    no_text = {
        key: value
        for key, value in variable.attrs.items()
        if key in STRING_ATTRIBUTES and not isinstance(value, str)
    }
    relations = {key: value for key, value in variable.attrs.items() if key in _RELATIONS}
    for set_aside in (no_text, {**no_text, **relations}):
        # Without its calendar a time would be another one: it is left undecoded then.
        for step in _STEPS[1:] if "calendar" in set_aside else _STEPS:
            yield _Remedy(error, set_aside, step)
    yield _Remedy(error)


def _blaming(variable: xr.Variable, remedy: _Remedy) -> _Remedy:
    """Return a remedy that tells of what a variable is packed by, if that is text or an object."""
    no_numbers = [key for key in _PACKING if isinstance(variable.attrs.get(key), str | Mapping)]
    if not no_numbers or "mask_and_scale" not in (remedy.switched_off or ()):
        return remedy
    message = _("{pointer} is no number")
    said = (message.format(pointer=f"/attributes/{key}") for key in no_numbers)
    return replace(remedy, error=XGroupMetadataError("; ".join(said)))


def _errstate(*, is_told: bool) -> np.errstate:
    """Return whether numpy is to tell of numbers that end up beyond their type when they are scaled.

    It does so of what is as stored, like with engine zarr; not of what is declared or only tried.
    """
    return np.errstate() if is_told else np.errstate(over="ignore", invalid="ignore")


def _is_as_stored(planned: PlannedVariable) -> bool:
    """Tell whether engine zarr would open a variable alike: nothing of it is declared."""
    return planned.is_own and not planned.has_declared_decoding


def _is_at_hand(variable: xr.Variable) -> bool:
    """Tell whether values that may not decode are in no store: of metadata, or none at all.

    xarray may raise only when they are read. Of numbers few are enough to see it.
    """
    is_in_memory = isinstance(variable._data, np.ndarray)
    is_small = variable.dtype.kind not in _NUMBERS or variable.size <= _FEW
    is_empty = variable.size == 0 and prod(filter(None, variable.shape)) < _LONGEST
    return (is_in_memory and is_small) or is_empty


def _trial(planned: PlannedVariable, variable: xr.Variable) -> xr.Variable:
    """Return a variable as it is, or with few values if it is only lazily found not to decode.

    That may be so of stored texts and truth values, of numbers that are declared to be packed, and of
    all that is packed by what is no number.
    """
    is_number = variable.dtype.kind in _NUMBERS and variable.dtype.kind != "b"
    is_sound = is_number and _AT_READING.isdisjoint(planned.attributes)
    is_as_declared = planned.has_declared_decoding and not _is_at_hand(variable)
    packing = (variable.attrs.get(key, 1) for key in _PACKING)
    is_odd = planned.stored is not None and not all(isinstance(it, int | float) for it in packing)
    if not is_odd and (is_sound or not is_as_declared):
        return variable
    return xr.Variable(variable.dims, _few_values(variable), variable.attrs, variable.encoding)


def _few_values(variable: xr.Variable) -> np.ndarray[Any, Any]:
    """Return some values of the type and the number of dimensions of a variable."""
    few = np.zeros((_FEW, *(1,) * variable.ndim)[: variable.ndim], variable.dtype)
    if few.dtype.kind == "O":
        few.fill("")
    elif few.dtype.kind == "b":
        few.flat[-1:] = True  # in case that the other one means missing data
    return few


def _read_at_hand(
    group: BuiltGroup, undecoded: Mapping[str, xr.Variable], dataset: xr.Dataset
) -> None:
    """Read what is declared of values at hand, or raise what xarray does; nothing is kept."""
    for name, variable in undecoded.items():
        is_declared = group.planned[name].has_declared_decoding
        if is_declared and name in dataset and _is_at_hand(variable):
            with _errstate(is_told=False):
                dataset.variables[name].copy(deep=False).load()


def _named_elsewhere(variables: Iterable[PlannedVariable]) -> set[str]:
    """Return what attributes name that was found in other groups: boundaries decode with theirs."""
    texts = (text for it in variables for text in it.rewritten.values())
    return {name for text in texts for name in text.split()}


def _coordinates_among(
    decoded: Mapping[Any, xr.Variable], group: BuiltGroup, named: Container[Hashable]
) -> dict[str, xr.Variable]:
    """Return the variables that are coordinates: as planned, as named by others, or by their name."""
    return {
        name: decoded[name]
        for name, planned in group.planned.items()
        if name in decoded
        and (planned.is_coordinate or name in named or decoded[name].dims == (name,))
    }


def _say_that_none_is_missing(planned: PlannedVariable, decoded: xr.Variable) -> None:
    """Say that computed values have no fill value (CF 1.12, 2.5.1): else xarray writes NaN.

    Not before they are decoded: to xarray it would mean that packed numbers are floats already.
    """
    if isinstance(planned.source, Computed | Literal | Offset):
        decoded.encoding.setdefault(FILL, None)


def _own(name: str, shared: _Shared) -> tuple[xr.Variable, xr.Index | None]:
    """Return a shared coordinate and its index such that nothing can be changed in another one."""
    variable, index = shared.decoded, shared.index
    if index is not None and shared.has_writeable_index:
        index = index.copy(deep=True)
        variable = index.create_variables({name: variable})[name]
    own = variable.copy(deep=False)
    if index is None and isinstance(variable._data, np.ndarray):
        own.data = variable._data.copy()  # can be written to; values of an index were seen to
    own.attrs = copy_of(shared.decoded.attrs)
    own.encoding = copy_of(shared.decoded.encoding)
    return own, index


def _indexed(name: str, variable: xr.Variable) -> tuple[xr.Variable, xr.Index]:
    """Return a coordinate as xarray has it with its default index, and that index."""
    index = PandasIndex.from_variables({name: variable}, options={})
    return index.create_variables({name: variable})[name], index


def _raised(function: Callable[..., object], *arguments: Any) -> XGroupError | None:
    """Return what is raised when a function is called, None if nothing is."""
    try:
        with containing():
            function(*arguments)
    except XGroupError as error:
        return error
    return None


def _without_attributes(variable: xr.Variable, left_out: Iterable[str]) -> xr.Variable:
    copy = variable.copy(deep=False)
    copy.attrs = {key: value for key, value in variable.attrs.items() if key not in left_out}
    return copy


def _switched_off(
    options: DecodingOptions, switched_off: Mapping[str, tuple[_Coder, ...]], names: Iterable[str]
) -> DecodingOptions:
    """Return options in which some are False for some variables and as before for all others."""
    result = options.copy()
    for option in _STEPS[-1]:
        off = {name: False for name, step in switched_off.items() if option in step}
        value = options.get(option, None if option == "decode_timedelta" else True)
        if not off or value is False:
            continue
        others = value if isinstance(value, Mapping) else dict.fromkeys(names, value)
        result[option] = {**others, **off}
    return result


def _undecoded(
    group: Node, planned: PlannedVariable, text: str, error: XGroupError | None = None
) -> Finding:
    """Return the finding of a variable in a group, as its array is told of it, or who has it as a coordinate."""
    if not planned.referrer:
        return report(Topic.METADATA, group.child(planned.name), text, error=error)
    name = _("its coordinate {name!r}").format(name=planned.name)
    return report(
        Topic.METADATA, group.child(planned.referrer), after_place(name, text), error=error
    )


def why_no_times(attributes: Mapping[str, Any]) -> str:
    """Return why what has these attributes cannot be decoded as times, "" if they do not tell."""
    units, calendar = (attributes.get(key, "") for key in ("units", "calendar"))
    if not (isinstance(units, str) and isinstance(calendar, str) and " since " in units):
        return ""
    return next((text for _rule, text in faults_of(units, calendar)), "")


def times_undecoded(group: Node, planned: PlannedVariable, reason: str) -> Finding:
    """Return the finding of a variable in a group whose times cannot be decoded."""
    text = _("opened with its times undecoded: {reason}").format(reason=reason)
    return _undecoded(group, planned, text)


def _finding(
    group: BuiltGroup, planned: PlannedVariable, remedy: _Remedy, attributes: Mapping[str, Any]
) -> Finding:
    """Return the finding of a variable that could not be decoded as asked for, which has attributes."""
    reason = str(remedy.error)
    pointers = ", ".join(f"/attributes/{key}" for key in remedy.set_aside)
    if remedy.switched_off is None:
        message = _("left out, xarray cannot decode it: {reason}")
    elif pointers and not remedy.switched_off:
        message = _("opened without {pointers}: {reason}")
        if not any(isinstance(value, str) for value in remedy.set_aside.values()):
            message = _("opened without {pointers}: it must be a string")
    elif "mask_and_scale" in remedy.switched_off:
        message = _("left undecoded, xarray cannot decode it: {reason}")
    else:
        found = times_undecoded(group.node, planned, why_no_times(attributes) or reason)
        return replace(found, error=remedy.error)
    text = message.format(pointers=pointers, reason=reason)
    return _undecoded(group.node, planned, text, remedy.error)
