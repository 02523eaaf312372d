"""Ways to name a place in a store, so that tests can name any group of any store by each of them."""

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

#: Returns what names a group, given its path.
Naming: TypeAlias = Callable[[str], Any]
#: Puts a store somewhere, given its contents and a folder.
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
_zip_chain = _in_archive(
    lambda path, group: f"zip://in/p.zarr/{group}::file://{path}", at="in/p.zarr"
)


def _way(name: str, way: Way, *, has: bool = True, is_server: bool = False) -> Any:
    marks = [pytest.mark.skipif(not has, reason="a package is missing, or too old")]
    return pytest.param(way, id=name, marks=[*marks, pytest.mark.server] if is_server else marks)


#: Whether zarr takes mappings of fsspec.
_KNOWS_MAPPINGS = Version("3.1") <= ZARR
_LOCAL = _way("local", local)
_LISTED = _way("listed", _on_server("{}/{}".format), is_server=True)
_ZIP = _way("zip chain", _zip_chain, has=HAS_SYNC_FSSPEC)
_ICECHUNK = _way("icechunk", icechunk, has=HAS_ICECHUNK)

#: Ways to name a group by an address that leads into a store.
ADDRESSES = (
    _LOCAL,
    _way("file URL", _in_folder(lambda root, group: f"file://{root}/{group}")),
    _way("http", http, is_server=True),
    _LISTED,
    _ZIP,
    _way("memory", _fsspec_memory, has=HAS_SYNC_FSSPEC),
    _way("cached", _on_server("simplecache::{}/{}".format), has=HAS_SYNC_FSSPEC, is_server=True),
)
#: Groups of a store that is open, or is opened as a whole.
OPEN_GROUPS = (
    _way("path in store", _path_in_store),
    _ICECHUNK,
    _way("zip folder", _in_archive(lambda path, group: path / group)),
)
#: Stores that are open and begin at a group.
OPEN_STORES = (
    _way("store", _in_folder(lambda root, group: LocalStore(root / group, read_only=True))),
    _way("group", _in_folder(lambda root, group: zarr.open_group(root / group, mode="r"))),
    _way(
        "mapper",
        _on_server(lambda url, group: fsspec.get_mapper(f"{url}/{group}")),
        has=_KNOWS_MAPPINGS,
        is_server=True,
    ),
    _way("obstore", _in_folder(lambda root, group: _object_folder(root / group)), has=HAS_OBSTORE),
)
#: One way of each kind that opens a group as from the root of its store.
KINDS = (_LOCAL, _LISTED, _ZIP, _ICECHUNK)
