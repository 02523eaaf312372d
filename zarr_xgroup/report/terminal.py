"""Explanations and verdicts as text, in a terminal with colours. Uses rich.

Text from a store is never interpreted as markup or as control sequences: `literal` makes a `rich.text.Text` of it, and
no text is made in a different way.
"""

from __future__ import annotations

import io
import os
import shutil
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text
from rich.tree import Tree

from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import listed
from zarr_xgroup.redaction import printable
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundGroup,
    FoundLevel,
    FoundMistakes,
    FoundStore,
    counted,
    short,
)
from zarr_xgroup.report.outline import (
    MOST_NAMES,
    MOST_SHOWN,
    Line,
    Outline,
    Row,
    level_lines,
    names_part,
    similar_findings,
)

#: The smallest width of lines, and the width of text that is not drawn for a terminal.
_NARROWEST, _WIDTH_OF_TEXT = 40, 100
#: How many levels of groups are indented: deeper groups start again at the left, with their whole path.
_DEEPEST = 6

#: How many rows of groups and arrays are shown before further groups stay closed.
_MOST_ROWS = 100
#: How many places of a finding are shown.
_MOST_PLACES = 3

#: The styles of rich by those of the parts of an outline.
_STYLES: Mapping[str, str] = {
    "dim": "dim",
    "table dim": "dim",
    "name": "bold",
    "wrong": "red",
    "warning": "yellow",
    "principal": "bold",
    "unknown": "yellow",
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
    outline = Outline(found, is_whole=is_whole, is_short=True, hint=hint)
    if found.groups:
        yield _tree(outline)
        yield Text()
    shown = outline.shown_problems
    for number, (problem, *others) in enumerate(shown, 1):
        line = [*outline.problem(number, problem), *outline.similar(others)]
        yield Wrapped(_drawn(line), hanging=4)
    if more := sum(problem.count for row in outline.problems[len(shown) :] for problem in row):
        yield _drawn(outline.more(more, "problem"))
    if shown:
        yield Text()
    counts = {
        "Groups": len(found.groups),
        "Arrays": found.array_count,
        "References": len(found.references),
        "Problems": found.problem_count,
    }
    yield Wrapped(literal(" ".join(f"{noun}: {count}." for noun, count in counts.items()), "dim"))


def _tree(outline: Outline) -> Tree:
    """Return the tree of groups and arrays. Groups near the root take precedence over those far below it."""
    root = outline.root()
    tree = Tree(_row(root, root.path, outline), guide_style="dim")
    pending, count = deque([(root, tree, 0)]), 1
    while pending:
        row, branch, depth = pending.popleft()
        rows = outline.rows(row)
        if rows and count > _MOST_ROWS and not outline.is_whole:
            branch.add(literal(f"... and more{outline.hint}", "dim"))
            continue
        count += len(rows)
        for inner in rows:
            if not isinstance(inner, Row):
                branch.add(_drawn(inner))
            elif depth < _DEEPEST or isinstance(inner.nodes[0], FoundArray):
                below = branch.add(_row(inner, inner.names[0], outline))
                pending.append((inner, below, depth + 1))
            else:  # there would be no room: it starts again at the left
                pending.append((inner, tree.add(_row(inner, inner.path, outline)), 1))
    return tree


def _row(row: Row, name: str, outline: Outline) -> Wrapped:
    """Return a row with its lines. A line with their number replaces the middle of many lines.

    The last one is kept: it names the problems.
    """
    if isinstance(row.nodes[0], FoundGroup):
        label, others = literal(short(name), "bold blue"), row.names[1:]
        if others:
            label += literal(f" and {counted(len(others), 'group')} like it: ", "dim")
            label += _drawn([names_part(others)])
    else:
        label = _drawn([names_part(row.names, "" if row.nodes[0].is_coordinate else "name")])
    lines = row.lines
    if (hidden := len(lines) - MOST_SHOWN) > 0 and not outline.is_whole:
        lines = [*lines[: MOST_SHOWN - 1], outline.more(hidden, "line"), lines[-1]]
    return Wrapped(label + _drawn(row.remarks), *map(_drawn, lines))


def _drawn(line: Line) -> Text:
    """Return a line as rich's Text."""
    return Text().join(literal(part.text, _STYLES.get(part.style, "")) for part in line)


def level_parts(levels: Sequence[FoundLevel]) -> Iterator[RenderableType]:
    """Return the parts of a table of levels to draw."""
    return map(_drawn, level_lines(levels))


# Verdicts.


def verdict_parts(
    verdict: FoundMistakes, *, is_whole: bool = False, hint: str = ""
) -> Iterator[RenderableType]:
    """Yield the parts of a verdict to draw. The parameters are those of `explanation_parts`."""
    all_rows = similar_findings(
        verdict.mistakes, is_whole=is_whole, key=lambda mistake: mistake.severity
    )
    rows = all_rows if is_whole else all_rows[:MOST_SHOWN]
    for row in rows:
        yield from _mistake_parts(row, is_whole=is_whole, hint=hint)
    if more := sum(mistake.count for row in all_rows[len(rows) :] for mistake in row):
        yield literal(f"... {counted(more, 'more problem')}{hint}", "dim")
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
        names = listed(bare, len(bare) if is_whole else MOST_NAMES)
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
        more = f"... {counted(count, 'more problem')} of this kind{hint}"
        yield Wrapped(literal(more, "dim"), indent=2)
    yield Wrapped(literal(f"{rule.name} ({rule.document}, {rule.section})", "dim"), indent=2)
    yield Text()
