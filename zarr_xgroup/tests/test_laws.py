"""The laws that hold for every store: the same in all forms, lazy, read once, portable, independent."""

import multiprocessing
import pickle
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from packaging.version import Version

from zarr_xgroup import demo
from zarr_xgroup.metadata.documents import CONSOLIDATED_V2, NODE_KEYS
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    SAMPLE,
    XARRAY,
    Array,
    Group,
    Open,
    RecordingStore,
    ZarrFormat,
    all_nodes,
    assert_equal,
    assert_same,
    build,
    consolidate,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    quietly,
    recording_store,
    write_local,
)
from zarr_xgroup.tests.documents import FORMS, STORES
from zarr_xgroup.tests.products import PRODUCTS
from zarr_xgroup.tests.products import write as write_product
from zarr_xgroup.tests.sample_stores import SAMPLES, Sample
from zarr_xgroup.tests.servers import DelayingStore

CORPUS = {"no convention": Sample(lambda: SAMPLE), **SAMPLES}
each_sample = pytest.mark.parametrize("sample", CORPUS.values(), ids=CORPUS)
each_form = pytest.mark.parametrize(
    ("zarr_format", "consolidated"), FORMS, ids=["v3", "v3-consolidated", "v2", "v2-consolidated"]
)
each_format = pytest.mark.parametrize("zarr_format", [2, 3], ids=["v2", "v3"])
FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_groups, xr.open_datatree)
each_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda it: it.__name__)


def store_of(sample: Sample, zarr_format: ZarrFormat = 3, consolidated: bool = False) -> Any:
    return memory_store(sample.contents(zarr_format, consolidated=consolidated))


def datasets_of(result: Any) -> dict[str, xr.Dataset]:
    """Return the Datasets of what was opened, by path, with the sources of stores in memory as of one."""
    if isinstance(result, xr.Dataset):
        datasets = {"/": result}
    elif isinstance(result, xr.DataTree):
        datasets = {node.path: node.to_dataset(inherit=False) for node in result.subtree}
    else:
        datasets = dict(result)
    for dataset in datasets.values():
        for variable in dataset.variables.values():
            if source := variable.encoding.get("source"):
                variable.encoding["source"] = re.sub(r"memory://\d+", "memory:/", source)
    return datasets


# The same by all ways.


@each_sample
def test_v2_and_v3_consolidated_or_not_are_the_same(sample: Sample) -> None:
    found = {
        (zarr_format, consolidated): datasets_of(
            opened(xr.open_groups, store_of(sample, zarr_format, consolidated), **sample.assuming)
        )
        for zarr_format, consolidated in FORMS
    }
    assert_same(found[3, True], found[3, False])
    assert_same(found[2, True], found[2, False])
    assert_same(found[2, False], found[3, False], encoding=False)


@each_sample
def test_open_dataset_open_groups_and_open_datatree_agree(sample: Sample) -> None:
    store = store_of(sample)
    groups = opened(xr.open_groups, store, **sample.assuming)
    for path, dataset in groups.items():
        assert_same(opened(xr.open_dataset, store, group=path, **sample.assuming), dataset)
    tree = opened(xr.open_datatree, store, **sample.assuming)
    assert_same(tree, xr.DataTree.from_dict(groups))


LARGE = [*sorted(it.stem for it in STORES.glob("*.zarr")), "demo", *PRODUCTS]


def large_store(name: str, folder: Path) -> Path:
    if name in PRODUCTS:
        return write_product(name, folder)
    return demo.STORE if name == "demo" else STORES / f"{name}.zarr"


@pytest.mark.parametrize("name", LARGE)
def test_a_group_of_a_large_store_is_the_same_alone(name: str, tmp_path: Path) -> None:
    store, is_product = large_store(name, tmp_path), name in PRODUCTS
    options: Any = {"engine": "xgroup", "consolidated": False}
    for path, dataset in quietly(xr.open_groups, store, **options).items():
        alone = quietly(xr.open_dataset, store, group=path, **options)
        assert_same(alone, dataset, values=not is_product)


