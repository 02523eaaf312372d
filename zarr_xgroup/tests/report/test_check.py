"""`check`: the mistakes that it reports, their places and remedies, and valid metadata."""

from __future__ import annotations

import copy
import dataclasses
import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr
from msgspec.structs import asdict, fields, replace
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup import ConventionHandler
from zarr_xgroup.conventions import register
from zarr_xgroup.conventions.array import NodeView
from zarr_xgroup.errors import (
    XGroupPluginWarning,
    XGroupStoreNotFoundError,
)
from zarr_xgroup.findings import Finding, Place
from zarr_xgroup.report import explanation
from zarr_xgroup.report.results import Verdict
from zarr_xgroup.report.rules import RULES
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import (
    UUIDS,
    ZARR,
    Array,
    Contents,
    Group,
    Json,
    ZarrFormat,
    build,
    consolidate,
    declaring,
    documents_of,
    edit,
    memory_store,
    opened_with_warnings,
    quietly,
    recording_folder,
    recording_store,
    stored,
    to_json,
    update,
    without,
    write_local,
)
from zarr_xgroup.tests.documents import ALL_FORMS, STORES
from zarr_xgroup.tests.pages import DOCS
from zarr_xgroup.tests.samples import SAMPLES, sample
from zarr_xgroup.tests.tables import rows, store_of

WKT1 = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]'
)
WKT2 = pyproj.CRS("EPSG:32633").to_wkt()
OTHER_UUID = "00000000-0000-0000-0000-000000000000"
#: Numbers of a transform as spatial:transform has them, and as GDAL has them.
TRANSFORM = [10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0]
GDAL = [500000.0, 10.0, 0.0, 4600000.0, 0.0, -10.0]
BOX = [500000.0, 4599960.0, 500060.0, 4600000.0]
HEALPIX = {"name": "healpix", "refinement_level": 0, "indexing_scheme": "nested", "spatial_dimension": "cells"}  # fmt: skip
STEPS = {"type": "interval", "start": 0, "end": 12, "step": 6}

Nodes: TypeAlias = dict[str, Any]


def sized(dims: str, *shape: int, dtype: Any = "float64", **attrs: Any) -> Array:
    """Return an array without values along dimensions."""
    return Array(np.broadcast_to(np.zeros((), dtype), shape), dims.split(), attrs)


def axis(*letter: str, **values: Any) -> Json:
    """Return an axis of `cs` with one set of coordinates."""
    return {**({"abbreviation": letter[0]} if letter else {}), "coordinates": [values]}


def _sound() -> Nodes:
    """Return a store that follows all conventions, and breaks no rule."""
    cells = {"values": {"regular": [10, 1]}, "boundaries": {"regular": [-0.5, 0.5]}}
    lat = axis("Y", unit="degrees", **cells)
    lon = axis("X", values={"explicit": [1.0, 2.0, 3.0, 4.0]})
    since = {"unit": "days", "epoch": "2000-01-01", "calendar": "noleap"}
    time = axis("T", time=since, values={"external": {"node": "days"}})
    planar = {"type": "planar", "axes": {"lat": {**lat, "direction": "north"}, "lon": lon}}
    crs = {**planar, "id": {"proj:code": "EPSG:4326"}}
    cs = {"crs": [crs, {"type": "temporal", "axes": {"time": time}}]}
    of_grid: Json = {"spatial:dimensions": ["y", "x"], "proj:code": "EPSG:32633"}
    grid: Json = {
        **of_grid, "spatial:transform": TRANSFORM, "spatial:shape": [4, 6], "spatial:bbox": BOX,
        "spatial:registration": "pixel", "spatial:transform_type": "affine",
    }  # fmt: skip
    fine = {"asset": "fine", "spatial:transform": PLAIN, "spatial:shape": [4, 4]}
    halved = {"scale": [2.0, 2.0], "translation": [0.0, 0.0]}
    layout = [fine, {"asset": "coarse", "derived_from": "fine", "transform": halved}]
    levels = {"layout": layout, "resampling_method": "average"}
    located = {"x": {"node": "lon"}, "y": {"node": "lat"}, "crs": {"proj:code": "EPSG:4326"}}
    so: Json = {
        "standard_name": "sea_water_salinity", "units": "1e-3", "coordinates": "lat", "grid_mapping": "crs",
        "cell_measures": "area: cell_area", "missing_value": -999.0, "scale_factor": 0.01,
    }  # fmt: skip
    lev = {
        "standard_name": "ocean_sigma_coordinate", "units": "1", "axis": "Z", "positive": "up",
        "formula_terms": "sigma: lev eta: eta depth: depth", "bounds": "lev_bnds",
    }  # fmt: skip
    poles: Json = {"grid_north_pole_latitude": 32.5, "grid_north_pole_longitude": 170.0}
    mass = {"ucum": {"unit": "kg.m-2", "version": "2.2"}, "description": "mass"}
    steps: Json = {"coords:coordinates": {"step": STEPS}}
    placed: Json = declaring("geolocation", "ref", "proj", geolocation={"geodetic": located})
    return {
        "": {"title": "sound"},
        "model": {},
        "model/tas": sized("time lat lon", 2, 3, 4, **declaring("cs", "ref", "proj", cs=cs)),
        "model/days": sized("time", 2, units="days since 2000-01-01"),
        "grid": {**declaring("spatial", "proj"), **grid},
        "grid/band": sized("y x", 4, 6),
        "pyramid": {**declaring("multiscales", "spatial", "proj", multiscales=levels), **of_grid},
        "pyramid/fine": {},
        "pyramid/fine/band": sized("y x", 4, 4),
        "pyramid/coarse": {},
        "pyramid/coarse/band": sized("y x", 2, 2),
        "swath": {},
        "swath/radiance": sized("row column", 3, 4, **placed),
        "swath/lon": sized("row column", 3, 4),
        "swath/lat": sized("row column", 3, 4),
        "forecast": sized("step", 3, **declaring("coords"), **steps),
        "globe": sized("cells", 12, **declaring("dggs", dggs=HEALPIX)),
        "ocean": declaring("CF", Conventions="CF-1.12"),
        "ocean/so": sized("lev cell", 3, 4, **so),
        "ocean/lev": sized("lev", 3, **lev),
        "ocean/lev_bnds": sized("lev bnds", 3, 2),
        **{f"ocean/{name}": sized("cell", 4) for name in ("eta", "depth", "cell_area")},
        "ocean/lat": sized("cell", 4, standard_name="latitude", units="degrees_north"),
        "ocean/time": sized("", standard_name="time", units="days since 2000-01-01"),
        "ocean/crs": sized("", grid_mapping_name="rotated_latitude_longitude", **poles),
        "mass": sized("", **declaring("uom", uom=mass)),
    }  # fmt: skip


PLAIN = [10.0, 0.0, 0.0, 0.0, -10.0, 0.0]
SOUND = _sound()


def documents(nodes: Nodes) -> dict[str, Json]:
    """Return the document of each node by path."""
    whole = {path: Group(attrs=it) if isinstance(it, dict) else it for path, it in nodes.items()}
    return {path: documents_of(node, 3)["zarr.json"] for path, node in whole.items()}


def files(found: Mapping[str, Json]) -> Contents:
    """Return what is stored of documents, with chunks of zeros for arrays of one dimension, which may be indexes."""
    contents = {f"{path}/zarr.json".lstrip("/"): to_json(it) for path, it in found.items()}
    for path, document in found.items():
        shape, data_type = document.get("shape"), document.get("data_type")
        if data_type in ("float64", "int64") and isinstance(shape, list) and len(shape) == 1:
            contents[f"{path}/c/0"] = bytes(8 * (shape[0] or 0))
    return contents


def check_nodes(nodes: Nodes, **options: Any) -> Verdict:
    """Check a store in memory."""
    return zarr_xgroup.check(memory_store(files(documents(nodes))), **options)


# Edits of documents, and what a check says of them.

#: What stands for a value that is taken away, and for the URI of the store itself.
GONE = "is taken away"
HERE = "file://the-store"


def edited(found: dict[str, Json], place: str, value: Any) -> None:
    """Put a value at a place ``node#pointer``, or take it away, or put a whole node."""
    node, _hash, pointer = place.partition("#")
    if not pointer:
        found[node.strip("/")] = documents({"": value})[""]
        return
    *keys, last = pointer.split("/")[1:]
    holder: Any = found[node.strip("/")]
    for key in keys:
        holder = holder[int(key)] if isinstance(holder, list) else holder[key]
    index: Any = int(last) if isinstance(holder, list) and last != "-" else last
    if value == GONE:
        del holder[index]
    elif last == "-":
        holder.append(value)
    else:
        holder[index] = value


def broken(edits: Mapping[str, Any]) -> dict[str, Json]:
    """Return the documents of the sound store with edits."""
    found = copy.deepcopy(documents(SOUND))
    for place, value in edits.items():
        edited(found, place, copy.deepcopy(value))
    return found


def part(whole: Mapping[str, Json], *places: str) -> dict[str, Json]:
    """Return the part of a store in which some places are: the whole of their groups."""
    tops = {"", *(place.partition("#")[0].split("/")[1] for place in places)}
    return {path: it for path, it in whole.items() if path.partition("/")[0] in tops}


def checked(folder: Path, found: Mapping[str, Json], **options: Any) -> Verdict:
    """Write documents into a folder, and check them."""
    store = folder / "store.zarr"
    text = json.dumps(found).replace(HERE, store.as_uri())
    write_local(files(json.loads(text)), store)
    return zarr_xgroup.check(store, **options)


def places(verdict: Verdict) -> set[tuple[str, str]]:
    """Return what a verdict objects to: names of rules, and places."""
    return {
        (it.rule.name, f"{place.node}#{place.pointer}")
        for it in verdict.mistakes
        for place in it.places
    }


