"""Opening stores without conventions: the same as engine zarr, from wherever they are."""

import time
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZipFile

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
from zarr_xgroup.backend import OpenOptions
from zarr_xgroup.options import StoreOptions
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
    write_fsspec_memory,
    write_local,
    write_zip,
)

T = TypeVar("T")

KINDS: tuple[tuple[ZarrFormat, bool], ...] = ((2, False), (2, True), (3, False), (3, True))
OPEN_FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_groups, xr.open_datatree)

each_kind = pytest.mark.parametrize(
    ("zarr_format", "consolidated"),
    KINDS,
    ids=["v2", "v2-consolidated", "v3", "v3-consolidated"],
)
#: Where the kind of store makes no difference to what is tested.
TWO_KINDS: tuple[tuple[ZarrFormat, bool], ...] = ((2, True), (3, False))
each_function = pytest.mark.parametrize("function", OPEN_FUNCTIONS, ids=lambda f: f.__name__)


# The same as engine zarr.


@pytest.mark.parametrize(
    ("kind", "group"),
    some_pairs(KINDS, [None, "", "/", "sub", "/sub", "sub/", "/sub/deep/", "nothing"], 2),
    ids=repr,
)
@each_function
def test_every_spelling_of_a_group_is_as_in_engine_zarr(
    function: Open, kind: tuple[ZarrFormat, bool], group: str | None
) -> None:
    compare(function, sample_store(*kind), group=group)


OPTIONS: list[dict[str, Any]] = [
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
]


@pytest.mark.parametrize(
    ("function", "way"),
    some_pairs(OPEN_FUNCTIONS, product(TWO_KINDS, OPTIONS), 3),
    ids=lambda it: getattr(it, "__name__", str(it)),
)
def test_every_option_of_xarray_is_as_in_engine_zarr(
    function: Open, way: tuple[tuple[ZarrFormat, bool], dict[str, Any]]
) -> None:
    kind, options = way
    compare(function, sample_store(*kind), **options)


if builders.HAS_INDEX_OPTION:

    @each_function
    @pytest.mark.parametrize(
        ("zarr_format", "consolidated", "chunks"), [(2, True, None), (3, False, {})]
    )
    def test_without_default_indexes_as_in_engine_zarr(
        function: Open, zarr_format: ZarrFormat, consolidated: bool, chunks: Any
    ) -> None:
        store = sample_store(zarr_format, consolidated)
        ours = compare(function, store, create_default_indexes=False, chunks=chunks)
        root = ours["/"] if function is not xr.open_dataset else ours
        assert not root.xindexes


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    ("consolidated", "wanted"),
    [(False, None), (False, False), (True, None), (True, True), (True, False)],
)
def test_consolidated_as_in_engine_zarr(
    function: Open, zarr_format: ZarrFormat, consolidated: bool, wanted: bool | None
) -> None:
    compare(function, sample_store(zarr_format, consolidated), consolidated=wanted)


# The same from everywhere.

Place = Callable[[Contents], Any]


@pytest.fixture
def places(
    tmp_path: Path, fsspec_memory: None, serve: Callable[[Contents], str]
) -> dict[str, Place]:
    """Put contents behind each backend; gives what is to be opened."""

    def path(contents: Contents) -> Path:
        return write_local(contents, tmp_path / "a" / "store.zarr")

    def zipped(contents: Contents) -> Path:
        return write_zip(contents, tmp_path / "b" / "store.zip")

    return {
        "str": lambda contents: str(path(contents)),
        "Path": path,
        "file URL": lambda contents: f"file://{path(contents)}",
        "memory URL": lambda contents: write_fsspec_memory(contents, "c/store.zarr"),
        "URL chain": lambda contents: f"zip::file://{zipped(contents)}",
        "URL chain with path": lambda contents: (
            f"zip://in/side::file://{zipped(below(contents, 'in/side'))}"
        ),
        ".zip str": lambda contents: str(zipped(contents)),
        ".zip Path": zipped,
        "LocalStore": lambda contents: LocalStore(path(contents)),
        "MemoryStore": memory_store,
        "ZipStore": lambda contents: ZipStore(zipped(contents), mode="r"),
        "HTTP": serve,
        "zarr.Group": lambda contents: zarr.open_group(memory_store(contents), mode="r"),
        "StorePath": lambda contents: StorePath(memory_store(contents), ""),
        "StorePath below": lambda contents: StorePath(memory_store(below(contents, "p/q")), "p/q"),
        "obstore": builders.obstore_store,
        "icechunk session": builders.icechunk_session,
        "icechunk store": lambda contents: builders.icechunk_session(contents).store,
    }


