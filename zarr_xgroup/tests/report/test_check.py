"""`check`: what it objects to, where, what it says to write instead, and what it leaves alone."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import pyproj
import pytest
import xarray as xr
import zarr
from packaging.version import Version
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup import ConventionHandler
from zarr_xgroup.cli import workflow_commands
from zarr_xgroup.conventions import is_declared, register, spatial
from zarr_xgroup.conventions.checked import CheckedNode
from zarr_xgroup.errors import Rule, XGroupPluginWarning, XGroupStoreNotFoundError
from zarr_xgroup.findings import Finding, Place, report
from zarr_xgroup.report import explanation
from zarr_xgroup.report.checking import Verdict, merged_mistakes
from zarr_xgroup.report.rules import RULES
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import (
    UUIDS,
    XARRAY,
    ZARR,
    Json,
    ZarrFormat,
    declaring,
    memory_store,
    recording_folder,
)
from zarr_xgroup.tests.documents import ALL_FORMS, STORES, array, contents_of, group, write
from zarr_xgroup.tests.samples import sample

WKT1 = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]'
)


def declared(*names: str) -> list[Json]:
    """Return declarations of conventions."""
    declarations: list[Json] = declaring(*names)["zarr_conventions"]
    return declarations


def sound() -> dict[str, Json]:
    """Return a store that follows all conventions, and breaks no rule."""
    lat = {
        "abbreviation": "Y",
        "direction": "north",
        "coordinates": [
            {
                "unit": "degrees",
                "values": {"regular": [10, 1]},
                "boundaries": {"regular": [-0.5, 0.5]},
            }
        ],
    }
    lon = {"abbreviation": "X", "coordinates": [{"values": {"explicit": [1.0, 2.0, 3.0, 4.0]}}]}
    time = {
        "abbreviation": "T",
        "coordinates": [
            {
                "time": {"unit": "days", "epoch": "2000-01-01", "calendar": "noleap"},
                "values": {"external": {"node": "days"}},
            }
        ],
    }
    cs = {
        "crs": [
            {
                "type": "planar",
                "axes": {"lat": lat, "lon": lon},
                "id": {"proj:code": "EPSG:4326"},
            },
            {"type": "temporal", "axes": {"time": time}},
        ]
    }
    grid = {
        "zarr_conventions": declared("spatial", "proj"),
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": [10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0],
        "spatial:shape": [4, 6],
        "spatial:bbox": [500000.0, 4599960.0, 500060.0, 4600000.0],
        "spatial:registration": "pixel",
        "spatial:transform_type": "affine",
        "proj:code": "EPSG:32633",
    }
    levels = {
        "zarr_conventions": declared("multiscales", "spatial", "proj"),
        "spatial:dimensions": ["y", "x"],
        "proj:code": "EPSG:32633",
        "multiscales": {
            "layout": [
                {
                    "asset": "fine",
                    "spatial:transform": [10.0, 0.0, 0.0, 0.0, -10.0, 0.0],
                    "spatial:shape": [4, 4],
                },
                {
                    "asset": "coarse",
                    "derived_from": "fine",
                    "transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]},
                },
            ],
            "resampling_method": "average",
        },
    }
    located = {"x": {"node": "lon"}, "y": {"node": "lat"}, "crs": {"proj:code": "EPSG:4326"}}
    return {
        "": group({"title": "sound"}),
        "model": group(),
        "model/tas": array(
            (2, 3, 4),
            ("time", "lat", "lon"),
            {"zarr_conventions": declared("cs", "ref", "proj"), "cs": cs},
        ),
        "model/days": array((2,), ("time",), {"units": "days since 2000-01-01"}),
        "grid": group(grid),
        "grid/band": array((4, 6), ("y", "x")),
        "pyramid": group(levels),
        "pyramid/fine": group(),
        "pyramid/fine/band": array((4, 4), ("y", "x")),
        "pyramid/coarse": group(),
        "pyramid/coarse/band": array((2, 2), ("y", "x")),
        "swath": group(),
        "swath/radiance": array(
            (3, 4),
            ("row", "column"),
            {
                "zarr_conventions": declared("geolocation", "ref", "proj"),
                "geolocation": {"geodetic": located},
            },
        ),
        "swath/lon": array((3, 4), ("row", "column")),
        "swath/lat": array((3, 4), ("row", "column")),
        "forecast": array(
            (3,),
            ("step",),
            {
                "zarr_conventions": declared("coords"),
                "coords:coordinates": {
                    "step": {"type": "interval", "start": 0, "end": 12, "step": 6}
                },
            },
        ),
        "globe": array(
            (12,),
            ("cells",),
            {
                "zarr_conventions": declared("dggs"),
                "dggs": dict(HEALPIX),
            },
        ),
        "ocean": group({"zarr_conventions": declared("CF"), "Conventions": "CF-1.12"}),
        "ocean/so": array(
            (3, 4),
            ("lev", "cell"),
            {
                "standard_name": "sea_water_salinity",
                "units": "1e-3",
                "coordinates": "lat",
                "grid_mapping": "crs",
                "cell_measures": "area: cell_area",
                "missing_value": -999.0,
                "scale_factor": 0.01,
            },
        ),
        "ocean/lev": array(
            (3,),
            ("lev",),
            {
                "standard_name": "ocean_sigma_coordinate",
                "units": "1",
                "axis": "Z",
                "positive": "up",
                "formula_terms": "sigma: lev eta: eta depth: depth",
                "bounds": "lev_bnds",
            },
        ),
        "ocean/lev_bnds": array((3, 2), ("lev", "bnds")),
        "ocean/eta": array((4,), ("cell",)),
        "ocean/depth": array((4,), ("cell",)),
        "ocean/cell_area": array((4,), ("cell",)),
        "ocean/lat": array(
            (4,), ("cell",), {"standard_name": "latitude", "units": "degrees_north"}
        ),
        "ocean/time": array((), (), {"standard_name": "time", "units": "days since 2000-01-01"}),
        "ocean/crs": array(
            (),
            (),
            {
                "grid_mapping_name": "rotated_latitude_longitude",
                "grid_north_pole_latitude": 32.5,
                "grid_north_pole_longitude": 170.0,
            },
        ),
        "mass": array(
            (),
            (),
            {
                "zarr_conventions": declared("uom"),
                "uom": {"ucum": {"unit": "kg.m-2", "version": "2.2"}, "description": "mass"},
            },
        ),
    }


class Gone:
    """Stands for a member that is taken away."""


GONE = Gone()
#: Stands for the URI of the store itself.
HERE = "file://the-store"


def edited(documents: dict[str, Json], place: str, value: Any) -> None:
    """Put a value at a place ``node#pointer``, or take it away, or put a whole node."""
    node, _hash, pointer = place.partition("#")
    if not pointer:
        documents[node.strip("/")] = value
        return
    *keys, last = (key.replace("~1", "/") for key in pointer.split("/")[1:])
    holder: Any = documents[node.strip("/")]
    for key in keys:
        holder = holder[int(key)] if isinstance(holder, list) else holder[key]
    index: Any = int(last) if isinstance(holder, list) and last != "-" else last
    if value is GONE:
        del holder[index]
    elif last == "-":
        holder.append(value)
    else:
        holder[index] = value


def broken(edits: Mapping[str, Any]) -> dict[str, Json]:
    """Return the sound store with edits."""
    documents = sound()
    for place, value in edits.items():
        edited(documents, place, value if value is GONE else copy.deepcopy(value))
    return documents


def broken_part(edits: Mapping[str, Any], *places: str) -> dict[str, Json]:
    """Return the part of the sound store, with edits, in which these and some places are."""
    tops = {it.partition("#")[0].split("/")[1] for it in (*edits, *places)}
    return {path: it for path, it in broken(edits).items() if path.partition("/")[0] in {"", *tops}}


def places(verdict: Verdict) -> set[tuple[str, str]]:
    """Return what a verdict objects to: names of rules, and places."""
    return {
        (it.rule.name, f"{place.node}#{place.pointer}")
        for it in verdict.mistakes
        for place in it.places
    }


def checked(tmp_path: Path, documents: Mapping[str, Json], **options: Any) -> Verdict:
    store = tmp_path / "store.zarr"
    text = json.dumps(documents).replace(HERE, store.as_uri())
    return zarr_xgroup.check(write(store, json.loads(text)), **options)


@ALL_FORMS
def test_a_sound_store_is_clean(tmp_path: Path, form: tuple[ZarrFormat, bool]) -> None:
    store = write(tmp_path / "store.zarr", sound(), {"model/days": [0, 1]}, form)
    verdict = zarr_xgroup.check(store)
    assert verdict.is_clean, verdict
    assert (verdict.store, verdict.group) == (str(store), "/")
    assert repr(verdict).endswith(": nothing to mend")


