"""Addresses: the group of a store that an address names, and the error if there is no such group."""

import os
import pickle
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import zarr_xgroup
from zarr_xgroup import (
    XGroupEmptyGroupWarning,
    XGroupGroupError,
    XGroupStoreError,
    XGroupStoreNotFoundError,
)
from zarr_xgroup.storage.addresses import address_of
from zarr_xgroup.tests.addresses import ADDRESSES, OPEN_GROUPS, OPEN_STORES, Way, http
from zarr_xgroup.tests.builders import (
    HAS_SYNC_FSSPEC,
    Array,
    Contents,
    Group,
    Nodes,
    ZarrFormat,
    assert_same,
    below,
    build,
    coordinate,
    declaring,
    memory_store,
    opened,
    oracle,
    quietly,
    recorded,
    recording_store,
    stored,
    to_json,
    write_local,
    write_zip,
)
from zarr_xgroup.tests.servers import Fault, FileServer
from zarr_xgroup.tests.tables import rows


def each_way(ways: Sequence[Any], *forms: tuple[ZarrFormat, bool]) -> pytest.MarkDecorator:
    """Return what runs a test for each way to name a group, with one of the forms of stores in turn."""
    params = [
        pytest.param(*way.values, *forms[number % len(forms)], id=way.id, marks=way.marks)
        for number, way in enumerate(ways)
    ]
    return pytest.mark.parametrize(("way", "zarr_format", "consolidated"), params)


server = pytest.mark.server


def external(name: str, node: str) -> dict[str, Any]:
    """Return the attributes of an array whose axis is elsewhere."""
    axis = {"coordinates": [{"values": {"external": {"node": node}}}]}
    return declaring("cs", cs={"crs": [{"axes": {name: axis}}]})


#: What every group of it needs stands in another one: an array at the root, a neighbour, attributes.
PRODUCT: Nodes = {
    "": {"title": "of the product"},
    "time": stored(np.arange(3), "time", units="days since 2020-01-01"),
    "images": {},
    "images/r60m": {"note": "of the level"},
    "images/r60m/b": stored(np.ones(3), "time", **external("time", "/time")),
    "images/r60m/deep": {},
    "images/r60m/deep/q": stored(np.ones(2), "x", **external("x", "../../axes/x")),
    "images/axes": {},
    "images/axes/x": coordinate("x", [1.5, 2.5]),
    "grid": declaring(
        *("proj", "spatial"),
        **{"proj:code": "EPSG:32632", "spatial:dimensions": ["y", "x"]},
        **{"spatial:transform": [10.0, 0.0, 0.0, 0.0, -10.0, 0.0]},
    ),
    "grid/v": stored(np.ones((2, 2)), "y x"),
    "grid::2": {},
    "grid::2/w": stored(np.ones(3), "time", **external("time", "/time")),
}
GROUPS = ("", "images", "images/r60m", "images/r60m/deep", "grid", "grid::2")


