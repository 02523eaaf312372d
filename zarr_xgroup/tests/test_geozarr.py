"""NZ-1.0 and the draft of the GeoZarr standard: what a reader makes of stores that follow them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from zarr_xgroup.tests.builders import (
    Array,
    Group,
    ZarrFormat,
    build,
    coordinate,
    memory_store,
    opened,
    recorded,
)

each_format = pytest.mark.parametrize("zarr_format", [2, 3])

# What the root of a store names (NZ-1.0, "Convention Declaration").


def hierarchy(**attributes: Any) -> Group:
    """Return a store with an array that refers to one in the group above its own."""
    data = Array([1.0, 2.0], ("x",), {"coordinates": "lon"})
    return Group({"lon": Array([5.0, 6.0], ("x",)), "a": Group({"data": data})}, attributes)


@each_format
@pytest.mark.parametrize(
    "attributes",
    [
        {"conventions": "NZ-1.0 CF-1.12"},
        {"Conventions": "NZ-1.0 CF-1.12"},
        {"conventions": "nz-1.0 cf-1.7"},
        {"Conventions": "CF-1.12, NZ-1.0"},
        {"conventions": "NZ-1.0 CF-1.12 ACDD-1.3"},
        {"conventions": "NZ-1.0", "Conventions": "CF-1.12"},
    ],
)
def test_a_root_declares_cf_by_naming_it_with_nz(
    attributes: Mapping[str, Any], zarr_format: ZarrFormat
) -> None:
    store = memory_store(build(hierarchy(**attributes), zarr_format))
    dataset, given = recorded(xr.open_dataset, store, engine="xgroup", group="a")
    assert given == []
    assert dataset["data"].coords["lon"].values.tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    "attributes",
    [
        {"conventions": "NZ-1.0"},
        {"conventions": "CF-1.12"},
        {"conventions": "NZ-2.0 CF-1.12"},
        {"conventions": "NZ-1.0 CF"},
        {"conventions": "NZ-1.0 ACDD-CF-1.12"},
        {"conventions": ["NZ-1.0", "CF-1.12"]},
        {"conventions": {"NZ-1.0": "CF-1.12"}},
    ],
)
def test_a_root_that_does_not_name_both_declares_nothing(attributes: Mapping[str, Any]) -> None:
    store = memory_store(build(hierarchy(**attributes)))
    dataset = opened(xr.open_dataset, store, group="a")
    assert "lon" not in dataset.variables


def test_only_the_root_names_conventions() -> None:
    named = {"conventions": "NZ-1.0 CF-1.12"}
    root = Group({"g": Group(hierarchy().members, named)})
    dataset = opened(xr.open_dataset, memory_store(build(root)), group="g/a")
    assert "lon" not in dataset.variables


def test_nz_beside_a_principal_convention_of_an_array() -> None:
    axes = {"x": {"coordinates": [{"values": {"explicit": [3.0, 4.0]}}]}}
    declared = {"zarr_conventions": [{"name": "cs"}], "cs": {"crs": [{"axes": axes}]}}
    data = Array([1.0, 2.0], ("x",), {"coordinates": "lon", **declared})
    members = {"lon": Array([5.0, 6.0], ("x",)), "a": Group({"data": data})}
    store = memory_store(build(Group(members, {"conventions": "NZ-1.0 CF-1.12"})))
    dataset = opened(xr.open_dataset, store, group="a")
    assert dataset["data"].coords["x"].values.tolist() == [3.0, 4.0]
    assert dataset["data"].coords["lon"].values.tolist() == [5.0, 6.0]


# What NZ-1.0 says of arrays.

NZ = {"conventions": "NZ-1.0 CF-1.12"}
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.mark.parametrize(
    "dtype", ["bool", *INTEGERS, "float32", "float64", "complex64", "complex128"]
)
def test_each_type_of_nz_is_read(dtype: str) -> None:
    values = np.array([0, 1, 1], dtype)
    store = memory_store(build(Group({"v": Array(values, ("n",))}, NZ)))
    dataset = opened(xr.open_dataset, store)
    assert dataset["v"].dtype == values.dtype
    assert dataset["v"].values.tolist() == values.tolist()


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_fill_value_masks_whatever_the_storage_has(dtype: str) -> None:
    values = np.array([0, -99, 7], dtype)
    array = Array(values, ("n",), {"_FillValue": -99}, v3={"fill_value": 7})
    store = memory_store(build(Group({"v": array}, NZ)))
    np.testing.assert_equal(opened(xr.open_dataset, store)["v"].values, [0.0, np.nan, 7.0])


def test_a_scalar_array() -> None:
    members = {"v": Array([[1.0]], ("y", "x"), {"coordinates": "height"}), "height": Array(2.0)}
    dataset = opened(xr.open_dataset, memory_store(build(Group(members, NZ))))
    assert dataset["v"].coords["height"].item() == 2.0


def test_coordinates_of_dimensions_follow_from_names_alone() -> None:
    members = {
        "v": Array(np.ones((2, 3)), ("lat", "lon")),
        "lat": coordinate("lat", [50.0, 51.0]),
        "lon": Array(np.ones((2, 3)), ("lat", "lon")),
    }
    group = Group(members)
    root = Group({"g": Group({"v": Array(np.ones(4), ("lat",))}), "h": group}, NZ)
    store = memory_store(build(root))
    with_axes = opened(xr.open_dataset, store, group="h", drop_variables=["lon"])
    assert set(with_axes["v"].coords) == {"lat"}
    # Another group, another dimension of the same name.
    assert not opened(xr.open_dataset, store, group="g").coords


def test_packed_values_are_unpacked() -> None:
    packed = Array(np.array([1, 2], "i2"), ("n",), {"scale_factor": 0.5, "add_offset": 10.0})
    dataset = opened(xr.open_dataset, memory_store(build(Group({"v": packed}, NZ))))
    assert dataset["v"].values.tolist() == [10.5, 11.0]


def test_sharded_arrays_are_read() -> None:
    store = memory_store(build(Group({}, NZ)))
    array = zarr.open_group(store, mode="r+").create_array(
        "v", shape=(8,), chunks=(2,), shards=(4,), dtype="i4", dimension_names=("n",)
    )
    array[:] = np.arange(8)
    assert opened(xr.open_dataset, store)["v"].values.tolist() == list(range(8))
