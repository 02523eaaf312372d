"""What a convention handler is given, what it gives, and how an array declares a convention."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import xarray as xr
import zarr

from zarr_xgroup.crs import Crs
from zarr_xgroup.dimensions import declared_dimensions
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupStoreError,
    XGroupWarning,
)
from zarr_xgroup.hierarchy import Hierarchy
from zarr_xgroup.i18n import _
from zarr_xgroup.resolver import Fragment, Node, Resolver
from zarr_xgroup.stores import describe_store
from zarr_xgroup.variables import ArrayReader, fill_value_warning

#: The attribute that lists the conventions an array or group follows.
CONVENTIONS_KEY = "zarr_conventions"

T = TypeVar("T")


@dataclass
class Coordinate:
    """One coordinate of an array, before it is merged with those of others.

    Attributes
    ----------
    name : str
        The name it should have.
    variable : xarray.Variable
        Lazy and undecoded, shared with nothing.
    identity : hashable
        Equal for what is one and the same: an array as it is used, or numbers in a unit.
    attributes : dict
        Added to those of the variable where it has none of the name.
    source : Node or None
        The array that it is read from; None if it is computed.
    as_stored : bool
        Whether the variable is that array unchanged, dimension names apart.
    bounds : Coordinate or None
        Its cell boundaries, to be named by its attribute ``bounds``.
    formula_terms : dict of str to Coordinate
        The terms of its parametric vertical coordinate, for ``formula_terms``.
    """

    name: str
    variable: xr.Variable
    identity: Hashable
    attributes: dict[str, Any] = field(default_factory=dict)
    source: Node | None = None
    as_stored: bool = False
    bounds: Coordinate | None = None
    formula_terms: dict[str, Coordinate] = field(default_factory=dict)


@dataclass(frozen=True)
class GridMapping:
    """The CRS of an array, and the transform of its grid.

    Attributes
    ----------
    crs : Crs
        The CRS.
    geotransform : str or None
        The transform as GDAL writes it: corner origin, ``c a b f d e``.
    """

    crs: Crs
    geotransform: str | None = None


@dataclass
class ArrayContext:
    """One array for whose coordinates handlers are asked, and what they find wrong.

    Attributes
    ----------
    node : Node
        The array.
    dimensions : tuple of str
        The names of its dimensions, complete.
    reader : ArrayReader
        Makes lazy variables.
    names : dict of str to str
        What dimensions are called that the array's metadata calls otherwise.
    chunks : dict of str to int
        The chunks that dask should divide the array in, by dimension.
    siblings : dict
        The sizes of the dimensions of all arrays of its group, by name.
    problems : list of XGroupError
        What kept coordinates from being resolved.
    notes : list of str
        Choices that were made where the metadata allowed several, and the like.
    referred : list of Node
        Arrays that plug-ins resolved.
    warnings : list of XGroupWarning
        What else is to be told.
    """

    node: Node
    dimensions: tuple[str, ...]
    reader: ArrayReader = field(default_factory=ArrayReader)
    names: dict[str, str] = field(default_factory=dict)
    chunks: dict[str, int] = field(default_factory=dict)
    siblings: dict[str, dict[str, int]] = field(default_factory=dict)
    problems: list[XGroupError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    referred: list[Node] = field(default_factory=list)
    warnings: list[XGroupWarning] = field(default_factory=list)

    @classmethod
    def of(cls, array: zarr.Array[Any], root: zarr.Group) -> ArrayContext:
        """Return the context of an open zarr array in the store of an open group."""
        hierarchy = Hierarchy(
            root.store, describe_store(root), root.metadata.zarr_format, closes=False
        )
        node = Node(hierarchy, array.path)
        document = node.document
        if document is None:
            message = _("there is no array {node}").format(node=node)
            raise XGroupMetadataError(message)
        names = declared_dimensions(document)
        return cls(node, tuple(name or f"phony_dim_{i}" for i, name in enumerate(names)))

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the array's dimensions."""
        document = self.node.document
        shape = () if document is None else document["shape"]
        return dict(zip(self.dimensions, shape, strict=True))

    @property
    def has_findings(self) -> bool:
        """Whether anything about the array is to be told."""
        return bool(self.problems or self.notes or self.warnings)

    @property
    def resolver(self) -> Resolver:
        """What follows the references of the array."""
        return Resolver(self.node, self.note)

    def note(self, text: str) -> None:
        """Take down a choice that was made in resolving the array's metadata."""
        self.notes.append(text)

    def attempt(self, make: Callable[..., T], *arguments: Any) -> T | None:
        """Return what a function gives, or None after taking down what it raises."""
        try:
            return make(*arguments)
        except XGroupError as error:
            self.problems.append(error)
            return None

    def variable(
        self, node: Node, dimensions: tuple[str, ...], place: Fragment | None = None
    ) -> xr.Variable:
        """Return an array as a lazy variable with the given dimensions.

        Parameters
        ----------
        node : Node
            The array.
        dimensions : tuple of str
            One name per axis.
        place : Fragment, optional
            What refers to it, for messages.

        Raises
        ------
        XGroupMetadataError
            If the array cannot be opened.
        """
        try:
            variable, fill_value = self.reader.variable(node, dimensions)
        except XGroupMetadataError as error:
            message = _("{place}: {node} cannot be opened: {reason}").format(
                place=place or self.node, node=node, reason=error
            )
            raise XGroupMetadataError(message) from error
        if fill_value is not None:
            self.warnings.append(fill_value_warning(str(node), fill_value))
        problem = self.reader.problem(node)
        if isinstance(problem, XGroupStoreError) and problem.store:
            self.problems.append(problem)
        elif problem is not None and node.group != self.node.group:
            self.note(
                _("{node} was opened without attributes: {reason}").format(
                    node=node, reason=problem
                )
            )
        return variable


