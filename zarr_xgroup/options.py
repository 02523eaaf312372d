"""The options of an open: what xarray passes to a backend, and what is our own.

Light to import, as the entry point of xarray is: whoever lists engines imports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from zarr_xgroup.metadata.documents import ZarrFormat

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


class InterpretationOptions(TypedDict, total=False):
    """The options that say how metadata are understood."""

    assume_conventions: str | Iterable[str] | None


class DecodingOptions(TypedDict, total=False):
    """The decoding options of `xarray.open_dataset`, passed on to xarray unchanged."""

    mask_and_scale: bool | Mapping[str, bool]
    decode_times: Any
    concat_characters: bool | Mapping[str, bool]
    decode_coords: Any
    drop_variables: str | Iterable[str] | None
    use_cftime: bool | Mapping[str, bool] | None
    decode_timedelta: Any


class OpenOptions(
    StoreOptions, EngineZarrOptions, InterpretationOptions, DecodingOptions, total=False
):
    """All options of an open: what xarray passes to a backend, and what concerns the store."""

    use_zarr_fill_value_as_mask: bool | None
    convention_attrs: ConventionAttrs | None