def product(zarr_format: ZarrFormat = 3, *, consolidated: bool = False) -> Contents:
    """Return its contents, in which each group has consolidated metadata of its own or none has."""
    return build(PRODUCT, zarr_format, consolidated=GROUPS if consolidated else False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_local(product(), tmp_path / "p.zarr")


def found(store: Any, **options: Any) -> tuple[str, str]:
    """Return which store an address leads into, and which group of it."""
    explanation = quietly(zarr_xgroup.explain, store, **options)
    return explanation.store, explanation.group


@each_way([*ADDRESSES, *OPEN_GROUPS], (2, True), (3, False), (3, True))
def test_an_address_opens_as_the_group_of_its_store(
    way: Way, zarr_format: ZarrFormat, consolidated: bool, tmp_path: Path
) -> None:
    contents = product(zarr_format, consolidated=consolidated)
    with way(contents, tmp_path) as named:
        for group in GROUPS:
            whole = opened(xr.open_dataset, memory_store(contents), group=group)
            assert_same(opened(xr.open_dataset, named(group)), whole, encoding=False)
        tree = opened(xr.open_datatree, named("images"))
        assert tree.identical(opened(xr.open_datatree, memory_store(contents), group="images"))
        assert {"/", "/r60m", "/r60m/deep", "/axes"} == {it.path for it in tree.subtree}
        assert "time" in pickle.loads(pickle.dumps(tree))["r60m"].compute().coords


@each_way([*ADDRESSES, *OPEN_GROUPS], (2, False), (3, False), (3, True))
def test_the_address_of_an_array_opens_it_with_its_coordinates(
    way: Way, zarr_format: ZarrFormat, consolidated: bool, tmp_path: Path
) -> None:
    contents = product(zarr_format, consolidated=consolidated or way is http)
    with way(contents, tmp_path) as named:
        for group, name in (("images/r60m", "b"), ("images/r60m/deep", "q"), ("grid", "v")):
            try:
                address = named(f"{group}/{name}")
            except (zarr.errors.ContainsArrayError, AssertionError):
                continue  # an open group cannot be an array; zarr 3.0 raises AssertionError
            whole = opened(xr.open_dataset, memory_store(contents), group=group)
            dataset = opened(xr.open_dataset, address)
            assert_same(dataset, whole[[name]], encoding=False)
            array = opened(xr.open_dataarray, address)
            assert array.identical(whole[name])
            for function in (xr.open_datatree, xr.open_groups):
                with pytest.raises(XGroupGroupError, match="is an array, not a group"):
                    function(address, engine="xgroup")


def test_an_address_of_an_array_is_about_this_array_alone() -> None:
    """Neither values nor warnings of its neighbours; a member that cannot be opened is an error."""
    nodes: Nodes = {
        "": {},
        "a": stored(np.ones((2, 2)), "y x"),
        "y": coordinate("y", [1.0, 2.0]),
        "x": coordinate("x", [1.0, 2.0]),
        "z": coordinate("z", [1.0, 2.0, 3.0]),
        "bare": stored(np.ones((3, 5)), "z w"),
        "broken": stored(np.ones(3), "z"),
    }
    contents = build({f"g/{path}".rstrip("/"): node for path, node in nodes.items()} | {"": {}})
    contents["g/broken/zarr.json"] = contents["g/broken/zarr.json"].replace(b"float64", b"float99")
    store = recording_store(contents)
    dataset, told = recorded(xr.open_dataset, zarr.storage.StorePath(store, "g/a"), engine="xgroup")
    assert (set(dataset.data_vars), set(dataset.coords)) == ({"a"}, {"y", "x"})
    assert told == []
    assert set(store.chunk_gets) == {"g/y/c/0", "g/x/c/0"}
    with pytest.raises(XGroupGroupError, match="/g/broken"):
        xr.open_dataset(zarr.storage.StorePath(store, "g/broken"), engine="xgroup")  # type: ignore[arg-type]
    with pytest.raises(XGroupGroupError, match="is an array, not a group"):
        xr.open_dataset(store, group="g/a", engine="xgroup")  # type: ignore[arg-type]


@pytest.mark.parametrize("way", OPEN_STORES)
def test_no_node_above_an_open_store_is_used(way: Way, tmp_path: Path) -> None:
    contents = product()
    inside = {key[7:]: content for key, content in contents.items() if key.startswith("images/")}
    with way(contents, tmp_path) as named:
        ours = quietly(xr.open_datatree, named("images"), engine="xgroup")
        assert "time" not in ours["r60m"].coords
        assert ours.identical(quietly(xr.open_datatree, memory_store(inside), engine="xgroup"))


# What an address means.


def test_a_group_is_requested_below_the_address(root: Path) -> None:
    whole = opened(xr.open_dataset, root, group="images/r60m")
    for group in ("r60m", "/r60m", "r60m/"):
        assert opened(xr.open_dataset, root / "images", group=group).identical(whole)
    assert set(opened(xr.open_groups, root / "images", group="r60m")) == {".", "deep"}


def test_a_relative_path_with_dots(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "images" / "axes")
    for path in ("../r60m", "../../images/r60m", Path("..", "r60m")):
        assert "time" in opened(xr.open_dataset, path).coords
    monkeypatch.chdir(root / "images" / "r60m")
    assert "time" in opened(xr.open_dataset, ".").coords


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/d/a.zarr/b/c", ("/d/a.zarr", "b/c")),
        ("a.zarr/p.zarr/images", ("a.zarr/p.zarr", "images")),
        ("a.zarr/p.zarr", None),
        (Path("B.ZARR/images"), ("B.ZARR", "images")),
        ("folder/images", None),
        ("/d/a.zarr/b\\c", None),
        ("http://h/a.zarr/b%20c/", ("http://h/a.zarr", "b c")),
        ("http://h/a.zarr/b%3Fc", None),
        ("http://h/a.zarr/b?sig=1", None),
        ("s3://bucket/a.zarr//b", ("s3://bucket/a.zarr", "b")),
        ("s3://bucket/a.zarr/b/../c", None),
        ("simplecache::http://h/a.zarr/b", ("simplecache::http://h/a.zarr", "b")),
        ("zip://in/a.zarr/b::file:///x.zip", ("zip://in/a.zarr::file:///x.zip", "b")),
        ("zip::file:///x.zarr/b", None),
        ("zip://b/c::file:///x.zip", ("zip://::file:///x.zip", "b/c")),
        ("zip://b/c.zarr::file:///x.zip", None),
        ("/d/a.zarr/b::c", ("/d/a.zarr", "b::c")),
        (Path("/d/a.zarr/b::c"), ("/d/a.zarr", "b::c")),
        ("http://h/a.zarr/b::c/d", ("http://h/a.zarr", "b::c/d")),
        ("simplecache::http://h/a.zarr/b::c", ("simplecache::http://h/a.zarr", "b::c")),
        ("zip://in/a.zarr/b::c::file:///x.zip", ("zip://in/a.zarr::file:///x.zip", "b::c")),
        ("zip://in/a.zarr/b::/d/x.zip", ("zip://in/a.zarr::/d/x.zip", "b")),
        (
            "zip://in/a.zarr/b::simplecache::s3://bucket/x.zip",
            ("zip://in/a.zarr::simplecache::s3://bucket/x.zip", "b"),
        ),
    ],
)
def test_addresses_inside_of_a_store(address: Any, expected: tuple[str, str] | None) -> None:
    above = address_of(address, {}).above
    # The target is an absolute path; the name is the root as the user spelt it.
    assert (None if above is None else (above.name, above.path)) == expected