TAS = "/model/tas#/attributes"
CS = f"{TAS}/cs"
CRS = f"{CS}/crs/0"
LAT = f"{CRS}/axes/lat"
SET = f"{LAT}/coordinates/0"
TIME = f"{CS}/crs/1/axes/time/coordinates/0/time"
OF_TIME = f"{CS}/crs/1/axes/time/coordinates/0/values"
EXTERNAL = f"{OF_TIME}/external"
GRID = "/grid#/attributes"
BAND = "/grid/band#/attributes"
LAYOUT = "/pyramid#/attributes/multiscales/layout"
UOM = "/mass#/attributes/uom"
SO = "/ocean/so#/attributes"
PLACED = "/swath/radiance#/attributes/geolocation"
COORDS = "/forecast#/attributes/coords:coordinates"
STEPS = {"type": "interval", "start": 0, "end": 12, "step": 6}
DGGS = "/globe#/attributes/dggs"
HEALPIX = {
    "name": "healpix",
    "refinement_level": 0,
    "indexing_scheme": "nested",
    "spatial_dimension": "cells",
}
OTHER_UUID = "00000000-0000-0000-0000-000000000000"
UNNAMED = array((4, 6), None)
GDAL = [500000.0, 10.0, 0.0, 4600000.0, 0.0, -10.0]


#: A rule, where it is broken, how, and a part of what is said to write instead.
BrokenRule: TypeAlias = tuple[str, str, dict[str, Any], str]


def at_fault(rule: str, place: str, value: Any, remedy: str) -> BrokenRule:
    """Return a rule that is broken where a value is put."""
    return rule, place, {place: value}, remedy


