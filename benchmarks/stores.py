"""Stores to measure on: documents and chunks are written as bytes, which is quick for thousands.

A store has N groups of five fields over time, y and x, in Zarr v3, raw little-endian chunks.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

Kind: TypeAlias = Literal["refs", "inline", "worst", "plain"]

SIZES = {"time": 8, "y": 16, "x": 20}
FIELDS = ("temperature", "salinity", "oxygen", "nitrate", "chlorophyll")
TIME_UNITS = "days since 2020-01-01"
#: Engine xgroup has to open these by following what every array declares.
DECLARES: frozenset[Kind] = frozenset({"refs", "worst"})

_CONVENTIONS = [{"name": "cs", "uuid": "e4dbf0b7-7a00-4ce6-b23e-484292014ab4"}]


def group_path(number: int) -> str:
    """Return the path of a group."""
    return f"product/group_{number:04}"


def documents(kind: Kind, n_groups: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the documents of all nodes but the root, by path.

    Kinds: "refs" declares `cs` on every array, regular y and x, and shares an external time and
    two-dimensional longitudes and latitudes; "inline" has arrays for all of these in each group,
    as producers write today; "worst" is "refs" with another `cs` on every array; "plain" has
    fields without coordinates.
    """
    yield "product", _group()
    if kind in DECLARES:
        yield "shared", _group()
        for name in ("time", "longitude", "latitude"):
            yield f"shared/{name}", _coordinate(name, kind)
    for number in range(n_groups):
        group = group_path(number)
        yield group, _group()
        if kind == "inline":
            for name in ("time", "y", "x", "longitude", "latitude"):
                yield f"{group}/{name}", _coordinate(name, kind)
        for position, name in enumerate(FIELDS):
            yield f"{group}/{name}", _field(kind, number * len(FIELDS) + position)


def contents(kind: Kind, n_groups: int, *, consolidated: bool = True) -> dict[str, bytes]:
    """Return a whole store: bytes by key."""
    nodes = dict(documents(kind, n_groups))
    found = {f"{path}/zarr.json": json.dumps(node).encode() for path, node in nodes.items()}
    for path, node in nodes.items():
        name = path.rpartition("/")[2]
        if node["node_type"] == "array":
            chunk = "/".join(["c", *("0" for _size in node["shape"])])
            found[f"{path}/{chunk}"] = _values(name, tuple(node["shape"])).tobytes()
    root = _group()
    if consolidated:
        root["consolidated_metadata"] = {
            "kind": "inline",
            "must_understand": False,
            "metadata": nodes,
        }
    found["zarr.json"] = json.dumps(root).encode()
    return found


def memory_store(kind: Kind, n_groups: int, *, consolidated: bool = True) -> MemoryStore:
    """Return a whole store in memory, so that no disk is measured."""
    buffer = default_buffer_prototype().buffer
    found = contents(kind, n_groups, consolidated=consolidated)
    return MemoryStore({key: buffer.from_bytes(value) for key, value in found.items()})


def _group() -> dict[str, Any]:
    return {"zarr_format": 3, "node_type": "group", "attributes": {}}


def _array(
    dimensions: tuple[str, ...], shape: tuple[int, ...], dtype: str, attributes: dict[str, Any]
) -> dict[str, Any]:
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shape)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": list(dimensions),
        "attributes": attributes,
        "storage_transformers": [],
    }


def _coordinate(name: str, kind: Kind) -> dict[str, Any]:
    if name in ("longitude", "latitude"):
        attributes = {"standard_name": name, "units": f"degrees_{'en'[name == 'latitude']}"}
        return _array(("y", "x"), (SIZES["y"], SIZES["x"]), "float64", attributes)
    if name == "time":
        attributes = {"units": TIME_UNITS, "calendar": "standard"} if kind == "inline" else {}
        return _array((name,), (SIZES[name],), "float64", attributes)
    return _array((name,), (SIZES[name],), "float64", {"units": "m"})


def _field(kind: Kind, number: int) -> dict[str, Any]:
    attributes: dict[str, Any] = {"units": "1", "long_name": "a field of the ocean"}
    dimensions = tuple(SIZES)
    if kind in DECLARES:
        offset = number if kind == "worst" else 0
        dimensions = ("time", f"y{number % 5}", f"x{number % 5}") if offset else dimensions
        attributes |= _declarations(dimensions, offset)
    return _array(dimensions, tuple(SIZES.values()), "float32", attributes)


def _declarations(dimensions: tuple[str, ...], offset: int) -> dict[str, Any]:
    time, y, x = dimensions
    axes = {
        time: _axis(
            "T",
            {
                "time": {"unit": "days", "epoch": "2020-01-01", "calendar": "standard"},
                "values": {"external": {"node": "/shared/time"}},
            },
        ),
        y: _axis("Y", {"unit": "m", "values": {"regular": [5.0e6 - offset, -10.0]}}),
        x: _axis("X", {"unit": "m", "values": {"regular": [6.0e5 + offset, 10.0]}}),
    }
    geodetic = {"x": {"node": "/shared/longitude"}, "y": {"node": "/shared/latitude"}}
    system = {"axes": axes, "id": {"proj:code": "EPSG:32632"}}
    if not offset:  # one longitude in a group: it cannot lie along the axes of several fields
        system["geolocation"] = {"geodetic": geodetic}
    return {"zarr_conventions": _CONVENTIONS, "cs": {"crs": [system]}}


def _axis(abbreviation: str, coordinates: dict[str, Any]) -> dict[str, Any]:
    return {"abbreviation": abbreviation, "coordinates": [coordinates]}


def _values(name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    dtype = "float32" if name in FIELDS else "float64"
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)
