"""Random stores break no law, nor do those that once did; and whoever breaks one is caught."""

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import xarray as xr
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zarr_xgroup
import zarr_xgroup.report.explaining
import zarr_xgroup.report.terminal
from zarr_xgroup import XGroupStoreError
from zarr_xgroup.backend import XGroupBackendEntrypoint
from zarr_xgroup.report.explanation import Explanation, FoundProblem
from zarr_xgroup.tests.builders import OPENS_GROUPS, declaring, memory_store, oracle
from zarr_xgroup.tests.documents import array, group
from zarr_xgroup.tests.fuzzing import differences, violations
from zarr_xgroup.tests.fuzzing_reports import report_violations
from zarr_xgroup.tests.outcomes import attempt
from zarr_xgroup.tests.random_stores import (
    ASSUMED,
    Documents,
    contents_of,
    random_store,
)
from zarr_xgroup.tests.searching import Examiner

#: Each store that was ever found to break a law, cut down to what it takes.
FOUND: dict[str, Documents] = json.loads(
    (Path(__file__).parent / "found_stores.json").read_text(encoding="utf-8")
)

#: How many random stores are opened in search of what breaks a law; if it is not set, a few, always the same.
EXAMPLES = int(os.environ.get("XGROUP_EXAMPLES", "0"))
#: One in four is explained and checked, too, which takes longer than all else.
QUARTER = st.sampled_from([False, False, False, True])

#: Seconds that a store may take, on a machine that does much else.
LIMIT = 30


@pytest.fixture(scope="module")
def examiner() -> Iterator[Examiner]:
    with closing(Examiner(LIMIT)) as examiner:
        yield examiner


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once(examiner: Examiner, name: str) -> None:
    assert examiner.examine(FOUND[name]) == []


@settings(
    max_examples=EXAMPLES or 32,
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(store=st.randoms(use_true_random=False).map(random_store), with_reports=QUARTER)
def test_random_stores_break_no_law(
    examiner: Examiner, store: Documents, *, with_reports: bool
) -> None:
    assert examiner.examine(store, with_reports=with_reports) == []


@pytest.mark.skipif(not OPENS_GROUPS, reason="this engine zarr opens one group at a time")
def test_engine_zarr_makes_the_same_of_a_group_alone() -> None:
    count = 0
    for seed in range(20):
        store = {key: it for key, it in random_store(Random(seed)).items() if key != ASSUMED}
        memory = memory_store(contents_of(store))
        groups = attempt(oracle, xr.open_groups, memory).value or {}
        for path, dataset in groups.items():
            assert not list(differences(dataset, oracle(xr.open_dataset, memory, group=path)))
            count += 1
        tree = attempt(xr.DataTree.from_dict, groups).value
        if groups and tree is not None:
            assert not list(differences(tree, oracle(xr.open_datatree, memory)))
    assert count > 10


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


# What is told of stores.

#: A store of which something is told: an axis leads nowhere.
TOLD: Documents = {
    "zarr.json": group(),
    "a/zarr.json": array([2], ["x"], declaring("CF", coordinates="/nowhere")),
}


def reports_on(store: Documents) -> set[str]:
    """Return the kinds of laws that what is told of a store breaks."""
    contents = contents_of(store)
    opened = attempt(xr.open_datatree, memory_store(contents), engine="xgroup")
    return {violation.kind for violation in report_violations(contents, {}, opened)}


#: And one of which an error is told.
WRONG = declaring("spatial", **{"spatial:dimensions": ["y", "x"], "spatial:transform": [1]})
BROKEN: Documents = {"zarr.json": group(), "a/zarr.json": array([2], ["x"], WRONG)}


@pytest.mark.parametrize("store", [STORE, TOLD, BROKEN, {}, {"zarr.json": "{"}])
def test_what_is_told_breaks_no_law(store: Documents) -> None:
    assert reports_on(store) == set()


def raising_value_error(_store: Any) -> None:
    message = "broken"
    raise ValueError(message)


def warning_of_it(store: Any) -> Explanation:
    warnings.warn("not ours", UserWarning, stacklevel=1)
    return zarr_xgroup.report.explaining.explain(store)


def reading_a_chunk(store: Any) -> Explanation:
    attempt(zarr.open_array(store, path="a", mode="r").__getitem__, 0)
    return zarr_xgroup.report.explaining.explain(store)


def explained_with(**changes: Any) -> Callable[[Any], Explanation]:
    return lambda store: replace(zarr_xgroup.report.explaining.explain(store), **changes)


PROBLEM = FoundProblem("metadata", "what no open tells")


@pytest.mark.parametrize(
    ("explain", "kinds"),
    [
        (raising_value_error, {"explain raises: ValueError in xarray"}),
        (warning_of_it, {"explain warns: UserWarning"}),
        (reading_a_chunk, {"explain raises: ChunkReadError in xarray"}),
        (explained_with(problems=()), {"explain does not tell: XGroupResolutionWarning"}),
        (explained_with(problems=(PROBLEM,)), {"explain alone tells: of a metadata"}),
        (
            explained_with(zarr_format=math.nan),
            {"cannot be shown: Explanation as JSON: ValueError in xarray"},
        ),
    ],
)
def test_a_law_of_what_is_told_that_is_broken(
    monkeypatch: pytest.MonkeyPatch, explain: Callable[[Any], Any], kinds: set[str]
) -> None:
    monkeypatch.setattr(zarr_xgroup, "explain", explain)
    found = reports_on(TOLD)
    assert all(any(it.startswith(kind) for it in found) for kind in kinds), found


def test_what_a_terminal_obeys_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zarr_xgroup.report.terminal, "printable", str)
    broken = {**TOLD, "zarr.json": group(declaring("cs", **{"\x1b[31m": 5}))}
    broken["a\x1b[31m/zarr.json"] = TOLD["a/zarr.json"]
    assert "shows what is obeyed: Verdict as text" in reports_on(broken)
