"""Conventions (one module each), the registry of their handlers, and the API for third-party handlers."""

from zarr_xgroup.conventions.array import ArrayView, NodeView
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.base import ConventionHandler, Marks
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import declarations, is_declared, matches
from zarr_xgroup.conventions.descriptions import (
    ByName,
    Items,
    Member,
    Model,
    Nested,
    Object,
    Parsed,
    ReferenceTo,
    Text,
)
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.plugin_adapter import BoundResolver
from zarr_xgroup.conventions.registry import (
    ENTRY_POINT_GROUP,
    build_handlers,
    handlers,
    register,
)
from zarr_xgroup.findings import Topic, new_finding
from zarr_xgroup.variables.functions import Regular, RegularBounds
from zarr_xgroup.variables.sources import Computed, Literal, Stored

__all__ = [
    "ENTRY_POINT_GROUP",
    "ArrayView",
    "Attribute",
    "BoundResolver",
    "ByName",
    "Computed",
    "ConventionHandler",
    "Coordinate",
    "Crs",
    "Interpretation",
    "Items",
    "Literal",
    "Marks",
    "Member",
    "Model",
    "Nested",
    "NodeView",
    "Object",
    "Parsed",
    "ReferenceTo",
    "Regular",
    "RegularBounds",
    "Stored",
    "Text",
    "Topic",
    "build_handlers",
    "declarations",
    "handlers",
    "is_declared",
    "matches",
    "new_finding",
    "register",
]
