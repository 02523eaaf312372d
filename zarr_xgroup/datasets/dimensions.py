"""Names for the dimensions of a group's arrays, assigned so that they fit together.

An axis without a name gets ``phony_dim_N``, numbered as h5netcdf does: in the order in which
sizes first appear, one name per size and as many as one array needs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from zarr_xgroup.conventions.model import AxisNames
from zarr_xgroup.findings import Finding, Kind, noted
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import dimension_keys
from zarr_xgroup.metadata.nodes import Node, pointer_to

#: How names of dimensions begin that nothing names, as h5netcdf has it.
_PHONY = "phony_dim_"

Names = tuple[str | None, ...]
#: What a convention calls an axis, with its length where that is known.
Hint = tuple[str, int | None]


@dataclass(frozen=True)
class Assigned:
    """The dimensions of a group's arrays, by array."""

    #: One name per axis. No name has two sizes within the group.
    dims: Mapping[str, tuple[str, ...]]
    #: The same before names with two sizes were told apart.
    named: Mapping[str, tuple[str, ...]]
    findings: Mapping[str, Finding]


def assign_dimensions(
    arrays: Mapping[str, Mapping[str, Any]],
    group: Node,
    declared: Mapping[str, Names],
    hints: Mapping[str, AxisNames],
) -> Assigned:
    """Return a name for every dimension of a group's arrays, in the order in which these take names.

    Their documents have valid shapes. `declared` are the names that there are, `hints` what conventions
    say of axes: used for those without a name where it leaves one possibility only.
    """
    shapes = {name: document["shape"] for name, document in arrays.items()}
    hinted = {
        name: _with_hints(dims, shapes[name], hints.get(name, AxisNames()))
        for name, dims in declared.items()
    }
    named = _with_phony_names(hinted, shapes)
    assigned = _without_conflicts(named, shapes)
    findings = {}
    for name, document in arrays.items():
        node = group.child(name)
        if declared[name] != named[name]:
            findings[name] = _unnamed(node, document, declared[name], assigned[name])
        elif named[name] != assigned[name]:
            findings[name] = _conflict(node, document, named[name], assigned[name])
    return Assigned(assigned, named, findings)


def _with_hints(
    declared: tuple[str | None, ...], shape: Sequence[int], hints: AxisNames
) -> tuple[str | None, ...]:
    """Name the axes without a name, if there is one way to do so, or the names are of the last."""
    if None not in declared:
        return declared
    axes = [(axis, shape[axis]) for axis, name in enumerate(declared) if name is None]
    free = list(dict.fromkeys(hint for hint in hints.axes if hint[0] not in declared))
    names = _in_order(axes[::-1], free[::-1]) if hints.in_order else None
    if names is None:
        names = _only_way(axes, free)
    return tuple(names.get(axis, name) for axis, name in enumerate(declared))


def _in_order(axes: Iterable[tuple[int, int]], free: Iterable[Hint]) -> dict[int, str] | None:
    """Give each name to the first axis that fits after the one before, or return None.

    With both in reverse, the last axes that fit have the names.
    """
    left = iter(axes)
    names = {}
    for name, length in free:
        axis = next((axis for axis, size in left if length in (None, size)), None)
        if axis is None:
            return None
        names[axis] = name
    return names


def _only_way(axes: Sequence[tuple[int, int]], free: Sequence[Hint]) -> dict[int, str]:
    """Return which axis has which name, nothing if there is no way or more than one.

    Either all axes or all names are used. Two axes of one size, or two names of one length, could
    be exchanged; so could a name without a length and any other, unless one axis is left for it.
    """
    by_size, by_length = _grouped(axes), _grouped(free)
    shared = by_size.keys() & by_length.keys()
    if any(len(by_size[size]) > 1 or len(by_length[size]) > 1 for size in shared):
        return {}
    names: dict[int, str] = {by_size[size][0]: by_length[size][0] for size in shared}
    left, flexible = [axis for axis, _size in axes if axis not in names], by_length.get(None, [])
    if len(left) == len(flexible) == 1:
        names[left[0]] = flexible[0]
    elif flexible:
        return {}
    return names if len(names) == min(len(axes), len(free)) else {}


