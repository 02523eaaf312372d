"""The HTML page of an explanation: one file without external resources, or a frame in a notebook.

The content is nested ``<details>`` elements, which browsers fold. ``page.js`` adds arrows, search, and links that
unfold their target. A Content Security Policy allows only the page's own style and script, so the page makes no
request. Names and values from a store are untrusted: `_html` escapes them.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from string import Template

from msgspec.structs import replace

from zarr_xgroup.findings import Place, Topic, place_before
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundGroup,
    FoundProblem,
    FoundReference,
    FoundStore,
    counted,
    level_table,
    parent_of,
    path_in,
    short,
)
from zarr_xgroup.report.folding import Folding

#: The longest frame in a notebook, in characters: the notebook file contains all of it.
_LONGEST_IN_NOTEBOOK = 300_000
#: With more arrays and references, a page would be longer than that in any case, so it is not made.
_MOST_NODES_IN_NOTEBOOK = 50_000

#: How many rows the groups that are unfolded at first may have together, so that a page begins short.
_MOST_ROWS_OPEN = 40
#: From this number of rows on, the arrays of a group are folded into one row, so that the groups below stay visible.
_MANY_ARRAY_ROWS = 6
#: How many conventions a row shows, how many arrays a problem names, how many referring rows a row lists,
#: and how many items a section has that is unfolded at first.
_MOST_CHIPS, _MOST_ARRAYS_NAMED, _MOST_REFERRING, _MOST_ITEMS_OPEN = 4, 5, 20, 20
#: The longest names of nodes that share a row, and any other text, that are shown whole, in characters.
_LONGEST_NAMES, _LONGEST_TEXT = 60, 1000
#: The longest units and CRS in a card, in characters.
_LONGEST_REMARK = 40

#: Where the values of a coordinate come from, by its `kind`.
_KIND_IN_WORDS = {
    "own": "array of this group",
    "stored": "array of another group",
    "foreign": "array of another store",
    "computed": "computed",
    "inline": "in metadata",
    "given": "from a plug-in",
}

_BY_FALLBACK = "resolved by a fallback rule"
_UNRESOLVED = "unresolved"

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
    unresolved = sum(reference.leads_to is None for reference in found.references)
    facts = [
        f"Zarr v{found.zarr_format}",
        "consolidated" if found.is_consolidated else "not consolidated",
        counted(len(found.groups), "group"),
        counted(found.array_count, "array"),
        counted(len(found.references), "reference"),
        *([f"{unresolved:,} {_UNRESOLVED}"] if unresolved else []),
        counted(found.problem_count, "problem"),
    ]
    tree = _PageTree(found)
    whole = Template(parts["html"]).substitute(
        store=_html("{}", found.store),
        facts=_html("{}", " \u00b7 ".join(facts)),
        problems=tree.problems(),
        rows=tree.rows(),
        arrows=tree.arrows(),
        css=parts["css"],
        js=parts["js"],
        **hashes,
    )
    return whole.encode("ascii", "xmlcharrefreplace").decode()


class _Html(str):
    """HTML made by this module, which `_html` does not escape again."""

    __slots__ = ()


def _html(template: str, *texts: str) -> _Html:
    """Return an HTML template formatted with texts, each escaped unless it is `_Html`."""
    return _Html(template.format(*map(_escaped, texts)))


def _escaped(text: str) -> str:
    """Return a text as HTML: printable, shortened and escaped, unless it already is `_Html`."""
    return text if isinstance(text, _Html) else html.escape(short(text, _LONGEST_TEXT))


def _join_html(parts: Iterable[str], between: str = "") -> _Html:
    """Return the HTML of several texts, each escaped unless it is `_Html`."""
    return _Html(between.join(map(_escaped, parts)))


def _html_list(items: Iterable[str]) -> str:
    """Return an HTML list, "" without items."""
    shown = _join_html(_html("<li>{}</li>", item) for item in items)
    return _html("<ul>{}</ul>", shown) if shown else ""


def _html_lines(lines: Iterable[str]) -> _Html:
    """Return each text that is not empty as a separate line."""
    return _join_html(_html('<div class="line">{}</div>', line) for line in lines if line)


def _first_and_more(links: Sequence[_Html], most: int) -> list[str]:
    """Return the first links, followed by "N more" if there are more than `most`."""
    more = [f"{len(links) - most:,} more"] if len(links) > most else []
    return [*links[:most], *more]


def _section(name: str, heading: str, items: Sequence[_Html]) -> str:
    """Return a list with a heading, by which it folds, "" without items."""
    is_open = " open" if len(items) <= _MOST_ITEMS_OPEN else ""
    head = _html("<summary><h2>{}</h2> {}</summary>", heading, f"{len(items):,}")
    section = '<details id="{}"{}>{}<ul>{}</ul></details>'
    return _html(section, name, is_open, head, _join_html(items)) if items else ""


def _coordinates_of(array: FoundArray, group: FoundGroup) -> list[FoundCoordinate]:
    """Return the coordinates of an array, then their bounds."""
    coordinates = [one for one in group.coordinates if one.name in array.coordinates]
    bounds = {coordinate.bounds for coordinate in coordinates}
    others = [one for one in group.coordinates if one not in coordinates]
    return coordinates + [one for one in others if one.name in bounds]


def _short_names(similar: Sequence[FoundArray] | Sequence[FoundGroup]) -> str:
    """Return the names of arrays or groups that share a row, only the first and the last if they are too long."""
    names = ", ".join(one.name for one in similar)
    if len(similar) == 1 or len(names) <= _LONGEST_NAMES:
        return short(names)
    return f"{short(similar[0].name)} \u2026 {short(similar[-1].name)}"


def _span(kind: str, text: str) -> str:
    """Return a text in an element of a class, "" without text."""
    return _html('<span class="{}">{}</span>', kind, text) if text else ""


def _chip(convention: FoundConvention) -> str:
    """Return the name of a convention as a chip in the colour of its tier."""
    return _span(f"chip {convention.tier}", short(convention.name))


def _units(array: FoundArray) -> str:
    """Return the units of an array in brackets, as in xarray's plots, "" if it has none."""
    return f"[{short(array.units, _LONGEST_REMARK)}]" if array.units else ""


