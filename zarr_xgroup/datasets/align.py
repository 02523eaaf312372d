"""Fitting the groups of a hierarchy into one DataTree.

xarray refuses a tree in which a node does not align with its parents (sizes of dimensions,
values of indexed coordinates). Such a dimension is renamed in that node, with a warning. This cannot be
planned before variables are made: decoding of characters removes dimensions.
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
    #: Equal for coordinates with the same values, None if not known.
    identity: Hashable
    #: Type, units and calendar: xarray decodes one array otherwise in a group where it bounds times.
    decoding: tuple[Any, ...]


def align_with_parents(
    datasets: Mapping[str, xr.Dataset],
    identities: Mapping[str, Mapping[str, Hashable]],
    root: str = "",
) -> tuple[dict[str, xr.Dataset], list[Finding]]:
    """Return Datasets that form a DataTree, with dimensions and coordinates renamed as it needs, and findings.

    `datasets` are by absolute path in the tree, parents before their children; `root` is the path of
    its root in the store. `identities` of coordinates are by path and name: coordinates of one identity
    need not be compared. Others are compared only where both have an index: no values are read.
    """
    aligned: dict[str, xr.Dataset] = {}
    findings = []
    hidden: dict[str, list[str]] = {}
    # The sizes and coordinates of each group and the groups above it; of coordinates of one name the outermost,
    # with which all below are compared.
    sizes: dict[str, dict[Hashable, int]] = {"": {}}
    coordinates: dict[str, dict[str, _Coordinate]] = {"": {}}
    groups: defaultdict[str, list[str]] = defaultdict(list)  # by the last segment
    for path in sorted(datasets):
        groups[_name(path)].append(path)
    for path, dataset in datasets.items():
        node, parent, known = _path_in_store(root, path), _parent(path), identities.get(path, {})
        above, below = coordinates[parent], partial(_group_below, groups, path)

        # 1. Dimensions with another size or other coordinate values in the groups above.
        reasons = _reasons_to_rename(
            dataset, _dimension_coordinates(path, dataset, known), sizes[parent], above
        )
        if reasons:
            names: dict[str, str] = {}
            for dim in reasons:
                taken = {*dataset.sizes, *dataset.variables, *sizes[parent], *names.values()}
                new = f"{dim}_{_name(path)}"
                names[dim] = _free_name(new, new, taken, below)
            dataset = rename_dimensions(dataset, names)
            told = (f"{old!r} -> {new!r} ({reasons[old]})" for old, new in names.items())
            message = _(
                "does not align with its parents in a DataTree; renamed in it: {renamed}. To have it "
                "unrenamed use xarray.open_dataset or xarray.open_groups"
            ).format(renamed=", ".join(told))
            findings.append(report(Topic.DIMENSION, Place(node), message))

        # 2. Coordinates that a group below would inherit beside a child of the same name, which xarray refuses.
        #    Coordinates without an index are not inherited.
        for name in map(str, list(dataset.xindexes)):
            group = below(name)
            if not group:
                continue
            new = _free_name(f"{name}_1", name, {*dataset.variables, *dataset.sizes}, below)
            dataset = _rename_references(
                dataset.drop_indexes(name).rename_vars({name: new}), {name: new}
            )
            message = _(
                "its coordinate {name!r} is called {new!r} in a DataTree, because a group below it is called "
                "{group}. To have it unrenamed use xarray.open_dataset or xarray.open_groups"
            ).format(name=name, new=new, group=_path_in_store(root, group))
            findings.append(report(Topic.NAME, Place(node), message))

        # 3. In a node of a DataTree, what it inherits comes before its own data variables, but after its
        #    own coordinates. Beside an array of the parents' group they stay what engine zarr makes of them.
        own = _dimension_coordinates(path, dataset, known)
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
    return _rename_references(renamed, coordinates)


def _rename_references(dataset: xr.Dataset, names: Mapping[str, str]) -> xr.Dataset:
    """Replace names in the attributes and encodings of a Dataset's variables, in place, and return the Dataset."""
    for variable in dataset.variables.values():
        for attributes in (variable.attrs, variable.encoding):
            for key in REFERRING:
                if not names.keys().isdisjoint(names_in(attributes, key)):
                    attributes[key] = with_names(key, attributes[key], names)
    return dataset


def _dimension_coordinates(
    path: str, dataset: xr.Dataset, identities: Mapping[str, Hashable]
) -> dict[str, _Coordinate]:
    """Return the dimension coordinates of a group, by name."""
    indexes, found = dataset.xindexes, {}
    for name in map(str, dataset.sizes):
        if _has_coordinate(dataset, name):
            variable = dataset.variables[name]
            times = (variable.encoding.get(key) for key in ("units", "calendar"))
            decoding = variable.dtype, *times
            found[name] = _Coordinate(path, indexes.get(name), identities.get(name), decoding)
    return found


def _has_coordinate(dataset: xr.Dataset, dimension: str) -> bool:
    """Tell whether a dimension has a dimension coordinate."""
    return dimension in dataset.coords and dataset.variables[dimension].dims == (dimension,)


def _reasons_to_rename(
    dataset: xr.Dataset,
    own: Mapping[str, _Coordinate],
    sizes: Mapping[Hashable, int],
    above: Mapping[str, _Coordinate],
) -> dict[str, str]:
    """Return why dimensions cannot be those of the groups above, by name: another size, or other coordinate values."""
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


def _free_name(
    first: str, wanted: str, taken: Collection[Hashable], below: Callable[[str], str | None]
) -> str:
    """Return the name `first` if it is free, else `wanted` with the least number from 2 that makes it free."""
    names = chain([first], (f"{wanted}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken and not below(name))


def _group_below(groups: Mapping[str, Sequence[str]], path: str, name: str) -> str | None:
    """Return the path of a group of a name anywhere below another group, None without one.

    `groups` are sorted paths, by their last segment: found by bisection, as each group asks for each of its names.
    """
    paths, begin = groups.get(name, ()), f"{path.rstrip('/')}/"
    place = bisect_left(paths, begin)
    return next((first for first in paths[place : place + 1] if first.startswith(begin)), None)


def _name(path: str) -> str:
    """Return the last segment of a group's path."""
    return path.rpartition("/")[2]


def _parent(path: str) -> str:
    """Return the path of a group's parent, "" for the root."""
    return "" if path == "/" else path.rpartition("/")[0] or "/"


def _path_in_store(root: str, path: str) -> str:
    """Return the path of a group from the root of the store, given its path from the root of the tree."""
    return f"/{root}{path}".rstrip("/") if root else path
