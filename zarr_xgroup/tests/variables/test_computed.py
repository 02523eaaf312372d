"""Computed arrays answer as numpy does, whichever way xarray asks; only what is asked for is made."""

import asyncio
import pickle
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from xarray.core import indexing

from zarr_xgroup.variables import lazy
from zarr_xgroup.variables.functions import Regular, RegularBounds
from zarr_xgroup.variables.lazy import ComputedArray, lazy_variable

DIMS = ("x", "y", "z")
INT, FLOAT = np.dtype("i8"), np.dtype("f8")


@dataclass(frozen=True)
class Affine:
    """A function of any number of positions."""

    first: int
    steps: tuple[int, ...]

    def __call__(self, *positions: Any) -> Any:
        total: Any = self.first
        for step, position in zip(self.steps, positions, strict=True):
            total = total + step * position
        return total


def eager(
    function: Callable[..., Any], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> xr.Variable:
    """Return what is computed lazily, one value after the other."""
    values = np.empty(shape, dtype)
    for position in product(*map(range, shape)):
        values[position] = function(*position)
    return xr.Variable(DIMS[: len(shape)], values)


def computed(
    function: Callable[..., Any], shape: tuple[int, ...], dtype: np.dtype[Any] = INT
) -> xr.Variable:
    return lazy_variable(ComputedArray(function, shape, dtype), DIMS[: len(shape)])


def offset_bounds(values: xr.Variable, below: float, above: float) -> xr.Variable:
    return lazy_variable(lazy.offset_bounds(values, below, above), (*values.dims, "bounds"))


def assert_same(ours: xr.Variable, theirs: xr.Variable) -> None:
    assert ours.dims == theirs.dims
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    values = ours.values
    assert values.dtype == theirs.dtype
    assert values.shape == theirs.shape
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


def _along(size: int) -> st.SearchStrategy[Any]:
    """Return indexers along one axis, each of which selects along that axis alone."""
    choices: list[st.SearchStrategy[Any]] = [
        _slices(size),
        st.just([]),
        st.just(np.array([], dtype=int)),
        st.lists(st.booleans(), min_size=size, max_size=size).map(lambda it: np.array(it, bool)),
    ]
    if size:
        positions = st.integers(-size, size - 1)
        choices += [
            positions,
            st.lists(positions, min_size=1, max_size=5).map(np.array),
        ]
    return st.one_of(choices)


def _points(size: int, sizes: Mapping[str, int]) -> st.SearchStrategy[xr.Variable]:
    """Return positions with dimensions of their own, which other axes share."""

    def of(dims: list[str]) -> st.SearchStrategy[xr.Variable]:
        shape = tuple(sizes[dim] for dim in dims)
        number = int(np.prod(shape))
        positions = st.lists(st.integers(-size, size - 1), min_size=number, max_size=number)
        return positions.map(lambda it: xr.Variable(dims, np.array(it, dtype=int).reshape(shape)))

    return st.lists(st.sampled_from(sorted(sizes)), unique=True, max_size=len(sizes)).flatmap(of)


@st.composite
def _indexers(draw: st.DrawFn, variable: xr.Variable) -> dict[str, Any]:
    pointwise = draw(st.booleans())
    sizes = {"p": draw(st.integers(0, 3)), "q": draw(st.integers(1, 3))}
    indexers: dict[str, Any] = {}
    for dim, size in variable.sizes.items():
        if pointwise and dim not in sizes:
            indexers[str(dim)] = draw(_points(size, sizes) if size else _slices(size))
        elif draw(st.booleans()):
            indexers[str(dim)] = draw(_along(size))
    return indexers


def of_bounds(kind: int, size: int) -> tuple[xr.Variable, xr.Variable]:
    """Return bounds of regular values, made in one of three ways, and what they are."""
    expected = np.array([[10 * i - 1, 10 * i + 2] for i in range(size)], INT).reshape(size, 2)
    values = computed(Regular(0, 10), (size,))
    ours = [
        computed(RegularBounds(Regular(0, 10), -1, 2), (size, 2)),
        offset_bounds(values, -1, 2),
        offset_bounds(values.copy().load(), -1, 2),
    ][kind]
    return ours, xr.Variable(ours.dims, expected)


@settings(derandomize=True, deadline=None, max_examples=120)
@given(st.data(), st.lists(st.integers(0, 5), max_size=3).map(tuple), st.integers(0, 3))
def test_any_index_of_a_computed_array(
    data: st.DataObject, shape: tuple[int, ...], kind: int
) -> None:
    if kind < 3 and shape:
        ours, theirs = of_bounds(kind, shape[0])
    else:
        function = Affine(7, (100, 10, 1)[: len(shape)])
        ours, theirs = computed(function, shape), eager(function, shape, INT)
    assert_same(ours, theirs)
    for _time in range(data.draw(st.integers(1, 2))):
        indexers = data.draw(_indexers(theirs))
        ours, theirs = ours.isel(indexers), theirs.isel(indexers)
        assert_same(ours, theirs)


SOME: list[dict[str, Any]] = [
    {},
    {"x": slice(None, None, -1)},
    {"x": 1, "y": slice(None, None, -1)},
    {"x": [6, 0, 3], "y": 1},
    {"x": xr.Variable("p", [0, 6]), "y": xr.Variable("p", [1, 0])},
]


def seven_by_two() -> list[tuple[xr.Variable, xr.Variable]]:
    """Return computed arrays, and the same values."""
    function = Affine(0, (10, 1))
    offsets = lazy.offset_bounds(computed(Regular(0, 1.5), (7,), FLOAT), -1, 1)
    sides = eager(lambda i, j: 1.5 * i + (-1 if j == 0 else 1), (7, 2), FLOAT)
    return [
        (computed(function, (7, 2)), eager(function, (7, 2), INT)),
        (lazy_variable(offsets, ("x", "y")), sides),
    ]


@pytest.mark.parametrize("chunks", [{"x": 3}, {"x": -1, "y": 1}, {"x": 1, "y": 2}], ids=str)
def test_in_chunks_of_dask(chunks: dict[str, int]) -> None:
    pytest.importorskip("dask.array")
    for ours, theirs in seven_by_two():
        chunked = xr.Dataset({"a": ours}).chunk(chunks)["a"]
        assert chunked.chunks is not None
        for indexers in SOME:
            assert_same(chunked.isel(indexers).variable.compute(), theirs.isel(indexers))


@pytest.mark.skipif(not hasattr(xr.Variable, "load_async"), reason="this xarray has no load_async")
def test_loaded_asynchronously() -> None:
    async def load(variable: xr.Variable) -> xr.Variable:
        await variable.load_async()
        return variable

    for ours, theirs in seven_by_two():
        for indexers in SOME:
            assert_same(asyncio.run(load(ours.isel(indexers))), theirs.isel(indexers))


BEYOND: list[dict[str, Any]] = [
    {"x": 7},
    {"y": 2},
    {"x": [0, 7]},
    {"x": [0, 1], "y": [0, 2]},
    {"x": xr.Variable("p", [0, 7])},
    {"x": xr.Variable("p", [0, 1]), "y": xr.Variable("p", [0, 2])},
    {"x": xr.Variable("p", [7, 1]), "y": slice(None, None, -1)},
]


@pytest.mark.parametrize("indexers", BEYOND, ids=str)
def test_out_of_bounds_raises_as_numpy_does(indexers: dict[str, Any]) -> None:
    for ours, theirs in seven_by_two():
        with pytest.raises(IndexError):
            theirs.isel(indexers)
        with pytest.raises(IndexError):
            _ = ours.isel(indexers).values


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
    assert [variable[i].values.item() for i in range(size)] == expected
    assert variable.isel(x=slice(None, None, -1)).values.tolist() == expected[::-1]
    assert variable.isel(x=xr.Variable("p", [0, 1])).values.tolist() == expected[:2]


def test_integer_bounds_are_exact() -> None:
    first = 2**53 + 1
    values = computed(Regular(first, 1), (3,))
    for bounds in (
        computed(RegularBounds(Regular(first, 1), -1, 1), (3, 2)),
        offset_bounds(values, -1, 1),
        offset_bounds(values.copy().load(), -1, 1),
    ):
        assert bounds.dtype == np.int64
        assert bounds.values.tolist() == [[first - 1 + i, first + 1 + i] for i in range(3)]
        assert bounds[1, 0].values.item() == first


@pytest.mark.parametrize(
    ("values", "below", "above", "dtype"),
    [
        (np.array([1, 2], "i2"), -1, 1, "i8"),
        (np.array([1, 2], "u1"), -2, 300, "i8"),
        (np.array([1, 2], "i8"), -0.5, 1, "f8"),
        (np.array([0.5, 2], "f4"), -0.1, 0.1, "f8"),
        (np.array([0.5, 2], "f8"), -1, 1, "f8"),
    ],
)
def test_offsets_are_added_without_loss(
    values: npt.NDArray[Any], below: float, above: float, dtype: str
) -> None:
    bounds = offset_bounds(xr.Variable("x", values), below, above)
    assert bounds.dtype == bounds.values.dtype == np.dtype(dtype)
    assert bounds.values.tolist() == [[value + below, value + above] for value in values.tolist()]


def test_bounds_of_one_value_without_a_dimension() -> None:
    scalar = computed(Regular(5, 1), (3,))[1]
    bounds = offset_bounds(scalar, -1, 2)
    assert bounds.dims == ("bounds",)
    assert bounds.values.tolist() == [5, 8]
    assert bounds[1].values.item() == 8


def test_missing_values_have_no_bounds() -> None:
    bounds = offset_bounds(xr.Variable("x", [0.0, np.nan]), -1, 1)
    np.testing.assert_array_equal(bounds.values, [[-1, 1], [np.nan, np.nan]])


# Only what is asked for is computed.


@dataclass
class Counting:
    """Counts the values that are asked for."""

    asked: int = 0

    def __call__(self, *positions: Any) -> Any:
        self.asked += int(np.prod(np.broadcast_shapes(*map(np.shape, positions))))
        return sum(positions)


HUGE = 10**12


@pytest.mark.parametrize(
    ("key", "number"),
    [
        (indexing.BasicIndexer((5, HUGE - 1)), 1),
        (indexing.BasicIndexer((slice(10**11, 10**11 + 3), 0)), 3),
        (indexing.BasicIndexer((slice(None, -3, -1), slice(0, 0))), 0),
        (indexing.OuterIndexer((slice(None, None, 10**11), np.array([1, 2]))), 20),
        (indexing.OuterIndexer((np.array([0, HUGE - 1]), np.array([7, -HUGE, 9]))), 6),
        (indexing.VectorizedIndexer((np.array([0, HUGE - 1]), np.array([-1, 5]))), 2),
        (indexing.VectorizedIndexer((np.array([0, -1]), slice(0, HUGE, HUGE // 2))), 4),
    ],
    ids=str,
)
def test_only_what_is_asked_for_is_computed(key: Any, number: int) -> None:
    counting = Counting()
    array = ComputedArray(counting, (HUGE, HUGE), INT)
    assert np.asarray(array[key]).size == number
    assert counting.asked == number


def test_nothing_is_computed_before_it_is_read() -> None:
    counting = Counting()
    found = computed(counting, (HUGE, 4))[5:7].isel(y=slice(None, None, -1))[:, 1]
    assert counting.asked == 0
    assert found.values.tolist() == [7, 8]
    assert counting.asked == 2


def test_huge_arrays_cost_nothing() -> None:
    values = computed(Regular(1, 3), (HUGE,))
    bounds = computed(RegularBounds(Regular(1, 3), -1, 2), (HUGE, 2))
    offsets = offset_bounds(values, -1, 2)
    tracemalloc.start()
    try:
        assert values[-1].values.item() == 3 * HUGE - 2
        assert values[::-1][:2].values.tolist() == [3 * HUGE - 2, 3 * HUGE - 5]
        assert values[10::7][-1].values.item() == 1 + 3 * range(10, HUGE, 7)[-1]
        for pairs in (bounds, offsets):
            assert pairs[-1].values.tolist() == [3 * HUGE - 3, 3 * HUGE]
            assert pairs[5:7, 1].values.tolist() == [18, 21]
            assert len(pickle.dumps(pairs[::-1])) < 3000
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1_000_000


def test_what_was_read_is_the_readers_own() -> None:
    for variable in (
        computed(Regular(1, 3), (4,)),
        computed(Affine(5, (0,)), (4,)),
        offset_bounds(xr.Variable("x", np.arange(4)), -1, 1),
    ):
        first = variable.values
        before = first.copy()
        first[...] = -1
        np.testing.assert_array_equal(variable.values, before)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (indexing.BasicIndexer((slice(1, None, 2),)), [11.0, 13.0]),
        (indexing.BasicIndexer((3,)), 13.0),
        (indexing.OuterIndexer((np.array([2, 0]),)), [12.0, 10.0]),
        (indexing.VectorizedIndexer((np.array([[1, 0], [3, 3]]),)), [[11.0, 10.0], [13.0, 13.0]]),
    ],
    ids=str,
)
def test_what_was_fetched_is_the_readers_own(key: indexing.ExplicitIndexer, expected: Any) -> None:
    values = np.arange(10.0, 14.0)
    found = lazy.fetched(values, values.dtype)[key]
    np.testing.assert_array_equal(found, expected)
    found[...] = -1
    assert values.tolist() == [10.0, 11.0, 12.0, 13.0]
