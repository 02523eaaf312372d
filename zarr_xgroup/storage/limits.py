"""How many requests to a store may be in flight at once, and how much may be read of others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import zarr
from zarr.abc.store import Store

from zarr_xgroup.i18n import _
from zarr_xgroup.options import DEFAULTS
from zarr_xgroup.storage.opening import innermost

if TYPE_CHECKING:
    import aiohttp  # at run time where it is needed: it takes longer than all of this package

#: As many as aiohttp makes connections.
MANY_REQUESTS = 100
#: As many new connections as a server holds that is programmed without a thought for it
#: (``request_queue_size`` of Python's `socketserver`): those beyond wait for a second and more.
FEW_CONNECTIONS = 5

#: How many bytes what is being read may have; a context for each task that reads.
_MOST_BYTES: ContextVar[int | None] = ContextVar("most_bytes", default=None)


@dataclass(frozen=True)
class ForeignLimits:
    """How much one open may read of foreign stores; None for no limit.

    Attributes
    ----------
    timeout : float or None
        How many seconds it waits each time that it needs documents of a store, or values.
    document : int or None
        How many bytes a metadata document may have.
    stores : int or None
        How many stores it follows references to.
    """

    timeout: float | None = DEFAULTS["cross_store_timeout"]
    document: int | None = DEFAULTS["cross_store_max_bytes"]
    stores: int | None = DEFAULTS["cross_store_max_stores"]


#: Those of the store that the user opens.
NO_LIMITS = ForeignLimits(None, None, None)


class TooLargeError(Exception):
    """A document or chunk of a foreign store is larger than an open reads."""


@contextmanager
def at_most(size: int | None) -> Iterator[None]:
    """Stop reading beyond a size within this context, if the HTTP client of the store can."""
    token = _MOST_BYTES.set(size)
    try:
        yield
    finally:
        _MOST_BYTES.reset(token)


def check_size(size: int) -> None:
    """Raise TooLargeError if what is being read is larger than it may be."""
    most = _MOST_BYTES.get()
    if most is not None and size > most:
        raise TooLargeError(_("it has more than {count} bytes").format(count=most))


async def plain_client(**options: Any) -> aiohttp.ClientSession:
    """Return an HTTP client as fsspec makes it."""
    import aiohttp

    return aiohttp.ClientSession(**options)


async def bounded_client(
    make: Callable[..., Awaitable[aiohttp.ClientSession]], **options: Any
) -> aiohttp.ClientSession:
    """Return an HTTP client that reads no more of an answer than `at_most` allows.

    For the option ``get_client`` of fsspec's `HTTPFileSystem`. To ask for a range is not enough:
    a server may ignore that.
    """
    return await make(**{"response_class": _bounded_response(), **options})


def is_bounded(store: Store) -> bool:
    """Tell whether the HTTP client of a store stops by itself when an answer is too large."""
    made_by = getattr(getattr(store, "fs", None), "get_client", None)
    return isinstance(made_by, partial) and made_by.func is bounded_client


@cache
def _bounded_response() -> type[aiohttp.ClientResponse]:
    import aiohttp

    class BoundedResponse(aiohttp.ClientResponse):
        """An HTTP response of which no more bytes are read than `at_most` allows."""

        async def read(self) -> bytes:
            """Return the body, or raise TooLargeError and close the connection."""
            if _MOST_BYTES.get() is None:
                return await super().read()
            body = bytearray()
            try:
                check_size(self.content_length or 0)
                async for part in self.content.iter_any():
                    body += part
                    check_size(len(body))
            except BaseException:
                self.close()
                raise
            return bytes(body)

    return BoundedResponse


def request_limit(store: Store) -> asyncio.Semaphore:
    """Return a semaphore that limits how many requests to a store are in flight.

    zarr's ``async.concurrency``, 10 by default, is made for chunks that have to be decoded.
    What an open asks for is small, and there is much of it: a hundred requests are in flight at
    once, more if zarr's setting is higher, and fewer if the store's client makes fewer
    connections, or the server ends each of them after one answer (as ``python -m http.server``).
    """
    limit = max(MANY_REQUESTS, zarr.config.get("async.concurrency") or 0)
    return asyncio.Semaphore(min([limit, *_connections(store)]))


def _connections(store: Store) -> Iterator[int]:
    """Yield the limits of connections that the HTTP clients of a store have."""
    store = innermost(store)
    client: Any = getattr(store, "fs", None)
    connector = getattr(getattr(client, "_session", None), "connector", None)  # aiohttp's
    configured = getattr(client, "config_kwargs", None)  # botocore's
    pool = configured.get("max_pool_connections") if isinstance(configured, Mapping) else None
    for limit in (getattr(connector, "limit", 0), getattr(connector, "limit_per_host", 0), pool):
        if isinstance(limit, int) and limit > 0:  # 0 is aiohttp's word for no limit
            yield limit
    kept = getattr(connector, "_conns", None)
    if isinstance(kept, Mapping) and not any(it for key, it in kept.items() if _is_to(key, store)):
        yield FEW_CONNECTIONS


def _is_to(key: Any, store: Store) -> bool:
    """Tell whether aiohttp's key of connections is that of a store's server: stores share clients."""
    url = urlsplit(str(getattr(store, "path", "")))
    place = url.netloc.rpartition("@")[2].lower().replace("[", "").replace("]", "")
    host, port = getattr(key, "host", None), getattr(key, "port", None)
    is_default = port == {"http": 80, "https": 443}.get(url.scheme)
    return place == f"{host}:{port}" or (is_default and place == host)
