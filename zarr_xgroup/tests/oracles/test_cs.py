"""Random documents of `cs`: coordinates agree with an oracle."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from zarr_xgroup import XGroupNameWarning, XGroupNoPrincipalWarning
from zarr_xgroup.tests.builders import ZarrFormat, build, memory_store, recorded
from zarr_xgroup.tests.oracles.cs import Expected, Reader, as_times, fields
from zarr_xgroup.tests.oracles.stores import dims_of
from zarr_xgroup.tests.strategies import ARRAY, GROUP, cs_stores, thorough

formats = st.sampled_from([2, 3])


def assert_is(variable: xr.Variable, expected: Expected) -> None:
    assert variable.dims == expected.dims
    values = variable.values
    assert values.shape == expected.values.shape
    if expected.since is not None:
        times = [fields(time) for time in np.atleast_1d(values).ravel()]
        assert times == as_times(expected.values, expected.since)
        calendar = variable.encoding.get("calendar", "standard")
        assert calendar in (expected.since[2], "proleptic_gregorian")
    else:
        np.testing.assert_array_equal(values, expected.values)
        assert values.dtype.kind == expected.values.dtype.kind
    for key, value in expected.attrs.items():
        assert variable.attrs.get(key) == value, key


def named(expected: Expected, nodes: dict[str, Any]) -> str:
    """Return the name of a coordinate; an array of the group itself keeps its own."""
    group, _slash, own = (expected.source or "").rpartition("/")
    if group != GROUP or expected.dims == (expected.name,):
        return expected.name
    if dims_of(nodes, f"{group}/{own}") == expected.dims:
        return own
    return expected.name  # of an array that lies otherwise: beside it


def assert_holds(dataset: xr.Dataset, expected: Expected, nodes: dict[str, Any]) -> None:
    name = named(expected, nodes)
    assert name in dataset["a"].coords
    variable = dataset.variables[name]
    assert_is(variable, expected)
    if expected.bounds is not None:
        bounds = variable.attrs["bounds"]
        assert bounds in dataset.coords
        group, _slash, own = (expected.bounds.source or "").rpartition("/")
        if group != GROUP:
            assert bounds == expected.bounds.name
        elif bounds == own:  # whatever their side is called
            *along, side = dims_of(nodes, f"{group}/{own}")
            if (*along,) != expected.bounds.dims[:-1]:  # stored as (2, n), opened as (n, 2)
                side, *along = dims_of(nodes, f"{group}/{own}")
            assert (*along,) == expected.bounds.dims[:-1]
            expected.bounds.dims = (*along, side)
        assert_is(dataset.variables[bounds], expected.bounds)
    if expected.terms:
        words = variable.attrs["formula_terms"].split()
        terms = dict(zip(words[::2], words[1::2], strict=True))
        assert list(terms) == [f"{term}:" for term in expected.terms]
        for term, values in expected.terms.items():
            assert terms[f"{term}:"] in dataset["a"].coords
            assert_is(dataset.variables[terms[f"{term}:"]], values)


# Bounds of times before 1678 are decoded when they are read, with cftime.
@pytest.mark.filterwarnings("ignore:Unable to decode time axis:xarray.SerializationWarning")
@thorough(100)
@given(cs_stores(), formats)
def test_coordinates(nodes: dict[str, Any], zarr_format: ZarrFormat) -> None:
    store: Any = memory_store(build(nodes, zarr_format))
    dataset, told = recorded(xr.open_dataset, store, engine="xgroup", group=GROUP)
    for warning in told:
        if type(warning) is XGroupNoPrincipalWarning:
            continue
        # A choice between candidates, inline terms of two sets, early times are nothing wrong.
        harmless = isinstance(warning, XGroupNameWarning | xr.SerializationWarning)
        assert harmless or "was resolved to" in str(warning)
    expected = list(Reader(nodes, ARRAY).coordinates())
    for coordinate in expected:
        assert_holds(dataset, coordinate, nodes)
    members = {path.rpartition("/")[2] for path in nodes if path.startswith(f"{GROUP}/")}
    assert members <= set(dataset.variables)
    assert set(dataset.data_vars) == members & {"a", "b", "other"}
    np.testing.assert_array_equal(dataset["a"].values, nodes[ARRAY].values)
    if "b" in members:
        assert set(dataset["b"].coords) == set(dataset["a"].coords)
