"""Rules about the names and sizes of an array's dimensions, whatever its conventions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from zarr_xgroup.conventions.array import NodeView
from zarr_xgroup.conventions.axes import names_of_last_axes, spatial_names
from zarr_xgroup.conventions.crs import horizontal_unit
from zarr_xgroup.conventions.cs import ATTRIBUTE as CS
from zarr_xgroup.conventions.cs import OWN_ARRAY, CsHandler
from zarr_xgroup.conventions.declaring import CONVENTIONS_KEY
from zarr_xgroup.conventions.descriptions import write
from zarr_xgroup.conventions.multiscales import scopes_of
from zarr_xgroup.conventions.spatial import DIMENSIONS, ORDER, SpatialHandler
from zarr_xgroup.conventions.units import CF
from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, new_finding
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY, NZ, dimension_keys
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.report.rules.checked import CheckedStore
from zarr_xgroup.variables.fillvalues import OF_ITS_TYPE
from zarr_xgroup.variables.sources import Computed

NAMES = Rule("arrays/dimension-names", NZ, "Array: dimension_names")
SIZES = Rule("arrays/one-size-for-a-dimension", NZ, "Dimension: shared dimension constraint")
DEGREES = Rule("arrays/degrees", CF, "4.1 Latitude Coordinate, 4.2 Longitude Coordinate")

RULES = (NAMES, SIZES, OF_ITS_TYPE, DEGREES)

#: The largest valid longitude or latitude: producers write longitudes from -180 to 360 degrees.
_FULL_CIRCLE = 360.0


def check_unnamed_dimensions(checked: CheckedStore, array: NodeView) -> Iterator[Finding]:
    """Yield dimensions without a name that a convention needs, and v3 arrays that name dimensions as in Zarr v2."""
    if not array.is_array:
        return
    document, names = array.document, array.attribute(DIMENSION_KEY)
    nameless = sum(not name for name in array.dims)
    if nameless and _needs_dimension_names(array):
        place = Fragment(array.node, dimension_keys(document), None)
        text = f"{nameless} of {len(array.dims)} dimensions have no name"
        yield new_finding(NAMES, place, text, write(place.keys[-1], _likely_names(array)))
    is_missing = document["zarr_format"] == 3 and document.get("dimension_names") is None
    is_named = names is not None and names.value == list(array.dims)
    if is_missing and is_named and checked.declares_something:
        place = Fragment(array.node, ("dimension_names",), None)
        text = f"is missing; {DIMENSION_KEY} names the dimensions only of Zarr v2 arrays"
        remedy = f'write the names in {DIMENSION_KEY} as "dimension_names"'
        yield new_finding(NAMES, place, text, remedy, severity="warning")


def _needs_dimension_names(array: NodeView) -> bool:
    """Return whether an array follows a convention that refers to dimensions by name: `cs`, or `spatial` with a grid."""
    has_cs = array.attribute(CS.key) is not None and CsHandler in array.declared_around
    has_grid = len(array.dims) > 1 and scopes_of(array).get(DIMENSIONS.key) is not None
    return has_cs or (has_grid and SpatialHandler in array.declared_around)


def _likely_names(array: NodeView) -> list[str]:
    """Return the dimension names to suggest for an array.

    An array of the group with the same shape has them. Otherwise they are ``dim_0``, ``dim_1``, ..., and
    ``spatial:dimensions`` names the last ones of a grid.
    """
    group = array.group
    known = {} if group is None else array.tree.memo(group.node, _names_by_shape, group)
    if (named := known.get(array.shape)) is not None:
        return [str(name) for name in named]
    grid = names_of_last_axes(array, spatial_names(array))
    names = [name or f"dim_{axis}" for axis, name in enumerate(array.dims)]
    return [*names[: -len(grid)], *grid] if grid and len(names) > 1 else names


def _names_by_shape(group: NodeView) -> Mapping[tuple[int, ...], tuple[str | None, ...]]:
    """Return dimension names by shape: those of the first array of a group that names all its dimensions."""
    # Reversed, because the dict keeps the last array of a shape.
    return {array.shape: array.dims for array in reversed(group.arrays) if None not in array.dims}


def check_sizes(_checked: CheckedStore, group: NodeView) -> Iterator[Finding]:
    """Yield arrays of a group in which a dimension has a different size than in an earlier array.

    The size of a dimension coordinate takes precedence. A different size is a mistake only if one of the arrays that
    have it declares a convention or needs dimension names. Otherwise names may be reused on purpose.
    """
    if group.is_array:
        return
    arrays = sorted(group.arrays, key=lambda array: array.dims != (array.node.name,))
    # The first array with each dimension, and by dimension and size the arrays that disagree with it.
    first: dict[str, NodeView] = {}
    others: defaultdict[tuple[str, int], list[NodeView]] = defaultdict(list)
    for array in arrays:
        for name, size in array.sizes.items():
            # Absolute names belong to the whole store.
            if first.setdefault(name, array).sizes[name] != size and not name.startswith("/"):
                others[name, size].append(array)
    # The dimensions of each array that have the wrong size.
    wrong: defaultdict[NodeView, list[str]] = defaultdict(list)
    for (name, _size), differing in others.items():
        if any(
            array.attribute(CONVENTIONS_KEY) or _needs_dimension_names(array) for array in differing
        ):
            for array in differing:
                wrong[array].append(name)
    for array in filter(wrong.get, arrays):
        names = wrong[array]
        text = "; ".join(
            f"the dimension {name!r} has {array.sizes[name]} positions here, "
            f"but {first[name].sizes[name]} in {first[name].node}"
            for name in names
        )
        keys = dimension_keys(array.document)
        renamed = [f"{dim}_{array.sizes[dim]}" if dim in names else dim for dim in array.dims]
        remedy = f"{write(keys[-1], renamed)}, or put the arrays of each size into a separate group"
        yield new_finding(SIZES, Fragment(array.node, keys, None), text, remedy)


def check_degrees(plan: GroupPlan) -> Iterator[Finding]:
    """Yield arrays whose computed longitudes or latitudes are beyond 360 degrees.

    Grids whose transform is reported to be in the order of GDAL are omitted: that explains the values.
    """
    explained = {
        path for finding in plan.findings if finding.rule is ORDER for path in finding.arrays
    }
    beyond: defaultdict[Node, list[str]] = defaultdict(list)
    for variable in plan.variables:
        source = variable.source
        if not (
            variable.get("standard_name") in ("longitude", "latitude")
            and horizontal_unit(str(variable.get("units"))) == "degree"
            and isinstance(source, Computed)
            and not source.arrays
            and 0 not in source.shape
        ):
            continue
        corners = np.ix_(*([0.0, size - 1.0] for size in source.shape))
        with np.errstate(all="ignore"):
            farthest = np.abs(source.function(*corners)).max()
        users = map(plan.node.child, variable.users)
        user = next((node for node in users if str(node) not in explained), None)
        if farthest > _FULL_CIRCLE and user is not None:
            beyond[user].append(f"{variable.name!r} up to {farthest:g}")
    for node, names in beyond.items():
        text = f"has longitudes or latitudes beyond 360 degrees: {', '.join(names)}"
        remedy = "correct the CRS, or the numbers from which the coordinates are computed"
        yield new_finding(DEGREES, node, text, remedy, severity="warning")


def check_own_coordinates(plan: GroupPlan) -> Iterator[Finding]:
    """Yield arrays that declare other values than the coordinate in their group, and therefore lose bounds or other parts."""
    lost: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for declared in plan.replaced:
        if declared.outcome == "left out":
            array, name = declared.referrer.name, declared.coordinate.name
            lost[declared.variable, array].append(repr(name))
    for (own, array), names in lost.items():
        text = (
            f"declares other values than the group's own array {own!r}, which is used, so "
            f"{', '.join(names)} are not attached"
        )
        remedy = f'declare the array itself, by "external": {{"node": "{own}"}}'
        place = Fragment(plan.node.child(array), ("attributes", CS.key), None)
        yield new_finding(OWN_ARRAY, place, text, remedy, severity="warning")
