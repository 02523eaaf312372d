"""Names of dimensions that several arrays of a group have, with other coordinates."""

import numpy as np
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
)


def along_x(*values: float) -> Array:
    """Return an array whose ``cs`` says values of `x`."""
    axes = {"x": {"coordinates": [{"values": {"explicit": list(values)}}]}}
    return Array(np.ones(2), ("x",), declaring("cs", cs={"crs": [{"axes": axes}]}))


def test_arrays_with_the_same_other_coordinates_share_the_other_dimension() -> None:
    members = {"a": along_x(1, 2), "b": along_x(3, 4), "c": along_x(3, 4), "d": along_x(1, 2)}
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    dims = {name: array.dims for name, array in dataset.data_vars.items()}
    assert dims == {"a": ("x",), "b": ("x_b",), "c": ("x_b",), "d": ("x",)}
    assert dataset["x_b"].values.tolist() == [3, 4]
    assert all("renamed 'x' -> 'x_b'" in str(warning) for warning in told)
