"""Explanations and verdicts as text, in a terminal with colours. Uses rich.

Text from a store is never interpreted as markup or as control sequences: `literal` makes a `rich.text.Text` of it, and
no text is made in a different way.
"""

from __future__ import annotations

import io
import os
import shutil
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text
from rich.tree import Tree

from zarr_xgroup.errors import after_place
from zarr_xgroup.findings import Finding, Topic, place_before
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
    path_in,
    short,
)
from zarr_xgroup.report.folding import Folding, similar_findings

#: The smallest width of lines, and the width of text that is not drawn for a terminal.
_NARROWEST, _WIDTH_OF_TEXT = 40, 100
#: How many levels of groups are indented: deeper groups start again at the left, with their whole path.
_DEEPEST = 6

#: How many rows of groups and arrays are shown before further groups stay closed.
_MOST_ROWS = 100
#: How many names of similar arrays or groups are shown.
_MOST_NAMES = 4
#: How many problems, findings, lines below a label, and places of a finding are shown, and the longest text of a
#: problem, in characters.
_MOST_SHOWN, _MOST_PLACES, _LONGEST_PROBLEM = 20, 3, 1000

_KIND_STYLES: Mapping[str, str] = {
    "stored": "cyan",
    "foreign": "magenta",
    "computed": "green",
    "inline": "green",
    "given": "blue",
}


class StreamConsole(Console):
    """The console of a stream. It has colours only if the stream is a terminal that supports them.

    Parameters
    ----------
    stream : TextIO
        The stream. The output has no escape sequences if ``NO_COLOR`` is set, or if the stream is not a terminal and
        ``FORCE_COLOR`` is not set (https://force-color.org, https://no-color.org).
    width : int, optional
        The largest width of lines, for text without colours. Default: the width of the terminal.
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
        """Draw parts below one another. Only those that are `Wrapped` are wrapped."""
        for part in parts:
            self.print(part, crop=False, no_wrap=True, overflow="ignore")

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError; rich would exit."""
        raise BrokenPipeError


def as_text(parts: Iterable[RenderableType]) -> str:
    """Return what is drawn as text without colours, of the same width everywhere."""
    stream = io.StringIO()
    StreamConsole(stream, _WIDTH_OF_TEXT).show(parts)
    return stream.getvalue().rstrip("\n")


def literal(text: str, style: str = "") -> Text:
    """Return a text, which may come from a store, as rich's Text, without markup and control characters."""
    # A span has the style: the style of the whole Text would apply to texts that are added to it.
    return Text().append(printable(text), style)


class Wrapped:
    """A text with others indented below it. The further lines of a long text have a hanging indent."""

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
    """Yield the parts of an explanation to draw: the tree of groups and arrays, and the problems.

    Parameters
    ----------
    found : FoundStore
        The explanation.
    is_whole : bool
        Whether nothing is folded.
    hint : str
        How to see what is left out; it follows "... 3 more".
    """
    facts = f"Zarr v{found.zarr_format}, {'' if found.is_consolidated else 'not '}consolidated"
    yield Wrapped(literal(found.store, "bold") + literal(f": {facts}", "dim"))
    yield Text()
    folding = Folding(found, is_whole=is_whole)
    if found.groups:
        yield _StoreTree(found, folding, is_whole=is_whole, hint=hint).tree()
        yield Text()
    rows = folding.problems if is_whole else folding.problems[:_MOST_SHOWN]
    for number, row in enumerate(rows, 1):
        text = _problem(number, row[0], is_whole=is_whole)
        yield Wrapped(text + _similar(row[1:], hint), hanging=4)
    if more := sum(problem.count for row in folding.problems[len(rows) :] for problem in row):
        yield _more(more, "problem", hint)
    if rows:
        yield Text()
    counts = {
        "Groups": len(found.groups),
        "Arrays": found.array_count,
        "References": len(found.references),
        "Problems": found.problem_count,
    }
    yield Wrapped(literal(" ".join(f"{noun}: {count}." for noun, count in counts.items()), "dim"))


