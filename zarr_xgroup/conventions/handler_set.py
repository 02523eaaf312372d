"""The combined interpretation of an array by the handlers of all conventions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions import plugin_adapter
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler, Marks, failure_message
from zarr_xgroup.conventions.cf import (
    coordinates_of_other_groups,
    declares_hierarchy,
    links_of,
)
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import CONVENTIONS_KEY
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.registry import AUTO, Handler, Handlers
from zarr_xgroup.errors import XGroupStoreError, with_message
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import JsonObject
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.storage.failures import is_transient, reason_of

T = TypeVar("T")

#: The interpretation of an array that follows no convention.
NOTHING = Interpretation()


class Answer(msgspec.Struct, frozen=True, eq=False):
    """The combined interpretation of an array, and the conditions for sharing it with other arrays."""

    interpretation: Interpretation
    #: The conventions that apply to the array, the principal one first.
    conventions: Handlers
    #: Whether the array itself declares a principal convention, and not only its groups, the root or the user.
    declares_principal: bool
    #: The nodes to which references point, and the arrays from which coordinates are read. They may not share the
    #: answer: for one of them, a reference would point to the array itself.
    referenced: frozenset[Node]
    #: The names of the conventions that are assumed for the array.
    assumed: frozenset[str]
    #: Whether equal arrays may share the answer: all handlers that were asked state the attributes that they read.
    may_be_shared: bool


@lru_cache(maxsize=8)
def handler_set(handlers: Handlers) -> HandlerSet:
    """Return the `HandlerSet` of some handlers, cached."""
    return HandlerSet(handlers)


class HandlerSet:
    """Handlers that interpret arrays together."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self._names = {handler.name for handler in handlers}
        self._with_crs = [handler for handler in handlers if _has_own("crs", handler)]
        self._naming = [handler for handler in handlers if _has_own("axis_names", handler)]
        self._with_applies = {handler for handler in handlers if _has_own("applies", handler)}
        self._with_detect = {handler for handler in handlers if _has_own("detect", handler)}
        # `reads` is not inherited, because a derived class may read more attributes.
        self._unlimited = {handler for handler in handlers if handler.__dict__.get("reads") is None}
        # These methods are called for all arrays, so arrays share no answers if such a handler has no `reads`.
        self._may_look_anywhere = any(
            _has_own(method, handler)
            for handler in self._unlimited
            for method in ("detect", "applies", "axis_names", "marks")
        )
        names = {name for handler in handlers for name in (handler.name, *handler.aliases)}
        described = {attribute.key for handler in handlers for attribute in handler.described}
        stated = {key for handler in handlers for key in handler.reads or ()}
        self._read = names | described | stated | {CONVENTIONS_KEY}
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

        def crs(handler: Handler, view: ArrayView) -> Crs | None:
            return handler.crs(view) if handler.applies(view) else None

        systems = (_guarded(view, handler, partial(crs, handler)) for handler in self._with_crs)
        return next(filter(None, systems), None)

    def axis_names(self, view: ArrayView) -> tuple[str, ...]:
        """Return dimension names for the last axes of an array with unnamed axes, () if no handler knows any."""
        # The caller discards this view, and with it reports of handlers that dimension names are missing.
        self._assume_marked(view, self._naming)
        names = (_guarded(view, handler, partial(_axis_names, handler)) for handler in self._naming)
        return next(filter(None, names), ())

    def interpret(self, view: ArrayView) -> Answer:
        """Return the combined interpretation of an array by all handlers that apply to it.

        These are one principal convention, the services, and the conventions that they imply. Further principal
        conventions (rivals) are reported, and interpret the array only for findings about their own rules.
        """
        self._assume_marked(view, self._handlers)
        active = [handler for handler in self._handlers if self._applies(handler, view)]
        principal, rivals, shared = self._principal(view, active)

        additions = [
            handler for handler in active if handler.tier == "service" or handler.gives_way
        ]
        conventions = tuple(dict.fromkeys((*filter(None, [principal]), *additions)))
        implied_names = shared.union(*(handler.implies for handler in conventions))
        implied = (handler for handler in self._handlers if handler.name in implied_names)
        interpreting = tuple(dict.fromkeys((*conventions, *implied)))

        interpretations = _interpretations(view, interpreting, giving_way={*view.assumed, *shared})
        # A principal convention with `follows_names` resolves the names in CF attributes itself.
        if principal is not None and not principal.follows_names:
            by_name = any(handler.follows_names for handler in active)
            interpretations.append(Interpretation(links=links_of(view, by_name=by_name)))
        follows_names = any(handler.follows_names for handler in interpreting)
        if not follows_names and declares_hierarchy(view.tree, view.node.group):
            interpretations.append(coordinates_of_other_groups(view, interpretations))
        interpretations += _broken_rules(view, rivals)

        merged = _merged(view, interpretations) if interpretations or view.findings else NOTHING
        return Answer(
            *(merged, conventions),
            declares_principal=any(
                handler.tier == "principal"
                and (handler in view.declared or not view.follows(handler))
                for handler in active
            ),
            referenced=frozenset(view.resolver.reached).union(merged.referred),
            assumed=frozenset(view.assumed),
            may_be_shared=not self._may_look_anywhere
            and self._unlimited.isdisjoint((*active, *interpreting)),
        )

    def _applies(self, handler: Handler, view: ArrayView) -> bool:
        """Return whether a handler applies to an array; if it overrides `detect`, that is called with zarr objects."""
        if handler in self._with_detect:
            return bool(_guarded(view, handler, partial(_detects, handler)))
        if handler in self._with_applies:
            return bool(_guarded(view, handler, handler.applies))
        return view.follows(
            handler
        )  # as `ConventionHandler.applies` does, for most handlers and all arrays

    def marks_of(self, view: ArrayView, handlers: Sequence[Handler] = ()) -> dict[str, Marks]:
        """Return the marks of undeclared conventions that an array has, by name.

        These are the conventions of `handlers`, by default all, that neither the array nor a group that contains it
        declares.
        """
        declared = view.declared_around
        undeclared = [handler for handler in handlers or self._handlers if handler not in declared]
        by_name = {handler.name: _guarded(view, handler, handler.marks) for handler in undeclared}
        return {name: marks for name, marks in by_name.items() if marks is not None}

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

    def _principal(
        self, view: ArrayView, active: Iterable[Handler]
    ) -> tuple[Handler | None, list[Handler], frozenset[str]]:
        """Return the principal convention of an array (or None), its rivals, and the names of those it shares with.

        Declared conventions have priority over assumed ones, and conventions that claim all coordinates over those
        that give way. Among equals, the first in order is used. Rivals are the other declared conventions that claim
        all coordinates; they are reported.
        """
        principals = [handler for handler in active if handler.tier == "principal"]
        declared = [handler for handler in principals if not view.only_assumes(handler)]
        claiming = [
            handler for handler in declared if not (handler.follows_names or handler.gives_way)
        ]
        principal = next(iter(claiming or declared or principals), None)
        if principal is None:
            return None, [], frozenset()
        shared = _guarded(view, principal, partial(_shared_names, principal)) or frozenset()
        claiming = [handler for handler in claiming if handler.name not in shared]
        if len(claiming) > 1:
            text = _("declares the principal conventions {names}; {first} is used").format(
                names=", ".join(handler.name for handler in claiming), first=claiming[0].name
            )
            view.report(Topic.CHOICE, view.node, text)
        for name in sorted(shared - self._names):
            text = _(
                "refers to convention {name!r} for its coordinates, but no handler is installed for it"
            )
            view.report(Topic.CHOICE, view.node, text.format(name=name))
        return principal, claiming[1:], shared


