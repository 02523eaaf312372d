"""Stores that refer to one another over real protocols: what is read, sent, followed and refused."""

import pickle
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from zarr.core.sync import sync
from zarr.storage import FsspecStore

from zarr_xgroup import XGroupResolutionWarning, XGroupStoreError, XGroupWarning
from zarr_xgroup.storage import places
from zarr_xgroup.storage.foreign import ForeignLimits
from zarr_xgroup.tests.builders import (
    HAS_ICECHUNK,
    HAS_OBSTORE,
    HAS_SYNC_FSSPEC,
    Array,
    Contents,
    Group,
    Json,
    Open,
    RecordingStore,
    ZarrFormat,
    below,
    build,
    declaring,
    icechunk_session,
    memory_store,
    opened,
    opened_with_warnings,
    write_fsspec_memory,
    write_local,
    write_zip,
)
from zarr_xgroup.tests.servers import (
    Fault,
    FileServer,
    GCSServer,
    Request,
    Response,
    S3Server,
    is_listing,
    patiently,
    redirect,
    serve_http,
    stall,
)

pytestmark = pytest.mark.server

FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_datatree)
each_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)

#: Not by dask, and by dask.
SHAPE = {"y": 2, "x": 3}
DATA = np.arange(6.0).reshape(2, 3)


# Stores that refer to others.


def at(uri: str, node: str, **more: str) -> Json:
    """Return a reference into another store."""
    return {"uri": uri, "node": node, **more}


def grid(number: int = 0, *names: str) -> Group:
    """Return a store of coordinates: `y` and `x`, and arrays along both of them.

    Those of each number have other values.
    """
    along_both = {name: Array(DATA + 100 * number, ("y", "x")) for name in names or ("lon",)}
    return Group(
        {
            "y": Array(np.arange(2.0) + 100 * number, ("y",)),
            "x": Array(np.arange(3.0) + 100 * number, ("x",)),
            **along_both,
        }
    )


def field_of(**uris: str) -> Array:
    """Return an array whose coordinates are in other stores, by their names.

    Of its dimensions `y` and `x` by `cs`, others by `ref`.
    """
    axes = {
        name: {"coordinates": [{"values": {"external": at(uri, f"/{name}")}}]}
        for name, uri in uris.items()
        if name in SHAPE
    }
    others = {name: {"ref": at(uri, f"/{name}")} for name, uri in uris.items() if name not in SHAPE}
    cs = {"cs": {"crs": [{"axes": axes}]}} if axes else {}
    return Array(DATA, ("y", "x"), declaring(*cs, "ref", **cs, **others))


def product(**uris: str) -> Contents:
    """Return a store with an array, and one in a group, whose coordinates are in other stores."""
    root = Group({"v": field_of(**uris), "sub": Group({"w": field_of(**uris)})})
    return build(root, consolidated=True)  # HTTP lists nothing


def check(dataset: xr.Dataset, numbers: Mapping[str, int], data: str = "v") -> None:
    """Assert that coordinates have the values that `grid` gives them."""
    assert set(dataset.coords) == set(numbers)
    np.testing.assert_array_equal(dataset[data].compute(), DATA)
    for name, number in numbers.items():
        expected = np.arange(float(SHAPE[name])) if name in SHAPE else DATA
        np.testing.assert_array_equal(dataset[name].compute(), expected + 100 * number, name)


def sources(dataset: xr.Dataset) -> dict[str, str]:
    return {str(name): item.encoding["source"] for name, item in dataset.coords.items()}


# Where stores are put.


@dataclass(frozen=True)
class Place:
    """A store on a server.

    Attributes
    ----------
    store : object
        What opens it, with `options` as storage options.
    options : dict
    uri : str
        By what others refer to it.
    """

    store: Any
    options: dict[str, Any] = field(default_factory=dict)
    uri: str = ""

    def open(self, function: Open, **options: Any) -> Any:
        """Open it, of which nothing may be told."""
        result, told = self.open_with_warnings(function, **options)
        assert told == []
        return result

    def open_with_warnings(self, function: Open, **options: Any) -> tuple[Any, list[XGroupWarning]]:
        if self.options:
            options["storage_options"] = self.options
        return opened_with_warnings(function, self.store, **options)


Put = Callable[[str, Contents, str], Place]


@pytest.fixture
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Put:
    """Put a store of a name where a protocol reaches it; its server is started when asked for."""

    def put_it(kind: str, contents: Contents, name: str) -> Place:
        if kind == "file":
            path = write_local(contents, tmp_path / name)
            return Place(str(path), {}, path.as_uri())
        if kind == "memory":
            request.getfixturevalue("fsspec_memory")
            uri = write_fsspec_memory(contents, name)
            return Place(uri, {}, uri)
        if kind == "http":
            http: FileServer = request.getfixturevalue("http_server")
            http.contents.update(below(contents, name))
            return Place(f"{http.url}/{name}", {}, f"{http.url}/{name}")
        if kind == "gcs":
            pytest.importorskip("gcsfs")
            gcs: GCSServer = request.getfixturevalue("gcs_server")
            uri = gcs.upload(name, contents)
            return Place(uri, gcs.options, uri)
        pytest.importorskip("s3fs")
        s3: S3Server = request.getfixturevalue("s3_server")
        uri = s3.upload(name, contents)
        if kind == "obstore":
            storage: Any = zarr.storage  # of which older versions have no ObjectStore
            return Place(storage.ObjectStore(s3.object_store(name), read_only=True), {}, uri)
        return Place(uri, s3.options, uri)

    return put_it


