"""What the conventions say of the arrays of groups: pure, from what is known of the stores.

What is not known yet is returned as needs; who drives the interpretation reads that and asks
again. What is the same for many arrays is interpreted once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from zarr_xgroup.conventions import lending
from zarr_xgroup.conventions.array import CONVENTIONS_KEY, ArrayView, Models
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.cf_paths import links_of
from zarr_xgroup.conventions.declaring import is_only_assumed
from zarr_xgroup.conventions.model import AxisNames, Interpretation
from zarr_xgroup.conventions.registry import Handler, Handlers
from zarr_xgroup.datasets.dimensions import Assigned, assign_dimensions
from zarr_xgroup.datasets.inheritance import Inherited, inherited_dimensions
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, retold
from zarr_xgroup.findings import Finding, Kind, group_without, left_out, noted
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import declared_dimensions, dimension_references
from zarr_xgroup.metadata.documents import Document, JsonObject
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import LackingError, Lookup, Needs, Snapshots
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.fillvalues import unusable_fill_value

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker
    from zarr_xgroup.variables.stored import Template

T = TypeVar("T")

#: Attributes as written: name and JSON text.
Texts: TypeAlias = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, eq=False)
class ArrayReading:
    """What is known of an array before it becomes part of a plan.

    Attributes
    ----------
    node : Node
        The array.
    document : Document
        Its metadata.
    dims : tuple of str
        The names of its dimensions, complete and fitting those of the group's other arrays.
    template : Template
        What follows from its document.
    interpretation : Interpretation
        What the conventions say of it.
    conventions : tuple of handler classes
        Those that apply to it and were asked, the principal one first.
    is_first_class : bool
        Whether it follows a principal convention that is declared, and not only assumed.
    inherited : Inherited
        The dimensions that it takes from ancestor groups.
    """

    node: Node
    document: Document
    dims: tuple[str, ...]
    template: Template
    interpretation: Interpretation
    conventions: Handlers
    is_first_class: bool
    inherited: Inherited

    @property
    def has_principal(self) -> bool:
        """Whether it follows a principal convention."""
        return any(cls.tier == "principal" for cls in self.conventions)

    @property
    def references(self) -> tuple[Followed, ...]:
        """The references that were followed for it."""
        return (*self.inherited.references, *self.interpretation.references)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.template.shape


@dataclass(frozen=True, eq=False)
class GroupReading:
    """What is known of a group before it becomes a plan.

    Attributes
    ----------
    node : Node
        The group.
    arrays : tuple of ArrayReading
        Its arrays that can be used, sorted by name.
    groups : frozenset of str
        The names of its child groups.
    findings : tuple of Finding
        What was found about the group and its arrays, besides what interpretations say.
    bounds_of_dropped : mapping of str to mapping
        Units and calendars of times that are not wanted, by the names of their boundaries: xarray
        decodes these by them all the same.
    like : GroupReading or None
        The reading of another group that differs from this one in nothing but where it is.
    times : mapping of str to mapping
        The arrays that are times to all arrays of a tree that refer to them, and what these declare.
    """

    node: Node
    arrays: tuple[ArrayReading, ...]
    groups: frozenset[str]
    findings: tuple[Finding, ...]
    bounds_of_dropped: Mapping[str, Mapping[str, Any]]
    like: GroupReading | None = None
    times: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Answer:
    """What the conventions say of an array, and for which other arrays that is the same.

    Attributes
    ----------
    interpretation : Interpretation
        What the conventions say.
    conventions : tuple of handler classes
        Those that apply and were asked.
    is_first_class : bool
        Whether a principal one among them is declared, and not only assumed.
    but_for : frozenset of Node
        Arrays, and groups of arrays, that it may not be the same for, because they were looked at.
    without : frozenset of str
        Names of arrays that the group must not have, because they were looked for.
    is_whole : bool
        Whether nothing was lacking; else what was has been taken down.
    is_anywhere : bool
        Whether it may be the same for arrays of other groups.
    """

    interpretation: Interpretation
    conventions: Handlers
    is_first_class: bool
    but_for: frozenset[Node]
    without: frozenset[str]
    is_whole: bool
    is_anywhere: bool

    def holds_for(self, view: ArrayView) -> bool:
        """Tell whether it is the same for an array with the same metadata."""
        is_looked_at = not self.but_for.isdisjoint((view.node, view.node.group))
        return not is_looked_at and view.has_none_of(self.without)


@dataclass(frozen=True, eq=False)
class _Pattern:
    """The reading of a group of which nothing depends on where the group is.

    Attributes
    ----------
    reading : GroupReading
        What is known of the group.
    but_for : frozenset of Node
        Groups that it may not be the same for, because these or arrays of them were looked at.
    """

    reading: GroupReading
    but_for: frozenset[Node]

    def moved(self, group: Node, documents: Mapping[str, Document]) -> GroupReading:
        """Return the reading of a group with the same contents."""
        arrays = tuple(
            ArrayReading(
                group.child(name),
                document,
                array.dims,
                array.template,
                array.interpretation,
                array.conventions,
                array.is_first_class,
                array.inherited,
            )
            for array, (name, document) in zip(self.reading.arrays, documents.items(), strict=True)
        )
        return replace(self.reading, node=group, arrays=arrays, like=self.reading)


class Interpreter:
    """Interprets groups of one open.

    Parameters
    ----------
    snapshots : Snapshots
        What is known of the stores.
    maker : Maker
        Says what follows from documents.
    handlers : tuple of handler classes
        Those of all conventions.
    dropped : collection of str
        Names of arrays to leave alone: what is wrong with them is not told either.
    assumed : collection of str
        The names of conventions that count as declared by every array.
    """

    def __init__(
        self,
        snapshots: Snapshots,
        maker: Maker,
        handlers: Handlers,
        dropped: Collection[str] = (),
        assumed: Collection[str] = (),
    ) -> None:
        self._snapshots = snapshots
        self._maker = maker
        self._handlers = handlers
        self._dropped = frozenset(dropped)
        self._assumed = frozenset(assumed)
        self._models = Models()
        self._lookup = Lookup(snapshots)
        self._complete: dict[Node, GroupReading] = {}
        self._shared: dict[Any, _Answer] = {}
        self._patterns: dict[Hashable, _Pattern] = {}
        self._texts: dict[Node, Texts] = {}
        self._surroundings: dict[Node, int] = {}
        self._numbers: dict[tuple[int, Texts], int] = {}
        reads = [key for it in handlers for key in (f"{it.name}:", *(it.reads or ()))]
        self._names = frozenset([CONVENTIONS_KEY, *reads])
        self._prefixes = tuple(key for key in self._names if key.endswith(":"))
        self._detecting = frozenset(handler for handler in handlers if _has_own_detect(handler))
        self._custom = tuple(
            handler for handler in handlers if handler.reads is None or handler in self._detecting
        )

    def interpret(self, groups: Iterable[Node]) -> tuple[list[GroupReading], Needs]:
        """Return what is known of groups whose members are known, and what is lacking.

        As long as anything is lacking, the readings are incomplete.
        """
        self._lookup = Lookup(self._snapshots)
        self._shared = {key: shared for key, shared in self._shared.items() if shared.is_whole}
        readings = []
        for group in groups:
            if group not in self._complete:
                before = self._lookup.needs
                reading = self._group(group)
                if reading is None or self._lookup.needs is not before:
                    continue
                self._complete[group] = reading
            readings.append(self._complete[group])
        return readings, self._lookup.needs

    def _group(self, group: Node) -> GroupReading | None:
        try:
            return self._alike(_GroupInterpretation(self, group))
        except LackingError:
            return None

    def _alike(self, group: _GroupInterpretation) -> GroupReading:
        """Return the reading of a group: that of one with the same contents, if there is one."""
        if self._custom:  # nobody knows what these look at
            return group.reading()
        contents = group.contents()
        pattern = self._patterns.get(contents)
        if pattern is not None and group.node not in pattern.but_for and not group.findings:
            return pattern.moved(group.node, group.documents)
        reading = group.reading()
        pattern = group.pattern(reading)
        if pattern is not None:
            self._patterns.setdefault(contents, pattern)
        return reading

    # What one group's interpretation needs of all.

    @property
    def lookup(self) -> Lookup:
        """Where documents are looked up."""
        return self._lookup

    @property
    def maker(self) -> Maker:
        """What says what follows from documents."""
        return self._maker

    @property
    def dropped(self) -> frozenset[str]:
        """The names of arrays to leave alone."""
        return self._dropped

    def view(self, node: Node, dims: tuple[str, ...], **known: Any) -> ArrayView:
        """Return an array as handlers see it."""
        return ArrayView(
            node, dims, self._lookup, self._maker, self._models, assumed=self._assumed, **known
        )

    def axis_names(self, node: Node) -> AxisNames:
        """Return what the conventions of an array whose dimensions have no names say of them."""
        view = self.view(node, ())
        for handler in self._handlers:
            # Whether it applies may depend on the names: what it raises is not told.
            names = _guarded(view, handler, lambda cls: lending.axis_names_of(cls(), view))
            if names is not None and names.axes:
                return names
        return AxisNames()

    def answer(self, view: ArrayView) -> _Answer:
        """Return what the conventions say of an array, and which were asked."""
        known = self._shared_key(view)
        custom = [cls for cls in self._custom if _guarded(view, cls, self._applies_to(view))]
        if not custom and not view.findings:
            for place in (None, view.node.group):
                shared = self._shared.get((known, place))
                if shared is not None and shared.holds_for(view):
                    return shared
        before = self._lookup.needs
        interpretation, conventions = self._asked(view, custom)
        is_whole = self._lookup.needs is before
        is_shared = not (custom or view.is_itself or interpretation.findings)
        # What is lacking may be lacking of a reference that depends on the place.
        is_anywhere = is_shared and is_whole and not view.depends_on_place
        compared, missed = frozenset(view.compared), frozenset(view.missed)
        principals = (cls for cls in conventions if cls.tier == "principal")
        answer = _Answer(
            interpretation,
            conventions,
            not all(is_only_assumed(cls, view) for cls in principals),
            compared,
            missed,
            is_whole,
            is_anywhere,
        )
        if is_shared:
            self._shared[known, None if is_anywhere else view.node.group] = answer
        return answer

    def _applies_to(self, view: ArrayView) -> Callable[[Handler], bool]:
        def applies(handler: Handler) -> bool:
            if handler in self._detecting:
                return is_only_assumed(handler, view) or lending.detected(handler, view)
            return handler.applies(view)

        return applies

    def _asked(
        self, view: ArrayView, custom: Collection[Handler]
    ) -> tuple[Interpretation, Handlers]:
        """Ask the handlers that apply to an array."""
        applies = self._applies_to(view)
        active = [
            cls
            for cls in self._handlers
            if (cls in custom if cls in self._custom else _guarded(view, cls, applies))
        ]
        principals = _principals(view, active)
        asked = [*principals[:1], *(cls for cls in active if cls.tier == "service")]
        conventions = tuple(asked)
        implied = {name for cls in asked for name in cls.implies} - {cls.name for cls in asked}
        asked += [cls for cls in self._handlers if cls.name in implied]
        found: list[Interpretation | None] = []
        for cls in asked:
            item = _guarded(view, cls, lambda cls: lending.answer_of(cls(), view))
            gives_way = cls.gives_way or cls.name in view.assumed
            found.append(_giving_way(item, found) if gives_way else item)
        if principals and not principals[0].follows_names:  # else it has followed all itself
            by_name = any(cls.follows_names for cls in active)
            found.append(Interpretation(links=links_of(view, by_name=by_name)))
        merged = _merged(view, [item for item in found if item is not None])
        return merged, conventions

    def _shared_key(self, view: ArrayView) -> Any:
        """Return what an interpretation depends on besides the place of the array."""
        return (
            self._significant(view.attributes),
            view.dims,
            view.shape,
            tuple(view.names.items()),
            tuple(view.chunks.items()),
            self.surroundings_of(view.node.group),
            declared_dimensions(view.document),
            dimension_references(view.document),
        )

    def surroundings_of(self, group: Node) -> int:
        """Return a number for the texts of a group and of those it is in: equal for equal ones.

        It follows from that of the group above: groups nested deep take no longer than others.
        """
        unknown = []
        number = -1
        for node in chain([group], group.ancestors()):
            if node in self._surroundings:
                number = self._surroundings[node]
                break
            unknown.append(node)
        for node in reversed(unknown):
            texts = self._texts_of(node)
            if texts or number >= 0:  # how far up nothing is said makes no difference
                number = self._numbers.setdefault((number, texts), len(self._numbers))
            self._surroundings[node] = number
        return number

    def _significant(self, attributes: JsonObject) -> Texts:
        """Return the attributes of an array that its conventions read, as text."""
        return tuple(
            (key, text)
            for key in attributes
            if (text := attributes.text(key)) is not None and self._is_significant(key, text)
        )

    def _is_significant(self, key: str, text: bytes) -> bool:
        if key in self._names or key.startswith(self._prefixes):
            return True
        # References are read wherever they stand; an escaped letter may hide one.
        return b'"node"' in text or b"\\u" in text

    def _texts_of(self, group: Node) -> Texts:
        """Return the attributes of a group that conventions read of it, as text."""
        if group not in self._texts:
            document = self._lookup.document(group)
            self._texts[group] = () if document is None else self._significant(document.attributes)
        return self._texts[group]


class _GroupInterpretation:
    """The interpretation of the arrays of one group."""

    def __init__(self, interpreter: Interpreter, group: Node) -> None:
        self._interpreter = interpreter
        self.node = group
        self._snapshot = interpreter.lookup.snapshots[group.store]
        self.documents = self._snapshot.arrays(group.path)
        dropped = [name for name in self.documents if name in interpreter.dropped]
        self._bounds_of_dropped: dict[str, Mapping[str, Any]] = {}
        for name in dropped:
            self._bounds_of_dropped |= _times_of_bounds(self.documents.pop(name).attributes)
        self._inherited: dict[str, Inherited] = {}
        self._answers: list[_Answer] = []
        self.findings = list(_problems(interpreter, group))

    def contents(self) -> Hashable:
        """Return all that the reading follows from but for where the group is."""
        documents = tuple((name, it.written()) for name, it in self.documents.items())
        groups = tuple(self._snapshot.groups(self.node.path))
        surroundings = self._interpreter.surroundings_of(self.node)
        return documents, groups, repr(self._bounds_of_dropped), surroundings

    def pattern(self, reading: GroupReading) -> _Pattern | None:
        """Return the group's reading for groups with the same contents, None if it is for no other."""
        is_own = all(array.inherited.is_own for array in reading.arrays)
        if self.findings or not is_own or not all(it.is_anywhere for it in self._answers):
            return None
        looked_at = frozenset().union(*(answer.but_for for answer in self._answers))
        return _Pattern(reading, looked_at | {node.group for node in looked_at})

    def reading(self) -> GroupReading:
        """Return what is known of the group."""
        self._leave_out_unusable()
        assigned = self._assigned()
        templates = {}
        for name in list(self.documents):
            try:
                node = self.node.child(name)
                templates[name] = self._interpreter.maker.template(node, assigned.dims[name])
            except XGroupMetadataError as error:
                self._leave_out(name, error)
        siblings = {
            name: dict(zip(assigned.dims[name], template.shape, strict=True))
            for name, template in templates.items()
        }
        arrays = [
            self._array(name, template, assigned, siblings) for name, template in templates.items()
        ]
        groups = frozenset(self._snapshot.groups(self.node.path))
        findings = tuple(self.findings)
        return GroupReading(self.node, tuple(arrays), groups, findings, self._bounds_of_dropped)

    def _leave_out(self, name: str, error: XGroupError) -> None:
        self.findings.append(left_out(self.node.child(name), error))
        del self.documents[name]

    def _leave_out_unusable(self) -> None:
        """Leave out arrays that cannot be opened: they have no say in what dimensions are called."""
        for name, document in list(self.documents.items()):
            node = self.node.child(name)
            try:
                inherited = inherited_dimensions(self._interpreter.lookup, node, document)
                self._interpreter.maker.template(node, _each_once(inherited.declared))
            except XGroupMetadataError as error:
                self._leave_out(name, error)
            else:
                self._inherited[name] = inherited
                self.findings.extend(inherited.findings)

    def _assigned(self) -> Assigned:
        declared = {name: self._inherited[name].declared for name in self.documents}
        hints = {
            name: self._interpreter.axis_names(self.node.child(name))
            for name, names in declared.items()
            if None in names
        }
        assigned = assign_dimensions(self.documents, self.node, hints, declared)
        self.findings.extend(
            finding
            for name, finding in assigned.findings.items()
            # Without its attributes a v2 array has no names either, and that was told.
            if self.node.child(name).path not in self._snapshot.problems
        )
        return assigned

    def _array(
        self,
        name: str,
        template: Template,
        assigned: Assigned,
        siblings: Mapping[str, Mapping[str, int]],
    ) -> ArrayReading:
        node, dims = self.node.child(name), assigned.dims[name]
        if template.fill_value is not None:
            self.findings.append(unusable_fill_value(node, template.fill_value))
        view = self._interpreter.view(
            node,
            dims,
            names=dict(zip(assigned.named[name], dims, strict=True)),
            chunks=template.encoding.get("preferred_chunks", {}),
            siblings=siblings,
        )
        answer = self._interpreter.answer(view)
        self._answers.append(answer)
        return ArrayReading(
            node,
            self.documents[name],
            dims,
            template,
            answer.interpretation,
            answer.conventions,
            answer.is_first_class,
            self._inherited[name],
        )


