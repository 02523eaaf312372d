"""Computed arrays are indexed like numpy arrays, and compute only the requested elements."""

import asyncio
import pickle
import tracemalloc
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from xarray.core import indexing

from zarr_xgroup.tests.tables import rows
from zarr_xgroup.variables import lazy
from zarr_xgroup.variables.functions import Regular, RegularBounds
from zarr_xgroup.variables.lazy import ComputedArray, lazy_variable

INT, FLOAT = np.dtype("i8"), np.dtype("f8")


def digits(*positions: Any) -> Any:
    """Compute a number whose decimal digits are the positions."""
    return sum((10**place * position for place, position in enumerate(positions)), start=7)


def eager(function: Callable[..., Any], shape: tuple[int, ...]) -> xr.Variable:
    """Return what is computed lazily, one value after the other."""
    values = np.empty(shape, INT)
    for position in product(*map(range, shape)):
        values[position] = function(*position)
    return xr.Variable(("x", "y", "z")[: len(shape)], values)


def computed(function: Any, shape: tuple[int, ...], dtype: np.dtype[Any] = INT) -> xr.Variable:
    return lazy_variable(ComputedArray(function, shape, dtype), ("x", "y", "z")[: len(shape)])


def offset_bounds(values: xr.Variable, below: float, above: float) -> xr.Variable:
    dims = (*values.dims, "y")
    return lazy_variable(lazy.offset_bounds(values, below, above), dims)


def all_bounds(values: Regular, size: int, below: float, above: float) -> list[xr.Variable]:
    """Return bounds of regular values, made in each way."""
    coordinate = computed(values, (size,))
    return [
        computed(RegularBounds(values, below, above), (size, 2)),
        offset_bounds(coordinate, below, above),
        offset_bounds(coordinate.copy().load(), below, above),
    ]


def pairs_of(*shape: int) -> list[tuple[xr.Variable, xr.Variable]]:
    """Return computed arrays of a shape, and the same values; two are those of bounds, too."""
    pairs = [(computed(digits, shape), eager(digits, shape))]
    if shape[1:] == (2,):
        expected = eager(lambda i, j: 10 * i + (2 if j else -1), shape)
        pairs += [(it, expected) for it in all_bounds(Regular(0, 10), shape[0], -1, 2)]
    return pairs


def assert_same(ours: xr.Variable, theirs: xr.Variable) -> None:
    assert (ours.dims, ours.shape, ours.dtype) == (theirs.dims, theirs.shape, theirs.dtype)
    values = ours.values
    assert (values.dtype, values.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(values, theirs.values)


# Every kind of index, as numpy answers.


@st.composite
def _slices(draw: st.DrawFn, size: int) -> slice:
    """Return a slice; backwards only as xarray itself puts slices of slices together rightly."""
    if size and draw(st.booleans()):
        start = draw(st.none() | st.integers(0, size - 1))
        last = size - 1 if start is None else start
        stop = draw(st.none() | st.integers(0, last - 1)) if last else None
        return slice(start, stop, draw(st.integers(-3, -1)))
    ends = st.none() | st.integers(-8, 8)
    return slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3])))


def _variable(dims: list[str], shape: list[int], positions: list[int]) -> xr.Variable:
    return xr.Variable(dims, np.array(positions, int).reshape(shape))


@st.composite
def _indexers(draw: st.DrawFn, variable: xr.Variable) -> dict[str, Any]:
    """Return indexers that select along an axis each, or points together along dimensions of their own."""
    is_pointwise, indexers = draw(st.booleans()), dict[str, Any]()
    sizes = {"p": draw(st.integers(0, 3)), "q": draw(st.integers(1, 3))}
    for dim, size in variable.sizes.items():
        choices: list[st.SearchStrategy[Any]] = [_slices(size)]
        if size and is_pointwise and dim not in sizes:
            dims = draw(st.lists(st.sampled_from(["p", "q"]), unique=True, max_size=2))
            shape = [sizes[it] for it in dims]
            number = int(np.prod(shape))
            of = st.lists(st.integers(-size, size - 1), min_size=number, max_size=number)
            choices = [of.map(partial(_variable, dims, shape))]
        elif size:
            positions = st.integers(-size, size - 1)
            masks = st.lists(st.booleans(), min_size=size, max_size=size)
            several = st.lists(positions, max_size=5)
            choices += [positions, several, masks.map(np.array)]
        if draw(st.booleans()) or is_pointwise:
            indexers[str(dim)] = draw(st.one_of(choices))
    return indexers


SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple) | st.tuples(
    st.integers(0, 5), st.just(2)
)


@settings(derandomize=True, deadline=None, max_examples=120)
@given(st.data(), SHAPES)
def test_any_index_of_a_computed_array(data: st.DataObject, shape: tuple[int, ...]) -> None:
    ours, theirs = data.draw(st.sampled_from(pairs_of(*shape)))
    assert_same(ours, theirs)
    for _time in range(data.draw(st.integers(1, 2))):
        indexers = data.draw(_indexers(theirs))
        ours, theirs = ours.isel(indexers), theirs.isel(indexers)
        assert_same(ours, theirs)


def points(*positions: int) -> xr.Variable:
    return xr.Variable("p", list(positions))


BACKWARDS = slice(None, None, -1)


@pytest.mark.skipif(not hasattr(xr.Variable, "load_async"), reason="this xarray loads nothing so")
def test_values_are_loaded_asynchronously() -> None:
    some: Any = {"x": [6, 0, 3], "y": BACKWARDS}
    for ours, theirs in pairs_of(7, 2):
        found = ours.isel(some)
        asyncio.run(found.load_async())
        assert_same(found, theirs.isel(some))