def document(**members: Any) -> bytes:
    return to_json({"zarr_format": 3, "node_type": "group", **members})


@rows(
    {
        "nothing": {},
        "page": {"zarr.json": b"<html>"},
        "array": {"zarr.json": document(node_type="array", shape=[1])},
        "unknown": {"zarr.json": document(node_type="folder")},
        "v2": {".zgroup": b'{"zarr_format": 2}', ".zattrs": b"{}"},
    },
    "above",
)
def test_the_address_is_the_store_if_the_root_has_no_group(above: Contents, tmp_path: Path) -> None:
    contents = product()
    address = write_local({**below(contents, "in"), **above}, tmp_path / "p.zarr") / "in"
    assert found(address, group="grid") == (str(address), "/grid")
    assert "time" in opened(xr.open_dataset, address, group="images/r60m").coords


@server
@pytest.mark.parametrize("status", [403, 404])
def test_a_root_that_a_server_refuses_is_ignored(status: int, http_server: FileServer) -> None:
    http_server.contents = below(product(consolidated=True), "p.zarr/in")
    http_server.faults[lambda request: not request.path.startswith("/p.zarr/in")] = Fault(status)
    address = f"{http_server.url}/p.zarr/in"
    assert found(address, group="images")[0] == address
    http_server.requests.clear()
    assert "time" in opened(xr.open_dataset, address, group="images/r60m").coords
    assert len(http_server.paths()) == len(set(http_server.paths()))


