"""Documents modelled on the examples in the specifications of conventions, with the same forms.

They declare conventions by the URL of a schema alone, or with all members. Their coordinate reference systems have
axes as a list or an object, times as one string or in parts, references directly or in a ``ref``.
"""

from collections.abc import Callable
from typing import Any

import pyproj

from zarr_xgroup.tests.builders import UUIDS, Json


def sample(name: str) -> Json:
    """Return a new copy of a document. Some documents of arrays have no shape, like their examples."""
    return SAMPLES[name]()


# Declarations.

_SCHEMAS = {
    "cs": "R-CF/zarr_convention_cs/main",
    "ref": "R-CF/zarr_convention_ref/main",
    "geolocation": "R-CF/zarr_convention_geolocation/main",
    "proj:": "zarr-conventions/geo-proj/main",
}


def _by_schema(*names: str, **attributes: Any) -> Json:
    declared = [{"schema_url": _schema(_SCHEMAS[name]), "name": name} for name in names]
    return {"zarr_conventions": declared, **attributes}


def _schema(repository: str) -> str:
    return f"https://raw.githubusercontent.com/{repository}/schema.json"


def _in_full(repository: str, version: str, name: str) -> Json:
    return {
        "schema_url": _schema(f"{repository}/refs/tags/{version}"),
        "spec_url": f"https://github.com/{repository}/blob/{version}/README.md",
        "uuid": UUIDS[name.rstrip(":")],
        "name": name,
        "description": f"The convention {name}",
    }


def _group(attributes: Json) -> Json:
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def _array(attributes: Json, **sizes: int) -> Json:
    sized = {"shape": [*sizes.values()], "dimension_names": [*sizes]} if sizes else {}
    return {"zarr_format": 3, "node_type": "array", **sized, "attributes": attributes}


# Coordinates.


def _regular(first: float, step: float) -> Json:
    return {"values": {"regular": [first, step]}}


def _cells(first: float, step: float) -> Json:
    return {**_regular(first, step), "boundaries": {"regular": [-step / 2, step / 2]}}


def _degrees(direction: str, values: Json) -> Json:
    return {"direction": direction, "unit": "degrees", **values}


def _times(time: Json, values: Json) -> Json:
    return {"direction": "future", "time": time, **values}


def _axes(**axes: tuple[str, Json]) -> list[Json]:
    return [{"name": name, **axis} for name, axis in _axes_by_name(**axes).items()]


def _axes_by_name(**axes: tuple[str, Json]) -> dict[str, Json]:
    return {
        name: {"abbreviation": letter, "coordinates": [values]}
        for name, (letter, values) in axes.items()
    }


# The documents.


def _daily() -> Json:
    height = {"direction": "up", "unit": "meter", "values": {"explicit": [2]}}
    days = {"reference": "days since 1850-01-01", "calendar": "noleap"}
    lon = ("X", _degrees("east", _cells(0.625, 1.25)))
    lat = ("Y", _degrees("north", _cells(-89.5, 1)))
    horizontal = {
        "name": "WGS84",
        "axes": _axes(lon=lon, lat=lat),
        "id": {"proj:code": "EPSG:4326"},
    }
    time = {"name": "noleap", "axes": _axes(time=("T", _times(days, _cells(27895.5, 1))))}
    vertical = {"name": "height", "axes": _axes(height=("Z", height))}
    cs = {"crs": [horizontal, time, vertical]}
    return _array(_by_schema("cs", "proj:", cs=cs), time=8605, lat=180, lon=288)


def _monthly() -> Json:
    lon = ("X", _degrees("east", _cells(0.625, 1.25)))
    lat = ("Y", _degrees("north", _cells(-89.5, 1)))
    days = {"unit": "days", "epoch": "1850-01-01", "calendar": "noleap"}
    references = {
        part: {"external": {"ref": {"node": f"../{node}"}}}
        for part, node in (("values", "time"), ("boundaries", "time_bnds"))
    }
    horizontal = {"type": "planar", "name": "WGS84", "axes": _axes_by_name(lon=lon, lat=lat)}
    temporal = {"type": "temporal", "axes": _axes_by_name(time=("T", _times(days, references)))}
    cs = {"crs": [horizontal, temporal]}
    return _array(_by_schema("cs", "ref", cs=cs), time=1200, lat=180, lon=288)


