"""Consolidated metadata: whether they are what the nodes' own documents say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, report
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.snapshots import Snapshot, nodes_below

DOCUMENT = "Zarr, consolidated metadata"

SAME = Rule("consolidated/same", DOCUMENT, "metadata")
COMPLETE = Rule("consolidated/complete", DOCUMENT, "metadata")
THERE = Rule("consolidated/nodes-are-there", DOCUMENT, "metadata")

RULES = (SAME, COMPLETE, THERE)


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
    remedy = "consolidate again: `zarr.consolidate_metadata(store{path})`".format(
        path=f', path="{at}"' if at else ""
    )
    nodes = [*nodes_below(consolidated, group), *nodes_below(own, group)]
    for path in dict.fromkeys([group, *nodes]):
        if path == at or path in own.problems:
            continue
        place = Fragment(Node(0, path), (), None)
        theirs, written = consolidated.document(path), own.document(path)
        if theirs is None and path not in consolidated.problems:
            text = "the node is not in the consolidated metadata: an open does not find it"
            yield report(COMPLETE, place, text, remedy)
        elif theirs is not None:
            yield from _compared(place, theirs, written, remedy)


def _compared(
    place: Fragment, theirs: Document, written: Document | None, remedy: str
) -> Iterator[Finding]:
    """Yield that the document of a node is not there, or in which members it is another one."""
    if written is not None:
        for keys in _differences(theirs, written):
            text = "the consolidated metadata say something else"
            yield report(SAME, Fragment(place.node, keys, None), text, remedy)
    elif theirs.is_array or theirs.attributes:
        text = "the node is in the consolidated metadata, but not in the store"
        yield report(THERE, place, text, remedy)


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
