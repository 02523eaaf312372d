"""The `dggs` convention: the cells of a discrete global grid system."""

import warnings
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from packaging.version import Version
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recorded,
    recording_store,
    stored,
)
from zarr_xgroup.tests.tables import check, rows, store_of

SPHERE = {"name": "sphere", "radius": 6370997.0}
WGS84 = {"name": "WGS84", "semi_major_axis": 6378137.0, "inverse_flattening": 298.257223563}
GRID: Any = {
    "name": "healpix",
    "refinement_level": 1,
    "indexing_scheme": "nested",
    "spatial_dimension": "cells",
}
#: The number of cells of the level, some of them, and what these are packed in: pairs of ids of the finest level, and
#: cells of any level.
NUMBER = 48
CELLS = np.array([3, 4, 5, 6, 7, 12], "u8")
FINE = 4**28
RANGES = stored(np.array([[3, 8], [12, 13]], "u8") * FINE, "range end")
COMPACTED = stored(np.array([7 * FINE, 3 * 4 * FINE, 25 * FINE], "u8"), "some")
IDS = stored([5, 7, 8], "cells")


def on_cells(size: int = 3, /, **grid: Any) -> Array:
    """Return an array with values of cells."""
    return stored(np.zeros(size), "cells", **declaring("dggs", dggs={**GRID, **grid}))


def of_group(**grid: Any) -> Any:
    """Return the attributes of a group that says the grid of its arrays."""
    return declaring("dggs", dggs={**GRID, **grid})


LEVEL_1 = "grid_name=healpix indexing_scheme=nested level=1"

CELL_IDS = {
    "that are named, with all that xdggs reads": (
        {"a": on_cells(coordinate="cell_ids", ellipsoid=SPHERE), "cell_ids": IDS},
        f'cell_ids (cells) 5 7 8 | ellipsoid={{"name": "sphere", "radius": 6370997.0}} {LEVEL_1}',
    ),
    "of a different group, with the name that xdggs expects": (
        {"a": on_cells(coordinate="/grids/ids"), "grids": {}, "grids/ids": stored([5, 7, 8], "n")},
        f"cell_ids (cells) 5 7 8 | {LEVEL_1}",
    ),
    "unpacked from ranges": ({"a": on_cells(6, coordinate="p", compression="ranges"), "p": RANGES}, f"cell_ids (cells) uint64 3 4 5 6 7 12 | {LEVEL_1}"),
    "unpacked from compacted ones": ({"a": on_cells(6, coordinate="p", compression="compacted"), "p": COMPACTED}, f"cell_ids (cells) uint64 3 4 5 6 7 12 | {LEVEL_1}"),
    "0, although it means missing data": (
        {
            "a": on_cells(4, refinement_level=29, coordinate="r", compression="ranges"),
            "r": Array(np.array([[0, 2], [2**61, 2**61 + 2]], "u8"), ("range", "end"), missing=0),
        },
        "cell_ids (cells) uint64 0 1 2305843009213693952 2305843009213693953 | grid_name=healpix indexing_scheme=nested level=29",
    ),
    "of all arrays of a group along the dimension": (
        {"": of_group(coordinate="cell_ids"), "a": stored(np.zeros((2, 3)), "time cells"), "b": stored(np.zeros(2), "time"), "cell_ids": IDS},
        f"cell_ids (cells) 5 7 8 | {LEVEL_1}\nb (time)",
    ),
    "with an array with the same metadata": (
        {"": of_group(), "cell_ids": IDS, "day": IDS},
        f"cell_ids (cells) 5 7 8 | {LEVEL_1}\nday (cells) @ cell_ids",
    ),
    "of the group's own array, if the named one is lost": (
        {"": of_group(coordinate="cellids"), "a": stored(np.zeros(3), "cells"), "cell_ids": IDS},
        f"cell_ids (cells) 5 7 8 | {LEVEL_1}\n! Resolution: /a: /#/attributes/dggs/coordinate: cannot be resolved; the group's own array 'cell_ids' is used",
    ),
    "without an ellipsoid that is wrong": (
        {"a": on_cells(coordinate="cell_ids", ellipsoid={"radius": 0}), "cell_ids": IDS},
        f"cell_ids (cells) 5 7 8 | {LEVEL_1}\n! Resolution: /a was opened without the ellipsoid of its cells: /a#/attributes/dggs/ellipsoid/radius: must be a positive number",
    ),
    "not of a group without the dimension": (
        {"": of_group(spatial_dimension="cell"), "a": stored(np.zeros(3), "cells"), "s": stored(0)},
        "! Resolution: /a was opened without the ids of its cells: /#/attributes/dggs/spatial_dimension: 'cell' is not a dimension of any array of the group",
    ),
    "with coordinates of a different principal convention": (
        {
            "a": stored(np.zeros((1, 3)), "day cells", **declaring("coords", "dggs", dggs={**GRID, "coordinate": "cell_ids"}, **{"coords:coordinates": {"day": {"type": "inline", "values": [3]}}})),
            "cell_ids": IDS,
        },
        f"cell_ids (cells) 5 7 8 | {LEVEL_1}\nday (day) 3",
    ),
}  # fmt: skip


