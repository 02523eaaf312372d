"""Pyramids: the grids of the levels of a layout, and the level that a resolution selects.

A level declares its grid, or derives it from the grid of its source. The tests of tile matrix sets are in
`conventions/test_tiles`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import XGroupGroupError, XGroupStoreError
from zarr_xgroup.report.page import page
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    Json,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    needs_writing,
    opened,
    opened_with_warnings,
    recording_store,
    stored,
)
from zarr_xgroup.tests.servers import DelayingStore
from zarr_xgroup.tests.tables import brief, check, outcome, rows, store_of


def cells(size: float, left: float = 100.0, top: float = 200.0) -> Json:
    """Return the transform of square cells, north up, from the upper left corner."""
    return {"spatial:transform": [size, 0.0, left, 0.0, -size, top]}


def level(asset: Any, source: Any = None, scale: Any = None, **more: Any) -> Json:
    """Return an item of a layout: a level that may be derived from another one."""
    item = {"asset": asset, **more}
    if source is not None:
        item["derived_from"] = source
    if scale is not None:
        scale = [scale, scale] if isinstance(scale, int) else scale
        item["transform"] = {"scale": scale} if isinstance(scale, list) else scale
    return item


def declared(*items: Json, **attributes: Any) -> Json:
    """Return attributes of a group that has a layout of levels."""
    names = declaring("spatial", "multiscales", **{"spatial:dimensions": ["y", "x"]})
    return {**names, "multiscales": {"layout": [*items]}, **attributes}


def dimensions(*names: str) -> Json:
    return {"spatial:dimensions": [*names]}


def sized(rows: int, columns: int) -> Json:
    return {"spatial:shape": [rows, columns]}


def field(rows: int, columns: int, dims: str | None = "y x", **attributes: Any) -> Array:
    names = (None, None) if dims is None else tuple(dims.split())
    return Array(np.zeros((rows, columns)), names, attributes)


def of(rows: int, columns: int, **attributes: Any) -> Group:
    """Return a group with an array `v`."""
    return Group({"v": field(rows, columns)}, attributes)


def pyramid(*items: Json, v: Any = None, full: Any = None, half: Any = None, **root: Any) -> Group:
    """Return groups of a layout, `full` with an array of 4 x 6 cells and attributes, `half` of 2 x 3."""
    if not isinstance(full, Group):
        full = Group({"v": field(4, 6, **(v or {}))}, full or {})
    return Group({"full": full, "half": of(2, 3, **(half or {}))}, declared(*items, **root))


UTM = {"proj:code": "EPSG:32632"}
FULL = level("full", **cells(10))
HALF = level("half", "full", 2)
NODE = {"spatial:registration": "node"}
BOX = {"spatial:bbox": [100.0, 160.0, 160.0, 200.0]}

#: What the group `half` opens as, with cells of 20 m that begin where those of 10 m do.
TWENTIES = """
    x (x) 110.0 130.0 150.0 | axis=X
    y (y) 190.0 170.0 | axis=Y
"""
# fmt: off
AT_TWENTIES: Mapping[str, Group] = {
    "a level follows from another one": pyramid(FULL, HALF),
    "an absolute transform takes precedence over a relative one": pyramid(FULL, level("half", "full", 3, **cells(20))),
    "an item names an array of a group": pyramid(FULL, level("half/v", **cells(20))),
    "the nearest layout that has a level counts":
        pyramid(level("half", **cells(40)), level(1), level(None), half=declared(level("v", **cells(20)))),
    "the source's array has the transform": pyramid(level("full"), HALF, v=cells(10)),
    "the transform of the layout's group is of the only level that follows from none": pyramid(level("full"), HALF, **cells(10)),
    "so it is if that is scaled by one": pyramid(level("full", None, 1), HALF, **cells(10)),
    "an own box takes precedence over it": pyramid(level("full", **BOX), HALF, **cells(3)),
    "a box of the layout's group is that of each level": pyramid(level("full"), HALF, **BOX),
    "the level has another registration than its source": pyramid(FULL, HALF, half={"spatial:registration": "pixel"}, **NODE),
    "the layout's group is the source":
        Group({"v": field(4, 6), "half": of(2, 3)}, declared(level("."), level("half", ".", 2), **cells(10))),
    "a source without an array of the name has the shape of its item":
        pyramid(level("full", **sized(4, 6)), HALF, full=Group({"w": field(4, 6)}), **BOX),
    "so has a source with an array of fewer dimensions":
        pyramid(level("full", **sized(4, 6)), HALF, full=Group({"v": stored(np.ones(6), "n")}), **BOX),
}
#: The same by node registration.
NODES = """
    x (x) 100.0 120.0 140.0 | axis=X
    y (y) 200.0 180.0 | axis=Y
"""
BY_NODES: Mapping[str, Group] = {
    "the source's item has it": pyramid(level("full", **cells(10), **NODE), HALF),
    "items of the array and of its group count before and after the group":
        pyramid(level("half", **cells(4)), level("half/v", **NODE), half=cells(20)),
}
#: What it opens as if nothing gives it coordinates.
NOTHING = """
    ! Resolution: /half/v: 'spatial' is declared, but there is neither spatial:transform, nor \
