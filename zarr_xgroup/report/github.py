"""A verdict as GitHub shows it beside the files of a change: workflow commands, one a line.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os.path import isfile
from pathlib import Path

from zarr_xgroup.findings import Finding, Place, folded
from zarr_xgroup.i18n import and_more
from zarr_xgroup.redaction import printable

#: What is escaped in a property such as ``file``; in a message only the first of it.
_ESCAPES = str.maketrans({"%": "%25", ":": "%3A", ",": "%2C"})

#: Where a node's metadata may be, and its attributes.
_DOCUMENTS = ("zarr.json", ".zarray", ".zgroup")
_ATTRIBUTES = ("zarr.json", ".zattrs")


def workflow_commands(store: str, mistakes: Iterable[Finding]) -> Iterator[str]:
    """Yield a line for each mistake in a store: GitHub shows ten errors and ten warnings of a step."""
    for mistake in folded(mistakes):
        title = f"{mistake.rule.name} ({mistake.rule.document}, {mistake.rule.section})"
        file = printable(_file(store, mistake.place)).translate(_ESCAPES)
        text = printable(_text(mistake)).replace("%", "%25")
        yield f"::{mistake.severity} file={file},title={printable(title).translate(_ESCAPES)}::{text}"


def _text(mistake: Finding) -> str:
    text = f"{mistake.place}: {mistake.text}. Instead: {mistake.remedy}"
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
    # Of what consolidated metadata alone have, the name may be longer than that of a file.
    return str(next((file for name in names if isfile(file := node / name)), node))
