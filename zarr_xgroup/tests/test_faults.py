"""Stores that fail: requests that raise, documents that are not JSON, chunks that cannot be read."""

import asyncio
import math
import pickle
import re
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import pytest
import tenacity
import xarray as xr
import zarr
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup import (
    XGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupReferenceError,
    XGroupResolutionWarning,
    XGroupStoreError,
)
from zarr_xgroup.redaction import chain_of
from zarr_xgroup.storage.handles import handle_of
from zarr_xgroup.storage.reading import StoreReader
from zarr_xgroup.tests.builders import (
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
    recording_store,
    some_pairs,
    stored,
    update,
    write_local,
)
from zarr_xgroup.tests.servers import (
    LOOPBACK,
    Fault,
    FileServer,
    Request,
    S3Server,
    patiently,
    redirect,
    serve_http,
    stall,
)
from zarr_xgroup.tests.tables import rows, store_of, text_of

T = TypeVar("T")

#: What no open may take, whatever the machine is busy with: a safeguard, not a measurement.
SAFEGUARD = 60.0
#: Seconds that answers have where all come.
LONG = 30.0

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


def referring(uri: str) -> Nodes:
    """Return a store that refers to the foreign one and to itself."""
    return {
        "": {},
        "x": stored([10.0, 20.0, 30.0], "x", units="m"),
        "own": stored([1.0, 2.0, 3.0], "x", units="K"),
        "profile": cs("level", uri, "/level"),
        "scanned_at": stored([1.0, 2.0, 3.0], "x", **declaring("ref", scanned={"uri": uri, "node": "/scanned"})),
        "scene": stored(np.ones((2, 3)), "y x", **declaring("ref", lon={"uri": uri, "node": "/lon"})),
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
NAMES = ("level", "lon", "scanned", "x", "own", "profile")


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


# Requests that fail.

ROOT_ARRAY = build({"": stored([1.0, 2.0], "r")})["zarr.json"]
NO_STORE = "it is not a Zarr store: /zarr.json is not valid JSON"
#: What is asked for, what happens then, and what is told of it.
FAULTS: dict[str, tuple[str, Fault, str]] = {
    "a root that is not found": ("zarr.json", Fault(404), "not found: it has neither a zarr.json nor a .zgroup"),
    "a root that is forbidden": ("zarr.json", Fault(403), "no permission"),
    "a root that fails": ("zarr.json", Fault(500), "500 Internal Server Error (tried 4 times)"),
    "a root that is redirected for ever": ("zarr.json", redirect("/a/zarr.json"), "TooManyRedirects"),
    "a root that never answers": ("zarr.json", stall(), "timeout"),
    "a root that is not JSON": ("zarr.json", Fault(body=b"{"), NO_STORE),
    "a root of a format to come": ("zarr.json", Fault(body=b'{"zarr_format": 4, "node_type": "group"}'), "'zarr_format' is 4, neither 2 nor 3"),
    "a root that is an array": ("zarr.json", Fault(body=ROOT_ARRAY), "it is an array, but the URI must name a group"),
    "a node that is not found": ("level/zarr.json", Fault(404), "not found in store"),
    "a node that breaks off": ("level/zarr.json", Fault(truncate=20), "/level/zarr.json cannot be read"),
    "a node that is not JSON": ("level/zarr.json", Fault(body=b"{"), "/level/zarr.json is not valid JSON"),
    "a node that is a list": ("level/zarr.json", Fault(body=b"[]"), "'zarr.json' must be a JSON object, got list"),
    "a chunk that is forbidden": ("level/c/0", Fault(403), "no permission"),
    "a chunk that is short": ("level/c/0", Fault(body=b"abc"), "cannot be read"),
    "a chunk that never answers": ("level/c/0", stall(), "timeout"),
}  # fmt: skip


@rows(FAULTS, "key, fault, text")
@patiently
def test_a_failed_request_loses_only_its_node(
    http_server: FileServer, key: str, fault: Fault, text: str, timeout: float
) -> None:
    http_server.contents.update(below({**build(FOREIGN), ".zattrs": b"{}"}, "a"))
    http_server.faults[f"/a/{key}"] = fault
    http_server.requests.clear()
    lost = ["level"] if "level" in key else list(REFERRING)
    host, limit = http_server.url.removeprefix("http://"), timeout if fault.delay else LONG
    warning = check_lost(f"http://user:{SECRET}@{host}/a", text, lost, limit)
    assert f"{http_server.url}/a" in str(warning) or text == "not found in store"
    if not fault.headers:  # not again for each array
        is_transient = fault.truncate or fault.status == 500
        assert http_server.paths().count(f"/a/{key}") == (4 if is_transient else 1)


@pytest.mark.server
def test_connections_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
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


def test_any_exception_of_a_store_becomes_a_store_error() -> None:
    class Odd(MemoryStore):
        @property
        def supports_listing(self) -> bool:  # type: ignore[override]
            message = "odd"
            raise TypeError(message)

    store: Any = Odd({})
    with pytest.raises(XGroupStoreError, match="cannot be opened: TypeError: odd"):
        xr.open_dataset(store, engine="xgroup")


# Requests that may fail.


@pytest.mark.parametrize(
    "fault", [Fault(403), Fault(body=b"<html></html>")], ids=["it is forbidden", "it is no JSON"]
)
def test_unusable_consolidated_metadata_are_ignored(http_server: FileServer, fault: Fault) -> None:
    http_server.contents.update(below(build(FOREIGN, 2, consolidated=True), "a"))
    http_server.faults["/a/.zmetadata"] = fault
    tree, told = opened_in_time(referring(f"{http_server.url}/a"))
    assert text_of(tree, NAMES) == whole()
    starts = [str(it).partition(" without consolidated metadata: ")[0] for it in told]
    assert starts == ([f"{http_server.url}/a is read"] if fault.body else [])


# Requests to the opened store that fail: the result is whole, or an error.

#: A store, its groups and arrays, with a coordinate in a different group.
FOUR: Nodes = {
    "": {"title": "four groups"},
    "axes": {},
    "axes/time": Array(np.arange(3.0), ("time",), {"units": "days since 2000-01-01"}, chunks=(1,)),
    "images": {"note": "of all images"},
    "images/r10m": {"resolution": 10},
    "images/r10m/red": stored([1, 2, 3], "time", scale_factor=0.5, **declaring("ref", time={"node": "/axes/time"})),
    "images/r10m/mask": stored([1, 0, 1], "time"),
    "ocean": {},
    "ocean/sst": stored([1.0, 2.0], "x", **declaring("cs", cs={"crs": [{"axes": {"x": {"coordinates": [{"values": {"explicit": [1.0, 2.0]}}]}}}]})),
    "ocean/x0": stored([1.0, 2.0], "x0"),
}  # fmt: skip
#: Two levels of a pyramid.
TWO: Nodes = {
    "": {},
    "images": declaring(
        *("spatial", "multiscales"),
        multiscales={
            "layout": [
                {"asset": "0", "spatial:transform": [1, 0, 0, 0, -1, 0]},
                {"asset": "1", "derived_from": "0", "transform": {"scale": [2, 2]}},
            ]
        },
        **{"spatial:dimensions": ["y", "x"]},
    ),
    **{f"images/{n}": {} for n in range(2)},
    **{f"images/{n}/v": stored(np.ones((2, 2)), "y x") for n in range(2)},
}
#: The function that opens the store, the address below it, and the options.
WAYS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "a group": (xr.open_dataset, "", {"group": "ocean"}),
    "an image": (xr.open_dataset, "", {"group": "images/r10m"}),
    "a tree": (xr.open_datatree, "", {}),
    "all groups": (xr.open_groups, "", {}),
    "an address": (xr.open_dataset, "/images/r10m", {}),
    "a level": (xr.open_dataset, "", {"group": "images", "resolution": 2}),
}
TRANSIENT = {
    "503": Fault(503),
    "429": Fault(429, headers={"Retry-After": "0.001"}),
    "a dropped connection": Fault(drop=True),
    "a truncated body": Fault(truncate=1),
}
#: Requests that only find out whether something exists: a forbidden document is missing, as in object stores.
MAY_BE_FORBIDDEN = re.compile(r"/p\.zarr/(\.\w+|zarr\.json|images/(\.\w+|zarr\.json))")


