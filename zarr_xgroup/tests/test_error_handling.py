"""What is told: the trees of errors and warnings, what they carry, and where they point."""

import json
import pickle
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest
import xarray as xr

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
from zarr_xgroup.findings import Place, Topic, as_warnings, report
from zarr_xgroup.redaction import printable
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    UUIDS,
    Array,
    Group,
    Open,
    ZarrFormat,
    build,
    coordinate,
    declaring,
    edit,
    memory_store,
    recorded,
    update,
    write_local,
)

T = TypeVar("T")

OPEN_FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_groups, xr.open_datatree)
TREES = OPEN_FUNCTIONS[1:]

each_function = pytest.mark.parametrize("function", OPEN_FUNCTIONS, ids=lambda f: f.__name__)
each_tree = pytest.mark.parametrize("function", TREES, ids=lambda f: f.__name__)


def told(function: Open, root: Group, **options: Any) -> list[Warning]:
    """Return all warnings of opening a store."""
    return recorded(function, memory_store(build(root)), engine="xgroup", **options)[1]


def paths_told(function: Open, root: Group, **options: Any) -> tuple[str, ...]:
    """Return the arrays that the warning about missing principal conventions is about."""
    given = told(function, root, **options)
    if not given:
        return ()
    (warning,) = given
    assert type(warning) is XGroupNoPrincipalWarning
    return warning.paths


#: What the warning about missing principal conventions says.
HELP = (
    "'zarr_conventions' of an array or of its group can declare one, which says where coordinates "
    "are"
)


def values(*dims: str, **attrs: Any) -> Array:
    """Return an array of two values along each dimension."""
    value: Any = 1.0
    for _dim in dims:
        value = [value, value]
    return Array(value, dims, attrs)


def warning_of(
    topic: Topic, paths: Iterable[str], text: str = "", error: XGroupError | None = None
) -> XGroupWarning:
    """Return the one warning that tells the same of arrays, each of which was found at fault."""
    (warning,) = as_warnings([report(topic, Place(path), error or text) for path in paths])
    return warning


# The trees.

ERRORS: dict[type[XGroupError], tuple[type[BaseException], ...]] = {
    XGroupError: (Exception,),
    XGroupStoreError: (XGroupError, OSError),
    XGroupStoreNotFoundError: (XGroupStoreError, FileNotFoundError),
    XGroupGroupError: (XGroupError, KeyError),
    XGroupReferenceError: (XGroupError, LookupError),
    XGroupPathError: (XGroupError, ValueError),
    XGroupMetadataError: (XGroupError, ValueError),
}
WARNINGS: dict[type[XGroupWarning], type[Warning]] = {
    XGroupWarning: UserWarning,
    XGroupNoPrincipalWarning: XGroupWarning,
    XGroupResolutionWarning: XGroupNoPrincipalWarning,
    XGroupDimensionWarning: XGroupWarning,
    XGroupEmptyGroupWarning: XGroupWarning,
    XGroupNameWarning: XGroupWarning,
    XGroupMetadataWarning: XGroupWarning,
    XGroupPluginWarning: XGroupWarning,
}


@pytest.mark.parametrize(("error", "bases"), ERRORS.items(), ids=lambda item: str(item))
def test_errors_are_of_the_kinds_that_python_users_catch(
    error: type[XGroupError], bases: tuple[type[BaseException], ...]
) -> None:
    assert error.__bases__ == bases


@pytest.mark.parametrize(("warning", "base"), WARNINGS.items(), ids=lambda item: str(item))
def test_warnings_form_a_tree(warning: type[XGroupWarning], base: type[Warning]) -> None:
    assert warning.__bases__ == (base,)


def test_all_errors_and_warnings_are_public_and_in_the_drawing() -> None:
    for kind in (*ERRORS, *WARNINGS):
        assert getattr(zarr_xgroup, kind.__name__) is kind
        assert kind.__name__ in zarr_xgroup.__all__
        assert f"{kind.__name__} " in f"{errors.__doc__} ".replace("\n", " \n")
    defined = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, XGroupError | XGroupWarning)
    }
    assert defined == {*ERRORS, *WARNINGS}


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_say_their_message_as_it_is(kind: type[XGroupError]) -> None:
    message = "There is no 'group' \"here\", nor \u00e9lsewhere"
    assert str(kind(message)) == message


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_pickle(kind: type[XGroupError]) -> None:
    copy = pickle.loads(pickle.dumps(kind("what is wrong")))
    assert type(copy) is kind
    assert str(copy) == "what is wrong"


@pytest.mark.parametrize("kind", WARNINGS)
def test_warnings_carry_their_error(kind: type[XGroupWarning]) -> None:
    error = XGroupMetadataError("why")
    assert kind("text", error).error is error
    assert kind("text").error is None
    assert str(kind("text", error)) == "text"


