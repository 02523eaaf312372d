"""Products, rebuilt from their metadata: as engine zarr opens them.

Two of them declare no convention: nothing may differ. In the third one what its conventions
say may come on top.
"""

import itertools
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import xarray as xr
import zarr
from packaging.version import Version

from zarr_xgroup.tests.addresses import KINDS, Way, icechunk, local
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    ZARR,
    Open,
    assert_equal,
    assert_same,
    consolidate,
    opened_with_warnings,
    oracle,
    quietly,
    recording_folder,
    some_pairs,
    write_local,
)
from zarr_xgroup.tests.products import PRODUCTS, group_paths
from zarr_xgroup.tests.products import write as write_product

Products: TypeAlias = dict[tuple[str, bool], Path]

each_product = pytest.mark.parametrize("product", PRODUCTS)
each_way = pytest.mark.parametrize("consolidated", [False, True], ids=["single", "consolidated"])


#: The first version of zarr that knows the strings of fixed length of one product.
KNOWS_STRINGS = Version("3.1") <= ZARR
#: The group of that product which others cannot open, and what they cannot open in it.
GROUP_OF_STRINGS = "conditions/geometry"
STRINGS = {"angle", "band"}


@pytest.fixture(scope="session")
def products(tmp_path_factory: pytest.TempPathFactory) -> Products:
    """Rebuild all products, with and without consolidated metadata."""
    folder = tmp_path_factory.mktemp("products")
    paths = {}
    for product in PRODUCTS:
        for consolidated in (False, True):
            path = folder / f"{product}_{consolidated}.zarr"
            write_product(product, path)
            if consolidated and (KNOWS_STRINGS or not declares_conventions(product)):
                quietly(zarr.consolidate_metadata, str(path))
            elif consolidated:
                keys = [key for key in path.rglob("*") if key.is_file()]
                contents = {str(key.relative_to(path)): key.read_bytes() for key in keys}
                write_local(consolidate(contents), path)
            paths[product, consolidated] = path
    return paths


def declares_conventions(product: str) -> bool:
    return product.endswith("geozarr_v3")


def is_beyond(product: str, group: str) -> bool:
    """Tell whether the installed version of zarr cannot open a group."""
    return not KNOWS_STRINGS and declares_conventions(product) and group == GROUP_OF_STRINGS


def by_engine_zarr(path: Path, group: str, **options: Any) -> xr.Dataset:
    """Open a group by engine zarr, without consolidated metadata if it cannot read that."""
    if not KNOWS_STRINGS and declares_conventions(path.name.partition("_v3")[0] + "_v3"):
        options["consolidated"] = False
    dataset: xr.Dataset = oracle(xr.open_dataset, path, group=group, **options)
    return dataset


def nodes_by_engine_zarr(
    function: Open, path: Path, product: str, **options: Any
) -> dict[str, xr.Dataset]:
    """Open all groups or the tree, group by group where zarr cannot open all of them."""
    if KNOWS_STRINGS or not declares_conventions(product):
        return nodes_of(oracle(function, path, **options))
    return {
        f"/{group}": by_engine_zarr(path, group, **options)
        for group in group_paths(product)
        if not is_beyond(product, group)
    }


