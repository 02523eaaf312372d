"""Products of ESA's EOPF as metadata without chunks: published ones where they are, else made up.

The documents of three real products may lie beside the repository. Whoever has none gets products that
are made here from facts about them: their groups, the types and dimensions of their arrays, and the
attributes by which these are described. They hold fewer arrays of a kind.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyproj

from zarr_xgroup.tests.builders import UUIDS, Json, to_json, write_local

PRODUCTS = ("sentinel1_grd_eopf_v2", "sentinel2_l1c_eopf_v2", "sentinel2_l1c_geozarr_v3")

_PUBLISHED = Path(__file__).parents[3] / "shared" / "samples" / "products"

_UTM = 32632
#: The outer corner of the tile, and its length, in metres.
_LEFT, _TOP, _LENGTH = 300000.0, 5000040.0, 109800.0
_FLAGS = {"flag_masks": [1, 2, 4], "flag_meanings": ["LOST", "DEGRADED", "NO_DATA"]}
#: Not a number, as xarray writes it into an attribute of Zarr v3.
_NAN = "AAAAAAAA+H8="


@cache
def _text(name: str) -> str:
    path = _PUBLISHED / f"{name}.json"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    made = _sentinel_1() if name == PRODUCTS[0] else _sentinel_2(3 if name == PRODUCTS[2] else 2)
    return json.dumps(made)


def document(name: str) -> Json:
    """Return a product: the document of its root, which holds those of its nodes as ``members``."""
    found: Json = json.loads(_text(name))
    return found


def nodes(node: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Yield the documents of a product's nodes by path."""
    own = {key: value for key, value in node.items() if key != "members"}
    yield path, {**own, "node_type": "group" if "members" in node else "array"}
    for name, member in node.get("members", {}).items():
        yield from nodes(member, f"{path}/{name}".strip("/"))


def group_paths(name: str) -> list[str]:
    """Return the paths of all groups of a product."""
    return [path for path, node in nodes(document(name)) if node["node_type"] == "group"]


def write(name: str, folder: Path) -> Path:
    """Write a product without consolidated metadata, and return its folder."""
    for path, node in nodes(document(name)):
        if node["zarr_format"] == 3:
            files = {"zarr.json": node}
        else:
            attributes, kind = node.pop("attributes", {}), node.pop("node_type")
            own = {".zarray": node} if kind == "array" else {".zgroup": {"zarr_format": 2}}
            files = {**own, ".zattrs": attributes}
        write_local({key: to_json(content) for key, content in files.items()}, folder / path)
    return folder


# Made up.


class _Form:
    """Makes the documents of nodes in a format of Zarr."""

    def __init__(self, zarr_format: int) -> None:
        self.format = zarr_format

    def group(self, members: Json, attributes: Json | None = None) -> Json:
        own = {"zarr_format": self.format, "attributes": attributes or {}, "members": members}
        return own if self.format == 2 else {**own, "node_type": "group"}

    def array(self, dtype: str, sizes: dict[str, int], attributes: Json | None = None) -> Json:
        kind, shape, attributes = np.dtype(dtype), list(sizes.values()), attributes or {}
        chunks = [min(size, 1830) for size in shape]
        if self.format == 2:
            return {
                "zarr_format": 2,
                "shape": shape,
                "chunks": chunks,
                "dtype": kind.str,
                "fill_value": "NaN" if kind.kind == "f" else None,
                "order": "C",
                "filters": None,
                "compressor": {"id": "zstd", "level": 3},
                "attributes": {**attributes, "_ARRAY_DIMENSIONS": list(sizes)},
            }
        fixed = {"name": "fixed_length_utf32", "configuration": {"length_bytes": kind.itemsize}}
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": fixed if kind.kind == "U" else kind.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "fill_value": {"f": "NaN", "U": ""}.get(kind.kind, 0),
            "dimension_names": list(sizes) if sizes else None,
            "attributes": attributes,
        }


def _sentinel_1() -> Json:
    form = _Form(2)

    def described(dtype: str, sizes: dict[str, int], name: str, **attributes: Any) -> Json:
        said = {"long_name": name, "dtype": dtype, **attributes}
        return form.array(
            dtype, sizes, {**said, "_eopf_attrs": {"dimensions": list(sizes), **said}}
        )

    def times(size: int) -> Json:
        units = {"units": "days since 2025-09-12", "calendar": "proleptic_gregorian"}
        return form.array("<i8", {"azimuth_time": size}, units)

    def polarisation() -> Json:
        places = {
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
            "gcp": form.group({"azimuth_time": times(210), **positions, **places}),
            "orbit": form.group({"azimuth_time": times(16), "position": orbit}),
            "replica": form.group({"azimuth_time": times(15), "valid_flag": flag}),
        }
        measurements = {
            "azimuth_time": described("<u2", {"azimuth_time": 16678}, "azimuth time"),
            "grd": described("<u2", image, "measurement data set"),
        }
        calibration = {"azimuth_time": times(27), "gamma": gamma}
        parts = {
            "conditions": form.group(conditions),
            "measurements": form.group(measurements),
            "quality": form.group({"calibration": form.group(calibration)}),
        }
        return form.group(parts, about)

    about: Json = {"other_metadata": {"mode": "IW"}, "stac_discovery": {"type": "Feature"}}
    return form.group({"PRODUCT_VH": polarisation(), "PRODUCT_VV": polarisation()}, about)


