"""What is wrong with one variable costs that variable and one sentence, whatever is raised for it."""

import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version

from zarr_xgroup import XGroupMetadataError, XGroupMetadataWarning
from zarr_xgroup.datasets.build import Builder
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import containing
from zarr_xgroup.metadata.documents import JsonObject
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Contents,
    Group,
    Open,
    ZarrFormat,
    assert_same,
    assert_same_variable,
    build,
    compare,
    consolidate,
    coordinate,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    quietly,
    recorded,
    recording_store,
    to_json,
    update,
    write_fsspec_memory,
    write_local,
)
from zarr_xgroup.tests.servers import serve_http
from zarr_xgroup.variables.sources import Literal

TIMES = {"units": "days since 2000-01-01"}

#: Beside what is wrong: one for each thing that xarray decodes.
SOUND: Mapping[str, Array | Group] = {
    "time": coordinate("time", np.array([1, 2], "i4"), **TIMES),
    "packed": Array(np.array([1, 2], "i2"), ("time",), {"scale_factor": 0.5}, missing=2),
    "lat": Array([1.0, 2.0], ("time",)),
    "v": Array([1.0, 2.0], ("time",), {"coordinates": "lat", "units": "K"}),
}

FUNCTIONS = (xr.open_dataset, xr.open_datatree)


def ints(**attrs: Any) -> Array:
    return Array(np.array([1, 2], "i4"), ("x",), attrs)


def declaring(*names: str, **attrs: Any) -> Array:
    return Array([1.0, 2.0], ("x",), {"zarr_conventions": [{"name": it} for it in names], **attrs})


def by_cs(axes: Any, *names: str, **attrs: Any) -> Array:
    return declaring("cs", *names, cs={"crs": [{"axes": axes}]}, **attrs)


def along_x(values: Any, **more: Any) -> Array:
    """Return an array whose coordinate along `x` is declared by cs."""
    return by_cs({"x": {"coordinates": [{"values": values, **more}]}})


EXPLICIT = {"explicit": [1, 2]}


def external(path: str) -> dict[str, Any]:
    return {"external": {"node": path}}


def root_of(result: Any) -> xr.Dataset:
    return result.to_dataset(inherit=False) if isinstance(result, xr.DataTree) else result


def check_rest(result: Any) -> None:
    """Assert that all that is sound is as in a store without anything else."""
    expected = oracle(xr.open_dataset, memory_store(build(Group(SOUND))))
    dataset = root_of(result)
    for name, variable in expected.variables.items():
        assert_same_variable(
            dataset.variables[name], variable, str(name), encoding=True, values=True
        )
        assert (name in dataset.coords) == (name in expected.coords)
    assert "time" in dataset.xindexes


def opened_both_ways(contents: Contents) -> tuple[xr.Dataset, list[str]]:
    """Return the root of a store and what is told of it, which is the same in a tree.

    Nothing that xarray or zarr warn of passes, and what is sound is as it is.
    """
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(contents))
    tree, _told = opened_with_warnings(xr.open_datatree, memory_store(contents))
    check_rest(dataset)
    check_rest(tree)
    assert_same(root_of(tree), dataset, encoding=False)
    return dataset, [str(warning) for warning in told]


# What xarray raises when it decodes a variable, or builds its index.

#: Attributes by which the values of a dimension coordinate cannot be had.
UNREADABLE: Mapping[str, Mapping[str, Any]] = {
    "a scale factor that is text": {"scale_factor": "two"},
    "an empty scale factor": {"scale_factor": ""},
    "a scale factor that is an object": {"scale_factor": {"a": 1}},
    "several scale factors": {"scale_factor": [1, 2]},
    "an offset that is text": {"add_offset": "two"},
    "an offset that is an object": {"add_offset": {"a": 1}},
    "the encoding of text": {"_Encoding": "utf-8"},
}
unreadable = pytest.mark.parametrize("attrs", UNREADABLE.values(), ids=UNREADABLE)
UNDECODED = "left undecoded, xarray cannot decode it: "