def once(path: str) -> Callable[[Request], bool]:
    """Return whether a request is the first one to a path, for `Server.faults`."""
    left = [path]

    def is_first(request: Request) -> bool:
        return request.path == path and bool(left) and bool(left.pop())

    return is_first


@pytest.mark.server
@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("way", WAYS)
def test_a_request_that_fails_once_never_makes_the_result_smaller(
    way: str, zarr_format: ZarrFormat, consolidated: bool
) -> None:
    function, below_root, options = WAYS[way]
    nodes = TWO if way == "a level" else FOUR
    contents = below(build(nodes, zarr_format, consolidated=consolidated), "p.zarr")
    with serve_http(contents, listing=True) as server:
        address = f"{server.url}/p.zarr{below_root}"

        def result() -> Any:
            server.requests.clear()
            return opened(function, address, **options)

        expected = result()
        for path in dict.fromkeys(server.paths()):
            for fault in TRANSIENT.values():
                server.faults.clear()
                server.faults[once(path)] = fault
                assert_same(result(), expected)
            assert server.paths().count(path) >= 2
            server.faults.clear()
            server.faults[once(path)] = Fault(403)
            with suppress(XGroupError):
                dataset, warnings = opened_with_warnings(function, address, **options)
                if not (way == "an address" and MAY_BE_FORBIDDEN.fullmatch(path)):
                    assert_same(dataset, expected)
                    assert not warnings


