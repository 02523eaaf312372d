"""Other tools as oracles: xgroup opens stores that they write, and they open stores of the tests.

Each test compares many values exactly, counts them, and requires that number. A tool that is not installed is skipped.
"""

import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr
from packaging.version import Version

from zarr_xgroup.tests.builders import opened, quietly
from zarr_xgroup.tutorial import sample

STORES = Path(__file__).parent / "stores"
DEMO = Path(__file__).parent.parent / "demo.zarr"

pytestmark = pytest.mark.filterwarnings("ignore")


def tool(name: str) -> Any:
    """Import a tool, or skip the test: also if a library that it needs is missing, such as udunits2."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return pytest.importorskip(name)
        except OSError as error:
            pytest.skip(f"{name} cannot be imported: {error}")


class Comparisons:
    """Compares values exactly, and counts them: each number of an array, and each single value."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, found: Any, expected: Any) -> None:
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
        self.count += np.asarray(expected).size

    def crs(self, found: Any, expected: Any) -> None:
        """Compare two CRSs."""
        assert pyproj.CRS.from_user_input(found) == pyproj.CRS.from_user_input(expected)
        self.count += 1


@pytest.fixture
def same() -> Iterator[Comparisons]:
    """A counter of comparisons, which pytest shows with ``-rP``."""
    comparisons = Comparisons()
    yield comparisons
    print(comparisons.count, "comparisons")


def image(dims: str, origin: tuple[float, float], step: tuple[float, float], crs: int) -> Any:
    """Return an image over 64 rows and 96 columns, with the CRS as rioxarray writes it."""
    tool("rioxarray")
    sizes = {"t": 2, "y": 64, "x": 96}
    values = np.arange(np.prod([sizes[dim] for dim in dims]), dtype="f4")
    axes = {
        dim: first + (np.arange(sizes[dim]) + 0.5) * length
        for dim, first, length in zip("yx", origin, step, strict=True)
    }
    shape = [sizes[dim] for dim in dims]
    dataset = xr.Dataset({"band": (list(dims), values.reshape(shape))}, axes)
    return dataset.rio.write_crs(crs)


def transform_of(dataset: Any) -> tuple[float, ...]:
    """Return the transform that rioxarray finds: a, b, c, d, e, f."""
    return tuple(dataset.rio.transform())[:6]


GRIDS = {
    "metres": ((4_200_000.0, 500_000.0), (-10.0, 10.0), 32632),
    "unequal": ((4_200_000.0, 500_000.0), (-30.0, 20.0), 32632),
    "northwards": ((0.0, 0.0), (16.0, 16.0), 3857),
    "degrees": ((50.0, 10.0), (-0.25, 0.5), 4326),
}
grids = pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)


# topozarr.


@grids
@pytest.mark.parametrize("dims", ["yx", "tyx"])
@pytest.mark.parametrize("factors", [[1, 2, 4, 8], [1, 4, 16]], ids=str)
def test_levels_of_topozarr(
    grid: Any, dims: str, factors: list[int], tmp_path: Path, same: Comparisons
) -> None:
    """The coordinates are computed from its `spatial` and `multiscales`: its own are deleted."""
    topozarr = tool("topozarr")
    tool("xproj")  # the accessor `proj`
    origin, step, code = grid
    source = image(dims, origin, step, code).drop_vars("spatial_ref")
    source = source.proj.assign_crs(spatial_ref=f"EPSG:{code}")
    pyramid = topozarr.create_pyramid(source, factors=factors, target_chunk_bytes=4096)
    pyramid.write(str(tmp_path / "own.zarr"))
    shutil.copytree(tmp_path / "own.zarr", tmp_path / "without.zarr")
    for name in "xy":
        for folder in tmp_path.glob(f"without.zarr/*/{name}"):
            shutil.rmtree(folder)
    layout = pyramid.attrs["multiscales"]["layout"]
    for (level, template), item in zip(pyramid.level_templates.items(), layout, strict=True):
        for store in ("own.zarr", "without.zarr"):
            dataset = opened(xr.open_dataset, tmp_path / store / str(level), consolidated=False)
            for name in "yx":
                same(dataset.indexes[name], template[name])
            same.crs(dataset["band"].rio.crs, code)
            same(transform_of(dataset), item["spatial:transform"])
            same(dataset["band"].shape[-2:], item["spatial:shape"])
            array: Any = zarr.open_array(tmp_path / "own.zarr" / str(level) / "band", mode="r")
            same(dataset["band"], array[...])
    for level, factor in enumerate(factors):
        size = (abs(step[0]) * factor, abs(step[1]) * factor)
        chosen = opened(
            xr.open_dataset, tmp_path / "without.zarr", resolution=size, consolidated=False
        )
        same(chosen["y"], pyramid.level_templates[level]["y"])
    assert same.count > 12_000


