"""Stores that fail: requests that raise, documents that are no JSON, chunks that cannot be read."""

import json
import pickle
import re
import socket
import sys
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest
import xarray as xr
from zarr.storage import MemoryStore

from zarr_xgroup import (
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupReferenceError,
    XGroupResolutionWarning,
    XGroupStoreError,
)
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Contents,
    Group,
    Nodes,
    ZarrFormat,
    assert_same,
    below,
    build,
    compare,
    consolidate,
    declaring,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    recording_store,
    some_pairs,
    stored,
    to_json,
    update,
    write_fsspec_memory,
    write_local,
    write_store,
)
from zarr_xgroup.tests.servers import (
    LOOPBACK,
    Fault,
    FileServer,
    Server,
    patiently,
    redirect,
    serve_http,
    stall,
)
from zarr_xgroup.tests.tables import rows, store_of, text_of

T = TypeVar("T")

#: What no open may take, whatever the machine is busy with: a safeguard, not a measurement.
SAFEGUARD = 60.0
#: Seconds that answers have: where none comes, and where all come.
BRIEF, LONG = 0.2, 30.0

SECRET = "hunter2"

HOURS = {"units": "hours since 2000-01-01"}
#: The store that is referred to. Of its times opening reads the first chunk and the last.
FOREIGN: Nodes = {
    "": {"title": "elsewhere"},
    "level": stored([1000.0, 850.0], "level", units="hPa"),
    "lon": stored(np.arange(6.0).reshape(2, 3), "y x", units="degrees_east"),
    "scanned": Array(np.arange(3) + 1, ("x",), HOURS, chunks=(1,)),
}


def cs(name: str, uri: str, node: str) -> Any:
    """Return an array along an axis whose coordinate is an array of another store."""
    values = {"external": {"uri": uri, "node": node}}
    axes = {name: {"coordinates": [{"values": values}]}}
    return stored([1.0, 2.0], name, **declaring("cs", cs={"crs": [{"axes": axes}]}))


def referring(uri: str, *others: str) -> Nodes:
    """Return a store that refers to the foreign one, to others like it, and to itself."""
    return {
        "": {},
        "x": stored([10.0, 20.0, 30.0], "x", units="m"),
        "own": stored([1.0, 2.0, 3.0], "x", units="K"),
        "profile": cs("level", uri, "/level"),
        "scanned_at": stored([1.0, 2.0, 3.0], "x", **declaring("ref", scanned={"uri": uri, "node": "/scanned"})),
        "scene": stored(np.ones((2, 3)), "y x", **declaring("ref", lon={"uri": uri, "node": "/lon"})),
        **{f"other_{n}": cs(f"level_{n}", it, "/level") for n, it in enumerate(others)},
        "below": {},
        "below/profile": cs("level", uri, "/level"),
    }  # fmt: skip


#: The arrays that refer to the foreign store, by the coordinate that they have from there.
REFERRING: Mapping[str, Collection[str]] = {
    "level": {"/profile", "/below/profile"},
    "lon": {"/scene"},
    "scanned": {"/scanned_at"},
}
#: What the store opens as; attributes that have the URI are left out.
WHOLE = """
    /:
    level (level) 1000.0 850.0 | units=hPa
    lon (y x) [[0.0 1.0 2.0] [3.0 4.0 5.0]] | standard_name=longitude units=degrees_east
    scanned (x) 2000-01-01T01 2000-01-01T02 2000-01-01T03
    x (x) 10.0 20.0 30.0 | units=m
    own (x) @ scanned x | units=K
    profile (level) @ level
    /below:
    profile (level)
"""
NAMES = ("level", "lon", "scanned", "x", "own", "profile", "level_0", "level_1")


def whole(*lost: str) -> list[str]:
    """Return what the store opens as without some coordinates."""
    text = re.sub(rf"\n *({'|'.join(lost)}) \(.*", "", WHOLE) if lost else WHOLE
    for name in lost:
        text = re.sub(rf"( @.*) {name}\b", r"\1", text)
    return [line.removesuffix(" @") for line in map(str.strip, text.strip().splitlines())]


def within(seconds: float, function: Callable[[], T]) -> T:
    """Return what a function returns, or fail if that takes longer."""
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    return outcome.result(seconds)


def opened_in_time(
    store: Any, timeout: float | None = LONG, function: Any = xr.open_datatree, **options: Any
) -> tuple[Any, list[Any]]:
    """Open by engine xgroup, and return the warnings as well."""
    if isinstance(store, Mapping):
        store = store_of(store, consolidated=True)
    return within(
        SAFEGUARD,
        lambda: opened_with_warnings(function, store, cross_store_timeout=timeout, **options),
    )


