"""The level of a pyramid that a resolution means."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import zarr_xgroup
from zarr_xgroup import XGroupGroupError
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    ZarrFormat,
    build,
    consolidate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recording_store,
    stored,
    write_local,
)
from zarr_xgroup.tests.products import write as product

UTM = {"proj:code": "EPSG:32632"}
DEGREES = {"proj:code": "EPSG:4326"}


def said(size: float, left: float = 100.0, top: float = 200.0) -> dict[str, Any]:
    return {"spatial:transform": [size, 0.0, left, 0.0, -size, top]}


def level(asset: str, source: str | None = None, scale: Any = None, **more: Any) -> dict[str, Any]:
    """Return an item that is maybe derived from another one."""
    item = {"asset": asset, **more}
    if scale is not None:
        item["transform"] = {"scale": [scale, scale] if isinstance(scale, int) else scale}
    return item if source is None else {**item, "derived_from": source}


def declared(*items: dict[str, Any], **attributes: Any) -> dict[str, Any]:
    """Return the attributes of a group with a layout, in metres if nothing else is said."""
    names = declaring("spatial", "multiscales", "proj")
    layout = {"multiscales": {"layout": [*items]}} if items else {}
    return {**names, "spatial:dimensions": ["y", "x"], **UTM, **layout, **attributes}


def field(rows: int, columns: int, dims: str = "y x", **attributes: Any) -> Array:
    return stored(
        np.arange(rows * columns, dtype="float64").reshape(rows, columns), dims, **attributes
    )


LEVELS: Mapping[str, Group | Array] = {
    "0": Group({"v": field(8, 12)}),
    "1": Group({"v": field(4, 6)}),
    "2": Group({"v": field(2, 3)}),
}
ITEMS = (level("0", **said(10.0)), level("1", "0", 2), level("2", "1", 2))
PYRAMID = Group(LEVELS, declared(*ITEMS))


def chosen(root: Group, group: str = "/", **options: Any) -> dict[str, int]:
    """Return the sizes of what is opened."""
    dataset = opened(xr.open_dataset, memory_store(build(root)), group=group, **options)
    return {str(name): size for name, size in dataset.sizes.items()}


def paths(root: Group, group: str = "/", **options: Any) -> list[str]:
    return [it.path for it in zarr_xgroup.levels(memory_store(build(root)), group, **options)]


def sizes(root: Group, group: str = "/") -> list[Any]:
    found = zarr_xgroup.levels(memory_store(build(root)), group)
    return [it.resolution and it.resolution[1] for it in found]


@pytest.mark.parametrize(
    ("resolution", "name"),
    [
        (1, "0"),
        (10, "0"),
        (19.99, "0"),
        (20, "1"),
        (np.float32(20), "1"),
        (np.int64(39), "1"),
        (40, "2"),
        (1e5, "2"),
        ((20, 40), "1"),
        ((40, 20), "1"),
        ([40, 40], "2"),
        (np.array([20, 40]), "1"),
        (20 * (1 - 1e-9), "1"),
    ],
    ids=str,
)
@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_coarsest_level_that_is_at_least_as_fine(
    resolution: Any, name: str, zarr_format: ZarrFormat, consolidated: bool
) -> None:
    store = memory_store(build(PYRAMID, zarr_format, consolidated=consolidated))
    dataset = opened(xr.open_dataset, store, resolution=resolution)
    expected = opened(xr.open_dataset, store, group=name)
    xr.testing.assert_identical(dataset, expected)
    assert dataset["v"].encoding == expected["v"].encoding
    assert dataset.rio.crs.to_epsg() == 32632


@pytest.mark.parametrize(
    "resolution",
    [0, -1, float("nan"), float("inf"), "50", "50 m", True, (1, 2, 3), (1, -1), (), {}],
    ids=str,
)
def test_what_is_no_resolution(resolution: Any) -> None:
    store: Any = recording_store(build(PYRAMID))
    with pytest.raises(ValueError, match="resolution must be a positive number, or a pair"):
        xr.open_dataset(store, engine="xgroup", resolution=resolution)
    assert not store.gets


def test_a_misspelt_option_names_those_there_are() -> None:
    store: Any = memory_store(build(PYRAMID))
    with pytest.raises(
        TypeError, match=r"has no option resolutions \(did you mean resolution\?\); .*group"
    ):
        xr.open_dataset(store, engine="xgroup", resolutions=1)


# Layouts.

ARRAYS: Mapping[str, Group | Array] = {
    "full": field(8, 12),
    "half": field(4, 6),
    "mask": field(8, 12),
}


@pytest.mark.parametrize(
    ("members", "attributes"),
    [
        (LEVELS, declared(*ITEMS)),
        (LEVELS, declared(*reversed(ITEMS))),
        (LEVELS, declared(level("0"), *ITEMS[1:], **said(10.0))),
        (
            LEVELS,
            declared(level("0", scale=1), level("1", scale=2), level("2", scale=4), **said(10.0)),
        ),
        (LEVELS, declared(*(level(str(n), **said(10.0 * 2**n)) for n in range(3)))),
        (LEVELS, declared(level("/0/", **said(10.0)), level("1/", "0", 2), level("2", "1", 2))),
        (
            {**LEVELS, "0": Group({"v": field(8, 12)}, said(10.0))},
            declared(level("0"), *ITEMS[1:]),
        ),
        (
            {**LEVELS, "0": Group({"v": field(8, 12, **said(10.0))})},
            declared(level("0"), *ITEMS[1:]),
        ),
        (
            LEVELS,
            declared(level("0"), *ITEMS[1:], **{"spatial:bbox": [100.0, 120.0, 220.0, 200.0]}),
        ),
        ({"a": Group(LEVELS)}, declared(level("a/0", **said(10.0)), level("a/1", "a/0", 2))),
        ({**LEVELS, "extra": Group({"w": field(3, 3)})}, declared(*ITEMS)),
        (LEVELS, declared(*ITEMS, level("gone", "0", 8), {"derived_from": "0"})),
    ],
    ids=[
        "derived",
        "in reverse",
        "of the whole",
        "scaled from the whole",
        "each its own",
        "with slashes",
        "of the group",
        "of the array",
        "from a box",
        "deeper",
        "beside others",
        "with one that is gone",
    ],
)
def test_kinds_of_layouts(members: Mapping[str, Group | Array], attributes: dict[str, Any]) -> None:
    root = Group(members, attributes)
    sizes = [
        quietly(xr.open_dataset, memory_store(build(root)), engine="xgroup", resolution=it).sizes
        for it in (10, 20)
    ]
    assert [dict(it) for it in sizes] == [{"y": 8, "x": 12}, {"y": 4, "x": 6}]


@pytest.mark.parametrize(("resolution", "name"), [(10, "full"), (20, "half")])
def test_levels_that_are_arrays(resolution: float, name: str) -> None:
    items = (level("full", **said(10.0)), level("half", "full", 2))
    members = {**ARRAYS, "mask": field(8, 12, **said(10.0))}
    store = memory_store(build(Group(members, declared(*items))))
    dataset = quietly(xr.open_dataset, store, engine="xgroup", resolution=resolution)
    assert set(dataset.data_vars) == {name, "mask"}
    assert dataset[name].dims == ("y", "x")
    others = {"full", "half"} - {name}
    whole = quietly(xr.open_dataset, store, engine="xgroup", drop_variables=others)
    xr.testing.assert_identical(dataset, whole)


@pytest.mark.parametrize("asset", [".", ""])
def test_the_layouts_group_may_be_a_level(asset: str) -> None:
    members: dict[str, Group | Array] = {"v": field(8, 12), "half": Group({"v": field(4, 6)})}
    root = Group(members, declared(level(asset, **said(10.0)), level("half", asset, 2)))
    assert chosen(root, resolution=10) == {"y": 8, "x": 12}
    assert chosen(root, resolution=20) == {"y": 4, "x": 6}
    assert paths(root) == ["/", "/half"]


def test_a_level_of_several_sizes_is_as_fine_as_its_finest_array() -> None:
    members = {
        "0": Group({"a": field(8, 12, **said(10.0)), "b": field(4, 6, "yb xb", **said(20.0))}),
        "1": Group({"a": field(2, 3, **said(40.0))}),
    }
    assert sizes(Group(members, declared(level("0"), level("1")))) == [10.0, 40.0]


def test_levels_with_coordinates_of_their_own() -> None:
    def placed(step: float, rows: int, columns: int) -> Group:
        y = stored(200 - step * (np.arange(rows) + 0.5), "y", units="m")
        x = stored(100 + step * (np.arange(columns) + 0.5), "x", units="m")
        return Group({"y": y, "x": x, "v": field(rows, columns)}, said(step) if step == 10 else {})

    members = {"0": placed(10.0, 8, 12), "1": placed(20.0, 4, 6), "2": placed(40.0, 2, 3)}
    root = Group(members, declared(level("0"), level("1", "0", 2), level("2", "1", 2)))
    assert sizes(root) == [10.0, 20.0, 40.0]
    assert chosen(root, resolution=25) == {"y": 4, "x": 6}


@pytest.mark.parametrize(
    ("dims", "scale"), [("y x band", [2, 5, 1]), ("y x band", [2, 5]), ("x y", [5, 2])], ids=str
)
@pytest.mark.parametrize("own", [("y", "x"), ("y",), ()], ids=str)
@pytest.mark.parametrize("has_level_between", [True, False])
def test_numbers_of_scale_stand_in_the_order_of_the_axes(
    dims: str, scale: list[int], own: tuple[str, ...], has_level_between: bool
) -> None:
    def placed(rows: int, columns: int, **attributes: Any) -> Group:
        sizes = {"y": rows, "x": columns, "band": 3}
        axes = {it: stored(np.arange(float(sizes[it])), it, units="m") for it in own}
        values = stored(np.zeros([sizes[it] for it in dims.split()]), dims)
        grid = [name for name in dims.split() if name != "band"]
        mask = stored(np.zeros([sizes[it] for it in grid]), " ".join(grid))
        return Group({**axes, "v": values, "mask": mask}, attributes)

    transform = {"spatial:transform": [10.0, 0.0, 100.0, 0.0, -20.0, 200.0]}
    members = {"0": placed(8, 50, **transform), "2": placed(2, 2)}
    members |= {"1": placed(4, 10)} if has_level_between else {}
    root = Group(members, declared(level("0"), level("1", "0", scale), level("2", "1", scale)))
    found = zarr_xgroup.levels(memory_store(build(root)))
    expected = {"/0": ((20.0, 10.0), (8, 50)), "/1": ((40.0, 50.0), (4, 10))}
    expected["/2"] = ((80.0, 250.0), (2, 2))
    assert {it.path: (it.resolution, it.shape) for it in found} == {
        f"/{name}": expected[f"/{name}"] for name in sorted(members)
    }


def test_levels_that_are_not_there_are_told_when_one_is_chosen() -> None:
    members = {name: LEVELS[name] for name in ("0", "2")}
    store = memory_store(build(Group(members, declared(*ITEMS))))
    for opens in (xr.open_dataset, xr.open_datatree):
        _opened, told = opened_with_warnings(opens, store, resolution=20)
        text = "its layout names /1, which are not there: /0 was chosen of the rest"
        assert [text in str(it) for it in told] == [True]


def test_a_geographic_grid_is_in_degrees() -> None:
    root = Group(LEVELS, declared(level("0", **said(0.1)), *ITEMS[1:], **DEGREES))
    (first, second, _third) = zarr_xgroup.levels(memory_store(build(root)))
    assert (first.resolution, first.unit) == ((0.1, 0.1), "degree")
    assert second.factor == (2.0, 2.0)
    assert chosen(root, resolution=0.2) == {"y": 4, "x": 6}


@pytest.mark.parametrize(
    ("code", "resolution", "told"),
    [
        ("EPSG:4326", 500_000, "degree, and was 500000 x 500000: cells of /2 are of 40 x 40"),
        ("EPSG:32632", 0.0005, "m, and was 0.0005 x 0.0005: cells of /0 are of 10 x 10"),
        ("EPSG:32632", 100_000, None),
        ("EPSG:4326", 1, None),
    ],
)
def test_a_resolution_that_is_far_from_all_cells_is_told_with_the_unit(
    code: str, resolution: float, told: str | None
) -> None:
    attributes = {**declared(*ITEMS), "proj:code": code}
    store = memory_store(build(Group(LEVELS, attributes)))
    _dataset, given = opened_with_warnings(xr.open_dataset, store, resolution=resolution)
    texts = [str(it) for it in given if "unit of the CRS" in str(it)]
    assert len(texts) == (told is not None)
    assert all(str(told) in text for text in texts)


def test_a_rotated_grid_has_cells_as_long_as_their_sides() -> None:
    turned: Any = {"spatial:transform": [6.0, -8.0, 100.0, 8.0, 6.0, 200.0]}
    root = Group(LEVELS, declared(level("0", **turned), *ITEMS[1:]))
    assert sizes(root) == [10.0, 20.0, 40.0]
    assert chosen(root, resolution=20) == {"y": 4, "x": 6}


def test_cells_that_are_not_square() -> None:
    wide: Any = {"spatial:transform": [30.0, 0.0, 0.0, 0.0, -10.0, 0.0]}
    members = {"0": LEVELS["0"], "1": Group({"v": field(8, 6)})}
    root = Group(members, declared(level("0", **wide), level("1", "0", [1, 2])))
    found = zarr_xgroup.levels(memory_store(build(root)))
    assert [it.resolution for it in found] == [(10.0, 30.0), (10.0, 60.0)]
    assert chosen(root, resolution=(10, 60)) == {"y": 8, "x": 6}
    assert chosen(root, resolution=(10, 59)) == {"y": 8, "x": 12}


def test_a_level_whose_cells_are_of_no_known_size_is_not_chosen_and_that_is_told() -> None:
    root = Group(LEVELS, declared(level("0", **said(10.0)), level("1", **said(20.0)), level("2")))
    dataset, told = opened_with_warnings(
        xr.open_dataset, memory_store(build(root)), resolution=1000
    )
    assert dict(dataset.sizes) == {"y": 4, "x": 6}
    assert ["the size of the cells of /2: /1 was chosen" in str(it) for it in told] == [True]
    assert sizes(root) == [10.0, 20.0, None]


@pytest.mark.parametrize(
    ("attributes", "items", "reason"),
    [
        ({}, [level("0"), level("1")], "metadata do not say the size of the cells of its levels"),
        (
            {"proj:code": None},
            ITEMS,
            "the unit of the size of cells is not known, as no CRS is declared",
        ),
        (
            {"proj:code": "EPSG:999999"},
            ITEMS,
            'is not known: /#/attributes/proj:code is no CRS that pyproj understands: "EPSG:999999"',
        ),
    ],
    ids=["no size", "no unit", "unknown CRS"],
)
def test_levels_that_cannot_be_compared(attributes: Any, items: Any, reason: str) -> None:
    store: Any = memory_store(build(Group(LEVELS, declared(*items, **attributes))))
    with pytest.raises(XGroupGroupError, match=rf"Group /: .*{reason}.*/0, /1.* by group="):
        xr.open_dataset(store, engine="xgroup", resolution=10)
    assert [it.path for it in zarr_xgroup.levels(store)][:2] == ["/0", "/1"]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([level("0", **said(1e200))], [None]),
        ([level("0", **said(1e150)), level("1", "0", [1e200, 1e200])], [1e150, None]),
        ([level("0", **said(10.0)), level("1", "0", 0), level("2", "1", 2)], [10.0, None, None]),
        ([level("0", **said(10.0)), level("1", "0", -2)], [10.0, 20.0]),
        ([level("0", **said(10.0)), level("1", "0", ["a", 2])], [10.0, None]),
        ([level("0", **said(10.0)), level("1", "0", [2])], [10.0, None]),
        ([level("0", "1", 2), level("1", "0", 2)], [None, None]),
        ([level("0", "0", 2)], [None]),
        ([level("0", **said(10.0)), level("../0"), level("a/../1"), level("\0")], [10.0]),
    ],
)
def test_broken_layouts(items: Any, expected: list[Any]) -> None:
    store: Any = memory_store(build(Group(LEVELS, declared(*items))))
    found = [it.resolution and it.resolution[0] for it in zarr_xgroup.levels(store)]
    assert found == expected
    explained = zarr_xgroup.explain(store).groups[0].levels
    assert [it.path for it in explained] == [it.path for it in zarr_xgroup.levels(store)]
    if found[0] is not None:
        assert quietly(xr.open_dataset, store, engine="xgroup", resolution=1)["v"].shape == (8, 12)


def test_levels_in_several_units_cannot_be_compared() -> None:
    one, other = declared(), declared(**DEGREES)
    members = {
        "0": Group({"v": field(8, 12)}, {**one, **said(10.0)}),
        "1": Group({"v": field(4, 6)}, {**other, **said(0.1)}),
    }
    store: Any = memory_store(build(Group(members, declared(level("0"), level("1")))))
    with pytest.raises(XGroupGroupError, match="in several units, degree, m; open one of"):
        xr.open_dataset(store, engine="xgroup", resolution=10)


# Without a layout.


def sibling(size: float) -> Group:
    """Return a group of an array on a grid of 80 m by 120 m."""
    return Group({"a": field(int(80 / size), int(120 / size))}, {**declared(), **said(size)})


@pytest.mark.parametrize(
    ("attributes", "groups"),
    [
        ({}, "/images/r10m, /images/r20m"),
        ({"multiscales": [{"version": "0.4", "datasets": [{"path": "r10m"}]}]}, "/images/r10m"),
        ({"multiscales": {"layout": []}}, "/images/r10m"),
        ({"multiscales": {"tile_matrix_set": "WebMercatorQuad"}}, "/images/r10m"),
        ({"multiscales": 7}, "/images/r10m"),
    ],
)
def test_groups_are_no_levels_unless_a_layout_says_so(attributes: Any, groups: str) -> None:
    images = Group({"r10m": sibling(10), "r20m": sibling(20)}, attributes)
    store: Any = memory_store(build(Group({"images": images})))
    reason = f"^Group /images is no pyramid: it has no layout of multiscales. .*{groups}"
    with pytest.raises(XGroupGroupError, match=reason):
        xr.open_dataset(store, engine="xgroup", group="images", resolution=10)
    with pytest.raises(XGroupGroupError, match=reason):
        zarr_xgroup.levels(store, "images")
    assert zarr_xgroup.explain(store).groups[1].levels == ()


@pytest.mark.parametrize("assumed", ["geozarr", "auto"])
def test_the_groups_of_a_tile_matrix_set_are_levels_where_geozarr_is_assumed(assumed: str) -> None:
    tiles = {
        "id": "mine",
        "crs": "EPSG:32632",
        "orderedAxes": ["E", "N"],
        "tileMatrices": [
            {
                "id": name,
                "cellSize": cell,
                "pointOfOrigin": [100.0, 200.0],
                "tileWidth": 6,
                "tileHeight": 4,
                "matrixWidth": tiles,
                "matrixHeight": tiles,
            }
            for name, cell, tiles in (("0", 20.0, 1), ("1", 10.0, 2))
        ],
    }
    members = {"0": Group({"v": field(4, 6)}), "1": Group({"v": field(8, 12)})}
    root = Group(members, {"multiscales": {"tile_matrix_set": tiles}})
    assert paths(root, assume_conventions=assumed) == ["/1", "/0"]
    assert chosen(root, resolution=20, assume_conventions=assumed) == {"y": 4, "x": 6}
    tree = opened(
        xr.open_datatree, memory_store(build(root)), resolution=10, assume_conventions=assumed
    )
    assert tree.groups == ("/", "/1")


@pytest.mark.parametrize("group", ["/", "/images/1"])
def test_the_pyramids_above_and_below_are_named(group: str) -> None:
    store: Any = memory_store(build(Group({"images": PYRAMID})))
    reason = f"Group {group} is no pyramid, but near ones are: /images; open one of these"
    with pytest.raises(XGroupGroupError, match=reason):
        xr.open_dataset(store, engine="xgroup", group=group, resolution=20)


def test_a_layout_without_any_level() -> None:
    store: Any = memory_store(build(Group({}, declared(level("0", **said(1.0)), level("1")))))
    with pytest.raises(
        XGroupGroupError, match="none of the levels that its layout names is there: /0, /1"
    ):
        xr.open_dataset(store, engine="xgroup", resolution=20)


# Trees.

TREE = Group(
    {
        "a": PYRAMID,
        "b": Group(
            {"full": ARRAYS["full"], "half": ARRAYS["half"]},
            declared(level("full", **said(10.0)), level("half", "full", 2)),
        ),
        "plain": Group({"r10m": sibling(10), "r20m": sibling(20)}),
    }
)


def test_a_tree_keeps_one_level_of_each_layout() -> None:
    tree = opened(xr.open_datatree, memory_store(build(TREE)), resolution=20)
    assert set(tree.groups) == {"/", "/a", "/a/1", "/b", "/plain", "/plain/r10m", "/plain/r20m"}
    assert set(tree["b"].to_dataset().data_vars) == {"half"}
    assert tree["a/1/v"].sizes == {"y": 4, "x": 6}
    groups = opened(xr.open_groups, memory_store(build(TREE)), resolution=20)
    assert set(groups) == set(tree.groups)


def test_a_layout_of_a_tree_of_which_no_level_can_be_chosen_keeps_all() -> None:
    root = Group({"a": PYRAMID, "b": Group(LEVELS, declared(level("0"), level("1"), level("2")))})
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(build(root)), resolution=20)
    assert {it for it in tree.groups if it.startswith(("/a/", "/b/"))} == {
        "/a/1",
        "/b/0",
        "/b/1",
        "/b/2",
    }
    assert any("Group /b: metadata do not say the size" in str(it) for it in told)


def test_a_tree_without_a_layout() -> None:
    store: Any = memory_store(build(Group({"a": Group({"v": field(1, 1)})})))
    with pytest.raises(XGroupGroupError, match="Group / is no pyramid"):
        xr.open_datatree(store, engine="xgroup", resolution=20)


def test_levels_within_levels() -> None:
    inner = Group({"v": field(8, 12), "half": Group({"v": field(4, 6)})})
    root = Group({"0": inner}, declared(level("0", **said(10.0)), level("0/half", "0", 2)))
    tree = opened(xr.open_datatree, memory_store(build(root)), resolution=20)
    assert tree["0"].to_dataset().data_vars.keys() == set()
    assert tree["0/half/v"].shape == (4, 6)
    assert opened(xr.open_datatree, memory_store(build(root)), resolution=10).groups == ("/", "/0")


# What is listed.


def test_levels_are_listed_as_a_table() -> None:
    chunked = {"v": Array(np.zeros((8, 12)), ("y", "x"), chunks=(4, 5))}
    root = Group({**LEVELS, "0": Group(chunked)}, declared(*ITEMS))
    found = zarr_xgroup.levels(memory_store(build(root)))
    assert found[0] == type(found[0])("/0", (10.0, 10.0), "m", (8, 12), (4, 5), (1.0, 1.0))
    assert repr(found).splitlines() == [
        "level  resolution  rows x columns  of a chunk  factor",
        "/0     10 m        8 x 12          4 x 5       1",
        "/1     20 m        4 x 6           4 x 6       2",
        "/2     40 m        2 x 3           2 x 3       4",
    ]


def test_an_explanation_has_the_levels_of_each_pyramid() -> None:
    explanation = zarr_xgroup.explain(memory_store(build(TREE)))
    found = {it.path: [level.path for level in it.levels] for it in explanation.groups}
    assert {path: levels for path, levels in found.items() if levels} == {
        "/a": ["/a/0", "/a/1", "/a/2"],
        "/b": ["/b/full", "/b/half"],
    }
    lines = [" ".join(line.split()) for line in repr(explanation).splitlines()]
    assert "│ level resolution rows x columns of a chunk factor" in lines
    assert any("half 20 m 4 x 6 " in line and line.endswith(" 2") for line in lines)
    kept = zarr_xgroup.explain(memory_store(build(TREE)), resolution=20)
    assert {it.path for it in kept.groups} == {
        "/",
        "/a",
        "/a/1",
        "/b",
        "/plain",
        "/plain/r10m",
        "/plain/r20m",
    }


def test_many_levels_are_counted_beside_a_group() -> None:
    members = {str(n): Group({"v": field(2, 2)}) for n in range(30)}
    items = [level("0", **said(1.0)), *(level(str(n), str(n - 1), 2) for n in range(1, 30))]
    explanation = zarr_xgroup.explain(memory_store(build(Group(members, declared(*items)))))
    assert "... 11 more lines" in repr(explanation)


def test_a_long_chain_of_levels_with_coordinates_of_their_own() -> None:
    members = {str(n): Group({"v": field(2, 2)}) for n in range(300)}
    items = [level(str(n), str(n - 1) if n else None, 1 if n else None) for n in range(300)]
    found = zarr_xgroup.levels(memory_store(build(Group(members, declared(*items)))))
    assert {it.resolution for it in found} == {None}


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(2, 4), st.floats(0.01, 1e5))
def test_the_same_rule_for_any_pyramid(count: int, factor: int, resolution: float) -> None:
    widths = [factor ** (count - n) for n in range(count)]
    members = {str(n): Group({"v": field(1, width)}) for n, width in enumerate(widths)}
    items = [level(str(n), str(n - 1), factor) for n in range(1, count)]
    root = Group(members, declared(level("0", **said(1.0)), *items))
    fitting = [n for n in range(count) if factor**n <= resolution]
    store = memory_store(build(root))
    dataset = quietly(xr.open_dataset, store, engine="xgroup", resolution=resolution)
    assert dataset.sizes["x"] == widths[max(fitting, default=0)]


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    ("scale", "shift", "size", "is_possible"),
    [
        (2, 0, 32, True),
        (4, 0, 32, False),
        (1, 0, 32, False),
        (1, 16, 32, True),  # a part
        (2, 0, 33, True),
        (2, 0, 34, False),
        (2, 0, 31, True),
        (2, 0, 30, False),
        (-2, 64, 32, True),
        (0.5, 0, 128, True),
        (0.5, 0, 132, False),
    ],
)
def test_a_level_whose_scale_contradicts_its_size_is_of_no_known_size(
    scale: float, shift: float, size: int, is_possible: bool, own: bool
) -> None:
    step = 10.0 * abs(scale)
    axes = {name: stored(np.arange(float(size)), name, units="m") for name in ("y", "x") if own}
    relation = {"scale": [scale, scale], "translation": [shift, shift]}
    item = {"asset": "1", "derived_from": "0", "transform": relation}
    members = {"0": Group({"v": field(64, 64)}), "1": Group({**axes, "v": field(size, size)})}
    store = memory_store(build(Group(members, declared(level("0", **said(10.0)), item))))
    found = {it.path: it.resolution for it in zarr_xgroup.levels(store)}
    assert found == {"/0": (10.0, 10.0), "/1": (step, step) if is_possible else None}
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="1")
    assert ("x" in dataset.coords) == (own or is_possible)
    errors = [] if own or is_possible else ["/#/attributes/multiscales/layout/1/transform"]
    assert [str(it).split(": ")[1] for it in told] == errors
    mistakes = zarr_xgroup.check(store).mistakes
    assert [str(it.place) for it in mistakes if it.severity == "error"] == errors
    if errors:
        assert f"{size} x {size} cells of the level span" in str(told[0])
        assert mistakes[0].remedy == f'write "scale": [{64 / size}, {64 / size}]'


# What is read.


@pytest.mark.parametrize("consolidated", [False, True])
def test_only_documents_are_read(consolidated: bool) -> None:
    contents = build(PYRAMID, consolidated=consolidated)
    store = recording_store(contents)
    dataset = opened(xr.open_dataset, store, resolution=20)
    assert not store.chunk_gets
    assert set(store.metadata_gets.values()) == {1}
    dataset["v"].load()
    assert list(store.chunk_gets) == ["1/v/c/0/0"]


# Products.


@pytest.mark.parametrize("consolidated", [False, True])
def test_a_product_whose_transforms_are_those_of_stac(tmp_path: Path, consolidated: bool) -> None:
    path = product("sentinel2_l1c_geozarr_v3", tmp_path / "product")
    if consolidated:
        keys = [key for key in path.rglob("*") if key.is_file()]
        contents = {str(key.relative_to(path)): key.read_bytes() for key in keys}
        write_local(consolidate(contents), path)
    options: dict[str, Any] = {"engine": "xgroup", "group": "measurements/reflectance"}
    for resolution, name in (
        (10, "r10m"),
        (50, "r20m"),
        (130, "r120m"),
        (722, "r360m"),
        (723, "r720m"),
    ):
        dataset = quietly(
            xr.open_dataset, path, resolution=resolution, assume_conventions="proj", **options
        )
        expected = quietly(
            xr.open_dataset,
            path,
            assume_conventions="proj",
            **{**options, "group": f"measurements/reflectance/{name}"},
        )
        assert dataset.sizes == expected.sizes
        assert set(dataset.variables) == set(expected.variables)
    with pytest.raises(XGroupGroupError, match="unless assume_conventions='proj'"):
        xr.open_dataset(path, resolution=10, **options)


def test_bands_of_a_product_that_are_in_one_resolution_each_are_no_pyramid(tmp_path: Path) -> None:
    path = product("sentinel2_l1c_eopf_v2", tmp_path / "product")
    with pytest.raises(XGroupGroupError, match=r"no layout.* /measurements/reflectance/r10m, /"):
        zarr_xgroup.levels(path, "measurements/reflectance", assume_conventions="proj")
