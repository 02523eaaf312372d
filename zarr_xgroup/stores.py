"""Stores: opened from whatever users name them by, and read key by key.

Nothing here knows what a hierarchy is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar
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


def is_local(store: Store) -> bool:
    """Tell whether a store is on this machine: its files, an archive of them, or memory."""
    inner = getattr(store, "_store", None)
    if isinstance(store, WrapperStore) and isinstance(inner, Store):
        return is_local(inner)
    if isinstance(store, FsspecStore):
        filesystem = getattr(store.fs, "sync_fs", store.fs)  # what an asynchronous wrapper wraps
        protocol = filesystem.protocol
        protocols = {protocol} if isinstance(protocol, str) else set(protocol)
        return bool(protocols & {"file", "local", "memory"})
    return isinstance(store, LocalStore | MemoryStore | ZipStore)


class StoreReader:
    """Reads a store's documents, at most as many at once as zarr is configured for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._prototype = default_buffer_prototype()
        self._limit = asyncio.Semaphore(zarr.config.get("async.concurrency"))

    async def node(self, path: str, keys: Iterable[str]) -> Found:
        """Return what stands at the keys of the node at `path`; keys without content miss."""
        keys = tuple(keys)
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
            return parse_json(read, f"/{key}")
        except XGroupMetadataError as error:
            return error

    async def _attempt(
        self, request: Callable[[], Awaitable[T]], place: str
    ) -> T | XGroupStoreError:
        """Return what a request gives, or why it failed.

        Every storage library raises errors of its own, with no common root. None is lost:
        each ends as the cause of an error raised or of a warning given.
        """
        async with self._limit:
            try:
                return await request()
            except Exception as error:  # noqa: BLE001
                message = _("{place} cannot be read: {kind}: {reason}").format(
                    place=place, kind=type(error).__name__, reason=redact(str(error))
                )
                problem = XGroupStoreError(message)
                problem.__cause__ = error
                return problem


async def gather(function: Callable[[str], Awaitable[T]], arguments: Iterable[str]) -> list[T]:
    """Return what a function gives for each argument, all awaited together."""
    return await asyncio.gather(*(function(argument) for argument in arguments))