def nodes_of(opened: xr.DataTree | dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    if isinstance(opened, dict):
        return opened
    return {node.path: node.to_dataset(inherit=False) for node in opened.subtree}


def check(ours: xr.Dataset, theirs: xr.Dataset, product: str) -> None:
    """Assert that ours is the same, or has more where conventions say more."""
    for dataset in (ours, theirs):
        dataset.encoding.pop("source", None)
    if not declares_conventions(product):
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


def check_warnings(told: list[Any], product: str) -> None:
    """Assert that nothing is told but what the installed version of zarr cannot open."""
    if is_beyond(product, GROUP_OF_STRINGS):
        assert [": ".join(str(item).split(": ")[:2]) for item in told] == [
            f"/{GROUP_OF_STRINGS}/{name}: left out" for name in sorted(STRINGS)
        ]
    else:
        assert told == []


WAYS: dict[str, tuple[Open, dict[str, Any]]] = {
    "groups": (xr.open_groups, {}),
    "undecoded groups": (xr.open_groups, {"decode_times": False, "mask_and_scale": False}),
    "groups of dask arrays": (xr.open_groups, {"chunks": {}, "decode_coords": "all"}),
    "tree": (xr.open_datatree, {}),
}


@pytest.mark.parametrize(
    ("rebuilt", "way"), some_pairs(itertools.product(PRODUCTS, [False, True]), WAYS, 4), ids=str
)
def test_all_groups(products: Products, rebuilt: tuple[str, bool], way: str) -> None:
    path, product, (function, options) = products[rebuilt], rebuilt[0], WAYS[way]
    result, told = opened_with_warnings(function, path, **options)
    check_warnings(told, product)
    ours = nodes_of(result)
    assert set(ours) == {f"/{group}" for group in group_paths(product)}
    theirs = nodes_by_engine_zarr(function, path, product, **options)
    assert len(theirs) == len(ours) - is_beyond(product, GROUP_OF_STRINGS)
    for group, dataset in theirs.items():
        check(ours[group], dataset, product)


@pytest.mark.parametrize(
    ("product", "consolidated"), some_pairs(PRODUCTS, [False, True], 2), ids=str
)
def test_each_group(products: Products, product: str, consolidated: bool) -> None:
    path = products[product, consolidated]
    for group in group_paths(product):
        ours, told = opened_with_warnings(xr.open_dataset, path, group=group)
        if is_beyond(product, group):
            check_warnings(told, product)
            assert not STRINGS & set(ours.variables)
            continue
        assert told == []
        theirs = by_engine_zarr(path, group)
        check(ours, theirs, product)
        for name, variable in theirs.variables.items():
            if variable.size < 10_000:
                np.testing.assert_array_equal(ours[name].values, variable.values)


@pytest.mark.parametrize(
    ("product", "way"),
    [
        pytest.param(product, *way.values, marks=way.marks)
        for product, way in some_pairs(PRODUCTS, KINDS, 2)
    ],
)
def test_the_address_of_each_group(
    products: Products, product: str, way: Way, tmp_path: Path
) -> None:
    check_addresses(products, product, way, tmp_path)


@each_product
def test_the_address_of_each_group_in_single_documents(
    products: Products, product: str, tmp_path: Path
) -> None:
    check_addresses(products, product, local, tmp_path, consolidated=False)


def check_addresses(
    products: Products, product: str, way: Way, folder: Path, *, consolidated: bool = True
) -> None:
    """Assert that from its own address a group is as from the root of its store."""
    path = products[product, consolidated]
    files = [it for it in path.rglob("*") if it.name.startswith((".z", "zarr.json"))]
    contents = {str(it.relative_to(path)): it.read_bytes() for it in files}
    if way is icechunk and "zarr.json" not in contents:
        pytest.skip("icechunk has no Zarr v2")
    if way is icechunk and not KNOWS_STRINGS:
        pytest.skip("icechunk reads what is put into it, as far as zarr knows it")
    with way(contents, folder) as named:
        for group in group_paths(product):
            ours, told = opened_with_warnings(xr.open_dataset, named(group), decode_times=False)
            whole, others = opened_with_warnings(
                xr.open_dataset, path, group=group, decode_times=False
            )
            assert list(map(str, told)) == list(map(str, others))
            assert_same(ours, whole, encoding=False, values=False)


@each_product
@each_way
def test_the_tree_below_a_group(products: Products, product: str, consolidated: bool) -> None:
    path = products[product, consolidated]
    parents = sorted({each.partition("/")[0] for each in group_paths(product)} - {""})
    tree, told = opened_with_warnings(xr.open_datatree, path, group=parents[-1])
    assert told == []
    theirs = nodes_of(oracle(xr.open_datatree, path, group=parents[-1], consolidated=False))
    assert set(nodes_of(tree)) == set(theirs)
    for group, dataset in theirs.items():
        check(nodes_of(tree)[group], dataset, product)


#: How attributes are written, and by which engine.
WRITING = [
    *(("drop", "h5netcdf"), ("drop", "netcdf4")),
    *(("json", "netcdf4"), ("json", "h5netcdf")),
]


@pytest.mark.parametrize(("product", "writing"), some_pairs(PRODUCTS, WRITING, 2), ids=str)
def test_to_netcdf(
    products: Products, product: str, writing: tuple[str, Any], tmp_path: Path
) -> None:
    how, engine = writing
    pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)
    path = products[product, False]
    tree = quietly(xr.open_datatree, path, engine="xgroup", convention_attrs=how)
    for node in tree.subtree:  # few cells: attributes are what counts
        node.dataset = node.to_dataset(inherit=False).isel({dim: slice(2) for dim in node.sizes})
    quietly(tree.to_netcdf, tmp_path / "tree.nc", engine=engine)
    for node in tree.subtree:
        quietly(node.to_dataset().to_netcdf, tmp_path / "group.nc", engine=engine)


@each_way
def test_measurements_of_sentinel_1_have_latitudes_and_longitudes(
    products: Products, consolidated: bool
) -> None:
    path = products["sentinel1_grd_eopf_v2", consolidated]
    (group,) = (it for it in group_paths("sentinel1_grd_eopf_v2") if it.endswith("VH/measurements"))
    options: Any = {"engine": "xgroup", "group": group, "chunks": {}}
    found = quietly(xr.open_dataset, path, assume_conventions="gcp", **options)
    for name in ("latitude", "longitude"):
        assert found["grd"].coords[name].dims == ("azimuth_time", "ground_range")
        assert found[name].chunks == found["grd"].chunks
    without = quietly(xr.open_dataset, path, **options)
    assert "latitude" not in without.coords


def test_a_window_of_sentinel_1_reads_its_control_points_and_no_others(tmp_path: Path) -> None:
    path = write_product("sentinel1_grd_eopf_v2", tmp_path / "product.zarr")
    (group,) = (it for it in group_paths("sentinel1_grd_eopf_v2") if it.endswith("VV/measurements"))
    store: Any = recording_folder(path)
    indexes: Any = {"create_default_indexes": False} if HAS_INDEX_OPTION else {}
    found = quietly(
        xr.open_dataset, store, engine="xgroup", group=group, assume_conventions="gcp", **indexes
    )
    assert not (HAS_INDEX_OPTION and store.chunk_gets)
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
