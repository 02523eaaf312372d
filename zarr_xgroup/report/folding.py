"""An explanation folded to what matters: what is alike is shown once, what is wrong always.

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
    Explanation,
    FoundArray,
    FoundGroup,
    FoundProblem,
    FoundReference,
)

T = TypeVar("T", FoundArray, FoundGroup)

#: How many rows of arrays, and of groups, a group shows.
_MOST_ROWS = 12


class Folding:
    """An explanation folded: what is in a group is arranged when it is asked for.

    Parameters
    ----------
    found : Explanation
        What was found.
    is_whole : bool
        Whether nothing is to be folded.

    Attributes
    ----------
    references : mapping of str to list of FoundReference
        The references that are written in a node or followed for it, by its path.
    numbers : mapping of str to list of int
        The numbers of the problems that concern a node, from 1, by its path.
    """

    def __init__(self, found: Explanation, *, is_whole: bool = False) -> None:
        self._groups = found.groups
        self._problems = found.problems
        self._is_whole = is_whole
        self._children: defaultdict[str, list[FoundGroup]] = defaultdict(list)
        for group in found.groups[1:]:
            self._children[_parent(group.path)].append(group)
        self.references: defaultdict[str, list[FoundReference]] = defaultdict(list)
        for reference in found.references:
            for path in dict.fromkeys((reference.source.node, *reference.arrays)):
                self.references[path].append(reference)
        self.numbers = _numbers(found.problems)
        self._wrong: set[str] = set()
        for path in self.numbers:
            while path and path not in self._wrong:
                self._wrong.add(path)
                path = _parent(path) if path != "/" else ""

    def arrays(self, group: FoundGroup) -> tuple[list[list[FoundArray]], int]:
        """Return the arrays of a group that are shown, alike ones together, and how many more it has."""
        return self._most(self._folded(group.arrays, self._row_of))

    def groups(self, group: FoundGroup) -> tuple[list[list[FoundGroup]], int]:
        """Return the groups in a group that are shown, alike ones together, and how many more it has.

        Alike are those that hold the same, with other sizes perhaps.
        """
        children = self._children.get(group.path, [])
        return self._most(self._folded(children, lambda it: self._likeness[it.path]))

    def likeness(self) -> list[int]:
        """Return a number for each group, in their order: the same for groups that are alike."""
        return [self._likeness[group.path] for group in self._groups]

    @cached_property
    def _likeness(self) -> dict[str, int]:
        """The numbers of groups by path: one stands for what a group has in common with others."""
        numbered: dict[Hashable, int] = {}
        likeness: dict[str, int] = {}
        # Children before their parents: however deep a store is, nothing here calls itself.
        for group in reversed(self._groups):
            below = self._children.get(group.path, ())
            inside = tuple((child.name, likeness[child.path]) for child in below)
            signature = (self._signature(group), inside)
            likeness[group.path] = numbered.setdefault(signature, len(numbered))
        return likeness

    def _folded(self, items: Sequence[T], signature: Callable[[T], Hashable]) -> list[list[T]]:
        """Return items, those that are alike together, in the order of the first of each."""
        if self._is_whole or len(items) == 1:
            return [[item] for item in items]
        alike: defaultdict[Hashable, list[T]] = defaultdict(list)
        for item in items:
            alike[signature(item)].append(item)
        return list(alike.values())

    def _most(self, rows: list[list[T]]) -> tuple[list[list[T]], int]:
        """Return as many rows as are shown, rather those with problems, in their order; and the rest."""
        if self._is_whole or len(rows) <= _MOST_ROWS:
            return rows, 0
        first = sorted(range(len(rows)), key=lambda number: rows[number][0].path not in self._wrong)
        hidden = sum(len(rows[number]) for number in first[_MOST_ROWS:])
        return [rows[number] for number in sorted(first[:_MOST_ROWS])], hidden

    def _signature(self, group: FoundGroup) -> Hashable:
        """Return what groups that are alike have in common, but for the groups in them."""
        return (
            tuple((it.name, it.dims, self._facts(it)) for it in group.arrays),
            tuple((it.name, it.dims, it.kind) for it in group.coordinates),
            self._kinds(group.path),
        )

    def _row_of(self, array: FoundArray) -> Hashable:
        """Return what arrays of a group have in common that are one row."""
        # What is to know of coordinates is told of the arrays that have them.
        sizes = () if array.is_coordinate else (array.shape, array.dtype)
        places = frozenset(it.leads_to for it in self.references.get(array.path, ()))
        return (sizes, self._facts(array), places, tuple(self.numbers.get(array.path, ())))

    def _facts(self, array: FoundArray) -> Hashable:
        """Return what arrays that are alike have in common, but for shape and type."""
        own = [it.name for it in array.conventions if it.declared_in == array.path]
        references = frozenset(
            (it.source.pointer, it.by_fallback, it.target if it.leads_to is None else "")
            for it in self.references.get(array.path, ())
        )
        if array.is_coordinate:
            return (*own, references, self._kinds(array.path), array.times)
        facts = (array.dims, array.coordinates, array.missing, array.crs, array.times)
        conventions = tuple((it.name, it.name in own) for it in array.conventions)
        return (*facts, conventions, references, self._kinds(array.path))

    def _kinds(self, path: str) -> Hashable:
        """Return what kinds of problems a node has."""
        if path not in self.numbers:
            return ()
        problems = (self._problems[number - 1] for number in self.numbers[path])
        return frozenset((it.kind, it.lost, it.place and it.place.pointer) for it in problems)


def _numbers(problems: Sequence[FoundProblem]) -> dict[str, list[int]]:
    """Return the numbers of the problems that concern nodes, from 1, by the paths of these."""
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for number, problem in enumerate(problems, 1):
        # That a convention is not declared is no problem of an array, and may concern all.
        if problem.kind != Topic.NO_PRINCIPAL.value:
            for path in dict.fromkeys((_node_of(problem), *problem.arrays)):
                numbers[path].append(number)
    return dict(numbers)


def _node_of(problem: FoundProblem) -> str:
    """Return the node of the store in which a problem is, "" if it is in none."""
    place = problem.place
    return "" if place is None or place.store is not None else place.node


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
