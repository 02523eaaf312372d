"""Interpret the arrays of groups by conventions: pure functions of the documents in the tree.

Equal arrays and groups are interpreted once:

1. Arrays of a group share an answer if their documents are equal except for attributes that only describe an
   array (`DESCRIBING`; a handler names in `reads` the ones that it reads), unless attributes mention or reference
   one of them.
2. Groups share a reading and its plan if all their documents, and those of the groups above, are equal (`Sharing`).
   If an array follows relative references or names in CF attributes, only siblings without child groups share,
   because these refer to the same nodes from each of them. If a layout names groups, no groups share.
3. Answers and readings with findings are not shared: a finding is about one array.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.cf import declares_hierarchy
from zarr_xgroup.conventions.handler_set import Answer, handler_set
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.registry import Handlers
from zarr_xgroup.datasets.dimensions import (
    Inherited,
    inherited_dimensions,
    name_dimensions,
)
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.findings import Finding, Topic, left_out, report, without_attributes
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import REFERRING
from zarr_xgroup.metadata.dimensions import distinct_names
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

#: Attributes that only describe an array: arrays that differ only in these share an answer.
DESCRIBING = frozenset(
    {"long_name", "standard_name", "short_name", "title", "comment", "description", "units"}
    | {"history", "source", "institution", "references", "cell_methods"}
    | {"valid_min", "valid_max", "valid_range", "scale_factor", "add_offset"}
    | {"flag_values", "flag_meanings", "flag_masks"}
)
#: A possible name of an array in a JSON text.
_WORD = re.compile(rb"[\w.\-]+")
#: JSON text that may refer to different nodes in each group: a relative reference, a reference to an attribute (which
#: may hold one), or an escaped letter (which may be part of either).
_RELATIVE = re.compile(rb'"node"\s*:\s*"(?!/)|"attribute"\s*:|\\')
#: The key of a multiscales layout that derives each array of a level from the array of the same name in a different one.
_FOLLOWING = b'"transform"'


class ArrayReading(msgspec.Struct, frozen=True, eq=False):
    """The interpretation of one array, before its coordinates are named in a plan."""

    node: Node
    document: Document
    #: The names of all its dimensions: in a reading as declared, in a plan with one size for each name in the group.
    dims: tuple[str, ...]
    template: Template
    interpretation: Interpretation
    #: The handlers that interpreted the array, the principal one first.
    conventions: Handlers
    #: Whether the array itself declares a principal convention, not only its groups, the root or the user.
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

    def referred_arrays(self) -> Iterator[tuple[Node, Mapping[str, Any]]]:
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


class GroupReading(msgspec.Struct, frozen=True, eq=False):
    """The interpretation of a group, before it is planned: its usable arrays, sorted by name."""

    node: Node
    arrays: tuple[ArrayReading, ...]
    #: The names of its child groups.
    groups: frozenset[str]
    #: Findings about the group and its arrays, besides those of the interpretations.
    findings: tuple[Finding, ...]
    #: Units and calendar of times that the user dropped, by the name of their bounds variable. xarray still decodes
    #: the bounds with them.
    bounds_of_dropped: Mapping[str, Mapping[str, Any]]
    #: Units and calendar of arrays that are times only because references declare it (`with_times`).
    times: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    #: One object for all groups that share this reading; None if no other group does.
    sharing: Sharing | None = None


class Sharing(msgspec.Struct, frozen=True, eq=False):
    """The groups with equal documents that share a reading and a plan. Its identity is the key of both."""

    #: The `_Group.scope` that they have in common, None if they may be anywhere.
    scope: Node | None
    #: Groups that do not share, because references point to their arrays or attributes.
    referenced: frozenset[Node]

    def holds_for(self, group: Node, scope: Node) -> bool:
        """Return whether a group with equal documents shares the reading."""
        return self.scope in (None, scope) and group not in self.referenced


class Interpreter:
    """Interprets groups in one open call.

    Arrays with `dropped` names are left out, with all findings about them. The `assumed` conventions are treated as
    declared by every array; `AUTO` means the conventions whose marks an array has. Groups and arrays that are
    `passed_over` are left out of their groups, but references to them work.
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
        self.handlers = handler_set(handlers)

    def interpret(self, groups: Iterable[Node]) -> list[GroupReading]:
        """Return the readings of groups. `Library.ask` calls it again if documents were missing in the tree."""
        nodes = list(groups)
        function = _shared_reading if len(nodes) > 1 else _own_reading
        return [self.memo(function, self, node, by=node) for node in nodes]

    def view(self, node: Node, dims: tuple[str, ...], **known: Any) -> ArrayView:
        """Return the view of an array for handlers, with the dimension names `dims`."""
        return ArrayView(
            *(node, dims, self.tree, self.factory, self.memo),
            crs_of=self.handlers.crs_of,
            assumed=self.assumed,
            **known,
        )

    def texts_above(self, group: Node) -> TextsAbove:
        """Return the attributes of a group and of all groups above it: one object for equal attributes."""

        def texts_above(node: Node, parents: TextsAbove | None) -> TextsAbove:
            document = self.tree.document(node)
            texts = () if document is None else texts_of(document.attributes)
            # Groups without attributes make no difference.
            above = parents or NO_TEXTS
            return self.memo(TextsAbove.with_group, above, texts) if texts else above

        return self.memo.upwards(texts_above, group, by="texts above")