CASES: list[BrokenRule] = [
    # Declarations.
    at_fault(
        "conventions/list-of-objects",
        "/mass#/attributes/zarr_conventions",
        "uom",
        '"zarr_conventions": [{"uuid": ',
    ),
    at_fault(
        "conventions/list-of-objects", "/mass#/attributes/zarr_conventions/0", "uom", UUIDS["uom"]
    ),
    at_fault(
        "conventions/identified",
        "/mass#/attributes/zarr_conventions/0",
        {"name": "uom"},
        UUIDS["uom"],
    ),
    (
        "conventions/known",
        "/mass#/attributes/zarr_conventions/1",
        {"/mass#/attributes/zarr_conventions/-": {"uuid": OTHER_UUID, "name": "orbits"}},
        "for other readers",
    ),
    at_fault(
        "conventions/texts",
        "/mass#/attributes/zarr_conventions/0/description",
        5,
        '"description"',
    ),
    at_fault(
        "conventions/counts-for-something",
        f"{TAS}/zarr_conventions/0/uuid",
        OTHER_UUID,
        UUIDS["cs"],
    ),
    (
        "conventions/declared-once",
        f"{TAS}/zarr_conventions/3",
        {f"{TAS}/zarr_conventions/-": {"uuid": UUIDS["cs"]}},
        "leave this item out",
    ),
    ("conventions/declared", CS, {f"{TAS}/zarr_conventions/0": GONE}, UUIDS["cs"]),
    (
        "conventions/declared",
        f"{GRID}/spatial:dimensions",
        {f"{GRID}/zarr_conventions": GONE},
        UUIDS["spatial"],
    ),
    (
        "conventions/declared",
        f"{GRID}/proj:code",
        {f"{GRID}/zarr_conventions/1": GONE},
        UUIDS["proj"],
    ),
    ("conventions/used", f"{TAS}/zarr_conventions/0", {CS: GONE}, 'add "cs"'),
    ("conventions/used", "/mass#/attributes/zarr_conventions/0", {UOM: GONE}, 'add "uom"'),
    ("conventions/used", f"{GRID}/zarr_conventions/1", {f"{GRID}/proj:code": GONE}, "proj:code"),
    (
        "conventions/spelling-of-zarr_conventions",
        "/mass#/attributes/zarr_convention",
        {
            "/mass#/attributes/zarr_conventions": GONE,
            "/mass#/attributes/zarr_convention": declared("uom"),
        },
        '"zarr_conventions"',
    ),
    (
        "conventions/spelling-of-attributes",
        f"{GRID}/spatial:transfrom",
        {
            f"{GRID}/spatial:transform": GONE,
            f"{GRID}/spatial:transfrom": [10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0],
        },
        '"spatial:transform"',
    ),
    # Zarr.
    (
        "arrays/dimension-names",
        "/grid/other#/dimension_names",
        {"/grid/other": UNNAMED},
        'write "dimension_names": ["y", "x"]',
    ),
    (
        "arrays/dimension-names",
        "/grid/band#/dimension_names",
        {
            "/grid/band#/dimension_names": GONE,
            "/grid/band#/attributes/_ARRAY_DIMENSIONS": ["y", "x"],
        },
        "what _ARRAY_DIMENSIONS has",
    ),
    (
        "arrays/one-size-for-a-dimension",
        "/grid/other#/dimension_names",
        {"/grid/other": array((4, 3), ("y", "x"))},
        'write "dimension_names": ["y", "x_3"]',
    ),
    # cs.
    at_fault("cs/required", f"{CS}/crs", GONE, '"crs": ['),
    at_fault("cs/required", f"{CRS}/axes", GONE, '"axes": {'),
    at_fault("cs/required", f"{SET}/values", GONE, '"values": {"regular"'),
    at_fault("cs/required", f"{TIME}/epoch", GONE, '"epoch": "'),
    at_fault("cs/form", CS, [], '"cs": {"crs"'),
    at_fault("cs/form", f"{LAT}/coordinates", {"values": {}}, '"coordinates": ['),
    at_fault("cs/form", f"{TIME}/epoch", "01.02.2000", '"epoch": "2028-02-01T'),
    (
        "cs/spelling",
        f"{SET}/bounds",
        {f"{SET}/boundaries": GONE, f"{SET}/bounds": {"regular": [-1, 1]}},
        'call it "boundaries"',
    ),
    (
        "cs/axis-for-every-dimension",
        f"{CS}/crs",
        {LAT: GONE},
        '"lat": {"coordinates": [{"values": {"regular": [first, step]}}]}',
    ),
    at_fault("cs/abbreviation", f"{LAT}/abbreviation", "y", "write one of X, Y, Z, T"),
    at_fault("cs/unique-abbreviations", f"{CRS}/axes/lon/abbreviation", "Y", "X, Z, T"),
    at_fault("cs/direction", f"{LAT}/direction", "nroth", "write one of north, "),
    at_fault("cs/type", f"{CRS}/type", "planer", "write one of compound, planar"),
    at_fault("cs/type", f"{CRS}/type", GONE, 'write "type": "planar"'),
    (
        "cs/distinct-names",
        f"{LAT}/coordinates/1/name",
        {
            f"{SET}/name": "lat",
            f"{LAT}/coordinates/-": {"name": "lat", "values": {"regular": [0, 1]}},
        },
        'another "name"',
    ),
    (
        "cs/form",
        f"{SET}/unit",
        {f"{SET}/time": {"unit": "days", "epoch": "2000-01-01"}},
        "leave one of unit, time out",
    ),
    (
        "cs/form",
        f"{SET}/parametric/terms",
        {f"{SET}/parametric": {"formula": "ocean_sigma_coordinate", "terms": {}}},
        '"terms": {"sigma"',
    ),
    at_fault(
        "cs/unique-abbreviations", f"{CS}/crs/1/axes/time/abbreviation", "Y", 'write another "abb'
    ),
    (
        "cs/spelling",
        f"{OF_TIME}/ref",
        {OF_TIME: {"ref": {"external": {"node": "days"}}}},
        '"external": {"ref": {"node": "days"}}',
    ),
    at_fault(
        "cs/values",
        f"{SET}/values",
        {"regular": [0, 1], "explicit": [1, 2, 3]},
        '"values": {"regular"',
    ),
    at_fault("cs/values", f"{SET}/values/regular", [1], '"regular": [first'),
    (
        "cs/values",
        f"{SET}/values/external",
        {f"{SET}/values": {"external": "lat"}},
        '"external": {"node": "lat"}',
    ),
    at_fault("cs/increment", f"{SET}/values/regular", [10, 0], '"explicit": [10]'),
    at_fault(
        "cs/number-of-values",
        f"{CRS}/axes/lon/coordinates/0/values/explicit",
        [1.0, 2.0],
        "write 4 values",
    ),
    at_fault(
        "cs/boundaries",
        f"{SET}/boundaries/regular",
        [0.5, 0.5],
        '"boundaries": {"regular": [-0.5, 0.5]}',
    ),
    # spatial.
    at_fault(
        "spatial/dimensions",
        f"{GRID}/spatial:dimensions",
        "y x",
        '"spatial:dimensions": ["y", "x"]',
    ),
    at_fault(
        "spatial/dimensions-of-the-array",
        f"{GRID}/spatial:dimensions",
        ["lat", "lon"],
        'write "spatial:dimensions": ["y", "x"]',
    ),
    (
        "spatial/dimensions-required",
        "/grid/band#/attributes/spatial:dimensions",
        {
            "/grid/band#/attributes/zarr_conventions": declared("spatial"),
            f"{GRID}/spatial:dimensions": GONE,
        },
        'write "spatial:dimensions": ["y", "x"]',
    ),
    at_fault(
        "spatial/transform", f"{GRID}/spatial:transform", [0, 0, 0, 0, 0, 0], "[a, b, c, d, e, f]"
    ),
    at_fault(
        "spatial/order-of-transform",
        f"{GRID}/spatial:transform",
        GDAL,
        'write "spatial:transform": [10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0]',
    ),
    at_fault(
        "spatial/transform-type",
        f"{GRID}/spatial:transform_type",
        1,
        '"spatial:transform_type": "affine"',
    ),
    at_fault(
        "spatial/registration",
        f"{GRID}/spatial:registration",
        "centre",
        '"spatial:registration": "pixel"',
    ),
    at_fault("spatial/bbox", f"{GRID}/spatial:bbox", [0, 0, 0, 0], "leave it out"),
    at_fault(
        "spatial/bbox-of-the-grid",
        f"{GRID}/spatial:bbox",
        [0.0, 0.0, 60.0, 40.0],
        'write "spatial:bbox": [500000.0, 4599960.0, 500060.0, 4600000.0]',
    ),
    at_fault(
        "spatial/shape", f"{GRID}/spatial:shape", [4.5, 6], '"spatial:shape": [height, width]'
    ),
    at_fault(
        "spatial/shape-of-the-array",
        f"{GRID}/spatial:shape",
        [6, 4],
        'write "spatial:shape": [4, 6]',
    ),
    at_fault(
        "spatial/shape-of-the-array",
        f"{LAYOUT}/0/spatial:shape",
        [40, 40],
        'write "spatial:shape": [4, 4]',
    ),
    # multiscales.
    at_fault(
        "multiscales/of-groups",
        "/grid/band#/attributes/multiscales",
        {"layout": [{"asset": "a"}]},
        "on the group",
    ),
    at_fault("multiscales/layout", LAYOUT, [], '"layout": [{"asset"'),
    at_fault("multiscales/asset", f"{LAYOUT}/0/asset", "/fine", 'write "asset": "fine"'),
    at_fault("multiscales/asset-is-there", f"{LAYOUT}/1/asset", "coarser", "name one of "),
    at_fault(
        "multiscales/derived-from",
        f"{LAYOUT}/1/derived_from",
        "finer",
        'name the "asset" of one of the others: ["fine"',
    ),
    at_fault("multiscales/transform", f"{LAYOUT}/1/transform", GONE, '"scale": [2.0, 2.0]'),
    at_fault("multiscales/transform", f"{LAYOUT}/1/transform/scale", "2", '"scale": [2.0, 2.0]'),
    at_fault(
        "multiscales/resampling-method",
        "/pyramid#/attributes/multiscales/resampling_method",
        ["mean"],
        '"resampling_method": "average"',
    ),
    # proj.
    at_fault("proj/code", f"{GRID}/proj:code", 32633, 'write "proj:code": "EPSG:32633"'),
    at_fault("proj/code", f"{GRID}/proj:code", "32633", 'write "proj:code": "EPSG:32633"'),
    at_fault("proj/understood", f"{GRID}/proj:code", "EPSG:999999", "as PROJ lists it"),
    (
        "proj/wkt2",
        f"{GRID}/proj:wkt2",
        {f"{GRID}/proj:code": GONE, f"{GRID}/proj:wkt2": WKT1},
        '"proj:code": "EPSG:4326"',
    ),
    (
        "proj/wkt2",
        f"{GRID}/proj:wkt2",
        {f"{GRID}/proj:code": GONE, f"{GRID}/proj:wkt2": ""},
        "to_wkt()",
    ),
    (
        "proj/projjson",
        f"{GRID}/proj:projjson",
        {f"{GRID}/proj:code": GONE, f"{GRID}/proj:projjson": "EPSG:4326"},
        "to_json_dict",
    ),
    (
        "proj/one-crs",
        f"{GRID}/proj:code",
        {f"{GRID}/proj:code": "EPSG:32633", f"{GRID}/proj:wkt2": WKT1},
        "leave one of",
    ),
    (
        "proj/epsg",
        f"{GRID}/proj:epsg",
        {f"{GRID}/proj:code": GONE, f"{GRID}/proj:epsg": 32633},
        'write "proj:code": "EPSG:32633"',
    ),
    at_fault("proj/object", f"{CRS}/id", "EPSG:4326", '{"proj:code": "EPSG:4326"}'),
    # geolocation.
    at_fault("geolocation/kinds", PLACED, {"lonlat": {}}, '"geodetic": {"x"'),
    at_fault("geolocation/x-and-y", f"{PLACED}/geodetic/y", GONE, '"y": {"node": "latitude"}'),
    # coords.
    at_fault("coords/form", COORDS, [5], 'write, for example, "coords:coordinates": {"time": {'),
    at_fault("coords/descriptor", f"{COORDS}/step/start", GONE, '"type": "interval"'),
    at_fault("coords/descriptor", f"{COORDS}/step/step", 0, '"step": "P1D"'),
    at_fault("coords/fitting", f"{COORDS}/step", {**STEPS, "end": 11}, "of 3 values"),
    at_fault("coords/fitting", f"{COORDS}/step", {**STEPS, "indexed_by": ["y"]}, '"indexed_by"'),
    # What Zarr, xarray and NCZarr write of dimensions.
    (
        "arrays/array-dimensions",
        "/swath/lon#/attributes/_ARRAY_DIMENSIONS",
        {"/swath/lon#/attributes/_ARRAY_DIMENSIONS": ["column", "row"]},
        '"_ARRAY_DIMENSIONS": ["row", "column"]',
    ),
    (
        "arrays/array-dimensions",
        "/swath/lon#/attributes/_ARRAY_DIMENSIONS",
        {"/swath/lon#/attributes/_ARRAY_DIMENSIONS": ["row"]},
        '"_ARRAY_DIMENSIONS": ["row", "column"]',
    ),
    (
        "arrays/array-dimensions",
        "/swath/lon#/attributes/_ARRAY_DIMENSIONS",
        {"/swath/lon#/attributes/_ARRAY_DIMENSIONS": "row column"},
        '"_ARRAY_DIMENSIONS": ["row", "column"]',
    ),
    (
        "arrays/nczarr-dimensions",
        "/swath/lon#/attributes/_nczarr_array/dimension_references",
        {
            "/swath/lon#/attributes/_nczarr_array": {
                "dimension_references": ["/swath/row", "/swath/line"]
            }
        },
        '["/swath/row", "/swath/column"]',
    ),
    (
        "arrays/nczarr-dimensions",
        "/swath/lon#/attributes/_nczarr_array",
        {"/swath/lon#/attributes/_nczarr_array": ["/swath/row"]},
        '{"dimension_references": ["/swath/row", "/swath/column"]}',
    ),
    # dggs.
    at_fault("dggs/object", f"{DGGS}/name", GONE, '"name": "healpix"'),
    at_fault("dggs/object", f"{DGGS}/refinement_level", -1, '"refinement_level": 2'),
    (
        "dggs/object",
        f"{DGGS}/ellipsoid/semi_major_axis",
        {f"{DGGS}/ellipsoid": {"semi_major_axis": 10**400, "inverse_flattening": 298.0}},
        '"semi_major_axis": 6378137.0',
    ),
    at_fault("dggs/spatial-dimension", f"{DGGS}/spatial_dimension", "cell", '"cells"'),
    at_fault("dggs/cells", DGGS, {**HEALPIX, "refinement_level": 1}, '"coordinate": "cell_ids"'),
    at_fault("dggs/cells", DGGS, {**HEALPIX, "name": "h3"}, '"coordinate": "cell_ids"'),
    # uom.
    at_fault("uom/object", UOM, "meters", '{"ucum": {"unit": "m"}}'),
    at_fault("uom/object", UOM, "\u00b5g", "write its code in UCUM"),
    at_fault("uom/ucum", f"{UOM}/ucum", GONE, '"ucum": {"unit": "m"}'),
    at_fault("uom/ucum", f"{UOM}/ucum/unit", 1, '"unit": "m"'),
    at_fault("uom/unit", f"{UOM}/ucum/unit", "kg m-2", 'write "unit": "kg.m-2"'),
    at_fault("uom/unit", f"{UOM}/ucum/unit", "degrees", 'write "unit": "deg"'),
    (
        "uom/of-arrays",
        f"{GRID}/uom",
        {f"{GRID}/uom": {"ucum": {"unit": "m"}}, f"{GRID}/zarr_conventions/-": declared("uom")[0]},
        "on each array",
    ),
    # Times.
    at_fault("times/calendar", f"{TIME}/calendar", "no_leap", "noleap"),
    at_fault("times/calendar", "/model/days#/attributes/calendar", "maya", "360_day"),
    at_fault("times/unit", f"{TIME}/unit", "fortnights", "seconds, minutes, hours or days"),
    at_fault(
        "times/epoch",
        "/model/days#/attributes/units",
        "days since 1.2.2000",
        '"units": "days since 2028-02-01T00:00:00"',
    ),
    # References.
    at_fault("ref/form", f"{EXTERNAL}/node", "..//model/days", '"node": "time"'),
    at_fault("ref/form", f"{EXTERNAL}/attribute", "attributes", '"attribute": "/attributes/crs"'),
    at_fault("ref/leads-somewhere", EXTERNAL, {"node": "dates"}, "a node that is there and fits"),
    at_fault("ref/leads-somewhere", EXTERNAL, {"node": "../times/days"}, 'write "node": "days"'),
    (
        "ref/leads-somewhere",
        f"{CS}/crs/1",
        {
            f"{CS}/crs/1": {"node": "/", "attribute": "/attributes/crs/a"},
            "/#/attributes/crs": {"a": {"node": "/", "attribute": "/attributes/crs/a"}},
        },
        "refer to a node",
    ),
    at_fault(
        "ref/first-rule",
        EXTERNAL,
        {"node": "../days"},
        'write "node": "days", or write "node": "/model/days"',
    ),
    at_fault("ref/own-store", EXTERNAL, {"node": "/model/days", "uri": HERE}, "/model/days"),
    at_fault("arrays/fill-value", f"{SO}/_FillValue", "none", "of the array's type"),
    # CF.
    at_fault("cf/missing-value", f"{SO}/missing_value", {}, '"missing_value": -999.0'),
    at_fault("cf/packed", f"{SO}/scale_factor", "0.01", '"scale_factor": 0.01'),
    # Names in CF attributes.
    (
        "cf/names",
        "/model/pr#/attributes/coordinates",
        {
            "/model/pr": array(
                (3, 4),
                ("lat", "lon"),
                {"zarr_conventions": declared("CF"), "coordinates": "tas_height, days"},
            )
        },
        'write "coordinates": "tas_height days"',
    ),
    (
        "cf/leads-somewhere",
        "/model/pr#/attributes/coordinates",
        {
            "/model/pr": array(
                (3, 4),
                ("row", "column"),
                {"zarr_conventions": declared("CF"), "coordinates": "lat lon"},
            ),
            "/swath": group(),
        },
        'write "coordinates": "../swath/lat ../swath/lon"',
    ),
    # What an open finds.
    at_fault(
        "open/nothing-lost", f"{SET}/values/regular", [2**62, 2**62], "as the convention has it"
    ),
    (
        "open/one-meaning",
        "/grid/band#",
        {f"{GRID}/spatial:transform": GONE, f"{GRID}/spatial:bbox": GONE},
        "so that it has one meaning",
    ),
    (
        "open/names",
        "/swath/radiance#",
        {
            f"{PLACED}/geodetic/x": {"node": "../other/lon"},
            "/swath/lon": array((3,), ("row",)),
            "/other": group(),
            "/other/lon": array((3, 4), ("row", "column")),
        },
        "a name that nothing else",
    ),
    (
        "open/dimensions",
        "/swath/radiance#",
        {
            f"{PLACED}/geodetic/x": {"node": "../other/longitude"},
            "/other": group(),
            "/other/longitude": array((5, 4), ("row", "column")),
        },
        "one name and one size",
    ),
    ("open/metadata", "/grid/band#", {"/grid/band#/data_type": "quaternion"}, "as zarr writes it"),
    (
        "open/metadata",
        "/grid/band#",
        {"/grid/band#/codecs": [{"name": "lost_codec", "configuration": {}}]},
        "codecs that zarr has itself" if Version("3.1") <= ZARR else "",  # which names no codec
    ),
    (
        "open/principal-convention",
        "/model/pr#",
        {"/model/pr": array((5, 6), ("row", "column"))},
        "as the others have it",
    ),
    (
        "ref/form",
        f"{EXTERNAL}/attibute",
        {EXTERNAL: {"node": "days", "attibute": ""}},
        'call it "attribute"',
    ),
    (
        "dggs/object",
        f"{DGGS}/ellipsoid/semi_major_axis",
        {f"{DGGS}/ellipsoid": {"semi_minor_axis": 1.0}},
        '"semi_major_axis": 6378137.0',
    ),
    (
        "proj/of-the-array",
        f"{BAND}/proj:shape",
        {BAND: {"proj:shape": [2, 2]}},
        'write "proj:shape": [4, 6]',
    ),
    (
        "proj/of-the-array",
        f"{BAND}/proj:transform",
        {
            BAND: {
                "proj:shape": [4, 6],
                "proj:transform": [5.0, 0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 0.0, 1.0],
                "proj:bbox": [0.0, -40.0, 60.0, 0.0],
            }
        },
        "the array's own proj:transform, proj:bbox",
    ),
]


