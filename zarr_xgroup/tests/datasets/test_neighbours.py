"""Other arrays beside an array, and other values than were declared: an array never gets a wrong coordinate.

1. Arrays with dimensions of the same names and other sizes: everything attached is renamed with the dimensions.
2. Data that were changed, written and opened again: nothing of the old declaration comes back.
"""

from typing import Any

import numpy as np
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup.tests.builders import (
    Array,
    Nodes,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    stored,
)
from zarr_xgroup.tests.sample_stores import SAMPLES
from zarr_xgroup.tests.strategies import cs_of, thorough
from zarr_xgroup.tests.tables import check, rows


def _zeros(dims: str, *shape: int, **attributes: Any) -> Array:
    return Array(np.zeros(shape), tuple(dims.split()), attributes)


def _beside(arr: Array, **far: Array) -> Nodes:
    """Return an array `/d/arr` beside an array with a different `x`, and the arrays of `/l`, which it refers to."""
    nodes = {f"l/{name}": array for name, array in far.items()}
    return {"": {}, "l": {}, **nodes, "d": {}, "d/AA": _zeros("x", 4), "d/arr": arr}


def _axis(**item: Any) -> Any:
    return {"coordinates": [item]}


SQUARE = stored(np.arange(9.0).reshape(3, 3), "y x")
LINE = stored([1.0, 2.0, 3.0], "x")
RENAMED = """
    ! Dimension: /d/arr#/dimension_names: declares the dimensions ['x', 'y'] for shape [3, 3], \
but they have different sizes in other arrays of the group; renamed 'x' -> 'x_arr'
"""
ATTACHED = f"""
    c1d (x_arr) 1.0 2.0 3.0
    c2d (y x_arr) [[0.0 1.0 2.0] [3.0 4.0 5.0] [6.0 7.0 8.0]]
    AA (x)
    arr (x_arr y) @ c1d c2d
    {RENAMED}
"""
SIGMA = _axis(
    values={"explicit": [0.1, 0.2]},
    parametric={
        "formula": "atmosphere_sigma_coordinate",
        "terms": {"ps": {"external": {"node": "/l/ps"}}},
    },
)
CELLS = _axis(values={"explicit": [0.0, 10.0]}, boundaries={"external": {"node": "/coords/bnd"}})


def _grid(first: float, *more: str, **attributes: Any) -> Array:
    transform = [1, 0, first, 0, -1, 0]
    names = {"spatial:dimensions": ["y", "x"], "spatial:transform": transform}
    return _zeros("y x", 2, 3, **declaring("spatial", *more, **names, **attributes))


NEIGHBOURS = {
    "coordinates that CF attributes name": (
        _beside(
            _zeros("x y", 3, 3, **declaring("CF", coordinates="/l/c2d /l/c1d")), c2d=SQUARE, c1d=LINE
        ),
        ATTACHED,
    ),
    "arrays that ref names": (
        _beside(
            _zeros("x y", 3, 3, **declaring("ref", ref=[{"node": "/l/c2d"}, {"node": "/l/c1d"}])),
            c2d=SQUARE,
            c1d=LINE,
        ),
        ATTACHED,
    ),
    "a formula term": (
        {
            "": {}, "l": {}, "l/ps": stored([1.0, 2.0], "lat"), "d": {}, "d/AA": _zeros("lat", 3),
            "d/arr": _zeros("lev lat", 2, 2, **cs_of({"axes": {"lev": SIGMA}})),
        },
        """
        lev (lev) 0.1 0.2 | formula_terms=ps: ps standard_name=atmosphere_sigma_coordinate
        ps (lat_arr) 1.0 2.0
        AA (lat)
        arr (lev lat_arr) @ lev ps
        ! Dimension: /d/arr#/dimension_names: declares the dimensions ['lev', 'lat'] for shape [2, 2], \
but they have different sizes in other arrays of the group; renamed 'lat' -> 'lat_arr'
        """,
    ),
    "a linked coordinate of the array with the other grid": (
        {
            "": {}, "l": {}, "l/lon": stored(np.arange(6.0).reshape(2, 3), "y x"), "d": {},
            "d/AA": _grid(0), "d/arr": _grid(50, "CF", coordinates="/l/lon"),
        },
        """
        lon (y x_arr) [[0.0 1.0 2.0] [3.0 4.0 5.0]]
        x (x) 0.5 1.5 2.5 | axis=X
        x_arr (x_arr) 50.5 51.5 52.5 | axis=X
        y (y) -0.5 -1.5 | axis=Y
        AA (y x) @ x y
        arr (y x_arr) @ lon x_arr y
        ! Dimension: /d/arr: other arrays of the group have different coordinate values along its \
dimensions; renamed 'x' -> 'x_arr'
        """,
    ),
    "bounds of shape (2, 2)": (
        {
            "": {}, "coords": {}, "coords/bnd": stored([[-4.0, 4.0], [6.0, 14.0]], "y nv"),
            "d": {}, "d/a": _zeros("y", 3),
            "d/b": _zeros("y", 2, **cs_of({"axes": {"y": CELLS}})),
        },
        """
        y_b (y_b) 0.0 10.0 | bounds=y_b_bounds
        y_b_bounds (y_b bounds) [[-4.0 4.0] [6.0 14.0]]
        a (y)
        b (y_b) @ y_b
        ! Dimension: /d/b#/dimension_names: declares the dimensions ['y'] for shape [2], \
but they have different sizes in other arrays of the group; renamed 'y' -> 'y_b'
        """,
    ),
    "the dimension of a group above": (
        {
            "": {}, "y": stored([1.0, 2.0], "y"), "d": {}, "d/y": stored([1.0, 2.0, 3.0], "y"),
            "d/b": Array(
                np.zeros(2), ("/y",),
                cs_of({"axes": {"y": _axis(values={"explicit": [0.0, 10.0]})}}),
            ),
        },
        """
        root_y (root_y) 0.0 10.0
        y (y) 1.0 2.0 3.0
        b (root_y) @ root_y
        ! Dimension: /d: the dimension '/y' of its arrays (from group /) and its coordinate are \
named 'root_y', because the group itself has the name 'y'
        """,
    ),
}  # fmt: skip