spatial:bbox, nor 1-D arrays y, x, so these dimensions get no coordinates
"""
NOT_USED = (
    "spatial:bbox: is not used: the grid is derived from a level that has neither spatial:transform, nor "
    "spatial:bbox and a size"
)
LEVELS: Mapping[str, tuple[Group, str]] = {
    **{about: (nodes, TWENTIES) for about, nodes in AT_TWENTIES.items()},
    **{about: (nodes, NODES) for about, nodes in BY_NODES.items()},
    "several levels follow from none": (pyramid(level("full"), level("half"), **cells(20)), NOTHING),
    "a level is scaled by no source": (pyramid(level("full"), level("half", None, 2), **cells(10)), NOTHING),
    "a derived level has no scale": (pyramid(FULL, level("half", "full")), NOTHING),
    "a level may be shifted": (
        pyramid(FULL, level("half", "full", {"scale": [2, 2.1], "translation": [1, 2]})), """
        x (x) 130.5 151.5 172.5 | axis=X
        y (y) 180.0 160.0 | axis=Y
    """),
    "a level may be shifted alone": (
        pyramid(FULL, level("half", "full", {"translation": [1, 2]})), """
        x (x) 125.0 135.0 145.0 | axis=X
        y (y) 185.0 175.0 | axis=Y
    """),
    "a level of a rotated grid": (
        pyramid(
            level("full", **{"spatial:transform": [8.0, 6.0, 100.0, 5.0, -7.0, 200.0]}),
            level("half", "full", {"scale": [2, 1], "translation": [1, 2]}),
        ), """
        xc (y x) [[132.0 140.0 148.0] [144.0 152.0 160.0]]
        yc (y x) [[198.5 203.5 208.5] [184.5 189.5 194.5]]
    """),
    "a group that does not declare the convention": (
        Group({"half": of(2, 3)}, {**declared(level("half", **cells(9))), "zarr_conventions": []}), ""
    ),
    "a box is not divided if the source has no position": (
        pyramid(level("full"), level("half", "full", 2, **BOX)),
        f"! Resolution: /half/v: /#/attributes/multiscales/layout/1/{NOT_USED}",
    ),
    "a source without an array of the name has the grid of its arrays": (
        Group({"full": of(8, 12, **cells(10)), "mid": Group({"w": field(4, 6, **cells(20, 1000))}), "half": of(2, 3)},
              declared(level("full"), level("mid", "full", 2), level("half", "mid", 2))), """
        x (x) 1020.0 1060.0 1100.0 | axis=X
        y (y) 180.0 140.0 | axis=Y
    """),
    "a derived level outside of the box": (
        pyramid(FULL, level("half", "full", {"scale": [1, 1], "translation": [8, 4]}), **BOX), """
        x (x) 145.0 155.0 165.0 | axis=X
        y (y) 115.0 105.0 | axis=Y
        ! Resolution: /half/v: /#/attributes/spatial:bbox: is [100.0, 160.0, 160.0, 200.0], but the \
transform gives [140.0, 100.0, 170.0, 120.0], which is used
    """),
}

#: Levels that begin half a cell of their source later, and at the corner of their box.
MOVED = {"scale": [2, 2], "translation": [0.5, 0.5]}
LATER = """
    x (x) 115.0 135.0 155.0 | axis=X
    y (y) 185.0 165.0 | axis=Y
"""
WARNED_OF = """
    ! Resolution: /half/v: /#/attributes/multiscales/layout: has translations by which levels do not begin at the \
