"""Write a small ocean model output with plain CF attributes as a hierarchical Zarr store.

The layout is that of a ROMS history file divided into groups: the grid in ``/grid``, the time
axis in ``/time``, the fields in ``/ocean``, derived fields in ``/ocean/diagnostics``. The store
declares no convention. Variables refer to others by paths (CF 1.11, section 2.7 "Groups").

Values are rounded and chunks are uncompressed, so the bytes are the same with all versions of zarr
and numpy.
"""

from typing import Any, TypeAlias

import numpy as np
from store_tools import run, writer_of

from zarr_xgroup.tests.builders import Array, Group, Json, Nodes

Values: TypeAlias = np.ndarray[Any, np.dtype[Any]]

#: The value that ROMS writes on land.
LAND = 1e37

N_TIMES, N_LEVELS, N_ETA, N_XI = 3, 4, 5, 6
THETA_S, THETA_B, CRITICAL_DEPTH = 7.0, 2.0, 250.0


def make_nodes() -> Nodes:
    """Return all nodes by their paths, groups before their members."""
    grid = _grid()
    depth, sea = grid["h"].data, grid["mask_rho"].data == 1
    return {
        "": Group(attrs=_global_attributes()),
        "grid": Group(grid, {"title": "Horizontal grid and terrain-following levels"}),
        "time": Group(_time(), {"title": "Time axis of the output"}),
        "ocean": Group(_ocean(depth, sea), {"title": "Prognostic fields"}),
        "ocean/diagnostics": Group(_diagnostics(sea), {"title": "Derived fields"}),
    }


def _global_attributes() -> Json:
    return {
        "Conventions": "CF-1.11",
        "title": "Idealised bay, ROMS-like history output",
        "type": "ROMS/TOMS history file",
        "source": "analytical fields, not a model run",
        "NLM_TADV": "upstream",
        "theta_s": THETA_S,
        "theta_b": THETA_B,
        "Vtransform": 2,
        "Vstretching": 4,
    }


def _grid() -> dict[str, Array]:
    horizontal = ("eta_rho", "xi_rho")
    eta, xi = np.meshgrid(np.arange(N_ETA), np.arange(N_XI), indexing="ij")
    mask = np.ones((N_ETA, N_XI))
    mask[-1, :2] = 0  # a cape in the north-west
    on_grid = {"coordinates": "lon_rho lat_rho"}
    return {
        "lon_rho": _field(
            horizontal,
            (-6.0 + 0.1 * xi - 0.02 * eta).round(4),
            _named("longitude of RHO-points", "degrees_east", "longitude"),
        ),
        "lat_rho": _field(
            horizontal,
            (43.0 + 0.08 * eta + 0.02 * xi).round(4),
            _named("latitude of RHO-points", "degrees_north", "latitude"),
        ),
        "h": _field(
            horizontal,
            50.0 + 400.0 * xi / (N_XI - 1) + 20.0 * (N_ETA - 1 - eta),
            _named("bathymetry at RHO-points", "m", "sea_floor_depth_below_geoid") | on_grid,
        ),
        "mask_rho": _field(
            horizontal,
            mask,
            _named("mask on RHO-points", "1", "sea_binary_mask")
            | {"flag_values": [0.0, 1.0], "flag_meanings": "land water"}
            | on_grid,
        ),
        "angle": _field(
            horizontal,
            np.full((N_ETA, N_XI), 0.1974),
            _named("angle between XI-axis and EAST", "radians") | on_grid,
        ),
        **_levels(),
    }


def _levels() -> dict[str, Array]:
    s_rho = (np.arange(N_LEVELS) - N_LEVELS + 0.5) / N_LEVELS
    return {
        "s_rho": _field(
            ("s_rho",),
            s_rho,
            _named("S-coordinate at RHO-points", "1", "ocean_s_coordinate_g2")
            | {
                "valid_min": -1.0,
                "valid_max": 0.0,
                "positive": "up",
                "axis": "Z",
                "formula_terms": "s: s_rho C: Cs_r eta: /ocean/zeta depth: h depth_c: hc",
            },
        ),
        "Cs_r": _field(
            ("s_rho",),
            _stretching(s_rho).round(8),
            _named("S-coordinate stretching curves at RHO-points", "1"),
        ),
        "hc": _field(
            (),
            np.array(CRITICAL_DEPTH),
            _named("S-coordinate parameter, critical depth", "m"),
        ),
    }