def _kind(name: str, *values: Any, is_there: bool = True) -> Any:
    missing = pytest.mark.skipif(not is_there, reason="this zarr cannot open such a store")
    return pytest.param(name, *values, marks=missing)


REMOTE = ("http", "s3", "gcs", _kind("obstore", is_there=HAS_OBSTORE))
REFERRED = ("file", "http", "s3", "gcs", *(["memory"] if HAS_SYNC_FSSPEC else []))


def only(told: list[XGroupWarning]) -> XGroupResolutionWarning:
    """Return the one warning there is, which is about a store."""
    (warning,) = told
    assert isinstance(warning, XGroupResolutionWarning), warning
    assert isinstance(warning.error, XGroupStoreError)
    return warning


# All protocols.


@pytest.mark.parametrize(
    ("kind", "chunks"),
    [
        ("http", None),
        ("s3", {}),
        ("gcs", None),
        _kind("obstore", {}, is_there=HAS_OBSTORE),
        _kind("memory", None, is_there=HAS_SYNC_FSSPEC),
    ],
)
def test_coordinates_over_all_protocols_at_once(put: Put, kind: str, chunks: Any) -> None:
    places = {
        other: put(other, build(grid(number, other), consolidated=number % 2 == 0), f"grid-{other}")
        for number, other in enumerate(REFERRED)
    }
    uris = {name: place.uri for name, place in places.items()}
    numbers = {name: number for number, name in enumerate(REFERRED)}
    numbers.update(y=numbers["s3"], x=numbers["http"])
    product_place = put(kind, product(**uris, y=uris["s3"], x=uris["http"]), "product")
    allowed = {place.uri: place.options for place in places.values()}
    options: Json = {"cross_store_storage_options": allowed, "chunks": chunks}
    dataset = product_place.open(xr.open_dataset, **options)
    check(dataset, numbers)
    tree = product_place.open(xr.open_datatree, **options)
    check(tree.to_dataset(), numbers)
    check(tree["sub"].to_dataset(), numbers, "w")
    for name, source in sources(dataset).items():
        uri = uris[{"y": "s3", "x": "http"}.get(name, name)]
        assert source.removeprefix("file://") == f"{uri.removeprefix('file://')}/{name}"
    assert all((dataset[name].chunks is None) == (chunks is None) for name in REFERRED)
    dataset.close()
    tree.close()


@pytest.mark.parametrize(("zarr_format", "consolidated"), [(2, True), (3, False)])
@pytest.mark.parametrize("kind", ["http", "s3", "gcs"])
def test_listing_is_not_needed_and_nothing_is_read_twice(
    request: pytest.FixtureRequest,
    put: Put,
    kind: str,
    zarr_format: ZarrFormat,
    *,
    consolidated: bool,
) -> None:
    place = put(kind, build(grid(1), zarr_format, consolidated=consolidated), "grid")
    server = request.getfixturevalue(f"{kind}_server")
    store = memory_store(product(y=place.uri, x=place.uri, lon=place.uri))
    for function in FUNCTIONS:
        server.reset()
        server.faults[is_listing] = Fault(403)
        options: Json = {"cross_store_storage_options": {place.uri: place.options}}
        result = opened(function, store, **options)
        dataset = result if function is xr.open_dataset else result.to_dataset()
        np.testing.assert_array_equal(dataset["lon"], DATA + 100)
        check(dataset, {"y": 1, "x": 1, "lon": 1})
        # When S3 has no object of a name, s3fs itself asks whether it has a folder of it.
        assert kind == "s3" or not any(is_listing(item) for item in server.requests)
        asked = Counter(path for path in server.paths("GET") if path.strip("/") != "grid")
        assert set(asked.values()) == {1}
        documents = [path for path in asked if "/y/" in path and "/y/c/0" not in path]
        assert any(path.endswith(("/zarr.json", "/.zarray")) for path in documents) != consolidated


# Each store once, and all at the same time.


def test_a_store_is_opened_once_however_it_is_spelled(http_server: FileServer) -> None:
    http_server.contents.update(below(build(grid(1, "lon", "lat")), "grid"))
    url = f"{http_server.url}/grid"
    root = Group(
        {
            "v": field_of(y=url, x=f"{url}/", lon=url.replace("http", "HTTP")),
            "a": Group({"w": field_of(lat=f"{http_server.url}//grid", lon=url)}),
            "b": Group({"w": field_of(lat=f"{http_server.url}/%67rid#part", y=url)}),
        }
    )
    tree = opened(xr.open_datatree, memory_store(build(root)))
    check(tree.to_dataset(), {"y": 1, "x": 1, "lon": 1})
    check(tree["b"].to_dataset(), {"y": 1, "x": 1, "lat": 1}, "w")
    counts = Counter(path for path in http_server.paths() if not path.startswith("/grid/l"))
    assert counts["/grid/zarr.json"] == counts["/grid/y/c/0"] == 1
    assert set(counts.values()) == {1}


