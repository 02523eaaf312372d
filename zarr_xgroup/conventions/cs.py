"""The `cs` principal convention: coordinate sets for every axis of an array.

After OGC 18-005 (referencing by coordinates). What the JSON says is parsed in `cs_model`; here it
becomes the coordinates of an array with dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from zarr_xgroup.conventions.array import ArrayView, is_standing
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import is_geographic
from zarr_xgroup.conventions.cs_model import (
    ABBREVIATIONS,
    ATTRIBUTE,
    Axis,
    Boundaries,
    CoordinateSet,
    Cs,
    Described,
    Parametric,
    System,
    Values,
)
from zarr_xgroup.conventions.declaring import is_declared_by_array, is_declared_by_group
from zarr_xgroup.conventions.descriptions import Model
from zarr_xgroup.conventions.geolocation import (
    all_axes,
    fits,
    fitting_dims,
    geolocation_coordinates,
)
from zarr_xgroup.conventions.model import AxisNames, Coordinate, Interpretation
from zarr_xgroup.conventions.proj import crs_of
from zarr_xgroup.conventions.spatial_model import DIMENSIONS
from zarr_xgroup.conventions.spelling import alike
from zarr_xgroup.conventions.values import check_number, is_representable
from zarr_xgroup.errors import XGroupError, XGroupReferenceError
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import words_of
from zarr_xgroup.metadata.nodes import Fragment, Node, Part
from zarr_xgroup.variables.functions import Regular, RegularBounds
from zarr_xgroup.variables.sources import Computed, Literal, Offset, Source, Stored

#: What boundaries, and the dimension of the two sides of a cell, are called.
BOUNDS = "bounds"

_DEGREES = {"degree", "degrees", "deg", "°"} | {
    f"{word}{end}"
    for word in ("degree", "degrees")
    for end in ("_east", "_north", "_e", "_n", "east", "north", "e", "n")
}
_DIRECTIONS = {"east": "X", "west": "X", "north": "Y", "south": "Y"}


class CsHandler(ConventionHandler):
    """Attaches the coordinates that an array's ``cs`` declares for its axes."""

    tier = "principal"
    name = "cs"
    uuid: ClassVar[str | None] = "e4dbf0b7-7a00-4ce6-b23e-484292014ab4"
    repositories = ("R-CF/zarr_convention_cs", "R-CF/zarr_conventions_cs")
    implies = ("proj",)
    reads = ("cs", DIMENSIONS.key, "proj:", "geolocation", "multiscales")

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array declares the convention, or has a ``cs`` that its group declares."""
        if is_declared_by_array(cls, array):
            return True
        return array.attribute("cs") is not None and is_declared_by_group(cls, array)

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield ``cs`` of an array, and ``crs`` of a group that holds what arrays refer to."""
        yield from super().owned(attributes)
        if isinstance(attributes.get("crs"), Mapping):
            yield "crs"

    @classmethod
    def why_not(cls) -> str:
        """Return why it does not apply to an array, where the array's group declares it."""
        return _("it has no attribute 'cs'")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates of all axes of all coordinate reference systems, and the CRS."""
        cs = array.attribute("cs")
        if cs is None:
            place = Fragment(array.node, ("attributes", "cs"), None)
            lost = _("the coordinates of its dimensions")
            array.problem(place.error(_("is declared, but missing")), lost)
            return array.found(crs=array.derived(crs_of))
        model: Cs | None = array.read(ATTRIBUTE)
        if model is None:
            return array.found(crs=array.derived(crs_of))
        array.tell(array.node, model)
        coordinates = [
            coordinate
            for item in model.crs
            for coordinate in _system(array, array.node, item, model.id)
        ]
        return array.found(*coordinates, crs=array.derived(crs_of))

    def axis_names(self, array: ArrayView) -> AxisNames:
        """Return the names of the axes of ``cs``, and their lengths where these are told.

        What cannot be read is left out: it is told when the coordinates are interpreted.
        """
        if not self.applies(array):
            return AxisNames()
        return AxisNames(tuple(_axis_lengths(array)))


def _system(
    array: ArrayView, node: Node, item: System | Part, identity: Part | None
) -> Iterator[Coordinate]:
    """Yield the coordinates of one CRS; `identity` is the ``id`` that overrides its own."""
    if isinstance(item, Part):
        fragment = array.attempt(_object_at, array, item.at(node))
        if fragment is None:
            return
        node, item = fragment.node, array.parsed(System.read, fragment)
    array.tell(node, item)
    own = identity or item.id
    geographic = is_geographic(own and own.value, item.name and item.name.value)
    for name, axis in item.axes:
        yield from _axis(array, node, array.names.get(name, name), axis, geographic)
    if item.geolocation is not None:
        yield from geolocation_coordinates(
            array, item.geolocation.at(node), None if own is None else own.at(node)
        )


def _object_at(array: ArrayView, place: Fragment) -> Fragment:
    """Return the object that a reference leads to, or raise XGroupError."""
    fragment = array.resolver.fragment(place)
    fragment.as_object()
    return fragment


def _axis(
    array: ArrayView, node: Node, name: str, item: Axis | Part, geographic: bool
) -> Iterator[Coordinate]:
    if isinstance(item, Part):
        lost = partial(coordinate_named, name)
        fragment = array.attempt(_object_at, array, item.at(node), lost=lost)
        if fragment is None:
            return
        node, item = fragment.node, array.parsed(Axis.read, fragment)
    yield from _AlongAxis(array, node, name, item, geographic).coordinates()


@dataclass(frozen=True)
class _AlongAxis:
    """One axis of a CRS, for one array.

    Attributes
    ----------
    array : ArrayView
        The array.
    node : Node
        Where the axis is written.
    name : str
        What the axis is called in the array.
    axis : Axis
        What is written.
    geographic : bool
        Whether the CRS is known to be geographic.
    """

    array: ArrayView
    node: Node
    name: str
    axis: Axis
    geographic: bool

    def coordinates(self) -> Iterator[Coordinate]:
        """Yield a coordinate for each coordinate set, the positions where there is none."""
        is_bare = not self.is_dimension and not self._is_own(self.name)
        if is_bare and (self._is_misnamed() or self._is_left_behind()):
            return
        wrong = self.axis.wrong_with("coordinates")
        if wrong is not None:
            # Without its coordinates an axis would be taken to have none.
            self.array.problem(wrong.error_in(self.node), coordinate_named(self.name))
        elif not self.axis.coordinates and self.is_dimension:
            attributes = self._described(self.axis, self.node)
            yield Coordinate(self.name, self._regular(Regular(0, 1)), attributes)
        for index, item in enumerate(self.axis.coordinates):
            lost = partial(self._lost, index, item)
            coordinate = self.array.attempt(self._coordinate, index, item, lost=lost)
            if coordinate is not None:
                yield coordinate

    def _is_misnamed(self) -> bool:
        """Say so if an axis that is no dimension has several values, or probably has.

        A scalar coordinate needs no dimension. Of regular values and of positions the number is
        the dimension's: they are no scalar if a dimension without an axis is called nearly so.
        """
        if self.axis.wrong_with("coordinates") is not None:
            return False  # what its values are is not known
        axes = self.array.derived(_dims_of_axes)
        free = {dim: n for dim, n in self.array.sizes.items() if dim not in axes and n > 1}
        numbers = {self._number_of(item) for item in self.axis.coordinates} or {None}
        told = max((number for number in numbers if number is not None), default=1)
        if told <= 1 and (numbers != {None} or not alike(self.name, free)):
            return False
        error = self._misnaming(free, told if told > 1 else None)
        self.array.problem(error, coordinate_named(self.name))
        return True

    def _is_left_behind(self) -> bool:
        """Say so if an axis that is no dimension had one, along which the array was reduced.

        The number of regular values is that of the dimension. They are those of a scalar coordinate
        unless the group has itself the coordinates of the dimensions that the array still has: then
        it was written with its coordinates, and this is none of them.
        """
        axes = self.array.derived(_dims_of_axes)
        dims = self.array.dims
        bare = [dim for dim in dims if not self._is_stored(dim)]
        if not axes.isdisjoint(bare) or (dims and len(bare) == len(dims)):
            return False
        if all(self._number_of(item) is not None for item in self.axis.coordinates):
            return False
        message = _(
            "has regular values, but is no dimension of the array ({dims}), whose coordinates are in "
            "its group; a scalar coordinate has its value in 'explicit'"
        )
        error = self.axis.place(self.node).error(message.format(dims=", ".join(dims)))
        self.array.problem(error, coordinate_named(self.name))
        return True

    def _is_stored(self, dim: str) -> bool:
        """Tell whether the group has the coordinate of a dimension itself."""
        is_there = self.array.sibling(dim) is not None
        return is_there and tuple(self.array.siblings[dim]) == (dim,)

    def _misnaming(self, free: Mapping[str, int], number: int | None) -> XGroupError:
        """Return the error of an axis that is no dimension; `free` are those without an axis."""
        reason = _("has more than one value, but is no dimension of the array ({dims})").format(
            dims=", ".join(self.array.dims)
        )
        fitting = [dim for dim, size in free.items() if number in (None, size)]
        meant = alike(self.name, free) or (fitting[0] if fitting and len(free) == 1 else None)
        if meant is not None:
            reason = _("{reason}; was {meant!r} meant?").format(reason=reason, meant=meant)
        return self.axis.place(self.node).error(reason)

    def _number_of(self, item: CoordinateSet | Part) -> int | None:
        """Return the number of values of a coordinate set, None if it is that of the dimension."""
        node = self.node
        if isinstance(item, Part):
            fragment = self.array.quietly(_object_at, self.array, item.at(node))
            if fragment is None:
                return 1
            node, item = fragment.node, self.array.parsed(CoordinateSet.read, fragment)
        values = item.values
        if values is None:
            return None if item.parametric is not None and not item.wrong_with("values") else 1
        if values.explicit is not None:
            return len(values.explicit)
        if values.external is None:
            return 1 if values.regular is None else None
        value = values.external.at(node)
        resolve = self.array.resolver.array
        if self.array.quietly(resolve, value, self._is_along_axis) is not None:
            return 1
        found = self.array.quietly(resolve, value)
        shape = () if found is None else self.array.shape_of(found)
        return shape[0] if len(shape) == 1 else 1

    @property
    def is_dimension(self) -> bool:
        """Whether the array has a dimension along the axis; a scalar coordinate has none."""
        return self.name in self.array.dims

    @property
    def length(self) -> int:
        """The number of values along the axis."""
        return self.array.sizes.get(self.name, 1)

    @property
    def sides(self) -> str:
        """The dimension of the two sides of a cell, which is another one than that of the axis."""
        return BOUNDS if self.name != BOUNDS else f"{BOUNDS}_1"

    def _coordinate(self, index: int, item: CoordinateSet | Part) -> Coordinate:
        node = self.node
        if isinstance(item, Part):
            fragment = _object_at(self.array, item.at(node))
            node, item = fragment.node, self.array.parsed(CoordinateSet.read, fragment)
        attributes = self._described(item, node)
        name = self.name if index == 0 else item.name or self._numbered(index)
        source = self._valued(item, node, name)
        terms: Mapping[str, Coordinate] = {}
        if item.parametric is not None:
            terms = self._parametric(item.parametric, node)
            if item.parametric.formula:
                attributes.setdefault("standard_name", item.parametric.formula)
        coordinate = Coordinate(name, source, attributes, formula_terms=terms)
        if item.boundaries is None or self._has_own_bounds():
            return coordinate
        return self._bounded(coordinate, item.boundaries, node)

    def _numbered(self, index: int) -> str:
        return self.name if index == 0 else f"{self.name}_{index}"

    def _lost(self, index: int, item: CoordinateSet | Part) -> str:
        """Return what is lost with a set: its coordinate, by its name as far as that can be read."""
        own = "" if index == 0 or isinstance(item, Part) else item.name
        return coordinate_named(own or self._numbered(index))

    def _valued(self, item: CoordinateSet, node: Node, name: str) -> Source:
        """Return the values of a set; a parametric one that has none are positions."""
        wrong = item.wrong_with("values")
        if wrong is not None:
            raise wrong.error_in(node)
        if item.values is not None:
            return self._source(item.values, node, name)
        if not self.is_dimension:
            raise item.place(node, "values").error(_("is missing"))
        return self._regular(Regular(0, 1))

    # What a coordinate is told to be.

    def _described(self, item: Described, node: Node) -> dict[str, Any]:
        """Return the attributes that an axis and one of its sets give a coordinate."""
        axis = self.axis
        self._tell_of_parts(item, node)
        if item is not axis:
            self._tell_of_parts(axis, self.node)
        attributes = {**item.units, **axis.attributes, **item.attributes}
        abbreviation = self.axis.abbreviation.upper()
        direction = (item.direction or axis.direction).lower()
        if abbreviation in ABBREVIATIONS:
            attributes.setdefault("axis", abbreviation)
        if abbreviation == "Z" and direction in ("up", "down"):
            attributes.setdefault("positive", direction)
        along = abbreviation or _DIRECTIONS.get(direction)
        if self.geographic and str(attributes.get("units", "")).lower() in _DEGREES:
            if along == "X":
                attributes.setdefault("standard_name", "longitude")
            elif along == "Y":
                attributes.setdefault("standard_name", "latitude")
        return attributes

    def _tell_of_parts(self, item: Described, node: Node) -> None:
        """Say which members of an axis, or of one of its sets, cannot be used."""
        within = (it.all_wrong() for it in (item.unit, item.time) if isinstance(it, Model))
        for part in (*item.wrong, *chain.from_iterable(within)):
            key, *meant = (it.keys[len(item.keys)] for it in (part.place, *part.related))
            if "values" not in (key, *meant) and key != "coordinates":
                self.array.tell_of(node, [part], self._lost_part(key))

    def _lost_part(self, key: str) -> str:
        """Return what is lost with a member of an axis or of one of its sets."""
        if key == "boundaries":
            return _("the boundaries of {name!r}").format(name=self.name)
        if key == "parametric":
            return _("the formula of {name!r}").format(name=self.name)
        return _("{key!r} of axis {axis!r}").format(key=key, axis=self.name)

    # Values.

    def _source(self, values: Values, node: Node, name: str) -> Source:
        """Return what the values of a coordinate are.

        Of one that the group has itself they are only compared: there may be any number of them.
        """
        if values.regular is not None:
            first, step = values.regular
            if not is_representable(first + step * (self.length - 1)):
                raise values.place(node, "regular").error(_("has values beyond 64 bits"))
            return self._regular(Regular(first, step))
        if values.explicit is not None:
            if not (len(values.explicit) and self._is_own(name)):
                check_number(values.place(node, "explicit"), len(values.explicit), self.length)
            return self._literal(values.explicit)
        if values.external is None:
            raise next(it for it in values.wrong if it.kind is not None).error_in(node)
        reference = values.external.at(node)
        return self._external(self._referred(reference, name), reference)

    def _referred(self, reference: Fragment, name: str) -> Node:
        """Return the array that a reference leads to.

        Where it leads nowhere, the group's own coordinate of that name, or its array that is called
        like the axis and as long: a reference may be left behind when data are written again with
        their coordinates.
        """
        try:
            return self.array.resolver.array(reference, self._is_along_axis)
        except XGroupReferenceError:
            is_axis = name == self.name and self._own_shape() == [self.length]
            if is_axis or self._is_own(name):
                return self.array.instead_of(reference, name)
            raise

    def _own_shape(self) -> list[int] | None:
        document = self.array.sibling(self.name) if self.is_dimension else None
        return None if document is None else document["shape"]

    def _is_own(self, name: str) -> bool:
        """Tell whether the group has a coordinate of a name along the axis itself."""
        document = self.array.sibling(name)
        along = (self.name,) if self.is_dimension else ()
        if document is None or tuple(self.array.siblings[name]) != along:
            return False
        return is_standing(name, along, document.attributes)

    def _has_own_bounds(self) -> bool:
        """Tell whether the group's own coordinate of the axis names its boundaries."""
        document = self.array.sibling(self.name) if self._is_own(self.name) else None
        return document is not None and document.attributes.get("bounds") is not None

    def _regular(self, function: Regular) -> Computed:
        dtype = np.result_type(type(function.first), type(function.step)).str
        return Computed(function, (self.length,), dtype, (self.name,), first=not self.is_dimension)

    def _literal(self, values: np.ndarray[Any, Any]) -> Literal:
        if self.is_dimension:
            return Literal(values, (self.name,))
        return Literal(values[:1].reshape(()), ())

    def _external(self, node: Node, place: Fragment) -> Stored:
        is_scalar = self.array.shape_of(node) == ()
        along = () if is_scalar else (self.name,)
        first = not self.is_dimension and not is_scalar
        return self.array.stored(Stored(node, along, first=first), place)

    def _is_along_axis(self, node: Node) -> str | None:
        shape = list(self.array.shape_of(node))
        if shape == [self.length] or (not self.is_dimension and shape == []):
            return None
        return _("its shape is {shape}, the axis {axis!r} needs {needed}").format(
            shape=shape, axis=self.name, needed=[self.length]
        )

    # Boundaries.

    def _bounded(self, coordinate: Coordinate, item: Boundaries, node: Node) -> Coordinate:
        def lost() -> str:
            return _("the boundaries of {name!r}").format(name=coordinate.name)

        for wrong in item.wrong:
            key = "".join(wrong.place.keys[len(item.keys) :][:1])
            is_part = key in ("name", "attributes")
            part = _("{key!r} of {what}").format(key=key, what=lost()) if is_part else lost()
            self.array.tell_of(node, [wrong], part)
        bounds = self.array.attempt(self._bounds, coordinate, item, node, lost=lost)
        return replace(coordinate, bounds=bounds)

    def _bounds(self, coordinate: Coordinate, item: Boundaries, node: Node) -> Coordinate | None:
        if item.regular is not None:
            offsets = item.place(node, "regular")
            source: Source = self._regular_bounds(coordinate, item.regular, offsets)
        elif item.external is not None:
            source = self._external_bounds(item.external.at(node))
        else:
            return None  # told already
        return Coordinate(
            item.name or f"{coordinate.name}_{BOUNDS}",
            source,
            {**self._time_of(coordinate), **item.attributes},
        )

    def _time_of(self, coordinate: Coordinate) -> dict[str, Any]:
        """Return units and calendar of times: boundaries are decoded like their coordinate.

        With the units that it really has: those of its array, if it is one.
        """
        known = dict(coordinate.attributes)
        if isinstance(coordinate.source, Stored):
            document = self.array.document_of(coordinate.source.node)
            known |= {} if document is None else document.attributes
        if "since" not in str(known.get("units", "")):
            return {}
        return {key: known[key] for key in ("units", "calendar") if key in known}

    def _regular_bounds(
        self, coordinate: Coordinate, numbers: tuple[float, float], offsets: Fragment
    ) -> Source:
        (below, above), source = numbers, coordinate.source
        if isinstance(source, Computed):
            return self._computed_bounds(source, below, above, offsets)
        if not isinstance(source, Stored | Literal):
            raise offsets.error(_("gives offsets to values that are no numbers"))
        kind = self.array.describer.decoded_dtype(source).kind
        if kind not in "iuf":
            raise offsets.error(_("gives offsets to values that are no numbers"))
        if isinstance(source, Literal) and kind in "iu" and source.values.size:
            ends = [source.values.min().item(), source.values.max().item()]
            _check_bounds(ends, (below, above), offsets)
        return Offset(source, below, above, self.sides)

    def _computed_bounds(
        self, source: Computed, below: float, above: float, offsets: Fragment
    ) -> Computed:
        function: Regular = source.function
        ends = [function(position) for position in (0, self.length - 1)]
        _check_bounds(ends, (below, above), offsets)
        dtype = np.result_type(np.dtype(source.dtype), type(below), type(above)).str
        bounds = RegularBounds(function, below, above)
        shape, along = (self.length, 2), (self.name, self.sides)
        return Computed(bounds, shape, dtype, along, first=source.first)

    def _external_bounds(self, reference: Fragment) -> Stored:
        node = self.array.resolver.array(reference, self._are_bounds)
        if not self.is_dimension and self.array.shape_of(node) == (2,):
            return self.array.stored(Stored(node, (self.sides,)), reference)
        transposed = self._sides_first(node)
        along = (self.sides, self.name) if transposed else (self.name, self.sides)
        source = Stored(node, along, first=not self.is_dimension, transposed=transposed)
        return self.array.stored(source, reference)

    def _are_bounds(self, node: Node) -> str | None:
        shape = list(self.array.shape_of(node))
        fitting = [[self.length, 2], [2, self.length]]
        if shape in fitting or (not self.is_dimension and shape == [2]):
            return None
        needed = " / ".join(dict.fromkeys(str(choice) for choice in fitting))
        return _("its shape is {shape}, the boundaries of axis {axis!r} need {needed}").format(
            shape=shape, axis=self.name, needed=needed
        )

    def _sides_first(self, node: Node) -> bool:
        """Tell whether boundaries are stored as (2, n), as the document of the convention has it."""
        if self.length != 2:
            return self.array.shape_of(node)[0] == 2
        # Either way round: names of dimensions tell, and without them the document does.
        return self.array.own_dims_of(node)[0] != self.name

    # Parametric vertical coordinates.

    def _parametric(self, item: Parametric, node: Node) -> dict[str, Coordinate]:
        """Return the terms of a formula, as far as they can be found."""
        terms = {}
        what = _("the formula terms of {name!r}") if item.formula else _("the formula of {name!r}")
        for wrong in item.wrong:
            of_term = wrong.place.keys[len(item.keys) + 1 :]
            whole = what.format(name=self.name)
            self.array.tell_of(node, [wrong], self._lost_term(of_term[0]) if of_term else whole)
        for term, values in item.terms:
            lost = partial(self._lost_term, term)
            found = self.array.attempt(self._term, term, values, node, lost=lost)
            if found is not None:
                terms[term] = found
        return terms

    def _lost_term(self, term: str) -> str:
        return _("the term {term!r} of {name!r}").format(term=term, name=self.name)

    def _term(self, term: str, values: Values, node: Node) -> Coordinate:
        name = f"{self.name}_{term}"
        if values.external is not None:
            reference = values.external.at(node)
            found = self._referred_term(term, reference)
            return Coordinate(found.name, self._external_term(found, reference))
        is_scalar = self.length != 1 or dict(self.array.siblings).get(name) == {}
        if values.explicit is not None and len(values.explicit) == 1 and is_scalar:
            return Coordinate(name, Literal(values.explicit.reshape(()), ()))
        return Coordinate(name, self._source(values, node, name))

    def _referred_term(self, term: str, reference: Fragment) -> Node:
        """Return the array that a reference leads to.

        Where it leads nowhere, or to an array that does not fit, the one that ``formula_terms`` of
        the group's own coordinate names.
        """
        own = self._own_term(term)
        try:
            found = self.array.resolver.array(reference)
        except XGroupReferenceError:
            if own is None:
                raise
            return self.array.instead_of(reference, own.name)
        return found if own is None or fits(self.array, found) else own

    def _own_term(self, term: str) -> Node | None:
        """Return the array of the group that its own coordinate of the axis names as a term."""
        document = self.array.sibling(self.name) if self._is_own(self.name) else None
        words = [] if document is None else words_of(document.attributes, "formula_terms")
        name = dict(zip(words[::2], words[1::2], strict=False)).get(f"{term}:")
        if name is None or self.array.sibling(name) is None:
            return None
        return self.array.node.group.child(name)

    def _external_term(self, node: Node, reference: Fragment) -> Stored:
        shape, sizes = self.array.shape_of(node), self.array.sizes
        dims = fitting_dims(self.array, node)
        is_along = self.is_dimension and shape == (self.length,)
        if is_along and sizes.get(dims[0]) != self.length:
            dims = (self.name,)  # along the axis, whatever its own dimension is called
        is_scalar = shape == (1,) and sizes.get(dims[0]) != 1
        return self.array.stored(Stored(node, dims, first=is_scalar), reference)


