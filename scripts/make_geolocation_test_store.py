"""Write a small Zarr store of curvilinear grids and swaths that declare `geolocation`.

Arrays, a coordinate reference system of the `cs` convention, and a group declare geolocation arrays. These
have the dimensions of the data, different dimension names, a coarser grid, or lie along a track.
"""

from typing import Any

import numpy as np
from store_tools import below, run, writer_of

from zarr_xgroup.tests.builders import Array, Group, Json, Nodes, declaring

WGS84 = {"proj:code": "EPSG:4326"}
UTM = {"proj:code": "EPSG:32628"}

N_TIMES, N_Y, N_X = 2, 3, 4


def make_nodes() -> Nodes:
    """Return all nodes by their paths, groups before their members."""
    return {
        "": Group(attrs={"title": "Geolocation arrays of all kinds"}),
        **below("on_array", _on_array()),
        **below("in_crs", _in_crs()),
        **below("on_group", _on_group()),
        **below("other_names", _other_names()),
        **below("tie_points", _tie_points()),
        **below("wrong_size", _wrong_size()),
        **below("track", _track()),
    }


def _lonlat(*shape: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the longitudes and latitudes of a slightly rotated grid."""
    row, column = np.indices(shape)
    return -16 + 0.5 * column + 0.125 * row, 64 + 0.25 * row - 0.125 * column


def _numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)


def _geodetic(x: str, y: str, key: str = "crs") -> Json:
    return {"geodetic": {"x": {"node": x}, "y": {"ref": {"node": y}}, key: WGS84}}


def _located(geolocation: Json) -> Json:
    return declaring("geolocation", "ref", geolocation=geolocation)


def _on_array() -> Nodes:
    """Return geodetic and planar arrays in separate groups, and arrays that declare them."""
    longitude, latitude = _lonlat(N_Y, N_X)
    planar = {"planar": {"x": {"node": "../planar/easting"}, "y": {"node": "../planar/northing"}}}
    names = ("../geodetic/longitude", "../geodetic/latitude")
    # The same reference, relative to the array instead of its group.
    by_node = {
        "geodetic": {
            "x": {"node": "../../geodetic/longitude"},
            "y": {"node": names[1]},
            "id": WGS84,
        }
    }
    both = {**_geodetic(*names), "planar": {**planar["planar"], "id": UTM}}
    row, column = np.indices((N_Y, N_X))
    return {
        "": Group(),
        "geodetic": Group(),
        "geodetic/longitude": Array(longitude, ("y", "x"), {"units": "degrees_east"}),
        "geodetic/latitude": Array(
            latitude, ("y", "x"), {"units": "degrees_north", "standard_name": "grid_latitude"}
        ),
        "planar": Group(),
        "planar/easting": Array(400_000 + 1000.0 * column + 10 * row, ("y", "x"), {"units": "m"}),
        "planar/northing": Array(7_000_000 - 1000.0 * row, ("y", "x"), {"units": "m"}),
        "data": Group(),
        "data/geodetic": Array(_numbers(N_Y, N_X), ("y", "x"), _located(_geodetic(*names))),
        "data/by_node": Array(_numbers(N_Y, N_X), ("y", "x"), _located(by_node)),
        "data/planar": Array(_numbers(N_Y, N_X), ("y", "x"), _located(planar)),
        "data/both": Array(_numbers(N_TIMES, N_Y, N_X), ("time", "y", "x"), _located(both)),
        "data/neither": Array(_numbers(N_TIMES), ("time",)),
    }


def _in_crs() -> Nodes:
    """Return a rotated grid whose CRS in `cs` declares axes and geolocation arrays."""

    def axis(abbreviation: str, first: float) -> Json:
        item = {"unit": "degrees", "values": {"regular": [first, 0.5]}}
        return {"abbreviation": abbreviation, "coordinates": [item]}

    longitude, latitude = _lonlat(N_Y, N_X)
    time = {"unit": "days", "epoch": "1949-12-01", "calendar": "360_day"}
    day = {"time": time, "values": {"regular": [20190.5, 1]}}
    systems = [
        {
            "name": "rotated pole",
            "axes": {"rlat": axis("Y", -1.0), "rlon": axis("X", 2.0)},
            "geolocation": _geodetic("lon", "../lat"),
        },
        {"axes": {"time": {"abbreviation": "T", "coordinates": [day]}}},
    ]
    attributes = declaring("cs", "geolocation", "ref", cs={"crs": systems})
    return {
        "": Group(),
        # The dimensions are in a different order than in the geolocation arrays.
        "tas": Array(_numbers(N_X, N_TIMES, N_Y), ("rlon", "time", "rlat"), attributes),
        "lon": Array(longitude, ("rlat", "rlon")),
        "lat": Array(latitude, ("rlat", "rlon")),
    }


def _on_group() -> Nodes:
    """Return a group that declares geolocation arrays for its arrays along their dimensions."""
    longitude, latitude = _lonlat(N_Y, N_X)
    return {
        "": Group(attrs=_located(_geodetic("lon", "lat"))),
        "lon": Array(longitude, ("y", "x")),
        "lat": Array(latitude, ("y", "x")),
        "radiance": Array(_numbers(N_Y, N_X), ("y", "x")),
        "series": Array(_numbers(N_TIMES, N_Y, N_X), ("time", "y", "x")),
        "profile": Array(_numbers(N_Y), ("y",)),
        "scalar": Array(1.0, ()),
        # The attributes of a group apply only to its direct child arrays.
        "below": Group(),
        "below/radiance": Array(_numbers(N_Y, N_X), ("y", "x")),
    }


def _other_names() -> Nodes:
    """Return geolocation arrays with the shape of the grid, but different dimension names."""
    longitude, latitude = _lonlat(N_Y, N_X)
    axes = {"north": {"abbreviation": "Y"}, "east": {"abbreviation": "X"}, "time": {}}
    in_cs = {"axes": axes, "geolocation": _geodetic("../grid/lon", "../grid/lat")}
    arrays = _located(_geodetic("../grid/lon", "../grid/lat"))
    return {
        "": Group(),
        "grid": Group(),
        "grid/lon": Array(longitude, ("nj", "ni")),
        "grid/lat": Array(latitude, ("nj", "ni")),
        "last": Group(),
        "last/data": Array(_numbers(N_TIMES, N_Y, N_X), ("time", "y", "x"), arrays),
        # Only the axes show which dimensions are horizontal.
        "told": Group(),
        "told/data": Array(
            _numbers(N_Y, N_X, N_TIMES),
            ("north", "east", "time"),
            declaring("cs", "ref", cs={"crs": [in_cs]}),
        ),
    }


def _tie_points() -> Nodes:
    """Return geolocation arrays on every second row and column, with their own dimensions."""
    longitude, latitude = _lonlat(2, 2)
    return {
        "": Group(),
        "radiance": Array(_numbers(N_Y, N_X), ("y", "x"), _located(_geodetic("lon", "lat"))),
        "lon": Array(longitude, ("tie_y", "tie_x")),
        "lat": Array(latitude, ("tie_y", "tie_x")),
    }


def _wrong_size() -> Nodes:
    """Return coarser geolocation arrays with the dimension names of the grid."""
    longitude, latitude = _lonlat(2, 2)
    arrays = _located(_geodetic("../coarse/lon", "../coarse/lat"))
    return {
        "": Group(),
        "coarse": Group(),
        "coarse/lon": Array(longitude, ("y", "x")),
        "coarse/lat": Array(latitude, ("y", "x")),
        "fine": Group(),
        "fine/radiance": Array(_numbers(N_Y, N_X), ("y", "x"), arrays),
    }


def _track() -> Nodes:
    """Return positions along a track, and arrays that refer to them."""
    longitude, latitude = _lonlat(1, 5)
    attributes = _located(_geodetic("lon", "../lat", key="id"))
    return {
        "": Group(),
        "height": Array(_numbers(5), ("along",), attributes),
        "profile": Array(_numbers(5, 2), ("along", "level"), attributes),
        "lon": Array(longitude[0], ("along",)),
        "lat": Array(latitude[0], ("along",)),
    }


write = writer_of(make_nodes)

if __name__ == "__main__":
    run(write, "geolocation_test.zarr", __doc__)