class MeetingServer(FileServer):
    """A server that lets each request for what it has wait for those to other servers."""

    def __init__(self, contents: Contents, meet: Callable[[str], None]) -> None:
        super().__init__(contents)
        self.meet = meet

    def respond(self, request: Request) -> Response:
        key = request.path.removeprefix("/")
        if key in self.contents:
            try:
                self.meet(key)
            except threading.BrokenBarrierError:
                return Response(500, b"the other servers were not asked")
        return super().respond(request)


@pytest.mark.parametrize("consolidated", [False, True])
def test_all_stores_are_read_at_the_same_time(*, consolidated: bool) -> None:
    names = ("y", "x", "a", "b")
    # Each root, each array if they are not consolidated, and the chunks that xarray reads.
    barriers = {
        "zarr.json": threading.Barrier(len(names)),
        "*/zarr.json": threading.Barrier(len(names)),
        "[yx]/c/0": threading.Barrier(2),
    }

    def meet(key: str) -> None:
        for pattern, barrier in barriers.items():
            if fnmatchcase(key, pattern):
                barrier.wait(timeout=60)
                break

    def serve(number: int) -> MeetingServer:
        return MeetingServer(build(grid(number, "a", "b"), consolidated=consolidated), meet)

    with serve(0) as first, serve(1) as second, serve(2) as third, serve(3) as fourth:
        servers = dict(zip(names, (first, second, third, fourth), strict=True))
        uris = {name: server.url for name, server in servers.items()}
        dataset = opened(xr.open_dataset, memory_store(product(**uris)))
        check(dataset, {"y": 0, "x": 1, "a": 2, "b": 3})


def test_stores_that_nothing_opened_refers_to_are_not_touched(
    http_server: FileServer, serve: Callable[[Contents], str]
) -> None:
    http_server.contents.update(build(grid(1)))
    near = serve(build(grid(2)))
    root = Group(
        {
            "a": Group({"v": field_of(y=near)}),
            "b": Group({"v": field_of(y=http_server.url, lon=http_server.url)}),
        },
        declaring("ref", unused={"ref": at(http_server.url, "/lon")}),
    )
    store = memory_store(build(root))
    check(opened(xr.open_dataset, store, group="a"), {"y": 2})
    opened(xr.open_dataset, store)
    assert http_server.requests == []
    check(opened(xr.open_dataset, store, group="b"), {"y": 1, "lon": 1})
    assert http_server.requests


# References of the stores referred to.


def test_references_within_a_store_and_on_into_others(http_server: FileServer) -> None:
    last = f"{http_server.url}/last"
    axes = {
        "y": {"coordinates": [{"values": {"external": {"node": "inner/y"}}}]},
        "x": {"coordinates": [{"values": {"external": at(last, "/x")}}]},
    }
    shared = {"crs": {"here": {"axes": axes}}}
    first = Group({"inner": grid(1)}, shared)
    http_server.contents.update(below(build(first), "first"))
    http_server.contents.update(below(build(grid(2)), "last"))
    there = at(f"{http_server.url}/first", "/", attribute="/attributes/crs/here")
    data = Array(DATA, ("y", "x"), declaring("cs", "ref", cs={"crs": [there]}))
    # Here is an array of the same path as the one there, which is not meant.
    store = memory_store(build(Group({"v": data, "inner": grid(3)})))
    dataset = opened(xr.open_dataset, store)
    check(dataset, {"y": 1, "x": 2})
    assert sources(dataset) == {
        "y": f"{http_server.url}/first/inner/y",
        "x": f"{http_server.url}/last/x",
    }


def test_stores_that_refer_to_each_other_end(http_server: FileServer) -> None:
    urls = [f"{http_server.url}/{name}" for name in "ab"]
    for name, other in zip("ab", reversed(urls), strict=True):
        attributes = {"crs": {"ref": at(other, "/", attribute="/attributes/crs")}}
        http_server.contents.update(below(build(Group({}, attributes)), name))
    there = {"ref": at(urls[0], "/", attribute="/attributes/crs")}
    data = Array(DATA, ("y", "x"), declaring("cs", "ref", cs={"crs": [there]}))
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group({"v": data}))))
    assert len(told) == 1
    np.testing.assert_array_equal(dataset["v"], DATA)
    counts = Counter(http_server.paths())
    assert (counts["/a/zarr.json"], counts["/b/zarr.json"]) == (1, 1)


# Whose credentials are sent to whom.


def credentials(server: FileServer | S3Server | GCSServer, prefix: str) -> set[str | None]:
    """Return what requests below a path have in `Authorization`."""
    found = [item for item in server.requests if item.path.startswith(prefix)]
    assert found
    return {item.headers["Authorization"] for item in found}


