"""The results of `explain`, `levels` and `check`, which print as text.

The modules that draw them, and rich, are imported only when a result is drawn.
"""

from __future__ import annotations

from zarr_xgroup.report.explanation import FoundLevel, FoundMistakes, FoundStore


class Levels(tuple[FoundLevel, ...]):
    """The levels of a pyramid, the finest first. It prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the table."""
        from zarr_xgroup.report.terminal import as_text, level_parts

        return as_text(level_parts(self))


class Explanation(FoundStore, frozen=True):
    """The content of a store, and how it is opened. It prints as text.

    Attributes
    ----------
    store : str
        The store, without credentials.
    group : str
        The explained group, "/" for the whole store.
    zarr_format : {2, 3}
        The Zarr format.
    is_consolidated : bool
        Whether consolidated metadata were read.
    groups : tuple of FoundGroup
        The groups, parents before children.
    references : tuple of FoundReference
        The references, one for each place and target.
    problems : tuple of FoundProblem
        The warnings that opening gives, except those that depend on values.
    assumed : tuple of str
        The conventions of the option `assume_conventions`.
    """

    def __repr__(self) -> str:
        """Return the explanation as text, with similar groups, arrays and problems folded."""
        from zarr_xgroup.report.terminal import as_text, explanation_parts

        return as_text(explanation_parts(self))

    def _repr_html_(self) -> str:
        """Return the HTML page in a frame, for notebooks."""
        from zarr_xgroup.report.page import framed

        return framed(self, repr(self))


class Verdict(FoundMistakes, frozen=True):
    """The problems that `check` found in a store. It prints as text.

    Attributes
    ----------
    store : str
        The store, without credentials.
    group : str
        The checked group, "/" for the whole store.
    mistakes : tuple of Finding
        The problems to fix, errors first.
    is_declared : bool
        Whether a convention is declared: a checked node or a group above has ``zarr_conventions``, the root names
        NZ-1.0, or a convention is assumed. Most rules apply only to declared conventions.
    without_coordinates : tuple of str
        If no convention is declared: the paths of the arrays that open without coordinates along a dimension.
    """

    @property
    def is_clean(self) -> bool:
        """Whether there are no problems."""
        return not self.mistakes

    def __repr__(self) -> str:
        """Return the verdict as text: each problem with its place, remedy and rule."""
        from zarr_xgroup.report.terminal import as_text, verdict_parts

        return as_text(verdict_parts(self))