def told(verdict: Verdict) -> list[str]:
    """Return lines ``rule node#attribute ... -> remedy``, ! before errors: of each rule and remedy one, cut."""
    found: dict[str, list[str]] = {}
    for it in verdict.mistakes:
        start = f"{'! ' if it.severity == 'error' else ''}{it.rule.name} {{}} -> {it.remedy[:48].rstrip()}"
        at = [str(place).replace("#/attributes/", "#") for place in it.places]
        found.setdefault(start, []).extend(at)
    return [line.replace("{}", " ".join(at), 1) for line, at in found.items()]


def lines(expected: str) -> list[str]:
    """Return the lines of a text: those that are indented go on with the one before."""
    whole = textwrap.dedent(expected).strip().replace("\n    ", " ")
    return [" ".join(it.split()) for it in whole.splitlines()]


# The rules, one by one: a sound store with one edit.

TAS = "/model/tas#/attributes"
CS = f"{TAS}/cs"
CRS = f"{CS}/crs/0"
LAT = f"{CRS}/axes/lat"
SET = f"{LAT}/coordinates/0"
TIME = f"{CS}/crs/1/axes/time/coordinates/0/time"
EXTERNAL = f"{CS}/crs/1/axes/time/coordinates/0/values/external"
GRID = "/grid#/attributes"
BAND = "/grid/band#/attributes"
PYRAMID = "/pyramid#/attributes/multiscales"
LAYOUT = f"{PYRAMID}/layout"
MASS = "/mass#/attributes"
UOM = f"{MASS}/uom"
SO = "/ocean/so#/attributes"
DAYS = "/model/days#/attributes"
PLACED = "/swath/radiance#/attributes/geolocation"
LON = "/swath/lon#/attributes"
COORDS = "/forecast#/attributes/coords:coordinates"
DGGS = "/globe#/attributes/dggs"
OF_CF = declaring("CF")

#: A rule, where it is broken, how, and a part of what is said to write instead.
BrokenRule: TypeAlias = tuple[str, str, dict[str, Any], str]


def case(rule: str, edits: dict[str, Any], remedy: str, at: str = "") -> BrokenRule:
    """Return a rule that edits break; where the first one is, if nothing else is said."""
    return rule, at or next(iter(edits)), edits, remedy


