"""What is found while a store is read and interpreted: one record, one list, one way to tell it.

A finding says what was found, where, by which rule, what to write instead, and what the arrays that
it concerns lost by it. Warnings (`as_warnings`), an explanation and a verdict show findings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from zarr_xgroup.errors import (
    Rule,
    Severity,
    XGroupDimensionWarning,
    XGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupNameWarning,
    XGroupNoPrincipalWarning,
    XGroupResolutionWarning,
    XGroupStoreError,
    XGroupWarning,
)
from zarr_xgroup.i18n import _, ngettext
from zarr_xgroup.metadata.nodes import Fragment, Keys, Node, keys_of, pointer_to
from zarr_xgroup.redaction import presentable, printable

T = TypeVar("T")

_NAMED_PATHS = 30

#: How many of the things that arrays were opened without are named, and with how many letters.
_NAMED_LOST = 5
_LONGEST_LOST = 80

#: How many findings or warnings of one kind are told.
_MOST = 200

#: How many arrays without a principal convention are named, and how long the warning may be.
_NAMED_EXAMPLES = 3
_LONGEST = 400


class Kind(Enum):
    """What a finding is about; each kind is told by one class of warnings."""

    #: What kept an array from being complete: a failed reference, malformed metadata.
    PROBLEM = "problem"
    #: A choice that was made where metadata allowed several, or contradicted itself.
    CHOICE = "choice"
    #: Dimension names made up or changed.
    DIMENSION = "dimension"
    #: A variable that could not keep its name.
    NAME = "name"
    #: Metadata that was understood otherwise than written, or an array left out.
    METADATA = "metadata"
    #: An array that declares no principal convention.
    NO_PRINCIPAL = "no principal convention"


_DOCUMENT = "xarray-zarr-xgroup specification"

#: What is broken where no better rule says it, by what a finding is about.
OPEN_RULES = {
    Kind.PROBLEM: Rule("open/nothing-lost", _DOCUMENT, "8 Conventions"),
    Kind.CHOICE: Rule("open/one-meaning", _DOCUMENT, "8 Conventions"),
    Kind.DIMENSION: Rule("open/dimensions", _DOCUMENT, "6 Dimensions"),
    Kind.NAME: Rule("open/names", _DOCUMENT, "9 Coordinates and their names"),
    Kind.METADATA: Rule("open/metadata", _DOCUMENT, "5 Variables"),
    Kind.NO_PRINCIPAL: Rule("open/principal-convention", _DOCUMENT, "8.1 Declaration"),
}


@dataclass(frozen=True)
class Place:
    """A place in a store.

    Attributes
    ----------
    node : str
        The absolute path of the group or array.
    pointer : str
        The JSON pointer into its document, "" for the whole.
    store : str or None
        The URI of the store, without credentials, if it is not the one that is opened.
    """

    node: str
    pointer: str = ""
    store: str | None = None

    def __str__(self) -> str:
        """Return it in one word, as messages have it: ``store|node#pointer``."""
        store = "" if self.store is None else f"{self.store}|"
        return f"{store}{self.node}{f'#{self.pointer}' if self.pointer else ''}"

    @classmethod
    def of(cls, written: Fragment, *keys: str) -> Place:
        """Return the place of a value in the store that is opened, or of a member that it may have."""
        return cls(str(written.node), pointer_to((*written.keys, *keys)))

    @property
    def keys(self) -> Keys:
        """The way to it through its document."""
        return keys_of(self.pointer)

    def holds(self, other: Place) -> bool:
        """Tell whether another place is this one, or in it."""
        is_same_node = (self.node, self.store) == (other.node, other.store)
        return is_same_node and f"{other.pointer}/".startswith(f"{self.pointer}/")


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    rule : Rule
        The rule that is broken.
    place : Place
        Where: the value in question, or where it should be. In what is read without its node, the
        node is "".
    text : str
        What is wrong, without the place: a sentence for readers, without a full stop.
    remedy : str
        What to write instead, "" if that is not known.
    severity : {"error", "warning"}
        Whether an open loses something by it, or can live with it.
    places : tuple of Place
        All places with the same, if they are several.
    kind : Kind or None
        What an open warns of; None if it costs the reader nothing, and only a check tells it.
    arrays : tuple of str
        The absolute paths of the arrays that it concerns.
    lost : str
        What the arrays were opened without, if it was told: else what the place declares.
    error : XGroupError or None
        The error behind it.
    sentence : str
        The text with the place, as warnings have it; "" if that is the text.
    related : tuple of Place
        Other places that it follows from: what is wrong there explains it.
    bare : tuple of str
        Of an array without a principal convention: its dimensions without a coordinate.
    assumable : tuple of str
        Of such an array: the conventions that its attributes look like.
    """

    rule: Rule
    place: Place
    text: str
    remedy: str = ""
    severity: Severity = "error"
    places: tuple[Place, ...] = ()
    kind: Kind | None = None
    arrays: tuple[str, ...] = ()
    lost: str = ""
    error: XGroupError | None = None
    sentence: str = ""
    related: tuple[Place, ...] = ()
    bare: tuple[str, ...] = ()
    assumable: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Make what is told show no credentials of URLs, and nothing that is not to be seen."""
        for name in ("text", "remedy", "lost", "sentence"):
            if text := getattr(self, name):
                object.__setattr__(self, name, presentable(text))

    @property
    def in_full(self) -> str:
        """The text, with the place where that is not shown beside it."""
        return self.sentence or self.text

    def at(self, node: Node) -> Finding:
        """Return what was found in a value as it is written in a node."""
        return self.moved("", str(node))

    def moved(self, node: str, other: str) -> Finding:
        """Return the same in another node, as far as it is in the first."""
        if node == other:
            return self
        place, *related = (
            replace(it, node=other) if it.node == node else it for it in (self.place, *self.related)
        )
        return replace(self, place=place, related=tuple(related))

    def error_in(self, node: Node) -> XGroupMetadataError:
        """Return it as the error of a value that is written in a node."""
        place = Fragment(node, self.place.keys, None)
        return place.error(self.text, self.rule, self.remedy, self.severity)


