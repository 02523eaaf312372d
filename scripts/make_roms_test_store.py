"""Write a small ocean model output with plain CF attributes as a hierarchical Zarr store.

The layout is that of a ROMS history file spread over groups: the grid in ``/grid``, the time
axis in ``/time``, the fields in ``/ocean``, what is derived from them in
``/ocean/diagnostics``. No convention is declared; variables refer to others by paths, as CF
conventions 1.11, section 2.7 "Groups" has it.

Documents and chunks are written by this script itself, uncompressed, and values are rounded:
the same bytes come out whatever versions of zarr and numpy are installed.
"""

import argparse
import base64
import json
import shutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

ZarrFormat: TypeAlias = Literal[2, 3]
Values: TypeAlias = np.ndarray[Any, np.dtype[Any]]

DEFAULT_TARGET = (
    Path(__file__).resolve().parent.parent / "zarr_xgroup" / "tests" / "stores" / "roms_test.zarr"
)

#: What ROMS writes where there is land.
LAND = 1e37

N_TIMES, N_LEVELS, N_ETA, N_XI = 3, 4, 5, 6
THETA_S, THETA_B, CRITICAL_DEPTH = 7.0, 2.0, 250.0

_METADATA_KEY: Mapping[ZarrFormat, str] = {2: ".zgroup", 3: "zarr.json"}


