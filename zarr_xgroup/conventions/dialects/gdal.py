"""What GDAL writes of an array's grid: ``_CRS``, and ``GeoTransform`` on the array or its grid mapping variable.

Source: GDAL, "Raster data model", "Affine GeoTransform", and "Zarr driver", "SRS encoding".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from zarr_xgroup.conventions.array import ArrayView, attributes_above
from zarr_xgroup.conventions.cf_paths import array_named
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.layout import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.proj_model import crs_at
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import names_in
from zarr_xgroup.metadata.nodes import Fragment, Node

#: The members of ``_CRS``, in the order in which GDAL reads them.
_CRS_KEYS = ("url", "wkt", "projjson")


def crs_of_gdal(array: ArrayView) -> Crs | None:
    """Return the CRS of ``_CRS``."""
    written = array.attribute("_CRS")
    if written is None or array.attempt(written.as_object) is None:
        return None
    return crs_at(array, written, _CRS_KEYS)


def grid_mapping_named(array: ArrayView) -> Node | None:
    """Return the array that the attribute ``grid_mapping`` names first (CF 1.12, 2.7 and 5.6)."""
    names = names_in(array.attributes, "grid_mapping")
    if not names:
        return None
    place = Fragment(array.node, ("attributes", "grid_mapping"), names[0].rstrip(":"))
    return array_named(array, place)


def geotransform_of(array: ArrayView) -> Fragment | None:
    """Return the nearest ``GeoTransform``: of the array, else of its grid mapping variable.

    The levels of a pyramid may share a variable of another group, but no transform.
    """
    own = array.attribute("GeoTransform")
    variable = None if own is not None else grid_mapping_named(array)
    if variable is None or (variable.group != array.node.group and _is_in_pyramid(array)):
        return own
    return array.attribute("GeoTransform", variable)


def _is_in_pyramid(array: ArrayView) -> bool:
    return next(attributes_above(array, LAYOUT.key), None) is not None


def is_of_several(array: ArrayView, dims: tuple[str, str], written: Fragment) -> bool:
    """Tell whether grids of several sizes in the group share a transform; then that is told."""
    if written.node == array.node:
        return False
    named = array.attributes.get("grid_mapping")
    if all(grid >= set(dims) for grid in _grids(array).get(str(named), ())):
        return False
    text = _(
        "is the transform of one grid, but arrays of several sizes refer to it; it was not used"
    )
    array.note(text, written)
    return True


def _grids(array: ArrayView) -> Mapping[str, set[frozenset[str]]]:
    """Return the dimensions of the grids of a group, by their ``grid_mapping``."""
    group, siblings = array.node.group, array.siblings
    known = array.models.of_groups
    if (_grids, group) not in known:
        found: defaultdict[str, set[frozenset[str]]] = defaultdict(set)
        for name, sizes in siblings.items():
            named = array.attribute("grid_mapping", group.child(name))
            if named is not None and len(sizes) > 1:
                found[str(named.value)].add(frozenset(sizes))
        known[_grids, group] = found
    grids: Mapping[str, set[frozenset[str]]] = known[_grids, group]
    return grids