corner of their spatial:bbox; they are used: {"half": [0.5, 0.5]}
"""
BOX_OF_NODES = {"spatial:bbox": [100.0, 170.0, 150.0, 200.0], **NODE}
OFF_BOX: Mapping[str, tuple[Group, str]] = {
    "the box of the layout's group": (pyramid(FULL, level("half", "full", MOVED), **BOX), LATER + WARNED_OF),
    "the box of the level's group": (pyramid(FULL, level("half", "full", MOVED), half=BOX), LATER + WARNED_OF),
    "the box gives the grid of the first level": (pyramid(level("full"), level("half", "full", MOVED), **BOX), LATER + WARNED_OF),
    "the size of the level is rounded up": (
        pyramid(FULL, level("half", "full", MOVED), full=of(3, 5), **{"spatial:bbox": [100.0, 170.0, 150.0, 200.0]}),
        LATER + WARNED_OF),
    "rows go northwards": (
        pyramid(level("full", **{"spatial:transform": [10.0, 0.0, 100.0, 0.0, 10.0, 160.0]}), level("half", "full", MOVED), **BOX),
        LATER.replace("185.0 165.0", "175.0 195.0") + WARNED_OF),
    "no translation": (
        pyramid(FULL, HALF, full=of(3, 5), **{"spatial:bbox": [100.0, 170.0, 150.0, 200.0]}), TWENTIES),
    "no box": (pyramid(FULL, level("half", "full", MOVED)), LATER),
    "zeros in place of a box": (pyramid(FULL, level("half", "full", MOVED), **{"spatial:bbox": [0.0] * 4}), LATER),
    # The transform of the first level does not begin there, either.
    "a box of the centres of cells": (pyramid(FULL, level("half", "full", MOVED), **{"spatial:bbox": [105.0, 165.0, 155.0, 195.0]}), LATER),
    "a box of the centres, and no translation": (pyramid(FULL, HALF, **{"spatial:bbox": [105.0, 165.0, 155.0, 195.0]}), TWENTIES),
    "node registration": (
        pyramid(FULL, level("half", "full", MOVED), **BOX_OF_NODES), """
        x (x) 105.0 125.0 145.0 | axis=X
        y (y) 195.0 175.0 | axis=Y
    """),
    "a transform of the level itself": (pyramid(FULL, level("half", "full", MOVED, **cells(20)), **BOX), TWENTIES),
    "coordinates of the level itself": (
        Group({"full": of(4, 6), "half": Group({"v": field(2, 3), "x": stored([110.0, 130.0, 150.0], "x"), "y": stored([190.0, 170.0], "y")})},
              declared(FULL, level("half", "full", MOVED), **BOX)), TWENTIES),
}  # fmt: skip


@rows(OFF_BOX)
def test_translations_that_move_a_level_off_its_box(nodes: Group, expected: str) -> None:
    check(nodes, expected, only="x y", group="half")


def test_one_warning_for_the_translations_of_a_pyramid() -> None:
    groups = {"0": Group({"v": field(8, 8), "w": field(8, 8)}), "1": of(4, 4), "2": of(2, 2)}
    items = level("0", **cells(10)), level("1", "0", MOVED), level("2", "1", MOVED)
    store: Any = store_of(Group(groups, declared(*items, **{"spatial:bbox": [100.0, 120.0, 180.0, 200.0]})))
    tree, (warning,) = opened_with_warnings(xr.open_datatree, store)
    assert warning.paths == ("/1/v", "/2/v")
    assert tree["2/x"].values.tolist() == [135, 175]
    (mistake,) = zarr_xgroup.check(store).mistakes
    assert (mistake.rule.name, str(mistake.place)) == ("multiscales/transform", "/#/attributes/multiscales/layout")
    assert mistake.text.endswith('{"1": [0.5, 0.5], "2": [0.5, 0.5]}')
    assert mistake.remedy == 'write "translation": [0.0, 0.0] in each of these items'


#: What is wrong with the level `half`, or with others by which it is found.
LOST_LEVELS: Mapping[str, tuple[list[Json], str]] = {
    "a missing source": ([FULL, level("half", "missing", 2)], "1: there is no level 'missing'"),
    "levels are derived from each other": (
        [FULL, level("half", "third", 2), level("third", "half", 2)],
        "1: levels are derived from each other: half -> third -> half",
    ),
    "a scale along one axis": ([FULL, level("half", "full", [2])], "1/transform/scale: must be 2 finite numbers, got [2]"),
    "a scale of zero": (
        [FULL, level("half", "full", [0, 2])],
        "1/transform: maps the 2 x 3 cells of the level to 0 x 6 cells of its source, "
        + "which has 4 x 6",
    ),
    "a mistake in the source": (
        [level("full", **{"spatial:transform": [1]}), HALF],
        "0/spatial:transform: must be 6 finite numbers, got [1]",
    ),
    "a misspelt scale": ([FULL, level("half", "full", {"scales": [2, 2]})], "1/transform/scales: is unknown; did you mean 'scale'?"),
    "a misspelt source": (
        [FULL, {"asset": "half", "derived_form": "full", "transform": {"scale": [2, 2]}}],
        "1/derived_form: is unknown; did you mean 'derived_from'?",
    ),
}
# fmt: on


@rows(LEVELS)
def test_the_grid_of_a_level(nodes: Group, expected: str) -> None:
    check(nodes, expected, only="x xc y yc", group="half")


@pytest.mark.parametrize("source", [".", "", "/", "images", "/images", "a/images", "/a/images/"])
@pytest.mark.parametrize("items", [[], [level(".")]], ids=["no level", "a level"])
def test_a_level_may_be_derived_from_the_group_of_the_layout(
    source: str, items: list[Json]
) -> None:
    layout = declared(*items, level("half", source, 2), **cells(10), **UTM)
    layout["zarr_conventions"] += declaring("proj")["zarr_conventions"]
    images = Group({"v": field(4, 6), "half": of(2, 3)}, layout)
    root = Group({"a": Group({"images": images})})
    assert outcome(root, only="x", group="a/images/half")[0]["x"].values.tolist() == [110, 130, 150]
    store: Any = store_of(root)
    assert zarr_xgroup.check(store).is_clean
    sizes = {it.path: it.resolution for it in zarr_xgroup.levels(store, group="a/images")}
    assert sizes["/a/images/half"] == (20, 20)


def test_a_level_follows_no_source_whose_arrays_have_different_grids() -> None:
    mid = Group({"u": field(4, 6, **cells(20)), "w": field(4, 6, **cells(20, 1000))})
    items = (level("full"), level("mid", "full", 2), level("half", "mid", 2))
    nodes = Group({"full": of(8, 12, **cells(10)), "mid": mid, "half": of(2, 3)}, declared(*items))
    told = "its arrays have different spatial:transform, and none of them is 'v'"
    place = "/#/attributes/multiscales/layout/1/asset"
    expected = f"! Resolution: /half/v was opened without coordinates along y, x: {place}: {told}"
    check(nodes, expected, only="x y", group="half")


@rows(LOST_LEVELS, "items, text")
def test_an_invalid_level_opens_without_coordinates(items: list[Json], text: str) -> None:
    place = "/#/attributes/multiscales/layout"
    told = f"! Resolution: /half/v was opened without coordinates along y, x: {place}/{text}"
    check(pyramid(*items), f"v (y x)\n{told}", group="half")


@pytest.mark.parametrize("dims", ["y x", None])
def test_levels_may_be_arrays_of_a_group(dims: str | None) -> None:
    items = [level("full", **cells(10), **sized(4, 6)), level("half", "full", 2, **sized(2, 3))]
    members = {"full": field(4, 6, dims), "half": field(2, 3, dims)}
    found = brief(Group(members, declared(*items, **sized(9, 9))), only="x half x_half")
    assert found.startswith(
        "x (x) 105.0 115.0 125.0 135.0 145.0 155.0 | axis=X; x_half (x_half) 110.0 130.0 150.0 | "
        "axis=X; half (y_half x_half) @ x_half y_half; ! Dimension /"
    )


def test_arrays_of_a_level_follow_each_from_that_of_its_name() -> None:
    full = {
        "v": field(4, 6, **cells(1)),
        "w": field(4, 6, "b a", **cells(3), **dimensions("b", "a")),
    }
    half = {"v": field(2, 3), "w": field(2, 3, "b a", **dimensions("b", "a"))}
    root = Group({"full": Group(full), "half": Group(half)}, declared(level("full"), HALF))
    expected = "a (a) 103.0 109.0 115.0 | axis=X\nx (x) 101.0 103.0 105.0 | axis=X"
    check(root, expected, only="a x", group="half")


# What is listed: the levels of a pyramid, and how long their cells are.

DEGREES = {"proj:code": "EPSG:4326"}
THREE = {"0": of(8, 12), "1": of(4, 6), "2": of(2, 3)}
ITEMS = (level("0", **cells(10)), level("1", "0", 2), level("2", "1", 2))


def of_three(*items: Json, **attributes: Any) -> Group:
    return Group(THREE, declared(*items, **{**UTM, **attributes}))


def own(rows: int, columns: int, **more: Array) -> Group:
    """Return a group with an array that has coordinates of its own."""
    axes = {"y": rows, "x": columns}
    own = {name: stored(np.arange(float(size)), name) for name, size in axes.items()}
    return Group({**own, "v": field(rows, columns), **more})


def placed(size: int, step: float, *, values: Any = None, **attributes: Any) -> Group:
    """Return a group with an array `v` and its coordinates."""
    values = step * np.arange(float(size)) if values is None else values
    members = {name: stored(values, name, **attributes) for name in ("y", "x")}
    return Group({"v": field(size, size), **members})


def stac(rows: int, columns: int) -> Json:
    """Return the transform of an array by STAC, of cells of 10 m."""
    return {"proj:transform": [10, 0, 100, 0, -10, 200], "proj:shape": [rows, columns]}


PYRAMID = of_three(*ITEMS)
TO_40 = "/0 10 m, /1 20 m, /2 40 m"
WIDE = {"spatial:transform": [10.0, 0.0, 100.0, 0.0, -20.0, 200.0]}
#: Cells with the same sides: 20 m from one row to the next, and 10 m from one column to the next.
TURNED = {"spatial:transform": [6.0, -16.0, 100.0, 8.0, 12.0, 200.0]}
# fmt: off
#: Levels, finest first, with the length of their cells along Y and X, or once if these are the same.
LISTED: Mapping[str, tuple[Group, str]] = {
    "levels follow from one another": (PYRAMID, TO_40),
    "the layout's group is a level, and what no item names is none": (
        Group({"v": field(8, 12), "half": of(4, 6), "more": of(1, 1)},
              declared(level("."), level("half", ".", 2), **UTM, **cells(10))), "/ 10 m, /half 20 m"
    ),
    "levels at deeper paths, some of them missing": (
        Group({"a": Group(THREE)}, declared(
            level("a/0", **cells(10)), level("a/1", "a/0", 2), level("gone", "a/0", 8),
            {"derived_from": "0"}, **UTM)), "/a/0 10 m, /a/1 20 m"
    ),
    "a level is as fine as its finest array": (
        Group({
            "0": Group({
                "a": field(8, 12, **cells(10)),
                "b": field(4, 6, "v u", **cells(20), **dimensions("v", "u")),
            }),
            "1": of(2, 3, **cells(40)),
        }, declared(level("0"), level("1"), **UTM)), "/0 10 m, /1 40 m"
    ),
    "degrees": (of_three(level("0", **cells(0.1)), *ITEMS[1:], **DEGREES), "/0 0.1 degree, /1 0.2 degree, /2 0.4 degree"),
    "sides of a rotated grid": (of_three(level("0", **{"spatial:transform": [6.0, -8.0, 100.0, 8.0, 6.0, 200.0]}), *ITEMS[1:]), TO_40),
    "sides of a rotated grid that differ": (of_three(level("0", **TURNED), level("1", "0", 2)), "/0 20 x 10 m, /1 40 x 20 m"),
    # Scales of arrays with several axes.
    "numbers of scale are those of all axes": (
        Group({
            "0": Group({"v": stored(np.zeros((3, 8, 50)), "band y x")}, WIDE),
            "1": Group({"v": stored(np.zeros((3, 4, 10)), "band y x")}),
            "2": Group({"v": stored(np.zeros((3, 2, 2)), "band y x")}),
        }, declared(level("0"), level("1", "0", [1, 2, 5]), level("2", "1", [2, 5]), **UTM)),
        "/0 20 x 10 m, /1 40 x 50 m, /2 80 x 250 m"
    ),
    "numbers of scale are in the order of axes": (
        Group({"0": Group({"v": field(50, 8, "x y")}, WIDE), "2": Group({"v": field(2, 2, "x y")})},
              declared(level("0"), level("1", "0", [5, 2]), level("2", "1", [5, 2]), **UTM)),
        "/0 20 x 10 m, /2 80 x 250 m"
    ),
    # Broken layouts.
    "numbers beyond all bounds": (of_three(level("0", **cells(1e200))), "/0 ?"),
    "a scale of zero": (of_three(ITEMS[0], level("1", "0", 0), ITEMS[2]), "/0 10 m, /1 ?, /2 ?"),
    "a scale that turns": (of_three(ITEMS[0], level("1", "0", -2)), "/0 10 m, /1 20 m"),
    "paths that cannot be resolved": (of_three(ITEMS[0], level("../0"), level("a/../1"), level("\0")), "/0 10 m"),
}
# fmt: on


def listed(found: Any) -> str:
    """Return the first two columns of a table of levels."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in str(found).splitlines()[1:]]
    return ", ".join(" ".join(line[:2]) for line in lines if len(line) > 1)