def _has_own(method: str, handler: Handler) -> bool:
    """Return whether a handler overrides a method of `ConventionHandler`."""
    owner = next(cls for cls in handler.__mro__ if method in cls.__dict__)
    return owner is not ConventionHandler


def _guarded(view: ArrayView, handler: Handler, method: Callable[[ArrayView], T]) -> T | None:
    """Return the result of a handler's method for an array, or report any exception and return None.

    A plug-in may raise anything. The array is then opened without the coordinates of that convention, unless a store
    could not be read: then XGroupStoreError is raised.
    """
    try:
        return method(view)
    except Exception as error:
        if is_transient(error):
            text = _("{node} cannot be interpreted: {reason}")
            raise XGroupStoreError(text.format(node=view.node, reason=reason_of(error))) from error
        problem = with_message(
            error, failure_message(handler, error)
        )  # an XGroupError keeps its class
        problem.__cause__ = error
        cost = _("the parts defined by convention {name!r}").format(name=handler.name)
        view.report(Topic.PROBLEM, view.node, problem, cost=cost)
        return None


# Calls of a handler's methods. A plug-in may return a value of a wrong type.


def _detects(handler: Handler, view: ArrayView) -> bool:
    return view.only_assumes(handler) or bool(handler.detect(*view.factory.zarr_objects(view.node)))


def _interpretation(handler: Handler, view: ArrayView) -> Interpretation:
    return plugin_adapter.interpretation_of(handler().interpret, view)


def _shared_names(handler: Handler, view: ArrayView) -> frozenset[str]:
    result: object = handler.shares_with(view)
    names = frozenset(result if isinstance(result, Iterable) else [result])
    if not all(isinstance(name, str) for name in names):
        raise TypeError(repr(result))
    return names


def _axis_names(handler: Handler, view: ArrayView) -> tuple[str, ...]:
    names: object = handler().axis_names(view)
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(repr(names))
    if len(set(names)) < len(names):  # the dimensions of an array are distinct
        raise ValueError(repr(names))
    return names


def _interpretations(
    view: ArrayView, handlers: Iterable[Handler], giving_way: Collection[str]
) -> list[Interpretation]:
    """Return the interpretation of an array by each handler that does not raise an error.

    Conventions in `giving_way`, and handlers that give way, only add coordinates whose names no earlier convention
    has used. If a coordinate is left out, the geotransform is left out, too.
    """
    interpretations: list[Interpretation] = []
    for handler in handlers:
        interpretation = _guarded(view, handler, partial(_interpretation, handler))
        if interpretation is None:
            continue
        if handler.gives_way or handler.name in giving_way:
            earlier = chain.from_iterable(other.coordinates for other in interpretations)
            names = {coordinate.name for coordinate in earlier}
            coordinates = interpretation.coordinates
            kept = tuple(coordinate for coordinate in coordinates if coordinate.name not in names)
            if len(kept) < len(coordinates):
                interpretation = replace(interpretation, coordinates=kept, geotransform=None)
        interpretations.append(interpretation)
    return interpretations


def _broken_rules(view: ArrayView, rivals: Iterable[Handler]) -> Iterator[Interpretation]:
    """Yield the findings about the rules of unused principal conventions, which only a check reports."""
    for handler in rivals:
        if handler.rules:
            # Only findings are used; arrays that an unused convention refers to are not recorded.
            before, referred = set(view.findings), set(view.referred)
            unused = view.try_silently(_guarded, view, handler, partial(_interpretation, handler))
            view.referred = referred
            broken = [
                replace(finding, topic=None)
                for finding in (unused or NOTHING).findings
                if finding.rule in handler.rules and finding not in before
            ]
            yield Interpretation(findings=tuple(broken))


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
