"""How many requests to a store may be in flight at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import zarr
from zarr.abc.store import Store
from zarr.storage import WrapperStore

#: As many as aiohttp makes connections.
MANY_REQUESTS = 100
#: As many new connections as a server holds that is programmed without a thought for it
#: (``request_queue_size`` of Python's `socketserver`): those beyond wait for a second and more.
FEW_CONNECTIONS = 5


def request_limit(store: Store) -> asyncio.Semaphore:
    """Return what keeps requests to a store from being too many at once.

    zarr's ``async.concurrency``, 10 by default, is made for chunks that have to be decoded.
    What an open asks for is small, and there is much of it: a hundred requests are in flight at
    once, more if zarr's setting is higher, and fewer if the store's client makes fewer
    connections, or the server ends each of them after one answer (as ``python -m http.server``).
    """
    limit = max(MANY_REQUESTS, zarr.config.get("async.concurrency") or 0)
    return asyncio.Semaphore(min([limit, *_connections(store)]))


def _connections(store: Store) -> Iterator[int]:
    """Yield how many connections the client of a store makes, as far as that can be known."""
    while isinstance(store, WrapperStore):
        store = store._store
    client: Any = getattr(store, "fs", None)
    connector = getattr(getattr(client, "_session", None), "connector", None)  # aiohttp's
    configured = getattr(client, "config_kwargs", None)  # botocore's
    pool = configured.get("max_pool_connections") if isinstance(configured, Mapping) else None
    for limit in (getattr(connector, "limit", 0), getattr(connector, "limit_per_host", 0), pool):
        if isinstance(limit, int) and limit > 0:  # 0 is aiohttp's word for no limit
            yield limit
    kept = getattr(connector, "_conns", None)
    if isinstance(kept, Mapping) and not any(kept.values()):
        yield FEW_CONNECTIONS