SLOW_DOWN = Fault(
    503, b"<Error><Code>SlowDown</Code><Message>Reduce your request rate</Message></Error>"
)


@pytest.mark.parametrize("client", ["s3fs", "obstore"])
def test_a_bucket_that_throttles_requests(client: str, s3_server: S3Server) -> None:
    """The clients of buckets make requests again themselves."""
    pytest.importorskip(client)
    store: Any = s3_server.upload("bucket", build(FOUR))
    options: dict[str, Any] = {"group": "images/r10m", "storage_options": s3_server.options}
    if client == "obstore":
        if not hasattr(zarr.storage, "ObjectStore"):
            pytest.skip("this zarr has no ObjectStore")
        store = zarr.storage.ObjectStore(s3_server.object_store("bucket"), read_only=True)
        del options["storage_options"]
    expected = opened(xr.open_dataset, store, **options)
    s3_server.requests.clear()
    opened(xr.open_dataset, store, **options)
    document = "/bucket/images/r10m/red/zarr.json"
    paths = [
        path for path in s3_server.paths() if path.endswith(("r10m/zarr.json", "red/zarr.json"))
    ]
    assert document in paths
    for path in paths:
        s3_server.faults[once(path)] = SLOW_DOWN
    assert_same(opened(xr.open_dataset, store, **options), expected)
    s3_server.faults.clear()
    s3_server.faults[document] = Fault(403)
    with pytest.raises(XGroupStoreError, match=r"red/zarr\.json cannot be read: no permission"):
        opened(xr.open_dataset, store, **options)


#: The key of a request that fails always, the options of the call, and the error.
ALWAYS: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "a root": ("", xr.open_dataset, {}, "/zarr.json cannot be read: 503 Service Unavailable (tried 4 times)"),
    "an array": ("/ocean/sst", xr.open_dataset, {"group": "ocean"}, "/ocean/sst/zarr.json cannot be read: 503 Service Unavailable (tried 4 times)"),
    "an array of a tree": ("/ocean/sst", xr.open_datatree, {}, "/ocean/sst/zarr.json cannot be read: 503 Service Unavailable (tried 4 times). To open a part of the tree, use group or group_filter"),
    "the target of a reference": ("/axes/time", xr.open_dataset, {"group": "images/r10m"}, "/axes/time/zarr.json cannot be read: 503 Service Unavailable (tried 4 times)"),
    "an explanation": ("/ocean/sst", lambda store, engine, **options: zarr_xgroup.explain(store, **options), {}, "/ocean/sst/zarr.json cannot be read: 503"),
    "a check": ("/ocean/sst", lambda store, engine, **options: zarr_xgroup.check(store, **options), {}, "/ocean/sst/zarr.json cannot be read: 503"),
}  # fmt: skip


