"""The option `convention_attrs`: keeping, dropping or restating the attributes of conventions in Datasets."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from inspect import getattr_static
from types import NoneType
from typing import Any, TypeVar

import xarray as xr

from zarr_xgroup.conventions.base import ConventionHandler, failure_message
from zarr_xgroup.conventions.declaring import (
    CONVENTIONS_KEY,
    declaration_items,
    declared_by,
    matches,
)
from zarr_xgroup.conventions.multiscales import Multiscales
from zarr_xgroup.conventions.registry import Handler, handlers, named_conventions
from zarr_xgroup.errors import XGroupError, XGroupPluginWarning, containing, warn_user
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.options import ConventionAttrs

T = TypeVar("T", xr.Dataset, xr.DataArray, xr.DataTree)

#: Names that attributes in a netCDF file cannot have: xarray reserves the first one in Zarr stores, the
#: HDF5 and netCDF libraries reserve the others.
_RESERVED = frozenset(
    {"_ARRAY_DIMENSIONS", "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"}
    | {"_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties"}
)

#: The least and the greatest integer that an attribute in a netCDF file can hold (``NC_INT64``).
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
        _drop_convention_attributes(variables, _handlers_named(assumed), set())
        _fit_for_netcdf(variables)
        return result
    datasets: dict[str, xr.Dataset] = {"/": copied}
    if isinstance(copied, xr.DataTree):
        datasets = {node.path: node.to_dataset(inherit=False) for node in copied.subtree}
    # Conventions that groups above declared, or that the open assumed: it left them in the encoding.
    remembered: list[Any] = [
        dataset.encoding.pop(CONVENTIONS_KEY, {}) for dataset in datasets.values()
    ]
    above = {CONVENTIONS_KEY: [{"name": name} for name in remembered[0].get("above", ())]}
    names = {*assumed, *(name for each in remembered for name in each.get("assumed", ()))}
    apply_convention_attrs(datasets, "drop", [above], names)
    if isinstance(copied, xr.DataTree):
        for node in copied.subtree:
            node.dataset = datasets[node.path]
    return result


def apply_convention_attrs(
    datasets: Mapping[str, xr.Dataset],
    how: ConventionAttrs,
    above: Iterable[Mapping[str, Any]],
    assumed: Collection[str] = (),
) -> None:
    """Restate, keep or drop the attributes of conventions in Datasets, in place, as `convention_attrs` says.

    `datasets` are by path, `above` the attributes of the groups above all of them. The conventions named by
    `assumed` count as declared by each Dataset.
    """
    # 1. The conventions in scope of a group: those that it declares, and those that groups above it declare.
    from_above = {handler for attributes in above for handler in _declared_conventions(attributes)}
    in_scope: dict[str, set[Handler]] = {}
    for path in sorted(datasets):  # parents first
        parent = path.rpartition("/")[0] or "/"
        declared = _declared_conventions(datasets[path].attrs)
        in_scope[path] = in_scope.get(parent, from_above) | declared

    # 2. Handlers that restate attributes name in them the variables that were attached. A handler that does not
    #    override `restated` has nothing to say, and is not called for each of thousands of variables.
    default = vars(ConventionHandler)["restated"]
    restating = [
        handler for handler in handlers() if getattr_static(handler, "restated") is not default
    ]
    for path, dataset in datasets.items() if restating else ():
        conventions = in_scope[path] | _handlers_named(assumed)
        dims = {name: variable.dims for name, variable in dataset.variables.items()}
        holders: list[Any] = [dataset, *dataset.variables.values()]
        for holder in holders:
            own = declared_by(holder.attrs)
            for handler in restating:
                if handler in conventions or handler in own:
                    restated = _answer_of(handler, handler.restated, holder.attrs, dict(dims))
                    holder.attrs = holder.attrs if restated is None else dict(restated)

    # 3. All attributes stay. What they do not say `drop_conventions` will need: which conventions groups above
    #    declare, and which were assumed.
    if how == "keep":
        for path, dataset in datasets.items():
            others = sorted(
                cls.name for cls in in_scope[path] - _declared_conventions(dataset.attrs)
            )
            if others or assumed:
                remembered = {"above": others, "assumed": sorted(assumed)}
                dataset.encoding[CONVENTIONS_KEY] = remembered
        return

    # 4. Attributes of conventions go; those of a group also if only arrays, of any group, declare the convention.
    if how == "drop":
        variables = [each for dataset in datasets.values() for each in dataset.variables.values()]
        by_arrays = {
            handler for variable in variables for handler in _declared_conventions(variable.attrs)
        }
        for path, dataset in datasets.items():
            by_group = _handlers_named(assumed) | _declared_conventions(dataset.attrs)
            _drop_convention_attributes(dataset.variables.values(), by_group, in_scope[path])
            dataset.attrs = _without_conventions(
                dataset.attrs, by_group | by_arrays, in_scope[path]
            )

    # 5. The attributes that are left become such that netCDF can hold them.
    for dataset in datasets.values():
        dataset.attrs = _netcdf_attributes(dataset.attrs)
        _fit_for_netcdf(dataset.variables.values())


def _answer_of(handler: Handler, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of a handler answers; None, with a warning, if it fails."""
    try:
        with containing():
            return function(*arguments)
    except XGroupError as error:
        text = failure_message(handler, error.__cause__ or error)
        warn_user(XGroupPluginWarning(text, error))
    return None


