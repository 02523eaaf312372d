"""What users do with what they open, and small stores of each kind to do it with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyproj
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    Group,
    Json,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened,
)

if HAS_RIOXARRAY := find_spec("rioxarray") is not None:
    import rioxarray  # noqa: F401

# Stores.

_SIZES = {"time": 4, "s": 3, "lat": 4, "lon": 6, "y": 4, "x": 6}


def _field(*dims: str, **attributes: Any) -> Array:
    shape = tuple(_SIZES[dim] for dim in dims)
    values = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    return Array(values, dims, {"long_name": "field", **attributes})


def _axis(letter: str, **item: Any) -> Json:
    return {"abbreviation": letter, "coordinates": [item]}


_TIME = {"unit": "days", "epoch": "2000-01-15", "calendar": "standard"}
_INLINE = {
    "time": _axis("T", values={"regular": [0, 20]}, time=_TIME),
    "lat": _axis("Y", values={"regular": [50.0, -1.0]}, unit="degrees_north"),
    "lon": _axis("X", values={"explicit": [5.0, 5.5, 6.0, 7.0, 8.0, 9.0]}, unit="degrees_east"),
}
_WGS84: Json = {"proj:code": "EPSG:4326"}


def _cs(axes: Json, **more: Any) -> Json:
    return declaring("cs", cs={"crs": [{"axes": axes}], "id": _WGS84}, **more)


def _inline() -> Group:
    dims = ("time", "lat", "lon")
    return Group({"v": _field(*dims, **_cs(_INLINE)), "w": _field("lat", "lon")})


def _by_reference() -> Group:
    axes = {
        dim: _axis(letter, values={"external": {"node": f"/grid/{dim}"}})
        for dim, letter in {"lat": "Y", "lon": "X"}.items()
    }
    axes["time"] = _axis("T", values={"external": {"node": "/grid/time"}}, time=_TIME)
    grid = {
        "lat": Array([50.0, 49.0, 48.0, 46.0], ("lat",), {"units": "degrees_north"}),
        "lon": Array(np.arange(5.0, 11.0), ("lon",), {"units": "degrees_east"}),
        "time": Array([0, 10, 31, 60], ("time",)),
    }
    data = {"v": _field("time", "lat", "lon", **_cs(axes)), "w": _field("lat", "lon")}
    return Group({"grid": Group(grid), "data": Group(data)})


def _with_bounds() -> Group:
    edges = np.stack([[50.5, 49.5, 48.5, 47.5], [49.5, 48.5, 47.5, 46.5]], axis=1)
    bounded = {"boundaries": {"regular": [-0.25, 0.25]}}
    axes = {
        "time": _axis("T", values={"regular": [0, 20]}, time=_TIME),
        "lat": _axis(
            "Y", values={"regular": [50.0, -1.0]}, boundaries={"external": {"node": "edges"}}
        ),
        "lon": _axis("X", values={"regular": [5.0, 0.5]}, unit="degrees_east", **bounded),
    }
    field = _field("time", "lat", "lon", **_cs(axes))
    return Group({"v": field, "edges": Array(edges, ("lat", "side"))})


_UTM = {"spatial:dimensions": ["y", "x"], "proj:code": "EPSG:32632"}


def _spatial(**more: Any) -> Group:
    attributes = declaring("spatial", "proj", **_UTM, **more)
    return Group({"v": _field("time", "y", "x"), "w": _field("y", "x")}, attributes)


def _pyramid() -> Group:
    layout = [
        {"asset": "0", "spatial:transform": [10, 0, 600000, 0, -10, 5100000]},
        {"asset": "1", "derived_from": "0", "transform": {"scale": [2, 2]}},
    ]
    attributes = declaring("multiscales", "spatial", "proj", multiscales={"layout": layout}, **_UTM)
    full = Array(np.ones((8, 12)), ("y", "x"))
    return Group({"0": Group({"v": full}), "1": Group({"v": _field("y", "x")})}, attributes)


def _geolocation() -> Group:
    pair = {"x": {"node": "/geo/lon"}, "y": {"node": "/geo/lat"}, "crs": _WGS84}
    field = _field("y", "x", **declaring("geolocation", geolocation={"geodetic": pair}))
    geo = {"lat": _field("y", "x", units="degrees_north"), "lon": _field("y", "x")}
    return Group({"geo": Group(geo), "data": Group({"v": field})})


def _across_groups() -> Group:
    attributes = {
        "coordinates": "/grid/area ../grid/station",
        "grid_mapping": "/grid/crs",
        "ancillary_variables": "../grid/quality",
    }
    degrees = {"units": "degrees_north", "standard_name": "latitude", "bounds": "lat_bnds"}
    lat = np.array([50.0, 49.0, 48.0, 47.0])
    grid = {
        "lat": Array(lat, ("lat",), degrees),
        "lat_bnds": Array(np.stack([lat + 0.5, lat - 0.5], axis=1), ("lat", "nv")),
        "lon": Array(np.arange(6.0), ("lon",), {"units": "degrees_east"}),
        "area": _field("lat", "lon"),
        "station": Array(7.0),
        "quality": _field("lat", "lon"),
        "crs": Array(np.int32(0), (), pyproj.CRS(4326).to_cf()),
    }
    data = {"v": _field("lat", "lon", **declaring("CF", **attributes)), "w": _field("lat")}
    return Group({"grid": Group(grid), "data": Group(data)})


def _assumed() -> Group:
    transform = [10.0, 0.0, 600000.0, 0.0, -10.0, 5100000.0]
    attributes = {"proj:epsg": 32632, "proj:transform": transform, "proj:shape": [4, 6]}
    return Group({"v": _field("y", "x", **attributes)})


def _time_above() -> Group:
    days = {"units": "days since 2000-01-15", "calendar": "standard", "axis": "T"}
    time = Array([0, 10, 31, 60], ("time",), days)
    ocean = Group({"v": Array(_field("time", "x").values, ("/time", "x")), "x": _field("x")})
    return Group({"time": time, "ocean": ocean}, declaring("CF"))


def _vertical() -> Group:
    terms = {
        "s": {"external": {"node": "sigma"}},
        "depth": {"external": {"node": "/grid/h"}},
        "eta": {"external": {"node": "/grid/zeta"}},
    }
    parametric = {"formula": "ocean_sigma_coordinate", "terms": terms}
    level = {"values": {"external": {"node": "sigma"}}, "parametric": parametric}
    axes = {"s": {"abbreviation": "Z", "direction": "up", "coordinates": [level]}}
    grid = {"h": _field("y", "x", units="m"), "zeta": _field("y", "x", units="m")}
    members = {"v": _field("s", "y", "x", **_cs(axes)), "sigma": Array([-0.8, -0.5, -0.1], ("s",))}
    return Group({"data": Group(members), "grid": Group(grid)})


@dataclass(frozen=True)
class Kind:
    """A kind of store.

    Attributes
    ----------
    make : callable
        Returns the whole store.
    group : str
        The group that is opened.
    assumed : str or None
        What is assumed of it.
    """

    make: Callable[[], Group]
    group: str = ""
    assumed: str | None = None

    def open(self, zarr_format: ZarrFormat = 3, **options: Any) -> xr.Dataset:
        store: Any = memory_store(build(self.make(), zarr_format))
        options |= {"group": self.group, "assume_conventions": self.assumed}
        dataset: xr.Dataset = opened(xr.open_dataset, store, **options)
        return dataset


_NORTH_UP = {"spatial:transform": [10, 0, 600000, 0, -10, 5100000]}
_ROTATED = {"spatial:transform": [8.0, -6.0, 600000, -6.0, -8.0, 5100000]}

KINDS: Mapping[str, Kind] = {
    "cs, inline": Kind(_inline),
    "cs, by reference": Kind(_by_reference, "data"),
    "cs, with bounds": Kind(_with_bounds),
    "spatial": Kind(lambda: _spatial(**_NORTH_UP)),
    "spatial, rotated": Kind(lambda: _spatial(**_ROTATED)),
    "level of a pyramid": Kind(_pyramid, "1"),
    "geolocation": Kind(_geolocation, "data"),
    "CF, across groups": Kind(_across_groups, "data"),
    "STAC, assumed": Kind(_assumed, assumed="proj"),
    "time in a parent group": Kind(_time_above, "ocean"),
    "parametric vertical": Kind(_vertical, "data"),
}

# Operations.

Operation = Callable[[xr.Dataset], xr.Dataset]


class InapplicableError(Exception):
    """An operation is not for such a Dataset."""


def last(dataset: xr.Dataset) -> str:
    """Return the last dimension of the data."""
    return str(dataset["v"].dims[-1])


def first(dataset: xr.Dataset) -> str:
    """Return the first dimension of the data."""
    return str(dataset["v"].dims[0])


def indexed(dataset: xr.Dataset) -> str:
    """Return the last dimension that has a coordinate of its own."""
    dims = [str(it) for it in dataset["v"].dims if it in dataset.xindexes]
    if not dims:
        raise InapplicableError
    return dims[-1]


def _timely(dataset: xr.Dataset) -> xr.Dataset:
    if "time" not in dataset.xindexes:
        raise InapplicableError
    return dataset


def _on_map(dataset: xr.Dataset) -> xr.Dataset:
    """Return what rioxarray works with: arrays with a CRS along x and y."""
    if not HAS_RIOXARRAY or not {"x", "y"} <= set(dataset.xindexes) or dataset.rio.crs is None:
        raise InapplicableError
    return dataset


def _halfway(dataset: xr.Dataset) -> xr.Dataset:
    dim = indexed(dataset)
    middle = dataset[dim].values
    points = middle[:-1] + (middle[1:] - middle[:-1]) / 2
    return dataset.interp({dim: points})


def _strided(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.isel({dim: slice(None, None, 2) for dim in dataset["v"].dims})


def _swapped(dataset: xr.Dataset) -> xr.Dataset:
    dim = last(dataset)
    numbered = dataset.assign_coords(k=(dim, np.arange(dataset.sizes[dim]) * 3))
    return numbered.swap_dims({dim: "k"})


def _reset(dataset: xr.Dataset) -> xr.Dataset:
    names = [it for it in dataset.coords if it not in dataset.xindexes]
    return dataset.reset_coords(names)


def _joined(dataset: xr.Dataset) -> xr.Dataset:
    dim = first(dataset)
    parts = [dataset.isel({dim: slice(0, 2)}), dataset.isel({dim: slice(3, None)})]
    return xr.concat(parts, dim, data_vars="minimal", coords="minimal", compat="override")


def _clipped(dataset: xr.Dataset) -> xr.Dataset:
    x, y = _on_map(dataset)["x"].values, dataset["y"].values
    box = float(x[1]), float(min(y[1:3])), float(x[4]), float(max(y[1:3]))
    clipped: xr.Dataset = dataset.rio.clip_box(*box)
    return clipped


def _reprojected(dataset: xr.Dataset) -> xr.Dataset:
    if "xc" not in dataset.coords:
        _on_map(dataset)
    reprojected: xr.Dataset = dataset.rio.reproject("EPSG:3035")
    return reprojected


def _as_array(dataset: xr.Dataset) -> xr.Dataset:
    return dataset[["v"]].to_array("which").to_dataset("which")


OPERATIONS: Mapping[str, Operation] = {
    "nothing": lambda it: it,
    "isel": lambda it: it.isel({dim: slice(1, None) for dim in it["v"].dims}),
    "strides": _strided,
    "reversed": lambda it: it.isel({dim: slice(None, None, -1) for dim in it["v"].dims}),
    "isel of one": lambda it: it.isel({first(it): 1}),
    "isel of one, dropped": lambda it: it.isel({first(it): 1}, drop=True),
    "isel of one of x": lambda it: it.isel({last(it): 1}),
    "isel of a list": lambda it: it.isel({last(it): [0, 2, 1]}),
    "sel": lambda it: it.sel({indexed(it): it[indexed(it)].values[1:4]}),
    "sortby": lambda it: it.sortby(indexed(it)).sortby(indexed(it), ascending=False),
    "sortby, ascending": lambda it: it.sortby([dim for dim in it["v"].dims if dim in it.xindexes]),
    "coarsen": lambda it: it.coarsen({last(it): 2}, boundary="trim").mean(),
    "coarsen both": lambda it: it.coarsen(dict.fromkeys(it["v"].dims[-2:], 2), "trim").mean(),
    "interp": _halfway,
    "transpose": lambda it: it.transpose(*reversed(it["v"].dims), ...),
    "rename": lambda it: it.rename({dim: f"{dim}_here" for dim in it["v"].dims}),
    "rename data": lambda it: it.rename(v="renamed"),
    "swap_dims": _swapped,
    "drop_vars": lambda it: it.drop_vars(indexed(it)),
    "assign_coords": lambda it: it.assign_coords({last(it): np.arange(it.sizes[last(it)]) + 0.5}),
    "reset_coords": _reset,
    "merge": lambda it: xr.merge([it, xr.Dataset({"more": ("elsewhere", [1.0, 2.0])})]),
    "concat": _joined,
    "where": lambda it: it.where(it["v"] > 3),
    "astype": lambda it: it.astype("f4"),
    "chunk": lambda it: it.chunk({last(it): 3}).drop_encoding(),
    "reindex": lambda it: it.reindex({indexed(it): it[indexed(it)].values[[2, 0]]}),
    "expand_dims": lambda it: it.expand_dims(member=[1, 2]),
    "squeeze": lambda it: it.isel({first(it): [2]}).squeeze(),
    "rolling": lambda it: it.rolling({last(it): 3}, center=True).mean(),
    "resample": lambda it: _timely(it).resample(time="30D").mean(),
    "groupby": lambda it: _timely(it).groupby("time.month").mean(),
    "to_array": _as_array,
    "broadcast": lambda it: xr.broadcast(it)[0],
    "pad": lambda it: it.pad({last(it): 1}, mode="edge"),
    "shift": lambda it: it.shift({last(it): 1}),
    "roll": lambda it: it.roll({last(it): 2}, roll_coords=True),
    "diff": lambda it: it.diff(last(it)),
    "cumsum": lambda it: it.cumsum(last(it)),
    "quantile": lambda it: it.quantile([0.1, 0.9], dim=last(it)),
    "weighted mean": lambda it: it.weighted(it["v"].isel({last(it): 0}, drop=True)).mean(first(it)),
    "mean": lambda it: it.mean(first(it)),
    "clip_box": _clipped,
    "reproject": _reprojected,
}
