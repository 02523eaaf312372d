"""What conventions say of an array: of that one alone, though arrays and groups that are alike are asked about once."""

import posixpath
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal

import numpy as np
import pyproj
import pytest
import xarray as xr

from zarr_xgroup import ConventionHandler, XGroupError
from zarr_xgroup.conventions import ArrayView, Crs, Interpretation, register, registry
from zarr_xgroup.conventions.array import Memo
from zarr_xgroup.conventions.handler_set import HandlerSet
from zarr_xgroup.datasets.interpretation import DESCRIBING
from zarr_xgroup.findings import Topic, report
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Group,
    assert_same,
    build,
    coordinate,
    declaring,
    memory_store,
    opened_with_warnings,
    quietly,
    stored,
)
from zarr_xgroup.tests.products import PRODUCTS
from zarr_xgroup.tests.products import write as write_product
from zarr_xgroup.tests.random_stores import (
    ASSUMED,
    Documents,
    contents_of,
    node_paths,
    random_store,
)
from zarr_xgroup.tests.tables import brief, check, rows, store_of

# Laws.

STORES = Path(__file__).parents[1] / "stores"
#: Indexes of lengths that nobody wrote would fill the memory.
LAZY = {"create_default_indexes": False} if HAS_INDEX_OPTION else {}
only_without_indexes = pytest.mark.skipif(
    not HAS_INDEX_OPTION, reason="this xarray reads coordinates of any length for its indexes"
)


def with_copies(store: Documents) -> Documents:
    """Return a store in which each group, with all that is in it, stands beside itself twice."""
    copies = {}
    for path in node_paths(store):
        for key, document in store.items():
            if path and key.startswith(f"{path}/"):
                for name in ("copy", "other"):
                    copies[f"{path}_{name}/{key[len(path) + 1 :]}"] = document
    return {**copies, **store}


def with_undescribed(store: Documents) -> Documents:
    """Return a store in which an array without describing attributes stands beside each array."""
    copies: Documents = {}
    for key, document in store.items():
        path, name = posixpath.split(key)
        if not isinstance(document, dict) or f"{path}/.zgroup" in store or not path:
            continue
        if document.get("node_type") == "array" or name in (".zarray", ".zattrs"):
            attributes = document if name == ".zattrs" else document.get("attributes")
            if isinstance(attributes, dict):
                left = {key: it for key, it in attributes.items() if key not in DESCRIBING}
                document = left if name == ".zattrs" else {**document, "attributes": left}
            copies[f"{path}_bare/{name}"] = document
    return {**copies, **store}


@contextmanager
def each_alone() -> Iterator[None]:
    """Have nothing kept that was found of one array or group, for the length of a context."""
    ask = HandlerSet.ask
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memo, "__call__", lambda _self, function, *values, **_by: function(*values))
        patch.setattr(HandlerSet, "ask", lambda *given: replace(ask(*given), is_for_one_array=True))
        yield


def opened_groups(store: Any, assumed: Any) -> tuple[Mapping[str, xr.Dataset], list[str]]:
    """Return the Datasets of a store and what is told, or what is raised."""
    options = {"consolidated": False, "assume_conventions": assumed, **LAZY}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = xr.open_groups(store, engine="xgroup", **options)
        except XGroupError as error:
            return {}, [str(error)]
    return found, sorted(f"{it.category.__name__} {it.message}" for it in told)


def assert_as_if_each_were_asked_alone(store: Any, assumed: Any) -> None:
    found, told = opened_groups(store, assumed)
    with each_alone():
        alone, told_alone = opened_groups(store, assumed)
    assert told == told_alone
    assert set(found) == set(alone)
    for path, dataset in found.items():
        assert_same(dataset, alone[path], values=False)


@only_without_indexes
@pytest.mark.parametrize("change", [with_copies, with_undescribed])
def test_random_arrays_as_if_asked_alone(change: Callable[[Documents], Documents]) -> None:
    for seed in range(240, 270):
        documents = random_store(Random(seed))
        store = memory_store(contents_of(change(documents)))
        assert_as_if_each_were_asked_alone(store, documents.get(ASSUMED))


