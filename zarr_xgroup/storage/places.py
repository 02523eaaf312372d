"""Locations that URIs name: their storage options, and the network from which each can be reached.

The producer of a store writes its references. They must not make the reader's machine access files or servers that
only this machine can read.

Sources: RFC 3986, sections 3 and 6.2 (syntax, normalization); fsspec, "URL chaining" (links of a chain are
separated by ``::``, the innermost comes last); IANA special-purpose registries of addresses.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from zarr_xgroup.errors import XGroupPathError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.paths import decoded_to_the_end
from zarr_xgroup.redaction import redact
from zarr_xgroup.storage.failures import PrivateAddressError

#: Schemes whose authority is a host and a port.
HOSTED = frozenset({"http", "https", "ftp", "sftp", "ssh"})
_NAME = re.compile(r"[A-Za-z][\w+.-]*")
_URI = re.compile(rf"({_NAME.pattern})://(.*)", re.DOTALL)
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_ALIASES = {"gcs": "gs", "s3a": "s3", "local": "file"}
#: Schemes of object stores: on public servers unless options name a different endpoint.
_CLOUD = frozenset({"s3", "gs", "az", "abfs", "abfss", "adl"})
#: Schemes of this machine.
LOCAL = frozenset({"file", "memory"})
#: fsspec's filesystems that cache files of the next link of a chain.
CACHES = frozenset({"simplecache", "filecache", "blockcache", "cached"})
#: fsspec's filesystems that are archives, read from the next link.
ARCHIVES = frozenset({"zip", "tar", "libarchive"})
#: fsspec's filesystems that only show files of the next link.
_VIEWS = CACHES | ARCHIVES | {"dir"}

#: The separator before the next link, which is a URI, a view or, at the end, a path.
_SEPARATOR = re.compile(
    rf"::(?={_NAME.pattern}://|(?:{'|'.join(_VIEWS)})::|(?:(?!::).)*\Z)", re.DOTALL
)

_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21", "sftp": "22", "ssh": "22"}
_HOST = re.compile(r"(?:[^\s:\[\]]*|\[[^\s\[\]]*\])(?::[0-9]*)?")
#: The name of a bucket or an ARN of AWS; a container with or without an account (``abfs://container@account...``).
_BUCKET, _CONTAINER = re.compile(r"arn:[^@]*|[^:@]*"), re.compile(r"[^:@]*(?:@[^:@]*)?")

#: The IPv6 addresses that IANA has allocated for the internet. Others are local to a network, or embed
#: IPv4 addresses.
_GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: an IPv4 address in the last 32 bits
#: Networks within public ranges at which a local machine or network may answer.
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # the host of a machine in Azure, with its metadata
        "192.0.0.0/24",  # RFC 6890: protocol assignments, the metadata of Oracle's cloud
        "192.88.99.0/24",  # RFC 7526: relays of 6to4, deprecated
        "2001::/23",  # RFC 2928: protocol assignments, Teredo
        "2002::/16",  # RFC 3056: 6to4, which embeds an address of IPv4
        "3fff::/20",  # RFC 9637: documentation
    )
)


# Places.


class Location(msgspec.Struct, frozen=True):
    """The location that a URI, or one link of a chained URI, names; normalized, so that equal locations compare equal.

    Attributes
    ----------
    scheme : str
        In lower case, aliases replaced (``gcs`` by ``gs``). ``file`` for a path without a scheme.
    authority : str
        Host, bucket or container, without user information and default port; in lower case unless it is
        case-sensitive.
    segments : tuple of str
        The segments of the path, without empty ones and ``.``; percent-decoded for HTTP and files, but not for
        object stores, whose keys are literal.
    """

    scheme: str
    authority: str
    segments: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Location:
        """Parse one link: a URI, a local path, or the bare name of a filesystem."""
        scheme, authority, path = _split_link(text)
        authority = authority.rpartition("@")[2]
        if scheme in HOSTED | _CLOUD:  # hosts and buckets are not case-sensitive
            authority = authority.lower()
        authority = _without_default_port(scheme, authority)
        is_decoded = scheme in ("http", "https", "file")
        # Split before decoding: an encoded slash is not a separator.
        names = (unquote(name) if is_decoded else name for name in path.split("/"))
        return cls(scheme, authority, tuple(name for name in names if name not in ("", ".")))

    @property
    def host(self) -> str:
        """The authority without a port, and an IPv6 address without its brackets."""
        return re.sub(r":\d*$", "", self.authority).strip("[]")

    def is_at(self, host: str, port: int | None) -> bool:
        """Return whether a host and port are the server of this location; an IPv6 address has no brackets."""
        server = _without_default_port(self.scheme, f"{host}:{port}")
        return self.authority.replace("[", "").replace("]", "") == server

    def contains(self, other: Location) -> bool:
        """Return whether a location is this one or below it; a bare ``scheme://`` contains all of its scheme."""
        if self.scheme != other.scheme:
            return False
        if not self.authority and not self.segments:
            return True
        is_below = other.segments[: len(self.segments)] == self.segments
        return self.authority == other.authority and is_below


