"""Stores for the measurements.

A store has N groups of five fields over time, y and x, in Zarr v3, raw little-endian chunks.
"""

import json
import runpy
from collections import UserDict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import zarr
from zarr.storage import MemoryStore

from zarr_xgroup._compat import default_buffer_prototype
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    Json,
    Nodes,
    build,
    consolidate,
    declaring,
)

Values: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Kind: TypeAlias = Literal["refs", "absolute", "relative", "inline", "worst", "plain"]

SIZES = {"time": 8, "y": 16, "x": 20}
#: First value and step of the regular coordinates.
REGULAR = {"y": (5.0e6, -10.0), "x": (6.0e5, 10.0)}
FIELDS = ("temperature", "salinity", "oxygen", "nitrate", "chlorophyll")
#: The coordinates in each group of the kind "inline".
OWN_COORDINATES = ("time", "y", "x", "longitude", "latitude")
#: The path of a small group.
SMALL = "small"
TIME_UNITS = "days since 2020-01-01"
TIME = {"unit": "days", "epoch": "2020-01-01", "calendar": "standard"}
#: The kinds whose arrays refer to the same times, y and x, each with the path of the shared group.
SHARING: dict[Kind, str] = {"absolute": "/shared", "relative": "../../shared"}
#: The kinds whose arrays declare a convention.
DECLARES: frozenset[Kind] = frozenset({"refs", *SHARING, "worst"})

#: The group with the array to read: 8 MB in 8 chunks.
LARGE = "product/large"
LARGE_SHAPE = (8, 512, 512)

#: Members that zarr adds to the documents of arrays, and `builders` does not.
AS_ZARR = {"fill_value": 0.0, "storage_transformers": []}

#: Documents of real products, and the script that makes stores from them; not in the repository.
SHARED = Path(__file__).resolve().parents[3] / "shared"


def group_path(number: int) -> str:
    """Return the path of a group."""
    return f"product/group_{number:04}"


def nodes(kind: Kind, n_groups: int) -> Iterator[tuple[str, Array | Group]]:
    """Yield all nodes by path, groups before their members.

    Kinds:

    - "refs": every array declares `cs` with regular y and x, and refers to shared times, longitudes and latitudes
    - "absolute", "relative": every array refers to shared times, y and x by such paths
    - "inline": every group has its own coordinate arrays, as producers write today
    - "worst": like "refs", but with a different `cs` on every array
    - "plain": fields without coordinates
    """
    yield "", Group()
    yield "product", Group()
    if kind in DECLARES:
        yield "shared", Group()
        for name in ("time", "y", "x") if kind in SHARING else ("time", "longitude", "latitude"):
            yield f"shared/{name}", _coordinate(name, kind)
    for number in range(n_groups):
        group = group_path(number)
        yield group, Group()
        if kind == "inline":
            for name in OWN_COORDINATES:
                yield f"{group}/{name}", _coordinate(name, kind)
        for position, name in enumerate(FIELDS):
            yield f"{group}/{name}", _field(kind, name, number * len(FIELDS) + position)


def contents(kind: Kind, n_groups: int) -> Contents:
    """Return a whole store, consolidated."""
    return consolidate(build(dict(nodes(kind, n_groups))))


def small_contents(kind: Kind, n_arrays: int) -> Contents:
    """Return a store with one group of n fields and their coordinates, in the group or referenced."""
    members = {
        f"{SMALL}/field_{number}": _field(kind, "temperature", 0) for number in range(n_arrays)
    }
    if kind == "inline":
        members |= {f"{SMALL}/{name}": _coordinate(name, kind) for name in OWN_COORDINATES}
    shared = {path: node for path, node in nodes(kind, 0) if path.startswith("shared")}
    return consolidate(build({"": Group(), SMALL: Group(), **members, **shared}))


def large_contents() -> Contents:
    """Return a store whose only field has 8 MB and declares `cs` as in the kind "worst"."""
    dimensions = ("time", "y", "x")
    field = _array("temperature", dimensions, LARGE_SHAPE, _declarations(dimensions, 1))
    described: Nodes = {
        "": Group(),
        "product": Group(),
        LARGE: Group(),
        f"{LARGE}/temperature": replace(field, chunks=(1, *LARGE_SHAPE[1:])),
        "shared": Group(),
        "shared/time": _coordinate("time", "worst"),
    }
    return consolidate(build(described))