CASES: list[BrokenRule] = [
    # Declarations.
    case("conventions/list-of-objects", {f"{MASS}/zarr_conventions": "uom"}, '"zarr_conventions": [{"uuid": '),
    case("conventions/list-of-objects", {f"{MASS}/zarr_conventions/0": "uom"}, UUIDS["uom"]),
    case("conventions/identified", {f"{MASS}/zarr_conventions/0": {"name": "uom"}}, UUIDS["uom"]),
    case("conventions/known", {f"{MASS}/zarr_conventions/-": {"uuid": OTHER_UUID, "name": "orbits"}},
         "for other readers", at=f"{MASS}/zarr_conventions/1"),
    case("conventions/texts", {f"{MASS}/zarr_conventions/0/description": 5}, '"description"'),
    case("conventions/counts-for-something", {f"{TAS}/zarr_conventions/0/uuid": OTHER_UUID}, UUIDS["cs"]),
    case("conventions/declared-once", {f"{TAS}/zarr_conventions/-": {"uuid": UUIDS["cs"]}},
         "remove this item", at=f"{TAS}/zarr_conventions/3"),
    case("conventions/declared", {f"{TAS}/zarr_conventions/0": GONE}, UUIDS["cs"], at=CS),
    case("conventions/declared", {f"{GRID}/zarr_conventions": GONE}, UUIDS["spatial"], at=f"{GRID}/spatial:dimensions"),
    case("conventions/declared", {f"{GRID}/zarr_conventions/1": GONE}, UUIDS["proj"], at=f"{GRID}/proj:code"),
    case("conventions/used", {CS: GONE}, 'add "cs"', at=f"{TAS}/zarr_conventions/0"),
    case("conventions/used", {UOM: GONE}, 'add "uom"', at=f"{MASS}/zarr_conventions/0"),
    case("conventions/used", {f"{GRID}/proj:code": GONE}, "proj:code", at=f"{GRID}/zarr_conventions/1"),
    case("conventions/spelling-of-zarr_conventions",
         {f"{MASS}/zarr_convention": declaring("uom")["zarr_conventions"], f"{MASS}/zarr_conventions": GONE},
         '"zarr_conventions"'),
    case("conventions/spelling-of-attributes", {f"{GRID}/spatial:transfrom": TRANSFORM, f"{GRID}/spatial:transform": GONE},
         '"spatial:transform"'),
    # Dimensions.
    case("arrays/dimension-names", {"/grid/other": Array(np.zeros((4, 6)), None)},
         'write "dimension_names": ["y", "x"]', at="/grid/other#/dimension_names"),
    case("arrays/dimension-names", {"/grid/band#/dimension_names": GONE, f"{BAND}/_ARRAY_DIMENSIONS": ["y", "x"]},
         "names in _ARRAY_DIMENSIONS"),
    case("arrays/one-size-for-a-dimension", {"/grid/other": sized("y x", 4, 3)},
         'write "dimension_names": ["y", "x_3"]', at="/grid/other#/dimension_names"),
    case("arrays/degrees", {f"{GRID}/proj:code": "EPSG:4326"}, "correct the CRS", at="/grid/band#"),
    case("arrays/degrees", {f"{SET}/values/regular": [10, 200]}, "correct the CRS", at="/model/tas#"),
    # cs.
    case("cs/required", {f"{CS}/crs": GONE}, '"crs": ['),
    case("cs/required", {f"{CRS}/axes": GONE}, '"axes": {'),
    case("cs/required", {f"{SET}/values": GONE}, '"values": {"regular"'),
    case("cs/required", {f"{TIME}/epoch": GONE}, '"epoch": "'),
    case("cs/form", {CS: []}, '"cs": {"crs"'),
    case("cs/form", {f"{LAT}/coordinates": {"values": {}}}, '"coordinates": ['),
    case("cs/form", {f"{TIME}/epoch": "01.02.2000"}, '"epoch": "2028-02-01T'),
    case("cs/form", {f"{SET}/time": {"unit": "days", "epoch": "2000-01-01"}}, "leave one of unit, time out", at=f"{SET}/unit"),
    case("cs/form", {f"{SET}/parametric": {"formula": "ocean_sigma_coordinate", "terms": {}}},
         '"terms": {"sigma"', at=f"{SET}/parametric/terms"),
    case("cs/spelling", {f"{SET}/bounds": {"regular": [-1, 1]}, f"{SET}/boundaries": GONE}, 'rename it to "boundaries"'),
    case("cs/spelling", {EXTERNAL.removesuffix("/external"): {"ref": {"external": {"node": "days"}}}},
         '"external": {"ref": {"node": "days"}}', at=EXTERNAL.replace("external", "ref")),
    case("cs/axis-for-every-dimension", {LAT: GONE},
         '"lat": {"coordinates": [{"values": {"regular": [first, step]}}]}', at=f"{CS}/crs"),
    case("cs/abbreviation", {f"{LAT}/abbreviation": "y"}, "write one of X, Y, Z, T"),
    case("cs/unique-abbreviations", {f"{CRS}/axes/lon/abbreviation": "Y"}, "X, Z, T"),
    case("cs/unique-abbreviations", {f"{CS}/crs/1/axes/time/abbreviation": "Y"}, 'write a different "abb'),
    case("cs/direction", {f"{LAT}/direction": "nroth"}, "write one of north, "),
    case("cs/type", {f"{CRS}/type": "planer"}, "write one of compound, planar"),
    case("cs/form", {f"{CRS}/type": 5}, "write one of compound, planar, vertical, temporal, undefined"),
    case("cs/type", {f"{CRS}/type": GONE}, 'write "type": "planar"'),
    case("cs/distinct-names",
         {f"{SET}/name": "lat", f"{LAT}/coordinates/-": {"name": "lat", "values": {"regular": [0, 1]}}},
         'different "name"', at=f"{LAT}/coordinates/1/name"),
    case("cs/values", {f"{SET}/values": {"regular": [0, 1], "explicit": [1, 2, 3]}}, '"values": {"regular"'),
    case("cs/values", {f"{SET}/values/regular": [1]}, '"regular": [first'),
    case("cs/values", {f"{SET}/values": {"external": "lat"}}, '"external": {"node": "lat"}', at=f"{SET}/values/external"),
    case("cs/increment", {f"{SET}/values/regular": [10, 0]}, '"explicit": [10]'),
    case("cs/array-of-the-group", {"/model/lat": sized("lat", 3)}, '"external": {"node": "lat"}', at=CS),
    case("cs/number-of-values", {f"{CRS}/axes/lon/coordinates/0/values/explicit": [1.0, 2.0]}, "write 4 values"),
    case("cs/boundaries", {f"{SET}/boundaries/regular": [0.5, 0.5]}, '"boundaries": {"regular": [-0.5, 0.5]}'),
    # spatial.
    case("spatial/dimensions", {f"{GRID}/spatial:dimensions": "y x"}, '"spatial:dimensions": ["y", "x"]'),
    case("spatial/dimensions-of-the-array", {f"{GRID}/spatial:dimensions": ["lat", "lon"]}, 'write "spatial:dimensions": ["y", "x"]'),
    case("spatial/dimensions-of-the-array", {"/grid/band": sized("h\u00f6he breite", 4, 6)},
         'write "spatial:dimensions": ["h\u00f6he", "breite"]', at=f"{GRID}/spatial:dimensions"),
    case("spatial/dimensions-required",
         {f"{BAND}/zarr_conventions": declaring("spatial")["zarr_conventions"], f"{GRID}/spatial:dimensions": GONE},
         'write "spatial:dimensions": ["y", "x"]', at=f"{BAND}/spatial:dimensions"),
    case("spatial/order-of-dimensions", {f"{GRID}/spatial:dimensions": ["x", "y"], f"{GRID}/spatial:shape": GONE, f"{GRID}/spatial:bbox": GONE},
         'write "spatial:dimensions": ["y", "x"]'),
    case("spatial/transform", {f"{GRID}/spatial:transform": [0, 0, 0, 0, 0, 0]}, "[a, b, c, d, e, f]"),
    case("spatial/order-of-transform", {f"{GRID}/spatial:transform": GDAL}, f'write "spatial:transform": {TRANSFORM}'),
    case("spatial/transform-type", {f"{GRID}/spatial:transform_type": 1}, '"spatial:transform_type": "affine"'),
    case("spatial/registration", {f"{GRID}/spatial:registration": "centre"}, '"spatial:registration": "pixel"'),
    case("spatial/bbox", {f"{GRID}/spatial:bbox": [0, 0, 0, 0]}, "leave it out"),
    case("spatial/bbox-of-the-grid", {f"{GRID}/spatial:bbox": [0.0, 0.0, 60.0, 40.0]}, f'write "spatial:bbox": {BOX}'),
    case("spatial/shape", {f"{GRID}/spatial:shape": [4.5, 6]}, '"spatial:shape": [height, width]'),
    case("spatial/shape-of-the-array", {f"{GRID}/spatial:shape": [6, 4]}, 'write "spatial:shape": [4, 6]'),
    case("spatial/shape-of-the-array", {f"{LAYOUT}/0/spatial:shape": [40, 40]}, 'write "spatial:shape": [4, 4]'),
    # multiscales.
    case("multiscales/of-groups", {f"{BAND}/multiscales": {"layout": [{"asset": "a"}]}}, "on the group"),
    case("multiscales/layout", {LAYOUT: []}, '"layout": [{"asset"'),
    case("multiscales/asset", {f"{LAYOUT}/0/asset": "/fine"}, 'write "asset": "fine"'),
    case("multiscales/asset-is-there", {f"{LAYOUT}/1/asset": "coarser"}, "name one of "),
    case("multiscales/derived-from", {f"{LAYOUT}/1/derived_from": "finer"}, 'name the "asset" of one of the others: ["fine"'),
    case("multiscales/derived-from", {f"{LAYOUT}/1/derived_from": "coarse/"}, 'name the "asset" of one of the others: ["fine"'),
    case("multiscales/transform", {f"{LAYOUT}/1/transform": GONE}, '"scale": [2.0, 2.0]'),
    case("multiscales/transform", {f"{LAYOUT}/1/transform/scale": "2"}, '"scale": [2.0, 2.0]'),
    case("multiscales/resampling-method", {f"{PYRAMID}/resampling_method": ["mean"]}, '"resampling_method": "average"'),
    # proj.
    case("proj/code", {f"{GRID}/proj:code": 32633}, 'write "proj:code": "EPSG:32633"'),
    case("proj/code", {f"{GRID}/proj:code": "32633"}, 'write "proj:code": "EPSG:32633"'),
    case("proj/understood", {f"{GRID}/proj:code": "EPSG:999999"}, "that PROJ knows"),
    case("proj/wkt2", {f"{GRID}/proj:wkt2": WKT1, f"{GRID}/proj:code": GONE}, '"proj:code": "EPSG:4326"'),
    case("proj/wkt2", {f"{GRID}/proj:wkt2": "", f"{GRID}/proj:code": GONE}, "to_wkt()"),
    case("proj/projjson", {f"{GRID}/proj:projjson": "EPSG:4326", f"{GRID}/proj:code": GONE}, "to_json_dict"),
    case("proj/one-crs", {f"{GRID}/proj:code": "EPSG:32633", f"{GRID}/proj:wkt2": WKT1}, "leave one of"),
    case("proj/epsg", {f"{GRID}/proj:epsg": 32633, f"{GRID}/proj:code": GONE}, 'write "proj:code": "EPSG:32633"'),
    case("proj/object", {f"{CRS}/id": "EPSG:4326"}, '{"proj:code": "EPSG:4326"}'),
    case("proj/object", {f"{CRS}/id": 4326}, 'write {"proj:code": "EPSG:4326"}'),
    case("proj/of-the-array", {BAND: {"proj:shape": [2, 2]}}, 'write "proj:shape": [4, 6]', at=f"{BAND}/proj:shape"),
    case("proj/of-the-array",
         {BAND: {"proj:shape": [4, 6], "proj:transform": [5.0, 0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 0.0, 1.0],
                 "proj:bbox": [0.0, -40.0, 60.0, 0.0]}},
         "the array's own proj:transform, proj:bbox", at=f"{BAND}/proj:transform"),
    # geolocation, coords, dggs.
    case("geolocation/kinds", {PLACED: {"lonlat": {}}}, '"geodetic": {"x"'),
    case("geolocation/x-and-y", {f"{PLACED}/geodetic/y": GONE}, '"y": {"node": "latitude"}'),
    case("coords/form", {COORDS: [5]}, 'write, for example, "coords:coordinates": {"time": {'),
    case("coords/descriptor", {f"{COORDS}/step/start": GONE}, '"type": "interval"'),
    case("coords/descriptor", {f"{COORDS}/step/step": 0}, '"step": "P1D"'),
    case("coords/fitting", {f"{COORDS}/step": {**STEPS, "end": 11}}, "gives 3 values"),
    case("coords/fitting", {f"{COORDS}/step": {**STEPS, "indexed_by": ["y"]}}, '"indexed_by"'),
    case("dggs/object", {f"{DGGS}/name": GONE}, '"name": "healpix"'),
    case("dggs/object", {f"{DGGS}/refinement_level": -1}, '"refinement_level": 2'),
    case("dggs/object", {f"{DGGS}/ellipsoid": {"semi_major_axis": 10**400, "inverse_flattening": 298.0}},
         '"semi_major_axis": 6378137.0', at=f"{DGGS}/ellipsoid/semi_major_axis"),
    case("dggs/object", {f"{DGGS}/ellipsoid": {"semi_minor_axis": 1.0}},
         '"semi_major_axis": 6378137.0', at=f"{DGGS}/ellipsoid/semi_major_axis"),
    case("dggs/spatial-dimension", {f"{DGGS}/spatial_dimension": "cell"}, '"cells"'),
    case("dggs/cells", {DGGS: {**HEALPIX, "refinement_level": 1}}, '"coordinate": "cell_ids"'),
    case("dggs/cells", {DGGS: {**HEALPIX, "name": "h3"}}, '"coordinate": "cell_ids"'),
    # uom.
    case("uom/object", {UOM: "meters"}, '{"ucum": {"unit": "m"}}'),
    case("uom/object", {UOM: "\u00b5g"}, "write its UCUM code"),
    case("uom/ucum", {f"{UOM}/ucum": GONE}, '"ucum": {"unit": "m"}'),
    case("uom/ucum", {f"{UOM}/ucum/unit": 1}, '"unit": "m"'),
    case("uom/unit", {f"{UOM}/ucum/unit": "kg m-2"}, 'write "unit": "kg.m-2"'),
    case("uom/unit", {f"{UOM}/ucum/unit": "degrees"}, 'write "unit": "deg"'),
    case("uom/of-arrays",
         {f"{GRID}/uom": {"ucum": {"unit": "m"}}, f"{GRID}/zarr_conventions/-": {"uuid": UUIDS["uom"], "name": "uom"}},
         "on each array"),
    # Times.
    case("times/calendar", {f"{TIME}/calendar": "no_leap"}, "noleap"),
    case("times/calendar", {f"{DAYS}/calendar": "maya"}, "360_day"),
    case("times/unit", {f"{TIME}/unit": "fortnights"}, "seconds, minutes, hours or days"),
    case("times/epoch", {f"{DAYS}/units": "days since 1.2.2000"}, '"units": "days since 2028-02-01T00:00:00"'),
    # References.
    case("ref/form", {f"{EXTERNAL}/node": "..//model/days"}, '"node": "time"'),
    case("ref/form", {f"{EXTERNAL}/attribute": "attributes"}, '"attribute": "/attributes/crs"'),
    case("ref/form", {EXTERNAL: {"node": "days", "attibute": ""}}, 'rename it to "attribute"', at=f"{EXTERNAL}/attibute"),
    case("ref/leads-somewhere", {EXTERNAL: {"node": "dates"}}, "an existing node that fits"),
    case("ref/leads-somewhere", {EXTERNAL: {"node": "../times/days"}}, 'write "node": "days"'),
    case("ref/leads-somewhere",
         {f"{CS}/crs/1": {"node": "/", "attribute": "/attributes/crs/a"},
          "/#/attributes/crs": {"a": {"node": "/", "attribute": "/attributes/crs/a"}}},
         "refer to an existing node"),
    case("ref/leads-somewhere", {EXTERNAL: {"node": "/days", "uri": "file:///nowhere.zarr"}}, "correct the URI"),
    case("ref/first-rule", {EXTERNAL: {"node": "../days"}}, 'write "node": "days", or write "node": "/model/days"'),
    case("ref/own-store", {EXTERNAL: {"node": "/model/days", "uri": HERE}}, "/model/days"),
    # CF.
    case("arrays/fill-value", {f"{SO}/_FillValue": "none"}, "of the array's type"),
    case("cf/missing-value", {f"{SO}/missing_value": {}}, '"missing_value": -999.0'),
    case("cf/packed", {f"{SO}/scale_factor": "0.01"}, '"scale_factor": 0.01'),
    case("cf/names", {"/model/pr": sized("lat lon", 3, 4, **OF_CF, coordinates="tas_height, days")},
         'write "coordinates": "tas_height days"', at="/model/pr#/attributes/coordinates"),
    case("cf/leads-somewhere",
         {"/model/pr": sized("row column", 3, 4, **OF_CF, coordinates="lat lon"), "/swath": Group()},
         'write "coordinates": "../swath/lat ../swath/lon"', at="/model/pr#/attributes/coordinates"),
    # What an open finds.
    case("open/nothing-lost", {f"{SET}/values/regular": [2**62, 2**62]}, "as the convention defines it"),
    case("open/one-meaning", {f"{GRID}/spatial:transform": GONE, f"{GRID}/spatial:bbox": GONE},
         "so that it has one meaning", at="/grid/band#"),
    case("open/names",
         {f"{PLACED}/geodetic/x": {"node": "../other/lon"}, "/swath/lon": sized("row", 3),
          "/other": Group(), "/other/lon": sized("row column", 3, 4)},
         "a name that is unique", at="/swath/radiance#"),
    case("open/dimensions",
         {f"{PLACED}/geodetic/x": {"node": "../other/longitude"},
          "/other": Group(), "/other/longitude": sized("row column", 5, 4)},
         "one name and one size", at="/swath/radiance#"),
    case("open/metadata", {"/grid/band#/data_type": "quaternion"}, "again with zarr", at="/grid/band#"),
    case("open/metadata", {"/grid/band#/codecs": [{"name": "lost_codec", "configuration": {}}]},
         "codecs of zarr itself" if Version("3.1") <= ZARR else "", at="/grid/band#"),  # else zarr names no codec
    case("open/principal-convention", {"/model/pr": sized("row column", 5, 6)}, "as the other arrays do", at="/model/pr#"),
]  # fmt: skip