def _all_handlers() -> tuple[Handler, ...]:
    """Return the registered handlers, and `Multiscales`, which owns attributes but gives no coordinates."""
    return (*handlers(), Multiscales)


def _handlers_named(names: Collection[str]) -> set[Handler]:
    """Return the handlers of conventions with these names."""
    return {handler for handler in _all_handlers() if handler.name in names} if names else set()


def _declared_conventions(attributes: Mapping[str, Any]) -> set[Handler]:
    """Return the handlers of the conventions that attributes declare by ``zarr_conventions``."""
    declared = declared_by(attributes)
    return {handler for handler in _all_handlers() if handler in declared}


def _drop_convention_attributes(
    variables: Iterable[xr.Variable], by_group: set[Handler], in_scope: set[Handler]
) -> None:
    """Drop from variables, in place, the attributes of conventions that they or their group declare.

    Of conventions `in_scope`, which groups above may declare, only attributes with the convention's prefix go.
    """
    for variable in variables:
        declared = by_group | _declared_conventions(variable.attrs)
        variable.attrs = _without_conventions(variable.attrs, declared, in_scope)


def _without_conventions(
    attributes: Mapping[str, Any], declared: Collection[Handler], in_scope: Iterable[Handler]
) -> dict[str, Any]:
    """Return attributes without those of conventions, and without their items of ``zarr_conventions``.

    Of conventions `declared` all attributes that their handlers own go; of those `in_scope`, which groups above
    may declare, only attributes with the convention's prefix.
    """
    named = {key: value for key, value in attributes.items() if isinstance(key, str)}
    prefixes = tuple(f"{handler.name}:" for handler in in_scope)
    owned = {key for key in named if key.startswith(prefixes)}
    for handler in declared:
        owned |= _answer_of(handler, lambda owner: set(owner.owned(named)), handler) or set()
    kept = {key: value for key, value in attributes.items() if key not in owned}
    if not declared or CONVENTIONS_KEY not in kept:
        return kept

    # Declarations of other conventions stay, in a list or an object as they were written.
    written = kept.pop(CONVENTIONS_KEY)
    dropped = {
        item.keys[-1]
        for item in declaration_items(Fragment(Node(0, ""), (), written))
        if isinstance(item.value, Mapping) and any(matches(cls, item.value) for cls in declared)
    }
    if isinstance(written, Mapping):
        written = {key: item for key, item in written.items() if key not in dropped}
    elif isinstance(written, list):
        written = [item for place, item in enumerate(written) if str(place) not in dropped]
    return {**kept, CONVENTIONS_KEY: written} if written else kept


def _fit_for_netcdf(variables: Iterable[xr.Variable]) -> None:
    """Change attributes of variables, in place, so that xarray can write the variables to netCDF."""
    for variable in variables:
        variable.attrs = _netcdf_attributes(variable.attrs)
        # netCDF has no booleans: xarray writes integers with an attribute ``dtype``, which must not be there yet.
        if variable.dtype == bool:
            variable.attrs.pop("dtype", None)


def _netcdf_attributes(attributes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return attributes as every kind of netCDF file can hold them: texts, numbers, all else as JSON text.

    Names that xarray and the netCDF libraries reserve are left out: they say how a file stores dimensions.
    """

    def is_number(value: Any) -> bool:
        if isinstance(value, bool):
            return False
        return isinstance(value, float) or (isinstance(value, int) and _LEAST <= value <= _MOST)

    fitting = {}
    for key, value in attributes.items():
        if isinstance(value, list | tuple):
            fits = bool(value) and all(map(is_number, value))
        else:  # a value of no JSON type, as a NumPy scalar, comes from decoding or a plug-in, and stays
            fits = is_number(value) or not isinstance(value, bool | int | Mapping | NoneType)
        if key not in _RESERVED:
            fitting[key] = value if fits else json.dumps(value, default=str)
    return fitting