@rows(NEIGHBOURS)
def test_everything_attached_is_renamed_with_the_dimension(nodes: Nodes, expected: str) -> None:
    check(nodes, expected, function=_open_d)


def _open_d(store: Any, **options: Any) -> xr.Dataset:
    return xr.open_dataset(store, group="d", **options)


def _positions(dataset: xr.Dataset, name: str) -> dict[tuple[int, ...], list[Any]]:
    """Return the values of the coordinates of an array, by the axes of the array along which they lie."""
    dims = dataset[name].dims
    result: dict[tuple[int, ...], list[Any]] = {}
    for coordinate in dataset[name].coords.values():
        axes = tuple(dims.index(dim) for dim in coordinate.dims)
        result.setdefault(axes, []).append(str(coordinate.values.tolist()))
    return {axes: sorted(values) for axes, values in result.items()}


@thorough(20)
@given(st.data())
def test_other_arrays_of_other_sizes_change_no_coordinates(data: st.DataObject) -> None:
    sample = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    alone = sample.open()
    dims = data.draw(
        st.lists(st.sampled_from(sorted(map(str, alone.dims))), min_size=1, unique=True)
    )
    sizes = [alone.sizes[dim] + data.draw(st.integers(1, 2)) for dim in dims]
    place = data.draw(st.sampled_from(["", "child"]))
    path = "/".join(filter(None, [sample.group, place, data.draw(st.sampled_from(["AA", "zz"]))]))
    more = build({path: Array(np.zeros(sizes), tuple(dims))})
    more = {key: value for key, value in more.items() if key.startswith(path)}
    store: Any = memory_store({**sample.contents(), **more})
    beside, _warnings = opened_with_warnings(xr.open_dataset, store, **sample.options)
    for name in alone.data_vars:
        assert _positions(beside, str(name)) == _positions(alone, str(name))


# Written again.

BANDS = [
    {"values": {"explicit": [443, 490, 560, 665]}},
    {"name": "band_name", "values": {"explicit": ["a", "b", "c", "d"]}},
]
LATITUDES = {"values": {"external": {"node": "/c/lat"}}, "boundaries": {"regular": [-2.5, 2.5]}}
REWRITTEN: dict[str, tuple[Nodes, Any]] = {
    "further sets of a cut axis": (
        {"": {}, "d": {}, "d/a": _zeros("band", 4, **cs_of({"axes": {"band": {"coordinates": BANDS}}}))},
        lambda dataset: dataset.isel(band=[0, 2]),
    ),
    "further sets of a sorted axis": (
        {"": {}, "d": {}, "d/a": _zeros("band", 4, **cs_of({"axes": {"band": {"coordinates": BANDS}}}))},
        lambda dataset: dataset.sortby("band", ascending=False).drop_vars("band_name"),
    ),
    "boundaries of an interpolated axis": (
        {
            "": {}, "c": {}, "c/lat": stored([0.0, 5.0, 10.0], "lat"), "d": {},
            "d/a": _zeros("lat", 3, **cs_of({"axes": {"lat": _axis(**LATITUDES)}})),
        },
        lambda dataset: dataset.drop_vars("lat_bounds").interp(lat=[0.0, 1.0, 2.0, 3.0]),
    ),
}  # fmt: skip


@rows(REWRITTEN, "nodes, change")
def test_the_old_declaration_does_not_come_back(nodes: Nodes, change: Any) -> None:
    store: Any = memory_store(build(nodes))
    written = change(opened(xr.open_dataset, store, group="d").load())
    again = MemoryStore()
    written.to_zarr(again, consolidated=False)
    reopened = opened(xr.open_dataset, again)
    assert reopened.coords.keys() == written.coords.keys()
    for name in written.coords:
        np.testing.assert_array_equal(reopened[name], written[name])


def test_explain_shows_the_sets_that_are_left_out() -> None:
    nodes, change = REWRITTEN["further sets of a sorted axis"]
    store: Any = memory_store(build(nodes))
    again = MemoryStore()
    change(opened(xr.open_dataset, store, group="d").load()).to_zarr(again, consolidated=False)
    text = str(zarr_xgroup.explain(again))
    assert "leaves out 'band_name', which 'a' declares for the same axis" in text


@thorough(20)
@given(st.data())
def test_coordinates_that_come_back_are_those_that_were_written(data: st.DataObject) -> None:
    sample = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    dataset = sample.open().load().drop_encoding()
    dim = data.draw(st.sampled_from(sorted(map(str, dataset.dims))))
    change = data.draw(st.sampled_from(["cut", "reversed", "every second"]))
    part = {
        "cut": slice(1, None),
        "reversed": slice(None, None, -1),
        "every second": slice(None, None, 2),
    }
    written = dataset.isel({dim: part[change]})
    again = MemoryStore()
    written.to_zarr(again, consolidated=False)
    reopened, _warnings = opened_with_warnings(xr.open_dataset, again, **sample.assuming)
    for name in reopened.coords:
        assert name in written.variables
        np.testing.assert_array_equal(reopened[name], written[name])
