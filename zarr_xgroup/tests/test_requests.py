"""The number of requests and of rounds that opening takes.

Rounds, the longest chain of requests in which each waits for the previous one, determine the time over a
network.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import fsspec
import numpy as np
import pytest
import xarray as xr
import zarr
from fsspec.asyn import AsyncFileSystem
from zarr.abc.store import Store
from zarr.storage import FsspecStore, WrapperStore

from zarr_xgroup.storage.addresses import Address, open_store
from zarr_xgroup.storage.clients import MANY_REQUESTS
from zarr_xgroup.storage.handles import Handle, handle_of
from zarr_xgroup.storage.reading import FEW_CONNECTIONS, request_limit
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    HAS_OBSTORE,
    Array,
    Contents,
    Group,
    Nodes,
    Open,
    ZarrFormat,
    below,
    build,
    compare,
    coordinate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    stored,
)
from zarr_xgroup.tests.servers import (
    DelayingStore,
    FileServer,
    Request,
    RequestLog,
    Response,
    S3Server,
    Waves,
    serve_http,
)

#: Seconds that a request takes: enough that those made at once overlap on a busy machine.
DELAY = 0.01
each_format = pytest.mark.parametrize("zarr_format", [2, 3])
TIMES = {"units": "days since 2000-01-01"}
HOURS = {"units": "hours since 1999-12-31T12:00:00", "calendar": "standard"}
PACKED = {"scale_factor": 0.5, "add_offset": 1.0}


def axis_of(name: str, values: Any) -> dict[str, Any]:
    """Return the attributes of an array with one axis."""
    axes = {name: {"coordinates": [{"values": values}]}}
    return declaring("cs", cs={"crs": [{"axes": axes}]})


def external(name: str, node: str, **uri: str) -> dict[str, Any]:
    """Return the attributes of an array one axis of which is stored elsewhere."""
    return axis_of(name, {"external": {"node": node, **uri}})


def times(name: str = "time", *, size: int = 4, chunks: int = 4, **attributes: Any) -> Array:
    values = np.arange(size) + 1  # zarr leaves chunks of zeros out
    return Array(values, (name,), {**TIMES, **attributes}, chunks=(chunks,))


_CONTENTS: dict[tuple[int, ZarrFormat, bool], tuple[Any, Contents]] = {}


def delaying(
    root: Group | Nodes, zarr_format: ZarrFormat = 3, *, consolidated: bool = True
) -> DelayingStore:
    """Return a store that delays requests, whose contents are built once."""
    key = (id(root), zarr_format, consolidated)
    if key not in _CONTENTS:
        _CONTENTS[key] = (root, build(root, zarr_format, consolidated=consolidated))
    return DelayingStore(memory_store(_CONTENTS[key][1]), DELAY)


# Exactly what is asked for. These are no aims: fewer is better, more has to be explained.

#: A group of arrays over three dimensions, with its coordinates.
ONE = Group(
    {
        "time": times(chunks=2),
        "y": coordinate("y", [1.0, 2.0], units="m"),
        "x": coordinate("x", [1.0, 2.0, 3.0], units="m"),
        "scanned": times(chunks=1),
        "t0": stored(np.ones((4, 2, 3)), "time y x"),
        "t1": stored(np.ones((4, 2, 3)), "time y x"),
    }
)
#: A group whose axes are in other groups, which refer to nothing further.
REFERRING: Nodes = {
    "": {},
    "data": {},
    "data/v": stored([1.0, 2.0], "level", **external("level", "/axes/level")),
    "data/w": stored([1.0, 2.0], "height", **external("height", "../axes/deep/height")),
    "axes": {},
    "axes/level": coordinate("level", [1.0, 2.0]),
    "axes/deep": {},
    "axes/deep/height": coordinate("height", [1.0, 2.0]),
}
#: Fifty groups that share a time, and have coordinates of their own.
MANY = Group(
    {
        "time": times(chunks=2),
        **{
            f"g{number:02}": Group(
                {
                    "v": stored(np.ones((4, 2)), "time x", **external("time", "/time")),
                    "x": coordinate("x", [number + 1.0, number + 2.0]),
                    "scanned": times(),
                }
            )
            for number in range(50)
        },
    }
)
#: Nothing is stored of its coordinates.
COMPUTED: Nodes = {"": {}, "v": stored(np.ones(3), "x", **axis_of("x", {"regular": [1.0, 0.5]}))}


#: Levels in groups, each derived from the one before, and a group beside them.
LEVELS = {str(n): Group({"v": stored(np.ones((2, 2)), "y x")}) for n in range(4)}
LAYOUT: list[Any] = [{"asset": "0", "spatial:transform": [1, 0, 0, 0, -1, 0]}] + [
    {"asset": f"{n + 1}", "derived_from": f"{n}", "transform": {"scale": [2, 2]}} for n in range(3)
]
PYRAMID = Group(
    {
        "images": Group(
            {**LEVELS, "masks": Group(LEVELS)},
            declaring(
                *("spatial", "proj", "multiscales"),
                multiscales={"layout": LAYOUT},
                **{"spatial:dimensions": ["y", "x"], "proj:code": "EPSG:32632"},
            ),
        )
    }
)
HINTED: Nodes = {
    "": {},
    "data": {},
    "data/v": stored(np.ones((2, 2)), "y x"),
    "data/t": coordinate("t", [1.0, 2.0]),
}
IN_IT = Group({"v": stored([1.0, 2.0], "x"), "x": coordinate("x", [1.0, 2.0]), "g": Group()})
FAR: Nodes = {"": {}, "a": {}, "a/b": {}, "a/b/c": IN_IT}

#: How many keys may hold the document of the root, or consolidated metadata.
ENDS = 4
LEVEL: dict[str, Any] = {"group": "images", "resolution": 2}
#: By what is opened: the function, the store, whether it is consolidated, and options; how many rounds,
#: documents, listings and chunks that takes in format 3, and in format 2.
# fmt: off
ASKED: dict[str, tuple[Open, Any, bool, dict[str, Any], tuple[int, ...], tuple[int, ...]]] = {
    "a group": (xr.open_dataset, ONE, True, {}, (2, ENDS, 1, 6), (2, ENDS, 1, 6)),
    "a group, not consolidated": (xr.open_dataset, ONE, False, {}, (3, ENDS + 6, 1, 6), (3, 22, 1, 6)),
    "nothing is stored of coordinates": (xr.open_dataset, COMPUTED, True, {}, (1, ENDS, 1, 0), (1, ENDS, 1, 0)),
    "references": (xr.open_dataset, REFERRING, False, {"group": "data"}, (4, 12, 1, 2), (4, 20, 1, 2)),
    # The time that all share in two chunks; of each group its x, and all of its times.
    # These are more than fit into one round, and so are the documents in fifty groups.
    "fifty groups": (xr.open_datatree, MANY, True, {}, (3, ENDS, 1, 102), (3, ENDS, 1, 102)),
    "fifty groups, without indexes": (xr.open_datatree, MANY, True, {"create_default_indexes": False}, (2, ENDS, 1, 52), (2, ENDS, 1, 52)),
    "fifty groups, not consolidated": (xr.open_datatree, MANY, False, {}, (7, ENDS + 201, 51, 102), (9, 456, 51, 102)),
    "a group far below the root": (xr.open_dataset, FAR, False, {"group": "a/b/c"}, (3, 13, 1, 1), (3, 23, 1, 1)),
    # The groups of levels are listed; what is beside them is not.
    "a level, not consolidated": (xr.open_dataset, PYRAMID, False, LEVEL, (3, 17, 5, 0), (4, 35, 5, 0)),
    # Whether groups above have coordinates is asked while values are read.
    "a hint": (xr.open_dataset, HINTED, False, {"group": "data"}, (3, 12, 1, 1), (3, 20, 1, 1)),
}
# fmt: on


@pytest.mark.parametrize("about", ASKED)
@each_format
def test_requests_of_a_call(about: str, zarr_format: ZarrFormat) -> None:
    function, root, consolidated, options, v3, v2 = ASKED[about]
    if "create_default_indexes" in options and not HAS_INDEX_OPTION:
        pytest.skip("this xarray always builds indexes of dimension coordinates")
    store = delaying(root, zarr_format, consolidated=consolidated)
    opened(function, store, **options)
    rounds, *counts = v3 if zarr_format == 3 else v2
    assert [store.counts.get(it, 0) for it in ("document", "list_dir", "chunk")] == counts
    # On a busy machine, requests of two rounds may be seen as one. Requests that wait for a free connection follow any
    # request that is answered: then there may be more rounds.
    assert store.rounds <= rounds + 3 * (sum(counts) > MANY_REQUESTS)
    assert set(Counter(store.requests).values()) == {1}
    # Of one array zarr reads two chunks.
    assert store.log.most_in_flight <= MANY_REQUESTS + 1


def test_times_that_are_not_to_be_decoded_are_not_read() -> None:
    names = ("started", "ended")
    store = delaying({"": {}, **{name: times("x", chunks=2) for name in names}})
    dataset = opened(xr.open_dataset, store, decode_times={"started": False, "ended": True})
    assert set(store.chunk_gets) == {"ended/c/0", "ended/c/1"}
    assert [dataset[name].dtype.kind for name in names] == ["i", "M"]


def test_nodes_missing_in_a_listing_are_not_requested() -> None:
    member = {
        "v": stored([1.0, 2.0], "x", **external("x", "nowhere")),
        "w": stored([1.0, 2.0], "z", **external("z", "/absent/below/it")),
    }
    root = Group({f"g{number}": Group(member) for number in range(3)})
    store = delaying(root, consolidated=False)
    _tree, told = opened_with_warnings(xr.open_datatree, store)
    assert len(told) >= 2
    nodes = {"", *root.members, *(f"{group}/{name}" for group in root.members for name in member)}
    keys = {key.rpartition("/")[0] for operation, key in store.requests if operation == "get"}
    assert keys == nodes


def test_a_folder_without_a_document_may_contain_nodes() -> None:
    """A listing shows a folder: what is in it was not denied."""
    documents = build({"": {}, "v": stored([1.0, 2.0], "x", **external("x", "/folder/x"))})
    inside = build({"folder/x": coordinate("x", [5.0, 6.0])})
    dataset = opened(xr.open_dataset, memory_store({**documents, **inside}))
    assert dataset["x"].values.tolist() == [5.0, 6.0]


# Foreign stores.

FOREIGN: Nodes = {
    "": {},
    "level": times("level", size=3, chunks=1, units="m"),
    "deep": {},
    "deep/scanned": times("level", size=3, chunks=1),
}


@contextmanager
def foreign_stores(
    monkeypatch: pytest.MonkeyPatch, near: DelayingStore, *, consolidated: bool
) -> Iterator[dict[str, DelayingStore]]:
    """Let each URI lead to a delaying store, whose rounds count with those of another."""
    stores: dict[str, DelayingStore] = {}
    delaying(FOREIGN, consolidated=consolidated)  # zarr cannot build it where stores are opened

    async def opened_store(address: Address) -> Handle:
        url = address.target
        if isinstance(url, str) and url.startswith("http"):
            assert url not in stores  # each is opened once
            stores[url] = delaying(FOREIGN, consolidated=consolidated)
            stores[url].log = near.log
            return handle_of(stores[url], name=address.name, is_ours=True)
        return await open_store(address)

    with monkeypatch.context() as patch:
        patch.setattr("zarr_xgroup.storage.library.open_store", opened_store)
        yield stores


def referring_to(count: int, groups: int = 1) -> Group:
    """Return groups whose arrays refer to some stores, each to all of them."""

    def array(number: int) -> Array:
        uri = f"http://host-{number}/store"
        scanned = {"scanned": {"uri": uri, "node": "/deep/scanned"}}
        level = external(f"level_{number}", "/level", uri=uri)
        return stored([1.0, 2.0, 3.0], f"level_{number}", **level, **scanned)

    arrays = {f"v{number}": array(number) for number in range(count)}
    below = {f"g{number}": Group(arrays) for number in range(groups)}
    return Group({**arrays, **below, "x": coordinate("x", [1.0, 2.0])})


@pytest.mark.parametrize(
    ("function", "count", "groups", "consolidated"),
    [
        (xr.open_dataset, 20, 1, True),
        (xr.open_datatree, 20, 1, False),
        (xr.open_datatree, 1, 50, True),
    ],
)
def test_foreign_stores_are_read_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch, function: Open, count: int, groups: int, consolidated: bool
) -> None:
    alone, near = delaying(referring_to(0)), delaying(referring_to(count, groups))
    opened(function, alone)
    with foreign_stores(monkeypatch, near, consolidated=consolidated) as stores:
        result = opened(function, near)
    assert len(stores) == count
    assert near.rounds <= alone.rounds + 2
    assert result["level_0"].values.tolist() == [1, 2, 3]
    # One store asks for three chunks of its levels, and for the first and the last time.
    assert max(near.chunk_gets.values()) <= count


# Addresses: the root of a store is asked for along with the group that is named.


class LoggedFileSystem(AsyncFileSystem):  # type: ignore[misc]
    """Buckets in memory that take down what is asked of them, and how often that had to wait."""

    protocol = "logged"
    cachable = False
    async_impl = True
    contents: ClassVar[Contents] = {}
    log: ClassVar[RequestLog] = RequestLog()

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **options: Any
    ) -> bytes:
        with self.log.request("get", path):
            await self.log.wait(DELAY)
            if path not in self.contents:
                raise FileNotFoundError(path)
            return self.contents[path][start:end]

    async def _ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        path = path.rstrip("/")
        with self.log.request("list", path):
            await self.log.wait(DELAY)
            below = (key for key in self.contents if key.startswith(f"{path}/"))
            names = {f"{path}/{key[len(path) + 1 :].partition('/')[0]}" for key in below}
            return [{"name": name, "type": "file"} for name in names] if detail else list(names)


@pytest.mark.parametrize(
    ("group", "zarr_format", "consolidated"),
    [("", 3, False), ("g", 3, True), ("g", 2, True), ("g/deep/down", 2, False)],
)
def test_the_root_is_requested_with_the_first_documents(
    group: str, zarr_format: ZarrFormat, consolidated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec.register_implementation("logged", LoggedFileSystem, clobber=True)
    member = Group({"v": stored(1), "w": stored(1)})
    nodes = dict.fromkeys(("", "g", "g/deep", "g/deep/down"), member)
    contents = build(nodes, zarr_format, consolidated=[group] if consolidated else False)
    place = "bucket/which/is/on/its/own/p.zarr"
    monkeypatch.setattr(LoggedFileSystem, "contents", below(contents, place))
    LoggedFileSystem.log.clear()
    opened(xr.open_dataset, f"logged://{place}/{group}")
    asked = [key for _operation, key in LoggedFileSystem.log.requests]
    assert len(asked) == len(set(asked))
    # Groups between an address and its root are read when the root is known to be one.
    is_one_round = consolidated and group.count("/") == 0
    assert LoggedFileSystem.log.rounds == (1 if is_one_round else 2)
    assert all(key.startswith(place) for key in asked)
    assert {f"{place}/{key}" for key in ("zarr.json", ".zgroup", ".zattrs")} <= {*asked}
    assert group == "" or f"{place}/.zmetadata" not in asked


#: An array without coordinates along its dimensions.
BARE = stored(np.ones((2, 2)), "y x")


@pytest.mark.server
def test_how_many_requests_a_web_server_gets(http_server: FileServer) -> None:
    """Four for an address, four for its root and the listing, one for each coordinate that a group above may have."""
    nodes: Nodes = {"": {}, "grid": {}, "grid/v": stored(1), "deep": {}, "deep/v": BARE}
    contents = build(nodes, consolidated=["", "grid", "deep"])
    http_server.contents = below(contents, "p") | below(contents, "p.zarr")
    requests = {"p/grid": 4, "p.zarr": 4, "p.zarr/grid": 8, "p/deep": 4, "p.zarr/deep": 10}
    for address, count in requests.items():
        http_server.requests.clear()
        opened(xr.open_dataset, f"{http_server.url}/{address}")
        assert len([path for path in http_server.paths() if "/c/" not in path]) == count


@pytest.mark.server
@pytest.mark.parametrize("is_open", [False, True])
def test_s3fs_reads_a_document_by_one_request(s3_server: S3Server, is_open: bool) -> None:
    """Neither the size of an object nor a listing is requested first; of values, if the package opens the store."""
    s3fs = pytest.importorskip("s3fs")
    s3_server.upload("bucket", below(build(ONE, consolidated=True), "p.zarr"))
    store: Any = "s3://bucket/p.zarr"
    options: dict[str, Any] = {"storage_options": s3_server.options}
    if is_open:
        filesystem = s3fs.S3FileSystem(asynchronous=True, **s3_server.options)
        store, options = FsspecStore(filesystem, read_only=True, path="bucket/p.zarr"), {}
    s3_server.requests.clear()
    opened(xr.open_dataset, store, **options)
    heads = s3_server.paths("HEAD")
    assert all("/c/" in path and is_open for path in heads)
    # The documents of the root, its listing, and six chunks.
    assert len(s3_server.requests) - len(heads) == ENDS + 1 + 6


@pytest.mark.server
@pytest.mark.parametrize(
    ("client", "count"), [("s3fs", 15), ("gcsfs", 15), ("obstore", 15), ("http", 6)]
)
def test_requests_and_rounds_of_a_client(
    client: str, count: int, request: pytest.FixtureRequest
) -> None:
    """All documents at one level of references are read in one round, and the values in a further one."""
    if client != "http":
        pytest.importorskip(client)
    if client == "obstore" and not HAS_OBSTORE:
        pytest.skip("this zarr has no ObjectStore")
    kind = {"s3fs": "s3", "obstore": "s3", "gcsfs": "gcs"}.get(client, "http")
    server = request.getfixturevalue(f"{kind}_server")
    contents = build(REFERRING, consolidated=client == "http")
    rounds = []
    for attempt, pause in enumerate(
        (0.1, 0.3, 1.0)
    ):  # on a busy machine, a wave may be seen as two
        bucket = f"bucket-{attempt}"
        options: dict[str, Any] = {"group": "data"}
        if kind == "http":
            server.contents.update(below(contents, bucket))
            store: Any = f"{server.url}/{bucket}"
        else:
            store = server.upload(bucket, contents)
            options["storage_options"] = server.options
        if client == "obstore":
            store = zarr.storage.ObjectStore(server.object_store(bucket), read_only=True)
            del options["storage_options"]
        server.requests.clear()
        server.waves = Waves(pause)
        opened(xr.open_dataset, store, **options)
        rounds.append(server.waves.count)
        server.waves = None
        assert len(server.requests) == count
        if rounds[-1] <= (2 if client == "http" else 4):
            return
    pytest.fail(f"rounds: {rounds}")


# How many requests are in flight: what the client of a store, and its server, allow.


class Server(NamedTuple):
    """Aiohttp's key of connections."""

    host: str
    port: int