class BoundResolver:
    """References and lazy variables for a handler, on behalf of one array.

    A handler finds it as ``self.resolver`` while an open runs.
    """

    def __init__(self, context: ArrayContext) -> None:
        self._context = context

    def variable(
        self, reference: Mapping[str, Any], dimensions: Iterable[str] | None = None
    ) -> xr.Variable:
        """Return the array that a reference leads to as a lazy, undecoded variable.

        Parameters
        ----------
        reference : mapping
            ``{"node": ..., "uri"?: ..., "attribute"?: ...}``, bare or in ``{"ref": ...}``.
        dimensions : iterable of str, optional
            Names for its dimensions. Default: its own.

        Raises
        ------
        XGroupError
            If it cannot be resolved; the error says why and what was tried.
        """
        context = self._context
        node = context.resolver.array(Fragment(context.node, (), dict(reference)))
        context.referred.append(node)
        if dimensions is None:
            dimensions = own_dimensions(node)
        return context.variable(node, tuple(dimensions))

    def value(self, reference: Mapping[str, Any]) -> Any:
        """Return the JSON value that a reference leads to.

        Raises
        ------
        XGroupError
            If it cannot be resolved; the error says why and what was tried.
        """
        context = self._context
        return context.resolver.fragment(Fragment(context.node, (), dict(reference))).value


def own_dimensions(node: Node) -> tuple[str, ...]:
    """Return an array's own dimension names, ``<array>_dim_<axis>`` for one without a name."""
    document = node.document
    names = () if document is None else declared_dimensions(document)
    return tuple(name or f"{node.name}_dim_{axis}" for axis, name in enumerate(names))


