"""Write a small Zarr store of curvilinear grids and swaths by the `geolocation` convention.

Geolocation arrays are declared by arrays, inside a coordinate reference system of the `cs`
convention, and by a group; they lie on the grid, on the grid under other names of its
dimensions, on a coarser one, and along a track.
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
    """Return longitudes and latitudes of a grid that is turned a little."""
    row, column = np.indices(shape)
    return -16 + 0.5 * column + 0.125 * row, 64 + 0.25 * row - 0.125 * column


def _numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)


def _geodetic(x: str, y: str, key: str = "crs") -> Json:
    return {"geodetic": {"x": {"node": x}, "y": {"ref": {"node": y}}, key: WGS84}}


def _located(geolocation: Json) -> Json:
    return declaring("geolocation", "ref", geolocation=geolocation)


def _on_array() -> Nodes:
    """Return geodetic and planar arrays in groups of their own, for arrays that declare them."""
    longitude, latitude = _lonlat(N_Y, N_X)
    planar = {"planar": {"x": {"node": "../planar/easting"}, "y": {"node": "../planar/northing"}}}
    names = ("../geodetic/longitude", "../geodetic/latitude")
    # The same by the array's own path instead of that of its group.
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
    """Return a rotated grid whose CRS has the geolocation arrays, beside ordinary axes."""

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
        # Not in the order of the geolocation arrays.
        "tas": Array(_numbers(N_X, N_TIMES, N_Y), ("rlon", "time", "rlat"), attributes),
        "lon": Array(longitude, ("rlat", "rlon")),
        "lat": Array(latitude, ("rlat", "rlon")),
    }


def _on_group() -> Nodes:
    """Return a group that has geolocation arrays for what has their dimensions."""
    longitude, latitude = _lonlat(N_Y, N_X)
    return {
        "": Group(attrs=_located(_geodetic("lon", "lat"))),
        "lon": Array(longitude, ("y", "x")),
        "lat": Array(latitude, ("y", "x")),
        "radiance": Array(_numbers(N_Y, N_X), ("y", "x")),
        "series": Array(_numbers(N_TIMES, N_Y, N_X), ("time", "y", "x")),
        "profile": Array(_numbers(N_Y), ("y",)),
        "scalar": Array(1.0, ()),
        # A group's attributes are for its direct child arrays only.
        "below": Group(),
        "below/radiance": Array(_numbers(N_Y, N_X), ("y", "x")),
    }


def _other_names() -> Nodes:
    """Return geolocation arrays of the shape of the grid, whose dimensions are called else."""
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
        # Which dimensions are horizontal only its axes tell.
        "told": Group(),
        "told/data": Array(
            _numbers(N_Y, N_X, N_TIMES),
            ("north", "east", "time"),
            declaring("cs", "ref", cs={"crs": [in_cs]}),
        ),
    }


def _tie_points() -> Nodes:
    """Return geolocation arrays on every second row and column, in dimensions of their own."""
    longitude, latitude = _lonlat(2, 2)
    return {
        "": Group(),
        "radiance": Array(_numbers(N_Y, N_X), ("y", "x"), _located(_geodetic("lon", "lat"))),
        "lon": Array(longitude, ("tie_y", "tie_x")),
        "lat": Array(latitude, ("tie_y", "tie_x")),
    }


def _wrong_size() -> Nodes:
    """Return coarser geolocation arrays whose dimensions are called like those of the grid."""
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
    """Return positions along a track."""
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