def _problem(number: int, problem: FoundProblem, *, is_whole: bool) -> Text:
    """Return a problem: its topic, place and text, what is missing because of it, and the other affected arrays."""
    text = literal(f"[{number}] ", "red") + literal(problem.kind.capitalize(), "bold")
    if problem.text:
        about = after_place(place_before(problem.place, problem.arrays), problem.text)
        text += literal(": ") + literal(about if is_whole else short(about, _LONGEST_PROBLEM))
    if problem.lost:
        end = "" if problem.text.endswith("?") else "."
        text += literal(f"{end} Opened without {problem.lost}")
    # The text about arrays without a principal convention names them.
    if (others := problem.other_arrays) and (
        problem.kind != Topic.NO_PRINCIPAL.value or not problem.text
    ):
        text += literal(" (") + _names(others, "dim") + literal(")")
    return text


def _similar(others: Sequence[FoundProblem], hint: str) -> Text:
    """Return the number of problems that share a row with another one, and their arrays; "" without others."""
    if not others:
        return Text()
    count = sum(problem.count for problem in others)
    paths = dict.fromkeys(path for problem in others for path in problem.arrays)
    arrays = literal(" in ", "dim") + _names(list(paths), "dim") if paths else Text()
    return (
        literal(f" ... {counted(count, 'similar problem')}", "dim") + arrays + literal(hint, "dim")
    )


class _StoreTree:
    """The tree of a store's groups and arrays."""

    def __init__(self, found: FoundStore, folding: Folding, *, is_whole: bool, hint: str) -> None:
        self._root, self._is_whole, self._hint = found.groups[0], is_whole, hint
        self._folding = folding

    def tree(self) -> Tree:
        """Return the tree. Groups near the root take precedence over those far below it."""
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
            # The arrays that have a CRS show it.
            systems = {array.crs.variable for array in group.arrays if array.crs is not None}
            known = {
                coordinate.name: coordinate
                for coordinate in group.coordinates
                if coordinate.name not in systems or coordinate.replaces
            }
            above: set[str] = set()
            shared = _shared_facts(group)
            for similar in arrays:
                branch.add(self._array(similar, known, above, shared))
                if not similar[0].is_coordinate:
                    above.update(similar[0].coordinates)
            if more_arrays:
                branch.add(_more(more_arrays, "array", self._hint))
            for same in groups:
                if depth < _DEEPEST:
                    below, level = branch.add(self._group(same, same[0].name)), depth + 1
                else:  # there would be no room: it starts again at the left
                    below, level = tree.add(self._group(same, same[0].path)), 1
                pending.append((same[0], below, level))
            if more_groups:
                branch.add(_more(more_groups, "group", self._hint))
        return tree

    def _group(self, similar: Sequence[FoundGroup], name: str) -> Wrapped:
        """Return a group, the names of similar ones, the levels of its pyramid, and the facts that its arrays share."""
        group, others = similar[0], [group.name for group in similar[1:]]
        label = literal(short(name), "bold blue")
        if others:
            text = f" and {counted(len(others), 'group')} like it: "
            label += literal(text, "dim") + _names(others)
        levels = level_lines(group.levels, group.path) if group.levels else ()
        facts = _shared_facts(group)
        shared = [] if facts is None else _facts(facts, here=group.path)
        return self._with_details(label, [*levels, *shared, *self._about(group.path, ())])

    def _array(
        self,
        similar: Sequence[FoundArray],
        known: Mapping[str, FoundCoordinate],
        above: set[str],
        shared: FoundArray | None,
    ) -> Wrapped:
        """Return similar arrays, without the facts that all arrays of the group share.

        Only the names are shown of coordinates that arrays above them have.
        """
        array = similar[0]
        label = _names([one.name for one in similar], "" if array.is_coordinate else "bold")
        if len({(one.dims, one.shape, one.dtype) for one in similar}) == 1:
            label += literal(f" {array.sizes_as_text} ") + literal(array.dtype, "dim")
        coordinates = [known[name] for name in array.coordinates if name in known]
        details = _facts(_without(array, shared), here=array.path)
        if array.is_coordinate:
            label += literal(": coordinate" if len(similar) == 1 else ": coordinates", "dim")
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
                yield literal(f"coordinates {text}: {self._listed(names)}", "dim")

    def _listed(self, names: Sequence[str]) -> str:
        """Return names, only the first of many unless nothing is folded."""
        return ", ".join(names) if self._is_whole else listed(names)

    def _with_details(self, label: Text, details: list[Text]) -> Wrapped:
        """Return a label with details below it. A line with their number replaces the middle of many details.

        The last one is kept: it names the problems.
        """
        if (hidden := len(details) - _MOST_SHOWN) > 0 and not self._is_whole:
            hint = _more(hidden, "line", self._hint)
            details = [*details[: _MOST_SHOWN - 1], hint, details[-1]]
        return Wrapped(label, *details)

    def _about(self, path: str, origins: Sequence[object]) -> Iterator[Text]:
        """Yield the references of a node, and the numbers of its problems.

        References that the first rule resolves to the array of a coordinate are left out.
        """
        numbers = self._folding.numbers.get(path, ())
        for reference in self._folding.references.get(path, ()):
            end = reference.leads_to
            is_plain = end is not None and end in origins and not reference.by_fallback
            if self._is_whole or not is_plain:
                # The text of a reference is in the text of its problem, if the node has any.
                yield _reference(reference, with_text=self._is_whole or not numbers)
        shown = [number for number in numbers if self._is_whole or number <= _MOST_SHOWN]
        if shown:
            yield literal(f"see {', '.join(f'[{number}]' for number in shown)} below", "red")
        elif numbers:
            yield literal(f"{counted(len(numbers), 'problem')}{self._hint}", "red")


