"""A store in which almost every array is at fault: what is told, and that nothing else suffers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from xarray.conventions import decode_cf_variables
from zarr.storage import LocalStore

from zarr_xgroup import (
    XGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupPathError,
    XGroupReferenceError,
    XGroupResolutionWarning,
    XGroupStoreError,
    XGroupStoreNotFoundError,
    XGroupWarning,
)
from zarr_xgroup.conventions import ConventionHandler, register
from zarr_xgroup.conventions.units import problems_of_time_units
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    Json,
    ZarrFormat,
    build,
    coordinate,
    declaring,
    opened,
    opened_with_warnings,
    without_principal,
    write_local,
)
from zarr_xgroup.tests.documents import ALL_FORMS, STORES, array, committed, group, write

STORE = STORES / "broken_refs.zarr"

Faults = Mapping[type[XGroupError], Mapping[str, str]]

#: A chain of references that is too long, as far as it is followed.
CHAIN = " -> ".join(f"/#/attributes/crs/link{number}" for number in range(16))

#: What is said of each array, by group and kind of error. `{array}` is the array and its fragment mark, `{axis}`
#: the place of its axis in it, `{set}` that of the axis' coordinate set.
MISSING = "'nowhere' leads nowhere, tried {parent}/nowhere (not found in store), {path}/nowhere (not found in store)"
FAULTS: Mapping[str, Faults] = {
    "values": {
        XGroupReferenceError: {
            "missing": "{set}/values/external: " + MISSING,
            "missing_absolute": (
                "{set}/values/external: '/nowhere/at/all' leads nowhere, tried "
                "/nowhere/at/all (not found in store)"
            ),
            "group": (
                "{set}/values/external: '/values' leads nowhere, tried /values (an array is "
                "needed, found a group)"
            ),
            "attribute": (
                "{set}/values/external: '/#/attributes/title' leads nowhere, tried / (an "
                "array is needed, found string)"
            ),
            "missing_key": (
                "{set}/values/external: '/#/attributes/crs/nothing/at/all' leads nowhere, "
                "tried / (nothing stands at #/attributes/crs/nothing)"
            ),
            "missing_item": (
                "{set}/values/external: '/#/attributes/zarr_conventions/7' leads nowhere, "
                "tried / (nothing stands at #/attributes/zarr_conventions/7)"
            ),
        },
        XGroupPathError: {
            "empty_path": "{set}/values/external/node: '' is not the path of a node",
            "doubled_slash": "{set}/values/external/node: 'values//x' is not the path of a node",
            "beyond_root": (
                "{set}/values/external: '../../../x' leads above the root of the store; "
                "if that is a group of a larger store, open the larger one, with group=..."
            ),
            "absolute_beyond_root": (
                "{set}/values/external: '/../x' leads above the root of the store"
            ),
            "no_pointer": "{set}/values/external/attribute: 'attributes/title' is no JSON pointer",
            "bad_escape": "{set}/values/external/attribute: '/attributes/~2' is no JSON pointer",
        },
        XGroupStoreError: {
            "missing_store": "{set}/values/external: {no_store}",
            "relative_store": (
                "{set}/values/external: 'other.zarr' is not an absolute URI of a store"
            ),
        },
        XGroupMetadataError: {
            "without_node": "{set}/values/external: is no reference: it has no 'node'",
            "number": "{set}/values/external: must be a reference to an array, got number 7",
            "text": '{set}/values/external: must be a reference to an array, got string "x"',
            "number_as_node": '{set}/values/external: must be a reference to an array, got object {{"node": 7}}',
            "number_as_store": "{set}/values/external/uri: must be a string, got number",
            "number_as_attribute": "{set}/values/external/attribute: must be a string, got number",
            "wrapped_text": '{set}/values/external: must be a reference to an array, got object {{"ref": "x"}}',
        },
    },
    "systems": {
        XGroupReferenceError: {
            "missing_key": (
                "{array}/attributes/cs/crs/0: '/#/attributes/crs/nothing' leads nowhere, "
                "tried / (nothing stands at #/attributes/crs/nothing)"
            ),
            "missing_node": (
                "{array}/attributes/cs/crs/0: 'nowhere#/attributes/crs/empty' leads nowhere, "
                "tried /systems/nowhere (not found in store), /systems/missing_node/nowhere (not "
                "found in store)"
            ),
            "cycle": (
                "{array}/attributes/cs/crs/0: references form a cycle: "
                "{array}/attributes/cs/crs/0 -> /#/attributes/crs/hen -> "
                "/#/attributes/crs/egg -> /#/attributes/crs/hen"
            ),
            "cycle_of_one": (
                "{array}/attributes/cs/crs/0: references form a cycle: "
                "{array}/attributes/cs/crs/0 -> /#/attributes/crs/itself -> "
                "/#/attributes/crs/itself"
            ),
            "chain": (
                "{array}/attributes/cs/crs/0: more than 16 references follow one another: "
                "{array}/attributes/cs/crs/0 -> " + CHAIN
            ),
        },
        XGroupMetadataError: {
            "no_system": "/#/attributes/title: must be an object, got string",
            "without_axes": "/#/attributes/crs/empty/axes: is missing",
        },
        XGroupStoreError: {
            "missing_store": "{array}/attributes/cs/crs/0: {no_store}",
        },
    },
    "shapes": {
        XGroupReferenceError: {
            "too_long": (
                "{set}/values/external: 'three' leads nowhere, tried /shapes/three (its "
                "shape is [3], the axis 'x_too_long' needs [2]), /shapes/too_long/three (not "
                "found in store)"
            ),
            "too_many_axes": (
                "{set}/values/external: 'table' leads nowhere, tried /shapes/table (its "
                "shape is [2, 3], the axis 'x_too_many_axes' needs [2]), "
                "/shapes/too_many_axes/table (not found in store)"
            ),
            "no_axis": (
                "{set}/values/external: 'scalar' leads nowhere, tried /shapes/scalar (its "
                "shape is [], the axis 'x_no_axis' needs [2]), /shapes/no_axis/scalar (not "
                "found in store)"
            ),
        },
        XGroupMetadataError: {
            "too_few_values": "{set}/values/explicit: has 1 values, the axis needs 2",
            "outside": (
                "{array}/attributes/cs/crs/0/axes/elsewhere/coordinates/0/values/explicit: has 2 "
                "values, the axis needs 1"
            ),
        },
    },
    "types": {
        XGroupMetadataError: {
            "cs_missing": "{array}/attributes/cs: is declared, but missing",
            "cs_text": '{array}/attributes/cs: must be an object, got string "crs"',
            "cs_list": '{array}/attributes/cs: must be an object, got list [{{"axes": {{}}}}]',
            "crs_missing": "{array}/attributes/cs/crs: is missing",
            "crs_object": '{array}/attributes/cs/crs: must be a list, got object {{"axes": {{}}}}',
            "crs_item_number": "{array}/attributes/cs/crs/0: must be an object, got number",
            "axes_missing": "{array}/attributes/cs/crs/0/axes: is missing",
            "axes_text": '{array}/attributes/cs/crs/0/axes: must be an object or a list, got string "good"',
            "axes_without_names": "{array}/attributes/cs/crs/0/axes/0: must have a 'name'",
            "axis_number": "{axis}: must be an object, got number",
            "coordinates_object": '{axis}/coordinates: must be a list, got object {{"values": {{"explicit": [1, 2]}}}}',
            "set_text": "{set}: must be an object, got string",
            "values_missing": "{set}/values: is missing",
            "values_list": "{set}/values: must be an object, got list [1, 2]",
            "values_empty": "{set}/values: must have exactly one of regular, explicit, external",
            "values_twofold": "{set}/values: must have exactly one of regular, explicit, external",
            "regular_number": "{set}/values/regular: must be a list, got number",
            "regular_three": "{set}/values/regular: must be two finite numbers, got [1, 2, 3]",
            "regular_texts": '{set}/values/regular: must be two finite numbers, got ["0", "1"]',
            "regular_booleans": (
                "{set}/values/regular: must be two finite numbers, got [true, false]"
            ),
            "regular_standing": "{set}/values/regular: has a step of 0: all values are the same",
            "regular_too_large": "{set}/values/regular: has values beyond 64 bits",
            "explicit_text": "{set}/values/explicit: must be a list, got string",
            "explicit_mixed": "{set}/values/explicit: must be all numbers or all strings",
            "explicit_booleans": "{set}/values/explicit: must be all numbers or all strings",
            "explicit_nulls": "{set}/values/explicit: must be all numbers or all strings",
            "explicit_too_large": (
                "{set}/values/explicit: has integers that no type for all of its numbers "
                "holds exactly"
            ),
        },
    },
    "parts": {
        XGroupMetadataError: {
            "name_number": "{axis}/coordinates/1/name: must be a string, got number 7",
            "abbreviation_number": "{axis}/abbreviation: must be a string, got number 7",
            "axis_attributes_text": '{axis}/attributes: must be an object, got string "none"',
            "unit_number": "{set}/unit: must be a string or an object, got number 7",
            "unit_without_ucum": "{set}/unit/ucum: is missing",
            "ucum_unit_number": "{set}/unit/ucum/unit: must be a string, got number 7",
            "unit_of_list": '{set}/unit/uom/ucum: must be an object, got list ["m"]',
            "direction_number": "{set}/direction: must be a string, got number 7",
            "attributes_list": '{set}/attributes: must be an object, got list ["long_name"]',
            "boundaries_text": '{set}/boundaries: must be an object, got string "regular"',
            "boundaries_empty": "{set}/boundaries: must have exactly one of regular, external",
            "boundaries_three": (
                "{set}/boundaries/regular: must be two finite numbers, got [1, 2, 3]"
            ),
            "boundaries_name": "{set}/boundaries/name: must be a string, got number 7",
            "boundaries_of_texts": (
                "{set}/boundaries/regular: gives offsets to values that are no numbers"
            ),
            "parametric_text": '{set}/parametric: must be an object, got string "atmosphere_sigma_coordinate"',
            "parametric_without_formula": "{set}/parametric/formula: is missing",
            "parametric_without_terms": "{set}/parametric/terms: is missing",
            "terms_list": '{set}/parametric/terms: must be an object, got list ["sigma"]',
            "term_number": "{set}/parametric/terms/ps: must be an object, got number 7",
        },
        XGroupReferenceError: {
            "boundaries_missing": "{set}/boundaries/external: " + MISSING,
            "boundaries_shape": (
                "{set}/boundaries/external: 'three_edges' leads nowhere, tried "
                "/parts/three_edges (its shape is [3, 2], the boundaries of axis "
                "'x_boundaries_shape' need [2, 2]), /parts/boundaries_shape/three_edges (not "
                "found in store)"
            ),
            "boundaries_group": (
                "{set}/boundaries/external: '/parts' leads nowhere, tried /parts (an array "
                "is needed, found a group)"
            ),
            "term_missing": "{set}/parametric/terms/ps/external: " + MISSING,
        },
    },
    "times": {
        XGroupMetadataError: {
            "text": '{set}/time: must be an object, got string "days since 2000-01-01"',
            "without_unit": "{set}/time/unit: is missing",
            "without_epoch": "{set}/time/epoch: is missing",
            "unit_number": "{set}/time/unit: must be a string, got number 7",
            "epoch_number": "{set}/time/epoch: must be a string, got number",
            "unknown_epoch": (
                "{set}/time/epoch: must give a date and time as ISO 8601 writes it (such as "
                "2028-02-01T00:00:00), got 'once upon a time'; the times were left undecoded"
            ),
            "calendar_number": "{set}/time/calendar: must be a string, got number 360",
            "reference_list": "{set}/time/reference: must be a string, got list",
        },
    },
    "services": {
        XGroupMetadataError: {
            "geolocation_text": "{array}/attributes/geolocation: must be an object, got string",
            "geolocation_empty": (
                "{array}/attributes/geolocation: has neither 'geodetic' nor 'planar'"
            ),
            "geodetic_list": (
                "{array}/attributes/geolocation/geodetic: must be an object, got list "
                '[{{"node": "lon"}}, {{"node": "lon"}}]'
            ),
            "geodetic_without_y": "{array}/attributes/geolocation/geodetic/y: is missing",
            "planar_number": (
                "{array}/attributes/geolocation/planar/y: must be a reference to an array, got "
                "number 7"
            ),
            "uom_number": "{array}/attributes/uom: must be an object, got number 7",
            "uom_without_ucum": "{array}/attributes/uom/ucum: is missing",
            "uom_unit_number": "{array}/attributes/uom/ucum/unit: must be a string, got number 7",
        },
        XGroupReferenceError: {
            "geodetic_missing": "{array}/attributes/geolocation/geodetic/y: " + MISSING,
            "geolocation_in_crs": (
                "{array}/attributes/cs/crs/0/geolocation/geodetic/y: 'gone' leads nowhere, "
                "tried /services/gone (not found in store), /services/geolocation_in_crs/gone (not "
                "found in store)"
            ),
            "ref_missing": "{array}/attributes/related: " + MISSING,
            "ref_missing_key": (
                "{array}/attributes/related: '/#/attributes/nothing' leads nowhere, tried / "
                "(nothing stands at #/attributes/nothing)"
            ),
        },
        XGroupPathError: {
            "ref_beyond_root": (
                "{array}/attributes/related: '../../../x' leads above the root of the store; "
                "if that is a group of a larger store, open the larger one, with group=..."
            ),
            "ref_malformed": (
                "{array}/attributes/related/0/node: 'services//lon' is not the path of a node"
            ),
        },
    },
}

#: What arrays are opened without, by group; and by array where it is something else than for the group.
LOST = {
    "values": "coordinate 'x_{name}'",
    "systems": "what 'cs/crs/0' declares",
    "systems/no_system": "what 'title' declares",
    "systems/without_axes": "what 'crs/empty/axes' declares",
    "shapes": "coordinate 'x_{name}'",
    "shapes/outside": "coordinate 'elsewhere'",
    "types": "coordinate 'x_{name}'",
    "types/cs_missing": "the coordinates of its dimensions",
    "types/cs_text": "what 'cs' declares",
    "types/cs_list": "what 'cs' declares",
    "types/crs_missing": "what 'cs/crs' declares",
    "types/crs_object": "what 'cs/crs' declares",
    "types/crs_item_number": "what 'cs/crs/0' declares",
    "types/axes_missing": "what 'cs/crs/0/axes' declares",
    "types/axes_text": "what 'cs/crs/0/axes' declares",
    "types/axes_without_names": "what 'cs/crs/0/axes/0' declares",
    "parts": "the boundaries of 'x_{name}'",
    "parts/name_number": "'name' of axis 'x_{name}'",
    "parts/boundaries_text": "'boundaries' of axis 'x_{name}'",
    "parts/boundaries_name": "'name' of the boundaries of 'x_{name}'",
    "parts/abbreviation_number": "'abbreviation' of axis 'x_{name}'",
    "parts/axis_attributes_text": "'attributes' of axis 'x_{name}'",
    "parts/attributes_list": "'attributes' of axis 'x_{name}'",
    "parts/direction_number": "'direction' of axis 'x_{name}'",
    "parts/unit_number": "'unit' of axis 'x_{name}'",
    "parts/unit_without_ucum": "'unit' of axis 'x_{name}'",
    "parts/ucum_unit_number": "'unit' of axis 'x_{name}'",
    "parts/unit_of_list": "'unit' of axis 'x_{name}'",
    "parts/parametric_text": "'parametric' of axis 'x_{name}'",
    "parts/parametric_without_formula": "the formula terms of 'x_{name}'",
    "parts/parametric_without_terms": "the formula terms of 'x_{name}'",
    "parts/terms_list": "the formula terms of 'x_{name}'",
    "parts/term_number": "the term 'ps' of 'x_{name}'",
    "parts/term_missing": "the term 'ps' of 'x_{name}'",
    "times": "'time' of axis 'x_{name}'",
    "services": "y of its geodetic geolocation",
    "services/geolocation_text": "what 'geolocation' declares",
    "services/geolocation_empty": "what 'geolocation' declares",
    "services/geodetic_list": "x of its geodetic geolocation, y of its geodetic geolocation",
    "services/planar_number": "y of its planar geolocation",
    **dict.fromkeys(
        ("services/uom_number", "services/uom_without_ucum", "services/uom_unit_number"),
        "the attribute 'units'",
    ),
    **dict.fromkeys(
        (
            "services/ref_missing",
            "services/ref_missing_key",
            "services/ref_beyond_root",
            "services/ref_malformed",
        ),
        "what 'related' refers to",
    ),
}

#: Times that are understood but that nobody can decode, by the array that has them.
UNDECODABLE = {
    "unknown_unit": {"units": "fortnights since 2000-01-01 00:00:00"},
    "years": {"units": "years since 2000-01-01 00:00:00"},
    "no_such_day": {"units": "days since 2026-02-30 00:00:00"},
    "unknown_calendar": {"units": "days since 2000-01-01 00:00:00", "calendar": "mayan"},
}


def told(path: str, text: str) -> str:
    """Return what an error says, given as in `FAULTS`."""
    parent, _slash, name = path.rpartition("/")
    axis = f"{path}#/attributes/cs/crs/0/axes/x_{name}"
    places = {"array": f"{path}#", "axis": axis, "set": f"{axis}/coordinates/0"}
    return text.format(path=path, parent=parent, no_store=no_store(), **places)


#: What is told of a node that consolidated metadata lack.
NOT_CONSOLIDATED = "not in the consolidated metadata"
ADVICE = "; if the store is newer, open it with consolidated=False"


def of_any_store(told: object) -> str:
    """Return what is told as it is of a store that is not consolidated."""
    return str(told).replace(NOT_CONSOLIDATED, "not found in store").replace(ADVICE, "")


def lost(path: str) -> str:
    """Return what an array was opened without, as it is told."""
    group, _slash, name = path.strip("/").partition("/")
    return LOST.get(path.strip("/"), LOST[group]).format(name=name)


@cache
def no_store() -> str:
    """Return what is said of the store that does not exist; the reason is that of opening it."""
    path = "/no/such/store.zarr"
    with pytest.raises(XGroupStoreNotFoundError, match="There is no") as raised:
        xr.open_dataset(path, engine="xgroup")
    cause = raised.value.__cause__  # zarr before 3.1 opens what is not there
    reason = "not found: it has neither a zarr.json nor a .zgroup"
    if cause is not None:
        reason = f"not found (FileNotFoundError: {cause})"
    return f"store file://{path} cannot be opened: {reason}"


ALL_FAULTS = {
    f"/{parent}/{name}": (kind, text)
    for parent, kinds in FAULTS.items()
    for kind, texts in kinds.items()
    for name, text in texts.items()
}


def faulty(parent: str) -> list[str]:
    """Return the names of the arrays of a group that are at fault."""
    return [path.rpartition("/")[2] for path in ALL_FAULTS if path.startswith(f"/{parent}/")]


class Told:
    """A store opened by one function: the Datasets, and what was told of each array."""

    def __init__(self, function: str, form: tuple[ZarrFormat, bool], folder: Path) -> None:
        store = committed("broken_refs", folder, form)
        self.warnings: list[XGroupWarning] = []
        self.datasets: dict[str, xr.Dataset] = {}
        if function == "open_datatree":
            tree, self.warnings = opened_with_warnings(xr.open_datatree, store)
            for node in tree.subtree:
                self.datasets[node.path] = node.to_dataset(inherit=False)
            return
        for name in (*FAULTS, "principals"):
            self.datasets[f"/{name}"], given = opened_with_warnings(
                xr.open_dataset, store, group=name
            )
            self.warnings += given

    def about(self, path: str) -> list[XGroupResolutionWarning]:
        return [
            warning
            for warning in self.warnings
            if isinstance(warning, XGroupResolutionWarning) and path in warning.paths
        ]


@pytest.fixture(
    scope="module",
    params=[("open_dataset", (2, True)), ("open_datatree", (3, False))],
    ids=["datasets-v2-consolidated", "tree-v3"],
)
def way(request: pytest.FixtureRequest) -> tuple[str, tuple[ZarrFormat, bool]]:
    """Return a function that opens, and the kind of store that it is given."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def function(way: tuple[str, tuple[ZarrFormat, bool]]) -> str:
    return way[0]


