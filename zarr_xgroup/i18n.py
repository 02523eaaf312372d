"""Exceptions and warnings of opening in the user's language, with the standard library's gettext.

The usual environment variables (``LANGUAGE``, ``LC_ALL``, ``LC_MESSAGES``, ``LANG``) define the language. They are read
for each message. The catalogues are in ``zarr_xgroup/locale``; see docs/development.md ("Translations") for
the command that updates them.
"""

import gettext
import os
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

DOMAIN = "zarr_xgroup"
LOCALE_DIR = Path(__file__).parent / "locale"

#: The default maximum number of listed names.
_NAMED = 30

#: The variables that `gettext.find` reads.
_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


def _catalogue() -> gettext.NullTranslations:
    return _looked_up(LOCALE_DIR, tuple(map(os.environ.get, _VARIABLES)))


@lru_cache(maxsize=8)
def _looked_up(folder: Path, _environment: tuple[str | None, ...]) -> gettext.NullTranslations:
    """Return the catalogue for an environment; cached, because finding its file is slow."""
    return gettext.translation(DOMAIN, folder, fallback=True)


def _(message: str) -> str:
    """Return the message in the user's language, or unchanged if there is no translation."""
    return _catalogue().gettext(message)


def ngettext(singular: str, plural: str, n: int) -> str:
    """Return the form of a message that fits the number `n`, in the user's language."""
    return _catalogue().ngettext(singular, plural, n)


def listed(names: Collection[str], most: int = _NAMED, count: int | None = None) -> str:
    """Return the first `most` names as text, and how many more there are (of `count`, if given)."""
    shown = ", ".join(list(names)[:most])
    more = (len(names) if count is None else count) - min(most, len(names))
    if more <= 0:
        return shown
    return ngettext("{names} and {count} more", "{names} and {count} more", more).format(
        names=shown, count=more
    )
