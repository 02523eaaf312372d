"""The rows of an explanation, as lines of styled text that a terminal or an HTML page draws.

Products repeat themselves: they have a group for each resolution, tile or orbit, with the same arrays and coordinates.
Similar groups, arrays and problems share a row. The rows in a group are made on request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace
from rich.cells import cell_len

from zarr_xgroup.findings import Finding, Place, Topic, place_before
from zarr_xgroup.i18n import listed
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundGroup,
    FoundLevel,
    FoundProblem,
    FoundReference,
    FoundStore,
    counted,
    level_table,
    parent_of,
    path_in,
    short,
)

T = TypeVar("T", FoundArray, FoundGroup)
F = TypeVar("F", FoundProblem, Finding)

#: How many rows of arrays, and of groups, a group has if it is short, and how many problems are shown.
_MOST_ROWS, MOST_SHOWN = 12, 20
#: How many names of similar arrays or groups a line has.
MOST_NAMES = 4
#: How many levels, and how many of their arrays, are named if not all levels have the same arrays.
_MOST_OF_LEVELS = 20
#: How many findings that break the same rule at the same JSON pointer are shown, each in its own row.
_MOST_SIMILAR = 2
#: The longest text of a problem, in characters.
_LONGEST_PROBLEM = 1000


class Part(msgspec.Struct, frozen=True):
    """A part of a line.

    Attributes
    ----------
    text : str
        The text, which may come from a store.
    style : str
        Its meaning, which a terminal shows as a colour and a page as a class of CSS.
    target : Place, int or None
        The place, or the number of the problem, that the text names. A page links it.
    """

    text: str
    style: str = ""
    target: Place | int | None = None


Line: TypeAlias = Sequence[Part]


class Row(msgspec.Struct):
    """A row: a group or an array, or several similar ones.

    Attributes
    ----------
    nodes : sequence of FoundGroup or FoundArray
        The similar groups or arrays. The facts are those of the first one.
    remarks : Line
        What follows the names in the same line.
    lines : list of Line
        The lines below.
    """

    nodes: Sequence[FoundGroup] | Sequence[FoundArray]
    remarks: Line
    lines: list[Line]

    @property
    def path(self) -> str:
        """The path of the first group or array."""
        return self.nodes[0].path

    @property
    def names(self) -> list[str]:
        """The names of all groups or arrays."""
        return [node.name for node in self.nodes]


class Outline:
    """The rows of an explanation.

    Parameters
    ----------
    found : FoundStore
        The explanation.
    is_whole : bool
        Whether each group, array and problem has its own row, with all details.
    is_short : bool
        Whether a group has only its first rows, and only the first problems are shown.
    hint : str
        How to see what is left out; it follows "... 3 more".

    Attributes
    ----------
    problems, shown_problems : list of list of FoundProblem
        The problems, those that share a row together.
    numbers : mapping of str to list of int
        The numbers of the rows of problems that affect a node, from 1, by its path.
    """

    def __init__(
        self, found: FoundStore, *, is_whole: bool = False, is_short: bool = False, hint: str = ""
    ) -> None:
        self._found, self.is_whole, self.hint = found, is_whole, hint
        self._most_rows = _MOST_ROWS if is_short and not is_whole else None
        self._children: defaultdict[str, list[FoundGroup]] = defaultdict(list)
        for group in found.groups[1:]:
            self._children[parent_of(group.path)].append(group)
        # The levels of a pyramid are in the order of their resolutions, before the other groups.
        levels = (level for group in found.groups for level in group.levels)
        ranks = {level.path: rank for rank, level in enumerate(levels)}
        for groups in self._children.values() if ranks else ():
            groups.sort(key=lambda group: ranks.get(group.path, len(ranks)))
        self._references: defaultdict[str, list[FoundReference]] = defaultdict(list)
        for reference in found.references:
            for path in dict.fromkeys((reference.source.node, *reference.arrays)):
                self._references[path].append(reference)
        self.problems = similar_findings(
            found.problems, is_whole=is_whole, key=lambda problem: problem.kind
        )
        self.shown_problems = self.problems[: None if self._most_rows is None else MOST_SHOWN]
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

    # Rows.

    def root(self) -> Row:
        """Return the row of the explained group."""
        return self._group([self._found.groups[0] if self._found.groups else FoundGroup("/")])

    def rows(self, row: Row) -> list[Row | Line]:
        """Return the rows in a group: arrays, then groups. A line has the number of those without a row."""
        group = row.nodes[0]
        if not isinstance(group, FoundGroup):
            return []
        # The arrays that have a CRS show it.
        systems = {array.crs.variable for array in group.arrays if array.crs is not None}
        known = {
            coordinate.name: coordinate
            for coordinate in group.coordinates
            if coordinate.name not in systems or coordinate.replaces
        }
        above: set[str] = set()
        shared = _shared_facts(group)
        rows: list[Row | Line] = []
        arrays, more_arrays = self._folded(group.arrays, self._look_of_array)
        for similar in arrays:
            rows.append(self._array(similar, known, above, shared))
            if not similar[0].is_coordinate:
                above.update(similar[0].coordinates)
        if more_arrays:
            rows.append(self.more(more_arrays, "array"))
        children = self._children.get(group.path, ())
        groups, more_groups = self._folded(children, lambda child: self._contents[child.path])
        rows += map(self._group, groups)
        if more_groups:
            rows.append(self.more(more_groups, "group"))
        return rows

    def _group(self, similar: Sequence[FoundGroup]) -> Row:
        """Return the row of a group: the levels of its pyramid, and the facts that its arrays share."""
        group = similar[0]
        shared = _shared_facts(group)
        facts = [] if shared is None else _facts(shared, here=group.path)
        lines = [*level_lines(group.levels, group.path), *facts, *self._about(group.path, ())]
        return Row(similar, [], lines)

    def _array(
        self,
        similar: Sequence[FoundArray],
        known: Mapping[str, FoundCoordinate],
        above: set[str],
        shared: FoundArray | None,
    ) -> Row:
        """Return the row of similar arrays, without the facts that all arrays of the group share.

        Only the names are shown of coordinates that arrays above them have.
        """
        array = similar[0]
        remarks = []
        if len({(one.dims, one.shape, one.dtype) for one in similar}) == 1:
            remarks = [Part(f" {array.sizes_as_text} "), Part(array.dtype, "dim")]
        coordinates = [known[name] for name in array.coordinates if name in known]
        lines = _facts(_without(array, shared), here=array.path)
        if array.is_coordinate:
            remarks.append(Part(": coordinate" if len(similar) == 1 else ": coordinates", "dim"))
        else:
            lines += self._coordinates(coordinates, above)
        if array.missing:
            names = self._listed(array.missing)
            lines.append([Part(f"no coordinate along {names}", "warning")])
        lines += self._about(array.path, [coordinate.origin for coordinate in coordinates])
        return Row(similar, remarks, lines)

    def _coordinates(
        self, coordinates: Sequence[FoundCoordinate], above: set[str]
    ) -> Iterator[Line]:
        """Yield a line for each coordinate, one line for the group's own, and one for those of arrays above."""
        own, again = [], []
        for coordinate in coordinates:
            if coordinate.name in above:
                again.append(coordinate.name)
            elif coordinate.kind == "own" and not coordinate.replaces:
                own.append(coordinate.name)
            else:
                yield _coordinate(coordinate)
        for text, names in (("of the group", own), ("as above", again)):
            if names:
                yield [Part(f"coordinates {text}: {self._listed(names)}", "dim")]

    def more(self, count: int, noun: str) -> Line:
        """Return "... 3 more", with a noun and the hint."""
        return [Part(f"... {counted(count, f'more {noun}')}{self.hint}", "dim")]

    def _listed(self, names: Sequence[str]) -> str:
        """Return names, only the first of many unless nothing is folded."""
        return ", ".join(names) if self.is_whole else listed(names)

    def _about(self, path: str, origins: Sequence[object]) -> Iterator[Line]:
        """Yield the references of a node, and the numbers of its problems.

        References that the first rule resolves to the array of a coordinate are left out.
        """
        numbers = self.numbers.get(path, ())
        for reference in self._references.get(path, ()):
            end = reference.leads_to
            is_plain = end is not None and end in origins and not reference.by_fallback
            if self.is_whole or not is_plain:
                # The text of a reference is in the text of its problem, if the node has any.
                yield _reference(reference, with_text=self.is_whole or not numbers)
        shown = [number for number in numbers if number <= len(self.shown_problems)]
        links = [[Part(f"[{number}]", "wrong", number)] for number in shown]
        if links:
            yield [Part("see ", "wrong"), *_joined(links, "wrong"), Part(" below", "wrong")]
        elif numbers:
            yield [Part(f"{counted(len(numbers), 'problem')}{self.hint}", "wrong")]

    def problem(self, number: int, problem: FoundProblem) -> Line:
        """Return a problem: its topic, place and text, what is missing because of it, and the other affected arrays."""
        line = [Part(f"[{number}] ", "wrong"), Part(problem.kind.capitalize(), "name")]
        if problem.text:
            place = problem.place if place_before(problem.place, problem.arrays) else None
            at = [] if place is None else [Part(str(place), "", place), Part(": ")]
            text = problem.text if self.is_whole else short(problem.text, _LONGEST_PROBLEM)
            line += [Part(": "), *at, Part(text)]
        if problem.lost:
            end = "" if problem.text.endswith("?") else "."
            line.append(Part(f"{end} Opened without {problem.lost}"))
        # The text about arrays without a principal convention names them.
        if (others := problem.other_arrays) and (
            problem.kind != Topic.NO_PRINCIPAL.value or not problem.text
        ):
            line += [Part(" ("), names_part(others, "dim", Place(others[0])), Part(")")]
        return line

    def similar(self, others: Sequence[FoundProblem]) -> Line:
        """Return the number of problems that share a row with another one, and their arrays; () without others."""
        if not others:
            return ()
        count = sum(problem.count for problem in others)
        paths = list(dict.fromkeys(path for problem in others for path in problem.arrays))
        arrays = [Part(" in ", "dim"), names_part(paths, "dim", Place(paths[0]))] if paths else []
        text = f" ... {counted(count, 'similar problem')}"
        return [Part(text, "dim"), *arrays, Part(self.hint, "dim")]

    # Similar groups and arrays.

    def _folded(
        self, items: Sequence[T], look: Callable[[T], Hashable]
    ) -> tuple[list[list[T]], int]:
        """Return rows of items with the same look, and the number of items without a row.

        Rows are in the order of their first items. Rows with problems are preferred.
        """
        if self.is_whole or len(items) == 1:
            return [[item] for item in items], 0
        alike: defaultdict[Hashable, list[T]] = defaultdict(list)
        for item in items:
            alike[look(item)].append(item)
        rows = list(alike.values())
        ranked = sorted(range(len(rows)), key=lambda row: self._rank.get(rows[row][0].path, 2))
        shown = [rows[row] for row in sorted(ranked[: self._most_rows])]
        return shown, len(items) - sum(map(len, shown))

    def _look_of_array(self, array: FoundArray) -> Hashable:
        """Return a key that is equal for arrays that can share a row."""
        # The sizes of coordinates are those of the arrays that have them.
        kind = () if array.is_coordinate else (array.shape, array.dtype)
        references = self._references.get(array.path, ())
        ends = frozenset(reference.leads_to for reference in references)
        return kind, self._facts_of_array(array), ends

    def _facts_of_array(self, array: FoundArray) -> Hashable:
        """Return a key that is equal for arrays with the same facts, whatever their shapes and types."""
        conventions = tuple(
            (convention.name, convention.declared_in == array.path)
            for convention in array.conventions
        )
        references = frozenset(
            (found.source.pointer, found.by_fallback, "" if found.leads_to else found.target)
            for found in self._references.get(array.path, ())
        )
        problems = tuple(self.numbers.get(array.path, ()))
        if array.is_coordinate:
            return conventions, references, problems, array.times
        facts = (array.dims, array.coordinates, array.missing, array.crs, array.times)
        return (*facts, conventions, references, problems)

    @cached_property
    def _contents(self) -> dict[str, int]:
        """A number for each group by path, equal for groups with the same contents; sizes may differ."""
        numbered: dict[Hashable, int] = {}
        numbers: dict[str, int] = {}
        # Children come before their parents. Recursion could be too deep.
        for group in reversed(self._found.groups):
            children = self._children.get(group.path, ())
            contents = (
                tuple((one.name, one.dims, self._facts_of_array(one)) for one in group.arrays),
                tuple((one.name, one.dims, one.kind) for one in group.coordinates),
                tuple((child.name, numbers[child.path]) for child in children),
                tuple(self.numbers.get(group.path, ())),
            )
            numbers[group.path] = numbered.setdefault(contents, len(numbered))
        return numbers


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