#: The page that scripts/make_rules_page.py writes; "" if installed without it.
PAGE = "".join(it.read_text(encoding="utf-8") for it in DOCS.glob("reference/rules.md"))

#: Mistakes by which several arrays lose something, or something else is lost, too: how many warnings these are.
SEVERAL_WARNINGS = {
    "arrays/one-size-for-a-dimension": 3,
    **dict.fromkeys(("geolocation/kinds", "times/calendar", "cf/leads-somewhere"), 2),
}


@pytest.mark.parametrize(
    ("rule", "place", "edits", "remedy"), CASES, ids=[f"{it[0]} {it[1]}" for it in CASES]
)
def test_a_broken_rule_is_reported_once_and_fixed_by_its_remedy(
    tmp_path: Path, rule: str, place: str, edits: dict[str, Any], remedy: str
) -> None:
    wrong = part(broken(edits), *edits, place)
    verdict = checked(tmp_path, wrong)
    (found,) = (it for it in verdict.mistakes for at in it.places if at == _place(place))
    assert found.rule.name == rule, verdict
    assert remedy in found.remedy
    if PAGE and edits is next(it[2] for it in CASES if it[0] == rule):  # the case that it shows
        uri = (tmp_path / "store.zarr").as_uri()
        shown = replace(found, text=found.text.replace(uri, "file:///data/store.zarr"))
        text = repr(Verdict("", "/", (shown,))).rpartition(f"\n  {rule} (")[0]
        assert f"```text\n{text}\n```" in PAGE or "quaternion" in text  # zarr says that
    _tree, warned = opened_with_warnings(xr.open_datatree, tmp_path / "store.zarr")
    assert len(warned) <= SEVERAL_WARNINGS.get(rule, 1), warned
    if _mended(wrong, found):
        again = checked(tmp_path / "mended", wrong)
        assert (rule, place) not in places(again), found.remedy


def _mended(found: dict[str, Json], mistake: Finding) -> bool:
    """Do what a remedy says if it gives the exact JSON or name; tell whether it does."""
    verb, _space, text = mistake.remedy.partition(" ")
    place, parse = str(mistake.place), json.JSONDecoder().raw_decode
    holder, _slash, last = place.rpartition("/")
    value = _value_at(found, place)
    try:
        if verb == "call":  # it "key", the attribute "key"
            edited(found, f"{holder}/{json.loads(text.rpartition(' ')[2])}", value)
            edited(found, place, GONE)
        elif verb == "write" and text.startswith("{"):
            edited(found, holder if last == "uuid" else place, parse(text)[0])
        elif verb == "write" and text.startswith('"'):
            key, end = parse(text)
            right, _end = parse(text[end + len(": ") :])
            is_whole = isinstance(value, dict) and key in value and last != "ref"
            if value is not None and not is_whole:
                edited(found, place, GONE)
            edited(found, f"{place if is_whole else holder}/{key}", right)
        else:
            return False
    except json.JSONDecodeError:  # it gives the form
        return False
    return True


def _place(text: str) -> Place:
    node, _hash, pointer = text.partition("#")
    return Place(node, pointer)


def _value_at(found: dict[str, Json], place: str) -> Any:
    """Return the value at a place, None without one."""
    node, _hash, pointer = place.partition("#")
    value: Any = found[node.strip("/")]
    for key in pointer.split("/")[1:]:
        value = value[int(key)] if isinstance(value, list) else value.get(key)
    return value


def test_each_rule_has_a_case_and_a_section_on_its_page() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    consolidated = {name for name in names if name.startswith("consolidated/")}
    assert {rule for rule, *_rest in CASES} | consolidated == set(names)
    for rule in RULES if PAGE else ():
        heading = f"\n### {rule.name} {{:#{rule.name}}}\n"
        (chapter,) = (text for text in PAGE.split("\n## ") if heading in text)
        section = chapter.partition(heading)[2].partition("\n### ")[0]
        if f"\n\nFrom: {rule.document}, *{rule.section}*\n\n" not in f"\n{section}\n":
            assert f"\n\nFrom: {rule.document}\n" in chapter.partition("\n### ")[0]
            assert f"\nFrom: *{rule.section}*\n\n" in f"\n{section}\n"


@ALL_FORMS
def test_a_valid_store_has_no_mistakes(form: tuple[ZarrFormat, bool]) -> None:
    contents = build(SOUND, form[0])
    if form[1]:
        contents = consolidate(contents, zarr_format=form[0])
    verdict = zarr_xgroup.check(memory_store(contents))
    assert told(verdict) == []
    assert repr(verdict).endswith(": no problems found")


# All that is said of stores.


def gridded(crs: Json, grid: Json, **members: Array) -> Nodes:
    """Return a group of 4 x 6 cells with spatial attributes, whose CRS is said there or by a variable."""
    declared = declaring("spatial", *(["proj"] if crs else []), **crs)
    attributes = {f"spatial:{key}": value for key, value in grid.items()}
    whole = {**declared, "spatial:dimensions": ["y", "x"], **attributes}
    return {"": whole, "band": sized("y x", 4, 6), **members}


def located(x: Json, y: Json, kind: str = "geodetic", shape: tuple[int, int] = (2, 3)) -> Array:
    """Return an array with a geolocation."""
    return sized("y x", *shape, **declaring("geolocation", geolocation={kind: {"x": x, "y": y}}))


BY_CODE = {"proj:code": "EPSG:32633"}
OWN_Y = stored([4599995.0 - 10 * n for n in range(4)], "y")
OWN_X = stored([500005.0 + 10 * n for n in range(6)], "x")
# Declared grids, and stored coordinates.


def half(*numbers: float, by: float = 5.0) -> list[float]:
    """Return a transform that begins half a cell later, at the centre of the first cell."""
    a, b, c, d, e, f = numbers
    return [a, b, c + by, d, e, f - by]


SMALLER = [500005.0, 4599965.0, 500055.0, 4599995.0]
IN_DEGREES = {"bbox": [-10.0, 40.0, 10.0, 50.0], "proj:code": "EPSG:4326"}
OFF = {
    "box": '/#spatial:bbox -> write "spatial:bbox": [500000.0, 4599960.0, 5000',
    "transform": '/#spatial:transform -> write "spatial:transform": [10.0, 0.0, 500000.0,',
}
AXES = {"y": OWN_Y, "x": OWN_X}
PROJ_SHAPE = {"proj:shape": [4, 6]}
#: The attributes of a grid, its coordinate variables, what is off and how.
GRIDS: dict[str, tuple[Json, Nodes, str, str]] = {
    "all agree": ({"transform": TRANSFORM, "bbox": BOX}, AXES, "", ""),
    "a box of centres": ({"transform": TRANSFORM, "bbox": SMALLER}, AXES, "box", "half a cell smaller on each side"),
    "a box half a cell larger": (
        {"transform": TRANSFORM, "bbox": [499995.0, 4599955.0, 500065.0, 4600005.0]}, {}, "box", "by up to 0.5 cells"),
    "a box that is off by less than a cell": (
        {"transform": TRANSFORM, "bbox": [500001.0, *BOX[1:]]}, {}, "box", "by up to 0.1 cells"),
    "a rounded box": ({"transform": TRANSFORM, "bbox": [500000.009, *BOX[1:]]}, {}, "", ""),
    "a box of nodes": ({"transform": half(*TRANSFORM), "bbox": SMALLER, "registration": "node"}, AXES, "", ""),
    "a box that ends within the last cells": (
        {"transform": TRANSFORM, "bbox": [500000.0, 4599964.0, 500056.0, 4600000.0]}, {}, "", ""),
    "a transform of centres beside a box": (
        {"transform": half(*TRANSFORM), "bbox": BOX}, {}, "transform", "half a cell off"),
    "a transform of centres beside coordinates": ({"transform": half(*TRANSFORM)}, AXES, "transform", "half a cell off"),
    "a transform of other coordinates": (
        {"transform": [10.0, 0.0, 500020.0, 0.0, -10.0, 4600000.0]}, AXES, "transform", "by up to 2 cells"),
    "float32": ({"transform": TRANSFORM}, {"y": OWN_Y, "x": stored(np.float32(OWN_X.values), "x")}, "", ""),
    "coordinates without values": ({"transform": half(*TRANSFORM)}, {"y": sized("y", 4), "x": sized("x", 6)}, "", ""),
    "one coordinate": ({"transform": half(*TRANSFORM)}, {"y": OWN_Y}, "", ""),
}  # fmt: skip


@rows(GRIDS, "attributes, axes, wrong, how")
def test_a_declared_grid_is_compared_with_box_and_coordinates(
    attributes: Json, axes: Nodes, wrong: str, how: str
) -> None:
    verdict = zarr_xgroup.check(store_of(gridded(BY_CODE, attributes, **axes)))
    lines = [line.partition(" ")[2] for line in told(verdict)]
    assert lines == ([OFF[wrong][:72].rstrip()] if wrong else [])
    assert all(how in mistake.text for mistake in verdict.mistakes)


