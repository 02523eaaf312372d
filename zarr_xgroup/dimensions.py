"""The dimension names of a group's arrays, settled so that they fit together.

Sources, in this order: ``dimension_names`` (Zarr v3), ``_ARRAY_DIMENSIONS`` (xarray's Zarr
encoding), ``dimrefs`` (NCZarr). An axis without a name gets ``phony_dim_N``, numbered as
h5netcdf does: in the order in which sizes first appear, one name per size and as many as
one array needs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count, permutations
from typing import Any

from zarr_xgroup.documents import Document
from zarr_xgroup.errors import XGroupDimensionWarning, XGroupMetadataError
from zarr_xgroup.i18n import _

#: xarray's Zarr encoding: the attribute that names a v2 array's dimensions.
DIMENSION_KEY = "_ARRAY_DIMENSIONS"
_NCZARR_KEYS = ("_NCZARR_ARRAY", "_nczarr_array")
_NCZARR_REFERENCES = ("dimrefs", "dimension_references")


@dataclass(frozen=True)
class Hints:
    """What an array's conventions say of its axes.

    Attributes
    ----------
    axes : tuple of tuple
        Names, each with the length where that is known.
    in_order : bool
        Whether, lengths allowing, an array with just these axes has them in this order.
    """

    axes: tuple[tuple[str, int | None], ...] = ()
    in_order: bool = False


@dataclass(frozen=True)
class Settled:
    """The dimensions of a group's arrays, by array.

    Attributes
    ----------
    dimensions : dict of str to tuple of str
        One name per axis. No name has two sizes within the group.
    named : dict of str to tuple of str
        The same before names with two sizes were told apart.
    warnings : dict of str to XGroupDimensionWarning
        For arrays whose dimensions had to be named or renamed.
    """

    dimensions: dict[str, tuple[str, ...]]
    named: dict[str, tuple[str, ...]]
    warnings: dict[str, XGroupDimensionWarning]


def settle_dimensions(
    arrays: Mapping[str, Document], group: str, hints: Mapping[str, Hints] | None = None
) -> Settled:
    """Return a name for every dimension of a group's arrays.

    Parameters
    ----------
    arrays : mapping of str to Document
        The group's arrays by name, in the order in which they take names. Each has a valid
        `shape`.
    group : str
        The path of the group, for messages.
    hints : mapping of str to Hints, optional
        By array, what its conventions say of its axes. Used for axes without a name where
        it leaves one possibility only.

    Returns
    -------
    Settled
    """
    declared = {name: declared_dimensions(document) for name, document in arrays.items()}
    hinted = {
        name: _with_hints(dimensions, arrays[name]["shape"], (hints or {}).get(name, Hints()))
        for name, dimensions in declared.items()
    }
    named = _with_phony_names(hinted, arrays)
    settled = _without_conflicts(named, arrays)
    warnings = {}
    for name, document in arrays.items():
        path = f"{group}/{name}" if group else name
        if declared[name] != named[name]:
            warnings[name] = _unnamed_warning(path, document, declared[name], settled[name])
        elif named[name] != settled[name]:
            warnings[name] = _conflict_warning(path, document, named[name], settled[name])
    return Settled(settled, named, warnings)


def declared_dimensions(document: Document) -> tuple[str | None, ...]:
    """Return the names that an array's document gives its axes, None for one without a name.

    Names that cannot be the array's (another number than it has axes, not strings) are none.

    Raises
    ------
    XGroupMetadataError
        If the document has no valid shape.
    """
    ndim = len(_shape(document))
    for names in _spellings(document):
        if isinstance(names, Sequence) and not isinstance(names, str) and len(names) == ndim:
            return tuple(name if isinstance(name, str) else None for name in names)
    return (None,) * ndim


def _shape(document: Document) -> Sequence[int]:
    shape = document.get("shape")
    if isinstance(shape, list) and all(
        isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in shape
    ):
        return shape
    message = _("'shape' must be a list of lengths, got {shape!r}").format(shape=shape)
    raise XGroupMetadataError(message)


def _spellings(document: Document) -> Iterator[Any]:
    yield document.get("dimension_names")
    attributes = document["attributes"]
    yield attributes.get(DIMENSION_KEY)
    for place in (document, attributes):
        for key in _NCZARR_KEYS:
            nczarr = place.get(key)
            if isinstance(nczarr, Mapping):
                for reference in _NCZARR_REFERENCES:
                    yield _basenames(nczarr.get(reference))


def _basenames(names: Any) -> Any:
    """NCZarr refers to dimensions by their fully qualified names, ``/group/name``."""
    if not isinstance(names, list):
        return None
    return [name.rpartition("/")[2] if isinstance(name, str) else None for name in names]


def _with_hints(
    declared: tuple[str | None, ...], shape: Sequence[int], hints: Hints
) -> tuple[str | None, ...]:
    """Name the axes without a name, if there is exactly one way to do so."""
    axes = [axis for axis, name in enumerate(declared) if name is None]
    free = [(name, length) for name, length in hints.axes if name not in declared]
    number = min(len(axes), len(free))
    ways = {
        tuple(sorted(zip(places, (name for name, _length in chosen), strict=True)))
        for places in combinations(axes, number)
        for chosen in permutations(free, number)
        if all(
            length in (None, shape[axis])
            for axis, (_name, length) in zip(places, chosen, strict=True)
        )
    }
    order = [name for name, _length in free]
    in_order = {way for way in ways if [name for _axis, name in way] == order}
    if hints.in_order and in_order:
        ways = in_order
    names = dict(ways.pop()) if len(ways) == 1 else {}
    return tuple(names.get(axis, name) for axis, name in enumerate(declared))


def _with_phony_names(
    declared: Mapping[str, tuple[str | None, ...]], arrays: Mapping[str, Document]
) -> dict[str, tuple[str, ...]]:
    needed: Counter[int] = Counter()
    for name, dimensions in declared.items():
        needed |= Counter(
            size
            for size, dimension in zip(arrays[name]["shape"], dimensions, strict=True)
            if dimension is None
        )
    taken = {dimension for dimensions in declared.values() for dimension in dimensions}
    free = (phony for number in count() if (phony := f"phony_dim_{number}") not in taken)
    phony_names = {size: [next(free) for _axis in range(times)] for size, times in needed.items()}
    named = {}
    for name, dimensions in declared.items():
        left = {size: iter(names) for size, names in phony_names.items()}
        named[name] = tuple(
            next(left[size]) if dimension is None else dimension
            for size, dimension in zip(arrays[name]["shape"], dimensions, strict=True)
        )
    return named


def _without_conflicts(
    named: Mapping[str, tuple[str, ...]], arrays: Mapping[str, Document]
) -> dict[str, tuple[str, ...]]:
    """Rename where a name has another size already; a dimension's own coordinate goes first."""
    # xarray refuses a dimension that is called as a scalar.
    sizes = {name: -1 for name, document in arrays.items() if not document["shape"]}
    settled = {}
    for name in sorted(named, key=lambda name: named[name] != (name,)):
        dimensions = []
        for dimension, size in zip(named[name], arrays[name]["shape"], strict=True):
            chosen = dimension
            while sizes.setdefault(chosen, size) != size:
                chosen = f"{chosen}_{name}"
            dimensions.append(chosen)
        settled[name] = tuple(dimensions)
    return settled


