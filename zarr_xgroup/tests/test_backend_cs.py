"""Arrays that declare their coordinates with `cs`: documents, and the opened coordinates."""

import re
import warnings
from pathlib import Path
from typing import Any

import cftime
import numpy as np
import pytest
import xarray as xr
from zarr.storage import MemoryStore

from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Group,
    Json,
    Nodes,
    build,
    declaring,
    edit,
    memory_store,
    needs_writing,
    opened,
    opened_with_warnings,
    update,
    write_store,
)
from zarr_xgroup.tests.documents import STORES, files, script
from zarr_xgroup.tests.samples import sample
from zarr_xgroup.tests.tables import check, outcome, rows

STORE = STORES / "cs_test.zarr"


# The committed stores.


@pytest.mark.parametrize(
    "name", ["cs_test", "geolocation_test", "broken_refs", "roms_test", "spatial_test"]
)
def test_scripts_write_the_committed_stores_and_replace_nothing_else(
    tmp_path: Path, name: str
) -> None:
    write, target, other = script(f"make_{name}_store").write, tmp_path / "a.zarr", tmp_path / "b"
    write(target, zarr_format=2)
    (target / "stale").write_bytes(b"")
    write(target)
    assert files(target) == files(STORES / f"{name}.zarr")
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not a Zarr group; nothing was written"):
        write(other)
    assert files(other) == {"notes.txt": b"mine"}


#: What each group of the store opens as; a group begins with its path.
GROUPS = dict(
    section.partition("\n")[::2]
    for section in (STORES / "cs_test.txt").read_text("utf-8").removeprefix("/").split("\n/")
)


@pytest.mark.parametrize(("group", "expected"), GROUPS.items(), ids=GROUPS)
def test_the_committed_store_opens_as_expected(group: str, expected: str) -> None:
    _dataset, lines = outcome(STORE, group=group)
    # Each data variable of `times` has the scalar coordinates of all others, too.
    assert [line for line in lines if " @ epoch_29_" not in line] == expected.splitlines()


def test_cf_xarray_finds_axes_and_decodes_vertical_coordinates() -> None:
    pytest.importorskip("cf_xarray", reason="cf_xarray is not installed")
    ocean = opened(xr.open_dataset, STORE, group="parametric/ocean")
    assert (sorted(ocean.cf.axes["Z"]), ocean.cf.axes["X"]) == (["lev", "s_rho", "s_w"], ["xi_rho"])
    # CF conventions 1.12, appendix D, ocean_s_coordinate_g2.
    depth, zeta = np.array([[100.0, 200.0], [300.0, 400.0]]), ocean["zeta"].values[:, None]
    s, stretching = np.array([[-0.75, -0.25], [-0.6, -0.1]])[..., None, None]
    expected = zeta + (zeta + depth) * (250 * s + depth * stretching) / (250 + depth)
    some = ocean[["w", "zeta"]]
    some.cf.decode_vertical_coords(outnames={"s_w": "height"})
    np.testing.assert_allclose(some["height"].transpose(*some["w"].dims), expected)


# Documents as the texts of conventions have them.

SHARED = """
    lat (lat) -89.75 -89.25 | axis=Y standard_name=latitude units=degrees
    lon (lon) -179.75 -179.25 -178.75 | axis=X standard_name=longitude units=degrees
    spatial_ref () EPSG:4326
    time (time) 1900-01-16 1900-02-15 | axis=T standard_name=time
    data (time lat lon) @ lat lon spatial_ref time | grid_mapping=spatial_ref
"""
#: The name of a document, the other nodes of its store, and what an array that has it opens as.
TEXTS: dict[str, tuple[str, Nodes, str]] = {
    "CMIP6, daily": (
        "cs_cmip6_daily_axes_list",
        {},
        """height () 2 | axis=Z positive=up units=m
        lat (lat) -89.5 -88.5 | axis=Y bounds=lat_bounds standard_name=latitude units=degrees
        lat_bounds (lat bounds) [[-90.0 -89.0] [-89.0 -88.0]]
        lon (lon) 0.625 1.875 3.125 | axis=X bounds=lon_bounds standard_name=longitude units=degrees
        lon_bounds (lon bounds) [[0.0 1.25] [1.25 2.5] [2.5 3.75]]
        spatial_ref () EPSG:4326
        time (time) noleap:1926-06-05T12 noleap:1926-06-06T12 | axis=T bounds=time_bounds standard_name=time
        time_bounds (time bounds) [[noleap:1926-06-05 noleap:1926-06-06] [noleap:1926-06-06 noleap:1926-06-07]]
        data (time lat lon) @ height lat lon spatial_ref time | grid_mapping=spatial_ref""",
    ),
    **{
        name: (name, {"": sample("cs_group_shared_crs")["attributes"], "time": Array([15.0, 45.0], ("time",))}, SHARED)
        for name in ("cs_array_refers_to_group", "cs_array_refers_to_parent_by_node")
    },
}  # fmt: skip


