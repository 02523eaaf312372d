"""The tools in docs/reference/tools.md give correct results with opened Datasets.

The tests of rioxarray, rasterix and xproj are in `conventions/test_proj.py`, xdggs in `conventions/test_dggs.py`,
assets of pystac in `test_addresses.py`; kerchunk, VirtualiZarr, icechunk and obstore run in the page on clouds.
"""

import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from zarr_xgroup.tests.builders import opened
from zarr_xgroup.tests.pages import DOCS, REPOSITORY
from zarr_xgroup.tutorial import sample

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"
)

#: The outer edges of the images: west, south, east, north, in metres of UTM zone 28 N.
CORNERS = (192_000.0, 3_168_000.0, 220_800.0, 3_204_000.0)
#: Tools that are installed by another name.
CALLED = {"iris": "scitools-iris"}


def tool(name: str) -> Any:
    """Import a tool, whatever its dependencies warn of, or skip the test."""
    with warnings.catch_warnings(action="ignore"):
        return pytest.importorskip(name)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools") / "product.zarr"
    sample(folder)
    return folder


def test_pyresample_resamples_a_swath_and_finds_the_grid_of_an_image(product: Path) -> None:
    geometry, kd_tree, cf = (
        tool(f"pyresample.{name}") for name in ("geometry", "kd_tree", "utils.cf")
    )
    sea = opened(xr.open_dataset, product / "sea")
    swath = geometry.SwathDefinition(sea["longitude"], sea["latitude"])
    grid = geometry.AreaDefinition("", "", "", "EPSG:4326", 12, 12, (-18.3, 28.5, -17.7, 29.1))
    found = kd_tree.resample_nearest(swath, sea["sst"].values, grid, 5000, fill_value=np.nan)
    longitude, latitude = grid.get_lonlats()
    distance = np.hypot(
        (sea["longitude"].values - longitude[5, 7]) * np.cos(np.deg2rad(latitude[5, 7])),
        sea["latitude"].values - latitude[5, 7],
    )
    np.testing.assert_array_equal(found[5, 7], sea["sst"].values.ravel()[distance.argmin()])

    area, _about = cf.load_cf_area(opened(xr.open_dataset, product / "images/r60m"), variable="red")
    assert area.crs == pyproj.CRS("EPSG:32628")
    assert (area.shape, area.area_extent) == ((600, 480), CORNERS)


def test_iris_loads_what_is_written(product: Path, tmp_path: Path) -> None:
    iris = tool("iris")
    weather = opened(xr.open_dataset, product / "weather", convention_attrs="drop")
    weather.to_netcdf(tmp_path / "weather.nc", engine="h5netcdf")
    with warnings.catch_warnings(
        action="ignore"
    ):  # of the global attribute `coordinates` of xarray
        (cube,) = iris.load(tmp_path / "weather.nc")
    assert cube.standard_name == "air_temperature"
    assert cube.coord_system().semi_major_axis == 6_378_137
    bounds = np.sort(cube.coord("latitude").bounds)  # iris turns those of what decreases
    np.testing.assert_array_equal(bounds, weather["lat_bounds"].values)


def test_rio_tiler_reads_a_point_and_a_tile(product: Path) -> None:
    readers = tool("rio_tiler.io.xarray")
    red = opened(xr.open_dataset, product / "images/r60m")["red"]
    x, y = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32628", always_xy=True).transform(
        -18, 28.8
    )
    with readers.XarrayReader(red) as reader:
        assert tuple(reader.bounds) == CORNERS
        (value,) = reader.point(-18, 28.8).data
        west, south, east, north = reader.get_geographic_bounds("EPSG:4326")
        tile = reader.tms.tile((west + east) / 2, (south + north) / 2, 11)
        assert np.isfinite(reader.tile(tile.x, tile.y, tile.z).data).any()
    assert value == red.sel(x=x, y=y, method="nearest").item()


def test_cubed_computes_by_plans(product: Path, tmp_path: Path) -> None:
    cubed = tool("cubed")
    tool("cubed_xarray")
    options = {"spec": cubed.Spec(work_dir=str(tmp_path), allowed_mem="200MB")}
    scene = opened(
        xr.open_dataset,
        product / "images/r240m",
        chunks={},
        chunked_array_type="cubed",
        from_array_kwargs=options,
    )
    assert isinstance(scene["red"].data, cubed.Array)
    expected = opened(xr.open_dataset, product / "images/r240m")["red"].mean().item()
    assert float(scene["red"].mean()) == pytest.approx(expected, rel=1e-12)


def test_zarrs_decodes_the_same(product: Path) -> None:
    tool("zarrs")
    expected = opened(xr.open_dataset, product / "images/r60m").load()
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        assert opened(xr.open_dataset, product / "images/r60m").load().identical(expected)


def test_tools_that_the_page_lists_as_tested_are_installed() -> None:
    page = DOCS / "reference" / "tools.md"
    if not page.is_file():
        pytest.skip("installed without the repository")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [it for names in project["optional-dependencies"].values() for it in names]
    needed = [*project["dependencies"], *extras]
    installed = {canonicalize_name(Requirement(it).name) for it in needed}
    rows = re.findall(r"^\| (.+?) \|.*● \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    tested = {canonicalize_name(CALLED.get(it, it)) for row in rows for it in row.split(", ")}
    assert len(tested) > 20
    assert tested <= installed