def _without_default_port(scheme: str, authority: str) -> str:
    """Return an authority without an empty port or the default port of a scheme."""
    return authority.removesuffix(f":{_DEFAULT_PORTS.get(scheme, '')}").removesuffix(":")


def _split_link(text: str) -> tuple[str, str, str]:
    """Return the normalized scheme of a link, and its authority and path unchanged."""
    url = _URI.fullmatch(text)
    if url is None and _NAME.fullmatch(text) is None:
        return "file", "", text
    scheme, rest = (text, "") if url is None else (url[1], url[2])
    scheme = _ALIASES.get(scheme.lower(), scheme.lower())
    if scheme not in {"file", *ARCHIVES}:  # names are literal: "?" and "#" do not start a query
        rest = _QUERY.sub("", rest)
    authority, _slash, path = rest.partition("/")
    return scheme, authority, path


def links_of(uri: str) -> tuple[Location, ...]:
    """Return the links of a URI: one, or several if the URI is chained by ``::``."""
    return tuple(Location.parse(text) for text in uri.split("::"))


def parts_of_chain(url: str) -> tuple[str, str, str]:
    """Return the caches that a chained URL begins with, the link that has the path, and the links that it reads from.

    A server, a bucket or a file reads from no further link: ``::`` in its path is part of a name. The path in
    an archive ends before the next link, at the latest before the last ``::``.
    """
    caches, link = "", url
    while (parts := link.partition("::"))[1] and Location.parse(parts[0]).scheme in CACHES:
        caches, link = f"{caches}{parts[0]}::", parts[2]
    if is_absolute(link) and Location.parse(link).scheme in HOSTED | _CLOUD | LOCAL:
        return caches, link, ""
    separator = _SEPARATOR.search(link)
    end = len(link) if separator is None else separator.start()
    return caches, link[:end], link[end:]


def place_of(uri: str) -> Location | None:
    """Return the only location of a URI that is not a cache; None if there are several.

    A folder in an archive is below the archive: ``zip://g::file:///p.zip`` is at ``file:///p.zip/g``.
    """
    links = [link for link in links_of(uri) if link.scheme not in CACHES]
    if len(links) == 2 and links[0].scheme in ARCHIVES:
        archive = links.pop(0)
        folder = tuple(filter(None, (archive.authority, *archive.segments)))
        return msgspec.structs.replace(links[0], segments=links[0].segments + folder)
    return links[0] if len(links) == 1 else None


def places_of(links: Sequence[Location]) -> list[Location]:
    """Return the links of a chained URI that data are read from: the last, and others except caches and archives."""
    return [link for link in links[:-1] if link.scheme not in _VIEWS] + [links[-1]]


def is_absolute(uri: str) -> bool:
    """Return whether a URI has a scheme followed by ``://``."""
    return _URI.fullmatch(uri) is not None


def has_plain_hosts(uri: str) -> bool:
    """Return whether the authority of each link of a URI is a host with at most a port, or a bare bucket.

    Otherwise the apparent host may be part of a password that is not percent-encoded, or a bucket may have
    credentials in front, and messages of libraries would show them.
    """
    for text in uri.split("::"):
        scheme, authority, _path = _split_link(text)
        expected = _CONTAINER
        if scheme in HOSTED:
            authority, expected = authority.rpartition("@")[2], _HOST
        elif scheme in ("s3", "gs"):
            expected = _BUCKET
        if scheme in HOSTED | _CLOUD and expected.fullmatch(authority) is None:
            return False
        try:
            urlsplit(text)
        except ValueError:
            return False
    return True


