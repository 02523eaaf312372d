"""The `multiscales` layout: which of its items is about an array."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import XGroupDimensionWarning
from zarr_xgroup.conventions.multiscales import Layout
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
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


def test_the_nearest_layout_that_has_it_counts() -> None:
    inner = Group({"0": Group({"v": field()}), "1": Group({"v": field()})}, layout(item("1", 2.0)))
    items = [item("a/0", 4.0), item("a/1", 6.0), item("0", 8.0), item(None, 1.0), item(1, 1.0)]
    root = Group({"a": inner}, layout(*items))
    assert firsts(root) == {"/a/0": 2.0, "/a/1": 1.0}


# Which attribute counts, and levels that follow from others.


def of_shape(rows: int, columns: int, dims: str | None = "y x", **attributes: Any) -> Array:
    names = (None, None) if dims is None else tuple(dims.split())
    return Array(np.ones((rows, columns)), names, attributes)


def said(size: float, left: float = 0.0, top: float = 0.0) -> dict[str, Any]:
    return {"spatial:transform": [size, 0.0, left, 0.0, -size, top]}


def level(asset: str, source: Any = None, scale: Any = None, **more: Any) -> dict[str, Any]:
    """Return an item that is maybe derived from another one."""
    item = {"asset": asset, **more}
    if scale is not None:
        item["transform"] = {"scale": scale} if isinstance(scale, list) else scale
    return item if source is None else {**item, "derived_from": source}


def pyramid(
    members: Mapping[str, Group | Array], *items: dict[str, Any], **attributes: Any
) -> Group:
    return Group(members, {**layout(*items), **attributes})


def grid_of(root: Group, path: str) -> tuple[float, float, float, float]:
    """Return the cell size along x and y, and the upper left corner, of an array; nothing is told."""
    grid, told = grid_told(root, path)
    assert told == []
    return grid  # type: ignore[no-any-return]


def grid_told(root: Group, path: str) -> tuple[Any, list[str]]:
    """Return the same, None without coordinates, and what is told but for dimensions that differ."""
    group, _slash, name = path.rpartition("/")
    store = memory_store(build(root))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group=group or "/")
    texts = [str(it) for it in told if not isinstance(it, XGroupDimensionWarning)]
    array = dataset[name]
    dims = [next(str(dim) for dim in array.dims if str(dim).startswith(it)) for it in "yx"]
    if not set(dims) <= set(array.coords):
        return None, texts
    y, x = (array[dim].values for dim in dims)
    size_x, size_y = float(x[1] - x[0]), float(y[0] - y[1])
    return (size_x, size_y, float(x[0]) - size_x / 2, float(y[0]) + size_y / 2), texts


def arrays(**attributes: Any) -> dict[str, Group | Array]:
    """Return a pyramid of arrays."""
    return {"full": of_shape(6, 12, **attributes), "half": of_shape(3, 6)}


def groups(**attributes: Any) -> dict[str, Group | Array]:
    """Return a pyramid of groups."""
    return {
        "full": Group({"v": of_shape(6, 12)}, attributes),
        "half": Group({"v": of_shape(3, 6)}),
    }


TENS = (10.0, 10.0, 100.0, 200.0)
TWENTIES = (20.0, 20.0, 100.0, 200.0)
ON_GROUP = said(10.0, 100.0, 200.0)


@pytest.mark.parametrize(
    ("full", "half"),
    [
        (level("full", **ON_GROUP), level("half", **said(20.0, 100.0, 200.0))),
        (level("full"), level("half", "full", [2, 2])),
        (level("full", scale=[1, 1]), level("half", "full", [2, 2])),
    ],
    ids=["transforms", "derived", "scaled 1"],
)
@pytest.mark.parametrize("kind", ["arrays", "groups"])
def test_a_transform_of_the_layouts_group_is_the_full_level(
    full: dict[str, Any], half: dict[str, Any], kind: str
) -> None:
    members, name = (arrays(), "") if kind == "arrays" else (groups(), "/v")
    root = pyramid(members, full, half, **ON_GROUP, **{"spatial:shape": [6, 12]})
    assert grid_of(root, f"full{name}") == TENS
    assert grid_of(root, f"half{name}") == TWENTIES


def test_a_transform_of_the_layouts_group_is_of_no_array_that_an_item_is_about() -> None:
    members = {**arrays(), "other": of_shape(5, 11)}
    root = pyramid(members, level("full"), level("half"), **ON_GROUP)
    assert grid_told(root, "full")[0] is None
    assert grid_told(root, "half")[0] is None
    assert grid_told(root, "other")[0] == TENS


def test_the_shape_of_an_item_names_dimensions() -> None:
    members = {"full": of_shape(6, 12, None), "half": of_shape(3, 6, None)}
    items = (
        level("full", **{"spatial:shape": [6, 12]}),
        level("half", "full", [2, 2], **{"spatial:shape": [3, 6]}),
    )
    root = pyramid(members, *items, **ON_GROUP, **{"spatial:shape": [6, 12]})
    assert grid_of(root, "half") == TWENTIES


#: Where a source may say its grid: on its array, its group, its item, its group as the layout's.
SOURCES: Mapping[str, Callable[[dict[str, Any]], tuple[Group, Any, Any]]] = {
    "array": lambda said: (Group({"v": of_shape(6, 12, **said)}), {}, {}),
    "group": lambda said: (Group({"v": of_shape(6, 12)}, said), {}, {}),
    "item": lambda said: (Group({"v": of_shape(6, 12)}), said, {}),
    "layout": lambda said: (Group({"v": of_shape(6, 12)}), {}, said),
}
BOXED = {"spatial:bbox": [100.0, 140.0, 220.0, 200.0]}


@pytest.mark.parametrize("kind", [ON_GROUP, BOXED], ids=["transform", "box"])
@pytest.mark.parametrize("asset", [".", ""])
def test_the_layouts_group_may_be_a_level(asset: str, kind: dict[str, Any]) -> None:
    members: dict[str, Group | Array] = {"v": of_shape(6, 12), "half": Group({"v": of_shape(3, 6)})}
    root = pyramid(members, level(asset), level("half", asset, [2, 2]), **kind)
    assert grid_of(root, "v") == TENS
    assert grid_of(root, "half/v") == TWENTIES


def test_a_source_that_has_no_array_of_the_name() -> None:
    members = {
        "full": Group({"line": stored(np.ones(6), "y"), "wide": of_shape(6, 12)}),
        "half": Group({"v": of_shape(2, 3)}),
    }
    items = (level("full", **{"spatial:shape": [6, 12]}), level("half", "full", [4, 4]))
    root = pyramid(members, *items, **BOXED)
    assert grid_of(root, "half/v") == (40.0, 40.0, 100.0, 200.0)


@pytest.mark.parametrize("wide", [{}, BOXED], ids=["nothing", "box"])
def test_a_level_scaled_by_no_source_follows_from_nothing(wide: dict[str, Any]) -> None:
    root = pyramid(arrays(), level("full"), level("half", scale=[2, 2]), **wide)
    grid, texts = grid_told(root, "half")
    assert grid is None
    assert any("spatial:bbox: was not used" in text for text in texts) == bool(wide)


def test_arrays_of_a_level_follow_each_its_own() -> None:
    full = Group({"v": of_shape(6, 12, **said(1.0)), "w": of_shape(6, 12, **said(3.0))})
    members = {"full": full, "half": Group({"v": of_shape(3, 6), "w": of_shape(3, 6)})}
    root = pyramid(members, level("full"), level("half", "full", [2, 2]))
    assert grid_told(root, "half/v")[0][0] == 2.0
    groups = opened_with_warnings(xr.open_groups, memory_store(build(root)))[0]
    steps = {
        float(groups["/half"][name].coords[dim].diff(dim)[0])
        for name in ("v", "w")
        for dim in groups["/half"][name].dims
        if str(dim).startswith("x")
    }
    assert steps == {2.0, 6.0}


def test_a_derived_level_outside_of_the_box_is_told() -> None:
    members: dict[str, Group | Array] = {"full": of_shape(6, 12), "part": of_shape(2, 4)}
    cut = level("part", "full", {"scale": [1, 1], "translation": [8, 4]})
    _grid, told = grid_told(pyramid(members, level("full"), cut, **BOXED), "part")
    assert len(told) == 1
    assert "but the transform gives [140.0, 100.0, 180.0, 120.0]" in told[0]


def test_a_box_is_not_divided_where_the_source_is_nowhere() -> None:
    half = level("half", "full", [2, 2], **BOXED)
    found, told = grid_told(pyramid(groups(), level("full"), half), "half/v")
    assert found is None
    assert len(told) == 1
    assert "follows that of another level" in told[0]


@pytest.mark.parametrize(
    ("half", "meant"),
    [
        (level("half", "full", {"scales": [2, 2]}), "scale"),
        (level("half", "full", transfrom={"scale": [2, 2]}), "transform"),
        ({"asset": "half", "derived_form": "full", "transform": {"scale": [2, 2]}}, "derived_from"),
    ],
    ids=str,
)
def test_a_key_of_a_level_that_is_misspelt_costs_the_level(half: Any, meant: str) -> None:
    full = level("full", **ON_GROUP)
    found, told = grid_told(pyramid(arrays(), full, half), "half")
    assert found is None
    assert len(told) == 1
    assert f"was {meant!r} meant?" in told[0]
    assert grid_told(pyramid(arrays(), full, half), "full")[0] == TENS


@pytest.mark.parametrize("own", ["pixel", None])
@pytest.mark.parametrize("place", SOURCES)
def test_registration_follows_the_same_way(place: str, own: str | None) -> None:
    node = {"spatial:registration": "node"}
    group, item, whole = SOURCES[place]({**ON_GROUP, **node})
    half = {} if own is None else {"spatial:registration": own}
    members = {"full": group, "half": Group({"v": of_shape(3, 6)}, half)}
    root = pyramid(members, level("full", **item), level("half", "full", [2, 2]), **whole)
    corner = (90.0, 210.0) if own is None else (100.0, 200.0)
    assert grid_of(root, "half/v") == (20.0, 20.0, *corner)


def test_both_items_of_an_array_count_before_and_after_its_group() -> None:
    first = Group({"v": of_shape(3, 6)}, said(2.0, 5.0))
    items = (level("0", **said(4.0)), level("0/v", **{"spatial:registration": "node"}))
    root = pyramid({"0": first}, *items)
    assert grid_of(root, "0/v") == (2.0, 2.0, 4.0, 1.0)


def chain(kind: str, count: int, *, is_whole: bool = True) -> Group:
    """Return a pyramid in which each level is derived from the one before."""
    first = level("0", **(ON_GROUP if is_whole else {}))
    items = [level(str(n), str(n - 1), [1, 1]) for n in range(1, count)]
    array = of_shape(2, 3)
    members = {str(n): array if kind == "arrays" else Group({"v": array}) for n in range(count)}
    return pyramid(members, first, *items)


def test_a_chain_beyond_the_depth_of_recursion() -> None:
    assert grid_of(chain("groups", 1200), "1199/v") == TENS


def rules_broken(root: Group) -> set[tuple[str, str]]:
    """Return the rules on grids and layouts that `check` finds broken, each with its place."""
    mistakes = zarr_xgroup.check(memory_store(build(root))).mistakes
    found = {(it.rule.name, str(it.place)) for it in mistakes}
    return {it for it in found if it[0].startswith(("spatial/", "multiscales/"))}


def test_check_knows_the_layouts_group_as_a_level() -> None:
    members: dict[str, Group | Array] = {"v": of_shape(6, 12), "half": Group({"v": of_shape(3, 6)})}
    root = pyramid(members, level("."), level("half", ".", [2, 2]), **ON_GROUP)
    assert rules_broken(root) == set()


def test_check_takes_the_attributes_that_an_open_takes() -> None:
    # The transform and shape of the group are not those of arrays that items are about.
    items = (
        level("full", **ON_GROUP, **{"spatial:shape": [6, 12]}),
        level("half", **said(20.0, 100.0, 200.0), **{"spatial:shape": [3, 6]}),
    )
    root = pyramid(arrays(), *items, **said(1.0), **BOXED, **{"spatial:shape": [60, 120]})
    assert rules_broken(root) == set()


def seconds_to_read(count: int) -> float:
    """Return how long the processor takes to read levels that follow from none that there is."""
    levels = [{"asset": f"level{n}", "derived_from": f"other{n}"} for n in range(count)]
    written = Fragment(Node(0, ""), ("attributes", "multiscales"), {"layout": levels})
    times = []
    for _time in range(5):  # of which the least is what it takes where nothing else is done
        began = time.thread_time()
        layout = Layout.read(written)
        times.append(time.thread_time() - began)
        assert len(layout.wrong) == count
    return min(times)


def test_many_levels_that_follow_from_none_take_a_time_that_grows_with_their_number() -> None:
    seconds_to_read(10)
    assert seconds_to_read(1000) < 30 * seconds_to_read(100)
