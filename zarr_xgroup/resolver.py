"""References between nodes: parsed once, resolved to the first candidate that fits.

Knows no convention, no store and no xarray: nodes are JSON documents that somebody finds.
Rules: ref convention; RFC 3986, section 5.2 (relative paths); RFC 6901 (JSON pointers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from zarr_xgroup.documents import Document
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupPathError,
    XGroupReferenceError,
    XGroupStoreError,
)
from zarr_xgroup.i18n import _
from zarr_xgroup.paths import join_path

#: How many references may follow one another before that is taken for a mistake.
MAX_DEPTH = 16

T = TypeVar("T")

#: A list index of RFC 6901, section 4, no longer than any list.
_INDEX = re.compile("0|[1-9][0-9]{0,17}")


class Documents(Protocol):
    """Where the metadata documents of one store are found."""

    @property
    def name(self) -> str:
        """What messages call the store."""

    def find(self, path: str) -> Document | None:
        """Return the document of the node at a path (without leading slash), or None."""

    def foreign(self, uri: str) -> Node:
        """Return the root of another store, or raise XGroupStoreError."""

    def problem(self, path: str) -> XGroupError | None:
        """Return why the node at a path, though it may be there, cannot be used."""

    def why_absent(self, path: str) -> str:
        """Return why there is no node at a path."""


@dataclass(frozen=True)
class Node:
    """A place: where documents are found, and a path among them (the root is "")."""

    documents: Documents = field(repr=False)
    path: str

    @property
    def document(self) -> Document | None:
        """The node's metadata document, in the shape of Zarr v3; None if there is no node."""
        return self.documents.find(self.path)

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]

    @property
    def group(self) -> Node:
        """The group that contains the node; the root is in itself."""
        return Node(self.documents, self.path.rpartition("/")[0])

    def attribute(self, key: str) -> Fragment | None:
        """Return one of the node's attributes, or None if it has none such."""
        document = self.document
        if document is None or document["attributes"].get(key) is None:
            return None
        return Fragment(self, ("attributes", key), document["attributes"][key])

    def __str__(self) -> str:
        """Return the absolute path."""
        return f"/{self.path}"


@dataclass(frozen=True)
class Fragment:
    """A JSON value that knows the node it is written in and the way to it.

    Attributes
    ----------
    node : Node
        Where it is written.
    keys : tuple of str
        The way from the node's document to the value.
    value : object
        The value.
    """

    node: Node
    keys: tuple[str, ...]
    value: Any

    @property
    def pointer(self) -> str:
        """The JSON pointer to the value in its node's document (RFC 6901)."""
        return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in self.keys)

    def __str__(self) -> str:
        """Return the place: the node's path, ``#``, and the JSON pointer."""
        return f"{self.node}#{self.pointer}"

    def get(self, key: str) -> Fragment | None:
        """Return the member of an object, or None where there is none or it is null."""
        if not isinstance(self.value, Mapping) or self.value.get(key) is None:
            return None
        return Fragment(self.node, (*self.keys, key), self.value[key])

    def members(self) -> Iterator[tuple[str, Fragment]]:
        """Yield the members of what must be an object."""
        for key, value in self.as_object().items():
            yield key, Fragment(self.node, (*self.keys, key), value)

    def items(self) -> Iterator[Fragment]:
        """Yield the items of what must be a list."""
        for index, value in enumerate(self.as_list()):
            yield Fragment(self.node, (*self.keys, str(index)), value)

    def as_object(self) -> Mapping[str, Any]:
        """Return the value if it is an object, else raise XGroupMetadataError."""
        if not isinstance(self.value, Mapping):
            raise self.error(_("must be an object, got {kind}").format(kind=kind_of(self.value)))
        return self.value

    def as_list(self) -> Sequence[Any]:
        """Return the value if it is a list, else raise XGroupMetadataError."""
        if not isinstance(self.value, list):
            raise self.error(_("must be a list, got {kind}").format(kind=kind_of(self.value)))
        return self.value

    def as_text(self) -> str:
        """Return the value if it is a string, else raise XGroupMetadataError."""
        if not isinstance(self.value, str):
            raise self.error(_("must be a string, got {kind}").format(kind=kind_of(self.value)))
        return self.value

    def error(self, reason: str) -> XGroupMetadataError:
        """Return an error that says what is wrong with this value."""
        return XGroupMetadataError(f"{self} {reason}")


