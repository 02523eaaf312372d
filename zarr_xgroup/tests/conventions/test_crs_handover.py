"""A CRS that every tool sees: what rioxarray, xproj and rasterix find in what we return."""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr
from packaging.version import Version

from zarr_xgroup import XGroupMetadataWarning
from zarr_xgroup.tests.builders import Json, declaring, opened, opened_with_warnings
from zarr_xgroup.tests.documents import array, group, write
from zarr_xgroup.tests.test_backend_spatial import (
    REPOSITORY_PRODUCTS,
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
    for name, shape in (("full", (4, 6)), ("half", (1, 1))):
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


@pytest.mark.usefixtures("rio")
def test_several_grids_in_one_group(tmp_path: Path) -> None:
    documents = {
        "": group(),
        "a": array((4, 6), ("y", "x"), spatial(TRANSFORM, code=UTM)),
        "b": array((1, 2), ("y2", "x2"), spatial(TWICE, ("y2", "x2"), UTM)),
        "c": array((2, 3), ("lat", "lon"), spatial([1, 0, 12, 0, -1, 50], ("lat", "lon"), WGS84)),
    }
    dataset = opened(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    assert_placed(dataset["a"], TRANSFORM)
    assert_placed(dataset["c"], [1, 0, 12, 0, -1, 50], WGS84)
    assert dataset["b"].rio.crs == UTM
    assert list(dataset["b"].rio.transform())[:6] == TWICE
    assert dataset["c"].attrs["grid_mapping"] == "EPSG_4326"


def declared(**proj: Any) -> Json:
    return {**spatial(TRANSFORM), **{f"proj:{key}": value for key, value in proj.items()}}


@pytest.mark.parametrize(
    "proj",
    [
        {"code": UTM},
        {"epsg": 32633},
        {"code": None, "epsg": 32633},
        {"wkt2": pyproj.CRS(32633).to_wkt()},
        {"wkt2": pyproj.CRS(32633).to_wkt("WKT1_GDAL"), "epsg": 32633},
        {"projjson": pyproj.CRS(32633).to_json_dict(), "code": UTM},
    ],
)
def test_spellings_of_a_crs(tmp_path: Path, proj: Json) -> None:
    documents = {"": group(declared(**proj)), "a": array((2, 3), ("y", "x"))}
    dataset = opened(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    reference = dataset["a"].coords["spatial_ref"]
    assert reference.shape == ()
    assert pyproj.CRS.from_cf(reference.attrs).to_epsg(min_confidence=25) == 32633
    assert reference.attrs["grid_mapping_name"] == "transverse_mercator"
    assert reference.attrs["GeoTransform"] == "500000.0 10.0 0.0 5000000.0 0.0 -10.0"


def test_contradiction_is_told_once(tmp_path: Path) -> None:
    attributes = declared(code=UTM, wkt2=pyproj.CRS(32632).to_wkt())
    documents = {"": group(attributes)} | {n: array((2, 3), ("y", "x")) for n in "ab"}
    dataset, told = opened_with_warnings(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    text = "/#/attributes: proj:code is another CRS than proj:wkt2, which was used"
    assert [str(warning) for warning in told] == [f"Arrays /a, /b: {text}"]
    assert pyproj.CRS.from_cf(dataset["spatial_ref"].attrs).to_epsg() == 32632


def reference(**attributes: Any) -> Json:
    return array((), (), attributes, "int64")


def test_existing_array_is_completed_and_not_doubled(tmp_path: Path) -> None:
    wkt = pyproj.CRS(32633).to_wkt("WKT1_GDAL")
    documents = {
        "": group(declared(code=UTM)),
        "a": array((2, 3), ("y", "x")),
        "spatial_ref": reference(crs_wkt=wkt, mine=1),
    }
    dataset = opened(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    assert set(dataset.coords) == {"y", "x", "spatial_ref"}
    attributes = dataset["spatial_ref"].attrs
    assert (attributes["crs_wkt"], attributes["mine"]) == (wkt, 1)
    assert attributes["GeoTransform"] == "500000.0 10.0 0.0 5000000.0 0.0 -10.0"


def test_an_existing_array_of_another_crs_stands(tmp_path: Path) -> None:
    wkt = pyproj.CRS(32632).to_wkt()
    documents = {
        "": group(declared(code=UTM)),
        "a": array((2, 3), ("y", "x")),
        "spatial_ref": reference(crs_wkt=wkt),
    }
    dataset, told = opened_with_warnings(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    assert dataset["spatial_ref"].attrs["crs_wkt"] == wkt
    assert dataset["a"].attrs["grid_mapping"] == "spatial_ref"
    assert pyproj.CRS.from_cf(dataset["spatial_ref"].attrs).to_epsg() == 32632
    (warning,) = told
    assert str(warning) == (
        "Array /a: the CRS (proj:code) is another one than that of 'spatial_ref' (crs_wkt), which "
        "was left as it is"
    )


def test_coordinates_agree_with_the_transform_of_an_existing_grid_mapping(tmp_path: Path) -> None:
    crs = {"crs_wkt": pyproj.CRS(32633).to_wkt()}
    for written, is_told in (("5 2 0 9 0 -2", True), ("not a transform", False)):
        documents = {
            "": group(declared(code=UTM)),
            "a": array((2, 3), ("y", "x")),
            "spatial_ref": reference(**crs, GeoTransform=written),
        }
        store = write(tmp_path / f"{is_told}.zarr", documents)
        dataset, told = opened_with_warnings(xr.open_dataset, store)
        assert dataset["spatial_ref"].attrs["GeoTransform"] == written
        assert len(told) == is_told
        if is_told:
            assert dataset["x"].values.tolist() == [6.0, 8.0, 10.0]
            assert dataset["y"].values.tolist() == [8.0, 6.0]
            assert "the GeoTransform of its grid mapping variable is 5.0 2.0" in str(told[0])


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
    by_crs, by_values = map(str, told)
    assert "the CRS (proj:code) is another one than that of 'spatial_ref'" in by_crs
    assert "spatial:transform gives other coordinates than /x, /y" in by_values


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
ARRAYS = {**UNNAMED, "crs": UTM_ID}


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


@pytest.mark.parametrize(
    "attributes",
    [
        {"geolocation": {"planar": ARRAYS}},
        {"cs": {"crs": [{"axes": AXES, "geolocation": {"planar": ARRAYS}}]}},
        {"cs": {"crs": [{"axes": AXES, "id": UTM_ID, "geolocation": {"planar": UNNAMED}}]}},
    ],
)
def test_the_crs_of_a_geolocation_is_that_of_its_arrays(tmp_path: Path, attributes: Json) -> None:
    dataset = of_conventions(tmp_path, attributes)
    has_own = "id" in attributes.get("cs", {"crs": [{}]})["crs"][0]
    assert ("grid_mapping" in dataset["a"].attrs) == has_own
    mapping = dataset["lon"].attrs["grid_mapping"]
    assert dataset["lat"].attrs["grid_mapping"] == mapping
    assert (mapping == "spatial_ref") == has_own
    assert pyproj.CRS.from_cf(dataset[mapping].attrs).to_epsg() == 32633


def test_longitudes_and_latitudes_are_not_in_a_projected_crs(tmp_path: Path) -> None:
    geolocation = {"geodetic": {**UNNAMED, "crs": {"proj:code": "EPSG:4326"}}}
    system = {"axes": AXES, "id": UTM_ID, "geolocation": geolocation}
    dataset = of_conventions(tmp_path, {"cs": {"crs": [system]}})
    assert dataset["a"].rio.crs.to_epsg() == 32633
    assert dataset["lon"].attrs["grid_mapping"] == "EPSG_4326"


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


def rebuilt(node: Json, folder: Path) -> None:
    """Write the metadata of a product that is described by one document."""
    folder.mkdir()
    own = {key: value for key, value in node.items() if key != "members"}
    own.setdefault("node_type", "group" if "members" in node else "array")
    (folder / "zarr.json").write_text(json.dumps(own), encoding="utf-8")
    for name, member in node.get("members", {}).items():
        rebuilt(member, folder / name)


def test_optimised_sentinel_2_product(tmp_path: Path) -> None:
    sample = REPOSITORY_PRODUCTS / "sentinel2_l1c_geozarr_v3.json"
    if not sample.is_file():
        pytest.skip("without the samples")
    rebuilt(json.loads(sample.read_text(encoding="utf-8")), tmp_path / "product.zarr")
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
