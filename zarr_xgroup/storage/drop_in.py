"""The options of xarray's engine zarr, as far as an open that only reads can honour them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarr_xgroup.i18n import _
from zarr_xgroup.options import EngineZarrOptions


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
