"""Latitudes and longitudes between the ground control points of Sentinel-1."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version
from zarr.storage import MemoryStore

from zarr_xgroup import XGroupNoPrincipalWarning
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    consolidate,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recording_store,
)
from zarr_xgroup.variables import functions

ROWS, COLUMNS = np.array([0, 2, 6]), np.array([0, 4, 5, 9])
LATITUDES = np.array([[50.0, 51.0, 60.0, 62.5], [48.0, 49.5, 58.0, 60.0], [40.0, 42.0, 50.0, 53.0]])
LONGITUDES = np.array([[170.0, 178.0, -179.0, -170.0]] * 3)


def by_hand(values: Any, rows: Any, columns: Any) -> np.ndarray[Any, Any]:
    """Return values between points, area by area, as numpy's own interpolation has them."""
    along = np.array([np.interp(np.arange(columns[-1] + 1), columns, row) for row in values])
    every = np.arange(rows[-1] + 1)
    return np.array([np.interp(every, rows, column) for column in along.T]).T


def product(
    shape: tuple[int, int] = (7, 10),
    *,
    is_grid: bool = False,
    zarr_format: ZarrFormat = 3,
    **changed: Any,
) -> Any:
    lines, pixels = np.meshgrid(ROWS, COLUMNS, indexing="ij")
    dims = ("azimuth_time", "ground_range") if is_grid else ("azimuth_time",)
    flat = (lambda it: it) if is_grid else np.ravel
    points = {
        "latitude": Array(flat(LATITUDES), dims),
        "longitude": Array(flat(LONGITUDES), dims),
        "line": Array(ROWS if is_grid else lines.ravel(), dims[:1]),
        "pixel": Array(COLUMNS if is_grid else pixels.ravel(), dims[-1:]),
        **changed,
    }
    measured = {"grd": Array(np.zeros(shape), ("azimuth_time", "ground_range"), chunks=(3, 5))}
    conditions = Group({"gcp": Group(points)})
    root = Group({"conditions": conditions, "measurements": Group(measured)})
    return build(root, zarr_format=zarr_format)


def latitude_and_longitude(**changed: Any) -> tuple[xr.DataArray, xr.DataArray]:
    """Return those of a product's measurements."""
    store = memory_store(product(**changed))
    found = opened(xr.open_dataset, store, group="measurements", assume_conventions="gcp")
    return found["latitude"], found["longitude"]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("is_grid", [False, True])
def test_places_are_bilinear_and_exact_at_control_points(
    zarr_format: ZarrFormat, is_grid: bool
) -> None:
    latitude, longitude = latitude_and_longitude(zarr_format=zarr_format, is_grid=is_grid)
    np.testing.assert_allclose(latitude.values, by_hand(LATITUDES, ROWS, COLUMNS), rtol=1e-14)
    at = np.ix_(ROWS, COLUMNS)
    assert (latitude.values[at] == LATITUDES).all()
    assert (longitude.values[at] == LONGITUDES).all()
    part = latitude.isel(ground_range=[7, 1], azimuth_time=slice(5, 2, -1))
    assert part.values.tolist() == latitude.values[5:2:-1, [7, 1]].tolist()
    assert float(latitude[6, 9]) == 53.0
    assert latitude.isel(ground_range=slice(0, 0)).shape == (7, 0)


def test_longitudes_take_the_short_way() -> None:
    _latitude, longitude = latitude_and_longitude()
    expected = [170.0, 172.0, 174.0, 176.0, 178.0, -179.0, -176.75, -174.5, -172.25, -170.0]
    assert longitude.values[1].tolist() == expected
    far = Array(np.array([0, 4, 8, 9]), ("ground_range",))
    _latitude, longitude = latitude_and_longitude(is_grid=True, pixel=far)
    assert longitude.values[0, 4:9].tolist() == [178.0, 178.75, 179.5, -179.75, -179.0]


@pytest.mark.parametrize("low", [-180, 0])
def test_longitudes_keep_the_range_of_control_points(low: int) -> None:
    written = (LONGITUDES - low) % 360 + low
    _latitude, longitude = latitude_and_longitude(longitude=Array(written.ravel(), ("n",)))
    assert (longitude.values[np.ix_(ROWS, COLUMNS)] == written).all()
    unbroken = by_hand(LONGITUDES % 360, ROWS, COLUMNS)
    np.testing.assert_allclose(longitude.values, (unbroken - low) % 360 + low, rtol=1e-14)


