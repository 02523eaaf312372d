"""What is found while a store is read and interpreted: one record, one list, one way to tell it.

A finding says what was found, where, by which rule, what to write instead, and what the arrays that
it concerns lost by it. Warnings (`as_warnings`), an explanation and a verdict show findings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import accumulate, chain

from zarr_xgroup.errors import (
    Rule,
    Severity,
    XGroupDimensionWarning,
    XGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupNameWarning,
    XGroupNoPrincipalWarning,
    XGroupReferenceError,
    XGroupResolutionWarning,
    XGroupStoreError,
    XGroupWarning,
    after_place,
)
from zarr_xgroup.i18n import _, listed, ngettext
from zarr_xgroup.metadata.nodes import Fragment, Keys, Node, keys_of
from zarr_xgroup.redaction import presentable

#: How many of the things that arrays were opened without are named, and with how many letters.
_NAMED_LOST = 5
_LONGEST_LOST = 80

#: How many findings of one kind are told.
_MOST = 200

#: A path from the root, as texts have it.
_PATH = re.compile(r"(?<![^\s'\"(\[])/[^\s'\"()\[\],;]+")


class Topic(Enum):
    """What an open warns of; each topic is told by one class of warnings."""

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
    Topic.PROBLEM: Rule("open/nothing-lost", _DOCUMENT, "8 Conventions"),
    Topic.CHOICE: Rule("open/one-meaning", _DOCUMENT, "8 Conventions"),
    Topic.DIMENSION: Rule("open/dimensions", _DOCUMENT, "6 Dimensions"),
    Topic.NAME: Rule("open/names", _DOCUMENT, "9 Coordinates and their names"),
    Topic.METADATA: Rule("open/metadata", _DOCUMENT, "5 Variables"),
    Topic.NO_PRINCIPAL: Rule("open/principal-convention", _DOCUMENT, "8.1 Declaration"),
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
    def of(cls, written: Fragment | Node) -> Place:
        """Return the place of a node, or of a value, in the store that is opened."""
        if isinstance(written, Node):
            return cls(str(written))
        return cls(str(written.node), written.pointer)

    @property
    def keys(self) -> Keys:
        """The way to it through its document."""
        return keys_of(self.pointer)

    def moved(self, node: str, other: str) -> Place:
        """Return the same place in another node, if it is in the first."""
        return replace(self, node=other) if self.node == node else self

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
    count : int
        How many findings it stands for: several where it is the last of many of its kind.
    topic : Topic or None
        What an open warns of; None if it costs the reader nothing, and only a check tells it.
    arrays : tuple of str
        The absolute paths of the arrays that it concerns.
    cost : str
        What the arrays were opened without, if it was told: else what the place declares.
    error : XGroupError or None
        The error behind it.
    related : tuple of Place
        Other places that it follows from: what is wrong there explains it.
    """

    rule: Rule
    place: Place
    text: str
    remedy: str = ""
    severity: Severity = "error"
    places: tuple[Place, ...] = ()
    count: int = 1
    topic: Topic | None = None
    arrays: tuple[str, ...] = ()
    cost: str = ""
    error: XGroupError | None = None
    related: tuple[Place, ...] = ()

    def __post_init__(self) -> None:
        """Make what is told show no credentials of URLs, and nothing that is not to be seen."""
        for name in ("text", "remedy", "cost"):
            if text := getattr(self, name):
                object.__setattr__(self, name, presentable(text))

    def at(self, node: Node) -> Finding:
        """Return what was found in a value as it is written in a node."""
        return self.moved("", str(node))

    def moved(self, node: str, other: str) -> Finding:
        """Return the same in another node, as far as it is in the first."""
        if node == other:
            return self
        place, *related = (it.moved(node, other) for it in (self.place, *self.related))
        return replace(self, place=place, related=tuple(related))

    def as_error(self) -> XGroupError:
        """Return the error behind it, or what is raised where it keeps from going on."""
        if self.error is not None:
            return self.error
        error = XGroupMetadataError(self.text, place=str(self.place), reason=self.text)
        error.keys, error.rule = self.place.keys, self.rule
        error.remedy, error.severity = self.remedy, self.severity
        return error


