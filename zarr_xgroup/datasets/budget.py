"""How much is read while a store is opened: a few lines of metadata must not fill the memory.

xarray reads each dimension coordinate as a whole to build its default index. The group's own
arrays it reads with any engine. What references and computed coordinates add to them is limited
here: a coordinate beyond the budget stays lazy, under a name that is not its dimension's.

Of other times xarray reads the first and the last value to find out how they decode, and with each
of these a whole chunk: times beyond the budget are left undecoded.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.datasets.interpretation import ArrayReading, GroupReading
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Source, Stored

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker

T = TypeVar("T", bound=Hashable)

#: What all of an open may read for indexes in addition to what each coordinate may, and of times.
MOST_CHUNKS = 10_000
MOST_BYTES = 2**27
#: What each coordinate may: then the sum follows from the number of documents.
FREE_CHUNKS = 1
FREE_BYTES = 2**17
#: What the first and the last value of one of the group's own arrays may take. Up to it they are
#: read as by any engine; no compressor of Zarr makes chunks that long.
MOST_OWN_BYTES = 2**31
#: How much a string or a time of a calendar that numpy has not takes in memory, and, as it takes
#: as much longer to make, in time.
_OBJECT_BYTES = 512

_NUMPY_CALENDARS = ("standard", "gregorian", "proleptic_gregorian")


@dataclass(frozen=True, order=True)
class Cost:
    """What it takes to read a variable as a whole: bytes in memory, and chunks."""

    bytes: int
    chunks: int

    @property
    def is_free(self) -> bool:
        """Whether it is so low that any number of such costs is borne."""
        return self.bytes <= FREE_BYTES and self.chunks <= FREE_CHUNKS

    @classmethod
    def of(cls, shape: Collection[int], item: int, chunks: Iterable[Any]) -> Cost:
        """Return the cost of an array with items of so many bytes, in chunks of a shape."""
        lengths = list(chunks)
        size = max(prod(shape), prod(map(_longest, lengths)))
        return cls(size * item, prod(map(_number, shape, lengths)))

    @classmethod
    def of_ends(cls, shape: Collection[int], item: int, chunks: Iterable[Any]) -> Cost:
        """Return the cost of the first and the last value, which come in chunks."""
        lengths = list(chunks)
        count = min(2, prod(map(_number, shape, lengths)))
        return cls(count * prod(map(_longest, lengths)) * item, count)


def _number(size: int, chunk: int | Sized) -> int:
    """Return how many chunks there are along an axis: of one length, or of these lengths."""
    return -(-size // max(chunk, 1)) if isinstance(chunk, int) else len(chunk)


def _longest(chunk: int | Collection[int]) -> int:
    return chunk if isinstance(chunk, int) else max(chunk, default=0)


def beyond_budget(costs: Mapping[T, Cost]) -> frozenset[T]:
    """Return what one open does not read of what costs so much: the cheapest comes first."""
    spent = Cost(0, 0)
    beyond = set()
    counted = [(cost, key) for key, cost in costs.items() if not cost.is_free]
    for cost, key in sorted(counted, key=itemgetter(0)):
        total = Cost(
            spent.bytes + max(0, cost.bytes - FREE_BYTES),
            spent.chunks + max(0, cost.chunks - FREE_CHUNKS),
        )
        if total.bytes > MOST_BYTES or total.chunks > MOST_CHUNKS:
            beyond.add(key)
        else:
            spent = total
    return frozenset(beyond)


def too_long_to_index(readings: Iterable[GroupReading], maker: Maker) -> frozenset[Hashable]:
    """Return the values (`values_of`) that an open does not read for indexes: the shortest are read first."""
    costs: dict[Hashable, Cost] = {}
    for coordinate in _indexed(readings):
        cost = _cost(coordinate, maker)
        if cost is not None:
            values = values_of(coordinate.source)
            costs[values] = max(costs.get(values, cost), cost)
    return beyond_budget(costs)


def _indexed(readings: Iterable[GroupReading]) -> Iterator[Coordinate]:
    """Yield the coordinates that xarray would read for indexes, or that are compared with such."""
    for reading in readings:
        if reading.like is not None:
            continue  # it has the same ones
        own = {array.node.name: array.node for array in reading.arrays}
        for array in reading.arrays:
            for coordinate in _attached(array):
                yield from _along_themselves(coordinate)
                if (bounds := coordinate.bounds) is not None and bounds.name in own:
                    stored = Stored(own[bounds.name], bounds.source.dims)
                    yield replace(bounds, source=stored)


def _attached(array: ArrayReading) -> Iterator[Coordinate]:
    yield from array.interpretation.coordinates
    yield from (link.coordinate for link in array.interpretation.links)
    yield from array.inherited.coordinates


def _along_themselves(coordinate: Coordinate) -> Iterator[Coordinate]:
    """Yield a coordinate and its terms as far as they are called as their dimension."""
    if coordinate.source.dims == (coordinate.name,):
        yield coordinate
    for term in coordinate.formula_terms.values():
        yield from _along_themselves(term)


def values_of(source: Source) -> Hashable:
    """Return what tells the values of a source, but not which dimensions they lie along."""
    if isinstance(source, Stored):
        return source.node
    if isinstance(source, Computed):
        return source.function, source.shape, source.dtype
    return source


def _cost(coordinate: Coordinate, maker: Maker) -> Cost | None:
    """Return what it takes to read a coordinate, None if its values are there."""
    source = coordinate.source
    attributes = coordinate.attributes
    if isinstance(source, Computed):
        shape, dtype, chunks = source.shape, np.dtype(source.dtype), source.shape
    elif isinstance(source, HandlerVariable):
        shape, dtype = source.variable.shape, source.variable.dtype
        chunks = source.variable.encoding.get("chunks") or shape
    elif isinstance(source, Stored):
        try:
            template = maker.template(source.node, source.along)
        except XGroupMetadataError:
            return None  # told where it is attached
        shape, dtype = template.shape, template.dtype
        chunks = template.encoding.get("chunks") or shape
        attributes = {**attributes, **maker.attributes(source.node)}
    else:
        return None
    needs_objects = attributes.get("calendar", "standard") not in _NUMPY_CALENDARS
    is_object = needs_objects or dtype.kind in "OT"
    return Cost.of(shape, _OBJECT_BYTES if is_object else dtype.itemsize, chunks)