def _grouped(pairs: Iterable[tuple[Any, int | None]]) -> dict[int | None, list[Any]]:
    """Return what is of each length."""
    found: defaultdict[int | None, list[Any]] = defaultdict(list)
    for item, length in pairs:
        found[length].append(item)
    return found


def _with_phony_names(
    declared: Mapping[str, tuple[str | None, ...]], shapes: Mapping[str, Sequence[int]]
) -> dict[str, tuple[str, ...]]:
    """Name the axes without a name, the same for all arrays that have an axis of that size."""
    needed: dict[int, int] = {}
    for name, dims in declared.items():
        axes = zip(shapes[name], dims, strict=True)
        for size, times in Counter(size for size, dim in axes if dim is None).items():
            needed[size] = max(times, needed.get(size, 0))
    taken = {dim for dims in declared.values() for dim in dims}
    free = (phony for number in count() if (phony := f"{_PHONY}{number}") not in taken)
    names = {size: [next(free) for _axis in range(times)] for size, times in needed.items()}
    return {name: _named(dims, shapes[name], names) for name, dims in declared.items()}


def _named(
    dims: Names, shape: Sequence[int], names: Mapping[int, Iterable[str]]
) -> tuple[str, ...]:
    """Return the names of an array's dimensions, given those for axes of each size without one."""
    left = {size: iter(names.get(size, ())) for size in shape}
    axes = zip(shape, dims, strict=True)
    return tuple(next(left[size]) if dim is None else dim for size, dim in axes)


def _without_conflicts(
    named: Mapping[str, tuple[str, ...]], shapes: Mapping[str, Sequence[int]]
) -> dict[str, tuple[str, ...]]:
    """Rename where a name has another size already; a dimension's own coordinate goes first."""
    # xarray refuses a dimension that is called as a scalar.
    sizes = {name: -1 for name, shape in shapes.items() if not shape}
    assigned = {}
    known: dict[tuple[str, int], str] = {}  # arrays that share a size share the name
    for name in sorted(named, key=lambda name: named[name] != (name,)):
        dimensions = []
        for dimension, size in zip(named[name], shapes[name], strict=True):
            chosen = known.get((dimension, size), dimension)
            while sizes.setdefault(chosen, size) != size:
                chosen = f"{chosen}_{name}"
            known[dimension, size] = chosen
            dimensions.append(chosen)
        assigned[name] = tuple(dimensions)
    return assigned


def _unnamed(
    node: Node, document: Mapping[str, Any], declared: Names, assigned: tuple[str, ...]
) -> Finding:
    axes = [axis for axis, dim in enumerate(declared) if dim is None]
    message = _(
        "Array {path}: {pointer} gives axes {axes} of shape {shape} no usable name; its "
        "dimensions are called {dimensions}"
    ).format(
        path=node,
        pointer=pointer_to(dimension_keys(document)),
        axes=axes,
        shape=list(document["shape"]),
        dimensions=list(assigned),
    )
    found = _finding(node, document, message)
    if not all(name in declared or name.startswith(_PHONY) for name in assigned):
        return found  # a convention names some
    several = _("their dimensions have no usable names, and are called phony_dim_0 and so on")
    return replace(found, of_several=f"{{names}}: {several}")


def _conflict(
    node: Node,
    document: Mapping[str, Any],
    named: tuple[str, ...],
    assigned: tuple[str, ...],
) -> Finding:
    renamed = ", ".join(
        f"{old!r} -> {new!r}" for old, new in zip(named, assigned, strict=True) if old != new
    )
    message = _(
        "Array {path}: {pointer} gives shape {shape} the dimensions {named}, of which other "
        "arrays of the group have another size; renamed {renamed}"
    ).format(
        path=node,
        pointer=pointer_to(dimension_keys(document)),
        shape=list(document["shape"]),
        named=list(named),
        renamed=renamed,
    )
    return _finding(node, document, message)


def _finding(node: Node, document: Mapping[str, Any], text: str) -> Finding:
    return noted(Kind.DIMENSION, text, node, pointer_to(dimension_keys(document)))