def check_lost(
    uri: str,
    text: str,
    lost: Collection[str] = tuple(REFERRING),
    timeout: float = LONG,
    **options: Any,
) -> XGroupResolutionWarning:
    """Assert that of the store that refers to another one only some coordinates are missing, as is told once."""
    tree, given = opened_in_time(referring(uri), timeout, **options)
    assert text_of(tree, NAMES) == whole(*lost)
    (warning,) = given
    assert type(warning) is XGroupResolutionWarning
    kind = XGroupReferenceError if text == "not found in store" else XGroupStoreError
    assert type(warning.error) is kind
    assert text in str(warning)
    assert SECRET not in f"{warning} {warning.error!r}"
    assert sorted(warning.paths) == sorted(path for name in lost for path in REFERRING[name])
    return warning


def check_whole(uri: str, **options: Any) -> None:
    """Assert that nothing is missing of the store that refers to another one."""
    tree, given = opened_in_time(referring(uri), **options)
    assert given == []
    assert text_of(tree, NAMES) == whole()


# Requests that fail.

ROOT_ARRAY = build({"": stored([1.0, 2.0], "r")})["zarr.json"]
NO_STORE = "it is not a Zarr store: /zarr.json is not valid JSON"
#: What is asked for, what happens then, and what is told of it.
FAULTS: dict[str, tuple[str, Fault, str]] = {
    "a root that is not found": ("zarr.json", Fault(404), "not found: it has neither a zarr.json nor a .zgroup"),
    "a root that is forbidden": ("zarr.json", Fault(403), "no permission"),
    "a root behind a password": ("zarr.json", Fault(401), "no permission"),
    "a root that fails": ("zarr.json", Fault(500), "500"),
    "a root that is not available": ("zarr.json", Fault(503), "503"),
    "a root that is redirected for ever": ("zarr.json", redirect("/a/zarr.json"), "TooManyRedirects"),
    "a root that breaks off": ("zarr.json", Fault(truncate=20), "cannot be read: "),
    "a root whose connection is reset": ("zarr.json", Fault(reset=True), "cannot be read: "),
    "a root that never answers": ("zarr.json", stall(), "timeout"),
    "a root that is no JSON": ("zarr.json", Fault(body=b"{"), NO_STORE),
    "a root that is nested too deep": ("zarr.json", Fault(body=b"[" * 100_000), NO_STORE),
    "a root that is empty": ("zarr.json", Fault(body=b""), NO_STORE),
    "a root that is no text": ("zarr.json", Fault(body=b"\xff\xfe"), NO_STORE),
    "a root that is a page": ("zarr.json", Fault(body=b"<!DOCTYPE html><html></html>"), NO_STORE),
    "a root that is a list": ("zarr.json", Fault(body=b"[1, 2]"), "it is not a Zarr store: "),
    "a root of a format to come": ("zarr.json", Fault(body=b'{"zarr_format": 4, "node_type": "group"}'), "'zarr_format' is 4, neither 2 nor 3"),
    "a root that is an array": ("zarr.json", Fault(body=ROOT_ARRAY), "it is an array: the URI must be that of a group"),
    "a node that is not found": ("level/zarr.json", Fault(404), "not found in store"),
    "a node that is forbidden": ("level/zarr.json", Fault(403), "no permission"),
    "a node that fails": ("level/zarr.json", Fault(500), "500"),
    "a node that breaks off": ("level/zarr.json", Fault(truncate=20), "/level/zarr.json cannot be read"),
    "a node that never answers": ("level/zarr.json", stall(), "timeout"),
    "a node that is no JSON": ("level/zarr.json", Fault(body=b"{"), "/level/zarr.json is not valid JSON"),
    "a node that is a list": ("level/zarr.json", Fault(body=b"[]"), "'zarr.json' must be a JSON object, got list"),
    "a chunk that is forbidden": ("level/c/0", Fault(403), "no permission"),
    "a chunk that fails": ("level/c/0", Fault(500), "500"),
    "a chunk that breaks off": ("level/c/0", Fault(truncate=3), "cannot be read"),
    "a chunk that is short": ("level/c/0", Fault(body=b"abc"), "cannot be read"),
    "a chunk that never answers": ("level/c/0", stall(), "timeout"),
}  # fmt: skip


@rows(FAULTS, "key, fault, text")
@patiently
def test_a_request_that_fails_costs_what_it_asks_for(
    http_server: FileServer, key: str, fault: Fault, text: str, timeout: float
) -> None:
    http_server.contents.update(below({**build(FOREIGN), ".zattrs": b"{}"}, "a"))
    http_server.faults[f"/a/{key}"], fault.shown = fault, 0
    http_server.requests.clear()
    lost = ["level"] if "level" in key else list(REFERRING)
    host, limit = http_server.url.removeprefix("http://"), timeout if fault.delay else LONG
    warning = check_lost(f"http://user:{SECRET}@{host}/a", text, lost, limit)
    assert f"{http_server.url}/a" in str(warning) or text == "not found in store"
    if not (fault.reset or fault.headers):  # aiohttp takes what is reset for an old connection
        assert http_server.paths().count(f"/a/{key}") == 1  # not again for each array


