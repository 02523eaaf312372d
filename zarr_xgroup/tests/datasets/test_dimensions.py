"""The names of dimensions: as they are declared, made up, renamed, and taken from ancestors."""

import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from zarr_xgroup import XGroupDimensionWarning, XGroupNameWarning
from zarr_xgroup.datasets.dimensions import assign_dimensions
from zarr_xgroup.findings import as_warnings
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    Open,
    ZarrFormat,
    assert_same,
    build,
    compare,
    coordinate,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    update,
)

Names = Sequence[str | None] | None

each_format = pytest.mark.parametrize("zarr_format", [2, 3], ids=["v2", "v3"])


def document(
    shape: Any, names: Any = None, zarr_format: int = 3, **attributes: Any
) -> dict[str, Any]:
    """Return an array's document with the dimension names of its format."""
    result = {"zarr_format": zarr_format, "node_type": "array", "shape": shape}
    if names is not None and zarr_format == 3:
        result["dimension_names"] = names
    elif names is not None:
        attributes = {"_ARRAY_DIMENSIONS": names, **attributes}
    return {**result, "attributes": attributes}


def settle(
    arrays: Mapping[str, dict[str, Any]], hints: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the names of all dimensions of the group `g`, and what is told."""
    declared = {name: declared_dimensions(document) for name, document in arrays.items()}
    assigned = assign_dimensions(arrays, Node(0, "g"), declared, hints or {})
    told = []
    for name, finding in assigned.findings.items():
        (warning,) = as_warnings([finding])
        assert type(warning) is XGroupDimensionWarning
        assert warning.error is None
        assert str(warning).startswith(f"/g/{name}#/")
        assert finding.arrays == (f"/g/{name}",)
        told.append(str(warning))
    assert set(assigned.dims) == set(assigned.named) == set(arrays)
    return dict(assigned.dims), told


# As declared.


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (document([2, 3], ["y", "x"]), ("y", "x")),
        (document([2, 3], ["y", "x"], 2), ("y", "x")),
        (document([], []), ()),
        (document([]), ()),
        (document([2, 3]), (None, None)),
        (document([2, 3], ["y", None]), ("y", None)),
        (document([2, 3], [None, None]), (None, None)),
        (document([2, 3], ["y", None], 2), ("y", None)),
        (document([2, 2], ["x", "x"]), ("x", "x")),
        # Another number of names than of axes.
        (document([2, 3], ["y"]), (None, None)),
        (document([2, 3], ["z", "y", "x"]), (None, None)),
        (document([2, 3], []), (None, None)),
        (document([], ["x"]), ()),
        # Other types.
        (document([2, 3], "yx"), (None, None)),
        (document([2, 3], {"y": 0, "x": 1}), (None, None)),
        (document([2, 3], 5), (None, None)),
        (document([2, 3], ["y", 5]), ("y", None)),
        (document([2, 3], [["y"], {"x": 1}]), (None, None)),
        (document([2, 3], [True, "x"]), (None, "x")),
        # xarray's attribute on a v3 array, which counts where the format's own names do not.
        (document([2], _ARRAY_DIMENSIONS=["x"]), ("x",)),
        (document([2], ["x"], _ARRAY_DIMENSIONS=["other"]), ("x",)),
        (document([2], ["x", "y"], _ARRAY_DIMENSIONS=["other"]), ("other",)),
    ],
    ids=str,
)
def test_declared_names(array: dict[str, Any], expected: tuple[str | None, ...]) -> None:
    assert declared_dimensions(array) == expected


@pytest.mark.parametrize(
    "nczarr", [5, [], "x", {}, {"dimrefs": None}, {"dimrefs": "x"}, {"dimrefs": ["/x", "/y"]}]
)
def test_nczarr_that_names_nothing(nczarr: Any) -> None:
    assert declared_dimensions({**document([2]), "_NCZARR_ARRAY": nczarr}) == (None,)


def test_a_reference_of_nczarr_that_is_no_text_names_nothing() -> None:
    array = {**document([2, 3]), "_NCZARR_ARRAY": {"dimrefs": [5, "/x"]}}
    assert declared_dimensions(array) == (None, "x")


def test_names_of_xarray_go_before_those_of_nczarr() -> None:
    array = document([2], ["x"], 2, _NCZARR_ARRAY={"dimrefs": ["/other"]})
    assert declared_dimensions(array) == ("x",)


# Made up, or renamed.

PHONY = ("phony_dim_0", "phony_dim_1", "phony_dim_2", "phony_dim_3")


@pytest.mark.parametrize(
    ("arrays", "renamed"),
    [
        # Nothing is to be changed.
        (
            {"v": ([2, 3], "yx"), "w": ([3], "x"), "x": ([3], "x"), "s": ([], ""), "e": ([0], "n")},
            {},
        ),
        ({}, {}),
        # Axes without a name get one for each size of the group, as many as one array needs.
        ({"v": ([4, 5], None)}, {"v": PHONY[:2]}),
        ({"v": ([4, 5, 6], ["t", None, "x"])}, {"v": ("t", PHONY[0], "x")}),
        (
            {"a": ([4, 5], None), "b": ([5], None), "c": ([6, 4], None)},
            {"a": PHONY[:2], "b": PHONY[1:2], "c": (PHONY[2], PHONY[0])},
        ),
        (
            {"a": ([4], None), "b": ([5], None), "c": ([4, 5, 4], None)},
            {"a": PHONY[:1], "b": PHONY[2:3], "c": (PHONY[0], PHONY[2], PHONY[1])},
        ),
        # None that is taken.
        (
            {"a": ([4, 5], None), "b": ([7, 8], [PHONY[0], PHONY[2]])},
            {"a": (PHONY[1], PHONY[3])},
        ),
        ({"a": ([4], None), PHONY[0]: ([], "")}, {"a": (f"{PHONY[0]}_a",)}),
        # The later array by name is renamed, unless it is the coordinate of the dimension.
        ({"a": ([2, 3], "yx"), "b": ([2, 4], "yx")}, {"b": ("y", "x_b")}),
        ({"a": ([4], "x"), "x": ([3], "x"), "z": ([3], "x")}, {"a": ("x_a",)}),
        ({"a": ([4], "x"), "x": ([3, 2], "xy")}, {"x": ("x_x", "y")}),
        ({"a": ([2], "x"), "b": ([3], "x"), "c": ([4], "x")}, {"b": ("x_b",), "c": ("x_c",)}),
        ({"a": ([0], "x"), "b": ([1], "x")}, {"b": ("x_b",)}),
        ({"a": ([2, 3], "yx"), "b": ([4, 5], "yx")}, {"b": ("y_b", "x_b")}),
        ({"a": ([2, 3], "xx")}, {"a": ("x", "x_a")}),
        ({"a": ([2, 5], ["x", "x_b"]), "b": ([3], "x")}, {"b": ("x_b_b",)}),
        # Arrays that share a size share the renamed dimensions.
        (
            {"b1": ([2, 2], "yx"), "b2": ([6, 6], "yx"), "b5": ([4, 4], "yx"), "t": ([6, 6], "yx")},
            {"b2": ("y_b2", "x_b2"), "b5": ("y_b5", "x_b5"), "t": ("y_b2", "x_b2")},
        ),
        # No dimension is called as a scalar, also if it is of length one.
        ({"a": ([2], "s"), "b": ([2], "s"), "s": ([], "")}, {"a": ("s_a",), "b": ("s_a",)}),
        ({"s": ([], ""), "v": ([1], "s")}, {"v": ("s_v",)}),
        # Both troubles are told of as one.
        ({"a": ([2], "x"), "b": ([3, 4], ["x", None])}, {"b": ("x_b", PHONY[0])}),
    ],
    ids=str,
)
@each_format
def test_names_of_dimensions_fit_together(
    arrays: dict[str, tuple[list[int], Any]], renamed: dict[str, Any], zarr_format: ZarrFormat
) -> None:
    members = {
        name: Array(np.zeros(shape), None if names is None else tuple(names))
        for name, (shape, names) in arrays.items()
    }
    store = memory_store(build(Group(members), zarr_format))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    pointer = "/dimension_names" if zarr_format == 3 else "/attributes/_ARRAY_DIMENSIONS"
    texts: dict[str, list[str]] = {}
    for name, (shape, names) in arrays.items():
        named = list(names or [None] * len(shape))
        dims = renamed.get(name, tuple(named))
        assert (dataset[name].dims, dataset[name].shape) == (dims, tuple(shape))
        changes = ", ".join(f"{a!r} -> {b!r}" for a, b in zip(named, dims, strict=True) if a != b)
        if None in named and any(it not in named and "phony" not in it for it in dims):
            axes = [axis for axis, item in enumerate(named) if item is None]
            text = (
                f"axes {axes} of shape {shape} no usable name; its dimensions are called {[*dims]}"
            )
        elif None in named:
            text = "dimensions no usable names; they are called phony_dim_0 and so on"
        else:
            text = (
                f"shape {shape} the dimensions {named}, of which other arrays of the group have "
                f"another size; renamed {changes}"
            )
        if name in renamed:
            texts.setdefault(text, []).append(f"/{name}")
    places = {
        text: f"{', '.join(names)}: {names[0]}#{pointer} and {len(names) - 1} more"
        if len(names) > 1
        else f"{names[0]}#{pointer}"
        for text, names in texts.items()
    }
    assert [str(it) for it in told] == [f"{at}: gives {text}" for text, at in places.items()]
    assert all(type(warning) is XGroupDimensionWarning for warning in told)


@settings(derandomize=True, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "x", "y", "x_a", "x_b", "phony_dim_0"]),
        st.lists(
            st.tuples(
                st.integers(0, 3), st.sampled_from([None, "x", "y", "x_a", "x_b", "phony_dim_0"])
            ),
            max_size=3,
        ),
    )
)
def test_whatever_is_declared_it_fits_together(
    shapes: dict[str, list[tuple[int, str | None]]],
) -> None:
    arrays = {
        name: document([size for size, _name in shape], [name for _size, name in shape])
        for name, shape in shapes.items()
    }
    settled, told = settle(arrays)
    sizes: dict[str, int] = {}
    for name, shape in shapes.items():
        assert len(settled[name]) == len(shape)
        for dimension, (size, _name) in zip(settled[name], shape, strict=True):
            assert sizes.setdefault(dimension, size) == size
    assert not {name for name, shape in shapes.items() if not shape} & set(sizes)
    changed = [name for name in shapes if settled[name] != declared_dimensions(arrays[name])]
    assert [text.split("#")[0] for text in told] == [f"/g/{name}" for name in changed]
    # A dimension's own coordinate keeps its name.
    for name, shape in shapes.items():
        if [dimension for _size, dimension in shape] == [name]:
            assert settled[name] == (name,)


# Names from conventions.


@pytest.mark.parametrize(
    ("shape", "names", "hints", "expected"),
    [
        ([4, 5], None, ("y", "x"), ("y", "x")),
        ([4, 4], None, ("y", "x"), ("y", "x")),
        ([7, 4, 5], None, ("t", "y", "x"), ("t", "y", "x")),
        # The last of several.
        ([9, 4, 5], None, ("y", "x"), (PHONY[0], "y", "x")),
        ([4, 4, 4], None, ("y", "x"), (PHONY[0], "y", "x")),
        # Only of those without a name, each name once.
        ([4, 4, 4], ["t", None, None], ("y", "x"), ("t", "y", "x")),
        ([7, 4, 5], [None, "y", None], ("t", "y", "x"), ("t", "y", "x")),
        ([9, 4, 5], [None, "lat", None], ("y", "x"), (PHONY[0], "lat", "x")),
        ([5, 4], [None, "lat"], (), (PHONY[0], "lat")),
        ([4, 4], [None, "y"], ("y", "x"), (PHONY[0], "y")),
        # More names than axes.
        ([4], None, ("y", "x"), PHONY[:1]),
        ([4], None, (), PHONY[:1]),
    ],
    ids=str,
)
def test_conventions_name_the_last_axes(
    shape: list[int], names: Names, hints: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    array = document(shape, names)
    settled, told = settle({"v": array}, {"v": hints})
    assert settled == {"v": expected}
    axes = [axis for axis, name in enumerate(declared_dimensions(array)) if name is None]
    text = (
        f"axes {axes} of shape {shape} no usable name; its dimensions are called {list(expected)}"
        if {*expected} & {*hints} - {*(names or ())}
        else "dimensions no usable names; they are called phony_dim_0 and so on"
    )
    assert told == [f"/g/v#/dimension_names: gives {text}"]


def test_hints_do_not_change_what_is_declared() -> None:
    assert settle({"v": document([4, 5], ["a", "b"])}, {"v": ("y", "x")}) == ({"v": ("a", "b")}, [])


def test_a_hint_that_has_another_size_in_the_group() -> None:
    arrays = {"a": document([3], ["x"]), "v": document([7, 4, 5])}
    settled, told = settle(arrays, {"v": ("t", "y", "x")})
    assert settled == {"a": ("x",), "v": ("t", "y", "x_v")}
    assert told == [
        (
            "/g/v#/dimension_names: gives axes [0, 1, 2] of shape [7, 4, 5] no usable name; "
            "its dimensions are called ['t', 'y', 'x_v']"
        )
    ]


# In what is opened.


@each_format
@pytest.mark.parametrize("consolidated", [False, True])
def test_unnamed_dimensions_of_a_group(zarr_format: ZarrFormat, consolidated: bool) -> None:
    root = Group(
        {
            "g": Group(
                {
                    "a": Array(np.arange(12).reshape(3, 4), None, {"units": "m"}, chunks=(2, 4)),
                    "b": Array(np.arange(4.0), None),
                    "c": Array(np.arange(4.0), ("x",)),
                }
            )
        }
    )
    store = memory_store(build(root, zarr_format, consolidated=consolidated))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    (warning,) = told
    assert (type(warning), warning.paths) == (XGroupDimensionWarning, ("/g/a", "/g/b"))
    assert dataset["a"].dims == ("phony_dim_0", "phony_dim_1")
    assert dataset["b"].dims == ("phony_dim_1",)
    named = Group(
        {
            "a": Array(
                np.arange(12).reshape(3, 4),
                ("phony_dim_0", "phony_dim_1"),
                {"units": "m"},
                chunks=(2, 4),
            ),
            "b": Array(np.arange(4.0), ("phony_dim_1",)),
            "c": Array(np.arange(4.0), ("x",)),
        }
    )
    assert_same(dataset, opened(xr.open_dataset, memory_store(build(named, zarr_format))))


@pytest.mark.parametrize("names", [["x"], ["x", "y", "z"], "xy", 5, {"x": 1}, ["y", 7]], ids=str)
@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree])
def test_names_that_cannot_be_used_spoil_nothing(function: Any, names: Any) -> None:
    root = Group({"v": Array(np.ones((2, 3)), ("y", "x")), "w": Array(np.arange(3), ("x",))})
    contents = edit(build(root), "v/zarr.json", update(dimension_names=names))
    result, told = opened_with_warnings(function, memory_store(contents))
    assert result["v"].shape == (2, 3)
    assert result["w"].dims == ("x",)
    assert [type(warning) for warning in told] == [XGroupDimensionWarning]
    assert np.all(result["v"].values == 1)


@each_format
def test_arrays_that_disagree_open_with_all_their_values(zarr_format: ZarrFormat) -> None:
    root = Group(
        {
            "a": Array([1.0, 2.0], ("x",)),
            "b": Array([3.0, 4.0, 5.0], ("x",), {"units": "m"}, chunks=(2,)),
            "x": coordinate("x", [10, 20]),
        }
    )
    store = memory_store(build(root, zarr_format))
    dataset, told = opened_with_warnings(xr.open_dataset, store, chunks={})
    assert dict(dataset.sizes) == {"x": 2, "x_b": 3}
    assert dataset["b"].values.tolist() == [3.0, 4.0, 5.0]
    assert dataset["b"].attrs == {"units": "m"}
    assert dataset["b"].chunks == ((2, 1),)
    assert dataset["b"].encoding["preferred_chunks"] == {"x_b": 2}
    assert dataset["a"].coords["x"].values.tolist() == [10, 20]
    pointer = "/dimension_names" if zarr_format == 3 else "/attributes/_ARRAY_DIMENSIONS"
    assert [str(warning) for warning in told] == [
        (
            f"/b#{pointer}: gives shape [3] the dimensions ['x'], of which other arrays of the "
            "group have another size; renamed 'x' -> 'x_b'"
        )
    ]


def test_a_dropped_array_has_no_say() -> None:
    root = Group({"a": Array([1.0, 2.0], ("x",)), "b": Array([3.0, 4.0, 5.0], ("x",))})
    dataset = opened(xr.open_dataset, memory_store(build(root)), drop_variables="a")
    assert dict(dataset.sizes) == {"x": 3}


@pytest.mark.parametrize("key", ["_NCZARR_ARRAY", "_nczarr_array"])
def test_nczarr_in_the_attributes(key: str) -> None:
    nczarr = {key: {"dimension_references": ["/g/y", "/x"]}}
    root = Group({"v": Array(np.zeros((2, 3)), None, {**nczarr, "units": "m"})})
    dataset = opened(xr.open_dataset, memory_store(build(root)))
    assert dataset["v"].dims == ("y", "x")


def test_nczarr_of_v2_as_in_engine_zarr() -> None:
    root = Group(
        {
            "v": Array(
                np.zeros((2, 3)),
                None,
                {"units": "m"},
                v2={"_NCZARR_ARRAY": {"dimrefs": ["/y", "/x"], "storage": "chunked"}},
            )
        }
    )
    store = memory_store(build(root, 2))
    dataset = opened(xr.open_dataset, store)
    assert dataset["v"].dims == ("y", "x")
    assert dataset["v"].attrs == {"units": "m"}
    if Version("2025.1") <= XARRAY:  # earlier ones cannot read it with zarr 3
        compare(xr.open_dataset, store, consolidated=False)


# Dimensions of ancestors.


def with_times(*, nearest: list[int] | None = None, **members: Group | Array) -> Group:
    """Return a store with a time at the root, one in the group, and members two levels down."""
    inner = Group(
        {"deep": Group(members)} | ({"time": coordinate("time", nearest)} if nearest else {})
    )
    return Group({"time": coordinate("time", [1, 2], long_name="root's"), "g": inner})


IN_TIME = Array([7.0, 8.0], ("/time",))


@each_format
@pytest.mark.parametrize("consolidated", [False, True])
def test_the_time_of_an_ancestor(zarr_format: ZarrFormat, consolidated: bool) -> None:
    store = memory_store(build(with_times(v=IN_TIME), zarr_format, consolidated=consolidated))
    dataset = opened(xr.open_dataset, store, group="g/deep")
    assert dataset["v"].dims == ("time",)
    assert dataset["v"].coords["time"].values.tolist() == [1, 2]
    assert dataset["time"].attrs == {"long_name": "root's"}
    assert "time" in dataset.xindexes
    assert set(dataset.data_vars) == {"v"}


def test_the_time_of_the_nearest_ancestor() -> None:
    store = memory_store(build(with_times(nearest=[5, 6], v=IN_TIME)))
    dataset = opened(xr.open_dataset, store, group="g/deep")
    assert dataset["time"].values.tolist() == [5, 6]


def left_as_it_is(length: int, ancestor: str, other: int) -> str:
    return (
        f"/g/deep/v: its dimension '/time' of length {length} cannot be that of group "
        f"{ancestor} (length {other}); it was left as it is"
    )


def test_a_time_of_the_nearest_ancestor_that_does_not_fit() -> None:
    store = memory_store(build(with_times(nearest=[5, 6, 7], v=IN_TIME)))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g/deep")
    assert [str(warning) for warning in told] == [left_as_it_is(2, "/g", 3)]
    assert type(told[0]) is XGroupDimensionWarning
    assert dataset["v"].dims == ("/time",)
    assert not dataset["v"].coords


def test_a_time_that_an_ancestor_has_without_a_coordinate() -> None:
    root = Group(
        {
            "w": Array([1.0, 2.0], ("time",)),
            "g": Group({"v": IN_TIME}),
        }
    )
    dataset = opened(xr.open_dataset, memory_store(build(root)), group="g")
    assert dataset["v"].dims == ("time",)
    assert not dataset.coords


def test_an_ancestors_time_beside_other_dimensions() -> None:
    values = Array(np.zeros((2, 3, 4)), ("/time", "y", "x"), chunks=(1, 3, 2))
    store = memory_store(build(with_times(v=values)))
    dataset = opened(xr.open_dataset, store, group="g/deep", chunks={})
    assert dataset["v"].dims == ("time", "y", "x")
    assert dataset["v"].encoding["preferred_chunks"] == {"time": 1, "y": 3, "x": 2}
    assert dataset["v"].chunks == ((1, 1), (3,), (2, 2))


@pytest.mark.parametrize("name", ["/nowhere", "/", "/g/time"])
def test_names_that_no_ancestor_has_are_as_in_engine_zarr(name: str) -> None:
    store = memory_store(build(with_times(v=Array([7.0, 8.0], (name,)))))
    dataset = compare(xr.open_dataset, store, group="g/deep")
    assert dataset["v"].dims == (name,)


def is_called(name: str, ancestor: str = "/") -> str:
    return (
        f"/g/deep: the dimension '/time' of its arrays, that of group {ancestor}, is called "
        f"{name!r} with its coordinate, because the group has something else called 'time'"
    )


#: Members of a group that have a `time` of their own.
OWN_TIMES: dict[str, dict[str, Group | Array]] = {
    "as long": {"time": coordinate("time", [30, 40]), "w": Array([1.0, 2.0], ("time",))},
    "longer": {"time": coordinate("time", [30, 40, 50])},
    "scalar": {"time": Array(5.0)},
    "along another dimension": {"time": Array([1.0, 2.0, 3.0], ("x",))},
    "along the ancestor's": {"time": Array([30.0, 40.0], ("/time",))},
    "a dimension only": {"w": Array([1.0, 2.0, 3.0], ("time",))},
    "a group": {"time": Group({})},
}


@each_format
@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree, xr.open_groups])
@pytest.mark.parametrize("kind", OWN_TIMES)
def test_beside_a_time_of_the_group_the_ancestors_is_renamed(
    kind: str, function: Open, zarr_format: ZarrFormat
) -> None:
    own = OWN_TIMES[kind]
    members: dict[str, Any] = {**own, "v": IN_TIME}
    store = memory_store(build(with_times(**members), zarr_format))
    result, told = opened_with_warnings(function, store, group="g/deep")
    dataset = result["."] if isinstance(result, dict) else result
    assert [str(warning) for warning in told] == [is_called("root_time")]
    assert type(told[0]) is XGroupDimensionWarning
    assert dataset["v"].dims == ("root_time",)
    assert dataset["v"].coords["root_time"].values.tolist() == [1, 2]
    assert dataset["root_time"].attrs == {"long_name": "root's"}
    assert "root_time" in dataset.xindexes
    time = own.get("time")
    if isinstance(time, Array):
        assert dataset["time"].values.tolist() == np.asarray(time.values).tolist()
    if "w" in own:
        assert dataset["w"].dims == ("time",)
        assert "root_time" not in dataset["w"].coords


def test_it_is_called_by_the_path_of_the_ancestor() -> None:
    own = coordinate("time", [30, 40, 50])
    store = memory_store(build(with_times(nearest=[5, 6], time=own, v=IN_TIME, w=IN_TIME)))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g/deep")
    assert dataset["v"].coords["g_time"].values.tolist() == [5, 6]
    assert dataset["w"].dims == ("g_time",)
    assert [str(warning) for warning in told] == [is_called("g_time", "/g")]


def test_the_longer_name_may_be_taken_as_well() -> None:
    own: dict[str, Any] = {"time": coordinate("time", [30, 40, 50]), "root_time": Array(5.0)}
    store = memory_store(build(with_times(**own, v=IN_TIME)))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g/deep")
    assert dataset["v"].coords["root_time_1"].values.tolist() == [1, 2]
    assert dataset["root_time"].values == 5
    assert [str(warning) for warning in told] == [is_called("root_time_1")]


def test_both_times_along_one_array() -> None:
    both = Array(np.ones((2, 3)), ("/time", "time"))
    store = memory_store(build(with_times(v=both)))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g/deep")
    assert dataset["v"].dims == ("root_time", "time")
    assert [str(warning) for warning in told] == [is_called("root_time")]


def test_an_ancestors_array_along_another_dimension_is_no_coordinate() -> None:
    root = Group(
        {
            "time": Array([1.0, 2.0], ("x",)),
            "w": Array([1.0, 2.0], ("time",)),
            "g": Group({"v": IN_TIME}),
        }
    )
    dataset = opened(xr.open_dataset, memory_store(build(root)), group="g")
    assert dataset["v"].dims == ("time",)
    assert not dataset.coords


# What an ancestor's coordinate names.

SIDES = np.array([[0.5, 1.5], [1.5, 2.5]])


def with_bounds(key: str = "bounds", **members: Group | Array) -> Group:
    """Return a store with a time and its boundaries at the root, and members below it."""
    return Group(
        {
            "time": coordinate("time", [1, 2], **{key: "time_bnds"}),
            "time_bnds": Array(SIDES, ("time", "nv")),
            "g": Group(members),
        }
    )


@each_format
@pytest.mark.parametrize("key", ["bounds", "climatology"])
@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree])
def test_its_bounds_come_along(key: str, function: Open, zarr_format: ZarrFormat) -> None:
    store = memory_store(build(with_bounds(key, v=IN_TIME, w=IN_TIME), zarr_format))
    dataset = opened(function, store, group="g")
    assert dataset["time"].attrs == {key: "time_bnds"}
    assert dataset.coords["time_bnds"].dims == ("time", "nv")
    assert dataset["time_bnds"].values.tolist() == SIDES.tolist()
    assert set(dataset.data_vars) == {"v", "w"}


def test_bounds_are_renamed_with_their_coordinate() -> None:
    own: dict[str, Any] = {
        "time": coordinate("time", [30, 40, 50], bounds="time_bnds"),
        "time_bnds": Array(np.ones((3, 2)), ("time", "nv")),
    }
    store = memory_store(build(with_bounds(**own, v=IN_TIME)))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert dataset["root_time"].attrs == {"bounds": "root_time_bnds"}
    assert dataset["time"].attrs == {"bounds": "time_bnds"}
    assert dataset.coords["root_time_bnds"].dims == ("root_time", "nv")
    assert dataset["root_time_bnds"].values.tolist() == SIDES.tolist()
    assert dataset["time_bnds"].values.tolist() == np.ones((3, 2)).tolist()
    assert [type(warning) for warning in told] == [XGroupDimensionWarning]


def test_bounds_whose_name_is_something_else() -> None:
    store = memory_store(build(with_bounds(v=IN_TIME, time_bnds=Array(5.0))))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert dataset["time"].attrs == {"bounds": "time_bnds_1"}
    assert dataset["time_bnds_1"].values.tolist() == SIDES.tolist()
    assert dataset["time_bnds"].values == 5
    assert [type(warning) for warning in told] == [XGroupNameWarning]


@pytest.mark.parametrize("bounds", ["nowhere", "../above", "wide", "across", "g", 5])
def test_what_are_no_bounds_is_not_attached(bounds: Any) -> None:
    arrays = {
        "time": coordinate("time", [1, 2], bounds=bounds),
        "wide": Array(np.ones((2, 2, 2)), ("time", "y", "x")),
        "across": Array(np.ones((2, 2)), ("nv", "time")),
    }
    root = Group({**arrays, "g": Group({"v": IN_TIME})})
    dataset, _told = opened_with_warnings(xr.open_dataset, memory_store(build(root)), group="g")
    assert set(dataset.coords) == {"time"}


def test_bounds_that_cannot_be_opened() -> None:
    unknown = update(codecs=[{"name": "unknown"}])
    documents = edit(build(with_bounds(v=IN_TIME)), "time_bnds/zarr.json", unknown)
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(documents), group="g")
    assert set(dataset.coords) == {"time"}
    assert len(told) == 1
    assert "/time_bnds cannot be opened" in str(told[0])


HYBRID = Group(
    {
        "lev": coordinate(
            "lev",
            [1, 2],
            formula_terms="a: a b: b ps: lev_ps",
            ancillary_variables="quality missing",
        ),
        "a": Array([10.0, 20.0], ("lev",)),
        "b": Array([0.0, 1.0], ("lev",)),
        "lev_ps": Array([[1.0, 2.0]], ("time", "x")),
        "quality": Array([0, 1], ("lev",)),
    }
)


def below_hybrid(**members: Array) -> Any:
    """Return a store with a parametric coordinate at the root, and arrays below it."""
    return memory_store(build(Group({**HYBRID.members, "g": Group(members)})))


def test_what_a_coordinate_names_comes_along() -> None:
    store = below_hybrid(v=Array([[1.0, 2.0], [3.0, 4.0]], ("/lev", "x")))
    dataset = opened(xr.open_dataset, store, group="g")
    assert set(dataset.data_vars) == {"v"}
    assert set(dataset.coords) == {"lev", "a", "b", "lev_ps", "quality"}
    assert dataset["lev"].attrs == {
        "formula_terms": "a: a b: b ps: lev_ps",
        "ancillary_variables": "quality missing",
    }
    assert dataset["a"].values.tolist() == [10, 20]
    assert dataset["lev_ps"].dims == ("time", "x")
    assert set(dataset["v"].coords) == {"lev", "a", "b", "quality"}


def test_the_roles_of_what_is_renamed_stay() -> None:
    own = {"lev": coordinate("lev", [5, 6, 7]), "b": Array([5.0, 6.0, 7.0], ("lev",))}
    store = below_hybrid(v=Array([1.0, 2.0], ("/lev",)), **own)
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert dataset["v"].dims == ("root_lev",)
    assert dataset["root_lev"].attrs == {
        "formula_terms": "a: root_a b: root_b ps: root_lev_ps",
        "ancillary_variables": "root_quality missing",
    }
    assert dataset["root_b"].values.tolist() == [0, 1]
    assert dataset["b"].values.tolist() == [5, 6, 7]
    assert [type(warning) for warning in told] == [XGroupDimensionWarning]


def test_many_sizes_without_a_name_are_named_in_a_number_of_steps_that_grows_as_they_do() -> None:
    def steps(number: int) -> int:
        arrays = {f"a{size}": document([size]) for size in range(1, number + 1)}
        traced = []

        def trace(frame: FrameType, event: str, _argument: object) -> Any:
            traced.append(event)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            assigned = assign_dimensions(arrays, Node(0, "g"), dict.fromkeys(arrays, (None,)), {})
        finally:
            sys.settrace(before)
        assert assigned.dims[f"a{number}"] == (f"phony_dim_{number - 1}",)
        return len(traced)

    assert steps(400) < 5 * steps(100)
