"""The reading of an array: its combined interpretation by the handlers of all conventions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, get_args, get_origin

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions import plugin_adapter
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler, Marks, failure_message
from zarr_xgroup.conventions.cf import references_of
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import CONVENTIONS_KEY
from zarr_xgroup.conventions.model import Coordinate, Inherited, Interpretation
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.registry import AUTO, BUILT_IN, Handler, Handlers
from zarr_xgroup.conventions.result_types import fields_of, require
from zarr_xgroup.errors import XGroupStoreError, with_message
from zarr_xgroup.findings import Finding, Topic, coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY, NCZARR_KEYS
from zarr_xgroup.metadata.documents import Document, JsonObject
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.resolver import Followed
from zarr_xgroup.storage.failures import is_transient, reason_of
from zarr_xgroup.variables.sources import HandlerVariable, Stored, Unusable

if TYPE_CHECKING:
    from zarr_xgroup.variables.stored import Template

#: The interpretation of an array that follows no convention.
NOTHING = Interpretation()


class ArrayReading(msgspec.Struct, frozen=True, eq=False):
    """The combined interpretation of one array, before its coordinates are named in a plan."""

    node: Node
    document: Document
    #: The names of all its dimensions: in a reading as declared, in a plan with one size for each name in the group.
    dims: tuple[str, ...]
    template: Template
    interpretation: Interpretation
    #: The handlers that interpreted the array, the principal one first.
    conventions: Handlers
    #: Whether the array itself declares a principal convention, not only its groups, the root or the user.
    declares_principal: bool
    #: The names of the conventions that are assumed for the array.
    assumed: frozenset[str]
    inherited: Inherited
    #: The nodes to which references point, and the arrays from which coordinates are read. They may not share the
    #: interpretation: for one of them, a reference would point to the array itself.
    referenced: frozenset[Node]
    #: Whether equal arrays may share the interpretation: all handlers that were asked state the attributes that they
    #: read, and it does not depend on the name of the array.
    may_be_shared: bool
    #: Equal for arrays of the group that have the same metadata for all handlers.
    likeness: Hashable = None

    @property
    def is_dimension_coordinate(self) -> bool:
        """Whether it is the coordinate of its dimension: 1-D, with the name of the dimension."""
        return self.dims == (self.node.name,)

    @property
    def has_principal(self) -> bool:
        """Whether the array follows a principal convention, declared or assumed."""
        return any(handler.tier == "principal" for handler in self.conventions)

    @property
    def references(self) -> tuple[Followed, ...]:
        """The references that were followed for the array."""
        return (*self.inherited.references, *self.interpretation.references)

    def referred_arrays(self) -> Iterator[tuple[Node, Mapping[str, Any]]]:
        """Yield the arrays that this array refers to, each with the attributes that it declares of that array."""
        yield from ((node, {}) for node in self.interpretation.referred)
        linked = (link.coordinate for link in self.interpretation.links)
        inherited = self.inherited.coordinates
        companions = (link.coordinate for coordinate in inherited for link in coordinate.links)
        for coordinate in (*self.interpretation.coordinates, *linked, *inherited, *companions):
            for part in coordinate.parts():
                if isinstance(part.source, Stored):
                    yield part.source.node, part.attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.template.shape

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of its dimensions."""
        return dict(zip(self.dims, self.template.shape, strict=True))


@lru_cache(maxsize=8)
def handler_set(handlers: Handlers) -> HandlerSet:
    """Return the `HandlerSet` of some handlers, cached."""
    return HandlerSet(handlers)


