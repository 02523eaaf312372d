"""Stores: how users name them, how they are opened, and what they can do.

Nothing here knows what a hierarchy is.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from fsspec.core import url_to_fs
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from zarr.abc.store import Store
from zarr.storage import (
    FsspecStore,
    LocalStore,
    MemoryStore,
    StorePath,
    ZipStore,
)

from zarr_xgroup._compat import make_store_path
from zarr_xgroup.errors import XGroupStoreError, XGroupStoreNotFoundError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.paths import is_node_name, is_plain_name
from zarr_xgroup.options import StoreOptions
from zarr_xgroup.redaction import redact, redact_location
from zarr_xgroup.storage.failures import blaming
from zarr_xgroup.storage.places import ARCHIVES, CACHES, Link, has_plain_hosts, innermost, links_of

#: Schemes of fsspec's filesystems that take names as they are.
_LITERAL = frozenset({"file", "memory", "zip"})

#: An address that goes on behind what is called as stores are, the last if several are.
_IN_STORE = re.compile(r"(.*\.zarr)/+(.+)", re.IGNORECASE | re.DOTALL)

#: Held while the table of contents of an archive is made, which all stores in it share.
_indexing = threading.Lock()
#: Held while a file is got from one of fsspec's caches, whose table of contents all stores in it share.
_caching = threading.Lock()

#: The options that an asset of STAC may give: none that says which other stores may be opened.
_OF_ASSETS = ("group", "consolidated", "zarr_format", "storage_options")


def describe_store(store_like: object) -> str:
    """Return a name for messages, without the credentials that a URL may hold.

    A store that has no name of its own is called by its type.
    """
    if isinstance(store_like, str | os.PathLike):
        return redact_location(os.fspath(store_like)) or "."  # as zarr reads it
    store = getattr(store_like, "store", store_like)
    return redact(str(store)) if isinstance(store, Store) else type(store_like).__name__


def resolved(store_like: Any, options: StoreOptions) -> tuple[Any, StoreOptions]:
    """Return the URL that an asset of pystac or a path of universal_pathlib stands for, and options.

    Those that it comes with count where none are given. All else is returned as it is; TypeError is raised if
    it is nothing that could name a store.
    """
    own: dict[str, Any] = {}
    fields = getattr(store_like, "extra_fields", None)
    protocol = getattr(store_like, "protocol", None)
    is_remote = isinstance(protocol, str) and protocol not in ("", "file", "local")
    if isinstance(fields, Mapping) and hasattr(store_like, "get_absolute_href"):
        asked = fields.get("xarray:open_kwargs", {})  # the xarray-assets extension of STAC
        own = {key: asked[key] for key in _OF_ASSETS if key in asked}
        if access := fields.get("xarray:storage_options"):
            own["storage_options"] = access
        store_like = store_like.get_absolute_href() or store_like.href
    elif is_remote and hasattr(store_like, "storage_options") and hasattr(store_like, "joinpath"):
        own["storage_options"] = dict(store_like.storage_options) or None
        store_like = str(store_like)
    elif not isinstance(store_like, str | os.PathLike | Mapping | Store) and not hasattr(
        store_like, "store"
    ):
        text = _(
            "one store is opened at a time, given by a path, a URL or an object; got {value!r}"
        )
        raise TypeError(text.format(value=store_like))
    given: Any = {key: value for key, value in options.items() if value is not None}
    named: Any = {**options, **own, **given}
    return store_like, named


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
    held = getattr(store, "store", None)  # of obstore, which need not be installed
    url, config = getattr(held, "url", None), getattr(held, "config", None)
    scheme = {"S3Store": "s3", "GCSStore": "gs"}.get(type(held).__name__)
    if scheme is not None and isinstance(config, Mapping) and config.get("bucket"):
        return f"{scheme}://{config['bucket']}/{getattr(held, 'prefix', None) or ''}"
    return str(url) if url is not None else None


def _file_uri(path: Path) -> str:
    return f"file://{quote(str(path))}"


def _expanded(location: str | os.PathLike[str]) -> str | Path:
    """Return a local path as an absolute one with ``~`` replaced, another URL as it is."""
    text = os.fspath(location)
    if text.startswith("file://") and "::" not in text:
        return Path(text.removeprefix("file://"))  # literally, as fsspec and zarr take it
    if "://" in text or "::" in text:
        return text
    # A user that there is not is a name as any other, as for a shell.
    return Path(os.path.expanduser(text)).absolute()


def _local_archive(place: Any, storage_options: dict[str, Any] | None) -> tuple[Path, str] | None:
    """Return the .zip archive of this machine that a place is in, and the path there; None for all others.

    A URL has to be that of a whole one.
    """
    for file in (place, *place.parents) if isinstance(place, Path) else ():
        if file.suffix == ".zip" and os.path.isfile(file):
            return file, "/".join(place.relative_to(file).parts)
    if isinstance(place, str) and not storage_options:
        archive, _separator, location = place.partition("::")
        whole = _expanded(location) if archive in ("zip", "zip://") else None
        if isinstance(whole, Path) and os.path.isfile(whole):
            return whole, ""
    return None


def root_of(store_like: Any) -> tuple[str, str] | None:
    """Return the root of the store that an address leads into, and the path of the group in it.

    None if the address is that of a store, or a store is open already.
    """
    if not isinstance(store_like, str | os.PathLike):
        return None
    place, before, after = _expanded(store_like), "", ""
    if isinstance(place, Path):
        if _local_archive(place, None) is not None:
            return None
        link = os.path.realpath(place) if ".." in place.parts else str(place)
    else:
        links = place.split("::")
        schemes = [Link.parse(text).scheme for text in links]
        at = next((n for n, scheme in enumerate(schemes) if scheme not in CACHES), 0)
        before = "".join(f"{text}::" for text in links[:at])
        after = "".join(f"::{text}" for text in links[at + 1 :])
        link = links[at].rstrip("/")
        if "://" not in link or not {"?", "#"}.isdisjoint(link):  # signed, or of a version
            return None
    address = _IN_STORE.fullmatch(link)
    if address is None or address[2].lower().endswith(".zarr") or "\\" in address[2]:
        return None
    root, behind = address.groups()
    is_name = is_plain_name if isinstance(place, Path) else is_node_name
    if not all(map(is_name, behind.split("/"))):
        return None
    if isinstance(place, Path):
        # As the user has spelt it, if that is to be had.
        text = os.fspath(store_like).rstrip("/")
        spelt = text.removesuffix(f"/{behind}")
        return (root if spelt == text else spelt), behind
    if Link.parse(link).scheme in ("http", "https"):
        behind = unquote(behind)
        # Asked for by such a name, it would be another place.
        if not {"%", "?", "#", "\\"}.isdisjoint(behind):
            return None
    return f"{before}{root}{after}", behind


# Stores.


async def open_store(store_like: Any, storage_options: dict[str, Any] | None) -> StorePath:
    """Return the store that the user named, and the path in it.

    Raises
    ------
    XGroupStoreNotFoundError, XGroupStoreError
        If it does not exist, or cannot be opened.
    """
    name, place = describe_store(store_like), store_like
    if isinstance(store_like, str | os.PathLike):
        place = _expanded(store_like)
        if isinstance(place, str) and not has_plain_hosts(place):
            message = _(
                "{store} is no URL: its user, host or port is not written as URLs have it. Credentials for "
                "a bucket are given by storage_options"
            )
            raise XGroupStoreError(message.format(store=name))
    store = getattr(place, "store", place)
    archive = _local_archive(place, storage_options)
    is_cached = isinstance(place, str) and links_of(place)[0].scheme in CACHES
    try:
        with blaming(name, but=FileNotFoundError):
            if isinstance(store, Store):
                # A Store, or what has one: zarr.Group, StorePath, icechunk's Session.
                path = "" if store is place else getattr(place, "path", "")
                return await StorePath.open(store, path)
            if archive is not None:
                return await StorePath.open(ZipStore(archive[0], mode="r"), archive[1])
            if is_cached:
                return await StorePath.open(_behind_cache(place, storage_options), "")
            opened = await make_store_path(place, mode="r", storage_options=storage_options)
            if isinstance(opened.store, FsspecStore) and not ARCHIVES.isdisjoint(
                _protocols(opened.store)
            ):
                await asyncio.to_thread(_index, opened.store)
            return opened
    except FileNotFoundError as error:
        message = _("There is no store {store}").format(store=name)
        decoded = unquote(str(place))
        if isinstance(place, Path) and "%" in str(place) and os.path.exists(decoded):
            hint = _("; its path is taken as it is written, not percent-decoded: name it {path!r}")
            message += hint.format(path=decoded)
        raise XGroupStoreNotFoundError(message) from error


def _index(store: FsspecStore) -> None:
    """Make the table of contents of an archive whole.

    Its filesystem makes that when first asked, and takes what another thread has made of it by then for the
    whole.
    """
    with _indexing:
        _waiting_fs(store).ls("")


def _behind_cache(url: str, storage_options: dict[str, Any] | None) -> FsspecStore:
    """Return the store at a chained URL that begins with one of fsspec's caches.

    A cache of what is asynchronous passes for asynchronous and is not: its methods run in threads.
    """
    filesystem, path = url_to_fs(url, **(storage_options or {}))
    has_table = links_of(url)[0].scheme != "simplecache"
    wrapper = _OneFileAtATime if has_table else AsyncFileSystemWrapper
    return FsspecStore(wrapper(filesystem, asynchronous=True), read_only=True, path=path)


class _OneFileAtATime(AsyncFileSystemWrapper):  # type: ignore[misc]
    """One of fsspec's caches that keeps a table of its files, asked for one file at a time.

    Of two threads that ask for files, one replaces what the other has just entered into that table.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in ("cat_file", "cat_ranges"):
            setattr(self, f"_{name}", partial(_one_at_a_time, getattr(self.sync_fs, name)))