@rows(CELL_IDS)
def test_ids_of_cells(nodes: Any, expected: str) -> None:
    check({"": {}, **nodes}, expected, only="cell_ids ids b day")


def test_implied_ids_are_all_cells_of_the_level_in_chunks_of_the_data() -> None:
    pytest.importorskip("dask")
    for grid in ({}, {"coordinate": "ranges", "compression": "ranges"}):
        attributes = declaring("dggs", dggs={**GRID, **grid})
        a = Array(np.zeros(NUMBER), ("cells",), attributes, chunks=(20,))
        ranges = stored(np.array([[0, NUMBER]]) * FINE, "range end")
        store: Any = recording_store(build({"": {}, "a": a, "ranges": ranges}))
        found = quietly(xr.open_dataset, store, engine="xgroup", zarr_format=3, chunks={})
        assert not store.chunk_gets
        assert found["cell_ids"].chunks == found["a"].chunks == ((20, 20, 8),)
        assert found["cell_ids"].values.tolist() == [*range(NUMBER)]
        assert found["cell_ids"][[30, 7]].values.tolist() == [30, 7]


def test_ranges_with_a_different_number_of_cells_are_ignored() -> None:
    packed = stored(np.array([[4, 1], [0, 9]]) * FINE, "range end")
    nodes: Any = {"": {}, "a": on_cells(6, coordinate="r", compression="ranges"), "r": packed}
    found = opened(xr.open_dataset, store_of(nodes))
    with pytest.raises(ValueError, match="do not unpack to 6 cells"):
        found["cell_ids"].load()


READ: dict[str, tuple[Any, Any]] = {
    "h3": ({"name": "h3", "indexing_scheme": ""}, {"grid_name": "h3", "level": 1}),
    "several levels": ({"refinement_level": None}, {"level": None}),
    "axis and flattening": ({"ellipsoid": WGS84}, {"ellipsoid": {"name": "WGS84", "semimajor_axis": 6378137.0, "inverse_flattening": 298.257223563}}),
    "equal axes": ({"ellipsoid": {"semi_major_axis": 6371000, "semi_minor_axis": 6371000}}, {"ellipsoid": {"radius": 6371000.0}}),
    "axes as spelt before summer 2026": (
        {"ellipsoid": {"semimajor_axis": 6378137, "semiminor_axis": 6356752}},
        {"ellipsoid": {"semimajor_axis": 6378137.0, "semiminor_axis": 6356752.0}},
    ),
}  # fmt: skip


@rows(READ, "grid, read")
def test_grids_as_read_by_xdggs(grid: Any, read: Any) -> None:
    store = store_of({"": of_group(coordinate="ids", **grid), "a": stored([0.0], "cells"), "ids": stored([5], "cells")})  # fmt: skip
    found = opened(xr.open_dataset, store)
    whole = {"grid_name": "healpix", "level": 1, "indexing_scheme": "nested"}
    assert found["ids"].attrs == ({} if "grid_name" in read else whole) | read
    assert zarr_xgroup.check(store).is_clean


RANGED = {"coordinate": "texts", "compression": "ranges"}
#: Grids of an array of five cells, and what is told of them.
WRONG: dict[str, Any] = {
    "another number of cells": ({}, "all 48 cells of level 1, but has 5"),
    "implied ids of another system": ({"name": "h3"}, "can be computed only for HEALPix"),
    "implied ids that do not begin with 0": ({"indexing_scheme": "nuniq"}, "can be computed only for HEALPix"),
    "a level that is not an integer": ({"refinement_level": "2"}, "must be an integer from 0 to"),
    "a dimension of others": ({"spatial_dimension": "nope"}, "is not a dimension of the array (cells)"),
    "too few ids": ({"coordinate": "few"}, "the cells need [5]"),
    "ranges of one dimension": ({**RANGED, "coordinate": "few"}, "the cells need ['n', 2]"),
    "compacted ids of two": ({**RANGED, "compression": "compacted"}, "the cells need ['n']"),
    "packed ids of another scheme": ({**RANGED, "indexing_scheme": "ring"}, "is packed, which is supported only"),
    "packed texts": (RANGED, "needs integers in /texts"),
}  # fmt: skip


