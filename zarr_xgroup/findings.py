"""Findings: problems and choices recorded while a store is read and interpreted. `new_finding` makes each of them.

A finding has a rule, a place, a text, a remedy, and a cost: the parts that are missing from the opened arrays.
Warnings (`as_warnings`), explanations and verdicts show findings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from enum import Enum
from itertools import accumulate, chain
from typing import TypeVar

import msgspec
from msgspec.structs import replace

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

#: How many missing parts a text names, and the maximum number of characters of each.
_NAMED_LOST = 5
_LONGEST_LOST = 80

#: How many findings of one topic or rule are reported.
_MOST = 200

#: A pointer behind a node, which may have "#" in its name.
_POINTER = re.compile(r"#((?:/[^/#]+(?:/.*)?)?)$")

#: An absolute path in a text.
_PATH = re.compile(r"(?<![^\s'\"(\[])/[^\s'\"()\[\],;]+")


class Topic(Enum):
    """The subject of a warning of opening. Each topic has a class of warnings."""

    #: Something is missing from an array: a failed reference, malformed metadata.
    PROBLEM = "problem"
    #: A choice between several possible meanings of metadata, or between contradicting metadata.
    CHOICE = "choice"
    #: A dimension that was named or renamed.
    DIMENSION = "dimension"
    #: A variable that was renamed.
    NAME = "name"
    #: Metadata that could not be used as written, or an array that was left out.
    METADATA = "metadata"
    #: An array that declares no principal convention.
    NO_PRINCIPAL = "no principal convention"


_DOCUMENT = "xarray-zarr-xgroup specification"

#: The rules of findings that have no more specific rule, by topic.
OPEN_RULES = {
    Topic.PROBLEM: Rule("open/nothing-lost", _DOCUMENT, "8 Conventions"),
    Topic.CHOICE: Rule("open/one-meaning", _DOCUMENT, "8 Conventions"),
    Topic.DIMENSION: Rule("open/dimensions", _DOCUMENT, "6 Dimensions"),
    Topic.NAME: Rule("open/names", _DOCUMENT, "9 Coordinates and their names"),
    Topic.METADATA: Rule("open/metadata", _DOCUMENT, "5 Variables"),
    Topic.NO_PRINCIPAL: Rule("open/principal-convention", _DOCUMENT, "8.1 Declaration"),
}


#: The topics of findings that are errors by default.
_LOSING = (Topic.PROBLEM, Topic.METADATA)

#: The class of warnings of each topic, in the order of the warnings.
_WARNINGS: dict[Topic, type[XGroupWarning]] = {
    Topic.DIMENSION: XGroupDimensionWarning,
    Topic.NAME: XGroupNameWarning,
    Topic.METADATA: XGroupMetadataWarning,
    Topic.PROBLEM: XGroupResolutionWarning,
    Topic.CHOICE: XGroupResolutionWarning,
    Topic.NO_PRINCIPAL: XGroupNoPrincipalWarning,
}


class Place(msgspec.Struct, frozen=True):
    """A place in a store.

    Attributes
    ----------
    node : str
        The absolute path of the group or array.
    pointer : str
        The JSON pointer into its document, "" for the whole document.
    store : str or None
        The URI of the store, without credentials; None for the opened store.
    """

    node: str
    pointer: str = ""
    store: str | None = None

    def __str__(self) -> str:
        """Return the place in the form used in messages: ``store|node#pointer``."""
        store = "" if self.store is None else f"{self.store}|"
        return f"{store}{self.node}{f'#{self.pointer}' if self.pointer else ''}"

    @classmethod
    def of(cls, written: Fragment | Node) -> Place:
        """Return the place of a node, or of a value, in the opened store."""
        if isinstance(written, Node):
            return cls(str(written))
        return cls(str(written.node), written.pointer)

    @property
    def keys(self) -> Keys:
        """The keys of the pointer."""
        return keys_of(self.pointer)

    def holds(self, other: Place) -> bool:
        """Return whether a place is this place, or within it."""
        is_same_node = (self.node, self.store) == (other.node, other.store)
        return is_same_node and f"{other.pointer}/".startswith(f"{self.pointer}/")


