"""The sources of coordinates: what their values are read or computed from. A source is a coordinate's identity.

Coordinates with unequal sources never are one variable. Coordinates with equal sources are one variable if their attributes
do not differ in how the values are decoded. Sources are made from metadata alone: they know neither zarr nor xarray, and hold
no data that could be read.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from zarr_xgroup.metadata.nodes import Node


@dataclass(frozen=True)
class Stored:
    """An array of a store, as it lies along dimensions.

    Attributes
    ----------
    node : Node
        The array.
    along : tuple of str
        A name for each of its axes, in the order in which it is stored.
    first : bool
        Whether only the first element along the first axis is meant.
    transposed : bool
        Whether its axes are meant in reverse order.
    decoded : bool
        Whether its values are decoded before other values are computed from them. Positions and ids are used as stored:
        none of them is missing, though many stores have the fill value 0.
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

    @property
    def is_whole(self) -> bool:
        """Whether the variable is the array unchanged, except for names of dimensions."""
        return not self.first and not self.transposed


@dataclass(frozen=True)
class Computed:
    """Values that are computed from numbers, or from few values of arrays: a function of positions.

    Attributes
    ----------
    function : callable
        One of `zarr_xgroup.variables.functions`.
    shape : tuple of int
        The lengths of the axes along which it is computed.
    dtype : str
        The type of the values, as `numpy.dtype` spells it.
    along : tuple of str
        A name for each axis.
    first : bool
        Whether only the first element along the first axis is meant.
    chunks : tuple of tuple
        Name and length of the chunks in which dask should compute it, by dimension. They are not part of its identity:
        arrays with different chunks have the same coordinates.
    arrays : tuple of Stored
        The arrays whose values the function needs: it gets these, lazy and decoded, before positions.
    """

    function: Any
    shape: tuple[int, ...]
    dtype: str
    along: tuple[str, ...]
    first: bool = False
    chunks: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    arrays: tuple[Stored, ...] = ()

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the variable."""
        return self.along[1:] if self.first else self.along


@dataclass(frozen=True)
class Literal:
    """Values that are written in the metadata.

    Attributes
    ----------
    values : numpy.ndarray
        The values, which must not be modified.
    dims : tuple of str
        A name for each axis.
    """

    values: np.ndarray[Any, Any] = field(compare=False)
    dims: tuple[str, ...]
    _key: Hashable = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute once the key by which the values are compared."""
        values = self.values
        content = repr(values.tolist()) if values.dtype.hasobject else values.tobytes()
        object.__setattr__(self, "_key", (values.shape, values.dtype.str, content))


@dataclass(frozen=True)
class Offset:
    """Cell boundaries of a coordinate that has to be read: its values plus two offsets."""

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


@dataclass(frozen=True)
class HandlerVariable:
    """A variable that a third party's handler returned."""

    #: An `xarray.Variable`, which must not be modified.
    variable: Any = field(compare=False)
    #: Its identity: equal for variables that are read from the same source.
    key: Hashable

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the variable."""
        return tuple(self.variable.dims)


Source: TypeAlias = Stored | Computed | Literal | Offset | HandlerVariable


def renamed(source: Source, names: Mapping[str, str]) -> Source:
    """Return a source with its dimensions renamed: `names` has new names by the old ones."""
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
    chunks = tuple((names.get(dim, dim), size) for dim, size in source.chunks)
    return replace(source, along=_renamed(source.along, names), chunks=chunks)


def _renamed(dims: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(names.get(dim, dim) for dim in dims)
