"""Equal answers: a group opens the same alone, in a tree and among groups, whichever equal arrays and groups are beside it."""

import json
import os
import runpy
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal

import pytest
import xarray as xr
from hypothesis import given, settings

from zarr_xgroup.conventions import (
    ArrayView,
    ConventionHandler,
    Interpretation,
    register,
    registry,
)
from zarr_xgroup.conventions.dialects.geozarr import GeoZarrHandler
from zarr_xgroup.conventions.handler_set import HandlerSet
from zarr_xgroup.conventions.uom import UomHandler
from zarr_xgroup.datasets import interpretation
from zarr_xgroup.datasets.interpretation import _GroupInterpreter
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.storage import reading
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    Json,
    Nodes,
    assert_same,
    build,
    coordinate,
    declaring,
    memory_store,
    quietly,
    recorded,
    stored,
    write_local,
)
from zarr_xgroup.tests.documents import FORMS
from zarr_xgroup.tests.hierarchies import hierarchies
from zarr_xgroup.tests.pages import DOCS
from zarr_xgroup.tests.products import PRODUCTS, write
from zarr_xgroup.tests.random_stores import ASSUMED, contents_of, random_store
from zarr_xgroup.tests.recorded_views import unstated
from zarr_xgroup.tests.sample_stores import SAMPLES
from zarr_xgroup.tests.strategies import thorough
from zarr_xgroup.tests.tables import rows, store_of, text_of

#: How many random hierarchies are opened; if it is not set, a few, always the same.
EXAMPLES = int(os.environ.get("XGROUP_EXAMPLES", "0"))


def grid(first: float = 0.0, **attributes: Any) -> Array:
    return stored([[first, first + 1.0]], "y x", **attributes)


def layout_naming(*assets: str, **attributes: Any) -> Group:
    """Return a group whose layout names nodes, and has these attributes for them."""
    items = [{"asset": asset, **attributes} for asset in assets]
    return Group({}, declaring("multiscales", "spatial", "proj", multiscales={"layout": items}))


INTERVAL = {"type": "interval", "start": 0, "end": 1, "step": 1}
LAT = {"type": "array", "path": "lat"}
CATALOGUES = (
    {"coords:coordinates": {"x": INTERVAL, "lat": {**LAT, "indexed_by": ["y", "x"]}}},
    {
        "dimensions:axes": {"x": {"coords": INTERVAL}},
        "dimensions:coordinates": {"lat": {"coords": LAT, "indexed_by": ["y", "x"]}},
    },
)
#: A geolocation whose arrays are missing in the group that it names.
MISSING = {"x": {"node": "../missing/lon"}, "y": {"node": "../missing/lat"}}
GEOLOCATION = declaring("geolocation", geolocation={"geodetic": MISSING})
PLACED = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 10, 0, 1, 20]}
IN_DEGREES = {"proj:code": "EPSG:4326"}
ONE = {"v": grid()}
AT_10 = "x (x) 10.5 11.5 | axis=X; y (y) 20.5 | axis=Y; v (y x) @ x y"
MAPPED = "spatial_ref () EPSG:4326; v (y x) @ spatial_ref | grid_mapping=spatial_ref"
CF = Group({}, {"Conventions": "CF-1.8"})


def naming_x(path: str) -> Group:
    """Return a group whose `v` names an array `x` by a path, and that has an equal `x` itself."""
    return Group({"v": stored([1.0], "t", coordinates=path), "x": stored([2.0], "t")})


