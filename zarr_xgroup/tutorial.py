"""A synthetic satellite product, to try the package without a download.

The product shows an island: images in three resolutions, sea surface temperatures of a swath, and the weather on a grid of
latitudes and longitudes. Each is in its own group. The conventions are `spatial`, `multiscales`, `proj` and `cs`.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import zarr
from pyproj import Transformer

from zarr_xgroup.conventions.registry import BUILT_IN, WITHOUT_COORDINATES

__all__ = ["sample"]

Values: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_UUIDS = {convention.name: convention.uuid for convention in (*BUILT_IN, *WITHOUT_COORDINATES)}
_MISSING = 65535

_CRS = "EPSG:32628"
#: The outer corner of the first cell, in metres.
_LEFT, _TOP = 192_000.0, 3_204_000.0
_ROWS, _COLUMNS = 600, 480
#: The size of a cell in metres.
_CELL = 60.0


def sample(path: str | os.PathLike[str] | None = None) -> str:
    """Write a synthetic product as a Zarr v3 store, and return its path.

    Parameters
    ----------
    path : path-like, optional
        A folder. A store in it is replaced. By default a temporary folder, which is removed when Python exits.

    Returns
    -------
    str
        The path of the store.

    Examples
    --------
    >>> import xarray as xr
    >>> from zarr_xgroup.tutorial import sample
    >>> scene = xr.open_dataset(sample() + "/images/r60m", engine="xgroup")
    >>> scene["red"].dims
    ('y', 'x')
    """
    if path is None:
        folder = tempfile.mkdtemp(prefix="zarr_xgroup_")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder, "product.zarr")
    root = zarr.create_group(os.fspath(path), zarr_format=3, overwrite=True)
    root.attrs.update({"title": "A synthetic product: an island and the sea around it"})
    height = _height()
    _write_images(root.create_group("images"), height)
    _write_sea(root.create_group("sea"), height)
    _write_array(root, "axes/time", np.array([0.0, 6.0, 12.0]), ("time",), {})
    _write_weather(root.create_group("weather"))
    return os.fspath(path)


def _declaring(*conventions: str, **attributes: Any) -> dict[str, Any]:
    """Return attributes that declare conventions."""
    declared = [{"uuid": _UUIDS[name], "name": name} for name in conventions]
    return {"zarr_conventions": declared, **attributes}


def _height() -> Values:
    """Return the height of the ground in metres, below zero in the sea."""
    rows, columns = np.mgrid[0:_ROWS, 0:_COLUMNS]
    down, across = (rows - _ROWS * 0.47) / _ROWS, (columns - _COLUMNS * 0.5) / _COLUMNS
    north = np.hypot(down + 0.12, across * 0.8 - 0.02)
    south = np.hypot((down - 0.12) * 0.8, across * 1.5 + 0.02)
    cones = 2200 * np.exp(-((north / 0.2) ** 2)) + 1700 * np.exp(-((south / 0.22) ** 2))
    crater = 1300 * np.exp(-((np.hypot(down + 0.1, across) / 0.07) ** 2))
    height: Values = cones - crater - 420 + 420 * _noise()
    return height


def _noise() -> Values:
    """Return noise that looks like terrain: longer waves are higher."""
    generator = np.random.default_rng(28)
    frequencies = np.hypot(
        np.fft.fftfreq(_ROWS, 1 / _ROWS)[:, None], np.fft.fftfreq(_COLUMNS, 1 / _ROWS)
    )
    frequencies[0, 0] = np.inf
    spectrum = np.fft.fft2(generator.standard_normal((_ROWS, _COLUMNS))) / frequencies**1.9
    noise = np.fft.ifft2(spectrum).real
    scaled: Values = noise / np.abs(noise).max()
    return scaled


def _write_images(group: zarr.Group, height: Values) -> None:
    """Write bands in three resolutions, with one declaration on the group for all of them."""
    layout = []
    bands = _reflectances(height)
    for factor in (1, 2, 4):
        size = _CELL * factor
        asset = f"r{size:.0f}m"
        transform = [size, 0.0, _LEFT, 0.0, -size, _TOP]
        layout.append({"asset": asset, "spatial:transform": transform})
        for name, values in bands.items():
            packed = np.round(_coarsened(values, factor) * 1e4).astype("uint16")
            attributes = {"units": "1", "scale_factor": 1e-4, "_FillValue": _MISSING}
            _write_array(group, f"{asset}/{name}", packed, ("y", "x"), attributes)
    group.attrs.update(
        _declaring(
            "multiscales",
            "spatial",
            "proj",
            multiscales={"layout": layout},
            **{"spatial:dimensions": ["y", "x"], "proj:code": _CRS},
        )
    )


def _reflectances(height: Values) -> dict[str, Values]:
    """Return reflectances of bands: water, woods on the slopes, rock and lava further up."""
    slope = np.gradient(height, axis=1) / _CELL
    light = 1 - 1.6 * np.clip(slope, -0.4, 0.4)
    green_cover = np.exp(-(((height - 650) / 520) ** 2)) * (1 + 0.4 * _noise())
    green_cover = np.clip(green_cover, 0, 1)
    shallow = np.exp(np.minimum(height, 0) / 60)
    ground = {
        "blue": (0.09 - 0.06 * green_cover, 0.045 + 0.07 * shallow),
        "green": (0.11 - 0.045 * green_cover, 0.035 + 0.075 * shallow),
        "red": (0.145 - 0.11 * green_cover, 0.015 + 0.03 * shallow),
        "nir": (0.19 + 0.24 * green_cover, 0.008 + 0.01 * shallow),
    }
    is_land = height > 0
    return {name: np.where(is_land, land * light, water) for name, (land, water) in ground.items()}


def _coarsened(values: Values, factor: int) -> Values:
    """Return means of blocks of cells."""
    rows, columns = values.shape
    blocks = values.reshape(rows // factor, factor, columns // factor, factor)
    means: Values = blocks.mean(axis=(1, 3))
    return means


def _write_sea(group: zarr.Group, height: Values) -> None:
    """Write temperatures along the track of a satellite, with their positions in a group below."""
    lines, pixels = np.mgrid[0:70, 0:60]
    along, across = 900.0 * (lines - 34.5), 900.0 * (pixels - 29.5)
    turn = np.radians(14)
    x = _LEFT + _COLUMNS * _CELL / 2 + across * np.cos(turn) + along * np.sin(turn)
    y = _TOP - _ROWS * _CELL / 2 - along * np.cos(turn) + across * np.sin(turn)
    longitude, latitude = Transformer.from_crs(_CRS, 4326, always_xy=True).transform(x, y)
    column = np.clip((x - _LEFT) / _CELL, 0, _COLUMNS - 1).astype(int)
    row = np.clip((_TOP - y) / _CELL, 0, _ROWS - 1).astype(int)
    wake = 0.8 * np.exp(-(((along + 0.5 * across - 26_000) / 12_000) ** 2) - (across / 40_000) ** 2)
    kelvin = 294.2 + (latitude - 28.7) * -1.6 + wake + 0.25 * np.sin(x / 9_000 + y / 14_000)
    sst = np.where(height[row, column] > 0, np.nan, kelvin).astype("float32")
    geodetic = {"x": {"node": "places/longitude"}, "y": {"node": "places/latitude"}}
    axes: dict[str, Any] = {"line": {}, "pixel": {}}
    system = {"type": "undefined", "axes": axes, "geolocation": {"geodetic": geodetic}}
    attributes = _declaring("cs", cs={"crs": [system]}, units="K")
    attributes["standard_name"] = "sea_surface_temperature"
    _write_array(group, "sst", sst, ("line", "pixel"), attributes)
    for name, values, unit in (
        ("latitude", latitude, "degrees_north"),
        ("longitude", longitude, "degrees_east"),
    ):
        _write_array(group, f"places/{name}", values, ("line", "pixel"), {"units": unit})


def _write_weather(group: zarr.Group) -> None:
    """Write the air temperature on a regular grid, along the time axis of a different group."""
    times = {
        "time": {"unit": "hours", "epoch": "2026-05-04", "calendar": "standard"},
        "values": {"external": {"node": "../axes/time"}},
    }
    axes = {
        "time": {"abbreviation": "T", "coordinates": [times]},
        "lat": {"abbreviation": "Y", "coordinates": [_degrees("degrees_north", 29.5, -0.125)]},
        "lon": {"abbreviation": "X", "coordinates": [_degrees("degrees_east", -19.0, 0.125)]},
    }
    hour, row, column = np.mgrid[0:3, 0:6.5:0.5, 0:8.5:0.5]
    celsius = 17.0 + 1.5 * hour + 0.5 * row - 0.7 * column + 0.09 * column**2 + 0.06 * row**2
    system = {"type": "compound", "axes": axes, "id": {"proj:code": "EPSG:4326"}}
    cs = {"crs": [system]}
    attributes = _declaring("cs", cs=cs, units="degC", standard_name="air_temperature")
    _write_array(group, "air_temperature", celsius.round(2), ("time", "lat", "lon"), attributes)


def _degrees(unit: str, first: float, step: float) -> dict[str, Any]:
    half = abs(step) / 2
    return {
        "unit": unit,
        "values": {"regular": [first, step]},
        "boundaries": {"regular": [-half, half]},
    }


def _write_array(
    group: zarr.Group,
    path: str,
    values: Values,
    dimensions: tuple[str, ...],
    attributes: Mapping[str, Any],
) -> None:
    array = group.create_array(
        path,
        shape=values.shape,
        chunks=tuple(min(size, 240) for size in values.shape),
        dtype=values.dtype,
        dimension_names=dimensions,
        attributes=dict(attributes),
    )
    array[...] = values
