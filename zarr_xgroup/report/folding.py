"""Folding: similar groups, arrays and findings are shown once.

Products repeat themselves: they have a group for each resolution, tile or orbit, with the same arrays and
coordinates. This module arranges the values of an explanation; it draws nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import TypeVar

from zarr_xgroup.findings import Finding, Topic
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundGroup,
    FoundProblem,
    FoundReference,
    FoundStore,
    parent_of,
)

T = TypeVar("T", FoundArray, FoundGroup)
F = TypeVar("F", FoundProblem, Finding)

#: How many rows of arrays, and of groups, a group shows.
_MOST_ROWS = 12
#: How many findings that break the same rule at the same JSON pointer are shown, each in its own row.
_MOST_SIMILAR = 2


class Folding:
    """A folded explanation. The content of a group is arranged on request.

    Parameters
    ----------
    found : FoundStore
        The explanation.
    is_whole : bool
        Whether nothing is folded.
    most_rows : int or None
        The largest number of rows of arrays, and of groups, in a group.
    folds_problems : bool
        Whether similar problems share a row.

    Attributes
    ----------
    problems : list of list of FoundProblem
        The problems, those that share a row together.
    references : mapping of str to list of FoundReference
        The references that a node contains or that are followed for it, by its path.
    numbers : mapping of str to list of int
        The numbers of the rows of problems that affect a node, from 1, by its path.
    """

    def __init__(
        self,
        found: FoundStore,
        *,
        is_whole: bool = False,
        most_rows: int | None = _MOST_ROWS,
        folds_problems: bool = True,
    ) -> None:
        self._found, self._is_whole, self._most_rows = found, is_whole, most_rows
        self._children: defaultdict[str, list[FoundGroup]] = defaultdict(list)
        for group in found.groups[1:]:
            self._children[parent_of(group.path)].append(group)
        # The levels of a pyramid are in the order of their resolutions, before the other groups.
        levels = (level for group in found.groups for level in group.levels)
        ranks = {level.path: rank for rank, level in enumerate(levels)}
        for groups in self._children.values() if ranks else ():
            groups.sort(key=lambda group: ranks.get(group.path, len(ranks)))
        self.problems = similar_findings(
            found.problems,
            is_whole=is_whole or not folds_problems,
            key=lambda problem: problem.kind,
        )
        self.references: defaultdict[str, list[FoundReference]] = defaultdict(list)
        for reference in found.references:
            for path in dict.fromkeys((reference.source.node, *reference.arrays)):
                self.references[path].append(reference)
        self.numbers: defaultdict[str, list[int]] = defaultdict(list)
        self._rank: dict[str, int] = {}
        self._number_problems()

    def _number_problems(self) -> None:
        """Give nodes the numbers of their problems, and a rank to these nodes and the groups that contain them."""
        # A missing declaration of a convention may affect all arrays, and ranks last.
        ranked = [
            (problem.kind == Topic.NO_PRINCIPAL.value, number, problem)
            for number, row in enumerate(self.problems, 1)
            for problem in row
        ]
        for rank, number, problem in sorted(ranked, key=lambda item: item[0]):
            place = problem.place
            here = [] if place is None or place.store is not None else [place.node]
            for path in dict.fromkeys((*here, *problem.arrays)):
                if number not in self.numbers[path][-1:]:
                    self.numbers[path].append(number)
                while path not in self._rank:
                    self._rank[path] = int(rank)
                    path = parent_of(path)

    def arrays(self, group: FoundGroup) -> tuple[list[list[FoundArray]], int]:
        """Return the rows of arrays of a group, similar arrays in one row, and the number of arrays without a row."""

        def row_of(array: FoundArray) -> Hashable:
            # The sizes of coordinates are those of the arrays that have them.
            kind = () if array.is_coordinate else (array.shape, array.dtype)
            references = self.references.get(array.path, ())
            ends = frozenset(reference.leads_to for reference in references)
            return kind, self._facts(array), ends

        return self._folded(group.arrays, row_of)

    def groups(self, group: FoundGroup) -> tuple[list[list[FoundGroup]], int]:
        """Return the rows of groups in a group, similar groups in one row, and the number of groups without a row.

        Similar groups have the same contents; sizes may differ.
        """
        children = self._children.get(group.path, ())
        return self._folded(children, lambda child: self._content_numbers[child.path])

    @cached_property
    def _content_numbers(self) -> dict[str, int]:
        """A number for each group by path, equal for groups with the same contents, subgroups included."""
        numbered: dict[Hashable, int] = {}
        numbers: dict[str, int] = {}
        # Children come before their parents. Recursion could be too deep.
        for group in reversed(self._found.groups):
            children = self._children.get(group.path, ())
            contents = (
                tuple((array.name, array.dims, self._facts(array)) for array in group.arrays),
                tuple((one.name, one.dims, one.kind) for one in group.coordinates),
                tuple((child.name, numbers[child.path]) for child in children),
                tuple(self.numbers.get(group.path, ())),
            )
            numbers[group.path] = numbered.setdefault(contents, len(numbered))
        return numbers

    def _folded(
        self, items: Sequence[T], signature: Callable[[T], Hashable]
    ) -> tuple[list[list[T]], int]:
        """Return rows of similar items, and the number of items without a row.

        Rows are in the order of their first items. Rows with problems are preferred.
        """
        if self._is_whole or len(items) == 1:
            return [[item] for item in items], 0
        alike: defaultdict[Hashable, list[T]] = defaultdict(list)
        for item in items:
            alike[signature(item)].append(item)
        rows = list(alike.values())
        ranked = sorted(range(len(rows)), key=lambda row: self._rank.get(rows[row][0].path, 2))
        shown = [rows[row] for row in sorted(ranked[: self._most_rows])]
        return shown, len(items) - sum(map(len, shown))

    def _facts(self, array: FoundArray) -> Hashable:
        """Return a key that is equal for arrays that can share a row, whatever their shapes and types."""
        conventions = tuple(
            (convention.name, convention.declared_in == array.path)
            for convention in array.conventions
        )
        references = frozenset(
            (found.source.pointer, found.by_fallback, "" if found.leads_to else found.target)
            for found in self.references.get(array.path, ())
        )
        problems = tuple(self.numbers.get(array.path, ()))
        if array.is_coordinate:
            return conventions, references, problems, array.times
        facts = (array.dims, array.coordinates, array.missing, array.crs, array.times)
        return (*facts, conventions, references, problems)


def similar_findings(
    findings: Iterable[F], *, is_whole: bool, key: Callable[[F], Hashable]
) -> list[list[F]]:
    """Return rows of findings. If more than two break one rule at one JSON pointer and have equal keys, they share a row."""
    rows: dict[Hashable, list[F]] = {}
    for number, finding in enumerate(findings):
        pointer = finding.place.pointer if finding.place is not None else ""
        cause = (finding.rule, pointer, key(finding)) if pointer and not is_whole else number
        rows.setdefault(cause, []).append(finding)
    shown: list[list[F]] = []
    for row in rows.values():
        shown += [row] if len(row) > _MOST_SIMILAR else [[finding] for finding in row]
    return shown
