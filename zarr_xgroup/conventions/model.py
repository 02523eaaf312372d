"""What conventions say of an array: the values that handlers return."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.sources import Source, Stored, renamed

if TYPE_CHECKING:
    from zarr_xgroup.conventions.crs import Crs


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of an array, before it is merged with those of others.

    Attributes
    ----------
    name : str
        The name it should have.
    source : Source
        What it is read from.
    attributes : mapping
        Added to those of the variable where it has none of the name.
    bounds : Coordinate or None
        Its cell boundaries, to be named by its attribute ``bounds``.
    formula_terms : mapping of str to Coordinate
        The terms of its parametric vertical coordinate, for ``formula_terms``.
    crs : Crs or None
        The CRS that its values are in, where that is not the CRS of the array's grid.
    links : tuple of Link
        What its own CF attributes refer to.
    """

    name: str
    source: Source
    attributes: Mapping[str, Any] = field(default_factory=dict)
    bounds: Coordinate | None = None
    formula_terms: Mapping[str, Coordinate] = field(default_factory=dict)
    crs: Crs | None = None
    links: tuple[Link, ...] = ()

    def renamed(self, names: Mapping[str, str]) -> Coordinate:
        """Return the coordinate along dimensions of other names, called by them where it was.

        Parameters
        ----------
        names : mapping of str to str
            Old to new name.
        """
        if not names:
            return self
        old = next((dim for dim in names if self.name == dim), None)
        old = old or next((dim for dim in names if self.name.startswith(f"{dim}_")), "")
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

    def parts(self) -> Iterator[Coordinate]:
        """Yield the coordinate and all that belongs to it: terms, boundaries, and theirs."""
        yield self
        companions = [*self.formula_terms.values(), *([self.bounds] if self.bounds else ())]
        for companion in companions:
            yield from companion.parts()

    @property
    def identity(self) -> Hashable:
        """What it is: equal for what is one and the same.

        An array is itself wherever it is used; numbers are told apart by name and unit, too.
        """
        if isinstance(self.source, Stored):
            return self.source
        units = self.attributes.get("units"), self.attributes.get("calendar")
        return (self.name, self.source, *map(str, units))


@dataclass(frozen=True)
class GridMapping:
    """The CRS of an array, and the transform of its grid.

    Attributes
    ----------
    crs : Crs
        The CRS.
    geotransform : str or None
        The transform as GDAL writes it: corner origin, ``c a b f d e``.
    """

    crs: Crs
    geotransform: str | None = None


@dataclass(frozen=True)
class Link:
    """A name or path in a CF attribute of an array, and what it leads to.

    Attributes
    ----------
    attribute : str
        The attribute.
    path : str
        The name or path, to be replaced by the name of what was attached.
    coordinate : Coordinate
        What is attached.
    """

    attribute: str
    path: str
    coordinate: Coordinate


@dataclass(frozen=True, eq=False)
class Interpretation:
    """What conventions say of an array.

    Attributes
    ----------
    coordinates : tuple of Coordinate
        Its coordinates, with boundaries and terms.
    crs : Crs or None
        Its coordinate reference system.
    overruled_crs : Crs or None
        The one that is declared where the data carry one themselves.
    geotransform : str or None
        The transform of its grid as GDAL writes it, if its coordinates follow from it.
    attributes : mapping
        Added to the array itself where it has none of the name.
    findings : tuple of Finding
        What was wrong, and what was chosen.
    referred : frozenset of Node
        Arrays that it refers to, besides the sources of its coordinates.
    links : tuple of Link
        What its CF attributes refer to.
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

    @property
    def grid_mapping(self) -> GridMapping | None:
        """The CRS with the transform."""
        return None if self.crs is None else GridMapping(self.crs, self.geotransform)
