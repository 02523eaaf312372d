"""JSON documents edited as text: what a change does not concern stays as it is written, byte for byte.

So numbers keep their spelling, members their order, and lines their indentation. Pure, as all that
knows documents.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from zarr_xgroup.findings import Change
from zarr_xgroup.metadata.nodes import Keys

#: The key of a further item of a list (RFC 6901, section 4).
_FURTHER = "-"

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_FIRST_MEMBER = re.compile(r'\s*\{(\s*)"(?:[^"\\]|\\.)*"(\s*:\s*)')

#: Changes below a value, each with the way to what it changes.
_Changes: TypeAlias = Sequence[tuple[Keys, Change]]


def edited(text: str, changes: Iterable[tuple[Keys, Change]]) -> str:
    """Return a JSON text with changes.

    Objects and lists on the way to what is written are made where there are none; what is to be taken
    away or called otherwise and is not there stays away. Of several changes of the same value, or of
    parts of what is written anew, the first counts.

    Parameters
    ----------
    text : str
        A JSON object.
    changes : iterable of tuple
        Each with the way to what it changes.
    """
    start = _past_space(text, 0)
    _value, end = _DECODER.raw_decode(text, start)
    return text[:start] + _edited(text[start:end], list(changes), 0, _Style.of(text)) + text[end:]


@dataclass(frozen=True)
class _Style:
    """How a document is written.

    Attributes
    ----------
    indent : str or None
        What the lines of members begin with more than those around; None if all is in one line.
    colon, comma : str
        What stands between a key and its value, and between members in a line.
    is_ascii : bool
        Whether all other letters are written as escapes.
    """

    indent: str | None
    colon: str
    comma: str
    is_ascii: bool

    @classmethod
    def of(cls, text: str) -> _Style:
        """Return how a document is written, by its first member."""
        first = _FIRST_MEMBER.match(text)
        space, colon = first.groups() if first else ("\n  ", ": ")
        indent = space.rpartition("\n")[2] if "\n" in space else None
        is_spaced = indent is None and colon.endswith(" ")
        return cls(indent, colon, ", " if is_spaced else ",", text.isascii())

    def line(self, depth: int) -> str:
        """Return what stands between a bracket and a member so deep."""
        return "" if self.indent is None else "\n" + self.indent * depth

    def value(self, text: str, depth: int) -> str:
        """Return a JSON value as the document would have it so deep."""
        written = json.dumps(
            json.loads(text),
            indent=self.indent,
            separators=(self.comma, self.colon),
            ensure_ascii=self.is_ascii,
        )
        return written.replace("\n", self.line(depth) or "\n")


class _Member(NamedTuple):
    """A member of an object or an item of a list, as it is written.

    Attributes
    ----------
    before : str
        What is written between it and the one before it, or the bracket.
    key : str
        Its key, or its index.
    name : str
        The key as it is written, with what stands before the value; "" in a list.
    value : str
        The value.
    """

    before: str
    key: str
    name: str
    value: str

    @property
    def text(self) -> str:
        """What is written, without what is before it."""
        return self.name + self.value


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _members(text: str) -> tuple[list[_Member], str]:
    """Return the members of an object or list, and what is written from the last one on."""
    found: list[_Member] = []
    is_object = text[0] == "{"
    last, at = 1, _past_space(text, 1)
    while text[at] not in "]}":
        key, start = str(len(found)), at
        if is_object:
            key, end = _DECODER.raw_decode(text, at)
            start = _past_space(text, _past_space(text, end) + 1)
        _value, end = _DECODER.raw_decode(text, start)
        found.append(_Member(text[last:at], key, text[at:start], text[start:end]))
        last, at = end, _past_space(text, end)
        at = _past_space(text, at + 1) if text[at] == "," else at
    return found, text[last:]


def _edited(text: str, changes: _Changes, depth: int, style: _Style) -> str:
    """Return a value with changes of it and of what is in it."""
    for keys, change in changes:
        if not keys and change.value is not None:
            return style.value(change.value, depth)
    if text[0] not in "[{":
        return text
    members, end = _members(text)
    below: defaultdict[str, list[tuple[Keys, Change]]] = defaultdict(list)
    for keys, change in changes:
        if keys:
            below[keys[0]].append((keys[1:], change))
    known = {it.key for it in members}
    kept = [new for it in members if (new := _changed(it, below[it.key], depth + 1, style))]
    if text[0] == "[":
        further = below.get(_FURTHER, ())
        kept += [_added("", [it], depth + 1, style) for it in further]
    else:
        ways = [key for key in below if key not in known and _is_written(below[key])]
        kept += [_added(_name(key, style), below[key], depth + 1, style) for key in ways]
    if not kept:
        return text[0] + end[-1] if members else text
    first = members[0].before if members else style.line(depth + 1)
    comma = style.comma if style.indent is None else f",{first}"
    comma = members[-1].before if len(members) > 1 else comma
    rest = "".join((it.before if "," in it.before else comma) + it.text for it in kept[1:])
    return text[0] + first + kept[0].text + rest + (end if members else style.line(depth) + end[-1])


def _is_written(changes: _Changes) -> bool:
    """Tell whether changes write anything where nothing is."""
    return any(change.value is not None for _keys, change in changes)


def _changed(member: _Member, changes: _Changes, depth: int, style: _Style) -> _Member | None:
    """Return a member with changes, None if it is taken away."""
    if not changes:
        return member
    own = next((it for keys, it in changes if not keys), None)
    if own is not None and own.value is None:
        if own.key is None:
            return None
        return member._replace(name=_name(own.key, style))
    return member._replace(value=_edited(member.value, changes, depth, style))


def _added(name: str, changes: _Changes, depth: int, style: _Style) -> _Member:
    """Return a member that was not there, or, without a name, an item."""
    ways = (keys for keys, _change in changes)
    empty = "[]" if next(ways)[:1] == (_FURTHER,) else "{}"
    value = _edited(empty, changes, depth, style)
    return _Member("", "", name, value)


def _name(key: str, style: _Style) -> str:
    return json.dumps(key, ensure_ascii=style.is_ascii) + style.colon