def report(
    rule: Rule | Topic,
    place: Fragment | Node | Place,
    text: str | XGroupError,
    remedy: str = "",
    cost: str = "",
    *,
    topic: Topic | None = None,
    severity: Severity | None = None,
    arrays: tuple[str, ...] | None = None,
    error: XGroupError | None = None,
) -> Finding:
    """Return a finding: the one way to make one.

    Parameters
    ----------
    rule : Rule or Topic
        The rule that is broken. What an open warns of without a better rule breaks that of the topic.
    place : Fragment, Node or Place
        Where: the value in question, or where it should be.
    text : str or XGroupError
        What is wrong, without the place. The text of the same in other nodes should be the same:
        then it is told once. An error says place, rule and remedy itself, as far as it knows them.
    remedy : str, optional
        What to write instead.
    cost : str, optional
        What the arrays are opened without. By default what is declared at the place.
    topic : Topic, optional
        What an open warns of. By default what `rule` says; a problem if there is a cost; else only a
        check tells the finding.
    severity : {"error", "warning"}, optional
        Whether an open loses something by it, or can live with it.
    arrays : tuple of str, optional
        The absolute paths of the arrays that it concerns. By default the node of the place.
    error : XGroupError, optional
        The error behind it, where the text is another one.
    """
    where = place if isinstance(place, Place) else Place.of(place)
    if isinstance(rule, Topic):
        topic, rule = rule, OPEN_RULES[rule]
        severity = severity or ("error" if topic in (Topic.PROBLEM, Topic.METADATA) else "warning")
    elif cost and topic is None:
        topic = Topic.PROBLEM
    if arrays is None:
        arrays = () if topic is None else (where.node,)
    if isinstance(text, XGroupError):
        error, text = text, text.text
        if isinstance(error, XGroupMetadataError) and error.rule:
            rule, remedy, severity = error.rule, error.remedy, error.severity
    if error is not None and error.place and not (where.pointer or where.store):
        where = _place_of(error, where.node)
    return Finding(
        rule,
        where,
        text,
        remedy,
        severity or "error",
        topic=topic,
        arrays=arrays,
        cost=cost,
        error=error,
    )


def _place_of(error: XGroupError, node: str) -> Place:
    """Return the place that an error names; the node is the one that it is probably in."""
    pointer = error.place.removeprefix(node)
    if pointer.startswith("#"):
        return Place(node, pointer[1:])
    other, _hash, pointer = error.place.partition("#")
    return Place(other, pointer)


def left_out(node: Node, error: XGroupError) -> Finding:
    """Return the finding of a node that could not be used."""
    text = _("left out: {reason}").format(reason=_reason_at(node, error))
    return report(Topic.METADATA, node, text, error=error)


def opened_without(what: str, node: Node, error: XGroupError) -> Finding:
    """Return the finding of a group or array whose attributes or members could not be used."""
    text = _("opened without {what}: {reason}").format(what=what, reason=_reason_at(node, error))
    place = Fragment(node, ("attributes",), None)
    return report(Topic.METADATA, place, text, error=error)


def _reason_at(node: Node, error: XGroupError) -> str:
    """Return what is wrong with a node that is named already."""
    return error.text if error.place == str(node) else str(error)


def coordinate_named(name: str) -> str:
    """Return what is lost with a coordinate."""
    return _("coordinate {name!r}").format(name=name)


def referred_to_by(attribute: str, name: str = "") -> str:
    """Return what is lost with a reference in an attribute, or with one of the names in it."""
    if name:
        return _("{name!r} of {attribute!r}").format(name=name, attribute=attribute)
    return _("what {attribute!r} refers to").format(attribute=attribute)


