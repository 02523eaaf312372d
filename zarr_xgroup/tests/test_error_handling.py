"""Mistakes in stores: what an open tells of them and gives all the same, and how it is told."""

from __future__ import annotations

import json
import pickle
import re
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest
import xarray as xr
import zarr

import zarr_xgroup
from zarr_xgroup import (
    XGroupDimensionWarning,
    XGroupEmptyGroupWarning,
    XGroupError,
    XGroupGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupNameWarning,
    XGroupNoPrincipalWarning,
    XGroupPathError,
    XGroupPluginWarning,
    XGroupReferenceError,
    XGroupResolutionWarning,
    XGroupStoreError,
    XGroupStoreNotFoundError,
    XGroupWarning,
    errors,
)
from zarr_xgroup.conventions import ConventionHandler, register
from zarr_xgroup.findings import Place, Topic, as_warnings, report
from zarr_xgroup.redaction import printable
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    UUIDS,
    Array,
    Group,
    Json,
    Nodes,
    Open,
    ZarrFormat,
    build,
    declaring,
    edit,
    memory_store,
    opened_with_warnings,
    recorded,
    stored,
    update,
    write_local,
)
from zarr_xgroup.tests.documents import STORES, committed
from zarr_xgroup.tests.tables import check, outcome, rows, store_of

T = TypeVar("T")

FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_groups, xr.open_datatree)
each_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda it: it.__name__)


def v(*dims: str, **attrs: Any) -> Array:
    """Return an array of two values along each dimension, by default along `x`."""
    value: Any = 1.0
    for _dim in dims or ("x",):
        value = [value, value]
    return stored(value, dims or ("x",), **attrs)


def cs(axes: Json, **attrs: Any) -> Json:
    """Return the attributes of an array with a coordinate reference system of these axes."""
    return declaring("cs", "ref", cs={"crs": [{"axes": axes}]}, **attrs)


def external(node: str, **more: str) -> Json:
    return {"coordinates": [{"values": {"external": {"node": node, **more}}}]}


# A store in which almost every array is at fault.

BROKEN_REFS = STORES / "broken_refs.zarr"


class OtherHandler(ConventionHandler):
    """Handles the convention that an array of the store declares beside `cs`."""

    tier = "principal"
    name = "other"
    uuid = "00000000-0000-4000-8000-000000000001"

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        return {"from_other": xr.Variable((), 1)}


@pytest.mark.parametrize(
    ("function", "form"),
    [(xr.open_datatree, (3, False)), (xr.open_groups, (2, True))],
    ids=["tree-v3", "groups-v2-consolidated"],
)
def test_each_fault_of_a_store_costs_what_it_is_about_and_one_warning(
    function: Open, form: tuple[ZarrFormat, bool], tmp_path: Path
) -> None:
    register(OtherHandler)
    expected = BROKEN_REFS.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    folder = committed("broken_refs", tmp_path / "broken_refs.zarr", form)
    found = outcome(folder, function=function)[1]
    if form != (3, False):
        found = [
            line.replace("not in the consolidated metadata", "not found in store") for line in found
        ]
        found = [line.partition("; if the store is newer")[0] for line in found]
    # Versions of zarr say in two ways that there is no store.
    absent = re.compile(r"(/no/such/store.zarr cannot be opened: not found).*")
    assert [absent.sub(r"\1", line) for line in found] == expected


def test_times_that_nobody_decodes_are_not_told_of() -> None:
    dataset, given = opened_with_warnings(
        xr.open_dataset, BROKEN_REFS, group="times", decode_times=False
    )
    assert {type(warning) for warning in given} == {XGroupResolutionWarning}
    years = {"units": "years since 2000-01-01 00:00:00", "standard_name": "time"}
    assert dataset["x_years"].attrs == years


# A table of mistakes.


