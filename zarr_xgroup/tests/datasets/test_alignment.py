"""Groups that do not align with their parents: as little as possible is renamed in a tree."""

from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr

from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Group,
    assert_equal,
    assert_same,
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


def renaming(path: str, renamed: str, topic: str = "Dimension") -> str:
    return (
        f"! {topic}: {path}: does not align with its parents in a DataTree; renamed {renamed}. "
        "xarray.open_dataset and xarray.open_groups keep the names"
    )


X, OTHER_X = coordinate("x", [1, 2]), coordinate("x", [1, 9])
SIZE, VALUES = "(size 3, 2 in its parents)", "(coordinate values differ from those in /)"
#: Nodes, and which dimensions of which groups are renamed.
RENAMED: dict[str, tuple[Any, dict[str, str]]] = {
    "another size than the parents":
        ({"v": along("x", 2), "g/v": along("x", 3), "g/w": along("y", 3)}, {"/g": f"'x' -> 'x_g' {SIZE}"}),
    "another size than the grandparents": ({"v": along("x", 2), "g/h/v": along("x", 3)}, {"/g/h": f"'x' -> 'x_h' {SIZE}"}),
    "siblings need not align": ({"g/v": along("x", 2), "h/v": along("x", 3)}, {}),
    "children align with what was renamed":
        ({"v": along("x", 2), "g/v": along("x", 3), "g/h/v": along("x", 3), "g/h/w": along("x_g", 4)},
         {"/g": f"'x' -> 'x_g' {SIZE}", "/g/h": f"'x' -> 'x_h' {SIZE}, 'x_g' -> 'x_g_h' (size 4, 3 in its parents)"}),
    "a new name that an array has":
        ({"v": along("x", 2), "g/v": along("x", 3), "g/x_g": along("y", 3)}, {"/g": f"'x' -> 'x_g_2' {SIZE}"}),
    "a new name that a dimension of the parents has":
        ({"v": along("x", 2), "w": along("x_g", 3), "g/v": along("x", 3)}, {"/g": f"'x' -> 'x_g_2' {SIZE}"}),
    "new names that an array and a group have":
        ({"v": along("x", 2), "g/v": along("x", 3), "g/x_g": along("y", 3), "g/x_g_2": Group()}, {"/g": f"'x' -> 'x_g_3' {SIZE}"}),
    "other values than the parents": ({"x": X, "g/x": OTHER_X}, {"/g": f"'x' -> 'x_g' {VALUES}"}),
    "other values than the nearest that there are":
        ({"v": along("x", 2), "g/x": X, "g/h/x": OTHER_X}, {"/g/h": "'x' -> 'x_h' (coordinate values differ from those in /g)"}),
    "other values of all dimensions but one":
        ({**{name: coordinate(name, [1, 2]) for name in "xyz"}, **{f"g/{name}": coordinate(name, [1, 9]) for name in "yz"}},
         {"/g": f"'y' -> 'y_g' {VALUES}, 'z' -> 'z_g' {VALUES}"}),
    "equal values below a renamed dimension":
        ({"x": X, "g/x": OTHER_X, "g/h/x": OTHER_X}, {"/g": f"'x' -> 'x_g' {VALUES}", "/g/h": "'x' -> 'x_g' (as in its parents)"}),
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
        ! Dimension: /p/g: does not align with its parents in a DataTree; renamed 's' -> 's_g' (size 3, 2 in its parents). xarray.open_dataset and xarray.open_groups keep the names
        """,
        function=xr.open_datatree,
        group="p",
    )
    assert tree["g/v"].encoding["coordinates"] == "s_g eta"
    assert "s_g" in tree["g"].to_dataset(inherit=False).xindexes


def test_dimensions_of_joined_characters_do_not_conflict() -> None:
    letters = [Array(np.full((2, size), b"a", "S1"), ("n", "strlen")) for size in (3, 5)]
    root = Group({"v": letters[0], "g": Group({"v": letters[1]})})
    compare(xr.open_datatree, store_of(root, 2))


def test_a_renamed_group_is_identical_except_for_the_name_and_lazy() -> None:
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
def test_without_indexes_only_sizes_must_align() -> None:
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
        ! Dimension: /g: does not align with its parents in a DataTree; renamed 'x' -> 'x_g' (size 1, 2 in its parents). xarray.open_dataset and xarray.open_groups keep the names
        """,
        function=xr.open_datatree,
        create_default_indexes=False,
    )


