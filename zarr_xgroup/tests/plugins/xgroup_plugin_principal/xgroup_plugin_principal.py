"""The principal convention `ticks`: ``{"<dimension>": {"start": 10, "interval": 5}}``."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
import zarr

from zarr_xgroup.conventions import ConventionHandler


class TicksHandler(ConventionHandler):
    """Computes a coordinate for each dimension that has ticks."""

    tier = "principal"
    name = "ticks"
    uuid = "5a8e9d5c-3c55-4c8a-9d64-1f2f0f2b6f10"

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        """Return the coordinates, with the unit that the group or the root declares."""
        attributes: dict[str, Any] = array.attrs.asdict()
        names = getattr(array.metadata, "dimension_names", None) or attributes["_ARRAY_DIMENSIONS"]
        sizes = dict(zip(names, array.shape, strict=True))
        unit = group.attrs.get("ticks_unit") or root.attrs.get("ticks_unit") or "1"
        return {
            dimension: xr.Variable(
                (dimension,),
                ticks["start"] + ticks["interval"] * np.arange(sizes[dimension]),
                {"units": unit},
            )
            for dimension, ticks in attributes["ticks"].items()
        }
