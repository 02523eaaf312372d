"""Latitudes and longitudes between the ground control points of Sentinel-1."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import XGroupNoPrincipalWarning
from zarr_xgroup.tests.builders import Array, Group, RecordingStore, recorded, stored
from zarr_xgroup.tests.tables import check, outcome, rows, store_of
from zarr_xgroup.variables import functions

ROWS, COLUMNS = np.array([0, 2, 6]), np.array([0, 4, 5, 9])
LATITUDES = np.array([[50.0, 51.0, 60.0, 62.5], [48.0, 49.5, 58.0, 60.0], [40.0, 42.0, 50.0, 53.0]])
LONGITUDES = np.array([[170.0, 178.0, -179.0, -170.0]] * 3)
ASSUMED: Any = {"group": "measurements", "assume_conventions": "gcp"}


def by_hand(values: Any, rows: Any, columns: Any) -> np.ndarray[Any, Any]:
    """Return values between points, area by area, as numpy's own interpolation has them."""
    along = np.array([np.interp(np.arange(columns[-1] + 1), columns, row) for row in values])
    every = np.arange(rows[-1] + 1)
    return np.array([np.interp(every, rows, column) for column in along.T]).T


LATITUDES_OF_CELLS = by_hand(LATITUDES, ROWS, COLUMNS)


def points(**changed: Any) -> dict[str, Any]:
    """Return control points as a list."""
    lines, pixels = np.meshgrid(ROWS, COLUMNS, indexing="ij")
    places = {"latitude": LATITUDES, "longitude": LONGITUDES, "line": lines, "pixel": pixels}
    return {name: stored(it.ravel(), "azimuth_time") for name, it in places.items()} | changed


def grid_of_points(**changed: Any) -> dict[str, Any]:
    places = {"latitude": stored(LATITUDES, "a g"), "longitude": stored(LONGITUDES, "a g")}
    return {**places, "line": stored(ROWS, "a"), "pixel": stored(COLUMNS, "g"), **changed}


def points_at(lines: Any, pixels: Any) -> dict[str, Any]:
    """Return control points at some lines and pixels, which have these as their places."""
    line, pixel = (np.ravel(it) for it in np.meshgrid(lines, pixels, indexing="ij"))
    places = {"line": line, "pixel": pixel, "latitude": line * 1.0, "longitude": pixel * 1.0}
    return {name: stored(it, "azimuth_time") for name, it in places.items()}


def product(places: Any, shape: tuple[int, int] = (7, 10), **others: Array) -> Group:
    measured = {"grd": Array(np.zeros(shape), ("azimuth_time", "ground_range"), chunks=(3, 5))}
    conditions = Group({"gcp": Group(places)})
    return Group({"conditions": conditions, "measurements": Group({**measured, **others})})


def located(places: Any, shape: tuple[int, int] = (7, 10)) -> xr.Dataset:
    """Return the measurements of a product that is opened without a warning."""
    dataset, lines = outcome(product(places, shape), only="", **ASSUMED)
    assert lines == []
    found: xr.Dataset = dataset
    return found


HALVES = {"scale_factor": 0.5, "add_offset": -0.5}
#: Control points that say the same.
SAME: dict[str, Any] = {
    "a list": points(),
    "a grid": grid_of_points(),
    "position 0 is valid although it means missing data": grid_of_points(
        line=Array(ROWS, ("a",), missing=0), pixel=Array(COLUMNS, ("g",), missing=0)
    ),
    "packed positions": grid_of_points(line=stored(2 * ROWS + 1, "a", **HALVES)),
}


@pytest.mark.parametrize("zarr_format", [2, 3])
@rows(SAME, "places")
def test_places_are_bilinear_and_exact_at_control_points(places: Any, zarr_format: Any) -> None:
    store = RecordingStore(store_of(product(places), zarr_format))
    dataset, lines = outcome(store, only="grd", **ASSUMED)
    assert lines == ["grd (azimuth_time ground_range) @ latitude longitude"]
    assert not store.chunk_gets
    latitude, longitude = dataset["latitude"], dataset["longitude"]
    np.testing.assert_allclose(latitude.values, LATITUDES_OF_CELLS, rtol=1e-14)
    at = np.ix_(ROWS, COLUMNS)
    assert (latitude.values[at] == LATITUDES).all()
    assert (longitude.values[at] == LONGITUDES).all()
    part = latitude.isel(ground_range=[7, 1], azimuth_time=slice(5, 2, -1))
    assert part.values.tolist() == latitude.values[5:2:-1, [7, 1]].tolist()
    assert latitude.isel(ground_range=slice(0, 0)).shape == (7, 0)
    assert latitude.attrs == {"units": "degrees_north", "standard_name": "latitude"}
    assert longitude.attrs == {"units": "degrees_east", "standard_name": "longitude"}


