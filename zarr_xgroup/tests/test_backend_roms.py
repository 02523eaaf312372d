"""A store like that of ROMS: no convention declared, plain CF attributes across groups."""

import pytest
import xarray as xr

from zarr_xgroup.tests.builders import compare, opened
from zarr_xgroup.tests.documents import STORES
from zarr_xgroup.tests.tables import check

COMMITTED = STORES / "roms_test.zarr"


@pytest.mark.parametrize("group", ["/grid", "/ocean", "/time", "/ocean/diagnostics"])
def test_a_group_opens_as_by_engine_zarr(group: str) -> None:
    compare(xr.open_dataset, COMMITTED, group=group, consolidated=False)


def test_with_cf_assumed_the_store_opens_as_expected() -> None:
    expected = COMMITTED.with_suffix(".txt").read_text("utf-8")
    check(COMMITTED, expected, function=xr.open_groups, assume_conventions="cf")


def test_cf_xarray_finds_longitudes_and_the_terms_of_the_vertical_coordinate() -> None:
    pytest.importorskip("cf_xarray")
    tree = opened(xr.open_datatree, COMMITTED, assume_conventions="cf")
    ocean = tree["ocean"].to_dataset()
    assert ocean.cf.coordinates["longitude"] == ["lon_rho"]
    assert set(ocean.cf.formula_terms["s_rho"].values()) <= set(ocean.variables)
    assert tree["ocean/diagnostics/mld"].sel(ocean_time="2026-05-04T06:00").dims[:1] == ("eta_rho",)
