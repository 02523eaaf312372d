"""The laws that hold for every store: lazy, nothing broken spreads, read once, portable."""

import json
import pickle
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from packaging.version import Version
from zarr.storage import StorePath

from zarr_xgroup import XGroupMetadataError, XGroupMetadataWarning, XGroupStoreError, demo
from zarr_xgroup.metadata.documents import CONSOLIDATED_V2, NODE_KEYS
from zarr_xgroup.redaction import redact
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    SAMPLE,
    XARRAY,
    Array,
    Contents,
    Group,
    Open,
    RecordingStore,
    ZarrFormat,
    assert_same,
    build,
    compare,
    consolidate,
    coordinate,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    quietly,
    recorded,
    recording_store,
    some_pairs,
    to_json,
    update,
    write_local,
)
from zarr_xgroup.tests.documents import STORES
from zarr_xgroup.tests.products import PRODUCTS
from zarr_xgroup.tests.products import write as write_product
from zarr_xgroup.tests.servers import DelayingStore

KINDS: tuple[tuple[ZarrFormat, bool], ...] = ((2, False), (2, True), (3, False), (3, True))

each_kind = pytest.mark.parametrize(
    ("zarr_format", "consolidated"),
    KINDS,
    ids=["v2", "v2-consolidated", "v3", "v3-consolidated"],
)
each_function = pytest.mark.parametrize(
    "function", [xr.open_dataset, xr.open_groups, xr.open_datatree], ids=lambda f: f.__name__
)


# A group is the same by itself and beside others.


@pytest.mark.parametrize(
    "name", [*sorted(it.stem for it in STORES.glob("*.zarr")), "demo", *PRODUCTS]
)
def test_a_group_is_the_same_by_itself_and_beside_others(name: str, tmp_path: Path) -> None:
    if name in PRODUCTS:
        store = write_product(name, tmp_path)
    else:
        store = demo.STORE if name == "demo" else STORES / f"{name}.zarr"
    options: Any = {"engine": "xgroup", "consolidated": False}
    for path, beside_others in quietly(xr.open_groups, store, **options).items():
        assert_same(quietly(xr.open_dataset, store, group=path, **options), beside_others)


# Lazy.


def arrays_read(store: RecordingStore) -> set[str]:
    """Return the paths of the arrays of which chunks were read."""
    return {
        key.partition("/c/")[0] if "/c/" in key else key.rpartition("/")[0]
        for key in store.chunk_gets
    }


def test_the_recording_store_records_every_read_of_a_chunk() -> None:
    for zarr_format in (2, 3):
        store = recording_store(build(SAMPLE, zarr_format))
        dataset = opened(xr.open_dataset, store, decode_times=False, cache=False)
        for name in ("temperature", "lat_bounds", "lat"):
            store.gets.clear()
            dataset.variables[name].load()
            assert arrays_read(store) == {name}
            assert store.metadata_gets == Counter()


@each_kind
@each_function
@pytest.mark.parametrize("chunks", [None, {}], ids=str)
def test_no_chunk_is_read_where_there_are_no_indexes_and_no_times(
    function: Open, zarr_format: ZarrFormat, consolidated: bool, chunks: Any
) -> None:
    # Strings apart: older versions of xarray read the first one, to know that it is one.
    root = Group(
        {
            name: node
            for name, node in SAMPLE.members.items()
            if name != "station" and (HAS_INDEX_OPTION or not is_dimension_coordinate(name, node))
        }
    )
    store = recording_store(build(root, zarr_format, consolidated=consolidated))
    options = {"create_default_indexes": False} if HAS_INDEX_OPTION else {}
    opened(function, store, decode_times=False, chunks=chunks, drop_variables="y", **options)
    assert store.metadata_gets
    assert store.chunk_gets == Counter()


def is_dimension_coordinate(name: str, node: Array | Group) -> bool:
    return isinstance(node, Array) and node.dims == (name,)


