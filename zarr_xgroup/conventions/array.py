"""An array as handlers see it: its metadata, what it refers to, and where to say what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.descriptions import Attribute, Model
from zarr_xgroup.conventions.model import (
    Coordinate,
    Interpretation,
    Link,
)
from zarr_xgroup.errors import Rule, Severity, XGroupError, XGroupMetadataError, XGroupStoreError
from zarr_xgroup.findings import Finding, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import (
    declared_dimensions,
    dimension_keys,
    dimension_references,
)
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.resolver import Reference, Resolver
from zarr_xgroup.variables.fillvalues import unusable_fill_value
from zarr_xgroup.variables.sources import Stored

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker

T = TypeVar("T")

#: The attribute that lists the conventions an array or group follows.
CONVENTIONS_KEY = "zarr_conventions"

#: Where it makes no difference in which node something is written.
_NOWHERE = Node(0, "")


class Memo:
    """What functions gave in an open: each is called once for the same values.

    Parameters
    ----------
    tree : Tree
        Knows the documents, and takes down what is lacking. What a function gave while something
        was is not kept: it is called again when that is known.
    """

    def __init__(self, tree: Tree) -> None:
        self._lacking = tree.lacking
        self._known: dict[Hashable, Any] = {}

    def __call__(self, function: Callable[..., T], *values: Any, by: Hashable = None) -> T:
        """Return what a function gives for values, or gave for such.

        Parameters
        ----------
        function : callable
            Not a method of what keeps this memo: all would stay in a cycle of objects.
        *values : object
            What it is called with.
        by : hashable, optional
            What of these it depends on. By default on all of them.
        """
        key = (function, values if by is None else by)
        if key not in self._known:
            before = len(self._lacking)
            found = function(*values)
            if len(self._lacking) > before:
                return found
            self._known[key] = found
        known: T = self._known[key]
        return known


class ArrayView:
    """One array: what handlers are asked about, and where they say what is wrong.

    Parameters
    ----------
    node : Node
        The array.
    dims : tuple of str
        The names of its dimensions, complete; empty where they are what is asked for.
    tree : Tree
        Knows the documents.
    maker : Maker
        Makes variables and zarr objects; nothing is read for it.
    memo : Memo, optional
        What was found out before.
    crs_of : callable, optional
        Returns the CRS of an array that neither its grid mapping variable nor `proj` says.
    names : mapping of str to str, optional
        What dimensions are called that the array's metadata calls otherwise.
    chunks : mapping of str to int, optional
        The chunks that dask should divide the array in, by dimension.
    siblings : mapping, optional
        The sizes of the dimensions of all arrays of its group, by name.
    assumed : collection of str, optional
        The names of conventions that count as declared by every array of the store.

    Attributes
    ----------
    attributes : mapping
        Its attributes, not to be changed.
    siblings : mapping
        The sizes of the dimensions of all arrays of its group, by name.
    findings : list of Finding
        What was found wrong, and what was chosen.
    overruled_crs : Crs or None
        The CRS that is declared where the data carry one themselves.
    """

    def __init__(
        self,
        node: Node,
        dims: tuple[str, ...],
        tree: Tree,
        maker: Maker,
        memo: Memo | None = None,
        *,
        crs_of: Callable[[ArrayView], Crs | None] | None = None,
        names: Mapping[str, str] | None = None,
        chunks: Mapping[str, int] | None = None,
        siblings: Mapping[str, Mapping[str, int]] | None = None,
        assumed: Collection[str] = (),
    ) -> None:
        document = tree.document(node)
        if document is None or not document.is_array:
            raise XGroupMetadataError(_("there is no array {node}").format(node=node))
        self.node = node
        self.dims = dims
        self.tree = tree
        self.maker = maker
        self.memo = memo or Memo(tree)
        self.crs_of = crs_of or (lambda _array: None)
        self.siblings = {} if siblings is None else siblings
        self.names = names or {}
        self.chunks = chunks or {}
        self.assumed = assumed
        self.findings: list[Finding] = []
        self.overruled_crs: Crs | None = None
        self.referred: set[Node] = set()
        self.derived: dict[Any, Any] = {}
        # Not `self.report`: in a cycle of objects, all of them would stay until Python looks for such.
        self.resolver = Resolver(tree, node, partial(_note, self.findings, node))
        self.attributes = document.attributes
        self.shape: tuple[int, ...] = tuple(document["shape"])
        self.sizes = dict(zip(dims, self.shape, strict=bool(dims)))
        self.declared = declared_dimensions(document)
        self.dimension_references = dimension_references(document)
        self.dimension_keys = dimension_keys(document)

    @property
    def name(self) -> str:
        """The array's name in its group."""
        return self.node.name

    def attribute(self, key: str, node: Node | None = None) -> Fragment | None:
        """Return an attribute of the array, or of another node; None if it has none such."""
        if node is None:
            node, value = self.node, self.attributes.get(key)
        else:
            attributes = self.attributes_of(node)
            value = None if attributes is None else attributes.value.get(key)
        return None if value is None else Fragment(node, ("attributes", key), value)

    def document_of(self, node: Node) -> Document | None:
        """Return the document of a node, or None if there is none that can be used, or it is not known yet."""
        return self.tree.document(node)

    def attributes_of(self, node: Node) -> Fragment | None:
        """Return all attributes of a node, or None if there is none."""
        document = self.document_of(node)
        return None if document is None else Fragment(node, ("attributes",), document.attributes)

    def read(self, attribute: Attribute, cost: str = "") -> Any:
        """Return what one of the array's attributes means, None if it has none that can be used.

        What is wrong with it itself is told, and what it costs; what is wrong with what it
        holds is to be told with that, by `report_wrong`.
        """
        written = self.attribute(attribute.key)
        if written is None:
            return None
        found, wrong = parsed(self, attribute.read, written)
        self.report_wrong(self.node, wrong, cost)
        return found

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
        """Say what is wrong, or which choice was made.

        Parameters
        ----------
        rule : Rule or Topic
            The rule that is broken; a topic where there is none, `Topic.PROBLEM` or `Topic.CHOICE`.
        place : Fragment or Node
            Where: the value in question, or where it should be.
        text : str or XGroupError
            What is wrong, without the place; an error says place, rule and remedy itself.
        remedy : str, optional
            What to write instead.
        cost : str, optional
            What the array is opened without. By default what is declared at the place.
        topic : Topic, optional
            What an open warns of. By default what `rule` says; a problem if there is a cost; else
            only a check tells it.
        severity : {"error", "warning"}, optional
            Whether an open loses something by it, or can live with it.
        """
        found = report(rule, place, text, remedy, cost, topic=topic, severity=severity)
        if found.topic is not None:
            found = replace(found, arrays=(str(self.node),))
        self.findings.append(found)

    def report_wrong(
        self, node: Node, wrong: Model | Iterable[Finding] | None, cost: str = ""
    ) -> None:
        """Say what is wrong with the members of a model, or with values, that a node has.

        Only what is not used for that is told, and the array is opened without.
        """
        arrays = (str(self.node),)
        for item in wrong.wrong if isinstance(wrong, Model) else wrong or ():
            if item.topic is not None:
                self.findings.append(replace(item.at(node), arrays=arrays, cost=cost))

    def sibling(self, name: str) -> Document | None:
        """Return the document of an array of the same group, or None if there is none such."""
        return self.document_of(self.node.group.child(name)) if name in self.siblings else None

    def try_reporting(
        self, make: Callable[..., T], *arguments: Any, cost: Callable[[], str] = str
    ) -> T | None:
        """Return what a function gives, or None after saying what was wrong, and what it costs."""
        try:
            return make(*arguments)
        except XGroupError as error:
            self.report(Topic.PROBLEM, self.node, error, cost=cost())
            return None

    def try_silently(self, make: Callable[..., T], *arguments: Any) -> T | None:
        """Return what a function gives, or None if that is wrong and told elsewhere."""
        findings, followed = list(self.findings), dict(self.resolver.followed)
        found = self.try_reporting(make, *arguments)
        self.findings[:] = findings
        self.resolver.followed = followed
        return found

    def stored(self, source: Stored, place: Fragment | None = None) -> Stored:
        """Return an array as a source, after making sure that it can be opened.

        Parameters
        ----------
        source : Stored
            The array, and how it lies along dimensions.
        place : Fragment, optional
            What refers to it, for messages.

        Raises
        ------
        XGroupMetadataError
            If the array cannot be opened.
        """
        node = source.node
        try:
            described = self.maker.template(node, source.along)
        except XGroupMetadataError as error:
            message = _("{node} cannot be opened: {reason}").format(node=node, reason=error)
            raise XGroupMetadataError(message, place=str(place or self.node)) from error
        if described.fill_value is not None:
            self.findings.append(unusable_fill_value(node, described.fill_value))
        _tell_of_attributes(self, node)
        return source

    def found(
        self,
        *coordinates: Coordinate,
        crs: Crs | None = None,
        geotransform: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        links: tuple[Link, ...] = (),
    ) -> Interpretation:
        """Return an interpretation with these parts and all that was said to be wrong so far."""
        return Interpretation(
            coordinates,
            crs,
            geotransform,
            attributes or {},
            findings=tuple(self.findings),
            referred=frozenset(self.referred),
            links=links,
        )


