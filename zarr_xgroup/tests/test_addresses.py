"""An address that goes on behind the name of a store opens the group behind, with all that is declared above it."""

import os
import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
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
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup import (
    XGroupEmptyGroupWarning,
    XGroupGroupError,
    XGroupPathError,
    XGroupStoreError,
    XGroupStoreNotFoundError,
)
from zarr_xgroup.tests.addresses import ADDRESSES, OPEN_GROUPS, OPEN_STORES, Way, http, icechunk
from zarr_xgroup.tests.builders import (
    HAS_SYNC_FSSPEC,
    OPENS_GROUPS,
    XARRAY,
    Array,
    Contents,
    Group,
    Open,
    ZarrFormat,
    assert_same,
    below,
    build,
    coordinate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    quietly,
    recorded,
    recording_store,
    to_json,
    write_fsspec_memory,
    write_local,
)
from zarr_xgroup.tests.servers import (
    Fault,
    FileServer,
    RequestLog,
    S3Server,
    serve_http,
)

each_format = pytest.mark.parametrize("zarr_format", [2, 3])
each_way = pytest.mark.parametrize("consolidated", [False, True], ids=["single", "consolidated"])
server = pytest.mark.server


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
    """Return its contents, in which each group has consolidated metadata of its own or none has."""
    return build(PRODUCT, zarr_format, consolidated=GROUPS if consolidated else False)


@each_way
@each_format
@pytest.mark.parametrize("way", [*ADDRESSES, *OPEN_GROUPS])
def test_an_address_opens_as_the_group_of_its_store(
    way: Way,
    zarr_format: ZarrFormat,
    consolidated: bool,
    tmp_path: Path,
) -> None:
    if way is http and not consolidated:
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
@each_format
def test_an_address_in_a_bucket_opens_as_the_group_of_its_store(
    s3_server: S3Server, zarr_format: ZarrFormat
) -> None:
    contents = product(zarr_format)
    url = s3_server.upload("bucket", below(contents, "some/p.zarr"))
    for group in GROUPS:
        whole = opened(xr.open_dataset, memory_store(contents), group=group)
        address = f"{url}/some/p.zarr/{group}"
        ours = opened(xr.open_dataset, address, storage_options=s3_server.options)
        assert_same(ours, whole, encoding=False)


@pytest.mark.parametrize("way", OPEN_STORES)
def test_a_store_that_is_open_is_all_there_is(way: Way, tmp_path: Path) -> None:
    contents = product()
    inside = {
        key.removeprefix("images/"): content
        for key, content in contents.items()
        if key.startswith("images/")
    }
    with way(contents, tmp_path) as named:
        ours = quietly(xr.open_datatree, named("images"), engine="xgroup")
        assert "time" not in ours["r60m"].coords
        assert ours.identical(quietly(xr.open_datatree, memory_store(inside), engine="xgroup"))


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


def test_an_array_says_in_which_group_of_which_store_it_is(tmp_path: Path) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    with pytest.raises(XGroupGroupError) as caught:
        xr.open_dataset(root / "images" / "r60m" / "b", engine="xgroup")
    assert str(caught.value) == (
        f"'/images/r60m/b' in {root} is an array, not a group: open the group '/images/r60m' and "
        "take its variable 'b'"
    )


# What is above, and is no root or is not looked at.


def document(zarr_format: ZarrFormat = 3, **members: Any) -> bytes:
    group = {"zarr_format": 3, "node_type": "group"} if zarr_format == 3 else {"zarr_format": 2}
    return to_json({**group, **members})


