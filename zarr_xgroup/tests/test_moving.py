"""Groups with the same contents: what is found of one of them holds for the others, or is found anew."""

from contextlib import suppress
from typing import Any

import pytest
import xarray as xr
from zarr.storage import StorePath

from zarr_xgroup import XGroupError
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    assert_same,
    declaring,
    memory_store,
    quietly,
)
from zarr_xgroup.tests.documents import array, group
from zarr_xgroup.tests.random_stores import Documents, contents_of, node_paths, random_store

#: Values are read by other tests; indexes of lengths that nobody wrote would fill the memory.
LAZY = {"create_default_indexes": False} if HAS_INDEX_OPTION else {}


def with_copies(store: Documents) -> Documents:
    """Return a store in which each group, with all that is in it, stands beside itself twice."""
    copies = {}
    for path in node_paths(store):
        for key, document in store.items():
            if path and key.startswith(f"{path}/"):
                for name in ("copy", "other"):
                    copies[f"{path}_{name}/{key[len(path) + 1 :]}"] = document
    return {**copies, **store}


def opened_groups(store: Any) -> Any:
    return quietly(xr.open_groups, store, engine="xgroup", consolidated=False, **LAZY)


def assert_the_same_alone(store: Any) -> None:
    """Assert that each group is opened alone as it is among all."""
    for path, dataset in opened_groups(store).items():
        options = {"engine": "xgroup", "group": path, "consolidated": False, **LAZY}
        assert_same(dataset, quietly(xr.open_dataset, store, **options), values=False)


@pytest.mark.parametrize("first", [30, 80])
def test_random_groups_alone(first: int) -> None:
    for seed in range(first, first + 10):
        store = memory_store(contents_of(with_copies(random_store(seed))))
        with suppress(XGroupError):
            assert_the_same_alone(store)


def cf(**attributes: str) -> Documents:
    return array([], [], declaring("CF", **attributes))


def test_what_refers_to_itself_is_followed_from_other_groups() -> None:
    documents = {"zarr.json": group()}
    for path, name in (("g", "a"), ("g", "b"), ("h", "a"), ("i", "a")):
        documents[f"{path}/zarr.json"] = group()
        documents[f"{path}/{name}/zarr.json"] = cf(ancillary_variables="/g/a")
    store: Any = memory_store(contents_of(documents))
    assert_the_same_alone(store)
    assert opened_groups(store)["/h"]["g_a"].attrs["ancillary_variables"] == "g_a"


def test_a_name_that_zarr_takes_for_a_path_is_that_of_no_array() -> None:
    documents = {
        "zarr.json": group(),
        "v/zarr.json": cf(coordinates="/h/a\\b"),
        "h/zarr.json": group(),
        "h/a\\b/zarr.json": array([2], ["x"]),
        "h/a\\b/c/0": "\0" * 16,  # zarr would look for the values at h/a/b/c/0
    }
    store: Any = memory_store(contents_of(documents))
    assert_the_same_alone(store)
    is_there = StorePath(store, "a\\b").path == "a\\b"
    assert ("a\\b" in opened_groups(store)["/"].variables) == is_there
    inline = {name.removesuffix("/zarr.json"): it for name, it in documents.items() if "/" in name}
    del inline["h/a\\b/c/0"]
    documents["zarr.json"] = {
        **group(),
        "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": inline},
    }
    consolidated = quietly(
        xr.open_groups, memory_store(contents_of(documents)), engine="xgroup", **LAZY
    )
    assert ("a\\b" in consolidated["/h"].variables) == is_there


def test_what_is_below_an_array_is_reached_by_its_path() -> None:
    documents = {
        "zarr.json": group(),
        "a/zarr.json": array([2], ["x"]),
        "a/below/zarr.json": array([2], ["x"]),
        "g/zarr.json": group(),
        "g/v/zarr.json": cf(coordinates="/a/below"),
    }
    store: Any = memory_store(contents_of(documents))
    assert_the_same_alone(store)
    assert "below" in opened_groups(store)["/g"].coords


def test_what_bounds_times_in_some_groups_is_decoded_with_them() -> None:
    axis = {"coordinates": [{"values": {"external": {"node": "/shared/y"}}}]}
    days = {
        "values": {"external": {"node": "/shared/t"}},
        "time": {"reference": "days since 2000-01-01"},
    }
    height = {"coordinates": [days]}
    plain = array([2], ["y"], declaring("cs", cs={"crs": [{"axes": {"y": axis}}]}))
    timed = array([2], ["y"], declaring("cs", cs={"crs": [{"axes": {"y": axis, "t": height}}]}))
    documents = {
        "zarr.json": group(),
        "shared/zarr.json": group(),
        "shared/t/zarr.json": array([], [], {"bounds": "y"}),
        "shared/y/zarr.json": array([2], ["y"]),
        "untimed/zarr.json": group(),  # so that it is times only where others say so
        "untimed/v/zarr.json": cf(coordinates="/shared/t"),
    }
    for number, field in enumerate([plain, plain, plain, timed, timed, timed]):
        documents |= {f"g{number}/zarr.json": group(), f"g{number}/v/zarr.json": field}
    store: Any = memory_store(contents_of(documents))
    assert_the_same_alone(store)
    groups = opened_groups(store)
    kinds = [groups[f"/g{number}"]["y"].dtype.kind for number in range(6)]
    assert kinds == ["f", "f", "f", "M", "M", "M"]
