"""The HTML page of an explanation: one file without external resources, or a frame in a notebook.

The content is nested ``<details>`` elements, which browsers fold. ``page.js`` adds search, and links that unfold their
target. A Content Security Policy allows only the page's own style and script, so the page makes no request. Names and
values from a store are untrusted: `_html` escapes them.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections import defaultdict, deque
from collections.abc import Iterable
from importlib import resources
from string import Template

from zarr_xgroup.findings import Place, Topic
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundGroup,
    FoundProblem,
    FoundStore,
    counted,
    parent_of,
    short,
)
from zarr_xgroup.report.outline import Line, Outline, Part, Row

#: The longest frame in a notebook, in characters: the notebook file contains all of it.
_LONGEST_IN_NOTEBOOK = 300_000
#: With more arrays and references, a page would be longer than that in any case, so it is not made.
_MOST_NODES_IN_NOTEBOOK = 50_000

#: How many rows are unfolded at first, so that a page begins short.
_MOST_ROWS_OPEN = 40
#: The longest names of nodes that share a row, and any other text, that are shown whole, in characters.
_LONGEST_NAMES, _LONGEST_TEXT = 60, 1000

#: A sandboxed frame that may only run its script, and the text that shows where frames are not supported.
#: The page posts its height, and the frame becomes as high, up to a limit.
_FRAME = """\
<style>.zarr-xgroup + pre { display: none }</style>\
<iframe class="zarr-xgroup" sandbox="allow-scripts" srcdoc='$page' style="display: block; \
box-sizing: border-box; width: 100%; height: 480px; border: 0; resize: vertical"></iframe>\
<pre>$text</pre>\
<script>
if (!window.zarrXgroup) addEventListener("message", window.zarrXgroup = ({ source, data }) => {
  for (const frame of document.querySelectorAll("iframe.zarr-xgroup"))
    if (frame.contentWindow === source && Number.isFinite(data?.zarrXgroupHeight))
      frame.style.height = Math.min(data.zarrXgroupHeight, 900) + "px";
});
</script>"""


def framed(found: FoundStore, text: str) -> str:
    """Return the HTML of an explanation for a notebook: its page in a frame, with text as the fallback.

    Parameters
    ----------
    found : FoundStore
        The explanation.
    text : str
        The explanation as text, for readers that do not support frames. If the page is too large for a notebook, only
        the text is returned, with a hint.
    """
    if found.array_count + len(found.references) <= _MOST_NODES_IN_NOTEBOOK:
        inside = page(found).replace("&", "&amp;").replace("'", "&#39;")
        whole = Template(_FRAME).substitute(page=inside, text=html.escape(text))
        if len(whole) <= _LONGEST_IN_NOTEBOOK:
            return whole
    hint = "Its page is too large for a notebook: xgroup explain --html writes it to a file."
    return f"<pre>{html.escape(text)}\n\n{html.escape(hint)}</pre>"


def page(found: FoundStore) -> str:
    """Return an explanation as an HTML page.

    Parameters
    ----------
    found : FoundStore
        The explanation.

    Returns
    -------
    str
        The content of the file, in ASCII.
    """
    parts = {
        name: resources.files(__package__).joinpath(f"page.{name}").read_text(encoding="ascii")
        for name in ("html", "css", "js")
    }
    # The Content Security Policy allows only the style and the script that have these hashes.
    hashes = {
        f"{name}_hash": base64.b64encode(hashlib.sha256(parts[name].encode()).digest()).decode()
        for name in ("css", "js")
    }
    facts = [
        f"Zarr v{found.zarr_format}",
        "consolidated" if found.is_consolidated else "not consolidated",
        counted(len(found.groups), "group"),
        counted(found.array_count, "array"),
        counted(len(found.references), "reference"),
        counted(found.problem_count, "problem"),
    ]
    rows = _PageRows(found)
    whole = Template(parts["html"]).substitute(
        store=_html("{}", found.store),
        facts=_html("{}", " \u00b7 ".join(facts)),
        rows=rows.rows(),
        problems=rows.problems(),
        css=parts["css"],
        js=parts["js"],
        **hashes,
    )
    return whole.encode("ascii", "xmlcharrefreplace").decode()


class _Html(str):
    """HTML made by this module, which `_html` does not escape again."""

    __slots__ = ()


def _html(template: str, *texts: str) -> _Html:
    """Return an HTML template formatted with texts, each escaped and shortened unless it is `_Html`."""
    escaped = (
        text if isinstance(text, _Html) else html.escape(short(text, _LONGEST_TEXT))
        for text in texts
    )
    return _Html(template.format(*escaped))


def _list(items: Iterable[_Html]) -> _Html:
    """Return an HTML list, "" without items."""
    shown = "".join(_html("<li>{}</li>", item) for item in items)
    return _html("<ul>{}</ul>", _Html(shown)) if shown else _Html()


def _badge(problems: Iterable[FoundProblem]) -> _Html:
    """Return the number of problems, in red if data or attributes are missing in the opened store; "" without problems."""
    known = list(problems)
    if not known:
        return _Html()
    topics = (Topic.PROBLEM.value, Topic.METADATA.value)
    is_loss = any(problem.lost or problem.kind in topics for problem in known)
    text = counted(sum(problem.count for problem in known), "problem")
    return _html('<span class="badge {}">{}</span>', "loss" if is_loss else "choice", text)


class _PageRows:
    """The rows of a page, with the HTML ids to which texts in them link."""

    def __init__(self, found: FoundStore) -> None:
        self._found = found
        self._outline = Outline(found)
        self._root = self._outline.root()
        # By the path of a row: the rows in it, and the numbers of problems of all its nodes and those in it. The id of the
        # row that shows a node, by path. The paths of unfolded rows.
        self._rows: dict[str, list[Row]] = {}
        self._numbers: defaultdict[str, set[int]] = defaultdict(set)
        self._ids: dict[str, str] = {}
        self._open: set[str] = set()
        pending = deque([self._root])
        while pending:
            row = pending.popleft()
            rows = [inner for inner in self._outline.rows(row) if isinstance(inner, Row)]
            self._rows[row.path] = rows
            self._ids.update(
                dict.fromkeys((node.path for node in row.nodes), f"n{len(self._rows)}")
            )
            is_group = isinstance(row.nodes[0], FoundGroup)
            if is_group and len(self._rows) + len(pending) + len(rows) <= _MOST_ROWS_OPEN:
                self._open.add(row.path)
            pending.extend(rows)
        for path in reversed(self._rows):
            self._numbers[path].update(self._outline.numbers.get(path, ()))
            if path != self._root.path:
                self._numbers[parent_of(path)] |= self._numbers[path]
        self._numbers[self._root.path] = set(range(1, 1 + len(self._outline.problems)))

    def rows(self) -> _Html:
        """Return the HTML of all rows. Recursion could be too deep."""
        parts: list[str] = []
        pending: list[str | Row] = [self._root]
        while pending:
            row = pending.pop()
            if isinstance(row, str):
                parts.append(row)
            else:
                parts.append(self._row(row))
                pending += ["</details>", *reversed(self._rows[row.path])]
        return _Html("".join(parts))

    def _row(self, row: Row) -> _Html:
        """Return the start of a row: a card, which is always visible, and lines, which unfold."""
        node, names = row.nodes[0], ", ".join(row.names)
        name, lines = names, [self._line(line) for line in row.lines]
        if len(names) > _LONGEST_NAMES and len(row.nodes) > 1:
            name = f"{short(row.names[0])} \u2026 {short(row.names[-1])}"
            all_names = html.escape(short(names, len(names)))
            lines.insert(0, _html('<span class="like">{}</span>', _Html(all_names)))
        if isinstance(node, FoundGroup):
            name = node.path if row is self._root else name
            lines.insert(0, self._line_to_open(node))
        units = {array.units for array in row.nodes if isinstance(array, FoundArray)}
        remarks = [
            *row.remarks,
            *(Part(f" [{unit}]", "dim") for unit in units if unit and len(units) == 1),
        ]
        numbers = sorted(self._numbers[row.path])
        problems = (problem for number in numbers for problem in self._outline.problems[number - 1])
        return _html(
            '<details id="{}" class="row {}"{}><summary><span class="name">{}</span>{}{}</summary>{}',
            self._ids[row.path],
            "group" if isinstance(node, FoundGroup) else "array",
            " open" if row.path in self._open else "",
            short(name),
            self._line(remarks),
            _badge(problems),
            _list(filter(None, lines)),
        )

    def _line(self, line: Line) -> _Html:
        """Return a line, with links to the places and problems that it names."""
        return _Html("".join(map(self._part, line)))

    def _part(self, part: Part) -> _Html:
        text = _html('<span class="{}">{}</span>' if part.style else "{1}", part.style, part.text)
        target = f"p{part.target}" if isinstance(part.target, int) else self._id_of(part.target)
        return _html('<a href="#{}">{}</a>', target, text) if target else text

    def _id_of(self, place: Place | None) -> str:
        """Return the id of the row that shows a place or the nearest group above it, "" if there is no such row."""
        if place is None or place.store is not None:
            return ""
        path = place.node
        while path not in self._ids and path != "/":
            path = parent_of(path)
        return self._ids.get(path, "")

    def _line_to_open(self, group: FoundGroup) -> _Html:
        """Return a line of Python that opens a group as a Dataset, or the root or a pyramid without arrays as a tree."""
        if not (group.arrays or group.levels or group is self._root.nodes[0]):
            return _Html()
        store = self._found.store
        # The name of a store object is not an address.
        arguments = ["store" if store.startswith(("memory://", "<")) else repr(store)]
        arguments.append("engine='xgroup'")
        if group.path != "/":
            arguments.append(f"group={group.path!r}")
        if self._found.assumed:
            arguments.append(f"assume_conventions={list(self._found.assumed)}")
        function = "open_dataset" if group.arrays else "open_datatree"
        return _html(
            '<code class="copy" title="A click selects the line">{}</code>',
            f"xr.{function}({', '.join(arguments)})",
        )

    def problems(self) -> _Html:
        """Return the section of problems, "" without problems. Those that share a row share its number."""
        items = []
        for number, (first, *others) in enumerate(self._outline.problems, 1):
            lines = [self._line(self._outline.problem(number, it)) for it in (first, *others)]
            shared = _list(lines[1:])
            items.append(_html('<li id="p{}">{}{}</li>', f"{number}", lines[0], shared))
        section = '<section id="problems"><h2>Problems</h2><ul>{}</ul></section>'
        return _html(section, _Html("".join(items))) if items else _Html()
