"""Metadata documents of both formats, single and consolidated, missing and invalid."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import xarray as xr
import zarr

from zarr_xgroup import (
    XGroupGroupError,
    XGroupMetadataError,
    XGroupStoreError,
    XGroupStoreNotFoundError,
)
from zarr_xgroup.tests.builders import (
    TRUSTS_CONSOLIDATED,
    Group,
    Nodes,
    Open,
    RecordingStore,
    ZarrFormat,
    assert_same,
    below,
    build,
    compare,
    consolidate,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    recorded,
    recording_store,
    stored,
    to_json,
    update,
    without,
)
from zarr_xgroup.tests.tables import check, rows

each_format = pytest.mark.parametrize("zarr_format", [2, 3])
FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_datatree)

SMALL: Nodes = {
    "": {"level": 0},
    "v": stored([1.0, 2.0], "x", units="m"),
    "a": {"level": 1},
    "a/w": stored([3.0], "y"),
    "a/b": {"level": 2},
    "c": {},
}
#: How it opens as a tree.
WHOLE = """
    /:
    v (x) | units=m
    /a:
    w (y)
    /c:
    /a/b:
"""
#: The keys that may hold a document of a group.
KEYS = ("zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata")

REMEDY = "open it with consolidated=False, and consolidate it again"
UNLISTED = (
    "The members of group '/a' cannot be found: recording store cannot be listed and has "
    "no consolidated metadata. The producer of the store can add them with zarr.consolidate_metadata(store)."
)


# JSON.


def documents_of(attributes: bytes, zarr_format: ZarrFormat = 3) -> dict[str, bytes]:
    """Return the documents of a group and of an array in it, with attributes of the group as they are written."""
    if zarr_format == 2:
        return {
            ".zgroup": b'{"zarr_format": 2}',
            ".zattrs": attributes,
            **below(build({"": stored(1)}, 2), "v"),
        }
    document = b'{"zarr_format": 3, "node_type": "group", "attributes": %s}' % attributes
    return {"zarr.json": document, **below(build({"": stored(1)}), "v")}


#: Attributes as they are written, which a strict decoder of JSON refuses, and their encoding.
ONLY_PYTHON: dict[str, tuple[bytes, str]] = {
    "half a surrogate pair": (b'{"a": "\\ud800"}', "utf-8"),
    "half a surrogate pair as bytes": (b'{"a": "\xed\xa0\x80"}', "utf-8"),
    "a number beyond floats": (b'{"a": 1e400, "b": %d}' % 10**1000, "utf-8"),
    "numbers that are none": (b'{"a": NaN, "b": [-Infinity]}', "utf-8"),
    "a different encoding": ('{"a": [1, null, "\u00e9"]}'.encode(), "utf-16"),
    "a byte order mark": ('{"a": [1, null, "\u00e9"]}'.encode(), "utf-8-sig"),
    "a text of digits": (b'{"a": "%s"}' % (b"9" * 5000), "utf-8"),
    "nothing": (b"null", "utf-8"),
}


@rows(ONLY_PYTHON, "written, encoding")
def test_json_that_only_python_decodes(written: bytes, encoding: str) -> None:
    contents = documents_of(written)
    if encoding != "utf-8":
        contents["zarr.json"] = contents["zarr.json"].decode().encode(encoding)
    dataset = opened(xr.open_dataset, memory_store(contents))
    assert repr(dataset.attrs) == repr(json.loads(written) or {})


def test_attributes_may_be_nested_deeper_than_the_stack_of_the_caller() -> None:
    nested: list[Any] = []
    for _level in range(500):
        nested = [nested]
    store = memory_store(build({"": {}, "v": stored([1], "x", k=nested)}))

    def opened_below(frames: int) -> Any:
        return opened_below(frames - 1) if frames else opened(xr.open_dataset, store)

    assert opened_below(500)["v"].attrs["k"] == nested


#: Values that are not valid JSON, and whether the rest of a v3 document can be read.
NO_JSON: dict[str, tuple[bytes, bool]] = {
    "no text": (b'"\xff"', True),
    "digits": (b"9" * 5000, True),
    "depth": (b"[" * 10**5 + b"]" * 10**5, False),
    "no end": (b"[", False),
    "a comma more": (b"[1,]", False),
    "quotes of Python": (b"'a'", False),
}


@rows(NO_JSON, "wrong, is_readable")
def test_attributes_that_are_not_valid_json(wrong: bytes, is_readable: bool) -> None:
    attributes = b'{"a": %s, "units": "m"}' % wrong
    for zarr_format in (2, 3):
        store = memory_store(documents_of(attributes, zarr_format))
        if zarr_format == 3 and not is_readable:
            with pytest.raises(XGroupMetadataError, match=r"/zarr.json is not valid JSON: "):
                opened(xr.open_dataset, store)
            continue
        dataset, (warning,) = opened_with_warnings(xr.open_dataset, store)
        assert (set(dataset.variables), dataset.attrs) == ({"v"}, {})
        key = "attributes" if zarr_format == 3 else ".zattrs"
        expected = f"/ was opened without attributes: /#/attributes: {key!r} is not valid JSON: "
        assert str(warning).startswith(expected)
    group = below(documents_of(attributes), "g")
    tree, (warning,) = opened_with_warnings(xr.open_datatree, memory_store(build({"": {}}) | group))
    assert tree.groups == (("/", "/g") if is_readable else ("/",))
    assert str(warning).startswith("/g")


# Names.


@each_format
def test_names_that_zarr_changes_are_omitted(zarr_format: ZarrFormat) -> None:
    group = Group({"a-b": stored([1.0], "x"), "v": stored([1.0], "x")})
    contents = build(Group({"g": group}), zarr_format)
    renamed = {key.replace("a-b", "a\\b"): value for key, value in contents.items()}
    store: Any = memory_store(renamed)
    groups, told = recorded(xr.open_groups, store, engine="xgroup")
    assert_same(groups, oracle(xr.open_groups, store))
    is_left_out = any("could interpret as different paths" in str(warning) for warning in told)
    assert is_left_out == ("a\\b" not in groups["/g"].variables)
    for name in (".", ".."):  # engine zarr opens nothing then
        renamed = {key.replace("a-b", name): value for key, value in contents.items()}
        assert set(opened(xr.open_groups, memory_store(renamed))["/g"].variables) == {"v"}


def test_files_that_are_not_nodes_are_ignored() -> None:
    others = ("readme.txt", "a/folder/file", "a/.DS_Store", "nothing/here/zarr.txt")
    check({**build(SMALL), **dict.fromkeys(others, b"hello")}, WHOLE, function=xr.open_datatree)


def test_a_backslash_is_a_slash_as_in_zarr() -> None:
    for group in ("\\a\\", "a\\/b"):
        check(SMALL, "" if "b" in group else "w (y)", group=group)


def test_the_format_is_that_of_the_requested_group() -> None:
    contents = {**build({"": {"a": 3}}), **below(build(SMALL, 2), "old")}
    check(contents, WHOLE, function=xr.open_datatree, group="old")


# Consolidated metadata.


@each_format
def test_consolidated_metadata_of_a_group_are_used_for_its_descendants(
    zarr_format: ZarrFormat,
) -> None:
    store = recording_store(build(SMALL, zarr_format, consolidated=["a"]))
    for consolidated in (None, True):
        expected, options = "/:\nw (y)\n/b:", {"group": "a", "consolidated": consolidated}
        check(store, expected, function=xr.open_datatree, **options)  # type: ignore[arg-type]
    assert [prefix for prefix in store.listed if "b" in prefix] == []
    check(store, WHOLE, function=xr.open_datatree)  # of no use for the whole


@each_format
def test_consolidated_at_the_root_goes_first(zarr_format: ZarrFormat) -> None:
    whole = build(SMALL, zarr_format, consolidated=["a", ""])
    newer = build({**SMALL, "a/new": stored(1.0)}, zarr_format, consolidated=["a"])
    store = whole | {key: it for key, it in newer.items() if key.startswith("a/")}
    check(store, "w (y)", group="a")


@each_format
def test_a_group_that_consolidated_metadata_does_not_have(zarr_format: ZarrFormat) -> None:
    late = below(build(Group({"v": stored([1.0], "z")}), zarr_format), "late")
    store = recording_store({**build(SMALL, zarr_format, consolidated=True), **late})
    for consolidated in (None, True):
        with pytest.raises(XGroupGroupError) as error:
            xr.open_dataset(store, engine="xgroup", group="late", consolidated=consolidated)  # type: ignore[arg-type]
        assert str(error.value) == (
            "The consolidated metadata of recording store do not have the group '/late', but the store "
            f"does: {REMEDY}"
        )
    check(store, "v (z)", group="late", consolidated=False)


def test_a_store_that_supports_no_consolidated_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingStore, "supports_consolidated_metadata", False, raising=False)
    late = below(build(Group({"v": stored([1.0], "z")})), "late")
    store = recording_store({**build(SMALL, consolidated=True), **late})
    assert set(opened(xr.open_datatree, store).children) == {"a", "c", "late"}


def test_consolidated_metadata_that_are_not_supported_replace_no_listing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A group is refused whether its address or its path is given."""
    monkeypatch.setattr(RecordingStore, "supports_consolidated_metadata", False, raising=False)
    store = recording_store(build(SMALL, consolidated=True))
    store.unlistable["*"] = NotImplementedError()
    for store_like, group in ((store, "a"), (zarr.open_group(store, path="a", mode="r"), None)):
        with pytest.raises(XGroupStoreError, match="stores of its class have no consolidated"):
            xr.open_dataset(store_like, engine="xgroup", group=group)  # type: ignore[arg-type]


