"""Metadata of ESA products: compared with engine zarr, from every address, and written as netCDF.

Two products declare no convention, so nothing may differ. For the third, engine xgroup may add coordinates.
"""

import re
import warnings
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from packaging.version import Version

from zarr_xgroup.tests.addresses import KINDS, Way, icechunk
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    ZARR,
    Open,
    assert_equal,
    assert_same,
    consolidate,
    needs_writing,
    opened_without_chunks,
    oracle,
    quietly,
    recording_folder,
    some_pairs,
    write_local,
)
from zarr_xgroup.tests.pages import DOCS
from zarr_xgroup.tests.products import PRODUCTS, group_paths, write

WITH_CONVENTIONS = "sentinel2_l1c_geozarr_v3"
#: Older versions of zarr do not know its strings of fixed length.
KNOWN = [it for it in PRODUCTS if it != WITH_CONVENTIONS or Version("3.1") <= ZARR]
each_product = pytest.mark.parametrize("product", KNOWN)

Products = dict[tuple[str, bool], Path]


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> Products:
    """Rebuild all products, with and without consolidated metadata."""
    paths = {}
    for product in KNOWN:
        single = write(product, tmp_path_factory.mktemp("products") / "p.zarr")
        contents = documents(single)
        zarr_format: Any = int(product[-1])
        whole = consolidate(contents, zarr_format=zarr_format)
        paths[product, False] = single
        paths[product, True] = write_local(whole, tmp_path_factory.mktemp("whole") / "p.zarr")
    return paths


def documents(folder: Path) -> dict[str, bytes]:
    files = (it for it in folder.rglob("*") if it.is_file())
    return {it.relative_to(folder).as_posix(): it.read_bytes() for it in files}


def nodes_of(result: xr.DataTree | dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    if isinstance(result, dict):
        return result
    return {node.path: node.to_dataset(inherit=False) for node in result.subtree}


def check(ours: xr.Dataset, theirs: xr.Dataset, product: str) -> None:
    """Assert that ours is the same, or has more where conventions say more."""
    for dataset in (ours, theirs):
        dataset.encoding.pop("source", None)
    if product != WITH_CONVENTIONS:
        assert_same(ours, theirs, values=False)
        return
    assert_equal(ours.attrs, theirs.attrs, "attrs")
    assert set(ours.data_vars) <= set(theirs.data_vars)
    assert set(ours.variables) >= set(theirs.variables)
    assert set(ours.coords) >= set(theirs.coords)
    assert set(ours.xindexes) >= set(theirs.xindexes)
    for name, variable in theirs.variables.items():
        own = ours.variables[name]
        assert (own.dims, own.shape, own.dtype) == (variable.dims, variable.shape, variable.dtype)
        assert own.chunks == variable.chunks
        for mine, others in ((own.attrs, variable.attrs), (own.encoding, variable.encoding)):
            assert_equal({key: mine[key] for key in others}, dict(others), str(name))


WAYS: dict[str, tuple[Open, dict[str, Any]]] = {
    "groups": (xr.open_groups, {}),
    "undecoded groups": (xr.open_groups, {"decode_times": False, "mask_and_scale": False}),
    "groups of dask arrays": (xr.open_groups, {"chunks": {}, "decode_coords": "all"}),
    "tree": (xr.open_datatree, {}),
    "tree below a group": (xr.open_datatree, {"group": "below"}),
}


@each_product
@pytest.mark.parametrize("way", WAYS)
def test_all_groups_are_as_in_engine_zarr(products: Products, product: str, way: str) -> None:
    function, options = WAYS[way]
    if "group" in options:
        options = {"group": group_paths(product)[-1].partition("/")[0]}
    path = products[product, list(WAYS).index(way) % 2 == 1]
    ours = nodes_of(opened_without_chunks(function, path, **options))
    theirs = nodes_of(oracle(function, path, **options))
    assert set(ours) == set(theirs)
    assert len(ours) == len(group_paths(product)) or options.get("group")
    for group, dataset in theirs.items():
        check(ours[group], dataset, product)
        for name, variable in dataset.variables.items():
            if variable.size < 10_000:
                np.testing.assert_array_equal(ours[group][name].values, variable.values)


@pytest.mark.parametrize(
    ("product", "way"),
    [
        pytest.param(product, *way.values, marks=way.marks)
        for product, way in some_pairs(KNOWN, KINDS, 2)
    ],
)
def test_each_group_is_the_same_from_its_own_address(
    products: Products, product: str, way: Way, tmp_path: Path
) -> None:
    path = products[product, True]
    contents = documents(path)
    if way is icechunk and "zarr.json" not in contents:
        pytest.skip("icechunk has no Zarr v2")
    with way(contents, tmp_path) as named:
        for group in group_paths(product):
            ours = opened_without_chunks(xr.open_dataset, named(group), decode_times=False)
            whole = opened_without_chunks(xr.open_dataset, path, group=group, decode_times=False)
            assert_same(ours, whole, encoding=False, values=False)


#: How attributes are written, and by which engine.
WRITING: list[tuple[str, Any]] = [
    *(("drop", "h5netcdf"), ("drop", "netcdf4")),
    *(("json", "netcdf4"), ("json", "h5netcdf")),
]


@pytest.mark.parametrize(("product", "writing"), some_pairs(KNOWN, WRITING, 2), ids=str)
def test_to_netcdf(
    products: Products, product: str, writing: tuple[str, Any], tmp_path: Path
) -> None:
    how, engine = writing
    pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)
    tree = opened_without_chunks(xr.open_datatree, products[product, False], convention_attrs=how)
    for node in tree.subtree:  # few cells: attributes are what counts
        node.dataset = node.to_dataset(inherit=False).isel({dim: slice(2) for dim in node.sizes})
    quietly(tree.to_netcdf, tmp_path / "tree.nc", engine=engine)


