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
    copy_of,
    format_of,
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


def mutable_parts(value: Any) -> list[Any]:
    parts, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict | list):
            parts.append(item)
            pending.extend(item.values() if isinstance(item, dict) else item)
    return parts


@given(json_values)
@settings(deadline=None, derandomize=True, max_examples=50)
def test_a_copy_is_equal_and_shares_nothing_mutable(value: Any) -> None:
    copy = copy_of(value)
    assert copy == value
    originals = {id(part) for part in mutable_parts(value)}
    assert not originals & {id(part) for part in mutable_parts(copy)}


def test_a_copy_of_what_is_nested_deeper_than_the_stack() -> None:
    value: Any = "core"
    for _level in range(100_000):
        value = [value]
    copy = copy_of(value)
    for _level in range(100_000):
        assert copy is not value
        (copy,), (value,) = copy, value
    assert copy == "core"


def read_node(found: Found, zarr_format: ZarrFormat, place: str) -> tuple[Any, Any]:
    """Return a node's document, which is equal to a plain object, and what is wrong with it."""
    return node_document(found, zarr_format, place)


# Objects that are decoded as far as they are asked for.


def raw(text: bytes) -> msgspec.Raw:
    return msgspec.Raw(text)


def undecoded(value: dict[str, Any]) -> JsonObject:
    return JsonObject({key: raw(json.dumps(item).encode()) for key, item in value.items()}, "/a")


json_objects = st.dictionaries(st.text(), json_values, max_size=4)


@given(json_objects)
@settings(deadline=None, derandomize=True, max_examples=50)
def test_an_object_is_the_same_decoded_or_not(value: dict[str, Any]) -> None:
    for members in (JsonObject(value), undecoded(value)):
        assert list(members) == list(value)
        assert len(members) == len(value)
        assert all(key in members for key in value)
        assert {key: json.loads(members.text(key) or b"null") for key in value} == value
        assert members == value
        assert {key: json.loads(members.text(key) or b"null") for key in value} == value


@given(json_objects)
@settings(deadline=None, derandomize=True, max_examples=50)
def test_a_fresh_dict_is_equal_and_shares_nothing_mutable(value: dict[str, Any]) -> None:
    for members in (JsonObject(value), undecoded(value)):
        for _time in range(2):  # before its members were decoded, and after
            fresh, other = members.fresh(), members.fresh()
            assert fresh == other == value
            parts = [id(part) for made in (fresh, other) for part in mutable_parts(made)]
            assert len(set(parts)) == len(parts)
            # Members may share among themselves: what is the same text is decoded once.
            kept = {id(part) for value in members.values() for part in mutable_parts(value)}
            assert not kept & set(parts)


def test_a_member_is_decoded_when_it_is_asked_for() -> None:
    members = JsonObject({"a": raw(b"[1, 2]"), "broken": raw(b"["), "none": None}, "/g")
    assert members["a"] == [1, 2]
    assert members["a"] is members["a"]
    assert members.text("a") == b"[1, 2]"  # as it is written
    assert members.text("broken") == b"["
    assert members.text("none") is members.text("absent") is None
    assert "absent" not in members
    assert members.get("absent") is None
    for read in (lambda: members["broken"], members.fresh):
        with pytest.raises(XGroupMetadataError, match=r"^/g is not valid JSON: "):
            read()


def test_text_tells_objects_apart_and_those_written_alike_not() -> None:
    def text_of(**members: Any) -> bytes:
        document, _problem = read_node({"zarr.json": {**V3_ARRAY, **members}}, 3, "/a")
        before: bytes = document.text_without_attributes()
        assert dict(document)["shape"] == members.get("shape", [2])
        assert document.text_without_attributes() == before
        return before

    plain = text_of()
    assert text_of(attributes={"units": "s"}) == plain
    others = [text_of(shape=[3]), text_of(more=None), text_of(more=1), text_of(other=1)]
    assert len({plain, *others}) == len(others) + 1


def test_text_of_what_no_encoding_has() -> None:
    content = b'{"node_type": "group", "\\ud800": "\\udfff", "attributes": {"\\ud800": 1}}'
    document, problem = read_node({"zarr.json": content}, 3, "/a")
    assert problem is None
    assert document is not None
    assert document["\ud800"] == "\udfff"
    assert document.attributes.fresh() == {"\ud800": 1}
    assert document.text_without_attributes()


# Formats.