@each_format
def test_nodes_that_are_only_in_consolidated_metadata_open(zarr_format: ZarrFormat) -> None:
    whole = build(SMALL, zarr_format, consolidated=True)
    documents = ("zarr.json", ".zarray", ".zgroup", ".zattrs")
    for gone in ("a/", "v/"):
        stale = {
            key: it
            for key, it in whole.items()
            if not (key.startswith(gone) and key.endswith(documents))
        }
        assert len(stale) < len(whole)
        check(stale, WHOLE, function=xr.open_datatree)
    check(without(whole, "a/"), "w (y)", group="a")


@each_format
def test_groups_missing_in_consolidated_metadata_are_found_by_their_members(
    zarr_format: ZarrFormat,
) -> None:
    contents = consolidate(build(SMALL, zarr_format), zarr_format=zarr_format)
    key = "zarr.json" if zarr_format == 3 else ".zmetadata"
    document = json.loads(contents[key])
    holder = document["consolidated_metadata"] if zarr_format == 3 else document
    for path in ("a", "a/.zgroup", "a/.zattrs"):
        holder["metadata"].pop(path, None)
    store = without({**contents, key: to_json(document)}, "a/zarr.json", "a/.z")
    tree = check(store, WHOLE, function=xr.open_datatree)
    assert (tree["a"].attrs, tree["a/b"].attrs) == ({}, {"level": 2})
    check(store, "w (y)", group="a")


