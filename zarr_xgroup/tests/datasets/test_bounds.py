"""Upper limits of opening: steps, requests and memory, depending on the size of the metadata."""

import json
import tracemalloc
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import (
    XGroupDimensionWarning,
    XGroupReferenceError,
    XGroupResolutionWarning,
)
from zarr_xgroup.datasets import build
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Group,
    Json,
    RecordingStore,
    assert_same,
    declaring,
    documents_of,
    memory_store,
    opened_with_warnings,
    oracle,
    without,
)
from zarr_xgroup.tests.builders import build as build_contents
from zarr_xgroup.tests.tables import check, outcome, rows
from zarr_xgroup.variables import factory


def long(dims: str | None, *shape: int, chunks: Any = None, **attributes: Any) -> Array:
    """Return an array of any shape, of which there are no chunks."""
    names = None if dims is None else dims.split()
    grid = {"name": "regular", "configuration": {"chunk_shape": chunks or shape}}
    return Array(0.0, names, attributes, v3={"shape": shape, "chunk_grid": grid})


def store_of(nodes: Mapping[str, Array]) -> RecordingStore:
    """Return a store that is nothing but consolidated metadata."""
    documents = {path: documents_of(node, 3)["zarr.json"] for path, node in nodes.items()}
    groups = {path.rpartition("/")[0] for path in nodes} - {""}
    root, group = documents_of(Group(), 3)["zarr.json"], documents_of(Group(), 3)["zarr.json"]
    inline = {"kind": "inline", "must_understand": False}
    root["consolidated_metadata"] = {**inline, "metadata": dict.fromkeys(groups, group) | documents}
    return RecordingStore(memory_store({"zarr.json": json.dumps(root).encode()}))


def along(**axes: Any) -> Json:
    """Return attributes that declare ``cs`` with a coordinate set of each axis."""
    sets = {name: {"coordinates": [it] if it else []} for name, it in axes.items()}
    return declaring("cs", cs={"crs": [{"axes": sets}]})


def external(path: str) -> Json:
    return {"values": {"external": {"node": path}}}


# Groups in groups.


@pytest.mark.parametrize("depth", [50, 101, 102, 20_000])
def test_groups_that_only_a_key_shows_are_a_hundred_deep_at_most(depth: int) -> None:
    path = "/".join(["a"] * depth)
    store = store_of({f"{path}/v": long("x", 2), "b/v": long("x", 2)})
    opened_with_warnings(xr.open_groups, store)
    tracemalloc.start()
    groups, told = opened_with_warnings(xr.open_groups, store)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    shown = depth if depth < 102 else 0
    assert set(groups) == {"/", "/b", *("/" + "/".join(["a"] * n) for n in range(1, shown + 1))}
    assert ["have 2 keys that are not valid paths of nodes" in str(it) for it in told] == [True] * (
        not shown
    )
    assert len(str(told)) < 600
    assert peak < 10**7


# Warnings.


@pytest.mark.parametrize("count", [200, 201, 300])
def test_many_warnings_are_counted_for_each_class(count: int) -> None:
    lost = {f"v{n:05}": long("x", 2, **along(x=external(f"/no/x{n}"))) for n in range(count)}
    unnamed = {f"w{n:03}": long(None, 3 + n) for n in range(240)}
    _dataset, told = opened_with_warnings(xr.open_dataset, store_of({**lost, **unnamed}))
    kinds = Counter(type(warning) for warning in told)
    assert kinds == {XGroupResolutionWarning: 200, XGroupDimensionWarning: 1}
    assert sorted(path for it in told for path in it.paths) == [
        f"/{name}" for name in (*lost, *unnamed)
    ]
    last = [it for it in told if type(it) is XGroupResolutionWarning][-1]
    assert "'/no/x199' cannot be resolved" in str(last)
    assert str(last).partition("consolidated=False")[2] == (
        f" (and {count - 200} more of this kind)" if count > 200 else ""
    )
    assert isinstance(last.error, XGroupReferenceError)


# Indexes and times.

TIME = {"units": "days since 2000-01-01"}


def referring(length: int, chunk: int, **attributes: Any) -> dict[str, Array]:
    """Return an array whose coordinate is a long array in another group."""
    x = long("x", length, chunks=[chunk], **attributes)
    return {"axes/x": x, "v": long("x", length, **along(x=external("/axes/x")))}


