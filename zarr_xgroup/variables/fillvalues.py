"""What ``_FillValue`` means where it is not written as xarray writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zarr_xgroup.errors import METADATA_ERRORS
from zarr_xgroup.findings import Finding, Kind
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node

#: The attribute that says which value means missing data.
FILL = "_FillValue"


@dataclass(frozen=True)
class FillValue:
    """A ``_FillValue`` of a v3 array's attributes that is not written as xarray writes it.

    Attributes
    ----------
    written : object
        The JSON value of the attribute.
    value : object
        What it means in the array's type; None if it cannot be a value of that type.
    """

    written: Any
    value: Any

    def finding(self, array: Node) -> Finding:
        """Return what there is to tell of it."""
        if self.value is None:
            message = _(
                "Array {path}: /attributes/_FillValue is {written!r}, which is no value of the "
                "array's type; nothing is masked by it"
            )
        else:
            message = _(
                "Array {path}: /attributes/_FillValue is plain JSON ({written!r}), which engine "
                "zarr cannot read; it masks missing data as GeoZarr and NZ-1.0 mean it"
            )
        text = message.format(path=array, written=self.written)
        return Finding(Kind.METADATA, text, (str(array),), array, f"/attributes/{FILL}")


def plain_fill_value(written: Any, dtype: np.dtype[Any]) -> Any:
    """Return what a ``_FillValue`` written as plain JSON means for an array of this type.

    Parameters
    ----------
    written : object
        A number, a string, a boolean or, for complex types, a pair of numbers. Floats also
        as the fill values of the Zarr v3 core specification: ``"NaN"``, ``"Infinity"``,
        ``"-Infinity"`` or the bits in hexadecimal (``"0x7fc00000"``).
    dtype : numpy.dtype
        The type of the array.

    Returns
    -------
    object
        A value that arrays of the type can hold; None if there is none.
    """
    try:
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
    except METADATA_ERRORS:
        return None
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
    # The nearest value that the array can hold: what its writer stored for missing data.
    return float(dtype.type(written))
