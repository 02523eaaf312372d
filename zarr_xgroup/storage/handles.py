"""Open stores: their properties. Only this module looks at the classes and clients of stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore, MemoryStore, StorePath, WrapperStore, ZipStore

from zarr_xgroup._compat import wrapped_store
from zarr_xgroup.metadata.paths import is_node_path
from zarr_xgroup.redaction import redact
from zarr_xgroup.storage.clients import http_client
from zarr_xgroup.storage.places import ARCHIVES, HOSTED, LOCAL, Location, place_of

#: zarr's stores of this machine. They take keys literally, and are fast.
_LOCAL_STORES = (LocalStore, MemoryStore, ZipStore)
#: fsspec's filesystems that take keys literally: no percent-decoding, no query.
_LITERAL = frozenset({"file", "memory", "zip"})
#: The protocols of fsspec filesystems, and the classes of zarr stores, whose clients try again themselves.
_RETRYING = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl"})
_RETRYING_STORES = frozenset({"ObjectStore", "IcechunkStore"})
#: The scheme, and the name of the bucket's option, of the stores of obstore that are buckets.
_BUCKETS = {
    "S3Store": ("s3", "bucket"),
    "GCSStore": ("gs", "bucket"),
    "AzureStore": ("abfs", "container_name"),
}
#: The options of fsspec, botocore and obstore that name the server of an object store.
_ENDPOINTS = ("endpoint_url", "endpoint", "aws_endpoint", "aws_endpoint_url", "base_url")


class Handle(msgspec.Struct, frozen=True):
    """An open store."""

    #: The zarr store, opened at its root.
    store: Store
    #: The name in messages, without credentials.
    name: str
    #: The path, in the store, of the address with which it was opened.
    path: str
    #: Whether the package opened the store, and closes it.
    is_ours: bool
    #: The location of the store: a URI within it does not point to a foreign store. None if it has no URI.
    place: Location | None
    #: The store inside any number of zarr's wrappers.
    inner: Any
    #: The fsspec filesystem of the store, and the filesystems from which it reads; () for other stores.
    filesystems: tuple[Any, ...]

    @property
    def held(self) -> Any:
        """The store of obstore, which may not be installed, inside zarr's ObjectStore; None for other stores."""
        return getattr(self.inner, "store", None)

    @property
    def client(self) -> Any:
        """The fsspec filesystem of the store; None for other stores."""
        return next(iter(self.filesystems), None)

    @property
    def key(self) -> str:
        """The path of the store in its fsspec filesystem."""
        return str(getattr(self.inner, "path", ""))

    @property
    def folder(self) -> Path | None:
        """The folder of a store whose files can be read directly."""
        return self.store.root if type(self.store) is LocalStore else None

    @property
    def uri(self) -> str | None:
        """The URI of the store; None if it has none."""
        inner, held = self.inner, self.held
        if isinstance(inner, LocalStore):
            return file_uri(inner.root.absolute())
        if isinstance(inner, ZipStore) and inner.path is not None:
            return file_uri(Path(inner.path).absolute())
        if isinstance(inner, FsspecStore):
            return str(inner.fs.unstrip_protocol(inner.path))
        kind, prefix = type(held).__name__, getattr(held, "prefix", None) or ""
        if kind == "LocalStore":
            return file_uri(Path(prefix).absolute()) if prefix else None
        scheme, key = _BUCKETS.get(kind, ("", ""))
        if bucket := self._client_options.get(key):
            return f"{scheme}://{bucket}/{prefix}"
        url = getattr(held, "url", None)
        return None if url is None else str(url)

    @property
    def is_local(self) -> bool:
        """Whether the store is on this machine, also through archives and caches. False for unknown classes."""
        if isinstance(self.inner, FsspecStore):
            return _protocols(self.filesystems[-1])[0] in {*LOCAL, "local"}
        kind = type(self.held)
        is_of_obstore = kind.__module__.startswith("obstore")
        is_local = is_of_obstore and kind.__name__ in ("LocalStore", "MemoryStore")
        return is_local or isinstance(self.inner, _LOCAL_STORES)

    @property
    def host(self) -> str | None:
        """The host of the server; None without a server, or for the server of a cloud."""
        options = self._client_options
        nested = options.get("client_kwargs")
        # An endpoint in the options takes precedence over the URL.
        named = [
            values[key]
            for values in (options, nested if isinstance(nested, Mapping) else {})
            for key in _ENDPOINTS
            if values.get(key)
        ]
        is_of_fsspec = isinstance(self.inner, FsspecStore)
        location = self.key if is_of_fsspec else getattr(self.held, "url", "")
        link = Location.parse(str(named[0] if named else location))
        host = link.host if link.scheme in HOSTED else options.get("host")  # ftp, sftp
        return host if isinstance(host, str) else None

    @property
    def _client_options(self) -> Mapping[str, Any]:
        """The options of the client that reads from the server: of fsspec, or of obstore."""
        if isinstance(self.inner, FsspecStore):
            options = getattr(self.filesystems[-1], "storage_options", {})
        else:
            options = getattr(self.held, "config", None)
        return options if isinstance(options, Mapping) else {}

    @property
    def is_served(self) -> bool:
        """Whether keys may be sent to a server, which may decode or normalize some of them. True for unknown classes."""
        if isinstance(self.inner, FsspecStore):
            return _LITERAL.isdisjoint(_protocols(self._filesystem))
        return not isinstance(self.inner, _LOCAL_STORES)

    @property
    def can_have(self) -> Callable[[str], bool]:
        """A function that returns whether a path is a valid path of a node of the store."""
        # zarr's newer versions read a backslash in a path as a slash.
        splits = "\\" not in StorePath(self.store, "a\\b").path
        return partial(is_node_path, is_served=self.is_served, splits_at_backslash=splits)

    @property
    def lists_early(self) -> bool:
        """Whether listing the store before the result is needed can save time.

        False for local stores, which are fast, and for whole stores on web servers: few support listing, and most stores
        there are consolidated.
        """
        if type(self.store) in _LOCAL_STORES or not self.store.supports_listing:
            return False
        return bool(self.path) or not (self.uri or "").startswith(("http://", "https://"))

    @property
    def supports_consolidated(self) -> bool:
        """Whether zarr uses consolidated metadata of such a store."""
        return bool(getattr(self.store, "supports_consolidated_metadata", True))

    @property
    def retries_itself(self) -> bool:
        """Whether the client of the store makes failed requests again."""
        names = {name for filesystem in self.filesystems for name in _protocols(filesystem)}
        return not _RETRYING.isdisjoint(names) or type(self.inner).__name__ in _RETRYING_STORES

    @property
    def is_on_s3fs(self) -> bool:
        """Whether s3fs reads the store."""
        return type(self.client).__module__.partition(".")[0] == "s3fs"

    @property
    def is_bounded(self) -> bool:
        """Whether the client of the store is `http_client`, which stops reading a response that is too large."""
        get_client = getattr(self.client, "get_client", None)
        return isinstance(get_client, partial) and get_client.func is http_client

    @property
    def archive(self) -> Any:
        """The filesystem of the archive that contains the store; None without an archive."""
        filesystem = self._filesystem
        is_archive = filesystem is not None and not ARCHIVES.isdisjoint(_protocols(filesystem))
        return filesystem if is_archive else None

    @property
    def references(self) -> Any:
        """The filesystem of references to chunks (kerchunk) that the store reads; None for other stores."""
        client = self.client
        return client if getattr(client, "protocol", None) == "reference" else None

    @property
    def _filesystem(self) -> Any:
        """The fsspec filesystem inside zarr's asynchronous wrapper, if it has one; None for other stores."""
        return next((it for it in self.filesystems if not hasattr(it, "sync_fs")), None)


