"""Units of measure: the ways to write one, and what is wrong with others."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
)

UCUM = {"ucum": {"unit": "kg"}}


def opened(attributes: dict[str, Any]) -> tuple[xr.DataArray, list[str]]:
    array = Array(np.ones(2), ("x",), declaring("uom", **attributes))
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group({"a": array}))))
    return dataset["a"], [str(warning) for warning in told]


@pytest.mark.parametrize("value", ["kg", UCUM, {"uom": UCUM}, {**UCUM, "uom": None}], ids=str)
def test_a_unit(value: Any) -> None:
    array, told = opened({"uom": value})
    assert (array.attrs["units"], told) == ("kg", [])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, ": must be an object, got number 5"),
        (["kg"], ': must be an object, got list ["kg"]'),
        ({}, "/ucum: is missing"),
        ({"uom": {}}, "/uom/ucum: is missing"),
        ({"uom": True}, "/uom: must be an object, got boolean true"),
        ({"ucum": "kg"}, '/ucum: must be an object, got string "kg"'),
        ({"ucum": {"unit": 5}}, "/ucum/unit: must be a string, got number 5"),
        ({"ucum": {"unit": True}}, "/ucum/unit: must be a string, got boolean true"),
    ],
    ids=str,
)
def test_what_is_no_unit(value: Any, message: str) -> None:
    array, told = opened({"uom": value})
    lost = "Array /a was opened without the attribute 'units'"
    assert told == [f"/a#/attributes/uom{message}. {lost}"]
    assert "units" not in array.attrs


@pytest.mark.parametrize(
    ("attributes", "units", "text"),
    [
        ({"uom": UCUM}, "kg", ""),
        ({"uom": UCUM, "units": "g"}, "g", ""),
        ({"uom": None}, None, ""),
        ({}, None, ""),
        ({"uom": 5}, None, "Array /a was opened without the attribute 'units'"),
    ],
    ids=str,
)
def test_units_of_an_array(attributes: dict[str, Any], units: str | None, text: str) -> None:
    array, told = opened(attributes)
    assert array.attrs.get("units") == units
    assert ("units" in array.attrs) == (units is not None)
    assert [it.endswith(text) for it in told] == [True] * bool(text)
