"""The service convention `quality`: a reference to flags, and one to what these mean."""

from __future__ import annotations

from typing import Any

import xarray as xr
import zarr

from zarr_xgroup.conventions import ConventionHandler


class QualityHandler(ConventionHandler):
    """Attaches the flags of an array, wherever they are."""

    tier = "service"
    name = "quality"
    identifiers = ("a-third-party/quality",)

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        """Return the flags, lazy, with their meanings as an attribute."""
        quality: Any = array.attrs["quality"]
        flags = self.resolver.variable(quality["flags"])
        if "meanings" in quality:
            flags.attrs["flag_meanings"] = self.resolver.value(quality["meanings"])
        return {"quality": flags}
