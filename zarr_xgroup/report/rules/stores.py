"""What is wrong with a store beyond its single nodes: what an open of it finds, and its consolidated metadata."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.checked import CheckedStore
from zarr_xgroup.errors import Rule, XGroupReferenceError, XGroupStoreError
from zarr_xgroup.findings import OPEN_RULES, Finding, Place, Topic, report
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY
from zarr_xgroup.metadata.nodes import Fragment, Keys, Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.redaction import chain_of

DOCUMENT = "Zarr, consolidated metadata"

SAME = Rule("consolidated/same", DOCUMENT, "metadata")
COMPLETE = Rule("consolidated/complete", DOCUMENT, "metadata")
THERE = Rule("consolidated/nodes-are-there", DOCUMENT, "metadata")

RULES = (SAME, COMPLETE, THERE, *OPEN_RULES.values())

#: Where something is written from which other findings follow: declarations, names of dimensions.
_CAUSES = (
    f"/attributes/{CONVENTIONS_KEY}/",
    "/dimension_names",
    f"/attributes/{DIMENSION_KEY}",
)


def found_by_open(
    findings: Iterable[Finding], told: Iterable[Finding], checked: CheckedStore
) -> Iterator[Finding]:
    """Yield what an open finds and no other rule tells, with what a producer should write.

    Parameters
    ----------
    findings : iterable of Finding
        What an open finds.
    told : iterable of Finding
        What other rules tell.
    checked : CheckedStore
        The store. Where nothing is declared, names and dimensions may be anything.
    """
    # By node: the pointers to what is told, and to all that these are parts of.
    told_at: defaultdict[str, set[str]] = defaultdict(set)
    told_within: defaultdict[str, set[str]] = defaultdict(set)
    for mistake in told:
        for place in (mistake.place, *mistake.places):
            if place.pointer:
                told_at[place.node].add(place.pointer)
                told_within[place.node].update(_wholes(place.pointer))
    has_cause = {
        node for node, at in told_at.items() if any(pointer.startswith(_CAUSES) for pointer in at)
    }
    for finding in findings:
        node, topic = finding.place.node, finding.topic
        is_of_conventions = topic in (None, Topic.PROBLEM, Topic.CHOICE)
        has_no_other_rule = topic is not None and finding.rule is OPEN_RULES[topic]
        if not (checked.declares_something or is_of_conventions):
            continue
        if has_no_other_rule and node in has_cause:
            continue  # it may follow from that
        if topic is Topic.NO_PRINCIPAL:
            group = node.rpartition("/")[0] or "/"
            is_told = any("/attributes" in told_within[path] for path in (node, group))
        else:
            # What an array lacks may be told of a part of what is written for it; a choice is another matter.
            of_parts = topic not in (None, Topic.CHOICE)
            is_told = any(
                not told_at[place.node].isdisjoint(_wholes(place.pointer))
                or (of_parts and place.pointer in told_within[place.node])
                for place in (finding.place, *finding.related)
                if place.pointer
            )
        if is_told:
            continue
        if has_no_other_rule:
            finding = replace(
                finding,
                text=finding.text + (f"; lost: {finding.cost}" if finding.cost else ""),
                remedy=finding.remedy or _remedy(finding),
                places=() if finding.place.pointer else tuple(map(Place, finding.arrays)),
            )
        yield finding


def _wholes(pointer: str) -> Iterator[str]:
    """Yield a pointer, and those to all that it is a part of."""
    return accumulate(pointer.split("/")[1:], "{}/{}".format, initial="")


def _remedy(finding: Finding) -> str:
    """Return what to do about what an open finds, where nothing better is known."""
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


def consolidated(tree: Tree, own: int, groups: Iterable[str]) -> Iterator[Finding]:
    """Yield nodes that consolidated metadata lack, or say something else of than their documents.

    Parameters
    ----------
    tree : Tree
        What is known from consolidated metadata, of the store with the number 0.
    own : int
        The number under which it has what the nodes' own documents say, as far as they could be read.
    groups : iterable of str
        The paths of the groups that are checked.
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
            all_keys: list[Keys] = [(key,) for key in {*copy, *document} - {"attributes"}]
            keys_of_attributes = {*copy.attributes, *document.attributes}
            all_keys += [("attributes", key) for key in keys_of_attributes]
            for keys in sorted(all_keys):
                of_both = (
                    (copy, document) if len(keys) == 1 else (copy.attributes, document.attributes)
                )
                # As texts: NaN is unlike itself. A member that is null is like none.
                one, other = (
                    json.dumps(members.get(keys[-1]), sort_keys=True, default=dict)
                    for members in of_both
                )
                if one != other:
                    text = "the consolidated metadata say something else"
                    yield report(SAME, Fragment(node, keys, None), text, remedy)