@pytest.fixture(scope="module")
def store(
    way: tuple[str, tuple[ZarrFormat, bool]], tmp_path_factory: pytest.TempPathFactory
) -> Told:
    return Told(*way, tmp_path_factory.mktemp("broken") / "broken_refs.zarr")


def test_a_store_that_is_missing_is_told_once_for_an_open(store: Told, function: str) -> None:
    paths = ["/systems/missing_store", "/values/missing_store"]
    warnings = list(dict.fromkeys(warning for path in paths for warning in store.about(path)))
    assert len(warnings) == (1 if function == "open_datatree" else 2)
    assert sorted(path for warning in warnings for path in warning.paths) == paths
    for warning in warnings:
        text = told(warning.paths[0], ALL_FAULTS[warning.paths[0]][1])
        assert isinstance(warning.error, XGroupStoreError)
        assert str(warning.error) == text
        assert str(warning).endswith(f": {text}")


@pytest.mark.parametrize("path", [path for path in ALL_FAULTS if "missing_store" not in path])
def test_the_fault_is_told_exactly(store: Told, path: str) -> None:
    kind, template = ALL_FAULTS[path]
    text = told(path, template)
    (warning,) = store.about(path)
    assert of_any_store(warning) == f"{path} was opened without {lost(path)}: {text}"
    assert type(warning) is XGroupResolutionWarning
    # A private subclass marks what does not depend on the candidate.
    assert isinstance(warning.error, kind)
    assert kind is not XGroupMetadataError or type(warning.error) is kind
    assert of_any_store(warning.error) == text
    assert warning.paths == (path,)


