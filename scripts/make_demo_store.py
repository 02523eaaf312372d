"""Write the demo store, which is part of the package.

Each group has metadata that engine zarr ignores or cannot open.
"""

from pathlib import Path

import numpy as np
from store_tools import run, writer_of

from zarr_xgroup.tests.builders import Array, Group, Json, Nodes, coordinate, declaring

TARGET = Path(__file__).resolve().parent.parent / "zarr_xgroup" / "demo.zarr"


def make_nodes() -> Nodes:
    """Return all groups, by name."""
    return {
        "": Group(attrs={"title": "A small store with what is found in real ones"}),
        "axes": Group({"time": coordinate("time", [57.0, 58.0, 59.0])}),
        "ocean": _ocean(),
        "scene": _scene(),
        "swath": _swath(),
        "buoy": _buoy(),
        "satellite": _satellite(),
        "radar": Group({"echoes": Array(np.arange(10).reshape(2, 5), None, {"units": "1"})}),
        "model": Group({**_heights(4, 6), "coarse": Group(_heights(2, 3))}),
    }


def _ocean() -> Group:
    """Return arrays with two regular axes and a time axis in a different group."""
    calendar = {"unit": "days", "epoch": "2028-01-01", "calendar": "noleap"}
    times = {"time": calendar, "values": {"external": {"node": "../axes/time"}}}
    surface = {
        "lat": _regular_axis("Y", "degrees_north", 44.0, -2.0),
        "lon": _regular_axis("X", "degrees_east", -19.0, 2.0),
    }
    systems = [
        {"type": "planar", "name": "WGS 84", "axes": surface},
        {"type": "temporal", "axes": {"time": {"abbreviation": "T", "coordinates": [times]}}},
    ]
    steps = np.arange(24.0).reshape(3, 2, 4) / 10
    return Group(
        {
            name: Array(
                first + steps,
                ("time", "lat", "lon"),
                {"units": unit, **declaring("cs", cs={"crs": systems})},
            )
            for name, unit, first in (("salinity", "1e-3", 35.0), ("temperature", "degC", 12.0))
        }
    )


def _regular_axis(abbreviation: str, unit: str, first: float, step: float) -> Json:
    half = abs(step) / 2
    values = {"regular": [first, step]}
    boundaries = {"regular": [-half, half]}
    return {
        "abbreviation": abbreviation,
        "coordinates": [{"unit": unit, "values": values, "boundaries": boundaries}],
    }


def _scene() -> Group:
    """Return a group that declares a transform and a CRS for its arrays."""
    georeference = {
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": [10.0, 0.0, 600000.0, 0.0, -10.0, 5100000.0],
        "proj:code": "EPSG:32632",
    }
    red = Array(np.arange(12.0).reshape(3, 4) / 100, ("y", "x"), {"units": "1"})
    return Group({"red": red}, declaring("spatial", "proj", **georeference))


def _swath() -> Group:
    """Return a swath whose latitudes and longitudes are in a sibling group."""
    rows, columns = np.mgrid[0:3, 0:4]
    dims = ("row", "column")
    positions = {
        "latitude": Array(60.0 - rows + columns / 4, dims, {"units": "degrees_north"}),
        "longitude": Array(5.0 + rows / 4 + columns, dims, {"units": "degrees_east"}),
    }
    geodetic = {
        "x": {"node": "../geolocation/longitude"},
        "y": {"node": "../geolocation/latitude"},
    }
    system = {
        "type": "undefined",
        "axes": {"row": {}, "column": {}},
        "geolocation": {"geodetic": geodetic},
    }
    attributes = {"units": "K", **declaring("cs", cs={"crs": [system]})}
    brightness = Array(250.0 + rows + columns, dims, attributes)
    return Group({"geolocation": Group(positions), "data": Group({"brightness": brightness})})


def _buoy() -> Group:
    hours = {"units": "hours since 2026-05-04", "standard_name": "time"}
    temperature = Array(288.0 + np.arange(4.0), ("time",), {"units": "K"})
    return Group({"time": coordinate("time", np.arange(4.0), **hours), "temperature": temperature})


def _satellite() -> Group:
    """Return an array whose `_FillValue` is plain JSON, not encoded as xarray writes it."""
    values = 280.0 + np.arange(12.0).reshape(3, 4)
    values[0, 0] = np.nan
    sst = Array(values, ("y", "x"), {"units": "K", "_FillValue": "NaN"})
    return Group({**_axes(3, 4), "sst": sst})


def _heights(rows: int, columns: int) -> dict[str, Array | Group]:
    values = np.arange(float(rows * columns)).reshape(rows, columns)
    return {**_axes(rows, columns), "height": Array(values, ("y", "x"), {"units": "m"})}


def _axes(rows: int, columns: int) -> dict[str, Array | Group]:
    return {
        name: coordinate(name, 12.0 / size * (np.arange(size) + 0.5), units="km")
        for name, size in (("y", rows), ("x", columns))
    }


write = writer_of(make_nodes)

if __name__ == "__main__":
    run(write, str(TARGET), __doc__)
