"""Handlers with type errors. A comment marks each line in which `mypy --strict` must find one."""

from __future__ import annotations

from typing import Any

import xarray as xr
import zarr

from zarr_xgroup import ConventionHandler, XGroupError, register
from zarr_xgroup.conventions import ArrayView, Coordinate, Interpretation


class MistakenHandler(ConventionHandler):
    """Has an error in each member."""

    tier = "primary"  # mistake
    name = 5  # mistake

    def get_variables(  # mistake
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> list[xr.Variable]:
        return [self.resolver.variable({"node": "levels"}, depth="2")]  # mistake

    def interpret(self, array: ArrayView) -> Interpretation:
        array.report("what is wrong")  # mistake
        return array.interpretation(Coordinate("x", "x"))  # mistake


def place_of(error: XGroupError) -> int:
    return error.place  # mistake


register(MistakenHandler())  # mistake
