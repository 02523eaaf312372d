"""Interpretations of arrays, which identical arrays and groups share."""

from typing import Any, ClassVar, Literal

import numpy as np
import pyproj
import pytest
import xarray as xr

from zarr_xgroup import ConventionHandler, XGroupError
from zarr_xgroup.conventions import ArrayView, Crs, Interpretation, register, registry
from zarr_xgroup.conventions.base import Marks
from zarr_xgroup.findings import Topic, new_finding
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    coordinate,
    declaring,
    opened_with_warnings,
    quietly,
    recorded,
    stored,
)
from zarr_xgroup.tests.tables import brief, check, rows, store_of


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
    "of the group": lambda array: value(array.attribute("k", array.node.group)),
    "its document": lambda array: array.document_of(array.node)["fill_value"],
    "a sibling": lambda array: value(array.attribute("k", array.node.group.child("b"))),
    "another array": lambda array: value(array.attribute("k", Node(0, "g/a"))),
    "its name": lambda array: array.name,
    "its path": lambda array: array.node.path,
    "whether it is a": lambda array: array.node == Node(0, "g/a"),
    "whether it is among": lambda array: array.node in {Node(0, "g/b"), Node(0, "h/a")},
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
def test_each_array_is_interpreted_as_if_opened_alone(
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
LON = Group(
    {
        "v": stored(
            [1, 2],
            "x",
            **declaring("cs"),
            cs={
                "crs": [
                    {"axes": {"x": {"coordinates": [{"values": {"external": {"node": "../lon"}}}]}}}
                ]
            },
        )
    }
)
IN_TIME = Group({"v": stored([7, 8], "/time")})


LAYOUT = [{"asset": "0"}, {"asset": "1", "derived_from": "0", "transform": {"scale": [2, 2]}}]
LEVELS = {
    **declaring("multiscales", "spatial"),
    "multiscales": {"layout": LAYOUT},
    "spatial:dimensions": ["y", "x"],
}


def at(first: int) -> dict[str, Any]:
    """Return the `spatial:transform` of a grid by the edge of its first column."""
    return {"spatial:transform": [1, 0, first, 0, 1, 0]}


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
    "which of the groups above declares it":
        ({"p": Group({"a": IN_CRS, "q": Group({"a": IN_CRS, "q": Group({"a": IN_CRS})})}, {"proj:code": "EPSG:4326"})}, "a",
         "/:; /p:; a (y x) @ spatial_ref | grid_mapping=spatial_ref; /p/q:; a (y x); /p/q/q:; a (y x)"),
    "the group that defines their dimension":
        ({"a": of_x("/g/x"), "b": of_x("/h/x"), "g": Group({"x": coordinate("x", [10, 20])}), "h": Group({"x": coordinate("x", [30, 40])})}, "a b x h_x",
         "/:; x (x) 10 20; a (x) @ x; b (x_b) @ x_b; /g:; x (x) 10 20; /h:; x (x) 30 40; ! Dimension /b"),
    "the name of a dimension that others get by being renamed":
        ({"a": stored([1], "x"), "b": stored([1, 2], "x", **ALONG_X), "c": stored([1, 2], "x_b", **ALONG_X)}, "a b c x x_b",
         "/:; x_b (x_b) 5 6; a (x); b (x_b) @ x_b; c (x_b) @ x_b; ! Dimension /b; ! Resolution /c"),
    "the group that a reference leads to, or does not":
        ({"g": Group({"a": NAMING_A, "b": NAMING_B}), "h": Group({"a": NAMING_A, "b": NAMING_B})}, "a b",
         "/:; /g:; a (x) | ancillary_variables=/g/a; b (x) | ancillary_variables=/g/no; /h:; a (x) @ g_a | ancillary_variables=g_a; b (x) @ g_a | ancillary_variables=/g/no; ! Name /h/a; ! Resolution /g/b, /h/b"),
    "two principal conventions, or CF and one":
        ({"a": grid(**declaring("cs", "spatial"), **PLAIN, **in_cs(5)), "b": grid(**declaring("CF", "cs"), **TURNED, **in_cs(5))}, "x y a b",
         "/:; x (x) 5 6; y (y) 0.5 1.5 | axis=Y; a (y x) @ x y; b (y x) @ x y; ! Resolution /a"),
    "the group beside them that a relative reference leads to":
        ({"p": Group({"g": LON, "h": LON, "lon": coordinate("lon", [1, 2])}), "q": Group({"g": LON, "h": LON, "lon": coordinate("lon", [3, 4])})}, "v x",
         "/:; /p:; /q:; /p/g:; x (x) 1 2; v (x) @ x; /p/h:; x (x) 1 2; v (x) @ x; /q/g:; x (x) 3 4; v (x) @ x; /q/h:; x (x) 3 4; v (x) @ x"),
    "the array of the same name from which their level is derived":
        ({"p": Group({"0": Group({"a": grid(**at(10)), "b": grid(**at(20))}), "1": Group({"a": grid(), "b": grid()})}, LEVELS)}, "a b x x_b",
         "/:; /p:; /p/0:; x (x) 10.5 11.5 | axis=X; x_b (x_b) 20.5 21.5 | axis=X; a (y x) @ x y; b (y x_b) @ x_b y; /p/1:; x (x) 11.0 13.0 | axis=X; x_b (x_b) 21.0 23.0 | axis=X; a (y x) @ x y; b (y x_b) @ x_b y; ! Dimension /p/0/b, /p/1/b"),
    "the item that describes only one of them":
        ({"p": Group({"a": grid(), "b": grid()}, {**LEVELS, "multiscales": {"layout": [{"asset": "b", **at(30)}]}, **at(10)})}, "a b x x_b",
         "/:; /p:; x (x) 10.5 11.5 | axis=X; x_b (x_b) 30.5 31.5 | axis=X; a (y x) @ x y; b (y x_b) @ x_b y; ! Dimension /p/b"),
    "a dimension that only one of the groups above has":
        ({"p": Group({"g": IN_TIME}), "q": Group({"g": IN_TIME, "time": coordinate("time", [1, 2])})}, "v time",
         "/:; /p:; /q:; time (time) 1 2; /p/g:; v (/time); /q/g:; time (time) 1 2; v (time) @ time"),
}  # fmt: skip


