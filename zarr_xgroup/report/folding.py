"""An explanation folded: similar groups and arrays are shown once, problems always.

Products repeat themselves: a group for each resolution, tile or orbit, with the same arrays in
each, all with the same coordinates. Pure: it arranges the values of an explanation, and draws nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TypeVar

from zarr_xgroup.findings import Topic
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundGroup,
    FoundReference,
    FoundStore,
    parent_of,
)

T = TypeVar("T", FoundArray, FoundGroup)

#: How many rows of arrays, and of groups, a group shows.
_MOST_ROWS = 12


class Folding:
    """An explanation folded: the content of a group is arranged on request.

    Parameters
    ----------
    found : FoundStore
        What was found.
    is_whole : bool
        Whether nothing is folded.
    most_rows : int or None
        How many rows of arrays, and of groups, a group has at most.

    Attributes
    ----------
    references : mapping of str to list of FoundReference
        The references that are written in a node or followed for it, by its path.
    numbers : mapping of str to list of int
        The numbers of the problems that concern a node, from 1, by its path.
    """

    def __init__(
        self, found: FoundStore, *, is_whole: bool = False, most_rows: int | None = _MOST_ROWS
    ) -> None:
        self._found, self._is_whole, self._most_rows = found, is_whole, most_rows
        self._children: defaultdict[str, list[FoundGroup]] = defaultdict(list)
        for group in found.groups[1:]:
            self._children[parent_of(group.path)].append(group)
        self.references: defaultdict[str, list[FoundReference]] = defaultdict(list)
        for reference in found.references:
            for path in dict.fromkeys((reference.source.node, *reference.arrays)):
                self.references[path].append(reference)
        self.numbers: defaultdict[str, list[int]] = defaultdict(list)
        # The nodes with problems and the groups that contain them, by the rank of their rows: an undeclared
        # convention may concern all arrays, and ranks last.
        self._rank: dict[str, int] = {}
        ranked = [
            (problem.kind == Topic.NO_PRINCIPAL.value, number, problem)
            for number, problem in enumerate(found.problems, 1)
        ]
        for rank, number, problem in sorted(ranked, key=lambda item: item[0]):
            place = problem.place
            here = [] if place is None or place.store is not None else [place.node]
            for path in dict.fromkeys((*here, *problem.arrays)):
                self.numbers[path].append(number)
                while path not in self._rank:
                    self._rank[path] = int(rank)
                    path = parent_of(path)

    def arrays(self, group: FoundGroup) -> tuple[list[list[FoundArray]], int]:
        """Return the arrays of a group that are shown, alike ones together, and how many more it has."""

        def row_of(array: FoundArray) -> Hashable:
            # The rows of the arrays that have a coordinate show its facts.
            kind = () if array.is_coordinate else (array.shape, array.dtype)
            references = self.references.get(array.path, ())
            ends = frozenset(reference.leads_to for reference in references)
            return kind, self._facts(array), ends

        return self._folded(group.arrays, row_of)

    def groups(self, group: FoundGroup) -> tuple[list[list[FoundGroup]], int]:
        """Return the groups in a group that are shown, alike ones together, and how many more it has.

        Alike are those that hold the same, with other sizes perhaps.
        """
        children = self._children.get(group.path, ())
        return self._folded(children, lambda child: self._content_numbers[child.path])

    @cached_property
    def _content_numbers(self) -> dict[str, int]:
        """A number for each group, by path: groups with the same contents, subgroups included, have the same one."""
        numbered: dict[Hashable, int] = {}
        found: dict[str, int] = {}
        # Children before their parents, and no recursion: stores may be very deep.
        for group in reversed(self._found.groups):
            children = self._children.get(group.path, ())
            contents = (
                tuple((array.name, array.dims, self._facts(array)) for array in group.arrays),
                tuple((item.name, item.dims, item.kind) for item in group.coordinates),
                tuple((child.name, found[child.path]) for child in children),
                tuple(self.numbers.get(group.path, ())),
            )
            found[group.path] = numbered.setdefault(contents, len(numbered))
        return found

    def _folded(
        self, items: Sequence[T], signature: Callable[[T], Hashable]
    ) -> tuple[list[list[T]], int]:
        """Return rows of items that are alike, and how many items have no row.

        Rows are in the order of their first items. Rows with problems have priority.
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
        """Return a key, which is equal for arrays that are shown as one, whatever their shapes and types."""
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