def mistake(
    rule: Rule,
    place: Fragment,
    text: str,
    remedy: str,
    severity: Severity = "error",
    *,
    key: str | None = None,
) -> Finding:
    """Return a finding at the place of a value, or of a member that it has or should have.

    Parameters
    ----------
    rule : Rule
        The rule that is broken.
    place : Fragment
        The value.
    text : str
        What is wrong. That of the same in other nodes should be the same.
    remedy : str
        What to write instead.
    severity : {"error", "warning"}
        Whether an open loses something by it, or can live with it.
    key : str, optional
        The member.
    """
    found = Place.of(place) if key is None else Place.of(place, key)
    return Finding(rule, found, text, remedy, severity)


def noted(
    kind: Kind,
    text: str,
    node: Node | str,
    pointer: str = "",
    *,
    place: Place | None = None,
    error: XGroupError | None = None,
) -> Finding:
    """Return the finding of what an open warns of.

    Parameters
    ----------
    kind : Kind
        What it is about.
    text : str
        What was found, and what was done where that is not said by the kind.
    node : Node or str
        The node that it concerns.
    pointer : str, optional
        The value in question in its document.
    place : Place, optional
        Where it was found. By default where the error says, else in the node.
    error : XGroupError, optional
        The error behind it.
    """
    if place is None:
        place = Place(str(node), pointer)
        if error is not None and error.place:
            place = _place_of(error, place.node)
    severity: Severity = "error" if kind in (Kind.PROBLEM, Kind.METADATA) else "warning"
    return Finding(
        OPEN_RULES[kind],
        place,
        _without(place, text),
        severity=severity,
        kind=kind,
        arrays=(str(node),),
        error=error,
        sentence=text,
    )


def of_store(message: str, at: Node, store: str, error: XGroupError) -> Finding:
    """Return the finding of what is wrong with the nodes of a store, which is called so, at a node."""
    place = Place(str(at), "", store if at.store else None)
    return Finding(OPEN_RULES[Kind.METADATA], place, message, kind=Kind.METADATA, error=error)


def problem_of(array: Node, error: XGroupError, lost: str = "") -> Finding:
    """Return the finding of what kept an array from being complete, and what it lacks now."""
    found = replace(noted(Kind.PROBLEM, str(error), array, error=error), lost=lost)
    if not (isinstance(error, XGroupMetadataError) and error.rule):
        return found
    return replace(found, rule=error.rule, remedy=error.remedy, severity=error.severity)


def _place_of(error: XGroupError, node: str) -> Place:
    """Return the place that an error names; the node is the one that it is probably in."""
    pointer = error.place.removeprefix(node)
    if pointer.startswith("#"):
        return Place(node, pointer[1:])
    other, _hash, pointer = error.place.partition("#")
    return Place(other, pointer)


def _without(place: Place, text: str) -> str:
    """Return a text without the place that it begins with."""
    if not place.pointer:
        return text
    # French has a no-break space before a colon.
    return presentable(text).removeprefix(presentable(str(place))).lstrip(":\u00a0 ")


def coordinate_named(name: str) -> str:
    """Return what is lost with a coordinate."""
    return _("coordinate {name!r}").format(name=name)


def referred_to_by(attribute: str) -> str:
    """Return what is lost with a reference in an attribute."""
    return _("what {attribute!r} refers to").format(attribute=attribute)


