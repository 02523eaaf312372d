"""What the data carry themselves stands against what is declared: which arrays of a group do, for what.

Whoever opens, subsets, reprojects and writes data leaves the attributes of conventions behind. Reopening
must not bring back what they said: a group's own coordinates and grid mappings stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarr_xgroup.conventions.array import is_standing
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.variables.sources import HandlerVariable, Stored


def stands(own: Stored, attributes: Mapping[str, Any], declared: Coordinate) -> bool:
    """Tell whether a group's own array stands in the place of a coordinate that is declared.

    Parameters
    ----------
    own : Stored
        The array that is called as the coordinate, along the dimensions that it has.
    attributes : mapping
        Its attributes.
    declared : Coordinate
        What is declared.
    """
    source = declared.source
    if isinstance(source, HandlerVariable) or sorted(own.dims) != sorted(source.dims):
        return False
    if not isinstance(source, Stored):
        return is_standing(declared.name, source.dims, attributes)
    return source.dims == (declared.name,) and source.node != own.node