@rows(TEXTS, "name, others, expected")
def test_documents_of_conventions(name: str, others: Nodes, expected: str) -> None:
    document = sample(name)
    data = Array(np.zeros((2, 2, 3)), document["dimension_names"], document["attributes"])
    check({"": {}, **others, "data": data}, expected)


# Axis by axis.

OWN = Array([5, 6], ("x",))


def field(dims: str, *systems: Json, **members: Array | Group) -> Nodes:
    """Return a store of an array with these CRSs, two values along each dimension, and of other nodes."""
    attrs = declaring("cs", "ref", cs={"crs": list(systems)})
    data = Array(np.zeros((2,) * len(dims.split())), dims.split(), attrs)
    return {"": Group(), "data": data, **members}


def axes(**axes: Any) -> Json:
    return {"axes": axes}


def of(values: Any, **more: Any) -> Json:
    """Return an axis with one coordinate set."""
    return {"coordinates": [{"values": values, **more}]}


def at(node: str) -> Json:
    return {"external": {"node": node}}


def along(name: str, axis: Any, **members: Array | Group) -> Nodes:
    """Return a store of an array along x, which has one axis, and of other nodes."""
    return field("x", axes(**{name: axis}), **members)


def parametric(terms: Any, **members: Array | Group) -> Nodes:
    return along("x", of(UP, parametric={"formula": "f", "terms": terms}), **members)


#: The greatest integer of 64 bits.
MOST = 2**63 - 1
UP = {"regular": [0, 1]}
ONE_OF = "must have exactly one of regular, explicit, external"
BEYOND = "! the boundaries of 'x': boundaries/regular: gives boundaries beyond 64 bits"
#: A store, its coordinates, and what is told, but for the start of it and of the place in the coordinate set.
CS: dict[str, tuple[Nodes, str]] = {
    "the group's own coordinate replaces values of a different length": (
        along("x", of({"explicit": [1, 2, 3]}), x=OWN),
        "x (x) 5 6",
    ),
    "the group's own array replaces a further set": (
        along("x", {"coordinates": [{"values": UP}, {"name": "s", "values": at("lost")}]}, s=OWN),
        """s (x) 5 6
        x (x) 0 1""",
    ),
    "a scalar coordinate has no regular values": (
        along("h", of(UP)),
        """
        ! coordinate 'h': axes/h: has regular values, but is not a dimension of the array (x); a scalar coordinate needs its value in 'explicit'
        """,
    ),
    "which remain after an array was reduced": (along("h", of(UP), h=Array(7)), "h () 7"),
    "a scalar does not get the name of another array's dimension": (
        along("h", of({"explicit": [850]}), levels=Array([1, 2, 3], ("h",))),
        """h_1 () 850
        levels (h) @ h_1
        ! Name: /data: its coordinate 'h' is named 'h_1', because the name 'h' is already used or not valid in this group""",
    ),
    "the greatest integer": (
        along("x", of({"regular": [MOST - 1, 1]})),
        f"x (x) {MOST - 1} {MOST}",
    ),
    "boundaries of a dimension named bounds": (
        field("bounds", axes(bounds=of(UP, boundaries=UP))),
        """bounds (bounds) 0 1 | bounds=bounds_bounds
        bounds_bounds (bounds bounds_1) [[0 1] [1 2]]""",
    ),
    "boundaries, with a dimension of data named bounds": (
        along("x", of(UP, boundaries=UP), more=Array(np.zeros(2), ("bounds",))),
        """x (x) 0 1 | bounds=x_bounds
        x_bounds (x bounds_x_bounds) [[0 1] [1 2]]
        more (bounds)
        ! Dimension: /data: the dimension of its boundaries 'x_bounds' has the name of a dimension of data; renamed 'bounds' -> 'bounds_x_bounds'""",
    ),
    "boundaries, with unused boundaries of the group": (
        along(
            "x",
            of(UP, boundaries=UP),
            t=Array(np.zeros(2), ("t",), {"bounds": "b"}),
            b=Array(np.zeros((2, 2)), ("t", "bounds")),
        ),
        """t (t) 0.0 0.0 | bounds=b
        x (x) 0 1 | bounds=x_bounds
        x_bounds (x bounds) [[0 1] [1 2]]
        b (t bounds) @ t""",
    ),
    "boundaries above 64 bits": (
        along("x", of({"regular": [MOST - 1, 1]}, boundaries=UP)),
        f"x (x) {MOST - 1} {MOST}\n{BEYOND}",
    ),
    "bounds of the group's own coordinate stay": (
        along("x", of(UP, boundaries=UP), x=Array([5, 6], ("x",), {"bounds": "e"})),
        "x (x) 5 6 | bounds=e",
    ),
    "terms are lost one by one": (
        parametric({"a": {"explicit": [1, 2, 3]}, "c": {}, "d": UP, "e": {"explicit": [4]}}),
        f"""x (x) 0 1 | formula_terms=d: x_d e: x_e standard_name=f
        x_d (x) 0 1
        x_e () 4
        ! the term 'a' of 'x': parametric/terms/a/explicit: has 3 values, but the axis needs 2
        ! the term 'c' of 'x': parametric/terms/c: {ONE_OF}""",
    ),
    "terms of the group's own coordinate stand for lost ones": (
        parametric(
            {"a": at("lost"), "b": at("lost")},
            x=Array([5, 6], ("x",), {"formula_terms": "a: p b: gone"}),
            p=OWN,
        ),
        """p (x) 5 6
        x (x) 5 6 | formula_terms=a: p b: gone standard_name=f""",
    ),
}


