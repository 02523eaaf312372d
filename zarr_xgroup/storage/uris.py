"""URIs of stores, and storage options that hold below a prefix of them.

Sources: RFC 3986, sections 3 and 6.2 (syntax, normalization); fsspec, "URL chaining" (links of
a chain are separated by ``::``, the innermost place comes last).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from zarr_xgroup.errors import XGroupPathError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.paths import decoded_to_the_end
from zarr_xgroup.redaction import HOSTED, redact_location

_URI = re.compile(
    r"(?P<scheme>[A-Za-z][\w+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:[?#].*)?", re.DOTALL
)
_FILE = re.compile(
    r"(?P<scheme>file)://(?P<authority>[^/]*)(?P<path>.*)", re.DOTALL | re.IGNORECASE
)

#: Schemes of object stores, whose public servers are reached unless options name others.
CLOUD = frozenset({"s3", "gs", "az", "abfs", "abfss", "adl"})
_ALIASES = {"gcs": "gs", "s3a": "s3", "local": "file"}
#: Schemes whose authority is a host or a bucket, which have no case.
_CASELESS = HOSTED | CLOUD
_HOST = re.compile(r"(?:[^\s:\[\]]*|\[[^\s\[\]]*\])(?::[0-9]*)?")
#: Names of buckets, without and with an account (``abfs://container@account...``), or an ARN of AWS.
_BUCKET, _BUCKET_OF = re.compile(r"arn:[^@]*|[^:@]*"), re.compile(r"[^:@]*(?:@[^:@]*)?")
_DECODED = frozenset({"http", "https", "file"})
_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21", "sftp": "22", "ssh": "22"}

#: fsspec's filesystems that keep copies of what the next link of a chain gives, unchanged.
CACHES = frozenset({"simplecache", "filecache", "blockcache", "cached"})


@dataclass(frozen=True)
class Link:
    """A place that a URI names, or one link of a chain of them: equal for equal places.

    Attributes
    ----------
    scheme : str
        In lower case, aliases replaced (``gcs`` by ``gs``). A path without a scheme is of ``file``.
    authority : str
        Host, bucket or the like, without user information and default port; in lower case
        where case does not count.
    segments : tuple of str
        Of the path, without empty ones and ``.``; percent-decoded where that is the same place
        (a key of an object store is literal).
    """

    scheme: str
    authority: str
    segments: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Link:
        """Parse one link: a URI, a local path, or the bare name of a filesystem."""
        url = _parts(text)
        if url is None:
            is_name = re.fullmatch(r"[A-Za-z][\w+.-]*", text) is not None
            if is_name:
                return cls(text.lower(), "", ())
            return cls("file", "", _segments(text, decoded=True))
        scheme = _ALIASES.get(url["scheme"].lower(), url["scheme"].lower())
        authority = url["authority"].rpartition("@")[2]
        if scheme in _CASELESS:
            authority = authority.lower()
        authority = authority.removesuffix(f":{_DEFAULT_PORTS.get(scheme, '')}").removesuffix(":")
        return cls(scheme, authority, _segments(url["path"], decoded=scheme in _DECODED))

    @property
    def host(self) -> str:
        """The authority without a port, and an IPv6 address without its brackets."""
        return re.sub(r":\d*$", "", self.authority).strip("[]")

    def contains(self, other: Link) -> bool:
        """Tell whether another place is this one or below it.

        A bare ``scheme://`` contains all of its scheme.
        """
        if self.scheme != other.scheme:
            return False
        if not self.authority and not self.segments:
            return True
        is_below = other.segments[: len(self.segments)] == self.segments
        return self.authority == other.authority and is_below


def is_absolute(uri: str) -> bool:
    """Tell whether a URI has a scheme and names a place by it."""
    return _parts(uri) is not None


def has_plain_hosts(uri: str) -> bool:
    """Tell whether hosts are followed by nothing but a port, in all links of a URI, and Python can split it.

    And buckets by nothing at all. Else what looks like a host is part of a password that was not
    percent-encoded, or a bucket has credentials before it, and messages of libraries would show these.
    """
    try:
        return all(map(_has_plain_host, uri.split("::"))) and bool(
            [*map(urlsplit, uri.split("::"))]
        )
    except ValueError:
        return False


def _has_plain_host(text: str) -> bool:
    link, url = Link.parse(text), _parts(text)
    if link.scheme in HOSTED:
        return _HOST.fullmatch(link.authority) is not None
    if url is None or link.scheme not in CLOUD:
        return True
    bucket = _BUCKET if link.scheme in ("s3", "gs") else _BUCKET_OF
    return bucket.fullmatch(url["authority"]) is not None


def _parts(uri: str) -> re.Match[str] | None:
    return _FILE.fullmatch(uri) or _URI.fullmatch(uri)


def _segments(path: str, *, decoded: bool) -> tuple[str, ...]:
    # Split first: an encoded slash separates nothing.
    segments = (unquote(text) if decoded else text for text in path.split("/"))
    return tuple(segment for segment in segments if segment not in ("", "."))


def links_of(uri: str) -> tuple[Link, ...]:
    """Return the links of a URI, one unless it is chained."""
    return tuple(Link.parse(text) for text in uri.split("::"))


def place_of(uri: str) -> Link | None:
    """Return the one location that a URI names, without caches; None for an archive and the like."""
    links = [link for link in links_of(uri) if link.scheme not in CACHES]
    return links[0] if len(links) == 1 else None


def by_prefix(options: Any) -> dict[Link, Mapping[str, Any]]:
    """Return storage options by the places below which they hold, the most special ones first.

    Parameters
    ----------
    options : mapping of str to mapping, or None
        By URI prefix.

    Raises
    ------
    TypeError
        If it is no mapping of strings to mappings.
    XGroupPathError
        If a prefix is neither the beginning of a URI nor an absolute path.
    """
    written = {} if options is None else options
    if not isinstance(written, Mapping) or not all(map(_is_option, written.items())):
        message = _(
            "cross_store_storage_options must map URI prefixes to dicts of storage options, got "
            "{kind}"
        )
        raise TypeError(message.format(kind=type(options).__name__))
    for prefix in written:
        if not is_absolute(prefix) and not prefix.startswith("/"):
            message = _("cross_store_storage_options: {prefix!r} is not the beginning of a URI")
            raise XGroupPathError(message.format(prefix=redact_location(prefix)))
    places = {Link.parse(prefix): values for prefix, values in reversed(list(written.items()))}
    longest = sorted(places, key=lambda it: (bool(it.authority), len(it.segments)), reverse=True)
    return {place: places[place] for place in longest}


def _is_option(item: tuple[Any, Any]) -> bool:
    return isinstance(item[0], str) and isinstance(item[1], Mapping)


def options_of(link: Link, by_place: Mapping[Link, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the options for a place, or None if no prefix contains it."""
    return next((dict(it) for place, it in by_place.items() if place.contains(link)), None)


def leads_upwards(links: Iterable[Link]) -> bool:
    """Tell whether a path has ``..`` in it, so that where it leads depends on who reads it."""
    return any(
        link.authority == ".."
        or any(".." in re.split(r"[/\\]", decoded_to_the_end(it)) for it in link.segments)
        for link in links
    )