def left_out(node: Node, error: XGroupError) -> Finding:
    """Return the finding of a node that could not be used."""
    message = _("Node {path} was left out: {reason}").format(path=node, reason=error)
    return noted(Kind.METADATA, message, node, error=error)


def group_without(what: str, group: Node, error: XGroupError) -> Finding:
    """Return the finding of a group whose attributes or members could not be used."""
    message = _("Group {path} was opened without {what}: {reason}").format(
        path=group, what=what, reason=error
    )
    return noted(Kind.METADATA, message, group, "/attributes", error=error)


def as_warnings(findings: Iterable[Finding]) -> list[XGroupWarning]:
    """Return the warnings that tell findings: what was wrong first, what was not declared last.

    What is wrong in the same words with several arrays is one warning, and so is all that is
    wrong with one other store. Of each class of warnings there are at most 200, of which the
    last counts what the others leave out.
    """
    return list(at_most(map(_warning, summed_up(findings)), type, _in_one_warning))


def summed_up(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, those that say the same as one: about all of their arrays, the first place.

    What was wrong comes first, what was not declared last. Each says what was `lost`.
    """
    kinds: defaultdict[Kind | None, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.kind is not None:
            kinds[None if finding.kind in _PLAIN else finding.kind].append(finding)
    found = [*_in_one(kinds[None])]
    found += _of_problems(kinds[Kind.PROBLEM])
    found += _in_one(kinds[Kind.CHOICE])
    if kinds[Kind.NO_PRINCIPAL]:
        found.append(_without_principal(kinds[Kind.NO_PRINCIPAL]))
    return found


def _warning(finding: Finding) -> XGroupWarning:
    """Return the warning that tells of a finding."""
    if finding.kind is Kind.NO_PRINCIPAL:
        return _about(XGroupNoPrincipalWarning(finding.text), finding.arrays)
    if finding.kind in _PLAIN:
        return _about(_PLAIN[finding.kind](finding.in_full, finding.error), finding.arrays)
    names, number = listed(finding.arrays), len(finding.arrays)
    if finding.kind is Kind.PROBLEM:
        message = ngettext(
            "{error}. Array {names} was opened without {lost}",
            "{error}. Arrays {names} were opened without {lost}",
            number,
        ).format(error=finding.in_full, names=names, lost=finding.lost)
    else:
        message = ngettext("Array {names}: {text}", "Arrays {names}: {text}", number).format(
            names=names, text=finding.in_full
        )
    return _about(XGroupResolutionWarning(message, finding.error), finding.arrays)


def at_most(
    told: Iterable[T], kind: Callable[[T], Hashable], summary: Callable[[Sequence[T]], T]
) -> Iterator[T]:
    """Yield what is told kind by kind, at most 200 of each, the last of which stands for all others.

    Parameters
    ----------
    told : iterable
        Findings, or warnings.
    kind : callable
        Returns the kind of one.
    summary : callable
        Makes one of those that are too many. It says so with `and_others`.
    """
    kinds: defaultdict[Hashable, list[T]] = defaultdict(list)
    for one in told:
        kinds[kind(one)].append(one)
    for same in kinds.values():
        if len(same) <= _MOST:
            yield from same
        else:
            yield from same[: _MOST - 1]
            yield summary(same[_MOST - 1 :])


def and_others(number: int, first: object) -> str:
    """Return the text of one that stands for several of its kind."""
    return ngettext(
        "{count} more of this kind. The first: {text}",
        "{count} more of this kind. The first: {text}",
        number,
    ).format(count=number, text=first)


def _in_one_warning(rest: Sequence[XGroupWarning]) -> XGroupWarning:
    paths = dict.fromkeys(path for warning in rest for path in warning.paths)
    warning = type(rest[0])(and_others(len(rest), rest[0]), rest[0].error)
    return _about(warning, tuple(paths))


#: Findings whose text is the whole warning.
_PLAIN: dict[Kind, type[XGroupWarning]] = {
    Kind.DIMENSION: XGroupDimensionWarning,
    Kind.NAME: XGroupNameWarning,
    Kind.METADATA: XGroupMetadataWarning,
}


def _of_problems(findings: Iterable[Finding]) -> Iterator[Finding]:
    met: defaultdict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        store = finding.error.store if isinstance(finding.error, XGroupStoreError) else ""
        met[store, "" if store else finding.in_full].append(finding)
    for (store, text), same in met.items():
        error = _summary(store, [item.error for item in same]) if store else same[0].error
        paths = tuple(dict.fromkeys(path for item in same for path in item.arrays))
        summary = str(error) if store else text
        yield replace(same[0], sentence=summary, arrays=paths, error=error, lost=_lost(same))


def _lost(findings: Iterable[Finding]) -> str:
    """Return what arrays were opened without, and each time which if not all lack the same."""
    lacking: defaultdict[str, set[str]] = defaultdict(set)
    for finding in findings:
        lost = shortened(finding.lost or _declared_by(finding.error), _LONGEST_LOST)
        lacking[lost].update(finding.arrays)
    arrays = set().union(*lacking.values())
    named = list(lacking)
    if any(of != arrays for of in lacking.values()):
        named = [f"{lost} ({path})" for lost, of in lacking.items() for path in sorted(of)]
    return listed(named, _NAMED_LOST)


def _declared_by(error: XGroupError | None) -> str:
    """Return what is lost with an attribute that an error is about."""
    attribute = "" if error is None else error.place.partition("#/attributes/")[2]
    if not attribute:
        return _("what depends on it")
    return _("what {attribute!r} declares").format(attribute=attribute)


def _in_one(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings, those of one kind in the same words as one about all of their arrays."""
    met: defaultdict[tuple[Kind | None, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        met[finding.kind, finding.in_full].append(finding)
    for same in met.values():
        yield replace(same[0], arrays=tuple(dict.fromkeys(p for it in same for p in it.arrays)))


def _without_principal(findings: Sequence[Finding]) -> Finding:
    """Return the one finding about all arrays without a principal convention, never long."""
    paths = tuple(path for finding in findings for path in finding.arrays)
    bare = sum(bool(finding.bare) for finding in findings)
    reason = next((it.in_full for it in findings if it.in_full), "")
    assumable = dict.fromkeys(name for finding in findings for name in finding.assumable)
    help_ = _help(reason, tuple(assumable))
    message = ""
    for longest in (_LONGEST, 60, 45, 30, 20):
        message = _told_without_principal(paths, bare, help_, longest)
        if len(message) <= _LONGEST:
            break
    return replace(findings[0], text=shortened(message, _LONGEST), sentence="", arrays=paths)


def _help(reason: str, assumable: tuple[str, ...]) -> str:
    """Return why a declaration does not count, or what would help; the option to write comes last."""
    if not assumable:
        return reason or _(
            "'zarr_conventions' of an array or of its group can declare one, which says where "
            "coordinates are"
        )
    names = repr(assumable[0] if len(assumable) == 1 else list(assumable))
    option = _("To read what their attributes say, open with {option}").format(
        option=f"assume_conventions={names}"
    )
    return f"{reason}. {option}" if reason else option


def _told_without_principal(paths: tuple[str, ...], bare: int, help_: str, longest: int) -> str:
    """Return the text of the warning, with paths of at most so many letters."""
    examples = [shortened(printable(path), longest) for path in paths[:_NAMED_EXAMPLES]]
    arrays = ngettext(
        "{count} array declares no principal convention (such as cs or spatial): {names}",
        "{count} arrays declare no principal convention (such as cs or spatial): {names}",
        len(paths),
    ).format(count=len(paths), names=listed(examples, count=len(paths)))
    if bare:
        dimensions = ngettext(
            "{count} of them has a dimension without a coordinate",
            "{count} of them have a dimension without a coordinate",
            bare,
        ).format(count=bare)
        arrays = f"{arrays}; {dimensions}"
    return f"{arrays}. {help_}"


def shortened(text: str, longest: int) -> str:
    """Return a text with letters in its middle left out if it is longer than it may be."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[: longest - 3 - half]}...{text[len(text) - half :]}"


def _about(warning: XGroupWarning, paths: tuple[str, ...]) -> XGroupWarning:
    warning.paths = paths
    return warning


def listed(names: Collection[str], most: int = _NAMED_PATHS, count: int | None = None) -> str:
    """Return the first names, and how many more there are, of `count` if that is given."""
    shown = ", ".join(list(names)[:most])
    more = (len(names) if count is None else count) - min(most, len(names))
    if more <= 0:
        return shown
    return ngettext("{names} and {count} more", "{names} and {count} more", more).format(
        names=shown, count=more
    )


def and_more(count: int) -> str:
    """Return in words how many more there are than were shown, each in a line of its own."""
    return ngettext("and {count} more", "and {count} more", count).format(count=count)


def _summary(store: str, errors: Iterable[XGroupError | None]) -> XGroupStoreError:
    """Return all that is wrong with a store, and the first place that refers to it, as one error."""
    failures = [error for error in errors if isinstance(error, XGroupStoreError)]
    reasons = dict.fromkeys(error.reason for error in failures)
    summary = XGroupStoreError.of(store, "; ".join(reasons), failures[0].place)
    summary.__cause__ = failures[0].__cause__
    return summary
