"""What the conventions say of the arrays of groups: pure, from what is known of the stores.

What is the same for many arrays is interpreted once.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from zarr_xgroup.conventions.array import ArrayView, Models, reach_of
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.registry import Handlers
from zarr_xgroup.datasets.asking import Answer, Answers, Panel
from zarr_xgroup.datasets.dimensions import (
    Assigned,
    Inherited,
    assign_dimensions,
    inherited_dimensions,
)
from zarr_xgroup.errors import XGroupError, XGroupMetadataError
from zarr_xgroup.findings import Finding, left_out, opened_without
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.fillvalues import unusable_fill_value
from zarr_xgroup.variables.sources import Stored

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker
    from zarr_xgroup.variables.stored import Template


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
    is_first_class: bool
    inherited: Inherited

    @property
    def has_principal(self) -> bool:
        """Whether it follows a principal convention."""
        return any(cls.tier == "principal" for cls in self.conventions)

    @property
    def references(self) -> tuple[Followed, ...]:
        """The references that were followed for it."""
        return (*self.inherited.references, *self.interpretation.references)

    def said_of_arrays(self) -> Iterator[tuple[Node, Mapping[str, Any]]]:
        """Yield the arrays that it refers to, each with the attributes that it declares of it."""
        yield from ((node, {}) for node in self.interpretation.referred)
        linked = (link.coordinate for link in self.interpretation.links)
        inherited = self.inherited.coordinates
        companions = (link.coordinate for it in inherited for link in it.links)
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
        maker: Maker,
        handlers: Handlers,
        dropped: Collection[str] = (),
        assumed: Collection[str] = (),
        passed_over: Collection[Node] = (),
    ) -> None:
        self.tree = tree
        self.maker = maker
        self._handlers = handlers
        self.dropped = frozenset(dropped)
        self._assumed = frozenset(assumed)
        self.passed_over = frozenset(passed_over)
        self.panel = Panel(handlers)
        self._models = Models(self.panel.crs_of)
        self.answers = Answers(self._models)
        self._complete: dict[Node, GroupReading] = {}
        #: Readings that are the same for groups with the same contents, but for some.
        self._patterns: dict[Hashable, tuple[GroupReading, frozenset[Node]]] = {}

    def interpret(self, groups: Iterable[Node]) -> list[GroupReading]:
        """Return what is known of groups, but for those of which something is lacking.

        Those that are known are not interpreted again when it is asked again.
        """
        self.answers.begin_round()
        for group in groups:
            if group not in self._complete:
                before = len(self.tree.lacking)
                reading = self._alike(_GroupInterpretation(self, group))
                if len(self.tree.lacking) == before:
                    self._complete[group] = reading
        return [self._complete[group] for group in groups if group in self._complete]

    def _alike(self, group: _GroupInterpretation) -> GroupReading:
        """Return the reading of a group: that of one with the same contents, if there is one."""
        if self.panel.detects:  # nobody knows what is looked at for it
            return group.reading()
        known, but_for = self._patterns.get(group.contents(), (None, frozenset()))
        if known is not None and group.node not in but_for and not group.findings:
            return group.like(known)
        before = len(self.tree.lacking)
        reading = group.reading()
        if len(self.tree.lacking) == before and group.is_pattern(reading):
            pattern = reading, group.looked_at()
            self._patterns.setdefault(group.contents(), pattern)  # of which more may be asked now
        return reading

    def view(self, node: Node, dims: tuple[str, ...], **known: Any) -> ArrayView:
        """Return an array as handlers see it."""
        return ArrayView(
            node, dims, self.tree, self.maker, self._models, assumed=self._assumed, **known
        )

    def answer(self, view: ArrayView) -> Answer:
        """Return what the conventions say of an array, and which were asked."""
        detected = self.panel.detecting(view)
        ask = partial(self.panel.ask, view, detected)
        return ask() if view.findings else self.answers.get(view, detected, ask)


class _GroupInterpretation:
    """The interpretation of the arrays of one group."""

    def __init__(self, interpreter: Interpreter, group: Node) -> None:
        self._interpreter = interpreter
        self.node = group
        self._tree, others = interpreter.tree, interpreter.passed_over
        self.documents = self._tree.arrays(group)
        self._groups = self._tree.groups(group)
        if others:
            self._groups = [name for name in self._groups if group.child(name) not in others]
            for name in [name for name in self.documents if group.child(name) in others]:
                del self.documents[name]
        dropped = [name for name in self.documents if name in interpreter.dropped]
        self._bounds_of_dropped: dict[str, Mapping[str, Any]] = {}
        for name in dropped:
            self._bounds_of_dropped |= _times_of_bounds(self.documents.pop(name).attributes)
        self._inherited: dict[str, Inherited] = {}
        self._answers: list[Answer] = []
        self._unnamed: list[ArrayView] = []
        self.findings = list(_problems(interpreter, group))

    def contents(self) -> Hashable:
        """Return all that the reading follows from but for where the group is."""
        documents = tuple((name, it.written()) for name, it in self.documents.items())
        groups = tuple(self._groups)
        surroundings = self._interpreter.answers.surroundings_of(self.node, self._tree)
        return documents, groups, repr(self._bounds_of_dropped), surroundings

    def like(self, other: GroupReading) -> GroupReading:
        """Return the reading of the group, given that of one with the same contents."""
        pairs = zip(other.arrays, self.documents.items(), strict=True)
        arrays = tuple(
            replace(array, node=self.node.child(name), document=document)
            for array, (name, document) in pairs
        )
        return replace(other, node=self.node, arrays=arrays)

    def is_pattern(self, reading: GroupReading) -> bool:
        """Tell whether nothing of the group's reading depends on where the group is."""
        is_own = all(array.inherited.is_own for array in reading.arrays)
        is_told = any(it.interpretation.findings for it in self._answers)
        reaches = (*(it.reach for it in self._answers), *map(reach_of, self._unnamed))
        return is_own and not (self.findings or is_told or any(reaches))

    def looked_at(self) -> frozenset[Node]:
        """Return the groups that were looked at, or whose arrays were: its reading is not theirs."""
        by_answers = (it.compared for it in self._answers)
        nodes = frozenset().union(*by_answers, *(it.asked.compared for it in self._unnamed))
        return nodes | {node.group for node in nodes}

    def reading(self) -> GroupReading:
        """Return what is known of the group."""
        self._leave_out_unusable()
        assigned = self._assigned()
        templates = {}
        for name in list(self.documents):
            try:
                node = self.node.child(name)
                templates[name] = self._interpreter.maker.template(node, assigned.dims[name])
            except XGroupMetadataError as error:
                self._leave_out(name, error)
        siblings = {
            name: dict(zip(assigned.dims[name], template.shape, strict=True))
            for name, template in templates.items()
        }
        arrays = [
            self._array(name, template, assigned, siblings) for name, template in templates.items()
        ]
        groups = frozenset(self._groups)
        findings = tuple(self.findings)
        return GroupReading(self.node, tuple(arrays), groups, findings, self._bounds_of_dropped)

    def _leave_out(self, name: str, error: XGroupError) -> None:
        self.findings.append(left_out(self.node.child(name), error))
        del self.documents[name]

    def _leave_out_unusable(self) -> None:
        """Leave out arrays that cannot be opened: they have no say in what dimensions are called."""
        for name, document in list(self.documents.items()):
            node = self.node.child(name)
            try:
                inherited = inherited_dimensions(self._tree, node, document)
                self._interpreter.maker.template(node, _each_once(inherited.declared))
            except XGroupMetadataError as error:
                self._leave_out(name, error)
            else:
                self._inherited[name] = inherited
                self.findings.extend(inherited.findings)

    def _assigned(self) -> Assigned:
        declared = {name: self._inherited[name].declared for name in self.documents}
        hints = {
            name: self._interpreter.panel.axis_names(self._unnamed_view(name))
            for name, names in declared.items()
            if None in names
        }
        assigned = assign_dimensions(self.documents, self.node, declared, hints)
        self.findings.extend(
            finding
            for name, finding in assigned.findings.items()
            # Without its attributes a v2 array has no names either, and that was told.
            if self.node.child(name) not in self._tree.problems
        )
        return assigned

    def _unnamed_view(self, name: str) -> ArrayView:
        self._unnamed.append(self._interpreter.view(self.node.child(name), ()))
        return self._unnamed[-1]

    def _array(
        self,
        name: str,
        template: Template,
        assigned: Assigned,
        siblings: Mapping[str, Mapping[str, int]],
    ) -> ArrayReading:
        node, dims = self.node.child(name), assigned.dims[name]
        if template.fill_value is not None:
            self.findings.append(unusable_fill_value(node, template.fill_value))
        view = self._interpreter.view(
            node,
            dims,
            names=dict(zip(assigned.named[name], dims, strict=True)),
            chunks=template.encoding.get("preferred_chunks", {}),
            siblings=siblings,
        )
        answer = self._interpreter.answer(view)
        self._answers.append(answer)
        return ArrayReading(
            node,
            self.documents[name],
            dims,
            template,
            interpretation=answer.interpretation,
            conventions=answer.conventions,
            is_first_class=answer.is_first_class,
            inherited=self._inherited[name],
        )


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
            what = _("attributes") if tree.is_listed(node) else _("members")
            yield opened_without(what, node, error)
        elif node.name in interpreter.dropped:
            continue
        elif document is None:
            yield left_out(node, error)
        elif document.is_array:  # a group tells of itself when it is opened
            yield opened_without(_("attributes"), node, error)
