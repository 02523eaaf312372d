"""The convention `stations`: an array refers to the numbers of its stations."""

import xarray as xr
import zarr

from zarr_xgroup import ConventionHandler


class StationsHandler(ConventionHandler):
    """Adds the coordinate `station` from the array that the attribute `stations` refers to."""

    tier = "principal"
    name = "stations"
    uuid = "0b6f3a52-8f0e-4d39-9d3c-2f5c1f0f7c11"

    def get_variables(
        self, array: zarr.Array, group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        """Return the coordinates of an array by name."""
        return {"station": self.resolver.variable(array.attrs["stations"])}
