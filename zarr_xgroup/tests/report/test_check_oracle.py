"""zarr-cm as an oracle of `check`, for the conventions that it supports: proj, spatial, multiscales, uom.

`check` reports mistakes exactly if zarr-cm does, with the exceptions listed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyproj
import pytest

from zarr_xgroup.tests.builders import Json
from zarr_xgroup.tests.report.test_check import Nodes, check_nodes, documents, sized

zarr_cm = pytest.importorskip("zarr_cm")
from zarr_cm import multiscales, proj, spatial, uom

WKT2, PROJJSON = pyproj.CRS(4326).to_wkt(), pyproj.CRS(4326).to_json_dict()
GRID: Json = {"spatial:dimensions": ["y", "x"], "spatial:bbox": [0.0, -4.0, 6.0, 0.0]}
WHOLE_GRID: Json = {
    **GRID,
    "spatial:transform_type": "affine",
    "spatial:transform": [1.0, 0.0, 0.0, 0.0, -1.0, 0.0],
    "spatial:shape": [4, 6],
    "spatial:registration": "pixel",
}
TRANSFORM = {"scale": [2.0, 2.0], "translation": [0.0, 0.0]}
COARSE = {
    "asset": "coarse",
    "derived_from": "fine",
    "transform": TRANSFORM,
    "resampling_method": "mean",
}
LEVELS: Json = {
    "multiscales": {"layout": [{"asset": "fine"}, COARSE], "resampling_method": "average"}
}
CODE: Json = {"proj:code": "EPSG:4326"}
#: The modules of zarr-cm, with what is valid of each on an array, or on a group.
CASES: list[tuple[Any, Json, bool]] = [
    *((proj, it, True) for it in (CODE, {"proj:wkt2": WKT2}, {"proj:projjson": PROJJSON})),
    *((proj, it, True) for it in ({**CODE, "proj:wkt2": WKT2}, {"proj:code": "EPSG:4326+5773"})),
    *((spatial, it, True) for it in (GRID, WHOLE_GRID)),
    (uom, {"uom": {"ucum": {"unit": "kg", "version": "2.2"}, "description": "mass"}}, True),
    (uom, {"uom": {"ucum": {"unit": "m/s2"}}}, True),
    (uom, {"uom": {"ucum": {"version": "2.2"}}}, True),
    (multiscales, LEVELS, False),
    (proj, CODE, False),
    (spatial, {**GRID, "spatial:bbox": [0.0, 0.0, 4.0, 6.0]}, False),
]
#: What stands in place of a value: of no kind, of any other, of too few and too many, of none that is known;
#: paths, and as many numbers as there may be.
OTHERS: tuple[Any, ...] = (
    *(None, True, 5, -1, 0.5, "text", "", [], ["a"], [[1]], {}, {"a": 1}),
    *("/a", "..", [1, 2]),
)


def mutations(value: Any) -> Iterator[Any]:
    """Yield a JSON value with one part changed: another one, taken away, or misspelt."""
    yield from (other for other in OTHERS if type(other) is not type(value) or other != value)
    parts: dict[Any, Any] = value if isinstance(value, dict) else {}
    if isinstance(value, list) and value:
        parts = {index: value[index] for index in (0, len(value) - 1)}
    for key, item in parts.items():
        rest = value.copy()
        del rest[key]
        yield rest
        if isinstance(key, str):
            yield {f"{it}{it[-1:]}" if it == key else it: value[it] for it in value}
        for changed in mutations(item):
            whole = value.copy()
            whole[key] = changed
            yield whole


def is_clean(attributes: Json, *, is_array: bool) -> bool:
    """Tell whether a store with attributes on an array, or on a group of two levels, is clean.

    Only the rules about documents count: zarr-cm knows no open, and what a valid document lacks for it.
    """
    if is_array:
        nodes: Nodes = {"": {}, "a": sized("y x", 4, 6, **attributes)}
    else:
        nodes = {"": {}, "g": attributes, "g/fine": {}, "g/coarse": {}}
        nodes |= {f"g/{name}/a": sized("y x", 2, 2) for name in ("fine", "coarse")}
    return all(it.rule.name.startswith("open/") for it in check_nodes(nodes).mistakes)


def objects(module: Any, attributes: Json, *, is_array: bool) -> bool:
    """Tell whether zarr-cm objects to the document of an array, or of a group."""
    node = sized("y x", 4, 6, **attributes) if is_array else attributes
    document: Any = documents({"": node})[""]
    try:
        module.validate_node_metadata(document)
    except (TypeError, ValueError):
        return True
    return False


def declaring(module: Any, attributes: Json) -> Json:
    return {"zarr_conventions": [module.CMO], **attributes}


each_case = pytest.mark.parametrize(
    ("module", "attributes", "is_array"),
    CASES,
    ids=[f"{module.CMO['name']}-{number}" for number, (module, *_rest) in enumerate(CASES)],
)


@each_case
def test_check_agrees_with_zarr_cm(module: Any, attributes: Json, is_array: bool) -> None:
    whole = declaring(module, attributes)
    assert not objects(module, whole, is_array=is_array)
    assert is_clean(whole, is_array=is_array)
    compared = []
    for key, value in attributes.items():
        changed = list(mutations(value))
        # Of many some, all over, that stand for all.
        wholes = ({**whole, key: it} for it in changed[:: max(1, len(changed) // 20)])
        compared += [it for it in wholes if objects(module, it, is_array=is_array)]
    assert compared
    assert [it for it in compared if is_clean(it, is_array=is_array)] == []


#: What is missing or out of place, and declarations that are none.
WRONG: list[Any] = ["proj", [5], [{}], [{"name": "proj"}], [{**proj.CMO, "description": 5}]]
OBJECTED: list[tuple[Any, Json, bool]] = [
    *((module, declaring(module, {}), True) for module in (proj, spatial, uom)),
    (multiscales, declaring(multiscales, {}), False),
    (multiscales, declaring(multiscales, LEVELS), True),
    (uom, declaring(uom, {"uom": {"ucum": {"unit": "kg"}}}), False),
    *((proj, {"zarr_conventions": declared, **CODE}, True) for declared in WRONG),
]


@pytest.mark.parametrize(("module", "whole", "is_array"), OBJECTED, ids=str)
def test_missing_or_misplaced_members(module: Any, whole: Json, is_array: bool) -> None:
    assert objects(module, whole, is_array=is_array)
    assert not is_clean(whole, is_array=is_array)


def test_exceptions() -> None:
    """What `check` takes though zarr-cm objects to it, and why."""
    # Products declare revisions that zarr-cm does not know.
    url = "https://raw.githubusercontent.com/zarr-experimental/geo-proj/refs/tags/v1/schema.json"
    revision = [{"uuid": proj.UUID, "schema_url": url}]
    by_uuid = {proj.UUID: {"name": "proj"}}  # as framework 0.1.0 has it
    for declared in (revision, by_uuid):
        whole = {"zarr_conventions": declared, **CODE}
        assert objects(proj, whole, is_array=True)
        assert is_clean(whole, is_array=True)
    # zarr-cm looks at one node: what a group says holds for its arrays.
    inherited = declaring(spatial, {"spatial:dimensions": ["y", "x"]})
    own = declaring(spatial, {"spatial:bbox": [0.0, -4.0, 6.0, 0.0]})
    assert objects(spatial, own, is_array=True)
    assert check_nodes({"": inherited, "a": sized("y x", 4, 6, **own)}).is_clean
