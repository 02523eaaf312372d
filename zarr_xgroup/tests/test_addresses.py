"""Whatever is named of a store, that is opened with all that is declared above it."""

import pickle
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import hypothesis.strategies as st
import numpy as np
import pytest
import xarray as xr
import zarr
from fsspec.asyn import AsyncFileSystem
from hypothesis import given, settings
from zarr.storage import LocalStore

import zarr_xgroup
from zarr_xgroup import (
    XGroupEmptyGroupWarning,
    XGroupGroupError,
    XGroupStoreError,
    XGroupStoreNotFoundError,
)
from zarr_xgroup.tests.addresses import WAYS, Way, http, icechunk, obstore_http
from zarr_xgroup.tests.builders import (
    HAS_OBSTORE,
    HAS_SYNC_FSSPEC,
    Array,
    Contents,
    Group,
    ZarrFormat,
    assert_same,
    below,
    build,
    coordinate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recorded,
    recording_folder,
    recording_store,
    to_json,
    write_fsspec_memory,
    write_local,
)
from zarr_xgroup.tests.servers import (
    Fault,
    FileServer,
    Request,
    RequestLog,
    S3Server,
)

each_format = pytest.mark.parametrize("zarr_format", [2, 3])
each_way = pytest.mark.parametrize("consolidated", [False, True], ids=["single", "consolidated"])
server = pytest.mark.server
needs_obstore = pytest.mark.skipif(not HAS_OBSTORE, reason="obstore is not installed")


def external(name: str, node: str) -> dict[str, Any]:
    """Return the attributes of an array whose axis is elsewhere."""
    axis = {"coordinates": [{"values": {"external": {"node": node}}}]}
    return declaring("cs", cs={"crs": [{"axes": {name: axis}}]})


#: What every group of it needs stands in another one: an array at the root, a neighbour, attributes.
PRODUCT = Group(
    {
        "time": Array(np.arange(3), ("time",), {"units": "days since 2020-01-01"}),
        "images": Group(
            {
                "r60m": Group(
                    {
                        "b": Array(np.ones(3), ("time",), external("time", "/time")),
                        "deep": Group(
                            {"q": Array(np.ones(2), ("x",), external("x", "../../axes/x"))}
                        ),
                    },
                    {"note": "of the level"},
                ),
                "axes": Group({"x": coordinate("x", [1.5, 2.5])}),
            }
        ),
        "grid": Group(
            {"v": Array(np.ones((2, 2)), ("y", "x"))},
            declaring(
                "proj",
                "spatial",
                **{
                    "proj:code": "EPSG:32632",
                    "spatial:dimensions": ["y", "x"],
                    "spatial:transform": [10.0, 0.0, 0.0, 0.0, -10.0, 0.0],
                },
            ),
        ),
    },
    {"title": "of the product"},
)
GROUPS = ("", "images", "images/r60m", "images/r60m/deep", "grid")


def product(zarr_format: ZarrFormat = 3, *, consolidated: bool = False) -> Contents:
    return build(PRODUCT, zarr_format, consolidated=consolidated)


#: Those that cannot list what is in a group: they are of use with consolidated metadata only.
UNLISTED = (http, obstore_http)


@each_way
@each_format
@pytest.mark.parametrize("way", WAYS)
def test_an_address_opens_as_the_group_of_its_store(
    way: Way,
    zarr_format: ZarrFormat,
    consolidated: bool,
    tmp_path: Path,
) -> None:
    if way in UNLISTED and not consolidated:
        pytest.skip("what cannot be listed has to be consolidated")
    if way is icechunk and zarr_format == 2:
        pytest.skip("icechunk has no Zarr v2")
    contents = product(zarr_format, consolidated=consolidated)
    with way(contents, tmp_path) as named:
        for group in GROUPS:
            whole = opened(xr.open_dataset, memory_store(contents), group=group)
            assert_same(opened(xr.open_dataset, named(group)), whole, encoding=False)
        tree = opened(xr.open_datatree, named("images"))
        whole = opened(xr.open_datatree, memory_store(contents), group="images")
        assert tree.identical(whole)
        assert {"/", "/r60m", "/r60m/deep", "/axes"} == {it.path for it in tree.subtree}
        assert "time" in pickle.loads(pickle.dumps(tree))["r60m"].compute().coords


