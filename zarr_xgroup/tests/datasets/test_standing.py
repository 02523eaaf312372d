"""What the data carry themselves stands: a group's own coordinates, whatever metadata declare."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version
from zarr.storage import MemoryStore

from zarr_xgroup import XGroupNameWarning, XGroupResolutionWarning, XGroupWarning
from zarr_xgroup.datasets import budget
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    contents_of,
    declaring,
    memory_store,
    opened_with_warnings,
    oracle,
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


def test_the_same_values_are_one_coordinate() -> None:
    lat = Array(np.array([44.5, 43.5], "float32"), ("lat",))
    time = Array([57.0, 58.0, 59.0], ("time",))
    dataset, told = opened(store_of(lat=lat, time=time))
    assert told == []
    assert set(dataset.coords) == {"time", "lat", "lat_bounds"}
    assert dataset["lat"].dtype == "float32"
    # What is declared adds where absent.
    assert dataset["lat"].attrs["units"] == "degrees_north"
    assert dataset["lat"].attrs["bounds"] == "lat_bounds"
    assert dataset["time"].dt.month.values.tolist() == [2, 2, 3]
    np.testing.assert_array_equal(dataset["lat_bounds"], [[44.0, 45.0], [43.0, 44.0]])


def test_other_values_are_told() -> None:
    lat = Array([10.0, 20.0], ("lat",), {"units": "degrees_north"})
    dataset, told = opened(store_of(lat=lat))
    assert dataset["lat"].values.tolist() == [10.0, 20.0]
    (warning,) = told
    assert type(warning) is XGroupResolutionWarning
    assert str(warning) == (
        "Array /g/sst: its metadata declare other values of dimension 'lat' than /g/lat has; the "
        "latter were used"
    )
    # Boundaries that were declared for other values are not those of these.
    assert "lat_bounds" not in dataset
    assert "bounds" not in dataset["lat"].attrs


def test_another_array_with_other_values_is_attached_under_another_name() -> None:
    units = {"units": "days since 2028-01-01", "calendar": "noleap"}
    dataset, told = opened(store_of(time=Array([1.0, 2.0, 3.0], ("time",), units)))
    assert [type(warning) for warning in told] == [XGroupNameWarning]
    assert dataset["time"].dt.day.values.tolist() == [2, 3, 4]
    assert dataset["axes_time"].dims == ("time",)
    assert dataset["axes_time"].dt.month.values.tolist() == [2, 2, 3]


def test_own_boundaries_stand() -> None:
    lat = Array([44.5, 43.5], ("lat",), {"bounds": "edges"})
    edges = Array([[44.4, 44.6], [43.4, 43.6]], ("lat", "side"))
    dataset, told = opened(store_of(lat=lat, edges=edges))
    assert told == []
    assert "lat_bounds" not in dataset
    assert dataset["lat"].attrs["bounds"] == "edges"


def test_values_are_compared_in_the_same_round_and_only_if_they_are_read() -> None:
    root = {"sst": Array(VALUES, ("time", "lat"), FIELD), "time": Array([1.0, 2.0, 3.0], ("time",))}
    axes = Group({"time": Array([57.0, 58.0, 59.0], ("time",))})
    store = recording_store(build(Group({"axes": axes, "g": Group(root)})))
    opened(store)
    assert sorted(store.chunk_gets) == ["axes/time/c/0", "g/time/c/0"]
    if not HAS_INDEX_OPTION:
        pytest.skip("this xarray always builds indexes of dimension coordinates")
    store.gets.clear()
    dataset, told = opened(store, create_default_indexes=False, decode_times=False)
    assert not store.chunk_gets
    assert "axes_time" in dataset.coords
    assert [type(warning) for warning in told] == [XGroupNameWarning]


@pytest.mark.parametrize(
    ("units", "values", "is_same"),
    [
        ("days since 2028-01-01", [57.0, 58.0, 59.0], True),
        ("hours since 2028-02-27", [0.0, 24.0, 48.0], True),
        ("days since 2028-01-01", [1.0, 2.0, 3.0], False),
    ],
)
def test_inline_times_are_compared_as_times(units: str, values: list[float], is_same: bool) -> None:
    times = {**TIMES, "values": {"regular": [57.0, 1.0]}}
    cs = {"crs": [{"axes": {"time": {"coordinates": [times]}}}]}
    field = Array([1.0, 2.0, 3.0], ("time",), declaring("cs", cs=cs))
    time = Array(values, ("time",), {"units": units, "calendar": "noleap"})
    dataset, told = opened(memory_store(build(Group({"g": Group({"v": field, "time": time})}))))
    assert len(told) == (not is_same)
    assert set(dataset.coords) == {"time"}


def test_a_declared_array_that_cannot_be_read_is_told_of_once() -> None:
    field = Array(VALUES, ("time", "lat"), FIELD)
    axes = Group({"time": Array([57.0, 58.0, 59.0], ("time",))})
    own = {"time": Array([1.0, 2.0, 3.0], ("time",)), "sst": field}
    contents = dict(build(Group({"axes": axes, "g": Group(own)})))
    (chunk,) = (key for key in contents if key.startswith("axes/time/c"))
    contents[chunk] = b"broken"
    dataset, told = opened(memory_store(contents))
    (warning,) = told
    assert str(warning).endswith("Array /g/sst was opened without coordinate 'axes_time'")
    assert "/axes/time cannot be read" in str(warning)
    assert set(dataset.coords) == {"time", "lat", "lat_bounds"}


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


@pytest.mark.parametrize(
    ("registration", "x", "y", "others"),
    [
        ("pixel", CENTRES["x"], CENTRES["y"], ""),
        ("node", NODES["x"], NODES["y"], ""),
        ("node", CENTRES["x"], NODES["y"], "/g/x"),
        ("pixel", NODES["x"], NODES["y"], "/g/x, /g/y"),
        ("pixel", CENTRES["x"], CENTRES["y"][::-1], "/g/y"),
        # Less than a tenth of a cell off: rounded, or stored in few digits.
        ("pixel", [500_005.4, 500_015.0, 500_024.6], CENTRES["y"], ""),
        ("pixel", np.array(CENTRES["x"], "float32"), CENTRES["y"], ""),
        ("pixel", [500_006.1, 500_016.1, 500_026.1], CENTRES["y"], "/g/x"),
        # One cell, of which only the transform knows the size.
        ("pixel", [500_005.4], CENTRES["y"], ""),
        ("pixel", [500_006.1], CENTRES["y"], "/g/x"),
        ("pixel", [0, 1, 2], CENTRES["y"], "/g/x"),
        ("pixel", [np.nan, 500_015.0, 500_025.0], CENTRES["y"], "/g/x"),
        ("pixel", ["a", "b", "c"], CENTRES["y"], "/g/x"),
    ],
)
def test_a_transform_is_compared_with_the_arrays_that_stand(
    registration: str, x: Any, y: Any, others: str
) -> None:
    dataset, told = opened(memory_store(imagery(x, y, registration=registration)))
    np.testing.assert_array_equal(dataset["x"].values, np.asarray(x))
    np.testing.assert_array_equal(dataset["y"].values, np.asarray(y))
    assert set(dataset.coords) == {"x", "y", "spatial_ref"}
    text = (
        f"Array /g/a: /g#/attributes/spatial:transform: gives other coordinates than {others}, "
        "which were used: correct it, or remove it if they are right"
    )
    assert [str(warning) for warning in told] == ([text] if others else [])


@pytest.mark.parametrize(
    "store",
    [
        imagery([500.005, 500.015, 500.025], units="km"),
        imagery(CENTRES["x"], units="meters"),
        imagery([1.0, 2.0, 3.0], transform=[10.0, 1.0, 0.0, 1.0, -10.0, 0.0]),
        imagery([1.0, 2.0, 3.0], transform="nonsense"),
        imagery([1.0, 2.0, 3.0], transform=None),
        imagery([1.0, 2.0, 3.0], registration="corner"),
        imagery([1.0, 2.0, 3.0], transform=None, bbox=[0.0, 0.0, 1.0, 1.0]),
    ],
    ids=["kilometres", "metres", "rotated", "nonsense", "none", "registration", "bbox"],
)
def test_what_cannot_be_compared_is_not(store: dict[str, bytes]) -> None:
    _dataset, told = opened(memory_store(store))
    assert told == []


@pytest.mark.parametrize(("size", "start"), [(1e307, 1.79e308), (1e-320, 0.0)])
def test_what_is_beyond_all_numbers_is_another_value(size: float, start: float) -> None:
    transform = [size, 0.0, start, 0.0, -10.0, 5_000_000.0]
    _dataset, told = opened(memory_store(imagery([np.inf, np.inf, -np.inf], transform=transform)))
    assert ["gives other coordinates than /g/x" in str(warning) for warning in told] == [True]


def test_nothing_is_read_to_compare_a_transform() -> None:
    store = recording_store(imagery([1.0, 2.0, 3.0]))
    _dataset, told = opened(store)
    assert len(told) == 1
    assert sorted(store.chunk_gets) == ["g/x/c/0", "g/y/c/0"]
    if not HAS_INDEX_OPTION:
        pytest.skip("this xarray always builds indexes of dimension coordinates")
    store.gets.clear()
    _dataset, told = opened(store, create_default_indexes=False)
    assert not told
    assert not store.chunk_gets


def test_transforms_of_several_groups_that_are_alike_are_told_once() -> None:
    contents = imagery([1.0, 2.0, 3.0])
    contents |= {key.replace("g/", "h/", 1): it for key, it in contents.items()}
    _tree, told = opened_with_warnings(xr.open_groups, memory_store(contents))
    (text,) = map(str, told)
    assert text.startswith("Arrays /g/a, /h/a: /g#/attributes/spatial:transform and 1 more: gives")


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


@needs_writing
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("of_set", REGULAR, ids=str)
@pytest.mark.parametrize("cut", [slice(2, 5), slice(1, None), slice(None, None, 2)], ids=str)
def test_boundaries_of_other_values_stand_alone(
    zarr_format: ZarrFormat, of_set: dict[str, Any], cut: slice
) -> None:
    store = written_again(cut, zarr_format, **of_set)
    theirs = oracle(xr.open_dataset, store, consolidated=False)
    for function in (xr.open_dataset, xr.open_datatree):
        found, (told,) = opened_with_warnings(function, store)
        assert set(found.coords) == {"u_bounds"}
        np.testing.assert_array_equal(found["u_bounds"].values, theirs["u_bounds"].values)
        assert str(told) == (
            "Array /a: its metadata declare values of dimension 'u' to which the boundaries /u_bounds "
            "do not belong; the boundaries were used, and no values"
        )


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
    assert len(told) == 1
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
def test_boundaries_are_read_only_to_be_compared() -> None:
    contents = contents_of(written_again(slice(2, 5), 3, **REGULAR[0]))
    store = recording_store(contents)
    opened_with_warnings(xr.open_dataset, store)
    assert [*store.chunk_gets] == ["u_bounds/c/0/0"]
    # What cannot be read is not compared, and costs nothing else.
    broken = memory_store(contents | {"u_bounds/c/0/0": b"broken"})
    dataset, told = opened_with_warnings(xr.open_dataset, broken)
    assert (set(dataset.coords), told) == ({"u", "u_bounds"}, [])
    if HAS_INDEX_OPTION:
        store.gets.clear()
        opened_with_warnings(xr.open_dataset, store, create_default_indexes=False)
        assert not store.chunk_gets


def test_boundaries_that_are_too_long_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_VALUES", 11)
    edges = Array(np.zeros((6, 2)), ("u", "bounds"), chunks=(1, 1))
    values = {"values": {"regular": [100.0, 10.0]}, "boundaries": {"regular": [-5.0, 5.0]}}
    declared = declaring("cs", cs={"crs": [{"axes": {"u": {"coordinates": [values]}}}]})
    root = Group({"a": Array(np.arange(6.0), ("u",), declared), "u_bounds": edges})
    store = recording_store(build(root))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert told == []
    assert "u" in dataset.indexes
    assert not store.chunk_gets