# Arrays called like a coordinate of the parents.


@pytest.mark.parametrize("attrs", [{}, {"coordinates": "x"}], ids=["data", "coordinate"])
def test_an_array_with_the_name_of_an_inherited_coordinate_stays_in_its_group(attrs: Any) -> None:
    members = {"x": along("y", 3), "v": along("y", 3, **attrs)}
    group = Group({**members, "deep": Group(members)})
    tree = compare(xr.open_datatree, store_of(Group({"x": X, "g": group})))
    if HAS_INDEX_OPTION:  # before, xarray hands data variables on without what parents hide
        for path in ("g", "g/deep"):
            assert tree[path].to_dataset(inherit=False)["x"].dims == ("y",)


# Grids that would get the positions of a different grid, and variables that have the name of an inherited index.


def grid(code: str = "EPSG:32632", dims: str = "y x", turned: float = 0, **attrs: Any) -> Array:
    """Return an array whose coordinates are computed from an affine transform."""
    spatial = {
        "spatial:dimensions": dims.split()[-2:],
        "spatial:transform": [1, turned, 0, turned, -1, 2],
    }
    attributes = declaring("spatial", "proj", **spatial, **{"proj:code": code}, **attrs)
    return stored(np.zeros([{"time": 4}.get(dim, 2) for dim in dims.split()]), dims, **attributes)


def in_crs(code: str, dims: str = "y x") -> Array:
    return stored(np.zeros((2, 2)), dims, **declaring("proj", **{"proj:code": code}))


def swath(kind: str = "geodetic", dims: str = "y x", **more: Any) -> dict[str, Any]:
    """Return the members of a group: an array and its geolocation arrays `lon2` and `lat2`."""
    pair = {"x": {"node": "lon2"}, "y": {"node": "lat2"}, **more}
    position = stored(np.zeros((2, 2)), dims)
    field = stored(np.zeros((2, 2)), dims, **declaring("geolocation", geolocation={kind: pair}))
    return {"v": field, "lon2": position, "lat2": position}


def below(path: str, members: dict[str, Any]) -> dict[str, Any]:
    return {f"{path}/{name}": it for name, it in members.items()}


def by_cs(**axes: tuple[str, list[float]]) -> Array:
    """Return an array with a 1-D coordinate along each of its dimensions."""
    written = {
        name: {"abbreviation": letter, "coordinates": [{"values": {"explicit": values}}]}
        for name, (letter, values) in axes.items()
    }
    shape = [len(values) for _letter, values in axes.values()]
    return stored(np.zeros(shape), tuple(axes), **declaring("cs", cs={"crs": [{"axes": written}]}))


