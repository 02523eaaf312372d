"""Merging the coordinates of a group's arrays into one set of variables with one name each.

The same thing reached twice is one variable; two things never share a name. The only merge.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xarray as xr

from zarr_xgroup.conventions.base import Coordinate, GridMapping
from zarr_xgroup.crs import Crs, conflicting_grid_mapping
from zarr_xgroup.documents import copy_of
from zarr_xgroup.errors import (
    XGroupDimensionWarning,
    XGroupNameWarning,
    XGroupWarning,
)
from zarr_xgroup.i18n import _
from zarr_xgroup.renaming import with_renamed_dimensions
from zarr_xgroup.resolver import Node

#: What tools expect the variable of a CRS to be called.
SPATIAL_REF = "spatial_ref"


@dataclass
class Merge:
    """The variables of one group: its own arrays, and what these refer to.

    Attributes
    ----------
    group : Node
        The group.
    variables : dict of str to xarray.Variable
        At first those of the group's own arrays, which keep their names.
    first_class : set of str
        Own arrays that stay data variables even where others refer to them.
    reserved : set of str
        Names that no coordinate may take (those of child groups).
    coordinates : set of str
        The names of all coordinates.
    identities : dict of str to hashable
        What each coordinate is, by name.
    referrers : dict of str to str
        The arrays that brought the coordinates that are no arrays of the group.
    sources : dict of str to Node
        The arrays that these are read from.
    notes : list of tuple
        The path of an array, and what was decided where it left a choice.
    warnings : list of XGroupWarning
        Where names or dimensions had to be changed.
    """

    group: Node
    variables: dict[str, xr.Variable]
    first_class: set[str]
    reserved: set[str] = field(default_factory=set)
    coordinates: set[str] = field(default_factory=set)
    identities: dict[str, Hashable] = field(default_factory=dict)
    referrers: dict[str, str] = field(default_factory=dict)
    sources: dict[str, Node] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[XGroupWarning] = field(default_factory=list)
    _names: dict[Hashable, str] = field(default_factory=dict)
    _crs: dict[str, GridMapping] = field(default_factory=dict)
    _complete: set[tuple[str, GridMapping]] = field(default_factory=set)
    _renamed: dict[tuple[Node, str, int], str] = field(default_factory=dict)

    def add(self, coordinate: Coordinate, referrer: Node) -> str:
        """Add a coordinate of an array, with its boundaries and terms.

        Parameters
        ----------
        coordinate : Coordinate
            The coordinate.
        referrer : Node
            The array.

        Returns
        -------
        str
            The name that it has.
        """
        name = self._names.get(coordinate.identity)
        if name is None:
            name = self._own_name(coordinate) or self._take_name(coordinate, referrer)
            self._names[coordinate.identity] = name
            self.identities[name] = coordinate.identity
        if name not in self.first_class:
            self.coordinates.add(name)
        attributes = dict(coordinate.attributes)
        if coordinate.bounds is not None:
            attributes["bounds"] = self.add(coordinate.bounds, referrer)
        if coordinate.formula_terms:
            terms = {
                term: self.add(found, referrer) for term, found in coordinate.formula_terms.items()
            }
            attributes["formula_terms"] = " ".join(f"{term}: {terms[term]}" for term in terms)
        variable = self.variables[name]
        for key, value in attributes.items():
            variable.attrs.setdefault(key, copy_of(value))
        return name

    def add_grid_mapping(self, array: str, mapping: GridMapping, referrer: Node) -> str | None:
        """Name an array's CRS by its ``grid_mapping``, in a scalar coordinate.

        An array of the group that serves as such is completed, never doubled.

        Returns
        -------
        str or None
            The name of that coordinate; None if there is one that says something else.
        """
        attributes = self.variables[array].attrs
        named = attributes.get("grid_mapping")
        if not (isinstance(named, str) and named.isidentifier()):
            named = None
        if named is not None and self._is_no_grid_mapping(named):
            return None  # it names something else: not ours to change
        name = named or self._grid_mapping_name(mapping)
        if name not in self.variables:
            self.variables[name] = xr.Variable((), np.int64(0))
            self.identities[name] = ("crs", mapping.crs.text)
        self._crs.setdefault(name, mapping)
        self.coordinates.add(name)
        attributes.setdefault("grid_mapping", name)
        if (name, mapping) in self._complete:
            return name
        conflict = self._conflict(name, mapping)
        if conflict is not None:
            message = _(
                "the CRS ({key}) is another one than that of {name!r} ({conflict}), which was left "
                "as it is"
            )
            text = message.format(key=mapping.crs.key, name=name, conflict=conflict)
            self.notes.append((str(referrer), text))
            return None
        given = self.variables[name].attrs
        for key, value in mapping.crs.grid_mapping().items():
            given.setdefault(key, value)
        if mapping.geotransform is not None:
            given.setdefault("GeoTransform", mapping.geotransform)
        self._complete.add((name, mapping))
        return name

    def _is_no_grid_mapping(self, name: str) -> bool:
        """Tell whether a name is that of a variable that cannot stand for a CRS: no scalar."""
        return name in self.reserved or (name in self.variables and self.variables[name].ndim > 0)

    def _conflict(self, name: str, mapping: GridMapping) -> str | None:
        """Return what of an existing grid mapping variable is of another CRS."""
        attributes = self.variables[name].attrs
        for key in ("crs_wkt", "spatial_ref"):
            given = attributes.get(key)
            if isinstance(given, str) and Crs(key, given).differs(mapping.crs):
                return key
        return conflicting_grid_mapping(attributes, mapping.crs.grid_mapping())

    def _grid_mapping_name(self, mapping: GridMapping) -> str:
        """Return the variable of the same CRS and grid, or a name for one."""
        for name, known in self._crs.items():
            if known.crs.is_same(mapping.crs) and known.geotransform == mapping.geotransform:
                return name
        if SPATIAL_REF not in self._crs and not self._is_no_grid_mapping(SPATIAL_REF):
            if SPATIAL_REF not in self.variables:
                return SPATIAL_REF
            if self._conflict(SPATIAL_REF, mapping) is None:
                return SPATIAL_REF
        return next(
            name
            for name in _possible_names(mapping.crs.variable_name or SPATIAL_REF, "")
            if self._is_free(name)
        )

    def _own_name(self, coordinate: Coordinate) -> str | None:
        """Return the name of the group's own array that a coordinate is, if it can serve as such."""
        source = coordinate.source
        if source is None or source.group != self.group or source.name not in self.variables:
            return None
        name, dims = source.name, coordinate.variable.dims
        if name in self.first_class:
            return name if coordinate.as_stored and self.variables[name].dims == dims else None
        claimed = name in self.coordinates
        self.coordinates.add(name)
        if not coordinate.as_stored:
            return None
        if dims == (coordinate.name,) != (name,):
            return None  # a dimension coordinate has to be called as its dimension
        if self.variables[name].dims != dims:
            if claimed or not self._fits(coordinate.variable, name):
                return None
            self.variables[name] = coordinate.variable
            self.__dict__.pop("_all_sizes", None)
            coordinate.variable.encoding.pop("source", None)
        return name

    def _fits(self, variable: xr.Variable, but: str) -> bool:
        sizes = self._sizes(but)
        return all(sizes.get(str(dim), size) == size for dim, size in variable.sizes.items())

    def _sizes(self, but: str) -> dict[str, int]:
        """Return the sizes of dimensions of all variables but one."""
        return {
            str(dim): size
            for name, variable in self.variables.items()
            if name != but
            for dim, size in variable.sizes.items()
        }

    @cached_property
    def _all_sizes(self) -> dict[str, int]:
        """The sizes of all dimensions; deleted when a variable gets other dimensions."""
        return self._sizes("")

    def _take_name(self, coordinate: Coordinate, referrer: Node) -> str:
        origin = referrer.group if coordinate.source is None else coordinate.source.group
        along = coordinate.variable.dims
        name = next(
            name
            for name in _possible_names(coordinate.name, origin.path)
            if self._is_free(name) and (along == (name,) or name not in self._all_sizes)
        )
        if name != coordinate.name:
            message = _(
                "Array {array}: its coordinate {wanted!r} is called {name!r}, because "
                "{wanted!r} is something else here or cannot be a name"
            ).format(array=referrer, wanted=coordinate.name, name=name)
            self.warnings.append(XGroupNameWarning(message))
        self.referrers[name] = str(referrer)
        if coordinate.source is not None:
            self.sources[name] = coordinate.source
        variable = self._with_fitting_dimensions(coordinate, name, origin, referrer)
        self.variables[name] = variable
        self._all_sizes.update({str(dim): size for dim, size in variable.sizes.items()})
        return name

    def _is_free(self, name: str) -> bool:
        # xarray's trees take no name with a slash.
        return "/" not in name and name not in self.variables and name not in self.reserved

    def _with_fitting_dimensions(
        self, coordinate: Coordinate, name: str, origin: Node, referrer: Node
    ) -> xr.Variable:
        """Rename dimensions that have another size in the group."""
        variable = coordinate.variable
        names = {
            str(dim): self._other_dimension(str(dim), size, name, origin)
            for dim, size in variable.sizes.items()
            if not self._can_have(str(dim), size)
        }
        if not names:
            return variable
        message = _(
            "Array {array}: dimensions of its coordinate {name!r} have another size here, and "
            "were renamed {renamed}"
        ).format(
            array=referrer,
            name=name,
            renamed=", ".join(f"{old!r} -> {new!r}" for old, new in names.items()),
        )
        self.warnings.append(XGroupDimensionWarning(message))
        return with_renamed_dimensions(variable, names)

    def _other_dimension(self, dimension: str, size: int, name: str, origin: Node) -> str:
        """Return a free name for a dimension, the same for all arrays of its group that have it."""
        key = (origin, dimension, size)
        if key not in self._renamed:
            self._renamed[key] = next(
                other
                for other in _possible_names(f"{dimension}_{name}", "")
                if self._can_have(other, size) and other not in self.variables
            )
        return self._renamed[key]

    def _can_have(self, dimension: str, size: int) -> bool:
        """Tell whether a dimension of this name and size fits among what there is."""
        if dimension in self.variables and self.variables[dimension].ndim == 0:
            return False  # xarray refuses a dimension that is called as a scalar
        return self._all_sizes.get(dimension, size) == size


def _possible_names(wanted: str, group: str) -> Iterable[str]:
    """Yield the names a variable may have, best first: design, section "Names"."""
    yield wanted
    wanted = wanted.replace("/", "_")
    prefix = group.replace("/", "_")
    if prefix:
        wanted = f"{prefix}_{wanted}"
        yield wanted
    number = 1
    while True:
        yield f"{wanted}_{number}"
        number += 1
