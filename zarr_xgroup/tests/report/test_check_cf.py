"""`check` of CF attributes: remedies for names, and all problems that opening reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import zarr_xgroup
from zarr_xgroup.findings import Finding
from zarr_xgroup.tests.builders import (
    Array,
    Json,
    declaring,
    memory_store,
    opened_with_warnings,
    recorded,
)
from zarr_xgroup.tests.report.test_check import SOUND, Nodes, documents, files, sized

HYBRID = {"standard_name": "atmosphere_hybrid_height_coordinate", "positive": "up"}
#: What is wrong, and what the attribute becomes by the remedy.
MENDED: list[tuple[Json, str]] = [
    ({"coordinates": "/latt/lat /grid/lon"}, "lat /grid/lon"),
    ({"coordinates": "lat lon"}, "lat ../grid/lon"),
    ({"coordinates": "lat, height"}, "lat height"),
    ({"coordinates": "lat,height"}, "lat height"),
    ({"coordinates": "lat; height"}, "lat height"),
    ({"coordinates": "lat:"}, "lat"),
    ({"coordinates": ["lat", "height"]}, "lat height"),
    ({"coordinates": "/gird/lon"}, "../grid/lon"),
    ({"coordinates": "../../../lon"}, "../grid/lon"),
    ({"coordinates": "/data/lat"}, "lat"),
    ({"ancillary_variables": "area"}, "../grid/area"),
    ({"grid_mapping": "crs: y x"}, "../grid/crs: y x"),
    ({"grid_mapping": "/grid/crs:"}, "/grid/crs"),
    ({"cell_measures": "area:/grid/area"}, "area: /grid/area"),
    ({"formula_terms": "a: /grid/a, b: /grid/a, orog: lat", **HYBRID}, "a: /grid/a b: /grid/a orog: lat"),
    ({"formula_terms": "a: a b: /grid/a orog: lat", **HYBRID}, "a: ../grid/a b: /grid/a orog: lat"),
]  # fmt: skip


def beside(**arrays: Json) -> Nodes:
    """Return a store of arrays of a group `data` with attributes, and of what they may name."""
    return {
        "": {},
        "lat": sized("y x", 4, 3, units="degrees_north"),
        "data": declaring("CF"),
        "data/height": sized(""),
        "grid": {},
        "grid/lon": sized("y x", 4, 3, units="degrees_east"),
        "grid/area": sized("y x", 4, 3, units="m2"),
        "grid/a": sized("y", 4),
        "grid/crs": sized("", grid_mapping_name="latitude_longitude"),
        **{f"data/{name}": sized("y x", 4, 3, **attrs) for name, attrs in arrays.items()},
    }


def mistakes(nodes: Nodes) -> dict[str, Finding]:
    """Return the mistakes in a store by node, of which none has two."""
    found = zarr_xgroup.check(memory_store(files(documents(nodes)))).mistakes
    at = {place.node: it for it in found for place in it.places}
    assert len(at) == sum(len(it.places) for it in found)
    return at


def test_a_pasted_remedy_fixes_the_mistake() -> None:
    found = mistakes(beside(**{f"t{n:02}": wrong for n, (wrong, _right) in enumerate(MENDED)}))
    for n, (wrong, right) in enumerate(MENDED):
        key, mistake = next(iter(wrong)), found.pop(f"/data/t{n:02}")
        assert mistake.place.pointer == f"/attributes/{key}"
        assert mistake.rule.document == "CF conventions 1.12"
        assert mistake.remedy == f'write "{key}": "{right}"'
    assert not found
    mended = {
        f"t{n}": {**wrong, next(iter(wrong)): right} for n, (wrong, right) in enumerate(MENDED)
    }
    assert mistakes(beside(**mended)) == {}
    store = memory_store(files(documents(beside(**mended))))
    _dataset, warned = opened_with_warnings(xr.open_dataset, store, group="data")
    assert warned == []


def test_remedies_if_no_name_is_similar() -> None:
    remedies: list[tuple[Json, str]] = [
        ({"coordinates": "nowhere"}, 'name an existing array, or remove "coordinates"'),
        ({"coordinates": "/latt/lat nowhere"}, 'name an existing array, or write "coordinates": "lat"'),
        ({"bounds": "lat_bnds"}, 'name an existing array, or remove "bounds"'),
        ({"grid_mapping": "lat lon: x y"}, 'remove "grid_mapping"'),
        ({"formula_terms": "a: zzz b: /grid/a orog: lat", **HYBRID}, 'remove "formula_terms"'),
        ({"cell_measures": "area: zzz"}, 'or write "external_variables": "zzz" on the root if'),
        ({"coordinates": "/x/grid"}, 'remove "coordinates"'),  # a group
        ({"coordinates": "/x/t7"}, 'remove "coordinates"'),  # itself
        ({"coordinates": "/x/odd"}, 'remove "coordinates"'),  # has a dimension without a name
        ({"cell_measures": "lat"}, 'write, for example, "cell_measures": "area: cell_area"'),
    ]  # fmt: skip
    nodes = beside(**{f"t{n}": wrong for n, (wrong, _remedy) in enumerate(remedies)})
    nodes["grid/lat_bnds"] = sized("y", 4)  # along other dimensions: not meant
    nodes["grid/odd"] = Array(np.zeros((4, 2)), ("y", None))
    found = mistakes(nodes)
    for n, (_wrong, remedy) in enumerate(remedies):
        assert remedy in found.pop(f"/data/t{n}").remedy
    assert set(found) == {"/grid/odd"}


def test_the_nearest_of_many_arrays_is_meant() -> None:
    nodes: Nodes = {"": {}}
    for n in range(30):
        nodes |= {f"g{n}": {}, f"g{n}/grid": {}, f"g{n}/grid/lat": sized("y x", 4, 3)}
    found = mistakes({**nodes, "g29/t": sized("y x", 4, 3, **declaring("CF"), coordinates="lat")})
    assert found["/g29/t"].remedy == 'write "coordinates": "grid/lat"'


# Mutants of the attributes of CF that an open uses: what it finds wrong is told by a check, too.

GONE = "is taken away"
VALUES: list[Any] = [GONE, None, True, 5, -1.5, "", "text", [], ["a"], [1], [1, 2], {}, {"a": 1}]
#: Besides, what times may be.
TIMES = {
    "units": ["days since 2000-13-01", "weekdays since 2000-01-01", "days since noon"],
    "calendar": ["maya", "NoLeap", "360_day"],
}
#: The attributes that an open uses, by array, and what they are where nothing is wrong.
USED: dict[str, Json] = {
    "so": {
        "coordinates": "lat",
        "grid_mapping": "crs",
        "cell_measures": "area: cell_area",
        "ancillary_variables": "depth",
        "missing_value": -999.0,
        "_FillValue": -999.0,
        "scale_factor": 0.01,
        "add_offset": 0.0,
    },
    "lev": {"formula_terms": "sigma: lev eta: eta depth: depth", "bounds": "lev_bnds"},
    "time": {"units": "days since 2000-01-01", "calendar": "standard"},
}


def test_problems_of_opening_are_reported_by_check() -> None:
    nodes = {path: it for path, it in SOUND.items() if path.startswith("ocean") or not path}
    found = documents(nodes)
    mutants: dict[str, tuple[str, Any]] = {}
    for name, attributes in USED.items():
        found[f"ocean/{name}"]["attributes"] |= attributes
        for key in attributes:
            for value in (*VALUES, *TIMES.get(key, ())):
                whole = found[f"ocean/{name}"]
                changed = {**whole["attributes"], key: value}
                if value == GONE:
                    del changed[key]
                mutants[f"/ocean/{name}_{len(mutants)}"] = (key, value)
                found[f"ocean/{name}_{len(mutants) - 1}"] = {**whole, "attributes": changed}
    store: Any = memory_store(files(found))
    _dataset, said = recorded(xr.open_dataset, store, engine="xgroup", group="ocean")
    wrong = {path for warning in said for path in getattr(warning, "paths", ())}
    assert len(wrong) > 50
    told = {place.node for it in zarr_xgroup.check(store).mistakes for place in it.places}
    assert {node: it for node, it in mutants.items() if node in wrong - told} == {}
    assert told.isdisjoint(f"/ocean/{name}" for name in USED)
