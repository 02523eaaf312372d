"""Variables attached to the arrays of a group: names, dimensions, and the group's own variables that replace them.

A handler of these tests returns the interpretation in a row for the arrays of the group `/g`. The group `/far`
has arrays to refer to. Dimensions have names of one letter.
"""

from collections.abc import Mapping
from typing import Any, ClassVar
from typing import Literal as OneOf

import numpy as np
import pytest
import xarray as xr
from msgspec.structs import replace
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup.conventions import ConventionHandler, register
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    opened_with_warnings,
    recording_store,
)
from zarr_xgroup.tests.builders import stored as own
from zarr_xgroup.tests.tables import brief, rows, store_of
from zarr_xgroup.variables.functions import Regular, RegularBounds
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Literal, Stored

SIZES = {"y": 3, "z": 4}
DAYS = {"units": "days since 2000-01-01"}
HOURS = {"units": "hours since 2000-01-01"}


class Says(ConventionHandler):
    """Says of arrays of the group what a row wants it to say."""

    tier: ClassVar[OneOf["principal", "service"]] = "service"
    name = "says"
    said: ClassVar[Mapping[str, Interpretation]] = {}

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        return array.node.group.path == "g" and array.node.name in cls.said

    def interpret(self, array: ArrayView) -> Interpretation:
        return self.said[array.node.name]


class Follows(Says):
    """A principal convention that says nothing."""

    tier = "principal"
    name = "follows"


@pytest.fixture(autouse=True)
def registered() -> None:
    Says.said = Follows.said = {}
    register(Says)
    register(Follows)


def array(dims: str = "", first: int = 0, /, **attributes: Any) -> Array:
    """Return an array along dimensions that are two long but for those in `SIZES`."""
    shape = [SIZES.get(dim, 2) for dim in dims]
    numbers = first + np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return Array(numbers, tuple(dims), attributes)


#: The arrays of the group elsewhere.
FAR = {
    "x": array("x", 10),
    "t": array("x", 20, **DAYS),
    "z": array("z", 30),
    "zz": array("z", 40),
    "lon": array("yx", 50),
    "tb": array("xn", 60),
    "c": array("x", 70, bounds="tb", long_name="c", **DAYS),
    "scalar": array("", 80),
    "bad": Array([1.0, 2.0], ("x",), v3={"storage_transformers": [{"name": "nothing"}]}),
}


def far(name: str, called: str = "", dims: str | None = None, **others: Any) -> Coordinate:
    """Return an array elsewhere as a coordinate."""
    dims = "".join(map(str, FAR[name].dims or ())) if dims is None else dims
    return Coordinate(called or name, Stored(Node(0, f"far/{name}"), tuple(dims)), **others)


def here(name: str, dims: str = "x", called: str = "", **options: Any) -> Coordinate:
    """Return an array of the group as a coordinate."""
    return Coordinate(called or name, Stored(Node(0, f"g/{name}"), tuple(dims), **options))


def values(name: str, *numbers: Any, dim: str = "", **others: Any) -> Coordinate:
    """Return a coordinate with values that are written in the metadata."""
    return Coordinate(name, Literal(np.array(numbers), (dim or name,)), **others)


def made(name: str) -> Coordinate:
    """Return a coordinate that a plug-in made."""
    return Coordinate(name, HandlerVariable(xr.Variable("x", [1, 2]), ""))


T, X, LON, CELLS = far("t"), far("x"), far("lon"), far("tb")


#: What is said of an array by a value of a type.
ROLES = {Link: "links", Crs: "crs", str: "geotransform", dict: "attributes"}


def store_with(members: Mapping[str, Any]) -> MemoryStore:
    """Return a store, and have the handler say what the members of its group do.

    A member is an array, the dimensions of one, or either of these with what is said of it: coordinates, links,
    a CRS, a geotransform, attributes, or that it follows a principal convention.
    """
    arrays: dict[str, Array | Group] = {}
    said, following = {}, {}
    for name, member in members.items():
        of, *items = member if isinstance(member, tuple) else (member,)
        arrays[name] = array(of) if isinstance(of, str) else of
        parts: dict[str, Any] = {}
        for item in items:
            if isinstance(item, Coordinate):
                parts["coordinates"] = (*parts.get("coordinates", ()), item)
            elif item is Follows:
                following[name] = Interpretation()
            else:
                parts[ROLES[type(item)]] = (item,) if isinstance(item, Link) else item
        said[name] = Interpretation(**parts)
    Says.said, Follows.said = said, following
    return store_of(Group({"g": Group(arrays), "far": Group(FAR)}), consolidated=True)


