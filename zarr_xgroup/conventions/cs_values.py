"""What the values, boundaries and formula terms of a coordinate set of `cs` are, for one array.

Rules, with their order:

1. A reference leads to an array that is as long as the axis. Where it leads nowhere, the group's own
   coordinate of the name is taken: references are left behind when data are written again.
2. Regular values, and positions where nothing is written, follow the length of the dimension: a scalar
   coordinate has none.
3. Regular boundaries are offsets from each value, and as exact as the values are.
4. The terms of a formula are what the group's own coordinate names, where the array that is
   referred to does not fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from zarr_xgroup.conventions.array import (
    ArrayView,
    own_array_instead,
    own_array_wins,
    own_dims_of,
    shape_of,
)
from zarr_xgroup.conventions.axes import fits, fitting_dims
from zarr_xgroup.conventions.cs_model import LENGTH, Axis, Boundaries, Parametric, Values
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.conventions.values import is_representable
from zarr_xgroup.errors import XGroupReferenceError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import words_of
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.functions import Regular, RegularBounds
from zarr_xgroup.variables.sources import Computed, Literal, Offset, Source, Stored

#: What boundaries, and the dimension of the two sides of a cell, are called.
BOUNDS = "bounds"


@dataclass(frozen=True)
class ArrayAxis:
    """An axis of a CRS, as one array has it.

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
    is_geographic : bool
        Whether the CRS is known to be geographic.
    """

    array: ArrayView
    node: Node
    name: str
    axis: Axis
    is_geographic: bool

    @property
    def is_dimension(self) -> bool:
        """Whether the array has a dimension along the axis; a scalar coordinate has none."""
        return self.name in self.array.dims

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of its coordinate."""
        return (self.name,) if self.is_dimension else ()

    @property
    def length(self) -> int:
        """The number of values along the axis."""
        return self.array.sizes.get(self.name, 1)

    @property
    def sides(self) -> str:
        """The dimension of the two sides of a cell, which is another one than that of the axis."""
        return BOUNDS if self.name != BOUNDS else f"{BOUNDS}_1"

    def own_coordinate(self, name: str) -> Document | None:
        """Return the group's own coordinate of a name along the axis, if it has one."""
        document = self.array.sibling(name)
        if document is None or tuple(self.array.siblings[name]) != self.dims:
            return None
        return document if own_array_wins(name, self.dims, document.attributes) else None

    def regular(self, function: Regular) -> Computed:
        """Return values that follow from positions."""
        dtype = np.result_type(type(function.first), type(function.step)).str
        first = not self.is_dimension
        return Computed(function, (self.length,), dtype, (self.name,), first=first)

    def misfit(self, node: Node) -> str | None:
        """Return why an array cannot be the values along the axis, None if it can."""
        shape = list(shape_of(self.array, node))
        if shape == [self.length] or (not self.is_dimension and shape == []):
            return None
        return _("its shape is {shape}, the axis {axis!r} needs {needed}").format(
            shape=shape, axis=self.name, needed=[self.length]
        )


# Values.


def source_of(axis: ArrayAxis, values: Values, node: Node, name: str) -> Source:
    """Return what the values of a coordinate are read from, or raise XGroupError.

    Parameters
    ----------
    axis : ArrayAxis
        The axis that the values are along.
    values : Values
        What is written.
    node : Node
        Where it is written.
    name : str
        What the coordinate is called. If the group has it itself, the values are only compared: there
        may be any number of them.
    """
    if values.regular is not None:
        first, step = values.regular
        if not axis.is_dimension and axis.own_coordinate(name) is None:
            # Left behind where the array was reduced along it, and written again.
            message = _(
                "has regular values, but is no dimension of the array ({dims}); a scalar coordinate "
                "has its value in 'explicit'"
            )
            raise axis.axis.place(axis.node).error(message.format(dims=", ".join(axis.array.dims)))
        if not is_representable(first + step * (axis.length - 1)):
            raise values.given(node).error(_("has values beyond 64 bits"))
        return axis.regular(Regular(first, step))
    if values.explicit is not None:
        _check_number(axis, len(values.explicit), values.given(node), name)
        if axis.is_dimension:
            return Literal(values.explicit, axis.dims)
        return Literal(values.explicit[:1].reshape(()), ())
    if values.external is None:
        raise next(it for it in values.wrong if it.topic is not None).at(node).as_error()
    return _stored(axis, values.external.at(node), name)