@only_without_indexes
@pytest.mark.parametrize("assumed", [None, "auto"])
@pytest.mark.parametrize("name", [*PRODUCTS, "cs_test", "spatial_test"])
def test_arrays_of_published_stores_as_if_asked_alone(
    name: str, assumed: Any, tmp_path: Path
) -> None:
    known = name in PRODUCTS
    store = write_product(name, tmp_path / "p.zarr") if known else STORES / f"{name}.zarr"
    assert_as_if_each_were_asked_alone(store, assumed)


def led_to(array: ArrayView, target: str) -> Any:
    """Return where a reference leads that is written in the array."""
    try:
        return array.resolver.array(Fragment(array.node, ("k",), {"node": target})).path
    except XGroupError as error:
        return type(error).__name__


def value(fragment: Fragment | None) -> Any:
    return fragment and fragment.value


class Asking(ConventionHandler):
    """Asks one question of an array, and says by an attribute what it was answered."""

    tier: ClassVar[Literal["principal", "service"]] = "service"
    name = "it"
    question: ClassVar[str]

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        return True

    def interpret(self, array: ArrayView) -> Interpretation:
        return array.interpretation(attributes={"answer": repr(QUESTIONS[self.question](array))})


QUESTIONS: dict[str, Any] = {
    "an attribute": lambda array: array.attributes.get("k"),
    "all attributes": lambda array: dict(array.attributes),
    "of the group": lambda array: value(array.attribute("k", array.node.group)),
    "of the group above": lambda array: value(array.attribute("k", array.node.group.group)),
    "its document": lambda array: array.document_of(array.node)["fill_value"],
    "a sibling": lambda array: value(array.attribute("k", array.node.group.child("b"))),
    "another array": lambda array: value(array.attribute("k", Node(0, "g/a"))),
    "its name": lambda array: array.name,
    "its path": lambda array: array.node.path,
    "place of an attribute": lambda array: str(array.attribute("k")),
    "an error": lambda array: str(Fragment(array.node, ("k",), 1).error("is wrong")),
    "how deep": lambda array: len(list(array.node.ancestors())),
    "whether it is a": lambda array: array.node == Node(0, "g/a"),
    "whether it is among": lambda array: array.node in {Node(0, "g/b"), Node(0, "h/a")},
    "whether it is in g": lambda array: array.node.group == Node(0, "g"),
    "a neighbour": lambda array: led_to(array, "b"),
    "an uncle": lambda array: led_to(array, "../b"),
    "from the root": lambda array: led_to(array, "/g/b"),
}

A, B = (stored([1, 2], "x", k=key) for key in (1, 2))
ABC = {"a": A, "b": B, "c": A}
#: Groups that are alike, or nearly so.
ALIKE = Group(
    {
        "g": Group(ABC),
        "h": Group(ABC),
        "i": Group({"a": A, "c": A}),
        "j": Group(ABC, {"k": 1}),
        "l": Group({**ABC, "g": Group(ABC)}, {"k": 2}),
        "a": A,
        "b": A,
    },
    {"k": 3},
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_array_is_answered_as_if_asked_alone(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", [Asking])
    monkeypatch.setattr(Asking, "question", question, raising=False)
    store: Any = store_of(ALIKE)
    for path, dataset in quietly(xr.open_groups, store, engine="xgroup").items():
        for name, array in dataset.data_vars.items():
            others = [other for other in dataset.variables if other != name]
            options = {"group": path, "drop_variables": others}
            alone = quietly(xr.open_dataset, store, engine="xgroup", **options)
            assert array.attrs["answer"] == alone[name].attrs["answer"]


# Arrays and groups that are alike but for something.


def grid(**attributes: Any) -> Array:
    return stored(np.ones((2, 2)), "y x", **attributes)


def in_cs(first: float) -> dict[str, Any]:
    """Return attributes that declare `x` by `cs`."""
    axes = {"x": {"coordinates": [{"values": {"regular": [first, 1]}}]}}
    return {"cs": {"crs": [{"axes": axes}]}}


UOM = {"uom": {"ucum": {"unit": "kg"}}}
ALONG_X = {**declaring("cs"), **in_cs(5)}
PLAIN = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
TURNED = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 1, 0, -1, 1, 0]}
MERCATOR = grid(**PLAIN, **declaring("spatial", "proj"), **{"proj:code": "EPSG:3857"})
DEGREES = stored(0, crs_wkt=pyproj.CRS("EPSG:4326").to_wkt())
FLAGGED = stored([1], "x", **declaring("CF", ancillary_variables="/b"))
NAMING_A, NAMING_B = (
    stored([1], "x", **declaring("CF", ancillary_variables=path)) for path in ("/g/a", "/g/no")
)
IN_CRS = grid(**declaring("proj"))
IN_TIME = Group({"v": stored([7, 8], "/time")})


