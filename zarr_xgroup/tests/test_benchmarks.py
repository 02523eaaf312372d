"""The benchmarks measure what they say: their stores are right, and the table gets printed."""

import gc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version

from zarr_xgroup.tests.builders import XARRAY, compare, opened, recording_store

REASON = "without the repository's folder scripts, or what it imports"

stores: Any = pytest.importorskip("scripts.benchmarks.stores", reason=REASON)
figures: Any = pytest.importorskip("scripts.benchmarks.figures", reason=REASON)
main: Any = pytest.importorskip("scripts.benchmarks.__main__", reason=REASON)

#: Version 2, which engine zarr opens in all versions of zarr.
PRODUCT = "sentinel2_l1c_eopf_v2"

each_kind = pytest.mark.parametrize("kind", ["refs", "refs+ref", "inline", "worst", "plain"])


def group_of(kind: str, **options: Any) -> xr.Dataset:
    """Open the second group of two, which may warn of nothing."""
    store = stores.memory_store(stores.contents(kind, 2, **options))
    dataset: xr.Dataset = opened(xr.open_dataset, store, group=stores.group_path(1))
    return dataset


@each_kind
@pytest.mark.parametrize("consolidated", [True, False])
def test_fields_have_their_values(kind: str, consolidated: bool) -> None:
    dataset = group_of(kind, consolidated=consolidated)
    shape = tuple(stores.SIZES.values())
    for name in stores.FIELDS:
        expected = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        np.testing.assert_array_equal(dataset[name].values, expected)


@pytest.mark.parametrize("kind", ["refs", "refs+ref"])
def test_coordinates_are_the_same_wherever_they_are_kept(kind: str) -> None:
    shared, own = group_of(kind), group_of("inline")
    assert set(shared.coords) == {"time", "y", "x", "longitude", "latitude", "spatial_ref"}
    assert set(own.coords) == set(shared.coords) - {"spatial_ref"}
    for name, coordinate in own.coords.items():
        assert shared[name].dims == coordinate.dims
        np.testing.assert_array_equal(shared[name].values, coordinate.values)


def test_every_field_declares_cs_and_ref() -> None:
    nodes = dict(stores.nodes("refs+ref", 2))
    for field in stores.FIELDS:
        attributes = nodes[f"{stores.group_path(1)}/{field}"].attrs
        assert [item["name"] for item in attributes["zarr_conventions"]] == ["cs", "ref"]
        assert attributes["auxiliary"] == {"node": "/shared/longitude"}


def test_all_fields_of_the_worst_case_have_coordinates_of_their_own() -> None:
    dataset = group_of("worst")
    starts = {float(dataset[name][f"y{number}"][0]) for number, name in enumerate(stores.FIELDS)}
    assert len(starts) == len(stores.FIELDS)
    assert set(dataset.dims) <= set(dataset.xindexes)


def test_the_plain_fields_are_as_engine_zarr_opens_them() -> None:
    store = stores.memory_store(stores.contents("plain", 2))
    assert not compare(xr.open_dataset, store, group=stores.group_path(1)).coords


@pytest.mark.filterwarnings("ignore")
def test_the_large_variable_is_the_same_by_both_engines() -> None:
    ours, theirs = (figures.large_variable(engine).values for engine in figures.ENGINES)
    np.testing.assert_array_equal(ours, theirs)
    assert len(np.unique(ours[:, 0, 0])) == len(ours)  # its chunks are where they belong


def test_one_group_costs_no_documents_of_arrays_and_one_chunk() -> None:
    store = recording_store(stores.contents("refs", 9))
    opened(xr.open_dataset, store, group=stores.group_path(4))
    asked = {key.rpartition("/")[0] for key in store.metadata_gets}
    assert asked == {"", stores.group_path(4)}  # of no array, be it of the group or shared
    assert set(store.metadata_gets.values()) == {1}
    assert store.chunk_gets == {"shared/time/c/0": 1}


@pytest.fixture
def without_old_objects() -> Iterator[None]:
    """Let the garbage collector, which is called for each figure, leave out what is there."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.skipif(Version("2024.11") > XARRAY, reason="engine zarr cannot open such trees")
@pytest.mark.usefixtures("without_old_objects")
@pytest.mark.filterwarnings("ignore")
def test_the_table_is_printed(tmp_path: Path) -> None:
    plan = figures.Plan(
        trees={1: 1, 2: 1},
        flat=(1, 2),
        flat_runs=1,
        groups=(1, 2),
        memory=1,
        products=(PRODUCT,),
        product_runs=1,
        runs=1,
        imports=1,
    )
    title, _columns, *lines = main.table(plan, tmp_path)
    assert title.endswith("garbage collector")
    begins = [re.split(":| of |,  +|  +", line)[0] for line in lines]
    missing = not stores.SHARED.is_dir()
    assert begins == [
        *["open_datatree"] * 5,
        "open_datatree, not consolidated",
        "open_datatree",
        "cost per group",
        "one group, consolidated",
        *["one group, not consolidated"] * 3,
        "real products" if missing else "open_datatree",
        "reading a variable whole",
        "reading a variable in slices",
        "peak",
        "import zarr_xgroup, after xarray and zarr",
    ]