def _each_once(names: Sequence[str | None]) -> tuple[str, ...]:
    """Return names of dimensions, others in place of None and of those that were there before.

    xarray warns of a dimension that an array has twice. The names that arrays get are settled later.
    """
    return tuple(
        f"dim_{axis}" if name is None or name in names[:axis] else name
        for axis, name in enumerate(names)
    )


def _has_own_detect(handler: Handler) -> bool:
    """Tell whether a handler has to be asked with zarr objects whether it applies."""
    own: Any = next(cls.__dict__["detect"] for cls in handler.__mro__ if "detect" in cls.__dict__)
    return own is not ConventionHandler.__dict__["detect"]


def _guarded(view: ArrayView, handler: Handler, call: Callable[[Handler], T]) -> T | None:
    """Return what a handler gives, or None after saying what it raised.

    A plug-in may raise anything; whatever it is, it concerns this array and convention.
    """
    try:
        return call(handler)
    except LackingError:
        return None
    except Exception as error:  # noqa: BLE001
        message = _("the handler of convention {name!r} ({module}) failed: {kind}: {reason}")
        text = message.format(
            name=handler.name,
            module=handler.__module__,
            kind=type(error).__name__,
            reason=error,
        )
        problem = retold(error, text)  # what the resolver raised stays what it is
        problem.__cause__ = error
        view.problem(problem, _("what convention {name!r} gives").format(name=handler.name))
        return None


