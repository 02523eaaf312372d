"""What is drawn in a terminal, or printed where there is none; rich does it.

What others wrote into a store is never taken for markup or for control sequences: it becomes a
`rich.text.Text` by way of `literal`, and nothing else becomes one.
"""

from __future__ import annotations

import io
import os
import shutil
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text
from rich.tree import Tree

from zarr_xgroup.errors import after_place
from zarr_xgroup.findings import Topic, place_before
from zarr_xgroup.i18n import listed
from zarr_xgroup.redaction import printable
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundGroup,
    FoundLevel,
    FoundMistakes,
    FoundProblem,
    FoundReference,
    FoundStore,
    counted,
    level_table,
    parent_of,
    short,
)
from zarr_xgroup.report.folding import Folding

#: How wide lines are at least, and where no terminal asks for them.
_NARROWEST, _WIDTH_OF_TEXT = 40, 100
#: How many levels of groups stand in one another: what is deeper begins anew at the left, by its path.
_DEEPEST = 6

#: How many groups and arrays are shown before no further group is opened.
_MOST_ROWS = 100
#: How many names of things that are alike are shown.
_MOST_NAMES = 4
#: How many problems, mistakes, lines below a label, and places of one mistake are shown, and how many
#: letters of a problem.
_MOST_SHOWN, _MOST_PLACES, _LONGEST_PROBLEM = 20, 3, 1000

_KIND_STYLES: Mapping[str, str] = {
    "stored": "cyan",
    "foreign": "magenta",
    "computed": "green",
    "inline": "green",
    "given": "blue",
}


class StreamConsole(Console):
    """The console of a stream: colours only in a terminal that wants them.

    Parameters
    ----------
    stream : TextIO
        Where to draw. If it is no terminal and ``FORCE_COLOR`` is not set, or ``NO_COLOR`` is
        (https://force-color.org, https://no-color.org), what is drawn has no escape sequences.
    width : int, optional
        How wide lines are at most, of a text without colours. Default: as wide as the terminal.
    """

    def __init__(self, stream: TextIO, width: int | None = None) -> None:
        is_wanted = stream.isatty() or bool(os.environ.get("FORCE_COLOR"))
        is_coloured = is_wanted and not os.environ.get("NO_COLOR") and width is None
        super().__init__(
            file=stream,
            width=width or max(shutil.get_terminal_size().columns, _NARROWEST),
            force_terminal=is_coloured,
            force_jupyter=False,
            color_system="auto" if is_coloured else None,
            no_color=not is_coloured,
            markup=False,
            emoji=False,
            highlight=False,
        )

    def show(self, parts: Iterable[RenderableType]) -> None:
        """Draw parts below one another, wrapped only where they are `Wrapped`."""
        for part in parts:
            self.print(part, crop=False, no_wrap=True, overflow="ignore")

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError; rich would end the process."""
        raise BrokenPipeError


def as_text(parts: Iterable[RenderableType]) -> str:
    """Return what is drawn as text: it has no colours, and is as wide wherever it is printed."""
    stream = io.StringIO()
    StreamConsole(stream, _WIDTH_OF_TEXT).show(parts)
    return stream.getvalue().rstrip("\n")


def literal(text: str, style: str = "") -> Text:
    """Return a text, which may come from a store, as a text of rich, without markup and control characters."""
    # As a span: the style of a whole text would apply to texts that are added to it.
    return Text().append(printable(text), style)


class Wrapped:
    """A text, and others indented below it; where one is too long, it goes on further to the right."""

    def __init__(self, text: Text, *below: Text, indent: int = 0, hanging: int = 2) -> None:
        self._texts, self._indent, self._hanging = (text, *below), indent, hanging

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines."""
        for number, text in enumerate(self._texts):
            indent = self._indent + (2 if number else 0)
            room = options.max_width - indent
            lines: Iterable[Text] = [text]
            if text.cell_len > room:
                lines = text.wrap(console, room - self._hanging, overflow="fold")
            for line in lines:
                line.rstrip()
                yield Text(" " * indent) + line
                indent = self._indent + (2 if number else 0) + self._hanging


# Explanations.


