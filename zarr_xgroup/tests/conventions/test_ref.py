"""Which references of an array attach another array, and which only have to lead somewhere."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.conventions.ref import RefHandler
from zarr_xgroup.tests.builders import (
    Array,
    Group,
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
        ({"node": "b", "attribute": "/attributes/no"}, [], "nothing stands at /attributes/no"),
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