#: The relevant attributes of a node, with their JSON texts.
_Texts: TypeAlias = tuple[tuple[str, bytes], ...]


def texts_of(attributes: JsonObject) -> _Texts:
    """Return the attributes of a node with their JSON texts, except those of `DESCRIBING` without references."""
    return tuple(
        [
            (key, text)
            for key, text in attributes.texts.items()
            if key not in DESCRIBING or may_refer(text)
        ]
    )


def _mentions(text: bytes, name: bytes) -> bool:
    """Return whether a JSON text may name an array. A text with an escaped letter may name any array."""
    return b"\\" in text or (name in text and name in _WORD.findall(text))


class TextsAbove(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The attributes of a group and of the groups above it, and the names and references in them, searched on demand."""

    texts: _Texts = ()
    above: TextsAbove | None = None

    def with_group(self, texts: _Texts) -> TextsAbove:
        """Return these texts with the attributes of a group below."""
        return TextsAbove(texts, self)

    @cached_property
    def words(self) -> frozenset[bytes]:
        """All words of the texts that may be names of arrays."""
        above = frozenset[bytes]() if self.above is None else self.above.words
        return above.union(*(_WORD.findall(text) for _key, text in self.texts))

    @cached_property
    def layouts(self) -> bytes:
        """The layouts in the texts. A layout names groups."""
        above = b"" if self.above is None else self.above.layouts
        return above + dict(self.texts).get(LAYOUT.key, b"")

    @cached_property
    def is_relative(self) -> bool:
        """Whether there may be a relative reference, which refers to different nodes from groups with different parents."""
        if any(_RELATIVE.search(text) for _key, text in self.texts):
            return True
        return self.above is not None and self.above.is_relative

    def mentions(self, name: bytes) -> bool:
        """Return whether the texts may refer to an array by its name."""
        if _FOLLOWING in self.layouts or b"\\" in self.layouts:
            return True  # a level derived from a different one may refer to each array by its name
        return name in self.words or _WORD.fullmatch(name) is None


NO_TEXTS = TextsAbove()


def _own_reading(interpreter: Interpreter, node: Node) -> GroupReading:
    return _Group(interpreter, node).reading(may_be_shared=False)


def _shared_reading(interpreter: Interpreter, node: Node) -> GroupReading:
    """Return the reading of a group: a copy of that of an equal group if they can share it, otherwise its own.

    The keys of the memo do not contain the group, so the memo may return the reading of the first equal group.
    """
    group = _Group(interpreter, node)
    # Equal for groups with equal documents in them and above them. The texts of only the groups above are part of the
    # key, too, because attributes of the group itself have further meanings.
    above = group.above, interpreter.texts_above(node.group) if node.path else None
    documents = tuple((name, document.written()) for name, document in group.documents.items())
    contents = documents, tuple(group.groups), above
    for key in (contents, (contents, group.scope)):
        reading = interpreter.memo(_Group.reading, group, by=key)
        if reading.node == node:
            return reading
        sharing = reading.sharing
        if sharing is not None and sharing.holds_for(node, group.scope) and not group.findings:
            names = [array.node.name for array in reading.arrays]
            arrays = (
                replace(array, node=node.child(name), document=group.documents[name])
                for name, array in zip(names, reading.arrays, strict=True)
            )
            return replace(reading, node=node, arrays=tuple(arrays))
    return group.reading()


class _Group:
    """The interpretation of the arrays of one group."""

    def __init__(self, interpreter: Interpreter, group: Node) -> None:
        self.node, self._interpreter, self._tree = group, interpreter, interpreter.tree
        documents, groups = self._tree.arrays(group), self._tree.groups(group)
        passed_over = interpreter.passed_over and {
            name for name in (*documents, *groups) if group.child(name) in interpreter.passed_over
        }
        # A relative reference refers to the same node from all siblings without child groups.
        self.scope = group if groups or passed_over or not group.path else group.group
        self.documents = {name: documents[name] for name in documents if name not in passed_over}
        self.groups = [name for name in groups if name not in passed_over]
        self.above = interpreter.texts_above(group)
        self.findings = list(_document_findings(interpreter, group))
        #: Answers that arrays can share, by the key of `_answer` and the texts of the describing attributes that the
        #: handlers read; and the names of these attributes, by the key of `_answer`.
        self._answers: dict[Hashable, tuple[str, Answer]] = {}
        self._reads: dict[Hashable, tuple[str, ...]] = {}
        self._named: dict[str, bool] = {}

    def reading(self, *, may_be_shared: bool = True) -> GroupReading:
        """Return the reading of the group: its arrays, with named dimensions, interpreted by conventions."""
        interpreter, tree, factory = self._interpreter, self._tree, self._interpreter.factory
        # 1. Leave out dropped arrays and those that cannot be opened, so that they do not affect names of dimensions.
        bounds_of_dropped: dict[str, Mapping[str, Any]] = {}
        inherited: dict[str, Inherited] = {}
        for name, document in self.documents.items():
            node = self.node.child(name)
            if name in interpreter.dropped:
                bounds_of_dropped |= _units_of_bounds(document.attributes)
                continue
            try:
                dimensions = inherited_dimensions(tree, node, document)
                # Distinct names, because xarray warns of a repeated dimension. The final names are assigned later.
                factory.template(node, distinct_names(dimensions.declared, "dim_"))
            except XGroupMetadataError as error:
                self.findings.append(left_out(node, error))
            else:
                inherited[name] = dimensions
                self.findings.extend(dimensions.findings)
        documents = {name: self.documents[name] for name in inherited}

        # 2. Name all dimensions, with hints by conventions for arrays with unnamed dimensions.
        declared = {name: dimensions.declared for name, dimensions in inherited.items()}
        hints = {
            name: interpreter.handlers.axis_names(interpreter.view(self.node.child(name), ()))
            for name, names in declared.items()
            if None in names
        }
        named, findings = name_dimensions(documents, self.node, declared, hints)
        self.findings.extend(
            finding
            for name, finding in findings.items()
            # A v2 array with unreadable attributes has no names, but the attributes were reported.
            if self.node.child(name) not in tree.problems
        )
        templates = {
            name: factory.template(self.node.child(name), named[name]) for name in documents
        }

        # 3. Interpret each array by its conventions.
        siblings = {
            name: dict(zip(named[name], template.shape, strict=True))
            for name, template in templates.items()
        }
        arrays, answers = [], []
        for name, template in templates.items():
            node, dims = self.node.child(name), named[name]
            if template.fill_value is not None:
                self.findings.append(unusable_fill_value(node, template.fill_value))
            answer = self._answer(
                *(node, dims),
                chunks=template.encoding.get("preferred_chunks", {}),
                siblings={
                    other: sizes
                    for other, sizes in siblings.items()
                    if other not in inherited[name].renamed
                }
                if inherited[name].renamed
                else siblings,
            )
            answers.append(answer)
            arrays.append(
                ArrayReading(
                    *(node, documents[name], dims, template),
                    answer.interpretation,
                    answer.conventions,
                    answer.declares_principal,
                    answer.assumed,
                    inherited[name],
                )
            )
        return GroupReading(
            *(self.node, tuple(arrays), frozenset(self.groups), tuple(self.findings)),
            bounds_of_dropped,
            sharing=self._sharing(arrays, answers) if may_be_shared else None,
        )

    def _answer(self, node: Node, dims: tuple[str, ...], **known: Any) -> Answer:
        """Return the interpretation of an array by its conventions, shared with equal arrays of the group."""
        interpreter, document, name = self._interpreter, self.documents[node.name], node.name
        texts = texts_of(document.attributes)
        key = document.text_without_attributes(), dims, texts
        if key in self._reads and not self._is_named(name, dims, texts):
            read = tuple(map(document.attributes.text, self._reads[key]))
            first, shared = self._answers.get((key, read), (name, None))
            is_named = self._is_named(first, dims, texts)
            if shared is not None and node not in shared.referenced and not is_named:
                return shared
        view = interpreter.view(node, dims, **known)
        answer, is_whole = interpreter.memo.whole(interpreter.handlers.interpret, view)
        # An answer with findings is not shared, unless documents were missing: then all answers are discarded anyway.
        has_findings = bool(answer.interpretation.findings) and is_whole
        if answer.reads is not None and not has_findings and node not in answer.referenced:
            self._reads[key] = answer.reads
            read = tuple(map(document.attributes.text, answer.reads))
            self._answers[key, read] = name, answer
        return answer

    def _is_named(self, name: str, dims: tuple[str, ...], texts: _Texts) -> bool:
        """Return whether dimensions, or attributes of the array or of groups, may refer to an array by its name."""
        if name not in self._named:
            encoded = name.encode("utf-8", "surrogatepass")
            self._named[name] = (
                name in dims
                or self.above.mentions(encoded)
                or any(_mentions(text, encoded) for _key, text in texts)
            )
        return self._named[name]

    def _sharing(self, arrays: Sequence[ArrayReading], answers: Sequence[Answer]) -> Sharing | None:
        """Return the groups that share the reading of the group, None if no other group does."""
        nodes = frozenset[Node]().union(*(answer.referenced for answer in answers))
        # A reference to the attributes of a group refers to the group itself.
        referenced = nodes.union(node.group for node in nodes)
        is_unique = self.findings or self._interpreter.assumed or self.node in referenced
        if is_unique or not all(map(self._is_shareable, arrays, answers)):
            return None
        return Sharing(self.scope if any(map(self._is_relative, arrays)) else None, referenced)

    def _is_shareable(self, array: ArrayReading, answer: Answer) -> bool:
        """Return whether an array has the same reading in groups with equal documents."""
        if answer.reads is None or answer.interpretation.findings or not array.inherited.is_own:
            return False
        if array.conventions and self.above.layouts:
            return False
        return not any(handler.follows_names for handler in array.conventions)

    def _is_relative(self, array: ArrayReading) -> bool:
        """Return whether relative references or names may be followed for an array."""
        return declares_hierarchy(self._tree, self.node) or (
            bool(array.conventions)
            and (
                self.above.is_relative
                or any(
                    key in REFERRING or _RELATIVE.search(text)
                    for key, text in texts_of(array.document.attributes)
                )
            )
        )


def _units_of_bounds(attributes: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the units and calendar of a time coordinate by the name of its bounds; {} for any other array."""
    units, bounds = attributes.get("units"), attributes.get("bounds")
    if not (isinstance(units, str) and "since" in units and isinstance(bounds, str)):
        return {}
    return {bounds: {key: attributes[key] for key in ("units", "calendar") if key in attributes}}


def _document_findings(interpreter: Interpreter, group: Node) -> Iterable[Finding]:
    """Yield findings about documents of a group and its arrays that cannot be read or understood."""
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
        elif document.is_array:  # child groups report their own documents
            yield without_attributes(node, error)
