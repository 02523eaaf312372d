"""Nodes of a store, and JSON values with their places.

There are many of them for every array. Structs of msgspec are made, compared and hashed in a fraction of the time of
frozen dataclasses. They need no garbage collection, because JSON contains no reference cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from zarr_xgroup.errors import Rule, Severity, XGroupMetadataError
from zarr_xgroup.i18n import _

#: The keys and list indexes of a value in a document.
Keys = tuple[str, ...]

#: The types of JSON objects. Most are dicts, for which `isinstance` is fastest.
OBJECT = (dict, Mapping)


class Node(msgspec.Struct, frozen=True, gc=False):
    """A location: a store and a path in it.

    Attributes
    ----------
    store : int
        The store's number in an open call: 0 is the opened store; foreign stores follow in the order in
        which they are opened.
    path : str
        The path without slashes at the ends; "" for the root.
    """

    store: int
    path: str

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]

    @property
    def group(self) -> Node:
        """The group that contains the node; the root for the root."""
        return Node(self.store, self.path.rpartition("/")[0])

    def child(self, name: str) -> Node:
        """Return the node with a name in this group, or at a path below it; this group for ""."""
        path = f"{self.path}/{name}" if self.path and name else self.path or name
        return Node(self.store, path)

    def ancestors(self) -> Iterator[Node]:
        """Yield the groups that contain the node, the nearest first, the root last."""
        node = self
        while node.path:
            node = node.group
            yield node

    def __str__(self) -> str:
        """Return the absolute path."""
        return f"/{self.path}"


class Fragment(msgspec.Struct, frozen=True, gc=False):
    """A JSON value with its place: the node whose document contains it, and its keys.

    Attributes
    ----------
    node : Node
        The node whose document contains the value.
    keys : tuple of str
        The keys of the value in the node's document.
    value : object
        The value.
    """

    node: Node
    keys: Keys
    value: Any

    @property
    def pointer(self) -> str:
        """The JSON pointer to the value in its node's document (RFC 6901)."""
        return pointer_to(self.keys)

    def __str__(self) -> str:
        """Return the place: the node's path, ``#``, and the JSON pointer."""
        return f"{self.node}#{self.pointer}"

    def place(self, *keys: str) -> Fragment:
        """Return the place of a member, which may be missing."""
        return Fragment(self.node, (*self.keys, *keys), None)

    @property
    def part(self) -> Part:
        """The value and its keys, without the node."""
        return Part(self.keys, self.value)

    def get(self, key: str) -> Fragment | None:
        """Return the member of an object, None if it is missing or null."""
        value = self.value.get(key) if isinstance(self.value, OBJECT) else None
        return None if value is None else Fragment(self.node, (*self.keys, key), value)

    def required(self, key: str) -> Fragment:
        """Return the member of an object; raise XGroupMetadataError if it is missing or the value is not an object."""
        self.as_object()
        member = self.get(key)
        if member is None:
            raise self.error(_("has no {key!r}").format(key=key))
        return member

    def members(self) -> Iterator[tuple[str, Fragment]]:
        """Yield the members of an object; raise XGroupMetadataError if the value is not an object."""
        for key, value in self.as_object().items():
            yield key, Fragment(self.node, (*self.keys, key), value)

    def items(self) -> Iterator[Fragment]:
        """Yield the items of a list; raise XGroupMetadataError if the value is not a list."""
        for index, value in enumerate(self.as_list()):
            yield Fragment(self.node, (*self.keys, str(index)), value)

    def as_object(self) -> Mapping[str, Any]:
        """Return the value; raise XGroupMetadataError if it is not an object."""
        if not isinstance(self.value, OBJECT):
            raise self.error(_("must be an object, got {kind}").format(kind=kind_of(self.value)))
        return self.value

    def as_list(self) -> Sequence[Any]:
        """Return the value; raise XGroupMetadataError if it is not a list."""
        if not isinstance(self.value, list):
            raise self.error(_("must be a list, got {kind}").format(kind=kind_of(self.value)))
        return self.value

    def as_text(self) -> str:
        """Return the value; raise XGroupMetadataError if it is not a string."""
        if not isinstance(self.value, str):
            raise self.error(_("must be a string, got {kind}").format(kind=kind_of(self.value)))
        return self.value

    def error(
        self, reason: str, rule: Rule | None = None, remedy: str = "", severity: Severity = "error"
    ) -> XGroupMetadataError:
        """Return an error about this value: the reason, the broken rule, and how to fix it."""
        return XGroupMetadataError(
            reason, place=str(self), keys=self.keys, rule=rule, remedy=remedy, severity=severity
        )


class Part(msgspec.Struct, frozen=True, gc=False):
    """A JSON value and its keys, without the node that contains it: part of a model.

    Attributes
    ----------
    keys : tuple of str
        The keys of the value in a document.
    value : object
        The value.
    """

    keys: Keys
    value: Any

    def at(self, node: Node) -> Fragment:
        """Return the value with its place in a node."""
        return Fragment(node, self.keys, self.value)


def pointer_to(keys: Keys) -> str:
    """Return the JSON pointer (RFC 6901) of keys in a document."""
    return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in keys)


def keys_of(pointer: str) -> Keys:
    """Return the keys of a JSON pointer (RFC 6901)."""
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:])


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