BEYOND: Mapping[str, dict[str, Any]] = {
    "a row": {"x": 7},
    "a column": {"y": 2},
    "one of several rows": {"x": [0, 7]},
    "one of several columns": {"x": [0, 1], "y": [0, 2]},
    "a point along rows": {"x": points(0, 7)},
    "a point": {"x": points(0, 1), "y": points(0, 2)},
    "a point, columns backwards": {"x": points(7, 1), "y": BACKWARDS},
}


@rows(BEYOND, "indexers")
def test_out_of_bounds_raises_as_numpy_does(indexers: Any) -> None:
    for pair in pairs_of(7, 2):
        for variable in pair:
            with pytest.raises(IndexError):
                _ = variable.isel(indexers).values


# Numbers.


@given(
    st.floats(-1e6, 1e6),
    st.floats(-1e3, 1e3).filter(lambda step: step != 0),
    st.lists(st.integers(0, 10**6 - 1), min_size=1, max_size=20),
)
@settings(derandomize=True, deadline=None, max_examples=80)
def test_each_float_is_first_plus_step_times_position(
    first: float, step: float, positions: list[int]
) -> None:
    variable = computed(Regular(first, step), (10**6,), FLOAT)
    found = variable.isel(x=positions).values.tolist()
    # Two operations, each correctly rounded: nothing accumulates.
    products = [float(Fraction(step) * position) for position in positions]
    assert found == [float(Fraction(first) + Fraction(number)) for number in products]
    assert found == [variable.isel(x=position).values.item() for position in positions]


@pytest.mark.parametrize(
    ("first", "step", "size"),
    [(2**53 + 1, 1, 5), (2**63 - 5, 1, 5), (-(2**63), 3, 4), (-(2**63) + 8, -2, 5)],
)
def test_integers_that_no_float_can_hold(first: int, step: int, size: int) -> None:
    expected = [first + step * i for i in range(size)]
    variable = computed(Regular(first, step), (size,))
    assert variable.values.tolist() == expected
    assert variable[::-1].values.tolist() == expected[::-1]
    assert [variable[i].values.item() for i in range(size)] == expected
    for bounds in all_bounds(Regular(first, step), size - 1, 0, 1):
        assert bounds.dtype == INT
        assert bounds.values.tolist() == [[it, it + 1] for it in expected[:-1]]


#: The type of values, offsets, and the type of bounds.
OFFSETS: Mapping[str, tuple[str, float, float, str]] = {
    "small integers": ("i2", -1, 1, "i8"),
    "an offset that the type cannot hold": ("u1", -2, 300, "i8"),
    "a fraction": ("i8", -0.5, 1, "f8"),
    "short floats": ("f4", -0.1, 0.1, "f8"),
    "floats and integers": ("f8", -1, 1, "f8"),
}


@rows(OFFSETS, "of, below, above, dtype")
def test_offsets_are_added_without_loss(of: str, below: float, above: float, dtype: str) -> None:
    bounds = offset_bounds(xr.Variable("x", np.array([1, 2], of)), below, above)
    assert bounds.dtype == bounds.values.dtype == np.dtype(dtype)
    assert bounds.values.tolist() == [[it + below, it + above] for it in (1, 2)]
    assert bounds[1].values.tolist() == [2 + below, 2 + above]


def test_one_value_without_a_dimension_and_missing_ones_have_bounds() -> None:
    bounds = offset_bounds(computed(Regular(5, 1), (3,))[1], -1, 2)
    assert bounds.dims == ("y",)
    assert bounds.values.tolist() == [5, 8]
    assert bounds[1].values.item() == 8
    bounds = offset_bounds(xr.Variable("x", [0.0, np.nan]), -1, 1)
    np.testing.assert_array_equal(bounds.values, [[-1, 1], [np.nan, np.nan]])


# Only what is asked for is computed, and given away.

HUGE = 10**12
#: Older versions of xarray make positions of whole axes before they ask for elements.
BASIC, OUTER, POINTS = indexing.BasicIndexer, indexing.OuterIndexer, indexing.VectorizedIndexer


def test_huge_arrays_need_no_memory() -> None:
    values = computed(Regular(1, 3), (HUGE,))
    square = ComputedArray(digits, (HUGE, HUGE), INT)
    bounds = [
        computed(RegularBounds(Regular(1, 3), -1, 2), (HUGE, 2)),
        offset_bounds(values, -1, 2),
    ]
    tracemalloc.start()
    try:
        assert values[-1].values.item() == 3 * HUGE - 2
        assert values[::-1][:2].values.tolist() == [3 * HUGE - 2, 3 * HUGE - 5]
        assert values[10::7][-1].values.item() == 1 + 3 * range(10, HUGE, 7)[-1]
        for pairs in bounds:
            assert pairs[-1].values.tolist() == [3 * HUGE - 3, 3 * HUGE]
            assert pairs[5:7, 1].values.tolist() == [18, 21]
            assert len(pickle.dumps(pairs[::-1])) < 3000
        rows_and_columns = OUTER((np.array([0, HUGE - 1]), np.array([7, -HUGE])))
        assert square[rows_and_columns].tolist() == [[77, 7], [HUGE + 76, HUGE + 6]]
        assert square[POINTS((np.array([0, 2]), np.array([-1, 5])))].tolist() == [10 * HUGE - 3, 59]
        assert square[OUTER((np.array([1]), slice(0, HUGE, HUGE // 2)))].tolist() == [
            [8, 5 * HUGE + 8]
        ]
        assert square[BASIC((slice(None, -3, -1), slice(0, 0)))].shape == (2, 0)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1_000_000