def aiohttp_client(kept: int = 1, protocol: str = "http", **limits: int) -> Any:
    """Return what shows a connector as fsspec's filesystem for HTTP does."""
    connections = {Server("host", 80): [0] * kept, Server("another", 80): [0]}
    connector = SimpleNamespace(_conns=connections, **limits)
    return SimpleNamespace(_session=SimpleNamespace(connector=connector), protocol=protocol)


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (SimpleNamespace(), MANY_REQUESTS),
        (SimpleNamespace(_session=None), 100),
        (SimpleNamespace(_session=object()), 100),
        (aiohttp_client(limit=7), 7),
        (aiohttp_client(limit=0, limit_per_host=0), 100),
        (aiohttp_client(limit=50, limit_per_host=8), 8),
        (aiohttp_client(limit=500), 100),
        (aiohttp_client(kept=0, limit=100), FEW_CONNECTIONS),
        (aiohttp_client(kept=0, limit=2), 2),
        (SimpleNamespace(config_kwargs={"max_pool_connections": 30}), 30),
        (SimpleNamespace(config_kwargs=None), 100),
        (aiohttp_client(kept=0, protocol="gs"), 100),
    ],
)
def test_the_client_of_a_store_limits_requests(client: Any, expected: int) -> None:
    class Holder(WrapperStore[Store]):
        def __init__(self, inner: Any) -> None:
            self._store = inner

    is_bucket = getattr(client, "protocol", "") == "gs"
    client.protocol = "gs" if is_bucket else "http"
    path = "bucket/s.zarr" if is_bucket else "http://user@host/s.zarr"
    store: Any = SimpleNamespace(fs=client, path=path, supports_listing=False)
    for it in (store, Holder(Holder(store))):
        assert request_limit(handle_of(it))._value == expected