def _principals(view: ArrayView, active: Collection[Handler]) -> list[Handler]:
    """Return the principal conventions of an array, the one that counts first.

    What is declared goes before what is assumed.
    """
    principals = [cls for cls in active if cls.tier == "principal"]
    declared = [cls for cls in principals if not is_only_assumed(cls, view)]
    rivals = [cls for cls in declared if not cls.follows_names]  # what those say all may have
    if len(rivals) > 1:
        message = _("it declares the principal conventions {names}; {first} was used")
        names = ", ".join(cls.name for cls in rivals)
        view.note(message.format(names=names, first=rivals[0].name))
    return rivals or declared or principals


def _giving_way(
    item: Interpretation | None, before: Collection[Interpretation | None]
) -> Interpretation | None:
    """Return what a convention says without what others, which count more, have said before it."""
    said = {it.name for other in before if other is not None for it in other.coordinates}
    if item is None or said.isdisjoint(it.name for it in item.coordinates):
        return item
    coordinates = tuple(it for it in item.coordinates if it.name not in said)
    return replace(item, coordinates=coordinates, geotransform=None, claims=())


def _merged(view: ArrayView, found: Sequence[Interpretation]) -> Interpretation:
    """Return what several conventions say of an array together, the principal one first."""
    if not found and not view.findings:
        return NOTHING
    attributes = {key: it for item in reversed(found) for key, it in item.attributes.items()}
    findings = dict.fromkeys((f for item in found for f in item.findings), None)
    return Interpretation(
        tuple(coordinate for item in found for coordinate in item.coordinates),
        next((item.crs for item in found if item.crs is not None), None),
        next((item.geotransform for item in found if item.geotransform is not None), None),
        attributes,
        tuple(dict.fromkeys([*findings, *view.findings])),
        frozenset(view.referred).union(*(item.referred for item in found)),
        tuple(link for item in found for link in item.links),
        tuple(claim for item in found for claim in item.claims),
        tuple(view.resolver.followed.values()),
    )