def assert_can_be_indexed(tree: Any) -> None:
    """Assert that a tree can be indexed along each of its dimensions."""
    nodes = list(tree.subtree)
    tree.map_over_datasets(lambda it: it)
    for dim in {dim for node in nodes for dim in node.dataset.sizes}:
        # xarray cannot index a tree along a dimension without a coordinate that a node has only by inheritance.
        if all(dim in node.dataset.sizes for node in nodes if dim in node.sizes):
            tree.isel({dim: slice(0, 1)})
        else:
            tree.map_over_datasets(xr.Dataset.isel, {dim: slice(0, 1)}, False, "ignore")


@each_sample
def test_a_tree_can_be_indexed_along_each_dimension(sample: Sample) -> None:
    assert_can_be_indexed(opened(xr.open_datatree, store_of(sample), **sample.assuming))


@pytest.mark.parametrize("name", LARGE)
def test_a_large_tree_can_be_indexed_along_each_dimension(name: str, tmp_path: Path) -> None:
    options: Any = {"engine": "xgroup", "consolidated": False}
    assert_can_be_indexed(quietly(xr.open_datatree, large_store(name, tmp_path), **options))


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_an_array_opens_the_same_with_and_without_a_copy(sample: Sample) -> None:
    alone = datasets_of(sample.open())["/"]
    nodes = dict(all_nodes(sample.make()))
    (path,) = (it for it in nodes if it in (f"{sample.group}/v", "v"))
    nodes[f"{path}_again"] = nodes[path]
    store: Any = memory_store(build(nodes))
    both = datasets_of(opened(xr.open_dataset, store, **sample.options))["/"]
    assert_same(both.drop_vars("v_again"), alone)
    xr.testing.assert_identical(both["v_again"].rename("v"), both["v"])


@each_sample
def test_decoding_an_undecoded_dataset_gives_the_same(sample: Sample) -> None:
    raw = sample.open(decode_cf=False)
    for options in ({}, {"decode_coords": "all"}, {"decode_times": False}):
        xr.testing.assert_identical(sample.open(**options), quietly(xr.decode_cf, raw, **options))


#: Attributes that name other arrays, which may have other names in the Dataset.
NAMING = {"ancillary_variables", "coordinates", "dggs", "grid_mapping"}


@each_sample
def test_all_variables_of_engine_zarr_are_kept(sample: Sample) -> None:
    for zarr_format in (2, 3):
        store = store_of(sample, zarr_format)
        ours = opened(xr.open_groups, store, decode_cf=False, **sample.assuming)
        theirs = oracle(xr.open_groups, store, decode_cf=False)
        for path, dataset in theirs.items():
            assert_equal(ours[path].attrs, dataset.attrs, path)
            for name, variable in dataset.variables.items():
                own = ours[path].variables[name]
                np.testing.assert_array_equal(own.values, variable.values)
                assert own.dtype == variable.dtype

                for key in variable.attrs.keys() - NAMING:
                    assert_equal(own.attrs[key], variable.attrs[key], key)


# Lazy.


def arrays_read(store: RecordingStore) -> set[str]:
    """Return the paths of the arrays of which chunks were read."""
    return {
        key.partition("/c/")[0] if "/c/" in key else key.rpartition("/")[0]
        for key in store.chunk_gets
    }


@each_format
def test_the_recording_store_records_every_read_of_a_chunk(zarr_format: ZarrFormat) -> None:
    store = recording_store(build(SAMPLE, zarr_format))
    dataset = opened(xr.open_dataset, store, decode_times=False, cache=False)
    for name in ("temperature", "lat_bounds", "lat"):
        store.gets.clear()
        dataset.variables[name].load()
        assert arrays_read(store) == {name}
        assert store.metadata_gets == Counter()


