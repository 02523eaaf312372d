"""Units of measure: the ways to write one, and what is wrong with others."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupError
from zarr_xgroup.conventions.uom import unit_of
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
)

UCUM = {"ucum": {"unit": "kg"}}


def at_uom(value: Any) -> Fragment:
    return Fragment(Node(0, "a"), ("attributes", "uom"), value)


@pytest.mark.parametrize("value", ["kg", UCUM, {"uom": UCUM}, {**UCUM, "uom": None}], ids=str)
def test_a_unit(value: Any) -> None:
    assert unit_of(at_uom(value)) == "kg"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, " must be a string or an object, got number"),
        (["kg"], " must be a string or an object, got list"),
        ({}, " is no unit of measure: it has no 'ucum'"),
        ({"uom": {}}, "/uom is no unit of measure: it has no 'ucum'"),
        ({"ucum": "kg"}, "/ucum must be an object, got string"),
        ({"ucum": {}}, "/ucum has no 'unit'"),
        ({"ucum": {"unit": 5}}, "/ucum/unit must be a string, got number"),
    ],
    ids=str,
)
def test_what_is_no_unit(value: Any, message: str) -> None:
    with pytest.raises(XGroupError) as raised:
        unit_of(at_uom(value))
    assert str(raised.value) == f"/a#/attributes/uom{message}"


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
    array = Array(np.ones(2), ("x",), declaring("uom", **attributes))
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group({"a": array}))))
    assert dataset["a"].attrs.get("units") == units
    assert ("units" in dataset["a"].attrs) == (units is not None)
    assert [str(warning).endswith(text) for warning in told] == [True] * bool(text)
