"""Along which horizontal axis an array or a dimension is, by what it says itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zarr_xgroup.i18n import _
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


def is_turned(axes: Iterable[str | None]) -> bool | None:
    """Tell whether two are along X and Y that should be along Y and X; None if they do not say."""
    first, second = axes
    return None if first == second else first == "X" or second == "Y"


def what_turns(
    names: Sequence[str], attributes: Iterable[Mapping[str, Any]], by_box: bool | None = None
) -> str:
    """Return by what two are along X and Y that are declared along Y and X, "" if by nothing.

    Attributes decide. Where they say nothing, names and the box of the grid do, unless one of them
    agrees with what is declared.

    Parameters
    ----------
    names : sequence of str
        What the two are called.
    attributes : iterable of mapping
        Those of the arrays that they are, empty where there is none.
    by_box : bool, optional
        Whether they are turned by the bounding box of the grid; None if that does not tell.
    """
    by_attributes = is_turned(map(axis_by_attributes, attributes))
    if by_attributes is not None:
        return _("by their attributes") if by_attributes else ""
    by_name = is_turned(map(axis_by_name, names))
    if False in (by_name, by_box):
        return ""
    if by_name:
        return _("by their names")
    return _("by the bounding box") if by_box else ""
