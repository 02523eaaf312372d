"""Rename dimensions and variables of groups so that their Datasets form one DataTree.

xarray refuses a tree in which a node does not align with its parents (sizes of dimensions, values of indexed
coordinates), and all nodes below inherit indexed coordinates. So these are renamed in a node, with one warning:

1. dimensions that do not align with those of its parents;
2. dimensions of a grid that would inherit the positions of a grid in a different CRS, or 1-D positions although
   conventions give the node 2-D positions;
3. variables that have the name of an inherited index but different dimensions: xarray cannot index such a node.

The last two apply only if a convention attached the inherited coordinate, or applies to the node. The names cannot
be planned before variables are decoded, because decoding of characters removes dimensions.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple, Self

import msgspec
import xarray as xr

from zarr_xgroup._compat import has_index_option
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.units import is_time
from zarr_xgroup.datasets.build import renamed_encoding
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.findings import Finding, Place, Topic, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import (
    axis_by_name,
    names_by_key,
    names_in,
    only_mapping,
    with_names,
)


class GroupCoordinates(msgspec.Struct, frozen=True, eq=False):
    """The properties of a group's coordinates that follow from its plan, by variable or dimension."""

    #: The identities of attached coordinates. Coordinates with the same identity are not compared.
    identities: Mapping[str, Hashable] = msgspec.field(default_factory=dict)
    #: The axes of dimension coordinates by attributes or names: X, Y, Z, T, or None if not known.
    axes: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    #: The different CRSs of the arrays along each dimension.
    systems: Mapping[str, Collection[Crs]] = msgspec.field(default_factory=dict)
    #: The dimensions of multidimensional positions.
    placed: Collection[str] = ()
    #: Whether conventions apply to arrays of the group.
    has_conventions: bool = False

    @classmethod
    def of(cls, plan: GroupPlan) -> Self:
        """Return the coordinates of a planned group."""
        variables = {planned.name: planned for planned in plan.variables}
        readings = {array.node.name: array for array in plan.reading.arrays}
        axes: dict[str, str | None] = {}
        systems: defaultdict[str, dict[Crs, None]] = defaultdict(dict)
        positions = [planned for planned in plan.variables if planned.places_cells]
        for name, planned in variables.items():
            if planned.is_dimension_coordinate:
                axes[name] = _axis_of(planned)
            elif planned.is_coordinate:
                continue
            array = readings[name] if planned.is_own else None
            positions += _positions_named_by(planned, array, variables)
            if crs := _crs_of(planned, array, variables):
                for dim in planned.dims:
                    systems[dim][crs] = None
        return cls(
            {name: planned.identity for name, planned in variables.items() if planned.identity},
            axes,
            systems,
            set(chain.from_iterable(position.dims for position in positions)),
            any(array.conventions for array in plan.reading.arrays),
        )


def _axis_of(coordinate: PlannedVariable) -> str | None:
    """Return the axis of a dimension coordinate by its attributes or, failing that, its name; None if not known."""
    if is_time(coordinate.get("units")):
        return "T"
    axis = coordinate.get("axis")
    if axis in ("T", "Z"):
        return str(axis)
    return coordinate.horizontal_axis or axis_by_name(coordinate.name)


def _positions_named_by(
    planned: PlannedVariable,
    array: ArrayReading | None,
    variables: Mapping[str, PlannedVariable],
) -> Iterator[PlannedVariable]:
    """Yield the multidimensional horizontal positions that an own array names, which xarray makes coordinates."""
    if array is not None and array.conventions:
        for name in names_in({"coordinates": planned.get("coordinates")}, "coordinates"):
            named = variables.get(name)
            if named is not None and len(named.dims) > 1 and named.horizontal_axis is not None:
                yield named


def _crs_of(
    planned: PlannedVariable,
    array: ArrayReading | None,
    variables: Mapping[str, PlannedVariable],
) -> Crs | None:
    """Return the CRS of a variable by conventions or, failing that, by the WKT of its grid mapping variable."""
    if array is not None and array.interpretation.crs is not None:
        return array.interpretation.crs
    mapping = variables.get(only_mapping({"grid_mapping": planned.get("grid_mapping")}) or "")
    texts = [] if mapping is None else map(mapping.get, ("crs_wkt", "spatial_ref"))
    return next((Crs("crs_wkt", text) for text in texts if isinstance(text, str)), None)