@pytest.mark.parametrize(
    ("found", "zarr_format"),
    [
        ({}, None),
        ({"zarr.json": {}}, 3),
        ({"zarr.json": []}, 3),
        ({".zgroup": {}}, 2),
        ({".zarray": {}}, 2),
        ({".zattrs": {}}, None),
        ({".zmetadata": {}}, None),
        ({"zarr.json": {}, ".zgroup": {}}, 3),
        ({"zarr.json": ERROR, ".zgroup": {}}, 2),
        ({"zarr.json": {}, ".zarray": ERROR}, 3),
        ({"zarr.json": ERROR}, None),
        ({".zgroup": ERROR, ".zarray": ERROR}, None),
    ],
    ids=str,
)
def test_the_format_of_what_was_found(found: Found, zarr_format: ZarrFormat | None) -> None:
    assert format_of(found) == zarr_format


# Single nodes.

#: What turns a JSON value into what a reader finds.
Way: TypeAlias = Callable[[Any], Any]


def as_text(value: Any) -> Any:
    return value if isinstance(value, XGroupError) else json.dumps(value).encode()


def as_raw(value: Any) -> Any:
    return value if isinstance(value, XGroupError) else raw(json.dumps(value).encode())


each_way = pytest.mark.parametrize(
    "way", [lambda value: value, as_text, as_raw], ids=["decoded", "text", "undecoded"]
)


def given_as(way: Way, found: Found) -> Found:
    return {key: way(value) for key, value in found.items()}


V3_ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [2], "attributes": {"units": "m"}}
V2_ARRAY = {"zarr_format": 2, "shape": [2], "dtype": "<f8"}


@each_way
def test_a_v3_document_is_taken_as_it_is(way: Way) -> None:
    assert read_node({"zarr.json": way(V3_ARRAY)}, 3, "/a") == (V3_ARRAY, None)


@each_way
def test_a_v3_document_without_attributes_gets_none(way: Way) -> None:
    document, problem = read_node({"zarr.json": way({"node_type": "group"})}, 3, "/a")
    assert document == {"node_type": "group", "attributes": {}}
    assert problem is None


@each_way
def test_consolidated_metadata_is_no_part_of_a_document(way: Way) -> None:
    group = {"node_type": "group", "attributes": {}}
    found = {"zarr.json": way({**group, "consolidated_metadata": {"metadata": {}}})}
    assert read_node(found, 3, "/a") == (group, None)


@each_way
def test_a_v2_document_in_the_shape_of_v3(way: Way) -> None:
    found = given_as(way, {".zarray": V2_ARRAY, ".zattrs": {"units": "m"}})
    expected = {**V2_ARRAY, "node_type": "array", "attributes": {"units": "m"}}
    assert read_node(found, 2, "/a") == (expected, None)
    group = {"zarr_format": 2, "node_type": "group", "attributes": {}}
    assert read_node({".zgroup": way({"zarr_format": 2})}, 2, "/a") == (group, None)


def test_a_v2_node_that_is_both_is_an_array() -> None:
    document, _problem = read_node({".zarray": V2_ARRAY, ".zgroup": {}}, 2, "/a")
    assert document is not None
    assert document["node_type"] == "array"


def test_a_document_is_not_changed_by_being_read() -> None:
    found = {"zarr.json": json.loads(json.dumps(V3_ARRAY))}
    read_node(found, 3, "/a")
    assert found == {"zarr.json": V3_ARRAY}


@pytest.mark.parametrize(
    ("zarr_format", "found"),
    [
        (3, {}),
        (2, {}),
        (3, {".zarray": V2_ARRAY}),
        (2, {"zarr.json": V3_ARRAY}),
        (2, {".zattrs": {}}),
    ],
    ids=str,
)
def test_no_node(zarr_format: ZarrFormat, found: Found) -> None:
    assert read_node(found, zarr_format, "/a") == (None, None)


@pytest.mark.parametrize(
    ("zarr_format", "found", "text"),
    [
        (3, {"zarr.json": []}, "'zarr.json' of /a must be a JSON object, got list"),
        (3, {"zarr.json": "x"}, "'zarr.json' of /a must be a JSON object, got str"),
        (
            3,
            {"zarr.json": {"shape": [2]}},
            "'node_type' of /a must be 'array' or 'group', got None",
        ),
        (
            3,
            {"zarr.json": {"node_type": "table"}},
            "'node_type' of /a must be 'array' or 'group', got 'table'",
        ),
        (
            3,
            {"zarr.json": {"node_type": ["array"]}},
            "'node_type' of /a must be 'array' or 'group', got ['array']",
        ),
        (2, {".zarray": 5}, "'.zarray' of /a must be a JSON object, got int"),
        (2, {".zgroup": True}, "'.zgroup' of /a must be a JSON object, got bool"),
        (3, {"zarr.json": ERROR}, str(ERROR)),
        (2, {".zarray": ERROR}, str(ERROR)),
        (2, {".zgroup": ERROR}, str(ERROR)),
    ],
)
@each_way
def test_a_node_that_cannot_be_understood(
    zarr_format: ZarrFormat, found: Found, text: str, way: Way
) -> None:
    document, problem = read_node(given_as(way, found), zarr_format, "/a")
    assert document is None
    assert isinstance(problem, XGroupError)
    assert str(problem) == text