@pytest.mark.server
@rows(ALWAYS, "path, function, options, text")
def test_a_request_that_always_fails_raises_an_error(
    path: str, function: Any, options: Any, text: str
) -> None:
    with serve_http(below(build(FOUR), "p.zarr"), listing=True) as server:
        server.faults[f"/p.zarr{path}/zarr.json"] = Fault(503)
        with pytest.raises(XGroupStoreError) as raised:
            function(f"{server.url}/p.zarr", engine="xgroup", **options)
        assert str(raised.value).startswith(f"{server.url}/p.zarr: {text}")
        assert server.paths().count(f"/p.zarr{path}/zarr.json") == 4
        for link in chain_of(raised.value):  # workers of dask send errors with their causes
            assert str(pickle.loads(pickle.dumps(link))) == str(link)


#: After how many seconds the server is back, how many each failed request takes, and how many the server states; the setting
#: for pauses; the longest pauses, and the end of the error.
PAUSES: dict[str, tuple[float, float, str, Sequence[float] | None, list[float], str]] = {
    "back after two seconds": (2.0, 0.1, "", None, [0.5, 1.5, 4], ""),
    "back at once": (0.01, 0.01, "", None, [0.5], ""),
    "never back": (math.inf, 0.01, "", None, [0.5, 1.5, 4], "timeout (TimeoutError: busy) (tried 4 times)"),
    "never back, and slow": (math.inf, 6.0, "", None, [0.5], "timeout (TimeoutError: busy) (tried 2 times)"),
    "back when it states": (2.5, 0.01, "3", None, [3], ""),
    "back when it states, too late": (60.0, 0.01, "60", None, [5, 5], "timeout (TimeoutError: busy) (tried 3 times)"),
    "back later than it states": (2.9, 0.01, "0.1", None, [0.5, 1.5, 4], ""),
    "back by longer pauses": (40.0, 0.01, "", [1, 10, 60], [1, 10, 60], ""),
    "without pauses": (0.01, 0.01, "", [], [], "timeout (TimeoutError: busy)"),
}  # fmt: skip


@rows(PAUSES, "back, seconds, stated, setting, expected, text")
def test_pauses_before_a_request_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
    back: float,
    seconds: float,
    stated: str,
    setting: Sequence[float] | None,
    expected: Sequence[float],
    text: str,
) -> None:
    """The clock is that of the test. Each pause is at most a fifth shorter or longer, so the last may not be needed."""
    now, pauses = 0.0, list[float]()

    class Unavailable(MemoryStore):
        async def get(self, *arguments: Any, **options: Any) -> Any:
            nonlocal now
            if now >= back:
                return await super().get(*arguments, **options)
            now += seconds
            error: Any = TimeoutError("busy")
            error.headers = {"Retry-After": stated} if stated else {}
            raise error

    async def pause(length: float) -> None:
        nonlocal now
        now += length
        pauses.append(length)

    async def document() -> Any:
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        store = Unavailable(memory_store({"zarr.json": b"{}"})._store_dict)
        return await StoreReader(handle_of(store)).node("", ["zarr.json"])

    retrying = partial(tenacity.AsyncRetrying, sleep=pause)
    monkeypatch.setattr(tenacity, "AsyncRetrying", retrying)
    monkeypatch.delitem(zarr.config.config, "xgroup")
    with ExitStack() as stack:
        if setting is not None:
            stack.enter_context(zarr.config.set({"xgroup.retry_pauses": setting}))
        if text:
            stack.enter_context(pytest.raises(XGroupStoreError, match=f"{re.escape(text)}$"))
        assert asyncio.run(document()) == {"zarr.json": b"{}"}
    assert len(expected) - len(pauses) <= (text == "")
    assert pauses == pytest.approx(expected[: len(pauses)], rel=0.2)


