"""How much an open asks of other stores: bytes of documents and chunks, and how many stores."""

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupResolutionWarning, XGroupStoreError
from zarr_xgroup.storage import stores
from zarr_xgroup.storage.foreign import ForeignLimits
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    write_local,
    write_zip,
)
from zarr_xgroup.tests.servers import Fault, FileServer, S3Server, serve_http

#: A part of a body that has no end.
PART = b" " * 2**16
#: What sockets may hold of what nobody reads.
IN_FLIGHT = 2**24


def grid(**attributes: Any) -> Contents:
    """Return a store of a coordinate `x`."""
    return build(Group({"x": Array([10.0, 20.0], ("x",))}, attributes))


def referring(*uris: str) -> Contents:
    """Return a store of arrays each of which has its coordinate in another store."""
    arrays = {}
    for number, uri in enumerate(uris):
        external = {"coordinates": [{"values": {"external": {"uri": uri, "node": "/x"}}}]}
        dim = f"x{number}" if number else "x"
        cs = {"crs": [{"axes": {dim: external}}]}
        arrays[f"v{number:03}"] = Array([1.0, 2.0], (dim,), declaring("cs", cs=cs))
    return build(Group(arrays))


def lost(store: Any, **options: Any) -> XGroupResolutionWarning:
    """Open a store whose coordinate cannot be resolved, and return the one warning."""
    dataset, told = opened_with_warnings(xr.open_dataset, store, **options)
    assert not dataset.coords
    (warning,) = told
    assert isinstance(warning, XGroupResolutionWarning)
    assert isinstance(warning.error, XGroupStoreError)
    return warning


@pytest.mark.parametrize("key", ["/zarr.json", "/x/zarr.json", "/.zmetadata"])
def test_a_document_without_an_end(http_server: FileServer, key: str) -> None:
    http_server.contents.update(grid())
    http_server.faults[key] = Fault(body=PART, endless=True)
    store = memory_store(referring(http_server.url))
    if key == "/.zmetadata":  # not that of a v3 store: it is in nobody's way
        opened(xr.open_dataset, store, cross_store_max_bytes=10**6)
    else:
        text = str(lost(store, cross_store_max_bytes=10**6))
        assert "it has more than 1000000 bytes, the most that cross_store_max_bytes allows" in text
    assert http_server.endless_bytes < 10**6 + IN_FLIGHT


def test_documents_have_a_limit_that_is_large() -> None:
    assert ForeignLimits() == ForeignLimits(30.0, 2**25, 100)


