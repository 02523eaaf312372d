"""Addresses: what users and references give as a store is understood once, here, and then opened.

A new class of stores also needs `handles`, and references to it `places` and `foreign`.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
from fsspec.core import url_to_fs
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from zarr.abc.store import Store
from zarr.storage import FsspecStore, StorePath, ZipStore

from zarr_xgroup._compat import make_store_path
from zarr_xgroup.errors import XGroupStoreError, XGroupStoreNotFoundError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.paths import is_node_name, is_plain_name, join_path
from zarr_xgroup.options import StoreOptions
from zarr_xgroup.redaction import redact
from zarr_xgroup.storage.clients import client_options
from zarr_xgroup.storage.failures import raising_store_errors
from zarr_xgroup.storage.handles import Handle, file_uri, handle_of
from zarr_xgroup.storage.places import (
    ARCHIVES,
    CACHES,
    Location,
    has_plain_hosts,
    links_of,
    parts_of_chain,
    place_of,
)

#: An address that continues after a segment ``*.zarr`` (the last one if there are several), and does not end with one.
_IN_STORE = re.compile(r"(.*\.zarr)/+([^\\]+)(?<!\.zarr)", re.IGNORECASE | re.DOTALL)
#: A URL of an archive that names a group in it, with its scheme and its path.
_IN_ARCHIVE = re.compile(r"(\w+://)([^\\]+)(?<!\.zarr)", re.IGNORECASE | re.DOTALL)

#: The beginning of a URL or a chain of URLs. Any other text is a local path.
_URL = re.compile(r"[a-zA-Z][\w+.-]*(?:://|::)", re.ASCII)

#: A URL of S3 with a colon in the name of the bucket, and without credentials.
_TENANT = re.compile(r"(?:^|::)s3a?://[^:/@]+:[^:/@]+(?:/[^@]*)?$")

#: Held while fsspec builds the index of an archive, which all stores in the archive share.
_archive_lock = threading.Lock()
#: Held while one of fsspec's caches fetches a file: all stores share the cache's index of files.
_cache_lock = threading.Lock()

#: The options that a STAC asset may set: no option that allows foreign stores to be opened.
_ASSET_OPTIONS = ("group", "consolidated", "zarr_format", "storage_options")
#: The protocols of local paths of universal_pathlib.
_LOCAL_PATHS = ("", "file", "local")


class Address(msgspec.Struct, frozen=True):
    """A store that a user or a reference names, before it is opened."""

    #: What zarr opens: an absolute path, a URL, a store, or a different object.
    target: Any
    #: The name in messages, without credentials.
    name: str
    #: The options of the call, completed by those of a STAC asset or a path of universal_pathlib.
    options: StoreOptions
    #: The path in the store of the group that an object or the address names.
    path: str = ""
    #: The location of the store. None if it has no URI, or if the store is open already.
    place: Location | None = None
    #: Whether the user opened the store.
    is_open: bool = False
    #: The same address as that of a group in a store: ``data/a.zarr/b`` can be group ``b`` of ``data/a.zarr``.
    above: Address | None = None


def address_of(store_like: Any, options: StoreOptions, name: str | None = None) -> Address:
    """Return the address that a user or a reference gives as the store.

    Options of the call take precedence over those of a STAC asset or a path of universal_pathlib. The name in messages is
    the address, redacted, unless `name` is given.

    Raises
    ------
    TypeError
        If the object is not a store, or `storage_options` are given for a store that is open already.
    XGroupStoreError
        If the address is not a valid URL.
    """
    store_like, own = _named_by(store_like)
    given: Any = {key: value for key, value in options.items() if value is not None}
    named: Any = {**options, **own, **given}
    if isinstance(store_like, str | os.PathLike):
        text = os.fspath(store_like)
        name = name or redact(text) or "."  # zarr reads "" as the current folder
        path = _local_path(text)
        if path is not None:
            return _of_path(path, text, name, named)
        return _of_url(text, name, named)
    kind = type(store_like).__name__
    if named.get("storage_options"):
        message = _(
            "storage_options are only for URLs; leave them out for {kind}, which is open already"
        )
        raise TypeError(message.format(kind=kind))
    # zarr's ObjectStore is a store that has a store of obstore, which zarr cannot open.
    store = store_like if isinstance(store_like, Store) else getattr(store_like, "store", None)
    if isinstance(store, Store):  # zarr.Group, StorePath and icechunk's Session have one
        path_in_store = "" if store is store_like else getattr(store_like, "path", "")
        return Address(store, redact(str(store)), named, path_in_store, is_open=True)
    return Address(store_like, kind, named)


def _named_by(store_like: Any) -> tuple[Any, Mapping[str, Any]]:
    """Return the URL of a pystac asset or a universal_pathlib path, or any other store unchanged; and the options in it."""
    if hasattr(store_like, "get_absolute_href"):  # an asset of pystac
        fields = store_like.extra_fields
        open_kwargs = fields.get("xarray:open_kwargs", {})  # the xarray-assets extension of STAC
        own = {key: open_kwargs[key] for key in _ASSET_OPTIONS if key in open_kwargs}
        if storage_options := fields.get("xarray:storage_options"):
            own["storage_options"] = storage_options
        return store_like.get_absolute_href() or store_like.href, own
    protocol = getattr(store_like, "protocol", "")
    if protocol not in _LOCAL_PATHS and hasattr(store_like, "joinpath"):
        return str(store_like), {"storage_options": dict(store_like.storage_options) or None}
    if isinstance(store_like, str | os.PathLike | Mapping | Store) or hasattr(store_like, "store"):
        return store_like, {}
    if hasattr(store_like, "readonly_session"):  # a repository of icechunk
        raise TypeError(
            _(
                "a repository of icechunk has versions of a store: open a session of it, "
                "such as repository.readonly_session('main')"
            )
        )
    text = _("expected one store, as a path, a URL or a store object, got {value!r}")
    raise TypeError(text.format(value=store_like))


def _local_path(text: str) -> Path | None:
    """Return a local path as an absolute path with ``~`` expanded; None for any other URL."""
    if text.startswith("file://"):
        return Path(text.removeprefix("file://"))  # literally, as fsspec and zarr take it
    # ``~name`` is unchanged if there is no such user, as in a shell.
    return None if _URL.match(text) else Path(os.path.expanduser(text)).absolute()


def _of_path(path: Path, text: str, name: str, options: StoreOptions) -> Address:
    """Return the address of a local path, which the user gave as `text`: of a folder, or of or in a .zip archive."""
    for file in (path, *path.parents):
        if file.suffix == ".zip" and os.path.isfile(file):
            inside = "/".join(path.relative_to(file).parts)
            if not inside:
                store = ZipStore(file, mode="r")
                return Address(store, name, options, place=place_of(file_uri(file)))
            address = _of_url(f"zip://{inside}::file://{file}", name, options)
            if (above := address.above) is not None:
                above = msgspec.structs.replace(above, name=_as_spelt(above.path, text, above.name))
            return msgspec.structs.replace(address, above=above)
    above = None
    found = _IN_STORE.fullmatch(os.path.realpath(path) if ".." in path.parts else str(path))
    if found is not None and all(map(is_plain_name, found[2].split("/"))):
        root, group = found.groups()
        spelt = _as_spelt(group, text, root)
        place = place_of(file_uri(Path(root)))
        above = Address(_local_path(spelt), redact(spelt), options, group, place)
    return Address(path, name, options, place=place_of(file_uri(path)), above=above)


def _as_spelt(group: str, text: str, root: str) -> str:
    """Return the root of a group as the user spelt it in `text`, if that ends with the path of the group; or `root`."""
    text = text.rstrip("/")
    spelt = text.removesuffix(f"/{group}")
    return root if spelt == text else spelt


def _of_url(url: str, name: str, options: StoreOptions) -> Address:
    """Return the address of a URL or a chain of URLs."""
    if not has_plain_hosts(url):
        message = _(
            "{store} is not a valid URL: check its user, host and port. Pass credentials for a bucket "
            "with storage_options"
        )
        if _TENANT.search(url):
            message = _(
                "{store} is not a valid URL: the name of a bucket has no colon. A bucket of a tenant (Ceph) has "
                "an https address: https://<server>/<tenant>:<bucket>/..."
            )
        raise XGroupStoreError(message.format(store=name))
    address = Address(_whole_archive(url, options) or url, name, options, place=place_of(url))
    before, link, after = parts_of_chain(url)
    link = link.rstrip("/")
    # "?" and "#" are in signed URLs, and in those of a version.
    if "://" not in link or not {"?", "#"}.isdisjoint(link):
        return address
    scheme = Location.parse(link).scheme
    found = _IN_STORE.fullmatch(link) or (scheme in ARCHIVES and _IN_ARCHIVE.fullmatch(link))
    if not found or not all(map(is_node_name, found[2].split("/"))):
        return address
    root, path = f"{before}{found[1]}{after}", found[2]
    if scheme in ("http", "https"):
        path = unquote(path)
        # These characters have a special meaning in a URL.
        if not {"%", "?", "#", "\\"}.isdisjoint(path):
            return address
    target = _whole_archive(root, options) or root
    above = Address(target, redact(root), options, path, place_of(root))
    return msgspec.structs.replace(address, above=above)


def _whole_archive(url: str, options: StoreOptions) -> ZipStore | None:
    """Return the store of a chain of URLs that names a whole .zip archive on this machine; None for any other URL."""
    outer, _separator, inner = url.partition("::")
    file = _local_path(inner) if outer in ("zip", "zip://") else None
    is_archive = file is not None and not options.get("storage_options") and os.path.isfile(file)
    return ZipStore(file, mode="r") if is_archive and file is not None else None


# Opening a store.


async def open_store(address: Address) -> Handle:
    """Open a store for reading.

    Raises
    ------
    XGroupStoreNotFoundError, XGroupStoreError
        If the store does not exist, or cannot be opened.
    """
    target, storage_options = address.target, address.options.get("storage_options")
    is_ours = not address.is_open
    try:
        with raising_store_errors(address.name, but=FileNotFoundError):
            if isinstance(target, os.PathLike) and not os.path.exists(target):
                raise FileNotFoundError(target)  # noqa: TRY301 - zarr 3.0 opens an empty store
            if isinstance(target, str):
                storage_options = client_options(target, storage_options) or None
            if isinstance(target, str) and links_of(target)[0].scheme in CACHES | ARCHIVES:
                target = _store_of_chain(target, storage_options)
            if isinstance(target, Store):
                opened = await StorePath.open(target, address.path)
                path = opened.path
            else:
                opened = await make_store_path(target, mode="r", storage_options=storage_options)
                path = join_path(opened.path, address.path)
            handle = handle_of(
                opened.store, address.name, path, is_ours=is_ours, place=address.place
            )
            if handle.archive is not None:
                await asyncio.to_thread(_complete_archive_index, handle.archive)
            return handle
    except FileNotFoundError as error:
        message = _("The store {store} does not exist").format(store=address.name)
        decoded = unquote(str(target))
        if decoded != str(target) and os.path.exists(decoded):
            hint = _("; local paths are not percent-decoded: did you mean {path!r}?")
            message += hint.format(path=decoded)
        raise XGroupStoreNotFoundError(message) from error


def _complete_archive_index(archive: Any) -> None:
    """Make the filesystem of an archive build its index now, in one thread.

    Otherwise it builds the index at the first access to a file, and a second thread would read the unfinished index.
    """
    with _archive_lock:
        archive.ls("")


def _store_of_chain(url: str, storage_options: dict[str, Any] | None) -> FsspecStore:
    """Return the store at a chained URL that begins with one of fsspec's archives or caches.

    Their methods run in threads. A cache of an asynchronous filesystem claims to be asynchronous, but is not.
    """
    filesystem, path = url_to_fs(url, **(storage_options or {}))
    scheme = links_of(url)[0].scheme
    wrapper: type[AsyncFileSystemWrapper] = _OneFileAtATime
    if scheme in ARCHIVES | {"simplecache"}:
        wrapper = _Archive if scheme in ARCHIVES else _Cache
    return FsspecStore(wrapper(filesystem, asynchronous=True), read_only=True, path=path)


class _Archive(AsyncFileSystemWrapper):  # type: ignore[misc]
    """An asynchronous wrapper of an archive. For a missing file, older versions of fsspec raise KeyError."""

    _cat_file: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._cat_file_of_archive = self._cat_file
        self._cat_file = self._cat_file_or_raise

    async def _cat_file_or_raise(self, path: str, *arguments: Any, **options: Any) -> Any:
        try:
            return await self._cat_file_of_archive(path, *arguments, **options)
        except KeyError as error:
            raise FileNotFoundError(path) from error


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