def test_nothing_else_is_told(store: Told) -> None:
    texts = [str(warning) for warning in store.warnings]
    assert len(texts) == len(set(texts))
    others = [item for item in store.warnings if isinstance(item, XGroupMetadataWarning)]
    about = [path for item in store.warnings if item not in others for path in item.paths]
    assert sorted(about) == sorted([*ALL_FAULTS, "/principals/spatial"])
    assert len(others) == len(UNDECODABLE)


@pytest.mark.parametrize("name", [*FAULTS, "principals"])
def test_every_array_is_there_with_all_its_values(store: Told, name: str) -> None:
    dataset = store.datasets[f"/{name}"]
    ours = [path for path in zarr_arrays(name) if path not in ("x", "three", "flag")]
    assert set(ours) <= set(dataset.variables)
    for array_name in ours:
        raw = zarr.open_array(STORE / name / array_name, mode="r")[...]
        np.testing.assert_array_equal(dataset[array_name].values, raw)
    with_cs = [path for path in (*faulty(name), "whole") if path in ours]
    assert set(with_cs) <= set(dataset.data_vars)
    assert dataset["good"].values.tolist() == [0, 1]
    if "whole" in ours:
        assert dataset["whole"].coords["x"].values.tolist() == [10.0, 20.0]


def zarr_arrays(name: str) -> Iterator[str]:
    return (path.parent.name for path in (STORE / name).glob("*/zarr.json"))