@rows(LISTED, "root, expected")
def test_levels_are_listed(root: Group, expected: str) -> None:
    assert listed(zarr_xgroup.levels(store_of(root))) == expected


def test_transforms_of_stac_may_be_assumed_of_arrays_that_have_their_shape() -> None:
    arrays = {"0": field(8, 12, **stac(8, 12)), "1": field(4, 6, **stac(7, 7))}
    groups = {name: Group({"v": array}) for name, array in arrays.items()}
    store: Any = store_of(Group(groups, declared(level("0"), level("1"), **UTM)))
    assert listed(zarr_xgroup.levels(store, assume_conventions="proj")) == "/0 10 m, /1 ?"
    assert listed(zarr_xgroup.levels(store)) == "/0 ?, /1 ?"


def test_levels_are_a_table() -> None:
    chunked = {"v": Array(np.zeros((8, 12)), ("y", "x"), chunks=(4, 5))}
    wide = {"spatial:transform": [30.0, 0.0, 0.0, 0.0, -10.0, 0.0]}
    items = (level("0", **wide), level("1", "0", [1, 2]), level("2"))
    root = Group({"0": Group(chunked), "1": of(8, 6), "2": of(2, 2)}, declared(*items, **UTM))
    found = zarr_xgroup.levels(store_of(root))
    expected: Any = type(found[0])(
        "/0", (10.0, 30.0), "m", (8, 12), (4, 5), (1.0, 1.0), arrays=("v",)
    )
    assert found[0] == expected
    assert repr(found).splitlines() == [
        "level  resolution  rows x columns  chunk  factor",
        "/0     10 x 30 m   8 x 12          4 x 5  1",
        "/1     10 x 60 m   8 x 6           8 x 6  1 x 2",
        "/2     ?           2 x 2           2 x 2  ?",
    ]


