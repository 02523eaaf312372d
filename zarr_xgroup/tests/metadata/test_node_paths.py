"""Paths of nodes, and invalid names, which a server might interpret as a path out of the store."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import ZipStore

from zarr_xgroup import XGroupError, XGroupPathError
from zarr_xgroup.metadata.paths import (
    is_node_name,
    is_node_path,
    is_plain_name,
    normalize_path,
)
from zarr_xgroup.storage import handles
from zarr_xgroup.tests.builders import (
    HAS_SYNC_FSSPEC,
    Array,
    Contents,
    Group,
    Json,
    build,
    compare,
    consolidate,
    declaring,
    edit,
    memory_store,
    opened_with_warnings,
    recording_store,
    write_fsspec_memory,
    write_local,
    write_zip,
)
from zarr_xgroup.tests.servers import FileServer

#: Segments that some server takes for ``..``, or that are several to one, but to no disk.
LEAVING = [
    *("%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "%25252e%2525252e", "%2e"),
    *("..%2Fx", "x%2f..", "x%2Fy", "x%252Fy", "..%5Cx", "x%5cy", "..\\x", "x\\..\\y", ".\\."),
    *("..;", "..;a=b", "%2e%2e;a", "..%3Ba", "%" + "25" * 40 + "2e"),
]


@pytest.mark.parametrize("segment", ["", ".", "..", *LEAVING])
def test_names_of_no_node(segment: str) -> None:
    is_dots = segment in ("", ".", "..")
    assert not is_node_name(segment)
    assert not is_node_path(f"a/{segment}")
    assert is_plain_name(segment) is is_node_path(f"a/{segment}", is_served=False) is not is_dots
    if segment:
        text = "are not allowed" if is_dots else "may interpret it as a different path"
        with pytest.raises(XGroupPathError, match=text):
            normalize_path(f"a/{segment}/b")
    if not is_dots:
        assert normalize_path(f"/a/{segment}", is_served=False) == f"a/{segment}"


@pytest.mark.parametrize(
    "name", ["...", "50%", "%", "%zz", "a%20b", "a\\b", "a;b", "a..", ";", "%2e%2ex"]
)
def test_names_of_nodes(name: str) -> None:
    assert is_node_name(name)
    assert normalize_path(f"/a//{name}/") == f"a/{name}"


@given(st.lists(st.sampled_from([".", "%", "2", "5", "e", "E", "F", "/", "\\", "5c", "a", ";"])))
def test_a_node_name_stays_one_after_repeated_unquoting(parts: list[str]) -> None:
    name = "".join(parts)
    if is_node_name(name):
        for _time in range(20):
            assert name not in ("", ".", "..")
            assert "/" not in name
            name = unquote(name)


# Stores of servers.


def leaves(key: str) -> bool:
    """Tell whether a key can lead out of the store it is asked of."""
    for _time in range(100):
        key = unquote(key)
    segments = key.replace("\\", "/").split("/")
    return any(segment.partition(";")[0] in ("..", ".") for segment in segments)


def referring(node: str) -> Json:
    """Return attributes of an array with a path in `cs` and in an attribute of CF."""
    axis = {"coordinates": [{"values": {"external": {"node": node}}}]}
    return declaring("cs", cs={"crs": [{"axes": {"x": axis}}]}, ancillary_variables=node)


def stores(segment: str) -> Iterator[tuple[Contents, Json]]:
    """Yield stores that lead to a node of such a path, and how each is opened."""
    x = Array([1.0, 2.0], ("x",))
    for node in (f"/{segment}/x", f"g/{segment}", f"../{segment}/x"):
        grid = {"f": Array([1.0, 2.0], ("x",), referring(node))}
        yield build(Group({**grid, "g": Group(grid)})), {}
    plain = build(Group({"x": x, "g": Group({"x": x})}))
    yield plain, {"group": f"g/{segment}"}

    def lying(document: Any) -> Any:
        nodes = document["consolidated_metadata"]["metadata"]
        nodes[f"{segment}/x"] = nodes[f"g/{segment}"] = nodes["x"]
        return document

    yield edit(consolidate(plain), "zarr.json", lying), {}


@pytest.mark.parametrize("segment", LEAVING)
def test_no_store_on_a_server_is_requested_for_unsafe_names(
    segment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handles, "_LOCAL_STORES", ())
    for contents, options in stores(segment):
        store = recording_store(contents)
        function = xr.open_dataset if options else xr.open_datatree
        with suppress(XGroupError):
            opened, _told = opened_with_warnings(function, store, **options)
            opened.load()
        assert store.gets or options
        assert not [key for key in (*store.gets, *store.listed) if leaves(key)]


def test_paths_outside_of_the_store_are_not_requested(http_server: FileServer) -> None:
    f = Array([1.0, 2.0], ("x",), referring("/%2e%2e/private.zarr/x"))
    public = Group({"f": f, "a%2Fb": Group(), "a": Group()})
    private = Group({"x": Array([3.0, 4.0], ("x",))})
    for name, members in (("public", public), ("private", private)):
        contents = consolidate(build(members))
        http_server.contents.update({f"{name}.zarr/{key}": it for key, it in contents.items()})
    url = f"{http_server.url}/public.zarr"
    _dataset, told = opened_with_warnings(xr.open_dataset, url)
    assert XGroupPathError in [type(warning.error) for warning in told]
    with pytest.raises(XGroupPathError, match="a server may interpret it as a different path"):
        xr.open_dataset(url, engine="xgroup", group="a%2Fb")
    assert all(path.startswith("/public.zarr/") for path in http_server.paths())
    assert not [path for path in http_server.paths() if leaves(path) or "%2" in path]


@pytest.mark.parametrize("name", ["%2e%2e", "a%2Fb", "x%5cy", "..;"])
def test_names_in_stores_without_a_server_are_unchanged(tmp_path: Path, name: str) -> None:
    contents = build(Group({name: Array([1.0], ("x",)), "g": Group({name: Group()})}))
    for store in (
        memory_store(contents),
        write_local(contents, tmp_path / "local.zarr"),
        ZipStore(write_zip(contents, tmp_path / "store.zip"), mode="r"),
        *([write_fsspec_memory(contents, "names")] if HAS_SYNC_FSSPEC else []),
    ):
        assert name in compare(xr.open_dataset, store).variables
        tree = opened_with_warnings(xr.open_datatree, store)[0]
        assert f"/g/{name}" in tree.groups
