"""Tile matrix sets: the grids of a pyramid's levels in the draft of the GeoZarr standard.

The attribute ``multiscales`` of a group names or contains a tile matrix set, and child groups have the names of its
tile matrices. `morecantile` defines the sets that have an identifier. It is imported only if a store names one.

Source: GeoZarr draft, 8.2; OGC 17-083r4 (Two Dimensional Tile Matrix Set 2.0), 6.2, 7.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

import msgspec

from zarr_xgroup.conventions.affine import Transform, affine_of, require_cell_area
from zarr_xgroup.conventions.array import ArrayView, once_per_array
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.multiscales import ATTRIBUTE as MULTISCALES
from zarr_xgroup.conventions.multiscales import TILES
from zarr_xgroup.conventions.proj import crs_at
from zarr_xgroup.conventions.values import finite_numbers, integer, positive_number
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.metadata.paths import relative_path
from zarr_xgroup.metadata.references import NODE, POINTER

#: The URI that OGC gives to a tile matrix set; the last segment is the identifier.
_OGC = re.compile(r"https?://www\.opengis\.net/def/tilematrixset/[\w./-]*?(?<!\w)(\w{1,100})/?")
_IDENTIFIER = re.compile(r"\w{1,100}")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)

#: The first name of ``orderedAxes``, which defines whether points are written as (X, Y) or (Y, X).
_EAST_FIRST = frozenset({"x", "e", "east", "easting", "lon", "long", "longitude"})
_NORTH_FIRST = frozenset({"y", "n", "north", "northing", "lat", "latitude"})


class TileLevel(msgspec.Struct, frozen=True):
    """The tile matrix of an array's level.

    Attributes
    ----------
    tile_set : Fragment
        The tile matrix set.
    matrix : Fragment
        The tile matrix.
    limits : Fragment or None
        The rows and columns of tiles in the array; None if it has all tiles of the matrix.
    """

    tile_set: Fragment
    matrix: Fragment
    limits: Fragment | None


@once_per_array
def tile_level_of(array: ArrayView) -> TileLevel | None:
    """Return the tile matrix of an array's group, None if the group is not a level of a tile matrix set.

    A set or matrix that cannot be used is reported.
    """
    group = array.node.group
    multiscales = array.attribute(MULTISCALES.key, group.group) if group.path else None
    written = None if multiscales is None else multiscales.get(TILES)
    if multiscales is None or written is None or len(array.dims) < 2:
        return None
    cost = _("the coordinates and CRS of the tile matrix set")
    return array.try_reporting(_level_of_group, array, multiscales, written, cost=lambda: cost)


def crs_of_tiles(array: ArrayView) -> Crs | None:
    """Return the CRS of an array's tile matrix set, or None."""
    level = tile_level_of(array)
    if level is None:
        return None
    crs = level.tile_set.get("crs")
    if crs is not None and isinstance(crs.value, Mapping):
        return crs_at(array, crs, ("uri", "wkt"))
    return crs_at(array, level.tile_set, ("crs", "supportedCRS"))


def _level_of_group(array: ArrayView, multiscales: Fragment, written: Fragment) -> TileLevel:
    """Return the tile matrix whose ``id`` is the name of the array's group, or raise XGroupMetadataError.

    `written` is the member ``tile_matrix_set`` of ``multiscales``.
    """
    tile_set = _tile_set(array, written)
    name = array.node.group.name
    limits = multiscales.get("tile_matrix_set_limits")
    for matrix in tile_set.required("tileMatrices").items():
        if (identifier := matrix.get("id")) is not None and identifier.value == name:
            return TileLevel(tile_set, matrix, None if limits is None else limits.get(name))
    raise tile_set.error(_("has no tile matrix {name!r}").format(name=name))


