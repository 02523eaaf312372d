"""The servers and the delaying store that other tests put stores behind."""

import asyncio
import http.client
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fsspec
import numpy as np
import pytest
import xarray as xr
import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import LocalStore, MemoryStore

from zarr_xgroup.tests.builders import (
    HAS_OBSTORE,
    Array,
    Contents,
    Group,
    ZarrFormat,
    build,
    memory_store,
    write_local,
)
from zarr_xgroup.tests.servers import (
    DelayingStore,
    Fault,
    FileServer,
    GCSServer,
    Proxy,
    S3Server,
    Server,
    is_listing,
    redirect,
    serve_http,
    stall,
)

pytestmark = pytest.mark.server

FILES: Contents = {"a/zarr.json": b'{"a": 1}', "a/c/0": b"0123456789", "a/\u00e9 &?": b"odd"}
SMALL = Group({"x": Array([1.0, 2.0, 3.0], ("x",)), "v": Array(np.arange(3.0), ("x",))})


@pytest.fixture
def files() -> Iterator[FileServer]:
    with serve_http(dict(FILES)) as server:
        yield server


@pytest.fixture
def _s3fs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let s3fs not try again what botocore has tried."""
    s3fs: Any = pytest.importorskip("s3fs")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)


def ask(
    server: Server, path: str, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, bytes]:
    """Return the status and the body of a response."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=5)
    try:
        connection.request(method, path, body, headers)
        with connection.getresponse() as response:
            return response.status, response.read()
    finally:
        connection.close()


# Files, and what all servers have in common.


def test_files_are_served_whole_and_in_parts(files: FileServer) -> None:
    assert ask(files, "/a/c/0") == (200, b"0123456789")
    assert ask(files, "/a/c/0", "HEAD") == (200, b"")
    assert ask(files, "/a/c/0", Range="bytes=2-4") == (206, b"234")
    assert ask(files, "/a/c/0", Range="bytes=8-") == (206, b"89")
    assert ask(files, "/a/c/0", Range="bytes=-3") == (206, b"789")
    assert ask(files, "/a/c/0", Range="bytes=10-") == (416, b"")
    assert ask(files, "/a/%C3%A9%20%26%3F?query") == (200, b"odd")
    assert ask(files, "/a/c/1")[0] == 404
    assert ask(files, "/a")[0] == 403
    assert ask(files, "/a/c/0", "PUT", b"new")[0] == 405
    files.contents["a/c/1"] = b"new"
    assert ask(files, "/a/c/1") == (200, b"new")


def test_requests_are_recorded(files: FileServer) -> None:
    before = time.monotonic()
    ask(files, "/a/c/0?b=1", Range="bytes=0-1")
    ask(files, "/a", "HEAD")
    first, second = files.requests
    assert (first.method, first.path, first.query) == ("GET", "/a/c/0", "b=1")
    assert first.headers["range"] == "bytes=0-1"
    assert before < first.start < second.start < time.monotonic()
    assert files.paths() == ["/a/c/0", "/a"]
    assert files.paths("HEAD") == ["/a"]
    files.reset()
    assert files.requests == []


def test_connections_are_kept(files: FileServer) -> None:
    connection = http.client.HTTPConnection(urlsplit(files.url).netloc, timeout=5)
    connection.connect()
    kept = connection.sock
    for _ in range(3):
        connection.request("GET", "/a/c/0")
        assert connection.getresponse().read() == b"0123456789"
        assert connection.sock is kept
    connection.close()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(404), (404, b"")),
        (Fault(403, b"no"), (403, b"no")),
        (Fault(body=b"<html>"), (200, b"<html>")),
        (Fault(body=b""), (200, b"")),
        (redirect("/a/zarr.json"), (302, b"")),
    ],
)
def test_a_fault_answers_instead(
    files: FileServer, fault: Fault, expected: tuple[int, bytes]
) -> None:
    files.faults["c/0"] = fault
    assert ask(files, "/a/c/0") == expected
    assert ask(files, "/a/zarr.json") == (200, FILES["a/zarr.json"])
    assert fault.shown == 1
    files.reset()
    assert ask(files, "/a/c/0") == (200, b"0123456789")


def test_a_fault_that_is_over(files: FileServer) -> None:
    files.faults = {"c/0": Fault(500, times=2), "*": Fault(404, times=1)}
    assert [ask(files, "/a/c/0")[0] for _ in range(4)] == [500, 500, 404, 200]


def test_a_fault_of_some_requests(files: FileServer) -> None:
    files.faults[lambda request: request.method == "HEAD"] = Fault(405)
    assert ask(files, "/a/c/0", "HEAD")[0] == 405
    assert ask(files, "/a/c/0")[0] == 200


def test_a_truncated_body(files: FileServer) -> None:
    files.faults["*"] = Fault(truncate=3)
    with pytest.raises(http.client.IncompleteRead) as error:
        ask(files, "/a/c/0")
    assert error.value.partial == b"0123456"
    assert ask(files, "/a/c/0", "HEAD") == (200, b"")