@pytest.mark.parametrize("is_pointwise", [False, True])
def test_values_are_computed_part_by_part(is_pointwise: bool, monkeypatch: Any) -> None:
    y, x = xr.DataArray(np.arange(7), dims="n"), xr.DataArray(np.arange(7)[::-1], dims="n")
    some = (y, x) if is_pointwise else (slice(None, None, -1), [7, 1])
    for found in latitude_and_longitude():
        part = found.isel(dict(zip(("azimuth_time", "ground_range"), some, strict=True)))
        whole = part.copy().values
        with monkeypatch.context() as patched:
            patched.setattr(functions, "_CELLS", 3)
            np.testing.assert_array_equal(part.copy().values, whole)


def test_what_is_computed_on_the_way_is_small() -> None:
    """Blocks follow the chunks of the data, which may be as large as memory allows."""
    ends = xr.Variable("n", np.array([0, 1999]))
    corners = xr.Variable(("y", "x"), np.array([[0.0, 1.0], [2.0, 3.0]]))
    function = functions.BetweenGridPoints(360.0)
    positions = np.ix_(np.arange(2000), np.arange(2000))
    tracemalloc.start()
    found = function(ends, ends, corners, *positions)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (2000, 2000)
    assert most < 2 * found.nbytes


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_position_0_is_one_where_it_stands_for_missing_data(zarr_format: ZarrFormat) -> None:
    """As in Zarr v2, whose writers give arrays the fill value 0 if nobody says another one."""
    masked = {
        "line": Array(ROWS, ("azimuth_time",), missing=0),
        "pixel": Array(COLUMNS, ("ground_range",), missing=0),
    }
    latitude, _longitude = latitude_and_longitude(is_grid=True, zarr_format=zarr_format, **masked)
    np.testing.assert_allclose(latitude.values, by_hand(LATITUDES, ROWS, COLUMNS), rtol=1e-14)


def test_packed_positions_are_unpacked() -> None:
    packed = Array(
        np.array([1, 5, 13]), ("azimuth_time",), {"scale_factor": 0.5, "add_offset": -0.5}
    )
    latitude, _longitude = latitude_and_longitude(is_grid=True, line=packed)
    np.testing.assert_allclose(latitude.values, by_hand(LATITUDES, ROWS, COLUMNS), rtol=1e-14)


def test_a_missing_place_is_missing_only_between_it_and_others() -> None:
    values = LATITUDES.copy()
    values[0, 0] = np.nan
    found = latitude_and_longitude(latitude=Array(values.ravel(), ("azimuth_time",)))[0].values
    assert np.isnan(found[:2, :4]).all()
    assert not np.isnan(found[2:]).any()
    assert not np.isnan(found[:, 4:]).any()


def test_opening_reads_no_chunk_and_blocks_are_computed_one_by_one() -> None:
    pytest.importorskip("dask")
    store: Any = recording_store(product())
    options: Any = {"engine": "xgroup", "group": "measurements", "zarr_format": 3, "chunks": {}}
    found = xr.open_dataset(store, assume_conventions="gcp", **options)
    assert not store.chunk_gets
    assert found["latitude"].chunks == found["grd"].chunks == ((3, 3, 1), (5, 5))
    np.testing.assert_allclose(
        found["latitude"].values, by_hand(LATITUDES, ROWS, COLUMNS), rtol=1e-14
    )


@pytest.mark.parametrize("is_grid", [False, True])
def test_ground_control_points(is_grid: bool) -> None:
    store: Any = recording_store(product(is_grid=is_grid))
    options: Any = {"engine": "xgroup", "group": "measurements", "zarr_format": 3}
    found = xr.open_dataset(store, assume_conventions="gcp", **options)
    assert not store.chunk_gets
    latitude = found["grd"].coords["latitude"]
    np.testing.assert_allclose(latitude.values, by_hand(LATITUDES, ROWS, COLUMNS), rtol=1e-14)
    assert found["longitude"].values[3, [0, 5, 9]].tolist() == [170.0, -179.0, -170.0]
    assert latitude.attrs == {"units": "degrees_north", "standard_name": "latitude"}


