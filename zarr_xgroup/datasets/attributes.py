"""What becomes of the attributes of conventions, once coordinates say what they declared."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import NoneType
from typing import Any, TypeVar

import xarray as xr

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.base import failure_of
from zarr_xgroup.conventions.declaring import is_declared, items_in, matches
from zarr_xgroup.conventions.dggs import ATTRIBUTE as CELLS
from zarr_xgroup.conventions.dggs import with_attached_ids
from zarr_xgroup.conventions.layout import Multiscales
from zarr_xgroup.conventions.registry import Handler, handlers, named_conventions
from zarr_xgroup.errors import XGroupError, XGroupPluginWarning, containing, warn_user
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.options import ConventionAttrs

T = TypeVar("T", xr.Dataset, xr.DataArray, xr.DataTree)

_CHOICES = ("keep", "drop", "json")

#: Names that no attribute of a netCDF file can have: xarray writes the first one to Zarr, HDF5 and
#: netCDF the others.
_RESERVED = frozenset(
    {"_ARRAY_DIMENSIONS", "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"}
    | {"_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties"}
)

#: The integers that an attribute in a netCDF file can hold.
_LEAST, _MOST = -(2**63), 2**63 - 1


def convention_attrs_of(how: Any) -> ConventionAttrs:
    """Return the option `convention_attrs`, or raise ValueError if it is none of its values."""
    if how is None:
        return "keep"
    if how not in _CHOICES:
        message = _("convention_attrs must be {choices}, got {value!r}")
        raise ValueError(message.format(choices=", ".join(map(repr, _CHOICES)), value=how))
    chosen: ConventionAttrs = how
    return chosen


def drop_conventions(data: T, *, assume_conventions: str | Iterable[str] | None = None) -> T:
    """Return data without the attributes of conventions, of which the coordinates are left.

    As the option ``convention_attrs="drop"`` of an open does it: to be used where data were opened
    with all attributes, and are now to be written as netCDF, or after they were subset. Removed are
    ``cs``, ``geolocation``, ``uom``, ``multiscales``, attributes that begin with ``spatial:`` or
    ``proj:``, those with references of `ref`, ``crs`` of a group if it is an object, what plug-ins
    own, and their items of ``zarr_conventions``: each if the variable, its Dataset (the group), or,
    as far as prefixes are concerned, a group above declares the convention. What is left and
    netCDF cannot hold becomes JSON text, as by the option.

    Parameters
    ----------
    data : xarray.Dataset, xarray.DataArray or xarray.DataTree
        Left as it is. A DataArray no longer knows what its group declared.
    assume_conventions : str or iterable of str, optional
        Names of conventions that count as declared: those that the group of a DataArray declared, or
        that a Dataset no longer knows after it was computed with. What it was opened with, and what groups
        above declared, a Dataset keeps in its ``encoding``.

    Returns
    -------
    xarray.Dataset, xarray.DataArray or xarray.DataTree
        With the same variables, which share their values with those given.

    Raises
    ------
    TypeError
        If `data` is something else.
    ValueError
        If `assume_conventions` names a convention that there is not.

    Examples
    --------
    >>> ds = xr.Dataset(attrs={"title": "a grid", "zarr_conventions": [{"name": "proj"}]})
    >>> drop_conventions(ds.assign_attrs({"proj:code": "EPSG:4326"})).attrs
    {'title': 'a grid'}
    """
    assumed = named_conventions(assume_conventions)
    if not isinstance(data, xr.Dataset | xr.DataArray | xr.DataTree):
        message = _("must be a Dataset, a DataArray or a DataTree, got {kind}")
        raise TypeError(message.format(kind=type(data).__name__))
    copied: Any = data.copy(deep=False)
    if isinstance(copied, xr.DataTree):
        _drop_in_tree(copied, assumed)
    elif isinstance(copied, xr.Dataset):
        _drop_in_groups({"/": copied}, [], assumed)
    else:
        variables = [copied.variable, *(it.variable for it in copied.coords.values())]
        _drop_in_variables(variables, {it for it in _known() if it.name in assumed}, set())
        _fit_for_netcdf(variables)
    result: T = copied
    return result


def settle(
    datasets: Mapping[str, xr.Dataset],
    how: ConventionAttrs,
    above: Collection[Mapping[str, Any]],
    assumed: Collection[str] = (),
) -> None:
    """Do with the attributes of Datasets, by path, in place, what `convention_attrs` says.

    `above` are the attributes of groups above them.
    """
    counting = dict(_counting(datasets, above))
    for path, dataset in datasets.items():
        _name_attached_ids(dataset, counting[path], assumed)
    if how == "drop":
        _drop(datasets, counting, assumed)
    for path, dataset in datasets.items():
        if how == "keep":
            _remember(dataset, counting[path], assumed)
            continue
        dataset.attrs = dict(_as_json(dataset.attrs))
        _fit_for_netcdf(dataset.variables.values())


def _name_attached_ids(
    dataset: xr.Dataset, counting: set[Handler], assumed: Collection[str]
) -> None:
    """Make `dggs` of a Dataset, and of its variables, name the ids of cells that were attached."""
    holders: list[Any] = [dataset, *dataset.variables.values()]
    for attributes in (holder.attrs for holder in holders if CELLS.key in holder.attrs):
        declared = {cls.name for cls in counting | _declared(attributes)}
        if CELLS.key in declared.union(assumed):
            dims = {name: variable.dims for name, variable in dataset.variables.items()}
            attributes[CELLS.key] = with_attached_ids(attributes[CELLS.key], dims)


def _counting(
    datasets: Mapping[str, xr.Dataset], above: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, set[Handler]]]:
    """Yield which conventions each group declares, or one above it."""
    found: dict[str, set[Handler]] = {}
    outside = {it for attributes in above for it in _declared(attributes)}
    for path in sorted(datasets):  # parents first
        parent = path.rpartition("/")[0] or "/"
        found[path] = found.get(parent, outside) | _declared(datasets[path].attrs)
        yield path, found[path]


def _drop(
    datasets: Mapping[str, xr.Dataset],
    counting: Mapping[str, set[Handler]],
    assumed: Collection[str],
) -> None:
    """Drop the attributes of conventions; `counting` are those that a group or one above declares."""
    used = {
        handler
        for dataset in datasets.values()
        for variable in dataset.variables.values()
        for handler in _declared(variable.attrs)
    }
    for path, dataset in datasets.items():
        near = {it for it in _known() if it.name in assumed} | _declared(dataset.attrs)
        _drop_in_variables(dataset.variables.values(), near, counting[path])
        dataset.attrs = _without(dataset.attrs, near | used, counting[path])


def _remember(dataset: xr.Dataset, counting: set[Handler], assumed: Collection[str]) -> None:
    """Take down which conventions count for a group without its saying so, for `drop_conventions`."""
    above = sorted(it.name for it in counting - _declared(dataset.attrs))
    if above or assumed:
        dataset.encoding[CONVENTIONS_KEY] = {"above": above, "assumed": sorted(assumed)}


def _drop_in_groups(
    datasets: Mapping[str, xr.Dataset],
    above: Collection[Mapping[str, Any]],
    assumed: Iterable[str],
) -> None:
    """Drop the attributes of a group, and of those below, as their open would have done."""
    known: list[Any] = [it.encoding.pop(CONVENTIONS_KEY, {}) for it in datasets.values()]
    declared = {CONVENTIONS_KEY: [{"name": name} for name in known[0].get("above", ())]}
    names = {*assumed, *(name for it in known for name in it.get("assumed", ()))}
    settle(datasets, "drop", [*above, declared], names)


def _drop_in_tree(tree: xr.DataTree, assumed: Collection[str]) -> None:
    """Drop the attributes of all nodes of a tree that is nobody else's."""
    datasets = {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
    above: list[Any] = [parent.attrs for parent in tree.parents]
    _drop_in_groups(datasets, above, assumed)
    for node in tree.subtree:
        node.dataset = datasets[node.path]


def _drop_in_variables(
    variables: Iterable[xr.Variable], near: set[Handler], above: set[Handler]
) -> None:
    for variable in variables:
        variable.attrs = _without(variable.attrs, near | _declared(variable.attrs), above)


def _known() -> tuple[Handler, ...]:
    return (*handlers(), Multiscales)


def _declared(attributes: Mapping[str, Any]) -> set[Handler]:
    """Return the conventions that attributes declare."""
    if CONVENTIONS_KEY not in attributes:
        return set()
    return {it for it in _known() if is_declared(it, attributes)}


def _without(
    attributes: Mapping[str, Any], near: Collection[Handler], above: Collection[Handler]
) -> dict[str, Any]:
    """Return attributes without those of conventions that are declared here, or above."""
    owned = set(_owned(attributes, near, above))
    kept = {key: value for key, value in attributes.items() if key not in owned}
    if near and CONVENTIONS_KEY in kept:
        kept[CONVENTIONS_KEY] = _without_declarations(kept[CONVENTIONS_KEY], near)
        if not kept[CONVENTIONS_KEY]:
            del kept[CONVENTIONS_KEY]
    return kept


def _owned(
    attributes: Mapping[str, Any], near: Iterable[Handler], above: Iterable[Handler]
) -> Iterator[str]:
    """Yield the names of attributes of conventions that are declared here, or above."""
    named = {key: value for key, value in attributes.items() if isinstance(key, str)}
    for handler in near:
        try:
            with containing():
                yield from set(handler.owned(named))
        except XGroupError as error:
            text = failure_of(handler, error.__cause__ or error)
            warn_user(XGroupPluginWarning(text, error))
    prefixes = tuple(f"{handler.name}:" for handler in above)
    yield from (key for key in named if key.startswith(prefixes))


def _without_declarations(written: Any, dropped: Collection[Handler]) -> Any:
    """Return what ``zarr_conventions`` declares besides some conventions, in the form it has."""
    declared = items_in(Fragment(Node(0, ""), (), written))
    lost = {it.keys[-1] for it in declared if _is_of(it.value, dropped)}
    if isinstance(written, Mapping):
        return {key: item for key, item in written.items() if key not in lost}
    is_list = isinstance(written, list)
    return [it for n, it in enumerate(written) if str(n) not in lost] if is_list else written


def _is_of(item: Any, conventions: Iterable[Handler]) -> bool:
    return isinstance(item, Mapping) and any(matches(it, item) for it in conventions)


def _fit_for_netcdf(variables: Iterable[xr.Variable]) -> None:
    """Make attributes such that netCDF can hold them, and truth values, too."""
    for variable in variables:
        variable.attrs = dict(_as_json(variable.attrs))
        if variable.dtype == bool:  # where it is absent xarray writes integers and says so
            variable.attrs.pop("dtype", None)


def _as_json(attributes: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield attributes as netCDF can hold them: what it cannot as JSON text.

    Names that its libraries keep for themselves are left out: they say how a file stores dimensions.
    """
    for key, value in attributes.items():
        if key in _RESERVED:
            continue
        yield key, value if _fits_netcdf(value) else json.dumps(value, default=str)


def _fits_netcdf(value: Any) -> bool:
    """Tell whether every kind of netCDF file can hold a value: a text, or numbers."""
    if isinstance(value, list | tuple):
        return bool(value) and all(_is_number(item) for item in value)
    # What is not of JSON comes from decoding or from plug-ins.
    return _is_number(value) or not isinstance(value, bool | int | Mapping | NoneType)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (isinstance(value, int) and _LEAST <= value <= _MOST)
