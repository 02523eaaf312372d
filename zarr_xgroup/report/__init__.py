"""Explanations of stores, checks against conventions, and their output as text and HTML."""

from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundCrs,
    FoundGroup,
    FoundLevel,
    FoundProblem,
    FoundReference,
)
from zarr_xgroup.report.results import Explanation

__all__ = [
    "Explanation",
    "FoundArray",
    "FoundConvention",
    "FoundCoordinate",
    "FoundCrs",
    "FoundGroup",
    "FoundLevel",
    "FoundProblem",
    "FoundReference",
]