@pytest.mark.parametrize(
    "warning",
    [
        warning_of(Topic.NO_PRINCIPAL, ["/a", "/b"]),
        warning_of(Topic.PROBLEM, ["/a"], error=XGroupReferenceError("why")),
        XGroupMetadataWarning("text", XGroupMetadataError("why")),
    ],
    ids=lambda warning: type(warning).__name__,
)
def test_warnings_pickle_with_all_they_carry(warning: XGroupWarning) -> None:
    copy = pickle.loads(pickle.dumps(warning))
    assert type(copy) is type(warning)
    assert str(copy) == str(warning)
    assert type(copy.error) is type(warning.error)
    assert str(copy.error) == str(warning.error)
    assert getattr(copy, "paths", ()) == getattr(warning, "paths", ())


# Arrays without a principal convention.


def test_one_array_without_a_principal_convention() -> None:
    (warning,) = told(xr.open_dataset, Group({"a": values("x")}))
    assert str(warning) == (
        "1 array lacks coordinates or a CRS and declares no principal convention (such as "
        f"cs or spatial): /a. {HELP}"
    )
    assert isinstance(warning, XGroupNoPrincipalWarning)
    assert warning.paths == ("/a",)
    assert warning.error is None


def many(number: int) -> Group:
    return Group({f"a{n:03}": values("x") for n in range(number)})


@pytest.mark.parametrize(
    ("number", "more"),
    [(2, ""), (3, ""), (4, " and 1 more"), (5, " and 2 more"), (100, " and 97 more")],
)
def test_three_are_named_and_the_rest_counted(number: int, more: str) -> None:
    (warning,) = told(xr.open_dataset, many(number))
    paths = tuple(f"/a{n:03}" for n in range(number))
    assert isinstance(warning, XGroupNoPrincipalWarning)
    assert warning.paths == paths
    assert str(warning) == (
        f"{number} arrays lack coordinates or a CRS and declare no principal convention "
        f"(such as cs or spatial): {', '.join(paths[:3])}{more}. {HELP}"
    )
    assert len(str(warning)) <= 400


def told_without_principal(root: Group) -> str:
    """Return the warning about missing principal conventions."""
    (warning,) = told(xr.open_dataset, root)
    assert type(warning) is XGroupNoPrincipalWarning
    assert len(str(warning)) <= 400
    return str(warning)


def test_coordinates_of_parents_count_in_a_tree() -> None:
    child = Group({"a": values("x"), "b": values("x", "y")})
    root = Group({"x": coordinate("x", [1, 2]), "g": Group({"h": child})})
    assert paths_told(xr.open_datatree, root) == ("/g/h/b",)
    assert paths_told(xr.open_groups, root) == ("/g/h/a", "/g/h/b")


def test_coordinates_of_parents_that_do_not_fit_do_not_count() -> None:
    root = Group({"x": coordinate("x", [1, 2, 3]), "g": Group({"a": values("x")})})
    given = told(xr.open_datatree, root)
    assert ": /g/a. " in str(given[-1])


@pytest.mark.parametrize("depth", [1, 9, 60])
def test_long_paths_are_shortened(depth: int) -> None:
    name = "a_rather_long_name_of_a_group"
    inner = Group({f"array_{n}": values("x") for n in range(9)})
    for _level in range(depth):
        inner = Group({name: inner})
    group = "/".join([name] * depth)
    (warning,) = told(xr.open_dataset, inner, group=group)
    assert isinstance(warning, XGroupNoPrincipalWarning)
    assert len(str(warning)) <= 400
    assert "array_2 and 6 more. " in str(warning)
    assert warning.paths == tuple(f"/{group}/array_{n}" for n in range(9))


@pytest.mark.parametrize("on_group", [False, True], ids=["array", "group"])
@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (["cs"], 'zarr_conventions/0: must be an object, got string "cs"'),
        ("cs", 'zarr_conventions: must be a list of objects, got string "cs"'),
        (
            [{"name": "cs", "uuid": "1234"}],
            f"'cs' is declared with uuid '1234', not with {UUIDS['cs']}",
        ),
        ([{"name": "CS:", "uuid": "1" * 90}], f"'CS' is declared with uuid '{'1' * 40}', not with"),
        (
            [{"uuid": "other"}, {"name": "spatial", "schema_url": "https://example.org/a/b/c"}],
            (
                "'spatial' is declared with schema_url 'https://example.org/a/b/c', not with "
                "zarr-conventions/spatial"
            ),
        ),
        (
            [{"name": "mine"}, {"name": "ref"}],
            "'mine' is declared, for which no handler is installed",
        ),
    ],
    ids=str,
)
def test_a_declaration_that_does_not_count_is_told(
    declared: Any, reason: str, on_group: bool
) -> None:
    attributes = {"zarr_conventions": declared}
    array = values("x", **({} if on_group else attributes))
    text = told_without_principal(Group({"a": array}, attributes if on_group else {}))
    assert f": /a. {'/' if on_group else '/a'}: {reason}" in text
    assert HELP not in text