def is_undecoded(path: str, told: str) -> bool:
    """Tell whether a warning says of an array, or of an attribute of it, that it is left undecoded."""
    place, _colon, text = told.partition(": ")
    return place.partition("#")[0] == path and text.startswith(UNDECODED)


@unreadable
def test_the_groups_own_dimension_coordinate(attrs: dict[str, Any]) -> None:
    contents = build(Group({**SOUND, "x": ints(**attrs), "w": Array([1.0, 2.0], ("x",))}))
    dataset, (told,) = opened_both_ways(contents)
    assert is_undecoded("/x", told)
    assert dataset["w"].coords["x"].values.tolist() == [1, 2]
    assert dataset["x"].attrs == attrs
    assert "x" in dataset.xindexes


@unreadable
def test_a_declared_coordinate(attrs: dict[str, Any]) -> None:
    declared = along_x(EXPLICIT, attributes=attrs)
    dataset, (told,) = opened_both_ways(build(Group({**SOUND, "w": declared})))
    assert told.startswith(f"/w: its coordinate 'x': {UNDECODED}")
    assert dataset["w"].coords["x"].values.tolist() == [1, 2]


@unreadable
@pytest.mark.parametrize("is_own", [False, True])
def test_a_coordinate_that_is_an_array(attrs: dict[str, Any], is_own: bool) -> None:
    own, declared = (attrs, {}) if is_own else ({}, attrs)
    members = {
        **SOUND,
        "w": along_x(external("g/a"), attributes=declared),
        "g": Group({"a": ints(**own)}),
    }
    dataset, (told,) = opened_both_ways(build(Group(members)))
    assert told.startswith(f"/w: its coordinate 'x': {UNDECODED}")
    assert dataset["w"].coords["x"].values.tolist() == [1, 2]


@unreadable
def test_boundaries_at_distances_from_a_coordinate(attrs: dict[str, Any]) -> None:
    bounded = along_x(EXPLICIT, boundaries={"regular": [-0.5, 0.5]})
    contents = build(Group({**SOUND, "x": ints(**attrs), "w": bounded}))
    dataset, (told,) = opened_both_ways(contents)
    assert is_undecoded("/x", told)
    assert set(dataset["w"].coords) == {"x"}


@unreadable
def test_a_coordinate_of_a_group_below(attrs: dict[str, Any]) -> None:
    below = Group({"x": ints(**attrs), "w": along_x(external("x"))})
    tree, told = opened_with_warnings(
        xr.open_datatree, memory_store(build(Group({**SOUND, "g": below})))
    )
    check_rest(tree)
    assert [is_undecoded("/g/x", str(item)) for item in told] == [True]
    assert tree["g"]["x"].values.tolist() == [1, 2]


def test_empty_booleans_that_are_to_be_times() -> None:
    empty = Array(np.zeros(0, bool), ("x",), TIMES)
    dataset, told = opened_both_ways(build(Group({**SOUND, "x": empty})))
    assert dataset["x"].shape == (0,)
    if dataset["x"].dtype == bool:  # some versions of xarray can decode them
        start = "/x: opened with its times undecoded: UnboundLocalError: "
        assert [text.startswith(start) for text in told] == [True]


def test_boundaries_that_cannot_be_times_as_their_coordinate() -> None:
    bounds = Array(np.array([["a", "b"], ["c", "d"]]), ("y", "side"))
    y = coordinate("y", np.array([1, 2], "i4"), bounds="b", **TIMES)
    dataset, (told,) = opened_both_ways(build(Group({**SOUND, "y": y, "b": bounds})))
    assert told.startswith("/b: opened with its times undecoded: ValueError: ")
    assert dataset["b"].values.tolist() == [["a", "b"], ["c", "d"]]
    assert dataset["y"].dtype.kind == "M"