# Lines.


def _joined(lines: Iterable[Line], style: str = "", between: str = ", ") -> list[Part]:
    """Return several lines as one, with a text between them."""
    joined: list[Part] = []
    for line in lines:
        joined += [*([Part(between, style)] if joined else []), *line]
    return joined


def names_part(names: Sequence[str], style: str = "", target: Place | None = None) -> Part:
    """Return the first of several names, and the number of the others."""
    most = MOST_NAMES if len(names) > MOST_NAMES + 1 else len(names)
    return Part(listed([*map(short, names)], most), style, target)


def _reference(reference: FoundReference, *, with_text: bool) -> Line:
    """Return a reference and its target. A JSON pointer that is in both is shown once."""
    end = reference.leads_to
    line = [Part("refers to ", "dim"), Part(reference.target, "" if end else "wrong")]
    if end and reference.target == str(end):
        line[1] = Part(reference.target, "", end)
    elif end:
        is_repeated = end.pointer and reference.target.endswith(f"#{end.pointer}")
        shown = str(replace(end, pointer="") if is_repeated else end)
        style = "warning" if reference.by_fallback else "stored"
        line += [Part(", found at ", "dim"), Part(shown, style, end)]
    return [*line, Part(f": {reference.text}")] if reference.text and with_text else line