@pytest.mark.parametrize(
    "declared", [[], None, [{"uuid": "1"}], [{"name": "license"}, {"name": "ref"}]]
)
def test_nothing_is_told_of_other_declarations(declared: Any) -> None:
    text = told_without_principal(Group({"a": values("x", zarr_conventions=declared)}))
    assert text.endswith(f": /a. {HELP}")


@each_tree
def test_one_warning_for_all_groups_of_an_open(function: Open) -> None:
    root = Group(
        {
            "b": values("x"),
            "a": values("x"),
            "g": Group({"c": values("x"), "deep": Group({"d": values("x")})}),
            "h": Group({"c": values("x")}),
        }
    )
    assert paths_told(function, root) == ("/a", "/b", "/g/c", "/h/c", "/g/deep/d")
    assert paths_told(function, root, group="g") == ("/g/c", "/g/deep/d")


ABC = Group(dict.fromkeys("abc", values("x")))
SPATIAL = {"zarr_conventions": [{"name": "spatial"}], "spatial:dimensions": ["y", "x"]}


XY = {name: coordinate(name, [1, 2]) for name in "xy"}


def referring(**attributes: str) -> Group:
    """Return a group with an array whose attributes name one or both of two others."""
    return Group({"lat": values("x"), "lon": values("x"), "v": values("x", **attributes)})


NAMING_COORDINATES = ({"coordinates": "lat lon"}, {"bounds": "lat"}, {"climatology": "lat"})
NAMING_ONE = ({"grid_mapping": "lat"},)
NAMING_BOTH = (
    {"ancillary_variables": "lat lon"},
    {"cell_measures": "area: lat volume: lon"},
    {"formula_terms": "a: lat b: lon"},
    {"grid_mapping": "lat: x y lon: x"},
)


@pytest.mark.parametrize(
    ("root", "options", "paths"),
    [
        (Group({"g": Group()}), {}, ()),
        # Those of the group that is opened, which are wanted.
        (Group({"a": values("x"), "g": ABC}), {}, ("/a",)),
        (Group({"a": values("x"), "g": ABC}), {"group": "g"}, ("/g/a", "/g/b", "/g/c")),
        (ABC, {"drop_variables": ["a", "c"]}, ("/b",)),
        (ABC, {"drop_variables": "b"}, ("/a", "/c")),
        (ABC, {"drop_variables": ["a", "b", "c"]}, ()),
        # Which are no coordinates: by their names, or by those that others name.
        (Group({"x": coordinate("x", [1, 2]), "v": values("x")}), {}, ()),
        (Group({"x": coordinate("x", [1, 2])}), {}, ()),
        (Group({"x": values("y"), "v": values("y")}), {}, ("/v", "/x")),
        (Group({"a": values("x"), "t": values("x")}, {"coordinates": "t"}), {}, ()),
        (Group({"a": values("x"), "v": values("x", comment="a")}), {}, ("/a", "/v")),
        # Which have a dimension without a coordinate.
        (Group({**XY, "a": values("x", "y"), "c": values("x"), "d": values()}), {}, ()),
        (Group({**XY, "a": values("x", "y"), "b": values("z", "x")}), {}, ("/b",)),
        # Which no attribute of CF names: what names coordinates leaves none bare.
        *((referring(**it), {}, ()) for it in NAMING_COORDINATES),
        *((referring(**it), {}, ("/lon", "/v")) for it in NAMING_ONE),
        *((referring(**it), {}, ("/v",)) for it in NAMING_BOTH),
        # Of which neither they nor their group declare a convention of that tier.
        (Group({"a": values("t")}, SPATIAL), {}, ()),
        (Group({"g": Group({"a": values("t")})}, SPATIAL), {"group": "g"}, ("/g/a",)),
        *(
            (Group({"a": values("x", zarr_conventions=[{"name": name}])}), {}, ("/a",))
            for name in ("uom", "ref", "proj", "geolocation", "unknown")
        ),
    ],
    ids=lambda it: None if isinstance(it, Group) else str(it),
)
@each_function
def test_which_arrays_are_counted(
    function: Open, root: Group, options: dict[str, Any], paths: tuple[str, ...]
) -> None:
    below = () if function is xr.open_dataset or options else ("/g/a", "/g/b", "/g/c")
    more = below if root.members.get("g") is ABC else ()
    assert paths_told(function, root, **options) == (*paths, *more)


def test_an_attribute_that_is_no_string_refers_to_nothing() -> None:
    root = Group({"lat": values("x"), "v": values("x", ancillary_variables=["lat"])})
    given = told(xr.open_dataset, root)
    (warning,) = [item for item in given if type(item) is XGroupNoPrincipalWarning]
    assert warning.paths == ("/lat", "/v")