def leads_upwards(links: Iterable[Location]) -> bool:
    """Return whether a link contains ``..``, even percent-encoded: clients and servers resolve it differently."""
    return any(
        ".." in re.split(r"[/\\]", decoded_to_the_end(name))
        for link in links
        for name in (link.authority, *link.segments)
    )


# Options by location.


def options_by_place(options: Any) -> dict[Location, Mapping[str, Any]]:
    """Return the option ``cross_store_storage_options`` by the locations of its prefixes, the longest first.

    Raises TypeError if the option is not a mapping of strings to mappings, XGroupPathError if a prefix is
    neither the beginning of a URI nor an absolute path.
    """
    options = {} if options is None else options
    if not isinstance(options, Mapping) or not all(
        isinstance(prefix, str) and isinstance(given, Mapping) for prefix, given in options.items()
    ):
        message = _(
            "cross_store_storage_options must map URI prefixes to dicts of storage options, got "
            "{kind}"
        )
        raise TypeError(message.format(kind=type(options).__name__))
    for prefix in options:
        if not is_absolute(prefix) and not prefix.startswith("/"):
            message = _("cross_store_storage_options: {prefix!r} is not the beginning of a URI")
            raise XGroupPathError(message.format(prefix=redact(prefix)))
    # If several prefixes mean the same location, the first is used.
    places = {Location.parse(prefix): given for prefix, given in reversed(list(options.items()))}
    longest = sorted(
        places, key=lambda place: (bool(place.authority), len(place.segments)), reverse=True
    )
    return {place: places[place] for place in longest}


def options_of(
    link: Location, by_place: Mapping[Location, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return a copy of the options of the first location that contains a link, None if no location does."""
    return next((dict(given) for place, given in by_place.items() if place.contains(link)), None)


# Networks.


class Network(IntEnum):
    """The network from which a location can be reached. The wider the network, the less its content is trusted."""

    LOCAL = 0
    PRIVATE = 1
    PUBLIC = 2


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to the public internet, by the special-purpose registries of IANA."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip not in _GLOBAL_IPV6:
            return False
    is_special = any(ip in network for network in _NOT_PUBLIC)
    return ip.is_global and not ip.is_multicast and not is_special


class AddressGuard:
    """Decides to which addresses a client may connect.

    If a client has connected to a public address, it connects to a private one only if it was connected to it before:
    neither a redirect nor a name that resolves to a different address may lead it from a public server into a private
    network. If `is_only_public`, it never connects to a private address.
    """

    def __init__(self, is_only_public: bool) -> None:
        self._is_public = is_only_public
        self._private: set[str] = set()

    def socket(self, address: tuple[Any, ...]) -> socket.socket:
        """Return a socket for a connection to an address; raise PrivateAddressError if it is not allowed."""
        family, kind, protocol, _name, (host, *_rest) = address
        if self._is_public and host not in self._private and not is_public(host):
            message = _(
                "{address} is not a public address, and the server is public (to allow it, use the storage option "
                "get_client=fsspec.implementations.http.get_client)"
            )
            raise PrivateAddressError(errno.EACCES, message.format(address=host))
        return socket.socket(family=family, type=kind, proto=protocol)

    def connected(self, host: str) -> None:
        """Record that the client has connected to an IP address."""
        if is_public(host):
            self._is_public = True
        elif not self._is_public:
            self._private.add(host)


async def network_of_host(host: str) -> Network:
    """Return PUBLIC if all addresses of a host are public, otherwise PRIVATE; raise OSError if it has no address."""
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # not a valid name of a host
        raise OSError(str(error)) from error
    addresses = {str(info[4][0]) for info in infos}
    return Network.PUBLIC if all(is_public(address) for address in addresses) else Network.PRIVATE


async def network_of_link(link: Location) -> Network | None:
    """Return the network of a location, None if its scheme is unknown; raise OSError if its host has no address.

    An archive or cache without a further link is local.
    """
    if link.scheme in LOCAL | _VIEWS:
        return Network.LOCAL
    if link.scheme in HOSTED:
        return await network_of_host(link.host)
    return Network.PUBLIC if link.scheme in _CLOUD else None
