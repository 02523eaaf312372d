"""An explanation as plain text: what matters of it, folded to what can be read at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import TextWrapper
from typing import TYPE_CHECKING, TypeVar

from zarr_xgroup.i18n import _, ngettext
from zarr_xgroup.report.printable import printable

if TYPE_CHECKING:
    from zarr_xgroup.report.explanation import (
        Explanation,
        FoundArray,
        FoundConvention,
        FoundCoordinate,
        FoundCrs,
        FoundGroup,
        FoundProblem,
        FoundReference,
        Place,
    )

T = TypeVar("T")

WIDTH = 100

#: How many lines all groups take together.
_MOST_LINES = 120
#: How many things are listed of one kind in a group, and of the problems.
_MOST_IN_GROUP = 12
_MOST_PROBLEMS = 10
#: How many lines one of them takes, and how many names are listed in one.
_MOST_LINES_OF_ONE = 5
_MOST_NAMES = 4
#: How much room a text has at least, however deep its group is nested.
_NARROWEST = 40


def as_text(explanation: Explanation, width: int = WIDTH) -> str:
    """Return an explanation as text.

    Parameters
    ----------
    explanation : Explanation
        The explanation.
    width : int, optional
        How many letters a line has at most; longer words stay whole.
    """
    told = {it.text for it in explanation.problems}
    odd = [it for it in explanation.references if is_odd(it) and _sentence(it) not in told]
    lines = [
        *_head(explanation, width),
        "",
        *_groups(explanation.groups, width),
        *_section(_("References that do not lead straight"), odd, _reference, width),
        *_section(_("Problems"), explanation.problems, _problem, width),
    ]
    return "\n".join(map(printable, lines))


def is_odd(reference: FoundReference) -> bool:
    """Tell whether a reference leads nowhere, or not straight where it says."""
    return reference.leads_to is None or reference.by_fallback or bool(reference.text)


def _head(explanation: Explanation, width: int) -> list[str]:
    arrays = sum(len(group.arrays) for group in explanation.groups)
    groups, references = len(explanation.groups), len(explanation.references)
    problems = len(explanation.problems)
    counts = [
        ngettext("{count} group", "{count} groups", groups).format(count=groups),
        ngettext("{count} array", "{count} arrays", arrays).format(count=arrays),
        ngettext("{count} reference", "{count} references", references).format(count=references),
        ngettext("{count} problem", "{count} problems", problems).format(count=problems),
    ]
    form = _("Zarr v{number}").format(number=explanation.zarr_format)
    if explanation.is_consolidated:
        form = _("{form} with consolidated metadata").format(form=form)
    return _wrapped(f"{explanation.store} ({form}): {', '.join(counts)}", "", width)


def _groups(groups: Sequence[FoundGroup], width: int) -> Iterator[str]:
    """Yield the tree of groups, as many as there is room for."""
    left, shown = _MOST_LINES, 0
    for branch in branches(groups):
        lines = list(_branch(branch, width))
        if len(lines) > left and shown:
            break
        left -= len(lines)
        shown += len(branch.groups)
        yield from lines
    rest = sorted(groups, key=_place_in_tree)[shown:]
    if rest:
        yield ngettext(
            "... and {count} more group, with {arrays} arrays",
            "... and {count} more groups, with {arrays} arrays",
            len(rest),
        ).format(count=len(rest), arrays=sum(len(group.arrays) for group in rest))


def _place_in_tree(group: FoundGroup) -> list[str]:
    return group.path.split("/")


@dataclass(frozen=True)
class Branch:
    """A group in a tree, and those above it that hold nothing but it.

    Attributes
    ----------
    groups : tuple of FoundGroup
        The groups, the one with content last.
    label : str
        What it is called below the branch that it grows from.
    guide : str
        What stands in front of the label: how it is joined to others.
    below : str
        What stands in front of its own lines.
    """

    groups: tuple[FoundGroup, ...]
    label: str
    guide: str
    below: str


def branches(groups: Sequence[FoundGroup]) -> Iterator[Branch]:
    """Yield the branches of a tree of groups from the top, each before those that grow from it."""
    ordered = sorted(groups, key=_place_in_tree)
    children: defaultdict[str, list[FoundGroup]] = defaultdict(list)
    for group in ordered[1:]:
        children[group.path.rpartition("/")[0] or "/"].append(group)
    # Not recursive: groups may be nested deeper than Python's stack.
    pending = [(group, "", "", "") for group in ordered[:1]]
    while pending:
        group, above, guide, below = pending.pop()
        joined = [group]
        while above and not group.arrays and len(children[group.path]) == 1:
            (group,) = children[group.path]
            joined.append(group)
        label = group.path.removeprefix(above.rstrip("/")).lstrip("/") if above else group.path
        own = children[group.path]
        yield Branch(tuple(joined), label, guide, f"{below}{'│' if own else ' '}   ")
        for child in reversed(own):
            is_last = child is own[-1]
            joint, further = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            pending.append((child, group.path, f"{below}{joint}", f"{below}{further}"))


def _branch(branch: Branch, width: int) -> Iterator[str]:
    group = branch.groups[-1]
    yield f"{branch.guide}{branch.label}"
    alike: defaultdict[Hashable, list[FoundArray]] = defaultdict(list)
    for array in group.arrays:
        if not array.is_coordinate:
            alike[_description(array)].append(array)
    yield from _listed(list(alike.values()), _arrays, branch.below, width)
    plain = [it.name for it in group.coordinates if _is_plain(it)]
    if plain:
        yield from _wrapped(f"* {', '.join(plain)}", branch.below, width)
    named = {it.bounds for it in group.coordinates}
    named |= {array.crs.variable for array in group.arrays if array.crs is not None}
    others = [it for it in group.coordinates if it.name not in (*plain, *named)]
    yield from _listed(others, _coordinate, branch.below, width)


def _is_plain(coordinate: FoundCoordinate) -> bool:
    """Tell whether there is nothing to say of a coordinate: it is where everybody looks for it."""
    is_simple = coordinate.is_index or not coordinate.dims
    said = coordinate.text or coordinate.bounds
    return coordinate.kind == "own" and is_simple and not said


def _listed(
    items: Collection[T], text_of: Callable[[T], str], indent: str, width: int
) -> Iterator[str]:
    """Yield the lines of the first of several things, and how many more there are."""
    # To say that there is one more takes as much room as to show it.
    most = _MOST_IN_GROUP if len(items) > _MOST_IN_GROUP + 1 else len(items)
    for item, _number in zip(items, range(most), strict=False):
        yield from _wrapped(text_of(item), indent, width)
    if len(items) > most:
        yield indent + _and_more(len(items) - most)


def _description(array: FoundArray) -> str:
    """Return what is said of an array but for its name."""
    sizes = ", ".join(f"{dim}: {size}" for dim, size in zip(array.dims, array.shape, strict=True))
    parts = [f"({sizes}) {array.dtype}", *_conventions(array)]
    if array.crs is not None:
        parts.append(_("CRS {crs}").format(crs=_crs(array.crs)))
    if array.missing:
        dims = ", ".join(array.missing)
        parts.append(_("no coordinate along {dims}").format(dims=dims))
    return "; ".join(parts)


def _arrays(arrays: Sequence[FoundArray]) -> str:
    return f"{names_of([it.name for it in arrays])} {_description(arrays[0])}"


def _conventions(array: FoundArray) -> Iterator[str]:
    """Yield the names of an array's conventions, by who declares them."""
    declared: defaultdict[str, list[str]] = defaultdict(list)
    for convention in array.conventions:
        declared[_declared(array, convention)].append(convention.name)
    for place, names in declared.items():
        yield f"{', '.join(names)} {place}".strip()


