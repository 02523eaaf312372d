"""The `coords` convention, which newer drafts call `dimensions`."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    declaring,
    opened_with_warnings,
    stored,
)
from zarr_xgroup.tests.tables import check, rows, store_of

X = {"type": "interval", "start": 10, "end": 40, "step": 10}
DAYS = {"type": "interval", "start": "2024-01-01", "end": "2024-01-02", "step": "P1D"}
SPATIAL = {"type": "reference", "convention": "spatial"}
AFFINE = {"type": "affine", "convention": "spatial"}
GRID = {"spatial:transform": [10, 0, 0, 0, -10, 30], "spatial:dimensions": ["y", "x"]}


def inline(*values: Any, **more: Any) -> Any:
    return {"type": "inline", "values": list(values), **more}


def older(**descriptors: Any) -> dict[str, Any]:
    return {"coords:version": 1, "coords:coordinates": descriptors}


def newer(axes: Any, **coordinates: Any) -> dict[str, Any]:
    return {"dimensions:axes": axes, "dimensions:coordinates": coordinates}


def field(dims: str, *conventions: Any, **attributes: Any) -> Array:
    """Return an array whose dimensions have the sizes time 2, level 3, y 3 and x 4."""
    shape = [{"time": 2, "level": 3, "y": 3, "x": 4}[dim] for dim in dims.split()]
    return stored(np.zeros(shape), dims, **declaring(*conventions or ["coords"], **attributes))


def in_group(member: Array, **others: Any) -> Any:
    """Return a store of a group with a member ``a``, beside one with times and latitudes."""
    return {
        "": {},
        "axes": {},
        "axes/time": stored([0.5, 1.5], "time", units="days since 2024-01-01"),
        "axes/lat": stored(np.arange(12).reshape(3, 4), "y x", units="degrees_north"),
        "g": {},
        "g/a": member,
        **others,
    }


LAT = {"type": "array", "path": "../axes/lat"}
DESCRIBED: dict[str, tuple[Array, str]] = {
    "in the older form": (
        field("time level y x", **older(time={"type": "array", "path": "/axes/time"}, level=inline(1000.0, 850, 500), x=X, lat=LAT | {"indexed_by": ["y", "x"]}, at=inline("here", indexed_by=[]))),
        """
        at () here
        lat (y x) [[0 1 2 3] [4 5 6 7] [8 9 10 11]] | standard_name=latitude units=degrees_north
        level (level) 1000.0 850.0 500.0
        time (time) 2024-01-01T12 2024-01-02T12 | standard_name=time
        x (x) 10 20 30 40
        """,
    ),
    "in the newer form": (
        field(
            "time y x",
            "coords",
            **newer(
                {
                    "time": {"type": "time", "coords": DAYS},
                    "y": {"axis": "y", "unit": "m", "description": "northing"},  # no values
                    "x": {"axis": "x", "unit": "m", "description": "easting", "coords": X},
                },
                latitude={"indexed_by": ["y", "x"], "coords": LAT},
                row={"coords": inline(7, 8, 9, indexed_by=["y"]), "unit": "1"},
            ),
        ),
        """
        latitude (y x) [[0 1 2 3] [4 5 6 7] [8 9 10 11]] | standard_name=latitude units=degrees_north
        row (y) 7 8 9 | units=1
        time (time) 2024-01-01 2024-01-02 | standard_name=time
        x (x) 10 20 30 40 | axis=X long_name=easting units=m
        """,
    ),
    "in part by another convention": (
        field("time y x", "coords", "spatial", "proj", **newer({"time": {"coords": DAYS}, "y": {"coords": SPATIAL}, "x": {"coords": SPATIAL}}), **GRID, **{"proj:code": "EPSG:32632"}),
        """
        spatial_ref () EPSG:32632
        time (time) 2024-01-01 2024-01-02 | standard_name=time
        x (x) 5.0 15.0 25.0 35.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        y (y) 25.0 15.0 5.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        """,
    ),
    "in part by another convention, in the older form": (
        field("y x", "coords", "spatial", **older(x=AFFINE, y=AFFINE), **GRID),
        "x (x) 5.0 15.0 25.0 35.0 | axis=X\ny (y) 25.0 15.0 5.0 | axis=Y",
    ),
    "with cs, which takes precedence": (
        field("x", "coords", "cs", **older(x=X), cs={"crs": [{"axes": {"x": {"coordinates": [{"values": {"regular": [0, 1]}}]}}}]}),
        "x (x) 0 1 2 3\n! Resolution: /g/a: conventions cs and coords define different x; cs is used",
    ),
    "in part in a wrong way": (
        field("level x", **newer({"x": {"unit": 5, "coords": X}, "level": {"coords": "inline"}})),
        """
        x (x) 10 20 30 40
        ! Resolution: /g/a was opened without 'unit' of coordinate 'x': /g/a#/attributes/dimensions:axes/x/unit: must be a string, got number 5
        ! Resolution: /g/a was opened without coordinate 'level': /g/a#/attributes/dimensions:axes/level/coords: must be an object, got string "inline"
        """,
    ),
    "along no dimension, or by too many": (
        field("x y", **older(x=inline(1, 2, 3, 4, indexed_by=["x", "y"]), y=DAYS | {"indexed_by": ["x", "y"]}, z=inline(1, 2, indexed_by=[]))),
        """
        ! Resolution: /g/a was opened without coordinate 'x': /g/a#/attributes/coords:coordinates/x: has one-dimensional values, but several dimensions
        ! Resolution: /g/a was opened without coordinate 'y': /g/a#/attributes/coords:coordinates/y: is an interval, which must have one dimension
        ! Resolution: /g/a was opened without coordinate 'z': /g/a#/attributes/coords:coordinates/z/values: has 2 values, the axis needs 1
        """,
    ),
}  # fmt: skip


@rows(DESCRIBED, "member, expected")
def test_coordinates_are_described(member: Array, expected: str) -> None:
    only = "at lat latitude level row spatial_ref time x y"
    check(in_group(member), expected, group="g", only=only)


@pytest.mark.parametrize("root", [{}, {"Conventions": "CF-1.12 NZ-1.0"}], ids=["coords", "cf"])
def test_a_group_is_a_catalogue_for_its_arrays(root: dict[str, Any]) -> None:
    along = {"type": "array", "path": "lon", "indexed_by": ["y", "x"]}
    nodes = {
        "": declaring("coords", **root, **older(x=X, y=inline(1, 2, 3), lon=along)),
        "a": stored(np.zeros((3, 4)), "y x"),
        "b": stored(np.zeros(3), "y", **older(y=inline(7, 8, 9))),
        "c": stored(np.zeros(2), "other"),
        "lon": stored(np.ones((3, 4), "i8"), "y x"),
    }
    expected = """
        lon (y x) [[1 1 1 1] [1 1 1 1] [1 1 1 1]]
        x (x) 10 20 30 40
        y (y) 1 2 3
        y_b (y_b) 7 8 9
        a (y x) @ lon x y
        b (y_b) @ y_b
        c (other)
        ! Dimension: /b: other arrays of the group have different coordinate values along its dimensions; renamed 'y' -> 'y_b'
    """
    check(nodes, expected)


INTERVALS: dict[str, Any] = {
    "the last days of months": ("2024-01-31", "P1M", "2024-04-30", "2024-01-31 2024-02-29 2024-03-31 2024-04-30"),
    "a leap day": ("2024-02-29T06:00", "P1Y", "2027-03-01", "2024-02-29T06 2025-02-28T06 2026-02-28T06 2027-02-28T06"),
    "months back": ("2024-03-01", "-P1M", "2023-12-01", "2024-03-01 2024-02-01 2024-01-01 2023-12-01"),
    "hours in UTC": ("2024-01-01T00:30Z", "PT1H", "2024-01-01T04:00Z", "2024-01-01T00:30 2024-01-01T01:30 2024-01-01T02:30 2024-01-01T03:30"),
    "half seconds in a zone": (
        "2024-01-01T01:00+01:00",
        "PT0.5S",
        "2024-01-01T00:00:01.5",
        "2024-01-01 2024-01-01T00:00:00.500000000 2024-01-01T00:00:01 2024-01-01T00:00:01.500000000",
    ),
    "an end within the last month": ("2000-01-01", "P1M", "2000-04-30T23:59:59", "2000-01-01 2000-02-01 2000-03-01 2000-04-01"),
    "an end within the last step": (0, 10000000, 39999999, "0 10000000 20000000 30000000"),
    "integers that no float tells apart": (
        1600000000000000000,
        10,
        1600000000000000030,
        "1600000000000000000 1600000000000000010 1600000000000000020 1600000000000000030",
    ),
    "fractions": (0.1, 0.1, 0.4, "0.1 0.2 0.30000000000000004 0.4"),
}  # fmt: skip


@rows(INTERVALS, "start, step, end, expected")
def test_the_values_of_an_interval(start: Any, step: Any, end: Any, expected: str) -> None:
    described = older(x={"type": "interval", "start": start, "end": end, "step": step})
    attrs = " | standard_name=time" if isinstance(start, str) else ""
    line = f"x (x) {expected}{attrs}"
    found = check(in_group(field("x", **described)), line, group="g", only="x")
    assert found["x"].isel(x=slice(2, 3)).values[0] == found["x"].values[2]


def interval(start: Any, end: Any, step: Any) -> Any:
    return {"type": "interval", "start": start, "end": end, "step": step}


WRONG: dict[str, Any] = {
    "an interval that ends late": (interval(0, 10, 1), "do not match the size"),
    "a step of 0": (interval(0, 3, 0), "must not be 0"),
    "no step": ({"type": "interval", "start": 0, "end": 3}, "is missing, but required"),
    "a number together with times": (interval("2024", 3, "P1D"), "an ISO 8601 time"),
    "a step that is not a duration": (interval("2024-01-01", "2024-01-04", 1), "such as 'P1D'"),
    "months and hours": (interval("2024-01-01", "2024-01-04", "P1MT1H"), "must not combine months"),
    "an end beyond 64 bits": (interval(0, 10**40, 1), "a finite number or a time"),
    "too few values": (inline(1, 2), "has 2 values, the axis needs 4"),
    "an array that is not there": ({"type": "array", "path": "nope"}, "nope"),
    "an array of another shape": ({"type": "array", "path": "/axes/time"}, "the coordinate needs [4]"),
    "another dimension": (inline(1, 2, 3, 4, indexed_by=["nope"]), "has the dimensions ['nope']"),
    "no type": ({"values": [1, 2, 3, 4]}, "is missing"),
    "the convention itself": ({"type": "reference", "convention": "dimensions"}, "is the convention itself"),
    "another convention": ({"type": "reference", "convention": "nothing"}, "convention 'nothing', which is not declared"),
}  # fmt: skip


@rows(WRONG, "descriptor, text")
def test_an_invalid_coordinate_is_omitted(descriptor: Any, text: str) -> None:
    member = field("level x", **older(x=descriptor, level=inline(1, 2, 3)))
    found, told = opened_with_warnings(xr.open_dataset, store_of(in_group(member)), group="g")
    assert {*found.coords} == {"level"}
    assert [text in str(warning) for warning in told] == [True], told
