"""Make text safe to show: without secrets, and printable. All texts of this package pass through this module.

It removes the user information of URLs, their queries and fragments (RFC 3986, section 3), and the values of secrets
with a name (``token=...``, ``'Authorization': '...'``). A URL has a scheme and ``://``, and ends at a space. Free text
is not searched for passwords (see `SECURITY.md`).
"""

from __future__ import annotations

import pickle
import re
import traceback
import unicodedata
from collections.abc import Iterator
from typing import TypeVar

E = TypeVar("E", bound=BaseException)

#: With one slash: a path that was made from a URL.
_USER_INFORMATION = re.compile(r"(?P<start>\w\w:/{1,2})[^\s/?#]*@")
#: A URL, and its query or fragment. ``|`` ends the URL in the short form of references, ``uri|node#attribute``.
_URL = re.compile(r"(?P<url>(?P<scheme>[\w+.-]{2,64}):/{1,2}[^\s?#|]*)(?P<query>[?#]\S*)?")
#: Punctuation of the text or JSON around a URL.
_PUNCTUATION = "'\"),.;:]}"
#: A named secret in a query, in JSON, or in the `repr` of Python. The text may be truncated.
_SECRET = re.compile(
    r"""
    (?P<name>
        (?: (?:authorization|credential|passw(?:or)?d|secret|signature|token
              |(?:access|account|api|private)[_-]?key)\w{0,32}
          | (?<![^\W_])sig )
        (?: \s?=\s? | ["']\s?[:=]\s? )
    )
    (?: "(?:[^"\\]|\\.)*(?:"|\Z) | '(?:[^'\\]|\\.)*(?:'|\Z) | [^\s&"',;)\]}]+ )
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def redact(text: str) -> str:
    """Return a text without secrets of URLs (`redact_urls`), and without the values of named secrets."""
    return _SECRET.sub(r"\g<name>...", redact_urls(text))


def redact_urls(text: str) -> str:
    """Return a text without user information, queries and fragments of URLs; paths and names of nodes are unchanged."""
    if ":/" not in text:
        return text
    return _URL.sub(_without_query, _USER_INFORMATION.sub(r"\g<start>", text))


def _without_query(url: re.Match[str]) -> str:
    query = url["query"] or ""
    if url["scheme"].lower() == "file":  # names of files may contain these characters
        return url[0]
    return url["url"] + query[len(query.rstrip(_PUNCTUATION)) :]


def presentable(text: str) -> str:
    """Return a text without secrets and printable, as all texts of this package are."""
    return printable(redact(text))


def printable(text: str) -> str:
    """Return a text with characters that are not printable escaped, as in a Python string; spaces are kept.

    Control and bidirectional characters, line separators and lone surrogates in a store could otherwise move the
    cursor, recolour the screen, break lines or reverse text.
    """
    return text if text.isprintable() else "".join(map(_printable_letter, text))


def _printable_letter(letter: str) -> str:
    if letter.isprintable() or unicodedata.category(letter) == "Zs":
        return letter
    return letter.encode("unicode_escape").decode("ascii")


class RedactedError(Exception):
    """A redacted replacement of an error of a different library. Its text names the type of that error."""


def redact_causes(error: E) -> E:
    """Return an error after replacing those of its direct and indirect causes that show secrets or cannot be pickled.

    The error itself must not show any. dask pickles an error of a worker with its causes.
    """
    for link in reversed(
        [*chain_of(error)]
    ):  # causes of causes first: some are pickled with their causes
        for name in ("__cause__", "__context__"):
            linked = getattr(link, name)
            if linked is not None and (_must_not_be_shown(linked) or not _can_be_pickled(linked)):
                suppresses = link.__suppress_context__
                setattr(link, name, _stand_in(linked))
                link.__suppress_context__ = suppresses
    return error


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, then its direct and indirect causes and contexts, each once."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        link = pending.pop(0)
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            pending += [link.__cause__, link.__context__, getattr(link, "os_error", None)]


def _can_be_pickled(error: BaseException) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - of any class
        return False
    return True


def _must_not_be_shown(error: BaseException) -> bool:
    shown = [*traceback.format_exception_only(error), repr(error), *map(str, error.args)]
    if isinstance(error, BaseExceptionGroup) and any(map(_must_not_be_shown, error.exceptions)):
        return True
    return any(_lines(text) != text for text in shown)


def _lines(text: str) -> str:
    """Return the text of a different library redacted and printable, with its line breaks kept."""
    return "\n".join(map(printable, redact(text).split("\n")))


def _stand_in(error: BaseException) -> BaseException:
    """Return a redacted error with the same traceback and causes, and of the same type if that is built in."""
    kind = type(error)
    stand_in: BaseException = RedactedError(f"{kind.__name__}: {_lines(str(error))}")
    if kind.__module__ == "builtins" and not isinstance(error, BaseExceptionGroup):
        stand_in = kind(*(_lines(text) if isinstance(text, str) else text for text in error.args))
    stand_in.__cause__, stand_in.__context__ = error.__cause__, error.__context__
    stand_in.__suppress_context__ = error.__suppress_context__
    return stand_in.with_traceback(error.__traceback__)
