"""The results of handlers: the coordinates, CRS and links that conventions declare for an array."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.sources import Source, Stored, Unusable, renamed


class Coordinate(msgspec.Struct, frozen=True):
    """One coordinate of an array, before it is merged with the coordinates of other arrays.

    Attributes
    ----------
    name : str
        The name that the coordinate variable should have.
    source : Source
        The stored array from which its values are read, or the function that computes them.
    attributes : mapping
        Attributes that the variable gets unless it has attributes of these names.
    bounds : Coordinate or None
        The cell boundaries, which the attribute ``bounds`` will name.
    formula_terms : mapping of str to Coordinate
        The terms of a parametric vertical coordinate, which the attribute ``formula_terms`` will name.
    crs : Crs or None
        The CRS of its values, if it differs from the CRS of the array's grid.
    links : tuple of Link
        The names and paths in its own CF attributes, with the coordinates to which they refer.
    places_cells : bool
        Whether its values are known to be horizontal positions, whatever its attributes. In a DataTree, a group with
        such a coordinate along several dimensions does not inherit the positions of a parent group.
    axis : str
        The dimension whose declaration it is part of, if it is not the first coordinate of that declaration; else "".
    """

    name: str
    source: Source
    attributes: Mapping[str, Any] = msgspec.field(default_factory=dict)
    bounds: Coordinate | None = None
    formula_terms: Mapping[str, Coordinate] = msgspec.field(default_factory=dict)
    crs: Crs | None = None
    links: tuple[Link, ...] = ()
    places_cells: bool = False
    axis: str = ""

    def renamed(self, names: Mapping[str, str]) -> Coordinate:
        """Return the coordinate with its dimensions renamed.

        A coordinate that has the name of a dimension is renamed, too; also one whose name continues with ``_`` and more,
        unless it is the name of a stored array.

        Parameters
        ----------
        names : mapping of str to str
            New names of dimensions, by the old ones.
        """
        if not names:
            return self
        # An exact match takes precedence: the coordinate "x_bnds" belongs to the dimension "x_bnds", not to "x". A stored
        # array such as "x_wind" keeps its name.
        has_own_name = isinstance(self.source, Stored) and self.source.node.name == self.name
        prefixes = (dim for dim in names if self.name.startswith(f"{dim}_") and not has_own_name)
        old = self.name if self.name in names else next(prefixes, "")
        return replace(
            self,
            name=f"{names.get(old, old)}{self.name.removeprefix(old)}",
            source=renamed(self.source, names),
            axis=names.get(self.axis, self.axis),
            bounds=None if self.bounds is None else self.bounds.renamed(names),
            formula_terms={name: term.renamed(names) for name, term in self.formula_terms.items()},
            links=tuple(
                replace(link, coordinate=link.coordinate.renamed(names)) for link in self.links
            ),
        )

    def parts(self) -> list[Coordinate]:
        """Return the coordinate with its formula terms and bounds, and recursively theirs."""
        companions = [*self.formula_terms.values(), *([self.bounds] if self.bounds else [])]
        return [self, *(part for companion in companions for part in companion.parts())]

    @property
    def is_dimension_coordinate(self) -> bool:
        """Whether it is the coordinate of its dimension: 1-D, with the name of the dimension."""
        return self.source.dims == (self.name,)

    @property
    def identity(self) -> Hashable:
        """A key that is equal for coordinates that can be one variable.

        A stored array is the same coordinate under any name. Computed values also need the same name, units and
        calendar, because equal numbers may have different meanings.
        """
        if isinstance(self.source, Stored):
            return self.source
        units = self.attributes.get("units"), self.attributes.get("calendar")
        return (self.name, self.source, *map(str, units))


class Link(msgspec.Struct, frozen=True):
    """A name or path in a CF attribute of an array, and the coordinate to which it refers.

    Attributes
    ----------
    attribute : str
        The name of the attribute.
    path : str
        The name or path, to be replaced by the name of the coordinate in the Dataset.
    coordinate : Coordinate
        The coordinate to which the name or path refers.
    """

    attribute: str
    path: str
    coordinate: Coordinate


class Interpretation(msgspec.Struct, frozen=True, eq=False):
    """The declarations of conventions about an array.

    Attributes
    ----------
    coordinates : tuple of Coordinate
        The coordinates of the array, with their bounds and formula terms.
    crs : Crs or None
        The coordinate reference system of the array.
    overruled_crs : Crs or None
        The CRS that attributes declare, if the CRS of the array's grid mapping variable takes precedence over it.
    geotransform : str or None
        The affine transform of the array's grid in GDAL's form, if the coordinates are computed from it.
    attributes : mapping
        Attributes that the array gets unless it has attributes of these names.
    findings : tuple of Finding
        The mistakes in the metadata, and the choices that were made.
    referred : frozenset of Node
        Arrays to which the array refers, besides the sources of its coordinates.
    links : tuple of Link
        The names and paths in CF attributes of the array, with the coordinates to which they refer.
    references : tuple of Followed
        The references that were resolved.
    """

    coordinates: tuple[Coordinate, ...] = ()
    crs: Crs | None = None
    geotransform: str | None = None
    attributes: Mapping[str, Any] = msgspec.field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    referred: frozenset[Node] = frozenset()
    links: tuple[Link, ...] = ()
    references: tuple[Followed, ...] = ()
    overruled_crs: Crs | None = None

    @property
    def has_findings(self) -> bool:
        """Whether there are findings, or coordinates that cannot be made."""
        parts = (part for coordinate in self.coordinates for part in coordinate.parts())
        return bool(self.findings) or any(isinstance(part.source, Unusable) for part in parts)


class Inherited(msgspec.Struct, frozen=True):
    """The names of an array's dimensions, and the coordinates of dimensions that ancestors define."""

    #: The names in its document. A name with a leading slash is replaced by the name of the ancestor's dimension.
    declared: tuple[str | None, ...]
    #: The names in the Dataset of dimensions of ancestors whose names the group itself uses.
    renamed: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: Coordinates of the ancestors' dimensions, under the dimension's name in the group, with links to the arrays that
    #: their attributes name.
    coordinates: tuple[Coordinate, ...] = ()
    findings: tuple[Finding, ...] = ()
    #: The coordinates that names with a leading slash refer to, or the groups if they have no such coordinate.
    references: tuple[Followed, ...] = ()
    #: Whether all names are the array's own.
    is_own: bool = True
