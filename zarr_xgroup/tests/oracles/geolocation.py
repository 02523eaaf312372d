"""Oracle for `geolocation`: the latitudes and longitudes, or planar coordinates, of an array."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zarr_xgroup.tests.oracles.ref import target
from zarr_xgroup.tests.oracles.stores import Nodes, attributes, dims_of, parent, sizes_of

#: The standard names of geodetic coordinates. Planar coordinates have none.
NAMES = {("geodetic", "x"): "longitude", ("geodetic", "y"): "latitude"}


@dataclass(frozen=True)
class Located:
    """A geolocation array: its path, dimensions, standard name, and the code of its CRS."""

    path: str
    dims: tuple[str, ...]
    standard_name: str | None
    code: str | None


def located(nodes: Nodes, array: str) -> Iterator[Located]:
    """Yield the geolocation arrays that an array declares, or those of its group if one of them fits."""
    own = attributes(nodes, array).get("geolocation")
    written = array if own else parent(array)
    described: dict[str, Any] = own or attributes(nodes, written).get("geolocation", {})
    paths = [
        target(nodes, pair[key], array, written) for pair in described.values() for key in "xy"
    ]
    existing = [path for path in paths if path is not None]
    if not own and existing and not any(fits(nodes, path, array) for path in existing):
        return
    for kind, pair in described.items():
        for key in "xy":
            path = target(nodes, pair[key], array, written)
            if path is not None:
                identity = pair.get("crs") or pair.get("id") or {}
                dims = along(nodes, path, array)
                yield Located(path, dims, NAMES.get((kind, key)), identity.get("proj:code"))


def fits(nodes: Nodes, path: str, array: str) -> bool:
    """Return whether a geolocation array has dimensions of an array, or the shape of its last dimensions."""
    shape = tuple(nodes[path].values.shape)
    is_along = sizes_of(nodes, path).items() <= sizes_of(nodes, array).items()
    return is_along or tuple(nodes[array].values.shape[-len(shape) :]) == shape


def along(nodes: Nodes, path: str, array: str) -> tuple[str, ...]:
    """Return the dimensions of a geolocation array on an array.

    These are the array's last two dimensions if only the shape is the same, otherwise its own dimensions.
    """
    sizes, own = sizes_of(nodes, array), dims_of(nodes, path)
    if sizes_of(nodes, path).items() <= sizes.items():
        return own
    last = dims_of(nodes, array)[-2:]
    return last if tuple(nodes[path].values.shape) == tuple(sizes[dim] for dim in last) else own