def product(name: str, folder: Path) -> str:
    """Write the store of a real product without chunks to a folder, and return its path.

    Raises
    ------
    FileNotFoundError
        If `SHARED` does not exist.
    """
    store = folder / f"{name}.zarr"
    if not store.exists():
        document = json.loads((SHARED / "samples" / "products" / f"{name}.json").read_text())
        rebuild = runpy.run_path(str(SHARED / "tools" / "rebuild_store.py"))
        rebuild["write_node"](document, store, document["zarr_format"])
        zarr.consolidate_metadata(str(store))
    return str(store)


def memory_store(found: Contents) -> MemoryStore:
    """Return a store in memory, so that the disk does not affect the measurement."""
    return MemoryStore(_Buffers(found))


class _Buffers(UserDict[str, Any]):
    """Makes a buffer for each read. Kept buffers would slow down the garbage collector."""

    def __getitem__(self, key: str) -> Any:
        return default_buffer_prototype().buffer.from_bytes(self.data[key])


def _coordinate(name: str, kind: Kind) -> Array:
    if name in ("longitude", "latitude"):
        attributes = {"standard_name": name, "units": f"degrees_{'en'[name == 'latitude']}"}
        return _array(name, ("y", "x"), (SIZES["y"], SIZES["x"]), attributes)
    attributes = {"units": "m"}
    if name == "time":
        attributes = {"units": TIME_UNITS, "calendar": "standard"} if kind == "inline" else {}
    return _array(name, (name,), (SIZES[name],), attributes)


def _field(kind: Kind, name: str, number: int) -> Array:
    attributes: Json = {"units": "1", "long_name": "a field of the ocean"}
    dimensions = tuple(SIZES)
    if kind in SHARING:
        attributes |= declaring("cs", cs={"crs": [{"axes": _shared_axes(SHARING[kind])}]})
    elif kind in DECLARES:
        offset = number if kind == "worst" else 0
        dimensions = ("time", f"y{number % 5}", f"x{number % 5}") if offset else dimensions
        attributes |= _declarations(dimensions, offset)
    if kind == "inline":
        attributes["coordinates"] = "longitude latitude"
    return _array(name, dimensions, tuple(SIZES.values()), attributes)


def _array(
    name: str, dimensions: tuple[str, ...], shape: tuple[int, ...], attributes: Json
) -> Array:
    return Array(_values(name, shape), dimensions, attributes, v3=AS_ZARR)


def _declarations(dimensions: tuple[str, ...], offset: int) -> Json:
    time, y, x = dimensions
    (y_start, y_step), (x_start, x_step) = REGULAR["y"], REGULAR["x"]
    axes = {
        time: _axis("T", {"time": TIME, "values": {"external": {"node": "/shared/time"}}}),
        y: _axis("Y", {"unit": "m", "values": {"regular": [y_start - offset, y_step]}}),
        x: _axis("X", {"unit": "m", "values": {"regular": [x_start + offset, x_step]}}),
    }
    geodetic = {"x": {"node": "/shared/longitude"}, "y": {"node": "/shared/latitude"}}
    system = {"axes": axes, "id": {"proj:code": "EPSG:32632"}}
    if not offset:  # the longitudes of a group cannot be along the axes of several fields
        system["geolocation"] = {"geodetic": geodetic}
    return declaring("cs", cs={"crs": [system]})


def _shared_axes(group: str) -> Json:
    declared: dict[str, Json] = {"time": {"time": TIME}, "y": {"unit": "m"}, "x": {"unit": "m"}}
    return {
        name: _axis(axis, {**declared[name], "values": {"external": {"node": f"{group}/{name}"}}})
        for name, axis in (("time", "T"), ("y", "Y"), ("x", "X"))
    }


def _axis(abbreviation: str, coordinates: Json) -> Json:
    return {"abbreviation": abbreviation, "coordinates": [coordinates]}


@cache
def _values(name: str, shape: tuple[int, ...]) -> Values:
    dtype = "float32" if name in FIELDS else "float64"
    start, step = REGULAR.get(name, (0.0, 1.0))
    values: Values = (start + step * np.arange(np.prod(shape))).astype(dtype).reshape(shape)
    return values
