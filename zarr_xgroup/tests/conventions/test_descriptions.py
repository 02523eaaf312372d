"""Descriptions of conventions: what a model reads from JSON, and the faults it reports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
    register,
)
from zarr_xgroup.conventions.array import NodeView
from zarr_xgroup.conventions.crs import CRS_KEYS
from zarr_xgroup.conventions.cs import Axis, CoordinateSet, Cs, System, Time
from zarr_xgroup.conventions.descriptions import (
    ByName,
    Items,
    Object,
    Parsed,
    ReferenceTo,
    fields_of,
    misspelt,
)
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.uom import Ucum
from zarr_xgroup.errors import XGroupReferenceError
from zarr_xgroup.findings import Finding, new_finding
from zarr_xgroup.metadata.nodes import Fragment, Node, Part
from zarr_xgroup.tests.builders import Json, stored
from zarr_xgroup.tests.tables import rows, store_of

FORM, NEEDED, SPELT, KIND, HEIGHT = (
    Rule(name, "Stations", "1") for name in ("form", "needed", "spelt", "kind", "height")
)


def metres(value: Fragment) -> float:
    """Return a height, or raise what is said of it."""
    errors: dict[type, Exception] = {
        str: value.error("is text", HEIGHT, "write metres"),
        list: value.place("0").error("is first"),
        bool: XGroupReferenceError("no t", reason="leads nowhere"),
    }
    if error := errors.get(type(value.value)):
        raise error
    return float(value.value)


class Sensor(Model, frozen=True, kw_only=True):
    form: ClassVar[Rule] = FORM

    unit: Annotated[str, Text(), Member(required=True, example='"unit": "K"')] = ""


NAME = Member("name", required=True, unless=("id", "uri"))


class Station(Model, frozen=True, kw_only=True):
    """All kinds of values, with all that may be said of a member."""

    form: ClassVar[Rule] = FORM
    required: ClassVar[Rule | None] = NEEDED
    spelling: ClassVar[Rule | None] = SPELT
    others: ClassVar[frozenset[str]] = frozenset({"comment", "sites"})

    label: Annotated[str, Text(), NAME] = ""
    kind: Annotated[
        str, Text(("fixed", "Mobile", *"bcdefghijk"), any_case=True, rule=KIND, severity="error")
    ] = ""
    state: Annotated[str, Text(tuple("abcdefghijklmn")), Member(severity="warning", rule=KIND)] = ""
    notes: Annotated[Any, Object(), Member(example='"notes": {}')] = None
    site: Annotated[Any, ReferenceTo()] = None
    height: Annotated[float, Parsed(metres), Member(example='"height": 2.0')] = 0.0
    main: Annotated[Any, Nested(Sensor)] = None
    spare: Annotated[Any, Nested(Sensor, or_reference=True)] = None
    sensors: Annotated[tuple[Sensor, ...], Items(Nested(Sensor), least=1)] = ()
    ports: Annotated[Any, ByName(Nested(Sensor), or_list=True, least=1)] = ()
    tags: Annotated[Any, ByName(Text())] = ()

    @property
    def shown(self) -> str:
        """The fields that were read, in one line."""
        names = [it for it in Station.__struct_fields__ if it not in ("keys", "wrong")]
        return " ".join(f"{it}={_text(found)}" for it in names if (found := getattr(self, it)))


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    if isinstance(value, Part):
        return f"{'/'.join(value.keys)}:{json.dumps(value.value)}"
    return (value.unit or "?") if isinstance(value, Sensor) else str(value)


K, NO_UNIT = {"unit": "K"}, {"unit": 5}

#: JSON, the fields that are read of it, and what is wrong: ! where an open loses something.
READ: dict[str, tuple[Json, str, str]] = {
    "all that there may be": (
        {"name": "A", "kind": "MOBILE", "state": "n", "notes": {"a": 1}, "site": {"ref": {"node": "b"}}, "height": 2,
         "main": K, "spare": {"node": "c"}, "sensors": [K, K], "ports": {"p": K}, "tags": {"t": "u"}, "comment": 5},
        """label=A kind=MOBILE state=n notes={'a': 1} site=site:{"ref": {"node": "b"}} height=2.0 main=K \
