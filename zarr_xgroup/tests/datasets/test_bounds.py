"""What an open costs at most: steps, requests and memory that follow from the metadata's size."""

import json
import tracemalloc
from collections import Counter
from collections.abc import Mapping

import pytest
import xarray as xr
from zarr.storage import MemoryStore

from zarr_xgroup import (
    XGroupDimensionWarning,
    XGroupNameWarning,
    XGroupReferenceError,
    XGroupResolutionWarning,
)
from zarr_xgroup.datasets import build
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Json,
    RecordingStore,
    declaring,
    memory_store,
    opened_with_warnings,
)
from zarr_xgroup.tests.documents import array, group
from zarr_xgroup.variables import factory


def consolidated(documents: Mapping[str, Json]) -> MemoryStore:
    """Return a store that is nothing but consolidated metadata, the root's at ""."""
    nodes = {path: document for path, document in documents.items() if path}
    inline = {"kind": "inline", "must_understand": False, "metadata": nodes}
    root = {**documents[""], "consolidated_metadata": inline}
    return memory_store({"zarr.json": json.dumps(root).encode()})


def along(**sets: list[Json]) -> Json:
    """Return attributes that declare ``cs`` with sets of coordinates by axis."""
    axes = {name: {"coordinates": coordinates} for name, coordinates in sets.items()}
    return declaring("cs", cs={"crs": [{"axes": axes}]})


# Groups in groups.


@pytest.mark.parametrize("depth", [50, 101])
def test_groups_that_only_a_key_shows(depth: int) -> None:
    path = "/".join(["a"] * depth)
    documents = {"": group(), path: group(), f"{path}/v": array([2], ["x"])}
    groups, told = opened_with_warnings(xr.open_groups, consolidated(documents))
    assert set(groups) == {"/", *("/" + "/".join(["a"] * n) for n in range(1, depth + 1))}
    assert "v" in groups[f"/{path}"]
    assert not told


@pytest.mark.parametrize("depth", [102, 20_000])
def test_a_key_in_groups_that_only_it_shows_is_left_out(depth: int) -> None:
    path = "/".join(["a"] * depth)
    documents = {"": group(), "b": group(), path: group(), f"{path}/v": array([2], ["x"])}
    tracemalloc.start()
    groups, told = opened_with_warnings(xr.open_groups, consolidated(documents))
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert set(groups) == {"/", "/b"}
    (warning,) = told
    assert "has 2 keys that cannot be paths of nodes" in str(warning)
    assert len(str(warning)) < 600
    assert peak < 10**7


# Warnings.


def broken(count: int) -> dict[str, Json]:
    """Return documents of arrays each of which refers to another array that is not there."""
    arrays = {f"v{n:05}": array([2], ["x"], along(x=external(f"/no/x{n}"))) for n in range(count)}
    return {"": group(), **arrays}


@pytest.mark.parametrize("count", [200, 201, 300])
def test_what_is_too_much_to_tell_is_counted(count: int) -> None:
    _dataset, told = opened_with_warnings(xr.open_dataset, consolidated(broken(count)))
    assert len(told) == 200
    assert {type(warning) for warning in told} == {XGroupResolutionWarning}
    assert sorted(path for warning in told for path in warning.paths) == [
        f"/v{n:05}" for n in range(count)
    ]
    if count > 200:
        assert str(told[-1]).startswith("/v00")
        assert str(told[-1]).endswith(f" (and {count - 200} more of this kind)")
        assert "'/no/x199' leads nowhere" in str(told[-1])
    assert isinstance(told[-1].error, XGroupReferenceError)


def test_warnings_of_other_kinds_are_counted_apart() -> None:
    documents = broken(250)
    for n in range(240):
        documents[f"w{n:03}"] = array([3 + n], None)
    _dataset, told = opened_with_warnings(xr.open_dataset, consolidated(documents))
    kinds = Counter(type(warning) for warning in told)
    assert kinds == {XGroupResolutionWarning: 200, XGroupDimensionWarning: 1}
    paths = {path for warning in told for path in warning.paths}
    assert paths == {f"/{name}" for name in documents if name}


# Indexes.


def external(path: str) -> list[Json]:
    """Return the coordinates of an axis that are an array elsewhere."""
    return [{"values": {"external": {"node": path}}}]


