"""Descriptions of conventions: what is read by them, and what is wrong."""

from __future__ import annotations

import copy
from typing import Annotated, Any, ClassVar

import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import ConventionHandler, Rule, XGroupResolutionWarning
from zarr_xgroup.conventions import (
    ArrayView,
    Attribute,
    Interpretation,
    Member,
    Model,
    Nested,
    Text,
    cs,
    geolocation,
    register,
    uom,
)
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import (
    Group,
    Json,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
    stored,
)
from zarr_xgroup.tests.report.test_check import CASES, GONE, broken, sound

#: Rules of form.
OF_FORM = (
    *("cs/required", "cs/form", "cs/values", "cs/boundaries", "uom/object", "uom/ucum"),
    "geolocation/x-and-y",
)

UUID = "11111111-2222-4333-8444-555555555555"

DESCRIBED = {
    "/model/tas": cs.ATTRIBUTE,
    "/mass": uom.ATTRIBUTE,
    "/swath/radiance": geolocation.ATTRIBUTE,
}


def written(documents: dict[str, Json], node: str, attribute: Attribute) -> Fragment:
    value = documents[node.strip("/")]["attributes"][attribute.key]
    return Fragment(Node(0, node.strip("/")), ("attributes", attribute.key), value)


@pytest.mark.parametrize("node", DESCRIBED)
def test_nothing_is_wrong_with_what_is_sound(node: str) -> None:
    found = written(sound(), node, DESCRIBED[node])
    assert list(DESCRIBED[node].all_wrong(found)) == []


@pytest.mark.parametrize(
    ("place", "edits"),
    [
        (place, edits)
        for rule, place, edits, _remedy in CASES
        if rule in OF_FORM and GONE not in edits.values()
    ],
    ids=str,
)
def test_what_breaks_a_rule_of_form_is_found(place: str, edits: Json) -> None:
    node = place.partition("#")[0]
    found = written(broken(edits), node, DESCRIBED[node])
    wrong = list(DESCRIBED[node].all_wrong(found))
    assert [str(it.at(found.node).place) for it in wrong] == [place]


@pytest.mark.parametrize(
    ("keys", "is_required"),
    [
        (("crs",), True),
        (("crs", 0, "axes"), True),
        (("crs", 0, "type"), True),
        (("crs", 0, "axes", "lat", "coordinates", 0, "values"), True),
        (("crs", 0, "axes", "lat", "coordinates", 0, "unit"), False),
        (("crs", 1, "axes", "time", "coordinates", 0, "time", "epoch"), True),
    ],
    ids=str,
)
def test_what_is_required(keys: tuple[Any, ...], is_required: bool) -> None:
    found = written(sound(), "/model/tas", cs.ATTRIBUTE)
    value = copy.deepcopy(found.value)
    holder = value
    for key in keys[:-1]:
        holder = holder[key]
    del holder[keys[-1]]
    wrong = list(cs.ATTRIBUTE.all_wrong(Fragment(found.node, found.keys, value)))
    assert bool(wrong) == is_required


def test_one_bad_part_costs_that_part() -> None:
    value: Any = copy.deepcopy(written(sound(), "/model/tas", cs.ATTRIBUTE).value)
    lat = value["crs"][0]["axes"]["lat"]
    lat["coordinates"][0] |= {"unit": 5, "direction": "nroth"}
    lat["abbreviation"] = None
    model, wrong = cs.ATTRIBUTE.read(Fragment(Node(0, "a"), ("attributes", "cs"), value))
    axis = dict(model.crs[0].axes)["lat"]
    (found,) = axis.coordinates
    assert wrong == ()
    assert (found.values.regular, found.unit, found.direction) == ((10, 1), None, "nroth")
    told = {it.place.keys[-1]: (it.severity, it.topic is None) for it in model.all_wrong()}
    assert told == {
        "abbreviation": ("warning", True),
        "unit": ("error", False),
        "direction": ("warning", True),
    }


STRIPES = Rule("stripes/colour", "The convention of stripes", "colour")


class Stripes(Model, frozen=True, kw_only=True):
    """How a thing is striped."""

    form: ClassVar[Rule] = STRIPES

    colour: Annotated[
        str, Text(("red", "blue")), Member(required=True, example='"colour": "red"')
    ] = ""


class StripesHandler(ConventionHandler):
    tier = "principal"
    name = "stripes"
    described = (Attribute("stripes", Nested(Stripes), STRIPES, '"stripes": {"colour": "red"}'),)

    def interpret(self, array: ArrayView) -> Interpretation:
        stripes = array.read(self.described[0])
        array.report_wrong(array.node, stripes)
        return array.interpretation()


def test_a_third_party_describes_its_attributes_once() -> None:
    """What it reads, and what an open and a check tell, follow."""
    register(StripesHandler)
    attributes = {"zarr_conventions": [{"name": "stripes"}], "stripes": {"color": "red"}}
    other = {**attributes, "stripes": {"colour": 5}}
    arrays = {"a": stored([1, 2, 3], "x", **attributes), "b": stored([1, 2, 3], "x", **other)}
    store: Any = memory_store(build(Group(arrays)))
    told, second = [it for it in zarr_xgroup.check(store).mistakes if it.rule is STRIPES]
    assert str(second.place) == "/b#/attributes/stripes/colour"
    assert str(told.place) == "/a#/attributes/stripes/color"
    assert told.remedy == 'call it "colour"'
    with pytest.warns(XGroupResolutionWarning, match="was 'colour' meant") as warned:
        xr.open_dataset(store, engine="xgroup", drop_variables="b")
    (warning,) = warned
    error: Any = warning.message
    assert error.error.rule is STRIPES