@pytest.mark.parametrize(
    ("rule", "place", "edits", "remedy"), CASES, ids=[f"{it[0]} {it[1]}" for it in CASES]
)
def test_a_broken_store(
    tmp_path: Path, rule: str, place: str, edits: dict[str, Any], remedy: str
) -> None:
    verdict = checked(tmp_path, broken_part(edits, place))
    assert (rule, place) in places(verdict), verdict
    found = [it for it in verdict.mistakes if it.rule.name == rule]
    assert any(remedy in it.remedy for it in found), found
    told = [where for name, where in places(verdict) if where == place]
    assert len(told) == 1, "one mistake is told once"


def test_each_rule_has_a_case() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    elsewhere = {name for name in names if name.startswith("consolidated/")}
    assert {rule for rule, *_rest in CASES} | elsewhere == set(names)


CF = {"zarr_conventions": [{"name": "cf"}]}


@pytest.mark.parametrize("shape", [None, 5, "text", {"a": 1}, [None]])
def test_a_group_is_not_the_array_that_has_a_shape(tmp_path: Path, shape: Any) -> None:
    documents = broken({BAND: {"proj:shape": [3, 3]}})
    documents |= {"other": group(), "other/band": {**group(), "shape": shape}}
    mistakes = checked(tmp_path, documents).mistakes
    (found,) = [it for it in mistakes if it.rule.name == "proj/of-the-array"]
    assert found.text == "is [3, 3], but the array has [4, 6] cells"


@pytest.mark.parametrize("dtype", ["f4,(", "none", "", 5, None, {"name": "datetime64"}])
def test_a_type_that_numpy_does_not_have_is_told_once(tmp_path: Path, dtype: Any) -> None:
    odd = {**array((3,), ("x",), {**CF, "units": "1", "valid_min": 0}), "data_type": dtype}
    documents = {"": group(), "a": odd}
    assert {rule for rule, _place in places(checked(tmp_path, documents))} <= {
        "open/metadata",
        "conventions/identified",
    }


def test_a_rule_says_where_it_is_from() -> None:
    assert all(rule.document and rule.section for rule in RULES)


@pytest.mark.parametrize(
    "unit",
    ["1", "%", "m/s", "/m", "kg.m-2", "10*3/uL", "10^6", "[degF]", "mm[Hg]", "{count}", "(m/s)2"],
)
def test_units_of_ucum(tmp_path: Path, unit: str) -> None:
    assert checked(tmp_path, broken_part({f"{UOM}/ucum/unit": unit})).is_clean


@pytest.mark.parametrize("unit", ["m s-1", "m**2", "m^2", "m/", "(m", "m}", "\u00b0C", "meter", ""])
def test_what_is_no_unit_of_ucum(tmp_path: Path, unit: str) -> None:
    assert not checked(tmp_path, broken_part({f"{UOM}/ucum/unit": unit})).is_clean