@each_kind
@pytest.mark.parametrize("chunks", [None, {}], ids=str)
def test_only_dimension_coordinates_are_read_for_indexes(
    zarr_format: ZarrFormat, consolidated: bool, chunks: Any
) -> None:
    contents = build(SAMPLE, zarr_format, consolidated=consolidated)
    for function, coordinates in (
        (xr.open_dataset, {"time", "x"}),
        (xr.open_groups, {"time", "x", "sub/y"}),
        (xr.open_datatree, {"time", "x", "sub/y"}),
    ):
        store = recording_store(contents)
        opened(function, store, decode_times=False, chunks=chunks)
        read = arrays_read(store)
        if Version("2025.1") > XARRAY:
            read.discard("station")  # to find out whether these objects are strings
        assert read == coordinates
        assert max(store.chunk_gets.values()) == 1


@each_kind
def test_no_chunk_is_read_that_engine_zarr_does_not_read(
    zarr_format: ZarrFormat, consolidated: bool
) -> None:
    # Decoding times, xarray reads the ends of arrays that hold some.
    contents = build(SAMPLE, zarr_format, consolidated=consolidated)
    for function in (xr.open_dataset, xr.open_groups, xr.open_datatree):
        ours, theirs = recording_store(contents), recording_store(contents)
        opened(function, ours)
        oracle(function, theirs)
        assert ours.chunk_gets
        assert ours.chunk_gets <= theirs.chunk_gets


# Read once.


def document_keys(path: str, *formats: ZarrFormat) -> set[str]:
    """Return the keys at which the documents of a node can be."""
    prefix = f"{path}/" if path else ""
    return {f"{prefix}{key}" for zarr_format in formats for key in NODE_KEYS[zarr_format]}


#: What has to be read of each end of an open, the format being unknown.
def ends(*paths: str) -> set[str]:
    keys = set()
    for path in paths:
        keys |= document_keys(path, 2, 3) | {f"{path}/{CONSOLIDATED_V2}".lstrip("/")}
    return keys


def array_paths(contents: Contents) -> set[str]:
    return {
        key.rpartition("/")[0]
        for key, value in contents.items()
        if key.endswith((".zarray", "zarr.json"))
        and json.loads(value).get("node_type", "array") == "array"
    }