def refuses_formula_terms(terms: str) -> bool:
    """Tell whether this version of xarray refuses them, or only warns."""
    formula = {"x": xr.Variable("x", [1], {"formula_terms": terms})}
    try:
        quietly(xr.conventions.decode_cf_variables, formula, {}, decode_coords="all")
    except ValueError:
        return True
    return False


@pytest.mark.skipif(not refuses_formula_terms("a b"), reason="this xarray takes them for terms")
@pytest.mark.parametrize("is_scaled", [False, True])
def test_relations_that_make_no_sense(is_scaled: bool) -> None:
    attrs = {
        "formula_terms": "a b",
        "coordinates": 5,
        **({"scale_factor": [1, 2]} if is_scaled else {}),
    }
    store = memory_store(build(Group({**SOUND, "x": ints(**attrs)})))
    dataset, (told,) = opened_with_warnings(xr.open_dataset, store, decode_coords="all")
    without = "/x#/attributes/coordinates: opened without 'coordinates', 'formula_terms'"
    assert str(told).startswith("/x: left undecoded" if is_scaled else without)
    assert "must be a string" not in str(told)
    assert dataset["x"].values.tolist() == [1, 2]
    assert dataset["x"].attrs == attrs


def labelled(attributes: Mapping[str, Any], *groups: str) -> Contents:
    """Return a store whose groups attach the texts at /axes/label, with attributes for them."""
    label = {
        "name": "label",
        "values": {"external": {"node": "/axes/label"}},
        "attributes": attributes,
    }
    declared = {
        "zarr_conventions": [{"name": "cs"}],
        "cs": {"crs": [{"axes": {"x": {"coordinates": [{"values": {"regular": [0, 1]}}, label]}}}]},
    }
    members = {name: Group({"v": Array([1.0, 2.0], ("x",), declared)}) for name in groups}
    return build(Group({"axes": Group({"label": Array(["a", "b"], ("x",))}), **members}))


@pytest.mark.parametrize("key", ["scale_factor", "add_offset"])
def test_stored_texts_that_are_declared_to_be_packed(key: str) -> None:
    tree, told = opened_with_warnings(
        xr.open_datatree, memory_store(labelled({key: 2.0}, "a", "b", "c"))
    )
    (warning,) = told
    assert isinstance(warning, XGroupMetadataWarning)
    assert warning.paths == ("/a/v", "/b/v", "/c/v")
    start = "/a/v, /b/v, /c/v: its coordinate 'label': left undecoded, xarray cannot decode it"
    assert str(warning).startswith(start)
    for path in warning.paths:
        label = tree[path].coords["label"]
        assert label.values.tolist() == ["a", "b"]
        assert label.attrs[key] == 2.0


def test_stored_texts_that_are_declared_to_be_something_harmless() -> None:
    store = recording_store(labelled({"long_name": "name"}, "a", "b"))
    tree = opened(xr.open_datatree, store)
    if Version("2025.1") <= XARRAY:  # those before read texts to find out that they are some
        assert not store.chunk_gets
    assert tree["/b/v"].coords["label"].values.tolist() == ["a", "b"]


def test_own_texts_that_say_to_be_packed_are_opened_as_by_engine_zarr() -> None:
    texts = Array(["a", "b"], ("x",), {"scale_factor": 2.0})
    dataset = opened(xr.open_dataset, memory_store(build(Group({**SOUND, "y": texts}))))
    with pytest.raises(Exception, match=r"ufunc|multiply|str"):
        dataset["y"].load()


def test_a_trial_of_one_variable_warns_of_nothing() -> None:
    members = {
        **SOUND,
        "x": ints(scale_factor="two", grid_mapping="crs"),
        "crs": Array(np.int32(0), ()),
    }
    store = memory_store(build(Group(members)))
    _dataset, told = opened_with_warnings(xr.open_dataset, store, decode_coords="all")
    assert len(told) == 1


