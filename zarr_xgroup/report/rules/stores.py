"""Rules about a store as a whole: findings of opening, and consolidated metadata."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate, chain
from typing import Any

from msgspec.structs import replace

from zarr_xgroup.conventions.declaring import CONVENTIONS_KEY
from zarr_xgroup.errors import Rule, XGroupMetadataError, XGroupReferenceError, XGroupStoreError
from zarr_xgroup.findings import OPEN_RULES, Finding, Place, Topic, new_finding
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Keys, Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.redaction import chain_of
from zarr_xgroup.report.explanation import parent_of
from zarr_xgroup.report.rules.checked import CheckedStore

DOCUMENT = "Zarr, consolidated metadata"

SAME = Rule("consolidated/same", DOCUMENT, "metadata")
COMPLETE = Rule("consolidated/complete", DOCUMENT, "metadata")
THERE = Rule("consolidated/nodes-are-there", DOCUMENT, "metadata")

RULES = (SAME, COMPLETE, THERE, *OPEN_RULES.values())

#: JSON pointers of values whose mistakes cause other findings: declarations, names of dimensions.
_CAUSES = (
    f"/attributes/{CONVENTIONS_KEY}/",
    "/dimension_names",
    f"/attributes/{DIMENSION_KEY}",
)

#: Topics of findings that are reported for stores that declare no convention only if they are errors.
_TOPICS_OF_DECLARING_STORES = (Topic.DIMENSION, Topic.NAME, Topic.METADATA, Topic.NO_PRINCIPAL)


def mistakes_of_opening(
    findings: Iterable[Finding], reported: Iterable[Finding], checked: CheckedStore
) -> Iterator[Finding]:
    """Yield the findings of opening that no other rule reports, with a remedy.

    Parameters
    ----------
    findings : iterable of Finding
        The findings of opening.
    reported : iterable of Finding
        The findings of other rules.
    checked : CheckedStore
        The store. If it declares no convention, names and dimensions may be anything.
    """
    is_explained = _explained_by(reported)
    for finding in findings:
        topic, cost = finding.topic, finding.cost
        has_no_other_rule = topic is not None and finding.rule is OPEN_RULES[topic]
        is_tolerated = topic in _TOPICS_OF_DECLARING_STORES and finding.severity == "warning"
        if is_tolerated and not checked.declares_something:
            continue
        if is_explained(finding, by_cause=has_no_other_rule):
            continue
        if has_no_other_rule:
            finding = replace(
                finding,
                text=f"{finding.text}; missing: {cost}" if cost else finding.text,
                remedy=finding.remedy or _default_remedy(finding),
                places=() if finding.place.pointer else tuple(map(Place, finding.arrays)),
            )
        yield finding


def _explained_by(reported: Iterable[Finding]) -> Callable[..., bool]:
    """Return a function that returns whether reported mistakes explain a finding.

    With `by_cause`, a mistake in the declarations or dimension names of the finding's node explains it as well.
    """
    # By node: the pointers to reported values, and to all values that contain them.
    reported_at: defaultdict[str, set[str]] = defaultdict(set)
    reported_within: defaultdict[str, set[str]] = defaultdict(set)
    has_cause = set()
    for mistake in reported:
        for place in (mistake.place, *mistake.places):
            if place.pointer:
                reported_at[place.node].add(place.pointer)
                reported_within[place.node].update(_pointer_prefixes(place.pointer))
            if place.pointer.startswith(_CAUSES):
                has_cause.add(place.node)

    def is_explained(finding: Finding, *, by_cause: bool) -> bool:
        node, topic = finding.place.node, finding.topic
        if by_cause and node in has_cause:
            return True
        if topic is Topic.NO_PRINCIPAL:
            return any("/attributes" in reported_within[path] for path in (node, parent_of(node)))
        # A mistake in a part of a value explains the loss of that value. It does not explain a choice among values.
        of_parts = topic not in (None, Topic.CHOICE)
        return any(
            not reported_at[place.node].isdisjoint(_pointer_prefixes(place.pointer))
            or (of_parts and place.pointer in reported_within[place.node])
            for place in (finding.place, *finding.related)
            if place.pointer
        )

    return is_explained


def _pointer_prefixes(pointer: str) -> Iterator[str]:
    """Yield a JSON pointer and those to all values that contain it: "", "/attributes", "/attributes/cs", ..."""
    return accumulate(pointer.split("/")[1:], "{}/{}".format, initial="")


def _default_remedy(finding: Finding) -> str:
    """Return the remedy for a finding of opening that has none, by its topic and error."""
    if finding.topic is Topic.DIMENSION:
        return "give each dimension of a group one name and one size"
    if finding.topic is Topic.NAME:
        return "give the referenced array a name that is unique in the group"
    causes = () if finding.error is None else chain_of(finding.error)
    if any(type(cause).__name__ == "UnknownCodecError" for cause in causes):  # numcodecs' or zarr's
        return "use codecs of zarr itself, or document which package has them"
    if finding.topic is Topic.METADATA:
        return "write the document again with zarr"
    if isinstance(finding.error, XGroupStoreError):
        return "correct the URI, or make the store readable"
    if isinstance(finding.error, XGroupReferenceError):
        return "refer to an existing array of the required shape"
    if finding.topic is Topic.CHOICE:
        return "complete or correct the declaration, so that it has one meaning"
    return "write it as the convention defines it"


def differences_of_consolidated(
    tree: Tree,
    own: int,
    groups: Iterable[str],
    as_zarr_writes: Callable[[Document], Mapping[str, Any]],
) -> Iterator[Finding]:
    """Yield differences of consolidated metadata from the nodes' own documents: nodes and members.

    Parameters
    ----------
    tree : Tree
        The documents of the store. Number 0 has those in consolidated metadata.
    own : int
        The number with the nodes' own documents that could be read.
    groups : iterable of str
        The paths of the checked groups.
    as_zarr_writes : callable
        Returns the members of an array's document in the form of zarr, or raises XGroupMetadataError.
    """
    at = tree.stores[0].consolidated_at
    path_of_store = f', path="{at}"' if at else ""
    remedy = f"consolidate again: `zarr.consolidate_metadata(store{path_of_store})`"
    both = [Node(store, group) for group in groups for store in (0, own)]
    members = chain.from_iterable(map(node.child, tree.names(node)) for node in both)
    for path in dict.fromkeys(node.path for node in (*both, *members)):
        node, itself = Node(0, path), Node(own, path)
        copy, document = tree.document_if_read(node), tree.document_if_read(itself)
        if path == at or not tree.problems.keys().isdisjoint((node, itself)):
            continue
        if copy is not None and document is not None:
            text = "the consolidated metadata have a different value"
            for keys in _unequal_members(copy, document, as_zarr_writes):
                yield new_finding(SAME, Fragment(node, keys, None), text, remedy)
        elif copy is not None:
            if copy.is_array or copy.attributes:
                text = "the node is in the consolidated metadata, but not in the store"
                yield new_finding(THERE, Fragment(node, (), None), text, remedy)
        else:
            text = "the node is not in the consolidated metadata, so opening does not find it"
            yield new_finding(COMPLETE, Fragment(node, (), None), text, remedy)


def _unequal_members(
    copy: Document, document: Document, as_zarr_writes: Callable[[Document], Mapping[str, Any]]
) -> Iterator[Keys]:
    """Yield the keys of the members and attributes in which two documents of a node differ, sorted.

    zarr consolidates an array's document in its own form, with defaults, and adds an empty ``consolidated_metadata`` to
    groups. These are not differences.
    """

    def unequal(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
        return {key for key in {*one, *other} if _text(one.get(key)) != _text(other.get(key))}

    members = unequal(copy, document) - {"attributes", "consolidated_metadata"}
    if members and copy.is_array and document.is_array:
        with suppress(XGroupMetadataError):
            one, other = map(as_zarr_writes, (copy, document))
            unknown_to_zarr = (copy.keys() & document.keys()) - one.keys()
            members &= unequal(one, other) | unknown_to_zarr
    attributes = unequal(copy.attributes, document.attributes)
    keys: list[Keys] = [*((key,) for key in members), *(("attributes", key) for key in attributes)]
    yield from sorted(keys)


def _text(value: object) -> str:
    """Return a value as text, because NaN is not equal to itself. A null member equals a missing one."""

    def plain(value: Any) -> Any:  # an object of a document, or a number of an array's type
        return dict(value) if isinstance(value, Mapping) else str(value)

    return json.dumps(value, sort_keys=True, default=plain)
