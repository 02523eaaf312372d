"""A small store for each convention, for tests of laws that hold for all conventions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyproj
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    Json,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened,
)

_SIZES = {"time": 4, "s": 3, "lat": 4, "lon": 6, "y": 4, "x": 6, "cells": 6}


#: Mutable attributes, which returned objects must not share.
_NESTED: Json = {"nested": {"list": [1, {"a": None}]}}


def _field(*dims: str, **attributes: Any) -> Array:
    shape = tuple(_SIZES[dim] for dim in dims)
    values = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    return Array(values, dims, {"long_name": "field", **_NESTED, **attributes})


def _axis(letter: str, **item: Any) -> Json:
    return {"abbreviation": letter, "coordinates": [item], "attributes": _NESTED}


_TIME = {"unit": "days", "epoch": "2000-01-15", "calendar": "standard"}
_INLINE = {
    "time": _axis("T", values={"regular": [0, 20]}, time=_TIME),
    "lat": _axis("Y", values={"regular": [50.0, -1.0]}, unit="degrees_north"),
    "lon": _axis("X", values={"explicit": [5.0, 5.5, 6.0, 7.0, 8.0, 9.0]}, unit="degrees_east"),
}
_WGS84: Json = {"proj:code": "EPSG:4326"}


def _cs(axes: Json, **more: Any) -> Json:
    return declaring("cs", cs={"crs": [{"axes": axes}], "id": _WGS84}, **more)


def _inline() -> Group:
    dims = ("time", "lat", "lon")
    return Group({"v": _field(*dims, **_cs(_INLINE)), "w": _field("lat", "lon")})


def _by_reference() -> Group:
    axes = {
        dim: _axis(letter, values={"external": {"node": f"/grid/{dim}"}})
        for dim, letter in {"lat": "Y", "lon": "X"}.items()
    }
    axes["time"] = _axis("T", values={"external": {"node": "/grid/time"}}, time=_TIME)
    grid = {
        "lat": Array([50.0, 49.0, 48.0, 46.0], ("lat",), {"units": "degrees_north", **_NESTED}),
        "lon": Array(np.arange(5.0, 11.0), ("lon",), {"units": "degrees_east", **_NESTED}),
        "time": Array([0, 10, 31, 60], ("time",), {"units": "days since 2000-01-15"}),
    }
    data = {"v": _field("time", "lat", "lon", **_cs(axes)), "w": _field("lat", "lon")}
    return Group({"grid": Group(grid), "data": Group(data), "more": Group(data)})


def _shared() -> Group:
    reference = {"ref": {"node": "/", "attribute": "/attributes/crs/map"}}
    cs = declaring("cs", "ref", cs={"crs": [reference]})
    axes = {"lat": _INLINE["lat"], "lon": _INLINE["lon"]}
    data = {name: _field("lat", "lon", **cs) for name in "vw"}
    return Group(
        {"data": Group(data), "more": Group(data)}, {"crs": {"map": {"axes": axes, "id": _WGS84}}}
    )


def _with_bounds() -> Group:
    edges = np.stack([[50.5, 49.5, 48.5, 47.5], [49.5, 48.5, 47.5, 46.5]], axis=1)
    bounded = {"boundaries": {"regular": [-0.25, 0.25]}}
    axes = {
        "time": _axis("T", values={"regular": [0, 20]}, time=_TIME),
        "lat": _axis(
            "Y", values={"regular": [50.0, -1.0]}, boundaries={"external": {"node": "edges"}}
        ),
        "lon": _axis("X", values={"regular": [5.0, 0.5]}, unit="degrees_east", **bounded),
    }
    field = _field("time", "lat", "lon", **_cs(axes))
    return Group({"v": field, "edges": Array(edges, ("lat", "side"))})


def _referring() -> Group:
    members = {"v": _field("y", "x", **declaring("ref", label={"node": "/names/label"}))}
    label = Array(np.arange(4, dtype="i2"), ("y",), {"long_name": "label"})
    return Group({"names": Group({"label": label}), "data": Group(members)})


_UTM = {"spatial:dimensions": ["y", "x"], "proj:code": "EPSG:32632"}


def _spatial(*transform: float) -> Group:
    attributes = declaring("spatial", "proj", "uom", **_UTM, **{"spatial:transform": transform})
    unit = {"uom": {"ucum": {"unit": "K"}}}
    return Group({"v": _field("time", "y", "x", **unit), "w": _field("y", "x")}, attributes)


def _proj() -> Group:
    axes = {name: Array(np.arange(float(_SIZES[name])), (name,)) for name in "yx"}
    return Group({"v": _field("y", "x", **declaring("proj", **{"proj:code": "EPSG:3035"})), **axes})


def _pyramid() -> Group:
    layout = [
        {"asset": "0", "spatial:transform": [10, 0, 600000, 0, -10, 5100000]},
        {"asset": "1", "derived_from": "0", "transform": {"scale": [2, 2]}},
    ]
    attributes = declaring("multiscales", "spatial", "proj", multiscales={"layout": layout}, **_UTM)
    full = Array(np.ones((8, 12)), ("y", "x"))
    return Group({"0": Group({"v": full}), "1": Group({"v": _field("y", "x")})}, attributes)


def _geolocation() -> Group:
    pair = {"x": {"node": "/geo/lon"}, "y": {"node": "/geo/lat"}, "crs": _WGS84}
    field = _field("y", "x", **declaring("geolocation", geolocation={"geodetic": pair}))
    geo = {"lat": _field("y", "x", units="degrees_north"), "lon": _field("y", "x")}
    return Group({"geo": Group(geo), "data": Group({"v": field})})


def _across_groups() -> Group:
    attributes = {
        "coordinates": "/grid/area ../grid/station",
        "grid_mapping": "/grid/crs",
        "ancillary_variables": "../grid/quality",
    }
    degrees = {"units": "degrees_north", "standard_name": "latitude", "bounds": "lat_bnds"}
    lat = np.array([50.0, 49.0, 48.0, 47.0])
    grid = {
        "lat": Array(lat, ("lat",), degrees),
        "lat_bnds": Array(np.stack([lat + 0.5, lat - 0.5], axis=1), ("lat", "nv")),
        "lon": Array(np.arange(6.0), ("lon",), {"units": "degrees_east"}),
        "area": _field("lat", "lon"),
        "station": Array(7.0),
        "quality": _field("lat", "lon"),
        "crs": Array(np.int32(0), (), pyproj.CRS(4326).to_cf()),
    }
    data = {"v": _field("lat", "lon", **declaring("CF", **attributes)), "w": _field("lat")}
    return Group({"grid": Group(grid), "data": Group(data)})


def _coords() -> Group:
    days = {"type": "interval", "start": "2024-01-01", "end": "2024-01-04", "step": "P1D"}
    described = {
        "time": days,
        "lat": {"type": "inline", "values": [50.0, 49.0, 48.0, 46.0]},
        "lon": {"type": "array", "path": "/axes/lon"},
    }
    attributes = declaring("coords", **{"coords:version": 1, "coords:coordinates": described})
    lon = Array(np.arange(6.0), ("lon",), {"units": "degrees_east"})
    data = {"v": _field("time", "lat", "lon", **attributes), "w": _field("lat")}
    return Group({"axes": Group({"lon": lon}), "data": Group(data)})


def _dggs() -> Group:
    grid = {"name": "healpix", "refinement_level": 1, "indexing_scheme": "nested"}
    grid |= {"spatial_dimension": "cells", "coordinate": "../cell_ids"}
    data = {"v": _field("time", "cells", **declaring("dggs", dggs=grid))}
    ids = Array(np.array([1, 3, 4, 8, 9, 11]), ("cells",))
    return Group({"cell_ids": ids, "data": Group(data)})


def _stac() -> Group:
    transform = [10.0, 0.0, 600000.0, 0.0, -10.0, 5100000.0]
    attributes = {"proj:epsg": 32632, "proj:transform": transform, "proj:shape": [4, 6]}
    return Group({"v": _field("y", "x", **attributes)})


def _gdal() -> Group:
    attributes = {"GeoTransform": "600000 10 0 5100000 0 -10", "_CRS": {"url": "EPSG:32632"}}
    return Group({name: _field("y", "x", **attributes) for name in "vw"})


def _control_points() -> Group:
    points = {
        "line": Array([0.0, 3.0], ("line",)),
        "pixel": Array([0.0, 5.0], ("pixel",)),
        "latitude": Array([[50.0, 50.0], [49.0, 49.0]], ("line", "pixel")),
        "longitude": Array([[5.0, 6.0], [5.0, 6.0]], ("line", "pixel")),
    }
    conditions = Group({"gcp": Group(points)})
    return Group({"conditions": conditions, "measurements": Group({"v": _field("y", "x")})})


def _time_above() -> Group:
    days = {"units": "days since 2000-01-15", "calendar": "standard", "axis": "T"}
    time = Array([0, 10, 31, 60], ("time",), days)
    ocean = Group({"v": Array(_field("time", "x").values, ("/time", "x")), "x": _field("x")})
    return Group({"time": time, "ocean": ocean}, declaring("CF"))


def _vertical() -> Group:
    terms = {
        "s": {"external": {"node": "sigma"}},
        "depth": {"external": {"node": "/grid/h"}},
        "eta": {"external": {"node": "/grid/zeta"}},
    }
    parametric = {"formula": "ocean_sigma_coordinate", "terms": terms}
    level = {"values": {"external": {"node": "sigma"}}, "parametric": parametric}
    axes = {"s": {"abbreviation": "Z", "direction": "up", "coordinates": [level]}}
    grid = {"h": _field("y", "x", units="m"), "zeta": _field("y", "x", units="m")}
    members = {"v": _field("s", "y", "x", **_cs(axes)), "sigma": Array([-0.8, -0.5, -0.1], ("s",))}
    return Group({"data": Group(members), "grid": Group(grid)})


@dataclass(frozen=True)
class Sample:
    """A store of one convention.

    Attributes
    ----------
    make : callable
        Returns the root of the store.
    group : str
        The group to open.
    assumed : str or None
        The convention for the option `assume_conventions`.
    """

    make: Callable[[], Group]
    group: str = ""
    assumed: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options to open the group."""
        return {"group": self.group, **self.assuming}

    @property
    def assuming(self) -> dict[str, Any]:
        """The options to open the whole store."""
        return {"assume_conventions": self.assumed}

    def contents(self, zarr_format: ZarrFormat = 3, consolidated: bool = False) -> Contents:
        return _contents(self, zarr_format, consolidated)

    def open(self, zarr_format: ZarrFormat = 3, **options: Any) -> xr.Dataset:
        store: Any = memory_store(self.contents(zarr_format))
        dataset: xr.Dataset = opened(xr.open_dataset, store, **self.options, **options)
        return dataset


