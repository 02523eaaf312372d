"""Faults of the servers that stores are on: the rest opens, and one warning says what happened."""

import socket
import sys
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import pytest
import xarray as xr
from zarr.storage import MemoryStore

from zarr_xgroup import (
    XGroupMetadataWarning,
    XGroupReferenceError,
    XGroupResolutionWarning,
    XGroupStoreError,
    XGroupWarning,
)
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Group,
    Open,
    ZarrFormat,
    below,
    build,
    coordinate,
    declaring,
    edit,
    memory_store,
    opened_with_warnings,
    some_pairs,
    update,
    write_local,
)
from zarr_xgroup.tests.servers import (
    LOOPBACK,
    Fault,
    FileServer,
    GCSServer,
    Request,
    S3Server,
    Server,
    patiently,
    redirect,
    serve_http,
    stall,
)

pytestmark = pytest.mark.server

T = TypeVar("T")

#: Gives what a function opens of `referring` with a number of others, when nothing fails.
Whole = Callable[..., Any]

#: What no open may take, whatever the machine is busy with: a safeguard, not a measurement.
SAFEGUARD = 60.0
#: Seconds that answers have: where none comes, and where all come.
BRIEF, LONG = 0.2, 30.0

SECRET = "hunter2"

#: The store that is referred to. Its times take four chunks, of which opening reads two.
FOREIGN = Group(
    {
        "level": coordinate("level", [1000.0, 850.0], units="hPa"),
        "month": Array(
            np.arange(4) * 30 + 15, ("month",), {"units": "days since 2000-01-01"}, chunks=(1,)
        ),
        "lon": Array(np.arange(6.0).reshape(2, 3), ("y", "x"), {"units": "degrees_east"}),
        "lat": Array(np.arange(6.0).reshape(2, 3) + 50, ("y", "x"), {"units": "degrees_north"}),
        "label": Array(["a", "b", "c"], ("x",)),
        "scanned": Array(
            np.arange(3) + 1, ("x",), {"units": "hours since 2000-01-01"}, chunks=(1,)
        ),
    },
    {"title": "elsewhere"},
)
#: The arrays that refer to it, and the coordinates that they have from there.
REFERRING: Mapping[str, Collection[str]] = {
    "/below/profile": {"level"},
    "/labelled": {"label"},
    "/profile": {"level"},
    "/scanned_at": {"scanned"},
    "/scene": {"lon", "lat"},
    "/section": {"level"},
    "/series": {"month"},
}
LOST = frozenset().union(*REFERRING.values())


def along(values: Any, *dims: str, **attributes: Any) -> Array:
    return Array(values, dims, attributes)


def axes(**uris: str) -> Any:
    """Return the `cs` attribute of an array whose axes are coordinates of other stores."""
    return {
        "crs": [
            {
                "axes": {
                    name: {
                        "coordinates": [{"values": {"external": {"uri": uri, "node": f"/{name}"}}}]
                    }
                    for name, uri in uris.items()
                }
            }
        ]
    }


def referring(uri: str, *others: str) -> Group:
    """Return a store that refers to the foreign one, to others like it, and to itself."""
    profile = along([1.0, 2.0], "level", **declaring("cs", cs=axes(level=uri)))
    geodetic = {"x": {"uri": uri, "node": "/lon"}, "y": {"uri": uri, "node": "/lat"}}
    return Group(
        {
            "x": coordinate("x", [10.0, 20.0, 30.0], units="m"),
            "own": along([1.0, 2.0, 3.0], "x", units="K"),
            "profile": profile,
            "section": profile,
            "series": along(np.arange(4.0), "month", **declaring("cs", cs=axes(month=uri))),
            "scene": along(
                np.arange(6.0).reshape(2, 3),
                "y",
                "x",
                **declaring("geolocation", geolocation={"geodetic": geodetic}),
            ),
            "labelled": along(
                [1.0, 2.0, 3.0], "x", **declaring("ref", label={"uri": uri, "node": "/label"})
            ),
            "scanned_at": along(
                [1.0, 2.0, 3.0], "x", **declaring("ref", scanned={"uri": uri, "node": "/scanned"})
            ),
            **{
                f"other_{number}": along(
                    [1.0, 2.0],
                    f"level_{number}",
                    **declaring("cs", cs=other_axis(f"level_{number}", other)),
                )
                for number, other in enumerate(others)
            },
            "below": Group({"profile": profile}),
        }
    )