@each_way
@pytest.mark.parametrize("attributes", [[], "x", 5, False])
def test_attributes_that_are_no_object(attributes: Any, way: Way) -> None:
    kind = type(attributes).__name__
    found: Found = {"zarr.json": way({**V3_ARRAY, "attributes": attributes})}
    document, problem = read_node(found, 3, "/a")
    assert document == {**V3_ARRAY, "attributes": {}}
    assert str(problem) == f"'attributes' of /a must be a JSON object, got {kind}"
    found = given_as(way, {".zarray": V2_ARRAY, ".zattrs": attributes})
    document, problem = read_node(found, 2, "/a")
    assert document == {**V2_ARRAY, "node_type": "array", "attributes": {}}
    assert str(problem) == f"'.zattrs' of /a must be a JSON object, got {kind}"


@each_way
def test_attributes_that_are_null_are_none(way: Way) -> None:
    found = {"zarr.json": way({**V3_ARRAY, "attributes": None})}
    assert read_node(found, 3, "/a") == ({**V3_ARRAY, "attributes": {}}, None)


def test_v2_attributes_that_cannot_be_read() -> None:
    document, problem = read_node({".zarray": V2_ARRAY, ".zattrs": ERROR}, 2, "/a")
    assert document == {**V2_ARRAY, "node_type": "array", "attributes": {}}
    assert problem is ERROR


@pytest.mark.parametrize(
    "found",
    [
        {".zarray": ERROR, ".zgroup": {"zarr_format": 2}},
        {"zarr.json": ERROR, ".zgroup": {"zarr_format": 2}},
    ],
    ids=str,
)
def test_an_error_at_a_key_that_is_not_needed_does_not_matter(found: Found) -> None:
    document, problem = read_node(found, 2, "/a")
    assert document == {"zarr_format": 2, "node_type": "group", "attributes": {}}
    assert problem is None


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


def test_v3_consolidated_metadata() -> None:
    nodes = {"g": {"node_type": "group"}, "g/a": V3_ARRAY}
    consolidated = {"kind": "inline", "must_understand": False, "metadata": nodes}
    found = {"zarr.json": {"node_type": "group", "consolidated_metadata": consolidated}}
    expected = {path: {"zarr.json": document} for path, document in nodes.items()}
    assert consolidated_nodes(found, 3, "/") == expected
    del consolidated["kind"]
    assert consolidated_nodes(found, 3, "/") == expected


def test_v2_consolidated_metadata() -> None:
    metadata = {
        ".zgroup": {"zarr_format": 2},
        ".zattrs": {"title": "root"},
        "g/.zgroup": {"zarr_format": 2},
        "g/a/.zarray": V2_ARRAY,
        "g/a/.zattrs": {"units": "m"},
        "g/notes.txt": {},
    }
    found = {".zmetadata": {"zarr_consolidated_format": 1, "metadata": metadata}}
    assert consolidated_nodes(found, 2, "/") == {
        "g": {".zgroup": {"zarr_format": 2}},
        "g/a": {".zarray": V2_ARRAY, ".zattrs": {"units": "m"}},
    }


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


@pytest.mark.parametrize(
    ("consolidated", "text"),
    [
        ([], "'consolidated_metadata' of /g must be a JSON object, got list"),
        ("x", "'consolidated_metadata' of /g must be a JSON object, got str"),
        ({}, "The consolidated metadata of /g has no 'metadata'"),
        ({"metadata": None}, "The consolidated metadata of /g has no 'metadata'"),
        ({"metadata": []}, "'metadata' of /g must be a JSON object, got list"),
        ({"metadata": 5}, "'metadata' of /g must be a JSON object, got int"),
        (
            {"kind": "sharded", "metadata": {}},
            "'consolidated_metadata' of /g is of the unknown kind 'sharded'",
        ),
        (
            {"kind": None, "metadata": {}},
            "'consolidated_metadata' of /g is of the unknown kind None",
        ),
    ],
)
@each_way
def test_malformed_v3_consolidated_metadata(consolidated: Any, text: str, way: Way) -> None:
    found = {"zarr.json": way({"node_type": "group", "consolidated_metadata": consolidated})}
    with pytest.raises(XGroupMetadataError) as error:
        consolidated_nodes(found, 3, "/g")
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("consolidated", "text"),
    [
        ([], "'.zmetadata' of /g must be a JSON object, got list"),
        ({}, "The consolidated metadata of /g has no 'metadata'"),
        ({"metadata": "x"}, "'metadata' of /g must be a JSON object, got str"),
    ],
)
@each_way
def test_malformed_v2_consolidated_metadata(consolidated: Any, text: str, way: Way) -> None:
    with pytest.raises(XGroupMetadataError) as error:
        consolidated_nodes({".zmetadata": way(consolidated)}, 2, "/g")
    assert str(error.value) == text


