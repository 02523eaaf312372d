"""The options of an open call: those that xarray passes to a backend, and our own.

This module must be light: listing the engines of xarray imports it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from inspect import Parameter, signature
from numbers import Real
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, cast, get_args

import numpy as np

from zarr_xgroup.i18n import _

if TYPE_CHECKING:
    from zarr_xgroup.metadata.documents import ZarrFormat

Function = TypeVar("Function", bound=Callable[..., Any])

ConventionAttrs: TypeAlias = Literal["keep", "drop", "json"]
Problems: TypeAlias = Literal["warn", "raise"]

#: A number for Y and one for X.
Pair: TypeAlias = tuple[float, float]


class StoreOptions(TypedDict, total=False):
    """The options that define how stores are opened: those of engine zarr, and those for other stores."""

    group: str | None
    consolidated: bool | None
    storage_options: dict[str, Any] | None
    zarr_format: ZarrFormat | None
    cross_store_storage_options: Mapping[str, Mapping[str, Any]] | None
    cross_store_timeout: float | None
    cross_store_max_bytes: int | None
    cross_store_max_stores: int | None


class EngineZarrOptions(TypedDict, total=False):
    """Further options of engine zarr, accepted so that scripts for that engine work.

    Attributes
    ----------
    mode : "r"
        This engine only reads.
    zarr_version : {2, 3} or None
        The former name of `zarr_format`.
    cache_members : bool
        Whether the members of a group are listed once. Ignored: they always are.
    stacklevel : int
        The line that warnings point at. Ignored: it is always the line of the call.
    """

    mode: Literal["r"] | None
    zarr_version: ZarrFormat | None
    cache_members: bool
    stacklevel: int


class DecodingOptions(TypedDict, total=False):
    """The decoding options of `xarray.open_dataset`, passed on to xarray unchanged."""

    mask_and_scale: bool | Mapping[str, bool]
    decode_times: Any
    concat_characters: bool | Mapping[str, bool]
    decode_coords: Any
    drop_variables: str | Iterable[str] | None
    use_cftime: bool | Mapping[str, bool] | None
    decode_timedelta: Any


class ReportOptions(StoreOptions, DecodingOptions, total=False):
    """The options of a report: those of opening a group that change the Dataset."""

    assume_conventions: Literal["auto"] | str | Iterable[str] | None
    resolution: float | tuple[float, float] | None
    use_zarr_fill_value_as_mask: bool | None
    convention_attrs: ConventionAttrs | None


class OpenOptions(ReportOptions, EngineZarrOptions, total=False):
    """All options of opening a group: those that xarray passes to a backend, and those about the store."""

    problems: Problems | None


class TreeReportOptions(ReportOptions, total=False):
    """The options of a report on a tree."""

    group_filter: str | None


class OpenTreeOptions(OpenOptions, total=False):
    """All options of opening a tree."""

    group_filter: str | None


#: The default values of options that are not None.
DEFAULTS: Mapping[str, Any] = {
    "cross_store_timeout": 30.0,
    "cross_store_max_bytes": 2**25,
    "cross_store_max_stores": 100,
    "convention_attrs": "keep",
    "problems": "warn",
    "mode": "r",
    "cache_members": True,
    "stacklevel": 3,
    "mask_and_scale": True,
    "decode_times": True,
    "concat_characters": True,
    "decode_coords": True,
}


def with_options_shown(function: Function, kind: type[ReportOptions] = OpenOptions) -> Function:
    """Return the function with a signature that names each option of `kind`, for `help` and completion."""

    def rank(option: tuple[str, Any]) -> int:
        """Return the rank of an option in the signature: the most used options come first."""
        name, _annotation = option
        return 2 * (name in EngineZarrOptions.__annotations__) + name.startswith("cross_store_")

    original = signature(function)
    parameters = original.parameters.values()
    named = [parameter for parameter in parameters if parameter.kind != Parameter.VAR_KEYWORD]
    options = [
        # Annotations are text, like those of the function.
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=DEFAULTS.get(name),
            annotation=getattr(annotation, "__forward_arg__", annotation),
        )
        for name, annotation in sorted(kind.__annotations__.items(), key=rank)
    ]
    full = original.replace(parameters=[*named, *options])
    function.__dict__["__signature__"] = full  # type checkers would report a plain assignment
    return function


with_tree_options_shown = partial(with_options_shown, kind=OpenTreeOptions)
with_report_options_shown = partial(with_options_shown, kind=TreeReportOptions)


#: Names that users try, and the option that they mean, of ours or of xarray itself.
_MEANT = {"level": ["resolution"], "chunk": ["chunks"]}


def settled_options(options: ReportOptions, kind: type[ReportOptions]) -> OpenTreeOptions:
    """Return the options after checking them as options of `kind`, without those that only engine zarr has.

    Raises
    ------
    TypeError
        If an option does not exist or is not supported.
    ValueError
        If the value of an option is not valid, or the store is to be opened for writing.
    """
    settled: dict[str, Any] = {**options}
    known = kind.__annotations__
    is_for_xarray = EngineZarrOptions.__annotations__.keys() <= known.keys()
    if is_for_xarray:
        settled = _without_engine_zarr(settled)
    if unknown := sorted(settled.keys() - known.keys()):
        if "group_filter" in unknown:
            text = _("group_filter chooses groups of a tree: use it with {functions}")
            raise TypeError(text.format(functions="xarray.open_datatree, xarray.open_groups"))
        text, named = _("{name} (did you mean {meant}?)"), []
        for name in unknown:
            likely = _MEANT.get(name) or get_close_matches(name, known, 1)
            named.append(text.format(name=name, meant=likely[0]) if likely else name)
        message = _("unknown option {names}; valid options: {options}")
        if is_for_xarray:
            message = _("engine 'xgroup' has no option {names}; valid options: {options}")
        raise TypeError(message.format(names=", ".join(named), options=", ".join(sorted(known))))
    if not isinstance(group := settled.get("group"), str | None):
        text = _("group must be the path of a group, such as 'a/b', got {value!r}")
        raise TypeError(text.format(value=group))
    if (zarr_format := settled.get("zarr_format")) not in (2, 3, None):
        text = _("zarr_format must be 2 or 3, got {value!r}")
        raise ValueError(text.format(value=zarr_format))
    return cast(OpenTreeOptions, settled)


def convention_attrs_of(how: Any) -> ConventionAttrs:
    """Return the option `convention_attrs`; raise ValueError if it is not valid."""
    chosen: ConventionAttrs = _one_of(get_args(ConventionAttrs), "convention_attrs", how)
    return chosen


def problems_of(how: Any) -> Problems:
    """Return the option `problems`; raise ValueError if it is not valid."""
    chosen: Problems = _one_of(get_args(Problems), "problems", how)
    return chosen


def _one_of(choices: tuple[str, ...], name: str, value: Any) -> Any:
    """Return the value of an option, by default the first of its choices; raise ValueError if it is not one of them."""
    if value is not None and value not in choices:
        message = _("{name} must be one of {choices}, got {value!r}")
        named = ", ".join(map(repr, choices))
        raise ValueError(message.format(name=name, choices=named, value=value))
    return choices[0] if value is None else value


def group_filter_of(options: TreeReportOptions) -> str | None:
    """Return the option `group_filter`; raise TypeError or ValueError if it is not valid with the other options."""
    pattern = options.get("group_filter")
    if pattern is None:
        return None
    if not isinstance(pattern, str):
        text = _(
            "group_filter must be a pattern for paths of groups, such as '*/r10m', got {value!r}"
        )
        raise TypeError(text.format(value=pattern))
    if not PurePosixPath(pattern).parts:
        text = _("group_filter must not be empty, got {value!r}")
        raise ValueError(text.format(value=pattern))
    if options.get("group") not in (None, "", "/"):
        text = _("group_filter chooses groups of the whole tree: leave out group={value!r}")
        raise ValueError(text.format(value=options.get("group")))
    if options.get("resolution") is not None:
        text = _("group_filter and resolution cannot be used together")
        raise ValueError(text)
    return pattern


def resolution_of(value: Any) -> Pair | None:
    """Return the option `resolution` for Y and X; raise ValueError if it is not a valid cell size."""
    if value is None:
        return None
    numbers = list(value) if isinstance(value, tuple | list | np.ndarray) else [value, value]
    if len(numbers) != 2 or not all(map(is_size, numbers)):
        message = _(
            "resolution must be a positive number, or a pair of them for y and x, in the unit of "
            "the coordinates, got {value!r}"
        )
        raise ValueError(message.format(value=value))
    return float(numbers[0]), float(numbers[1])


def is_size(number: Any) -> bool:
    """Return whether a value is a valid cell size: a positive number."""
    is_number = isinstance(number, Real) and not isinstance(number, bool)
    return is_number and math.isfinite(number) and number > 0


def _without_engine_zarr(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that only engine zarr has; raise an exception for a value that is not supported."""
    refused = ("synchronizer", "chunk_store", "store")
    for name in refused:
        if options.get(name) is not None:
            reasons = {
                "synchronizer": _("it is for writing, and zarr no longer has it; leave it out"),
                "chunk_store": _(
                    "zarr no longer supports separate stores for chunks and metadata; open one store with both"
                ),
                "store": _("the store to open is the first argument"),
            }
            message = _("engine 'xgroup' does not support the option {name!r}: {reason}")
            raise TypeError(message.format(name=name, reason=reasons[name]))
    mode, version = options.get("mode"), options.get("zarr_version")
    if mode not in (None, "r"):
        message = _("engine 'xgroup' only reads: mode must be 'r', got {mode!r}")
        raise ValueError(message.format(mode=mode))
    names = {*refused, *EngineZarrOptions.__annotations__}
    kept = {name: value for name, value in options.items() if name not in names}
    if version is None:
        return kept
    if kept.get("zarr_format") not in (None, version):
        message = _(
            "zarr_version {version} differs from zarr_format {format}; leave out zarr_version"
        )
        raise ValueError(message.format(version=version, format=kept["zarr_format"]))
    return {**kept, "zarr_format": version}