@each_kind
@each_function
@pytest.mark.parametrize("group", ["", "sub", "sub/deep"])
def test_each_document_is_read_at_most_once(
    function: Open, zarr_format: ZarrFormat, consolidated: bool, group: str
) -> None:
    store = recording_store(build(SAMPLE, zarr_format, consolidated=consolidated))
    opened(function, store, group=group)
    assert max(store.metadata_gets.values()) == 1
    assert max(Counter(store.listed).values(), default=0) <= 1


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("group", ["", "sub"])
def test_with_consolidated_metadata_nothing_else_is_read(
    function: Open, zarr_format: ZarrFormat, group: str
) -> None:
    store = recording_store(build(SAMPLE, zarr_format, consolidated=True))
    opened(function, store, group=group)
    assert set(store.metadata_gets) <= ends("", group)
    # The group itself is listed along with the first requests, in case that is needed.
    assert store.listed == [group]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_opening_a_group_reads_no_other(zarr_format: ZarrFormat) -> None:
    contents = build(SAMPLE, zarr_format)
    store = recording_store(contents)
    opened(xr.open_dataset, store, group="sub")
    children = ("sub/y", "sub/value", "sub/deep")
    allowed = ends("", "sub").union(*(document_keys(path, zarr_format) for path in children))
    assert set(store.metadata_gets) <= allowed
    assert [path.strip("/") for path in store.listed] == ["sub"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nothing_is_read_for_the_other_format_below_the_group(zarr_format: ZarrFormat) -> None:
    contents = build(SAMPLE, zarr_format)
    store = recording_store(contents)
    opened(xr.open_datatree, store)
    paths = array_paths(contents) | {"sub", "sub/deep", "nothing"}
    allowed = ends("").union(*(document_keys(path, zarr_format) for path in paths))
    assert set(store.metadata_gets) <= allowed


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_only_the_format_asked_for_is_read(zarr_format: ZarrFormat) -> None:
    store = recording_store(build(SAMPLE, zarr_format))
    opened(xr.open_datatree, store, zarr_format=zarr_format)
    allowed = set(NODE_KEYS[zarr_format]) | ({CONSOLIDATED_V2} if zarr_format == 2 else set())
    assert {key.rpartition("/")[2] for key in store.metadata_gets} <= allowed


def test_consolidated_metadata_that_is_not_to_be_used_is_not_read() -> None:
    store = recording_store(build(SAMPLE, 2, consolidated=True))
    opened(xr.open_datatree, store, consolidated=False)
    assert CONSOLIDATED_V2 not in store.metadata_gets
    assert store.metadata_gets["sub/value/.zarray"] == 1


def test_opening_reads_a_broken_document_once_too() -> None:
    store = recording_store(edit(build(SAMPLE), "lat/zarr.json", b"{"))
    store.failing["flag/zarr.json"] = PermissionError("not yours")
    _dataset, told = opened_with_warnings(xr.open_datatree, store)
    assert len(told) == 2
    assert max(store.metadata_gets.values()) == 1


@pytest.mark.parametrize(("concurrency", "expected"), [(1, 100), (10, 100), (120, 120)])
def test_documents_are_asked_for_together_but_not_all_of_them(
    concurrency: int, expected: int
) -> None:
    root = Group({f"a{n:03}": Array([float(n)], ("x",)) for n in range(150)})
    store = DelayingStore(memory_store(build(root)), 0.002)
    with zarr.config.set({"async.concurrency": concurrency}):
        opened(xr.open_dataset, store)
    assert store.log.most_in_flight == expected


# Portable.

ONE_GROUP = Group(
    {
        "x": coordinate("x", np.arange(4.0), units="m"),
        "v": Array(np.arange(8.0).reshape(2, 4), ("y", "x"), {"units": "K"}, chunks=(1, 2)),
    }
)


def many_groups(number: int, zarr_format: ZarrFormat, consolidated: bool) -> Contents:
    """Return a store of groups g000, g001, ... of which only the first has chunks."""
    first = build(Group({"g000": ONE_GROUP}), zarr_format)
    contents = dict(first)
    for key, content in first.items():
        if key.startswith("g000/") and key.endswith((".json", ".zarray", ".zattrs", ".zgroup")):
            for n in range(1, number):
                contents[f"g{n:03}{key.removeprefix('g000')}"] = content
    return consolidate(contents, zarr_format=zarr_format) if consolidated else contents


@pytest.fixture(scope="module")
def stores_of_two_sizes(tmp_path_factory: pytest.TempPathFactory) -> dict[Any, tuple[Path, Path]]:
    """Return, by format and consolidation, stores of one and of 100 groups, paths as long."""
    folder = tmp_path_factory.mktemp("sizes")
    stores = {}
    kinds: tuple[tuple[ZarrFormat, bool], ...] = ((3, True), (2, True), (3, False))
    for zarr_format, consolidated in kinds:
        name = f"{zarr_format}{consolidated}"
        one = many_groups(1, zarr_format, consolidated)
        all_ = many_groups(100, zarr_format, consolidated)
        stores[zarr_format, consolidated] = (
            write_local(one, folder / f"one_{name}"),
            write_local(all_, folder / f"all_{name}"),
        )
    return stores


@pytest.mark.parametrize(("zarr_format", "consolidated"), [(3, True), (2, True), (3, False)])
@pytest.mark.parametrize("chunks", [None, {}], ids=str)
def test_a_pickled_dataset_does_not_grow_with_its_store(
    stores_of_two_sizes: dict[Any, tuple[Path, Path]],
    zarr_format: ZarrFormat,
    consolidated: bool,
    chunks: Any,
) -> None:
    one, all_ = stores_of_two_sizes[zarr_format, consolidated]

    def size(path: Path) -> int:
        dataset = opened(xr.open_dataset, path, group="g000", chunks=chunks)
        return len(pickle.dumps(dataset))

    assert size(all_) <= size(one) + 8  # as ids and hashes have different lengths


def test_a_pickled_node_of_a_tree_does_not_grow_with_its_store(
    stores_of_two_sizes: dict[Any, tuple[Path, Path]],
) -> None:
    one, all_ = stores_of_two_sizes[3, True]

    def size(path: Path) -> int:
        return len(pickle.dumps(opened(xr.open_datatree, path)["g000"].to_dataset()))

    assert size(all_) <= size(one) + 8


@each_function
@pytest.mark.parametrize(("zarr_format", "chunks"), [(2, None), (3, {})], ids=str)
def test_what_was_pickled_computes(
    function: Open, tmp_path: Path, zarr_format: ZarrFormat, chunks: Any
) -> None:
    path = write_local(build(SAMPLE, zarr_format, consolidated=True), tmp_path / "s.zarr")
    before = opened(function, path, chunks=chunks)
    after = pickle.loads(pickle.dumps(before))
    assert_same(after, opened(function, path, chunks=chunks), encoding=False)


def test_closing_is_not_undone_nor_prevented_by_pickling(tmp_path: Path) -> None:
    path = write_local(build(SAMPLE), tmp_path / "s.zarr")
    with opened(xr.open_dataset, path) as dataset:
        copy = pickle.loads(pickle.dumps(dataset))
    copy.close()
    np.testing.assert_array_equal(copy["lat"].values, np.arange(4.0))


def test_computing_in_another_process(tmp_path: Path, dask_workers: Any) -> None:
    path = write_local(build(Group({"g": ONE_GROUP}), consolidated=True), tmp_path / "s.zarr")
    with dask_workers(1):
        tree = opened(xr.open_datatree, path, chunks={})
        assert float(tree["g/v"].mean().compute()) == 3.5
        dataset = opened(xr.open_dataset, path, group="g", chunks={})
        assert float(dataset["v"].mean().compute()) == 3.5


# Nothing broken spreads.

SOUND = Group(
    {
        "x": coordinate("x", [1.0, 2.0], units="m"),
        "before": Array([1.0, 2.0], ("x",), {"units": "K"}),
        "bad": Array([3.0, 4.0], ("x",), {"units": "s"}),
        "sub": Group({"v": Array([5.0, 6.0], ("x",)), "bad": Array([7.0, 8.0], ("x",))}),
        "zlast": Array([True, False], ("x",)),
    },
    {"title": "sound but for one array"},
)

Change = Callable[[Any], Any]


def without_key(key: str) -> Change:
    return lambda document: {name: value for name, value in document.items() if name != key}


#: What zarr cannot use, so that the array is left out.
BROKEN_V3: dict[str, Change] = {
    "unknown codec": update(codecs=[{"name": "nosuchcodec"}]),
    "codecs not a list": update(codecs="bytes"),
    "no codecs": without_key("codecs"),
    "no data type": without_key("data_type"),
    "no chunk grid": without_key("chunk_grid"),
    "no fill value": without_key("fill_value"),
    "unknown data type": update(data_type="float1024"),
    "data type a number": update(data_type=64),
    "unknown chunk grid": update(chunk_grid={"name": "honeycomb", "configuration": {}}),
    "chunk grid null": update(chunk_grid=None),
    "unknown chunk keys": update(chunk_key_encoding={"name": "nosuchencoding"}),
    "fill value of another type": update(fill_value={"a": 1}),
    "storage transformers": update(storage_transformers=[{"name": "unknown"}]),
}
BROKEN_V2: dict[str, Change] = {
    "unknown compressor": update(compressor={"id": "nosuchcodec"}),
    "unknown filter": update(filters=[{"id": "nosuchcodec"}]),
    "no chunks": without_key("chunks"),
    "no data type": without_key("dtype"),
    "unknown data type": update(dtype="<q99"),
    "data type a number": update(dtype=8),
    "unknown order": update(order="Z"),
    "fill value of another type": update(fill_value={"a": 1}),
}
BAD_SHAPES = ("nonsense", None, -2, [-1], [1.5], ["2"], {"x": 2})


def break_array(
    zarr_format: ZarrFormat, change: Change, path: str = "bad", *, consolidated: bool = False
) -> tuple[Contents, Contents]:
    """Return an intact store, and the same with one array's document changed."""
    intact = build(SOUND, zarr_format)
    broken = edit(intact, f"{path}/{'zarr.json' if zarr_format == 3 else '.zarray'}", change)
    if consolidated:
        return tuple(consolidate(each, zarr_format=zarr_format) for each in (intact, broken))  # type: ignore[return-value]
    return intact, broken


def check_left_out(
    intact: Contents, broken: Contents, text: str, path: str = "bad", store: Any = None
) -> XGroupMetadataWarning:
    """Assert that all is as in the intact store but for one array and one warning."""
    group, _slash, name = path.rpartition("/")
    whole = opened(xr.open_dataset, memory_store(intact), group=group)
    ours, told = opened_with_warnings(xr.open_dataset, store or memory_store(broken), group=group)
    assert [str(item) for item in told] == [text]
    assert_same(ours, whole.drop_vars(name))

    tree, told_of_tree = opened_with_warnings(xr.open_datatree, store or memory_store(broken))
    assert [str(item) for item in told_of_tree] == [text]
    expected = nodes_of(opened(xr.open_datatree, memory_store(intact)))
    expected[f"/{group}"] = expected[f"/{group}"].drop_vars(name)
    assert_same(nodes_of(tree), expected)
    (warning,) = told
    assert isinstance(warning, XGroupMetadataWarning)
    return warning


def nodes_of(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    return {node.path: node.to_dataset(inherit=False) for node in tree.subtree}


def reason_of_zarr(document: dict[str, Any]) -> str:
    """Return why zarr cannot use a document, as we tell it."""
    try:
        zarr.Array.from_dict(StorePath(memory_store({}), "bad"), document)
    except Exception as error:  # noqa: BLE001 - any
        return f"{type(error).__name__}: {error}"
    pytest.fail("zarr can use it")


@pytest.mark.parametrize(
    ("kind", "place"),
    some_pairs(
        [*product([3], BROKEN_V3), *product([2], BROKEN_V2)],
        [("bad", False), ("bad", True), ("sub/bad", True), ("sub/bad", False)],
        4,
    ),
    ids=str,
)
def test_an_array_that_zarr_cannot_use_is_left_out_alone(
    kind: tuple[ZarrFormat, str], place: tuple[str, bool]
) -> None:
    (zarr_format, name), (path, consolidated) = kind, place
    change = (BROKEN_V3 if zarr_format == 3 else BROKEN_V2)[name]
    intact, broken = break_array(zarr_format, change, path, consolidated=consolidated)
    if zarr_format == 3:
        document = json.loads(broken[f"{path}/zarr.json"])
    else:
        # Attributes and node type are given to zarr with it.
        document = {
            **json.loads(broken[f"{path}/.zarray"]),
            "attributes": json.loads(broken[f"{path}/.zattrs"]),
            "node_type": "array",
        }
    # Newer versions of zarr name pages, with a fragment: that may be a secret, for all we know.
    text = redact(f"/{path}: left out: {reason_of_zarr(document)}")
    warning = check_left_out(intact, broken, text, path)
    assert isinstance(warning.error, XGroupMetadataError)
    assert warning.error.__cause__ is not None


@pytest.mark.parametrize(("kind", "shape"), some_pairs(KINDS, BAD_SHAPES, 2), ids=str)
def test_a_shape_that_is_none(kind: tuple[ZarrFormat, bool], shape: Any) -> None:
    zarr_format, consolidated = kind
    intact, broken = break_array(zarr_format, update(shape=shape), consolidated=consolidated)
    text = f"/bad: left out: 'shape' must be a list of lengths, got {shape!r}"
    check_left_out(intact, broken, text)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(("values", "shape"), [([1.0, 2.0], 2), ([1.0], True), ([1.0], [True])])
def test_what_zarr_takes_for_a_shape(
    zarr_format: ZarrFormat, values: list[float], shape: Any
) -> None:
    contents = build(Group({"v": Array(values, ("x",))}), zarr_format)
    key = f"v/{'zarr.json' if zarr_format == 3 else '.zarray'}"
    compare(xr.open_dataset, memory_store(edit(contents, key, update(shape=shape))))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe{}", b'{"a": 1}}', b"nonsense"])
def test_a_document_that_is_no_json(zarr_format: ZarrFormat, content: bytes) -> None:
    intact = build(SOUND, zarr_format)
    key = "bad/zarr.json" if zarr_format == 3 else "bad/.zarray"
    try:
        json.loads(content)
    except ValueError as error:
        reason = str(error)
    text = f"/bad: left out: /{key} is not valid JSON: {reason}"
    warning = check_left_out(intact, edit(intact, key, content), text)
    assert isinstance(warning.error, XGroupMetadataError)


@pytest.mark.parametrize(
    ("kind", "value"), some_pairs(KINDS, [[], ["a"], "text", 5, True], 2), ids=repr
)
def test_a_document_that_is_no_object(kind: tuple[ZarrFormat, bool], value: Any) -> None:
    zarr_format, consolidated = kind
    intact, broken = break_array(zarr_format, lambda _: value, consolidated=consolidated)
    key = "zarr.json" if zarr_format == 3 else ".zarray"
    text = f"/bad: left out: '{key}' must be a JSON object, got {type(value).__name__}"
    check_left_out(intact, broken, text)


@pytest.mark.parametrize("node_type", ["table", None, 5])
def test_a_node_that_is_neither_array_nor_group(node_type: Any) -> None:
    intact, broken = break_array(3, update(node_type=node_type))
    text = f"/bad: left out: 'node_type' must be 'array' or 'group', got {node_type!r}"
    check_left_out(intact, broken, text)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_document_that_cannot_be_read(zarr_format: ZarrFormat) -> None:
    intact = build(SOUND, zarr_format)
    store = recording_store(intact)
    key = "bad/zarr.json" if zarr_format == 3 else "bad/.zarray"
    store.failing[key] = PermissionError("https://user:secret@host/a?sig=secret denied")
    reason = "no permission (PermissionError: https://host/a denied)"
    text = f"/bad: left out: /{key} cannot be read: {reason}"
    warning = check_left_out(intact, intact, text, store=store)
    assert isinstance(warning.error, XGroupStoreError)
    assert isinstance(warning.error.__cause__, PermissionError)


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("attributes", [[], "text", 5, [{"units": "s"}]], ids=repr)
def test_attributes_that_are_no_object(
    zarr_format: ZarrFormat, attributes: Any, consolidated: bool
) -> None:
    intact = build(SOUND, zarr_format)
    if zarr_format == 3:
        broken = edit(intact, "bad/zarr.json", update(attributes=attributes))
        key = "attributes"
    else:
        broken = edit(intact, "bad/.zattrs", to_json(attributes))
        key = ".zattrs"
    if consolidated:
        broken = consolidate(broken, zarr_format=zarr_format)
    whole = opened(xr.open_dataset, memory_store(intact))
    for function in (xr.open_dataset, xr.open_datatree):
        ours, told = opened_with_warnings(function, memory_store(broken))
        # The one array has no attributes, thus in v2 no names of dimensions.
        assert str(told[0]) == (
            f"/bad was opened without attributes: /bad#/attributes: {key!r} must be a JSON object, "
            f"got {type(attributes).__name__}"
        )
        assert len(told) == 1
        ours = ours.to_dataset() if isinstance(ours, xr.DataTree) else ours
        assert_same(ours.drop_vars("bad"), whole.drop_vars("bad"))
        assert ours["bad"].attrs == {}
        np.testing.assert_array_equal(ours["bad"].values, [3.0, 4.0])
        if zarr_format == 3:
            assert ours["bad"].dims == ("x",)


def test_a_broken_array_that_is_dropped_is_not_told_of() -> None:
    _intact, broken = break_array(3, update(codecs=[{"name": "nosuchcodec"}]))
    opened(xr.open_dataset, memory_store(broken), drop_variables="bad")
    for content in (b"{", b"[]"):
        broken = edit(build(SOUND), "bad/zarr.json", content)
        opened(xr.open_dataset, memory_store(broken), drop_variables=["bad"])


def test_a_broken_array_of_another_group_is_not_told_of() -> None:
    broken = edit(build(SOUND), "sub/bad/zarr.json", b"{")
    opened(xr.open_dataset, memory_store(broken))
    for change in BROKEN_V3.values():
        opened(xr.open_dataset, memory_store(break_array(3, change, "sub/bad")[1]))


@each_kind
def test_a_broken_dimension_coordinate(zarr_format: ZarrFormat, consolidated: bool) -> None:
    intact, broken = break_array(
        zarr_format, update(chunk_key_encoding=5, dtype=5), "x", consolidated=consolidated
    )
    ours, told = opened_with_warnings(xr.open_dataset, memory_store(broken))
    assert len(told) == 1
    assert str(told[0]).startswith("/x: left out: ")
    whole = opened(xr.open_dataset, memory_store(intact))
    assert_same(ours, whole.drop_vars("x"))


@each_kind
def test_a_dimension_coordinate_with_chunks_of_length_zero(
    zarr_format: ZarrFormat, consolidated: bool
) -> None:
    # Some versions of zarr take the document, and fail when the values are read.
    grid = {"name": "regular", "configuration": {"chunk_shape": [0]}}
    change = update(chunk_grid=grid) if zarr_format == 3 else update(chunks=[0])
    intact, broken = break_array(zarr_format, change, "x", consolidated=consolidated)
    whole = opened(xr.open_dataset, memory_store(intact))
    for function in (xr.open_dataset, xr.open_datatree):
        ours, given = recorded(function, memory_store(broken), engine="xgroup")
        # Besides, some versions of zarr warn of it themselves.
        told = [str(item) for item in given if isinstance(item, XGroupMetadataWarning)]
        assert told == ["/x: left out: its chunks [0] have no length"]
        ours = ours.to_dataset() if isinstance(ours, xr.DataTree) else ours
        assert_same(ours, whole.drop_vars("x"))


@each_kind
def test_an_array_without_length_may_have_such_chunks(
    zarr_format: ZarrFormat, consolidated: bool
) -> None:
    root = Group({"n": coordinate("n", np.zeros(0)), "v": Array(np.zeros((0, 2)), ("n", "x"))})
    contents = build(root, zarr_format)
    for path, chunks in (("n", [0]), ("v", [0, 1])):
        if zarr_format == 3:
            grid = {"name": "regular", "configuration": {"chunk_shape": chunks}}
            contents = edit(contents, f"{path}/zarr.json", update(chunk_grid=grid))
        else:
            contents = edit(contents, f"{path}/.zarray", update(chunks=chunks))
    if consolidated:
        contents = consolidate(contents, zarr_format=zarr_format)
    compare(xr.open_dataset, memory_store(contents))
    compare(xr.open_datatree, memory_store(contents))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_broken_group(zarr_format: ZarrFormat) -> None:
    intact = build(SOUND, zarr_format)
    key = "sub/zarr.json" if zarr_format == 3 else "sub/.zgroup"
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(edit(intact, key, b"{")))
    assert len(told) == 1
    assert str(told[0]).startswith(f"/sub: left out: /{key} is not valid JSON: ")
    assert list(tree.children) == []
    whole = opened(xr.open_dataset, memory_store(intact))
    assert_same(tree.to_dataset(), whole)


@each_kind
def test_attributes_of_a_group_that_are_no_object(
    zarr_format: ZarrFormat, consolidated: bool
) -> None:
    intact = build(SOUND, zarr_format)
    if zarr_format == 3:
        broken = edit(intact, "sub/zarr.json", update(attributes=[1]))
        key = "attributes"
    else:
        broken = edit(intact, "sub/.zattrs", b"[1]")
        key = ".zattrs"
    if consolidated:
        broken = consolidate(broken, zarr_format=zarr_format)
    text = f"/sub was opened without attributes: /sub#/attributes: {key!r} must be a JSON object, got list"
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(broken))
    assert [str(item) for item in told] == [text]
    assert_same(tree, opened(xr.open_datatree, memory_store(intact)))
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(broken), group="sub")
    assert [str(item) for item in told] == [text]
    assert_same(dataset, opened(xr.open_dataset, memory_store(intact), group="sub"))


def test_each_of_several_broken_arrays_is_told_of_once() -> None:
    contents = build(SOUND)
    contents = edit(contents, "bad/zarr.json", b"{")
    contents = edit(contents, "before/zarr.json", update(codecs=5))
    contents = edit(contents, "sub/bad/zarr.json", update(shape=None))
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(contents))
    for item, path in zip(told, ("/bad", "/before", "/sub/bad"), strict=True):
        assert str(item).startswith(f"{path}: left out: ")
    assert set(tree.variables) == {"x", "zlast"}
    assert set(tree["sub"].variables) == {"v"} | set(tree["sub"].coords)


def test_values_that_cannot_be_read_fail_alone(tmp_path: Path) -> None:
    contents = {**build(SOUND), "bad/c/0": b"\x00"}
    dataset = opened(xr.open_dataset, memory_store(contents))
    np.testing.assert_array_equal(dataset["before"].values, [1.0, 2.0])
    with pytest.raises(Exception):  # noqa: B017, PT011 - of zarr, by version
        dataset["bad"].load()