def regular(length: int, axis: Any) -> dict[str, Array]:
    return {"v": long("x", length, **along(x=axis))}


GRID = {"spatial:dimensions": ["y", "x"], "spatial:transform": [2.0, 0.0, 0.0, 0.0, -2.0, 0.0]}
WIDE = {"v": long("y x", 10**12, 10**11, **declaring("spatial"), **GRID)}
NO_INDEXES = {"create_default_indexes": False}
UNREAD = "its chunks are too large to be read for two values"


def lazy(length: int, called: str = "axes_x", name: str = "x") -> str:
    return (
        f"! Name: /v: its coordinate {name!r} of length {length} is named {called!r} and has no "
        "index, because it is too long to be read on opening"
    )


def undecoded(name: str) -> str:
    return f"! Metadata: /{name}: opened with undecoded times: {UNREAD}"


OWN_TIMES = f"v (n) | units={TIME['units']}\n{undecoded('v')}"
#: A store, what it is opened with, and as what the array `v` opens.
LONG: dict[str, tuple[Any, Any, str]] = {
    "a coordinate elsewhere in many chunks": (referring(2 * 10**9, 1), {}, f"v (x) @ axes_x\n{lazy(2 * 10**9)}"),
    "in one long chunk": (referring(10**15, 10**15), {}, f"v (x) @ axes_x\n{lazy(10**15)}"),
    "in chunks of common length": (referring(2**25, 2**20), {}, f"v (x) @ axes_x\n{lazy(2**25)}"),
    "in a chunk that is longer than itself": (referring(10, 10**12), {}, f"v (x) @ axes_x\n{lazy(10)}"),
    "computed values": (regular(10**10, {"values": {"regular": [0.5, 2.0]}}), {}, f"v (x) @ x_1\n{lazy(10**10, 'x_1')}"),
    "positions": (regular(10**15, None), {}, f"v (x) @ x_1\n{lazy(10**15, 'x_1')}"),
    "a grid": (WIDE, {}, f"v (y x) @ x_1 y_1\n{lazy(10**12, 'y_1', 'y')}\n{lazy(10**11, 'x_1')}"),
    "without indexes": (referring(2 * 10**9, 1), NO_INDEXES, "v (x) @ x"),
    "times in a long chunk": ({"v": long("n", 10**10, **TIME)}, {}, OWN_TIMES),
    "a few times in a long chunk": ({"v": long("n", 3, chunks=[10**10], **TIME)}, {}, OWN_TIMES),
    "times elsewhere in a long chunk": (referring(2**25, 2**25, **TIME), {}, f"""
        v (x) @ axes_x
        {lazy(2**25)}
        ! Metadata: /v: its coordinate 'axes_x': opened with undecoded times: {UNREAD}
        """),
    "times and their bounds": (
        {"v": long("n", 2**31, bounds="b", **TIME), "b": long("n s", 2**31, 2)}, {},
        f"v (n) | bounds=b units={TIME['units']}\n! Metadata: /b, /v: opened with undecoded times: {UNREAD}"),
}  # fmt: skip


@rows(LONG, "nodes, options, expected")
def test_coordinates_that_are_too_long_are_not_read(
    nodes: Any, options: Any, expected: str
) -> None:
    if options and not HAS_INDEX_OPTION:
        pytest.skip("this xarray always builds indexes")
    store = store_of(nodes)
    check(store, expected, only="v", **options)
    assert not store.chunk_gets


REPEATS = "chunks are missing in the store, so values of its index repeat"
INDEXED = f"v (x) @ x\n! Metadata: /v: its coordinate 'x': {REPEATS}"
#: A store whose coordinate `x` or times `v` are read.
COMMON: dict[str, tuple[Any, str]] = {
    "many chunks": (referring(5_000, 1), INDEXED),
    "many values": (referring(2**20, 2**10), INDEXED),
    "the longest chunk": (referring(10, 2**24), INDEXED),
    "the group's own, which is kept": (
        {**referring(20, 1), "x": long("x", 20)},
        f"v (x) @ x\n! Metadata: /x: {REPEATS}",
    ),
    "times elsewhere": (referring(2**20, 2**20, **TIME), INDEXED),
    "own times": ({"v": long("n", 2**25, **TIME)}, "v (n)"),
}


