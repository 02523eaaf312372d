"""Consolidated metadata: whether they are what the nodes' own documents say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, report
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.tree import Tree

DOCUMENT = "Zarr, consolidated metadata"

SAME = Rule("consolidated/same", DOCUMENT, "metadata")
COMPLETE = Rule("consolidated/complete", DOCUMENT, "metadata")
THERE = Rule("consolidated/nodes-are-there", DOCUMENT, "metadata")

RULES = (SAME, COMPLETE, THERE)


def check(tree: Tree, own: int, group: str) -> Iterator[Finding]:
    """Yield nodes that consolidated metadata lack, or say something else of than their documents.

    Parameters
    ----------
    tree : Tree
        What is known from consolidated metadata, of the store with the number 0.
    own : int
        The number under which it has what the nodes' own documents say, as far as they could be read.
    group : str
        The path of the group that is checked, with all below it.
    """
    at = tree.stores[0].consolidated_at
    remedy = "consolidate again: `zarr.consolidate_metadata(store{path})`".format(
        path=f', path="{at}"' if at else ""
    )
    nodes = [*tree.nodes_below(Node(0, group)), *tree.nodes_below(Node(own, group))]
    for path in dict.fromkeys([group, *(node.path for node in nodes)]):
        node, itself = Node(0, path), Node(own, path)
        if path == at or itself in tree.problems:
            continue
        place = Fragment(node, (), None)
        theirs, written = tree.known(node), tree.known(itself)
        if theirs is None and node not in tree.problems:
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