def _tile_set(array: ArrayView, written: Fragment) -> Fragment:
    """Return a tile matrix set: an object, or the set that a string refers to.

    The string is an identifier, a URI of OGC, or a path in the store with a JSON pointer.

    Raises
    ------
    XGroupError
        If the string does not refer to a set, or `morecantile` is needed and not installed.
    """
    if not isinstance(written.value, str):
        return written
    text = written.value.strip()
    known = _OGC.fullmatch(text) or _IDENTIFIER.fullmatch(text)
    if known is not None:
        identifier = known[known.lastindex or 0]
        try:
            tile_set = _from_morecantile(identifier)
        except ImportError as error:
            message = _("is {name!r}, which needs a missing package: pip install {package}")
            reason = message.format(name=identifier, package="morecantile")
            raise written.error(reason) from error
        if tile_set is None:
            message = _("is {name!r}, which is not a tile matrix set of morecantile")
            raise written.error(message.format(name=identifier))
        return Fragment(written.node, written.keys, tile_set)
    path, _hash, pointer = text.partition("#")
    if not pointer or _SCHEME.match(text):
        message = _(
            "must be an identifier, or a place in the store such as '#/attributes/tiles'; "
            "other documents are not read"
        )
        raise written.error(message)
    target = path if path.startswith("/") else relative_path(written.node.path, path or ".")
    if target is None:
        raise written.error(_("points above the root of the store"))
    reference = {NODE: f"/{target.lstrip('/')}", POINTER: pointer}
    return array.resolver.fragment(Fragment(written.node, written.keys, reference))


@lru_cache(maxsize=32)
def _from_morecantile(identifier: str) -> Mapping[str, Any] | None:
    """Return the tile matrix set of an identifier as JSON, None if morecantile does not have it.

    Raises ImportError if the package is missing.
    """
    sets = import_module("morecantile").tms
    if identifier not in sets.list():
        return None
    tile_set: Mapping[str, Any] = sets.get(identifier).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    return tile_set


def transform_of_tiles(array: ArrayView, dims: tuple[str, str], level: TileLevel) -> Transform:
    """Return the transform of an array's grid from its tile matrix, or raise XGroupMetadataError."""
    matrix = level.matrix
    corner = matrix.get("cornerOfOrigin")
    if (corner is not None and corner.value != "topLeft") or matrix.get("variableMatrixWidths"):
        raise matrix.error(_("has a cornerOfOrigin other than topLeft, or variableMatrixWidths"))
    cell = matrix.required("cellSize")
    size = positive_number(cell)
    # The top left corner is (X, Y) or (Y, X): in the order of `orderedAxes`, otherwise of the axes of the CRS.
    x, y = finite_numbers(matrix.required("pointOfOrigin"), 2)
    axes, crs = level.tile_set.get("orderedAxes"), crs_of_tiles(array)
    names = axes.as_list() if axes is not None else []
    first = str(names[0]).lower() if names else ""
    if first not in (*_EAST_FIRST, *_NORTH_FIRST) and crs is None:
        text = _("needs orderedAxes or a valid crs to define which axis is first")
        raise level.tile_set.error(text)
    if first in _NORTH_FIRST or (first not in _EAST_FIRST and crs and crs.is_north_first):
        x, y = y, x
    row, column = _first_cell(level, array.sizes[dims[0]], array.sizes[dims[1]])
    affine = affine_of(size, 0.0, x + column * size, 0.0, -size, y - row * size)
    # A tile begins at the outer corner of its first cell.
    return Transform(require_cell_area(affine, cell))


def _first_cell(level: TileLevel, rows: int, columns: int) -> tuple[int, int]:
    """Return the row and column of a tile matrix, in cells, at which an array begins.

    The array has all tiles of the matrix, or those within the limits; the last tiles may be incomplete. Raises
    XGroupMetadataError if the array has a different number of tiles.
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
        "has {whole} tiles of {tile} cells, but an array of {cells} cells has {tiles}; the tile "
        "matrix is not used"
    )
    raise level.matrix.error(
        message.format(
            whole=list(whole), tile=[height, width], cells=[rows, columns], tiles=list(tiles)
        )
    )
