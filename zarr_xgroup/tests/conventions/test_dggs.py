"""The `dggs` convention: the cells of a discrete global grid system."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recording_store,
)

LEVEL = 2
GRID = {
    "name": "healpix",
    "refinement_level": LEVEL,
    "indexing_scheme": "nested",
    "spatial_dimension": "cells",
    "ellipsoid": {"name": "sphere", "radius": 6370997.0},
}
#: What xdggs reads of it.
READ = {
    "grid_name": "healpix",
    "level": LEVEL,
    "indexing_scheme": "nested",
    "ellipsoid": {"name": "sphere", "radius": 6370997.0},
}
WGS84 = {"name": "WGS84", "semi_major_axis": 6378137.0, "inverse_flattening": 298.257223563}
#: Cells of the level, and what they are packed in: pairs of ids of the finest level, and cells of any level.
CELLS = np.array([3, 4, 5, 6, 7, 12], "u8")
FINE = 4 ** (29 - LEVEL)
RANGES = np.array([[3, 8], [12, 13]], "u8") * FINE
COMPACTED = np.array([(2 * 3 + 1) * FINE, (2 * 1 + 1) * 4 * FINE, (2 * 12 + 1) * FINE], "u8")


def values(size: int, *names: str, **grid: Any) -> Array:
    return Array(
        np.arange(float(size)), names or ("cells",), declaring("dggs", dggs={**GRID, **grid})
    )


def store_of(members: Any, zarr_format: ZarrFormat = 3) -> Any:
    return memory_store(build(Group(members), zarr_format=zarr_format))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("coordinate", ["cell_ids", "../cell_ids", "/cell_ids"])
def test_explicit_ids(zarr_format: ZarrFormat, coordinate: str) -> None:
    ids = Array(np.array([5, 7, 8]), ("cells",))
    members = {"a": values(3, coordinate=coordinate), "cell_ids": ids}
    found = opened(xr.open_dataset, store_of(members, zarr_format))
    assert found["cell_ids"].values.tolist() == [5, 7, 8]
    assert found["cell_ids"].attrs == READ
    assert {*found["a"].coords} == {"cell_ids"}


def test_ids_of_another_group_are_called_as_xdggs_expects_them() -> None:
    grids = Group({"ids": Array(np.array([5, 7, 8]), ("n",))})
    found = opened(
        xr.open_dataset, store_of({"a": values(3, coordinate="/grids/ids"), "grids": grids})
    )
    assert (found["cell_ids"].values.tolist(), found["cell_ids"].dims) == ([5, 7, 8], ("cells",))


def test_implied_ids_are_all_cells_of_the_level() -> None:
    number = 12 * 4**LEVEL
    found = opened(xr.open_dataset, store_of({"a": values(number)}))
    assert (found["cell_ids"].values == np.arange(number)).all()
    assert found["cell_ids"].attrs == READ
    assert found["cell_ids"].isel(cells=[7, 3]).values.tolist() == [7, 3]


PACKED = [("ranges", Array(RANGES, ("range", "end"))), ("compacted", Array(COMPACTED, ("some",)))]


@pytest.mark.parametrize("name", ["packed", "cell_ids"])
@pytest.mark.parametrize(("compression", "packed"), PACKED)
def test_packed_ids_are_unpacked_when_they_are_read(
    compression: str, packed: Array, name: str
) -> None:
    members = {"a": values(6, coordinate=name, compression=compression), name: packed}
    store: Any = recording_store(build(Group(members)))
    found, told = opened_with_warnings(xr.open_dataset, store, zarr_format=3)
    assert not store.chunk_gets
    assert not told
    assert {*found.variables} == {"a", "cell_ids", name}
    assert (found["cell_ids"].values == CELLS).all()
    assert found["cell_ids"].dtype == "u8"
    assert found["cell_ids"].isel(cells=[5, 0]).values.tolist() == [12, 3]
    assert found["cell_ids"].isel(cells=3).values == 6
    again = pickle.loads(pickle.dumps(found["cell_ids"]))
    assert (again.values == CELLS).all()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_cell_0_is_one_where_it_stands_for_missing_data(zarr_format: ZarrFormat) -> None:
    last = 2**61  # which no float can tell from the next one
    ranges = np.array([[0, 2], [last, last + 2]], "u8")
    packed = Array(ranges, ("range", "end"), missing=0)
    grid = {"refinement_level": 29, "coordinate": "ranges", "compression": "ranges"}
    members = {"a": values(4, **grid), "ranges": packed}
    found = opened(xr.open_dataset, store_of(members, zarr_format))["cell_ids"]
    assert found.values.tolist() == [0, 1, last, last + 1]


@pytest.mark.parametrize("grid", [{}, {"coordinate": "ranges", "compression": "ranges"}])
def test_ids_are_computed_in_the_chunks_of_the_data(grid: Any) -> None:
    pytest.importorskip("dask")
    number = 12 * 4**LEVEL
    attributes = declaring("dggs", dggs={**GRID, **grid})
    members = {
        "a": Array(np.zeros(number), ("cells",), attributes, chunks=(50,)),
        "ranges": Array(np.array([[0, number]]) * FINE, ("range", "end")),
    }
    store: Any = recording_store(build(Group(members)))
    found = quietly(xr.open_dataset, store, engine="xgroup", zarr_format=3, chunks={})
    assert not store.chunk_gets
    assert found["cell_ids"].chunks == found["a"].chunks == ((50, 50, 50, 42),)
    assert found["cell_ids"][150:].values.tolist() == [*range(150, number)]


@pytest.mark.parametrize("ranges", [[[3, 5]], [[4, 1], [0, 9]]])
def test_ranges_of_another_number_of_cells_are_no_ids(ranges: Any) -> None:
    packed = Array(np.array(ranges) * FINE, ("range", "end"))
    members = {"a": values(6, coordinate="ranges", compression="ranges"), "ranges": packed}
    found = opened(xr.open_dataset, store_of(members))
    with pytest.raises(ValueError, match="are not the 6 that"):
        found["cell_ids"].load()


def test_a_group_says_it_for_its_arrays() -> None:
    number = 12 * 4**LEVEL
    members = {
        "a": Array(np.zeros((2, number)), ("time", "cells")),
        "b": Array(np.zeros(2), ("time",)),
        "cell_ids": Array(np.arange(number), ("cells",)),
    }
    group = Group(members, declaring("dggs", dggs={**GRID, "coordinate": "cell_ids"}))
    found = opened(xr.open_dataset, store_of({"g": group}), group="g")
    assert ({*found.data_vars}, {*found["a"].coords}) == ({"a", "b"}, {"cell_ids"})
    assert found["cell_ids"].attrs == READ


@pytest.mark.parametrize(
    ("size", "grid", "text"),
    [
        (5, {}, "all 192 cells of level 2, but there are 5"),
        (5, {"name": "h3"}, "only known of HEALPix"),
        (5, {"refinement_level": 10**9}, "only known of HEALPix"),
        (5, {"refinement_level": "2"}, "an integer that is not negative"),
        (5, {"spatial_dimension": "nope"}, "is no dimension of the array (cells)"),
        (5, {"coordinate": "nope"}, "nope"),
        (5, {"coordinate": "few"}, "the cells need [5]"),
        (5, {"coordinate": "few", "compression": "ranges"}, "the cells need ['n', 2]"),
        (5, {"coordinate": "texts", "compression": "compacted"}, "the cells need ['n']"),
        *(
            (
                5,
                {"coordinate": "texts", "compression": "ranges", **grid},
                "is packed, which is only",
            )
            for grid in ({"indexing_scheme": "ring"}, {"refinement_level": None}, {"name": "h3"})
        ),
        (5, {"coordinate": 5}, "must be a string"),
        (
            5,
            {"coordinate": "texts", "compression": "ranges"},
            "names /texts, which has no integers",
        ),
        (
            5,
            {"coordinate": "floats", "compression": "ranges"},
            "names /floats, which has no integers",
        ),
        (192, {"indexing_scheme": "nuniq"}, "only known of HEALPix"),  # its ids do not begin with 0
    ],
)
def test_what_is_wrong_costs_the_ids(size: int, grid: Any, text: str) -> None:
    members = {
        "a": values(size, **grid),
        "few": Array(np.arange(2), ("few",)),
        "texts": Array(np.array([["0", "5"]]), ("range", "end")),
        "floats": Array(np.array([[0.0, 5.0]]), ("range", "end")),
    }
    found, told = opened_with_warnings(xr.open_dataset, store_of(members))
    assert "cell_ids" not in found.coords
    assert [text in str(it) for it in told] == [True], told


@pytest.mark.parametrize(
    ("grid", "read"),
    [
        ({"name": "h3", "refinement_level": 3}, {"grid_name": "h3", "level": 3}),
        # Cells of several levels.
        (
            {"name": "healpix", "refinement_level": None, "indexing_scheme": "zuniq"},
            {"grid_name": "healpix", "level": None, "indexing_scheme": "zuniq"},
        ),
        *(
            ({**GRID, "ellipsoid": written}, {**READ, "ellipsoid": ellipsoid})
            for written, ellipsoid in [
                ({"radius": 6371000}, {"radius": 6371000.0}),
                (
                    {"semi_major_axis": 6378137.0, "inverse_flattening": 298.25},
                    {"semimajor_axis": 6378137.0, "inverse_flattening": 298.25},
                ),
                (  # as it was spelt before summer 2026
                    {"name": "of old", "semimajor_axis": 6378137.0, "semiminor_axis": 6356752.0},
                    {"name": "of old", "semimajor_axis": 6378137.0, "semiminor_axis": 6356752.0},
                ),
                (
                    {"semi_major_axis": 6371000.0, "semi_minor_axis": 6371000.0},
                    {"radius": 6371000.0},
                ),
            ]
        ),
    ],
)
def test_grids_of_a_group_that_follow_the_convention(grid: Any, read: Any) -> None:
    written = {"spatial_dimension": "cells", "coordinate": "ids", "compression": "none", **grid}
    members = {
        "a": Array(np.zeros(3), ("cells",)),
        "ids": Array(np.array([5, 7, 8], "u8"), ("cells",)),
    }
    store = memory_store(build(Group(members, declaring("dggs", dggs=written))))
    found = opened(xr.open_dataset, store)
    assert (found["ids"].attrs, found["ids"].values.tolist()) == (read, [5, 7, 8])
    assert zarr_xgroup.check(store).is_clean


@pytest.mark.parametrize(
    ("grid", "lost", "text"),
    [
        ({"spatial_dimension": "cell"}, True, "'cell' is no dimension of an array of the group"),
        ({"coordinate": "cellids"}, False, "leads nowhere; the group's own 'cell_ids' was taken"),
        ({"coordinate": "few"}, True, "the cells need [6]"),
        ({"ellipsoid": {"radius": "6378137"}}, False, "must be a positive number"),
    ],
)
def test_what_a_group_names_and_is_not_there_is_told(grid: Any, lost: bool, text: str) -> None:
    members = {
        "a": Array(np.zeros(6), ("cells",)),
        "b": Array(np.zeros((2, 6)), ("time", "cells")),
        "few": Array(np.arange(2), ("few",)),
        "cell_ids": Array(CELLS, ("cells",)),
    }
    written = {**GRID, "coordinate": "cell_ids", **grid}
    store = memory_store(build(Group(members, declaring("dggs", dggs=written))))
    found, told = opened_with_warnings(xr.open_dataset, store)
    assert [text in str(warning) for warning in told] == [True], told
    assert ("cell_ids" in found["a"].coords) != lost
    assert text in str(zarr_xgroup.check(store))


def test_levels_say_which_cells_they_have() -> None:
    layout = [
        {"asset": str(level), "dggs": {**GRID, "refinement_level": level, "coordinate": "cell_ids"}}
        for level in (1, 2)
    ]
    groups = {
        str(level): Group(
            {
                "a": Array(np.zeros(size), ("cells",), chunks=(2,)),
                "cell_ids": Array(np.arange(size), ("cells",)),
            }
        )
        for level, size in ((1, 3), (2, 12))
    }
    attributes = declaring("multiscales", "dggs", multiscales={"layout": layout})
    store = memory_store(build(Group(groups, attributes)))
    found, told = opened_with_warnings(xr.open_datatree, store)
    assert (found["2/a"]["cell_ids"].attrs, told) == (READ, [])
    assert found["1/a"]["cell_ids"].attrs == {**READ, "level": 1}
    assert zarr_xgroup.check(store).is_clean
    assert str(zarr_xgroup.levels(store)).splitlines() == [
        "level  resolution          rows x columns  of a chunk  factor",
        "/2     refinement level 2  12              2           1",
        "/1     refinement level 1  3               2           2",
    ]


def xdggs() -> Any:
    with warnings.catch_warnings(action="ignore"):  # of what it imports
        return pytest.importorskip("xdggs")


ZUNIQ = (2 * CELLS + 1) * np.uint64(FINE)
H3 = np.array([0x83754EFFFFFFFFF, 0x831F1DFFFFFFFFF], "u8")
EXPLICIT = {"coordinate": "cell_ids"}


@pytest.mark.parametrize("way", [{}, {"convention": "zarr"}], ids=["any", "zarr"])
@pytest.mark.parametrize("ellipsoid", [None, GRID["ellipsoid"], WGS84], ids=["", "R", "WGS84"])
@pytest.mark.parametrize(
    ("grid", "ids", "options"),
    [
        (EXPLICIT, Array(CELLS, ("cells",)), {}),
        # xdggs takes each attribute for a parameter of the grid.
        (EXPLICIT, Array(CELLS, ("cells",), {"long_name": "cells"}), {}),
        (EXPLICIT, Array(CELLS, ("cells",), {"grid_name": "healpix", "nside": 4}), {}),
        ({**EXPLICIT, "indexing_scheme": "ring"}, Array(CELLS, ("cells",)), {}),
        ({**EXPLICIT, "indexing_scheme": "zuniq"}, Array(ZUNIQ, ("cells",)), {}),
        (
            {**EXPLICIT, "indexing_scheme": "zuniq", "refinement_level": None},
            Array(ZUNIQ, ("cells",)),
            {},
        ),
        (
            {**EXPLICIT, "name": "h3", "refinement_level": 3, "indexing_scheme": None},
            Array(H3, ("cells",)),
            {},
        ),
        *(({"indexing_scheme": it}, None, {}) for it in ("nested", "ring", "zuniq")),
        *(
            ({"coordinate": name, "compression": compression}, packed, {"index_kind": "moc"})
            for compression, packed in PACKED
            for name in ("cell_ids", "packed")
        ),
    ],
)
def test_xdggs_finds_cells_where_it_finds_them_by_engine_zarr(
    grid: Any, ids: Array | None, options: Any, ellipsoid: Any, way: Any
) -> None:
    decode = xdggs().decode
    written = {**GRID, **grid, "ellipsoid": ellipsoid}
    written = {key: value for key, value in written.items() if value is not None}
    written.setdefault("refinement_level", None)
    size = 12 * 4**LEVEL if ids is None else len(H3) if written["name"] == "h3" else len(CELLS)
    members = {"a": Array(np.zeros(size), ("cells",))}
    members |= {} if ids is None else {grid["coordinate"]: ids}
    store = memory_store(build(Group(members, declaring("dggs", dggs=written))))
    plain = quietly(xr.open_dataset, store, engine="zarr", consolidated=False)
    expected = decode(plain, convention="zarr", **options)
    found = opened(xr.open_dataset, store)
    for decoded in (
        decode(found, **way),
        decode(found, **way, **options),
        found.dggs.decode(**way),
        found.dggs.decode(**way, **options),
    ):
        assert decoded.dggs.coord.values.tolist() == expected.dggs.coord.values.tolist()
        for name, centres in decoded.dggs.cell_centers().coords.items():
            wanted = expected.dggs.cell_centers()[name]
            np.testing.assert_allclose(centres, wanted, rtol=0, atol=1e-9)


def test_another_principal_convention_says_the_rest() -> None:
    day = {"type": "inline", "values": [3, 4]}
    conventions = {**declaring("coords", "dggs")}
    attributes = {**conventions, "coords:coordinates": {"day": day}, "dggs": GRID}
    number = 12 * 4**LEVEL
    member = Array(np.zeros((2, number)), ("day", "cells"), attributes)
    found, told = opened_with_warnings(xr.open_dataset, store_of({"a": member}))
    assert ({*found["a"].coords}, told) == ({"day", "cell_ids"}, [])


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
@pytest.mark.parametrize("coordinate", [{}, {"coordinate": "/grids/ids"}])
def test_what_was_cut_and_written_again_has_its_own_ids(coordinate: Any) -> None:
    number = 12 * 4**LEVEL
    grids = Group({"ids": Array(np.arange(number), ("n",))})
    store = store_of({"a": values(number, **coordinate), "grids": grids})
    again = MemoryStore()
    quietly(opened(xr.open_dataset, store).isel(cells=[5, 7]).to_zarr, again, zarr_format=3)
    found, told = opened_with_warnings(xr.open_dataset, again)
    assert (found["cell_ids"].values.tolist(), told) == ([5, 7], [])
    assert found["cell_ids"].attrs == READ
    # Nor does the attribute say any more that these are all cells, or elsewhere.
    assert found["a"].attrs["dggs"]["coordinate"] == "cell_ids"