class _Coordinate(NamedTuple):
    """A dimension coordinate."""

    #: The path of its group.
    group: str
    xindex: xr.Index | None
    #: Equal for coordinates with the same values, None if not known.
    identity: Hashable
    #: Type, units and calendar. xarray decodes the same array differently in a group in which it is bounds of times.
    decoding: tuple[Any, ...]
    axis: str | None
    #: The CRSs of the grids along it.
    systems: Collection[Crs]


class _Above(NamedTuple):
    """The dimensions of a group and of the groups above it."""

    sizes: Mapping[Hashable, int] = {}
    #: The outermost coordinate of each name, with which all below are compared.
    coordinates: Mapping[str, _Coordinate] = {}
    #: The new names of renamed dimensions.
    new_names: Mapping[str, str] = {}


def align_with_parents(
    datasets: Mapping[str, xr.Dataset],
    described: Mapping[str, GroupCoordinates],
    root: str = "",
) -> tuple[dict[str, xr.Dataset], list[Finding]]:
    """Return Datasets that form a DataTree, with dimensions and variables renamed if necessary, and findings.

    `datasets` and their `described` coordinates are by absolute path in the tree, parents first; `root` is the path of
    its root in the store. No values are read: only identities and indexes of coordinates are compared.
    """
    aligned: dict[str, xr.Dataset] = {}
    findings: list[Finding] = []
    levels: dict[str, _Above] = {"": _Above()}
    groups: defaultdict[str, list[str]] = defaultdict(list)  # by the last segment
    for path in sorted(datasets):
        groups[_name(path)].append(path)
    hidden: dict[str, list[str]] = {}
    for path, dataset in datasets.items():
        description = described.get(path, GroupCoordinates())
        group = _GroupInTree(path, root, dataset, description, levels[_parent(path)], groups)
        findings += group.align()
        findings += group.rename_coordinates_named_like_groups()
        aligned[path], levels[path] = group.dataset, group.passed_on()
        hidden[path] = group.hidden()

    # If a node has a different variable with the name of a parent's coordinate, that coordinate loses its index:
    # otherwise xarray would give the node the parent's coordinate. No comparison needs the index any longer.
    for path, names_below in hidden.items() if has_index_option() else ():
        while names_below and (path := _parent(path)):
            indexed = [name for name in names_below if name in aligned[path].xindexes]
            aligned[path] = aligned[path].drop_indexes(indexed)
    return aligned, findings