class Kind(NamedTuple):
    """A kind of server, with the store on it."""

    server: Server
    uri: str
    #: Before the key, in the paths of requests.
    prefix: str
    options: dict[str, Any]


@pytest.fixture(params=["http", "s3", "gcs"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    contents = below(build(FOREIGN, consolidated=True), "a")
    if request.param == "s3":
        s3fs: Any = pytest.importorskip("s3fs")
        monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)  # what botocore has tried before
    if request.param == "gcs":
        pytest.importorskip("gcsfs")
    server = request.getfixturevalue(f"{request.param}_server")
    if request.param == "http":
        server.contents.update(contents)
        return Kind(server, f"{server.url}/a", "/a", {})
    uri, options = server.upload("bucket", contents), dict(server.options)
    if request.param == "s3":
        options |= {"secret": SECRET, "config_kwargs": {"retries": {"total_max_attempts": 2}}}
        return Kind(server, f"{uri}/a", "/bucket/a", {uri: options})
    return Kind(server, f"{uri}/a", "/o/a", {uri: options})


@pytest.mark.server
def test_a_store_that_has_failed_can_be_opened_again(kind: Kind) -> None:
    server, options = kind.server, {"cross_store_storage_options": kind.options}

    def at(key: str = "") -> Callable[[Any], bool]:
        return lambda request: f"{kind.prefix}/{key}" in request.path

    for fault, text in ((stall(), "timeout"), (Fault(404), "not found"), (Fault(403), "no permission"), (Fault(body=b"{"), "is not valid JSON")):  # fmt: skip
        server.faults[at()] = fault
        limit = BRIEF if fault.delay else LONG
        assert kind.uri in str(check_lost(kind.uri, text, timeout=limit, **options))
        server.reset()
    if kind.prefix == "/a":
        server.faults["/a/zarr.json"] = Fault(500, times=1)  # not tried again by anybody
        check_lost(kind.uri, "500")
    else:
        for key in ("zarr.json", "level/c/0", "scanned/c/0"):
            server.faults[at(key)] = Fault(500, times=1)  # tried again by the storage layer
    server.requests.clear()
    check_whole(kind.uri, **options)


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.server
def test_connections_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"http://{LOOPBACK}:{closed_port()}"
    assert url in str(check_lost(f"{url}/a", "connection refused"))
    s3fs: Any = pytest.importorskip("s3fs")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    options = {
        "key": "key",
        "secret": SECRET,
        "client_kwargs": {"endpoint_url": url, "region_name": "us-east-1"},
        "config_kwargs": {"retries": {"total_max_attempts": 1}},
    }
    s3 = {"s3://bucket": options}
    check_lost("s3://bucket/a", "connection refused", cross_store_storage_options=s3)
    with pytest.raises(XGroupStoreError, match="connection refused") as caught:
        xr.open_dataset("zip::s3://bucket/a.zip", engine="xgroup", storage_options={"s3": options})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("user", ["", f"user:{SECRET}@"])
def test_a_host_that_has_no_address(user: str) -> None:
    warning = check_lost(f"http://{user}store.invalid/a", "unreachable")
    assert "http://store.invalid/a" in str(warning)


@pytest.mark.parametrize("uri", ["s3://bucket/a", "gs://bucket/a", "gcs://b"])
def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, uri: str) -> None:
    package, extra = ("s3fs", "s3") if uri.startswith("s3") else ("gcsfs", "gcs")
    monkeypatch.setitem(sys.modules, package, None)
    registry: Any = pytest.importorskip("fsspec.registry")
    for scheme in ("s3", "s3a", "gs", "gcs"):
        with suppress(KeyError):
            monkeypatch.delitem(registry._registry, scheme)
    warning = check_lost(uri, f"package {package} is missing")
    assert f"install the extra `{extra}`" in str(warning)


@pytest.mark.parametrize("error", [RuntimeError("odd"), TypeError("odd"), AttributeError("odd")])
def test_whatever_a_store_raises_is_an_error_of_it(error: Exception) -> None:
    class Odd(MemoryStore):
        @property
        def supports_listing(self) -> bool:  # type: ignore[override]
            raise error

    store: Any = Odd({})
    with pytest.raises(XGroupStoreError, match=f"cannot be opened: {type(error).__name__}: odd"):
        xr.open_dataset(store, engine="xgroup")


