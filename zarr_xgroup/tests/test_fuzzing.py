"""Random stores break no law, nor do those that once did; and whoever breaks one is caught."""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from zarr_xgroup import XGroupStoreError
from zarr_xgroup.backend import XGroupBackendEntrypoint
from zarr_xgroup.tests.builders import OPENS_GROUPS, memory_store, oracle
from zarr_xgroup.tests.documents import array, group
from zarr_xgroup.tests.fuzzing import Examiner, attempt, differences, searched, shrunk, violations
from zarr_xgroup.tests.random_stores import ASSUMED, Documents, contents_of, random_store

#: Each store that was ever found to break a law, cut down to what it takes.
FOUND: dict[str, Documents] = json.loads(
    (Path(__file__).parent / "found_stores.json").read_text(encoding="utf-8")
)

#: Seconds that a store may take, on a machine that does much else.
LIMIT = 30


@pytest.fixture(scope="module")
def examiner() -> Iterator[Examiner]:
    with closing(Examiner(LIMIT)) as examiner:
        yield examiner


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once(examiner: Examiner, name: str) -> None:
    assert examiner.examine(FOUND[name]) == []


def test_random_stores_break_no_law() -> None:
    number, cases = searched(range(80), LIMIT)
    assert number == 80
    assert not cases, "\n".join(f"{case.seeds}: {case.violation.kind}" for case in cases)


@pytest.mark.skipif(not OPENS_GROUPS, reason="this engine zarr opens one group at a time")
def test_engine_zarr_makes_the_same_of_a_group_alone() -> None:
    count = 0
    for seed in range(40):
        store = {key: it for key, it in random_store(seed).items() if key != ASSUMED}
        memory = memory_store(contents_of(store))
        groups = attempt(oracle, xr.open_groups, memory).value or {}
        for path, dataset in groups.items():
            assert not list(differences(dataset, oracle(xr.open_dataset, memory, group=path)))
            count += 1
        tree = attempt(xr.DataTree.from_dict, groups).value
        if groups and tree is not None:
            assert not list(differences(tree, oracle(xr.open_datatree, memory)))
    assert count > 20


def test_a_seed_stands_for_one_store() -> None:
    assert [contents_of(random_store(seed)) for seed in range(20)] == [
        contents_of(random_store(seed)) for seed in range(20)
    ]


# The laws, each broken.

STORE: Documents = {
    "zarr.json": group({"title": "a"}),
    "a/zarr.json": array([2], ["x"]),
    "g/zarr.json": group(),
    "g/b/zarr.json": array([3], ["y"]),
}


def test_a_store_that_breaks_no_law() -> None:
    assert violations(STORE) == []


def without_arrays(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.drop_vars(list(dataset.variables))


def with_another_title(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign_attrs(title="b")


def first_only(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.isel(dict.fromkeys(dataset.dims, slice(1)))


def raising(_dataset: xr.Dataset) -> xr.Dataset:
    message = "broken"
    raise ValueError(message)


def warning(dataset: xr.Dataset) -> xr.Dataset:
    warnings.warn("not ours", UserWarning, stacklevel=1)
    return dataset


def refusing(_dataset: xr.Dataset) -> xr.Dataset:
    raise XGroupStoreError


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (without_arrays, "loses a variable: "),
        (with_another_title, "differs: "),
        (first_only, "changes a shape: "),
        (raising, "raises: ValueError in "),
        (warning, "warns: UserWarning"),
        (refusing, "raises: XGroupStoreError in "),
    ],
    ids=lambda item: getattr(item, "__name__", None),
)
def test_a_law_that_is_broken(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[xr.Dataset], xr.Dataset], kind: str
) -> None:
    original = XGroupBackendEntrypoint.open_dataset

    def changed(self: Any, store: Any, **options: Any) -> xr.Dataset:
        return change(original(self, store, **options))

    monkeypatch.setattr(XGroupBackendEntrypoint, "open_dataset", changed)
    assert any(found.kind.startswith(kind) for found in violations(STORE))


def test_a_process_that_takes_too_long_is_ended() -> None:
    with closing(Examiner(0)) as hasty:
        assert [found.law for found in hasty.examine(STORE)] == ["hangs"]


# Cutting down.


def test_a_store_is_cut_down_to_what_it_takes() -> None:
    store = {**STORE, "g/b/zarr.json": array([3], ["y"], {"units": "m", "cs": {"crs": [1, 2]}})}

    def breaks(candidate: Documents) -> bool:
        return 2 in candidate.get("g/b/zarr.json", {}).get("attributes", {}).get("cs", {}).get(
            "crs", []
        )

    (key, document), *others = shrunk(store, breaks, LIMIT).items()
    assert not others
    assert key == "g/b/zarr.json"
    assert document["attributes"] == {"cs": {"crs": [2]}}
