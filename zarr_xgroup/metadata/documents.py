"""Zarr metadata as JSON documents: v2 and v3, single and consolidated, in one shape.

No function here reads from a store. Consolidated documents stay JSON text until they are needed, because opening one
group needs only a few of them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import msgspec

from zarr_xgroup.errors import XGroupError, XGroupMetadataError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import shape_of

ZarrFormat: TypeAlias = Literal[2, 3]

#: The content of a node's metadata keys: by key, JSON text. `_object_at` replaces a text by the members of the object (each a JSON text), or by any other JSON value, so that it is parsed once.
Found: TypeAlias = dict[str, Any]

#: A JSON text, which may be part of a longer one.
Text: TypeAlias = bytes | msgspec.Raw

#: The values of JSON texts: of attributes, and of documents without attributes. Equal texts are decoded once.
DecodedTexts: TypeAlias = dict[Hashable, Any]

NODE_KEYS: Mapping[ZarrFormat, tuple[str, ...]] = {
    3: ("zarr.json",),
    2: (".zarray", ".zgroup", ".zattrs"),
}
CONSOLIDATED_V2 = ".zmetadata"
METADATA_KEYS = frozenset((*NODE_KEYS[3], *NODE_KEYS[2], CONSOLIDATED_V2))
#: Names in a group that are not members. In a v2 store, ``zarr.json`` is a valid name of a member, as are the names of v2
#: documents in a v3 store.
GROUP_KEYS: Mapping[ZarrFormat, frozenset[str]] = {
    3: frozenset(NODE_KEYS[3]),
    2: frozenset((*NODE_KEYS[2], CONSOLIDATED_V2)),
}

#: The member of a v3 document that holds other documents.
_CONSOLIDATED = "consolidated_metadata"

#: The immutable types of JSON values, which need no copy.
_SCALARS = frozenset({str, int, float, bool, type(None)})

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
#: The errors of decoders: msgspec refuses some texts that Python decodes, such as ``NaN``.
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)


class _Inline(msgspec.Struct, forbid_unknown_fields=True):
    """Consolidated metadata in the form that zarr writes; the documents in it stay text."""

    metadata: dict[str, msgspec.Raw]
    kind: Literal["inline"] = "inline"
    must_understand: bool = False


class _GroupMetadata(msgspec.Struct, forbid_unknown_fields=True):
    """The document of a group that has consolidated metadata, in the form that zarr writes."""

    zarr_format: Literal[3]
    node_type: Literal["group"]
    consolidated_metadata: _Inline
    attributes: msgspec.Raw = msgspec.Raw(b"{}")


_GROUP = msgspec.json.Decoder(_GroupMetadata)


class JsonObject(dict[str, Any]):
    """The attributes of a node, with their JSON text. Nodes with the same text share them; they must not be modified."""

    __slots__ = ("_texts", "written")

    def __init__(self, values: Mapping[str, Any], written: bytes = b"{}") -> None:
        super().__init__(values)
        self.written = written
        self._texts: dict[str, bytes] | None = None

    @property
    def texts(self) -> dict[str, bytes]:
        """The JSON texts of the attributes."""
        if self._texts is None:
            members = _members_of(self.written, "")
            self._texts = {name: bytes(text) for name, text in members.items()}
        return self._texts

    def text(self, key: str) -> bytes | None:
        """Return the JSON text of an attribute, None if there is no such attribute."""
        return self.texts.get(key)

    def copied(self) -> dict[str, Any]:
        """Return a deep copy of the attributes, for modification; as `copy_of`, but faster."""
        try:
            copied: dict[str, Any] = msgspec.to_builtins(self)
        except RecursionError:
            copied = copy_of(dict(self))
        return copied


class Document(dict[str, Any]):
    """A node's metadata in the shape of a Zarr v3 document: with `node_type` and attributes.

    The parameters are the values without the attributes, their text (`described`), and the attributes. Documents share
    them; they must not be modified.

    Attributes
    ----------
    attributes : JsonObject
        The attributes of the node.
    is_array : bool
        Whether the node is an array, and not a group.
    """

    __slots__ = ("_described", "attributes", "is_array")

    def __init__(self, values: Mapping[str, Any], described: bytes, attributes: JsonObject) -> None:
        super().__init__(values, attributes=attributes)
        self._described = described
        self.attributes = attributes
        self.is_array = values["node_type"] == "array"

    @classmethod
    def of_group(cls, zarr_format: ZarrFormat) -> Document:
        """Return the document of a group without attributes."""
        return cls({"zarr_format": zarr_format, "node_type": "group"}, b"", JsonObject({}))

    def text_without_attributes(self) -> bytes:
        """Return the text of the document without the attributes, as a key."""
        return self._described

    def written(self) -> Hashable:
        """Return a key that is equal for nodes whose documents have the same text."""
        return self._described, self.attributes.written


def decode_json(text: Text, name: str, place: str = "") -> Any:
    """Return the value of a JSON text, which may be nested as deep as zarr allows, however deep the caller's stack is.

    ``NaN`` and ``Infinity``, which Python writes into attributes, are accepted: Python decodes the texts that msgspec
    refuses. It gives the same values, but is several times slower.

    Raises
    ------
    XGroupMetadataError
        If the text is not valid JSON. The message calls the text by its `name`; `place` is the place of the error.
    """
    try:
        try:
            return msgspec.json.decode(text)
        except _REFUSED:
            return _nested_deep(json.loads, bytes(text))
    except (ValueError, RecursionError) as error:
        message = _("{name} is not valid JSON: {reason}").format(name=name, reason=error)
        raise XGroupMetadataError(message, place=place) from error


def _nested_deep(function: Callable[[Any], Any], argument: Any) -> Any:
    """Call a function, in a thread if the caller's stack is too deep for it."""
    try:
        return function(argument)
    except RecursionError:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(function, argument).result()


