"""Text that may be shown: without what may be secret, and printable. The one place that makes it.

Left out are user information, queries and fragments of URIs (RFC 3986, section 3): passwords,
tokens, signatures. `redact_uri` knows that a text is the URI of a reference, and `redact_location` that it is
what a user opens. `redact` looks for URLs within a text that somebody else may have made, and rather
cuts out too much. All errors, warnings and findings of this package pass their text through
`presentable`.
"""

from __future__ import annotations

import re
import traceback
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import TypeVar
from urllib.parse import unquote

E = TypeVar("E", bound=BaseException)

_SCHEME = r"[A-Za-z][\w+.-]{0,63}"
#: What separates the links of a chain (fsspec, "URL chaining"); in user information it does not.
_LINK = re.compile(rf"::(?={_SCHEME}(?:://|::))")
_URI = re.compile(rf"(?P<scheme>{_SCHEME})://(?P<rest>.*)", re.DOTALL)
_AUTHORITY_END = re.compile(r"[/?#]")
_QUERY = re.compile(r"[?#].*", re.DOTALL)
#: Schemes whose authority is a host and a port: what else stands behind a colon is a password.
HOSTED = frozenset({"http", "https", "ftp", "sftp", "ssh"})
#: A port, at the end of an authority; ``]`` ends an address of IPv6.
_PORT = re.compile(r"[^:]*(?::[0-9]+)?|\[[^\[\]]*\](?::[0-9]*)?", re.DOTALL)

#: What begins like ``name:password@host``, without a scheme, up to the password.
_BARE_USER = re.compile(r"(?<![^/\\:@])[^/\\:@]{2,}+:(?!:)")
#: What a URI without a scheme may have in it, also where it is percent-encoded as a whole.
_AT = re.compile(r"@|%40")
_AFTER_AT = re.compile(r"(?<=@)|(?<=%40)")
_BARE_QUERY = re.compile(r"(?:[?#]|%3F|%23).*", re.DOTALL | re.IGNORECASE)

#: Behind what user information may stand within a text.
_SLASHES = re.compile(r"""(?<![^\s"'(=,])//|(?<=\w\w)://?|%3A%2F%2F""", re.IGNORECASE)
_AUTHORITY_END_IN_TEXT = re.compile(r"[/?#\s]")
_USER_END = re.compile(r"[/?#\s@:\[\]]")
_NEXT_URL = re.compile("//")
_PORT_IN_TEXT = re.compile(r"""[0-9]{1,5}(?:[/?#\s'"|\]}>]|[,.;:)](?:\s|$)|$)""")
#: A URL within a text, of which a path may have been made, and its query. In what references are
#: called, ``|`` ends it.
_QUERY_IN_TEXT = re.compile(
    rf"(?P<url>[A-Za-z][\w+.-]{{1,63}}://?[^\s?#|]*)(?:[?#](?:(?!::{_SCHEME}(?:://|::))\S)*)?"
)
#: The URI of a reference within a text, as JSON and Python write it. It need not be whole.
_URI_MEMBER = re.compile(
    r"""(?P<key>["']uri["']\s*:\s*["'])(?P<uri>(?<=")(?:[^"\\]|\\.)*|(?<=')(?:[^'\\]|\\.)*)""",
    re.DOTALL,
)


def redact_uri(uri: str) -> str:
    """Return the URI of a reference, which may be a chain, without what may be secret in it.

    What has no scheme is treated alike: nothing can be opened by it, but it may have been a URL.
    """
    return _redact_links(uri, _redact_bare)


def redact_location(place: str) -> str:
    """Return what a user opens (URI, chain of URIs, or path) without what may be secret in it."""
    return _redact_links(place, _redact_path)


def _redact_bare(link: str) -> str:
    *before, rest = _AT.split(link)
    if any(map(_BARE_QUERY.search, before)):
        return "..."  # a password with such letters, or a query with an @: both may be secret
    return redact(_BARE_QUERY.sub("", rest))


def _redact_path(path: str) -> str:
    """Return a path, without what begins like ``name:password@host``."""
    head, _at, tail = path.rpartition("@")
    user = _BARE_USER.search(head)
    return redact(path if user is None else head[: user.start()] + tail)


def _redact_links(chain: str, redact_bare: Callable[[str], str]) -> str:
    return "::".join(_redact_link(link, redact_bare) for link in _LINK.split(chain))


def _redact_link(link: str, redact_bare: Callable[[str], str]) -> str:
    url = _URI.fullmatch(link)
    if url is None:
        return redact_bare(link)
    if url["scheme"].lower() in ("file", "local"):
        return link
    rest = _without_user(url["rest"], is_hosted=url["scheme"].lower() in HOSTED)
    return redact(f"{url['scheme']}://{_QUERY.sub('', rest)}")