def test_longitudes_take_the_short_way() -> None:
    longitude = located(points())["longitude"]
    expected = [170.0, 172.0, 174.0, 176.0, 178.0, -179.0, -176.75, -174.5, -172.25, -170.0]
    assert longitude.values[1].tolist() == expected
    longitude = located(grid_of_points(pixel=stored([0, 4, 8, 9], "g")))["longitude"]
    assert longitude.values[0, 4:9].tolist() == [178.0, 178.75, 179.5, -179.75, -179.0]


@pytest.mark.parametrize("low", [-180, 0])
def test_longitudes_keep_the_range_of_control_points(low: int) -> None:
    written = (LONGITUDES - low) % 360 + low
    longitude = located(points(longitude=stored(written.ravel(), "n")))["longitude"]
    assert (longitude.values[np.ix_(ROWS, COLUMNS)] == written).all()
    unbroken = by_hand(LONGITUDES % 360, ROWS, COLUMNS)
    np.testing.assert_allclose(longitude.values, (unbroken - low) % 360 + low, rtol=1e-14)


@pytest.mark.parametrize("is_pointwise", [False, True])
def test_values_are_computed_part_by_part(is_pointwise: bool, monkeypatch: Any) -> None:
    y, x = xr.DataArray(np.arange(7), dims="n"), xr.DataArray(np.arange(7)[::-1], dims="n")
    some: tuple[Any, Any] = (y, x) if is_pointwise else (slice(None, None, -1), [7, 1])
    part = located(points()).isel(azimuth_time=some[0], ground_range=some[1])
    whole = part.copy(deep=True).load()
    monkeypatch.setattr(functions, "_CELLS", 3)
    xr.testing.assert_equal(part, whole)


def test_intermediate_arrays_are_small() -> None:
    """Blocks follow the chunks of the data, which may be as large as memory allows."""
    ends = xr.Variable("n", np.array([0, 1999]))
    corners = xr.Variable(("y", "x"), np.array([[0.0, 1.0], [2.0, 3.0]]))
    positions = np.ix_(np.arange(2000), np.arange(2000))
    tracemalloc.start()
    found = functions.BetweenGridPoints(360.0)(ends, ends, corners, *positions)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (2000, 2000)
    assert most < 2 * found.nbytes


def test_blocks_are_those_of_the_data() -> None:
    pytest.importorskip("dask")
    dataset, _lines = outcome(product(points()), only="", chunks={}, **ASSUMED)
    assert dataset["latitude"].chunks == dataset["grd"].chunks == ((3, 3, 1), (5, 5))
    np.testing.assert_allclose(dataset["latitude"].values, LATITUDES_OF_CELLS, rtol=1e-14)


NAN = float("nan")
#: Control points at some lines and pixels, and the latitudes (lines) of rows and longitudes (pixels) of columns.
BETWEEN: dict[str, tuple[Any, Any, list[float], list[float]]] = {
    "points at the edges": ([0, 2], [0, 3], [0, 1, 2], [0, 1, 2, 3]),
    "points between cells": ([-0.5, 2.5], [-0.5, 3.5], [0, 1, 2], [0, 1, 2, 3]),
    "beyond points nothing is made up": ([1, 2], [0, 2], [NAN, 1, 2], [0, 1, 2, NAN]),
    "points of one line say nothing of others": ([1], [0, 3], [NAN, 1, NAN], [0, 1, 2, 3]),
}


@rows(BETWEEN, "lines, pixels, latitudes, longitudes")
def test_cells_between_points_have_places(
    lines: Any, pixels: Any, latitudes: Any, longitudes: Any
) -> None:
    dataset = located(points_at(lines, pixels), (3, 4))
    row, column = np.meshgrid(latitudes, longitudes, indexing="ij")
    missing = np.isnan(row + column)
    for name, expected in (("latitude", row), ("longitude", column)):
        np.testing.assert_allclose(dataset[name], np.where(missing, NAN, expected), atol=1e-14)


