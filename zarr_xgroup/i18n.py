"""Messages in the user's language, through the standard library's gettext.

The language is chosen by the usual environment variables (``LANGUAGE``, ``LC_ALL``,
``LC_MESSAGES``, ``LANG``), read each time a message is made. Catalogues live in
``zarr_xgroup/locale``; README.md ("Translations") gives the commands that extract the
template, update a catalogue and compile it.
"""

import gettext
from pathlib import Path

DOMAIN = "zarr_xgroup"
LOCALE_DIR = Path(__file__).parent / "locale"


def _catalogue() -> gettext.NullTranslations:
    return gettext.translation(DOMAIN, LOCALE_DIR, fallback=True)


def _(message: str) -> str:
    """Return the message in the user's language, or as it is where there is no translation."""
    return _catalogue().gettext(message)


def ngettext(singular: str, plural: str, n: int) -> str:
    """Return the form of a message that fits the number `n`, in the user's language."""
    return _catalogue().ngettext(singular, plural, n)
