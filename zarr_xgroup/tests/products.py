"""EOPF products as metadata without chunks: published products if available, otherwise synthetic ones.

The documents of three real products are not in the repository. Without them, this module makes similar
products: with the same groups, dtypes, dimensions and attributes, but fewer similar arrays.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyproj

from zarr_xgroup.tests.builders import (
    BYTES,
    UUIDS,
    Array,
    Group,
    Json,
    all_nodes,
    documents_of,
    to_json,
    write_local,
)

PRODUCTS = ("sentinel1_grd_eopf_v2", "sentinel2_l1c_eopf_v2", "sentinel2_l1c_geozarr_v3")

_PUBLISHED = Path(__file__).parents[3] / "shared" / "samples" / "products"

_UTM = 32632
#: The upper left corner of the tile and the length of its edges, in metres.
_LEFT, _TOP, _LENGTH = 300000.0, 5000040.0, 109800.0
_FLAGS = {"flag_masks": [1, 2, 4], "flag_meanings": ["LOST", "DEGRADED", "NO_DATA"]}
#: NaN, in the form that xarray writes to an attribute of Zarr v3.
_NAN = "AAAAAAAA+H8="

Documents = Mapping[str, Mapping[str, Json]]


@cache
def _documents(name: str) -> Documents:
    """Return the documents of a product, by path of the node and file name."""
    published = _PUBLISHED / f"{name}.json"
    if published.is_file():
        return dict(_published(json.loads(published.read_text(encoding="utf-8"))))
    zarr_format: Any = int(name[-1])
    root = _sentinel_1() if name == PRODUCTS[0] else _sentinel_2(is_geozarr=zarr_format == 3)
    return {path: documents_of(node, zarr_format) for path, node in all_nodes(root)}


def _published(node: Json, path: str = "") -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the documents of a product, given as one document with nested ``members``."""
    members = node.pop("members", None)
    if node["zarr_format"] == 3:
        yield path, {"zarr.json": {**node, "node_type": "array" if members is None else "group"}}
    else:
        attributes = {".zattrs": node.pop("attributes", {})}
        node.pop("node_type", None)
        yield path, {(".zarray" if members is None else ".zgroup"): node, **attributes}
    for name, member in (members or {}).items():
        yield from _published(member, f"{path}/{name}".strip("/"))


def group_paths(name: str) -> list[str]:
    """Return the paths of all groups of a product."""
    return [
        path
        for path, files in _documents(name).items()
        if ".zgroup" in files or files.get("zarr.json", {}).get("node_type") == "group"
    ]


def write(name: str, folder: Path) -> Path:
    """Write a product without consolidated metadata and return its folder."""
    for path, files in _documents(name).items():
        write_local({key: to_json(content) for key, content in files.items()}, folder / path)
    return folder


# Synthetic products.


def _array(dtype: str, sizes: dict[str, int], attributes: Json | None = None) -> Array:
    kind, chunks = np.dtype(dtype), tuple(min(size, 1830) for size in sizes.values())
    # Strings have a fixed length, unlike the strings of `builders`.
    values = np.broadcast_to(np.zeros((), "f8" if kind.kind == "U" else kind), [*sizes.values()])
    fixed = {"name": "fixed_length_utf32", "configuration": {"length_bytes": kind.itemsize}}
    empty = {"f": "NaN", "U": "", "b": False}.get(kind.kind, 0)
    v2 = {"dtype": kind.str, "compressor": {"id": "zstd", "level": 3}, "filters": None}
    v2["fill_value"] = "NaN" if kind.kind == "f" else None
    v3: Json = {"fill_value": empty, "dimension_names": [*sizes] or None}
    if kind.kind == "U":
        v3 |= {"data_type": fixed, "codecs": [BYTES]}
    return Array(values, (*sizes,), attributes or {}, chunks=chunks, v2=v2, v3=v3)