#: What happens to the listing of a group, and the reason in the error.
LISTINGS: dict[str, tuple[Fault, str]] = {
    "it fails": (Fault(500), "500 Internal Server Error"),
    "it breaks off": (
        Fault(truncate=5),
        "the connection was closed before the response was complete",
    ),
    "it is unavailable": (Fault(503), "503 Service Unavailable"),
}


@pytest.mark.server
@rows(LISTINGS, "fault, reason")
def test_a_listing_that_fails_raises_an_error(fault: Fault, reason: str) -> None:
    with serve_http(below(build(SOUND), "p.zarr"), listing=True) as server:
        server.faults["/p.zarr/sub"] = server.faults["/p.zarr/sub/"] = fault
        text = f"{server.url}/p.zarr: the listing of /sub cannot be read: {reason} (tried 4 times)"
        for function, group in ((xr.open_datatree, None), (xr.open_dataset, "sub")):
            with pytest.raises(XGroupStoreError) as caught:
                opened(function, f"{server.url}/p.zarr", group=group)
            assert str(caught.value).startswith(text)


@pytest.mark.server
@pytest.mark.parametrize("cache", ["simplecache", "filecache"])
@pytest.mark.parametrize("key", ["ocean/sst/zarr.json", "axes/time/c/0"])
def test_a_cache_does_not_hide_a_failure(cache: str, key: str, tmp_path: Path) -> None:
    with serve_http(below(build(FOUR), "p.zarr"), listing=True) as server:

        def result(number: int) -> Any:
            address = f"{cache}::{server.url}/p.zarr"
            options = {cache: {"cache_storage": str(tmp_path / str(number))}}
            return opened(xr.open_datatree, address, storage_options=options)

        expected = result(0)
        server.faults[once(f"/p.zarr/{key}")] = Fault(503)
        assert_same(result(1), expected)
        server.faults[f"/p.zarr/{key}"] = Fault(503)
        with pytest.raises(XGroupStoreError, match=r"cannot be read: 503 Service Unavailable"):
            result(2)


def test_a_bad_request_is_not_a_missing_document() -> None:
    store = recording_store(build(SOUND))
    store.failing["bad/zarr.json"] = OSError(22, "Bad Request")  # as of s3fs for status 400
    with pytest.raises(XGroupStoreError, match=r"/bad/zarr\.json cannot be read"):
        opened(xr.open_dataset, store)


@pytest.mark.server
def test_other_requests_are_cancelled_after_a_failure() -> None:
    with serve_http(below(build(SOUND, consolidated=False), "p.zarr"), listing=True) as server:
        server.faults["/p.zarr/bad/zarr.json"] = Fault(403)
        server.faults["/p.zarr/before/zarr.json"] = stall()
        with pytest.raises(
            XGroupStoreError, match=r"/bad/zarr\.json cannot be read: no permission"
        ):
            opened_in_time(f"{server.url}/p.zarr")


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
        **{f"no {key}": without_key(key) for key in ("codecs", "data_type", "chunk_grid", "fill_value")},
        "unknown data type": update(data_type="float1024"),
        "unknown chunk grid": update(chunk_grid={"name": "honeycomb", "configuration": {}}),
        "unknown chunk keys": update(chunk_key_encoding={"name": "nosuchencoding"}),
        "fill value of another type": update(fill_value={"a": 1}),
        "storage transformers": update(storage_transformers=[{"name": "unknown"}]),
    },
    2: {
        "unknown compressor": update(compressor={"id": "nosuchcodec"}),
        **{f"no {key}": without_key(key) for key in ("chunks", "dtype")},
        "unknown data type": update(dtype="<q99"),
        "unknown order": update(order="Z"),
        "fill value of another type": update(fill_value={"a": 1}),
    },
}  # fmt: skip
PLACES = [("bad", False), ("x", True), ("sub/bad", True), ("sub/bad", False)]


