"""Explanations: that they say what an open does, read no chunk, and are the same as JSON."""

import json
import warnings
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import xarray as xr
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup import XGroupGroupError, XGroupStoreNotFoundError, explain
from zarr_xgroup.findings import Place
from zarr_xgroup.report import explanation as values
from zarr_xgroup.report.explanation import (
    Explanation,
    FoundArray,
    FoundCoordinate,
    FoundGroup,
)
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    coordinate,
    declaring,
    memory_store,
    write_local,
)
from zarr_xgroup.tests.documents import STORES, write
from zarr_xgroup.tests.documents import array as array_document
from zarr_xgroup.tests.documents import group as group_document
from zarr_xgroup.tests.samples import SAMPLES, sample
from zarr_xgroup.tests.servers import DelayingStore

OWN_STORES = sorted(STORES.glob("*.zarr"))

each_store = pytest.mark.parametrize("path", OWN_STORES, ids=lambda path: path.stem)


def external(name: str, node: str, uri: str | None = None) -> dict[str, Any]:
    """Return the attributes of an array one axis of which is stored elsewhere."""
    reference = {"node": node} if uri is None else {"node": node, "uri": uri}
    axis = {"coordinates": [{"values": {"external": reference}}]}
    return declaring("cs", cs={"crs": [{"axes": {name: axis}}]})


def computed(name: str) -> dict[str, Any]:
    """Return the attributes of an array one axis of which is computed."""
    axis = {"coordinates": [{"values": {"regular": [1.0, 0.5]}}]}
    return declaring("cs", cs={"crs": [{"axes": {name: axis}}]})


def explained(root: Group, **options: Any) -> Explanation:
    """Explain a described store; a warning would be an error."""
    return explain(memory_store(build(root)), **options)


def the_array(explanation: Explanation, path: str) -> FoundArray:
    found = [it for group in explanation.groups for it in group.arrays if it.path == path]
    assert len(found) == 1
    return found[0]


def the_group(explanation: Explanation, path: str) -> FoundGroup:
    return next(group for group in explanation.groups if group.path == path)


def the_coordinate(explanation: Explanation, group: str, name: str) -> FoundCoordinate:
    return next(it for it in the_group(explanation, group).coordinates if it.name == name)


def quietly_opened(path: Any, **options: Any) -> dict[str, xr.Dataset]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(xr.open_groups(path, engine="xgroup", **options))


# It is what an open does.


@each_store
def test_it_tells_the_datasets_of_an_open(path: Path) -> None:
    datasets = quietly_opened(path, decode_times=False)
    explanation = explain(path)
    assert [group.path for group in explanation.groups] == list(datasets)
    for group in explanation.groups:
        # What arrays of other groups declare to be times is a coordinate in a tree.
        of_tree = {it.name for it in group.arrays if it.times}
        dataset = datasets[group.path].set_coords(of_tree)
        told = {it.name: it.dims for it in group.coordinates}
        assert told == {str(name): it.dims for name, it in dataset.coords.items()}
        for found in group.arrays:
            opened = dataset[found.name]
            assert found.dims == opened.dims
            assert found.shape == opened.shape
            assert found.is_coordinate == (found.name in dataset.coords)
            assert set(found.coordinates) == set(opened.coords) - {found.name}


