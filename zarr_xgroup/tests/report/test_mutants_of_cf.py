"""Mutants of the attributes of CF that an open uses: what it finds wrong is told by a check, too."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup.tests.builders import XARRAY, Json, ZarrFormat
from zarr_xgroup.tests.documents import array, group, write
from zarr_xgroup.tests.report.test_check import sound

#: What an attribute becomes; the first stands for none at all.
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
        "scale_factor": 0.01,
        "add_offset": 0.0,
        "missing_value": -999.0,
        "_FillValue": -999.0,
    },
    "lev": {"formula_terms": "sigma: lev eta: eta depth: depth", "bounds": "lev_bnds"},
    "time": {"units": "days since 2000-01-01", "calendar": "standard"},
}


def mutants() -> Iterator[tuple[str, str, Any]]:
    """Yield the name of an array, one of its attributes, and what that becomes."""
    for name, attributes in USED.items():
        for key in attributes:
            for value in (*VALUES, *TIMES.get(key, ())):
                yield name, key, value


def mutated(attributes: Json, key: str, value: Any) -> Json:
    found = {name: it for name, it in attributes.items() if name != key}
    return found if value == GONE else {**found, key: copy.deepcopy(value)}


def told_of(store: Path) -> set[str]:
    verdict = zarr_xgroup.check(store)
    return {place.node for it in verdict.mistakes for place in it.places}


def test_what_an_open_finds_wrong_is_told_by_a_check(tmp_path: Path) -> None:
    documents = {path: it for path, it in sound().items() if path.startswith("ocean")}
    for name, attributes in USED.items():
        documents[f"ocean/{name}"]["attributes"] |= attributes
    store = {"": group(), **documents}
    for number, (name, key, value) in enumerate(mutants()):
        document = copy.deepcopy(documents[f"ocean/{name}"])
        document["attributes"] = mutated(document["attributes"], key, value)
        store[f"ocean/{name}_{number}"] = document
    path = write(tmp_path / "store.zarr", store)
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        xr.open_dataset(path, engine="xgroup", group="ocean")
    said = [warning.message for warning in recorded]
    found = {name for warning in said for name in getattr(warning, "paths", ())}
    assert len(found) > 50
    told = told_of(path)
    assert [
        (name, key, value)
        for number, (name, key, value) in enumerate(mutants())
        if f"/ocean/{name}_{number}" in found - told
    ] == []
    assert told.isdisjoint(f"/ocean/{name}" for name in USED)


def edges(middle: Any, half: float) -> Any:
    return np.stack([middle - half, middle + half], -1)


def output_of_a_model() -> xr.Dataset:
    """Return what models of the climate write: hybrid levels, boundaries, a measure in another file."""
    time, lev, lat = np.arange(12) * 30.0 + 15, np.linspace(0.9, 0.1, 4), np.array([-45.0, 45.0])
    hybrid = {"standard_name": "atmosphere_hybrid_sigma_pressure_coordinate", "units": "1"}
    tas = {"standard_name": "air_temperature", "units": "K", "cell_measures": "area: areacella"}
    methods = "area: mean where land time: maximum within days time: mean over days"
    days = {"standard_name": "time", "units": "days since 1850-01-01", "calendar": "noleap"}
    return xr.Dataset(
        {
            "ta": (("time", "lev", "lat"), np.ones((12, 4, 2), "float32"), {"missing_value": 1e20}),
            "tas": (("time", "lat"), np.ones((12, 2)), {**tas, "cell_methods": methods}),
            "ps": (("time", "lat"), np.ones((12, 2)), {"units": "Pa", "coordinates": "height"}),
            "ap": ("lev", lev),
            "b": ("lev", lev),
            "ap_bnds": (("lev", "bnds"), edges(lev, 0.1)),
            "b_bnds": (("lev", "bnds"), edges(lev, 0.1)),
            "time_bnds": (("time", "bnds"), edges(time, 15)),
            "lat_bnds": (("lat", "bnds"), edges(lat, 45)),
            "lev_bnds": (
                ("lev", "bnds"),
                edges(lev, 0.1),
                {**hybrid, "formula_terms": "ap: ap_bnds b: b_bnds ps: ps"},
            ),
            "mask": (
                "lat",
                np.ones(2, "int8"),
                {"flag_values": [0, 1], "flag_meanings": "sea land"},
            ),
        },
        coords={
            "time": ("time", time, {**days, "axis": "T", "bounds": "time_bnds"}),
            "lev": (
                "lev",
                lev,
                {
                    **hybrid,
                    "axis": "Z",
                    "positive": "down",
                    "bounds": "lev_bnds",
                    "formula_terms": "ap: ap b: b ps: ps",
                },
            ),
            "lat": (
                "lat",
                lat,
                {"standard_name": "latitude", "units": "degrees_north", "bounds": "lat_bnds"},
            ),
            "height": ((), 2.0, {"axis": "Z", "positive": "up", "units": "m"}),
        },
        attrs={"Conventions": "CF-1.7 CMIP-6.2", "external_variables": "areacella"},
    )


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("is_decoded", [False, True])
def test_what_xarray_writes_of_the_output_of_a_model_is_clean(
    tmp_path: Path, zarr_format: ZarrFormat, is_decoded: bool
) -> None:
    written = output_of_a_model()
    dataset = xr.decode_cf(written) if is_decoded else written
    dataset.to_zarr(tmp_path / "store.zarr", zarr_format=zarr_format, consolidated=False)
    verdict = zarr_xgroup.check(tmp_path / "store.zarr", assume_conventions="cf")
    assert verdict.is_clean, verdict


#: Values of ``_FillValue`` that are none of the type of the array, and that are.
NO_FLOATS: list[Any] = [None, True, "", "text", [], ["a"], [1], {}, {"a": 1}, "nan"]
FLOATS: list[Any] = [GONE, 5, -1.5, "NaN", "Infinity", "0x7fc00000"]
NO_INTEGERS: list[Any] = [None, True, -1.5, 40000, "", "5", [5], {}]
OF_ITS_TYPE: list[tuple[str, list[Any], bool]] = [
    ("float32", NO_FLOATS, False),
    ("float32", FLOATS, True),
    ("int16", NO_INTEGERS, False),
    ("int16", [5, -999.0], True),
]


def test_fill_values_of_another_type_are_told_and_no_others(tmp_path: Path) -> None:
    documents = {"": group({"conventions": "NZ-1.0"})}
    allowed: dict[str, tuple[Any, bool]] = {}
    for dtype, values, is_allowed in OF_ITS_TYPE:
        for value in values:
            name = f"fill_{len(allowed)}"
            documents[name] = array((2,), ("x",), mutated({}, "_FillValue", value), dtype)
            allowed[f"/{name}"] = (value, is_allowed)
    told = told_of(write(tmp_path / "store.zarr", documents))
    wrong = [it for node, it in allowed.items() if (node in told) is it[1]]
    assert wrong == []
