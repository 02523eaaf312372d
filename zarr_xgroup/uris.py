"""URIs of stores, as text."""

import re

URL = re.compile(
    r"(?P<scheme>[A-Za-z][\w+.-]*)://(?P<authority>[^/?#\s]*)(?P<path>[^?#\s]*)(?:[?#]\S*)?"
)


def redact(text: str) -> str:
    """Return a text with user information, query and fragment cut out of the URLs in it."""
    # Links of a chained URL (fsspec) are separated by "::".
    return "::".join(URL.sub(_redacted, link) for link in text.split("::"))


def _redacted(url: re.Match[str]) -> str:
    if url["scheme"].lower() == "file":
        return url[0]
    return f"{url['scheme']}://{url['authority'].rpartition('@')[2]}{url['path']}"