@pytest.mark.parametrize("where", ["library.find_start", "foreign.place_of", "foreign.places_of"])
def test_a_mistake_of_our_own_is_no_error_of_a_store(
    http_server: FileServer, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def mistaken(*_arguments: Any) -> Any:
        message = "a mistake"
        raise LookupError(message)

    http_server.contents.update(below(build(FOREIGN), "a"))
    nodes = referring(f"{http_server.url}/a")
    http_server.contents.update(below(build(nodes, consolidated=True), "opened"))
    monkeypatch.setattr(f"zarr_xgroup.storage.{where}", mistaken)
    with pytest.raises(LookupError, match="a mistake"):
        xr.open_dataset(f"{http_server.url}/opened", engine="xgroup")


# Requests that may fail.


def test_without_a_limit_all_is_waited_for(http_server: FileServer) -> None:
    http_server.contents.update(below(build(FOREIGN, consolidated=True), "a"))
    http_server.faults["*"] = Fault(delay=0.1)
    tree, told = opened_in_time(referring(f"{http_server.url}/a"), None)
    assert told == []
    assert text_of(tree, NAMES) == whole()
    for name in REFERRING:
        assert tree[name].encoding["source"] == f"{http_server.url}/a/{name}"


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("consolidated", [True, False])
def test_what_is_absent_may_be_forbidden(
    http_server: FileServer, zarr_format: ZarrFormat, consolidated: bool
) -> None:
    """As by S3 to those who must not list a bucket."""
    contents = below(build(FOREIGN, zarr_format, consolidated=consolidated), "a")
    http_server.contents.update(contents)
    http_server.faults[lambda request: request.path.removeprefix("/") not in contents] = Fault(403)
    check_whole(f"{http_server.url}/a")


@pytest.mark.parametrize(
    "fault", [*map(Fault, (403, 404, 500)), Fault(body=b"<html></html>")], ids=str
)
def test_consolidated_metadata_that_are_of_no_use_are_done_without(
    http_server: FileServer, fault: Fault
) -> None:
    http_server.contents.update(below(build(FOREIGN, 2, consolidated=True), "a"))
    http_server.faults["/a/.zmetadata"] = fault
    tree, told = opened_in_time(referring(f"{http_server.url}/a"))
    assert text_of(tree, NAMES) == whole()
    starts = [str(it).partition(" node by node: ")[0] for it in told]
    assert starts == ([f"{http_server.url}/a is read"] if fault.body else [])


def test_chunks_that_are_not_wanted_may_fail(http_server: FileServer) -> None:
    http_server.contents.update(below(build(FOREIGN), "a"))
    http_server.faults["/level/c/0"] = stall()
    http_server.faults["/scanned/c/1"] = Fault(500)  # of times the first and the last are read
    store = referring(f"{http_server.url}/a")
    dataset, told = opened_in_time(store, function=xr.open_dataset, drop_variables="level")
    assert told == []
    assert dataset["scanned"][0].values == np.datetime64("2000-01-01T01")
    http_server.reset()
    http_server.faults["/level/c/0"] = Fault(404)  # it has the fill value
    dataset, told = opened_in_time(store, function=xr.open_dataset)
    assert told == []
    assert dataset["level"].values.tolist() == [0.0, 0.0]


@pytest.mark.skipif(not HAS_INDEX_OPTION, reason="this xarray always builds default indexes")
def test_a_chunk_that_no_index_needs_may_fail(http_server: FileServer) -> None:
    http_server.contents.update(below(build(FOREIGN), "a"))
    http_server.faults["/level/c/0"] = http_server.faults["/scanned/c/2"] = Fault(500)
    dataset, (warning,) = opened_in_time(
        referring(f"{http_server.url}/a"), function=xr.open_dataset, create_default_indexes=False
    )
    http_server.reset()
    assert warning.paths == ("/scanned_at",)
    assert dataset["level"].values.tolist() == [1000.0, 850.0]


@pytest.mark.parametrize("number", [0, 2])
def test_a_chunk_of_times_that_fails_leaves_them_undecoded(
    http_server: FileServer, number: int
) -> None:
    http_server.contents.update(below(build(FOREIGN), "a"))
    http_server.faults[f"/scanned/c/{number}"] = Fault(500)
    tree, (warning,) = opened_in_time(referring(f"{http_server.url}/a"))
    http_server.reset()
    assert type(warning.error) is XGroupStoreError
    assert warning.paths == ("/scanned_at",)
    undecoded = "scanned (x) 1 2 3 | units=hours since 2000-01-01"
    assert text_of(tree, NAMES) == [undecoded if it.startswith("scanned") else it for it in whole()]


# Several stores.


def test_what_another_store_says_that_a_third_one_fails(http_server: FileServer) -> None:
    http_server.contents.update(below(build(FOREIGN), "a"))

    def axis(name: str, uri: str) -> Any:
        values = {"external": {"uri": uri, "node": f"/{name}"}}
        return {"axes": {name: {"coordinates": [{"values": values}]}}}

    system = axis("level", f"{http_server.url}/a")
    with serve_http(build({"": {"system": system}, "x": stored([1.0, 2.0], "x")})) as middle:
        shared = {"uri": middle.url, "node": "/", "attribute": "/attributes/system"}
        near = axis("x", middle.url)
        profile = stored(np.ones((2, 2)), "level x", **declaring("cs", cs={"crs": [shared, near]}))
        store = store_of({"": {}, "profile": profile, "g": {}, "g/profile": profile})
        tree, told = opened_in_time(store)
        assert told == []
        assert set(tree["g/profile"].coords) == {"level", "x"}
        for server, key, lost in (
            (http_server, "/a/zarr.json", {"level"}),
            (http_server, "/a/level/c/0", {"level"}),
            (middle, "/x/zarr.json", {"x"}),
            (middle, "/zarr.json", {"level", "x"}),
        ):
            server.faults[key] = Fault(500)
            tree, (warning,) = opened_in_time(store)
            server.reset()
            assert type(warning.error) is XGroupStoreError
            assert server.url in str(warning)
            assert warning.paths == ("/profile", "/g/profile")
            assert set(tree["g/profile"].coords) == {"level", "x"} - lost


@patiently
def test_one_store_that_fails_leaves_the_others_alone(
    http_server: FileServer, timeout: float
) -> None:
    http_server.contents.update(below(build(FOREIGN), "a"))
    with serve_http(build(FOREIGN)) as other:
        store = referring(f"{http_server.url}/a", other.url)
        http_server.faults["*"] = stall()
        tree, (warning,) = opened_in_time(store, timeout)
        assert set(warning.paths) == {"/profile", "/below/profile", "/scene", "/scanned_at"}
        assert tree["level_0"].values.tolist() == [1000.0, 850.0]
        http_server.reset()
        other.faults["*"] = Fault(403)
        tree, (warning,) = opened_in_time(store)
        assert warning.paths == ("/other_0",)
        assert text_of(tree, NAMES) == whole()
        http_server.faults["*"] = Fault(403)
        tree, told = opened_in_time(store)
        assert {it.error.store for it in told} == {f"{http_server.url}/a", other.url}


# Documents of the opened store that cannot be used.

SOUND: Nodes = {
    "": {"title": "sound but for one node"},
    "x": stored([1.0, 2.0], "x", units="m"),
    "before": stored([1.0, 2.0], "x", units="K"),
    "bad": stored([3.0, 4.0], "x", units="s"),
    "sub": {},
    "sub/bad": stored([7.0, 8.0], "x"),
    "sub/v": stored([5.0, 6.0], "x"),
    "zlast": stored([True, False], "x"),
}


def broken(
    change: Any, path: str = "bad", zarr_format: ZarrFormat = 3, *, consolidated: bool = False
) -> Contents:
    """Return a store the document of one array of which is changed."""
    key = f"{path}/{'zarr.json' if zarr_format == 3 else '.zarray'}"
    contents = edit(build(SOUND, zarr_format), key, change)
    return consolidate(contents, zarr_format=zarr_format) if consolidated else contents


def check_left_out(
    store: Any, text: str, path: str = "bad", zarr_format: ZarrFormat = 3
) -> XGroupMetadataWarning:
    """Assert that a node is missing and all else is as if nothing were wrong; return the warning that tells it."""
    tree, (warning,) = opened_with_warnings(xr.open_datatree, store)
    assert str(warning).startswith(f"/{path}: left out: {text}")
    assert isinstance(warning, XGroupMetadataWarning)
    intact = {key: node for key, node in SOUND.items() if not f"{key}/".startswith(f"{path}/")}
    whole = opened(xr.open_datatree, store_of(intact, zarr_format))
    assert_same(tree, whole)
    group = path.rpartition("/")[0]
    if group in intact:
        dataset, (again,) = opened_with_warnings(xr.open_dataset, store, group=group)
        assert str(again) == str(warning)
        assert_same(dataset, whole[group or "/"].to_dataset(inherit=False), encoding=False)
    return warning


def without_key(key: str) -> Callable[[Any], Any]:
    return lambda document: {name: value for name, value in document.items() if name != key}


#: What zarr cannot use.
BROKEN: dict[ZarrFormat, dict[str, Callable[[Any], Any]]] = {
    3: {
        "unknown codec": update(codecs=[{"name": "nosuchcodec"}]),
        "codecs not a list": update(codecs="bytes"),
        **{f"no {key}": without_key(key) for key in ("codecs", "data_type", "chunk_grid", "fill_value")},
        "unknown data type": update(data_type="float1024"),
        "data type a number": update(data_type=64),
        "unknown chunk grid": update(chunk_grid={"name": "honeycomb", "configuration": {}}),
        "chunk grid null": update(chunk_grid=None),
        "unknown chunk keys": update(chunk_key_encoding={"name": "nosuchencoding"}),
        "fill value of another type": update(fill_value={"a": 1}),
        "storage transformers": update(storage_transformers=[{"name": "unknown"}]),
    },
    2: {
        "unknown compressor": update(compressor={"id": "nosuchcodec"}),
        "unknown filter": update(filters=[{"id": "nosuchcodec"}]),
        **{f"no {key}": without_key(key) for key in ("chunks", "dtype")},
        "unknown data type": update(dtype="<q99"),
        "data type a number": update(dtype=8),
        "unknown order": update(order="Z"),
        "fill value of another type": update(fill_value={"a": 1}),
    },
}  # fmt: skip
PLACES = [("bad", False), ("bad", True), ("sub/bad", True), ("sub/bad", False)]


@pytest.mark.parametrize(
    ("kind", "place"),
    some_pairs([(zarr_format, name) for zarr_format in (3, 2) for name in BROKEN[zarr_format]], PLACES, 4),
    ids=str,
)  # fmt: skip
def test_an_array_that_zarr_cannot_use_is_left_out_alone(
    kind: tuple[ZarrFormat, str], place: tuple[str, bool]
) -> None:
    (zarr_format, name), (path, consolidated) = kind, place
    contents = broken(BROKEN[zarr_format][name], path, zarr_format, consolidated=consolidated)
    warning = check_left_out(memory_store(contents), "", path, zarr_format)
    assert isinstance(warning.error, XGroupMetadataError)
    assert re.match(r"\w+: .", str(warning.error))  # of zarr, by version
    assert warning.error.__cause__ is not None


OF_SHAPE = "'shape' must be a list of lengths, got "
#: What stands in the place of an array's document, or how that is changed -> what is told, `{key}` is its name.
UNUSABLE: dict[str, tuple[Any, str]] = {
    **{f"the shape {shape!r}": (update(shape=shape), f"{OF_SHAPE}{shape!r}") for shape in ("nonsense", None, -2, [-1], [1.5], ["2"], {"x": 2})},
    **{f"the text {it!r}": (it, "/bad/{key} is not valid JSON: ") for it in (b"{", b"", b"\xff\xfe{}", b'{"a": 1}}', b"nonsense")},
    **{f"the value {it!r}": (lambda _, it=it: it, "'{key}' must be a JSON object, got " + type(it).__name__) for it in ([], ["a"], "text", 5, True)},
    "another format": (update(zarr_format=7), "'zarr_format' must be "),
    "chunks without length": (lambda it: {**it, **({"chunks": [0]} if "chunks" in it else {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0]}}})}, "its chunks [0] have no length"),
}  # fmt: skip


