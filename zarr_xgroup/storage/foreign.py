"""Foreign stores, to which references point: which may be opened, each at most once, and how much may be read.

Sources: specification, "Cross-store references"; ref convention, ``uri``.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Collection, Coroutine, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import unquote

import msgspec
from zarr.abc.store import Store

from zarr_xgroup._requirements import check_requirements
from zarr_xgroup.errors import XGroupError, XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.options import DEFAULTS, StoreOptions
from zarr_xgroup.redaction import redact
from zarr_xgroup.storage.failures import reason_of
from zarr_xgroup.storage.places import (
    Location,
    Network,
    has_plain_hosts,
    is_absolute,
    leads_upwards,
    links_of,
    network_of_link,
    network_of_store,
    options_by_place,
    options_of,
    place_of,
    places_of,
    public_socket,
)

if TYPE_CHECKING:
    import aiohttp  # at run time only where needed: importing it takes longer than all of this package

_SCHEME = re.compile(r"^[^:/]+(?=://)")
#: Replaces the URI in errors of stores beyond `cross_store_max_stores`, so that one warning reports all of them.
_ALL_OTHERS = "*"
#: Storage options, by scheme, to read public data without credentials.
_ANONYMOUS: Mapping[str, Mapping[str, Any]] = {"s3": {"anon": True}, "gs": {"token": "anon"}}

#: Opens a store, given its location, storage options, name for messages and limits; returns its number in
#: the tree, or raises XGroupStoreError with the reason.
Opener: TypeAlias = Callable[
    [str, dict[str, Any] | None, str, "ForeignLimits"], Coroutine[Any, Any, int]
]


class ForeignStores:
    """The foreign stores of one open call, each opened at most once.

    Parameters
    ----------
    opener : callable
        Opens a foreign store and returns its number in the tree.
    zarr_store : callable
        Returns an open store by its number; 0 is the store that the user opened.
    options : StoreOptions
        The options of the call.

    Raises
    ------
    TypeError, ValueError, XGroupPathError
        If an option is not valid.
    """

    def __init__(
        self, opener: Opener, zarr_store: Callable[[int], Store], options: StoreOptions
    ) -> None:
        self._opener = opener
        self._zarr_store = zarr_store
        self._user_place: Location | None = None
        self._options = options_by_place(options.get("cross_store_storage_options"))
        self._limits = ForeignLimits.of(options)
        self._followed: set[tuple[Location, ...]] = set()
        self._opened: dict[Hashable, asyncio.Task[int | XGroupStoreError]] = {}
        self._networks: dict[int, Network] = {}

    def note_user_store(self, uri: str) -> None:
        """Record the place of the store that the user opened: a URI within it does not point to a foreign store."""
        self._user_place = place_of(uri)

    async def root(self, uri: str, referring: int) -> Node | XGroupStoreError:
        """Open the store at a URI if it is not open yet; return its root, or the error why it cannot be opened.

        `referring` is the number of the store that contains the reference. For a URI within the store that the user
        opened, the result is a node of that store.
        """
        links, place, inside = links_of(uri), place_of(uri), None
        given = {link: options_of(link, self._options) for link in links}
        own = self._user_place
        if own is not None and place is not None and own.contains(place):
            inside = Node(0, "/".join(place.segments[len(own.segments) :]))
        if not is_absolute(uri.rpartition("::")[2]) or not has_plain_hosts(uri):
            text = _("{uri!r} is not an absolute URI of a store").format(uri=redact(uri))
            return XGroupStoreError(text, store=redact(uri))
        if leads_upwards(links):
            return _cannot_open_error(uri, _("there is '..' in its path"))
        if inside is None:
            # Counted before opening, to include stores that cannot be opened.
            most = self._limits.stores
            if most is not None and len(self._followed | {links}) > most:
                message = _(
                    "not followed: cross_store_max_stores allows references to at most {count} "
                    "other stores"
                )
                return XGroupStoreError(message.format(count=most), store=_ALL_OTHERS)
            self._followed.add(links)
        try:
            guarded = await self._check_networks(uri, links, given, referring)
        except XGroupStoreError as error:
            return error
        if inside is not None:
            return inside
        key = links, guarded
        if key not in self._opened:
            self._opened[key] = asyncio.create_task(self._open(uri, given, guarded))
        opened = await self._opened[key]
        return opened if isinstance(opened, XGroupStoreError) else Node(opened, "")

    async def _check_networks(
        self, uri: str, links: Sequence[Location], given: Mapping[Location, object], referring: int
    ) -> frozenset[Location]:
        """Raise XGroupStoreError if a store must not refer to a place; return the links to guard.

        This prevents server-side request forgery. Links for which the user gave options are allowed. If a public
        store refers to a public place, the link is guarded: DNS or a redirect must not resolve to a private address.
        """
        if referring not in self._networks:
            self._networks[referring] = await network_of_store(self._zarr_store(referring))
        origin = self._networks[referring]
        if origin == Network.LOCAL:
            return frozenset()
        guarded, networks = set(), set()
        for link in places_of(links):
            is_allowed = given[link] is not None  # the user gave options for it
            try:
                async with asyncio.timeout(self._limits.timeout):
                    network = await network_of_link(link)
            except OSError as error:  # the host has no address, or a timeout
                if not is_allowed:
                    raise _cannot_open_error(uri, reason_of(error)) from error
                network = Network.PUBLIC  # a proxy may know the address
            if network is None and not is_allowed:
                reason = _("a remote store must not refer to a location with an unknown scheme")
                raise _refusal(uri, reason)
            if network == Network.PUBLIC:
                guarded.add(link)
            if not is_allowed:
                networks.add(network)
        if Network.LOCAL in networks:
            raise _refusal(uri, _("a remote store must not refer to local files"))
        if origin != Network.PUBLIC:
            return frozenset()
        if Network.PRIVATE in networks:
            raise _refusal(uri, _("a public store must not refer to a private network"))
        return frozenset(guarded)

    async def _open(
        self,
        uri: str,
        given: Mapping[Location, dict[str, Any] | None],
        guarded: Collection[Location],
    ) -> int | XGroupStoreError:
        """Open a store; return its number in the tree, or the error why it cannot be opened."""
        # fsspec takes options by scheme if the URI is a chain.
        by_scheme: dict[str, Any] = {}
        for text in uri.split("::"):
            link = Location.parse(text)
            named = given[link]
            options = dict(_ANONYMOUS.get(link.scheme, {}) if named is None else named)
            if link.scheme in ("http", "https"):
                options.setdefault("get_client", partial(http_client, link in guarded))
            if options and link.scheme != "file":
                by_scheme[text.partition("://")[0].lower()] = options
        all_options = by_scheme if "::" in uri else next(iter(by_scheme.values()), None)

        if uri.lower().startswith("file://"):
            # The literal path if such a file exists, otherwise the percent-decoded path.
            path = uri[len("file://") :].rstrip("/") or "/"
            location = path if os.path.exists(path) else unquote(path)
        else:  # fsspec expects schemes in lower case, and no slash at the end
            links = (
                _SCHEME.sub(lambda scheme: scheme[0].lower(), text) for text in uri.split("::")
            )
            location = "::".join(links).rstrip("/")
        try:
            return await self._opener(location, all_options or None, redact(uri), self._limits)
        except (
            XGroupError,
            Warning,
        ) as error:  # a warning is raised if the user turned it into an error
            problem = _cannot_open_error(uri, str(error))
            problem.__cause__ = error
            return problem


def _cannot_open_error(uri: str, reason: str) -> XGroupStoreError:
    """Return the error of a foreign store that cannot be opened, its URI redacted."""
    message = _("store {uri} cannot be opened: {reason}").format(uri=redact(uri), reason=reason)
    return XGroupStoreError(message, store=redact(uri))


def _refusal(uri: str, reason: str) -> XGroupStoreError:
    """Return the error of a foreign store that must not be opened, with the option that would allow it."""
    message = _(
        "store {uri} was not opened: {reason} (to allow it, use cross_store_storage_options={example})"
    ).format(uri=redact(uri), reason=reason, example=f"{{{redact(uri)!r}: {{}}}}")
    return XGroupStoreError(message, store=redact(uri))


# How much is read.


class ForeignLimits(msgspec.Struct, frozen=True):
    """The limits of an open call for foreign stores; None for no limit.

    Attributes
    ----------
    timeout : float or None
        Seconds to wait each time that documents or values of a store are read.
    document : int or None
        Largest size of a metadata document in bytes.
    stores : int or None
        Largest number of stores to which references are followed.
    """

    timeout: float | None = DEFAULTS["cross_store_timeout"]
    document: int | None = DEFAULTS["cross_store_max_bytes"]
    stores: int | None = DEFAULTS["cross_store_max_stores"]

    @classmethod
    def of(cls, options: StoreOptions) -> Self:
        """Return the limits in options; raise TypeError or ValueError if a value is not valid."""
        values = []
        for option, kind, least in (
            ("cross_store_timeout", int | float, 0),
            ("cross_store_max_bytes", int, 1),
            ("cross_store_max_stores", int, 0),  # 0: no other store may be opened
        ):
            value: Any = options.get(option, DEFAULTS[option])
            is_number = isinstance(value, kind) and not isinstance(value, bool)
            is_valid = is_number and (value >= least if kind is int else value > least)
            if value is not None and not is_valid:
                message = _(
                    "{option} must be an integer of at least {least} or None, got {value!r}"
                )
                if kind is not int:
                    message = _(
                        "{option} must be a positive number of seconds or None, got {value!r}"
                    )
                error = ValueError if is_number else TypeError
                raise error(message.format(option=option, least=least, value=value))
            values.append(value)
        return cls(*values)


#: The limits of the store that the user opens.
NO_LIMITS = ForeignLimits(None, None, None)

#: Largest size in bytes of the document or chunk being read, None for no limit; each task has its own value.
_MOST_BYTES: ContextVar[int | None] = ContextVar("most_bytes", default=None)


class TooLargeError(Exception):
    """A document or chunk of a foreign store is larger than the limit."""


@contextmanager
def reading_at_most(size: int | None) -> Iterator[None]:
    """Limit the bytes of each document or chunk read within, for `check_size` and the HTTP client; None for no limit."""
    token = _MOST_BYTES.set(size)
    try:
        yield
    finally:
        _MOST_BYTES.reset(token)


def check_size(size: int) -> None:
    """Raise TooLargeError if a size in bytes is beyond the limit of `reading_at_most`."""
    most = _MOST_BYTES.get()
    if most is not None and size > most:
        raise TooLargeError(_("it is larger than {count} bytes").format(count=most))


async def http_client(is_guarded: bool, **options: Any) -> aiohttp.ClientSession:
    """Return an HTTP client that reads no more of a response than `reading_at_most` allows.

    For the option ``get_client`` of fsspec's `HTTPFileSystem`. A range request is not enough, because a server may
    ignore it. If `is_guarded`, the client connects only to public addresses, also after redirects.
    """
    import aiohttp  # not at the top: importing it takes longer than all of this package

    if is_guarded:
        check_requirements({"aiohttp": "3.12"})  # the first version with socket_factory
        options["connector"] = aiohttp.TCPConnector(socket_factory=public_socket)
    return aiohttp.ClientSession(**{"response_class": _bounded_response(), **options})


def has_bounded_client(store: Store) -> bool:
    """Return whether a store reads with `http_client`, which stops reading a response that is too large."""
    get_client = getattr(getattr(store, "fs", None), "get_client", None)
    return isinstance(get_client, partial) and get_client.func is http_client


@cache
def _bounded_response() -> type[aiohttp.ClientResponse]:
    """Return the class of bounded responses; a function, because importing aiohttp is slow."""
    import aiohttp

    class BoundedResponse(aiohttp.ClientResponse):
        """An HTTP response that reads no more bytes than `reading_at_most` allows."""

        async def read(self) -> bytes:
            """Return the body, or raise TooLargeError and close the connection."""
            if _MOST_BYTES.get() is None:
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