def test_a_group_whose_members_are_missing_from_consolidated_metadata_is_empty() -> None:
    """This is the answer of the newest zarr; older versions read the members of the group."""
    contents = build({"": {}, "a": {}, "a/b": {}, "a/b/w": stored([3.0], "y")}, consolidated=True)
    root = json.loads(contents["zarr.json"])
    del root["consolidated_metadata"]["metadata"]["a/b/w"]
    store = memory_store({**contents, "zarr.json": to_json(root)})
    check(store, "/:\n/a:\n/a/b:", function=xr.open_groups)
    check(store, "", group="a/b")
    if TRUSTS_CONSOLIDATED:
        compare(xr.open_dataset, store, group="a/b")


def test_a_consolidated_path_that_is_written_in_two_ways() -> None:
    key, contents = "a//", build(SMALL, consolidated=True)
    root = json.loads(contents["zarr.json"])
    nodes = root["consolidated_metadata"]["metadata"]
    nodes[key] = {**nodes["a"], "attributes": {"other": True}}
    tree, told = opened_with_warnings(
        xr.open_groups, memory_store({**contents, "zarr.json": to_json(root)})
    )
    assert set(tree) == {"/", "/a", "/c", "/a/b"}
    assert tree["/a"].attrs == {"level": 1}
    assert [f"they were left out: {key!r}" in str(it) for it in told] == [True]