EAST_AND_NORTH = {"id": {"proj:code": "EPSG:4326"}}
DAYS: Json = {"unit": "days", "epoch": "1970-01-01"}
HOURS, YEARS = {**DAYS, "unit": "hours"}, {**DAYS, "unit": "years"}
WITHOUT_EPOCH = Array([0, 2], ("t",), {"units": "days"})
CELLS = Array([[0, 1], [2, 3]], ("v", "t"))
#: An array of everything that `cs` may take from the group, and these arrays.
LOCATIONS = {"geolocation": {"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}}}
TERMS = {"values": at("z"), "parametric": {"formula": "f", "terms": {"a": at("term")}}}
OF_GROUP = {
    "t": {"coordinates": [{"values": at("t"), "boundaries": at("cells")}, {"values": at("t2")}]},
    "h": of(at("h")),
    "z": {"coordinates": [TERMS]},
}
TIMES = Array([0, 2], ("t",))
PLACES = Array([[0, 1], [2, 3]], ("t", "z"))
TAKEN: dict[str, Array | Group] = {
    "t": TIMES, "t2": TIMES, "cells": Array([[0, 1], [2, 3]], ("t", "v")), "h": Array(7), "z": Array([5, 6], ("z",)),
    "term": Array([8, 9], ("z",)), "lon": PLACES, "lat": PLACES, "extra": Array(1, (), {"units": "m"}),
}  # fmt: skip


def with_root(attributes: Json, **more: Any) -> Nodes:
    """Return a store whose root has these attributes, with an array that takes all of `TAKEN` from its group."""
    attrs = declaring(
        "cs", "ref", cs={"crs": [{**axes(**OF_GROUP), **LOCATIONS}]}, ref={"node": "extra"}
    )
    data = Array(np.zeros((2, 2)), ("t", "z"), attrs)
    return {"": attributes, "data": data, **TAKEN, **more}


ALL_TAKEN = """cells (t v) [[0 1] [2 3]]
    extra () 1 | units=m
    h () 7
    lat (t z) [[0 1] [2 3]] | standard_name=latitude
    lon (t z) [[0 1] [2 3]] | standard_name=longitude
    t (t) 0 2 | bounds=cells
    t2 (t) 0 2
    term (z) 8 9
    z (z) 5 6 | formula_terms=a: term standard_name=f"""
#: Stores whose coordinates are the same after writing them, whichever engine reads them.
LASTING: dict[str, tuple[Nodes, str]] = {
    "cf is declared by the root": (with_root({"Conventions": "CF-1.12 NZ-1.0"}), ALL_TAKEN),
    "cf is declared by the group": (with_root(declaring("CF")), ALL_TAKEN),
    "a longitude that increases to the west": (
        field("x y", {**EAST_AND_NORTH, **axes(
            x=of(UP, unit="degrees_east", direction="west") | {"abbreviation": "X"},
            y=of(UP, unit={"ucum": {"unit": "deg"}}) | {"abbreviation": "Y", "direction": "South"})}),
        """spatial_ref () EPSG:4326
        x (x) 0 1 | axis=X units=degree
        y (y) 0 1 | axis=Y units=degree""",
    ),
    "integers that only uint64 holds": (
        along("x", of({"explicit": [1, 2**64 - 1]})),
        f"x (x) uint64 1 {2**64 - 1}",
    ),
    "boundaries with the sides first": (
        field("t", axes(t=of(at("t"), boundaries=at("cells"))), t=TIMES, cells=CELLS),
        """cells (t v) [[0 2] [1 3]]
        t (t) 0 2 | bounds=cells""",
    ),
    "the bounds of the group's own coordinate, with the sides first": (
        field("t", axes(t=of(at("t"), boundaries=at("cells"))), t=Array([0, 2], ("t",), {"bounds": "cells"}), cells=CELLS),
        """cells (t v) [[0 2] [1 3]]
        t (t) 0 2 | bounds=cells""",
    ),
    "the group's own boundaries with the sides first stand for computed ones": (
        field("t", axes(t=of(UP, boundaries=UP)), t_bounds=CELLS),
        """t (t) 0 1 | bounds=t_bounds
        t_bounds (t v) [[0 2] [1 3]]""",
    ),
    "boundaries of another group with the sides first": (
        field("t", axes(t=of(UP, boundaries=at("/g/cells"))), g=Group({"cells": CELLS})),
        """t (t) 0 1 | bounds=t_bounds
        t_bounds (t bounds) [[0 2] [1 3]]""",
    ),
    "a unit of time without an epoch": (
        field("t", axes(t=of(at("t"), time=DAYS)), t=WITHOUT_EPOCH),
        "t (t) 1970-01-01 1970-01-03 | standard_name=time",
    ),
    "a unit of time without an epoch, and its boundaries": (
        field("t", axes(t=of(at("t"), time=DAYS, boundaries=at("cells"))), t=WITHOUT_EPOCH, cells=Array([[0, 1], [2, 3]], ("t", "v"), {"units": "days"})),
        """cells (t v) [[1970-01-01 1970-01-02] [1970-01-03 1970-01-04]]
        t (t) 1970-01-01 1970-01-03 | bounds=cells standard_name=time""",
    ),
    "a unit without an epoch of the array in place of declared values": (
        field("t", axes(t=of(UP, time=DAYS)), t=Array([0, 2], ("t",), {"units": "d"})),
        "t (t) 1970-01-01 1970-01-03 | standard_name=time",
    ),
    "a unit without an epoch, and a different declared one": (
        field("t", axes(t=of(at("t"), time=HOURS)), t=WITHOUT_EPOCH),
        """t (t) 1970-01-01 1970-01-03 | standard_name=time
        ! Metadata: /data: its coordinate 't' has units "days", but "hours since 1970-01-01 00:00:00" are declared; it was opened with "days since 1970-01-01 00:00:00"
        """,
    ),
    "metres are not minutes": (
        field("t", axes(t=of(at("t"), time=DAYS)), t=Array([0, 2], ("t",), {"units": "m"})),
        "t (t) 0 2 | units=m",
    ),
    "years since an epoch": (
        field("t", axes(t=of(UP, time=YEARS, boundaries=UP) | {"abbreviation": "T"})),
        """t (t) 0 1 | axis=T bounds=t_bounds standard_name=time
        t_bounds (t bounds) [[0 1] [1 2]]
        ! Metadata: /data: the units and calendar of its coordinate 't' were not added ("years since 1970-01-01 00:00:00"): "years" is not a unit in which times can be decoded""",
    ),
    "years since an epoch, of a stored array": (
        field("t", axes(t=of(at("t"), time={**YEARS, "calendar": "noleap"})), t=TIMES),
        """t (t) 0 2 | standard_name=time
        ! Metadata: /data: the units and calendar of its coordinate 't' were not added ("years since 1970-01-01 00:00:00"): "years" is not a unit in which times can be decoded""",
    ),
}  # fmt: skip


STAYING_DATA = {
    "cf is declared by the root, and a coordinate declares it itself": (
        with_root({"Conventions": "CF-1.12 NZ-1.0"}, t2=Array([0, 2], ("t",), declaring("CF"))),
        ALL_TAKEN.replace("    t2 (t) 0 2\n", "") + "\nt2 (t) @ extra h t",
    ),
}


@needs_writing
@rows({about: nodes for about, (nodes, _expected) in LASTING.items()}, "nodes")
def test_coordinates_stay_after_writing_and_reading(nodes: Nodes) -> None:
    dataset, _lines = outcome(nodes)
    tree, _warnings = opened_with_warnings(xr.open_datatree, memory_store(build(nodes)))
    xr.testing.assert_identical(tree.to_dataset(), dataset)
    for original in (dataset, dataset.chunk()):
        store: Any = MemoryStore()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of zarr, about data types and consolidated metadata
            original.to_zarr(store)
            by_engine = [xr.open_dataset(store, engine=engine) for engine in ("zarr", "xgroup")]
        for written in by_engine:
            xr.testing.assert_equal(written, dataset)
            assert written.coords.keys() == dataset.coords.keys()


@pytest.mark.parametrize("dims", ["time bnds", "bnds time"])
def test_cmip6_monthly_times_have_one_variable_of_bounds(dims: str) -> None:
    document = sample("cs_cmip6_monthly_axes_keyed")
    edges = np.arange(13) * 30.0
    cells = np.stack([edges[:-1], edges[1:]], axis=dims.split().index("bnds"))
    chunks = tuple(5 if size == 12 else size for size in cells.shape)
    nodes = {
        "": {},
        "data": Array(np.zeros((12, 2, 3)), document["dimension_names"], document["attributes"]),
        "time": Array(edges[:-1] + 15, ("time",)),
        "time_bnds": Array(cells, tuple(dims.split()), chunks=chunks),
    }
    dataset, lines = outcome(nodes, only="")
    assert lines == []
    assert dataset["time"].attrs["bounds"] == "time_bnds"
    bounds = dataset["time_bnds"]
    assert (bounds.dims, bounds.shape) == (("time", "bnds"), (12, 2))
    assert bounds.encoding["chunks"] == (5, 2)
    assert bounds.encoding["preferred_chunks"] == {"time": 5, "bnds": 2}
    assert bounds.values[[0, -1]].tolist() == [
        [cftime.DatetimeNoLeap(1850, 1, 1), cftime.DatetimeNoLeap(1850, 1, 31)],
        [cftime.DatetimeNoLeap(1850, 11, 27), cftime.DatetimeNoLeap(1850, 12, 27)],
    ]


@rows(CS | STAYING_DATA | LASTING)
def test_coordinates(nodes: Nodes, expected: str) -> None:
    lines = [line for line in outcome(nodes)[1] if not line.startswith("data (")]
    text = "\n".join(lines).replace("! Resolution: /data was opened without", "!")
    text = re.sub(r"/data#/attributes/cs/crs/0/(axes/\w+/coordinates/0/)?(?=\w)", "", text)
    assert text.splitlines() == [line.strip() for line in expected.strip().splitlines()]


def test_coordinates_of_another_store(tmp_path: Path) -> None:
    foreign = tmp_path / "größer & weiter.zarr"
    level, inside = Array([5.0, 10.0], ("any",), {"units": "m"}), axes(t=of(at("a/t")))
    members = {"level": level, "t": Array([1.0, 2.0], ("t",))}
    write_store(foreign, Group({"a": Group(members)}, {"crs": {"here": inside}}))
    shared = {"uri": foreign.as_uri(), "node": "/", "attribute": "/attributes/crs/here"}
    values = {"external": {"uri": f"file://{foreign}", "node": "/a/level"}}
    # Here is an array of the same path as the one there, which is not meant.
    here = Group({"t": Array([0.0, 0.0], ("t",))})
    store = write_store(
        tmp_path / "here.zarr", field("level t", axes(level=of(values)), shared, a=here)
    )
    dataset = check(
        store, "level (level) 5.0 10.0 | units=m\nt (t) 1.0 2.0\ndata (level t) @ level t"
    )
    assert dataset["level"].encoding["source"].endswith("weiter.zarr/a/level")


@pytest.mark.skipif(not HAS_INDEX_OPTION, reason="this xarray always builds indexes")
def test_regular_values_are_computed_when_they_are_read() -> None:
    axis = of({"regular": [0, 3]}, boundaries={"regular": [-1, 2]})
    huge = update(shape=[10**15])
    store = memory_store(edit(build(along("x", axis)), "data/zarr.json", huge))
    dataset = opened(xr.open_dataset, store, create_default_indexes=False)
    few = dataset.isel(x=[0, 7, -1])
    last = 3 * (10**15 - 1)
    assert few["x"].values.tolist() == [0, 21, last]
    assert few["x_bounds"].values.tolist() == [[-1, 2], [20, 23], [last - 1, last + 2]]
    assert dataset["x"].isel(x=slice(10, 20, 5)).values.tolist() == [30, 45]
