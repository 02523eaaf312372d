"""Zarr metadata documents of both formats, brought into one shape."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarr_xgroup import XGroupError, XGroupMetadataError, XGroupStoreError
from zarr_xgroup.documents import (
    Found,
    ZarrFormat,
    consolidated_nodes,
    copy_of,
    format_of,
    node_document,
    parse_json,
)

ERROR = XGroupStoreError("/a/zarr.json cannot be read: PermissionError: no")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


# JSON.


@given(json_values)
@settings(deadline=None, derandomize=True, max_examples=100)
def test_json_is_parsed(value: Any) -> None:
    assert parse_json(json.dumps(value).encode(), "/a/zarr.json") == value


def test_json_with_what_python_writers_leave_in_it() -> None:
    value = parse_json(b'{"a": NaN, "b": -Infinity, "c": Infinity}', "/zarr.json")
    assert value["a"] != value["a"]
    assert (value["b"], value["c"]) == (float("-inf"), float("inf"))


@pytest.mark.parametrize("content", [b"", b"{", b"\x00", b"\xff", b"{'a': 1}", b"[1,]", b"1 2"])
def test_what_is_no_json(content: bytes) -> None:
    with pytest.raises(XGroupMetadataError) as error:
        parse_json(content, "/a/zarr.json")
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
@settings(deadline=None, derandomize=True, max_examples=100)
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

V3_ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [2], "attributes": {"units": "m"}}
V2_ARRAY = {"zarr_format": 2, "shape": [2], "dtype": "<f8"}


def test_a_v3_document_is_taken_as_it_is() -> None:
    assert node_document({"zarr.json": V3_ARRAY}, 3, "/a") == (V3_ARRAY, None)


def test_a_v3_document_without_attributes_gets_none() -> None:
    document, problem = node_document({"zarr.json": {"node_type": "group"}}, 3, "/a")
    assert document == {"node_type": "group", "attributes": {}}
    assert problem is None


def test_consolidated_metadata_is_no_part_of_a_document() -> None:
    group = {"node_type": "group", "attributes": {}}
    found = {"zarr.json": {**group, "consolidated_metadata": {"metadata": {}}}}
    assert node_document(found, 3, "/a") == (group, None)


def test_a_v2_document_in_the_shape_of_v3() -> None:
    found = {".zarray": V2_ARRAY, ".zattrs": {"units": "m"}}
    expected = {**V2_ARRAY, "node_type": "array", "attributes": {"units": "m"}}
    assert node_document(found, 2, "/a") == (expected, None)
    group = {"zarr_format": 2, "node_type": "group", "attributes": {}}
    assert node_document({".zgroup": {"zarr_format": 2}}, 2, "/a") == (group, None)


def test_a_v2_node_that_is_both_is_an_array() -> None:
    document, _problem = node_document({".zarray": V2_ARRAY, ".zgroup": {}}, 2, "/a")
    assert document is not None
    assert document["node_type"] == "array"


def test_a_document_is_not_changed_by_being_read() -> None:
    found = {"zarr.json": json.loads(json.dumps(V3_ARRAY))}
    node_document(found, 3, "/a")
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
    assert node_document(found, zarr_format, "/a") == (None, None)


@pytest.mark.parametrize(
    ("zarr_format", "found", "text"),
    [
        (3, {"zarr.json": []}, "'zarr.json' of /a must be a JSON object, got list"),
        (3, {"zarr.json": "x"}, "'zarr.json' of /a must be a JSON object, got str"),
        (3, {"zarr.json": {}}, "'node_type' of /a must be 'array' or 'group', got None"),
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
def test_a_node_that_cannot_be_understood(zarr_format: ZarrFormat, found: Found, text: str) -> None:
    document, problem = node_document(found, zarr_format, "/a")
    assert document is None
    assert isinstance(problem, XGroupError)
    assert str(problem) == text


@pytest.mark.parametrize("attributes", [[], "x", 5, False])
def test_attributes_that_are_no_object(attributes: Any) -> None:
    kind = type(attributes).__name__
    found = {"zarr.json": {**V3_ARRAY, "attributes": attributes}}
    document, problem = node_document(found, 3, "/a")
    assert document == {**V3_ARRAY, "attributes": {}}
    assert str(problem) == f"'attributes' of /a must be a JSON object, got {kind}"
    document, problem = node_document({".zarray": V2_ARRAY, ".zattrs": attributes}, 2, "/a")
    assert document == {**V2_ARRAY, "node_type": "array", "attributes": {}}
    assert str(problem) == f"'.zattrs' of /a must be a JSON object, got {kind}"


def test_attributes_that_are_null_are_none() -> None:
    found = {"zarr.json": {**V3_ARRAY, "attributes": None}}
    assert node_document(found, 3, "/a") == ({**V3_ARRAY, "attributes": {}}, None)


def test_v2_attributes_that_cannot_be_read() -> None:
    document, problem = node_document({".zarray": V2_ARRAY, ".zattrs": ERROR}, 2, "/a")
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
    document, problem = node_document(found, 2, "/a")
    assert document == {"zarr_format": 2, "node_type": "group", "attributes": {}}
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
def test_no_consolidated_metadata(zarr_format: ZarrFormat, found: Found) -> None:
    assert consolidated_nodes(found, zarr_format, "/") is None


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
def test_malformed_v3_consolidated_metadata(consolidated: Any, text: str) -> None:
    found = {"zarr.json": {"node_type": "group", "consolidated_metadata": consolidated}}
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
def test_malformed_v2_consolidated_metadata(consolidated: Any, text: str) -> None:
    with pytest.raises(XGroupMetadataError) as error:
        consolidated_nodes({".zmetadata": consolidated}, 2, "/g")
    assert str(error.value) == text


def test_v2_consolidated_metadata_that_is_no_json() -> None:
    problem = XGroupMetadataError("/.zmetadata is not valid JSON: no")
    with pytest.raises(XGroupMetadataError, match="not valid JSON") as error:
        consolidated_nodes({".zmetadata": problem}, 2, "/")
    assert error.value is problem


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 9**5 + b"]" * 9**5])
def test_what_is_nested_too_deep_for_the_parser(content: bytes) -> None:
    with pytest.raises(XGroupMetadataError, match=r"^/a/zarr\.json is not valid JSON: "):
        parse_json(content, "/a/zarr.json")


def test_a_number_too_long_for_the_parser() -> None:
    with pytest.raises(XGroupMetadataError, match=r"^/a is not valid JSON: Exceeds the limit"):
        parse_json(b"9" * 5000, "/a")


@pytest.mark.parametrize("value", [{}, {"a": [1, None, True, "\u00e9"]}, [], "text", 5, None])
def test_json_in_any_of_its_encodings(value: Any) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=False).encode("utf-16"), "/a") == value