def other_axis(name: str, uri: str) -> Any:
    values = {"external": {"uri": uri, "node": "/level"}}
    return {"crs": [{"axes": {name: {"coordinates": [{"values": values}]}}}]}


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
    function: Open, store: Any, timeout: float = LONG, **options: Any
) -> tuple[Any, list[XGroupWarning]]:
    """Open by engine xgroup, and return the warnings as well."""

    def run() -> tuple[Any, list[XGroupWarning]]:
        return opened_with_warnings(function, store, cross_store_timeout=timeout, **options)

    return within(SAFEGUARD, run)


def store_of(root: Group) -> Any:
    return memory_store(build(root, consolidated=True))


def plain(dataset: xr.Dataset) -> xr.Dataset:
    """Return a Dataset in memory without the attributes that say where things are."""
    result = dataset.compute()
    for variable in result.variables.values():
        for key in ("cs", "geolocation", "label", "scanned"):
            variable.attrs.pop(key, None)
    return result


def assert_rest(ours: Any, whole: Any, lost: Collection[str]) -> None:
    """Assert that all is there but what was lost, with the same values."""
    if isinstance(ours, xr.DataTree):
        assert [node.path for node in ours.subtree] == [node.path for node in whole.subtree]
        pairs = [
            (node.to_dataset(inherit=False), whole[node.path].to_dataset(inherit=False))
            for node in ours.subtree
        ]
    else:
        pairs = [(ours, whole)]
    for dataset, reference in pairs:
        assert not set(lost) & set(dataset.variables)
        expected = reference.drop_vars(set(lost) & set(reference.variables))
        xr.testing.assert_identical(plain(dataset), plain(expected))


def one(told: list[XGroupWarning]) -> XGroupResolutionWarning:
    """Return the only warning there is, which tells no secret."""
    (warning,) = told
    assert type(warning) is XGroupResolutionWarning
    assert SECRET not in str(warning)
    assert SECRET not in repr(warning.error)
    return warning


def paths_of(lost: Collection[str], function: Open) -> set[str]:
    """Return the arrays that need some coordinates, among those that a function opens."""
    return {
        path
        for path, names in REFERRING.items()
        if set(names) & set(lost) and (function is not xr.open_dataset or path.count("/") == 1)
    }


FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_datatree)
each_function = pytest.mark.parametrize("function", FUNCTIONS)


needs_index_option = pytest.mark.skipif(
    not HAS_INDEX_OPTION, reason="this xarray always builds indexes of dimension coordinates"
)


# Servers.


@dataclass
class Place:
    """A foreign store: where it is, and what it takes to open it.

    Attributes
    ----------
    server : Server
    uri : str
    prefix : str
        What the paths of requests for its keys end with, before the key.
    options : dict
        `cross_store_storage_options`.
    """

    server: Server
    uri: str
    prefix: str
    options: dict[str, Any] = field(default_factory=dict)

    def at(self, key: str = "") -> Callable[[Request], bool]:
        """Return where a fault is shown: at keys that begin so."""
        return lambda request: f"{self.prefix}/{key}" in request.path


@pytest.fixture
def http_place(http_server: FileServer) -> Place:
    http_server.contents.update(below(build(FOREIGN, consolidated=True), "a"))
    return Place(http_server, f"{http_server.url}/a", "/a")


@pytest.fixture
def s3_place(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Place:
    s3fs: Any = pytest.importorskip("s3fs")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)  # what botocore has tried before
    uri = s3_server.upload("bucket", below(build(FOREIGN, consolidated=True), "a"))
    twice = {"retries": {"total_max_attempts": 2}}
    options = {**s3_server.options, "secret": SECRET, "config_kwargs": twice}
    return Place(s3_server, f"{uri}/a", "/bucket/a", {uri: options})


