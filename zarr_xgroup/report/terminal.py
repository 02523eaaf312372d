"""What is drawn in a terminal, or printed where there is none; rich does it.

What others wrote into a store is never taken for markup or for control sequences: it becomes a
`rich.text.Text` by way of `literal`, and nothing else becomes one.
"""

from __future__ import annotations

import io
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import NamedTuple, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from zarr_xgroup.errors import after_place
from zarr_xgroup.findings import (
    Finding,
    Place,
    Topic,
    group_findings,
    place_before,
    shortened,
    wording,
)
from zarr_xgroup.i18n import and_more, listed
from zarr_xgroup.redaction import printable
from zarr_xgroup.report.explanation import (
    Explanation,
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundCrs,
    FoundGroup,
    FoundLevel,
    FoundProblem,
    FoundReference,
)
from zarr_xgroup.report.folding import Folding

#: The narrowest terminal that has room for two columns.
TWO_COLUMNS = 80
_NARROWEST = 20
#: How wide labels of a tree are at least: guides before them are cut to what is left, in whole steps.
_LEAST_LABEL = 16
_STEP = 4

#: How wide a text is that no terminal asks for, and how many lines its tree takes at most.
_WIDTH_OF_TEXT = 100
_LINES_OF_TEXT = 120

#: How many names of things that are alike are shown, and how many letters of each.
_MOST_NAMES = 4
_LONGEST_NAME = 100
#: How many problems, mistakes, and places of one mistake are shown, and how many letters of a problem.
_MOST_TOLD = 20
_LONGEST_PROBLEM = 1000
_MOST_PLACES = 3

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
        How wide lines are at most. Default: as wide as the terminal.
    """

    def __init__(self, stream: TextIO, width: int | None = None) -> None:
        is_wanted = stream.isatty() or bool(os.environ.get("FORCE_COLOR"))
        is_drawn = is_wanted and not os.environ.get("NO_COLOR")
        super().__init__(
            file=stream,
            width=width or max(shutil.get_terminal_size().columns, _NARROWEST),
            force_terminal=is_drawn,
            force_jupyter=False,
            color_system="auto" if is_drawn else None,
            no_color=not is_drawn,
            markup=False,
            emoji=False,
            highlight=False,
        )

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError; rich would end the process."""
        raise BrokenPipeError


def literal(text: str, style: str = "", *, longest: int | None = None) -> Text:
    """Return a text, which may come from a store, as one of rich: no markup, nothing that steers."""
    shown = printable(text) if longest is None else shortened(printable(text), longest)
    # As a span: the style of a whole text would go over to what is added to it.
    return Text().append(shown, style)


# Lines.


def wrapped(console: Console, text: Text, width: int, indent: int = 2) -> list[Text]:
    """Return the lines of a text, none wider than `width`, all but the first indented."""
    if text.cell_len <= width:
        return [text]
    first = text.wrap(console, width, overflow="fold")[0]
    rest = text[len(first) :]
    rest = rest[len(rest) - len(rest.plain.lstrip()) :]
    lines = [first, *rest.wrap(console, max(width - indent, 1), overflow="fold")]
    for line in lines:
        line.rstrip()
    return [lines[0], *(literal(" " * indent) + line for line in lines[1:])]


def print_lines(console: Console, lines: Iterable[Text]) -> None:
    """Print lines that are wrapped already."""
    for line in lines:
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def as_text(draw: Callable[[Console], Iterable[Text]]) -> str:
    """Return what is drawn as text: it has no colours, and is as wide wherever it is printed."""
    console = StreamConsole(io.StringIO(), _WIDTH_OF_TEXT)
    return "\n".join(line.plain for line in draw(console))


# A tree, and what is said of its nodes beside it.


class _Guides(NamedTuple):
    """The lines of a tree and other signs."""

    branch: str
    last: str
    down: str
    ellipsis: str
    arrow: str
    to: str
    dot: str

    @classmethod
    def of(cls, console: Console) -> _Guides:
        """Return the signs that the encoding of a console has."""
        is_ascii = console.options.ascii_only
        return cls._make(_ASCII_GUIDES if is_ascii else _GUIDES)