def with_token(token: str) -> Json:
    return {"client_kwargs": {"headers": {"Authorization": token}}}


@each_function
def test_options_of_the_opened_store_are_for_no_other(
    http_server: FileServer, function: Open
) -> None:
    url = http_server.url
    data = field_of(y=f"{url}/grid", x=f"{url}/product-2", lon=f"{url}/product/inner")
    inner = Group({"lon": Array(DATA + 200, ("y", "x"))})
    contents = build(Group({"v": data, "inner": inner}), consolidated=True)
    http_server.contents.update(below(contents, "product"))
    for number, name in enumerate(("grid", "product-2")):
        http_server.contents.update(below(build(grid(number)), name))
    result = opened(
        function,
        f"{url}/product",
        storage_options=with_token("mine"),
    )
    dataset = result if function is xr.open_dataset else result.to_dataset()
    check(dataset, {"y": 0, "x": 1, "lon": 2})
    assert credentials(http_server, "/grid/") == {None}
    assert credentials(http_server, "/product-2/") == {None}
    assert credentials(http_server, "/product/") == {"mine"}
    assert credentials(http_server, "/product/inner/lon/") == {"mine"}


@pytest.mark.parametrize("kind", ["file", "http", "s3", "gcs"])
@pytest.mark.parametrize("is_store", [False, True], ids=["url", "store"])
def test_a_uri_inside_the_opened_store_is_no_other_store(
    put: Put, kind: str, *, is_store: bool
) -> None:
    uri = put(kind, {}, "product").uri
    data = field_of(y=f"{uri}/inner", lon=uri, lat=f"{uri}//inner/")
    inner = Group({"y": Array(np.arange(2.0), ("y",)), "lat": Array(DATA, ("y", "x"))})
    lon = Array(DATA, ("y", "x"))
    root = Group({"v": data, "lon": lon, "inner": inner})
    place = put(kind, build(root, consolidated=True), "product")
    if is_store:
        group = zarr.open_group(place.store, mode="r", storage_options=place.options or None)
        place = Place(RecordingStore(group.store) if kind == "file" else group.store)
    dataset = place.open(xr.open_dataset)
    check(dataset, {"y": 0, "lon": 0, "lat": 0})
    assert dataset["lat"].encoding["source"].endswith("/inner/lat")


def test_options_by_the_longest_prefix(http_server: FileServer) -> None:
    url = http_server.url
    for number, name in enumerate(("data/deep/er", "data/deeper", "database", "data")):
        http_server.contents.update(below(build(grid(number, "a", "b")), name))
    uris = {"y": f"{url}/data/deep/er", "x": f"{url}/data/deeper", "a": f"{url}/database"}
    allowed = {
        f"{url}/data": with_token("data"),
        f"{url.replace('http', 'HTTP')}/data/deep/": with_token("deep"),
        "https://": with_token("never"),
    }
    store = memory_store(product(**uris))
    dataset = opened(xr.open_dataset, store, cross_store_storage_options=allowed)
    check(dataset, {"y": 0, "x": 1, "a": 2})
    assert credentials(http_server, "/data/deep/er/") == {"deep"}
    assert credentials(http_server, "/data/deeper/") == {"data"}
    assert credentials(http_server, "/database/") == {None}


def test_signed_here_and_anonymous_there(s3_server: S3Server) -> None:
    pytest.importorskip("s3fs")
    uri = s3_server.upload("public", build(grid(1)), public=True)
    s3_server.upload("private", product(y=uri, lon=uri))
    dataset = opened(
        xr.open_dataset,
        "s3://private",
        storage_options=s3_server.options,
        cross_store_storage_options={uri: s3_server.anonymous},
    )
    check(dataset, {"y": 1, "lon": 1})
    assert credentials(s3_server, "/public/") == {None}
    assert None not in credentials(s3_server, "/private/v/")


def test_what_is_public_needs_no_credentials(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("s3fs")
    uri = s3_server.upload("open", build(grid(1)), public=True)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    options = {"client_kwargs": s3_server.anonymous["client_kwargs"]}
    with pytest.raises(XGroupStoreError, match=r"opens with storage_options=\{'anon': True\}"):
        xr.open_dataset(uri, engine="xgroup", storage_options=options)
    assert opened(xr.open_dataset, uri, storage_options={**options, "anon": True})


@contextmanager
def _new_instances(filesystem: Any, client: str) -> Iterator[None]:
    """Let none of the filesystems be used that other environments made, and close the new ones."""
    instances: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filesystem, "_cache", instances)
        yield
        for instance in instances.values():
            if getattr(instance, client) is not None:
                sync(getattr(instance, client).close())


@pytest.fixture
def aws(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """Serve S3 at what the environment names, with credentials in it."""
    s3fs: Any = pytest.importorskip("s3fs")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.secret)
    monkeypatch.setenv("AWS_DEFAULT_REGION", s3_server.region)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.url)
    with _new_instances(s3fs.S3FileSystem, "_s3"):
        yield s3_server