def handle_of(
    store: Store,
    name: str | None = None,
    path: str = "",
    *,
    is_ours: bool = False,
    place: Location | None = None,
) -> Handle:
    """Return the handle of an open store. The place of a store that the user opened is that of its URI."""
    inner: Any = store
    while isinstance(inner, WrapperStore):
        inner = wrapped_store(inner)
    filesystems = tuple(_filesystems(getattr(inner, "fs", None)))
    named = redact(str(store)) if name is None else name
    handle = Handle(store, named, path, is_ours, place, inner, filesystems)
    if is_ours or handle.uri is None:
        return handle
    return msgspec.structs.replace(handle, place=place_of(handle.uri))


def file_uri(path: Path) -> str:
    """Return the percent-encoded ``file://`` URI of a local path."""
    return f"file://{quote(str(path))}"


def _filesystems(filesystem: Any) -> Iterator[Any]:
    """Yield an fsspec filesystem, and those from which it reads, as wrappers, caches and archives do."""
    while hasattr(filesystem, "protocol"):
        yield filesystem
        archive = getattr(filesystem, "fo", None)
        holders = (filesystem, "sync_fs"), (filesystem, "fs"), (archive, "fs")
        inner = (getattr(holder, name, None) for holder, name in holders)
        filesystem = next((it for it in inner if hasattr(it, "protocol")), None)


def _protocols(filesystem: Any) -> tuple[str, ...]:
    """Return the protocols (names) of an fsspec filesystem."""
    names = filesystem.protocol
    return (names,) if isinstance(names, str) else tuple(names)