def long_array(length: int, chunk: int, dim: str = "x") -> Json:
    document = array([length], [dim])
    document["chunk_grid"]["configuration"]["chunk_shape"] = [chunk]
    return document


def referring(length: int, chunk: int) -> dict[str, Json]:
    """Return documents of an array in `data` whose coordinate is a long array in `axes`."""
    return {
        "": group(),
        "axes": group(),
        "axes/x": long_array(length, chunk),
        "data": group(),
        "data/v": array([length], ["x"], along(x=external("/axes/x"))),
    }


def unindexed(name: str, length: int, other: str, path: str) -> str:
    return (
        f"{path}: its coordinate {name!r} of length {length} is called {other!r} and has no "
        "index, because the open would have to read too much for one"
    )


@pytest.mark.parametrize(
    ("length", "chunk"),
    [(2 * 10**9, 1), (10**15, 10**15), (2**25, 2**20), (10, 10**12)],
)
def test_a_coordinate_elsewhere_that_is_too_long_stays_lazy(length: int, chunk: int) -> None:
    store = RecordingStore(consolidated(referring(length, chunk)))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="data")
    assert dict(dataset.sizes) == {"x": length}
    assert set(dataset.coords) == {"axes_x"}
    assert not dataset.xindexes
    assert not store.chunk_gets
    assert [str(warning) for warning in told] == [unindexed("x", length, "axes_x", "/data/v")]
    assert [type(warning) for warning in told] == [XGroupNameWarning]
    assert dataset["axes_x"].dims == ("x",)
    assert dataset["axes_x"][5:7].values.tolist() == [0.0, 0.0]
    assert store.chunk_gets.total() <= 2


@pytest.mark.parametrize(("length", "chunk"), [(5_000, 1), (2**20, 2**10), (10, 2**24)])
def test_a_coordinate_elsewhere_of_common_length_is_indexed(length: int, chunk: int) -> None:
    dataset, told = opened_with_warnings(
        xr.open_dataset, consolidated(referring(length, chunk)), group="data"
    )
    assert set(dataset.xindexes) == {"x"}
    assert not told


@pytest.mark.parametrize("length", [10**10, 10**15])
@pytest.mark.parametrize("coordinates", [[{"values": {"regular": [0.5, 2.0]}}], []])
def test_a_computed_coordinate_that_is_too_long_stays_lazy(
    length: int, coordinates: list[Json]
) -> None:
    documents = {"": group(), "v": array([length], ["x"], along(x=coordinates))}
    dataset, told = opened_with_warnings(xr.open_dataset, consolidated(documents))
    assert [str(warning) for warning in told] == [unindexed("x", length, "x_1", "/v")]
    assert not dataset.xindexes
    expected: list[float] = [length - 2, length - 1]
    if coordinates:
        expected = [0.5 + 2.0 * position for position in expected]
    assert dataset["x_1"][-2:].values.tolist() == expected


def test_a_grid_that_is_too_wide_stays_lazy() -> None:
    shape = [10**12, 10**11]
    attributes = {
        "zarr_conventions": [{"name": "spatial:"}],
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": [2.0, 0.0, 0.0, 0.0, -2.0, 0.0],
    }
    documents = {"": group(), "v": array(shape, ["y", "x"], attributes)}
    tree, told = opened_with_warnings(xr.open_datatree, consolidated(documents))
    assert set(tree.coords) == {"y_1", "x_1"}
    assert [str(warning) for warning in told] == [
        unindexed("y", shape[0], "y_1", "/v"),
        unindexed("x", shape[1], "x_1", "/v"),
    ]
    assert tree["x_1"][:2].values.tolist() == [1.0, 3.0]


def test_a_coordinate_is_not_read_where_the_own_one_stands() -> None:
    store = RecordingStore(consolidated({**referring(20, 1), "data/x": long_array(20, 20)}))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="data")
    assert (set(dataset.coords), told) == ({"x"}, [])
    assert set(store.chunk_gets) == {"data/x/c/0"}