def test_s3_without_options_is_anonymous(aws: S3Server) -> None:
    uri = aws.upload("public", build(grid(1)), public=True)
    dataset = opened(xr.open_dataset, memory_store(product(y=uri, lon=uri)))
    check(dataset, {"y": 1, "lon": 1})
    assert credentials(aws, "/public/") == {None}


def test_private_s3_without_options(aws: S3Server) -> None:
    uri = aws.upload("private", build(grid(1)))
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(product(y=uri)))
    check(dataset, {})
    assert "no permission" in str(only(told))
    assert credentials(aws, "/private/") == {None}


def test_s3_with_options_has_the_defaults_of_s3fs(aws: S3Server) -> None:
    uri = aws.upload("private", build(grid(1)))
    store = memory_store(product(y=uri, lon=uri))
    dataset = opened(xr.open_dataset, store, cross_store_storage_options={uri: {}})
    check(dataset, {"y": 1, "lon": 1})
    assert None not in credentials(aws, "/private/")


def test_gcs_without_options_is_anonymous(
    gcs_server: GCSServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gcsfs: Any = pytest.importorskip("gcsfs")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_server.url)
    uri = gcs_server.upload("bucket", build(grid(1)))
    tokens: list[Any] = []
    connect = gcsfs.credentials.GoogleCredentials.connect

    def connecting(self: Any, method: Any = None) -> None:
        tokens.append(method)
        connect(self, method)

    monkeypatch.setattr(gcsfs.credentials.GoogleCredentials, "connect", connecting)
    with _new_instances(gcsfs.GCSFileSystem, "_session"):
        store = memory_store(product(y=uri, lon=uri.replace("gs://", "gcs://")))
        check(opened(xr.open_dataset, store), {"y": 1, "lon": 1})
    assert tokens == ["anon"]
    assert credentials(gcs_server, "/") == {None}


# What is followed.


def refused(told: list[XGroupWarning], uri: str, reason: str) -> bool:
    """Tell whether a warning says that a store was not opened for a reason."""
    warning = only(told)
    assert isinstance(warning.error, XGroupStoreError)
    assert warning.error.store == uri
    return f"store {uri} was not opened: {reason}" in str(warning)


LOCAL = "a store that is not local must not lead to local files"
PRIVATE = "a public store must not lead into a private network"
UNKNOWN = "a store that is not local must not lead to places of unknown kind"


@pytest.mark.parametrize("scheme", ["file", "FILE", "local"])
def test_remote_stores_lead_to_no_local_files(
    http_server: FileServer, tmp_path: Path, scheme: str
) -> None:
    path = write_local(build(grid(1)), tmp_path / "grid")
    uri = path.as_uri().replace("file", scheme)
    http_server.contents.update(product(y=uri))
    others: Json = {f"{path}-2": {}, f"{path}/y": {}, "http://": {}}
    for options in ({}, {"cross_store_storage_options": others}):
        dataset, told = opened_with_warnings(xr.open_dataset, http_server.url, **options)
        check(dataset, {})
        assert refused(told, uri, LOCAL)
    if scheme == "local" and not HAS_SYNC_FSSPEC:
        return
    for prefix in (tmp_path.as_uri(), str(path), "file://", uri):
        allowed: Json = {"cross_store_storage_options": {prefix: {}}}
        check(opened(xr.open_dataset, http_server.url, **allowed), {"y": 1})


@pytest.mark.parametrize("kind", REMOTE)
def test_no_protocol_leads_to_local_files(put: Put, kind: str, tmp_path: Path) -> None:
    uri = write_local(build(grid(1)), tmp_path / "grid").as_uri()
    place = put(kind, product(y=uri), "product")
    dataset, told = place.open_with_warnings(xr.open_dataset)
    check(dataset, {})
    assert refused(told, uri, LOCAL)
    check(place.open(xr.open_dataset, cross_store_storage_options={uri: {}}), {"y": 1})


@pytest.mark.parametrize("kind", REMOTE)
def test_private_stores_lead_to_private_ones(
    put: Put, kind: str, serve: Callable[[Contents], str]
) -> None:
    place = put(kind, product(y=serve(build(grid(1)))), "product")
    check(place.open(xr.open_dataset), {"y": 1})


@pytest.mark.skipif(not HAS_SYNC_FSSPEC, reason="this zarr opens no URLs of memory")
@pytest.mark.usefixtures("fsspec_memory")
def test_remote_stores_lead_to_no_memory(http_server: FileServer) -> None:
    uri = write_fsspec_memory(build(grid(1)), "grid")
    http_server.contents.update(product(y=uri))
    _dataset, told = opened_with_warnings(xr.open_dataset, http_server.url)
    assert refused(told, uri, LOCAL)
    options: Json = {"cross_store_storage_options": {uri: {}}}
    check(opened(xr.open_dataset, http_server.url, **options), {"y": 1})