LISTED_PLACES = (
    "str",
    "Path",
    "file URL",
    "URL chain",
    *(("memory URL", "URL chain with path") if builders.HAS_SYNC_FSSPEC else ()),
    ".zip str",
    ".zip Path",
    "LocalStore",
    "MemoryStore",
    "ZipStore",
    "zarr.Group",
    "StorePath",
    "StorePath below",
    *(("obstore",) if builders.HAS_OBSTORE else ()),
)


def sample_contents(zarr_format: ZarrFormat, consolidated: bool) -> Contents:
    """Return the sample, built once."""
    key = (zarr_format, consolidated)
    if key not in _samples:
        _samples[key] = build(SAMPLE, zarr_format, consolidated=consolidated)
    return dict(_samples[key])


_samples: dict[tuple[ZarrFormat, bool], Contents] = {}


def sample_store(zarr_format: ZarrFormat, consolidated: bool) -> MemoryStore:
    return memory_store(sample_contents(zarr_format, consolidated))


def check_sample(place: Any, zarr_format: ZarrFormat) -> None:
    """Assert that a store gives what the plain v3 store in memory gives."""
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
    assert_same(groups, sample_groups(3), encoding=False)


@cache
def sample_groups(zarr_format: ZarrFormat) -> dict[str, xr.Dataset]:
    """Return all groups of the plain sample in memory, opened and read once."""
    groups = opened(xr.open_groups, sample_store(zarr_format, False))
    return {path: dataset.load() for path, dataset in groups.items()}


@cache
def sample_tree(zarr_format: ZarrFormat) -> xr.DataTree:
    """Return the tree of the plain sample in memory, opened and read once."""
    tree: xr.DataTree = opened(xr.open_datatree, sample_store(zarr_format, False))
    for node in tree.subtree:
        node.to_dataset(inherit=False).load()
    return tree


def sourceless(opened_as: T) -> T:
    """Take out what xarray says of the path that was opened."""
    opened_as.encoding.pop("source", None)  # type: ignore[attr-defined]
    return opened_as


@pytest.mark.parametrize(("place", "kind"), some_pairs(LISTED_PLACES, KINDS, 4), ids=str)
def test_the_same_from_every_backend(
    places: dict[str, Place], place: str, kind: tuple[ZarrFormat, bool]
) -> None:
    zarr_format, consolidated = kind
    check_sample(places[place](sample_contents(zarr_format, consolidated)), zarr_format)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_same_from_http(places: dict[str, Place], zarr_format: ZarrFormat) -> None:
    check_sample(places["HTTP"](sample_contents(zarr_format, True)), zarr_format)


if builders.HAS_ICECHUNK:

    @pytest.mark.parametrize("place", ["icechunk session", "icechunk store"])
    def test_the_same_from_icechunk(places: dict[str, Place], place: str) -> None:
        check_sample(places[place](sample_contents(3, False)), 3)


def test_a_path_below_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_local(sample_contents(3, False), tmp_path / "data" / "store.zarr")
    write_zip(sample_contents(3, False), tmp_path / "data" / "store.zip")
    for path in ("~/data/store.zarr", Path("~/data/store.zarr"), "~/data/store.zip"):
        check_sample(path, 3)