def kind_of(value: Any) -> str:
    """Return the JSON name of a value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "list" if isinstance(value, list) else "object"


def at_pointer(node: Node, pointer: str) -> Fragment:
    """Return what stands at a JSON pointer in a node's document (RFC 6901).

    Raises
    ------
    XGroupPathError
        If the pointer is malformed.
    XGroupReferenceError
        If nothing stands there.
    """
    _check_pointer(pointer)
    keys = tuple(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:])
    value: Any = node.document
    for depth, key in enumerate(keys):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            there = Fragment(node, keys[: depth + 1], None).pointer
            message = _("nothing stands at {pointer}").format(pointer=there)
            raise XGroupReferenceError(message)
    return Fragment(node, keys, value)


def _check_pointer(pointer: str) -> None:
    if (pointer and not pointer.startswith("/")) or re.search(r"~(?![01])", pointer):
        message = _("{pointer!r} is no JSON pointer").format(pointer=pointer)
        raise XGroupPathError(message)


@dataclass(frozen=True)
class Reference:
    """A reference as it is written: to a node, or to a part of its document.

    Attributes
    ----------
    node : str
        Path of the node; absolute from the root of `uri` where that is given.
    uri : str or None
        Another store.
    attribute : str or None
        JSON pointer into the node's document.
    """

    node: str
    uri: str | None = None
    attribute: str | None = None

    @classmethod
    def parse(cls, fragment: Fragment) -> Reference:
        """Parse ``{"node": ..., "uri"?: ..., "attribute"?: ...}``, bare or in ``{"ref": ...}``.

        Raises
        ------
        XGroupMetadataError
            If it is no such object.
        XGroupPathError
            If the path of the node is empty or has empty segments, or the pointer is
            malformed.
        """
        if isinstance(fragment.value, Mapping) and "node" not in fragment.value:
            fragment = fragment.get("ref") or fragment
        fragment.as_object()
        node = fragment.get("node")
        if node is None:
            raise fragment.error(_("is no reference: it has no 'node'"))
        path = node.as_text()
        if not path or "//" in path or "\0" in path:
            message = _("{place}: {path!r} is not the path of a node").format(place=node, path=path)
            raise XGroupPathError(message)
        uri, attribute = fragment.get("uri"), fragment.get("attribute")
        if attribute is not None:
            try:
                _check_pointer(attribute.as_text())
            except XGroupPathError as error:
                message = f"{attribute}: {error}"
                raise XGroupPathError(message) from error
        return cls(
            path,
            None if uri is None else uri.as_text(),
            None if attribute is None else attribute.as_text(),
        )

    def __str__(self) -> str:
        """Return the reference in short: ``uri|node#attribute``."""
        store = f"{self.uri}|" if self.uri else ""
        return store + self.node + (f"#{self.attribute}" if self.attribute is not None else "")


def is_reference(value: Any) -> bool:
    """Tell whether a JSON value is written as a reference, bare or in ``{"ref": ...}``."""
    if not isinstance(value, Mapping):
        return False
    inner = value.get("ref", value) if "node" not in value else value
    return isinstance(inner, Mapping) and isinstance(inner.get("node"), str)


def references_in(fragment: Fragment) -> Iterator[Fragment]:
    """Yield everything within a JSON value that is written as a reference, outermost only."""
    # Not recursive: a document may be nested deeper than Python's stack.
    stack: list[tuple[tuple[str, ...], Any]] = []
    if isinstance(fragment.value, dict | list):
        stack.append((fragment.keys, fragment.value))
    while stack:
        keys, value = stack.pop()
        if isinstance(value, dict):
            if is_reference(value):
                yield Fragment(fragment.node, keys, value)
                continue
            members: Iterable[tuple[str, Any]] = value.items()
        else:
            members = ((str(index), item) for index, item in enumerate(value))
        nested = [((*keys, key), item) for key, item in members if isinstance(item, dict | list)]
        stack.extend(reversed(nested))


def join(base: str, path: str) -> str | None:
    """Return a path relative to a base group, or None where it leads above the root.

    Parameters
    ----------
    base : str
        Path of a group, without leading slash.
    path : str
        Relative path; ``.`` and ``..`` segments as in RFC 3986, but never clamped.
    """
    segments = base.split("/") if base else []
    for segment in path.rstrip("/").split("/"):
        if segment == "..":
            if not segments:
                return None
            segments.pop()
        elif segment != ".":
            segments.append(segment)
    return "/".join(segments)