def edited(nodes: Nodes, changes: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the contents of a store, the documents of some nodes of which are changed."""
    contents = build(nodes)
    for path, change in changes.items():
        contents = edit(contents, f"{path}/zarr.json", change)
    return contents


def groups(*names: str, **members: Array) -> Nodes:
    """Return groups that have the same members."""
    return {name: Group(members) for name in names}


TARGETS: Nodes = {
    "": {},
    "v": v(**declaring("ref", one={"node": "a/x"}, two={"node": "b/x"}, three={"node": "c/x"})),
    **groups("a", "b", "c", x=v()),
}
SHARED = declaring("cs", cs={"crs": [{"node": "/", "attribute": "/attributes/crs/broken"}]})
TWICE = declaring("ref", one={"node": "lost"}, two={"node": "lost"})
#: A store -> what it opens as in a tree.
MISTAKES: dict[str, tuple[Any, str]] = {
    "targets that cannot be used": (
        edited(
            TARGETS,
            {
                "a/x": b"{",
                "b/x": update(shape="x"),
                "c/x": update(codecs=[{"name": "numcodecs.pickle"}]),
            },
        ),
        """
        /:
        v (x) | one={"node": "a/x"} three={"node": "c/x"} two={"node": "b/x"}
        /a:
        /b:
        /c:
        ! Metadata: /a/x: left out: /a/x/zarr.json is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)
        ! Metadata: /b/x: left out: 'shape' must be a list of lengths, got 'x'
        ! Metadata: /c/x: left out: 'codecs' has the codec 'pickle', which is not safe to read
        ! Resolution: /v was opened without what 'one' refers to: /v#/attributes/one: 'a/x' leads nowhere, tried /a/x (/a/x/zarr.json is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)), /v/a/x (not found in store)
        ! Resolution: /v was opened without what 'two' refers to: /v#/attributes/two: 'b/x' leads nowhere, tried /b/x ('shape' must be a list of lengths, got 'x'), /v/b/x (not found in store)
        ! Resolution: /v was opened without what 'three' refers to: /v#/attributes/three: 'c/x' leads nowhere, tried /c/x (/c/x: 'codecs' has the codec 'pickle', which is not safe to read), /v/c/x (not found in store)
        """,
    ),
    "what several arrays refer to is broken": (
        {"": {"crs": {"broken": {"axes": 7}}}, "a": v(**SHARED), "b": v(**SHARED)},
        """
        /:
        a (x)
        b (x)
        ! Resolution: /a, /b were opened without what 'crs/broken/axes' declares: /#/attributes/crs/broken/axes: must be an object or a list, got number 7
        """,
    ),
    "two references that are broken alike": (
        {"": {}, "a": v(**TWICE), "b": v(**TWICE)},
        """
        /:
        a (x) | one={"node": "lost"} two={"node": "lost"}
        b (x) | one={"node": "lost"} two={"node": "lost"}
        ! Resolution: /a, /b were opened without what 'one' refers to: /a#/attributes/one and 1 more: 'lost' leads nowhere, tried /lost (not found in store), /a/lost (not found in store)
        ! Resolution: /a, /b were opened without what 'two' refers to: /a#/attributes/two and 1 more: 'lost' leads nowhere, tried /lost (not found in store), /a/lost (not found in store)
        """,
    ),
    "groups that are alike": (
        {"": {}, **groups("a", "b", v=v(**cs({"x": {"coordinates": [{"value": [0, 1]}]}})))},
        """
        /:
        /a:
        v (x)
        /b:
        v (x)
        ! Resolution: /a/v, /b/v were opened without coordinate 'x': /a/v#/attributes/cs/crs/0/axes/x/coordinates/0/value and 1 more: is not known there; was 'values' meant?
        """,
    ),
    "references from several groups that are broken alike": (
        {"": {}, **groups("a", "b", v=v(**declaring("ref", one={"node": "lost"})))},
        """
        /:
        /a:
        v (x) | one={"node": "lost"}
        /b:
        v (x) | one={"node": "lost"}
        ! Resolution: /a/v, /b/v were opened without what 'one' refers to: /a/v#/attributes/one and 1 more: 'lost' leads nowhere, tried lost (not found in store), v/lost (not found in store)
        """,
    ),
    "names that arrays of several groups write": (
        {
            "": {"conventions": "NZ-1.0 CF-1.9"},
            **groups("a", "b", h=v("n", coordinates="lat, lon")),
        },
        """
        /:
        /a:
        h (n)
        /b:
        h (n)
        ! Resolution: /a/h, /b/h were opened without 'lat' of 'coordinates', 'lon' of 'coordinates': /a/h#/attributes/coordinates and 1 more: must be names with blanks between them, got string "lat, lon"
        """,
    ),
}


@rows(MISTAKES)
def test_a_mistake_costs_what_it_is_about_and_one_warning(nodes: Any, expected: str) -> None:
    check(nodes, expected, function=xr.open_datatree)


def test_a_codec_that_is_missing_is_told_once_with_the_package_that_brings_it() -> None:
    contents = build({"": {}, "a": v(), "b": v()}, 2)
    for name in "ab":
        contents = edit(contents, f"{name}/.zarray", update(filters=[{"id": "zfpy"}]))
    _dataset, (warning,) = opened_with_warnings(xr.open_dataset, memory_store(contents))
    assert isinstance(warning, XGroupMetadataWarning)
    assert warning.paths == ("/a", "/b")
    if find_spec("numcodecs.errors"):  # before, errors did not say which codec
        # As we say it, and as newer zarr does.
        assert re.search(r"pip install zfpy|numcodecs\[zfpy\]", str(warning))


def lacking(*lost: tuple[str, str]) -> str:
    """Return what is told of arrays each of which lacks something for the same reason."""
    error = XGroupStoreError("why")
    findings = [report(Topic.PROBLEM, Place(path), error, cost=cost) for path, cost in lost]
    (warning,) = as_warnings(findings)
    return str(warning).removesuffix(": why")


def test_what_arrays_were_opened_without_is_named_briefly() -> None:
    assert lacking(("/a", "x")) == "/a was opened without x"
    assert lacking(("/a", "x"), ("/a", "y")) == "/a was opened without x, y"
    assert lacking(("/a", "x"), ("/b", "x")) == "/a, /b were opened without x"
    different = lacking(("/a", "x"), ("/b", "y"), ("/b", "x"))
    assert different == "/a, /b were opened without x (/a), x (/b), y (/b)"
    many = [(f"/{number}", f"x{number}") for number in range(1000)]
    assert lacking(*many).endswith(
        "without x0 (/0), x1 (/1), x2 (/2), x3 (/3), x4 (/4) and 995 more"
    )
    assert lacking(*many).startswith("/0, /1, /2, ")
    assert "/29 and 970 more were opened" in lacking(*many)
    assert len(lacking(("/a", "x" * 10_000))) < 120


@pytest.mark.parametrize("place", ["/a#b#/attributes/x", "/g/c#/attributes/x", "/g/c"])
def test_what_is_found_is_where_its_error_is(place: str) -> None:
    error = XGroupMetadataError("why", place=place)
    assert str(report(Topic.PROBLEM, Place("/a#b"), error).place) == place


def test_any_json_in_the_place_of_a_convention_opens() -> None:
    values: list[Any] = [None, True, 7, -0.5, "text", [], [[]], [None], {}, {"": None}, {"crs": None}]  # fmt: skip
    sound = declaring("cs", "ref", "geolocation", "uom", "proj", **cs({"t": {}}))
    nodes: dict[str, Any] = {"": {}}
    for key in ("zarr_conventions", "cs", "geolocation", "uom", "crs"):
        for number, value in enumerate(values):
            attributes = {**sound, key: value}
            group = f"{key}{number}"
            nodes |= {group: attributes, f"{group}/data": stored([1, 2, 3], "t", **attributes)}
            nodes[f"{group}/plain"] = stored([1.0, 2.0, 3.0], "t", long_name="sound")
    tree = opened_with_warnings(xr.open_datatree, store_of(nodes))[0]
    assert len(tree.children) == 5 * len(values)
    for node in tree.children.values():
        assert {"data", "plain"} <= set(node.data_vars)
        assert node["plain"].attrs == {"long_name": "sound"}
        assert node["plain"].values.tolist() == [1.0, 2.0, 3.0]


# Arrays without a principal convention.

#: How the one warning about them ends.
HELP = (
    "'zarr_conventions' of an array or of its group can declare one, which says where coordinates "
    "are"
)


def told(function: Open, nodes: Nodes, **options: Any) -> list[Warning]:
    """Return all warnings of opening a store."""
    return recorded(function, store_of(nodes), engine="xgroup", **options)[1]


def no_principal(function: Open, nodes: Nodes, **options: Any) -> XGroupNoPrincipalWarning | None:
    """Return the warning about them, which is the only one there is, None without one."""
    given = [it for it in told(function, nodes, **options) if type(it) is XGroupNoPrincipalWarning]
    assert len(given) <= 1
    for warning in given:
        assert len(str(warning)) <= 400
        assert warning.error is None
    return given[0] if given else None


def many(*names: str, group: str = "") -> Nodes:
    return {"": {}, **{f"{group}{name}": v() for name in names}}


LONG, ESC = "a_rather_long_name_of_a_group", r"\x1b"
DEEP = "/".join([LONG] * 60)
#: Nodes, the group that is opened -> which of its arrays the warning names.
NO_PRINCIPAL: dict[str, tuple[Nodes, str, str]] = {
    "one": (many("a"), "", "/a"),
    "three": (many(*"abc"), "", "/a, /b, /c"),
    "four": (many(*"abcd"), "", "/a, /b, /c and 1 more"),
    "long paths": (
        {**{"/".join([LONG] * n): {} for n in range(61)}, **many(*"abcde", group=f"{DEEP}/")},
        DEEP,
        ", ".join(f"/a_rather_long_name_o...ong_name_of_a_group/{it}" for it in "abc")
        + " and 2 more",
    ),
    "names of escapes": (
        many(*(80 * "\x1b" + it for it in "12345")),
        "",
        ", ".join(rf"/{ESC * 5}...{ESC * 5}{it}" for it in "123") + " and 2 more",
    ),
}


@rows(NO_PRINCIPAL, "nodes, group, expected")
def test_arrays_without_a_principal_convention_are_told_of_briefly(
    nodes: Nodes, group: str, expected: str
) -> None:
    warning = no_principal(xr.open_dataset, nodes, group=group)
    paths = tuple(f"/{name}" for name in nodes if isinstance(nodes[name], Array))
    lack, declare = ("array lacks", "declares") if len(paths) == 1 else ("arrays lack", "declare")
    assert warning is not None
    assert warning.paths == paths
    assert str(warning) == (
        f"{len(paths)} {lack} coordinates or a CRS and {declare} no principal convention "
        f"(such as cs or spatial): {expected}. {HELP}"
    )


#: What `zarr_conventions` has -> why it does not count.
NOT_COUNTING: dict[str, tuple[Any, str]] = {
    "names": (["cs"], 'zarr_conventions/0: must be an object, got string "cs"'),
    "a text": ("cs", 'zarr_conventions: must be a list of objects, got string "cs"'),
    "another uuid": ([{"name": "cs", "uuid": "1234"}], f"'cs' is declared with uuid '1234', not with {UUIDS['cs']}"),
    "a long uuid": ([{"name": "CS:", "uuid": "1" * 90}], f"'CS' is declared with uuid '{'1' * 40}', not with {UUIDS['cs']}"),
    "another schema": (
        [{"uuid": "other"}, {"name": "spatial", "schema_url": "https://example.org/a/b/c"}],
        "'spatial' is declared with schema_url 'https://example.org/a/b/c', not with zarr-conventions/spatial",
    ),
    "a name without a handler": ([{"name": "mine"}, {"name": "ref"}], "'mine' is declared, for which no handler is installed"),
    **{f"nothing: {it}": (it, "") for it in ([], None, [{"uuid": "1"}], [{"name": "license"}, {"name": "ref"}])},
}  # fmt: skip


@pytest.mark.parametrize("place", ["a", ""], ids=["array", "group"])
@rows(NOT_COUNTING, "declared, reason")
def test_a_declaration_that_does_not_count_is_told(declared: Any, reason: str, place: str) -> None:
    nodes: dict[str, Any] = {"": {}, "a": v()}
    nodes[place] = v(zarr_conventions=declared) if place else {"zarr_conventions": declared}
    text = str(no_principal(xr.open_dataset, nodes))
    assert f": /a. /{place}: {reason}" in text if reason else text.endswith(f": /a. {HELP}")
    assert (HELP in text) == (not reason)


SPATIAL = {"zarr_conventions": [{"name": "spatial"}]}
GROUPS: Nodes = {
    "": {}, "a": v(), "g": {}, "g/b": v(), "g/c": v(),
    "g/deep": {}, "g/deep/d": v(), "h": {}, "h/c": v(),
}  # fmt: skip


def naming(**attributes: Any) -> Nodes:
    """Return a group with an array whose attributes name one or both of two others."""
    return {"": {}, "lat": v(), "lon": v(), "v": v(**attributes)}


def across(value: str) -> Nodes:
    """Return two groups, an array in one of which names arrays of the other."""
    grid: Nodes = {"grid": {}, "grid/lat": v(), "grid/other": v()}
    return {"": {}, **grid, "ocean": {}, "ocean/v": v(ancillary_variables=value)}


X, Y = stored([1.0, 2.0], "x"), stored([1.0, 2.0], "y")

#: Nodes, options -> the arrays that are counted, in a Dataset of the group and in a tree.
COUNTED: dict[str, tuple[Nodes, Json, str, str]] = {
    "those of the groups that are opened": (GROUPS, {}, "/a", "/a /g/b /g/c /h/c /g/deep/d"),
    "those of a group that is named": (GROUPS, {"group": "g"}, "/g/b /g/c", "/g/b /g/c /g/deep/d"),
    "not those that are dropped": (many(*"abc"), {"drop_variables": ["a", "c"]}, "/b", "/b"),
    "not that which is dropped": (many(*"abc"), {"drop_variables": "b"}, "/a /c", "/a /c"),
    "not coordinates of dimensions": ({"": {}, "x": X, "v": v()}, {}, "", ""),
    "arrays called as another dimension": ({"": {}, "x": Y, "v": v("y")}, {}, "/v /x", "/v /x"),
    "not what the group names": ({"": {"coordinates": "t"}, "a": v(), "t": v()}, {}, "", ""),
    "what a comment names": ({"": {}, "a": v(), "v": v(comment="a")}, {}, "/a /v", "/a /v"),
    "those with a dimension that has no coordinate": (
        {"": {}, "x": X, "y": Y, "a": v("x", "y"), "b": v("z", "x"), "c": v(), "d": stored(1.0)},
        {},
        "/b",
        "/b",
    ),
    "not what coordinates names": (naming(coordinates="lat lon"), {}, "", ""),
    "not what bounds names": (naming(bounds="lat"), {}, "", ""),
    "not what climatology names": (naming(climatology="lat"), {}, "", ""),
    "not what grid_mapping names": (naming(grid_mapping="lat"), {}, "/lon /v", "/lon /v"),
    "not what ancillary_variables names": (naming(ancillary_variables="lat lon"), {}, "/v", "/v"),
    "not what cell_measures names": (naming(cell_measures="area: lat volume: lon"), {}, "/v", "/v"),
    "what a list names": (naming(ancillary_variables=["lat"]), {}, "/lat /lon /v", "/lat /lon /v"),
    "not what formula_terms names": (naming(formula_terms="a: lat b: lon"), {}, "/v", "/v"),
    "not what a long grid_mapping names": (naming(grid_mapping="lat: x y lon: x"), {}, "/v", "/v"),
    "not those of a group that declares": ({"": SPATIAL, "a": v()}, {}, "", ""),
    "those that declare services": (
        {"": {}, **{it: v(zarr_conventions=[{"name": it}]) for it in ("geolocation", "proj", "ref", "uom")}},
        {},
        "/geolocation /proj /ref /uom",
        "/geolocation /proj /ref /uom",
    ),
    "below a group that declares": (
        {"": SPATIAL, "g": {}, "g/a": v()}, {"group": "g"}, "/g/a", "/g/a"
    ),
    "not those along coordinates of groups above": (
        {"": {}, "x": X, "g": {}, "g/a": v(), "g/b": v("x", "y")}, {"group": None}, "", "/g/b"
    ),
    "those along coordinates of groups above that do not fit": (
        {"": {}, "x": stored([1.0, 2.0, 3.0], "x"), "g": {}, "g/a": v()}, {}, "", "/g/a"
    ),
    "not what a path names": (across("/grid/lat"), {}, "", "/grid/other /ocean/v"),
    "not what a path upwards names": (across("../grid/lat"), {}, "", "/grid/other /ocean/v"),
    "not what a path among others names": (
        across("none ../ocean/../grid/./lat"), {}, "", "/grid/other /ocean/v"
    ),
    **{
        f"all where {path!r} leads nowhere": (across(path), {}, "", "/grid/lat /grid/other /ocean/v")
        for path in ("../../grid/lat", "/lat", "grid/lat", "grid", "/grid", "")
    },
    "not what a name finds upwards, the nearest": (
        {
            "": {}, "lat": v(), "lon": v(), "g": {}, "g/lat": v(),
            "g/h": {}, "g/h/v": v(ancillary_variables="lat lon"),
        },
        {},
        "/lat /lon",
        "/lat /g/h/v",
    ),
}  # fmt: skip


@rows(COUNTED, "nodes, options, of_dataset, of_tree")
def test_which_arrays_count_as_without_a_principal_convention(
    nodes: Nodes, options: Json, of_dataset: str, of_tree: str
) -> None:
    for function, expected in ((xr.open_dataset, of_dataset), (xr.open_datatree, of_tree)):
        warning = no_principal(function, nodes, **options)
        assert (warning.paths if warning else ()) == tuple(expected.split())


def test_coordinates_of_parents_count_in_trees_alone() -> None:
    nodes = COUNTED["not those along coordinates of groups above"][0]
    warning = no_principal(xr.open_groups, nodes)
    assert warning is not None
    assert warning.paths == ("/g/a", "/g/b")


@pytest.mark.parametrize("is_consolidated", [True, False])
def test_groups_that_nczarr_names_are_advised_to_be_read(is_consolidated: bool) -> None:
    def array(dim: str, *paths: str) -> Array:
        return Array([1.0, 2.0], (dim,), v2={"_NCZARR_ARRAY": {"dimrefs": list(paths)}})

    group: Nodes = {"g": {}, "g/a": array("time", "/time"), "g/b": array("n", "/g/n")}
    store = store_of(
        {"": {}, "time": array("time", "/time"), **group}, 2, consolidated=is_consolidated
    )

    def advised(**options: Any) -> tuple[str, list[Any]]:
        dataset, (warning,) = recorded(
            xr.open_dataset, store, engine="xgroup", group="g", **options
        )
        return str(warning).rpartition("assume_conventions=")[2], list(dataset.coords)

    assert advised() == ("'cf'", [])
    assert advised(assume_conventions="auto") == ("'auto' took cf", ["time"])


# Errors and warnings as such.

BASES: dict[type[Exception], tuple[type[BaseException], ...]] = {
    XGroupError: (Exception,),
    XGroupStoreError: (XGroupError, OSError),
    XGroupStoreNotFoundError: (XGroupStoreError, FileNotFoundError),
    XGroupGroupError: (XGroupError, KeyError),
    XGroupReferenceError: (XGroupError, LookupError),
    XGroupPathError: (XGroupError, ValueError),
    XGroupMetadataError: (XGroupError, ValueError),
    XGroupWarning: (UserWarning,),
    XGroupNoPrincipalWarning: (XGroupWarning,),
    XGroupResolutionWarning: (XGroupNoPrincipalWarning,),
    XGroupDimensionWarning: (XGroupWarning,),
    XGroupEmptyGroupWarning: (XGroupWarning,),
    XGroupNameWarning: (XGroupWarning,),
    XGroupMetadataWarning: (XGroupWarning,),
    XGroupPluginWarning: (XGroupWarning,),
}


def test_errors_and_warnings_are_of_public_classes_that_python_users_catch() -> None:
    defined = [it for it in vars(errors).values() if isinstance(it, type)]
    ours = (XGroupError, XGroupWarning)
    assert {it: it.__bases__ for it in defined if issubclass(it, ours)} == BASES
    for kind in BASES:
        assert getattr(zarr_xgroup, kind.__name__) is kind
        assert kind.__name__ in zarr_xgroup.__all__
        assert f"{kind.__name__} " in f"{errors.__doc__} ".replace("\n", " \n")


@pytest.mark.parametrize("kind", [it for it in BASES if issubclass(it, XGroupError)])
def test_errors_carry_place_target_and_reason_and_pickle(kind: Any) -> None:
    message = "There is no 'group' \"here\", nor \u00e9lsewhere"
    known = {"place": "/a#/attributes/it", "target": "time", "reason": "why"}
    if issubclass(kind, XGroupStoreError):
        known["store"] = "s3://there"
    plain, error = kind(message), kind("text", **known)
    for it in (plain, pickle.loads(pickle.dumps(plain))):
        assert (type(it), str(it), it.text) == (kind, message, message)
        assert {key: getattr(it, key) for key in known} == dict.fromkeys(known, "")
    for it in (error, pickle.loads(pickle.dumps(error))):
        assert (type(it), str(it), it.text) == (kind, "/a#/attributes/it: text", "text")
        assert {key: getattr(it, key) for key in known} == known


@pytest.mark.parametrize("kind", [it for it in BASES if issubclass(it, XGroupWarning)])
def test_warnings_carry_their_error_and_paths_and_pickle(kind: Any) -> None:
    assert (kind("text").error, kind("text").paths) == (None, ())
    warning = kind("text", XGroupReferenceError("why"))
    warning.paths = ("/a", "/b")
    copy = pickle.loads(pickle.dumps(warning))
    assert (type(copy), str(copy), copy.paths) == (kind, "text", ("/a", "/b"))
    assert (type(copy.error), str(copy.error)) == (XGroupReferenceError, "why")


#: A reference -> where its error is, of which class, what it names as the target and as the reason.
CARRIED: dict[str, tuple[Json, str, type[XGroupError], str, str]] = {
    "absent": ({"node": "absent"}, "", XGroupReferenceError, "absent", "leads nowhere, tried /absent (not found in store), /v/absent (not found in store)"),
    "attribute": ({"node": "/", "attribute": "/attributes/no"}, "", XGroupReferenceError, "/#/attributes/no", "leads nowhere, tried / (nothing stands at #/attributes/no)"),
    "cycle": ({"node": "/v", "attribute": "/attributes/cycle"}, "", XGroupReferenceError, "/v#/attributes/cycle", "references form a cycle: /v#/attributes/cycle -> /v#/attributes/cycle"),
    "doubled": ({"node": "a//b"}, "/node", XGroupPathError, "a//b", "'a//b' is not the path of a node"),
    "above": ({"node": "/.."}, "", XGroupPathError, "/..", "'/..' leads above the root of the store"),
    "pointer": ({"node": "v", "attribute": "no pointer"}, "/attribute", XGroupPathError, "no pointer", "'no pointer' is no JSON pointer"),
    "store": ({"node": "v", "uri": "nowhere"}, "", XGroupStoreError, "", "'nowhere' is not an absolute URI of a store"),
}  # fmt: skip


def test_errors_of_references_say_where_what_and_why() -> None:
    references = {name: row[0] for name, row in CARRIED.items()}
    store = store_of({"": {}, "v": v(**declaring("ref", **references))})
    given: list[Any] = opened_with_warnings(xr.open_dataset, store)[1]
    assert len(given) == len(CARRIED)
    found = {warning.error.place.split("/")[3]: warning for warning in given}
    for name, (_reference, place, kind, target, reason) in CARRIED.items():
        warning, error = found[name], found[name].error
        assert warning.paths == ("/v",)
        assert str(warning) == f"/v was opened without what {name!r} refers to: {error}"
        assert isinstance(error, kind)
        assert error.place == f"/v#/attributes/{name}{place}"
        assert (error.target, error.reason) == (target, reason)
    assert found["store"].error.store == "nowhere"


#: Gives a warning of every class that an open can give.
TROUBLED: Nodes = {
    "": {},
    "s": stored([1.0, 2.0, 3.0], "s"),
    "unnamed": Array([1.0, 2.0], None),
    "ref_from": v(**declaring("ref", lost={"node": "nope"}, found={"node": "g/s"})),
    "bad": v(),
    "time": v(units="days since when"),
    "g": {},
    "g/s": v(),
}
KINDS = (
    XGroupNoPrincipalWarning,
    XGroupResolutionWarning,
    XGroupDimensionWarning,
    XGroupNameWarning,
    XGroupMetadataWarning,
)


def troubled() -> dict[str, bytes]:
    return edited(TROUBLED, {"bad": update(codecs=[{"name": "nosuchcodec"}])})


@each_function
@pytest.mark.parametrize("ignored", [None, *KINDS], ids=str)
def test_one_class_of_warnings_can_be_suppressed(
    function: Open, ignored: type[XGroupWarning] | None
) -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        if ignored is not None:
            warnings.simplefilter("ignore", ignored)
        if ignored is XGroupNoPrincipalWarning:
            warnings.simplefilter("always", XGroupResolutionWarning)
        function(memory_store(troubled()), engine="xgroup")
    assert {item.category for item in given} == set(KINDS) - {ignored}


@each_function
@pytest.mark.parametrize("kind", KINDS)
def test_promoted_to_an_error_it_raises_and_the_store_is_closed(
    function: Open, kind: type[XGroupWarning], tmp_path: Path, closed_stores: list[Any]
) -> None:
    path = write_local(troubled(), tmp_path / "s.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", kind)
        with pytest.raises(kind):
            function(path, engine="xgroup")
    assert len(closed_stores) == 1


def test_each_open_warns_anew_from_another_line() -> None:
    store: Any = store_of(many("a"))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("default")
        xr.open_dataset(store, engine="xgroup")
        xr.open_dataset(store, engine="xgroup")
    assert len(given) == 2


# Where warnings point.


def lines_pointed_at(function: Callable[[], object]) -> set[tuple[str, int]]:
    """Return the files and the lines that the warnings of a call point at."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        function()
    assert given
    return {(item.filename, item.lineno) for item in given}