@pytest.mark.parametrize("name", ["values", "systems", "shapes", "types"])
def test_axes_at_fault_have_no_coordinate(store: Told, name: str) -> None:
    dataset = store.datasets[f"/{name}"]
    assert set(dataset.coords) <= {"good", "x", "three"}
    assert {"good", "x"} <= set(dataset.coords)


def test_the_rest_of_a_coordinate_is_kept(store: Told) -> None:
    dataset = store.datasets["/parts"]
    for name in faulty("parts"):
        coordinate = dataset.coords[f"x_{name}"]
        values: list[Any] = ["a", "b"] if name == "boundaries_of_texts" else [1.0, 2.0]
        assert coordinate.values.tolist() == values
        assert coordinate.attrs.get("bounds", f"x_{name}") in dataset.coords
        for word in coordinate.attrs.get("formula_terms", "").split():
            assert word.endswith(":") or word in dataset.coords
    assert "bounds" not in dataset["x_boundaries_missing"].attrs
    assert dataset["x_term_missing"].attrs["standard_name"] == "atmosphere_sigma_coordinate"
    assert dataset["x_term_missing"].attrs["formula_terms"] == "ptop: x_term_missing_ptop"
    assert dataset["x_term_missing_ptop"].item() == 10.0


def test_services_give_what_is_sound(store: Told) -> None:
    dataset = store.datasets["/services"]
    assert set(dataset.coords) == {"x", "good", "lon", "east", "flag"}
    assert dataset["lon"].attrs == {"standard_name": "longitude"}
    for name in ("uom_number", "uom_without_ucum", "uom_unit_number"):
        assert "units" not in dataset[name].attrs
        assert "uom" in dataset[name].attrs


