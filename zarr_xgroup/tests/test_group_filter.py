"""Part of a tree: the groups that `group_filter` opens, reads, warns about, explains and checks."""

import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import XGroupEmptyGroupWarning, XGroupGroupError, XGroupStoreError
from zarr_xgroup.tests.builders import (
    Contents,
    Group,
    Nodes,
    ZarrFormat,
    assert_same,
    build,
    consolidate,
    coordinate,
    declaring,
    edit,
    memory_store,
    opened,
    quietly,
    recorded,
    recording_store,
    stored,
    update,
    without,
    write_local,
)
from zarr_xgroup.tests.tables import brief, rows, store_of

PATHS = ("A", "A/r10m", "a", "a/r10m", "a/r10m/a", "a/r20m", "b", "b/r10m", "r10m", "x*y", "xzy")
#: Patterns, and the groups that are opened besides the root.
PATTERNS = {
    "the end of a path": ("a/r10m", "a a/r10m"),
    "a name anywhere": ("r10m", "A A/r10m a a/r10m b b/r10m r10m"),
    "the root is not a name of a path": ("*/r10m", "A A/r10m a a/r10m b b/r10m"),
    "more names than a path has": ("*/*/*", "a a/r10m a/r10m/a"),
    "the whole path": ("/a", "a"),
    "the whole path with a wildcard": ("/*/r20m", "a a/r20m"),
    "a wildcard does not match a slash": ("/*", "A a b r10m x*y xzy"),
    "a set of letters does not match a slash": ("a[!x]r10m", ""),
    "two stars are one": ("**/r20m", "a a/r20m"),
    "groups below a match are left out": ("/a/r10m", "a a/r10m"),
    "a question mark is one letter": ("/?", "A a b"),
    "letters in brackets": ("/[ab]/r?0m", "a a/r10m a/r20m b b/r10m"),
    "brackets escape": ("x[*]y", "x*y"),
    "a star matches itself, too": ("x*y", "x*y xzy"),
    "a bracket that is not closed": ("[", ""),
    "upper case": ("A/*", "A A/r10m"),
    "slashes and dots that mean nothing": ("/a//./r20m/", "a a/r20m"),
    "two slashes are a different root": ("//a", ""),
    "dots that refer upwards": ("a/../b", ""),
    "the root never matches": ("/", ""),
}


@rows(PATTERNS, "pattern, expected")
def test_paths_match_as_in_a_data_tree(pattern: str, expected: str) -> None:
    store = store_of({path: {} for path in ("", *PATHS)})
    groups = quietly(xr.open_groups, store, engine="xgroup", group_filter=pattern)
    assert sorted(groups) == sorted(["/", *(f"/{path}" for path in expected.split())])
    if sys.version_info >= (3, 13):  # `match` of earlier versions differs
        matching = {path for path in PATHS if PurePosixPath("/", path).match(pattern)}
        above = {str(it) for path in matching for it in PurePosixPath(path).parents}
        assert {*expected.split()} == (matching | above) - {"."}


# What is opened.


def times(epoch: str) -> Any:
    """Return an array whose axis is `/time`, with the times that it declares for it."""
    item = {"time": {"unit": "days", "epoch": epoch}, "values": {"external": {"node": "/time"}}}
    axes = {"time": {"abbreviation": "T", "coordinates": [item]}}
    return stored([1, 2], "time", **declaring("cs", cs={"crs": [{"axes": axes}]}))


V = stored([1.0, 2.0], "x")
BROKEN = stored([1.0, 2.0], "x", **declaring("spatial", **{"spatial:transform": "no"}))
GROUPS = ("", "a", "a/r", "a/s", "b")
TIMES: Nodes = {
    "": {},
    "time": stored([1, 2], "time"),
    "a": {},
    "a/v": times("2000-01-01"),
    "b": {},
    "b/v": times("1970-01-01"),
}
EMPTY = build({path: {} for path in GROUPS})


def in_each_group(array: Any) -> Nodes:
    return {path: {} for path in GROUPS} | {f"{path}/v".strip("/"): array for path in GROUPS}


#: Stores, filters, the opened tree and the arrays and groups that warnings name.
PARTS: dict[str, tuple[Any, str, str]] = {
    "the root and the groups above a match have their variables": (
        in_each_group(V), "*/r", "/:; v (x); /a:; v (x); /a/r:; v (x)"),
    "the root and the groups above a match are warned about": (
        in_each_group(BROKEN), "*/r", "/:; v (x); /a:; v (x); /a/r:; v (x); ! Resolution /v, /a/v, /a/r/v"),
    "the root alone if nothing matches": (in_each_group(BROKEN), "no", "/:; v (x); ! Resolution /v"),
    "opened arrays alone decide about times": (
        TIMES, "a", "/:; time (time) 2000-01-02 2000-01-03 | axis=T standard_name=time; /a:; v (time)"),
    "a broken group in the root": ({**EMPTY, "b/zarr.json": b"{"}, "*/r", "/:; /a:; /a/r:; ! Metadata /b"),
    "a broken group in the root that cannot match": (
        {**EMPTY, "b/zarr.json": b"{"}, "/a/r", "/:; /a:; /a/r:; ! Metadata /b"),
    "a broken sibling of a match": ({**EMPTY, "a/s/zarr.json": b"{"}, "*/r", "/:; /a:; /a/r:; ! Metadata /a/s"),
    "a broken group that would match": ({**EMPTY, "a/r/zarr.json": b"{"}, "*/r", "/:; ! Metadata /a/r"),
    "a broken group in a group that is not opened": (
        {**EMPTY, "a/r/zarr.json": b"{"}, "/b", "/:; /b:"),
}  # fmt: skip


