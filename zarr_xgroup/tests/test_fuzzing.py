"""Random stores, and stores found by fuzzing earlier, break no law; a broken law is detected."""

import faulthandler
import json
import logging
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import zarr_xgroup
from zarr_xgroup import XGroupStoreError, explain
from zarr_xgroup.backend import XGroupBackendEntrypoint
from zarr_xgroup.report import terminal
from zarr_xgroup.report.explanation import FoundProblem
from zarr_xgroup.tests.builders import Array, Group, Json, declaring, documents_of
from zarr_xgroup.tests.fuzzing import attempt, violations
from zarr_xgroup.tests.fuzzing_reports import report_violations
from zarr_xgroup.tests.random_stores import Documents, random_store

#: Each store that was ever found to break a law, cut down to what it takes.
FOUND: dict[str, Documents] = json.loads(
    (Path(__file__).parent / "found_stores.json").read_text(encoding="utf-8")
)

#: How many random stores are opened in search of what breaks a law; if it is not set, a few, always the same.
EXAMPLES = int(os.environ.get("XGROUP_EXAMPLES", "0"))
#: One in four is explained and checked, too, which takes longer than all else.
QUARTER = st.sampled_from([False, False, False, True])

#: Seconds that a store may take on a machine that does much else, and by how many bytes the process may grow.
SECONDS, MEMORY = 60, 2**28


@contextmanager
def bounded() -> Iterator[None]:
    """End the process with a traceback if a store takes too long; let it take no more than so much memory."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # zarr leaves errors behind
    before = peak()
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert peak() - before < MEMORY


def peak() -> int:
    """Return the peak memory of this process in bytes, or 0 if the system does not report it."""
    if sys.platform == "win32":
        return 0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@pytest.mark.parametrize("name", FOUND)
def test_a_store_that_once_broke_a_law_breaks_none(name: str) -> None:
    with bounded():
        assert [*violations(FOUND[name]), *report_violations(FOUND[name])] == []


drawn = settings(
    max_examples=EXAMPLES or 32,
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
randoms = st.randoms(use_true_random=False)


@drawn
@given(store=randoms.map(random_store), with_reports=QUARTER)
def test_random_stores_break_no_law(store: Documents, *, with_reports: bool) -> None:
    with bounded():
        assert violations(store) == []
        assert not with_reports or list(report_violations(store)) == []


OPTIONS = {
    "mask_and_scale": st.booleans(),
    "decode_times": st.booleans(),
    "decode_coords": st.sampled_from([True, False, "all"]),
    "drop_variables": st.lists(st.sampled_from(["x", "a", "time"]), max_size=2),
    "chunks": st.sampled_from([None, {}, -1]),
}


@drawn
@given(
    randoms.map(lambda it: random_store(it, is_plain=True)),
    st.fixed_dictionaries({}, optional=OPTIONS),
)
def test_random_stores_without_conventions_open_like_with_engine_zarr(
    store: Documents, options: dict[str, Any]
) -> None:
    with bounded():
        assert violations(store, **options) == []


# The laws, each broken.


def group(attributes: Json | None = None) -> Json:
    return documents_of(Group(attrs=attributes or {}), 3)["zarr.json"]


def array(size: int, dim: str, attributes: Json | None = None) -> Json:
    return documents_of(Array(np.zeros(size), (dim,), attributes or {}), 3)["zarr.json"]


STORE: Documents = {
    "zarr.json": group({"title": "a"}),
    "a/zarr.json": array(2, "x"),
    "g/zarr.json": group(),
    "g/b/zarr.json": array(3, "y"),
}


def raising(error: Exception) -> Callable[[Any], Any]:
    def broken(_store: Any) -> Any:
        raise error

    return broken


def warning(result: Any) -> Any:
    warnings.warn("not ours", UserWarning, stacklevel=1)
    return result


BROKEN: dict[str, Callable[[xr.Dataset], xr.Dataset]] = {
    "loses a variable: ": lambda it: it.drop_vars(list(it.variables)),
    "differs: ": lambda it: it.assign_attrs(title="b"),
    "changes a shape: ": lambda it: it.isel(dict.fromkeys(it.dims, slice(1))),
    "raises: ValueError in ": raising(ValueError("broken")),
    "raises: XGroupStoreError in ": raising(XGroupStoreError()),
    "warns: UserWarning": warning,
}


def test_a_valid_store_breaks_no_law() -> None:
    assert violations(STORE) == []


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_law_is_found(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    original = XGroupBackendEntrypoint.open_dataset

    def changed(self: Any, store: Any, **options: Any) -> xr.Dataset:
        return BROKEN[kind](original(self, store, **options))

    monkeypatch.setattr(XGroupBackendEntrypoint, "open_dataset", changed)
    assert any(found.startswith(kind) for found in violations(STORE))


#: A store with a problem to report, and attributes with an error.
REPORTED: Documents = {
    "zarr.json": group(),
    "a/zarr.json": array(2, "x", declaring("CF", coordinates="/nowhere")),
}
WRONG = declaring("spatial", **{"spatial:dimensions": ["y", "x"], "spatial:transform": [1]})


@pytest.mark.parametrize(
    "store",
    [STORE, REPORTED, {**REPORTED, "a/zarr.json": array(2, "x", WRONG)}, {}, {"zarr.json": "{"}],
)
def test_reports_of_a_store_break_no_law(store: Documents) -> None:
    assert list(report_violations(store)) == []


def reading_a_chunk(store: Any) -> Any:
    attempt(zarr.open_array(store, path="a", mode="r").__getitem__, 0)
    return explain(store)


BROKEN_REPORTS: dict[str, Callable[[Any], Any]] = {
    "explain raises: ValueError in xarray": raising(ValueError("broken")),
    "explain warns: UserWarning": lambda store: warning(explain(store)),
    "explain reads chunks": reading_a_chunk,
    "explain does not report: XGroupResolutionWarning": lambda store: replace(
        explain(store), problems=()
    ),
    "only explain reports: metadata": lambda store: replace(
        explain(store), problems=(FoundProblem("metadata", "not reported on opening"),)
    ),
    "explain cannot be shown as JSON": lambda it: replace(explain(it), zarr_format=math.nan),
}


@pytest.mark.parametrize("kind", BROKEN_REPORTS)
def test_a_broken_law_of_reports_is_found(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(zarr_xgroup, "explain", BROKEN_REPORTS[kind])
    found = list(report_violations(REPORTED))
    assert any(it.startswith(kind) for it in found), found


def test_escape_sequences_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "printable", str)
    broken = {**REPORTED, "zarr.json": group(declaring("cs", **{"\x1b[31m": 5}))}
    broken["a\x1b[31m/zarr.json"] = REPORTED["a/zarr.json"]
    assert any("check as text has characters" in it for it in report_violations(broken))
