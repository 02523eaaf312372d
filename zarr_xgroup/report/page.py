"""The HTML page of an explanation: one file without external resources, or a frame in a notebook.

The content is nested ``<details>`` elements, which browsers fold. ``page.js`` adds arrows, search, and links that
unfold their target. A Content Security Policy allows nothing but the page's own style and script: it makes no
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

from zarr_xgroup.findings import Place, Topic, place_before
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
    short,
)
from zarr_xgroup.report.folding import Folding

#: How many letters the frame in a notebook may have: the notebook file is saved with all of them.
_LONGEST_IN_NOTEBOOK = 300_000
#: With more arrays and references than this, a page is longer than that in any case: it is not made.
_MOST_NODES_IN_NOTEBOOK = 50_000

#: How many rows the groups may have together that are unfolded at first, so that a page begins short.
_MOST_ROWS_OPEN = 40
#: From how many rows on the arrays of a group are folded into one, so that the groups below stay in sight.
_MANY_ARRAY_ROWS = 6
#: How many conventions a row shows, how many arrays a problem names, how many referring rows a row lists,
#: and how many items a section has that is unfolded at first.
_MOST_CHIPS, _MOST_ARRAYS_NAMED, _MOST_REFERRING, _MOST_ITEMS_OPEN = 4, 5, 20, 20
#: How many letters are shown of the names of nodes that share a row, and of any other text.
_LONGEST_NAMES, _LONGEST_TEXT = 60, 1000

#: Where the values of a coordinate come from, by its `kind`.
_KIND_IN_WORDS = {
    "own": "array of this group",
    "stored": "array of another group",
    "foreign": "array of another store",
    "computed": "computed",
    "inline": "in metadata",
    "given": "given by a plug-in",
}

_BY_FALLBACK = "by another rule than the first"

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
    """Return the HTML by which a notebook shows an explanation: its page in a frame, with a text as fallback.

    Parameters
    ----------
    found : FoundStore
        The explanation.
    text : str
        The explanation as text, which shows where frames are not supported. If the page is too large for a
        notebook, only this is returned, with a hint.
    """
    if found.array_count + len(found.references) <= _MOST_NODES_IN_NOTEBOOK:
        inside = page(found).replace("&", "&amp;").replace("'", "&#39;")
        whole = Template(_FRAME).substitute(page=inside, text=html.escape(text))
        if len(whole) <= _LONGEST_IN_NOTEBOOK:
            return whole
    hint = "The page of it is too large for a notebook: xgroup explain --html writes it."
    return f"<pre>{html.escape(text)}\n\n{html.escape(hint)}</pre>"


def page(found: FoundStore) -> str:
    """Return an explanation as an HTML page.

    Parameters
    ----------
    found : FoundStore
        What `explain` returned.

    Returns
    -------
    str
        The content of the file, in ASCII letters only: any encoding can write it.
    """
    parts = {
        name: resources.files(__package__).joinpath(f"page.{name}").read_text(encoding="ascii")
        for name in ("html", "css", "js")
    }
    # By these the Content Security Policy allows the page's own style and script, and no other.
    hashes = {
        f"{name}_hash": base64.b64encode(hashlib.sha256(parts[name].encode()).digest()).decode()
        for name in ("css", "js")
    }
    broken = sum(reference.leads_to is None for reference in found.references)
    facts = [
        f"Zarr v{found.zarr_format}",
        "consolidated" if found.is_consolidated else "not consolidated",
        counted(len(found.groups), "group"),
        counted(found.array_count, "array"),
        counted(len(found.references), "reference"),
        *([f"{broken:,} lead{'s' if broken == 1 else ''} nowhere"] if broken else []),
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
    """HTML made by this module, which `_html` inserts without escaping it again."""

    __slots__ = ()


def _html(template: str, *texts: str) -> _Html:
    """Return an HTML template with texts inserted as by `str.format`, each escaped unless it is `_Html`."""
    return _Html(template.format(*map(_escaped, texts)))


def _escaped(text: str) -> str:
    """Return a text as HTML: printable, shortened and escaped, unless it is `_Html` already."""
    return text if isinstance(text, _Html) else html.escape(short(text, _LONGEST_TEXT))


def _join_html(parts: Iterable[str], between: str = "") -> _Html:
    """Return HTML of several texts in a row, each escaped unless it is `_Html`."""
    return _Html(between.join(map(_escaped, parts)))


def _html_list(items: Iterable[str]) -> str:
    """Return an HTML list, "" without items."""
    shown = _join_html(_html("<li>{}</li>", item) for item in items)
    return _html("<ul>{}</ul>", shown) if shown else ""


def _html_lines(lines: Iterable[str]) -> _Html:
    """Return each text that is not empty as a line of its own."""
    return _join_html(_html('<div class="line">{}</div>', line) for line in lines if line)


def _first_and_more(links: Sequence[_Html], most: int) -> list[str]:
    """Return the first links, followed by "N more" if there are more than `most`."""
    more = [f"{len(links) - most:,} more"] if len(links) > most else []
    return [*links[:most], *more]


def _section(name: str, heading: str, items: Sequence[_Html]) -> str:
    """Return a list with a heading that folds, "" without items."""
    is_open = " open" if len(items) <= _MOST_ITEMS_OPEN else ""
    head = _html("<summary><h2>{}</h2> {}</summary>", heading, f"{len(items):,}")
    section = '<details id="{}"{}>{}<ul>{}</ul></details>'
    return _html(section, name, is_open, head, _join_html(items)) if items else ""


def _short_names(alike: Sequence[FoundArray] | Sequence[FoundGroup]) -> str:
    """Return the names of arrays or groups that share a row; only the first and the last if all are too long."""
    names = ", ".join(one.name for one in alike)
    if len(alike) == 1 or len(names) <= _LONGEST_NAMES:
        return short(names)
    return f"{short(alike[0].name)} \u2026 {short(alike[-1].name)}"


def _dims_with_sizes(array: FoundArray) -> str:
    """Return the dimensions of an array with their sizes, "scalar" if it has none."""
    return " \u00d7 ".join(f"{name} {size}" for name, size in array.sizes) or "scalar"


def _span(kind: str, text: str) -> str:
    """Return a text in an element of a CSS class, "" without text."""
    return _html('<span class="{}">{}</span>', kind, text) if text else ""


def _chip(convention: FoundConvention) -> str:
    """Return the name of a convention as a chip in the colour of its tier."""
    return _span(f"chip {convention.tier}", short(convention.name))


def _loses_data(problem: FoundProblem) -> bool:
    """Return whether data or attributes are lost when the store is opened; other problems are choices and hints."""
    return bool(problem.lost) or problem.kind in (Topic.PROBLEM.value, Topic.METADATA.value)


def _name_and_other_sizes(group: FoundGroup, other: FoundGroup) -> str:
    """Return the name of a group, with the sizes of dimensions that differ from those in a similar group."""
    known = {pair for array in other.arrays for pair in array.sizes}
    pairs = (pair for array in group.arrays for pair in array.sizes)
    sizes = dict.fromkeys(f"{dim} {size}" for dim, size in pairs if (dim, size) not in known)
    return f"{group.name} ({', '.join(sizes)})" if sizes else group.name


class _PageTree:
    """The rows of a page: groups with their arrays and groups, then referenced nodes outside the opened group.

    Similar groups, or arrays, share one row; its place is that of the first of them.
    """

    def __init__(self, found: FoundStore) -> None:
        self._found, self._folding = found, Folding(found, most_rows=None)
        self._root = found.groups[0] if found.groups else FoundGroup(found.group)
        # The HTML id of each row; for each node that shares a row, the path of the row's first node; the
        # rows in each group by its path; the group's row for each row in it.
        self._row_ids: dict[Place, str] = {}
        self._representative: dict[str, str] = {}
        self._rows_inside: dict[str, tuple[list[list[FoundArray]], list[list[FoundGroup]]]] = {}
        self._group_row_of: dict[Place, Place] = {}
        self._open_groups: set[str] = set()
        self._assign_rows()
        # Rows of nodes that only references lead to; references by the rows of the groups at both ends;
        # how often each row is referred to, by the referring row.
        self._rows_elsewhere: list[Place] = []
        self._references_between: defaultdict[tuple[Place, Place | None], list[FoundReference]]
        self._references_between = defaultdict(list)
        self._referring_rows: defaultdict[Place, Counter[Place]] = defaultdict(Counter)
        self._relate_rows()
        # By path or row, of a group with all groups below it: how many arrays, and the numbers of problems.
        # The root has all problems.
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
        """Give each row an id, breadth first, and unfold groups until they have as many rows as may be open."""
        room = _MOST_ROWS_OPEN
        pending = deque([[self._root]])
        while pending:
            alike = pending.popleft()
            path = alike[0].path
            arrays, groups = self._folding.arrays(alike[0])[0], self._folding.groups(alike[0])[0]
            self._rows_inside[path] = arrays, groups
            rows = [[one.path for one in alike], *([one.path for one in row] for row in arrays)]
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
        """Sort references by the rows that they connect, and add a row for each node that is not in the tree."""
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

        That is the row of its node, or of the nearest group above it; outside of the opened group the node
        itself, and of another store the store as a whole.
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
        """Return the HTML of all rows. A stack in place of recursion: stores may be nested deep."""
        parts: list[str] = []
        pending: list[str | list[FoundGroup]] = [[self._root]]
        while pending:
            alike = pending.pop()
            if isinstance(alike, str):
                parts.append(alike)
                continue
            arrays, groups = self._rows_inside[alike[0].path]
            # A group ends after the rows in it.
            parts.append(self._group_row(alike).removesuffix("</details>"))
            rows = _join_html(self._array_row(row, alike[0]) for row in arrays)
            if groups and len(arrays) >= _MANY_ARRAY_ROWS:
                label = counted(sum(map(len, arrays)), "array")
                folded = '<details class="row arrays"><summary>{}</summary>{}</details>'
                rows = _html(folded, _span("name", label), rows)
            parts.append(rows)
            pending += ["</details>", *reversed(groups)]
        for row in self._rows_elsewhere:
            kind = "elsewhere in this store" if row.store is None else "another store"
            name = row.store or row.node
            parts.append(self._row(row, "elsewhere", name, [_span("remark", kind)], {}))
        return "".join(parts)

    def _group_row(self, alike: Sequence[FoundGroup]) -> _Html:
        """Return the row of a group, or of similar groups."""
        group = alike[0]
        arrays = sum(self._array_counts[one.path] for one in alike)
        conventions = {one.name: _chip(one) for array in group.arrays for one in array.conventions}
        card = [
            _span("remark", f"{len(alike):,} groups alike" if len(alike) > 1 else ""),
            _span("remark", counted(arrays, "array") if arrays else ""),
            *[*conventions.values()][:_MOST_CHIPS],
        ]
        # Coordinates of no array here: the others are in the rows of arrays, or are arrays of the group.
        shown = {name for array in group.arrays for name in array.coordinates}
        shown |= {coordinate.bounds for coordinate in group.coordinates if coordinate.bounds}
        others = [one for one in group.coordinates if one.name not in shown and one.kind != "own"]
        facts = {
            "Shown": group.path if len(alike) > 1 else "",
            "Like it": _join_html((_name_and_other_sizes(one, group) for one in alike[1:]), ", "),
            "Levels": self._levels(group.levels),
            "Coordinates": _html_list(map(self._coordinate, others)),
        }
        name = group.path if group is self._root else _short_names(alike)
        kind = "group alike" if len(alike) > 1 else "group"
        return self._row(Place(group.path), kind, name, card, facts)

    def _array_row(self, alike: Sequence[FoundArray], group: FoundGroup) -> _Html:
        """Return the row of an array, or of similar arrays, of a group."""
        array, crs, missing = alike[0], alike[0].crs, ", ".join(alike[0].missing)
        sizes = {one.path: f"{_dims_with_sizes(one)} {one.dtype}" for one in alike}
        is_one_size = len({*sizes.values()}) == 1
        card = [
            _span("remark", f"{len(alike):,} arrays alike" if len(alike) > _MOST_CHIPS else ""),
            _span("remark", _dims_with_sizes(array) if is_one_size else ""),
            _span("remark", array.dtype if is_one_size else ""),
            _span("remark", "coordinate" if array.is_coordinate else ""),
            *map(_chip, array.conventions[:_MOST_CHIPS]),
            _span("badge lacking", f"no coordinate {missing}") if missing else "",
        ]
        paths = sizes if is_one_size else [f"{path} {size}" for path, size in sizes.items()]
        coordinates = [one for one in group.coordinates if one.name in array.coordinates]
        bounds = {coordinate.bounds for coordinate in coordinates}
        coordinates += [
            one for one in group.coordinates if one.name in bounds and one not in coordinates
        ]
        facts = {
            "Path": _join_html(paths, ", "),
            "No coordinate along": missing,
            "Times": array.times,
            "CRS": " \u00b7 ".join(filter(None, (crs.name, crs.code, crs.variable))) if crs else "",
            "Conventions": _html_list(map(self._convention, array.conventions)),
            "Coordinates": _html_list(map(self._coordinate, coordinates)),
        }
        return self._row(Place(array.path), "array", _short_names(alike), card, facts)

    def _row(
        self, row: Place, kind: str, name: str, card: Sequence[str], facts: Mapping[str, str]
    ) -> _Html:
        """Return a row: a card, which is always visible, and facts by their names, which unfold."""
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

    def _link(self, place: Place) -> _Html:
        """Return a place as a link to its row, or as text if it has none, with its JSON pointer."""
        path = "|".join(filter(None, (place.store, place.node)))
        row = self._row_ids.get(self._row_of(place))
        link = _html("{}" if row is None else '<a href="#{1}">{0}</a>', path, row or "")
        return _html("{}<wbr><code>#{}</code>", link, place.pointer) if place.pointer else link

    def _convention(self, convention: FoundConvention) -> _Html:
        """Return a convention with the node in which it is declared."""
        where = convention.declared_in
        declared = _html("declared in {}", self._link(Place(where))) if where else "not declared"
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
        """Return a reference, for the row of a path, with its target and the place where it is written."""
        source, target = reference.source, reference.leads_to
        where = source.pointer if source.node == path else self._link(source)
        return _html(
            "<code>{}</code> {}{}{}",
            reference.target,
            _html("\u2192 {}", self._link(target))
            if target
            else _span("badge loss", "leads nowhere"),
            _html(" {}", _span("badge", _BY_FALLBACK)) if reference.by_fallback else "",
            _html_lines([reference.text, _html("at {}", where)]),
        )

    def _levels(self, levels: Sequence[FoundLevel]) -> str:
        """Return the levels of a pyramid as a table, "" if there are none."""
        heads, *rows = level_table(levels)
        lines = [_join_html(_html('<th scope="col">{}</th>', head) for head in heads)]
        for path, *cells in rows:
            shown = (self._link(Place(path)), *cells)
            lines.append(_join_html(_html("<td>{}</td>", cell) for cell in shown))
        table = _join_html(_html("<tr>{}</tr>", line) for line in lines)
        return _html("<table>{}</table>", table) if rows else ""

    def problems(self) -> str:
        """Return the section of problems, "" if there are none."""
        items = []
        for number, problem in enumerate(self._found.problems, 1):
            place = problem.place if place_before(problem.place, problem.arrays) else None
            paths = problem.arrays if place is None else problem.other_arrays
            named = [self._link(Place(path)) for path in paths]
            links = _join_html(_first_and_more(named, _MOST_ARRAYS_NAMED), " ")
            lines = [
                f"opened without {problem.lost}" if problem.lost else "",
                _html("at {}", self._link(place)) if place else "",
                _html("concerns {}", links) if links else "",
            ]
            kind = _span("badge loss" if _loses_data(problem) else "badge", problem.kind)
            item = '<li id="p{}">{} {}{}</li>'
            items.append(_html(item, f"{number}", kind, problem.text, _html_lines(lines)))
        return _section("problems", "Problems", items)

    def arrows(self) -> str:
        """Return the section of references between groups, with the row ids by which the script draws arrows."""
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
                    "{} from {} to {}{}</li>",
                    "fallback" if fallbacks else "nowhere" if end is None else "",
                    self._row_ids[start],
                    self._row_ids[end] if end else "",
                    f"{len(references)}",
                    counted(len(references), "reference"),
                    named(start),
                    named(end) if end else "nowhere",
                    f", {fallbacks:,} {_BY_FALLBACK}" if fallbacks else "",
                )
            )
        return _section("arrows", "References between groups", items)