@pytest.mark.parametrize("zarr_format", [2, 3])
@rows(UNUSABLE, "change, text")
def test_a_document_that_cannot_be_understood_costs_its_array(
    change: Any, text: str, zarr_format: ZarrFormat
) -> None:
    text = text.replace("{key}", "zarr.json" if zarr_format == 3 else ".zarray")
    for consolidated in (False, True)[: 1 if isinstance(change, bytes) else 2]:
        contents = broken(change, zarr_format=zarr_format, consolidated=consolidated)
        warning = check_left_out(memory_store(contents), text, zarr_format=zarr_format)
        assert isinstance(warning.error, XGroupMetadataError)


@pytest.mark.parametrize("node_type", ["table", None, 5])
def test_a_node_that_is_neither_array_nor_group_is_left_out(node_type: Any) -> None:
    text = f"'node_type' must be 'array' or 'group', got {node_type!r}"
    check_left_out(memory_store(broken(update(node_type=node_type))), text)


def test_a_dimension_coordinate_that_is_left_out_leaves_its_dimension() -> None:
    check_left_out(memory_store(broken(update(chunk_key_encoding=5), "x")), "", "x")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_group_that_cannot_be_understood_is_left_out(zarr_format: ZarrFormat) -> None:
    key = "sub/zarr.json" if zarr_format == 3 else "sub/.zgroup"
    contents = edit(build(SOUND, zarr_format), key, b"{")
    text = f"/{key} is not valid JSON: "
    check_left_out(memory_store(contents), text, "sub", zarr_format)


