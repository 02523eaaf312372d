"""Views of groups and arrays for handlers: metadata, references, and reporting of mistakes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import (
    CONVENTIONS_KEY,
    NOT_DECLARED,
    Convention,
    Declared,
    declared_by,
    declared_by_root,
    prefixes_in,
)
from zarr_xgroup.conventions.descriptions import Model
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.errors import Rule, Severity, XGroupError, XGroupMetadataError, XGroupStoreError
from zarr_xgroup.findings import Finding, Topic, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import declared_dimensions, distinct_names
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.resolver import Resolver
from zarr_xgroup.variables.fillvalues import unusable_fill_value
from zarr_xgroup.variables.sources import Stored, Unusable

if TYPE_CHECKING:
    from zarr_xgroup.variables.factory import VariableFactory

T = TypeVar("T")
View = TypeVar("View", bound="NodeView")

#: A placeholder for the node of a value that is parsed once for all nodes.
_NOWHERE = Node(0, "")


class NodeView:
    """A group or array: its metadata, and access to the groups that contain it and to its members.

    It does not read from the store. `ConventionHandler.check` and the rules of `zarr_xgroup.check` receive a NodeView;
    `ArrayView` is the view of an array that is opened.

    Attributes
    ----------
    node : Node
        The store and path of the group or array; ``str(node)`` is the absolute path.
    document : Document
        The metadata document of the group or array, in the form of a ``zarr.json``.
    attributes : mapping
        The attributes of the node. They must not be modified.
    dims : tuple of str or None
        The dimension names in the metadata of an array, None for an unnamed axis; empty for a group.
    shape : tuple of int
        The shape of an array; empty for a group.
    sizes : dict of str to int
        The length of each named dimension.
    findings : list of Finding
        The findings about the node.
    tree : Tree
        The metadata documents of the open call.
    assumed : collection of str
        The names of conventions that are assumed for the node.
    """

    def __init__(
        self,
        node: Node,
        document: Document,
        tree: Tree,
        dims: tuple[str | None, ...] | None = None,
        *,
        assumed: Collection[str] = (),
        only_known: bool = False,
    ) -> None:
        self.node = node
        self.document = document
        self.attributes = document.attributes
        self.shape: tuple[int, ...] = tuple(document["shape"]) if document.is_array else ()
        if dims is None:
            dims = declared_dimensions(document) if document.is_array else ()
        self.dims = dims
        named = zip(dims, self.shape, strict=bool(dims))
        self.sizes = {name: size for name, size in named if name is not None}
        self.tree = tree
        self.assumed = assumed
        self.findings: list[Finding] = []
        self._only_known = only_known
        self._results: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The name of the node in its group."""
        return self.node.name

    @cached_property
    def declared(self) -> Declared:
        """The conventions that the node declares itself."""
        return _declared_by(self, self.node)

    @cached_property
    def declared_for_it(self) -> Declared:
        """The conventions that the node, its group, or the root (for the whole store) declares.

        A declaration of a higher group applies only to nodes with attributes that have the prefix of the convention.
        """
        own = Declared(prefixes=prefixes_in(self.attributes))
        return self.declared | declared_for_arrays_of(self, self.node.group) | own

    @cached_property
    def declared_around(self) -> Declared:
        """The conventions that the node, any group that contains it, or the root (for the whole store) declares."""
        return self.declared | _declared_above(self, self.node) | declared_for_store(self)

    @cached_property
    def marking_names(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names that may mark a convention: of the node and its group, and of all groups that contain the node.

        These are the prefixes of attributes, and the names of attributes that are JSON objects.
        """

        def names_in(node: Node) -> frozenset[str]:
            document = self.document_of(node)
            attributes = {} if document is None else document.attributes
            objects = {key for key, value in attributes.items() if isinstance(value, dict)}
            return prefixes_in(attributes) | objects

        def names_around(
            group: Node, above: tuple[frozenset[str], frozenset[str]] | None
        ) -> tuple[frozenset[str], frozenset[str]]:
            of_group = names_in(group)
            return of_group, of_group if above is None else of_group | above[1]

        of_group, around = self.tree.memo.upwards("marking names", names_around, self.node.group)
        return names_in(self.node) | of_group, around

    def follows(self, convention: type[Convention]) -> bool:
        """Return whether a convention is declared for the node (`declared_for_it`), or the user assumes it."""
        return convention.name in self.assumed or convention in self.declared_for_it

    def only_assumes(self, convention: type[Convention]) -> bool:
        """Return whether the node follows a convention only because the user assumes it."""
        return convention.name in self.assumed and convention not in self.declared_for_it

    def attribute(self, key: str, node: Node | None = None) -> Fragment | None:
        """Return an attribute of this or a different node.

        Parameters
        ----------
        key : str
            The name of the attribute.
        node : Node, optional
            A group or array. By default this node.

        Returns
        -------
        Fragment or None
            The value with its place; None if the node or the attribute does not exist, or the attribute is null.
        """
        if node is None:
            node, value = self.node, self.attributes.get(key)
        else:
            document = self.document_of(node)
            value = None if document is None else document.attributes.get(key)
        return None if value is None else Fragment(node, ("attributes", key), value)

    def attributes_of(self, node: Node) -> Fragment | None:
        """Return all attributes of a group or array as one JSON object, or None if the node does not exist."""
        document = self.document_of(node)
        return None if document is None else Fragment(node, ("attributes",), document.attributes)

    def document_of(self, node: Node) -> Document | None:
        """Return the metadata document of a group or array, or None if it does not exist or cannot be used.

        Also None if the document has not been read yet. It is then read, and the handler is called again.
        """
        return self.tree.document_if_read(node) if self._only_known else self.tree.document(node)

    def exists(self, node: Node) -> bool:
        """Return whether a node exists; False if its document has not been read yet, as for `document_of`."""
        return self.document_of(node) is not None

    @property
    def is_array(self) -> bool:
        """Whether the node is an array (otherwise, it is a group)."""
        return bool(self.document.is_array)

    @property
    def all_attributes(self) -> Fragment:
        """The attributes of the node as one JSON object with its place."""
        return Fragment(self.node, ("attributes",), self.attributes)

    def at(self, node: Node) -> NodeView | None:
        """Return the view of a different node, or None if it does not exist or its document cannot be used."""
        document = self.document_of(node)
        return None if document is None else self._view_of(node, document)

    def _view_of(self, node: Node, document: Document) -> NodeView:
        return NodeView(
            *(node, document, self.tree),
            assumed=self.assumed,
            only_known=self._only_known,
        )

    @property
    def group(self) -> NodeView | None:
        """The group that contains the node, or None for the root."""
        return self.at(self.node.group) if self.node.path else None

    def ancestors(self) -> Iterator[NodeView]:
        """Yield the groups that contain the node, nearest first."""
        return (view for view in map(self.at, self.node.ancestors()) if view is not None)

    def members(self) -> Sequence[str]:
        """Return the names of the direct members of a group."""
        return self.tree.names(self.node)

    def member(self, path: str) -> NodeView | None:
        """Return the group or array at a path below a group, or None if it does not exist or cannot be used."""
        return self.at(Node(self.node.store, join_path(self.node.path, path)))

    @cached_property
    def arrays(self) -> tuple[NodeView, ...]:
        """The arrays directly in a group."""
        documents = self.tree.arrays(self.node).items()
        return tuple(self._view_of(self.node.child(name), document) for name, document in documents)

    def below(self) -> Iterator[NodeView]:
        """Yield all groups and arrays below a group, at any depth."""
        for group in map(self.at, self.tree.subtree(self.node)):
            if group is not None:
                if group.node != self.node:
                    yield group
                yield from group.arrays

    def report_wrong(
        self, node: Node, wrong: Model | Iterable[Finding] | None, cost: str = ""
    ) -> None:
        """Report the unusable parts of a model or value.

        Parameters
        ----------
        node : Node
            The node whose document contains the model or value.
        wrong : Model, iterable of Finding or None
            Findings, or a model with findings about its own members. Report nested models separately.
        cost : str, optional
            The parts that are missing when the array is opened.
        """
        for finding in wrong.wrong if isinstance(wrong, Model) else wrong or ():
            if finding.topic is not None:
                arrays = (str(self.node),)
                self.findings.append(replace(finding.at(node), arrays=arrays, cost=cost))


class ArrayView(NodeView):
    """An array that is opened: its metadata for a handler, and methods to report mistakes in it.

    It does not read from the store. Handlers may add to `referred`, set `depends_on_name`, and must not modify anything
    else. It has all attributes of `NodeView`.

    Attributes
    ----------
    dims : tuple of str
        The dimension names of the array, one for each axis; empty in `axis_names`, which returns them.
    chunks : mapping of str to int
        The chunk length along each dimension for dask.
    siblings : mapping of str to mapping
        The sizes of the dimensions of each array of the group, by the name of the array.
    resolver : Resolver
        Resolves references of the array.
    referred : set of Node
        Arrays to which the array refers, besides those that become its coordinates. Handlers add to it.
    conventions : set of str
        The names of the conventions that apply to the array.
    before : list of Interpretation
        The interpretations of the array by the conventions that were asked before.
    overruled_crs : Crs or None
        The CRS that attributes declare, if a grid mapping variable defines a different one, which is used.
    depends_on_name : bool
        Whether the interpretation depends on the name or path of the array or of its group, or on a comparison of their
        nodes with others. Equal arrays and groups then do not share it. Nodes in `Resolver.reached` need no statement.
    factory : VariableFactory
        Makes variables from arrays of the store.
    crs_of : callable
        Returns the CRS of an array by conventions other than `proj`, or None.
    """

    def __init__(
        self,
        node: Node,
        dims: tuple[str, ...],
        tree: Tree,
        factory: VariableFactory,
        *,
        crs_of: Callable[[ArrayView], Crs | None] | None = None,
        chunks: Mapping[str, int] | None = None,
        siblings: Mapping[str, Mapping[str, int]] | None = None,
        assumed: Collection[str] = (),
    ) -> None:
        document = tree.document(node)
        if document is None or not document.is_array:
            raise XGroupMetadataError(_("there is no array {node}").format(node=node))
        super().__init__(node, document, tree, dims, assumed=assumed)
        self.dims: tuple[str, ...] = dims
        self.chunks = chunks or {}
        self.siblings = {} if siblings is None else siblings
        # Not `self.report`, because a reference cycle would keep the view in memory until the garbage collector runs.
        findings = self.findings
        self.resolver = Resolver(
            *(tree, node),
            lambda text, place: findings.append(
                new_finding(Topic.CHOICE, place, text, arrays=(str(node),))
            ),
        )
        self.referred: set[Node] = set()
        self.conventions: set[str] = set()
        self.before: list[Interpretation] = []
        self.overruled_crs: Crs | None = None
        self.depends_on_name = False
        self.factory = factory
        self.crs_of = crs_of or (lambda _array: None)

    def sibling(self, name: str) -> Document | None:
        """Return the metadata document of an array of the same group, or None if it does not exist."""
        return self.document_of(self.node.group.child(name)) if name in self.siblings else None

    def read(self, attribute: Attribute, cost: str = "") -> Any:
        """Return the parsed value of a described attribute of the array, such as a `Model`.

        None if the array does not have the attribute, or if it cannot be used, which is reported. Findings about members
        of a model are not reported; use `report_wrong`.

        Parameters
        ----------
        attribute : Attribute
            The description of the attribute.
        cost : str, optional
            The parts that are missing when the array is opened, if the attribute cannot be used.
        """
        written = self.attribute(attribute.key)
        if written is None:
            return None
        value, findings = parse_once(self, attribute.read, written)
        self.report_wrong(self.node, findings, cost)
        return value

    def stored(self, source: Stored, place: Fragment | None = None) -> Stored:
        """Return a stored array as the source of a coordinate, after checking that it can be opened.

        An unusable fill value or unusable attributes of the array are reported, and the array is used.

        Parameters
        ----------
        source : Stored
            The array with the dimensions of its axes.
        place : Fragment, optional
            The reference to the array, for messages. By default this array.

        Raises
        ------
        XGroupMetadataError
            If the array cannot be opened.
        """
        node = source.node
        self.resolver.reached.add(node)
        try:
            template = self.factory.template(node, source.along)
        except XGroupMetadataError as error:
            message = _("{node} cannot be opened: {reason}").format(node=node, reason=error)
            raise XGroupMetadataError(message, place=str(place or self.node)) from error
        if template.fill_value is not None:
            self.findings.append(unusable_fill_value(node, template.fill_value))
        problem = self.tree.problem(node)
        if isinstance(problem, XGroupStoreError) and problem.store:  # in a foreign store
            cost = _("the attributes of {node}").format(node=node)
            self.report(Topic.PROBLEM, self.node, problem, cost=cost)
        elif problem is not None and node.group != self.node.group:  # its own group reports it
            text = _("{node} was opened without attributes: {reason}")
            text = text.format(node=node, reason=problem.text)
            self.report(Topic.CHOICE, self.node, text, severity="error")
        return source

    def report(
        self,
        rule: Rule | Topic,
        place: Fragment | Node,
        text: str | XGroupError,
        remedy: str = "",
        cost: str = "",
        *,
        topic: Topic | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Report a mistake in the metadata, or a choice that was made.

        Parameters
        ----------
        rule : Rule or Topic
            The rule that is broken; if no rule applies, `Topic.PROBLEM` or `Topic.CHOICE`.
        place : Fragment or Node
            The value in question, or its place if it is missing.
        text : str or XGroupError
            The mistake, without the place. An XGroupError has its own place, rule and remedy.
        remedy : str, optional
            The correct JSON, or other instructions to fix the mistake.
        cost : str, optional
            The parts that are missing when the array is opened. By default, the declarations at the place.
        topic : Topic, optional
            The topic of the warning when the store is opened. By default that of `rule`, or `Topic.PROBLEM` if there is
            a cost. Otherwise opening does not warn, and only a check reports the finding.
        severity : {"error", "warning"}, optional
            "error" if the opened data are smaller than, or different from, what the store declares, otherwise "warning". By
            default "warning" if `rule` is `Topic.CHOICE`, otherwise "error".
        """
        finding = new_finding(rule, place, text, remedy, cost, topic=topic, severity=severity)
        if finding.topic is not None:  # warnings name the affected arrays
            finding = replace(finding, arrays=(str(self.node),))
        self.findings.append(finding)

    def try_reporting(
        self, make: Callable[..., T], *arguments: Any, cost: Callable[[], str] = str
    ) -> T | None:
        """Return the result of a function, or report the XGroupError that it raises and return None.

        Parameters
        ----------
        make : callable
            The function.
        *arguments : object
            The arguments of the function.
        cost : callable, optional
            Returns the name of the missing parts. Called only if `make` raises.
        """
        try:
            return make(*arguments)
        except XGroupError as error:
            self.report(Topic.PROBLEM, self.node, error, cost=cost())
            return None

    def unusable_source(
        self, reason: XGroupError | Finding, dims: Iterable[str] | None, cost: str
    ) -> Unusable:
        """Return the source of a coordinate that cannot be made.

        Opening reports the reason, unless an array of the group takes the place of the coordinate: one with its name
        and its dimensions.

        Parameters
        ----------
        reason : XGroupError or Finding
            The reason. It must not be reported otherwise.
        dims : iterable of str or None
            The dimensions of the coordinate; None if they are any of the array's.
        cost : str
            The name of the coordinate for the message.
        """
        if isinstance(reason, XGroupError):
            reason = new_finding(Topic.PROBLEM, self.node, reason, cost=cost)
        finding = replace(reason, arrays=(str(self.node),), cost=cost)
        needed = None if dims is None else tuple((dim, self.sizes[dim]) for dim in dims)
        return Unusable(finding, needed)

    def try_without_findings(self, make: Callable[..., T], *arguments: Any) -> T | None:
        """Return the result of a function, or None if it raises XGroupError, without reporting anything."""
        findings, followed = list(self.findings), dict(self.resolver.followed)
        result = self.try_reporting(make, *arguments)
        self.findings[:] = findings
        self.resolver.followed = followed
        return result

    def interpretation(
        self,
        *coordinates: Coordinate,
        crs: Crs | None = None,
        geotransform: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        links: tuple[Link, ...] = (),
    ) -> Interpretation:
        """Return an Interpretation, the result of `interpret`, of these parts and the findings reported so far.

        Parameters
        ----------
        *coordinates : Coordinate
            The coordinates of the array.
        crs : Crs, optional
            The coordinate reference system of the array.
        geotransform : str, optional
            The affine transform of the array's grid in GDAL's form, if the coordinates are computed from it.
        attributes : mapping, optional
            Attributes that the array gets unless it has attributes of these names.
        links : tuple of Link, optional
            The names and paths in CF attributes of the array, with the coordinates to which they refer.
        """
        return Interpretation(
            coordinates,
            crs,
            geotransform,
            attributes or {},
            findings=tuple(self.findings),
            referred=frozenset(self.referred),
            links=links,
        )


# Declarations of conventions.


def _declared_by(view: NodeView, node: Node) -> Declared:
    """Return the conventions that a node declares itself."""
    document = view.document_of(node)
    text = None if document is None else document.attributes.text(CONVENTIONS_KEY)
    if document is None or text is None:
        return NOT_DECLARED
    return view.tree.memo(text, declared_by, document.attributes)


def _declared_above(view: NodeView, node: Node) -> Declared:
    """Return the conventions that the groups containing a node declare themselves."""
    if not node.path:
        return NOT_DECLARED

    def declared(group: Node, above: Declared | None) -> Declared:
        return _declared_by(view, group) | (above or NOT_DECLARED)

    return view.tree.memo.upwards("declared above", declared, node.group)


def declared_for_arrays_of(view: NodeView, group: Node) -> Declared:
    """Return the conventions declared for all arrays of a group, by the group or by the root."""
    return view.tree.memo(group, _declared_for_arrays, view, group)


def _declared_for_arrays(view: NodeView, group: Node) -> Declared:
    document, above = view.document_of(group), _declared_above(view, group).identities
    prefixes = prefixes_in(() if document is None else document.attributes)
    declared = _declared_by(view, group) | declared_for_store(view)
    return declared | Declared(if_prefixed=above, prefixes=prefixes)


def declared_for_store(view: NodeView) -> Declared:
    """Return the conventions that the root of a node's store declares for the whole store."""
    document = view.document_of(Node(view.node.store, ""))
    return NOT_DECLARED if document is None else declared_by_root(document.attributes)


def once_per_array(function: Callable[[View], T]) -> Callable[[View], T]:
    """Decorate a function of a view so that its result is cached in the view."""

    @wraps(function)
    def cached(array: View) -> T:
        if function not in array._results:
            array._results[function] = function(array)
        result: T = array._results[function]
        return result

    return cached


def parse_once(array: NodeView, parse: Callable[[Fragment], T], fragment: Fragment) -> T:
    """Parse a part of an attribute, once for each JSON text of the attribute.

    `parse` is called with a placeholder for the node. If it raises, it is called again with the actual node, for the
    error message.
    """
    document, keys = array.document_of(fragment.node), fragment.keys
    if document is None or len(keys) < 2 or keys[0] != "attributes":
        return parse(fragment)
    text, anywhere = document.attributes.text(keys[1]), Fragment(_NOWHERE, keys, fragment.value)
    try:
        return array.tree.memo((keys, text), parse, anywhere)
    except XGroupError:
        return parse(fragment)


def attributes_above(array: NodeView, key: str) -> Iterator[Fragment]:
    """Yield an attribute of each group that contains an array and has it, nearest first."""
    if not array.node.path:
        return iter(())

    def written(group: Node, above: tuple[Fragment, ...] | None) -> tuple[Fragment, ...]:
        fragment = array.attribute(key, group)
        return (above or ()) if fragment is None else (fragment, *(above or ()))

    attributes = array.tree.memo.upwards(("attributes above", key), written, array.node.group)
    return iter(attributes)


def own_dims_of(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the distinct dimension names of a node from its metadata; () if its document is unknown.

    An axis without a name, or with the name of an earlier axis, gets the name ``<array>_dim_<axis>``.
    """
    document = array.document_of(node)
    names = () if document is None else declared_dimensions(document)
    return distinct_names(names, f"{node.name}_dim_")


def shape_of(array: ArrayView, node: Node) -> tuple[int, ...]:
    """Return the shape of a node; () if its document is unknown."""
    document = array.document_of(node)
    return () if document is None else tuple(document["shape"])


def coordinate_variable(array: NodeView, dim: str) -> Document | None:
    """Return the document of the coordinate variable of a dimension in an array's group, or None.

    It is 1-D along the dimension, and has its name and length.
    """
    document = array.tree.document_if_read(array.node.group.child(dim))
    if document is None or not document.is_array or declared_dimensions(document) != (dim,):
        return None
    return document if document["shape"] == [array.sizes.get(dim)] else None


def has_coordinate(array: ArrayView, dim: str) -> bool:
    """Return whether an array's group is opened with a coordinate variable of a dimension."""
    return dim in array.siblings and coordinate_variable(array, dim) is not None


def chunks_along(array: ArrayView, dims: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return pairs of dimension and chunk length for dask, for those dimensions that have a chunk length."""
    return tuple((dim, array.chunks[dim]) for dim in dims if dim in array.chunks)


__all__ = ["ArrayView", "NodeView"]