_GUIDES = ("├── ", "└── ", "│   ", "…", "←", "→", "·")
_ASCII_GUIDES = ("+-- ", "`-- ", "|   ", "...", "<-", "->", "-")


@dataclass(frozen=True)
class _Row:
    """A node of a tree: its label, what stands beside it, and the guides before these."""

    label: Text
    beside: Sequence[Text] = ()
    first: str = ""
    rest: str = ""


def _tree_lines(console: Console, rows: Sequence[_Row]) -> Iterator[Text]:
    """Yield the lines of a tree: what stands beside nodes comes below them if there is no room."""
    is_narrow = console.width < TWO_COLUMNS
    width = console.width if is_narrow else _left_width(console, rows)
    for row in rows:
        guides = literal(_cut(row.rest, width), "dim")
        label = list(_labelled(console, row, width))
        if is_narrow:
            yield from label
            for line in _wrapped_all(console, row.beside, width - guides.cell_len - 2):
                yield guides + literal("  ") + line
        else:
            about = _wrapped_all(console, row.beside, console.width - width - 2)
            yield from _beside(label, about, width, guides)


def _wrapped_all(console: Console, texts: Iterable[Text], width: int) -> list[Text]:
    return [line for text in texts for line in wrapped(console, text, width)]


def _beside(
    left: Sequence[Text], right: Sequence[Text], width: int, guides: Text
) -> Iterator[Text]:
    """Yield the lines of two columns, the first of which is `width` wide and ends with guides."""
    for one, other in zip_longest(left, right):
        line = (guides if one is None else one).copy()
        if other:
            line.pad_right(width + 2 - line.cell_len)
            line += other
        yield line


