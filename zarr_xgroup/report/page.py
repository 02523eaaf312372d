"""The HTML page of an explanation: one file that needs nothing else, or a frame of a notebook.

All that it tells is HTML: nested ``<details>``, which browsers fold. ``page.js`` adds arrows, search, and links that
unfold what they lead to. The page forbids itself anything but its own style and script (Content Security
Policy): it asks no network. What others wrote into a store is text: `_html` escapes it.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from itertools import zip_longest
from string import Template

from zarr_xgroup.findings import Place, Topic, place_before, shortened
from zarr_xgroup.redaction import printable
from zarr_xgroup.report.explanation import (
    Explanation,
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundGroup,
    FoundLevel,
    FoundProblem,
    FoundReference,
    level_table,
)
from zarr_xgroup.report.folding import Folding

#: How many letters the frame of a notebook may have: they are saved with it.
_MOST_IN_NOTEBOOK = 300_000
#: Of how many arrays and references a page can be as small as that.
_MOST_TOLD = 50_000

#: How many rows are unfolded at first.
_ROWS_AT_FIRST = 40
#: How many rows of arrays are one that unfolds where groups come below them.
_MANY_ARRAYS = 6
#: How many chips a row has, how many arrays a problem names, how many rows are told that refer to one,
#: and how many items a list has that is unfolded at first.
_MOST_CHIPS = 4
_MOST_NAMED = 5
_MOST_USERS = 20
_MOST_OPEN = 20
#: How many letters a name in a row has, several names, and any text.
_LONGEST_NAME = 120
_LONGEST_NAMES = 60
_LONGEST_TEXT = 1000

#: Where the values of a coordinate are.
_KINDS = {
    "own": "array of this group",
    "stored": "array of another group",
    "foreign": "array of another store",
    "computed": "computed",
    "inline": "in metadata",
    "given": "given by a plug-in",
}

_FALLBACK = "by another rule than the first"

#: A frame that may do nothing but run its script, and the text that shows where there is no frame.
#: The frame says how high the page is, and becomes as high up to a limit.
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


def framed(found: Explanation, text: str) -> str:
    """Return the page of an explanation in a frame, as a notebook shows it.

    Parameters
    ----------
    found : Explanation
        What was found.
    text : str
        The same as text: what shows where frames do not, or if the page is too large.
    """
    if sum(len(group.arrays) for group in found.groups) + len(found.references) <= _MOST_TOLD:
        inside = page(found).replace("&", "&amp;").replace("'", "&#39;")
        whole = Template(_FRAME).substitute(page=inside, text=html.escape(text))
        if len(whole) <= _MOST_IN_NOTEBOOK:
            return whole
    hint = "The page of it is too large for a notebook: xgroup explain --html writes it."
    return f"<pre>{html.escape(text)}\n\n{html.escape(hint)}</pre>"


def page(found: Explanation) -> str:
    """Return an explanation as an HTML page.

    Parameters
    ----------
    found : Explanation
        What `explain` returned.

    Returns
    -------
    str
        The file, in ASCII letters only: it means the same in whatever encoding it is written.
    """
    parts = {
        name: resources.files(__package__).joinpath(f"page.{name}").read_text(encoding="ascii")
        for name in ("html", "css", "js")
    }
    hashes = {
        f"{name}_hash": base64.b64encode(hashlib.sha256(parts[name].encode()).digest()).decode()
        for name in ("css", "js")
    }
    broken = sum(reference.leads_to is None for reference in found.references)
    facts = [
        f"Zarr v{found.zarr_format}",
        "consolidated" if found.is_consolidated else "not consolidated",
        _counted(len(found.groups), "group"),
        _counted(sum(len(group.arrays) for group in found.groups), "array"),
        _counted(len(found.references), "reference"),
        *([f"{broken:,} lead{'s' if broken == 1 else ''} nowhere"] if broken else []),
        _counted(sum(problem.count for problem in found.problems), "problem"),
    ]
    tree = _Tree(found)
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
    """A text that is HTML: nothing in it is to be escaped."""

    __slots__ = ()


def _html(template: str, *texts: str) -> _Html:
    """Return HTML with texts put into it, escaped unless they are HTML themselves."""
    return _Html(template.format(*map(_escaped, texts)))


def _escaped(text: str) -> str:
    return text if isinstance(text, _Html) else html.escape(_short(text, _LONGEST_TEXT))


def _short(text: str, longest: int = _LONGEST_NAME) -> str:
    return shortened(printable(text), longest)


def _joined(parts: Iterable[str], between: str = "") -> _Html:
    return _Html(between.join(map(_escaped, parts)))


def _list(items: Iterable[str]) -> str:
    """Return a list, "" if nothing is in it."""
    shown = _joined(_html("<li>{}</li>", item) for item in items)
    return _html("<ul>{}</ul>", shown) if shown else ""


def _lines(lines: Iterable[str]) -> _Html:
    return _joined(_html('<div class="line">{}</div>', line) for line in lines if line)


def _first(links: Sequence[_Html], most: int) -> list[str]:
    """Return the first links, and how many more there are."""
    more = [f"{len(links) - most:,} more"] if len(links) > most else []
    return [*links[:most], *more]


def _section(name: str, heading: str, items: Sequence[_Html]) -> str:
    """Return a list that folds, "" if nothing is in it."""
    is_open = " open" if len(items) <= _MOST_OPEN else ""
    head = _html("<summary><h2>{}</h2> {}</summary>", heading, f"{len(items):,}")
    section = '<details id="{}"{}>{}<ul>{}</ul></details>'
    return _html(section, name, is_open, head, _joined(items)) if items else ""


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _names(alike: Sequence[FoundArray] | Sequence[FoundGroup]) -> str:
    """Return the names of things that are alike, the first and the last if they are too long."""
    names = ", ".join(one.name for one in alike)
    if len(alike) == 1 or len(names) <= _LONGEST_NAMES:
        return _short(names)
    return f"{_short(alike[0].name)} \u2026 {_short(alike[-1].name)}"


def _sizes(array: FoundArray) -> str:
    pairs = zip_longest(array.dims, array.shape, fillvalue="?")
    return " \u00d7 ".join(f"{name} {size}" for name, size in pairs) or "scalar"


def _span(kind: str, text: str) -> str:
    """Return a text of a kind, "" if there is none."""
    return _html('<span class="{}">{}</span>', kind, text) if text else ""


def _chip(convention: FoundConvention) -> str:
    return _span(f"chip {convention.tier}", _short(convention.name))


def _is_loss(problem: FoundProblem) -> bool:
    """Tell whether a problem costs something; others are choices and hints."""
    return bool(problem.lost) or problem.kind in (Topic.PROBLEM.value, Topic.METADATA.value)


def _coordinates(array: FoundArray, group: FoundGroup) -> list[FoundCoordinate]:
    """Return the coordinates of an array, and the boundaries of their cells."""
    named = [one for one in group.coordinates if one.name in array.coordinates]
    bounds = {coordinate.bounds for coordinate in named}
    return named + [one for one in group.coordinates if one.name in bounds and one not in named]


def _unlike(group: FoundGroup, other: FoundGroup) -> str:
    """Return the name of a group, and its sizes where one that is like it has others."""
    known = {pair for array in other.arrays for pair in zip(array.dims, array.shape, strict=False)}
    pairs = (pair for array in group.arrays for pair in zip(array.dims, array.shape, strict=False))
    sizes = dict.fromkeys(f"{dim} {size}" for dim, size in pairs if (dim, size) not in known)
    return f"{group.name} ({', '.join(sizes)})" if sizes else group.name


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


class _Tree:
    """The rows of a page: groups, the arrays and groups in them, and below these what is elsewhere.

    Groups and arrays that are alike are one row, whose place is that of the first of them.
    """

    def __init__(self, found: Explanation) -> None:
        self._found, self._folding = found, Folding(found, most_rows=None)
        self._root = found.groups[0] if found.groups else FoundGroup(found.group)
        self._ids: dict[Place, str] = {}
        self._first_alike: dict[str, str] = {}
        self._inside: dict[str, tuple[list[list[FoundArray]], list[list[FoundGroup]]]] = {}
        self._group_of: dict[Place, Place] = {}
        self._open: set[str] = set()
        self._arrange()

        # References as arrows between the rows of groups, and what refers to each row.
        self._elsewhere: list[Place] = []
        self._arrows: defaultdict[tuple[Place, Place | None], list[FoundReference]]
        self._arrows = defaultdict(list)
        self._users: defaultdict[Place, Counter[Place]] = defaultdict(Counter)
        for reference in found.references:
            source, target = self._row_of(reference.source), None
            if reference.leads_to is not None:
                target = self._row_of(reference.leads_to)
                self._users[target][source] += 1
            for row in filter(None, (source, target)):
                if row not in self._ids:
                    self._ids[row] = f"n{len(self._ids)}"
                    self._elsewhere.append(row)
            start = self._group_of.get(source, source)
            end = None if target is None else self._group_of.get(target, target)
            self._arrows[start, end].append(reference)

        # How many arrays, and which problems, are in a group with those below it.
        self._arrays = Counter({group.path: len(group.arrays) for group in found.groups})
        for group in reversed(found.groups[1:]):
            self._arrays[_parent(group.path)] += self._arrays[group.path]
        self._wrong: defaultdict[Place, set[int]] = defaultdict(set)
        for path, numbers in self._folding.numbers.items():
            row = self._row_of(Place(path))
            while row in self._ids and row.node not in ("/", self._root.path):
                self._wrong[row].update(numbers)
                row = Place(_parent(row.node))
        self._wrong[Place(self._root.path)].update(range(1, 1 + len(found.problems)))

    def _arrange(self) -> None:
        """Give each row an id, from the top down, and unfold groups as long as there is room."""
        room = _ROWS_AT_FIRST
        pending = deque([[self._root]])
        while pending:
            alike = pending.popleft()
            path = alike[0].path
            arrays, groups = self._folding.arrays(alike[0])[0], self._folding.groups(alike[0])[0]
            self._inside[path] = arrays, groups
            rows = [[one.path for one in alike], *([one.path for one in row] for row in arrays)]
            for first, *others in rows:
                self._ids[Place(first)] = f"n{len(self._ids)}"
                self._group_of[Place(first)] = Place(path)
                self._first_alike.update(dict.fromkeys(others, first))
            number = len(arrays) + len(groups)
            if path == self._root.path or (_parent(path) in self._open and number <= room):
                self._open.add(path)
                room -= number
            pending.extend(groups)

    def _row_of(self, place: Place) -> Place:
        """Return the place of the row that a place is in: the nearest node, or what is elsewhere."""
        root = self._root.path.rstrip("/")
        if place.store is not None:
            return Place("", store=place.store)
        if not f"{place.node}/".startswith(f"{root}/"):
            return Place(place.node)
        path = self._root.path
        for name in filter(None, place.node.removeprefix(root).split("/")):
            inner = f"{path.rstrip('/')}/{name}"
            inner = self._first_alike.get(inner, inner)
            if Place(inner) not in self._ids:
                break
            path = inner
        return Place(path)

    def rows(self) -> str:
        """Return all rows. However deep a store is, nothing here calls itself."""
        parts: list[str] = []
        pending: list[str | list[FoundGroup]] = [[self._root]]
        while pending:
            alike = pending.pop()
            if isinstance(alike, str):
                parts.append(alike)
                continue
            arrays, groups = self._inside[alike[0].path]
            # A group ends after the rows in it.
            parts.append(self._group(alike).removesuffix("</details>"))
            rows = _joined(self._array(row, alike[0]) for row in arrays)
            if groups and len(arrays) >= _MANY_ARRAYS:
                label = _counted(sum(map(len, arrays)), "array")
                folded = '<details class="row arrays"><summary>{}</summary>{}</details>'
                rows = _html(folded, _span("name", label), rows)
            parts.append(rows)
            pending += ["</details>", *reversed(groups)]
        for row in self._elsewhere:
            kind = "elsewhere in this store" if row.store is None else "another store"
            parts.append(
                self._row(row, "elsewhere", row.store or row.node, [_span("remark", kind)], {})
            )
        return "".join(parts)

    def _group(self, alike: Sequence[FoundGroup]) -> _Html:
        group = alike[0]
        arrays = sum(self._arrays[one.path] for one in alike)
        conventions = {one.name: _chip(one) for array in group.arrays for one in array.conventions}
        card = [
            _span("remark", f"{len(alike):,} groups alike" if len(alike) > 1 else ""),
            _span("remark", _counted(arrays, "array") if arrays else ""),
            *[*conventions.values()][:_MOST_CHIPS],
        ]
        # Others are told of the arrays that have them, or that they are.
        told = {name for array in group.arrays for name in array.coordinates}
        told |= {coordinate.bounds for coordinate in group.coordinates if coordinate.bounds}
        others = [one for one in group.coordinates if one.name not in told and one.kind != "own"]
        facts = {
            "Shown": group.path if len(alike) > 1 else "",
            "Like it": _joined((_unlike(one, group) for one in alike[1:]), ", "),
            "Levels": self._levels(group.levels),
            "Coordinates": _list(map(self._coordinate, others)),
        }
        name = group.path if group is self._root else _names(alike)
        kind = "group alike" if len(alike) > 1 else "group"
        return self._row(Place(group.path), kind, name, card, facts)

    def _array(self, alike: Sequence[FoundArray], group: FoundGroup) -> _Html:
        array, crs, missing = alike[0], alike[0].crs, ", ".join(alike[0].missing)
        sizes = {one.path: f"{_sizes(one)} {one.dtype}" for one in alike}
        is_one_size = len({*sizes.values()}) == 1
        is_told = missing and Place(array.path) not in self._wrong
        card = [
            _span("remark", f"{len(alike):,} arrays alike" if len(alike) > _MOST_CHIPS else ""),
            _span("remark", _sizes(array) if is_one_size else ""),
            _span("remark", array.dtype if is_one_size else ""),
            _span("remark", "coordinate" if array.is_coordinate else ""),
            *map(_chip, array.conventions[:_MOST_CHIPS]),
            _span("badge lacking", f"no coordinate {missing}") if is_told else "",
        ]
        paths = sizes if is_one_size else [f"{path} {size}" for path, size in sizes.items()]
        facts = {
            "Path": _joined(paths, ", "),
            "No coordinate along": missing,
            "Times": array.times,
            "CRS": " \u00b7 ".join(filter(None, (crs.name, crs.code, crs.variable))) if crs else "",
            "Conventions": _list(map(self._convention, array.conventions)),
            "Coordinates": _list(map(self._coordinate, _coordinates(array, group))),
        }
        return self._row(Place(array.path), "array", _names(alike), card, facts)

    def _row(
        self, row: Place, kind: str, name: str, card: Sequence[str], facts: Mapping[str, str]
    ) -> _Html:
        """Return a row: a card, which always shows, and facts, which unfold."""
        problems = self._found.problems
        badge = ""
        if wrong := [problems[number - 1] for number in self._wrong.get(row, ())]:
            text = _counted(sum(problem.count for problem in wrong), "problem")
            badge = _span("badge loss" if any(map(_is_loss, wrong)) else "badge", text)
        path = row.node if row.store is None else ""
        references = self._folding.references[path]
        users = [
            _html("{}{}", self._link(user), f" \u00d7 {count:,}" if count > 1 else "")
            for user, count in self._users[row].items()
        ]
        links = (
            _html('<a href="#p{}">{}</a>', f"{number}", _short(problems[number - 1].text))
            for number in self._folding.numbers[path]
        )
        facts = {
            "Problems": _list(links),
            **facts,
            "References": _list(self._reference(reference, path) for reference in references),
            "Referred to by": _list(_first(users, _MOST_USERS)),
        }
        terms = [
            _html('<dt>{}</dt><dd class="{}">{}</dd>', term, term.split()[0].lower(), fact)
            for term, fact in facts.items()
            if fact
        ]
        return _html(
            '<details id="{}" class="row {}"{}><summary>{}</summary>{}</details>',
            self._ids[row],
            kind,
            " open" if path in self._open else "",
            _joined((_span("name", _short(name)), *card, badge)),
            _html("<dl>{}</dl>", _joined(terms)) if terms else "",
        )

    def _link(self, place: Place) -> _Html:
        """Return a link to the row of a place, if there is one, and the pointer into its document."""
        path = "|".join(filter(None, (place.store, place.node)))
        row = self._ids.get(self._row_of(place))
        link = _html("{}" if row is None else '<a href="#{1}">{0}</a>', path, row or "")
        return _html("{}<wbr><code>#{}</code>", link, place.pointer) if place.pointer else link

    def _convention(self, convention: FoundConvention) -> _Html:
        where = convention.declared_in
        declared = _html("declared in {}", self._link(Place(where))) if where else "not declared"
        return _html("{} {}", _chip(convention), declared)

    def _coordinate(self, coordinate: FoundCoordinate) -> _Html:
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
            _span("chip", _KINDS.get(coordinate.kind, coordinate.kind)),
            " index" if coordinate.is_index else "",
            _lines(lines),
        )

    def _reference(self, reference: FoundReference, path: str) -> _Html:
        source, target = reference.source, reference.leads_to
        where = source.pointer if source.node == path else self._link(source)
        return _html(
            "<code>{}</code> {}{}{}",
            reference.target,
            _html("\u2192 {}", self._link(target))
            if target
            else _span("badge loss", "leads nowhere"),
            _html(" {}", _span("badge", _FALLBACK)) if reference.by_fallback else "",
            _lines([reference.text, _html("at {}", where)]),
        )

    def _levels(self, levels: Sequence[FoundLevel]) -> str:
        """Return the levels of a pyramid as a table, "" if there are none."""
        heads, *rows = level_table(levels)
        lines = [_joined(_html('<th scope="col">{}</th>', head) for head in heads)]
        for path, *cells in rows:
            shown = (self._link(Place(path)), *cells)
            lines.append(_joined(_html("<td>{}</td>", cell) for cell in shown))
        table = _joined(_html("<tr>{}</tr>", line) for line in lines)
        return _html("<table>{}</table>", table) if rows else ""

    def problems(self) -> str:
        """Return all problems, "" if there are none."""
        items = []
        for number, problem in enumerate(self._found.problems, 1):
            # Not a place that is one of the arrays, which are named anyhow.
            place = problem.place
            if place is not None and not place_before(place, problem.arrays):
                place = None
            named = (Place(path) for path in problem.arrays if place is None or path != place.node)
            links = _joined(_first([self._link(array) for array in named], _MOST_NAMED), " ")
            lines = [
                f"opened without {problem.lost}" if problem.lost else "",
                _html("at {}", self._link(place)) if place else "",
                _html("concerns {}", links) if links else "",
            ]
            kind = _span("badge loss" if _is_loss(problem) else "badge", problem.kind)
            item = '<li id="p{}">{} {}{}</li>'
            items.append(_html(item, f"{number}", kind, problem.text, _lines(lines)))
        return _section("problems", "Problems", items)

    def arrows(self) -> str:
        """Return the references between groups in words, with what the script draws arrows by."""
        others = Counter(self._first_alike.values())

        def named(row: Place) -> str:
            more = others[row.node]
            return _html("{}{}", self._link(row), f" and {more:,} like it" if more else "")

        items = []
        for (start, end), references in self._arrows.items():
            if start == end:
                continue
            fallbacks = sum(reference.by_fallback for reference in references)
            items.append(
                _html(
                    '<li class="{}" data-from="{}" data-to="{}" data-number="{}">'
                    "{} from {} to {}{}</li>",
                    "fallback" if fallbacks else "nowhere" if end is None else "",
                    self._ids[start],
                    self._ids[end] if end else "",
                    f"{len(references)}",
                    _counted(len(references), "reference"),
                    named(start),
                    named(end) if end else "nowhere",
                    f", {fallbacks:,} {_FALLBACK}" if fallbacks else "",
                )
            )
        return _section("arrows", "References between groups", items)
