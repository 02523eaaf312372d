"""Text that a terminal shows and does not obey."""

from __future__ import annotations

import unicodedata


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
