"""The sources of coordinates: the arrays, functions or literals of their values. A source identifies a coordinate.

Coordinates with unequal sources are never one variable. Coordinates with equal sources are one variable if their values are
also decoded in the same way. Sources are made only from metadata. They do not depend on zarr or xarray, and hold no data of
a store.

A new source is also added to `Source` and `renamed`, to `factory` (its sizes, length and variable) and to `_described`
(`report/explaining.py`). `own_arrays` decides when an own array replaces it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import force_setattr, replace

from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import Node


class _Keyed(msgspec.Struct, frozen=True, eq=False):
    """A source that is compared by its `_key`."""

    def _key(self) -> Hashable:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class Stored(msgspec.Struct, frozen=True):
    """An array of a store, with names for its dimensions.

    Attributes
    ----------
    node : Node
        The array.
    along : tuple of str
        A name for each of its axes, in stored order.
    first : bool
        Whether only the first element along the first axis is used.
    transposed : bool
        Whether its axes are reversed.
    decoded : bool
        Whether its values are decoded before other values are computed from them. Positions and ids are used as stored,
        because many stores have the fill value 0 although none of them is missing.
    """

    node: Node
    along: tuple[str, ...]
    first: bool = False
    transposed: bool = False
    decoded: bool = True

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the variable."""
        dims = self.along[::-1] if self.transposed else self.along
        return dims[1:] if self.first else dims


class Computed(_Keyed, frozen=True, eq=False):
    """Values computed by a function of positions, from numbers or from few values of arrays.

    Attributes
    ----------
    function : callable
        One of `zarr_xgroup.variables.functions`.
    shape : tuple of int
        The lengths of the axes along which it is computed.
    dtype : str
        The name of the values' type, as in `numpy.dtype`.
    along : tuple of str
        A name for each axis.
    first : bool
        Whether only the first element along the first axis is used.
    chunks : tuple of tuple
        Name and chunk length of each dimension, for dask. They are not part of the identity, because arrays with different
        chunks have the same coordinates.
    arrays : tuple of Stored
        Arrays that are passed to the function, lazy and decoded, before the positions.
    """

    function: Any
    shape: tuple[int, ...]
    dtype: str
    along: tuple[str, ...]
    first: bool = False
    chunks: tuple[tuple[str, int], ...] = ()
    arrays: tuple[Stored, ...] = ()

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the variable."""
        return self.along[1:] if self.first else self.along

    def _key(self) -> Hashable:
        return self.function, self.shape, self.dtype, self.along, self.first, self.arrays


class Literal(_Keyed, frozen=True, eq=False):
    """Values in the metadata.

    Attributes
    ----------
    values : numpy.ndarray
        The values, which must not be modified.
    dims : tuple of str
        A name for each axis.
    """

    values: np.ndarray[Any, Any]
    dims: tuple[str, ...]
    #: Computed from the values, and compared instead of them.
    content: Hashable = None

    def __post_init__(self) -> None:
        """Compute `content`."""
        values = self.values
        content = repr(values.tolist()) if values.dtype.hasobject else values.tobytes()
        force_setattr(self, "content", (values.shape, values.dtype.str, content))

    def _key(self) -> Hashable:
        return self.dims, self.content


class Offset(msgspec.Struct, frozen=True):
    """Cell boundaries of a stored or literal coordinate: its values plus two offsets."""

    values: Stored | Literal
    #: Offsets added to each value, in the unit of the decoded coordinate.
    below: float
    above: float
    #: The dimension of the two sides of a cell.
    side: str

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the variable."""
        return (*self.values.dims, self.side)


class HandlerVariable(_Keyed, frozen=True, eq=False):
    """A variable returned by the handler of a third party."""

    #: An `xarray.Variable`, which must not be modified.
    variable: Any
    #: Its identity: equal for variables that are read from the same source.
    key: Hashable

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the variable."""
        return tuple(self.variable.dims)

    def _key(self) -> Hashable:
        return self.key


class Unusable(msgspec.Struct, frozen=True):
    """The source of a declared coordinate that cannot be made.

    The error is reported, unless an array of the group takes the place of the coordinate.

    Attributes
    ----------
    finding : Finding
        The error.
    needed : tuple of tuple or None
        Name and size of each dimension of such an array; None if it may have any dimensions of the referring array.
    """

    finding: Finding
    needed: tuple[tuple[str, int], ...] | None

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the coordinate; empty if they are not known."""
        return tuple(dim for dim, _size in self.needed or ())


Source: TypeAlias = Stored | Computed | Literal | Offset | HandlerVariable | Unusable


def renamed(source: Source, names: Mapping[str, str]) -> Source:
    """Return a source with its dimensions renamed: `names` maps old names to new ones."""
    if isinstance(source, Offset):
        values: Any = renamed(source.values, names)
        return replace(source, values=values)
    if isinstance(source, Literal):
        return Literal(source.values, _renamed(source.dims, names))
    if isinstance(source, HandlerVariable):
        variable = source.variable.copy(deep=False)
        variable.dims = _renamed(source.dims, names)
        return HandlerVariable(variable, (source, variable.dims))
    if isinstance(source, Stored):
        return replace(source, along=_renamed(source.along, names))
    if isinstance(source, Unusable):
        pairs = source.needed and tuple((names.get(dim, dim), size) for dim, size in source.needed)
        return replace(source, needed=pairs)
    chunks = tuple((names.get(dim, dim), size) for dim, size in source.chunks)
    return replace(source, along=_renamed(source.along, names), chunks=chunks)


def _renamed(dims: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(names.get(dim, dim) for dim in dims)
