"""Stores: opened from whatever users name them by, and read key by key.

Nothing here knows what a hierarchy is.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote
from zipfile import BadZipFile

import zarr
from zarr.abc.store import Store
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import (
    FsspecStore,
    LocalStore,
    MemoryStore,
    StorePath,
    WrapperStore,
    ZipStore,
)
from zarr.storage._common import make_store_path

from zarr_xgroup.documents import Found, parse_json
from zarr_xgroup.errors import XGroupMetadataError, XGroupStoreError, XGroupStoreNotFoundError
from zarr_xgroup.i18n import _
from zarr_xgroup.paths import join_path
from zarr_xgroup.uris import redact

T = TypeVar("T")


def describe_store(store_like: object) -> str:
    """Return a name for messages, without the credentials that a URL may hold.

    A store that has no name of its own is called by its type.
    """
    if isinstance(store_like, str | os.PathLike):
        return redact(os.fspath(store_like))
    store = getattr(store_like, "store", store_like)
    return redact(str(store)) if isinstance(store, Store) else type(store_like).__name__


async def open_store(store_like: Any, storage_options: dict[str, Any] | None) -> StorePath:
    """Return the store that the user named, and the path in it.

    Raises
    ------
    XGroupStoreNotFoundError, XGroupStoreError
        If it does not exist, or zarr cannot open it.
    """
    store = getattr(store_like, "store", store_like)
    if isinstance(store, Store):
        # A Store, or what has one: zarr.Group, StorePath, icechunk's Session.
        path = "" if store is store_like else getattr(store_like, "path", "")
        return await StorePath.open(store, path)
    name = describe_store(store_like)
    is_location = isinstance(store_like, str | os.PathLike)
    if is_location:
        store_like = _expanded(store_like)
    try:
        if isinstance(store_like, Path) and store_like.suffix == ".zip" and store_like.is_file():
            return await StorePath.open(ZipStore(store_like, mode="r"), "")
        return await make_store_path(store_like, mode="r", storage_options=storage_options)
    except FileNotFoundError as error:
        message = _("There is no store {store}").format(store=name)
        raise XGroupStoreNotFoundError(message) from error
    except (ImportError, ValueError, OSError, TypeError, BadZipFile) as error:
        if isinstance(error, TypeError) and not is_location:
            raise
        message = _("Store {store} cannot be opened: {reason}").format(
            store=name, reason=redact(str(error))
        )
        raise XGroupStoreError(message) from error


def _expanded(location: str | os.PathLike[str]) -> str | Path:
    """Return a local path as an absolute one with ``~`` replaced, another URL as it is."""
    text = os.fspath(location)
    if text.startswith("file://") and "::" not in text:
        return Path(text.removeprefix("file://"))  # literally, as fsspec and zarr take it
    if "://" in text or "::" in text:
        return text
    return Path(text).expanduser().absolute()


def uri_of(store_like: object) -> str | None:
    """Return the URI of what a user named, or of an open store; None if it has none."""
    if isinstance(store_like, str | os.PathLike):
        place = _expanded(store_like)
        return place if isinstance(place, str) else _file_uri(place)
    store = getattr(store_like, "store", store_like)
    inner = getattr(store, "_store", None)
    if isinstance(store, WrapperStore) and isinstance(inner, Store):
        return uri_of(inner)
    if isinstance(store, LocalStore):
        return _file_uri(store.root.absolute())
    if isinstance(store, ZipStore) and store.path is not None:
        return _file_uri(Path(store.path).absolute())
    if isinstance(store, FsspecStore):
        return str(store.fs.unstrip_protocol(store.path))
    return _uri_of_obstore(getattr(store, "store", None))


def _uri_of_obstore(store: Any) -> str | None:
    """Return the URI of a store of obstore, which need not be installed."""
    url, config = getattr(store, "url", None), getattr(store, "config", None)
    scheme = {"S3Store": "s3", "GCSStore": "gs"}.get(type(store).__name__)
    if scheme is not None and isinstance(config, Mapping) and config.get("bucket"):
        return f"{scheme}://{config['bucket']}/{getattr(store, 'prefix', None) or ''}"
    return str(url) if url is not None else None


def supports_listing(store: Store) -> bool:
    """Tell whether listing a store is worth trying before it is known to be needed.

    For files and memory of this machine it saves no time.
    """
    is_near = type(store) in (LocalStore, MemoryStore, ZipStore)
    return bool(store.supports_listing) and not is_near


def _file_uri(path: Path) -> str:
    return f"file://{quote(str(path))}"


class StoreReader:
    """Reads a store's documents, of at most as many nodes at once as zarr is configured for.

    Parameters
    ----------
    store : zarr.abc.store.Store
        The store.
    timeout : float, optional
        How many seconds requests may last in all, from now on. Default: for ever.
    """

    def __init__(self, store: Store, timeout: float | None = None) -> None:
        self._store = store
        self._deadline = None
        if timeout is not None:
            self._deadline = asyncio.get_running_loop().time() + timeout
        self._prototype = default_buffer_prototype()
        self._limit = asyncio.Semaphore(zarr.config.get("async.concurrency"))

    async def node(self, path: str, keys: Iterable[str]) -> Found:
        """Return what stands at the keys of the node at `path`; keys without content miss."""
        keys = tuple(keys)
        async with self._limit:
            values = await gather(lambda key: self._value(join_path(path, key)), keys)
        return {key: value for key, value in zip(keys, values, strict=True) if value is not None}

    async def names(self, group: str) -> set[str] | XGroupStoreError:
        """Return the names of what is directly below a group, nodes or not."""

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
            return names

        async with self._limit:
            return await self._attempt(listed, f"/{group}")

    async def _value(self, key: str) -> Any:
        """Return the JSON value at a key, None without one, or the error in its way."""

        async def content() -> bytes | None:
            buffer = await self._store.get(key, prototype=self._prototype)
            return None if buffer is None else buffer.to_bytes()

        read = await self._attempt(content, f"/{key}")
        if not isinstance(read, bytes):
            return read
        try:
            return parse_json(read, f"/{key}", key.rpartition("/")[2])
        except XGroupMetadataError as error:
            return error

    def _is_late(self) -> bool:
        return self._deadline is not None and asyncio.get_running_loop().time() >= self._deadline

    async def _attempt(
        self, request: Callable[[], Awaitable[T]], place: str
    ) -> T | XGroupStoreError:
        """Return what a request gives, or why it failed.

        Every storage library raises errors of its own, with no common root. None is lost:
        each ends as the cause of an error raised or of a warning given.
        """
        try:
            async with asyncio.timeout_at(self._deadline):
                return await request()
        except Exception as error:  # noqa: BLE001
            reason = reason_of(error)
            if isinstance(error, TimeoutError) and self._is_late():
                reason = late()
            message = _("{place} cannot be read: {reason}").format(place=place, reason=reason)
            problem = XGroupStoreError(message)
            problem.__cause__ = error
            return problem


async def gather(function: Callable[[str], Awaitable[T]], arguments: Iterable[str]) -> list[T]:
    """Return what a function gives for each argument, all awaited together."""
    return await asyncio.gather(*(function(argument) for argument in arguments))


#: Extras of this package, by what they install.
_EXTRAS = {"s3fs": "s3", "gcsfs": "gcs"}
#: What errors of storage libraries, which need not be installed, are called.
_TIMEOUT = frozenset({"TimeoutError", "ReadTimeoutError", "ConnectTimeoutError"})
_NO_PERMISSION = frozenset(
    {"PermissionError", "PermissionDeniedError", "UnauthenticatedError", "NoCredentialsError"}
)
_UNREACHABLE = frozenset(
    {"gaierror", "ClientConnectorError", "EndpointConnectionError", "TransportError"}
)


def late() -> str:
    """Return the reason of what took longer than an open waits for another store."""
    return _("timeout: no answer in the time that cross_store_timeout gives")


def reason_of(error: BaseException) -> str:
    """Return why a store or a part of it cannot be read: the kind of failure, and its text."""
    chain = list(_chain(error))
    names = {kind.__name__ for link in chain for kind in type(link).__mro__}
    statuses = {_status(link) for link in chain}
    text = redact(str(error))
    detail = f"{type(error).__name__}: {text}" if text else type(error).__name__
    missing = next((link for link in chain if isinstance(link, ImportError)), None)
    if missing is not None:
        return _missing_package(missing, detail)
    if names & _TIMEOUT:
        return _("timeout ({detail})").format(detail=detail)
    is_forbidden = any(str(link).startswith("Forbidden:") for link in chain)  # gcsfs
    if names & _NO_PERMISSION or statuses & {401, 403} or is_forbidden:
        return _("no permission ({detail})").format(detail=detail)
    if any(getattr(link, "errno", None) == errno.ECONNREFUSED for link in chain):
        return _("connection refused ({detail})").format(detail=detail)
    if names & _UNREACHABLE:
        return _("unreachable ({detail})").format(detail=detail)
    if "FileNotFoundError" in names:
        return _("not found ({detail})").format(detail=detail)
    return detail


def _status(error: BaseException) -> Any:
    """Return the HTTP status of an error: of aiohttp, else of gcsfs."""
    return error.status if hasattr(error, "status") else getattr(error, "code", None)


def _missing_package(error: ImportError, detail: str) -> str:
    text = f"{error} {error.name}"
    for package, extra in _EXTRAS.items():
        if package in text:
            return _(
                "package {package} is missing: pip install 'xarray-zarr-xgroup[{extra}]'"
            ).format(package=package, extra=extra)
    return _("a package is missing ({detail})").format(detail=detail)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and those that it came from."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        link = pending.pop(0)
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            pending += [link.__cause__, link.__context__, getattr(link, "os_error", None)]