@dataclass(frozen=True)
class Field:
    """One array: its dimensions, values and CF attributes.

    Attributes
    ----------
    dimensions : tuple of str
        One name per axis.
    values : numpy.ndarray
        All values.
    attributes : dict
        Without `_FillValue`.
    missing : float or None
        The value that stands for missing data.
    """

    dimensions: tuple[str, ...]
    values: Values
    attributes: dict[str, Any]
    missing: float | None = None

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of a chunk: one time step of a field in time, else all there is."""
        shape: tuple[int, ...] = self.values.shape
        if self.dimensions[:1] == ("ocean_time",) and len(shape) > 1:
            return (1, *shape[1:])
        return shape


@dataclass(frozen=True)
class Group:
    """One group: its attributes and its arrays by name."""

    attributes: dict[str, Any]
    fields: dict[str, Field] = field(default_factory=dict)


def write(target: str | Path, zarr_format: ZarrFormat = 3) -> None:
    """Write the store, not consolidated.

    Parameters
    ----------
    target : str or Path
        A folder. A Zarr store that is there already is replaced.
    zarr_format : {2, 3}
        The format of all nodes.

    Raises
    ------
    FileExistsError
        If something other than a Zarr store is there.
    """
    target = Path(target)
    _make_room(target)
    for path, group in make_groups().items():
        _write_group(target / path, group, zarr_format)
        for name, array in group.fields.items():
            _write_array(target / path / name, array, zarr_format)


def make_groups() -> dict[str, Group]:
    """Return all groups by their paths, parents first."""
    grid = _grid()
    depth, sea = grid["h"].values, grid["mask_rho"].values == 1
    return {
        "": Group(_global_attributes()),
        "grid": Group({"title": "Horizontal grid and terrain-following levels"}, grid),
        "time": Group({"title": "Time axis of the output"}, _time()),
        "ocean": Group({"title": "Prognostic fields"}, _ocean(depth, sea)),
        "ocean/diagnostics": Group({"title": "Derived fields"}, _diagnostics(sea)),
    }


# What is in the store.


def _global_attributes() -> dict[str, Any]:
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


def _grid() -> dict[str, Field]:
    horizontal = ("eta_rho", "xi_rho")
    eta, xi = np.meshgrid(np.arange(N_ETA), np.arange(N_XI), indexing="ij")
    mask = np.ones((N_ETA, N_XI))
    mask[-1, :2] = 0  # a cape in the north-west
    on_grid = {"coordinates": "lon_rho lat_rho"}
    return {
        "lon_rho": Field(
            horizontal,
            (-6.0 + 0.1 * xi - 0.02 * eta).round(4),
            _named("longitude of RHO-points", "degrees_east", "longitude"),
        ),
        "lat_rho": Field(
            horizontal,
            (43.0 + 0.08 * eta + 0.02 * xi).round(4),
            _named("latitude of RHO-points", "degrees_north", "latitude"),
        ),
        "h": Field(
            horizontal,
            50.0 + 400.0 * xi / (N_XI - 1) + 20.0 * (N_ETA - 1 - eta),
            _named("bathymetry at RHO-points", "m", "sea_floor_depth_below_geoid") | on_grid,
        ),
        "mask_rho": Field(
            horizontal,
            mask,
            _named("mask on RHO-points", "1", "sea_binary_mask")
            | {"flag_values": [0.0, 1.0], "flag_meanings": "land water"}
            | on_grid,
        ),
        "angle": Field(
            horizontal,
            np.full((N_ETA, N_XI), 0.1974),
            _named("angle between XI-axis and EAST", "radians") | on_grid,
        ),
        **_levels(),
    }


def _levels() -> dict[str, Field]:
    s_rho = (np.arange(N_LEVELS) - N_LEVELS + 0.5) / N_LEVELS
    return {
        "s_rho": Field(
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
        "Cs_r": Field(
            ("s_rho",),
            _stretching(s_rho).round(8),
            _named("S-coordinate stretching curves at RHO-points", "1"),
        ),
        "hc": Field(
            (),
            np.array(CRITICAL_DEPTH),
            _named("S-coordinate parameter, critical depth", "m"),
        ),
    }


def _stretching(s: Values) -> Values:
    """Return the stretching curve that ROMS calls ``Vstretching = 4``."""
    surface = (1 - np.cosh(THETA_S * s)) / (np.cosh(THETA_S) - 1)
    return np.asarray((np.exp(THETA_B * surface) - 1) / (1 - np.exp(-THETA_B)))


def _time() -> dict[str, Field]:
    return {
        "ocean_time": Field(
            ("ocean_time",),
            831_168_000.0 + 21_600.0 * np.arange(N_TIMES),  # 2026-05-04, six-hourly
            _named("time since initialization", "seconds since 2000-01-01 00:00:00", "time")
            | {"calendar": "proleptic_gregorian", "axis": "T"},
        )
    }


def _ocean(depth: Values, sea: Values) -> dict[str, Field]:
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


def _diagnostics(sea: Values) -> dict[str, Field]:
    time, eta, xi = np.ogrid[:N_TIMES, :N_ETA, :N_XI]
    return {
        "mld": _masked(
            ("ocean_time", "eta_rho", "xi_rho"),
            25.0 + 5.0 * xi - 2.0 * eta + 0.5 * time,
            sea,
            _named("mixed layer depth", "m", "ocean_mixed_layer_thickness_defined_by_temperature")
            | {"coordinates": "../../grid/lon_rho ../../grid/lat_rho"},
        ),
        "volume": Field(
            ("ocean_time",),
            (6.2e10 + 1.0e7 * np.arange(N_TIMES)),
            _named("total volume of water", "m3"),
        ),
    }


def _named(long_name: str, units: str, standard_name: str | None = None) -> dict[str, Any]:
    attributes = {"long_name": long_name, "units": units}
    if standard_name is not None:
        attributes["standard_name"] = standard_name
    return attributes


def _masked(
    dimensions: tuple[str, ...], values: Values, sea: Values, attributes: dict[str, Any]
) -> Field:
    masked = np.where(sea, values.round(3), LAND).astype(np.float32)
    return Field(dimensions, masked, attributes, missing=float(np.float32(LAND)))


# How it is written.


def _make_room(target: Path) -> None:
    if not target.exists():
        return
    if not any((target / key).is_file() for key in _METADATA_KEY.values()):
        message = f"{target} exists and is not a Zarr group; it is left alone"
        raise FileExistsError(message)
    shutil.rmtree(target)


def _write_group(folder: Path, group: Group, zarr_format: ZarrFormat) -> None:
    folder.mkdir(parents=True)
    if zarr_format == 3:
        document = {"zarr_format": 3, "node_type": "group", "attributes": group.attributes}
        _write_json(folder / "zarr.json", document)
    else:
        _write_json(folder / ".zgroup", {"zarr_format": 2})
        _write_json(folder / ".zattrs", group.attributes)


def _write_array(folder: Path, array: Field, zarr_format: ZarrFormat) -> None:
    folder.mkdir()
    if zarr_format == 3:
        _write_json(folder / "zarr.json", _v3_document(array))
    else:
        _write_json(folder / ".zarray", _v2_document(array))
        _write_json(
            folder / ".zattrs", {**array.attributes, "_ARRAY_DIMENSIONS": list(array.dimensions)}
        )
    for position in np.ndindex(*_chunk_counts(array)):
        chunk = array.values[_chunk_slices(array, position)]
        key = "/".join(["c", *map(str, position)])
        if zarr_format == 2:
            key = ".".join(map(str, position)) or "0"
        file = folder / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(chunk.astype(_little_endian(array)).tobytes())


def _chunk_counts(array: Field) -> tuple[int, ...]:
    return tuple(n // c for n, c in zip(array.values.shape, array.chunks, strict=True))


def _chunk_slices(array: Field, position: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(i * c, (i + 1) * c) for i, c in zip(position, array.chunks, strict=True))


def _v3_document(array: Field) -> dict[str, Any]:
    attributes = dict(array.attributes)
    if array.missing is not None:
        # As xarray writes it, which is the only way in which engine zarr reads it.
        attributes["_FillValue"] = base64.b64encode(struct.pack("<d", array.missing)).decode()
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(array.values.shape),
        "data_type": array.values.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(array.chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": attributes,
        "dimension_names": list(array.dimensions),
    }


def _v2_document(array: Field) -> dict[str, Any]:
    return {
        "zarr_format": 2,
        "shape": list(array.values.shape),
        "chunks": list(array.chunks),
        "dtype": _little_endian(array).str,
        "compressor": None,
        "fill_value": array.missing,
        "order": "C",
        "filters": None,
    }


def _little_endian(array: Field) -> np.dtype[Any]:
    return array.values.dtype.newbyteorder("<")


def _write_json(file: Path, document: dict[str, Any]) -> None:
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8", newline="\n")


def main() -> None:
    """Write the store where the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", type=Path, nargs="?", default=DEFAULT_TARGET)
    parser.add_argument("--zarr-format", type=int, choices=(2, 3), default=3)
    arguments = parser.parse_args()
    write(arguments.target, arguments.zarr_format)


if __name__ == "__main__":
    main()
