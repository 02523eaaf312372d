"""`decode` of one group, opened by any engine, gives what engine xgroup gives for a store with only that group."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import XGroupWarning
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    build,
    declaring,
    memory_store,
    oracle,
    quietly,
    stored,
)
from zarr_xgroup.tests.sample_stores import SAMPLES
from zarr_xgroup.tests.tables import rows


def with_texts(
    function: Callable[..., xr.Dataset], *arguments: Any, **options: Any
) -> tuple[Any, list[str]]:
    """Return what a function returns, and the texts of its warnings without the names of stores in memory."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        result = function(*arguments, **options)
    texts = [str(it.message) for it in given if issubclass(it.category, XGroupWarning)]
    return result, [re.sub(r"memory://\d+", "memory:/", text) for text in texts]


def assert_decoded_alike(contents: Contents, **options: Any) -> list[str]:
    """Compare `decode` with engine xgroup for a store with one group; return the texts of their warnings."""
    store: Any = memory_store(contents)
    expected, warned = with_texts(xr.open_dataset, store, engine="xgroup", **options)
    given = oracle(xr.open_dataset, store)
    before = given.copy(deep=True)
    dataset, texts = with_texts(zarr_xgroup.decode, given, **options)
    xr.testing.assert_identical(dataset, expected)
    assert texts == warned
    assert set(dataset.xindexes) == set(expected.xindexes)
    for name, variable in expected.variables.items():
        for key in ("coordinates", "grid_mapping", "units", "calendar"):
            assert dataset[name].encoding.get(key) == variable.encoding.get(key), (name, key)
    xr.testing.assert_identical(given, before)
    return texts


def only(contents: Contents, group: str) -> Contents:
    """Return the contents of a store whose root is a group, without the groups in it."""
    above = f"{group}/" if group else ""
    inside = {key.removeprefix(above): it for key, it in contents.items() if key.startswith(above)}
    groups = {
        key.rpartition("/")[0]
        for key, text in inside.items()
        if key.endswith("/zarr.json") and b'"group"' in text
    }
    return {key: text for key, text in inside.items() if key.partition("/")[0] not in groups}


@rows({name: [name] for name in SAMPLES}, "name,")
def test_each_group_of_the_sample_stores(name: str) -> None:
    sample = SAMPLES[name]
    contents = sample.contents()
    groups = [
        key.removesuffix("zarr.json").strip("/")
        for key, text in contents.items()
        if key.endswith("zarr.json") and b'"group"' in text
    ]
    for group in groups:
        assert_decoded_alike(only(contents, group), **sample.assuming)


def cs(**axes: Any) -> dict[str, Any]:
    """Return attributes with one axis for each dimension, each with one coordinate set."""
    named = {dim: {"coordinates": [item]} for dim, item in axes.items()}
    return declaring("cs", cs={"crs": [{"axes": named}]})


def external(node: str, **more: Any) -> dict[str, Any]:
    return {"values": {"external": {"node": node}}, **more}