def test_local_stores_lead_anywhere(http_server: FileServer, tmp_path: Path) -> None:
    http_server.contents.update(build(grid(1)))
    near = write_local(build(grid(2)), tmp_path / "grid").as_uri()
    contents = product(y=http_server.url, x=near)
    for place in (
        write_local(contents, tmp_path / "product"),
        write_zip(contents, tmp_path / "product.zip"),
        memory_store(contents),
        RecordingStore(memory_store(contents)),
    ):
        check(opened(xr.open_dataset, place), {"y": 1, "x": 2})


def test_a_way_around_is_refused_too(public_server: FileServer, tmp_path: Path) -> None:
    """Each store is judged by itself: a local one may lead to one that may not lead back."""
    near = write_local(build(grid(1)), tmp_path / "grid").as_uri()
    axes = {"y": {"coordinates": [{"values": {"external": at(near, "/y")}}]}}
    public_server.contents.update(build(Group({}, {"crs": {"axes": axes}})))
    there = at(public_server.url, "/", attribute="/attributes/crs")
    data = Array(DATA, ("y", "x"), declaring("cs", "ref", cs={"crs": [there]}))
    path = write_local(build(Group({"v": data})), tmp_path / "product")
    dataset, told = opened_with_warnings(xr.open_dataset, path)
    check(dataset, {})
    assert refused(told, near, LOCAL)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_public_stores_lead_to_no_private_ones(
    public_server: FileServer, http_server: FileServer, host: str
) -> None:
    http_server.contents.update(build(grid(1)))
    url = http_server.url.replace("127.0.0.1", host)
    public_server.contents.update(product(y=url))
    dataset, told = opened_with_warnings(xr.open_dataset, public_server.url)
    check(dataset, {})
    assert refused(told, url, PRIVATE)
    assert http_server.requests == []
    dataset = opened(xr.open_dataset, public_server.url, cross_store_storage_options={url: {}})
    check(dataset, {"y": 1})


@pytest.mark.parametrize(
    "spelling",
    ["http://2130706433:{}", "HTTP://127.1:{}", "http://0x7f000001:{}/a", "simplecache::{url}"],
)
def test_private_addresses_in_disguise(
    public_server: FileServer, http_server: FileServer, spelling: str
) -> None:
    http_server.contents.update(build(grid(1)))
    uri = spelling.format(http_server.url.rpartition(":")[2], url=http_server.url)
    public_server.contents.update(product(y=uri))
    _dataset, told = opened_with_warnings(xr.open_dataset, public_server.url)
    assert refused(told, uri, PRIVATE)
    assert http_server.requests == []


@pytest.mark.skipif(not HAS_ICECHUNK, reason="needs icechunk")
def test_stores_of_unknown_kind_count_as_public(http_server: FileServer, tmp_path: Path) -> None:
    http_server.contents.update(build(grid(1)))
    near = write_local(build(grid(2)), tmp_path / "grid").as_uri()
    session = icechunk_session(product(y=http_server.url))
    dataset, told = opened_with_warnings(xr.open_dataset, session)
    assert refused(told, http_server.url, PRIVATE)
    check(dataset, {})
    assert http_server.requests == []
    _dataset, told = opened_with_warnings(xr.open_dataset, icechunk_session(product(x=near)))
    assert refused(told, near, LOCAL)
    allowed: Json = {http_server.url: {}, near: {}}
    session = icechunk_session(product(y=http_server.url, x=near))
    dataset = opened(xr.open_dataset, session, cross_store_storage_options=allowed)
    check(dataset, {"y": 1, "x": 2})


def test_public_stores_lead_to_public_ones(public_server: FileServer) -> None:
    public_server.contents.update(below(product(y=f"{public_server.url}/grid"), "product"))
    public_server.contents.update(below(build(grid(1)), "grid"))
    check(opened(xr.open_dataset, f"{public_server.url}/product"), {"y": 1})


@pytest.mark.parametrize("is_named", [False, True], ids=["unnamed", "named"])
def test_redirects_into_a_private_network_are_not_followed(
    public_server: FileServer, http_server: FileServer, *, is_named: bool
) -> None:
    http_server.contents.update(build(grid(1)))
    public_server.contents.update(below(product(y=f"{public_server.url}/grid"), "product"))
    public_server.faults[lambda request: request.path.startswith("/grid/")] = redirect(
        f"{http_server.url}/zarr.json"
    )
    # A prefix allows what it names, which is not what that leads to.
    options: Json = {"cross_store_storage_options": {public_server.url: {}}} if is_named else {}
    dataset, told = opened_with_warnings(xr.open_dataset, f"{public_server.url}/product", **options)
    check(dataset, {})
    assert "127.0.0.1 is no public address" in str(only(told))
    assert http_server.requests == []