@pytest.fixture
def gcs_place(gcs_server: GCSServer) -> Place:
    pytest.importorskip("gcsfs")
    uri = gcs_server.upload("bucket", below(build(FOREIGN, consolidated=True), "a"))
    return Place(gcs_server, f"{uri}/a", "/o/a", {uri: gcs_server.options})


@pytest.fixture(params=["http", "s3", "gcs"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Open what `referring` describes where nothing can fail, and all in memory."""
    uri = write_local(build(FOREIGN), tmp_path_factory.mktemp("foreign")).as_uri()

    @cache
    def opened(function: Open, others: int = 0) -> Any:
        result, told = opened_in_time(function, store_of(referring(uri, *[uri] * others)))
        assert told == []
        return result.load()

    return opened


# All is well.


def test_without_a_limit_all_is_waited_for(http_place: Place, whole: Whole) -> None:
    http_place.server.faults[http_place.at()] = Fault(delay=0.1)
    store = store_of(referring(http_place.uri))
    dataset, told = within(
        SAFEGUARD, lambda: opened_with_warnings(xr.open_dataset, store, cross_store_timeout=None)
    )
    assert told == []
    assert_rest(dataset, whole(xr.open_dataset), ())


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("consolidated", [True, False])
def test_what_is_absent_may_be_forbidden(
    http_server: FileServer, whole: Whole, zarr_format: ZarrFormat, consolidated: bool
) -> None:
    """As by S3 to those who must not list a bucket."""
    contents = below(build(FOREIGN, zarr_format, consolidated=consolidated), "a")
    http_server.contents.update(contents)
    http_server.faults[lambda request: request.path.removeprefix("/") not in contents] = Fault(403)
    tree, told = opened_in_time(xr.open_datatree, store_of(referring(f"{http_server.url}/a")))
    assert told == []
    assert_rest(tree, whole(xr.open_datatree), ())


# Stores that cannot be opened.

ROOT_ARRAY = build(Group({"r": Array([1.0, 2.0], ("r",))}))["r/zarr.json"]

#: What the root of a store shows, and what the warning says of it.
BROKEN: Mapping[str, tuple[Fault, str]] = {
    "404": (Fault(404), "not found: it has neither a zarr.json nor a .zgroup"),
    "403": (Fault(403), "no permission"),
    "500": (Fault(500), "500"),
    "503": (Fault(503), "503"),
    "401": (Fault(401), "no permission"),
    "redirected for ever": (redirect("/a/zarr.json"), "TooManyRedirects"),
    "truncated": (Fault(truncate=20), "cannot be read: "),
    "reset": (Fault(reset=True), "cannot be read: "),
    "no JSON": (Fault(body=b"{"), "it is not a Zarr store: /zarr.json is not valid JSON"),
    "too deep": (Fault(body=b"[" * 100_000), "/zarr.json is not valid JSON"),
    "empty": (Fault(body=b""), "it is not a Zarr store: /zarr.json is not valid JSON"),
    "no text": (Fault(body=b"\xff\xfe"), "it is not a Zarr store: /zarr.json is not valid JSON"),
    "HTML": (Fault(body=b"<!DOCTYPE html><html></html>"), "it is not a Zarr store: /zarr.json"),
    "a list": (Fault(body=b"[1, 2]"), "it is not a Zarr store: "),
    "a format to come": (
        Fault(body=b'{"zarr_format": 4, "node_type": "group"}'),
        "'zarr_format' is 4, neither 2 nor 3",
    ),
    "an array": (Fault(body=ROOT_ARRAY), "it is an array: the URI must be that of a group"),
}


def check_broken(
    place: Place, whole: Whole, function: Open, text: str, timeout: float = LONG
) -> XGroupResolutionWarning:
    """Assert that only what comes from a store is missing, and that it is told once."""
    ours, told = opened_in_time(
        function,
        store_of(referring(place.uri)),
        timeout,
        cross_store_storage_options=place.options,
    )
    warning = one(told)
    assert type(warning.error) is XGroupStoreError
    assert text in str(warning)
    assert place.uri in str(warning)
    assert set(warning.paths) == paths_of(LOST, function)
    assert len(warning.paths) == len(set(warning.paths))
    assert_rest(ours, whole(function), LOST)
    return warning


@pytest.mark.parametrize(("function", "name"), some_pairs(FUNCTIONS, BROKEN, 2))
def test_a_root_that_fails(http_place: Place, whole: Whole, function: Open, name: str) -> None:
    fault, text = BROKEN[name]
    http_place.server.faults[http_place.at()] = fault
    check_broken(http_place, whole, function, text)
    paths = http_place.server.paths()
    # What is reset is taken for an old connection by aiohttp, and asked again.
    if name not in ("reset", "redirected for ever"):
        assert sorted(paths) == sorted(set(paths))  # not again for each array


def test_a_store_that_never_answers(place: Place, whole: Whole) -> None:
    place.server.faults["*"] = stall()
    check_broken(place, whole, xr.open_datatree, "timeout", BRIEF)


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        port: int = listener.getsockname()[1]
        return port


@each_function
def test_a_connection_that_is_refused(whole: Whole, function: Open) -> None:
    with serve_http({}) as server:
        place = Place(server, f"http://{LOOPBACK}:{closed_port()}/a", "/a")
        check_broken(place, whole, function, "connection refused")


def test_object_stores_that_refuse_connections(
    whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3fs: Any = pytest.importorskip("s3fs")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    client = {"endpoint_url": f"http://{LOOPBACK}:{closed_port()}", "region_name": "us-east-1"}
    once = {"retries": {"total_max_attempts": 1}}
    options = {"key": "key", "secret": SECRET, "client_kwargs": client, "config_kwargs": once}
    with serve_http({}) as server:
        place = Place(server, "s3://bucket/a", "", {"s3://bucket": options})
        check_broken(place, whole, xr.open_dataset, "connection refused")
    with pytest.raises(XGroupStoreError, match="connection refused") as caught:
        xr.open_dataset("zip::s3://bucket/a.zip", engine="xgroup", storage_options={"s3": options})
    assert SECRET not in str(caught.value)


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
    http_place: Place, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def mistaken(*_arguments: Any) -> Any:
        message = "a mistake"
        raise LookupError(message)

    http_place.server.contents.update(  # type: ignore[attr-defined]
        below(build(referring(http_place.uri), consolidated=True), "opened")
    )
    store = f"{http_place.server.url}/opened"
    assert opened_in_time(xr.open_dataset, store)[1] == []
    monkeypatch.setattr(f"zarr_xgroup.storage.{where}", mistaken)
    with pytest.raises(LookupError, match="a mistake"):
        xr.open_dataset(store, engine="xgroup")


@pytest.mark.parametrize("uri", ["http://store.invalid/a", "http://user:hunter2@store.invalid/a"])
def test_a_host_that_has_no_address(whole: Whole, uri: str) -> None:
    with serve_http({}) as server:
        place = Place(server, "http://store.invalid/a", "")
        ours, told = opened_in_time(xr.open_dataset, store_of(referring(uri)))
        warning = one(told)
        assert "unreachable" in str(warning)
        assert place.uri in str(warning)
        assert_rest(ours, whole(xr.open_dataset), LOST)


@pytest.mark.parametrize(
    ("uri", "package", "extra"),
    [
        ("s3://bucket/a", "s3fs", "s3"),
        ("gs://bucket/a", "gcsfs", "gcs"),
        ("gcs://b", "gcsfs", "gcs"),
    ],
)
def test_a_package_that_is_missing(
    whole: Whole, monkeypatch: pytest.MonkeyPatch, uri: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    registry: Any = pytest.importorskip("fsspec.registry")
    for scheme in ("s3", "s3a", "gs", "gcs"):
        with suppress(KeyError):
            monkeypatch.delitem(registry._registry, scheme)
    with serve_http({}) as server:
        warning = check_broken(
            Place(server, uri, ""), whole, xr.open_dataset, f"package {package} is missing"
        )
    assert f"install the extra `{extra}`" in str(warning)


# Faults that clear.


def test_a_store_that_has_failed_can_be_opened_again(place: Place, whole: Whole) -> None:
    place.server.faults["*"] = stall()
    check_broken(place, whole, xr.open_dataset, "timeout", BRIEF)
    place.server.reset()
    place.server.faults["*"] = Fault(404)
    check_broken(place, whole, xr.open_dataset, "not found")
    place.server.reset()
    dataset, told = opened_in_time(
        xr.open_dataset, store_of(referring(place.uri)), cross_store_storage_options=place.options
    )
    assert told == []
    assert_rest(dataset, whole(xr.open_dataset), ())


@pytest.mark.parametrize("kind", ["s3", "gcs"])
def test_what_the_storage_layer_retries(
    request: pytest.FixtureRequest, whole: Whole, kind: str
) -> None:
    place: Place = request.getfixturevalue(f"{kind}_place")
    for key in ("zarr.json", "level/c/0", "month/c/3", "scanned/c/0"):
        place.server.faults[place.at(key)] = Fault(500, times=1)
    place.server.requests.clear()
    dataset, told = opened_in_time(
        xr.open_datatree, store_of(referring(place.uri)), cross_store_storage_options=place.options
    )
    assert told == []
    assert_rest(dataset, whole(xr.open_datatree), ())
    first, second, *_rest = (
        item.method for item in place.server.requests if item.path.endswith("a/level/c/0")
    )
    assert first == second


def test_what_no_storage_layer_retries_is_not_retried_here(http_place: Place, whole: Whole) -> None:
    http_place.server.faults["/a/zarr.json"] = Fault(500, times=1)
    check_broken(http_place, whole, xr.open_datatree, "500")
    assert http_place.server.paths().count("/a/zarr.json") == 1


# Consolidated metadata.


@pytest.mark.parametrize("status", [403, 404, 500])
def test_consolidated_metadata_that_cannot_be_read(
    http_server: FileServer, whole: Whole, status: int
) -> None:
    http_server.contents.update(below(build(FOREIGN, 2, consolidated=True), "a"))
    http_server.faults["/a/.zmetadata"] = Fault(status)
    tree, told = opened_in_time(xr.open_datatree, store_of(referring(f"{http_server.url}/a")))
    assert told == []
    assert_rest(tree, whole(xr.open_datatree), ())
    assert "/a/level/.zarray" in http_server.paths()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_that_makes_no_sense(
    http_server: FileServer, whole: Whole, zarr_format: ZarrFormat
) -> None:
    contents = build(FOREIGN, zarr_format)
    if zarr_format == 2:
        contents[".zmetadata"] = b"<html></html>"
    else:
        contents = edit(contents, "zarr.json", update(consolidated_metadata={"metadata": 5}))
    http_server.contents.update(below(contents, "a"))
    tree, told = opened_in_time(xr.open_datatree, store_of(referring(f"{http_server.url}/a")))
    assert [type(warning) for warning in told] == [XGroupMetadataWarning]
    assert str(told[0]).startswith(f"{http_server.url}/a is read node by node: ")
    assert_rest(tree, whole(xr.open_datatree), ())


# Nodes.

NODE_FAULTS: Mapping[str, tuple[Fault, type[Exception], str]] = {
    "404": (Fault(404), XGroupReferenceError, "not found in store"),
    "403": (Fault(403), XGroupStoreError, "no permission"),
    "500": (Fault(500), XGroupStoreError, "500"),
    "truncated": (Fault(truncate=20), XGroupStoreError, "/level/zarr.json cannot be read"),
    "no JSON": (Fault(body=b"{"), XGroupStoreError, "/level/zarr.json is not valid JSON"),
    "HTML": (Fault(body=b"<html>"), XGroupStoreError, "/level/zarr.json is not valid JSON"),
    "a list": (Fault(body=b"[]"), XGroupStoreError, "level"),
    "stalled": (stall(), XGroupStoreError, "timeout"),
}


@pytest.mark.parametrize(("function", "name"), some_pairs(FUNCTIONS, NODE_FAULTS, 2))
@patiently
def test_a_node_that_fails(
    http_server: FileServer, whole: Whole, function: Open, name: str, timeout: float
) -> None:
    http_server.contents.update(below(build(FOREIGN), "a"))
    fault, error, text = NODE_FAULTS[name]
    http_server.faults["/a/level/zarr.json"] = fault
    limit = timeout if text == "timeout" else LONG
    ours, told = opened_in_time(function, store_of(referring(f"{http_server.url}/a")), limit)
    fault.shown = 0
    if error is XGroupReferenceError:
        # A reference that leads nowhere is told for each place where it is written.
        assert {type(item.error) for item in told} == {error}
        assert all(text in str(item) for item in told)
        named = [
            path
            for item in told
            if isinstance(item, XGroupResolutionWarning)
            for path in item.paths
        ]
        assert sorted(named) == sorted(paths_of({"level"}, function))
    else:
        warning = one(told)
        assert type(warning.error) is error
        assert text in str(warning)
        assert set(warning.paths) == paths_of({"level"}, function)
    assert_rest(ours, whole(function), {"level"})


# What is found in one store leads to another.


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("shared/zarr.json", "/shared/zarr.json"),
        ("level/zarr.json", "/level/"),
        ("level/c/0", "/level"),
    ],
)
def test_a_shared_system_of_axes(http_place: Place, key: str, text: str) -> None:
    system = {"axes": {"level": {"coordinates": [{"values": {"external": {"node": "/level"}}}]}}}
    shared = Group(attrs={"system": system})
    contents = build(Group({**FOREIGN.members, "shared": shared}))
    server = http_place.server
    assert isinstance(server, FileServer)
    server.contents.update(below(contents, "b"))
    uri = f"{server.url}/b"
    reference = {"uri": uri, "node": "/shared", "attribute": "/attributes/system"}
    profile = along([1.0, 2.0], "level", **declaring("cs", cs={"crs": [reference]}))
    store = store_of(Group({"profile": profile, "again": profile, "below": Group({"p": profile})}))
    reference_tree, told = opened_in_time(xr.open_datatree, store)
    assert told == []
    assert reference_tree["below/level"].values.tolist() == [1000.0, 850.0]
    reference_tree.load()
    server.faults[f"/b/{key}"] = Fault(500)
    tree, told = opened_in_time(xr.open_datatree, store)
    warning = one(told)
    assert type(warning.error) is XGroupStoreError
    assert text in str(warning)
    assert uri in str(warning)
    assert set(warning.paths) == {"/profile", "/again", "/below/p"}
    assert_rest(tree, reference_tree, {"level"})


@pytest.mark.parametrize("fault", [Fault(500), stall()], ids=["500", "stalled"])
@patiently
def test_a_store_that_another_one_refers_to(
    http_place: Place, fault: Fault, timeout: float
) -> None:
    http_place.server.reset()
    with serve_http({}) as middle:
        external = {"external": {"uri": http_place.uri, "node": "/level"}}
        system = {"axes": {"level": {"coordinates": [{"values": external}]}}}
        middle.contents.update(build(Group({"x": Array([1.0, 2.0], ("x",))}, {"system": system})))
        shared = {"uri": middle.url, "node": "/", "attribute": "/attributes/system"}
        near = {
            "axes": {
                "x": {"coordinates": [{"values": {"external": {"uri": middle.url, "node": "/x"}}}]}
            }
        }
        profile = along(
            [[1.0, 2.0]] * 2, "level", "x", **declaring("cs", cs={"crs": [shared, near]})
        )
        store = store_of(Group({"profile": profile, "below": Group({"profile": profile})}))
        whole_tree, told = opened_in_time(xr.open_datatree, store)
        assert told == []
        whole_tree.load()
        assert set(whole_tree["below"].coords) == {"level", "x"}
        http_place.server.faults["*"] = fault
        tree, told = opened_in_time(xr.open_datatree, store, timeout if fault.delay else LONG)
        warning = one(told)
        assert type(warning.error) is XGroupStoreError
        assert http_place.uri in str(warning)
        assert set(warning.paths) == {"/profile", "/below/profile"}
        assert_rest(tree, whole_tree, {"level"})


# Chunks that are read when a store is opened.

CHUNK_FAULTS: Mapping[str, tuple[Fault, str]] = {
    "403": (Fault(403), "no permission"),
    "500": (Fault(500), "500"),
    "truncated": (Fault(truncate=3), "cannot be read"),
    "short": (Fault(body=b"abc"), "cannot be read"),
    "stalled": (stall(), "timeout"),
}


@pytest.mark.parametrize(("function", "name"), some_pairs(FUNCTIONS, CHUNK_FAULTS, 2))
@patiently
def test_a_chunk_of_a_dimension_coordinate_that_fails(
    http_place: Place, whole: Whole, function: Open, name: str, timeout: float
) -> None:
    fault, text = CHUNK_FAULTS[name]
    http_place.server.faults["/level/c/0"] = fault
    ours, told = opened_in_time(
        function, store_of(referring(http_place.uri)), timeout if text == "timeout" else LONG
    )
    warning = one(told)
    assert type(warning.error) is XGroupStoreError
    assert text in str(warning)
    assert set(warning.paths) == paths_of({"level"}, function)
    assert_rest(ours, whole(function), {"level"})


def test_a_chunk_that_is_not_wanted(http_place: Place, whole: Whole) -> None:
    http_place.server.faults["/level/c/0"] = stall()
    store = store_of(referring(http_place.uri))
    ours, told = opened_in_time(xr.open_dataset, store, drop_variables="level")
    assert told == []
    assert_rest(ours, whole(xr.open_dataset), {"level"})


@needs_index_option
def test_a_chunk_that_no_index_needs(http_place: Place) -> None:
    http_place.server.faults["/level/c/0"] = Fault(500)
    http_place.server.faults["/month/c/3"] = Fault(500)
    store = store_of(referring(http_place.uri))
    dataset, told = opened_in_time(xr.open_dataset, store, create_default_indexes=False)
    http_place.server.reset()
    assert one(told).paths == ("/series",)
    assert dataset["level"].values.tolist() == [1000.0, 850.0]
    assert dataset["month"].values.tolist() == [15, 45, 75, 105]
    assert dataset["scanned"].dtype.kind == "M"


def test_a_chunk_that_is_absent_has_the_fill_value(http_place: Place) -> None:
    http_place.server.faults["/level/c/0"] = Fault(404)
    dataset, told = opened_in_time(xr.open_dataset, store_of(referring(http_place.uri)))
    assert told == []
    assert dataset["level"].values.tolist() == [0.0, 0.0]


@each_function
@pytest.mark.parametrize("number", [0, 2])
def test_a_chunk_of_times_that_fails(
    http_place: Place, whole: Whole, function: Open, number: int
) -> None:
    http_place.server.faults[f"/scanned/c/{number}"] = Fault(500)
    ours, told = opened_in_time(function, store_of(referring(http_place.uri)))
    http_place.server.reset()
    warning = one(told)
    assert type(warning.error) is XGroupStoreError
    assert set(warning.paths) == paths_of({"scanned"}, function)
    dataset = ours.to_dataset() if isinstance(ours, xr.DataTree) else ours
    assert dataset["scanned"].attrs["units"] == "hours since 2000-01-01"
    assert dataset["scanned"].values.tolist() == [1, 2, 3]
    if isinstance(ours, xr.DataTree):
        ours.dataset = dataset.drop_vars("scanned")
    else:
        ours = dataset.drop_vars("scanned")
    assert_rest(ours, whole(function), {"scanned"})


def test_a_chunk_of_times_that_opening_does_not_read(http_place: Place) -> None:
    http_place.server.faults["/scanned/c/1"] = Fault(500)
    dataset, told = opened_in_time(xr.open_dataset, store_of(referring(http_place.uri)))
    assert told == []
    assert dataset["scanned"][0].values == np.datetime64("2000-01-01T01")


# Several stores.


@patiently
def test_one_store_that_fails_leaves_the_others_alone(
    http_place: Place, whole: Whole, timeout: float
) -> None:
    with serve_http(build(FOREIGN)) as other:
        store = store_of(referring(http_place.uri, other.url))
        http_place.server.faults[http_place.at()] = stall()
        tree, told = opened_in_time(xr.open_datatree, store, timeout)
        assert set(one(told).paths) == set(REFERRING)
        assert_rest(tree, whole(xr.open_datatree, 1), LOST)
        assert tree["level_0"].values.tolist() == [1000.0, 850.0]
        http_place.server.reset()
        other.faults["*"] = Fault(403)
        tree, told = opened_in_time(xr.open_datatree, store)
        assert one(told).paths == ("/other_0",)
        assert_rest(tree, whole(xr.open_datatree, 1), {"level_0"})


def test_stores_of_all_kinds_that_fail_in_all_ways(
    http_place: Place, s3_place: Place, gcs_place: Place, whole: Whole
) -> None:
    places = [http_place, s3_place, gcs_place]
    root = referring(*(place.uri for place in places))
    http_place.server.contents.update(below(build(root, consolidated=True), "opened"))  # type: ignore[attr-defined]
    store = f"{http_place.server.url}/opened"
    options = {key: value for place in places for key, value in place.options.items()}
    tree, told = opened_in_time(xr.open_datatree, store, cross_store_storage_options=options)
    assert told == []
    reference = whole(xr.open_datatree, 2)
    assert_rest(tree, reference, ())
    s3_place.server.faults[s3_place.at()] = Fault(403)
    gcs_place.server.faults[gcs_place.at()] = Fault(body=b"{")
    tree, told = opened_in_time(xr.open_datatree, store, cross_store_storage_options=options)
    about = {warning.paths: str(warning) for warning in told}
    assert set(about) == {("/other_0",), ("/other_1",)}
    assert "no permission" in about["/other_0",]
    assert "is not valid JSON" in about["/other_1",]
    assert_rest(tree, reference, {"level_0", "level_1"})


# Secrets.


@pytest.mark.parametrize(
    "key", ["level/zarr.json", "level/c/0", "scanned/c/0"], ids=["document", "chunk", "time"]
)
def test_no_secret_is_told_of_a_part(http_server: FileServer, key: str) -> None:
    http_server.contents.update(below(build(FOREIGN), "a"))
    host = http_server.url.removeprefix("http://")
    store = store_of(referring(f"http://user:{SECRET}@{host}/a"))
    dataset, told = opened_in_time(xr.open_dataset, store)
    assert told == []
    for name in LOST:
        assert dataset[name].encoding["source"] == f"{http_server.url}/a/{name}"
    http_server.faults[f"/a/{key}"] = Fault(403)
    _dataset, told = opened_in_time(xr.open_dataset, store)
    assert f"store {http_server.url}/a: " in str(one(told))


# Faults of the store that is opened.


OWN = Group(
    {
        "x": coordinate("x", [10.0, 20.0, 30.0], units="m"),
        "when": Array(np.arange(3) + 1, ("x",), {"units": "hours since 2000-01-01"}, chunks=(1,)),
        "v": Array([1.0, 2.0, 3.0], ("x",)),
        "w": Array([1.0, 2.0, 3.0], ("x",)),
    }
)


@pytest.mark.parametrize(
    ("key", "lost", "text"),
    [
        ("x/c/0", {"x"}, "/x: left out: "),
        ("w/zarr.json", {"w"}, "/w: left out: "),
        ("when/c/2", set(), "/when: opened with its times undecoded: "),
        ("v/c/0", set(), None),
    ],
)
def test_faults_of_the_opened_store(
    http_server: FileServer, key: str, lost: set[str], text: str | None
) -> None:
    contents = build(OWN)
    http_server.contents.update(contents)
    http_server.listing = True
    reference, _told = opened_in_time(xr.open_dataset, http_server.url)
    reference.load()
    http_server.faults[f"/{key}"] = Fault(500)
    dataset, told = opened_in_time(xr.open_dataset, http_server.url)
    http_server.reset()
    assert len(told) == (0 if text is None else 1)
    if text is not None:
        assert type(told[0]) is XGroupMetadataWarning
        assert str(told[0]).startswith(text)
        assert "500" in str(told[0])
    if key.startswith("when"):
        assert dataset["when"].values.tolist() == [1, 2, 3]
        dataset, lost = dataset.drop_vars("when"), {"when"}
    assert_rest(dataset, reference, lost)