def _stretching(s: Values) -> Values:
    """Return the stretching curve of ROMS for ``Vstretching = 4``."""
    surface = (1 - np.cosh(THETA_S * s)) / (np.cosh(THETA_S) - 1)
    return np.asarray((np.exp(THETA_B * surface) - 1) / (1 - np.exp(-THETA_B)))


def _time() -> dict[str, Array]:
    return {
        "ocean_time": _field(
            ("ocean_time",),
            831_168_000.0 + 21_600.0 * np.arange(N_TIMES),  # 2026-05-04, six-hourly
            _named("time since initialization", "seconds since 2000-01-01 00:00:00", "time")
            | {"calendar": "proleptic_gregorian", "axis": "T"},
        )
    }


def _ocean(depth: Values, sea: Values) -> dict[str, Array]:
    volume = ("ocean_time", "s_rho", "eta_rho", "xi_rho")
    surface = ("ocean_time", "eta_rho", "xi_rho")
    time, level, eta, xi = np.ogrid[:N_TIMES, :N_LEVELS, :N_ETA, :N_XI]
    share = (N_LEVELS - 0.5 - level) / N_LEVELS  # of the depth, from the surface
    temperature = 16.0 - 6.0 * share * depth / depth.max() - 0.15 * eta + 0.1 * time
    salinity = 34.8 + 0.8 * share - 0.05 * xi + 0.0 * time
    elevation = 0.4 * np.sin(np.pi * time[:, 0] / 2) + 0.01 * xi[0] + 0.0 * eta[0]
    return {
        "temp": _masked(
            volume,
            temperature,
            sea,
            _named("potential temperature", "degree_Celsius", "sea_water_potential_temperature")
            | {"coordinates": "../grid/lon_rho ../grid/lat_rho ../time/ocean_time"},
        ),
        "salt": _masked(
            volume,
            salinity,
            sea,
            _named("salinity", "1e-3", "sea_water_practical_salinity")
            | {"coordinates": "/grid/lon_rho /grid/lat_rho /time/ocean_time"},
        ),
        "zeta": _masked(
            surface,
            elevation,
            sea,
            _named("free-surface", "m", "sea_surface_height_above_geoid")
            | {"coordinates": "../grid/lon_rho /grid/lat_rho"},
        ),
    }


def _diagnostics(sea: Values) -> dict[str, Array]:
    time, eta, xi = np.ogrid[:N_TIMES, :N_ETA, :N_XI]
    return {
        "mld": _masked(
            ("ocean_time", "eta_rho", "xi_rho"),
            25.0 + 5.0 * xi - 2.0 * eta + 0.5 * time,
            sea,
            _named("mixed layer depth", "m", "ocean_mixed_layer_thickness_defined_by_temperature")
            | {"coordinates": "../../grid/lon_rho ../../grid/lat_rho"},
        ),
        "volume": _field(
            ("ocean_time",),
            (6.2e10 + 1.0e7 * np.arange(N_TIMES)),
            _named("total volume of water", "m3"),
        ),
    }


def _named(long_name: str, units: str, standard_name: str | None = None) -> Json:
    attributes = {"long_name": long_name, "units": units}
    if standard_name is not None:
        attributes["standard_name"] = standard_name
    return attributes


def _masked(dimensions: tuple[str, ...], values: Values, sea: Values, attributes: Json) -> Array:
    masked = np.where(sea, values.round(3), LAND).astype(np.float32)
    return _field(dimensions, masked, attributes, missing=float(np.float32(LAND)))


def _field(
    dimensions: tuple[str, ...], values: Values, attributes: Json, missing: float | None = None
) -> Array:
    """Return an array. A chunk is one time step of a field over time, otherwise the whole array."""
    in_time = dimensions[:1] == ("ocean_time",) and len(dimensions) > 1
    chunks = (1, *values.shape[1:]) if in_time else None
    return Array(values, dimensions, attributes, missing, chunks, v3={"fill_value": 0.0})


write = writer_of(make_nodes, indent=2)

if __name__ == "__main__":
    run(write, "roms_test.zarr", __doc__)
