"""The conventions of an array: which apply, which are asked, and what they say together.

What they said is kept for other arrays of an open that it holds for:

1. An answer holds for arrays with the same dimensions, in groups that say the same and are in groups
   that do, if they have the same attributes, as far as any convention asked for attributes.
2. What a convention looked at besides (`zarr_xgroup.conventions.asked`) limits that to arrays of the
   same group, or to the array itself.
3. What was found wrong, or chosen, is told of each array by itself.
4. An answer that lacks something holds as long as that is lacking.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TypeVar

from zarr_xgroup.conventions import lending
from zarr_xgroup.conventions.array import ArrayView, Models, reach_of
from zarr_xgroup.conventions.asked import Asked, Reach, Texts
from zarr_xgroup.conventions.base import ConventionHandler, failure_of
from zarr_xgroup.conventions.cf_paths import links_of
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import is_only_assumed
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.registry import Handler, Handlers
from zarr_xgroup.errors import retold
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import Tree

T = TypeVar("T")

#: What the conventions say of an array that follows none.
NOTHING = Interpretation()


@dataclass(frozen=True, eq=False)
class Answer:
    """What the conventions say of an array, and for which other arrays that is the same."""

    interpretation: Interpretation
    conventions: Handlers
    #: Whether a principal one among them is declared, and not only assumed.
    is_first_class: bool
    reach: Reach
    #: As `zarr_xgroup.conventions.asked.Asked` has them.
    compared: set[Node]
    missed: set[str]
    #: Whether nothing was lacking; else what was has been taken down.
    is_whole: bool

    def holds_for(self, array: Asked) -> bool:
        """Tell whether it is the same for an array with the same metadata."""
        is_compared = not self.compared.isdisjoint((array.node, array.node.group))
        return not is_compared and self.missed.isdisjoint(array.siblings)


class Panel:
    """The handlers of an open, asked together about one array after the other.

    Those that `detects` have to be asked with zarr objects whether they apply.
    """

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self._giving_crs = _with_own("crs", handlers)
        self.detects = _with_own("detect", handlers)

    def crs_of(self, view: ArrayView) -> Crs | None:
        """Return the CRS that conventions other than `proj` give an array, the first one counts."""
        found = (
            _guarded(view, it, lambda cls: cls.crs(view) if cls.applies(view) else None)
            for it in self._giving_crs
        )
        return next(filter(None, found), None)

    def axis_names(self, view: ArrayView) -> tuple[str, ...]:
        """Return what the conventions call the last axes of an array some of which have no names."""
        for handler in self._handlers:
            # Whether it applies may depend on the names: what it raises is not told.
            names = _guarded(
                view, handler, lambda cls: lending.axis_names_of(cls().axis_names, view)
            )
            if names:
                return names
        return ()

    def detecting(self, view: ArrayView) -> Handlers:
        """Return the handlers that find by themselves that they apply to an array."""

        def applies(handler: Handler) -> bool:
            return is_only_assumed(handler, view) or lending.detected(handler.detect, view)

        return tuple(cls for cls in self.detects if _guarded(view, cls, applies))

    def ask(self, view: ArrayView, detected: Collection[Handler]) -> Answer:
        """Return what handlers that apply to an array say of it, given those that found that they do."""
        before = len(view.tree.lacking)
        active = [cls for cls in self._handlers if self._applies(cls, view, detected)]
        principals, rivals, shared = _principals(view, active)
        besides = (cls for cls in active if cls.tier == "service" or cls.gives_way)
        conventions = tuple(dict.fromkeys((*principals, *besides)))
        found = self._said(view, conventions, shared)
        if principals and not principals[0].follows_names:  # else it has followed all itself
            by_name = any(cls.follows_names for cls in active)
            found.append(Interpretation(links=links_of(view, by_name=by_name)))
        found += _judged(view, rivals)
        is_first_class = not all(is_only_assumed(cls, view) for cls in principals)
        is_whole = len(view.tree.lacking) == before
        # What is lacking may be lacking of a reference that depends on the place.
        reach = reach_of(view) if is_whole else max(reach_of(view), Reach.SAME_GROUP)
        return Answer(
            _merged(view, found),
            conventions,
            is_first_class=is_first_class,
            reach=reach,
            compared=view.asked.compared,
            missed=view.asked.missed,
            is_whole=is_whole,
        )

    def _applies(self, handler: Handler, view: ArrayView, detected: Collection[Handler]) -> bool:
        if handler in self.detects:
            return handler in detected
        return bool(_guarded(view, handler, lambda cls: cls.applies(view)))

    def _said(
        self, view: ArrayView, conventions: Handlers, shared: Collection[str]
    ) -> list[Interpretation]:
        """Return what handlers and those that they imply say, maybe without what was said before."""
        self._tell_of_unknown(view, shared)
        implied = {name for cls in conventions for name in cls.implies}.union(shared)
        implied -= {cls.name for cls in conventions}
        found: list[Interpretation] = []
        for cls in (*conventions, *(cls for cls in self._handlers if cls.name in implied)):
            item = _guarded(view, cls, lambda cls: lending.answer_of(cls().interpret, view))
            if item is not None:
                gives_way = cls.gives_way or cls.name in {*view.assumed, *shared}
                found.append(_giving_way(item, found) if gives_way else item)
        return found

    def _tell_of_unknown(self, view: ArrayView, names: Collection[str]) -> None:
        for name in sorted(set(names).difference(cls.name for cls in self._handlers)):
            message = _(
                "it refers to convention {name!r} for its coordinates, of which no handler is installed"
            )
            view.report(Topic.CHOICE, view.node, message.format(name=name))


class Answers:
    """The answers of one open, by what they follow from."""

    def __init__(self, models: Models) -> None:
        self._own = models.own
        self._around = models.around
        self._answers: dict[Hashable, Answer] = {}
        self._surroundings: dict[Node, int] = {}
        self._numbers: dict[tuple[int, Texts], int] = {}
        self._unused = count()
        self._number_asked = 0

    def begin_round(self) -> None:
        """Forget answers that lacked something: it may be known now."""
        self._answers = {key: it for key, it in self._answers.items() if it.is_whole}

    def get(self, view: ArrayView, detected: Handlers, ask: Callable[[], Answer]) -> Answer:
        """Return the answer that holds for an array, or ask for one, and keep it for those it holds for.

        Parameters
        ----------
        view : ArrayView
            The array.
        detected : tuple of handler
            The conventions that found by themselves that they apply to it.
        ask : callable
            Asks the conventions.
        """
        asked, before = view.asked, self._number_of_names()
        key, group = self._key(view, detected), asked.node.group
        for place in (None, group):
            known = self._answers.get((key, place))
            if known is not None and known.holds_for(asked):
                return known
        answer = ask()
        is_told = answer.is_whole and answer.interpretation.findings
        if answer.reach < Reach.ITSELF and not is_told:
            if self._number_of_names() > before:
                key = self._key(view, detected)
            place = None if answer.reach is Reach.ANYWHERE else group
            self._answers[key, place] = answer
        return answer

    def _number_of_names(self) -> int:
        return len(self._own) + len(self._around)

    def _key(self, view: ArrayView, detected: Handlers) -> Hashable:
        """Return what an answer follows from but for what it was compared with."""
        return (
            self._own.texts_of(view.asked.document.attributes),
            view.dims,
            view.shape,
            tuple(view.names.items()),
            tuple(view.chunks.items()),
            self.surroundings_of(view.asked.node.group, view.tree),
            view.declared,
            view.dimension_references,
            detected,
        )

    def surroundings_of(self, group: Node, tree: Tree) -> int:
        """Return a number for what a group and those it is in say: equal for equal texts.

        It follows from that of the group above: groups nested deep take no longer than others.
        """
        if len(self._around) > self._number_asked:
            self._number_asked = len(self._around)
            self._surroundings.clear()
            self._numbers.clear()
        unknown = []
        number = -1
        for node in chain([group], group.ancestors()):
            if node in self._surroundings:
                number = self._surroundings[node]
                break
            unknown.append(node)
        for node in reversed(unknown):
            document = tree.document(node)
            texts = () if document is None else self._around.texts_of(document.attributes)
            if texts or number >= 0:  # how far up nothing is said makes no difference
                number = self._numbers.setdefault((number, texts), next(self._unused))
            self._surroundings[node] = number
        return number


def _with_own(method: str, handlers: Handlers) -> Handlers:
    """Return the handlers that have a method of their own, and not that of the base class."""
    # A method may be static there.
    having = ((it, next(cls for cls in it.__mro__ if method in cls.__dict__)) for it in handlers)
    return tuple(it for it, cls in having if cls is not ConventionHandler)


def _guarded(view: ArrayView, handler: Handler, call: Callable[[Handler], T]) -> T | None:
    """Return what a handler gives, or None after saying what it raised.

    A plug-in may raise anything; whatever it is, it concerns this array and convention.
    """
    try:
        return call(handler)
    except Exception as error:  # noqa: BLE001
        problem = retold(
            error, failure_of(handler, error)
        )  # what the resolver raised stays what it is
        problem.__cause__ = error
        view.report(
            Topic.PROBLEM,
            view.node,
            problem,
            cost=_("what convention {name!r} gives").format(name=handler.name),
        )
        return None


def _principals(
    view: ArrayView, active: Collection[Handler]
) -> tuple[list[Handler], list[Handler], frozenset[str]]:
    """Return the principal convention that counts, those that do not, and the names of those it shares with.

    What is declared goes before what is assumed.
    """
    principals = [cls for cls in active if cls.tier == "principal"]
    declared = [cls for cls in principals if not is_only_assumed(cls, view)]
    rivals = list(filter(_may_be_alone, declared))
    first = (rivals or declared or principals)[:1]
    shared = _shared_with(view, first)
    rivals = [cls for cls in rivals if cls.name not in shared]
    _tell_of_rivals(view, rivals)
    return first, rivals[1:], shared


def _may_be_alone(cls: Handler) -> bool:
    """Tell whether a convention says what not all may have, or leave to others."""
    return not (cls.follows_names or cls.gives_way)


def _judged(view: ArrayView, rivals: Iterable[Handler]) -> Iterator[Interpretation]:
    """Yield what breaks the rules of principal conventions that do not count: only a check tells it."""

    def asked(cls: Handler) -> Interpretation:
        return lending.answer_of(cls().interpret, view)

    for cls in (it for it in rivals if it.rules):
        before, referred = set(view.findings), set(view.referred)
        found = view.try_silently(_guarded, view, cls, asked) or NOTHING
        view.referred = referred
        wrong = (it for it in found.findings if it.rule in cls.rules and it not in before)
        yield Interpretation(findings=tuple(replace(it, topic=None) for it in wrong))


def _shared_with(view: ArrayView, handlers: Iterable[Handler]) -> frozenset[str]:
    """Return the names of the conventions to which handlers leave a part."""
    told = (
        _guarded(view, cls, lambda it: lending.texts_of(it.shares_with(view))) for cls in handlers
    )
    return frozenset().union(*filter(None, told))


def _tell_of_rivals(view: ArrayView, rivals: Sequence[Handler]) -> None:
    if len(rivals) > 1:
        names = [cls.name for cls in rivals]
        message = _("it declares the principal conventions {names}; {first} was used")
        view.report(Topic.CHOICE, view.node, message.format(names=", ".join(names), first=names[0]))


def _giving_way(item: Interpretation, before: Collection[Interpretation]) -> Interpretation:
    """Return what a convention says without what others, which count more, have said before it."""
    said = {it.name for other in before for it in other.coordinates}
    if said.isdisjoint(it.name for it in item.coordinates):
        return item
    coordinates = tuple(it for it in item.coordinates if it.name not in said)
    return replace(item, coordinates=coordinates, geotransform=None)


def _merged(view: ArrayView, found: Sequence[Interpretation]) -> Interpretation:
    """Return what several conventions say of an array together, the principal one first."""
    if not found and not view.findings:
        return NOTHING
    findings = [*chain.from_iterable([it.findings for it in found]), *view.findings]
    return Interpretation(
        tuple(chain.from_iterable([it.coordinates for it in found])),
        _first([it.crs for it in found]),
        _first([it.geotransform for it in found]),
        dict(chain.from_iterable([it.attributes.items() for it in reversed(found)])),
        findings=tuple(dict.fromkeys(findings)),
        referred=frozenset(view.referred).union(*(it.referred for it in found)),
        links=tuple(chain.from_iterable([it.links for it in found])),
        references=tuple(view.resolver.followed.values()),
        overruled_crs=view.overruled_crs,
    )


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