def _reference(reference: FoundReference, *, with_text: bool) -> Text:
    """Return a reference and its target. A JSON pointer that is in both is shown once."""
    end = reference.leads_to
    text = literal("refers to ", "dim") + literal(reference.target, "" if end else "red")
    if end and reference.target != str(end):
        style = "yellow" if reference.by_fallback else "cyan"
        is_repeated = end.pointer and reference.target.endswith(f"#{end.pointer}")
        target = str(replace(end, pointer="") if is_repeated else end)
        text += literal(", found at ", "dim") + literal(target, style)
    return text + literal(f": {reference.text}") if reference.text and with_text else text


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


def _facts(array: FoundArray, here: str) -> list[Text]:
    """Return a line with the conventions, the CRS and the times of an array, if it has any, for the row of a node."""
    group = parent_of(array.path) if here == array.path else ""
    facts = [_conventions(array.conventions, here, group)] if array.conventions else []
    if array.crs is not None:
        code = "" if array.crs.code is None else f"{array.crs.code} "
        name = literal(short(array.crs.name), "dim" if code else "")
        facts.append(literal("CRS ", "dim") + literal(code) + name)
    if array.times:
        facts.append(literal(array.times))
    return [literal("; ").join(facts)] if facts else []


def _conventions(conventions: Iterable[FoundConvention], here: str, group: str) -> Text:
    """Return the names of conventions, and which node declares them if it is not the one of the row."""
    declared: defaultdict[tuple[str | None, bool], list[FoundConvention]] = defaultdict(list)
    for convention in conventions:
        declared[convention.declared_in, convention.is_assumed].append(convention)
    texts = []
    for (declaring, is_assumed), in_one_place in declared.items():
        for convention in in_one_place:
            style = {"principal": "bold", "unknown": "yellow"}.get(convention.tier, "")
            texts.append(literal(convention.name, style))
            if convention.tier in ("recognised", "unknown"):
                texts[-1] += literal(f" ({convention.tier})", "dim")
        if is_assumed:
            texts[-1] += literal(" (assumed)", "dim")
        elif declaring not in (None, here):
            texts[-1] += literal(f" of {'the group' if declaring == group else declaring}", "dim")
    word = "convention " if len(texts) == 1 else "conventions "
    return literal(word, "dim") + literal(", ").join(texts)


