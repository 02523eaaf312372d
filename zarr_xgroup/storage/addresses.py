"""Stores: their addresses, opening them, and their capabilities. Groups and arrays are not known here."""

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
from zarr_xgroup.redaction import redact
from zarr_xgroup.storage.failures import raising_store_errors
from zarr_xgroup.storage.places import (
    ARCHIVES,
    CACHES,
    Location,
    has_plain_hosts,
    innermost,
    links_of,
    parts_of_chain,
)

#: Schemes of fsspec's filesystems that take keys literally: no percent-decoding, no query.
_LITERAL = frozenset({"file", "memory", "zip"})

#: An address that continues after a segment ``*.zarr`` (the last one if there are several), and does not end with one.
_IN_STORE = re.compile(r"(.*\.zarr)/+([^\\]+)(?<!\.zarr)", re.IGNORECASE | re.DOTALL)

#: The beginning of a URL or a chain of URLs. Any other text is a local path.
_URL = re.compile(r"[a-zA-Z][\w+.-]*(?:://|::)", re.ASCII)

#: The scheme, and the name of the bucket's option, of the stores of obstore that are buckets.
_BUCKETS = {
    "S3Store": ("s3", "bucket"),
    "GCSStore": ("gs", "bucket"),
    "AzureStore": ("abfs", "container_name"),
}

#: Held while fsspec builds the index of an archive, which all stores in the archive share.
_archive_lock = threading.Lock()
#: Held while one of fsspec's caches fetches a file: all stores share the cache's index of files.
_cache_lock = threading.Lock()

#: The options that a STAC asset may set: no option that allows foreign stores to be opened.
_ASSET_OPTIONS = ("group", "consolidated", "zarr_format", "storage_options")
#: The protocols of local paths of universal_pathlib.
_LOCAL_PATHS = ("", "file", "local")


def held_store(store_like: Any) -> Any:
    """Return the store of an object that holds one, such as zarr.Group; any other value unchanged.

    A zarr store is returned unchanged: zarr's ObjectStore holds a store of obstore, which zarr cannot open.
    """
    return store_like if isinstance(store_like, Store) else getattr(store_like, "store", store_like)


def describe_store(store_like: object) -> str:
    """Return the name of a store for messages, without credentials; the name of its type if it has no name."""
    if isinstance(store_like, str | os.PathLike):
        return redact(os.fspath(store_like)) or "."  # zarr reads "" as the current folder
    store = held_store(store_like)
    return redact(str(store)) if isinstance(store, Store) else type(store_like).__name__


def resolved(store_like: Any, options: StoreOptions) -> tuple[Any, StoreOptions]:
    """Return the URL of a pystac asset or a universal_pathlib path, or any other store unchanged; and the options.

    Options of the asset or path are used unless the user gave them.

    Raises
    ------
    TypeError
        If the object is not a store, or `storage_options` are given for a store that is open already.
    """
    own: dict[str, Any] = {}
    if hasattr(store_like, "get_absolute_href"):  # an asset of pystac
        fields = store_like.extra_fields
        open_kwargs = fields.get("xarray:open_kwargs", {})  # the xarray-assets extension of STAC
        own = {key: open_kwargs[key] for key in _ASSET_OPTIONS if key in open_kwargs}
        if storage_options := fields.get("xarray:storage_options"):
            own["storage_options"] = storage_options
        store_like = store_like.get_absolute_href() or store_like.href
    elif getattr(store_like, "protocol", "") not in _LOCAL_PATHS and hasattr(
        store_like, "joinpath"
    ):
        own["storage_options"] = dict(store_like.storage_options) or None
        store_like = str(store_like)
    elif not isinstance(store_like, str | os.PathLike | Mapping | Store) and not hasattr(
        store_like, "store"
    ):
        text = _("expected one store, as a path, a URL or a store object, got {value!r}")
        raise TypeError(text.format(value=store_like))
    given: Any = {key: value for key, value in options.items() if value is not None}
    named: Any = {**options, **own, **given}
    if named.get("storage_options") and not isinstance(store_like, str | os.PathLike):
        text = _(
            "storage_options are only for URLs; leave them out for {kind}, which is open already"
        )
        raise TypeError(text.format(kind=type(store_like).__name__))
    return store_like, named