@cache
def _contents(sample: Sample, zarr_format: ZarrFormat, consolidated: bool) -> Contents:
    return build(sample.make(), zarr_format, consolidated=consolidated)


SAMPLES: Mapping[str, Sample] = {
    "cs": Sample(_inline),
    "cs, by reference": Sample(_by_reference, "data"),
    "cs, shared by arrays": Sample(_shared, "data"),
    "cs, with bounds": Sample(_with_bounds),
    "cs, parametric vertical": Sample(_vertical, "data"),
    "ref": Sample(_referring, "data"),
    "spatial": Sample(lambda: _spatial(10, 0, 600000, 0, -10, 5100000)),
    "spatial, rotated": Sample(lambda: _spatial(8.0, -6.0, 600000, -6.0, -8.0, 5100000)),
    "proj": Sample(_proj),
    "multiscales": Sample(_pyramid, "1"),
    "geolocation": Sample(_geolocation, "data"),
    "coords": Sample(_coords, "data"),
    "dggs": Sample(_dggs, "data"),
    "CF, across groups": Sample(_across_groups, "data"),
    "CF, time in a group above": Sample(_time_above, "ocean"),
    "STAC, assumed": Sample(_stac, assumed="proj"),
    "GDAL, assumed": Sample(_gdal, assumed="geozarr"),
    "control points, assumed": Sample(_control_points, "measurements", "gcp"),
}
