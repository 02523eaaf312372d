"""What the arrays of a group want, along dimensions of which each has one coordinate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.datasets.budget import is_too_long
from zarr_xgroup.datasets.interpretation import ArrayReading, GroupReading
from zarr_xgroup.datasets.naming.taken import Taken
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.findings import Finding, Kind, noted
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import names_in
from zarr_xgroup.variables.functions import RotatedCentres
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Source, Stored

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker


@dataclass(frozen=True, eq=False)
class Wanted:
    """The arrays of a group and what they want; `with_indexes` if xarray will build some."""

    reading: GroupReading
    maker: Maker
    with_indexes: bool
    arrays: tuple[ArrayReading, ...]
    findings: tuple[Finding, ...] = ()

    @cached_property
    def own(self) -> Mapping[str, ArrayReading]:
        """The arrays by name."""
        return {array.node.name: array for array in self.arrays}

    @cached_property
    def first_class(self) -> frozenset[str]:
        """The arrays that stay data though others refer to them: they follow a principal convention.

        One that is only assumed makes no data of what is declared to be a coordinate.
        """
        said = dict.fromkeys(array.interpretation for array in self.arrays)
        sources = (coordinate.source for it in said for coordinate in it.coordinates)
        declared = {source.node for source in sources if isinstance(source, Stored)}
        return frozenset(
            array.node.name
            for array in self.arrays
            if array.is_first_class or (array.has_principal and array.node not in declared)
        )

    @cached_property
    def named_coordinates(self) -> frozenset[str]:
        """The names in ``coordinates`` and ``bounds`` of the arrays."""
        attributes = [array.document.attributes for array in self.arrays]
        keys = ("coordinates", "bounds")
        return frozenset(name for it in attributes for key in keys for name in names_in(it, key))

    def taken(self) -> Taken:
        """Return the names that are taken by what the group has itself."""
        return Taken(self.reading.groups, ((it.node.name, sizes_of(it)) for it in self.arrays))

    def is_unindexed(self, source: Source) -> bool:
        """Tell whether what is read from a source must not be called as its dimension."""
        return self.with_indexes and is_too_long(source, self.maker)

    def attributes_of(self, source: Source) -> Mapping[str, Any]:
        """Return the attributes that a source's variable has itself."""
        if isinstance(source, HandlerVariable):
            attributes: Mapping[str, Any] = source.variable.attrs
            return attributes
        return self.maker.attributes(source.node) if isinstance(source, Stored) else {}

    def error_of(self, coordinate: Coordinate) -> XGroupMetadataError | None:
        """Return why the array that a coordinate is cannot be opened, None if it can."""
        source = coordinate.source
        try:
            if isinstance(source, Stored):
                self.maker.template(source.node, source.along)
        except XGroupMetadataError as error:
            return error
        return None

    def identity_of(self, coordinate: Coordinate) -> Hashable:
        """Return what a coordinate is: numbers are something else for each time they count from.

        Where an array says itself in what unit it is, that counts and not what is declared.
        """
        source, units = coordinate.source, str(coordinate.attributes.get("units"))
        if not isinstance(source, Stored) or "since" not in units:
            return coordinate.identity
        if "units" in self.maker.attributes(source.node):
            return coordinate.identity
        return source, units, str(coordinate.attributes.get("calendar"))


