"""Write a small Zarr store in which almost every array has invalid metadata.

Each array has one fault and a valid axis `good`. Each group has a valid array `whole`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from store_tools import below, run, writer_of

from zarr_xgroup.tests.builders import UUIDS, Array, Group, Json, Nodes, declaring

#: The number of references in the chain that is too long.
CHAIN = 20

#: The identity of a principal convention that only a test handles.
OTHER_PRINCIPAL = "00000000-0000-4000-8000-000000000001"

GOOD = {"coordinates": [{"values": {"regular": [0, 1]}}]}


def make_nodes() -> Nodes:
    """Return all nodes by their paths, groups before their members."""
    root = {"node": "/"}
    chain = {
        f"link{number}": {**root, "attribute": f"/attributes/crs/link{number + 1}"}
        for number in range(CHAIN)
    }
    shared = {
        "empty": {},
        "hen": {"ref": {**root, "attribute": "/attributes/crs/egg"}},
        "egg": {**root, "attribute": "/attributes/crs/hen"},
        "itself": {**root, "attribute": "/attributes/crs/itself"},
        **chain,
        f"link{CHAIN}": {"axes": {}},
    }
    return {
        "": Group(attrs=declaring("cs", "ref", title="Broken references", crs=shared)),
        **below("values", {"": Group(), **_valid(), **_values()}),
        **below("systems", {"": Group(), **_valid(), **_systems()}),
        **below("shapes", {"": Group(), **_valid(), **_shapes()}),
        **below("types", {"": Group(), **_valid(), **_types()}),
        **below("parts", {"": Group(), **_valid(), **_parts()}),
        **below("times", {"": Group(), **_valid(), **_times()}),
        **below("services", {"": Group(), **_services()}),
        **below("principals", {"": Group(), **_valid(), **_principals()}),
    }


def _cs(*systems: Any, also: tuple[str, ...] = ()) -> Json:
    return declaring("cs", *also, cs={"crs": list(systems)})


def _field(name: str, attributes: Mapping[str, Any]) -> Array:
    return Array(np.arange(4.0).reshape(2, 2), (f"x_{name}", "good"), attributes)


def _valid() -> Nodes:
    axis = {"coordinates": [{"values": {"external": {"node": "x"}}}]}
    return {
        "whole": Array(
            [[1.0, 2.0], [3.0, 4.0]], ("x", "good"), _cs({"axes": {"x": axis, "good": GOOD}})
        ),
        "x": Array([10.0, 20.0], ("x",)),
    }


def _with_axes(axes: Mapping[str, Any]) -> Nodes:
    """Return an array for each axis, with that axis as its first dimension."""
    return {
        name: _field(name, _cs({"axes": {f"x_{name}": axis, "good": GOOD}}))
        for name, axis in axes.items()
    }


def _with_sets(sets: Mapping[str, Any]) -> Nodes:
    """Return an array for each coordinate set, with that set on its first axis."""
    return _with_axes({name: {"coordinates": [item]} for name, item in sets.items()})


def _values() -> Nodes:
    """Return arrays with an invalid reference to values."""
    references: dict[str, Any] = {
        "missing": {"node": "nowhere"},
        "missing_absolute": {"node": "/nowhere/at/all"},
        "empty_path": {"node": ""},
        "doubled_slash": {"node": "values//x"},
        "beyond_root": {"node": "../../../x"},
        "absolute_beyond_root": {"node": "/../x"},
        "group": {"node": "/values"},
        "attribute": {"node": "/", "attribute": "/attributes/title"},
        "missing_key": {"node": "/", "attribute": "/attributes/crs/nothing/at/all"},
        "missing_item": {"node": "/", "attribute": "/attributes/zarr_conventions/7"},
        "no_pointer": {"node": "/", "attribute": "attributes/title"},
        "bad_escape": {"node": "/", "attribute": "/attributes/~2"},
        "missing_store": {"uri": "file:///no/such/store.zarr", "node": "/x"},
        "relative_store": {"uri": "other.zarr", "node": "/x"},
        "without_node": {"attribute": "/attributes/title"},
        "number": 7,
        "text": "x",
        "number_as_node": {"node": 7},
        "number_as_store": {"node": "x", "uri": 7},
        "number_as_attribute": {"node": "x", "attribute": 7},
        "wrapped_text": {"ref": "x"},
    }
    sets = {name: {"values": {"external": reference}} for name, reference in references.items()}
    return _with_sets(sets)


def _systems() -> Nodes:
    """Return arrays with an invalid reference to a CRS, and one valid CRS."""

    def shared(key: str) -> Json:
        return {"node": "/", "attribute": f"/attributes/crs/{key}"}

    references: dict[str, Any] = {
        "missing_key": shared("nothing"),
        "missing_node": {"node": "nowhere", "attribute": "/attributes/crs/empty"},
        "cycle": shared("hen"),
        "cycle_of_one": {"ref": shared("itself")},
        "chain": shared("link0"),
        "no_system": {"node": "/", "attribute": "/attributes/title"},
        "without_axes": shared("empty"),
        "missing_store": {"uri": "file:///no/such/store.zarr", **shared("empty")},
    }
    good = {"axes": {"good": GOOD}}
    return {
        name: _field(name, _cs(reference, good, also=("ref",)))
        for name, reference in references.items()
    }


def _shapes() -> Nodes:
    """Return arrays whose coordinate values have the wrong length or number of dimensions."""
    return {
        "three": Array([1.0, 2.0, 3.0], ("three",)),
        "table": Array(np.ones((2, 3)), ("two", "three")),
        "scalar": Array(1.0, ()),
        **_with_sets(
            {
                "too_long": {"values": {"external": {"node": "three"}}},
                "too_many_axes": {"values": {"external": {"node": "table"}}},
                "no_axis": {"values": {"external": {"node": "scalar"}}},
                "too_few_values": {"values": {"explicit": [1]}},
            }
        ),
        "outside": Array(
            [1.0, 2.0],
            ("good",),
            _cs(
                {
                    "axes": {
                        "good": GOOD,
                        "elsewhere": {"coordinates": [{"values": {"explicit": [1, 2]}}]},
                    }
                }
            ),
        ),
    }


def _types() -> Nodes:
    """Return arrays with a value of the wrong JSON type, at each level of the metadata."""
    declarations: dict[str, Json] = {
        "cs_missing": declaring("cs"),
        "cs_text": declaring("cs", cs="crs"),
        "cs_list": declaring("cs", cs=[{"axes": {}}]),
        "crs_missing": declaring("cs", cs={"name": "nothing"}),
        "crs_object": declaring("cs", cs={"crs": {"axes": {}}}),
        "crs_item_number": _cs(7, {"axes": {"good": GOOD}}),
        "axes_missing": _cs({"name": "nothing"}, {"axes": {"good": GOOD}}),
        "axes_text": _cs({"axes": "good"}, {"axes": {"good": GOOD}}),
        "axes_without_names": _cs({"axes": [{}]}, {"axes": {"good": GOOD}}),
    }
    axes: dict[str, Any] = {
        "axis_number": 7,
        "coordinates_object": {"coordinates": {"values": {"explicit": [1, 2]}}},
        "set_text": {"coordinates": ["explicit"]},
    }
    kinds: dict[str, Any] = {
        "values_list": [1, 2],
        "values_empty": {},
        "values_twofold": {"regular": [0, 1], "explicit": [0, 1]},
        "regular_number": {"regular": 1},
        "regular_three": {"regular": [1, 2, 3]},
        "regular_texts": {"regular": ["0", "1"]},
        "regular_booleans": {"regular": [True, False]},
        "regular_standing": {"regular": [5, 0]},
        "regular_too_large": {"regular": [2**63 - 1, 1]},
        "explicit_text": {"explicit": "ab"},
        "explicit_mixed": {"explicit": ["a", 1]},
        "explicit_booleans": {"explicit": [True, False]},
        "explicit_nulls": {"explicit": [None, None]},
        "explicit_too_large": {"explicit": [2**64, 1]},
    }
    sets = {name: {"values": values} for name, values in kinds.items()}
    return {
        **{name: _field(name, attributes) for name, attributes in declarations.items()},
        **_with_axes(axes),
        **_with_sets({"values_missing": {"name": "nothing"}, **sets}),
    }


def _parts() -> Nodes:
    """Return arrays with valid values, and a fault in another member of the coordinate set."""
    values = {"values": {"explicit": [1.0, 2.0]}}
    formula = "atmosphere_sigma_coordinate"
    parts: dict[str, Any] = {
        "name_number": {"name": 7},
        "unit_number": {"unit": 7},
        "unit_without_ucum": {"unit": {"unit": "m"}},
        "ucum_unit_number": {"unit": {"ucum": {"unit": 7}}},
        "unit_of_list": {"unit": {"uom": {"ucum": ["m"]}}},
        "direction_number": {"direction": 7},
        "attributes_list": {"attributes": ["long_name"]},
        "boundaries_text": {"boundaries": "regular"},
        "boundaries_empty": {"boundaries": {}},
        "boundaries_three": {"boundaries": {"regular": [1, 2, 3]}},
        "boundaries_name": {"boundaries": {"regular": [-1, 1], "name": 7}},
        "boundaries_missing": {"boundaries": {"external": {"node": "nowhere"}}},
        "boundaries_shape": {"boundaries": {"external": {"node": "three_edges"}}},
        "boundaries_group": {"boundaries": {"external": {"node": "/parts"}}},
        "parametric_text": {"parametric": formula},
        "parametric_without_formula": {"parametric": {"terms": {}}},
        "parametric_without_terms": {"parametric": {"formula": formula}},
        "terms_list": {"parametric": {"formula": formula, "terms": ["sigma"]}},
        "term_missing": {
            "parametric": {
                "formula": formula,
                "terms": {"ps": {"external": {"node": "nowhere"}}, "ptop": {"explicit": [10.0]}},
            }
        },
        "term_number": {"parametric": {"formula": formula, "terms": {"ps": 7}}},
    }
    sets = _with_sets({name: {**values, **part} for name, part in parts.items()})
    second = {"coordinates": [values, {"name": 7, **values}]}
    strings = {"values": {"explicit": ["a", "b"]}, "boundaries": {"regular": [-1, 1]}}
    return {
        **{name: node for name, node in sets.items() if name != "name_number"},
        **_with_axes(
            {
                "name_number": second,
                "abbreviation_number": {"abbreviation": 7, "coordinates": [values]},
                "axis_attributes_text": {"attributes": "none", "coordinates": [values]},
            }
        ),
        **_with_sets({"boundaries_of_texts": strings}),
        "three_edges": Array(np.ones((3, 2)), ("three", "nv")),
    }


def _times() -> Nodes:
    """Return arrays with a time that is malformed or cannot be decoded."""
    since = {"unit": "days", "epoch": "2000-01-01"}
    times: dict[str, Any] = {
        "text": "days since 2000-01-01",
        "without_unit": {"epoch": "2000-01-01"},
        "without_epoch": {"unit": "days"},
        "unit_number": {**since, "unit": 7},
        "epoch_number": {**since, "epoch": 2000},
        "calendar_number": {**since, "calendar": 360},
        "reference_list": {"reference": ["days", "2000-01-01"]},
        "unknown_unit": {**since, "unit": "fortnights"},
        "years": {**since, "unit": "y"},
        "unknown_epoch": {**since, "epoch": "once upon a time"},
        "no_such_day": {**since, "epoch": "2026-02-30"},
        "unknown_calendar": {**since, "calendar": "mayan"},
        "unknown_reference": {"reference": "days after 2000-01-01"},
    }
    values = {"regular": [0, 1]}
    return _with_sets({name: {"time": time, "values": values} for name, time in times.items()})


def _services() -> Nodes:
    """Return arrays with a fault in the attributes of service conventions."""
    plane = {"axes": {"x": GOOD, "good": GOOD}}

    def field(*services: str, **attributes: Any) -> Array:
        declared = {**_cs(plane, also=("ref", *services)), **attributes}
        return Array(np.arange(4.0).reshape(2, 2), ("x", "good"), declared)

    located: dict[str, Any] = {
        "geolocation_text": "geodetic",
        "geolocation_empty": {},
        "geodetic_list": {"geodetic": [{"node": "lon"}, {"node": "lon"}]},
        "geodetic_without_y": {"geodetic": {"x": {"node": "lon"}}},
        "geodetic_missing": {"geodetic": {"x": {"node": "lon"}, "y": {"node": "nowhere"}}},
        "planar_number": {"planar": {"x": {"node": "east"}, "y": 7}},
    }
    uoms: dict[str, Any] = {
        "uom_number": 7,
        "uom_without_ucum": {"unit": "m"},
        "uom_unit_number": {"ucum": {"unit": 7}},
    }
    referring: dict[str, Any] = {
        "ref_missing": {"node": "nowhere"},
        "ref_beyond_root": {"node": "../../../x"},
        "ref_missing_key": {"node": "/", "attribute": "/attributes/nothing"},
        "ref_malformed": [{"node": "services//lon"}, {"node": "flag"}],
    }
    in_crs = {**plane, "geolocation": {"geodetic": {"x": {"node": "lon"}, "y": {"node": "gone"}}}}
    return {
        **{name: field("geolocation", geolocation=item) for name, item in located.items()},
        **{name: field("uom", uom=item) for name, item in uoms.items()},
        **{name: field(related=item) for name, item in referring.items()},
        "geolocation_in_crs": Array(np.ones((2, 2)), ("x", "good"), _cs(in_crs)),
        "lon": Array([[1.0, 2.0], [3.0, 4.0]], ("x", "good")),
        "east": Array([[5.0, 6.0], [7.0, 8.0]], ("x", "good")),
        "flag": Array(np.array([1, 2]), ("x",)),
    }


def _principals() -> Nodes:
    """Return arrays that declare two principal conventions."""

    def field(name: str, other: Json, **more: Any) -> Array:
        attributes = {**_cs({"axes": {f"x_{name}": GOOD, "good": GOOD}}), **more}
        attributes["zarr_conventions"] = [other, *attributes["zarr_conventions"]]
        return _field(name, attributes)

    spatial = {"spatial:dimensions": ["x_spatial", "good"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
    return {
        "two": field("two", {"uuid": OTHER_PRINCIPAL, "name": "other"}),
        "spatial": field("spatial", {"uuid": UUIDS["spatial"], "name": "spatial"}, **spatial),
    }


write = writer_of(make_nodes)

if __name__ == "__main__":
    run(write, "broken_refs.zarr", __doc__)
