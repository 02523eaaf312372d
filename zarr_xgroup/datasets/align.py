"""Fitting the groups of a hierarchy into one DataTree.

xarray refuses a tree in which a node does not align with its parents (sizes of dimensions,
values of indexed coordinates). Such a dimension is renamed in that node, with a warning.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any

import xarray as xr

from zarr_xgroup._compat import has_index_option
from zarr_xgroup.datasets.build import renamed_encoding
from zarr_xgroup.findings import Finding, Kind, noted
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import words_of


@dataclass(frozen=True)
class _Inherited:
    """What a node's parents define: sizes of dimensions, and who has their coordinates."""

    sizes: dict[str, int]
    coordinates: dict[str, str]


def align_with_parents(
    datasets: Mapping[str, xr.Dataset],
    identities: Mapping[str, Mapping[str, Hashable]],
    root: str = "",
) -> tuple[dict[str, xr.Dataset], list[Finding]]:
    """Rename what would keep groups from forming a tree; each such group and coordinate is told.

    `datasets` are by absolute path in the tree, parents before their children; `root` is the path of
    its root in the store. `identities` are what coordinates are, by path and name: those that are the
    same need not be compared. Others are only where both have an index: nothing is read for it.
    """
    aligned = dict(datasets)
    inherited: dict[str, _Inherited] = {}
    findings = []
    groups: defaultdict[str, list[str]] = defaultdict(list)  # by the last segment
    above = f"/{root}" if root else ""
    hidden: dict[str, list[str]] = {}
    children: defaultdict[str, set[str]] = defaultdict(set)
    for path in datasets:
        name = path.rpartition("/")[2]
        groups[name].append(path)
        children[_parent(path)].add(name)
    for path in datasets:
        parents = inherited.get(_parent(path), _Inherited({}, {}))
        reasons = _size_conflicts(aligned[path], parents)
        others = _others(aligned, identities, path, parents)
        reasons |= _value_conflicts(aligned, path, others)
        if reasons:
            names = _new_names(aligned[path], path, reasons, parents, children[path])
            aligned[path] = rename_dimensions(aligned[path], names)
            findings.append(_finding(f"{above}{path}", names, reasons))
        for name, group in _called_as_groups(aligned[path], path, groups):
            taken = {*aligned[path].variables, *aligned[path].sizes, *groups}
            new = _numbered(name, taken, first=f"{name}_1")
            aligned[path] = aligned[path].drop_indexes(name).rename_vars({name: new})
            findings.append(_called_otherwise(f"{above}{path}", name, new, f"{above}{group}"))
        hidden[path] = _hidden(aligned[path], parents)
        if attached := _by_attached(hidden[path], parents, identities):
            aligned[path] = aligned[path].set_coords(attached)
        inherited[path] = _passed_on(aligned[path], path, parents)
    for path, hiding in hidden.items():  # when nothing is compared any more, which takes indexes
        _leave_indexes_to_xarray(aligned, path, hiding)
    return aligned, findings


def rename_dimensions(dataset: xr.Dataset, names: Mapping[str, str]) -> xr.Dataset:
    """Return a Dataset with dimensions and their coordinates renamed, also where encodings name them."""
    coordinates = {dim: new for dim, new in names.items() if _has_coordinate(dataset, dim)}
    others = {dim: new for dim, new in names.items() if dim not in coordinates}
    renamed = dataset.rename_dims(others).rename(coordinates)
    for variable in renamed.variables.values():
        encoding = renamed_encoding(variable.encoding, names)
        words = words_of(encoding, "coordinates")
        if not coordinates.keys().isdisjoint(words):
            encoding["coordinates"] = " ".join(coordinates.get(word, word) for word in words)
        variable.encoding = encoding
    return renamed


def _called_as_groups(
    dataset: xr.Dataset, path: str, groups: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, str]]:
    """Yield the coordinates that a group below would inherit beside a child of the same name.

    xarray refuses that. What has no index is not inherited.
    """
    below = f"{path.rstrip('/')}/"
    for name in map(str, dataset.xindexes):
        same = (group for group in groups.get(name, ()) if group.startswith(below))
        yield from ((name, group) for group in islice(same, 1))