@each_way(ADDRESSES, (2, True), (3, True))
def test_stale_consolidated_metadata_of_the_root_are_ignored(
    way: Way, zarr_format: ZarrFormat, consolidated: bool, tmp_path: Path
) -> None:
    """Somebody appends to a group, or adds one, and nobody consolidates the root again."""
    longer = Group({"time": coordinate("time", [0.0, 1.0, 2.0, 3.0]), "v": Array(1.0)})
    daily = Group({"daily": Group({"time": coordinate("time", [0.0])})}, {"of": "all"})
    old = build(daily, zarr_format, consolidated=consolidated)
    groups = ("daily", "added") if way is http else ()
    new = build(Group({"daily": longer, "added": longer}), zarr_format, consolidated=groups)
    root = {key: content for key, content in old.items() if "/" not in key}
    expected = opened(xr.open_dataset, memory_store(build(longer, zarr_format)))
    with way({**new, **root}, tmp_path) as named:
        for group in ("daily", "added"):
            assert_same(opened(xr.open_dataset, named(group)), expected, encoding=False)


@server
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("missing", [403, 404])
def test_a_group_that_cannot_be_listed_has_the_consolidated_metadata_of_the_root(
    zarr_format: ZarrFormat, missing: int, http_server: FileServer
) -> None:
    contents = below(build(PRODUCT, zarr_format, consolidated=True), "p.zarr")
    http_server.contents = contents
    http_server.faults[lambda request: request.path.strip("/") not in contents] = Fault(missing)
    root = f"{http_server.url}/p.zarr"
    for function, group in ((xr.open_dataset, "images/r60m"), (xr.open_datatree, "images")):
        expected = opened(function, root, group=group)
        assert_same(opened(function, f"{root}/{group}"), expected, encoding=False)
    assert "time" in opened(xr.open_dataset, f"{root}/images", group="r60m").coords
    http_server.contents = below(build(PRODUCT, zarr_format), "p.zarr")
    with pytest.raises(XGroupStoreError, match="cannot be listed and has no consolidated metadata"):
        xr.open_dataset(f"{root}/images/r60m", engine="xgroup")


