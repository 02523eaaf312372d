"""Stores that references lead to: which may be opened, each at most once for an open.

Sources: specification, "Cross-store references"; ref convention, ``uri``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, TypeVar
from urllib.parse import unquote

from zarr.abc.store import Store
from zarr.core.sync import sync

from zarr_xgroup.errors import XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.reach import (
    Reach,
    UnjudgedError,
    places_of,
    public_client,
    reach_of_link,
    reach_of_store,
)
from zarr_xgroup.resolver import Documents, Node
from zarr_xgroup.stores import reason_of
from zarr_xgroup.uris import (
    Link,
    PrefixedOptions,
    is_absolute,
    leads_upwards,
    links_of,
    place_of,
    redact,
)

#: How long an open waits for the documents of one foreign store, and then for values from it,
#: in seconds.
DEFAULT_TIMEOUT = 30.0

#: Options with which public data is read without credentials.
_ANONYMOUS: Mapping[str, Mapping[str, Any]] = {"s3": {"anon": True}, "gs": {"token": "anon"}}


class ForeignOptions(TypedDict, total=False):
    """The options of an open that say how other stores are opened."""

    cross_store_storage_options: Mapping[str, Mapping[str, Any]] | None
    cross_store_timeout: float | None


class OpenedStore(Documents, Protocol):
    """The documents of a store that is open."""

    @property
    def store(self) -> Store:
        """What they are read from."""

    async def load_nodes(self, paths: Iterable[str]) -> None:
        """Read the documents of nodes, concurrently, as far as they are not known yet."""


H = TypeVar("H", bound=OpenedStore)

#: Opens the store at a place, given storage options, its name, a deadline and the time limit.
Opener = Callable[[str, dict[str, Any] | None, str, float | None, float | None], Awaitable[H]]


@dataclass
class _Place:
    """A foreign store, or why it is none."""

    uri: str
    opened: Any = None
    error: XGroupStoreError | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class ForeignStores(Generic[H]):
    """The stores that references of one open lead to, each opened at most once.

    Parameters
    ----------
    opened : Hierarchy
        The store that is opened itself.
    uri : str or None
        Where it is.
    options : ForeignOptions
        How others are opened.
    opener : callable
        Opens one.
    """

    def __init__(
        self, opened: H, uri: str | None, options: ForeignOptions, opener: Opener[H]
    ) -> None:
        self._opened = opened
        self._place = None if uri is None else place_of(uri)
        self._options = PrefixedOptions(options.get("cross_store_storage_options"))
        self._timeout = options.get("cross_store_timeout", DEFAULT_TIMEOUT)
        self._opener = opener
        self._places: dict[Hashable, _Place] = {}
        self._reaches: dict[int, Reach] = {}
        self._deadlines: dict[Hashable, float] = {}

    def root(self, uri: str, referring: H) -> Node:
        """Return the root of the store at a URI, opened now if it was not yet.

        Parameters
        ----------
        uri : str
            As a reference has it.
        referring : Hierarchy
            The store in which the reference is written.

        Raises
        ------
        XGroupStoreError
            If it cannot be opened, or must not be.
        """
        return sync(self._root(uri, referring))

    async def load(self, uri: str, referring: H, paths: Collection[str]) -> None:
        """Open the store at a URI and read the documents of nodes, as far as that can be done."""
        try:
            root = await self._root(uri, referring)
        except XGroupStoreError:
            return  # raised again, with the reference, when that is resolved
        documents: Any = root.documents
        below = f"{root.path}/" if root.path else ""
        await documents.load_nodes(below + path for path in paths)

    def opened(self) -> list[H]:
        """Return the stores that were opened."""
        return [place.opened for place in self._places.values() if place.opened is not None]

    async def _root(self, uri: str, referring: H) -> Node:
        if not is_absolute(uri.rpartition("::")[2]):
            message = _("{uri!r} is not an absolute URI of a store").format(uri=redact(uri))
            raise XGroupStoreError.of(redact(uri), message)
        links = links_of(uri)
        if leads_upwards(links):
            raise _told(uri, _("there is '..' in its path"))
        options = [self._options.of(link) for link in links]
        is_guarded = await self._check(uri, links, options, referring)
        inside = self._inside(uri)
        if inside is not None:
            return Node(self._opened, inside)
        place = self._places.setdefault((links, is_guarded), _Place(uri))
        async with place.lock:
            if place.opened is None and place.error is None:
                storage_options = _storage_options(uri, options, is_guarded)
                await self._open(place, storage_options, self._deadline(links))
        if place.error is not None:
            raise place.error
        return Node(place.opened, "")

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
        options: list[dict[str, Any] | None],
        referring: H,
    ) -> bool:
        """Raise if a store must not lead to a place; tell whether it may to public ones only.

        Design, "References". Every link is judged, but those that the user has named.
        """
        named = {link for link, given in zip(links, options, strict=True) if given is not None}
        unnamed = set(places_of(links)) - named
        origin = await self._reach(referring)
        if origin == Reach.LOCAL or not unnamed:
            return False
        try:
            async with asyncio.timeout_at(self._deadline(links)):
                target = min([await reach_of_link(link) for link in unnamed])
        except UnjudgedError as error:
            reason = _("a store that is not local must not lead to places of unknown kind")
            raise _refused(uri, reason) from error
        except OSError as error:  # also a timeout
            raise _told(uri, reason_of(error)) from error
        if target == Reach.LOCAL:
            raise _refused(uri, _("a store that is not local must not lead to local files"))
        if target == Reach.PRIVATE and origin == Reach.PUBLIC:
            raise _refused(uri, _("a public store must not lead into a private network"))
        return origin == Reach.PUBLIC

    def _deadline(self, links: tuple[Link, ...]) -> float | None:
        """Return until when a store has time, from when it was first asked for."""
        if self._timeout is None:
            return None
        now = asyncio.get_running_loop().time()
        return self._deadlines.setdefault(links, now + self._timeout)

    async def _reach(self, referring: H) -> Reach:
        if id(referring) not in self._reaches:
            self._reaches[id(referring)] = await reach_of_store(referring.store)
        return self._reaches[id(referring)]

    async def _open(
        self, place: _Place, options: dict[str, Any] | None, deadline: float | None
    ) -> None:
        uri = place.uri
        location = _local_path(uri) if uri.lower().startswith("file://") else _lowered(uri)
        try:
            place.opened = await self._opener(
                location, options, redact(uri), deadline, self._timeout
            )
        except XGroupStoreError as error:
            place.error = _told(uri, str(error))
            place.error.__cause__ = error


def _storage_options(
    uri: str, given: list[dict[str, Any] | None], is_guarded: bool
) -> dict[str, Any] | None:
    """Return fsspec's options for a URI: by scheme, if it is a chain."""
    by_scheme: dict[str, Any] = {}
    texts = uri.split("::")
    for text, options in zip(texts, given, strict=True):
        link = Link.parse(text)
        if options is None:
            options = dict(_ANONYMOUS.get(link.scheme, {}))
            if is_guarded and link.scheme in ("http", "https"):
                options["get_client"] = public_client
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
    return path if Path(path).exists() else unquote(path)


def _told(uri: str, reason: str) -> XGroupStoreError:
    message = _("store {uri} cannot be opened: {reason}").format(uri=redact(uri), reason=reason)
    return XGroupStoreError.of(redact(uri), message)


def _refused(uri: str, reason: str) -> XGroupStoreError:
    message = _(
        "store {uri} was not opened: {reason} (allow it by cross_store_storage_options={example})"
    ).format(uri=redact(uri), reason=reason, example=f"{{{redact(uri)!r}: {{}}}}")
    return XGroupStoreError.of(redact(uri), message)
