"""The `proj` service convention: the coordinate reference system of an array.

Its attributes (``proj:code``, ``proj:wkt2``, ``proj:projjson``) pass through as they are.
"""

from __future__ import annotations

from typing import ClassVar

from zarr_xgroup.conventions.base import DocumentHandler


class ProjHandler(DocumentHandler):
    """Recognises the convention; its attributes need no resolution."""

    tier = "service"
    name = "proj"
    uuid: ClassVar[str | None] = "f17cb550-5864-4468-aeb7-f3180cfb622f"
    repositories = (
        "zarr-conventions/proj",
        "zarr-conventions/geo-proj",
        "zarr-experimental/geo-proj",
    )
