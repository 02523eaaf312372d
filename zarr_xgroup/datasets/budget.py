"""How much is read while a store is opened: a few lines of metadata must not fill the memory.

xarray reads each dimension coordinate as a whole to build its default index. The group's own
arrays it reads with any engine. Of what references and computed coordinates add to them, a longer one
stays lazy, under a name that is not its dimension's.

Of other times xarray reads the first and the last value to find out how they decode, and with each
of these a whole chunk: those in longer chunks are left undecoded.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import TYPE_CHECKING

from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Source, Stored

if TYPE_CHECKING:
    import xarray as xr

    from zarr_xgroup.variables.making import Maker
    from zarr_xgroup.variables.stored import Template

#: How many values are read for one index, or for the first or the last value: 128 MiB of most numbers.
MOST_VALUES = 2**24
#: Up to how many the group's own times are decoded, as by any engine: no compressor of Zarr makes longer chunks.
MOST_OWN_VALUES = 2**28


def is_too_long(source: Source, maker: Maker) -> bool:
    """Tell whether what is read from a source, in whole chunks, is more than is read for an index."""
    if isinstance(source, Computed):
        return prod(source.shape) > MOST_VALUES
    variable: xr.Variable | Template
    if isinstance(source, HandlerVariable):
        variable = source.variable
    elif isinstance(source, Stored):
        try:
            variable = maker.template(source.node, source.along)
        except XGroupMetadataError:
            return False  # told where it is attached
    else:
        return False
    return max(prod(variable.shape), chunk_size(variable)) > MOST_VALUES


def chunk_size(variable: xr.Variable | Template) -> int:
    """Return how many values the longest chunk of a variable has, by its encoding."""
    chunks: Collection[int | Collection[int]] = variable.encoding.get("chunks") or variable.shape
    return prod(it if isinstance(it, int) else max(it, default=0) for it in chunks)