@rows(COMMON)
def test_coordinates_of_common_length_are_indexed_and_decoded(nodes: Any, expected: str) -> None:
    store = store_of(nodes)
    dataset = check(store, expected, only="v")
    assert set(dataset.xindexes) == set(dataset.coords)
    name = next(name for name in ("x", "axes/x", "v") if name in nodes)
    assert {key.rpartition("/c/")[0] for key in store.chunk_gets} == {name}
    assert all(it.dtype.kind == "M" for it in dataset.variables.values() if "units" in it.encoding)


#: Values of an index, their fill value, the length of chunks, the missing chunks, and whether values repeat for them.
REPEATED: dict[str, tuple[Any, Any, int, tuple[int, ...], bool]] = {
    "all": (np.arange(1, 32), 0, 31, (0,), True),
    "a part": (np.arange(1, 32), 0, 16, (1,), True),
    "chunks of one value": (np.arange(1, 6), 0, 1, (2, 4), True),
    "floats": (np.arange(4.0), np.nan, 4, (0,), True),
    "texts": (["a", "b"], "", 2, (0,), True),
    "none": (np.arange(1, 32), 0, 16, (), False),
    "one value": ([5], 0, 1, (0,), False),
    "one value of several": (np.arange(1, 6), 0, 1, (2,), False),
    "written fill values": ([0, 0, 0], 0, 3, (), False),
    "written values": ([7, 7, 7], 0, 3, (), False),
    "others repeat, too": ([0, 0, 0, 1, 1, 1], 0, 3, (0,), False),
}  # fmt: skip


@pytest.mark.parametrize("zarr_format", [2, 3])
@rows(REPEATED, "values, fill_value, chunk, missing, repeats")
def test_an_index_that_repeats_because_chunks_are_missing_is_reported(
    values: Any, fill_value: Any, chunk: int, missing: Any, repeats: bool, zarr_format: Any
) -> None:
    filled = {"fill_value": "NaN" if fill_value != fill_value else fill_value}  # noqa: PLR0124
    x = Array(values, ("x",), chunks=(chunk,), v2=filled, v3=filled)
    contents = build_contents({"": {}, "x": x}, zarr_format)
    keys = [f"x/c/{number}" if zarr_format == 3 else f"x/{number}" for number in missing]
    store: Any = memory_store(without(contents, *keys))
    dataset, lines = outcome(store, only="")
    assert lines == ([f"! Metadata: /x: {REPEATS}"] if repeats else [])
    assert_same(dataset, oracle(xr.open_dataset, store))


def test_lazy_coordinates_are_read_and_computed_in_part() -> None:
    store = store_of(referring(2 * 10**9, 1))
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["axes_x"].dims == ("x",)
    assert dataset["axes_x"][5:7].values.tolist() == [0.0, 0.0]
    assert store.chunk_gets.total() <= 2
    for axis, expected in (({"values": {"regular": [0.5, 2.0]}}, 2e15 - 1.5), (None, 10**15 - 1)):
        dataset, _told = opened_with_warnings(xr.open_dataset, store_of(regular(10**15, axis)))
        assert dataset["x_1"][-1] == expected


def test_own_coordinates_of_a_group_are_read_as_by_any_engine(monkeypatch: Any) -> None:
    monkeypatch.setattr(factory, "MOST_VALUES", 0)
    monkeypatch.setattr(build, "MOST_VALUES", 0)
    own = {"x": long("x", 20), "v": long("x", 20)}
    check(store_of(own), f"v (x) @ x\n! Metadata: /x: {REPEATS}", only="v")
    check(store_of({"v": long("n", 2**17, **TIME)}), "v (n)")


def test_the_limit_applies_to_each_coordinate(monkeypatch: Any) -> None:
    monkeypatch.setattr(factory, "MOST_VALUES", 20)
    nodes = {}
    for length in (40, 8, 1, 20, 9, 21):
        name = f"x{length}"
        nodes[f"axes/{name}"] = long(name, length, chunks=[1])
        nodes[f"v{length}"] = long(name, length, **along(**{name: external(f"/axes/{name}")}))
    dataset, told = opened_with_warnings(xr.open_dataset, store_of(nodes))
    assert set(dataset.xindexes) == {"x1", "x8", "x9", "x20"}
    assert set(dataset.coords) == {"x1", "x8", "x9", "x20", "axes_x21", "axes_x40"}
    assert len([warning for warning in told if REPEATS not in str(warning)]) == 2