@each_store
def test_it_tells_the_warnings_of_an_open(path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        xr.open_groups(path, engine="xgroup", decode_cf=False)
    texts = [problem.text for problem in explain(path).problems]
    messages = [str(warning.message) for warning in caught]
    unsaid = [text for text in texts if not any(text in message for message in messages)]
    # In a tree, groups have the coordinates of their parents.
    assert all("declare no principal" in text or "declares no principal" in text for text in unsaid)


def test_no_chunk_is_read_and_no_more_documents_than_by_an_open() -> None:
    times = {"units": "days since 2000-01-01"}
    members: dict[str, Any] = {
        f"g{n}": Group(
            {
                "time": coordinate("time", np.arange(4), **times),
                "a": Array(np.zeros((4, 2)), ("time", "z"), external("z", "../../axes/z")),
                "b": Array(np.zeros(4), ("time",), computed("time")),
            }
        )
        for n in range(4)
    }
    root = Group({"axes": Group({"z": Array([1.0, 2.0], ("z",))}), **members})
    for consolidated in (False, True):
        contents = build(root, consolidated=consolidated)
        stores = [DelayingStore(memory_store(contents), 0.01) for _ in range(2)]
        explanation = explain(stores[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened_tree: Any = xr.open_datatree
            opened_tree(stores[1], engine="xgroup", decode_times=False)
        read, opened = (store.counts for store in stores)
        opened.pop("chunk", None)
        assert not stores[0].chunks
        assert read == opened
        assert stores[0].rounds <= stores[1].rounds
        assert explanation.is_consolidated == consolidated
        assert len(explanation.references) == 4


def test_a_group_is_explained_with_those_below_it() -> None:
    root = Group({"a": Group({"b": Group({"x": coordinate("x", [1.0])})}), "c": Group()})
    explanation = explained(root, group="a")
    assert explanation.group == "/a"
    assert [group.path for group in explanation.groups] == ["/a", "/a/b"]


def test_what_is_imported_late_is_shown_and_nothing_else() -> None:
    assert {"explain", "check"} <= {*dir(zarr_xgroup)}
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(zarr_xgroup, "nonsense")  # noqa: B009 - not known to type checkers


@pytest.mark.parametrize("name", ["stacklevel", "mode", "cache_members", "zarr_version", "bbox"])
@pytest.mark.parametrize("function", [explain, zarr_xgroup.check, zarr_xgroup.levels])
def test_options_that_change_nothing_of_a_report_are_not_taken(function: Any, name: str) -> None:
    shown = signature(function).parameters
    assert next(iter(shown)) == "filename_or_obj"
    assert name not in shown
    with pytest.raises(TypeError, match=f"there is no option {name}"):
        function(memory_store(build(Group())), **{name: None})


def test_options_are_those_of_an_open() -> None:
    store = memory_store(build(Group({"x": coordinate("x", [1.0]), "y": Array([1.0], ("x",))})))
    with pytest.raises(TypeError, match="there is no option nonsense"):
        explain(store, nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="there is no convention 'nonsense'"):
        explain(store, assume_conventions="nonsense")
    with pytest.raises(XGroupGroupError):
        explain(store, group="nowhere")
    with pytest.raises(XGroupStoreNotFoundError):
        explain(MemoryStore())
    kept = explain(store, drop_variables="y", decode_times=False)
    assert [array.path for array in kept.groups[0].arrays] == ["/x"]


# References.


X = Array([1.0, 2.0], ("x",))
ELSEWHERE = Array([1.0, 2.0], ("n",))
GRID = Array(np.zeros((2, 3)), ("y", "x"))
FIELD = replace(X, attrs=external("x", "/axes/x"))
NEAR = Group({"a": replace(X, attrs=external("x", "../x0")), "x0": ELSEWHERE})
AXES_OF_GROUP = {"axes": {"x": {"coordinates": [{"values": {"external": {"node": "/g0/x0"}}}]}}}
OF_GROUP = declaring("cs", cs={"crs": [{"node": "/g0", "attribute": "/attributes/crs"}]})


def located(x: str, y: str) -> dict[str, Any]:
    return declaring("geolocation", geolocation={"geodetic": {"x": {"node": x}, "y": {"node": y}}})


@pytest.mark.parametrize(
    ("root", "told"),
    [
        # From its place to its target.
        (
            {
                "axes": Group({"x": X}),
                "data": Group({"a": replace(X, attrs=external("x", "../axes/x"))}),
            },
            [("/data/a", "../axes/x", "/axes/x", False, ("/data/a",))],
        ),
        # One that arrays share, of each that it is written in.
        (
            {
                "axes": Group({"x": X}),
                **{f"g{n}": Group({"a": FIELD, "b": FIELD}) for n in range(2)},
            },
            [
                (path, "/axes/x", "/axes/x", False, (path,))
                for path in ("/g0/a", "/g0/b", "/g1/a", "/g1/b")
            ],
        ),
        # One of a group, once with all arrays.
        (
            {
                "at": Group({"lon": GRID, "lat": GRID}),
                "g": Group({"a": GRID, "b": GRID}, located("/at/lon", "/at/lat")),
            },
            [("/g", path, path, False, ("/g/a", "/g/b")) for path in ("/at/lon", "/at/lat")],
        ),
        # What one leads to may refer further.
        (
            {
                "g0": Group(
                    {"a": replace(X, attrs=OF_GROUP), "x0": ELSEWHERE}, {"crs": AXES_OF_GROUP}
                ),
                "g1": Group({"a": replace(X, attrs=OF_GROUP)}),
            },
            [
                ("/g0/a", "/g0#/attributes/crs", "/g0", False, ("/g0/a",)),
                ("/g0", "/g0/x0", "/g0/x0", False, ("/g0/a", "/g1/a")),
                ("/g1/a", "/g0#/attributes/crs", "/g0", False, ("/g1/a",)),
            ],
        ),
        # Only by another rule than the first; and a choice.
        ({"g": NEAR}, [("/g/a", "../x0", "/g/x0", True, ("/g/a",))]),
        ({"g": NEAR, "x0": ELSEWHERE}, [("/g/a", "../x0", "/x0", False, ("/g/a",))]),
        # A coordinate of the group instead of one that leads nowhere.
        (
            {"a": replace(GRID, attrs=located("gone/lon", "lat")), "lon": GRID, "lat": GRID},
            [("/a", "gone/lon", "/lon", True, ("/a",)), ("/a", "lat", "/lat", False, ("/a",))],
        ),
        # Paths of CF, and names of dimensions.
        (
            {
                "time": coordinate("time", [1.0, 2.0]),
                "at": Group({"lon": Array(np.zeros((2, 3)), ("time", "x"))}),
                "g": Group(
                    {"a": Array(np.zeros((2, 3)), ("time", "x"), {"coordinates": "/at/lon gone"})},
                    {"zarr_conventions": [{"name": "CF"}]},
                ),
                "h": Group({"b": Array(np.zeros((2, 3)), ("/time", "x"))}),
            },
            [
                ("/g/a", "time", "/time", False, ("/g/a",)),
                ("/g/a", "/at/lon", "/at/lon", False, ("/g/a",)),
                ("/g/a", "gone", None, False, ("/g/a",)),
                ("/h/b", "/time", "/time", False, ("/h/b",)),
            ],
        ),
    ],
)
def test_where_references_lead(root: dict[str, Any], told: list[Any]) -> None:
    found = explained(Group(root)).references
    assert sorted(
        (it.source.node, it.target, it.leads_to and it.leads_to.node, it.by_fallback, it.arrays)
        for it in found
    ) == sorted(told)


def test_what_is_told_of_a_reference_besides() -> None:
    pointer = "/attributes/cs/crs/0/axes/x/coordinates/0/values/external"
    explanation = explained(Group({"g": NEAR, "x0": ELSEWHERE}))
    (found,) = explanation.references
    assert found.source == Place("/g/a", pointer)
    assert found.text == "was taken to be /x0, not /g/x0 (which fits too)"
    attached = the_coordinate(explanation, "/g", "x")
    assert (attached.kind, attached.origin, attached.is_index) == ("stored", Place("/x0"), True)
    root = Group({"a": replace(GRID, attrs=located("gone/lon", "lat")), "lon": GRID, "lat": GRID})
    (found,) = [it for it in explained(root).references if it.target == "gone/lon"]
    assert "the group's own 'lon' was taken" in found.text


def test_a_broken_reference_is_told_with_its_reason_and_as_a_problem() -> None:
    root = Group({"a": Array([1.0, 2.0], ("x",), external("x", "gone"))})
    explanation = explained(root)
    (found,) = explanation.references
    assert found.leads_to is None
    assert found.text.startswith("leads nowhere, tried /gone (not found in store)")
    (problem,) = explanation.problems
    assert problem.place == found.source
    assert problem.arrays == ("/a",)
    assert problem.lost == "coordinate 'x'"
    assert the_array(explanation, "/a").missing == ("x",)


def test_another_store_is_told_by_its_uri_without_credentials(tmp_path: Path) -> None:
    other, place = tmp_path / "other.zarr", tmp_path / "here.zarr"
    uri = f"file://{other}"
    write_local(build(Group({"x": coordinate("x", [1.0, 2.0])})), other)
    attributes = external("x", "/x", uri)
    write_local(build(Group({"a": Array([1.0, 2.0], ("x",), attributes)})), place)
    explanation = explain(place)
    (found,) = explanation.references
    assert found.leads_to == Place("/x", "", uri)
    assert found.target == f"{uri}|/x"
    assert the_coordinate(explanation, "/", "x").kind == "foreign"


# Arrays and coordinates.


def test_who_declares_a_convention() -> None:
    array = Array([1.0, 2.0], ("x",))
    attributes = computed("x")
    undeclared = {"cs": attributes["cs"]}
    root = Group(
        {
            "itself": replace(array, attrs=attributes),
            "g": Group({"a": replace(array, attrs=undeclared)}, declaring("cs")),
            "h": Group({"a": replace(array, attrs=undeclared)}),
        }
    )
    explanation = explained(root, assume_conventions="cs")
    told = {
        path: [
            (it.name, it.tier, it.declared_in) for it in the_array(explanation, path).conventions
        ]
        for path in ("/itself", "/g/a", "/h/a")
    }
    assert told == {
        "/itself": [("cs", "principal", "/itself")],
        "/g/a": [("cs", "principal", "/g")],
        "/h/a": [("cs", "principal", None)],
    }


def test_what_coordinates_are_computed_from() -> None:
    store = explain(STORES / "spatial_test.zarr")
    x = the_coordinate(store, "/bbox", "lon")
    assert (x.kind, x.text) == ("computed", "affine transform: -180.0 + 30.0 * (i + 0.5)")
    crs = the_array(store, "/bbox/height").crs
    assert crs is not None
    assert (crs.name, crs.code, crs.variable) == ("WGS 84", "EPSG:4326", "spatial_ref")
    store = explain(STORES / "cs_test.zarr")
    assert the_coordinate(store, "/axes", "lat").text == "values 50.0, 51.5, 54.0, ..., 60.0"
    lon = the_coordinate(store, "/axes", "lon")
    assert (lon.kind, lon.text, lon.bounds) == (
        "computed",
        "regular: -10.0 + 5.0 * i",
        "lon_bounds",
    )
    assert the_coordinate(store, "/axes", "lon_bounds").text == (
        "-10.0 + 5.0 * i; from -2.5 to +2.5 of each value; cell boundaries of 'lon'"
    )


def test_what_is_called_as_a_dimension_is_a_coordinate() -> None:
    store = memory_store(build(Group({"z": Array(np.zeros((2, 3)), ("t", "z"))})))
    (found,) = explain(store).groups[0].coordinates
    assert (found.name, found.dims, found.is_index) == ("z", ("t", "z"), False)
    assert list(quietly_opened(store)["/"].coords) == ["z"]


def test_a_coordinate_of_the_parents_is_not_missing() -> None:
    root = Group(
        {"x": coordinate("x", [1.0, 2.0]), "g": Group({"a": Array(np.zeros((2, 3)), ("x", "y"))})}
    )
    assert the_array(explained(root), "/g/a").missing == ("y",)


# As text.


def test_text_shows_groups_references_and_problems() -> None:
    root = Group(
        {
            "axes": Group({"x": Array([1.0, 2.0], ("x",))}),
            "data": Group(
                {
                    "a": Array([1.0, 2.0], ("x",), external("x", "../axes/x")),
                    "b": Array([1.0, 2.0], ("y",), external("y", "gone")),
                }
            ),
        }
    )
    assert repr(explained(root)).splitlines()[1:] == [
        "",
        "/",
        "├── axes",
        "│   └── x (x: 2) float64: coordinate",
        "└── data",
        "    ├── a (x: 2) float64",
        "    │     convention cs",
        "    │     x (x) from /axes/x",
        "    └── b (y: 2) float64",
        "          convention cs",
        "          no coordinate along y",
        "          refers to gone",
        "          see [1] below",
        "",
        "[1] Problem: /data/b#/attributes/cs/crs/0/axes/y/coordinates/0/values/external: 'gone' leads",
        "    nowhere, tried /data/gone (not found in store), /data/b/gone (not found in store). Opened",
        "    without coordinate 'y'",
        "",
        "Groups: 3. Arrays: 3. References: 2. Problems: 1.",
    ]


def test_text_of_many_things_is_short_and_the_value_complete() -> None:
    broken = {
        f"a{n}": Array([1.0, 2.0], (f"x{n}",), external(f"x{n}", f"gone{n}")) for n in range(500)
    }
    groups = {f"g{n}": Group({"a": Array([1.0], ("x",))}) for n in range(300)}
    explanation = explained(Group({"broken": Group(broken), **groups}))
    text = str(explanation)
    assert text == repr(explanation)
    assert len(text.splitlines()) <= 200
    assert max(map(len, text.splitlines())) <= 100
    assert "... 488 more arrays\n" in text
    assert "--all" not in text
    problems = [it for it in explanation.problems if it.kind == "problem"]
    assert len(problems) == 200
    assert problems[-1].text.endswith(" (and 300 more of this kind)")
    assert sum(it.count for it in explanation.problems) == 501
    assert text.endswith("Groups: 302. Arrays: 800. References: 500. Problems: 501.")
    assert len({path for it in problems for path in it.arrays}) == 500
    assert len(explanation.references) == 500
    assert len(explanation.groups) == 302


# As JSON.


def assert_told_as_json(explanation: Explanation) -> None:
    """Assert that an explanation is the same when it is made again of its JSON values."""
    told = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert msgspec.convert(told, Explanation) == explanation
    assert told["version"] == values.VERSION


@each_store
def test_own_stores_are_explained_as_json(path: Path) -> None:
    assert_told_as_json(explain(path))


@pytest.mark.parametrize("name", products.PRODUCTS)
def test_products_are_explained_as_json(name: str, tmp_path: Path) -> None:
    assert_told_as_json(explain(products.write(name, tmp_path)))


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_explained_as_json(name: str, tmp_path: Path) -> None:
    document = sample(name)
    documents = {"": document}
    if document["node_type"] == "array":
        shape = document.get("shape", [2, 2])
        documents = {"": group_document(), "a": {**array_document(shape, None), **document}}
    explanation = explain(write(tmp_path, documents))
    assert_told_as_json(explanation)
    assert len(repr(explanation).splitlines()) < 30