@rows(PARTS, "nodes, pattern, expected")
@pytest.mark.parametrize("consolidated", [False, True])
def test_part_of_a_tree(nodes: Any, pattern: str, expected: str, consolidated: bool) -> None:
    contents = nodes if "zarr.json" in nodes else build(nodes)
    if consolidated:
        broken = {key for key, content in contents.items() if content == b"{"}
        contents = consolidate(contents | dict.fromkeys(broken, b"1"))
    assert brief(contents, function=xr.open_datatree, group_filter=pattern) == expected


def test_a_group_that_cannot_be_listed_raises_an_error() -> None:
    store = recording_store(EMPTY)
    store.unlistable["a"] = PermissionError("no")
    for pattern in ("*/r", "a"):
        with pytest.raises(XGroupStoreError, match="The members of group '/a' cannot be found"):
            opened(xr.open_datatree, store, group_filter=pattern)


def archive(years: int = 20) -> Group:
    """Return an archive: for each year, two groups with an image that refers to the group `axes`."""
    axes = {"x": {"coordinates": [{"values": {"external": {"node": "/axes/x"}}}]}}
    attributes = declaring("cs", cs={"crs": [{"axes": axes}]})
    image = Group({"image": stored(np.zeros(2), "x", **attributes)})
    members = {f"y{n:03}": Group({"r10m": image, "r20m": image}) for n in range(years)}
    return Group({"axes": Group({"x": coordinate("x", [1.0, 2.0])}), **members})


@pytest.mark.parametrize(("zarr_format", "consolidated"), [(2, True), (3, False)])
def test_the_groups_are_those_of_the_whole_tree(
    zarr_format: ZarrFormat, consolidated: bool
) -> None:
    store: Any = memory_store(build(archive(3), zarr_format, consolidated=consolidated))
    whole = opened(xr.open_datatree, store)
    for pattern in ("*/r10m", "/y00[01]/*", "axes"):
        tree = opened(xr.open_datatree, store, group_filter=pattern)
        groups = opened(xr.open_groups, store, group_filter=pattern)
        assert [*tree.groups] == [*groups] == [it for it in whole.groups if it in groups]
        for path, dataset in groups.items():
            assert_same(tree[path].to_dataset(), whole[path].to_dataset())
            assert_same(dataset, opened(xr.open_dataset, store, group=path))
        assert opened(xr.open_datatree, store, group="/", group_filter=pattern).identical(tree)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_only_opened_groups_and_their_references_are_read(zarr_format: ZarrFormat) -> None:
    store = recording_store(build(archive(), zarr_format))
    opened(xr.open_datatree, store, group_filter="/y00?/r10m")
    nodes = {key.rpartition("/")[0] for key in store.metadata_gets}
    years = {f"y00{number}" for number in range(10)}
    members = {f"y{number:03}" for number in range(20)} | {f"{year}/r20m" for year in years}
    matching = {f"{year}/r10m{name}" for year in years for name in ("", "/image")}
    assert nodes == {"", "axes", "axes/x", *members, *matching}
    assert max(store.metadata_gets.values()) == 1
    listed = {path.strip("/") for path in store.listed}
    assert listed <= {"", *years, *(f"{year}/r10m" for year in years)}


def test_a_pattern_is_relative_to_the_opened_group(tmp_path: Path) -> None:
    address = write_local(build(archive(2)), tmp_path / "p.zarr") / "y001"
    assert opened(xr.open_datatree, address, group_filter="/r10m").groups == ("/", "/r10m")
    _tree, (warning,) = recorded(xr.open_datatree, address, engine="xgroup", group_filter="/r1Om")
    assert isinstance(warning, XGroupEmptyGroupWarning)
    assert warning.paths == ("/y001/r10m", "/y001/r20m")
    assert str(warning).endswith("the nearest groups are: /r10m, /r20m")


def test_nearest_groups_are_named_if_nothing_matches() -> None:
    store: Any = store_of(archive(3))
    entrypoint = zarr_xgroup.XGroupBackendEntrypoint()
    for function in (
        *(entrypoint.open_datatree, entrypoint.open_groups_as_dict),
        *(zarr_xgroup.explain, zarr_xgroup.check),
    ):
        _result, (warning,) = recorded(function, store, group_filter="/y00?/r1Om")
        assert isinstance(warning, XGroupEmptyGroupWarning)
        assert "/y00?/r1Om" in str(warning)
        assert {"/y000", "/y001", "/y002"} <= set(warning.paths)