def explanation_parts(
    found: FoundStore, *, is_whole: bool = False, hint: str = ""
) -> Iterator[RenderableType]:
    """Yield what is drawn of a store: its tree, what is to know of each array, and the problems.

    Parameters
    ----------
    found : FoundStore
        What was found in the store.
    is_whole : bool
        Whether nothing is folded.
    hint : str
        What follows where something is left out: how to see it.
    """
    facts = f"Zarr v{found.zarr_format}, {'' if found.is_consolidated else 'not '}consolidated"
    yield Wrapped(literal(found.store, "bold") + literal(f": {facts}", "dim"))
    yield Text()
    if found.groups:
        yield _StoreTree(found, is_whole=is_whole, hint=hint).tree()
        yield Text()
    problems = found.problems if is_whole else found.problems[:_MOST_SHOWN]
    for number, problem in enumerate(problems, 1):
        yield Wrapped(_problem(number, problem, is_whole=is_whole), hanging=4)
    if more := sum(problem.count for problem in found.problems[len(problems) :]):
        yield _more(more, "problem", hint)
    if problems:
        yield Text()
    counts = {
        "Groups": len(found.groups),
        "Arrays": found.array_count,
        "References": len(found.references),
        "Problems": found.problem_count,
    }
    yield Wrapped(literal(" ".join(f"{noun}: {count}." for noun, count in counts.items()), "dim"))


def _problem(number: int, problem: FoundProblem, *, is_whole: bool) -> Text:
    """Return what is wrong, where, what was lost by it, and for which other arrays."""
    text = literal(f"[{number}] ", "red") + literal(problem.kind.capitalize(), "bold")
    if problem.text:
        about = after_place(place_before(problem.place, problem.arrays), problem.text)
        text += literal(": ") + literal(about if is_whole else short(about, _LONGEST_PROBLEM))
    if problem.lost:
        end = "" if problem.text.endswith("?") else "."
        text += literal(f"{end} Opened without {problem.lost}")
    # The text of that topic names the arrays.
    if (others := problem.other_arrays) and (
        problem.kind != Topic.NO_PRINCIPAL.value or not problem.text
    ):
        text += literal(" (") + _names(others, "dim") + literal(")")
    return text


