"""The option `convention_attrs`: keep, drop or restate the attributes of conventions in Datasets."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import reduce
from operator import or_
from types import NoneType
from typing import Any, TypeVar

import xarray as xr

from zarr_xgroup.conventions.base import failure_message
from zarr_xgroup.conventions.declaring import (
    CONVENTIONS_KEY,
    NOT_DECLARED,
    Declared,
    declaration_items,
    declared_by,
    matches,
)
from zarr_xgroup.conventions.dggs import DggsHandler, naming_cell_ids
from zarr_xgroup.conventions.multiscales import Multiscales
from zarr_xgroup.conventions.registry import Handler, handlers, named_conventions
from zarr_xgroup.errors import XGroupError, XGroupPluginWarning, converting_errors, warn_user
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import WORD_LISTS
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.options import ConventionAttrs

T = TypeVar("T", xr.Dataset, xr.DataArray, xr.DataTree)

#: Names that attributes in a netCDF file cannot have: xarray reserves the first one in Zarr stores, the
#: HDF5 and netCDF libraries reserve the others.
_RESERVED = frozenset(
    {"_ARRAY_DIMENSIONS", "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"}
    | {"_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties"}
)

#: The smallest and the largest integer that an attribute in a netCDF file can hold (``NC_INT64``).
_LEAST, _MOST = -(2**63), 2**63 - 1


def drop_conventions(data: T, *, assume_conventions: str | Iterable[str] | None = None) -> T:
    """Return data without the attributes of conventions; coordinates made from them are kept.

    This is the option ``convention_attrs="drop"`` for data that are already open: use it before you write netCDF, or
    after you have subset the data. It removes ``cs``, ``geolocation``, ``uom``, ``multiscales``, attributes that begin
    with ``spatial:`` or ``proj:``, references of `ref`, ``crs`` of a group if it is an object, the attributes that
    plug-ins own, and the items of these conventions in ``zarr_conventions``. An attribute is removed if its variable
    or Dataset (the group) declares the convention; an attribute with a prefix, also if a group above declares it.
    Other attributes that netCDF cannot hold become JSON text; lists of words that CF defines, such as ``flag_meanings``,
    are joined by blanks.

    Parameters
    ----------
    data : xarray.Dataset, xarray.DataArray or xarray.DataTree
        It is not modified. A DataArray does not have the declarations of its group.
    assume_conventions : str or iterable of str, optional
        Names of conventions that are treated as declared: those that the group of a DataArray declared, or
        that a Dataset has lost in a computation. The ``encoding`` of an opened Dataset holds the conventions that were
        assumed, and those that groups above declared.

    Returns
    -------
    xarray.Dataset, xarray.DataArray or xarray.DataTree
        With the same variables, which share their values with `data`.

    Raises
    ------
    TypeError
        If `data` has a different type.
    ValueError
        If `assume_conventions` names an unknown convention.

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
        _drop_convention_attributes(variables, NOT_DECLARED, NOT_DECLARED, assumed)
        _fit_for_netcdf(variables)
        return result
    datasets: dict[str, xr.Dataset] = {"/": copied}
    if isinstance(copied, xr.DataTree):
        datasets = {node.path: node.to_dataset(inherit=False) for node in copied.subtree}
    # Opening recorded in the encoding the conventions that groups above declare, and the assumed ones.
    recorded: list[Any] = [
        dataset.encoding.pop(CONVENTIONS_KEY, {}) for dataset in datasets.values()
    ]
    above = {CONVENTIONS_KEY: [{"name": name} for name in recorded[0].get("above", ())]}
    names = (each.get("assumed", ()) for each in recorded)
    by_path = dict(zip(datasets, map({*assumed}.union, names), strict=True))
    apply_convention_attrs(datasets, "drop", [above], by_path)
    if isinstance(copied, xr.DataTree):
        for node in copied.subtree:
            node.dataset = datasets[node.path]
    return result


def apply_convention_attrs(
    datasets: Mapping[str, xr.Dataset],
    how: ConventionAttrs,
    above: Iterable[Mapping[str, Any]],
    assumed: Mapping[str, Collection[str]],
) -> None:
    """Restate, keep or drop the attributes of conventions in Datasets, in place, according to `convention_attrs`.

    `datasets` are by path; `above` are the attributes of the groups above all of them. The `assumed` conventions, by
    path, are treated as declared by the Dataset.
    """
    # The conventions that a group or a group above it declares.
    from_above = reduce(or_, map(declared_by, above), NOT_DECLARED)
    in_scope: dict[str, Declared] = {}
    for path in sorted(datasets):  # parents first
        parent = path.rpartition("/")[0] or "/"
        in_scope[path] = in_scope.get(parent, from_above) | declared_by(datasets[path].attrs)
    _name_cell_ids(datasets, in_scope, assumed)
    if how == "keep":
        # `drop_conventions` needs the conventions that groups above declare, and the assumed ones.
        for path, dataset in datasets.items():
            own = declared_by(dataset.attrs)
            others = sorted(cls.name for cls in _handlers_of(in_scope[path]) if cls not in own)
            if others or assumed[path]:
                names = {"above": others, "assumed": sorted(assumed[path])}
                dataset.encoding[CONVENTIONS_KEY] = names
        return

    variables = [each for dataset in datasets.values() for each in dataset.variables.values()]
    if how == "drop":
        # Attributes of a group are dropped even if only arrays declare the convention, in any group.
        by_arrays = reduce(or_, (declared_by(array.attrs) for array in variables), NOT_DECLARED)
        anywhere = frozenset[str]().union(*assumed.values())
        for path, dataset in datasets.items():
            own, scope = declared_by(dataset.attrs), in_scope[path]
            _drop_convention_attributes(dataset.variables.values(), own, scope, assumed[path])
            _drop_convention_attributes([dataset], own | by_arrays, scope, anywhere)
    _fit_for_netcdf([*datasets.values(), *variables])


