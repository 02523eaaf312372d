"""Which arrays are told to follow no principal convention, and what is told of them."""

from typing import Any

import numpy as np
import xarray as xr

from zarr_xgroup import XGroupNoPrincipalWarning
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

DECLARES_NONE = "declares no principal convention (such as cs or spatial)"


def grid(**attributes: Any) -> Array:
    return Array(np.ones((2, 3)), ("y", "x"), attributes)


def told(function: Any, root: Group | Contents, **options: Any) -> list[str]:
    """Return what is told of arrays without a principal convention."""
    contents = build(root) if isinstance(root, Group) else root
    _opened, given = recorded(function, memory_store(contents), engine="xgroup", **options)
    return [str(it) for it in given if type(it) is XGroupNoPrincipalWarning]


def test_an_array_that_has_all_coordinates() -> None:
    axes = {"y": coordinate("y", [1.0, 2.0]), "x": coordinate("x", [1.0, 2.0, 3.0])}
    (text,) = told(xr.open_dataset, Group({"a": grid(), **axes}))
    assert text == (
        f"1 array {DECLARES_NONE}: /a. 'zarr_conventions' of an array or of its group can declare "
        "one, which says where coordinates are"
    )


def test_an_array_with_a_crs_still_declares_none() -> None:
    axes = {"y": coordinate("y", [1.0, 2.0]), "x": coordinate("x", [1.0, 2.0, 3.0])}
    projected = grid(**declaring("proj"), **{"proj:code": "EPSG:4326"})
    for members, bare in (({}, True), (axes, False)):
        (text,) = told(xr.open_dataset, Group({"a": projected, **members}))
        assert text.startswith(f"1 array {DECLARES_NONE}: /a")
        assert ("1 of them has a dimension without a coordinate" in text) is bare


def test_a_tree_has_the_coordinates_of_parents_that_fit() -> None:
    axes = {"y": coordinate("y", [1.0, 2.0])}
    fitting = Group({**axes, "x": coordinate("x", [1.0, 2.0, 3.0]), "g": Group({"a": grid()})})
    assert "without a coordinate" not in told(xr.open_datatree, fitting)[0]
    (text,) = told(xr.open_groups, fitting)
    assert "1 of them has a dimension without a coordinate" in text
    other = Group({**axes, "x": coordinate("x", [1.0, 2.0]), "g": Group({"a": grid()})})
    (text,) = told(xr.open_datatree, other)
    assert "1 of them has a dimension without a coordinate" in text


def test_a_group_of_which_nothing_is_known_above() -> None:
    contents = below(build(Group({"a": grid()})), "g")
    (text,) = told(xr.open_dataset, contents, group="g")
    assert text.startswith(f"1 array {DECLARES_NONE}: /g/a")