def _sentinel_1() -> Group:
    def described(dtype: str, sizes: dict[str, int], name: str, **attributes: Any) -> Array:
        declared = {"long_name": name, "dtype": dtype, **attributes}
        copy = {"dimensions": list(sizes), **declared}
        return _array(dtype, sizes, {**declared, "_eopf_attrs": copy})

    def times(size: int) -> Array:
        units = {"units": "days since 2025-09-12", "calendar": "proleptic_gregorian"}
        return _array("<i8", {"azimuth_time": size}, units)

    def polarisation() -> Group:
        locations = {
            name: described("<f8", {"azimuth_time": 210}, name, units="degrees", coordinates="line")
            for name in ("latitude", "longitude", "incidence_angle")
        }
        positions = {
            name: described("<u4", {"azimuth_time": 210}, f"image {name}")
            for name in ("line", "pixel")
        }
        orbit = described("<f8", {"azimuth_time": 16, "axis": 3}, "position vector", units="m")
        flag = described("|b1", {"azimuth_time": 15}, "whether the replica is valid")
        image = {"azimuth_time": 16678, "ground_range": 26587}
        gamma = described("<f4", {"azimuth_time": 27, "ground_range": 67}, "gamma")
        conditions = {
            "gcp": Group({"azimuth_time": times(210), **positions, **locations}),
            "orbit": Group({"azimuth_time": times(16), "position": orbit}),
            "replica": Group({"azimuth_time": times(15), "valid_flag": flag}),
        }
        measurements = {
            "azimuth_time": described("<u2", {"azimuth_time": 16678}, "azimuth time"),
            "grd": described("<u2", image, "measurement data set"),
        }
        calibration = {"azimuth_time": times(27), "gamma": gamma}
        parts = {
            "conditions": Group(conditions),
            "measurements": Group(measurements),
            "quality": Group({"calibration": Group(calibration)}),
        }
        return Group(parts, about)

    about: Json = {"other_metadata": {"mode": "IW"}, "stac_discovery": {"type": "Feature"}}
    return Group({"PRODUCT_VH": polarisation(), "PRODUCT_VV": polarisation()}, about)


