"""The servers and the delaying store that other tests put stores behind."""

import asyncio
import http.client
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

from zarr_xgroup.tests.builders import Contents, memory_store
from zarr_xgroup.tests.servers import DelayingStore, FileServer, Server, serve_http

pytestmark = pytest.mark.server

FILES: Contents = {"a/zarr.json": b'{"a": 1}', "a/c/0": b"0123456789", "a/\u00e9 &?": b"odd"}


@pytest.fixture
def files() -> Iterator[FileServer]:
    with serve_http(dict(FILES)) as server:
        yield server


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


# A store that delays.


def test_rounds_are_requests_that_wait_for_one_another() -> None:
    store = DelayingStore(memory_store({f"{name}": b"" for name in "abcd"}), 0.02)
    prototype = default_buffer_prototype()

    async def read() -> None:
        await asyncio.gather(*(store.get(key, prototype) for key in "abcd"))
        assert (store.rounds, store.log.most_in_flight) == (1, 4)
        await asyncio.gather(store.exists("a"), store.get("missing", prototype))
        assert store.rounds == 2
        assert sorted([key async for key in store.list_dir("")]) == ["a", "b", "c", "d"]
        assert store.rounds == 3
        await store.get_partial_values(prototype, [("a", None), ("b", None)])
        assert store.rounds == 4

    start = time.monotonic()
    sync(read())
    assert 0.08 <= time.monotonic() - start < 1
    assert len(store.requests) == 9
    assert store.requests[-3:] == [
        ("list_dir", ""),
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
