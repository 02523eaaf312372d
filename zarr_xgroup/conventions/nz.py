"""The structure convention NZ-1.0: what netCDF has beside arrays, in Zarr.

Source: NZ-1.0 convention (zarr-conventions/nz).
"""

from __future__ import annotations

import re
from typing import ClassVar

from zarr_xgroup.conventions.base import ConventionHandler


class Nz(ConventionHandler):
    """NZ-1.0, as stores declare it; it says nothing of coordinates."""

    tier = "service"
    name = "NZ-1.0"
    uuid: ClassVar[str | None] = "d0a980b5-c644-4dcc-85a1-283799a58f40"
    repositories = ("zarr-conventions/nz",)
    named_by_root = re.compile(r"nz-1\.0")
