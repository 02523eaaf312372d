"""Opening stores without conventions: the same as engine zarr from every backend, and helpful errors."""

import re
import time
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import xarray as xr
import zarr
from fsspec.implementations.zip import ZipFileSystem
from zarr.storage import LocalStore, MemoryStore, StorePath, ZipStore

from zarr_xgroup import (
    XGroupBackendEntrypoint,
    XGroupGroupError,
    XGroupMetadataError,
    XGroupPathError,
    XGroupStoreError,
    XGroupStoreNotFoundError,
)
from zarr_xgroup.options import OpenOptions, OpenTreeOptions, StoreOptions
from zarr_xgroup.tests import builders
from zarr_xgroup.tests.builders import (
    SAMPLE,
    SAMPLE_GROUPS,
    Array,
    Contents,
    Group,
    Open,
    ZarrFormat,
    assert_same,
    below,
    build,
    compare,
    edit,
    memory_store,
    opened,
    recording_store,
    some_pairs,
    without,
    write_local,
    write_zip,
)
from zarr_xgroup.tests.documents import FORMS
from zarr_xgroup.tests.tables import rows

T = TypeVar("T")

OPEN_FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_groups, xr.open_datatree)
each_function = pytest.mark.parametrize("function", OPEN_FUNCTIONS, ids=lambda f: f.__name__)
each_format = pytest.mark.parametrize("zarr_format", [2, 3], ids=["v2", "v3"])


@cache
def sample_contents(zarr_format: ZarrFormat = 3, consolidated: bool = False) -> Contents:
    """Return the sample, built once."""
    return build(SAMPLE, zarr_format, consolidated=consolidated)


def sample_store(zarr_format: ZarrFormat = 3, consolidated: bool = False) -> MemoryStore:
    return memory_store(sample_contents(zarr_format, consolidated))


# The same as engine zarr.

OPTIONS: list[dict[str, Any]] = [
    *({"group": it} for it in (None, "", "/", "sub", "/sub", "sub/", "/sub/deep/", "nothing")),
    *({"consolidated": it} for it in (None, False)),
    {"decode_cf": False},
    {"mask_and_scale": False},
    {"mask_and_scale": {"temperature": False}},
    {"decode_times": False},
    {"decode_times": {"time": False}},
    {"decode_timedelta": True},
    {"decode_timedelta": False},
    {"concat_characters": False},
    {"decode_coords": False},
    {"decode_coords": "coordinates"},
    {"decode_coords": "all"},
    {"use_cftime": True},
    {"use_cftime": False, "drop_variables": "time"},
    {"drop_variables": "temperature"},
    {"drop_variables": ["x", "crs", "value", "absent"]},
    {"chunks": {}},
    {"chunks": "auto", "drop_variables": "station"},
    {"chunks": -1},
    {"chunks": {"x": 2}},
    {"chunks": None},
    {"cache": False},
    *([{"create_default_indexes": False, "chunks": {}}] if builders.HAS_INDEX_OPTION else []),
]


@pytest.mark.parametrize(
    ("function", "way"),
    some_pairs(OPEN_FUNCTIONS, product(FORMS, OPTIONS), 5),
    ids=lambda it: getattr(it, "__name__", str(it)),
)
def test_options_of_xarray_and_forms_of_group_work_as_in_engine_zarr(
    function: Open, way: tuple[tuple[ZarrFormat, bool], dict[str, Any]]
) -> None:
    form, options = way
    ours = compare(function, sample_store(*form), **options)
    if options.get("create_default_indexes") is False:
        assert not (ours if function is xr.open_dataset else ours["/"]).xindexes


@each_function
@each_format
def test_required_consolidated_metadata_open_as_in_engine_zarr(
    function: Open, zarr_format: ZarrFormat
) -> None:
    compare(function, sample_store(zarr_format, True), consolidated=True)


def test_the_tree_is_rooted_at_the_requested_group() -> None:
    tree = opened(xr.open_datatree, sample_store(), group="/sub/")
    assert [node.path for node in tree.subtree] == ["/", "/deep"]
    assert tree.attrs == {"title": "below"}
    assert list(opened(xr.open_groups, sample_store(), group="sub")) == [".", "deep"]