class ClosingServer(FileServer):
    """Ends each connection after one answer, and counts how many requests it has at once."""

    at_once = most_at_once = 0

    def respond(self, request: Request) -> Response:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(0.02)
        answer = super().respond(request)
        self.at_once -= 1
        return Response(answer.status, answer.body, {**answer.headers, "Connection": "close"})


@pytest.mark.server
def test_a_server_without_persistent_connections_gets_few_concurrent_requests() -> None:
    coordinates = {f"x{n:02}": coordinate(f"x{n:02}", [1.0, 2.0]) for n in range(40)}
    contents = build(Group({"v": stored(np.ones(2), "x00"), **coordinates}), consolidated=True)
    first = 6  # the keys of the root, and its listing: before anything is known
    with serve_http(contents) as other, ClosingServer(contents) as server:
        opened(xr.open_dataset, other.url)  # by the same client, which keeps connections to it
        assert len(opened(xr.open_dataset, server.url).xindexes) == 40
        assert server.most_at_once <= max(first, FEW_CONNECTIONS)


# What was fetched early is what would have been read.


NAN = float("nan")


def hours(values: Any, dims: str = "x", missing: Any = None, **more: Any) -> Array:
    values = np.asarray(values)
    chunks = more.pop("chunks", (1,) * (values.ndim - 1) + (2,) if values.ndim else None)
    return Array(values, tuple(dims.split()), {**HOURS, **more}, missing=missing, chunks=chunks)


def test_times_decode_as_by_engine_zarr() -> None:
    line = np.arange(6)  # of which no first chunk is stored
    arrays = {
        "scalar": hours(line[3], ""),
        "single": hours(line[:1], "one", chunks=(1,)),
        "uneven": hours(line, chunks=(4,)),
        "cube": hours(line.reshape(1, 2, 3), "a y z"),
        "none": hours(line[:0], "n", chunks=(1,)),
        "noleap": hours(line, calendar="noleap"),
        "packed": hours(line.astype("f4"), "x", 3.0, **PACKED),
        "first": hours(line, missing=0),
        "last": hours(line, missing=5),
        "nan": hours([NAN, 1, 2, 3, 4, NAN], missing=NAN, chunks=(6,)),
        "gone": hours([NAN] * 6, missing=NAN),
    }
    store = memory_store(build(Group(arrays), 2))
    compare(xr.open_dataset, store, mask_and_scale=False)
    ours, theirs = compare(xr.open_dataset, store), oracle(xr.open_dataset, store)
    part = {"x": [5, 0, 2], "z": slice(2, None)}
    xr.testing.assert_identical(ours.isel(part), theirs.isel(part))