def bands(size: int, *names: str, **more: Any) -> Group:
    return Group({**dict.fromkeys(names, field(size, size)), **more})


#: Levels, and the arrays that not all of them have.
BANDS: Mapping[str, tuple[Group, list[str]]] = {
    "all have the same arrays": (PYRAMID, []),
    "bands of several resolutions": (
        Group({"0": bands(8, "b02", "b03"), "1": bands(4, "b02", "b05"), "2": bands(2, "b02", "b05")}, declared(*ITEMS, **UTM)),
        ["/0: b02, b03; missing: b05", "/1, /2: b02, b05; missing: b03"],
    ),
    "a level without arrays": (Group({"0": bands(8, "v"), "1": Group()}, declared(*ITEMS, **UTM)), ["/1: no arrays; missing: v"]),
    # The coordinates and bounds of a level are not named, and an array without a grid is not missing.
    "arrays of other shapes": (
        Group({"0": Group({"v": field(8, 8), "w": field(8, 8), "x": stored(np.arange(8.0), "x")}),
               "1": Group({"v": field(4, 4), "w": field(4, 9, "y z"), "z_bnds": field(9, 2, "z n")})},
              declared(level("0", **cells(10)), level("1", **cells(20)), **UTM)), [],
    ),
    "levels are arrays of one group": (Group({"0": field(8, 8), "1": field(4, 4)}, declared(*ITEMS, **UTM)), []),
}  # fmt: skip


