"""A store like that of ROMS: plain CF attributes across groups, of which only ``Conventions`` names CF."""

import pytest
import xarray as xr

from zarr_xgroup.tests.builders import assert_same, compare, opened, oracle
from zarr_xgroup.tests.documents import STORES
from zarr_xgroup.tests.tables import check

COMMITTED = STORES / "roms_test.zarr"


@pytest.mark.parametrize("group", ["/grid", "/time"])
def test_a_group_without_coordinates_elsewhere_opens_as_by_engine_zarr(group: str) -> None:
    compare(xr.open_dataset, COMMITTED, group=group, consolidated=False)


@pytest.mark.parametrize("group", ["/ocean", "/ocean/diagnostics"])
def test_a_group_has_more_coordinates_than_with_engine_zarr(group: str) -> None:
    found = opened(xr.open_dataset, COMMITTED, group=group)
    bare = oracle(xr.open_dataset, COMMITTED, group=group, consolidated=False)
    added = {"lat_rho", "lon_rho"} | ({"ocean_time"} if group == "/ocean" else set())
    assert set(found.coords) - set(bare.coords) == added
    assert_same(found.drop_vars(added), bare, encoding=False)


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
