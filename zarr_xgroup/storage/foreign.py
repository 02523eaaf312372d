"""Stores that references lead to: which may be opened, each at most once for an open.

Sources: specification, "Cross-store references"; ref convention, ``uri``.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Collection, Coroutine, Hashable, Mapping
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import unquote

from zarr.abc.store import Store

from zarr_xgroup.errors import XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.options import DEFAULTS, ForeignOptions
from zarr_xgroup.redaction import redact_uri
from zarr_xgroup.storage.failures import reason_of
from zarr_xgroup.storage.limits import ForeignLimits, bounded_client, plain_client
from zarr_xgroup.storage.trust import (
    Network,
    network_of_link,
    network_of_store,
    places_of,
    public_client,
)
from zarr_xgroup.storage.uris import (
    Link,
    by_prefix,
    has_plain_hosts,
    is_absolute,
    leads_upwards,
    links_of,
    options_of,
    place_of,
)

#: Stands in a warning for all stores beyond the limit, so that there is one warning about them.
_ALL_OTHERS = "*"

#: Options with which public data is read without credentials.
_ANONYMOUS: Mapping[str, Mapping[str, Any]] = {"s3": {"anon": True}, "gs": {"token": "anon"}}


#: Given a location, storage options, a name for messages and limits, opens another store and returns
#: its number, or raises XGroupStoreError with the reason.
Opener: TypeAlias = Callable[
    [str, dict[str, Any] | None, str, ForeignLimits], Coroutine[Any, Any, int]
]


class ForeignStores:
    """The stores that references of one open lead to, each opened at most once.

    Parameters
    ----------
    opener : callable
        Opens another store and returns its number.
    zarr_store : callable
        Returns an open store by its number; 0 is the one that the user opened.
    options : ForeignOptions
        How others are opened.

    Raises
    ------
    TypeError, ValueError, XGroupPathError
        If the options cannot be used.
    """

    def __init__(
        self,
        opener: Opener,
        zarr_store: Callable[[int], Store],
        options: ForeignOptions,
    ) -> None:
        self._opener = opener
        self._zarr_store = zarr_store
        self._place: Link | None = None
        self._options = by_prefix(options.get("cross_store_storage_options"))
        self._limits = _limits(options)
        self._opened: dict[Hashable, asyncio.Task[int | XGroupStoreError]] = {}
        self._followed: set[tuple[Link, ...]] = set()
        self._networks: dict[int, Network] = {}

    def begin_at(self, uri: str) -> None:
        """Note where the store is that the user opened: what lies in it is no other store."""
        self._place = place_of(uri)

    async def root(self, uri: str, referring: int) -> Node | XGroupStoreError:
        """Return the root of the store at a URI that another one has, opened now if it was not, or why not."""
        try:
            return await self._found(uri, referring)
        except XGroupStoreError as error:
            return error
        except Exception as error:  # noqa: BLE001 - storage libraries raise errors of their own
            problem = _not_opened(uri, reason_of(error))
            problem.__cause__ = error
            return problem

    async def _found(self, uri: str, referring: int) -> Node:
        links = _links_to_follow(uri)
        inside = self._inside(uri)
        if inside is None:
            self._follow(links)
        options = [options_of(link, self._options) for link in links]
        named = {link for link, given in zip(links, options, strict=True) if given is not None}
        guarded = await self._check(uri, links, named, referring)
        if inside is not None:
            return Node(0, inside)
        key = links, guarded
        if key not in self._opened:
            opening = self._open(uri, _storage_options(uri, options, guarded))
            self._opened[key] = asyncio.create_task(opening)
        opened = await self._opened[key]
        if isinstance(opened, XGroupStoreError):
            raise opened
        return Node(opened, "")

    def _follow(self, links: tuple[Link, ...]) -> None:
        """Count a store before it is opened: only the first so many are followed."""
        self._followed.add(links)
        most = self._limits.stores
        if most is not None and len(self._followed) > most:
            self._followed.discard(links)
            message = _(
                "not followed: an open follows references to {count} other stores, the most that "
                "cross_store_max_stores allows"
            )
            raise XGroupStoreError.of(_ALL_OTHERS, message.format(count=most))

    def _inside(self, uri: str) -> str | None:
        """Return the path of a place that lies inside the store opened itself, else None."""
        place = place_of(uri)
        if self._place is None or place is None or not self._place.contains(place):
            return None
        return "/".join(place.segments[len(self._place.segments) :])

    async def _check(
        self,
        uri: str,
        links: tuple[Link, ...],
        named: set[Link],
        referring: int,
    ) -> frozenset[Link]:
        """Raise if a store must not lead to a place; return the links to guard.

        Design, "References". Every link is judged, but those that the user has named. A public
        store must not get further than to public places by way of one, named or not.
        """
        origin = await self._network_of_store(referring)
        if origin == Network.LOCAL:
            return frozenset()
        networks = {it: await self._network_of(uri, it, it in named) for it in places_of(links)}
        unnamed = {networks[link] for link in networks.keys() - named}
        if Network.LOCAL in unnamed:
            raise _refused(uri, _("a store that is not local must not lead to local files"))
        if origin != Network.PUBLIC:
            return frozenset()
        if Network.PRIVATE in unnamed:
            raise _refused(uri, _("a public store must not lead into a private network"))
        return frozenset(link for link, network in networks.items() if network == Network.PUBLIC)

    async def _network_of(self, uri: str, link: Link, is_named: bool) -> Network:
        """Return the network of a link, or raise if it is not known and the user has not named it."""
        try:
            async with asyncio.timeout(self._limits.timeout):
                network = await network_of_link(link)
        except OSError as error:  # also a timeout
            if is_named:
                return Network.PUBLIC  # a proxy may know it
            raise _not_opened(uri, reason_of(error)) from error
        if network is None and not is_named:
            reason = _("a store that is not local must not lead to places of unknown kind")
            raise _refused(uri, reason)
        return Network.LOCAL if network is None else network  # nobody but the user vouches for it

    async def _network_of_store(self, referring: int) -> Network:
        if referring not in self._networks:
            self._networks[referring] = await network_of_store(self._zarr_store(referring))
        return self._networks[referring]

    async def _open(self, uri: str, options: dict[str, Any] | None) -> int | XGroupStoreError:
        location = _local_path(uri) if uri.lower().startswith("file://") else _lowered(uri)
        try:
            return await self._opener(location, options, redact_uri(uri), self._limits)
        except (XGroupStoreError, Warning) as error:  # a warning that is to be an error
            problem = _not_opened(uri, str(error))
            problem.__cause__ = error
            return problem


def _links_to_follow(uri: str) -> tuple[Link, ...]:
    """Return the links of the URI of a store, or raise XGroupStoreError if it can be none."""
    if not is_absolute(uri.rpartition("::")[2]) or not has_plain_hosts(uri):
        message = _("{uri!r} is not an absolute URI of a store").format(uri=redact_uri(uri))
        raise XGroupStoreError.of(redact_uri(uri), message)
    links = links_of(uri)
    if leads_upwards(links):
        raise _not_opened(uri, _("there is '..' in its path"))
    return links


def _limits(options: ForeignOptions) -> ForeignLimits:
    """Return the limits that options set, or raise TypeError or ValueError if one is none."""
    seconds = _("{option} must be a positive number of seconds or None, got {value!r}")
    number = _("{option} must be a positive integer or None, got {value!r}")
    values = []
    for option, kind, message in (
        ("cross_store_timeout", int | float, seconds),
        ("cross_store_max_bytes", int, number),
        ("cross_store_max_stores", int, number),
    ):
        value: Any = options.get(option, DEFAULTS[option])
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, kind):
                raise TypeError(message.format(option=option, value=value))
            if not value > 0:
                raise ValueError(message.format(option=option, value=value))
        values.append(value)
    return ForeignLimits(*values)


def _storage_options(
    uri: str, given: list[dict[str, Any] | None], guarded: Collection[Link]
) -> dict[str, Any] | None:
    """Return fsspec's options for a URI: by scheme, if it is a chain."""
    by_scheme: dict[str, Any] = {}
    texts = uri.split("::")
    for text, options in zip(texts, given, strict=True):
        link = Link.parse(text)
        if options is None:
            options = dict(_ANONYMOUS.get(link.scheme, {}))
        if link.scheme in ("http", "https"):
            make = public_client if link in guarded else plain_client
            options.setdefault("get_client", partial(bounded_client, make))
        if options and link.scheme != "file":
            by_scheme[text.partition("://")[0].lower()] = options
    if len(texts) > 1:
        return by_scheme or None
    return next(iter(by_scheme.values()), None)


def _lowered(uri: str) -> str:
    """Return a URI as fsspec takes it: schemes in lower case, no slash at the end."""
    links = (re.sub(r"^[^:/]+(?=://)", lambda m: m[0].lower(), link) for link in uri.split("::"))
    return "::".join(links).rstrip("/")


def _local_path(uri: str) -> str:
    """Return the path of a ``file://`` URI: literally if it is there, else percent-decoded."""
    path = uri[len("file://") :].rstrip("/") or "/"
    return path if os.path.exists(path) else unquote(path)


def _not_opened(uri: str, reason: str) -> XGroupStoreError:
    message = _("store {uri} cannot be opened: {reason}").format(uri=redact_uri(uri), reason=reason)
    return XGroupStoreError.of(redact_uri(uri), message)


def _refused(uri: str, reason: str) -> XGroupStoreError:
    message = _(
        "store {uri} was not opened: {reason} (allow it by cross_store_storage_options={example})"
    ).format(uri=redact_uri(uri), reason=reason, example=f"{{{redact_uri(uri)!r}: {{}}}}")
    return XGroupStoreError.of(redact_uri(uri), message)