def of_x(path: str) -> Array:
    return Array([1, 2], ("x",), declaring("CF"), v2={"_NCZARR_ARRAY": {"dimrefs": [path]}})


#: Nodes, the variables that are looked at, and these.
BUT_FOR: dict[str, tuple[Any, str, str]] = {
    "what they declare":
        ({"a": stored([1], "x", **declaring("uom"), **UOM), "b": stored([1], "x", **UOM)}, "a b", "/:; a (x) | units=kg; b (x)"),
    "one that refers to itself":
        (dict.fromkeys("abc", FLAGGED), "a b c", "/:; a (x) | ancillary_variables=b; b (x) | ancillary_variables=/b; c (x) | ancillary_variables=b"),
    "a CRS of the group's own":
        ({"p": Group({"a": MERCATOR}), "q": Group({"a": MERCATOR, "spatial_ref": DEGREES})}, "x spatial_ref",
         "/:; /p:; spatial_ref () EPSG:3857; x (x) 0.5 1.5 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m; /q:; spatial_ref () EPSG:4326; x (x) 0.5 1.5 | axis=X long_name=longitude coordinate standard_name=longitude units=degrees_east"),
    "what the group declares, one above, or one beside":
        ({"p": Group({"a": IN_CRS, "q": Group({"a": IN_CRS})}, {"proj:code": "EPSG:4326"}), "r": Group({"a": IN_CRS})}, "a",
         "/:; /p:; a (y x) @ spatial_ref | grid_mapping=spatial_ref; /r:; a (y x); /p/q:; a (y x)"),
    "the group that defines their dimension":
        ({"a": of_x("/g/x"), "b": of_x("/h/x"), "g": Group({"x": coordinate("x", [10, 20])}), "h": Group({"x": coordinate("x", [30, 40])})}, "a b x h_x",
         "/:; x (x) 10 20; a (x) @ x; b (x_b) @ x_b; /g:; x (x) 10 20; /h:; x (x) 30 40; ! Dimension /b"),
    "the name of a dimension that others get by being renamed":
        ({"a": stored([1], "x"), "b": stored([1, 2], "x", **ALONG_X), "c": stored([1, 2], "x_b", **ALONG_X)}, "a b c x x_b",
         "/:; x_b (x_b) 5 6; a (x); b (x_b) @ x_b; c (x_b) @ x_b; ! Dimension /b; ! Resolution /c"),
    "the group that a reference leads to, or does not":
        ({"g": Group({"a": NAMING_A, "b": NAMING_B}), "h": Group({"a": NAMING_A, "b": NAMING_B})}, "a b",
         "/:; /g:; a (x) | ancillary_variables=/g/a; b (x) | ancillary_variables=/g/no; /h:; a (x) @ g_a | ancillary_variables=g_a; b (x) @ g_a | ancillary_variables=/g/no; ! Name /h/a; ! Resolution /g/b, /h/b"),
    "two principal conventions, of which the first is asked, or CF and one":
        ({"a": grid(**declaring("cs", "spatial"), **PLAIN, **in_cs(5)), "b": grid(**declaring("CF", "cs"), **TURNED, **in_cs(5))}, "x y a b",
         "/:; x (x) 5 6; a (y x) @ x; b (y x) @ x; ! Resolution /a"),
    "a dimension that only one of the groups above has":
        ({"p": Group({"g": IN_TIME}), "q": Group({"g": IN_TIME, "time": coordinate("time", [1, 2])})}, "v time",
         "/:; /p:; /q:; time (time) 1 2; /p/g:; v (/time); /q/g:; time (time) 1 2; v (time) @ time"),
}  # fmt: skip


