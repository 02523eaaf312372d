"""Affine transforms of grids by themselves, and what tells along which axis an array is."""

import math
from pathlib import Path

import pytest
import xarray as xr
from affine import Affine

from zarr_xgroup.conventions.affine import Transform
from zarr_xgroup.conventions.spatial import in_order_of_gdal
from zarr_xgroup.tests.builders import Json, declaring, opened_with_warnings
from zarr_xgroup.tests.documents import array, group, write

PIXEL, NODE = 0.5, 0.0
#: All six numbers differ, and none is 0.
SKEWED = Affine(2.0, 1.0, 10.0, 3.0, 5.0, 20.0)


def test_the_transform_as_gdal_writes_it() -> None:
    assert Transform(SKEWED, PIXEL).geotransform == "10.0 2.0 1.0 20.0 3.0 5.0"
    # The corner of the first cell is half a row and half a column from its centre.
    assert Transform(SKEWED, NODE).geotransform == "8.5 2.0 1.0 16.0 3.0 5.0"


@pytest.mark.parametrize(("side", "cell"), [(0, 3.0), (1, 8.0), (2, 3.0), (3, 8.0)])
def test_the_bounding_box_of_a_grid(side: int, cell: float) -> None:
    transform = Transform(SKEWED, PIXEL)
    for cells, is_that in ((0.9, True), (1.1, False)):
        box = [10.0, 20.0, 21.0, 47.0]
        box[side] += cells * cell
        assert transform.fills(box, (3, 4), tolerance=1) is is_that
        assert not transform.fills(box, (3, 4))


TURNED = (10 * math.cos(0.3), 10 * math.sin(0.3))


@pytest.mark.parametrize("size", [(1, 1), (3, 4), (40, 60), (10980, 10980)])
@pytest.mark.parametrize(
    ("numbers", "unit"),
    [
        ([10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0], "metre"),
        ([10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0], ""),
        ([10.0, 0.0, -500000.0, 0.0, 10.0, -4600000.0], ""),
        ([10.0, 0.0, 0.0, 0.0, -10.0, 4600000.0], ""),  # from the false origin on
        ([0.001, 0.0, 12.5, 0.0, -0.001, 48.25], "degree"),
        ([0.01, 0.0, 0.005, 0.0, -0.01, 0.005], "degree"),
        ([0.001, 0.0, 0.0, 0.0, -0.001, 48.25], "degree"),
        ([TURNED[0], TURNED[1], 500000.0, TURNED[1], -TURNED[0], 4600000.0], "metre"),
    ],
    ids=str,
)
def test_the_order_of_gdal_at_any_size(
    size: tuple[int, int], numbers: list[float], unit: str
) -> None:
    a, b, c, d, e, f = numbers
    meant, written = Transform(Affine(*numbers), PIXEL), Transform(Affine(c, a, b, f, d, e), PIXEL)
    assert in_order_of_gdal(written, size, None, unit) == meant
    assert in_order_of_gdal(written, size, meant.extent(size), unit) == meant
    assert in_order_of_gdal(meant, size, None, unit) is None
    assert in_order_of_gdal(meant, size, meant.extent(size), unit) is None


@pytest.mark.parametrize(
    "numbers",
    [
        [360.0, 0.0, -180.0, 0.0, -1.0, 90.0],  # zonal means
        [1.0, 0.0, 5.0, 0.0, -1000.0, 0.0],  # a profile
        [0.0, 10.0, 0.0, -10.0, 0.0, 4600000.0],  # a quarter turn
        [10.0, 0.0, 500000.0, 3.0, -10.0, 0.0],  # sheared, along the equator
        [10.0, 3.0, 500000.0, 0.0, -10.0, 4600000.0],
        [10.0, 0.0, 0.0, 0.0, -10.0, 0.0],
    ],
    ids=str,
)
def test_odd_grids_are_not_taken_for_the_order_of_gdal(numbers: list[float]) -> None:
    assert in_order_of_gdal(Transform(Affine(*numbers), PIXEL), (3, 4), None, "") is None


@pytest.mark.parametrize("is_declared", [False, True])
def test_a_level_is_that_of_a_group_that_declares_the_convention(
    tmp_path: Path, is_declared: bool
) -> None:
    item = {"asset": "l", "spatial:bbox": [0.0, 0.0, 5.0, 3.0], "spatial:registration": "node"}
    attributes = declaring(*["spatial"] * is_declared) | {"spatial:dimensions": ["y", "x"]}
    documents = {"": group({**attributes, "multiscales": {"layout": [item]}})}
    documents |= {"l": group(), "l/a": array((4, 6), ("y", "x"))}
    store = write(tmp_path / "store.zarr", documents)
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="l")
    assert told == []
    found = {name: it.values.tolist() for name, it in dataset.coords.items()}
    positions = {"x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "y": [3.0, 2.0, 1.0, 0.0]}
    assert found == (positions if is_declared else {})


def told_of(tmp_path: Path, documents: dict[str, Json]) -> list[str]:
    """Open a store, and return what was told."""
    _dataset, told = opened_with_warnings(
        xr.open_dataset, write(tmp_path / "store.zarr", documents)
    )
    return [str(warning) for warning in told]


@pytest.mark.parametrize("dimensions", [5, ["y"], ["y", 5], ["z", "y", "x"]], ids=str)
def test_names_of_dimensions_that_are_not_two(tmp_path: Path, dimensions: Json) -> None:
    attributes = declaring("spatial") | {"spatial:dimensions": dimensions}
    told = told_of(tmp_path, {"": group(), "a": array((4, 6), None, attributes)})
    about = [text for text in told if "spatial" in text]
    lost, place = "the coordinates of 'spatial'", "/a#/attributes/spatial:dimensions"
    assert [text.partition(",")[0] for text in about] == [
        f"/a was opened without {lost}: {place}: must be the names of two dimensions"
    ]
    assert not [text for text in told if "Error" in text]
