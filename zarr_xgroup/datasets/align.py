"""Fitting the groups of a hierarchy into one DataTree.

xarray refuses a tree in which a node does not align with its parents (sizes of dimensions,
values of indexed coordinates). Such a dimension is renamed in that node, with a warning. No plan
can say which: sizes are those that decoding of characters leaves.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import Any, NamedTuple

import xarray as xr

from zarr_xgroup._compat import has_index_option
from zarr_xgroup.datasets.build import renamed_encoding
from zarr_xgroup.findings import Finding, Place, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import REFERRING, names_in, with_names


class _Coordinate(NamedTuple):
    """A coordinate of a dimension."""

    #: The path of the group that has it.
    group: str
    indexed: xr.Index | None
    #: What it is, None if not known.
    identity: Hashable
    #: Type, units and calendar: boundaries are times in the groups of what they bound.
    decoding: tuple[Any, ...]


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
    aligned: dict[str, xr.Dataset] = {}
    findings = []
    hidden: dict[str, list[str]] = {}
    # What groups have with those above them. Of coordinates the outermost: all below are compared with it.
    sizes: dict[str, dict[Hashable, int]] = {"": {}}
    coordinates: dict[str, dict[str, _Coordinate]] = {"": {}}
    groups: defaultdict[str, list[str]] = defaultdict(list)  # by the last segment
    for path in sorted(datasets):
        groups[_name(path)].append(path)
    for path, dataset in datasets.items():
        node, parent, known = _in_store(root, path), _parent(path), identities.get(path, {})
        above, below = coordinates[parent], partial(_group_below, groups, path)

        # 1. Dimensions that are something else in the groups above.
        reasons = _reasons(dataset, _coordinates(path, dataset, known), sizes[parent], above)
        if reasons:
            names: dict[str, str] = {}
            for dim in reasons:
                taken = {*dataset.sizes, *dataset.variables, *sizes[parent], *names.values()}
                new = f"{dim}_{_name(path)}"
                names[dim] = _numbered(new, new, taken, below)
            dataset = rename_dimensions(dataset, names)
            told = (f"{old!r} -> {new!r} ({reasons[old]})" for old, new in names.items())
            message = _(
                "does not align with its parents in a DataTree; renamed in it: {renamed}. To have it "
                "unrenamed use xarray.open_dataset or xarray.open_groups"
            ).format(renamed=", ".join(told))
            findings.append(report(Topic.DIMENSION, Place(node), message))

        # 2. Coordinates that a group below would inherit beside a child of the same name, which xarray refuses.
        #    What has no index is not inherited.
        for name in map(str, list(dataset.xindexes)):
            group = below(name)
            if not group:
                continue
            new = _numbered(f"{name}_1", name, {*dataset.variables, *dataset.sizes}, below)
            dataset = _naming(dataset.drop_indexes(name).rename_vars({name: new}), {name: new})
            message = _(
                "its coordinate {name!r} is called {new!r} in a DataTree, because a group below it is called "
                "{group}. To have it unrenamed use xarray.open_dataset or xarray.open_groups"
            ).format(name=name, new=new, group=_in_store(root, group))
            findings.append(report(Topic.NAME, Place(node), message))

        # 3. In a node of a DataTree, what it inherits comes before its own data variables, but after its
        #    own coordinates. Beside an array of the parents' group they stay what engine zarr makes of them.
        own = _coordinates(path, dataset, known)
        hidden[path] = [name for name in above if name in dataset.variables and name not in own]
        if attached := [name for name in hidden[path] if above[name].identity is not None]:
            dataset = dataset.set_coords(attached)
        aligned[path] = dataset
        sizes[path], coordinates[path] = {**sizes[parent], **dataset.sizes}, {**own, **above}

    # 4. When nothing is compared any more, which takes indexes: the parents' coordinates that a node has other
    #    variables for have none. Where xarray builds default indexes for a tree, it gives such a node the
    #    parent's coordinate if that has its index already, and the node's own if not.
    for path, hiding in hidden.items() if has_index_option() else ():
        while hiding and (path := _parent(path)):
            indexed = [name for name in hiding if name in aligned[path].xindexes]
            aligned[path] = aligned[path].drop_indexes(indexed)
    return aligned, findings


def rename_dimensions(dataset: xr.Dataset, names: Mapping[str, str]) -> xr.Dataset:
    """Return a Dataset with dimensions and their coordinates renamed, also where variables name them."""
    coordinates = {dim: new for dim, new in names.items() if _has_coordinate(dataset, dim)}
    others = {dim: new for dim, new in names.items() if dim not in coordinates}
    renamed = dataset.rename_dims(others).rename(coordinates)
    for variable in renamed.variables.values():
        variable.encoding = renamed_encoding(variable.encoding, names)
    return _naming(renamed, coordinates)


def _naming(dataset: xr.Dataset, names: Mapping[str, str]) -> xr.Dataset:
    """Return a Dataset, a copy, whose variables name others by other names."""
    for variable in dataset.variables.values():
        for attributes in (variable.attrs, variable.encoding):
            for key in REFERRING:
                if not names.keys().isdisjoint(names_in(attributes, key)):
                    attributes[key] = with_names(key, attributes[key], names)
    return dataset


def _coordinates(
    path: str, dataset: xr.Dataset, identities: Mapping[str, Hashable]
) -> dict[str, _Coordinate]:
    """Return the coordinates of a group's dimensions."""
    indexes, found = dataset.xindexes, {}
    for name in map(str, dataset.sizes):
        if _has_coordinate(dataset, name):
            variable = dataset.variables[name]
            times = (variable.encoding.get(key) for key in ("units", "calendar"))
            decoding = variable.dtype, *times
            found[name] = _Coordinate(path, indexes.get(name), identities.get(name), decoding)
    return found


