"""The handlers of all conventions, asked together about one array."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from zarr_xgroup.conventions import plugin_adapter
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler, failure_of
from zarr_xgroup.conventions.cf import links_of
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import is_only_assumed
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.registry import Handler, Handlers
from zarr_xgroup.errors import retold
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Computed, Offset, Stored

T = TypeVar("T")

#: What the conventions say of an array that follows none.
NOTHING = Interpretation()


@dataclass(frozen=True, eq=False)
class Answer:
    """What the conventions say of an array, and for which other arrays that is the same."""

    interpretation: Interpretation
    #: Those that apply, the principal one first.
    conventions: Handlers
    #: Whether a principal one among them is declared, and not only assumed.
    is_first_class: bool
    #: Where references led, and the arrays that its coordinates are: it is the answer for none of these arrays.
    led_to: frozenset[Node]
    #: Whether a handler was asked that does not say what it reads.
    is_of_one: bool
    #: The attributes that only describe the array which handlers read all the same.
    reads: tuple[str, ...]


class HandlerSet:
    """The handlers of an open.

    Attributes
    ----------
    may_look_anywhere : bool
        Whether one that does not say what it reads is asked about every array.
    arrays : frozenset of str
        The names of arrays that mean something to one of them.
    """

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self._names = {handler.name for handler in handlers}
        self._with_crs = [handler for handler in handlers if _has_own("crs", handler)]
        self._with_detect = {handler for handler in handlers if _has_own("detect", handler)}
        self.may_look_anywhere = any(
            _reads(handler) is None and _has_own(method, handler)
            for handler in handlers
            for method in ("detect", "applies", "axis_names")
        )
        self.arrays = frozenset(name for handler in handlers for name in handler.arrays)

    def crs_of(self, view: ArrayView) -> Crs | None:
        """Return the CRS that conventions other than `proj` give an array: that of the first which has one."""

        def crs(handler: Handler) -> Crs | None:
            return handler.crs(view) if handler.applies(view) else None

        found = (_ask(view, handler, crs) for handler in self._with_crs)
        return next(filter(None, found), None)

    def axis_names(self, view: ArrayView) -> tuple[str, ...]:
        """Return what the conventions call the last axes of an array that has no names for some."""

        def names(handler: Handler) -> tuple[str, ...]:
            return plugin_adapter.axis_names_of(handler().axis_names, view)

        # The view is given up afterwards, with what handlers report that need the names.
        found = (_ask(view, handler, names) for handler in self._handlers)
        return next(filter(None, found), ())

    def ask(self, view: ArrayView) -> Answer:
        """Return what the handlers that apply to an array say of it."""
        active = [handler for handler in self._handlers if self._applies(handler, view)]

        # One principal convention counts. What is declared goes before what is assumed, and what claims all
        # coordinates before what gives way to others.
        principals = [handler for handler in active if handler.tier == "principal"]
        declared = [handler for handler in principals if not is_only_assumed(handler, view)]
        rivals = [
            handler for handler in declared if not handler.follows_names and not handler.gives_way
        ]
        first = (rivals or declared or principals)[:1]
        shared = frozenset[str]()
        for handler in first:
            names = _ask(view, handler, lambda cls: plugin_adapter.texts_of(cls.shares_with(view)))
            shared = names or shared
        rivals = [handler for handler in rivals if handler.name not in shared]
        if len(rivals) > 1:
            text = _("it declares the principal conventions {names}; {first} was used").format(
                names=", ".join(handler.name for handler in rivals), first=rivals[0].name
            )
            view.report(Topic.CHOICE, view.node, text)
        for name in sorted(shared - self._names):
            text = _(
                "it refers to convention {name!r} for its coordinates, of which no handler is installed"
            )
            view.report(Topic.CHOICE, view.node, text.format(name=name))

        # Services add to it, and so do the conventions that they imply, or it shares with.
        besides = [handler for handler in active if handler.tier == "service" or handler.gives_way]
        conventions = tuple(dict.fromkeys((*first, *besides)))
        implied = shared.union(*(handler.implies for handler in conventions))
        asked = [
            *conventions,
            *(
                handler
                for handler in self._handlers
                if handler.name in implied and handler not in conventions
            ),
        ]
        found: list[Interpretation] = []
        for handler in asked:
            said = _ask(view, handler, lambda cls: _interpretation(cls, view))
            if said is not None:
                gives_way = handler.gives_way or handler.name in {*view.assumed, *shared}
                found.append(_without_coordinates_of(found, said) if gives_way else said)
        if first and not first[0].follows_names:  # else it has followed all itself
            by_name = any(handler.follows_names for handler in active)
            found.append(Interpretation(links=links_of(view, by_name=by_name)))
        found += _broken_rules(view, rivals[1:])

        whole = _merged(view, found)
        read = [_reads(handler) for handler in {*active, *asked}]
        return Answer(
            whole,
            conventions,
            is_first_class=not all(is_only_assumed(handler, view) for handler in first),
            led_to=frozenset(view.resolver.reached).union(arrays_of(whole)),
            is_of_one=None in read,
            reads=tuple(sorted(set(chain.from_iterable(keys or () for keys in read)))),
        )

    def _applies(self, handler: Handler, view: ArrayView) -> bool:
        """Tell whether a handler applies to an array: one with a `detect` of its own is asked that, with zarr objects."""

        def applies(cls: Handler) -> bool:
            if cls not in self._with_detect:
                return cls.applies(view)
            return is_only_assumed(cls, view) or plugin_adapter.detected(cls.detect, view)

        return bool(_ask(view, handler, applies))


def _has_own(method: str, handler: Handler) -> bool:
    """Tell whether a handler has a method of its own, and not that of the base class."""
    owner = next(cls for cls in handler.__mro__ if method in cls.__dict__)  # it may be static there
    return owner is not ConventionHandler


def _reads(handler: Handler) -> tuple[str, ...] | None:
    """Return what a handler says that it reads: this class itself, not one that it is derived from."""
    return handler.__dict__.get("reads")


def _interpretation(handler: Handler, view: ArrayView) -> Interpretation:
    return plugin_adapter.answer_of(handler().interpret, view)


def _ask(view: ArrayView, handler: Handler, question: Callable[[Handler], T]) -> T | None:
    """Return what a handler answers; None if it raises anything, which is reported.

    A plug-in may raise whatever it likes: it costs this array what this convention gives.
    """
    try:
        return question(handler)
    except Exception as error:  # noqa: BLE001
        problem = retold(error, failure_of(handler, error))  # an error of ours stays what it is
        problem.__cause__ = error
        cost = _("what convention {name!r} gives").format(name=handler.name)
        view.report(Topic.PROBLEM, view.node, problem, cost=cost)
        return None


def _without_coordinates_of(
    others: Collection[Interpretation], said: Interpretation
) -> Interpretation:
    """Return what a convention says without the coordinates that others, which count more, have."""
    names = {coordinate.name for other in others for coordinate in other.coordinates}
    if names.isdisjoint(coordinate.name for coordinate in said.coordinates):
        return said
    kept = tuple(coordinate for coordinate in said.coordinates if coordinate.name not in names)
    return replace(said, coordinates=kept, geotransform=None)


def _broken_rules(view: ArrayView, rivals: Iterable[Handler]) -> Iterator[Interpretation]:
    """Yield what breaks the rules of principal conventions that do not count: only a check tells it."""
    for handler in rivals:
        if handler.rules:
            before, referred = set(view.findings), set(view.referred)
            found = view.try_silently(_ask, view, handler, lambda cls: _interpretation(cls, view))
            view.referred = referred
            broken = [
                replace(finding, topic=None)
                for finding in (found or NOTHING).findings
                if finding.rule in handler.rules and finding not in before
            ]
            yield Interpretation(findings=tuple(broken))


def _merged(view: ArrayView, found: Sequence[Interpretation]) -> Interpretation:
    """Return what several conventions say of an array together, the principal one first."""
    if not found and not view.findings:
        return NOTHING
    findings = [*chain.from_iterable(said.findings for said in found), *view.findings]
    return Interpretation(
        tuple(chain.from_iterable(said.coordinates for said in found)),
        next((said.crs for said in found if said.crs is not None), None),
        next((said.geotransform for said in found if said.geotransform is not None), None),
        dict(chain.from_iterable(said.attributes.items() for said in reversed(found))),
        findings=tuple(dict.fromkeys(findings)),
        referred=frozenset(view.referred).union(*(said.referred for said in found)),
        links=tuple(chain.from_iterable(said.links for said in found)),
        references=tuple(view.resolver.followed.values()),
        overruled_crs=view.overruled_crs,
    )


def arrays_of(found: Interpretation) -> Iterator[Node]:
    """Yield the arrays of stores that an interpretation refers to."""
    yield from found.referred
    pending: list[Coordinate] = [*found.coordinates, *(link.coordinate for link in found.links)]
    while pending:
        coordinate = pending.pop()
        source = coordinate.source
        source = source.values if isinstance(source, Offset) else source
        if isinstance(source, Stored):
            yield source.node
        elif isinstance(source, Computed):
            yield from (array.node for array in source.arrays)
        pending += coordinate.formula_terms.values()
        pending += (link.coordinate for link in coordinate.links)
        if coordinate.bounds is not None:
            pending.append(coordinate.bounds)
