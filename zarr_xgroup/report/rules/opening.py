"""What an open finds, as far as a producer can mend it and no other rule tells it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.descriptions import Rule
from zarr_xgroup.errors import XGroupReferenceError, XGroupStoreError
from zarr_xgroup.findings import Finding, Kind
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY
from zarr_xgroup.redaction import presentable
from zarr_xgroup.report.explanation import Place
from zarr_xgroup.report.rules.subject import Checked, Severity
from zarr_xgroup.report.verdict import Mistake

DOCUMENT = "xarray-zarr-xgroup specification"

PROBLEM = Rule("open/nothing-lost", DOCUMENT, "8 Conventions")
CHOICE = Rule("open/one-meaning", DOCUMENT, "8 Conventions")
DIMENSION = Rule("open/dimensions", DOCUMENT, "6 Dimensions")
NAME = Rule("open/names", DOCUMENT, "9 Coordinates and their names")
METADATA = Rule("open/metadata", DOCUMENT, "5 Variables")
NO_PRINCIPAL = Rule("open/principal-convention", DOCUMENT, "8.1 Declaration")

RULES = (PROBLEM, CHOICE, DIMENSION, NAME, METADATA, NO_PRINCIPAL)

#: Where something is written from which other findings follow: declarations, names of dimensions.
_AT_THE_ROOT_OF_OTHERS = (
    f"/attributes/{CONVENTIONS_KEY}/",
    "/dimension_names",
    f"/attributes/{DIMENSION_KEY}",
)

#: The place that a text begins with.
_PLACE = re.compile(r"(?P<node>/[^#]*)#(?P<pointer>/\S*?)(:?\s|:?$)")
#: What a name goes on with.
_LETTER = re.compile(r"\w")

_OF_KIND = {
    Kind.PROBLEM: PROBLEM,
    Kind.CHOICE: CHOICE,
    Kind.DIMENSION: DIMENSION,
    Kind.NAME: NAME,
    Kind.METADATA: METADATA,
    Kind.NO_PRINCIPAL: NO_PRINCIPAL,
}


def check(
    findings: Iterable[Finding], told: Collection[Mistake], checked: Checked
) -> Iterator[Mistake]:
    """Yield what an open finds and no other rule has told.

    Parameters
    ----------
    findings : iterable of Finding
        What was found.
    told : collection of Mistake
        What other rules tell.
    checked : Checked
        The store. Where nothing is declared, names and dimensions may be anything.
    """
    places = _Places(place for mistake in told for place in mistake.places)
    for finding in findings:
        is_of_conventions = finding.kind in (Kind.PROBLEM, Kind.CHOICE)
        if not (checked.declares_something or is_of_conventions):
            continue
        if finding.kind is Kind.NO_PRINCIPAL and not _is_forgotten(finding, checked):
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
    keys : dict of str to set of str
        The last keys of them.
    roots : set of str
        The nodes of which something is told that other findings follow from.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        self.at: defaultdict[str, set[str]] = defaultdict(set)
        self.around: defaultdict[str, set[str]] = defaultdict(set)
        self.keys: defaultdict[str, set[str]] = defaultdict(set)
        self.roots: set[str] = set()
        for node, pointer in {(it.node, it.pointer): None for it in places}:
            self.at[node].add(pointer)
            self.around[node].update(_wholes(pointer))
            if pointer:
                self.keys[node].add(pointer.rpartition("/")[2])
            if pointer.startswith(_AT_THE_ROOT_OF_OTHERS):
                self.roots.add(node)


def _is_told(finding: Finding, places: _Places) -> bool:
    """Tell whether another rule tells of the place of a finding, of a part of it or the whole."""
    node, pointer = _place(finding)
    if node in places.roots:
        return True  # it may follow from that
    if finding.kind in (Kind.PROBLEM, Kind.DIMENSION) and pointer:
        return pointer in places.around[node] or not places.at[node].isdisjoint(_wholes(pointer))
    around = {node, *(path.rpartition("/")[0] or "/" for path in (node, *finding.arrays))}
    if finding.kind is Kind.NO_PRINCIPAL:
        return any(where.startswith("/attributes/") for it in around for where in places.at[it])
    return any(_is_named(it, finding.text, places) for it in around)


def _wholes(pointer: str) -> list[str]:
    """Return a pointer, and those to all that it is a part of."""
    ends = (index for index, letter in enumerate(pointer) if letter == "/")
    return [*(pointer[:end] for end in ends), pointer]


def _is_named(node: str, text: str, places: _Places) -> bool:
    """Tell whether a text names a place of a node that is told, or the key of it."""
    is_there = f"{node}#/" in text and any(f"{node}#{it}" in text for it in places.at[node] if it)
    return is_there or any(_names(text, key) for key in places.keys[node])


def _names(text: str, key: str) -> bool:
    """Tell whether a text names an attribute: in quotes, unless its prefix leaves no doubt."""
    if ":" not in key:
        return repr(key) in text
    return any(_LETTER.match(behind) is None for behind in text.split(key)[1:])


def _is_forgotten(finding: Finding, checked: Checked) -> bool:
    """Tell whether a grid without coordinates is in a group of which others declare a convention."""
    node = finding.node
    group = None if node is None else checked.subject(node.group.path)
    if node is None or group is None or not finding.bare:
        return False
    array = checked.subject(node.path)
    is_grid = array is not None and array.is_array and len(array.dims) > 1
    return is_grid and group.has_principal_arrays


def _place(finding: Finding) -> tuple[str, str]:
    """Return the node and the pointer that a finding is about."""
    place = "" if finding.error is None else finding.error.place
    match = _PLACE.match(place or finding.text)
    if match is not None:
        return match["node"], match["pointer"]
    node = str(finding.node) if finding.node is not None else next(iter(finding.arrays), "/")
    return node, finding.pointer


def _mistake(finding: Finding) -> Mistake:
    node, pointer = _place(finding)
    place = Place(node, pointer)
    places = (place,) if pointer or not finding.arrays else tuple(map(Place, finding.arrays))
    text = _without_place(finding.text, node, pointer)
    if finding.lost:
        text = _("{text}; lost: {what}").format(text=text, what=finding.lost)
    if finding.kind is Kind.NO_PRINCIPAL:
        text = _("declares no principal convention, as others of the group do: no coordinates")
    severity: Severity = "error" if finding.kind in (Kind.PROBLEM, Kind.METADATA) else "warning"
    return Mistake(_OF_KIND[finding.kind], place, text, _remedy(finding), severity, places)


def _without_place(text: str, node: str, pointer: str) -> str:
    """Return a text without the place that it begins with: what is wrong in many is told once."""
    # French has a no-break space before a colon.
    return text.removeprefix(presentable(f"{node}#{pointer}")).lstrip(":\u00a0 ")


def _remedy(finding: Finding) -> str:
    if finding.kind is Kind.NO_PRINCIPAL:
        return _('write "zarr_conventions", and what it declares, as the others have it')
    if finding.kind is Kind.DIMENSION:
        return _("give each dimension of a group one name and one size")
    if finding.kind is Kind.NAME:
        return _("give what is referred to a name that nothing else in the group has")
    if finding.kind is Kind.METADATA:
        return _("write the document anew, as zarr writes it")
    if isinstance(finding.error, XGroupStoreError):
        return _("correct the URI, or make the store readable where it is")
    if isinstance(finding.error, XGroupReferenceError):
        return _("refer to an array that is there and has the shape that is needed")
    if finding.kind is Kind.CHOICE:
        return _("complete what is declared, or correct it, so that it has one meaning")
    return _("write it as the convention has it")
