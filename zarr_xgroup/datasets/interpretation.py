"""What the conventions say of the arrays of groups: pure functions of the documents in the tree.

Equal arrays and groups are interpreted once:

1. Arrays of a group share an answer if their documents are equal but for attributes that only describe an
   array (`DESCRIBING`; a handler says by `reads` which of them it reads), unless one is mentioned by its name,
   or a reference leads to it.
2. Groups share a reading if all their documents are equal, and those of the groups above. If an array follows
   relative references or names in CF attributes, only siblings without child groups share: these lead from each
   of them to the same nodes. If a layout names groups, no groups share.
3. Answers and readings with findings are not shared: a finding is of one array.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from zarr_xgroup.conventions.array import ArrayView
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
from zarr_xgroup.metadata.tree import Memo, Tree
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
#: A name of an array within a JSON text.
_WORD = re.compile(rb"[\w.\-]+")
#: Where a JSON text may lead elsewhere in each group: a relative reference, a reference to an attribute that may
#: hold one, an escaped letter, behind which either may hide.
_RELATIVE = re.compile(rb'"node"\s*:\s*"(?!/)|"attribute"\s*:|\\')
#: The key of a multiscales layout that derives a level from another: each array from the one of its name there.
_FOLLOWING = b'"transform"'


@dataclass(frozen=True, eq=False)
class ArrayReading:
    """The interpretation of one array, before its coordinates are named in a plan."""

    node: Node
    document: Document
    #: The names of its dimensions: none missing, and consistent with the group's other arrays.
    dims: tuple[str, ...]
    template: Template
    interpretation: Interpretation
    #: The handlers of conventions that apply to the array and were asked, the principal one first.
    conventions: Handlers
    #: Whether the array declares a principal convention itself: not its groups or the root, and not the user.
    declares_principal: bool
    #: The names of the conventions that are assumed for the array.
    assumed: frozenset[str]
    inherited: Inherited

    @property
    def has_principal(self) -> bool:
        """Whether the array follows a principal convention, declared or assumed."""
        return any(handler.tier == "principal" for handler in self.conventions)

    @property
    def references(self) -> tuple[Followed, ...]:
        """The references that were followed for the array."""
        return (*self.inherited.references, *self.interpretation.references)

    def said_of_arrays(self) -> Iterator[tuple[Node, Mapping[str, Any]]]:
        """Yield the arrays that this array refers to, each with the attributes that it declares of that array."""
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

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of its dimensions."""
        return dict(zip(self.dims, self.template.shape, strict=True))