def _cordex() -> Json:
    geodetic = {
        "x": {"node": "lon"},
        "y": {"node": "lat"},
        "crs": {"proj:code": "EPSG:4326"},
    }
    rlon = ("X", _degrees("east", _regular(-28.375, 0.11)))
    rlat = ("Y", _degrees("north", _regular(-23.375, 0.11)))
    days = {"reference": "days since 1949-12-01", "calendar": "360_day"}
    rotated = {
        "name": "rotated pole",
        "axes": _axes(rlon=rlon, rlat=rlat),
        "geolocation": {"geodetic": geodetic},
    }
    cs = {"crs": [rotated, {"axes": _axes(time=("T", _times(days, _cells(20190.5, 1))))}]}
    return _array(_by_schema("cs", "geolocation", cs=cs), time=1800, rlat=412, rlon=424)


def _shared() -> Json:
    days = {"reference": "days since 1900-01-01", "calendar": "standard"}
    lon = ("X", _degrees("east", _regular(-179.75, 0.5)))
    lat = ("Y", _degrees("north", _regular(-89.75, 0.5)))
    times = _times(days, {"values": {"external": {"node": "time"}}})
    systems = {
        "WGS84": {"axes": _axes(lon=lon, lat=lat), "id": {"proj:code": "EPSG:4326"}},
        "standard_calendar": {"axes": _axes(time=("T", times))},
    }
    return _group(_by_schema("cs", "ref", "proj:", crs=systems))


def _of_the_shared(referring: Callable[[Json], Json], node: str) -> Json:
    names = ("WGS84", "standard_calendar")
    refs = [{"node": node, "attribute": f"/attributes/crs/{name}"} for name in names]
    cs = {"crs": [referring(ref) for ref in refs]}
    return _array(_by_schema("cs", "ref", cs=cs), time=1464, lat=360, lon=720)


def _geodetic_and_planar() -> Json:
    def system(code: str, x: str, y: str) -> Json:
        nodes = {"x": {"node": f"../geolocation/{x}"}, "y": {"node": f"../geolocation/{y}"}}
        return {**nodes, "crs": {"proj:code": code}}

    geolocation = {
        "geodetic": system("EPSG:4326", "geodetic/longitude", "geodetic/latitude"),
        "planar": system("EPSG:25828", "UTM28N/easting", "UTM28N/northing"),
    }
    attributes = _by_schema("geolocation", "ref", "proj:", geolocation=geolocation)
    return _array(attributes, time=8605, y=180, x=288)


def _scene() -> Json:
    declared = [
        _in_full("zarr-experimental/geo-proj", "v1", "proj:"),
        _in_full("zarr-conventions/spatial", "v1", "spatial:"),
    ]
    return _array(
        {
            "zarr_conventions": declared,
            "proj:wkt2": pyproj.CRS("EPSG:32633").to_wkt("WKT2_2019"),
            "spatial:dimensions": ["Y", "X"],
            "spatial:transform": [30.0, 0.0, 500000.0, 0.0, -30.0, 5000000.0],
        }
    )


def _levels() -> Json:
    def level(metres: int, **members: Any) -> Json:
        scale = metres / 10
        return {
            "asset": f"r{metres}m",
            **members,
            "transform": {"scale": [scale, scale], "translation": [0.0, 0.0]},
            "spatial:shape": [12000 // metres, 12000 // metres],
            "spatial:transform": [float(metres), 0.0, 500000.0, 0.0, -float(metres), 5000000.0],
        }

    coarser = [level(metres, derived_from="r10m") for metres in (20, 60)]
    return _group(
        {
            "zarr_conventions": [
                _in_full(f"zarr-conventions/{name}", "v0.1", name)
                for name in ("multiscales", "proj", "spatial")
            ],
            "multiscales": {"layout": [level(10), *coarser]},
            "proj:code": "EPSG:32633",
            "spatial:dimensions": ["Y", "X"],
            "spatial:bbox": [500000.0, 4988000.0, 512000.0, 5000000.0],
        }
    )


SAMPLES: dict[str, Callable[[], Json]] = {
    "cs_array_refers_to_group": lambda: _of_the_shared(lambda ref: ref, "/"),
    "cs_array_refers_to_parent_by_node": lambda: _of_the_shared(lambda ref: {"ref": ref}, ".."),
    "cs_cmip6_daily_axes_list": _daily,
    "cs_cmip6_monthly_axes_keyed": _monthly,
    "cs_cordex_geolocation": _cordex,
    "cs_group_shared_crs": _shared,
    "geolocation_geodetic_and_planar": _geodetic_and_planar,
    "proj_wkt2": _scene,
    "spatial_multiscales_group": _levels,
}
