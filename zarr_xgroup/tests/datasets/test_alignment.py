"""Groups that do not align with their parents: renamed in a tree as little as possible."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupDimensionWarning
from zarr_xgroup.datasets.align import align_with_parents
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Group,
    assert_equal,
    build,
    compare,
    coordinate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    recording_store,
)


def along(dim: str, size: int, **options: Any) -> Array:
    return Array(np.arange(float(size)), (dim,), **options)


def tree_of(root: Group, **options: Any) -> tuple[Any, list[str]]:
    """Return a tree, and what is told of dimensions."""
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(build(root)), **options)
    for warning in told:
        assert type(warning) is XGroupDimensionWarning
        assert warning.error is None
    return tree, [str(warning) for warning in told]


def text(path: str, renamed: str) -> str:
    return (
        f"{path}: does not align with its parents in a DataTree; renamed in it: {renamed}. To have "
        "it unrenamed use xarray.open_dataset or xarray.open_groups"
    )


# Sizes.


def test_a_size_that_conflicts_with_the_parents() -> None:
    root = Group({"v": along("x", 2), "g": Group({"v": along("x", 3), "w": along("y", 3)})})
    tree, told = tree_of(root)
    assert told == [text("/g", "'x' -> 'x_g' (size 3, its parents' 2)")]
    assert tree["v"].dims == ("x",)
    assert tree["g/v"].dims == ("x_g",)
    assert tree["g/w"].dims == ("y",)
    assert tree["g/v"].values.tolist() == [0.0, 1.0, 2.0]


def test_a_size_that_conflicts_with_the_grandparents() -> None:
    root = Group({"v": along("x", 2), "g": Group({"h": Group({"v": along("x", 3)})})})
    tree, told = tree_of(root)
    assert told == [text("/g/h", "'x' -> 'x_h' (size 3, its parents' 2)")]
    assert tree["g/h/v"].dims == ("x_h",)


def test_siblings_need_not_align() -> None:
    root = Group({"g": Group({"v": along("x", 2)}), "h": Group({"v": along("x", 3)})})
    compare(xr.open_datatree, memory_store(build(root)))


def test_what_was_renamed_is_what_children_align_with() -> None:
    root = Group(
        {
            "v": along("x", 2),
            "g": Group(
                {"v": along("x", 3), "h": Group({"v": along("x", 3), "w": along("x_g", 4)})}
            ),
        }
    )
    tree, told = tree_of(root)
    assert told == [
        text("/g", "'x' -> 'x_g' (size 3, its parents' 2)"),
        text(
            "/g/h",
            "'x' -> 'x_h' (size 3, its parents' 2), 'x_g' -> 'x_g_h' (size 4, its parents' 3)",
        ),
    ]
    assert tree["g/h/v"].shape == (3,)


def test_a_conflicting_dimension_with_its_coordinate() -> None:
    root = Group(
        {
            "x": coordinate("x", [1.0, 2.0]),
            "g": Group({"x": coordinate("x", [1.0, 2.0, 3.0], units="m"), "v": along("x", 3)}),
        }
    )
    tree, told = tree_of(root)
    assert told == [text("/g", "'x' -> 'x_g' (size 3, its parents' 2)")]
    group = tree["g"].to_dataset(inherit=False)
    assert group["x_g"].values.tolist() == [1.0, 2.0, 3.0]
    assert group["x_g"].attrs == {"units": "m"}
    assert "x_g" in group.xindexes
    assert set(group["v"].coords) == {"x_g"}


def test_a_group_below_the_one_asked_for_is_named_from_the_root_of_the_store() -> None:
    inner = Group({"v": along("x", 2), "h": Group({"v": along("x", 3)})})
    _tree, told = tree_of(Group({"g": inner}), group="g")
    assert told == [text("/g/h", "'x' -> 'x_h' (size 3, its parents' 2)")]


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ({"x_g": along("y", 3)}, "x_g_2"),
        ({"w": along("x_g", 3)}, "x_g_2"),
        ({"x_g": Group()}, "x_g_2"),
        ({"x_g": along("y", 3), "x_g_2": Group()}, "x_g_3"),
    ],
    ids=["array", "dimension", "group", "two"],
)
def test_a_new_name_that_is_taken(taken: dict[str, Array | Group], name: str) -> None:
    root = Group({"v": along("x", 2), "g": Group({"v": along("x", 3), **taken})})
    tree, told = tree_of(root)
    assert told == [text("/g", f"'x' -> '{name}' (size 3, its parents' 2)")]
    assert tree["g/v"].dims == (name,)


def test_a_new_name_that_is_a_dimension_of_the_parents() -> None:
    root = Group({"v": along("x", 2), "w": along("x_g", 3), "g": Group({"v": along("x", 3)})})
    assert tree_of(root)[0]["g/v"].dims == ("x_g_2",)


def test_characters_that_become_text_have_no_dimension_that_could_conflict() -> None:
    def letters(number: int) -> Array:
        return Array(np.full((2, number), b"a", "S1"), ("n", "strlen"))

    root = Group({"v": letters(3), "g": Group({"v": letters(5)})})
    tree = compare(xr.open_datatree, memory_store(build(root, 2)))
    assert tree["g/v"].encoding["char_dim_name"] == "strlen"


# Values.


def test_coordinate_values_that_conflict() -> None:
    root = Group(
        {
            "x": coordinate("x", [1.0, 2.0]),
            "v": along("x", 2),
            "g": Group({"x": coordinate("x", [1.0, 9.0]), "v": along("x", 2)}),
        }
    )
    tree, told = tree_of(root)
    assert told == [text("/g", "'x' -> 'x_g' (other coordinate values than /)")]
    assert tree["g/v"].dims == ("x_g",)
    assert tree["g/x_g"].values.tolist() == [1.0, 9.0]
    assert tree["x"].values.tolist() == [1.0, 2.0]


def test_values_that_conflict_with_the_grandparents() -> None:
    below = Group({"x": coordinate("x", [1.0, 9.0])})
    _tree, told = tree_of(Group({"x": coordinate("x", [1.0, 2.0]), "g": Group({"h": below})}))
    assert told == [text("/g/h", "'x' -> 'x_h' (other coordinate values than /)")]


def test_values_that_conflict_with_the_nearest_that_there_are() -> None:
    below = Group({"x": coordinate("x", [1.0, 9.0])})
    group = Group({"x": coordinate("x", [1.0, 2.0]), "h": below})
    _tree, told = tree_of(Group({"v": along("x", 2), "g": group}))
    assert told == [text("/g/h", "'x' -> 'x_h' (other coordinate values than /g)")]


def test_equal_coordinates_of_different_arrays_are_as_in_engine_zarr() -> None:
    below = Group({"x": coordinate("x", [1.0, 2.0]), "v": along("x", 2)})
    root = Group({"x": coordinate("x", [1.0, 2.0]), "g": Group({"h": below, **below.members})})
    compare(xr.open_datatree, memory_store(build(root)))


def test_a_dimension_of_the_parents_without_coordinate_is_as_in_engine_zarr() -> None:
    root = Group({"v": along("x", 2), "g": Group({"x": coordinate("x", [1.0, 2.0])})})
    compare(xr.open_datatree, memory_store(build(root)))
    root = Group({"x": coordinate("x", [1.0, 2.0]), "g": Group({"v": along("x", 2)})})
    compare(xr.open_datatree, memory_store(build(root)))


def test_coordinates_are_read_once_to_compare_them() -> None:
    root = Group(
        {
            "x": coordinate("x", [1.0, 2.0]),
            "g": Group({"x": coordinate("x", [1.0, 9.0]), "v": along("x", 2)}),
        }
    )
    store = recording_store(build(root))
    opened_with_warnings(xr.open_datatree, store)
    assert store.chunk_gets == {"x/c/0": 1, "g/x/c/0": 1}


if HAS_INDEX_OPTION:

    def test_without_indexes_nothing_is_read_and_nothing_renamed_for_values() -> None:
        root = Group(
            {
                "x": coordinate("x", [1.0, 2.0]),
                "g": Group({"x": coordinate("x", [1.0, 9.0]), "v": along("x", 2)}),
            }
        )
        store = recording_store(build(root))
        tree = opened(xr.open_datatree, store, create_default_indexes=False)
        assert store.chunk_gets == {}
        assert tree["g/v"].dims == ("x",)
        assert tree["g"].to_dataset(inherit=False)["x"].values.tolist() == [1.0, 9.0]

    def test_without_indexes_sizes_still_have_to_fit() -> None:
        root = Group({"x": coordinate("x", [1.0, 2.0]), "g": Group({"x": coordinate("x", [1.0])})})
        store = recording_store(build(root))
        tree, told = opened_with_warnings(xr.open_datatree, store, create_default_indexes=False)
        assert [str(item) for item in told] == [text("/g", "'x' -> 'x_g' (size 1, its parents' 2)")]
        assert tree["g/x_g"].values.tolist() == [1.0]
        assert set(store.chunk_gets) == {"g/x/c/0"}


# What else there is.

MISALIGNED = Group(
    {
        "x": coordinate("x", np.arange(8.0)),
        "v": along("x", 8, chunks=(4,)),
        "g": Group(
            {
                "x": coordinate("x", np.arange(6.0)),
                "v": Array(np.zeros((6, 6)), ("x", "y"), {"coordinates": "x aux"}, chunks=(2, 3)),
                "aux": along("x", 6, chunks=(4,)),
            }
        ),
    }
)


def test_groups_are_never_renamed_by_open_groups_nor_open_dataset() -> None:
    store = memory_store(build(MISALIGNED))
    compare(xr.open_groups, store)
    compare(xr.open_dataset, store, group="g")


@pytest.mark.parametrize("attrs", [{}, {"coordinates": "x"}], ids=["data", "coordinate"])
def test_an_array_called_like_a_coordinate_above_stays_in_its_group(attrs: Any) -> None:
    members = {"x": along("y", 3), "v": along("y", 3, attrs=attrs)}
    group = Group({**members, "deep": Group(members)})
    store = memory_store(build(Group({"x": coordinate("x", [1.0, 2.0]), "g": group})))
    tree = compare(xr.open_datatree, store)
    if HAS_INDEX_OPTION:  # before, xarray hands data variables on without what parents hide
        for path in ("g", "g/deep"):
            assert tree[path].to_dataset(inherit=False)["x"].dims == ("y",)


def test_an_array_called_like_a_coordinate_attached_above_and_compared_below() -> None:
    attributes = declaring("ref", x={"node": "/g/deep/lat"})
    deep = Group({"lat": coordinate("lat", [0.0, 1.0])})
    group = Group({"lat": Array(np.int16(7), ()), "deep": deep})
    members: dict[str, Array | Group] = {"v": along("lat", 2, attrs=attributes), "g": group}
    tree, told = tree_of(Group(members))
    assert told == []
    if HAS_INDEX_OPTION:
        assert tree["g"].to_dataset(inherit=False)["lat"].values == 7
        assert tree["g"]["lat"].values == 7  # not what it would inherit
    assert tree["lat"].values.tolist() == [0.0, 1.0]


def test_all_but_the_name_is_that_of_the_group_itself() -> None:
    store = memory_store(build(MISALIGNED))
    tree, _told = opened_with_warnings(xr.open_datatree, store)
    ours = tree["g"].to_dataset(inherit=False).rename({"x_g": "x"})
    theirs = oracle(xr.open_dataset, store, group="g")
    xr.testing.assert_identical(ours, theirs)
    assert tree["g/v"].encoding["coordinates"] == "x_g aux"
    ignored = ("preferred_chunks", "coordinates")
    for name in theirs.variables:
        one, other = (
            {key: value for key, value in each[name].encoding.items() if key not in ignored}
            for each in (ours, theirs)
        )
        assert_equal(one, other, str(name))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_renamed_tree_is_lazy(zarr_format: Any) -> None:
    store = recording_store(build(MISALIGNED, zarr_format))
    tree, _told = opened_with_warnings(xr.open_datatree, store)
    read = {key.rpartition("/")[0].removesuffix("/c") for key in store.chunk_gets}
    assert read == {"x", "g/x"}
    assert tree["g/v"].isel(x_g=0, y=0).values == 0


# What is known of coordinates, and names that are taken.


def made(path: str, values: list[float], **encoding: str) -> tuple[str, xr.Dataset]:
    x = xr.Variable(("x",), values, {}, encoding)
    return path, xr.Dataset(coords={"x": x})


@pytest.mark.parametrize(
    ("below", "identity", "is_compared"),
    [
        (made("/g", [1.0, 3.0]), "one", False),
        (made("/g", [1.0, 3.0]), "other", True),
        (made("/g", [1.0, 3.0]), None, True),
        (made("/g", [1, 3]), "one", True),
        (made("/g", [1.0, 3.0], units="days since 2000-01-01"), "one", True),
        (made("/g", [1.0, 3.0], calendar="noleap"), "one", True),
        (("/g", made("/g", [1.0, 3.0])[1].drop_indexes("x")), None, False),
        (("/g", xr.Dataset({"v": ("x", [1.0, 2.0])})), "one", False),
    ],
)
def test_coordinates_are_compared_that_are_not_known_to_be_the_same(
    below: tuple[str, xr.Dataset], identity: str | None, is_compared: bool
) -> None:
    identities = {"/": {"x": "one"}, "/g": {} if identity is None else {"x": identity}}
    datasets = dict([made("/", [1.0, 2.0]), below])
    aligned, findings = align_with_parents(datasets, identities)
    assert ("x_g" in aligned["/g"].dims) == is_compared
    assert len(findings) == is_compared


def test_coordinates_without_an_index_above_are_not_compared() -> None:
    datasets = dict([made("/", [1.0, 2.0]), made("/g", [1.0, 3.0])])
    datasets["/"] = datasets["/"].drop_indexes("x")
    assert align_with_parents(datasets, {})[1] == []


def test_all_dimensions_that_conflict_are_renamed() -> None:
    coordinates = {name: coordinate(name, [1.0, 2.0]) for name in ("x", "y", "z")}
    group = Group({"y": coordinate("y", [1.0, 9.0]), "z": coordinate("z", [1.0, 9.0])})
    tree, told = tree_of(Group({**coordinates, "g": group}))
    reason = "(other coordinate values than /)"
    assert told == [text("/g", f"'y' -> 'y_g' {reason}, 'z' -> 'z_g' {reason}")]
    assert set(tree["g"].to_dataset(inherit=False).coords) == {"y_g", "z_g"}


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ({}, "X_1"),
        ({"X_1": along("y", 3)}, "X_2"),
        ({"w": along("X_1", 3)}, "X_2"),
        ({"X_1": Group()}, "X_2"),
    ],
    ids=["none", "array", "dimension", "group"],
)
def test_a_coordinate_called_as_groups_below_its_own(
    taken: dict[str, Array | Group], name: str
) -> None:
    inner = Group({"X": Group({"v": along("X", 2)})})
    own = {"X": coordinate("X", [1.0, 2.0]), "a": inner, "b": inner, **taken}
    beside = Group({"X": coordinate("X", [1.0, 2.0])})
    root = Group({"X": Group({"0X": Group(own)}), "beside": beside})
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(build(root)))
    assert [warning.paths for warning in told] == [("/X/0X",)]
    assert f"'X' is called {name!r}" in str(told[0])
    assert tree[f"X/0X/{name}"].values.tolist() == [1.0, 2.0]
    assert "X" in tree["beside"].coords


def test_a_coordinate_of_the_group_asked_for_called_as_a_group_below() -> None:
    inner = Group({"x": Group({"v": along("y", 2)})})
    root = Group({"g": Group({"x": coordinate("x", [1.0, 2.0]), "h": inner})})
    store = memory_store(build(root))
    tree, (told,) = opened_with_warnings(xr.open_datatree, store, group="g")
    assert told.paths == ("/g",)
    assert str(told) == (
        "/g: its coordinate 'x' is called 'x_1' in a DataTree, because a group below it is "
        "called /g/h/x. To have it unrenamed use xarray.open_dataset or xarray.open_groups"
    )
    assert tree["x_1"].values.tolist() == [1.0, 2.0]


def test_what_names_a_renamed_coordinate_goes_on_to_do_so() -> None:
    terms = {"standard_name": "ocean_sigma_coordinate", "formula_terms": "sigma: s eta: eta"}
    members = {
        "s": coordinate("s", [0.1, 0.5, 1.0], **terms),
        "eta": along("x", 2),
        "v": Array(np.ones((3, 2)), ("s", "x"), {"coordinates": "s eta"}),
    }
    root = Group({"s": coordinate("s", [0.5, 1.0]), "g": Group(members)})
    tree, _told = tree_of(root)
    assert tree["g/s_g"].attrs["formula_terms"] == "sigma: s_g eta: eta"
    assert tree["g/v"].encoding["coordinates"] == "s_g eta"
    below = {"h": Group({"s": Group({"w": along("y", 2)})})}
    store = memory_store(build(Group({**members, **below})))
    tree, _warnings = opened_with_warnings(xr.open_datatree, store)
    assert tree["s_1"].attrs["formula_terms"] == "sigma: s_1 eta: eta"
    assert tree["v"].encoding["coordinates"] == "s_1 eta"