def _shared_facts(group: FoundGroup) -> FoundArray | None:
    """Return an array with the conventions and the CRS that all data of a group share, None if there are none.

    Conventions that an array declares itself are its own.
    """
    arrays = [array for array in group.arrays if not array.is_coordinate]
    conventions = {array.conventions for array in arrays}
    if len(conventions) != 1 or not arrays[0].conventions:
        return None
    if any(one.declared_in == array.path for array in arrays for one in array.conventions):
        return None
    shared = arrays[0]
    is_one_crs = len({array.crs for array in arrays}) == 1
    return replace(shared, crs=shared.crs if is_one_crs else None, times="")


def _without(array: FoundArray, shared: FoundArray | None) -> FoundArray:
    """Return an array without the conventions and the CRS that all data of its group share."""
    if shared is None:
        return array
    others = () if set(array.conventions) <= set(shared.conventions) else array.conventions
    return replace(array, conventions=others, crs=None if array.crs == shared.crs else array.crs)


def _facts(array: FoundArray, here: str) -> list[Line]:
    """Return a line with the conventions, the CRS and the times of an array, if it has any, for the row of a node."""
    group = parent_of(array.path) if here == array.path else ""
    facts = [_conventions(array.conventions, here, group)] if array.conventions else []
    if array.crs is not None:
        code = "" if array.crs.code is None else f"{array.crs.code} "
        name = Part(short(array.crs.name), "dim" if code else "")
        facts.append([Part("CRS ", "dim"), Part(code), name])
    if array.times:
        facts.append([Part(array.times)])
    return [_joined(facts, between="; ")] if facts else []


