"""Zarr metadata as JSON documents: v2 and v3, single and consolidated, in one shape.

Everything here is a function of what was read; nothing reads. JSON stays text until somebody
asks for a value: most nodes of consolidated metadata are not needed to open one group, and
attributes that are the same text are the same metadata without being decoded.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from zarr_xgroup.errors import XGroupError, XGroupMetadataError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import shape_of

ZarrFormat: TypeAlias = Literal[2, 3]

#: What stands at a node's metadata keys: by key, JSON text, once it was decoded the texts of its
#: members or another value, or the error that hides it.
Found: TypeAlias = dict[str, Any]

#: A JSON text, be it part of another one.
Text: TypeAlias = bytes | msgspec.Raw

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
#: The members of a document that do not describe the node.
_APART = frozenset({"attributes", _CONSOLIDATED["zarr.json"]})

#: As many digits as Python may refuse to make a number of, in a text with zeros for all of them.
_MANY_DIGITS = b"0" * 641
_WITH_ZEROS = bytes.maketrans(b"123456789", b"000000000")

#: The types of JSON values that nobody can change: they need no copy.
_SCALARS = frozenset({str, int, float, bool, type(None)})

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Inline(msgspec.Struct, forbid_unknown_fields=True):
    """Consolidated metadata as zarr writes them: each document in them is left as text."""

    metadata: dict[str, msgspec.Raw]
    kind: Literal["inline"] = "inline"
    must_understand: bool = False


class _Group(msgspec.Struct, forbid_unknown_fields=True):
    """The document of a group that has consolidated metadata, as zarr writes it."""

    zarr_format: Literal[3]
    node_type: Literal["group"]
    consolidated_metadata: _Inline
    attributes: msgspec.Raw = msgspec.Raw(b"{}")


_GROUP = msgspec.json.Decoder(_Group)


class Pool:
    """What documents have in common: equal texts are kept, decoded and checked once."""

    __slots__ = ("_texts", "_values", "described", "objects")

    def __init__(self) -> None:
        self._texts: dict[bytes, bytes] = {}
        self._values: dict[bytes, Any] = {}
        #: By what is written of nodes but their attributes: the values of that.
        self.described: dict[Hashable, Description] = {}
        #: By the text of attributes: their texts.
        self.objects: dict[bytes, Mapping[str, bytes]] = {}

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
    """A JSON object whose members are decoded when they are asked for.

    Parameters
    ----------
    texts : mapping of str to bytes
        By key, JSON text.
    place : str
        What messages call it.
    pool : Pool, optional
        Shared with other objects, many of whose members are the same.
    """

    __slots__ = ("_place", "_pool", "_texts")

    def __init__(
        self, texts: Mapping[str, bytes], place: str = "", pool: Pool | None = None
    ) -> None:
        self._texts = texts
        self._place = place
        self._pool = pool or Pool()

    def __getitem__(self, key: str) -> Any:
        """Return a member's value, shared with everybody: it must not be changed.

        Raises
        ------
        XGroupMetadataError
            If it is nested too deep to be decoded.
        """
        return self._pool.value(self._texts[key], self._place)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._texts)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._texts)

    def __contains__(self, key: object) -> bool:
        """Tell whether there is a member of that name, without decoding it."""
        return key in self._texts

    def get(self, key: str, default: Any = None) -> Any:
        """Return a member's value as by `[]`, or a default where there is none.

        Most are asked for that are not there: no exception is raised on the way.
        """
        return self[key] if key in self._texts else default

    def text(self, key: str) -> bytes | None:
        """Return a member as JSON text: equal for what is written alike; None without one."""
        return self._texts.get(key)

    def written(self) -> Hashable:
        """Return all that is written: equal for what is written alike."""
        return tuple(self._texts.items())

    def fresh(self) -> dict[str, Any]:
        """Return all members as a dict that shares no object and no list with anything.

        Raises
        ------
        XGroupMetadataError
            If one of them is nested too deep to be decoded.
        """
        found: dict[str, Any] = copy_of({key: self[key] for key in self._texts})
        return found


class Description(NamedTuple):
    """What a node's document says of it but its attributes.

    Attributes
    ----------
    text : bytes
        All of it: equal for nodes that are described alike.
    values : mapping
        The values, shared with all these: nobody may change them.
    """

    text: bytes
    values: Mapping[str, Any]


class Document(Mapping[str, Any]):
    """A node's metadata in the shape of a Zarr v3 document: `node_type` and attributes inside.

    Attributes
    ----------
    description : Description
        All but its attributes.
    attributes : JsonObject
        The node's attributes.
    is_array : bool
        Whether it is an array, else it is a group.
    """

    __slots__ = ("attributes", "description", "is_array")

    def __init__(self, description: Description, attributes: JsonObject) -> None:
        self.description = description
        self.attributes = attributes
        self.is_array = description.values["node_type"] == "array"

    @classmethod
    def of_group(cls, zarr_format: ZarrFormat) -> Document:
        """Return the document of a group that says nothing."""
        values = {"zarr_format": zarr_format, "node_type": "group"}
        return cls(Description(b"", values), JsonObject({}))

    def __getitem__(self, key: str) -> Any:
        """Return a member's value, shared with everybody: it must not be changed."""
        return self.attributes if key == "attributes" else self.description.values[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        yield from self.description.values
        yield "attributes"

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.description.values) + 1

    def get(self, key: str, default: Any = None) -> Any:
        """Return a member's value as by `[]`, or a default where there is none."""
        return self.attributes if key == "attributes" else self.description.values.get(key, default)

    def text_without_attributes(self) -> bytes:
        """Return all but the attributes as text: equal for nodes that are described alike."""
        return self.description.text

    def written(self) -> Hashable:
        """Return all that is written: equal for nodes whose documents say the same."""
        return self.description.text, self.attributes.written()