class Finding(msgspec.Struct, frozen=True):
    """A problem or a choice recorded while a store is read and interpreted.

    Attributes
    ----------
    rule : Rule
        The rule that is broken.
    place : Place
        The place of the value, or the place where it is missing. The node is "" if the value was read
        without its node.
    text : str
        A description of the problem without the place: a sentence without a full stop. Pointers in it begin
        with ``#``, unlike paths of nodes.
    remedy : str
        How to fix it, "" if unknown.
    severity : {"error", "warning"}
        "error" if the opened data are smaller than, or different from, what the store declares because of it, "warning" if
        not. ``problems="raise"`` raises those with a topic that are errors.
    places : tuple of Place
        All places with this finding, if there are several.
    count : int
        The number of findings that this one represents. More than 1 for the last of many findings of a kind.
    topic : Topic or None
        The subject of the warning. None if opening does not warn and only `check` reports the finding.
    arrays : tuple of str
        The absolute paths of the affected arrays.
    cost : str
        The parts that are missing from the arrays. "" if they are those that the place declares.
    error : XGroupError or None
        The cause.
    related : tuple of Place
        Other places whose problems explain this one.
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
        """Return the finding, which was made without a node, with its places at a node."""

        def placed(place: Place) -> Place:
            return place if place.node else replace(place, node=str(node))

        return replace(self, place=placed(self.place), related=tuple(map(placed, self.related)))

    def as_error(self) -> XGroupError:
        """Return the cause, or an XGroupMetadataError made of the finding."""
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


def new_finding(
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
    """Return a finding. All findings are made by this function.

    Parameters
    ----------
    rule : Rule or Topic
        The rule that is broken, or a topic, whose general rule is used.
    place : Fragment, Node or Place
        The place of the value, or the place where it is missing.
    text : str or XGroupError
        A description of the problem without the place. Findings with the same text in several nodes are
        reported as one. An error also gives the place, rule and remedy if it has them.
    remedy : str, optional
        How to fix it.
    cost : str, optional
        The parts that are missing from the arrays. By default those that the place declares.
    topic : Topic, optional
        The subject of the warning. By default `rule` if that is a topic, or PROBLEM if there is a cost.
        Otherwise opening does not warn, and only `check` reports the finding.
    severity : {"error", "warning"}, optional
        As in `Finding`. By default "warning" if `rule` is a topic other than PROBLEM and METADATA, otherwise "error".
    arrays : tuple of str, optional
        The absolute paths of the affected arrays. By default the node of the place.
    error : XGroupError, optional
        The cause, if its text differs from `text`.
    """
    where = place if isinstance(place, Place) else Place.of(place)
    if isinstance(rule, Topic):
        topic, rule = rule, OPEN_RULES[rule]
        severity = severity or ("error" if topic in _LOSING else "warning")
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
    """Return the place in an error; `where` if that is more precise than a node of the opened store."""
    if not error.place or where.pointer or where.store:
        return where
    if error.place.startswith(f"{where.node}#"):
        return Place(where.node, error.place.removeprefix(f"{where.node}#"))
    return Place(*node_and_pointer(error.place))


def node_and_pointer(text: str) -> tuple[str, str]:
    """Return the node and the pointer in the text of a place or of the target of a reference."""
    pointer = _POINTER.search(text)
    return (text[: pointer.start()], pointer[1]) if pointer else (text, "")


def without_attributes(node: Node, error: XGroupError) -> Finding:
    """Return the finding of a node that was opened without its attributes."""
    place = Fragment(node, ("attributes",), None)
    return new_finding(Topic.METADATA, place, error, cost=_("attributes"))


def left_out(node: Node, error: XGroupError) -> Finding:
    """Return the finding of a node that was left out."""
    text = _("left out: {reason}").format(reason=error.text)
    return new_finding(Topic.METADATA, node, text, error=error)


def coordinate_named(name: str) -> str:
    """Return the cost of a missing coordinate."""
    return _("coordinate {name!r}").format(name=name)


def referred_to_by(attribute: str, name: str = "") -> str:
    """Return the cost of an attribute that cannot be resolved, or of one name in it."""
    if name:
        return _("{name!r} of {attribute!r}").format(name=name, attribute=attribute)
    return _("the target of {attribute!r}").format(attribute=attribute)


def as_warnings(findings: Iterable[Finding], hint: str = "") -> list[XGroupWarning]:
    """Return one warning for each cause of findings: the arrays, the missing parts, the place and the reason.

    The text of the last one whose severity is "error" ends with `hint`.
    """
    warnings, grouped = [], group_findings(of_opening(findings))
    last = next((finding for finding in reversed(grouped) if finding.severity == "error"), None)
    for finding in grouped:
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
        text = f"{text} {hint}" if hint and finding is last else text
        warning = _WARNINGS[topic](text, finding.as_error() if finding.cost else finding.error)
        warning.paths = arrays
        warnings.append(warning)
    return warnings


def of_opening(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that have a topic, in the order of the warnings."""
    topics = list(_WARNINGS)
    return sorted(
        (finding for finding in findings if finding.topic is not None),
        key=lambda finding: topics.index(finding.topic or Topic.METADATA),
    )