def _name_cell_ids(
    datasets: Mapping[str, xr.Dataset],
    in_scope: Mapping[str, Declared],
    assumed: Mapping[str, Collection[str]],
) -> None:
    """Rewrite attributes ``dggs`` in Datasets, in place, so that they name the attached cell ids."""
    for path, dataset in datasets.items():
        is_declared = DggsHandler.name in assumed[path] or DggsHandler in in_scope[path]
        holders: list[Any] = [dataset, *dataset.variables.values()]
        for holder in holders:
            if DggsHandler.name not in holder.attrs:
                continue
            if is_declared or DggsHandler in declared_by(holder.attrs):
                dims: Any = {name: variable.dims for name, variable in dataset.variables.items()}
                holder.attrs = dict(naming_cell_ids(holder.attrs, dims))


def _result_of(handler: Handler, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a handler's function, or warn and return None if it fails."""
    try:
        with converting_errors():
            return function(*arguments)
    except XGroupError as error:
        text = failure_message(handler, error.__cause__ or error)
        warn_user(XGroupPluginWarning(text, error))
    return None


def _handlers_of(declared: Declared, assumed: Collection[str] = ()) -> list[Handler]:
    """Return the handlers of declared and assumed conventions, and `Multiscales`, which gives no coordinates."""
    known: tuple[Handler, ...] = (*handlers(), Multiscales)
    return [handler for handler in known if handler in declared or handler.name in assumed]


def _drop_convention_attributes(
    holders: Iterable[xr.Variable | xr.Dataset],
    declared: Declared,
    in_scope: Declared,
    assumed: Collection[str],
) -> None:
    """Drop the attributes of conventions and their declarations from variables or Datasets, in place.

    All attributes that handlers own are dropped for conventions that are `declared`, `assumed`, or declared by the
    variable or Dataset itself. For other conventions `in_scope`, only attributes with the convention's prefix are dropped.
    """
    prefixes = tuple(f"{handler.name}:" for handler in _handlers_of(in_scope))
    for holder in holders:
        owners = _handlers_of(declared | declared_by(holder.attrs), assumed)
        named = {key: value for key, value in holder.attrs.items() if isinstance(key, str)}
        owned = {key for key in named if key.startswith(prefixes)}
        for handler in owners:
            owned |= (
                _result_of(handler, lambda cls, keys: {*cls.owned(keys)}, handler, named) or set()
            )
        holder.attrs = {key: value for key, value in holder.attrs.items() if key not in owned}
        if owners and CONVENTIONS_KEY in holder.attrs:
            written = _other_declarations(holder.attrs.pop(CONVENTIONS_KEY), owners)
            holder.attrs |= {CONVENTIONS_KEY: written} if written else {}


def _other_declarations(written: Any, dropped: Collection[Handler]) -> Any:
    """Return ``zarr_conventions``, a list or an object, without the items that declare `dropped` conventions."""
    declaring = {
        item.keys[-1]
        for item in declaration_items(Fragment(Node(0, ""), (), written))
        if isinstance(item.value, Mapping) and any(matches(cls, item.value) for cls in dropped)
    }
    if isinstance(written, Mapping):
        return {key: item for key, item in written.items() if key not in declaring}
    if isinstance(written, list):
        return [item for place, item in enumerate(written) if str(place) not in declaring]
    return written


def _fit_for_netcdf(holders: Iterable[xr.Variable | xr.Dataset]) -> None:
    """Change attributes, in place, so that xarray can write the variables or Datasets to netCDF.

    Reserved names, which describe how a file stores dimensions, are removed.
    """
    for holder in holders:
        kept = {key: value for key, value in holder.attrs.items() if key not in _RESERVED}
        holder.attrs = {key: _netcdf_value(key, value) for key, value in kept.items()}
        # netCDF has no booleans: xarray writes integers and adds an attribute ``dtype``, which must not exist yet.
        if isinstance(holder, xr.Variable) and holder.dtype == bool:
            holder.attrs.pop("dtype", None)


def _netcdf_value(key: str, value: Any) -> Any:
    """Return the value of an attribute in a form that any netCDF file can hold: text and numbers, or JSON text.

    CF joins lists of words by blanks; the words of a flag's meaning are connected by underscores (CF 1.12, section 3.5).
    """
    if key in WORD_LISTS and _are_texts(value):
        between = "_" if key == "flag_meanings" else " "
        return " ".join(between.join(text.split()) for text in value)
    if isinstance(value, list | tuple):
        fits = bool(value) and all(map(_is_number, value))
    else:  # other types, such as NumPy scalars, come from decoding or a plug-in, and are kept
        fits = _is_number(value) or not isinstance(value, bool | int | Mapping | NoneType)
    return value if fits else json.dumps(value, default=str)


def _are_texts(value: Any) -> bool:
    """Return whether a value is a list of texts; neither the list nor a text is empty."""
    is_list = isinstance(value, list | tuple) and bool(value)
    return is_list and all(isinstance(text, str) and bool(text.split()) for text in value)


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that an attribute in a netCDF file can hold."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, float) or (is_integer and _LEAST <= value <= _MOST)
