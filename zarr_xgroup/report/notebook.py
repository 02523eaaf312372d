"""An explanation in a notebook: a tree that folds, without a script, for notebooks remove these.

However large the store, it is at most 300 kB: names and lists are cut, groups that are alike are
told once, and what finds no room is counted. The page (`zarr_xgroup.report.page`) tells all.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from zarr_xgroup.findings import Kind
from zarr_xgroup.i18n import _, ngettext
from zarr_xgroup.report.printable import printable
from zarr_xgroup.report.text import place_as_text

if TYPE_CHECKING:
    from zarr_xgroup.report.explanation import (
        Explanation,
        FoundArray,
        FoundConvention,
        FoundCoordinate,
        FoundGroup,
        FoundProblem,
        FoundReference,
    )

#: How many letters arrays and groups may have together, and one of their texts.
_ROOM = 250_000
_LONGEST = 160

#: How many letters the elements of a group take, and the lines that say what is left out.
_AROUND = 300

#: How many items of a list are told.
_LISTED = 20

#: From how many on groups that are alike are told once.
_ALIKE = 4

#: How deep groups are told in one another, and up to how many of them are unfolded.
_DEEPEST = 40
_UNFOLDED = 20


def notebook(explanation: Explanation) -> str:
    """Return an explanation as HTML to be put into a notebook, in the user's language."""
    style = resources.files(__package__).joinpath("notebook.css").read_text(encoding="ascii")
    summary = _element("p", "", _name(explanation.store), *_summary(explanation))
    return _element(
        "div", "zarr-xgroup", f"<style>{style}</style>", summary, _Tree(explanation).drawn()
    )


def _summary(explanation: Explanation) -> Iterator[str]:
    arrays = sum(len(group.arrays) for group in explanation.groups)
    references, problems = len(explanation.references), len(explanation.problems)
    yield _note(_("Zarr v{number}").format(number=explanation.zarr_format))
    yield _note(_("consolidated") if explanation.is_consolidated else _("not consolidated"))
    yield _note(_counted_groups(len(explanation.groups)))
    yield _note(_counted_arrays(arrays))
    yield _note(
        ngettext("{count} reference", "{count} references", references).format(count=references)
    )
    yield _problem(_counted_problems(problems)) if problems else _note(_counted_problems(problems))


