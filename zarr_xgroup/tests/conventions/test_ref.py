"""Which references of an array attach another array, and which only have to lead somewhere."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupResolutionWarning, check
from zarr_xgroup.conventions.ref import RefHandler
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
)

ALONG_X = Array(np.ones(2), ("x",), {"units": "m"})


@pytest.mark.parametrize(
    ("reference", "attached", "text"),
    [
        ({"node": "b"}, ["b"], ""),
        ({"node": "/c"}, ["c"], ""),
        ({"node": "b", "attribute": ""}, ["b"], ""),
        ({"node": "b", "attribute": "/attributes/units"}, [], ""),
        ({"node": "b", "attribute": "/shape/0"}, [], ""),
        ({"node": "b", "attribute": "/attributes/no"}, [], "nothing stands at #/attributes/no"),
        ({"node": "a"}, [], ""),  # itself
        ({"node": "/other", "attribute": ""}, [], ""),
        ({"node": "../other"}, ["other"], "'../other'"),  # of two, the one that is an array
        ({"node": "no"}, [], "no"),
        (None, [], ""),
        ([{"node": "b"}, {"deep": {"node": "/c"}}], ["b", "c"], ""),
    ],
    ids=str,
)
def test_what_is_attached(reference: Any, attached: list[str], text: str) -> None:
    members = {
        "a": Array(np.ones(2), ("x",), declaring("ref", mine=reference)),
        "b": ALONG_X,
        "other": ALONG_X,
    }
    store = memory_store(build(Group({"g": Group(members), "c": ALONG_X, "other": Group()})))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert sorted(map(str, dataset.coords)) == attached
    assert len(told) == bool(text)
    assert text in "".join(map(str, told))


@pytest.mark.parametrize(
    ("ref", "place", "why"),
    [
        (7, "", "must be an object, got number"),
        ("b", "", "must be an object, got string"),
        ({"path": "b"}, "", "is no reference: it has no 'node'"),
        ({}, "", "is no reference: it has no 'node'"),
        ({"node": 7}, "/node", "must be a string, got number"),
        ({"ref": {"path": "b"}}, "/ref", "is no reference: it has no 'node'"),
        ({"ref": 7}, "/ref", "must be an object, got number"),
        ([{"node": "b"}, {"path": "b"}], "/1", "is no reference: it has no 'node'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_is_meant_as_a_reference_and_is_none(
    ref: Any, place: str, why: str, zarr_format: ZarrFormat
) -> None:
    sound = Array(np.ones(2), ("x",), declaring("ref"))  # with the same metadata but for this
    members = {"a": sound, "b": ALONG_X, "m": Array(np.ones(2), ("x",), declaring("ref", ref=ref))}
    store = memory_store(build(Group(members), zarr_format))
    dataset, (told,) = opened_with_warnings(xr.open_dataset, store)
    text = f"/m was opened without what 'ref' refers to: /m#/attributes/ref{place}: {why}"
    assert str(told) == text
    assert type(told) is XGroupResolutionWarning
    assert dataset["m"].values.tolist() == [1, 1]
    assert dataset["m"].attrs["ref"] == ref
    assert set(dataset.coords) == ({"b"} if isinstance(ref, list) else set())
    (mistake,) = check(store).mistakes
    assert mistake.place.node == "/m"
    assert mistake.place.pointer.startswith("/attributes/ref")


@pytest.mark.parametrize("ref", [None, [], {"time": {"node": "b"}}], ids=str)
def test_an_attribute_ref_with_which_nothing_is_wrong(ref: Any) -> None:
    members = {"a": Array(np.ones(2), ("x",), declaring("ref", ref=ref)), "b": ALONG_X}
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert told == []
    assert set(dataset.coords) == ({"b"} if ref else set())


@pytest.mark.parametrize("declared", [[], ["spatial"]], ids=str)
def test_an_attribute_ref_of_an_array_that_does_not_declare_it(declared: list[str]) -> None:
    members = {"a": Array(np.ones(2), ("x",), declaring(*declared, ref="main"))}
    _dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert not any("/attributes/ref" in str(warning) for warning in told)


def test_attributes_that_can_be_dropped() -> None:
    reference = {"node": "b"}
    attributes = {
        "mine": {"deep": [reference]},
        "empty": {},
        "text": "b",
        "cs": reference,
        "spatial:mine": reference,
        "zarr_conventions": [reference],
        "yours": reference,
    }
    assert list(RefHandler.owned(attributes)) == ["mine", "yours"]