@server
@needs_obstore
@each_format
def test_an_address_in_a_bucket_opens_as_the_group_of_its_store(
    s3_server: S3Server, zarr_format: ZarrFormat
) -> None:
    from zarr.storage import ObjectStore

    contents = product(zarr_format)
    url = s3_server.upload("bucket", below(contents, "some/p.zarr"))
    for group in GROUPS:
        whole = opened(xr.open_dataset, memory_store(contents), group=group)
        address = f"{url}/some/p.zarr/{group}"
        ours = opened(xr.open_dataset, address, storage_options=s3_server.options)
        assert_same(ours, whole, encoding=False)
        store = ObjectStore(s3_server.object_store("bucket", f"some/p.zarr/{group}"))
        assert_same(opened(xr.open_dataset, store), whole, encoding=False)
        at_bucket = zarr.open_group(
            ObjectStore(s3_server.object_store("bucket"), read_only=True),
            path=f"some/p.zarr/{group}".rstrip("/"),
            mode="r",
        )
        assert_same(opened(xr.open_dataset, at_bucket), whole, encoding=False)


def test_a_group_is_asked_for_below_what_is_named(tmp_path: Path) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    whole = opened(xr.open_dataset, root, group="images/r60m")
    for group in ("r60m", "/r60m", "r60m/"):
        assert opened(xr.open_dataset, root / "images", group=group).identical(whole)
    named = opened(xr.open_groups, root / "images")
    assert set(named) == {"/", "/r60m", "/r60m/deep", "/axes"}
    asked = opened(xr.open_groups, root / "images", group="r60m")
    assert set(asked) == {".", "deep"}


def test_a_relative_path_leads_upwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    monkeypatch.chdir(root / "images" / "axes")
    for path in ("../r60m", "../../images/r60m", Path("..", "r60m")):
        assert "time" in opened(xr.open_dataset, path).coords
    monkeypatch.chdir(root / "images" / "r60m")
    assert "time" in opened(xr.open_dataset, ".").coords
    monkeypatch.chdir(root)
    for store in (
        LocalStore("images/r60m", read_only=True),
        zarr.open_group("images/r60m", mode="r"),
    ):
        assert "time" in opened(xr.open_dataset, store).coords


def test_who_must_not_ask_does_not(tmp_path: Path) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    address = root / "images" / "r60m"
    assert "time" not in quietly(xr.open_dataset, address, engine="xgroup", root=False).coords
    for root_option in ("auto", None):
        assert "time" in opened(xr.open_dataset, address, root=root_option).coords
    for wrong in (True, "images", 2):
        with pytest.raises(ValueError, match=r"^root must be 'auto' or False, got "):
            xr.open_dataset(address, engine="xgroup", root=wrong)


def test_a_store_that_is_wrapped_is_not_looked_above(tmp_path: Path) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    store = recording_folder(root / "images" / "r60m")
    assert "time" not in quietly(xr.open_dataset, store, engine="xgroup").coords


def test_an_explanation_and_a_verdict_say_which_root_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    for function in (zarr_xgroup.explain, zarr_xgroup.check):
        told: Any = function(root / "images" / "r60m")
        assert (told.store, told.group) == (str(root), "/images/r60m")
    assert str(root) in repr(zarr_xgroup.explain(root / "images" / "r60m")).splitlines()[0]
    monkeypatch.chdir(tmp_path)
    spelt = zarr_xgroup.explain("p.zarr/images/r60m")
    assert (spelt.store, spelt.group) == ("p.zarr", "/images/r60m")
    alone = zarr_xgroup.explain(root / "images" / "r60m", root=False)
    assert (alone.store, alone.group) == (str(root / "images" / "r60m"), "/")