spare=spare:{"node": "c"} sensors=(K, K) ports=((p, K)) tags=((t, u))""",
        "",
    ),
    "a text of another kind, and ones that are not among those that are known": (
        {"name": 5, "kind": "flying", "state": "z"}, "kind=flying state=z", """
        ! form error name: must be a string, got number 5 -> write, for example, "name": ...
        kind error kind: must be one of fixed, Mobile, b, c, d, e, f, g, h, i, j, k, got string "flying" -> write one of fixed, Mobile, b, c, d, e, f, g, h, i, j, k
        form warning state: must be one of a, b, c, d, e, f, g, h, i, j, k, l, ..., got string "z" -> write one of a, b, c, d, e, f, g, h, i, j, k, l, ...
        """
    ),
    "members of other kinds": (
        {"id": 1, "state": 5, "notes": [], "site": "b", "main": "K", "spare": 5, "sensors": {}, "ports": 5, "tags": []},
        "spare=spare:5",
        """
        kind warning state: must be a string, got number 5 -> write one of a, b, c, d, e, f, g, h, i, j, k, l, ...
        ! form error notes: must be an object, got list [] -> write, for example, "notes": {}
        ! form error site: must be a reference to an array, got string "b" -> write "site": {"node": "b"}
        ! form error main: must be an object, got string "K" -> write, for example, "main": ...
        form error spare: must be an object or a reference, got number 5 -> write, for example, "spare": ...
        ! form error sensors: must be a list, got object {} -> write, for example, "sensors": ...
        ! form error ports: must be an object or a list, got number 5 -> write, for example, "ports": ...
        ! form error tags: must be an object, got list [] -> write, for example, "tags": ...
        """,
    ),
    "not a reference": ({"id": 1, "site": {"path": "b"}, "spare": {"ref": {"path": "b"}}}, "spare=?", """
        ! form error site: is not a reference: it has no 'node' -> write "site": {"node": "time"}
        ! form error spare/unit: is missing -> write, for example, "unit": "K"
        """),
    "what a function refuses": ({"id": 1, "height": "high"}, "", "! height error height: is text -> write metres"),
    "a part that a function refuses": ({"id": 1, "height": ["high"]}, "", '! form error height/0: is first -> write, for example, "height": 2.0'),
    "a reference that cannot be resolved": ({"id": 1, "height": True}, "", '! form error height: leads nowhere -> write, for example, "height": 2.0'),
    "wrong parts of parts cost these": (
        {"id": 1, "main": NO_UNIT, "spare": {}, "sensors": [K, 5, NO_UNIT], "ports": {"p": 5, "q": K}, "tags": {"t": 5, "u": "v"}},
        "main=? spare=? sensors=(K, ?) ports=((q, K)) tags=((u, v))",
        """
        ! form error sensors/1: must be an object, got number 5 -> write, for example, "sensors": ...
        ! form error ports/p: must be an object, got number 5 -> write, for example, "ports": ...
        ! form error tags/t: must be a string, got number 5 -> write, for example, "tags": ...
        ! form error main/unit: must be a string, got number 5 -> write, for example, "unit": "K"
        ! form error spare/unit: is missing -> write, for example, "unit": "K"
        ! form error sensors/2/unit: must be a string, got number 5 -> write, for example, "unit": "K"
        """,
    ),
    "empty lists and objects are used": ({"id": 1, "sensors": [], "ports": {}, "tags": {}}, "", """
        form error sensors: must not be empty -> write, for example, "sensors": ...
        form error ports: must not be empty -> write, for example, "ports": ...
        """),
    "a list of named objects is read as an object": (
        {"id": 1, "ports": [{"name": "p", **K}, {"name": 5, **K}, K, 5]}, "ports=((p, K))", """
        ! form error ports/1: must have a 'name' -> write, for example, "name": "x"
        ! form error ports/2: must have a 'name' -> write, for example, "name": "x"
        ! form error ports/3: must have a 'name' -> write, for example, "name": "x"
        """
    ),
    "null is nothing": (dict.fromkeys(("name", "kind", "state", "notes", "comment")), "", """
        ! needed error name: is missing -> write, for example, "name": ...
        form warning kind: is null, which is ignored -> leave it out
        kind warning state: is null, which is ignored -> leave it out
        form warning notes: is null, which is ignored -> leave it out
        """),
    "a member is not required together with a different one": ({"uri": "u", "name": None}, "", "form warning name: is null, which is ignored -> leave it out"),
    "a required member must not be null": ({"id": None}, "", '! needed error name: is missing -> write, for example, "name": ...'),
    "misspelt keys that resemble a different key": (
        {"nam": "A", "kinds": "fixed", "Sensors": [], "heights": 1, "sites": 1, "anything": 1}, "", """
        ! spelt error nam: is unknown; did you mean 'name'? -> rename it to "name"
        ! spelt error kinds: is unknown; did you mean 'kind'? -> rename it to "kind"
        ! spelt error Sensors: is unknown; did you mean 'sensors'? -> rename it to "sensors"
        ! spelt error heights: is unknown; did you mean 'height'? -> rename it to "height"
        """
    ),
    "a secret is not shown, nor all of a long text": (
        {"id": 1, "notes": "https://u:secret@a.b/" + "long" * 50}, "", '! form error notes: must be an object, got string "https://a.b/longlonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglonglon... -> write, for example, "notes": {}'
    ),
}  # fmt: skip


def told(found: Iterator[Finding]) -> list[str]:
    """Return lines of what is wrong: rule severity pointer: text -> remedy."""
    return [
        f"{'! ' if it.topic else ''}{it.rule.name} {it.severity} {it.place.pointer.strip('/')}: "
        f"{it.text} -> {it.remedy}"
        for it in found
    ]


@rows(READ, "members, shown, wrong")
def test_values_read_by_a_model(members: Json, shown: str, wrong: str) -> None:
    model = Station.read(Fragment(Node(0, "a"), (), members))
    assert model.shown == shown
    assert told(model.all_wrong()) == [it.strip() for it in wrong.strip().splitlines()]


def test_invalid_members_of_a_model() -> None:
    members = {"kinds": "fixed", "name": "A", "state": 5, "main": NO_UNIT, "notes": 5, "ports": {"p": 5}}  # fmt: skip
    model = Station.read(Fragment(Node(0, "a"), ("attributes", "station"), members))
    keys, pointer = Station.__struct_fields__, "#/attributes/station"
    lost = {key: str(it.place) for key in keys if (it := model.wrong_with(key))}
    at = {"kind": "kinds", "notes": "notes", "ports": "ports/p"}
    assert lost == {key: f"{pointer}/{it}" for key, it in at.items()}
    assert model.lost is not None
    assert str(model.lost.place) == f"{pointer}/notes"
    assert str(model.place(Node(0, "b"), "kind")) == f"/b{pointer}/kind"
    fine = Station.read(Fragment(Node(0, "a"), (), {"name": "A", "state": 5}))
    assert (fine.lost, fine.wrong_with("state")) == (None, None)


# Which known key an unknown one was probably meant to be.


@pytest.mark.parametrize(
    ("given", "known", "expected"),
    [
        (["coordinate"], ["coordinates"], {"coordinate": "coordinates"}),
        (["coordinate", "coordinates"], ["coordinates"], {}),
        (["coordinate", "coordinatez"], ["coordinates"], {"coordinate": "coordinates"}),
        (["description"], ["direction", "attributes", "boundaries"], {}),
        (["anything"], ["coordinates"], {}),
        (["ID"], ["id"], {"ID": "id"}),
        (["coord", "dir", "s"], ["coordinates", "direction", "sets"], {"coord": "coordinates"}),
        (["code", "wkt"], ["proj:wkt2", "proj:code"], {"code": "proj:code", "wkt": "proj:wkt2"}),
        (["crs84"], ["CRS_84"], {"crs84": "CRS_84"}),
    ],
    ids=str,
)
def test_misspelt_keys(given: list[str], known: list[str], expected: dict[str, str]) -> None:
    assert misspelt(given, known, {"description"}) == expected


def meant(model: type[Model], members: Json) -> Mapping[str, str]:
    """Return misspelt keys of an object that a model is read from, each with the known key."""
    return misspelt(
        members, [member.key for _kind, member in fields_of(model).values()], model.others
    )


@pytest.mark.parametrize("model", [Cs, System, Axis, CoordinateSet], ids=lambda it: it.__name__)
def test_every_key_of_cs_may_be_misspelt(model: type[Model]) -> None:
    free = {"name": "n", "type": "t", "description": "d"}  # nearly "time" and "direction"
    keys = {member.key for _kind, member in fields_of(model).values()}.difference(free)
    assert keys
    for key in keys:
        assert meant(model, {**free, f"{key}{key[-1]}": 1}) == {f"{key}{key[-1]}": key}


#: What others call members of cs and proj, and attributes of spatial.
WORDS: list[tuple[type[Model], str, str]] = [
    (CoordinateSet, "bounds", "boundaries"),
    *((Axis, it, "coordinates") for it in ("coord", "coords")),
    *((it, "units", "unit") for it in (Axis, CoordinateSet, Time, Ucum)),
]
ATTRIBUTES = {"geotransform": "transform", "GeoTransform": "transform", "bounds": "bbox", "dims": "dimensions"}  # fmt: skip


def test_words_of_others() -> None:
    assert [meant(model, {word: 1}) for model, word, _key in WORDS] == [{word: key} for _model, word, key in WORDS]  # fmt: skip
    assert misspelt(["code", "epsg", "projjson", "wkt"], CRS_KEYS) == {"code": "proj:code", "epsg": "proj:epsg", "projjson": "proj:projjson", "wkt": "proj:wkt2"}  # fmt: skip
    known = [it.key for it in SpatialHandler.described]
    for word, key in ATTRIBUTES.items():
        assert misspelt([f"spatial:{word}"], known) == {f"spatial:{word}": f"spatial:{key}"}


# Third parties.

STRIPES = Rule("stripes/colour", "The convention of stripes", "colour")
DULL = Rule("stripes/dull", "The convention of stripes", "colour")


class Stripes(Model, frozen=True, kw_only=True):
    """How a thing is striped."""

    form: ClassVar[Rule] = STRIPES

    colour: Annotated[str, Text(("red", "grey")), Member(required=True)] = ""


class StripesHandler(ConventionHandler):
    tier = "principal"
    name = "stripes"
    described = (Attribute("stripes", Nested(Stripes), STRIPES, '"stripes": {"colour": "red"}'),)

    @classmethod
    def check(cls, subject: NodeView) -> Iterator[Finding]:
        stripes = subject.attribute("stripes")
        colour = None if stripes is None else stripes.get("colour")
        if colour is not None and colour.value == "grey" and cls in subject.declared:
            yield new_finding(DULL, colour, "is dull", 'write "colour": "red"', severity="warning")

    def interpret(self, array: ArrayView) -> Interpretation:
        stripes = array.read(self.described[0])
        array.report_wrong(array.node, stripes)
        return array.interpretation()


def test_a_third_party_describes_its_attributes_once() -> None:
    """What it reads, and what an open and a check tell, follow; and its rules are asked."""
    register(StripesHandler)
    written = {"a": {"color": "red"}, "b": {"colour": 5}, "c": {"colour": "grey"}, "d": {"colour": "red"}}  # fmt: skip
    declared = [{"name": "stripes"}]
    arrays = {name: stored(1.0, zarr_conventions=declared, stripes=it) for name, it in written.items()}  # fmt: skip
    store: Any = store_of({"": {}, **arrays})
    found = zarr_xgroup.check(store).mistakes
    assert [f"{it.rule.name} {it.place} -> {it.remedy}" for it in found] == [
        'stripes/colour /a#/attributes/stripes/color -> rename it to "colour"',
        "stripes/colour /b#/attributes/stripes/colour -> write one of red, grey",
        'conventions/identified /a#/attributes/zarr_conventions/0 -> add "uuid"',
        'stripes/dull /c#/attributes/stripes/colour -> write "colour": "red"',
    ]
    with pytest.warns(XGroupResolutionWarning, match="did you mean 'colour'") as warned:
        xr.open_dataset(store, engine="xgroup", drop_variables="b")
    (warning,) = warned
    error: Any = warning.message
    assert error.error.rule is STRIPES
