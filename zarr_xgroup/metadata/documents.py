"""Zarr metadata as JSON documents: v2 and v3, single and consolidated, in one shape.

Everything here is a function of what was read; nothing reads. JSON stays text until somebody
asks for a value: most nodes of consolidated metadata are not needed to open one group, and
attributes that are the same text are the same metadata without being decoded.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import msgspec

from zarr_xgroup.errors import XGroupError, XGroupMetadataError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import shape_of

ZarrFormat: TypeAlias = Literal[2, 3]

#: What stands at a node's metadata keys: key -> JSON text or value, or the error that hides it.
Found: TypeAlias = Mapping[str, Any]

NODE_KEYS: Mapping[ZarrFormat, tuple[str, ...]] = {
    3: ("zarr.json",),
    2: (".zarray", ".zgroup", ".zattrs"),
}
CONSOLIDATED_V2 = ".zmetadata"
METADATA_KEYS = frozenset((*NODE_KEYS[3], *NODE_KEYS[2], CONSOLIDATED_V2))
#: Names beside a group's members that are no members. Stores of v3 are often of v2 as well;
#: in one of v2, ``zarr.json`` is a name like any other.
GROUP_KEYS: Mapping[ZarrFormat, frozenset[str]] = {
    3: METADATA_KEYS,
    2: METADATA_KEYS - {*NODE_KEYS[3]},
}

#: Where in a document nodes are consolidated, by the key it is found at.
_CONSOLIDATED = {
    "zarr.json": "consolidated_metadata",
    "consolidated_metadata": "metadata",
    CONSOLIDATED_V2: "metadata",
}
#: Digits of which Python may refuse to make a number.
_DIGITS = 641
_MANY_DIGITS = re.compile(rb"[0-9]{%d}" % _DIGITS)

#: The types of JSON values that nobody can change: they need no copy.
_SCALARS = frozenset({str, int, float, bool, type(None)})

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Pool:
    """A cache of JSON texts and their decoded values, so that equal texts are kept and decoded once."""

    __slots__ = ("_texts", "_values")

    def __init__(self) -> None:
        self._texts: dict[bytes, bytes] = {}
        self._values: dict[bytes, Any] = {}

    def text(self, text: bytes) -> bytes:
        """Return the first text met that is equal to the given one, so that only one is kept."""
        return self._texts.setdefault(text, text)

    def value(self, text: bytes, place: str) -> Any:
        """Return the decoded value of a text, which is shared: nobody may change it.

        Raises
        ------
        XGroupMetadataError
            If it is nested too deep to be decoded.
        """
        if text not in self._values:
            self._values[text] = _decoded(text, place)
        return self._values[text]


class JsonObject(Mapping[str, Any]):
    """A JSON object whose members are decoded when they are first asked for.

    Parameters
    ----------
    members : mapping
        By key, JSON text (`msgspec.Raw`) or a value.
    place : str
        What messages call it.
    pool : Pool, optional
        Shared with other objects, many of whose members are the same.
    """

    __slots__ = ("_members", "_place", "_pool", "_texts")

    def __init__(
        self, members: Mapping[str, Any], place: str = "", pool: Pool | None = None
    ) -> None:
        self._place = place
        self._pool = pool or Pool()
        # JSON text, in bytes as no JSON value is: not as a part of a document, which would keep all.
        self._members = {
            key: self._pool.text(bytes(value)) if isinstance(value, msgspec.Raw) else value
            for key, value in members.items()
        }
        self._texts: dict[str, bytes] = {}

    def __getitem__(self, key: str) -> Any:
        """Return a member's value, shared with everybody: it must not be changed.

        Raises
        ------
        XGroupMetadataError
            If it is nested too deep to be decoded.
        """
        value = self._members[key]
        if isinstance(value, bytes):
            self._texts[key] = value
            value = self._members[key] = self._pool.value(value, self._place)
        return value

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._members)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._members)

    def __contains__(self, key: object) -> bool:
        """Tell whether there is a member of that name, without decoding it."""
        return key in self._members

    def get(self, key: str, default: Any = None) -> Any:
        """Return a member's value as by `[]`, or a default where there is none.

        Most are asked for that are not there: no exception is raised on the way.
        """
        return self[key] if key in self._members else default

    def text(self, key: str) -> bytes | None:
        """Return a member as JSON text: equal for what is written alike; None without one."""
        if key not in self._members or key in self._texts:
            return self._texts.get(key)
        value = self._members[key]
        if not isinstance(value, bytes):
            value = self._pool.text(_nested_deep(json.dumps, value).encode())
            self._texts[key] = value
        return value

    def fresh(self) -> dict[str, Any]:
        """Return all members as a dict that shares no object and no list with anything.

        Raises
        ------
        XGroupMetadataError
            If one of them is nested too deep to be decoded.
        """
        result = {}
        for key, value in self._members.items():
            text = value if isinstance(value, bytes) else self._texts.get(key)
            if text is None:
                result[key] = copy_of(value)
            else:
                decode = _decoded if text[:1] in (b"{", b"[") else self._pool.value
                result[key] = decode(text, self._place)
        return result


class Document(JsonObject):
    """A node's metadata in the shape of a Zarr v3 document: `node_type` and attributes inside.

    Attributes
    ----------
    attributes : JsonObject
        The node's attributes.
    is_array : bool
        Whether it is an array, else it is a group.
    """

    __slots__ = ("_description", "attributes", "is_array")

    def __init__(
        self,
        members: Mapping[str, Any],
        attributes: JsonObject,
        place: str = "",
        pool: Pool | None = None,
    ) -> None:
        super().__init__({**members, "attributes": attributes}, place, pool)
        self.attributes = attributes
        self._description: bytes | None = None
        self.is_array = self["node_type"] == "array"

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Document:
        """Return a plain JSON object of the shape of a v3 document as one."""
        return cls(value, JsonObject(value.get("attributes", {})))

    def put(self, key: str, value: Any) -> None:
        """Set a member, in place of the one that is written."""
        self._members[key] = value
        self._texts.pop(key, None)

    def text_without_attributes(self) -> bytes:
        """Return all but the attributes as text: equal for nodes that are described alike."""
        if self._description is None:
            names = "\0".join(self._members).encode("utf-8", "surrogatepass")
            texts = (self.text(key) or b"" for key in self._members if key != "attributes")
            self._description = self._pool.text(b"\0".join((names, *texts)))
        return self._description

    def written(self) -> Hashable:
        """Return all that is written: equal for nodes whose documents say the same."""
        attributes = self.attributes
        texts = tuple(map(attributes.text, attributes))
        return self.text_without_attributes(), tuple(attributes), texts


def _decoded(text: bytes | msgspec.Raw, place: str) -> Any:
    """Return the value of a JSON text, or raise XGroupMetadataError if it is none.

    ``NaN`` and ``Infinity`` are accepted, which Python's writers leave in attributes.
    """
    try:
        return _loaded(bytes(text))
    except (ValueError, RecursionError) as error:
        raise _no_json(place, error) from error


def _loaded(text: bytes) -> Any:
    """Return a JSON value, nested as deep as zarr takes it: however deep the caller's stack is.

    What msgspec decodes, Python decodes alike, in several times the time; and it decodes more.
    """
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):
        return msgspec.json.decode(text)
    return _nested_deep(json.loads, text)


def _nested_deep(function: Callable[[Any], Any], argument: Any) -> Any:
    """Return what a function gives, in a thread where the caller's stack is too deep: as zarr does."""
    try:
        return function(argument)
    except RecursionError:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(function, argument).result()