def candidates(reference: Reference, referrer: Node, written: Node) -> list[Node]:
    """Return the nodes that a reference may mean, most likely first.

    Parameters
    ----------
    reference : Reference
        The reference.
    referrer : Node
        The array it is followed for.
    written : Node
        The node it is written in: the array itself, or another one that the array refers to.

    Raises
    ------
    XGroupStoreError
        If the reference is to a store that cannot be opened.
    XGroupPathError
        If it leads above the root of the store, however it is understood.
    """
    if reference.uri is not None:
        root = written.documents.foreign(reference.uri)
        path = join("", reference.node.lstrip("/"))
        place = None if path is None else join_path(root.path, path)
        return _nodes(root.documents, [place], reference)
    if reference.node.startswith("/"):
        return _nodes(written.documents, [join("", reference.node.lstrip("/"))], reference)
    bases: list[str] = []
    if written.documents is referrer.documents:
        bases += [referrer.group.path, referrer.path]
    if written != referrer:
        document = written.document
        inside = document is not None and document["node_type"] == "group"
        # A group's attributes stand in that group: its own path is what contains them.
        ends = [written.path, written.group.path]
        bases += ends if inside else ends[::-1]
    return _nodes(written.documents, [join(base, reference.node) for base in bases], reference)


def _nodes(documents: Documents, paths: list[str | None], reference: Reference) -> list[Node]:
    nodes = [Node(documents, path) for path in dict.fromkeys(paths) if path is not None]
    if not nodes:
        message = _("{target!r} leads above the root of the store").format(target=reference.node)
        raise XGroupPathError(message)
    return nodes


class Resolver:
    """Follows the references of one array.

    Parameters
    ----------
    referrer : Node
        The array.
    note : callable
        Called with a text where a choice had to be made between candidates.
    """

    def __init__(self, referrer: Node, note: Callable[[str], None]) -> None:
        self.referrer = referrer
        self._note = note

    def array(
        self, fragment: Fragment, fits: Callable[[Node], str | None] = lambda _node: None
    ) -> Node:
        """Return the array that a reference leads to.

        Parameters
        ----------
        fragment : Fragment
            The reference.
        fits : callable
            Given an array, says why it cannot be the one meant, or None if it can be.

        Raises
        ------
        XGroupReferenceError
            If no candidate is an array that fits, or references form a cycle or a chain of
            more than `MAX_DEPTH`.
        XGroupPathError, XGroupStoreError, XGroupMetadataError
            If the reference leads above the root, to a store that cannot be opened, or is
            malformed.
        """

        def accept(found: Fragment) -> Node:
            document = found.node.document
            if found.keys or document is None or document["node_type"] != "array":
                kind = _("a group") if not found.keys else kind_of(found.value)
                message = _("an array is needed, found {kind}").format(kind=kind)
                raise XGroupReferenceError(message)
            reason = fits(found.node)
            if reason is not None:
                raise XGroupReferenceError(reason)
            return found.node

        return self._resolve(fragment, accept)

    def fragment(self, fragment: Fragment) -> Fragment:
        """Return a value itself, or what it leads to if it is a reference.

        Raises
        ------
        XGroupReferenceError, XGroupPathError, XGroupStoreError, XGroupMetadataError
            As for `array`.
        """
        if not is_reference(fragment.value):
            return fragment
        return self._resolve(fragment, lambda found: found)

    def _resolve(self, fragment: Fragment, accept: Callable[[Fragment], T]) -> T:
        found = _Search(self.referrer, accept).follow(fragment, ())
        if isinstance(found.result, XGroupError):
            raise found.result
        for note in found.notes:
            self._note(note)
        return found.result


@dataclass(frozen=True)
class _Found(Generic[T]):
    """Where a reference leads: what was accepted there, or why nothing was.

    Attributes
    ----------
    result : object or XGroupError
        What was accepted, or the error.
    notes : tuple of str
        The choices made on the way.
    """

    result: T | XGroupError
    notes: tuple[str, ...] = ()


