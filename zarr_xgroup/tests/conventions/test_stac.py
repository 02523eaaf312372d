"""The transform of STAC's projection extension: of which dimensions it is, and what is told."""

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupResolutionWarning
from zarr_xgroup.tests.builders import Array, Group, build, coordinate, memory_store, recorded
from zarr_xgroup.tests.test_assume import STAC, X, Y, assuming, band, told_when_assuming


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
        "Array /b02: proj:transform is not that of [3, 4] cells: proj:shape is [30, 40]"
    ]


def test_what_an_array_lacks_without_its_transform() -> None:
    root = Group({"b02": band(**{"proj:transform": [1.0, 2.0]})})
    _dataset, (told,) = told_when_assuming("proj", root=root)
    assert told.endswith(". Array /b02 was opened without coordinates along y, x")
