"""Numbers and lists of numbers in JSON: which values are valid, and the Python and NumPy values that they become."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from zarr_xgroup.conventions.descriptions import shown
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment

#: The greatest integer that is accepted: all integers up to it are floats, too.
_LARGEST = 2**53


def is_finite(value: Any) -> bool:
    """Return whether a JSON value is a number that is neither infinite nor NaN.

    JSON integers have no limit: an integer of any size is finite.
    """
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def fits_64_bits(number: float) -> bool:
    """Return whether a number is a finite float or a 64-bit integer."""
    return math.isfinite(number) if isinstance(number, float) else -(2**63) <= number < 2**63


def finite_numbers(fragment: Fragment, count: int) -> list[float]:
    """Return a list of `count` finite numbers as floats, or raise XGroupMetadataError."""
    numbers = fragment.as_list()
    if len(numbers) == count and all(map(is_finite, numbers)):
        with contextlib.suppress(OverflowError):  # of integers beyond the range of floats
            return [float(number) for number in numbers]
    text = _("must be {count} finite numbers, got {value}")
    raise fragment.error(text.format(count=count, value=shown(numbers)))


def positive_number(fragment: Fragment) -> float:
    """Return a positive number as a float, or raise XGroupMetadataError if it is not positive or no float holds it."""
    with contextlib.suppress(OverflowError):
        if is_finite(fragment.value) and fragment.value > 0:
            return float(fragment.value)
    raise fragment.error(_("must be a positive number"))


def integer(fragment: Fragment, least: int) -> int:
    """Return an integer of at least `least` and at most 2^53, or raise XGroupMetadataError."""
    value = fragment.value
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= _LARGEST:
        return value
    text = _("must be an integer from {least} to {most}")
    raise fragment.error(text.format(least=least, most=_LARGEST))


def pair_of_numbers(fragment: Fragment) -> tuple[float, float]:
    """Return the two finite numbers of a list, or raise XGroupMetadataError also if one of them does not fit 64 bits.

    Integers stay integers, which floats may not hold exactly.
    """
    numbers = fragment.as_list()
    if len(numbers) != 2 or not all(map(is_finite, numbers)):
        text = _("must be two finite numbers, got {value}")
        raise fragment.error(text.format(value=shown(numbers)))
    if not all(map(fits_64_bits, numbers)):
        raise fragment.error(_("has values beyond 64 bits"))
    return numbers[0], numbers[1]


def explicit_values(fragment: Fragment) -> np.ndarray[Any, Any]:
    """Return the numbers or the strings of a list as a read-only array, of objects if the list is empty.

    Integers become ``int64``, or ``uint64`` if some are beyond ``int64`` and none is negative. XGroupMetadataError is raised
    if there are other values, or if no NumPy type holds all numbers exactly.
    """
    values = fragment.as_list()
    if all(isinstance(value, str) for value in values):
        array = np.array(values, dtype=object if not values else None)
    elif any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise fragment.error(_("must be all numbers or all strings"))
    else:
        array = np.array(values)
        if array.dtype.kind == "f" and all(isinstance(value, int) for value in values):
            # NumPy made floats of integers that int64 does not hold, though uint64 may.
            array = np.array(values, np.uint64) if min(values) >= 0 else array
        # Python compares an integer with a float exactly, so a large integer that NumPy rounded to a float differs.
        pairs = zip(values, array.tolist(), strict=True)
        if array.dtype.kind not in "iuf" or not all(
            given == held or math.isnan(given) for given, held in pairs
        ):
            text = _("has integers that no type for all of its numbers holds exactly")
            raise fragment.error(text)
    array.flags.writeable = False
    return array