def test_a_missing_control_point_affects_only_the_cells_next_to_it() -> None:
    values = LATITUDES.copy()
    values[0, 0] = NAN
    found = located(points(latitude=stored(values.ravel(), "n")))["latitude"].isnull().values
    expected = np.zeros((7, 10), bool)
    expected[:2, :4] = True
    np.testing.assert_array_equal(found, expected)


def test_control_points_are_only_assumed_and_advised() -> None:
    store: Any = store_of(product(points()), consolidated=True)
    options: Any = {"engine": "xgroup", "group": "measurements"}
    with pytest.warns(XGroupNoPrincipalWarning, match="assume_conventions='gcp'"):
        found = xr.open_dataset(store, **options)
    assert not {*found.coords}
    found, told = recorded(xr.open_dataset, store, assume_conventions="auto", **options)
    assert told == []
    assert {*found.coords} == {"latitude", "longitude"}


def test_own_latitudes_and_longitudes_are_kept() -> None:
    own = Array(np.ones((7, 10)), ("azimuth_time", "ground_range"))
    nodes = product(points(), latitude=own, longitude=own)
    expected = "grd (azimuth_time ground_range) @ latitude longitude"
    dataset = check(nodes, expected, only="grd", **ASSUMED)
    assert (dataset["latitude"] == 1).all()
    assert (dataset["longitude"] == 1).all()


#: Products, and what the measurements open as.
OTHERS: dict[str, tuple[Group, str]] = {
    "an array of one dimension has none": (product(points(), profile=Array(np.ones(4), ("n",))), """
        grd (azimuth_time ground_range) @ latitude longitude
        profile (n)
        """),
    "one array of points is missing": (product({name: it for name, it in points().items() if name != "pixel"}), "grd (azimuth_time ground_range)"),
    "one of them is a group": (product(points(pixel=Group())), "grd (azimuth_time ground_range)"),
    "no points": (product(points_at([], [])), """
        grd (azimuth_time ground_range)
        ! Resolution: /measurements/grd was opened without coordinate 'latitude', coordinate 'longitude': /conditions/gcp: needs numbers in /conditions/gcp/line
        """),
    "points that are texts": (product(points(latitude=stored(["a"] * 12, "n"))), """
        grd (azimuth_time ground_range) @ longitude
        ! Resolution: /measurements/grd was opened without coordinate 'latitude': /conditions/gcp: needs numbers in /conditions/gcp/latitude
        """),
    "lines and pixels of other lengths": (product(points(pixel=stored(np.arange(5), "n"))), """
        grd (azimuth_time ground_range)
        ! Resolution: /measurements/grd was opened without coordinate 'latitude', coordinate 'longitude': /conditions/gcp/latitude#/shape and 1 more: is [12], but the arrays of lines and pixels have the shapes [[12], [5]]
        """),
    "the pixels of a grid have two dimensions": (product(grid_of_points(pixel=stored(LATITUDES, "a g"))), """
        grd (azimuth_time ground_range)
        ! Resolution: /measurements/grd was opened without coordinate 'latitude', coordinate 'longitude': /conditions/gcp/latitude#/shape and 1 more: is [3, 4], but the arrays of lines and pixels have the shapes [[3], [3, 4]]
        """),
}  # fmt: skip


@rows(OTHERS)
def test_measurements_with_locations(nodes: Any, expected: str) -> None:
    check(nodes, expected, only="grd profile", **ASSUMED)


def test_points_without_a_grid_are_an_error_on_reading() -> None:
    dataset = located(points(pixel=stored(np.arange(12), "n")))
    with pytest.raises(ValueError, match="not form a grid of rows and columns"):
        dataset["latitude"].load()


def test_an_explanation_names_the_arrays_that_places_are_computed_from() -> None:
    explanation = zarr_xgroup.explain(store_of(product(points())), assume_conventions="gcp")
    (found,) = (group for group in explanation.groups if group.path == "/measurements")
    texts = {coordinate.name: coordinate.text for coordinate in found.coordinates}
    start = "computed from /conditions/gcp ("
    assert texts["latitude"].startswith(start)
    assert {*texts["latitude"].removeprefix(start).rstrip(")").split(", ")} == {
        "latitude",
        "line",
        "pixel",
    }
