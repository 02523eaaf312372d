"""Names of dimensions that several arrays of a group have, with other coordinates."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupDimensionWarning
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
)


def along_x(*values: float) -> Array:
    """Return an array whose ``cs`` says values of `x`."""
    axes = {"x": {"coordinates": [{"values": {"explicit": list(values)}}]}}
    return Array(np.ones(2), ("x",), declaring("cs", cs={"crs": [{"axes": axes}]}))


def array(dims: str, *conventions: str, **attributes: Any) -> Array:
    """Return an array of two values along each dimension, which are named by one letter each."""
    declared = declaring(*conventions) if conventions else {}
    return Array(np.ones((2,) * len(dims)), tuple(dims), {**declared, **attributes})


def names_of(dataset: xr.Dataset) -> dict[str, Any]:
    """Return what each variable names: its coordinates, or its grid mapping."""
    encodings = {str(name): it.encoding for name, it in dataset.variables.items()}
    return {
        name: named
        for name, encoding in encodings.items()
        if (named := encoding.get("coordinates") or encoding.get("grid_mapping"))
    } | {
        str(name): it.attrs["grid_mapping"]
        for name, it in dataset.variables.items()
        if "grid_mapping" in it.attrs
    }


PROJECTED = {"proj:code": "EPSG:32633"}
ROTATED = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0.5, 0, 0, 1, 0]}


@pytest.mark.parametrize(
    ("members", "coordinates", "named", "text"),
    [
        pytest.param(
            {"a": array("yx", "spatial", **ROTATED), "xc": array("yx")},
            {"xc", "yc"},
            {"a": "xc yc"},
            "",
            id="an own coordinate",
        ),
        pytest.param(
            {
                "a": array("yx", "proj", grid_mapping="crs", **PROJECTED),
                "crs": Array(0, (), {"grid_mapping_name": "latitude_longitude"}),
            },
            {"crs"},
            {"a": "crs"},
            "",
            id="a grid mapping of another CRS",
        ),
        pytest.param(
            {"a": array("yx", "proj", grid_mapping="crs", **PROJECTED), "crs": Group()},
            set(),
            {"a": "crs"},
            "",
            id="a group instead of a grid mapping",
        ),
        pytest.param(
            {"a": array("yx", "proj", grid_mapping="x", **PROJECTED)},
            set(),
            {"a": "x"},
            "",
            id="a dimension instead of a grid mapping",
        ),
    ],
)
def test_what_is_attached_has_which_name(
    members: dict[str, Any], coordinates: set[str], named: dict[str, str], text: str
) -> None:
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert set(dataset.coords) == coordinates
    assert names_of(dataset) == named
    assert [str(warning).partition(" here")[0] for warning in told] == ([text] if text else [])


def test_an_array_that_is_not_wanted_is_no_coordinate() -> None:
    places = {"x": {"node": "lon"}, "y": {"node": "lat"}}
    located = array("yx", "geolocation", geolocation={"geodetic": places})
    store = memory_store(build(Group({"a": located, "lon": array("yx"), "lat": array("yx")})))
    dataset, told = opened_with_warnings(xr.open_dataset, store, drop_variables="lon")
    assert (set(dataset.variables), told) == ({"a", "lat"}, [])


def test_an_array_does_not_lie_along_the_coordinate_that_another_one_brought() -> None:
    far = Group({"x": Array([5.0, 6.0], ("x",))})
    brings = Array(np.ones(3), ("t",), declaring("ref", other={"node": "/far/x"}))
    members = {"a": brings, "b": along_x(1, 2), "c": along_x(1, 2)}
    store = memory_store(build(Group({"g": Group(members), "far": far})))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    dims = {name: it.dims for name, it in dataset.variables.items()}
    assert dims == {"a": ("t",), "b": ("x_b",), "c": ("x_b",), "x": ("x",), "x_b": ("x_b",)}
    assert dataset["b"].coords["x_b"].values.tolist() == [1, 2]
    (warning,) = told
    assert type(warning) is XGroupDimensionWarning
    assert warning.paths == ("/g/b", "/g/c")


@pytest.mark.parametrize("name", ["a", "z"], ids=["before it", "after it"])
def test_an_array_stays_along_its_dimension_where_its_own_coordinates_are(name: str) -> None:
    """What refers to it along another dimension gets it beside."""
    sets = [{"values": {"explicit": [1]}}, {"values": {"external": {"node": "t"}}, "name": "t"}]
    refers = declaring("cs", cs={"crs": [{"axes": {"x": {"coordinates": sets}}}]})
    places = {"x": {"node": "/far/u"}, "y": {"node": "/far/u"}}
    located = declaring("geolocation", geolocation={"planar": places})
    members = {name: Array(np.ones(1), ("x",), refers), "t": Array([7.0], ("t",), located)}
    far = Group({"u": Array([1.0], ("t",))})
    store = memory_store(build(Group({"g": Group(members), "far": far})))
    dataset, _told = opened_with_warnings(xr.open_dataset, store, group="g")
    dims = {name: it.dims for name, it in dataset.variables.items()}
    assert dims == {name: ("x",), "t": ("t",), "x": ("x",), "u": ("t",), "g_t": ("x",)}
    assert dataset[name].coords["g_t"].values.tolist() == [7.0]


def test_coordinates_lie_along_the_dimensions_of_what_refers_to_them() -> None:
    """Data that have other coordinates themselves, and so other dimensions, stay as they are."""
    places = {"x": {"node": "lon"}, "y": {"node": "lon"}}
    grid = {"x": {"coordinates": [{"values": {"explicit": [1, 2]}}]}}
    other = {"x": {"coordinates": [{"values": {"explicit": [3, 4]}}]}}
    located = {"cs": {"crs": [{"axes": grid}]}, "geolocation": {"geodetic": places}}
    members = {
        "a": array("yx", "cs", "geolocation", **located),
        "lon": array("yx", "cs", cs={"crs": [{"axes": other}]}),
    }
    dataset, _told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert dataset["lon"].dims == ("y", "x_lon")
    assert "standard_name" not in dataset["lon"].attrs
    assert dataset["a"].coords["lon_1"].dims == ("y", "x")
    assert dataset["lon_1"].attrs["standard_name"] == "longitude"


def test_what_a_convention_says_goes_before_the_coordinate_of_a_group_above() -> None:
    axes = {"x": {"coordinates": [{"values": {"explicit": [1, 2]}}]}}
    declared = Array(np.ones(2), ("/x",), declaring("cs", cs={"crs": [{"axes": axes}]}))
    above: dict[str, Group | Array] = {"x": Array([5.0, 6.0], ("x",)), "g": Group({"a": declared})}
    dataset, told = opened_with_warnings(
        xr.open_dataset, memory_store(build(Group(above))), group="g"
    )
    assert (dataset.variables.keys(), told) == ({"a", "x"}, [])
    assert dataset["a"].coords["x"].values.tolist() == [1, 2]


@pytest.mark.parametrize("bounds", [{}, {"bounds": "/b/edges"}], ids=["", "bounds"])
def test_groups_that_are_alike_have_what_each_has_by_itself(bounds: dict[str, str]) -> None:
    places = {"x": {"node": "/b/lon"}, "y": {"node": "/far/lat"}}
    refers = {
        "v": array("yx", "geolocation", geolocation={"geodetic": places}),
        "w": array("yx", coordinates="/far/lat", **bounds),
        "lon": array("yx"),
        "edges": array("yxn"),
    }
    far = Group({"lat": array("yx", bounds="/c/edges"), "x": array("x")})
    store = memory_store(build(Group({**dict.fromkeys("abcd", Group(refers)), "far": far})))
    options: dict[str, Any] = {"assume_conventions": "cf"}
    groups, _told = opened_with_warnings(xr.open_groups, store, **options)
    for name in "abcd":
        alone, _told = opened_with_warnings(xr.open_dataset, store, group=name, **options)
        xr.testing.assert_identical(groups[f"/{name}"], alone)
        for key, variable in alone.variables.items():
            found = groups[f"/{name}"].variables[key].encoding
            assert found.get("source") == variable.encoding.get("source")
            assert found.get("coordinates") == variable.encoding.get("coordinates")