# Times.


@pytest.mark.parametrize("name", faulty("times"))
def test_malformed_times_leave_plain_numbers(store: Told, name: str) -> None:
    coordinate = store.datasets["/times"].coords[f"x_{name}"]
    assert coordinate.values.tolist() == [0, 1]
    assert coordinate.dtype == np.int64
    assert coordinate.attrs == {}


@pytest.mark.parametrize("name", UNDECODABLE)
def test_undecodable_times_are_told_and_left_as_they_are(store: Told, name: str) -> None:
    attributes = UNDECODABLE[name]
    variable = xr.Variable(f"x_{name}", np.array([0, 1]), dict(attributes))
    with pytest.raises(ValueError, match="unable to decode time units") as raised:
        decode_cf_variables({f"x_{name}": variable}, {})
    reason = f"{type(raised.value).__name__}: {raised.value}"
    told = next(
        text
        for _rule, text in problems_of_time_units(
            attributes["units"], attributes.get("calendar", "")
        )
    )
    text = f"/times/{name}: its coordinate 'x_{name}': opened with its times undecoded: {told}"
    (warning,) = (warning for warning in store.warnings if str(warning) == text)
    assert type(warning) is XGroupMetadataWarning
    assert type(warning.error) is XGroupMetadataError
    assert str(warning.error) == reason
    coordinate = store.datasets["/times"].coords[f"x_{name}"]
    assert coordinate.values.tolist() == [0, 1]
    assert coordinate.attrs == {**attributes, "standard_name": "time"}