@rows(WRONG, "grid, text")
def test_invalid_grids_open_without_cell_ids(grid: Any, text: str) -> None:
    nodes: Any = {"": {}, "a": on_cells(5, **grid), "texts": Array([["0", "5"]], ("range", "end"))}
    nodes |= {"few": stored([0, 1], "few"), "floats": stored([[0.0, 5.0]], "range end")}
    found, told = opened_with_warnings(xr.open_dataset, store_of(nodes))
    assert "cell_ids" not in found.coords
    assert [text in str(warning) for warning in told] == [True], told


def test_levels_declare_their_cells() -> None:
    items = [
        {"asset": str(n), "dggs": {**GRID, "refinement_level": n, "coordinate": "cell_ids"}}
        for n in (1, 2)
    ]
    nodes: Any = {"": declaring("multiscales", "dggs", multiscales={"layout": items})}
    for level, size in ((1, 2), (2, 4)):
        members = {"cell_ids": stored(np.arange(size), "cells"), "a": stored(np.zeros(size), "cells")}  # fmt: skip
        nodes[str(level)] = Group(members)
    expected = """
        /:
        /1:
        cell_ids (cells) 0 1 | grid_name=healpix indexing_scheme=nested level=1
        a (cells) @ cell_ids
        /2:
        cell_ids (cells) 0 1 2 3 | grid_name=healpix indexing_scheme=nested level=2
        a (cells) @ cell_ids
    """
    check(nodes, expected, function=xr.open_groups)
    assert str(zarr_xgroup.levels(store_of(nodes))).splitlines() == [
        "level  resolution          rows x columns  chunk  factor",
        "/2     refinement level 2  4               4      1",
        "/1     refinement level 1  2               2      2",
    ]


LEVELS = {
    1: "cell_ids (cells) 5 7 | grid_name=healpix indexing_scheme=nested level=1",
    2: "cell_ids (cells) 5 7 | grid_name=healpix indexing_scheme=nested level=2",
}


def leveled(whole: Any, item: Any, /, asset: str = "1", **of_level: Any) -> Any:
    """Return the attributes of a group whose layout has one level, and that level: a group with cells of level 2."""
    layout = {"layout": [{"asset": asset, "dggs": item}]}
    root = declaring("multiscales", "dggs", multiscales=layout, dggs=whole)
    members = {"a": stored(np.zeros(2), "cells"), "cell_ids": stored([5, 7], "cells")}
    return {"": root, "1": Group(members, of_level)}


WHOLE = {**GRID, "coordinate": "cell_ids"}
#: A group with a layout of one level, and the ids of that level.
REDUCED: dict[str, tuple[Any, str]] = {
    "a member that differs": (leveled(WHOLE, {"refinement_level": 2}), LEVELS[2]),
    "all members that differ": (leveled({**WHOLE, "name": "h3", "coordinate": "lost"}, {"name": "healpix", "refinement_level": 2, "coordinate": "cell_ids"}), LEVELS[2]),
    "an array as a level": (leveled(WHOLE, {"refinement_level": 2}, asset="1/a"), LEVELS[2]),
    "a member that is taken away": (leveled({**WHOLE, "compression": "ranges"}, {"refinement_level": 2, "compression": None}), LEVELS[2]),
    "an object of the level's group comes first": (leveled(WHOLE, {"refinement_level": 2}, dggs=WHOLE), LEVELS[1]),
    "a mistake in the object of the group": (
        leveled({**WHOLE, "name": 5}, {"refinement_level": 2}),
        "! Resolution: /1/a was opened without the ids of its cells: /#/attributes/multiscales/layout/0/dggs/name: must be a string, got number 5",
    ),
    "a list": (
        leveled(WHOLE, [2]),
        "! Resolution: /1/a, /1/cell_ids were opened without the ids of its cells: /#/attributes/multiscales/layout/0/dggs: must be an object, got list [2]",
    ),
}  # fmt: skip


@rows(REDUCED)
def test_a_level_may_have_only_members_that_differ(nodes: Any, expected: str) -> None:
    check(nodes, expected, only="coords" if expected[0] == "c" else "", group="1")
    if expected[0] == "c":
        assert zarr_xgroup.check(store_of(nodes)).is_clean


