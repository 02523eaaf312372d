"""Which of the CRSs that a store says is that of an array."""

from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
)


def code(number: int) -> dict[str, str]:
    return {"proj:code": f"EPSG:{number}"}


def grid(*conventions: str, **attributes: Any) -> Array:
    return Array(np.ones((2, 2)), ("y", "x"), {**declaring(*conventions), **attributes})


def mapping(number: int, key: str = "crs_wkt") -> Array:
    """Return a grid mapping variable."""
    return Array(0, (), {key: pyproj.CRS(number).to_wkt()})


def with_id(number: int, *, of_system: bool) -> dict[str, Any]:
    """Return a ``cs`` that says the CRS, of all or of its first system."""
    axes = {"axes": {"x": {"coordinates": [{"values": {"explicit": [1.0, 2.0]}}]}}}
    identity = {"id": code(number)}
    return {"cs": {"crs": [{**axes, **identity}]} if of_system else {"crs": [axes], **identity}}


GDAL = {"_CRS": {"wkt": pyproj.CRS(32631).to_wkt()}}


@pytest.mark.parametrize(
    ("members", "attributes", "expected"),
    [
        pytest.param({"a": grid("proj", **code(32631))}, {}, 32631, id="own"),
        pytest.param({"a": grid("proj")}, code(32632), 32632, id="group's"),
        pytest.param({"a": grid("proj", **code(32631))}, code(32632), 32631, id="own, group's"),
        pytest.param(
            {"a": Array(np.ones(2), ("x",), declaring("proj"))}, code(32632), None, id="of no grid"
        ),
        pytest.param({"a": grid("cs", **with_id(32631, of_system=False))}, {}, 32631, id="of cs"),
        pytest.param({"a": grid("cs", **with_id(32631, of_system=True))}, {}, 32631, id="system"),
        pytest.param(
            {"a": grid("cs", "proj", **code(32632), **with_id(32631, of_system=False))},
            {},
            32632,
            id="proj before cs",
        ),
        pytest.param({"a": grid("proj"), "spatial_ref": mapping(32633)}, {}, 32633, id="mapping"),
        pytest.param(
            {"a": grid("proj"), "spatial_ref": mapping(32633, "spatial_ref")},
            {},
            32633,
            id="mapping of GDAL",
        ),
        pytest.param(
            {"a": grid("proj", grid_mapping="m"), "m": mapping(32634)}, {}, 32634, id="named"
        ),
        pytest.param(
            {
                "a": grid("proj", **code(32631)),
                "b": grid("proj", grid_mapping="spatial_ref: x"),
                "spatial_ref": mapping(32633),
            },
            {},
            32633,
            id="mapping that others name",
        ),
        pytest.param({"a": grid("proj", **GDAL)}, {}, None, id="GDAL, not assumed"),
    ],
)
def test_which_crs_counts(
    members: dict[str, Any], attributes: dict[str, Any], expected: int | None
) -> None:
    dataset, told = opened_with_warnings(
        xr.open_dataset, memory_store(build(Group(members, attributes)))
    )
    name = dataset["a"].encoding.get("grid_mapping") or dataset["a"].attrs.get("grid_mapping")
    assert told == []
    assert (name is None) is (expected is None)
    if expected is not None:
        assert pyproj.CRS(dataset[name].attrs["crs_wkt"]).to_epsg() == expected


@pytest.mark.parametrize("declared", ["EPSG:32631", "nonsense"])
@pytest.mark.parametrize(("name", "is_named"), [("spatial_ref", 0), ("spatial_ref", 1), ("m", 1)])
def test_the_grid_mapping_is_the_crs_whatever_is_declared(
    name: str, is_named: int, declared: str
) -> None:
    named = {"grid_mapping": name} if is_named else {}
    wkt = {"crs_wkt": pyproj.CRS(32633).to_wkt()}
    members = {"a": grid("proj", **{"proj:code": declared}, **named), name: Array(0, (), wkt)}
    store = memory_store(build(Group(members)))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert told == []
    assert set(dataset.coords) == {name}
    assert epsg_of(dataset) == 32633
    (coordinate,) = zarr_xgroup.explain(store).groups[0].coordinates
    against = "; stands against the declared CRS WGS 84 / UTM zone 31N"
    assert coordinate.text == "stands for the CRS WGS 84 / UTM zone 33N" + (
        against if declared == "EPSG:32631" else ""
    )
    assert any("nonsense" in it.text for it in zarr_xgroup.check(store).mistakes) is (
        declared == "nonsense"
    )