def documents_of(found: Found, zarr_format: ZarrFormat) -> dict[str, Any]:
    """Return the documents of the nodes that a group's consolidated metadata has."""
    nodes = consolidated_nodes(found, zarr_format, "/")
    assert nodes is not None
    return {path: read_node(values, zarr_format, f"/{path}")[0] for path, values in nodes.items()}


#: More than zarr writes, or less: read all the same.
SPELLINGS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "as zarr": lambda group: group,
    "another member": lambda group: {**group, "more": [1]},
    "another member inside": lambda group: {
        **group,
        "consolidated_metadata": {**group["consolidated_metadata"], "more": {}},
    },
    "nodes only": lambda group: {
        **group,
        "consolidated_metadata": {"metadata": group["consolidated_metadata"]["metadata"]},
    },
    "without attributes": lambda group: {
        key: value for key, value in group.items() if key != "attributes"
    },
    "not a number": lambda group: {**group, "attributes": {"a": float("inf")}},
    "no attributes": lambda group: {**group, "attributes": None},
    "attributes a list": lambda group: {**group, "attributes": []},
    "consolidated twice": lambda group: {
        **group,
        "attributes": {"consolidated_metadata": {"metadata": {"x": {}}}},
    },
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_v3_consolidated_metadata_as_text(spelling: str) -> None:
    nodes = {
        "g": {"node_type": "group", "attributes": {}},
        "g/a": V3_ARRAY,
        "broken": [],
        "not/a/number": {"node_type": "group", "attributes": {"a": float("-inf")}},
    }
    consolidated = {"kind": "inline", "must_understand": False, "metadata": nodes}
    whole = SPELLINGS[spelling](
        {
            "zarr_format": 3,
            "node_type": "group",
            "attributes": {"title": "root"},
            "consolidated_metadata": consolidated,
        }
    )
    content = json.dumps(whole).encode()
    document, problem = read_node({"zarr.json": whole}, 3, "/")
    expected = {**nodes, "broken": None}
    for value in (whole, content, raw(content)):
        assert documents_of({"zarr.json": value}, 3) == expected
        found, same_problem = read_node({"zarr.json": value}, 3, "/")
        assert found == document
        assert str(same_problem) == str(problem)


def test_consolidated_nodes_are_split_and_not_decoded() -> None:
    content = (
        b'{"zarr_format": 3, "node_type": "group", "attributes": {"title": "root"}, '
        b'"consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": '
        b'{"bad": {"node_type": "group", "attributes": {"a": "\xff"}}, "good": {"node_type": '
        b'"group"}}}}'
    )
    found = {"zarr.json": content}
    split = consolidated_nodes(found, 3, "/") or {}
    assert all(isinstance(node["zarr.json"], msgspec.Raw) for node in split.values())
    group = {"zarr_format": 3, "node_type": "group", "attributes": {"title": "root"}}
    assert read_node(found, 3, "/") == (group, None)
    nodes = documents_of(found, 3)
    assert nodes == {"bad": None, "good": {"node_type": "group", "attributes": {}}}


@pytest.mark.parametrize("more", [{}, {"more": 1}])
def test_v2_consolidated_metadata_as_text(more: dict[str, Any]) -> None:
    metadata = {
        ".zgroup": {"zarr_format": 2},
        "g/.zgroup": {"zarr_format": 2},
        "g/a/.zarray": V2_ARRAY,
        "g/a/.zattrs": {"units": "m"},
        "g/notes.txt": {},
        "bad/.zgroup": [],
    }
    whole = {"zarr_consolidated_format": 1, "metadata": metadata, **more}
    for value in (whole, json.dumps(whole).encode()):
        assert documents_of({".zmetadata": value}, 2) == {
            "g": {"zarr_format": 2, "node_type": "group", "attributes": {}},
            "g/a": {**V2_ARRAY, "node_type": "array", "attributes": {"units": "m"}},
            "bad": None,
        }


def test_v2_consolidated_metadata_that_is_no_json() -> None:
    problem = XGroupMetadataError("/.zmetadata is not valid JSON: no")
    with pytest.raises(XGroupMetadataError, match="not valid JSON") as error:
        consolidated_nodes({".zmetadata": problem}, 2, "/")
    assert error.value is problem


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
