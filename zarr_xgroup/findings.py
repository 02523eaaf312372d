"""Findings: problems and choices recorded while a store is read and interpreted. `report` makes each of them.

A finding has a rule, a place, a text, a remedy, and the parts that its arrays were opened without. Warnings
(`as_warnings`), explanations and verdicts show findings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import accumulate, chain
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
    XGroupReferenceError,
    XGroupResolutionWarning,
    XGroupStoreError,
    XGroupWarning,
    after_place,
)
from zarr_xgroup.i18n import _, listed, ngettext
from zarr_xgroup.metadata.nodes import Fragment, Keys, Node, keys_of
from zarr_xgroup.redaction import presentable

P = TypeVar("P")

#: How many of the things that arrays were opened without are named, and with how many letters.
_NAMED_LOST = 5
_LONGEST_LOST = 80

#: How many findings are told of one topic, or by one rule.
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


#: What tells of each topic, in the order in which it is told.
_WARNINGS: dict[Topic, type[XGroupWarning]] = {
    Topic.DIMENSION: XGroupDimensionWarning,
    Topic.NAME: XGroupNameWarning,
    Topic.METADATA: XGroupMetadataWarning,
    Topic.PROBLEM: XGroupResolutionWarning,
    Topic.CHOICE: XGroupResolutionWarning,
    Topic.NO_PRINCIPAL: XGroupNoPrincipalWarning,
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
        """Return whether a different place is this one, or in it."""
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
        What is wrong, without the place: a sentence for readers, without a full stop. Pointers in it begin
        with ``#``: they are no paths of nodes.
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

    def at(self, node: Node) -> Finding:
        """Return what was found in a value as it is written in a node."""
        return self.moved("", str(node))

    def moved(self, node: str, other: str) -> Finding:
        """Return the same in another node, as far as it is in the first."""
        if node == other:
            return self
        related = tuple(place.moved(node, other) for place in self.related)
        return replace(self, place=self.place.moved(node, other), related=related)

    def as_error(self) -> XGroupError:
        """Return the error behind it, or what is raised where it keeps from going on."""
        if self.error is not None:
            return self.error
        place, keys = str(self.place), keys_of(self.place.pointer)
        return XGroupMetadataError(
            self.text,
            place=place,
            keys=keys,
            rule=self.rule,
            remedy=self.remedy,
            severity=self.severity,
        )


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
    if error is not None:
        where = _place_of_error(error, where)
    return Finding(
        *(rule, where, text, remedy, severity or "error"),
        topic=topic,
        arrays=arrays,
        cost=cost,
        error=error,
    )


def _place_of_error(error: XGroupError, where: Place) -> Place:
    """Return the place of an error: where it is in a node, or in which other node, unless that is known already."""
    if not error.place or where.pointer or where.store:
        return where
    # A node may have "#" in its name.
    pointer = error.place.removeprefix(where.node)
    node = where.node if pointer.startswith("#") else error.place.partition("#")[0]
    return Place(node, pointer.partition("#")[2])


def without_attributes(node: Node, error: XGroupError) -> Finding:
    """Return the finding of a node whose attributes could not be used."""
    place = Fragment(node, ("attributes",), None)
    return report(Topic.METADATA, place, error, cost=_("attributes"))


def left_out(node: Node, error: XGroupError) -> Finding:
    """Return the finding of a node that could not be used."""
    text = _("left out: {reason}").format(reason=error.text)
    return report(Topic.METADATA, node, text, error=error)


def coordinate_named(name: str) -> str:
    """Return what is lost with a coordinate."""
    return _("coordinate {name!r}").format(name=name)


def referred_to_by(attribute: str, name: str = "") -> str:
    """Return what is lost with a reference in an attribute, or with one of the names in it."""
    if name:
        return _("{name!r} of {attribute!r}").format(name=name, attribute=attribute)
    return _("what {attribute!r} refers to").format(attribute=attribute)


def as_warnings(findings: Iterable[Finding]) -> list[XGroupWarning]:
    """Return the warnings that tell findings, one for each cause: arrays, what they lost, where, and why."""
    found = []
    for finding in group_findings(of_opening(findings)):
        topic, arrays, place = finding.topic or Topic.METADATA, finding.arrays, finding.place
        before = place_before(place, arrays)
        where = before and listed([before], count=max(1, len(finding.places)))
        text = finding.text
        if finding.cost:
            text = ngettext(
                "{names} was opened without {lost}: {error}",
                "{names} were opened without {lost}: {error}",
                len(arrays),
            ).format(names=listed(arrays), lost=finding.cost, error=after_place(where, text))
        elif topic is not Topic.NO_PRINCIPAL:  # its text counts the arrays
            is_in_array = arrays == (place.node,) and place.store is None
            text = after_place(where, text)
            text = text if is_in_array and where else after_place(listed(arrays), text)
        warning = _WARNINGS[topic](text, finding.as_error() if finding.cost else finding.error)
        warning.paths = arrays
        found.append(warning)
    return found


def of_opening(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that opening warns of: problems first, undeclared arrays last."""
    topics = list(_WARNINGS)
    return sorted(
        (finding for finding in findings if finding.topic is not None),
        key=lambda finding: topics.index(finding.topic or Topic.METADATA),
    )