# fmt: off
WRONG = {
    "a list": (3, [], "/: 'consolidated_metadata' must be a JSON object, got list"),
    "a number": (2, 5, "/: '.zmetadata' must be a JSON object, got int"),
    "nothing": (3, {"kind": "inline"}, "The consolidated metadata of / have no 'metadata'"),
    "a list of nodes": (2, {"metadata": []}, "/: 'metadata' must be a JSON object, got list"),
    "a kind to come": (3, {"kind": "elsewhere", "metadata": {}}, "'consolidated_metadata' of / has the unknown kind 'elsewhere'"),
    "an array of a group": (3, {"metadata": {"a": {"zarr_format": 3, "node_type": "array", "shape": []}}}, "its consolidated metadata describe the group '/a' as an array"),
}
# fmt: on


@rows(WRONG, "zarr_format, consolidated, reason")
def test_invalid_consolidated_metadata_are_reported_and_ignored(
    zarr_format: ZarrFormat, consolidated: Any, reason: str
) -> None:
    contents = build(SMALL, zarr_format)
    if zarr_format == 3:
        contents = edit(contents, "zarr.json", update(consolidated_metadata=consolidated))
    else:
        contents[".zmetadata"] = to_json(consolidated)
    store, expected = recording_store(contents), "/:\nw (y)\n/b:"
    options: dict[str, Any] = {"function": xr.open_datatree, "group": "a"}
    if zarr_format == 3:  # of a format that has them at the root only
        check(
            store,
            f"{expected}\n! Metadata: recording store is read without consolidated metadata: {reason}",
            **options,
        )
    check(store, expected, consolidated=False, **options)
    with pytest.raises(XGroupMetadataError) as error:
        opened(xr.open_datatree, store, group="a", consolidated=True)
    assert str(error.value) == f"recording store: {reason}; {REMEDY}"


def test_v2_consolidated_metadata_that_cannot_be_read() -> None:
    """As where a missing key is forbidden and not missing."""
    store = recording_store(build(SMALL, 2))
    store.failing[".zmetadata"] = PermissionError("no")
    check(store, WHOLE, function=xr.open_datatree)
    with pytest.raises(XGroupStoreError) as error:
        opened(xr.open_datatree, store, consolidated=True)
    text = "recording store has no consolidated metadata; open it with consolidated=False"
    assert str(error.value).startswith(text)


@each_format
def test_a_broken_node_within_consolidated_metadata(zarr_format: ZarrFormat) -> None:
    key = "zarr.json" if zarr_format == 3 else ".zgroup"
    broken = edit(build(SMALL, zarr_format), f"a/{key}", lambda _: "broken")
    store = consolidate(broken, zarr_format=zarr_format)
    told = f"! Metadata: /a: left out: '{key}' must be a JSON object, got str"
    check(store, f"/:\nv (x) | units=m\n/c:\n{told}", function=xr.open_datatree)
    with pytest.raises(XGroupMetadataError, match="/a"):
        xr.open_dataset(memory_store(store), engine="xgroup", group="a")  # type: ignore[arg-type]


def test_the_number_of_groups_without_documents_is_limited() -> None:
    contents = build({"": {}}, consolidated=True)
    root = json.loads(contents["zarr.json"])
    group = {"zarr_format": 3, "node_type": "group"}
    deep = {f"{number}/" + "/".join("a" * 99): group for number in range(200)}
    root["consolidated_metadata"]["metadata"] = deep
    store: Any = memory_store({**contents, "zarr.json": to_json(root)})
    groups, told = opened_with_warnings(xr.open_groups, store)
    assert 100 < len(groups) < 10 * len(deep)
    assert "were left out" in str(*told)


# Listings.