@grids
def test_a_group_of_topozarr_without_levels(grid: Any, tmp_path: Path, same: Comparisons) -> None:
    topozarr = tool("topozarr")
    origin, step, code = grid
    source = image("yx", origin, step, code)
    written = topozarr.attach_geozarr_metadata(source, crs=f"EPSG:{code}")
    written.drop_vars(["x", "y", "spatial_ref"]).to_zarr(tmp_path / "s.zarr", consolidated=False)
    dataset = opened(xr.open_dataset, tmp_path / "s.zarr")
    same(dataset["y"], source["y"])
    same(dataset["x"], source["x"])
    same.crs(dataset.rio.crs, code)
    same(transform_of(dataset), written.attrs["spatial:transform"])
    same(dataset.rio.bounds(), written.attrs["spatial:bbox"])
    same(dataset["band"], source["band"])
    assert same.count == 64 + 96 + 1 + 6 + 4 + 64 * 96


# eopf-geozarr.


#: It takes each image for one whose first row is the northernmost.
SOUTHWARDS = {name: grid for name, grid in GRIDS.items() if name != "northwards"}


@pytest.mark.parametrize("grid", SOUTHWARDS.values(), ids=SOUTHWARDS)
def test_overviews_of_eopf_geozarr(grid: Any, tmp_path: Path, same: Comparisons) -> None:
    """Its validator accepts the store. Its own coordinates are kept; without them, its transform gives ours.

    The two differ in the levels of lower resolution, by a part of a cell.
    """
    conversion = tool("eopf_geozarr.conversion")
    validation = tool("eopf_geozarr.data_api.geozarr.validation")
    origin, step, code = grid
    band = image("yx", origin, step, code)
    band["band"].attrs["standard_name"] = "toa_bidirectional_reflectance"
    tree = xr.DataTree.from_dict({"/measurements/r10m": band})
    path = tmp_path / "s.zarr"
    groups = ["/measurements/r10m"]
    conversion.create_geozarr_dataset(tree, groups, str(path), spatial_chunk=32, min_dimension=16)
    assert validation.validate_store(zarr.open_group(path, mode="r")).issues == []
    group: Any = zarr.open_group(path, path="measurements/r10m", mode="r", use_consolidated=False)
    for item in group.attrs["multiscales"]["layout"]:
        place = path / "measurements/r10m" / item["asset"]
        expected = quietly(xr.open_zarr, place, consolidated=False)
        for is_whole in (True, False):
            if not is_whole:
                for name in "xy":
                    shutil.rmtree(place / name)
            dataset = opened(xr.open_dataset, place, consolidated=False)
            if is_whole:
                same(dataset["y"], expected["y"])
                same(dataset["x"], expected["x"])
            else:
                width, _, west, _, height, north = item["spatial:transform"]
                same(dataset["y"], north + (np.arange(dataset.sizes["y"]) + 0.5) * height)
                same(dataset["x"], west + (np.arange(dataset.sizes["x"]) + 0.5) * width)
                same(transform_of(dataset), item["spatial:transform"])
            same.crs(dataset["band"].rio.crs, code)
            same(dataset["band"].shape, item["spatial:shape"])
            same(dataset["band"], expected["band"])
    assert same.count > 16_000