class _Tree:
    """The groups of an explanation, drawn as long as there is room."""

    def __init__(self, explanation: Explanation) -> None:
        self._top = explanation.group
        self._groups_by_path = {group.path: group for group in explanation.groups}
        self._room = _ROOM
        self._below: defaultdict[str, list[FoundGroup]] = defaultdict(list)
        self._references: defaultdict[str, list[FoundReference]] = defaultdict(list)
        self._problems: defaultdict[str, list[FoundProblem]] = defaultdict(list)
        self._hints: defaultdict[str, list[FoundProblem]] = defaultdict(list)
        for group in explanation.groups:
            if group.path != self._top:
                self._below[self._around(group.path)].append(group)
        arrays = {array.path for group in explanation.groups for array in group.arrays}
        self._known = {*self._groups_by_path, *arrays}
        for reference in explanation.references:
            for path in self._concerned((reference.source.node, *reference.arrays)):
                self._references[path].append(reference)
        for problem in explanation.problems:
            self._add(problem)
        self._totals: dict[str, tuple[int, set[int]]] = {}
        for group in reversed(explanation.groups):
            self._totals[group.path] = self._total(group)

    def _add(self, problem: FoundProblem) -> None:
        place = (problem.place.node,) if problem.place else ()
        if problem.kind == Kind.NO_PRINCIPAL.value:
            # Told of each array and once of all, for whole stores declare none.
            self._problems[self._top].append(problem)
            for path in problem.arrays:
                self._hints[path].append(problem)
            return
        for path in self._concerned(problem.arrays or place):
            self._problems[path].append(problem)

    def _around(self, path: str) -> str:
        """Return the group around a node: there may be none for a part of its path."""
        parent = _parent(path)
        while parent not in self._groups_by_path and parent != "/":
            parent = _parent(parent)
        return parent if parent in self._groups_by_path else self._top

    def _concerned(self, paths: Sequence[str]) -> Iterable[str]:
        """Return those of the paths that are shown, or that of the first group."""
        return dict.fromkeys(path for path in paths if path in self._known) or (self._top,)

    def _total(self, group: FoundGroup) -> tuple[int, set[int]]:
        """Return how many arrays, and which problems, there are in a group and those below it."""
        own = (group.path, *(array.path for array in group.arrays))
        arrays = len(group.arrays)
        problems = {id(problem) for path in own for problem in self._problems[path]}
        for below in self._below[group.path]:
            arrays += self._totals[below.path][0]
            problems |= self._totals[below.path][1]
        return arrays, problems

    def drawn(self) -> str:
        """Return the tree."""
        top = self._groups_by_path.get(self._top)
        return "" if top is None else self._group(top, top.path, 0)

    def _group(self, group: FoundGroup, name: str, depth: int) -> str:
        """Return a group with what is in it, nothing if there is no room."""
        summary = "".join([_name(name), *self._about_group(group)])
        about = [
            *self._list(_("Problems"), map(_of_problem, self._problems[group.path])),
            *self._list(_("References"), map(_of_reference, self._references[group.path])),
        ]
        if not self._has_room(sum(map(len, (summary, *about))) + _AROUND):
            return ""
        inside = [*self._arrays(group), *self._groups(self._below[group.path], depth + 1)]
        unfolded = depth == 0 or len(self._groups_by_path) <= _UNFOLDED
        return _details(summary, _element("div", "in", *about, *inside), is_open=unfolded)

    def _about_group(self, group: FoundGroup) -> Iterator[str]:
        arrays, problems = self._totals[group.path]
        if arrays:
            yield _note(_counted_arrays(arrays))
        for name in _names(group)[:_LISTED]:
            yield _chip(name)
        targets = dict.fromkeys(
            place_as_text(reference.leads_to)
            for path in (group.path, *(array.path for array in group.arrays))
            for reference in self._references[path]
            if reference.leads_to and _parent(reference.leads_to.node) != group.path
        )
        if targets:
            yield _note(_("refers to {names}").format(names=_some(list(targets), 3)))
        if problems:
            yield _problem(_counted_problems(len(problems)))

    def _arrays(self, group: FoundGroup) -> Iterator[str]:
        """Yield the arrays of a group as long as there is room, then how many more there are."""
        for number, array in enumerate(group.arrays):
            drawn = self._array(group, array)
            if not self._has_room(len(drawn)):
                left = len(group.arrays) - number
                yield _element(
                    "p",
                    "note",
                    ngettext("{count} more array", "{count} more arrays", left).format(count=left),
                )
                return
            yield drawn

    def _array(self, group: FoundGroup, array: FoundArray) -> str:
        pairs = zip(array.dims, array.shape, strict=False)
        sizes = " \xd7 ".join(f"{name} {length}" for name, length in pairs)
        problems = self._problems[array.path]
        summary = [_name(array.name), _note(sizes or _("scalar")), _note(array.dtype)]
        if array.is_coordinate:
            summary.append(_note(_("coordinate")))
        summary += [_chip(convention.name) for convention in array.conventions[:_LISTED]]
        if array.missing:
            names = _some(array.missing, 3)
            summary.append(_note(_("no coordinate {names}").format(names=names)))
        if problems:
            summary.append(_problem(_counted_problems(len(problems))))
        given = [
            one
            for one in group.coordinates
            if one.name in array.coordinates or array.path in one.arrays
        ]
        about = [
            *self._list(_("Problems"), map(_of_problem, [*problems, *self._hints[array.path]])),
            *self._list(_("Conventions"), map(_of_convention, array.conventions)),
            *self._list(_("Coordinates"), map(_of_coordinate, given)),
            *self._list(_("No coordinate along"), map(_text, array.missing)),
            *self._list(_("CRS"), _of_crs(array)),
            *self._list(_("References"), map(_of_reference, self._references[array.path])),
        ]
        return _details("".join(summary), _element("div", "about", *about))

    def _groups(self, groups: Sequence[FoundGroup], depth: int) -> Iterator[str]:
        """Yield groups, of those that are alike the first, as long as there is room."""
        if depth > _DEEPEST:
            yield self._more_groups(len(groups))
            return
        kinds: defaultdict[object, list[FoundGroup]] = defaultdict(list)
        for group in groups:
            kinds[self._likeness(group)].append(group)
        left = len(groups)
        for same in kinds.values():
            told = same[:1] if len(same) >= _ALIKE else same
            for group in told:
                drawn = self._group(group, group.path.rpartition("/")[2], depth)
                if not drawn:
                    yield self._more_groups(left)
                    return
                yield drawn
                left -= 1
            yield self._others(same[len(told) :])
            left -= len(same) - len(told)

    def _others(self, alike: Sequence[FoundGroup]) -> str:
        if not alike:
            return ""
        first, last = (group.path.rpartition("/")[2] for group in (alike[0], alike[-1]))
        told = ngettext(
            "{count} more group like this: {first} \u2026 {last}",
            "{count} more groups like this: {first} \u2026 {last}",
            len(alike),
        )
        line = told.format(count=len(alike), first=_text(first), last=_text(last))
        return _element("p", "note", line) if self._has_room(len(line)) else ""

    def _more_groups(self, number: int) -> str:
        if number == 0:
            return ""
        told = ngettext("{count} more group", "{count} more groups", number)
        return _element("p", "note", told.format(count=number))

    def _likeness(self, group: FoundGroup) -> object:
        """Return what makes two groups alike: all but sizes, places and numbers."""
        arrays = tuple(
            (
                array.name,
                array.dims,
                array.dtype,
                tuple(convention.name for convention in array.conventions),
                array.coordinates,
                array.missing,
                len(self._problems[array.path]),
                sum(reference.leads_to is None for reference in self._references[array.path]),
            )
            for array in group.arrays
        )
        # A group with groups in it is told: whether trees are alike is for the page.
        own = group.path if self._below[group.path] else ""
        return arrays, len(self._problems[group.path]), own

    def _list(self, heading: str, items: Iterable[str]) -> Iterator[str]:
        """Yield a list under its heading, cut if it is long; nothing for an empty one."""
        every = list(items)
        if every:
            shown = [_element("li", "", item) for item in every[:_LISTED]]
            if left := len(every) - len(shown):
                more = ngettext("{count} more", "{count} more", left).format(count=left)
                shown.append(_element("li", "note", more))
            yield _element("p", "note", html.escape(heading))
            yield _element("ul", "about", *shown)

    def _has_room(self, letters: int) -> bool:
        """Return whether there is room for letters, and take it; if not, there is none any more."""
        self._room = self._room - letters if letters <= self._room else 0
        return self._room > 0


