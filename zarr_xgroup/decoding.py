"""Decoding by xarray, such that an array it cannot decode spoils no other.

xarray raises for the whole Dataset when the attributes of one variable make no sense. Here
only that variable is left undecoded, as far as needed, and a warning says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict

import xarray as xr
from xarray.backends import StoreBackendEntrypoint
from xarray.conventions import decode_cf_variables

from zarr_xgroup.cf import STRING_ATTRIBUTES
from zarr_xgroup.datastore import ResolvedZarrStore
from zarr_xgroup.errors import XGroupMetadataError, XGroupMetadataWarning, XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.paths import join_path
from zarr_xgroup.variables import METADATA_ERRORS


class DecodingOptions(TypedDict, total=False):
    """The decoding options of `xarray.open_dataset`, passed on to xarray unchanged."""

    mask_and_scale: bool | Mapping[str, bool]
    decode_times: Any
    concat_characters: bool | Mapping[str, bool]
    decode_coords: Any
    drop_variables: str | Iterable[str] | None
    use_cftime: bool | Mapping[str, bool] | None
    decode_timedelta: Any


_Coder: TypeAlias = Literal[
    "decode_times", "decode_timedelta", "mask_and_scale", "concat_characters"
]

#: What is switched off, one after the other, for a variable that cannot be decoded.
_STEPS: tuple[tuple[_Coder, ...], ...] = (
    (),
    ("decode_times", "decode_timedelta"),
    ("decode_times", "decode_timedelta", "mask_and_scale", "concat_characters"),
)


@dataclass
class _Remedy:
    """How a variable can be opened after all: without some attributes, partly undecoded."""

    error: Exception
    set_aside: Mapping[str, Any] = field(default_factory=dict)
    switched_off: tuple[_Coder, ...] | None = None


def decode(
    store: ResolvedZarrStore,
    group: str,
    referrers: Mapping[str, str],
    options: DecodingOptions,
    unreadable: Mapping[str, XGroupStoreError] | None = None,
) -> tuple[xr.Dataset, list[XGroupMetadataWarning]]:
    """Return a store's variables as a Dataset decoded by xarray.

    Parameters
    ----------
    store : ResolvedZarrStore
        Undecoded variables.
    group : str
        The path of the group, for messages.
    referrers : mapping of str to str
        The arrays that brought those variables that are no arrays of the group.
    options : DecodingOptions
        What xarray shall decode.
    unreadable : mapping of str to XGroupStoreError, optional
        Variables that cannot be read, and why: to decode times xarray reads some.

    Returns
    -------
    dataset : xarray.Dataset
        Without those variables that cannot be opened in any way.
    warnings : list of XGroupMetadataWarning
        One for each variable that was not decoded as asked for.
    """
    remedies = {
        name: _Remedy(error, switched_off=_STEPS[1]) for name, error in (unreadable or {}).items()
    }
    try:
        dataset = _opened(store, remedies, options)
    except METADATA_ERRORS:
        readable = {
            str(name): variable
            for name, variable in store.get_variables().items()
            if name not in remedies
        }
        found = dict(_remedies(readable, options))
        if not found:
            raise
        remedies |= found
        dataset = _opened(store, remedies, options)
    return dataset, [
        _warning(_subject(name, group, referrers), remedy) for name, remedy in remedies.items()
    ]


def _opened(
    store: ResolvedZarrStore, remedies: Mapping[str, _Remedy], options: DecodingOptions
) -> xr.Dataset:
    """Return a Dataset in which remedies are applied."""
    if not remedies:
        return StoreBackendEntrypoint().open_dataset(store, **options)
    variables: dict[str, xr.Variable] = dict(store.get_variables())
    for name, remedy in remedies.items():
        if remedy.switched_off is None:
            del variables[name]
        else:
            variables[name] = _without_attributes(variables[name], remedy.set_aside)
    switched_off = {name: remedy.switched_off or () for name, remedy in remedies.items()}
    dataset = StoreBackendEntrypoint().open_dataset(
        ResolvedZarrStore(variables, store.get_attrs()),
        **_switched_off(options, switched_off, variables),
    )
    for name, remedy in remedies.items():
        if name in dataset.variables:
            dataset[name].attrs.update(remedy.set_aside)
    return dataset


def _remedies(
    variables: Mapping[str, xr.Variable], options: DecodingOptions
) -> Iterator[tuple[str, _Remedy]]:
    """Yield the variables that cannot be decoded, and how each can be opened after all."""
    for name, variable in variables.items():
        error = _decoding_error(name, variable, options)
        if error is None:
            continue
        set_aside = {
            key: value
            for key, value in variable.attrs.items()
            if key in STRING_ATTRIBUTES and not isinstance(value, str)
        }
        bare = _without_attributes(variable, set_aside)
        # Without its calendar a time would be another one: it is left undecoded then.
        for step in _STEPS[1:] if "calendar" in set_aside else _STEPS:
            if _decoding_error(name, bare, _switched_off(options, {name: step}, [name])) is None:
                yield name, _Remedy(error, set_aside, step)
                break
        else:
            yield name, _Remedy(error)


def _decoding_error(name: str, variable: xr.Variable, options: DecodingOptions) -> Exception | None:
    try:
        decode_cf_variables({name: variable.copy(deep=False)}, {}, **options)
    except METADATA_ERRORS as error:
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


def _subject(name: str, group: str, referrers: Mapping[str, str]) -> str:
    if name in referrers:
        return _("Array {path}: its coordinate {name!r}").format(path=referrers[name], name=name)
    return _("Array {path}").format(path=f"/{join_path(group, name)}")


def _warning(subject: str, remedy: _Remedy) -> XGroupMetadataWarning:
    reason = f"{type(remedy.error).__name__}: {remedy.error}"
    pointers = ", ".join(f"/attributes/{key}" for key in remedy.set_aside)
    if remedy.switched_off is None:
        message = _("{subject} was left out, xarray cannot decode it: {reason}")
    elif pointers and not remedy.switched_off:
        message = _("{subject} was opened without {pointers}, no string: {reason}")
    elif "mask_and_scale" in remedy.switched_off:
        message = _("{subject} was left undecoded, xarray cannot decode it: {reason}")
    else:
        message = _("{subject} was opened with its times undecoded: {reason}")
    text = message.format(subject=subject, pointers=pointers, reason=reason)
    return XGroupMetadataWarning(text, XGroupMetadataError(reason))
