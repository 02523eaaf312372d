"""What becomes of the attributes of conventions, once coordinates say what they declared."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from inspect import getattr_static
from types import NoneType
from typing import Any, TypeVar

import xarray as xr

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.base import ConventionHandler, failure_message
from zarr_xgroup.conventions.declaring import declaration_items, is_declared, matches
from zarr_xgroup.conventions.multiscales import Multiscales
from zarr_xgroup.conventions.registry import Handler, handlers, named_conventions
from zarr_xgroup.errors import XGroupError, XGroupPluginWarning, containing, warn_user
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.options import ConventionAttrs

T = TypeVar("T", xr.Dataset, xr.DataArray, xr.DataTree)

#: Names that no attribute of a netCDF file can have: xarray writes the first one to Zarr, HDF5 and
#: netCDF the others.
_RESERVED = frozenset(
    {"_ARRAY_DIMENSIONS", "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"}
    | {"_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties"}
)

#: The integers that an attribute in a netCDF file can hold.
_LEAST, _MOST = -(2**63), 2**63 - 1


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
    assumed: Collection[str] = named_conventions(assume_conventions)
    if not isinstance(data, xr.Dataset | xr.DataArray | xr.DataTree):
        message = _("must be a Dataset, a DataArray or a DataTree, got {kind}")
        raise TypeError(message.format(kind=type(data).__name__))
    copied: Any = data.copy(deep=False)
    result: T = copied
    if isinstance(copied, xr.DataArray):
        variables = [copied.variable, *(coord.variable for coord in copied.coords.values())]
        _drop_in_variables(variables, _assumed(assumed), set())
        _fit_for_netcdf(variables)
        return result
    datasets: dict[str, xr.Dataset] = {"/": copied}
    if isinstance(copied, xr.DataTree):
        datasets = {node.path: node.to_dataset(inherit=False) for node in copied.subtree}
    # Those that counted for a group without its saying so, as their open took it down.
    known: list[Any] = [dataset.encoding.pop(CONVENTIONS_KEY, {}) for dataset in datasets.values()]
    above = {CONVENTIONS_KEY: [{"name": name} for name in known[0].get("above", ())]}
    names = {*assumed, *(name for remembered in known for name in remembered.get("assumed", ()))}
    settle(datasets, "drop", [above], names)
    if isinstance(copied, xr.DataTree):
        for node in copied.subtree:
            node.dataset = datasets[node.path]
    return result


def settle(
    datasets: Mapping[str, xr.Dataset],
    how: ConventionAttrs,
    above: Iterable[Mapping[str, Any]],
    assumed: Collection[str] = (),
) -> None:
    """Do with the attributes of Datasets, by path, in place, what `convention_attrs` says.

    `above` are the attributes of groups above them.
    """
    # 1. The conventions that count for a group: it declares them, or one above it.
    outside = {handler for attributes in above for handler in _declared(attributes)}
    counting: dict[str, set[Handler]] = {}
    for path in sorted(datasets):  # parents first
        parent = path.rpartition("/")[0] or "/"
        counting[path] = counting.get(parent, outside) | _declared(datasets[path].attrs)

    # 2. Attributes of a Dataset and of its variables say what was attached.
    default = vars(ConventionHandler)["restated"]
    restating = [
        handler for handler in handlers() if getattr_static(handler, "restated") is not default
    ]
    for path, dataset in datasets.items() if restating else ():
        conventions = counting[path] | _assumed(assumed)
        dims = {name: variable.dims for name, variable in dataset.variables.items()}
        holders: list[Any] = [dataset, *dataset.variables.values()]
        for holder in holders:
            for handler in restating:
                if handler in conventions or is_declared(handler, holder.attrs):
                    restated = _asked(handler, handler.restated, holder.attrs, dict(dims))
                    holder.attrs = holder.attrs if restated is None else dict(restated)

    # 3. All attributes stay; `drop_conventions` will want to know what counts without their saying so.
    if how == "keep":
        for path, dataset in datasets.items():
            others = sorted(cls.name for cls in counting[path] - _declared(dataset.attrs))
            if others or assumed:
                remembered = {"above": others, "assumed": sorted(assumed)}
                dataset.encoding[CONVENTIONS_KEY] = remembered
        return

    # 4. Those of conventions go; of a group also those of conventions that arrays anywhere declare.
    if how == "drop":
        variables = [each for dataset in datasets.values() for each in dataset.variables.values()]
        used = {handler for variable in variables for handler in _declared(variable.attrs)}
        for path, dataset in datasets.items():
            near = _assumed(assumed) | _declared(dataset.attrs)
            _drop_in_variables(dataset.variables.values(), near, counting[path])
            dataset.attrs = _without(dataset.attrs, near | used, counting[path])

    # 5. What is left is such that netCDF can hold it.
    for dataset in datasets.values():
        dataset.attrs = _as_json(dataset.attrs)
        _fit_for_netcdf(dataset.variables.values())


def _asked(handler: Handler, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a handler answers, None if it fails, which is told."""
    try:
        with containing():
            return function(*arguments)
    except XGroupError as error:
        text = failure_message(handler, error.__cause__ or error)
        warn_user(XGroupPluginWarning(text, error))
    return None


