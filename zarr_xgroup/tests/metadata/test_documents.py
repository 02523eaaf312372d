"""Zarr metadata documents of both formats, brought into one shape."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarr_xgroup import XGroupError, XGroupMetadataError, XGroupStoreError
from zarr_xgroup.metadata.documents import (
    Found,
    JsonObject,
    Pool,
    ZarrFormat,
    consolidated_nodes,
    node_document,
)

ERROR = XGroupStoreError("/a/zarr.json cannot be read: PermissionError: no")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


# JSON.


@given(json_values)
@settings(deadline=None, derandomize=True, max_examples=50)
def test_json_is_parsed(value: Any) -> None:
    assert Pool().value(json.dumps(value).encode(), "/a/zarr.json") == value


def test_json_with_what_python_writers_leave_in_it() -> None:
    value = Pool().value(b'{"a": NaN, "b": -Infinity, "c": Infinity}', "/zarr.json")
    assert value["a"] != value["a"]
    assert (value["b"], value["c"]) == (float("-inf"), float("inf"))


@pytest.mark.parametrize("content", [b"", b"{", b"\x00", b"\xff", b"{'a': 1}", b"[1,]", b"1 2"])
def test_what_is_no_json(content: bytes) -> None:
    with pytest.raises(XGroupMetadataError) as error:
        Pool().value(content, "/a/zarr.json")
    assert str(error.value) == f"/a/zarr.json is not valid JSON: {error.value.__cause__}"
    assert isinstance(error.value.__cause__, ValueError)


def read_node(found: Found, zarr_format: ZarrFormat, place: str) -> tuple[Any, Any]:
    """Return a node's document, which is equal to a plain object, and what is wrong with it."""
    return node_document(found, zarr_format, place)


# Objects that are decoded as far as they are asked for.


def raw(text: bytes) -> msgspec.Raw:
    return msgspec.Raw(text)


def undecoded(value: dict[str, Any]) -> JsonObject:
    return JsonObject({key: json.dumps(item).encode() for key, item in value.items()}, "/a")


# Single nodes.

#: What turns a JSON value into what a reader finds.
Way: TypeAlias = Callable[[Any], Any]


def as_text(value: Any) -> Any:
    return value if isinstance(value, XGroupError) else json.dumps(value).encode()


def as_raw(value: Any) -> Any:
    return value if isinstance(value, XGroupError) else raw(json.dumps(value).encode())


each_way = pytest.mark.parametrize("way", [as_text, as_raw], ids=["text", "undecoded"])


def given_as(way: Way, found: Found) -> Found:
    return {key: way(value) for key, value in found.items()}


V3_ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [2], "attributes": {"units": "m"}}


@each_way
def test_attributes_that_are_null_are_none(way: Way) -> None:
    found = {"zarr.json": way({**V3_ARRAY, "attributes": None})}
    assert read_node(found, 3, "/a") == ({**V3_ARRAY, "attributes": {}}, None)


#: What no decoder of whole documents accepts, though a reader of their members may overlook it.
OVERLOOKED = {
    "no text": b'"\xff"',
    "digits": b"9" * 5000,
    "depth": b"[" * 100_000 + b"]" * 100_000,
}


@pytest.mark.parametrize("kind", OVERLOOKED)
@pytest.mark.parametrize("node_type", ["array", "group"])
def test_attributes_that_cannot_be_decoded_are_told_of_at_once(kind: str, node_type: str) -> None:
    content = (
        b'{"node_type": "%s", "attributes": {"a": %s, "units": "m"}, "consolidated_metadata": '
        b'{"kind": "inline", "metadata": {}}}'
    ) % (node_type.encode(), OVERLOOKED[kind])
    document, problem = read_node({"zarr.json": content}, 3, "/a")
    assert document is None
    assert str(problem).startswith("/a/zarr.json is not valid JSON: ")
    document, problem = read_node({"zarr.json": raw(content)}, 3, "/a")
    assert document is None
    assert str(problem).startswith("/a is not valid JSON: ")
    attributes = b'{"a": %s}' % OVERLOOKED[kind]
    found = {".zgroup": b'{"zarr_format": 2}', ".zattrs": attributes}
    document, problem = read_node(found, 2, "/a")
    assert document == {"zarr_format": 2, "node_type": "group", "attributes": {}}
    assert str(problem).startswith("/a/.zattrs is not valid JSON: ")


