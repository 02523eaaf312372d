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


@pytest.mark.parametrize("form", ["array", "axis", "text"])
@pytest.mark.parametrize(
    ("code", "units"),
    [
        *((same, same) for same in ("m", "km", "mm", "um", "m2", "m3", "ha", "s", "min", "h", "d", "Hz")),
        *((same, same) for same in ("K", "rad", "sr", "'", "Pa", "hPa", "bar", "mbar", "dbar", "atm")),
        *((same, same) for same in ("g", "kg", "t", "mol", "umol", "N", "J", "W", "V", "A", "L", "%", "1")),
        *((same, same) for same in ("m.s-1", "km/h", "kg.m-2.s-1", "W.m-2.sr-1.um-1", "m3/m3", "g/kg")),
        *[("Cel", "degC"), ("[degF]", "degF"), ("deg", "degree"), ("''", "arcsecond")],
        *[("a", "year"), ("mo", "month"), ("wk", "week"), ("ka", "kiloyear")],
        *[("[ppm]", "ppm"), ("[ppth]", "1e-3"), ("10*-6", "10^-6"), ("10*3/m3", "10^3/m3")],
        *[("[in_i]", "inch"), ("[ft_i]", "foot"), ("[ft_us]", "US_survey_foot"), ("[kn_i]", "knot")],
        *[("mm[Hg]", "mmHg"), ("[psi]", "psi"), ("Cel.m-1", "degC.m-1"), ("kg/ha/a", "kg/ha/year")],
        *[("mm.a-1", "mm.year-1"), ("[in_i]/h", "inch/h"), ("[mi_i]2", "mile2"), ("deg/s", "degree/s")],
        *((other, other) for other in ("[pH]", "dB", "{count}", "kg{a}", "m[H2O]", "cd", "a.u.", "degC")),
    ],
)  # fmt: skip
def test_codes_of_ucum_are_units_of_udunits(form: str, code: str, units: str) -> None:
    unit: Any = code if form == "text" else {"ucum": {"unit": code}}
    sets = [{"unit": unit, "values": {"regular": [0, 1]}}]
    cs = {"crs": [{"type": "undefined", "axes": {"x": {"coordinates": sets}}}]}
    attributes = {"uom": unit} if form == "array" else declaring("cs", cs=cs)
    array, told = opened(attributes)
    found = array if form == "array" else array["x"]
    assert (found.attrs["units"], told) == (units, [])


@pytest.mark.parametrize(
    ("abbreviation", "code", "units"),
    [("Y", "EPSG:4326", "degrees_north"), ("X", "EPSG:4326", "degrees_east"), ("X", "EPSG:3857", "degree")],
)  # fmt: skip
def test_a_degree_of_latitude_is_one_north(abbreviation: str, code: str, units: str) -> None:
    sets = [{"unit": {"ucum": {"unit": "deg"}}, "values": {"regular": [0, 1]}}]
    axes = {"x": {"abbreviation": abbreviation, "coordinates": sets}}
    cs = {"crs": [{"type": "planar", "axes": axes, "id": {"proj:code": code}}]}
    array, _told = opened(declaring("cs", cs=cs))
    assert array["x"].attrs["units"] == units


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
    lost = "/a was opened without the attribute 'units'"
    assert told == [f"{lost}: /a#/attributes/uom{message}"]
    assert "units" not in array.attrs


@pytest.mark.parametrize(
    ("attributes", "units", "text"),
    [
        ({"uom": UCUM}, "kg", ""),
        ({"uom": UCUM, "units": "g"}, "g", ""),
        ({"uom": {"ucum": {"unit": "deg"}}, "standard_name": "latitude"}, "degrees_north", ""),
        ({"uom": None}, None, ""),
        ({}, None, ""),
        ({"uom": 5}, None, "/a was opened without the attribute 'units': "),
    ],
    ids=str,
)
def test_units_of_an_array(attributes: dict[str, Any], units: str | None, text: str) -> None:
    array, told = opened(attributes)
    assert array.attrs.get("units") == units
    assert ("units" in array.attrs) == (units is not None)
    assert [it.startswith(text) for it in told] == [True] * bool(text)
