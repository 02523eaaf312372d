"""The coordinates of a grid: arrays of its group, and what follows from its transform elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from zarr_xgroup.conventions.array import ArrayView, chunks_along
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.conventions.proj import crs_of, own_grid_mapping
from zarr_xgroup.conventions.transforms import Transform, transform_of_gdal
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import axis_by_attributes, axis_by_name
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.variables.functions import Regular, RotatedCentres
from zarr_xgroup.variables.sources import Computed, Stored

_NO_CRS: Mapping[str, Mapping[str, str]] = {axis: {"axis": axis} for axis in ("X", "Y")}


def coordinates_along(names: list[str]) -> str:
    """Return what is lost with a transform."""
    return _("coordinates along {names}").format(names=", ".join(names))


def has_coordinate(array: ArrayView, name: str) -> bool:
    """Tell whether the group has a 1-D array that is called as the dimension that it lies along."""
    return array.sibling(name) is not None and list(array.siblings[name]) == [name]


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
            source = self.array.try_reporting(self.array.stored, wanted, cost=lost)
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
            if name in names and not math.isnan(step):
                centres = Regular(origin, step, transform.centre)
                source = Computed(centres, (self.array.sizes[name],), "float64", (name,))
                yield Coordinate(name, source, self.axes[self._axis(name)])

    def declared(self, transform: Transform | None, own: list[str]) -> Iterator[Coordinate]:
        """Yield what is declared of the grid's coordinates, also where the group's own ones stand.

        Parameters
        ----------
        transform : Transform or None
            The transform of the grid, if it is known.
        own : list of str
            The dimensions along Y and X whose coordinates in the group are meant, too.
        """
        if transform is None or transform.is_rotated:
            yield from self.own_coordinates(own)
        if transform is not None:
            yield from self.coordinates(transform, [*own, *self.missing])

    def geotransform(self, transform: Transform) -> str | None:
        """Return a transform as GDAL writes it, where coordinates cannot say it."""
        return None if self.own else transform.beside_coordinates(self.sizes)


def own_geotransform(array: ArrayView) -> Transform | None:
    """Return the ``GeoTransform`` of the group's own grid mapping variable."""
    mapping = array.try_silently(own_grid_mapping, array)
    written: Fragment | None = None if mapping is None else mapping.get("GeoTransform")
    return None if written is None else array.try_silently(transform_of_gdal, written)
