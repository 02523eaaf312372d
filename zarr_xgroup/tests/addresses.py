"""Ways to name a place in a store, so that tests can name any group of any store by each of them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import fsspec
import pytest
import zarr
from fsspec.mapping import FSMap
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
from zarr_xgroup.tests.servers import serve_http, serve_s3

Naming: TypeAlias = Callable[[str], Any]
Way: TypeAlias = Callable[[Contents, Path], AbstractContextManager[Naming]]


@contextmanager
def local(contents: Contents, folder: Path) -> Iterator[Naming]:
    root = write_local(contents, folder / "p.zarr")
    yield lambda group: root / group


@contextmanager
def file_url(contents: Contents, folder: Path) -> Iterator[Naming]:
    root = write_local(contents, folder / "p.zarr")
    yield lambda group: f"file://{root}/{group}"


@contextmanager
def local_store(contents: Contents, folder: Path) -> Iterator[Naming]:
    root = write_local(contents, folder / "p.zarr")
    yield lambda group: LocalStore(root / group, read_only=True)


@contextmanager
def zarr_group(contents: Contents, folder: Path) -> Iterator[Naming]:
    root = write_local(contents, folder / "p.zarr")
    yield lambda group: zarr.open_group(root / group, mode="r")


@contextmanager
def path_in_store(contents: Contents, folder: Path) -> Iterator[Naming]:
    store = memory_store(contents)
    yield lambda group: zarr.open_group(store, path=group, mode="r")


@contextmanager
def http(contents: Contents, folder: Path) -> Iterator[Naming]:
    with serve_http(below(contents, "some where/p.zarr")) as server:
        yield lambda group: f"{server.url}/some%20where/p.zarr/{group}"


@contextmanager
def http_listed(contents: Contents, folder: Path) -> Iterator[Naming]:
    with serve_http(below(contents, "p.zarr"), listing=True) as server:
        yield lambda group: f"{server.url}/p.zarr/{group}"


@contextmanager
def mapper(contents: Contents, folder: Path) -> Iterator[Naming]:
    with serve_http(below(contents, "p.zarr"), listing=True) as server:
        yield lambda group: fsspec.get_mapper(f"{server.url}/p.zarr/{group}")


@contextmanager
def fsspec_memory(contents: Contents, folder: Path) -> Iterator[Naming]:
    url = write_fsspec_memory(contents, "addresses.zarr")
    yield lambda group: f"{url}/{group}"


@contextmanager
def zip_chain(contents: Contents, folder: Path) -> Iterator[Naming]:
    path = write_zip(below(contents, "in/p.zarr"), folder / "p.zip")
    yield lambda group: f"zip://in/p.zarr/{group}::file://{path}"


@contextmanager
def zip_folder(contents: Contents, folder: Path) -> Iterator[Naming]:
    path = write_zip(contents, folder / "p.zip")
    yield lambda group: path / group


@contextmanager
def cached(contents: Contents, folder: Path) -> Iterator[Naming]:
    with serve_http(below(contents, "p.zarr"), listing=True) as server:
        yield lambda group: f"simplecache::{server.url}/p.zarr/{group}"


@contextmanager
def icechunk(contents: Contents, folder: Path) -> Iterator[Naming]:
    session = icechunk_session(contents)
    yield lambda group: zarr.open_group(session.store, path=group, mode="r")


@contextmanager
def obstore_local(contents: Contents, folder: Path) -> Iterator[Naming]:
    from obstore.store import LocalStore as ObjectFolder
    from zarr.storage import ObjectStore

    root = write_local(contents, folder / "p.zarr")
    yield lambda group: ObjectStore(ObjectFolder(root / group), read_only=True)


@contextmanager
def bucket(contents: Contents, folder: Path) -> Iterator[Naming]:
    pytest.importorskip("moto.server")
    pytest.importorskip("boto3")
    with serve_s3() as server:
        url = server.upload("bucket", below(contents, "some/p.zarr"))
        filesystem = fsspec.filesystem("s3", asynchronous=True, **server.options)
        yield lambda group: FSMap(f"{url}/some/p.zarr/{group}".rstrip("/"), filesystem)


def _needing(way: Way, has: bool, what: str, *marks: pytest.MarkDecorator) -> Any:
    return pytest.param(way, marks=(*marks, pytest.mark.skipif(not has, reason=what)))


#: Whether zarr takes mappings of fsspec.
KNOWS_MAPPINGS = Version("3.1") <= ZARR
server_needed = pytest.mark.server
with_fsspec = [
    _needing(it, HAS_SYNC_FSSPEC, "fsspec is too old", *marks)
    for it, marks in ((zip_chain, ()), (fsspec_memory, ()), (cached, (server_needed,)))
]
in_icechunk = _needing(icechunk, HAS_ICECHUNK, "icechunk is not installed")
listed = pytest.param(http_listed, marks=server_needed)

#: Ways to name a group by an address that leads into a store: each gives, for a group, what names it.
ADDRESSES = (
    local,
    file_url,
    pytest.param(http, marks=server_needed),
    listed,
    *with_fsspec,
)
#: Groups of a store that is open, or is opened as a whole.
OPEN_GROUPS = (path_in_store, zip_folder, in_icechunk)
#: Stores that are open and begin at a group.
OPEN_STORES = (
    local_store,
    zarr_group,
    _needing(mapper, KNOWS_MAPPINGS, "zarr is too old", server_needed),
    _needing(bucket, KNOWS_MAPPINGS, "zarr is too old", server_needed),
    _needing(obstore_local, HAS_OBSTORE, "obstore is not installed"),
)
#: One way of each kind that opens a group as from the root of its store.
KINDS = (pytest.param(local), listed, with_fsspec[0], in_icechunk)
