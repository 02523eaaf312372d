"""What the draft of the GeoZarr standard says of grids, where it is assumed to be meant.

The draft has no declaration of its own. It leaves georeferencing to GDAL's ``GeoTransform``, on the
grid mapping variable or on the array, and grid mapping variables may be in groups above. The levels
of a pyramid may follow a tile matrix set.

Source: GeoZarr draft, 8.1.6, 8.1.8, 8.2; GDAL, "Raster data model",
"Affine GeoTransform", and "Zarr driver", "SRS encoding".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from affine import Affine

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.cf_paths import links_of
from zarr_xgroup.conventions.dialects.stac import placed, rows_and_columns
from zarr_xgroup.conventions.dialects.tiles import TileLevel, crs_of_tiles, integer, tile_level_of
from zarr_xgroup.conventions.grids import coordinates_along, has_coordinate
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.proj import GEOZARR, crs_of, grid_mapping_named
from zarr_xgroup.conventions.spatial_model import CENTRES, usable
from zarr_xgroup.conventions.transforms import Transform, transform_of_gdal
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment

#: Names of dimensions along Y and X, wherever they stand (draft, 8.2.1).
_PAIRS = (("y", "x"), ("lat", "lon"), ("latitude", "longitude"))


class GeoZarrHandler(ConventionHandler):
    """Says what follows from GDAL's attributes, and where the grid mapping variable is."""

    tier = "service"
    name = GEOZARR
    is_declarable = False
    implies = ("proj",)

    @classmethod
    def seems_meant(cls, attributes: Mapping[str, Any], siblings: Collection[str]) -> bool:
        """Tell whether attributes are those that GDAL writes, or name a tile matrix set."""
        multiscales = attributes.get("multiscales")
        return (
            "GeoTransform" in attributes
            or isinstance(attributes.get("_CRS"), Mapping)
            or (isinstance(multiscales, Mapping) and "tile_matrix_set" in multiscales)
        )

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield what GDAL and the draft write as objects; of ``GeoTransform`` other readers know."""
        return (key for key in ("_CRS", "multiscales") if key in attributes)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the grid mapping variable, the CRS, and what follows from a transform."""
        links = links_of(array, by_name=True, keys=("grid_mapping",))
        found = self._placed(array) or array.found(crs=array.derived(crs_of))
        return replace(found, links=links)

    def _placed(self, array: ArrayView) -> Interpretation | None:
        """Return what follows from the transform of the array's grid, if it has one."""
        dims = _dims(array)
        if dims is None:
            return None
        lost = partial(coordinates_along, list(dims))
        written = array.quietly(_geotransform, array)
        if written is not None:
            if _is_of_several(array, dims, written):
                return None
            transform = array.attempt(transform_of_gdal, written, lost=lost)
        elif (level := array.derived(tile_level_of)) and not any(
            has_coordinate(array, name) for name in dims
        ):
            written = level.matrix
            transform = array.attempt(_transform_of_tiles, array, dims, level, lost=lost)
        else:
            return None
        return None if transform is None else placed(array, dims, transform, str(written))


def _dims(array: ArrayView) -> tuple[str, str] | None:
    """Return the array's dimensions along Y and X, by their names or else the last two."""
    known = {name.lower(): name for name in array.dims}
    known |= {name.lower(): here for name, here in array.names.items()}
    for y, x in _PAIRS:
        if y in known and x in known:
            return known[y], known[x]
    return rows_and_columns(array)


def _geotransform(array: ArrayView) -> Fragment | None:
    """Return the nearest ``GeoTransform``: of the array, else of its grid mapping variable.

    The levels of a pyramid may share a variable of another group, but no transform.
    """
    own = array.attribute("GeoTransform")
    variable = None if own is not None else grid_mapping_named(array)
    if variable is None or (variable.group != array.node.group and _is_in_pyramid(array)):
        return own
    return array.attribute_of(variable, "GeoTransform")


def _is_in_pyramid(array: ArrayView) -> bool:
    return next(array.above("multiscales"), None) is not None


def _is_of_several(array: ArrayView, dims: tuple[str, str], written: Fragment) -> bool:
    """Tell whether grids of several sizes in the group share a transform; then that is told."""
    if written.node == array.node:
        return False
    named = array.attributes.get("grid_mapping")
    if all(grid >= set(dims) for grid in _grids(array).get(str(named), ())):
        return False
    message = _(
        "{place} is the transform of one grid, but arrays of several sizes refer to it; it was not "
        "used"
    )
    array.note(message.format(place=written), written)
    return True


def _grids(array: ArrayView) -> Mapping[str, set[frozenset[str]]]:
    """Return the dimensions of the grids of a group, by their ``grid_mapping``."""
    group, siblings = array.node.group, array.siblings
    known = array.models.of_groups
    if (_grids, group) not in known:
        found: defaultdict[str, set[frozenset[str]]] = defaultdict(set)
        for name, sizes in siblings.items():
            named = array.attribute_of(group.child(name), "grid_mapping")
            if named is not None and len(sizes) > 1:
                found[str(named.value)].add(frozenset(sizes))
        known[_grids, group] = found
    grids: Mapping[str, set[frozenset[str]]] = known[_grids, group]
    return grids


def _transform_of_tiles(array: ArrayView, dims: tuple[str, str], level: TileLevel) -> Transform:
    """Return the transform of a level of tiles, or raise XGroupMetadataError."""
    matrix = level.matrix
    corner = matrix.get("cornerOfOrigin")
    if (corner is not None and corner.value != "topLeft") or matrix.get("variableMatrixWidths"):
        raise matrix.error(_("has a cornerOfOrigin other than topLeft, or variableMatrixWidths"))
    cell = matrix.required("cellSize")
    (size,) = finite_numbers(Fragment(cell.node, cell.keys, [cell.value]), 1)
    if size <= 0:
        raise cell.error(_("must be a positive number"))
    x, y = finite_numbers(matrix.required("pointOfOrigin"), 2)
    if level.is_north_first(crs_of_tiles(array)):
        x, y = y, x
    row, column = _first_cell(level, array.sizes[dims[0]], array.sizes[dims[1]])
    affine = Affine(size, 0.0, x + column * size, 0.0, -size, y - row * size)
    # A tile begins at the outer corner of its first cell.
    return Transform(usable(affine, cell), CENTRES["pixel"])


def _first_cell(level: TileLevel, rows: int, columns: int) -> tuple[int, int]:
    """Return which row and column of a tile matrix an array begins with.

    It has all tiles, or just those of the limits; of the last ones maybe only a part.
    """
    height = integer(level.matrix.required("tileHeight"), 1)
    width = integer(level.matrix.required("tileWidth"), 1)
    tiles = -(-rows // height), -(-columns // width)
    whole = tuple(integer(level.matrix.required(f"matrix{key}"), 1) for key in ("Height", "Width"))
    if tiles == whole:
        return 0, 0
    if level.limits is not None:
        limits = level.limits
        top, left = (integer(limits.required(f"min_tile_{key}"), 0) for key in ("row", "col"))
        bottom, right = (integer(limits.required(f"max_tile_{key}"), 0) for key in ("row", "col"))
        if tiles == (bottom - top + 1, right - left + 1):
            return top * height, left * width
    message = _(
        "has {whole} tiles of {tile} cells, but an array of {cells} cells has {tiles}: it is not "
        "its grid"
    )
    raise level.matrix.error(
        message.format(
            whole=list(whole), tile=[height, width], cells=[rows, columns], tiles=list(tiles)
        )
    )
