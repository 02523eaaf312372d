"""The transform of STAC's projection extension: of which dimensions it is, and what is told."""

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupDimensionWarning, XGroupResolutionWarning
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    ZarrFormat,
    build,
    coordinate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    recorded,
)
from zarr_xgroup.tests.test_assume import (
    GEOTRANSFORM,
    STAC,
    X,
    Y,
    assuming,
    band,
    told_when_assuming,
)


@pytest.mark.parametrize("dims", [("X", "Y"), ("x", "Y"), ("X", "y")])
def test_columns_may_come_first_in_capitals_too(dims: tuple[str, str]) -> None:
    attributes = {**STAC, "proj:shape": None}
    dataset = assuming("proj", root=Group({"b02": Array(np.ones((4, 3)), dims, attributes)}))
    assert dataset[dims[0]].values.tolist() == X
    assert dataset[dims[1]].values.tolist() == Y


def test_a_dimension_twice_is_no_grid() -> None:
    twice = Array(np.ones((3, 3)), ("x", "x"), {**STAC, "proj:shape": [3, 3], "proj:bbox": None})
    store = memory_store(build(Group({"b02": twice})))
    dataset, told = recorded(xr.open_dataset, store, engine="xgroup", assume_conventions="proj")
    assert set(dataset.coords) == {"spatial_ref"}
    assert not [it for it in told if isinstance(it, XGroupResolutionWarning)]


@pytest.mark.parametrize("name", ["x", "y"])
def test_a_transform_of_another_grid_is_missed_where_a_coordinate_is(name: str) -> None:
    own = coordinate(name, X if name == "x" else Y)
    root = Group({"b02": band(**{"proj:shape": [30, 40]}), name: own})
    dataset, told = told_when_assuming("proj", root=root)
    assert set(dataset.coords) == {name, "spatial_ref"}
    assert told == [
        ("/b02#/attributes/proj:shape: is [30, 40], so proj:transform is not that of [3, 4] cells")
    ]


def test_what_an_array_lacks_without_its_transform() -> None:
    root = Group({"b02": band(**{"proj:transform": [1.0, 2.0]})})
    _dataset, (told,) = told_when_assuming("proj", root=root)
    assert told.startswith("/b02 was opened without coordinates along y, x: ")


FIRST = declaring(
    "proj",
    **{
        "proj:code": "EPSG:32631",
        "proj:spatial_dimensions": ["y", "x"],
        "proj:transform": [10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0],
    },
)
CENTRES = {"y": [4_999_995.0, 4_999_985.0], "x": [500_005.0, 500_015.0, 500_025.0]}


def centres(root: Group, path: str = "/") -> dict[str, list[float]]:
    """Return the coordinates of an array `a` of which nothing is told but names of dimensions."""
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(root)), group=path)
    assert all(isinstance(it, XGroupDimensionWarning) for it in told)  # of those without names
    return {str(dim): dataset[dim].values.tolist() for dim in dataset["a"].dims}


def plain(dims: str | None = "y x", **attributes: object) -> Array:
    shape = (2, 3) if dims in ("y x", None) else (3, 2)
    return Array(np.ones(shape), (None, None) if dims is None else dims.split(), attributes)


@pytest.mark.parametrize(
    ("root", "path"),
    [
        (Group({"a": plain(**FIRST)}), "/"),
        (Group({"a": plain("x y", **FIRST)}), "/"),
        (Group({"a": plain()}, FIRST), "/"),
        (Group({"a": plain(None)}, FIRST), "/"),
        (
            Group(
                {"0": Group({"a": plain()})},
                {
                    **declaring("proj", "multiscales"),
                    "proj:spatial_dimensions": ["y", "x"],
                    "multiscales": {
                        "layout": [{"asset": "0", "proj:transform": FIRST["proj:transform"]}]
                    },
                },
            ),
            "0",
        ),
    ],
    ids=["array", "columns first", "group", "without names", "level"],
)
def test_the_first_version_of_proj(root: Group, path: str) -> None:
    assert centres(root, path) == CENTRES


def test_the_first_version_of_proj_gives_way_to_spatial() -> None:
    spatial = {
        **FIRST,
        **declaring("spatial", "proj"),
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": [1.0, 0.0, 0.0, 0.0, -1.0, 0.0],
    }
    found = centres(Group({"a": plain(**spatial)}))
    assert found == {"y": [-0.5, -1.5], "x": [0.5, 1.5, 2.5]}


@pytest.mark.parametrize("key", ["proj:spatial_dimensions", "zarr_conventions"])
def test_a_transform_alone_is_not_of_the_first_version_of_proj(key: str) -> None:
    attributes = {name: value for name, value in FIRST.items() if name != key}
    dataset = opened(xr.open_dataset, memory_store(build(Group({"a": plain(**attributes)}))))
    assert not {"x", "y"} & set(dataset.coords)


def test_a_coordinate_of_the_group_stands_beside_the_first_version_of_proj() -> None:
    members = {"a": plain(**FIRST), "x": coordinate("x", [1.0, 2.0, 3.0])}
    store = memory_store(build(Group(members)))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].values.tolist() == [1.0, 2.0, 3.0]
    assert dataset["y"].values.tolist() == CENTRES["y"]
    assert told == []


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("convention", ["proj", "geozarr"])
def test_another_dimension_in_the_place_of_x_is_not_along_x(
    zarr_format: ZarrFormat, convention: str
) -> None:
    # As it is written after `swap_dims(x="k")`.
    said = STAC if convention == "proj" else {"proj:epsg": 32632, "GeoTransform": GEOTRANSFORM}
    members = {
        "b02": Array(np.ones((3, 4)), ("y", "k"), {**said, "coordinates": "x"}),
        "k": coordinate("k", np.arange(4.0)),
        "x": Array(X, ("k",), {"axis": "X"}),
        "y": coordinate("y", Y),
    }
    store = memory_store(build(Group(members), zarr_format))
    dataset, told = recorded(xr.open_dataset, store, engine="xgroup", assume_conventions=convention)
    assert dataset["k"].attrs == {}
    assert dataset["k"].values.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert [dataset[name].attrs["axis"] for name in "xy"] == ["X", "Y"]
    assert not any(isinstance(it, XGroupResolutionWarning) for it in told)


def test_coordinates_that_say_themselves_along_which_axis_they_are() -> None:
    columns, rows = Array(X, ("c",), {"axis": "X"}), Array(Y, ("r",), {"axis": "Y"})
    root = Group({"b02": Array(np.ones((3, 4)), ("r", "c"), STAC), "c": columns, "r": rows})
    dataset = assuming("proj", root=root)
    names = [dataset[name].attrs["standard_name"] for name in "cr"]
    assert names == ["projection_x_coordinate", "projection_y_coordinate"]