@each_format
@pytest.mark.parametrize(
    "error", [NotImplementedError(), PermissionError("https://u:secret@h/ no"), None], ids=repr
)
def test_a_group_whose_listing_fails_or_is_empty(
    zarr_format: ZarrFormat, error: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = recording_store(build(SMALL, zarr_format))
    listing = RecordingStore.list_dir

    async def blind(self: RecordingStore, prefix: str) -> AsyncIterator[str]:
        if prefix.strip("/") != "a":
            async for name in listing(self, prefix):
                yield name

    if error is None:
        monkeypatch.setattr(RecordingStore, "list_dir", blind)
    else:
        store.unlistable["a"] = error
    check(store, "v (x) | units=m")
    for function in FUNCTIONS:
        for group in ("a", None)[: 1 if function is xr.open_dataset else 2]:
            with pytest.raises(XGroupStoreError) as raised:
                function(store, engine="xgroup", group=group)
            assert str(raised.value).startswith(UNLISTED)
    with pytest.raises(
        XGroupStoreError,
        match=r"consolidated=False excludes its consolidated metadata\. Leave out consolidated=False\.$",
    ):
        xr.open_dataset(store, engine="xgroup", group="a", consolidated=False)  # type: ignore[arg-type]


@each_format
def test_folders_without_documents_are_not_groups(zarr_format: ZarrFormat) -> None:
    store: Any = memory_store(without(build(SMALL, zarr_format), "a/zarr.json", "a/.z"))
    tree = check(store, "/:\nv (x) | units=m\n/c:", function=xr.open_datatree)
    assert [it.path for it in tree.subtree] == [
        it.path for it in oracle(xr.open_datatree, store).subtree
    ]
    with pytest.raises(XGroupGroupError):
        xr.open_dataset(store, engine="xgroup", group="a")
    assert opened(xr.open_dataset, store, group="a/b").attrs == {"level": 2}


# Reading.


@each_format
def test_a_store_that_forbids_missing_keys(zarr_format: ZarrFormat) -> None:
    contents = build(SMALL, zarr_format, consolidated=True)
    store = recording_store(contents)
    store.unlistable["*"] = PermissionError("AccessDenied")
    for path in ("", "a/", "a/b/"):
        for key in KEYS:
            if path + key not in contents:
                store.failing[path + key] = PermissionError("AccessDenied")
    check(store, WHOLE, function=xr.open_datatree)
    check(store, "w (y)", group="a")


@each_format
def test_a_root_that_cannot_be_read_does_not_hide_a_group(zarr_format: ZarrFormat) -> None:
    store = recording_store(build(SMALL, zarr_format))
    store.failing = dict.fromkeys(KEYS, PermissionError("no"))
    check(store, "w (y)", group="a")


@pytest.mark.parametrize(("zarr_format", "group"), [(2, "a"), (3, ""), (3, "a")])
def test_a_group_that_cannot_be_read(zarr_format: ZarrFormat, group: str) -> None:
    store = recording_store(build(SMALL, zarr_format))
    denied = PermissionError("https://user:secret@host/zarr.json?secret")
    for key in ("zarr.json", ".zgroup"):
        store.failing[f"{group}/{key}".strip("/")] = denied
    text = (
        r"recording store: .*/(zarr\.json|\.zgroup) cannot be read: no permission "
        r"\(PermissionError: https://host/zarr\.json\)"
    )
    with pytest.raises(XGroupStoreError, match=text) as error:
        xr.open_dataset(store, engine="xgroup", group=group)  # type: ignore[arg-type]
    assert not isinstance(error.value, XGroupStoreNotFoundError)
    chain: list[BaseException] = [error.value]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    assert isinstance(chain[-1], PermissionError)
    assert not any("secret" in str(it) for it in chain)


def test_an_unreadable_key_does_not_turn_a_missing_group_into_something_else() -> None:
    store = recording_store(build(SMALL))
    store.failing[".zgroup"] = PermissionError("no")
    with pytest.raises(XGroupGroupError, match="There is no group '/nope' in recording store"):
        xr.open_dataset(store, engine="xgroup", group="nope")  # type: ignore[arg-type]


@pytest.mark.parametrize("group", [None, "a"])
def test_attributes_of_a_v2_node_that_cannot_be_read(group: str | None) -> None:
    store = recording_store(build(SMALL, 2))
    store.failing["a/.zattrs"] = PermissionError("no")
    reason = "/a/.zattrs cannot be read: no permission (PermissionError: no)"
    with pytest.raises(XGroupStoreError) as raised:
        opened(xr.open_datatree, store, group=group)
    assert str(raised.value).startswith(f"recording store: {reason}")