@each_tree
@pytest.mark.parametrize(
    "value", ["/grid/lat", "../grid/lat", "/grid/lat /grid/none", "none ../ocean/../grid/./lat"]
)
def test_arrays_of_other_groups_are_referred_to_by_path(function: Open, value: str) -> None:
    root = Group(
        {
            "grid": Group({"lat": values("x"), "other": values("x")}),
            "ocean": Group({"v": values("x", coordinates=value)}),
        }
    )
    assert paths_told(function, root) == ("/grid/other", "/ocean/v")


@each_tree
def test_a_name_is_searched_for_upwards_and_found_at_the_nearest(function: Open) -> None:
    root = Group(
        {
            "lat": values("x"),
            "lon": values("x"),
            "g": Group(
                {
                    "lat": values("x"),
                    "h": Group({"v": values("x", ancillary_variables="lat lon")}),
                }
            ),
        }
    )
    assert paths_told(function, root) == ("/lat", "/g/h/v")


@each_tree
@pytest.mark.parametrize("value", ["../../grid/lat", "/lat", "grid/lat", "grid", "/grid", ""])
def test_paths_that_lead_to_no_array_change_nothing(function: Open, value: str) -> None:
    root = Group(
        {
            "grid": Group({"lat": values("x")}),
            "ocean": Group({"v": values("x", ancillary_variables=value)}),
        }
    )
    assert paths_told(function, root) == ("/grid/lat", "/ocean/v")


# One warning for one cause.


def given_for(root: Group, zarr_format: ZarrFormat = 3, **options: Any) -> list[XGroupWarning]:
    """Return what is told of a tree, but for missing principal conventions."""
    store = memory_store(build(root, zarr_format))
    given: list[Any] = recorded(xr.open_datatree, store, engine="xgroup", **options)[1]
    return [it for it in given if type(it) is not XGroupNoPrincipalWarning]


def test_a_codec_that_is_missing_is_told_once_with_the_package_that_brings_it() -> None:
    contents = build(Group({f"v{n}": values("x") for n in range(9)}), zarr_format=2)
    for n in range(9):
        contents = edit(contents, f"v{n}/.zarray", update(filters=[{"id": "zfpy"}]))
    _tree, given = recorded(xr.open_datatree, memory_store(contents), engine="xgroup")
    (warning,) = given
    assert isinstance(warning, XGroupMetadataWarning)
    assert warning.paths == tuple(f"/v{n}" for n in range(9))
    if find_spec("numcodecs.errors"):  # before, errors did not say which codec
        brought_by = ("pip install zfpy", "numcodecs[zfpy]")  # as we say it, and as newer zarr does
        assert any(package in str(warning) for package in brought_by)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_levels_without_names_of_dimensions_are_told_once(zarr_format: ZarrFormat) -> None:
    levels = {str(n): Array([[1.0] * 2**n] * 2**n, None) for n in range(6)}
    (warning,) = given_for(Group({"a": Group(levels), "b": Group(levels)}), zarr_format)
    assert isinstance(warning, XGroupDimensionWarning)
    assert warning.paths == tuple(f"/{group}/{n}" for group in "ab" for n in range(6))
    assert "phony_dim_0" in str(warning)


def test_groups_that_are_alike_with_the_same_mistake_are_told_once() -> None:
    cs = {"crs": [{"axes": {"x": {"coordinates": [{"value": {"regular": [0, 1]}}]}}}]}
    array = values("x", **declaring("cs", cs=cs))
    root = Group({f"g{n:02}": Group({"a": array}) for n in range(20)})
    (warning,) = given_for(root)
    paths = tuple(f"/g{n:02}/a" for n in range(20))
    assert warning.paths == paths
    assert str(warning) == (
        f"{', '.join(paths)} were opened without coordinate 'x': "
        "/g00/a#/attributes/cs/crs/0/axes/x/coordinates/0/value and 19 more: is not known there; "
        "was 'values' meant?"
    )
    explanation = zarr_xgroup.explain(memory_store(build(root)))
    (problem,) = (it for it in explanation.problems if it.kind == "problem")
    assert problem.arrays == paths
    assert repr(explanation).count("is not known there") == 1


def test_a_name_that_arrays_of_many_groups_write_is_told_once_and_named() -> None:
    beam = {"lat": values("n"), "h": values("n", coordinates="lat, lon")}
    root = Group({f"beam{n}": Group(beam) for n in range(6)}, {"conventions": "NZ-1.0 CF-1.9"})
    (given,) = given_for(root)
    assert given.paths == tuple(f"/beam{n}/h" for n in range(6))
    assert " opened without 'lat' of 'coordinates', 'lon' of 'coordinates': " in str(given)


def test_what_is_alike_in_other_attributes_has_another_cause() -> None:
    declared = declaring("ref", one={"node": "lost"}, two={"node": "lost"})
    given = given_for(Group({"a": values("x", **declared), "b": values("x", **declared)}))
    assert [it.paths for it in given] == [("/a", "/b")] * 2


