"""Counts of metadata documents asked for and read, for a progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Tally:
    """How many documents were asked for, and how many of these answered.

    Attributes
    ----------
    asked : int
        Grows while it shows what else is needed.
    answered : int
        Those that are read, or found absent.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.answered = 0


#: Of the thread that opens a store: what it has zarr's thread run begins with its context.
_TALLY: ContextVar[Tally | None] = ContextVar("_TALLY", default=None)


@contextmanager
def tallied() -> Iterator[Tally]:
    """Yield a tally of documents read in this context; another thread may read its counts."""
    tally = Tally()
    token = _TALLY.set(tally)
    try:
        yield tally
    finally:
        _TALLY.reset(token)


@contextmanager
def one_document() -> Iterator[None]:
    """Count a document, first as asked for and then as answered, if anybody watches."""
    tally = _TALLY.get()
    if tally is None:
        yield
        return
    tally.asked += 1
    yield
    tally.answered += 1
