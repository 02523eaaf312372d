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

from zarr_xgroup.tests.builders import XARRAY, opened, recording_store

REASON = "without the repository's folder scripts, or what it imports"

stores: Any = pytest.importorskip("scripts.benchmarks.stores", reason=REASON)
figures: Any = pytest.importorskip("scripts.benchmarks.figures", reason=REASON)
main: Any = pytest.importorskip("scripts.benchmarks.__main__", reason=REASON)


def group_of(kind: str) -> xr.Dataset:
    """Open the second group of two, which may warn of nothing."""
    store = stores.memory_store(stores.contents(kind, 2))
    dataset: xr.Dataset = opened(xr.open_dataset, store, group=stores.group_path(1))
    return dataset


def test_coordinates_are_the_same_wherever_they_are_kept() -> None:
    own = group_of("inline")
    with_crs = {"time", "y", "x", "longitude", "latitude", "spatial_ref"}
    assert set(own.coords) == with_crs - {"spatial_ref"}
    for kind, names in (
        ("refs", with_crs),
        ("refs+ref", with_crs),
        ("absolute", {"time", "y", "x"}),
    ):
        shared = group_of(kind)
        assert set(shared.coords) == names
        for name in names & set(own.coords):
            assert shared[name].dims == own[name].dims
            np.testing.assert_array_equal(shared[name].values, own[name].values)


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


@pytest.mark.server
@pytest.mark.skipif(Version("2024.11") > XARRAY, reason="engine zarr cannot open such trees")
@pytest.mark.usefixtures("without_old_objects")
@pytest.mark.filterwarnings("ignore")
def test_the_table_is_printed(tmp_path: Path) -> None:
    measured = {"trees": {1: 1, 2: 1}, "flat": (1, 2), "groups": (1, 2), "small": (2,), "memory": 1}
    runs = dict.fromkeys(["flat_runs", "product_runs", "runs", "imports"], 1)
    # Version 2, which engine zarr opens in all versions of zarr.
    plan = figures.Plan(**measured, **runs, products=("sentinel2_l1c_eopf_v2",))
    title, _columns, *lines = main.table(plan, tmp_path)
    assert title.endswith("garbage collector")
    missing = not stores.SHARED.is_dir()
    assert [re.split(r":| of |,  +|  +", line)[0] for line in lines] == [
        *["open_datatree"] * 6,
        "open_datatree, not consolidated",
        "open_datatree",
        "cost per group",
        "one group, consolidated",
        *["one group, not consolidated"] * 3,
        *["a group"] * 3,
        "real products" if missing else "open_datatree",
        "reading a variable whole",
        "reading a variable in slices",
        "peak",
        *["requests over HTTP for one group, beside those"] * 2,
        "import zarr_xgroup, after xarray and zarr",
    ]


@pytest.mark.server
@pytest.mark.skipif(Version("2024.11") > XARRAY, reason="engine zarr cannot open such trees")
@pytest.mark.filterwarnings("ignore")
def test_a_row_for_the_history_has_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "ratios", lambda compared, *_runs, **_how: [1.0] * len(compared))
    monkeypatch.setattr(figures, "medians", lambda calls, *_runs, **_how: dict.fromkeys(calls, 1.0))
    monkeypatch.setattr(figures, "peak", lambda *_call, **_how: 1.0)
    history = (Path(main.__file__).parent / "history.md").read_text().splitlines()
    titles, row = main.history_row(2, 1, tmp_path)
    assert titles in history
    assert row.count("|") == titles.count("|")
