"""Stores that refer to one another over real protocols: requests, credentials, refused references, and limits."""

import gzip
import pickle
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from fsspec.implementations.http import get_client
from zarr.storage import FsspecStore

from zarr_xgroup import XGroupResolutionWarning, XGroupStoreError
from zarr_xgroup._compat import sync
from zarr_xgroup.storage import places, stores
from zarr_xgroup.storage.limits import ForeignLimits
from zarr_xgroup.tests.builders import (
    HAS_ICECHUNK,
    HAS_OBSTORE,
    HAS_SYNC_FSSPEC,
    Array,
    Contents,
    Group,
    Json,
    RecordingStore,
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
    HTTPProxy,
    S3Server,
    is_listing,
    patiently,
    redirect,
    serve_http,
    stall,
)

pytestmark = pytest.mark.server

SHAPE = {"y": 2, "x": 3}
DATA = np.arange(6.0).reshape(2, 3)


# Stores that refer to others.


def at(uri: str, node: str, **more: str) -> Json:
    return {"uri": uri, "node": node, **more}


def grid(number: int = 0, *names: str, **attributes: Any) -> Group:
    """Return a store of coordinates: `y`, `x`, and arrays along both. Those of each number have other values."""
    along_both = {name: Array(DATA + 100 * number, ("y", "x")) for name in names or ("lon",)}
    axes = {d: Array(np.arange(float(n)) + 100 * number, (d,)) for d, n in SHAPE.items()}
    return Group({**axes, **along_both}, attributes)


def axes_at(**references: Json) -> Json:
    """Return the axes of a CRS whose values are stored elsewhere."""
    axes = {
        name: {"coordinates": [{"values": {"external": it}}]} for name, it in references.items()
    }
    return {"axes": axes}


def on_grid(*crs: Json, **others: Json) -> Array:
    return Array(DATA, ("y", "x"), declaring("cs", "ref", cs={"crs": list(crs)}, **others))


def field_of(**uris: str) -> Array:
    """Return an array whose coordinates are in other stores: `y` and `x` by `cs`, others by `ref`."""
    axes = {name: at(uri, f"/{name}") for name, uri in uris.items() if name in SHAPE}
    others = {name: {"ref": at(uri, f"/{name}")} for name, uri in uris.items() if name not in SHAPE}
    return on_grid(*([axes_at(**axes)] if axes else [{"axes": {}}]), **others)


def product(**uris: str) -> Contents:
    """Return a store with an array, and one in a group, whose coordinates are in other stores."""
    root = Group({"v": field_of(**uris), "sub": Group({"w": field_of(**uris)})})
    return build(root, consolidated=True)  # HTTP lists nothing


def referring(**uris: str) -> Any:
    """Return such a store in memory."""
    return memory_store(product(**uris))


def check(dataset: xr.Dataset, numbers: Mapping[str, int], data: str = "v") -> None:
    """Assert that coordinates have the values that `grid` gives them."""
    assert set(dataset.coords) == set(numbers)
    np.testing.assert_array_equal(dataset[data].compute(), DATA)
    for name, number in numbers.items():
        expected = np.arange(float(SHAPE[name])) if name in SHAPE else DATA
        np.testing.assert_array_equal(dataset[name].compute(), expected + 100 * number, name)


def lost(store: Any, *texts: str, **options: Any) -> str:
    """Assert that no other store is read: one warning says each text. Return its text."""
    dataset, told = opened_with_warnings(xr.open_dataset, store, **options)
    check(dataset, {})
    (warning,) = told
    assert isinstance(warning, XGroupResolutionWarning)
    assert isinstance(warning.error, XGroupStoreError)
    assert all(text in str(warning) for text in texts), warning
    return f"{warning} {warning.error!r} {vars(warning.error)} {dataset!r}"


# Where stores are put.

#: Puts a store of some name where a protocol reaches it: what opens it, with which options, and the URI by which
#: others refer to it.
Put = Callable[[str, Contents, str], tuple[Any, Json, str]]


