"""Which values are read at once before xarray reads them one after the other."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    opened,
    opened_with_warnings,
    recording_store,
)


@pytest.mark.parametrize("name", ["open_dataset", "open_datatree"])
def test_a_scalar_time_of_another_group_is_read_once(name: str) -> None:
    time: dict[str, Any] = {
        "time": {"unit": "days", "epoch": "2000-01-01"},
        "values": {"external": {"node": "/t"}},
        "boundaries": {"external": {"node": "/b"}},
    }
    axes = {"time": {"coordinates": [time]}}
    field = Array(np.ones(2), ("x",), declaring("cs", cs={"crs": [{"axes": axes}]}))
    times = {"t": Array([7.0], ("time",)), "b": Array([[6.0, 8.0]], ("time", "nv"))}
    store = recording_store(build(Group({**times, "g": Group({"a": field})})))
    group = opened(getattr(xr, name), store, group="g")
    assert store.chunk_gets == {"t/c/0": 1, "b/c/0/0": 1}
    assert group["time"].values == np.datetime64("2000-01-08")
    assert store.chunk_gets["t/c/0"] == 1
    expected = np.array(["2000-01-07", "2000-01-09"], "datetime64[ns]")
    np.testing.assert_array_equal(group["time_bounds"], expected)


def test_values_that_cannot_be_read_are_told_of_all_arrays_that_have_them() -> None:
    axes = {"x": {"coordinates": [{"values": {"external": {"node": "/x"}}}]}}
    field = Array(np.ones(2), ("x",), declaring("cs", cs={"crs": [{"axes": axes}]}))
    group = Group({"a": field, "b": field})
    store = recording_store(build(Group({"x": Array([1.0, 2.0], ("x",)), "g": group})))
    store.failing["x/c/0"] = OSError("broken")
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert set(dataset.variables) == {"a", "b"}
    assert [warning.paths for warning in told] == [("/g/a", "/g/b")]