@pytest.mark.parametrize("last_row", [[], [0.0, 0.0, 1.0]])
@rows(
    {name: row for name, row in GRIDS.items() if "registration" not in row[0]},
    "attributes, axes, wrong, how",
)
def test_so_is_that_of_proj(
    attributes: Json, axes: Nodes, wrong: str, how: str, last_row: list[float]
) -> None:
    written = {f"proj:{key}": value for key, value in attributes.items()}
    written["proj:transform"] = written["proj:transform"] + last_row
    nodes: Nodes = {
        "": {},
        "band": sized("y x", 4, 6, **declaring("spatial", "proj"), **written, **PROJ_SHAPE),
    }
    verdict = zarr_xgroup.check(store_of(nodes | axes))
    found = [mistake for mistake in verdict.mistakes if mistake.rule.name == "proj/of-the-array"]
    assert [it.place.pointer.rpartition(":")[2] for it in found] == (
        [{"box": "bbox"}.get(wrong, wrong)] if wrong else []
    )
    assert all(how in mistake.text for mistake in found)


def squares(size: int, step: float) -> Nodes:
    """Return an array of a level, and its coordinates."""
    axes = {name: stored(step * np.arange(size), name) for name in ("y", "x")}
    return {"": {}, "band": sized("y x", size, size), **axes}


DOUBLED: Json = {"asset": "coarse", "derived_from": "fine", "transform": {"scale": [2.0, 2.0]}}
CONTRADICTED = "cell sizes by stored coordinates, which are used, contradict metadata"
#: The members of two levels, the item of the second one, and the places and texts of contradictions.
SIZES_OF_LEVELS: dict[str, tuple[Nodes, Nodes, Json, dict[str, str]]] = {
    "all agree": (squares(8, 10), squares(4, 20), DOUBLED, {}),
    "nothing is stored": ({"": {}, "band": sized("y x", 8, 8)}, {"": {}, "band": sized("y x", 4, 4)}, DOUBLED, {}),
    "less than a thousandth": (squares(8, 10), squares(4, 20.01), DOUBLED, {}),
    "a scale": (
        squares(8, 10), squares(4, 40), DOUBLED,
        {"/p#multiscales": f"{CONTRADICTED}: /p/coarse (40 x 40 instead of 20 x 20)"}),
    # The transform is reported alone, because other sizes follow from it.
    "a transform": (
        squares(8, 20), squares(4, 40), DOUBLED, {"/p#multiscales/layout/0/spatial:transform": "gives 'y' from 0 to 70"}),
}  # fmt: skip


@rows(SIZES_OF_LEVELS, "fine, coarse, item, expected")
def test_declared_sizes_of_cells_are_compared_with_stored_coordinates(
    fine: Nodes, coarse: Nodes, item: Json, expected: dict[str, str]
) -> None:
    fine_item = {"asset": "fine", "spatial:transform": [10.0, 0.0, -5.0, 0.0, 10.0, -5.0]}
    names = declaring("multiscales", "spatial", multiscales={"layout": [fine_item, item]})
    nodes: Nodes = {"": {}, "p": {**names, "spatial:dimensions": ["y", "x"]}}
    for name, members in {"fine": fine, "coarse": coarse}.items():
        nodes |= {f"p/{name}/{path}".rstrip("/"): node for path, node in members.items()}
    mistakes = zarr_xgroup.check(store_of(nodes)).mistakes
    found = {str(it.place).replace("/attributes/", "", 1): it.text for it in mistakes}
    assert found.keys() == expected.keys()
    assert all(found[place].startswith(text) for place, text in expected.items())


GDAL_TEXT = "500000 10 0 4600000 0 -10"
OF_STAC: Json = {"proj:transform": TRANSFORM, "proj:shape": [4, 6], "proj:epsg": 32633}
#: Stores that declare nothing, the array without coordinates or a CRS, and the coordinates that it gets by the remedy.
UNDECLARED: dict[str, tuple[Nodes, str, str, set[str]]] = {
    "GDAL": (
        {"v": sized("y x", 4, 6, GeoTransform=GDAL_TEXT, _CRS={"url": "EPSG:32633"})},
        "v", "coordinates along 'y', 'x'", {"y", "x", "spatial_ref"}),
    "a grid mapping variable": (
        {"v": sized("y x", 4, 6, grid_mapping="crs"), "crs": sized("", GeoTransform=GDAL_TEXT, crs_wkt=WKT2)},
        "v", "coordinates along 'y', 'x'", {"y", "x", "crs"}),
    "STAC": ({"v": sized("y x", 4, 6, **OF_STAC)}, "v", "coordinates along 'y', 'x'", {"y", "x", "spatial_ref"}),
    "a CRS of STAC": (
        {"v": sized("y x", 4, 6, **{"proj:epsg": 32633}), **AXES}, "v", "a CRS", {"y", "x", "spatial_ref"}),
    "a variable above": (
        {"t": stored([1, 2], "t"), "g": {}, "g/v": sized("t x", 2, 3)}, "g/v", "coordinates along 't'", {"t"}),
}  # fmt: skip


@rows(UNDECLARED, "nodes, path, parts, coordinates")
def test_what_a_store_without_declarations_could_declare(
    nodes: Nodes, path: str, parts: str, coordinates: set[str]
) -> None:
    nodes = {"": {}, **nodes}
    (found,) = zarr_xgroup.check(store_of(nodes)).mistakes
    assert (str(found.place), found.severity) == (f"/{path}", "warning")
    assert found.text == f"opens without {parts}, which the store has"
    text, _end, writer = found.remedy.partition("add to its attributes: ")[2].partition(" (the")
    assert ("zarr-cm" in writer) == ("spatial" in text or "proj" in text)
    declared = dataclasses.replace(nodes[path], attrs={**nodes[path].attrs, **json.loads(text)})
    store = store_of({**nodes, path: declared})
    dataset = quietly(xr.open_dataset, store, engine="xgroup", group=path.rpartition("/")[0])
    assert set(dataset.coords) == coordinates


def test_a_store_without_declarations_has_arrays_without_coordinates() -> None:
    nodes: Nodes = {"": {}, "a": {}, **{f"a/v{number}": sized("n m", 2, 3) for number in range(9)}}
    verdict = zarr_xgroup.check(store_of(nodes))
    assert (verdict.is_clean, verdict.is_declared) == (True, False)
    assert verdict.without_coordinates == tuple(f"/a/v{number}" for number in range(9))
    assert "; 9 arrays without coordinates: /a/v0, /a/v1" in " ".join(repr(verdict).split())
    assert zarr_xgroup.check(store_of({**nodes, "": declaring("uom")})).without_coordinates == ()


def test_a_footprint_at_the_root_is_no_grid() -> None:
    footprint = declaring(
        "spatial", "proj", **{f"spatial:{key}": IN_DEGREES[key] for key in ("bbox",)}
    )
    nodes = gridded(BY_CODE, {"transform": TRANSFORM}, **AXES)
    below = {f"g/{path}".rstrip("/"): node for path, node in nodes.items()}
    assert zarr_xgroup.check(store_of({"": footprint, **below})).is_clean


UNKNOWN = {"uuid": OTHER_UUID, "name": "orbits"}
#: Conventions that say nothing of coordinates, by uuid where their document has one, else by a name.
RECOGNISED = [
    {"uuid": UUIDS["NZ-1.0"]},
    *({"uuid": OTHER_UUID, "name": it} for it in ("missing_value", "Tessera:")),
    {"uuid": "d517ea5f-92bb-4df1-8bbf-db736286a307", "name": "Table"},
    {"schema_url": "https://raw.githubusercontent.com/a/geoemb/refs/tags/v1/schema.json"},
    {"spec_url": "https://github.com/a/statistics/blob/main/README.md"},
]
MALFORMED = [
    *({"uuid": 5, "schema_url": "https://a.b/c/d"}, {"uuid": OTHER_UUID, "name": []}, "cs"),
    {"uuid": UUIDS["uom"], "name": "uom", "version": 1, "by": 2},
]
#: What follows conventions in ways in which the sound store does not.
OTHER_WAYS: Nodes = {
    "": declaring("coords", "dggs", "geolocation"),
    "axes": sized("t y", 2, 2, **{
        "dimensions:axes": {"t": {"axis": "x", "unit": "m", "description": "steps", "coords": {"type": "inline", "values": [1.0, 2.0]}}},
        "dimensions:coordinates": {"lat": {"indexed_by": ["y"], "type": "space", "coords": {"type": "array", "path": "y"}}}}),
    "y": sized("y", 2),
    "cells": sized("cells", 3, dggs={
        "name": "healpix", "refinement_level": 1, "spatial_dimension": "cells", "coordinate": "ids", "compression": "none",
        "ellipsoid": {"name": "unit", "semimajor_axis": 1.0, "inverse_flattening": 298.25}}),
    "ids": sized("cells", 3, dtype="int64"),
    "placed": sized("y x", 2, 3, geolocation={"planar": {"x": {"node": "lon"}, "y": {"node": "lat"}}}),
    **{name: sized("y x", 2, 3) for name in ("lon", "lat")},
}  # fmt: skip

