"""One group's variables: opened, named, merged, and told about.

The only place where variables come together, and where what is wrong becomes warnings.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import xarray as xr
import zarr

from zarr_xgroup.cf import candidate_paths, referred_names
from zarr_xgroup.conventions import handlers
from zarr_xgroup.dimensions import declared_dimensions, settle_dimensions
from zarr_xgroup.documents import Document
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupNoPrincipalWarning,
    XGroupStoreError,
    XGroupWarning,
)
from zarr_xgroup.hierarchy import Hierarchy, join_path
from zarr_xgroup.i18n import _
from zarr_xgroup.variables import (
    FillValue,
    GroupVariables,
    open_array,
    with_dimensions,
)


@dataclass
class AssembledGroup:
    """What a group gives: undecoded variables and attributes, and what was wrong.

    Attributes
    ----------
    path : str
        The group's path in its store.
    attributes : dict
        The group's own, shared with nothing.
    variables : dict of str to xarray.Variable
        All lazy, sorted by name.
    warnings : list of XGroupWarning
        In the order in which they are to be given.
    without_principal : list of str
        The paths of arrays that declare no principal convention.
    referred : set of str
        The paths of arrays that arrays of this group refer to.
    """

    path: str
    attributes: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, xr.Variable] = field(default_factory=dict)
    warnings: list[XGroupWarning] = field(default_factory=list)
    without_principal: list[str] = field(default_factory=list)
    referred: set[str] = field(default_factory=set)


def assemble(
    hierarchy: Hierarchy, group: str, drop_variables: Collection[str] = ()
) -> AssembledGroup:
    """Assemble the variables of a group whose children were loaded.

    Parameters
    ----------
    hierarchy : Hierarchy
        The store.
    group : str
        The path of the group.
    drop_variables : collection of str
        Names of arrays to leave alone: what is wrong with them is not told either.
    """
    result = AssembledGroup(group, _group_attributes(hierarchy.document(group)))
    documents = hierarchy.arrays(group)
    for name in drop_variables:
        documents.pop(name, None)
    _tell_problems(hierarchy, result, drop_variables)
    arrays = _open_arrays(hierarchy, documents, result)
    variables = GroupVariables(hierarchy.store, group, arrays, hierarchy.zarr_format)
    for name in arrays:
        path = join_path(group, name)
        try:
            result.variables[name], fill_value = variables.open(name)
        except XGroupMetadataError as error:
            result.warnings.append(_left_out(path, error))
            continue
        if fill_value is not None:
            result.warnings.append(_fill_value_warning(path, fill_value))
    _classify(hierarchy, documents, result)
    return result


def no_principal_warning(groups: Collection[AssembledGroup]) -> XGroupNoPrincipalWarning | None:
    """Return the one warning of an open about arrays without a principal convention."""
    referred = {path for group in groups for path in group.referred}
    paths = [path for group in groups for path in group.without_principal if path not in referred]
    return XGroupNoPrincipalWarning.for_arrays(f"/{path}" for path in paths) if paths else None


def _group_attributes(document: Document | None) -> dict[str, Any]:
    attributes = {} if document is None else document["attributes"]
    # As engine zarr: what NCZarr keeps for itself is not shown.
    return {
        key: copy.deepcopy(value)
        for key, value in attributes.items()
        if not key.lower().startswith("_nc")
    }


def _open_arrays(
    hierarchy: Hierarchy, documents: dict[str, Document], result: AssembledGroup
) -> dict[str, zarr.Array[Any]]:
    """Open the arrays that zarr can use, with a name for every dimension.

    The others are removed from `documents`: they have no say in what dimensions are called.
    """
    arrays = {}
    for name, document in list(documents.items()):
        path = join_path(result.path, name)
        try:
            declared = declared_dimensions(document)
            arrays[name] = open_array(hierarchy.store, path, with_dimensions(document, declared))
        except XGroupMetadataError as error:
            result.warnings.append(_left_out(path, error))
            del documents[name]
    dimensions, warnings = settle_dimensions(documents, result.path)
    result.warnings.extend(warnings)
    for name, document in documents.items():
        if dimensions[name] != declared_dimensions(document):
            settled = with_dimensions(document, dimensions[name])
            arrays[name] = open_array(hierarchy.store, join_path(result.path, name), settled)
    return arrays


def _tell_problems(
    hierarchy: Hierarchy, result: AssembledGroup, drop_variables: Collection[str]
) -> None:
    """Tell what is wrong with the group itself and with its arrays' documents."""
    for path, error in hierarchy.problems.items():
        document = hierarchy.document(path)
        parent, _slash, name = path.rpartition("/")
        if path == result.path:
            message = _("Group {path} was opened without {what}: {reason}")
            what = _("members") if isinstance(error, XGroupStoreError) else _("attributes")
        elif parent != result.path or name in drop_variables:
            continue
        elif document is None:
            result.warnings.append(_left_out(path, error))
            continue
        elif document["node_type"] == "array":
            message = _("Array {path} was opened without {what}: {reason}")
            what = _("attributes")
        else:
            continue  # a group tells of itself when it is opened
        text = message.format(path=f"/{path}", what=what, reason=error)
        result.warnings.append(XGroupMetadataWarning(text, error))


def _left_out(path: str, error: XGroupError) -> XGroupMetadataWarning:
    message = _("Node {path} was left out: {reason}").format(path=f"/{path}", reason=error)
    return XGroupMetadataWarning(message, error)


def _fill_value_warning(path: str, fill_value: FillValue) -> XGroupMetadataWarning:
    if fill_value.value is None:
        message = _(
            "Array {path}: /attributes/_FillValue is {written!r}, which is no value of the "
            "array's type; nothing is masked by it"
        )
    else:
        message = _(
            "Array {path}: /attributes/_FillValue is plain JSON ({written!r}), which engine zarr "
            "cannot read; it masks missing data as GeoZarr and NZ-1.0 mean it"
        )
    return XGroupMetadataWarning(message.format(path=f"/{path}", written=fill_value.written))


def _classify(
    hierarchy: Hierarchy, documents: Mapping[str, Document], result: AssembledGroup
) -> None:
    """Find out which arrays others refer to, and which follow no principal convention."""
    principals = [handler for handler in handlers() if handler.tier == "principal"]
    group = hierarchy.document(result.path)
    for name, variable in result.variables.items():
        attributes = documents[name]["attributes"]
        result.referred.update(_referred_arrays(hierarchy, attributes, result.path))
        if variable.dims == (name,):
            continue
        declaring = [attributes] if group is None else [attributes, group["attributes"]]
        if not any(handler.is_declared(node) for handler in principals for node in declaring):
            result.without_principal.append(join_path(result.path, name))


def _referred_arrays(
    hierarchy: Hierarchy, attributes: Mapping[str, Any], group: str
) -> Iterator[str]:
    for name in referred_names(attributes):
        for path in candidate_paths(name, group):
            document = hierarchy.document(path)
            if document is not None and document["node_type"] == "array":
                yield path
                break