# What would help those that declare none.


def test_what_is_advised_helps_and_nothing_else_is_advised() -> None:
    axis = coordinate("x", [1.0, 2.0])
    helped = Group({"a": values("x", coordinates="/g/lon"), "g": Group({"lon": axis})})
    (given,) = told(xr.open_datatree, helped)
    assert str(given).endswith("open with assume_conventions='cf'")
    assert told(xr.open_datatree, helped, assume_conventions="cf") == []
    useless = Group({"a": values("x", coordinates="lost")}, {"external_variables": "lost"})
    assert "assume_conventions" not in told_without_principal(useless)


@pytest.mark.parametrize("is_consolidated", [True, False])
def test_groups_that_nczarr_names_are_advised_to_be_read(is_consolidated: bool) -> None:
    def array(dim: str, *paths: str) -> Array:
        return Array([1.0, 2.0], (dim,), v2={"_NCZARR_ARRAY": {"dimrefs": list(paths)}})

    members = {"a": array("time", "/time"), "b": array("n", "/g/n")}
    root = Group({"time": array("time", "/time"), "g": Group(members)})
    store = memory_store(build(root, 2, consolidated=is_consolidated))

    def told_and_coords(**options: Any) -> tuple[str, list[str]]:
        dataset, (warning,) = recorded(
            xr.open_dataset, store, engine="xgroup", group="g", **options
        )
        return str(warning).rpartition("assume_conventions=")[2], list(map(str, dataset.coords))

    assert told_and_coords() == ("'cf'", [])
    assert told_and_coords(assume_conventions="auto") == ("'auto' took cf", ["time"])


@each_function
def test_auto_takes_what_helps_and_says_so(function: Open) -> None:
    axis = coordinate("x", [1.0, 2.0])
    root = Group({"a": values("x", coordinates="/g/lon"), "g": Group({"lon": axis})})
    found, given = recorded(
        function, memory_store(build(root)), engine="xgroup", assume_conventions="auto"
    )
    dataset = found["/"] if isinstance(found, dict) else found
    assert "lon" in dataset["a"].coords
    (warning,) = given
    assert type(warning) is XGroupNoPrincipalWarning
    assert "assume_conventions='auto' took cf" in str(warning)


def test_auto_takes_nothing_where_nothing_helps() -> None:
    declared = Group({"a": values("x")}, {})
    given = told(xr.open_dataset, declared, assume_conventions="auto")
    assert [str(it) for it in given] == [str(it) for it in told(xr.open_dataset, declared)]


# What could not be resolved.


def test_a_failed_reference_is_told_with_its_error_and_its_array() -> None:
    declared = {"zarr_conventions": [{"name": "ref"}], "other": {"node": "nope"}}
    root = Group({"v": values("x", **declared), "w": values("x")})
    failed, no_principal = told(xr.open_dataset, root)
    assert type(failed) is XGroupResolutionWarning
    assert failed.paths == ("/v",)
    assert type(failed.error) is XGroupReferenceError
    assert str(failed.error) == (
        "/v#/attributes/other: 'nope' leads nowhere, tried /nope (not found in store), "
        "/v/nope (not found in store)"
    )
    assert str(failed) == f"/v was opened without what 'other' refers to: {failed.error}"
    assert type(no_principal) is XGroupNoPrincipalWarning


def lacking(*lost: tuple[str, str]) -> str:
    """Return what is told of arrays each of which lacks something for the same reason."""
    error = XGroupStoreError("why")
    findings = [report(Topic.PROBLEM, Place(path), error, cost=cost) for path, cost in lost]
    (warning,) = as_warnings(findings)
    return str(warning).removesuffix(": why")


def test_what_arrays_were_opened_without_is_named() -> None:
    assert lacking(("/a", "x")) == "/a was opened without x"
    assert lacking(("/a", "x"), ("/a", "y")) == "/a was opened without x, y"
    assert lacking(("/a", "x"), ("/b", "x")) == "/a, /b were opened without x"
    different = lacking(("/a", "x"), ("/b", "y"), ("/b", "x"))
    assert different == "/a, /b were opened without x (/a), x (/b), y (/b)"


def test_what_arrays_were_opened_without_is_told_briefly() -> None:
    many = [(f"/{number}", f"x{number}") for number in range(1000)]
    assert lacking(*many).endswith(
        "without x0 (/0), x1 (/1), x2 (/2), x3 (/3), x4 (/4) and 995 more"
    )
    assert len(lacking(("/a", "x" * 10_000))) < 120


# Warnings as errors, and suppressed.


#: Gives a warning of every kind that an open can give.
TROUBLED = Group(
    {
        "s": Array([1.0, 2.0, 3.0], ("s",)),
        "unnamed": Array([1.0, 2.0], None),
        "ref_from": values(
            "x", zarr_conventions=[{"name": "ref"}], lost={"node": "nope"}, found={"node": "g/s"}
        ),
        "bad": values("x"),
        "time": values("x", units="days since when"),
        "g": Group({"s": Array([1.0, 2.0], ("x",))}),
    }
)