@pytest.mark.parametrize("consolidated", [False, True])
def test_a_tree_of_many_levels_and_siblings_opens_as_in_engine_zarr(consolidated: bool) -> None:
    root: Group = Group({"v": Array([1.0], ("t",))})
    for level in range(12):
        root = Group({"child": root, **{f"s{n}": Group(attrs={"n": n}) for n in range(level)}})
    compare(xr.open_datatree, memory_store(build(root, consolidated=consolidated)))


def test_both_formats_in_one_store_are_read_as_requested() -> None:
    contents = {
        **build(Group({"v": Array([1.0], ("t",))}, {"format": 2}), 2),
        **build(Group({"v": Array([2.0, 3.0], ("t",))}, {"format": 3}), 3),
    }
    store = memory_store(contents)
    for zarr_format, expected in ((2, 2), (3, 3), (None, 3)):
        assert compare(xr.open_dataset, store, zarr_format=zarr_format).attrs["format"] == expected


def test_an_array_without_chunks_has_only_fill_values() -> None:
    missing = without(sample_contents(), "lat/c/")
    assert missing != sample_contents()
    dataset = compare(xr.open_dataset, memory_store(missing))
    np.testing.assert_array_equal(dataset["lat"].values, np.zeros(4))


# The same from everywhere.

#: What is opened of contents behind a backend; `addresses` has more of them.
PLACES: dict[str, Callable[[Contents, Path], Any]] = {
    "str": lambda contents, folder: str(write_local(contents, folder / "s.zarr")),
    "Path": lambda contents, folder: write_local(contents, folder / "s.zarr"),
    ".zip str": lambda contents, folder: str(write_zip(contents, folder / "s.zip")),
    ".zip Path": lambda contents, folder: write_zip(contents, folder / "s.zip"),
    "URL chain": lambda contents, folder: f"zip::file://{write_zip(contents, folder / 's.zip')}",
    "LocalStore": lambda contents, folder: LocalStore(write_local(contents, folder)),
    "MemoryStore": lambda contents, _folder: memory_store(contents),
    "ZipStore": lambda contents, folder: ZipStore(write_zip(contents, folder / "s.zip"), mode="r"),
    "zarr.Group": lambda contents, _folder: zarr.open_group(memory_store(contents), mode="r"),
    "StorePath": lambda contents, _folder: StorePath(memory_store(contents), ""),
    "StorePath below": lambda contents, _folder: StorePath(
        memory_store(below(contents, "p/q")), "p/q"
    ),
    "obstore": lambda contents, _folder: builders.obstore_store(contents),
    "icechunk session": lambda contents, _folder: builders.icechunk_session(contents),
    "icechunk store": lambda contents, _folder: builders.icechunk_session(contents).store,
}
MISSING = {"obstore": not builders.HAS_OBSTORE, "icechunk": not builders.HAS_ICECHUNK}


