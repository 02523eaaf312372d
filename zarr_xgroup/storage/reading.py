"""Concurrent reading of metadata documents, listings of groups and values of arrays."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from queue import SimpleQueue
from random import uniform
from threading import Lock
from typing import Any, Literal, TypeAlias, TypeVar, cast

import numpy as np
import zarr
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest

from zarr_xgroup._compat import async_array_of, default_buffer_prototype, sync
from zarr_xgroup.errors import XGroupStoreError
from zarr_xgroup.i18n import _, ngettext
from zarr_xgroup.metadata.documents import CONSOLIDATED_V2, Found, format_of
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.storage.clients import MANY_REQUESTS
from zarr_xgroup.storage.failures import (
    is_forbidden,
    is_missing,
    is_never_listed,
    is_transient,
    reason_of,
    retry_after,
)
from zarr_xgroup.storage.handles import Handle
from zarr_xgroup.storage.limits import TooLargeError, check_size, reading_at_most
from zarr_xgroup.storage.places import Location

T = TypeVar("T")
A = TypeVar("A")
Forbidden: TypeAlias = Literal["raise", "missing", "attributes"]
#: Reads something from stores.
Reading: TypeAlias = Callable[[], Coroutine[Any, Any, object]]

#: Largest number of connections opened at once. A simple server queues no more (``request_queue_size`` of
#: Python's `socketserver` is 5), and further connections wait for a second or longer.
FEW_CONNECTIONS = 5

#: The seconds in which one thread reads the files of a local store alone, and the largest number of threads that help it.
_ALONE_SECONDS, _MOST_HELPERS = 0.002, 32

#: The key of ``zarr.config`` for the pauses in seconds before a failed request is made again, and the default.
_PAUSES_KEY, _PAUSES = "xgroup.retry_pauses", (0.5, 1.5, 4.0)
#: Each pause is shortened or extended at random by at most this part of it: many clients do not try at the same time.
_JITTER = 0.2
#: No further request is made if the failed ones have taken longer than the pauses and these seconds.
_MOST_SECONDS = 4.0
#: The longest time in seconds to wait because a server states it.
MOST_RETRY_AFTER = 5.0


class StoreReader:
    """Reads documents, listings and values of a store, many at once.

    Parameters
    ----------
    handle : Handle
        The store.
    timeout : float, optional
        Seconds from now until which all requests must be complete. Default: no limit.
    limit : asyncio.Semaphore, optional
        Limits the requests in flight; shared by all readers of the store. Default: a new semaphore.
    most : int, optional
        Largest size of a document or chunk in bytes. Default: no limit.
    """

    def __init__(
        self,
        handle: Handle,
        timeout: float | None = None,
        limit: asyncio.Semaphore | None = None,
        most: int | None = None,
    ) -> None:
        self._handle, self._store = handle, handle.store
        #: The errors of forbidden documents that were treated as missing, by path, for nodes without other documents.
        self.refusals: dict[str, XGroupStoreError] = {}
        self._deadline = None
        if timeout is not None:
            self._deadline = asyncio.get_running_loop().time() + timeout
        self._prototype = default_buffer_prototype()
        self._limit = limit or request_limit(handle)
        self._most = most
        self._folder = handle.folder if most is None else None
        # Newer versions of s3fs request the size of a whole object first, but not that of a range.
        self._range: ByteRequest | None = OffsetByteRequest(0) if handle.is_on_s3fs else None
        # A range of one byte more than allowed shows whether the document is too large.
        if most is not None and not handle.is_bounded:
            self._range = RangeByteRequest(0, most + 1)

    async def node(self, path: str, keys: Iterable[str], forbidden: Forbidden = "raise") -> Found:
        """Return the existing metadata documents of the node at `path`, by key.

        Parameters
        ----------
        path : str
            The path of the node.
        keys : iterable of str
            The keys of the documents.
        forbidden : {"raise", "missing", "attributes"}
            "missing" if a forbidden document is treated as missing, because object stores answer 403 for missing keys.
            "attributes" for the same, except for a v2 group's own document and attributes, if others can be read.

        Raises
        ------
        XGroupStoreError
            If a document cannot be read.
        """
        keys = tuple(keys)
        if path in (local := await self.local_nodes({path: keys})):
            return local[path]
        forbidden_keys: dict[str, Exception] = {}

        async def content(key: str) -> bytes | None:
            async with self._limit:
                try:
                    buffer = await self._store.get(key, self._prototype, self._range)
                except Exception as error:
                    if forbidden != "raise" and is_forbidden(error):
                        forbidden_keys[key] = error
                        return None
                    if is_missing(error):
                        return None
                    raise
            if buffer is None:
                return None
            check_size(len(buffer))
            return buffer.to_bytes()

        async def document(name: str) -> bytes | None:
            key = join_path(path, name)
            try:
                return await self._attempt(partial(content, key), f"/{key}", is_document=True)
            except XGroupStoreError as error:
                if name == CONSOLIDATED_V2 and isinstance(error.__cause__, TooLargeError):
                    return None  # the documents of the nodes are read instead
                raise

        count = _COUNT.get()
        count(0, 1)
        values = await gather(document, keys)
        count(1, 0)
        found = {key: value for key, value in zip(keys, values, strict=True) if value is not None}
        for key, error in forbidden_keys.items() if format_of(found) is None else ():
            self.refusals[path] = _unreadable(f"/{key}", reason_of(error), error)
        if forbidden == "attributes" and forbidden_keys:
            # Documents of a v2 group that must exist, because other documents do. The second request raises an error.
            attributes_exist = b'".zattrs"' in found.get(CONSOLIDATED_V2, b'".zattrs"')
            exist = {".zgroup": bool(found), ".zattrs": ".zgroup" in found and attributes_exist}
            again = [key for key in exist if exist[key] and join_path(path, key) in forbidden_keys]
            if again and "zarr.json" not in found:
                return {**found, **await self.node(path, again)}
        return found

    async def nodes(
        self, keys: Mapping[str, Iterable[str]], read: Callable[[str], Coroutine[Any, Any, T]]
    ) -> dict[str, Found | T]:
        """Return the metadata documents of nodes, by path, or the result of `read` for nodes that are not local files.

        The paths are in the order of `keys`, whichever document is read first.

        Parameters
        ----------
        keys : mapping
            The keys of the documents, by the path of the node.
        read : callable
            Reads the documents of one node by its path.
        """
        found = await self.local_nodes(keys)
        others = [path for path in keys if path not in found]
        read_here: dict[str, T] = dict(zip(others, await gather(read, others), strict=True))
        return {path: found[path] if path in found else read_here[path] for path in keys}

    async def local_nodes(self, keys: Mapping[str, Iterable[str]]) -> dict[str, Found]:
        """Return the metadata documents of nodes of a local store, by path; {} for other stores.

        One thread reads them. If that takes long, as on a network file system, other threads help. Nodes that cannot be
        read are left out: `node` raises their errors.

        Parameters
        ----------
        keys : mapping
            The keys of the documents, by the path of the node.
        """
        if self._folder is None or not keys:
            return {}
        folder, pending, found = self._folder, deque(keys.items()), dict[str, Found]()
        count = _COUNT.get()
        count(0, len(keys))

        def read_pending() -> None:
            while pending:
                with suppress(IndexError, OSError, ValueError):  # IndexError: no node is left
                    path, names = pending.popleft()
                    found[path] = _documents_in(f"{folder}/{path}", names)
                    count(1, 0)

        def in_thread() -> asyncio.Future[None]:
            return asyncio.get_running_loop().run_in_executor(None, read_pending)

        reading = [in_thread()]
        await asyncio.wait(reading, timeout=_ALONE_SECONDS)
        reading += [in_thread() for _helper in range(min(len(pending), _MOST_HELPERS))]
        await asyncio.gather(*reading)
        return found

    async def v2_member(self, path: str) -> tuple[Found, set[str] | None]:
        """Return the metadata documents of a v2 node, and the names listed in it if it is a group, otherwise None.

        Most members are arrays, so ``.zgroup`` is read only if there is no ``.zarray``. The node is listed at the
        same time; the listing is cancelled if the node is not a group.
        """
        found = await self.node(path, (".zarray", ".zattrs"))
        if ".zarray" in found:
            return found, None
        listing = asyncio.ensure_future(self.names(path))
        try:
            found = {**found, **await self.node(path, (".zgroup",))}
            return found, await listing if ".zgroup" in found else None
        finally:
            listing.cancel()

    async def names(self, group: str) -> set[str]:
        """Return the names of all keys and prefixes directly below a group; an empty set if the store cannot be listed."""

        async def listed() -> set[str]:
            async with self._limit:
                try:
                    names = {name.strip("/") async for name in self._store.list_dir(group)} - {""}
                except Exception as error:
                    if is_never_listed(error):
                        return set()
                    raise
            if len(names) == 1 and names <= {group, *group.split("/")}:
                # If the store is the root of an fsspec filesystem, as in an archive, zarr before 3.2 lists
                # the group itself, or the groups above, instead of the members.
                keys = [key async for key in self._store.list_prefix(f"{group}/")]
                below = f"{group}/"
                names = {
                    key.lstrip("/").removeprefix(below).partition("/")[0]
                    for key in keys
                    if key.lstrip("/").startswith(below)
                }
            return names or await self._names_in_references(group)

        return await self._attempt(listed, _("the listing of {group}").format(group=f"/{group}"))

    async def _names_in_references(self, group: str) -> set[str]:
        """Return the names directly below a group in a reference filesystem of fsspec (kerchunk), otherwise an empty set.

        zarr lists a path with a leading slash, which a reference filesystem does not find.
        """
        references = self._handle.references
        if not group or references is None:
            return set()
        path = join_path(self._handle.key.strip("/"), group)
        try:
            listed = await references._ls(path, detail=False)  # the method that zarr calls
        except FileNotFoundError:
            return set()
        return {name.rpartition("/")[2] for name in listed}

    async def values(self, array: zarr.Array[Any], place: str, *, whole: bool) -> Any:
        """Return all values of an array if `whole`, otherwise the first and the last.

        `place` names the array in the error, an XGroupStoreError.
        """

        async def part(selection: Any) -> Any:
            async with self._limit:  # zarr limits the concurrent chunks of an array itself
                return await async_array_of(array).getitem(selection)

        async def values() -> Any:
            if whole:
                return np.asarray(await part(slice(None)))
            ends = [(0,) * len(array.shape), tuple(size - 1 for size in array.shape)]
            if array.nchunks == 1:
                chunk = np.asarray(await part(Ellipsis))
                return [chunk[end] for end in ends]
            return await gather(part, ends)

        return await self._attempt(values, place)

    async def exists(self, path: str, key: str) -> bool:
        """Return whether a key below a node exists; False if it is forbidden, because object stores answer so for missing keys."""

        async def exists() -> bool:
            async with self._limit:
                try:
                    return await self._store.exists(join_path(path, key))
                except Exception as error:
                    if is_forbidden(error):
                        return False
                    raise

        return await self._attempt(exists, f"/{path}")

    async def _attempt(
        self, request: Callable[[], Awaitable[T]], place: str, *, is_document: bool = False
    ) -> T:
        """Return the result of a request, made again if it fails temporarily; or raise XGroupStoreError.

        Storage libraries and codecs raise exceptions with no common base class.
        """
        tries = 0

        async def tried() -> T:
            nonlocal tries
            tries += 1
            return await request()

        try:
            if self._deadline is None and self._most is None:
                return await self._persistent(tried)
            async with asyncio.timeout_at(self._deadline):
                with reading_at_most(self._most):
                    return await self._persistent(tried)
        except Exception as error:
            reason = reason_of(error)
            now, deadline = asyncio.get_running_loop().time(), self._deadline
            if isinstance(error, TimeoutError) and deadline is not None and now >= deadline:
                reason = _("timeout: no answer within cross_store_timeout")
            if is_document and isinstance(error, TooLargeError):
                reason = _("{reason}, the limit of cross_store_max_bytes").format(reason=error)
            if tries > 1:
                message = ngettext(
                    "{reason} (tried {count} time)", "{reason} (tried {count} times)", tries
                )
                reason = message.format(reason=reason, count=tries)
            raise _unreadable(place, reason, error) from error

    async def _persistent(self, request: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a request, made again after growing pauses if it fails temporarily.

        The clients of object stores make requests again themselves.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            return await request()
        except Exception as error:
            if not is_transient(error) or self._handle.retries_itself:
                raise
            failures = [error]
        # Not at the top: it is needed only after a failure.
        from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

        pauses = zarr.config.get(_PAUSES_KEY, _PAUSES)
        own, last = iter(pauses), started + sum(pauses) + _MOST_SECONDS

        def pause(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            stated = retry_after(error) if error else 0.0
            jitter = uniform(1 - _JITTER, 1 + _JITTER)
            return max(next(own, 0.0) * jitter, min(stated, MOST_RETRY_AFTER))

        def is_enough(state: RetryCallState) -> bool:
            return state.attempt_number > len(pauses) or loop.time() > last

        async def again() -> T:
            if failures:  # the request that has failed is the first try
                raise failures.pop()
            return await request()

        return await AsyncRetrying(
            stop=is_enough,
            wait=pause,
            retry=retry_if_exception(is_transient),
            reraise=True,
        )(again)


def _documents_in(folder: str, keys: Iterable[str]) -> Found:
    """Return the metadata documents in a folder, by key.

    ``.zgroup`` is ignored in the folder of an array, and ``.zattrs`` in a folder without documents before it in `keys`.
    """
    found: Found = {}
    for key in keys:
        if (key == ".zgroup" and ".zarray" in found) or (key == ".zattrs" and not found):
            continue
        missing = suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError)  # as in zarr
        with missing, open(f"{folder}/{key}", "rb") as file:
            found[key] = file.read()
    return found


def _unreadable(place: str, reason: str, cause: Exception) -> XGroupStoreError:
    """Return the error of a document, listing or array that cannot be read."""
    error = XGroupStoreError(
        _("{place} cannot be read: {reason}").format(place=place, reason=reason.rstrip("."))
    )
    error.__cause__ = cause
    return error


async def gather(
    function: Callable[[A], Coroutine[Any, Any, T]], arguments: Iterable[A]
) -> list[T]:
    """Return the results of an asynchronous function for each argument, awaited concurrently.

    If one raises an exception, the others are cancelled, and the exception is raised.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(function(argument)) for argument in arguments]
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
    else:
        return [task.result() for task in tasks]
    raise first


