"""Whether two coordinates have the same values, as far as their numbers can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from xarray.conventions import decode_cf_variable

from zarr_xgroup.errors import XGroupError, containing

#: By how much of a step numbers may differ that were computed and stored in different ways.
_OF_A_STEP = 1e-3


@np.errstate(over="ignore", invalid="ignore")  # what is infinite is another value
def same_values(mine: xr.Variable, theirs: xr.Variable, tolerance: float | None = None) -> bool:
    """Tell whether two one-dimensional variables have the same values once they are decoded.

    Both are undecoded, and of the same length. Numbers may differ by what types and ways of
    computing make of them, far less than the distance from one value to the next, or by a
    tolerance that is larger. What cannot be compared is not the same.
    """
    try:
        with containing():
            return _are_same(mine, theirs, tolerance)
    except XGroupError:
        return False


def _are_same(mine: xr.Variable, theirs: xr.Variable, tolerance: float | None) -> bool:
    one, other = _decoded(mine), _decoded(theirs)
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "iuf" or other.dtype.kind not in "iuf":
        return bool(np.all(one == other))
    allowed = max(_tolerance(one, other), tolerance or 0.0)
    close = np.isclose(one, other, rtol=0.0, atol=allowed, equal_nan=True)
    return bool(close.all())


def _decoded(variable: xr.Variable) -> np.ndarray[Any, Any]:
    try:
        with containing():
            return np.asarray(decode_cf_variable("coordinate", variable).values)
    except XGroupError:  # told when it is decoded for the Dataset
        return np.asarray(variable.values)


def _tolerance(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    steps = np.abs(np.diff(one.astype("float64")))
    steps = steps[np.isfinite(steps) & (steps > 0)]
    of_step = float(steps.min()) * _OF_A_STEP if steps.size else 0.0
    widths = [np.finfo(a.dtype).eps for a in (one, other) if a.dtype.kind == "f"]
    largest = float(np.max(np.abs(one[np.isfinite(one)]), initial=0.0))
    return max(of_step, 4 * largest * max(map(float, widths), default=0.0))
