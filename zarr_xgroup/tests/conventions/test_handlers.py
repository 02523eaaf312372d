"""The built-in handlers by themselves: which arrays they are for, and what they say of them."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from zarr_xgroup.conventions import ConventionHandler, handlers, is_declared
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.geolocation import GeolocationHandler
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.ref import RefHandler
from zarr_xgroup.conventions.uom import UomHandler
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupPathError,
    XGroupReferenceError,
)
from zarr_xgroup.tests.builders import (
    Nodes,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
    quietly,
    stored,
)
from zarr_xgroup.tests.strategies import Json, cs_of

# Identity.

#: Name, tier, uuid and repositories of each convention that has a handler.
KNOWN: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "cs": (
        "principal",
        "e4dbf0b7-7a00-4ce6-b23e-484292014ab4",
        ("R-CF/zarr_convention_cs", "R-CF/zarr_conventions_cs"),
    ),
    "spatial": (
        "principal",
        "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
        ("zarr-conventions/spatial",),
    ),
    "coords": (
        "principal",
        "6ca4454a-658a-4348-a667-b39ced0e58cb",
        ("zarr-conventions/coords", "zarr-conventions/dimensions"),
    ),
    "dggs": ("principal", "7b255807-140c-42ca-97f6-7a1cfecdbc38", ("zarr-conventions/dggs",)),
    "ref": ("service", "d89b30cf-ed8c-43d5-9a16-b492f0cd8786", ("R-CF/zarr_convention_ref",)),
    "proj": (
        "service",
        "f17cb550-5864-4468-aeb7-f3180cfb622f",
        ("zarr-conventions/proj", "zarr-conventions/geo-proj", "zarr-experimental/geo-proj"),
    ),
    "uom": (
        "service",
        "3bbe438d-df37-49fe-8e2b-739296d46dfb",
        ("clbarnes/zarr-convention-uom",),
    ),
    "geolocation": (
        "service",
        "bb9ee930-8c60-4c47-ad6b-8daa558987ed",
        ("R-CF/zarr_convention_geolocation",),
    ),
    "cf": (
        "principal",
        "77c308c7-4db2-4774-8b2d-aa37e9997db6",
        ("zarr-conventions/CF",),
    ),
}

#: Conventions without a handler.
OTHERS: dict[str, tuple[str, str]] = {
    "multiscales": ("d35379db-88df-4056-af3a-620245f8e347", "zarr-conventions/multiscales"),
    "NZ-1.0": ("d0a980b5-c644-4dcc-85a1-283799a58f40", "zarr-conventions/nz"),
}


def matching(declaration: Any) -> list[str]:
    """Return the names of the handlers that a declaration is for."""
    attributes = {"zarr_conventions": [declaration]}
    return [handler.name for handler in handlers() if is_declared(handler, attributes)]


def test_the_built_in_handlers() -> None:
    found = {handler.name: handler for handler in handlers()}
    assert set(found) == {*KNOWN, "geozarr", "gcp"}  # which nothing declares
    for name, (tier, uuid, repositories) in KNOWN.items():
        assert issubclass(found[name], ConventionHandler)
        assert (found[name].tier, found[name].uuid) == (tier, uuid)
        assert set(found[name].repositories) == set(repositories)
    principals = [handler.name for handler in handlers() if handler.tier == "principal"]
    assert principals == ["cs", "coords", "spatial", "cf", "dggs", "gcp"]


@pytest.mark.parametrize("name", KNOWN)
def test_what_declares_each_of_them(name: str) -> None:
    _tier, uuid, repositories = KNOWN[name]
    assert matching({"uuid": uuid}) == matching({"name": f"{name}:"}) == [name]
    for repository in repositories:
        raw = f"https://raw.githubusercontent.com/{repository}/refs/tags/v1/schema.json"
        assert matching({"schema_url": raw}) == [name]
        sample = {"uuid": uuid, "schema_url": raw, "spec_url": f"https://github.com/{repository}"}
        assert matching({**sample, "name": f"{name}:", "description": "of a product"}) == [name]


@pytest.mark.parametrize(("name", "about"), OTHERS.items())
def test_conventions_without_a_handler(name: str, about: tuple[str, str]) -> None:
    uuid, repository = about
    assert matching({"name": name}) == matching({"uuid": uuid}) == []
    assert matching({"spec_url": f"https://github.com/{repository}"}) == []


# Real zarr objects.


class Opened:
    """A store opened by zarr: its root, and an array of it with its group."""

    def __init__(self, nodes: Nodes, path: str, zarr_format: ZarrFormat = 3) -> None:
        self.root = zarr.open_group(memory_store(build(nodes, zarr_format)), mode="r")
        array, parent = self.root[path], path.rpartition("/")[0]
        group = self.root[parent] if parent else self.root
        assert isinstance(array, zarr.Array)
        assert isinstance(group, zarr.Group)
        self.array, self.group = array, group

    def detects(self, handler: type[ConventionHandler]) -> bool:
        found = handler.detect(self.root, self.group, self.array)
        assert handler().detect(root=self.root, group=self.group, array=self.array) is found
        return found

    def variables(self, handler: type[ConventionHandler]) -> dict[str, xr.Variable]:
        return handler().get_variables(self.array, self.group, self.root)


def assert_variable(variable: xr.Variable, dims: str, values: Any, **attrs: Json) -> None:
    assert type(variable) in (xr.Variable, xr.IndexVariable)
    assert variable.dims == tuple(dims.split())
    assert np.asarray(variable.values).tolist() == values
    assert variable.attrs == attrs


# detect.

DECLARED: dict[type[ConventionHandler], tuple[str, dict[str, Json]]] = {
    CsHandler: ("cs", {"cs": {"crs": []}}),
    GeolocationHandler: ("geolocation", {"geolocation": {}}),
    RefHandler: ("ref", {"it": {"node": "b"}}),
    UomHandler: ("uom", {"uom": {}}),
    ProjHandler: ("proj", {"proj:code": "EPSG:4326"}),
}


@pytest.mark.parametrize(("path", "zarr_format"), [("a", 3), ("g/a", 2), ("g/h/a", 3)])
@pytest.mark.parametrize("handler", DECLARED)
def test_detect_on_the_array(
    handler: type[ConventionHandler], path: str, zarr_format: ZarrFormat
) -> None:
    convention, attributes = DECLARED[handler]
    groups: Nodes = {"": {}, "g": {}, "g/h": {}}
    array = stored([1, 2], "x", **declaring(convention, **attributes))
    found = Opened({**groups, path: array}, path, zarr_format)
    assert found.detects(handler)
    for other in DECLARED:
        assert found.detects(other) is (other is handler)
    assert not Opened({**groups, path: stored([1, 2], "x", **attributes)}, path).detects(handler)


@pytest.mark.parametrize("handler", DECLARED)
def test_detect_on_the_group(handler: type[ConventionHandler]) -> None:
    convention, attributes = DECLARED[handler]
    array = stored([1, 2], "x", **attributes)
    # `ref` is about an array's own attributes.
    expected = handler is not RefHandler
    assert Opened({"": {}, "g": declaring(convention), "g/a": array}, "g/a").detects(handler) is (
        expected
    )
    # One further up only for attributes that have the prefix of the convention.
    above = Opened({"": declaring(convention), "g": {}, "g/a": array}, "g/a")
    assert above.detects(handler) is any(key.startswith(f"{handler.name}:") for key in attributes)


# cs.


def cs_variables(
    axes: Json, *, zarr_format: ZarrFormat = 3, more: Nodes | None = None, **system: Json
) -> dict[str, xr.Variable]:
    """Return what the handler says of the array /g/a (y: 2, x: 3)."""
    data = np.zeros((2, 3))
    nodes: Nodes = {
        "": {},
        "g": {
            "crs": {"shared": {"axes": {"y": {"coordinates": [{"values": {"regular": [5, 5]}}]}}}}
        },
        "g/a": stored(data, "y x", **cs_of({"axes": axes, **system})),
        "g/lon": stored([1.5, 2.5, 3.5], "lon_coord", units="degrees_east"),
        "g/lat": stored(np.array([7, 8], "i2"), "y"),
        "c": {},
        "c/pairs": stored(np.array([[0, 1], [1, 2], [2, 3]]), "n sides"),
        "c/sides": stored(np.array([[0, 1, 2], [1, 2, 3]]), "sides n"),
        "c/one": stored(np.float32(2)),
        **(more or {}),
    }
    return Opened(nodes, "g/a", zarr_format).variables(CsHandler)


def x_of(*sets: Json, **axis: Json) -> Json:
    return {"x": {"coordinates": list(sets), **axis}}


# ref.


def referring(**attributes: Json) -> Nodes:
    return {
        "": {},
        "g": {},
        "g/a": stored([1, 2, 3], "x", **declaring("ref", **attributes)),
        "g/b": stored([4, 5, 6], "x", units="m"),
        "c": {"meaning": {"of": "it"}},
        "c/b2": stored([7, 8, 9], "x"),
    }


# What is wrong: an open tells of it (test_broken_refs.py), `get_variables` raises it.


@pytest.mark.parametrize(
    ("handler", "attributes", "kind", "text"),
    [
        *(
            (
                CsHandler,
                cs_of({"axes": x_of({"values": values, "boundaries": {"regular": [0, 100]}})}),
                XGroupMetadataError,
                "boundaries/regular: gives boundaries beyond 64 bits",
            )
            for values in ({"regular": [2**63 - 10, 1]}, {"explicit": [0, 2**63 - 10, -1]})
        ),
        (
            GeolocationHandler,
            declaring("geolocation", geolocation={"planar": {"x": "lon", "y": {"node": "b"}}}),
            XGroupMetadataError,
            'geolocation/planar/x: must be a reference to an array, got string "lon"',
        ),
        (
            RefHandler,
            declaring("ref", it=[{"node": "/.."}]),
            XGroupPathError,
            "it/0: '/..' leads above the root of the store",
        ),
    ],
    ids=lambda it: str(it)[:50],
)
def test_what_is_wrong_is_raised(
    handler: type[ConventionHandler], attributes: Json, kind: type[XGroupError], text: str
) -> None:
    nodes = {**referring(), "g/a": stored([1, 2, 3], "x", **attributes)}
    with pytest.raises(kind) as raised:
        Opened(nodes, "g/a").variables(handler)
    assert type(raised.value) is kind
    assert str(raised.value).startswith("/g/a#/attributes/")
    assert str(raised.value).endswith(text)


# uom, proj.


# What mutants of the handlers showed to be untested.


@pytest.mark.parametrize(
    "unit",
    [
        *("°", "degree", "degrees", "Degrees_East"),
        *("degree_east", "degree_north", "degree_e", "degree_n", "degree_E", "degree_N"),
        *("degreeeast", "degreenorth", "degreee", "degreen", "degreeE", "degreeN"),
        *("degrees_east", "degrees_north", "degrees_e", "degrees_n", "degrees_E", "degrees_N"),
        *("degreeseast", "degreesnorth", "degreese", "degreesn", "degreesE", "degreesN"),
    ],
)
def test_cs_every_spelling_of_degrees(unit: str) -> None:
    axes = x_of({"unit": unit, "values": {"regular": [0, 1]}}, abbreviation="X")
    found = cs_variables(axes, id={"proj:code": "EPSG:4326"})
    assert found["x"].attrs == {"units": unit, "axis": "X", "standard_name": "longitude"}


def test_cs_what_only_some_axes_are_told_to_be() -> None:
    values = {"values": {"regular": [0, 1]}}
    upwards = x_of(values, abbreviation="X", direction="up")
    assert cs_variables(upwards)["x"].attrs == {"axis": "X"}
    steep = x_of({**values, "unit": "degrees"}, abbreviation="Z")
    found = cs_variables(steep, id={"proj:code": "EPSG:4326"})
    assert found["x"].attrs == {"axis": "Z", "units": "degrees"}


def test_cs_two_sides_are_those_of_a_scalar_only() -> None:
    boundaries = {"external": {"node": "two"}}
    two: Nodes = {"g/two": stored([1.5, 2.5], "sides")}
    scalar = {"h": {"coordinates": [{"values": {"explicit": [2]}, "boundaries": boundaries}]}}
    assert_variable(cs_variables(scalar, more=two)["h_bounds"], "bounds", [1.5, 2.5])
    cells = x_of({"values": {"regular": [0, 1]}, "boundaries": boundaries})
    with pytest.raises(XGroupReferenceError, match=r"its shape is \[2\], the boundaries of axis"):
        cs_variables(cells, more=two)


@pytest.mark.parametrize(
    ("rows", "own", "expected"),
    [(2, {}, {"lon"}), (5, {}, {"lon"}), (5, declaring("cs"), {"c_lon"})],
    ids=["fits", "does not", "the group's are data"],
)
def test_geolocation_of_what_the_group_has_itself(
    rows: int, own: dict[str, Json], expected: set[str]
) -> None:
    arrays = {"geodetic": {axis: {"node": "/c/lon"} for axis in ("x", "y")}}
    attributes = declaring("geolocation", geolocation=arrays)
    nodes: Nodes = {
        "": {},
        "g": {},
        "g/a": stored(np.ones((2, 3)), "y x", **attributes),
        "g/lon": stored(np.ones((2, 3)), "y x", **own),
        "c": {},
        "c/lon": stored(np.ones((rows, 3)), "rows columns"),
    }
    dataset = quietly(
        xr.open_dataset, memory_store(build(nodes)), engine="xgroup", group="g", chunks=None
    )
    assert set(dataset.coords) == expected


def test_geolocation_of_the_group_is_that_of_the_last_dimensions() -> None:
    arrays = {"geodetic": {axis: {"node": "lon"} for axis in ("x", "y")}}
    nodes: Nodes = {
        "": declaring("geolocation", geolocation=arrays),
        "a": stored(np.ones((2, 3, 4)), "t y x"),
        "b": stored(np.ones((3, 4)), "y x"),
        "lon": stored(np.ones((3, 4)), "y x"),
    }
    dataset = quietly(xr.open_dataset, memory_store(build(nodes)), engine="xgroup")
    assert dataset["lon"].dims == ("y", "x")
    assert dataset["a"].encoding["coordinates"] == dataset["b"].encoding["coordinates"] == "lon"


def test_geolocation_that_is_lost_is_named() -> None:
    arrays = {"geodetic": {"x": {"node": "absent"}, "y": {"node": "lat"}}}
    attributes = declaring("geolocation", geolocation=arrays)
    nodes: Nodes = {"": {}, "a": stored(np.ones((2, 3)), "y x", **attributes)}
    store = memory_store(build({**nodes, "lat": stored(np.ones((2, 3)), "y x")}))
    dataset, (warning,) = opened_with_warnings(xr.open_dataset, store)
    assert str(warning).startswith("/a was opened without x of its geodetic geolocation: ")
    assert "lat" in dataset.coords


def test_cs_a_term_along_the_axis_whatever_its_dimension_is_called() -> None:
    terms = {"sigma": {"external": {"node": "sigma"}}}
    axes = x_of({"parametric": {"formula": "atmosphere_sigma_coordinate", "terms": terms}})
    found = cs_variables(axes, more={"g/sigma": stored([0.0, 0.5, 1.0], "n")})
    assert_variable(found["sigma"], "x", [0.0, 0.5, 1.0])