def dataset_of(members: Mapping[str, Any], **options: Any) -> xr.Dataset:
    dataset: xr.Dataset
    store = store_with(members)
    dataset, _told = opened_with_warnings(xr.open_dataset, store, group="g", **options)
    return dataset


# Times.

OWN_TIMES = {"t": array("x", bounds="b", **DAYS), "b": array("xn")}
TIMES: dict[str, tuple[Any, str]] = {
    "times by their units, with their bounds": (OWN_TIMES | {"c": "xn"}, "b t"),
    "bounds with units of their own": (OWN_TIMES | {"b": array("xn", units="m")}, "t"),
    "elsewhere": ({"a": ("x", replace(T, bounds=CELLS))}, "t tb"),
    "units declared for an array of a different group": (
        {"a": ("x", replace(X, attributes=DAYS))},
        "x",
    ),
    "bounds by a path": (
        {"t": (array("x", bounds="/far/tb", **DAYS), Link("bounds", "/far/tb", CELLS))},
        "t tb",
    ),
}


@rows(TIMES, "members, times")
def test_variables_decoded_as_times(members: Any, times: str) -> None:
    found = {name for name, it in dataset_of(members).variables.items() if it.dtype.kind == "M"}
    assert found == set(times.split())


NOLEAP = {**DAYS, "calendar": "noleap"}
UNITS: dict[str, tuple[Any, list[Any], dict[str, Any]]] = {
    "two units": ({}, [DAYS, HOURS, DAYS], {"c": DAYS, "g_c": HOURS}),
    "a calendar, too": ({}, [DAYS, NOLEAP, HOURS], {"c": DAYS, "g_c": NOLEAP, "g_c_1": HOURS}),
    "none, then units of time": ({}, [{}, DAYS, {}], {"c": DAYS}),
    "other units before those of time": ({}, [{"units": "m"}, DAYS, {}], {"c": {"units": "m"}, "g_c": DAYS}),
    "units of its own": (DAYS, [DAYS, HOURS, {}], {"c": DAYS}),
}  # fmt: skip


@rows(UNITS, "attributes, declared, expected")
def test_numbers_with_several_declared_time_units_become_several_variables(
    attributes: Any, declared: list[Any], expected: dict[str, Any]
) -> None:
    said = (replace(here("c"), attributes=each) for each in declared)
    members = {name: ("x", each) for name, each in zip("abd", said, strict=True)}
    dataset = dataset_of({**members, "c": array("x", **attributes)}, decode_times=False)
    found = {
        str(name): {key: it.attrs[key] for key in ("units", "calendar") if key in it.attrs}
        for name, it in dataset.variables.items()
        if name not in members
    }
    assert found == expected


# Names.

NAMES: dict[str, tuple[Any, Coordinate, str]] = {
    "the preferred name": ({}, far("x", "c"), "c"),
    "an array has it": ({"c": "y"}, far("x", "c"), "far_c"),
    "an array has that with the path, too": ({"c": "y", "far_c": "y"}, far("x", "c"), "far_c_1"),
    "written in the metadata": ({"c": "y"}, values("c", 1, 2, dim="x"), "g_c"),
    "with a slash": ({}, far("x", "p/q"), "far_p_q"),
    "a scalar with the name of a dimension": ({}, far("scalar", "y"), "far_y"),
    "a 2-D coordinate with the name of a dimension": ({}, far("lon", "y"), "far_y"),
    "made by a plug-in, with an array of the name": ({"c": "y"}, made("c"), "g_c"),
}  # fmt: skip


@rows(NAMES, "members, coordinate, name")
def test_names_of_coordinates(members: Any, coordinate: Coordinate, name: str) -> None:
    store = store_with({"a": ("yx", coordinate), **members})
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert dataset.coords[name].dims == coordinate.source.dims
    assert dataset.variables.keys() - {"a", *members} == {name}
    assert len(told) == (name != coordinate.name)


