"""What the data carry themselves stands: a group's own coordinates, whatever metadata declare."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup import XGroupWarning
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    contents_of,
    declaring,
    memory_store,
    opened_with_warnings,
    recording_store,
)

#: xarray writes by zarr 3 since that version.
needs_writing = pytest.mark.skipif(
    Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr"
)

LATITUDES = {
    "unit": "degrees_north",
    "values": {"regular": [44.5, -1.0]},
    "boundaries": {"regular": [-0.5, 0.5]},
}
TIMES = {
    "time": {"unit": "days", "epoch": "2028-01-01", "calendar": "noleap"},
    "values": {"external": {"node": "../axes/time"}},
}
FIELD = declaring(
    "cs",
    cs={
        "crs": [
            {
                "axes": {
                    "time": {"abbreviation": "T", "coordinates": [TIMES]},
                    "lat": {"abbreviation": "Y", "coordinates": [LATITUDES]},
                }
            }
        ]
    },
)
VALUES = np.arange(6.0).reshape(3, 2)


def store_of(**own: Array) -> Any:
    """Return a store whose field declares its coordinates, beside arrays of its own group."""
    field = Array(VALUES, ("time", "lat"), FIELD)
    axes = Group({"time": Array([57.0, 58.0, 59.0], ("time",))})
    return memory_store(build(Group({"axes": axes, "g": Group({"sst": field, **own})})))


def opened(store: Any, **options: Any) -> tuple[xr.Dataset, list[XGroupWarning]]:
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g", **options)
    return dataset, told


def text_of(store: Any, name: str) -> str:
    """Return what an explanation says of a coordinate of the group."""
    (group,) = zarr_xgroup.explain(store, group="g").groups
    return next(it.text for it in group.coordinates if it.name == name)


def test_the_group_own_coordinates_stand_whatever_is_declared() -> None:
    units = {"units": "days since 2028-01-01", "calendar": "noleap"}
    lat = Array(np.array([10.0, 20.0], "float32"), ("lat",))
    store = store_of(lat=lat, time=Array([1.0, 2.0, 3.0], ("time",), units))
    dataset, told = opened(store)
    assert told == []
    # Boundaries that are numbers are those of the declared values.
    assert set(dataset.coords) == {"time", "lat"}
    assert dataset["lat"].values.tolist() == [10.0, 20.0]
    assert dataset["lat"].dtype == "float32"
    assert dataset["time"].dt.day.values.tolist() == [2, 3, 4]
    # What is declared adds where absent.
    assert dataset["lat"].attrs["units"] == "degrees_north"
    assert text_of(store, "lat") == ("stands against what /g/sst declares: regular: 44.5 - 1.0 * i")
    assert text_of(store, "time") == "stands against what /g/sst declares: /axes/time"


def test_units_that_are_declared_count_where_absent() -> None:
    dataset, told = opened(store_of(time=Array([57.0, 58.0, 59.0], ("time",))))
    assert told == []
    assert dataset["time"].dt.month.values.tolist() == [2, 2, 3]


@pytest.mark.parametrize("own", ["lat", "geo_lat"])
@pytest.mark.parametrize(
    ("dims", "shape", "stands"),
    [("yx", (2, 3), True), ("xy", (3, 2), True), ("yn", (2, 3), False), ("y", (2,), False)],
)
def test_other_coordinates_stand_along_the_same_dimensions(
    own: str, dims: str, shape: tuple[int, ...], stands: bool
) -> None:
    lat = Array(np.ones((2, 3)), ("y", "x"))
    members = {"a": Array(np.ones((2, 3)), ("y", "x"), declaring("ref", r={"node": "/geo/lat"}))}
    if own != "lat":  # then it could not be called so
        members["lat"] = Array([1.0], ("z",))
    members[own] = Array(np.zeros(shape), tuple(dims))
    store = memory_store(build(Group({"geo": Group({"lat": lat}), "g": Group(members)})))
    dataset, told = opened(store)
    assert (own in dataset["a"].coords) is stands
    assert (told == []) is stands
    if stands:
        assert not dataset[own].values.any()


@pytest.mark.parametrize("in_v2", [True, False])
def test_numbers_of_scalars_stand(in_v2: bool) -> None:
    height = {"height": {"coordinates": [{"values": {"explicit": [2.0]}, "unit": "m"}]}}
    field = Array([1.0], ("t",), declaring("cs", cs={"crs": [{"axes": height}]}))
    group = Group({"g": Group({"a": field, "height": Array(10.0, ())})})
    dataset, told = opened(memory_store(build(group, 2 if in_v2 else 3)))
    assert told == []
    assert float(dataset["a"].height) == 10.0
    assert dataset["height"].attrs["units"] == "m"


def test_boundaries_that_are_an_array_are_added() -> None:
    values = {"values": {"regular": [0, 1]}, "boundaries": {"external": {"node": "edges"}}}
    declared = declaring("cs", cs={"crs": [{"axes": {"u": {"coordinates": [values]}}}]})
    members = {
        "a": Array(np.ones(3), ("u",), declared),
        "u": Array([7.0, 8.0, 9.0], ("u",)),
        "edges": Array(np.ones((3, 2)), ("u", "bnds")),
    }
    dataset, told = opened(memory_store(build(Group({"g": Group(members)}))))
    assert told == []
    assert dataset["u"].attrs["bounds"] == "edges"
    assert dataset["edges"].dims == ("u", "bnds")
    assert set(dataset.coords) == {"u", "edges"}


def test_own_boundaries_stand() -> None:
    lat = Array([44.5, 43.5], ("lat",), {"bounds": "edges"})
    edges = Array([[44.4, 44.6], [43.4, 43.6]], ("lat", "side"))
    dataset, told = opened(store_of(lat=lat, edges=edges))
    assert told == []
    assert "lat_bounds" not in dataset
    assert dataset["lat"].attrs["bounds"] == "edges"


def test_nothing_is_read_of_what_does_not_count() -> None:
    root = {"sst": Array(VALUES, ("time", "lat"), FIELD), "time": Array([1.0, 2.0, 3.0], ("time",))}
    axes = Group({"time": Array([57.0, 58.0, 59.0], ("time",))})
    store = recording_store(build(Group({"axes": axes, "g": Group(root)})))
    opened(store)
    assert sorted(store.chunk_gets) == ["g/time/c/0"]


# A transform of `spatial` beside real arrays.

#: Cells of 10 m from a corner; their centres, and the nodes of such a grid.
TRANSFORM = [10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0]
CENTRES = {"x": [500_005.0, 500_015.0, 500_025.0], "y": [4_999_995.0, 4_999_985.0]}
NODES = {"x": [500_000.0, 500_010.0, 500_020.0], "y": [5_000_000.0, 4_999_990.0]}


def imagery(
    x: Any, y: Any = CENTRES["y"], units: str | None = None, **spatial: Any
) -> dict[str, bytes]:
    """Return the contents of a store with two images beside real coordinates."""
    attributes = {
        "zarr_conventions": [{"name": "spatial"}, {"name": "proj"}],
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": TRANSFORM,
        "proj:code": "EPSG:32632",
        **{f"spatial:{key}": value for key, value in spatial.items()},
    }
    size = len(x)
    image = Array(np.zeros((len(y), size)), ("y", "x"))
    own = {
        "x": Array(x, ("x",), {} if units is None else {"units": units}),
        "y": Array(y, ("y",)),
    }
    return dict(build(Group({"g": Group({"a": image, "b": image, **own}, attributes)})))


@pytest.mark.parametrize("x", [CENTRES["x"], NODES["x"], [0, 1, 2], ["a", "b", "c"]], ids=str)
@pytest.mark.parametrize("transform", [TRANSFORM, [10.0, 1.0, 0.0, 1.0, -10.0, 0.0], "nonsense"])
def test_arrays_stand_beside_a_transform(x: list[Any], transform: Any) -> None:
    store = memory_store(imagery(x, transform=transform))
    dataset, told = opened(store)
    assert told == []
    assert dataset["x"].values.tolist() == x
    assert set(dataset.coords) == {"x", "y", "spatial_ref"}
    assert dataset["x"].attrs["axis"] == "X"
    against = "affine transform: 500000.0 + 10.0 * (i + 0.5)"
    assert (against in text_of(store, "x")) is (transform is TRANSFORM)


# Boundaries that were written again without what they bound.


def written_again(cut: slice, zarr_format: ZarrFormat, **of_set: Any) -> MemoryStore:
    """Return a store of what was opened with declared coordinates, cut, and written without them."""
    axes = {"u": {"coordinates": [{"boundaries": {"regular": [-5.0, 5.0]}, **of_set}]}}
    declared = declaring("cs", cs={"crs": [{"axes": axes}]})
    store = memory_store(build(Group({"a": Array(np.arange(6.0), ("u",), declared)}), zarr_format))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert told == []
    again = MemoryStore()
    kept = dataset.load().isel(u=cut).drop_vars("u")
    kept.to_zarr(again, consolidated=False, zarr_format=zarr_format)
    return again


DAYS = {"unit": "days", "epoch": "2000-01-01"}
REGULAR: list[dict[str, Any]] = [
    {"values": {"regular": [100.0, 10.0]}},
    {"values": {"regular": [0, 10]}, "time": DAYS},
    {"values": {"regular": [0, 10]}, "time": {**DAYS, "calendar": "noleap"}},
]


@pytest.mark.parametrize("own", [{}, {"bounds": "u_bounds"}], ids=str)
def test_other_values_than_declared_are_not_tied_to_the_boundaries_of_these(
    own: dict[str, str],
) -> None:
    values = {"values": {"regular": [0, 1]}, "boundaries": {"regular": [-0.5, 0.5]}}
    declared = {"crs": [{"axes": {"u": {"coordinates": [values]}}}]}
    group = Group(
        {
            "a": Array(np.ones(3), ("u",), declaring("cs", cs=declared)),
            "u": Array([7.0, 8.0, 9.0], ("u",), own),
            "u_bounds": Array([[-0.5, 0.5], [0.5, 1.5], [1.5, 2.5]], ("u", "bounds")),
        }
    )
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(group)))
    assert told == []
    assert dataset["u"].values.tolist() == [7, 8, 9]
    assert dataset["u"].attrs == own  # what it says itself stands


@needs_writing
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    "of_set", [*REGULAR, {"values": {"explicit": [1, 2, 3, 5, 7, 8]}}], ids=str
)
def test_boundaries_of_the_values_that_are_declared_stay_theirs(
    zarr_format: ZarrFormat, of_set: dict[str, Any]
) -> None:
    store = written_again(slice(None), zarr_format, **of_set)
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert told == []
    assert dataset["u"].sizes == {"u": 6}
    assert "u" in dataset.indexes
    assert "u_bounds" in dataset.coords


@needs_writing
@pytest.mark.parametrize("side", ["bounds", "bnds"])
def test_own_boundaries_serve_whatever_their_side_is_called(side: str) -> None:
    store = written_again(slice(None), 3, **REGULAR[0])
    contents = contents_of(store)
    contents["u_bounds/zarr.json"] = contents["u_bounds/zarr.json"].replace(
        b'"bounds"', f'"{side}"'.encode()
    )
    recording = recording_store(contents)
    dataset, told = opened_with_warnings(xr.open_dataset, recording)
    assert told == []
    assert dataset["u"].attrs["bounds"] == "u_bounds"
    assert dataset["u_bounds"].dims == ("u", side)
    assert not recording.chunk_gets
