"""CF across groups: targets of names and paths in attributes, and coordinates of dimensions."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    build,
    declaring,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    recording_store,
    stored,
    update,
)
from zarr_xgroup.tests.tables import check, rows, store_of

CF: Any = {"assume_conventions": "cf"}


def field(dims: Any = "y x", size: int = 2, /, **attributes: Any) -> Array:
    """Return an array, whose values do not matter."""
    names = dims.split() if isinstance(dims, str) else dims
    return stored(np.zeros((size,) * len(names)), tuple(names), **attributes)


def in_groups(nodes: Any) -> Any:
    """Return a store with the groups a and a/g, the latter being that which is opened."""
    return {"": {}, "a": {}, "a/g": {}, **nodes}


def in_group(*nodes: Any, **members: Array) -> Any:
    """Return nodes, and members of the group that is opened."""
    return {**(nodes[0] if nodes else {}), **{f"a/g/{name}": it for name, it in members.items()}}


REFERENCES = {
    "names are searched upwards, paths start at the root or the group": (
        in_group({"b": stored(2), "a/b": stored(1), "s": {}, "s/c": stored(0), "d": stored(3), "a/e": stored(4)}, v=field(coordinates="b c /d ../e ./e ../d")),
        """
        b () 1
        d () 3
        e () 4
        v (y x) @ b d e
        ! Resolution: /a/g/v was opened without 'c' of 'coordinates': /a/g/v#/attributes/coordinates: 'c' does not refer to an array; tried /a/g/c, /a/c, /c
        ! Resolution: /a/g/v was opened without './e' of 'coordinates': /a/g/v#/attributes/coordinates: './e' does not refer to an array; tried /a/g/e
        ! Resolution: /a/g/v was opened without '../d' of 'coordinates': /a/g/v#/attributes/coordinates: '../d' does not refer to an array; tried /a/d
        """,
    ),
    "a name is that of the nearest array along dimensions of the array": (
        in_group({"lat": field("y"), "a/lat": field("lat"), "lon": field("lon", 3), "area": field("y", 3)}, v=field(coordinates="lat lon", cell_measures="area: area")),
        """
        lat (y) 0.0 0.0
        v (y x) @ lat | cell_measures=area: area
        ! Resolution: /a/g/v was opened without 'lon' of 'coordinates': /a/g/v#/attributes/coordinates: 'lon' does not refer to an array along dimensions of this one; tried /a/g/lon, /a/lon, /lon
        ! Resolution: /a/g/v was opened without 'area' of 'cell_measures': /a/g/v#/attributes/cell_measures: 'area' does not refer to an array along dimensions of this one; tried /a/g/area, /a/area, /area
        """,
    ),
    "arrays that may be missing are not reported": (
        in_group(
            {"": {"external_variables": "far areacella"}, "s": {"external_variables": "area"}, "s/lat": field(coordinates="y x", cell_measures="area: area")},
            v=field(coordinates="y x /s/lat", cell_measures="area: areacella"),
        ),
        "lat (y x) [[0.0 0.0] [0.0 0.0]] | cell_measures=area: area\nv (y x) @ lat | cell_measures=area: areacella",
    ),
    "references are followed three times": (
        in_group({"s": {}, **{f"s/{name}": stored(0, coordinates=f"{to} b") for name, to in ("bc", "cd", "de", "ef")}}, v=field(coordinates="/s/b")),
        "b () 0\nc () 0\nd () 0\nv (y x) @ b c d",
    ),
    "what belongs to an attached coordinate comes along": (
        in_group(
            {
                "s": {},
                "s/lev": stored([1, 2], "lev", bounds="edges", formula_terms="a: lev p: p q: /q far: far"),
                "s/edges": stored([[0, 1], [1, 2]], "lev nv", formula_terms="a: ../a_edges"),
                "s/p": stored([7, 8], "x"),
                "s/far": stored([7, 8], "z"),  # along no dimension of the array
                "q": stored(5),
                "a_edges": stored([[2, 3], [3, 4]], "lev nv"),
            },
            v=field("lev x", coordinates="/s/lev"),
        ),
        """
        a_edges (lev nv) [[2 3] [3 4]]
        edges (lev nv) [[0 1] [1 2]] | formula_terms=a: a_edges
        lev (lev) 1 2 | bounds=edges formula_terms=a: lev p: p q: q far: far
        p (x) 7 8
        q () 5
        v (lev x) @ lev p q
        """,
    ),
    "a formula may name its own coordinate": (
        in_group({"s": {}, "s/C": stored([3, 4], "s")}, s=stored([0, 1], "s", formula_terms="s: /a/g/s C: /s/C"), v=field("s")),
        "C (s) 3 4\ns (s) 0 1 | formula_terms=s: s C: C\nv (s) @ C s",
    ),
    "failed references are reported with their place": (
        in_group({"s": {}, "s/lat": stored(1, bounds="none ../../lost")}, v=field(coordinates="/s/lat", ancillary_variables="../lost ../s /../up")),
        """
        lat () 1 | bounds=none ../../lost
        v (y x) @ lat | ancillary_variables=../lost ../s /../up
        ! Resolution: /a/g/v was opened without 'none' of 'bounds': /s/lat#/attributes/bounds: 'none' does not refer to an array; tried /s/none, /none
        ! Resolution: /a/g/v was opened without '../../lost' of 'bounds': /s/lat#/attributes/bounds: '../../lost' points above the root of the store
        ! Resolution: /a/g/v was opened without '../lost' of 'ancillary_variables': /a/g/v#/attributes/ancillary_variables: '../lost' does not refer to an array; tried /a/lost
        ! Resolution: /a/g/v was opened without '../s' of 'ancillary_variables': /a/g/v#/attributes/ancillary_variables: '../s' does not refer to an array; tried /a/s
        ! Resolution: /a/g/v was opened without '/../up' of 'ancillary_variables': /a/g/v#/attributes/ancillary_variables: '/../up' points above the root of the store
        """,
    ),
    "attributes without CF's syntax": (
        in_group(v=field(coordinates="lat, lon", cell_measures="area", bounds=5, ancillary_variables="p: q", grid_mapping="m n:")),
        """
        v (y x) | ancillary_variables=p: q bounds=5 cell_measures=area grid_mapping=m n:
        ! Resolution: /a/g/v was opened without 'lat' of 'coordinates', 'lon' of 'coordinates': /a/g/v#/attributes/coordinates: must be names separated by spaces, got string "lat, lon"
        ! Resolution: /a/g/v was opened without 'p' of 'ancillary_variables', 'q' of 'ancillary_variables': /a/g/v#/attributes/ancillary_variables: must be names separated by spaces, got string "p: q"
        ! Resolution: /a/g/v was opened without 'area' of 'cell_measures': /a/g/v#/attributes/cell_measures: must be pairs of a role with a colon and a name, separated by spaces, got string "area"
        ! Resolution: /a/g/v was opened without 'm' of 'grid_mapping', 'n' of 'grid_mapping': /a/g/v#/attributes/grid_mapping: must be names separated by spaces, got string "m n:"
        """,
    ),
    "the group's own coordinate is kept, and the named one is attached with its bounds": (
        in_group({"s": {}, "s/x": stored([7, 8], "x", bounds="edges"), "s/edges": stored([[6, 7], [7, 8]], "x n")}, x=stored([1, 2], "x"), v=field("x", coordinates="/s/x", ancillary_variables="/s/x")),
        """
        edges (x n) [[6 7] [7 8]]
        s_x (x) 7 8 | bounds=edges
        x (x) 1 2
        v (x) @ s_x x | ancillary_variables=s_x
        ! Name: /a/g/v: its coordinate 'x' is named 's_x', because the name 'x' is already used or not valid in this group
        """,
    ),
}  # fmt: skip


@rows(REFERENCES)
def test_references(nodes: Any, expected: str) -> None:
    check(in_groups(nodes), expected, group="a/g", **CF)


AXES: Any = {"crs": [{"axes": {"y": {}, "x": {}}}]}
LETTERS = Array(np.array([[b"a", b"b", b"c"], [b"d", b"e", b"f"]], "S1"), ("y", "letters"))
OTHER_OPTIONS: dict[str, Any] = {
    "paths are followed once, also with a different convention": (
        in_group(
            {"s": {}, "s/lon": field(ancillary_variables="q"), "s/q": field(), "above": stored(0)},
            v=field(coordinates="/s/lon above", ancillary_variables="/s/none", **declaring("cs", cs=AXES)),
        ),
        {},
        """
        lon (y x) [[0.0 0.0] [0.0 0.0]] | ancillary_variables=q
        x (x) 0 1
        y (y) 0 1
        v (y x) @ lon x y | ancillary_variables=/s/none
        ! Resolution: /a/g/v was opened without '/s/none' of 'ancillary_variables': /a/g/v#/attributes/ancillary_variables: '/s/none' does not refer to an array; tried /s/none
        """,
    ),
    "and names, if CF is declared": (
        in_group({"lon": stored(1), "x": stored([8, 9], "x")}, v=field(coordinates="lon", **declaring("cs", "CF", cs=AXES))),
        {},
        "lon () 1\nx (x) 0 1\ny (y) 0 1\nv (y x) @ lon x y",
    ),
    "geozarr follows the grid mapping alone": (
        in_group({"lon": field(), "crs": stored(0)}, v=field(coordinates="/lon", grid_mapping="/crs")),
        {"assume_conventions": "geozarr"},
        "crs () 0\nv (y x) @ crs | grid_mapping=crs",
    ),
    "the dimension of characters is not required": (
        in_group({"name": LETTERS}, v=field(coordinates="name")),
        {**CF, "zarr_format": 2},
        "name (y) |S3 b'abc' b'def'\nv (y x) @ name",
    ),
}  # fmt: skip


@rows(OTHER_OPTIONS, "nodes, options, expected")
def test_references_with_other_options(nodes: Any, options: Any, expected: str) -> None:
    check(in_groups(nodes), expected, group="a/g", **options)


def test_all_attributes_get_names_in_the_place_of_paths() -> None:
    names = {
        "coordinates": "/lon",
        "bounds": "/edges",
        "climatology": "/lon",
        "grid_mapping": "/c: /lon d: lon",
        "ancillary_variables": "/lon",
        "cell_measures": "lon: /lon",
        "formula_terms": "a: /lon b: lon",
    }
    nodes = {name: stored(1) for name in ("lon", "edges", "c", "d")} | in_group(v=field(**names))
    expected = {key: text.replace("/", "") for key, text in names.items()}
    options: Any = {"group": "a/g", "decode_coords": False, **CF}
    found = opened(xr.open_dataset, store_of(in_groups(nodes)), **options)
    assert found["v"].attrs == expected
    assert found.coords.keys() == {"lon", "edges", "c", "d"}


T, OTHER, LONGER = (stored(values, "t") for values in ([5, 7], [6, 8], [6, 8, 9]))
V = {"a/g/v": field("t")}


def nczarr(array: Array, path: str) -> Array:
    """Return an array that refers to its dimension by its path."""
    return Array(array.values, array.dims, {"_nczarr_array": {"dimension_references": [path]}})


DIMENSIONS = {
    "any above before those aside": ({"t": T, "a/s": {}, "a/s/t": OTHER, **V}, "t (t) 5 7"),
    "aside": ({"a/s": {}, "a/s/t": T, **V}, "t (t) 5 7"),
    "of the length": ({"a/s": {}, "a/s/t": LONGER, "a/u": {}, "a/u/w": {}, "a/u/w/t": T, **V}, "t (t) 5 7"),
    "not above another dimension of the name": ({"t": T, "a/t": LONGER, **V}, ""),
    "nor aside of that": ({"s": {}, "s/t": T, "a/t": LONGER, **V}, ""),
    "not a scalar or a group": ({"t": stored(0), "a/g/t": {}, **V}, ""),
    "not several equally near": (
        {"a/s": {}, "a/s/t": T, "a/u": {}, "a/u/t": OTHER, **V},
        "! Resolution: /a/g/v: dimension 't' has no coordinate in its group or above it, and /a/s/t, /a/u/t are equally near; none of them is attached",
    ),
    "the one that the array names, of several": ({"a/s": {}, "a/s/t": T, "a/u": {}, "a/u/t": OTHER, "a/g/v": field("t", coordinates="../s/t")}, "t (t) 5 7"),
    "above an own one of another length": (
        {"t": T, **V, "a/g/t": LONGER},
        """
        t (t) 6 8 9
        t_v (t_v) 5 7
        ! Dimension: /a/g/v#/dimension_names: declares the dimensions ['t'] for shape [2], but they have different sizes in other arrays of the group; renamed 't' -> 't_v'
        """,
    ),
    "not if the group has an array of the name": ({"t": T, "a/g/t": field("t z"), **V}, "t (t z) [[0.0 0.0] [0.0 0.0]]"),
    "of the group that NCZarr names": (
        {"t": nczarr(OTHER, "/t"), "a/t": nczarr(T, "/a/t"), "a/g/v": nczarr(field("t"), "/a/t"), "a/g/w": nczarr(field("t"), "/t")},
        """
        t (t) 5 7 | _nczarr_array={"dimension_references": ["/a/t"]}
        t_w (t_w) 6 8 | _nczarr_array={"dimension_references": ["/t"]}
        ! Dimension: /a/g/w: other arrays of the group have different coordinate values along its dimensions; renamed 't' -> 't_w'
        """,
    ),
    "if that names the group, none above": ({"a/t": T, "a/g/v": nczarr(field("t"), "/a/g/t")}, ""),
    "the group's own, whatever it says": (
        {"t": T, "a/g/v": nczarr(field("t"), "/t"), "a/g/t": nczarr(OTHER, "/a/g/t")},
        't (t) 6 8 | _nczarr_array={"dimension_references": ["/a/g/t"]}',
    ),
}  # fmt: skip


@rows(DIMENSIONS)
def test_the_coordinate_of_a_dimension(nodes: Any, expected: str) -> None:
    check(in_groups(nodes), expected, only="t t_v t_w", group="a/g", **CF)


def test_a_broken_candidate_is_skipped_and_an_unreadable_coordinate_is_lost() -> None:
    contents = build(in_groups({"t": T, "a/t": OTHER, **V}))
    broken = edit(contents, "a/t/zarr.json", update(shape="broken"))
    check(broken, "t (t) 5 7", only="t", group="a/g", **CF)
    unreadable = memory_store(edit(contents, "a/t/zarr.json", update(data_type="float1024")))
    found, (warning,) = opened_with_warnings(xr.open_dataset, unreadable, group="a/g", **CF)
    assert "t" not in found.coords
    assert "coordinate 't': /a/g/v#/dimension_names: /a/t cannot be opened: " in str(warning)


# Where CF is followed.


@pytest.mark.parametrize("place", ["a/g", "a/g/v", None])
def test_cf_is_declared_by_an_array_or_its_group(place: str | None) -> None:
    nodes = in_groups({"t": T, "lon": stored(1), "a/g/v": field("t", coordinates="lon")})
    if place == "a/g":
        nodes[place] = declaring("CF")
    elif place is not None:
        nodes[place] = field("t", coordinates="lon", **declaring("CF"))
    found = opened(xr.open_dataset, store_of(nodes), group="a/g")
    assert found.coords.keys() == ({"t", "lon"} if place else set())


# Hostile and expensive.


@pytest.mark.parametrize("number", [100, 101])
def test_references_after_the_hundredth_are_omitted(number: int) -> None:
    names = [f"x{n:03}" for n in range(number)]
    nodes = {"s": {}, "s/hub": stored(0, coordinates=" ".join(names))}
    nodes |= {f"s/{name}": stored(0) for name in names}
    nodes = in_groups(in_group(nodes, v=field(coordinates="/s/hub")))
    found, told = opened_with_warnings(xr.open_dataset, store_of(nodes), group="a/g", **CF)
    assert set(found.coords) == {"hub", *names[:100]}
    left = "/a/g/v: the referenced arrays refer to more than 100 other arrays; the rest is left out"
    assert [str(warning) for warning in told] == [left] * (number > 100)


@pytest.mark.parametrize("name", ["..", "/../x.zarr/x", "/g/../../x.zarr/x", "../../../x.zarr/x"])
def test_paths_above_the_store_are_not_requested(name: str) -> None:
    attributes = {"coordinates": name, "_nczarr_array": {"dimension_references": [name, "/x"]}}
    ones = np.ones((2, 2))
    nodes = in_group({"w": stored([1, 2], (name,))}, w=stored([1, 2], (f"/{name}",)))
    nodes |= in_group(v=Array(ones, (name, "x"), attributes), u=Array(ones, ("y", "x"), attributes))
    store = recording_store(build(in_groups(nodes)))
    opened_with_warnings(xr.open_dataset, store, group="a/g", **CF)
    assert not [key for key in store.metadata_gets if ".." in key.split("/")]
