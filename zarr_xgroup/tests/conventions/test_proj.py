"""The CRS of an array: the attributes that define it, and tools that find it in the opened Dataset."""

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
from packaging.version import Version

from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Json,
    declaring,
    opened,
    opened_with_warnings,
    stored,
)
from zarr_xgroup.tests.tables import check, rows, store_of

# rioxarray and rasterix use affine in a way that affine is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:Use `@` matmul:PendingDeprecationWarning")


def code(number: int) -> Json:
    return {"proj:code": f"EPSG:{number}"}


def grid(*conventions: str, **attributes: Any) -> Array:
    return stored(np.ones((2, 2)), "y x", **declaring(*conventions, **attributes))


def wkt(number: int, version: Any = "WKT2_2019") -> str:
    text: str = pyproj.CRS(number).to_wkt(version)
    return text


def mapping(number: int, **attributes: Any) -> Array:
    """Return a grid mapping variable."""
    return stored(0, crs_wkt=wkt(number), **attributes)


def placed(*transform: float, **attributes: Any) -> Array:
    """Return an array on a grid that `spatial` gives."""
    given = {"spatial:dimensions": ["y", "x"], "spatial:transform": list(transform) or TRANSFORM}
    return grid("spatial", "proj", **given, **attributes)


def cs(system: Any, **of_all: Any) -> Json:
    axes = {"x": {"coordinates": [{"values": {"explicit": [1.0, 2.0]}}]}}
    return {"cs": {"crs": [{"axes": axes, **system}], **of_all}}


TRANSFORM = [10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0]
ROTATED = [8.0, 6.0, 500_000.0, 6.0, -8.0, 5_000_000.0]
GDAL = {"_CRS": {"wkt": wkt(32631)}}
OWN_AXES = {"x": stored([5.0, 15.0], "x"), "y": stored([15.0, 5.0], "y")}
FEET = re.sub(r'UNIT\["metre",1[^]]*\]\]', 'UNIT["foot",0.3048]', wkt(32631, "WKT1_GDAL"))
ITEMS: Any = [
    {"asset": "0"},
    {"asset": "1", "derived_from": "0", "transform": {"scale": [2.0, 2.0]}},
]
LEVELS: Any = {
    "": declaring("multiscales", "proj", multiscales={"layout": ITEMS}),
    "0": {},
    "0/a": grid(grid_mapping="spatial_ref"),
    "0/b": grid(),
    "0/spatial_ref": stored(0),
    "1": {},
    "1/a": grid(),
}

