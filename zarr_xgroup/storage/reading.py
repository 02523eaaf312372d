"""Metadata documents, listings of groups and values of arrays, read concurrently and waited for."""

from __future__ import annotations

import asyncio
import threading
from _thread import start_new_thread
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
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
from zarr_xgroup.storage.foreign import TooLargeError, at_most, check_size, is_bounded
from zarr_xgroup.storage.places import Link, innermost

T = TypeVar("T")
A = TypeVar("A")

#: As many requests as aiohttp makes connections.
MANY_REQUESTS = 100
#: As many new connections as a server holds that is programmed without a thought for it
#: (``request_queue_size`` of Python's `socketserver`): those beyond wait for a second and more.
FEW_CONNECTIONS = 5


class StoreReader:
    """Reads a store's documents, many at once.

    Parameters
    ----------
    store : zarr.abc.store.Store
        The store.
    timeout : float, optional
        How many seconds requests may last in all, from now on. Default: for ever.
    limit : asyncio.Semaphore, optional
        What requests wait for, shared with whoever else reads the store. Default: one of its own.
    most : int, optional
        How many bytes a document may have. Default: any number.
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
        # One byte more than may be: then it is known that there is more.
        self._range = None
        if most is not None and not is_bounded(store):
            self._range = RangeByteRequest(0, most + 1)

    async def node(self, path: str, keys: Iterable[str]) -> Found:
        """Return the content of each metadata key of the node at `path` that has content."""
        keys = tuple(keys)
        count = _COUNT.get()
        count(0, 1)
        values = await gather(lambda key: self._value(join_path(path, key)), keys)
        count(1, 0)
        return {key: value for key, value in zip(keys, values, strict=True) if value is not None}

    async def first_bytes(self, size: int) -> bytes:
        """Return the first bytes of the file that stands where the store should be; none if it cannot be read."""

        async def first() -> bytes:
            async with self._limit:
                found = await self._store.get("", self._prototype, RangeByteRequest(0, size))
            return b"" if found is None else found.to_bytes()[:size]

        found = await self._attempt(first, "/")
        return found if isinstance(found, bytes) else b""

    async def v2_member(self, path: str) -> tuple[Found, set[str] | XGroupStoreError | None]:
        """Return the content of the metadata keys of a v2 node, and its listing if it is a group.

        Most members are arrays: one is asked whether it is a group only if it is none. It is listed
        along with that, which is given up if it is no group either.
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
        """Return the names of all keys and prefixes directly below a group, nodes or not."""

        async def listed() -> set[str]:
            names = {name.strip("/") async for name in self._store.list_dir(group)} - {""}
            if len(names) == 1 and names <= {group, *group.split("/")}:
                # zarr before 3.2 lists what is above a group where an fsspec filesystem is
                # a store from its root on, as in an archive.
                keys = [key async for key in self._store.list_prefix(f"{group}/")]
                below = f"{group}/"
                names = {
                    key.lstrip("/").removeprefix(below).partition("/")[0]
                    for key in keys
                    if key.lstrip("/").startswith(below)
                }
            return names or await self._referred_to(group)

        return await self._attempt(listed, f"/{group}")

    async def _referred_to(self, group: str) -> set[str]:
        """Return the names directly below a group in a reference file system of fsspec (kerchunk).

        They find nothing where zarr looks: at the path with a slash in front of it.
        """
        if not isinstance(self._store, FsspecStore):
            return set()
        filesystem: Any = self._store.fs
        if not group or getattr(filesystem, "protocol", None) != "reference":
            return set()
        path = join_path(self._store.path.strip("/"), group)
        try:
            found = await filesystem._ls(path, detail=False)  # as zarr asks
        except FileNotFoundError:
            return set()
        return {name.rpartition("/")[2] for name in found}

    async def _value(self, key: str) -> Any:
        """Return the content of a key, None if there is none, or the error of reading it."""

        async def content() -> bytes | None:
            async with self._limit:
                with at_most(self._most):
                    buffer = await self._store.get(key, self._prototype, self._range)
                    if buffer is None:
                        return None
                    check_size(len(buffer))
                    return buffer.to_bytes()

        return await self._attempt(content, f"/{key}", is_document=True)

    async def values(self, array: zarr.Array[Any], place: str, *, whole: bool) -> Any:
        """Return all values of an array, or the first and the last one, or the error of reading them."""

        async def part(selection: Any) -> Any:
            async with self._limit:  # of an array in several chunks zarr limits how many it reads
                with at_most(self._most):
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
        """Return the result of a request, or the reason why it failed.

        Every storage library and codec raises errors of its own, with no common root. None is lost:
        each ends as the cause of an error raised or of a warning given.
        """
        try:
            async with asyncio.timeout_at(self._deadline):
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
    """Return what a function gives for each argument, all awaited together."""
    return await asyncio.gather(*(function(argument) for argument in arguments))


# How much is read, for whoever watches.


#: Is given how many more documents are read, or found absent, and how many more are asked for.
#: Of the thread that opens a store: what it has zarr's thread run begins with its context.
_COUNT: ContextVar[Callable[[int, int], object]] = ContextVar(
    "_COUNT", default=lambda _read, _asked: None
)


@contextmanager
def counted(tell: Callable[[int, int], object]) -> Iterator[None]:
    """Tell of documents in this context how many are read, and how many of them are asked for so far."""
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

    zarr's ``async.concurrency``, 10 by default, is made for chunks that have to be decoded.
    What an open asks for is small, and there is much of it: a hundred requests are in flight at
    once, more if zarr's setting is higher, and fewer if the store's client makes fewer
    connections, or the server ends each of them after one answer (as ``python -m http.server``).
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
    kept = getattr(connector, "_conns", None)  # by server: stores share clients
    if isinstance(kept, Mapping):
        server = Link.parse(str(getattr(store, "path", "")))
        if not any(kept[key] and server.is_at(key.host, key.port) for key in kept):
            limits.append(FEW_CONNECTIONS)
    return asyncio.Semaphore(min(limits))


# Waiting for what is read: the one place where an open does.


def wait(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns.

    Ctrl-C interrupts the main thread alone. Were it to wait as zarr does, it could be interrupted
    while it holds a lock that zarr's event loop needs, and all later opens would wait for ever. So
    another thread does so, and the main one waits for that by what has no such moment.
    """
    if threading.current_thread() is not threading.main_thread():
        return sync(coroutine)
    answers: SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = SimpleQueue()
    context = copy_context()
    start_new_thread(_answer, (context.run, coroutine, answers.put))
    answer, error = answers.get()
    try:
        if error is not None:
            raise error
        return cast("T", answer)
    finally:
        del error  # it refers to this frame


def _answer(
    run: Callable[..., Any], coroutine: Coroutine[Any, Any, Any], put: Callable[[Any], None]
) -> None:
    """Put the result of a coroutine, or its exception, where the waiting thread finds it."""
    try:
        put((run(sync, coroutine), None))
    except BaseException as error:  # noqa: BLE001 - raised again by who waits
        put((None, error))
