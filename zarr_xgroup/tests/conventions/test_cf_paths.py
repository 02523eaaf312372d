"""References in CF attributes: how far they are followed, for which arrays, and what is told."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import XGroupDimensionWarning, XGroupReferenceError, XGroupResolutionWarning
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    stored,
)
from zarr_xgroup.tests.servers import DelayingStore

CS: Any = declaring("cs", cs={"crs": [{"axes": {"y": {}, "x": {}}}]})


def field(**attributes: Any) -> Array:
    return stored(np.ones((2, 2)), "y x", **attributes)


def assuming(root: Group, **options: Any) -> Any:
    store = memory_store(build(root))
    return opened_with_warnings(xr.open_dataset, store, assume_conventions="cf", **options)


def scalars(names: str, **attributes: Any) -> dict[str, Array]:
    return {name: stored(1.0, **attributes) for name in names.split()}


@pytest.mark.parametrize("written", ["lon", "../lon"])
def test_equal_arrays_of_several_groups_each_have_what_is_near_them(written: str) -> None:
    inner = Group({"v": stored(0, coordinates=written)})
    groups = {name: Group({"lon": stored(n), "g": inner}) for n, name in enumerate("abc")}
    store = memory_store(build(Group(groups)))
    found = opened(xr.open_groups, store, assume_conventions="cf")
    assert [found[f"/{name}/g"]["lon"].item() for name in "abc"] == [0, 1, 2]


def test_references_are_followed_three_times() -> None:
    chain = {name: stored(0, coordinates=to) for name, to in ("ab", "bc", "cd", "de")}
    root = Group({"there": Group(chain), "v": field(coordinates="/there/a")})
    dataset, told = assuming(root)
    assert set(dataset.coords) == {"a", "b", "c"}
    assert told == []


def test_what_several_refer_to_counts_once() -> None:
    names = "a b c d e f g h"
    there = Group(scalars(names, coordinates=names))
    v = field(coordinates=" ".join(f"/there/{name}" for name in names.split()))
    dataset, told = assuming(Group({"there": there, "v": v}))
    assert set(dataset.coords) == set(names.split())
    assert told == []


@pytest.mark.parametrize("number", [100, 101, 150])
def test_references_beyond_the_hundredth_are_left(number: int) -> None:
    names = " ".join(f"x{n:03}" for n in range(number))
    there = Group({"hub": stored(0, coordinates=names), **scalars(names)})
    root = Group({"there": there, "v": field(coordinates="/there/hub")})
    dataset, told = assuming(root)
    assert set(dataset.coords) == {"hub", *names.split()[:100]}
    left = "/v: the arrays that it refers to refer to more than 100 others"
    left += ", of which the rest were left out"
    assert [str(warning) for warning in told] == [left] * (number > 100)


def test_what_the_group_has_says_itself_what_it_refers_to() -> None:
    group = {"near": stored(0, coordinates="/lost"), "v": field(coordinates="/g/near")}
    _dataset, told = assuming(Group({"g": Group(group)}), group="g")
    assert [warning.paths for warning in told] == [("/g/near",)]


def test_a_name_of_an_array_of_the_group_whose_dimension_is_renamed() -> None:
    lon = stored([1.0, 2.0, 3.0], "x")
    root = Group({"a": field(), "lon": lon, "v": field(coordinates="lon")})
    dataset, told = assuming(root)
    assert set(dataset.variables) == {"a", "lon", "v"}
    assert [type(it) for it in told] == [XGroupDimensionWarning]


def test_beside_another_convention_paths_alone_are_followed_and_only_once() -> None:
    grid = {"lon": field(ancillary_variables="quality"), "quality": field()}
    v = field(coordinates="/grid/lon above", ancillary_variables="/grid/none", **CS)
    root = Group({"grid": Group(grid), "above": stored(0), "g": Group({"v": v})})
    store = memory_store(build(root))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert {"lon", "quality", "above"} & set(dataset.variables) == {"lon"}
    assert [type(warning) for warning in told] == [XGroupResolutionWarning]


def test_geozarr_follows_the_grid_mapping_alone() -> None:
    v = field(coordinates="/lon", grid_mapping="/crs")
    root = Group({"lon": field(), "crs": stored(0), "g": Group({"v": v})})
    store = memory_store(build(root))
    dataset = opened(xr.open_dataset, store, group="g", assume_conventions="geozarr")
    assert set(dataset.variables) == {"v", "crs"}


# What leads nowhere.


def test_what_leads_nowhere_is_told_with_its_place() -> None:
    there = {"lat": field(bounds="none ../../lost")}
    v = field(coordinates="there/lat", ancillary_variables="../lost /lost")
    store = memory_store(build(Group({"g": Group({"v": v, "there": Group(there)})})))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g", assume_conventions="cf")
    assert set(dataset.coords) == {"lat"}
    far, near = "/g/there/lat#/attributes/bounds", "/g/v#/attributes/ancillary_variables"
    tried = "leads to no array, tried"
    assert [str(warning) for warning in told] == [
        f"/g/v was opened without {name!r} of {key!r}: {place}: {name!r} {tried} {nodes}"
        for place, name, nodes, key in (
            (far, "none", "/g/there/none, /g/none, /none", "bounds"),
            (far, "../../lost", "/lost", "bounds"),
            (near, "../lost", "/lost", "ancillary_variables"),
            (near, "/lost", "/lost", "ancillary_variables"),
        )
    ]
    error = told[0].error
    assert isinstance(error, XGroupReferenceError)
    assert (error.place, error.target) == (far, "none")
    assert error.reason == f"{tried} /g/there/none, /g/none, /none"


def test_what_leads_nowhere_is_explained() -> None:
    store = memory_store(build(Group({"v": field(coordinates="lost x")})))
    found = zarr_xgroup.explain(store, assume_conventions="cf").references
    # `x` is a dimension that needs no coordinate.
    assert [(it.target, it.leads_to, it.text) for it in found] == [
        ("lost", None, "leads to no array")
    ]


def test_what_may_be_missing_of_what_is_attached() -> None:
    there = {"lat": field(coordinates="y x", cell_measures="area: areacella")}
    attributes = {"external_variables": "areacella"}
    root = Group({"there": Group(there, attributes), "v": field(coordinates="/there/lat")})
    dataset, told = assuming(root)
    assert set(dataset.coords) == {"lat"}
    assert told == []


def test_all_places_of_a_name_are_asked_for_at_once() -> None:
    group = Group({"v": stored(0, coordinates="lon")})
    for name in "edcba":
        group = Group({name: group})
    root = Group({**group.members, "lon": stored(0)})
    store = DelayingStore(memory_store(build(root)), 0.01)
    dataset = opened(xr.open_dataset, store, group="a/b/c/d/e", assume_conventions="cf")
    assert "lon" in dataset.coords
    assert store.rounds <= 3