#: Stores, and the grid mappings of their arrays.
CRS_OF_ARRAYS = {
    "its own, otherwise that of the group; none for one dimension": (
        {"": code(32632), "a": grid("proj", **code(32631)), "b": grid("proj"), "c": stored([1.0], "z", **declaring("proj"))},
        "a=spatial_ref EPSG:32631, b=EPSG_32632 EPSG:32632",
    ),
    "the first of two that differ": (
        {"a": grid("proj", **code(32632), **{"proj:wkt2": wkt(32631)})},
        "a=spatial_ref EPSG:32631, ! /a#/attributes/proj:code: differs from the CRS in proj:wkt2, which is used",
    ),
    "WKT before PROJJSON": (
        {"a": grid("proj", **{"proj:projjson": pyproj.CRS(32632).to_json_dict(), "proj:wkt2": wkt(32631)})},
        "a=spatial_ref EPSG:32631, ! /a#/attributes/proj:projjson: differs from the CRS in proj:wkt2, which is used",
    ),
    "two that differ in the order of axes have two variables": (
        {"a": grid("proj", **{"proj:code": "EPSG:4326"}), "b": grid("proj", **{"proj:code": "OGC:CRS84"})},
        "a=spatial_ref EPSG:4326, b=OGC_CRS84 OGC:CRS84",
    ),
    "none that pyproj does not understand": (
        {"a": grid("proj", **code(0))},
        "! /a was opened without the CRS of 'proj:code': /a#/attributes/proj:code: is not a CRS that pyproj understands: \"EPSG:0\"",
    ),
    "one in metres, one in feet": (
        {"a": grid("proj", **code(32631)), "b": grid("proj", **{"proj:wkt2": FEET})},
        "a=spatial_ref EPSG:32631, b=WGS_84_UTM_zone_31N WGS 84 / UTM zone 31N",
    ),
    "the id of a system": ({"a": grid("cs", **cs({"id": code(32631)}))}, "a=spatial_ref EPSG:32631"),
    "the id of cs before that of a system": ({"a": grid("cs", **cs({"id": code(32632)}, id=code(32631)))}, "a=spatial_ref EPSG:32631"),
    "that of proj before that of cs": ({"a": grid("cs", "proj", **cs({}, id=code(32631)), **code(32632))}, "a=spatial_ref EPSG:32632"),
    "that of the grid mapping": ({"a": grid("proj"), "spatial_ref": mapping(32633)}, "a=spatial_ref EPSG:32633"),
    "that of the grid mapping that it names": (
        {"a": grid("proj", grid_mapping="m"), "m": mapping(32634), "spatial_ref": mapping(32631)},
        "a=m EPSG:32634",
    ),
    "that of a grid mapping before a declared one": (
        {"a": grid("proj", **code(32631)), "b": grid("proj", grid_mapping="spatial_ref: x"), "spatial_ref": mapping(32633)},
        "a=spatial_ref EPSG:32633, b=spatial_ref EPSG:32633",
    ),
    "unknown if the grid mapping has words of CF alone": (
        {"a": grid("proj", grid_mapping="m", **code(32631)), "m": stored(0, grid_mapping_name="latitude_longitude")},
        "a=m {'grid_mapping_name': 'latitude_longitude'}",
    ),
    "the first of those that name a grid mapping without one": (
        {"a": grid("proj", grid_mapping="m", **code(32631)), "b": grid("proj", grid_mapping="m", **code(32632)), "m": stored(0)},
        "a=m EPSG:32631, b=m EPSG:32631, ! /b: the CRS (proj:code) differs from that of other arrays with grid mapping 'm' (proj:code)",
    ),
    "that of proj in place of a missing grid mapping, named by CF or by a path": (
        {"a": grid("CF", "proj", grid_mapping="m", **code(32631)), "b": placed(grid_mapping="/n", **code(32632))},
        "a=m EPSG:32631, b=spatial_ref EPSG:32632",
    ),
    "that of the layout, for its levels": (
        {**LEVELS, "": {**LEVELS[""], **code(32631)}, "2": {}, "2/a": grid("proj")},
        "0/a=spatial_ref EPSG:32631, 0/b=spatial_ref EPSG:32631, 1/a=spatial_ref EPSG:32631",
    ),
}  # fmt: skip


def crss_of(nodes: Any, **options: Any) -> str:
    """Return the grid mappings of all variables with the CRSs that these have, and the warnings, as text."""
    store = store_of({"": {}, **nodes})
    groups, told = opened_with_warnings(xr.open_groups, store, **options)
    texts = []
    for path, dataset in groups.items():
        for variable, array in sorted(dataset.variables.items()):
            if (name := array.attrs.get("grid_mapping")) is not None:
                attributes = dataset[name].attrs
                crs: Any = attributes
                if "crs_wkt" in attributes:
                    system = pyproj.CRS(attributes["crs_wkt"])
                    crs = ":".join(system.to_authority() or [system.name])
                    assert name in dataset.coords
                texts.append(f"{path.strip('/')}/{variable}={name} {crs}".strip("/"))
    return ", ".join([*texts, *(f"! {warning}" for warning in told)])


@rows(CRS_OF_ARRAYS)
def test_the_crs_of_an_array_is(nodes: Any, expected: str) -> None:
    assert crss_of(nodes) == expected


