"""Validation of numbers and lists of numbers in JSON, and their conversion to Python and NumPy."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from zarr_xgroup.conventions.descriptions import shown
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment

#: The greatest accepted integer: a float represents each integer up to it exactly.
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
        with contextlib.suppress(OverflowError):  # integers beyond the range of floats
            return [float(number) for number in numbers]
    text = _("must be {count} finite numbers, got {value}")
    raise fragment.error(text.format(count=count, value=shown(numbers)))


def positive_number(fragment: Fragment) -> float:
    """Return a positive number as a float, or raise XGroupMetadataError if it is not positive or too large for a float."""
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
    """Return the two finite numbers of a list, or raise XGroupMetadataError.

    Each must fit in 64 bits. Integers stay integers, because a float may not represent them exactly.
    """
    numbers = fragment.as_list()
    if len(numbers) != 2 or not all(map(is_finite, numbers)):
        text = _("must be two finite numbers, got {value}")
        raise fragment.error(text.format(value=shown(numbers)))
    if not all(map(fits_64_bits, numbers)):
        raise fragment.error(_("has values beyond 64 bits"))
    return numbers[0], numbers[1]


def explicit_values(fragment: Fragment) -> np.ndarray[Any, Any]:
    """Return the numbers or strings of a list as a read-only array; of dtype object if the list is empty.

    Integers become ``int64``, or ``uint64`` if some are beyond ``int64`` and none is negative. XGroupMetadataError is raised
    for other values, and if no NumPy type represents all numbers exactly.
    """
    values = fragment.as_list()
    if all(isinstance(value, str) for value in values):
        array = np.array(values, dtype=object if not values else None)
    elif any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise fragment.error(_("must be all numbers or all strings"))
    else:
        array = np.array(values)
        if array.dtype.kind == "f" and all(isinstance(value, int) for value in values):
            # NumPy converts integers beyond int64 to floats, although uint64 may hold them.
            array = np.array(values, np.uint64) if min(values) >= 0 else array
        # Python compares integers with floats exactly, so an integer differs from the float to which NumPy rounded it.
        pairs = zip(values, array.tolist(), strict=True)
        if array.dtype.kind not in "iuf" or not all(
            written == stored or math.isnan(written) for written, stored in pairs
        ):
            text = _("has integers that no common type of its numbers represents exactly")
            raise fragment.error(text)
    array.flags.writeable = False
    return array