class _StoreTree:
    """The tree of a store's groups and arrays."""

    def __init__(self, found: FoundStore, *, is_whole: bool, hint: str) -> None:
        self._root, self._is_whole, self._hint = found.groups[0], is_whole, hint
        self._folding = Folding(found, is_whole=is_whole)

    def tree(self) -> Tree:
        """Return the tree; groups near the root are shown rather than those far below it."""
        tree = Tree(self._group([self._root], self._root.path), guide_style="dim")
        pending, rows = deque([(self._root, tree, 0)]), 1
        while pending:
            group, branch, depth = pending.popleft()
            arrays, more_arrays = self._folding.arrays(group)
            groups, more_groups = self._folding.groups(group)
            if rows > _MOST_ROWS and not self._is_whole:
                if arrays or groups:
                    branch.add(literal(f"... and more{self._hint}", "dim"))
                continue
            rows += len(arrays) + len(groups)
            # A CRS is told of the arrays that have it.
            systems = {array.crs.variable for array in group.arrays if array.crs is not None}
            known = {
                coordinate.name: coordinate
                for coordinate in group.coordinates
                if coordinate.name not in systems or coordinate.replaces
            }
            above: set[str] = set()
            for alike in arrays:
                branch.add(self._array(alike, known, above))
                if not alike[0].is_coordinate:
                    above.update(alike[0].coordinates)
            if more_arrays:
                branch.add(_more(more_arrays, "array", self._hint))
            for same in groups:
                if depth < _DEEPEST:
                    below, level = branch.add(self._group(same, same[0].name)), depth + 1
                else:  # there would be no room for it: it begins anew at the left
                    below, level = tree.add(self._group(same, same[0].path)), 1
                pending.append((same[0], below, level))
            if more_groups:
                branch.add(_more(more_groups, "group", self._hint))
        return tree

    def _group(self, alike: Sequence[FoundGroup], name: str) -> Wrapped:
        """Return a group, those that are like it, and the levels of a pyramid."""
        group, others = alike[0], [group.name for group in alike[1:]]
        label = literal(short(name), "bold blue")
        if others:
            text = f" and {counted(len(others), 'group')} like it: "
            label += literal(text, "dim") + _names(others)
        levels = level_lines(group.levels, group.path) if group.levels else ()
        return self._with_details(label, [*levels, *self._about(group.path, ())])

    def _array(
        self, alike: Sequence[FoundArray], known: Mapping[str, FoundCoordinate], above: set[str]
    ) -> Wrapped:
        """Return arrays that are alike; of coordinates of arrays above them only the names."""
        array = alike[0]
        label = _names([same.name for same in alike], "" if array.is_coordinate else "bold")
        if len({(same.dims, same.shape, same.dtype) for same in alike}) == 1:
            sizes = ", ".join(f"{dim}: {size}" for dim, size in array.sizes)
            label += literal(f" ({sizes}) ") + literal(array.dtype, "dim")
        coordinates = [known[name] for name in array.coordinates if name in known]
        details = _facts(array)
        if array.is_coordinate:
            label += literal(": coordinate" if len(alike) == 1 else ": coordinates", "dim")
        else:
            details += self._coordinates(coordinates, above)
        if array.missing:
            names = self._listed(array.missing)
            details.append(literal(f"no coordinate along {names}", "yellow"))
        details += self._about(array.path, [coordinate.origin for coordinate in coordinates])
        return self._with_details(label, details)

    def _coordinates(
        self, coordinates: Sequence[FoundCoordinate], above: set[str]
    ) -> Iterator[Text]:
        """Yield a line for each coordinate; one line for all of the group, and one for those of arrays above."""
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
                yield literal(f"coordinates {text}: {self._listed(names)}", "dim")

    def _listed(self, names: Sequence[str]) -> str:
        """Return names; of many only the first, unless nothing is folded."""
        return ", ".join(names) if self._is_whole else listed(names)

    def _with_details(self, label: Text, details: list[Text]) -> Wrapped:
        """Return a label with details below it; of many, those in the middle are one line that counts them.

        The last one stays: it names the problems.
        """
        if (hidden := len(details) - _MOST_SHOWN) > 0 and not self._is_whole:
            hint = _more(hidden, "line", self._hint)
            details = [*details[: _MOST_SHOWN - 1], hint, details[-1]]
        return Wrapped(label, *details)

    def _about(self, path: str, origins: Sequence[object]) -> Iterator[Text]:
        """Yield the references of a node, and the numbers of its problems.

        References that lead straight to the array in which a coordinate is stored are left out.
        """
        numbers = self._folding.numbers.get(path, ())
        for reference in self._folding.references.get(path, ()):
            end = reference.leads_to
            is_plain = end is not None and end in origins and not reference.by_fallback
            if self._is_whole or not is_plain:
                # The problems have the text of a reference that has one.
                yield _reference(reference, with_text=self._is_whole or not numbers)
        shown = [number for number in numbers if self._is_whole or number <= _MOST_SHOWN]
        if shown:
            yield literal(f"see {', '.join(f'[{number}]' for number in shown)} below", "red")
        elif numbers:
            yield literal(f"{counted(len(numbers), 'problem')}{self._hint}", "red")


def _reference(reference: FoundReference, *, with_text: bool) -> Text:
    """Return a reference with the node that it leads to."""
    end = reference.leads_to
    text = literal("refers to ", "dim") + literal(reference.target, "" if end else "red")
    if end and reference.target != str(end):
        style = "yellow" if reference.by_fallback else "cyan"
        text += literal(", found at ", "dim") + literal(str(end), style)
    return text + literal(f": {reference.text}") if reference.text and with_text else text


def _facts(array: FoundArray) -> list[Text]:
    """Return a line with the conventions, the CRS and the times of an array, if it has any of these."""
    facts = [_conventions(array)] if array.conventions else []
    if array.crs is not None:
        code = "" if array.crs.code is None else f"{array.crs.code} "
        name = literal(short(array.crs.name), "dim" if code else "")
        facts.append(literal("CRS ", "dim") + literal(code) + name)
    if array.times:
        facts.append(literal(array.times))
    return [literal("; ").join(facts)] if facts else []