def _left_width(console: Console, rows: Sequence[_Row]) -> int:
    """Return what the tree takes of the width: nearly a half, more if there is room."""
    left = max(row.label.cell_len + len(row.first) for row in rows)
    right = sorted(text.cell_len for row in rows for text in row.beside)
    most = right[len(right) * 9 // 10] if right else 0  # a few may take several lines
    room = max(console.width - most - 2, max(len(row.rest) for row in rows) + _LEAST_LABEL)
    return min(left, max(console.width * 45 // 100, min(room, console.width * 60 // 100)))


def _labelled(console: Console, row: _Row, width: int) -> Iterator[Text]:
    """Yield the lines of a label after its guides."""
    first, rest = _cut(row.first, width), _cut(row.rest, width)
    room = width - max(len(first), len(rest))
    for number, line in enumerate(wrapped(console, row.label, room)):
        yield literal(rest if number else first, "dim") + line


def _cut(guides: str, width: int) -> str:
    """Return the last of the guides, where a tree is deeper than it has room for."""
    return guides[-((width - _LEAST_LABEL) // _STEP * _STEP) :]


# Explanations.


def explanation_lines(
    console: Console, found: Explanation, *, is_whole: bool = False, is_text: bool = False
) -> Iterator[Text]:
    """Yield the lines that tell of a store: its tree, what stands beside it, and problems.

    Parameters
    ----------
    console : rich.console.Console
        Where they are drawn.
    found : Explanation
        What was found in the store.
    is_whole : bool
        Whether nothing is folded.
    is_text : bool
        Whether they are text that Python prints: of a bounded number of lines, and without a word
        of options that the command has.
    """
    option = "" if is_text else " (--all)"
    drawing = _Drawing(Folding(found, is_whole=is_whole), _Guides.of(console), is_whole, option)
    yield from wrapped(console, _heading(found, drawing.guides), console.width)
    yield Text()
    if found.groups:
        yield from _limited_tree(console, drawing, found.groups[0], is_text=is_text)
        yield Text()
    problems = found.problems if is_whole else found.problems[:_MOST_TOLD]
    for number, problem in enumerate(problems, 1):
        yield from wrapped(console, _problem(number, problem, is_whole=is_whole), console.width, 4)
    if more := _number(found.problems[len(problems) :]):
        yield drawing.more(("{count} more problem" if more == 1 else "{count} more problems"), more)
    if problems:
        yield Text()
    yield from wrapped(console, _summary(found), console.width)


def _limited_tree(
    console: Console, drawing: _Drawing, root: FoundGroup, *, is_text: bool
) -> Iterator[Text]:
    """Yield the lines of the tree; of a text only the first, and nothing is folded but for these."""
    if not is_text:
        yield from _tree_lines(console, list(drawing.rows(root)))
        return
    rows = list(islice(drawing.rows(root), _LINES_OF_TEXT + 1))
    lines = list(islice(_tree_lines(console, rows), _LINES_OF_TEXT + 1))
    yield from lines[:_LINES_OF_TEXT]
    if len(lines) > _LINES_OF_TEXT:
        text = "and more"
        yield literal(f"{drawing.guides.ellipsis} {text}", "dim")


def _heading(found: Explanation, guides: _Guides) -> Text:
    facts = [f"Zarr v{found.zarr_format}"]
    facts.append("consolidated" if found.is_consolidated else "not consolidated")
    dot = f" {guides.dot} "
    return literal(found.store, "bold") + literal(dot + dot.join(facts), "dim")


def _summary(found: Explanation) -> Text:
    text = "Groups: {groups}. Arrays: {arrays}. References: {references}. Problems: {problems}."
    counts = {
        "groups": len(found.groups),
        "arrays": sum(len(group.arrays) for group in found.groups),
        "references": len(found.references),
        "problems": _number(found.problems),
    }
    return literal(text.format(**counts), "dim")


def _number(problems: Iterable[FoundProblem | Finding]) -> int:
    """Return how many there are, those that others stand for among them."""
    return sum(it.count for it in problems)


@dataclass(frozen=True)
class _Drawing:
    """How the tree of a store is drawn."""

    folding: Folding
    guides: _Guides
    is_whole: bool
    option: str

    def more(self, text: str, count: int) -> Text:
        """Return the line that says how much more there is."""
        return literal(f"{self.guides.ellipsis} {text.format(count=count)}{self.option}", "dim")

    def rows(self, root: FoundGroup) -> Iterator[_Row]:
        """Yield the rows of the tree from the top to the bottom."""
        guides = self.guides
        pending: list[tuple[FoundGroup | None, _Row, str, str]] = [
            (root, self._of_group((root,), root.path), "", "")
        ]
        while pending:
            group, row, first, rest = pending.pop()
            inside = [] if group is None else self._inside(group)
            yield _Row(row.label, row.beside, first, rest + (guides.down if inside else ""))
            for number, (below, item) in enumerate(reversed(inside)):
                branch, down = (guides.branch, guides.down) if number else (guides.last, "    ")
                pending.append((below, item, rest + branch, rest + down))

    def _inside(self, group: FoundGroup) -> list[tuple[FoundGroup | None, _Row]]:
        """Return what is in a group: its arrays, and the groups in it."""
        inside: list[tuple[FoundGroup | None, _Row]] = []
        # A CRS is told of the arrays that have it.
        systems = {it.crs.variable for it in group.arrays if it.crs is not None}
        known = {it.name: it for it in group.coordinates if it.name not in systems}
        above: set[str] = set()
        arrays, more = self.folding.arrays(group)
        for row in arrays:
            inside.append((None, self._of_array(row, known, above)))
            if not row[0].is_coordinate:
                above.update(row[0].coordinates)
        if more:
            text = "{count} more array" if more == 1 else "{count} more arrays"
            inside.append((None, _Row(self.more(text, more))))
        groups, more = self.folding.groups(group)
        inside += [(alike[0], self._of_group(alike, alike[0].name)) for alike in groups]
        if more:
            text = "{count} more group" if more == 1 else "{count} more groups"
            inside.append((None, _Row(self.more(text, more))))
        return inside

    def _of_group(self, alike: Sequence[FoundGroup], name: str) -> _Row:
        """Return the row of a group, which names those that are like it."""
        texts = []
        if others := [it.name for it in alike[1:]]:
            text = "{count} group like it: " if len(others) == 1 else "{count} groups like it: "
            texts.append(literal(text.format(count=len(others)), "dim") + _names(others))
        texts += [*self._told_of(alike[0].path, ()), *self._levels(alike[0])]
        return _Row(literal(name, "bold blue", longest=_LONGEST_NAME), texts)

    def _levels(self, group: FoundGroup) -> Iterator[Text]:
        levels = group.levels
        shown = levels if self.is_whole else levels[:_MOST_TOLD]
        if shown:
            yield from level_lines(shown, group.path)
        if more := len(levels) - len(shown):
            yield self.more(("{count} more level" if more == 1 else "{count} more levels"), more)

    def _of_array(
        self,
        alike: Sequence[FoundArray],
        known: Mapping[str, FoundCoordinate],
        above: Collection[str],
    ) -> _Row:
        array = alike[0]
        label = _names([it.name for it in alike], "" if array.is_coordinate else "bold")
        if len({(it.dims, it.shape, it.dtype) for it in alike}) == 1:
            label += literal(f" ({_sizes(array)}) ") + literal(array.dtype, "dim")
        coordinates = [known[name] for name in array.coordinates if name in known]
        origins = {it.origin for it in coordinates}
        texts = [
            *_about(array, self.guides),
            *([] if array.is_coordinate else _coordinates(coordinates, above, self.guides)),
            *_missing(array),
            *self._told_of(array.path, origins),
        ]
        return _Row(label, texts)

    def _told_of(self, path: str, origins: Collection[Place | None]) -> Iterator[Text]:
        """Yield the references of a node, and where its problems are told.

        Not references that lead straight to where a coordinate is stored.
        """
        numbers = self.folding.numbers.get(path, ())
        for it in self.folding.references.get(path, ()):
            is_straight = it.leads_to in origins and not it.by_fallback
            if it.leads_to is None or not is_straight or self.is_whole:
                text = _reference(it, self.guides)
                # What is wrong is told among the problems.
                if it.text and (self.is_whole or not numbers):
                    text += literal(f": {it.text}")
                yield text
        yield from self._numbers(numbers)

    def _numbers(self, numbers: Sequence[int]) -> Iterator[Text]:
        """Yield where problems are told."""
        shown = [number for number in numbers if self.is_whole or number <= _MOST_TOLD]
        if shown:
            names = ", ".join(f"[{number}]" for number in shown)
            yield literal(f"see {names} below", "red")
        elif numbers:
            text = "{count} problem" if len(numbers) == 1 else "{count} problems"
            yield literal(f"{text.format(count=len(numbers))}{self.option}", "red")


def level_lines(levels: Sequence[FoundLevel], group: str = "") -> Iterator[Text]:
    """Yield the lines of a table of levels; beside the group that has them without what is long."""
    heads = ["level", "resolution", "rows x columns", "of a chunk", "factor"]
    rows = [heads, *([*_cells_of(level, group)] for level in levels)]
    columns = [
        column for column in zip(*rows, strict=True) if not (group and column[0] == heads[3])
    ]
    widths = [max(map(cell_len, column)) for column in columns]
    for number, row in enumerate(zip(*columns, strict=True)):
        texts = (it + " " * (width - cell_len(it)) for it, width in zip(row, widths, strict=True))
        yield literal("  ".join(texts).rstrip(), "" if number else "dim")


def _cells_of(level: FoundLevel, group: str) -> Iterator[str]:
    """Yield the texts of a row of the table."""
    path = level.path if level.path == group else level.path.removeprefix(group).lstrip("/")
    yield shortened(printable(path if group else level.path), _LONGEST_NAME)
    if level.refinement is not None:
        yield f"refinement level {level.refinement}"
    else:
        size = f"{_pair(level.resolution)} {printable(level.unit)}" if level.resolution else "?"
        yield size.strip()
    yield from map(_pair, (level.shape, level.chunk, level.factor))


def _pair(numbers: Sequence[float] | None) -> str:
    """Return two numbers, or the one that both are if they are lengths; "?" if they are not known."""
    if not numbers:
        return "?"
    texts = [str(int(it)) if it == int(it) else str(it) for it in numbers]
    is_one = len(set(texts)) == 1 and isinstance(numbers[0], float)
    return texts[0] if is_one else " x ".join(texts)


def _about(array: FoundArray, guides: _Guides) -> Iterator[Text]:
    """Yield what an array is, which conventions it follows, and its CRS."""
    facts = [literal("coordinate", "dim")] if array.is_coordinate else []
    declared: defaultdict[str | None, list[FoundConvention]] = defaultdict(list)
    for convention in array.conventions:
        declared[convention.declared_in].append(convention)
    facts += [_conventions(names, path, array) for path, names in declared.items()]
    facts += [] if array.crs is None else [_crs(array.crs)]
    facts += [literal(array.times)] if array.times else []
    if facts:
        yield literal(f" {guides.dot} ").join(facts)


def _coordinates(
    coordinates: Sequence[FoundCoordinate], above: Collection[str], guides: _Guides
) -> Iterator[Text]:
    """Yield the coordinates of an array; those of arrays above it are only named."""
    own, again = [], []
    for it in coordinates:
        if it.name in above:
            again.append(it.name)
        elif it.kind == "own":
            own.append(it.name)
        else:
            yield _coordinate(it, guides)
    if own:
        yield literal("in the group: {names}".format(names=", ".join(own)), "dim")
    if again:
        yield literal("as above: {names}".format(names=", ".join(again)), "dim")


def _coordinate(coordinate: FoundCoordinate, guides: _Guides) -> Text:
    style = _KIND_STYLES.get(coordinate.kind, "")
    facts = [literal(coordinate.text)] if coordinate.text else []
    if coordinate.origin is not None:
        origin = literal(str(coordinate.origin), style)
        facts.insert(0, literal(f"{guides.arrow} ", "dim") + origin)
    if coordinate.bounds is not None:
        text = f"bounds {coordinate.bounds}"
        facts.append(literal(text, "dim"))
    name = literal(coordinate.name, style, longest=_LONGEST_NAME)
    dims = literal(f" ({', '.join(coordinate.dims)}) " if coordinate.dims else " ", "dim")
    return name + dims + literal(", ", "dim").join(facts or [literal(coordinate.kind)])


def _missing(array: FoundArray) -> Iterator[Text]:
    if array.missing:
        text = "no coordinate along {names}".format(names=", ".join(array.missing))
        yield literal(text, "yellow")


def _reference(found: FoundReference, guides: _Guides) -> Text:
    text = literal("refers to ", "dim") + literal(found.target, "" if found.leads_to else "red")
    if found.leads_to is not None and found.target != str(found.leads_to):
        text += literal(f" {guides.to} ", "dim")
        text += literal(str(found.leads_to), "yellow" if found.by_fallback else "cyan")
    return text


def _problem(number: int, problem: FoundProblem, *, is_whole: bool) -> Text:
    text = literal(f"[{number}] ", "red") + literal(_told_kind(problem.kind), "bold")
    place = problem.place
    before = "" if place is None else place_before(place, problem.arrays)
    if problem.text:
        longest = None if is_whole else _LONGEST_PROBLEM
        told = after_place(before, problem.text)
        text += literal(": ") + literal(told, longest=longest)
    if problem.lost:
        lost = f"Opened without {problem.lost}"
        text += literal(f" {lost}" if problem.text.endswith("?") else f". {lost}")
    others = [path for path in problem.arrays if place is None or path != place.node]
    if others and (problem.kind != Topic.NO_PRINCIPAL.value or not problem.text):
        text += literal(" (") + _names(others, "dim") + literal(")")
    return text


def _sizes(array: FoundArray) -> str:
    sizes = zip_longest(array.dims, array.shape, fillvalue="?")
    return ", ".join(f"{dimension}: {size}" for dimension, size in sizes)


def _conventions(
    conventions: Iterable[FoundConvention], path: str | None, array: FoundArray
) -> Text:
    """Return the names of conventions, and who declares them if that is not the array."""
    words = {"recognised": "recognised", "unknown": "unknown"}
    names = [
        literal(it.name, "bold" if it.tier == "principal" else "")
        + literal(f" ({words[it.tier]})" if it.tier in words else "", "dim")
        for it in conventions
    ]
    text = literal(", ").join(names)
    if path in (None, array.path):
        return text
    is_near = path == (array.path.rpartition("/")[0] or "/")
    declarer = "the group" if is_near else path
    return text + literal(f" of {declarer}", "dim")


def _crs(crs: FoundCrs) -> Text:
    if crs.code is None:
        return literal(crs.name, longest=_LONGEST_NAME)
    return literal(crs.code) + literal(f" {crs.name}", "dim", longest=_LONGEST_NAME)


def _names(names: Sequence[str], style: str = "") -> Text:
    """Return the first of several names, and how many more there are."""
    shown = [shortened(printable(name), _LONGEST_NAME) for name in names[: _MOST_NAMES + 1]]
    if len(names) > len(shown):
        shown.pop()
    return literal(listed(shown, count=len(names)), style)


def _told_kind(kind: str) -> str:
    names = {
        "problem": "Problem",
        "choice": "Choice",
        "dimension": "Dimension",
        "name": "Name",
        "metadata": "Metadata",
        "no principal convention": "No principal convention",
    }
    return names.get(kind, kind)


# Verdicts.


def verdict_lines(
    console: Console,
    store: str,
    mistakes: Sequence[Finding],
    *,
    is_declared: bool,
    is_whole: bool = False,
    is_text: bool = False,
) -> Iterator[Text]:
    """Yield the lines that tell of what is to be mended in a store, as `explanation_lines` does."""
    once = group_findings(mistakes, by=wording)
    shown = mistakes if is_whole else once[:_MOST_TOLD]
    for mistake in shown:
        # In one piece, however long: places are there to be copied.
        yield from _places(mistake, is_whole=is_whole)
        for text in _mistake(mistake):
            yield from wrapped(console, text, console.width, 4)
        yield Text()
    if not is_whole and (more := _number(once[_MOST_TOLD:])):
        others = "{count} more problem" if more == 1 else "{count} more problems"
        yield literal(f"... {others.format(count=more)}{'' if is_text else ' (--all)'}", "dim")
        yield Text()
    judgement = literal(store, "bold") + literal(": ") + _judgement(once, is_declared=is_declared)
    yield from wrapped(console, judgement, console.width)


def _places(mistake: Finding, *, is_whole: bool) -> Iterator[Text]:
    """Yield where a mistake is, after how bad it is."""
    is_error = mistake.severity == "error"
    severity = literal(
        "error: " if is_error else "warning: ", "bold red" if is_error else "bold yellow"
    )
    places = list(dict.fromkeys((mistake.place, *mistake.places)))
    shown = places if is_whole else places[:_MOST_PLACES]
    for number, place in enumerate(shown):
        before = literal(" " * severity.cell_len) if number else severity
        yield before + literal(str(place), "cyan")
    if more := len(places) - len(shown):
        yield literal(" " * severity.cell_len) + literal(and_more(more), "dim")


def _mistake(mistake: Finding) -> Iterator[Text]:
    """Yield what is wrong, what to write instead, and who says so."""
    yield literal("  ") + literal(mistake.text)
    yield literal("  ") + literal("Instead: ", "green") + literal(mistake.remedy)
    rule = mistake.rule
    yield literal(f"  {rule.name} ({rule.document}, {rule.section})", "dim")


def _judgement(mistakes: Sequence[Finding], *, is_declared: bool) -> Text:
    if mistakes:
        errors = _number(it for it in mistakes if it.severity == "error")
        text = "errors: {errors}, warnings: {warnings}"
        return literal(text.format(errors=errors, warnings=_number(mistakes) - errors))
    if is_declared:
        return literal("nothing to mend", "green")
    return literal('nothing to mend, but no node has "zarr_conventions": little was checked')