@rows(BANDS, "root, expected")
def test_arrays_that_only_some_levels_have(root: Group, expected: list[str]) -> None:
    store: Any = store_of(root)
    levels, explanation = zarr_xgroup.levels(store), zarr_xgroup.explain(store)
    rows_of_table = 1 + len(levels)
    assert repr(levels).splitlines()[rows_of_table:] == expected
    shown = [line.replace("/", "") for line in expected]
    assert [
        line.strip() for line in repr(explanation).splitlines() if "; missing: " in line
    ] == shown
    assert all(line in page(explanation) for line in shown)


# Which level a resolution means.

#: A pyramid, and the group that a resolution opens.
CHOSEN: Mapping[str, tuple[Group, dict[Any, str]]] = {
    "the coarsest level that is at least as fine": (
        PYRAMID,
        {
            1: "0",
            19.99: "0",
            np.float32(20): "1",
            20 * (1 - 1e-9): "1",
            39: "1",
            1e5: "2",
            (20, 40): "1",
        },
    ),
    **{
        about: (
            Group(
                {"0": of(8, 50), "1": of(4, 10)},
                declared(level("0", **transform), level("1", "0", [2, 5]), **UTM),
            ),
            {(40, 50): "1", (40, 49): "0", (39, 50): "0", (50, 40): "0", 60: "1"},
        )
        for about, transform in {
            "cells are as fine along Y, and along X": WIDE,
            "the cells of a rotated grid": TURNED,
        }.items()
    },
}


@rows(CHOSEN, "root, groups")
def test_a_resolution_opens_a_level(root: Group, groups: dict[Any, str]) -> None:
    store = store_of(root)
    for resolution, group in groups.items():
        expected = opened(xr.open_dataset, store, group=group)
        pair = resolution if isinstance(resolution, tuple) else (resolution, resolution)
        for written in (resolution, [*pair], np.array(pair)):
            dataset = opened(xr.open_dataset, store, resolution=written)
            xr.testing.assert_identical(dataset, expected)


@pytest.mark.parametrize(
    "resolution",
    [0, -1, float("nan"), float("inf"), "50", True, (1, 2, 3), (1, -1), {}],
    ids=str,
)
def test_invalid_resolutions(resolution: Any) -> None:
    with pytest.raises(ValueError, match="resolution must be a positive number, or a pair"):
        opened(xr.open_dataset, store_of(PYRAMID), resolution=resolution)


CONTRADICTED = "cell sizes by stored coordinates, which are used, contradict metadata"
# fmt: off
#: A pyramid, a resolution, how many rows the chosen level has, and what is told about the choice.
TOLD: Mapping[str, tuple[Group, float, int, str]] = {
    "levels that are not there": (
        Group({name: THREE[name] for name in "02"}, declared(*ITEMS, **UTM)), 20, 8,
        "/: levels do not exist, or their cell size is not known: /1; /0 was chosen from the others",
    ),
    "levels whose cells are of no known size": (
        of_three(ITEMS[0], level("1", **cells(20)), level("2")), 1000, 4,
        "/: levels do not exist, or their cell size is not known: /2; /1 was chosen from the others",
    ),
    "degrees for metres": (
        PYRAMID, 0.0005, 8,
        "/: resolution 0.0005 x 0.0005 is in the unit of the coordinates, m; the cells of /0 have size 10 x 10",
    ),
    "no CRS": (
        of_three(*ITEMS, **{"proj:code": None}), 1e6, 2,
        "/: resolution 1e+06 x 1e+06 is in the unit of the coordinates, which is not known; the cells of /2 have size 40 x 40",
    ),
    # The level 0 has cells of 10 m by its transform, and by its coordinates cells of 20 m.
    "stored coordinates contradict the transforms": (
        Group({"0": placed(8, 20), "1": placed(4, 40)}, declared(ITEMS[0], level("1", **cells(20)), **UTM)), 20, 8,
        f"/: {CONTRADICTED}: /0 (20 x 20 instead of 10 x 10), /1 (40 x 40 instead of 20 x 20)",
    ),
    "stored coordinates contradict a scale": (
        Group({"0": placed(8, 10), "1": placed(4, 40)}, declared(*ITEMS[:2], **UTM)), 20, 8,
        f"/: {CONTRADICTED}: /1 (40 x 40 instead of 20 x 20)",
    ),
}
# fmt: on


@rows(TOLD, "root, resolution, size, text")
def test_an_uncertain_choice_of_level_is_reported(
    root: Group, resolution: float, size: int, text: str
) -> None:
    store = store_of(root)
    dataset, told = opened_with_warnings(xr.open_dataset, store, resolution=resolution)
    assert text in [str(it) for it in told]
    assert dataset.sizes["y"] == size


NONE = "is not a pyramid, because it has no multiscales layout; open one of"
# fmt: off
#: A store, the group that is opened, and why no level of it can be chosen.
REFUSED: Mapping[str, tuple[Group, str, str]] = {
    "no size is known": (
        of_three(level("0"), level("1")), "/",
        "/: the cell sizes of its levels are not known in one unit; open one of /0, /1 with group=",
    ),
    "two units": (
        Group({"0": placed(8, 10, units="m"), "1": placed(4, 1, units="degrees_east")}, declared(level("0"), level("1"))), "/",
        "the cell sizes of its levels are not known in one unit; open one of /1, /0",
    ),
    "a transform of STAC is not assumed": (
        Group({"0": Group({"v": field(8, 12, **stac(8, 12))})}, declared(level("0"), **UTM)), "/",
        "the cell sizes of its levels are not known in one unit; open one of /0",
    ),
    "a pyramid is below": (Group({"images": PYRAMID}), "/", f"/ {NONE} /images with group="),
    "a pyramid is above": (Group({"images": PYRAMID}), "images/1", f"/images/1 {NONE} /images with group="),
    "neither a layout nor child groups": (Group({"a": field(2, 2)}), "/", "/ is not a pyramid, because it has no multiscales layout"),
    "no layout": (Group({"a": Group(THREE)}), "a", f"/a {NONE} /a/0, /a/1, /a/2"),
}
# fmt: on