#: Nodes, and the Dataset of each group as text. `OTHER` stands for a name that is sorted first, and for one that is last.
EQUAL: dict[str, tuple[Nodes, dict[str, str]]] = {
    "an array that the catalogue of its group names": (
        {"": Group({}, declaring("coords", **CATALOGUES[0])), "lat": grid(), "OTHER": grid(5)},
        {"": "lat (y x) [[0.0 1.0]]; x (x) 0 1; OTHER (y x) @ lat x"},
    ),
    "an array that a catalogue of the newer draft names": (
        {"": Group({}, declaring("coords", **CATALOGUES[1])), "lat": grid(), "OTHER": grid(5)},
        {"": "lat (y x) [[0.0 1.0]]; x (x) 0 1; OTHER (y x) @ lat x"},
    ),
    "an array with the name of a missing geolocation array": (
        {"": {}, "g": Group({"lon": grid(), "OTHER": grid(5)}, GEOLOCATION)},
        {"g": "lon (y x) [[0.0 1.0]] | standard_name=longitude; OTHER (y x) @ lon"},
    ),
    "the same, beside an attribute that no handler reads": (
        {"": {}, "g": Group({"lon": grid(), "OTHER": grid(5, note={"any": 1})}, GEOLOCATION)},
        {"g": 'lon (y x) [[0.0 1.0]] | standard_name=longitude; OTHER (y x) @ lon | note={"any": 1}'},
    ),
    "a group that a layout names": (
        {"": layout_naming("b", **PLACED), "b": Group(ONE), "OTHER": Group(ONE)},
        {"b": AT_10, "OTHER": "v (y x)"},
    ),
    "a group to which a layout gives a CRS": (
        {"": layout_naming("b", **IN_DEGREES), "b": Group(ONE), "OTHER": Group(ONE)},
        {"b": MAPPED, "OTHER": "v (y x)"},
    ),
    "groups of which a layout names a different one in each parent": (
        {
            "": layout_naming("p/b", "q/OTHER", **PLACED),
            **{parent: Group({"b": Group(ONE), "OTHER": Group(ONE)}) for parent in "pq"},
        },
        {"p/b": AT_10, "p/OTHER": "v (y x)", "q/b": "v (y x)", "q/OTHER": AT_10},
    ),
    "a group that a layout two levels above names": (
        {"": layout_naming("p/b", **PLACED), "p": Group({"b": Group(ONE), "OTHER": Group(ONE)})},
        {"p/b": AT_10, "p/OTHER": "v (y x)"},
    ),
    "an array that a layout above its group names": (
        {"": layout_naming("b/v", **PLACED), "b": Group(ONE), "OTHER": Group(ONE)},
        {"b": AT_10, "OTHER": "v (y x)"},
    ),
    "a group to which an absolute path leads": (
        {"": CF, "g": naming_x("/g/x"), "OTHER": naming_x("/g/x")},
        {"g": "v (t); x (t)", "OTHER": "x (t) 2.0; v (t) @ x"},
    ),
    "a group to which a relative path leads": (
        {"": CF, "g": naming_x("../g/x"), "OTHER": naming_x("../g/x")},
        {"g": "v (t); x (t)", "OTHER": "x (t) 2.0; v (t) @ x"},
    ),
}  # fmt: skip


def answers(nodes: Nodes, group: str, **options: Any) -> set[frozenset[str]]:
    """Return a group's Datasets as texts, opened alone, in a tree and among groups, from each form of the store."""
    texts = set[frozenset[str]]()
    for zarr_format, consolidated in FORMS:
        store: Any = store_of(nodes, zarr_format, consolidated=consolidated)
        tree = quietly(xr.open_datatree, store, engine="xgroup", **options)
        datasets = [
            quietly(xr.open_dataset, store, engine="xgroup", group=group, **options),
            quietly(xr.open_groups, store, engine="xgroup", **options)[f"/{group}"],
            tree[f"/{group}"].to_dataset(),
        ]
        texts.update(frozenset(text_of(dataset)) for dataset in datasets)
    return texts


def renamed(node: Any, name: str) -> Any:
    """Return a node whose members that are named `OTHER` have a different name."""
    if not isinstance(node, Group):
        return node
    members = {key.replace("OTHER", name): renamed(it, name) for key, it in node.members.items()}
    attributes = json.loads(json.dumps(node.attrs).replace("OTHER", name))
    return Group(members, attributes)


each_order = pytest.mark.parametrize("other", ["a0", "z9"])


def check_equal(nodes: Nodes, expected: Mapping[str, str], other: str, **options: Any) -> None:
    """Assert that groups open as expected in each way, with the name `other` for `OTHER`."""
    named: Any = {path.replace("OTHER", other): renamed(it, other) for path, it in nodes.items()}
    for group, text in expected.items():
        lines = text.replace("OTHER", other).split("; ")
        assert answers(named, group.replace("OTHER", other), **options) == {frozenset(lines)}


@each_order
@rows(EQUAL, "nodes, expected")
def test_a_group_opens_the_same_beside_equal_arrays_and_groups(
    nodes: Nodes, expected: Mapping[str, str], other: str
) -> None:
    check_equal(nodes, expected, other)