def test_a_grid_mapping_in_words_of_cf_alone_is_left_as_it_is() -> None:
    cf = {"grid_mapping_name": "latitude_longitude"}
    members = {"a": grid("proj", grid_mapping="m", **code(32631)), "m": Array(0, (), cf)}
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert told == []
    assert dataset["m"].attrs == cf


def test_coordinates_are_of_the_crs_that_counts() -> None:
    transform = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
    array = grid("spatial", "proj", **transform, **code(32631), grid_mapping="m")
    store = memory_store(build(Group({"a": array, "m": mapping(4326)})))
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].attrs["standard_name"] == "longitude"


def test_grids_in_metres_and_in_feet_have_a_crs_each() -> None:
    metres = pyproj.CRS(32631).to_wkt("WKT1_GDAL")
    feet = metres.replace('UNIT["metre",1,AUTHORITY["EPSG","9001"]]', 'UNIT["foot",0.3048]')
    feet = feet.replace(',AUTHORITY["EPSG","32631"]]', "]")
    members = {
        name: grid("proj", **{"proj:wkt2": it})
        for name, it in zip("ab", (metres, feet), strict=True)
    }
    dataset, _told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    units = [
        pyproj.CRS(dataset[dataset[name].attrs["grid_mapping"]].attrs["crs_wkt"])
        .axis_info[0]
        .unit_name
        for name in "ab"
    ]
    assert units == ["metre", "foot"]


def epsg_of(dataset: xr.Dataset, array: str = "a") -> int | None:
    """Return the code of the CRS that an array of a Dataset is told to have, or None."""
    variable = dataset[array]
    name = variable.encoding.get("grid_mapping") or variable.attrs.get("grid_mapping")
    return None if name is None else pyproj.CRS(dataset[name].attrs["crs_wkt"]).to_epsg()


AXES = {"axes": {"x": {"coordinates": [{"values": {"explicit": [1.0, 2.0]}}]}}}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"a": grid("cs", cs={"crs": [{**AXES, **code(32631)}]})}, 32631, id="in cs"),
        pytest.param(
            {
                "a": grid("proj", **code(32631)),
                "spatial_ref": Array([0, 1], ("n",), mapping(32633).attrs),
            },
            32631,
            id="beside an array that is no grid mapping",
        ),
        pytest.param(
            {"a": grid("proj", **code(32633)), "spatial_ref": mapping(32633)},
            32633,
            id="as the grid mapping says",
        ),
    ],
)
def test_what_says_the_crs(members: dict[str, Any], expected: int) -> None:
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert [str(it) for it in told if "another one than" in str(it)] == []
    assert epsg_of(dataset) == expected


def test_the_group_that_has_the_layout_says_the_crs_of_its_levels() -> None:
    multiscales = {"layout": [{"asset": "0"}]}
    levels = {name: Group({"a": grid("proj")}) for name in ("0", "1")}
    attributes = declaring("multiscales", "proj", multiscales=multiscales, **code(32631))
    store = memory_store(build(Group(levels, attributes)))
    groups, _told = opened_with_warnings(xr.open_groups, store)
    assert [epsg_of(groups[path]) for path in ("/0", "/1")] == [32631, None]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_grid_mapping_that_arrays_name_is_that_of_others_too(order: str) -> None:
    naming = Group(
        {"a": grid("proj"), "b": grid(grid_mapping="spatial_ref"), "spatial_ref": mapping(32631)}
    )
    plain = Group({"a": grid("proj"), "spatial_ref": mapping(32631)})
    store = memory_store(build(Group(dict(zip(order, (naming, plain), strict=True)))))
    groups, _told = opened_with_warnings(xr.open_groups, store)
    assert [epsg_of(groups[f"/{name}"]) for name in order] == [32631, 32631]