class Attributes:
    """The attributes of a group's variables: their own, and those that are added where there is none.

    In those that are rewritten, names stand in place of paths.
    """

    def __init__(self, own: Mapping[str, Mapping[str, Any]]) -> None:
        self.own = own
        self.added: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self.rewritten: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def copy(self) -> Attributes:
        """Return the same, to be added to."""
        copy = Attributes(self.own)
        for name, added in self.added.items():
            copy.added[name] = dict(added)
        for name, rewritten in self.rewritten.items():
            copy.rewritten[name] = dict(rewritten)
        return copy

    def get(self, name: str, key: str) -> Any:
        """Return an attribute of a variable, or None."""
        if name in self.rewritten and key in self.rewritten[name]:
            return self.rewritten[name][key]
        own = self.own.get(name, {})
        return own[key] if key in own else self.added.get(name, {}).get(key)

    def has(self, name: str, key: str) -> bool:
        """Tell whether a variable has an attribute."""
        return key in self.own.get(name, {}) or key in self.added.get(name, {})

    def add(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Add attributes where there is none of the name."""
        own = self.own.get(name, {})
        for key, value in attributes.items():
            if key not in own:
                self.added[name].setdefault(key, value)


def sizes_of(array: ArrayReading) -> dict[str, int]:
    """Return the sizes of an array's dimensions."""
    return dict(zip(array.dims, array.shape, strict=True))


def collect(reading: GroupReading, maker: Maker, *, with_indexes: bool) -> Wanted:
    """Return what a group's arrays want, along dimensions of which each has one coordinate."""
    arrays_read = tuple(_without_grids_of_no_data(reading, maker))
    as_read = Wanted(reading, maker, with_indexes, arrays_read)
    splitting = _Splitting(as_read)
    arrays, findings = [], []
    for array in arrays_read:
        names = splitting.new_names(array)
        arrays.append(splitting.along(array, names) if names else array)
        if names:
            findings.append(_renaming(array, names))
    if not findings:
        return as_read
    return replace(as_read, arrays=tuple(arrays), findings=tuple(findings))


def _without_grids_of_no_data(reading: GroupReading, maker: Maker) -> Iterator[ArrayReading]:
    """Yield the arrays of a group, those that are coordinates without a grid that no array of data has.

    An array of another group may have been attached, cut, and written with the group that it was a coordinate
    of. What that declares of its own grid is not said of it, and would give it the first cells.
    """
    places = [maker.attributes(reading.node), *(it.document.attributes for it in reading.arrays)]
    named = {name for attributes in places for name in names_in(attributes, "coordinates")}
    data = {
        array
        for array in reading.arrays
        if array.node.name not in named or CONVENTIONS_KEY in array.document.attributes
    }
    sizes = {along for array in data for along in sizes_of(array).items()}
    for array in reading.arrays:
        said, own = array.interpretation, array.document.attributes
        kept = tuple(it for it in said.coordinates if not isinstance(it.source, Computed))
        is_of_data = not data or array in data or sizes.issuperset(sizes_of(array).items())
        if is_of_data or len(kept) == len(said.coordinates):
            yield array
            continue
        crs = said.crs if "grid_mapping" in own else None
        # Which choice was made for the grid is no matter to an open any more.
        findings = tuple(
            replace(it, kind=None) if it.kind is Kind.CHOICE else it for it in said.findings
        )
        stripped = replace(said, coordinates=kept, crs=crs, geotransform=None, findings=findings)
        yield replace(array, interpretation=stripped)


class _Splitting:
    """Other dimensions for arrays whose coordinates are others than those of the group."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._first: dict[str, Hashable] = {}
        self._others: dict[tuple[str, Hashable], str] = {}
        self._known: dict[Interpretation, dict[str, str]] = {}
        self._renamed: dict[Interpretation, Interpretation] = {}

    @cached_property
    def _taken(self) -> Taken:
        return self._wanted.taken()

    def new_names(self, array: ArrayReading) -> dict[str, str]:
        """Return new names for dimensions that have other coordinate values for other arrays."""
        said = array.interpretation
        brought = list(array.inherited.coordinates)
        if said not in self._known:
            names = self._known[said] = dict(self._diverging(array))
            found = (*said.coordinates, *(link.coordinate for link in said.links))
            brought = [part for it in found for part in it.renamed(names).parts()] + brought
        # 5. What else comes along has the dimension that it is called as, if nothing had it before.
        for coordinate in filter(self._can_be_index, brought):
            self._first.setdefault(coordinate.name, self._wanted.identity_of(coordinate))
        return self._known[said]

    def along(self, array: ArrayReading, names: Mapping[str, str]) -> ArrayReading:
        """Return an array, and its coordinates, along dimensions of other names."""
        said = array.interpretation
        if said not in self._renamed:
            coordinates = tuple(item.renamed(names) for item in said.coordinates)
            self._renamed[said] = replace(said, coordinates=coordinates)
        dims = tuple(names.get(dim, dim) for dim in array.dims)
        return replace(array, dims=dims, interpretation=self._renamed[said])

    def _diverging(self, array: ArrayReading) -> Iterator[tuple[str, str]]:
        """Yield dimensions of an array that have to be others, with their new names."""
        first: dict[str, Hashable] = {}
        sizes = sizes_of(array)
        for dim, place, coordinate in _places_along(self._wanted, array):
            # 1. An array of the group that is called as the dimension stands: there is nothing to divide.
            if dim in self._wanted.own:
                continue
            # 2. The first array that says where its cells are has the dimension, as it says it first;
            #    nobody has it where that coordinate turns out to lie along another one.
            if dim not in self._first and dim not in first:
                if coordinate is None:
                    first[dim] = place
                elif self._can_be_index(coordinate):
                    fits = self._wanted.maker.sizes(coordinate.source)[dim] == sizes[dim]
                    first[dim] = place if fits else None
            # 3. So have those that say the same, and all where nobody can have it.
            if self._first.get(dim) in (None, place):
                continue
            # 4. Others share one with those that say the same as they.
            if (dim, place) not in self._others:
                name = self._taken.take_dimension(f"{dim}_{array.node.name}", sizes[dim])
                self._others[dim, place] = name
            yield dim, self._others[dim, place]
        self._first |= first

    def _can_be_index(self, coordinate: Coordinate) -> bool:
        """Tell whether a coordinate can be called as the one dimension that it lies along."""
        name, wanted = coordinate.name, self._wanted
        if coordinate.source.dims != (name,) or "/" in name or name in wanted.reading.groups:
            return False
        return not wanted.is_unindexed(coordinate.source) and not wanted.error_of(coordinate)


def _places_along(
    wanted: Wanted, array: ArrayReading
) -> Iterator[tuple[str, Hashable, Coordinate | None]]:
    """Yield dimensions of an array, what says where its cells are, and the coordinate that does.

    That is the coordinate of the dimension; of a rotated grid both 2-D ones, for either.
    """
    rotated = []
    for coordinate in array.interpretation.coordinates:
        source = coordinate.source
        if source.dims == (coordinate.name,) and coordinate.name in array.dims:
            yield coordinate.name, wanted.identity_of(coordinate), coordinate
        elif isinstance(source, Computed) and isinstance(source.function, RotatedCentres):
            rotated.append(coordinate)
    for dim in rotated[0].source.dims if rotated else ():
        yield dim, tuple(map(wanted.identity_of, rotated)), None


def _renaming(array: ArrayReading, names: Mapping[str, str]) -> Finding:
    """Return the finding of dimensions that are others than those of the group."""
    changes = ", ".join(f"{old!r} -> {new!r}" for old, new in names.items())
    message = _(
        "other arrays of the group have other coordinate values along its "
        "dimensions; renamed {renamed}"
    ).format(renamed=changes)
    return noted(Kind.DIMENSION, message, array.node)
