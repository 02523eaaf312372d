"""The nodes of a store: found, listed and read, whatever metadata there is."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
import zarr
from zarr.storage import StorePath

from zarr_xgroup import (
    XGroupGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupStoreError,
    XGroupStoreNotFoundError,
)
from zarr_xgroup.metadata import nodes, paths
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.metadata.tree import KnownStore, Tree
from zarr_xgroup.redaction import redact
from zarr_xgroup.storage.library import Library
from zarr_xgroup.storage.opening import describe_store
from zarr_xgroup.tests import builders
from zarr_xgroup.tests.builders import (
    SAMPLE,
    Array,
    Contents,
    Group,
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
    to_json,
    update,
    without,
    write_local,
)

each_format = pytest.mark.parametrize("zarr_format", [2, 3])
OPEN_FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_groups, xr.open_datatree)

SMALL = Group(
    {
        "v": Array([1.0, 2.0], ("x",), {"units": "m"}),
        "a": Group({"w": Array([3.0], ("y",)), "b": Group({}, {"level": 2})}, {"level": 1}),
        "c": Group(),
    },
    {"level": 0},
)

# Credentials.


def test_how_stores_are_called(tmp_path: Path) -> None:
    assert describe_store("s3://k:secret@bucket/a?secret") == "s3://bucket/a"
    assert describe_store(tmp_path) == str(tmp_path)
    assert describe_store("") == "."
    local = zarr.storage.LocalStore(tmp_path)
    assert describe_store(local) == f"file://{tmp_path}"
    assert describe_store(StorePath(local, "a")) == f"file://{tmp_path}"
    assert describe_store(5) == "int"


def test_no_storage_options_in_messages(tmp_path: Path) -> None:
    path = write_local(build(SMALL), tmp_path / "s.zarr")
    for place in (path, "nosuch://host/a", "http://127.0.0.1:9/a"):
        with pytest.raises(XGroupStoreError) as error:
            xr.open_dataset(place, engine="xgroup", storage_options={"headers": {"a": "secret"}})
        assert "secret" not in str(error.value)


# Nodes.


@pytest.mark.parametrize("key", ["/a", "a/", "a//"])
def test_a_consolidated_path_that_is_written_in_two_ways(key: str) -> None:
    contents = build(SMALL, consolidated=True)
    root = json.loads(contents["zarr.json"])
    nodes = root["consolidated_metadata"]["metadata"]
    nodes[key] = {**nodes["a"], "attributes": {"other": True}}
    contents["zarr.json"] = json.dumps(root).encode()
    tree, told = opened_with_warnings(xr.open_groups, memory_store(contents))
    assert set(tree) == {"/", "/a", "/c", "/a/b"}
    assert "other" not in tree["/a"].attrs
    assert len(told) == 1
    assert f"which were left out: {key!r}" in str(told[0])


def at(path: str) -> Node:
    return Node(0, path)


def tree_of(library: Library, group: str = "") -> dict[str, tuple[list[str], list[str]]]:
    """Return the names of the arrays and groups of each group."""
    tree = library.tree
    return {
        node.path: (list(tree.arrays(node)), tree.groups(node)) for node in tree.subtree(at(group))
    }


SMALL_TREE = {"": (["v"], ["a", "c"]), "a": (["w"], ["b"]), "c": ([], []), "a/b": ([], [])}


# What an interpretation lacks.


class Blind(RecordingStore):
    """A store whose listings, but for that of its root, show nothing."""

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        if not prefix:
            async for name in super().list_dir(prefix):
                yield name


def test_what_is_read_is_lacking_no_more() -> None:
    store = recording_store(build(SMALL))
    library, _group = Library.open(store, {})
    paths = ["v", "nope", "a"]
    for _time in range(2):
        found = library.ask(lambda: [library.tree.document(at(path)) for path in paths])
        assert [document is not None for document in found] == [True, False, True]
        assert library.ask(lambda: library.tree.groups(at("a"))) == ["b"]
        assert len(set(store.gets)) == len(store.gets)


def test_what_is_raised_for_lack_of_documents_does_not_count() -> None:
    library, _group = Library.open(recording_store(build(SMALL)), {})

    def question() -> bool:
        document = library.tree.document(at("v"))
        if document is None:
            raise KeyError
        return bool(document.is_array)

    assert library.ask(question)


def test_what_cannot_be_read_is_not_asked_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    library, _group = Library.open(recording_store(build(SMALL)), {})
    monkeypatch.setattr(Tree, "learn_node", lambda *_args: None)
    with pytest.raises(XGroupStoreError, match=r"^what was read is still lacking: "):
        library.ask(lambda: library.tree.document(at("v")))


def test_what_was_interrupted_can_be_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    library, _group = Library.open(recording_store(build(SMALL)), {})

    def asked() -> Document | None:
        return library.ask(lambda: library.tree.document(at("v")))

    def interrupted(coroutine: Any) -> None:
        coroutine.close()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("zarr_xgroup.storage.library.wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            asked()
    assert asked() is not None


def test_a_group_whose_listing_shows_nothing_cannot_be_listed() -> None:
    library, _group = Library.open(Blind(memory_store(build(SMALL))), {})
    library.read_tree("")
    tree = library.tree
    text = (
        "The members of group '/a' cannot be found: recording store cannot be listed and has no "
        "consolidated metadata. Who writes the store can add it by "
        "zarr.consolidate_metadata(store)."
    )
    assert tree.groups(at("")) == ["a", "c"]
    assert str(tree.problems[at("a")]) == text
    assert not tree.is_listed(at("a"))
    with pytest.raises(XGroupStoreError, match=f"^{re.escape(text)}$"):
        library.read_group("a")


# Stores of all kinds.


def test_names_of_nodes_that_are_unusual() -> None:
    members = {
        name: Group({"v": Array([1.0], ("x",))}, {"called": name})
        for name in ("é", "with space", "a.b", "-", "zarr", "zgroup", "c", "0", "%20", "#", "A")
    }
    for zarr_format in (2, 3):
        for consolidated in (False, True):
            contents = build(Group(members), zarr_format, consolidated=consolidated)
            compare(xr.open_groups, memory_store(contents))
            for name in members:
                dataset = opened(xr.open_dataset, memory_store(contents), group=name)
                assert dataset.attrs == {"called": name}


@each_format
def test_names_that_zarr_takes_for_others_are_left_out(zarr_format: ZarrFormat) -> None:
    group = Group({"a-b": Array([1.0], ("x",)), "v": Array([1.0], ("x",))})
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
    contents = {
        **build(SMALL),
        "readme.txt": b"hello",
        "a/folder/file": b"hello",
        "a/.DS_Store": b"",
        "nothing/here/zarr.txt": b"",
    }
    tree = opened(xr.open_datatree, memory_store(contents))
    assert_same(tree, opened(xr.open_datatree, memory_store(build(SMALL))))


# Both formats.


def test_the_format_is_that_of_the_group_asked_for() -> None:
    contents = {**build(Group(attrs={"a": 3})), **below(build(SMALL, 2), "old")}
    library, _group = Library.open(memory_store(contents), {"group": "old"})
    assert library.tree.stores[0].zarr_format == 2
    library.read_tree("old")
    assert [node.path for node in library.tree.subtree(at("old"))] == [
        "old",
        "old/a",
        "old/c",
        "old/a/b",
    ]


@each_format
@pytest.mark.parametrize("group", ["a\\b", "\\a\\b\\", "a\\/b"])
def test_a_backslash_is_a_slash_as_zarr_has_it(zarr_format: ZarrFormat, group: str) -> None:
    store = memory_store(build(SMALL, zarr_format))
    _library, found = Library.open(store, {"group": group})
    assert found == "a/b"


@each_format
@pytest.mark.parametrize("written", [None, 7, "2"])
@pytest.mark.parametrize("consolidated", [True, False])
def test_an_array_that_does_not_say_its_format(
    zarr_format: ZarrFormat, written: object, consolidated: bool
) -> None:
    arrays = {"v": Array([1.0, 2.0], ("x",)), "w": Array([1.0, 2.0], ("x",))}
    contents = build(Group({"g": Group(arrays)}), zarr_format, consolidated=consolidated)

    def changed(document: dict[str, object]) -> dict[str, object]:
        rest = {key: value for key, value in document.items() if key != "zarr_format"}
        return rest if written is None else {**rest, "zarr_format": written}

    key = "g/v/zarr.json" if zarr_format == 3 else "g/v/.zarray"
    store = memory_store(edit(contents, key, changed))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert list(dataset.data_vars) == ["w"]
    assert [str(warning) for warning in told] == [
        f"/g/v: left out: 'zarr_format' must be {zarr_format}, got {written!r}"
    ]


# Consolidated metadata.


@each_format
def test_consolidated_at_the_group_only(zarr_format: ZarrFormat) -> None:
    contents = build(SMALL, zarr_format, consolidated=["a"])
    store = recording_store(contents)
    library, _group = Library.open(store, {"group": "a"})
    assert library.tree.stores[0].consolidated_at == "a"
    store.listed.clear()
    library.read_tree("a")
    assert tree_of(library, "a") == {"a": (["w"], ["b"]), "a/b": ([], [])}
    assert store.listed == []
    plain = memory_store(build(SMALL, zarr_format))
    for function in OPEN_FUNCTIONS:
        ours = opened(function, store, group="a")
        assert_same(ours, opened(function, plain, group="a"))
        assert_same(opened(function, store, group="a", consolidated=True), ours)
    # Of no use for the whole.
    assert_same(opened(xr.open_datatree, store), opened(xr.open_datatree, plain))


@each_format
def test_consolidated_at_the_root_goes_first(zarr_format: ZarrFormat) -> None:
    contents = build(SMALL, zarr_format, consolidated=["a", ""])
    library, _group = Library.open(memory_store(contents), {"group": "a"})
    assert library.tree.stores[0].consolidated_at == ""
    library.read_tree("a")
    assert tree_of(library, "a") == {"a": (["w"], ["b"]), "a/b": ([], [])}


def stale_contents(zarr_format: ZarrFormat) -> Contents:
    """Return a store to which a group was added after it had been consolidated."""
    late = below(build(Group({"v": Array([1.0], ("z",))}), zarr_format), "late")
    return {**build(SMALL, zarr_format, consolidated=True), **late}


@each_format
@pytest.mark.parametrize("consolidated", [None, True])
def test_a_group_that_consolidated_metadata_does_not_have(
    zarr_format: ZarrFormat, consolidated: bool | None
) -> None:
    store = recording_store(stale_contents(zarr_format))
    for function in OPEN_FUNCTIONS:
        with pytest.raises(XGroupGroupError) as error:
            function(store, engine="xgroup", group="late", consolidated=consolidated)
        assert str(error.value) == (
            "The consolidated metadata of recording store has no group '/late', though the store "
            "itself does: open it with consolidated=False, and consolidate it anew"
        )
    dataset = opened(xr.open_dataset, store, group="late", consolidated=False)
    assert list(dataset.variables) == ["v"]


@each_format
def test_a_node_that_is_only_in_consolidated_metadata(zarr_format: ZarrFormat) -> None:
    whole = build(SMALL, zarr_format, consolidated=True)
    documents = ("zarr.json", ".zarray", ".zgroup", ".zattrs")
    for gone in ("a/", "v/"):
        stale = {
            key: content
            for key, content in whole.items()
            if not (key.startswith(gone) and key.endswith(documents))
        }
        assert len(stale) < len(whole)
        ours = opened(xr.open_datatree, memory_store(stale))
        assert_same(ours, opened(xr.open_datatree, memory_store(whole)))
    dataset = opened(xr.open_dataset, memory_store(without(whole, "a/")), group="a")
    assert dataset.attrs == {"level": 1}


@each_format
def test_groups_that_consolidated_metadata_leaves_out(zarr_format: ZarrFormat) -> None:
    contents = consolidate(build(SMALL, zarr_format), zarr_format=zarr_format)
    key = "zarr.json" if zarr_format == 3 else ".zmetadata"
    document = json.loads(contents[key])
    nodes = (
        document["consolidated_metadata"]["metadata"] if zarr_format == 3 else document["metadata"]
    )
    for path in list(nodes):
        if path in ("a", "a/.zgroup", "a/.zattrs"):
            del nodes[path]
    store = memory_store(without({**contents, key: to_json(document)}, "a/zarr.json", "a/.z"))
    library, _group = Library.open(store, {})
    library.read_tree("")
    assert tree_of(library) == SMALL_TREE
    assert opened(xr.open_dataset, store, group="a").attrs == {}
    assert list(opened(xr.open_dataset, store, group="a").variables) == ["w"]
    tree = opened(xr.open_datatree, store)
    assert {node.path for node in tree.subtree} == {"/", "/a", "/c", "/a/b"}


MALFORMED: dict[str, tuple[Any, str]] = {
    "a list": ([], "must be a JSON object, got list"),
    "a number": (5, "must be a JSON object, got int"),
    "without metadata": ({"kind": "inline"}, "The consolidated metadata of / has no 'metadata'"),
    "metadata a list": ({"metadata": []}, "/: 'metadata' must be a JSON object, got list"),
}


REMEDY = "open it with consolidated=False, and consolidate it anew"


def malformed(zarr_format: ZarrFormat, consolidated: Any) -> Contents:
    contents = build(SMALL, zarr_format)
    if zarr_format == 2:
        return {**contents, ".zmetadata": to_json(consolidated)}
    return edit(contents, "zarr.json", update(consolidated_metadata=consolidated))


@each_format
@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_consolidated_metadata_is_told_of_and_not_used(
    zarr_format: ZarrFormat, kind: str
) -> None:
    consolidated, reason = MALFORMED[kind]
    if reason.startswith("must"):
        key = "consolidated_metadata" if zarr_format == 3 else ".zmetadata"
        reason = f"/: '{key}' {reason}"
    store = recording_store(malformed(zarr_format, consolidated))
    plain = memory_store(build(SMALL, zarr_format))
    for function in OPEN_FUNCTIONS:
        ours, told = opened_with_warnings(function, store)
        assert [str(item) for item in told] == [f"recording store is read node by node: {reason}"]
        assert isinstance(told[0], XGroupMetadataWarning)
        assert isinstance(told[0].error, XGroupMetadataError)
        assert_same(ours, opened(function, plain))
        with pytest.raises(XGroupMetadataError) as error:
            function(store, engine="xgroup", consolidated=True)
        assert str(error.value) == f"recording store: {reason}; {REMEDY}"
        opened(function, store, consolidated=False)


@each_format
def test_consolidated_metadata_that_make_an_array_of_a_group(zarr_format: ZarrFormat) -> None:
    plain = build(Group({"g": Group({"v": Array([1.0], ("x",))})}), zarr_format)
    other = build(Group({"g": Array([1.0], ("x",))}), zarr_format, consolidated=True)
    lying = {**plain, **{key: it for key, it in other.items() if "/" not in key}}
    store: Any = memory_store(lying)
    dataset, (warning,) = opened_with_warnings(xr.open_dataset, store, group="g")
    assert "its consolidated metadata make an array of the group '/g'" in str(warning)
    assert_same(dataset, oracle(xr.open_dataset, store, group="g", consolidated=False))
    with pytest.raises(XGroupMetadataError) as error:
        opened(xr.open_dataset, store, group="g", consolidated=True)
    assert str(error.value) == (
        f"{store}: its consolidated metadata make an array of the group '/g'; {REMEDY}"
    )
    assert_same(opened(xr.open_dataset, store, group="g", consolidated=False), dataset)


def test_v2_consolidated_metadata_that_cannot_be_read() -> None:
    # As where a missing key is forbidden and not missing.
    store = recording_store(build(SMALL, 2))
    store.failing[".zmetadata"] = PermissionError("no")
    tree, told = opened_with_warnings(xr.open_datatree, store)
    assert_same(tree, opened(xr.open_datatree, memory_store(build(SMALL, 2))))
    assert len(told) <= 1
    text = "/.zmetadata cannot be read: no permission (PermissionError: no)"
    assert all(text in str(item) for item in told)
    with pytest.raises(XGroupStoreError) as error:
        opened(xr.open_datatree, store, consolidated=True)
    assert str(error.value) == f"recording store: {text}; open it with consolidated=False"


@each_format
def test_a_broken_node_within_consolidated_metadata(zarr_format: ZarrFormat) -> None:
    contents = build(SMALL, zarr_format)
    key = "a/zarr.json" if zarr_format == 3 else "a/.zgroup"
    store = memory_store(
        consolidate(edit(contents, key, lambda _: "broken"), zarr_format=zarr_format)
    )
    tree, told = opened_with_warnings(xr.open_datatree, store)
    assert [str(item) for item in told] == [
        f"/a: left out: '{key[2:]}' must be a JSON object, got str"
    ]
    assert set(tree.children) == {"c"}
    with pytest.raises(XGroupMetadataError) as error:
        xr.open_dataset(store, engine="xgroup", group="a")  # type: ignore[arg-type]
    assert "'/a'" in str(error.value) or "/a: " in str(error.value)


def test_a_store_that_supports_no_consolidated_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordingStore, "supports_consolidated_metadata", False, raising=False)
    store = recording_store(stale_contents(3))
    tree = opened(xr.open_datatree, store)
    assert set(tree.children) == {"a", "c", "late"}


def empty_tree() -> Tree:
    tree = Tree()
    tree.stores.append(KnownStore("store", 3))
    return tree


def test_groups_that_only_paths_show_are_not_many_more_than_what_is_written() -> None:
    document = {"zarr.json": b'{"zarr_format": 3, "node_type": "group"}'}
    tree = empty_tree()
    deep = {f"{number}/" + "/".join("a" * 99): document for number in range(200)}
    left_out = tree.learn_consolidated(at(""), deep)
    assert 0 < len(left_out) < len(deep)
    assert len([*tree.subtree(at(""))]) < 10 * len(deep)
    few = {f"{number}/a/b/c": document for number in range(200)}
    assert empty_tree().learn_consolidated(at(""), few) == []


def test_paths_of_any_length_are_looked_up_as_far_as_anything_is_known_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined: list[str] = []

    def join(*parts: str) -> str:
        joined.append(join_path(*parts))
        return joined[-1]

    for module in (paths, nodes):
        monkeypatch.setattr(module, "join_path", join)
    path = "/".join("a" * 1000)
    known = empty_tree()
    known.learn_listing(at("a/a"), {"a"})
    assert not known.is_known(at(path))
    known.learn_consolidated(at("a"), {"a": {"zarr.json": b'{"node_type": "group"}'}})
    assert known.may_be_newer(at(path))
    assert len(joined) < 20


# Listing.


@each_format
@pytest.mark.parametrize(
    "error", [NotImplementedError(), PermissionError("https://u:secret@h/ no"), OSError("no")]
)
def test_a_store_whose_listing_fails(zarr_format: ZarrFormat, error: Exception) -> None:
    store = recording_store(build(SMALL, zarr_format))
    store.unlistable["*"] = error
    for function in OPEN_FUNCTIONS:
        with pytest.raises(XGroupStoreError) as raised:
            function(store, engine="xgroup", group="a")
        assert str(raised.value) == (
            "The members of group '/a' cannot be found: recording store cannot be listed and has "
            "no consolidated metadata. Who writes the store can add it by "
            "zarr.consolidate_metadata(store)."
        )
        cause: BaseException | None = raised.value
        while cause is not None and type(cause) is not type(error):
            cause = cause.__cause__
        assert str(cause) == redact(str(error))


@each_format
def test_a_group_whose_listing_fails_opens_without_members(zarr_format: ZarrFormat) -> None:
    store = recording_store(build(SMALL, zarr_format))
    store.unlistable["a"] = PermissionError("no")
    tree, told = opened_with_warnings(xr.open_datatree, store)
    (warning,) = told
    assert str(warning) == (
        "/a was opened without members: The members of group '/a' cannot be found: "
        "recording store cannot be listed and has no consolidated metadata. Who writes the store "
        "can add it by zarr.consolidate_metadata(store)."
    )
    assert tree["a"].attrs == {"level": 1}
    assert {node.path for node in tree.subtree} == {"/", "/a", "/c"}
    assert set(tree.variables) == {"v"}


@each_format
def test_groups_without_documents_of_their_own(zarr_format: ZarrFormat) -> None:
    # In Zarr v3 there are none; in v2 there never were. Neither engine shows them.
    contents = without(build(SMALL, zarr_format), "a/zarr.json", "a/.z")
    store = memory_store(contents)
    tree = opened(xr.open_datatree, store)
    assert {node.path for node in tree.subtree} == {"/", "/c"}
    compare_trees_of_names(tree, builders.oracle(xr.open_datatree, store))
    with pytest.raises(XGroupGroupError):
        xr.open_dataset(store, engine="xgroup", group="a")  # type: ignore[arg-type]
    assert opened(xr.open_dataset, store, group="a/b").attrs == {"level": 2}


def compare_trees_of_names(ours: xr.DataTree, theirs: xr.DataTree) -> None:
    assert [node.path for node in ours.subtree] == [node.path for node in theirs.subtree]


# Reading.


@each_format
def test_a_store_that_forbids_all_it_does_not_have(zarr_format: ZarrFormat) -> None:
    contents = build(SAMPLE, zarr_format, consolidated=True)
    expected = opened(xr.open_datatree, memory_store(contents))
    store = recording_store(contents)
    store.unlistable["*"] = PermissionError("AccessDenied")
    for path in ("", "sub/", "sub/deep/"):
        for key in ("zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"):
            if path + key not in contents:
                store.failing[path + key] = PermissionError("AccessDenied")
    assert_same(opened(xr.open_datatree, store), expected)
    dataset = opened(xr.open_dataset, store, group="sub/deep")
    assert_same(dataset, expected["sub/deep"].to_dataset(inherit=False))


@each_format
def test_a_root_that_cannot_be_read_does_not_hide_a_group(zarr_format: ZarrFormat) -> None:
    contents = build(SMALL, zarr_format)
    store = recording_store(contents)
    for key in ("zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"):
        store.failing[key] = PermissionError("no")
    dataset = opened(xr.open_dataset, store, group="a")
    assert_same(dataset, opened(xr.open_dataset, memory_store(contents), group="a"))


@each_format
@pytest.mark.parametrize("group", ["", "a"])
def test_a_group_that_cannot_be_read(zarr_format: ZarrFormat, group: str) -> None:
    store = recording_store(build(SMALL, zarr_format))
    prefix = f"{group}/" if group else ""
    cause = PermissionError("https://user:secret@host/zarr.json?secret")
    for key in ("zarr.json", ".zgroup"):
        store.failing[f"{prefix}{key}"] = cause
    with pytest.raises(XGroupStoreError) as error:
        Library.open(store, {"group": group})
    assert not isinstance(error.value, XGroupStoreNotFoundError)
    assert "recording store" in str(error.value)
    assert re.search(
        r"/(zarr\.json|\.zgroup) cannot be read: no permission \(PermissionError: "
        r"https://host/zarr\.json\)",
        str(error.value),
    )
    assert "secret" not in str(error.value)
    chain: BaseException | None = error.value
    while chain is not None and chain is not cause:
        chain = chain.__cause__
    assert chain is cause


def test_an_unreadable_key_does_not_turn_a_missing_group_into_something_else() -> None:
    store = recording_store(build(SMALL))
    store.failing[".zgroup"] = PermissionError("no")
    with pytest.raises(XGroupGroupError, match="There is no group '/nope' in recording store"):
        Library.open(store, {"group": "nope"})


def test_attributes_of_a_v2_node_that_cannot_be_read() -> None:
    store = recording_store(build(SMALL, 2))
    store.failing["a/.zattrs"] = PermissionError("no")
    tree, told = opened_with_warnings(xr.open_datatree, store)
    reason = "/a/.zattrs cannot be read: no permission (PermissionError: no)"
    assert [str(item) for item in told] == [
        f"/a was opened without attributes: /a#/attributes: {reason}"
    ]
    assert tree["a"].attrs == {}
    assert set(tree["a"].variables) == {"w"}
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="a")
    assert [str(item) for item in told] == [
        f"/a was opened without attributes: /a#/attributes: {reason}"
    ]
    assert (dataset.attrs, set(dataset.variables)) == ({}, {"w"})


def test_consolidated_metadata_of_a_kind_to_come() -> None:
    store = recording_store(malformed(3, {"kind": "elsewhere", "metadata": {}}))
    _dataset, told = opened_with_warnings(xr.open_dataset, store)
    (warning,) = told
    assert str(warning) == (
        "recording store is read node by node: 'consolidated_metadata' of / is of the unknown "
        "kind 'elsewhere'"
    )
