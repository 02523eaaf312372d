"""Interpret the arrays of groups by conventions: pure functions of the documents in the tree.

Equal arrays and groups are interpreted once:

1. Arrays of a group share an interpretation if they have the same dimensions, the same metadata, and the same values of the
   attributes that handlers read (`HandlerSet.read_attributes`).
2. Groups without child groups share a reading and its plan if all their documents, and the attributes of the groups
   above, are equal.
3. Interpretations and readings with findings are not shared: a finding is about one array.

Arrays and groups share only if no answer depends on where they are. Handlers can ask four questions about that:

- Does a reference, a path or a description mean this array, or an array of this group? The nodes that it may mean
  (`ArrayReading.referenced`) do not share, and groups that contain such a node do not either.
- To which node does a relative reference or a name of CF lead? To the same one from all siblings: only these share.
- Does a layout of a group above name this array or this group? Then it does not share.
- What is the name of this array or of its group? Handlers that ask for it set `depends_on_name`: then it does not share.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions.array import ArrayView, NodeView
from zarr_xgroup.conventions.cf import CfHandler, declares_hierarchy
from zarr_xgroup.conventions.handler_set import ArrayReading, handler_set
from zarr_xgroup.conventions.model import Inherited
from zarr_xgroup.conventions.multiscales import nodes_in_layout
from zarr_xgroup.conventions.registry import Handlers
from zarr_xgroup.conventions.units import units_of_bounds
from zarr_xgroup.datasets.dimensions import inherited_dimensions, name_dimensions
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.findings import Finding, Topic, left_out, new_finding, without_attributes
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import distinct_names
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.variables.fillvalues import unusable_fill_value

if TYPE_CHECKING:
    from zarr_xgroup.variables.factory import VariableFactory


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
    #: One object for all groups that share this reading and its plan; None if no other group does.
    sharing: object = None
    #: Nodes to which its references point, and their groups. None of these shares the reading.
    referenced: frozenset[Node] = frozenset()
    #: Whether the same metadata refer to other nodes from groups with a different parent.
    is_relative: bool = False


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
        self.handlers = handler_set(handlers)

    def interpret(self, groups: Iterable[Node]) -> list[GroupReading]:
        """Return the readings of groups. `Library.ask` calls it again if documents were missing in the tree."""
        nodes = list(groups)
        function = _shared_reading if len(nodes) > 1 else _own_reading
        return [self.tree.memo(node, function, self, node) for node in nodes]

    def view(self, node: Node, dims: tuple[str, ...], **context: Any) -> ArrayView:
        """Return the view of an array for handlers, with the dimension names `dims`."""
        return ArrayView(
            *(node, dims, self.tree, self.factory),
            crs_of=self.handlers.crs_of,
            assumed=self.assumed,
            **context,
        )

    def texts_around(self, group: Node) -> tuple[bytes, ...]:
        """Return the attributes of a group and of all groups above it, as JSON texts."""

        def texts(node: Node, above: tuple[bytes, ...] | None) -> tuple[bytes, ...]:
            document = self.tree.document(node)
            return (*(above or ()), b"" if document is None else document.attributes.written)

        return self.tree.memo.upwards("texts around", texts, group)

    def in_layouts(self, group: Node) -> frozenset[Node]:
        """Return the nodes that multiscales layouts of a group and of those above it name, with the groups of the layouts."""

        def in_layouts(node: Node, above: frozenset[Node] | None) -> frozenset[Node]:
            document = self.tree.document(node)
            own = () if document is None else nodes_in_layout(NodeView(node, document, self.tree))
            return (above or frozenset()).union(own)

        return self.tree.memo.upwards("in layouts", in_layouts, group)


def _own_reading(interpreter: Interpreter, node: Node) -> GroupReading:
    return _GroupInterpreter(interpreter, node).reading()


def _shared_reading(interpreter: Interpreter, node: Node) -> GroupReading:
    """Return the reading of a group: a copy of that of an equal group if they can share it, otherwise its own."""
    group = _GroupInterpreter(interpreter, node)
    if group.is_parent or group.is_in_layouts or not node.path:
        return group.reading()
    documents = tuple((name, document.written()) for name, document in group.documents.items())
    contents = documents, interpreter.texts_around(node)
    # The keys do not contain the group, so the memo may return the reading of the first equal group.
    for key in (contents, (contents, node.group)):
        reading = interpreter.tree.memo(key, _GroupInterpreter.reading, group)
        if reading.node == node:
            return reading
        is_near = reading.node.group == node.group or not reading.is_relative
        is_unique = reading.sharing is None or node in reading.referenced or group.findings
        if is_near and not is_unique:
            names = [array.node.name for array in reading.arrays]
            arrays = (
                replace(array, node=node.child(name), document=group.documents[name])
                for name, array in zip(names, reading.arrays, strict=True)
            )
            return replace(reading, node=node, arrays=tuple(arrays))
    return group.reading()


class _GroupInterpreter:
    """The interpretation of the arrays of one group."""

    def __init__(self, interpreter: Interpreter, group: Node) -> None:
        self.node, self._interpreter, self._tree = group, interpreter, interpreter.tree
        documents, groups = self._tree.arrays(group), self._tree.groups(group)
        passed_over = interpreter.passed_over and {
            name for name in (*documents, *groups) if group.child(name) in interpreter.passed_over
        }
        self.documents = {name: documents[name] for name in documents if name not in passed_over}
        self.groups = [name for name in groups if name not in passed_over]
        self.is_parent = bool(groups or passed_over)
        self.in_layouts = interpreter.in_layouts(group)
        self.is_in_layouts = bool(self.in_layouts) and not self.in_layouts.isdisjoint(
            [group, *map(group.child, documents)]
        )
        self.findings = list(_document_findings(interpreter, group))
        self._arrays: dict[Hashable, ArrayReading] = {}

    def reading(self) -> GroupReading:
        """Return the reading of the group: its arrays, with named dimensions, interpreted by conventions."""
        factory = self._interpreter.factory
        inherited, bounds_of_dropped = self._usable_arrays()
        named = self._named_dimensions(inherited)
        templates = {
            name: factory.template(self.node.child(name), dims) for name, dims in named.items()
        }
        siblings = {
            name: dict(zip(named[name], template.shape, strict=True))
            for name, template in templates.items()
        }
        arrays = []
        for name, template in templates.items():
            node, dims = self.node.child(name), named[name]
            if template.fill_value is not None:
                self.findings.append(unusable_fill_value(node, template.fill_value))
            own = inherited[name]
            others = {it: sizes for it, sizes in siblings.items() if it not in own.renamed}
            chunks = template.encoding.get("preferred_chunks", {})
            context = {"chunks": chunks, "siblings": others if own.renamed else siblings}
            arrays.append(self._array_reading(node, dims, own, **context))
        return GroupReading(
            *(self.node, tuple(arrays), frozenset(self.groups), tuple(self.findings)),
            bounds_of_dropped,
            sharing=object() if self._may_be_shared(arrays) else None,
            referenced=self._referenced(arrays),
            is_relative=self._is_relative(arrays),
        )

    def _usable_arrays(self) -> tuple[dict[str, Inherited], dict[str, Mapping[str, Any]]]:
        """Return the dimensions of usable arrays by name, and the units of bounds of dropped times.

        Dropped arrays and those that cannot be opened are left out, so that they do not affect names of dimensions.
        """
        interpreter = self._interpreter
        bounds_of_dropped: dict[str, Mapping[str, Any]] = {}
        inherited: dict[str, Inherited] = {}
        for name, document in self.documents.items():
            node = self.node.child(name)
            if name in interpreter.dropped:
                bounds_of_dropped |= units_of_bounds(document.attributes)
                continue
            try:
                dimensions = inherited_dimensions(self._tree, node, document)
                # Distinct names, because xarray warns of a repeated dimension. The final names are assigned later.
                interpreter.factory.template(node, distinct_names(dimensions.declared, "dim_"))
            except XGroupMetadataError as error:
                self.findings.append(left_out(node, error))
            else:
                inherited[name] = dimensions
                self.findings.extend(dimensions.findings)
        return inherited, bounds_of_dropped

    def _named_dimensions(
        self, inherited: Mapping[str, Inherited]
    ) -> Mapping[str, tuple[str, ...]]:
        """Return names for all dimensions of arrays, with hints by conventions for unnamed dimensions."""
        interpreter = self._interpreter
        documents = {name: self.documents[name] for name in inherited}
        declared = {name: dimensions.declared for name, dimensions in inherited.items()}
        hints = {}
        for name, names in declared.items():
            if None in names:
                view = interpreter.view(self.node.child(name), ())
                hints[name], failures = interpreter.handlers.axis_names(view)
                self.findings.extend(failures)
        named, findings = name_dimensions(documents, self.node, declared, hints)
        self.findings.extend(
            finding
            for name, finding in findings.items()
            # A v2 array with unreadable attributes has no names, but the attributes were reported.
            if self.node.child(name) not in self._tree.problems
        )
        return named

    def _array_reading(
        self, node: Node, dims: tuple[str, ...], inherited: Inherited, **context: Any
    ) -> ArrayReading:
        """Return the interpretation of an array by its conventions, shared with equal arrays of the group."""
        interpreter, document = self._interpreter, self.documents[node.name]
        likeness = (
            *(document.text_without_attributes(), dims),
            interpreter.handlers.read_attributes(document.attributes),
            # A layout may describe this array alone, and the coordinate of a dimension has the name of the dimension.
            node.name if node in self.in_layouts or node.name in dims else None,
        )
        shared = self._arrays.get(likeness)
        if shared is not None and node not in shared.referenced:
            template = interpreter.factory.template(node, dims)
            own = {"node": node, "document": document, "template": template}
            return replace(shared, inherited=inherited, **own)
        view = interpreter.view(node, dims, **context)
        array, is_whole = self._tree.whole(interpreter.handlers.interpret, view, inherited)
        array = replace(array, likeness=likeness)
        # One with findings is not shared, unless documents were missing: then all are discarded anyway.
        has_findings = is_whole and array.interpretation.has_findings
        if array.may_be_shared and not has_findings and node not in array.referenced:
            self._arrays[likeness] = array
        return array

    def _referenced(self, arrays: Iterable[ArrayReading]) -> frozenset[Node]:
        """Return the nodes that references of the group point to, and their groups, which attributes may belong to."""
        nodes = frozenset[Node]().union(*(array.referenced for array in arrays))
        return nodes.union(node.group for node in nodes if node.path)

    def _may_be_shared(self, arrays: Iterable[ArrayReading]) -> bool:
        """Return whether siblings with equal documents have the same reading."""
        if self.findings or self._interpreter.assumed or self.node in self._referenced(arrays):
            return False
        return all(
            array.may_be_shared and not array.interpretation.has_findings and array.inherited.is_own
            for array in arrays
        )

    def _is_relative(self, arrays: Iterable[ArrayReading]) -> bool:
        """Return whether the same metadata refer to other nodes from groups with a different parent."""
        if declares_hierarchy(self._tree, self.node):
            return True
        followed = [it for array in arrays for it in array.interpretation.references]
        targets = {reference.leads_to for reference in followed if reference.is_absolute}
        return any(
            CfHandler in array.conventions
            or any(node.group != self.node for node in array.referenced - targets)
            for array in arrays
        ) or not all(reference.is_absolute for reference in followed)


def _document_findings(interpreter: Interpreter, group: Node) -> Iterable[Finding]:
    """Yield findings about documents of a group and its arrays that cannot be read or understood."""
    tree = interpreter.tree
    for node, error in tree.problems_near(group):
        document = tree.document_if_read(node)
        if node == group:
            is_listed = tree.is_listed(node)
            members = new_finding(Topic.METADATA, node, error, cost=_("members"))
            yield without_attributes(node, error) if is_listed else members
        elif node.name in interpreter.dropped:
            continue
        elif document is None:
            yield left_out(node, error)
        elif document.is_array:  # child groups report their own documents
            yield without_attributes(node, error)
