"""Text of URIs without what may be secret in them: the one place that makes it.

Left out are user information, queries and fragments (RFC 3986, section 3): passwords, tokens,
signatures. `told` knows that a text is a URI. `redact` looks for URLs within a text that somebody
else may have made, and rather cuts out too much. All errors, warnings and findings of this package
pass their text through it.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
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
_HOSTED = frozenset({"http", "https", "ftp", "sftp", "ssh"})
#: A port, at the end of an authority; ``]`` ends an address of IPv6.
_PORT = re.compile(r"[^:]*(?::[0-9]+)?|\[[^\[\]]*\](?::[0-9]*)?", re.DOTALL)

#: What begins like ``name:password@host``, without a scheme.
_BARE_USER = re.compile(r"[^/\\:@]{2,}:(?!:).*@", re.DOTALL)
#: User information within a text. What stands behind a colon and is no port is taken for a password
#: that was not percent-encoded: it ends at the last ``@`` before the next URL.
_USER_IN_TEXT = re.compile(
    r"""(?P<slashes> (?<! [^\s"'(=,] ) // | (?<= \w\w ) : //? | %3A%2F%2F )
    (?: [^/?\#\s]* (?: @ | %40 )
    |   [^/?\#\s@:\[\]]* : (?! [0-9]{1,5} (?: [/?\#\s'"|\]}>] | [,.;:)](?:\s|$) | $ ) ) (?: (?! // ) . )* @ )""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
#: A URL within a text, of which a path may have been made, and its query. In what references are
#: called, ``|`` ends it.
_QUERY_IN_TEXT = re.compile(
    rf"(?P<url>[A-Za-z][\w+.-]{{1,63}}://?[^\s?#|]*)(?:[?#](?:(?!::{_SCHEME}(?:://|::))\S)*)?"
)


def told(uri: str) -> str:
    """Return a URI, which may be a chain of several, as messages and attributes have it."""
    return "::".join(map(_told_link, _LINK.split(uri)))


def _told_link(link: str) -> str:
    url = _URI.fullmatch(link)
    if url is None:
        return redact(_BARE_USER.sub("", link))
    if url["scheme"].lower() in ("file", "local"):
        return link
    rest = _without_user(url["rest"], is_hosted=url["scheme"].lower() in _HOSTED)
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


def redact(text: str) -> str:
    """Return a text with user information, query and fragment cut out of the URLs in it."""
    if ":/" not in text and "//" not in text and "%2f%2f" not in text.lower():
        return text
    return _QUERY_IN_TEXT.sub(_without_query, _USER_IN_TEXT.sub(r"\g<slashes>", text))


def _without_query(url: re.Match[str]) -> str:
    return url[0] if url["url"].lower().startswith("file:") else url["url"]


class RedactedError(Exception):
    """Stands for an error of another library that shows a secret, whose type its text names."""


def redact_causes(error: E) -> E:
    """Return an error after making its causes, and theirs, show no secrets.

    Those of other libraries that do are replaced; the error itself must show none.
    """
    for link in _chain(error):
        for name in ("__cause__", "__context__"):
            linked = getattr(link, name)
            if linked is not None and _shows_secret(linked):
                suppresses = link.__suppress_context__
                setattr(link, name, _stand_in(linked))
                link.__suppress_context__ = suppresses
    return error


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it came from, each once, before what it came from itself."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        link = pending.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            pending += [link.__cause__, link.__context__]


def _shows_secret(error: BaseException) -> bool:
    shown = [*traceback.format_exception_only(error), repr(error), *map(str, error.args)]
    if isinstance(error, BaseExceptionGroup) and any(map(_shows_secret, error.exceptions)):
        return True
    # aiohttp's errors show the headers of their requests.
    return "Authorization" in repr(error) or any(redact(text) != text for text in shown)


def _stand_in(error: BaseException) -> BaseException:
    """Return an error with the same traceback and causes: of the same type if Python has it."""
    kind = type(error)
    stand_in: BaseException = RedactedError(f"{kind.__name__}: {redact(str(error))}")
    if kind.__module__ == "builtins" and not isinstance(error, BaseExceptionGroup):
        stand_in = kind(*(redact(it) if isinstance(it, str) else it for it in error.args))
    stand_in.__cause__, stand_in.__context__ = error.__cause__, error.__context__
    stand_in.__suppress_context__ = error.__suppress_context__
    return stand_in.with_traceback(error.__traceback__)