def _units_by_name(arrays: Sequence[FoundArray]) -> str:
    """Return the units of arrays, each with the names of the arrays that have it."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for array in arrays:
        names[array.units].append(array.name)
    return _html_list(
        f"{units or 'no units'}: {', '.join(those)}" for units, those in names.items()
    )


def _loses_data(problem: FoundProblem) -> bool:
    """Return whether data or attributes are missing in the opened store because of a problem."""
    return bool(problem.lost) or problem.kind in (Topic.PROBLEM.value, Topic.METADATA.value)


def _name_and_other_sizes(group: FoundGroup, other: FoundGroup) -> str:
    """Return the name of a group, with the sizes of dimensions that differ in a similar group."""
    known = {pair for array in other.arrays for pair in array.sizes}
    pairs = (pair for array in group.arrays for pair in array.sizes)
    sizes = dict.fromkeys(f"{dim}: {size}" for dim, size in pairs if (dim, size) not in known)
    return f"{group.name} ({', '.join(sizes)})" if sizes else group.name


class _PageTree:
    """The rows of a page: groups with their arrays and groups, then referenced nodes outside the opened group.

    Similar groups, or similar arrays, share a row. Its place is that of the first of them.
    """

    def __init__(self, found: FoundStore) -> None:
        self._found = found
        self._folding = Folding(found, most_rows=None, folds_problems=False)
        self._root = found.groups[0] if found.groups else FoundGroup(found.group)
        # The HTML id of each row; the path of the row's first node for each node that shares a row; the rows in
        # each group by its path; the group's row for each row in it.
        self._row_ids: dict[Place, str] = {}
        self._representative: dict[str, str] = {}
        self._rows_inside: dict[str, tuple[list[list[FoundArray]], list[list[FoundGroup]]]] = {}
        self._group_row_of: dict[Place, Place] = {}
        self._open_groups: set[str] = set()
        self._assign_rows()
        # Rows of referenced nodes outside the opened group; references by the rows of the groups at both ends;
        # the number of references to each row, by the referring row.
        self._rows_elsewhere: list[Place] = []
        self._references_between: defaultdict[tuple[Place, Place | None], list[FoundReference]]
        self._references_between = defaultdict(list)
        self._referring_rows: defaultdict[Place, Counter[Place]] = defaultdict(Counter)
        self._relate_rows()
        # The number of arrays by path, and the numbers of problems by row, for groups including all groups below
        # them. The root has all problems.
        self._array_counts = Counter({group.path: len(group.arrays) for group in found.groups})
        for group in reversed(found.groups[1:]):
            self._array_counts[parent_of(group.path)] += self._array_counts[group.path]
        self._problem_numbers: defaultdict[Place, set[int]] = defaultdict(set)
        for path, numbers in self._folding.numbers.items():
            row = self._row_of(Place(path))
            while row in self._row_ids and row.node not in ("/", self._root.path):
                self._problem_numbers[row].update(numbers)
                row = Place(parent_of(row.node))
        self._problem_numbers[Place(self._root.path)].update(range(1, 1 + len(found.problems)))

    def _assign_rows(self) -> None:
        """Give each row an id, breadth first, and unfold groups until the largest number of open rows is reached."""
        room = _MOST_ROWS_OPEN
        pending = deque([[self._root]])
        while pending:
            similar = pending.popleft()
            path = similar[0].path
            arrays = self._folding.arrays(similar[0])[0]
            groups = self._folding.groups(similar[0])[0]
            self._rows_inside[path] = arrays, groups
            rows = [[one.path for one in similar], *([one.path for one in row] for row in arrays)]
            for first, *others in rows:
                self._row_ids[Place(first)] = f"n{len(self._row_ids)}"
                self._group_row_of[Place(first)] = Place(path)
                self._representative.update(dict.fromkeys(others, first))
            number = len(arrays) + len(groups)
            if path == self._root.path or (parent_of(path) in self._open_groups and number <= room):
                self._open_groups.add(path)
                room -= number
            pending.extend(groups)

    def _relate_rows(self) -> None:
        """Sort references by the rows that they connect, and add a row for each referenced node outside the tree."""
        for reference in self._found.references:
            source, target = self._row_of(reference.source), None
            if reference.leads_to is not None:
                target = self._row_of(reference.leads_to)
                self._referring_rows[target][source] += 1
            for row in filter(None, (source, target)):
                if row not in self._row_ids:
                    self._row_ids[row] = f"n{len(self._row_ids)}"
                    self._rows_elsewhere.append(row)
            start = self._group_row_of.get(source, source)
            end = None if target is None else self._group_row_of.get(target, target)
            self._references_between[start, end].append(reference)

    def _row_of(self, place: Place) -> Place:
        """Return the place of the row that shows a place.

        It is the row of the node or of the nearest group above it. A node outside the opened group, and a different
        store as a whole, have their own rows.
        """
        root = self._root.path.rstrip("/")
        if place.store is not None:
            return Place("", store=place.store)
        if not f"{place.node}/".startswith(f"{root}/"):
            return Place(place.node)
        path = self._root.path
        for name in filter(None, place.node.removeprefix(root).split("/")):
            inner = f"{path.rstrip('/')}/{name}"
            inner = self._representative.get(inner, inner)
            if Place(inner) not in self._row_ids:
                break
            path = inner
        return Place(path)

    def rows(self) -> str:
        """Return the HTML of all rows. Recursion could be too deep."""
        parts: list[str] = []
        pending: list[str | list[FoundGroup]] = [[self._root]]
        while pending:
            similar = pending.pop()
            if isinstance(similar, str):
                parts.append(similar)
                continue
            arrays, groups = self._rows_inside[similar[0].path]
            # The element of a group ends after the rows in it.
            parts.append(self._group_row(similar).removesuffix("</details>"))
            rows = _join_html(self._array_row(row, similar[0]) for row in arrays)
            if groups and len(arrays) >= _MANY_ARRAY_ROWS:
                label = counted(sum(map(len, arrays)), "array")
                folded = '<details class="row arrays"><summary>{}</summary>{}</details>'
                rows = _html(folded, _span("name", label), rows)
            parts.append(rows)
            pending += ["</details>", *reversed(groups)]
        for row in self._rows_elsewhere:
            kind = "elsewhere in this store" if row.store is None else "a different store"
            name = row.store or row.node
            parts.append(self._row(row, "elsewhere", name, [_span("remark", kind)], {}))
        return "".join(parts)

    def _group_row(self, similar: Sequence[FoundGroup]) -> _Html:
        """Return the row of a group, or of similar groups."""
        group = similar[0]
        arrays = sum(self._array_counts[one.path] for one in similar)
        conventions = {one.name: _chip(one) for array in group.arrays for one in array.conventions}
        card = [
            _span("remark", f"{len(similar):,} similar groups" if len(similar) > 1 else ""),
            _span("remark", counted(arrays, "array") if arrays else ""),
            *[*conventions.values()][:_MOST_CHIPS],
        ]
        # Coordinates that are neither in the rows of arrays nor arrays of the group.
        shown = {name for array in group.arrays for name in array.coordinates}
        shown |= {coordinate.bounds for coordinate in group.coordinates if coordinate.bounds}
        others = [one for one in group.coordinates if one.name not in shown and one.kind != "own"]
        facts = {
            "Open": self._line_to_open(group),
            "Shown": group.path if len(similar) > 1 else "",
            "Like it": _join_html((_name_and_other_sizes(one, group) for one in similar[1:]), ", "),
            "Levels": self._levels(group),
            "Coordinates": _html_list(map(self._coordinate, others)),
        }
        name = group.path if group is self._root else _short_names(similar)
        kind = "group alike" if len(similar) > 1 else "group"
        return self._row(Place(group.path), kind, name, card, facts)

    def _line_to_open(self, group: FoundGroup) -> str:
        """Return a line of Python that opens a group as a Dataset, or the root or a pyramid without arrays as a tree."""
        if not (group.arrays or group.levels or group is self._root):
            return ""
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

    def _array_row(self, similar: Sequence[FoundArray], group: FoundGroup) -> _Html:
        """Return the row of an array, or of similar arrays, of a group."""
        array, crs, missing = similar[0], similar[0].crs, ", ".join(similar[0].missing)
        sizes = {one.path: f"{one.sizes_as_text} {one.dtype}" for one in similar}
        is_one_size, units = len({*sizes.values()}) == 1, {one.units for one in similar}
        remarks = [f"{len(similar):,} similar arrays" if len(similar) > _MOST_CHIPS else ""]
        remarks += [array.sizes_as_text, array.dtype] if is_one_size else []
        remarks += [_units(array)] if len(units) == 1 else []
        remarks += ["coordinate"] if array.is_coordinate else []
        remarks += [short(crs.code or crs.name, _LONGEST_REMARK)] if crs else []
        card = [
            *(_span("remark", remark) for remark in remarks),
            *map(_chip, array.conventions[:_MOST_CHIPS]),
            _span("badge missing", f"no coordinate {missing}") if missing else "",
        ]
        paths = sizes if is_one_size else [f"{path} {size}" for path, size in sizes.items()]
        facts = {
            "Path": _join_html(paths, ", "),
            "No coordinate along": missing,
            "Units": "" if len(units) == 1 else _units_by_name(similar),
            "Times": array.times,
            "CRS": " \u00b7 ".join(filter(None, (crs.name, crs.code, crs.variable))) if crs else "",
            "Conventions": _html_list(map(self._convention, array.conventions)),
            "Coordinates": _html_list(map(self._coordinate, _coordinates_of(array, group))),
        }
        return self._row(Place(array.path), "array", _short_names(similar), card, facts)

    def _row(
        self, row: Place, kind: str, name: str, card: Sequence[str], facts: Mapping[str, str]
    ) -> _Html:
        """Return a row: a card, which is always visible, and facts with their names, which unfold."""
        problems = self._found.problems
        badge = ""
        if wrong := [problems[number - 1] for number in self._problem_numbers.get(row, ())]:
            text = counted(sum(problem.count for problem in wrong), "problem")
            badge = _span("badge loss" if any(map(_loses_data, wrong)) else "badge", text)
        path = row.node if row.store is None else ""
        references = self._folding.references[path]
        users = [
            _html("{}{}", self._link(user), f" \u00d7 {count:,}" if count > 1 else "")
            for user, count in self._referring_rows[row].items()
        ]
        links = (
            _html('<a href="#p{}">{}</a>', f"{number}", short(problems[number - 1].text))
            for number in self._folding.numbers[path]
        )
        facts = {
            "Problems": _html_list(links),
            **facts,
            "References": _html_list(self._reference(reference, path) for reference in references),
            "Referred to by": _html_list(_first_and_more(users, _MOST_REFERRING)),
        }
        terms = [
            _html('<dt>{}</dt><dd class="{}">{}</dd>', term, term.split()[0].lower(), fact)
            for term, fact in facts.items()
            if fact
        ]
        return _html(
            '<details id="{}" class="row {}"{}><summary>{}</summary>{}</details>',
            self._row_ids[row],
            kind,
            " open" if path in self._open_groups else "",
            _join_html((_span("name", short(name)), *card, badge)),
            _html("<dl>{}</dl>", _join_html(terms)) if terms else "",
        )

    def _link(self, place: Place, name: str = "") -> _Html:
        """Return a place as a link to its row, or as text without a row, with its JSON pointer."""
        path = name or "|".join(filter(None, (place.store, place.node)))
        row = self._row_ids.get(self._row_of(place))
        link = _html("{}" if row is None else '<a href="#{1}">{0}</a>', path, row or "")
        return _html("{}<wbr><code>#{}</code>", link, place.pointer) if place.pointer else link

    def _convention(self, convention: FoundConvention) -> _Html:
        """Return a convention with the node in which it is declared."""
        where = convention.declared_in
        not_declared = "assumed" if convention.is_assumed else "not declared"
        declared = _html("declared in {}", self._link(Place(where))) if where else not_declared
        return _html("{} {}", _chip(convention), declared)

    def _coordinate(self, coordinate: FoundCoordinate) -> _Html:
        """Return a coordinate with its dimensions, the kind of its source, its origin and its bounds."""
        origin = coordinate.origin if coordinate.kind != "own" else None
        lines = [
            coordinate.text,
            _html("stored in {}", self._link(origin)) if origin else "",
            f"cell boundaries: {coordinate.bounds}" if coordinate.bounds else "",
        ]
        return _html(
            "<b>{}</b> {} {}{}{}",
            coordinate.name,
            f"({', '.join(coordinate.dims)})" if coordinate.dims else "",
            _span("chip", _KIND_IN_WORDS.get(coordinate.kind, coordinate.kind)),
            " index" if coordinate.is_index else "",
            _html_lines(lines),
        )

    def _reference(self, reference: FoundReference, path: str) -> _Html:
        """Return a reference, for the row of a path, with its target and its place. An equal target is shown once."""
        source, target = reference.source, reference.leads_to
        written: str = _html("<code>{}</code> ", reference.target)
        if target is None:
            link = _span("badge loss", _UNRESOLVED)
        elif reference.target == str(target):
            written, link = "", self._link(target)
        else:
            is_repeated = target.pointer and reference.target.endswith(f"#{target.pointer}")
            target = replace(target, pointer="") if is_repeated else target
            link = _html("\u2192 {}", self._link(target))
        where = source.pointer if source.node == path else self._link(source)
        return _html(
            "{}{}{}{}",
            written,
            link,
            _html(" {}", _span("badge", _BY_FALLBACK)) if reference.by_fallback else "",
            _html_lines([reference.text, _html("at {}", where)]),
        )

    def _levels(self, group: FoundGroup) -> str:
        """Return the levels of a pyramid as a table, with paths relative to its group, "" without levels."""
        heads, *rows = level_table(group.levels)
        lines = [_join_html(_html('<th scope="col">{}</th>', head) for head in heads)]
        for path, *cells in rows:
            shown = (self._link(Place(path), path_in(group.path, path)), *cells)
            lines.append(_join_html(_html("<td>{}</td>", cell) for cell in shown))
        table = _join_html(_html("<tr>{}</tr>", line) for line in lines)
        cells = [cell for _path, *row in rows for cell in row]
        signs = {
            "?: not known": "?" in cells,
            "~: by the numbers of cells": any(cell.startswith("~") for cell in cells),
        }
        legend = _html_lines([sign for sign, is_shown in signs.items() if is_shown])
        return _html("<table>{}</table>{}", table, legend) if rows else ""

    def problems(self) -> str:
        """Return the section of problems, "" without problems."""
        items = []
        for number, problem in enumerate(self._found.problems, 1):
            place = problem.place if place_before(problem.place, problem.arrays) else None
            paths = problem.arrays if place is None else problem.other_arrays
            named = [self._link(Place(path)) for path in paths]
            links = _join_html(_first_and_more(named, _MOST_ARRAYS_NAMED), ", ")
            lines = [
                f"opened without {problem.lost}" if problem.lost else "",
                _html("at {}", self._link(place)) if place else "",
                _html("affects {}", links) if links else "",
            ]
            kind = _span("badge loss" if _loses_data(problem) else "badge", problem.kind)
            item = '<li id="p{}">{} {}{}</li>'
            items.append(_html(item, f"{number}", kind, problem.text, _html_lines(lines)))
        return _section("problems", "Problems", items)

    def arrows(self) -> str:
        """Return the section of references between groups, with the row ids from which the script draws arrows."""
        others = Counter(self._representative.values())

        def named(row: Place) -> str:
            more = others[row.node]
            return _html("{}{}", self._link(row), f" and {more:,} like it" if more else "")

        items = []
        for (start, end), references in self._references_between.items():
            if start == end:
                continue
            fallbacks = sum(reference.by_fallback for reference in references)
            items.append(
                _html(
                    '<li class="{}" data-from="{}" data-to="{}" data-number="{}">'
                    "{} from {}{}{}</li>",
                    "fallback" if fallbacks else _UNRESOLVED if end is None else "",
                    self._row_ids[start],
                    self._row_ids[end] if end else "",
                    f"{len(references)}",
                    counted(len(references), "reference"),
                    named(start),
                    _html(" to {}", named(end)) if end else f", {_UNRESOLVED}",
                    f", {fallbacks:,} {_BY_FALLBACK}" if fallbacks else "",
                )
            )
        return _section("arrows", "References between groups", items)
