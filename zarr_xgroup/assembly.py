"""One group's variables: opened, given what their conventions declare, and told about.

The only place where what is wrong becomes warnings.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import xarray as xr
import zarr

from zarr_xgroup.cf import candidate_paths, referred_names
from zarr_xgroup.conventions import ArrayConventions, axis_hints, handlers
from zarr_xgroup.conventions.base import ArrayContext, Coordinate
from zarr_xgroup.dimensions import declared_dimensions, settle_dimensions
from zarr_xgroup.documents import Document, copy_of
from zarr_xgroup.errors import (
    XGroupDimensionWarning,
    XGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupNoPrincipalWarning,
    XGroupResolutionWarning,
    XGroupStoreError,
    XGroupWarning,
)
from zarr_xgroup.hierarchy import Hierarchy
from zarr_xgroup.i18n import _
from zarr_xgroup.merging import Merge
from zarr_xgroup.paths import join_path
from zarr_xgroup.resolver import Node
from zarr_xgroup.variables import (
    ArrayReader,
    GroupVariables,
    StoredArray,
    Templates,
    fill_value_warning,
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
    inherited : dict
        By array, the dimensions that it takes from ancestor groups, with their coordinates.
    named : dict
        By array, what its dimensions were called before any was renamed to fit.
    variables : dict of str to xarray.Variable
        All lazy: the group's arrays sorted by name, then what these refer to.
    coordinates : set of str
        The names of variables that are coordinates, besides those that xarray makes such.
    identities : dict of str to hashable
        What coordinates are, by name: equal in two groups if they are the same.
    referrers : dict of str to str
        The arrays that brought the coordinates that are no arrays of the group.
    users : dict of str to list of str
        The arrays that have a coordinate, by its name.
    stored : dict of str to StoredArray
        What variables are read from, by name.
    undecoded : dict of str to XGroupStoreError
        Variables that cannot be read, so that their times are not to be decoded.
    warnings : list of XGroupWarning
        In the order in which they are to be given.
    problems : list of tuple
        What kept coordinates from being resolved, each with the path of the array.
    notes : list of tuple
        The path of an array, and what was decided where its metadata left a choice.
    without_principal : list of str
        The paths of arrays that declare no principal convention.
    referred : set of str
        The paths of arrays that arrays of this group refer to.
    """

    path: str
    attributes: dict[str, Any] = field(default_factory=dict)
    inherited: dict[str, dict[str, Node | None]] = field(default_factory=dict)
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variables: dict[str, xr.Variable] = field(default_factory=dict)
    coordinates: set[str] = field(default_factory=set)
    identities: dict[str, Hashable] = field(default_factory=dict)
    referrers: dict[str, str] = field(default_factory=dict)
    users: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    stored: dict[str, StoredArray] = field(default_factory=dict)
    undecoded: dict[str, XGroupStoreError] = field(default_factory=dict)
    warnings: list[XGroupWarning] = field(default_factory=list)
    problems: list[tuple[str, XGroupError]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    without_principal: list[str] = field(default_factory=list)
    referred: set[str] = field(default_factory=set)


def assemble(
    hierarchy: Hierarchy, group: str, drop_variables: Collection[str], reader: ArrayReader
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
    reader : ArrayReader
        Opens arrays of other groups, once for all groups of an open.
    """
    result = AssembledGroup(group, _group_attributes(hierarchy.document(group)))
    documents = hierarchy.arrays(group)
    for name in drop_variables:
        documents.pop(name, None)
    _tell_problems(hierarchy, result, drop_variables)
    arrays = _open_arrays(hierarchy, documents, result, reader.templates)
    variables = GroupVariables(hierarchy.store, group, arrays, hierarchy.zarr_format)
    for name in arrays:
        path = join_path(group, name)
        try:
            result.variables[name], fill_value = variables.open(name)
        except XGroupMetadataError as error:
            result.warnings.append(left_out(path, error))
            continue
        if fill_value is not None:
            result.warnings.append(fill_value_warning(f"/{path}", fill_value))
        result.stored[name] = StoredArray(Node(hierarchy, path), arrays[name])
    _attach(hierarchy, result, reader)
    return result


def _attach(hierarchy: Hierarchy, result: AssembledGroup, reader: ArrayReader) -> None:
    """Attach the coordinates that the conventions of the group's arrays declare."""
    available = handlers()
    siblings = {
        name: {str(dimension): size for dimension, size in variable.sizes.items()}
        for name, variable in result.variables.items()
    }
    conventions = {
        name: ArrayConventions(_context(hierarchy, result, name, siblings, reader), available)
        for name in result.variables
    }
    merge = Merge(
        Node(hierarchy, result.path),
        result.variables,
        first_class={name for name, found in conventions.items() if found.principal},
        reserved=set(hierarchy.groups(result.path)),
    )
    known: dict[Hashable, list[str]] = {}
    for name, found in conventions.items():
        context = found.context
        for key, value in found.attributes().items():
            result.variables[name].attrs.setdefault(key, value)
        attached = known.get(found.signature)
        if attached is None:
            attached = []
            for coordinate in found.coordinates():
                attached.append(merge.add(coordinate, context.node))
                result.referred.update(_sources(coordinate, hierarchy))
            if found.signature is not None and not context.has_findings:
                known[found.signature] = attached
        _name_coordinates(result.variables, name, attached)
        inherited = _attach_inherited(merge, context, result)
        for other in dict.fromkeys([*attached, *inherited]):
            result.users[other].append(str(context.node))
    _attach_grid_mappings(merge, conventions)
    for found in conventions.values():
        _take_down(hierarchy, found.context, result)
    result.notes.extend(merge.notes)
    result.warnings.extend(merge.warnings)
    result.coordinates, result.identities = merge.coordinates, merge.identities
    result.referrers = merge.referrers
    for name, source in merge.sources.items():
        stored = reader.stored(source)
        if stored is not None:
            result.stored[name] = stored
    _classify(hierarchy, conventions, result)


def _attach_grid_mappings(merge: Merge, conventions: Mapping[str, ArrayConventions]) -> None:
    """Attach the CRS of each array that is no coordinate."""
    known: dict[Hashable, str] = {}
    for name, found in conventions.items():
        variable = merge.variables[name]
        if name in merge.coordinates or variable.dims == (name,):
            continue
        if found.signature in known and "grid_mapping" not in variable.attrs:
            variable.attrs["grid_mapping"] = known[found.signature]
            continue
        mapping = found.grid_mapping()
        if mapping is None:
            continue
        attached = merge.add_grid_mapping(name, mapping, found.context.node)
        is_plain = found.signature is not None and not found.context.has_findings
        if attached is not None and is_plain:
            known[found.signature] = attached


def _attach_inherited(merge: Merge, context: ArrayContext, result: AssembledGroup) -> list[str]:
    """Attach the coordinates of dimensions that an array takes from ancestor groups."""
    attached = []
    for dimension, node in result.inherited[context.node.name].items():
        if node is None or dimension in result.variables:
            continue
        variable = context.attempt(context.variable, node, (dimension,))
        if variable is not None:
            identity = (node, (dimension,))
            coordinate = Coordinate(dimension, variable, identity, source=node)
            attached.append(merge.add(coordinate, context.node))
            result.referred.add(node.path)
    return attached


def _take_down(hierarchy: Hierarchy, context: ArrayContext, result: AssembledGroup) -> None:
    """Take over what was found wrong with, and through, one array."""
    result.problems.extend((str(context.node), error) for error in context.problems)
    result.notes.extend((str(context.node), text) for text in context.notes)
    result.warnings.extend(context.warnings)
    result.referred.update(node.path for node in context.referred if node.documents is hierarchy)


def _name_coordinates(variables: Mapping[str, xr.Variable], name: str, attached: list[str]) -> None:
    """Name a variable's coordinates in its encoding, unless its attributes name some.

    Dimension coordinates need no naming (CF 1.12, section 5). cf_xarray takes from a Dataset
    with a variable what is named so.
    """
    variable = variables[name]
    named = [
        other
        for other in dict.fromkeys(attached)
        if other not in (name, *variable.dims) and set(variables[other].dims) <= set(variable.dims)
    ]
    if named and "coordinates" not in variable.attrs:
        variable.encoding["coordinates"] = " ".join(named)


def _context(
    hierarchy: Hierarchy,
    result: AssembledGroup,
    name: str,
    siblings: dict[str, dict[str, int]],
    reader: ArrayReader,
) -> ArrayContext:
    node = Node(hierarchy, join_path(result.path, name))
    variable = result.variables[name]
    dimensions = tuple(str(dimension) for dimension in variable.dims)
    return ArrayContext(
        node,
        dimensions,
        reader,
        names=dict(zip(result.named.get(name, dimensions), dimensions, strict=True)),
        chunks=dict(variable.encoding.get("preferred_chunks", {})),
        siblings=siblings,
    )


def _sources(coordinate: Coordinate, hierarchy: Hierarchy) -> Iterator[str]:
    """Yield the paths of the arrays of this store that a coordinate is read from."""
    if coordinate.source is not None and coordinate.source.documents is hierarchy:
        yield coordinate.source.path
    companions = [*coordinate.formula_terms.values()]
    if coordinate.bounds is not None:
        companions.append(coordinate.bounds)
    for companion in companions:
        yield from _sources(companion, hierarchy)


def no_principal_warning(groups: Collection[AssembledGroup]) -> XGroupNoPrincipalWarning | None:
    """Return the one warning of an open about arrays without a principal convention."""
    referred = {path for group in groups for path in group.referred}
    paths = [path for group in groups for path in group.without_principal if path not in referred]
    return XGroupNoPrincipalWarning.for_arrays(f"/{path}" for path in paths) if paths else None


def resolution_warnings(groups: Collection[AssembledGroup]) -> Iterator[XGroupResolutionWarning]:
    """Yield a warning for each thing that was wrong, naming all arrays that met it.

    What is wrong with another store is one thing.
    """
    problems: defaultdict[tuple[str, str], list[tuple[str, XGroupError]]] = defaultdict(list)
    notes: defaultdict[str, list[str]] = defaultdict(list)
    for group in groups:
        for path, error in group.problems:
            store = error.store if isinstance(error, XGroupStoreError) else ""
            problems[store, "" if store else str(error)].append((path, error))
        for path, text in group.notes:
            notes[text].append(path)
    for (store, _text), met in problems.items():
        error = _summary(store, [error for _path, error in met]) if store else met[0][1]
        yield XGroupResolutionWarning.for_problem(dict.fromkeys(path for path, _e in met), error)
    for text, paths in notes.items():
        yield XGroupResolutionWarning.for_note(dict.fromkeys(paths), text)


def _summary(store: str, errors: Collection[XGroupError]) -> XGroupStoreError:
    """Return all that is wrong with a store, and the first place that refers to it, as one error."""
    failures = [error for error in errors if isinstance(error, XGroupStoreError)]
    reasons = dict.fromkeys(error.reason for error in failures)
    summary = XGroupStoreError.of(store, "; ".join(reasons), failures[0].place)
    summary.__cause__ = failures[0].__cause__
    return summary


def _group_attributes(document: Document | None) -> dict[str, Any]:
    attributes = {} if document is None else document["attributes"]
    # As engine zarr: what NCZarr keeps for itself is not shown.
    return {
        key: copy_of(value)
        for key, value in attributes.items()
        if not key.lower().startswith("_nc")
    }


def _open_arrays(
    hierarchy: Hierarchy,
    documents: dict[str, Document],
    result: AssembledGroup,
    templates: Templates,
) -> dict[str, zarr.Array[Any]]:
    """Open the arrays that zarr can use, with a name for every dimension.

    The others are removed from `documents`: they have no say in what dimensions are called.
    """
    arrays = {}
    for name, document in list(documents.items()):
        path = join_path(result.path, name)
        try:
            declared = declared_dimensions(document)
            result.inherited[name], warnings = _ancestors_dimensions(hierarchy, path, document)
            result.warnings.extend(warnings)
            if result.inherited[name]:
                names = {f"/{dimension}": dimension for dimension in result.inherited[name]}
                declared = tuple(names.get(str(dim), dim) for dim in declared)
                documents[name] = document = with_dimensions(document, declared)
            named = with_dimensions(document, declared)
            arrays[name] = open_array(hierarchy.store, path, named, templates)
        except XGroupMetadataError as error:
            result.warnings.append(left_out(path, error))
            del documents[name]
    hints = {
        name: axis_hints(ArrayContext(Node(hierarchy, join_path(result.path, name)), ()))
        for name, document in documents.items()
        if None in declared_dimensions(document)
    }
    settled = settle_dimensions(documents, result.path, hints)
    dimensions = settled.dimensions
    result.named = settled.named
    result.warnings.extend(
        warning
        for name, warning in settled.warnings.items()
        # Without its attributes a v2 array has no names either, and that was told.
        if join_path(result.path, name) not in hierarchy.problems
    )
    for name, document in documents.items():
        if dimensions[name] != declared_dimensions(document):
            complete = with_dimensions(document, dimensions[name])
            path = join_path(result.path, name)
            arrays[name] = open_array(hierarchy.store, path, complete, templates)
    return arrays


def _ancestors_dimensions(
    hierarchy: Hierarchy, path: str, document: Document
) -> tuple[dict[str, Node | None], list[XGroupDimensionWarning]]:
    """Return the dimensions that an array takes from ancestor groups, and their coordinates.

    A dimension name with a leading slash, ``/time``, is that of the nearest ancestor that
    has it (GeoZarr draft standard, "Dimensions"). One that no ancestor has keeps its name.
    """
    group = Node(hierarchy, path).group
    found: dict[str, Node | None] = {}
    warnings = []
    for name, size in zip(declared_dimensions(document), document["shape"], strict=True):
        dimension = (name or "").removeprefix("/")
        if name == dimension or not dimension or "/" in dimension:
            continue
        place = _nearest_with(hierarchy, group, dimension)
        if place is None:
            continue
        ancestor, length = place
        coordinate = Node(hierarchy, join_path(ancestor.path, dimension))
        document_there = coordinate.document
        is_taken = Node(hierarchy, join_path(group.path, dimension)).document is not None
        if length != size or is_taken:
            message = _(
                "Array /{path}: its dimension {name!r} of length {size} cannot be that of group "
                "{ancestor} (length {length}), or the name is taken here; it was left as it is"
            )
            text = message.format(path=path, name=name, size=size, ancestor=ancestor, length=length)
            warnings.append(XGroupDimensionWarning(text))
        elif document_there is not None and document_there.get("shape") == [size]:
            found[dimension] = coordinate
        else:
            found[dimension] = None
    return found, warnings


def _nearest_with(hierarchy: Hierarchy, group: Node, dimension: str) -> tuple[Node, int] | None:
    """Return the nearest ancestor of a group that has a dimension, and the length of it."""
    while group.path:
        group = group.group
        with contextlib.suppress(XGroupError):  # a group that cannot be listed has no say
            hierarchy.load_group(group.path)
        for document in hierarchy.arrays(group.path).values():
            with contextlib.suppress(XGroupError):
                sizes = dict(zip(declared_dimensions(document), document["shape"], strict=True))
                if dimension in sizes:
                    return group, sizes[dimension]
    return None


def _tell_problems(
    hierarchy: Hierarchy, result: AssembledGroup, drop_variables: Collection[str]
) -> None:
    """Tell what is wrong with the group itself and with its arrays' documents."""
    for path, error in hierarchy.problems.items():
        document = hierarchy.document(path)
        parent, _slash, name = path.rpartition("/")
        if path == result.path:
            message = _("Group {path} was opened without {what}: {reason}")
            what = _("attributes") if hierarchy.is_listed(path) else _("members")
        elif parent != result.path or name in drop_variables:
            continue
        elif document is None:
            result.warnings.append(left_out(path, error))
            continue
        elif document["node_type"] == "array":
            message = _("Array {path} was opened without {what}: {reason}")
            what = _("attributes")
        else:
            continue  # a group tells of itself when it is opened
        text = message.format(path=f"/{path}", what=what, reason=error)
        result.warnings.append(XGroupMetadataWarning(text, error))


def left_out(path: str, error: XGroupError) -> XGroupMetadataWarning:
    """Return the warning about a node that could not be used."""
    message = _("Node {path} was left out: {reason}").format(path=f"/{path}", reason=error)
    return XGroupMetadataWarning(message, error)


def _classify(
    hierarchy: Hierarchy, conventions: Mapping[str, ArrayConventions], result: AssembledGroup
) -> None:
    """Find out which arrays others refer to, and which follow no principal convention."""
    for name, found in conventions.items():
        document = found.context.node.document
        if document is not None:
            referred = _referred_arrays(hierarchy, document["attributes"], result.path)
            result.referred.update(referred)
        is_coordinate = name in result.coordinates or result.variables[name].dims == (name,)
        if found.principal is None and not is_coordinate:
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
