"""Times in a tree: an array is decoded in its own group with the units that all referring arrays declare."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import explain
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Contents,
    Group,
    build,
    declaring,
    edit,
    opened,
    opened_with_warnings,
    recording_store,
    stored,
    write_local,
)
from zarr_xgroup.tests.tables import brief, check, rows, store_of

DAYS = [15.5, 45.0, 74.5]
NUMBERS = stored(DAYS, "time")
BARE = stored(DAYS, "time", units="days")
BOUNDS = stored([[0.0, 31.0], [31.0, 59.0], [59.0, 90.0]], "time nv")
TIME = {"unit": "days", "epoch": "2000-01-01", "calendar": "noleap"}
UNITS = {"units": "days since 2000-01-01 00:00:00", "calendar": "noleap"}
#: What does not agree with these times.
OTHER: dict[str, Any] = {**TIME, "epoch": "1900-01-01"}
EDGES = {"external": {"node": "/bnds"}}


def field(node: Any = "/time", time: Any = TIME, dims: str = "time x", **more: Any) -> Array:
    """Return an array whose axis `time` is an array elsewhere, and what that is to it."""
    values = {"external": {"node": node} if isinstance(node, str) else node}
    item = {"values": values, "time": time, **more}
    item = {key: it for key, it in item.items() if it is not None}
    axes = {"time": {"abbreviation": "T", "coordinates": [item]}}
    shape = [3 if dim == "time" else 2 for dim in dims.split()]
    return stored(np.zeros(shape), dims, **declaring("cs", cs={"crs": [{"axes": axes}]}))


def tree_of(ocean: Array, ice: Array | None = None, time: Array = NUMBERS, **more: Any) -> Group:
    """Return times, and groups below with an array each that refers to them."""
    ice = ocean if ice is None else ice
    return Group({"time": time, "ocean": Group({"v": ocean}), "ice": Group({"v": ice}), **more})


def at_one_time(dims: str, *shape: int) -> Array:
    return Array(np.zeros(shape), dims.split(), field().attrs)


def run(node: str) -> Group:
    return Group({"time": NUMBERS, "ocean": Group({"v": field(node)})})


SAYING_NOTHING = stored(np.zeros(3), "time", **declaring("CF", coordinates="/time"))

DATES = "noleap:2000-01-16T12 noleap:2000-02-15 noleap:2000-03-16T12"
SAID = " | axis=T standard_name=time"
TIMES, OCEAN = f"{DATES}{SAID}", f"time_ocean (time_ocean) {DATES}{SAID}"
CELLS = (
    "[[noleap:2000-01-01 noleap:2000-02-01] [noleap:2000-02-01 noleap:2000-03-01] "
    "[noleap:2000-03-01 noleap:2000-04-01]]"
)
SHARED_TIME = f"/:; time (time) {TIMES}; /ice:; /ocean:"
OCEAN_APART = f"/:; time (time) 15.5 45.0 74.5; /ice:; /ocean:; {OCEAN}; ! Dimension /ocean"
#: A tree, and its times: those of a group that are the same in the group above are not repeated.
TREES: dict[str, tuple[Any, str]] = {
    "parent and children share one time": (tree_of(field()), SHARED_TIME),
    "another epoch": (tree_of(field(), field(time=OTHER)),
         f"/:; time (time) 15.5 45.0 74.5; /ice:; time_ice (time_ice) noleap:1900-01-16T12 noleap:1900-02-15 noleap:1900-03-16T12{SAID}; /ocean:; {OCEAN}; ! Dimension /ice; ! Dimension /ocean"),
    "another epoch in the first group": (tree_of(field(time=OTHER), field()),
         f"/:; time (time) 15.5 45.0 74.5; /ice:; time_ice (time_ice) {TIMES}; /ocean:; time_ocean (time_ocean) noleap:1900-01-16T12 noleap:1900-02-15 noleap:1900-03-16T12{SAID}; ! Dimension /ice; ! Dimension /ocean"),
    "another calendar": (tree_of(field(), field(time={**TIME, "calendar": "360_day"})),
         f"/:; time (time) 15.5 45.0 74.5; /ice:; time_ice (time_ice) 360_day:2000-01-16T12 360_day:2000-02-16 360_day:2000-03-15T12{SAID}; /ocean:; {OCEAN}; ! Dimension /ice; ! Dimension /ocean"),
    "no calendar": (tree_of(field(), field(time={"unit": "days", "epoch": "2000-01-01"})),
         f"/:; time (time) 15.5 45.0 74.5; /ice:; time_ice (time_ice) 2000-01-16T12 2000-02-15 2000-03-15T12{SAID}; /ocean:; {OCEAN}; ! Dimension /ice; ! Dimension /ocean"),
    "numbers": (tree_of(field(), field(time=None)), OCEAN_APART),
    "an array that refers to them and says nothing of times": (tree_of(field(), SAYING_NOTHING), OCEAN_APART),
    "units of its own stand": (tree_of(field(), time=stored(DAYS, "time", **{**UNITS, "units": "days since 1999-12-01"})),
         "/:; time (time) noleap:1999-12-16T12 noleap:2000-01-15 noleap:2000-02-13T12; /ice:; /ocean:"),
    "attributes are those that all declare": (
        tree_of(*(field(attributes={"long_name": name, "comment": "same"}) for name in ("sea", "ice"))),
        f"/:; time (time) {DATES} | axis=T comment=same standard_name=time; /ice:; /ocean:"),
    "boundaries that are declared": (tree_of(field(boundaries=EDGES), field(), bnds=BOUNDS),
         f"/:; bnds (time nv) {CELLS}; time (time) {TIMES}; /ice:; /ocean:; time_bounds (time bounds) {CELLS}"),
    "boundaries that two groups declare": (tree_of(field(boundaries=EDGES), bnds=BOUNDS),
         f"/:; bnds (time nv) {CELLS}; time (time) {TIMES}; /ice:; time_bounds (time bounds) {CELLS}; /ocean:; time_bounds (time bounds) {CELLS}"),
    "own bounds": (tree_of(field(), time=stored(DAYS, "time", bounds="bnds"), bnds=BOUNDS),
         f"/:; time (time) {DATES} | axis=T bounds=bnds standard_name=time; bnds (time nv) @ time; /ice:; /ocean:"),
    "both": (tree_of(field(boundaries=EDGES), field(), time=stored(DAYS, "time", bounds="bnds"), bnds=BOUNDS),
         f"/:; bnds (time nv) {CELLS}; time (time) {DATES} | axis=T bounds=bnds standard_name=time; /ice:; /ocean:; time_bounds (time bounds) {CELLS}"),
    "an array that is not named as bounds": (tree_of(field(), bnds=BOUNDS),
         f"/:; time (time) {TIMES}; bnds (time nv) @ time; /ice:; /ocean:"),
    "boundaries of its own group, the other way round": (
        Group({"v": field("time", boundaries={"external": {"node": "bnds"}}), "time": NUMBERS, "bnds": stored(BOUNDS.data.T, "nv time")}),
        f"/:; bnds (time nv) {CELLS}; time (time) {DATES} | axis=T bounds=bnds standard_name=time"),
    "an array of its own group takes precedence": (tree_of(field(), v=field("time", {**TIME, "unit": "hours"})),
         f"/:; time (time) noleap:2000-01-01T15:30 noleap:2000-01-02T21 noleap:2000-01-04T02:30{SAID}; /ice:; time_ice (time_ice) {TIMES}; /ocean:; {OCEAN}; ! Dimension /ice; ! Dimension /ocean"),
    "so it does if it agrees": (tree_of(field(), v=field("time")), SHARED_TIME),
    "another name and dimension": (
        Group({"shared": Group({"time": stored(DAYS, "n"), "w": stored(np.zeros(3), "n")}), "ocean": Group({"v": field("/shared/time")}), "ice": Group({"v": field("/shared/time")})}),
        f"/:; /ice:; time (time) {TIMES}; /ocean:; time (time) {TIMES}; /shared:; time (n) {TIMES}"),
    "one time as a scalar": (tree_of(at_one_time("x", 2), at_one_time("time x", 1, 2), time=stored(DAYS[:1], "time")),
         f"/:; time (time) noleap:2000-01-16T12{SAID}; /ice:; /ocean:; ocean_time () noleap:2000-01-16T12{SAID}; ! Name /ocean"),
    "unknown units": (tree_of(field(time={"unit": "fortnights", "epoch": "2000-01-01"})),
         "/:; time (time) 15.5 45.0 74.5; /ice:; /ocean:; ! Metadata /ice/v, /ocean/v"),
    "a unit of its own without an epoch": (tree_of(field(), time=BARE), SHARED_TIME),
    "a declared unit that differs from its own": (tree_of(field(time={**TIME, "unit": "hours"}), time=BARE),
         f"{SHARED_TIME}; ! Metadata /, /ice/v, /ocean/v"),
    "a unit of its own without an epoch, and different declared epochs": (tree_of(field(), field(time=OTHER), time=BARE),
         f"/:; time (time) 15.5 45.0 74.5 | units=days; /ice:; time_ice (time_ice) noleap:1900-01-16T12 noleap:1900-02-15 noleap:1900-03-16T12{SAID}; /ocean:; {OCEAN}; ! Dimension /ice; ! Dimension /ocean"),
    "groups with the same contents are distinct": (Group({"a": run("/b/time"), "b": run("/b/time")}),
         f"/:; /a:; time (time) 15.5 45.0 74.5; /b:; time (time) {TIMES}; /a/ocean:; {OCEAN}; /b/ocean:; ! Dimension /a/ocean"),
}  # fmt: skip
NAMES = "time time_ice time_ocean ocean_time bnds time_bounds"


@rows(TREES)
def test_times_of_a_tree(nodes: Any, expected: str) -> None:
    options = {"decode_timedelta": False}  # some versions of xarray decode units without an epoch
    assert brief(nodes, only=NAMES, function=xr.open_datatree, **options) == expected


@pytest.mark.parametrize(("attributes", "kind"), [({}, "f"), ({"bounds": "bnds"}, "O")], ids=str)
def test_own_bounds_are_decoded_with_their_times(attributes: Any, kind: str) -> None:
    nodes = tree_of(field(), time=stored(DAYS, "time", **attributes), bnds=BOUNDS)
    assert opened(xr.open_datatree, store_of(nodes))["bnds"].dtype.kind == kind


SHARED = tree_of(field())


def test_open_groups_decodes_the_parent_by_its_own_attributes() -> None:
    store = store_of(SHARED)
    dataset = check(store, "time (time) 15.5 45.0 74.5")
    xr.testing.assert_identical(opened(xr.open_groups, store)["/"], dataset)
    tree = opened(xr.open_datatree, store)
    assert {key: tree["time"].encoding[key] for key in UNITS} == UNITS
    tree = opened(xr.open_datatree, store, decode_times=False)
    for path in ("/", "ocean", "ice"):
        time = tree[path].to_dataset()["time"]
        assert time.values.tolist() == DAYS
        assert time.attrs == {**UNITS, "axis": "T", "standard_name": "time"}


def test_a_tree_below_the_root_is_decoded_alone() -> None:
    elsewhere = Group({"v": field("/model/run/time", OTHER)})
    model = Group({"run": tree_of(field("../time"))})
    store = store_of(Group({"model": model, "elsewhere": elsewhere}))
    for group, path in (("model", "run"), ("model/run", "/"), ("model/run/ocean", "/")):
        time = opened(xr.open_datatree, store, group=group)[path].to_dataset()["time"]
        assert time.dt.month.values.tolist() == [1, 2, 3]
    tree, told = opened_with_warnings(xr.open_datatree, store)
    assert tree["model/run/time"].values.tolist() == DAYS
    assert len(told) == 2


def test_dropped_variables_do_not_affect_times() -> None:
    members = {**SHARED.members, "ice": Group({"sic": field(time=OTHER)})}
    store = store_of(Group(members))
    tree = opened(xr.open_datatree, store, drop_variables="sic")
    assert tree["time"].dt.month.values.tolist() == [1, 2, 3]
    tree = opened(xr.open_datatree, store, drop_variables="time")
    assert all("time" not in node.variables for node in tree.subtree)


def test_times_of_a_foreign_store_are_not_decoded_in_the_tree(tmp_path: Path) -> None:
    other = write_local(build(Group({"time": NUMBERS})), tmp_path / "other.zarr")
    one = field({"node": "/time", "uri": other.as_uri()})
    store = write_local(build(tree_of(one)), tmp_path / "store.zarr")
    tree, told = opened_with_warnings(xr.open_datatree, store)
    assert tree["time"].values.tolist() == DAYS
    assert len(told) == 2


@pytest.mark.parametrize("consolidated", [False, True])
def test_an_explanation_shows_declared_times(consolidated: bool) -> None:
    said = "times, declared by the arrays that refer to it: " + ", ".join(UNITS.values())
    explanation = explain(store_of(SHARED, consolidated=consolidated))
    times = {it.path: it.times for group in explanation.groups for it in group.arrays}
    assert times == {"/time": said, "/ocean/v": "", "/ice/v": ""}
    assert explanation.problems == ()
    array, below = repr(explanation).splitlines()[3:5]
    assert "── time (time: 3)" in array
    assert "times, declared by the arrays that refer to it" in below
    differing = explain(store_of(tree_of(field(), field(time=OTHER))))
    assert {it.times for group in differing.groups for it in group.arrays} == {""}


def requests(contents: Contents, **options: Any) -> tuple[list[str], list[str]]:
    store = recording_store(contents)
    opened(xr.open_datatree, store, **options)
    return sorted(store.gets), sorted(store.listed)


@pytest.mark.parametrize("options", [{}, {"create_default_indexes": False}], ids=str)
def test_declared_times_need_no_further_reads(options: dict[str, Any]) -> None:
    if options and not HAS_INDEX_OPTION:
        pytest.skip("this xarray always builds indexes of dimension coordinates")
    time = Array(np.arange(40.0), ("time",), chunks=(4,))
    contents = build(tree_of(at_one_time("time", 40), time=time))
    asked = requests(contents, **options)
    with_units = edit(contents, "time/zarr.json", lambda it: {**it, "attributes": UNITS})
    assert asked == requests(with_units, **options)
    if options:
        assert [key for key in asked[0] if "/c/" in key] == ["time/c/0", "time/c/9"]