def test_a_relative_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    write_local(sample_contents(3, False), tmp_path / "data" / "store.zarr")
    for path in ("data/store.zarr", Path("data/store.zarr"), "./data/../data/store.zarr/"):
        check_sample(path, 3)


def test_a_path_that_is_relative_survives_a_change_of_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write_local(sample_contents(3, False), tmp_path / "store.zarr")
    dataset = opened(xr.open_dataset, "store.zarr")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    np.testing.assert_array_equal(dataset["lat"].values, np.arange(4.0))


@pytest.mark.parametrize("folder", ["me@home", "with space", "per%20cent", "sharp#1", "what?", "é"])
def test_a_file_url_with_characters_that_mean_something_in_other_urls(
    tmp_path: Path, folder: str
) -> None:
    path = write_local(sample_contents(3, False), tmp_path / folder / "store.zarr")
    ours = opened(xr.open_dataset, f"file://{path}")
    assert_same(sourceless(ours), sourceless(opened(xr.open_dataset, path)))


def test_storage_options_reach_the_filesystem(serve: Callable[[Contents], str]) -> None:
    url = serve(sample_contents(3, True))
    options = {"client_kwargs": {"headers": {"X-Of-No-Use": "1"}}}
    dataset = opened(xr.open_dataset, url, storage_options=options)
    assert_same(dataset, opened(xr.open_dataset, url))


@pytest.mark.parametrize("group", [None, "deep", "/deep/"])
@pytest.mark.parametrize("consolidated", [False, True])
def test_a_subgroup_is_opened_with_groups_relative_to_it(
    group: str | None, consolidated: bool
) -> None:
    store = sample_store(3, consolidated)
    subgroup = zarr.open_group(store, mode="r")["sub"]
    path = "sub/deep" if group else "sub"
    expected = opened(xr.open_dataset, store, group=path)
    for place in (subgroup, StorePath(store, "sub")):
        assert_same(sourceless(opened(xr.open_dataset, place, group=group)), expected)
        tree = opened(xr.open_datatree, place, group=group)
        assert_same(sourceless(tree), opened(xr.open_datatree, store, group=path))


# Groups of the tree.


def test_the_tree_is_rooted_at_the_group_asked_for() -> None:
    store = sample_store(3, False)
    tree = opened(xr.open_datatree, store, group="/sub/")
    assert [node.path for node in tree.subtree] == ["/", "/deep"]
    assert tree.attrs == {"title": "below"}
    groups = opened(xr.open_groups, store, group="sub")
    assert list(groups) == [".", "deep"]


def test_a_tree_of_many_levels_and_siblings() -> None:
    root: Group = Group({"v": Array([1.0], ("t",))})
    for level in range(12):
        root = Group({"child": root, **{f"s{n}": Group(attrs={"n": n}) for n in range(level)}})
    for consolidated in (False, True):
        compare(xr.open_datatree, memory_store(build(root, consolidated=consolidated)))


# Errors.


