"""The meaning of ``_FillValue`` if it is not in xarray's encoding."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from zarr_xgroup.errors import Rule, XGroupMetadataError, converting_errors
from zarr_xgroup.findings import Finding, Topic, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import NZ
from zarr_xgroup.metadata.nodes import Fragment, Node

OF_ITS_TYPE = Rule("arrays/fill-value", NZ, "The _FillValue Attribute")

#: The attribute with the value that means missing data.
FILL = "_FillValue"


def unusable_fill_value(array: Node, written: str) -> Finding:
    """Return the finding about a ``_FillValue`` that is not a valid value of the array's type."""
    message = _("is {written}, not a valid value of the array's type; no data are masked")
    text = message.format(written=written)
    remedy = _("write a value of the array's type, or remove {key}").format(key=FILL)
    place = Fragment(array, ("attributes", FILL), None)
    return new_finding(OF_ITS_TYPE, place, text, remedy, topic=Topic.METADATA)


def can_hold(dtype: np.dtype[Any], written: Any, *, either_sign: bool = False) -> bool:
    """Return whether a ``_FillValue`` that xarray can decode is a valid value of an array's type.

    xarray truncates numbers that an integer type cannot hold: it would mask -9 instead of -9.5. With `either_sign`,
    integers may be signed or unsigned (the attribute ``_Unsigned``).
    """
    if dtype.kind == "b":
        return isinstance(written, int) and written in (0, 1)
    if dtype.kind not in "iu":
        return True
    kinds = "iu" if either_sign else dtype.kind
    limits = [np.iinfo(f"{kind}{dtype.itemsize}") for kind in kinds]
    is_whole = isinstance(written, int) and not isinstance(written, bool)
    if isinstance(written, float):
        is_whole = written.is_integer()
    return is_whole and any(limit.min <= written <= limit.max for limit in limits)


def plain_fill_value(written: Any, dtype: np.dtype[Any]) -> Any:
    """Return a ``_FillValue`` in plain JSON as a value of an array's type, None if it is not valid.

    The JSON value is a number, a string, a boolean or, for complex types, a pair of numbers. Floats may also have the
    form of fill values in the Zarr v3 core specification: ``"NaN"``, ``"Infinity"``, ``"-Infinity"`` or the bits in
    hexadecimal (``"0x7fc00000"``).
    """
    with suppress(XGroupMetadataError), converting_errors():
        if dtype.kind == "f":
            return _plain_float(written, dtype)
        if dtype.kind == "c":
            real, imaginary = written
            part = np.empty(0, dtype).real.dtype
            return complex(_plain_float(real, part), _plain_float(imaginary, part))
        if dtype.kind in "OTUS" and isinstance(written, str):
            return written.encode() if dtype.kind == "S" else written
        if dtype.kind in "mM" and isinstance(written, int | str) and not isinstance(written, bool):
            return np.array(written, dtype)[()]
    return None


def _plain_float(written: Any, dtype: np.dtype[Any]) -> float:
    if isinstance(written, str):
        if written.startswith("0x"):
            bits = bytes.fromhex(written[2:])
            return float(np.frombuffer(bits, dtype.newbyteorder(">"), count=1)[0])
        if written not in ("NaN", "Infinity", "-Infinity"):
            raise ValueError(written)
    elif isinstance(written, bool) or not isinstance(written, int | float):
        raise TypeError(written)
    # Round to the array's type, as the stored values are.
    return float(dtype.type(written))
