"""Numbers and lists of numbers in JSON: what can be one, and as what it is held."""

import math
from typing import Any

import numpy as np
import pytest

from zarr_xgroup.conventions.values import explicit_values, pair_of_numbers
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.metadata.nodes import Fragment, Node

NAN, INF = math.nan, math.inf
#: Beyond the greatest float.
HUGE = 10**400


def written(value: Any) -> Fragment:
    return Fragment(Node(0, "a"), ("attributes", "b"), value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([1], "must be two finite numbers"),
        ([1, 2, 3], "must be two finite numbers"),
        ([1, INF], "must be two finite numbers"),
        ([True, 1], "must be two finite numbers"),
        ([0, 2**63], "has values beyond 64 bits"),
        ([HUGE, 0], "has values beyond 64 bits"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_are_no_two_numbers(value: Any, reason: str) -> None:
    with pytest.raises(XGroupMetadataError, match=reason):
        pair_of_numbers(written(value))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], "int64"),
        ([1, 2.5], "float64"),
        ([NAN, -INF, 1], "float64"),
        ([2**53, 0.5], "float64"),
        ([2**63, 2**63 + 1], "uint64"),
        (["a", "bcd"], "<U3"),
        ([], "object"),  # strings or numbers: nobody knows
    ],
    ids=str,
)
def test_explicit_values(values: list[Any], dtype: str) -> None:
    found = explicit_values(written(values))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array(values, dtype))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1, "a"], "must be all numbers or all strings"),
        ([1, True], "must be all numbers or all strings"),
        ([1, None], "must be all numbers or all strings"),
        ([1, [2]], "must be all numbers or all strings"),
        ([2**53 + 1, 0.5], "has integers that no type"),
        ([0.5, 2**53 + 1], "has integers that no type"),
        ([2**63 + 1, -1], "has integers that no type"),
        ([0, 2**64], "has integers that no type"),
        ([0.5, HUGE], "has integers that no type"),
        ([HUGE, NAN], "has integers that no type"),
        ([HUGE, -1], "has integers that no type"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_are_no_explicit_values(values: list[Any], reason: str) -> None:
    with pytest.raises(XGroupMetadataError, match=reason):
        explicit_values(written(values))
