"""Documents written anew: the only writing there is, and it knows no chunk."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import FsspecStore, LocalStore, MemoryStore, WrapperStore, ZipStore

from zarr_xgroup.errors import XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.storage.failures import reason_of
from zarr_xgroup.storage.opening import ARCHIVES, innermost, protocols_of
from zarr_xgroup.storage.uris import CACHES
from zarr_xgroup.storage.waiting import wait

#: Schemes of fsspec's filesystems in which nothing can be written, or not to where it is read from.
_NOT_WRITTEN = frozenset({*ARCHIVES, *CACHES, "reference", "http", "https"})


class Drafts(WrapperStore[Store]):
    """A store whose documents are read once, and from then on as they are drafted.

    Parameters
    ----------
    store : zarr.abc.store.Store
        The store.

    Attributes
    ----------
    texts : dict of str to bytes
        The documents that are to be written, by key.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._read: dict[str, bytes | None] = {}
        self.texts: dict[str, bytes] = {}

    @property
    def supports_consolidated_metadata(self) -> bool:
        """Whether the store itself does."""
        return getattr(self._store, "supports_consolidated_metadata", True)

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return a document, or the bytes that are asked for of anything."""
        if byte_range is not None:
            return await self._store.get(key, prototype, byte_range)
        if key not in self._read:
            self._read[key] = await _content(self._store, key)
        content = self.texts.get(key, self._read[key])
        return None if content is None else prototype.buffer.from_bytes(content)

    def before(self, key: str) -> bytes | None:
        """Return a document as the store has it, None if there is none."""
        if key not in self._read:
            wait(self.get(key, default_buffer_prototype()))
        return self._read[key]

    def text(self, key: str) -> bytes | None:
        """Return a document as it is drafted, None if there is none."""
        return self.texts.get(key) or self.before(key)

    def write(self, store: Store) -> None:
        """Write the drafts to a store that can be written, if it has what was read.

        Each is there whole or not at all. Consolidated metadata should come last.

        Raises
        ------
        XGroupStoreError
            If a document was changed meanwhile, or cannot be written. What was written before stays.
        """
        wait(self._check_same(store, self.texts))
        if isinstance(store, LocalStore):
            for key in self.texts:
                _file(store, key)
        for key, content in self.texts.items():
            wait(self._check_same(store, [key]))
            try:
                _put(store, key, content)
            except Exception as error:
                message = _("{key} cannot be written: {reason}")
                raise XGroupStoreError(message.format(key=key, reason=reason_of(error))) from error

    async def _check_same(self, store: Store, keys: Iterable[str]) -> None:
        keys = list(keys)
        found = await asyncio.gather(*(_content_now(store, key) for key in keys))
        for key, now in zip(keys, found, strict=True):
            if now != self._read[key]:
                message = _("{key} was changed meanwhile by somebody else: check the store again")
                raise XGroupStoreError(message.format(key=key))


async def _content(store: Store, key: str) -> bytes | None:
    buffer = await store.get(key, default_buffer_prototype())
    return None if buffer is None else buffer.to_bytes()


async def _content_now(store: Store, key: str) -> bytes | None:
    try:
        return await _content(store, key)
    except Exception as error:
        message = _("{place} cannot be read: {reason}")
        raise XGroupStoreError(message.format(place=key, reason=reason_of(error))) from error


def _put(store: Store, key: str, content: bytes) -> None:
    if isinstance(store, LocalStore):
        _put_file(_file(store, key), content)
    else:
        wait(store.set(key, default_buffer_prototype().buffer.from_bytes(content)))


def _file(store: LocalStore, key: str) -> Path:
    """Return the file of a key, which has to be in the folder of the store."""
    file = (store.root / key).resolve()
    if file.is_relative_to(store.root.resolve()):
        return file
    message = _("{key} is a link to {file}, outside of the store: nothing is written there")
    raise XGroupStoreError(message.format(key=key, file=file))


def _put_file(file: Path, content: bytes) -> None:
    """Write a file at once, with the permissions of the one that it replaces."""
    is_there = file.exists()
    if is_there and not os.access(file, os.W_OK):
        raise PermissionError(_("the file is read-only"))
    mode = file.stat().st_mode if is_there else file.parent.stat().st_mode & 0o666
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(name, stat.S_IMODE(mode))
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise


def writable(store_like: Any, store: Store, name: str) -> Store:
    """Return a store that is opened for reading as one that can be written.

    Parameters
    ----------
    store_like : str, os.PathLike, zarr.abc.store.Store, ...
        What the user named: a store that is read-only stays so.
    store : zarr.abc.store.Store
        The store, as it was opened.
    name : str
        What messages call it.

    Raises
    ------
    XGroupStoreError
        If it cannot be written.
    """
    given = getattr(store_like, "store", store_like)
    inner = innermost(store)
    schemes = set(protocols_of(inner)) if isinstance(inner, FsspecStore) else set()
    if isinstance(inner, ZipStore) or not ARCHIVES.isdisjoint(schemes):
        message = _("{store} is an archive: unpack it, mend it there, and pack it again")
    elif (isinstance(given, Store) and given.read_only) or not _NOT_WRITTEN.isdisjoint(schemes):
        message = _("{store} is open for reading only")
    else:
        return MemoryStore(given) if isinstance(given, dict) else _opened_for_writing(store)
    raise XGroupStoreError(message.format(store=name))


def _opened_for_writing(store: Store) -> Store:
    if not store.read_only or isinstance(store, LocalStore):
        return store
    if isinstance(store, FsspecStore):
        return FsspecStore(store.fs, path=store.path, allowed_exceptions=store.allowed_exceptions)
    return store.with_read_only(False)