def _declared(array: FoundArray, convention: FoundConvention) -> str:
    if convention.declared_in == array.path:
        return ""
    if convention.declared_in is None:
        return _("(not declared)")
    if convention.declared_in == (array.path.rpartition("/")[0] or "/"):
        return _("(declared by the group)")
    return _("(declared by {path})").format(path=convention.declared_in)


def _crs(crs: FoundCrs) -> str:
    name = f"{crs.name} ({crs.code})" if crs.code not in (None, crs.name) else crs.name
    return name if crs.variable is None else f"{name}, {crs.variable!r}"


def _coordinate(coordinate: FoundCoordinate) -> str:
    dims = "" if coordinate.is_index else f" ({', '.join(coordinate.dims)})"
    where = _where(coordinate)
    parts = [part for part in (where, coordinate.text) if part]
    if coordinate.bounds is not None:
        parts.append(_("bounds {name!r}").format(name=coordinate.bounds))
    return f"* {coordinate.name}{dims} {'; '.join(parts)}"


def _where(coordinate: FoundCoordinate) -> str:
    """Return where the values of a coordinate are, "" where its text says it."""
    if coordinate.kind == "own":
        return _("array of the group")
    if coordinate.origin is not None:
        return _("from {place}").format(place=place_as_text(coordinate.origin))
    return ""


def place_as_text(place: Place) -> str:
    """Return a place in one word: ``store|node#pointer``."""
    store = "" if place.store is None else f"{place.store}|"
    return f"{store}{place.node}{f'#{place.pointer}' if place.pointer else ''}"


def _section(
    title: str, items: Sequence[T], text_of: Callable[[T], str], width: int
) -> Iterator[str]:
    if not items:
        return
    yield ""
    yield title
    for item in items[:_MOST_PROBLEMS]:
        yield from _wrapped(text_of(item), "  ", width)
    if len(items) > _MOST_PROBLEMS:
        yield "  " + _and_more(len(items) - _MOST_PROBLEMS)


def _and_more(count: int) -> str:
    return ngettext("... and {count} more", "... and {count} more", count).format(count=count)


def _reference(reference: FoundReference) -> str:
    told = _sentence(reference)
    if len(reference.arrays) > 1:
        told += f" ({names_of(reference.arrays)})"
    return told


def _sentence(reference: FoundReference) -> str:
    """Return in a sentence where a reference leads, as a finding about it has it."""
    text = reference.text
    if not text and reference.leads_to is not None:
        place = place_as_text(reference.leads_to)
        text = _("leads to {place}, though not as a path from the group of the array").format(
            place=place
        )
    target = repr(reference.target)
    return f"{place_as_text(reference.source)}: {text if target in text else f'{target} {text}'}"


def _problem(problem: FoundProblem) -> str:
    text = problem.text
    if problem.lost:
        text = _("{text}; opened without {lost}").format(text=text, lost=problem.lost)
    unnamed = [path for path in problem.arrays if path not in text]
    if unnamed and problem.kind != "no principal convention":
        text += f" ({names_of(unnamed)})"
    return text


def names_of(names: Sequence[str]) -> str:
    """Return the first of several names, and how many more there are."""
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    if more <= 0:
        return shown
    return ngettext("{names} and {count} more", "{names} and {count} more", more).format(
        names=shown, count=more
    )


def _wrapped(text: str, before: str, width: int) -> list[str]:
    """Return a text in lines, all but the first indented, as far as there is room."""
    wrapper = TextWrapper(
        max(width, len(before) + _NARROWEST),
        initial_indent=before,
        subsequent_indent=f"{before}    ",
        break_long_words=False,
        break_on_hyphens=False,
        max_lines=_MOST_LINES_OF_ONE,
        placeholder=" ...",
    )
    return wrapper.wrap(text)