# zarr-metadata.


def documents_in(store: Path) -> Iterator[tuple[str, Any]]:
    for path in sorted(store.rglob("*")):
        if path.name in ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"):
            yield path.name, json.loads(path.read_text(encoding="utf-8"))


def test_all_documents_are_valid_for_zarr_metadata(tmp_path: Path, same: Comparisons) -> None:
    """The documents of the stores that our scripts write, and their form after the models have read them."""
    model = tool("zarr_metadata.model")
    sample(tmp_path / "product.zarr")
    for store in (*sorted(STORES.glob("*.zarr")), DEMO, tmp_path / "product.zarr"):
        for _name, document in documents_in(store):
            kinds = {"array": model.ZarrV3ArrayMetadata, "group": model.ZarrV3GroupMetadata}
            read = kinds[document["node_type"]].from_json(document)
            assert json.loads(json.dumps(read.to_json())) == document, store
            same.count += 1
    assert same.count > 100


# GDAL.

#: GDAL in a process of its own: rasterio has another one.
GDAL = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy
import pyramids
from osgeo import gdal, osr
gdal.UseExceptions()
osr.UseExceptions()

def write(path, values, transform, code, options):
    values = numpy.array(values)
    source = gdal.GetDriverByName("MEM").Create("", *values.shape[:0:-1], len(values), gdal.GDT_Float32)
    a, b, c, d, e, f = transform
    source.SetGeoTransform((c, a, b, f, d, e))
    crs = osr.SpatialReference()
    crs.ImportFromEPSG(code)
    crs.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
    source.SetSpatialRef(crs)
    for number, band in enumerate(values):
        source.GetRasterBand(number + 1).WriteArray(band)
    gdal.GetDriverByName("Zarr").CreateCopy(path, source, options=options)

def read(path):
    def found(group, place):
        for name in group.GetMDArrayNames() or []:
            if group.OpenMDArray(name).GetDimensionCount() < 2:
                continue
            array = gdal.Open(f'ZARR:"{path}":{place}/{name}')
            transform, crs = array.GetGeoTransform(can_return_null=True), array.GetSpatialRef()
            if transform and crs:
                c, a, b, f, d, e = transform
                answers[f"{place}/{name}"] = [[a, b, c, d, e, f], crs.ExportToWkt(["FORMAT=WKT2_2019"])]
        for name in group.GetGroupNames() or []:
            found(group.OpenGroup(name), f"{place}/{name}")
    answers = {}
    found(gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER).GetRootGroup(), "")
    return answers

