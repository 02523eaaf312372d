"""What the draft of the GeoZarr standard says of grids, where it is assumed to be meant.

The draft has no declaration of its own. It leaves georeferencing to GDAL's ``GeoTransform``, on the
grid mapping variable or on the array, and grid mapping variables may be in groups above. The levels
of a pyramid may follow a tile matrix set.

Source: GeoZarr draft, 8.1.6, 8.1.8, 8.2; GDAL, "Raster data model",
"Affine GeoTransform", and "Zarr driver", "SRS encoding".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from affine import Affine

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.cf_paths import links_of
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.dialects.gdal import (
    crs_of_gdal,
    geotransform_of,
    grid_mapping_named,
    is_of_several,
)
from zarr_xgroup.conventions.dialects.stac import placed, rows_and_columns
from zarr_xgroup.conventions.dialects.tiles import TileLevel, crs_of_tiles, integer, tile_level_of
from zarr_xgroup.conventions.grids import Grid, coordinates_along, has_coordinate
from zarr_xgroup.conventions.layout import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.layout import TILES
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.proj import crs_of
from zarr_xgroup.conventions.spatial_model import CENTRES, usable
from zarr_xgroup.conventions.standing import crs_of_grid_mapping, own_crs, reconciled
from zarr_xgroup.conventions.transforms import Transform, transform_of_gdal
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.findings import Place
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment

#: Names of dimensions along Y and X, wherever they stand (draft, 8.2.1).
_PAIRS = (("y", "x"), ("lat", "lon"), ("latitude", "longitude"))


class GeoZarrHandler(ConventionHandler):
    """Says what follows from GDAL's attributes, and where the grid mapping variable is."""

    tier = "service"
    name = "geozarr"
    is_declarable = False
    implies = ("proj",)

    @classmethod
    def seems_meant(cls, attributes: Mapping[str, Any], siblings: Collection[str]) -> bool:
        """Tell whether attributes are those that GDAL writes, or name a tile matrix set."""
        multiscales = attributes.get(LAYOUT.key)
        return (
            "GeoTransform" in attributes
            or isinstance(attributes.get("_CRS"), Mapping)
            or (isinstance(multiscales, Mapping) and TILES in multiscales)
        )

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield what GDAL and the draft write as objects; of ``GeoTransform`` other readers know."""
        return (key for key in ("_CRS", LAYOUT.key) if key in attributes)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the grid mapping variable, the CRS, and what follows from a transform."""
        links = links_of(array, by_name=True, keys=("grid_mapping",))
        reconciled(array, array.quietly(own_crs, array), crs_of_gdal(array))
        found = self._placed(array) or array.found(crs=crs_of(array))
        return replace(found, links=links)

    @classmethod
    def crs(cls, array: ArrayView) -> Crs | None:
        """Return the CRS of a grid mapping variable in a group above, else of ``_CRS``, else of tiles."""
        node = array.quietly(grid_mapping_named, array)
        above = None if node is None else array.attributes_of(node)
        found = None if above is None else crs_of_grid_mapping(above.value)
        return found or crs_of_gdal(array) or crs_of_tiles(array)

    def _placed(self, array: ArrayView) -> Interpretation | None:
        """Return what follows from the transform of the array's grid, if it has one."""
        dims = _dims(array)
        if dims is None:
            return None
        missing = Grid(array, dims).missing
        lost = partial(coordinates_along, missing) if missing else str
        written = array.quietly(geotransform_of, array)
        if written is not None:
            if is_of_several(array, dims, written):
                return None
            transform = array.attempt(transform_of_gdal, written, lost=lost)
        elif (level := tile_level_of(array)) and not any(
            has_coordinate(array, name) for name in dims
        ):
            written = level.matrix
            transform = array.attempt(_transform_of_tiles, array, dims, level, lost=lost)
        else:
            return None
        if transform is None:
            return None
        return placed(Grid(array, dims), transform, Place.of(written))


def _dims(array: ArrayView) -> tuple[str, str] | None:
    """Return the array's dimensions along Y and X, by their names or else the last two."""
    known = {name.lower(): name for name in array.dims}
    known |= {name.lower(): here for name, here in array.names.items()}
    for y, x in _PAIRS:
        if y in known and x in known:
            return known[y], known[x]
    return rows_and_columns(array)


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
