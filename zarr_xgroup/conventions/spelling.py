"""Misspelt keys of JSON objects: which known key each was probably meant to be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache

#: The least similarity of a misspelt key to the one that is meant, as `difflib` measures it (1 if they are equal): it
#: forgives a wrong letter or two of a word, and keeps words apart that only look alike.
_LEAST_SIMILARITY = 0.75


def misspelt(
    given: Iterable[str], known: Collection[str], others: Collection[str] | None = ()
) -> Mapping[str, str]:
    """Return unknown keys of an object, each with the known key that it was probably meant to be.

    A known key is suggested only if the object does not have it, and only for the first unknown key that is like it.

    Parameters
    ----------
    given : iterable of str
        The keys of the object.
    known : collection of str
        The keys that may be meant.
    others : collection of str or None
        Further keys that the object may have; None if it may have any, so that no key is unknown.
    """
    if others is None:
        return {}
    keys, found = list(given), {}
    unknown = [key for key in keys if key not in known and key not in others]
    missing = [key for key in known if key not in keys] if unknown else []
    for key in unknown:
        match = _closest(key.lower(), tuple(missing))
        if match is not None:
            missing.remove(match)
            found[key] = match
    return found


@lru_cache
def _closest(word: str, names: tuple[str, ...]) -> str | None:
    """Return the name that a word is most similar to, or abbreviates, with or without its prefix; None if there is none.

    Cached, because many arrays have the same keys.
    """
    forms = {
        form.lower(): name for name in names for form in (name.partition(":")[2], name) if form
    }
    similar = get_close_matches(word, forms, 1, _LEAST_SIMILARITY)
    short = word.removesuffix("s")
    long = [form for form in forms if len(short) > 3 and form.startswith(short)]
    return next((forms[form] for form in (*similar, *long)), None)