class HandlerSet:
    """Handlers that interpret arrays together."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = sorted(
            handlers, key=lambda handler: (handler.tier == "service", handler.priority)
        )
        self._proj = [handler for handler in handlers if handler.name == ProjHandler.name]
        self._with_crs = [handler for handler in handlers if _has_own("crs", handler)]
        self._naming = [handler for handler in handlers if _has_own("axis_names", handler)]
        self._with_detect = {handler for handler in handlers if _has_own("detect", handler)}
        self._deciding = self._with_detect.union(
            handler for handler in handlers if _has_own("applies", handler)
        )
        # `reads` is not inherited, because a derived class may read more attributes.
        self._unlimited = {handler for handler in handlers if handler.__dict__.get("reads") is None}
        # These methods are called for all arrays, so arrays share no answers if such a handler has no `reads`.
        self._may_look_anywhere = any(
            _has_own(method, handler)
            for handler in self._unlimited
            for method in ("detect", "applies", "axis_names", "marks")
        )
        names = {name for handler in handlers for name in handler.names()}
        described = {attribute.key for handler in handlers for attribute in handler.described}
        stated = {key for handler in handlers for key in handler.reads or ()}
        self._read = names | described | stated | {CONVENTIONS_KEY, DIMENSION_KEY, *NCZARR_KEYS}
        self._read_prefixes = tuple(f"{name}:" for name in names)

    def read_attributes(self, attributes: JsonObject) -> tuple[tuple[str, bytes], ...]:
        """Return the attributes of an array that affect its interpretation, with their JSON texts."""
        return tuple(
            [
                (key, text)
                for key, text in attributes.texts.items()
                if key in self._read or key.startswith(self._read_prefixes) or b"{" in text
            ]
        )

    def crs_of(self, view: ArrayView) -> Crs | None:
        """Return the first CRS that a convention other than `proj` declares for an array, or None."""
        for handler in self._with_crs:
            with _reporting_failures(view, handler):
                if handler.applies(view) and (crs := handler.crs(view)):
                    _require(handler, crs, Crs)
                    return crs
        return None

    def axis_names(self, view: ArrayView) -> tuple[tuple[str, ...], list[Finding]]:
        """Return dimension names for the last axes of an array with unnamed axes, and findings about failed handlers.

        The names are () if no handler knows any. What handlers report is left out: they are asked again.
        """
        failures = list[Finding]()
        self._assume_marked(view, self._naming)
        for handler in self._naming:
            names = None
            with _reporting_failures(view, handler):
                names = _distinct(handler().axis_names(view))
            if names:
                return names, failures
            if names is None:
                failures.append(view.findings[-1])
        return (), failures

    def interpret(self, view: ArrayView, inherited: Inherited) -> ArrayReading:
        """Return the combined interpretation of an array by all handlers that apply to it, and by `proj`.

        They are asked in order: declared conventions before assumed ones, principal conventions before services, then by
        priority. If several give a coordinate, the first one is used.
        """
        self._assume_marked(view, self._handlers)
        active = [handler for handler in self._handlers if self._applies(handler, view)]
        view.conventions = {handler.name for handler in active}
        asked = list(dict.fromkeys((*active, *self._proj))) if active else []
        asked.sort(key=view.only_assumes)
        _ask(view, asked)
        has_principal = any(handler.tier == "principal" for handler in active)
        references = references_of(view, has_principal=has_principal)
        parts = [*view.before, *filter(None, [references])]
        merged = _merged(view, parts) if parts or view.findings else NOTHING
        return ArrayReading(
            *(view.node, view.document, view.dims),
            view.factory.template(view.node, view.dims),
            *(merged, tuple(active)),
            inherited=inherited,
            declares_principal=any(
                handler.tier == "principal"
                and (handler in view.declared or not view.follows(handler))
                for handler in active
            ),
            referenced=frozenset(view.resolver.reached).union(merged.referred),
            assumed=frozenset(view.assumed),
            may_be_shared=not (self._may_look_anywhere or view.depends_on_name)
            and self._unlimited.isdisjoint(asked),
        )

    def _applies(self, handler: Handler, view: ArrayView) -> bool:
        """Return whether a handler applies to an array; if it overrides `detect`, that is called with zarr objects."""
        if handler not in self._deciding:
            return view.follows(handler)  # as `ConventionHandler.applies`, but faster
        with _reporting_failures(view, handler):
            if handler not in self._with_detect:
                return bool(handler.applies(view))
            if view.only_assumes(handler):
                return True
            return bool(handler.detect(*view.factory.zarr_objects(view.node)))
        return False

    def marks_of(self, view: ArrayView, handlers: Sequence[Handler] = ()) -> dict[str, Marks]:
        """Return the marks of undeclared conventions that an array has, by name.

        These are the conventions of `handlers`, by default all, that neither the array nor a group that contains it
        declares.
        """
        declared, marks = view.declared_around, dict[str, Marks]()
        for handler in handlers or self._handlers:
            with _reporting_failures(view, handler):
                if handler not in declared and (of_handler := handler.marks(view)) is not None:
                    _require(handler, of_handler, Marks)
                    marks[handler.name] = of_handler
        return marks

    def _assume_marked(self, view: ArrayView, handlers: Sequence[Handler]) -> None:
        """Replace "auto" among the assumed conventions of an array by the conventions whose marks it has.

        "auto" is only removed if the array or its group declares a principal convention.
        """
        if AUTO not in view.assumed:
            return
        view.assumed = {*view.assumed} - {AUTO}
        declares_principal = any(
            handler.tier == "principal"
            and not view.only_assumes(handler)
            and (handler in view.declared_for_it or self._applies(handler, view))
            for handler in self._handlers
        )
        if not declares_principal:
            view.assumed |= self.marks_of(view, handlers).keys()


def _has_own(method: str, handler: Handler) -> bool:
    """Return whether a handler overrides a method of `ConventionHandler`."""
    owner = next(cls for cls in handler.__mro__ if method in cls.__dict__)
    return owner is not ConventionHandler


@contextmanager
def _reporting_failures(view: ArrayView, handler: Handler, cost: str = "") -> Iterator[None]:
    """Report any exception of a handler's methods, and suppress it.

    A plug-in may raise anything. The array is then opened without the part in `cost`, by default all coordinates of that
    convention, unless a store could not be read: then XGroupStoreError is raised.
    """
    try:
        yield
    except Exception as error:
        if is_transient(error):
            text = _("{node} cannot be interpreted: {reason}")
            raise XGroupStoreError(text.format(node=view.node, reason=reason_of(error))) from error
        message = failure_message(handler, error)
        problem = with_message(error, message)  # an XGroupError keeps its class
        problem.__cause__ = error
        cost = cost or _("the parts defined by convention {name!r}").format(name=handler.name)
        view.report(Topic.PROBLEM, view.node, problem, cost=cost)


def _require(handler: Handler, value: object, kind: Any) -> None:
    """Raise an exception if a plug-in has returned a value that is not valid. Built-in handlers are not checked."""
    if handler not in BUILT_IN:
        require(value, kind, kind.__name__.lower())


def _sound(view: ArrayView, handler: Handler, interpretation: Interpretation) -> Interpretation:
    """Return a plug-in's interpretation of an array without the parts that are not valid, which are reported."""
    parts: dict[str, Any] = {}
    for field, kind in fields_of(Interpretation).items():
        value, collection = getattr(interpretation, field), get_origin(kind)
        if collection in (tuple, frozenset):
            values = value if isinstance(value, Iterable) else [value]
            sound = _sound_parts(view, handler, values, get_args(kind)[0], field.removesuffix("s"))
            parts[field] = collection(sound)
        elif _sound_parts(view, handler, [value], kind, field):
            parts[field] = value
    return Interpretation(**parts)


