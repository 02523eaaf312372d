"""Errors and warnings of an open in the user's language, through the standard library's gettext.

The language is chosen by the usual environment variables (``LANGUAGE``, ``LC_ALL``,
``LC_MESSAGES``, ``LANG``), read each time a message is made. Catalogues live in
``zarr_xgroup/locale``; docs/development.md ("Translations") gives the command that brings them up to date.
"""

import gettext
import os
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

DOMAIN = "zarr_xgroup"
LOCALE_DIR = Path(__file__).parent / "locale"

#: How many names are listed.
_NAMED = 30

#: What `gettext.find` chooses the language by.
_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


def _catalogue() -> gettext.NullTranslations:
    return _looked_up(LOCALE_DIR, tuple(map(os.environ.get, _VARIABLES)))


@lru_cache(maxsize=8)
def _looked_up(folder: Path, _environment: tuple[str | None, ...]) -> gettext.NullTranslations:
    """Return the catalogue of an environment; looking for its file takes as long as many messages."""
    return gettext.translation(DOMAIN, folder, fallback=True)


def _(message: str) -> str:
    """Return the message in the user's language, or as it is where there is no translation."""
    return _catalogue().gettext(message)


def ngettext(singular: str, plural: str, n: int) -> str:
    """Return the form of a message that fits the number `n`, in the user's language."""
    return _catalogue().ngettext(singular, plural, n)


def listed(names: Collection[str], most: int = _NAMED, count: int | None = None) -> str:
    """Return the first names, and how many more there are, of `count` if that is given."""
    shown = ", ".join(list(names)[:most])
    more = (len(names) if count is None else count) - min(most, len(names))
    if more <= 0:
        return shown
    return ngettext("{names} and {count} more", "{names} and {count} more", more).format(
        names=shown, count=more
    )