@pytest.mark.parametrize(
    "plant",
    [
        Path.write_bytes,
        lambda path, _content: os.mkfifo(path),
        lambda path, _content: path.symlink_to("/dev/zero"),
    ],
    ids=["group", "pipe", "endless"],
)
def test_nodes_above_an_address_are_not_requested(
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


@pytest.mark.skipif(not HAS_SYNC_FSSPEC, reason="zarr is too old")
def test_a_path_is_not_percent_decoded(tmp_path: Path) -> None:
    """As engine zarr has it; the URL that pathlib makes of a path says how to name it instead."""
    for name in ("a%2Fb.zarr", "a b.zarr"):
        root = write_local(product(), tmp_path / name)
        for address in (root / "images" / "r60m", f"file://{root}/images/r60m"):
            ours, theirs = opened(xr.open_dataset, address), oracle(xr.open_dataset, address)
            assert ours.attrs == theirs.attrs == {"note": "of the level"}
        for path in (root, root / "images"):
            with pytest.raises(XGroupStoreNotFoundError) as caught:
                xr.open_dataset(path.as_uri(), engine="xgroup")
            assert str(caught.value) == (
                f"The store {path.as_uri()} does not exist; local paths are not "
                f"percent-decoded: did you mean {str(path)!r}?"
            )


@rows(
    {
        "in the group": ({"node": "/g/sub/x"}, 1),
        "in a neighbour": ({"node": "../h/x"}, 2),
        "in the root": ({"node": "/x"}, 3),
        "in the archive": ({"uri": "file://{}", "node": "/h/x"}, 2),
        "in a group of the archive": ({"uri": "file://{}/h", "node": "/x"}, 2),
        "in the archive, as a chain": ({"uri": "zip::file://{}", "node": "/h/x"}, 2),
        "in a group of the archive, as a chain": ({"uri": "zip://h::file://{}", "node": "/x"}, 2),
    },
    "reference, value",
)
@pytest.mark.parametrize(
    ("form", "at"),
    [("{}/g", ""), ("zip://g::file://{}", ""), ("{}/in/p.zarr/g", "in/p.zarr")],
)
def test_references_from_a_group_in_an_archive(
    form: str, at: str, reference: dict[str, str], value: int, tmp_path: Path
) -> None:
    """The store is the archive, or the folder ``*.zarr`` in it: no other store is opened."""
    path = tmp_path / "p.zip"
    there = {key: text.format(path) for key, text in reference.items()}
    if at and "uri" in there:
        there = {"uri": f"zip://{at}::file://{path}", "node": "/h/x"}
    nodes: Nodes = {
        "": {"title": "of the archive"},
        "x": stored([3.0], "q"),
        "g": {},
        "g/a": stored([1.0], "q", **declaring("ref", there=there)),
        "g/sub": {},
        "g/sub/x": stored([1.0], "q"),
        "h": {},
        "h/x": stored([2.0], "q"),
    }
    contents = build(nodes)
    write_zip(below(contents, at) if at else contents, path)
    dataset = opened(xr.open_dataset, form.format(path), cross_store_max_stores=0)
    assert dataset["x"].values == [value]
    assert found(form.format(path))[1] == "/g"


# What stands for a URL.


def path_like(url: str, storage_options: Any) -> Any:
    """Return a path as universal_pathlib has them: no `os.PathLike`, with options of its own."""

    class RemotePath(SimpleNamespace):
        def __str__(self) -> str:
            return url

    return RemotePath(storage_options=storage_options, protocol="http", joinpath=None)


def asset(href: str, **extra: Any) -> Any:
    """Return an asset as pystac has them."""
    fields = {f"xarray:{name}": value for name, value in extra.items()}
    absolute = href if "://" in href else None
    return SimpleNamespace(href=href, extra_fields=fields, get_absolute_href=lambda: absolute)


@server
def test_a_path_or_an_asset_opens_by_its_url_with_its_options(http_server: FileServer) -> None:
    http_server.contents = below(product(consolidated=True), "p.zarr")
    url, group = f"{http_server.url}/p.zarr", {"group": "images/r60m"}
    access = {"client_kwargs": {"headers": {"Authorization": "mine"}}}
    for store, options in (
        (path_like(f"{url}/images/r60m", access), {}),
        (asset(url, storage_options=access, open_kwargs=group), {}),
        (asset(url, storage_options=access, open_kwargs={"group": "no"}), group),
        (asset(f"{url}/images/r60m"), {"storage_options": access}),
    ):
        http_server.requests.clear()
        given: Any = options
        assert "time" in opened(xr.open_dataset, store, **given).coords
        assert {it.headers["Authorization"] for it in http_server.requests} == {"mine"}
    assert found(asset(f"{url}/images", storage_options=access)) == (url, "/images")


def test_an_asset_does_not_allow_foreign_stores(root: Path) -> None:
    wrong = {"cross_store_timeout": "none", "engine": "zarr", "chunks": {}}
    opening = asset(f"{root}/images/r60m", open_kwargs=wrong)
    assert "time" in opened(xr.open_dataset, opening).coords


def test_assets_of_pystac_open_by_xpystac_and_without(root: Path) -> None:
    pystac = pytest.importorskip("pystac")
    xpystac = pytest.importorskip("xpystac.core")
    item = pystac.Asset(
        f"{root}/images/r60m",
        media_type="application/vnd+zarr",
        extra_fields={"xarray:open_kwargs": {"engine": "xgroup", "chunks": {}}},
    )
    whole = opened(xr.open_dataset, root, group="images/r60m")
    assert_same(opened(xr.open_dataset, item), whole, encoding=False)
    by_xpystac = xpystac.to_xarray(item)
    assert by_xpystac.chunks
    assert_same(by_xpystac.compute(), whole.compute(), encoding=False)


# What is named and cannot be opened as it is.


# fmt: off
# fmt: on


def test_a_missing_group_is_reported_with_existing_ones(root: Path) -> None:
    similar = "; did you mean '/images/r60m'?"
    near = "; existing groups: /images, /images/axes, /images/r60m"
    array = "is an array, not a group: open the group '/images/r60m' and take its variable 'b'"
    within = zarr.open_group(root, path="images", mode="r")
    for store, group, expected in (
        (root / "images" / "r10m", "", f"There is no group '/images/r10m' in {root}{similar}"),
        (within, "other", f"There is no group '/images/other' in file://{root}{near}"),
        (root, "images/r60m/b", f"'/images/r60m/b' in {root} {array}"),
        (root / "images", "r60m/b", f"'/images/r60m/b' in {root} {array}"),
    ):
        with pytest.raises(XGroupGroupError) as caught:
            quietly(xr.open_dataset, store, engine="xgroup", group=group)
        assert str(caught.value) == expected


#: A missing group, and the group whose path is similar in each segment.
SIMILAR = {
    "image/r60m": "/images/r60m",
    "images/r60": "/images/r60m",
    "Images/R60m": "/images/r60m",
    "imagse": "/images",
    "r60m": "/images/r60m",
    "ones/two": "/deep/ones/two",
    "deep/two": "/deep/ones/two",
    "deep/one/two": "/deep/ones/two",
    "deep/one/three": "",
    "image/other": "",
    "other/r60m": "",
}


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize(("group", "similar"), SIMILAR.items())
def test_a_missing_group_names_the_one_with_a_similar_path(
    group: str, similar: str, consolidated: bool
) -> None:
    some = Group({"v": stored(np.ones(2), "x")})
    deep = Group({"on": some, "ones": Group({"two": some})})
    root = Group({"images": Group({"r60m": some, "axes": some}), "image2": some, "deep": deep})
    store: Any = memory_store(build(root, consolidated=consolidated))
    with pytest.raises(XGroupGroupError) as caught:
        xr.open_dataset(store, engine="xgroup", group=group)
    suggested = re.search(r"did you mean '(.*)'", str(caught.value))
    assert (suggested[1] if suggested else "") == similar


@pytest.mark.parametrize(("zarr_format", "consolidated"), [(2, True), (3, False)])
def test_a_group_without_arrays_names_groups_with_arrays(
    zarr_format: ZarrFormat, consolidated: bool
) -> None:
    some = Group({"v": stored(np.ones(2), "x")})
    many = Group({f"g{number}": some for number in range(9)})
    root = Group({"a": Group({"deep": some, "none": Group()}), "b": some, "many": many})
    store = memory_store(build(root, zarr_format, consolidated=consolidated))

    def told(group: str, function: Any = xr.open_dataset) -> list[Any]:
        given = recorded(function, store, engine="xgroup", group=group)[1]
        return [it.paths for it in given if isinstance(it, XGroupEmptyGroupWarning)]

    assert told("a") == [("/a/deep",)]
    assert told("a/none") == told("a", xr.open_datatree) == []
    assert told("many") == [tuple(f"/many/g{number}" for number in range(8))]


def test_the_search_in_a_tree_of_empty_groups_is_limited() -> None:
    wide = Group({f"g{number:04}": Group({"in": Group()}) for number in range(300)})
    store = recording_store(build(wide))
    assert recorded(xr.open_dataset, store, engine="xgroup")[1] == []
    assert len(store.listed) <= 301
