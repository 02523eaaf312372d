"""Foreign stores, to which references point: which may be opened, each at most once, and how much may be read.

Sources: specification, "Cross-store references"; ref convention, ``uri``.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Collection, Coroutine, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import unquote

from zarr_xgroup.errors import XGroupError, XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.options import StoreOptions
from zarr_xgroup.redaction import redact
from zarr_xgroup.storage.addresses import Address, address_of
from zarr_xgroup.storage.clients import http_client
from zarr_xgroup.storage.failures import reason_of
from zarr_xgroup.storage.handles import Handle
from zarr_xgroup.storage.limits import ForeignLimits
from zarr_xgroup.storage.places import (
    Location,
    Network,
    has_plain_hosts,
    is_absolute,
    leads_upwards,
    links_of,
    network_of_host,
    network_of_link,
    options_by_place,
    options_of,
    place_of,
    places_of,
)

_SCHEME = re.compile(r"^[^:/]+(?=://)")
#: Replaces the URI in errors of stores beyond `cross_store_max_stores`, so that one warning reports all of them.
_ALL_OTHERS = "*"
#: Storage options, by scheme, to read public data without credentials.
_ANONYMOUS: Mapping[str, Mapping[str, Any]] = {"s3": {"anon": True}, "gs": {"token": "anon"}}

#: Opens the store at an address within limits; returns its number in the tree, or raises XGroupStoreError with the reason.
Opener: TypeAlias = Callable[[Address, ForeignLimits], Coroutine[Any, Any, int]]


class ForeignStores:
    """The foreign stores of one open call, each opened at most once.

    Parameters
    ----------
    opener : callable
        Opens a foreign store and returns its number in the tree.
    handle : callable
        Returns the handle of an open store by its number; 0 is the store that the user opened.
    options : StoreOptions
        The options of the call.

    Raises
    ------
    TypeError, ValueError, XGroupPathError
        If an option is not valid.
    """

    def __init__(
        self, opener: Opener, handle: Callable[[int], Handle], options: StoreOptions
    ) -> None:
        self._opener = opener
        self._handle = handle
        self._options = options_by_place(options.get("cross_store_storage_options"))
        self._limits = ForeignLimits.of(options)
        self._followed: set[tuple[Location, ...]] = set()
        self._opened: dict[Hashable, asyncio.Task[int | XGroupStoreError]] = {}
        self._networks: dict[int, Network] = {}

    async def root(self, uri: str, referring: int) -> Node | XGroupStoreError:
        """Open the store at a URI if it is not open yet; return its root, or the error why it cannot be opened.

        `referring` is the number of the store that contains the reference. For a URI within the store that the user
        opened, the result is a node of that store.
        """
        links, place, inside = links_of(uri), place_of(uri), None
        given = {link: options_of(link, self._options) for link in links}
        own = self._handle(0).place
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
            self._networks[referring] = await _network_of(self._handle(referring))
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
            if link in guarded and link.scheme in ("http", "https"):
                options.setdefault("get_client", partial(http_client, True))
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
            given_options: StoreOptions = {"storage_options": all_options or None}
            address = address_of(location, given_options, redact(uri))
            return await self._opener(address, self._limits)
        except (
            XGroupError,
            Warning,
        ) as error:  # a warning is raised if the user turned it into an error
            problem = _cannot_open_error(uri, str(error))
            problem.__cause__ = error
            return problem


async def _network_of(handle: Handle) -> Network:
    """Return the network of an open store; PUBLIC, the least trusted network, if it is not known."""
    if handle.is_local:
        return Network.LOCAL
    try:
        return Network.PUBLIC if handle.host is None else await network_of_host(handle.host)
    except OSError:
        return Network.PUBLIC


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
