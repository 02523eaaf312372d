"""Metadata documents of both formats, single and consolidated: what of a store is known, and what is said of the rest."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import xarray as xr
from zarr.storage import LocalStore, StorePath

from zarr_xgroup import (
    XGroupGroupError,
    XGroupMetadataError,
    XGroupStoreError,
    XGroupStoreNotFoundError,
)
from zarr_xgroup.metadata.documents import (
    Found,
    ZarrFormat,
    decode_json,
    node_document,
)
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import KnownStore, Tree
from zarr_xgroup.storage.addresses import describe_store
from zarr_xgroup.storage.library import Library
from zarr_xgroup.tests.builders import (
    TRUSTS_CONSOLIDATED,
    Group,
    Nodes,
    Open,
    RecordingStore,
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

REMEDY = "open it with consolidated=False, and consolidate it anew"
UNLISTED = (
    "The members of group '/a' cannot be found: recording store cannot be listed and has "
    "no consolidated metadata. Who writes the store can add it by zarr.consolidate_metadata(store)."
)


# JSON.


@pytest.mark.parametrize(
    "content",
    [
        *(b'"\\ud800"', b"1e400", b'{"a": NaN, "b": [-Infinity]}'),
        *(json.dumps({"a": [1, None, "\u00e9"]}).encode(it) for it in ("utf-16", "utf-8-sig")),
    ],
)
def test_json_that_only_python_decodes(content: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        msgspec.json.decode(content)
    assert repr(decode_json(content, "/a")) == repr(json.loads(content))


def test_what_is_no_json() -> None:
    nested = (b'{"a":' * 100_000, b"[" * 9**5 + b"]" * 9**5)
    for content in (b"", b"{", b"\xff", b"{'a': 1}", b"[1,]", b"1 2", b"9" * 5000, *nested):
        with pytest.raises(XGroupMetadataError, match=r"^/a is not valid JSON: ") as caught:
            decode_json(content, "/a")
        assert isinstance(caught.value.__cause__, ValueError | RecursionError)


# Documents.


@rows({"no text": b'"\xff"', "digits": b"9" * 5000}, "wrong")
def test_attributes_that_are_not_valid_json_in_a_valid_object_are_left_out(wrong: bytes) -> None:
    attributes = b'{"a": %s, "units": "m"}' % wrong
    content = b'{"zarr_format": 3, "attributes": %s, "consolidated_metadata": {}}' % attributes
    found: Found = {".zgroup": b'{"zarr_format": 2}', ".zattrs": attributes}
    cases: list[tuple[Any, ZarrFormat, str]] = [
        *((content, 3, "/a"), (msgspec.Raw(content), 3, "/a"), (found, 2, "/a/.zattrs"))
    ]
    for text, zarr_format, place in cases:
        document, problem = node_document(text, zarr_format, "/a")
        expected: Any = {"zarr_format": zarr_format, "node_type": "group", "attributes": {}}
        assert dict(document or {}) == expected
        assert str(problem).startswith(f"{place} is not valid JSON: ")


def test_what_only_looks_as_if_it_could_not_be_decoded() -> None:
    attributes = {"number": 10**1000, "text": "9" * 5000, "letters": "\u00e9\ud800", "pi": 3.14}
    content = json.dumps({"node_type": "group", "attributes": attributes}, ensure_ascii=False)
    found = {"zarr.json": content.encode("utf-8", "surrogatepass")}
    nothing: Found = {"zarr.json": b'{"attributes": null}'}
    for here, expected in ((found, attributes), (nothing, {})):
        document, problem = node_document(here, 3, "/a")
        assert dict(document or {}) == {"node_type": "group", "attributes": expected}
        assert problem is None


@pytest.mark.parametrize(
    ("zarr_format", "written", "consolidated"), [(2, None, True), (3, 7, True), (3, "2", False)]
)
def test_an_array_that_does_not_say_its_format(
    zarr_format: ZarrFormat, written: object, consolidated: bool
) -> None:
    array = stored([1.0, 2.0], "x")
    contents = build({"": {}, "v": array, "w": array}, zarr_format, consolidated=consolidated)
    key = "v/zarr.json" if zarr_format == 3 else "v/.zarray"
    store = edit(contents, key, update(zarr_format=written))
    reason = f"'zarr_format' must be {zarr_format}, got {written!r}"
    check(store, f"w (x)\n! Metadata: /v: left out: {reason}")


# Names.


def test_how_stores_are_called(tmp_path: Path) -> None:
    assert describe_store("s3://k:secret@bucket/a?secret") == "s3://bucket/a"
    assert describe_store(tmp_path) == str(tmp_path)
    assert describe_store("") == "."
    local = LocalStore(tmp_path)
    assert describe_store(local) == describe_store(StorePath(local, "a")) == f"file://{tmp_path}"
    assert describe_store(5) == "int"


@each_format
def test_names_that_zarr_takes_for_others_are_left_out(zarr_format: ZarrFormat) -> None:
    group = Group({"a-b": stored([1.0], "x"), "v": stored([1.0], "x")})
    contents = build(Group({"g": group}), zarr_format)
    renamed = {key.replace("a-b", "a\\b"): value for key, value in contents.items()}
    store: Any = memory_store(renamed)
    groups, told = recorded(xr.open_groups, store, engine="xgroup")
    assert_same(groups, oracle(xr.open_groups, store))
    is_left_out = any("would take for other paths" in str(warning) for warning in told)
    assert is_left_out == ("a\\b" not in groups["/g"].variables)
    for name in (".", ".."):  # engine zarr opens nothing then
        renamed = {key.replace("a-b", name): value for key, value in contents.items()}
        assert set(opened(xr.open_groups, memory_store(renamed))["/g"].variables) == {"v"}


def test_what_is_no_node_is_overlooked() -> None:
    others = ("readme.txt", "a/folder/file", "a/.DS_Store", "nothing/here/zarr.txt")
    check({**build(SMALL), **dict.fromkeys(others, b"hello")}, WHOLE, function=xr.open_datatree)


def test_a_backslash_is_a_slash_as_zarr_has_it() -> None:
    for group in ("\\a\\b\\", "a\\/b"):
        assert Library({}).open(memory_store(build(SMALL)), {"group": group}) == "a/b"


def test_the_format_is_that_of_the_group_asked_for() -> None:
    contents = {**build({"": {"a": 3}}), **below(build(SMALL, 2), "old")}
    check(contents, WHOLE, function=xr.open_datatree, group="old")


# Consolidated metadata.


@each_format
def test_consolidated_metadata_of_a_group_serve_it_and_what_is_below(
    zarr_format: ZarrFormat,
) -> None:
    store = recording_store(build(SMALL, zarr_format, consolidated=["a"]))
    library = Library({})
    library.open(store, {"group": "a"})
    assert library.tree.stores[0].consolidated_at == "a"
    store.listed.clear()
    for consolidated in (None, True):
        expected, options = "/:\nw (y)\n/b:", {"group": "a", "consolidated": consolidated}
        check(store, expected, function=xr.open_datatree, **options)  # type: ignore[arg-type]
    assert [prefix for prefix in store.listed if "b" in prefix] == []
    check(store, WHOLE, function=xr.open_datatree)  # of no use for the whole


@each_format
def test_consolidated_at_the_root_goes_first(zarr_format: ZarrFormat) -> None:
    store = memory_store(build(SMALL, zarr_format, consolidated=["a", ""]))
    library = Library({})
    library.open(store, {"group": "a"})
    assert library.tree.stores[0].consolidated_at == ""


@each_format
def test_a_group_that_consolidated_metadata_does_not_have(zarr_format: ZarrFormat) -> None:
    late = below(build(Group({"v": stored([1.0], "z")}), zarr_format), "late")
    store = recording_store({**build(SMALL, zarr_format, consolidated=True), **late})
    for consolidated in (None, True):
        with pytest.raises(XGroupGroupError) as error:
            xr.open_dataset(store, engine="xgroup", group="late", consolidated=consolidated)  # type: ignore[arg-type]
        assert str(error.value) == (
            "The consolidated metadata of recording store has no group '/late', though the store "
            f"itself does: {REMEDY}"
        )
    check(store, "v (z)", group="late", consolidated=False)


def test_a_store_that_supports_no_consolidated_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingStore, "supports_consolidated_metadata", False, raising=False)
    late = below(build(Group({"v": stored([1.0], "z")})), "late")
    store = recording_store({**build(SMALL, consolidated=True), **late})
    assert set(opened(xr.open_datatree, store).children) == {"a", "c", "late"}


@each_format
def test_what_is_only_in_consolidated_metadata_opens(zarr_format: ZarrFormat) -> None:
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
def test_groups_that_consolidated_metadata_leaves_out_are_seen_by_what_is_in_them(
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
    assert [f"which were left out: {key!r}" in str(it) for it in told] == [True]


# fmt: off
WRONG = {
    "a list": (3, [], "/: 'consolidated_metadata' must be a JSON object, got list"),
    "a number": (2, 5, "/: '.zmetadata' must be a JSON object, got int"),
    "nothing": (3, {"kind": "inline"}, "The consolidated metadata of / has no 'metadata'"),
    "a list of nodes": (2, {"metadata": []}, "/: 'metadata' must be a JSON object, got list"),
    "a kind to come": (3, {"kind": "elsewhere", "metadata": {}}, "'consolidated_metadata' of / is of the unknown kind 'elsewhere'"),
    "an array of a group": (3, {"metadata": {"a": {"zarr_format": 3, "node_type": "array", "shape": []}}}, "its consolidated metadata make an array of the group '/a'"),
}
# fmt: on


@rows(WRONG, "zarr_format, consolidated, reason")
def test_consolidated_metadata_that_are_wrong_are_told_and_not_used(
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
            f"{expected}\n! Metadata: recording store is read node by node: {reason}",
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
    text = "/.zmetadata cannot be read: no permission (PermissionError: no)"
    assert str(error.value) == f"recording store: {text}; open it with consolidated=False"


@each_format
def test_a_broken_node_within_consolidated_metadata(zarr_format: ZarrFormat) -> None:
    key = "zarr.json" if zarr_format == 3 else ".zgroup"
    broken = edit(build(SMALL, zarr_format), f"a/{key}", lambda _: "broken")
    store = consolidate(broken, zarr_format=zarr_format)
    told = f"! Metadata: /a: left out: '{key}' must be a JSON object, got str"
    check(store, f"/:\nv (x) | units=m\n/c:\n{told}", function=xr.open_datatree)
    with pytest.raises(XGroupMetadataError, match="/a"):
        xr.open_dataset(memory_store(store), engine="xgroup", group="a")  # type: ignore[arg-type]


def at(path: str) -> Node:
    return Node(0, path)


def test_groups_that_only_paths_show_are_not_many_more_than_what_is_written() -> None:
    document = {"zarr.json": b'{"zarr_format": 3, "node_type": "group"}'}
    tree = Tree()
    tree.stores.append(KnownStore("store", 3))
    deep = {f"{number}/" + "/".join("a" * 99): document for number in range(200)}
    left_out = tree.learn_consolidated(at(""), deep)
    assert 0 < len(left_out) < len(deep)
    assert len([*tree.subtree(at(""))]) < 10 * len(deep)


# Listings.


@each_format
@pytest.mark.parametrize(
    "error", [NotImplementedError(), PermissionError("https://u:secret@h/ no"), None], ids=repr
)
def test_a_group_whose_listing_fails_or_shows_nothing(
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
    told = f"! Metadata: /a was opened without members: {UNLISTED}"
    tree = check(store, f"/:\nv (x) | units=m\n/a:\n/c:\n{told}", function=xr.open_datatree)
    assert tree["a"].attrs == {"level": 1}
    for function in FUNCTIONS:
        with pytest.raises(XGroupStoreError) as raised:
            function(store, engine="xgroup", group="a")
        assert str(raised.value) == UNLISTED
        if error is not None:
            causes = [str(raised.value.__cause__), str(raised.value.__cause__.__cause__)]  # type: ignore[union-attr]
            assert all("secret" not in cause for cause in causes)
            assert causes[1] == str(error).replace("u:secret@", "")
    with pytest.raises(XGroupStoreError, match=r"not to be used\. Leave consolidated=False out\.$"):
        xr.open_dataset(store, engine="xgroup", group="a", consolidated=False)  # type: ignore[arg-type]


@each_format
def test_folders_without_documents_are_no_groups(zarr_format: ZarrFormat) -> None:
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
def test_a_store_that_forbids_all_it_does_not_have(zarr_format: ZarrFormat) -> None:
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
    cause = PermissionError("https://user:secret@host/zarr.json?secret")
    for key in ("zarr.json", ".zgroup"):
        store.failing[f"{group}/{key}".strip("/")] = cause
    text = (
        r"recording store: .*/(zarr\.json|\.zgroup) cannot be read: no permission "
        r"\(PermissionError: https://host/zarr\.json\)"
    )
    with pytest.raises(XGroupStoreError, match=text) as error:
        Library({}).open(store, {"group": group})
    assert not isinstance(error.value, XGroupStoreNotFoundError)
    chain: BaseException | None = error.value
    while chain is not None and chain is not cause:
        assert "secret" not in str(chain)
        chain = chain.__cause__
    assert chain is cause


def test_an_unreadable_key_does_not_turn_a_missing_group_into_something_else() -> None:
    store = recording_store(build(SMALL))
    store.failing[".zgroup"] = PermissionError("no")
    with pytest.raises(XGroupGroupError, match="There is no group '/nope' in recording store"):
        Library({}).open(store, {"group": "nope"})


@pytest.mark.parametrize("group", [None, "a"])
def test_attributes_of_a_v2_node_that_cannot_be_read(group: str | None) -> None:
    store = recording_store(build(SMALL, 2))
    store.failing["a/.zattrs"] = PermissionError("no")
    reason = "/a/.zattrs cannot be read: no permission (PermissionError: no)"
    told = f"! Metadata: /a was opened without attributes: /a#/attributes: {reason}"
    expected = WHOLE if group is None else "/:\nw (y)\n/b:"
    tree = check(store, f"{expected.strip()}\n{told}", function=xr.open_datatree, group=group)
    assert tree["a" if group is None else "/"].attrs == {}


def test_nodes_may_be_newer_than_consolidated_metadata_but_for_those_below_arrays() -> None:
    library = Library({})
    library.open(memory_store(build(SMALL, consolidated=True)), {})
    assert library.tree.may_be_newer(at("late/deep"))
    assert not library.tree.may_be_newer(at("v/deep"))


def test_a_question_that_fails_for_lack_of_a_document_is_asked_again() -> None:
    library = Library({})
    library.open(memory_store(build(SMALL)), {})

    def question() -> bool:
        if library.tree.document(at("v")) is None:
            raise KeyError
        return True

    assert library.ask(question)


def test_a_document_is_not_asked_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library({})
    library.open(recording_store(build(SMALL)), {})
    monkeypatch.setattr(Tree, "learn_node", lambda *_args: None)
    with pytest.raises(XGroupStoreError, match=r"^what was read is still lacking: "):
        library.ask(lambda: library.tree.document(at("v")))