def test_undecoded_nothing_is_wrong() -> None:
    contents = build(Group({**SOUND, "y": Array([1, 2], ("x",), {"scale_factor": "two"})}))
    compare(xr.open_dataset, memory_store(contents), decode_cf=False)
    dataset, (told,) = opened_both_ways(contents)
    assert told == f"/y#/attributes/scale_factor: {UNDECODED}'scale_factor' is no number"
    assert dataset["y"].values.tolist() == [1, 2]


def test_variables_that_do_not_go_together() -> None:
    def planned(name: str, *dims: str, size: int = 2) -> PlannedVariable:
        source = Literal(np.full((size,) * len(dims), name), dims)
        return PlannedVariable(name, source, dims, {}, is_own=True)

    def made(source: Literal) -> xr.Variable:
        if "e" in source.values:
            raise ZeroDivisionError
        return xr.Variable(source.dims, source.values, encoding={"source": "g"})

    variables = (
        planned("a", "x"),
        planned("b", "x", size=3),
        planned("c", "x"),
        planned("d", "y", size=4),
        planned("e", "y", size=4),
        planned("f", "y", size=5),
        planned("y"),
    )
    library = SimpleNamespace(read_values=lambda _arrays: {})
    factory = SimpleNamespace(variable=made, attributes=lambda _node: JsonObject({}))
    planning: Any = SimpleNamespace(
        factory=factory, library=library, decoding={}, dropped=frozenset()
    )
    reading: Any = SimpleNamespace(node=Node(0, "g"))
    plan = GroupPlan(reading, variables, ())
    dataset, findings = Builder([plan], planning, with_indexes=True).dataset(plan)
    assert set(dataset.variables) == {"a", "c", "d"}
    assert [finding.arrays for finding in findings] == [("/g/e",), ("/g/b",), ("/g/f",), ("/g/y",)]
    assert all(finding.text.startswith("left out") for finding in findings)


class OddError(Exception):
    """Of no class that anybody would think of."""


class _HiddenError(OddError):
    pass


@pytest.mark.parametrize("kind", [OddError, _HiddenError, RecursionError, MemoryError])
def test_whatever_is_raised_is_contained(kind: type[Exception]) -> None:
    public = OddError if kind is _HiddenError else kind
    error = kind("why")
    with pytest.raises(XGroupMetadataError) as told, containing():
        raise error
    assert str(told.value) == f"{public.__name__}: why"
    assert told.value.__cause__ is error


@pytest.mark.parametrize("error", [XGroupMetadataError("ours"), UserWarning(), KeyboardInterrupt()])
def test_what_passes(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised, containing():
        raise error
    assert raised.value is error


# What zarr raises when an array is made.

SHAPES = (None, "x", [-1], ["a"], [1.5], {"a": 2})


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "referring",
    [
        along_x(external("g/a")),
        along_x(EXPLICIT, boundaries=external("g/a")),
        along_x(EXPLICIT, parametric={"formula": "f", "terms": {"a": external("g/a")}}),
        declaring("ref", it={"node": "g/a"}),
        declaring("geolocation", geolocation={"geodetic": {"x": {"node": "g/a"}}}),
        Array([1.0, 2.0], None, along_x(external("g/a")).attrs),
    ],
    ids=["cs", "bounds", "term", "ref", "geolocation", "hints"],
)
def test_a_referenced_array_without_a_shape(shape: Any, referring: Array) -> None:
    contents = build(Group({**SOUND, "w": referring, "g": Group({"a": ints()})}))
    contents = edit(contents, "g/a/zarr.json", update(shape=shape))
    dataset, told = opened_both_ways(contents)
    reasons = [text for text in told if f"'shape' must be a list of lengths, got {shape!r}" in text]
    assert len(reasons) == 1
    assert "/w#/attributes/" in reasons[0]
    assert dataset["w"].values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_geolocation_of_a_group_by_arrays_without_a_shape(shape: Any) -> None:
    geolocation = {"geodetic": {axis: {"node": "/g/a"} for axis in "xy"}}
    attrs = {"zarr_conventions": [{"name": "geolocation"}], "geolocation": geolocation}
    w = declaring("proj", **{"proj:code": "EPSG:4326"})
    contents = build(Group({**SOUND, "w": w, "g": Group({"a": ints()})}, attrs))
    dataset, told = opened_both_ways(edit(contents, "g/a/zarr.json", update(shape=shape)))
    assert all(f"'shape' must be a list of lengths, got {shape!r}" in text for text in told)
    assert dataset["w"].attrs["grid_mapping"] == "spatial_ref"