def line_here() -> int:
    """Return the line of the call."""
    return sys._getframe(1).f_lineno


def ways_to_open(store: Any) -> dict[str, tuple[Callable[[], object], int]]:
    """Return all ways to open a store, each with the line of its call."""
    ways: dict[str, tuple[Callable[[], object], int]] = {}
    engine = zarr_xgroup.XGroupBackendEntrypoint
    ways["open_dataset"] = lambda: xr.open_dataset(store, engine="xgroup"), line_here()
    ways["open_groups"] = lambda: xr.open_groups(store, engine="xgroup"), line_here()
    ways["open_datatree"] = lambda: xr.open_datatree(store, engine="xgroup"), line_here()
    ways["open_mfdataset"] = lambda: xr.open_mfdataset([store], engine="xgroup"), line_here()
    ways["the class itself"] = lambda: xr.open_dataset(store, engine=engine), line_here()
    ways["its method"] = lambda: engine().open_dataset(store), line_here()
    ways["its other method"] = lambda: engine().open_datatree(store), line_here()
    if HAS_INDEX_OPTION:
        options: Any = {"engine": "xgroup", "create_default_indexes": False}
        ways["without indexes"] = lambda: xr.open_datatree(store, **options), line_here()
    return ways


@pytest.mark.parametrize("way", ways_to_open(None))
def test_warnings_point_at_the_line_of_the_caller(way: str) -> None:
    function, line = ways_to_open(memory_store(troubled()))[way]
    assert lines_pointed_at(function) == {(__file__, line)}