def test_a_reset_connection(files: FileServer) -> None:
    files.faults["*"] = Fault(reset=True, times=1)
    with pytest.raises(ConnectionResetError):
        ask(files, "/a/c/0")
    assert ask(files, "/a/c/0")[0] == 200


def test_a_slow_first_byte(files: FileServer) -> None:
    files.faults["*"] = Fault(delay=0.1)
    start = time.monotonic()
    assert ask(files, "/a/c/0")[0] == 200
    assert 0.1 < time.monotonic() - start < 1


@pytest.mark.parametrize("delay", [float("inf"), 60])
def test_what_is_held_does_not_hold_the_server(delay: float) -> None:
    threads = threading.active_count()
    with socket.socket() as idle, socket.socket() as held:
        with serve_http(FILES) as server:
            server.faults["*"] = Fault(delay=delay)
            parts = urlsplit(server.url)
            idle.connect((parts.hostname, parts.port))
            held.connect((parts.hostname, parts.port))
            held.settimeout(0.1)
            held.sendall(b"GET /a HTTP/1.1\r\nHost: here\r\n\r\n")
            with pytest.raises(TimeoutError):
                held.recv(1)
            start = time.monotonic()
        assert time.monotonic() - start < 0.5
    assert threading.active_count() == threads


def test_reset_lets_go_of_what_is_held(files: FileServer) -> None:
    files.faults["*"] = stall()
    failed: list[Exception] = []

    def wait() -> None:
        try:
            ask(files, "/a")
        except ConnectionError as error:
            failed.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while not files.requests:
        time.sleep(0.001)
    files.reset()
    thread.join(1)
    assert len(failed) == 1
    assert ask(files, "/a/c/0")[0] == 200


def test_a_proxy_passes_everything_on(files: FileServer) -> None:
    with Proxy(files.url) as proxy:
        assert ask(proxy, "/a/c/0?b=%20", Range="bytes=2-4") == (206, b"234")
        assert ask(proxy, "/a/c/0", "HEAD") == (200, b"")
        assert ask(proxy, "/a/c/0", "PUT", b"new")[0] == 405
        assert ask(proxy, "/a/c/0", "DELETE")[0] == 405
        assert files.requests[0].target == "/a/c/0?b=%20"
        assert files.requests[2].body == b"new"
        proxy.faults["0"] = Fault(truncate=1)
        with pytest.raises(http.client.IncompleteRead):
            ask(proxy, "/a/c/0")
        files.faults["*"] = Fault(reset=True)
        assert ask(proxy, "/a")[0] == 502


def opened(place: Any, **options: Any) -> xr.Dataset:
    """Open by engine zarr, and check values."""
    with xr.open_dataset(place, engine="zarr", **options) as dataset:
        np.testing.assert_array_equal(dataset["v"], [0.0, 1.0, 2.0])
        return dataset


# S3.


@pytest.mark.usefixtures("_s3fs")
def test_what_is_private_in_s3(s3_server: S3Server) -> None:
    s3_server.upload("private", FILES)
    s3_server.upload("public", FILES, public=True)
    filesystem = fsspec.filesystem("s3", **s3_server.anonymous)
    assert filesystem.cat_file("public/a/c/0") == b"0123456789"
    assert filesystem.find("public/a/c") == ["public/a/c/0"]
    with pytest.raises(PermissionError):
        filesystem.cat_file("private/a/c/0")
    s3_server.faults[is_listing] = Fault(403)
    with pytest.raises(PermissionError):
        filesystem.ls("private")


@pytest.mark.usefixtures("_s3fs")
@pytest.mark.parametrize(
    ("fault", "error"),
    [(Fault(404), FileNotFoundError), (Fault(403), PermissionError), (Fault(500), OSError)],
)
def test_faults_of_s3(s3_server: S3Server, fault: Fault, error: type[Exception]) -> None:
    s3_server.upload("bucket", FILES)
    once = {"config_kwargs": {"retries": {"total_max_attempts": 1}}}
    filesystem = fsspec.filesystem("s3", **s3_server.options, **once)
    s3_server.faults["/0"] = fault
    with pytest.raises(error):
        filesystem.cat_file("bucket/a/c/0")


def test_s3_by_obstore(s3_server: S3Server) -> None:
    obstore: Any = pytest.importorskip("obstore")
    s3_server.upload("private", FILES)
    s3_server.upload("public", FILES, public=True)
    assert obstore.get(s3_server.object_store("private", "a"), "c/0").bytes() == b"0123456789"
    anonymous = s3_server.object_store("public", anonymous=True)
    assert obstore.get(anonymous, "a/c/0").bytes() == b"0123456789"
    forbidden = s3_server.object_store("private", anonymous=True)
    with pytest.raises(obstore.exceptions.PermissionDeniedError):
        obstore.get(forbidden, "a/c/0")
    with pytest.raises(FileNotFoundError):
        obstore.get(anonymous, "a/c/1")


