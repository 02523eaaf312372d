"""Paths to arrays of other groups in the CF attributes of an array (CF 1.12, section 2.7).

Arrays of a principal convention have them resolved, attached and replaced by the flat names of
what was attached, so that xarray finds these among its variables (specification,
ResolvedZarrStore).
"""

from __future__ import annotations

from functools import partial

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.geolocation import fitting_dims
from zarr_xgroup.conventions.model import Coordinate, Link
from zarr_xgroup.errors import XGroupReferenceError
from zarr_xgroup.findings import referred_to_by
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import candidate_paths, paths_in
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.sources import Stored


def links_of(array: ArrayView) -> tuple[Link, ...]:
    """Return the paths in an array's CF attributes that lead to arrays.

    One that leads nowhere stays as it is, and is told.
    """
    found = []
    for key, path in paths_in(array.attributes):
        lost = partial(referred_to_by, key)
        coordinate = array.attempt(_coordinate, array, key, path, lost=lost)
        if coordinate is not None:
            found.append(Link(key, path, coordinate))
    return tuple(found)


def _coordinate(array: ArrayView, key: str, path: str) -> Coordinate | None:
    place = Fragment(array.node, ("attributes", key), path)
    if not path.startswith("/"):
        array.look_around()
    nodes = [Node(array.node.store, it) for it in candidate_paths(path, array.node.group.path)]
    document = array.document_of(nodes[0]) if nodes else None
    if document is None or not document.is_array:
        tried = ", ".join(map(str, nodes)) or _("nothing: it leads above the root of the store")
        message = _("{place}: {target!r} leads to no array, tried {tried}")
        raise XGroupReferenceError(message.format(place=place, target=path, tried=tried))
    if array.is_me(nodes[0]):
        return None
    source = array.stored(Stored(nodes[0], fitting_dims(array, nodes[0])), place)
    return Coordinate(nodes[0].name, source)