NAMED: dict[str, tuple[Any, str]] = {
    "not itself": ({"a": ("yx", here("a", "yx"), here("b", "yx")), "b": "yx"}, "b"),
    "a scalar": ({"a": ("x", far("scalar"))}, "scalar"),
}


@rows(NAMED, "members, named")
def test_coordinates_that_an_array_names(members: Any, named: str) -> None:
    assert dataset_of(members)["a"].encoding["coordinates"] == named
    undecoded = dataset_of(members, decode_coords=False)["a"]
    assert (undecoded.attrs["coordinates"], undecoded.encoding.get("coordinates")) == (named, None)


# Dimensions.

ONE, OTHER, Y = values("x", 1, 2), values("x", 3, 4), values("y", 5, 6, 7)
TWICE = (values("x", 1, 2), values("x", 5, 6))
DIMENSIONS: dict[str, tuple[Any, str]] = {
    "of two coordinates of a dimension the first is compared": ({"a": ("x", *TWICE), "b": ("x", *TWICE, {"long_name": "b"})},
        "g_x (x) 5 6; x (x) 1 2; a (x) @ g_x x; b (x) @ g_x x | long_name=b; ! Name /g/a"),
    "other values along a dimension make it another one":
        ({"a": ("yx", ONE, Y), "b": ("yx", values("flat", 5, 6, dim="x"), Y, OTHER), "c": ("yx", OTHER, LON)},
         "flat (x_b) 5 6; lon (y x_b) [[50 51] [52 53] [54 55]]; x (x) 1 2; x_b (x_b) 3 4; y (y) 5 6 7; a (y x) @ x y; b (y x_b) @ flat lon x_b y; c (y x_b) @ flat lon x_b y; ! Dimension /g/b, /g/c"),
    "a 2-D coordinate makes no other dimension":
        ({"a": ("yx", ONE), "e": ("yx", far("lon", "x"))},
         "far_x (y x) [[50 51] [52 53] [54 55]]; x (x) 1 2; a (y x) @ far_x x; e (y x) @ far_x x; ! Name /g/e"),
    "a coordinate of another length makes none for others":
        ({"a": ("x", far("z", "x", "x")), "b": ("x", X)},
         "far_x (x) 10 11; x (x_x) 30 31 32 33; a (x) @ far_x; b (x) @ far_x; ! Dimension /g/a; ! Name /g/b"),
    "nothing does where the group has the coordinate itself":
        ({"a": ("x", ONE), "b": ("x", OTHER), "x": "x"}, "x (x) 0 1; a (x) @ x; b (x) @ x"),
    "a coordinate that cannot be opened does, and others have theirs":
        ({"a": ("x", ONE), "b": ("x", far("bad", "x"))}, "x (x) 1 2; a (x) @ x; b (x_b); ! Dimension /g/b; ! Resolution /g/b"),
    "a linked coordinate takes the dimension of its name":
        ({"a": ("z", Link("ancillary_variables", "/far/x", X)), "b": ("x", ONE), "c": ("x", ONE)},
         "x (x) 10 11; x_b (x_b) 1 2; a (z); b (x_b) @ x_b; c (x_b) @ x_b; ! Dimension /g/b, /g/c"),
    "coordinates of one group and another length share another dimension":
        ({"a": ("x", far("z", "p", "x"), far("zz", "q", "x"))},
         "p (x_p) 30 31 32 33; q (x_p) 40 41 42 43; a (x); ! Dimension /g/a; ! Dimension /g/a"),
    "coordinates of two lengths do not share it":
        ({"a": ("x", far("z", "p", "x"), far("lon", "r", "xs"))},
         "p (x_p) 30 31 32 33; r (x_r s) [[50 51] [52 53] [54 55]]; a (x); ! Dimension /g/a; ! Dimension /g/a"),
    "bounds of another length lie along another dimension":
        ({"a": ("x", far("x", "b", bounds=values("t", 1, 2, 3, dim="x")))}, "b (x) 10 11 | bounds=t; t (x_t) 1 2 3; a (x) @ b; ! Dimension /g/a"),
    "a new dimension is not called as an array":
        ({"a": ("x", far("z", "p", "x")), "x_p": "y"}, "p (x_p_1) 30 31 32 33; a (x); x_p (y); ! Dimension /g/a"),
    "the group's own array takes the place of a coordinate of another length than the array":
        ({"a": ("x", far("z", "x", "x")), "x": "x"}, "x (x) 0 1; a (x) @ x"),
    "an array with other coordinates keeps these":
        ({"a": ("yx", ONE, here("lon", "yx")), "lon": ("yx", OTHER)},
         "lon (y x_lon) [[0 1] [2 3] [4 5]]; x (x) 1 2; x_lon (x_lon) 3 4; a (y x) @ x; ! Dimension /g/lon; ! Resolution /g/a"),
}  # fmt: skip