def test_times_nobody_decodes_are_not_told() -> None:
    dataset, given = opened_with_warnings(xr.open_dataset, STORE, group="times", decode_times=False)
    assert all(type(warning) is XGroupResolutionWarning for warning in given)
    assert dataset["x_years"].attrs == {**UNDECODABLE["years"], "standard_name": "time"}


# Several principal conventions.


class OtherHandler(ConventionHandler):
    """Handles the convention that an array of the store declares beside `cs`."""

    tier = "principal"
    name = "other"
    uuid = "00000000-0000-4000-8000-000000000001"

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        return {"from_other": xr.Variable((), 1)}


@ALL_FORMS
@pytest.mark.parametrize("name", ["open_dataset", "open_datatree"])
def test_first_of_two_principal_conventions_wins(
    tmp_path: Path, form: tuple[ZarrFormat, bool], name: str
) -> None:
    register(OtherHandler)
    folder = committed("broken_refs", tmp_path / "broken_refs.zarr", form)
    opening = xr.open_dataset if name == "open_dataset" else xr.open_datatree
    result, given = opened_with_warnings(opening, folder, group="principals")
    told = {getattr(warning, "paths", ()): warning for warning in given}
    # Whichever the array names first.
    for array_name, other in (("two", "other"), ("spatial", "spatial")):
        warning = told.pop((f"/principals/{array_name}",))
        assert str(warning) == (
            f"/principals/{array_name}: it declares the principal conventions cs, {other}; "
            "cs was used"
        )
        assert type(warning) is XGroupResolutionWarning
        assert result[f"x_{array_name}"].values.tolist() == [0, 1]
    assert told == {}
    assert set(result.coords) == {"x", "x_two", "x_spatial", "good"}


