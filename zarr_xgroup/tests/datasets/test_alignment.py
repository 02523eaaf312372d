"""Groups that do not align with their parents: renamed in a tree as little as possible."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

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
    opened,
    opened_with_warnings,
    oracle,
    recording_store,
    stored,
)
from zarr_xgroup.tests.tables import brief, check, outcome, rows, store_of


def along(dim: str, size: int, **attrs: Any) -> Array:
    return stored(np.arange(size), dim, **attrs)


def renaming(path: str, renamed: str) -> str:
    return (
        f"! Dimension: {path}: does not align with its parents in a DataTree; renamed in it: {renamed}. "
        "To have it unrenamed use xarray.open_dataset or xarray.open_groups"
    )


X, OTHER_X = coordinate("x", [1, 2]), coordinate("x", [1, 9])
SIZE, VALUES = "(size 3, its parents' 2)", "(other coordinate values than /)"
#: Nodes, and which dimensions of which groups are renamed.
RENAMED: dict[str, tuple[Any, dict[str, str]]] = {
    "another size than the parents":
        ({"v": along("x", 2), "g/v": along("x", 3), "g/w": along("y", 3)}, {"/g": f"'x' -> 'x_g' {SIZE}"}),
    "another size than the grandparents": ({"v": along("x", 2), "g/h/v": along("x", 3)}, {"/g/h": f"'x' -> 'x_h' {SIZE}"}),
    "siblings need not align": ({"g/v": along("x", 2), "h/v": along("x", 3)}, {}),
    "children align with what was renamed":
        ({"v": along("x", 2), "g/v": along("x", 3), "g/h/v": along("x", 3), "g/h/w": along("x_g", 4)},
         {"/g": f"'x' -> 'x_g' {SIZE}", "/g/h": f"'x' -> 'x_h' {SIZE}, 'x_g' -> 'x_g_h' (size 4, its parents' 3)"}),
    "a new name that an array has":
        ({"v": along("x", 2), "g/v": along("x", 3), "g/x_g": along("y", 3)}, {"/g": f"'x' -> 'x_g_2' {SIZE}"}),
    "a new name that a dimension has":
        ({"v": along("x", 2), "g/v": along("x", 3), "g/w": along("x_g", 3)}, {"/g": f"'x' -> 'x_g_2' {SIZE}"}),
    "a new name that a dimension of the parents has":
        ({"v": along("x", 2), "w": along("x_g", 3), "g/v": along("x", 3)}, {"/g": f"'x' -> 'x_g_2' {SIZE}"}),
    "new names that an array and a group have":
        ({"v": along("x", 2), "g/v": along("x", 3), "g/x_g": along("y", 3), "g/x_g_2": Group()}, {"/g": f"'x' -> 'x_g_3' {SIZE}"}),
    "other values than the parents": ({"x": X, "g/x": OTHER_X}, {"/g": f"'x' -> 'x_g' {VALUES}"}),
    "other values than the grandparents": ({"x": X, "g/h/x": OTHER_X}, {"/g/h": f"'x' -> 'x_h' {VALUES}"}),
    "other values than the nearest that there are":
        ({"v": along("x", 2), "g/x": X, "g/h/x": OTHER_X}, {"/g/h": "'x' -> 'x_h' (other coordinate values than /g)"}),
    "other values of all dimensions but one":
        ({**{name: coordinate(name, [1, 2]) for name in "xyz"}, **{f"g/{name}": coordinate(name, [1, 9]) for name in "yz"}},
         {"/g": f"'y' -> 'y_g' {VALUES}, 'z' -> 'z_g' {VALUES}"}),
    "equal values of other arrays": ({"x": X, "g/x": X, "g/v": along("x", 2), "g/h/x": X}, {}),
    "no coordinate above": ({"v": along("x", 2), "g/x": X}, {}),
    "no coordinate below": ({"x": X, "g/v": along("x", 2)}, {}),
}  # fmt: skip


def in_groups(nodes: dict[str, Any]) -> dict[str, Any]:
    """Return nodes with the groups that they are in."""
    paths = sorted(
        {"/".join(path.split("/")[:n]) for path in nodes for n in range(path.count("/") + 1)}
    )
    return {**{path: {} for path in paths}, **nodes}


@rows(RENAMED, "nodes, renamed")
def test_dimensions_that_do_not_align_are_renamed_in_a_tree(
    nodes: Any, renamed: dict[str, str]
) -> None:
    store = store_of(in_groups(nodes))
    _tree, found = outcome(store, function=xr.open_datatree)
    assert [line for line in found if line[0] == "!"] == [renaming(*it) for it in renamed.items()]
    compare(xr.open_groups, store)
    if not renamed:
        compare(xr.open_datatree, store)


def test_coordinates_and_names_of_them_go_with_a_renamed_dimension() -> None:
    terms = {"standard_name": "ocean_sigma_coordinate", "formula_terms": "sigma: s eta: eta"}
    members = {
        "s": coordinate("s", [0.1, 0.5, 1.0], **terms),
        "eta": along("x", 2),
        "v": stored(np.ones((3, 2)), "s x", coordinates="s eta"),
    }
    root = {
        "p/s": coordinate("s", [0.5, 1.0]),
        **{f"p/g/{name}": it for name, it in members.items()},
    }
    tree = check(
        in_groups(root),
        """
        /:
        s (s) 0.5 1.0
        /g:
        eta (x) 0 1
        s_g (s_g) 0.1 0.5 1.0 | formula_terms=sigma: s_g eta: eta standard_name=ocean_sigma_coordinate
        v (s_g x) @ eta s_g
        ! Dimension: /p/g: does not align with its parents in a DataTree; renamed in it: 's' -> 's_g' (size 3, its parents' 2). To have it unrenamed use xarray.open_dataset or xarray.open_groups
        """,
        function=xr.open_datatree,
        group="p",
    )
    assert tree["g/v"].encoding["coordinates"] == "s_g eta"
    assert "s_g" in tree["g"].to_dataset(inherit=False).xindexes


def test_characters_that_become_text_have_no_dimension_that_could_conflict() -> None:
    letters = [Array(np.full((2, size), b"a", "S1"), ("n", "strlen")) for size in (3, 5)]
    root = Group({"v": letters[0], "g": Group({"v": letters[1]})})
    compare(xr.open_datatree, store_of(root, 2))


def test_all_but_the_name_is_that_of_the_group_itself_and_is_lazy() -> None:
    group = {
        "x": coordinate("x", np.arange(6.0)),
        "v": Array(np.zeros((6, 6)), ("x", "y"), {"coordinates": "x aux"}, chunks=(2, 3)),
        "aux": Array(np.arange(6.0), ("x",), chunks=(4,)),
    }
    store = recording_store(build(Group({"x": coordinate("x", np.arange(8.0)), "g": Group(group)})))
    tree, _told = opened_with_warnings(xr.open_datatree, store)
    assert store.chunk_gets == {"x/c/0": 1, "g/x/c/0": 1}
    ours = tree["g"].to_dataset(inherit=False).rename({"x_g": "x"})
    theirs = oracle(xr.open_dataset, store, group="g")
    xr.testing.assert_identical(ours, theirs)
    assert tree["g/v"].encoding["coordinates"] == "x_g aux"
    assert tree["g/v"].encoding["preferred_chunks"] == {"x_g": 2, "y": 3}
    ignored = ("preferred_chunks", "coordinates")
    for name in theirs.variables:
        one, other = (
            {key: value for key, value in each[name].encoding.items() if key not in ignored}
            for each in (ours, theirs)
        )
        assert_equal(one, other, str(name))


@pytest.mark.skipif(not HAS_INDEX_OPTION, reason="this xarray builds indexes always")
def test_without_indexes_sizes_have_to_fit_but_not_values() -> None:
    store = recording_store(build(Group({"x": X, "g": Group({"x": OTHER_X})})))
    tree = opened(xr.open_datatree, store, create_default_indexes=False)
    assert store.chunk_gets == {}
    assert tree["g"].to_dataset(inherit=False)["x"].values.tolist() == [1, 9]
    nodes = in_groups({"x": X, "g/x": coordinate("x", [1])})
    check(
        nodes,
        """
        /:
        x (x) 1 2 no index
        /g:
        x_g (x_g) 1 no index
        ! Dimension: /g: does not align with its parents in a DataTree; renamed in it: 'x' -> 'x_g' (size 1, its parents' 2). To have it unrenamed use xarray.open_dataset or xarray.open_groups
        """,
        function=xr.open_datatree,
        create_default_indexes=False,
    )


# Arrays called like a coordinate of the parents.


@pytest.mark.parametrize("attrs", [{}, {"coordinates": "x"}], ids=["data", "coordinate"])
def test_an_array_called_like_a_coordinate_above_stays_in_its_group(attrs: Any) -> None:
    members = {"x": along("y", 3), "v": along("y", 3, **attrs)}
    group = Group({**members, "deep": Group(members)})
    tree = compare(xr.open_datatree, store_of(Group({"x": X, "g": group})))
    if HAS_INDEX_OPTION:  # before, xarray hands data variables on without what parents hide
        for path in ("g", "g/deep"):
            assert tree[path].to_dataset(inherit=False)["x"].dims == ("y",)


def test_an_array_called_like_a_coordinate_attached_above_and_compared_below() -> None:
    attributes = declaring("ref", x={"node": "/g/deep/lat"})
    deep = Group({"lat": coordinate("lat", [0, 1])})
    group = Group({"lat": stored(7), "deep": deep})
    tree = opened(
        xr.open_datatree, store_of(Group({"v": along("lat", 2, **attributes), "g": group}))
    )
    if HAS_INDEX_OPTION:
        assert tree["g"].to_dataset(inherit=False)["lat"].values == 7
        assert tree["g"]["lat"].values == 7  # not what it would inherit
    assert tree["lat"].values.tolist() == [0, 1]


# What is known of coordinates.


def made(path: str, values: list[float], **encoding: str) -> tuple[str, xr.Dataset]:
    return path, xr.Dataset(coords={"x": xr.Variable(("x",), values, {}, encoding)})


KNOWN: dict[str, tuple[tuple[str, xr.Dataset], str | None, bool]] = {
    "the same": (made("/g", [1.0, 3.0]), "one", False),
    "another one": (made("/g", [1.0, 3.0]), "other", True),
    "an unknown one": (made("/g", [1.0, 3.0]), None, True),
    "the same of another type": (made("/g", [1, 3]), "one", True),
    "the same in other units": (made("/g", [1.0, 3.0], units="days since 2000-01-01"), "one", True),
    "the same of another calendar": (made("/g", [1.0, 3.0], calendar="noleap"), "one", True),
    "one without an index": (("/g", made("/g", [1.0, 3.0])[1].drop_indexes("x")), None, False),
    "a dimension": (("/g", xr.Dataset({"v": ("x", [1.0, 2.0])})), "one", False),
}  # fmt: skip


@rows(KNOWN, "below, identity, is_compared")
def test_coordinates_are_compared_that_are_not_known_to_be_the_same(
    below: tuple[str, xr.Dataset], identity: str | None, is_compared: bool
) -> None:
    identities = {"/": {"x": "one"}, "/g": {} if identity is None else {"x": identity}}
    datasets = dict([made("/", [1.0, 2.0]), below])
    aligned, findings = align_with_parents(datasets, identities)
    assert ("x_g" in aligned["/g"].dims) == is_compared
    assert len(findings) == is_compared
    datasets["/"] = datasets["/"].drop_indexes("x")
    assert align_with_parents(datasets, {})[1] == []


# Coordinates called as a group below.

BELOW: dict[str, tuple[Any, str]] = {
    "none that an array, a dimension or a group has":
        ({"p/x": X, "p/x_1": along("y", 3), "p/v": along("x_2", 3), "p/x_3": Group(), "p/h/x": Group()},
         "/:; x_4 (x) 1 2; v (x_2); x_1 (y); /h:; /x_3:; /h/x:; ! Name /p"),
    "what names it goes on to do so":
        ({"p/s": coordinate("s", [0, 1], formula_terms="sigma: s eta: eta", standard_name="z"), "p/eta": along("x", 2), "p/h/s": Group()},
         "/:; s_1 (s) 0 1 | formula_terms=sigma: s_1 eta: eta standard_name=z; eta (x); /h:; /h/s:; ! Name /p"),
    "not of a group beside, nor above":
        ({"p/a/x/v": along("y", 2), "p/b/x": coordinate("x", [1, 2]), "p/x/0x/x": coordinate("x", [1, 2]), "p/x/0x/a/x": Group()},
         "/:; /a:; /b:; x (x) 1 2; /x:; /a/x:; v (y); /x/0x:; x_1 (x) 1 2; /x/0x/a:; /x/0x/a/x:; ! Name /p/x/0x"),
}  # fmt: skip


@rows(BELOW)
def test_a_coordinate_called_as_a_group_below_has_another_name(nodes: Any, expected: str) -> None:
    assert brief(in_groups(nodes), function=xr.open_datatree, group="p") == expected