def _no_json(place: str, reason: Exception) -> XGroupMetadataError:
    message = _("{place} is not valid JSON: {reason}").format(place=place, reason=reason)
    return XGroupMetadataError(message)


def copy_of(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    result = [value]  # not recursive: what JSON can nest, Python's stack may not
    pending: list[tuple[Any, Any]] = [(result, 0)]
    while pending:
        holder, key = pending.pop()
        item = holder[key]
        if isinstance(item, Mapping):
            holder[key] = own = dict(item)
            pending += [(own, name) for name, it in own.items() if type(it) not in _SCALARS]
        elif isinstance(item, list):
            holder[key] = items = list(item)
            pending += [(items, at) for at, it in enumerate(items) if type(it) not in _SCALARS]
    return result[0]


def format_of(found: Found) -> ZarrFormat | None:
    """Return the format of the node whose keys were found; v3 where it is both."""
    there = {key for key, value in found.items() if not isinstance(value, XGroupError)}
    if "zarr.json" in there:
        return 3
    if {".zarray", ".zgroup"} & there:
        return 2
    return None


def node_document(
    found: Found, zarr_format: ZarrFormat, place: str, pool: Pool | None = None
) -> tuple[Document | None, XGroupError | None]:
    """Return a node's document, and what is wrong with it.

    Parameters
    ----------
    found : mapping
        What stands at the node's metadata keys.
    zarr_format : {2, 3}
        The format to read it as.
    place : str
        The node's absolute path, for messages.
    pool : Pool, optional
        Shared by the documents of a store.

    Returns
    -------
    document : Document or None
        None if there is no node, or none that can be understood. Attributes that are not an
        object are replaced by none at all.
    problem : XGroupError or None
        Why the document, or its attributes, cannot be used.
    """
    try:
        make = _v3_document if zarr_format == 3 else _v2_document
        return make(found, place, pool or Pool())
    except XGroupMetadataError as problem:
        return None, problem


def _v3_document(
    found: Found, place: str, pool: Pool
) -> tuple[Document | None, XGroupError | None]:
    value, problem = _object_at(found, "zarr.json", place)
    if value is None:
        return None, problem
    node_type = JsonObject({"node_type": value.get("node_type")}, place, pool)["node_type"]
    if node_type is None and "shape" not in value:
        node_type = value["node_type"] = "group"  # as zarr takes it
    if node_type not in ("array", "group"):
        message = _("'node_type' must be 'array' or 'group', got {value!r}").format(value=node_type)
        return None, XGroupMetadataError(message, place=place)
    attributes, problem = _object_at(value, "attributes", place)
    value.pop(_CONSOLIDATED["zarr.json"], None)
    document = Document(value, JsonObject(attributes or {}, place, pool), place, pool)
    _check(document, 3, place)
    return document, problem


def _v2_document(
    found: Found, place: str, pool: Pool
) -> tuple[Document | None, XGroupError | None]:
    problem = None
    for key, node_type in ((".zarray", "array"), (".zgroup", "group")):
        value, problem_here = _object_at(found, key, place)
        problem = problem_here if key in found else problem
        if value is not None:
            value.pop(_CONSOLIDATED["zarr.json"], None)  # which zarr 3 writes into .zmetadata
            attributes, problem = _object_at(found, ".zattrs", place)
            members = {**value, "node_type": node_type}
            document = Document(members, JsonObject(attributes or {}, place, pool), place, pool)
            _check(document, 2, place)
            return document, problem
    return None, problem


def _check(document: Document, zarr_format: ZarrFormat, place: str) -> None:
    """Raise XGroupMetadataError if an array has no shape, another format, or chunks of pickles.

    A group is what is in it, whatever it says.
    """
    if not document.is_array:
        return
    shape = shape_of(document)
    if str(shape) != str(document["shape"]):
        document.put("shape", shape)
    written = document.get("zarr_format")
    if written != zarr_format:
        message = _("'zarr_format' must be {zarr_format}, got {written!r}").format(
            zarr_format=zarr_format, written=written
        )
        raise XGroupMetadataError(message, place=place)
    _check_codecs(document, place)


def _check_codecs(document: Document, place: str) -> None:
    """Raise XGroupMetadataError if reading an array would unpickle its chunks.

    Whoever wrote these would have Python do anything: older versions of zarr and numcodecs let them.
    """
    for key in ("filters", "compressor", "codecs"):
        text = document.text(key) or b""
        if b"\\" in text:  # letters may be written as numbers
            text = json.dumps(document[key]).encode()
        if b"pickle" in text.lower():
            message = _("{key!r} has the codec 'pickle', which is not safe to read").format(key=key)
            raise XGroupMetadataError(message, place=place)


def _object_at(
    values: Mapping[str, Any], key: str, place: str
) -> tuple[dict[str, Any] | None, XGroupError | None]:
    """Return the members of the JSON object at a key, or what stands in its way.

    Neither if it is not there.
    """
    value = values.get(key)
    if isinstance(value, bytes | msgspec.Raw):
        place_of_text = f"{place.rstrip('/')}/{key}" if isinstance(value, bytes) else place
        try:
            value = _members_of(value, place_of_text, key)
        except XGroupMetadataError as error:
            return None, error
    if value is None:
        return None, None
    if isinstance(value, XGroupError):
        return None, value
    if not isinstance(value, Mapping):
        message = _("{key!r} must be a JSON object, got {kind}").format(
            key=key, kind=type(value).__name__
        )
        return None, XGroupMetadataError(message, place=place)
    return dict(value), None


def _members_of(text: bytes | msgspec.Raw, place: str, key: str) -> Any:
    """Return the undecoded members of the JSON object at a key, or another JSON value as it is.

    They can be decoded, but for consolidated nodes, each of which is a document of its own.
    """
    try:
        members = _MEMBERS.decode(text)
    # No object, or with NaN, which it refuses, or with keys that are no text.
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _decoded(text, place)
    parts = [text]
    if key == "metadata":
        parts = []
    elif (nodes := _CONSOLIDATED.get(key)) in members:
        parts = [part for name, part in members.items() if name != nodes]
    return members if all(_can_be_decoded(part) for part in parts) else _decoded(text, place)


def _can_be_decoded(text: bytes | msgspec.Raw) -> bool:
    """Tell whether letters and numbers of a JSON text, which msgspec does not check, are valid for sure."""
    text = bytes(text)
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            return False
    return len(text) < _DIGITS or _MANY_DIGITS.search(text) is None


def consolidated_nodes(
    found: Found, zarr_format: ZarrFormat, place: str
) -> dict[str, Found] | None:
    """Return the documents in a group's consolidated metadata, by path.

    Returns
    -------
    dict of str to Found, or None
        By path relative to the group; the group itself is not among them. None if the
        group has no consolidated metadata.

    Raises
    ------
    XGroupMetadataError
        If there is some and it cannot be understood.
    """
    if zarr_format == 2:
        members = _consolidated_members(found, CONSOLIDATED_V2, place)
        return None if members is None else _nodes_of_v2(members)
    own, _problem = _object_at(found, "zarr.json", place)
    members = _consolidated_members(own or {}, "consolidated_metadata", place)
    if members is None:
        return None
    return {path: {"zarr.json": document} for path, document in members.items()}


def _nodes_of_v2(members: Mapping[str, Any]) -> dict[str, Found]:
    """Return what stands at the keys of each node, of documents by their keys in the store."""
    nodes: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for key, document in members.items():
        path, _slash, name = key.rpartition("/")
        if path and name in NODE_KEYS[2]:
            nodes[path][name] = document
    return dict(nodes)


def _consolidated_members(values: Mapping[str, Any], key: str, place: str) -> dict[str, Any] | None:
    """Return the documents that are consolidated at a key, undecoded; None if none are."""
    consolidated, problem = _object_at(values, key, place)
    if problem is not None:
        raise problem
    if consolidated is None:
        return None
    kind = JsonObject({"kind": consolidated.get("kind", "inline")}, place)["kind"]
    if key != CONSOLIDATED_V2 and kind != "inline":
        message = _("'consolidated_metadata' of {place} is of the unknown kind {kind!r}")
        raise XGroupMetadataError(message.format(place=place, kind=kind))
    members, problem = _object_at(consolidated, "metadata", place)
    if members is None:
        message = _("The consolidated metadata of {place} has no {key!r}")
        raise problem or XGroupMetadataError(message.format(key="metadata", place=place))
    return members
