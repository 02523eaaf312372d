"""The built-in handlers: their identities, and the arrays to which they apply."""

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
from zarr_xgroup.tests.builders import UUIDS, Nodes, ZarrFormat, declaring, stored
from zarr_xgroup.tests.strategies import Json, cs_of
from zarr_xgroup.tests.tables import check, rows, store_of

#: The repositories of each convention that has a handler, principal ones first; of those without one, too.
PRINCIPALS = {
    "cs": ("R-CF/zarr_convention_cs", "R-CF/zarr_conventions_cs"),
    "coords": ("zarr-conventions/coords", "zarr-conventions/dimensions"),
    "spatial": ("zarr-conventions/spatial",),
    "cf": ("zarr-conventions/CF",),
    "dggs": ("zarr-conventions/dggs",),
}
SERVICES = {
    "ref": ("R-CF/zarr_convention_ref",),
    "uom": ("clbarnes/zarr-convention-uom",),
    "proj": (
        *("zarr-conventions/proj", "zarr-conventions/geo-proj", "zarr-experimental/geo-proj"),
    ),
    "geolocation": ("R-CF/zarr_convention_geolocation",),
}
UNHANDLED = {"multiscales": "zarr-conventions/multiscales", "NZ-1.0": "zarr-conventions/nz"}


def matching(**declaration: Any) -> list[str]:
    """Return the names of the handlers that a declaration is for."""
    attributes = {"zarr_conventions": [declaration]}
    return [handler.name for handler in handlers() if is_declared(handler, attributes)]


def test_the_built_in_handlers_are_those_of_published_conventions_and_two_dialects() -> None:
    found = {handler.name: handler for handler in handlers()}
    principals = [handler.name for handler in handlers() if handler.tier == "principal"]
    assert principals == [*PRINCIPALS, "gcp"]
    assert set(found) == {*PRINCIPALS, *SERVICES, "geozarr", "gcp"}  # which nothing declares
    for name, repositories in (PRINCIPALS | SERVICES).items():
        uuid = UUIDS.get(name, UUIDS["CF"])
        assert issubclass(found[name], ConventionHandler)
        found_repositories = {it for it in found[name].identifiers or () if "/" in it}
        assert (found[name].uuid, found_repositories) == (uuid, set(repositories))
        assert matching(uuid=uuid) == matching(name=f"{name}:") == [name]
        for repository in repositories:
            raw = f"https://raw.githubusercontent.com/{repository}/refs/tags/v1/schema.json"
            assert matching(schema_url=raw) == [name]
            assert matching(schema_url=raw, uuid=uuid, name="other", description="it") == [name]
    for name, repository in UNHANDLED.items():
        assert matching(name=name) == matching(uuid=UUIDS[name]) == []
        assert matching(spec_url=f"https://github.com/{repository}") == []


DECLARED: dict[type[ConventionHandler], tuple[str, dict[str, Json]]] = {
    CsHandler: ("cs", {"cs": {"crs": []}}),
    GeolocationHandler: ("geolocation", {"geolocation": {}}),
    RefHandler: ("ref", {"it": {"node": "b"}}),
    UomHandler: ("uom", {"uom": {}}),
    ProjHandler: ("proj", {"proj:code": "EPSG:4326"}),
}


def detecting(
    nodes: Nodes, path: str, zarr_format: ZarrFormat = 3
) -> list[type[ConventionHandler]]:
    """Return which handlers are for an array, as real zarr objects tell them."""
    root: Any = zarr.open_group(store_of(nodes, zarr_format), mode="r")
    parent = path.rpartition("/")[0]
    given = {"root": root, "group": root[parent] if parent else root, "array": root[path]}
    return [handler for handler in DECLARED if handler.detect(**given)]


@pytest.mark.parametrize("handler", DECLARED)
def test_an_array_follows_the_conventions_that_it_or_its_group_declares(
    handler: type[ConventionHandler],
) -> None:
    convention, attributes = DECLARED[handler]
    groups: Nodes = {"": {}, "g": {}, "g/h": {}}
    declared = stored([1, 2], "x", **declaring(convention, **attributes))
    plain = stored([1, 2], "x", **attributes)
    assert detecting({**groups, "a": declared}, "a") == [handler]
    assert detecting({**groups, "g/a": declared}, "g/a", 2) == [handler]
    assert detecting({**groups, "g/h/a": declared}, "g/h/a") == [handler]
    assert detecting({**groups, "g/a": plain}, "g/a") == []
    # `ref` is about an array's own attributes.
    by_group = detecting({**groups, "g": declaring(convention), "g/a": plain}, "g/a")
    assert by_group == ([] if handler is RefHandler else [handler])
    # One further up only for attributes that have the prefix of the convention.
    above = detecting({**groups, "": declaring(convention), "g/a": plain}, "g/a")
    assert above == ([ProjHandler] if handler is ProjHandler else [])


