"""The conventions of an array: which apply, which are asked, and what they say together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

from zarr_xgroup.conventions import lending
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.cf_paths import links_of
from zarr_xgroup.conventions.declaring import is_only_assumed
from zarr_xgroup.conventions.model import AxisNames, Interpretation
from zarr_xgroup.conventions.registry import Handler, Handlers
from zarr_xgroup.errors import retold
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.snapshots import LackingError

T = TypeVar("T")

#: What the conventions say of an array that follows none.
NOTHING = Interpretation()


class Panel:
    """The handlers of an open, asked together about one array after the other.

    Parameters
    ----------
    handlers : tuple of handler classes
        Those of all conventions.

    Attributes
    ----------
    detects : tuple of handler classes
        Those that have to be asked with zarr objects whether they apply.
    """

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self.detects = tuple(handler for handler in handlers if _has_own_detect(handler))

    def axis_names(self, view: ArrayView) -> AxisNames:
        """Return what the conventions of an array whose dimensions have no names say of them."""
        for handler in self._handlers:
            # Whether it applies may depend on the names: what it raises is not told.
            names = _guarded(view, handler, lambda cls: lending.axis_names_of(cls(), view))
            if names is not None and names.axes:
                return names
        return AxisNames()

    def detecting(self, view: ArrayView) -> Handlers:
        """Return the handlers that find by themselves that they apply to an array."""

        def applies(handler: Handler) -> bool:
            return is_only_assumed(handler, view) or lending.detected(handler, view)

        return tuple(cls for cls in self.detects if _guarded(view, cls, applies))

    def ask(
        self, view: ArrayView, detected: Collection[Handler]
    ) -> tuple[Interpretation, Handlers, bool]:
        """Return what the handlers that apply to an array say of it.

        Returns
        -------
        interpretation : Interpretation
            What they say.
        conventions : tuple of handler classes
            Those that apply and were asked.
        is_first_class : bool
            Whether a principal one among them is declared, and not only assumed.
        """
        active = [cls for cls in self._handlers if self._applies(cls, view, detected)]
        principals = _principals(view, active)
        conventions = (*principals[:1], *(cls for cls in active if cls.tier == "service"))
        found = self._said(view, conventions)
        if principals and not principals[0].follows_names:  # else it has followed all itself
            by_name = any(cls.follows_names for cls in active)
            found.append(Interpretation(links=links_of(view, by_name=by_name)))
        is_declared = not all(is_only_assumed(cls, view) for cls in principals[:1])
        return _merged(view, found), conventions, is_declared

    def _applies(self, handler: Handler, view: ArrayView, detected: Collection[Handler]) -> bool:
        if handler in self.detects:
            return handler in detected
        return bool(_guarded(view, handler, lambda cls: cls.applies(view)))

    def _said(self, view: ArrayView, conventions: Handlers) -> list[Interpretation]:
        """Return what handlers and those that they imply say, maybe without what was said before."""
        implied = {name for cls in conventions for name in cls.implies}
        implied -= {cls.name for cls in conventions}
        found: list[Interpretation] = []
        for cls in (*conventions, *(cls for cls in self._handlers if cls.name in implied)):
            item = _guarded(view, cls, lambda cls: lending.answer_of(cls(), view))
            if item is not None:
                gives_way = cls.gives_way or cls.name in view.assumed
                found.append(_giving_way(item, found) if gives_way else item)
        return found


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


def _giving_way(item: Interpretation, before: Collection[Interpretation]) -> Interpretation:
    """Return what a convention says without what others, which count more, have said before it."""
    said = {it.name for other in before for it in other.coordinates}
    if said.isdisjoint(it.name for it in item.coordinates):
        return item
    coordinates = tuple(it for it in item.coordinates if it.name not in said)
    return replace(item, coordinates=coordinates, geotransform=None, claims=())


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
        claims=tuple(chain.from_iterable([it.claims for it in found])),
        references=tuple(view.resolver.followed.values()),
    )


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