@each_sample
@pytest.mark.parametrize("chunks", [None, {}], ids=str)
def test_opening_reads_only_chunks_of_indexes_and_times(sample: Sample, chunks: Any) -> None:
    for (zarr_format, consolidated), function in product(FORMS, FUNCTIONS):
        contents = sample.contents(zarr_format, consolidated=consolidated)
        store = recording_store(contents)
        options = {**sample.assuming, "decode_times": False, "chunks": chunks}
        if Version("2025.1") > XARRAY:  # which reads texts to find out that they are
            options["drop_variables"] = ["station", "label"]
        if HAS_INDEX_OPTION:
            opened(function, store, create_default_indexes=False, **options)
            assert store.chunk_gets == Counter()
        found = opened(function, store, **options)
        indexes = {name for dataset in datasets_of(found).values() for name in dataset.xindexes}
        read = {path.rpartition("/")[2] for path in arrays_read(store)}
        assert read - {"sigma"} <= indexes  # sigma is that of s
        assert max(store.chunk_gets.values(), default=1) == 1


@each_form
@each_function
def test_no_chunk_is_read_that_engine_zarr_does_not_read(
    function: Open, zarr_format: ZarrFormat, consolidated: bool
) -> None:
    # Decoding times, xarray reads the ends of arrays that hold some.
    contents = build(SAMPLE, zarr_format, consolidated=consolidated)
    ours, theirs = recording_store(contents), recording_store(contents)
    opened(function, ours)
    oracle(function, theirs)
    assert ours.chunk_gets
    assert ours.chunk_gets <= theirs.chunk_gets


# Read once.


@each_sample
@each_function
def test_each_document_is_read_at_most_once_and_consolidated_ones_alone(
    function: Open, sample: Sample
) -> None:
    for zarr_format, consolidated in FORMS:
        for group in {"", sample.group}:
            store = recording_store(sample.contents(zarr_format, consolidated=consolidated))
            opened(function, store, group=group, **sample.assuming)
            assert max(store.metadata_gets.values()) == 1
            assert max(Counter(store.listed).values(), default=0) <= 1
            if consolidated:
                assert set(store.metadata_gets) <= first_keys("", group)
                # The group itself is listed along with the first requests, in case that is needed.
                assert store.listed == [group]


def first_keys(*groups: str) -> set[str]:
    """Return what has to be asked for of groups, whose format is unknown."""
    names = {*NODE_KEYS[2], *NODE_KEYS[3], CONSOLIDATED_V2}
    return {f"{group}/{name}".lstrip("/") for group in groups for name in names}


def keys_of(path: str, zarr_format: ZarrFormat) -> set[str]:
    return {f"{path}/{key}" for key in NODE_KEYS[zarr_format]}


@each_format
def test_opening_a_group_reads_no_other_group_or_format(zarr_format: ZarrFormat) -> None:
    contents = build(SAMPLE, zarr_format)
    store = recording_store(contents)
    opened(xr.open_dataset, store, group="sub")
    # `value` has no coordinate along x: a warning names an option if a group above has one.
    members = [keys_of(path, zarr_format) for path in ("sub/y", "sub/value", "sub/deep", "x")]
    assert set(store.metadata_gets) <= first_keys("", "sub").union(*members)
    assert [path.strip("/") for path in store.listed] == ["sub"]
    whole = recording_store(contents)
    opened(xr.open_datatree, whole)
    paths = {key.rpartition("/")[0] for key in contents} | {"sub"}
    assert set(whole.metadata_gets) <= first_keys("").union(
        *(keys_of(path, zarr_format) for path in paths)
    )
    asked = recording_store(contents)
    opened(xr.open_datatree, asked, zarr_format=zarr_format)
    names = {key.rpartition("/")[2] for key in asked.metadata_gets}
    assert names <= {*NODE_KEYS[zarr_format], *([CONSOLIDATED_V2] if zarr_format == 2 else [])}


def test_consolidated_metadata_are_not_read_if_not_used() -> None:
    store = recording_store(build(SAMPLE, 2, consolidated=True))
    opened(xr.open_datatree, store, consolidated=False)
    assert CONSOLIDATED_V2 not in store.metadata_gets
    assert store.metadata_gets["sub/value/.zarray"] == 1


def test_a_document_that_is_broken_is_read_once_too() -> None:
    store = recording_store(edit(build(SAMPLE), "lat/zarr.json", b"{"))
    _dataset, told = opened_with_warnings(xr.open_datatree, store)
    assert len(told) == 1
    assert max(store.metadata_gets.values()) == 1