def test_a_chunk_without_an_end(http_server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MOST_STORED_BYTES", 10**6)
    http_server.contents.update(grid())
    http_server.faults["/x/c/0"] = Fault(body=PART, endless=True)
    assert "it has more than 1000000 bytes" in str(lost(memory_store(referring(http_server.url))))
    assert http_server.endless_bytes < 10**6 + IN_FLIGHT


def test_a_document_that_says_how_long_it_is_is_not_read(http_server: FileServer) -> None:
    http_server.contents.update(grid(note="x" * 10**7))
    store = memory_store(referring(http_server.url))
    assert "more than 1000 bytes" in str(lost(store, cross_store_max_bytes=1000))


def test_a_document_that_is_small_as_long_as_it_is_compressed(http_server: FileServer) -> None:
    http_server.contents.update(grid())
    body = gzip.compress(bytes(10**7))
    http_server.faults["/zarr.json"] = Fault(body=body, headers={"Content-Encoding": "gzip"})
    store = memory_store(referring(http_server.url))
    assert "more than 100000 bytes" in str(lost(store, cross_store_max_bytes=100_000))


def test_what_is_read_later_has_no_limit(http_server: FileServer) -> None:
    values = np.arange(1000.0)
    lon = Array(values, ("x",))
    http_server.contents.update(build(Group({"lon": lon}), consolidated=True))
    reference = {"lon": {"uri": http_server.url, "node": "/lon"}}
    attributes = declaring("ref", there=reference)
    store = memory_store(build(Group({"v": Array(values, ("x",), attributes)})))
    dataset = opened(xr.open_dataset, store, cross_store_max_bytes=3000)
    assert dataset["lon"].values.tolist() == values.tolist()
    assert pickle.loads(pickle.dumps(dataset))["lon"].values.tolist() == values.tolist()


@pytest.mark.parametrize("most", [None, 10**6])
def test_a_limit_that_is_not_reached(http_server: FileServer, most: int | None) -> None:
    http_server.contents.update(grid())
    store = memory_store(referring(http_server.url))
    dataset = opened(xr.open_dataset, store, cross_store_max_bytes=most)
    assert dataset["x"].values.tolist() == [10.0, 20.0]


def test_a_document_exactly_as_long_as_it_may_be(tmp_path: Path) -> None:
    contents = grid()
    most = max(map(len, contents.values()))
    uri = write_local(contents, tmp_path / "grid.zarr").as_uri()
    store = memory_store(referring(uri))
    assert "x" in opened(xr.open_dataset, store, cross_store_max_bytes=most).coords
    assert f"more than {most - 1} bytes" in str(lost(store, cross_store_max_bytes=most - 1))


def test_a_file_without_an_end(tmp_path: Path) -> None:
    folder = write_local(grid(), tmp_path / "grid.zarr")
    with (folder / "x" / "zarr.json").open("ab") as file:
        file.truncate(2**40)  # of which nothing is on the disk
    assert "more than 33554432 bytes" in str(lost(memory_store(referring(folder.as_uri()))))


def test_a_member_of_an_archive_that_is_small_as_long_as_it_is_compressed(tmp_path: Path) -> None:
    archive = write_zip(grid(note="x" * 10**7), tmp_path / "grid.zip")
    store = memory_store(referring(archive.as_uri()))
    assert "more than 100000 bytes" in str(lost(store, cross_store_max_bytes=100_000))


def test_a_document_in_an_object_store(s3_server: S3Server) -> None:
    uri = s3_server.upload("bucket", grid())
    options = {uri: s3_server.options}
    store = memory_store(referring(uri))
    dataset = opened(xr.open_dataset, store, cross_store_storage_options=options)
    assert dataset["x"].values.tolist() == [10.0, 20.0]
    warning = lost(store, cross_store_storage_options=options, cross_store_max_bytes=10)
    assert "more than 10 bytes" in str(warning)


# How many.


@pytest.mark.server
def test_references_to_the_first_stores_are_followed() -> None:
    contents = {f"{n}/{key}": value for n in range(5) for key, value in grid().items()}
    with serve_http(contents) as server:
        store = memory_store(referring(*(f"{server.url}/{n}" for n in range(5))))
        dataset, told = opened_with_warnings(xr.open_dataset, store, cross_store_max_stores=3)
        paths = server.paths()
    assert {path.split("/")[1] for path in paths} == {"0", "1", "2"}
    (warning,) = told
    assert warning.paths == ("/v003", "/v004")
    assert "an open follows references to 3 other stores" in str(warning)
    assert set(dataset.coords) == {"x", "x1", "x2"}


@pytest.mark.server
@pytest.mark.parametrize("most", [None, 5])
def test_no_more_stores_than_may_be(most: int | None) -> None:
    contents = {f"{n}/{key}": value for n in range(5) for key, value in grid().items()}
    with serve_http(contents) as server:
        store = memory_store(referring(*(f"{server.url}/{n}" for n in range(5))))
        opened(xr.open_dataset, store, cross_store_max_stores=most)


@pytest.mark.parametrize("option", ["cross_store_max_bytes", "cross_store_max_stores"])
@pytest.mark.parametrize("value", ["1", 1.5, True, 0, -1])
def test_limits_that_cannot_be_used_are_told_at_once(option: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{option} must be a positive integer"):
        opened(xr.open_dataset, memory_store(grid()), **{option: value})