# Warnings as such.


def test_arrays_without_a_principal_convention() -> None:
    # Those that others refer to and that do not fit are told as well.
    assert without_principal(xr.open_datatree, STORE) == [
        "/parts/three_edges",
        "/shapes/table",
    ]


# Faults that concern more than one array, or the nodes that are referred to.


def with_cs(axes: Json, **more: Any) -> Json:
    return declaring("cs", "ref", cs={"crs": [{"axes": axes, **more}]})


def external(node: str) -> Json:
    return {"coordinates": [{"values": {"external": {"node": node}}}]}


def test_one_fault_of_several_arrays_is_told_once(tmp_path: Path) -> None:
    system = {"node": "/", "attribute": "/attributes/crs/broken"}
    attributes = declaring("cs", cs={"crs": [system]})
    documents = {
        "": group({"crs": {"broken": {"axes": 7}}}),
        **{f"a{number:02}": array([2], ["x"], attributes) for number in range(32)},
    }
    folder = write(tmp_path / "store.zarr", documents)
    (warning,) = opened_with_warnings(xr.open_dataset, folder)[1]
    assert isinstance(warning, XGroupResolutionWarning)
    names = ", ".join(f"/a{number:02}" for number in range(30))
    assert str(warning) == (
        f"{names} and 2 more were opened without what 'crs/broken/axes' declares: "
        "/#/attributes/crs/broken/axes: must be an object or a list, got number 7"
    )
    assert warning.paths == tuple(f"/a{number:02}" for number in range(32))


@pytest.mark.parametrize("name", ["open_dataset", "open_datatree"])
def test_a_target_with_a_broken_document(tmp_path: Path, name: str) -> None:
    documents = {
        "": group(),
        "data": array([3], ["t"], with_cs({"t": external("other/t")})),
        "other": group(),
        "other/t": array([3], ["t"]),
    }
    folder = write(tmp_path / "store.zarr", documents)
    (folder / "other" / "t" / "zarr.json").write_text("{", encoding="utf-8")
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads("{")
    opening = xr.open_dataset if name == "open_dataset" else xr.open_datatree
    result, given = opened_with_warnings(opening, folder)
    (warning,) = (item for item in given if isinstance(item, XGroupResolutionWarning))
    assert str(warning) == (
        "/data was opened without coordinate 't': "
        "/data#/attributes/cs/crs/0/axes/t/coordinates/0/values/external: 'other/t' leads "
        f"nowhere, tried /other/t (/other/t/zarr.json is not valid JSON: {raised.value}), "
        "/data/other/t (not found in store)"
    )
    assert type(warning.error) is XGroupReferenceError
    assert set(result.data_vars) == {"data"}
    assert set(result.coords) == set()


