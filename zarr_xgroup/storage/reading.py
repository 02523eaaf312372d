"""Metadata documents, listings of groups and values of arrays, read concurrently and waited for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar, cast

import numpy as np
import zarr
from zarr.abc.store import RangeByteRequest, Store
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import FsspecStore

from zarr_xgroup._compat import sync
from zarr_xgroup.errors import XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import Found
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.storage.failures import reason_of
from zarr_xgroup.storage.foreign import (
    TooLargeError,
    check_size,
    has_bounded_client,
    reading_at_most,
)
from zarr_xgroup.storage.places import Link, innermost

T = TypeVar("T")
A = TypeVar("A")

#: How many requests are in flight: as many as aiohttp makes connections by default.
MANY_REQUESTS = 100
#: How many connections are opened at once: a simple server queues no more (``request_queue_size`` of
#: Python's `socketserver` is 5), and connections beyond wait for a second and more.
FEW_CONNECTIONS = 5


class StoreReader:
    """Reads documents, listings and values of a store, many at once.

    Parameters
    ----------
    store : zarr.abc.store.Store
        The store.
    timeout : float, optional
        How many seconds all requests may take together, from now on. Default: no limit.
    limit : asyncio.Semaphore, optional
        Limits how many requests are in flight; shared by all readers of the store. Default: a new one.
    most : int, optional
        How many bytes a document or chunk may have. Default: no limit.
    """

    def __init__(
        self,
        store: Store,
        timeout: float | None = None,
        limit: asyncio.Semaphore | None = None,
        most: int | None = None,
    ) -> None:
        self._store = store
        self._deadline = None
        if timeout is not None:
            self._deadline = asyncio.get_running_loop().time() + timeout
        self._prototype = default_buffer_prototype()
        self._limit = limit or request_limit(store)
        self._most = most
        # A range of one byte more than allowed shows whether the document is too large.
        self._range = None
        if most is not None and not has_bounded_client(store):
            self._range = RangeByteRequest(0, most + 1)

    async def node(self, path: str, keys: Iterable[str]) -> Found:
        """Return the metadata documents of the node at `path` that exist, by key; errors of reading are values, too."""
        keys = tuple(keys)

        async def content(key: str) -> bytes | None:
            async with self._limit:
                buffer = await self._store.get(key, self._prototype, self._range)
            if buffer is None:
                return None
            check_size(len(buffer))
            return buffer.to_bytes()

        def document(name: str) -> Awaitable[bytes | XGroupStoreError | None]:
            key = join_path(path, name)
            return self._attempt(partial(content, key), f"/{key}", is_document=True)

        count = _COUNT.get()
        count(0, 1)
        values = await gather(document, keys)
        count(1, 0)
        return {key: value for key, value in zip(keys, values, strict=True) if value is not None}

    async def v2_member(self, path: str) -> tuple[Found, set[str] | XGroupStoreError | None]:
        """Return the metadata documents of a v2 node, and the names listed in it if it is a group, else None.

        Most members are arrays, so ``.zgroup`` is read only if there is no ``.zarray``. The node is listed
        meanwhile; the listing is cancelled if the node is no group.
        """
        found = await self.node(path, (".zarray", ".zattrs"))
        if isinstance(found.get(".zarray"), bytes):
            return found, None
        listing = asyncio.ensure_future(self.names(path))
        try:
            found = {**found, **await self.node(path, (".zgroup",))}
            is_group = isinstance(found.get(".zgroup"), bytes)
            return found, await listing if is_group else None
        finally:
            listing.cancel()

    async def names(self, group: str) -> set[str] | XGroupStoreError:
        """Return the names of keys and prefixes directly below a group, nodes or not, or the error of listing."""

        async def listed() -> set[str]:
            names = {name.strip("/") async for name in self._store.list_dir(group)} - {""}
            if len(names) == 1 and names <= {group, *group.split("/")}:
                # zarr before 3.2, where a store is the root of an fsspec filesystem, as in an archive:
                # it lists the group itself, or the groups above, in place of members.
                keys = [key async for key in self._store.list_prefix(f"{group}/")]
                below = f"{group}/"
                names = {
                    key.lstrip("/").removeprefix(below).partition("/")[0]
                    for key in keys
                    if key.lstrip("/").startswith(below)
                }
            return names or await self._names_in_references(group)

        return await self._attempt(listed, f"/{group}")

    async def _names_in_references(self, group: str) -> set[str]:
        """Return the names directly below a group in a reference filesystem of fsspec (kerchunk), none in others.

        zarr lists a path with a slash in front, for which a reference filesystem finds nothing.
        """
        if not isinstance(self._store, FsspecStore):
            return set()
        filesystem: Any = self._store.fs
        if not group or getattr(filesystem, "protocol", None) != "reference":
            return set()
        path = join_path(self._store.path.strip("/"), group)
        try:
            found = await filesystem._ls(path, detail=False)  # the method that zarr calls
        except FileNotFoundError:
            return set()
        return {name.rpartition("/")[2] for name in found}

    async def values(self, array: zarr.Array[Any], place: str, *, whole: bool) -> Any:
        """Return all values of an array if `whole`, else the first and the last one; or the XGroupStoreError of reading.

        `place` names the array in the error.
        """

        async def part(selection: Any) -> Any:
            async with self._limit:  # zarr itself limits how many chunks of an array it reads
                return await array._async_array.getitem(selection)

        async def values() -> Any:
            if whole:
                return np.asarray(await part(slice(None)))
            ends = [(0,) * len(array.shape), tuple(size - 1 for size in array.shape)]
            if array.nchunks == 1:
                found = np.asarray(await part(Ellipsis))
                return [found[end] for end in ends]
            return await asyncio.gather(*map(part, ends))

        return await self._attempt(values, place)

    async def _attempt(
        self, request: Callable[[], Awaitable[T]], place: str, *, is_document: bool = False
    ) -> T | XGroupStoreError:
        """Return the result of a request, or the XGroupStoreError why it failed.

        Storage libraries and codecs raise errors with no common base class, so all are caught; the error
        is kept as the cause of the one returned, which is raised or warned of later.
        """
        try:
            if self._deadline is None and self._most is None:
                return await request()
            async with asyncio.timeout_at(self._deadline):
                with reading_at_most(self._most):
                    return await request()
        except Exception as error:  # noqa: BLE001
            reason = reason_of(error)
            now, deadline = asyncio.get_running_loop().time(), self._deadline
            if isinstance(error, TimeoutError) and deadline is not None and now >= deadline:
                reason = _("timeout: no answer in the time that cross_store_timeout gives")
            if is_document and isinstance(error, TooLargeError):
                reason = _("{reason}, the most that cross_store_max_bytes allows").format(
                    reason=error
                )
            message = _("{place} cannot be read: {reason}").format(place=place, reason=reason)
            problem = XGroupStoreError(message)
            problem.__cause__ = error
            return problem


async def gather(function: Callable[[A], Awaitable[T]], arguments: Iterable[A]) -> list[T]:
    """Return the results of an asynchronous function for each argument, awaited concurrently."""
    return await asyncio.gather(*(function(argument) for argument in arguments))


# How many documents are read, for a display of progress.


#: Called with the number of nodes whose documents were read since, or are absent, and of nodes asked for since.
#: A context variable, so that coroutines in zarr's thread use that of the thread that opens a store.
_COUNT: ContextVar[Callable[[int, int], object]] = ContextVar(
    "_COUNT", default=lambda _read, _asked: None
)


@contextmanager
def counted(tell: Callable[[int, int], object]) -> Iterator[None]:
    """Call `tell`, whenever documents are read within, with how many nodes were read and how many asked for so far."""
    total = [0, 0]

    def count(read: int, asked: int) -> None:
        total[:] = total[0] + read, total[1] + asked
        tell(*total)

    token = _COUNT.set(count)
    try:
        yield
    finally:
        _COUNT.reset(token)


# How many requests are in flight.


def request_limit(store: Store) -> asyncio.Semaphore:
    """Return a semaphore that limits how many requests to a store are in flight.

    zarr's ``async.concurrency``, 10 by default, is meant for chunks that have to be decoded. An open reads
    many small documents: 100 requests are in flight at once, more if zarr's setting is higher, and fewer if
    the store's client makes fewer connections, or the server closes each connection after one response (as
    ``python -m http.server``).
    """
    limits = [max(MANY_REQUESTS, zarr.config.get("async.concurrency") or 0)]
    store = innermost(store)
    client: Any = getattr(store, "fs", None)
    connector = getattr(getattr(client, "_session", None), "connector", None)  # aiohttp's
    configured = getattr(client, "config_kwargs", None)  # botocore's
    pool = configured.get("max_pool_connections") if isinstance(configured, Mapping) else None
    for limit in (getattr(connector, "limit", 0), getattr(connector, "limit_per_host", 0), pool):
        if isinstance(limit, int) and limit > 0:  # 0 is aiohttp's word for no limit
            limits.append(limit)
    kept = getattr(connector, "_conns", None)  # open connections by server: stores share clients
    if isinstance(kept, Mapping):
        server = Link.parse(str(getattr(store, "path", "")))
        if not any(kept[key] and server.is_at(key.host, key.port) for key in kept):
            limits.append(FEW_CONNECTIONS)
    return asyncio.Semaphore(min(limits))


# Waiting for coroutines: the one place where an open call blocks.

#: zarr's event loop by process: a forked process has a loop of its own.
_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}


def wait(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in zarr's event loop and return its result.

    Ctrl-C interrupts the main thread. zarr's `sync` waits with locks that its event loop needs; if it is
    interrupted while it holds one, all later calls hang. Waiting for a `SimpleQueue` can be interrupted at any time.
    """
    answers: SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = SimpleQueue()

    async def answer() -> None:
        try:
            answers.put((await coroutine, None))
        except BaseException as error:  # noqa: BLE001 - raised again below
            answers.put((None, error))

    asyncio.run_coroutine_threadsafe(answer(), _event_loop())
    result, error = answers.get()
    try:
        if error is not None:
            raise error
        return cast("T", result)
    finally:
        del error  # its traceback refers to this frame: a reference cycle


def _event_loop() -> asyncio.AbstractEventLoop:
    """Return zarr's event loop, which runs in a thread of its own. Raise zarr's SyncError within that thread."""
    loop = _LOOPS.get(os.getpid())
    if loop is None or loop.is_closed() or loop is asyncio._get_running_loop():
        loop = _LOOPS[os.getpid()] = sync(_running_loop())
    return loop


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