@pytest.mark.parametrize(
    ("place", "form"),
    some_pairs(PLACES, FORMS, 4),
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_every_backend_gives_the_same(
    place: str, form: tuple[ZarrFormat, bool], tmp_path: Path
) -> None:
    name = place.partition(" ")[0]
    if MISSING.get(name):
        pytest.skip("a package is missing, or too old")
    form = (3, False) if name == "icechunk" else form
    check_sample(PLACES[place](sample_contents(*form), tmp_path), form[0])


@each_format
def test_a_web_server_gives_the_same(
    serve: Callable[[Contents], str], zarr_format: ZarrFormat
) -> None:
    check_sample(serve(sample_contents(zarr_format, True)), zarr_format)


def check_sample(place: Any, zarr_format: ZarrFormat = 3) -> None:
    """Assert that a store gives what the plain store in memory gives."""
    reference = sample_groups(zarr_format)
    groups = {path: sourceless(item) for path, item in opened(xr.open_groups, place).items()}
    assert_same(groups, reference)
    tree = opened(xr.open_datatree, place)
    for node in tree.subtree:
        sourceless(node)
    assert_same(tree, sample_tree(zarr_format))
    for path in SAMPLE_GROUPS:
        dataset = sourceless(opened(xr.open_dataset, place, group=path))
        assert_same(dataset, reference[f"/{path}"])


@cache
def sample_groups(zarr_format: ZarrFormat) -> dict[str, xr.Dataset]:
    """Return all groups of the plain sample in memory, opened and read once."""
    groups = opened(xr.open_groups, sample_store(zarr_format))
    return {path: dataset.load() for path, dataset in groups.items()}


@cache
def sample_tree(zarr_format: ZarrFormat) -> xr.DataTree:
    """Return the tree of the plain sample in memory, opened and read once."""
    tree: xr.DataTree = opened(xr.open_datatree, sample_store(zarr_format))
    for node in tree.subtree:
        node.to_dataset(inherit=False).load()
    return tree


def sourceless(opened_as: T) -> T:
    """Take out what xarray says of the path that was opened."""
    opened_as.encoding.pop("source", None)  # type: ignore[attr-defined]
    return opened_as


def test_paths_below_the_home_folder_and_relative_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write_local(sample_contents(), tmp_path / "data" / "store.zarr")
    write_zip(sample_contents(), tmp_path / "data" / "store.zip")
    for path in (
        *("~/data/store.zarr", Path("~/data/store.zarr"), "~/data/store.zip"),
        *("data/store.zarr", Path("data/store.zarr"), "./data/../data/store.zarr/"),
    ):
        check_sample(path)
    dataset = opened(xr.open_dataset, "data/store.zarr")
    monkeypatch.chdir(tmp_path / "data")
    np.testing.assert_array_equal(dataset["lat"].values, np.arange(4.0))


@pytest.mark.parametrize("folder", ["me@home", "with space", "per%20cent", "sharp#1", "what?", "é"])
def test_a_file_url_with_special_characters_of_urls(tmp_path: Path, folder: str) -> None:
    path = write_local(sample_contents(), tmp_path / folder / "store.zarr")
    ours = opened(xr.open_dataset, f"file://{path}")
    assert_same(sourceless(ours), sourceless(opened(xr.open_dataset, path)))


def test_storage_options_reach_the_filesystem(serve: Callable[[Contents], str]) -> None:
    url = serve(sample_contents(3, True))
    options = {"client_kwargs": {"headers": {"X-Of-No-Use": "1"}}}
    dataset = opened(xr.open_dataset, url, storage_options=options)
    assert_same(dataset, opened(xr.open_dataset, url))


@pytest.mark.parametrize("group", [None, "deep", "/deep/"])
@pytest.mark.parametrize("consolidated", [False, True])
def test_groups_are_relative_to_a_group_that_is_opened(
    group: str | None, consolidated: bool
) -> None:
    store = sample_store(3, consolidated)
    path = "sub/deep" if group else "sub"
    expected = opened(xr.open_dataset, store, group=path)
    for place in (zarr.open_group(store, mode="r")["sub"], StorePath(store, "sub")):
        assert_same(sourceless(opened(xr.open_dataset, place, group=group)), expected)
        tree = opened(xr.open_datatree, place, group=group)
        assert_same(sourceless(tree), opened(xr.open_datatree, store, group=path))


def test_a_group_opens_although_the_root_has_no_documents() -> None:
    store = memory_store(below(sample_contents(), "p/q"))
    for function in (xr.open_dataset, xr.open_datatree):
        found = opened(function, store, group="p/q")
        assert_same(found, opened(function, sample_store()))


@pytest.mark.skipif(not builders.HAS_SYNC_FSSPEC, reason="fsspec is too old")
def test_archive_with_a_slow_table_of_contents(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The threads of an open do not take what one of them has made of it for the whole."""
    make = ZipFileSystem._get_dirs

    def make_slowly(filesystem: Any) -> None:
        if filesystem.dir_cache is None:
            make(filesystem)
            table, filesystem.dir_cache = filesystem.dir_cache, {}
            time.sleep(0.05)
            filesystem.dir_cache = table

    monkeypatch.setattr(ZipFileSystem, "_get_dirs", make_slowly)
    archive = write_zip(below(sample_contents(2), "in"), tmp_path / "s.zip")
    dataset, _told = builders.opened_with_warnings(xr.open_dataset, f"zip://in::file://{archive}")
    assert dataset.variables


# Errors.

NO_GROUP = "There is no group '/{}' in {{path}}; existing groups: {}".format
OTHER_FORMAT = (
    "There is no Zarr v{} group '/' in {{path}}, which is Zarr v{}: open it with "
    "zarr_format={}, or leave out zarr_format"
).format
NO_PATH = "{!r} is not a valid path of a group: '.' and '..' are not allowed".format
SINGLE, CONSOLIDATED = [(2, False), (3, False)], [(2, True), (3, True)]
#: What a store is opened with that it does not have, in which forms, and what is raised.
MISTAKES: dict[str, Any] = {
    "a group that is not there": (
        {"group": "/sub/nope"}, FORMS, XGroupGroupError, NO_GROUP("sub/nope", "/sub, /sub/deep"),
    ),
    "a group below a missing group": (
        {"group": "nope/x/y"}, SINGLE, XGroupGroupError, NO_GROUP("nope/x/y", "/, /nothing, /sub"),
    ),
    "an array in place of a group": (
        {"group": "sub/value"}, FORMS, XGroupGroupError,
        "'/sub/value' in {path} is an array, not a group: open the group '/sub' and take its variable 'value'",
    ),
    **{
        f"{group}, which no group can be called": (
            {"group": group}, [(3, False)], XGroupPathError, NO_PATH(group)
        )
        for group in (".", "..", "sub/..", "sub/../sub", "./sub", "/../sub", "a/./b")
    },
    "consolidated metadata that is not there": (
        {"consolidated": True, "group": "sub"}, SINGLE, XGroupStoreError,
        "{path} has no consolidated metadata; open it with consolidated=False, or leave out consolidated",
    ),
    "v2 in place of v3": (
        {"zarr_format": 2}, [(3, False)], XGroupStoreNotFoundError,
        OTHER_FORMAT(2, 3, 3),
    ),
    "v3 in place of v2": (
        {"zarr_format": 3}, [(2, True)], XGroupStoreNotFoundError,
        OTHER_FORMAT(3, 2, 2),
    ),
    "unknown options": (
        {"what": 1, "nonsense": 2}, [(3, False)], TypeError,
        "engine 'xgroup' has no option nonsense, what; valid options: {options}",
    ),
    "a resolution of what has no levels": (
        {"resolution": 10.0}, [(3, False)], XGroupGroupError, "",
    ),
}  # fmt: skip


@rows(MISTAKES, "options, forms, kind, text")
def test_invalid_requests_are_errors_and_the_store_is_closed(
    options: Any, forms: Any, kind: Any, text: str, tmp_path: Path, closed_stores: list[Any]
) -> None:
    for number, (form, function) in enumerate(product(forms, OPEN_FUNCTIONS)):
        path = write_local(sample_contents(*form), tmp_path / f"s{number}.zarr")
        with pytest.raises(kind) as error:
            function(path, engine="xgroup", **options)
        known = OpenOptions if function is xr.open_dataset else OpenTreeOptions
        names = ", ".join(sorted(known.__annotations__))
        assert str(error.value) == text.format(path=path, options=names) or not text
        assert isinstance(error.value, KeyError) or kind is not XGroupGroupError
        is_opened = kind not in (TypeError, XGroupPathError)
        assert len(closed_stores) == (number + 1) * is_opened


@each_format
def test_an_array_at_the_root_is_not_a_group(tmp_path: Path, zarr_format: ZarrFormat) -> None:
    contents = build({"": Array([1.0], ("x",))}, zarr_format)
    path = write_local(contents, tmp_path / "s.zarr")
    with pytest.raises(XGroupGroupError) as error:
        xr.open_dataset(path, engine="xgroup")
    assert str(error.value) == f"{path} is an array, not a group"


@each_function
def test_invalid_json_in_the_requested_group(function: Open) -> None:
    store = recording_store(edit(sample_contents(), "sub/zarr.json", b"{"))
    with pytest.raises(XGroupMetadataError, match=r"^recording store: /sub/zarr.json is not valid"):
        function(store, engine="xgroup", group="sub")


@each_function
@pytest.mark.parametrize("name", ["nothing.zarr", "nothing.zip", "nothing"])
def test_a_missing_store(function: Open, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(XGroupStoreNotFoundError) as error:
        function(path, engine="xgroup")
    assert isinstance(error.value, FileNotFoundError)
    assert str(error.value) == f"The store {path} does not exist"
    assert not path.exists()


#: Addresses that are refused before anything is read, and the remedy.
REFUSED: dict[str, tuple[str, str]] = {
    "a bucket of a tenant": ("s3://tenant:bucket/x.zarr", "https://<server>/<tenant>:<bucket>/..."),
    "a tenant, cached": ("simplecache::s3a://tenant:b", "https://<server>/<tenant>:<bucket>/..."),
    "credentials": ("s3://key:secret@bucket/x.zarr", "Pass credentials for a bucket with"),
    "a secret with a slash": ("s3://key:sec/ret@b/x.zarr", "Pass credentials for a bucket with"),
    "a port that is not a number": ("https://host:port/x.zarr", "check its user, host and port"),
}


@rows(REFUSED, "address, text")
def test_an_address_that_is_not_a_valid_url(address: str, text: str) -> None:
    with pytest.raises(XGroupStoreError, match="is not a valid URL") as error:
        xr.open_dataset(address, engine="xgroup")
    assert text in str(error.value)


def test_addresses_that_are_not_stores(tmp_path: Path, serve: Callable[[Contents], str]) -> None:
    (tmp_path / "file").write_text("no zarr")
    (tmp_path / "file.zip").write_text("no zip")
    for name in ("file", "file.zip"):
        with pytest.raises(XGroupStoreError, match=str(tmp_path / name)):
            xr.open_dataset(tmp_path / name, engine="xgroup")
    (tmp_path / "refs.json").write_text("{}")
    with pytest.raises(XGroupStoreNotFoundError, match=f"open 'reference::{tmp_path}/refs.json'"):
        xr.open_dataset(tmp_path / "refs.json", engine="xgroup")
    url = serve({"unrelated.txt": b""})
    with pytest.raises(XGroupStoreNotFoundError) as error:
        xr.open_dataset(url, engine="xgroup")
    assert str(error.value) == (
        f"{url} does not exist or is not a Zarr store: it has neither a zarr.json nor a .zgroup"
    )
    nothing: Any = memory_store({})
    with pytest.raises(XGroupStoreNotFoundError, match="nor the root of the store has a zarr"):
        xr.open_dataset(nothing, engine="xgroup", group="a", zarr_format=2)
    for nonsense in (5, object(), ["a.zarr"], None):
        told = f"{type(nonsense).__name__}|{re.escape(repr(nonsense))}"
        with pytest.raises((XGroupStoreError, TypeError), match=told):
            XGroupBackendEntrypoint().open_dataset(nonsense)


@each_format
@pytest.mark.parametrize("write", [write_local, write_zip])
def test_a_store_below_the_address_is_named(
    write: Callable[[Contents, Path], Path], tmp_path: Path, zarr_format: ZarrFormat
) -> None:
    inside = below(sample_contents(zarr_format), "ocean.zarr")
    others = {"readme.txt": b"", "data/table.csv": b"1"}
    path = write(inside | others, tmp_path / "download.zip")
    with pytest.raises(XGroupStoreNotFoundError) as error:
        xr.open_dataset(path, engine="xgroup")
    assert str(error.value) == (
        f"{path} is not a Zarr store: it has neither a zarr.json nor a .zgroup; it contains "
        "groups, which can be opened with group=...: 'ocean.zarr'"
    )
    opened(xr.open_dataset, path, group="ocean.zarr")


def test_an_unreachable_server_or_protocol_is_reported_without_secrets() -> None:
    url = "http://user:secret@127.0.0.1:9/store.zarr?token=secret"
    with pytest.raises(XGroupStoreError, match=r"^http://127.0.0.1:9/store.zarr: ") as error:
        xr.open_dataset(url, engine="xgroup")
    assert "secret" not in str(error.value)
    cause: BaseException = error.value
    while cause.__cause__ is not None:
        cause = cause.__cause__
    assert isinstance(cause, OSError)
    assert not isinstance(cause, XGroupStoreError)
    with pytest.raises(XGroupStoreError, match=r"^Store nosuch://bucket/s cannot be op") as error:
        xr.open_dataset("nosuch://bucket/s?key=secret", engine="xgroup")
    assert "secret" not in str(error.value)


LINKS = [("tar", "no archive"), ("zip", "no archive")]
LINKS += [("reference", it) for it in ("no JSON", "5", "[]", '{"version": 1, "templates": 5}')]


@pytest.mark.skipif(not builders.HAS_SYNC_FSSPEC, reason="fsspec is too old")
@pytest.mark.parametrize(("scheme", "content"), LINKS)
def test_an_invalid_link_of_a_chain(tmp_path: Path, scheme: str, content: str) -> None:
    file = tmp_path / "s"
    file.write_text(content)
    with pytest.raises(XGroupStoreError, match=rf"^Store {scheme}::.* cannot be opened: "):
        xr.open_dataset(f"{scheme}::{file}", engine="xgroup")


@pytest.mark.skipif(builders.HAS_SYNC_FSSPEC, reason="this zarr opens them")
def test_urls_that_an_old_version_of_zarr_cannot_open() -> None:
    with pytest.raises(XGroupStoreError, match="cannot be opened: TypeError: Filesystem needs"):
        xr.open_dataset("memory://c/store.zarr", engine="xgroup")


@each_function
@each_format
@pytest.mark.parametrize("group", ["", "sub"])
def test_a_store_that_cannot_be_listed_needs_consolidated_metadata(
    function: Open, serve: Callable[[Contents], str], zarr_format: ZarrFormat, group: str
) -> None:
    url = serve(sample_contents(zarr_format))
    with pytest.raises(XGroupStoreError) as error:
        function(url, engine="xgroup", group=group)
    assert not isinstance(error.value, FileNotFoundError)
    assert str(error.value) == (
        f"The members of group '/{group}' cannot be found: {url} cannot be listed and has no "
        "consolidated metadata. The producer of the store can add them with "
        "zarr.consolidate_metadata(store)."
    )
    url = serve(sample_contents(zarr_format, True))
    with pytest.raises(XGroupStoreError) as error:
        function(url, engine="xgroup", consolidated=False)
    assert str(error.value) == (
        f"The members of group '/' cannot be found: {url} cannot be listed, and "
        "consolidated=False excludes its consolidated metadata. Leave out consolidated=False."
    )


# The entry point.


def test_the_engine_describes_itself_and_its_options() -> None:
    engine = xr.backends.list_engines()["xgroup"]
    assert isinstance(engine, XGroupBackendEntrypoint)
    assert engine.supports_groups
    assert "Open hierarchical Zarr stores" in repr(engine)
    assert "Learn more at https://github.com/zarr-developers/geozarr-spec" in repr(engine)
    for name in StoreOptions.__annotations__:
        assert f" {name} : " in (engine.open_dataset.__doc__ or "")
    for place in ("store.zarr", "store.zip", "s3://bucket/store.zarr", 5):
        assert engine.guess_can_open(place) is False  # it is used only where it is asked for


# Closing.


def close_all(result: Any) -> None:
    for each in result.values() if isinstance(result, dict) else [result]:
        each.close()


@each_function
@pytest.mark.parametrize("chunks", [None, {}], ids=str)
def test_a_store_opened_by_the_engine_is_closed_with_the_dataset(
    function: Open, chunks: Any, tmp_path: Path, closed_stores: list[Any]
) -> None:
    path = write_local(sample_contents(), tmp_path / "s.zarr")
    result = opened(function, path, chunks=chunks)
    assert closed_stores == []
    close_all(result)
    assert len({id(store) for store in closed_stores}) == 1


@each_function
def test_a_store_passed_in_is_not_closed(function: Open) -> None:
    store = recording_store(sample_contents())
    for place in (store, StorePath(store, ""), zarr.open_group(store, mode="r")):
        close_all(opened(function, place))
    with pytest.raises(XGroupGroupError):
        function(store, engine="xgroup", group="nope")
    assert store.closed == 0


def test_a_zip_file_is_released_on_closing(tmp_path: Path, closed_stores: list[Any]) -> None:
    dataset = opened(xr.open_dataset, write_zip(sample_contents(), tmp_path / "s.zip"))
    dataset.close()
    (store,) = closed_stores
    assert not store._is_open