def test_an_array_says_in_which_group_of_which_store_it_is(tmp_path: Path) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    with pytest.raises(XGroupGroupError) as caught:
        xr.open_dataset(root / "images" / "r60m" / "b", engine="xgroup")
    assert str(caught.value) == (
        f"'/images/r60m/b' in {root} is an array, not a group: open the group '/images/r60m' and "
        "take its variable 'b'"
    )


# What is above and is no group.


def document(zarr_format: ZarrFormat = 3, **members: Any) -> bytes:
    group = {"zarr_format": 3, "node_type": "group"} if zarr_format == 3 else {"zarr_format": 2}
    return to_json({**group, **members})


@pytest.mark.parametrize(
    "above",
    [
        {},
        {"zarr.json": b"<html>"},
        {"zarr.json": b"{}"},
        {"zarr.json": b'{"message": "no such page"}'},
        {"zarr.json": document(node_type="array", shape=[1])},
        {"zarr.json": document(zarr_format=3, node_type="folder")},
        {".zgroup": document(2), ".zattrs": b"{}"},
    ],
    ids=["nothing", "page", "empty", "answer", "array", "unknown", "v2"],
)
def test_what_is_no_group_above_changes_nothing(above: Contents, tmp_path: Path) -> None:
    contents = product()
    root = write_local({**below(contents, "p.zarr"), **above}, tmp_path) / "p.zarr"
    assert zarr_xgroup.explain(root / "grid").store == str(root)
    whole = opened(xr.open_dataset, memory_store(contents), group="grid")
    assert opened(xr.open_dataset, root / "grid").identical(whole)


@each_format
def test_the_chain_of_groups_ends_where_one_is_missing(
    zarr_format: ZarrFormat, tmp_path: Path
) -> None:
    contents = product(zarr_format)
    gone = {"images/zarr.json", "images/.zgroup", "images/.zattrs"}
    root = write_local({k: v for k, v in contents.items() if k not in gone}, tmp_path / "p.zarr")
    address = root / "images" / "r60m"
    assert zarr_xgroup.explain(address).store == str(address)
    # A store that was opened has its root, whatever lies between.
    at_root = zarr.open_group(LocalStore(root, read_only=True), path="images/r60m", mode="r")
    assert "time" in opened(xr.open_dataset, at_root).coords


def test_what_is_of_both_formats_is_found_in_that_which_is_asked_for(tmp_path: Path) -> None:
    root = write_local({**product(2), **product(3)}, tmp_path / "p.zarr")
    for options in ({}, {"zarr_format": 2}, {"zarr_format": 3}):
        ours: Any = options
        assert "time" in opened(xr.open_dataset, root / "images" / "r60m", **ours).coords
    (root / "zarr.json").unlink()
    found = zarr_xgroup.explain(root / "images" / "r60m")
    assert (found.store, found.zarr_format) == (str(root / "images"), 3)
    found = zarr_xgroup.explain(root / "images" / "r60m", zarr_format=2)
    assert (found.store, found.zarr_format) == (str(root), 2)


@server
@pytest.mark.parametrize("status", [401, 403, 404, 418, 500, 503])
def test_a_server_that_refuses_what_is_above_changes_nothing(
    status: int, http_server: FileServer
) -> None:
    http_server.contents = below(product(consolidated=True), "some/product")

    def is_above(request: Request) -> bool:
        return not request.path.startswith("/some/product")

    http_server.faults[is_above] = Fault(status=status)
    root = f"{http_server.url}/some/product"
    assert zarr_xgroup.explain(root).store == root
    assert "time" in opened(xr.open_dataset, f"{root}/images/r60m").coords
    assert any(map(is_above, http_server.requests))