def _sound_parts(
    view: ArrayView, handler: Handler, parts: Iterable[Any], kind: Any, name: str
) -> list[Any]:
    """Return the parts of a plug-in's result that are valid, and report the others."""
    sound = []
    for part in parts:
        cost = _("the {part!r} given by convention {name!r}").format(part=name, name=handler.name)
        if isinstance(part, Coordinate) and isinstance(part.name, str):
            cost = coordinate_named(part.name)
        with _reporting_failures(view, handler, cost):
            require(part, kind, name)
            sound.append(part)
    return sound


def _drop_unsound(view: ArrayView, handler: Handler, before: int) -> None:
    """Drop and report the findings, after the first ones, and referred nodes of a plug-in that are not valid."""
    findings, referred = view.findings[before:], [*view.referred]
    del view.findings[before:]
    view.referred.clear()
    view.findings += _sound_parts(view, handler, findings, Finding, "finding")
    view.referred.update(_sound_parts(view, handler, referred, Node, "referred"))


def _distinct(names: object) -> tuple[str, ...]:
    """Return dimension names, after checking that a plug-in returned a tuple of distinct names."""
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(repr(names))
    if len(set(names)) < len(names):
        raise ValueError(repr(names))
    return names


def _ask(view: ArrayView, handlers: Iterable[Handler]) -> None:
    """Add the interpretation of an array by each handler that does not raise an error to `view.before`.

    A coordinate is left out, with the geotransform, if an earlier handler has given a different one of the same name and
    dimensions. That is reported if both conventions are declared.
    """
    given: dict[str, tuple[Coordinate, Handler]] = {}
    for handler in handlers:
        interpretation, before = None, len(view.findings)
        with _reporting_failures(view, handler):
            interpretation = plugin_adapter.interpretation_of(handler().interpret, view)
        if handler not in BUILT_IN:
            _drop_unsound(view, handler, before)
            interpretation = interpretation and _sound(view, handler, interpretation)
        if interpretation is None:
            continue
        kept, rivals = [], dict[str, Handler]()
        for coordinate in interpretation.coordinates:
            source = coordinate.source
            if isinstance(source, Unusable):
                kept.append(coordinate)
                continue
            first, winner = given.setdefault(coordinate.name, (coordinate, handler))
            is_same = winner is handler or first.identity == coordinate.identity
            # Arrays that services refer to, and variables of plug-ins, get a different name in the plan.
            is_other = isinstance(source, HandlerVariable) or (
                handler.tier == "service" and isinstance(source, Stored)
            )
            if is_same or is_other or first.source.dims != source.dims:
                kept.append(coordinate)
            else:
                rivals[coordinate.name] = winner
        if rivals:
            interpretation = replace(interpretation, coordinates=tuple(kept), geotransform=None)
            _report_rivals(view, handler, rivals)
        view.before.append(interpretation)