@rows(REFUSED, "root, group, text")
def test_the_reason_why_no_level_can_be_chosen(root: Group, group: str, text: str) -> None:
    store: Any = store_of(root)
    with pytest.raises(XGroupGroupError, match=re.escape(text)):
        xr.open_dataset(store, engine="xgroup", group=group, resolution=10)


# Cell sizes by stored coordinates.


ROUGH, TEN = stored(np.arange(4) * 90.0, "x"), stored(np.arange(10) * 90.0, "y")
#: The levels 0 and 1, the item of level 1, and the sizes and the unit that `levels` returns.
BY_VALUES: Mapping[str, tuple[Any, Any, Any, Any]] = {
    "first and last value": (placed(8, -10), placed(4, 20), level("1"), [10, 20, "m"]),
    "of packed values": (placed(8, 1, scale_factor=10.0), placed(4, 2, scale_factor=10.0), level("1"), [10, 20, "m"]),
    "they take precedence over a scale": (placed(8, 10), placed(4, 19), level("1", "0", 2), [10, 19, "m"]),
    "they take precedence over a transform": (placed(8, 10), placed(4, 40), level("1", **cells(20)), [10, 40, "m"]),
    "they take precedence over cells of a rotated grid": (placed(8, 5), placed(4, 40), level("1", **TURNED), [5, 40, "m"]),
    "nothing is stored": (placed(8, 10), of(4, 4), level("1", **cells(20)), [10, 20, "m"]),
    "only one coordinate is stored": (placed(8, 10), Group({"v": field(4, 4), "x": ROUGH}), level("1", **cells(20)), [10, 20, "m"]),
    "a coordinate has another size": (placed(8, 10), Group({"v": field(4, 4), "x": ROUGH, "y": TEN}), level("1", **cells(20)), [10, 20, "m"]),
    "a row has no step": (placed(8, 10), placed(1, 40), level("1", **cells(20)), [10, 20, "m"]),
    "all values are the same, beside a transform": (placed(8, 10), placed(4, 0), level("1", **cells(20)), [10, 20, "m"]),
    "units of coordinates take precedence over the CRS": (placed(8, 1, units="km"), placed(4, 2, units="km"), level("1"), [1, 2, "km"]),
    "a level without coordinates follows from one with them": (placed(8, 10), of(4, 4), level("1", "0", 2), [10, 20, "m"]),
    "in degrees": (placed(8, 0.5, units="degrees_east"), placed(4, 1, units="degrees_east"), level("1"), [0.5, 1, "degree"]),
    "all values are the same": (placed(8, 0), placed(4, 20), level("1"), [20, None, "m"]),
    "not numbers": (placed(8, 0, values=np.array(["a"] * 8)), of(4, 4), level("1"), [None, None, ""]),
}  # fmt: skip


@pytest.mark.parametrize("zarr_format", [2, 3])
@rows(BY_VALUES, "finer, coarser, item, expected")
def test_stored_coordinates_show_the_size_of_cells(
    finer: Group, coarser: Group, item: Json, expected: list[Any], zarr_format: ZarrFormat
) -> None:
    *sizes, unit = expected
    root = Group({"0": finer, "1": coarser}, declared(level("0"), item, **UTM))
    found = zarr_xgroup.levels(store_of(root, zarr_format))
    assert [one.resolution and one.resolution[1] for one in found] == sizes
    assert found[0].unit == unit or sizes[0] is None


def test_stored_coordinates_show_the_size_along_the_axes_that_they_or_their_names_show() -> None:
    axes = {
        "x": stored(np.arange(0.0, 80.0, 10.0), "x"),
        "y": stored(np.arange(0.0, 80.0, 20.0), "y"),
    }
    columns_first = Group({"v": field(8, 4, "x y"), **axes})
    bands_last = Group({"v": stored(np.zeros((4, 8, 2)), "y x band"), **axes})
    layout = {"layout": [level("0"), level("1")]}
    attributes = declaring("multiscales", "proj", multiscales=layout, **UTM)
    store: Any = store_of(Group({"0": columns_first, "1": bands_last}, attributes))
    assert listed(zarr_xgroup.levels(store)) == "/0 20 x 10 m, /1 20 x 10 m"