@rows(BUT_FOR, "nodes, names, expected")
def test_what_is_alike_but_for(nodes: Any, names: str, expected: str) -> None:
    zarr_format: Any = 2 if "b" in nodes and nodes["b"].v2 else 3
    options: Any = {"function": xr.open_groups, "zarr_format": zarr_format}
    assert brief({"": {}, **nodes}, only=names, **options) == expected


def test_what_is_assumed_says_what_others_have_not_said() -> None:
    """Its transform is not that of the grid then, nor of the group's own coordinates."""
    numbers = {"proj:shape": [2, 2], "proj:transform": [10, 0, 0, 0, -10, 20]}
    field = grid(**{"proj:code": "EPSG:32632"}, **numbers, **ALONG_X)
    nodes = {"": {}, "a": field, "y": coordinate("y", [1, 2])}
    check(
        nodes,
        """
        spatial_ref () EPSG:32632
        x (x) 5 6
        y (y) 1 2 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        """,
        only="x y spatial_ref",
        assume_conventions="proj",
    )


@pytest.mark.parametrize("assets", ["b c", "c", "g/b g/c", "g/b g", "g/c g", "g/c"])
def test_an_item_of_a_layout_is_about_the_array_that_it_names(assets: str) -> None:
    origins = {asset: 10 * place for place, asset in enumerate(assets.split(), start=1)}
    items = [
        {"asset": asset, "spatial:transform": [1, 0, origin, 0, 1, 0]}
        for asset, origin in origins.items()
    ]
    attributes = declaring("spatial", multiscales={"layout": items})
    dims = {"spatial:dimensions": ["y", "x"]}
    grids: dict[str, Array | Group] = dict.fromkeys("abcd", grid())
    group = "g" if "g" in assets else ""
    root = Group({"g": Group(grids, dims)} if group else grids, attributes | dims)
    dataset = quietly(xr.open_dataset, store_of(root), engine="xgroup", group=group)
    for name in grids:
        origin = origins.get(f"{group}/{name}".strip("/"), origins.get(group))
        found = [float(it[0]) for it in dataset[name].coords.values() if it.attrs["axis"] == "X"]
        assert origin is None or found == [origin + 0.5]


# What is broken.


def test_a_broken_array_of_one_of_several_groups_is_told_of_it() -> None:
    contents = build(Group(dict.fromkeys("ghi", Group({"a": stored([1], "x")}))))
    contents["h/b/zarr.json"] = b"nonsense"
    found, told = opened_with_warnings(xr.open_groups, memory_store(contents))
    assert [set(found[f"/{name}"].variables) for name in "ghi"] == [{"a"}] * 3
    assert [warning.paths for warning in told] == [("/h/b",)]


# Handlers of third parties: when they are asked, and for which arrays their answers hold.


class Plugin(ConventionHandler):
    """Says by an attribute which array it was asked about."""

    tier: ClassVar[Literal["principal", "service"]] = "service"
    name = "it"

    def interpret(self, array: ArrayView) -> Interpretation:
        return array.interpretation(attributes={"asked": str(array.node)})


IT = declaring({"name": "it"})
PLUGIN = {"name": "it"}