def uri_of(store_like: object) -> str | None:
    """Return the URI of a location that a user gave, or of an open store; None if the store has none."""
    if isinstance(store_like, str | os.PathLike):
        place = _absolute(store_like)
        return place if isinstance(place, str) else _file_uri(place)
    store = innermost(held_store(store_like))
    if isinstance(store, LocalStore):
        return _file_uri(store.root.absolute())
    if isinstance(store, ZipStore) and store.path is not None:
        return _file_uri(Path(store.path).absolute())
    if isinstance(store, FsspecStore):
        return str(store.fs.unstrip_protocol(store.path))
    held = getattr(store, "store", None)  # of obstore, which need not be installed
    kind, prefix = type(held).__name__, getattr(held, "prefix", None) or ""
    if kind == "LocalStore":
        return _file_uri(Path(prefix).absolute()) if prefix else None
    config = getattr(held, "config", None)
    scheme, key = _BUCKETS.get(kind, ("", ""))
    if isinstance(config, Mapping) and config.get(key):
        return f"{scheme}://{config[key]}/{prefix}"
    url = getattr(held, "url", None)
    return str(url) if url is not None else None


def _file_uri(path: Path) -> str:
    """Return the percent-encoded ``file://`` URI of a local path."""
    return f"file://{quote(str(path))}"


def _absolute(location: str | os.PathLike[str]) -> str | Path:
    """Return a local location as an absolute path with ``~`` expanded, any other URL unchanged."""
    text = os.fspath(location)
    if text.startswith("file://"):
        return Path(text.removeprefix("file://"))  # literally, as fsspec and zarr take it
    if _URL.match(text):
        return text
    # ``~name`` is unchanged if there is no such user, as in a shell.
    return Path(os.path.expanduser(text)).absolute()


def _local_archive(place: Any, storage_options: dict[str, Any] | None) -> tuple[Path, str] | None:
    """Return the local .zip archive that holds a path, and the path within; None if there is none.

    A URL ``zip::...`` must be that of a whole archive.
    """
    for file in (place, *place.parents) if isinstance(place, Path) else ():
        if file.suffix == ".zip" and os.path.isfile(file):
            return file, "/".join(place.relative_to(file).parts)
    if isinstance(place, str) and not storage_options:
        archive, _separator, location = place.partition("::")
        whole = _absolute(location) if archive in ("zip", "zip://") else None
        if isinstance(whole, Path) and os.path.isfile(whole):
            return whole, ""
    return None


def root_of(store_like: Any) -> tuple[str, str] | None:
    """Return the address of the store that contains an address, and the path of the group in that store.

    ``data/a.zarr/b`` gives ``("data/a.zarr", "b")``. None if the address is that of a store or cannot be
    split safely, or if a store is open already.
    """
    if not isinstance(store_like, str | os.PathLike):
        return None
    place, before, after = _absolute(store_like), "", ""
    if isinstance(place, Path):
        if _local_archive(place, None) is not None:
            return None
        link = os.path.realpath(place) if ".." in place.parts else str(place)
    else:
        before, link, after = parts_of_chain(place)
        link = link.rstrip("/")
        # "?" and "#" are in signed URLs, and in those of a version.
        if "://" not in link or not {"?", "#"}.isdisjoint(link):
            return None
    address = _IN_STORE.fullmatch(link)
    if address is None:
        return None
    root, behind = address.groups()
    is_name = is_plain_name if isinstance(place, Path) else is_node_name
    if not all(map(is_name, behind.split("/"))):
        return None
    if isinstance(place, Path):
        # The root as the user spelt it, if that ends with the path of the group.
        text = os.fspath(store_like).rstrip("/")
        spelt = text.removesuffix(f"/{behind}")
        return (root if spelt == text else spelt), behind
    if Location.parse(link).scheme in ("http", "https"):
        behind = unquote(behind)
        # These characters have a special meaning in a URL.
        if not {"%", "?", "#", "\\"}.isdisjoint(behind):
            return None
    return f"{before}{root}{after}", behind


# Opening a store.


