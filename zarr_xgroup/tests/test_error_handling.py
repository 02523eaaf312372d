"""Mistakes in stores: the warnings on opening, and the variables that open nevertheless."""

from __future__ import annotations

import json
import pickle
import re
import sys
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
from zarr_xgroup.redaction import printable
from zarr_xgroup.tests.builders import (
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
def test_each_fault_of_a_store_causes_one_warning_and_no_other_loss(
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
        ! Resolution: /v was opened without the target of 'one': /v#/attributes/one: 'a/x' cannot be resolved; tried /a/x (/a/x/zarr.json is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)), /v/a/x (not found in store)
        ! Resolution: /v was opened without the target of 'two': /v#/attributes/two: 'b/x' cannot be resolved; tried /b/x ('shape' must be a list of lengths, got 'x'), /v/b/x (not found in store)
        ! Resolution: /v was opened without the target of 'three': /v#/attributes/three: 'c/x' cannot be resolved; tried /c/x (/c/x: 'codecs' has the codec 'pickle', which is not safe to read), /v/c/x (not found in store)
        """,
    ),
    "documents that are not valid JSON, in the order of paths": (
        edited({"": {}, **dict.fromkeys("ecafbd", v())}, dict.fromkeys("ecafbd", b"[1")),
        "/:\n"
        + "\n".join(
            f"! Metadata: /{name}: left out: /{name}/zarr.json is not valid JSON: "
            "Expecting ',' delimiter: line 1 column 3 (char 2)"
            for name in "abcdef"
        ),
    ),
    "groups that are alike": (
        {"": {}, **groups("a", "b", v=v(**cs({"x": {"coordinates": [{"value": [0, 1]}]}})))},
        """
        /:
        /a:
        v (x)
        /b:
        v (x)
        ! Resolution: /a/v, /b/v were opened without coordinate 'x': /a/v#/attributes/cs/crs/0/axes/x/coordinates/0/value and 1 more: is unknown; did you mean 'values'?
        """,
    ),
}


@rows(MISTAKES)
def test_a_mistake_causes_one_warning_and_no_other_loss(nodes: Any, expected: str) -> None:
    check(nodes, expected, function=xr.open_datatree)


# Arrays without a principal convention.


def no_principal(function: Open, nodes: Nodes, **options: Any) -> XGroupNoPrincipalWarning | None:
    """Return the warning about them, which is the only one there is, None without one."""
    _opened, told = recorded(function, store_of(nodes), engine="xgroup", **options)
    given = [it for it in told if type(it) is XGroupNoPrincipalWarning]
    assert len(given) <= 1
    for warning in given:
        assert len(str(warning)) <= 400
        assert warning.error is None
    return given[0] if given else None


NO_UUID = "00000000-0000-0000-0000-000000000000"
#: What `zarr_conventions` has -> why it does not count.
NOT_COUNTING: dict[str, tuple[Any, str]] = {
    "names": (["cs"], 'zarr_conventions/0: must be an object, got string "cs"'),
    "another uuid": ([{"name": "cs", "uuid": "1234"}], f"'cs' is declared with uuid '1234', not with {UUIDS['cs']}"),
    "another schema": (
        [{"uuid": "other"}, {"name": "spatial", "schema_url": "https://example.org/a/b/c"}],
        "'spatial' is declared with schema_url 'https://example.org/a/b/c', not with zarr-conventions/spatial",
    ),
    "another uuid for a second name": ([{"name": "dimensions", "uuid": NO_UUID}], f"'dimensions' is declared with uuid '{NO_UUID}', not with {UUIDS['coords']}"),
    "another uuid beside the schema": (
        [{"uuid": NO_UUID, "schema_url": "https://raw.githubusercontent.com/R-CF/zarr_convention_cs/main/schema.json"}],
        f"'cs' is declared with uuid '{NO_UUID}', not with {UUIDS['cs']}",
    ),
    "another uuid of a service": ([{"name": "uom", "uuid": NO_UUID}], f"'uom' is declared with uuid '{NO_UUID}', not with {UUIDS['uom']}"),
    "a uuid without a name": ([{"uuid": NO_UUID}], f"no handler is installed for the declared convention '{NO_UUID}'"),
    "a name without a handler": ([{"name": "mine"}, {"name": "ref"}], "no handler is installed for the declared convention 'mine'"),
    **{f"nothing: {it}": (it, "") for it in ([], None, [{"name": "license"}, {"name": "ref"}])},
}  # fmt: skip


@pytest.mark.parametrize("place", ["a", ""], ids=["array", "group"])
@rows(NOT_COUNTING, "declared, reason")
def test_an_invalid_declaration_is_reported(declared: Any, reason: str, place: str) -> None:
    nodes: dict[str, Any] = {"": {}, "a": v()}
    nodes[place] = v(zarr_conventions=declared) if place else {"zarr_conventions": declared}
    text = str(no_principal(xr.open_dataset, nodes))
    assert text.endswith(f": /a. /{place}: {reason}" if reason else ": /a")


SPATIAL = {"zarr_conventions": [{"name": "spatial"}]}
GROUPS: Nodes = {"": {}, "a": v(), "g": {}, "g/b": v(), "g/deep": {}, "g/deep/d": v()}
#: An attribute, its value, and the arrays that are counted of `of` and `v`, which has it.
NAMING: list[tuple[str, str, str]] = [
    ("ancillary_variables", "of", "/v"),
    ("bounds", "of", ""),
    ("cell_measures", "area: of", "/v"),
    ("climatology", "of", ""),
    ("comment", "of", "/of /v"),
    ("coordinates", "of", ""),
    ("formula_terms", "a: of", "/v"),
    ("grid_mapping", "of: x y", "/v"),
]
PATHS: Nodes = {
    "": {}, "grid": {}, **{f"grid/{it}": v() for it in "abcd"},
    "ocean": {}, "ocean/v": v(ancillary_variables="/grid/a ../grid/b ../../ocean/../grid/d no ../ocean/../grid/./c"),
}  # fmt: skip

X, Y = stored([1.0, 2.0], "x"), stored([1.0, 2.0], "y")
IN_CRS = v("y", "x", **declaring("proj"), **{"proj:code": "EPSG:4326"})

#: Nodes, options -> the arrays that are counted, in a Dataset of the group and in a tree.
COUNTED: dict[str, tuple[Nodes, Json, str, str]] = {
    "those of the groups that are opened": (GROUPS, {}, "/a", "/a /g/b /g/deep/d"),
    "not those that are dropped": ({"": {}, **dict.fromkeys("abc", v())}, {"drop_variables": ["a", "c"]}, "/b", "/b"),
    "those of a group that is named": (GROUPS, {"group": "g"}, "/g/b", "/g/b /g/deep/d"),
    "not what the group names": ({"": {"coordinates": "t"}, "a": v(), "t": v()}, {}, "", ""),
    "those with a dimension that has no coordinate": (
        {"": {}, "x": X, "y": Y, "a": v("x", "y"), "b": v("z", "x"), "c": v(), "d": stored(1.0)},
        {},
        "/b",
        "/b",
    ),
    **{
        f"what {key} names": ({"": {}, "of": v(), "v": v(**{key: value})}, {}, counted, counted)
        for key, value, counted in NAMING
    },
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
    "those with a CRS and without coordinates": ({"": {}, "a": IN_CRS, "g": {}, "g/a": IN_CRS, "g/x": X, "g/y": Y}, {}, "/a", "/a"),
    "not an array with the name of a dimension, which is a coordinate of the Dataset": ({"": {}, "x": v("x", "y")}, {}, "", ""),
    "those of a layout of levels": ({"": {}, "p": {"multiscales": {"tile_matrix_set": "WebMercatorQuad"}}, "p/0": {}, "p/0/c": v("y", "x")}, {}, "", "/p/0/c"),
    "not what paths name": (PATHS, {}, "", "/grid/d /ocean/v"),
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
def test_arrays_reported_as_without_a_principal_convention(
    nodes: Nodes, options: Json, of_dataset: str, of_tree: str
) -> None:
    for function, expected in ((xr.open_dataset, of_dataset), (xr.open_datatree, of_tree)):
        warning = no_principal(function, nodes, **options)
        assert (warning.paths if warning else ()) == tuple(expected.split())


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


def test_errors_have_public_classes_and_builtin_base_classes() -> None:
    defined = [it for it in vars(errors).values() if isinstance(it, type)]
    ours = (XGroupError, XGroupWarning)
    assert {it: it.__bases__ for it in defined if issubclass(it, ours)} == BASES
    for kind in BASES:
        assert getattr(zarr_xgroup, kind.__name__) is kind
        assert kind.__name__ in zarr_xgroup.__all__
        assert f"{kind.__name__} " in f"{errors.__doc__} ".replace("\n", " \n")


@pytest.mark.parametrize("kind", BASES)
def test_errors_and_warnings_have_attributes_and_pickle(kind: Any) -> None:
    if issubclass(kind, XGroupWarning):
        given = kind("text", XGroupReferenceError("why"))
        given.paths = ("/a", "/b")
        copy = pickle.loads(pickle.dumps(given))
        assert (type(copy), str(copy), copy.paths) == (kind, "text", ("/a", "/b"))
        assert (type(copy.error), str(copy.error)) == (XGroupReferenceError, "why")
        return
    known = {"place": "/a#/attributes/it", "target": "time", "reason": "why"}
    if issubclass(kind, XGroupStoreError):
        known["store"] = "s3://there"
    for given, text, values in (
        (kind("text"), "text", {**dict.fromkeys(known, ""), "reason": "text"}),
        (kind("text", **known), "/a#/attributes/it: text", known),
    ):
        copy = pickle.loads(pickle.dumps(given))
        assert (type(copy), str(copy), copy.text) == (kind, text, "text")
        assert {key: getattr(copy, key) for key in known} == values


#: A reference -> where its error is, of which class, what it names as the target and as the reason.
CARRIED: dict[str, tuple[Json, str, type[XGroupError], str, str]] = {
    "absent": ({"node": "absent"}, "", XGroupReferenceError, "absent", "cannot be resolved; tried /absent (not found in store), /v/absent (not found in store)"),
    "pointer": ({"node": "v", "attribute": "no pointer"}, "/attribute", XGroupPathError, "no pointer", "'no pointer' is not a valid JSON pointer"),
    "store": ({"node": "v", "uri": "nowhere"}, "", XGroupStoreError, "", "'nowhere' is not an absolute URI of a store"),
}  # fmt: skip


def test_errors_of_references_have_place_target_and_reason() -> None:
    references = {name: row[0] for name, row in CARRIED.items()}
    store = store_of({"": {}, "v": v(**declaring("ref", **references))})
    given: list[Any] = opened_with_warnings(xr.open_dataset, store)[1]
    assert len(given) == len(CARRIED)
    found = {warning.error.place.split("/")[3]: warning for warning in given}
    for name, (_reference, place, kind, target, reason) in CARRIED.items():
        warning, error = found[name], found[name].error
        assert warning.paths == ("/v",)
        assert str(warning) == f"/v was opened without the target of {name!r}: {error}"
        assert isinstance(error, kind)
        assert error.place == f"/v#/attributes/{name}{place}"
        assert (error.target, error.reason) == (target, reason)
    assert found["store"].error.store == "nowhere"


#: Gives a warning of every class that an open can give.
TROUBLED = edited(
    {
        "": {},
        "s": stored([1.0, 2.0, 3.0], "s"),
        "unnamed": Array([1.0, 2.0], None),
        "ref_from": v(**declaring("ref", lost={"node": "nope"}, found={"node": "g/s"})),
        "bad": v(),
        "g": {},
        "g/s": v(),
    },
    {"bad": update(codecs=[{"name": "nosuchcodec"}])},
)
KINDS = (
    XGroupNoPrincipalWarning,
    XGroupResolutionWarning,
    XGroupDimensionWarning,
    XGroupNameWarning,
    XGroupMetadataWarning,
)


@pytest.mark.parametrize("ignored", [None, *KINDS], ids=str)
def test_one_class_of_warnings_can_be_suppressed(ignored: type[XGroupWarning] | None) -> None:
    store: Any = memory_store(TROUBLED)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        if ignored is not None:
            warnings.simplefilter("ignore", ignored)
        if ignored is XGroupNoPrincipalWarning:
            warnings.simplefilter("always", XGroupResolutionWarning)
        xr.open_dataset(store, engine="xgroup")
    assert {item.category for item in given} == set(KINDS) - {ignored}


@each_function
@pytest.mark.parametrize("kind", [XGroupNoPrincipalWarning, XGroupNameWarning])
def test_a_warning_turned_into_an_error_closes_the_store(
    function: Open, kind: type[XGroupWarning], tmp_path: Path, closed_stores: list[Any]
) -> None:
    path = write_local(TROUBLED, tmp_path / "s.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", kind)
        with pytest.raises(kind):
            function(path, engine="xgroup")
    assert len(closed_stores) == 1


def test_warnings_point_at_the_line_of_the_caller() -> None:
    store: Any = memory_store(TROUBLED)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno
        xr.open_dataset(store, engine="xgroup")
        xr.open_groups(store, engine="xgroup")
        xr.open_datatree(store, engine="xgroup")
        xr.open_mfdataset([store], engine="xgroup")
        zarr_xgroup.XGroupBackendEntrypoint().open_dataset(store)
    pointed_at = {(item.filename, item.lineno) for item in given}
    assert pointed_at == {(__file__, line + n) for n in range(1, 6)}


# What a store says is shown printable.

ODD = "\x1b]0;a\x07\x9b31m\u202e\nb\u2028"
SHOWN = r"\x1b]0;a\x07\x9b31m\u202e\nb\u2028"


def oddly_named(zarr_format: ZarrFormat) -> dict[str, bytes]:
    """Return a store with odd names and texts wherever something is told of them."""
    values = ({"node": f"/{ODD}/absent"}, {"node": ODD, "uri": f"http://{ODD}"})
    own, other = (cs({ODD: {"coordinates": [{"values": {"external": it}}]}}) for it in values)
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


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_text_of_a_store_is_printable_in_warnings(function: Open, zarr_format: ZarrFormat) -> None:
    store, group = memory_store(oddly_named(zarr_format)), f"/{ODD}"
    given: list[Any] = recorded(function, store, engine="xgroup", group=group)[1]
    kinds = {type(it) for it in given}
    assert kinds >= {XGroupDimensionWarning, XGroupMetadataWarning, XGroupResolutionWarning}
    for warning in given:
        assert SHOWN in str(warning)
        told = [str(warning), *"".join(traceback.format_exception(warning.error)).splitlines()]
        assert [printable(line) for line in told] == told
        assert all(path.startswith(group) for path in warning.paths)  # exact
    assert f"{group}/absent" in {getattr(warning.error, "target", "") for warning in given}


def test_text_of_a_store_is_printable_in_reports() -> None:
    store: Any = memory_store(oddly_named(3))
    explanation, verdict = zarr_xgroup.explain(store), zarr_xgroup.check(store)
    texts = [part for it in explanation.problems for part in (it.text, it.lost)]
    texts += [part for it in verdict.mistakes for part in (it.text, it.remedy)]
    for text in (*texts, *repr(explanation).splitlines(), *repr(verdict).splitlines()):
        assert printable(text) == text
    assert all(SHOWN in repr(report) for report in (explanation, verdict))


def test_errors_that_are_raised_are_printable() -> None:
    contents = {**build(Group()), f"{ODD}/zarr.json": json.dumps({"node_type": ODD}).encode()}
    for group in (ODD, f"{ODD}/{ODD}", f"/{ODD}//"):
        with pytest.raises(XGroupError) as caught:
            recorded(xr.open_dataset, memory_store(contents), engine="xgroup", group=group)
        lines = "".join(traceback.format_exception_only(caught.value)).splitlines()
        assert [printable(line) for line in lines] == lines
        assert SHOWN in str(caught.value)
