"""CF across groups as read by cfdm: the same hierarchy as netCDF-4 groups and as Zarr."""

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.metadata.cf import names_by_key
from zarr_xgroup.tests.builders import Array, opened, quietly
from zarr_xgroup.tests.tables import store_of

SIZES = {"time": 3, "s": 2, "eta": 2, "xi": 4, "nv": 2}

#: Groups by path: the dimensions that each defines, and its variables: name and dimensions, and attributes.
HIERARCHY: Mapping[str, tuple[Mapping[str, int], Mapping[str, Mapping[str, Any]]]] = {
    "": (SIZES, {"reference": {"standard_name": "altitude", "units": "m"}}),
    "grid": ({}, {
        "lon eta xi": {"standard_name": "longitude", "units": "degrees_east", "bounds": "lon_bnds"},
        "lon_bnds eta xi nv": {},
        "lat eta xi": {"standard_name": "latitude", "units": "degrees_north"},
        "area eta xi": {"standard_name": "cell_area", "units": "m2"},
        "crs": {"grid_mapping_name": "latitude_longitude", "earth_radius": 6371007.0},
        "s s": {"standard_name": "ocean_s_coordinate_g2", "units": "1", "formula_terms": "s: s C: C_s eta: /ocean/zeta depth: h depth_c: hc"},
        "C_s s": {"long_name": "stretching", "units": "1"},
        "h eta xi": {"standard_name": "sea_floor_depth", "units": "m"},
        "hc": {"long_name": "critical depth", "units": "m"},
    }),
    "times": ({}, {
        "time time": {"standard_name": "time", "units": "days since 2000-01-01", "bounds": "time_bnds"},
        "time_bnds time nv": {},
    }),
    "ocean": ({}, {
        "temp time s eta xi": {
            "standard_name": "sea_water_temperature",
            "units": "K",
            "coordinates": "../grid/lon /grid/lat reference",
            "grid_mapping": "/grid/crs",
            "cell_measures": "area: ../grid/area",
            "ancillary_variables": "quality ../flags/flag",
        },
        "quality time": {"long_name": "quality"},
        "zeta time eta xi": {"long_name": "free surface", "units": "m"},
    }),
    "flags": ({}, {"flag time s": {"long_name": "flag"}}),
    "ocean/derived": ({"time": 2}, {
        "mixed eta xi": {
            "standard_name": "ocean_mixed_layer_thickness",
            "units": "m",
            "coordinates": "../../grid/lon",
            "grid_mapping": "crs: /grid/lon",
        },
        "crs": {"grid_mapping_name": "latitude_longitude", "earth_radius": 6371000.0},
        "volume time": {"standard_name": "sea_water_volume", "units": "m3"},
        "below s": {"long_name": "below", "units": "1"},
    }),
    "stations": ({"station": 2}, {"height": {"standard_name": "height", "units": "m"}}),
    "stations/deep": ({}, {
        "station station": {"long_name": "station", "units": "1"},
        "wind station": {"standard_name": "wind_speed", "units": "m s-1", "coordinates": "height er/y"},
    }),
    "stations/deep/er": ({}, {"y station": {"standard_name": "latitude", "units": "degrees_north"}}),
}  # fmt: skip

#: The paths of what belongs to each field, as cfdm 1.13.3.0 reads it. It needs the C library
#: udunits2, which few have: where it can be imported, a test compares this with what it reads.
FIELDS: Mapping[str, set[str]] = {
    "/ocean/temp": {
        *("/flags/flag", "/ocean/quality", "/ocean/zeta", "/reference", "/times/time", "/times/time_bnds"),
        *("/grid/C_s", "/grid/area", "/grid/crs", "/grid/h", "/grid/hc", "/grid/lat", "/grid/lon", "/grid/lon_bnds", "/grid/s"),
    },
    "/ocean/derived/mixed": {"/grid/lon", "/grid/lon_bnds", "/ocean/derived/crs"},
    "/ocean/derived/volume": set(),
    "/ocean/derived/below": {"/grid/s"},
    "/stations/deep/wind": {"/stations/deep/er/y", "/stations/deep/station", "/stations/height"},
}  # fmt: skip

#: What we attach and cfdm does not: of an array that does not span all terms of the formula of its
#: vertical coordinate, cfdm leaves all terms out, and we those that it does not span.
MORE: Mapping[str, set[str]] = {"/ocean/derived/below": {"/grid/C_s", "/grid/hc"}}


