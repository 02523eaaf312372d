"""Curvilinear grids and swaths: arrays that `geolocation` names become coordinates."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.tests.builders import Array, Json, declaring, opened, stored
from zarr_xgroup.tests.documents import STORES
from zarr_xgroup.tests.tables import check, rows

STORE = STORES / "geolocation_test.zarr"


def test_the_committed_store_opens_as_expected() -> None:
    expected = STORE.with_suffix(".txt").read_text("utf-8")
    check(STORE, expected, function=xr.open_groups)


def refer(x: str = "lon", y: str = "lat", **more: Any) -> Json:
    return {"geodetic": {"x": {"node": x}, "y": {"node": y}, **more}}


def grid(*shape: int, dims: str = "y x", **geolocation: Any) -> Array:
    """Return data, whose values do not matter."""
    declared = declaring("geolocation", geolocation=geolocation) if geolocation else {}
    return stored(np.zeros(shape or (1, 2)), dims, **declared)


def lonlat(*values: Any, dims: str = "y x", at: str = "") -> dict[str, Array]:
    """Return longitudes, and their negatives as latitudes."""
    numbers = np.array(values or [[1.0, 2.0]])
    return {f"{at}lon": stored(numbers, dims), f"{at}lat": stored(-numbers, dims)}


WGS84 = {"proj:code": "EPSG:4326"}
WRAPPED = {"x": {"ref": {"node": "../lon"}}, "y": {"ref": {"node": "/lat"}}, "id": WGS84}

LOCATED = """
    lat (y x) [[-1.0 -2.0]] | standard_name=latitude
    lon (y x) [[1.0 2.0]] | standard_name=longitude
    data (y x) @ lat lon
"""

GEOLOCATIONS = {
    "planar, with wrapped references": (
        {"data": grid(planar=WRAPPED), "lon": stored([[1.0, 2.0]], "y x", units="degrees_east"), "lat": stored([[3.0, 4.0]], "y x")},
        """
        EPSG_4326 () EPSG:4326
        lat (y x) [[3.0 4.0]] | grid_mapping=EPSG_4326
        lon (y x) [[1.0 2.0]] | grid_mapping=EPSG_4326 standard_name=longitude units=degrees_east
        data (y x) @ EPSG_4326 lat lon
        """,
    ),
    "of a CRS": (
        {"data": stored([[0, 0]], "y x", **declaring("cs", cs={"crs": [{"axes": {}, "geolocation": refer("../lon", "/lat")}]})), **lonlat()},
        LOCATED,
    ),
    "of a group, for arrays of the shape": (
        {"": declaring("geolocation", geolocation=refer("g/lon", "g/lat")), "data": grid(3, 1, 2, dims="t j i"), "g": {}, **lonlat(at="g/")},
        """
        lat (j i) [[-1.0 -2.0]] | standard_name=latitude
        lon (j i) [[1.0 2.0]] | standard_name=longitude
        data (t j i) @ lat lon
        """,
    ),
    "of a group, along one dimension": (
        {
            "": declaring("geolocation", geolocation=refer()),
            **lonlat(1.0, 2.0, dims="along"),
            "height": grid(2, dims="along"),
            "profile": grid(2, 3, dims="along level"),
            "mean": stored(1.0),
            "spectrum": grid(3, 4, dims="band sample"),
        },
        """
        lat (along) -1.0 -2.0 | standard_name=latitude
        lon (along) 1.0 2.0 | standard_name=longitude
        height (along) @ lat lon
        mean ()
        profile (along level) @ lat lon
        spectrum (band sample)
        """,
    ),
    "of a group, that cannot be resolved": (
        {"": declaring("geolocation", geolocation=refer("no", "none")), "data": grid()},
        """
        data (y x)
        ! Resolution: /data was opened without x of its geodetic geolocation: /#/attributes/geolocation/geodetic/x: 'no' cannot be resolved; tried /no (not found in store), /data/no (not found in store)
        ! Resolution: /data was opened without y of its geodetic geolocation: /#/attributes/geolocation/geodetic/y: 'none' cannot be resolved; tried /none (not found in store), /data/none (not found in store)
        """,
    ),
    "of an array before that of its group": (
        {
            "": declaring("geolocation", geolocation=refer()),
            "data": stored([[0.0, 0.0]], "y x", geolocation=refer("g/lon2", "g/lat2")),
            **lonlat(),
            "g": {},
            "g/lon2": stored([[3.0, 4.0]], "y x"),
            "g/lat2": stored([[5.0, 6.0]], "y x"),
        },
        """
        lat2 (y x) [[5.0 6.0]] | standard_name=latitude
        lon2 (y x) [[3.0 4.0]] | standard_name=longitude
        data (y x) @ lat2 lon2
        lat (y x) @ lat2 lon2
        lon (y x) @ lat2 lon2
        """,
    ),
    "not declared": ({"data": stored([[0.0, 0.0]], "y x", geolocation=refer()), **lonlat()}, "data (y x)\nlat (y x)\nlon (y x)"),
    "in a store whose root declares cf": (
        {"": {"Conventions": "CF-1.12 NZ-1.0"}, "data": grid(**refer()), **lonlat()},
        LOCATED,
    ),
    "that is stored turned": (
        {"data": grid(1, 2, **refer("g/lon", "g/lat")), "g": {}, **lonlat([1], [2], dims="x y", at="g/")},
        "lat (x y) [[-1] [-2]] | standard_name=latitude\nlon (x y) [[1] [2]] | standard_name=longitude\ndata (y x) @ lat lon",
    ),
}  # fmt: skip


@rows(GEOLOCATIONS)
def test_a_geolocation(nodes: Any, expected: str) -> None:
    check({"": {}, **nodes}, expected)


def test_cf_xarray_finds_longitude_and_latitude() -> None:
    pytest.importorskip("cf_xarray", reason="cf_xarray is not installed")
    dataset = opened(xr.open_dataset, STORE, group="in_crs")
    found = {"longitude": ["lon"], "latitude": ["lat"], "time": ["time"]}
    assert dataset["tas"].cf.coordinates == found
    assert dataset.cf.axes == {"X": ["rlon"], "Y": ["rlat"], "T": ["time"]}
