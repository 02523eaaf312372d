"""The options of an open: what xarray passes to a backend, and what is our own.

Light to import, as the entry point of xarray is: whoever lists engines imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar

from zarr_xgroup.i18n import _

if TYPE_CHECKING:
    from zarr_xgroup.metadata.documents import ZarrFormat

Function = TypeVar("Function", bound=Callable[..., Any])

ConventionAttrs: TypeAlias = Literal["keep", "drop", "json"]


class ForeignOptions(TypedDict, total=False):
    """The options of an open that say how other stores are opened."""

    cross_store_storage_options: Mapping[str, Mapping[str, Any]] | None
    cross_store_timeout: float | None
    cross_store_max_bytes: int | None
    cross_store_max_stores: int | None


class StoreOptions(ForeignOptions, total=False):
    """The options that say how stores are opened: those of engine zarr, and of other stores."""

    group: str | None
    consolidated: bool | None
    storage_options: dict[str, Any] | None
    zarr_format: ZarrFormat | None


class EngineZarrOptions(TypedDict, total=False):
    """Options that scripts for engine zarr may give, beside those that say which store is meant.

    Attributes
    ----------
    mode : "r"
        Nothing is written here.
    zarr_version : {2, 3} or None
        What `zarr_format` was called.
    cache_members : bool
        Whether the members of a group are listed once; here they always are.
    stacklevel : int
        Which line warnings point at; here it is always the one that opens.
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
    """The options of a report on an open: those of the open that change what is made of a store."""

    assume_conventions: Literal["auto"] | str | Iterable[str] | None
    resolution: float | tuple[float, float] | None
    use_zarr_fill_value_as_mask: bool | None
    convention_attrs: ConventionAttrs | None


class OpenOptions(ReportOptions, EngineZarrOptions, total=False):
    """All options of an open: what xarray passes to a backend, and what concerns the store."""


#: What it means not to give an option, where that is not None.
DEFAULTS: Mapping[str, Any] = {
    "cross_store_timeout": 30.0,
    "cross_store_max_bytes": 2**25,
    "cross_store_max_stores": 100,
    "convention_attrs": "keep",
    "mode": "r",
    "cache_members": True,
    "stacklevel": 3,
    "mask_and_scale": True,
    "decode_times": True,
    "concat_characters": True,
    "decode_coords": True,
}


def with_options_shown(function: Function, kind: type[ReportOptions] = OpenOptions) -> Function:
    """Return a function that takes options of a kind, of which `help` and completion show each."""
    found = signature(function)
    named = [it for it in found.parameters.values() if it.kind != Parameter.VAR_KEYWORD]
    options = [
        # Annotations are text, as those of the function are.
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=DEFAULTS.get(name),
            annotation=getattr(annotation, "__forward_arg__", annotation),
        )
        for name, annotation in sorted(kind.__annotations__.items(), key=_rank)
    ]
    shown = found.replace(parameters=[*named, *options])
    function.__dict__["__signature__"] = shown  # which type checkers would take for a mistake
    return function


with_report_options_shown = partial(with_options_shown, kind=ReportOptions)


def _rank(option: tuple[str, Any]) -> int:
    """Return how far behind an option is shown: what is asked for every day comes first."""
    name, _annotation = option
    return 2 * (name in EngineZarrOptions.__annotations__) + (
        name in ForeignOptions.__annotations__
    )


def without_engine_zarr(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those of engine zarr, which are honoured or refused.

    Raises
    ------
    TypeError
        If an option is given that cannot be honoured.
    ValueError
        If the store is to be opened for writing, or two options name different formats.
    """
    refused = {
        "synchronizer": _("it is for writing, and zarr has none any more; leave it out"),
        "chunk_store": _(
            "zarr takes no store of chunks beside that of metadata any more; open one that has both"
        ),
        "store": _("the store to open is the first argument"),
    }
    for name, reason in refused.items():
        if options.get(name) is not None:
            message = _("engine 'xgroup' does not take {name!r}: {reason}")
            raise TypeError(message.format(name=name, reason=reason))
    mode = options.get("mode")
    if mode not in (None, "r"):
        message = _("engine 'xgroup' only reads: mode must be 'r', got {mode!r}")
        raise ValueError(message.format(mode=mode))
    names = {*refused, *EngineZarrOptions.__annotations__}
    kept = {name: value for name, value in options.items() if name not in names}
    version = options.get("zarr_version")
    if version is None:
        return kept
    if kept.get("zarr_format") not in (None, version):
        message = _("zarr_version {version} and zarr_format {format} are not the same")
        raise ValueError(message.format(version=version, format=kept["zarr_format"]))
    return {**kept, "zarr_format": version}
