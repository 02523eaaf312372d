"""Renamed dimensions, also where the encoding of variables names them."""

from collections.abc import Hashable, Mapping
from typing import Any


def renamed_encoding(encoding: Mapping[Any, Any], names: Mapping[str, str]) -> dict[Any, Any]:
    """Return an encoding whose ``preferred_chunks`` have dimensions renamed.

    xarray divides a variable by these when it is opened with ``chunks``.
    """
    result = dict(encoding)
    chunks: Mapping[Hashable, Any] | None = result.get("preferred_chunks")
    if chunks is not None:
        result["preferred_chunks"] = {
            names.get(str(dimension), dimension): size for dimension, size in chunks.items()
        }
    return result
