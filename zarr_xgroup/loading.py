"""Reading what arrays refer to before anything is resolved, all at once level by level."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from zarr.core.sync import sync

from zarr_xgroup.errors import XGroupError
from zarr_xgroup.hierarchy import Hierarchy
from zarr_xgroup.paths import join_path
from zarr_xgroup.resolver import (
    MAX_DEPTH,
    Fragment,
    Node,
    Reference,
    at_pointer,
    candidates,
    join,
    references_in,
)


def load_referred(hierarchy: Hierarchy, groups: Iterable[str]) -> None:
    """Read the documents that arrays of loaded groups refer to, in this store and in others.

    Resolving afterwards finds them there. What is not foreseen here is read when needed.
    """
    level = [item for group in groups for item in _written_in(hierarchy, group)]
    seen: set[str] = set()
    for _depth in range(MAX_DEPTH):
        found = [item for node, fragment in level for item in _references(node, fragment)]
        if not found:
            return
        sync(_load(found))
        level = []
        for referrer, reference, written in found:
            pointer = reference.attribute
            if pointer is None:
                continue
            for place in _candidates(reference, referrer, written):
                key = f"{referrer}|{id(place.documents)}|{place}#{pointer}"
                if key not in seen and place.document is not None:
                    seen.add(key)
                    with contextlib.suppress(XGroupError):
                        level.append((referrer, at_pointer(place, pointer)))


def _written_in(hierarchy: Hierarchy, group: str) -> Iterator[tuple[Node, Fragment]]:
    """Yield the attributes of a group's arrays, and what the group says of these.

    Of those that are the same on several arrays, as their systems of axes often are, only one:
    references in them lead to the same nodes.
    """
    seen: set[str] = set()
    for name in hierarchy.arrays(group):
        node = Node(hierarchy, join_path(group, name))
        for attribute in (*_attributes(node), *_attributes(node.group, "geolocation")):
            if isinstance(attribute.value, dict | list):
                text = repr(attribute.value)
                if text not in seen:
                    seen.add(text)
                    yield node, attribute


def _attributes(node: Node, *keys: str) -> Iterator[Fragment]:
    """Yield attributes of a node, all of them if none are named."""
    document = node.document
    for key in keys or (document["attributes"] if document is not None else ()):
        attribute = node.attribute(key)
        if attribute is not None:
            yield attribute


def _references(referrer: Node, fragment: Fragment) -> Iterator[tuple[Node, Reference, Node]]:
    """Yield the references within a value, with the array and the node they are written in."""
    for found in references_in(fragment):
        with contextlib.suppress(XGroupError):
            yield referrer, Reference.parse(found), found.node


def _candidates(reference: Reference, referrer: Node, written: Node) -> list[Node]:
    with contextlib.suppress(XGroupError):
        return candidates(reference, referrer, written)
    return []


async def _load(found: Iterable[tuple[Node, Reference, Node]]) -> None:
    """Read the nodes that references may lead to, those of all stores at once."""
    near: defaultdict[Any, list[str]] = defaultdict(list)
    far: defaultdict[tuple[Any, str], list[str]] = defaultdict(list)
    for referrer, reference, written in found:
        if reference.uri is None:
            for place in _candidates(reference, referrer, written):
                near[place.documents].append(place.path)
        elif (path := join("", reference.node.lstrip("/"))) is not None:
            far[written.documents, reference.uri].append(path)
    await asyncio.gather(
        *(documents.load_nodes(paths) for documents, paths in near.items()),
        *(documents.load_foreign(uri, paths) for (documents, uri), paths in far.items()),
    )