DAYS = {"unit": "days", "epoch": "2001-01-01"}
LON, LAT = (stored(np.arange(6.0).reshape(2, 3) + start, "y x") for start in (5, 45))
GEOLOCATED = {"geolocation": {"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}}}

#: Stores with one group that refers to no other.
INSIDE: dict[str, dict[str, Any]] = {
    "an array for an axis": {"v": stored([1.0, 2, 3], "x", **cs(x=external("far"))), "far": stored([4.0, 6, 9], "far")},
    "with boundaries from its values": {
        "v": stored([1.0, 2, 3], "x", **cs(x=external("x", boundaries={"regular": [-1, 1]}))),
        "x": stored([4.0, 6, 9], "x"),
    },
    "with boundaries of the other orientation": {
        "v": stored([1.0, 2, 3], "x", **cs(x=external("x", boundaries={"external": {"node": "b"}}))),
        "x": stored([4.0, 6, 9], "x"),
        "b": stored([[3.0, 5, 7], [5.0, 7, 11]], "side x"),
    },
    "times without units": {"v": stored([1.0, 2], "t", **cs(t=external("t", time=DAYS))), "t": stored([3, 5], "t")},
    "times with units": {
        "v": stored([1.0, 2], "t", **cs(t=external("t", time=DAYS))),
        "t": stored([3, 5], "t", units="hours since 2020-01-01"),
    },
    "times of a calendar": {
        "v": stored([1.0, 2], "t", **cs(t=external("t"))),
        "t": stored([58, 59], "t", units="days since 2000-01-01", calendar="360_day"),
    },
    "geolocation": {"v": stored(np.ones((2, 3)), "y x", **declaring("geolocation", **GEOLOCATED)), "lon": LON, "lat": LAT},
    "CF": {
        "v": stored([1.0, 2], "x", coordinates="place", grid_mapping="crs", zarr_conventions=[{"name": "CF"}]),
        "place": stored([7.0, 8], "x"),
        "crs": stored(0, grid_mapping_name="latitude_longitude"),
    },
    "text": {"v": stored([1.0, 2], "x", **cs(x=external("name"))), "name": Array(["a", "bc"], ("x",))},
    "packed, with missing values": {
        "v": Array(np.array([1, 2, 255], "u1"), ("x",), {"scale_factor": 0.5, **cs(x={"values": {"regular": [1, 2]}})}, missing=255)
    },
    "no values": {"v": stored(np.zeros((0, 3)), "y x", **cs(x={"values": {"regular": [1, 2]}}))},
    "an attribute that is malformed": {"v": stored([1.0], "x", **cs(x={"values": {"regular": [1]}}))},
}  # fmt: skip


@rows({name: [members] for name, members in INSIDE.items()}, "members,")
def test_references_inside_the_group(members: dict[str, Any]) -> None:
    texts = assert_decoded_alike(build(Group(members)))
    assert len(texts) == (members is INSIDE["an attribute that is malformed"])


OUTSIDE = {
    "another group": ("../grid/x", "tried above the root of the store"),
    "from the root": ("/grid/x", "/grid/x"),
    "another store": ("x", "cross_store_max_stores"),
}


@rows(OUTSIDE, "node, text")
def test_a_reference_out_of_the_group_warns(node: str, text: str) -> None:
    reference: dict[str, Any] = {"node": node}
    if text == "cross_store_max_stores":
        reference = {"node": "/x", "uri": "file:///nowhere/s.zarr"}
    axes = cs(x={"values": {"external": reference}}, y={"values": {"regular": [5, 10]}})
    dataset = xr.Dataset({"v": (("y", "x"), np.ones((2, 3)), axes)})
    decoded, texts = with_texts(zarr_xgroup.decode, dataset)
    assert "x" not in decoded.coords
    np.testing.assert_array_equal(decoded["y"], [5, 15])
    (told,) = texts
    assert text in told


def test_other_engines_and_their_lazy_values(tmp_path: Path) -> None:
    """Values stay as they are: dask's, those of netCDF, and indexes."""
    pytest.importorskip("h5netcdf")
    members = INSIDE["geolocation"]
    expected = quietly(xr.open_dataset, memory_store(build(Group(members))), engine="xgroup").load()
    plain = oracle(xr.open_dataset, memory_store(build(Group(members)))).load()
    attributes = plain["v"].attrs
    plain["v"].attrs = {}
    plain.to_netcdf(tmp_path / "s.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "s.nc", engine="h5netcdf") as from_netcdf:
        from_netcdf["v"].attrs = attributes
        decoded = zarr_xgroup.decode(from_netcdf)
        assert not decoded.variables["v"]._in_memory
        xr.testing.assert_equal(decoded, expected)
    chunked = zarr_xgroup.decode(plain.assign(v=plain["v"].assign_attrs(attributes)).chunk())
    assert chunked["v"].chunks is not None
    assert chunked["longitude" if "longitude" in chunked else "lon"].chunks is not None
    xr.testing.assert_equal(chunked, expected)


def test_names_that_no_array_can_have_and_attributes_of_numpy() -> None:
    attributes = cs(x={"values": {"regular": [np.float64(1), np.int64(2)]}}) | {"n": np.arange(2)}
    dataset = xr.Dataset(
        {"a/b": ("x", [1, 2]), ("t",): ("x", [3, 4]), "v": ("x", [5, 6], attributes)}
    )
    decoded = zarr_xgroup.decode(dataset)
    assert set(decoded.data_vars) == {"a/b", ("t",), "v"}
    np.testing.assert_array_equal(decoded["x"], [1, 3])


def test_unknown_conventions_are_refused() -> None:
    with pytest.raises(ValueError, match="assume"):
        zarr_xgroup.decode(xr.Dataset(), assume_conventions="none")


def test_a_multiindex_is_kept() -> None:
    levels = pd.MultiIndex.from_product([[1, 2], ["a", "b"]], names=["number", "letter"])
    dataset = xr.Dataset(
        {"v": ("x", [5, 6], cs(x={"values": {"regular": [1, 2]}})), "w": ("z", range(4))},
        coords=xr.Coordinates.from_pandas_multiindex(levels, "z"),
    )
    decoded = zarr_xgroup.decode(dataset)
    np.testing.assert_array_equal(decoded["x"], [1, 3])
    xr.testing.assert_identical(decoded.drop_vars("x")["w"], dataset["w"])
    assert decoded.sel(number=2, letter="b")["w"] == 3