class _GroupInTree:
    """The Dataset of a group while it is aligned with the groups above it.

    `paths` are the sorted paths of all groups by their last segment.
    """

    def __init__(
        self,
        path: str,
        root: str,
        dataset: xr.Dataset,
        description: GroupCoordinates,
        above: _Above,
        paths: Mapping[str, Sequence[str]],
    ) -> None:
        self.dataset = dataset
        self._path, self._root, self._name = path, root, _name(path)
        self._description, self._above, self._paths = description, above, paths
        self._taken = {*dataset.sizes, *dataset.variables, *above.sizes}
        self._new_dims: dict[str, str] = {}
        #: The dimension coordinates.
        self._own: dict[str, _Coordinate] = {}
        indexes = dataset.xindexes
        for name in map(str, dataset.sizes):
            if _has_coordinate(dataset, name):
                variable = dataset.variables[name]
                times = (variable.encoding.get(key) for key in ("units", "calendar"))
                self._own[name] = _Coordinate(
                    *(self._place(path), indexes.get(name), description.identities.get(name)),
                    (variable.dtype, *times),
                    *(description.axes.get(name), description.systems.get(name, ())),
                )

    def align(self) -> Iterator[Finding]:
        """Rename dimensions that conflict with the groups above, and variables with the name of an index above."""
        dims = list(self._new_dimensions())
        other = _("dimensions differ from those in {owner}")
        variables = [
            (name, self._new_name(f"{self._name}_{name}"), other.format(owner=theirs.group))
            for name, theirs in self._above.coordinates.items()
            if name in self.dataset.variables
            and self.dataset.variables[name].dims != (name,)
            and self._is_by_convention(theirs)
        ]
        if dims:
            self._new_dims = {dim: new for dim, new, _reason in dims}
            self.dataset = rename_dimensions(self.dataset, self._new_dims)
            indexes, own = self.dataset.xindexes, self._own.items()
            new_own = ((self._new_dims.get(dim, dim), coordinate) for dim, coordinate in own)
            self._own = {
                new: coordinate._replace(xindex=indexes.get(new)) for new, coordinate in new_own
            }
        if variables:
            names = {name: new for name, new, _reason in variables}
            self.dataset = _rename_references(self.dataset.rename_vars(names), names)
        if renamed := dims + variables:  # a dimension and a variable may have the same name
            message = _(
                "does not align with its parents in a DataTree; renamed {renamed}. "
                "xarray.open_dataset and xarray.open_groups keep the names"
            )
            text = ", ".join(f"{old!r} -> {new!r} ({reason})" for old, new, reason in renamed)
            topic = Topic.DIMENSION if dims else Topic.NAME
            yield new_finding(topic, Place(self._place(self._path)), message.format(renamed=text))

    def _new_dimensions(self) -> Iterator[tuple[str, str, str]]:
        """Yield the dimensions that conflict with the groups above: each with its new name, and the reason.

        If a parent renamed the dimension, and this group aligns with it, the dimension gets the same new name.
        """
        sizes, variables = self.dataset.sizes, self.dataset.variables
        for dim in map(str, sizes):
            reason, new = self._objection(dim, dim), self._above.new_names.get(dim, dim)
            is_taken = new in sizes or new in variables
            can_stay = reason is None and dim in self._own and dim in self._above.coordinates
            if not is_taken and not can_stay and self._objection(dim, new) is None:
                yield dim, new, _("as in its parents")
            elif reason is not None:
                yield dim, self._new_name(f"{dim}_{self._name}"), reason

    def rename_coordinates_named_like_groups(self) -> Iterator[Finding]:
        """Rename coordinates with the name of a group below, because xarray refuses a child that inherits one.

        Coordinates without an index are not inherited.
        """
        for name in map(str, list(self.dataset.xindexes)):
            if child := self._below(name):
                names = {name: self._new_name(name, f"{name}_1")}
                dataset = self.dataset.drop_indexes(name).rename_vars(names)
                self.dataset = _rename_references(dataset, names)
                del self._own[name]
                message = _(
                    "its coordinate {name!r} is named {new!r} in a DataTree, because group {group} has that name. "
                    "xarray.open_dataset and xarray.open_groups keep the name"
                ).format(name=name, new=names[name], group=self._place(child))
                yield new_finding(Topic.NAME, Place(self._place(self._path)), message)

    def hidden(self) -> list[str]:
        """Return the names that coordinates above share with different variables of the group."""
        variables = self.dataset.variables.keys() - self._own
        return [name for name in self._above.coordinates if name in variables]

    def passed_on(self) -> _Above:
        """Return the dimensions of this group and the groups above it."""
        above, sizes = self._above, self.dataset.sizes
        kept = {dim: new for dim, new in above.new_names.items() if dim not in sizes}
        coordinates = {**self._own, **above.coordinates}
        return _Above({**above.sizes, **sizes}, coordinates, {**kept, **self._new_dims})

    def _below(self, name: str) -> str | None:
        """Return the path of a group with this name anywhere below this group, None if there is no such group."""
        # By bisection, because each group searches for each of its names.
        paths, begin = self._paths.get(name, ()), f"{self._path.rstrip('/')}/"
        position = bisect_left(paths, begin)
        nearest = paths[position : position + 1]
        return next((path for path in nearest if path.startswith(begin)), None)

    def _place(self, path: str) -> str:
        """Return the path of a group in the store, given its path in the tree."""
        return f"/{self._root}{path}".rstrip("/") if self._root else path

    def _new_name(self, wanted: str, first: str = "") -> str:
        """Return and reserve a free name: `first` if given, otherwise `wanted`, otherwise `wanted` with a number from 2."""
        name, numbers = first or wanted, count(2)
        while name in self._taken or self._below(name):
            name = f"{wanted}_{next(numbers)}"
        self._taken.add(name)
        return name

    def _objection(self, dim: str, name: str) -> str | None:
        """Return why a dimension conflicts with the dimension `name` of the groups above, None if it does not."""
        size, theirs = self.dataset.sizes[dim], self._above.coordinates.get(name)
        if (other := self._above.sizes.get(name, size)) != size:
            return _("size {size}, {other} in its parents").format(size=size, other=other)
        if theirs is None or theirs.xindex is None:
            return None
        mine, names = self._own.get(dim), {dim: name}
        if mine is not None and mine.xindex is not None:
            is_known = mine.identity is not None and mine.decoding == theirs.decoding
            is_same = is_known and mine.identity == theirs.identity
            # Indexes along dimensions of different names are never equal.
            if not is_same and not mine.xindex.rename(names, names).equals(theirs.xindex):
                return _("coordinate values differ from those in {owner}").format(
                    owner=theirs.group
                )
        return self._objection_to_positions(dim, theirs) if self._is_by_convention(theirs) else None

    def _objection_to_positions(self, dim: str, theirs: _Coordinate) -> str | None:
        """Return why a grid must not inherit the positions of a coordinate above, None if it may."""
        description = self._description
        is_placed = dim not in self._own and dim in description.placed
        if is_placed and theirs.axis not in ("T", "Z"):
            return _("2-D positions, 1-D in {owner}").format(owner=theirs.group)
        if theirs.axis in ("X", "Y"):
            for crs in description.systems.get(dim, ()):
                if theirs.systems and all(crs.differs(other) for other in theirs.systems):
                    titles = (each.code or each.title for each in (crs, *theirs.systems))
                    message = _("CRS {crs}, {other} in {owner}")
                    return message.format(crs=next(titles), other=next(titles), owner=theirs.group)
        return None

    def _is_by_convention(self, theirs: _Coordinate) -> bool:
        """Return whether a coordinate above has an index, and a convention attached it or applies to this group."""
        is_by_convention = theirs.identity is not None or self._description.has_conventions
        return theirs.xindex is not None and is_by_convention


