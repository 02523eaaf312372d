"""Which arrays are told to follow no principal convention, and what is told of them."""

from typing import Any

import numpy as np
import xarray as xr

from zarr_xgroup import XGroupNoPrincipalWarning
from zarr_xgroup.datasets.planning import planning
from zarr_xgroup.datasets.undeclared import undeclared_data_arrays
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    below,
    build,
    coordinate,
    declaring,
    memory_store,
    recorded,
)

DECLARES_NONE = (
    "lacks coordinates or a CRS and declares no principal convention (such as cs or spatial)"
)


def grid(**attributes: Any) -> Array:
    return Array(np.ones((2, 3)), ("y", "x"), attributes)


def told(function: Any, root: Group | Contents, **options: Any) -> list[str]:
    """Return what is told of arrays without a principal convention."""
    contents = build(root) if isinstance(root, Group) else root
    _opened, given = recorded(function, memory_store(contents), engine="xgroup", **options)
    return [str(it) for it in given if type(it) is XGroupNoPrincipalWarning]


def test_an_array_with_a_crs_still_declares_none() -> None:
    axes = {"y": coordinate("y", [1.0, 2.0]), "x": coordinate("x", [1.0, 2.0, 3.0])}
    projected = grid(**declaring("proj"), **{"proj:code": "EPSG:4326"})
    (text,) = told(xr.open_dataset, Group({"a": projected}))
    assert text.startswith(f"1 array {DECLARES_NONE}: /a")
    assert told(xr.open_dataset, Group({"a": projected, **axes})) == []


def test_a_group_of_which_nothing_is_known_above() -> None:
    contents = below(build(Group({"a": grid()})), "g")
    (text,) = told(xr.open_dataset, contents, group="g")
    assert text.startswith(f"1 array {DECLARES_NONE}: /g/a")


# What a finding says: why a declaration does not count, what is bare, what could be assumed.

Y = coordinate("y", [1.0, 2.0])


def findings(
    members: dict[str, Any], attributes: dict[str, Any], *assumed: str, is_tree: bool = False
) -> dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Return, of each array that is told, why, what is bare and what could be assumed."""
    store = memory_store(build(Group(members, attributes)))
    with planning(store, {"assume_conventions": assumed}) as planned:
        plans = planned.plan_tree(with_indexes=False)
        found = list(undeclared_data_arrays(plans, planned.tree, assumed=assumed, is_tree=is_tree))
    return {str(it.node): (it.why.partition(" in ")[0], it.bare, it.assumable) for it in found}


def test_what_grids_lack_whose_group_declares_a_convention() -> None:
    members = {"a": grid(), "b": Array(np.ones(4), ("t",)), "c": grid(), "y": Y}
    told_of = findings({**members, "c": grid(coordinates="d"), "d": grid()}, declaring("spatial"))
    assert told_of == {}
    told_of = findings(members, declaring("spatial"))
    assert told_of == {"/a": ("", ("x",), ()), "/c": ("", ("x",), ())}
    (text,) = [
        str(it)
        for it in recorded(
            xr.open_dataset,
            memory_store(build(Group(members, declaring("spatial")))),
            engine="xgroup",
        )[1]
    ]
    assert text.startswith("/a, /c: its group declares 'spatial', but ")
    assert text.endswith("it has no coordinates along 'x'")


def test_what_groups_of_a_tree_have_of_each_other() -> None:
    places = {"x": {"node": "/axes/lon"}, "y": {"node": "/axes/lat"}}
    located = declaring("geolocation", geolocation={"geodetic": places})
    levels = {"multiscales": {"tile_matrix_set": "WebMercatorQuad"}}
    root = {
        "axes": Group({"lon": grid(), "lat": grid()}),
        "x": Array(np.ones((3, 2)), ("x", "y")),  # no coordinate, for all it is called so
        "height": Array(np.ones(4), ("t",)),
        "located": Group({"a": grid(**located)}),
        "named": Group({"b": grid(coordinates="height"), "height": Group()}),
        "pyramid": Group({"0": Group({"c": grid()})}, levels),
    }
    assert findings(root, {}, is_tree=True) == {
        "/x": ("", ("x", "y"), ()),
        "/named/b": ("", ("y", "x"), ("cf",)),
        "/pyramid/0/c": ("", ("y", "x"), ("geozarr",)),
    }
