"""The coordinates of a grid: arrays of its group, and what follows from its transform elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from zarr_xgroup.conventions.array import ArrayView, chunks_along
from zarr_xgroup.conventions.axes import axis_by_attributes, axis_by_name
from zarr_xgroup.conventions.model import Coordinate, DeclaredValues
from zarr_xgroup.conventions.proj import crs_of
from zarr_xgroup.conventions.standing import own_grid_mapping
from zarr_xgroup.conventions.transforms import (
    OF_A_CELL,
    Transform,
    horizontal_unit,
    transform_of_gdal,
)
from zarr_xgroup.findings import Place, coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.variables.functions import Regular, RotatedCentres
from zarr_xgroup.variables.sources import Computed, Stored

_NO_CRS: Mapping[str, Mapping[str, str]] = {axis: {"axis": axis} for axis in ("X", "Y")}


def coordinates_along(names: list[str]) -> str:
    """Return what is lost with a transform."""
    return _("coordinates along {names}").format(names=", ".join(names))


def has_coordinate(array: ArrayView, name: str) -> bool:
    """Tell whether the group has a 1-D array of the name and length of a dimension."""
    document = array.sibling(name)
    return document is not None and document.get("shape") == [array.sizes[name]]


@dataclass(frozen=True)
class Grid:
    """The grid of an array.

    Attributes
    ----------
    array : ArrayView
        The array.
    dims : tuple of str
        Its dimensions along Y and X.
    """

    array: ArrayView
    dims: tuple[str, str]

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of rows, and of columns."""
        return self.array.sizes[self.dims[0]], self.array.sizes[self.dims[1]]

    @property
    def own(self) -> list[str]:
        """The dimensions of which the group has a coordinate."""
        return [name for name in self.dims if has_coordinate(self.array, name)]

    @property
    def missing(self) -> list[str]:
        """The dimensions of which it has none."""
        own = self.own
        return [name for name in self.dims if name not in own]

    @property
    def own_of_the_axes(self) -> list[str]:
        """The dimensions whose coordinates in the group say themselves that they are along Y and X."""
        return [name for name in self.own if self._axis_said(name) == self._axis(name)]

    def _axis(self, name: str) -> str:
        return "Y" if name == self.dims[0] else "X"

    def _axis_said(self, name: str) -> str | None:
        return axis_by_attributes(self.attributes_of(name)) or axis_by_name(name)

    def attributes_of(self, name: str) -> Mapping[str, Any]:
        """Return the attributes of the group's own coordinate of a dimension, none without it."""
        document = self.array.sibling(name) if has_coordinate(self.array, name) else None
        return {} if document is None else document.attributes

    @property
    def axes(self) -> Mapping[str, Mapping[str, str]]:
        """What coordinates along X and Y are by the CRS."""
        crs = crs_of(self.array)
        return _NO_CRS if crs is None else crs.axis_attributes()

    def own_coordinates(self, names: list[str]) -> Iterator[Coordinate]:
        """Yield the group's own coordinates of dimensions."""
        for name in names:
            wanted = Stored(self.array.node.group.child(name), (name,))
            lost = partial(coordinate_named, name)
            source = self.array.attempt(self.array.stored, wanted, lost=lost)
            if source is not None:
                yield Coordinate(name, source, self.axes[self._axis(name)])

    def coordinates(self, transform: Transform, names: list[str]) -> Iterator[Coordinate]:
        """Yield the coordinates of dimensions that follow from a transform.

        From a rotated one 2-D coordinates follow; they are no axes, so ``axis`` does not describe them.
        They lie along (Y, X) whatever the order of the array's own axes: xarray goes by names.
        """
        affine = transform.affine
        if transform.is_rotated:
            chunks = chunks_along(self.array, self.dims)
            for axis, name, numbers in (
                ("X", "xc", (affine.a, affine.b, affine.c)),
                ("Y", "yc", (affine.d, affine.e, affine.f)),
            ):
                turned = RotatedCentres(*numbers, transform.centre)
                source = Computed(turned, self.sizes, "float64", self.dims, chunks=chunks)
                described = {key: it for key, it in self.axes[axis].items() if key != "axis"}
                yield Coordinate(name, source, described)
            return
        for name, origin, step in (
            (self.dims[0], affine.f, affine.e),
            (self.dims[1], affine.c, affine.a),
        ):
            if name in names:
                centres = Regular(origin, step, transform.centre)
                source = Computed(centres, (self.array.sizes[name],), "float64", (name,))
                yield Coordinate(name, source, self.axes[self._axis(name)])

    def geotransform(self, transform: Transform) -> str | None:
        """Return a transform as GDAL writes it, where coordinates cannot say it."""
        return None if self.own else transform.beside_coordinates(self.sizes)

    def declared_values(
        self, transform: Transform, place: Place, names: list[str]
    ) -> Iterator[DeclaredValues]:
        """Yield what a transform says of the group's own coordinates of dimensions.

        A rotated one says nothing of them, nor one whose unit is another one.
        """
        if transform.is_rotated:
            return
        for it in self.coordinates(transform, names):
            if self._is_in(it.name, it.attributes.get("units")):
                step = transform.affine.e if it.name == self.dims[0] else transform.affine.a
                yield DeclaredValues(it, place, abs(step) * OF_A_CELL)

    def _is_in(self, name: str, units: str | None) -> bool:
        """Tell whether a coordinate of the group is in a unit, as far as both are known."""
        written = self.attributes_of(name).get("units")
        return None in (written, units) or horizontal_unit(str(written)) == horizontal_unit(
            str(units)
        )

    def values_of_gdal(self, names: list[str]) -> Iterator[DeclaredValues]:
        """Yield what the ``GeoTransform`` of the group says of its own coordinates.

        It is left behind by tools that wrote it before data were cut, thinned or sorted.
        """
        found = own_geotransform(self.array) if names else None
        if found is not None:
            yield from self.declared_values(*found, names)


def own_geotransform(array: ArrayView) -> tuple[Transform, Place] | None:
    """Return the ``GeoTransform`` of the group's own grid mapping variable, and its place."""
    mapping = array.quietly(own_grid_mapping, array)
    written: Fragment | None = None if mapping is None else mapping.get("GeoTransform")
    if written is None:
        return None
    transform = array.quietly(transform_of_gdal, written)
    return None if transform is None else (transform, Place.of(written))
