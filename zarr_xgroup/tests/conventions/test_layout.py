"""The `multiscales` layout: which of its items is about an array."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    stored,
)


def field() -> Array:
    return stored(np.ones((2, 2)), "y x")


def item(asset: Any, size: float) -> dict[str, Any]:
    return {"asset": asset, "spatial:transform": [size, 0.0, 0.0, 0.0, -size, 0.0]}


def layout(*items: dict[str, Any]) -> dict[str, Any]:
    declared = declaring("spatial", "multiscales")
    return {**declared, "spatial:dimensions": ["y", "x"], "multiscales": {"layout": [*items]}}


def firsts(root: Group, name: str = "v") -> dict[str, float]:
    """Return the first x of each group that has an array of a name."""
    groups = opened(xr.open_groups, memory_store(build(root)))
    return {path: it["x"].values[0] for path, it in groups.items() if name in it}


@pytest.mark.parametrize("written", ["{}", "/{}/", "{}/"])
def test_equal_levels_are_told_apart_by_their_names(written: str) -> None:
    names = ("X0", "X1", "X2")
    items = [item(written.format(name), 2.0**n) for n, name in enumerate(names)]
    root = Group({name: Group({"v": field()}) for name in names}, layout(*items))
    assert firsts(root) == {"/X0": 0.5, "/X1": 1.0, "/X2": 2.0}


def test_an_item_about_the_array_goes_before_that_of_its_group() -> None:
    levels: dict[str, Group | Array] = {
        "0": Group({"v": field()}),
        "1": Group({"v": field()}),
        "v": field(),
    }
    root = Group(levels, layout(item("0", 2.0), item("0/v", 4.0), item("1", 6.0), item("v", 8.0)))
    assert firsts(root) == {"/": 4.0, "/0": 2.0, "/1": 3.0}


def test_the_nearest_layout_that_has_it_counts() -> None:
    inner = Group({"0": Group({"v": field()}), "1": Group({"v": field()})}, layout(item("1", 2.0)))
    items = [item("a/0", 4.0), item("a/1", 6.0), item("0", 8.0), item(None, 1.0), item(1, 1.0)]
    root = Group({"a": inner}, layout(*items))
    assert firsts(root) == {"/a/0": 2.0, "/a/1": 1.0}