#: Edits of the sound store, or nodes of another one, and what is said.
FOUND: dict[str, tuple[Nodes, str]] = {
    "other ways to follow conventions": (OTHER_WAYS, ""),
    # What follows from a mistake is not told beside it.
    "a size that differs from that of the grid is not the grid's": (
        {"/grid/mask": sized("y x", 2, 3, **declaring("spatial")), f"{GRID}/spatial:shape": GONE, f"{GRID}/spatial:bbox": GONE},
        """
        ! arrays/one-size-for-a-dimension /grid/mask#/dimension_names -> write "dimension_names": ["y_2", "x_3"],
            or put
        """,
    ),
    "a translation that moves a level off the box of the layout": (
        {f"{LAYOUT}/1/transform/translation": [0.5, 0.5], "/pyramid#/attributes/spatial:bbox": [0.0, -40.0, 40.0, 0.0]},
        'multiscales/transform /pyramid#multiscales/layout -> write "translation": [0.0, 0.0] in each of these',
    ),
    "a translation without a box": ({f"{LAYOUT}/1/transform/translation": [0.5, 0.5]}, ""),
    # Of nodes and attributes that may be anything.
    "a group of the same name as an array has no shape": (
        {BAND: {"proj:shape": [3, 3]}, "/o": Group(), "/o/band": Group(), "/o/band#/shape": [None]}, """
        proj/of-the-array /grid/band#proj:shape -> write "proj:shape": [4, 6], and the array's own
        """),
    "dimensions that NCZarr and the array name alike, by paths or not": (
        {"/time": sized("time", 2), "/swath/more": sized(
            "/time column", 2, 4, _ARRAY_DIMENSIONS=["time", "column"], _nczarr_array={"dimension_references": ["/time", "/swath/column"]})},
        "",
    ),
    "a group and an array with a hash in their names": (
        {"": {}, "a#b": declaring("spatial", **{"spatial:dimensions": ["y", "x"], "spatial:transform": [1.0, 2.0]}),
         "a#b/band": sized("y x", 2, 3), "c#": {}, "c#/d#e": sized("x", 3),
         "f": sized("x", 3, **declaring("ref", of={"node": "/d#e", "attribute": "/attributes/q"}))},
        """
        ! spatial/transform /a#b#spatial:transform -> write, for example, "spatial:transform": [a, b,
        ! ref/leads-somewhere /f#of -> write "node": "c#/d#e"
        """,
    ),
    "where nothing is declared, anything may be written that xarray can use": (
        {"": {"Conventions": "CF-1.8", "crs": "EPSG:4326", "multiscales": [{"version": "0.4"}]},
         "a": Array(np.zeros((3, 4)), None, {"units": "days since then", "geolocation": "here", "cs": 5}),
         "b": sized("y x", 3, 5, uom="m", spatial_ref="", ref={"node": "//"}, bounds=["edges"]),
         "c": sized("y x", 2, 5, **{"proj:epsg": 32633, "proj:wkt2": WKT1, "proj:shape": [1]})},
        """
        ! times/epoch /a#units -> write, for example, "units": "days since 2028-02
        ! open/dimensions /c#/dimension_names -> give each dimension of a group one name and one
        """,
    ),
    "conventions that the root names with NZ-1.0 apply to the whole store": (
        {"": {"conventions": "nz-1.0, cf-1.12"}, "a": {}, "a/b": sized("x", 4, bounds=["edges"])},
        '! cf/names /a/b#bounds -> write "bounds": "edges"',
    ),
    "a transform in the order of GDAL, whoever gives the CRS, is one mistake": (
        gridded({}, {"transform": GDAL}, y=OWN_Y, band=sized("y x", 4, 6, grid_mapping="spatial_ref"),
                spatial_ref=sized("", crs_wkt=WKT2)),
        '! spatial/order-of-transform /#spatial:transform -> write "spatial:transform": [10.0, 0.0, 500000.0,',
    ),
    "degrees up to a full circle": (
        gridded({"proj:code": "EPSG:4326"}, {"transform": [2.0, 0.0, 348.0, 0.0, -2.0, 90.0]}), ""
    ),
    "box and shape that an open can do without": (
        gridded(BY_CODE, {"transform": TRANSFORM, "bbox": [0.0, 0.0, 6.0, 4.0], "shape": [6, 4]}, y=OWN_Y, x=OWN_X),
        """
        spatial/shape-of-the-array /#spatial:shape -> write "spatial:shape": [4, 6]
        spatial/bbox-of-the-grid /#spatial:bbox -> write "spatial:bbox": [500000.0, 4599960.0, 5000
        """,
    ),
    "a shape of a group with several is taken off": (
        {"": {}, "a": gridded(BY_CODE, {"transform": PLAIN, "shape": [4, 6]})[""], "a/fine": sized("y x", 4, 6),
         "a/coarse": sized("y2 x2", 2, 3, **{"spatial:dimensions": ["y2", "x2"]})},
        "spatial/shape-of-the-array /a#spatial:shape -> remove it from the group, whose arrays have seve",
    ),
    "names of dimensions in another case": (
        gridded(BY_CODE, {"transform": PLAIN}, band=sized("Y X", 4, 6)),
        'spatial/dimensions-of-the-array /#spatial:dimensions -> write "spatial:dimensions": ["Y", "X"]',
    ),
    "columns first, with the transform of STAC and its coordinates": (
        {"": declaring("proj"), "v": sized("x y", 6, 4, **BY_CODE, **OF_STAC), **AXES},
        "",
    ),
    "bands last, with the shape and box of STAC": (
        {"": declaring("proj"), "v": sized("y x band", 4, 6, 2, **BY_CODE, **OF_STAC, **{"proj:bbox": BOX})},
        "",
    ),
    "names of dimensions in the opposite order, beside coordinates of the transform": (
        {**gridded(BY_CODE, {"transform": TRANSFORM}, **AXES), "": declaring("spatial", "proj", **BY_CODE, **{
            "spatial:dimensions": ["x", "y"], "spatial:transform": TRANSFORM})},
        'spatial/order-of-dimensions /#spatial:dimensions -> write "spatial:dimensions": ["y", "x"]',
    ),
    "names of dimensions that the array does not have, beside those of a grid": (
        gridded(BY_CODE, {"transform": PLAIN}, band=sized("lon lat time", 4, 6, 2)),
        """
        ! spatial/dimensions-of-the-array /#spatial:dimensions -> write "spatial:dimensions": ["lat", "lon"]
        open/one-meaning /band -> complete or correct the declaration, so that it
        """,
    ),
    "dimensions of a group that none of its arrays has": (
        gridded(BY_CODE, {"transform": PLAIN}, band=sized("row column", 4, 6)),
        """
        ! spatial/dimensions-of-the-array /#spatial:dimensions -> write "spatial:dimensions": ["row", "column"]
        open/one-meaning /band -> complete or correct the declaration, so that it
        """,
    ),
    "a grid without the names of its dimensions, of a group that declares it": (
        {"": declaring("spatial", **{"spatial:transform": TRANSFORM}), "a": sized("y x t", 4, 6, 2), "b": sized("t y x", 2, 4, 6)},
        '! spatial/dimensions-required /#spatial:dimensions -> write "spatial:dimensions": ["y", "x"]',
    ),
    "of an array that declares nothing": (
        {"": {}, "a": sized("row column", 4, 6, **{"spatial:bbox": BOX})},
        """
        ! conventions/declared /a#spatial:bbox -> add {"uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6
        ! spatial/dimensions-required /a#spatial:dimensions -> write "spatial:dimensions": ["row", "column"]
        """,
    ),
    "a coordinate of another length above": (
        {"": {}, "time": sized("time", 30), "g": {}, "g/v": sized("time", 31), "g/w": sized("time", 31)},
        "! open/dimensions /g/v /g/w -> give one of the dimensions a different name, or",
    ),
    "a different dimension of that name, by NCZarr": (
        {"": {}, "time": sized("time", 30), "g": {}, "g/v": sized("time", 31, _nczarr_array={"dimension_references": ["/g/time"]})},
        "",
    ),
    "of an array that follows CF": (
        {"": {}, "time": sized("time", 30), "g": {}, "g/v": sized("time", 31, **OF_CF)},
        "open/one-meaning /g/v -> give one of the dimensions a different name, or",
    ),
    "an unknown convention is reported once for all nodes, one without coordinates never": (
        {"": {"zarr_conventions": [*RECOGNISED, {"uuid": UUIDS["CF"]}]},
         "a": sized("x", 2, zarr_conventions=[UNKNOWN]), "b": {"zarr_conventions": [UNKNOWN]},
         "b/c": sized("x", 2, zarr_conventions=[{"uuid": OTHER_UUID, "name": "tessera"}])},
        """
        conventions/known /a#zarr_conventions/0 /b#zarr_conventions/0 -> keep it if it is meant for other readers
        """,
    ),
    "an array that cannot be opened is reported at the reference to it": (
        {"": {}, "odd": Array(np.zeros((2, 3)), ("y", "x"), v3={"data_type": "none"}), "y": sized("y x", 2, 3),
         "v": located({"node": "odd"}, {"node": "y"}, "planar")},
        """
        ! open/metadata /odd -> write the document again with zarr
        ! open/nothing-lost /v#geolocation/planar/x -> write it as the convention defines it
        """,
    ),
    "a choice about a whole is reported with a fault of a part": (
        {"": {}, "lat": sized("j i", 2, 3), "lon": sized("j i", 2, 3),
         "v": located({"node": "lon", "atribute": ""}, {"node": "lat"}, shape=(4, 6))},
        """
        ! ref/form /v#geolocation/geodetic/x/atribute -> rename it to "attribute"
        open/one-meaning /v#geolocation/geodetic/x /v#geolocation/geodetic/y -> complete or correct the
            declaration, so that it
        """,
    ),
    "a malformed member of a reference is reported once, and a misspelt one with a missing node": (
        {"": {}, "t": sized("x", 2), **{
            name: sized("x", 2, **declaring("cs", "ref"), cs={"crs": [{"type": "undefined", "axes": {"x": axis(values={"external": reference})}}]})
            for name, reference in {
                "a": {"node": "..//t"}, "b": {"ref": {"node": "..//t"}}, "c": {"node": "t", "uri": 5},
                "d": {"node": "t", "attribute": "a~"}, "e": {"node": "u", "atribute": ""}}.items()}},
        """
        ! ref/form /a#cs/crs/0/axes/x/coordinates/0/values/external/node /b#cs/crs/0/axes/x/coordinates/0/values/external/ref/node
            -> write, for example, "node": "time"
        ! ref/form /c#cs/crs/0/axes/x/coordinates/0/values/external/uri -> write, for example, "uri": "s3://bucket/store.za
        ! ref/form /d#cs/crs/0/axes/x/coordinates/0/values/external/attribute -> write, for example, "attribute": "/attributes/cr
        ! ref/form /e#cs/crs/0/axes/x/coordinates/0/values/external/atribute -> rename it to "attribute"
        ! ref/leads-somewhere /e#cs/crs/0/axes/x/coordinates/0/values/external -> refer to an existing node that fits, or remove t
        """,
    ),
    "an intended reference is reported by its rule": (
        {"": declaring("ref"), "t": sized(""), "a": sized("x", 2, ref={"path": "t"}), "b": sized("x", 2, ref="t"),
         "c": sized("x", 2, ref=[{"node": "t"}, "t"]), "d": sized("x", 2, ref={"of": {"node": "t"}})},
        '! ref/form /a#ref /b#ref /c#ref/1 -> write, for example, "ref": {"node": "time"}',
    ),
    "members of declarations of arrays and groups": (
        {"": {"zarr_conventions": MALFORMED}, "a": sized("x", 2, zarr_conventions=MALFORMED)},
        """
        ! conventions/list-of-objects /#zarr_conventions/2 /a#zarr_conventions/2 -> write {"uuid":
            "e4dbf0b7-7a00-4ce6-b23e-48429201
        ! conventions/texts /#zarr_conventions/0/uuid /a#zarr_conventions/0/uuid -> write, for example, "uuid": ...
        ! conventions/used /#zarr_conventions/3 /a#zarr_conventions/3 -> add "uom", or remove this item
        conventions/texts /#zarr_conventions/1/name /a#zarr_conventions/1/name -> write, for example, "name": "cs"
        conventions/texts /#zarr_conventions/3/by /a#zarr_conventions/3/by /#zarr_conventions/3/version
            /a#zarr_conventions/3/version -> remove it
        conventions/known /#zarr_conventions/0 /a#zarr_conventions/0 /#zarr_conventions/1 /a#zarr_conventions/1
            -> keep it if it is meant for other readers
        """,
    ),
    "declarations by uuid": (
        {"": {"zarr_conventions": {OTHER_UUID: {"name": 5}}}, "a": {"zarr_conventions": {}},
         "b": {"zarr_conventions": {OTHER_UUID: {}, "cs": {}}}, "c": {"zarr_conventions": None}},
        """
        ! conventions/list-of-objects /a#zarr_conventions /b#zarr_conventions -> write, for example,
            "zarr_conventions": [{"uuid"
        conventions/texts /#zarr_conventions/00000000-0000-0000-0000-000000000000/name -> write, for example,
            "name": "cs"
        conventions/list-of-objects /c#zarr_conventions -> leave it out
        """,
    ),
    "attributes with a prefix are declared by any group above, others by their own": (
        {"": declaring("proj", "cs"), "g": {}, "g/h": {"spatial:dimensions": ["y", "x"]}, "i": {},
         "g/a": sized("x", 2, **{"proj:code": "EPSG:4326"}, cs={"crs": [{"axes": {"x": axis(values={"explicit": [1, 2]})}}]})},
        """
        ! conventions/declared /g/a#cs -> add {"uuid": "e4dbf0b7-7a00-4ce6-b23e-484292014a
        ! conventions/declared /g/h#spatial:dimensions -> add {"uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6
        cs/type /g/a#cs/crs/0/type -> write "type": "undefined"
        """,
    ),
    "dimensions without names that an attribute cs needs, and no declaration alone": (
        {"": declaring("cs"), "a": Array(np.zeros((2, 3)), (None, "x"), {"cs": {"crs": [{"type": "planar", "axes": {"x": axis(values={"regular": [0, 1]})}}]}}),
         "b": Array(np.zeros(2), None)},
        """
        ! arrays/dimension-names /a#/dimension_names -> write "dimension_names": ["dim_0", "x"]
        open/dimensions /b#/dimension_names -> give each dimension of a group one name and one
        """,
    ),
    "missing members of a cs are reported with its other faults": (
        {"": {}, "b": sized("x", 2, **declaring("cs", cs={"crs": []})),
         "a": sized("x", 2, **declaring("cs", cs={"crs": [{"axes": {"y": axis("y", values={"explicit": [1]})}}]}))},
        """
        ! cs/axis-for-every-dimension /a#cs/crs -> add to the axes of a CRS "x": {"coordinates": [{
        ! cs/form /b#cs/crs -> write, for example, "crs": [{"axes": {...}}]
        cs/type /a#cs/crs/0/type -> write "type": "undefined"
        cs/abbreviation /a#cs/crs/0/axes/y/abbreviation -> write one of X, Y, Z, T
        """,
    ),
    "each of two principal conventions is checked": (
        {"": {}, "a": sized("x", 3, **declaring("cs", "spatial"), **{
            "cs": {"crs": [{"type": "planar", "axes": {"x": axis(values={"regular": [0, 1]})}}]},
            "spatial:dimensions": ["y", "x"]})},
        """
        ! spatial/dimensions-of-the-array /a#spatial:dimensions -> remove it from the array, which does not have tw
        """,
    ),
}  # fmt: skip


