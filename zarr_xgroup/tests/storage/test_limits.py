"""How many requests are in flight: what the client of a store, and its server, allow."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr
import zarr
from zarr.abc.store import Store
from zarr.storage import WrapperStore

from zarr_xgroup import XGroupStoreError
from zarr_xgroup.storage.reading import FEW_CONNECTIONS, MANY_REQUESTS, request_limit
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    build,
    coordinate,
    memory_store,
    opened,
)
from zarr_xgroup.tests.servers import FileServer, Request, Response, serve_http


def allowed(store: Any) -> int:
    """Return how many requests to a store may be in flight."""
    limit: asyncio.Semaphore = request_limit(store)
    return limit._value


def store_of(client: Any) -> Any:
    """Return what has a client as zarr's FsspecStore has one."""
    return SimpleNamespace(fs=client, path="http://user@host/s.zarr")


class Server(NamedTuple):
    """Aiohttp's key of connections."""

    host: str
    port: int


def aiohttp_client(kept: int = 1, **limits: int) -> Any:
    """Return what shows a connector as fsspec's filesystem for HTTP does."""
    connections = {Server("host", 80): [0] * kept, Server("another", 80): [0]}
    connector = SimpleNamespace(_conns=connections, **limits)
    return SimpleNamespace(_session=SimpleNamespace(connector=connector))


def test_a_store_without_a_client() -> None:
    assert allowed(memory_store({})) == MANY_REQUESTS == 100


@pytest.mark.parametrize(("setting", "expected"), [(10, 100), (250, 250), (None, 100)])
def test_a_higher_setting_of_zarr(setting: int | None, expected: int) -> None:
    with zarr.config.set({"async.concurrency": setting}):
        assert allowed(memory_store({})) == expected


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (SimpleNamespace(), 100),
        (SimpleNamespace(_session=None), 100),
        (SimpleNamespace(_session=object()), 100),
        (aiohttp_client(limit=100), 100),
        (aiohttp_client(limit=7), 7),
        (aiohttp_client(limit=0, limit_per_host=0), 100),
        (aiohttp_client(limit=50, limit_per_host=8), 8),
        (aiohttp_client(limit=500), 100),
        (aiohttp_client(kept=0, limit=100), FEW_CONNECTIONS),
        (aiohttp_client(kept=0, limit=2), 2),
        (SimpleNamespace(config_kwargs={"max_pool_connections": 30}), 30),
        (SimpleNamespace(config_kwargs={}), 100),
        (SimpleNamespace(config_kwargs=None), 100),
    ],
)
def test_the_connections_of_a_client(client: Any, expected: int) -> None:
    assert allowed(store_of(client)) == expected


def test_the_client_of_a_store_that_is_wrapped() -> None:
    class Holder(WrapperStore[Store]):
        def __init__(self, inner: Any) -> None:
            self._store = inner

    assert allowed(Holder(Holder(store_of(aiohttp_client(limit=7))))) == 7


class CountingServer(FileServer):
    """Counts how many requests it has at once, and may end each connection after one answer.

    It holds the answers to requests for chunks until it has had more requests at once than `most`, or for
    some seconds.
    """

    def __init__(self, contents: Contents, most: int, seconds: float, *, closing: bool) -> None:
        super().__init__(contents)
        self.closing = closing
        self.most, self.seconds = most, seconds
        self.at_once = self.most_at_once = 0
        self._changed = threading.Condition()

    def respond(self, request: Request) -> Response:
        with self._changed:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self._changed.notify_all()
            if "/c/" in request.path:
                self._changed.wait_for(lambda: self.most_at_once > self.most, self.seconds)
        answer = super().respond(request)
        with self._changed:
            self.at_once -= 1
        headers = {**answer.headers, "Connection": "close"} if self.closing else answer.headers
        return Response(answer.status, answer.body, headers)


@pytest.mark.server
def test_a_port_that_none_can_be_is_told_after_another_server_kept_a_connection() -> None:
    with serve_http(build(Group(), consolidated=True)) as other:
        opened(xr.open_dataset, other.url)
        with pytest.raises(XGroupStoreError):
            xr.open_dataset("http://127.0.0.1:99999/s.zarr", engine="xgroup")


@pytest.mark.server
@pytest.mark.parametrize("closing", [True, False])
def test_a_server_that_keeps_no_connection_is_asked_for_little_at_once(closing: bool) -> None:
    coordinates = {f"x{n:02}": coordinate(f"x{n:02}", [1.0, 2.0]) for n in range(40)}
    contents = build(Group({"v": Array(np.ones(2), ("x00",)), **coordinates}), consolidated=True)
    first = 6  # the keys of the root, and its listing: before anything is known
    # More than may be are waited for in vain, as many as there have to be until they have come.
    limits = (max(first, FEW_CONNECTIONS), 0.1) if closing else (2 * FEW_CONNECTIONS, 60)
    counting = CountingServer(contents, *limits, closing=closing)
    with serve_http(contents) as other, counting as server:
        opened(xr.open_dataset, other.url)  # by the same client, which keeps connections to it
        dataset = opened(xr.open_dataset, server.url)
        assert len(dataset.xindexes) == 40
        assert (server.most_at_once <= server.most) == closing
