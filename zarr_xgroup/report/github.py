"""A verdict as GitHub shows it beside the files of a change: workflow commands, one a line.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from zarr_xgroup.findings import Finding, Place, folded
from zarr_xgroup.i18n import _, and_more
from zarr_xgroup.redaction import printable

#: What is escaped in a message, and in a property such as ``file``.
_IN_MESSAGE: Mapping[str, str] = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY: Mapping[str, str] = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}

#: Where a node's metadata may be, and its attributes.
_DOCUMENTS = ("zarr.json", ".zarray", ".zgroup")
_ATTRIBUTES = ("zarr.json", ".zattrs")


def workflow_commands(store: str, mistakes: Iterable[Finding]) -> Iterator[str]:
    """Yield a line for each mistake in a store: GitHub shows ten errors and ten warnings of a step."""
    for mistake in folded(mistakes):
        title = f"{mistake.rule.name} ({mistake.rule.document}, {mistake.rule.section})"
        properties = f"file={_property(_file(store, mistake.place))},title={_property(title)}"
        yield f"::{mistake.severity} {properties}::{_message(_text(mistake))}"


def _text(mistake: Finding) -> str:
    text = _("{place}: {text}. Instead: {remedy}").format(
        place=mistake.place, text=mistake.text, remedy=mistake.remedy
    )
    if others := len({*mistake.places, mistake.place}) - 1:
        text = f"{text} ({and_more(others)})"
    return text


def _file(store: str, place: Place) -> str:
    """Return the file in which a place is, as far as there is one."""
    if place.store is not None or "://" in store or "::" in store:
        return f"{(place.store or store).rstrip('/')}{place.node}"
    path = Path(store).expanduser()
    if path.is_file():  # an archive
        return str(path)
    node = path / place.node.strip("/")
    names = _ATTRIBUTES if place.pointer.startswith("/attributes") else _DOCUMENTS
    return str(next((file for name in names if (file := node / name).is_file()), node))


def _property(text: str) -> str:
    return _escaped(text, _IN_PROPERTY)


def _message(text: str) -> str:
    return _escaped(text, _IN_MESSAGE)


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(letter, letter) for letter in printable(text))