@pytest.mark.parametrize(
    ("kind", "place"),
    some_pairs([(zarr_format, name) for zarr_format in (3, 2) for name in BROKEN[zarr_format]], PLACES, 4),
    ids=str,
)  # fmt: skip
def test_only_an_array_that_zarr_cannot_open_is_omitted(
    kind: tuple[ZarrFormat, str], place: tuple[str, bool]
) -> None:
    (zarr_format, name), (path, consolidated) = kind, place
    contents = broken(BROKEN[zarr_format][name], path, zarr_format, consolidated=consolidated)
    warning = check_left_out(memory_store(contents), "", path, zarr_format)
    assert isinstance(warning.error, XGroupMetadataError)
    assert re.match(r"\w+: .", str(warning.error))  # of zarr, by version
    assert warning.error.__cause__ is not None


VALUES: tuple[Any, ...] = ([], "text")
OF_SHAPE = "'shape' must be a list of lengths, got "
#: What stands in the place of an array's document, or how that is changed -> what is told, `{key}` is its name.
UNUSABLE: dict[str, tuple[Any, str]] = {
    **{f"the shape {shape!r}": (update(shape=shape), f"{OF_SHAPE}{shape!r}") for shape in (None, -2, [-1], [1.5], ["2"])},
    **{f"the text {it!r}": (it, "/bad/{key} is not valid JSON: ") for it in (b"", b"\xff\xfe{}", b'{"a": 1}}')},
    **{f"the value {it!r}": (lambda _, it=it: it, "'{key}' must be a JSON object, got " + type(it).__name__) for it in VALUES},
    "another format": (update(zarr_format=7), "'zarr_format' must be "),
    "chunks without length": (lambda it: {**it, **({"chunks": [0]} if "chunks" in it else {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0]}}})}, "its chunks [0] have length 0"),
}  # fmt: skip


@pytest.mark.parametrize("zarr_format", [2, 3])
@rows(UNUSABLE, "change, text")
def test_an_array_with_an_invalid_document_is_omitted(
    change: Any, text: str, zarr_format: ZarrFormat
) -> None:
    text = text.replace("{key}", "zarr.json" if zarr_format == 3 else ".zarray")
    for consolidated in (False, True)[: 1 if isinstance(change, bytes) else 2]:
        contents = broken(change, zarr_format=zarr_format, consolidated=consolidated)
        warning = check_left_out(memory_store(contents), text, zarr_format=zarr_format)
        assert isinstance(warning.error, XGroupMetadataError)


def test_a_node_that_is_neither_array_nor_group_is_omitted() -> None:
    text = "'node_type' must be 'array' or 'group', got 'table'"
    check_left_out(memory_store(broken(update(node_type="table"))), text)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_group_with_an_invalid_document_is_omitted(zarr_format: ZarrFormat) -> None:
    key = "sub/zarr.json" if zarr_format == 3 else "sub/.zgroup"
    contents = edit(build(SOUND, zarr_format), key, b"{")
    text = f"/{key} is not valid JSON: "
    check_left_out(memory_store(contents), text, "sub", zarr_format)


#: A key that cannot be read, and the error, if opening needs it.
UNREADABLE = {
    "bad/zarr.json": "/bad/zarr.json cannot be read: {reason}",
    "bad/.zarray": "/bad/.zarray cannot be read: {reason}",
    "x/c/0": "/x cannot be read: {reason}. To open the rest, use drop_variables=['x']",
    "when/c/2": "/when cannot be read: {reason}. To open the rest, use drop_variables=['when'] or decode_times=False",
    "before/c/0": "",
}  # fmt: skip