def _conventions(array: FoundArray) -> Text:
    """Return the names of conventions, and who declares them if that is not the array."""
    declared: defaultdict[str | None, list[FoundConvention]] = defaultdict(list)
    for convention in array.conventions:
        declared[convention.declared_in].append(convention)
    texts = []
    for path, conventions in declared.items():
        for convention in conventions:
            style = {"principal": "bold", "unknown": "yellow"}.get(convention.tier, "")
            texts.append(literal(convention.name, style))
            if convention.tier in ("recognised", "unknown"):
                texts[-1] += literal(f" ({convention.tier})", "dim")
        if path not in (None, array.path):
            is_near = path == parent_of(array.path)
            texts[-1] += literal(f" of {'the group' if is_near else path}", "dim")
    word = "convention " if len(texts) == 1 else "conventions "
    return literal(word, "dim") + literal(", ").join(texts)


def _coordinate(coordinate: FoundCoordinate) -> Text:
    """Return the name of a coordinate, its dimensions, and where its values come from."""
    style = _KIND_STYLES.get(coordinate.kind, "")
    dims = f" ({', '.join(coordinate.dims)}) " if coordinate.dims else " "
    facts = [literal(coordinate.text)] if coordinate.text else []
    if coordinate.origin is not None:
        facts.insert(0, literal("from ", "dim") + literal(str(coordinate.origin), style))
    if coordinate.bounds is not None:
        facts.append(literal(f"bounds {coordinate.bounds}", "dim"))
    name = literal(short(coordinate.name), style)
    told = literal(", ", "dim").join(facts) if facts else literal(coordinate.kind)
    return name + literal(dims, "dim") + told


def level_lines(levels: Sequence[FoundLevel], group: str = "") -> Iterator[Text]:
    """Yield the lines of a table of levels, whose paths are shown as they lead from a group."""
    rows = []
    for path, *cells in level_table(levels):
        inside = path.removeprefix(group).lstrip("/") if group and path != group else path
        rows.append([*map(short, (inside, *cells))])
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        texts = (it + " " * (width - cell_len(it)) for it, width in zip(row, widths, strict=True))
        yield literal("  ".join(texts).rstrip(), "" if number else "dim")


def _names(names: Sequence[str], style: str = "") -> Text:
    """Return the first of several names, and how many more there are."""
    most = _MOST_NAMES if len(names) > _MOST_NAMES + 1 else len(names)
    return literal(listed([*map(short, names)], most), style)


def _more(count: int, noun: str, hint: str) -> Text:
    """Return how many more things of a kind there are."""
    return literal(f"... {counted(count, f'more {noun}')}{hint}", "dim")


# Verdicts.


def verdict_parts(
    verdict: FoundMistakes, *, is_whole: bool = False, hint: str = ""
) -> Iterator[RenderableType]:
    """Yield what is drawn of what is to be mended in a store, as `explanation_parts` does."""
    mistakes = verdict.mistakes if is_whole else verdict.mistakes[:_MOST_SHOWN]
    for mistake in mistakes:
        style = "bold red" if mistake.severity == "error" else "bold yellow"
        before = literal(f"{mistake.severity}: ", style)
        indent = literal(" " * before.cell_len)
        places = list(dict.fromkeys((mistake.place, *mistake.places)))
        for place in places if is_whole else places[:_MOST_PLACES]:
            # In one piece, however long: places are there to be copied.
            yield before + literal(str(place), "cyan")
            before = indent
        if not is_whole and len(places) > _MOST_PLACES:
            yield indent + literal(f"and {len(places) - _MOST_PLACES:,} more", "dim")
        rule = mistake.rule
        yield Wrapped(literal(mistake.text), indent=2)
        yield Wrapped(literal("Instead: ", "green") + literal(mistake.remedy), indent=2)
        yield Wrapped(literal(f"{rule.name} ({rule.document}, {rule.section})", "dim"), indent=2)
        yield Text()
    if others := sum(mistake.count for mistake in verdict.mistakes[len(mistakes) :]):
        yield _more(others, "problem", hint)
        yield Text()
    told = literal("nothing to mend", "green")
    if mistakes:
        count = Counter[str]()
        for mistake in verdict.mistakes:
            count[mistake.severity] += mistake.count
        told = literal(f"errors: {count['error']}, warnings: {count['warning']}")
    elif not verdict.is_declared:
        told = literal('nothing to mend, but no node has "zarr_conventions": little was checked')
    yield Wrapped(literal(verdict.store, "bold") + literal(": ") + told)