def in_module(name: str, function: Callable[..., T]) -> Callable[..., T]:
    """Return a function as if it were defined in another module."""
    return types.FunctionType(function.__code__, {**globals(), "__name__": name})


def warn_from_elsewhere() -> None:
    errors.warn_user(XGroupWarning("from within"))


@pytest.mark.parametrize(
    ("name", "is_passed_over"),
    [
        *((it, True) for it in ("xarray", "xarray.backends.api", "zarr_xgroup.backend")),
        *((it, False) for it in ("somebody.elses", "__main__", "xarray_of_mine", "my.xarray")),
        ("zarr_xgroup_tools", False),
    ],
)
def test_frames_of_xarray_and_ours_are_passed_over(name: str, is_passed_over: bool) -> None:
    within, line = warn_from_elsewhere.__code__.co_firstlineno + 1, line_here() + 1
    pointed_at = lines_pointed_at(lambda: in_module(name, warn_from_elsewhere)())
    assert pointed_at == {(__file__, line if is_passed_over else within)}


# What a store says is shown printable.

ODD = "\x1b]0;a\x07\x9b31m\u202e\nb\u2028"
SHOWN = r"\x1b]0;a\x07\x9b31m\u202e\nb\u2028"


def oddly_named(zarr_format: ZarrFormat) -> dict[str, bytes]:
    """Return a store with odd names and texts wherever something is told of them."""
    foreign = external(ODD, uri=f"http://{ODD}")
    own, other = (
        declaring("cs", cs={"crs": [{"axes": {ODD: it}, "id": {ODD: ODD}}]})
        for it in (external(f"/{ODD}/absent"), foreign)
    )
    said = dict.fromkeys(("proj:code", "proj:wkt2", "spatial:dimensions", "units", "uom"), ODD)
    declared: Any = [{"name": ODD}, {"name": "cs", "uuid": ODD}, {"name": "proj"}, ODD]
    members = {
        ODD: Array([1.0, 2.0, 3.0, 4.0], ("z",), own),
        f"{ODD}1": Array([1.0, 2.0], (ODD,), own),
        f"{ODD}2": Array([1.0, 2.0, 3.0], (ODD,), other),
        f"{ODD}3": Array([[1.0]], None, {"coordinates": f"{ODD} /{ODD}/absent"}),
        f"{ODD}4": Array([[1.0]], (ODD, "y"), {"zarr_conventions": declared, **said}),
        f"{ODD}5": Array([1.0], ("t",), {"units": f"days since {ODD}", "calendar": ODD}),
    }
    nested = Group({"h": Array([1.0], ("m",)), ODD: Group({"h": Array([1.0, 2.0], ("m",))})})
    contents = build(Group({ODD: Group(members), "t": nested}), zarr_format)
    key = f"{ODD}/6/{'zarr.json' if zarr_format == 3 else '.zarray'}"
    broken = json.dumps({"node_type": ODD, "zarr_format": ODD, "shape": ODD}).encode()
    return {**contents, key: broken}


