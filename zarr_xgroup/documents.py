"""Zarr metadata as JSON documents: v2 and v3, single and consolidated, in one shape.

Everything here is a function of what was read; nothing reads.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from zarr_xgroup.errors import XGroupError, XGroupMetadataError
from zarr_xgroup.i18n import _

ZarrFormat: TypeAlias = Literal[2, 3]

#: A node's metadata in the shape of a Zarr v3 document: `node_type` given, attributes inside.
Document: TypeAlias = Mapping[str, Any]

#: What stands at a node's metadata keys: key -> JSON value (perhaps not yet decoded), or the
#: error that hides it.
Found: TypeAlias = Mapping[str, Any]

NODE_KEYS: Mapping[ZarrFormat, tuple[str, ...]] = {
    3: ("zarr.json",),
    2: (".zarray", ".zgroup", ".zattrs"),
}
CONSOLIDATED_V2 = ".zmetadata"
#: Where in a document of such a key consolidated metadata stands.
_CONSOLIDATED: Mapping[str, tuple[str, ...]] = {
    "zarr.json": ("consolidated_metadata", "metadata"),
    CONSOLIDATED_V2: ("metadata",),
}
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
METADATA_KEYS = frozenset((*NODE_KEYS[3], *NODE_KEYS[2], CONSOLIDATED_V2))


def copy_of(value: Any) -> Any:
    """Return a JSON value that shares no object and no list with the given one."""
    try:
        return _copied(value)
    except RecursionError:  # what JSON can nest, Python's stack may not
        return _copied_without_recursion(value)


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if kind is list:
        return [_copied(item) for item in value]
    if isinstance(value, Mapping | list):
        return _copied_without_recursion(value)
    return value


def _copied_without_recursion(value: Any) -> Any:
    result = [value]
    pending: list[tuple[Any, Any]] = [(result, 0)]
    while pending:
        holder, key = pending.pop()
        item = holder[key]
        if isinstance(item, Mapping):
            holder[key] = dict(item)
            pending.extend((holder[key], member) for member in holder[key])
        elif isinstance(item, list):
            holder[key] = list(item)
            pending.extend((holder[key], index) for index in range(len(item)))
    return result[0]


def parse_json(content: bytes, place: str, key: str = "") -> Any:
    """Return the JSON value of a stored document.

    ``NaN`` and ``Infinity`` are accepted, which Python's writers leave in attributes. Of
    consolidated metadata the documents of nodes stay as they are, as `msgspec.Raw`: most are
    not needed to open one group, and to make objects of them takes longer than all else.

    Parameters
    ----------
    content : bytes
        What is stored.
    place : str
        What messages call it.
    key : str
        The last segment of the key it is stored at, if it may be consolidated metadata.

    Raises
    ------
    XGroupMetadataError
        If it is not JSON.
    """
    try:
        way = _CONSOLIDATED.get(key)
        return json.loads(content) if way is None else _value_of(content, way)
    except (ValueError, RecursionError) as error:  # the latter: nested too deep for Python
        message = _("{place} is not valid JSON: {reason}").format(place=place, reason=error)
        raise XGroupMetadataError(message) from error


def _value_of(content: bytes, way: Sequence[str]) -> Any:
    """Return a JSON value, without decoding the members of the object that the keys lead to.

    Raises
    ------
    ValueError, RecursionError
        If it is not JSON, or nested too deep for Python.
    """
    if way and f'"{way[0]}"'.encode() not in content:
        return json.loads(content)
    try:
        members = _MEMBERS.decode(content)
    except (msgspec.MsgspecError, RecursionError):  # no object, or with NaN, which it refuses
        return json.loads(content)
    if not way:
        return members
    return {
        key: _value_of(bytes(raw), way[1:]) if key == way[0] else json.loads(bytes(raw))
        for key, raw in members.items()
    }


def format_of(found: Found) -> ZarrFormat | None:
    """Return the format of the node whose keys were found; v3 where it is both."""
    there = {key for key, value in found.items() if not isinstance(value, XGroupError)}
    if "zarr.json" in there:
        return 3
    if {".zarray", ".zgroup"} & there:
        return 2
    return None


def node_document(
    found: Found, zarr_format: ZarrFormat, place: str
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

    Returns
    -------
    document : mapping or None
        In the shape of a v3 document. None if there is no node, or none that can be
        understood. Attributes that are not an object are replaced by none at all.
    problem : XGroupError or None
        Why the document, or its attributes, cannot be used.
    """
    if zarr_format == 3:
        return _v3_document(found, place)
    return _v2_document(found, place)


