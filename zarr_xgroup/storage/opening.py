"""Stores: opened from whatever users name them by.

Nothing here knows what a hierarchy is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import BadZipFile

from fsspec.core import url_to_fs
from zarr.abc.store import Store
from zarr.storage import (
    FsspecStore,
    LocalStore,
    MemoryStore,
    StorePath,
    WrapperStore,
    ZipStore,
)

from zarr_xgroup._compat import make_store_path
from zarr_xgroup.errors import XGroupStoreError, XGroupStoreNotFoundError
from zarr_xgroup.i18n import _
from zarr_xgroup.redaction import redact, redact_location
from zarr_xgroup.storage.uris import CACHES, has_plain_hosts, links_of

#: Schemes of fsspec's filesystems that take names as they are.
_LITERAL = frozenset({"file", "memory", "zip"})


def describe_store(store_like: object) -> str:
    """Return a name for messages, without the credentials that a URL may hold.

    A store that has no name of its own is called by its type.
    """
    if isinstance(store_like, str | os.PathLike):
        return redact_location(os.fspath(store_like)) or "."  # as zarr reads it
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
        store_like = _location(store_like, name)
    try:
        store = _zip_or_cache(store_like, storage_options)
        if store is not None:
            return await StorePath.open(store, "")
        return await make_store_path(store_like, mode="r", storage_options=storage_options)
    except FileNotFoundError as error:
        message = _("There is no store {store}").format(store=name)
        raise XGroupStoreNotFoundError(message) from error
    except (ImportError, ValueError, OSError, TypeError, BadZipFile) as error:
        if isinstance(error, TypeError) and not is_location:
            raise
        message = _("Store {store} cannot be opened: {reason}").format(store=name, reason=error)
        raise XGroupStoreError(message) from error


def _location(location: str | os.PathLike[str], name: str) -> str | Path:
    """Return what zarr can open of what a user named, or raise XGroupStoreError if it is no URL."""
    place = _expanded(location)
    if isinstance(place, str) and not has_plain_hosts(place):
        message = _("{store} is no URL: behind its host is something that is no port")
        raise XGroupStoreError(message.format(store=name))
    return place


def _zip_or_cache(place: Any, storage_options: dict[str, Any] | None) -> Store | None:
    """Return the store of a place that zarr takes for something else, None for all others."""
    if isinstance(place, Path) and place.suffix == ".zip" and place.is_file():
        return ZipStore(place, mode="r")
    if isinstance(place, str) and links_of(place)[0].scheme in CACHES:
        return _behind_cache(place, storage_options)
    return None


def _behind_cache(url: str, storage_options: dict[str, Any] | None) -> FsspecStore:
    """Return the store at a chained URL that begins with one of fsspec's caches.

    A cache of what is asynchronous passes for asynchronous and is not: its methods run in threads.
    """
    # Here, because fsspec has it since 2024.12 only.
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

    filesystem, path = url_to_fs(url, **(storage_options or {}))
    wrapped = AsyncFileSystemWrapper(filesystem, asynchronous=True)
    return FsspecStore(wrapped, read_only=True, path=path)


def _expanded(location: str | os.PathLike[str]) -> str | Path:
    """Return a local path as an absolute one with ``~`` replaced, another URL as it is."""
    text = os.fspath(location)
    if text.startswith("file://") and "::" not in text:
        return Path(text.removeprefix("file://"))  # literally, as fsspec and zarr take it
    if "://" in text or "::" in text:
        return text
    return Path(text).expanduser().absolute()


def innermost(store: Any) -> Any:
    """Return the store that one wraps, if it wraps any, and so on."""
    while isinstance(store, WrapperStore):
        store = store._store
    return store


def uri_of(store_like: object) -> str | None:
    """Return the URI of what a user named, or of an open store; None if it has none."""
    if isinstance(store_like, str | os.PathLike):
        place = _expanded(store_like)
        return place if isinstance(place, str) else _file_uri(place)
    store = innermost(getattr(store_like, "store", store_like))
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


def is_served(store: Store) -> bool:
    """Tell whether a server may be asked for a store's keys, and take some for others.

    Not for files, memory and archives of this machine, nor for what wraps a store of these. A store of
    which nothing is known may be.
    """
    store = innermost(store)
    if isinstance(store, FsspecStore):
        named = getattr(store.fs, "sync_fs", store.fs).protocol
        return _LITERAL.isdisjoint([named] if isinstance(named, str) else named)
    return not isinstance(store, LocalStore | MemoryStore | ZipStore)


def splits_at_backslash(store: Store) -> bool:
    """Tell whether zarr takes a backslash in a path for a slash, as its newer versions do."""
    return "\\" not in StorePath(store, "a\\b").path


def _file_uri(path: Path) -> str:
    return f"file://{quote(str(path))}"