def as_warnings(findings: Iterable[Finding]) -> list[XGroupWarning]:
    """Return the warnings that tell findings, summed up, each in a text that says its place."""
    return [_warning(it) for it in summed_up(findings)]


def summed_up(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, those of one cause as one: about all of their arrays, the first place.

    That is what is found in the same words at like places of nodes, a reference that several write,
    and all that is wrong with one other store. What was wrong comes first, what was not declared
    last. Each says what was `lost`. There are at most 200 of each kind.
    """
    met: dict[Topic, defaultdict[Hashable, list[Finding]]] = {
        kind: defaultdict(list) for kind in _WARNINGS
    }
    for it in findings:
        if it.topic is not None:
            met[it.topic][_cause_of(it)].append(it)
    found = chain.from_iterable(map(_in_one, causes.values()) for causes in met.values())
    return list(at_most(found, lambda it: it.topic))


def alike(findings: Iterable[Finding]) -> dict[Hashable, list[Finding]]:
    """Return findings, those by one rule together whose texts differ only by paths in like groups."""
    found: defaultdict[Hashable, list[Finding]] = defaultdict(list)
    for it in findings:
        found[but_for_paths(it)].append(it)
    return found


def but_for_paths(finding: Finding) -> Hashable:
    """Return what findings have in common that are the same in like places of several groups."""
    texts = (relative(text, finding) for text in (finding.text, finding.remedy))
    return finding.rule, finding.severity, *texts


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, those that are alike as one: in one text, with the places of all."""
    return [
        replace(
            same[0],
            text=in_one_text(same, [it.text for it in same]),
            remedy=in_one_text(same, [it.remedy for it in same]),
            places=_places_of(same),
        )
        for same in alike(findings).values()
    ]


def at_most(findings: Iterable[Finding], kind: Callable[[Finding], Hashable]) -> Iterator[Finding]:
    """Yield findings kind by kind, at most 200 of each, the last of which stands for all others."""
    kinds: defaultdict[Hashable, list[Finding]] = defaultdict(list)
    for it in findings:
        kinds[kind(it)].append(it)
    for same in kinds.values():
        yield from same[: _MOST - 1]
        if rest := same[_MOST - 1 :]:
            yield _with_others(rest)


def _with_others(findings: Sequence[Finding]) -> Finding:
    first, count = findings[0], sum(it.count for it in findings)
    if not (more := count - 1):
        return first
    text = ngettext(
        "{text} (and {count} more of this kind)", "{text} (and {count} more of this kind)", more
    ).format(text=first.text, count=more)
    cost = first.cost and _("what depends on it")
    places, arrays = _places_of(findings), _arrays_of(findings)
    return replace(first, text=text, places=places, arrays=arrays, cost=cost, count=count)


def _places_of(findings: Iterable[Finding]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(place for it in findings for place in (it.places or (it.place,))))


def _arrays_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for it in findings for path in it.arrays))


#: What tells of each kind, in the order in which it is told.
_WARNINGS: dict[Topic, type[XGroupWarning]] = {
    Topic.DIMENSION: XGroupDimensionWarning,
    Topic.NAME: XGroupNameWarning,
    Topic.METADATA: XGroupMetadataWarning,
    Topic.PROBLEM: XGroupResolutionWarning,
    Topic.CHOICE: XGroupResolutionWarning,
    Topic.NO_PRINCIPAL: XGroupNoPrincipalWarning,
}


def _warning(finding: Finding) -> XGroupWarning:
    """Return the warning that tells of a finding: its arrays, what they lost, where, and why."""
    names, number = listed(finding.arrays), len(finding.arrays)
    text = after_place(_place_before(finding), finding.text)
    if finding.topic is Topic.PROBLEM:
        text = ngettext(
            "{names} was opened without {lost}: {error}",
            "{names} were opened without {lost}: {error}",
            number,
        ).format(names=names, lost=finding.cost, error=text)
    elif finding.topic is not Topic.NO_PRINCIPAL and not text.startswith(f"{names}#"):
        text = after_place(names, text)
    is_problem = finding.topic is Topic.PROBLEM
    error = finding.as_error() if is_problem else finding.error
    warning = _WARNINGS[finding.topic or Topic.METADATA](text, error)
    warning.paths = finding.arrays
    return warning


