"""Typed handlers of a third party, in which `mypy --strict` finds no errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
import zarr

from zarr_xgroup import ConventionHandler, XGroupError, register
from zarr_xgroup.conventions import ArrayView, Coordinate, Interpretation, Literal


@register
class LevelsHandler(ConventionHandler):
    """Adds the referenced array as a coordinate, with `get_variables`."""

    tier = "principal"
    name = "typed_levels"

    @classmethod
    def detect(cls, root: zarr.Group, group: zarr.Group, array: zarr.Array[Any]) -> bool:
        return "levels" in array.attrs and root.path == "" and group.name != ""

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        reference: Any = array.attrs["levels"]
        try:
            variable: xr.Variable = self.resolver.variable(reference)
        except XGroupError as error:
            place: str = error.place
            raise XGroupError(place) from error
        return {"levels": variable}


class NumbersHandler(ConventionHandler):
    """Reads numbers from attributes, with `interpret` like the built-in handlers."""

    tier = "service"
    name = "typed_numbers"

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        return ()

    def interpret(self, array: ArrayView) -> Interpretation:
        numbers = array.attribute("numbers")
        if numbers is None:
            return array.interpretation()
        values = np.array([float(item.value) for item in numbers.items()])
        dimension: str = array.dims[0]
        return array.interpretation(
            Coordinate(dimension, Literal(values, (dimension,)), {"units": "1"})
        )