@server
def test_a_server_that_has_a_group_everywhere_is_asked_for_eight(http_server: FileServer) -> None:
    names = [f"g{number}" for number in range(20)]
    contents = {f"{'/'.join(names[:n])}/zarr.json".lstrip("/"): document() for n in range(20)}
    deep = "/".join(names)
    http_server.contents = {**contents, **below(product(consolidated=True), deep)}
    found = zarr_xgroup.explain(f"{http_server.url}/{deep}")
    assert found.store == f"{http_server.url}/{'/'.join(names[:-8])}"
    assert found.group == "/" + "/".join(names[-8:])
    asked = [path for path in http_server.paths() if path.count("/") <= 12]
    assert asked == []


def test_a_store_begins_where_its_name_says_so(tmp_path: Path) -> None:
    """Products in an archive that is a group are stores of their own, with references from their roots."""
    archive = Group({"p.zarr": PRODUCT, "plain": Group()}, {"title": "of the archive"})
    root = write_local(build(archive, consolidated=True), tmp_path / "archive")
    for address, store in (("p.zarr", "p.zarr"), ("p.zarr/images", "p.zarr"), ("plain", "")):
        assert zarr_xgroup.explain(root / address).store == str(root / store)
    assert "time" in opened(xr.open_dataset, root / "p.zarr" / "images" / "r60m").coords


def test_consolidated_metadata_above_that_lack_what_is_named_are_not_used(tmp_path: Path) -> None:
    """An archive was consolidated, and then something was added."""
    old = build(Group({"other": Group()}), consolidated=True)
    added = build(Group({"v": Array(np.ones(2), ("x",)), "inner": Group()}))
    root = write_local({**old, **below(added, "new")}, tmp_path / "archive")
    ours, told = opened_with_warnings(xr.open_datatree, root / "new")
    assert [str(it) for it in told] == [
        f"{root} is read node by node: its consolidated metadata have no group '/new'"
    ]
    assert (set(ours.children), set(ours.data_vars)) == ({"inner"}, {"v"})
    assert len(opened(xr.open_datatree, root / "new", consolidated=False).children) == 1
    own = write_local(
        build(Group({"v": Array(np.ones(2), ("x",))}), consolidated=True), root / "new"
    )
    for consolidated in (True, None):
        ours, told = opened_with_warnings(xr.open_datatree, own, consolidated=consolidated)
        assert (len(told), set(ours.children), set(ours.data_vars)) == (1, set(), {"v"})


# What is named and cannot be opened as it is.


@each_way
@each_format
def test_a_group_without_arrays_says_where_there_are_some(
    zarr_format: ZarrFormat, consolidated: bool
) -> None:
    some = {"v": Array(np.ones(2), ("x",))}
    many = Group({f"g{number}": Group(some) for number in range(9)})
    root = Group({"a": Group({"deep": Group(some), "none": Group()}), "b": Group(some)})
    store = memory_store(build(root, zarr_format, consolidated=consolidated))

    def told(store: Any, **options: Any) -> list[Any]:
        opened, given = recorded(xr.open_dataset, store, engine="xgroup", **options)
        assert not opened.variables
        return given

    (warning,) = told(store)
    assert isinstance(warning, XGroupEmptyGroupWarning)
    assert warning.paths == ("/b", "/a/deep")
    assert str(warning) == (
        f"Group / of {store} holds no array. Groups below it do: /b, /a/deep. Open one of these, "
        "or all with xarray.open_datatree"
    )
    (warning,) = told(store, group="a")
    assert warning.paths == ("/a/deep",)
    assert told(store, group="a/none") == []
    (warning,) = told(memory_store(build(many, zarr_format, consolidated=consolidated)))
    assert warning.paths == tuple(f"/g{number}" for number in range(8))
    for function in (xr.open_datatree, xr.open_groups, zarr_xgroup.explain, zarr_xgroup.check):
        options = {"engine": "xgroup"} if function in (xr.open_datatree, xr.open_groups) else {}
        given = recorded(function, store, **options)[1]
        assert not any(isinstance(it, XGroupEmptyGroupWarning) for it in given)