def _report_rivals(view: ArrayView, handler: Handler, rivals: Mapping[str, Handler]) -> None:
    """Report coordinates of a declared convention that were left out for those of other declared conventions."""
    if view.only_assumes(handler):
        return
    for winner in dict.fromkeys(rivals.values()):
        names = ", ".join(sorted(name for name, other in rivals.items() if other is winner))
        text = _("conventions {first} and {other} define different {names}; {first} is used")
        text = text.format(first=winner.name, other=handler.name, names=names)
        view.report(Topic.CHOICE, view.node, text)


def _merged(view: ArrayView, parts: Sequence[Interpretation]) -> Interpretation:
    """Merge the interpretations of an array; the first CRS, geotransform and value of an attribute are used."""
    findings = [*chain.from_iterable(part.findings for part in parts), *view.findings]
    return Interpretation(
        tuple(chain.from_iterable(part.coordinates for part in parts)),
        next((part.crs for part in parts if part.crs is not None), None),
        next((part.geotransform for part in parts if part.geotransform is not None), None),
        dict(chain.from_iterable(part.attributes.items() for part in reversed(parts))),
        findings=tuple(dict.fromkeys(findings)),
        referred=frozenset(view.referred).union(*(part.referred for part in parts)),
        links=tuple(chain.from_iterable(part.links for part in parts)),
        references=tuple(view.resolver.followed.values()),
        overruled_crs=view.overruled_crs,
    )
