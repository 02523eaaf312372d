"""Places named by URIs, the options for them, and the networks from which they can be reached."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
import xarray as xr
from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore, MemoryStore

import zarr_xgroup
from zarr_xgroup import XGroupPathError
from zarr_xgroup.storage.foreign import _network_of
from zarr_xgroup.storage.handles import handle_of
from zarr_xgroup.storage.places import (
    Location,
    Network,
    is_absolute,
    is_public,
    leads_upwards,
    links_of,
    network_of_host,
    network_of_link,
    options_by_place,
    options_of,
    place_of,
    places_of,
)
from zarr_xgroup.tests.builders import (
    HAS_OBSTORE,
    HAS_SYNC_FSSPEC,
    Group,
    Nodes,
    RecordingStore,
    build,
    declaring,
    obstore_store,
    stored,
    write_local,
    write_zip,
)

# Links.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket//a/./b//", Location("s3", "bucket", ("a", "b"))),
        ("S3A://Bucket/A", Location("s3", "bucket", ("A",))),
        ("gcs://bucket/a", Location("gs", "bucket", ("a",))),
        ("HTTP://Example.ORG:80/A", Location("http", "example.org", ("A",))),
        ("http://example.org:/a", Location("http", "example.org", ("a",))),
        ("https://example.org:443", Location("https", "example.org", ())),
        ("http://example.org:443/a", Location("http", "example.org:443", ("a",))),
        ("http://[::1]:80/a", Location("http", "[::1]", ("a",))),
        ("http://user:secret@host@example.org/a", Location("http", "example.org", ("a",))),
        ("http://example.org/a?b=/c#d", Location("http", "example.org", ("a",))),
        ("http://example.org/%C3%A9", Location("http", "example.org", ("\u00e9",))),
        ("http://example.org/a%2Fb/%2E%2E", Location("http", "example.org", ("a/b", ".."))),
        ("FILE:///a%20b?c#d", Location("file", "", ("a b?c#d",))),
        ("/a b/c/", Location("file", "", ("a b", "c"))),
        ("memory://A/b", Location("memory", "A", ("b",))),
        ("ZIP", Location("zip", "", ())),
    ],
)
def test_a_link_is_a_place(text: str, expected: Location) -> None:
    assert Location.parse(text) == expected


@pytest.mark.parametrize(
    ("place", "inside", "outside"),
    [
        ("s3://bucket/", "s3://bucket s3a://BUCKET/a/b", "s3://bucket-2/a gs://bucket"),
        ("s3://bucket/a/", "s3://bucket//a/b", "s3://bucket s3://bucket/a.zarr s3://bucket/A"),
        ("gs://bucket", "gcs://bucket/a", "s3://bucket"),
        (
            "http://user:secret@example.org",
            "HTTP://EXAMPLE.org:80/a",
            "https://example.org/a http://example.org.evil.net/a http://example.org@evil.net/a",
        ),
        (
            "http://example.org:8080/a b",
            "http://example.org:8080/a%20b/c",
            "http://example.org/a b",
        ),
        ("http://example.org/a", "http://example.org/a/b", "http://example.org/a%2Fb"),
        ("s3://", "s3://bucket/a", "gs://bucket/a"),
        ("/a", "/a file:///a/b", "/ab"),
        ("zip://", "zip", "tar"),
    ],
)
def test_a_place_contains_its_descendants(place: str, inside: str, outside: str) -> None:
    for others, expected in ((inside, True), (outside, False)):
        for other in others.split():
            assert Location.parse(place).contains(Location.parse(other)) is expected, other


def test_an_absolute_uri_has_a_scheme_and_a_place() -> None:
    assert all(map(is_absolute, ("s3://bucket", "file:///a", "svn+ssh://a")))
    assert not any(
        map(is_absolute, ("bucket/a", "/a", "//host/a", "mailto:a@b", "s3:/a", "3s://a", ""))
    )


@pytest.mark.parametrize(
    ("uri", "place", "read_from"),
    [
        ("s3://bucket/a", "s3://bucket/a", "s3"),
        ("filecache::blockcache::s3://bucket/a", "s3://bucket/a", "s3"),
        ("zip::s3://bucket/a.zip", "s3://bucket/a.zip", "s3"),
        ("zip://a/b::simplecache::s3://bucket/a", "s3://bucket/a/a/b", "s3"),
        ("zip://a?b#c::file:///a", "file:///a/a?b#c", "file"),
        ("tar::zip://a::filecache::file:///a", None, "file"),
        ("reference::s3://bucket", None, "reference s3"),
        ("file:///a::s3://bucket", None, "file s3"),
        ("zip", "zip", "zip"),
        ("simplecache", None, "simplecache"),
    ],
)
def test_caches_and_archives_only_show_what_the_next_link_of_a_chain_has(
    uri: str, place: str | None, read_from: str
) -> None:
    links = links_of(uri)
    assert links == tuple(map(Location.parse, uri.split("::")))
    assert place_of(uri) == (None if place is None else Location.parse(place))
    assert [link.scheme for link in places_of(links)] == read_from.split()


def test_parent_segments_in_any_encoding() -> None:
    assert not leads_upwards(links_of("file:///a/..b/c.."))
    for uri in (
        *("file:///a/../b", "file:///a/%2e%2E/b", "file:///a/b/..", "file:///a%2F..%2Fb"),
        *("http://h/a/..%2fb", "http://h/a/%252e%252e/b", "http://h/%2525252e%2525252e/b"),
        *("http://h/a/..%5Cb", "zip://../a::s3://b/a.zip", "zip://a::s3://b/../a.zip"),
    ):
        assert leads_upwards(links_of(uri)), uri


# Options by prefix.

S3, BUCKET, DEEP, ALL = ({"n": number} for number in range(4))


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://bucket/a", BUCKET),
        ("S3A://BUCKET//deep/er", DEEP),
        ("s3://bucket/deeper", BUCKET),
        ("s3://bucket-2/deep", S3),
        ("gs://bucket/deep", None),
        ("https://user:secret@EXAMPLE.org:443/a?b", ALL),
        ("https://example.org.net/a", None),
        ("file:///data/a", {}),
        ("file:///data%20/a", None),
        ("file:///", None),
    ],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_the_longest_prefix_decides(
    uri: str, expected: dict[str, Any] | None, is_reversed: bool
) -> None:
    given: dict[str, Any] = {
        "s3://": S3,
        "s3://bucket/": BUCKET,
        "s3://Bucket/deep": DEEP,
        "https://Example.org": ALL,
        "/data": {},
    }
    ordered = dict(reversed(given.items())) if is_reversed else given
    assert options_of(Location.parse(uri), options_by_place(ordered)) == expected


def test_the_first_of_two_equal_prefixes_is_used() -> None:
    by_place = options_by_place({"s3://a": S3, "s3://A/": BUCKET})
    assert options_of(Location.parse("s3://a/b"), by_place) == S3


def test_options_of_the_wrong_type() -> None:
    wrong: list[Any] = ["s3://bucket", [("s3://bucket", {})], True, {"s3://bucket": None}, {1: {}}]
    for options in wrong:
        text = "^cross_store_storage_options must map URI prefixes to dicts of storage options, got"
        with pytest.raises(TypeError, match=f"{text} {type(options).__name__}$"):
            options_by_place(options)


def test_prefixes_that_begin_no_uri() -> None:
    for prefix in ("", "bucket/a", "s3:", "s3:/bucket", "zip::", "../a"):
        text = f"^cross_store_storage_options: '{prefix}' is not the beginning of a URI$"
        with pytest.raises(XGroupPathError, match=text):
            options_by_place({prefix: {}})


# Networks.


def test_addresses_of_the_internet() -> None:
    assert all(map(is_public, ("8.8.8.8", "192.0.1.1", "172.32.0.1", "2001:4860:4860::8888")))
    assert all(map(is_public, ("::ffff:8.8.8.8", "64:ff9b::808:808")))


OTHERS = (
    *("127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
    *("0.0.0.0", "::", "::ffff:0:0"),
    *("169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1%eth0"),
    *("10.0.0.1", "172.16.0.1", "192.168.1.1", "::ffff:10.0.0.1", "64:ff9b::a00:1"),
    *("100.64.0.1", "fc00::1", "fd00:ec2::254", "2002:c0a8:101::", "64:ff9b:1::a00:1"),
    *("224.0.0.1", "255.255.255.255", "ff02::1", "192.0.2.1", "2001:db8::1", "240.0.0.1"),
    # IPv4 in other spellings: "compatible", "translated", Teredo, 6to4.
    *("::127.0.0.1", "::8.8.8.8", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"),
    *("2001:0:7f00:1::1", "2002:a9fe:a9fe::", "2002:808:808::", "192.88.99.1"),
    # Metadata of clouds: Azure, Oracle, Alibaba.
    *("168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110"),
    *("192.0.0.192", "192.0.0.9", "100.100.100.200"),
    # Site-local, and what nobody was given.
    *("fec0::1", "feff::1", "4000::1", "5f00::1", "3fff::1", "100::1", "0.1.2.3", "ff0e::1"),
)


def test_other_addresses() -> None:
    assert [address for address in OTHERS if is_public(address)] == []


@pytest.mark.parametrize(
    ("network", "uris"),
    [
        (Network.LOCAL, ["file:///a", "local:///a", "/a", "memory://a", "zip", "simplecache"]),
        (Network.PUBLIC, ["s3://bucket", "gcs://bucket", "abfs://container", "http://8.8.8.8/a"]),
        (Network.PUBLIC, ["https://[2001:4860:4860::8888]:8443/a"]),
        (Network.PRIVATE, ["http://127.0.0.1:8080/a", "http://2130706433/a", "http://0x7f.1/a"]),
        (Network.PRIVATE, ["https://[::1]/a", "http://[::ffff:127.0.0.1]/a", "http://localhost/a"]),
        (Network.PRIVATE, ["http://user@169.254.169.254/latest", "http://8.8.8.8@10.0.0.1/a"]),
        (Network.PRIVATE, ["ftp://192.168.1.1", "ssh://10.0.0.1:22/a"]),
        (None, ["github://a/b", "hdfs://a/b", "reference://a/b", "data://a/b", "unknown://a/b"]),
    ],
)
def test_the_network_of_a_place(network: Network | None, uris: list[str]) -> None:
    for uri in uris:
        assert asyncio.run(network_of_link(Location.parse(uri))) == network, uri


def test_hosts_without_an_address() -> None:
    for host in ("", "a..b", "x" * 64):
        with pytest.raises(OSError, match=r"."):
            asyncio.run(network_of_link(Location("http", host, ())))


def test_one_private_address_makes_a_host_private(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, *_arguments: Any, **_options: Any) -> list[Any]:
        return [(socket.AF_INET, 0, 0, "", (address, 0)) for address in host.split("+")]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert asyncio.run(network_of_host("8.8.8.8+1.1.1.1")) == Network.PUBLIC
    assert asyncio.run(network_of_host("8.8.8.8+10.0.0.1")) == Network.PRIVATE


def by_fsspec(url: str, **options: Any) -> Store:
    filesystem, path = fsspec.url_to_fs(url, asynchronous=True, skip_instance_cache=True, **options)
    return FsspecStore(filesystem, path=path, read_only=True)


def s3_by_fsspec(**options: Any) -> Store:
    pytest.importorskip("s3fs")
    return by_fsspec("s3://bucket/a", anon=True, **options)


def archive(folder: Path) -> Store:
    if not HAS_SYNC_FSSPEC:
        pytest.skip("this zarr opens no archives by fsspec")
    path = write_zip(build(Group()), folder / "a.zip")
    return FsspecStore.from_url(f"zip::file://{path}", read_only=True)


def by_obstore(kind: str, *arguments: Any, **options: Any) -> Store:
    if not HAS_OBSTORE:
        pytest.skip("this zarr has no ObjectStore, or needs obstore")
    import obstore.store
    from zarr.storage import ObjectStore

    if kind == "HTTPStore":
        return ObjectStore(obstore.store.HTTPStore.from_url(*arguments))
    return ObjectStore(obstore.store.S3Store("bucket", region="us-east-1", **options))


#: Stores of obstore, by class and arguments, and the URI of each.
OBSTORE_URIS = {
    ("S3Store", "bucket", "a/b.zarr"): "s3://bucket/a/b.zarr",
    ("GCSStore", "bucket", "a"): "gs://bucket/a",
    ("AzureStore", "container", "a"): "abfs://container/a",
    ("HTTPStore", "https://host/a"): "https://host/a",
    ("MemoryStore",): None,
}


@pytest.mark.skipif(not HAS_OBSTORE, reason="this zarr has no ObjectStore, or needs obstore")
@pytest.mark.parametrize(("made_of", "uri"), OBSTORE_URIS.items(), ids=str)
def test_the_uri_of_a_store_of_obstore(made_of: tuple[str, ...], uri: str | None) -> None:
    import obstore.store
    from zarr.storage import ObjectStore

    kind, *arguments = made_of
    options: Any = {"S3Store": {"region": "r"}, "AzureStore": {"account_name": "a"}}.get(kind, {})
    if len(arguments) > 1:
        options["prefix"] = arguments.pop()
    store = ObjectStore(getattr(obstore.store, kind)(*arguments, **options))
    place = None if uri is None else Location.parse(uri)
    assert handle_of(store).place == handle_of(RecordingStore(store)).place == place


@pytest.mark.skipif(not HAS_OBSTORE, reason="this zarr has no ObjectStore, or needs obstore")
def test_a_uri_of_the_open_store_of_obstore_is_the_same_store(tmp_path: Path) -> None:
    import obstore.store
    from zarr.storage import ObjectStore

    there = declaring("ref", there={"uri": tmp_path.as_uri(), "node": "/g/x"})
    nodes: Nodes = {"": {}, "a": stored([1.0], "x", **there), "g": {}, "g/x": stored([2.0], "x")}
    write_local(build(nodes), tmp_path)
    store = ObjectStore(obstore.store.LocalStore(tmp_path), read_only=True)
    (coordinate,) = zarr_xgroup.explain(store).groups[0].coordinates
    assert (coordinate.kind, str(coordinate.origin)) == ("stored", "/g/x")
    dataset = xr.open_dataset(store, engine="xgroup", cross_store_max_stores=1)  # type: ignore[arg-type]
    assert dataset["x"].values == [2.0]
    dataset.close()
    assert store._is_open  # the user opened it


LOOPBACK = "http://127.0.0.1:1"
STORES: dict[str, tuple[Network, Callable[[Path], Store]]] = {
    "local": (Network.LOCAL, lambda _: LocalStore("/a")),
    "wrapped": (Network.LOCAL, lambda _: RecordingStore(RecordingStore(MemoryStore()))),
    "archive": (Network.LOCAL, archive),
    "loopback": (Network.PRIVATE, lambda _: RecordingStore(by_fsspec(f"{LOOPBACK}/a"))),
    "internet": (Network.PUBLIC, lambda _: by_fsspec("https://8.8.8.8/a")),
    "no address": (Network.PUBLIC, lambda _: by_fsspec("https://a..b/a")),
    "s3": (Network.PUBLIC, lambda _: s3_by_fsspec()),
    "s3, endpoint": (Network.PRIVATE, lambda _: s3_by_fsspec(endpoint_url=LOOPBACK)),
    "s3, of a client": (
        Network.PRIVATE,
        lambda _: s3_by_fsspec(client_kwargs={"endpoint_url": LOOPBACK}),
    ),
    "obstore, memory": (Network.LOCAL, lambda _: by_obstore("") and obstore_store({})),
    "obstore, s3": (Network.PUBLIC, lambda _: by_obstore("S3Store")),
    **{
        f"obstore, {option}": (
            Network.PRIVATE,
            lambda _, option=option: by_obstore("S3Store", **{option: LOOPBACK}),  # type: ignore[misc]
        )
        for option in ("endpoint", "AWS_ENDPOINT_URL")
    },
    "obstore, internet": (
        Network.PUBLIC,
        lambda _: by_obstore("S3Store", endpoint="https://8.8.8.8"),
    ),
    "obstore, loopback": (Network.PRIVATE, lambda _: by_obstore("HTTPStore", f"{LOOPBACK}/a")),
    "obstore, http": (Network.PUBLIC, lambda _: by_obstore("HTTPStore", "https://8.8.8.8/a")),
}


@pytest.mark.parametrize(("expected", "make"), STORES.values(), ids=STORES)
def test_the_network_of_a_store(
    expected: Network, make: Callable[[Path], Store], tmp_path: Path
) -> None:
    assert asyncio.run(_network_of(handle_of(make(tmp_path)))) == expected