def once(function: Callable[[ArrayView], T]) -> Callable[[ArrayView], T]:
    """Return a function that says something of an array as one that is called once for each array."""

    @wraps(function)
    def kept(array: ArrayView) -> T:
        if function not in array.derived:
            array.derived[function] = function(array)
        found: T = array.derived[function]
        return found

    return kept


def attributes_above(array: ArrayView, key: str) -> Iterator[Fragment]:
    """Return the attributes of a name of the groups that an array is in, the nearest first."""
    written = (array.attribute(key, group) for group in array.node.ancestors())
    return (fragment for fragment in written if fragment is not None)


def parsed(array: ArrayView, parse: Callable[[Fragment], T], fragment: Fragment) -> T:
    """Return what a function makes of a value, called once for each text of its attribute.

    The value's place but for its node is the same wherever the text stands. So the function is not
    told of the node, unless it raises something that is to be told.
    """
    document, keys = array.document_of(fragment.node), fragment.keys
    if document is None or len(keys) < 2 or keys[0] != "attributes":
        return parse(fragment)
    text, anywhere = document.attributes.text(keys[1]), Fragment(_NOWHERE, keys, fragment.value)
    try:
        return array.memo(parse, anywhere, by=(keys, text))
    except XGroupError:
        return parse(fragment)