# References, and declarations.


def checked(attributes: Json, on_group: bool = False) -> set[tuple[str, str, str]]:
    """Return the rules that a store breaks, with the pointers and what to write instead."""
    array = stored([1.0, 2.0], "x", **({} if on_group else attributes))
    root = Group({"a": array, "t": stored(1.0)}, attributes if on_group else {})
    mistakes = zarr_xgroup.check(memory_store(build(root))).mistakes
    return {(it.rule.name, it.place.pointer, it.remedy) for it in mistakes}


def test_each_member_of_a_reference_is_judged() -> None:
    reference: Any = {"node": "..//t", "attribute": "a~", "uri": 5}
    place = "/attributes/any/0/ref"
    found = checked({**declaring("ref"), "any": [{"ref": reference}]})
    assert {it for it in found if it[0] == "ref/form"} == {
        ("ref/form", f"{place}/node", 'write, for example, "node": "time"'),
        ("ref/form", f"{place}/attribute", 'write, for example, "attribute": "/attributes/crs"'),
        ("ref/form", f"{place}/uri", 'write, for example, "uri": "s3://bucket/store.zarr"'),
    }


@pytest.mark.parametrize(
    ("written", "pointers"),
    [
        ({"path": "t"}, ["/attributes/ref"]),
        ("t", ["/attributes/ref"]),
        ([{"node": "t"}, "t"], ["/attributes/ref/1"]),
        ({"of": {"node": "t"}}, []),
    ],
    ids=str,
)
def test_what_is_meant_as_a_reference_is_told_by_its_rule(
    written: Any, pointers: list[str]
) -> None:
    found = {(name, pointer) for name, pointer, _remedy in checked(declaring("ref", ref=written))}
    assert found == {("ref/form", pointer) for pointer in pointers}


@pytest.mark.parametrize("on_group", [False, True])
def test_declarations_are_judged_by_their_description(on_group: bool) -> None:
    declared: Any = [{"uuid": 5, "schema_url": "https://a.b/c/d"}, {"uuid": UUID, "name": []}, "cs"]
    found = checked({"zarr_conventions": declared}, on_group)
    assert {it[:2] for it in found if it[0] != "conventions/known"} == {
        ("conventions/texts", "/attributes/zarr_conventions/0/uuid"),
        ("conventions/texts", "/attributes/zarr_conventions/1/name"),
        ("conventions/list-of-objects", "/attributes/zarr_conventions/2"),
    }
    assert {"cs" in remedy for _rule, place, remedy in found if place.endswith("/2")} == {True}


@pytest.mark.parametrize(
    ("declared", "pointer"),
    [({UUID: {"name": 5}}, f"/{UUID}/name"), ({}, ""), ({UUID: {}, "cs": {}}, ""), (5, "")],
    ids=str,
)
def test_declarations_by_uuid(declared: Any, pointer: str) -> None:
    found = {place for _rule, place, _remedy in checked({"zarr_conventions": declared})}
    assert found == {f"/attributes/zarr_conventions{pointer}"}


def test_what_a_cs_lacks_is_told_whatever_else_is_wrong_with_a_part_of_it() -> None:
    axis: Json = {"abbreviation": "y", "coordinates": [{"values": {"explicit": [1]}}]}
    found = checked(declaring("cs", cs={"crs": [{"axes": {"y": axis}}]}))
    assert {it[:2] for it in found} >= {
        ("cs/axis-for-every-dimension", "/attributes/cs/crs"),
        ("cs/abbreviation", "/attributes/cs/crs/0/axes/y/abbreviation"),
    }


def test_a_principal_convention_that_does_not_count_is_judged_all_the_same() -> None:
    axes: Json = {name: {"coordinates": [{"values": {"regular": [0, 1]}}]} for name in ("y", "x")}
    said: Any = {"spatial:dimensions": ["y", "x"], "spatial:shape": [3, 2]}
    attributes = {
        **declaring("cs", "spatial", cs={"crs": [{"type": "planar", "axes": axes}]}),
        **said,
    }
    array = stored([[1.0, 2.0, 3.0]] * 2, "y x", **attributes)
    store = memory_store(build(Group({"a": array})))
    verdict = zarr_xgroup.check(store)
    assert {(it.rule.name, it.place.pointer) for it in verdict.mistakes} == {
        ("open/one-meaning", ""),
        ("spatial/shape-of-the-array", "/attributes/spatial:shape"),
    }
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert [str(it) for it in told] == [
        "/a: it declares the principal conventions cs, spatial; cs was used"
    ]
    assert dataset["y"].values.tolist() == [0, 1]


def test_a_cs_without_any_crs_is_empty() -> None:
    found = checked(declaring("cs", cs={"crs": []}))
    assert {it[:2] for it in found} == {("cs/form", "/attributes/cs/crs")}