def test_a_group_with_an_array_that_cannot_be_read_is_not_called_empty() -> None:
    contents = build(Group({"v": Array(np.ones(2), ("x",)), "a": Group({"w": Array(1)})}))
    store = memory_store({**contents, "v/zarr.json": b"{"})
    given = recorded(xr.open_dataset, store, engine="xgroup")[1]
    assert given
    assert not any(isinstance(it, XGroupEmptyGroupWarning) for it in given)


def test_a_tree_of_empty_groups_is_looked_at_as_far_as_it_is_worth_it() -> None:
    wide = Group({f"g{number:04}": Group({"in": Group()}) for number in range(300)})
    store = recording_store(build(wide))
    assert recorded(xr.open_dataset, store, engine="xgroup")[1] == []
    assert len(store.listed) <= 301


FILES = {
    "a.nc": (b"\x89HDF\r\n\x1a\n", "HDF5 (netCDF-4), which xarray opens with engine='h5netcdf'"),
    "b.nc": (b"CDF\x01\0", "netCDF-3, which xarray opens with engine='netcdf4'"),
    "c.tif": (b"II*\0", "TIFF (GeoTIFF), which xarray opens with engine='rasterio' of rioxarray"),
    "d.tif": (b"MM\0+", "TIFF (GeoTIFF), which xarray opens with engine='rasterio' of rioxarray"),
    "e.grib": (b"GRIB\0\0", "GRIB, which xarray opens with engine='cfgrib'"),
    "f.txt": (b"x,y\n1,2\n", "text"),
    "g.txt": (("ä" * 600).encode(), "text"),
    "h.json": (b'{"version": 1, "refs": {}}', "references of kerchunk: name it reference::..."),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", ["local", pytest.param("http", marks=server)])
def test_a_file_that_is_no_zarr_says_what_it_is(
    name: str, place: str, tmp_path: Path, http_server: FileServer
) -> None:
    content, told = FILES[name]
    content += b"\0" * 2000 if told != "text" and name != "h.json" else b""
    path: Any = tmp_path / name
    path.write_bytes(content)
    if place == "http":
        http_server.contents = {name: content}
        path = f"{http_server.url}/{name}"
    with pytest.raises(XGroupStoreNotFoundError) as caught:
        xr.open_dataset(path, engine="xgroup")
    assert str(caught.value) == f"There is no Zarr group at {path}: it is a file of {told}"


@server
def test_what_a_server_says_of_nothing_is_no_file(http_server: FileServer) -> None:
    for content in (b"<!doctype html>", b"\xff\xfe\0", b""):
        http_server.contents = {"p": content}
        with pytest.raises(XGroupStoreNotFoundError, match=r"has neither a zarr\.json nor"):
            xr.open_dataset(f"{http_server.url}/p", engine="xgroup")
    http_server.faults["*"] = Fault(status=403)
    with pytest.raises(XGroupStoreError, match="no permission"):
        xr.open_dataset(f"{http_server.url}/p", engine="xgroup")


# What stands for a URL.


@dataclass
class RemotePath:
    """A path as universal_pathlib has them: no `os.PathLike`, with options of its own."""

    url: str
    storage_options: dict[str, Any]
    protocol = "s3"

    def __str__(self) -> str:
        return self.url

    def joinpath(self, name: str) -> "RemotePath":
        return RemotePath(f"{self.url}/{name}", self.storage_options)


@dataclass
class Asset:
    """An asset as pystac has them."""

    href: str
    extra_fields: dict[str, Any]

    def get_absolute_href(self) -> str | None:
        return self.href if "://" in self.href else None


@server
def test_a_path_or_an_asset_opens_by_its_url_with_its_options(s3_server: S3Server) -> None:
    contents = product(consolidated=True)
    url = f"{s3_server.upload('bucket', below(contents, 'p.zarr'))}/p.zarr"
    whole = opened(xr.open_dataset, memory_store(contents), group="images/r60m")
    access = {"xarray:storage_options": s3_server.options}
    path = RemotePath(url, s3_server.options)
    for store, options in (
        (path.joinpath("images").joinpath("r60m"), {}),
        (path, {"group": "images/r60m"}),
        (Asset(f"{url}/images/r60m", access), {}),
        (Asset(url, {**access, "xarray:open_kwargs": {"group": "images/r60m"}}), {}),
        (Asset(url, {**access, "xarray:open_kwargs": {"group": "no"}}), {"group": "images/r60m"}),
        (Asset(f"{url}/images/r60m", {}), {"storage_options": s3_server.options}),
    ):
        given: Any = options
        assert_same(opened(xr.open_dataset, store, **given), whole, encoding=False)
    assert zarr_xgroup.explain(Asset(f"{url}/images", access)).store == url


def test_an_asset_does_not_say_which_other_stores_may_be_opened(tmp_path: Path) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    wrong = {"xarray:open_kwargs": {"cross_store_timeout": "none", "engine": "zarr", "chunks": {}}}
    assert "time" in opened(xr.open_dataset, Asset(f"{root}/images/r60m", wrong)).coords
    assert "images" in opened(xr.open_datatree, Asset(str(root), {})).children


def test_paths_of_universal_pathlib_open(fsspec_memory: None) -> None:
    upath = pytest.importorskip("upath")
    if not HAS_SYNC_FSSPEC:
        pytest.skip("fsspec is too old")
    url = write_fsspec_memory(product(), "paths.zarr")
    ours = opened(xr.open_dataset, upath.UPath(url) / "images" / "r60m")
    assert "time" in ours.coords


def test_assets_of_pystac_open_by_xpystac_and_without(tmp_path: Path) -> None:
    pystac = pytest.importorskip("pystac")
    xpystac = pytest.importorskip("xpystac.core")
    root = write_local(product(), tmp_path / "p.zarr")
    asset = pystac.Asset(
        f"{root}/images/r60m",
        media_type="application/vnd+zarr",
        extra_fields={"xarray:open_kwargs": {"engine": "xgroup", "chunks": {}}},
    )
    whole = opened(xr.open_dataset, root, group="images/r60m")
    assert_same(opened(xr.open_dataset, asset), whole, encoding=False)
    by_xpystac = xpystac.to_xarray(asset)
    assert by_xpystac.chunks
    assert_same(by_xpystac.compute(), whole.compute(), encoding=False)


# How much is asked.


class LoggedFileSystem(AsyncFileSystem):  # type: ignore[misc]
    """Buckets in memory that take down what is asked of them, and how often that had to wait."""

    protocol = "logged"
    cachable = False
    async_impl = True
    contents: ClassVar[Contents] = {}
    log: ClassVar[RequestLog] = RequestLog()

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **options: Any
    ) -> bytes:
        with self.log.request("get", path):
            await self.log.wait(0.01)
            if path not in self.contents:
                raise FileNotFoundError(path)
            return self.contents[path][start:end]

    async def _ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        path = path.rstrip("/")
        with self.log.request("list", path):
            await self.log.wait(0.01)
            below = (key for key in self.contents if key.startswith(f"{path}/"))
            names = {f"{path}/{key[len(path) + 1 :].partition('/')[0]}" for key in below}
            return [{"name": name, "type": "file"} for name in names] if detail else list(names)