def test_what_only_looks_as_if_it_could_not_be_decoded() -> None:
    attributes = {"number": 10**1000, "text": "9" * 5000, "letters": "\u00e9\ud800", "pi": 3.14}
    content = json.dumps({"node_type": "group", "attributes": attributes}, ensure_ascii=False)
    found = {"zarr.json": content.encode("utf-8", "surrogatepass")}
    document, problem = read_node(found, 3, "/a")
    assert document == {"node_type": "group", "attributes": attributes}
    assert problem is None


# Consolidated metadata.


@pytest.mark.parametrize(
    ("zarr_format", "found"),
    [
        (3, {}),
        (3, {"zarr.json": {"node_type": "group"}}),
        (3, {"zarr.json": {"node_type": "group", "consolidated_metadata": None}}),
        (3, {"zarr.json": []}),
        (3, {"zarr.json": ERROR}),
        (3, {".zmetadata": {"metadata": {}}}),
        (2, {}),
        (2, {".zmetadata": None}),
        (2, {"zarr.json": {"consolidated_metadata": {"metadata": {}}}}),
    ],
    ids=str,
)
@each_way
def test_no_consolidated_metadata(zarr_format: ZarrFormat, found: Found, way: Way) -> None:
    assert consolidated_nodes(given_as(way, found), zarr_format, "/") is None


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 9**5 + b"]" * 9**5])
def test_what_is_nested_too_deep_for_the_parser(content: bytes) -> None:
    with pytest.raises(XGroupMetadataError, match=r"^/a/zarr\.json is not valid JSON: "):
        Pool().value(content, "/a/zarr.json")


def test_a_number_too_long_for_the_parser() -> None:
    with pytest.raises(XGroupMetadataError, match=r"^/a is not valid JSON: Exceeds the limit"):
        Pool().value(b"9" * 5000, "/a")


@pytest.mark.parametrize("value", [{}, {"a": [1, None, True, "\u00e9"]}, [], "text", 5, None])
def test_json_in_any_of_its_encodings(value: Any) -> None:
    assert Pool().value(json.dumps(value, ensure_ascii=False).encode("utf-16"), "/a") == value


@pytest.mark.parametrize("content", [b'"\\ud800"', b"1e400", b'["\\udc00", 1e999]', b"NaN"])
def test_json_that_only_python_decodes(content: bytes) -> None:
    """Msgspec, which decodes most texts, refuses it."""
    with pytest.raises(msgspec.MsgspecError):
        msgspec.json.decode(content)
    assert repr(Pool().value(content, "/a/zarr.json")) == repr(json.loads(content))


def mutable_parts(value: Any) -> list[Any]:
    parts, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict | list):
            parts.append(item)
            pending.extend(item.values() if isinstance(item, dict) else item)
    return parts


@given(st.dictionaries(st.text(), json_values, max_size=4))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_a_fresh_dict_is_equal_and_shares_nothing_mutable(value: dict[str, Any]) -> None:
    members = undecoded(value)
    for _time in range(2):  # before its members were decoded, and after
        fresh, other = members.fresh(), members.fresh()
        assert fresh == other == value
        parts = [id(part) for made in (fresh, other) for part in mutable_parts(made)]
        assert len(set(parts)) == len(parts)
        # Members may share among themselves: what is the same text is decoded once.
        kept = {id(part) for value in members.values() for part in mutable_parts(value)}
        assert not kept & set(parts)