GDAL: Json = {"GeoTransform": "0 1 0 0 0 1"}
#: A group whose arrays have names that arrays of other groups refer to.
NAMED = Group({"x": coordinate("x", [7.0, 8.0]), "y": coordinate("y", [9.0]), "crs": stored(0)})
COMPUTED = "x (x) 0.5 1.5 | axis=X; y (y) 0.5 | axis=Y"
#: The same with ``assume_conventions="auto"``.
AUTO: dict[str, tuple[Nodes, dict[str, str]]] = {
    "a grid mapping variable in a group beside": (
        {"": {}, "g": Group({"v": grid(**GDAL, grid_mapping="crs")}), "OTHER": NAMED},
        {"g": f"{COMPUTED}; v (y x) @ x y | GeoTransform=0 1 0 0 0 1 grid_mapping=crs"},
    ),
    "coordinates in a group beside": (
        {"": {}, "g": Group({"v": grid(**GDAL, coordinates="x")}), "OTHER": NAMED},
        {"g": f"{COMPUTED}; v (y x) @ x y | GeoTransform=0 1 0 0 0 1"},
    ),
    "coordinates in a group above": (
        {"": Group(NAMED.members), "g": Group({"v": grid(**GDAL)}), "OTHER": NAMED},
        {"g": "x (x) 7.0 8.0; y (y) 9.0; v (y x) @ x y | GeoTransform=0 1 0 0 0 1"},
    ),
}


@each_order
@rows(AUTO, "nodes, expected")
def test_auto_looks_at_the_same_nodes_whatever_was_read_before(
    nodes: Nodes, expected: Mapping[str, str], other: str
) -> None:
    check_equal(nodes, expected, other, assume_conventions="auto")


def test_the_conventions_that_auto_assumes_are_recorded_by_group() -> None:
    store: Any = store_of({"": {}, "g": Group({"v": grid(**GDAL)}), "h": Group(ONE)})
    options: Any = {"engine": "xgroup", "assume_conventions": "auto"}
    for path, dataset in quietly(xr.open_groups, store, **options).items():
        assert_same(quietly(xr.open_dataset, store, group=path, **options), dataset)


# Random hierarchies.


@contextmanager
def nothing_shared() -> Iterator[None]:
    """Interpret each array and group itself."""
    array_reading = _GroupInterpreter._array_reading

    def own_reading(group: Any, *args: Any, **context: Any) -> Any:
        group._arrays.clear()
        return array_reading(group, *args, **context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_GroupInterpreter, "_array_reading", own_reading)
        patch.setattr(interpretation, "_shared_reading", interpretation._own_reading)
        yield


def without_places(result: Any) -> Any:
    """Return Datasets or a tree without the address of the store in encodings."""
    trees = [result] if isinstance(result, xr.DataTree) else []
    nodes = [node.dataset for tree in trees for node in tree.subtree]
    for dataset in nodes or (result.values() if isinstance(result, dict) else [result]):
        for variable in dataset.variables.values():
            variable.encoding.pop("source", None)
    return result


@settings(thorough(EXAMPLES or 12), derandomize=not EXAMPLES)
@given(hierarchies())
def test_random_groups_open_the_same_in_each_way(hierarchy: tuple[Nodes, Json]) -> None:
    nodes, options = hierarchy
    store: Any = store_of(nodes)
    options["engine"] = "xgroup"
    groups, given = recorded(xr.open_groups, store, **options)
    without_places(groups)
    with nothing_shared():
        own, own_given = recorded(xr.open_groups, store, **options)
    assert_same(groups, without_places(own))
    assert sorted(map(str, given)) == sorted(map(str, own_given))
    for path, dataset in groups.items():
        alone = quietly(xr.open_dataset, store, group=path, **options)
        assert_same(without_places(alone), dataset)
    for zarr_format, consolidated in FORMS:
        other: Any = store_of(nodes, zarr_format, consolidated=consolidated)
        opened = quietly(xr.open_groups, other, **options)
        assert_same(without_places(opened), groups, encoding=False)
    tree, given = recorded(xr.open_datatree, store, **options)
    # A tree renames dimensions and variables that do not align with those of its parents, and warns.
    if "in a DataTree" not in " ".join(map(str, given)):
        assert_same(without_places(tree), xr.DataTree.from_dict(groups), encoding=False)
    assert unstated(store, assume_conventions=options["assume_conventions"]) == set()


# Handlers state on what their answers depend.


def store_named(name: Any, folder: Path) -> Any:
    """Return a store: a sample, a row of a table, a product, or a random store."""
    if name in SAMPLES:
        return store_of(SAMPLES[name].make())
    if name in EQUAL:
        return store_of(EQUAL[name][0])
    if name in PRODUCTS:
        return write(name, folder / "p.zarr")
    documents = random_store(Random(name))
    documents.pop(ASSUMED, None)
    return memory_store(contents_of(documents))