def test_a_crs_without_a_name_is_reported() -> None:
    """The grid mapping has the name of a group."""
    nodes = {"": {}, "a": grid("CF", "proj", grid_mapping="g", **code(32631)), "g": {}}
    check(nodes, """
        a (y x) | grid_mapping=g
        ! Resolution: /a was opened without 'g' of 'grid_mapping': /a#/attributes/grid_mapping: 'g' does not refer to an array; tried /g (a group)
    """)  # fmt: skip


def test_geozarr_uses_attributes_of_gdal_and_grid_mappings_of_ancestors() -> None:
    nodes: Any = {"m": mapping(4326), "g": {}, "g/a": grid("proj", **code(32632), **GDAL)}
    nodes |= {"g/b": grid(**GDAL), "g/c": placed(grid_mapping="m"), "g/d": grid(_CRS={"wkt": "?"})}
    expected = "g/a=spatial_ref EPSG:32632, g/b=EPSG_32631 EPSG:32631, g/c=m EPSG:4326"
    place = "g/d was opened without the CRS of 'wkt': /g/d#/attributes/_CRS/wkt"
    expected += f', ! /{place}: is not a CRS that pyproj understands: "?"'
    assert crss_of(nodes, assume_conventions="geozarr") == expected


#: Grids, each with the geotransform of its grid mapping, and values and units along x.
GRIDS: dict[str, Any] = {
    "whose grid mapping is completed": (
        {"a": placed(*ROTATED), "spatial_ref": mapping(32631, mine=1)}, "500000.0 8.0 6.0 5000000.0 6.0 -8.0", None,
    ),
    "of a single cell": ({"a": Array([[1.0]], ("y", "x"), placed(**code(32631)).attrs)}, "500000.0 10.0 0.0 5000000.0 0.0 -10.0", "[500005.0] m"),
    "whose grid mapping has a geotransform": (
        {"a": placed(**code(32631)), "spatial_ref": mapping(32631, GeoTransform="5 2 0 9 0 -2")}, "5 2 0 9 0 -2", "[6.0, 8.0] m",
    ),
    "whose grid mapping has another CRS than is declared": (
        {"a": placed(1, 0, 0, 0, 1, 0, grid_mapping="m", **code(32631)), "m": mapping(4326)}, None, "[0.5, 1.5] degrees_east",
    ),
    "that was reprojected": (
        {"a": placed(grid_mapping="spatial_ref", **code(32631)), **OWN_AXES, "spatial_ref": mapping(4326)}, None, "[5.0, 15.0] degrees_east",
    ),
}  # fmt: skip


@rows(GRIDS, "nodes, geotransform, x")
def test_a_grid(nodes: Any, geotransform: str | None, x: str | None) -> None:
    found = opened(xr.open_dataset, store_of({"": {}, **nodes}))
    mapping = found[found["a"].attrs["grid_mapping"]]
    assert mapping.attrs.get("GeoTransform") == geotransform
    if x is not None:
        assert f"{found['x'].values.tolist()} {found['x'].attrs['units']}" == x


# What tools find.

UTM, WGS84 = "EPSG:32633", "EPSG:4326"


@pytest.fixture(scope="module")
def rio() -> Any:
    """Import rioxarray, whatever its dependencies warn of."""
    with warnings.catch_warnings(action="ignore"):
        return pytest.importorskip("rioxarray")


def on_grid(shape: tuple[int, int] = (10, 16), *transform: float, **attributes: Any) -> Any:
    """Return a store of one array on a grid in the CRS of `UTM`."""
    declared = placed(*transform, **{"proj:code": UTM}, **attributes).attrs
    return store_of({"": {}, "a": Array(np.ones(shape), ("y", "x"), declared)})


@pytest.mark.usefixtures("rio")
@pytest.mark.parametrize("transform", [TRANSFORM, ROTATED], ids=["plain", "turned"])
@pytest.mark.parametrize(("registration", "back"), [("pixel", 0.0), ("node", 0.5)])
def test_rioxarray_finds_crs_and_outer_corner(
    transform: list[float], registration: str, back: float
) -> None:
    store = on_grid((10, 16), *transform, **{"spatial:registration": registration})
    dataset = opened(xr.open_dataset, store)
    a, b, c, d, e, f = transform
    corner = [a, b, c - back * (a + b), d, e, f - back * (d + e)]
    for data in (dataset, dataset["a"]):
        assert data.rio.crs == UTM
        assert list(data.rio.transform())[:6] == corner