def troubled_contents() -> dict[str, bytes]:
    return edit(build(TROUBLED), "bad/zarr.json", update(codecs=[{"name": "nosuchcodec"}]))


KINDS = (
    XGroupNoPrincipalWarning,
    XGroupResolutionWarning,
    XGroupDimensionWarning,
    XGroupNameWarning,
    XGroupMetadataWarning,
)


@each_function
def test_the_troubled_store_gives_warnings_of_all_kinds(function: Open) -> None:
    _result, given = recorded(function, memory_store(troubled_contents()), engine="xgroup")
    assert {type(item) for item in given} == set(KINDS)


@each_function
@pytest.mark.parametrize("kind", KINDS)
def test_promoted_to_an_error_it_raises_and_the_store_is_closed(
    function: Open, kind: type[XGroupWarning], tmp_path: Path, closed_stores: list[Any]
) -> None:
    path = write_local(troubled_contents(), tmp_path / "s.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", kind)
        with pytest.raises(kind):
            function(path, engine="xgroup")
    assert len(closed_stores) == 1


@each_function
@pytest.mark.parametrize("kind", [XGroupDimensionWarning, XGroupMetadataWarning])
def test_one_kind_can_be_suppressed_alone(function: Open, kind: type[XGroupWarning]) -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", kind)
        function(memory_store(troubled_contents()), engine="xgroup")
    assert {item.category for item in given} == set(KINDS) - {kind}


@each_function
def test_missing_conventions_can_be_suppressed_and_failed_references_kept(function: Open) -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", XGroupNoPrincipalWarning)
        warnings.simplefilter("always", XGroupResolutionWarning)
        function(memory_store(troubled_contents()), engine="xgroup")
    assert {item.category for item in given} == set(KINDS) - {XGroupNoPrincipalWarning}


def test_each_open_warns_anew_from_another_line() -> None:
    store: Any = memory_store(build(Group({"a": values("x")})))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("default")
        xr.open_dataset(store, engine="xgroup")
        xr.open_dataset(store, engine="xgroup")
    assert len(given) == 2


# Where warnings point.