def _check_bounds(ends: Iterable[float], offsets: tuple[float, float], place: Fragment) -> None:
    """Raise XGroupMetadataError unless 64 bits hold the boundaries of the least and the greatest value."""
    if not all(is_representable(end + n) for end in ends for n in offsets):
        raise place.error(_("gives boundaries beyond 64 bits"))


def _dims_of_axes(array: ArrayView) -> frozenset[str]:
    """Return the names of all axes of an array, as its dimensions are called."""
    return frozenset(array.names.get(name, name) for name, _axis in all_axes(array))


def _axis_lengths(array: ArrayView) -> Iterator[tuple[str, int | None]]:
    for name, axis in all_axes(array):
        model = array.parsed(Axis.read, axis) if isinstance(axis.value, Mapping) else None
        sets = () if model is None else model.coordinates
        lengths = {length for item in sets if (length := _told_length(array, axis.node, item))}
        if lengths != {1}:
            yield name, lengths.pop() if len(lengths) == 1 else None


def _told_length(array: ArrayView, node: Node, item: CoordinateSet | Part) -> int | None:
    values = None if isinstance(item, Part) else item.values
    if values is None:
        return None
    if values.explicit is not None:
        return len(values.explicit)
    if values.external is None:
        return None
    found = array.quietly(array.resolver.array, values.external.at(node))
    shape = () if found is None else array.shape_of(found)
    return int(shape[0]) if len(shape) == 1 else None