def _known() -> tuple[Handler, ...]:
    return (*handlers(), Multiscales)


def _assumed(names: Collection[str]) -> set[Handler]:
    return {handler for handler in _known() if handler.name in names} if names else set()


def _declared(attributes: Mapping[str, Any]) -> set[Handler]:
    """Return the conventions that attributes declare."""
    if CONVENTIONS_KEY not in attributes:
        return set()
    return {handler for handler in _known() if is_declared(handler, attributes)}


def _drop_in_variables(
    variables: Iterable[xr.Variable], near: set[Handler], above: set[Handler]
) -> None:
    for variable in variables:
        variable.attrs = _without(variable.attrs, near | _declared(variable.attrs), above)


def _without(
    attributes: Mapping[str, Any], near: Collection[Handler], above: Iterable[Handler]
) -> dict[str, Any]:
    """Return attributes without those of conventions that are declared here, or above."""
    named = {key: value for key, value in attributes.items() if isinstance(key, str)}
    prefixes = tuple(f"{handler.name}:" for handler in above)
    owned = {key for key in named if key.startswith(prefixes)}
    for handler in near:
        owned |= _asked(handler, lambda owner: set(owner.owned(named)), handler) or set()
    kept = {key: value for key, value in attributes.items() if key not in owned}
    if not near or CONVENTIONS_KEY not in kept:
        return kept

    # What it declares besides, in the form that it has.
    written = kept.pop(CONVENTIONS_KEY)
    lost = {
        item.keys[-1]
        for item in declaration_items(Fragment(Node(0, ""), (), written))
        if isinstance(item.value, Mapping) and any(matches(cls, item.value) for cls in near)
    }
    if isinstance(written, Mapping):
        written = {key: item for key, item in written.items() if key not in lost}
    elif isinstance(written, list):
        written = [item for place, item in enumerate(written) if str(place) not in lost]
    return {**kept, CONVENTIONS_KEY: written} if written else kept


def _fit_for_netcdf(variables: Iterable[xr.Variable]) -> None:
    """Make attributes such that netCDF can hold them, and truth values, too."""
    for variable in variables:
        variable.attrs = _as_json(variable.attrs)
        if variable.dtype == bool:  # where it is absent xarray writes integers and says so
            variable.attrs.pop("dtype", None)


def _as_json(attributes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return attributes as every kind of netCDF file can hold them: texts, numbers, all else as JSON text.

    Names that its libraries keep for themselves are left out: they say how a file stores dimensions.
    """

    def is_number(value: Any) -> bool:
        if isinstance(value, bool):
            return False
        return isinstance(value, float) or (isinstance(value, int) and _LEAST <= value <= _MOST)

    fitting = {}
    for key, value in attributes.items():
        if isinstance(value, list | tuple):
            fits = bool(value) and all(map(is_number, value))
        else:  # what is not of JSON comes from decoding or from plug-ins
            fits = is_number(value) or not isinstance(value, bool | int | Mapping | NoneType)
        if key not in _RESERVED:
            fitting[key] = value if fits else json.dumps(value, default=str)
    return fitting
