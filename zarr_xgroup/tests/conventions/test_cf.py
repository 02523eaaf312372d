"""CF across groups: targets of names and paths in attributes, and coordinates of dimensions."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupNoPrincipalWarning
from zarr_xgroup.metadata.cf import REFERRING
from zarr_xgroup.tests.builders import (
    Array,
    ZarrFormat,
    build,
    compare,
    declaring,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recording_store,
    stored,
    update,
    write_local,
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
OF_ANOTHER_LENGTH = (
    "! Resolution: /a/g/v: dimension 't' has no coordinate: /a/t has length 3, not 2"
)


def nczarr(array: Array, path: str) -> Array:
    """Return an array that refers to its dimension by its path."""
    return Array(array.values, array.dims, {"_nczarr_array": {"dimension_references": [path]}})


DIMENSIONS = {
    "any above before those aside": ({"t": T, "a/s": {}, "a/s/t": OTHER, **V}, "t (t) 5 7"),
    "aside": ({"a/s": {}, "a/s/t": T, **V}, "t (t) 5 7"),
    "of the length": ({"a/s": {}, "a/s/t": LONGER, "a/u": {}, "a/u/w": {}, "a/u/w/t": T, **V}, "t (t) 5 7"),
    "not above another dimension of the name": ({"t": T, "a/t": LONGER, **V}, OF_ANOTHER_LENGTH),
    "nor aside of that": ({"s": {}, "s/t": T, "a/t": LONGER, **V}, OF_ANOTHER_LENGTH),
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
        ! Dimension: /a/g/v#/dimension_names: other arrays of the group have different sizes along its dimensions; renamed 't' -> 't_v'
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
    alone = edit(build(in_groups({"t": T, **V})), "t/zarr.json", b"<html>")
    lost = "! Resolution: /a/g/v was opened without coordinate 't': /t/zarr.json is not valid JSON: Expecting value: line 1 column 1 (char 0)"
    check(alone, lost, only="t", group="a/g", **CF)
    by_conventions = edit(contents, "zarr.json", update(attributes={"Conventions": "CF-1.8"}))
    for options, unreadable in ((CF, contents), ({}, by_conventions)):
        unreadable = edit(unreadable, "a/t/zarr.json", update(data_type="float1024"))
        store = memory_store(unreadable)
        found, (warning,) = opened_with_warnings(xr.open_dataset, store, group="a/g", **options)
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


# Hierarchies by ``Conventions``.


def hierarchy(conventions: Any = "CF-1.12", **members: Array) -> Any:
    """Return a store whose root has coordinates, and the group a/g with members."""
    root = {"": {"Conventions": conventions}, "t": T, "lat": field("y x"), "s": {}}
    return in_groups({**root, "a": {}, "a/g": {}, **in_group(**members)})


PASSED_DOWN = {
    "coordinate variables of dimensions": (hierarchy(v=field("t y")), "t (t) 5 7\nv (t y) @ t"),
    "the nearest one": (hierarchy(v=field("t")) | {"a/t": OTHER}, "t (t) 6 8\nv (t) @ t"),
    "of the same size": (hierarchy(v=field("t", 3)), "v (t)"),
    "not beyond one of a different size": (hierarchy(v=field("t", 3)) | {"a/t": OTHER}, "v (t)"),
    "not if the group has an array of the name": (
        hierarchy(v=field("t"), t=field("t y")),
        "t (t y) [[0.0 0.0] [0.0 0.0]]\nv (t)",
    ),
    "not sideways, and not in groups below": (
        hierarchy(v=field("z")) | {"s/z": stored([1, 2], "z"), "z": {}},
        "v (z)",
    ),
    "nothing that belongs to them": (
        hierarchy(v=field("t")) | {"t": stored([5, 7], "t", bounds="tb"), "tb": field("t b")},
        "t (t) 5 7 | bounds=tb\nv (t) @ t",
    ),
    "arrays that coordinates names by a path": (
        hierarchy(v=field("y x", coordinates="/lat ../../lat lat")),
        "lat (y x) [[0.0 0.0] [0.0 0.0]]\nv (y x) @ lat",
    ),
    "no bounds, grid mappings and other arrays": (
        hierarchy(v=field("y x", grid_mapping="/t", ancillary_variables="/lat", bounds="/lat")),
        "v (y x) | ancillary_variables=/lat bounds=/lat grid_mapping=/t",
    ),
}  # fmt: skip


@rows(PASSED_DOWN)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_conventions_passes_coordinates_down(
    nodes: Any, expected: str, zarr_format: ZarrFormat
) -> None:
    check(nodes, expected, group="a/g", zarr_format=zarr_format)


@pytest.mark.parametrize("place", ["", "a", "a/g"])
@pytest.mark.parametrize(
    ("conventions", "is_declared"),
    [
        *((name, True) for name in ("CF-1.8", "cf-1.12", "CF-2.0", "ACDD-1.3,CF-1.10", "UGRID-1.0 CF-1.9", ["ACDD-1.3", "CF-1.11"])),
        *((name, False) for name in ("CF-1.7", "CF-1.6, ACDD-1.3", "CF", "CF-1.8a", "XCF-1.8", "", 1.8, None, {"CF-1.8": 1}, [["CF-1.8"]])),
    ],
)  # fmt: skip
def test_which_versions_of_cf_have_groups(place: str, conventions: Any, is_declared: bool) -> None:
    nodes = hierarchy(None, v=field("t")) | {place: {"Conventions": conventions}}
    found = opened(xr.open_dataset, store_of(nodes), group="a/g")
    assert ("t" in found.coords) == is_declared


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_group_has_the_coordinates_that_it_inherits_in_a_tree(
    zarr_format: ZarrFormat, consolidated: bool, tmp_path: Path
) -> None:
    nodes = hierarchy(v=field("t x", coordinates="/x"), w=field("x t")) | {"x": stored([1, 2], "x")}
    address = tmp_path / "s.zarr"
    contents = build(nodes, zarr_format, consolidated=consolidated)
    write_local(contents, address)
    tree = opened(xr.open_datatree, address)
    groups = opened(xr.open_groups, address)
    for dataset in (
        tree["a/g"].to_dataset(),
        groups["/a/g"],
        opened(xr.open_dataset, address, group="a/g"),
        opened(xr.open_dataset, address / "a/g"),
        opened(xr.open_datatree, address / "a", group="g").to_dataset(),
    ):
        assert set(dataset.coords) == {"t", "x"}
        assert dataset["t"].values.tolist() == [5, 7]
    store = recording_store(contents)
    opened(xr.open_dataset, store, group="a/g")
    assert max(store.metadata_gets.values()) == 1
    assert not [key for key in store.metadata_gets if consolidated and key.startswith(("t", "x"))]


def flat_store(random: Random) -> dict[str, Array | dict[str, Any]]:
    """Return a random store without groups whose ``Conventions`` names a version of CF."""
    dims = {name: random.randint(1, 3) for name in ("t", "y", "x", "b")}
    names = [*dims, "lat", "time_bounds", "v", "w"]
    versions = ["CF-1.7", "CF-1.8", "CF-1.12, ACDD-1.3", "UGRID-1.0 CF-1.9", ["CF-2.0"], None]
    nodes: dict[str, Any] = {"": {"Conventions": random.choice(versions)}}
    for name in random.sample(names, random.randint(1, len(names))):
        along = [name] if name in dims and random.random() < 0.7 else []
        along = along or random.sample([*dims], random.randint(name in dims, 3))
        words = [f"{random.choice(['', '', '/', './', '../', '/g/'])}{n}" for n in names]
        keys = random.sample(REFERRING, random.randint(0, 2))
        attributes = {key: " ".join(random.sample(words, random.randint(1, 3))) for key in keys}
        if random.random() < 0.2:
            attributes["units"] = random.choice(["days since 2000-01-01", "degrees_north", "m"])
        shape = [dims[dim] for dim in along]
        values = np.arange(np.prod(shape, dtype=int), dtype="f8").reshape(shape)
        nodes[name] = Array(values, tuple(along), attributes)
    return nodes


@pytest.mark.parametrize("seed", range(20))
def test_a_flat_store_is_identical_to_that_of_engine_zarr(seed: int) -> None:
    nodes = flat_store(Random(seed))
    compare(xr.open_dataset, store_of(nodes, 3 if seed % 2 else 2, consolidated=seed % 4 < 2))


def test_arrays_that_do_not_fit_or_do_not_exist_are_not_attached() -> None:
    v = field("y x", 3, coordinates="/lat /no ../../../up /a/g/h")
    compare(xr.open_dataset, store_of(hierarchy(v=v, h=stored(1))), group="a/g")


def test_groups_with_equal_documents_get_the_coordinates_of_their_own_parents() -> None:
    nodes: Any = {"": {"Conventions": "CF-1.8"}, "c": {}}
    nodes |= {"a": {}, "a/t": stored([1, 2], "t"), "b": {}, "b/t": stored([3, 4], "t")}
    for group in (f"{parent}/{name}" for parent in "abc" for name in "gh"):
        nodes |= {group: {}, f"{group}/v": field("t")}
    groups = opened(xr.open_groups, store_of(nodes))
    times = {path: [*found["t"].values] for path, found in groups.items() if "t" in found.coords}
    assert times == {path: [1, 2] if path.startswith("/a") else [3, 4] for path in times}
    assert {*times} == {f"/{parent}{group}" for parent in "ab" for group in ("", "/g", "/h")}


def test_other_conventions_take_precedence_over_coordinates_of_other_groups() -> None:
    axis = {"x": {"coordinates": [{"values": {"explicit": [1, 2]}}]}}
    v = field("t x", **declaring("cs"), cs={"crs": [{"axes": axis}]})
    nodes = hierarchy(v=v) | {"x": stored([8, 9], "x")}
    check(nodes, "t (t) 5 7\nx (x) 1 2\nv (t x) @ t x", group="a/g")


# The hint.

ABOVE: Any = {"x": stored([1, 2], "x")}
HINTS = {
    "a coordinate variable above": (ABOVE, field("y x"), "cf"),
    "of a different size": (ABOVE, field("y x", 3), None),
    "along a different dimension": ({"x": stored([1, 2], "y")}, field("y x"), None),
    "an array in coordinates": ({"b": field("x")}, field("y x", coordinates="b"), "cf"),
    "a missing one": ({}, field("y x", coordinates="b"), None),
}


@rows(HINTS, "above, array, convention")
@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("address", ["", "a", "a/g"])
def test_the_hint_names_cf_if_a_group_above_has_a_coordinate(
    above: Any,
    array: Array,
    convention: str | None,
    consolidated: bool,
    address: str,
    tmp_path: Path,
) -> None:
    """In the layout of HRRR-Zarr: consolidated metadata only in the group with the coordinates."""
    nodes = in_groups({f"a/{name}": node for name, node in above.items()} | {"a/g/v": array})
    contents = build(nodes, 2, consolidated=["a"] if consolidated else False)
    write_local(contents, tmp_path / "s.zarr")
    place, group = tmp_path / "s.zarr" / address, "a/g"[len(address) :].strip("/")
    with pytest.warns(XGroupNoPrincipalWarning) as caught:
        xr.open_dataset(place, engine="xgroup", group=group)
    advice = f"Open with assume_conventions={convention!r}: "
    assert str(caught[0].message).startswith(advice if convention else "Select by position (isel)")
    automatic = quietly(
        xr.open_dataset, place, engine="xgroup", group=group, assume_conventions="auto"
    )
    assert bool(automatic.coords) == (convention is not None)


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