@pytest.fixture
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Put:
    """Return what puts stores; servers are started when they are asked for."""

    def put_it(kind: str, contents: Contents, name: str) -> tuple[Any, Json, str]:
        if kind == "file":
            path = write_local(contents, tmp_path / name)
            return path, {}, path.as_uri()
        if kind == "memory":
            request.getfixturevalue("fsspec_memory")
            uri = write_fsspec_memory(contents, name)
            return uri, {}, uri
        if kind == "http":
            http: FileServer = request.getfixturevalue("http_server")
            http.contents.update(below(contents, name))
            return f"{http.url}/{name}", {}, f"{http.url}/{name}"
        pytest.importorskip("gcsfs" if kind == "gcs" else "s3fs")
        server = request.getfixturevalue("gcs_server" if kind == "gcs" else "s3_server")
        uri = server.upload(name, contents)
        if kind == "obstore":
            storage: Any = zarr.storage  # of which older versions have no ObjectStore
            return storage.ObjectStore(server.object_store(name), read_only=True), {}, uri
        return uri, {"storage_options": server.options}, uri

    return put_it


REFERRED = ("file", "http", "s3", "gcs", *(["memory"] if HAS_SYNC_FSSPEC else []))
OBSTORE = pytest.param(
    "obstore", marks=pytest.mark.skipif(not HAS_OBSTORE, reason="zarr has no ObjectStore")
)


@pytest.mark.parametrize("kind", ["http", OBSTORE])
def test_coordinates_over_all_protocols_at_once(put: Put, kind: str) -> None:
    others = {
        other: put(other, build(grid(number, other), consolidated=number % 2 == 0), f"grid-{other}")
        for number, other in enumerate(REFERRED)
    }
    uris = {name: uri for name, (_store, _access, uri) in others.items()}
    numbers = {name: number for number, name in enumerate(REFERRED)}
    numbers.update(y=numbers["s3"], x=numbers["http"])
    store, access, _uri = put(kind, product(**uris, y=uris["s3"], x=uris["http"]), "product")
    options: Json = {
        "cross_store_storage_options": {
            uri: it.get("storage_options", {}) for _, it, uri in others.values()
        },
        "chunks": {} if kind == "http" else None,
        **access,
    }
    with opened(xr.open_datatree, store, **options) as tree:
        dataset = tree.to_dataset()
        check(dataset, numbers)
        check(tree["sub"].to_dataset(), numbers, "w")
        for name, variable in dataset.coords.items():
            uri = uris[{"y": "s3", "x": "http"}.get(str(name), str(name))].removeprefix("file://")
            assert variable.encoding["source"].removeprefix("file://") == f"{uri}/{name}"
        assert all((dataset[name].chunks is None) == (kind != "http") for name in REFERRED)


@pytest.mark.parametrize(("kind", "consolidated"), [("http", False), ("s3", True), ("gcs", True)])
def test_foreign_stores_need_no_listing_and_are_read_once(
    request: pytest.FixtureRequest, put: Put, kind: str, *, consolidated: bool
) -> None:
    zarr_format: Any = 2 if kind == "s3" else 3
    contents = build(grid(1), zarr_format, consolidated=consolidated)
    _store, access, uri = put(kind, contents, "grid")
    server = request.getfixturevalue(f"{kind}_server")
    server.reset()
    server.faults[is_listing] = Fault(403)
    store = referring(y=uri, x=uri, lon=uri)
    options: Json = {"cross_store_storage_options": {uri: access.get("storage_options", {})}}
    dataset = opened(xr.open_datatree, store, **options).to_dataset().load()
    check(dataset, {"y": 1, "x": 1, "lon": 1})
    # When S3 has no object of a name, s3fs itself asks whether it has a folder of it.
    assert kind == "s3" or not any(is_listing(item) for item in server.requests)
    asked = Counter(path for path in server.paths("GET") if path.strip("/") != "grid")
    assert set(asked.values()) == {1}
    documents = [path for path in asked if "/y/" in path and "/y/c/0" not in path]
    assert any(path.endswith(("/zarr.json", "/.zarray")) for path in documents) != consolidated


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