def _has_coordinate(dataset: xr.Dataset, dimension: str) -> bool:
    """Return whether a dimension has a dimension coordinate."""
    return dimension in dataset.coords and dataset.variables[dimension].dims == (dimension,)


def rename_dimensions(dataset: xr.Dataset, names: Mapping[str, str]) -> xr.Dataset:
    """Return a Dataset with dimensions and their coordinates renamed, also in attributes that name them."""
    coordinates = {dim: new for dim, new in names.items() if _has_coordinate(dataset, dim)}
    others = {dim: new for dim, new in names.items() if dim not in coordinates}
    renamed = dataset.rename_dims(others).rename(coordinates)
    for variable in renamed.variables.values():
        variable.encoding = renamed_encoding(variable.encoding, names)
    return _rename_references(renamed, coordinates)


def _rename_references(dataset: xr.Dataset, names: Mapping[str, str]) -> xr.Dataset:
    """Replace names in the attributes and encodings of a Dataset and its variables, in place, and return it."""
    holders: list[Any] = [dataset, *dataset.variables.values()]
    for holder in holders:
        for attributes in (holder.attrs, holder.encoding):
            for key in {key for key, name in names_by_key(attributes) if name in names}:
                attributes[key] = with_names(key, attributes[key], names)
    return dataset


def _name(path: str) -> str:
    """Return the last segment of a group's path."""
    return path.rpartition("/")[2]


def _parent(path: str) -> str:
    """Return the path of a group's parent, "" for the root."""
    return "" if path == "/" else path.rpartition("/")[0] or "/"