def lines_pointed_at(function: Callable[[], object]) -> tuple[set[str], set[int]]:
    """Return the files and the lines that the warnings of a call point at."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        function()
    assert {item.category for item in given} == set(KINDS)
    return {item.filename for item in given}, {item.lineno for item in given}


def line_here() -> int:
    """Return the line of the call."""
    return sys._getframe(1).f_lineno


def each_way_to_open(store: Any) -> dict[str, tuple[Callable[[], object], int]]:
    """Return all functions of xarray that open a store, each with the line of its call."""
    ways: dict[str, tuple[Callable[[], object], int]] = {}
    ways["open_dataset"] = lambda: xr.open_dataset(store, engine="xgroup"), line_here()
    ways["open_groups"] = lambda: xr.open_groups(store, engine="xgroup"), line_here()
    ways["open_datatree"] = lambda: xr.open_datatree(store, engine="xgroup"), line_here()
    ways["open_mfdataset"] = lambda: xr.open_mfdataset([store], engine="xgroup"), line_here()
    ways["open_mfdataset of groups"] = (
        lambda: xr.open_mfdataset([store], engine="xgroup", group="/"),
        line_here() - 1,
    )
    engine = zarr_xgroup.XGroupBackendEntrypoint
    ways["the class itself"] = lambda: xr.open_dataset(store, engine=engine), line_here()
    ways["its method"] = lambda: engine().open_dataset(store), line_here()
    ways["its other method"] = lambda: engine().open_datatree(store), line_here()
    return ways


@pytest.mark.parametrize("way", each_way_to_open(None))
def test_warnings_point_at_the_line_of_the_caller(way: str) -> None:
    function, line = each_way_to_open(memory_store(troubled_contents()))[way]
    assert lines_pointed_at(function) == ({__file__}, {line})


if HAS_INDEX_OPTION:

    def test_without_default_indexes_they_point_there_as_well() -> None:
        store: Any = memory_store(troubled_contents())
        line = line_here() + 2
        files, lines = lines_pointed_at(
            lambda: xr.open_datatree(store, engine="xgroup", create_default_indexes=False)
        )
        assert (files, lines) == ({__file__}, {line})


def in_module(name: str, function: Callable[..., T]) -> Callable[..., T]:
    """Return a function as if it were defined in another module."""
    code = function.__code__
    return types.FunctionType(code, {**globals(), "__name__": name})


def open_from_elsewhere(store: Any) -> object:
    return xr.open_dataset(store, engine="xgroup")


def warn_from_elsewhere(warning: XGroupWarning) -> None:
    errors.warn_user(warning)


@pytest.mark.parametrize(
    "name", ["somebody.elses", "__main__", "xarray_of_mine", "zarr_xgroup_tools", "my.xarray"]
)
def test_a_function_of_the_user_in_between_is_pointed_at(name: str) -> None:
    function = in_module(name, open_from_elsewhere)
    line = open_from_elsewhere.__code__.co_firstlineno + 1
    store = memory_store(troubled_contents())
    assert lines_pointed_at(lambda: function(store)) == ({__file__}, {line})


@pytest.mark.parametrize("name", ["xarray", "xarray.backends.api", "zarr_xgroup.backend"])
def test_frames_of_xarray_and_ours_are_passed_over(name: str) -> None:
    function = in_module(name, warn_from_elsewhere)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        line = line_here() + 1
        function(XGroupWarning("from within"))
    assert [(item.filename, item.lineno) for item in given] == [(__file__, line)]


# What errors carry.


@pytest.mark.parametrize(
    "kind",
    [XGroupReferenceError, XGroupPathError, XGroupStoreError, XGroupStoreNotFoundError],
)
def test_errors_carry_place_target_and_reason(kind: type[XGroupError]) -> None:
    assert (kind("text").place, kind("text").target, kind("text").reason) == ("", "", "")
    error = kind("text", place="/a#/attributes/it", target="time", reason="why")
    for it in (error, pickle.loads(pickle.dumps(error))):
        assert (str(it), it.text) == ("/a#/attributes/it: text", "text")
        assert (it.place, it.target, it.reason) == ("/a#/attributes/it", "time", "why")


def test_store_errors_carry_the_store() -> None:
    error = XGroupStoreError("text", store="s3://there", reason="why")
    assert pickle.loads(pickle.dumps(error)).store == error.store == "s3://there"
    assert XGroupStoreError("text").store == ""


@pytest.mark.parametrize(
    ("reference", "kind", "target", "reason"),
    [
        (
            {"node": "absent"},
            XGroupReferenceError,
            "absent",
            "leads nowhere, tried /absent (not found in store), /v/absent (not found in store)",
        ),
        (
            {"node": "/w", "attribute": "/attributes/no"},
            XGroupReferenceError,
            "/w#/attributes/no",
            "leads nowhere, tried /w (nothing stands at #/attributes/no)",
        ),
        (
            {"node": "/v", "attribute": "/attributes/other"},
            XGroupReferenceError,
            "/v#/attributes/other",
            "references form a cycle: /v#/attributes/other -> /v#/attributes/other",
        ),
        ({"node": "a//b"}, XGroupPathError, "a//b", "'a//b' is not the path of a node"),
        ({"node": "/.."}, XGroupPathError, "/..", "'/..' leads above the root of the store"),
    ],
    ids=str,
)
def test_errors_of_references_say_where_what_and_why(
    reference: dict[str, Any], kind: type[XGroupError], target: str, reason: str
) -> None:
    declared = {"zarr_conventions": [{"name": "ref"}], "other": reference}
    root = Group({"v": values("x", **declared), "w": values("x")})
    failed = told(xr.open_dataset, root)[0]
    assert isinstance(failed, XGroupResolutionWarning)
    error = failed.error
    assert isinstance(error, kind)
    place = "/v#/attributes/other"
    places = {place, f"{place}/node"}
    assert error.place in places
    assert (error.target, error.reason) == (target, reason)


def test_errors_of_pointers_and_stores_say_where_what_and_why() -> None:
    declared = {"zarr_conventions": [{"name": "ref"}]}
    pointer = {"node": "w", "attribute": "no pointer"}
    store = {"node": "w", "uri": "nowhere"}
    root = Group({"v": values("x", **declared, one=pointer, two=store), "w": values("x")})
    kinds = (XGroupPathError, XGroupStoreError)
    found = {type(item.error): item.error for item in told(xr.open_dataset, root)}  # type: ignore[attr-defined]
    of_pointer, of_store = (found[kind] for kind in kinds)
    assert of_pointer.place == "/v#/attributes/one/attribute"
    assert of_pointer.target == "no pointer"
    assert of_pointer.reason == "'no pointer' is no JSON pointer"
    assert of_store.place == "/v#/attributes/two"
    assert of_store.store == "nowhere"
    assert of_store.reason


# What a store says is shown printable.

ODD = "\x1b]0;a\x07\x9b31m\u202e\nb\u2028"
SHOWN = r"\x1b]0;a\x07\x9b31m\u202e\nb\u2028"


def oddly_named() -> Group:
    """Return a store with odd names and texts wherever something is told of them."""
    absent: Any = {"external": {"node": f"/{ODD}/absent"}}
    foreign: Any = {"external": {"uri": f"http://{ODD}", "node": ODD}}
    axes = [{ODD: {"coordinates": [{"values": values}]}} for values in (absent, foreign)]
    own, other = (declaring("cs", cs={"crs": [{"axes": it, "id": {ODD: ODD}}]}) for it in axes)
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
    return Group({ODD: Group(members), "broken": Array([1.0]), "t": nested})


def with_a_broken_node(contents: dict[str, bytes]) -> dict[str, bytes]:
    """Move what is below /broken to an odd name, and make its document one of no kind."""
    moved = {key.replace("broken", f"{ODD}/6"): content for key, content in contents.items()}
    kind = json.dumps({"node_type": ODD, "zarr_format": ODD, "shape": ODD})
    documents = (f"{ODD}/6/zarr.json", f"{ODD}/6/.zarray")
    return {key: kind.encode() if key in documents else it for key, it in moved.items()}


def is_printable(text: str) -> bool:
    return printable(text) == text


@each_function
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_a_store_says_is_told_printable(function: Open, zarr_format: ZarrFormat) -> None:
    store = memory_store(with_a_broken_node(build(oddly_named(), zarr_format=zarr_format)))
    group = f"/{ODD}"
    given = recorded(function, store, engine="xgroup", group=group)[1]
    kinds = {type(it) for it in given}
    assert kinds >= {XGroupDimensionWarning, XGroupMetadataWarning, XGroupResolutionWarning}
    targets = set()
    for warning in given:
        assert isinstance(warning, XGroupWarning)
        assert is_printable(str(warning))
        assert SHOWN in str(warning)
        assert all(path.startswith(group) for path in warning.paths)  # exact
        for line in "".join(traceback.format_exception(warning.error)).splitlines():
            assert is_printable(line)
        if warning.error is not None:
            assert is_printable(str(warning.error))
            assert is_printable(warning.error.reason)
            assert not warning.error.place or warning.error.place.startswith(group)
        targets.add(getattr(warning.error, "target", ""))
    assert f"{group}/absent" in targets


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_a_store_says_is_printable_in_reports(zarr_format: ZarrFormat) -> None:
    store = memory_store(with_a_broken_node(build(oddly_named(), zarr_format=zarr_format)))
    explanation, verdict = zarr_xgroup.explain(store), zarr_xgroup.check(store)
    assert explanation.problems
    for problem in explanation.problems:
        assert is_printable(problem.text)
        assert is_printable(problem.lost)
    assert all(is_printable(it.text) and is_printable(it.remedy) for it in verdict.mistakes)
    assert any(at.node == f"/{ODD}/{ODD}1" for it in verdict.mistakes for at in it.places)  # exact
    for text in (repr(explanation), repr(verdict)):
        assert is_printable(text.replace("\n", ""))
        assert "\\nb" in text
        # Named once in a problem: not again behind it.
        assert f"/{SHOWN}/{SHOWN}3 (/" not in text


def test_errors_that_are_raised_are_printable() -> None:
    contents = {**build(Group()), f"{ODD}/zarr.json": json.dumps({"node_type": ODD}).encode()}
    for group in (ODD, f"{ODD}/{ODD}", f"/{ODD}//"):
        with pytest.raises(XGroupError) as caught:
            recorded(xr.open_dataset, memory_store(contents), engine="xgroup", group=group)
        lines = "".join(traceback.format_exception_only(caught.value)).splitlines()
        assert all(map(is_printable, lines))
        assert SHOWN in str(caught.value)


def test_the_warning_of_undeclared_arrays_is_short_with_escapes() -> None:
    arrays = {80 * "\x1b" + str(number): Array([1.0], ("x",)) for number in range(5)}
    (warning,) = told(xr.open_dataset, Group(arrays))
    assert len(str(warning)) <= 400
    assert {path.strip("/\x1b") for path in warning.paths} == set("01234")  # type: ignore[attr-defined]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("depth", [900, *range(980, 992), 5000])
def test_attributes_nested_as_deep_as_the_stack_cost_at_most_their_array(
    zarr_format: ZarrFormat, depth: int
) -> None:
    plain = Group({"a": Array([1.0], ("x",), {"deep": "@"}), "b": Array([2.0], ("x",))})
    contents = build(plain, zarr_format)
    key = "a/zarr.json" if zarr_format == 3 else "a/.zattrs"
    contents[key] = contents[key].replace(b'"@"', b"[" * depth + b"]" * depth)
    dataset, given = recorded(xr.open_dataset, memory_store(contents), engine="xgroup")
    assert "b" in dataset
    told_of = [it.paths for it in given if isinstance(it, XGroupMetadataWarning)]
    deep = dataset["a"].attrs.get("deep") if "a" in dataset else None
    assert nested(deep) == depth if told_of == [] else (deep is None and told_of == [("/a",)])
    zarr_xgroup.check(memory_store(contents))
    zarr_xgroup.explain(memory_store(contents))


def nested(value: Any) -> int:
    """Return how many lists are within one another."""
    depth = 1
    while value:
        depth, (value,) = depth + 1, value
    return depth
