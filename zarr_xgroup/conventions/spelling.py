"""Keys that are misspelt: which one was probably meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType

#: How much alike a key and the one that is meant are at least.
_ALIKE = 0.75


def alike(name: str, others: Iterable[str]) -> str | None:
    """Return which of other names is nearly the same, or one short for the other, if any is."""
    return next(iter(all_alike(name, others)), None)


def all_alike(name: str, others: Iterable[str]) -> list[str]:
    """Return which of other names are nearly the same, the most alike first; then short ones."""
    others = list(others)
    return [*get_close_matches(name, others), *(it for it in others if it[:3] == name[:3])]


def misspelt(
    given: Iterable[str],
    known: Collection[str],
    others: Collection[str] = (),
    called: Mapping[str, str] = MappingProxyType({}),
) -> Mapping[str, str]:
    """Return keys that mean nothing, each with the known one that it was probably meant to be.

    Only where that one is missing, and to each known one the first key that may be it.

    Parameters
    ----------
    given : iterable of str
        The keys that are there.
    known : collection of str
        The keys that may be meant.
    others : collection of str
        Further keys that mean something or may stand there.
    called : mapping of str to str
        What others call known keys.
    """
    keys = list(given)
    unknown = [key for key in keys if key not in known and key not in others]
    if not unknown:
        return {}
    missing = {key.lower(): key for key in known if key not in keys}
    found: dict[str, str] = {}
    for key in unknown:
        word = called.get(key, key).lower()
        match = _closest(word, tuple(missing))
        if match is not None:
            found[key] = missing.pop(match)
    return found


@lru_cache
def _closest(word: str, names: tuple[str, ...]) -> str | None:
    """Return the name that a word is most like, if any; the same is asked of many arrays."""
    return next(iter(get_close_matches(word, names, 1, _ALIKE)), None)
