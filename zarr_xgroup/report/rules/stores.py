"""Rules about a store as a whole: the findings of an open, and consolidated metadata."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import Any

from zarr_xgroup.conventions.declaring import CONVENTIONS_KEY
from zarr_xgroup.errors import Rule, XGroupMetadataError, XGroupReferenceError, XGroupStoreError
from zarr_xgroup.findings import OPEN_RULES, Finding, Place, Topic, report
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


def mistakes_found_by_open(
    findings: Iterable[Finding], reported: Iterable[Finding], checked: CheckedStore
) -> Iterator[Finding]:
    """Yield the findings of an open that no other rule reports, with what a producer should write.

    Parameters
    ----------
    findings : iterable of Finding
        The findings of an open.
    reported : iterable of Finding
        What other rules report.
    checked : CheckedStore
        The store. Where nothing is declared, names and dimensions may be anything.
    """
    # By node: the pointers to values that are reported, and to all values that contain these.
    reported_at: defaultdict[str, set[str]] = defaultdict(set)
    reported_within: defaultdict[str, set[str]] = defaultdict(set)
    has_cause: set[str] = set()
    for mistake in reported:
        for place in (mistake.place, *mistake.places):
            if place.pointer:
                reported_at[place.node].add(place.pointer)
                reported_within[place.node].update(_pointer_prefixes(place.pointer))
            if place.pointer.startswith(_CAUSES):
                has_cause.add(place.node)
    for finding in findings:
        node, topic = finding.place.node, finding.topic
        is_of_conventions = topic in (None, Topic.PROBLEM, Topic.CHOICE)
        has_no_other_rule = topic is not None and finding.rule is OPEN_RULES[topic]
        if not (checked.declares_something or is_of_conventions):
            continue
        if has_no_other_rule and node in has_cause:
            continue  # it may follow from that mistake
        if topic is Topic.NO_PRINCIPAL:
            group = parent_of(node)
            is_reported = any("/attributes" in reported_within[path] for path in (node, group))
        else:
            # A mistake in a part of a value explains what an array lacks by that value. A choice among
            # values is not explained by a mistake in one of them.
            of_parts = topic not in (None, Topic.CHOICE)
            is_reported = any(
                not reported_at[place.node].isdisjoint(_pointer_prefixes(place.pointer))
                or (of_parts and place.pointer in reported_within[place.node])
                for place in (finding.place, *finding.related)
                if place.pointer
            )
        if is_reported:
            continue
        if has_no_other_rule:
            finding = replace(
                finding,
                text=finding.text + (f"; lost: {finding.cost}" if finding.cost else ""),
                remedy=finding.remedy or _default_remedy(finding),
                places=() if finding.place.pointer else tuple(map(Place, finding.arrays)),
            )
        yield finding


def _pointer_prefixes(pointer: str) -> Iterator[str]:
    """Yield a JSON pointer and those to all values that contain it: "", "/attributes", "/attributes/cs", ..."""
    return accumulate(pointer.split("/")[1:], "{}/{}".format, initial="")


def _default_remedy(finding: Finding) -> str:
    """Return the remedy for a finding of an open that has none, by its topic and error."""
    if finding.topic is Topic.DIMENSION:
        return "give each dimension of a group one name and one size"
    if finding.topic is Topic.NAME:
        return "give what is referred to a name that nothing else in the group has"
    causes = () if finding.error is None else chain_of(finding.error)
    if any(type(cause).__name__ == "UnknownCodecError" for cause in causes):  # numcodecs' or zarr's
        return "use codecs that zarr has itself, or tell readers which package has them"
    if finding.topic is Topic.METADATA:
        return "write the document anew, as zarr writes it"
    if isinstance(finding.error, XGroupStoreError):
        return "correct the URI, or make the store readable where it is"
    if isinstance(finding.error, XGroupReferenceError):
        return "refer to an array that is there and has the shape that is needed"
    if finding.topic is Topic.CHOICE:
        return "complete what is declared, or correct it, so that it has one meaning"
    return "write it as the convention has it"


def differences_of_consolidated(
    tree: Tree,
    own: int,
    groups: Iterable[str],
    as_zarr_writes: Callable[[Document], Mapping[str, Any]],
) -> Iterator[Finding]:
    """Yield nodes that only consolidated metadata or only the nodes' own documents have, and members that differ.

    Parameters
    ----------
    tree : Tree
        The documents of the store: under number 0 those in consolidated metadata.
    own : int
        The number under which the tree has the nodes' own documents, as far as they could be read.
    groups : iterable of str
        The paths of the groups that are checked.
    as_zarr_writes : callable
        Returns the members of an array's document in the form in which zarr writes them, or raises
        XGroupMetadataError.
    """
    at = tree.stores[0].consolidated_at
    path_of_store = f', path="{at}"' if at else ""
    remedy = f"consolidate again: `zarr.consolidate_metadata(store{path_of_store})`"
    nodes = [Node(store, group) for group in groups for store in (0, own)]
    nodes += [node.child(name) for node in nodes for name in tree.names(node)]
    for path in dict.fromkeys(node.path for node in nodes):
        node, itself = Node(0, path), Node(own, path)
        if path == at or itself in tree.problems:
            continue
        place = Fragment(node, (), None)
        copy, document = tree.known(node), tree.known(itself)
        if copy is None:
            if node not in tree.problems:
                text = "the node is not in the consolidated metadata: an open does not find it"
                yield report(COMPLETE, place, text, remedy)
        elif document is None:
            if copy.is_array or copy.attributes:
                text = "the node is in the consolidated metadata, but not in the store"
                yield report(THERE, place, text, remedy)
        else:
            for keys in _unequal_members(copy, document, as_zarr_writes):
                text = "the consolidated metadata say something else"
                yield report(SAME, Fragment(node, keys, None), text, remedy)


def _unequal_members(
    copy: Document, document: Document, as_zarr_writes: Callable[[Document], Mapping[str, Any]]
) -> Iterator[Keys]:
    """Yield the keys of the members and attributes in which two documents of a node differ, sorted.

    zarr consolidates its own form of an array's document, with defaults filled in: that is equal. So is the
    empty ``consolidated_metadata`` that it adds to groups.
    """
    members = {*copy, *document} - {"attributes", "consolidated_metadata"}
    unequal = {key for key in members if _text(copy.get(key)) != _text(document.get(key))}
    if unequal and copy.is_array and document.is_array:
        with suppress(XGroupMetadataError):
            one, other = map(as_zarr_writes, (copy, document))
            unequal = {
                key
                for key in unequal
                if _text(one.get(key)) != _text(other.get(key))
                or (key not in one and key in copy and key in document)  # not known to zarr
            }
    keys: list[Keys] = [(key,) for key in unequal]
    one, other = copy.attributes, document.attributes
    keys += [
        ("attributes", key)
        for key in {*one, *other}
        if _text(one.get(key)) != _text(other.get(key))
    ]
    yield from sorted(keys)


def _text(value: object) -> str:
    """Return a value as text to compare: NaN is not equal to itself. A member that is null is like a missing one."""
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    """Return an object of a document, or a number of an array's type, as a value of `json`."""
    return dict(value) if isinstance(value, Mapping) else str(value)
