"""What documents of Zarr say of dimensions, as far as conventions need it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.cs_model import ATTRIBUTE as CS
from zarr_xgroup.conventions.descriptions import got, shown, write
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.spatial_model import DIMENSIONS
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, report
from zarr_xgroup.metadata.dimensions import (
    DIMENSION_KEY,
    NCZARR,
    NCZARR_KEYS,
    NCZARR_REFERENCES,
    NZ,
    XARRAY,
    dimension_keys,
)
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Keys, Node
from zarr_xgroup.report.rules.subject import Subject
from zarr_xgroup.variables.fillvalues import OF_ITS_TYPE

NAMES = Rule("arrays/dimension-names", NZ, "Array: dimension_names")
SIZES = Rule("arrays/one-size-for-a-dimension", NZ, "Dimension: shared dimension constraint")
WRITTEN = Rule("arrays/array-dimensions", XARRAY, DIMENSION_KEY)
REFERENCES = Rule("arrays/nczarr-dimensions", NCZARR, "Dimension references")

RULES = (NAMES, SIZES, WRITTEN, REFERENCES, OF_ITS_TYPE)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield arrays without names of dimensions, or with several, and dimensions of two sizes."""
    if subject.is_array:
        yield from _names(subject)
        if subject.store.declares_something:
            yield from _only_as_v2(subject)
            yield from _written(subject)
    else:
        yield from _sizes(subject)


def _names(subject: Subject) -> Iterator[Finding]:
    """Yield that an array whose convention goes by the names of its dimensions has none for some."""
    nameless = sum(not name for name in subject.dims)
    if not nameless or not _goes_by_names(subject):
        return
    keys = dimension_keys(subject.document)
    text = f"{nameless} of {len(subject.dims)} dimensions have no name"
    place = Fragment(subject.node, keys, None)
    yield report(NAMES, place, text, write(keys[-1], _likely_names(subject)))


def _only_as_v2(subject: Subject) -> Iterator[Finding]:
    """Yield that an array of Zarr v3 names its dimensions where only one of v2 does."""
    names, document = subject.attribute(DIMENSION_KEY), subject.document
    is_lacking = document["zarr_format"] == 3 and document.get("dimension_names") is None
    if not is_lacking or names is None or names.value != list(subject.dims):
        return
    place = Fragment(subject.node, ("dimension_names",), None)
    text = "is missing; {key} names the dimensions of arrays of Zarr v2 only"
    remedy = f'write as "dimension_names" what {DIMENSION_KEY} has'
    yield report(NAMES, place, text.format(key=DIMENSION_KEY), remedy, severity="warning")


def _goes_by_names(subject: Subject) -> bool:
    has_cs = subject.attribute(CS.key) is not None and subject.is_declared(CsHandler)
    has_grid = len(subject.dims) > 1 and subject.places.get(DIMENSIONS.key) is not None
    return has_cs or (has_grid and subject.is_declared(SpatialHandler))


def _likely_names(subject: Subject) -> list[str]:
    """Return the names that another array of the group and shape has, else those of the grid."""
    known = {} if subject.group is None else subject.group.names_by_shape
    named = known.get(tuple(subject.document["shape"]))
    return _names_of_grid(subject) if named is None else [str(name) for name in named]


def _names_of_grid(subject: Subject) -> list[str]:
    """Return the names of an array's dimensions, the last two as a grid's are declared."""
    declared = subject.places.get(DIMENSIONS.key)
    grid = list((declared and DIMENSIONS.read(declared)[0]) or ())
    names = [name or f"dim_{axis}" for axis, name in enumerate(subject.dims)]
    return [*names[: -len(grid)], *grid] if grid and len(names) > 1 else names


def _written(subject: Subject) -> Iterator[Finding]:
    """Yield names of dimensions beside those that count which are others, or none."""
    for keys, names, rule in _others(subject):
        ndim, value = len(subject.dims), Fragment(subject.node, keys, names)
        remedy = write(keys[-1], _likely(subject, keys))
        if not (isinstance(names, list) and all(isinstance(it, str) for it in names)):
            yield report(rule, value, got("a list of names", names), remedy)
        elif len(names) != ndim:
            text = "names {count} dimensions, the array has {ndim}"
            yield report(rule, value, text.format(count=len(names), ndim=ndim), remedy)
        elif _are_others(names, subject.dims):
            text = "has other names than the array, which count: {dims}"
            text = text.format(dims=shown(list(subject.dims)))
            yield report(rule, value, text, remedy, severity="warning")


