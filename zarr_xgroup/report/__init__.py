"""What a store says, told instead of opened, and the values that it is told in."""

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
