"""The adapter for plug-ins whose handlers use zarr objects and xarray variables.

`get_variables` and `detect` of the specification are called with open zarr objects here, and their variables become
an `Interpretation`. The adapter also runs a handler outside of an open call, so that it can be tested with a zarr array.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
import xarray as xr
import zarr
from msgspec.structs import replace
from xarray.core import indexing
from zarr.abc.store import Store
from zarr.storage import MemoryStore

from zarr_xgroup._compat import ZarrArrayWrapper
from zarr_xgroup.conventions.array import ArrayView, own_dims_of
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.errors import XGroupReferenceError
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import with_names
from zarr_xgroup.metadata.dimensions import declared_dimensions, distinct_names, shape_of
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.storage.library import Library
from zarr_xgroup.variables.factory import VariableFactory
from zarr_xgroup.variables.sources import HandlerVariable, Stored, Unusable
from zarr_xgroup.variables.stored import StoredArray

T = TypeVar("T")

#: Calls a function with the view of one array and returns its result. If the function needs metadata documents that
#: were not read yet, they are read and the function is called again.
Ask: TypeAlias = Callable[[Callable[[ArrayView], Any]], Any]


class BoundResolver:
    """Resolves references of one array for a handler, and returns arrays as lazy variables.

    During an open call, it is the attribute ``resolver`` of a handler.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @classmethod
    def of(cls, array: zarr.Array[Any], root: zarr.Group) -> BoundResolver:
        """Return the resolver of an open zarr array, to use a handler outside of an open call.

        Parameters
        ----------
        array : zarr.Array
            The array.
        root : zarr.Group
            The root group of the array's store.
        """
        return cls(_runner_for(array, root))

    def variable(
        self, reference: Mapping[str, Any], dimensions: Iterable[str] | None = None
    ) -> xr.Variable:
        """Return the array to which a reference points as a lazy, undecoded variable.

        Parameters
        ----------
        reference : mapping
            ``{"node": ..., "uri"?: ..., "attribute"?: ...}``, bare or in ``{"ref": ...}``.
        dimensions : iterable of str, optional
            The dimension names of the variable, by default those of the array.

        Raises
        ------
        XGroupError
            If the reference cannot be resolved; the error states the reason and the paths that were tried.
        """

        def variable(view: ArrayView) -> xr.Variable:
            node = view.resolver.array(_reference_in(view.node, reference))
            view.referred.add(node)
            dims = own_dims_of(view, node) if dimensions is None else tuple(dimensions)
            return view.factory.variable(view.stored(Stored(node, dims)))

        result: xr.Variable = self._ask(variable)
        return result

    def value(self, reference: Mapping[str, Any]) -> Any:
        """Return the JSON value to which a reference points.

        Raises
        ------
        XGroupError
            If the reference cannot be resolved; the error states the reason and the paths that were tried.
        """
        return self._ask(
            lambda view: view.resolver.fragment(_reference_in(view.node, reference)).value
        )


def _reference_in(node: Node, reference: object) -> Fragment:
    """Return a reference of a handler as if it were in the metadata of an array, or raise XGroupReferenceError."""
    if not isinstance(reference, Mapping):
        reason = _("a reference must be a mapping such as {example}, got {value!r}").format(
            example='{"node": "../time"}', value=reference
        )
        raise XGroupReferenceError(reason, place=str(node), target=str(reference))
    return Fragment(node, (), dict(reference))


def run_on_zarr(function: Callable[[ArrayView], T], array: zarr.Array[Any], root: zarr.Group) -> T:
    """Return the result of a function of the view of a zarr array, outside of an open call."""
    result: T = _runner_for(array, root)(function)
    return result


def variables_of(
    interpret: Callable[[ArrayView], object], array: zarr.Array[Any], root: zarr.Group
) -> dict[str, xr.Variable]:
    """Return the variables, by name, of the coordinates that `interpret` returns for a zarr array.

    Raises the first finding that is a problem, because outside of an open call no warnings are collected.
    """

    def interpreted(view: ArrayView) -> tuple[Interpretation, list[Coordinate], VariableFactory]:
        result = interpretation_of(interpret, view)
        coordinates = [_or_own_array(view, coordinate) for coordinate in result.coordinates]
        return result, coordinates, view.factory

    interpretation, coordinates, factory = run_on_zarr(interpreted, array, root)
    parts = (part.source for coordinate in coordinates for part in coordinate.parts())
    unusable = [source.finding for source in parts if isinstance(source, Unusable)]
    for finding in (*interpretation.findings, *unusable):
        if finding.topic is Topic.PROBLEM:
            raise finding.as_error()
    variables: dict[str, xr.Variable] = {}
    linked = (link.coordinate for link in interpretation.links)
    for coordinate in (*coordinates, *linked):
        _add_with_companions(variables, coordinate, factory)
    return variables


def _or_own_array(view: ArrayView, coordinate: Coordinate) -> Coordinate:
    """Return a coordinate, with computed values replaced by the group's own dimension coordinate of the same name.

    Stored arrays and variables of a handler are kept.
    """
    name, dims = coordinate.name, coordinate.source.dims
    needed = {name: view.sizes.get(name)} if dims == (name,) else None
    if isinstance(coordinate.source, Unusable) and coordinate.source.needed is not None:
        needed = dict(coordinate.source.needed)
    is_own = view.sibling(name) is not None and view.siblings[name] == needed
    if not is_own or isinstance(coordinate.source, Stored | HandlerVariable):
        return coordinate
    return replace(coordinate, source=Stored(view.node.group.child(name), dims), bounds=None)