@dataclass(frozen=True, eq=False)
class GroupReading:
    """The interpretation of a group, before it is planned: its usable arrays, sorted by name."""

    node: Node
    arrays: tuple[ArrayReading, ...]
    #: The names of its child groups.
    groups: frozenset[str]
    #: Findings about the group and its arrays, besides those of the interpretations.
    findings: tuple[Finding, ...]
    #: Units and calendar of times that the user dropped, by the name of their bounds variable: xarray
    #: decodes the bounds by them all the same.
    bounds_of_dropped: Mapping[str, Mapping[str, Any]]
    #: The arrays that are times only by references to them (`with_times`), and their units and calendar.
    times: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Interpreter:
    """Interprets groups of one open.

    Arrays with `dropped` names are left out, and so are findings about them. The `assumed` conventions count
    as declared by every array, or with `AUTO` those whose marks an array has. Groups and arrays that are `passed_over` are left out of their groups, but
    references to them work.
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
        # Only of groups for which all documents above are known.

    def interpret(self, groups: Iterable[Node]) -> list[GroupReading]:
        """Return the readings of groups. While the tree lacks documents they are incomplete; `Library.ask` calls again."""
        return [self.memo(_reading_of, self, group, by=group) for group in groups]

    def view(self, node: Node, dims: tuple[str, ...], **known: Any) -> ArrayView:
        """Return the view of an array that handlers are given, with the dimension names `dims`."""
        return ArrayView(
            *(node, dims, self.tree, self.factory, self.memo),
            crs_of=self.handlers.crs_of,
            assumed=self.assumed,
            **known,
        )

    def texts_around(self, group: Node) -> TextsAround:
        """Return the attributes of a group and of the groups above: one object for equal attributes, to compare by identity."""

        def texts_around(node: Node, above: TextsAround | None) -> TextsAround:
            document = self.tree.document(node)
            texts = () if document is None else texts_of(document.attributes)
            if above is not None and not texts:  # groups without attributes make no difference
                return above
            return self.memo(TextsAround, texts, above)

        return self.memo.upwards(texts_around, group, by="texts around")


def texts_of(attributes: JsonObject) -> tuple[tuple[str, bytes], ...]:
    """Return the attributes of a node with their JSON texts, without those of `DESCRIBING` that hold no reference."""
    return tuple(
        (key, text)
        for key in attributes
        if (text := attributes.text(key) or b"") and (key not in DESCRIBING or may_refer(text))
    )


def _mentions(text: bytes, name: bytes) -> bool:
    """Tell whether a JSON text may name an array; with an escaped letter it may name any."""
    return b"\\" in text or (name in text and name in _WORD.findall(text))


class TextsAround:
    """The attributes of a group and of the groups above it, as JSON texts.

    Parameters
    ----------
    texts : tuple
        The group's attributes.
    above : TextsAround or None
        The attributes of the group above and of those above it; None for the root.

    Attributes
    ----------
    words : frozenset of bytes
        All words of the texts that may be names of arrays.
    has_layout : bool
        Whether the texts have a layout, which names each group.
    is_relative : bool
        Whether the texts may have a relative reference, which may lead elsewhere from a group with another parent.
    """

    def __init__(self, texts: tuple[tuple[str, bytes], ...], above: TextsAround | None) -> None:
        words = chain.from_iterable(_WORD.findall(text) for _key, text in texts)
        self.words: frozenset[bytes] = frozenset(words).union(above.words if above else ())
        self.is_relative: bool = (above is not None and above.is_relative) or any(
            _RELATIVE.search(text) for _key, text in texts
        )
        self.has_layout: bool = (above is not None and above.has_layout) or any(
            key == LAYOUT.key for key, _text in texts
        )
        # Whether a layout speaks of each array of a level by its name.
        self._is_about_each: bool = (above is not None and above._is_about_each) or any(
            key == LAYOUT.key and (_FOLLOWING in text or b"\\" in text) for key, text in texts
        )

    def mentions(self, name: bytes) -> bool:
        """Tell whether the texts may say something of an array by its name."""
        return self._is_about_each or name in self.words or _WORD.fullmatch(name) is None


@dataclass(frozen=True, eq=False)
class _SharedReading:
    """The reading of a group, and for which groups with equal documents it holds."""

    reading: GroupReading
    #: None if it holds wherever such a group is, else the `_Group.scope` of the groups that it holds for.
    scope: Node | None
    #: The groups for which it does not hold, because references lead to their arrays or attributes.
    led_to: frozenset[Node] = frozenset()

    def holds_for(self, group: _Group) -> bool:
        """Return whether the reading holds for a group with equal documents."""
        is_in_scope = self.scope is None or self.scope == group.scope
        return is_in_scope and group.node not in self.led_to and not group.findings


def _reading_of(interpreter: Interpreter, node: Node) -> GroupReading:
    """Return the reading of a group: a copy of that of an equal group, if it holds here, else its own."""
    group = _Group(interpreter, node)
    contents = group.contents()
    for key in (contents, (contents, group.scope)):
        shared = interpreter.memo(_Group.shared_reading, group, by=key)
        if shared.reading.node == node:
            return shared.reading
        if shared.holds_for(group):
            return group.copied_reading(shared.reading)
    return group.reading()


class _Group:
    """The interpretation of the arrays of one group."""

    def __init__(self, interpreter: Interpreter, group: Node) -> None:
        self._interpreter = interpreter
        self.node = group
        self._tree, passed_over = interpreter.tree, interpreter.passed_over
        self._around = interpreter.texts_around(group)
        self.documents, self.groups = self._tree.arrays(group), self._tree.groups(group)
        # From siblings without child groups, a relative reference leads to the same node.
        self.scope = group if self.groups or not group.path else group.group
        if passed_over:
            self.groups = [name for name in self.groups if group.child(name) not in passed_over]
            for name in [name for name in self.documents if group.child(name) in passed_over]:
                del self.documents[name]
                self.scope = group  # it may also lead to an array that is passed over
        self._inherited: dict[str, Inherited] = {}
        # Answers to share, by the key of `_answer` and the texts of the describing attributes that handlers read;
        # `_reads` has, by that key, which attributes these are.
        self._reads: dict[Hashable, tuple[str, ...]] = {}
        self._answers: dict[Hashable, Answer] = {}
        self._answers_by_name: dict[str, Answer] = {}
        self.findings = list(_document_findings(interpreter, group))

    def contents(self) -> Hashable:
        """Return a key that is equal for groups with equal documents, of their own and above, wherever they are."""
        documents = tuple((name, found.written()) for name, found in self.documents.items())
        return documents, tuple(self.groups), self._around

    def copied_reading(self, other: GroupReading) -> GroupReading:
        """Return the reading of an equal group with the nodes and documents of this one."""
        arrays = (
            ArrayReading(
                *(self.node.child(name), self.documents[name], array.dims, array.template),
                array.interpretation,
                array.conventions,
                array.declares_principal,
                array.assumed,
                array.inherited,
            )
            for array in other.arrays
            for name in (array.node.name,)
        )
        return replace(other, node=self.node, arrays=tuple(arrays))

    def shared_reading(self) -> _SharedReading:
        """Return the reading of the group, and for which groups it holds."""
        reading = self.reading()
        interpreter, led_to = self._interpreter, set[Node]()
        for_no_other = _SharedReading(reading, self.node)
        if self.findings or interpreter.assumed or interpreter.handlers.may_look_anywhere:
            return for_no_other
        scope = None
        for array in reading.arrays:
            answer = self._answers_by_name[array.node.name]
            if not array.inherited.is_own or answer.interpretation.findings:
                return for_no_other
            if array.conventions:
                if (
                    answer.is_for_one_array
                    or self._around.has_layout
                    or any(handler.follows_names for handler in array.conventions)
                ):
                    return for_no_other
                texts = texts_of(array.document.attributes)
                if self._around.is_relative or any(
                    key in REFERRING or _RELATIVE.search(text) for key, text in texts
                ):
                    scope = self.scope
            led_to |= answer.led_to
        # A reference to the attributes of a group leads to the group itself.
        groups = frozenset(group for node in led_to for group in (node, node.group))
        return for_no_other if self.node in groups else _SharedReading(reading, scope, groups)

    def reading(self) -> GroupReading:
        """Return the reading of the group: its arrays, with dimensions named and conventions asked."""
        interpreter = self._interpreter
        # 1. Leave out dropped arrays and those that cannot be opened; name the dimensions of the others.
        bounds_of_dropped: dict[str, Mapping[str, Any]] = {}
        for name in [name for name in self.documents if name in interpreter.dropped]:
            bounds_of_dropped |= _units_of_bounds(self.documents.pop(name).attributes)
        self._inherit_dimensions()
        assigned = self._assign_dimensions()
        templates = {}
        for name in list(self.documents):
            try:
                node = self.node.child(name)
                templates[name] = interpreter.factory.template(node, assigned.dims[name])
            except XGroupMetadataError as error:
                self._leave_out(name, error)
        # 2. Ask the conventions about each array.
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
            answer = self._answers_by_name[name] = self._answer(node, dims, known)
            document, inherited = self.documents[name], self._inherited[name]
            arrays.append(
                ArrayReading(
                    *(node, document, dims, template),
                    answer.interpretation,
                    answer.conventions,
                    answer.declares_principal,
                    answer.assumed,
                    inherited,
                )
            )
        groups, findings = frozenset(self.groups), tuple(self.findings)
        return GroupReading(self.node, tuple(arrays), groups, findings, bounds_of_dropped)

    def _answer(self, node: Node, dims: tuple[str, ...], known: Mapping[str, Any]) -> Answer:
        """Return what the conventions say of an array: an answer given for an equal array of the group, or a new one."""
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
            shared = self._answers.get((key, read))
            if shared is not None and node not in shared.led_to:
                return shared
        view = interpreter.view(node, dims, **known)
        answer, is_whole = interpreter.memo.whole(interpreter.handlers.ask, view)
        # Findings are of this array alone. While the tree lacks documents, no reading is kept, nor are its answers:
        # until then an answer with findings may be shared.
        has_findings = bool(answer.interpretation.findings) and is_whole
        if not (answer.is_for_one_array or has_findings or node in answer.led_to):
            self._reads[key] = answer.reads
            self._answers[key, tuple(map(document.attributes.text, answer.reads))] = answer
        return answer

    def _leave_out(self, name: str, error: XGroupError) -> None:
        """Remove an array from the group, and report why."""
        self.findings.append(left_out(self.node.child(name), error))
        del self.documents[name]

    def _inherit_dimensions(self) -> None:
        """Find what arrays inherit; leave out those that cannot be opened, so that they do not affect names of dimensions."""
        for name, document in list(self.documents.items()):
            node = self.node.child(name)
            try:
                inherited = inherited_dimensions(self._tree, node, document)
                self._interpreter.factory.template(node, _distinct_dims(inherited.declared))
            except XGroupMetadataError as error:
                self._leave_out(name, error)
            else:
                self._inherited[name] = inherited
                self.findings.extend(inherited.findings)

    def _assign_dimensions(self) -> Assigned:
        """Return names for all dimensions of the group's arrays, with hints by conventions where some declare none."""
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
            # A v2 array with unreadable attributes has no names: the attributes were reported.
            if self.node.child(name) not in self._tree.problems
        )
        return assigned


def _distinct_dims(names: Sequence[str | None]) -> tuple[str, ...]:
    """Return names of dimensions with ``dim_N`` in place of None and of repeated names.

    For a trial only, since xarray warns of a repeated dimension; the final names are assigned later.
    """
    return tuple(
        f"dim_{axis}" if name is None or name in names[:axis] else name
        for axis, name in enumerate(names)
    )


def _units_of_bounds(attributes: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the units and calendar of a time coordinate by the name of its bounds; {} for any other array."""
    units, bounds = attributes.get("units"), attributes.get("bounds")
    if not (isinstance(units, str) and "since" in units and isinstance(bounds, str)):
        return {}
    return {bounds: {key: attributes[key] for key in ("units", "calendar") if key in attributes}}


def _document_findings(interpreter: Interpreter, group: Node) -> Iterable[Finding]:
    """Yield findings about the documents of a group and of its arrays that cannot be read or understood."""
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
        elif document.is_array:  # a child group is reported when it is read itself
            yield without_attributes(node, error)
