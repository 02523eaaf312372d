"""How many requests opening takes, and how many of them wait for one another.

What takes time over a network is waiting: rounds, the longest chain of requests each of which
was made when the one before it had been answered.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
from zarr.storage import StorePath

from zarr_xgroup.metadata.documents import METADATA_KEYS
from zarr_xgroup.storage.opening import open_store
from zarr_xgroup.storage.reading import MANY_REQUESTS
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Contents,
    Group,
    Open,
    ZarrFormat,
    assert_same,
    build,
    compare,
    coordinate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
)
from zarr_xgroup.tests.servers import DelayingStore
from zarr_xgroup.variables.lazy import LazyArray, ends_fetched, lazy_variable

#: Seconds that a request takes: enough that those made at once overlap on a busy machine.
DELAY = 0.01
FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_groups, xr.open_datatree)
TREES = FUNCTIONS[1:]

each_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
each_tree = pytest.mark.parametrize("function", TREES, ids=lambda f: f.__name__)
each_format = pytest.mark.parametrize("zarr_format", [2, 3])
needs_index_option = pytest.mark.skipif(
    not HAS_INDEX_OPTION, reason="this xarray always builds indexes of dimension coordinates"
)

TIMES = {"units": "days since 2000-01-01"}


def external(name: str, node: str, uri: str | None = None) -> dict[str, Any]:
    """Return the attributes of an array one axis of which is stored elsewhere."""
    reference = {"node": node} if uri is None else {"node": node, "uri": uri}
    axis = {"coordinates": [{"values": {"external": reference}}]}
    return declaring("cs", cs={"crs": [{"axes": {name: axis}}]})


def computed(name: str) -> dict[str, Any]:
    """Return the attributes of an array one axis of which is computed."""
    axis = {"coordinates": [{"values": {"regular": [1.0, 0.5]}}]}
    return declaring("cs", cs={"crs": [{"axes": {name: axis}}]})


def delaying(
    root: Group,
    zarr_format: ZarrFormat = 3,
    *,
    consolidated: bool = True,
    delay: float = DELAY,
) -> DelayingStore:
    return DelayingStore(memory_store(contents(root, zarr_format, consolidated)), delay)


_CONTENTS: dict[tuple[int, ZarrFormat, bool], tuple[Group, Contents]] = {}


def contents(root: Group, zarr_format: ZarrFormat, consolidated: bool) -> Contents:
    """Return the contents of a store, built once."""
    key = (id(root), zarr_format, consolidated)
    if key not in _CONTENTS:
        _CONTENTS[key] = (root, build(root, zarr_format, consolidated=consolidated))
    return _CONTENTS[key][1]


def chunks_read(store: DelayingStore) -> Counter[str]:
    """Return how often each chunk was asked for."""
    keys = (key for operation, key in store.requests if operation.startswith("get"))
    return Counter(key for key in keys if key.rpartition("/")[2] not in METADATA_KEYS)


def asked(store: DelayingStore) -> dict[str, int]:
    """Return how many documents and chunks were asked for, and what else there was."""
    kinds = Counter(
        (
            operation
            if not operation.startswith("get")
            else "document"
            if key.rpartition("/")[2] in METADATA_KEYS
            else "chunk"
        )
        for operation, key in store.requests
    )
    return dict(kinds)


#: A group of arrays over three dimensions, with its coordinates.
ONE = Group(
    {
        "time": Array(np.arange(4) + 1, ("time",), TIMES, chunks=(2,)),
        "y": coordinate("y", [1.0, 2.0], units="m"),
        "x": coordinate("x", [1.0, 2.0, 3.0], units="m"),
        "scanned": Array(np.arange(4) + 1, ("time",), TIMES, chunks=(1,)),
        "t0": Array(np.ones((4, 2, 3)), ("time", "y", "x"), chunks=(1, 2, 3)),
        "t1": Array(np.ones((4, 2, 3)), ("time", "y", "x"), chunks=(1, 2, 3)),
    }
)

#: A group whose axes are in other groups, which refer to nothing further.
REFERRING = Group(
    {
        "data": Group(
            {
                "v": Array([1.0, 2.0], ("level",), external("level", "/axes/level")),
                "w": Array([1.0, 2.0], ("height",), external("height", "../axes/deep/height")),
            }
        ),
        "axes": Group(
            {
                "level": coordinate("level", [1.0, 2.0]),
                "deep": Group({"height": coordinate("height", [1.0, 2.0])}),
            }
        ),
    }
)


#: Fifty groups that share a time, and have coordinates of their own.
MANY = Group(
    {
        "time": Array(np.arange(4) + 1, ("time",), TIMES, chunks=(2,)),
        **{
            f"g{number:02}": Group(
                {
                    "v": Array(np.ones((4, 2)), ("time", "x"), external("time", "/time")),
                    "x": coordinate("x", [number + 1.0, number + 2.0]),
                    "scanned": Array(np.arange(4) + 1, ("time",), TIMES),
                }
            )
            for number in range(50)
        },
    }
)

#: Nothing is stored of its coordinates.
COMPUTED = Group({"v": Array([1.0, 2.0, 3.0], ("x",), computed("x"))})


def deep(width: int) -> Group:
    """Return a tree of depth 2: groups in groups, and arrays in all of them."""
    arrays = {"v": Array([1.0, 2.0], ("x",)), "x": coordinate("x", [1.0, 2.0])}
    inner = {f"h{number}": Group(arrays) for number in range(width)}
    return Group(
        {**arrays, **{f"g{number}": Group({**arrays, **inner}) for number in range(width)}}
    )


LARGE_TREE = deep(6)


# Consolidated.


@each_format
@each_function
@pytest.mark.parametrize("root", [ONE, MANY], ids=["one group", "fifty"])
def test_consolidated(function: Open, zarr_format: ZarrFormat, root: Group) -> None:
    store = delaying(root, zarr_format)
    opened(function, store)
    assert store.rounds <= 3
    assert set(chunks_read(store).values()) <= {1}


@each_format
@each_function
def test_consolidated_below_the_root(function: Open, zarr_format: ZarrFormat) -> None:
    store = delaying(MANY, zarr_format)
    opened(function, store, group="g07")
    assert store.rounds <= 3
    prefix = "" if zarr_format == 2 else "c/"
    keys = [f"time/{prefix}0", f"time/{prefix}1", f"g07/x/{prefix}0", f"g07/scanned/{prefix}0"]
    assert chunks_read(store) == dict.fromkeys(keys, 1)


@each_format
@each_function
def test_consolidated_with_nothing_to_read_of_coordinates(
    function: Open, zarr_format: ZarrFormat
) -> None:
    store = delaying(COMPUTED, zarr_format)
    opened(function, store)
    assert store.rounds <= 2
    assert not chunks_read(store)


@needs_index_option
@each_function
def test_times_are_fetched_together_without_indexes(function: Open) -> None:
    store = delaying(MANY)
    opened(function, store, create_default_indexes=False)
    assert store.rounds <= 2
    assert set(chunks_read(store).values()) <= {1}


@each_format
def test_a_group_far_below_the_root(zarr_format: ZarrFormat) -> None:
    groups: dict[str, Any] = {"deep": deep(1)}
    for name in ("c", "b", "a"):
        groups = {name: Group(groups)}
    store = delaying(Group(groups), zarr_format, consolidated=False)
    opened(xr.open_dataset, store, group="a/b/c/deep")
    assert store.rounds <= 4


def test_times_that_are_not_to_be_decoded_are_not_read() -> None:
    root = Group(
        {name: Array(np.arange(4.0), ("x",), HOURS, chunks=(2,)) for name in ("started", "ended")}
    )
    store = delaying(root)
    dataset = opened(xr.open_dataset, store, decode_times={"started": False, "ended": True})
    assert set(chunks_read(store)) == {"ended/c/0", "ended/c/1"}
    assert [dataset[name].dtype.kind for name in ("started", "ended")] == ["f", "M"]


def test_consolidated_with_shards() -> None:
    inner = [{"name": "bytes", "configuration": {"endian": "little"}}]
    configuration = {
        "chunk_shape": [2],
        "codecs": inner,
        "index_codecs": [*inner, {"name": "crc32c"}],
        "index_location": "end",
    }
    sharded = {"codecs": [{"name": "sharding_indexed", "configuration": configuration}]}
    values = np.arange(8) + 1
    arrays = {
        "time": Array(values, ("time",), TIMES, chunks=(4,), v3=sharded),
        "scanned": Array(values, ("time",), TIMES, chunks=(4,), v3=sharded),
    }
    store = delaying(Group(arrays))
    dataset = opened(xr.open_dataset, store)
    # The index of a shard has to be read before a part of it.
    assert store.rounds <= 3
    xr.testing.assert_identical(dataset, oracle(xr.open_dataset, store))


# Not consolidated.


@each_format
@pytest.mark.parametrize(
    ("root", "group"), [(ONE, ""), (REFERRING, "data")], ids=["one group", "referring"]
)
def test_one_group(zarr_format: ZarrFormat, root: Group, group: str) -> None:
    store = delaying(root, zarr_format, consolidated=False)
    dataset = opened(xr.open_dataset, store, group=group)
    assert store.rounds <= 4
    assert set(chunks_read(store).values()) <= {1}
    assert set(dataset.coords) >= set(dataset.sizes)


#: Fifty groups, each with two coordinates; and what else is asked for than nodes and listings.
FIFTY = Group(
    {
        f"g{number:02}": Group(
            {
                "v": Array(np.ones((2, 3)), ("y", "x")),
                "y": coordinate("y", [1.0, 2.0]),
                "x": coordinate("x", [1.0, 2.0, 3.0]),
            }
        )
        for number in range(50)
    }
)
NODES, GROUPS, COORDINATES_READ = 201, 51, 100


@each_format
@each_tree
def test_a_tree_of_fifty_groups(function: Open, zarr_format: ZarrFormat) -> None:
    """A v2 node has two documents, and what is no array has to be asked whether it is a group."""
    store = delaying(FIFTY, zarr_format, consolidated=False)
    opened(function, store)
    documents = NODES if zarr_format == 3 else 2 * NODES + GROUPS
    assert store.rounds <= (8 if zarr_format == 2 else 7)
    assert len(store.requests) - COORDINATES_READ <= documents + GROUPS + 10
    assert store.log.most_in_flight == MANY_REQUESTS


@each_tree
def test_no_array_of_format_2_is_asked_whether_it_is_a_group(function: Open) -> None:
    plain = contents(deep(2), 2, consolidated=False)
    folder = {"g0/folder/notes.txt": b"mine", "g0/folder/inside/more.txt": b"mine"}
    store = DelayingStore(memory_store({**plain, **folder}), DELAY)
    opened(function, store)
    asked_for = Counter(key for operation, key in store.requests if operation == "get")
    assert set(asked_for.values()) == {1}
    groups = {key.removesuffix(".zgroup") for key in plain if key.endswith(".zgroup")}
    ends = {key.removesuffix(".zgroup") for key in asked_for if key.endswith(".zgroup")}
    assert ends == {*groups, "g0/folder/"}
    # A folder is no group: nothing in it is looked at.
    assert not any(key.startswith("g0/folder/inside") for key in asked_for)


def test_values_are_limited_as_documents_are() -> None:
    coordinates = {f"x{n}": coordinate(f"x{n}", [1.0, 2.0]) for n in range(150)}
    store = delaying(Group({"v": Array([1.0, 2.0], ("x0",)), **coordinates}))
    opened(xr.open_dataset, store)
    assert sum(chunks_read(store).values()) == 150
    assert store.log.most_in_flight == MANY_REQUESTS


def test_the_ends_of_times_are_limited() -> None:
    times = {f"t{n}": Array(np.arange(4) + 1, ("x",), TIMES, chunks=(2,)) for n in range(80)}
    store = delaying(Group(times))
    opened(xr.open_dataset, store)
    assert sum(chunks_read(store).values()) == 160
    assert store.log.most_in_flight == MANY_REQUESTS


def test_nothing_is_asked_for_that_a_listing_denies() -> None:
    member = {
        "v": Array([1.0, 2.0], ("x",), external("x", "nowhere")),
        "w": Array([1.0, 2.0], ("z",), external("z", "/absent/below/it")),
    }
    root = Group({f"g{number}": Group(member) for number in range(3)})
    store = delaying(root, consolidated=False)
    _tree, told = opened_with_warnings(xr.open_datatree, store)
    assert len(told) >= 2
    nodes = {"", *root.members, *(f"{group}/{name}" for group in root.members for name in member)}
    keys = {key.rpartition("/")[0] for operation, key in store.requests if operation == "get"}
    assert keys == nodes


def test_what_has_no_document_may_hold_nodes() -> None:
    """A listing shows a folder: what is in it was not denied."""
    documents = build(Group({"v": Array([1.0, 2.0], ("x",), external("x", "/folder/x"))}))
    inside = build(Group({"x": coordinate("x", [5.0, 6.0])}))
    documents.update({f"folder/{key}": text for key, text in inside.items() if "x/" in key})
    dataset = opened(xr.open_dataset, memory_store(documents))
    assert dataset["x"].values.tolist() == [5.0, 6.0]


# Foreign stores.

FOREIGN = Group(
    {
        "level": Array([1.0, 2.0, 3.0], ("level",), chunks=(1,)),
        "deep": Group({"scanned": Array([1, 2, 3], ("level",), TIMES, chunks=(1,))}),
    }
)


@contextmanager
def foreign_stores(
    monkeypatch: pytest.MonkeyPatch, near: DelayingStore, *, consolidated: bool
) -> Iterator[dict[str, DelayingStore]]:
    """Let each URI lead to a delaying store, whose rounds count with those of another."""
    stores: dict[str, DelayingStore] = {}
    contents(FOREIGN, 3, consolidated)  # zarr cannot build it where stores are opened

    async def opened_store(store_like: Any, options: dict[str, Any] | None) -> StorePath:
        if isinstance(store_like, str) and store_like.startswith("http"):
            assert store_like not in stores  # each is opened once
            stores[store_like] = delaying(FOREIGN, consolidated=consolidated)
            stores[store_like].log = near.log
            return StorePath(stores[store_like], "")
        return await open_store(store_like, options)

    with monkeypatch.context() as patch:
        patch.setattr("zarr_xgroup.storage.library.open_store", opened_store)
        yield stores


def referring_to(count: int) -> Group:
    """Return two groups that refer to some stores, the second to all of them."""
    arrays = {
        f"v{number}": Array(
            [1.0, 2.0, 3.0],
            (f"level_{number}",),
            {
                **external(f"level_{number}", "/level", f"http://host-{number}/store"),
                "scanned": {"uri": f"http://host-{number}/store", "node": "/deep/scanned"},
            },
        )
        for number in range(count)
    }
    return Group({**arrays, "below": Group(arrays), "x": coordinate("x", [1.0, 2.0])})


@each_function
@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("consolidated", [True, False])
def test_foreign_stores(
    monkeypatch: pytest.MonkeyPatch, function: Open, count: int, consolidated: bool
) -> None:
    alone = delaying(referring_to(0))
    opened(function, alone)
    near = delaying(referring_to(count))
    with foreign_stores(monkeypatch, near, consolidated=consolidated) as stores:
        result = opened(function, near)
    assert len(stores) == count
    assert near.rounds <= alone.rounds + 2
    found = result["/"] if isinstance(result, dict) else result
    assert found["level_0"].values.tolist() == [1.0, 2.0, 3.0]
    # One store asks for three chunks of its levels, and for the first and the last time.
    assert max(chunks_read(near).values()) <= count


@each_function
def test_one_foreign_store_of_fifty_groups(monkeypatch: pytest.MonkeyPatch, function: Open) -> None:
    uri = "http://host/store"
    member = {"v": Array([1.0, 2.0, 3.0], ("level",), external("level", "/level", uri))}
    root = Group({**member, **{f"g{number}": Group(member) for number in range(50)}})
    near = delaying(root)
    with foreign_stores(monkeypatch, near, consolidated=True) as stores:
        opened(function, near)
    assert len(stores) == 1
    assert near.rounds <= 3
    assert chunks_read(near) == {f"level/c/{number}": 1 for number in range(3)}


# Exactly what is asked for. These are no aims: fewer is better, more has to be explained.

#: How many keys may hold the document of the root, or consolidated metadata.
ENDS = 4


@pytest.mark.parametrize(
    ("function", "root", "consolidated", "rounds", "expected"),
    [
        (xr.open_dataset, ONE, True, 2, {"list_dir": 1, "document": ENDS, "chunk": 6}),
        (xr.open_dataset, ONE, False, 3, {"list_dir": 1, "document": ENDS + 6, "chunk": 6}),
        (xr.open_dataset, COMPUTED, True, 1, {"list_dir": 1, "document": ENDS}),
        # The time that all share in two chunks; of each group its x, and all of its times.
        # These are more than fit into one round, and so are the documents in fifty groups.
        (xr.open_datatree, MANY, True, 3, {"list_dir": 1, "document": ENDS, "chunk": 102}),
        (xr.open_datatree, MANY, False, 7, {"list_dir": 51, "document": ENDS + 201, "chunk": 102}),
        (
            xr.open_datatree,
            LARGE_TREE,
            False,
            7,
            {"list_dir": 43, "document": ENDS + 128, "chunk": 43},
        ),
    ],
)
def test_what_is_asked_for(
    function: Open, root: Group, consolidated: bool, rounds: int, expected: dict[str, int]
) -> None:
    store = delaying(root, consolidated=consolidated)
    opened(function, store)
    assert (asked(store), store.rounds) == (expected, rounds)


def test_engine_zarr_for_comparison() -> None:
    """It reads one chunk after the other: 101 rounds for this tree of 20 groups."""
    arrays = {
        "t": Array(np.arange(4) + 1, ("t",), TIMES),
        "y": coordinate("y", [1.0, 2.0]),
        "x": coordinate("x", [1.0, 2.0, 3.0]),
        "v": Array(np.ones((4, 2, 3)), ("t", "y", "x")),
    }
    root = Group({f"g{number:02}": Group(arrays) for number in range(20)})
    theirs, ours = delaying(root, delay=0.001), delaying(root)
    expected = oracle(xr.open_datatree, theirs, consolidated=True)
    assert theirs.rounds > 60
    tree = opened(xr.open_datatree, ours)
    assert ours.rounds <= 3
    assert sum(chunks_read(ours).values()) == 60
    assert_same(tree, expected)


# What was fetched is what would have been read.


def numbered(shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    return np.arange(np.prod(shape)).reshape(shape)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3)])
def test_the_ends_are_not_read_again(shape: tuple[int, ...]) -> None:
    def unread(key: Any) -> Any:
        pytest.fail(f"{key} was read")

    values = numbered(shape)
    dims = tuple(f"d{axis}" for axis in range(len(shape)))
    variable = lazy_variable(LazyArray(unread, shape, values.dtype), dims, {})
    array = ends_fetched(variable, values.flat[0], values.flat[-1])
    decoded = xr.conventions.decode_cf_variable("t", lazy_variable(array, dims, TIMES))
    assert decoded.dtype.kind == "M"


# Times that are not dimension coordinates.


@pytest.mark.skipif(not hasattr(xr.Dataset, "load_async"), reason="this xarray has no load_async")
def test_times_load_asynchronously() -> None:
    line = np.arange(6.0)
    arrays = {
        "line": Array(line, ("x",), HOURS, chunks=(2,)),
        "plane": Array(line.reshape(2, 3), ("y", "z"), HOURS, chunks=(1, 2)),
    }
    dataset = opened(xr.open_dataset, delaying(Group(arrays)))
    loaded = asyncio.run(dataset.isel(z=[0, 2]).load_async())
    np.testing.assert_array_equal(loaded["line"].values, dataset["line"].values)
    np.testing.assert_array_equal(loaded["plane"].values, dataset["plane"].values[:, [0, 2]])


HOURS = {"units": "hours since 1999-12-31T12:00:00", "calendar": "standard"}
PACKED = {"scale_factor": 0.5, "add_offset": 1.0}


@pytest.mark.parametrize(
    ("zarr_format", "zeros"), [(2, True), (3, False)], ids=["chunks left out", "all chunks"]
)
def test_times_decode_as_by_engine_zarr(zarr_format: ZarrFormat, zeros: bool) -> None:
    start = 0 if zeros else 1
    line = np.arange(start, start + 6)
    plane = line.reshape(2, 3)
    root = Group(
        {
            "scalar": Array(line[3], (), HOURS),
            "single": Array(line[:1], ("one",), HOURS),
            "line": Array(line, ("x",), HOURS, chunks=(2,)),
            "uneven": Array(line, ("x",), HOURS, chunks=(4,)),
            "plane": Array(plane, ("y", "z"), HOURS, chunks=(1, 2)),
            "cube": Array(line.reshape(1, 2, 3), ("a", "y", "z"), HOURS, chunks=(1, 1, 1)),
            "none": Array(line[:0], ("n",), HOURS),
            "noleap": Array(line, ("x",), {**HOURS, "calendar": "noleap"}, chunks=(2,)),
            "packed": Array(
                line.astype("f4"), ("x",), {**HOURS, **PACKED}, missing=3.0, chunks=(3,)
            ),
            "first": Array(line, ("x",), HOURS, missing=start, chunks=(2,)),
            "last": Array(line, ("x",), HOURS, missing=start + 5, chunks=(2,)),
            "halves": Array(line / 2, ("x",), HOURS, missing=float("nan"), chunks=(2,)),
            "nan": Array([np.nan, 1, 2, 3, 4, np.nan], ("x",), HOURS, missing=float("nan")),
            "gone": Array([np.nan] * 6, ("x",), HOURS, missing=float("nan"), chunks=(2,)),
            "seconds": Array(line, ("x",), {"units": "seconds since 2000-01-01"}, chunks=(2,)),
        }
    )
    store = memory_store(contents(root, zarr_format, consolidated=False))
    for function in FUNCTIONS:
        compare(function, store)
    each: list[dict[str, Any]] = [
        {"chunks": {}},
        {"mask_and_scale": False},
        {"decode_times": False},
    ]
    for options in each:
        compare(xr.open_dataset, store, **options)
    dataset = opened(xr.open_dataset, store)
    expected = oracle(xr.open_dataset, store)
    for part in ({"x": 0}, {"x": -1, "y": 1}, {"x": [5, 0, 2]}, {"y": [0], "z": slice(2, None)}):
        xr.testing.assert_identical(dataset.isel(part), expected.isel(part))


# Dimension coordinates of all types.

COORDINATES: Mapping[str, Array] = {
    "text": Array(["a", "bc", "\u00e9"], ("text",)),
    "bytes": Array(np.array([b"ab", b"c", b""], "S2"), ("bytes",)),
    "fixed": Array(np.array([b"a", b"b", b"c"], "S1"), ("fixed",)),
    "flag": Array(np.array([True, False, True]), ("flag",)),
    "small": Array(np.array([1, 2, 255], "u1"), ("small",), {"units": "1"}),
    "short": Array(np.array([1, 2, 3], "i2"), ("short",), missing=3),
    "float": Array(np.array([1, 2, 3], "f4"), ("float",), chunks=(2,)),
    "nan": Array([1.0, np.nan, 3.0], ("nan",), missing=float("nan")),
    "complex": Array(np.array([1, 2j, 3], "c8"), ("complex",)),
    "packed": Array(np.array([1, 2, 3], "i2"), ("packed",), PACKED, chunks=(1,)),
    "time": Array(np.arange(3), ("time",), HOURS, chunks=(1,)),
    "noleap": Array(np.arange(3), ("noleap",), {**HOURS, "calendar": "noleap"}),
    "empty": Array(np.zeros(0), ("empty",)),
    "one": Array([5.0], ("one",)),
}


@pytest.mark.parametrize(
    ("zarr_format", "name"),
    [  # v3 has no bytes
        (2 if array.data.dtype.kind == "S" or number % 2 else 3, name)
        for number, (name, array) in enumerate(COORDINATES.items())
    ],
)
def test_dimension_coordinates_are_as_by_engine_zarr(zarr_format: ZarrFormat, name: str) -> None:
    members = {name: COORDINATES[name], "v": Array(COORDINATES[name].data, (name,))}
    store = memory_store(build(Group(members), zarr_format))
    ours = compare(xr.open_dataset, store)
    theirs = oracle(xr.open_dataset, store)
    assert ours[name].dtype.metadata == theirs[name].dtype.metadata
    compare(xr.open_dataset, store, decode_cf=False)
    compare(xr.open_dataset, store, chunks={})
    if HAS_INDEX_OPTION:
        compare(xr.open_dataset, store, create_default_indexes=False)


# A level of a pyramid.


def pyramid(levels: int = 4) -> Group:
    """Return levels in groups, each derived from the one before, and a group beside them."""
    items: list[dict[str, Any]] = [{"asset": "0", "spatial:transform": [1, 0, 0, 0, -1, 0]}]
    for n in range(1, levels):
        relation = {"derived_from": str(n - 1), "transform": {"scale": [2, 2]}}
        items.append({"asset": str(n), **relation})
    names = declaring("spatial", "proj", "multiscales")
    crs = {"spatial:dimensions": ["y", "x"], "proj:code": "EPSG:32632"}
    array = Array(np.ones((2, 2)), ("y", "x"))
    members = {str(n): Group({"v": array, "w": array}) for n in range(levels)}
    attributes = {**names, **crs, "multiscales": {"layout": items}}
    return Group({"images": Group({**members, "masks": Group(members)}, attributes)})


PYRAMID = pyramid()


@each_format
@pytest.mark.parametrize(("consolidated", "rounds"), [(True, 2), (False, 4)])
def test_the_level_for_a_resolution(
    zarr_format: ZarrFormat, consolidated: bool, rounds: int
) -> None:
    store = delaying(PYRAMID, zarr_format, consolidated=consolidated)
    dataset = opened(xr.open_dataset, store, group="images", resolution=2)
    assert float(dataset.x[0]) == 1.0
    assert store.rounds <= rounds
    assert not chunks_read(store)
    # The groups of levels are listed; what is beside them is not.
    assert not any("masks/0" in key for _operation, key in store.requests)


@pytest.mark.parametrize("consolidated", [True, False])
def test_the_level_for_a_resolution_in_a_tree(consolidated: bool) -> None:
    store = delaying(PYRAMID, consolidated=consolidated)
    whole = delaying(PYRAMID, consolidated=consolidated)
    opened(xr.open_datatree, store, resolution=2)
    opened(xr.open_datatree, whole)
    assert Counter(store.requests) == Counter(whole.requests)
    assert store.rounds == whole.rounds