@pytest.mark.skipif(not HAS_OBSTORE, reason="this zarr has no ObjectStore, or needs obstore")
def test_a_store_in_s3_by_obstore(s3_server: S3Server) -> None:
    s3_server.upload("bucket", build(SMALL))
    storage: Any = zarr.storage  # of which older versions have no ObjectStore
    opened(storage.ObjectStore(s3_server.object_store("bucket")), consolidated=False)
    s3_server.reset()
    once = s3_server.object_store(
        "bucket", retry_config={"max_retries": 0}, client_options={"timeout": "100ms"}
    )
    s3_server.faults["*"] = stall()
    start = time.monotonic()
    with pytest.raises(Exception, match="Generic S3 error"):
        opened(storage.ObjectStore(once, read_only=True), consolidated=False)
    assert time.monotonic() - start < 2


# Google Cloud Storage.


def test_faults_of_gcs(gcs_server: GCSServer) -> None:
    pytest.importorskip("gcsfs")
    gcs_server.upload("bucket", FILES)
    filesystem = fsspec.filesystem("gs", **gcs_server.options)
    gcs_server.faults["/0"] = Fault(500, times=2)
    assert filesystem.cat_file("bucket/a/c/0") == b"0123456789"
    assert gcs_server.paths() == ["/download/storage/v1/b/bucket/o/a/c/0"] * 3
    gcs_server.faults["/0"] = Fault(403)
    with pytest.raises(OSError, match="Forbidden"):
        filesystem.cat_file("bucket/a/c/0")
    gcs_server.faults[is_listing] = Fault(403)
    with pytest.raises(OSError, match="Forbidden"):
        filesystem.ls("bucket/a")


# A store that delays.

Make = Callable[[Contents, Path], Any]


def _memory(contents: Contents, _path: Path) -> MemoryStore:
    return memory_store(contents)


def _local(contents: Contents, path: Path) -> LocalStore:
    return LocalStore(write_local(contents, path))


each_store = pytest.mark.parametrize("make", [_memory, _local])


@each_store
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_delaying_store_is_a_store(make: Make, zarr_format: ZarrFormat, tmp_path: Path) -> None:
    store = DelayingStore(make(build(SMALL, zarr_format), tmp_path), 0.001)
    opened(store, consolidated=False)
    group = zarr.open_group(store, mode="r")
    assert sorted(group.array_keys()) == ["v", "x"]
    assert store.supports_listing
    assert store.supports_writes
    assert store.supports_deletes
    name = "v/c/0" if zarr_format == 3 else "v/0"
    assert ("get", name) in store.requests
    assert 3 <= store.rounds < len(store.requests)


@each_store
def test_a_delaying_store_is_pickled_without_its_log(make: Make, tmp_path: Path) -> None:
    store = DelayingStore(make(build(SMALL), tmp_path), 0.001)
    opened(store, consolidated=False)
    copy = pickle.loads(pickle.dumps(store))
    assert copy == store
    assert copy.delay == store.delay
    assert (copy.requests, copy.rounds) == ([], 0)
    opened(copy, consolidated=False)
    assert copy.rounds == store.rounds


def test_rounds_are_requests_that_wait_for_one_another() -> None:
    store = DelayingStore(memory_store({f"{name}": b"" for name in "abcd"}), 0.02)
    prototype = default_buffer_prototype()

    async def read() -> None:
        await asyncio.gather(*(store.get(key, prototype) for key in "abcd"))
        assert (store.rounds, store.log.most_in_flight) == (1, 4)
        await asyncio.gather(store.exists("a"), store.get("missing", prototype))
        assert store.rounds == 2
        assert sorted([key async for key in store.list()]) == ["a", "b", "c", "d"]
        assert store.rounds == 3
        await store.get_partial_values(prototype, [("a", None), ("b", None)])
        assert store.rounds == 4

    start = time.monotonic()
    sync(read())
    assert 0.08 <= time.monotonic() - start < 1
    assert len(store.requests) == 9
    assert store.requests[-3:] == [
        ("list", ""),
        ("get_partial_values", "a"),
        ("get_partial_values", "b"),
    ]
    store.log.clear()
    assert (store.requests, store.rounds) == ([], 0)


def test_a_long_request_beside_short_ones_is_one_round() -> None:
    slow = DelayingStore(memory_store({}), 0.1)
    quick = DelayingStore(memory_store({}), 0.01)
    quick.log = slow.log

    async def read() -> None:
        async def chain() -> None:
            await quick.exists("a")
            await quick.exists("b")

        await asyncio.gather(slow.exists("slow"), chain())
        await quick.exists("c")

    sync(read())
    assert slow.rounds == 3