UTM33 = "EPSG:32633"
CRS, FLAT = "(CRS EPSG:32633, EPSG:32632 in /)", "(2-D positions, 1-D in /)"
PARENTS, OTHER = "(as in its parents)", "(dimensions differ from those in /)"
BOTH_CRS = f"'y' -> 'y_g' {CRS}, 'x' -> 'x_g' {CRS}"
BOTH_FLAT = f"'y' -> 'y_g' {FLAT}, 'x' -> 'x_g' {FLAT}"
BOTH_TAKEN = f"'y' -> 'y_g' {PARENTS}, 'x' -> 'x_g' {PARENTS}"
WGS84 = {"crs_wkt": pyproj.CRS(4326).to_wkt(), "grid_mapping_name": "latitude_longitude"}
PLAIN = stored(np.zeros((2, 2)), "y x")
#: Nodes, and which dimensions of which groups are renamed because conventions place grids or attach indexes.
GRIDS: dict[str, tuple[Any, dict[str, str]]] = {
    "a grid in a different CRS": ({"v": grid(), "g/v": in_crs(UTM33)}, {"/g": BOTH_CRS}),
    "a grid in a different CRS, with equal coordinates of its own": ({"v": grid(), "g/v": grid(UTM33)}, {"/g": BOTH_CRS}),
    "a grid in the same CRS": ({"v": grid(), "g/v": in_crs("EPSG:32632")}, {}),
    "a grid in an unknown CRS": ({"v": grid(), "g/v": PLAIN}, {}),
    "below a grid in an unknown CRS": ({"v": by_cs(y=("Y", [1, 2]), x=("X", [1, 2])), "g/v": in_crs(UTM33)}, {}),
    "below own coordinates that no convention attaches":
        ({"y": coordinate("y", [1, 2]), "x": X, "v": stored(np.zeros((2, 2)), "y x", grid_mapping="c"), "c": stored(0, **WGS84), "g/v": in_crs(UTM33)},
         {"/g": "'y' -> 'y_g' (CRS EPSG:32633, EPSG:4326 in /), 'x' -> 'x_g' (CRS EPSG:32633, EPSG:4326 in /)"}),
    "a grid without a convention, below coordinates by one":
        ({"v": grid(), "g/v": stored(np.zeros((2, 2)), "y x", grid_mapping="c"), "g/c": stored(0, **WGS84)},
         {"/g": "'y' -> 'y_g' (CRS EPSG:4326, EPSG:32632 in /), 'x' -> 'x_g' (CRS EPSG:4326, EPSG:32632 in /)"}),
    "no convention in either":
        ({"x": X, "v": stored(np.zeros((2, 2)), "y x", grid_mapping="c"), "c": stored(0, **WGS84),
          "g/v": stored(np.zeros((2, 2)), "y x", grid_mapping="c", coordinates="lat"), "g/lat": stored(np.zeros((2, 2)), "y x", units="degrees_north"),
          "g/c": stored(0, crs_wkt=pyproj.CRS(UTM33).to_wkt())}, {}),
    "below coordinates alone that name their CRS":
        ({"x": coordinate("x", [1, 2], grid_mapping="c"), "c": stored(0, **WGS84), "g/v": in_crs(UTM33)},
         {"/g": "'x' -> 'x_g' (CRS EPSG:32633, EPSG:4326 in /)"}),
    "times are not positions":
        ({"time": coordinate("time", range(4), units="days since 2000-01-01"), "v": grid(dims="time y x"), "g/v": grid(UTM33, "time y x")}, {"/g": BOTH_CRS}),
    "a rotated grid": ({"v": grid(), "g/v": grid(turned=0.5)}, {"/g": BOTH_FLAT}),
    "a swath": ({"v": grid(), **below("g", swath())}, {"/g": BOTH_FLAT}),
    "a swath with planar positions": ({"v": grid(), **below("g", swath("planar"))}, {"/g": BOTH_FLAT}),
    "a swath that declares CF":
        ({"v": grid(), "g/v": stored(np.zeros((2, 2)), "y x", **declaring("CF", coordinates="lat lon")),
          "g/lat": stored(np.zeros((2, 2)), "y x", units="degrees_north"), "g/lon": stored(np.zeros((2, 2)), "y x", units="degrees_east")},
         {"/g": BOTH_FLAT}),
    "2-D coordinates that are not positions":
        ({"v": grid(), "g/v": stored(np.zeros((2, 2)), "y x", **declaring("ref", r={"node": "mask"})), "g/mask": PLAIN}, {}),
    "a swath along times":
        ({"v": by_cs(time=("T", [1, 2]), x=("X", [1, 2])), **below("g", swath(dims="time x"))}, {"/g": f"'x' -> 'x_g' {FLAT}"}),
    "a swath that has the 1-D coordinates itself": ({"v": grid(), **below("g", {**swath(), "w": grid()})}, {}),
    "bounds are not positions":
        ({"v": by_cs(nv=("X", [1, 2]), y=("Y", [1, 2])), "g/lon": coordinate("lon", [5, 6], bounds="b", units="degrees_east"),
          "g/b": stored(np.zeros((2, 2)), "lon nv", units="degrees_east"), "g/w": stored([1, 2], "lon", **declaring("ref", r={"node": "lon"}))}, {}),
    "all arrays of the group, and below it":
        ({"v": grid(), "g/v": grid(turned=0.5), "g/w": stored([1, 2], "x"), "g/h/v": stored([1, 2], "x"), "g/h/i/v": PLAIN},
         {"/g": BOTH_FLAT, "/g/h": f"'x' -> 'x_g' {PARENTS}", "/g/h/i": BOTH_TAKEN}),
    "a dimension and a variable of one name":
        ({"v": grid(), "g/x": stored(np.zeros((2, 3)), "y x")}, {"/g": f"'x' -> 'x_g' {SIZE}, 'x' -> 'g_x' {OTHER}"}),
    "below it, the CRS of the group above both": ({"v": grid(), "g/v": grid(UTM33), "g/h/v": in_crs("EPSG:32632")}, {"/g": BOTH_CRS}),
    "below it, the coordinates of the group above both": ({"v": grid(), "g/v": grid(turned=0.5), "g/h/v": grid()}, {"/g": BOTH_FLAT}),
    "below it, a third CRS":
        ({"v": grid(), "g/v": grid(UTM33), "g/h/v": in_crs("EPSG:3035")},
         {"/g": BOTH_CRS, "/g/h": "'y' -> 'y_h' (CRS EPSG:3035, EPSG:32632 in /), 'x' -> 'x_h' (CRS EPSG:3035, EPSG:32632 in /)"}),
    "new names that are taken":
        ({"v": grid(), "g/v": in_crs(UTM33), "g/x_g": stored(1), "g/w": stored([1, 2, 3], "y_g")},
         {"/g": f"'y' -> 'y_g_2' {CRS}, 'x' -> 'x_g_2' {CRS}"}),
    "several causes":
        ({"v": grid(dims="time y x"), "w": by_cs(obs=("X", [1, 2])), "g/v": grid(UTM33), "g/t": along("time", 3), "g/obs": along("x", 2)},
         {"/g": f"'x' -> 'x_g' {CRS}, 'time' -> 'time_g' (size 3, 4 in its parents), 'y' -> 'y_g' {CRS}, 'obs' -> 'g_obs' {OTHER}"}),
}  # fmt: skip