@pytest.mark.parametrize("key", UNREADABLE)
def test_a_document_or_value_that_is_forbidden_raises_an_error(key: str) -> None:
    name, text = key.partition("/")[0], UNREADABLE[key]
    nodes: Nodes = {**SOUND, "when": Array(np.arange(3) + 1, ("hour",), HOURS, chunks=(1,))}
    store = recording_store(build(nodes, 2 if key.endswith(".zarray") else 3))
    store.failing[key] = PermissionError("https://user:secret@host/a?sig=secret denied")
    if not text:
        assert name in opened(xr.open_dataset, store)
        return
    with pytest.raises(XGroupStoreError) as raised:
        opened(xr.open_dataset, store)
    reason = "no permission (PermissionError: https://host/a denied)"
    assert str(raised.value).startswith(f"recording store: {text.format(reason=reason)}")
    assert isinstance(raised.value.__cause__, PermissionError)
    if "drop_variables" in text:
        assert name not in opened(xr.open_dataset, store, drop_variables=[name]).variables
    if "decode_times" in text:
        store.failing.pop(key)
        assert opened(xr.open_dataset, store, decode_times=False)[name].values.tolist() == [1, 2, 3]


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("path", ["bad", "sub"])
@pytest.mark.parametrize("attributes", ["text", [{"units": "s"}]], ids=repr)
def test_attributes_that_are_not_an_object_are_ignored(
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


def test_dropped_variables_and_other_groups_are_not_reported() -> None:
    for change in (update(codecs=[{"name": "nosuchcodec"}]), b"{", b"[]"):
        opened(xr.open_dataset, memory_store(broken(change)), drop_variables=["bad"])
        opened(xr.open_dataset, memory_store(broken(change, "sub/bad")))


#: Chunks without length.
CHUNKS = {"name": "regular", "configuration": {"chunk_shape": [0, 1]}}
#: The contents of a store that zarr opens though something is missing or odd.
LENIENT: dict[str, Contents] = {
    "a group that does not say so": edit(build(SOUND), "zarr.json", without_key("node_type")),
    **{
        f"an array without {key}": broken(without_key(key), zarr_format=2)
        for key in ("compressor", "filters", "dimension_separator")
    },
    "a group with the name of a v3 key": build({**SOUND, "zarr.json": {}, "zarr.json/v": stored(1.0)}, 2),
    "a shape that is a number": edit(build({"": {}, "v": stored([1.0, 2.0], "x")}), "v/zarr.json", update(shape=2)),
    "a shape that is true, of v2": edit(build({"": {}, "v": stored([1.0], "x")}, 2), "v/.zarray", update(shape=[True])),
    "no chunks of no length": edit(build({"": {}, "v": stored(np.zeros((0, 2)), "n x")}), "v/zarr.json", update(chunk_grid=CHUNKS)),
}  # fmt: skip


@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree], ids=["dataset", "tree"])
@rows(LENIENT, "contents")
def test_members_that_zarr_does_not_need(function: Any, contents: Contents) -> None:
    compare(function, memory_store(contents))


# Other stores.


@pytest.mark.parametrize("uri", [f"file:///{'a' * 300}", "file:///a\0b"])
def test_a_reference_with_an_invalid_path_is_reported(tmp_path: Path, uri: str) -> None:
    nodes: Nodes = {**SOUND, "w": stored(1.0, **declaring("ref", it={"uri": uri, "node": "a"}))}
    dataset, (told,) = opened_with_warnings(
        xr.open_dataset, write_local(build(nodes), tmp_path / "s.zarr")
    )
    assert "cannot be opened" in str(told)
    assert set(dataset.variables) == {"x", "before", "bad", "zlast", "w"}


@pytest.mark.server
def test_threads_lose_no_entries_of_a_cache(tmp_path: Path) -> None:
    """One takes what another has just got for absent, or fails with a TypeError."""
    arrays = Group({f"v{number}": stored([1, 2], "x") for number in range(10)})
    contents = build(Group({f"g{number}": arrays for number in range(5)}))
    options = {"filecache": {"cache_storage": str(tmp_path)}}
    with serve_http(contents, listing=True) as server:
        address = f"filecache::{server.url}"
        tree = opened(xr.open_datatree, address, storage_options=options)
        assert [len(it.data_vars) for it in tree.subtree] == [0, *[10] * 5]
        assert all((it == [1, 2]).all() for it in tree["g4"].load().data_vars.values())