def group_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings grouped by rule, pointer and text, at most 200 of a topic or rule, safe to show.

    Paths in texts are compared relative to the group of the array: the same problem at like places of
    several groups is one finding. So are a reference that several nodes write, and all problems with
    one other store. Of more than 200, the last finding counts the others.
    """

    def kind(finding: Finding) -> Hashable:
        return finding.topic or finding.rule.name

    shown = []
    for alike in _grouped(map(_in_one, _grouped(findings, _cause)), kind):
        others = alike[_MOST - 1 :]
        if len(others) > 1:
            last, count = others[0], sum(finding.count for finding in others)
            text = ngettext(
                "{text} (and {count} more of this kind)",
                "{text} (and {count} more of this kind)",
                count - 1,
            ).format(text=last.text, count=count - 1)
            last = replace(
                last,
                text=text,
                places=_united(finding.places for finding in others),
                arrays=_united(finding.arrays for finding in others),
                cost=last.cost and _("what depends on it"),
                count=count,
            )
            others = [last]
        shown += [*alike[: _MOST - 1], *others]
    return shown


def _cause(finding: Finding) -> Hashable:
    """Return a key, which is equal for findings that are shown as one."""
    if (error := _store_error(finding)) is not None:
        return finding.topic, error.store
    text = _relative(finding.text, finding)
    if isinstance(finding.error, XGroupReferenceError) and finding.place.pointer:
        text = finding.error.target or text
    remedy = _relative(finding.remedy, finding)
    return finding.topic, finding.rule, finding.place.pointer, text, remedy


def _store_error(finding: Finding) -> XGroupStoreError | None:
    """Return the error behind a finding if it is about one other store."""
    error, is_of_conventions = finding.error, finding.topic in (Topic.PROBLEM, Topic.CHOICE)
    if is_of_conventions and isinstance(error, XGroupStoreError) and error.store:
        return error
    return None


def _grouped(
    findings: Iterable[Finding], by: Callable[[Finding], Hashable]
) -> Iterable[list[Finding]]:
    """Return findings that have the same key in one list."""
    groups: defaultdict[Hashable, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[by(finding)].append(finding)
    return groups.values()


def _in_one(same: Sequence[Finding]) -> Finding:
    """Return findings that have something in common as one: about all of their arrays, the first place."""
    first, error = same[0], same[0].error
    text = _in_one_text(same, [finding.text for finding in same])
    if (of_store := _store_error(first)) is not None:
        # All problems with the store, in the order of the nodes that refer to it.
        text = "; ".join(dict.fromkeys(other.error.reason for other in same if other.error))
        error = XGroupStoreError(text, store=of_store.store, place=of_store.place)
        error.__cause__ = of_store.__cause__
    is_lost = first.topic is Topic.PROBLEM or first.cost
    return replace(
        first,
        text=presentable(text),
        remedy=presentable(_in_one_text(same, [finding.remedy for finding in same])),
        cost=presentable(_lost_by(same)) if is_lost else "",
        arrays=_united(finding.arrays for finding in same),
        places=_united(finding.places or (finding.place,) for finding in same),
        error=error,
    )


def _lost_by(same: Sequence[Finding]) -> str:
    """Return what arrays were opened without, each with its array if not all arrays have lost the same."""
    arrays_by_loss: defaultdict[str, set[str]] = defaultdict(set)
    for finding in same:
        attribute = finding.place.pointer.removeprefix("/attributes/")
        lost = finding.cost or _("what depends on it")
        if not finding.cost and attribute != finding.place.pointer:
            lost = _("what {attribute!r} declares").format(attribute=attribute)
        arrays_by_loss[shortened(presentable(lost), _LONGEST_LOST)].update(finding.arrays)
    all_arrays = set().union(*arrays_by_loss.values())
    if any(paths != all_arrays for paths in arrays_by_loss.values()):
        pairs = ((lost, path) for lost, paths in arrays_by_loss.items() for path in sorted(paths))
        return listed([f"{lost} ({path})" for lost, path in pairs], _NAMED_LOST)
    return listed(arrays_by_loss, _NAMED_LOST)


def _united(parts: Iterable[tuple[P, ...]]) -> tuple[P, ...]:
    """Return what is in any of several tuples, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def _in_one_text(findings: Iterable[Finding], texts: Sequence[str]) -> str:
    """Return one text for several, with relative paths if they differ by these alone, else the first."""
    if len(set(texts)) == 1:
        return texts[0]
    pairs = zip(texts, findings, strict=True)
    one, *others = {_relative(text, finding) for text, finding in pairs}
    return texts[0] if others else one


def _relative(text: str, finding: Finding) -> str:
    """Return a text with the paths in it as they lead from the group of a finding's array.

    What is in the root or in no group that the array is in keeps its path.
    """
    array = next(iter(finding.arrays), finding.place.node)
    groups = [group for group in accumulate(array.split("/")[:-1], "{}/{}".format) if group][::-1]

    def path_from_group(found: re.Match[str]) -> str:
        for levels, group in enumerate(groups):
            if found[0].startswith(f"{group}/"):
                return "../" * levels + found[0].removeprefix(f"{group}/")
        return found[0]

    return _PATH.sub(path_from_group, text) if groups else text


def place_before(place: Place | None, arrays: Collection[str]) -> str:
    """Return a place as text; "" without one, or if it is one of the arrays, which are named anyhow, or the store."""
    if place is None or (not place.pointer and (not arrays or place.node in arrays)):
        return ""
    return str(place)


def shortened(text: str, longest: int) -> str:
    """Return a text with letters in its middle left out if it is longer than it may be."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[: longest - 3 - half]}...{text[len(text) - half :]}"