def _sentinel_2(zarr_format: int) -> Json:
    form, is_geozarr = _Form(zarr_format), zarr_format == 3
    crs = pyproj.CRS(_UTM)
    wkt1 = crs.to_wkt("WKT1_GDAL")

    def scaled(cell: float) -> int:
        return int(_LENGTH // cell)

    def bands(cell: float, names: tuple[str, ...], dtype: str, **attributes: Any) -> Json:
        size = scaled(cell)
        said = scaled(min(cell, 60.0))  # overviews keep what is true of their source
        side = _LENGTH / said
        box = [_LEFT, _TOP - _LENGTH, _LEFT + _LENGTH, _TOP]
        georeference = {
            "proj:bbox": box,
            "proj:epsg": _UTM,
            "proj:shape": [said, said],
            "proj:transform": [side, 0.0, _LEFT, 0.0, -side, _TOP, 0.0, 0.0, 1.0],
            "proj:wkt2": wkt1,  # as they have it
        }
        members = {
            name: form.array(dtype, {"y": size, "x": size}, {**attributes, **georeference})
            for name in names
        }
        return members | {name: form.array("<i8", {name: size}) for name in ("x", "y")}

    def grid(cell: float, members: Json) -> Json:
        if not is_geozarr:
            return form.group(members)
        for member in members.values():
            if len(member["shape"]) == 2:
                member["attributes"]["grid_mapping"] = "spatial_ref"
        mapping = {**crs.to_cf(), "crs_wkt": wkt1, "spatial_ref": wkt1}
        members = {**members, "spatial_ref": form.array("<i8", {}, mapping)}
        own = {"grid_mapping": "spatial_ref", "spatial:shape": [scaled(cell)] * 2}
        return form.group(members, {**spatial, **own})

    spatial: Json = {
        "proj:code": f"EPSG:{_UTM}",
        "spatial:bbox": [0.0, 0.0, 0.0, 0.0],
        "spatial:dimensions": ["y", "x"],
        "spatial:registration": "pixel",
        "zarr_conventions": [{"name": f"{it}:", "uuid": UUIDS[it]} for it in ("spatial", "proj")],
    }
    packing = {"scale_factor": 0.0001, "add_offset": -0.1, "valid_min": 1}
    floats = {"_FillValue": _NAN, "units": "1"}
    kind, said = ("<f4", floats) if is_geozarr else ("<u2", packing)
    names = {10.0: ("b02", "b03", "b04", "b08"), 20.0: ("b05", "b8a"), 60.0: ("b01", "b09")}
    coarse: dict[float, tuple[str, ...]] = dict.fromkeys((120.0, 360.0, 720.0), ("b01",))
    cells = {**names, **coarse} if is_geozarr else names
    reflectance = {
        f"r{cell:.0f}m": grid(cell, bands(cell, own, kind, **said)) for cell, own in cells.items()
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
        "angle": form.array("<U7", {"angle": 2}),
        "band": form.array("<U3", {"band": 13}),
        "mean_angles": form.array("<f8", {"band": 13, "angle": 2}),
        "sun_angles": form.array("<f8", angles),
        **{name: form.array("<i8", {name: 23}) for name in ("x", "y")},
    }
    footprint = form.group({"r60m": form.group(bands(60.0, ("b01",), "|u1"))})
    conditions = {
        "geometry": form.group(geometry),
        "mask": form.group({"detector_footprint": footprint}),
        "meteorology": _meteorology(form),
    }
    measured = form.group(reflectance, pyramid if is_geozarr else {})
    parts = {
        "conditions": form.group(conditions),
        "measurements": form.group({"reflectance": measured}),
        "quality": form.group({"mask": form.group(mask)}),
    }
    return form.group(parts, {} if is_geozarr else {"stac_discovery": {"type": "Feature"}})


def _meteorology(form: _Form) -> Json:
    """Return forecasts as cfgrib describes them: CF, with scalar coordinates."""
    units = {"units": "days since 2025-01-13 00:00:00", "calendar": "proleptic_gregorian"}
    names = "number time step surface latitude longitude valid_time"
    pressure = {"GRIB_gridType": "regular_ll", "coordinates": names, "units": "Pa"}
    if form.format == 3:
        pressure["_FillValue"] = _NAN
    steps = {"units": "days", "standard_name": "forecast_period", "dtype": "timedelta64[ns]"}
    members = {
        "latitude": form.array("<f8", {"latitude": 9}, {"units": "degrees_north"}),
        "longitude": form.array("<f8", {"longitude": 9}, {"units": "degrees_east"}),
        "number": form.array("<i8", {}, {"standard_name": "realization", "units": "1"}),
        "step": form.array("<i8", {}, steps),
        "surface": form.array("<f8", {}),
        "time": form.array("<i8", {}, {**units, "standard_name": "forecast_reference_time"}),
        "valid_time": form.array("<i8", {}, {**units, "standard_name": "time"}),
        "msl": form.array("<f4", {"latitude": 9, "longitude": 9}, pressure),
    }
    about = {"Conventions": "CF-1.7", "institution": "a weather service"}
    return form.group({"ecmwf": form.group(members, about)})
