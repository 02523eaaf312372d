"""Mutants of what CF and NZ-1.0 describe: each deleted, and given values of other types; what is invalid is told.

What is invalid is said here a second time, by the texts of CF 1.12 and NZ-1.0 alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup.tests.builders import XARRAY, Json, ZarrFormat
from zarr_xgroup.tests.documents import array, group, write
from zarr_xgroup.tests.report.test_check import declared, sound

#: What an attribute becomes; the first stands for none at all.
GONE = "is taken away"
VALUES: list[Any] = [GONE, None, True, 5, -1.5, "", "text", [], ["a"], [1], {}, {"a": 1}]

#: Tells whether CF allows a value, None where that depends on what it names, or on who reads it.
Judge: TypeAlias = Callable[[Any], bool | None]


def text(value: Any) -> bool | None:
    return True if value == GONE else isinstance(value, str)


def names(value: Any) -> bool | None:
    return None if isinstance(value, str) else False


def number(value: Any) -> bool | None:
    given = value[0] if isinstance(value, list) and len(value) == 1 else value
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return is_number or bool(value == GONE)


def never(value: Any) -> bool | None:
    return bool(value == GONE)


def needed(judge: Judge) -> Judge:
    return lambda value: False if value == GONE else judge(value)


def word(value: Any) -> bool | None:
    return value in (GONE, "text")


OF_ARRAYS: dict[str, dict[str, Judge]] = {
    "so": {
        "standard_name": word,
        "long_name": text,
        "units": text,
        "coordinates": names,
        "grid_mapping": names,
        "cell_measures": never,
        "cell_methods": never,
        "missing_value": number,
        "valid_range": never,
        "actual_range": never,
        "scale_factor": number,
        "add_offset": number,
        "ancillary_variables": names,
        "comment": text,
        "source": text,
        "references": text,
        "history": text,
        "institution": text,
        "standard_error_multiplier": number,
    },
    "lev": {
        "standard_name": needed(lambda _value: False),
        "units": text,
        "axis": lambda value: value == GONE and None,
        "positive": needed(never),
        "formula_terms": needed(never),
        "bounds": names,
        "valid_min": number,
        "valid_max": number,
        "computed_standard_name": text,
    },
    "lat": {"standard_name": word, "units": needed(never)},
    "time": {"standard_name": word, "units": needed(never), "calendar": never},
    "crs": {
        "grid_mapping_name": needed(never),
        "grid_north_pole_latitude": needed(number),
        "grid_north_pole_longitude": needed(number),
        "north_pole_grid_longitude": number,
        "earth_radius": number,
        "crs_wkt": names,
        "geoid_name": text,
    },
    "quality": {
        "flag_values": needed(never),
        "flag_meanings": needed(never),
        "flag_masks": never,
    },
}
OF_GROUPS: dict[str, Judge] = {
    "Conventions": lambda value: None if value == GONE else False,
    "featureType": never,
    "title": text,
    "history": text,
    "institution": text,
    "source": text,
    "references": text,
    "comment": text,
}
MORE: dict[str, Json] = {
    "so": {
        "long_name": "salinity",
        "actual_range": [30.5, 36.5],
        "add_offset": 0.0,
        "ancillary_variables": "depth",
        "standard_error_multiplier": 2.0,
        **dict.fromkeys(("comment", "source", "references", "history", "institution"), "..."),
    },
    "lev": {"valid_min": -1.0, "valid_max": 0, "computed_standard_name": "height"},
    "time": {"calendar": "standard"},
    "crs": {
        "north_pole_grid_longitude": 0.0,
        "earth_radius": 6371229.0,
        "geoid_name": "GOCO06s",
    },
}
OF_GROUP = {
    "Conventions": "CF-1.12",
    "featureType": "timeSeries",
    **dict.fromkeys(("title", "history", "institution", "source", "references", "comment"), "..."),
}

#: A mutant: the path of its node, what was mutated, and whether CF allows that.
Mutant: TypeAlias = tuple[str, str, bool | None]


def mutated(attributes: Json, key: str, value: Any) -> Json:
    found = {name: it for name, it in attributes.items() if name != key}
    return found if value == GONE else {**found, key: copy.deepcopy(value)}


def store_of_mutants() -> tuple[dict[str, Json], list[Mutant]]:
    """Return a store in which each mutant is a node of its own, beside what it refers to."""
    whole = {path: it for path, it in sound().items() if path.startswith("ocean")}
    documents, mutants = {"": group(), **whole}, []
    for name, judges in OF_ARRAYS.items():
        whole[f"ocean/{name}"]["attributes"] |= MORE.get(name, {})
        for number_, (key, value) in enumerate((key, it) for key in judges for it in VALUES):
            path = f"ocean/{name}_{number_}"
            documents[path] = copy.deepcopy(whole[f"ocean/{name}"])
            documents[path]["attributes"] = mutated(documents[path]["attributes"], key, value)
            if name == "crs":
                mapped = {"grid_mapping": path.rpartition("/")[2]}
                documents[f"{path}_named"] = array((4,), ("cell",), mapped)
            mutants.append((f"/{path}", f"{key}: {value!r}", judges[key](value)))
    for number_, (key, value) in enumerate((key, it) for key in OF_GROUPS for it in VALUES):
        declaring = {"zarr_conventions": declared("CF")}
        documents[f"group_{number_}"] = group(declaring | mutated(OF_GROUP, key, value))
        mutants.append((f"/group_{number_}", f"{key}: {value!r}", OF_GROUPS[key](value)))
    return documents, mutants


def test_what_cf_does_not_allow_is_told_and_nothing_else(tmp_path: Path) -> None:
    documents, mutants = store_of_mutants()
    told = told_of(documents, tmp_path / "store.zarr")
    invalid = [it for it in mutants if it[2] is False]
    assert len(invalid) > 400
    missed = [what for node, what, _is_allowed in invalid if node not in told]
    assert missed == []
    assert [what for node, what, is_allowed in mutants if is_allowed and node in told] == []


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


# NZ-1.0.

#: Values of ``_FillValue`` that are none of the type of the array, and that are.
NO_FLOATS: list[Any] = [it for it in VALUES if not number(it)] + [[1], "nan"]
FLOATS: list[Any] = [GONE, 5, -1.5, "NaN", "Infinity", "0x7fc00000"]
NO_INTEGERS: list[Any] = [None, True, -1.5, 40000, "", "5", [5], {}]
OF_ITS_TYPE: list[tuple[str, list[Any], bool]] = [
    ("float32", NO_FLOATS, False),
    ("float32", FLOATS, True),
    ("int16", NO_INTEGERS, False),
    ("int16", [5, -999.0], True),
]
#: Names of the dimensions of an array of two that are none.
NO_NAMES: list[Any] = [GONE, None, ["", "x"], [None, "x"], ["y"], "yx", [1, 2], {}]


def told_of(documents: dict[str, Json], folder: Path) -> set[str]:
    verdict = zarr_xgroup.check(write(folder, documents))
    return {place.node for it in verdict.mistakes for place in it.places}


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_root_that_does_not_name_nz_is_told(tmp_path: Path, value: Any) -> None:
    attributes = {"zarr_conventions": declared("NZ-1.0"), "conventions": "nz-1.0 CF-1.12"}
    assert told_of({"": group(attributes)}, tmp_path / "right") == set()
    mutant = mutated(attributes, "conventions", value)
    assert told_of({"": group(mutant)}, tmp_path / "wrong") == {"/"}


def test_what_nz_does_not_allow_of_arrays_is_told_and_nothing_else(tmp_path: Path) -> None:
    documents = {"": group({"conventions": "NZ-1.0"})}
    allowed: dict[str, tuple[Any, bool]] = {}
    for dtype, values, is_allowed in OF_ITS_TYPE:
        for value in values:
            name = f"fill_{len(allowed)}"
            documents[name] = array((2,), ("x",), mutated({}, "_FillValue", value), dtype)
            allowed[f"/{name}"] = (value, is_allowed)
    for names_ in (["y", "x"], *NO_NAMES):
        name = f"named_{len(allowed)}"
        document = array((3, 2), None)
        documents[name] = document if names_ == GONE else {**document, "dimension_names": names_}
        allowed[f"/{name}"] = (names_, names_ == ["y", "x"])
    told = told_of(documents, tmp_path / "store.zarr")
    wrong = [it for node, it in allowed.items() if (node in told) is it[1]]
    assert wrong == []