def _coordinate(coordinate: FoundCoordinate) -> Text:
    """Return the name of a coordinate, its dimensions, and the source of its values."""
    style = _KIND_STYLES.get(coordinate.kind, "")
    dims = f" ({', '.join(coordinate.dims)}) " if coordinate.dims else " "
    facts = [literal(coordinate.text)] if coordinate.text else []
    if coordinate.kind == "own":
        facts.insert(0, literal("of the group", "dim"))
    elif coordinate.origin is not None:
        facts.insert(0, literal("from ", "dim") + literal(str(coordinate.origin), style))
    if coordinate.bounds is not None:
        facts.append(literal(f"bounds {coordinate.bounds}", "dim"))
    name = literal(short(coordinate.name), style)
    text = literal(", ", "dim").join(facts) if facts else literal(coordinate.kind)
    return name + literal(dims, "dim") + text


def level_lines(levels: Sequence[FoundLevel], group: str = "") -> Iterator[Text]:
    """Yield the lines of a table of levels, with paths relative to a group."""
    rows = [[*map(short, (path_in(group, path), *cells))] for path, *cells in level_table(levels)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = zip(row, widths, strict=True)
        texts = (text + " " * (width - cell_len(text)) for text, width in cells)
        yield literal("  ".join(texts).rstrip(), "" if number else "dim")


def _names(names: Sequence[str], style: str = "") -> Text:
    """Return the first of several names, and the number of the others."""
    most = _MOST_NAMES if len(names) > _MOST_NAMES + 1 else len(names)
    return literal(listed([*map(short, names)], most), style)


def _more(count: int, noun: str, hint: str) -> Text:
    """Return "... 3 more", with a noun and a hint."""
    return literal(f"... {counted(count, f'more {noun}')}{hint}", "dim")


# Verdicts.


def verdict_parts(
    verdict: FoundMistakes, *, is_whole: bool = False, hint: str = ""
) -> Iterator[RenderableType]:
    """Yield the parts of a verdict to draw. The parameters are those of `explanation_parts`."""
    all_rows = similar_findings(
        verdict.mistakes, is_whole=is_whole, key=lambda mistake: mistake.severity
    )
    rows = all_rows if is_whole else all_rows[:_MOST_SHOWN]
    for row in rows:
        yield from _mistake_parts(row, is_whole=is_whole, hint=hint)
    if more := sum(mistake.count for row in all_rows[len(rows) :] for mistake in row):
        yield _more(more, "problem", hint)
        yield Text()
    result = literal("no problems found", "green")
    bare = verdict.without_coordinates
    if rows:
        counts = Counter[str]()
        for mistake in verdict.mistakes:
            counts[mistake.severity] += mistake.count
        result = literal(f"errors: {counts['error']}, warnings: {counts['warning']}")
    elif not verdict.is_declared:
        text = 'no problems found, but little was checked: no node has "zarr_conventions"'
        result = literal(text)
    if bare:
        names = listed(bare, len(bare) if is_whole else _MOST_NAMES)
        result += literal(f"; {counted(len(bare), 'array')} without coordinates: {names}")
    yield Wrapped(literal(verdict.store, "bold") + literal(": ") + result)


def _mistake_parts(
    similar: Sequence[Finding], *, is_whole: bool, hint: str
) -> Iterator[RenderableType]:
    """Yield the parts of a mistake, or of similar mistakes, to draw."""
    mistake, *others = similar
    style = "bold red" if mistake.severity == "error" else "bold yellow"
    before = literal(f"{mistake.severity}: ", style)
    indent = literal(" " * before.cell_len)
    places = list(dict.fromkeys(place for one in similar for place in (one.place, *one.places)))
    for place in places if is_whole else places[:_MOST_PLACES]:
        # Never wrapped, so that it can be copied.
        yield before + literal(str(place), "cyan")
        before = indent
    if not is_whole and len(places) > _MOST_PLACES:
        yield indent + literal(f"and {len(places) - _MOST_PLACES:,} more", "dim")
    rule = mistake.rule
    yield Wrapped(literal(mistake.text), indent=2)
    if mistake.remedy:
        yield Wrapped(literal("Instead: ", "green") + literal(mistake.remedy), indent=2)
    if others:
        count = sum(other.count for other in others)
        yield Wrapped(_more(count, "problem", f" of this kind{hint}"), indent=2)
    yield Wrapped(literal(f"{rule.name} ({rule.document}, {rule.section})", "dim"), indent=2)
    yield Text()