@rows(FOUND)
def test_all_findings_of_a_store(nodes: Nodes, expected: str) -> None:
    found = documents(nodes) if "" in nodes else broken(nodes)
    assert told(zarr_xgroup.check(memory_store(files(found)))) == lines(expected)


#: A change of a document in a store whose coordinate `t` has two chunks, or a chunk to remove; and what is said.
UNUSABLE: dict[str, tuple[str, Any, str]] = {
    "nothing": ("v/zarr.json", update(), ""),
    "an invalid document": ("v/zarr.json", b"<html>", "! open/metadata /v -> write the document again with zarr"),
    "of a group": ("g/zarr.json", b"<html>", "! open/metadata /g -> write the document again with zarr"),
    "invalid attributes": ("v/zarr.json", update(attributes=[1]), "! open/metadata /v#/attributes -> write the document again with zarr"),
    "an unknown codec": ("v/zarr.json", update(codecs=[{"name": "none"}]), "! open/metadata /v ->"),
    "an unknown type": ("v/zarr.json", update(data_type="none"), "! open/metadata /v -> write the document again with zarr"),
    "a unit of time": ("t/zarr.json", update(attributes={"units": "years since 2000-01-01"}), "! times/unit /t#units -> write seconds, minutes, hours or days"),
    "an epoch": ("t/zarr.json", update(attributes={"units": "days since then"}), '! times/epoch /t#units -> write, for example, "units": "days since 2028-02'),
    "a calendar": ("t/zarr.json", update(attributes={"units": "days since 2000-01-01", "calendar": "mayan"}), "! times/calendar /t#calendar -> write one of standard, gregorian, proleptic_greg"),
    "dates that are too far": ("t/zarr.json", update(attributes={"units": "days since 2000-01-01", "scale_factor": 1e300}), "! open/metadata /t -> correct the attributes with which xarray decodes"),
    "packing by a text": ("v/zarr.json", update(attributes={"scale_factor": "0.1"}), '! cf/packed /v#scale_factor -> write, for example, "scale_factor": 0.01'),
    "packing by two numbers": ("v/zarr.json", update(attributes={"add_offset": [1, 2]}), '! cf/packed /v#add_offset -> write, for example, "add_offset": 0.0'),
    "a list of names that is no text": ("v/zarr.json", update(attributes={"coordinates": 5}), "! open/metadata /v#coordinates -> correct the attributes with which xarray decodes"),
    "a size": ("v/zarr.json", update(shape=[3]), "! open/dimensions /v#/dimension_names -> give each dimension of a group one name and one"),
    "a missing chunk": ("t/c/1", None, "! open/metadata /t -> write the missing chunks"),
    "a missing chunk of data": ("v/c/0", None, ""),
}  # fmt: skip


@pytest.mark.parametrize("declared", [{}, declaring("proj", **{"proj:code": "EPSG:4326"})])
@rows(UNUSABLE, "key, change, expected")
def test_what_cannot_be_used_is_reported_for_every_store(
    key: str, change: Any, expected: str, declared: Json
) -> None:
    times = Array([1, 2, 3, 4], ("t",), {"units": "days since 2000-01-01"}, chunks=(2,))
    contents = build({"": declared, "t": times, "v": sized("t", 4), "g": {}})
    contents = without(contents, key) if change is None else edit(contents, key, change)
    store: Any = memory_store(contents)
    verdict = zarr_xgroup.check(store)
    named = [line for line in told(verdict) if not line.startswith("open/principal")]
    assert [line[: len(expected)] for line in named] == lines(expected)
    assert ("little was checked" in repr(verdict)) == (not declared and not expected)


def test_an_unreadable_coordinate_above_the_checked_group() -> None:
    contents = build({"": {}, "t": sized("t", 2), "g": {}, "g/v": sized("t", 2)})
    store: Any = memory_store(edit(contents, "t/zarr.json", b"<html>"))
    (found,) = zarr_xgroup.check(store, group="g").mistakes
    assert (str(found.place), found.rule.name, found.severity) == ("/g/v", "open/metadata", "error")
    assert found.text.startswith("opens without coordinates: /t/zarr.json is not valid JSON: ")


# Consolidated metadata.


def stale(folder: Path, zarr_format: ZarrFormat) -> Path:
    """Write a store that was changed after its metadata were consolidated."""
    newer = {path: it for path, it in SOUND.items() if path != "mass"}
    newer |= {"grid": {**newer["grid"], "title": "newer"}, "new": {}, "new/band": sized("x", 2)}
    reordered = dict(reversed(HEALPIX.items()))  # which says the same
    newer["globe"] = sized("cells", 12, **declaring("dggs", dggs=reordered))
    old = consolidate(build(SOUND, zarr_format), zarr_format=zarr_format)
    key = "zarr.json" if zarr_format == 3 else ".zmetadata"
    write_local({**build(newer, zarr_format), key: old[key]}, folder)
    return folder


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_that_are_stale(tmp_path: Path, zarr_format: ZarrFormat) -> None:
    store = stale(tmp_path, zarr_format)
    verdict = zarr_xgroup.check(store)
    assert places(verdict) == {
        ("consolidated/same", "/grid#/attributes/title"),
        ("consolidated/nodes-are-there", "/mass#"),
        ("consolidated/complete", "/new#"),
        ("consolidated/complete", "/new/band#"),
    }
    assert all("zarr.consolidate_metadata(store)" in it.remedy for it in verdict.mistakes)
    assert zarr_xgroup.check(store, group="swath").is_clean
    assert zarr_xgroup.check(store, consolidated=False).is_clean
    unlisted = recording_folder(tmp_path)
    unlisted.unlistable["*"] = NotImplementedError()  # as plain HTTP
    known = {it for it in places(verdict) if it[0] != "consolidated/complete"}
    assert places(zarr_xgroup.check(unlisted)) == known