#: A key that cannot be read -> what is told of its array, and what that opens as, if at all.
UNREADABLE: dict[str, tuple[str, list[int] | None]] = {
    "bad/zarr.json": ("left out: /bad/zarr.json cannot be read: ", None),
    "bad/.zarray": ("left out: /bad/.zarray cannot be read: ", None),
    "x/c/0": ("left out: /x cannot be read: ", None),
    "when/c/2": ("opened with its times undecoded: /when cannot be read: ", [1, 2, 3]),
    "before/c/0": ("", [1, 2]),
}


@pytest.mark.parametrize("key", UNREADABLE)
def test_a_key_that_cannot_be_read_costs_its_array(key: str) -> None:
    name, (text, values) = key.partition("/")[0], UNREADABLE[key]
    nodes: Nodes = {**SOUND, "when": Array(np.arange(3) + 1, ("hour",), HOURS, chunks=(1,))}
    store = recording_store(build(nodes, 2 if key.endswith(".zarray") else 3))
    store.failing[key] = PermissionError("https://user:secret@host/a?sig=secret denied")
    dataset, given = opened_with_warnings(xr.open_dataset, store)
    reason = "no permission (PermissionError: https://host/a denied)"
    assert [str(it) for it in given] == ([f"/{name}: {text}{reason}"] if text else [])
    for warning in given:
        assert type(warning) is XGroupMetadataWarning
        assert isinstance(warning.error, XGroupStoreError)
        assert isinstance(warning.error.__cause__, PermissionError)
    store.failing.clear()
    assert set(dataset.variables) == {it for it in nodes if it and "sub" not in it} - (
        set() if values else {name}
    )
    assert values is None or dataset[name].values.tolist() == values


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("path", ["bad", "sub"])
@pytest.mark.parametrize("attributes", [[], "text", 5, [{"units": "s"}]], ids=repr)
def test_attributes_that_are_no_object_cost_themselves(
    attributes: Any, path: str, zarr_format: ZarrFormat, consolidated: bool
) -> None:
    key = "attributes" if zarr_format == 3 else ".zattrs"
    change = update(attributes=attributes) if zarr_format == 3 else lambda _: attributes
    place = f"{path}/{'zarr.json' if zarr_format == 3 else key}"
    contents = edit(build(SOUND, zarr_format), place, change)
    if consolidated:
        contents = consolidate(contents, zarr_format=zarr_format)
    tree, (warning,) = opened_with_warnings(xr.open_datatree, memory_store(contents))
    # Of a v2 array the names of dimensions are among them.
    assert str(warning) == (
        f"/{path} was opened without attributes: /{path}#/attributes: {key!r} must be a JSON object, "
        f"got {type(attributes).__name__}"
    )
    whole = opened(xr.open_datatree, store_of(SOUND, zarr_format))
    if path == "bad":
        assert tree["bad"].attrs == {}
        assert tree["bad"].dims == (("x",) if zarr_format == 3 else ("phony_dim_0",))
        assert tree["bad"].values.tolist() == [3.0, 4.0]
        tree, whole = (it.assign() for it in (tree, whole))
        del tree["bad"], whole["bad"]
    assert_same(tree, whole)


