"""What `explain`, `levels` and `check` return: data that print themselves.

The modules that draw them, and rich with them, are imported when something is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

from zarr_xgroup._requirements import missing_package
from zarr_xgroup.report.explanation import FoundLevel, FoundMistakes, FoundStore


class Levels(tuple[FoundLevel, ...]):
    """The levels of a pyramid, the finest first: it prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the table."""
        from zarr_xgroup.report.terminal import as_text, level_lines

        return as_text(level_lines(self))


@dataclass(frozen=True, repr=False)
class Explanation(FoundStore):
    """What was found in a store, and what an open makes of it: it prints as text.

    Attributes
    ----------
    store : str
        The store, without credentials.
    group : str
        The group that was explained, with all groups below it: "/" for the whole store.
    zarr_format : {2, 3}
        The format.
    is_consolidated : bool
        Whether it was read from consolidated metadata.
    groups : tuple of FoundGroup
        The groups, parents before children.
    references : tuple of FoundReference
        The references, each once for each thing that it leads to.
    problems : tuple of FoundProblem
        What the warnings of an open tell, as far as it shows without reading chunks.
    """

    def __repr__(self) -> str:
        """Return it as text, in which similar groups and arrays are folded."""
        try:
            from zarr_xgroup.report.terminal import as_text, explanation_parts
        except ImportError as error:
            return _not_drawn(self, error)
        return as_text(explanation_parts(self))

    def _repr_html_(self) -> str:
        """Return it as notebooks show it: its page, in a frame."""
        from zarr_xgroup.report.page import framed

        return framed(self, repr(self))


@dataclass(frozen=True, repr=False)
class Verdict(FoundMistakes):
    """What `check` found in a store.

    Attributes
    ----------
    store : str
        The store, without credentials.
    group : str
        The group that was checked, with all groups below it.
    mistakes : tuple of Finding
        The problems to fix, errors first.
    is_declared : bool
        Whether any node that was checked, or a group above, has ``zarr_conventions``, the root names
        NZ-1.0, or a convention is assumed: most rules are about what is declared.
    """

    @property
    def is_clean(self) -> bool:
        """Whether there are no problems."""
        return not self.mistakes

    def __repr__(self) -> str:
        """Return it as text to read: each mistake with its place, what to write, and the rule."""
        try:
            from zarr_xgroup.report.terminal import as_text, verdict_parts
        except ImportError as error:
            return _not_drawn(self, error)
        return as_text(verdict_parts(self))


def _not_drawn(result: FoundStore | FoundMistakes, error: ImportError) -> str:
    """Return what a `repr` is if the package that draws it is missing: how to install it."""
    if (missing := missing_package([error])) is None:
        raise error
    return f"<{type(result).__name__} {result.store}: {missing}>"