def test_a_window_of_sentinel_1_reads_its_control_points_and_no_others(tmp_path: Path) -> None:
    path = write("sentinel1_grd_eopf_v2", tmp_path / "product.zarr")
    (group,) = (it for it in group_paths("sentinel1_grd_eopf_v2") if it.endswith("VV/measurements"))
    store: Any = recording_folder(path)
    options: Any = {"create_default_indexes": False} if HAS_INDEX_OPTION else {}
    options |= {"engine": "xgroup", "group": group}
    assert "latitude" not in quietly(xr.open_dataset, path, **options).coords
    found = quietly(xr.open_dataset, store, assume_conventions="gcp", **options)
    assert not (HAS_INDEX_OPTION and store.chunk_gets)
    assert found["latitude"].dims == ("azimuth_time", "ground_range")
    lines, pixels = (
        np.linspace(0, size - 1, n).astype("u4")
        for size, n in zip(found["grd"].shape, (10, 21), strict=True)
    )
    line, pixel = (it.ravel() for it in np.meshgrid(lines, pixels, indexing="ij"))
    places = {
        "latitude": 50 - 1e-4 * line + 1e-5 * pixel,
        "longitude": (359 + 1e-4 * pixel) % 360 - 180,
    }
    gcp = group.replace("measurements", "conditions/gcp")
    points = zarr.open_group(path, path=gcp, mode="r+", zarr_format=2)
    for name, values in {"line": line, "pixel": pixel, **places}.items():
        array: Any = points[name]
        array[...] = values
    store.gets.clear()
    window = found["grd"][5000:5003, 20000:20002]
    np.testing.assert_allclose(window["longitude"].values[0], [-179, -178.9999], rtol=1e-12)
    expected = 50 - 1e-4 * np.arange(5000, 5003)[:, None] + 1e-5 * np.arange(20000, 20002)
    np.testing.assert_allclose(window["latitude"].values, expected, rtol=1e-12)
    assert {*store.chunk_gets} == {f"{gcp}/{name}/0" for name in ("line", "pixel", *places)}
    chunked = quietly(xr.open_dataset, path, assume_conventions="gcp", chunks={}, **options)
    assert chunked["latitude"].chunks == chunked["grd"].chunks


@needs_writing
@pytest.mark.skipif(not (DOCS / "tasks" / "eopf.md").is_file(), reason="no documentation")
def test_the_page_about_eopf_writes_a_part_of_a_product(products: Products, tmp_path: Path) -> None:
    """A part that begins within a chunk, and has several."""
    pytest.importorskip("dask")
    pytest.importorskip("h5netcdf")
    page = (DOCS / "tasks" / "eopf.md").read_text(encoding="utf-8")
    section = page.partition("## Write Zarr\n")[2].partition("## Open the written file")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    scene = quietly(
        xr.open_dataset,
        products["sentinel2_l1c_eopf_v2", False],
        engine="xgroup",
        group="measurements/reflectance/r10m",
        assume_conventions="proj",
        chunks={},
    )
    part = scene[["b04"]].isel(y=slice(1800, 3700), x=slice(1800, 3700))
    names = {"part": part}
    with chdir(tmp_path), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks:
            exec(block, names)  # noqa: S102
        for written in ("part.zarr", "part_v3.zarr"):
            again = quietly(xr.open_dataset, written, engine="xgroup")
            assert again.sizes == part.sizes
            assert "spatial_ref" in again.coords