def asked(root: Group, handler: type[ConventionHandler]) -> dict[str, Any]:
    """Return which array the handler was asked about in place of each one, as far as it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_REGISTERED", [handler])
        found = quietly(xr.open_groups, store_of(root), engine="xgroup")
    return {
        f"{path.rstrip('/')}/{name}": array.attrs.get("asked")
        for path, dataset in found.items()
        for name, array in dataset.data_vars.items()
    }


@pytest.mark.parametrize("attribute", ["it:mode", "mode"])
@pytest.mark.parametrize(("bare", "marked"), ["ab", "ba"])
def test_what_begins_with_the_name_of_a_convention_may_declare_it(
    attribute: str, bare: str, marked: str
) -> None:
    group = Group({bare: stored([1], "x"), marked: stored([1], "x", **{attribute: 1})})
    declaring_it = f"/g/{marked}" if attribute == "it:mode" else None
    found = asked(Group({"g": group}, IT), Plugin)
    assert found == {f"/g/{bare}": None, f"/g/{marked}": declaring_it}


class Detecting(Plugin):
    """Applies to what is called so, wherever it is, and is asked once for each array."""

    calls: ClassVar[list[str]] = []
    applying: ClassVar[str] = ""

    @classmethod
    def detect(cls, root: Any, group: Any, array: Any) -> bool:
        cls.calls.append(f"/{array.path}")
        return bool(re.fullmatch(cls.applying, array.path))


@pytest.mark.parametrize("applying", ["g/a", "g/b", "h/b", "./b", ".*"])
def test_a_handler_that_detects_is_asked_for_each_array(
    applying: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Detecting, "applying", applying)
    monkeypatch.setattr(Detecting, "calls", [])
    group = Group(dict.fromkeys("ab", stored([1], "x")))
    paths = ["/g/a", "/g/b", "/h/a", "/h/b"]
    found = asked(Group({"g": group, "h": group}), Detecting)
    assert found == {it: it if re.fullmatch(f"/{applying}", it) else None for it in paths}
    assert sorted(Detecting.calls) == paths


def test_a_principal_convention_of_a_third_party_goes_before_cf_alone() -> None:
    class Principal(Plugin):
        tier = "principal"

    arrays = {
        "a": stored([1], "x", **declaring("CF", PLUGIN)),
        "b": stored([1], "x", **declaring("CF", "cs", PLUGIN)),
        "c": stored([1], "x", **declaring("CF")),
    }
    assert asked(Group(arrays), Principal) == {"/a": "/a", "/b": None, "/c": None}


def test_what_two_conventions_say_of_an_array() -> None:
    class Describing(Plugin):
        def interpret(self, array: ArrayView) -> Interpretation:
            return Interpretation(
                geotransform="0 1 0 0 0 1",
                crs=Crs("proj:code", "EPSG:3857"),
                attributes={"units": "m", "said": 1},
                findings=(report(Topic.CHOICE, array.node, "it is said"),),
            )

    register(Describing)
    check(
        {"": {}, "a": grid(**declaring("uom", PLUGIN), **UOM), "b": grid(**IT)},
        """
        spatial_ref () EPSG:3857 | GeoTransform=0 1 0 0 0 1
        a (y x) @ spatial_ref | grid_mapping=spatial_ref said=1 units=kg
        b (y x) @ spatial_ref | grid_mapping=spatial_ref said=1 units=m
        ! Resolution: /a, /b: it is said
        """,
    )


@pytest.mark.parametrize(("declared", "has_crs"), [("uom", True), ("CF", True), (PLUGIN, False)])
def test_an_array_that_follows_a_built_in_convention_has_the_crs_that_it_names(
    declared: Any, has_crs: bool
) -> None:
    register(Plugin)
    store = store_of({"": {}, "a": grid(**declaring(declared), **{"proj:code": "EPSG:3857"})})
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    assert ("spatial_ref" in dataset.coords) == has_crs