def test_control_points_are_only_assumed_and_advised() -> None:
    store: Any = memory_store(consolidate(product()))
    options: Any = {"engine": "xgroup", "group": "measurements"}
    with pytest.warns(XGroupNoPrincipalWarning, match="open with assume_conventions='gcp'"):
        found = xr.open_dataset(store, **options)
    assert not {*found.coords}
    with pytest.warns(XGroupNoPrincipalWarning, match="'auto' took gcp"):
        found = xr.open_dataset(store, assume_conventions="auto", **options)
    assert {*found.coords} == {"latitude", "longitude"}


def test_beyond_control_points_nothing_is_made_up() -> None:
    store = memory_store(product((9, 12)))
    found = opened(xr.open_dataset, store, group="measurements", assume_conventions="gcp")
    latitude = found["latitude"].values
    assert np.isnan(latitude[7:]).all()
    assert np.isnan(latitude[:, 10:]).all()
    assert not np.isnan(latitude[:7, :10]).any()


def control_points(lines: Any, pixels: Any) -> Any:
    """Return a product with control points at some lines and pixels, which have these as their places."""
    line, pixel = (np.ravel(it) for it in np.meshgrid(lines, pixels, indexing="ij"))
    places = {"line": line, "pixel": pixel, "latitude": line * 1.0, "longitude": pixel * 1.0}
    points: Any = {name: Array(it, ("azimuth_time",)) for name, it in places.items()}
    return product(**points)


def test_control_points_of_one_line_say_nothing_of_others() -> None:
    store = memory_store(control_points([3], [0, 9]))
    found = opened(xr.open_dataset, store, group="measurements", assume_conventions="gcp")
    assert found["longitude"].values[3].tolist() == [*range(10)]
    assert np.isnan(found["longitude"].values[[0, 1, 2, 4, 5, 6]]).all()


def test_control_points_may_be_between_cells() -> None:
    store = memory_store(control_points([-0.5, 6.5], [-0.5, 9.5]))
    found = opened(xr.open_dataset, store, group="measurements", assume_conventions="gcp")
    np.testing.assert_allclose(found["latitude"].values[:, 4], np.arange(7), atol=1e-14)


def test_no_control_points_are_told() -> None:
    store = memory_store(control_points([], []))
    found, told = opened_with_warnings(
        xr.open_dataset, store, group="measurements", assume_conventions="gcp"
    )
    assert not {*found.coords}
    assert ["names /conditions/gcp/line, which has no numbers" in str(it) for it in told] == [True]


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
def test_what_was_cut_of_a_product_and_written_again_keeps_its_places() -> None:
    tree = opened(xr.open_datatree, memory_store(product()), assume_conventions="gcp")
    tree["measurements"] = tree["measurements"].isel(ground_range=slice(2, 5))
    again = MemoryStore()
    quietly(tree.to_zarr, again, zarr_format=3)
    found, told = opened_with_warnings(
        xr.open_dataset, again, group="measurements", assume_conventions="gcp"
    )
    expected = by_hand(LATITUDES, ROWS, COLUMNS)[:, 2:5]
    np.testing.assert_allclose(found["latitude"].values, expected, rtol=1e-14)
    assert ({*found["grd"].coords}, told) == ({"latitude", "longitude"}, [])


def test_points_that_are_no_grid_are_told() -> None:
    pixel = Array(np.arange(12), ("azimuth_time",))
    store = memory_store(product(pixel=pixel))
    found = opened(xr.open_dataset, store, group="measurements", assume_conventions="gcp")
    with pytest.raises(ValueError, match="no grid of rows and columns"):
        found["latitude"].load()
    store = memory_store(product(pixel=Array(np.arange(5), ("azimuth_time_1",))))
    found, told = opened_with_warnings(
        xr.open_dataset, store, group="measurements", assume_conventions="gcp"
    )
    assert "latitude" not in found.coords
    assert ["lines and pixels of the points are" in str(it) for it in told] == [True, True] or len(
        told
    ) == 1
