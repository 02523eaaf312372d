"""From where an address can be reached, which decides to which stores a store may refer.

A reference is written by whoever wrote the store. It must not make the reader's machine hand
out what only that machine can read: its files, and servers of its own network.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore, MemoryStore, ZipStore

from zarr_xgroup._requirements import check_requirements
from zarr_xgroup.i18n import _
from zarr_xgroup.redaction import HOSTED
from zarr_xgroup.storage.opening import ARCHIVES, innermost
from zarr_xgroup.storage.uris import CACHES, CLOUD, Link

if TYPE_CHECKING:
    import aiohttp

_LOCAL = frozenset({"file", "memory"})
#: fsspec's filesystems that show what is inside of the next link of a chain.
_ARCHIVES = ARCHIVES | {"dir"}
#: What IANA has allocated of IPv6 for the internet. All else is of one network, or means something
#: else: addresses of IPv4 in one of its spellings, site-local ones, ...
_ALLOCATED = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052
#: Networks that lie in what is public, and that a machine or a network of one's own answers at.
_OWN = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # the host of a machine in Azure, with its metadata
        "192.0.0.0/24",  # RFC 6890: protocol assignments, the metadata of Oracle's cloud
        "192.88.99.0/24",  # RFC 7526: relays of 6to4, given up
        "2001::/23",  # RFC 2928: protocol assignments, Teredo
        "2002::/16",  # RFC 3056: 6to4, which leads to an address of IPv4
        "3fff::/20",  # RFC 9637: documentation
    )
)
_ENDPOINTS = ("endpoint_url", "endpoint", "aws_endpoint", "aws_endpoint_url", "base_url")


class Network(IntEnum):
    """From which network a place can be reached: the wider it is, the less the place is trusted."""

    LOCAL = 0
    PRIVATE = 1
    PUBLIC = 2


def places_of(links: Sequence[Link]) -> Iterator[Link]:
    """Yield the links of a chained URI that are read from: no caches, no archives."""
    for link in links[:-1]:
        if link.scheme not in CACHES | _ARCHIVES:
            yield link
    yield links[-1]


async def network_of_link(link: Link) -> Network | None:
    """Return the network of a place, None if nothing is known of its scheme.

    That of an archive or cache in nothing else is local.

    Raises
    ------
    OSError
        If its host has no address.
    """
    if link.scheme in _LOCAL | _ARCHIVES | CACHES:
        return Network.LOCAL
    if link.scheme in CLOUD:
        return Network.PUBLIC
    if link.scheme in HOSTED:
        return await network_of_host(link.host)
    return None


async def network_of_host(host: str) -> Network:
    """Return PUBLIC if all addresses of a host are public ones, else PRIVATE.

    Raises
    ------
    OSError
        If the host has no address.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a name that no host can have
        raise OSError(str(error)) from error
    addresses = {str(address[4][0]) for address in found}
    return Network.PUBLIC if all(is_public(address) for address in addresses) else Network.PRIVATE


def is_public(address: str) -> bool:
    """Tell whether an IP address is of the public internet (IANA special-purpose registries)."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip not in _ALLOCATED:
            return False
    is_own = any(ip in network for network in _OWN)
    return ip.is_global and not ip.is_multicast and not is_own


async def network_of_store(store: Store) -> Network:
    """Return the network of an open store; one of which nothing is known counts as public."""
    store = innermost(store)
    if isinstance(store, FsspecStore):
        return await _network_of_filesystem(store.fs, store.path)
    if isinstance(store, LocalStore | MemoryStore | ZipStore):
        return Network.LOCAL
    return await _network_of_obstore(getattr(store, "store", None))


async def _network_of_filesystem(filesystem: Any, path: str) -> Network:
    # What an asynchronous wrapper wraps; what a cache or an archive is filled from.
    archive = getattr(filesystem, "fo", None)
    for holder, name in ((filesystem, "sync_fs"), (filesystem, "fs"), (archive, "fs")):
        inner = getattr(holder, name, None)
        if hasattr(inner, "protocol"):
            return await _network_of_filesystem(inner, path)
    protocol = filesystem.protocol
    scheme = protocol if isinstance(protocol, str) else protocol[0]
    if Link.parse(f"{scheme}://").scheme in _LOCAL:
        return Network.LOCAL
    return await _network_of_remote(getattr(filesystem, "storage_options", {}), path)


async def _network_of_obstore(store: Any) -> Network:
    kind = type(store).__name__
    if kind in ("LocalStore", "MemoryStore") and type(store).__module__.startswith("obstore"):
        return Network.LOCAL
    config = getattr(store, "config", None)
    options = config if isinstance(config, Mapping) else {}
    return await _network_of_remote(options, getattr(store, "url", ""))


async def _network_of_remote(options: Mapping[str, Any], location: Any) -> Network:
    """Return the network of a store from the server that its options or its URL name."""
    nested = options.get("client_kwargs")
    places = [options, nested] if isinstance(nested, Mapping) else [options]
    named = [place[key] for place in places for key in _ENDPOINTS if place.get(key)]
    host = options.get("host")  # ftp, sftp
    link = Link.parse(str(named[0] if named else location))
    if link.scheme in HOSTED:
        host = link.host
    if not isinstance(host, str):
        return Network.PUBLIC
    try:
        return await network_of_host(host)
    except OSError:
        return Network.PUBLIC


def _public_socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a socket for a connection to an address, unless that is not public."""
    family, kind, protocol, _name, place = address
    if not is_public(str(place[0])):
        message = _("{address} is no public address").format(address=place[0])
        raise PermissionError(errno.EACCES, message)
    return socket.socket(family=family, type=kind, proto=protocol)


async def public_client(**options: Any) -> aiohttp.ClientSession:
    """Return an HTTP client that connects to public addresses only, redirected or not.

    For the option ``get_client`` of fsspec's `HTTPFileSystem`. What a name means is looked up
    again when a connection is made, so a check beforehand is not enough.
    """
    import aiohttp  # here, because it takes longer to import than all of this package

    check_requirements({"aiohttp": "3.12"})  # the first that asks for its sockets
    connector = aiohttp.TCPConnector(socket_factory=_public_socket)
    return aiohttp.ClientSession(connector=connector, **options)
