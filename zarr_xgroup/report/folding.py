"""An explanation folded to what matters: what is alike is shown once, what is wrong always.

Products repeat themselves: a group for each resolution, tile or orbit, with the same arrays in
each, all with the same coordinates. Pure: it arranges the values of an explanation, and draws nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from zarr_xgroup.findings import Kind
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundGroup,
    FoundProblem,
    FoundReference,
    FoundStore,
)

T = TypeVar("T")

#: How many rows of arrays, and of groups, a group shows.
_MOST_ROWS = 12


@dataclass(frozen=True)
class ArrayRow:
    """Arrays of a group that are alike, or one that is like no other.

    Attributes
    ----------
    arrays : tuple of FoundArray
        The arrays.
    references : tuple of FoundReference
        Those that are followed for the first of them.
    problems : tuple of int
        The numbers of the problems that concern the first of them, from 1.
    """

    arrays: tuple[FoundArray, ...]
    references: tuple[FoundReference, ...] = ()
    problems: tuple[int, ...] = ()


@dataclass(frozen=True)
class GroupRow:
    """A group, and the groups beside it that are like it.

    Attributes
    ----------
    group : FoundGroup
        The group.
    arrays : tuple of ArrayRow
        Its arrays.
    groups : tuple of GroupRow
        The groups in it.
    references : tuple of FoundReference
        Those that are written in the group itself.
    problems : tuple of int
        The numbers of the problems that concern the group itself, from 1.
    alike : tuple of str
        The names of the groups beside it that hold the same, with other sizes perhaps.
    hidden_arrays, hidden_groups : int
        How many more there are in it.
    """

    group: FoundGroup
    arrays: tuple[ArrayRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    references: tuple[FoundReference, ...] = ()
    problems: tuple[int, ...] = ()
    alike: tuple[str, ...] = ()
    hidden_arrays: int = 0
    hidden_groups: int = 0


def fold(found: FoundStore, *, is_whole: bool = False) -> GroupRow | None:
    """Return the group that was explained with all that is in it; None if there is none.

    Parameters
    ----------
    found : FoundStore
        What was found.
    is_whole : bool
        Whether nothing is to be folded.
    """
    folding = _Folding(found, is_whole=is_whole)
    return folding.rows[found.groups[0].path] if found.groups else None


def likeness(found: FoundStore) -> list[int]:
    """Return a number for each group, in their order: the same for groups that are alike."""
    folding = _Folding(found, is_whole=True)
    return [folding.signatures[group.path] for group in found.groups]


class _Folding:
    """What is known of groups, after that of the groups in them."""

    def __init__(self, found: FoundStore, *, is_whole: bool) -> None:
        self.rows: dict[str, GroupRow] = {}
        self._is_whole = is_whole
        self._children: defaultdict[str, list[FoundGroup]] = defaultdict(list)
        for group in found.groups[1:]:
            self._children[group.path.rpartition("/")[0] or "/"].append(group)
        self._references: defaultdict[str, list[FoundReference]] = defaultdict(list)
        for reference in found.references:
            for path in dict.fromkeys((reference.source.node, *reference.arrays)):
                self._references[path].append(reference)
        self._numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number, problem in enumerate(found.problems, 1):
            if problem.kind == Kind.NO_PRINCIPAL.value:
                continue  # that is no problem of an array, and may concern all
            for path in dict.fromkeys((_node_of(problem), *problem.arrays)):
                self._numbers[path].append(number)
        self._problems = found.problems
        self._wrong: set[str] = set()
        self._numbered: dict[Hashable, int] = {}
        self.signatures: dict[str, int] = {}
        # Children before their parents: however deep a store is, nothing here calls itself.
        for group in reversed(found.groups):
            self._add(group)

    def _add(self, group: FoundGroup) -> None:
        """Fold a group, the groups in which are folded."""
        children = self._children[group.path]
        if (
            self._numbers[group.path]
            or any(self._numbers[array.path] for array in group.arrays)
            or any(child.path in self._wrong for child in children)
        ):
            self._wrong.add(group.path)
        # A number stands for the signature, which holds those of the groups in it.
        self.signatures[group.path] = self._numbered.setdefault(
            self._signature(group), len(self._numbered)
        )
        self.rows[group.path] = self._row(group, children)

    def _row(self, group: FoundGroup, children: Sequence[FoundGroup]) -> GroupRow:
        arrays = self._folded(group.arrays, self._row_of)
        shown = self._most(arrays, [bool(self._numbers[same[0].path]) for same in arrays])
        groups = self._folded(children, lambda it: self.signatures[it.path])
        opened = self._most(groups, [same[0].path in self._wrong for same in groups])
        return GroupRow(
            group,
            tuple(map(self._array_row, shown)),
            tuple(map(self._group_row, opened)),
            tuple(self._references[group.path]),
            tuple(self._numbers[group.path]),
            hidden_arrays=len(group.arrays) - sum(map(len, shown)),
            hidden_groups=len(children) - sum(map(len, opened)),
        )

    def _array_row(self, alike: Sequence[FoundArray]) -> ArrayRow:
        path = alike[0].path
        return ArrayRow(tuple(alike), tuple(self._references[path]), tuple(self._numbers[path]))

    def _group_row(self, alike: Sequence[FoundGroup]) -> GroupRow:
        names = tuple(map(_name, alike[1:]))
        return replace(self.rows[alike[0].path], alike=names)

    def _folded(self, items: Sequence[T], signature: Callable[[T], Hashable]) -> list[list[T]]:
        """Return items, those that are alike together, in the order of the first of each."""
        if self._is_whole:
            return [[item] for item in items]
        alike: defaultdict[Hashable, list[T]] = defaultdict(list)
        for item in items:
            alike[signature(item)].append(item)
        return list(alike.values())

    def _most(self, rows: Sequence[T], are_wrong: Sequence[bool]) -> list[T]:
        """Return as many rows as are shown, rather those with problems, in their order."""
        if self._is_whole or len(rows) <= _MOST_ROWS:
            return list(rows)
        first = sorted(range(len(rows)), key=lambda number: not are_wrong[number])
        return [rows[number] for number in sorted(first[:_MOST_ROWS])]

    def _signature(self, group: FoundGroup) -> Hashable:
        """Return what groups that are alike have in common."""
        return (
            tuple((it.name, it.dims, self._facts(it)) for it in group.arrays),
            tuple((it.name, it.dims, it.kind) for it in group.coordinates),
            tuple(
                (_name(child), self.signatures[child.path]) for child in self._children[group.path]
            ),
            self._kinds(group.path),
        )

    def _row_of(self, array: FoundArray) -> Hashable:
        """Return what arrays of a group have in common that are one row."""
        # What is to know of coordinates is told of the arrays that have them.
        sizes = () if array.is_coordinate else (array.shape, array.dtype)
        places = frozenset(it.leads_to for it in self._references[array.path])
        return (sizes, self._facts(array), places, tuple(self._numbers[array.path]))

    def _facts(self, array: FoundArray) -> Hashable:
        """Return what arrays that are alike have in common, but for shape and type."""
        own = [it.name for it in array.conventions if it.declared_in == array.path]
        references = frozenset(
            (it.source.pointer, it.by_fallback, it.target if it.leads_to is None else "")
            for it in self._references[array.path]
        )
        if array.is_coordinate:
            return (*own, references, self._kinds(array.path), array.times)
        facts = (array.dims, array.coordinates, array.missing, array.crs, array.times)
        conventions = tuple((it.name, it.name in own) for it in array.conventions)
        return (*facts, conventions, references, self._kinds(array.path))

    def _kinds(self, path: str) -> Hashable:
        """Return what kinds of problems a node has."""
        problems = (self._problems[number - 1] for number in self._numbers[path])
        return frozenset((it.kind, it.lost, it.place and it.place.pointer) for it in problems)


def _node_of(problem: FoundProblem) -> str:
    """Return the node of the store in which a problem is, "" if it is in none."""
    place = problem.place
    return "" if place is None or place.store is not None else place.node


def _name(group: FoundGroup) -> str:
    return group.path.rpartition("/")[2]
