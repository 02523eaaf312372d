"""Times in a tree: an array is in its own group what all arrays that refer to it take it for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import explain
from zarr_xgroup.report.explanation import Explanation
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Contents,
    Group,
    ZarrFormat,
    build,
    declaring,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    recording_store,
    write_local,
)

DAYS = [15.5, 45.0, 74.5]
BOUNDS = [[0.0, 31.0], [31.0, 59.0], [59.0, 90.0]]
NUMBERS = Array(DAYS, ("time",))
TIME = {"unit": "days", "epoch": "2000-01-01", "calendar": "noleap"}
UNITS = {"units": "days since 2000-01-01 00:00:00", "calendar": "noleap"}


def field(
    node: Any = "/time",
    *,
    boundaries: Any = None,
    time: Any = TIME,
    dims: Any = "time x",
    **more: Any,
) -> Array:
    """Return an array whose axis `time` is an array elsewhere, and what that is to it."""
    item: dict[str, Any] = {
        "values": {"external": {"node": node} if isinstance(node, str) else node}
    }
    item |= {} if time is None else {"time": time}
    item |= {} if boundaries is None else {"boundaries": boundaries}
    axes = {"time": {"abbreviation": "T", "coordinates": [item]}}
    shape = [3 if dim == "time" else 2 for dim in dims.split()]
    return Array(
        np.zeros(shape), tuple(dims.split()), declaring("cs", cs={"crs": [{"axes": axes}]}, **more)
    )


def tree_of(*, time: Array = NUMBERS, ocean: Array, ice: Array, **more: Any) -> Group:
    return Group({"time": time, "ocean": Group({"sst": ocean}), "ice": Group({"sic": ice}), **more})


#: The shapes and dimensions of two arrays, of which one has an axis without a dimension.
AT_ONE_TIME: Any = ((2, ("x",)), ((1, 2), ("time", "x")))

SHARED = tree_of(ocean=field(), ice=field())


def months(tree: Any, *paths: str) -> list[list[int]]:
    """Return the months of the times of groups, which have to be called so."""
    return [tree[path].to_dataset()["time"].dt.month.values.tolist() for path in paths]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("consolidated", [False, True])
def test_parent_and_children_share_one_time(zarr_format: ZarrFormat, consolidated: bool) -> None:
    store = memory_store(build(SHARED, zarr_format, consolidated=consolidated))
    tree = opened(xr.open_datatree, store)
    assert months(tree, "/", "ocean", "ice") == [[1, 2, 3]] * 3
    assert tree["ocean"].to_dataset(inherit=False).coords.keys() == set()
    assert tree["time"].attrs["axis"] == "T"
    assert {key: tree["time"].encoding[key] for key in UNITS} == UNITS
    for path, name in (("ocean", "sst"), ("ice", "sic")):
        means = tree[path].to_dataset().groupby("time.month").mean()
        assert means[name].sizes == {"month": 3, "x": 2}


def test_the_parent_is_as_it_says_itself_where_groups_are_no_tree() -> None:
    store = memory_store(build(SHARED))
    dataset, groups = opened(xr.open_dataset, store), opened(xr.open_groups, store)
    assert dataset["time"].values.tolist() == DAYS
    xr.testing.assert_identical(groups["/"], dataset)


def test_a_tree_below_the_root_is_one_of_its_own() -> None:
    other = {"unit": "days", "epoch": "1900-01-01"}
    elsewhere = Group({"v": field("/model/run/time", time=other)})
    run = tree_of(ocean=field("../time"), ice=field("../time"))
    store = memory_store(build(Group({"model": Group({"run": run}), "elsewhere": elsewhere})))
    tree = opened(xr.open_datatree, store, group="model")
    assert months(tree, "run", "run/ocean") == [[1, 2, 3]] * 2
    tree, told = opened_with_warnings(xr.open_datatree, store)
    assert tree["model/run/time"].values.tolist() == DAYS
    assert len(told) == 2
    ocean = opened(xr.open_datatree, store, group="model/run/ocean")
    assert months(ocean, "/") == [[1, 2, 3]]


def times_in(explanation: Explanation) -> dict[str, str]:
    """Return what an explanation says of times, by array."""
    return {it.path: it.times for group in explanation.groups for it in group.arrays}


@pytest.mark.parametrize("consolidated", [False, True])
def test_an_explanation_says_so(consolidated: bool) -> None:
    said = "times, as the arrays that refer to it declare: " + ", ".join(UNITS.values())
    explanation = explain(memory_store(build(SHARED, consolidated=consolidated)))
    assert times_in(explanation) == {"/time": said, "/ocean/sst": "", "/ice/sic": ""}
    assert explanation.problems == ()
    array, below = repr(explanation).splitlines()[3:5]
    assert "── time (time: 3)" in array
    assert "times, as the arrays that refer to it" in below
    differing = tree_of(ocean=field(), ice=field(time={**TIME, "epoch": "1900-01-01"}))
    assert set(times_in(explain(memory_store(build(differing)))).values()) == {""}


@pytest.mark.parametrize(
    "time",
    [
        {**TIME, "epoch": "1900-01-01"},
        {**TIME, "calendar": "360_day"},
        {"unit": "days", "epoch": "2000-01-01"},
        None,
    ],
    ids=["epoch", "calendar", "no calendar", "numbers"],
)
@pytest.mark.parametrize("is_first", [False, True])
def test_where_they_differ_the_parent_is_left_as_it_is(time: Any, is_first: bool) -> None:
    fields = [field(time=time), field()] if is_first else [field(), field(time=time)]
    root = tree_of(ocean=fields[0], ice=fields[1])
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(build(root)))
    assert tree["time"].values.tolist() == DAYS
    others = [path for path in ("ice", "ocean") if f"time_{path}" in tree[path].dims]
    assert others == (["ice", "ocean"] if time else ["ocean" if not is_first else "ice"])
    assert [str(it).partition(" does not")[0] for it in told] == [f"/{it}:" for it in others]


def test_an_array_that_refers_to_it_and_says_nothing_of_times() -> None:
    says_nothing = Array(np.zeros(3), ("time",), declaring("CF", coordinates="/time"))
    root = tree_of(ocean=field(), ice=says_nothing)
    tree, (told,) = opened_with_warnings(xr.open_datatree, memory_store(build(root)))
    assert "/ocean: does not align" in str(told)
    assert tree["time"].values.tolist() == DAYS


def test_units_of_its_own_stand() -> None:
    own = {**UNITS, "units": "days since 1999-12-01"}
    root = tree_of(time=Array(DAYS, ("time",), own), ocean=field(), ice=field())
    tree = opened(xr.open_datatree, memory_store(build(root)))
    assert months(tree, "/", "ocean", "ice") == [[12, 1, 2]] * 3
    assert tree["time"].attrs == {}


def test_it_has_the_attributes_that_all_declare() -> None:
    def described(name: str) -> Array:
        array = field()
        (item,) = array.attrs["cs"]["crs"][0]["axes"]["time"]["coordinates"]
        item["attributes"] = {"long_name": name, "comment": "same"}
        return array

    root = tree_of(ocean=described("ocean time"), ice=described("ice time"))
    tree = opened(xr.open_datatree, memory_store(build(root)))
    assert tree["time"].attrs == {"axis": "T", "comment": "same", "standard_name": "time"}


@pytest.mark.parametrize("boundaries", [None, {"external": {"node": "/time_bnds"}}])
@pytest.mark.parametrize("attrs", [{}, {"bounds": "time_bnds"}])
def test_boundaries_are_decoded_with_it(boundaries: Any, attrs: dict[str, Any]) -> None:
    one = field(boundaries=boundaries)
    bounds = {"time_bnds": Array(BOUNDS, ("time", "nv"))}
    root = tree_of(time=Array(DAYS, ("time",), attrs), ocean=one, ice=one, **bounds)
    tree, _told = opened_with_warnings(xr.open_datatree, memory_store(build(root)))
    assert months(tree, "/", "ocean") == [[1, 2, 3]] * 2
    if boundaries or attrs:
        assert tree["time_bnds"].dt.month.values.tolist() == [[1, 2], [2, 3], [3, 4]]
    else:
        assert tree["time_bnds"].values.tolist() == BOUNDS
    if boundaries:
        sides = tree["ocean"].to_dataset().coords["time_bounds"]
        assert sides.dt.month.values.tolist() == [[1, 2], [2, 3], [3, 4]]
        assert sides.dims == ("time", "bounds")
        assert "time_bnds" in tree.coords


def test_boundaries_of_its_own_group_alone_are_as_in_a_dataset() -> None:
    own = field(boundaries={"external": {"node": "time_bnds"}}, node="time")
    sides = Array(np.transpose(BOUNDS), ("nv", "time"))
    store = memory_store(build(Group({"v": own, "time": NUMBERS, "time_bnds": sides})))
    tree, dataset = opened(xr.open_datatree, store), opened(xr.open_dataset, store)
    xr.testing.assert_identical(tree.to_dataset(), dataset)


def test_a_referring_array_in_its_own_group_counts_too() -> None:
    root = tree_of(ocean=field(), ice=field(), v=field("time", time={**TIME, "unit": "hours"}))
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(build(root)))
    assert tree["time"].encoding["units"] == "hours since 2000-01-01 00:00:00"
    assert tree["ocean/sst"].dims == ("time_ocean", "x")
    assert len(told) == 2
    root = tree_of(ocean=field(), ice=field(), v=field("time"))
    assert (
        months(opened(xr.open_datatree, memory_store(build(root))), "/", "ice") == [[1, 2, 3]] * 2
    )


def test_times_under_another_name_and_dimension() -> None:
    one = field("/shared/t")
    shared = Group({"t": Array(DAYS, ("n",)), "w": Array(np.zeros(3), ("n",))})
    root = Group({"shared": shared, "ocean": Group({"sst": one}), "ice": Group({"sic": one})})
    tree = opened(xr.open_datatree, memory_store(build(root)))
    assert months(tree, "ocean", "ice") == [[1, 2, 3]] * 2
    assert tree["shared/w"].coords["t"].dims == ("n",)
    assert tree["shared/t"].dt.month.values.tolist() == [1, 2, 3]


def test_one_time_as_a_scalar() -> None:
    scalar, along = (Array(np.zeros(shape), dims, field().attrs) for shape, dims in AT_ONE_TIME)
    root = tree_of(time=Array(DAYS[:1], ("time",)), ocean=scalar, ice=along)
    tree = opened(xr.open_datatree, memory_store(build(root)))
    assert months(tree, "/", "ice") == [[1]] * 2
    assert tree["ocean"].to_dataset(inherit=False)["time"].dt.month == 1


def test_without_decoding_both_are_the_same_numbers() -> None:
    tree = opened(xr.open_datatree, memory_store(build(SHARED)), decode_times=False)
    for path in ("/", "ocean", "ice"):
        time = tree[path].to_dataset()["time"]
        assert time.values.tolist() == DAYS
        assert time.attrs == {**UNITS, "axis": "T", "standard_name": "time"}


def test_what_is_dropped_says_nothing() -> None:
    root = tree_of(ocean=field(), ice=field(time={**TIME, "epoch": "1900-01-01"}))
    store = memory_store(build(root))
    tree = opened(xr.open_datatree, store, drop_variables="sic")
    assert months(tree, "/", "ocean") == [[1, 2, 3]] * 2
    tree = opened(xr.open_datatree, store, drop_variables="time")
    assert all("time" not in node.variables for node in tree.subtree)


def test_times_of_another_store_are_none_of_the_tree(tmp_path: Path) -> None:
    other = write_local(build(Group({"time": NUMBERS})), tmp_path / "other.zarr")
    one = field({"node": "/time", "uri": other.as_uri()})
    store = write_local(build(tree_of(ocean=one, ice=one)), tmp_path / "store.zarr")
    tree, told = opened_with_warnings(xr.open_datatree, store)
    assert tree["time"].values.tolist() == DAYS
    assert len(told) == 2


def test_what_cannot_be_times_is_told_and_left() -> None:
    unreadable = field(time={"unit": "fortnights", "epoch": "2000-01-01"})
    root = tree_of(ocean=unreadable, ice=unreadable)
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(build(root)))
    assert all("times undecoded" in str(warning) for warning in told)
    assert tree["ocean"].to_dataset()["time"].values.tolist() == DAYS
    assert tree["ocean/sst"].dims == ("time", "x")


def test_groups_with_the_same_contents_are_told_apart() -> None:
    def run(node: str) -> Group:
        return Group({"time": NUMBERS, "ocean": Group({"sst": field(node)})})

    runs = {"a": run("/c/time"), "b": run("/c/time"), "c": run("/c/time"), "d": run("/d/time")}
    tree, _told = opened_with_warnings(xr.open_datatree, memory_store(build(Group(runs))))
    kinds = {path: tree[f"/{path}"]["time"].dtype.kind for path in runs}
    assert kinds == {"a": "f", "b": "f", "c": "O", "d": "O"}


def requests(contents: Contents, **options: Any) -> tuple[list[str], list[str]]:
    store = recording_store(contents)
    opened(xr.open_datatree, store, **options)
    return sorted(store.gets), sorted(store.listed)


@pytest.mark.parametrize("options", [{}, {"create_default_indexes": False}], ids=str)
def test_nothing_is_read_that_is_not_read_of_its_own_times(options: dict[str, Any]) -> None:
    if options and not HAS_INDEX_OPTION:
        pytest.skip("this xarray always builds indexes of dimension coordinates")
    time = Array(np.arange(40.0), ("time",), chunks=(4,))
    one = Array(np.zeros(40), ("time",), field().attrs)
    contents = build(tree_of(time=time, ocean=one, ice=one))
    with_units = edit(contents, "time/zarr.json", lambda it: {**it, "attributes": UNITS})
    asked = requests(contents, **options)
    assert asked == requests(with_units, **options)
    if options:
        chunks = [key for key in asked[0] if "/c/" in key]
        assert chunks == ["time/c/0", "time/c/9"]
