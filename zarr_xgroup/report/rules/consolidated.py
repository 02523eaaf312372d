"""Consolidated metadata: whether they are what the nodes' own documents say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Change, Finding, Place, mistake
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import CONSOLIDATED_V2, Document
from zarr_xgroup.metadata.nodes import Fragment, Keys, Node, pointer_to
from zarr_xgroup.metadata.snapshots import Snapshot, nodes_below

DOCUMENT = "Zarr, consolidated metadata"

SAME = Rule("consolidated/same", DOCUMENT, "metadata")
COMPLETE = Rule("consolidated/complete", DOCUMENT, "metadata")
THERE = Rule("consolidated/nodes-are-there", DOCUMENT, "metadata")

RULES = (SAME, COMPLETE, THERE)

#: Where in the document of a group of Zarr v3 nodes are consolidated.
_NODES = ("consolidated_metadata", "metadata")


def check(consolidated: Snapshot, own: Snapshot, group: str) -> Iterator[Finding]:
    """Yield nodes that consolidated metadata lack, or say something else of than their documents.

    Parameters
    ----------
    consolidated : Snapshot
        What is known from consolidated metadata.
    own : Snapshot
        What the nodes' own documents say, as far as they could be read.
    group : str
        The path of the group that is checked, with all below it.
    """
    at = consolidated.consolidated_at
    remedy = _("consolidate again: `zarr.consolidate_metadata(store{path})`").format(
        path=f', path="{at}"' if at else ""
    )
    nodes = [*nodes_below(consolidated, group), *nodes_below(own, group)]
    for path in dict.fromkeys([group, *nodes]):
        if path == at or path in own.problems:
            continue
        place = Fragment(Node(0, path), (), None)
        theirs, written = consolidated.document(path), own.document(path)
        if theirs is None and path not in consolidated.problems:
            text = _("the node is not in the consolidated metadata: an open does not find it")
            yield mistake(
                COMPLETE, place, text, remedy, changes=_added(consolidated, path, written)
            )
        elif theirs is not None:
            yield from (
                replace(it, changes=_taken_over(consolidated, it, written))
                for it in _compared(place, theirs, written, remedy)
            )


def _compared(
    place: Fragment, theirs: Document, written: Document | None, remedy: str
) -> Iterator[Finding]:
    """Yield that the document of a node is not there, or in which members it is another one."""
    if written is not None:
        for keys in _differences(theirs, written):
            text = _("the consolidated metadata say something else")
            yield mistake(SAME, Fragment(place.node, keys, None), text, remedy)
    elif theirs.is_array or theirs.attributes:
        text = _("the node is in the consolidated metadata, but not in the store")
        yield mistake(THERE, place, text, remedy)


def _added(consolidated: Snapshot, path: str, written: Document | None) -> tuple[Change, ...]:
    """Return the changes that add a node to consolidated metadata."""
    if written is None:
        return ()
    ways: list[Keys] = [("attributes", key) for key in written.attributes]
    ways += [(key,) for key in written if key != "attributes"]
    changes = (_change(consolidated, path, keys, written) for keys in ways)
    return tuple(it for it in changes if it is not None)


def _taken_over(
    consolidated: Snapshot, found: Finding, written: Document | None
) -> tuple[Change, ...]:
    """Return the change by which consolidated metadata say what a document does."""
    if written is None:
        return ()
    path, keys = found.place.node.strip("/"), found.place.keys
    change = _change(consolidated, path, keys, written)
    return () if change is None else (change,)


def _change(consolidated: Snapshot, path: str, keys: Keys, written: Document) -> Change | None:
    """Return the change of a member of consolidated metadata to what a document has."""
    at = consolidated.consolidated_at or ""
    below, name = path.removeprefix(at).strip("/"), keys[-1]
    is_attribute = len(keys) > 1
    if consolidated.zarr_format == 3:
        way = (*_NODES, below, *keys)
    elif is_attribute:
        way = (CONSOLIDATED_V2, "metadata", f"{below}/.zattrs", name)
    elif name == "node_type":  # said by the key
        return None
    else:
        document = ".zarray" if written.is_array else ".zgroup"
        way = (CONSOLIDATED_V2, "metadata", f"{below}/{document}", name)
    holder: Mapping[str, Any] = written.attributes if is_attribute else written
    text = json.dumps(holder[name], default=dict) if name in holder else None
    return Change(Place(f"/{at}", pointer_to(way)), text)


def _differences(theirs: Document, written: Document) -> Iterator[tuple[str, ...]]:
    """Yield the ways to the members, and to the attributes, in which two documents differ."""
    for keys, one, other in (
        ((), theirs, written),
        (("attributes",), theirs.attributes, written.attributes),
    ):
        for key in sorted({*one, *other}):
            if key != "attributes" and not _is_same(one, other, key):
                yield (*keys, key)


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any], key: str) -> bool:
    if (key in one) != (key in other):
        return one.get(key) is None and other.get(key) is None
    return _text(one[key]) == _text(other[key])


def _text(value: Any) -> str:
    """Return a value as text: NaN, unlike itself, is NaN there."""
    return json.dumps(value, sort_keys=True, default=dict)