def _v3_document(found: Found, place: str) -> tuple[Document | None, XGroupError | None]:
    if "zarr.json" not in found:
        return None, None
    value, problem = _object_at(found, "zarr.json", place)
    if value is None:
        return None, problem
    if value.get("node_type") not in ("array", "group"):
        message = _("'node_type' of {place} must be 'array' or 'group', got {value!r}").format(
            place=place, value=value.get("node_type")
        )
        return None, XGroupMetadataError(message)
    document = {key: item for key, item in value.items() if key != "consolidated_metadata"}
    document["attributes"], problem = _object_at(value, "attributes", place)
    document["attributes"] = document["attributes"] or {}
    return document, problem


def _v2_document(found: Found, place: str) -> tuple[Document | None, XGroupError | None]:
    problem = None
    for key, node_type in ((".zarray", "array"), (".zgroup", "group")):
        if key not in found:
            continue
        value, problem = _object_at(found, key, place)
        if value is not None:
            attributes, problem = _object_at(found, ".zattrs", place)
            return {**value, "node_type": node_type, "attributes": attributes or {}}, problem
    return None, problem


def _object_at(
    values: Mapping[str, Any], key: str, place: str
) -> tuple[dict[str, Any] | None, XGroupError | None]:
    """Return the JSON object at a key, or what stands in its way; neither if it is not there."""
    value = values.get(key)
    if isinstance(value, msgspec.Raw):
        try:
            value = json.loads(bytes(value))
        except (ValueError, RecursionError) as error:
            message = _("{place} is not valid JSON: {reason}").format(place=place, reason=error)
            return None, XGroupMetadataError(message)
    if value is None:
        return None, None
    if isinstance(value, XGroupError):
        return None, value
    if not isinstance(value, dict):
        message = _("{key!r} of {place} must be a JSON object, got {kind}").format(
            key=key, place=place, kind=type(value).__name__
        )
        return None, XGroupMetadataError(message)
    return value, None


def consolidated_nodes(
    found: Found, zarr_format: ZarrFormat, place: str
) -> dict[str, Found] | None:
    """Return what a group's consolidated metadata says stands below it.

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
    if zarr_format == 3:
        return _consolidated_v3(found, place)
    return _consolidated_v2(found, place)


def _consolidated_v3(found: Found, place: str) -> dict[str, Found] | None:
    own, _problem = _object_at(found, "zarr.json", place)
    consolidated, problem = _object_at(own or {}, "consolidated_metadata", place)
    if problem is not None:
        raise problem
    if consolidated is None:
        return None
    if consolidated.get("kind", "inline") != "inline":
        message = _("'consolidated_metadata' of {place} is of the unknown kind {kind!r}").format(
            place=place, kind=consolidated["kind"]
        )
        raise XGroupMetadataError(message)
    return {
        path: {"zarr.json": document}
        for path, document in _required(consolidated, "metadata", place).items()
    }


def _consolidated_v2(found: Found, place: str) -> dict[str, Found] | None:
    consolidated, problem = _object_at(found, CONSOLIDATED_V2, place)
    if problem is not None:
        raise problem
    if consolidated is None:
        return None
    nodes: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for key, document in _required(consolidated, "metadata", place).items():
        path, _slash, name = key.rpartition("/")
        if path and name in NODE_KEYS[2]:
            nodes[path][name] = document
    return dict(nodes)


def _required(values: Mapping[str, Any], key: str, place: str) -> dict[str, Any]:
    value, problem = _object_at(values, key, place)
    if problem is not None:
        raise problem
    if value is None:
        message = _("The consolidated metadata of {place} has no {key!r}").format(
            key=key, place=place
        )
        raise XGroupMetadataError(message)
    return value
