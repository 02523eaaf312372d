"""Parts of a tree, by a pattern in place of the path of a group."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupEmptyGroupWarning, XGroupGroupError, check, explain
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    assert_same,
    build,
    coordinate,
    declaring,
    memory_store,
    quietly,
    recorded,
    recording_store,
    stored,
)

PATTERNS = (
    *("*", "/*", "*/*", "/*/*", "*/*/*", "?*", "[!m]*", "*m", "zz*", "**/r10m"),
    *("*/r10m", "*/r?0m", "*/*/r[12]0m", "/measurements/*/r60m", "/quality/*", "measurements/*"),
    *("*geometry*", "*/mask/*", "*VV*", "/*VH*/conditions/*", "*/*/r20m/?*"),
)

#: What a user would write for each product, and how many groups that is.
WANTED = {
    "sentinel1_grd_eopf_v2": "*/gcp",
    "sentinel2_l1c_eopf_v2": "*/reflectance/r10m",
    "sentinel2_l1c_geozarr_v3": "*/reflectance/r10m",
}


def assert_lawful(store: Any, pattern: str, whole: xr.DataTree) -> xr.DataTree:
    """Assert that what a pattern opens is the whole tree with the other nodes left out."""
    part, left = quietly(open_part, store, pattern), whole.match(pattern)
    assert part.groups == left.groups
    part.encoding = left.encoding = {}
    assert_same(part, left, values=False)
    groups = quietly(xr.open_groups, store, engine="xgroup", group=pattern)
    assert sorted(groups) == sorted(part.groups)
    return part


def open_part(store: Any, group: str, **options: Any) -> xr.DataTree:
    return xr.open_datatree(store, engine="xgroup", group=group, **options)


def random_group(random: Random, depth: int = 2) -> Group:
    """Return a group with arrays along dimensions of its parents and others, some referring to a group elsewhere."""
    size = random.choice((2, 2, 2, 3))
    members: dict[str, Array | Group] = {"data": stored(np.zeros((size, 2)), "x y")}
    if random.random() < 0.5:
        members["x"] = coordinate("x", np.arange(float(size)) * random.choice((1, 1, 1, 10)))
    if random.random() < 0.3:
        values = {"external": {"node": "/far/z"}}
        axis = {"coordinates": [{"values": values}]}
        attributes = declaring("cs", cs={"crs": [{"axes": {"z": axis}}]})
        members["profile"] = Array(np.zeros(4), ("z",), attributes)
    for name in random.sample(("a", "b", "r10m", "r20m", "m?"), depth and random.randint(1, 3)):
        members[name] = random_group(random, depth - 1)
    return Group(members, {"title": str(random.random())})


@pytest.mark.parametrize("name", products.PRODUCTS)
def test_part_of_a_product(name: str, tmp_path: Path) -> None:
    """Twenty patterns, and among them what a user would write."""
    store = products.write(name, tmp_path / "product.zarr")
    whole = quietly(xr.open_datatree, store, engine="xgroup")
    for pattern in PATTERNS:
        assert_lawful(store, pattern, whole)
    part = assert_lawful(store, WANTED[name], whole)
    groups = [node for node in part.subtree if node.has_data]
    assert groups
    assert all(node.coords for node in groups)


@pytest.mark.parametrize("seed", range(8))
def test_part_of_a_random_tree(seed: int) -> None:
    random = Random(seed)
    root = random_group(random)
    members = {**root.members, "far": Group({"z": coordinate("z", np.arange(4.0))})}
    contents = build(Group(members), random.choice((2, 3)), consolidated=random.random() < 0.5)
    store = memory_store(contents)
    whole = quietly(xr.open_datatree, store, engine="xgroup")
    for pattern in ("*", "/*", "*/*", "/*/*", "*m", "*/r10m", "[ab]/*", "/a/*", "zz*"):
        assert_lawful(store, pattern, whole)


def archive(groups: int = 200) -> Group:
    """Return the years of an archive, of each an image that is wanted, and a level that is not."""
    axis = {"coordinates": [{"values": {"external": {"node": "/axes/x"}}}]}
    attributes = declaring("cs", cs={"crs": [{"axes": {"x": axis}}]})
    image = Array(np.zeros(2), ("x",), attributes)
    year = Group({"r10m": Group({"image": image}), "r20m": Group({"image": image})})
    years = {f"y{number:03}": year for number in range(groups // 3)}
    return Group({"axes": Group({"x": coordinate("x", [1.0, 2.0])}), **years})


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_only_documents_of_these_groups_are_read(zarr_format: Any) -> None:
    contents = build(archive(), zarr_format, consolidated=True)
    store = recording_store(contents)
    open_part(store, "*/r10m")
    assert {key for key in store.metadata_gets if "/" in key} == set()
    assert set(store.listed) <= {""}  # as whoever opens the whole store asks

    store = recording_store(build(archive(), zarr_format))
    open_part(store, "/y00?/r10m")
    nodes = {key.rpartition("/")[0] for key in store.metadata_gets}
    years = {f"y00{number}" for number in range(10)}
    siblings = {f"y{number:03}" for number in range(66)} | {f"{year}/r20m" for year in years}
    wanted = {f"{year}/r10m{name}" for year in years for name in ("", "/image")}
    assert nodes == {"", "axes", "axes/x", *siblings, *wanted, "y00?/r10m"}
    assert max(store.metadata_gets.values()) == 1
    listed = {path.strip("/") for path in store.listed}
    assert listed <= {"", *years, *(f"{year}/r10m" for year in years)}


def test_groups_are_named_that_are_near_where_nothing_matches() -> None:
    store = memory_store(build(archive(9)))
    tree, told = recorded(open_part, store, "/y00?/r1Om")
    assert tree.groups == ("/",)
    (warning,) = told
    assert isinstance(warning, XGroupEmptyGroupWarning)
    assert "/y00?/r1Om" in str(warning)
    assert warning.paths
    assert {"/y000", "/y001", "/y002"} <= set(warning.paths)
    for function in (explain, check):
        assert [type(it) for it in recorded(function, store, group="*/r1Om")[1]] == [type(warning)]


def test_a_group_that_is_called_so_is_meant() -> None:
    field = stored(np.zeros(2), "x")
    store = memory_store(
        build({"": {}, "a?": {}, "a?/b": {}, "a?/t": field, "ab": {}, "ab/t": field})
    )
    assert quietly(open_part, store, "a?").groups == ("/", "/b")
    assert "t" in quietly(xr.open_dataset, store, engine="xgroup", group="a?")
    assert quietly(open_part, store, "a[b]").groups == ("/", "/ab")


def test_a_pattern_is_relative_to_what_is_named(tmp_path: Path) -> None:
    store = products.write("sentinel2_l1c_geozarr_v3", tmp_path / "product.zarr")
    tree = quietly(open_part, store / "measurements", "/*/r10m")
    assert "/reflectance/r10m" in tree.groups
    assert tree["/reflectance"].has_data is False


@pytest.mark.parametrize(
    ("function", "options", "error"),
    [
        (open_part, {"group": "*/r10m", "resolution": 10}, ValueError),
        (xr.open_dataset, {"engine": "xgroup", "group": "*/r10m"}, XGroupGroupError),
    ],
)
def test_what_a_pattern_is_not_for(function: Any, options: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="r10m"):
        function(memory_store(build(archive(9))), **options)


def test_reports_are_of_what_matches() -> None:
    wrong = Array(np.zeros(2), ("x",), declaring("spatial", **{"spatial:transform": "no"}))
    root = Group({"a": Group({"r10m": Group({"t": wrong}), "t": wrong}), "t": wrong})
    for consolidated in (True, False):
        store = memory_store(build(root, consolidated=consolidated))
        explanation = quietly(explain, store, group="*/r10m")
        assert [group.path for group in explanation.groups] == ["/", "/a", "/a/r10m"]
        arrays = [array.path for group in explanation.groups for array in group.arrays]
        assert arrays == ["/a/r10m/t"]
        assert "r10m" in repr(explanation)
        mistakes = quietly(check, store, group="*/r10m").mistakes
        assert {it.place.node for it in mistakes} == {"/a/r10m/t"}
        told = recorded(open_part, store, "*/r10m")[1]
        assert {path for it in told for path in getattr(it, "paths", ())} == {"/a/r10m/t"}
