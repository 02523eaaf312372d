"""A ROMS-like store: no convention declared, plain CF attributes spread over groups."""

from pathlib import Path

import pytest
import xarray as xr

from zarr_xgroup.tests.builders import ZarrFormat, compare
from zarr_xgroup.tests.documents import STORES, committed

COMMITTED = STORES / "roms_test.zarr"
GROUPS = ["/grid", "/ocean", "/time", "/ocean/diagnostics"]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("group", GROUPS)
def test_dataset_is_that_of_engine_zarr(
    tmp_path: Path, group: str, zarr_format: ZarrFormat
) -> None:
    store = committed("roms_test", tmp_path / "roms.zarr", (zarr_format, False))
    compare(xr.open_dataset, store, group=group, consolidated=False)
