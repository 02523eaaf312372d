"""A CRS that every tool sees: what rioxarray, xproj and rasterix find in what we return."""

import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr
from packaging.version import Version

from zarr_xgroup import XGroupMetadataWarning
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import (
    UUIDS,
    XARRAY,
    Json,
    compare,
    declaring,
    opened,
    opened_with_warnings,
    oracle,
)
from zarr_xgroup.tests.documents import array, group, write
from zarr_xgroup.tests.test_backend_spatial import (
    ROTATED,
    TRANSFORM,
    TWICE,
    derived,
    layout,
    spatial,
)

UTM, WGS84 = "EPSG:32633", "EPSG:4326"

# rioxarray and rasterix use affine in a way that affine is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:Use `@` matmul:PendingDeprecationWarning")


@pytest.fixture(scope="module")
def rio() -> Any:
    """Import rioxarray, whatever its dependencies warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("rioxarray")


def corner(transform: Sequence[float], registration: str) -> list[float]:
    """Return the transform from the outer corner of the first cell."""
    a, b, c, d, e, f = transform
    back = 0.5 if registration == "node" else 0.0
    return [a, b, c - back * (a + b), d, e, f - back * (d + e)]


def assert_placed(data: xr.DataArray, transform: Sequence[float], code: str = UTM) -> None:
    """Assert what rioxarray finds, `transform` being that of the outer corner."""
    a, b, c, _d, e, f = transform
    assert data.rio.crs == code
    assert list(data.rio.transform())[:6] == list(transform)
    if b == 0:
        rows, columns = data.shape[-2:]
        assert data.rio.bounds() == (c, f + rows * e, c + columns * a, f)


@pytest.mark.usefixtures("rio")
@pytest.mark.parametrize("registration", ["pixel", "node"])
@pytest.mark.parametrize("place", ["fine", "fine/a"])
def test_every_node_of_a_tree(tmp_path: Path, registration: str, place: str) -> None:
    documents = {"": group(), "fine": group(), "fine/a": array((4, 6), ("y", "x"))}
    documents[place]["attributes"] = spatial(TRANSFORM, code=UTM, registration=registration)
    items = [{"asset": "full", "spatial:transform": TWICE}, derived("half", "full", [2, 2])]
    documents["pyramid"] = group(layout(*items, code=WGS84, registration=registration))
    for name, shape in (("full", (2, 2)), ("half", (1, 1))):
        documents |= {f"pyramid/{name}": group(), f"pyramid/{name}/a": array(shape, ("y", "x"))}
    documents |= {
        "turned": group(spatial(ROTATED, code=UTM, registration=registration)),
        "turned/a": array((2, 3), ("y", "x")),
    }
    tree = opened(xr.open_datatree, write(tmp_path / "store.zarr", documents))
    half = [40.0, 0.0, 500_000.0, 0.0, -40.0, 5_000_000.0]
    for path, transform, code in (
        ("fine", TRANSFORM, UTM),
        ("pyramid/full", TWICE, WGS84),
        ("pyramid/half", half, WGS84),
        ("turned", ROTATED, UTM),
    ):
        dataset = tree[path].to_dataset()
        assert dataset.rio.crs == code
        assert_placed(dataset["a"], corner(transform, registration), code)
        assert "spatial_ref" in dataset.coords
        assert dataset["a"].attrs["grid_mapping"] == "spatial_ref"


@pytest.mark.usefixtures("rio")
def test_reprojection_runs(tmp_path: Path) -> None:
    documents = {"": group(spatial(TRANSFORM, code=UTM)), "a": array((20, 30), ("y", "x"))}
    store = write(tmp_path / "store.zarr", documents, {"a": np.ones((20, 30))})
    dataset = opened(xr.open_dataset, store)
    for result in (dataset.rio.reproject(WGS84), dataset["a"].rio.reproject(WGS84)):
        assert result.rio.crs == WGS84
        left, bottom, right, top = result.rio.bounds()
        assert 14.99 < left < 15 < right < 15.01
        assert 45.1 < bottom < top < 45.2


#: What users do with a grid, and where the outer corner of its first cell is then, how long cells are.
DONE: dict[str, tuple[Callable[[xr.Dataset], xr.Dataset], tuple[float, ...]]] = {
    "isel": (lambda it: it.isel(x=slice(4, 12), y=slice(2, 9)), (500_040, 10, 4_999_980, -10)),
    "coarsen": (lambda it: it.coarsen(x=4, y=2).mean(), (500_000, 40, 5_000_000, -20)),
    "strides": (lambda it: it.isel(x=slice(None, None, 2)), (499_995, 20, 5_000_000, -10)),
    "sortby": (lambda it: it.sortby("y"), (500_000, 10, 4_999_900, 10)),
    "interp": (
        lambda it: it.interp(x=np.arange(500_010.0, 500_100.0, 5.0)),
        (500_007.5, 5, 5_000_000, -10),
    ),
    "clip": (
        lambda it: it.rio.clip_box(500_031, 4_999_931, 500_069, 4_999_969),
        (500_030, 10, 4_999_970, -10),
    ),
}


def assert_spans(data: Any, corner: Sequence[float]) -> None:
    """Assert what rioxarray says of cells, by the corner of the first one and their lengths."""
    left, width, top, height = corner
    transform = data.rio.transform()
    assert (transform.c, transform.a, transform.f, transform.e) == pytest.approx(corner)
    assert data.rio.resolution() == pytest.approx((width, height))
    right, bottom = left + data.sizes["x"] * width, top + data.sizes["y"] * height
    bounds = (left, min(top, bottom), right, max(top, bottom))
    assert data.rio.bounds() == pytest.approx(bounds)


@pytest.mark.usefixtures("rio")
@pytest.mark.parametrize("name", DONE)
def test_what_is_done_with_a_grid_leaves_no_transform_behind(tmp_path: Path, name: str) -> None:
    documents = {"": group(spatial(TRANSFORM, code=UTM)), "a": array((10, 16), ("y", "x"))}
    store = write(tmp_path / "store.zarr", documents, {"a": np.ones((10, 16))})
    change, corner = DONE[name]
    changed = change(opened(xr.open_dataset, store))
    assert_spans(changed, corner)
    assert_spans(changed["a"], corner)
    if XARRAY.release < (2025, 1):
        return  # it cannot write with this zarr
    changed.to_zarr(tmp_path / "changed.zarr", consolidated=False)
    again, _told = opened_with_warnings(xr.open_dataset, tmp_path / "changed.zarr")
    assert_spans(again, corner)
    assert_spans(again["a"], corner)


@pytest.mark.usefixtures("rio")
@pytest.mark.parametrize("place", ["", "a"])
def test_tools_that_read_kept_attributes_need_them_dropped(tmp_path: Path, place: str) -> None:
    """Those that read ``spatial:transform`` themselves take it for that of whatever was made of data."""
    documents = {"": group(), "a": array((10, 16), ("y", "x"))}
    colons = [{"uuid": UUIDS[name], "name": f"{name}:"} for name in ("spatial", "proj")]
    attributes = {**spatial(TRANSFORM, code=UTM), "zarr_conventions": colons}
    documents[place]["attributes"] = attributes
    store = write(tmp_path / "store.zarr", documents, {"a": np.ones((10, 16))})
    change, corner = DONE["strides"]
    changed = change(opened(xr.open_dataset, store, convention_attrs="drop"))
    assert_spans(changed, corner)
    assert_spans(changed["a"], corner)
    kept = change(opened(xr.open_dataset, store))
    resolution = 10 if Version(version("rioxarray")) >= Version("0.22") else 20
    assert (kept[place] if place else kept).rio.resolution() == (resolution, -10)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1)])
def test_a_single_cell_is_told_by_a_transform(tmp_path: Path, shape: tuple[int, int]) -> None:
    documents = {"": group(spatial(TRANSFORM, code=UTM)), "a": array(shape, ("y", "x"))}
    dataset = opened(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    text = "500000.0 10.0 0.0 5000000.0 0.0 -10.0"
    assert dataset["spatial_ref"].attrs["GeoTransform"] == text


def declared(**proj: Any) -> Json:
    return {**spatial(TRANSFORM), **{f"proj:{key}": value for key, value in proj.items()}}


def reference(**attributes: Any) -> Json:
    return array((), (), attributes, "int64")


ROTATED_TEXT = " ".join(str(ROTATED[place]) for place in (2, 0, 1, 5, 3, 4))


def test_existing_array_is_completed_and_not_doubled(tmp_path: Path) -> None:
    wkt = pyproj.CRS(32633).to_wkt("WKT1_GDAL")
    documents = {
        "": group(spatial(ROTATED, code=UTM)),
        "a": array((2, 3), ("y", "x")),
        "spatial_ref": reference(crs_wkt=wkt, mine=1),
    }
    dataset = opened(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    assert set(dataset.coords) == {"yc", "xc", "spatial_ref"}
    attributes = dataset["spatial_ref"].attrs
    assert (attributes["crs_wkt"], attributes["mine"]) == (wkt, 1)
    assert attributes["GeoTransform"] == ROTATED_TEXT


def test_an_existing_array_of_another_crs_stands(tmp_path: Path) -> None:
    wkt = pyproj.CRS(32632).to_wkt()
    documents = {
        "": group(declared(code=UTM)),
        "a": array((2, 3), ("y", "x")),
        "spatial_ref": reference(crs_wkt=wkt),
    }
    dataset = opened(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    assert dataset["spatial_ref"].attrs["crs_wkt"] == wkt
    assert dataset["a"].attrs["grid_mapping"] == "spatial_ref"
    assert pyproj.CRS.from_cf(dataset["spatial_ref"].attrs).to_epsg() == 32632


def test_coordinates_agree_with_the_transform_of_an_existing_grid_mapping(tmp_path: Path) -> None:
    crs = {"crs_wkt": pyproj.CRS(32633).to_wkt()}
    for written, is_used in (("5 2 0 9 0 -2", True), ("not a transform", False)):
        documents = {
            "": group(declared(code=UTM)),
            "a": array((2, 3), ("y", "x")),
            "spatial_ref": reference(**crs, GeoTransform=written),
        }
        dataset = opened(xr.open_dataset, write(tmp_path / f"{is_used}.zarr", documents))
        assert dataset["spatial_ref"].attrs["GeoTransform"] == written
        if is_used:
            assert dataset["x"].values.tolist() == [6.0, 8.0, 10.0]
            assert dataset["y"].values.tolist() == [8.0, 6.0]


def test_what_is_written_after_reprojecting_stands(tmp_path: Path) -> None:
    documents = {
        "": group(declared(code=UTM)),
        "a": array((2, 3), ("y", "x"), {"grid_mapping": "spatial_ref"}),
        "spatial_ref": reference(crs_wkt=pyproj.CRS(4326).to_wkt()),
        "y": array((2,), ("y",)),
        "x": array((3,), ("x",)),
    }
    dataset, told = opened_with_warnings(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    assert dataset["a"].rio.crs.to_epsg() == 4326
    assert dataset["x"].attrs["standard_name"] == "longitude"
    assert told == []


def test_one_real_coordinate_hands_over_no_transform(tmp_path: Path) -> None:
    documents = {
        "": group(declared(code=UTM)),
        "a": array((2, 3), ("y", "x")),
        "y": array((2,), ("y",)),
    }
    dataset, _told = opened_with_warnings(
        xr.open_dataset, write(tmp_path / "store.zarr", documents)
    )
    assert "GeoTransform" not in dataset["spatial_ref"].attrs


AXES = {
    name: {"abbreviation": name.upper(), "coordinates": [{"values": {"regular": [0, 1]}}]}
    for name in ("y", "x")
}
UTM_ID, OTHER_ID = {"proj:code": UTM}, {"proj:code": "EPSG:32632"}
UNNAMED = {"x": {"node": "lon"}, "y": {"node": "lat"}}


@pytest.mark.parametrize(
    "attributes",
    [
        {"cs": {"crs": [{"axes": AXES}], "id": UTM_ID}},
        {"cs": {"crs": [{"axes": AXES, "id": UTM_ID}]}},
        {"cs": {"crs": [{"axes": AXES, "id": OTHER_ID}], "id": UTM_ID}},
    ],
)
def test_crs_of_other_conventions(tmp_path: Path, attributes: Json) -> None:
    dataset = of_conventions(tmp_path, attributes)
    mapping = dataset["a"].attrs["grid_mapping"]
    assert pyproj.CRS.from_cf(dataset["a"].coords[mapping].attrs).to_epsg() == 32633


def of_conventions(tmp_path: Path, attributes: Json) -> xr.Dataset:
    """Return a grid with these attributes, beside longitudes and latitudes."""
    conventions = ["cs", "geolocation"] if "cs" in attributes else ["geolocation"]
    grid = ((2, 3), ("y", "x"))
    documents = {"": group(), "a": array(*grid, declaring(*conventions, **attributes))}
    documents |= {"lon": array(*grid), "lat": array(*grid)}
    dataset: xr.Dataset = opened(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    return dataset


def test_longitudes_and_latitudes_are_not_in_a_projected_crs(tmp_path: Path) -> None:
    geolocation = {"geodetic": {**UNNAMED, "crs": {"proj:code": "EPSG:4326"}}}
    system = {"axes": AXES, "id": UTM_ID, "geolocation": geolocation}
    dataset = of_conventions(tmp_path, {"cs": {"crs": [system]}})
    assert dataset["a"].rio.crs.to_epsg() == 32633
    assert dataset["lon"].attrs["grid_mapping"] == "EPSG_4326"


def extended(attributes: Json, text: str) -> dict[str, Json]:
    """Return a group whose array names its CRSs and the coordinates that these are about."""
    planar, geodetic = (pyproj.CRS(code).to_wkt() for code in (32633, 4326))
    return {
        "": group(attributes),
        "a": array((2, 3), ("y", "x"), {"grid_mapping": text}),
        "crs": reference(crs_wkt=planar),
        "other": reference(crs_wkt=geodetic),
        "y": array((2,), ("y",)),
        "x": array((3,), ("x",)),
        "lat": array((2, 3), ("y", "x")),
    }


SPATIAL_ALONE = {key: it for key, it in declared().items() if key != "spatial:transform"}
EVERY_DECLARATION = pytest.mark.parametrize(
    "attributes", [declaring("proj"), {"Conventions": "NZ-1.0 CF-1.12"}, SPATIAL_ALONE]
)


@pytest.mark.usefixtures("rio")
@EVERY_DECLARATION
@pytest.mark.parametrize("text", ["crs: x y", "crs: lat", "crs:"])
@pytest.mark.parametrize("form", [2, 3])
@pytest.mark.parametrize("decode_coords", [True, "all"])
def test_a_single_grid_mapping_is_named_alone(
    tmp_path: Path, attributes: Json, text: str, form: Any, decode_coords: Any
) -> None:
    store = write(tmp_path / "store.zarr", extended(attributes, text), form=(form, False))
    dataset, told = opened_with_warnings(xr.open_dataset, store, decode_coords=decode_coords)
    assert [it for it in told if "grid mapping" in str(it)] == []
    variable = dataset["a"]
    assert {**variable.encoding, **variable.attrs}["grid_mapping"] == "crs"
    assert dataset["a"].rio.crs.to_epsg() == 32633
    theirs = oracle(xr.open_dataset, store, decode_coords="all", consolidated=False)
    if decode_coords == "all":
        assert set(dataset.coords) >= set(theirs.coords)


@EVERY_DECLARATION
def test_two_grid_mappings_stay(tmp_path: Path, attributes: Json) -> None:
    text = "crs: x y other: lat"
    store = write(tmp_path / "store.zarr", extended(attributes, text))
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["a"].attrs["grid_mapping"] == text


def test_a_grid_mapping_stays_where_nothing_is_declared(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", extended({}, "crs: x y"))
    compare(xr.open_dataset, store)


@pytest.mark.parametrize("transform", [TRANSFORM, ROTATED])
def test_indexes_of_xproj_and_rasterix(tmp_path: Path, transform: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xproj, rasterix = pytest.importorskip("xproj"), pytest.importorskip("rasterix")
    documents = {"": group(spatial(transform, code=UTM)), "a": array((2, 3), ("y", "x"))}
    dataset = opened(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    with_crs = dataset.set_xindex("spatial_ref", xproj.CRSIndex)
    assert with_crs.xindexes["spatial_ref"].crs == pyproj.CRS(UTM)
    names = ("x", "y") if transform is TRANSFORM else ("xc", "yc")
    expected = [dataset[name].values for name in names]
    raster = rasterix.assign_index(dataset)
    for name, values in zip(names, expected, strict=True):
        np.testing.assert_array_equal(raster[name].values, values)
    if transform is TRANSFORM:
        cut = opened(xr.open_dataset, tmp_path / "store.zarr", convention_attrs="drop").isel(
            x=[1, 2]
        )
        raster = rasterix.assign_index(cut)
        np.testing.assert_array_equal(raster["x"].values, expected[0][1:])


def test_optimised_sentinel_2_product(tmp_path: Path) -> None:
    products.write("sentinel2_l1c_geozarr_v3", tmp_path / "product.zarr")
    groups, told = opened_with_warnings(xr.open_groups, tmp_path / "product.zarr")
    # zarr before 3.1 has no fixed-length strings: arrays of these are left out.
    known = (XGroupMetadataWarning,) if Version(zarr.__version__) < Version("3.1") else ()
    assert [str(warning) for warning in told if not isinstance(warning, known)] == []
    looked_at = 0
    for path, dataset in groups.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                theirs = xr.open_dataset(
                    tmp_path / "product.zarr", engine="zarr", group=path, consolidated=False
                )
            except ValueError:
                assert known, "engine zarr opens every group"
                theirs = xr.Dataset()
        assert set(theirs.variables) <= set(dataset.variables)
        assert set(theirs.coords) <= set(dataset.coords)
        assert theirs.attrs.items() <= dataset.attrs.items()
        for name, variable in theirs.variables.items():
            assert variable.attrs.items() <= dataset.variables[name].attrs.items()
        if path.count("/") == 3 and path.startswith(("/measurements/refl", "/quality/mask")):
            looked_at += 1
            assert {"x", "y", "spatial_ref"} <= set(dataset.coords)
            wkt = dataset["spatial_ref"].attrs["crs_wkt"]
            assert pyproj.CRS(wkt).to_epsg(min_confidence=25) == 32632
            assert {v.attrs["grid_mapping"] for v in dataset.data_vars.values()} == {"spatial_ref"}
    assert looked_at == 9


def test_an_array_without_a_crs_beside_one_that_has_one(tmp_path: Path) -> None:
    """xarray gives scalar coordinates to all variables, and rioxarray goes by their name."""
    documents = {
        "": group(),
        "a": array((2, 3), ("y", "x"), declared(code=UTM)),
        "b": array((2, 3), ("y", "x")),
    }
    dataset = opened(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    assert "grid_mapping" not in {**dataset["b"].attrs, **dataset["b"].encoding}
    assert dataset["b"].rio.crs == dataset["a"].rio.crs
    assert dataset["b"].drop_vars("spatial_ref").rio.crs is None