@rows(BUT_FOR, "nodes, names, expected")
def test_almost_identical_arrays_and_groups(nodes: Any, names: str, expected: str) -> None:
    zarr_format: Any = 2 if "b" in nodes and nodes["b"].v2 else 3
    options: Any = {"function": xr.open_groups, "zarr_format": zarr_format}
    assert brief({"": {}, **nodes}, only=names, **options) == expected


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


def test_attributes_with_the_prefix_of_a_convention_may_declare_it() -> None:
    arrays = {"a": stored([1], "x"), "b": stored([1], "x", mode=1)}
    group = Group({**arrays, "c": stored([1], "x", **{"it:mode": 1})})
    found = asked(Group({"g": group}, IT), Plugin)
    assert found == {"/g/a": None, "/g/b": None, "/g/c": "/g/c"}


def test_siblings_share_interpretations_with_relative_references() -> None:
    class Following(Plugin):
        reads = ()

        def interpret(self, array: ArrayView) -> Interpretation:
            led_to(array, array.attributes["k"]["node"])
            return super().interpret(array)

    a = stored([1], "x", **IT, k={"node": "../b"})
    parent = Group({**dict.fromkeys("gh", Group({"a": a})), "b": A})
    found = asked(Group({"p": parent, "q": parent}), Following)
    for path in ("p", "q"):
        assert found[f"/{path}/g/a"] == found[f"/{path}/h/a"] == f"/{path}/g/a"


def test_arrays_do_not_share_an_interpretation_that_depends_on_their_name() -> None:
    class Named(Plugin):
        reads = ()

        def interpret(self, array: ArrayView) -> Interpretation:
            array.depends_on_name = "k" in array.attributes
            return super().interpret(array)

    a, b = stored([1], "x", **IT), stored([1], "x", **IT, k={})
    found = asked(Group(dict.fromkeys("gh", Group({"a": a, "b": a, "c": b, "d": b}))), Named)
    assert found["/g/b"] == "/g/a"
    assert all(found[f"/{group}/{name}"] == f"/{group}/{name}" for group in "gh" for name in "cd")


def test_equal_arrays_have_their_own_marks_of_a_handler_that_may_read_any_attribute() -> None:
    class Marking(Plugin):
        @classmethod
        def marks(cls, array: ArrayView) -> Marks | None:
            return Marks(array.dims) if array.attributes.get("k") == 1 else None

    register(Marking)
    (warning,) = recorded(xr.open_dataset, store_of({"": {}, "a": A, "b": B}), engine="xgroup")[1]
    assert str(warning).startswith(
        "Open with assume_conventions='it' for the first array: 2 arrays"
    )


def test_all_declared_principal_conventions_are_asked() -> None:
    class Principal(Plugin):
        tier = "principal"

    arrays = {
        "a": stored([1], "x", **declaring("CF", PLUGIN)),
        "b": stored([1], "x", **declaring("CF", "cs", PLUGIN)),
        "c": stored([1], "x", **declaring("CF")),
    }
    assert asked(Group(arrays), Principal) == {"/a": "/a", "/b": "/b", "/c": None}


def test_an_array_with_two_conventions() -> None:
    class Describing(Plugin):
        def interpret(self, array: ArrayView) -> Interpretation:
            return Interpretation(
                geotransform="0 1 0 0 0 1",
                crs=Crs("proj:code", "EPSG:3857"),
                attributes={"units": "m", "said": 1},
                findings=(new_finding(Topic.CHOICE, array.node, "it is said"),),
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


@pytest.mark.parametrize("declared", ["uom", "CF", PLUGIN])
def test_an_array_that_follows_any_convention_has_the_crs_that_it_names(declared: Any) -> None:
    register(Plugin)
    store = store_of({"": {}, "a": grid(**declaring(declared), **{"proj:code": "EPSG:3857"})})
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    assert "spatial_ref" in dataset.coords