@pytest.mark.parametrize(
    "root",
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
def test_where_no_group_is_at_the_root_the_address_is_the_store(
    root: Contents, tmp_path: Path
) -> None:
    contents = product()
    address = write_local({**below(contents, "in"), **root}, tmp_path / "p.zarr") / "in"
    found = zarr_xgroup.explain(address, group="grid")
    assert (found.store, found.group) == (str(address), "/grid")
    for group in GROUPS:
        whole = opened(xr.open_dataset, memory_store(contents), group=group)
        assert opened(xr.open_dataset, address, group=group).identical(whole)


@server
@pytest.mark.parametrize("status", [401, 403, 404, 418, 500, 503])
def test_a_root_that_a_server_refuses_is_none(status: int, http_server: FileServer) -> None:
    http_server.contents = below(product(consolidated=True), "p.zarr/in")
    http_server.faults[lambda request: not request.path.startswith("/p.zarr/in")] = Fault(
        status=status
    )
    address = f"{http_server.url}/p.zarr/in"
    assert zarr_xgroup.explain(address, group="images").store == address
    http_server.requests.clear()
    assert "time" in opened(xr.open_dataset, address, group="images/r60m").coords
    assert len(http_server.paths()) == len(set(http_server.paths()))


def test_what_is_of_both_formats_is_found_in_that_which_is_asked_for(tmp_path: Path) -> None:
    root = write_local({**product(2), **product(3)}, tmp_path / "p.zarr")
    for options in ({}, {"zarr_format": 2}, {"zarr_format": 3}):
        ours: Any = options
        assert "time" in opened(xr.open_dataset, root / "images" / "r60m", **ours).coords
    (root / "zarr.json").unlink()
    found = zarr_xgroup.explain(root / "images" / "r60m")
    assert (found.store, found.zarr_format) == (str(root / "images" / "r60m"), 3)
    found = zarr_xgroup.explain(root / "images" / "r60m", zarr_format=2)
    assert (found.store, found.zarr_format) == (str(root), 2)


@pytest.mark.parametrize(
    ("address", "store"),
    [
        ("a.zarr/p.zarr", "a.zarr/p.zarr"),
        ("a.zarr/p.zarr/images", "a.zarr/p.zarr"),
        ("a.zarr/plain", "a.zarr"),
        ("B.ZARR/images", "B.ZARR"),
        ("folder/images", "folder/images"),
    ],
)
def test_a_store_begins_where_its_name_says_so(
    address: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products in an archive that is a group are stores of their own, with references from their roots."""
    members = {"p.zarr": PRODUCT, "plain": Group()}
    archives = {"a.zarr": Group(members), "B.ZARR": PRODUCT, "folder": PRODUCT}
    write_local(build(Group(archives), consolidated=True), tmp_path)
    for form in (str, Path, "{}/".format, "./{}".format):
        monkeypatch.chdir(tmp_path)
        found = quietly(zarr_xgroup.explain, form(address))
        assert Path(found.store) == Path(store)
        assert found.group.strip("/") == address.removeprefix(store).strip("/")
        monkeypatch.chdir(tmp_path / address)
        assert quietly(zarr_xgroup.explain, ".").group == found.group


@each_format
@pytest.mark.parametrize("way", [*ADDRESSES, *OPEN_GROUPS])
def test_what_the_root_keeps_of_a_group_may_be_old(
    way: Way, zarr_format: ZarrFormat, tmp_path: Path
) -> None:
    """Somebody appends to a group, or adds one, and nobody consolidates the root again."""
    if way is icechunk:
        pytest.skip("icechunk keeps no consolidated metadata")
    daily = Group({"time": coordinate("time", [0.0])})
    longer = Group({"time": coordinate("time", [0.0, 1.0, 2.0, 3.0]), "v": Array(1.0)})
    old = build(Group({"daily": daily}, {"of": "all"}), zarr_format, consolidated=True)
    groups = ("daily", "added") if way is http else ()
    new = build(Group({"daily": longer, "added": longer}), zarr_format, consolidated=groups)
    root = {key: content for key, content in old.items() if "/" not in key}
    expected = opened(xr.open_dataset, memory_store(build(longer, zarr_format)))
    assert expected["time"].values.tolist() == [0.0, 1.0, 2.0, 3.0]
    with way({**new, **root}, tmp_path) as named:
        for group in ("daily", "added"):
            assert_same(opened(xr.open_dataset, named(group)), expected, encoding=False)


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
@each_format
def test_an_archive_to_which_days_are_added(zarr_format: ZarrFormat, tmp_path: Path) -> None:
    archive, address = tmp_path / "archive.zarr", tmp_path / "archive.zarr" / "daily"
    zarr.open_group(archive, mode="w", zarr_format=zarr_format)
    days = xr.Dataset({"v": ("time", [1.0])}, {"time": [0.0]})
    days.to_zarr(address, zarr_format=zarr_format, consolidated=False)
    quietly(zarr.consolidate_metadata, archive)
    later = xr.Dataset({"v": ("time", [2.0, 3.0, 4.0])}, {"time": [1.0, 2.0, 3.0]})
    later.to_zarr(address, append_dim="time", consolidated=False)
    ours = opened(xr.open_dataset, address)
    assert ours["time"].values.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert_same(ours, oracle(xr.open_dataset, address))


@server
@each_format
def test_what_cannot_be_listed_has_to_be_consolidated_itself(
    zarr_format: ZarrFormat, http_server: FileServer
) -> None:
    http_server.contents = below(build(PRODUCT, zarr_format, consolidated=True), "p.zarr")
    root = f"{http_server.url}/p.zarr"
    with pytest.raises(XGroupStoreError) as caught:
        xr.open_dataset(f"{root}/images/r60m", engine="xgroup")
    assert str(caught.value) == (
        f"The members of group '/images/r60m' cannot be found: {root} cannot be listed, and the group "
        "has no consolidated metadata of its own. If the root of the store has, open "
        f"{root} with group='/images/r60m'."
    )
    assert "time" in opened(xr.open_dataset, root, group="/images/r60m").coords


@pytest.mark.parametrize(
    "plant",
    [
        Path.write_bytes,
        lambda path, _content: os.mkfifo(path),
        lambda path, _content: path.symlink_to("/dev/zero"),
    ],
    ids=["group", "pipe", "endless"],
)
def test_nothing_above_an_address_is_looked_at(
    plant: Callable[[Path, bytes], object], tmp_path: Path
) -> None:
    """What others plant there could be a group, a pipe that nobody writes to, or what never ends."""
    planted = document(attributes={"title": "planted"}, consolidated_metadata={"metadata": {}})
    for at in ("", "folder", "a.zarr"):
        (tmp_path / at).mkdir(exist_ok=True)
        for key in ("zarr.json", ".zgroup", ".zattrs", ".zmetadata"):
            plant(tmp_path / at / key, planted)
    for at in ("folder/p.zarr", "folder/product", "a.zarr/p.zarr"):
        root = write_local(product(), tmp_path / at)
        ours = opened(xr.open_dataset, root / "images" / "r60m" if "." in at else root)
        assert ours.attrs["note" if "." in at else "title"].startswith("of the")


def test_a_group_that_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    with pytest.raises(XGroupGroupError) as caught:
        xr.open_dataset(root / "images" / "r10m", engine="xgroup")
    assert str(caught.value) == (
        f"There is no group '/images/r10m' in {root}; groups there are: /images, /images/axes, "
        "/images/r60m"
    )


def test_an_open_group_is_told_by_its_own_store(tmp_path: Path) -> None:
    root = write_local(product(), tmp_path / "p.zarr")
    for group, told in (
        (zarr.open_group(root, path="images", mode="r"), f"'/images/nope' in file://{root}"),
        (zarr.open_group(root / "images", mode="r"), f"'/nope' in file://{root}/images"),
    ):
        with pytest.raises(XGroupGroupError, match=f"^There is no group {told}; groups there are"):
            quietly(xr.open_dataset, group, engine="xgroup", group="nope")


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


@pytest.mark.skipif(not HAS_SYNC_FSSPEC, reason="zarr is too old")
def test_a_path_is_not_percent_decoded(tmp_path: Path) -> None:
    """As engine zarr has it; the URL that pathlib makes of a path says how to name it instead."""
    for name in ("a%2Fb.zarr", "a b.zarr"):
        root = write_local(product(), tmp_path / name)
        for address in (root / "images" / "r60m", f"file://{root}/images/r60m"):
            ours, theirs = opened(xr.open_dataset, address), oracle(xr.open_dataset, address)
            assert ours.attrs == theirs.attrs == {"note": "of the level"}
        for path in (root, root / "images"):
            with pytest.raises(FileNotFoundError):
                oracle(xr.open_dataset, path.as_uri())
            with pytest.raises(XGroupStoreNotFoundError) as caught:
                xr.open_dataset(path.as_uri(), engine="xgroup")
            assert str(caught.value) == (
                f"There is no store {path.as_uri()}; its path is taken as it is written, not "
                f"percent-decoded: name it {str(path)!r}"
            )


@server
def test_a_server_would_take_an_encoded_slash_for_a_slash(http_server: FileServer) -> None:
    member = Group({"v": Array([1.0], ("x",))})
    http_server.contents = build(Group({"a%2Fb": member}), consolidated=True)
    if HAS_SYNC_FSSPEC:  # else engine zarr does not find the group
        theirs: Any = oracle(xr.open_dataset, http_server.url, group="a%2Fb")
        assert theirs["v"].values.tolist() == [0.0]  # its chunk is asked for in vain
    with pytest.raises(XGroupPathError) as caught:
        xr.open_dataset(http_server.url, engine="xgroup", group="a%2Fb")
    assert str(caught.value) == (
        "'a%2Fb' is not opened: a server may take it for the path of something else"
    )


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
@pytest.mark.parametrize("group", ["", "g", "g/deep/down"])
def test_the_root_is_asked_for_along_with_the_first_documents(
    group: str, zarr_format: ZarrFormat, consolidated: bool, logged: type[LoggedFileSystem]
) -> None:
    member = Group({"v": Array(np.ones(2), ("x",)), "w": Array(np.ones(2), ("x",))})
    nodes = {"": member, "g": member, "g/deep": member, "g/deep/down": member}
    contents = build(nodes, zarr_format, consolidated=[group] if consolidated else False)
    place = "bucket/which/is/on/its/own/p.zarr"
    logged.contents = below(contents, place)
    opened(xr.open_dataset, f"logged://{place}/{group}")
    asked = [key for _operation, key in logged.log.requests]
    assert len(asked) == len(set(asked))
    # Groups between an address and its root are read when the root is known to be one.
    assert logged.log.rounds == (1 if consolidated and group.count("/") == 0 else 2)
    assert all(key.startswith(place) for key in asked)
    of_root = {f"{place}/{key}" for key in ("zarr.json", ".zgroup", ".zattrs")}
    assert of_root <= {*asked}
    assert group == "" or f"{place}/.zmetadata" not in asked


@server
@each_way
@each_format
@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree])
@pytest.mark.parametrize("place", ["p.zarr", "deep/in/a/folder", "a.zarr/p.zarr"])
def test_a_web_server_is_asked_for_no_more_than_by_engine_zarr(
    place: str,
    function: Open,
    zarr_format: ZarrFormat,
    consolidated: bool,
) -> None:
    members = {name: Array(np.ones(2), ("x",)) for name in ("u", "v")}
    root = Group({**members, "x": coordinate("x", [1.0, 2.0]), "g": Group(members)})
    contents = below(build(root, zarr_format, consolidated=consolidated), place)
    with serve_http(contents, listing=True) as server:
        address = f"{server.url}/{place}"
        oracle(function, address)
        theirs = Counter(server.paths())
        server.requests.clear()
        opened(function, address)
        ours = Counter(server.paths())
    assert ours <= theirs
    if consolidated and OPENS_GROUPS:  # else engine zarr opens group by group
        assert ours == theirs


@server
@pytest.mark.parametrize(("address", "count"), [("p/grid", 4), ("p.zarr", 4), ("p.zarr/grid", 7)])
def test_how_many_requests_a_web_server_gets(
    address: str, count: int, http_server: FileServer
) -> None:
    """Four for an address, and three for the root that it leads into."""
    http_server.contents = below(product(consolidated=True), address.partition("/")[0])
    opened(xr.open_dataset, f"{http_server.url}/{address}")
    documents = [it for it in http_server.paths() if "/c/" not in it]
    assert len(documents) == count


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
        contents = build(tree, zarr_format, consolidated=consolidated)
        root = write_local(contents, Path(folder, "p.zarr"))
        for function in (xr.open_dataset, xr.open_datatree):
            whole, whole_told = opened_with_warnings(function, root, group=group or None)
            ours, told = opened_with_warnings(function, root / named, group=asked or None)
            assert ours.identical(whole)
            assert list(map(str, told)) == list(map(str, whole_told))
