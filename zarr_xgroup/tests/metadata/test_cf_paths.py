"""Paths to other groups in the CF attributes of arrays that follow a principal convention."""

from typing import Any

import pytest
import xarray as xr

from zarr_xgroup import XGroupResolutionWarning
from zarr_xgroup.metadata.cf import (
    candidate_paths,
    names_in,
    references_in,
    referred_names,
    with_names,
)
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
)

LON, LAT = Array([[1.0, 2.0]], ("y", "x")), Array([[3.0, 4.0]], ("y", "x"))
GRID = Group({"lon": LON, "lat": LAT, "area": LAT, "crs": Array(0, ())})
CS: dict[str, Any] = {"cs": {"crs": [{"axes": {"x": {}, "y": {}}}]}}


def store_of(declared: bool = True, zarr_format: Any = 3, **attributes: str) -> Any:
    given = declaring("cs", **CS, **attributes) if declared else attributes
    field = Array([[0.5, 0.25]], ("y", "x"), given)
    root = Group({"grid": GRID, "data": Group({"v": field, "other": field})})
    return memory_store(build(root, zarr_format))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("prefix", ["/grid/", "../grid/"])
def test_paths_are_attached_and_named(prefix: str, zarr_format: Any) -> None:
    store = store_of(
        zarr_format=zarr_format,
        coordinates=f"{prefix}lon {prefix}lat",
        grid_mapping=f"{prefix}crs",
        cell_measures=f"area: {prefix}area",
    )
    dataset = opened(xr.open_dataset, store, group="data")
    assert set(dataset.data_vars) == {"v", "other"}
    assert set(dataset.coords) == {"x", "y", "lon", "lat", "area", "crs"}
    assert dataset["lon"].values.tolist() == [[1.0, 2.0]]
    assert dataset["v"].encoding["coordinates"] == "lon lat"
    assert dataset["v"].attrs["grid_mapping"] == "crs"
    assert dataset["v"].attrs["cell_measures"] == "area: area"


def test_both_forms_of_a_grid_mapping() -> None:
    store = store_of(grid_mapping="/grid/crs: /grid/lon /grid/lat")
    dataset = opened(xr.open_dataset, store, group="data")
    # One that is told with its coordinates is named alone: tools do not read the other form.
    assert dataset["v"].attrs["grid_mapping"] == "crs"
    assert {"crs", "lon", "lat"} <= set(dataset.coords)


def test_what_leads_nowhere_stays_and_is_told() -> None:
    store = store_of(ancillary_variables="/grid/area ../nope /grid ../../above")
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="data")
    assert dataset["v"].attrs["ancillary_variables"] == "area ../nope /grid ../../above"
    assert {type(warning) for warning in told} == {XGroupResolutionWarning}
    assert len(told) == 2 * 3
    texts = " ".join(map(str, told))
    assert "'../nope' leads to no array, tried /nope" in texts
    assert "'/grid' leads to no array, tried /grid" in texts
    assert "'../../above' leads to no array, tried nothing" in texts


def test_an_array_without_a_principal_convention_is_left_as_it_is() -> None:
    store = store_of(declared=False, coordinates="/grid/lon /grid/lat")
    dataset = opened(xr.open_dataset, store, group="data")
    xr.testing.assert_identical(dataset, oracle(xr.open_dataset, store, group="data"))
    assert set(dataset.variables) == {"v", "other"}


def test_paths_and_names() -> None:
    attributes = {"coordinates": "lon ../lat", "formula_terms": "a: /b/a ps: ps", "bounds": 5}
    assert list(references_in(attributes)) == [
        ("coordinates", "lon"),
        ("coordinates", "../lat"),
        ("formula_terms", "/b/a"),
        ("formula_terms", "ps"),
    ]
    assert with_names("grid_mapping", "/c: /x /y", {"/c": "crs", "/x": "x"}) == "crs: x /y"
    assert with_names("cell_measures", "area: area", {"area": "a_1"}) == "area: a_1"


@pytest.mark.parametrize(
    ("name", "group", "paths"),
    [
        ("lat", "a/b", ["a/b/lat", "a/lat", "lat"]),
        ("lat", "", ["lat"]),
        ("../lat", "a/b", ["a/lat"]),
        ("c/lat", "a", ["a/c/lat"]),
        ("/c//lat", "a", ["c/lat"]),
        ("..", "a/b", ["a"]),
        (".", "a", ["a"]),
        ("./", "a", ["a"]),
        ("/", "a", [""]),
        ("../../lat", "a", []),
        ("/../lat", "a", []),
    ],
)
def test_where_a_name_may_lead(name: str, group: str, paths: list[str]) -> None:
    assert list(candidate_paths(name, group)) == paths


@pytest.mark.parametrize(
    ("key", "text", "renamed", "names"),
    [
        ("coordinates", "/a  b\tc", "A B c", ["/a", "b", "c"]),
        ("coordinates", "/a: b", "A: B", ["/a:", "b"]),  # no roles there
        ("formula_terms", "/a: /a b: b", "/a: A b: B", ["/a", "b"]),
        ("grid_mapping", "/a: b", "A: B", ["/a:", "b"]),
        ("grid_mapping", "b", "B", ["b"]),
    ],
)
def test_names_and_roles(key: str, text: str, renamed: str, names: list[str]) -> None:
    assert with_names(key, text, {"/a": "A", "b": "B"}) == renamed
    assert names_in({key: text}, key) == names


def test_what_is_no_text_refers_to_nothing() -> None:
    for value in (None, 5, ["a"], {"a": "b"}):
        assert names_in({"coordinates": value}, "coordinates") == []
    assert names_in({}, "coordinates") == []
    assert list(referred_names({"units": "m", "bounds": "b", "grid_mapping": "crs: x"})) == [
        "b",
        "crs",
        "x",
    ]
