"""A ROMS-like store: no convention declared, plain CF attributes spread over groups."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Literal

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupNoPrincipalWarning
from zarr_xgroup.tests import documents
from zarr_xgroup.tests.documents import files

COMMITTED = Path(__file__).parent / "stores" / "roms_test.zarr"
GROUPS = ["/", "/grid", "/ocean", "/time", "/ocean/diagnostics"]

ignore_no_principal = pytest.mark.filterwarnings(
    "ignore::zarr_xgroup.errors.XGroupNoPrincipalWarning"
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return documents.script("make_roms_test_store")


@pytest.fixture(scope="module")
def v2_twin(tmp_path_factory: pytest.TempPathFactory, script: ModuleType) -> Path:
    target: Path = tmp_path_factory.mktemp("roms") / "roms_v2.zarr"
    script.write(target, zarr_format=2)
    return target


@pytest.fixture(params=[2, 3])
def store(request: pytest.FixtureRequest) -> Path:
    path: Path = COMMITTED if request.param == 3 else request.getfixturevalue("v2_twin")
    return path


def with_engine_zarr(store: Path, function: str) -> xr.DataTree | dict[str, xr.Dataset]:
    """Open all groups, or skip the test if this version of engine zarr does not."""
    try:
        opened: xr.DataTree | dict[str, xr.Dataset] = getattr(xr, function)(
            store, engine="zarr", consolidated=False
        )
    except AttributeError as error:
        # xarray 2024.10 does not know the groups of zarr 3.0.
        pytest.skip(f"engine zarr does not open it: {error}")
    return opened


def assert_same_encoding(ours: xr.Dataset, theirs: xr.Dataset) -> None:
    for name in theirs.variables:
        np.testing.assert_equal(ours[name].encoding, theirs[name].encoding)


# The store itself.


def test_script_writes_the_committed_store(script: ModuleType, tmp_path: Path) -> None:
    script.write(tmp_path / "roms.zarr")
    assert files(tmp_path / "roms.zarr") == files(COMMITTED)


@pytest.mark.parametrize("before", [2, 3])
def test_script_replaces_a_store(script: ModuleType, tmp_path: Path, before: Literal[2, 3]) -> None:
    target = tmp_path / "roms.zarr"
    script.write(target, zarr_format=before)
    (target / "stale").write_bytes(b"")
    script.write(target)
    assert files(target) == files(COMMITTED)


def test_script_leaves_other_folders_alone(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not a Zarr group; it is left alone"):
        script.write(tmp_path)
    assert files(tmp_path) == {"notes.txt": b"mine"}


@ignore_no_principal
def test_values_make_sense() -> None:
    tree = xr.open_datatree(COMMITTED, engine="xgroup")
    grid, ocean = tree["grid"].to_dataset(), tree["ocean"].to_dataset()
    land = grid["mask_rho"] == 0
    assert land.sum() == 2
    assert (ocean["temp"].isnull() == land).all()
    assert (ocean["zeta"].isnull() == land).all()
    assert 5 < ocean["temp"].min() < ocean["temp"].max() < 20
    assert (ocean["temp"].diff("s_rho").isel(eta_rho=0) > 0).all(), "warmer towards the surface"
    assert (ocean["salt"].diff("s_rho").isel(eta_rho=0) < 0).all(), "fresher towards the surface"
    assert (grid["Cs_r"].diff("s_rho") > 0).all()
    assert -1 < grid["Cs_r"].min() < grid["Cs_r"].max() < 0
    np.testing.assert_array_equal(
        tree["time"]["ocean_time"],
        np.array(["2026-05-04T00", "2026-05-04T06", "2026-05-04T12"], "datetime64[ns]"),
    )


# Opened with engine xgroup.


@ignore_no_principal
@pytest.mark.parametrize("group", GROUPS)
def test_dataset_is_that_of_engine_zarr(store: Path, group: str) -> None:
    theirs = xr.open_dataset(store, engine="zarr", consolidated=False, group=group)
    ours = xr.open_dataset(store, engine="xgroup", group=group)
    assert_same_encoding(ours, theirs)
    xr.testing.assert_identical(ours.load(), theirs.load())


@ignore_no_principal
def test_groups_are_those_of_engine_zarr(store: Path) -> None:
    theirs = with_engine_zarr(store, "open_groups")
    ours = xr.open_groups(store, engine="xgroup")
    assert set(ours) == set(theirs)
    for path, dataset in ours.items():
        xr.testing.assert_identical(dataset, theirs[path])


@ignore_no_principal
def test_tree_is_that_of_engine_zarr(store: Path) -> None:
    theirs = with_engine_zarr(store, "open_datatree")
    assert isinstance(theirs, xr.DataTree)
    xr.testing.assert_identical(xr.open_datatree(store, engine="xgroup"), theirs)


@ignore_no_principal
def test_tree_has_all_groups_as_they_are(store: Path) -> None:
    tree = xr.open_datatree(store, engine="xgroup")
    assert sorted(node.path for node in tree.subtree) == sorted(GROUPS)
    for group in GROUPS:
        dataset = xr.open_dataset(store, engine="xgroup", group=group)
        node = tree[group]
        assert isinstance(node, xr.DataTree)
        xr.testing.assert_identical(node.to_dataset(inherit=False), dataset)


@ignore_no_principal
@pytest.mark.parametrize("group", ["ocean", "/ocean", "ocean/", "/ocean/", "//ocean//"])
def test_tree_is_rooted_at_the_group_however_it_is_written(store: Path, group: str) -> None:
    tree = xr.open_datatree(store, engine="xgroup", group=group)
    assert [node.path for node in tree.subtree] == ["/", "/diagnostics"]
    whole = xr.open_datatree(store, engine="xgroup")
    xr.testing.assert_identical(tree.to_dataset(), whole["ocean"].to_dataset())


@ignore_no_principal
@pytest.mark.parametrize("group", ["ocean/diagnostics", "/ocean/diagnostics/"])
def test_dataset_of_a_group_however_it_is_written(store: Path, group: str) -> None:
    dataset = xr.open_dataset(store, engine="xgroup", group=group)
    assert set(dataset.variables) == {"mld", "volume"}


@ignore_no_principal
@pytest.mark.parametrize("group", GROUPS)
def test_v2_and_v3_give_the_same(v2_twin: Path, group: str) -> None:
    v2 = xr.open_dataset(v2_twin, engine="xgroup", group=group)
    v3 = xr.open_dataset(COMMITTED, engine="xgroup", group=group)
    xr.testing.assert_identical(v2, v3)


# What is told.

OPENED = [
    # A dimension coordinate, or what another array refers to, is no matter of a convention.
    (
        "open_datatree",
        None,
        (
            "/grid/angle",
            "/grid/mask_rho",
            "/ocean/salt",
            "/ocean/temp",
            "/ocean/diagnostics/mld",
            "/ocean/diagnostics/volume",
        ),
    ),
    ("open_dataset", "/grid", ("/grid/angle", "/grid/mask_rho")),
    ("open_dataset", "/ocean", ("/ocean/salt", "/ocean/temp", "/ocean/zeta")),
    ("open_dataset", "/time", ()),
    ("open_dataset", None, ()),
]


@pytest.fixture
def caught() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


@pytest.mark.parametrize(("function", "group", "paths"), OPENED)
def test_one_warning_names_the_arrays_without_convention(
    store: Path,
    caught: list[warnings.WarningMessage],
    function: str,
    group: str | None,
    paths: tuple[str, ...],
) -> None:
    getattr(xr, function)(store, engine="xgroup", group=group)
    told = [item for item in caught if isinstance(item.message, XGroupNoPrincipalWarning)]
    assert len(told) == bool(paths)
    assert [str(item.message) for item in caught] == [str(item.message) for item in told]
    for item in told:
        assert isinstance(item.message, XGroupNoPrincipalWarning)
        assert item.message.paths == paths
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        assert f": {', '.join(paths[:3])}{more}" in str(item.message)
        assert len(str(item.message)) <= 400
        assert item.filename == __file__
