"""Law 1, tested with xarray's own tests of engine zarr.

The tests of the installed xarray run with engine xgroup. Tests that do not open a store are omitted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import xarray as xr
from packaging.version import Version

from zarr_xgroup.tests.builders import XARRAY

if Version("2025.1") > XARRAY:
    pytest.skip("xarray before 2025.1 cannot write with zarr 3", allow_module_level=True)

fixtures = pytest.importorskip("xarray.tests.conftest")
test_backends = pytest.importorskip("xarray.tests.test_backends")
test_backends_datatree = pytest.importorskip("xarray.tests.test_backends_datatree")

pytestmark = [
    # What these tests are warned of by xarray and zarr is not ours; what we warn of is an error.
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification"),
    pytest.mark.filterwarnings("error::zarr_xgroup.XGroupWarning"),
    pytest.mark.filterwarnings("ignore::zarr_xgroup.XGroupNoPrincipalWarning"),
]

#: Tests that open nothing by an engine, by the start of their names: they are about writing.
ONLY_WRITING = (
    "test_append_",
    "test_attributes",
    "test_cache_members",
    "test_check_encoding_is_consistent_after_append",
    "test_chunk_auto_with_small_dask_chunks",
    "test_dimension_names",
    "test_encoding_kwarg_fixed_width_string",
    "test_hidden_zarr_keys",
    "test_invalid_dataarray_names_raise",
    "test_non_existent_store",
    "test_open_zarr_use_cftime",
    "test_read_non_consolidated_warning",
    "test_region_scalar",
    "test_roundtrip_bytes_with_fill_value",
    "test_roundtrip_mask_and_scale",
    "test_roundtrip_string_with_fill_value_nchar",
    "test_shard_encoding",
    "test_to_zarr_compute_false",
    "test_to_zarr_default_write_mode",
    "test_to_zarr_no_redundant_computation",
    "test_to_zarr_zip_store",
    "test_write_",
    "test_zarr_mode_w_overwrites_encoding",
)

#: Tests that cannot be met, by the start of their names, and why.
NOT_MET: Mapping[str, str] = {
    "test_zarr_fill_value_setting[2": (
        "engine zarr does not pass on use_zarr_fill_value_as_mask=False, engine xgroup does"
    ),
    "test_to_zarr_not_consolidated": "engine zarr warns where nothing is consolidated",
    "test_open_datatree_unaligned_hierarchy": (
        "a group that does not align with its parents is opened, with other dimension names"
    ),
}

# Fixtures of xarray's own tests.
default_zarr_format = test_backends.default_zarr_format
for _name in ("create_test_datatree", "simple_datatree", "time_unit", "use_dask"):
    globals()[_name] = getattr(fixtures, _name, None)
for _name in ("unaligned_datatree_zarr_factory",):
    globals()[_name] = getattr(test_backends_datatree, _name, None)


@pytest.fixture(autouse=True)
def skipped_as_xarray_does(request: pytest.FixtureRequest) -> None:
    """Skip a test where xarray's own configuration of pytest does, and what cannot be met."""
    name = request.node.name
    for start, reason in NOT_MET.items():
        if name.startswith(start):
            pytest.skip(reason)
    for mark in request.node.iter_markers("skip_if_param"):
        values = {key: it for key, it in mark.kwargs.items() if key not in ("reason", "condition")}
        if (
            mark.kwargs.get("condition", True)
            and values.items() <= request.node.callspec.params.items()
        ):
            pytest.skip(mark.kwargs["reason"])


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    """Return what the test has opened; at its end that must not be nothing."""
    found: list[Any] = []
    yield found
    assert found


def reading(suite: type) -> type:
    """Return a class of tests without those that open nothing."""
    names = (name for name in dir(suite) if name.startswith(ONLY_WRITING))
    return type(suite.__name__, (suite,), dict.fromkeys(names))


class TestDataset(reading(test_backends.TestZarrDirectoryStore)):  # type: ignore[misc]
    """Datasets in a folder, of both formats."""

    @pytest.fixture(autouse=True)
    def _opened(self, opened: list[Any]) -> None:
        self.opened = opened

    @contextlib.contextmanager
    def open(self, path: Any, **options: Any) -> Iterator[xr.Dataset]:
        self.opened.append(path)
        with xr.open_dataset(path, engine="xgroup", **options, **self.version_kwargs) as dataset:
            yield dataset


class TestTree(reading(test_backends_datatree.TestZarrDatatreeIO)):  # type: ignore[misc]
    """Trees in a folder, of both formats."""

    engine = "xgroup"

    @pytest.fixture(autouse=True)
    def _by_xgroup(self, monkeypatch: pytest.MonkeyPatch, opened: list[Any]) -> None:
        """Have the functions that xarray's tests call open by engine xgroup."""
        for name in ("open_datatree", "open_groups", "load_datatree"):
            if hasattr(test_backends_datatree, name):
                function = _by_xgroup(getattr(xr, name), opened)
                monkeypatch.setattr(test_backends_datatree, name, function)


def _by_xgroup(function: Callable[..., Any], opened: list[Any]) -> Callable[..., Any]:
    def by_xgroup(store: Any, **options: Any) -> Any:
        opened.append(store)
        return function(store, **{**options, "engine": "xgroup"})

    return by_xgroup