def test_a_misspelt_attribute_is_told_once(tmp_path: Path) -> None:
    edits = {f"{GRID}/spatial:registration": GONE, f"{GRID}/spatial:registrations": "pixel"}
    verdict = checked(tmp_path, broken(edits))
    assert places(verdict) == {
        ("conventions/spelling-of-attributes", f"{GRID}/spatial:registrations")
    }


# What is clean, or is not by the letter of a document.

#: What our own stores and real products are told, by rule, though they open as they are meant to.
#: - arrays/dimension-names: arrays without names, as some products have, below spatial:dimensions;
#: - spatial/bbox: the box of zeros that products write;
#: - cs/*: CRSs without a type, abbreviations and references as older documents have them;
#: - proj/wkt2: WKT 1 in proj:wkt2, as products have it, and null;
#: - ref/first-rule, open/*: both readings of a path, and names and dimensions that collide.
KNOWN = {
    "cs_test": {
        *("cs/type", "cs/spelling", "cs/unique-abbreviations", "proj/wkt2", "ref/first-rule"),
        *("open/one-meaning", "open/dimensions", "open/names"),
    },
    "geolocation_test": {"cs/type", "ref/first-rule", "open/one-meaning", "open/dimensions"},
    "roms_test": set[str](),
    "spatial_test": {
        "arrays/dimension-names",
        "spatial/dimensions-of-the-array",
        "spatial/bbox",
        "proj/wkt2",
    },
}


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_our_own_stores(name: str) -> None:
    verdict = zarr_xgroup.check(STORES / f"{name}.zarr")
    assert {it.rule.name for it in verdict.mistakes} == KNOWN[name], verdict


def test_what_an_open_finds_is_told_without_its_place() -> None:
    verdict = zarr_xgroup.check(STORES / "geolocation_test.zarr")
    told = [it.text for it in verdict.mistakes if it.rule.name == "open/one-meaning"]
    assert any(" /tie_points/lon " in text for text in told)
    assert [text for text in told if not text[0].isalnum()] == []


def test_the_store_of_broken_references_is_broken_everywhere() -> None:
    verdict = zarr_xgroup.check(STORES / "broken_refs.zarr")
    nodes = {place.node for it in verdict.mistakes for place in it.places}
    assert len(nodes) > 90
    assert {it.severity for it in verdict.mistakes} == {"error", "warning"}


PRODUCTS = {
    "sentinel1_grd_eopf_v2": set[str](),
    "sentinel2_l1c_eopf_v2": set[str](),
    "sentinel2_l1c_geozarr_v3": {"spatial/bbox", "proj/wkt2", "proj/of-the-array"},
}


@pytest.mark.parametrize("name", sorted(PRODUCTS))
def test_products(tmp_path: Path, name: str) -> None:
    verdict = zarr_xgroup.check(products.write(name, tmp_path))
    told = {it.rule.name for it in verdict.mistakes}
    if Version("3.1") > ZARR:
        told.discard("open/metadata")  # strings of fixed length, which it does not know
    assert told == PRODUCTS[name], verdict


def completed(name: str) -> Json:
    """Return a sample; what it leaves out of an array is added."""
    found = sample(name)
    if found["node_type"] == "group":
        return found
    shape = found.get("shape", [4, 6])
    dims = found.get("dimension_names", found["attributes"].get("spatial:dimensions"))
    return array(shape, dims, found["attributes"])


#: Stores around the samples: what they refer to, and what they are told.
AROUND: dict[str, tuple[dict[str, Any], set[str]]] = {
    "cs_array_refers_to_group": (
        {"": "cs_group_shared_crs", "a": "", "time": array((1464,), ("time",))},
        set(),
    ),
    "cs_array_refers_to_parent_by_node": (
        {"": "cs_group_shared_crs", "a": "", "time": array((1464,), ("time",))},
        set(),
    ),
    "cs_cmip6_daily_axes_list": ({"a": ""}, set()),
    "cs_cmip6_monthly_axes_keyed": (
        {
            "a": "",
            "time": array((1200,), ("time",)),
            "time_bnds": array((2, 1200), ("bounds", "time")),
        },
        set(),
    ),
    "cs_cordex_geolocation": (
        {
            "a": "",
            "lat": array((412, 424), ("rlat", "rlon")),
            "lon": array((412, 424), ("rlat", "rlon")),
        },
        set(),
    ),
    "geolocation_geodetic_and_planar": (
        {
            "data": group(),
            "data/a": "",
            "geolocation": group(),
            "geolocation/geodetic": group(),
            "geolocation/UTM28N": group(),
            **{
                f"geolocation/{name}": array((180, 288), ("y", "x"))
                for name in (
                    "geodetic/longitude",
                    "geodetic/latitude",
                    "UTM28N/easting",
                    "UTM28N/northing",
                )
            },
        },
        set(),
    ),
    "proj_wkt2": ({"a": ""}, set()),
    "spatial_multiscales_group": (
        {
            "": "",
            **{
                path: document
                for name, size in (("r10m", 1200), ("r20m", 600), ("r60m", 200))
                for path, document in (
                    (name, group()),
                    (f"{name}/b02", array((size, size), ("Y", "X"))),
                )
            },
        },
        set(),
    ),
}


@pytest.mark.parametrize("name", sorted(AROUND))
def test_samples(tmp_path: Path, name: str) -> None:
    members, told = AROUND[name]
    documents = {"": group()}
    for path, it in members.items():
        documents[path] = completed(it or name) if isinstance(it, str) else it
    verdict = checked(tmp_path, documents)
    assert {it.rule.name for it in verdict.mistakes} == told, verdict


def test_what_declares_nothing_may_be_anything(tmp_path: Path) -> None:
    documents = {
        "": group(
            {"Conventions": "CF-1.8", "crs": "EPSG:4326", "multiscales": [{"version": "0.4"}]}
        ),
        "a": array((3, 4), None, {"units": "days since then", "geolocation": "here", "cs": 5}),
        "b": array((3, 5), ("y", "x"), {"uom": "m", "spatial_ref": "", "ref": {"node": "//"}}),
        "c": array((2, 5), ("y", "x"), {"proj:epsg": 32633, "proj:wkt2": WKT1, "proj:shape": [1]}),
    }
    assert checked(tmp_path, documents).is_clean


# Consolidated metadata.


