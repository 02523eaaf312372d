"""The values that handlers return: the coordinates, CRS and links that conventions give an array."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.sources import Source, Stored, renamed


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of an array, before it is merged with the coordinates of other arrays.

    Attributes
    ----------
    name : str
        The name that the coordinate variable should have.
    source : Source
        The stored array that its values are read from, or what they are computed from.
    attributes : mapping
        Attributes that the variable gets unless it has attributes of these names.
    bounds : Coordinate or None
        The cell boundaries, which the attribute ``bounds`` will name.
    formula_terms : mapping of str to Coordinate
        The terms of a parametric vertical coordinate, which the attribute ``formula_terms`` will name.
    crs : Crs or None
        The CRS of its values, if that is not the CRS of the array's grid.
    links : tuple of Link
        The names and paths in its own CF attributes, with the coordinates that they refer to.
    places_cells : bool
        Whether its values are horizontal positions, whatever its attributes. In a DataTree, a group with such a
        coordinate along several dimensions does not get the positions of a group above.
    """

    name: str
    source: Source
    attributes: Mapping[str, Any] = field(default_factory=dict)
    bounds: Coordinate | None = None
    formula_terms: Mapping[str, Coordinate] = field(default_factory=dict)
    crs: Crs | None = None
    links: tuple[Link, ...] = ()
    places_cells: bool = False

    def renamed(self, names: Mapping[str, str]) -> Coordinate:
        """Return the coordinate with its dimensions renamed.

        If the coordinate has the name of a dimension, or that name with ``_`` and more behind it, it is renamed, too.

        Parameters
        ----------
        names : mapping of str to str
            New names of dimensions, by the old ones.
        """
        if not names:
            return self
        # The exact name takes precedence: of dimensions "x" and "x_bnds", the coordinate "x_bnds" belongs to the latter.
        prefixes = (dim for dim in names if self.name.startswith(f"{dim}_"))
        old = self.name if self.name in names else next(prefixes, "")
        return replace(
            self,
            name=f"{names.get(old, old)}{self.name.removeprefix(old)}",
            source=renamed(self.source, names),
            bounds=None if self.bounds is None else self.bounds.renamed(names),
            formula_terms={name: term.renamed(names) for name, term in self.formula_terms.items()},
            links=tuple(
                replace(link, coordinate=link.coordinate.renamed(names)) for link in self.links
            ),
        )

    def parts(self) -> list[Coordinate]:
        """Return the coordinate, its formula terms and bounds, and recursively their formula terms and bounds."""
        companions = [*self.formula_terms.values(), *([self.bounds] if self.bounds else [])]
        return [self, *(part for companion in companions for part in companion.parts())]

    @property
    def identity(self) -> Hashable:
        """A key that is equal for coordinates that can be one variable.

        A stored array is the same coordinate under any name. Computed values also need the same name, units and
        calendar: equal numbers may mean different things.
        """
        if isinstance(self.source, Stored):
            return self.source
        units = self.attributes.get("units"), self.attributes.get("calendar")
        return (self.name, self.source, *map(str, units))


@dataclass(frozen=True)
class Link:
    """A name or path in a CF attribute of an array, and the coordinate that it refers to.

    Attributes
    ----------
    attribute : str
        The name of the attribute.
    path : str
        The name or path in it, to be replaced by the name that the coordinate has in the Dataset.
    coordinate : Coordinate
        The coordinate that the name or path refers to.
    """

    attribute: str
    path: str
    coordinate: Coordinate


@dataclass(frozen=True, eq=False)
class Interpretation:
    """What conventions declare for an array.

    Attributes
    ----------
    coordinates : tuple of Coordinate
        The coordinates of the array, with their bounds and formula terms.
    crs : Crs or None
        The coordinate reference system of the array.
    overruled_crs : Crs or None
        The CRS that attributes declare, if the array's grid mapping variable, which takes precedence, has one, too.
    geotransform : str or None
        The affine transform of the array's grid as GDAL writes it, if the coordinates are computed from it.
    attributes : mapping
        Attributes that the array gets unless it has attributes of these names.
    findings : tuple of Finding
        The mistakes in the metadata, and the choices that were made.
    referred : frozenset of Node
        Arrays that the array refers to, besides the sources of its coordinates.
    links : tuple of Link
        The names and paths in CF attributes of the array, with the coordinates that they refer to.
    references : tuple of Followed
        The references that were followed.
    """

    coordinates: tuple[Coordinate, ...] = ()
    crs: Crs | None = None
    geotransform: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    referred: frozenset[Node] = frozenset()
    links: tuple[Link, ...] = ()
    references: tuple[Followed, ...] = ()
    overruled_crs: Crs | None = None