def _decoded(text: Text, place: str) -> Any:
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
    """Return a deep copy of a JSON value, which shares with it only what nobody can change."""
    result = [value]  # not recursive: what JSON can nest, Python's stack may not
    pending: list[Any] = [result]
    while pending:
        holder = pending.pop()
        for key, item in enumerate(holder) if type(holder) is list else holder.items():
            kind = type(item)
            if kind in _SCALARS:
                continue
            if kind is dict or isinstance(item, Mapping):
                own: Any = dict(item)
            elif isinstance(item, list):
                own = list(item)
            else:
                continue
            holder[key] = own
            pending.append(own)
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
    found: Found | Text, zarr_format: ZarrFormat, place: str, pool: Pool | None = None
) -> tuple[Document | None, XGroupError | None]:
    """Return a node's document, and what is wrong with it.

    Parameters
    ----------
    found : mapping or text
        What stands at the node's metadata keys; or the text of its ``zarr.json`` alone.
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
    if isinstance(found, Text):
        found = {"zarr.json": found}
    try:
        make = _v3_document if zarr_format == 3 else _v2_document
        return make(found, place, pool or Pool())
    except XGroupMetadataError as problem:
        return None, problem


def _v3_document(
    found: Found, place: str, pool: Pool
) -> tuple[Document | None, XGroupError | None]:
    members, problem = _object_at(found, "zarr.json", place)
    if members is None:
        return None, problem
    members = {key: text for key, text in members.items() if key not in _APART}
    description = _described(members, 3, None, place, pool)
    attributes, problem = _attributes_at(found["zarr.json"], "attributes", place, pool)
    return Document(description, attributes), problem


def _v2_document(
    found: Found, place: str, pool: Pool
) -> tuple[Document | None, XGroupError | None]:
    problem = None
    for key, node_type in ((".zarray", "array"), (".zgroup", "group")):
        members, problem_here = _object_at(found, key, place)
        problem = problem_here if key in found else problem
        if members is not None:
            # zarr 3 writes the one into .zmetadata, and nobody the other.
            members = {name: text for name, text in members.items() if name not in _APART}
            attributes, problem = _attributes_at(found, ".zattrs", place, pool)
            description = _described(members, 2, node_type, place, pool)
            return Document(description, attributes), problem
    return None, problem


def _attributes_at(
    values: Found, key: str, place: str, pool: Pool
) -> tuple[JsonObject, XGroupError | None]:
    """Return the attributes at a key, none if they cannot be understood, and why they cannot."""
    text = values.get(key)
    written = bytes(text) if isinstance(text, Text) else b""
    texts, problem = pool.objects.get(written), None
    if texts is None:
        members, problem = _object_at({key: text}, key, place)
        # Not as parts of a document, which would be kept as long as any of them.
        texts = {name: pool.text(bytes(part)) for name, part in (members or {}).items()}
        if problem is None and written:
            pool.objects[written] = texts
    return JsonObject(texts, place, pool), problem


def _described(
    members: Mapping[str, Any],
    zarr_format: ZarrFormat,
    node_type: str | None,
    place: str,
    pool: Pool,
) -> Description:
    """Return what the members of a document say of a node; `node_type` where none of them does.

    Raises
    ------
    XGroupMetadataError
        If it is neither an array nor a group, or an array that has no shape, another format, or chunks of pickles.
    """
    texts = {key: bytes(text) for key, text in members.items()}
    names = "\0".join(texts).encode("utf-8", "surrogatepass")
    written = b"\0".join((names, *texts.values(), (node_type or "").encode()))
    key = zarr_format, written
    if key not in pool.described:
        values = {name: pool.value(text, place) for name, text in texts.items()}
        if node_type is not None:
            values["node_type"] = node_type
        elif values.get("node_type") is None and "shape" not in values:
            values["node_type"] = "group"  # as zarr takes it
        if values.get("node_type") not in ("array", "group"):
            message = _("'node_type' must be 'array' or 'group', got {value!r}")
            message = message.format(value=values.get("node_type"))
            raise XGroupMetadataError(message, place=place)
        if values["node_type"] == "array":  # a group is what is in it, whatever it says
            values["shape"] = shape_of(values)
            number = values.get("zarr_format")
            if number != zarr_format:
                message = _("'zarr_format' must be {zarr_format}, got {written!r}")
                message = message.format(zarr_format=zarr_format, written=number)
                raise XGroupMetadataError(message, place=place)
            _check_codecs(values, place)
        pool.described[key] = Description(written, values)
    return pool.described[key]


def _check_codecs(described: Mapping[str, Any], place: str) -> None:
    """Raise XGroupMetadataError if reading an array would unpickle its chunks.

    Whoever wrote these would have Python do anything: older versions of zarr and numcodecs let them.
    """
    for key in ("filters", "compressor", "codecs"):
        if "pickle" in _nested_deep(json.dumps, described.get(key)).lower():
            message = _("{key!r} has the codec 'pickle', which is not safe to read").format(key=key)
            raise XGroupMetadataError(message, place=place)


def _object_at(
    values: Found, key: str, place: str
) -> tuple[dict[str, Any] | None, XGroupError | None]:
    """Return the members of the JSON object at a key as texts, or what stands in its way.

    Neither if it is not there. The members take the place of the text, which is decoded once.
    """
    value = values.get(key)
    if value is None or isinstance(value, XGroupError):
        return None, value
    if isinstance(value, Text):
        place_of_text = f"{place.rstrip('/')}/{key}" if isinstance(value, bytes) else place
        try:
            value = values[key] = _members_of(value, place_of_text, key)
        except XGroupMetadataError as error:
            return None, error
    if value is None or isinstance(value, dict):
        return value, None
    message = _("{key!r} must be a JSON object, got {kind}").format(
        key=key, kind=type(value).__name__
    )
    return None, XGroupMetadataError(message, place=place)


def _members_of(text: Text, place: str, key: str) -> Any:
    """Return the members of the JSON object at a key as texts, or another JSON value as it is.

    They can be decoded, but for consolidated nodes, each of which is a document of its own.
    """
    nodes = _CONSOLIDATED.get(key)
    if key == "zarr.json" and b'"consolidated_metadata"' in bytes(text):
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            group = _GROUP.decode(text)  # all at once, if it has nothing else
            if _can_be_decoded(group.attributes):
                return {
                    "zarr_format": b"3",
                    "node_type": b'"group"',
                    "attributes": group.attributes,
                    "consolidated_metadata": group.consolidated_metadata,
                }
    try:
        members = _MEMBERS.decode(text)
    # No object, or with NaN, which it refuses, or with keys that are no text.
    except (msgspec.MsgspecError, ValueError, RecursionError):
        members = None
    if members is not None:
        if key == "metadata":
            return members
        parts = (
            [part for name, part in members.items() if name != nodes]
            if nodes in members
            else [text]
        )
        if all(map(_can_be_decoded, parts)):
            return members
    value = _decoded(text, place)
    if not isinstance(value, dict):
        return value
    return {name: _nested_deep(json.dumps, item).encode() for name, item in value.items()}


def _can_be_decoded(text: Text) -> bool:
    """Tell whether letters and numbers of a JSON text, which msgspec does not check, are valid for sure."""
    text = bytes(text)
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            return False
    return len(text) < len(_MANY_DIGITS) or _MANY_DIGITS not in text.translate(_WITH_ZEROS)


def consolidated_nodes(
    found: Found, zarr_format: ZarrFormat, place: str
) -> Mapping[str, Found | Text] | None:
    """Return the documents in a group's consolidated metadata, by path.

    Returns
    -------
    mapping of str to Found or Text, or None
        By path relative to the group; the group itself is not among them. None if the
        group has no consolidated metadata.

    Raises
    ------
    XGroupMetadataError
        If there is some and it cannot be understood.
    """
    if zarr_format == 3:
        own, _problem = _object_at(found, "zarr.json", place)
        return _consolidated_members(own or {}, "consolidated_metadata", place)
    members = _consolidated_members(found, CONSOLIDATED_V2, place)
    if members is None:
        return None
    nodes: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for key, document in members.items():
        path, _slash, name = key.rpartition("/")
        if path and name in NODE_KEYS[2]:
            nodes[path][name] = document
    return dict(nodes)


def _consolidated_members(values: Found, key: str, place: str) -> dict[str, Any] | None:
    """Return the documents that are consolidated at a key, undecoded; None if none are."""
    if isinstance(values.get(key), _Inline):
        found: dict[str, Any] = values[key].metadata
        return found
    consolidated, problem = _object_at(values, key, place)
    if problem is not None:
        raise problem
    if consolidated is None:
        return None
    kind = _decoded(consolidated.get("kind", b'"inline"'), place)
    if key != CONSOLIDATED_V2 and kind != "inline":
        message = _("'consolidated_metadata' of {place} is of the unknown kind {kind!r}")
        raise XGroupMetadataError(message.format(place=place, kind=kind))
    members, problem = _object_at(consolidated, "metadata", place)
    if members is None:
        message = _("The consolidated metadata of {place} has no {key!r}")
        raise problem or XGroupMetadataError(message.format(key="metadata", place=place))
    return members