def _without_user(rest: str, *, is_hosted: bool) -> str:
    """Return what follows the scheme of a URI, from its host on."""
    written = _AUTHORITY_END.split(rest, maxsplit=1)[0]
    path = rest[len(written) :]
    host = (unquote(written) if is_hosted else written).rpartition("@")[2]
    if _PORT.fullmatch(host) is not None:
        return host + path
    if "@" in path:  # a password that was not percent-encoded
        return path.rpartition("@")[2]
    return (host.partition(":")[0] if is_hosted else host) + path


def presentable(text: str) -> str:
    """Return a text as all of this package's own is shown: without secrets, and printable."""
    return printable(redact(text))


def printable(text: str) -> str:
    """Return a text with all that is not to be seen as escapes, as Python writes them.

    What others wrote into a store could else move the cursor, recolour the screen, break lines or
    reverse the order of letters: control characters, bidirectional ones, line separators, halves
    of surrogate pairs. Spaces of all widths stay.
    """
    return text if text.isprintable() else "".join(map(_printable_letter, text))


def _printable_letter(letter: str) -> str:
    if letter.isprintable() or unicodedata.category(letter) == "Zs":
        return letter
    return letter.encode("unicode_escape").decode("ascii")


def redact(text: str) -> str:
    """Return a text with user information, query and fragment cut out of the URLs in it."""
    if "uri" in text:
        text = _URI_MEMBER.sub(lambda member: member["key"] + redact_uri(member["uri"]), text)
    if ":/" not in text and "//" not in text and "%2f%2f" not in text.lower():
        return text
    return _QUERY_IN_TEXT.sub(_without_query, _without_users(text))


def _without_users(text: str) -> str:
    """Return a text without the user information of URLs in it.

    What stands behind a colon and is no port is taken for a password that was not percent-encoded: it
    ends at the last ``@`` before the next URL. All letters that matter are looked up once.
    """
    authority_ends, user_ends, urls, ats = (
        [found.start() for found in pattern.finditer(text)]
        for pattern in (_AUTHORITY_END_IN_TEXT, _USER_END, _NEXT_URL, _AFTER_AT)
    )

    def first(places: list[int], begin: int) -> int:
        index = bisect_left(places, begin)
        return places[index] if index < len(places) else len(text)

    def after_last_at(begin: int, end: int) -> int:
        return max(begin, ats[index - 1] if (index := bisect_right(ats, end)) else begin)

    def end_of_user(begin: int) -> int:
        end = after_last_at(begin, first(authority_ends, begin))
        colon = first(user_ends, begin)
        if end > begin or not text.startswith(":", colon) or _PORT_IN_TEXT.match(text, colon + 1):
            return end
        end = after_last_at(colon, first(urls, colon))
        return begin if end == colon else end

    kept, end = [], 0
    for slashes in _SLASHES.finditer(text):
        if slashes.start() >= end:
            kept.append(text[end : slashes.end()])
            end = end_of_user(slashes.end())
    return "".join([*kept, text[end:]])


def _without_query(url: re.Match[str]) -> str:
    if url["url"].lower().startswith("file:"):
        return url[0]
    query = url[0].removeprefix(url["url"])
    # What ends a clause of the text around it is kept.
    return url["url"] + query[len(query.rstrip("),.;")) :]


class RedactedError(Exception):
    """Stands for an error of another library that shows what must not be, whose type its text names."""


def redact_causes(error: E) -> E:
    """Return an error after making its causes, and theirs, show nothing that must not be shown.

    Those of other libraries that do are replaced; the error itself must show none.
    """
    for link in chain_of(error):
        for name in ("__cause__", "__context__"):
            linked = getattr(link, name)
            if linked is not None and _must_not_be_shown(linked):
                suppresses = link.__suppress_context__
                setattr(link, name, _stand_in(linked))
                link.__suppress_context__ = suppresses
    return error


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it came from, each once, before what it came from itself."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        link = pending.pop(0)
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            pending += [link.__cause__, link.__context__, getattr(link, "os_error", None)]


def _must_not_be_shown(error: BaseException) -> bool:
    shown = [*traceback.format_exception_only(error), repr(error), *map(str, error.args)]
    if isinstance(error, BaseExceptionGroup) and any(map(_must_not_be_shown, error.exceptions)):
        return True
    # aiohttp's errors show the headers of their requests.
    return "Authorization" in repr(error) or any(_lines(text) != text for text in shown)


def _lines(text: str) -> str:
    """Return the text of another library as it may be shown: its lines stay lines."""
    return "\n".join(map(printable, redact(text).split("\n")))


def _stand_in(error: BaseException) -> BaseException:
    """Return an error with the same traceback and causes: of the same type if Python has it."""
    kind = type(error)
    stand_in: BaseException = RedactedError(f"{kind.__name__}: {_lines(str(error))}")
    if kind.__module__ == "builtins" and not isinstance(error, BaseExceptionGroup):
        stand_in = kind(*(_lines(text) if isinstance(text, str) else text for text in error.args))
    stand_in.__cause__, stand_in.__context__ = error.__cause__, error.__context__
    stand_in.__suppress_context__ = error.__suppress_context__
    return stand_in.with_traceback(error.__traceback__)