@each_function
@pytest.mark.parametrize("name", ["nothing.zarr", "nothing.zip", "nothing"])
def test_no_such_store(function: Open, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(XGroupStoreNotFoundError) as error:
        function(path, engine="xgroup")
    assert isinstance(error.value, FileNotFoundError)
    assert str(error.value) in no_store(path, "/")
    assert not path.exists()


def no_store(path: Path, group: str) -> tuple[str, ...]:
    """Return what we say of a path that does not exist: not all versions of zarr notice."""
    return (
        f"There is no store {path}",
        (
            f"There is no Zarr group {group!r} in {path}: neither there nor at the root of the "
            "store is a zarr.json or a .zgroup"
        ),
        f"There is no Zarr group at {path}: it has neither a zarr.json nor a .zgroup",
    )


def test_no_store_behind_a_url(serve: Callable[[Contents], str]) -> None:
    url = serve({"unrelated.txt": b""})
    with pytest.raises(XGroupStoreNotFoundError) as error:
        xr.open_dataset(url, engine="xgroup")
    assert str(error.value) == (
        f"There is no Zarr group at {url}: it has neither a zarr.json nor a .zgroup"
    )


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no zarr")
    (tmp_path / "file.zip").write_text("no zip")
    for name in ("file", "file.zip"):
        with pytest.raises(XGroupStoreError) as error:
            xr.open_dataset(tmp_path / name, engine="xgroup")
        assert str(tmp_path / name) in str(error.value)


def test_a_server_that_cannot_be_reached() -> None:
    url = "http://user:secret@127.0.0.1:9/store.zarr?token=secret"
    with pytest.raises(XGroupStoreError) as error:
        xr.open_dataset(url, engine="xgroup")
    assert "secret" not in str(error.value)
    assert str(error.value).startswith("http://127.0.0.1:9/store.zarr: ")
    assert isinstance(first_cause(error.value), OSError)
    assert not isinstance(first_cause(error.value), XGroupStoreError)


def first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def test_an_unknown_protocol() -> None:
    with pytest.raises(XGroupStoreError) as error:
        xr.open_dataset("nosuch://bucket/store.zarr?key=secret", engine="xgroup")
    assert str(error.value).startswith("Store nosuch://bucket/store.zarr cannot be opened: ")
    assert "secret" not in str(error.value)


@pytest.mark.skipif(not builders.HAS_SYNC_FSSPEC, reason="fsspec is too old")
@pytest.mark.parametrize(
    ("scheme", "content"),
    [
        ("tar", "no archive"),
        ("zip", "no archive"),
        *(
            ("reference", text)
            for text in ("no JSON", "5", "[]", '{"version": 1, "templates": 5, "refs": {}}')
        ),
    ],
)
def test_a_link_of_a_chain_that_is_none(tmp_path: Path, scheme: str, content: str) -> None:
    file = tmp_path / "s"
    file.write_text(content)
    with pytest.raises(XGroupStoreError, match=rf"^Store {scheme}::.* cannot be opened: "):
        xr.open_dataset(f"{scheme}::{file}", engine="xgroup")


if not builders.HAS_SYNC_FSSPEC:

    def test_urls_that_this_version_of_zarr_cannot_open(tmp_path: Path) -> None:
        archive = write_zip(sample_contents(3, False), tmp_path / "s.zip")
        for url in ("memory://c/store.zarr", f"zip://in::file://{archive}"):
            with pytest.raises(XGroupStoreError) as error:
                xr.open_dataset(url, engine="xgroup")
            assert str(error.value) == (
                f"Store {url} cannot be opened: TypeError: Filesystem needs to support "
                "async operations."
            )


@pytest.mark.skipif(not builders.HAS_SYNC_FSSPEC, reason="fsspec is too old")
def test_archive_whose_table_of_contents_takes_time(
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
    archive = write_zip(below(sample_contents(2, False), "in"), tmp_path / "s.zip")
    dataset, _told = builders.opened_with_warnings(xr.open_dataset, f"zip://in::file://{archive}")
    assert dataset.variables


@pytest.mark.parametrize("nonsense", [5, object(), ["a.zarr"], None], ids=type)
def test_what_cannot_be_a_store(nonsense: Any) -> None:
    with pytest.raises((XGroupStoreError, TypeError)) as error:
        XGroupBackendEntrypoint().open_dataset(nonsense)
    assert type(nonsense).__name__ in str(error.value) or repr(nonsense) in str(error.value)


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_no_such_group_in_consolidated_metadata(
    function: Open, tmp_path: Path, zarr_format: ZarrFormat
) -> None:
    path = write_local(sample_contents(zarr_format, True), tmp_path / "s.zarr")
    with pytest.raises(XGroupGroupError) as error:
        function(path, engine="xgroup", group="/sub/nope")
    assert isinstance(error.value, KeyError)
    assert str(error.value) == (
        f"There is no group '/sub/nope' in {path}; groups there are: /, /nothing, /sub, /sub/deep"
    )


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_no_such_group(function: Open, tmp_path: Path, zarr_format: ZarrFormat) -> None:
    path = write_local(sample_contents(zarr_format, False), tmp_path / "s.zarr")
    with pytest.raises(XGroupGroupError) as error:
        function(path, engine="xgroup", group="/sub/nope")
    assert str(error.value) == (
        f"There is no group '/sub/nope' in {path}; groups there are: /sub, /sub/deep"
    )
    with pytest.raises(XGroupGroupError) as error:
        function(path, engine="xgroup", group="/nope/x/y")
    assert str(error.value) == (
        f"There is no group '/nope/x/y' in {path}; groups there are: /, /nothing, /sub"
    )


def test_only_ten_groups_are_named_where_there_is_no_such_group(tmp_path: Path) -> None:
    root = Group({f"g{n:02}": Group() for n in range(30)})
    path = write_local(build(root, consolidated=True), tmp_path / "s.zarr")
    names = ", ".join(["/", *(f"/g{n:02}" for n in range(9))])
    with pytest.raises(XGroupGroupError) as error:
        xr.open_dataset(path, engine="xgroup", group="nope")
    assert str(error.value).startswith(
        f"There is no group '/nope' in {path}; groups there are: {names}"
    )
    assert "g09" not in str(error.value)


@each_function
@each_kind
def test_an_array_where_a_group_is_wanted(
    function: Open, tmp_path: Path, zarr_format: ZarrFormat, consolidated: bool
) -> None:
    path = write_local(sample_contents(zarr_format, consolidated), tmp_path / "s.zarr")
    with pytest.raises(XGroupGroupError) as error:
        function(path, engine="xgroup", group="sub/value")
    assert str(error.value) == (
        f"'/sub/value' in {path} is an array, not a group: open the group '/sub' and take its "
        "variable 'value'"
    )


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_at_the_root(tmp_path: Path, zarr_format: ZarrFormat) -> None:
    contents = build(Group({"a": Array([1.0], ("x",))}), zarr_format)
    array = {key.removeprefix("a/"): contents[key] for key in contents if key.startswith("a/")}
    path = write_local(array, tmp_path / "s.zarr")
    with pytest.raises(XGroupGroupError) as error:
        xr.open_dataset(path, engine="xgroup")
    assert str(error.value) == f"{path} is an array, not a group of arrays"


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("group", [None, "sub"])
def test_required_consolidated_metadata(
    function: Open, tmp_path: Path, zarr_format: ZarrFormat, group: str | None
) -> None:
    path = write_local(sample_contents(zarr_format, False), tmp_path / "s.zarr")
    with pytest.raises(XGroupStoreError) as error:
        function(path, engine="xgroup", consolidated=True, group=group)
    assert str(error.value) == (
        f"{path} has no consolidated metadata; open it with consolidated=False, or leave that out"
    )


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("group", ["", "sub"])
def test_a_store_that_cannot_be_listed(
    function: Open, serve: Callable[[Contents], str], zarr_format: ZarrFormat, group: str
) -> None:
    url = serve(sample_contents(zarr_format, False))
    with pytest.raises(XGroupStoreError) as error:
        function(url, engine="xgroup", group=group)
    assert not isinstance(error.value, FileNotFoundError)
    assert str(error.value) == (
        f"The members of group '/{group}' cannot be found: {url} cannot be listed and has no "
        "consolidated metadata. Who writes the store can add it by "
        "zarr.consolidate_metadata(store)."
    )


@each_function
def test_consolidated_false_on_a_store_that_cannot_be_listed(
    function: Open, serve: Callable[[Contents], str]
) -> None:
    url = serve(sample_contents(3, True))
    with pytest.raises(XGroupStoreError) as error:
        function(url, engine="xgroup", consolidated=False)
    assert str(error.value) == (
        f"The members of group '/' cannot be found: {url} cannot be listed, and its consolidated "
        "metadata was not to be used. Leave consolidated=False out."
    )


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_other_zarr_format(function: Open, tmp_path: Path, zarr_format: ZarrFormat) -> None:
    path = write_local(sample_contents(zarr_format, False), tmp_path / "s.zarr")
    with pytest.raises(XGroupStoreNotFoundError) as error:
        function(path, engine="xgroup", zarr_format=5 - zarr_format)
    assert str(error.value) == (
        f"There is no Zarr v{5 - zarr_format} group '/' in {path}, but what is there is Zarr "
        f"v{zarr_format}: open it with zarr_format={zarr_format}, or leave that out"
    )


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_a_store_inside_of_what_is_none(kind: str, tmp_path: Path, zarr_format: ZarrFormat) -> None:
    contents = sample_contents(zarr_format, False)
    inside = {f"ocean.zarr/{key}": text for key, text in contents.items()}
    inside.update({"readme.txt": b"", "data/table.csv": b"1"})
    if kind == "folder":
        path = Path(write_local(inside, tmp_path / "download"))
    else:
        path = tmp_path / "download.zip"
        with ZipFile(path, "w") as archive:
            for key, text in inside.items():
                archive.writestr(key, text)
    with pytest.raises(XGroupStoreNotFoundError) as error:
        xr.open_dataset(path, engine="xgroup")
    assert str(error.value) == (
        f"There is no Zarr group at {path}: it has neither a zarr.json nor a .zgroup; there are "
        "groups in it, to be asked for by group=...: 'ocean.zarr'"
    )
    opened(xr.open_dataset, path, group="ocean.zarr")


def test_a_store_of_one_format_inside_of_what_is_none_of_another() -> None:
    with pytest.raises(XGroupStoreNotFoundError) as error:
        xr.open_dataset(memory_store({}), engine="xgroup", group="a", zarr_format=2)  # type: ignore[arg-type]
    assert str(error.value).endswith(
        ": neither there nor at the root of the store is a zarr.json or a .zgroup"
    )


@pytest.mark.parametrize("group", [".", "..", "sub/..", "sub/../sub", "./sub", "/../sub", "a/./b"])
def test_a_group_that_cannot_be_a_path(group: str) -> None:
    with pytest.raises(XGroupPathError) as error:
        xr.open_dataset(sample_store(3, False), engine="xgroup", group=group)  # type: ignore[arg-type]
    assert str(error.value) == (
        f"{group!r} is not the path of a group: '.' and '..' cannot name one"
    )


@each_function
def test_metadata_of_the_group_itself_that_is_no_json(function: Open) -> None:
    store = recording_store(edit(sample_contents(3, False), "sub/zarr.json", b"{"))
    with pytest.raises(XGroupMetadataError) as error:
        function(store, engine="xgroup", group="sub")
    assert str(error.value).startswith("recording store: /sub/zarr.json is not valid JSON: ")


@each_function
def test_an_unknown_option(function: Open) -> None:
    with pytest.raises(TypeError) as error:
        function(sample_store(3, False), engine="xgroup", what=1, nonsense=2)
    options = ", ".join(sorted(OpenOptions.__annotations__))
    assert str(error.value) == f"engine 'xgroup' has no option nonsense, what; it has {options}"
    assert "consolidated, " in options
    assert "zarr_format" in options


# The entry point.


def test_the_engine_says_what_it_is_for() -> None:
    shown = repr(xr.backends.list_engines()["xgroup"])
    assert "Open hierarchical Zarr stores" in shown
    assert "Learn more at https://github.com/zarr-developers/geozarr-spec" in shown


def test_the_options_are_one_call_away() -> None:
    shown = xr.backends.list_engines()["xgroup"].open_dataset.__doc__ or ""
    for name in StoreOptions.__annotations__:
        assert f" {name} : " in shown


@pytest.mark.parametrize("place", ["store.zarr", "store.zip", "s3://bucket/store.zarr", 5])
def test_the_engine_is_never_guessed(place: Any) -> None:
    assert XGroupBackendEntrypoint().guess_can_open(place) is False


def test_the_engine_is_installed() -> None:
    engine = xr.backends.list_engines()["xgroup"]
    assert isinstance(engine, XGroupBackendEntrypoint)
    assert engine.supports_groups


# Closing.


def close_all(result: Any) -> None:
    for each in result.values() if isinstance(result, dict) else [result]:
        each.close()


@each_function
@pytest.mark.parametrize("chunks", [None, {}], ids=str)
def test_a_store_opened_here_is_closed_with_what_was_opened(
    function: Open, chunks: Any, tmp_path: Path, closed_stores: list[Any]
) -> None:
    path = write_local(sample_contents(3, False), tmp_path / "s.zarr")
    result = opened(function, path, chunks=chunks)
    assert closed_stores == []
    close_all(result)
    assert len({id(store) for store in closed_stores}) == 1


@each_function
def test_a_store_passed_in_is_not_closed(function: Open) -> None:
    store = recording_store(sample_contents(3, False))
    group = zarr.open_group(store, mode="r")
    for place in (store, StorePath(store, ""), group):
        close_all(opened(function, place))
    assert store.closed == 0


@each_function
@pytest.mark.parametrize(
    "options",
    [
        {"group": "nope"},
        {"group": "x"},
        {"consolidated": True},
        {"zarr_format": 2},
        {"resolution": 10.0},
    ],
    ids=str,
)
def test_a_store_opened_here_is_closed_when_opening_fails(
    function: Open, tmp_path: Path, closed_stores: list[Any], options: dict[str, Any]
) -> None:
    path = write_local(sample_contents(3, False), tmp_path / "s.zarr")
    with pytest.raises((XGroupGroupError, XGroupStoreError, TypeError)):
        function(path, engine="xgroup", **options)
    assert len(closed_stores) == 1


@each_function
def test_a_store_passed_in_is_not_closed_when_opening_fails(function: Open) -> None:
    store = recording_store(sample_contents(3, False))
    with pytest.raises(XGroupGroupError):
        function(store, engine="xgroup", group="nope")
    assert store.closed == 0


def test_a_zip_file_is_released_on_closing(tmp_path: Path) -> None:
    path = write_zip(sample_contents(3, False), tmp_path / "s.zip")
    dataset = opened(xr.open_dataset, path)
    store = opened_store(dataset)
    assert store._is_open
    dataset.close()
    assert not store._is_open


def opened_store(dataset: xr.Dataset) -> Any:
    close = dataset._close
    return getattr(close, "__self__", None)


# Other ways in.


def test_both_formats_in_one_store_are_read_as_asked_for() -> None:
    contents = {
        **build(Group({"v": Array([1.0], ("t",))}, {"format": 2}), 2),
        **build(Group({"v": Array([2.0, 3.0], ("t",))}, {"format": 3}), 3),
    }
    store = memory_store(contents)
    for zarr_format in (2, 3):
        ours = compare(xr.open_dataset, store, zarr_format=zarr_format)
        assert ours.attrs == {"format": zarr_format}
    assert compare(xr.open_dataset, store, zarr_format=None).attrs == {"format": 3}


def test_a_group_that_is_a_store_of_its_own_below_one_that_is_none() -> None:
    store = memory_store(below(sample_contents(3, False), "p/q"))
    dataset = opened(xr.open_dataset, store, group="p/q")
    assert_same(dataset, opened(xr.open_dataset, sample_store(3, False)))
    assert_same(
        opened(xr.open_datatree, store, group="p/q"),
        opened(xr.open_datatree, sample_store(3, False)),
    )


def test_an_array_without_chunks_is_all_fill_value() -> None:
    contents = sample_contents(3, False)
    missing = without(contents, "lat/c/")
    assert missing != contents
    dataset = compare(xr.open_dataset, memory_store(missing))
    np.testing.assert_array_equal(dataset["lat"].values, np.zeros(4))