#: Changes of an array's document, by format, before zarr consolidates it and afterwards (None takes a member away),
#: and the members that then differ from the consolidated metadata.
CHANGES: dict[str, tuple[ZarrFormat, Json, Json, list[str]]] = {
    "v2, a fill value without a point": (2, {"fill_value": 0}, {}, []),
    "v2, members that zarr adds": (
        2, {"dimension_separator": None, "compressor": {"id": "zlib"}}, {}, [],
    ),
    "v2, members that a later version of zarr adds": (2, {}, {"dimension_separator": None}, []),
    "v2, values": (2, {"fill_value": 0}, {"fill_value": "NaN", "order": "F"}, ["fill_value", "order"]),
    "v3, members that zarr adds": (
        3, {"storage_transformers": None, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {}}]}, {}, [],
    ),
    "v3, a fill value and an attribute": (
        3, {"fill_value": "NaN"}, {"fill_value": 1, "attributes": {"a": 1}}, ["attributes/a", "fill_value"],
    ),
    "v3, not a document that zarr can use": (3, {"fill_value": 0.0, "storage_transformers": []}, {"codecs": 5}, ["codecs"]),
}  # fmt: skip


@rows(CHANGES, "zarr_format, before, after, unequal")
def test_differences_from_consolidated_metadata_of_zarr(
    zarr_format: ZarrFormat, before: Json, after: Json, unequal: list[str]
) -> None:
    key = "g/v/zarr.json" if zarr_format == 3 else "g/v/.zarray"

    def changed(contents: Contents, changes: Json) -> Contents:
        removed = {member for member, value in changes.items() if value is None}
        document = {**json.loads(contents[key]), **changes}
        kept = {member: document[member] for member in document if member not in removed}
        return {**contents, key: to_json(kept)}

    contents = build({"": declaring("CF"), "g": {}, "g/v": stored([1.0], "x")}, zarr_format)
    store = memory_store(changed(contents, before))
    quietly(zarr.consolidate_metadata, store, zarr_format=zarr_format)
    consolidated = {name: value.to_bytes() for name, value in store._store_dict.items()}
    found = places(zarr_xgroup.check(memory_store(changed(consolidated, after))))
    differing = {place for rule, place in found if rule == "consolidated/same"}
    assert differing == {f"/g/v#/{member}" for member in unequal}


def test_each_document_is_read_once_and_only_chunks_that_opening_reads() -> None:
    store = recording_store(consolidate(build(SOUND)))
    assert zarr_xgroup.check(store).is_clean
    read = [key for key in store.gets if key.endswith("zarr.json")]
    assert len(read) == len(set(read)) == len(SOUND)
    assert {key.rpartition("/c")[0] for key in store.chunk_gets} == {
        "model/days",
        "ocean/lev",
        "ocean/time",
    }


# Many arrays, and what nobody foresaw.


def test_the_same_fault_in_many_arrays_is_one_mistake() -> None:
    wrong = sized("", **declaring("uom", uom={"ucum": {"unit": 5}}))
    arrays = {f"a{n:03}": wrong for n in range(300)}
    verdict = check_nodes({"": {}, **arrays})
    (found,) = verdict.mistakes
    assert [place.node for place in found.places] == [f"/{name}" for name in arrays]
    assert "       /a001#/attributes/uom/ucum/unit\n       /a002" in repr(verdict)
    assert "and 297 more" in repr(verdict)


# The verdict, and options.


def test_a_verdict_as_json_has_places_and_remedies() -> None:
    verdict = check_nodes({**FOUND["declarations by uuid"][0], "b": sized("x", 2, uom="m")})
    whole = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert whole["version"] == explanation.VERSION
    assert (whole["store"], whole["group"], whole["is_declared"]) == (verdict.store, "/", True)
    for item, found in zip(whole["mistakes"], verdict.mistakes, strict=True):
        assert list(item) == [it.name for it in fields(Finding)[:7]]
        assert item["place"] == asdict(found.place)
        assert item["places"] == [asdict(place) for place in found.places]
        assert item["rule"] == asdict(found.rule)
        assert (item["remedy"], item["count"]) == (found.remedy, found.count)
    assert {it.severity for it in verdict.mistakes} == {"error", "warning"}
    assert [it.severity for it in verdict.mistakes] == sorted(
        it.severity for it in verdict.mistakes
    )


def test_the_requested_group_is_checked_with_the_assumed_conventions(tmp_path: Path) -> None:
    wrong = sized("x", 2, uom={"ucum": {"unit": 5}})
    nodes = {"a": declaring("uom"), "a/v": wrong, "b": {}, "b/c": sized("x", 4, bounds=["e"])}
    store = memory_store(files(documents({"": {}, **nodes})))
    assert not zarr_xgroup.check(store, group="a").is_clean
    other = zarr_xgroup.check(store, group="b")
    assert (other.is_clean, other.is_declared, other.group) == (True, False, "/b")
    assert other.to_dict()["is_declared"] is False
    text = " ".join(repr(other).split())
    assert 'little was checked: no node has "zarr_conventions"' in text
    assumed = zarr_xgroup.check(store, group="b", assume_conventions="cf")
    assert places(assumed) == {("cf/names", "/b/c#/attributes/bounds")}
    assert assumed.is_declared
    with pytest.raises(TypeError, match="unknown option colour"):
        zarr_xgroup.check(store, colour="red")  # type: ignore[call-arg]
    with pytest.raises(XGroupStoreNotFoundError):
        zarr_xgroup.check(tmp_path / "nothing.zarr")


def test_an_explanation_shows_unsupported_conventions() -> None:
    nodes = {"": {"zarr_conventions": [*RECOGNISED, UNKNOWN]}, "a": sized("x", 3)}
    explained = zarr_xgroup.explain(memory_store(files(documents(nodes))))
    named = {(it.name, it.tier, it.declared_in) for it in explained.groups[0].arrays[0].conventions}
    assert {tier for _name, tier, _where in named} == {"recognised", "unknown"}
    assert named > {("orbits", "unknown", "/"), ("Table", "recognised", "/")}
    assert "orbits (unknown)" in repr(explained)


def test_rules_of_a_third_party_that_fail() -> None:
    class Faulty(ConventionHandler):
        tier = "service"
        name = "faulty"

        @classmethod
        def check(cls, subject: NodeView) -> Iterator[Finding]:
            raise ZeroDivisionError

        def interpret(self, array: Any) -> Any:
            return array.interpretation()

    register(Faulty)
    assert list(ConventionHandler.check(None)) == []  # type: ignore[arg-type]
    with pytest.warns(XGroupPluginWarning, match="'faulty' .* failed: ZeroDivisionError") as warned:
        verdict = check_nodes(SOUND)
    assert verdict.is_clean
    assert [it.filename for it in warned] == [__file__]


# Our own stores, products, and what conventions show.

#: The rules that stores break, though they open as they are meant to.
#: - arrays/dimension-names: arrays without names, as some products have, below spatial:dimensions;
#: - arrays/degrees: metres of a group, whose CRS an array overrides by a geographic one;
#: - spatial/bbox: the box of zeros that products write;
#: - cs/*: CRSs without a type, abbreviations and references as older documents have them;
#: - proj/wkt2: WKT 1 in proj:wkt2, as products have it, and null;
#: - ref/first-rule, open/*: both readings of a path, and names and dimensions that collide; products here have no chunks.
KNOWN = {
    "cs_test": (
        "cs/type cs/spelling cs/unique-abbreviations proj/wkt2 ref/first-rule "
        "open/dimensions open/names"
    ),
    "geolocation_test": "cs/type ref/first-rule open/one-meaning open/dimensions",
    "roms_test": "",
    "spatial_test": "arrays/degrees arrays/dimension-names spatial/dimensions-of-the-array spatial/bbox spatial/transform proj/wkt2",
    "demo": "open/dimensions",
    "sentinel1_grd_eopf_v2": "open/metadata",
    "sentinel2_l1c_eopf_v2": "open/principal-convention open/metadata",
    "sentinel2_l1c_geozarr_v3": "spatial/bbox proj/wkt2 proj/of-the-array open/metadata",
}


@pytest.mark.parametrize("name", KNOWN)
def test_mistakes_of_sample_stores_and_products(tmp_path: Path, name: str) -> None:
    if name == "demo":
        store = Path(zarr_xgroup.__file__).parent / "demo.zarr"
    else:
        is_product = name in products.PRODUCTS
        store = products.write(name, tmp_path) if is_product else STORES / f"{name}.zarr"
    verdict = zarr_xgroup.check(store)
    found, known = {it.rule.name for it in verdict.mistakes}, set(KNOWN[name].split())
    if Version("3.1") > ZARR:
        known.add("open/metadata")  # strings of fixed length, which it does not know
        found.add("open/metadata")
    assert found == known, verdict
    assert all(it.text[0] != "/" for it in verdict.mistakes), "the place stands beside the text"


#: What documents of conventions show refers to arrays and groups that are not beside it.
LOST = {"ref/leads-somewhere", "multiscales/asset-is-there"}


@pytest.mark.parametrize("name", SAMPLES)
def test_examples_of_specifications_have_no_mistakes(name: str) -> None:
    shown = node = sample(name)
    if shown["node_type"] == "array":
        attributes = shown["attributes"]
        dims = shown.get("dimension_names", attributes.get("spatial:dimensions"))
        node = documents({"": sized(" ".join(dims), *shown.get("shape", [4, 6]), **attributes)})[""]
    verdict = zarr_xgroup.check(memory_store(files({"": documents({"": {}})[""], "a": node})))
    assert {it.rule.name for it in verdict.mistakes} <= LOST, verdict