@pytest.fixture
def logged() -> Iterator[type[LoggedFileSystem]]:
    fsspec.register_implementation("logged", LoggedFileSystem, clobber=True)
    LoggedFileSystem.log.clear()
    yield LoggedFileSystem
    LoggedFileSystem.contents = {}


@each_way
@each_format
@pytest.mark.parametrize("depth", [0, 3, 8])
@pytest.mark.parametrize("name", ["p.zarr", "product"])
def test_ancestors_are_asked_for_along_with_the_first_documents(
    name: str,
    depth: int,
    zarr_format: ZarrFormat,
    consolidated: bool,
    logged: type[LoggedFileSystem],
) -> None:
    """No round more than without; where what is above is consolidated, one less.

    But in Zarr v2, where no name tells that a store begins there.
    """
    root = Group({"v": Array(np.ones(2), ("x",)), "w": Array(np.ones(2), ("x",))})
    for number in reversed(range(depth)):
        root = Group({f"g{number}": root})
    place = f"bucket/which/is/on/its/own/and/deep/in/{name}"
    address = f"{place}{''.join(f'/g{number}' for number in range(depth))}"
    logged.contents = below(build(root, zarr_format, consolidated=consolidated), place)

    def asked(**options: Any) -> tuple[int, set[str]]:
        logged.log.clear()
        opened(xr.open_dataset, f"logged://{address}", **options)
        asked_for = [key for _operation, key in logged.log.requests]
        assert len(asked_for) == len(set(asked_for))
        return logged.log.rounds, set(asked_for)

    rounds_without, without = asked(root=False)
    rounds, keys = asked()
    is_told = name.endswith(".zarr")
    is_later = depth > 0 and zarr_format == 2 and not is_told
    assert rounds_without == (1 if depth == 0 and consolidated else 2)
    assert rounds == (1 if consolidated else 2) + is_later
    above = [address.rsplit("/", level)[0] for level in range(1, (depth if is_told else 8) + 1)]
    here = {f"{it}/{key}" for it in above for key in ("zarr.json", ".zgroup")}
    rest = {f"{it}/{key}" for it in above[:depth] for key in (".zattrs", ".zmetadata")}
    assert keys - without == (here | rest if is_told or is_later else here)


