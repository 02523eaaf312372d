"""What was opened, changed and written is what is read again: by engine zarr and by xgroup."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version

from zarr_xgroup import XGroupNameWarning, XGroupResolutionWarning
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    memory_store,
    opened_with_warnings,
    quietly,
    write_local,
)
from zarr_xgroup.tests.documents import committed, declaring

pytestmark = pytest.mark.skipif(
    Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr"
)

FORMATS: tuple[ZarrFormat, ...] = (2, 3)
each_format = pytest.mark.parametrize("zarr_format", FORMATS, ids=["v2", "v3"])

#: A group for each kind of coordinate; what is assumed of the store.
OPENED: dict[str, tuple[str, str, str | None]] = {
    "cs: numbers in metadata": ("cs_test", "values", None),
    "cs: several CRSs": ("cs_test", "identified", None),
    "cs: boundaries": ("cs_test", "bounds", None),
    "cs: references": ("cs_test", "sharing/first", None),
    "cs: parametric vertical": ("cs_test", "parametric/ocean", None),
    "ref, uom, proj": ("cs_test", "services", None),
    "geolocation in cs": ("geolocation_test", "in_crs", None),
    "geolocation of arrays": ("geolocation_test", "on_array/data", None),
    "spatial: transforms": ("spatial_test", "several_crs", None),
    "spatial: rotated": ("spatial_test", "rotated", None),
    "spatial: level of a pyramid": ("spatial_test", "pyramid/r20m", None),
    "cf, across groups": ("roms_test", "ocean", "cf"),
}

Change = Callable[[xr.Dataset], xr.Dataset]


def longer(dataset: xr.Dataset) -> list[Any]:
    """Return the dimensions along which something can be left out."""
    return [dim for dim, size in dataset.sizes.items() if size > 1]


def averaged(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.mean(longer(dataset)[0], keep_attrs=True)


def renamed(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.rename({dim: f"{dim}_here" for dim in dataset.dims})


def computed(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.map(lambda array: array * 2 if array.dtype.kind in "iuf" else array)


CHANGES: dict[str, Change] = {
    "unchanged": lambda it: it,
    "slices": lambda it: it.isel({dim: slice(1, None) for dim in longer(it)}),
    "one position": lambda it: it.isel({longer(it)[0]: 1}),
    "one position, dropped": lambda it: it.isel({longer(it)[0]: 1}, drop=True),
    "strides": lambda it: it.isel({dim: slice(None, None, 2) for dim in longer(it)}),
    "reversed": lambda it: it.isel({dim: slice(None, None, -1) for dim in longer(it)}),
    "transposed": lambda it: it.transpose(*reversed(list(it.dims))),
    "averaged": averaged,
    "averaged over all": lambda it: it.mean(keep_attrs=True),
    "coarsened": lambda it: (
        it.drop_encoding().coarsen({longer(it)[0]: 2}, boundary="trim").mean(keep_attrs=True)
    ),
    "renamed": renamed,
    "computed": computed,
    "merged": lambda it: xr.merge([it, xr.Dataset({"other": ("elsewhere", [1.0, 2.0])})]),
    "chunked": lambda it: it.chunk(dict.fromkeys(it.dims, 1)).drop_encoding(),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, ZarrFormat], Path]:
    """Give the committed stores, in either format; a twin in v2 is written once."""
    folder = tmp_path_factory.mktemp("twins")

    def store(name: str, zarr_format: ZarrFormat) -> Path:
        twin = folder / name
        if zarr_format == 2 and twin.exists():
            return twin
        return committed(name, twin, (zarr_format, False))

    return store


def whole(kind: str, stores: Callable[[str, ZarrFormat], Path], zarr_format: int) -> xr.Dataset:
    name, group, assumed = OPENED[kind]
    store = stores(name, 2 if zarr_format == 2 else 3)
    dataset: xr.Dataset = quietly(
        xr.open_dataset, store, engine="xgroup", group=group, assume_conventions=assumed
    )
    return dataset


def written(dataset: xr.Dataset, path: Path, zarr_format: int) -> Path:
    quietly(dataset.to_zarr, path, zarr_format=zarr_format, consolidated=False)
    return path


def check_again(before: xr.Dataset, path: Path, **options: Any) -> None:
    """Assert that a Dataset is what was written, by both engines, and what is told of it."""
    theirs = xr.open_dataset(path, engine="zarr", consolidated=False)
    ours, told = opened_with_warnings(xr.open_dataset, path, **options)
    for again in (theirs, ours):
        assert set(again.coords) == set(before.coords)
        assert set(again.data_vars) == set(before.data_vars)
        for name, variable in before.variables.items():
            xr.testing.assert_equal(again.variables[name], variable)
    # Attributes too, but for what engine zarr lacks: it decodes fewer that name variables.
    assert {name: it.attrs for name, it in ours.variables.items()} == {
        name: it.attrs for name, it in theirs.variables.items()
    }
    # Of declared coordinates that are others now it can only be told; names and dimensions are
    # those that were written.
    assert {type(warning) for warning in told} <= {XGroupResolutionWarning}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", OPENED)
def test_what_was_written_is_read_again(
    kind: str, change: str, stores: Callable[[str, ZarrFormat], Path], tmp_path: Path
) -> None:
    before = quietly(CHANGES[change], whole(kind, stores, 3))
    path = written(before, tmp_path / "s.zarr", 3)
    check_again(before, path, assume_conventions=OPENED[kind][2])


@pytest.mark.parametrize("kind", OPENED)
def test_of_format_2_as_well(
    kind: str, stores: Callable[[str, ZarrFormat], Path], tmp_path: Path
) -> None:
    before = quietly(CHANGES["slices"], whole(kind, stores, 2))
    path = written(before, tmp_path / "s.zarr", 2)
    check_again(before, path, assume_conventions=OPENED[kind][2])
