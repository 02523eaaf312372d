"""The handlers of all conventions, asked together about one array."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from typing import TypeVar

from zarr_xgroup.conventions import plugin_adapter
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler, Marks, failure_message
from zarr_xgroup.conventions.cf import links_of
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.registry import AUTO, Handler, Handlers
from zarr_xgroup.errors import retold
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Computed, Offset, Stored

T = TypeVar("T")

#: The interpretation of an array that follows no convention.
NOTHING = Interpretation()


@dataclass(frozen=True, eq=False)
class Answer:
    """What the conventions say of an array, and what decides which other arrays may share this answer."""

    interpretation: Interpretation
    #: The conventions that apply to the array, the principal one first.
    conventions: Handlers
    #: Whether the array declares a principal convention itself: not its groups or the root, and not the user.
    declares_principal: bool
    #: The nodes that references led to, and the arrays that coordinates are read from. For these arrays
    #: themselves the answer may differ, since a reference would lead back to the array that has it.
    led_to: frozenset[Node]
    #: The names of the conventions that are assumed for the array.
    assumed: frozenset[str]
    #: The describing attributes (`units`, `long_name`, ...) that the handlers read: arrays that share the answer have
    #: equal values of these attributes. None if no other array may share it: a handler does not declare what it `reads`.
    reads: tuple[str, ...] | None


@lru_cache(maxsize=8)
def handler_set(handlers: Handlers) -> HandlerSet:
    """Return the set of some handlers, the same object for the same handlers."""
    return HandlerSet(handlers)


class HandlerSet:
    """Handlers that are asked together about each array."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self._names = {handler.name for handler in handlers}
        self._with_crs = [handler for handler in handlers if _has_own("crs", handler)]
        self._naming = [handler for handler in handlers if _has_own("axis_names", handler)]
        # The others apply to the arrays that declare them.
        self._with_condition = {
            handler
            for handler in handlers
            if _has_own("applies", handler) or _has_own("detect", handler)
        }
        self._with_detect = {handler for handler in handlers if _has_own("detect", handler)}
        # A base class cannot promise for a derived class, which may read more.
        self._reads = {handler: handler.__dict__.get("reads") for handler in handlers}
        # These methods are called for all arrays: without a promise of the handler, no two arrays share an answer.
        self._may_look_anywhere = any(
            self._reads[handler] is None and _has_own(method, handler)
            for handler in handlers
            for method in ("detect", "applies", "axis_names", "marks")
        )

    def crs_of(self, view: ArrayView) -> Crs | None:
        """Return the CRS that the first convention other than `proj` gives an array, None if no convention does."""

        def crs(handler: Handler, view: ArrayView) -> Crs | None:
            return handler.crs(view) if handler.applies(view) else None

        found = (_guarded(view, handler, partial(crs, handler)) for handler in self._with_crs)
        return next(filter(None, found), None)

    def axis_names(self, view: ArrayView) -> tuple[str, ...]:
        """Return dimension names for the last axes of an array that leaves some unnamed, () if no handler gives any."""
        # The caller discards this view: handlers that need dimension names report to it that they are missing.
        self._assume_marked(view, self._naming)
        found = (_guarded(view, handler, partial(_axis_names, handler)) for handler in self._naming)
        return next(filter(None, found), ())

    def interpret(self, view: ArrayView) -> Answer:
        """Return the common interpretation of an array by all handlers that apply to it.

        These are one principal convention, the services, and the conventions that they imply. The rivals of the
        principal convention are reported, and interpret the array only for findings about their own rules.
        """
        self._assume_marked(view, self._handlers)
        active = [
            handler
            for handler in self._handlers
            if (
                self._applies(handler, view)
                if handler in self._with_condition
                else view.follows(handler)
            )
        ]
        principal, rivals, shared = self._principal(view, active)

        # Services add to the principal convention, and so do the conventions that are implied or shared with.
        besides = [handler for handler in active if handler.tier == "service" or handler.gives_way]
        conventions = tuple(dict.fromkeys((*filter(None, [principal]), *besides)))
        implied = shared.union(*(handler.implies for handler in conventions))
        added = (handler for handler in self._handlers if handler.name in implied)
        asked = tuple(dict.fromkeys((*conventions, *added)))

        found = _interpretations(view, asked, giving_way={*view.assumed, *shared})
        # A principal convention that `follows_names` has followed those of CF attributes itself.
        if principal is not None and not principal.follows_names:
            by_name = any(handler.follows_names for handler in active)
            found.append(Interpretation(links=links_of(view, by_name=by_name)))
        found += _broken_rules(view, rivals)

        whole = _merged(view, found) if found or view.findings else NOTHING
        return Answer(
            *(whole, conventions),
            declares_principal=any(
                handler.tier == "principal"
                and (handler in view.declared or not view.follows(handler))
                for handler in active
            ),
            led_to=frozenset(view.resolver.reached).union(_stored_arrays_of(whole)),
            assumed=frozenset(view.assumed),
            reads=self._read_by({*active, *asked}),
        )

    def _read_by(self, handlers: Iterable[Handler]) -> tuple[str, ...] | None:
        """Return the describing attributes that handlers read, None if one of them does not declare what it reads."""
        reads = [self._reads[handler] for handler in handlers]
        if self._may_look_anywhere or None in reads:
            return None
        return tuple(sorted({*chain.from_iterable(keys for keys in reads if keys)}))

    def _applies(self, handler: Handler, view: ArrayView) -> bool:
        """Return whether a handler applies to an array, by its own `detect` with zarr objects if it has one."""
        has_detect = handler in self._with_detect
        return bool(
            _guarded(view, handler, partial(_detects, handler) if has_detect else handler.applies)
        )

    def marks_of(self, view: ArrayView, handlers: Sequence[Handler] = ()) -> dict[str, Marks]:
        """Return the marks of conventions that an array has and neither it nor a group around it declares, by name.

        `handlers` are those of the conventions in question, by default all.
        """
        declared = view.declared_around
        asked = [it for it in handlers or self._handlers if it not in declared]
        marks = {handler.name: _guarded(view, handler, handler.marks) for handler in asked}
        return {name: found for name, found in marks.items() if found is not None}

    def _assume_marked(self, view: ArrayView, handlers: Sequence[Handler]) -> None:
        """Replace "auto" among the assumed conventions of an array by the conventions whose marks it has.

        By no convention if the array or its group declares a principal one.
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

    def _principal(
        self, view: ArrayView, active: Iterable[Handler]
    ) -> tuple[Handler | None, list[Handler], frozenset[str]]:
        """Return the principal convention of an array or None, its rivals, and the names of those that it shares with.

        A declared one has priority over an assumed one, and one that claims all coordinates over one that gives way;
        among equals the first in order is used. Its rivals are the other declared ones that claim all coordinates,
        which are reported.
        """
        principals = [handler for handler in active if handler.tier == "principal"]
        declared = [handler for handler in principals if not view.only_assumes(handler)]
        claiming = [it for it in declared if not it.follows_names and not it.gives_way]
        principal = next(iter(claiming or declared or principals), None)
        if principal is None:
            return None, [], frozenset()
        shared = _guarded(view, principal, partial(_shared_names, principal)) or frozenset()
        claiming = [handler for handler in claiming if handler.name not in shared]
        if len(claiming) > 1:
            text = _("it declares the principal conventions {names}; {first} was used").format(
                names=", ".join(handler.name for handler in claiming), first=claiming[0].name
            )
            view.report(Topic.CHOICE, view.node, text)
        for name in sorted(shared - self._names):
            text = _(
                "it refers to convention {name!r} for its coordinates, of which no handler is installed"
            )
            view.report(Topic.CHOICE, view.node, text.format(name=name))
        return principal, claiming[1:], shared


def _has_own(method: str, handler: Handler) -> bool:
    """Return whether a handler overrides a method of `ConventionHandler`, be it an instance, class or static method."""
    owner = next(cls for cls in handler.__mro__ if method in cls.__dict__)
    return owner is not ConventionHandler


def _guarded(view: ArrayView, handler: Handler, question: Callable[[ArrayView], T]) -> T | None:
    """Return the answer of a handler to a question about an array, or report whatever it raises and return None.

    A plug-in may raise anything: the array is then opened without the coordinates of that convention.
    """
    try:
        return question(view)
    except Exception as error:  # noqa: BLE001
        problem = retold(error, failure_message(handler, error))  # an XGroupError keeps its class
        problem.__cause__ = error
        cost = _("what convention {name!r} gives").format(name=handler.name)
        view.report(Topic.PROBLEM, view.node, problem, cost=cost)
        return None


# Questions to a handler. A plug-in may answer with a value of a wrong type.


def _detects(handler: Handler, view: ArrayView) -> bool:
    return view.only_assumes(handler) or bool(handler.detect(*view.factory.zarr_objects(view.node)))


def _interpretation(handler: Handler, view: ArrayView) -> Interpretation:
    return plugin_adapter.interpretation_of(handler().interpret, view)


def _shared_names(handler: Handler, view: ArrayView) -> frozenset[str]:
    answer: object = handler.shares_with(view)
    names = frozenset(answer if isinstance(answer, Iterable) else [answer])
    if not all(isinstance(name, str) for name in names):
        raise TypeError(repr(answer))
    return names


def _axis_names(handler: Handler, view: ArrayView) -> tuple[str, ...]:
    answer: object = handler().axis_names(view)
    if not isinstance(answer, tuple) or not all(isinstance(name, str) for name in answer):
        raise TypeError(repr(answer))
    if len(set(answer)) < len(answer):  # no array has a dimension twice
        raise ValueError(repr(answer))
    return answer


def _interpretations(
    view: ArrayView, asked: Iterable[Handler], giving_way: Collection[str]
) -> list[Interpretation]:
    """Return the interpretation of an array by each of the handlers, without those that raise an error.

    Conventions that `giving_way` names, and handlers that give way, only add coordinates under names that no earlier
    convention has used. If a coordinate is left out, so is the geotransform: the other ones do not follow from it.
    """
    found: list[Interpretation] = []
    for handler in asked:
        interpretation = _guarded(view, handler, partial(_interpretation, handler))
        if interpretation is None:
            continue
        if handler.gives_way or handler.name in giving_way:
            names = {coordinate.name for other in found for coordinate in other.coordinates}
            kept = tuple(it for it in interpretation.coordinates if it.name not in names)
            if len(kept) < len(interpretation.coordinates):
                interpretation = replace(interpretation, coordinates=kept, geotransform=None)
        found.append(interpretation)
    return found


def _broken_rules(view: ArrayView, rivals: Iterable[Handler]) -> Iterator[Interpretation]:
    """Yield findings about rules of principal conventions that are not used; only a check reports these."""
    for handler in rivals:
        if handler.rules:
            # Only findings are wanted: references of a convention that is not used mark no arrays.
            before, referred = set(view.findings), set(view.referred)
            found = view.try_silently(_guarded, view, handler, partial(_interpretation, handler))
            view.referred = referred
            broken = [
                replace(finding, topic=None)
                for finding in (found or NOTHING).findings
                if finding.rule in handler.rules and finding not in before
            ]
            yield Interpretation(findings=tuple(broken))


def _merged(view: ArrayView, found: Sequence[Interpretation]) -> Interpretation:
    """Merge the interpretations of an array by several conventions: the first CRS, geotransform and value of an attribute are used."""
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


def _stored_arrays_of(found: Interpretation) -> Iterator[Node]:
    """Yield the stored arrays that an interpretation refers to, or reads its coordinates from."""
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
