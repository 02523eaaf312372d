"""What an open finds, as far as a producer can mend it and no other rule tells it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.errors import XGroupReferenceError, XGroupStoreError
from zarr_xgroup.findings import OPEN_RULES, Finding, Place, Topic
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY
from zarr_xgroup.redaction import chain_of
from zarr_xgroup.report.rules.subject import Checked

RULES = tuple(OPEN_RULES.values())

#: Where something is written from which other findings follow: declarations, names of dimensions.
_AT_THE_ROOT_OF_OTHERS = (
    f"/attributes/{CONVENTIONS_KEY}/",
    "/dimension_names",
    f"/attributes/{DIMENSION_KEY}",
)


def check(
    findings: Iterable[Finding], told: Iterable[Finding], checked: Checked
) -> Iterator[Finding]:
    """Yield what an open finds and no other rule has told.

    Parameters
    ----------
    findings : iterable of Finding
        What was found.
    told : iterable of Finding
        What other rules tell.
    checked : Checked
        The store. Where nothing is declared, names and dimensions may be anything.
    """
    at: defaultdict[str, set[str]] = defaultdict(set)
    for it in told:
        for place in (it.place, *it.places):
            at[place.node].add(place.pointer)
    around = {node: _around(pointers) for node, pointers in at.items()}
    for finding in findings:
        is_of_conventions = finding.topic in (None, Topic.PROBLEM, Topic.CHOICE)
        if not (checked.declares_something or is_of_conventions):
            continue
        if not _is_told(finding, at, around):
            yield _mistake(finding)


def _around(pointers: Iterable[str]) -> set[str]:
    """Return pointers, and those to what they are parts of; "" if other findings may follow from there."""
    found = {whole for pointer in pointers for whole in _wholes(pointer)} - {""}
    is_root = any(pointer.startswith(_AT_THE_ROOT_OF_OTHERS) for pointer in pointers)
    return {*found, ""} if is_root else found


def _is_told(finding: Finding, at: Mapping[str, set[str]], around: Mapping[str, set[str]]) -> bool:
    """Tell whether another rule tells of the place of a finding, or of what it follows from.

    Others tell of the pointers `at` a node, and of parts of what is `around` these.
    """
    node = finding.place.node
    is_general = finding.topic is not None and finding.rule is OPEN_RULES[finding.topic]
    if is_general and "" in around.get(node, ()):
        return True  # it may follow from that
    if finding.topic is Topic.NO_PRINCIPAL:
        near = (node, node.rpartition("/")[0] or "/")
        return any(where.startswith("/attributes/") for it in near for where in at.get(it, ()))
    written = [it for it in (finding.place, *finding.related) if it.pointer]
    is_of_all = finding.topic in (None, Topic.CHOICE)  # whatever is wrong with a part of it
    return any(
        not at.get(it.node, set()).isdisjoint(_wholes(it.pointer))
        or (not is_of_all and it.pointer in around.get(it.node, ()))
        for it in written
    )


def _wholes(pointer: str) -> list[str]:
    """Return a pointer, and those to all that it is a part of."""
    ends = (index for index, letter in enumerate(pointer) if letter == "/" and index)
    return [*(pointer[:end] for end in ends), pointer]


def _mistake(finding: Finding) -> Finding:
    """Return what an open finds as what a producer should mend."""
    if finding.topic is None or finding.rule is not OPEN_RULES[finding.topic]:
        return finding
    place = finding.place
    places = () if place.pointer else tuple(map(Place, finding.arrays))
    text = finding.text
    if finding.cost:
        text = f"{text}; lost: {finding.cost}"
    return replace(finding, text=text, remedy=finding.remedy or _remedy(finding), places=places)


def _remedy(finding: Finding) -> str:
    if finding.topic is Topic.DIMENSION:
        return "give each dimension of a group one name and one size"
    if finding.topic is Topic.NAME:
        return "give what is referred to a name that nothing else in the group has"
    causes = () if finding.error is None else chain_of(finding.error)
    if any(type(it).__name__ == "UnknownCodecError" for it in causes):  # numcodecs' or zarr's
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
