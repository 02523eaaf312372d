"""Decoding by xarray, such that an array it cannot decode spoils no other.

xarray raises for the whole Dataset when the attributes of one variable make no sense. Here
only that variable is left undecoded, as far as needed, and a warning says so.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict

import xarray as xr
from xarray.conventions import decode_cf_variables

from zarr_xgroup.assembly import AssembledGroup
from zarr_xgroup.cf import STRING_ATTRIBUTES
from zarr_xgroup.datastore import ResolvedZarrStore
from zarr_xgroup.documents import copy_of
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, XGroupMetadataWarning
from zarr_xgroup.i18n import _
from zarr_xgroup.paths import join_path
from zarr_xgroup.variables import METADATA_ERRORS, independent_copy


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


#: Attributes by which a variable says something of others, or is told something by them.
_RELATIONS = frozenset(
    {"coordinates", "grid_mapping", "bounds", "cell_measures", "ancillary_variables"}
    | {"formula_terms", "climatology"}
)


@dataclass(frozen=True)
class _Shared:
    """A coordinate that is decoded once for all groups that have it."""

    attributes: Mapping[str, Any]
    encoding: Mapping[str, Any]
    decoded: xr.Variable
    index: xr.Index | None


class Decoder:
    """Makes Datasets of the groups of one open, decoded by xarray.

    Parameters
    ----------
    options : DecodingOptions
        What xarray shall decode.
    with_indexes : bool
        Whether to build xarray's default indexes, which it would build afterwards: here it is
        done once for coordinates that are the same in many groups.
    """

    def __init__(self, options: DecodingOptions, *, with_indexes: bool) -> None:
        self._options = options
        self._with_indexes = with_indexes
        self._shared: dict[Hashable, _Shared] = {}

    def dataset(self, group: AssembledGroup) -> tuple[xr.Dataset, list[XGroupMetadataWarning]]:
        """Return a group as a Dataset.

        Parameters
        ----------
        group : AssembledGroup
            Its variables are undecoded.

        Returns
        -------
        dataset : xarray.Dataset
            Without those variables that cannot be opened in any way.
        warnings : list of XGroupMetadataWarning
            One for each variable that was not decoded as asked for.
        """
        remedies = {
            name: _Remedy(error, switched_off=_STEPS[1]) for name, error in group.undecoded.items()
        }
        try:
            dataset = self._opened(group, remedies)
        except METADATA_ERRORS:
            readable = {
                name: variable for name, variable in group.variables.items() if name not in remedies
            }
            found = dict(_remedies(readable, self._options))
            if not found:
                raise
            remedies |= found
            dataset = self._opened(group, remedies)
        return dataset, [
            _warning(_subject(name, group.path, group.referrers), remedy)
            for name, remedy in remedies.items()
            if name not in group.undecoded or name not in group.referrers  # else told already
        ]

    def _opened(self, group: AssembledGroup, remedies: Mapping[str, _Remedy]) -> xr.Dataset:
        """Return a Dataset in which remedies are applied."""
        variables = dict(group.variables)
        options = self._options
        for name, remedy in remedies.items():
            if remedy.switched_off is None:
                del variables[name]
            else:
                variables[name] = _without_attributes(variables[name], remedy.set_aside)
        if remedies:
            switched_off = {name: remedy.switched_off or () for name, remedy in remedies.items()}
            options = _switched_off(options, switched_off, variables)
        store = ResolvedZarrStore(variables, group.attributes)
        dataset = self._decoded(store, group, options, share=not remedies)
        for name, remedy in remedies.items():
            if name in dataset.variables:
                dataset[name].attrs.update(remedy.set_aside)
        return dataset

    def _decoded(
        self,
        store: ResolvedZarrStore,
        group: AssembledGroup,
        options: DecodingOptions,
        *,
        share: bool,
    ) -> xr.Dataset:
        """Return a Dataset as xarray's StoreBackendEntrypoint makes it of a store."""
        undecoded, attributes = store.load()  # type: ignore[no-untyped-call]
        shared = self._shared_of(undecoded, group.identities, options) if share else {}
        own = {name: variable for name, variable in undecoded.items() if name not in shared}
        decoded, attributes, names = decode_cf_variables(own, attributes, **options)
        known = {name: independent_copy(item.decoded) for name, item in shared.items()}
        found = {**decoded, **known}
        variables: dict[str, xr.Variable] = {
            name: found[name] for name in undecoded if name in found
        }
        coordinates = {
            name: variable
            for name, variable in variables.items()
            if name in names or name in group.coordinates or variable.dims == (name,)
        }
        data = {name: item for name, item in variables.items() if name not in coordinates}
        indexes = {}
        for name, item in shared.items():
            if item.index is not None:
                coordinates[name], indexes[name] = _own_index(name, coordinates[name], item.index)
        if self._with_indexes:
            for name, variable in coordinates.items():
                if variable.dims == (name,) and name not in indexes:
                    coordinates[name], indexes[name] = _indexed(name, variable)
        return xr.Dataset(data, xr.Coordinates(coordinates, indexes), attributes)

    def _shared_of(
        self,
        variables: Mapping[str, xr.Variable],
        identities: Mapping[str, Hashable],
        options: DecodingOptions,
    ) -> dict[str, _Shared]:
        """Return what can be shared with other groups: what is the same and related to nothing."""
        if any("coordinates" in variable.attrs for variable in variables.values()):
            return {}  # xarray looks for what it names among the variables
        shared = {}
        for name, variable in variables.items():
            if name not in identities or not _RELATIONS.isdisjoint(variable.attrs):
                continue
            # Numbers of a grid can be the same where its size is not.
            key = (name, identities[name], variable.dims, variable.shape)
            known = self._shared.get(key)
            if known is None:
                known = self._share(name, variable, options)
                if known is None:
                    continue  # not wanted
                self._shared[key] = known
            if _same(known.attributes, variable.attrs) and _same(known.encoding, variable.encoding):
                shared[name] = known
        return shared

    def _share(self, name: str, variable: xr.Variable, options: DecodingOptions) -> _Shared | None:
        attributes, encoding = copy_of(variable.attrs), copy_of(variable.encoding)
        found, _attributes, _names = decode_cf_variables({name: variable}, {}, **options)
        if name not in found:
            return None
        decoded, index = found[name], None
        if self._with_indexes and decoded.dims == (name,):
            decoded, index = _indexed(name, decoded)
        return _Shared(attributes, encoding, decoded, index)


def _same(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Tell whether attributes or encodings are the same; not if they cannot be compared."""
    try:
        return bool(mine == theirs)
    except ValueError:  # arrays among them, which plug-ins may give
        return False


def _own_index(name: str, variable: xr.Variable, index: xr.Index) -> tuple[xr.Variable, xr.Index]:
    """Return an index and its variable such that no values can be changed in another one.

    Before pandas 3 the values of an index can be written to.
    """
    if not variable.values.flags.writeable:
        return variable, index
    own = index.copy(deep=True)
    return own.create_variables({name: variable})[name], own


def _indexed(name: str, variable: xr.Variable) -> tuple[xr.Variable, xr.Index]:
    coordinates = xr.Coordinates({name: variable})
    return coordinates.variables[name], coordinates.xindexes[name]


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
    error = remedy.error
    reason = str(error) if isinstance(error, XGroupError) else f"{type(error).__name__}: {error}"
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
    return XGroupMetadataWarning(
        text, error if isinstance(error, XGroupError) else XGroupMetadataError(reason)
    )
