"""The part of a grid that lies in a bounding box."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.datasets.planning import planning
from zarr_xgroup.datasets.windows import Windows
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    declaring,
    edit,
    memory_store,
    opened,
    quietly,
    recording_store,
    stored,
    update,
)

Box = tuple[float, float, float, float]


def gridded(*transform: float, **attributes: Any) -> dict[str, Any]:
    names = declaring("spatial", "proj")
    declared = {"spatial:dimensions": ["y", "x"], "proj:code": "EPSG:32632"}
    return {**names, **declared, "spatial:transform": [*transform], **attributes}


VALUES = np.arange(80.0).reshape(8, 10)

#: 8 rows of 10 cells of 10 m: x from 100 to 200, y from 300 down to 220.
NORTH_UP = Group({"v": Array(VALUES, ("y", "x"), chunks=(3, 4))}, gridded(10, 0, 100, 0, -10, 300))


def cut(root: Group, box: Any, **options: Any) -> xr.Dataset:
    dataset: xr.Dataset = opened(xr.open_dataset, memory_store(build(root)), bbox=box, **options)
    return dataset


def refused(root: Group, box: Any, **options: Any) -> str:
    with pytest.raises(ValueError, match="bbox") as error:
        quietly(xr.open_dataset, memory_store(build(root)), engine="xgroup", bbox=box, **options)
    return str(error.value)


@pytest.mark.parametrize(
    ("box", "rows", "columns"),
    [
        ((120, 240, 150, 280), slice(2, 6), slice(2, 5)),
        ((121, 241, 149, 279), slice(2, 6), slice(2, 5)),
        ((119.999, 239.999, 150.001, 280.001), slice(2, 6), slice(2, 5)),
        ((119, 239, 151, 281), slice(1, 7), slice(1, 6)),
        ((125, 245, 125, 245), slice(5, 6), slice(2, 3)),
        ((120, 240, 120, 240), slice(6, 7), slice(2, 3)),
        ((-1e9, -1e9, 1e9, 1e9), slice(0, 8), slice(0, 10)),
        ((0, 0, 111, 225), slice(7, 8), slice(0, 2)),
        ([190, 290, 999, 999], slice(0, 1), slice(9, 10)),
        (np.array([120, 240, 150, 280]), slice(2, 6), slice(2, 5)),
    ],
    ids=str,
)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_cells_that_a_box_has_a_part_of(
    box: Any, rows: slice, columns: slice, zarr_format: ZarrFormat
) -> None:
    store = memory_store(build(NORTH_UP, zarr_format))
    dataset = opened(xr.open_dataset, store, bbox=box)
    expected = opened(xr.open_dataset, store).isel(y=rows, x=columns)
    dataset["spatial_ref"].attrs.pop("GeoTransform", None)
    xr.testing.assert_identical(dataset, expected)
    if 1 not in expected.sizes.values():
        assert quietly(dataset.rio.transform) == quietly(expected.rio.transform)


@pytest.mark.parametrize(
    ("transform", "rows", "columns"),
    [
        ((10, 0, 100, 0, -10, 300), slice(2, 6), slice(2, 5)),
        ((10, 0, 100, 0, 10, 220), slice(2, 6), slice(2, 5)),
        ((-10, 0, 200, 0, -10, 300), slice(2, 6), slice(5, 8)),
        ((-10, 0, 200, 0, 10, 220), slice(2, 6), slice(5, 8)),
    ],
    ids=["north up", "south up", "east first", "both"],
)
def test_axes_of_either_direction(
    transform: tuple[float, ...], rows: slice, columns: slice
) -> None:
    root = Group({"v": stored(VALUES, "y x")}, gridded(*transform))
    dataset = cut(root, (120, 240, 150, 280))
    np.testing.assert_array_equal(dataset["v"], VALUES[rows, columns])
    assert (dataset.x.min(), dataset.x.max()) == (125, 145)
    assert (dataset.y.min(), dataset.y.max()) == (245, 275)


def test_cells_of_node_registration_are_around_their_centres() -> None:
    attributes = gridded(10, 0, 100, 0, -10, 300, **{"spatial:registration": "node"})
    dataset = cut(Group({"v": stored(VALUES, "y x")}, attributes), (116, 276, 124, 284))
    assert (dataset.x.values.tolist(), dataset.y.values.tolist()) == ([120.0], [280.0])


def own(x: Any, y: Any, **attributes: Any) -> Group:
    coordinates = {"x": stored(x, "x"), "y": stored(y, "y")}
    data = stored(np.ones((len(y), len(x))), "y x")
    return Group({**coordinates, "v": data}, attributes)


def test_coordinates_of_the_group_itself() -> None:
    root = own(np.arange(105.0, 200, 10), np.arange(295.0, 220, -10))
    dataset = cut(root, (120, 240, 150, 280))
    assert (dataset.x.values.tolist(), dataset.y.values.tolist()) == (
        [125.0, 135.0, 145.0],
        [275.0, 265.0, 255.0, 245.0],
    )


def test_a_coordinate_that_is_no_number_is_along_no_axis() -> None:
    names = {"x": stored(np.array(["a", "b"], "U1"), "x", axis="X"), "v": stored([1.0, 2.0], "x")}
    assert "cannot be selected of group /" in refused(Group(names), (0, 0, 1, 1))


def test_a_single_coordinate_is_a_point() -> None:
    root = own([5.0], [1.0, 2.0])
    assert cut(root, (4, 1, 6, 1)).sizes == {"y": 1, "x": 1}
    assert "is outside" in refused(root, (6, 1, 7, 1))


def test_coordinates_at_distances_that_differ_have_edges_half_way() -> None:
    root = own([0.0, 1.0, 10.0, 11.0], [0.0, 4.0, 6.0])
    dataset = cut(root, (0.6, 1.9, 5.4, 2.1))
    assert (dataset.x.values.tolist(), dataset.y.values.tolist()) == ([1.0], [0.0, 4.0])
    assert refused(root, (11.6, 0, 12, 1)) == (
        "bbox (11.6, 0.0, 12.0, 1.0) is outside of the grid of group /, which spans "
        "(-0.5, -2.0, 11.5, 7.0)"
    )


@pytest.mark.parametrize("x", [[3.0, 1.0, 2.0], [1.0, 1.0, 2.0], [1.0, np.nan, 2.0]])
def test_coordinates_that_turn_round(x: list[float]) -> None:
    assert "along x do not run in one direction" in refused(own(x, [1.0, 2.0]), (0, 0, 2, 2))


@pytest.mark.parametrize(
    "box",
    [
        (201, 240, 210, 280),
        (0, 240, 99, 280),
        (120, 301, 150, 310),
        (120, 0, 150, 219),
        (200, 240, 210, 280),
        (0, 0, 1, 1),
    ],
)
def test_a_box_outside(box: Box) -> None:
    assert refused(NORTH_UP, box) == (
        f"bbox {tuple(map(float, box))} is outside of the grid of group /, which spans "
        "(100.0, 220.0, 200.0, 300.0)"
    )


@pytest.mark.parametrize(
    "box",
    [
        "1234",
        b"1234",
        ["1", 2, 3],
        "abcd",
        7,
        (1, 2, 3),
        (1, 2, 3, 4, 5),
        (1, 2, None, 4),
        (float("nan"), 0, 1, 1),
        {},
    ],
    ids=str,
)
def test_what_is_no_box(box: Any) -> None:
    store: Any = recording_store(build(NORTH_UP))
    with pytest.raises(ValueError, match=r"bbox must be four numbers \(minx, miny, maxx, maxy\)"):
        xr.open_dataset(store, engine="xgroup", bbox=box)
    assert not store.gets


@pytest.mark.parametrize("box", [(2, 0, 1, 1), (0, 2, 1, 1), (170, 0, -170, 1)])
def test_a_box_whose_ends_are_the_other_way_round(box: Box) -> None:
    assert "with minx <= maxx and miny <= maxy" in refused(NORTH_UP, box)


@pytest.mark.parametrize("box", [(-10, 0, 10, 10), (350, 0, 370, 10)])
def test_a_box_over_the_edge_of_a_grid_around_the_earth(box: Box) -> None:
    attributes = gridded(36, 0, 0, 0, -10, 40, **{"proj:code": "EPSG:4326"})
    root = Group({"v": stored(VALUES, "y x")}, attributes)
    assert "whose longitudes are from 0.0 to 360.0" in refused(root, box)
    assert cut(root, (350, 0, 360, 10)).sizes == {"y": 1, "x": 1}


def test_the_edge_of_a_grid_that_ends_before() -> None:
    attributes = gridded(1, 0, 0, 0, -1, 8, **{"proj:code": "EPSG:4326"})
    root = Group({"v": stored(VALUES, "y x")}, attributes)
    assert cut(root, (-10, 0, 3, 10)).sizes == {"y": 8, "x": 3}


# Rotated grids, and what is no grid.


TURNED = Group({"v": stored(VALUES, "y x")}, gridded(6, -8, 100, 8, 6, 300))


def test_a_rotated_grid_is_cut_around_the_box() -> None:
    whole = opened(xr.open_dataset, memory_store(build(TURNED)))
    box = (90, 340, 110, 360)
    dataset = cut(TURNED, box)
    inside = (whole.xc > 90) & (whole.xc < 110) & (whole.yc > 340) & (whole.yc < 360)
    rows, columns = (np.flatnonzero(inside.any(dim)) for dim in ("x", "y"))
    values = dataset["v"].values
    assert set(whole["v"].values[inside.values]) <= set(values.ravel())
    assert values.shape <= (np.ptp(rows) + 4, np.ptp(columns) + 4)
    assert values.size < whole["v"].size
    begin = np.argwhere(whole["v"].values == values[0, 0])[0]
    expected = whole.isel(
        y=slice(begin[0], begin[0] + values.shape[0]), x=slice(begin[1], begin[1] + values.shape[1])
    )
    xr.testing.assert_equal(dataset, expected)
    # The transform is that of the window: it is all that says where a rotated grid is.
    c, a, b, f, d, e = map(float, dataset["spatial_ref"].attrs["GeoTransform"].split())
    assert dataset.xc[0, 0].item() == pytest.approx(c + (a + b) / 2)
    assert dataset.yc[0, 0].item() == pytest.approx(f + (d + e) / 2)


def test_a_box_beside_a_rotated_grid_though_in_its_rows_and_columns() -> None:
    # The grid goes from (100, 300) to the upper right and left: the lower corners are empty.
    assert "is outside of the grid" in refused(TURNED, (150, 300, 155, 305))
    assert "is outside of the grid" in refused(TURNED, (161, 380, 170, 385))


@pytest.mark.parametrize("dropped", ["xc", "yc", ["xc", "yc"]])
def test_a_rotated_grid_whose_coordinates_are_not_wanted(dropped: Any) -> None:
    box = (90, 340, 110, 360)
    assert cut(TURNED, box, drop_variables=dropped).sizes == cut(TURNED, box).sizes


def test_a_rotated_grid_of_which_the_group_has_one_coordinate_itself() -> None:
    root = Group({**TURNED.members, "yc": stored(VALUES, "y x")}, TURNED.attrs)
    assert refused(root, (90, 340, 110, 360)) == (
        "bbox cannot be selected of group /: it has no 1-D coordinates along X and Y that run in one "
        "direction, nor a transform; select by the values of its 2-D coordinates yc, xc"
    )


def test_two_dimensional_coordinates_are_no_grid() -> None:
    lat, lon = np.mgrid[0.0:3.0, 0.0:4.0]
    members = {
        "lat": stored(lat, "r c", units="degrees_north"),
        "lon": stored(lon, "r c", units="degrees_east"),
        "v": stored(np.ones((3, 4)), "r c", coordinates="lat lon"),
    }
    assert refused(Group(members), (0, 0, 1, 1)) == (
        "bbox cannot be selected of group /: it has no 1-D coordinates along X and Y that run in one "
        "direction, nor a transform; select by the values of its 2-D coordinates lat, lon"
    )


def test_a_group_without_a_grid() -> None:
    assert "bbox cannot be selected of group /" in refused(
        Group({"t": stored([1.0, 2.0], "t")}), (0, 0, 1, 1)
    )


# Lazily, and what is handed on.


def test_only_the_chunks_of_the_part_are_read() -> None:
    store = recording_store(build(NORTH_UP))
    dataset = opened(xr.open_dataset, store, bbox=(141, 271, 159, 299))
    assert not store.chunk_gets
    np.testing.assert_array_equal(dataset["v"], VALUES[:3, 4:6])
    assert list(store.chunk_gets) == ["v/c/0/1"]


def test_chunks_of_dask_are_those_of_the_store() -> None:
    pytest.importorskip("dask")
    dataset = cut(NORTH_UP, (135, 225, 200, 285), chunks={})
    assert dataset["v"].chunks == ((2, 3, 2), (1, 4, 2))
    store: Any = memory_store(build(NORTH_UP))
    by_hand = opened(xr.open_dataset, store, chunks={})
    by_hand = by_hand.isel(y=slice(1, 8), x=slice(3, 10))
    assert dataset["v"].chunks == by_hand["v"].chunks
    xr.testing.assert_equal(dataset.compute(), by_hand.compute())
    assert cut(NORTH_UP, (140, 210, 200, 270), chunks={})["v"].chunks == ((3, 2), (4, 2))
    with pytest.warns(UserWarning, match="separate the stored chunks"):  # xarray's, and it is right
        xr.open_dataset(store, engine="xgroup", bbox=(135, 225, 200, 285), chunks={"y": 2})


@pytest.mark.skipif(not HAS_INDEX_OPTION, reason="this xarray always builds indexes")
def test_without_indexes() -> None:
    store = recording_store(build(NORTH_UP))
    dataset = opened(
        xr.open_dataset, store, bbox=(120, 240, 150, 280), create_default_indexes=False
    )
    assert dict(dataset.sizes) == {"y": 4, "x": 3}
    assert not store.chunk_gets


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
def test_a_part_pickles_small_and_is_written_as_any_other(tmp_path: Any) -> None:
    dataset = cut(NORTH_UP, (120, 240, 150, 280))
    copy = pickle.loads(pickle.dumps(dataset))
    xr.testing.assert_identical(copy, dataset)
    quietly(dataset.to_zarr, tmp_path / "s.zarr", consolidated=False)
    again = quietly(xr.open_dataset, tmp_path / "s.zarr", engine="xgroup", consolidated=False)
    np.testing.assert_array_equal(again["v"], dataset["v"])
    np.testing.assert_array_equal(again["x"], dataset["x"])


@pytest.mark.parametrize("box", [(125, 245, 125, 245), (125, 240, 125, 280)])
def test_a_single_cell_says_how_long_it_is(box: Box) -> None:
    dataset = cut(NORTH_UP, box)
    whole = opened(xr.open_dataset, memory_store(build(NORTH_UP)))
    affine = quietly(dataset.rio.transform)
    assert (affine.a, affine.e) == (10, -10)
    assert (affine.c, affine.f) == (120, float(dataset.y[0]) + 5)
    assert "GeoTransform" not in whole["spatial_ref"].attrs


@pytest.mark.parametrize("names", ["vw", "wv"])
def test_a_single_cell_of_one_grid_says_nothing_of_another_one(names: str) -> None:
    fine = stored(VALUES, "y x", **gridded(10, 0, 100, 0, -10, 300))
    attributes = gridded(20, 0, 100, 0, -20, 300) | {"spatial:dimensions": ["yy", "xx"]}
    coarse = stored(np.ones((4, 5)), "yy xx", **attributes)
    dataset = cut(Group(dict(zip(names, (fine, coarse), strict=True))), (101, 281, 119, 299))
    assert dict(dataset.sizes) == {"y": 2, "x": 2, "yy": 1, "xx": 1}
    assert "GeoTransform" not in dataset["spatial_ref"].attrs


def test_a_transform_that_the_data_carry_is_moved() -> None:
    mapping = {"GeoTransform": "100 10 0 300 0 -10", "crs_wkt": "", "grid_mapping_name": "x"}
    members = {
        "x": stored(np.arange(105.0, 200, 10), "x"),
        "y": stored(np.arange(295.0, 220, -10), "y"),
        "crs": stored(0, "", **mapping),
        "v": stored(VALUES, "y x", grid_mapping="crs"),
        "w": stored(VALUES, "y x", grid_mapping="crs"),
        "t": stored(VALUES.T, "x y", grid_mapping="crs"),
    }
    dataset = cut(Group(members), (130, 240, 150, 280))
    assert dataset["crs"].attrs["GeoTransform"] == "130.0 10.0 0.0 280.0 0.0 -10.0"
    broken = {**members, "crs": stored(0, "", **mapping | {"GeoTransform": "nonsense"})}
    assert cut(Group(broken), (130, 240, 150, 280))["crs"].attrs["GeoTransform"] == "nonsense"


@pytest.mark.parametrize("decode_coords", [True, "all", False])
def test_other_dimensions_and_options_stay(decode_coords: Any) -> None:
    cube = stored(np.arange(160.0).reshape(2, 8, 10), "t y x", **gridded(10, 0, 100, 0, -10, 300))
    line = stored(np.arange(10.0), "x")
    root = Group({"cube": cube, "line": line, "t": stored([1.0, 2.0], "t")})
    dataset = cut(root, (120, 240, 150, 280), decode_coords=decode_coords)
    assert dataset["cube"].shape == (2, 4, 3)
    np.testing.assert_array_equal(dataset["line"], [2.0, 3.0, 4.0])


def test_boundaries_are_cut_with_their_coordinate() -> None:
    def axis(first: float, step: float, name: str) -> dict[str, Any]:
        bounds = {"regular": sorted([-step / 2, step / 2])}
        values = {"values": {"regular": [first, step]}, "boundaries": bounds, "unit": "m"}
        return {"coordinates": [values], "abbreviation": name}

    cs = {"crs": [{"axes": {"y": axis(295, -10, "Y"), "x": axis(105, 10, "X")}}]}
    root = Group({"v": stored(VALUES, "y x", **declaring("cs", cs=cs))})
    dataset = cut(root, (120, 240, 150, 280))
    assert dict(dataset.sizes) == {"y": 4, "x": 3, "bounds": 2}
    assert dataset["x_bounds"].values.tolist() == [[120, 130], [130, 140], [140, 150]]


def test_a_grid_beyond_what_is_read_for_indexes() -> None:
    root = Group({"v": stored(np.zeros((2, 2)), "y x")}, gridded(1, 0, 0, 0, -1, 10**9))
    contents = edit(build(root), "v/zarr.json", update(shape=[10**9, 10**9]))
    store: Any = memory_store(contents)
    dataset = quietly(xr.open_dataset, store, engine="xgroup", bbox=(10, 10, 15, 14))
    assert dataset["v"].shape == (4, 5)


# With levels, and in trees.


def test_a_level_and_a_part_of_it() -> None:
    members = {
        "0": Group({"v": stored(VALUES, "y x")}),
        "1": Group({"v": stored(VALUES[:4, :5], "y x")}),
    }
    attributes = gridded(10, 0, 100, 0, -10, 300) | declaring("spatial", "proj", "multiscales")
    items = [{"asset": "0"}, {"asset": "1", "derived_from": "0", "transform": {"scale": [2, 2]}}]
    store = memory_store(build(Group(members, {**attributes, "multiscales": {"layout": items}})))
    dataset = opened(xr.open_dataset, store, resolution=20, bbox=(121, 241, 149, 259))
    expected = opened(xr.open_dataset, store, group="1").isel(y=slice(2, 3), x=slice(1, 3))
    np.testing.assert_array_equal(dataset["v"], expected["v"])
    tree = opened(xr.open_datatree, store, bbox=(121, 241, 149, 259))
    assert tree["0/v"].shape == (2, 3)
    assert tree["1/v"].shape == (1, 2)


def test_groups_of_a_tree_without_a_grid_stay_whole() -> None:
    groups = {"a": NORTH_UP, "b": Group({"t": stored([1.0, 2.0], "t")})}
    groups["c"] = own([1.0, 2.0], [1.0, 2.0])  # where, nobody says
    tree = opened(xr.open_datatree, memory_store(build(Group(groups))), bbox=(120, 240, 150, 280))
    assert tree["a/v"].shape == (4, 3)
    assert tree["b/t"].shape == (2,)
    assert tree["c/v"].shape == (2, 2)


def test_groups_of_a_tree_have_the_part_of_the_coordinates_that_they_inherit() -> None:
    inner = Group({"w": stored(VALUES, "y x")})
    root = Group({**NORTH_UP.members, "inner": inner}, NORTH_UP.attrs)
    tree = opened(xr.open_datatree, memory_store(build(root)), bbox=(120, 240, 150, 280))
    np.testing.assert_array_equal(tree["inner/w"], VALUES[2:6, 2:5])
    assert tree["inner/w"].dims == ("y", "x")


def test_a_tree_of_several_crss_has_no_one_box() -> None:
    degrees = Group(NORTH_UP.members, {**NORTH_UP.attrs, "proj:code": "EPSG:4326"})
    store: Any = memory_store(build(Group({"a": NORTH_UP, "b": degrees})))
    with pytest.raises(ValueError, match=r"several: EPSG:32632 \(/a/v\), EPSG:4326 \(/b/v\)"):
        quietly(xr.open_datatree, store, engine="xgroup", bbox=(120, 240, 150, 280))


def test_many_crss_are_not_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Crs] = []

    def is_same(crs: Crs, other: Crs) -> bool:
        compared.append(crs)
        return crs.text == other.text

    codes = (f"EPSG:{32601 + i}" for i in range(40))
    grids = (gridded(10, 0, 100, 0, -10, 300, **{"proj:code": code}) for code in codes)
    root = Group({f"v{i:02}": stored(VALUES, "y x", **it) for i, it in enumerate(grids)})
    with planning(memory_store(build(root)), {}) as planned:
        plans = planned.plan_group(with_indexes=True)
    monkeypatch.setattr(Crs, "is_same", is_same)
    with pytest.raises(ValueError, match=r"several: EPSG:32601 \(/v00\), .* and 10 more; open one"):
        Windows((0, 0, 1, 1), plans)
    assert len(compared) == 40


@pytest.mark.parametrize("function", [xr.open_datatree, xr.open_groups])
def test_a_tree_without_a_grid_or_elsewhere(function: Callable[..., Any]) -> None:
    empty: Any = memory_store(build(Group({"b": Group({"t": stored([1.0, 2.0], "t")})})))
    with pytest.raises(ValueError, match="bbox cannot be selected of group /"):
        quietly(function, empty, engine="xgroup", bbox=(0, 0, 1, 1))
    store: Any = memory_store(build(Group({"a": NORTH_UP})))
    with pytest.raises(ValueError, match="outside of the grid of group /a, which"):
        quietly(function, store, engine="xgroup", bbox=(0, 0, 1, 1))


def test_an_explanation_tells_of_the_whole_grid() -> None:
    store = memory_store(build(NORTH_UP))
    explanation = zarr_xgroup.explain(store, bbox=(120, 240, 150, 280))
    assert explanation.groups[0].arrays[0].shape == (8, 10)


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(st.floats(50, 250), st.floats(50, 250)),
    st.tuples(st.floats(180, 340), st.floats(180, 340)),
    st.sampled_from([-10.0, 10.0]),
    st.sampled_from([-10.0, 10.0]),
    st.booleans(),
)
def test_just_those_cells_whose_area_a_box_shares(
    xs: tuple[float, float], ys: tuple[float, float], a: float, e: float, is_stored: bool
) -> None:
    x = np.sort(100 + 10 * (np.arange(10) + 0.5))[:: int(np.sign(a))]
    y = np.sort(220 + 10 * (np.arange(8) + 0.5))[:: int(np.sign(e))]
    (left, right), (bottom, top) = sorted(xs), sorted(ys)
    is_there = left < 199.99 and right > 100.01 and bottom < 299.99 and top > 220.01
    transform = (a, 0, 100 if a > 0 else 200, 0, e, 220 if e > 0 else 300)
    root = own(x, y) if is_stored else Group({"v": stored(VALUES, "y x")}, gridded(*transform))
    store: Any = memory_store(build(root))
    if not is_there:
        return
    dataset = quietly(xr.open_dataset, store, engine="xgroup", bbox=(left, bottom, right, top))
    for name, low, high, values in (("x", left, right, x), ("y", bottom, top, y)):
        found = dataset[name].values
        surely = values[(values + 4.98 > low) & (values - 4.98 < high)]
        maybe = values[(values + 5.02 > low) & (values - 5.02 < high)]
        assert set(surely) <= set(found) <= set(maybe)
