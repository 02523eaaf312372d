"""Random swaths and grids with `geolocation`: coordinates and their CRS agree with an oracle."""

from typing import Any

import numpy as np
import pyproj
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from zarr_xgroup.tests.builders import (
    Array,
    Json,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    quietly,
)
from zarr_xgroup.tests.oracles.geolocation import located
from zarr_xgroup.tests.oracles.stores import arrays_in, name_of
from zarr_xgroup.tests.strategies import numbered, thorough

CODES = {"geodetic": ["EPSG:4326", "EPSG:4258"], "planar": ["EPSG:32632", "EPSG:3035"]}


@st.composite
def swaths(draw: st.DrawFn) -> dict[str, Any]:
    """Return stores in which arrays of a group have geolocation arrays."""
    group, place = draw(st.sampled_from([("", "geo"), ("m", "geo"), ("m/n", "m"), ("m", "m")]))
    nodes: dict[str, Any] = {"": {}, "m": {}, "m/n": {}, "geo": {}}
    sizes = dict(zip("tyx", draw(st.permutations([2, 3, 4])), strict=True))
    if draw(st.booleans()):
        sizes["x"] = sizes["y"]
    layout = draw(st.sampled_from(["yx", "tyx", "xy", "txy"]))
    lie = draw(st.sampled_from([("y", "x"), ("x", "y"), ("row", "column"), ("column", "row")]))
    if group == place:
        lie = ("y", "x")
    geolocation: Json = {}
    for kind in draw(st.sampled_from([["geodetic"], ["planar"], ["geodetic", "planar"]])):
        pair: Json = {}
        for number, key in enumerate("xy"):
            name = f"{kind[:3]}_{key}"
            lengths = tuple(sizes[{"row": "y", "column": "x"}.get(dim, dim)] for dim in lie)
            nodes[f"{place}/{name}"] = Array(numbered(lengths, 100 * number), lie)
            ways = [f"/{place}/{name}", *([name, f"../{name}"] if group == place else [])]
            pair[key] = {"node": draw(st.sampled_from(ways))}
        if draw(st.booleans()):
            pair[draw(st.sampled_from(["crs", "id"]))] = {
                "proj:code": draw(st.sampled_from(CODES[kind]))
            }
        geolocation[kind] = pair
    declared = declaring("geolocation", geolocation=geolocation)
    on_group = draw(st.booleans())
    for name in draw(st.sampled_from([["v"], ["v", "w"]])):
        shape = tuple(sizes[dim] for dim in layout)
        path = f"{group}/{name}".lstrip("/")
        nodes[path] = Array(np.ones(shape), tuple(layout), {} if on_group else declared)
    if on_group:
        nodes[group] = declared
    return nodes


def assert_as_the_texts_say(nodes: dict[str, Any], zarr_format: ZarrFormat) -> None:
    store: Any = memory_store(build(nodes, zarr_format))
    groups = quietly(xr.open_groups, store, engine="xgroup")
    for group, dataset in groups.items():
        for path in arrays_in(nodes, group.strip("/")):
            if name_of(path) in ("v", "w"):
                assert_located(dataset, path, nodes)


def assert_located(dataset: xr.Dataset, path: str, nodes: dict[str, Any]) -> None:
    array = dataset[name_of(path)]
    expected = {name_of(it.path): it for it in located(nodes, path)}
    carried = {str(it) for it in array.coords if array[it].ndim}
    assert carried == {name for name, it in expected.items() if set(it.dims) <= set(array.dims)}
    for name, it in expected.items():
        coordinate = dataset[name]
        assert name in dataset.coords
        assert coordinate.dims == it.dims
        np.testing.assert_array_equal(coordinate.values, nodes[it.path].values)
        assert coordinate.attrs.get("standard_name") == it.standard_name
        mapping = {**coordinate.encoding, **coordinate.attrs}.get("grid_mapping")
        assert (mapping is None) == (it.code is None)
        if it.code is not None:
            assert pyproj.CRS(dataset[mapping].attrs["crs_wkt"]) == pyproj.CRS(it.code)
    assert "grid_mapping" not in {**array.encoding, **array.attrs}


@thorough(60)
@given(swaths(), st.sampled_from([3, 2]))
def test_swaths(nodes: dict[str, Any], zarr_format: ZarrFormat) -> None:
    assert_as_the_texts_say(nodes, zarr_format)