def _conventions(conventions: Iterable[FoundConvention], here: str, group: str) -> Line:
    """Return the names of conventions, and which node declares them if it is not the one of the row."""
    declared: defaultdict[tuple[str | None, bool], list[FoundConvention]] = defaultdict(list)
    for convention in conventions:
        declared[convention.declared_in, convention.is_assumed].append(convention)
    names: list[list[Part]] = []
    for (declaring, is_assumed), in_one_place in declared.items():
        for convention in in_one_place:
            names.append([Part(convention.name, convention.tier)])
            if convention.tier in ("recognised", "unknown"):
                names[-1].append(Part(f" ({convention.tier})", "dim"))
        if is_assumed:
            names[-1].append(Part(" (assumed)", "dim"))
        elif declaring == group:
            names[-1].append(Part(" of the group", "dim"))
        elif declaring is not None and declaring != here:
            names[-1].append(Part(f" of {declaring}", "dim", Place(declaring)))
    word = "convention " if len(names) == 1 else "conventions "
    return [Part(word, "dim"), *_joined(names)]


def _coordinate(coordinate: FoundCoordinate) -> Line:
    """Return the name of a coordinate, its dimensions, and the source of its values."""
    facts: list[Line] = [[Part(coordinate.text)]] if coordinate.text else []
    if coordinate.kind == "own":
        facts.insert(0, [Part("of the group", "dim")])
    elif (origin := coordinate.origin) is not None:
        facts.insert(0, [Part("from ", "dim"), Part(str(origin), coordinate.kind, origin)])
    if coordinate.bounds is not None:
        facts.append([Part(f"bounds {coordinate.bounds}", "dim")])
    dims = f" ({', '.join(coordinate.dims)}) " if coordinate.dims else " "
    name = Part(short(coordinate.name), coordinate.kind)
    return [name, Part(dims, "dim"), *(_joined(facts, "dim") or [Part(coordinate.kind)])]


def level_lines(levels: Sequence[FoundLevel], group: str = "") -> list[Line]:
    """Return the lines of a table of levels, and about levels without arrays that others have; [] without levels.

    Paths are relative to a group.
    """
    if not levels:
        return []
    rows = [[*map(short, (path_in(group, path), *cells))] for path, *cells in level_table(levels)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines: list[Line] = []
    for number, row in enumerate(rows):
        texts = (
            text + " " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)
        )
        lines.append([Part("  ".join(texts).rstrip(), "table" if number else "table dim")])
    differing: defaultdict[tuple[tuple[str, ...], ...], list[str]] = defaultdict(list)
    for level in levels:
        if level.missing:
            differing[level.arrays, level.missing].append(path_in(group, level.path))
    for (arrays, missing), paths in differing.items():
        where, has, others = (
            listed([*map(short, names)], _MOST_OF_LEVELS) for names in (paths, arrays, missing)
        )
        lines.append([Part(f"{where}: {has or 'no arrays'}; missing: {others}")])
    return lines