@pytest.mark.parametrize("units", [[], {}, 5, None, ["m"]], ids=repr)
def test_units_of_an_axis_that_are_no_text(units: Any) -> None:
    for w in (
        along_x(EXPLICIT, attributes={"units": units}),
        by_cs({"x": {"attributes": {"units": units}, "coordinates": [{"values": EXPLICIT}]}}),
        by_cs({"x": {"unit": units, "coordinates": [{"values": EXPLICIT}]}}),
    ):
        dataset, _told = opened_both_ways(build(Group({**SOUND, "w": w})))
        assert dataset["w"].coords["x"].values.tolist() == [1, 2]


# Names.


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("dim", ["spatial_ref", "bounds", "crs"])
@pytest.mark.parametrize("size", [2, 3])
def test_a_dimension_called_as_what_is_made(dim: str, size: int, consolidated: bool) -> None:
    axis = {"values": {"regular": [0, 1]}, "boundaries": {"regular": [-0.5, 0.5]}}
    attrs = {**by_cs({dim: {"coordinates": [axis]}}, "proj").attrs, "proj:code": "EPSG:4326"}
    members = {
        **SOUND,
        "w": Array(np.arange(float(size)), (dim,), attrs),
        "u": Array(
            np.arange(float(size)),
            (dim,),
            {"zarr_conventions": [{"name": "proj"}], "proj:epsg": 4326},
        ),
    }
    contents = build(Group(members))
    dataset, told = opened_both_ways(consolidate(contents) if consolidated else contents)
    assert told == []
    assert dataset["w"].dims == (dim,)
    assert dataset[dim].values.tolist() == list(range(size))
    bounds = dataset[dataset[dim].attrs["bounds"]]
    assert bounds.shape == (size, 2)
    assert len(set(bounds.dims)) == 2
    for name in ("w", "u"):
        mapping = dataset[dataset[name].attrs["grid_mapping"]]
        assert mapping.dims == ()
        assert "crs_wkt" in mapping.attrs


def test_a_dimension_of_a_coordinate_called_as_the_crs() -> None:
    w = declaring("proj", "ref", it={"node": "g/a"}, **{"proj:code": "EPSG:4326"})
    members = {**SOUND, "w": w, "g": Group({"a": Array(np.zeros(3), ("spatial_ref",))})}
    dataset, told = opened_both_ways(build(Group(members)))
    assert told == []
    assert dataset["a"].dims == ("spatial_ref",)
    assert "crs_wkt" in dataset[dataset["w"].attrs["grid_mapping"]].attrs


@pytest.mark.parametrize("named", ["spatial_ref", "time"])
def test_a_grid_mapping_that_names_a_dimension(named: str) -> None:
    w = declaring("proj", **{"proj:code": "EPSG:4326", "grid_mapping": named})
    members = {**SOUND, "w": w, "u": Array(np.zeros(3), ("spatial_ref",))}
    dataset, told = opened_both_ways(build(Group(members)))
    assert told == []
    assert dataset["w"].attrs["grid_mapping"] == named


@pytest.mark.parametrize("size", [2, 3])
def test_a_coordinate_that_has_a_dimension_twice(size: int) -> None:
    members = {
        **SOUND,
        "w": declaring("ref", it={"node": "g/a"}),
        "g": Group({"a": Array(np.zeros((2, size)), ("x", "x"))}),
    }
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    check_rest(dataset)
    assert told == []
    assert dataset["a"].dims == ("x", "a_dim_1")
    assert dataset["a"].shape == (2, size)