def _others(subject: Subject) -> Iterator[tuple[Keys, Any, Rule]]:
    """Yield where xarray and NCZarr name dimensions, and what is written there."""
    if subject.attribute(DIMENSION_KEY) is not None:
        yield ("attributes", DIMENSION_KEY), subject.attributes[DIMENSION_KEY], WRITTEN
    for place, key in product(((), ("attributes",)), NCZARR_KEYS):
        nczarr = (subject.attributes if place else subject.document).get(key)
        if isinstance(nczarr, OBJECT):
            for name in NCZARR_REFERENCES:
                if name in nczarr:
                    yield (*place, key, name), nczarr[name], REFERENCES
        elif nczarr is not None:
            yield (*place, key), nczarr, REFERENCES


def _are_others(names: Sequence[str], dims: Sequence[str | None]) -> bool:
    """Tell whether names, or paths, of dimensions end otherwise than those that count."""
    pairs = zip(names, dims, strict=True)
    return any(dim is not None and _basename(name) != _basename(dim) for name, dim in pairs)


def _basename(path: str) -> str:
    return path.rpartition("/")[2]


def _likely(subject: Subject, keys: Keys) -> Any:
    """Return what may be written: the names, or for NCZarr paths in an object."""
    names = _likely_names(subject)
    if keys[-1] == DIMENSION_KEY:
        return names
    group = str(subject.node.group).rstrip("/")
    paths = [f"{group}/{name}" for name in names]
    return paths if keys[-1] in NCZARR_REFERENCES else {NCZARR_REFERENCES[-1]: paths}


def _sizes(group: Subject) -> Iterator[Finding]:
    """Yield arrays by which a dimension of the group has another size than by an earlier one."""
    if not group.store.declares_something:
        return
    sizes: dict[str, tuple[int, str]] = {}
    others: defaultdict[tuple[str, int], list[Subject]] = defaultdict(list)
    arrays = sorted(group.arrays, key=lambda it: it.dims != (it.node.name,))
    for array in arrays:
        for name, size in array.sizes.items():
            first, _path = sizes.setdefault(name, (size, str(array.node)))
            if size != first:
                others[name, size].append(array)
    wrong = _of_conventions(others)
    for array in arrays:
        if array.node in wrong:
            yield _other_sizes(array, wrong[array.node], sizes)


def _of_conventions(
    others: Mapping[tuple[str, int], Sequence[Subject]],
) -> Mapping[Node, list[str]]:
    """Return which dimensions of arrays count as wrong: those that any array needs by a convention."""
    wrong: defaultdict[Node, list[str]] = defaultdict(list)
    for (name, _size), found in others.items():
        if not name.startswith("/") and any(map(_follows_something, found)):
            for array in found:
                wrong[array.node].append(name)
    return wrong


def _follows_something(array: Subject) -> bool:
    return _goes_by_names(array) or array.attribute(CONVENTIONS_KEY) is not None


def _other_sizes(
    array: Subject, names: Collection[str], sizes: Mapping[str, tuple[int, str]]
) -> Finding:
    """Return that dimensions of an array have other sizes than by earlier arrays of the group."""
    message = "the dimension {name!r} has {size} positions here, but {first} in {other}"
    told = []
    for name in names:
        first, other = sizes[name]
        size = array.sizes[name]
        told.append(message.format(name=name, size=size, first=first, other=other))
    keys = dimension_keys(array.document)
    renamed = [
        f"{it}_{array.sizes[it]}" if it is not None and it in names else it for it in array.dims
    ]
    remedy = f"{write(keys[-1], renamed)}, or put the arrays of each size into a group of their own"
    return report(
        SIZES, Fragment(array.node, keys, None), "; ".join(told), remedy, severity="warning"
    )