class ConventionHandler:
    """Base class of the handlers of all conventions, built in or third-party.

    A handler says what an array's coordinates are. It neither merges nor names nor warns:
    the assembly of the group does. A third party implements `get_variables`.

    Attributes
    ----------
    tier : {"principal", "service"}
        A principal convention defines an array's coordinate structure; an array follows at
        most one. Service conventions add to it, any number of them.
    name : str
        The convention's name, as arrays declare it (without a trailing colon).
    uuid : str or None
        The convention's identifier.
    repositories : tuple of str
        ``owner/repository`` of the places that its `schema_url` and `spec_url` point to.
    resolver : BoundResolver
        References and lazy variables, bound while an open runs.
    """

    tier: ClassVar[Literal["principal", "service"]]
    name: ClassVar[str]
    uuid: ClassVar[str | None] = None
    repositories: ClassVar[tuple[str, ...]] = ()
    resolver: BoundResolver

    @classmethod
    def detect(cls, root: zarr.Group, group: zarr.Group, array: zarr.Array[Any]) -> bool:
        """Tell whether this convention applies to an array.

        By default it does if the array or its group declares it in ``zarr_conventions``.

        Parameters
        ----------
        root : zarr.Group
            The root of the store.
        group : zarr.Group
            The group that contains the array.
        array : zarr.Array
            The array.
        """
        return cls.is_declared(array.attrs) or cls.is_declared(group.attrs)

    @classmethod
    def is_declared(cls, attributes: Mapping[str, Any]) -> bool:
        """Tell whether attributes of a node declare this convention."""
        return any(cls.matches(declaration) for declaration in declarations(attributes))

    @classmethod
    def matches(cls, declaration: Mapping[str, Any]) -> bool:
        """Tell whether an item of ``zarr_conventions`` is this convention.

        ``uuid`` decides alone where it is given, else ``schema_url``, else ``spec_url`` (of
        which the repository counts, since tags and branches move), else ``name``.
        """
        if isinstance(uuid := declaration.get("uuid"), str):
            return cls.uuid is not None and uuid.lower() == cls.uuid.lower()
        for key in ("schema_url", "spec_url"):
            if isinstance(url := declaration.get(key), str):
                known = {repository.lower() for repository in cls.repositories}
                return _repository(url) in known
        name = declaration.get("name")
        return isinstance(name, str) and name.strip().rstrip(":").lower() == cls.name.lower()

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        """Return the coordinate variables of an array, by the name each should have.

        Parameters
        ----------
        array : zarr.Array
            The array, for which `detect` was true.
        group : zarr.Group
            The group that contains it.
        root : zarr.Group
            The root of the store.
        """
        raise NotImplementedError


class DocumentHandler(ConventionHandler):
    """Base class of the built-in handlers, which need no zarr objects but only documents."""

    @classmethod
    def detect(cls, root: zarr.Group, group: zarr.Group, array: zarr.Array[Any]) -> bool:
        """Tell whether this convention applies to an array. For parameters see the base class."""
        return cls.applies(ArrayContext.of(array, root))

    @classmethod
    def applies(cls, context: ArrayContext) -> bool:
        """Tell whether this convention applies to an array: the array or its group declares it."""
        return any(
            cls.is_declared(document["attributes"])
            for node in (context.node, context.node.group)
            if (document := node.document) is not None
        )

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        """Return the coordinate variables of an array by name. For parameters see the base class.

        Raises
        ------
        XGroupError
            The first thing that is wrong with the metadata, if anything is.
        """
        context = ArrayContext.of(array, root)
        coordinates = list(self.coordinates(context))
        if context.problems:
            raise context.problems[0]
        variables: dict[str, xr.Variable] = {}
        for coordinate in coordinates:
            _add_complete(variables, coordinate)
        return variables

    def coordinates(self, context: ArrayContext) -> Iterator[Coordinate]:
        """Yield the coordinates of an array; what is wrong goes to the context's problems."""
        yield from ()

    def attributes(self, context: ArrayContext) -> dict[str, Any]:
        """Return attributes to add to the array itself where it has none of the name."""
        return {}


def _add_complete(variables: dict[str, xr.Variable], coordinate: Coordinate) -> None:
    """Add a coordinate with its attributes, its boundaries and its terms, by their names."""
    attributes = dict(coordinate.attributes)
    if coordinate.bounds is not None:
        attributes["bounds"] = coordinate.bounds.name
        _add_complete(variables, coordinate.bounds)
    if coordinate.formula_terms:
        terms = coordinate.formula_terms.items()
        attributes["formula_terms"] = " ".join(f"{term}: {found.name}" for term, found in terms)
        for _term, found in terms:
            _add_complete(variables, found)
    coordinate.variable.attrs = {**attributes, **coordinate.variable.attrs}
    variables[coordinate.name] = coordinate.variable


def declarations(attributes: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the items of ``zarr_conventions`` that can be declarations."""
    items = attributes.get(CONVENTIONS_KEY)
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, Mapping))


def _repository(url: str) -> str | None:
    """Return ``owner/repository`` of a URL, in lower case."""
    match = re.match(
        r"[a-z][a-z0-9+.-]*://[^/]+/([^/]+/[^/]+?)(?:\.git)?(?:/|$)", url, re.IGNORECASE
    )
    return match[1].lower() if match else None
