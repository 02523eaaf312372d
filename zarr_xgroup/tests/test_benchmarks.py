"""The benchmarks: their stores are correct, and the table is printed."""

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
clouds: Any = pytest.importorskip("scripts.benchmarks.clouds", reason=REASON)
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
        ("absolute", {"time", "y", "x"}),
        ("relative", {"time", "y", "x"}),
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


@pytest.mark.server
@pytest.mark.skipif(Version("2024.11") > XARRAY, reason="engine zarr cannot open such trees")
@pytest.mark.filterwarnings("ignore")
def test_table_and_row(tmp_path: Path) -> None:
    # A product of version 2, which engine zarr opens in all versions of zarr.
    product = {
        "sentinel2_l1c_eopf_v2": figures.PRODUCTS["sentinel2_l1c_eopf_v2"],
    }
    runs = dict.fromkeys(["tree_runs", "group_runs", "product_runs", "process_runs"], 1)
    measured = list(figures.rows(figures.Plan(groups=2, products=product, **runs), tmp_path))
    columns, *lines = main.table(measured)
    assert columns.split() == ["ratio", "aim", "limit"]
    assert len(lines) == len(measured) == 22 + 6 * stores.SHARED.is_dir()
    history = (Path(main.__file__).parent / "history.md").read_text().splitlines()
    titles, row = main.history_row(measured)
    if stores.SHARED.is_dir():
        assert titles in history
    assert row.count("|") == titles.count("|")


@pytest.mark.server
@pytest.mark.filterwarnings("ignore")
def test_the_table_of_clouds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clouds, "CLIENTS", ("http",))
    monkeypatch.setattr(clouds, "CASES", clouds.CASES[:3])
    _columns, *lines = clouds.table()
    assert [line.split()[-3:] for line in lines[:2]] == [["7", "/", "2"], ["6", "/", "2"]]
    assert lines[2].split()[-1] == "-"  # a web server lists nothing
