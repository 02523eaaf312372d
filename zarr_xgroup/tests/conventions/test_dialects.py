"""Dialects seen in published stores: what their authors mean, whichever way they write it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version

from zarr_xgroup import XGroupDimensionWarning, XGroupNoPrincipalWarning
from zarr_xgroup.tests.builders import (
    UUIDS,
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    recorded,
)

Json: TypeAlias = dict[str, Any]

GRID = {"spatial:dimensions": ["y", "x"], "spatial:transform": [10, 0, 0, 0, -10, 100]}

both_formats = pytest.mark.parametrize("zarr_format", [2, 3])

#: xarray writes by zarr 3 since that version.
needs_writing = pytest.mark.skipif(
    Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr"
)


def band(*shape: int, dims: Any = ("y", "x"), **attributes: Any) -> Array:
    """Return an array of zeros."""
    return Array(np.zeros(shape), dims, attributes)


def dataset_of(members: Any, attributes: Json, zarr_format: ZarrFormat = 3) -> xr.Dataset:
    """Return the root of a store, which gives no warning."""
    store = memory_store(build(Group(members, attributes), zarr_format))
    dataset: xr.Dataset = opened(xr.open_dataset, store)
    return dataset


def epsg_of(dataset: xr.Dataset) -> int | None:
    """Return the code of the CRS that rioxarray finds."""
    crs = dataset.rio.crs
    return None if crs is None else int(crs.to_epsg())


# Bands of several sizes in one group.


@both_formats
def test_arrays_that_share_a_size_share_the_renamed_dimension(zarr_format: ZarrFormat) -> None:
    dims = ("Y", "X")
    bands = {
        "B01": band(2, 2, dims=dims),
        "B02": band(6, 6, dims=dims),
        "B05": band(4, 4, dims=dims),
        "B8A": band(4, 4, dims=dims),
        "TCI": band(3, 6, 6, dims=("band", *dims)),
    }
    grid = {"spatial:dimensions": ["Y", "X"], "spatial:bbox": [0, 0, 12, 12]}
    store = memory_store(build(Group(bands, declaring("spatial", **grid)), zarr_format))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert {type(warning) for warning in told} == {XGroupDimensionWarning}
    assert dataset["B01"].dims == ("Y", "X")
    assert dataset["B02"].dims == ("Y_B02", "X_B02")
    assert dataset["B8A"].dims == dataset["B05"].dims == ("Y_B05", "X_B05")
    assert (dataset["TCI"].isel(band=0, drop=True) - dataset["B02"]).dims == ("Y_B02", "X_B02")
    # Each size has coordinates of its own.
    assert [dataset[name].shape for name in ("X", "X_B02", "X_B05")] == [(2,), (6,), (4,)]
    assert dataset["X_B05"].values.tolist() == [1.5, 4.5, 7.5, 10.5]


# The box of all levels, and of one.


@pytest.mark.parametrize(
    ("box", "is_told"),
    [
        ([0, 50, 50, 100], False),  # the full level's, whose last cells this one's overhang
        ([0, 40, 60, 100], False),
        ([0, 20, 80, 100], False),
        ([0, 19, 60, 100], True),
        ([0, 40, 81, 100], True),
    ],
)
def test_a_box_is_compared_within_a_cell_of_the_level(box: list[float], is_told: bool) -> None:
    grid = {**GRID, "spatial:transform": [20, 0, 0, 0, -20, 100], "spatial:bbox": box}
    store = memory_store(build(Group({"a": band(3, 3)}, declaring("spatial", **grid))))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].values.tolist() == [10.0, 30.0, 50.0]
    assert ["but the transform gives" in str(warning) for warning in told] == [True] * is_told


def test_cells_that_are_longer_than_wide_are_compared_along_each_axis() -> None:
    grid = {**GRID, "spatial:transform": [1, 0, 0, 0, -100, 300], "spatial:bbox": [0, 0, 9, 300]}
    store = memory_store(build(Group({"a": band(3, 3)}, declaring("spatial", **grid))))
    (warning,) = opened_with_warnings(xr.open_dataset, store)[1]
    assert "spatial:bbox: is [0.0, 0.0, 9.0, 300.0]" in str(warning)


# Arrays without names for their dimensions.


@both_formats
@pytest.mark.parametrize(
    ("shape", "told_shape", "dims"),
    [
        ((3, 4, 4), None, ("phony_dim_0", "y", "x")),
        ((4, 4, 4), None, ("phony_dim_0", "y", "x")),
        ((2, 3, 4, 5), None, ("phony_dim_0", "phony_dim_1", "y", "x")),
        ((4, 5), None, ("y", "x")),
        ((3, 4, 5), [4, 5], ("phony_dim_0", "y", "x")),
        ((4, 4, 4), [4, 4], ("phony_dim_0", "y", "x")),
        ((9,), None, ("phony_dim_0",)),
    ],
)
def test_the_last_dimensions_without_names_are_those_of_the_grid(
    shape: tuple[int, ...],
    told_shape: list[int] | None,
    dims: tuple[str, ...],
    zarr_format: ZarrFormat,
) -> None:
    attributes = declaring("spatial", **GRID)
    if told_shape is not None:
        attributes["spatial:shape"] = told_shape
    members = {"TCI": band(*shape, dims=None)}
    store = memory_store(build(Group(members, attributes), zarr_format))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert {type(warning) for warning in told} == {XGroupDimensionWarning}
    assert dataset["TCI"].dims == dims
    assert set(dataset.coords) == {"y", "x"} & set(dims)


def test_bands_without_names_share_the_grid() -> None:
    members = {"TCI": band(3, 4, 4, dims=None), "red": band(4, 4, dims=None)}
    store = memory_store(build(Group(members, declaring("spatial", **GRID))))
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    assert (dataset["TCI"].isel(phony_dim_0=0) - dataset["red"]).dims == ("y", "x")
    assert dataset["red"].y.values.tolist() == [95.0, 85.0, 75.0, 65.0]


# Levels of more than two axes.


def pyramid(level: dict[str, Array], transform: Json) -> Any:
    """Return a store of two levels, the second of which follows from the first."""
    layout = [{"asset": "0"}, {"asset": "1", "derived_from": "0", "transform": transform}]
    full = Group({"d": band(2, 5, 5, dims=("time", "y", "x"))}, GRID)
    attributes = declaring("spatial", "multiscales", multiscales={"layout": layout})
    attributes["spatial:dimensions"] = ["y", "x"]
    return memory_store(build(Group({"0": full, "1": Group(level)}, attributes)))


@pytest.mark.parametrize(
    ("dims", "scale", "translation"),
    [
        (("time", "y", "x"), [1, 2, 4], [0, 0.5, 1]),
        (("y", "x", "time"), [2, 4, 1], [0.5, 1, 0]),
        (("x", "time", "y"), [4, 1, 2], [1, 0, 0.5]),
        (("time", "y", "x"), [2, 4], [0.5, 1]),
        (("time", "z", "y", "x"), [1, 7, 2, 4], [0, 7, 0.5, 1]),
    ],
)
def test_scale_and_translation_have_a_number_for_each_axis(
    dims: tuple[str, ...], scale: list[float], translation: list[float]
) -> None:
    # A level's mask has fewer axes than its data.
    levels = {"d": band(*(2 for _dim in dims), dims=dims), "mask": band(2, 2)}
    store = pyramid(levels, {"scale": scale, "translation": translation})
    level = opened(xr.open_datatree, store)["1"].to_dataset()
    assert level["x"].values.tolist() == [30.0, 70.0]
    assert level["y"].values.tolist() == [85.0, 65.0]
    assert level["mask"].dims == ("y", "x")


def test_numbers_for_other_axes_than_there_are_are_told() -> None:
    store = pyramid({"d": band(2, 2)}, {"scale": [1, 2, 2]})
    tree, (warning,) = opened_with_warnings(xr.open_datatree, store)
    assert "/transform/scale: must be 2 finite numbers, got [1, 2, 2]" in str(warning)
    assert set(tree["1"].coords) == set()


# The CRS directly in a coordinate reference system of `cs`.

AXES = {name: {"coordinates": [{"values": {"regular": [0.5, 1.0]}}]} for name in ("y", "x")}


@both_formats
@pytest.mark.parametrize(
    "identity", [{"proj:code": "EPSG:32632"}, {"proj:epsg": 32632}, {"id": {"proj:epsg": 32632}}]
)
def test_a_crs_of_cs_says_itself_which_one_it_is(identity: Json, zarr_format: ZarrFormat) -> None:
    cs = {"crs": [{**identity, "axes": AXES}]}
    dataset = dataset_of({"a": band(3, 4, **declaring("cs", cs=cs))}, {}, zarr_format)
    assert epsg_of(dataset) == 32632


def test_the_id_of_a_crs_counts_before_what_stands_beside_it() -> None:
    cs = {"crs": [{"proj:epsg": 32632, "id": {"proj:epsg": 32633}, "axes": AXES}]}
    assert epsg_of(dataset_of({"a": band(3, 4, **declaring("cs", cs=cs))}, {})) == 32633


def test_a_geographic_crs_of_cs_makes_degrees_longitudes() -> None:
    axes = {
        name: {"abbreviation": name.upper(), "coordinates": [{"unit": "degrees", **values}]}
        for name in ("y", "x")
        for values in AXES[name]["coordinates"]
    }
    cs = {"crs": [{"proj:code": "EPSG:4326", "axes": axes}]}
    dataset = dataset_of({"a": band(3, 4, **declaring("cs", cs=cs))}, {})
    assert dataset["x"].attrs["standard_name"] == "longitude"
    assert dataset["y"].attrs["standard_name"] == "latitude"


# How conventions are declared, and how far that reaches.


@both_formats
@pytest.mark.parametrize("change", [str, str.upper])
def test_conventions_can_be_members_of_an_object(
    change: Callable[[str], str], zarr_format: ZarrFormat
) -> None:
    declared = {change(UUIDS[name]): {"version": "0.1.0"} for name in ("spatial", "proj")}
    attributes = {"zarr_conventions": declared, **GRID, "proj:code": "EPSG:32632"}
    dataset = dataset_of({"a": band(3, 4)}, attributes, zarr_format)
    assert dataset["x"].values.tolist() == [5.0, 15.0, 25.0, 35.0]
    assert epsg_of(dataset) == 32632


@pytest.mark.parametrize("declared", [{"uuid": UUIDS["spatial"]}, {"spatial": {}}, {}], ids=str)
def test_another_object_declares_nothing_and_that_is_told(declared: Json) -> None:
    store: Any = memory_store(
        build(Group({"a": band(3, 4)}, {"zarr_conventions": declared, **GRID}))
    )
    dataset, told = recorded(xr.open_dataset, store, engine="xgroup")
    assert set(dataset.coords) == set()
    (warning,) = told
    assert isinstance(warning, XGroupNoPrincipalWarning)
    assert "zarr_conventions: must be a list of objects" in str(warning)


@both_formats
def test_a_declaration_holds_for_prefixed_attributes_of_groups_below(
    zarr_format: ZarrFormat,
) -> None:
    own = Group({"c": band(3, 4, **GRID, **{"proj:code": "EPSG:32633"})})
    below = Group({"b": band(3, 4), "own": own}, {**GRID, "proj:code": "EPSG:32632"})
    root = Group(
        {"a": Group({"b": below, "bare": Group({"d": band(3, 4)})})}, declaring("spatial", "proj")
    )
    store = memory_store(build(root, zarr_format))
    tree = opened(xr.open_datatree, store)
    for path, code in (("a/b", 32632), ("a/b/own", 32633)):
        dataset = tree[path].to_dataset()
        assert dataset["x"].values.tolist() == [5.0, 15.0, 25.0, 35.0]
        assert epsg_of(dataset) == code
    # Attributes of a group are about its own arrays only.
    assert set(tree["a/bare"].to_dataset(inherit=False).coords) == set()
    # Whichever group is asked for.
    alone = opened(xr.open_dataset, store, group="a/b/own")
    assert epsg_of(alone) == 32633


def test_a_declaration_holds_for_a_layout_below() -> None:
    layout = {"layout": [{"asset": "r10m", "spatial:transform": GRID["spatial:transform"]}]}
    attributes = {"spatial:dimensions": ["y", "x"], "multiscales": layout}
    levels = Group({"r10m": Group({"a": band(3, 4)})}, attributes)
    root = Group({"m": levels}, declaring("spatial", "multiscales"))
    tree = opened(xr.open_datatree, memory_store(build(root)))
    assert tree["m/r10m"]["x"].values.tolist() == [5.0, 15.0, 25.0, 35.0]


def test_another_convention_with_the_same_prefix_is_declared_by_nobody() -> None:
    other = {"zarr_conventions": [{"uuid": UUIDS["cs"], "name": "spatial"}]}
    root = Group({"g": Group({"a": band(3, 4)}, dict(GRID))}, other)
    store: Any = memory_store(build(root))
    dataset, told = recorded(xr.open_dataset, store, engine="xgroup", group="g")
    assert [type(warning) for warning in told] == [XGroupNoPrincipalWarning]
    assert set(dataset.coords) == set()


# What the data carry themselves stands: coordinates written beside what declares them.

TIMES = {"time": {"unit": "days", "epoch": "2028-01-01"}, "values": {"regular": [57.0, 1.0]}}
DECLARED = declaring(
    "cs",
    cs={
        "crs": [
            {
                "axes": {
                    "time": {
                        "abbreviation": "T",
                        "coordinates": [{**TIMES, "boundaries": {"regular": [-0.5, 0.5]}}],
                    },
                    "lat": {
                        "abbreviation": "Y",
                        "coordinates": [
                            {"unit": "degrees_north", "values": {"explicit": [44.5, 43.5, 41.0]}},
                            {"name": "row", "values": {"regular": [1, 1]}},
                            {"name": "zone", "values": {"explicit": [10, 20, 40]}},
                        ],
                    },
                    "height": {
                        "abbreviation": "Z",
                        "coordinates": [{"unit": "m", "values": {"explicit": [2.0]}}],
                    },
                }
            }
        ]
    },
)


def written_again(dataset: xr.Dataset, path: Path, zarr_format: ZarrFormat) -> Any:
    """Return what is read of a Dataset that was written, and the warnings."""
    dataset.load().drop_encoding().to_zarr(path, zarr_format=zarr_format, consolidated=False)
    return opened_with_warnings(xr.open_dataset, path)


GEOLOCATION = {"geodetic": {"x": {"node": "../geo/lon"}, "y": {"node": "../geo/lat"}}}


def external(*names: str) -> Json:
    """Return an axis with a coordinate set for each of some arrays."""
    values = {name: {"external": {"node": f"../axes/{name}"}} for name in names}
    return {"coordinates": [{"name": name, "values": values[name]} for name in names]}


EXTERNAL = {"time": external("time", "month"), "height": external("height")}


@needs_writing
@both_formats
@pytest.mark.parametrize("on_group", [False, True], ids=["array", "group"])
@pytest.mark.parametrize(
    "cells",
    [{}, {"time": [1], "row": slice(1, 3)}, {"time": 1, "row": 1}],
    ids=["same", "slices", "one"],
)
def test_references_that_were_left_behind_give_way_to_what_is_there(
    cells: Json, on_group: bool, zarr_format: ZarrFormat, tmp_path: Path
) -> None:
    located = declaring("geolocation", geolocation=GEOLOCATION)
    cs = declaring("cs", cs={"crs": [{"axes": EXTERNAL}]})
    both = {
        **cs,
        **located,
        "zarr_conventions": cs["zarr_conventions"] + located["zarr_conventions"],
    }
    field = band(2, 4, 3, dims=("time", "row", "col"), **(cs if on_group else both))
    grid = np.arange(12.0).reshape(4, 3)
    lines = ("row", "col")
    axes = {
        "time": Array([1.0, 2.0], ("time",)),
        "month": Array([10.0, 20.0], ("time",)),
        "height": Array(2.0),
    }
    members = {
        "axes": Group(axes),
        "geo": Group({"lon": Array(grid, lines), "lat": Array(2 * grid, lines)}),
        "g": Group({"v": field, "w": field}, located if on_group else {}),
    }
    store = memory_store(build(Group(members)))
    dataset = opened(xr.open_dataset, store, group="g").isel(cells)
    again, told = written_again(dataset, tmp_path / "s.zarr", zarr_format)
    assert told == []
    assert set(again.coords) == {"time", "month", "height", "lon", "lat"}
    assert set(again.data_vars) == {"v", "w"}
    for name in dataset.variables:
        xr.testing.assert_equal(again[name].variable, dataset[name].variable)


def test_what_is_declared_of_own_coordinates_is_added_where_absent() -> None:
    members = {
        "sst": Array(np.zeros((4, 3)), ("time", "lat"), DECLARED),
        "time": Array([57.0, 58.0, 59.0, 60.0], ("time",)),
        "lat": Array([44.5, 43.5, 41.0], ("lat",), {"units": "degree_north"}),
        "row": Array([1, 2, 3], ("lat",), {"long_name": "row"}),
        "height": Array(10.0, (), {"positive": "up"}),
    }
    dataset = dataset_of(members, {})
    assert set(dataset.data_vars) == {"sst"}
    assert dataset["time"].dt.day.values.tolist() == [27, 28, 29, 1]
    named = {"standard_name": "time"}
    assert dataset["time"].attrs == {"axis": "T", **named}
    lat = {"units": "degree_north", "axis": "Y", "standard_name": "latitude"}
    assert dataset["lat"].attrs == lat
    assert dataset["row"].attrs == {"long_name": "row", "axis": "Y"}
    assert dataset["height"].attrs == {"positive": "up", "axis": "Z", "units": "m"}
    assert float(dataset["height"]) == 10.0


def test_an_array_of_data_is_no_coordinate_for_its_name() -> None:
    row = Array([7.0, 8.0, 9.0], ("lat",), declaring("cs", cs={"crs": [{"axes": {"lat": {}}}]}))
    members = {"sst": Array(np.zeros((4, 3)), ("time", "lat"), DECLARED), "row": row}
    store = memory_store(build(Group({"g": Group(members)})))
    dataset, _told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert "row" in dataset.data_vars
    assert dataset["g_row"].values.tolist() == [1, 2, 3]


@pytest.mark.parametrize("values", [[], ["a", 1], "none"], ids=str)
def test_values_that_cannot_be_compared_are_told(values: Any) -> None:
    axes = {"lat": {"coordinates": [{"unit": "m", "values": {"explicit": values}}]}}
    cs = declaring("cs", cs={"crs": [{"axes": axes}]})
    members = {"v": Array(np.zeros(3), ("lat",), cs), "lat": Array([1.0, 2.0, 3.0], ("lat",))}
    store = memory_store(build(Group(members)))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["lat"].values.tolist() == [1.0, 2.0, 3.0]
    assert ["/v#/attributes/cs/crs/0/axes/lat/coordinates/0" in str(item) for item in told] == [
        True
    ]
