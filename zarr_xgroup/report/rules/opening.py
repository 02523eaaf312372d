"""What an open finds, as far as a producer can mend it and no other rule tells it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.errors import XGroupReferenceError, XGroupStoreError
from zarr_xgroup.findings import OPEN_RULES, Finding, Kind, Place
from zarr_xgroup.i18n import _
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
    findings: Iterable[Finding], told: Collection[Finding], checked: Checked
) -> Iterator[Finding]:
    """Yield what an open finds and no other rule has told.

    Parameters
    ----------
    findings : iterable of Finding
        What was found.
    told : collection of Finding
        What other rules tell.
    checked : Checked
        The store. Where nothing is declared, names and dimensions may be anything.
    """
    places = _Places(place for mistake in told for place in (mistake.place, *mistake.places))
    for finding in findings:
        is_of_conventions = finding.kind in (None, Kind.PROBLEM, Kind.CHOICE)
        if not (checked.declares_something or is_of_conventions):
            continue
        if not _is_told(finding, places):
            yield _mistake(finding)


class _Places:
    """The places that other rules tell of, as what is asked of them for each finding.

    Attributes
    ----------
    at : dict of str to set of str
        The pointers of a node.
    around : dict of str to set of str
        These, and those to what they are parts of.
    roots : set of str
        The nodes of which something is told that other findings follow from.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        self.at: defaultdict[str, set[str]] = defaultdict(set)
        self.around: defaultdict[str, set[str]] = defaultdict(set)
        self.roots: set[str] = set()
        for node, pointer in {(it.node, it.pointer): None for it in places}:
            self.at[node].add(pointer)
            self.around[node].update(_wholes(pointer))
            if pointer.startswith(_AT_THE_ROOT_OF_OTHERS):
                self.roots.add(node)

    def have(self, place: Place) -> bool:
        """Tell whether a place is told, or what it is a part of."""
        return not self.at[place.node].isdisjoint(_wholes(place.pointer))

    def have_part_of(self, place: Place) -> bool:
        """Tell whether a place is told, or a part of it."""
        return place.pointer in self.around[place.node]


def _is_told(finding: Finding, places: _Places) -> bool:
    """Tell whether another rule tells of the place of a finding, or of what it follows from."""
    node = finding.place.node
    is_general = finding.kind is not None and finding.rule is OPEN_RULES[finding.kind]
    if is_general and node in places.roots:
        return True  # it may follow from that
    if finding.kind is Kind.NO_PRINCIPAL:
        around = (node, node.rpartition("/")[0] or "/")
        return any(where.startswith("/attributes/") for it in around for where in places.at[it])
    written = [it for it in (finding.place, *finding.related) if it.pointer]
    if finding.kind in (None, Kind.CHOICE):  # about the whole, whatever is wrong with a part of it
        return any(map(places.have, written))
    return any(places.have(it) or places.have_part_of(it) for it in written)


def _wholes(pointer: str) -> list[str]:
    """Return a pointer, and those to all that it is a part of."""
    ends = (index for index, letter in enumerate(pointer) if letter == "/" and index)
    return [*(pointer[:end] for end in ends), pointer]


def _mistake(finding: Finding) -> Finding:
    """Return what an open finds as what a producer should mend."""
    if finding.kind is None or finding.rule is not OPEN_RULES[finding.kind]:
        return finding
    place = finding.place
    places = () if place.pointer else tuple(map(Place, finding.arrays))
    text = finding.text
    if finding.lost:
        text = _("{text}; lost: {what}").format(text=text, what=finding.lost)
    return replace(finding, text=text, remedy=finding.remedy or _remedy(finding), places=places)


def _remedy(finding: Finding) -> str:
    if finding.kind is Kind.DIMENSION:
        return _("give each dimension of a group one name and one size")
    if finding.kind is Kind.NAME:
        return _("give what is referred to a name that nothing else in the group has")
    causes = () if finding.error is None else chain_of(finding.error)
    if any(type(it).__name__ == "UnknownCodecError" for it in causes):  # numcodecs' or zarr's
        return _("use codecs that zarr has itself, or tell readers which package has them")
    if finding.kind is Kind.METADATA:
        return _("write the document anew, as zarr writes it")
    if isinstance(finding.error, XGroupStoreError):
        return _("correct the URI, or make the store readable where it is")
    if isinstance(finding.error, XGroupReferenceError):
        return _("refer to an array that is there and has the shape that is needed")
    if finding.kind is Kind.CHOICE:
        return _("complete what is declared, or correct it, so that it has one meaning")
    return _("write it as the convention has it")