def test_what_is_not_wanted_is_not_told_of() -> None:
    for change in (update(codecs=[{"name": "nosuchcodec"}]), b"{", b"[]"):
        opened(xr.open_dataset, memory_store(broken(change)), drop_variables=["bad"])
        opened(xr.open_dataset, memory_store(broken(change, "sub/bad")))


def test_values_that_cannot_be_read_fail_alone() -> None:
    dataset = opened(xr.open_dataset, memory_store({**build(SOUND), "bad/c/0": b"\x00"}))
    assert dataset["before"].values.tolist() == [1.0, 2.0]
    with pytest.raises(Exception):  # noqa: B017, PT011 - of zarr, by version
        dataset["bad"].load()


def with_chunks(document: Any) -> Any:
    """Return the document of an array without length, with chunks without length."""
    chunks = [0, 1][: len(document["shape"])]
    if "chunks" in document:
        return {**document, "chunks": chunks}
    return {**document, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}}}


EMPTY: Nodes = {"": {}, "n": stored(np.zeros(0), "n"), "v": stored(np.zeros((0, 2)), "n x")}
#: The contents of a store that zarr opens though something is missing or odd.
LENIENT: dict[str, Contents] = {
    "a group that does not say so": edit(build(SOUND), "zarr.json", without_key("node_type")),
    "a group of type null": edit(build(SOUND), "zarr.json", update(node_type=None)),
    **{
        f"an array without {key}": broken(without_key(key), zarr_format=2)
        for key in ("compressor", "filters", "dimension_separator")
    },
    "an array called as a key of v3": build({**SOUND, "zarr.json": stored([1.0, 2.0], "x")}, 2),
    "a group called as a key of v3": build({**SOUND, "zarr.json": {}, "zarr.json/v": stored(1.0)}, 2),
    "a shape that is a number": edit(build({"": {}, "v": stored([1.0, 2.0], "x")}), "v/zarr.json", update(shape=2)),
    "a shape that is true": edit(build({"": {}, "v": stored([1.0], "x")}), "v/zarr.json", update(shape=True)),
    "a shape that is true, of v2": edit(build({"": {}, "v": stored([1.0], "x")}, 2), "v/.zarray", update(shape=[True])),
    "no chunks of no length": edit(edit(build(EMPTY), "n/zarr.json", with_chunks), "v/zarr.json", with_chunks),
    "no chunks of no length, of v2": edit(edit(build(EMPTY, 2), "n/.zarray", with_chunks), "v/.zarray", with_chunks),
}  # fmt: skip


@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree], ids=["dataset", "tree"])
@rows(LENIENT, "contents")
def test_what_zarr_can_do_without_changes_nothing(function: Any, contents: Contents) -> None:
    compare(function, memory_store(contents))


