"""Renamed dimensions of variables, also where their encoding names them."""

from collections.abc import Hashable, Mapping
from typing import Any

import xarray as xr


def with_renamed_dimensions(variable: xr.Variable, names: Mapping[str, str]) -> xr.Variable:
    """Return a variable with some dimensions renamed.

    Parameters
    ----------
    variable : xarray.Variable
        Left as it is.
    names : mapping of str to str
        Old to new name.
    """
    renamed = variable.copy(deep=False)
    renamed.dims = tuple(names.get(str(dimension), dimension) for dimension in variable.dims)
    renamed.encoding = renamed_encoding(variable.encoding, names)
    return renamed


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