@pytest.mark.usefixtures("rio")
@pytest.mark.parametrize("number", [32631, 4326])
def test_rioxarray_finds_the_grid_of_stores_of_gdal(number: int) -> None:
    axes = {name: stored(it.values, name) for name, it in (("X", OWN_AXES["x"]), ("Y", OWN_AXES["y"]))}  # fmt: skip
    array = stored(np.ones((2, 2)), "Y X", _CRS={"wkt": wkt(number)})
    found = opened(
        xr.open_dataset, store_of({"": {}, "a": array, **axes}), assume_conventions="geozarr"
    )
    for data in (found, found["a"], found["a"].isel(X=[0, 1])):
        assert data.rio.crs == f"EPSG:{number}"
        assert list(data.rio.transform())[:6] == [10, 0, 0, 0, -10, 20]


#: What users do with a grid, where the outer corner of its first cell is then, and how long cells are.
DONE: dict[str, tuple[Callable[[xr.Dataset], xr.Dataset], Sequence[float]]] = {
    "isel": (lambda it: it.isel(x=slice(4, 12), y=slice(2, 9)), (500_040, 10, 4_999_980, -10)),
    "coarsen": (lambda it: it.coarsen(x=4, y=2).mean(), (500_000, 40, 5_000_000, -20)),
    "sortby": (lambda it: it.sortby("y"), (500_000, 10, 4_999_900, 10)),
    "clip": (
        lambda it: it.rio.clip_box(500_031, 4_999_931, 500_069, 4_999_969),
        (500_030, 10, 4_999_970, -10),
    ),
}


@pytest.mark.usefixtures("rio")
@rows(DONE, "change, corner")
def test_rioxarray_finds_the_grid_of_written_results(
    change: Callable[[xr.Dataset], xr.Dataset],
    corner: Sequence[float],
    tmp_path: Path,
) -> None:
    changed = change(opened(xr.open_dataset, on_grid()))
    found = [changed]
    if Version("2025.1") <= XARRAY:  # older ones cannot write with this zarr
        changed.to_zarr(tmp_path / "changed.zarr", consolidated=False)
        found += [opened_with_warnings(xr.open_dataset, tmp_path / "changed.zarr")[0]]
    left, width, top, height = corner
    for data in (one for dataset in found for one in (dataset, dataset["a"])):
        transform = data.rio.transform()
        assert (transform.c, transform.a, transform.f, transform.e) == pytest.approx(corner)
        right, bottom = left + data.sizes["x"] * width, top + data.sizes["y"] * height
        bounds = (left, min(top, bottom), right, max(top, bottom))
        assert data.rio.bounds() == pytest.approx(bounds)


@pytest.mark.parametrize("transform", [TRANSFORM, ROTATED], ids=["plain", "turned"])
def test_xproj_and_rasterix_make_indexes(transform: list[float]) -> None:
    with warnings.catch_warnings(action="ignore"):
        xproj, rasterix = pytest.importorskip("xproj"), pytest.importorskip("rasterix")
    store = on_grid((2, 3), *transform)
    dataset = opened(xr.open_dataset, store)
    with_crs = dataset.set_xindex("spatial_ref", xproj.CRSIndex)
    assert with_crs.xindexes["spatial_ref"].crs == pyproj.CRS(UTM)
    raster = rasterix.assign_index(dataset)
    for name in ("x", "y") if transform is TRANSFORM else ("xc", "yc"):
        np.testing.assert_array_equal(raster[name], dataset[name])
    if transform is TRANSFORM:
        cut = opened(xr.open_dataset, store, convention_attrs="drop").isel(x=[1, 2])
        np.testing.assert_array_equal(rasterix.assign_index(cut)["x"], dataset["x"][1:])