#: Nodes, and which variables of which groups are renamed because a convention attached an index of their name.
VARIABLES: dict[str, tuple[Any, dict[str, str]]] = {
    "a variable that has a dimension of its name":
        ({"v": by_cs(x=("X", [1, 2])), "g/x": PLAIN}, {"/g": f"'x' -> 'g_x' {OTHER}"}),
    "variables with other dimensions":
        ({"v": by_cs(x=("X", [1, 2]), lon=("X", [3, 4]), s=("Z", [5, 6])),
          "g/x": along("obs", 3), "g/lon": PLAIN, "g/s": stored(1), "g/w": along("obs", 3)},
         {"/g": f"'x' -> 'g_x' {OTHER}, 'lon' -> 'g_lon' {OTHER}, 's' -> 'g_s' {OTHER}"}),
    "variables of a group that declares a convention":
        ({"x": X, "g/x": along("obs", 3), "g/v": by_cs(a=("X", [1, 2]))}, {"/g": f"'x' -> 'g_x' {OTHER}"}),
    "variables further below":
        ({"v": by_cs(x=("X", [1, 2])), "g/x": along("obs", 3), "g/h/x": stored(1)}, {"/g": f"'x' -> 'g_x' {OTHER}", "/g/h": f"'x' -> 'h_x' {OTHER}"}),
    "variables whose new names are taken":
        ({"v": by_cs(x=("X", [1, 2])), "g/x": along("obs", 3), "g/g_x": stored(1), "g/v": along("g_x_2", 3), "g/h/g_x_3": Group()},
         {"/g": f"'x' -> 'g_x_4' {OTHER}"}),
}  # fmt: skip