async def open_store(store_like: Any, storage_options: dict[str, Any] | None) -> StorePath:
    """Open a store for reading; return it with the path in it.

    Raises
    ------
    XGroupStoreNotFoundError, XGroupStoreError
        If the store does not exist, or cannot be opened.
    """
    name, place = describe_store(store_like), store_like
    if isinstance(store_like, str | os.PathLike):
        place = _absolute(store_like)
        if isinstance(place, str) and not has_plain_hosts(place):
            message = _(
                "{store} is not a valid URL: check its user, host and port. Pass credentials for a bucket "
                "with storage_options"
            )
            raise XGroupStoreError(message.format(store=name))
    store = held_store(place)
    archive = _local_archive(place, storage_options)
    is_cached = isinstance(place, str) and links_of(place)[0].scheme in CACHES
    try:
        with raising_store_errors(name, but=FileNotFoundError):
            if isinstance(store, Store):
                # A Store, or an object with one: zarr.Group, StorePath, icechunk's Session.
                path = "" if store is place else getattr(place, "path", "")
                return await StorePath.open(store, path)
            if archive is not None:
                return await StorePath.open(ZipStore(archive[0], mode="r"), archive[1])
            if is_cached:
                return await StorePath.open(_cached_store(place, storage_options), "")
            opened = await make_store_path(place, mode="r", storage_options=storage_options)
            if isinstance(opened.store, FsspecStore) and not ARCHIVES.isdisjoint(
                _protocols(opened.store)
            ):
                await asyncio.to_thread(_complete_archive_index, opened.store)
            return opened
    except FileNotFoundError as error:
        message = _("There is no store {store}").format(store=name)
        decoded = unquote(str(place))
        if decoded != str(place) and os.path.exists(decoded):
            hint = _("; local paths are not percent-decoded: did you mean {path!r}?")
            message += hint.format(path=decoded)
        raise XGroupStoreNotFoundError(message) from error


def _complete_archive_index(store: FsspecStore) -> None:
    """Make the filesystem of an archive build its index now, in one thread.

    Otherwise it builds the index at the first access to a file, and a second thread would read the unfinished index.
    """
    with _archive_lock:
        _sync_filesystem(store).ls("")


def _cached_store(url: str, storage_options: dict[str, Any] | None) -> FsspecStore:
    """Return the store at a chained URL that begins with one of fsspec's caches.

    A cache of an asynchronous filesystem claims to be asynchronous, but is not: its methods run in threads.
    """
    filesystem, path = url_to_fs(url, **(storage_options or {}))
    has_index = links_of(url)[0].scheme != "simplecache"
    wrapper = _OneFileAtATime if has_index else _Cache
    return FsspecStore(wrapper(filesystem, asynchronous=True), read_only=True, path=path)


class _Cache(AsyncFileSystemWrapper):  # type: ignore[misc]
    """An asynchronous wrapper of a cache.

    A cache raises FileNotFoundError whatever the reason is, so a missing file is requested again without the cache.
    """

    _cat_file: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._cat_file_of_cache = self._cat_file
        self._cat_file = self._cat_file_or_raise

    async def _cat_file_or_raise(self, path: str, *arguments: Any, **options: Any) -> Any:
        try:
            return await self._cat_file_of_cache(path, *arguments, **options)
        except FileNotFoundError:
            return await asyncio.to_thread(self.sync_fs.fs.cat_file, path, *arguments, **options)


class _OneFileAtATime(_Cache):
    """An asynchronous wrapper of a cache with an index of its files, which fetches one file at a time.

    If two threads fetched files, one could overwrite the entry that the other has just added to the index.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._cat_file_of_cache = partial(_one_at_a_time, self.sync_fs.cat_file)
        self._cat_ranges = partial(_one_at_a_time, self.sync_fs.cat_ranges)


async def _one_at_a_time(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function in a thread, with the lock of caches held, and return its result."""

    def call() -> Any:
        with _cache_lock:
            return function(*arguments, **options)

    return await asyncio.to_thread(call)


def supports_listing(store: Store) -> bool:
    """Return whether a store supports listing, and listing it before the result is needed can save time.

    False for local files and memory, which are fast, and for web servers: few support listing, and most stores there
    are consolidated.
    """
    if type(store) in (LocalStore, MemoryStore, ZipStore):
        return False
    with raising_store_errors(describe_store(store)):
        is_web = (uri_of(store) or "").startswith(("http://", "https://"))
        return bool(store.supports_listing) and not is_web


def is_served(store: Store) -> bool:
    """Return whether keys of a store may be sent to a server, which may decode or normalize some of them.

    False for local files, memory and archives, also when wrapped; True for a store of an unknown class.
    """
    store = innermost(store)
    if isinstance(store, FsspecStore):
        return _LITERAL.isdisjoint(_protocols(store))
    return not isinstance(store, LocalStore | MemoryStore | ZipStore)


def _protocols(store: FsspecStore) -> Sequence[str]:
    """Return the protocols (names) of the fsspec filesystem of a store."""
    named: str | Sequence[str] = _sync_filesystem(store).protocol
    return [named] if isinstance(named, str) else named


def _sync_filesystem(store: FsspecStore) -> Any:
    """Return the filesystem of a store; for an asynchronous wrapper, the synchronous filesystem that it wraps."""
    return getattr(store.fs, "sync_fs", store.fs)


def splits_at_backslash(store: Store) -> bool:
    """Return whether zarr reads a backslash in a path as a slash, as its newer versions do."""
    return "\\" not in StorePath(store, "a\\b").path