def test_a_resolution_reads_the_stored_coordinates_of_all_levels_at_once() -> None:
    levels = {"0": placed(8, 10), "1": placed(4, 20), "2": of(2, 2)}
    root = Group(levels, declared(ITEMS[0], level("1"), level("2", "1", 2), **UTM))
    delayed: Any = DelayingStore(memory_store(build(root)), 0.02)
    zarr_xgroup.levels(delayed)
    axes = {f"{level}/{name}/c/0" for level in "01" for name in "yx"}
    assert dict(delayed.chunk_gets) == dict.fromkeys(axes, 1)
    other: Any = DelayingStore(memory_store(build(root)), 0.02)
    zarr_xgroup.explain(other)
    # The values take a round, but the levels are listed together with their documents.
    assert delayed.rounds == other.rounds
    # Nothing more is read without a resolution.
    store = recording_store(build(root))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="1")
    assert set(store.chunk_gets) == {"1/y/c/0", "1/x/c/0"}
    chosen, told = opened_with_warnings(xr.open_dataset, store, resolution=20)
    assert (dataset.identical(chosen), told) == (True, [])
    store.failing["1/x/c/0"] = OSError("no")
    with pytest.raises(XGroupStoreError, match=r"/1/x cannot be read: .* use its path as group"):
        zarr_xgroup.levels(store)


def test_sizes_are_printed_with_six_digits() -> None:
    sizes = {"0": placed(8, 10), "1": placed(4, 722.3684210526317)}
    found = zarr_xgroup.levels(store_of(Group(sizes, declared(level("0"), level("1"), **UTM))))
    assert [line.split()[1] for line in repr(found).splitlines()[1:]] == ["10", "722.368"]


#: Layouts that declare cells of 10, 20 and 40 m.
TO_COARSEN = {
    "scales": ITEMS,
    "transforms": tuple(level(name, **cells(size)) for name, size in zip("012", (10, 20, 40), strict=True)),
}  # fmt: skip


@needs_writing
@rows(TO_COARSEN, "items")
def test_a_pyramid_that_was_coarsened_and_written_again(items: Any, tmp_path: Path) -> None:
    levels = {"0": of(16, 24), "1": of(8, 12), "2": of(4, 6)}
    tree = opened(xr.open_datatree, store_of(Group(levels, declared(*items, **UTM))))
    path = tmp_path / "coarse.zarr"
    halved: Any = tree.map_over_datasets(
        lambda level: level.coarsen(x=2, y=2, boundary="trim").mean() if level.sizes else level
    )
    halved.to_zarr(path, consolidated=False)
    dataset, told = opened_with_warnings(xr.open_dataset, path, resolution=20)
    assert dataset["x"].values.tolist() == list(range(110, 350, 20))
    sizes = (
        "/0 (20 x 20 instead of 10 x 10)",
        "/1 (40 x 40 instead of 20 x 20)",
        "/2 (80 x 80 instead of 40 x 40)",
    )
    assert [str(warning) for warning in told] == [f"/: {CONTRADICTED}: {', '.join(sizes)}"]
    assert listed(zarr_xgroup.levels(path)) == "/0 20 m, /1 40 m, /2 80 m"
    assert "10 m (declared)" in repr(zarr_xgroup.explain(path))
    rules = {mistake.rule.name for mistake in zarr_xgroup.check(path).mistakes}
    assert "spatial/transform" in rules


# Trees.


def test_a_tree_keeps_one_level_of_each_layout() -> None:
    arrays = Group({"full": field(8, 12), "half": field(4, 6)}, declared(FULL, HALF, **UTM))
    tree = Group({"a": PYRAMID, "b": arrays, "unknown": of_three(level("0"), level("1"))})
    groups, told = opened_with_warnings(xr.open_groups, store_of(tree), resolution=20)
    assert {path: [*group.data_vars] for path, group in groups.items() if path.count("/") > 1} == {
        "/a/1": ["v"],
        **{f"/unknown/{name}": ["v"] for name in "012"},
    }
    assert [*groups["/b"].data_vars] == ["half"]
    assert "/unknown: Group /unknown: the cell sizes of its levels are not known" in str(told[0])


# fmt: off
#: Scale and translation of a level from one of 64 x 64 cells, its size, and whether that is possible.
SIZES = [
    (2, 0, 30, False), (2, 0, 31, True), (2, 0, 33, True), (2, 0, 34, False), (4, 0, 32, False),
    (1, 0, 32, False), (1, 16, 32, True), (0.5, 0, 128, True), (0.5, 0, 132, False),
]
# fmt: on


@pytest.mark.parametrize(("scale", "shift", "size", "fits"), SIZES)
def test_a_scale_must_fit_the_sizes_of_levels(
    scale: float, shift: int, size: int, fits: bool
) -> None:
    item = level("1", "0", {"scale": [scale, scale], "translation": [shift, shift]})
    axes = {name: stored(np.arange(float(size)), name, units="m") for name in ("y", "x")}
    located = Group({**of(size, size).members, **axes})
    for coarse in (
        located,
        of(size, size),
    ):  # with coordinates of its own, which are used, and without
        groups = {"0": of(64, 64), "1": coarse}
        store: Any = store_of(Group(groups, declared(ITEMS[0], item, **UTM)))
        found = {it.path: it.resolution for it in zarr_xgroup.levels(store)}
        by_scale = (10.0 * scale, 10.0 * scale) if fits else None
        assert found["/1"] == ((1.0, 1.0) if coarse is located else by_scale)
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="1")
    assert ("x" in dataset.coords, len(told)) == (fits, not fits)