def check_renamed(nodes: Any, renamed: dict[str, str], topic: str) -> None:
    store = store_of(in_groups(nodes))
    tree, found = outcome(store, function=xr.open_datatree)
    lines = [line for line in found if line.startswith(("! Dimension", "! Name"))]
    assert lines == [renaming(*it, topic) for it in renamed.items()]
    for node in tree.subtree:
        for name in node.xindexes:
            assert node.dataset.variables[name].dims == (name,)
    _groups, found = outcome(store, function=xr.open_groups)
    assert "DataTree" not in str(found)
    for path, dataset in opened(xr.open_groups, store).items():
        assert_same(opened(xr.open_dataset, store, group=path), dataset)


@rows(GRIDS, "nodes, renamed")
def test_a_grid_does_not_get_the_positions_of_a_different_grid(
    nodes: Any, renamed: dict[str, str]
) -> None:
    check_renamed(nodes, renamed, "Dimension")


@rows(VARIABLES, "nodes, renamed")
def test_a_variable_does_not_have_the_name_of_an_inherited_index(
    nodes: Any, renamed: dict[str, str]
) -> None:
    check_renamed(nodes, renamed, "Name")


def test_attributes_use_the_new_names() -> None:
    terms = {"formula_terms": "sigma: s eta: eta", "standard_name": "ocean_sigma_coordinate"}
    group = {
        "crs": stored(0, grid_mapping_name="x"),
        "s": stored([0.5, 0.6], "k", bounds="lon", **terms),
        "eta": stored([1.0, 1.5], "y"),
        "lon": stored(np.zeros((2, 2)), "k y"),
        "v": stored(
            np.zeros((2, 2)),
            "k y",
            coordinates="s lon",
            grid_mapping="crs: y",
            ancillary_variables="lon eta",
        ),
    }
    axes: Any = {"s": ("Z", [0, 1]), "lon": ("X", [3, 4]), "crs": ("Y", [3, 4])}
    tree = check(
        in_groups({"p/w": by_cs(**axes), **below("p/g", group)}),
        """
        /:
        crs (crs) 3 4 | axis=Y
        lon (lon) 3 4 | axis=X
        s (s) 0 1 | axis=Z
        w (s lon crs) @ crs lon s
        /g:
        g_lon (k y) [[0.0 0.0] [0.0 0.0]]
        g_s (k) 0.5 0.6 | bounds=g_lon formula_terms=sigma: g_s eta: eta standard_name=ocean_sigma_coordinate
        eta (y)
        g_crs () | grid_mapping_name=x
        v (k y) @ g_lon g_s | ancillary_variables=g_lon eta grid_mapping=g_crs: y
        ! Name: /p/g: does not align with its parents in a DataTree; renamed 's' -> 'g_s' (dimensions differ from those in /p), 'lon' -> 'g_lon' (dimensions differ from those in /p), 'crs' -> 'g_crs' (dimensions differ from those in /p). xarray.open_dataset and xarray.open_groups keep the names
        """,
        function=xr.open_datatree,
        group="p",
    )
    assert tree["g/v"].encoding["coordinates"] == "g_s g_lon"


def test_a_tree_rooted_at_a_group_inherits_nothing_from_its_ancestors() -> None:
    nodes = {"v": grid(), "g/v": in_crs(UTM33), "g/h/v": PLAIN, "g/h/x": along("obs", 3)}
    tree = opened(xr.open_datatree, store_of(in_groups(nodes)), group="g")
    assert tree["v"].dims == tree["h/v"].dims == ("y", "x")


@pytest.mark.skipif(not HAS_INDEX_OPTION, reason="this xarray builds indexes always")
def test_without_indexes_nothing_is_inherited_or_renamed() -> None:
    nodes = {"v": grid(), "g/v": in_crs(UTM33), "g/h/x": along("obs", 3), **below("s", swath())}
    tree, told = opened_with_warnings(
        xr.open_datatree, store_of(in_groups(nodes)), create_default_indexes=False
    )
    assert "DataTree" not in str(told)
    assert tree["g/v"].dims == ("y", "x")
    assert tree["g/v"].coords.keys() == {"spatial_ref"}
    assert tree.isel(obs=[1])["g/h/x"].values.tolist() == [1]


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
def test_a_coordinate_with_the_name_of_a_child_group_is_renamed(nodes: Any, expected: str) -> None:
    assert brief(in_groups(nodes), function=xr.open_datatree, group="p") == expected
