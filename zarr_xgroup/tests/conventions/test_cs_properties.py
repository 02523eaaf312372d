"""Random documents of `cs` gone wrong harm nothing."""

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from hypothesis import example, given
from hypothesis import strategies as st

from zarr_xgroup import XGroupNameWarning, XGroupNoPrincipalWarning, XGroupWarning
from zarr_xgroup.tests.builders import Array, Nodes, ZarrFormat, build, memory_store, stored
from zarr_xgroup.tests.strategies import (
    ARRAY,
    GROUP,
    ODD_VALUES,
    Json,
    cs_of,
    mutated_stores,
    thorough,
)

formats = st.sampled_from([2, 3])


# Opening.


def opened(
    nodes: Nodes, zarr_format: ZarrFormat, **options: Any
) -> tuple[xr.Dataset, list[Warning]]:
    """Open the group by engine xgroup; the warnings without that on missing principals."""
    store: Any = memory_store(build(nodes, zarr_format))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        dataset = xr.open_dataset(store, engine="xgroup", group=GROUP, **options)
    told = [it.message for it in given if type(it.message) is not XGroupNoPrincipalWarning]
    return dataset, [it for it in told if isinstance(it, Warning)]


def quietly_opened(function: Any, nodes: Nodes, zarr_format: ZarrFormat, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(memory_store(build(nodes, zarr_format)), **options)


# Documents gone wrong.


def assert_harmless(nodes: Nodes, zarr_format: ZarrFormat) -> None:
    """Assert that what can be opened without `cs` is there, unchanged; read everything."""
    _dataset, told = opened(nodes, zarr_format)
    for warning in told:
        assert isinstance(warning, XGroupWarning), repr(warning)
    raw = quietly_opened(
        xr.open_dataset, nodes, zarr_format, engine="xgroup", group=GROUP, decode_cf=False
    )
    plain = quietly_opened(
        xr.open_dataset,
        nodes,
        zarr_format,
        engine="zarr",
        group=GROUP,
        decode_cf=False,
        consolidated=False,
    )
    for name, variable in plain.variables.items():
        assert name in raw.variables
        np.testing.assert_array_equal(raw.variables[name].values, variable.values)
        for key, value in variable.attrs.items():
            assert_same_json(raw.variables[name].attrs[key], value)
    assert {"a", "other"} <= set(raw.data_vars)
    raw.load()
    _dataset.load()
    tree = quietly_opened(xr.open_datatree, nodes, zarr_format, engine="xgroup")
    assert set(plain.variables) <= set(tree[f"/{GROUP}"].variables)
    for node in tree.subtree:
        node.to_dataset().load()


def assert_same_json(ours: Json, theirs: Json) -> None:
    assert type(ours) is type(theirs)
    if isinstance(theirs, Mapping):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same_json(ours[key], theirs[key])
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            assert_same_json(*pair)
    elif isinstance(theirs, float) and math.isnan(theirs):
        assert math.isnan(ours)
    else:
        assert ours == theirs


@thorough(35)
@given(mutated_stores(), formats)
def test_a_document_gone_wrong_harms_nothing(nodes: Nodes, zarr_format: ZarrFormat) -> None:
    assert_harmless(nodes, zarr_format)


def whole() -> dict[str, Any]:
    """Return attributes with every member that `cs` knows."""
    return cs_of(
        {
            "type": "compound",
            "name": "all",
            "id": {"proj:code": "EPSG:4326"},
            "geolocation": {"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}},
            "axes": {
                "x": {
                    "abbreviation": "X",
                    "direction": "east",
                    "attributes": {"long_name": "x"},
                    "coordinates": [
                        {
                            "name": "first",
                            "direction": "east",
                            "unit": {"uom": {"ucum": {"unit": "m"}}},
                            "values": {"regular": [0, 1]},
                            "boundaries": {"name": "cells", "regular": [-0.5, 0.5]},
                            "attributes": {"comment": "first"},
                        },
                        {
                            "name": "second",
                            "time": {"unit": "days", "epoch": "2000-01-01", "calendar": "noleap"},
                            "values": {"external": {"ref": {"node": "time"}}},
                            "boundaries": {"external": {"node": "time_bnds"}},
                        },
                        {
                            "name": "third",
                            "values": {"explicit": [1, 2, 3]},
                            "parametric": {
                                "formula": "atmosphere_sigma_coordinate",
                                "terms": {
                                    "sigma": {"explicit": [0.1, 0.2, 0.3]},
                                    "ptop": {"explicit": [10]},
                                    "ps": {"external": {"node": "ps"}},
                                },
                            },
                        },
                    ],
                },
                "height": {"coordinates": [{"unit": "m", "values": {"explicit": [2]}}]},
            },
        },
        {"node": ".", "attribute": "/attributes/crs/shared"},
        id={"proj:code": "EPSG:4326"},
    )


SHARED = {
    "axes": [
        {
            "name": "t",
            "coordinates": [
                {"time": {"reference": "days since 2000-01-01"}, "values": {"regular": [0, 1]}}
            ],
        }
    ]
}


def test_a_scalar_is_not_called_as_a_dimension() -> None:
    axes = {"z": {"coordinates": [{"values": {"explicit": [5]}}]}}
    dataset, told = opened(
        {
            "": {},
            GROUP: {},
            ARRAY: stored([1], "x", **cs_of({"axes": axes})),
            "g/b": stored([1, 2], "z"),
        },
        3,
    )
    assert dataset["a"].coords["g_z"].item() == 5
    assert [type(warning) for warning in told] == [XGroupNameWarning]


def store_with(attributes: Mapping[str, Json], shared: Json) -> Nodes:
    return {
        "": {},
        GROUP: {"crs": {"shared": shared}},
        ARRAY: Array(np.zeros((2, 3)), ("t", "x"), attributes),
        "g/time": stored([1, 2, 3], "x"),
        "g/time_bnds": stored(np.zeros((2, 3)), "bnds x"),
        "g/ps": stored(np.zeros((2, 3)), "t x"),
        "g/lon": stored(np.zeros((2, 3)), "t x"),
        "g/lat": stored(np.zeros((2, 3)), "t x"),
        "g/other": stored([1.0], "elsewhere"),
    }


def test_the_whole_document_is_read_without_a_warning() -> None:
    dataset, told = opened(store_with(whole(), SHARED), 3)
    assert told == []
    assert set(dataset.data_vars) == {"a", "other"}
    assert set(dataset["a"].coords) >= {"t", "x", "time", "third", "height", "lon", "lat", "x_ptop"}


def _places(value: Json, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield (*way, key)
            yield from _places(value[key], (*way, key))


def _replaced(value: Json, way: tuple[Any, ...], new: Json) -> Json:
    if not way:
        return new
    key, *rest = way
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[key] = _replaced(value[key], tuple(rest), new)
    return changed


_PLACES = [(*way,) for way in _places({"cs": whole()["cs"], "shared": SHARED})]


@thorough(35)
@given(st.sampled_from(_PLACES), st.sampled_from(ODD_VALUES))
@example(("cs", "crs", 0, "axes", "x", "coordinates", 0, "values", "regular", 0), 10**400)
@example(("cs", "crs", 0, "axes", "x", "coordinates", 0, "boundaries", "regular"), [0, 2**63])
@example(("cs", "crs", 0, "axes", "x", "coordinates", 1, "name"), "a/b")
@example(("cs", "crs", 0, "axes", "x", "coordinates", 1, "name"), "t")
@example(("cs", "crs", 0, "axes", "x", "coordinates", 0, "boundaries", "name"), "elsewhere")
def test_any_value_may_be_of_another_type(way: tuple[Any, ...], value: Json) -> None:
    both = _replaced({"cs": whole()["cs"], "shared": SHARED}, way, value)
    attributes = {**whole(), "cs": both["cs"]}
    assert_harmless(store_with(attributes, both["shared"]), 3)
