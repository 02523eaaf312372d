"""The default indexes of coordinates are those that xarray builds itself, whatever their type."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from xarray.indexes import PandasIndex

from zarr_xgroup.tests.builders import Group, build, coordinate, memory_store

VALUES = {
    **{name: np.array([3, 1, 2], name) for name in ("i1", "u2", "i4", "i8", "u4", "u8", "f4")},
    "f8": np.array([0.5, np.nan, -1e300]),
    "empty": np.array([], "f8"),
    "bool": np.array([True, False]),
    "text": np.array(["a", "bc"]),
}


@pytest.mark.parametrize("name", VALUES)
def test_an_index_is_the_one_of_engine_zarr(name: str) -> None:
    store: Any = memory_store(build(Group({"x": coordinate("x", VALUES[name])})))
    ours, theirs = (
        xr.open_dataset(store, engine=engine, consolidated=False) for engine in ("xgroup", "zarr")
    )
    xr.testing.assert_identical(ours, theirs)
    index, other = ours.xindexes["x"], theirs.xindexes["x"]
    assert isinstance(index, PandasIndex)
    assert isinstance(other, PandasIndex)
    assert type(index.index) is type(other.index)
    assert (index.index.dtype, index.index.name) == (other.index.dtype, other.index.name)
    assert (index.coord_dtype, index.dim) == (other.coord_dtype, other.dim)
    assert ours["x"].dtype == theirs["x"].dtype
    assert type(ours["x"].variable._data) is type(theirs["x"].variable._data)


@pytest.mark.parametrize("kind", ["i4", "f8"])
def test_an_index_can_be_made_of_values_of_either_byte_order(kind: str) -> None:
    values = np.array([1, 2], f">{kind}")
    store: Any = memory_store(build(Group({"x": coordinate("x", values)}), 2))
    ours, theirs = (
        xr.open_dataset(store, engine=engine, consolidated=False) for engine in ("xgroup", "zarr")
    )
    xr.testing.assert_identical(ours, theirs)
    assert ours.indexes["x"].dtype == theirs.indexes["x"].dtype
