"""Places that URIs name, the options given for them, and from where they can be reached."""

import asyncio
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore, MemoryStore

from zarr_xgroup import XGroupPathError
from zarr_xgroup.storage.foreign import http_client
from zarr_xgroup.storage.places import (
    Link,
    Network,
    is_absolute,
    is_public,
    leads_upwards,
    links_of,
    network_of_host,
    network_of_link,
    network_of_store,
    options_by_place,
    options_of,
    place_of,
    places_of,
)
from zarr_xgroup.tests.builders import (
    HAS_OBSTORE,
    HAS_SYNC_FSSPEC,
    Contents,
    Group,
    RecordingStore,
    build,
    obstore_store,
    write_zip,
)
from zarr_xgroup.tests.servers import FileServer, redirect

FILES: Contents = {"a": b"content"}


@pytest.fixture(autouse=True)
def _no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask no name server."""
    resolve = socket.getaddrinfo

    def resolving(host: Any, *arguments: Any, **options: Any) -> Any:
        if str(host).endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolving)


# Links.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket", Link("s3", "bucket", ())),
        ("s3://bucket/a/b", Link("s3", "bucket", ("a", "b"))),
        ("s3://bucket//a/./b//", Link("s3", "bucket", ("a", "b"))),
        ("S3A://Bucket/A", Link("s3", "bucket", ("A",))),
        ("gcs://bucket/a", Link("gs", "bucket", ("a",))),
        ("HTTP://Example.ORG/A", Link("http", "example.org", ("A",))),
        ("http://example.org:80/a", Link("http", "example.org", ("a",))),
        ("http://example.org:/a", Link("http", "example.org", ("a",))),
        ("https://example.org:443", Link("https", "example.org", ())),
        ("ftp://example.org:21", Link("ftp", "example.org", ())),
        ("http://example.org:443/a", Link("http", "example.org:443", ("a",))),
        ("http://[::1]:80/a", Link("http", "[::1]", ("a",))),
        ("http://user:secret@example.org/a", Link("http", "example.org", ("a",))),
        ("http://user@host@example.org/a", Link("http", "example.org", ("a",))),
        ("http://example.org/a?b=/c#d", Link("http", "example.org", ("a",))),
        ("http://example.org?b", Link("http", "example.org", ())),
        ("http://example.org/a%20b/%C3%A9", Link("http", "example.org", ("a b", "\u00e9"))),
        ("http://example.org/a%2Fb", Link("http", "example.org", ("a/b",))),
        ("http://example.org/a/%2E%2E/b", Link("http", "example.org", ("a", "..", "b"))),
        ("file:///a/b", Link("file", "", ("a", "b"))),
        ("FILE:///a%20b", Link("file", "", ("a b",))),
        ("file:///a?b#c", Link("file", "", ("a?b#c",))),
        ("local:///a", Link("file", "", ("a",))),
        ("/a/b/", Link("file", "", ("a", "b"))),
        ("a b/c", Link("file", "", ("a b", "c"))),
        ("memory://a/b", Link("memory", "a", ("b",))),
        ("ZIP", Link("zip", "", ())),
        ("zip://a/b", Link("zip", "a", ("b",))),
        ("s3://", Link("s3", "", ())),
    ],
)
def test_a_link_is_a_place(text: str, expected: Link) -> None:
    assert Link.parse(text) == expected


@pytest.mark.parametrize(
    ("authority", "host"),
    [
        ("example.org", "example.org"),
        ("example.org:8080", "example.org"),
        ("[::1]:8080", "::1"),
        ("[2001:db8::1]", "2001:db8::1"),
    ],
)
def test_the_host_of_a_link(authority: str, host: str) -> None:
    assert Link.parse(f"http://{authority}/a").host == host


@pytest.mark.parametrize(
    ("place", "other", "expected"),
    [
        ("s3://bucket", "s3://bucket", True),
        ("s3://bucket/", "s3://bucket", True),
        ("s3://bucket", "s3://bucket/a/b", True),
        ("s3://bucket", "s3://bucket-2", False),
        ("s3://bucket", "s3://bucket-2/a", False),
        ("s3://bucket/a", "s3://bucket", False),
        ("s3://bucket/a", "s3://bucket/a", True),
        ("s3://bucket/a/", "s3://bucket/a", True),
        ("s3://bucket/a", "s3://bucket//a/b", True),
        ("s3://bucket/a", "s3://bucket/a.zarr", False),
        ("s3://bucket/a", "s3://bucket/A", False),
        ("s3://bucket/a", "s3a://BUCKET/a/b", True),
        ("gs://bucket", "gcs://bucket/a", True),
        ("s3://bucket", "gs://bucket", False),
        ("http://example.org", "HTTP://EXAMPLE.org:80/a", True),
        ("http://example.org:8080", "http://example.org/a", False),
        ("http://example.org", "http://example.org.evil.net/a", False),
        ("http://example.org", "http://example.org@evil.net/a", False),
        ("http://example.org", "https://example.org/a", False),
        ("http://user:secret@example.org", "http://example.org/a", True),
        ("http://example.org/a b", "http://example.org/a%20b/c", True),
        ("http://example.org/a", "http://example.org/a%2Fb", False),
        ("http://example.org/a/b", "http://example.org/a%2Fb", False),
        ("s3://", "s3://bucket/a", True),
        ("s3://", "gs://bucket/a", False),
        ("http://", "https://example.org", False),
        ("file:///", "/a/b", True),
        ("/a", "file:///a/b", True),
        ("/a", "/ab", False),
        ("zip://", "zip", True),
    ],
)
def test_a_place_contains_what_is_below(place: str, other: str, expected: bool) -> None:
    assert Link.parse(place).contains(Link.parse(other)) is expected


def test_names_in_memory_are_told_apart_by_case() -> None:
    assert Link.parse("memory://A/b") != Link.parse("memory://a/b")


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://bucket", True),
        ("file:///a", True),
        ("svn+ssh://a", True),
        ("bucket/a", False),
        ("/a", False),
        ("//example.org/a", False),
        ("mailto:a@b", False),
        ("s3:/a", False),
        ("3s://a", False),
        ("", False),
    ],
)
def test_an_absolute_uri_has_a_scheme_and_a_place(uri: str, expected: bool) -> None:
    assert is_absolute(uri) is expected


def test_a_chain_has_several_links() -> None:
    assert links_of("zip::simplecache::s3://bucket/a.zip") == (
        Link("zip", "", ()),
        Link("simplecache", "", ()),
        Link("s3", "bucket", ("a.zip",)),
    )
    assert links_of("zip://a/b::file:///c.zip") == (
        Link("zip", "a", ("b",)),
        Link("file", "", ("c.zip",)),
    )


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://bucket/a", "s3://bucket/a"),
        ("simplecache::s3://bucket/a", "s3://bucket/a"),
        ("filecache::blockcache::s3://bucket/a", "s3://bucket/a"),
        ("zip::s3://bucket/a", None),
        ("zip://a::simplecache::s3://bucket/a", None),
    ],
)
def test_caches_change_no_place_and_archives_do(uri: str, expected: str | None) -> None:
    assert place_of(uri) == (None if expected is None else Link.parse(expected))


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("file:///a/b", False),
        ("file:///a/..b/c..", False),
        ("file:///a/../b", True),
        ("file:///a/%2e%2E/b", True),
        ("file:///a/b/..", True),
        ("file:///a%2F..%2Fb", True),
        ("http://example.org/a/..%2fb", True),
        ("http://example.org/a/%252e%252e/b", True),
        ("http://example.org/a/%2525252e%2525252e/b", True),
        ("http://example.org/a/..%5Cb", True),
        ("zip://../a::s3://bucket/a.zip", True),
        ("zip://a::s3://bucket/../a.zip", True),
        ("zip::memory://a/../b", True),
    ],
)
def test_dots_that_lead_upwards(uri: str, expected: bool) -> None:
    assert leads_upwards(links_of(uri)) is expected


# Options by prefix.

S3, BUCKET, DEEP, ALL = ({"n": number} for number in range(4))


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://bucket", BUCKET),
        ("s3://bucket/a", BUCKET),
        ("s3://bucket/deep", DEEP),
        ("S3A://BUCKET//deep/er", DEEP),
        ("s3://bucket/deeper", BUCKET),
        ("s3://bucket-2/deep", S3),
        ("gs://bucket/deep", None),
        ("https://example.org/a", ALL),
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
    assert options_of(Link.parse(uri), options_by_place(ordered)) == expected


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ("s3://bucket", "str"),
        ([("s3://bucket", {})], "list"),
        (True, "bool"),
        ({"s3://bucket": None}, "dict"),
        ({"s3://bucket": "anon"}, "dict"),
        ({1: {}}, "dict"),
    ],
)
def test_options_of_the_wrong_type(options: Any, kind: str) -> None:
    with pytest.raises(TypeError) as caught:
        options_by_place(options)
    assert str(caught.value) == (
        f"cross_store_storage_options must map URI prefixes to dicts of storage options, got {kind}"
    )


@pytest.mark.parametrize("prefix", ["", "bucket", "bucket/a", "s3:", "s3:/bucket", "zip::", "../a"])
def test_prefixes_that_begin_no_uri(prefix: str) -> None:
    with pytest.raises(XGroupPathError) as caught:
        options_by_place({prefix: {}})
    assert str(caught.value) == (
        f"cross_store_storage_options: {prefix!r} is not the beginning of a URI"
    )


# From where a place can be reached.


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "192.0.1.1",
        "172.32.0.1",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ],
)
def test_addresses_of_the_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
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
    ],
)
def test_other_addresses(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("file:///a", Network.LOCAL),
        ("local:///a", Network.LOCAL),
        ("/a", Network.LOCAL),
        ("memory://a", Network.LOCAL),
        ("zip", Network.LOCAL),
        ("simplecache", Network.LOCAL),
        ("s3://bucket", Network.PUBLIC),
        ("gcs://bucket", Network.PUBLIC),
        ("abfs://container", Network.PUBLIC),
        ("http://127.0.0.1:8080/a", Network.PRIVATE),
        ("http://2130706433/a", Network.PRIVATE),
        ("http://0x7f.1/a", Network.PRIVATE),
        ("https://[::1]/a", Network.PRIVATE),
        ("http://[::ffff:127.0.0.1]/a", Network.PRIVATE),
        ("http://user@169.254.169.254/latest", Network.PRIVATE),
        ("http://8.8.8.8@10.0.0.1/a", Network.PRIVATE),
        ("ftp://192.168.1.1", Network.PRIVATE),
        ("ssh://10.0.0.1:22/a", Network.PRIVATE),
        ("http://localhost/a", Network.PRIVATE),
        ("http://8.8.8.8/a", Network.PUBLIC),
        ("https://[2001:4860:4860::8888]:8443/a", Network.PUBLIC),
    ],
)
def test_the_reach_of_a_link(uri: str, expected: Network) -> None:
    assert asyncio.run(network_of_link(Link.parse(uri))) == expected


@pytest.mark.parametrize("scheme", ["github", "hdfs", "reference", "data", "unknown"])
def test_other_schemes_cannot_be_judged(scheme: str) -> None:
    assert asyncio.run(network_of_link(Link.parse(f"{scheme}://a/b"))) is None


@pytest.mark.parametrize("host", ["", "no-such-host.invalid", "a..b", "x" * 64])
def test_hosts_without_an_address(host: str) -> None:
    with pytest.raises(OSError, match=r"."):
        asyncio.run(network_of_link(Link("http", host, ())))


def test_one_private_address_makes_a_host_private(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, *_arguments: Any, **_options: Any) -> list[Any]:
        return [(socket.AF_INET, 0, 0, "", (address, 0)) for address in host.split("+")]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert asyncio.run(network_of_host("8.8.8.8+1.1.1.1")) == Network.PUBLIC
    assert asyncio.run(network_of_host("8.8.8.8+10.0.0.1")) == Network.PRIVATE


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://bucket", ["s3"]),
        ("simplecache::s3://bucket", ["s3"]),
        ("zip://a::s3://bucket", ["s3"]),
        ("tar::zip://a::filecache::file:///a", ["file"]),
        ("reference::s3://bucket", ["reference", "s3"]),
        ("file:///a::s3://bucket", ["file", "s3"]),
        ("zip", ["zip"]),
        ("simplecache", ["simplecache"]),
    ],
)
def test_caches_and_archives_are_as_far_as_what_they_look_into(
    uri: str, expected: list[str]
) -> None:
    assert [link.scheme for link in places_of(links_of(uri))] == expected


class _Unknown(RecordingStore):
    """A store of a kind that nobody knows, as far as its type tells."""


def _fsspec_store(url: str, **options: Any) -> Store:
    filesystem, path = fsspec.url_to_fs(url, asynchronous=True, skip_instance_cache=True, **options)
    return FsspecStore(filesystem, path=path, read_only=True)


def _zip_store(prefix: str) -> Store:
    """Return a store in an archive in a file of this machine, which is opened at once."""
    if not HAS_SYNC_FSSPEC:
        pytest.skip("this zarr opens no archives by fsspec")
    with tempfile.TemporaryDirectory() as folder:
        path = write_zip(build(Group()), Path(folder, "a.zip"))
        return FsspecStore.from_url(f"{prefix}{path}", read_only=True)


def _s3_store(**options: Any) -> Store:
    pytest.importorskip("s3fs")
    return _fsspec_store("s3://bucket/a", anon=True, **options)


STORES: dict[str, tuple[Callable[[], Store], Network]] = {
    "local": (lambda: LocalStore("/a"), Network.LOCAL),
    "memory": (MemoryStore, Network.LOCAL),
    "wrapped": (lambda: RecordingStore(LocalStore("/a")), Network.LOCAL),
    "wrapped twice": (lambda: _Unknown(RecordingStore(MemoryStore())), Network.LOCAL),
    "archive": (lambda: _zip_store("zip::file://"), Network.LOCAL),
    "loopback": (lambda: _fsspec_store("http://127.0.0.1:1/a"), Network.PRIVATE),
    "wrapped loopback": (
        lambda: RecordingStore(_fsspec_store("http://127.0.0.1:1/a")),
        Network.PRIVATE,
    ),
    "public": (lambda: _fsspec_store("https://8.8.8.8/a"), Network.PUBLIC),
    "no address": (lambda: _fsspec_store("https://no-such-host.invalid/a"), Network.PUBLIC),
    "s3": (_s3_store, Network.PUBLIC),
    "s3, endpoint": (lambda: _s3_store(endpoint_url="http://127.0.0.1:1"), Network.PRIVATE),
    "s3, client's endpoint": (
        lambda: _s3_store(client_kwargs={"endpoint_url": "http://127.0.0.1:1"}),
        Network.PRIVATE,
    ),
}


@pytest.mark.parametrize(("make", "expected"), STORES.values(), ids=STORES)
def test_the_reach_of_a_store(make: Callable[[], Store], expected: Network) -> None:
    assert asyncio.run(network_of_store(make())) == expected


@pytest.mark.skipif(not HAS_OBSTORE, reason="this zarr has no ObjectStore, or needs obstore")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Network.PUBLIC),
        ({"endpoint": "https://8.8.8.8"}, Network.PUBLIC),
        ({"endpoint": "http://127.0.0.1:1"}, Network.PRIVATE),
        ({"aws_endpoint": "http://127.0.0.1:1"}, Network.PRIVATE),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, Network.PRIVATE),
    ],
)
def test_the_reach_of_s3_by_obstore(options: Any, expected: Network) -> None:
    from obstore.store import S3Store
    from zarr.storage import ObjectStore

    store = ObjectStore(S3Store("bucket", region="us-east-1", **options))
    assert asyncio.run(network_of_store(store)) == expected


@pytest.mark.skipif(not HAS_OBSTORE, reason="this zarr has no ObjectStore, or needs obstore")
@pytest.mark.parametrize(
    ("url", "expected"),
    [("http://127.0.0.1:1/a", Network.PRIVATE), ("https://8.8.8.8/a", Network.PUBLIC)],
)
def test_the_reach_of_http_by_obstore(url: str, expected: Network) -> None:
    from obstore.store import HTTPStore
    from zarr.storage import ObjectStore

    assert asyncio.run(network_of_store(ObjectStore(HTTPStore.from_url(url)))) == expected
    assert asyncio.run(network_of_store(obstore_store({}))) == Network.LOCAL


# A client that connects to public addresses only.


def ask(url: str) -> bytes:
    """Return what a client of public addresses gets."""

    async def get() -> bytes:
        async with await http_client(is_guarded=True) as client, client.get(url) as response:
            response.raise_for_status()
            content: bytes = await response.read()
            return content

    return asyncio.run(get())


def test_public_addresses_are_connected_to(public_server: FileServer) -> None:
    public_server.contents.update(FILES)
    assert ask(f"{public_server.url}/a") == b"content"
    public_server.faults["/b"] = redirect("/a")
    assert ask(f"{public_server.url}/b") == b"content"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_other_addresses_are_refused(http_server: FileServer, host: str) -> None:
    http_server.contents.update(FILES)
    url = http_server.url.replace("127.0.0.1", host)
    with pytest.raises(OSError, match="is no public address"):
        ask(f"{url}/a")
    assert http_server.requests == []


def test_redirects_to_other_addresses_are_refused(
    public_server: FileServer, http_server: FileServer
) -> None:
    http_server.contents.update(FILES)
    public_server.faults["/a"] = redirect(f"{http_server.url}/a")
    with pytest.raises(OSError, match=r"127\.0\.0\.1 is no public address"):
        ask(f"{public_server.url}/a")
    assert public_server.paths() == ["/a"]
    assert http_server.requests == []