def _has_coordinate(dataset: xr.Dataset, dimension: str) -> bool:
    return dimension in dataset.coords and dataset.variables[dimension].dims == (dimension,)


def _reasons(
    dataset: xr.Dataset,
    own: Mapping[str, _Coordinate],
    sizes: Mapping[Hashable, int],
    above: Mapping[str, _Coordinate],
) -> dict[str, str]:
    """Return why dimensions cannot be those of the groups above: their sizes, then coordinate values."""
    message = _("size {size}, its parents' {other}")
    reasons = {
        str(dim): message.format(size=size, other=sizes[dim])
        for dim, size in dataset.sizes.items()
        if sizes.get(dim, size) != size
    }
    for name, theirs in above.items():
        mine = own.get(name)
        if mine is None or mine.indexed is None or theirs.indexed is None or name in reasons:
            continue
        is_same = mine.identity is not None and mine[2:] == theirs[2:]
        if not is_same and not mine.indexed.equals(theirs.indexed):
            reasons[name] = _("other coordinate values than {owner}").format(owner=theirs.group)
    return reasons


def _numbered(
    first: str, wanted: str, taken: Collection[Hashable], below: Callable[[str], str | None]
) -> str:
    """Return a free name: the first one, else what is wanted with a number."""
    names = chain([first], (f"{wanted}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken and not below(name))


def _group_below(groups: Mapping[str, Sequence[str]], path: str, name: str) -> str | None:
    """Return a group of a name below another one; `groups` are sorted, by their names."""
    paths, begin = groups.get(name, ()), f"{path.rstrip('/')}/"
    place = bisect_left(paths, begin)
    return next((first for first in paths[place : place + 1] if first.startswith(begin)), None)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _parent(path: str) -> str:
    return "" if path == "/" else path.rpartition("/")[0] or "/"


def _in_store(root: str, path: str) -> str:
    """Return the path from the root of the store of a group in a tree."""
    return f"/{root}{path}".rstrip("/") if root else path