def test_stores_that_refer_to_each_other(http_server: FileServer) -> None:
    urls = [f"{http_server.url}/{name}" for name in "ab"]
    for name, other in zip("ab", reversed(urls), strict=True):
        attributes = {"crs": {"ref": at(other, "/", attribute="/attributes/crs")}}
        http_server.contents.update(below(build(Group({}, attributes)), name))
    data = on_grid({"ref": at(urls[0], "/", attribute="/attributes/crs")})
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group({"v": data}))))
    assert len(told) == 1
    check(dataset, {})
    counts = Counter(http_server.paths())
    assert (counts["/a/zarr.json"], counts["/b/zarr.json"]) == (1, 1)


@pytest.mark.parametrize(
    ("kind", "is_store"), [("file", True), ("http", False), ("s3", True), ("gcs", False)]
)
def test_a_uri_inside_the_opened_store_is_the_same_store(
    put: Put, kind: str, *, is_store: bool
) -> None:
    _store, _access, uri = put(kind, {}, "product")
    data = field_of(y=f"{uri}/inner", lon=uri, lat=f"{uri}//inner/")
    inner = Group({"y": Array(np.arange(2.0), ("y",)), "lat": Array(DATA, ("y", "x"))})
    root = Group({"v": data, "lon": Array(DATA, ("y", "x")), "inner": inner})
    store, access, _uri = put(kind, build(root, consolidated=True), "product")
    if is_store:
        store, access = zarr.open_group(store, mode="r", **access).store, {}
        store = RecordingStore(store) if kind == "file" else store
    dataset = opened(xr.open_dataset, store, **access)
    check(dataset, {"y": 0, "lon": 0, "lat": 0})
    assert dataset["lat"].encoding["source"].endswith("/inner/lat")


# Whose credentials are sent to whom.


def credentials(server: FileServer | S3Server | GCSServer, prefix: str) -> set[str | None]:
    """Return what requests below a path have in `Authorization`."""
    found = [item for item in server.requests if item.path.startswith(prefix)]
    assert found
    return {item.headers["Authorization"] for item in found}


def with_token(token: str) -> Json:
    return {"client_kwargs": {"headers": {"Authorization": token}}}


def test_options_of_the_opened_store_are_not_passed_to_others(http_server: FileServer) -> None:
    url = http_server.url
    data = field_of(y=f"{url}/grid", x=f"{url}/product-2", lon=f"{url}/product/inner")
    inner = Group({"lon": Array(DATA + 200, ("y", "x"))})
    contents = build(Group({"v": data, "inner": inner}), consolidated=True)
    http_server.contents.update(below(contents, "product"))
    for number, name in enumerate(("grid", "product-2")):
        http_server.contents.update(below(build(grid(number)), name))
    dataset = opened(xr.open_dataset, f"{url}/product", storage_options=with_token("mine"))
    check(dataset, {"y": 0, "x": 1, "lon": 2})
    assert credentials(http_server, "/grid/") == {None}
    assert credentials(http_server, "/product-2/") == {None}
    assert credentials(http_server, "/product/") == {"mine"}


def test_public_data_opens_anonymously_without_credentials(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("s3fs")
    uri = s3_server.upload("open", build(grid(1)), public=True)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, "/none")
    options = {"client_kwargs": s3_server.options["client_kwargs"]}
    with pytest.raises(
        XGroupStoreError, match=r"for public data use storage_options=\{'anon': True\}"
    ):
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