@pytest.mark.skipif(not HAS_INDEX_OPTION, reason="this xarray always builds indexes")
def test_without_indexes_a_long_coordinate_keeps_its_name() -> None:
    store = RecordingStore(consolidated(referring(2 * 10**9, 1)))
    dataset, told = opened_with_warnings(
        xr.open_dataset, store, group="data", create_default_indexes=False
    )
    assert set(dataset.coords) == {"x"}
    assert not told
    assert not store.chunk_gets


def test_the_groups_own_coordinates_are_read_as_by_any_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(factory, "MOST_VALUES", 0)
    documents = {"": group(), "x": long_array(20, 1), "v": array([20], ["x"])}
    dataset, told = opened_with_warnings(xr.open_dataset, consolidated(documents))
    assert set(dataset.xindexes) == {"x"}
    assert not told


TIME = {"units": "days since 2000-01-01"}


def undecoded(subject: str, node: str) -> str:
    return (
        f"{subject}: opened with its times undecoded: {node} was not read, its chunks are "
        "too long to be read for one value"
    )


@pytest.mark.parametrize("shape", [[10**10], [3]])
def test_times_in_a_chunk_that_is_too_long_are_left_undecoded(shape: list[int]) -> None:
    times = array(shape, ["n"], TIME)
    times["chunk_grid"]["configuration"]["chunk_shape"] = [10**10]
    store = RecordingStore(consolidated({"": group(), "t": times}))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["t"].attrs == TIME
    assert [str(warning) for warning in told] == [undecoded("/t", "/t")]
    assert not store.chunk_gets


def test_times_elsewhere_in_long_chunks_are_left_undecoded() -> None:
    documents: dict[str, Json] = {"": group(), "axes": group()}
    for length in (2**25, 2**20):
        documents[f"axes/t{length}"] = array([length], ["n"], TIME)
        dim = f"x{length}"
        documents[f"v{length}"] = array(
            [length], [dim], along(**{dim: external(f"/axes/t{length}")})
        )
    store = RecordingStore(consolidated(documents))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert {len(it): it.dtype.kind for it in dataset.coords.values()} == {2**20: "M", 2**25: "f"}
    assert [str(warning) for warning in told] == [
        unindexed(f"x{2**25}", 2**25, f"axes_x{2**25}", f"/v{2**25}"),
        (
            f"/v{2**25} was opened without the decoded times of 'axes_x{2**25}': "
            f"/axes/t{2**25} was not read, its chunks are too long to be read for one value"
        ),
    ]
    assert set(store.chunk_gets) == {f"axes/t{2**20}/c/0"}


@pytest.mark.skipif(not HAS_INDEX_OPTION, reason="this xarray always builds indexes")
def test_times_and_their_boundaries_without_indexes() -> None:
    times = array([2**31], ["time"], {**TIME, "bounds": "b"})
    documents = {"": group(), "time": times, "b": array([2**31, 2], ["time", "two"])}
    store = RecordingStore(consolidated(documents))
    dataset, told = opened_with_warnings(xr.open_dataset, store, create_default_indexes=False)
    assert {name: it.dtype.kind for name, it in dataset.variables.items()} == {
        "time": "f",
        "b": "f",
    }
    assert [str(warning) for warning in told] == [
        undecoded("/b", "/b"),
        undecoded("/time", "/time"),
    ]
    assert not store.chunk_gets


def test_long_chunks_of_own_times_are_read_as_by_any_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "MOST_VALUES", 0)
    documents = {"": group(), "t": array([2**17], ["n"], TIME)}
    store = RecordingStore(consolidated(documents))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["t"].dtype.kind == "M"
    assert (told, set(store.chunk_gets)) == ([], {"t/c/0"})


def test_each_coordinate_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "MOST_VALUES", 20)
    documents = {"": group(), "axes": group()}
    for length in (40, 8, 1, 20, 9, 21):
        name = f"x{length}"
        documents[f"axes/{name}"] = long_array(length, 1, name)
        documents[f"v{length}"] = array(
            [length], [name], along(**{name: external(f"/axes/{name}")})
        )
    dataset, told = opened_with_warnings(xr.open_dataset, consolidated(documents))
    assert set(dataset.xindexes) == {"x1", "x8", "x9", "x20"}
    assert set(dataset.coords) == {"x1", "x8", "x9", "x20", "axes_x21", "axes_x40"}
    assert len(told) == 2
