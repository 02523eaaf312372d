"""Split dimensions of a group's own arrays, so that each dimension has one size and one coordinate.

Dimensions are split by size, then by the coordinates that conventions declare. Everything attached to an array is
renamed with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.names import UsedNames, renamings
from zarr_xgroup.datasets.times import identity_of
from zarr_xgroup.errors import Severity, XGroupMetadataError
from zarr_xgroup.findings import Finding, Topic, new_finding
from zarr_xgroup.i18n import _, listed
from zarr_xgroup.metadata.dimensions import dimension_keys, name_with_size
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.functions import RotatedCentres
from zarr_xgroup.variables.sources import Computed, Unusable

if TYPE_CHECKING:
    from zarr_xgroup.variables.factory import VariableFactory

#: How many arrays with renamed dimensions a text shows.
_NAMED_SPLITS = 3


def split_dimensions(
    reading: GroupReading, factory: VariableFactory, *, with_indexes: bool
) -> tuple[GroupReading, list[Finding]]:
    """Return a reading with the dimensions of its arrays renamed, and findings about the renamed ones."""
    by_size = _by_size(reading.arrays)
    group = replace(reading, arrays=tuple(by_size))
    arrays = _ByCoordinates(group, factory, with_indexes=with_indexes).split()
    findings = [*_findings(reading.arrays, by_size, arrays)]
    return replace(reading, arrays=tuple(arrays)), findings


def _by_size(arrays: tuple[ArrayReading, ...]) -> list[ArrayReading]:
    """Return arrays with dimensions renamed so that each name has one size in the group.

    Dimension coordinates keep their names first, so that a dimension has the size of its coordinate. Arrays that share
    a size share the new name.
    """
    # xarray refuses a dimension with the name of a scalar variable: no size equals -1.
    sizes = {array.node.name: -1 for array in arrays if not array.dims}
    new_names: dict[tuple[str, int], str] = {}
    names_of: dict[str, dict[str, str]] = {}
    for array in sorted(arrays, key=lambda array: not array.is_dimension_coordinate):
        names = names_of[array.node.name] = {}
        for dim, size in array.sizes.items():
            declared = array.inherited.renamed.get(dim, dim)
            chosen = new_names.get((declared, size), declared)
            chosen = name_with_size(chosen, size, sizes, array.node.name)
            new_names[declared, size] = chosen
            if chosen != dim:
                names[dim] = chosen
    known: dict[Interpretation, Interpretation] = {}
    return [_renamed(array, names_of[array.node.name], known) for array in arrays]


class _ByCoordinates:
    """Splits dimensions along which arrays declare different coordinates.

    The first array that declares a coordinate keeps the dimension's name. Arrays that declare the same different
    coordinate share a new dimension.
    """

    def __init__(
        self, reading: GroupReading, factory: VariableFactory, *, with_indexes: bool
    ) -> None:
        self._reading, self._factory, self._with_indexes = reading, factory, with_indexes
        self._names = UsedNames(reading.groups, reading.arrays)
        #: The dimensions with a coordinate variable in the group.
        self._own = {it.node.name for it in reading.arrays if it.is_dimension_coordinate}
        #: The identity of the first coordinate of each dimension, None if no array can have that coordinate.
        self._first: dict[str, Hashable] = {}
        #: New names of dimensions, by the old name and the identity of a different coordinate.
        self._others: dict[tuple[str, Hashable], str] = {}

    def split(self) -> list[ArrayReading]:
        """Return the arrays of the group, each with its own dimensions."""
        names_of: dict[Interpretation, dict[str, str]] = {}
        known: dict[Interpretation, Interpretation] = {}
        result = []
        for array in self._reading.arrays:
            interpretation = array.interpretation
            is_new = interpretation not in names_of
            if is_new:
                names_of[interpretation] = self._new_names(array)
            split = _renamed(array, names_of[interpretation], known)
            self._record_indexes(split, array.inherited.coordinates, is_new=is_new)
            result.append(split)
        return result

    def _record_indexes(
        self, array: ArrayReading, inherited: tuple[Coordinate, ...], *, is_new: bool
    ) -> None:
        """Record which dimensions an array gives a coordinate: also by bounds, terms, linked and inherited ones."""
        interpretation = array.interpretation
        linked = (link.coordinate for link in interpretation.links)
        attached = (*interpretation.coordinates, *linked) if is_new else ()
        for coordinate in (*(part for each in attached for part in each.parts()), *inherited):
            if coordinate.name not in self._first and self._can_be_index(coordinate):
                self._first[coordinate.name] = identity_of(coordinate, self._factory)

    def _new_names(self, array: ArrayReading) -> dict[str, str]:
        """Return new names for dimensions along which an array declares different coordinates than previous arrays."""
        sizes, first, others, new_names = array.sizes, self._first, self._others, {}
        for dim, (cells, coordinate) in self._cells_along(array).items():
            # 1. If the length of its coordinate differs, no array gets this dimension's coordinate.
            if dim not in first and (coordinate is None or self._can_be_index(coordinate)):
                length = self._factory.sizes(coordinate.source)[dim] if coordinate else sizes[dim]
                first[dim] = cells if length == sizes[dim] else None
            # 2. If this one differs, the array gets a new dimension.
            if first.get(dim) not in (None, cells):
                if (dim, cells) not in others:
                    wanted = f"{dim}_{array.node.name}"
                    others[dim, cells] = self._names.new_dimension(wanted, sizes[dim])
                new_names[dim] = others[dim, cells]
        return new_names

    def _cells_along(self, array: ArrayReading) -> dict[str, tuple[Hashable, Coordinate | None]]:
        """Return the dimensions of an array, each with the identity of its coordinate, and the coordinate.

        Both dimensions of a rotated grid have the identities of both 2-D coordinates, and None. If there are several
        coordinates of a dimension, the first is returned. Dimensions with a coordinate variable in the group are left
        out, because it is their only coordinate.
        """
        cells: dict[str, tuple[Hashable, Coordinate | None]] = {}
        rotated = []
        for coordinate in array.interpretation.coordinates:
            source = coordinate.source
            if isinstance(source, Unusable):
                continue
            if coordinate.is_dimension_coordinate and coordinate.name in array.dims:
                identity = identity_of(coordinate, self._factory)
                cells.setdefault(coordinate.name, (identity, coordinate))
            elif isinstance(source, Computed) and isinstance(source.function, RotatedCentres):
                rotated.append(coordinate)
        grid = tuple(identity_of(coordinate, self._factory) for coordinate in rotated)
        for dim in rotated[0].source.dims if rotated else ():
            cells.setdefault(dim, (grid, None))
        return {dim: pair for dim, pair in cells.items() if dim not in self._own}

    def _can_be_index(self, coordinate: Coordinate) -> bool:
        """Return whether a coordinate can be a dimension coordinate: 1-D, with the name of its dimension, not too long."""
        name, source = coordinate.name, coordinate.source
        if not coordinate.is_dimension_coordinate or "/" in name or name in self._reading.groups:
            return False
        if isinstance(source, Unusable):
            return False
        try:
            self._factory.sizes(source)
        except XGroupMetadataError:
            return False
        return not (self._with_indexes and self._factory.is_too_long(source))


def _renamed(
    array: ArrayReading,
    names: Mapping[str, str],
    known: dict[Interpretation, Interpretation],
) -> ArrayReading:
    """Return an array with its dimensions renamed, and with them everything attached to it.

    `known` are the renamed interpretations, so that arrays still share one.
    """
    if not names:
        return array
    interpretation, inherited = array.interpretation, array.inherited
    if interpretation not in known:
        known[interpretation] = replace(
            interpretation,
            coordinates=tuple(each.renamed(names) for each in interpretation.coordinates),
            links=tuple(
                replace(link, coordinate=link.coordinate.renamed(names))
                for link in interpretation.links
            ),
        )
    coordinates = tuple(each.renamed(names) for each in inherited.coordinates)
    return replace(
        array,
        dims=tuple(names.get(dim, dim) for dim in array.dims),
        interpretation=known[interpretation],
        inherited=replace(inherited, coordinates=coordinates),
    )


def _findings(
    declared: Iterable[ArrayReading],
    by_size: Iterable[ArrayReading],
    arrays: Iterable[ArrayReading],
) -> Iterator[Finding]:
    """Yield a finding for each array with renamed dimensions, with one text for all that are renamed for one reason.

    Renamed dimensions of ancestors are left out: they are reported for the group.
    """
    # By whether the sizes differ, or only the coordinates: the arrays, and their old and new names.
    splits: dict[bool, dict[ArrayReading, str]] = {True: {}, False: {}}
    for array, sized, split in zip(declared, by_size, arrays, strict=True):
        inherited = array.inherited.renamed
        dims = tuple(inherited.get(dim, dim) for dim in array.dims)
        if dims != split.dims:
            pairs = zip(dims, split.dims, strict=True)
            names = renamings({old: new for old, new in pairs if old != new})
            splits[dims != sized.dims][array] = names
    for has_other_sizes, renamed in splits.items():
        text = _(
            "other arrays of the group have different coordinate values along its "
            "dimensions; renamed {renamed}"
        )
        severity: Severity = "warning"
        if has_other_sizes:
            text = _(
                "other arrays of the group have different sizes along its dimensions; "
                "renamed {renamed}"
            )
            severity = "error"
        text = text.format(renamed=listed(dict.fromkeys(renamed.values()), _NAMED_SPLITS))
        for array in renamed:
            place: Fragment | Node = array.node
            if has_other_sizes:
                place = Fragment(array.node, dimension_keys(array.document), None)
            yield new_finding(Topic.DIMENSION, place, text, severity=severity)