def _unnamed_warning(
    path: str,
    document: Document,
    declared: tuple[str | None, ...],
    settled: tuple[str, ...],
) -> XGroupDimensionWarning:
    axes = [axis for axis, dimension in enumerate(declared) if dimension is None]
    message = _(
        "Array /{path}: {pointer} gives axes {axes} of shape {shape} no usable name; its "
        "dimensions are called {dimensions}"
    ).format(
        path=path,
        pointer=_pointer(document),
        axes=axes,
        shape=list(document["shape"]),
        dimensions=list(settled),
    )
    return XGroupDimensionWarning(message)


def _conflict_warning(
    path: str, document: Document, named: tuple[str, ...], settled: tuple[str, ...]
) -> XGroupDimensionWarning:
    renamed = ", ".join(
        f"{old!r} -> {new!r}" for old, new in zip(named, settled, strict=True) if old != new
    )
    message = _(
        "Array /{path}: {pointer} gives shape {shape} the dimensions {named}, of which other "
        "arrays of the group have another size; renamed {renamed}"
    ).format(
        path=path,
        pointer=_pointer(document),
        shape=list(document["shape"]),
        named=list(named),
        renamed=renamed,
    )
    return XGroupDimensionWarning(message)


def _pointer(document: Document) -> str:
    if document["zarr_format"] == 3:
        return "/dimension_names"
    return f"/attributes/{DIMENSION_KEY}"