def _runner_for(array: zarr.Array[Any], root: zarr.Group) -> Ask:
    """Return a function that calls functions with the view of a zarr array, outside of an open call.

    A function is called again until all metadata documents that it needs have been read.
    """
    library = Library.of_store(root.store, root.metadata.zarr_format)
    tree, node = library.tree, Node(0, array.path)
    factory = VariableFactory(tree, library.zarr_store)

    def dims_of(document: Document) -> tuple[str, ...]:
        return distinct_names(declared_dimensions(document), "phony_dim_")  # as netCDF does

    def view() -> ArrayView:
        tree.document(node.group)  # read because zarr objects are made from it
        document = tree.document(node)
        siblings = {
            name: dict(zip(dims_of(sibling), shape_of(sibling), strict=True))
            for name, sibling in tree.arrays(node.group).items()
        }
        dims = () if document is None else dims_of(document)
        return ArrayView(node, dims, tree, factory, siblings=siblings)

    return lambda function: library.ask(lambda: function(view()))


def _add_with_companions(
    variables: dict[str, xr.Variable], coordinate: Coordinate, factory: VariableFactory
) -> None:
    """Add to variables those of a coordinate and of its bounds, formula terms and CF links."""
    attributes = dict(coordinate.attributes)
    if coordinate.bounds is not None:
        attributes["bounds"] = coordinate.bounds.name
        _add_with_companions(variables, coordinate.bounds, factory)
    if coordinate.formula_terms:
        terms = coordinate.formula_terms.items()
        attributes["formula_terms"] = " ".join(f"{key}: {term.name}" for key, term in terms)
        for _key, term in terms:
            _add_with_companions(variables, term, factory)
    variable = factory.variable(coordinate.source)
    variable.attrs = {**attributes, **variable.attrs}
    for link in coordinate.links:
        _add_with_companions(variables, link.coordinate, factory)
        key, names = link.attribute, {link.path: link.coordinate.name}
        variable.attrs[key] = with_names(key, variable.attrs[key], names)
    variables[coordinate.name] = variable


def interpretation_of(interpret: Callable[[ArrayView], object], array: ArrayView) -> Interpretation:
    """Return the result of a handler's `interpret`, or raise TypeError if it is not an Interpretation."""
    interpretation = interpret(array)
    if not isinstance(interpretation, Interpretation):
        message = _(
            "'interpret' must return an Interpretation (see array.interpretation), got {kind}"
        )
        raise TypeError(message.format(kind=type(interpretation).__name__))
    return interpretation


def interpretation_from_variables(
    get_variables: Callable[..., object], array: ArrayView
) -> Interpretation:
    """Return the variables of a handler's `get_variables` as coordinates, or raise TypeError if they are not in a dict."""
    root, group, zarr_array = array.factory.zarr_objects(array.node)
    variables = get_variables(zarr_array, group, root)
    if not isinstance(variables, Mapping):
        message = _("'get_variables' must return a dict of xarray.Variable by name, got {kind}")
        raise TypeError(message.format(kind=type(variables).__name__))
    return array.interpretation(
        *(_coordinate(name, variable) for name, variable in variables.items())
    )


def _coordinate(name: str, variable: xr.Variable) -> Coordinate:
    """Return a variable of a plug-in as a coordinate; its types are checked later."""
    if not isinstance(variable, xr.Variable):
        return Coordinate(name, HandlerVariable(variable, None))
    # Coordinates of several arrays with equal keys are one variable. The name is part of the key because a handler may
    # give different names to parts of one array.
    data: Any = variable._data  # not `data`, which would load lazy values
    content: Hashable
    if isinstance(data, np.ndarray):
        content = (variable.shape, str(variable.dtype), repr(data.tolist()))
    else:
        content = _indexed_part_of(data) or _ComparedByIdentity(data)
    return Coordinate(name, HandlerVariable(variable, (name, variable.dims, content)))


def _indexed_part_of(data: object) -> Hashable | None:
    """Return store, path and index of the zarr array in xarray's lazy data, or None for other data."""
    while isinstance(data, indexing.MemoryCachedArray | indexing.CopyOnWriteArray):
        data = data.array
    if not isinstance(data, indexing.LazilyIndexedArray | indexing.LazilyVectorizedIndexedArray):
        return None
    if not isinstance(data.array, ZarrArrayWrapper | StoredArray):
        return None
    array = data.array.get_array()  # type: ignore[no-untyped-call]
    key = tuple(
        (part.shape, part.dtype.str, part.tobytes()) if isinstance(part, np.ndarray) else repr(part)
        for part in data.key.tuple
    )
    return _ComparedByIdentity(array.store), array.path, key


class _ComparedByIdentity:
    """A hashable key for an object, compared by identity; zarr stores are compared by equality.

    The key holds a reference to the object: otherwise Python could reuse its `id`.
    """

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ComparedByIdentity):
            return False
        one, two = self._value, other._value
        if one is two or not isinstance(one, Store) or type(one) is not type(two):
            return one is two
        if isinstance(one, MemoryStore):
            return str(one) == str(
                two
            )  # the text has the `id` of its dict; `==` compares all bytes
        return bool(one == two)

    def __hash__(self) -> int:
        return hash(type(self._value)) if isinstance(self._value, Store) else id(self._value)