def test_s3_without_options_is_anonymous(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the environment has credentials, which options for a store may ask for."""
    s3fs: Any = pytest.importorskip("s3fs")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.secret)
    monkeypatch.setenv("AWS_DEFAULT_REGION", s3_server.region)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.url)
    public = s3_server.upload("public", build(grid(1)), public=True)
    private = s3_server.upload("private", build(grid(2)))
    with _new_instances(s3fs.S3FileSystem, "_s3"):
        check(opened(xr.open_dataset, referring(y=public, lon=public)), {"y": 1, "lon": 1})
        lost(referring(y=private), "no permission")
        assert credentials(s3_server, "/public/") == credentials(s3_server, "/private/") == {None}
        s3_server.reset()
        options: Json = {"cross_store_storage_options": {private: {}}}
        check(opened(xr.open_dataset, referring(y=private), **options), {"y": 2})
        assert None not in credentials(s3_server, "/private/")
    options["cross_store_storage_options"][private] = s3_server.options | {"secret": "hidden"}
    assert "hidden" not in lost(referring(y=f"{private}/nothing"), **options)


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
        store = referring(y=uri, lon=uri.replace("gs://", "gcs://"))
        check(opened(xr.open_dataset, store), {"y": 1, "lon": 1})
    assert tokens == ["anon"]
    assert credentials(gcs_server, "/") == {None}


# What is followed.

LOCAL = "a remote store must not refer to local files"
PRIVATE = "a public store must not refer to a private network"
UNKNOWN = "a remote store must not refer to a location with an unknown scheme"


def refused(store: Any, uri: str, reason: str, **options: Any) -> str:
    """Assert that a store leads to no other one for a reason."""
    text = lost(store, f"store {uri} was not opened: {reason}", **options)
    assert f"'store': {uri!r}" in text
    return text


def allowed(store: Any, prefix: str, number: int = 1, **options: Any) -> None:
    """Assert that a prefix allows that a store leads to another one."""
    options["cross_store_storage_options"] = {prefix: {}}
    check(opened(xr.open_dataset, store, **options), {"y": number})


@pytest.mark.parametrize("scheme", ["FILE", "local"])
def test_remote_stores_cannot_refer_to_local_files(
    http_server: FileServer, tmp_path: Path, scheme: str
) -> None:
    path = write_local(build(grid(1)), tmp_path / "grid")
    uri = path.as_uri().replace("file", scheme)
    http_server.contents.update(product(y=uri))
    others: Json = {f"{path}-2": {}, f"{path}/y": {}, "http://": {}}
    for options in ({}, {"cross_store_storage_options": others}):
        refused(http_server.url, uri, LOCAL, **options)
    if scheme != "local" or HAS_SYNC_FSSPEC:
        for prefix in (str(path), "file://", uri):
            allowed(http_server.url, prefix)


@pytest.mark.parametrize("kind", ["s3", "gcs", OBSTORE])
def test_no_protocol_can_refer_to_local_files(put: Put, kind: str, tmp_path: Path) -> None:
    uri = write_local(build(grid(1)), tmp_path / "grid").as_uri()
    store, access, _uri = put(kind, product(y=uri), "product")
    refused(store, uri, LOCAL, **access)
    allowed(store, uri, **access)


@pytest.mark.skipif(not HAS_SYNC_FSSPEC, reason="this zarr opens no URLs of memory")
@pytest.mark.usefixtures("fsspec_memory")
def test_remote_stores_cannot_refer_to_memory(http_server: FileServer) -> None:
    uri = write_fsspec_memory(build(grid(1)), "grid")
    http_server.contents.update(product(y=uri))
    refused(http_server.url, uri, LOCAL)
    allowed(http_server.url, uri)


@pytest.mark.parametrize("kind", ["http", "s3"])
def test_private_stores_can_refer_to_private_ones(
    put: Put, kind: str, serve: Callable[[Contents], str]
) -> None:
    store, access, _uri = put(kind, product(y=serve(build(grid(1)))), "product")
    check(opened(xr.open_dataset, store, **access), {"y": 1})


def test_local_stores_can_refer_to_any_store(http_server: FileServer, tmp_path: Path) -> None:
    http_server.contents.update(build(grid(1)))
    near = write_local(build(grid(2)), tmp_path / "grid").as_uri()
    contents = product(y=http_server.url, x=near)
    for place in (
        write_local(contents, tmp_path / "product"),
        write_zip(contents, tmp_path / "product.zip"),
        RecordingStore(memory_store(contents)),
    ):
        check(opened(xr.open_dataset, place), {"y": 1, "x": 2})


def test_indirect_references_are_refused_too(public_server: FileServer, tmp_path: Path) -> None:
    """Each store is judged by itself: a local one may lead to one that may not lead back."""
    near = write_local(build(grid(1)), tmp_path / "grid").as_uri()
    public_server.contents.update(build(Group({}, {"crs": axes_at(y=at(near, "/y"))})))
    data = on_grid(at(public_server.url, "/", attribute="/attributes/crs"))
    refused(write_local(build(Group({"v": data})), tmp_path / "product"), near, LOCAL)


def test_public_stores_can_refer_to_public_ones(
    public_server: FileServer, other_public_server: FileServer
) -> None:
    for number, server in enumerate((public_server, other_public_server)):
        server.contents.update(below(build(grid(number)), "grid"))
    far, near = f"{other_public_server.url}/grid", f"{public_server.url}/grid"
    public_server.contents.update(below(product(y=far, x=near), "product"))
    check(opened(xr.open_dataset, f"{public_server.url}/product"), {"y": 1, "x": 0})


def test_public_stores_cannot_refer_to_private_ones(
    public_server: FileServer, http_server: FileServer
) -> None:
    http_server.contents.update(build(grid(1)))
    url = http_server.url.replace("127.0.0.1", "localhost")
    public_server.contents.update(product(y=url))
    refused(public_server.url, url, PRIVATE)
    assert http_server.requests == []
    allowed(public_server.url, url)


def test_private_addresses_in_disguise(public_server: FileServer, http_server: FileServer) -> None:
    url, port = http_server.url, http_server.url.rpartition(":")[2]
    spelled = (
        url,
        f"http://2130706433:{port}",
        f"HTTP://127.1:{port}",
        f"http://0x7f000001:{port}/a",
    )
    for uri in (*spelled, f"simplecache::{url}"):
        public_server.contents.update(product(y=uri))
        refused(public_server.url, uri, PRIVATE)
        assert http_server.requests == []


@pytest.mark.skipif(not HAS_ICECHUNK, reason="needs icechunk")
def test_stores_of_unknown_kind_are_treated_as_public(
    http_server: FileServer, tmp_path: Path
) -> None:
    http_server.contents.update(build(grid(1)))
    near = write_local(build(grid(2)), tmp_path / "grid").as_uri()
    for uri, reason, number in ((http_server.url, PRIVATE, 1), (near, LOCAL, 2)):
        refused(icechunk_session(product(y=uri)), uri, reason)
        assert http_server.requests == []
        allowed(icechunk_session(product(y=uri)), uri, number)
        http_server.reset()


def test_redirects_into_a_private_network_are_not_followed(
    public_server: FileServer, http_server: FileServer
) -> None:
    http_server.contents.update(build(grid(1)))
    public_server.contents.update(below(product(y=f"{public_server.url}/grid"), "product"))
    public_server.faults[lambda request: request.path.startswith("/grid/")] = redirect(
        f"{http_server.url}/zarr.json"
    )
    text = "127.0.0.1 is not a public address"
    lost(f"{public_server.url}/product", text)
    options: Json = {"cross_store_storage_options": {public_server.url: {}}}
    lost(f"{public_server.url}/product", text, **options)  # not what that leads to
    assert http_server.requests == []


def test_redirects_of_chunks_into_a_private_network_are_not_followed(
    public_server: FileServer, http_server: FileServer
) -> None:
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


NOT_PUBLIC = (
    "127.0.0.1 is not a public address, and the server is public (to allow it, use the storage option "
    "get_client=fsspec.implementations.http.get_client)"
)


@pytest.mark.parametrize("key", ["zarr.json", "x/c/0", "v/c/0/0"])
@pytest.mark.parametrize("form", ["{}", "simplecache::{}"])
def test_an_opened_public_store_leads_into_no_private_network(
    public_server: FileServer, http_server: FileServer, form: str, key: str
) -> None:
    """Neither its documents nor its values, also in a different process."""
    if form != "{}" and not HAS_SYNC_FSSPEC:
        pytest.skip("this zarr opens no caches")
    contents = build(grid(1, "v"), consolidated=True)
    http_server.contents.update(contents)
    public_server.contents.update(contents)
    public_server.faults[f"/{key}"] = redirect(f"{http_server.url}/{key}")
    if key.startswith("v/"):
        dataset = opened(xr.open_dataset, form.format(public_server.url), chunks={})
        for copy in (dataset, pickle.loads(pickle.dumps(dataset))):
            with pytest.raises(OSError, match=r"127\.0\.0\.1 is not a public address"):
                copy["v"].compute()
    else:
        with pytest.raises(XGroupStoreError, match=re.escape(NOT_PUBLIC)):
            xr.open_dataset(form.format(public_server.url), engine="xgroup")
    assert http_server.requests == []
    options = {"get_client": get_client}
    options = options if form == "{}" else {"http": options}
    dataset = opened(xr.open_dataset, form.format(public_server.url), storage_options=options)
    np.testing.assert_array_equal(dataset["v"], DATA + 100)


def test_an_opened_store_can_be_redirected_between_servers(
    public_server: FileServer, other_public_server: FileServer, http_server: FileServer
) -> None:
    """A public store to a public server; a store in a private network to any server, and it is still read."""
    contents = build(grid(1), consolidated=True)
    other_public_server.contents.update(contents)
    for server in (public_server, http_server):
        server.contents.update(contents)
        server.faults["/x/c/0"] = redirect(f"{other_public_server.url}/x/c/0")
        dataset = opened(xr.open_dataset, server.url)
        np.testing.assert_array_equal(dataset["x"], np.arange(3.0) + 100)
        np.testing.assert_array_equal(dataset["lon"], DATA + 100)
    # The public server cannot make the client of the private store connect to a third server.
    with serve_http(contents) as third:
        other_public_server.faults["/x/c/0"] = redirect(
            f"{third.url}/x/c/0".replace(".0.1:", ".0.4:")
        )
        with pytest.raises(XGroupStoreError, match=r"127\.0\.0\.4 is not a public address"):
            xr.open_dataset(http_server.url, engine="xgroup")
        assert third.requests == []


def test_a_public_store_behind_a_proxy(
    public_server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client connects only to the proxy, which may be in a private network."""
    public_server.contents.update(build(grid(1), consolidated=True))
    with HTTPProxy() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        options = {"client_kwargs": {"trust_env": True}}
        dataset = opened(xr.open_dataset, public_server.url, storage_options=options)
        np.testing.assert_array_equal(dataset["lon"], DATA + 100)
        assert len(proxy.requests) == len(public_server.requests) > 0


def test_a_host_name_is_checked_again_on_connection(
    public_server: FileServer, http_server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns a name can let it mean something else each time it is looked up."""

    async def public(_host: str) -> places.Network:
        return places.Network.PUBLIC

    monkeypatch.setattr(places, "network_of_host", public)
    public_server.contents.update(product(y=http_server.url.replace("127.0.0.1", "localhost")))
    lost(public_server.url)
    assert http_server.requests == []


def test_redirects_between_public_servers_are_followed(public_server: FileServer) -> None:
    url = f"{public_server.url}/grid"
    contents = build(grid(1))
    public_server.contents.update(below(product(y=url), "product") | below(contents, "moved"))
    for key in contents:
        public_server.faults[f"/grid/{key}"] = redirect(f"/moved/{key}")
    check(opened(xr.open_dataset, f"{public_server.url}/product"), {"y": 1})
    allowed(f"{public_server.url}/product", url)


@pytest.mark.skipif(not HAS_SYNC_FSSPEC, reason="this zarr opens no archives by fsspec")
def test_every_link_of_a_chain_is_checked(
    public_server: FileServer, http_server: FileServer, tmp_path: Path
) -> None:
    archive = write_zip(build(grid(1)), tmp_path / "grid.zip")
    http_server.contents["grid.zip"] = archive.read_bytes()
    far, near = f"{http_server.url}/grid.zip", archive.as_uri()
    for uri, named, reason in [
        (f"zip::simplecache::{far}", far, PRIVATE),
        (f"zip::{near}", near, LOCAL),
        # A link that stands before another one, which is harmless, is judged as well.
        (f"simplecache::{near}::{public_server.url}/a", "", LOCAL),
    ]:
        public_server.contents.update(product(y=uri))
        refused(public_server.url, uri, reason)
        assert http_server.requests == []
        if named:
            allowed(public_server.url, named)
        http_server.reset()


def test_unknown_protocols(http_server: FileServer) -> None:
    for uri in ("hdfs://user:secret@host/a?token=secret", "reference::http://127.0.0.1:1", "x://y"):
        http_server.contents.update(product(y=uri))
        assert "secret" not in lost(http_server.url, UNKNOWN)


def test_a_prefix_does_not_allow_its_siblings(http_server: FileServer, tmp_path: Path) -> None:
    write_local(build(grid(1)), tmp_path / "secret")
    (tmp_path / "open/allowed").mkdir(parents=True)
    prefix = (tmp_path / "open").as_uri()
    options: Json = {"cross_store_storage_options": {prefix: {}}}
    for way in ("allowed/../../secret", "allowed/%2e%2e/%2E%2E/secret", "..%2Fsecret"):
        uri = f"{prefix}/{way}"
        http_server.contents.update(product(y=uri))
        lost(http_server.url, f"store {uri} cannot be opened: there is '..' in its path", **options)


# How long other stores may take.


@patiently
def test_a_store_that_does_not_answer(http_server: FileServer, timeout: float) -> None:
    """It takes all of its time, while another store has more to be read, step by step."""
    http_server.faults["*"] = stall()
    inner = axes_at(x={"node": "inner/x"})
    with serve_http(build(Group({"inner": grid(1)}, {"crs": inner}))) as other:
        other.faults["/inner/x/zarr.json"] = Fault(delay=timeout / 4)
        there = at(other.url, "/", attribute="/attributes/crs")
        data = on_grid(axes_at(y=at(http_server.url, "/y")), there)
        store = memory_store(build(Group({"v": data})))
        dataset, told = opened_with_warnings(xr.open_dataset, store, cross_store_timeout=timeout)
        check(dataset, {"x": 1})
    assert "timeout" in str(*told)


def test_an_unknown_host_is_reported(
    http_server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolving(host: Any, *arguments: Any, **options: Any) -> Any:
        if not str(host).endswith(".invalid"):
            return resolve(host, *arguments, **options)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", resolving)
    url = "http://host.invalid/grid"
    http_server.contents.update(product(y=url, lon=url))
    lost(http_server.url, f"store {url} cannot be opened: unreachable")
    options: Json = {"cross_store_storage_options": {url: {}}}  # as a proxy may know the name
    lost(http_server.url, f"store {url} cannot be opened", "unreachable", **options)


# How much is read of other stores.

#: A part of a body that has no end.
PART = b" " * 2**16
#: What sockets may hold of what nobody reads.
IN_FLIGHT = 2**24


@pytest.mark.parametrize(("key", "is_read"), [("/y/zarr.json", True), ("/.zmetadata", False)])
def test_a_document_without_an_end(http_server: FileServer, key: str, is_read: bool) -> None:
    http_server.contents.update(build(grid(1)))
    http_server.faults[key] = Fault(body=PART, endless=True)
    store = referring(y=http_server.url)
    if is_read:
        text = "it is larger than 1000000 bytes, the limit of cross_store_max_bytes"
        lost(store, text, cross_store_max_bytes=10**6)
    else:  # of another format than the store
        opened(xr.open_dataset, store, cross_store_max_bytes=10**6)
    assert http_server.endless_bytes < 10**6 + IN_FLIGHT


def test_a_chunk_without_an_end(http_server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MOST_STORED_BYTES", 10**6)
    http_server.contents.update(build(grid(1)))
    http_server.faults["/y/c/0"] = Fault(body=PART, endless=True)
    lost(referring(y=http_server.url), "it is larger than 1000000 bytes")
    assert http_server.endless_bytes < 10**6 + IN_FLIGHT


def test_documents_with_a_declared_length_or_compressed(
    http_server: FileServer, tmp_path: Path
) -> None:
    long = build(grid(1, note="x" * 10**7))
    http_server.contents.update(below(build(grid(1)), "a") | below(long, "long"))
    body = gzip.compress(bytes(10**7))
    http_server.faults["/a/zarr.json"] = Fault(body=body, headers={"Content-Encoding": "gzip"})
    archive = write_zip(long, tmp_path / "grid.zip").as_uri()
    for uri in (f"{http_server.url}/a", f"{http_server.url}/long", archive):
        lost(referring(y=uri), "larger than 100000 bytes", cross_store_max_bytes=100_000)


def test_a_document_may_have_exactly_the_largest_size(tmp_path: Path) -> None:
    contents = build(grid(1))
    most = max(len(contents[key]) for key in ("zarr.json", "y/zarr.json"))
    folder = write_local(contents, tmp_path / "grid.zarr")
    store = referring(y=folder.as_uri())
    check(opened(xr.open_dataset, store, cross_store_max_bytes=most), {"y": 1})
    lost(store, f"larger than {most - 1} bytes", cross_store_max_bytes=most - 1)
    with (folder / "y" / "zarr.json").open("ab") as file:
        file.truncate(2**40)  # of which nothing is on the disk
    lost(store, "larger than 33554432 bytes")


@patiently
def test_limits_do_not_apply_to_chunks(http_server: FileServer, timeout: float) -> None:
    values = np.arange(1000.0)
    http_server.contents.update(build(Group({"lon": Array(values, ("x",))}), consolidated=True))
    attributes = declaring("ref", there={"lon": at(http_server.url, "/lon")})
    store = memory_store(build(Group({"v": Array(values, ("x",), attributes)})))
    limits = {"cross_store_max_bytes": 3000, "cross_store_timeout": timeout}
    dataset = opened(xr.open_dataset, store, **limits)
    http_server.faults["/lon/c/0"] = Fault(delay=timeout + 0.1)
    for copy in (dataset, pickle.loads(pickle.dumps(dataset))):
        assert copy["lon"].values.tolist() == values.tolist()


@pytest.mark.parametrize("most", [3, None])
def test_the_number_of_foreign_stores_is_limited(http_server: FileServer, most: int | None) -> None:
    contents = build(grid(1))
    for n in range(5):
        http_server.contents.update(below(contents, f"{n}"))
    arrays = {f"v{n}": field_of(y=f"{http_server.url}/{n}") for n in range(5)}
    groups = {name: Group({"v": array}) for name, array in arrays.items()}
    store = memory_store(build(Group(groups)))
    tree, told = opened_with_warnings(xr.open_datatree, store, cross_store_max_stores=most)
    followed = most or 5
    assert {path.split("/")[1] for path in http_server.paths()} == set("01234"[:followed])
    assert [path for path, node in tree.children.items() if "y" in node.coords] == [
        f"v{n}" for n in range(followed)
    ]
    assert [warning.paths for warning in told] == ([("/v3/v", "/v4/v")] if most == 3 else [])
    assert all("allows references to at most 3 other stores" in str(it) for it in told)


@pytest.mark.parametrize(
    ("option", "text", "invalid"),
    [
        ("cross_store_timeout", "a positive number of seconds", [0]),
        ("cross_store_max_bytes", "an integer of at least 1", [0, 1.5]),
        ("cross_store_max_stores", "an integer of at least 0", [1.5]),
    ],
)
def test_invalid_limits_are_refused_at_once(option: str, text: str, invalid: list[Any]) -> None:
    for value in (*invalid, "1", [1], True, -1, float("nan")):
        with pytest.raises((TypeError, ValueError), match=f"^{option} must be {text} or None"):
            xr.open_dataset(memory_store({}), engine="xgroup", **{option: value})  # type: ignore[arg-type]


def test_the_default_limits() -> None:
    assert ForeignLimits() == ForeignLimits(30.0, 2**25, 100)


# What is handed out.


def test_stores_that_were_opened_are_closed(
    http_server: FileServer, closed_stores: list[Any]
) -> None:
    http_server.contents.update(build(grid(1)))
    store = referring(y=http_server.url, lon=http_server.url)
    for function in (xr.open_dataset, xr.open_datatree):
        result = opened(function, store)
        assert closed_stores == []
        result.close()
        assert [item.path for item in closed_stores if isinstance(item, FsspecStore)]
        closed_stores.clear()