def _of_problem(problem: FoundProblem) -> str:
    lost = _note(_("opened without {lost}").format(lost=problem.lost)) if problem.lost else ""
    return f"{_problem(problem.kind)} {_text(problem.text, 2 * _LONGEST)} {lost}"


def _of_convention(convention: FoundConvention) -> str:
    tiers = {"principal": _("principal"), "service": _("service")}
    where = _("not declared")
    if convention.declared_in is not None:
        where = f"{_('declared in')} {convention.declared_in}"
    return f"{_chip(convention.name)} {tiers.get(convention.tier, '')} {_note(where)}"


def _of_coordinate(coordinate: FoundCoordinate) -> str:
    kinds = {
        "own": _("array of this group"),
        "stored": _("array of another group"),
        "foreign": _("array of another store"),
        "computed": _("computed"),
        "inline": _("in metadata"),
        "given": _("given by a plug-in"),
    }
    parts = [_name(coordinate.name), _text(f"({', '.join(coordinate.dims)})")]
    parts.append(_chip(kinds.get(coordinate.kind, coordinate.kind)))
    if coordinate.origin is not None:
        parts.append(_text(place_as_text(coordinate.origin)))
    parts.append(_note(coordinate.text))
    if coordinate.bounds is not None:
        parts.append(_note(_("cell boundaries: {name}").format(name=coordinate.bounds)))
    return " ".join(parts)


def _of_crs(array: FoundArray) -> list[str]:
    if array.crs is None:
        return []
    also = (array.crs.code, array.crs.variable)
    return [" ".join([_text(array.crs.name), *(_note(text) for text in also if text is not None)])]


def _of_reference(reference: FoundReference) -> str:
    parts = [f"<code>{_text(reference.target)}</code>"]
    if reference.leads_to is None:
        parts.append(_problem(_("leads nowhere")))
    else:
        parts.append(f"{_note(_('leads to'))} {_text(place_as_text(reference.leads_to))}")
    if reference.by_fallback:
        parts.append(_chip(_("by another rule than the first")))
    return " ".join(
        [*parts, _note(reference.text), _note(f"{_('at')} {place_as_text(reference.source)}")]
    )


# Names and counts in words.


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _names(group: FoundGroup) -> list[str]:
    """Return the names of the conventions that arrays of a group follow."""
    every = (convention.name for array in group.arrays for convention in array.conventions)
    return list(dict.fromkeys(every))


def _some(names: Sequence[str], number: int) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(_cut(name, 60) for name in names[:number])
    left = len(names) - number
    if left <= 0:
        return shown
    return ngettext("{names} and {count} more", "{names} and {count} more", left).format(
        names=shown, count=left
    )


def _counted_arrays(number: int) -> str:
    return ngettext("{count} array", "{count} arrays", number).format(count=number)


def _counted_groups(number: int) -> str:
    return ngettext("{count} group", "{count} groups", number).format(count=number)


def _counted_problems(number: int) -> str:
    return ngettext("{count} problem", "{count} problems", number).format(count=number)


# Elements. What they are given is HTML but where it is called text.


def _element(tag: str, kind: str, *contents: str) -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<{tag}{attribute}>{''.join(contents)}</{tag}>"


def _details(summary: str, content: str, *, is_open: bool = False) -> str:
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{summary}</summary>{content}</details>"


def _name(text: str) -> str:
    return _element("bdi", "name", _text(text)) + " "


def _note(text: str) -> str:
    return _element("span", "note", _text(text)) + " " if text else ""


def _chip(text: str) -> str:
    return _element("span", "chip", _text(text)) + " "


def _problem(text: str) -> str:
    return _element("span", "problem", _text(text)) + " "


def _text(text: str, longest: int = _LONGEST) -> str:
    """Return a text as HTML that shows it, without its middle if it is too long."""
    return html.escape(_cut(printable(text), longest))


def _cut(text: str, longest: int) -> str:
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}\u2026{text[-half:]}"
