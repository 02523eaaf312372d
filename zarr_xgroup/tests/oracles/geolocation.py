"""The latitudes and longitudes, or planar coordinates, of an array as `geolocation` has them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zarr_xgroup.tests.oracles.ref import target
from zarr_xgroup.tests.oracles.stores import Nodes, attributes, dims_of, parent, sizes_of

#: The standard names of geodetic coordinates. Planar ones get none.
NAMES = {("geodetic", "x"): "longitude", ("geodetic", "y"): "latitude"}


@dataclass(frozen=True)
class Located:
    """One array of a geolocation: where it is, along what it lies, what it is, and its CRS."""

    path: str
    dims: tuple[str, ...]
    standard_name: str | None
    code: str | None


def located(nodes: Nodes, array: str) -> Iterator[Located]:
    """Yield the geolocation arrays of an array: of its own, else of its group if one of these fits it."""
    own = attributes(nodes, array).get("geolocation")
    written = array if own else parent(array)
    described: dict[str, Any] = own or attributes(nodes, written).get("geolocation", {})
    paths = [
        target(nodes, pair[key], array, written) for pair in described.values() for key in "xy"
    ]
    there = [path for path in paths if path is not None]
    if not own and there and not any(fits(nodes, path, array) for path in there):
        return
    for kind, pair in described.items():
        for key in "xy":
            path = target(nodes, pair[key], array, written)
            if path is not None:
                identity = pair.get("crs") or pair.get("id") or {}
                dims = along(nodes, path, array)
                yield Located(path, dims, NAMES.get((kind, key)), identity.get("proj:code"))


def fits(nodes: Nodes, path: str, array: str) -> bool:
    """Tell whether an array has the dimensions of a geolocation array, or its last ones that one's shape."""
    shape = tuple(nodes[path].values.shape)
    is_along = sizes_of(nodes, path).items() <= sizes_of(nodes, array).items()
    return is_along or tuple(nodes[array].values.shape[-len(shape) :]) == shape


def along(nodes: Nodes, path: str, array: str) -> tuple[str, ...]:
    """Return the dimensions of a geolocation array beside the array it is of: its own, if that has
    them in these sizes; the array's last two, if the shape is theirs; else its own.
    """
    sizes, own = sizes_of(nodes, array), dims_of(nodes, path)
    if sizes_of(nodes, path).items() <= sizes.items():
        return own
    last = dims_of(nodes, array)[-2:]
    return last if tuple(nodes[path].values.shape) == tuple(sizes[dim] for dim in last) else own