@pytest.mark.parametrize(("concurrency", "expected"), [(1, 100), (10, 100), (120, 120)])
def test_documents_are_requested_concurrently_up_to_a_limit(
    concurrency: int, expected: int
) -> None:
    root = Group({f"a{n:03}": Array([float(n)], ("x",)) for n in range(150)})
    store = DelayingStore(memory_store(build(root)), 0.002)
    with zarr.config.set({"async.concurrency": concurrency}):
        opened(xr.open_dataset, store)
    assert store.log.most_in_flight == expected


# Portable.


OTHERS = {f"other{n:02}": Group({"a": Array([1.0], ("n",))}) for n in range(20)}


@each_sample
@each_format
def test_a_pickle_does_not_grow_with_its_store(
    sample: Sample, zarr_format: ZarrFormat, tmp_path: Path
) -> None:
    nodes = dict(all_nodes(sample.make()))
    sizes = []
    others: Mapping[str, Group]
    for name, others in (("one", {}), ("all", OTHERS)):
        contents = consolidate(build({**nodes, **others}, zarr_format), zarr_format=zarr_format)
        path = write_local(contents, tmp_path / name)
        tree = opened(xr.open_datatree, path, **sample.assuming)
        dataset = opened(xr.open_dataset, path, **sample.options)
        chunked = opened(xr.open_dataset, path, chunks={}, **sample.options)
        node = tree[f"/{sample.group}"].to_dataset()
        sizes.append([len(pickle.dumps(it)) for it in (node, dataset, chunked)])
    for one, all_ in zip(*sizes, strict=True):
        # The documents of the others take thousands of bytes. Equal strings are pickled once or twice, as xarray shares them.
        assert all_ <= one + 100


@pytest.fixture(scope="module")
def process() -> Iterator[ProcessPoolExecutor]:
    """Give a process that has nothing but what is sent to it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        yield executor


def load(pickled: bytes) -> Any:
    return pickle.loads(pickled).load()


@each_sample
@pytest.mark.parametrize(("zarr_format", "chunks"), [(2, {}), (3, None)], ids=str)
def test_pickled_objects_compute_here_and_in_another_process(
    sample: Sample,
    zarr_format: ZarrFormat,
    chunks: Any,
    tmp_path: Path,
    process: ProcessPoolExecutor,
) -> None:
    path = write_local(sample.contents(zarr_format, consolidated=True), tmp_path / "s.zarr")
    for function in FUNCTIONS:
        before = opened(function, path, chunks=chunks, **sample.assuming)
        assert_same(pickle.loads(pickle.dumps(before)), before, encoding=False)
    dataset = opened(xr.open_dataset, path, chunks=chunks, **sample.options)
    loaded = process.submit(load, pickle.dumps(dataset)).result()
    xr.testing.assert_identical(loaded, dataset)


def test_pickling_does_not_affect_closing(tmp_path: Path) -> None:
    path = write_local(build(SAMPLE), tmp_path / "s.zarr")
    with opened(xr.open_dataset, path) as dataset:
        copy = pickle.loads(pickle.dumps(dataset))
    copy.close()
    np.testing.assert_array_equal(copy["lat"].values, np.arange(4.0))


# Independent.


def mutable_parts(value: Any) -> Iterator[Any]:
    """Yield what can be changed of attributes and encodings."""
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from mutable_parts(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from mutable_parts(inner)
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        yield value


@each_sample
def test_two_objects_share_no_mutable_state(sample: Sample) -> None:
    group = zarr.open_group(store_of(sample), mode="r")
    results = [opened(it, group, **sample.assuming) for it in (*FUNCTIONS, *FUNCTIONS)]
    datasets = [dataset for result in results for dataset in datasets_of(result).values()]
    variables = [it for dataset in datasets for it in dataset.variables.values()]
    holders: list[Any] = [*datasets, *variables]
    parts = [part for it in holders for part in mutable_parts([it.attrs, it.encoding])]
    counts = Counter(map(id, parts))
    assert [part for part in parts if counts[id(part)] > 1] == []
    loaded = [it.load().values for it in variables if it.dtype.kind in "fiu"]
    changeable = [it for it in loaded if it.flags.writeable]
    assert not any(np.shares_memory(one, other) for one, other in combinations(changeable, 2))
