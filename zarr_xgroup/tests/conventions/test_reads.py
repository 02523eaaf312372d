"""What handlers say that they read: arrays that differ in nothing else are told apart.

What conventions say of an array is shared by those whose attributes of theirs are equal.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.metadata.cf import REFERRING
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    Json,
    build,
    memory_store,
    opened_with_warnings,
    stored,
)

GRID = {name: Array(np.full((2, 2), float(n)), ("y", "x")) for n, name in enumerate(("one", "two"))}
SCALARS = {"p": stored(1.0), "q": stored(2.0)}
DIMENSIONS = {"spatial:dimensions": ["y", "x"]}


def explicit(*values: float) -> Json:
    return {"crs": [{"axes": {"y": {}, "x": {"coordinates": [{"values": {"explicit": values}}]}}}]}


def located(x: str, y: str) -> Json:
    return {"geodetic": {"x": {"node": f"/{x}"}, "y": {"node": f"/{y}"}}}


#: Attributes, each with the convention it is of, and two values that mean something else.
ATTRIBUTES: dict[str, tuple[str, Any, Any]] = {
    "uom": ("uom", {"ucum": {"unit": "m"}}, {"ucum": {"unit": "s"}}),
    "cs": ("cs", explicit(1.0, 2.0), explicit(3.0, 4.0)),
    "geolocation": ("geolocation", located("one", "two"), located("two", "one")),
    "spatial:transform": ("spatial", [1, 0, 0, 0, -1, 0], [2, 0, 0, 0, -2, 0]),
    "proj:code": ("proj", "EPSG:32632", "EPSG:4326"),
    "GeoTransform": ("geozarr", "0 1 0 0 0 -1", "0 2 0 0 0 -2"),
    "_CRS": ("geozarr", {"url": "EPSG:32632"}, {"url": "EPSG:4326"}),
    **dict.fromkeys(REFERRING, ("cf", "/p", "/q")),
    "cell_measures": ("cf", "area: /p", "area: /q"),
    "formula_terms": ("cf", "a: /p", "a: /q"),
}


def assert_told_apart(convention: str, one: Group, other: Group) -> None:
    """Each of two groups is in one store what it is without the other, and as much is told."""
    common = {**GRID, **SCALARS}

    def found(**groups: Group) -> tuple[Any, list[str]]:
        store = memory_store(build(Group({**common, **groups})))
        datasets, told = opened_with_warnings(xr.open_groups, store, assume_conventions=convention)
        return datasets, [str(warning) for warning in told]

    both, told = found(a=one, b=other)
    (first, of_first), (second, of_second) = found(a=one), found(b=other)
    xr.testing.assert_identical(both["/a"], first["/a"])
    xr.testing.assert_identical(both["/b"], second["/b"])
    assert sorted(told) == sorted({*of_first, *of_second})


@pytest.mark.parametrize("key", ATTRIBUTES)
def test_arrays_that_differ_in_an_attribute(key: str) -> None:
    convention, *values = ATTRIBUTES[key]
    # CF looks for the coordinates of dimensions, which depend on the place of an array anyhow.
    v = stored(1.0) if convention == "cf" else GRID["one"]
    one, other = (Group({"v": replace(v, attrs={**DIMENSIONS, key: value})}) for value in values)
    assert_told_apart(convention, one, other)