@rows(DIMENSIONS, "members, expected")
def test_dimensions_of_coordinates(members: Any, expected: str) -> None:
    assert brief(store_with(members), group="g") == expected


# What the group has itself.

UTM, GEODETIC = Crs("proj:code", "EPSG:32633"), Crs("proj:code", "EPSG:4326")
DEGREES_EAST = {"units": "degrees_east"}
COMPUTED = Computed(RegularBounds(Regular(0, 1), -0.5, 0.25), (2, 2), "<f8", ("x", "s"))
C_BY_B = far("x", "c", bounds=here("b", "xs"))
CELLS_OF_C = (Link("bounds", "tb", CELLS),)
OWN: dict[str, tuple[Any, str]] = {
    "an array under another name": ({"a": ("yx", here("b", called="c")), "b": "x"}, "b (x) 0 1; a (y x) @ b"),
    "an array that is to be a dimension coordinate":
        ({"a": ("yx", here("b", called="x")), "b": "x"}, "b (x) 0 1; x (x) 0 1; a (y x) @ b x"),
    "along another dimension":
        ({"a": ("yx", here("b")), "b": "n", "d": ("x", far("scalar", "n"))},
         "b (n) 0 1; far_n () 80; a (y x) @ far_n; d (x) @ far_n; ! Name /g/d; ! Resolution /g/a"),
    "along another dimension, under a name of its own":
        ({"a": ("yx", here("b", called="c")), "b": "n"}, "b (n) 0 1; c (x) 0 1; a (y x) @ c"),
    "2-D, along other dimensions":
        ({"a": ("yx", here("d", "yx")), "d": Array(np.arange(6).reshape(3, 2), ("p", "q"))},
         "d (p q) [[0 1] [2 3] [4 5]]; a (y x); ! Resolution /g/a"),
    "along dimensions without names":
        ({"a": ("yx", here("d", "yx")), "d": Array(np.arange(6).reshape(3, 2), (None, None))},
         "d (phony_dim_0 phony_dim_1) [[0 1] [2 3] [4 5]]; g_d (y x) [[0 1] [2 3] [4 5]]; a (y x) @ g_d; ! Dimension /g/d; ! Name /g/a"),
    "a formula term along another dimension":
        ({"a": ("x", values("x", 5, 7, formula_terms={"s": here("b"), "t": far("t")})), "b": "n"},
         "b (n) 0 1; g_b (x) 0 1; t (x) 2000-01-21 2000-01-22; x (x) 5 7 | formula_terms=s: g_b t: t; a (x) @ g_b t x; ! Name /g/a"),
    "of a dimension that others have":
        ({"a": "yx", "d": ("p", here("x", "p")), "x": "x"}, "x (x) 0 1; a (y x) @ x; d (p); ! Resolution /g/d"),
    "as bounds, whatever their side is called":
        ({"a": ("yx", C_BY_B), "b": "xm"}, "b (x m) [[0 1] [2 3]]; c (x) 10 11 | bounds=b; a (y x) @ c"),
    "an array of data": ({"a": ("yx", here("d", "yx")), "d": ("yx", Follows)}, "a (y x); d (y x)"),
    "an array of data in part":
        ({"b": ("yx", here("d", "yx", first=True)), "d": ("yx", Follows)}, "g_d (x) 0 1; b (y x) @ g_d; d (y x) @ g_d; ! Name /g/b"),
    "an array of data the other way round":
        ({"e": ("yx", here("d", "xy", transposed=True)), "d": ("yx", Follows)},
         "d (y x); e (y x)"),
    "in place of the first of two":
        ({"a": (array("z", coordinates="c"), far("z", "c"), far("zz", "c")), "c": "z"},
         "c (z) 0 1 2 3; far_c (z) 40 41 42 43; a (z) @ c far_c; ! Name /g/a"),
    "not another array called as what bounds name":
        ({"a": (array("x", bounds="/far/x"), Link("bounds", "/far/x", far("x", "b"))), "b": "x"},
         "far_b (x) 10 11; a (x) @ far_b | bounds=far_b; b (x) @ far_b; ! Name /g/a"),
    "bounds of other values are not added":
        ({"a": ("x", values("x", 5, 7, bounds=far("tb", "e", "xs"))), "x": "x"}, "x (x) 0 1; a (x) @ x"),
    "bounds that are an array of the group are added":
        ({"a": ("x", values("x", 5, 7, bounds=here("e", "xs"))), "e": "xs", "x": "x"}, "e (x s) [[0 1] [2 3]]; x (x) 0 1 | bounds=e; a (x) @ x"),
    "bounds that are an array are not added beside those of its own":
        ({"a": ("x", values("x", 5, 7, bounds=far("tb", "e", "xs"))), "x": array("x", bounds="mine")}, "x (x) 0 1 | bounds=mine; a (x) @ x"),
    "units of times that an array says itself stand":
        ({"a": ("x", far("t", attributes=DAYS)), "b": ("x", far("t", attributes=HOURS))}, "t (x) 2000-01-21 2000-01-22; a (x) @ t; b (x) @ t"),
    "attributes that any array declares are added to it":
        ({"a": ("x", X), "b": ("x", far("x", attributes={"axis": "X"})), "x": "x"}, "x (x) 0 1 | axis=X; a (x) @ x; b (x) @ x"),
    "what an own array refers to it says itself":
        ({"a": ("x", replace(here("b"), links=CELLS_OF_C)), "b": array("x", bounds="tb"), "tb": "x"}, "b (x) 0 1 | bounds=tb; a (x) @ b; tb (x) @ b"),
    "what an attached array refers to is attached":
        ({"a": ("x", far("c", links=CELLS_OF_C)), "tb": "x"},
         "c (x) 2000-03-11 2000-03-12 | bounds=far_tb long_name=c; far_tb (x n) [[2000-03-01 2000-03-02] [2000-03-03 2000-03-04]]; a (x) @ c; tb (x) @ c; ! Name /g/a"),
    "bounds of its own stand in place of computed ones of the same name":
        ({"a": ("x", values("x", 5, 7, bounds=Coordinate("b", COMPUTED))), "b": "xm"}, "b (x m) [[0 1] [2 3]]; x (x) 5 7 | bounds=b; a (x) @ x"),
    "longitudes are named by their units":
        ({"a": ("yx", UTM, replace(LON, attributes=DEGREES_EAST))},
         "lon (y x) [[50 51] [52 53] [54 55]] | standard_name=longitude units=degrees_east; spatial_ref () EPSG:32633; a (y x) @ lon spatial_ref | grid_mapping=spatial_ref"),
    "longitudes in a CRS of their own that is not geographic are not":
        ({"a": ("yx", replace(LON, attributes=DEGREES_EAST, crs=UTM))},
         "EPSG_32633 () EPSG:32633; lon (y x) [[50 51] [52 53] [54 55]] | grid_mapping=EPSG_32633 units=degrees_east; a (y x) @ EPSG_32633 lon"),
    "what a grid mapping names with its axes":
        ({"a": array("yx", grid_mapping="crs: u y"), "crs": array(grid_mapping_name="latitude_longitude"), "u": "y"},
         "u (y) 0 1 2; a (y x) @ u | grid_mapping=crs; crs () | grid_mapping_name=latitude_longitude"),
}  # fmt: skip