def test_an_array_of_the_group_that_has_a_dimension_twice_stays_as_it_is() -> None:
    members = {"w": declaring("ref", it={"node": "a"}), "a": Array(np.zeros((2, 2)), ("x", "x"))}
    ours, told = recorded(xr.open_dataset, memory_store(build(Group(members))), engine="xgroup")
    assert not [item for item in told if isinstance(item, XGroupMetadataWarning)]
    assert ours["a"].dims == ("x", "x")
    assert "a" in ours.coords


def test_a_dimension_called_as_a_scalar() -> None:
    members = {
        **SOUND,
        "s": Array(np.float64(3), ()),
        "w": declaring("ref", it={"node": "g/a"}),
        "g": Group({"a": Array([1.0, 2.0, 3.0], ("s",))}),
    }
    dataset, (told,) = opened_both_ways(build(Group(members)))
    assert "renamed 's' -> 's_a'" in told
    assert dataset["a"].dims == ("s_a",)


# Trees.


def test_a_coordinate_called_as_a_child_group() -> None:
    members: dict[str, Array | Group] = {
        "w": along_x({"regular": [0, 1]}),
        "x": Group({"q": Array([1.0, 2.0], ("x",))}),
    }
    tree, (told,) = opened_with_warnings(xr.open_datatree, memory_store(build(Group(members))))
    assert "its coordinate 'x' is called 'x_1'" in str(told)
    assert set(tree["w"].coords) == {"x_1"}
    assert tree["x/q"].values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("times_first", [False, True])
def test_one_array_as_times_and_as_numbers(times_first: bool) -> None:
    times = along_x(external("/data/x"), attributes=TIMES)
    numbers = declaring("ref", it={"node": "/data/x"})
    first, second = (times, numbers) if times_first else (numbers, times)
    members: dict[str, Array | Group] = {
        "data": Group({"x": ints()}),
        "v": first,
        "below": Group({"w": second}),
    }
    store = memory_store(build(Group(members)))
    tree, told = opened_with_warnings(xr.open_datatree, store)
    assert any("'x' -> 'x_below' (other coordinate values than /)" in str(item) for item in told)
    kinds = {False: "M", True: "i"} if times_first else {False: "i", True: "M"}
    assert tree["v"].coords["x"].dtype.kind == kinds[False]
    assert tree["below"]["w"].coords["x_below"].dtype.kind == kinds[True]


@pytest.mark.parametrize("says_itself", [False, True])
def test_one_array_as_times_from_two_epochs(says_itself: bool) -> None:
    def counting(units: str) -> Array:
        return along_x(external("data/t"), attributes={"units": units})

    own = {"units": "days since 2010-01-01"} if says_itself else {}
    members: dict[str, Array | Group] = {
        "data": Group({"t": ints(**own)}),
        "v": counting("days since 2000-01-01"),
        "w": counting("days since 2020-01-01"),
        "z": declaring("ref", it={"node": "data/t"}),
    }
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    years = {name: int(dataset[name].coords[dataset[name].dims[0]].dt.year[0]) for name in "vwz"}
    if says_itself:
        assert told == []
        assert years == {"v": 2010, "w": 2010, "z": 2010}
    else:
        assert "/w: other arrays of the group have other coordinate values" in str(told[0])
        assert years == {"v": 2000, "w": 2020, "z": 2000}


def test_one_array_as_the_same_times_is_one() -> None:
    times = along_x(external("/data/x"), attributes=TIMES)
    root = Group({"data": Group({"x": ints()}), "v": times, "below": Group({"w": times})})
    tree = opened(xr.open_datatree, memory_store(build(root)))
    assert {tree[path]["x"].dtype.kind for path in ("/", "data", "below")} == {"M"}


# Nodes.