def test_what_is_declared_goes_before_what_gdal_says() -> None:
    members = {"a": grid("proj", **code(32632), **GDAL), "b": grid(**GDAL)}
    dataset, _told = opened_with_warnings(
        xr.open_dataset, memory_store(build(Group(members))), assume_conventions="geozarr"
    )
    assert [epsg_of(dataset, name) for name in "ab"] == [32632, 32631]


@pytest.mark.parametrize("assumed", ["geozarr", None])
def test_coordinates_are_of_the_crs_above_where_that_may_be(assumed: str | None) -> None:
    transform = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
    array = grid("spatial", grid_mapping="m", **transform)
    store = memory_store(build(Group({"m": mapping(4326), "g": Group({"a": array})})))
    dataset, _told = opened_with_warnings(
        xr.open_dataset, store, group="g", assume_conventions=assumed
    )
    expected = None if assumed is None else "longitude"
    assert dataset["x"].attrs.get("standard_name") == expected


def test_the_grid_mapping_that_an_array_names_counts_where_others_name_the_usual_one() -> None:
    transform = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
    members = {
        "a": grid("spatial", grid_mapping="m", **transform),
        "b": grid(grid_mapping="spatial_ref"),
        "m": mapping(4326),
        "spatial_ref": mapping(32631),
    }
    dataset, _told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert dataset["x"].attrs["standard_name"] == "longitude"


def test_a_code_of_a_compound_crs() -> None:
    members = {"a": grid("proj", **{"proj:code": "EPSG:32633+5773"})}
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert told == []
    crs = pyproj.CRS.from_wkt(dataset["spatial_ref"].attrs["crs_wkt"])
    assert [it.to_epsg() for it in crs.sub_crs_list] == [32633, 5773]
    assert zarr_xgroup.check(memory_store(build(Group(members)))).is_clean


def test_what_is_no_crs_is_told_with_its_place() -> None:
    members = {"a": grid("proj", **code(0))}
    _dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    (text,) = map(str, told)
    lost, place, reason = text.split(": ", 2)
    assert lost == "/a was opened without the CRS of 'proj:code'"
    assert place == "/a#/attributes/proj:code"
    assert reason == 'is no CRS that pyproj understands: "EPSG:0"'


@pytest.mark.parametrize("place", ["layout", "item", "level"])
def test_the_crs_of_levels_whose_coordinates_no_convention_gives(place: str) -> None:
    code_there = {it: code(32631) if it == place else {} for it in ("layout", "item", "level")}
    items = [
        {"asset": "0", **code_there["item"]},
        {"asset": "1", "derived_from": "0", "transform": {"scale": [2.0, 2.0]}},
    ]
    level = {
        "a": Array(np.ones((2, 2)), ("y", "x"), {"grid_mapping": "spatial_ref"}),
        "b": Array(np.ones((2, 2)), ("y", "x")),
        "x": Array([5.0, 15.0], ("x",)),
        "y": Array([15.0, 5.0], ("y",)),
        "spatial_ref": Array(0, ()),
    }
    levels = {"0": Group(level, code_there["level"]), "1": Group(level)}
    attributes = declaring("multiscales", "proj", multiscales={"layout": items})
    store = memory_store(build(Group(levels, {**attributes, **code_there["layout"]})))
    groups, told = opened_with_warnings(xr.open_groups, store)
    assert told == []
    for path in ("/0", "/1") if place == "layout" else ("/0",):
        dataset = groups[path]
        assert set(dataset.coords) == {"x", "y", "spatial_ref"}
        assert dataset["spatial_ref"].attrs["crs_wkt"]
        assert [epsg_of(dataset, name) for name in ("a", "b")] == [32631, 32631]
