"""Grids of the draft of the GeoZarr standard, if `geozarr` is assumed.

The draft defines no declaration. Grids have GDAL's ``GeoTransform``, on the array or on its grid mapping variable,
which may be in a group above. The levels of a pyramid may follow a tile matrix set.

Source: GeoZarr draft, 8.1.6, 8.1.8, 8.2; GDAL, "Raster data model",
"Affine GeoTransform", and "Zarr driver", "SRS encoding".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from zarr_xgroup.conventions.affine import (
    coordinates_along,
    interpret_grid,
    transform_of_gdal,
)
from zarr_xgroup.conventions.array import ArrayView, attributes_above, has_coordinate
from zarr_xgroup.conventions.axes import rows_and_columns
from zarr_xgroup.conventions.base import ConventionHandler, Marks
from zarr_xgroup.conventions.cf import array_named, links_of
from zarr_xgroup.conventions.crs import Crs, crs_of_grid_mapping
from zarr_xgroup.conventions.dialects.tiles import crs_of_tiles, tile_level_of, transform_of_tiles
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.multiscales import TILES
from zarr_xgroup.conventions.proj import crs_at, crs_of
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import names_in
from zarr_xgroup.metadata.nodes import Fragment, Node

#: The members of ``_CRS``, in the order in which GDAL reads them.
_CRS_KEYS = ("url", "wkt", "projjson")


class GeoZarrHandler(ConventionHandler):
    """Attaches coordinates, CRS and grid mapping variable by GDAL's attributes or a tile matrix set."""

    tier = "service"
    name = "geozarr"
    identifiers = None
    reads = ("grid_mapping", "GeoTransform", "_CRS")

    @classmethod
    def marks(cls, array: ArrayView) -> Marks | None:
        """Return the dimensions of a grid with a ``GeoTransform`` or tiles, and whether it has a CRS.

        ``_CRS``, tiles, or a grid mapping variable in the array's own group define a CRS. A ``_CRS`` that is not an
        object defines none, but is reported.
        """
        parent = array.node.group.group
        is_in_group = array.node.group.path and len(array.dims) > 1
        layout = array.attribute(LAYOUT.key, parent) if is_in_group else None
        is_tiled = layout is not None and layout.get(TILES) is not None
        written = array.attributes.get("_CRS")
        variable = array.try_without_findings(_grid_mapping_variable, array)
        has_crs = is_tiled or isinstance(written, Mapping)
        has_crs |= variable is not None and variable.group == array.node.group
        is_placed = is_tiled or array.try_without_findings(_geotransform_of, array) is not None
        if not (has_crs or is_placed) and written is None:
            return None
        return Marks((is_placed and rows_and_columns(array)) or (), has_crs)

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield ``_CRS`` and ``multiscales``; ``GeoTransform`` is kept, because other programs read it."""
        return (key for key in ("_CRS", LAYOUT.key) if key in attributes)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return a link to the grid mapping variable, the CRS, and the coordinates of the grid.

        Coordinates are computed from ``GeoTransform``, or from tiles if the group has no coordinate variables.
        Without a transform, an array with ``_CRS`` gets the group's coordinate variables: GDAL writes the 1-D arrays
        ``X`` and ``Y`` without attributes.
        """
        links = links_of(array, by_name=True, keys=("grid_mapping",))
        dims, transform = rows_and_columns(array), None
        if dims is not None:
            missing = [dim for dim in dims if not has_coordinate(array, dim)]
            # If the group has all coordinate variables, none is missing: the cost is "".
            cost = partial(coordinates_along, missing) if missing else str
            written = array.try_without_findings(_geotransform_of, array)
            if written is None:
                level = tile_level_of(array)
                if level is not None and len(missing) == len(dims):
                    transform = array.try_reporting(
                        transform_of_tiles, array, dims, level, cost=cost
                    )
            elif not _is_shared_by_several_grids(array, dims, written):
                transform = array.try_reporting(transform_of_gdal, written, cost=cost)
        if dims is None or (transform is None and array.attribute("_CRS") is None):
            return array.interpretation(crs=crs_of(array), links=links)
        return replace(interpret_grid(array, dims, transform), links=links)

    @classmethod
    def crs(cls, array: ArrayView) -> Crs | None:
        """Return the CRS of the grid mapping variable, of ``_CRS``, or of tiles, whichever is first; else None."""
        node = array.try_without_findings(_grid_mapping_variable, array)
        mapping = None if node is None else array.attributes_of(node)
        crs = None if mapping is None else crs_of_grid_mapping(mapping.value)
        written = array.attribute("_CRS") if crs is None else None
        if written is not None and array.try_reporting(written.as_object) is not None:
            crs = crs_at(array, written, _CRS_KEYS)
        return crs or crs_of_tiles(array)


#: The convention to assume so that the child groups of a tile matrix set are levels.
TO_BE_ASSUMED = GeoZarrHandler.name


# Attributes of GDAL: ``GeoTransform`` on the array or its grid mapping variable.


def _grid_mapping_variable(array: ArrayView) -> Node | None:
    """Return the first variable that ``grid_mapping`` names (CF 1.12, 2.7 and 5.6), None if it does not exist."""
    names = names_in(array.attributes, "grid_mapping")
    if not names:
        return None
    place = Fragment(array.node, ("attributes", "grid_mapping"), names[0].rstrip(":"))
    return array_named(array, place)


def _geotransform_of(array: ArrayView) -> Fragment | None:
    """Return the ``GeoTransform`` of the array, otherwise that of its grid mapping variable, or None.

    Below a ``multiscales`` layout, the transform of a variable in a different group is not used: all levels may share
    that variable, but their transforms differ.
    """
    own = array.attribute("GeoTransform")
    variable = None if own is not None else _grid_mapping_variable(array)
    if variable is None or (
        variable.group != array.node.group and any(attributes_above(array, LAYOUT.key))
    ):
        return own
    return array.attribute("GeoTransform", variable)


def _is_shared_by_several_grids(array: ArrayView, dims: tuple[str, str], written: Fragment) -> bool:
    """Return whether arrays of the group on other dimensions share the grid mapping variable, and report it.

    The transform `written` on the variable can only be that of one grid.
    """
    if written.node == array.node:
        return False
    named = array.attributes.get("grid_mapping")
    grids = array.tree.memo(array.node.group, _grids_by_grid_mapping, array)
    sizes = {(dim, array.sizes[dim]) for dim in dims}
    if all(grid >= sizes for grid in grids.get(str(named), ())):
        return False
    text = _(
        "is the transform of one grid, but arrays with different dimensions refer to it; it is not used"
    )
    array.report(Topic.CHOICE, written, text, severity="error")
    return True


def _grids_by_grid_mapping(array: ArrayView) -> Mapping[str, set[frozenset[tuple[str, int]]]]:
    """Return the sets of dimensions, with sizes, of the arrays in an array's group, by their ``grid_mapping``."""
    grids: defaultdict[str, set[frozenset[tuple[str, int]]]] = defaultdict(set)
    for name, sizes in array.siblings.items():
        named = array.attribute("grid_mapping", array.node.group.child(name))
        if named is not None and len(sizes) > 1:
            grids[str(named.value)].add(frozenset(sizes.items()))
    return grids