@pytest.mark.parametrize("key", [".", "..", "../x", "a/../b", "a//b", "", "/", "//"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_keys_that_are_no_paths(key: str, zarr_format: ZarrFormat) -> None:
    contents = consolidate(build(Group(SOUND), zarr_format), zarr_format=zarr_format)
    place = "zarr.json" if zarr_format == 3 else ".zmetadata"
    document = json.loads(contents[place])
    nodes = (
        document["consolidated_metadata"]["metadata"] if zarr_format == 3 else document["metadata"]
    )
    if zarr_format == 3:
        nodes[key] = nodes["v"]
    elif key:
        nodes[f"{key}/.zarray"] = nodes["v/.zarray"]
    dataset, told = opened_with_warnings(
        xr.open_dataset, memory_store({**contents, place: to_json(document)})
    )
    assert_same(dataset, oracle(xr.open_dataset, memory_store(build(Group(SOUND), zarr_format))))
    expected = f"1 keys that cannot be paths of nodes, which were left out: {key!r}"
    is_there = zarr_format == 3 or bool(key)
    assert [expected in str(item) for item in told] == [True] * is_there


def without_key(key: str) -> Callable[[Any], Any]:
    return lambda document: {name: value for name, value in document.items() if name != key}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("change", [without_key("node_type"), update(node_type=None)])
def test_a_group_that_does_not_say_so(function: Open, change: Callable[[Any], Any]) -> None:
    contents = build(Group(SOUND))
    compare(function, memory_store(edit(contents, "zarr.json", change)))
    below = {f"g/{key}": value for key, value in contents.items()}
    tree = opened(
        xr.open_datatree, memory_store({**contents, **edit(below, "g/zarr.json", change)})
    )
    assert_same(tree["g"].to_dataset(), tree.to_dataset(), encoding=False)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("key", ["compressor", "filters", "dimension_separator"])
def test_a_v2_array_without_what_zarr_can_do_without(function: Open, key: str) -> None:
    contents = edit(build(Group(SOUND), 2), "v/.zarray", without_key(key))
    compare(function, memory_store(contents))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", ["array", "group"])
def test_a_v2_node_called_as_a_key_of_v3(function: Open, kind: str) -> None:
    node = Array([1.0, 2.0], ("time",)) if kind == "array" else Group(SOUND)
    result = compare(function, memory_store(build(Group({**SOUND, "zarr.json": node}), 2)))
    if kind == "array":
        assert "zarr.json" in root_of(result).variables


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_no_more_is_asked_of_a_store_of_both_formats(zarr_format: ZarrFormat) -> None:
    of_both = {**build(Group(SOUND), 2), **build(Group(SOUND), 3)}
    store = recording_store(of_both)
    opened(xr.open_datatree, store, zarr_format=zarr_format)
    asked = {key for key in store.gets if key.startswith(".z") and "/" in key}
    assert asked == set()


def test_a_v2_group_that_says_nothing() -> None:
    contents = build(Group(SOUND), 2)
    ours = opened(xr.open_dataset, memory_store({**contents, ".zgroup": b"{}"}))
    assert_same(ours, oracle(xr.open_dataset, memory_store(contents)))


# How deep.


def deeply(depth: int, function: Callable[[], Any]) -> Any:
    return function() if depth == 0 else deeply(depth - 1, function)


@pytest.mark.parametrize("place", ["v", "time", "g", ""])
@pytest.mark.parametrize("frames", [0, 150, 400])
def test_nesting_is_not_deeper_for_a_caller_that_is_deep(place: str, frames: int) -> None:
    contents = build(Group({**SOUND, "g": Group(SOUND)}))
    key = f"{place}/zarr.json".lstrip("/")
    nested = contents[key].replace(
        b'"attributes": {', b'"attributes": {"deep": %s, ' % nest(850), 1
    )
    nested = nested.replace(b", }", b"}")
    store = memory_store({**contents, key: nested})
    group = place if place == "g" else None
    # Not as a tree: xarray before 2025.1 cannot copy such attributes.
    dataset = deeply(frames, lambda: opened(xr.open_dataset, store, group=group))
    assert "deep" in (dataset[place].attrs if place in SOUND else dataset.attrs)


@pytest.mark.parametrize("place", ["v", "time", "g"])
def test_what_is_nested_deeper_than_zarr_takes(place: str) -> None:
    contents = build(Group({**SOUND, "g": Group(SOUND)}))
    key = f"{place}/zarr.json"
    nested = contents[key].replace(
        b'"attributes": {', b'"attributes": {"deep": %s, ' % nest(990), 1
    )
    contents = {**contents, key: nested.replace(b", }", b"}")}
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(contents))
    names = {item.partition(":")[0].partition(" was ")[0] for item in map(str, told)}
    assert names <= {f"/{place}"}
    for name in SOUND.keys() - {place}:
        assert name in tree.to_dataset().variables


def nest(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


# Other stores.


@pytest.mark.parametrize(
    "uri", [f"file:///{'a' * 300}", f"file:///{'a/' * 3000}b", "file:///a\0b", "file:///%00"]
)
def test_a_uri_that_cannot_be_a_path(tmp_path: Path, uri: str) -> None:
    w = declaring("ref", it={"uri": uri, "node": "a"})
    path = write_local(build(Group({**SOUND, "w": w})), tmp_path / "s.zarr")
    dataset, (told,) = opened_with_warnings(xr.open_dataset, path)
    check_rest(dataset)
    assert "cannot be opened" in str(told)


@pytest.mark.server
@pytest.mark.parametrize("cache", ["simplecache", "filecache"])
@pytest.mark.parametrize("is_remote", [False, True])
def test_a_store_behind_a_cache(cache: str, is_remote: bool) -> None:
    contents = consolidate(build(Group(SOUND)))
    local = write_fsspec_memory(contents, f"containment_{cache}")
    with serve_http(contents) as server:
        location = f"{cache}::{server.url if is_remote else local}"
        check_rest(opened(xr.open_dataset, location))
        check_rest(pickle.loads(pickle.dumps(opened(xr.open_dataset, location))))


@pytest.mark.server
def test_threads_lose_nothing_of_a_cache(tmp_path: Path) -> None:
    """One takes what another has just got for absent, or fails with a TypeError."""
    arrays = Group({f"v{number}": ints() for number in range(10)})
    contents = build(Group({f"g{number}": arrays for number in range(5)}))
    with serve_http(contents, listing=True) as server:
        ours = opened(
            xr.open_datatree,
            f"filecache::{server.url}",
            storage_options={"filecache": {"cache_storage": str(tmp_path)}},
        )
        assert [len(it.data_vars) for it in ours.subtree] == [0, *[10] * 5]
        assert all((it == [1, 2]).all() for it in ours["g4"].load().data_vars.values())


def test_a_reference_to_a_store_behind_a_cache(tmp_path: Path) -> None:
    other = write_local(build(Group({"x": ints()})), tmp_path / "other.zarr")
    w = along_x({"external": {"uri": f"simplecache::file://{other}", "node": "x"}})
    dataset, told = opened_both_ways(build(Group({**SOUND, "w": w})))
    assert told == []
    assert dataset["w"].coords["x"].values.tolist() == [1, 2]


# Anything else.


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_units_that_are_no_text_cost_no_other_coordinate(zarr_format: ZarrFormat) -> None:
    sets = [{"values": {"external": {"node": name}}} for name in ("odd", "even")]
    nodes = {
        "odd": Array([1.0, 2.0], ("x",), {"units": {"of": "length"}}),
        "even": Array([3.0, 4.0], ("x",), {"units": "m"}),
        "v": by_cs(
            {
                "x": {
                    "coordinates": [{**it, "name": it["values"]["external"]["node"]} for it in sets]
                }
            }
        ),
    }
    dataset = opened(xr.open_dataset, memory_store(build(Group(nodes), zarr_format)))
    assert {"odd", "even"} <= set(dataset["v"].coords)