def _place_before(finding: Finding) -> str:
    """Return the place of a finding where neither its text nor its arrays say it, else ""."""
    place = finding.place
    is_said = not place.pointer and place.node in finding.arrays
    if finding.topic not in (Topic.PROBLEM, Topic.CHOICE) or is_said:
        return ""
    return listed([str(place)], count=max(1, len(finding.places)))


def _cause_of(finding: Finding) -> Hashable:
    """Return what findings of one kind have in common if they have the same cause."""
    error, place = finding.error, finding.place
    if finding.topic not in (Topic.PROBLEM, Topic.CHOICE):
        return relative(finding.text, finding)
    if isinstance(error, XGroupStoreError) and error.store:
        return error.store
    is_reference = isinstance(error, XGroupReferenceError) and error.target and place.pointer
    text = error.target if error and is_reference else relative(finding.text, finding)
    return (finding.rule, place.pointer or _place_before(finding), text)


def relative(text: str, finding: Finding) -> str:
    """Return a text with the paths in it as they lead from the group of a finding's array.

    What is in the root or in no group that the array is in keeps its path.
    """
    array = next(iter(finding.arrays), finding.place.node)
    groups = [it for it in accumulate(array.split("/")[:-1], "{}/{}".format) if it][::-1]
    return _PATH.sub(lambda found: _path_from(groups, found[0]), text) if groups else text


def _path_from(groups: Iterable[str], path: str) -> str:
    for levels, group in enumerate(groups):
        if path.startswith(f"{group}/"):
            return "../" * levels + path.removeprefix(f"{group}/")
    return path


def in_one_text(findings: Iterable[Finding], texts: Sequence[str]) -> str:
    """Return the text of findings of one cause, with relative paths if they differ by these alone."""
    if len(set(texts)) == 1:
        return texts[0]
    one, *others = {relative(text, it) for text, it in zip(texts, findings, strict=True)}
    return texts[0] if others else one


def _in_one(same: Sequence[Finding]) -> Finding:
    """Return the findings of one cause as one."""
    places = tuple(dict.fromkeys(it.place for it in same))
    text = in_one_text(same, [it.text for it in same])
    found = replace(same[0], text=text, arrays=_arrays_of(same), places=places)
    if found.topic is not Topic.PROBLEM:
        return found
    if isinstance(found.error, XGroupStoreError) and (store := found.error.store):
        reasons = "; ".join(dict.fromkeys(it.error.reason for it in same if it.error))
        error = XGroupStoreError.of(store, reasons, found.error.place)
        error.__cause__ = found.error.__cause__
        found = replace(found, error=error, text=reasons, places=())
    return replace(found, cost=_lost(same))


def _lost(findings: Iterable[Finding]) -> str:
    """Return what arrays were opened without, and each time which if not all lack the same."""
    lacking: defaultdict[str, set[str]] = defaultdict(set)
    for finding in findings:
        lost = shortened(finding.cost or _declared_at(finding.place), _LONGEST_LOST)
        lacking[lost].update(finding.arrays)
    arrays = set().union(*lacking.values())
    named = list(lacking)
    if any(of != arrays for of in lacking.values()):
        named = [f"{lost} ({path})" for lost, of in lacking.items() for path in sorted(of)]
    return listed(named, _NAMED_LOST)


def _declared_at(place: Place) -> str:
    """Return what is lost with an attribute."""
    attribute = place.pointer.removeprefix("/attributes/")
    if attribute == place.pointer:
        return _("what depends on it")
    return _("what {attribute!r} declares").format(attribute=attribute)


def shortened(text: str, longest: int) -> str:
    """Return a text with letters in its middle left out if it is longer than it may be."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[: longest - 3 - half]}...{text[len(text) - half :]}"
