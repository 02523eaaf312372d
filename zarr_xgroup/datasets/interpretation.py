"""What the conventions say of the arrays of groups: pure, from what is known of the stores.

What is the same for many arrays is found once:

1. Arrays of a group share an answer if their documents say the same, but for attributes that only describe an
   array (`DESCRIBING`; a handler says by `reads` which of them it reads), unless one is mentioned by its name,
   or a reference leads to it.
2. Groups share a reading if all their documents say the same, and those of the groups that they are in, unless
   the reading follows from where the group is: by relative references, names in CF attributes, layouts.
3. What was found wrong, or chosen, is told of each array by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from zarr_xgroup.conventions.array import ArrayView, Memo
from zarr_xgroup.conventions.handler_set import Answer, HandlerSet
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.registry import Handlers
from zarr_xgroup.datasets.dimensions import (
    Assigned,
    Inherited,
    assign_dimensions,
    inherited_dimensions,
)
from zarr_xgroup.errors import XGroupError, XGroupMetadataError
from zarr_xgroup.findings import Finding, Topic, left_out, report, without_attributes
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import REFERRING
from zarr_xgroup.metadata.documents import Document, JsonObject
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.references import may_refer
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.fillvalues import unusable_fill_value
from zarr_xgroup.variables.sources import Stored

if TYPE_CHECKING:
    from zarr_xgroup.variables.factory import VariableFactory
    from zarr_xgroup.variables.stored import Template

#: Attributes that only describe an array: arrays that differ in no other one share an answer.
DESCRIBING = frozenset(
    {"long_name", "standard_name", "short_name", "title", "comment", "description", "units"}
    | {"history", "source", "institution", "references", "cell_methods"}
    | {"valid_min", "valid_max", "valid_range", "scale_factor", "add_offset"}
    | {"flag_values", "flag_meanings", "flag_masks"}
)
#: What an array may be called in JSON texts.
_WORD = re.compile(rb"[\w.\-]+")
#: What in a JSON text may lead elsewhere in each group: a relative reference, one to a value that may hold such,
#: a letter that is not written as itself.
_RELATIVE = re.compile(rb'"node"\s*:\s*"(?!/)|"attribute"\s*:|\\')
#: What in a layout makes a level follow from another one: for each array that of its name.
_FOLLOWING = b'"transform"'


@dataclass(frozen=True, eq=False)
class ArrayReading:
    """What is known of an array before it becomes part of a plan."""

    node: Node
    document: Document
    #: Complete, and fitting those of the group's other arrays.
    dims: tuple[str, ...]
    template: Template
    interpretation: Interpretation
    #: Those that apply to it and were asked, the principal one first.
    conventions: Handlers
    #: Whether it follows a principal convention that is declared, and not only assumed.
    has_declared_principal: bool
    inherited: Inherited

    @property
    def has_principal(self) -> bool:
        """Whether it follows a principal convention."""
        return any(handler.tier == "principal" for handler in self.conventions)

    @property
    def references(self) -> tuple[Followed, ...]:
        """The references that were followed for it."""
        return (*self.inherited.references, *self.interpretation.references)

    def said_of_arrays(self) -> Iterator[tuple[Node, Mapping[str, Any]]]:
        """Yield the arrays that it refers to, each with the attributes that it declares of it."""
        yield from ((node, {}) for node in self.interpretation.referred)
        linked = (link.coordinate for link in self.interpretation.links)
        inherited = self.inherited.coordinates
        companions = (link.coordinate for coordinate in inherited for link in coordinate.links)
        for coordinate in (*self.interpretation.coordinates, *linked, *inherited, *companions):
            for part in coordinate.parts():
                if isinstance(part.source, Stored):
                    yield part.source.node, part.attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.template.shape


@dataclass(frozen=True, eq=False)
class GroupReading:
    """What is known of a group before it becomes a plan: its arrays that can be used, sorted by name."""

    node: Node
    arrays: tuple[ArrayReading, ...]
    #: The names of its child groups.
    groups: frozenset[str]
    #: What was found about the group and its arrays, besides what interpretations say.
    findings: tuple[Finding, ...]
    #: Units and calendars of times that are not wanted, by the names of their boundaries: xarray
    #: decodes these by them all the same.
    bounds_of_dropped: Mapping[str, Mapping[str, Any]]
    #: The arrays that are times to all arrays of a tree that refer to them, and what these declare.
    times: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Interpreter:
    """Interprets groups of one open.

    Arrays of names that were `dropped` are left alone: what is wrong with them is not told either.
    Conventions that are `assumed` count as declared by every array. Groups and arrays that are
    `passed_over` are there for who refers to them, and for nobody else.
    """

    def __init__(
        self,
        tree: Tree,
        factory: VariableFactory,
        handlers: Handlers,
        dropped: Collection[str] = (),
        assumed: Collection[str] = (),
        passed_over: Collection[Node] = (),
    ) -> None:
        self.tree = tree
        self.factory = factory
        self.dropped = frozenset(dropped)
        self.assumed = frozenset(assumed)
        self.passed_over = frozenset(passed_over)
        self.memo = Memo(tree)
        self.handlers = HandlerSet(handlers)
        self._around: dict[Node, TextsAround] = {}

    def interpret(self, groups: Iterable[Node]) -> list[GroupReading]:
        """Return what is known of groups. Of those of which something is lacking it is to be asked again."""
        return [self.memo(_reading_of, self, group, by=group) for group in groups]

    def view(self, node: Node, dims: tuple[str, ...], **known: Any) -> ArrayView:
        """Return an array as handlers see it."""
        return ArrayView(
            *(node, dims, self.tree, self.factory, self.memo),
            crs_of=self.handlers.crs_of,
            assumed=self.assumed,
            **known,
        )

    def texts_around(self, group: Node) -> TextsAround:
        """Return what is written in a group and in those above: the same object where the same is."""
        known, before = self._around, len(self.tree.lacking)
        unknown, above = [], None
        for node in chain([group], group.ancestors()):
            if (above := known.get(node)) is not None:
                break
            unknown.append(node)
        for node in reversed(unknown):
            document = self.tree.document(node)
            texts = () if document is None else texts_of(document.attributes)
            if texts or above is None:  # how far up nothing is said makes no difference
                above = self.memo(TextsAround, texts, above)
            if len(self.tree.lacking) == before:
                known[node] = above
        return above or TextsAround((), None)


def texts_of(attributes: JsonObject) -> tuple[tuple[str, bytes], ...]:
    """Return the attributes of a node as JSON texts, but for those that only describe it."""
    return tuple(
        (key, text)
        for key in attributes
        if (text := attributes.text(key) or b"") and (key not in DESCRIBING or may_refer(text))
    )


def _mentions(text: bytes, name: bytes) -> bool:
    """Tell whether a JSON text may name an array."""
    return b"\\" in text or (name in text and name in _WORD.findall(text))


class TextsAround:
    """What is written in a group and in those above it.

    Parameters
    ----------
    texts : tuple
        The group's attributes.
    above : TextsAround or None
        The same of the group above; None for the root.

    Attributes
    ----------
    words : frozenset of bytes
        What arrays may be called by it.
    is_relative : bool
        Whether it may mean something else for groups in other places.
    """

    def __init__(self, texts: tuple[tuple[str, bytes], ...], above: TextsAround | None) -> None:
        words = chain.from_iterable(_WORD.findall(text) for _key, text in texts)
        self.words: frozenset[bytes] = frozenset(words).union(above.words if above else ())
        self.is_relative: bool = (above is not None and above.is_relative) or any(
            key == LAYOUT.key or _RELATIVE.search(text) for key, text in texts
        )
        self._is_about_each: bool = (above is not None and above._is_about_each) or any(
            key == LAYOUT.key and (_FOLLOWING in text or b"\\" in text) for key, text in texts
        )

    def mentions(self, name: bytes) -> bool:
        """Tell whether it may say something of an array by its name."""
        return self._is_about_each or name in self.words or _WORD.fullmatch(name) is None


def _reading_of(interpreter: Interpreter, node: Node) -> GroupReading:
    """Return the reading of a group: that of another one where the same is written, if it holds here."""
    group = _Group(interpreter, node)
    first, others = interpreter.memo(_Group.reading_to_share, group, by=group.contents())
    if first.node == node:
        return first
    if others is None or node in others or group.findings:
        return group.reading()
    return group.like(first)


class _Group:
    """The interpretation of the arrays of one group."""

    def __init__(self, interpreter: Interpreter, group: Node) -> None:
        self._interpreter = interpreter
        self.node = group
        self._tree, others = interpreter.tree, interpreter.passed_over
        self._around = interpreter.texts_around(group)
        self.documents, self.groups = self._tree.arrays(group), self._tree.groups(group)
        if others:
            self.groups = [name for name in self.groups if group.child(name) not in others]
            for name in [name for name in self.documents if group.child(name) in others]:
                del self.documents[name]
        self._inherited: dict[str, Inherited] = {}
        self._reads: dict[Hashable, tuple[str, ...]] = {}
        self._answers: dict[Hashable, Answer] = {}
        self._given: dict[str, Answer] = {}
        self.findings = list(_problems(interpreter, group))

    def contents(self) -> Hashable:
        """Return all that the reading follows from but for where the group is."""
        documents = tuple((name, found.written()) for name, found in self.documents.items())
        return documents, tuple(self.groups), self._around

    def like(self, other: GroupReading) -> GroupReading:
        """Return the reading of the group, given that of one where the same is written."""
        arrays = (
            ArrayReading(
                *(self.node.child(name), self.documents[name], array.dims, array.template),
                *(
                    array.interpretation,
                    array.conventions,
                    array.has_declared_principal,
                    array.inherited,
                ),
            )
            for array in other.arrays
            for name in (array.node.name,)
        )
        return replace(other, node=self.node, arrays=tuple(arrays))

    def reading_to_share(self) -> tuple[GroupReading, frozenset[Node] | None]:
        """Return the reading of the group, and the groups for which it does not hold though they say the same.

        It holds for none of these if it follows from where the group is: None.
        """
        reading = self.reading()
        interpreter, led_to = self._interpreter, set[Node]()
        if self.findings or interpreter.assumed or interpreter.handlers.may_look_anywhere:
            return reading, None
        for array in reading.arrays:
            answer = self._given[array.node.name]
            if not array.inherited.is_own or answer.interpretation.findings:
                return reading, None
            if array.conventions and (
                answer.is_for_one_array
                or any(handler.follows_names for handler in array.conventions)
                or self._around.is_relative
                or any(
                    key in REFERRING or _RELATIVE.search(text)
                    for key, text in texts_of(array.document.attributes)
                )
            ):
                return reading, None
            led_to |= answer.led_to
        groups = frozenset(node.group for node in led_to)
        return reading, None if self.node in groups else groups

    def reading(self) -> GroupReading:
        """Return what is known of the group."""
        interpreter = self._interpreter
        bounds_of_dropped: dict[str, Mapping[str, Any]] = {}
        for name in [name for name in self.documents if name in interpreter.dropped]:
            bounds_of_dropped |= _times_of_bounds(self.documents.pop(name).attributes)
        self._inherit_dimensions()
        assigned = self._assigned()
        templates = {}
        for name in list(self.documents):
            try:
                node = self.node.child(name)
                templates[name] = interpreter.factory.template(node, assigned.dims[name])
            except XGroupMetadataError as error:
                self._leave_out(name, error)
        siblings = {
            name: dict(zip(assigned.dims[name], template.shape, strict=True))
            for name, template in templates.items()
        }
        arrays = []
        for name, template in templates.items():
            node, dims = self.node.child(name), assigned.dims[name]
            if template.fill_value is not None:
                self.findings.append(unusable_fill_value(node, template.fill_value))
            names = dict(zip(assigned.named[name], dims, strict=True))
            chunks = template.encoding.get("preferred_chunks", {})
            known = {"dim_names": names, "chunks": chunks, "siblings": siblings}
            answer = self._given[name] = self._answer(node, dims, known)
            found = answer.interpretation, answer.conventions, answer.has_declared_principal
            document, inherited = self.documents[name], self._inherited[name]
            arrays.append(ArrayReading(node, document, dims, template, *found, inherited))
        groups, findings = frozenset(self.groups), tuple(self.findings)
        return GroupReading(self.node, tuple(arrays), groups, findings, bounds_of_dropped)

    def _answer(self, node: Node, dims: tuple[str, ...], known: Mapping[str, Any]) -> Answer:
        """Return what the conventions say of an array: asked once for all that say the same."""
        interpreter, document, name = self._interpreter, self.documents[node.name], node.name
        texts, encoded = texts_of(document.attributes), name.encode("utf-8", "surrogatepass")
        # Its name counts only where something may be said of the array by it.
        name_counts = (
            interpreter.handlers.may_look_anywhere
            or name in dims
            or name in interpreter.handlers.arrays
            or self._around.mentions(encoded)
            or any(_mentions(text, encoded) for _key, text in texts)
        )
        key = (
            name if name_counts else "",
            *(document.text_without_attributes(), dims, tuple(known["dim_names"]), texts),
        )
        if key in self._reads:
            read = tuple(map(document.attributes.text, self._reads[key]))
            answer = self._answers.get((key, read))
            if answer is not None and node not in answer.led_to:
                return answer
        before = len(self._tree.lacking)
        answer = interpreter.handlers.ask(interpreter.view(node, dims, **known))
        # What was found wrong is of this array alone. While documents are lacking no answer of the group is kept.
        is_whole = len(self._tree.lacking) == before
        has_findings = bool(answer.interpretation.findings) and is_whole
        if not (answer.is_for_one_array or has_findings or node in answer.led_to):
            self._reads[key] = answer.reads
            self._answers[key, tuple(map(document.attributes.text, answer.reads))] = answer
        return answer

    def _leave_out(self, name: str, error: XGroupError) -> None:
        self.findings.append(left_out(self.node.child(name), error))
        del self.documents[name]

    def _inherit_dimensions(self) -> None:
        """Find what arrays inherit; leave those out that cannot be opened: they have no say in names of dimensions."""
        for name, document in list(self.documents.items()):
            node = self.node.child(name)
            try:
                inherited = inherited_dimensions(self._tree, node, document)
                self._interpreter.factory.template(node, _each_once(inherited.declared))
            except XGroupMetadataError as error:
                self._leave_out(name, error)
            else:
                self._inherited[name] = inherited
                self.findings.extend(inherited.findings)

    def _assigned(self) -> Assigned:
        declared = {name: self._inherited[name].declared for name in self.documents}
        hints = {
            name: self._interpreter.handlers.axis_names(
                self._interpreter.view(self.node.child(name), ())
            )
            for name, names in declared.items()
            if None in names
        }
        assigned = assign_dimensions(self.documents, self.node, declared, hints)
        self.findings.extend(
            finding
            for name, finding in assigned.findings.items()
            # Without its attributes a v2 array has no names either, and that was reported.
            if self.node.child(name) not in self._tree.problems
        )
        return assigned


def _each_once(names: Sequence[str | None]) -> tuple[str, ...]:
    """Return names of dimensions, others in place of None and of those that were there before.

    xarray warns of a dimension that an array has twice. The names that arrays get are settled later.
    """
    return tuple(
        f"dim_{axis}" if name is None or name in names[:axis] else name
        for axis, name in enumerate(names)
    )


def _times_of_bounds(attributes: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return units and calendar of times by the name of their boundaries; nothing of all else."""
    units, bounds = attributes.get("units"), attributes.get("bounds")
    if not (isinstance(units, str) and "since" in units and isinstance(bounds, str)):
        return {}
    return {bounds: {key: attributes[key] for key in ("units", "calendar") if key in attributes}}


def _problems(interpreter: Interpreter, group: Node) -> Iterable[Finding]:
    """Yield what is wrong with the group itself and with its arrays' documents."""
    tree = interpreter.tree
    for node, error in tree.problems_near(group):
        document = tree.known(node)
        if node == group:
            is_listed = tree.is_listed(node)
            members = report(Topic.METADATA, node, error, cost=_("members"))
            yield without_attributes(node, error) if is_listed else members
        elif node.name in interpreter.dropped:
            continue
        elif document is None:
            yield left_out(node, error)
        elif document.is_array:  # a group tells of itself when it is opened
            yield without_attributes(node, error)