@rows(OWN, "members, expected")
def test_own_variables_that_become_coordinates(members: Any, expected: str) -> None:
    assert brief(store_with(members), group="g") == expected


STANDING: dict[str, tuple[Any, Coordinate, str]] = {
    "described otherwise": ({"c": array("x", units="m", bounds="b", title="t")}, far("c"), "c"),
    "along another dimension": ({"c": "n"}, far("c"), ""),
    "of another length": ({"c": "z"}, far("c"), ""),
    "2-D, the other way round": ({"lon": "xy"}, LON, "lon"),
    "2-D, along one other dimension": ({"lon": "yn"}, LON, ""),
    "with the name under which it would be attached": ({"lon": "z", "far_lon": "yx"}, LON, "far_lon"),
}  # fmt: skip


@rows(STANDING, "members, coordinate, name")
def test_own_arrays_that_replace_declared_coordinates(
    members: Any, coordinate: Coordinate, name: str
) -> None:
    dataset = dataset_of({"a": ("yx", coordinate), **members})
    assert (dataset.variables.keys() == {"a", *members}) is bool(name)
    assert dataset.coords.keys() & members.keys() == ({name} if name else set())


def test_an_own_coordinate_is_explained_and_the_replaced_one_is_not_read() -> None:
    declared = {"lat": {"regular": [44.5, -1]}, "time": {"external": {"node": "/axes/time"}}}
    axes = {name: {"coordinates": [{"values": it}]} for name, it in declared.items()}
    field = own(np.zeros((3, 2)), "time lat", **declaring("cs", cs={"crs": [{"axes": axes}]}))
    group = Group({"sst": field, "time": own([1, 2, 3], "time"), "lat": own([10, 20], "lat")})
    far_away = Group({"time": own([57, 58, 59], "time")})
    store = recording_store(build(Group({"g": group, "axes": far_away})))
    (found,) = zarr_xgroup.explain(store, group="g").groups
    assert {it.name: it.text for it in found.coordinates} == {
        "lat": "overrides the declaration of 'sst': regular: 44.5 - 1 * i",
        "time": "overrides the declaration of 'sst': /axes/time",
    }
    opened_with_warnings(xr.open_dataset, store, group="g")
    assert set(store.chunk_gets) == {"g/time/c/0", "g/lat/c/0"}