def test_groups_that_zarr_does_not_take_for_some_are_groups() -> None:
    ours = opened(xr.open_dataset, memory_store({**build(SOUND, 2), ".zgroup": b"{}"}))
    assert_same(ours, oracle(xr.open_dataset, store_of(SOUND, 2)))
    contents = edit(build(SOUND), "sub/zarr.json", without_key("node_type"))
    tree = opened(xr.open_datatree, memory_store(contents))
    assert_same(tree, opened(xr.open_datatree, store_of(SOUND)))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_keys_that_are_no_paths_are_left_out(zarr_format: ZarrFormat) -> None:
    contents = consolidate(build(SOUND, zarr_format), zarr_format=zarr_format)
    place = "zarr.json" if zarr_format == 3 else ".zmetadata"
    document = json.loads(contents[place])
    nodes = (document["consolidated_metadata"] if zarr_format == 3 else document)["metadata"]
    keys = ["/", "//", ".", "..", "../x", "a/../b", "a//b"]
    for key in keys:
        nodes[key if zarr_format == 3 else f"{key}/.zarray"] = {}
    dataset, (told,) = opened_with_warnings(
        xr.open_dataset, memory_store({**contents, place: to_json(document)})
    )
    assert_same(dataset, oracle(xr.open_dataset, store_of(SOUND, zarr_format)))
    assert "has 7 keys that cannot be paths of nodes, which were left out: " in str(told)
    assert "'//'" in str(told)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_no_more_is_asked_of_a_store_of_both_formats(zarr_format: ZarrFormat) -> None:
    store = recording_store({**build(SOUND, 2), **build(SOUND, 3)})
    opened(xr.open_datatree, store, zarr_format=zarr_format)
    assert not [key for key in store.gets if key.startswith(".z") and "/" in key]


def deeply(depth: int, function: Callable[[], Any]) -> Any:
    return function() if depth == 0 else deeply(depth - 1, function)


@pytest.mark.parametrize("place", ["bad", "x", "sub", ""])
@pytest.mark.parametrize("frames", [0, 150, 400])
def test_nesting_is_not_deeper_for_a_caller_that_is_deep(place: str, frames: int) -> None:
    contents, key = build(SOUND), f"{place}/zarr.json".lstrip("/")
    deep = b'"attributes": {"deep": %s, ' % (b"[" * 850 + b"]" * 850)
    contents[key] = contents[key].replace(b'"attributes": {', deep, 1).replace(b", }", b"}")
    group = place if place == "sub" else None
    # Not as a tree: xarray before 2025.1 cannot copy such attributes.
    dataset = deeply(frames, lambda: opened(xr.open_dataset, memory_store(contents), group=group))
    assert "deep" in (dataset[place].attrs if place in ("bad", "x") else dataset.attrs)


# Other stores.


@pytest.mark.parametrize(
    "uri", [f"file:///{'a' * 300}", f"file:///{'a/' * 3000}b", "file:///a\0b", "file:///%00"]
)
def test_a_uri_that_cannot_be_a_path_costs_the_reference(tmp_path: Path, uri: str) -> None:
    nodes: Nodes = {**SOUND, "w": stored(1.0, **declaring("ref", it={"uri": uri, "node": "a"}))}
    dataset, (told,) = opened_with_warnings(
        xr.open_dataset, write_local(build(nodes), tmp_path / "s.zarr")
    )
    assert "cannot be opened" in str(told)
    assert set(dataset.variables) == {"x", "before", "bad", "zlast", "w"}


@pytest.mark.server
@pytest.mark.parametrize("cache", ["simplecache", "filecache"])
@pytest.mark.parametrize("is_remote", [False, True])
def test_a_store_behind_a_cache(cache: str, is_remote: bool) -> None:
    contents = consolidate(build(SOUND))
    local = write_fsspec_memory(contents, f"faults_{cache}")
    expected = oracle(xr.open_dataset, memory_store(contents))
    with serve_http(contents) as server:
        dataset = opened(xr.open_dataset, f"{cache}::{server.url if is_remote else local}")
        assert_same(dataset, expected, encoding=False)
        assert_same(pickle.loads(pickle.dumps(dataset)), expected, encoding=False)


@pytest.mark.server
def test_threads_lose_nothing_of_a_cache(tmp_path: Path) -> None:
    """One takes what another has just got for absent, or fails with a TypeError."""
    arrays = Group({f"v{number}": stored([1, 2], "x") for number in range(10)})
    contents = build(Group({f"g{number}": arrays for number in range(5)}))
    options = {"filecache": {"cache_storage": str(tmp_path)}}
    with serve_http(contents, listing=True) as server:
        address = f"filecache::{server.url}"
        tree = opened(xr.open_datatree, address, storage_options=options)
        assert [len(it.data_vars) for it in tree.subtree] == [0, *[10] * 5]
        assert all((it == [1, 2]).all() for it in tree["g4"].load().data_vars.values())


def test_a_reference_to_a_store_behind_a_cache(tmp_path: Path) -> None:
    write_store(tmp_path / "a", FOREIGN)
    check_whole(f"simplecache::file://{tmp_path}/a")