calls = json.load(sys.stdin)
print(json.dumps([{"write": write, "read": read}[name](*arguments) for name, *arguments in calls]))
"""


def gdal(*calls: Any) -> Any:
    """Return what functions of the program `GDAL` return."""
    if find_spec("pyramids") is None or find_spec("pyramids.base") is None:
        pytest.skip("pyramids-core, which has GDAL, is not installed")
    command = [sys.executable, "-c", GDAL]
    run = subprocess.run(
        command, input=json.dumps(calls), check=False, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


ROTATED = (20.0, 5.0, 500_000.0, -6.0, -30.0, 4_200_000.0)


def test_stores_written_by_gdal(tmp_path: Path, same: Comparisons) -> None:
    """Of several bands in one array GDAL 3.13 writes no CRS."""
    values = np.arange(192.0).reshape(2, 8, 12).tolist()
    transforms = [
        ((step[1], 0.0, origin[1], 0.0, step[0], origin[0]), code)
        for origin, step, code in GRIDS.values()
    ]
    cases = [
        (transform, code, convention, form, bands)
        for (transform, code), convention, form, bands in product(
            [*transforms, (ROTATED, 32632)],
            ("GDAL", "SPATIAL_PROJ"),
            ("ZARR_V2", "ZARR_V3"),
            ("one", "one array each"),
        )
        if transform != ROTATED or convention != "GDAL"
    ]
    calls = [
        (
            *("write", str(tmp_path / f"{number}.zarr"), values[: 1 + (bands != "one")]),
            *(transform, code),
            [f"FORMAT={form}", f"GEOREFERENCING_CONVENTION={convention}", "SINGLE_ARRAY=NO"],
        )
        for number, (transform, code, convention, form, bands) in enumerate(cases)
    ]
    gdal(*calls)
    for number, (transform, code, convention, *_kind) in enumerate(cases):
        options = {} if convention == "SPATIAL_PROJ" else {"assume_conventions": "auto"}
        dataset = opened(xr.open_dataset, tmp_path / f"{number}.zarr", **options)
        a, b, c, d, e, f = transform
        row, column = np.mgrid[:8, :12] + 0.5
        x, y = a * column + b * row + c, d * column + e * row + f
        for found, array in zip(dataset.data_vars.values(), values, strict=False):
            same(transform_of(found), transform)
            same.crs(found.rio.crs, code)
            same(found, array)
            if transform == ROTATED:
                same(found["xc"], x)
                same(found["yc"], y)
            else:
                same(found["x" if "x" in found.dims else "X"], x[0])
                same(found["y" if "y" in found.dims else "Y"], y[:, 0])
    assert same.count > 5000


def test_stores_read_by_gdal(tmp_path: Path, same: Comparisons) -> None:
    """Where GDAL finds a transform and a CRS in our stores, they are those that we find."""
    stores = [STORES / "spatial_test.zarr", DEMO]
    for store, answers in zip(stores, gdal(*(("read", str(it)) for it in stores)), strict=True):
        for path, (transform, crs) in answers.items():
            group, _slash, name = path.rpartition("/")
            found = opened(xr.open_dataset, store, group=group)[name]
            same(transform_of(found), transform)
            same.crs(found.rio.crs, crs)
    assert same.count >= 35


# cfdm.

FIELDS = {
    "/images/r240m/red": {"y": "projection_y_coordinate", "x": "projection_x_coordinate"},
    "/images/r60m/red": {"y": "projection_y_coordinate", "x": "projection_x_coordinate"},
    "/weather/air_temperature": {"time": "time", "lat": "latitude", "lon": "longitude"},
    "/sea/sst": {"longitude": "longitude", "latitude": "latitude"},
}


@pytest.mark.parametrize("way", ["path", "DataTree", "json"])
def test_cfdm_reads_without_netcdf(way: str, tmp_path: Path, same: Comparisons) -> None:
    """It opens a path with this engine, or takes a tree that was opened with ``decode_cf=False``."""
    cfdm = tool("cfdm")
    path = str(tmp_path / "product.zarr")
    sample(path)
    options: Any = {"convention_attrs": "json" if way == "json" else "drop"}
    if way == "path":
        backend = {"xarray_options": {"engine": "xgroup", **options}}
        fields = cfdm.read(path, backend="xarray", backend_options=backend)
    else:
        fields = cfdm.read(opened(xr.open_datatree, path, decode_cf=False, **options))
    by_name = {field.nc_get_variable(): field for field in fields}
    tree = opened(xr.open_datatree, path, decode_cf=False)
    for name, coordinates in FIELDS.items():
        field, group = by_name[name], tree[name.rpartition("/")[0]].dataset
        variable = group[name.rpartition("/")[2]]
        same(field.get_property("units"), variable.attrs["units"])
        for short, standard_name in coordinates.items():
            construct = field.coordinate(standard_name)
            coordinate = group[short]
            same(construct.array, coordinate)
            same(construct.get_property("units"), coordinate.attrs["units"])
            if bounds := coordinate.attrs.get("bounds"):
                same(construct.bounds.array, group[bounds])
        for reference in field.coordinate_references().values():
            parameters = reference.coordinate_conversion.parameters()
            expected = group["spatial_ref"].attrs
            same(parameters["grid_mapping_name"], expected["grid_mapping_name"])
            same.crs(parameters["crs_wkt"], expected["crs_wkt"])
    assert same.count > 9000
    assert Version(cfdm.__version__) >= Version("1.13.3")