def stale(folder: Path, zarr_format: ZarrFormat) -> Path:
    """Write a store that was changed after its metadata were consolidated."""
    store = write(folder, sound(), form=(zarr_format, True))
    key = "zarr.json" if zarr_format == 3 else ".zattrs"
    document = json.loads((store / "grid" / key).read_text(encoding="utf-8"))
    attributes = document["attributes"] if zarr_format == 3 else document
    attributes["title"] = "newer"
    (store / "grid" / key).write_text(json.dumps(document), encoding="utf-8")
    for path in (store / "mass").iterdir():
        path.unlink()
    return write(
        store, {"new": group(), "new/band": array((2,), ("x",))}, form=(zarr_format, False)
    )


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_that_are_stale(tmp_path: Path, zarr_format: ZarrFormat) -> None:
    store = stale(tmp_path / "store.zarr", zarr_format)
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


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_as_zarr_writes_them(zarr_format: ZarrFormat) -> None:
    """zarr writes into those of v2 that groups have some, which their own documents do not say."""
    if zarr_format == 2 and Version("3.1") > ZARR:
        pytest.skip("this zarr writes what a compressor does by default into one of the two")
    store = MemoryStore()
    root = zarr.create_group(store, zarr_format=zarr_format, attributes={"title": "root"})
    inner = root.create_group("outer").create_group("inner", attributes={"title": "inner"})
    inner.create_array("a", shape=(2,), dtype="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that v3 has no specification of these
        zarr.consolidate_metadata(store)
    assert zarr_xgroup.check(store).is_clean
    inner.attrs["title"] = "newer"
    assert places(zarr_xgroup.check(store)) == {
        ("consolidated/same", "/outer/inner#/attributes/title")
    }


def test_each_document_is_read_once_and_no_chunk(tmp_path: Path) -> None:
    store = recording_folder(write(tmp_path, sound(), form=(3, True)))
    assert zarr_xgroup.check(store).is_clean
    asked = [key for key in store.gets if key.endswith("zarr.json")]
    assert len(asked) == len(set(asked)) == len(sound())
    assert not [key for key in store.gets if "/c/" in key]


def test_a_store_that_cannot_be_listed(tmp_path: Path) -> None:
    """What is consolidated is compared; what is not is not known."""
    store = recording_folder(write(tmp_path, sound(), form=(3, True)))
    write(tmp_path, {"swath": group({"title": "other"})})
    (tmp_path / "mass" / "zarr.json").unlink()
    store.unlistable["*"] = NotImplementedError()  # as plain HTTP
    assert places(zarr_xgroup.check(store)) == {
        ("consolidated/same", "/swath#/attributes/title"),
        ("consolidated/nodes-are-there", "/mass#"),
    }


def test_references_to_other_stores(tmp_path: Path) -> None:
    other = write(tmp_path / "other.zarr", {"": group(), "days": array((2,), ("time",))})
    edits = {EXTERNAL: {"node": "/days", "uri": other.as_uri()}}
    assert checked(tmp_path, broken(edits)).is_clean
    gone = {EXTERNAL: {"node": "/days", "uri": (tmp_path / "gone.zarr").as_uri()}}
    (told,) = checked(tmp_path / "b", broken(gone)).mistakes
    assert told.rule.name == "ref/leads-somewhere"
    assert "correct the URI" in told.remedy


# Many arrays, and what nobody foresaw.


def test_the_same_in_many_arrays_is_one_mistake(tmp_path: Path) -> None:
    wrong = {"zarr_conventions": declared("uom"), "uom": {"ucum": {"unit": 5}}}
    documents = {f"a{n:04}": array((), (), wrong) for n in range(1000)}
    verdict = checked(tmp_path, {"": group(), **documents})
    (told,) = verdict.mistakes
    assert [place.node for place in told.places] == [f"/{name}" for name in sorted(documents)]
    assert len(repr(verdict)) < 1000
    assert "       /a0001#/attributes/uom/ucum/unit\n       /a0002" in repr(verdict)
    assert "and 997 more" in repr(verdict)


def test_of_one_rule_there_are_200_mistakes() -> None:
    rule = Rule("a/b", "document", "section")
    many = [
        Finding(rule, Place(f"/{n}"), f"text {n}", "", places=(Place(f"/{n}"),)) for n in range(999)
    ]
    told = merged_mistakes(many)
    assert len(told) == 200
    assert told[-1].text == "text 199 (and 799 more of this kind)"
    assert len(told[-1].places) == 800
    assert sum(it.count for it in told) == 999
    assert "... 979 more problems" in repr(Verdict("a.zarr", "/", tuple(told)))
    assert repr(Verdict("a.zarr", "/", tuple(told))).endswith("errors: 999, warnings: 0")


def test_the_same_in_like_groups_is_printed_once(tmp_path: Path) -> None:
    axis = {"coordinates": [{"values": {"external": {"node": "../axes/x"}}}]}
    gone = declaring("cs", cs={"crs": [{"axes": {"x": axis}}]})
    tiles = [f"tile{n:03}" for n in range(250)]
    nodes = {"": group()}
    for tile in tiles:
        nodes |= {
            tile: group(),
            f"{tile}/data": group(),
            f"{tile}/data/a": array((2,), ("x",), gone),
        }
    verdict = checked(tmp_path, nodes)
    told = [it for it in verdict.mistakes if it.rule.name == "ref/leads-somewhere"]
    assert [it.place.node for it in told] == [f"/{tile}/data/a" for tile in tiles]
    assert len({it.text for it in told}) == 250
    text = repr(verdict)
    assert text.count("leads nowhere") == 1
    assert "       /tile001/data/a#/attributes/cs" in text
    assert "and 247 more" in text
    kinds = {(it.rule, it.severity) for it in verdict.mistakes}
    errors = sum(severity == "error" for _rule, severity in kinds)
    assert f"errors: {errors}, warnings: {len(kinds) - errors}" in " ".join(text.split())
    assert len(list(workflow_commands("a.zarr", verdict.mistakes))) == len(kinds)


@pytest.mark.parametrize("value", [None, True, 5, -0.5, "text", [], [[]], {}, {"node": 5}, [None]])
def test_anything_may_be_written_anywhere(value: Any) -> None:
    """Nothing is raised, whatever stands in the place of a value: each in another twentieth of all."""
    first = len(repr(value)) * 3 % 20
    for place in list(_all_places(sound()))[first::20]:
        told = zarr_xgroup.check(memory_store(contents_of(broken({place: value}))))
        assert json.dumps(told.to_dict())
        assert repr(told)


def _all_places(documents: Mapping[str, Json]) -> Iterator[str]:
    """Yield the places of all members of attributes but for the deepest."""
    for path, document in documents.items():
        stack = [((f"/{path}#/attributes"), document["attributes"])]
        while stack:
            place, found = stack.pop()
            if not place.endswith("#/attributes"):
                yield place
            pairs: Any = found.items() if isinstance(found, dict) else ()
            pairs = enumerate(found) if isinstance(found, list) else pairs
            stack += [(f"{place}/{key}", item) for key, item in pairs if place.count("/") < 8]


# The value.


def test_a_verdict_prints_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = {f"{GRID}/spatial:shape": [6, 4], f"{GRID}/proj:code": 32633}
    write(tmp_path / "store.zarr", broken(edits))
    monkeypatch.chdir(tmp_path)
    assert repr(zarr_xgroup.check("store.zarr", group="grid")).splitlines() == [
        "warning: /grid#/attributes/proj:code",
        "  must be an authority and a code, such as 'EPSG:32633', got number 32633",
        '  Instead: write "proj:code": "EPSG:32633"',
        "  proj/code (proj convention (zarr-conventions/proj), proj:code)",
        "",
        "warning: /grid#/attributes/spatial:shape",
        "  is [6, 4], but the array has [4, 6] cells; the latter counts",
        '  Instead: write "spatial:shape": [4, 6]',
        f"  spatial/shape-of-the-array ({spatial.DOCUMENT}, spatial:shape)",
        "",
        "store.zarr: errors: 0, warnings: 2",
    ]


@pytest.mark.parametrize("name", ["broken_refs", "roms_test"])
def test_a_verdict_as_json_has_each_place_and_what_to_write(name: str) -> None:
    verdict = zarr_xgroup.check(STORES / f"{name}.zarr")
    told = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert told["version"] == explanation.VERSION
    assert (told["store"], told["group"]) == (verdict.store, "/")
    assert told["is_declared"] is verdict.is_declared
    for item, found in zip(told["mistakes"], verdict.mistakes, strict=True):
        assert list(item) == [it.name for it in fields(Finding)[:7]]
        assert item["place"] == vars(found.place)
        assert item["places"] == [vars(place) for place in found.places]
        assert item["rule"] == vars(found.rule)
        assert (item["remedy"], item["count"]) == (found.remedy, found.count)


def test_options_are_those_of_an_open(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", broken({f"{GRID}/proj:code": 5}))
    assert zarr_xgroup.check(store, group="model").is_clean
    assert not zarr_xgroup.check(store, group="grid").is_clean
    unknown: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="there is no option colour"):
        zarr_xgroup.check(store, **unknown)
    with pytest.raises(XGroupStoreNotFoundError):
        zarr_xgroup.check(tmp_path / "nothing.zarr")


# Third parties.


def test_a_handler_of_a_third_party_has_rules(tmp_path: Path) -> None:
    rule = Rule("stripes/colour", "The convention of stripes", "colour")

    class Stripes(ConventionHandler):
        tier = "service"
        name = "stripes"

        @classmethod
        def check(cls, subject: CheckedNode) -> Iterator[Finding]:
            stripes = subject.attribute("stripes")
            if stripes is not None and is_declared(cls, subject.attributes):
                yield report(rule, stripes, "is no colour", 'write "red"')

        def interpret(self, array: Any) -> Any:
            return array.interpretation()

    register(Stripes)
    attributes = {"zarr_conventions": [{"name": "stripes"}], "stripes": 5}
    verdict = checked(tmp_path, {"": group(), "a": array((), (), attributes)})
    assert ("stripes/colour", "/a#/attributes/stripes") in places(verdict)
    assert list(ConventionHandler.check(None)) == []  # type: ignore[arg-type]


def test_rules_of_a_third_party_that_fail(tmp_path: Path) -> None:
    class Faulty(ConventionHandler):
        tier = "service"
        name = "faulty"

        @classmethod
        def check(cls, subject: CheckedNode) -> Iterator[Finding]:
            raise ZeroDivisionError

        def interpret(self, array: Any) -> Any:
            return array.interpretation()

    register(Faulty)
    with pytest.warns(XGroupPluginWarning, match="'faulty' .* failed: ZeroDivisionError") as told:
        verdict = checked(tmp_path, sound())
    assert verdict.is_clean
    assert [it.filename for it in told] == [__file__]


# As a producer.


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="writes with zarr 3.1")
def test_a_producer_mends_a_store_by_what_is_said(tmp_path: Path) -> None:
    """Five typical mistakes, each mended by the text alone, until an open warns of nothing."""
    store = tmp_path / "scene.zarr"
    root = zarr.create_group(store, zarr_format=3)
    image = root.create_array("image", shape=(400, 600), dtype="f4", dimension_names=["y", "x"])
    image.attrs.update(
        {
            # 1. The uuid is that of another convention. 2. GDAL's order of numbers.
            "zarr_conventions": [{"uuid": UUIDS["cs"], "name": "proj"}, {"name": "spatial"}],
            "spatial:dimensions": ["y", "x"],
            "spatial:transform": GDAL,
            # 3. Width before height.
            "spatial:shape": [600, 400],
            # 4. A number where a code belongs.
            "proj:code": 32633,
        }
    )
    # 5. A coordinate that is somewhere else.
    times = root.create_group("times")
    times.create_array("day", shape=(3,), dtype="i4", dimension_names=["day"])
    level = root.create_array("level", shape=(3,), dtype="f4", dimension_names=["day"])
    external = {"values": {"external": {"node": "day"}}}
    level.attrs.update(
        {
            "zarr_conventions": [{"uuid": UUIDS["cs"]}, {"uuid": UUIDS["ref"]}],
            "cs": {"crs": [{"axes": {"day": {"coordinates": [external]}}}]},
        }
    )
    steps = 0
    while not (verdict := zarr_xgroup.check(store)).is_clean:
        steps += 1
        assert steps < 10, verdict
        for it in verdict.mistakes:
            _mend(store, it)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = xr.open_datatree(store, engine="xgroup")
    assert tree["image"].coords["x"].values[0] == 500005.0
    assert tree["level"].coords["day"].shape == (3,)
    assert str(tree["image"].attrs["proj:code"]) == "EPSG:32633"