def test_the_group_of_a_layout_may_be_a_level_with_members_that_differ() -> None:
    nodes = leveled(WHOLE, {"refinement_level": 2}, asset=".")
    top = {**nodes["1"].members, "": nodes[""], "cell_ids": stored([5, 7], "cells", long_name="cells")}  # fmt: skip
    ids = LEVELS[2].replace("level=2", "level=2 long_name=cells")
    check(top, ids, only="coords")
    assert zarr_xgroup.check(store_of(top)).is_clean


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
@pytest.mark.parametrize("named", [{}, {"coordinate": "/grids/ids", "compression": "none"}])
def test_a_written_subset_has_its_own_cell_ids(named: Any) -> None:
    nodes: Any = {"": {}, "a": on_cells(NUMBER, **named), "grids": {}}
    store = store_of({**nodes, "grids/ids": stored(np.arange(NUMBER), "n")})
    again = MemoryStore()
    quietly(opened(xr.open_dataset, store).isel(cells=[5, 7]).to_zarr, again, zarr_format=3)
    found = check(again, "cell_ids (cells) 5 7 | grid_name=healpix indexing_scheme=nested level=1", only="cell_ids")  # fmt: skip
    # Nor does the attribute say any more that these are all cells, or elsewhere.
    assert found["a"].attrs["dggs"] == {**GRID, **named, "coordinate": "cell_ids"}


# What xdggs finds, beside what it finds by engine zarr.

ZUNIQ = (2 * CELLS + 1) * np.uint64(FINE)


@pytest.mark.parametrize(
    ("grid", "ids"),
    [
        ({}, stored(CELLS, "cells")),
        ({"ellipsoid": None}, stored(CELLS, "cells")),
        # xdggs takes each attribute for a parameter of the grid.
        ({}, stored(CELLS, "cells", long_name="cells")),
        ({"indexing_scheme": "ring"}, stored(CELLS, "cells")),
        ({"indexing_scheme": "zuniq", "refinement_level": None}, stored(ZUNIQ, "cells")),
        *(({"indexing_scheme": scheme}, None) for scheme in ("nested", "zuniq")),
        ({"coordinate": "packed", "compression": "ranges"}, RANGES),
        ({"coordinate": "cell_ids", "compression": "compacted"}, COMPACTED),
    ],
)
def test_xdggs_finds_cells_as_by_engine_zarr(grid: Any, ids: Array | None) -> None:
    with warnings.catch_warnings(action="ignore"):  # of what it imports
        decode = pytest.importorskip("xdggs").decode
    named = {} if ids is None else {"coordinate": "cell_ids"}
    written = {**GRID, "ellipsoid": WGS84, **named, **grid}
    written = {key: it for key, it in written.items() if it is not None or key[0] == "r"}
    members: Any = {"a": stored(np.zeros(NUMBER if ids is None else len(CELLS)), "cells")}
    members |= {} if ids is None else {written["coordinate"]: ids}
    store = memory_store(build(Group(members, declaring("dggs", dggs=written))))
    options = {"index_kind": "moc"} if "compression" in grid else {}
    plain = quietly(xr.open_dataset, store, engine="zarr", consolidated=False)
    expected = decode(plain, convention="zarr", **options)
    found = opened(xr.open_dataset, store)
    for way in ({}, {"convention": "zarr", **options}):
        decoded = found.dggs.decode(**way)
        assert decoded.dggs.coord.values.tolist() == expected.dggs.coord.values.tolist()
        for name, centres in decoded.dggs.cell_centers().coords.items():
            wanted = expected.dggs.cell_centers()[name]
            np.testing.assert_allclose(centres, wanted, rtol=0, atol=1e-9)


def test_packed_ids_of_too_many_cells_do_not_replace_the_array_of_the_name_of_their_dimension() -> (
    None
):
    level = 11
    ranges = {"compression": "ranges", "coordinate": "cell_ids", "spatial_dimension": "cell_ids"}
    dggs = {"name": "healpix", "refinement_level": level, "indexing_scheme": "nested", **ranges}
    store = MemoryStore()
    root = zarr.create_group(store, zarr_format=3)
    root.create_array("cell_ids", shape=(3, 2), dtype="i8", dimension_names=["range", "end"])
    root.create_array(
        "v", shape=(12 * 4**level,), chunks=(2**20,), dtype="f4", dimension_names=["cell_ids"],
        attributes=declaring("dggs", dggs=dggs),
    )  # fmt: skip
    dataset, told = recorded(xr.open_dataset, store, engine="xgroup")
    assert {"v", "cell_ids"} <= {*dataset.variables}
    assert any("too long to be read on opening" in str(it) for it in told)