def test_a_target_that_zarr_cannot_use(tmp_path: Path) -> None:
    target = {**array([3], ["t"]), "codecs": [{"name": "unheard_of"}]}
    documents = {
        "": group(),
        "data": array([3], ["t"], with_cs({"t": external("other/t")})),
        "other": group(),
        "other/t": target,
    }
    folder = write(tmp_path / "store.zarr", documents)
    dataset, given = opened_with_warnings(xr.open_dataset, folder)
    (warning,) = given
    assert isinstance(warning, XGroupResolutionWarning)
    place = "/data#/attributes/cs/crs/0/axes/t/coordinates/0/values/external: "
    assert str(warning).startswith(f"/data was opened without coordinate 't': {place}")
    assert "/other/t" in str(warning)
    assert "unheard_of" in str(warning)
    assert isinstance(warning.error, XGroupError)
    assert warning.paths == ("/data",)
    assert set(dataset.variables) == {"data"}


def test_what_the_consolidated_metadata_leaves_out(tmp_path: Path) -> None:
    documents = {"": group(), "data": array([3], ["t"], with_cs({"t": external("other/t")}))}
    folder = write(tmp_path / "store.zarr", documents, form=(3, True))
    write(folder, {"other": group(), "other/t": array([3], ["t"])})
    (warning,) = opened_with_warnings(xr.open_dataset, folder)[1]
    assert str(warning) == (
        "/data was opened without coordinate 't': "
        "/data#/attributes/cs/crs/0/axes/t/coordinates/0/values/external: 'other/t' leads "
        f"nowhere, tried /other/t ({NOT_CONSOLIDATED}), /data/other/t (not found in store){ADVICE}"
    )
    assert "t" in opened_with_warnings(xr.open_dataset, folder, consolidated=False)[0].coords


def test_an_earlier_candidate_that_does_not_fit_is_told(tmp_path: Path) -> None:
    documents = {
        "": group(),
        "t": array([5], ["t"]),
        "g": group(),
        "g/t": array([3], ["t"]),
        # By the group's path /t, by the array's own /g/t.
        "g/data": array([3], ["t"], with_cs({"t": external("../t")})),
    }
    folder = write(tmp_path / "store.zarr", documents, {"g/t": [1.0, 2.0, 3.0]})
    dataset, given = opened_with_warnings(xr.open_dataset, folder, group="g")
    (warning,) = given
    assert isinstance(warning, XGroupResolutionWarning)
    assert str(warning) == (
        "/g/data#/attributes/cs/crs/0/axes/t/coordinates/0/values/external: "
        "'../t' was taken to be /g/t, not /t (its shape is [5], the axis 't' needs [3])"
    )
    assert warning.paths == ("/g/data",)
    assert dataset["t"].values.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("key", ["zarr_conventions", "cs", "geolocation", "uom", "crs"])
@pytest.mark.parametrize(
    "value", [None, True, 7, -0.5, "text", [], [[]], [None], {}, {"": None}, {"crs": None}]
)
def test_any_json_opens(tmp_path: Path, key: str, value: Any) -> None:
    conventions = ("cs", "ref", "geolocation", "uom", "proj")
    attributes = {**with_cs({"t": {}}), **declaring(*conventions), key: value}
    documents = {
        "": group(attributes),
        "data": array([3], ["t"], attributes),
        "plain": array([3], ["t"], {"long_name": "sound"}),
    }
    folder = write(tmp_path / "store.zarr", documents, {"plain": [1.0, 2.0, 3.0]})
    for result in (
        opened_with_warnings(xr.open_dataset, folder)[0],
        opened_with_warnings(xr.open_datatree, folder)[0],
    ):
        assert {"data", "plain"} <= set(result.data_vars)
        assert result["plain"].attrs == {"long_name": "sound"}
        assert result["plain"].values.tolist() == [1.0, 2.0, 3.0]


def test_a_group_of_a_store_that_was_opened_as_a_store(tmp_path: Path) -> None:
    values = {"external": {"node": "../axes/x"}}
    cs = {"crs": [{"axes": {"x": {"coordinates": [{"values": values}]}}}]}
    fields = Group({"a": Array([1.0], ("x",), declaring("cs", cs=cs))})
    root = Group({"fields": fields, "axes": Group({"x": coordinate("x", [2.0])})})
    path = write_local(build(root), tmp_path / "s.zarr")
    assert "x" in opened(xr.open_dataset, path, group="fields").coords
    _dataset, (warning,) = opened_with_warnings(
        xr.open_dataset, LocalStore(path / "fields", read_only=True)
    )
    assert (
        "'../axes/x' leads nowhere, tried above the root of the store, /axes/x (not found in store)"
    ) in str(warning)
