"""Options that are checked before anything is read, and arrays without a principal convention."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.opening import opening
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    below,
    build,
    coordinate,
    declaring,
    memory_store,
    recorded,
    recording_store,
    stored,
    without_principal,
)
from zarr_xgroup.tests.tables import rows, store_of

STORE = build(Group({"a": stored([1], "x")}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"assume_conventions": "nope"}, "there is no convention 'nope'"),
        ({"convention_attrs": "nope"}, "nope"),
        ({"nope": 1}, "has no option nope"),
        ({"mode": "w"}, "only reads"),
    ],
)
def test_nothing_is_read_with_options_that_are_wrong(options: Any, message: str) -> None:
    store = recording_store(STORE)
    with pytest.raises((TypeError, ValueError), match=message), opening(store, options):
        pass
    assert (store.gets, store.listed) == ([], [])


# Arrays that follow no principal convention, and lack coordinates or a CRS.


def grid(**attributes: Any) -> Array:
    return stored(np.ones((2, 3)), "y x", **attributes)


Y, X = coordinate("y", [1, 2]), coordinate("x", [1, 2, 3])
IN_CRS = grid(**declaring("proj"), **{"proj:code": "EPSG:4326"})
LACKING: dict[str, tuple[Any, list[str]]] = {
    "an array with a CRS": ({"": {}, "a": IN_CRS}, ["/a"]),
    "not one with a CRS and coordinates": ({"": {}, "a": IN_CRS, "y": Y, "x": X}, []),
    "not what others name": ({"": declaring("spatial"), "a": grid(coordinates="d"), "d": grid(), "y": Y, "x": X}, []),
    "an array called as a dimension that is no coordinate": ({"": {}, "x": stored([[1]], "x y")}, ["/x"]),
    "one of a layout of levels":
        ({"": {}, "p": Group({"0": Group({"c": grid()})}, {"multiscales": {"tile_matrix_set": "WebMercatorQuad"}})}, ["/p/0/c"]),
}  # fmt: skip


@rows(LACKING, "nodes, arrays")
def test_which_arrays_are_told_to_follow_no_principal_convention(
    nodes: Any, arrays: list[str]
) -> None:
    assert without_principal(xr.open_datatree, store_of(nodes)) == arrays


TOLD: dict[str, tuple[Any, str]] = {
    "none is declared, and no group above is known":
        (below(build(Group({"a": grid()})), "g"),
         "Select by position (isel)"),
    "the group declares one":
        (build({"": {}, "g": declaring("spatial"), "g/a": grid(), "g/b": stored([1], "t"), "g/c": grid(), "g/y": Y}),
         "/g/a, /g/c: its group declares 'spatial', but "),
}  # fmt: skip


@rows(TOLD, "contents, text")
def test_what_is_told_of_them(contents: Any, text: str) -> None:
    store = memory_store(contents)
    _dataset, (told,) = recorded(xr.open_dataset, store, engine="xgroup", group="g")
    assert str(told).startswith(text)
