"""An array as handlers see it: its metadata, what it refers to, and where to report what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from zarr_xgroup.conventions.descriptions import Attribute, Model
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.errors import Rule, Severity, XGroupError, XGroupMetadataError, XGroupStoreError
from zarr_xgroup.findings import Finding, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.resolver import Reference, Resolver
from zarr_xgroup.variables.fillvalues import unusable_fill_value
from zarr_xgroup.variables.sources import Stored

if TYPE_CHECKING:
    from zarr_xgroup.conventions.crs import Crs
    from zarr_xgroup.variables.factory import VariableFactory

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
        Knows the documents. What a function gave while one was lacking is not kept: it is called
        again when that is known.
    """

    def __init__(self, tree: Tree) -> None:
        self._lacking = tree.lacking
        self._known: dict[Hashable, Any] = {}

    def __call__(self, function: Callable[..., T], *values: Any, by: Hashable = None) -> T:
        """Return what a function gives for values, or gave for the same before.

        Parameters
        ----------
        function : callable
            Not a method of the object that keeps this memo: all would stay in a cycle of objects.
        *values : object
            What it is called with.
        by : hashable, optional
            What the answer depends on. By default all values.
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
    """One array: what a handler asks about it, and where it reports what is wrong.

    Who opens a group makes one for each array. Nothing is read for it, and nothing of it is to be changed.

    Attributes
    ----------
    node : Node
        The array: its store and path.
    document : Document
        Its metadata, in the shape of a ``zarr.json``.
    attributes : mapping
        Its attributes.
    dims : tuple of str
        The names of its dimensions, complete; empty in `axis_names`, which asks for them.
    shape : tuple of int
        Its shape.
    sizes : dict of str to int
        The length of each dimension.
    dim_names : mapping of str to str
        What dimensions are called here, by the names that the array's metadata give them.
    chunks : mapping of str to int
        The chunks that dask should divide the array in, by dimension.
    siblings : mapping of str to mapping
        The sizes of the dimensions of all arrays of its group, by the array's name.
    resolver : Resolver
        Follows references for the array.
    referred : set of Node
        Arrays that it refers to, besides those that become its coordinates; handlers add to it.
    findings : list of Finding
        What was reported.
    overruled_crs : Crs or None
        The CRS that is declared where the data carry one themselves.
    tree, factory, memo, crs_of, assumed
        What all arrays of an open have in common: the documents, what makes variables, what functions gave, the CRS
        that conventions other than `proj` say, and the names of conventions that count as declared by every array.
    """

    def __init__(
        self,
        node: Node,
        dims: tuple[str, ...],
        tree: Tree,
        factory: VariableFactory,
        memo: Memo | None = None,
        *,
        crs_of: Callable[[ArrayView], Crs | None] | None = None,
        dim_names: Mapping[str, str] | None = None,
        chunks: Mapping[str, int] | None = None,
        siblings: Mapping[str, Mapping[str, int]] | None = None,
        assumed: Collection[str] = (),
    ) -> None:
        document = tree.document(node)
        if document is None or not document.is_array:
            raise XGroupMetadataError(_("there is no array {node}").format(node=node))
        self.node = node
        self.document = document
        self.attributes = document.attributes
        self.dims = dims
        self.shape: tuple[int, ...] = tuple(document["shape"])
        self.sizes = dict(zip(dims, self.shape, strict=bool(dims)))
        self.dim_names = dim_names or {}
        self.chunks = chunks or {}
        self.siblings = {} if siblings is None else siblings
        self.findings: list[Finding] = []
        # Not `self.report`: in a cycle of objects, all of them would stay until Python looks for such.
        self.resolver = Resolver(tree, node, partial(_report_choice, self.findings, node))
        self.referred: set[Node] = set()
        self.overruled_crs: Crs | None = None
        self.tree = tree
        self.factory = factory
        self.memo = memo or Memo(tree)
        self.crs_of = crs_of or (lambda _array: None)
        self.assumed = assumed
        self._kept: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The array's name in its group."""
        return self.node.name

    def attribute(self, key: str, node: Node | None = None) -> Fragment | None:
        """Return an attribute of the array, or of another node.

        Parameters
        ----------
        key : str
            The name of the attribute.
        node : Node, optional
            A group or another array. By default this array.

        Returns
        -------
        Fragment or None
            The value with the place where it is written; None without such a node or attribute, or if it is null.
        """
        if node is None:
            node, value = self.node, self.attributes.get(key)
        else:
            document = self.tree.document(node)
            value = None if document is None else document.attributes.get(key)
        return None if value is None else Fragment(node, ("attributes", key), value)

    def attributes_of(self, node: Node) -> Fragment | None:
        """Return all attributes of a group or array as one value, or None if there is no such node."""
        document = self.tree.document(node)
        return None if document is None else Fragment(node, ("attributes",), document.attributes)

    def document_of(self, node: Node) -> Document | None:
        """Return the metadata document of a group or array.

        None if there is no such node, its document cannot be used, or it has not been read yet: then it is
        read, and the handler is asked about the array again.
        """
        return self.tree.document(node)

    def sibling(self, name: str) -> Document | None:
        """Return the metadata document of an array of the same group, or None if the group has no such array."""
        return self.document_of(self.node.group.child(name)) if name in self.siblings else None

    def read(self, attribute: Attribute, cost: str = "") -> Any:
        """Return what a described attribute of the array means: what its kind makes of it, such as a `Model`.

        None if the array does not have it, or it is of no use as a whole; that is reported. What is wrong with
        members of a model is not: `report_wrong` does.

        Parameters
        ----------
        attribute : Attribute
            The description of the attribute.
        cost : str, optional
            What the array is opened without if the attribute is of no use.
        """
        written = self.attribute(attribute.key)
        if written is None:
            return None
        found, wrong = parse_once(self, attribute.read, written)
        self.report_wrong(self.node, wrong, cost)
        return found

    def stored(self, source: Stored, place: Fragment | None = None) -> Stored:
        """Return an array of a store as the source of a coordinate, after making sure that it can be opened.

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
            template = self.factory.template(node, source.along)
        except XGroupMetadataError as error:
            message = _("{node} cannot be opened: {reason}").format(node=node, reason=error)
            raise XGroupMetadataError(message, place=str(place or self.node)) from error
        if template.fill_value is not None:
            self.findings.append(unusable_fill_value(node, template.fill_value))
        problem = self.tree.problem(node)
        if isinstance(problem, XGroupStoreError) and problem.store:
            cost = _("the attributes of {node}").format(node=node)
            self.report(Topic.PROBLEM, self.node, problem, cost=cost)
        elif problem is not None and node.group != self.node.group:
            text = _("{node} was opened without attributes: {reason}")
            self.report(Topic.CHOICE, self.node, text.format(node=node, reason=problem.text))
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
        """Report what is wrong, or which choice was made.

        Parameters
        ----------
        rule : Rule or Topic
            The rule that is broken; where there is none, `Topic.PROBLEM` or `Topic.CHOICE`.
        place : Fragment or Node
            Where: the value in question, or where it should be.
        text : str or XGroupError
            What is wrong, without the place. An error has place, rule and remedy itself.
        remedy : str, optional
            What to write instead.
        cost : str, optional
            What the array is opened without. By default what is declared at the place.
        topic : Topic, optional
            What an open warns of. By default that of `rule`; a problem if there is a cost; else
            an open is silent, and only a check reports it.
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
        """Report what reading a model, or values, found wrong, if a part cannot be used.

        Parameters
        ----------
        node : Node
            Where it is written.
        wrong : Model, iterable of Finding or None
            The model, whose own members count and not those of models in it; or what was found.
        cost : str, optional
            What the array is opened without.
        """
        arrays = (str(self.node),)
        for finding in wrong.wrong if isinstance(wrong, Model) else wrong or ():
            if finding.topic is not None:
                self.findings.append(replace(finding.at(node), arrays=arrays, cost=cost))

    def try_reporting(
        self, make: Callable[..., T], *arguments: Any, cost: Callable[[], str] = str
    ) -> T | None:
        """Return what a function gives. If it raises XGroupError, report that and return None.

        Parameters
        ----------
        make : callable
            The function.
        *arguments : object
            What it is called with.
        cost : callable, optional
            Says what the array is opened without.
        """
        try:
            return make(*arguments)
        except XGroupError as error:
            self.report(Topic.PROBLEM, self.node, error, cost=cost())
            return None

    def try_silently(self, make: Callable[..., T], *arguments: Any) -> T | None:
        """Return what a function gives, None if it raises XGroupError; nothing that it finds is reported."""
        findings, followed = list(self.findings), dict(self.resolver.followed)
        found = self.try_reporting(make, *arguments)
        self.findings[:] = findings
        self.resolver.followed = followed
        return found

    def interpretation(
        self,
        *coordinates: Coordinate,
        crs: Crs | None = None,
        geotransform: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        links: tuple[Link, ...] = (),
    ) -> Interpretation:
        """Return what `interpret` of a handler returns: these parts, and all that was reported so far.

        Parameters
        ----------
        *coordinates : Coordinate
            The array's coordinates.
        crs : Crs, optional
            Its coordinate reference system.
        geotransform : str, optional
            The transform of its grid as GDAL writes it, if its coordinates follow from it.
        attributes : mapping, optional
            Added to the array where it has none of the name.
        links : tuple of Link, optional
            What its CF attributes refer to.
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


def _report_choice(findings: list[Finding], node: Node, text: str, place: Fragment) -> None:
    findings.append(report(Topic.CHOICE, place, text, arrays=(str(node),)))


def once_per_array(function: Callable[[ArrayView], T]) -> Callable[[ArrayView], T]:
    """Return a function of an array that is called once for each array."""

    @wraps(function)
    def kept(array: ArrayView) -> T:
        if function not in array._kept:
            array._kept[function] = function(array)
        found: T = array._kept[function]
        return found

    return kept


def parse_once(array: ArrayView, parse: Callable[[Fragment], T], fragment: Fragment) -> T:
    """Return what a function makes of a value, called once for each text of its attribute.

    The value's place but for its node is the same wherever the text stands. So the function is not
    given the node, unless it raises an error, which is to name it.
    """
    document, keys = array.document_of(fragment.node), fragment.keys
    if document is None or len(keys) < 2 or keys[0] != "attributes":
        return parse(fragment)
    text, anywhere = document.attributes.text(keys[1]), Fragment(_NOWHERE, keys, fragment.value)
    try:
        return array.memo(parse, anywhere, by=(keys, text))
    except XGroupError:
        return parse(fragment)


def attributes_above(array: ArrayView, key: str) -> Iterator[Fragment]:
    """Return the attributes of a name of the groups that an array is in, the nearest first."""
    written = (array.attribute(key, group) for group in array.node.ancestors())
    return (fragment for fragment in written if fragment is not None)


def own_array_wins(name: str, dims: tuple[str, ...], attributes: Mapping[str, Any]) -> bool:
    """Tell whether an array of a group is used instead of what metadata declare under its name.

    What the data carry themselves counts, whatever attributes declare: nothing is compared, and nothing reported.
    Whoever opens, subsets, reprojects and writes data leaves the attributes of conventions behind, and
    reopening must not bring back what they declare. This holds for coordinates, and for numbers of boundaries and
    terms; `zarr_xgroup.datasets.naming` decides, which knows what they are called and along what they lie.

    An array that declares conventions may be data. It is a coordinate all the same where it is called like its
    only dimension.
    """
    return dims == (name,) or CONVENTIONS_KEY not in attributes


def own_dims_of(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the own dimension names of an array, or of another one that it refers to.

    One without a name is called ``<array>_dim_<axis>``. A name that an earlier axis has is none: no
    coordinate has a dimension twice.
    """
    document = array.document_of(node)
    names = () if document is None else declared_dimensions(document)
    return tuple(
        f"{node.name}_dim_{axis}" if name is None or name in names[:axis] else name
        for axis, name in enumerate(names)
    )


def shape_of(array: ArrayView, node: Node) -> tuple[int, ...]:
    """Return the shape of an array, or of another one that it refers to."""
    document = array.document_of(node)
    return () if document is None else tuple(document["shape"])


def chunks_along(array: ArrayView, dims: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return name and length of the chunks in which dask should compute what lies along dimensions."""
    return tuple((dim, array.chunks[dim]) for dim in dims if dim in array.chunks)


def own_array_instead(array: ArrayView, reference: Fragment, name: str) -> Node:
    """Return the array of the same group that is used because a reference leads nowhere."""
    node = array.node.group.child(name)
    text = _("leads nowhere; the group's own {name!r} was taken").format(name=name)
    written = str(Reference.parse(reference))
    array.resolver.record(reference, written, node, by_fallback=True, text=text)
    return node


__all__ = ["CONVENTIONS_KEY", "ArrayView", "Memo"]