def _numbered(wanted: str, taken: Collection[Hashable], *, first: str) -> str:
    """Return a free name, with a number if the first one is taken."""
    names = chain([first], (f"{wanted}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def _called_otherwise(path: str, name: str, new: str, group: str) -> Finding:
    message = _(
        "Group {path}: its coordinate {name!r} is called {new!r} in a DataTree, because a group "
        "below it is called {group}. To have it unrenamed use xarray.open_dataset(..., group={path!r}) or "
        "xarray.open_groups"
    ).format(path=path, name=name, new=new, group=group)
    return noted(Kind.NAME, message, path)


def _parent(path: str) -> str:
    if path == "/":
        return ""
    return path.rpartition("/")[0] or "/"


def _has_coordinate(dataset: xr.Dataset, dimension: str) -> bool:
    return dimension in dataset.coords and dataset.variables[dimension].dims == (dimension,)


def _size_conflicts(dataset: xr.Dataset, parents: _Inherited) -> dict[str, str]:
    return {
        str(dimension): _("size {size}, its parents' {other}").format(
            size=size, other=parents.sizes[str(dimension)]
        )
        for dimension, size in dataset.sizes.items()
        if parents.sizes.get(str(dimension), size) != size
    }


def _others(
    datasets: Mapping[str, xr.Dataset],
    identities: Mapping[str, Mapping[str, Hashable]],
    path: str,
    parents: _Inherited,
) -> dict[str, str]:
    """Return the parents' coordinates, and who has them, that are not known to be the node's."""
    own = identities.get(path, {})
    return {
        name: owner
        for name, owner in parents.coordinates.items()
        if name not in own
        or own[name] != identities.get(owner, {}).get(name)
        or _decoding(datasets[path], name) != _decoding(datasets[owner], name)
    }


def _decoding(dataset: xr.Dataset, name: str) -> tuple[Any, ...]:
    """Return how a variable was decoded: boundaries are times in the groups of what they bound."""
    if name not in dataset.variables:
        return ()
    variable = dataset.variables[name]
    return variable.dtype, variable.encoding.get("units"), variable.encoding.get("calendar")


def _value_conflicts(
    datasets: Mapping[str, xr.Dataset], path: str, others: Mapping[str, str]
) -> dict[str, str]:
    """Return the dimensions whose coordinates have other values than the parents'."""
    conflicts = {}
    for name, owner in others.items():
        own, parent = datasets[path], datasets[owner]
        if not _has_coordinate(own, name) or own.sizes[name] != parent.sizes[name]:
            continue
        index, other = own.xindexes.get(name), parent.xindexes.get(name)
        if index is not None and other is not None and not index.equals(other):
            conflicts[name] = _("other coordinate values than {owner}").format(owner=owner)
    return conflicts


def _new_names(
    dataset: xr.Dataset,
    path: str,
    conflicts: Mapping[str, str],
    parents: _Inherited,
    children: set[str],
) -> dict[str, str]:
    taken = {*dataset.sizes, *dataset.variables, *parents.sizes, *children}
    names = {}
    for dimension in conflicts:
        wanted = f"{dimension}_{path.rpartition('/')[2]}"
        names[dimension] = _numbered(wanted, taken, first=wanted)
        taken.add(names[dimension])
    return names


def _hidden(dataset: xr.Dataset, parents: _Inherited) -> list[str]:
    """Return the variables called like a parent's dimension coordinate that are none."""
    return [
        name
        for name in parents.coordinates
        if name in dataset.variables and not _has_coordinate(dataset, name)
    ]


def _by_attached(
    hidden: Iterable[str], parents: _Inherited, identities: Mapping[str, Mapping[str, Hashable]]
) -> list[str]:
    """Return those of hidden variables that a coordinate attached to a parent hides.

    In a node of a DataTree, what it inherits comes before its own data variables, but after
    its own coordinates: these variables have to be such. Where the parent's coordinate is an
    array of its group, the variables are what engine zarr makes of them.
    """
    return [name for name in hidden if name in identities.get(parents.coordinates[name], {})]


def _leave_indexes_to_xarray(
    datasets: dict[str, xr.Dataset], path: str, names: Collection[str]
) -> None:
    """Drop the indexes of the parents' coordinates that a node has other variables for.

    Where xarray builds default indexes for a tree, it gives such a node the parent's
    coordinate if that has its index already, and the node's own if not.
    """
    if not names or not has_index_option():
        return
    while path := _parent(path):
        indexed = [name for name in names if name in datasets[path].xindexes]
        datasets[path] = datasets[path].drop_indexes(indexed)


def _passed_on(dataset: xr.Dataset, path: str, parents: _Inherited) -> _Inherited:
    own = {str(name): path for name in dataset.sizes if _has_coordinate(dataset, str(name))}
    return _Inherited(
        sizes={**parents.sizes, **{str(name): size for name, size in dataset.sizes.items()}},
        # The outermost owner: all below it were compared with it.
        coordinates={**own, **parents.coordinates},
    )


def _finding(path: str, names: Mapping[str, str], reasons: Mapping[str, str]) -> Finding:
    renamed = ", ".join(f"{old!r} -> {new!r} ({reasons[old]})" for old, new in names.items())
    message = _(
        "Group {path} does not align with its parents in a DataTree; renamed in it: {renamed}. "
        "To have it unrenamed use xarray.open_dataset(..., group={path!r}) or xarray.open_groups"
    ).format(path=path, renamed=renamed)
    return noted(Kind.DIMENSION, message, path)