async def read_together(readings: Iterable[Reading]) -> None:
    """Read concurrently. If one reading raises an exception, the others are cancelled, and the exception is raised."""
    await gather(lambda reading: reading(), readings)


# The number of documents read, for a display of progress.


#: Called, by any thread, with the number of nodes whose documents have been read (or do not exist) since the last call,
#: and the number of nodes requested since then. A context variable, so that coroutines in zarr's thread use the function of
#: the thread that opens a store.
_COUNT: ContextVar[Callable[[int, int], object]] = ContextVar(
    "_COUNT", default=lambda _read, _requested: None
)


@contextmanager
def counted(show: Callable[[int, int], object]) -> Iterator[None]:
    """Whenever documents are read within, call `show` with the numbers of nodes read and requested so far."""
    total, lock = [0, 0], Lock()

    def count(read: int, requested: int) -> None:
        with lock:
            total[:] = total[0] + read, total[1] + requested
            show(*total)

    token = _COUNT.set(count)
    try:
        yield
    finally:
        _COUNT.reset(token)


# The number of requests in flight.


def request_limit(handle: Handle) -> asyncio.Semaphore:
    """Return a semaphore that limits the requests to a store that are in flight.

    zarr's ``async.concurrency``, 10 by default, is meant for chunks that have to be decoded. Opening reads many small
    documents, so the limit is 100, or zarr's setting if that is higher. It is lower if the store's client makes fewer
    connections, or the server closes each connection after one response (like ``python -m http.server``).
    """
    limits = [max(MANY_REQUESTS, zarr.config.get("async.concurrency") or 0)]
    client = handle.client
    connector = getattr(getattr(client, "_session", None), "connector", None)  # aiohttp's
    configured = getattr(client, "config_kwargs", None)  # botocore's
    pool = configured.get("max_pool_connections") if isinstance(configured, Mapping) else None
    for limit in (getattr(connector, "limit", 0), getattr(connector, "limit_per_host", 0), pool):
        if isinstance(limit, int) and limit > 0:  # 0 is aiohttp's word for no limit
            limits.append(limit)
    kept: Any = getattr(
        connector, "_conns", None
    )  # open connections by server: stores share clients
    server = Location.parse(handle.key)
    # The key of a store in a bucket does not name the server, which keeps its connections open.
    is_web = isinstance(kept, Mapping) and server.scheme in ("http", "https")
    if is_web and not any(kept[key] and server.is_at(key.host, key.port) for key in kept):
        limits.append(FEW_CONNECTIONS)
    return asyncio.Semaphore(min(limits))


# Waiting for coroutines: only here an open call blocks.

#: zarr's event loop, by process: a forked process has its own loop.
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
    """Return zarr's event loop, which runs in its own thread. Raise zarr's SyncError within that thread."""
    loop = _LOOPS.get(os.getpid())
    if loop is None or loop.is_closed() or loop is asyncio._get_running_loop():
        loop = _LOOPS[os.getpid()] = sync(_running_loop())
    return loop


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