def variables() -> Iterator[tuple[str, str, tuple[str, ...], Any, Mapping[str, Any], list[str]]]:
    """Yield group, name, dimensions, values, attributes and paths of the dimensions of all variables."""
    for group, (_dims, members) in HIERARCHY.items():
        for written, attributes in members.items():
            name, *dims = written.split()
            places = [_place(group, dim) for dim in dims]
            shape = [size for _path, size in places]
            numbers = sum(map(ord, group + name)) + np.arange(float(np.prod(shape))).reshape(shape)
            yield group, name, tuple(dims), numbers, attributes, [path for path, _size in places]


def _place(group: str, dim: str) -> tuple[str, int]:
    """Return the path and the size of a dimension, defined where netCDF finds it."""
    while dim not in HIERARCHY[group][0]:
        group = group.rpartition("/")[0]
    return absolute(group, dim), HIERARCHY[group][0][dim]


def absolute(*parts: str) -> str:
    return f"/{'/'.join(part.strip('/') for part in parts if part.strip('/'))}"


def as_netcdf(netcdf: ModuleType, path: Path) -> Path:
    with netcdf.Dataset(path, "w") as dataset:
        dataset.Conventions = "CF-1.11"
        groups = {group: dataset.createGroup(group) if group else dataset for group in HIERARCHY}
        for group, (dims, _members) in HIERARCHY.items():
            for dim, size in dims.items():
                groups[group].createDimension(dim, size)
        for group, name, names, numbers, attributes, _paths in variables():
            made = groups[group].createVariable(name, "f8", names)
            made.setncatts(attributes)
            made[...] = numbers
    return path


def as_zarr(*, says_dimensions: bool) -> Any:
    nodes: dict[str, Any] = {group: {} for group in sorted(HIERARCHY)}
    for group, name, names, numbers, attributes, paths in variables():
        said = {"_nczarr_array": {"dimension_references": paths}} if says_dimensions else {}
        nodes[f"{group}/{name}".strip("/")] = Array(numbers, names, {**attributes, **said})
    return store_of(nodes)


def parts_of(field: Any) -> Iterator[str]:
    constructs = [*field.constructs.filter_by_data().values()]
    bounds = [it.get_bounds() for it in constructs if getattr(it, "has_bounds", bool)()]
    for part in (*constructs, *bounds, *field.coordinate_references().values()):
        if path := part.nc_get_variable(None):
            yield absolute(path)


def by_us(store: Any) -> dict[str, set[str]]:
    """Return the paths of what belongs to each data variable."""
    groups = opened(xr.open_groups, store, assume_conventions="cf")
    return {
        absolute(path, name): {place_of(path, dataset[other]) for other in names_of(dataset, name)}
        for path, dataset in groups.items()
        for name in dataset.data_vars
    }


def names_of(dataset: xr.Dataset, name: str) -> set[str]:
    """Return what an array's dimensions and attributes name, and what these name in turn."""
    names = {str(dim) for dim in dataset[name].dims}
    pending = {name, *names}
    while pending:
        array = dataset.variables.get(pending.pop())
        if array is not None:
            found = names_by_key({**array.attrs, **array.encoding})
            referred = {name for _key, name in found}
            pending |= referred - names
            names |= referred
    return names & set(map(str, dataset.variables))


def place_of(group: str, array: xr.DataArray) -> str:
    store, _slash, path = array.encoding.get("source", "").removeprefix("memory://").partition("/")
    return absolute(path) if store else absolute(group, str(array.name))


def test_cfdm_gives_the_recorded_results(tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    try:
        cfdm = importlib.import_module("cfdm")
    except (ImportError, OSError, AssertionError) as error:  # also without the library udunits2
        pytest.skip(f"cfdm cannot be imported: {error}")
    fields = quietly(cfdm.read, str(as_netcdf(netcdf, tmp_path / "hierarchy.nc")))
    assert {it.nc_get_variable(): set(parts_of(it)) for it in fields} == FIELDS


@pytest.mark.parametrize("says_dimensions", [False, True], ids=["names only", "as NCZarr"])
def test_fields_have_the_same_parts(says_dimensions: bool) -> None:
    ours = by_us(as_zarr(says_dimensions=says_dimensions))
    # What cfdm makes no field of are arrays that others refer to.
    assert {path: ours[path] - MORE.get(path, set()) for path in FIELDS} == FIELDS
