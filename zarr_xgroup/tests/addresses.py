"""Kinds of addresses of groups, so that tests can open any group of any store with each kind."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import fsspec
import pytest
import zarr
from packaging.version import Version
from zarr.storage import LocalStore

from zarr_xgroup.tests.builders import (
    HAS_ICECHUNK,
    HAS_OBSTORE,
    HAS_SYNC_FSSPEC,
    ZARR,
    Contents,
    below,
    icechunk_session,
    memory_store,
    write_fsspec_memory,
    write_local,
    write_zip,
)
from zarr_xgroup.tests.servers import serve_http

#: Returns the address of a group, given its path.
Naming: TypeAlias = Callable[[str], Any]
#: Writes a store, given its contents and a folder, and yields a `Naming`.
Way: TypeAlias = Callable[[Contents, Path], AbstractContextManager[Naming]]


def _in_folder(name: Callable[[Path, str], Any]) -> Way:
    @contextmanager
    def way(contents: Contents, folder: Path) -> Iterator[Naming]:
        root = write_local(contents, folder / "p.zarr")
        yield lambda group: name(root, group)

    return way


def _on_server(name: Callable[[str, str], Any], *, listing: bool = True, at: str = "p.zarr") -> Way:
    @contextmanager
    def way(contents: Contents, _folder: Path) -> Iterator[Naming]:
        with serve_http(below(contents, at), listing=listing) as server:
            yield lambda group: name(f"{server.url}/{at.replace(' ', '%20')}", group)

    return way


def _in_archive(name: Callable[[Path, str], Any], *, at: str = "") -> Way:
    @contextmanager
    def way(contents: Contents, folder: Path) -> Iterator[Naming]:
        path = write_zip(below(contents, at) if at else contents, folder / "p.zip")
        yield lambda group: name(path, group)

    return way


def _object_folder(folder: Path) -> Any:
    from obstore.store import LocalStore as ObjectFolder
    from zarr.storage import ObjectStore

    return ObjectStore(ObjectFolder(folder), read_only=True)


@contextmanager
def _path_in_store(contents: Contents, _folder: Path) -> Iterator[Naming]:
    store = memory_store(contents)
    yield lambda group: zarr.open_group(store, path=group, mode="r")


@contextmanager
def _fsspec_memory(contents: Contents, _folder: Path) -> Iterator[Naming]:
    url = write_fsspec_memory(contents, "addresses.zarr")
    yield lambda group: f"{url}/{group}"


@contextmanager
def icechunk(contents: Contents, _folder: Path) -> Iterator[Naming]:
    session = icechunk_session(contents)
    yield lambda group: zarr.open_group(session.store, path=group, mode="r")


local = _in_folder(lambda root, group: root / group)
http = _on_server("{}/{}".format, listing=False, at="some where/p.zarr")
_zip_chain = _in_archive(lambda path, group: f"zip://{group}::file://{path}")


def _way(name: str, way: Way, *, has: bool = True, is_server: bool = False) -> Any:
    marks = [pytest.mark.skipif(not has, reason="a package is missing or too old")]
    return pytest.param(way, id=name, marks=[*marks, pytest.mark.server] if is_server else marks)


#: Whether zarr supports mappings of fsspec.
_SUPPORTS_MAPPINGS = Version("3.1") <= ZARR
_LOCAL = _way("local", local)
_LISTED = _way("listed", _on_server("{}/{}".format), is_server=True)
_ZIP = _way("zip chain", _zip_chain)
_ICECHUNK = _way("icechunk", icechunk, has=HAS_ICECHUNK)

#: Addresses (paths and URLs) of a group below the root of a store.
ADDRESSES = (
    _LOCAL,
    _way("file URL", _in_folder(lambda root, group: f"file://{root}/{group}")),
    _way("http", http, is_server=True),
    _LISTED,
    _ZIP,
    _way(
        "store in zip chain",
        _in_archive(lambda path, group: f"zip://in/p.zarr/{group}::file://{path}", at="in/p.zarr"),
    ),
    _way("zip folder", _in_archive(lambda path, group: path / group)),
    _way("store in zip", _in_archive(lambda path, group: path / "p.zarr" / group, at="p.zarr")),
    _way("memory", _fsspec_memory, has=HAS_SYNC_FSSPEC),
    _way("cached", _on_server("simplecache::{}/{}".format), has=HAS_SYNC_FSSPEC, is_server=True),
)
#: Groups of an open store, or of a store that is opened at its root.
OPEN_GROUPS = (
    _way("path in store", _path_in_store),
    _ICECHUNK,
)
#: Open stores whose root is the group.
OPEN_STORES = (
    _way("store", _in_folder(lambda root, group: LocalStore(root / group, read_only=True))),
    _way("group", _in_folder(lambda root, group: zarr.open_group(root / group, mode="r"))),
    _way(
        "mapper",
        _on_server(lambda url, group: fsspec.get_mapper(f"{url}/{group}")),
        has=_SUPPORTS_MAPPINGS,
        is_server=True,
    ),
    _way("obstore", _in_folder(lambda root, group: _object_folder(root / group)), has=HAS_OBSTORE),
)
#: One address of each kind with which the root of the store is known.
KINDS = (_LOCAL, _LISTED, _ZIP, _ICECHUNK)