def is_printable(text: str) -> bool:
    return printable(text) == text


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_a_store_says_is_told_printable(function: Open, zarr_format: ZarrFormat) -> None:
    store, group = memory_store(oddly_named(zarr_format)), f"/{ODD}"
    given: list[Any] = recorded(function, store, engine="xgroup", group=group)[1]
    kinds = {type(it) for it in given}
    assert kinds >= {XGroupDimensionWarning, XGroupMetadataWarning, XGroupResolutionWarning}
    for warning in given:
        assert is_printable(str(warning))
        assert SHOWN in str(warning)
        assert all(path.startswith(group) for path in warning.paths)  # exact
        assert all(
            map(is_printable, "".join(traceback.format_exception(warning.error)).splitlines())
        )
        if warning.error is not None:
            assert is_printable(warning.error.reason)
            assert not warning.error.place or warning.error.place.startswith(group)
    assert f"{group}/absent" in {getattr(warning.error, "target", "") for warning in given}


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_a_store_says_is_printable_in_reports(zarr_format: ZarrFormat) -> None:
    store = memory_store(oddly_named(zarr_format))
    explanation, verdict = zarr_xgroup.explain(store), zarr_xgroup.check(store)
    texts = [it.text + it.lost for it in explanation.problems]
    texts += [it.text + it.remedy for it in verdict.mistakes]
    whole = [repr(it).replace("\n", "") for it in (explanation, verdict)]
    assert all(map(is_printable, [*texts, *whole]))
    assert any(at.node == f"/{ODD}/{ODD}1" for it in verdict.mistakes for at in it.places)  # exact
    for text in whole:
        assert "\\nb" in text
        # Named once in a problem: not again behind it.
        assert f"/{SHOWN}/{SHOWN}3 (/" not in text