def copy_of(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    result = [value]  # not recursive: JSON may be nested deeper than Python's stack
    pending: list[Any] = [result]
    while pending:
        holder = pending.pop()
        is_list = type(holder) is list
        if _SCALARS.issuperset(map(type, holder if is_list else holder.values())):
            continue
        for key, item in enumerate(holder) if is_list else holder.items():
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
    """Return the Zarr format of a node by its metadata keys; v3 if it has keys of both formats."""
    if "zarr.json" in found:
        return 3
    return 2 if {".zarray", ".zgroup"} & found.keys() else None


def node_document(
    found: Found | Text, zarr_format: ZarrFormat, place: str, decoded: DecodedTexts | None = None
) -> tuple[Document | None, XGroupError | None]:
    """Return a node's document, and the error if it or its attributes cannot be used.

    Parameters
    ----------
    found : mapping or text
        The content of the node's metadata keys, or only the text of its ``zarr.json``.
    zarr_format : {2, 3}
        The expected Zarr format.
    place : str
        The node's absolute path, for messages.
    decoded : dict, optional
        The values that the documents of a store share.

    Returns
    -------
    document : Document or None
        None if the node does not exist, or its document is not valid. Attributes that are not a valid JSON
        object are left out.
    problem : XGroupError or None
        The error of the document or its attributes.
    """
    if isinstance(found, Text):
        found = {"zarr.json": found}
    decoded = {} if decoded is None else decoded
    node_types: Mapping[str, str | None] = {"zarr.json": None}
    if zarr_format == 2:
        node_types = {".zarray": "array", ".zgroup": "group"}
    problem = None
    for key, node_type in node_types.items():
        if key not in found:
            continue
        members, problem = _object_at(found, key, place)
        if members is None:
            continue
        # zarr 3 writes attributes also into the .zarray and .zgroup in .zmetadata; they are ignored.
        members = dict(members)
        members.pop(_CONSOLIDATED, None)
        attributes, key = members.pop("attributes", None), "attributes"
        if zarr_format == 2:
            attributes, key = found.get(".zattrs"), ".zattrs"
        try:
            values, described = _described(members, zarr_format, node_type, place, decoded)
        except XGroupMetadataError as error:
            return None, error
        try:
            shared = _attributes(attributes, key, place, decoded)
        except XGroupError as error:
            return Document(values, described, JsonObject({})), error
        return Document(values, described, shared), None
    return None, problem


def _attributes(text: Any, key: str, place: str, decoded: DecodedTexts) -> JsonObject:
    """Return the attributes in a JSON text; raise XGroupError if they are not valid."""
    written = b"null" if text is None else bytes(text)
    if written not in decoded:
        values = decode_json(written, repr(key), place)
        if values is None:
            values, written = {}, b"{}"
        if not isinstance(values, dict):
            raise _no_object(key, values, place)
        decoded[written] = JsonObject(values, written)
    shared: JsonObject = decoded[written]
    return shared


def _described(
    members: Mapping[str, Text],
    zarr_format: ZarrFormat,
    node_type: str | None,
    place: str,
    decoded: DecodedTexts,
) -> tuple[Mapping[str, Any], bytes]:
    """Return the values of a document without its attributes, and their text.

    The parameter `node_type` is the type of a v2 node, whose document does not state it.

    Raises
    ------
    XGroupMetadataError
        If the node is neither an array nor a group, or is an array without a valid shape, of a different Zarr format,
        or with pickled chunks.
    """
    names = "\0".join((node_type or "", *members)).encode("utf-8", "surrogatepass")
    written = b"\0".join((names, *map(bytes, members.values())))
    key = zarr_format, written
    if key not in decoded:
        values = {name: decode_json(text, repr(name), place) for name, text in members.items()}
        if node_type is not None:
            values["node_type"] = node_type
        elif values.get("node_type") is None and "shape" not in values:
            values["node_type"] = "group"  # as in zarr
        if values.get("node_type") not in ("array", "group"):
            message = _("'node_type' must be 'array' or 'group', got {value!r}")
            message = message.format(value=values.get("node_type"))
            raise XGroupMetadataError(message, place=place)
        if values["node_type"] == "array":  # a group has no required members
            values["shape"] = shape_of(values)
            number = values.get("zarr_format")
            if number != zarr_format:
                message = _("'zarr_format' must be {zarr_format}, got {written!r}")
                message = message.format(zarr_format=zarr_format, written=number)
                raise XGroupMetadataError(message, place=place)
            # Older versions of zarr and numcodecs would unpickle the chunks, which can run arbitrary code.
            may_pickle = b"pickle" in written.lower() or b"\\" in written  # letters may be escaped
            for name in ("filters", "compressor", "codecs") if may_pickle else ():
                if "pickle" in _nested_deep(json.dumps, values.get(name)).lower():
                    message = _("{key!r} has the codec 'pickle', which is not safe to read")
                    raise XGroupMetadataError(message.format(key=name), place=place)
        decoded[key] = values, written
    described: tuple[Mapping[str, Any], bytes] = decoded[key]
    return described


def _object_at(
    found: Found, key: str, place: str
) -> tuple[dict[str, Any] | None, XGroupError | None]:
    """Return the members of the JSON object at a key as texts, or an error; None and None if the key is missing.

    The members replace the text in `found`, so that it is parsed once.
    """
    value = found.get(key)
    if isinstance(value, Text):
        place_of_text = f"{place.rstrip('/')}/{key}" if isinstance(value, bytes) else place
        members_of = _members_of_group if key == "zarr.json" else _members_of
        try:
            value = found[key] = members_of(value, place_of_text)
        except XGroupMetadataError as error:
            return None, error
    if value is None or isinstance(value, dict):
        return value, None
    return None, _no_object(key, value, place)


def _no_object(key: str, value: Any, place: str) -> XGroupMetadataError:
    message = _("{key!r} must be a JSON object, got {kind}")
    return XGroupMetadataError(message.format(key=key, kind=type(value).__name__), place=place)


def _members_of(text: Text, place: str) -> Any:
    """Return the members of a JSON object as texts; any other JSON value decoded.

    Raises XGroupMetadataError if the text is not valid JSON. A returned text may still be invalid JSON.
    """
    with suppress(*_REFUSED):
        return _MEMBERS.decode(text)
    value = decode_json(text, place)
    if not isinstance(value, dict):
        return value
    return {name: _nested_deep(json.dumps, item).encode() for name, item in value.items()}


def _members_of_group(text: Text, place: str) -> Any:
    """Return the members of a v3 document as texts; consolidated metadata in zarr's form are split in the same pass."""
    if b'"consolidated_metadata"' in bytes(text):
        with suppress(*_REFUSED):
            group = _GROUP.decode(text)
            return {
                "zarr_format": b"3",
                "node_type": b'"group"',
                "attributes": group.attributes,
                _CONSOLIDATED: {"metadata": group.consolidated_metadata.metadata},
            }
    return _members_of(text, place)


def consolidated_nodes(
    found: Found, zarr_format: ZarrFormat, place: str
) -> Mapping[str, Found | Text] | None:
    """Return the documents in a group's consolidated metadata, by path.

    Returns
    -------
    mapping of str to Found or Text, or None
        By path relative to the group, without the group itself. None if the group has no
        consolidated metadata.

    Raises
    ------
    XGroupError
        If the consolidated metadata cannot be read or are not valid.
    """
    key = CONSOLIDATED_V2
    if zarr_format == 3:
        found, key = _object_at(found, "zarr.json", place)[0] or {}, _CONSOLIDATED
    consolidated, problem = _object_at(found, key, place)
    if problem is not None:
        raise problem
    if consolidated is None:
        return None
    kind = decode_json(consolidated.get("kind", b'"inline"'), place)
    if zarr_format == 3 and kind != "inline":
        message = _("'consolidated_metadata' of {place} has the unknown kind {kind!r}")
        raise XGroupMetadataError(message.format(place=place, kind=kind))
    members, problem = _object_at(consolidated, "metadata", place)
    if members is None:
        message = _("The consolidated metadata of {place} have no {key!r}")
        raise problem or XGroupMetadataError(message.format(key="metadata", place=place))
    if zarr_format == 3:
        return members
    nodes: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for path_of_key, document in members.items():
        path, _slash, name = path_of_key.rpartition("/")
        if path and name in NODE_KEYS[2]:
            nodes[path][name] = document
    return dict(nodes)
