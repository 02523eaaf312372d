"""Along which horizontal axis an array or a dimension is, by what it says itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarr_xgroup.metadata.cf import LATITUDES, LONGITUDES

#: Attributes of a coordinate array by which it is along an axis (CF 1.12, chapter 4).
_BY_ATTRIBUTE = {
    **{("axis", axis): axis for axis in ("X", "Y")},
    **{
        ("standard_name", name): axis
        for axis, names in {
            "X": ("longitude", "grid_longitude", "projection_x_coordinate"),
            "Y": ("latitude", "grid_latitude", "projection_y_coordinate"),
        }.items()
        for name in names
    },
    **{("units", unit): "X" for unit in LONGITUDES},
    **{("units", unit): "Y" for unit in LATITUDES},
}

#: Names of dimensions and of arrays along an axis, in lower case.
_BY_NAME = {
    **dict.fromkeys(("x", "lon", "longitude", "easting"), "X"),
    **dict.fromkeys(("y", "lat", "latitude", "northing"), "Y"),
}


def axis_by_attributes(attributes: Mapping[str, Any]) -> str | None:
    """Return along which axis an array is by its attributes, ``X`` or ``Y``, if these tell."""
    told = ((key, str(attributes.get(key))) for key in ("axis", "standard_name", "units"))
    return next((_BY_ATTRIBUTE[it] for it in told if it in _BY_ATTRIBUTE), None)


def axis_by_name(name: str) -> str | None:
    """Return along which axis what is called so is, ``X`` or ``Y``, if the name tells."""
    return _BY_NAME.get(name.lower())