def test_a_name_is_judged_again_when_a_connection_is_made(
    public_server: FileServer, http_server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns a name can let it mean something else each time it is looked up."""

    async def public(_host: str) -> places.Network:
        return places.Network.PUBLIC

    monkeypatch.setattr(places, "network_of_host", public)
    http_server.contents.update(build(grid(1)))
    public_server.contents.update(product(y=http_server.url.replace("127.0.0.1", "localhost")))
    dataset, told = opened_with_warnings(xr.open_dataset, public_server.url)
    check(dataset, {})
    only(told)
    assert http_server.requests == []


def test_redirects_of_chunks_into_a_private_network_are_not_followed(
    public_server: FileServer, http_server: FileServer
) -> None:
    http_server.contents.update(build(grid(1)))
    url = f"{public_server.url}/grid"
    public_server.contents.update(below(product(y=url, lon=url), "product"))
    public_server.contents.update(below(build(grid(2)), "grid"))
    public_server.faults["/grid/lon/c/0/0"] = redirect(f"{http_server.url}/lon/c/0/0")
    dataset = opened(xr.open_dataset, f"{public_server.url}/product", chunks={})
    np.testing.assert_array_equal(dataset["y"], [200.0, 201.0])
    for copy in (dataset, pickle.loads(pickle.dumps(dataset))):
        with pytest.raises(Exception, match=r"127\.0\.0\.1"):
            copy["lon"].compute()
    assert http_server.requests == []


@pytest.mark.parametrize("is_allowed", [False, True])
def test_redirects_between_public_servers_are_followed(
    public_server: FileServer, *, is_allowed: bool
) -> None:
    url = f"{public_server.url}/grid"
    public_server.contents.update(below(product(y=url), "product"))
    public_server.contents.update(below(build(grid(1)), "moved"))
    for key in list(below(build(grid(1)), "grid")):
        public_server.faults[f"/{key}"] = redirect(f"/moved/{key.removeprefix('grid/')}")
    options: Json = {"cross_store_storage_options": {url: {}}} if is_allowed else {}
    check(opened(xr.open_dataset, f"{public_server.url}/product", **options), {"y": 1})


@pytest.mark.skipif(not HAS_SYNC_FSSPEC, reason="this zarr opens no archives by fsspec")
def test_every_link_of_a_chain_is_judged(
    public_server: FileServer, http_server: FileServer, tmp_path: Path
) -> None:
    archive = write_zip(build(grid(1)), tmp_path / "grid.zip")
    http_server.contents["grid.zip"] = archive.read_bytes()
    far, near = f"{http_server.url}/grid.zip", archive.as_uri()
    for uri, named, reason in [
        (f"zip::{far}", far, PRIVATE),
        (f"zip::simplecache::{far}", far, PRIVATE),
        (f"zip::{near}", near, LOCAL),
    ]:
        public_server.contents.update(product(y=uri))
        dataset, told = opened_with_warnings(xr.open_dataset, public_server.url)
        check(dataset, {})
        assert refused(told, uri, reason), uri
        assert http_server.requests == []
        dataset = opened(
            xr.open_dataset, public_server.url, cross_store_storage_options={named: {}}
        )
        check(dataset, {"y": 1})
        http_server.reset()
    # A link that stands before another one, which is harmless, is judged as well.
    for uri in (f"{near}::{public_server.url}/a", f"simplecache::{near}::{public_server.url}/a"):
        public_server.contents.update(product(y=uri))
        _dataset, told = opened_with_warnings(xr.open_dataset, public_server.url)
        assert refused(told, uri, LOCAL), uri


@pytest.mark.parametrize("uri", ["github://a:b@main/c", "reference::http://127.0.0.1:1", "x://y"])
def test_kinds_of_places_that_nobody_knows(http_server: FileServer, uri: str) -> None:
    http_server.contents.update(product(y=uri))
    _dataset, told = opened_with_warnings(xr.open_dataset, http_server.url)
    assert UNKNOWN in str(only(told))


@pytest.mark.parametrize(
    "way",
    ["../secret", "allowed/../../secret", "allowed/%2e%2e/%2E%2E/secret", "..%2Fsecret"],
)
def test_a_prefix_allows_nothing_beside_it(
    http_server: FileServer, tmp_path: Path, way: str
) -> None:
    write_local(build(grid(1)), tmp_path / "secret")
    (tmp_path / "open/allowed").mkdir(parents=True)
    prefix = (tmp_path / "open").as_uri()
    http_server.contents.update(product(y=f"{prefix}/{way}"))
    options: Json = {"cross_store_storage_options": {prefix: {}}}
    dataset, told = opened_with_warnings(xr.open_dataset, http_server.url, **options)
    check(dataset, {})
    assert f"store {prefix}/{way} cannot be opened: there is '..' in its path" in str(only(told))


# How long other stores may take.


@patiently
def test_a_store_that_does_not_answer(http_server: FileServer, timeout: float) -> None:
    assert ForeignLimits().timeout == 30
    http_server.faults["*"] = stall()
    with serve_http(build(grid(1))) as other:
        store = memory_store(product(y=http_server.url, x=other.url, lon=http_server.url))
        dataset, told = opened_with_warnings(xr.open_dataset, store, cross_store_timeout=timeout)
        check(dataset, {"x": 1})
    assert "timeout" in str(only(told))


@patiently
def test_a_store_that_does_not_answer_costs_only_what_is_there(
    http_server: FileServer, timeout: float
) -> None:
    """It takes all of its time while another store has more to be read, step by step."""
    http_server.faults["*"] = stall()
    inner = {"x": {"coordinates": [{"values": {"external": {"node": "inner/x"}}}]}}
    with serve_http(build(Group({"inner": grid(1)}, {"crs": {"axes": inner}}))) as other:
        other.faults["/inner/x/zarr.json"] = Fault(delay=timeout / 4)
        there = at(other.url, "/", attribute="/attributes/crs")
        lost = {
            "axes": {"y": {"coordinates": [{"values": {"external": at(http_server.url, "/y")}}]}}
        }
        data = Array(DATA, ("y", "x"), declaring("cs", "ref", cs={"crs": [lost, there]}))
        store = memory_store(build(Group({"v": data})))
        dataset, told = opened_with_warnings(xr.open_dataset, store, cross_store_timeout=timeout)
        check(dataset, {"x": 1})
    assert "timeout" in str(only(told))


@pytest.mark.parametrize("is_late", [False, True])
def test_names_that_are_not_found_or_not_in_time(
    http_server: FileServer, monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    resolve = socket.getaddrinfo
    released = threading.Event()

    def resolving(host: Any, *arguments: Any, **options: Any) -> Any:
        if not str(host).endswith(".invalid"):
            return resolve(host, *arguments, **options)
        if is_late:
            released.wait(timeout=60)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolving)
    url = "http://host.invalid/grid"
    http_server.contents.update(product(y=url, lon=url))
    timeout = 1 if is_late else 60
    dataset, told = opened_with_warnings(
        xr.open_dataset, http_server.url, cross_store_timeout=timeout
    )
    released.set()
    check(dataset, {})
    text = str(only(told))
    assert f"store {url} cannot be opened" in text
    assert ("timeout" if is_late else "unreachable") in text


@pytest.mark.parametrize("timeout", ["1", [1], {}, True, -1, float("nan")])
def test_time_limits_that_cannot_be_used_are_told_at_once(timeout: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="cross_store_timeout"):
        opened(xr.open_dataset, memory_store(product()), cross_store_timeout=timeout)


@patiently
def test_a_deadline_is_over_after_the_open(http_server: FileServer, timeout: float) -> None:
    http_server.reset()
    http_server.contents.update(build(grid(1)))
    store = memory_store(product(lon=http_server.url))
    dataset = opened(xr.open_dataset, store, cross_store_timeout=timeout)
    http_server.faults["/lon/c/0/0"] = Fault(delay=timeout + 0.1)
    check(dataset, {"lon": 1})


# What is never told.


def everything(told: list[XGroupWarning], dataset: xr.Dataset) -> str:
    """Return all text of warnings, their errors and sources."""
    errors = [f"{item.error} {item.error!r} {vars(item.error)}" for item in told if item.error]
    return f"{[str(item) for item in told]} {errors} {sources(dataset)} {dataset!r}"


def test_no_credentials_of_options_are_told(s3_server: S3Server) -> None:
    pytest.importorskip("s3fs")
    uri = s3_server.upload("private", build(grid(1)))
    store = memory_store(product(y=uri, lon=f"{uri}/nothing"))
    wrong = {**s3_server.anonymous, "password": "hidden"}
    for options in (s3_server.options | {"key": "hidden", "secret": "hidden"}, wrong):
        dataset, told = opened_with_warnings(
            xr.open_dataset, store, cross_store_storage_options={uri: options}
        )
        assert told
        assert "hidden" not in everything(told, dataset)


def test_no_credentials_of_refused_stores_are_told(http_server: FileServer) -> None:
    port = http_server.url.rpartition(":")[2]
    uri = "hdfs://user:secret@host/a?token=secret"
    http_server.contents.update(product(y=uri))
    dataset, told = opened_with_warnings(xr.open_dataset, f"http://127.0.0.1:{port}")
    assert "secret" not in everything(told, dataset)
    assert refused(told, "hdfs://host/a", UNKNOWN)


# What is handed out.


@pytest.mark.parametrize("chunks", [None, {}])
def test_pickles_do_not_grow_with_other_stores(http_server: FileServer, chunks: Any) -> None:
    store = memory_store(product(lon=http_server.url))
    sizes = []
    for names in (("lon",), ("lon", *(f"other_{number}" for number in range(100)))):
        http_server.contents = build(grid(1, *names), consolidated=True)
        sizes.append(len(pickle.dumps(opened(xr.open_dataset, store, chunks=chunks))))
    small, large = sizes
    assert large <= small + 8  # as ids and hashes have different lengths


def test_stores_are_closed(http_server: FileServer, closed_stores: list[Any]) -> None:
    http_server.contents.update(build(grid(1)))
    store = memory_store(product(y=http_server.url, lon=http_server.url))
    for function in FUNCTIONS:
        result = opened(function, store)
        assert closed_stores == []
        result.close()
        assert [item.path for item in closed_stores if isinstance(item, FsspecStore)]
        closed_stores.clear()
    with pytest.raises(TypeError, match="decode"):
        opened(xr.open_dataset, store, decode_nothing=True)
