"""Views of arrays that record what handlers look up, compare and print.

Arrays and groups share interpretations because handlers state which attributes they read, and whether an answer depends on
the place of the array. `unstated` returns everything on which answers depended without a statement. It interprets each
array of a store once more, with a view that has only the attributes that handlers state. Its node and the node of its
group record questions about their places.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from zarr_xgroup import XGroupError
from zarr_xgroup.conventions import ArrayView
from zarr_xgroup.conventions.handler_set import ArrayReading, HandlerSet
from zarr_xgroup.datasets.interpretation import _GroupInterpreter
from zarr_xgroup.metadata.documents import Document, JsonObject
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import Memo
from zarr_xgroup.tests.builders import quietly

#: Modules that look up nodes by their place, and compare them for a handler only through these. A reference that leads
#: to an array is recorded in `Resolver.reached`.
_LOOKING_UP = ("metadata/tree.py", "resolver.py", "variables/factory.py", "findings.py")
#: Functions whose question is no dependence: whether a node is the root; and which item of a layout names it, because
#: nothing is shared with a node that a layout names.
_NOT_ASKING = ("group", "_declared_above", "attributes_above", "item_of", "report")


class RecordingNode(Node, frozen=True, eq=False):
    """The node of an array, or of its group, that records questions about its place. It is equal to its plain node.

    Attributes
    ----------
    plain : Node
        The node.
    questions : set of str or Node
        The uses of its name and path, and the different nodes with which it was compared.
    within : RecordingNode or None
        The group of an array.
    """

    plain: Node
    questions: set[str | Node]
    within: RecordingNode | None = None

    @classmethod
    def of(cls, node: Node) -> RecordingNode:
        """Return the recording node of an array."""
        group = node.group
        within = cls(group.store, group.path, group, set())
        return cls(node.store, node.path, node, set(), within)

    def _record(self, question: str | Node) -> None:
        frame: Any = sys._getframe(2)
        while frame.f_code.co_filename.endswith(("metadata/nodes.py", __file__)):
            frame = frame.f_back
        function, file = frame.f_code.co_name, Path(frame.f_code.co_filename).as_posix()
        if function in _NOT_ASKING or file.endswith(_LOOKING_UP):
            return
        in_words = f"{question} in {function}" if isinstance(question, str) else question
        self.questions.add(in_words)

    @property  # type: ignore[misc]
    def path(self) -> str:
        self._record("path")
        return self.plain.path

    @property
    def name(self) -> str:
        self._record("name")
        return self.plain.name

    @property
    def group(self) -> Node:
        if self.within is not None:
            return self.within
        self._record("path")
        return self.plain.group

    def child(self, name: str) -> Node:
        return self.plain.child(name)

    def ancestors(self) -> Iterator[Node]:
        if self.within is not None:
            yield self.within
            yield from self.plain.group.ancestors()
        else:
            self._record("path")
            yield from self.plain.ancestors()

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if not isinstance(other, Node):
            return False
        node = other.plain if isinstance(other, RecordingNode) else other
        self._record("comparison" if self.plain == node else node)
        return self.plain == node

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        self._record("hash")
        return hash(self.plain)

    def __str__(self) -> str:
        self._record("text")
        return str(self.plain)

    __repr__ = __str__


class StatedAttributes(Mapping[str, Any]):
    """The attributes of an array that handlers state; records the names of others that are looked up.

    Not a dict, because functions in C read a dict without calling its methods.
    """

    def __init__(self, handlers: HandlerSet, attributes: JsonObject) -> None:
        self._handlers, self._all = handlers, attributes
        texts = dict(handlers.read_attributes(attributes))
        members = b",".join(json.dumps(name).encode() + b":" + texts[name] for name in texts)
        self._stated = JsonObject({name: attributes[name] for name in texts}, b"{%s}" % members)
        self.unstated: set[str] = set()

    def _looked_up(self, name: Any) -> JsonObject:
        attributes = {name: self._all.get(name)}
        written = JsonObject(attributes, json.dumps(attributes).encode())
        if not self._handlers.read_attributes(written):
            self.unstated.add(name)
        return self._stated

    def get(self, name: str, default: Any = None) -> Any:
        return self._looked_up(name).get(name, default)

    def text(self, name: str) -> bytes | None:
        return self._looked_up(name).text(name)

    def __getitem__(self, name: str) -> Any:
        return self._looked_up(name)[name]

    def __contains__(self, name: object) -> bool:
        return name in self._looked_up(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stated)

    def __len__(self) -> int:
        return len(self._stated)

    @property
    def written(self) -> bytes:
        return self._stated.written

    @property
    def texts(self) -> dict[str, bytes]:
        return self._stated.texts


class RecordingView(ArrayView):
    """The view of an array whose own node and own attributes record."""

    def __init__(self, view: ArrayView, handlers: HandlerSet) -> None:
        super().__init__(
            *(view.node, view.dims, view.tree, view.factory),
            crs_of=view.crs_of,
            chunks=view.chunks,
            siblings=view.siblings,
            assumed=view.assumed,
        )
        self.own = RecordingNode.of(view.node)
        self.stated = StatedAttributes(handlers, view.document.attributes)
        attributes: Any = self.stated
        self.node, self.attributes = self.own, attributes
        described = view.document.text_without_attributes()
        self.document = Document(view.document, described, attributes)

    def document_of(self, node: Node) -> Document | None:
        return self.document if node is self.own else super().document_of(node)

    @property
    def own_questions(self) -> Iterator[str]:
        """What was asked about the array that equal arrays of its group may answer differently.

        The name of an array with the name of its dimension is part of what equal arrays have in common.
        """
        node, reached = self.own.plain, self.resolver.reached | self.referred
        if self.depends_on_name or node in reached or node.name in self.dims:
            return
        likely = {node.group.child(name) for name in self.siblings if name not in self.dims}
        for question in self.own.questions:
            if isinstance(question, str):
                yield question
            elif question in likely and question not in reached:
                yield f"comparison with {question}"

    @property
    def questions_about_group(self) -> Iterator[str | Node]:
        """What was asked about the group: nodes with which it was compared, and uses of its name and path."""
        if self.own.within is not None:
            above = set(self.own.plain.group.ancestors())  # which are not equal
            yield from self.own.within.questions - above


@contextmanager
def _nothing_known(tree: Any) -> Iterator[None]:
    """Ask for everything again that was asked for other arrays before."""
    memo, tree.memo = tree.memo, Memo(tree)
    yield
    tree.memo = memo


def unstated(store: Any, **options: Any) -> set[str]:
    """Open a store as a tree; return what interpretations depended on that handlers do not state, by array.

    Also return the arrays that share an interpretation which is different from their own.
    """
    found: set[str] = set()
    array_reading, marks_of = _GroupInterpreter._array_reading, HandlerSet.marks_of

    def record_interpretation(
        group: Any, node: Node, dims: tuple[str, ...], inherited: Any, **context: Any
    ) -> ArrayReading:
        reading = array_reading(group, node, dims, inherited, **context)
        handlers = group._interpreter.handlers
        view = RecordingView(group._interpreter.view(node, dims, **context), handlers)
        with _nothing_known(view.tree):
            own, is_whole = view.tree.whole(handlers.interpret, view, inherited)
        if is_whole:
            found.update(f"{node}: {fault}" for fault in _faults(group, view, reading, own))
        return reading

    def record_marks(handlers: HandlerSet, view: ArrayView, *chosen: Any) -> Any:
        if not isinstance(view, RecordingView):
            recording = RecordingView(view, handlers)
            with _nothing_known(view.tree):
                _marks, is_whole = view.tree.whole(marks_of, handlers, recording, *chosen)
            if is_whole:
                faults = (*recording.stated.unstated, *recording.own_questions)
                found.update(f"{view.node}: {fault} for its marks" for fault in faults)
        return marks_of(handlers, view, *chosen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_GroupInterpreter, "_array_reading", record_interpretation)
        patch.setattr(HandlerSet, "marks_of", record_marks)
        with suppress(XGroupError):  # a random store may be unusable
            quietly(xr.open_datatree, store, engine="xgroup", **options)
    return found


def _faults(
    group: Any, view: RecordingView, reading: ArrayReading, own: ArrayReading
) -> Iterator[str]:
    """Yield what the interpretation of an array depended on without a statement.

    `reading` is its reading, which equal arrays may share, and `own` that by the recording view.
    """
    if reading.interpretation.has_findings or not reading.may_be_shared:
        return
    yield from view.stated.unstated
    is_named = view.own.plain in group.in_layouts
    yield from () if is_named else view.own_questions
    if not (group.is_parent or group.is_in_layouts) and group._may_be_shared([own]):
        for question in view.questions_about_group:
            if isinstance(question, Node):
                if question not in group._referenced([own]):
                    yield f"comparison of its group with {question}"
            elif question.startswith(("name", "comparison")) or not group._is_relative([own]):
                yield f"{question}, of its group"
    for part in ("conventions", "declares_principal", "assumed"):
        if getattr(reading, part) != getattr(own, part):
            yield f"has its own {part}"
    for part in own.interpretation.__struct_fields__:
        ours, theirs = (
            [each.without_place() for each in value] if part == "references" else value
            for value in (getattr(it.interpretation, part) for it in (reading, own))
        )
        if ours != theirs:
            yield f"has its own {part}"
