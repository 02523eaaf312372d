"""Fitting the groups of a hierarchy into one DataTree.

xarray refuses a tree in which a node does not align with its parents (sizes of dimensions,
values of indexed coordinates), and passes indexed coordinates on to all nodes below. Three things are renamed in
a node, with one warning:

1. dimensions that do not align with those of its parents;
2. dimensions of a grid that would get the positions of a different grid: one in a different CRS, or one whose
   positions are 1-D, while conventions give the node 2-D ones;
3. variables that have the name of an inherited index, but other dimensions: xarray cannot index such a node.

The last two apply only if a convention attached the inherited coordinate, or applies to the node. This cannot be
planned before variables are made: decoding of characters removes dimensions.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count
from typing import Any, NamedTuple, Self

import xarray as xr

from zarr_xgroup._compat import has_index_option
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.datasets.build import renamed_encoding
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.findings import Finding, Place, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import (
    axis_by_name,
    names_by_key,
    names_in,
    only_mapping,
    with_names,
)


@dataclass(frozen=True, eq=False)
class GroupCoordinates:
    """The coordinates of a group as far as its plan describes them, by names of variables and dimensions."""

    #: The identities of coordinates that conventions attached: coordinates of one identity need not be compared.
    identities: Mapping[str, Hashable] = field(default_factory=dict)
    #: The axes of dimension coordinates, where attributes or names tell: X, Y, Z or T.
    axes: Mapping[str, str] = field(default_factory=dict)
    #: The different CRSs of the arrays along each dimension.
    systems: Mapping[str, Collection[Crs]] = field(default_factory=dict)
    #: The dimensions along which conventions give positions that have several dimensions.
    placed: Collection[str] = ()
    #: Whether conventions apply to arrays of the group.
    has_conventions: bool = False

    @classmethod
    def of(cls, plan: GroupPlan) -> Self:
        """Return the coordinates of a planned group."""
        variables = {planned.name: planned for planned in plan.variables}
        readings = {array.node.name: array for array in plan.reading.arrays}
        axes: dict[str, str] = {}
        systems: defaultdict[str, dict[Crs, None]] = defaultdict(dict)
        placed = {dim for it in plan.variables if it.places_cells for dim in it.dims}
        for name, planned in variables.items():
            if planned.dims == (name,):
                if axis := _axis_of(planned):
                    axes[name] = axis
            elif planned.is_coordinate:
                continue
            array = readings[name] if planned.is_own else None
            if array is not None and array.conventions:
                # xarray makes coordinates of the group's own arrays that an array names.
                written = {"coordinates": planned.get("coordinates")}
                named = (variables.get(each) for each in names_in(written, "coordinates"))
                placed.update(*(it.dims for it in named if it and _is_2d_position(it)))
            crs = None if array is None else array.interpretation.crs
            if crs := crs or _crs_by_grid_mapping(planned, variables):
                for dim in planned.dims:
                    systems[dim][crs] = None
        return cls(
            {name: planned.identity for name, planned in variables.items() if planned.identity},
            axes,
            systems,
            placed,
            any(array.conventions for array in plan.reading.arrays),
        )


class _Coordinate(NamedTuple):
    """A coordinate of a dimension."""

    #: The path of the group that has it.
    group: str
    indexed: xr.Index | None
    #: Equal for coordinates with the same values, None if not known.
    identity: Hashable
    #: Type, units and calendar: xarray decodes one array otherwise in a group where it bounds times.
    decoding: tuple[Any, ...]
    axis: str | None
    #: The CRSs of the grids along it.
    systems: Collection[Crs]


def align_with_parents(
    datasets: Mapping[str, xr.Dataset],
    described: Mapping[str, GroupCoordinates],
    root: str = "",
) -> tuple[dict[str, xr.Dataset], list[Finding]]:
    """Return Datasets that form a DataTree, with dimensions and variables renamed as it needs, and findings.

    `datasets` and their `described` coordinates are by absolute path in the tree, parents before their children;
    `root` is the path of its root in the store. Coordinates without a common identity are compared only where both
    have an index: no values are read.
    """
    aligned: dict[str, xr.Dataset] = {}
    findings = []
    hidden: dict[str, list[str]] = {}
    # The sizes and coordinates of each group and the groups above it; of coordinates of one name the outermost,
    # with which all below are compared. For dimensions that were renamed above, their new names.
    sizes: dict[str, dict[Hashable, int]] = {"": {}}
    coordinates: dict[str, dict[str, _Coordinate]] = {"": {}}
    new_names: dict[str, dict[str, str]] = {"": {}}
    groups: defaultdict[str, list[str]] = defaultdict(list)  # by the last segment
    for path in sorted(datasets):
        groups[_name(path)].append(path)
    for path, dataset in datasets.items():
        node, parent = _path_in_store(root, path), _parent(path)
        group = described.get(path, GroupCoordinates())
        above, below = coordinates[parent], partial(_group_below, groups, path)

        # 1. Dimensions that cannot be those of the groups above. They take the name that a parent gave to the
        #    dimension if they align with it there.
        own = _dimension_coordinates(node, dataset, group)
        objection = partial(_objection, dataset, group, own, sizes[parent], above)
        names: dict[str, str] = {}
        taken = {*dataset.sizes, *dataset.variables, *sizes[parent]}
        renamed: list[str] = []
        for dim in map(str, dataset.sizes):
            reason, new = objection(dim, dim), new_names[parent].get(dim, dim)
            is_taken = new in dataset.sizes or new in dataset.variables
            is_free_to_stay = reason is None and dim in own and dim in above
            if not is_taken and not is_free_to_stay and objection(dim, new) is None:
                reason = _("as in its parents")
            elif reason is None:
                continue
            else:
                new = f"{dim}_{_name(path)}"
                new = _free_name(new, new, taken, below)
                taken.add(new)
            names[dim] = new
            renamed.append(f"{dim!r} -> {new!r} ({reason})")
        if names:
            dataset = rename_dimensions(dataset, names)
            own = _dimension_coordinates(node, dataset, group, names)
        kept = {dim: new for dim, new in new_names[parent].items() if dim not in dataset.sizes}
        new_names[path] = {**kept, **names}

        # 2. Variables that have the name of an index above, but other dimensions.
        other: dict[str, str] = {}
        for name, theirs in above.items():
            variable = dataset.variables.get(name)
            is_other = variable is not None and variable.dims != (name,)
            if is_other and _is_by_convention(group, theirs):
                new = f"{_name(path)}_{name}"
                other[name] = new = _free_name(new, new, taken, below)
                taken.add(new)
                reason = _("other dimensions than {owner}").format(owner=theirs.group)
                renamed.append(f"{name!r} -> {new!r} ({reason})")
        if other:
            dataset = _rename_references(dataset.rename_vars(other), other)
        if renamed:
            message = _(
                "does not align with its parents in a DataTree; renamed in it: {renamed}. To have it "
                "unrenamed use xarray.open_dataset or xarray.open_groups"
            ).format(renamed=", ".join(renamed))
            topic = Topic.DIMENSION if names else Topic.NAME
            findings.append(report(topic, Place(node), message))

        # 3. Coordinates that a group below would inherit beside a child of the same name, which xarray refuses.
        #    Coordinates without an index are not inherited.
        for name in map(str, list(dataset.xindexes)):
            child = below(name)
            if not child:
                continue
            new = _free_name(f"{name}_1", name, {*dataset.variables, *dataset.sizes}, below)
            dataset = _rename_references(
                dataset.drop_indexes(name).rename_vars({name: new}), {name: new}
            )
            own.pop(name)
            message = _(
                "its coordinate {name!r} is called {new!r} in a DataTree, because a group below it is called "
                "{group}. To have it unrenamed use xarray.open_dataset or xarray.open_groups"
            ).format(name=name, new=new, group=_path_in_store(root, child))
            findings.append(report(Topic.NAME, Place(node), message))

        hidden[path] = [name for name in above if name in dataset.variables and name not in own]
        aligned[path] = dataset
        sizes[path], coordinates[path] = {**sizes[parent], **dataset.sizes}, {**own, **above}

    # 4. When nothing is compared any more, which takes indexes: the parents' coordinates that a node has other
    #    variables for have none. Where xarray builds default indexes for a tree, it gives such a node the
    #    parent's coordinate if that has its index already, and the node's own if not.
    for path, hiding in hidden.items() if has_index_option() else ():
        while hiding and (path := _parent(path)):
            indexed = [name for name in hiding if name in aligned[path].xindexes]
            aligned[path] = aligned[path].drop_indexes(indexed)
    return aligned, findings


def rename_dimensions(dataset: xr.Dataset, names: Mapping[str, str]) -> xr.Dataset:
    """Return a Dataset with dimensions and their coordinates renamed, also where variables name them."""
    coordinates = {dim: new for dim, new in names.items() if _has_coordinate(dataset, dim)}
    others = {dim: new for dim, new in names.items() if dim not in coordinates}
    renamed = dataset.rename_dims(others).rename(coordinates)
    for variable in renamed.variables.values():
        variable.encoding = renamed_encoding(variable.encoding, names)
    return _rename_references(renamed, coordinates)


def _rename_references(dataset: xr.Dataset, names: Mapping[str, str]) -> xr.Dataset:
    """Replace names in the attributes and encodings of a Dataset and its variables, in place, and return the Dataset."""
    holders: list[Any] = [dataset, *dataset.variables.values()]
    for holder in holders:
        for attributes in (holder.attrs, holder.encoding):
            for key in {key for key, name in names_by_key(attributes) if name in names}:
                attributes[key] = with_names(key, attributes[key], names)
    return dataset


def _dimension_coordinates(
    node: str, dataset: xr.Dataset, group: GroupCoordinates, new_names: Mapping[str, str] = {}
) -> dict[str, _Coordinate]:
    """Return the dimension coordinates of a group, by name; the group describes them by the names before `new_names`."""
    indexes, found = dataset.xindexes, {}
    old_names = {new: old for old, new in new_names.items()}
    for name in map(str, dataset.sizes):
        if _has_coordinate(dataset, name):
            variable, old = dataset.variables[name], old_names.get(name, name)
            times = (variable.encoding.get(key) for key in ("units", "calendar"))
            found[name] = _Coordinate(
                *(node, indexes.get(name), group.identities.get(old), (variable.dtype, *times)),
                *(group.axes.get(old), group.systems.get(old, ())),
            )
    return found


def _has_coordinate(dataset: xr.Dataset, dimension: str) -> bool:
    """Tell whether a dimension has a dimension coordinate."""
    return dimension in dataset.coords and dataset.variables[dimension].dims == (dimension,)


def _objection(
    dataset: xr.Dataset,
    group: GroupCoordinates,
    own: Mapping[str, _Coordinate],
    sizes: Mapping[Hashable, int],
    above: Mapping[str, _Coordinate],
    dim: str,
    name: str,
) -> str | None:
    """Return why a dimension of a group cannot be the dimension `name` of the groups above, None if it can be."""
    size = dataset.sizes[dim]
    if sizes.get(name, size) != size:
        return _("size {size}, its parents' {other}").format(size=size, other=sizes[name])
    mine, theirs = own.get(dim), above.get(name)
    if theirs is None or theirs.indexed is None:
        return None
    if mine is not None and mine.indexed is not None:
        is_known = mine.identity is not None and mine.decoding == theirs.decoding
        is_same = is_known and mine.identity == theirs.identity
        if not is_same and not mine.indexed.equals(theirs.indexed):
            return _("other coordinate values than {owner}").format(owner=theirs.group)
    if not _is_by_convention(group, theirs):
        return None
    if mine is None and dim in group.placed and theirs.axis not in ("T", "Z"):
        return _("2-D positions, 1-D in {owner}").format(owner=theirs.group)
    if theirs.axis in ("X", "Y"):
        for crs in group.systems.get(dim, ()):
            if theirs.systems and all(crs.differs(other) for other in theirs.systems):
                titles = (each.code or each.title for each in (crs, *theirs.systems))
                message = _("CRS {crs}, {other} in {owner}")
                return message.format(crs=next(titles), other=next(titles), owner=theirs.group)
    return None


def _is_by_convention(group: GroupCoordinates, theirs: _Coordinate) -> bool:
    """Return whether a group inherits an index, and a convention attached its coordinate or applies to the group."""
    is_by_convention = theirs.identity is not None or group.has_conventions
    return theirs.indexed is not None and is_by_convention


def _is_2d_position(coordinate: PlannedVariable) -> bool:
    """Return whether a coordinate lies along several dimensions, and is horizontal by its attributes."""
    return len(coordinate.dims) > 1 and coordinate.horizontal_axis is not None


def _axis_of(coordinate: PlannedVariable) -> str | None:
    """Return the axis of a dimension coordinate by its attributes, otherwise by its name; None if these do not tell."""
    if "since" in str(coordinate.get("units")):
        return "T"
    axis = coordinate.get("axis")
    if axis in ("T", "Z"):
        return str(axis)
    return coordinate.horizontal_axis or axis_by_name(coordinate.name)


def _crs_by_grid_mapping(
    array: PlannedVariable, variables: Mapping[str, PlannedVariable]
) -> Crs | None:
    """Return the CRS of the grid mapping variable that an array names; None without one, or without WKT."""
    mapping = variables.get(only_mapping({"grid_mapping": array.get("grid_mapping")}) or "")
    texts = [] if mapping is None else map(mapping.get, ("crs_wkt", "spatial_ref"))
    return next((Crs("crs_wkt", text) for text in texts if isinstance(text, str)), None)


def _free_name(
    first: str, wanted: str, taken: Collection[Hashable], below: Callable[[str], str | None]
) -> str:
    """Return the name `first` if it is free, else `wanted` with the least number from 2 that makes it free."""
    names = chain([first], (f"{wanted}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken and not below(name))


def _group_below(groups: Mapping[str, Sequence[str]], path: str, name: str) -> str | None:
    """Return the path of a group of a name anywhere below another group, None without one.

    `groups` are sorted paths, by their last segment: found by bisection, as each group asks for each of its names.
    """
    paths, begin = groups.get(name, ()), f"{path.rstrip('/')}/"
    place = bisect_left(paths, begin)
    return next((first for first in paths[place : place + 1] if first.startswith(begin)), None)


def _name(path: str) -> str:
    """Return the last segment of a group's path."""
    return path.rpartition("/")[2]


def _parent(path: str) -> str:
    """Return the path of a group's parent, "" for the root."""
    return "" if path == "/" else path.rpartition("/")[0] or "/"


def _path_in_store(root: str, path: str) -> str:
    """Return the path of a group from the root of the store, given its path from the root of the tree."""
    return f"/{root}{path}".rstrip("/") if root else path