async def _one_at_a_time(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    def call() -> Any:
        with _caching:
            return function(*arguments, **options)

    return await asyncio.to_thread(call)


def supports_listing(store: Store) -> bool:
    """Tell whether listing a store is worth trying before it is known to be needed.

    For files and memory of this machine it saves no time. Few web servers can, and what is behind one is
    mostly consolidated.
    """
    if type(store) in (LocalStore, MemoryStore, ZipStore):
        return False
    with blaming(describe_store(store)):
        is_web = (uri_of(store) or "").startswith(("http://", "https://"))
        return bool(store.supports_listing) and not is_web


def is_served(store: Store) -> bool:
    """Tell whether a server may be asked for a store's keys, and take some for others.

    Not for files, memory and archives of this machine, nor for what wraps a store of these. A store of
    which nothing is known may be.
    """
    store = innermost(store)
    if isinstance(store, FsspecStore):
        return _LITERAL.isdisjoint(_protocols(store))
    return not isinstance(store, LocalStore | MemoryStore | ZipStore)


def _protocols(store: FsspecStore) -> Sequence[str]:
    """Return the names of the filesystem of a store."""
    named: str | Sequence[str] = _waiting_fs(store).protocol
    return [named] if isinstance(named, str) else named


def _waiting_fs(store: FsspecStore) -> Any:
    """Return the filesystem of a store; of an asynchronous wrapper, the filesystem inside."""
    return getattr(store.fs, "sync_fs", store.fs)


def splits_at_backslash(store: Store) -> bool:
    """Tell whether zarr takes a backslash in a path for a slash, as its newer versions do."""
    return "\\" not in StorePath(store, "a\\b").path