def group_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings grouped by rule, pointer and text, at most 200 of a topic or rule, printable and redacted.

    Texts are compared with paths relative to the group of the array, so that the same problem in several groups is
    one finding. One finding is also made for equal references in several nodes, and for all problems with
    one foreign store. If there are more than 200, the last finding states the number of the rest.
    """

    def kind(finding: Finding) -> Hashable:
        return finding.topic or finding.rule.name

    shown = []
    for same_kind in _grouped(map(_in_one, _grouped(findings, _cause)), kind):
        others = same_kind[_MOST - 1 :]
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
                cost=last.cost and _("the parts that depend on it"),
                severity=min(finding.severity for finding in others),  # "error" if there is one
                count=count,
            )
            others = [last]
        shown += [*same_kind[: _MOST - 1], *others]
    return shown


def _cause(finding: Finding) -> Hashable:
    """Return a key that is equal for findings that are shown as one."""
    if (error := _store_error(finding)) is not None:
        return finding.topic, error.store
    text = _relative(finding.text, finding)
    if isinstance(finding.error, XGroupReferenceError) and finding.place.pointer:
        text = finding.error.target or text
    remedy = _relative(finding.remedy, finding)
    return finding.topic, finding.rule, finding.place.pointer, text, remedy


def _store_error(finding: Finding) -> XGroupStoreError | None:
    """Return the cause of a finding if it is an error about a foreign store."""
    error, is_of_conventions = finding.error, finding.topic in (Topic.PROBLEM, Topic.CHOICE)
    if is_of_conventions and isinstance(error, XGroupStoreError) and error.store:
        return error
    return None


def _grouped(
    findings: Iterable[Finding], by: Callable[[Finding], Hashable]
) -> Iterable[list[Finding]]:
    """Return a list of findings for each key."""
    groups: defaultdict[Hashable, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[by(finding)].append(finding)
    return groups.values()


def _in_one(same: Sequence[Finding]) -> Finding:
    """Return one finding for several with the same cause: about all of their arrays, at the first place."""
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
    """Return the missing parts of arrays, each with its array unless the same parts are missing from all arrays."""
    arrays_by_loss: defaultdict[str, set[str]] = defaultdict(set)
    for finding in same:
        attribute = finding.place.pointer.removeprefix("/attributes/")
        lost = finding.cost or _("the parts that depend on it")
        if not finding.cost and attribute != finding.place.pointer:
            lost = _("the metadata in {attribute!r}").format(attribute=attribute)
        arrays_by_loss[shortened(presentable(lost), _LONGEST_LOST)].update(finding.arrays)
    all_arrays = set().union(*arrays_by_loss.values())
    if any(paths != all_arrays for paths in arrays_by_loss.values()):
        pairs = ((lost, path) for lost, paths in arrays_by_loss.items() for path in sorted(paths))
        return listed([f"{lost} ({path})" for lost, path in pairs], _NAMED_LOST)
    return listed(arrays_by_loss, _NAMED_LOST)


def _united(parts: Iterable[tuple[P, ...]]) -> tuple[P, ...]:
    """Return the distinct items of several tuples."""
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def _in_one_text(findings: Iterable[Finding], texts: Sequence[str]) -> str:
    """Return one text for several: with relative paths if only the paths differ, otherwise the first text."""
    if len(set(texts)) == 1:
        return texts[0]
    pairs = zip(texts, findings, strict=True)
    relative, *others = {_relative(text, finding) for text, finding in pairs}
    return texts[0] if others else relative


def _relative(text: str, finding: Finding) -> str:
    """Return a text with its paths made relative to the group of a finding's array.

    Paths that share only the root with the array stay absolute.
    """
    array = next(iter(finding.arrays), finding.place.node)
    groups = [group for group in accumulate(array.split("/")[:-1], "{}/{}".format) if group][::-1]

    def path_from_group(path: re.Match[str]) -> str:
        for levels, group in enumerate(groups):
            if path[0].startswith(f"{group}/"):
                return "../" * levels + path[0].removeprefix(f"{group}/")
        return path[0]

    return _PATH.sub(path_from_group, text) if groups else text


def place_before(place: Place | None, arrays: Collection[str]) -> str:
    """Return the text of a place; "" for None, for the whole store, and for one of the arrays, which are named anyway."""
    if place is None or (not place.pointer and (not arrays or place.node in arrays)):
        return ""
    return str(place)


def shortened(text: str, longest: int) -> str:
    """Return a text with characters in its middle replaced by "..." if it is longer than `longest`."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[: longest - 3 - half]}...{text[len(text) - half :]}"