def _times_of_bounds(attributes: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return units and calendar of times by the name of their boundaries; nothing of all else."""
    units, bounds = attributes.get("units"), attributes.get("bounds")
    if not (isinstance(units, str) and "since" in units and isinstance(bounds, str)):
        return {}
    return {bounds: {key: attributes[key] for key in ("units", "calendar") if key in attributes}}


#: What the conventions say of an array that follows none.
NOTHING = Interpretation()


def _problems(interpreter: Interpreter, group: Node) -> Iterable[Finding]:
    """Yield what is wrong with the group itself and with its arrays' documents."""
    snapshot = interpreter.lookup.snapshots[group.store]
    for path, error in snapshot.problems.items():
        if group.path not in (path, path.rpartition("/")[0]):
            continue
        node = Node(group.store, path)
        document = snapshot.document(path)
        if path == group.path:
            what = _("attributes") if snapshot.is_listed(path) else _("members")
            yield group_without(what, node, error)
        elif node.name in interpreter.dropped:
            continue
        elif document is None:
            yield left_out(node, error)
        elif document.is_array:  # a group tells of itself when it is opened
            text = _("Array {path} was opened without {what}: {reason}").format(
                path=node, what=_("attributes"), reason=error
            )
            yield noted(Kind.METADATA, text, node, "/attributes", error=error)