# Reports.


def test_reports_are_about_the_opened_groups() -> None:
    store: Any = store_of(in_each_group(BROKEN), consolidated=True)
    explanation = zarr_xgroup.explain(store, group_filter="*/r")
    assert [group.path for group in explanation.groups] == ["/", "/a", "/a/r"]
    arrays = {array.path for group in explanation.groups for array in group.arrays}
    (problem,) = explanation.problems
    assert {*problem.arrays} == arrays == {"/v", "/a/v", "/a/r/v"}
    for mistake in zarr_xgroup.check(store, group_filter="*/r").mistakes:
        assert {place.node for place in mistake.places} == arrays


def test_check_says_nothing_is_declared_if_only_other_groups_declare() -> None:
    store: Any = store_of({"": {}, "a": {}, "b": {}, "b/v": BROKEN}, consolidated=True)
    assert zarr_xgroup.check(store).is_declared
    assert not zarr_xgroup.check(store, group_filter="a").is_declared


@pytest.mark.parametrize("can_list", [True, False])
def test_check_compares_consolidated_metadata_of_the_opened_groups(can_list: bool) -> None:
    contents = consolidate(build(in_each_group(V)))
    keys = [f"{path}/zarr.json" for path in ("a", "a/r/v", "b/v")]
    newer: Contents = dict(contents)
    for key in keys:
        newer[key] = edit({key: contents[key]}, key, update(attributes={"title": "newer"}))[key]
    store = recording_store(
        without(newer, "a/s/v") | {"a/r/new/zarr.json": contents["b/zarr.json"]}
    )
    if not can_list:
        store.unlistable["*"] = NotImplementedError()  # as plain HTTP
    mistakes = zarr_xgroup.check(store, group_filter="*/r").mistakes
    found = [it for it in mistakes if it.rule.name.startswith("consolidated/")]
    nodes = {place.node for it in found for place in (it.place, *it.places)}
    assert nodes == {"/a", "/a/r/v"} | ({"/a/r/new"} if can_list else set())
    assert {key for key in store.metadata_gets if key.startswith(("b/", "a/s/"))} <= {
        *("b/zarr.json", "a/s/zarr.json")
    }


# What is refused.


ENTRYPOINT = zarr_xgroup.XGroupBackendEntrypoint()
OF_TREES = (
    ENTRYPOINT.open_datatree,
    ENTRYPOINT.open_groups_as_dict,
    zarr_xgroup.explain,
    zarr_xgroup.check,
)
OF_GROUPS = (ENTRYPOINT.open_dataset, zarr_xgroup.levels)
REFUSED: dict[str, tuple[Iterable[Any], dict[str, Any], type[Exception], str]] = {
    "a group": (OF_TREES, {"group": "a", "group_filter": "r"}, ValueError, "group='a'"),
    "a resolution": (OF_TREES, {"resolution": 10, "group_filter": "r"}, ValueError, "resolution"),
    "nothing": (OF_TREES, {"group_filter": ""}, ValueError, "empty"),
    "no name": (OF_TREES, {"group_filter": "./."}, ValueError, "empty"),
    "no text": (OF_TREES, {"group_filter": ["a"]}, TypeError, "'*/r10m'"),
    "one group": (OF_GROUPS, {"group_filter": "a"}, TypeError, "open_datatree"),
    "a pattern as group": (
        (*OF_TREES, *OF_GROUPS), {"group": "*/r"}, XGroupGroupError, "There is no group '/*/r'"),
    "a pattern as group of a pyramid": (
        (*OF_TREES, ENTRYPOINT.open_dataset), {"group": "/a/[r]", "resolution": 10}, XGroupGroupError, "use group_filter"),
}  # fmt: skip


@rows(REFUSED, "functions, options, kind, text")
def test_an_option_that_is_refused(
    functions: Iterable[Any], options: dict[str, Any], kind: type[Exception], text: str
) -> None:
    store: Any = recording_store(EMPTY)
    for function in functions:
        with pytest.raises(kind) as caught:
            function(store, **options)
        assert type(caught.value) is kind
        assert text in str(caught.value)
        assert "group_filter" in str(caught.value)
        assert kind is XGroupGroupError or not store.gets


def test_a_group_is_never_a_pattern() -> None:
    store: Any = store_of({"": {}, "a?": {}, "a?/b": {}, "a?/t": V, "ab": {}, "ab/t": V})
    assert quietly(xr.open_datatree, store, engine="xgroup", group="a?").groups == ("/", "/b")
    assert "t" in quietly(xr.open_dataset, store, engine="xgroup", group="a?")
    for group in ("a[b]", "a*", "b"):
        with pytest.raises(XGroupGroupError) as caught:
            quietly(xr.open_datatree, store, engine="xgroup", group=group)
        assert ("group_filter" in str(caught.value)) == (group != "b")