# Grid mappings.

#: A CRS that is not understood: of its name no variable can be called.
ODD = Crs("name", "???")
IN_UTM, IN_DEGREES = (array(crs_wkt=it.grid_mapping()["crs_wkt"]) for it in (UTM, GEODETIC))
LOCATIONS = replace(LON, crs=GEODETIC)
NAMING_CRS = array("yx", grid_mapping="crs")
IS_GEODETIC = array(grid_mapping_name="latitude_longitude")


def lon(attribute: str = "", **members: Any) -> dict[str, Any]:
    """Return an array located by longitudes of the group, which may name a grid mapping."""
    attributes = {"grid_mapping": attribute} if attribute else {}
    located = replace(here("lon", "yx"), crs=GEODETIC)
    return {"a": ("yx", located), "lon": array("yx", **attributes), **members}


GRIDS: dict[str, tuple[Any, str]] = {
    "one of all arrays of one CRS and geotransform":
        ({"a": ("yx", UTM, "0 1"), "c": ("yx", X, UTM, "0 1"), "d": ("yx", UTM, "0 2"), "e": ("yx", UTM, "0 3"), "f": (NAMING_CRS, UTM, "0 1")},
         "a: spatial_ref, c: spatial_ref, d: EPSG_32633, e: EPSG_32633_1, f: crs @ EPSG_32633 0 2, EPSG_32633_1 0 3, crs 0 1, spatial_ref 0 1"),
    "with a dimension of the name": ({"a": ("yx", UTM), "b": own([1], "spatial_ref")}, "a: EPSG_32633 @ EPSG_32633"),
    "that of the group though nothing names it":
        ({"a": ("yx", UTM), "spatial_ref": IN_DEGREES}, "a: spatial_ref @ spatial_ref"),
    "the one that the array names": ({"a": (NAMING_CRS, UTM), "crs": IS_GEODETIC}, "a: crs @ -"),
    "a group that the array names": ({"a": (NAMING_CRS, UTM), "crs": Group()}, "a: crs @ -"),
    "of coordinates, which is not that of the grid":
        ({"a": ("yx", LOCATIONS, GEODETIC, "0 1"), "b": ("yx", GEODETIC)}, "a: spatial_ref, b: EPSG_4326, lon: EPSG_4326 @ EPSG_4326, spatial_ref 0 1"),
    "of coordinates without a name": ({"a": ("yx", replace(LON, crs=ODD))}, "lon: crs @ -"),
    "of own coordinates": (lon(), "lon: EPSG_4326 @ EPSG_4326"),
    "the one that coordinates name": (lon("crs"), "lon: crs @ crs"),
    "with an array of the name": (lon(EPSG_4326=""), "lon: EPSG_4326_1 @ EPSG_4326_1"),
    "that of the group": (lon(EPSG_4326=IN_DEGREES), "lon: EPSG_4326 @ EPSG_4326"),
}  # fmt: skip