def _mend(store: Path, mistake: Finding) -> None:
    """Do what is said: ``write "key": value``, or an object in the place of another."""
    head, _space, rest = mistake.remedy.partition(" ")
    assert head == "write", mistake
    for place in mistake.places:
        path = store / place.node.strip("/") / "zarr.json"
        documents = {"": json.loads(path.read_text(encoding="utf-8"))}
        if rest.startswith("{"):
            value = json.loads(rest)
            pointer = place.pointer.removesuffix("/uuid")
        else:
            key, _colon, _value = rest.partition(": ")
            end = json.JSONDecoder().raw_decode(f"{{{rest.partition(', or ')[0]}}}")[0]
            value = end[json.loads(key)]
            own = place.pointer.rpartition("/")[2] == json.loads(key)
            pointer = place.pointer if own else f"{place.pointer}/{json.loads(key)}"
        edited(documents, f"#{pointer}", value)
        path.write_text(json.dumps(documents[""]), encoding="utf-8")


def test_what_a_store_says_does_not_move_the_cursor() -> None:
    found = Finding(Rule("cs/some", "document", "section"), Place("/a\x1b[2J"), "b\x07", "c\u202e")
    for verdict in (Verdict("store\r", "/", (found,)), Verdict("store\r", "/")):
        assert all(map(str.isprintable, repr(verdict).split("\n")))


def test_what_cannot_be_opened_is_told_where_it_is_referred_to(tmp_path: Path) -> None:
    planar = {"planar": {"x": {"node": "odd"}, "y": {"node": "y"}}}
    documents = {
        "": group(),
        "odd": {**array((2, 3), ("y", "x")), "data_type": "no such type"},
        "y": array((2, 3), ("y", "x")),
        "v": array((2, 3), ("y", "x"), declaring("geolocation", geolocation=planar)),
    }
    (found,) = (it for it in checked(tmp_path, documents).mistakes if it.place.node == "/v")
    assert found.place == Place("/v", "/attributes/geolocation/planar/x")
    assert found.text.startswith("/odd cannot be opened: ")


def test_a_choice_about_a_whole_is_told_beside_what_is_wrong_with_a_part(tmp_path: Path) -> None:
    coarser = {"x": {"node": "lon", "atribute": ""}, "y": {"node": "lat"}}
    documents = {
        "": group(),
        "lat": array((2, 3), ("j", "i")),
        "lon": array((2, 3), ("j", "i")),
        "v": array((4, 6), ("y", "x"), declaring("geolocation", geolocation={"geodetic": coarser})),
    }
    found = {it.place.pointer: it for it in checked(tmp_path, documents).mistakes}
    whole = "/attributes/geolocation/geodetic/x"
    assert "'attribute' meant?" in found[f"{whole}/atribute"].text
    assert "not that of the array's horizontal axes" in found[whole].text


def test_where_nothing_is_declared_little_is_checked(tmp_path: Path) -> None:
    documents = {"": group(), "a": group({"zarr_conventions": declared("uom")}), "b": group()}
    documents["a/mass"] = array((), (), {"uom": {"ucum": {"unit": "kg"}}})
    whole = checked(tmp_path, documents)
    assert whole.is_declared
    assert repr(whole).endswith(": nothing to mend")
    part = checked(tmp_path, documents, group="b")
    assert part.is_clean
    assert not part.is_declared
    assert 'no node has "zarr_conventions": little was checked' in " ".join(repr(part).split())
    assert part.to_dict()["is_declared"] is False


def test_what_is_assumed_is_checked(tmp_path: Path) -> None:
    documents = {"": group(), "a": array((4,), ("x",), {"bounds": ["edges"]})}
    assert checked(tmp_path, documents).is_clean
    assumed = checked(tmp_path, documents, assume_conventions="cf")
    assert places(assumed) == {("cf/names", "/a#/attributes/bounds")}
    del documents["a"]["attributes"]["bounds"]
    assumed = checked(tmp_path, documents, assume_conventions="cf")
    assert repr(assumed).endswith(": nothing to mend")


def test_names_of_dimensions_that_are_said_twice_alike(tmp_path: Path) -> None:
    nczarr = {"dimension_references": ["/time", "/swath/column"]}
    attributes = {"_ARRAY_DIMENSIONS": ["time", "column"], "_nczarr_array": nczarr}
    edits = {
        "/time": array((2,), ("time",)),
        "/swath/more": array((2, 4), ("/time", "column"), attributes),
    }
    told = places(checked(tmp_path, broken(edits)))
    assert not any(rule.startswith("arrays/") for rule, _place in told)


@pytest.mark.parametrize("names", ["NZ-1.0 CF-1.12", "nz-1.0, cf-1.12"])
def test_what_the_root_names_beside_nz_is_checked(tmp_path: Path, names: str) -> None:
    documents = {
        "": group({"conventions": names}),
        "a": group(),
        "a/b": array((4,), ("x",), {"bounds": ["edges"]}),
    }
    assert places(checked(tmp_path, documents)) == {("cf/names", "/a/b#/attributes/bounds")}


#: Of another CRS than the code beside it.
WKT2 = pyproj.CRS("EPSG:32633").to_wkt()


@pytest.mark.parametrize(
    ("edits", "rule", "place", "remedy"),
    [
        (
            {f"{LAYOUT}/0/asset": "/fine"},
            "multiscales/asset",
            f"{LAYOUT}/0/asset",
            'write "asset": "fine"',
        ),
        (
            {
                "/grid/mask": array((2, 3), ("y", "x"), {"zarr_conventions": declared("spatial")}),
                f"{GRID}/spatial:shape": GONE,
                f"{GRID}/spatial:bbox": GONE,
            },
            "arrays/one-size-for-a-dimension",
            "/grid/mask#/dimension_names",
            'write "dimension_names": ["y_2", "x_3"], or put the arrays',
        ),
        (
            {"/bare": array((2, 3), ("y", "x"), {"zarr_conventions": declared("spatial")})},
            "conventions/used",
            "/bare#/attributes/zarr_conventions/0",
            'add "spatial:dimensions", or leave this item out',
        ),
        (
            {"/grid/band#/attributes": {"proj:wkt2": WKT2, "proj:code": "EPSG:32631"}},
            "proj/one-crs",
            "/grid/band#/attributes/proj:code",
            "leave one of proj:wkt2, proj:code out",
        ),
    ],
)
def test_what_follows_from_a_mistake_is_not_told_beside_it(
    tmp_path: Path, edits: Json, rule: str, place: str, remedy: str
) -> None:
    verdict = checked(tmp_path, broken(edits))
    assert places(verdict) == {(rule, place)}
    (told,) = verdict.mistakes
    assert remedy in told.remedy