def _check_number(axis: ArrayAxis, number: int, place: Fragment, name: str) -> None:
    """Say that there are not as many values as the axis needs; raise it where they are not only compared."""
    if number == axis.length:
        return
    text = _("has {number} values, the axis needs {length}")
    text = text.format(number=number, length=axis.length)
    remedy = _("write {size} values, or refer to an array of them").format(size=axis.length)
    if not number or axis.own_coordinate(name) is None:
        raise place.error(text, LENGTH, remedy)
    axis.array.report(LENGTH, place, text, remedy)


def _stored(axis: ArrayAxis, reference: Fragment, name: str) -> Stored:
    """Return an array as values along the axis."""
    found = _referred(axis, reference, name)
    is_scalar = shape_of(axis.array, found) == ()
    first_only = not axis.is_dimension and not is_scalar
    source = Stored(found, () if is_scalar else (axis.name,), first=first_only)
    return axis.array.stored(source, reference)


def _referred(axis: ArrayAxis, reference: Fragment, name: str) -> Node:
    """Return the array that a reference leads to.

    Where it leads nowhere, the group's own coordinate of that name, or its array that is called
    like the axis and as long.
    """
    try:
        return axis.array.resolver.array(reference, axis.misfit)
    except XGroupReferenceError:
        own = axis.array.sibling(name) if axis.is_dimension and name == axis.name else None
        is_as_long = own is not None and own["shape"] == [axis.length]
        if is_as_long or axis.own_coordinate(name) is not None:
            return own_array_instead(axis.array, reference, name)
        raise


# Boundaries.


def bounds_of(
    axis: ArrayAxis, coordinate: Coordinate, written: Boundaries, node: Node
) -> Coordinate | None:
    """Return the boundaries of a coordinate; None, or XGroupError, where they cannot be used."""
    if written.regular is not None:
        place = written.given(node)
        source = _offset(axis, coordinate.source, written.regular, place)
    elif written.external is not None:
        source = _stored_bounds(axis, written.external.at(node))
    else:
        return None  # told already
    attributes = {**_time_of(axis.array, coordinate), **written.attributes}
    return Coordinate(written.name or f"{coordinate.name}_{BOUNDS}", source, attributes)


def _time_of(array: ArrayView, coordinate: Coordinate) -> dict[str, Any]:
    """Return units and calendar of times: boundaries are decoded like their coordinate.

    With the units that it really has: those of its array, if it is one.
    """
    known = dict(coordinate.attributes)
    if isinstance(coordinate.source, Stored):
        document = array.document_of(coordinate.source.node)
        known |= {} if document is None else document.attributes
    if "since" not in str(known.get("units", "")):
        return {}
    return {key: known[key] for key in ("units", "calendar") if key in known}


def _offset(
    axis: ArrayAxis, source: Source, offsets: tuple[float, float], place: Fragment
) -> Source:
    """Return boundaries that are offsets from each value."""
    if isinstance(source, Computed):
        function: Regular = source.function
        _check_bounds([function(0), function(axis.length - 1)], offsets, place)
        dtype = np.result_type(np.dtype(source.dtype), *map(type, offsets)).str
        bounds, dims = RegularBounds(function, *offsets), (axis.name, axis.sides)
        return Computed(bounds, (axis.length, 2), dtype, dims, first=source.first)
    if not isinstance(source, Stored | Literal):
        raise place.error(_("gives offsets to values that are no numbers"))
    kind = axis.array.maker.decoded_dtype(source).kind
    if kind not in "iuf":
        raise place.error(_("gives offsets to values that are no numbers"))
    if isinstance(source, Literal) and kind in "iu" and source.values.size:
        ends = [source.values.min().item(), source.values.max().item()]
        _check_bounds(ends, offsets, place)
    return Offset(source, *offsets, axis.sides)


def _check_bounds(ends: Iterable[float], offsets: tuple[float, float], place: Fragment) -> None:
    """Raise XGroupMetadataError unless 64 bits hold the boundaries of the least and the greatest value."""
    if not all(is_representable(end + n) for end in ends for n in offsets):
        raise place.error(_("gives boundaries beyond 64 bits"))


