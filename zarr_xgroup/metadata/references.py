"""Parsing of references in all their forms.

Rules: ref convention; RFC 3986, section 5.2 (relative paths); RFC 6901 (JSON pointers).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from zarr_xgroup.errors import XGroupPathError, XGroupReferenceError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node, keys_of, pointer_to
from zarr_xgroup.metadata.paths import is_node_name
from zarr_xgroup.redaction import redact

#: The members of a reference, and the key under which one may be wrapped.
NODE, URI, POINTER = "node", "uri", "attribute"
WRAPPED = "ref"

#: A text in the JSON text of each reference.
_QUOTED = f'"{NODE}"'.encode()

#: A list index (RFC 6901, section 4), of limited length.
_INDEX = re.compile("0|[1-9][0-9]{0,17}")


class Reference(msgspec.Struct, frozen=True):
    """A parsed reference to a node, or to a value in its document.

    Attributes
    ----------
    node : str
        The path of the node; from the root of the foreign store if `uri` is given.
    uri : str or None
        The URI of a foreign store.
    attribute : str or None
        A JSON pointer into the node's document.
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
            If the value is not such an object.
        XGroupPathError
            If the path of the node is empty or not valid, or the pointer is malformed.
        """
        fragment = unwrapped(fragment)
        fragment.as_object()
        node, uri, pointer = map(fragment.get, (NODE, URI, POINTER))
        if node is None:
            raise fragment.error(_("is not a reference: it has no 'node'"))
        path = path_of(node)
        store = None if uri is None else uri.as_text()
        return cls(path, store, None if pointer is None else pointer_of(pointer))

    def __str__(self) -> str:
        """Return the short form, ``uri|node#attribute``, without credentials."""
        store = f"{redact(self.uri)}|" if self.uri else ""
        return store + self.node + (f"#{self.attribute}" if self.attribute is not None else "")

    def __repr__(self) -> str:
        """Return the short form within a call."""
        return f"{type(self).__name__}({str(self)!r})"


def unwrapped(reference: Fragment) -> Fragment:
    """Return a reference without ``{"ref": ...}`` around it."""
    if isinstance(reference.value, OBJECT) and NODE not in reference.value:
        return reference.get(WRAPPED) or reference
    return reference


def path_of(node: Fragment) -> str:
    """Return the path in a reference; raise XGroupPathError unless it consists of names of nodes, ``.`` and ``..``."""
    path = node.as_text()
    segments = path.removeprefix("/").removesuffix("/").split("/")
    are_names = all(name in (".", "..") or is_node_name(name) for name in segments)
    if path == "/" or ("\0" not in path and are_names):
        return path
    target = redact(path)
    reason = _("{path!r} is not a valid path of a node").format(path=target)
    raise XGroupPathError(reason, place=str(node), target=target)


def pointer_of(attribute: Fragment) -> str:
    """Return the JSON pointer in a reference; raise XGroupPathError if it is not valid."""
    try:
        check_pointer(attribute.as_text())
    except XGroupPathError as error:
        place, reason = str(attribute), str(error)
        raise XGroupPathError(reason, place=place, target=error.target) from error
    return attribute.as_text()


def check_pointer(pointer: str) -> None:
    """Raise XGroupPathError unless a text is a valid JSON pointer (RFC 6901, section 3)."""
    if (pointer and not pointer.startswith("/")) or re.search(r"~(?![01])", pointer):
        message = _("{pointer!r} is not a valid JSON pointer").format(pointer=pointer)
        raise XGroupPathError(message, target=pointer, reason=message)


def at_pointer(node: Node, document: Mapping[str, Any], pointer: str) -> Fragment:
    """Return the value at a JSON pointer in a node's document (RFC 6901).

    Raises
    ------
    XGroupPathError
        If the pointer is malformed.
    XGroupReferenceError
        If there is no value.
    """
    check_pointer(pointer)
    keys = keys_of(pointer)
    value: Any = document
    for depth, key in enumerate(keys):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            missing = pointer_to(keys[: depth + 1])
            message = _("there is no value at #{pointer}").format(pointer=missing)
            raise XGroupReferenceError(message, target=pointer, reason=message)
    return Fragment(node, keys, value)


def is_reference(value: Any) -> bool:
    """Return whether a JSON value is a reference, bare or in ``{"ref": ...}``."""
    if not isinstance(value, OBJECT):
        return False
    inner = value.get(WRAPPED, value) if NODE not in value else value
    return isinstance(inner, OBJECT) and isinstance(inner.get(NODE), str)


def references_in(fragment: Fragment) -> Iterator[Fragment]:
    """Yield the outermost references within a JSON value."""
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


def may_refer(text: bytes | None) -> bool:
    """Return whether the JSON text of an attribute may contain references; an escape sequence may hide one."""
    return text is not None and (_QUOTED in text or b"\\u" in text)