@pytest.mark.parametrize("assumed", [(), "auto"])
@pytest.mark.parametrize("name", [*SAMPLES, *EQUAL, *PRODUCTS, *range(20)])
def test_answers_depend_only_on_what_handlers_state(
    name: Any, assumed: Any, tmp_path: Path
) -> None:
    for path in DOCS.glob("examples/*/xgroup_*.py"):
        for handler in runpy.run_path(str(path)).values():
            if isinstance(handler, type) and handler.__module__ == "<run_path>":
                register(handler)
    assert unstated(store_named(name, tmp_path), assume_conventions=assumed) == set()


#: Handlers, attributes that they state, and attributes of an array by which they are asked for.
STATED: dict[str, tuple[Any, str, Json]] = {
    "a transform": (GeoZarrHandler, "GeoTransform", GDAL),
    "a CRS": (GeoZarrHandler, "_CRS", {}),  # an object would count as stated
    "a name": (UomHandler, "standard_name", declaring("uom", uom={"ucum": {"unit": "deg"}})),
}


@rows(STATED, "handler, attribute, attributes")
def test_an_attribute_that_a_handler_does_not_state_is_found(
    handler: Any, attribute: str, attributes: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of({"": {}, "v": grid(**attributes)})
    assert unstated(store, assume_conventions="auto") == set()
    monkeypatch.setattr(interpretation, "handler_set", HandlerSet)
    others = tuple(key for key in handler.reads if key != attribute)
    monkeypatch.setattr(handler, "reads", others)
    assert f"/v: {attribute}" in unstated(store, assume_conventions="auto")


class Asking(ConventionHandler):
    """Asks about an array, and gives it the answer as an attribute."""

    tier: ClassVar[Literal["principal", "service"]] = "service"
    name = "asking"
    reads = ()
    question: ClassVar[Callable[[ArrayView], Any]]

    def interpret(self, array: ArrayView) -> Interpretation:
        return array.interpretation(attributes={"answer": repr(type(self).question(array))})


#: Questions about an array, and what is found if a handler does not state that it depends on them.
QUESTIONS: dict[str, tuple[Callable[[ArrayView], Any], str]] = {
    "an attribute": (lambda array: array.attributes.get("k"), "k"),
    "whether it has one": (lambda array: "k" in array.attributes, "k"),
    "the text of one": (lambda array: array.attributes.text("k"), "k"),
    "one with its place": (lambda array: str(array.attribute("k")), "k"),
    "one in its document": (lambda array: array.document["attributes"]["k"], "k"),
    "all attributes": (lambda array: sorted(array.attributes), "has its own attributes"),
    "its name": (lambda array: array.name, "name in name"),
    "its path": (lambda array: array.node.path, "path in <lambda>"),
    "its text": (lambda array: f"{array.node}", "text in <lambda>"),
    "whether it is itself": (lambda array: array.node == Node(0, "g/a"), "comparison in <lambda>"),
    "whether it is a different array": (lambda array: array.node != Node(0, "g/b"), "comparison with /g/b"),
    "whether it is among some": (lambda array: array.node in {Node(0, "g/b")}, "hash in <lambda>"),
    "the name of its group": (lambda array: array.node.group.name, "name in <lambda>, of its group"),
    "the path of the group above": (lambda array: array.node.group.group.path, "path in <lambda>, of its group"),
    "whether its group is a different one": (lambda array: array.node.group == Node(0, "h"), "comparison of its group with /h"),
}  # fmt: skip


@rows(QUESTIONS, "question, expected")
def test_a_question_whose_answer_a_handler_does_not_state_is_found(
    question: Callable[[ArrayView], Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", [Asking])
    monkeypatch.setattr(Asking, "question", question, raising=False)
    array = grid(**declaring({"name": "asking"}), k=1)
    store = store_of({"": {}, **dict.fromkeys("gh", Group({"a": array, "b": array}))})
    assert f"/g/a: {expected}" in unstated(store)


# Documents are in the order of their paths, not in that in which they were read.


@pytest.mark.parametrize("slow", ["s.zarr/p", "s.zarr/p/g"])
def test_the_outermost_consolidated_metadata_are_used_whichever_is_read_first(
    slow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build({"": {}, "g": Group({"a": grid(), "b": grid()})}, consolidated=True)
    part = build({"": {}, "a": grid()}, consolidated=True)["zarr.json"]
    folder = write_local(build({"": {}}), tmp_path / "s.zarr")
    store: Any = write_local({**whole, "g/zarr.json": part}, folder / "p")
    documents_in = reading._documents_in

    def slowly(folder: str, names: Any) -> Any:
        if folder.endswith(slow):
            time.sleep(0.05)
        return documents_in(folder, names)

    monkeypatch.setattr(reading, "_documents_in", slowly)
    dataset = quietly(xr.open_dataset, store, engine="xgroup", group="g")
    assert set(dataset.variables) == {"a", "b"}