# All there is.


def names() -> st.SearchStrategy[str]:
    return st.sampled_from(["a", "b", "c", "A b", "ä", "x.zip", "1"])


def trees() -> st.SearchStrategy[Group]:
    """Generate groups in groups, each with an array that refers to one of the root or of its own."""
    references = ["/time", "time", "../time", "../../time", "/a/time", "../b/time", "/x.zip/time"]

    def group(children: Any, reference: str | None, has_time: bool, note: Any) -> Group:
        members = dict(children)
        if reference is not None:
            members["v"] = Array(np.ones(2), ("time",), external("time", reference))
        if has_time:
            members["time"] = coordinate("time", [1.0, 2.0], units="m")
        return Group(members, {} if note is None else {"note": note})

    parts = st.sampled_from([None, *references]), st.booleans(), st.none() | st.integers(0, 1)
    leaves = st.builds(group, st.just({}), *parts)
    return st.recursive(
        leaves,
        lambda below: st.builds(group, st.dictionaries(names(), below, max_size=3), *parts),
        max_leaves=8,
    )


def paths_in(group: Group, path: str = "") -> Iterator[str]:
    yield path
    for name, member in group.members.items():
        if isinstance(member, Group):
            yield from paths_in(member, f"{path}/{name}".strip("/"))


@given(trees(), st.sampled_from([2, 3]), st.booleans(), st.data())
@settings(derandomize=True, deadline=None, max_examples=40)
def test_an_address_in_any_tree_opens_as_the_group(
    tree: Group, zarr_format: ZarrFormat, consolidated: bool, data: st.DataObject
) -> None:
    group = data.draw(st.sampled_from(sorted(paths_in(tree))))
    split = data.draw(st.integers(0, group.count("/") + 1)) if group else 0
    segments = group.split("/") if group else []
    named, asked = "/".join(segments[:split]), "/".join(segments[split:])
    with tempfile.TemporaryDirectory() as folder:
        root = write_local(build(tree, zarr_format, consolidated=consolidated), Path(folder))
        for function in (xr.open_dataset, xr.open_datatree):
            whole, whole_told = opened_with_warnings(function, root, group=group or None)
            ours, told = opened_with_warnings(function, root / named, group=asked or None)
            assert ours.identical(whole)
            assert list(map(str, told)) == list(map(str, whole_told))
