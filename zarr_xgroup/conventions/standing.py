"""What the data carry themselves stands, whatever attributes declare: nothing is compared, and nothing told.

Whoever opens, subsets, reprojects and writes data leaves the attributes of conventions behind. Reopening must
not bring back what they say.

==========================  ===================================================  ===============================
declared                    stands                                               what is declared adds if absent
==========================  ===================================================  ===============================
a dimension's coordinate    the array of the group that is called as the         attributes; boundaries that are
                            dimension that it lies along                         an array
another coordinate          the array of the group that is called so, along the  the same
                            same dimensions and as long
numbers of boundaries or    the array of the group that is called so, as long;   the same
terms                       boundaries whatever their side is called
a CRS                       the grid mapping variable that an array names, else  nothing, if it says a CRS
                            ``spatial_ref``
==========================  ===================================================  ===============================

Boundaries, terms and ancillary arrays that are named are those, whatever else the group has. Of coordinates
`datasets.naming.uniting` decides, which knows what they are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarr_xgroup.conventions.array import CONVENTIONS_KEY, ArrayView
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.metadata.cf import only_mapping
from zarr_xgroup.metadata.nodes import Fragment

#: What tools expect the variable of a CRS to be called.
SPATIAL_REF = "spatial_ref"

#: Attributes by which a variable says a CRS.
CRS_ATTRIBUTES = frozenset({"grid_mapping_name", "crs_wkt", "spatial_ref"})


def is_standing(name: str, dims: tuple[str, ...], attributes: Mapping[str, Any]) -> bool:
    """Tell whether an array of a group stands where metadata give values for what is called so.

    A coordinate does, whoever wrote it. An array that declares conventions may be data; it is a
    coordinate all the same where it is called like its only dimension.
    """
    return dims == (name,) or CONVENTIONS_KEY not in attributes


def own_grid_mapping(array: ArrayView) -> Fragment | None:
    """Return the attributes of the array of the group that serves as grid mapping, None without one."""
    is_told = isinstance(array.attributes.get("grid_mapping"), str)
    name = only_mapping(array.attributes) if is_told else SPATIAL_REF
    document = None if name is None else array.sibling(name)
    if name is None or document is None or document.get("shape") != []:
        return None
    return Fragment(array.node.group.child(name), ("attributes",), document.attributes)


def own_crs(array: ArrayView) -> Crs | None:
    """Return the CRS that stands: that of the array that serves as grid mapping, if it says one."""
    own = own_grid_mapping(array)
    return None if own is None else crs_of_grid_mapping(own.value)


def crs_of_grid_mapping(attributes: Mapping[str, Any]) -> Crs | None:
    """Return the CRS that the attributes of a grid mapping variable say, if it is understood."""
    texts = ((key, attributes.get(key)) for key in ("crs_wkt", "spatial_ref"))
    systems = (Crs(key, text) for key, text in texts if isinstance(text, str))
    return next((crs for crs in systems if crs.is_understood), None)