def _sentinel_2(*, is_geozarr: bool) -> Group:
    crs = pyproj.CRS(_UTM)
    wkt1 = crs.to_wkt("WKT1_GDAL")

    def scaled(cell: float) -> int:
        return int(_LENGTH // cell)

    def bands(
        cell: float, names: tuple[str, ...], dtype: str, **attributes: Any
    ) -> dict[str, Array]:
        size = scaled(cell)
        declared_size = scaled(min(cell, 60.0))  # overviews keep the attributes of their source
        side = _LENGTH / declared_size
        box = [_LEFT, _TOP - _LENGTH, _LEFT + _LENGTH, _TOP]
        georeference = {
            "proj:bbox": box,
            "proj:epsg": _UTM,
            "proj:shape": [declared_size, declared_size],
            "proj:transform": [side, 0.0, _LEFT, 0.0, -side, _TOP, 0.0, 0.0, 1.0],
            "proj:wkt2": wkt1,  # WKT1, as in the published products
        }
        if not is_geozarr:
            copy = {"coordinates": ["x", "y"], "dimensions": ["y", "x"], **attributes}
            attributes = {**attributes, "_eopf_attrs": copy}
        members = {
            name: _array(dtype, {"y": size, "x": size}, {**attributes, **georeference})
            for name in names
        }
        return members | {name: _array("<i8", {name: size}) for name in ("x", "y")}

    def grid(cell: float, members: dict[str, Array]) -> Group:
        if not is_geozarr:
            return Group(members)
        along = {"grid_mapping": "spatial_ref"}
        members = {
            name: replace(it, attrs={**it.attrs, **along}) if it.data.ndim == 2 else it
            for name, it in members.items()
        }
        mapping = {**crs.to_cf(), "crs_wkt": wkt1, "spatial_ref": wkt1}
        members = {**members, "spatial_ref": _array("<i8", {}, mapping)}
        own = {"grid_mapping": "spatial_ref", "spatial:shape": [scaled(cell)] * 2}
        return Group(members, {**spatial, **own})

    spatial: Json = {
        "proj:code": f"EPSG:{_UTM}",
        "spatial:bbox": [0.0, 0.0, 0.0, 0.0],
        "spatial:dimensions": ["y", "x"],
        "spatial:registration": "pixel",
        "zarr_conventions": [{"name": f"{it}:", "uuid": UUIDS[it]} for it in ("spatial", "proj")],
    }
    packing = {"scale_factor": 0.0001, "add_offset": -0.1, "valid_min": 1}
    floats = {"_FillValue": _NAN, "units": "1"}
    dtype, attributes = ("<f4", floats) if is_geozarr else ("<u2", packing)
    names = {10.0: ("b02", "b03", "b04", "b08"), 20.0: ("b05", "b8a"), 60.0: ("b01", "b09")}
    coarse: dict[float, tuple[str, ...]] = dict.fromkeys((120.0, 360.0, 720.0), ("b01",))
    cells = {**names, **coarse} if is_geozarr else names
    reflectance = {
        f"r{cell:.0f}m": grid(cell, bands(cell, own, dtype, **attributes))
        for cell, own in cells.items()
    }
    mask = {
        f"r{cell:.0f}m": grid(cell, bands(cell, own, "|u1", **_FLAGS))
        for cell, own in names.items()
    }
    layout: list[Json] = [{"asset": "r10m", "spatial:shape": [scaled(10.0)] * 2}]
    for finer, cell in zip(list(cells)[:-1], list(cells)[1:], strict=True):
        step = {"scale": [scaled(finer) / scaled(cell)] * 2, "translation": [0.0, 0.0]}
        item = {"asset": f"r{cell:.0f}m", "derived_from": f"r{finer:.0f}m", "transform": step}
        layout.append({**item, "spatial:shape": [scaled(cell)] * 2})
    multiscales = {"name": "multiscales", "uuid": UUIDS["multiscales"]}
    declared = [multiscales, *spatial["zarr_conventions"]]
    pyramid = {**spatial, "zarr_conventions": declared, "multiscales": {"layout": layout}}
    angles = {"angle": 2, "y": 23, "x": 23}
    geometry = {
        "angle": _array("<U7", {"angle": 2}),
        "band": _array("<U3", {"band": 13}),
        "mean_angles": _array("<f8", {"band": 13, "angle": 2}),
        "sun_angles": _array("<f8", angles),
        **{name: _array("<i8", {name: 23}) for name in ("x", "y")},
    }
    footprint = Group({"r60m": Group(bands(60.0, ("b01",), "|u1"))})
    conditions = {
        "geometry": Group(geometry),
        "mask": Group({"detector_footprint": footprint}),
        "meteorology": _meteorology(is_geozarr=is_geozarr),
    }
    measured = Group(reflectance, pyramid if is_geozarr else {})
    parts = {
        "conditions": Group(conditions),
        "measurements": Group({"reflectance": measured}),
        "quality": Group({"mask": Group(mask)}),
    }
    return Group(parts, {} if is_geozarr else {"stac_discovery": {"type": "Feature"}})


def _meteorology(*, is_geozarr: bool) -> Group:
    """Return forecasts with the CF attributes of cfgrib, and scalar coordinates."""
    units = {"units": "days since 2025-01-13 00:00:00", "calendar": "proleptic_gregorian"}
    names = "number time step surface latitude longitude valid_time"
    pressure = {"GRIB_gridType": "regular_ll", "coordinates": names, "units": "Pa"}
    if is_geozarr:
        pressure["_FillValue"] = _NAN
    steps = {"units": "days", "standard_name": "forecast_period", "dtype": "timedelta64[ns]"}
    members = {
        "latitude": _array("<f8", {"latitude": 9}, {"units": "degrees_north"}),
        "longitude": _array("<f8", {"longitude": 9}, {"units": "degrees_east"}),
        "number": _array("<i8", {}, {"standard_name": "realization", "units": "1"}),
        "step": _array("<i8", {}, steps),
        "surface": _array("<f8", {}),
        "time": _array("<i8", {}, {**units, "standard_name": "forecast_reference_time"}),
        "valid_time": _array("<i8", {}, {**units, "standard_name": "time"}),
        "msl": _array("<f4", {"latitude": 9, "longitude": 9}, pressure),
    }
    about = {"Conventions": "CF-1.7", "institution": "a weather service"}
    return Group({"ecmwf": Group(members, about)})