def test_errors_that_are_raised_are_printable() -> None:
    contents = {**build({"": {}}), f"{ODD}/zarr.json": json.dumps({"node_type": ODD}).encode()}
    for group in (ODD, f"{ODD}/{ODD}", f"/{ODD}//"):
        with pytest.raises(XGroupError) as caught:
            recorded(xr.open_dataset, memory_store(contents), engine="xgroup", group=group)
        lines = "".join(traceback.format_exception_only(caught.value)).splitlines()
        assert all(map(is_printable, lines))
        assert SHOWN in str(caught.value)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("depth", [900, *range(980, 992), 5000])
def test_attributes_nested_as_deep_as_the_stack_cost_at_most_their_array(
    zarr_format: ZarrFormat, depth: int
) -> None:
    contents = build({"": {}, "a": v(deep="@"), "b": v()}, zarr_format)
    key = "a/zarr.json" if zarr_format == 3 else "a/.zattrs"
    contents[key] = contents[key].replace(b'"@"', b"[" * depth + b"]" * depth)
    dataset, given = opened_with_warnings(xr.open_dataset, memory_store(contents))
    assert "b" in dataset
    deep = dataset["a"].attrs.get("deep") if "a" in dataset else None
    if given:
        assert (deep, [it.paths for it in given]) == (None, [("/a",)])
    else:
        assert nested(deep) == depth
    zarr_xgroup.check(memory_store(contents))
    zarr_xgroup.explain(memory_store(contents))


def nested(value: Any) -> int:
    """Return how many lists are within one another."""
    depth = 1
    while value:
        depth, (value,) = depth + 1, value
    return depth
