"""The handlers of all conventions, asked together about one array."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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

#: What the conventions say of an array that follows none.
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
    #: Whether no other array may share the answer: a handler was asked that does not say what it `reads`.
    is_for_one_array: bool
    #: The names of the conventions that are assumed for the array.
    assumed: frozenset[str]
    #: The describing attributes (`units`, `long_name`, ...) that the asked handlers read: arrays that share the
    #: answer have equal values of these attributes.
    reads: tuple[str, ...]


class HandlerSet:
    """The handlers of an open, asked together about each array.

    Attributes
    ----------
    may_look_anywhere : bool
        Whether some handler decides whether it applies, or names axes, without saying what it `reads`: then no two
        arrays can share an answer.
    arrays : frozenset of str
        The array names that mean something to some handler wherever such an array is.
    """

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self._names = {handler.name for handler in handlers}
        self._with_crs = [handler for handler in handlers if _has_own("crs", handler)]
        self._with_detect = {handler for handler in handlers if _has_own("detect", handler)}
        self.may_look_anywhere = any(
            _own_reads(handler) is None and _has_own(method, handler)
            for handler in handlers
            for method in ("detect", "applies", "axis_names", "marks")
        )
        self.arrays = frozenset(name for handler in handlers for name in handler.arrays)

    def crs_of(self, view: ArrayView) -> Crs | None:
        """Return the CRS that the first convention other than `proj` gives an array, None if none does."""

        def crs(handler: Handler) -> Crs | None:
            return handler.crs(view) if handler.applies(view) else None

        found = (_ask(view, handler, crs) for handler in self._with_crs)
        return next(filter(None, found), None)

    def axis_names(self, view: ArrayView) -> tuple[str, ...]:
        """Return dimension names for the last axes of an array that leaves some unnamed, () if none gives any."""

        def names(handler: Handler) -> tuple[str, ...]:
            return plugin_adapter.checked_axis_names(handler().axis_names, view)

        # The caller discards this view: handlers that need dimension names report their lack to it.
        naming = [handler for handler in self._handlers if _has_own("axis_names", handler)]
        self._assume_marked(view, naming)
        found = (_ask(view, handler, names) for handler in naming)
        return next(filter(None, found), ())

    def ask(self, view: ArrayView) -> Answer:
        """Return what the handlers that apply to an array say of it together.

        One principal convention is asked, with the services and what these imply. Its rivals are reported, and
        asked only for what breaks their own rules.
        """
        self._assume_marked(view, self._handlers)
        active = [handler for handler in self._handlers if self._applies(handler, view)]
        principal, rivals = _principal_and_rivals(active, view)
        shared = frozenset[str]()
        if principal is not None:
            names = _ask(
                view, principal, lambda cls: plugin_adapter.names_in(cls.shares_with(view))
            )
            shared = names or shared
        rivals = [handler for handler in rivals if handler.name not in shared]
        self._report_unasked(view, rivals, shared)

        # Services add to the principal convention, and so do the conventions that are implied or shared with.
        besides = [handler for handler in active if handler.tier == "service" or handler.gives_way]
        first = () if principal is None else (principal,)
        conventions = tuple(dict.fromkeys((*first, *besides)))
        implied = shared.union(*(handler.implies for handler in conventions))
        added = [
            handler
            for handler in self._handlers
            if handler.name in implied and handler not in conventions
        ]
        asked = [*conventions, *added]

        found = _interpretations(view, asked, giving_way={*view.assumed, *shared})
        # A principal convention that `follows_names` has followed those of CF attributes itself.
        if principal is not None and not principal.follows_names:
            by_name = any(handler.follows_names for handler in active)
            found.append(Interpretation(links=links_of(view, by_name=by_name)))
        found += _broken_rules(view, rivals[1:])  # the first of them is the principal one

        whole = _merged(view, found)
        read = [_own_reads(handler) for handler in {*active, *asked}]
        return Answer(
            whole,
            conventions,
            declares_principal=any(
                handler.tier == "principal"
                and (handler in view.declared or not view.follows(handler))
                for handler in active
            ),
            led_to=frozenset(view.resolver.reached).union(stored_arrays_of(whole)),
            is_for_one_array=None in read,
            assumed=frozenset(view.assumed),
            reads=tuple(sorted(set(chain.from_iterable(keys or () for keys in read)))),
        )

    def marks_of(self, view: ArrayView, handlers: Sequence[Handler] = ()) -> dict[str, Marks]:
        """Return the marks of conventions that an array has and neither it nor a group around it declares, by name.

        `handlers` are those of the conventions in question, by default all.
        """
        declared = view.declared_around
        asked = [it for it in handlers or self._handlers if it not in declared]
        marks = {it.name: _ask(view, it, lambda cls: cls.marks(view)) for it in asked}
        return {name: found for name, found in marks.items() if found is not None}

    def _assume_marked(self, view: ArrayView, handlers: Sequence[Handler]) -> None:
        """Replace "auto" among the assumed conventions of an array: by those whose marks it has.

        By none if the array or its group declares a principal convention.
        """
        if AUTO not in view.assumed:
            return
        view.assumed = {*view.assumed} - {AUTO}
        if not any(self._is_declared_principal(handler, view) for handler in self._handlers):
            view.assumed |= self.marks_of(view, handlers).keys()

    def _is_declared_principal(self, handler: Handler, view: ArrayView) -> bool:
        """Return whether a handler is of a principal convention that an array or its group declares."""
        if handler.tier != "principal" or view.only_assumes(handler):
            return False
        return handler in view.declared_for_it or self._applies(handler, view)

    def _report_unasked(
        self, view: ArrayView, rivals: Sequence[Handler], shared: frozenset[str]
    ) -> None:
        """Report declared principal conventions that do not count, and shared ones without a handler."""
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

    def _applies(self, handler: Handler, view: ArrayView) -> bool:
        """Tell whether a handler applies to an array, by its own `detect` with zarr objects if it has one."""

        def applies(cls: Handler) -> bool:
            if cls not in self._with_detect:
                return cls.applies(view)
            return view.only_assumes(cls) or plugin_adapter.applies_by_detect(cls.detect, view)

        return bool(_ask(view, handler, applies))


def _principal_and_rivals(
    active: Iterable[Handler], view: ArrayView
) -> tuple[Handler | None, list[Handler]]:
    """Return the principal convention that counts, or None, and the declared ones that claim all coordinates.

    An array follows one principal convention. A declared one goes before an assumed one, and one that claims
    all coordinates before one that gives way to others; among equals the first in order counts.
    """
    principals = [handler for handler in active if handler.tier == "principal"]
    declared = [handler for handler in principals if not view.only_assumes(handler)]
    rivals = [
        handler for handler in declared if not handler.follows_names and not handler.gives_way
    ]
    return next(iter(rivals or declared or principals), None), rivals


def _has_own(method: str, handler: Handler) -> bool:
    """Tell whether a handler overrides a method of `ConventionHandler`."""
    # Its owner tells, be it an instance, class or static method there.
    owner = next(cls for cls in handler.__mro__ if method in cls.__dict__)
    return owner is not ConventionHandler


def _own_reads(handler: Handler) -> tuple[str, ...] | None:
    """Return the attribute names in `reads` of a handler, None if it has none of its own.

    A base class cannot promise for a derived class, which may read more.
    """
    return handler.__dict__.get("reads")


def _interpretations(
    view: ArrayView, asked: Iterable[Handler], giving_way: Collection[str]
) -> list[Interpretation]:
    """Return what each of the asked handlers says of an array, without those that raise an error.

    Conventions that `giving_way` names, like handlers that say it of themselves, only add coordinates under names
    that no earlier convention has used.
    """
    found: list[Interpretation] = []
    for handler in asked:
        said = _ask(view, handler, lambda cls: _interpretation(cls, view))
        if said is not None:
            gives_way = handler.gives_way or handler.name in giving_way
            found.append(_without_coordinates_of(found, said) if gives_way else said)
    return found


def _interpretation(handler: Handler, view: ArrayView) -> Interpretation:
    """Return what `interpret` of a new instance of a handler says of an array."""
    return plugin_adapter.interpretation_of(handler().interpret, view)


def _ask(view: ArrayView, handler: Handler, question: Callable[[Handler], T]) -> T | None:
    """Return what a question about a handler gives, or report whatever it raises and return None.

    A plug-in may raise anything: the array is then opened without what that convention gives.
    """
    try:
        return question(handler)
    except Exception as error:  # noqa: BLE001
        problem = retold(error, failure_message(handler, error))  # an XGroupError keeps its class
        problem.__cause__ = error
        cost = _("what convention {name!r} gives").format(name=handler.name)
        view.report(Topic.PROBLEM, view.node, problem, cost=cost)
        return None


def _without_coordinates_of(
    others: Collection[Interpretation], said: Interpretation
) -> Interpretation:
    """Return an interpretation without the coordinates whose names interpretations that go before it have.

    If any is left out, so is the geotransform: the coordinates that count do not follow from it.
    """
    names = {coordinate.name for other in others for coordinate in other.coordinates}
    if names.isdisjoint(coordinate.name for coordinate in said.coordinates):
        return said
    kept = tuple(coordinate for coordinate in said.coordinates if coordinate.name not in names)
    return replace(said, coordinates=kept, geotransform=None)


def _broken_rules(view: ArrayView, rivals: Iterable[Handler]) -> Iterator[Interpretation]:
    """Yield findings about rules of principal conventions that do not count; only a check reports these."""
    for handler in rivals:
        if handler.rules:
            # Only findings are wanted: references of a convention that does not count mark no arrays.
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
    """Merge what several conventions say of an array: the first CRS, geotransform and value of an attribute count."""
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


def stored_arrays_of(found: Interpretation) -> Iterator[Node]:
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