@pytest.mark.parametrize("start", ["degree", "degrees"])
@pytest.mark.parametrize(
    "end", ["", *(f"{_}{it}" for _ in ("_", "") for it in ("east", "north", "e", "n", "E", "N"))]
)
def test_each_spelling_of_degrees_makes_a_longitude(start: str, end: str) -> None:
    coordinate = {"values": {"regular": [0, 1]}, "unit": f"{start}{end}"}
    axes = {"x": {"coordinates": [coordinate], "abbreviation": "X"}}
    attributes = cs_of({"axes": axes, "id": {"proj:code": "EPSG:4326"}})
    text = f"x (x) 0 1 | axis=X standard_name=longitude units={start}{end}"
    check({"": {}, "a": stored([1, 2], "x", **attributes)}, text, only="x")


# What a group has itself, and what names mean there.


def located(*names: str, **nodes: Any) -> Nodes:
    """Return the array ``/g/a`` (y: 2, x: 3), with a geolocation of arrays."""
    arrays = dict(zip(("x", "y"), ({"node": name} for name in names), strict=True))
    attributes = declaring("geolocation", geolocation={"geodetic": arrays})
    a = stored(np.ones((2, 3)), "y x", **attributes)
    return {
        "": {},
        "c": {},
        "g": {},
        "g/a": a,
        **{key.replace("_", "/"): it for key, it in nodes.items()},
    }


def system(**axis: Json) -> Nodes:
    """Return the array ``/g/a`` (x: 3) with an axis."""
    return {"": {}, "g": {}, "g/a": stored([1, 2, 3], "x", **cs_of({"axes": {"x": axis}}))}


HERE, ELSEWHERE = stored(np.ones((2, 3)), "y x"), stored(np.zeros((2, 3)), "r c")
DATA = stored(np.ones((2, 3)), "y x", **declaring("cs"))
SIGMA: Json = {
    "formula": "atmosphere_sigma_coordinate",
    "terms": {"sigma": {"external": {"node": "/c/s"}}},
}
SETS: dict[str, Json] = {"values": {"regular": [0, 1]}}
GROUPS: dict[str, tuple[Nodes, str]] = {
    "an array of the group is the coordinate of its name": (located("/c/lon", "/c/lon", c_lon=ELSEWHERE, g_lon=HERE), "lon (y x) [[1.0 1.0 1.0] [1.0 1.0 1.0]] | standard_name=longitude"),
    "what declares a convention is data": (located("/c/lon", "/c/lon", c_lon=ELSEWHERE, g_lon=DATA), """
        c_lon (y x) [[0.0 0.0 0.0] [0.0 0.0 0.0]] | standard_name=longitude
        ! Name: /g/a: its coordinate 'lon' is named 'c_lon', because the name 'lon' is already used or not valid in this group
        ! Resolution: /g/lon was opened without the coordinates of its dimensions: /g/lon#/attributes/cs: is declared, but missing
        """),
    "up is for vertical axes": (system(coordinates=[SETS], abbreviation="X", direction="up"), "x (x) 0 1 2 | axis=X"),
    "degrees along a vertical axis are not a longitude": (system(coordinates=[{**SETS, "unit": "degrees"}], abbreviation="Z"), "x (x) 0 1 2 | axis=Z units=degrees"),
    "a term may call its dimension as it likes": ({**system(coordinates=[{"parametric": SIGMA}]), "c": {}, "c/s": stored([0.0, 0.5, 1.0], "n")}, """
        s (x) 0.0 0.5 1.0
        x (x) 0 1 2 | formula_terms=sigma: s standard_name=atmosphere_sigma_coordinate
        """),
    "two sides are those of a scalar": ({**system(coordinates=[{**SETS, "boundaries": {"external": {"node": "two"}}}]), "g/two": stored([1.5, 2.5], "sides")}, """
        x (x) 0 1 2
        ! Resolution: /g/a was opened without the boundaries of 'x': /g/a#/attributes/cs/crs/0/axes/x/coordinates/0/boundaries/external: 'two' cannot be resolved; tried /g/two (its shape is [2], but the boundaries of axis 'x' need [3, 2] / [2, 3]), /g/a/two (not found in store)
        """),
}  # fmt: skip


@rows(GROUPS)
def test_own_members_of_a_group(nodes: Nodes, expected: str) -> None:
    check(nodes, expected, only="coords", group="g")


def test_a_geolocation_of_the_group_is_that_of_the_last_dimensions() -> None:
    arrays = {"geodetic": {axis: {"node": "lon"} for axis in ("x", "y")}}
    nodes: Nodes = {
        "": declaring("geolocation", geolocation=arrays),
        "a": stored(np.ones((2, 3, 4)), "t y x"),
        "b": stored(np.ones((3, 4)), "y x"),
        "other": stored(np.ones((3, 3)), "u v"),
        "lon": stored(np.ones((3, 4)), "y x"),
    }
    dataset: xr.Dataset = check(
        nodes, "a (t y x) @ lon\nb (y x) @ lon\nother (u v)", only="a b other"
    )
    assert dataset["a"].encoding["coordinates"] == dataset["b"].encoding["coordinates"] == "lon"