def is_standing(name: str, dims: tuple[str, ...], attributes: Mapping[str, Any]) -> bool:
    """Tell whether an array of a group stands where metadata give values for what is called so.

    What the data carry themselves stands, whatever attributes declare: nothing is compared, and nothing told.
    Whoever opens, subsets, reprojects and writes data leaves the attributes of conventions behind, and
    reopening must not bring back what they say. An array that declares conventions may be data; it is a
    coordinate all the same where it is called like its only dimension.

    ==========================  ===================================================  ===============================
    declared                    stands                                               what is declared adds if absent
    ==========================  ===================================================  ===============================
    a dimension's coordinate    the array of the group that is called as the         attributes; boundaries that are
                                dimension that it lies along                         an array
    another coordinate          the array of the group that is called so, along the  the same
                                same dimensions and as long
    numbers of boundaries or    the array of the group that is called so, as long;   the same
    terms                       boundaries whatever their side is called
    a CRS                       the grid mapping variable that an array names, else  nothing, if it says a CRS
                                ``spatial_ref``
    ==========================  ===================================================  ===============================

    Boundaries, terms and ancillary arrays that are named are those, whatever else the group has. Of coordinates
    `zarr_xgroup.datasets.naming` decides, which knows what they are called.
    """
    return dims == (name,) or CONVENTIONS_KEY not in attributes


def own_dims_of(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the own dimension names of an array, or of another one that it refers to.

    One without a name is called ``<array>_dim_<axis>``. A name that an earlier axis has is none: no
    coordinate has a dimension twice.
    """
    document = None if node is array.node else array.document_of(node)
    own = array.declared if node is array.node else ()
    names = own if document is None else declared_dimensions(document)
    return tuple(
        f"{node.name}_dim_{axis}" if name is None or name in names[:axis] else name
        for axis, name in enumerate(names)
    )


def shape_of(array: ArrayView, node: Node) -> tuple[int, ...]:
    """Return the shape of an array, or of another one that it refers to."""
    if node is array.node:
        return array.shape
    document = array.document_of(node)
    return () if document is None else tuple(document["shape"])


def chunks_along(array: ArrayView, dims: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return name and length of the chunks in which dask should compute what lies along dimensions."""
    return tuple((dim, array.chunks[dim]) for dim in dims if dim in array.chunks)


def taken_instead(array: ArrayView, reference: Fragment, name: str) -> Node:
    """Return the array of the same group that is taken where a reference leads nowhere."""
    node = array.node.group.child(name)
    text = _("leads nowhere; the group's own {name!r} was taken").format(name=name)
    written = str(Reference.parse(reference))
    array.resolver.take_down(reference, written, node, by_fallback=True, text=text)
    return node


def _tell_of_attributes(array: ArrayView, node: Node) -> None:
    """Say what is wrong with the attributes of an array that can be opened."""
    problem = array.tree.problem(node)
    if isinstance(problem, XGroupStoreError) and problem.store:
        cost = _("the attributes of {node}").format(node=node)
        array.report(Topic.PROBLEM, array.node, problem, cost=cost)
    elif problem is not None and node.group != array.node.group:
        text = _("{node} was opened without attributes: {reason}")
        array.report(Topic.CHOICE, array.node, text.format(node=node, reason=problem.text))


def _note(findings: list[Finding], node: Node, text: str, place: Fragment) -> None:
    findings.append(report(Topic.CHOICE, place, text, arrays=(str(node),)))


__all__ = ["CONVENTIONS_KEY", "ArrayView", "Memo"]