def _stored_bounds(axis: ArrayAxis, reference: Fragment) -> Stored:
    """Return an array as boundaries."""
    array = axis.array
    node = array.resolver.array(reference, partial(_misfit_of_bounds, axis))
    shape = shape_of(array, node)
    if not axis.is_dimension and shape == (2,):
        return array.stored(Stored(node, (axis.sides,)), reference)
    # Of two cells either way round: names of dimensions tell, and without them the document does.
    sides_first = shape[0] == 2 if axis.length != 2 else own_dims_of(array, node)[0] != axis.name
    dims = (axis.sides, axis.name) if sides_first else (axis.name, axis.sides)
    source = Stored(node, dims, first=not axis.is_dimension, transposed=sides_first)
    return array.stored(source, reference)


def _misfit_of_bounds(axis: ArrayAxis, node: Node) -> str | None:
    shape = list(shape_of(axis.array, node))
    fitting = [[axis.length, 2], [2, axis.length]]
    if shape in fitting or (not axis.is_dimension and shape == [2]):
        return None
    needed = " / ".join(dict.fromkeys(str(choice) for choice in fitting))
    return _("its shape is {shape}, the boundaries of axis {axis!r} need {needed}").format(
        shape=shape, axis=axis.name, needed=needed
    )


# Parametric vertical coordinates.


def terms_of(axis: ArrayAxis, written: Parametric, node: Node) -> dict[str, Coordinate]:
    """Return the terms of a formula, as far as they can be found."""
    array = axis.array
    whole = _("the formula terms of {name!r}") if written.formula else _("the formula of {name!r}")
    for wrong in written.wrong:
        term = wrong.place.keys[len(written.keys) + 1 :]
        lost = _lost_term(axis, term[0]) if term else whole.format(name=axis.name)
        array.report_wrong(node, [wrong], lost)
    found = {
        term: array.try_reporting(
            _term, axis, term, values, node, cost=partial(_lost_term, axis, term)
        )
        for term, values in written.terms
    }
    return {term: coordinate for term, coordinate in found.items() if coordinate is not None}


def _lost_term(axis: ArrayAxis, term: str) -> str:
    return _("the term {term!r} of {name!r}").format(term=term, name=axis.name)


def _term(axis: ArrayAxis, term: str, values: Values, node: Node) -> Coordinate:
    name = f"{axis.name}_{term}"
    if values.external is not None:
        reference = values.external.at(node)
        found = _referred_term(axis, term, reference)
        return Coordinate(found.name, _stored_term(axis, found, reference))
    is_scalar = axis.length != 1 or dict(axis.array.siblings).get(name) == {}
    if values.explicit is not None and len(values.explicit) == 1 and is_scalar:
        return Coordinate(name, Literal(values.explicit.reshape(()), ()))
    return Coordinate(name, source_of(axis, values, node, name))


def _referred_term(axis: ArrayAxis, term: str, reference: Fragment) -> Node:
    """Return the array that a reference leads to.

    Where it leads nowhere, or to an array that does not fit, the one that ``formula_terms`` of
    the group's own coordinate names.
    """
    own = _own_term(axis, term)
    try:
        found = axis.array.resolver.array(reference)
    except XGroupReferenceError:
        if own is None:
            raise
        return own_array_instead(axis.array, reference, own.name)
    return found if own is None or fits(axis.array, found) else own


def _own_term(axis: ArrayAxis, term: str) -> Node | None:
    """Return the array of the group that its own coordinate of the axis names as a term."""
    document = axis.own_coordinate(axis.name)
    words = [] if document is None else words_of(document.attributes, "formula_terms")
    name = dict(zip(words[::2], words[1::2], strict=False)).get(f"{term}:")
    if name is None or axis.array.sibling(name) is None:
        return None
    return axis.array.node.group.child(name)


def _stored_term(axis: ArrayAxis, node: Node, reference: Fragment) -> Stored:
    array = axis.array
    shape, dims = shape_of(array, node), fitting_dims(array, node)
    is_along = axis.is_dimension and shape == (axis.length,)
    if is_along and array.sizes.get(dims[0]) != axis.length:
        dims = axis.dims  # along the axis, whatever its own dimension is called
    is_scalar = shape == (1,) and array.sizes.get(dims[0]) != 1
    return array.stored(Stored(node, dims, first=is_scalar), reference)
