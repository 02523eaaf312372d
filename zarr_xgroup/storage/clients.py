"""The clients of stores: the options that the package adds for them, and its HTTP client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fsspec import get_filesystem_class

from zarr_xgroup._requirements import check_requirements
from zarr_xgroup.storage.limits import check_size, is_limited
from zarr_xgroup.storage.places import AddressGuard, Location

if TYPE_CHECKING:
    import aiohttp  # at run time only where needed: importing it takes longer than all of this package

#: Largest number of requests in flight: aiohttp's default number of connections.
MANY_REQUESTS = 100


def client_options(url: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the storage options of a URL or a chain of URLs, with the options that the package adds.

    Options of the user take precedence.
    """
    links, completed = url.split("::"), dict(options or {})
    for link in links:
        scheme, is_url, _path = link.partition("://")
        # fsspec takes options by scheme if the URL is a chain.
        own = completed if len(links) == 1 else completed.get(scheme) or {}
        if is_url and scheme in ("http", "https") and _is_of(scheme, "fsspec"):
            server = Location.parse(link).authority
            own = {"get_client": partial(http_client, False, server), **own}
        elif is_url and scheme in ("s3", "s3a") and _is_of(scheme, "s3fs"):
            own = _s3_options(own)
        if len(links) == 1:
            completed = own
        elif own:
            completed[scheme] = own
    return completed


def _s3_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of s3fs with which many small objects take few rounds of requests.

    By default, newer versions of s3fs request the size of an object before they read it, and botocore makes 10
    connections.
    """
    pool = {"max_pool_connections": MANY_REQUESTS, **(options.get("config_kwargs") or {})}
    return {"max_concurrency": 1, **options, "config_kwargs": pool}


def _is_of(scheme: str, package: str) -> bool:
    """Return whether the filesystem registered for a scheme is that of a package; obstore can register its own."""
    module: str = get_filesystem_class(scheme).__module__
    return module.partition(".")[0] == package


async def http_client(
    is_only_public: bool, _server: str = "", **options: Any
) -> aiohttp.ClientSession:
    """Return an HTTP client with an `AddressGuard`, which reads no more of a response than `reading_at_most` allows.

    For the option ``get_client`` of fsspec's `HTTPFileSystem`. fsspec shares a client among stores with equal options, so the
    name of the server is an option: each server has its own client. A range request would not limit a response, because
    a server may ignore it.
    """
    import aiohttp  # not at the top: importing it takes longer than all of this package

    if is_only_public:
        check_requirements({"aiohttp": "3.12"})  # the first version with socket_factory
    has_own = "connector" in options and not is_only_public
    if not has_own and hasattr(aiohttp, "SocketFactoryType"):
        options["connector"] = _guarded_connector()(AddressGuard(is_only_public))
    return aiohttp.ClientSession(**{"response_class": _bounded_response(), **options})


@cache
def _guarded_connector() -> Callable[[AddressGuard], aiohttp.TCPConnector]:
    """Return the class of guarded connectors; a function, because importing aiohttp is slow."""
    import aiohttp

    class GuardedConnector(aiohttp.TCPConnector):
        """Connects only to the addresses that an `AddressGuard` allows."""

        def __init__(self, guard: AddressGuard) -> None:
            super().__init__(socket_factory=guard.socket)
            self._guard = guard

        async def connect(self, *arguments: Any, **options: Any) -> Any:
            """Return a connection, and record its address."""
            connection = await super().connect(*arguments, **options)
            transport = connection.transport
            peer = None if transport is None else transport.get_extra_info("peername")
            if peer:
                self._guard.connected(str(peer[0]))
            return connection

    return GuardedConnector


@cache
def _bounded_response() -> type[aiohttp.ClientResponse]:
    """Return the class of bounded responses; a function, because importing aiohttp is slow."""
    import aiohttp

    class BoundedResponse(aiohttp.ClientResponse):
        """An HTTP response that reads no more bytes than `reading_at_most` allows."""

        async def read(self) -> bytes:
            """Return the body, or raise TooLargeError and close the connection."""
            if not is_limited():
                return await super().read()
            body = bytearray()
            try:
                check_size(self.content_length or 0)
                async for part in self.content.iter_any():
                    body += part
                    check_size(len(body))
            except BaseException:
                self.close()
                raise
            return bytes(body)

    return BoundedResponse