@pytest.mark.parametrize(
    ("edits", "remedy"),
    [
        ({f"{CRS}/type": 5}, "write one of compound, planar, vertical, temporal, undefined"),
        ({f"{CRS}/id": 4326}, 'write {"proj:code": "EPSG:4326"}'),
        (
            {
                "/grid/band": array((4, 6), ("h\u00f6he", "breite")),
                f"{GRID}/spatial:dimensions": ["y", "x"],
            },
            'write "spatial:dimensions": ["h\u00f6he", "breite"]',
        ),
    ],
)
def test_what_to_write_can_be_written_so(tmp_path: Path, edits: Json, remedy: str) -> None:
    assert remedy in {it.remedy for it in checked(tmp_path, broken(edits)).mistakes}


# What goes together is judged by the interpretation, wherever it is said.

BY_CODE: Json = {"zarr_conventions": declared("spatial", "proj"), "proj:code": "EPSG:32633"}
BY_MAPPING: Json = {"zarr_conventions": declared("spatial"), "crs_wkt": ""}


def gridded(crs: Json, **attributes: Any) -> dict[str, Json]:
    """Return a group with a grid whose CRS is said by a code, or by a grid mapping variable."""
    declared_there = {"zarr_conventions": crs["zarr_conventions"], "spatial:dimensions": ["y", "x"]}
    declared_there |= {f"spatial:{key}": value for key, value in attributes.items()}
    documents = {"": group(), "band": array((4, 6), ("y", "x"))}
    if "crs_wkt" in crs:
        documents["band"]["attributes"] = {"grid_mapping": "spatial_ref"}
        wkt = pyproj.CRS("EPSG:32633").to_wkt()
        documents["spatial_ref"] = array((), (), {"crs_wkt": wkt})
    else:
        declared_there["proj:code"] = crs["proj:code"]
    documents[""] = group(declared_there)
    return documents


@pytest.mark.parametrize("coordinates", [(), ("y",), ("y", "x")], ids=str)
@pytest.mark.parametrize("crs", [BY_CODE, BY_MAPPING], ids=["code", "grid mapping"])
def test_a_transform_in_the_order_of_gdal_is_one_finding(
    tmp_path: Path, crs: Json, coordinates: tuple[str, ...]
) -> None:
    documents = gridded(crs, transform=GDAL)
    data = {}
    for name, size, first, step in (("y", 4, 4599995.0, -10.0), ("x", 6, 500005.0, 10.0)):
        if name in coordinates:
            documents[name] = array((size,), (name,))
            data[name] = [first + step * n for n in range(size)]
    store = write(tmp_path / "store.zarr", documents, data)
    (told,) = zarr_xgroup.check(store).mistakes
    assert (told.rule.name, told.severity) == ("spatial/order-of-transform", "error")
    assert str(told.place) == "/#/attributes/spatial:transform"
    meant = "[10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0]"
    assert told.remedy == f'write "spatial:transform": {meant}'
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        xr.open_dataset(store, engine="xgroup")
    asked = [str(it.message) for it in given if "in the order of GDAL?" in str(it.message)]
    assert len(asked) == (len(coordinates) < 2)  # else the transform is not needed


def test_what_an_open_can_do_without_is_told_by_a_check(tmp_path: Path) -> None:
    box, wanted = [0.0, 0.0, 6.0, 4.0], [500000.0, 4599960.0, 500060.0, 4600000.0]
    transform = [10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0]
    documents = gridded(BY_CODE, transform=transform, bbox=box, shape=[6, 4])
    documents |= {"y": array((4,), ("y",)), "x": array((6,), ("x",))}
    values = {
        "y": [4599995.0 - 10 * n for n in range(4)],
        "x": [500005.0 + 10 * n for n in range(6)],
    }
    store = write(tmp_path / "store.zarr", documents, values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xr.open_dataset(store, engine="xgroup").load()
        zarr_xgroup.explain(store)
    found = {it.rule.name: it.remedy for it in zarr_xgroup.check(store).mistakes}
    assert found == {
        "spatial/bbox-of-the-grid": f'write "spatial:bbox": {wanted}',
        "spatial/shape-of-the-array": 'write "spatial:shape": [4, 6]',
    }


def test_a_shape_of_a_group_with_several_is_taken_off(tmp_path: Path) -> None:
    documents = gridded(BY_CODE, transform=[10.0, 0.0, 0.0, 0.0, -10.0, 0.0], shape=[4, 6])
    documents = {"a": documents.pop(""), "": group(), "a/fine": documents["band"]}
    documents["a/coarse"] = array((2, 3), ("y2", "x2"))
    documents["a/coarse"]["attributes"] = {"spatial:dimensions": ["y2", "x2"]}
    (told,) = zarr_xgroup.check(write(tmp_path / "store.zarr", documents)).mistakes
    assert (told.rule.name, str(told.place)) == (
        "spatial/shape-of-the-array",
        "/a#/attributes/spatial:shape",
    )
    assert told.remedy.startswith("take it off the group")


def test_names_of_dimensions_in_another_case(tmp_path: Path) -> None:
    documents = gridded(BY_CODE, transform=[10.0, 0.0, 0.0, 0.0, -10.0, 0.0])
    documents["band"] = array((4, 6), ("Y", "X"))
    store = write(tmp_path / "store.zarr", documents)
    (told,) = zarr_xgroup.check(store).mistakes
    assert (told.rule.name, told.severity) == ("spatial/dimensions-of-the-array", "warning")
    assert told.remedy == 'write "spatial:dimensions": ["Y", "X"]'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(xr.open_dataset(store, engine="xgroup").coords) == {"Y", "X", "spatial_ref"}


def test_what_a_group_declares_that_none_of_its_arrays_has(tmp_path: Path) -> None:
    documents = gridded(BY_CODE, transform=[10.0, 0.0, 0.0, 0.0, -10.0, 0.0])
    documents["band"] = array((4, 6), ("row", "column"))
    (told,) = [
        it
        for it in zarr_xgroup.check(write(tmp_path / "store.zarr", documents)).mistakes
        if it.rule.name.startswith("spatial")
    ]
    assert (told.rule.name, str(told.place)) == (
        "spatial/dimensions-of-the-array",
        "/#/attributes/spatial:dimensions",
    )
    assert told.remedy == 'write "spatial:dimensions": ["row", "column"]'


@pytest.mark.parametrize(
    "item",
    [
        {"uuid": "d0a980b5-c644-4dcc-85a1-283799a58f40"},
        *({"uuid": OTHER_UUID, "name": it} for it in ("missing_value", "stac:", "Table")),
        {
            "schema_url": "https://raw.githubusercontent.com/somebody/geoemb/refs/tags/v1/schema.json"
        },
        {"spec_url": "https://github.com/somebody/statistics/blob/main/README.md"},
    ],
)
def test_what_says_nothing_of_coordinates_is_recognised(tmp_path: Path, item: Json) -> None:
    """By the uuid where its document has one, else by a name."""
    root = group({"zarr_conventions": [item], "conventions": "NZ-1.0"})
    store = write(tmp_path / "store.zarr", {"": root, "a": array((3,), ("x",))})
    names = {it.rule.name for it in zarr_xgroup.check(store).mistakes}
    assert names <= {"open/principal-convention"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", zarr_xgroup.XGroupResolutionWarning)
        explanation = zarr_xgroup.explain(store)
    (found,) = explanation.groups[0].arrays[0].conventions
    assert found.tier == "recognised"


def test_a_convention_that_is_not_known_is_told_once_and_one_that_is_recognised_never(
    tmp_path: Path,
) -> None:
    unknown, known = {"uuid": OTHER_UUID, "name": "orbits"}, {"uuid": OTHER_UUID, "name": "license"}
    key = "#/attributes/zarr_conventions/-"
    edits = {f"{node}{key}": unknown for node in ("/mass", "/globe", "/grid")}
    documents = broken(edits)
    edited(documents, f"/mass{key}", known)
    (found,) = checked(tmp_path, documents).mistakes
    assert (found.rule.name, found.severity) == ("conventions/known", "warning")
    assert "'orbits'" in found.text.replace('"', "'")
    assert {it.node for it in found.places} == {"/mass", "/globe", "/grid"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explanation = zarr_xgroup.explain(tmp_path / "store.zarr")
    arrays = {it.path: it.conventions for group in explanation.groups for it in group.arrays}
    named = {(it.name, it.tier, it.declared_in) for it in arrays["/mass"]}
    assert named >= {("orbits", "unknown", "/mass"), ("license", "recognised", "/mass")}
    assert ("orbits", "unknown", "/grid") in {
        (it.name, it.tier, it.declared_in) for it in arrays["/grid/band"]
    }
    assert "orbits (unknown)" in repr(explanation)
    assert "license (recognised)" in repr(explanation)
