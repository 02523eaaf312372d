"""zarr-cm is the oracle of `check` for the conventions that it knows: proj, spatial, multiscales, uom.

Whatever zarr-cm objects to, `check` objects to; what zarr-cm takes, `check` takes, with the exceptions
listed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import zarr_xgroup
from zarr_xgroup.tests.builders import Json, memory_store
from zarr_xgroup.tests.documents import array, contents_of, group
from zarr_xgroup.tests.report.test_check import WKT1

zarr_cm = pytest.importorskip("zarr_cm")
from zarr_cm import multiscales, proj, spatial, uom

WKT2 = (
    'GEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563]],'
    'CS[ellipsoidal,2],AXIS["latitude",north],AXIS["longitude",east],'
    'ANGLEUNIT["degree",0.0174532925199433],ID["EPSG",4326]]'
)
PROJJSON = json.loads(
    '{"type": "GeographicCRS", "name": "WGS 84", "datum": {"type": "GeodeticReferenceFrame", '
    '"name": "World Geodetic System 1984", "ellipsoid": {"name": "WGS 84", "semi_major_axis": '
    '6378137, "inverse_flattening": 298.257223563}}, "coordinate_system": {"subtype": '
    '"ellipsoidal", "axis": [{"name": "Latitude", "abbreviation": "lat", "direction": "north", '
    '"unit": "degree"}, {"name": "Longitude", "abbreviation": "lon", "direction": "east", '
    '"unit": "degree"}]}}'
)

#: The modules of zarr-cm, with what is valid of each on an array or on a group.
ON_ARRAYS: dict[Any, list[Json]] = {
    proj: [
        {"proj:code": "EPSG:4326"},
        {"proj:wkt2": WKT2},
        {"proj:projjson": PROJJSON},
        {"proj:code": "EPSG:4326", "proj:wkt2": WKT2},
        {"proj:code": "EPSG:4326+5773"},
    ],
    spatial: [
        {
            "spatial:dimensions": ["y", "x"],
            "spatial:bbox": [0.0, -4.0, 6.0, 0.0],
            "spatial:transform_type": "affine",
            "spatial:transform": [1.0, 0.0, 0.0, 0.0, -1.0, 0.0],
            "spatial:shape": [4, 6],
            "spatial:registration": "pixel",
        },
        {"spatial:dimensions": ["y", "x"], "spatial:bbox": [0.0, -4.0, 6.0, 0.0]},
    ],
    uom: [
        {"uom": {"ucum": {"unit": "kg", "version": "2.2"}, "description": "mass"}},
        {"uom": {"ucum": {"unit": "m/s2"}}},
        {"uom": {"ucum": {"version": "2.2"}}},
    ],
}
LEVELS: Json = {
    "multiscales": {
        "layout": [
            {"asset": "fine"},
            {
                "asset": "coarse",
                "derived_from": "fine",
                "transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]},
                "resampling_method": "mean",
            },
        ],
        "resampling_method": "average",
    }
}
#: What stands in place of a value: of no kind, of any other, of too few and too many, of none that is known;
#: paths, and as many numbers as there may be.
OTHERS: tuple[Any, ...] = (
    *(None, True, 5, -1, 0.5, "text", "", [], ["a"], [[1]], {}, {"a": 1}),
    *("/a", "..", [1, 2]),
)


def mutations(value: Any) -> Iterator[Any]:
    """Yield a JSON value with one part changed: another one, taken away, or misspelt."""
    yield from (other for other in OTHERS if type(other) is not type(value) or other != value)
    members = value.items() if isinstance(value, dict) else ()
    for key, item in members if not isinstance(value, list) else _ends(value):
        rest = value.copy()
        del rest[key]
        yield rest
        if isinstance(key, str):
            yield {f"{it}{it[-1:]}" if it == key else it: value[it] for it in value}
        for changed in mutations(item):
            whole = value.copy()
            whole[key] = changed
            yield whole


def _ends(items: list[Any]) -> Iterable[tuple[int, Any]]:
    """Return the first and the last item of a list."""
    return {0: items[0], len(items) - 1: items[-1]}.items() if items else ()


def is_clean(attributes: Json, *, is_array: bool) -> bool:
    """Tell whether a store with attributes on an array, or on a group of two levels, is clean.

    Only the rules about documents count: zarr-cm knows no open, and what a valid document lacks for it.
    """
    documents = {"": group()}
    if is_array:
        documents["a"] = array((4, 6), ("y", "x"), attributes)
    else:
        documents |= {"g": group(attributes), "g/fine": group(), "g/coarse": group()}
        documents |= {f"g/{name}/a": array((2, 2), ("y", "x")) for name in ("fine", "coarse")}
    verdict = zarr_xgroup.check(memory_store(contents_of(documents)))
    return all(it.rule.name.startswith("open/") for it in verdict.mistakes)


def objects(module: Any, attributes: Json, *, is_array: bool) -> bool:
    """Tell whether zarr-cm objects to the document of an array, or of a group."""
    document: Any = array((4, 6), ("y", "x"), attributes) if is_array else group(attributes)
    try:
        module.validate_node_metadata(document)
    except (TypeError, ValueError):
        return True
    return False


def declaring(module: Any, attributes: Json) -> Json:
    return {"zarr_conventions": [module.CMO], **attributes}


CASES = [
    *((module, attributes, True) for module, items in ON_ARRAYS.items() for attributes in items),
    (multiscales, LEVELS, False),
    (proj, {"proj:code": "EPSG:4326"}, False),
    (spatial, {"spatial:dimensions": ["y", "x"], "spatial:bbox": [0.0, 0.0, 4.0, 6.0]}, False),
]
each_case = pytest.mark.parametrize(
    ("module", "attributes", "is_array"),
    CASES,
    ids=[f"{module.CMO['name']}-{number}" for number, (module, *_rest) in enumerate(CASES)],
)


@each_case
def test_what_is_valid_is_clean(module: Any, attributes: Json, is_array: bool) -> None:
    whole = declaring(module, attributes)
    assert not objects(module, whole, is_array=is_array)
    assert is_clean(whole, is_array=is_array)


@each_case
def test_what_zarr_cm_objects_to_is_not_clean(
    module: Any, attributes: Json, is_array: bool
) -> None:
    each = (
        {**attributes, key: value}
        for key in attributes
        for value in _some(list(mutations(attributes[key])))
    )
    wholes = (declaring(module, changed) for changed in each)
    compared = [it for it in wholes if objects(module, it, is_array=is_array)]
    assert compared
    assert [it for it in compared if is_clean(it, is_array=is_array)] == []


def _some(found: list[Any]) -> list[Any]:
    """Return values, of many some, all over, that stand for all."""
    return found[:: max(1, len(found) // 20)]


@pytest.mark.parametrize(
    ("module", "attributes", "is_array"),
    [
        (proj, {}, True),
        (spatial, {}, True),
        (uom, {}, True),
        (multiscales, {}, False),
        (multiscales, LEVELS, True),
        (uom, {"uom": {"ucum": {"unit": "kg"}}}, False),
    ],
)
def test_what_is_missing_or_out_of_place(module: Any, attributes: Json, is_array: bool) -> None:
    whole = declaring(module, attributes)
    assert objects(module, whole, is_array=is_array)
    assert not is_clean(whole, is_array=is_array)


@pytest.mark.parametrize(
    "declared",
    ["proj", [5], [{}], [{"name": "proj"}], [{"uuid": 5}], [{**proj.CMO, "description": 5}]],
    ids=str,
)
def test_declarations(declared: Any) -> None:
    whole = {"zarr_conventions": declared, "proj:code": "EPSG:4326"}
    assert objects(proj, whole, is_array=True)
    assert not is_clean(whole, is_array=True)


#: What `check` objects to though zarr-cm takes it: it looks further than the types of values.
FURTHER: list[tuple[Any, Json]] = [
    (proj, {"proj:code": "EPSG:999999"}),
    (proj, {"proj:wkt2": WKT1}),
    (proj, {"proj:wkt2": "no CRS"}),
    (proj, {"proj:projjson": {"type": "nothing"}}),
    (proj, {"proj:code": "EPSG:32633", "proj:wkt2": WKT2}),
    (spatial, {"spatial:dimensions": ["lat", "lon"]}),
    (spatial, {"spatial:dimensions": ["y", "y"]}),
    (spatial, {"spatial:dimensions": ["y", "x"], "spatial:shape": [6, 4]}),
    (spatial, {"spatial:dimensions": ["y", "x"], "spatial:transform": [0, 0, 0, 0, 0, 0]}),
    (uom, {"uom": {"ucum": {"unit": "kg m"}}}),
]


@pytest.mark.parametrize(("module", "attributes"), FURTHER, ids=str)
def test_check_looks_further(module: Any, attributes: Json) -> None:
    whole = declaring(module, attributes)
    assert not objects(module, whole, is_array=True)
    assert not is_clean(whole, is_array=True)


#: What `check` takes though zarr-cm objects to it, and why.
EXCEPTIONS: list[tuple[Any, Json, str]] = [
    (
        proj,
        {
            "zarr_conventions": [
                {
                    "uuid": proj.UUID,
                    "schema_url": "https://raw.githubusercontent.com/zarr-experimental/geo-proj/"
                    "refs/tags/v1/schema.json",
                }
            ],
            "proj:code": "EPSG:4326",
        },
        "published documents and products declare revisions that zarr-cm does not know",
    ),
    (
        proj,
        {
            "zarr_conventions": {proj.UUID: {"name": "proj"}},
            "proj:code": "EPSG:4326",
        },
        "an object by uuid, as framework 0.1.0 has it",
    ),
]


@pytest.mark.parametrize(("module", "attributes", "_why"), EXCEPTIONS)
def test_exceptions(module: Any, attributes: Json, _why: str) -> None:
    assert objects(module, attributes, is_array=True)
    assert is_clean(attributes, is_array=True)


def test_an_array_may_have_the_attributes_of_its_group() -> None:
    """zarr-cm looks at one node: what a group says holds for its arrays (spatial, proj)."""
    inherited = {"zarr_conventions": [spatial.CMO], "spatial:dimensions": ["y", "x"]}
    own = {"zarr_conventions": [spatial.CMO], "spatial:bbox": [0.0, -4.0, 6.0, 0.0]}
    assert objects(spatial, own, is_array=True)
    documents = {"": group(inherited), "a": array((4, 6), ("y", "x"), own)}
    assert zarr_xgroup.check(memory_store(contents_of(documents))).is_clean