class _Search(Generic[T]):
    """The search for the end of one reference, each place on the way looked at once.

    Parameters
    ----------
    referrer : Node
        The array that the reference is followed for.
    accept : callable
        Given what stands at an end, returns the result or raises XGroupError.
    """

    def __init__(self, referrer: Node, accept: Callable[[Fragment], T]) -> None:
        self._referrer = referrer
        self._accept = accept
        self._known: dict[tuple[int, str], _Found[T]] = {}

    def follow(self, fragment: Fragment, chain: tuple[Fragment, ...]) -> _Found[T]:
        """Follow a reference that others, the chain, have led to."""
        key = (id(fragment.node.documents), str(fragment))
        if key not in self._known:
            endless = _endless(fragment, chain)
            if endless is not None:
                return _Found(endless)
            try:
                self._known[key] = self._choose(fragment, (*chain, fragment))
            except XGroupError as error:
                self._known[key] = _Found(error)
        return self._known[key]

    def _choose(self, fragment: Fragment, chain: tuple[Fragment, ...]) -> _Found[T]:
        """Return the first candidate that fits; note what else there was."""
        reference = Reference.parse(fragment)
        try:
            nodes = candidates(reference, self._referrer, fragment.node)
        except XGroupPathError as error:
            message = f"{fragment}: {error}"
            raise XGroupPathError(message) from error
        except XGroupStoreError as error:
            raise XGroupStoreError.of(error.store, str(error), str(fragment)) from error
        outcomes = [(node, self._at(node, reference, chain)) for node in nodes]
        fitting = [
            index
            for index, (_node, found) in enumerate(outcomes)
            if not isinstance(found.result, XGroupError)
        ]
        if not fitting:
            raise _failure(fragment, reference, outcomes, is_nested=len(chain) > 2)
        node, chosen = outcomes[fitting[0]]
        others = [
            f"{other} ({found.result})"
            for other, found in outcomes[: fitting[0]]
            if other.document is not None
        ] + [
            _("{node} (which fits too)").format(node=outcomes[index][0])
            for index in fitting[1:]
            if outcomes[index][1].result != chosen.result
        ]
        if not others:
            return chosen
        note = _("{place}: {target!r} was taken to be {node}, not {others}").format(
            place=fragment, target=str(reference), node=node, others=", ".join(others)
        )
        return _Found(chosen.result, (note, *chosen.notes))

    def _at(self, node: Node, reference: Reference, chain: tuple[Fragment, ...]) -> _Found[T]:
        """Return what a reference to a node, or to a part of its document, leads to."""
        try:
            if node.document is None:
                return _Found(node.documents.problem(node.path) or _AbsentError(node))
            if reference.attribute is None:
                return _Found(self._accept(Fragment(node, (), node.document)))
            found = at_pointer(node, reference.attribute)
            if not is_reference(found.value):
                return _Found(self._accept(found))
        except XGroupError as error:
            return _Found(error)
        return self.follow(found, chain)


def _failure(
    fragment: Fragment,
    reference: Reference,
    outcomes: Sequence[tuple[Node, _Found[Any]]],
    *,
    is_nested: bool,
) -> XGroupError:
    """Return the error of a reference none of whose candidates fits."""
    for _node, found in outcomes:
        if isinstance(found.result, _EndlessError):
            return found.result
        failure = found.result
        if isinstance(failure, XGroupStoreError) and failure.store:
            return XGroupStoreError.of(failure.store, failure.reason, str(fragment))
    # Reasons of reasons of reasons would grow without bound.
    tried = ", ".join(f"{node}" if is_nested else f"{node} ({f.result})" for node, f in outcomes)
    message = _("{place}: {target!r} leads nowhere, tried {tried}").format(
        place=fragment, target=str(reference), tried=tried
    )
    return XGroupReferenceError(message)


def _endless(fragment: Fragment, chain: tuple[Fragment, ...]) -> _EndlessError | None:
    places = [str(link) for link in (*chain, fragment)]
    if places[-1] in places[:-1]:
        reason = _("references form a cycle")
    elif len(places) > MAX_DEPTH:
        reason = _("more than {number} references follow one another").format(number=MAX_DEPTH)
    else:
        return None
    message = f"{places[0]}: {reason}: {' -> '.join(places)}"
    return _EndlessError(message)


class _AbsentError(XGroupReferenceError):
    """There is no node. Why is found out only if it is told: that may need the store."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._node = node

    def __str__(self) -> str:
        return self._node.documents.why_absent(self._node.path)


class _EndlessError(XGroupReferenceError):
    """References that do not end, whichever candidate is taken."""