@rows(GRIDS, "members, expected")
def test_grid_mappings_that_become_coordinates(members: Any, expected: str) -> None:
    dataset = dataset_of(members)
    named = {
        str(name): {**it.encoding, **it.attrs}.get("grid_mapping")
        for name, it in dataset.variables.items()
    }
    mappings = [
        " ".join([str(name), *it.attrs.get("GeoTransform", "").split()])
        for name, it in sorted(dataset.coords.items(), key=str)
        if "crs_wkt" in it.attrs
    ]
    text = ", ".join(f"{name}: {mapping}" for name, mapping in sorted(named.items()) if mapping)
    assert f"{text} @ {', '.join(mappings) or '-'}" == expected


# Names in attributes of attached arrays: they mean arrays of the group in which they are written.

IN_TIME = Array([1.0, 2.0], ("time",))
Z = Array(
    [0.0, 1.0],
    ("z",),
    {"ancillary_variables": "q", "cell_measures": "area: a"} | {"coordinates": "c"},
)
LEVELS = {"axes": {"z": {"coordinates": [{"values": {"external": {"node": "/z"}}}]}}}
FOREIGN_NAMES: dict[str, tuple[Any, str]] = {
    "bounds of an inherited time":
        ({"": {"Conventions": "CF-1.8"}, "g": {}, "time": Array([0, 1], ("time",), {**DAYS, "bounds": "b"}), "g/v": IN_TIME, "g/b": own([[1, 2], [3, 4]], "time nv")},
         "time (time) 2000-01-01 2000-01-02 | standard_name=time; b (time nv) @ time; v (time) @ time"),
    "bounds that exist in both groups":
        ({"": {"Conventions": "CF-1.8"}, "g": {}, "time": Array([0, 1], ("time",), {**DAYS, "bounds": "b"}), "b": own([[0, 1], [1, 2]], "time nv"), "g/v": IN_TIME, "g/b": own([[1, 2], [3, 4]], "time nv")},
         "time (time) 2000-01-01 2000-01-02 | standard_name=time; b (time nv) @ time; v (time) @ time"),
    "bounds that are missing in its group":
        ({"": {}, "g": {}, "time": Array([0, 1], ("time",), {**DAYS, "bounds": "b"}), "g/v": Array([1.0, 2.0], ("/time",)), "g/b": own([1, 2], "p")},
         "time (time) 2000-01-01 2000-01-02; b (p); v (time) @ time"),
    "names of a coordinate of cs":
        ({"": {}, "g": {}, "z": Z, "g/v": Array([1.0, 2.0], ("z",), declaring("cs", cs={"crs": [LEVELS]})), **{f"g/{name}": own([1, 2], "z") for name in "aqc"}},
         "z (z) 0.0 1.0; a (z) @ z; c (z) @ z; q (z) @ z; v (z) @ z"),
    "without such arrays":
        ({"": {}, "g": {}, "z": Z, "g/v": Array([1.0, 2.0], ("z",), declaring("cs", cs={"crs": [LEVELS]}))},
         "z (z) 0.0 1.0 | ancillary_variables=q cell_measures=area: a; v (z) @ z"),
    "a grid mapping that is added for the array":
        ({"": {}, "g": {}, "z": Array([0.0, 1.0], ("z",), {"grid_mapping": "spatial_ref"}),
          "g/v": Array(np.zeros((2, 2)), ("z", "y"), declaring("cs", "proj", **{"cs": {"crs": [LEVELS]}, "proj:code": "EPSG:32633"}))},
         "spatial_ref () EPSG:32633; z (z) 0.0 1.0; v (z y) @ spatial_ref z | grid_mapping=spatial_ref"),
}  # fmt: skip


@rows(FOREIGN_NAMES)
def test_names_in_attributes_of_attached_arrays_do_not_name_arrays_of_the_group(
    nodes: Any, expected: str
) -> None:
    assert brief(nodes, group="g") == expected


def test_an_own_array_is_not_decoded_as_the_bounds_of_an_inherited_time() -> None:
    nodes, _expected = FOREIGN_NAMES["bounds of an inherited time"]
    dataset, _told = opened_with_warnings(xr.open_dataset, store_of(nodes), group="g")
    assert dataset["b"].values.tolist() == [[1, 2], [3, 4]]
