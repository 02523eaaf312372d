"""The registry of handlers: built-in handlers, those of installed plug-ins, and registered handlers.

A new built-in convention needs its line in `BUILT_IN`, its name, tier and identity in the tests of handlers, and its rows in
``docs/reference/conventions.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, TypeAlias

from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.base import ConventionHandler, gives_coordinates
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.coords import CoordsHandler
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.declaring import ATTRIBUTE as DECLARATIONS
from zarr_xgroup.conventions.declaring import (
    CONVENTIONS_KEY,
    IDENTIFIERS,
    declared_by,
    declared_name,
    is_known_without_coordinates,
    lower_case_names,
    matches,
)
from zarr_xgroup.conventions.dggs import DggsHandler
from zarr_xgroup.conventions.dialects.gcp import GcpHandler
from zarr_xgroup.conventions.dialects.geozarr import GeoZarrHandler
from zarr_xgroup.conventions.dialects.stac import StacProjHandler
from zarr_xgroup.conventions.geolocation import GeolocationHandler
from zarr_xgroup.conventions.multiscales import Multiscales
from zarr_xgroup.conventions.ref import RefHandler
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.uom import UomHandler
from zarr_xgroup.errors import Rule, XGroupPluginWarning, warn_user
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.redaction import redact

#: The number of characters of a name, identifier or URL that messages show.
_SHOWN = 40

#: The entry point group of plug-ins.
ENTRY_POINT_GROUP = "zarr_xgroup.conventions"

Handler: TypeAlias = type[ConventionHandler]
Handlers: TypeAlias = tuple[Handler, ...]

#: The built-in handlers, in the order in which those of equal priority are asked.
BUILT_IN: Handlers = (
    CsHandler,
    CoordsHandler,
    SpatialHandler,
    GeolocationHandler,
    RefHandler,
    UomHandler,
    StacProjHandler,
    GeoZarrHandler,
    CfHandler,
    DggsHandler,
    GcpHandler,
)


class Nz(ConventionHandler):
    """NZ-1.0: features of netCDF in Zarr; it defines no coordinates.

    Source: NZ-1.0 convention (zarr-conventions/nz).
    """

    tier = "service"
    name = "NZ-1.0"
    uuid: ClassVar[str | None] = "d0a980b5-c644-4dcc-85a1-283799a58f40"
    identifiers = ("zarr-conventions/nz",)


#: Conventions that can be declared but define no coordinates: they describe the layout of groups or stores.
WITHOUT_COORDINATES: Handlers = (Multiscales, Nz)

#: The handlers registered in this process.
_REGISTERED: list[Handler] = []


def register(handler: Handler) -> Handler:
    """Use a handler in this process, as if it were an installed plug-in.

    Can be used as a class decorator. A handler that was registered earlier for the same convention is replaced, so
    that a notebook cell can be run again.

    Raises
    ------
    TypeError
        If the class is not a handler, or a built-in handler or a plug-in already handles its convention.
    """
    others = [other for other in _REGISTERED if not _handles_same_convention(handler, other)]
    problem = _why_unusable(handler, _installed())
    if problem is not None:
        message = _("{handler!r} cannot be registered: {problem}").format(
            handler=handler, problem=problem
        )
        raise TypeError(message)
    _REGISTERED[:] = [*others, handler]
    return handler


def handlers() -> Handlers:
    """Return all handlers in order of priority: built-in handlers, those of plug-ins, and registered handlers."""
    return (*_installed(), *_REGISTERED)


#: The value of `assume_conventions` by which each array is assumed to follow the conventions whose marks it has.
AUTO = "auto"


def named_conventions(names: object) -> frozenset[str]:
    """Return the names of the conventions in the option `assume_conventions`, in the spelling of their handlers.

    Parameters
    ----------
    names : str, iterable of str or None
        Names in any case, with or without a trailing colon; ``"auto"`` is returned unchanged.

    Raises
    ------
    TypeError
        If `names` is neither a string nor an iterable of strings.
    ValueError
        If no handler has one of the names; the error lists the known names.
    """
    if names is None:
        return frozenset()
    texts: list[Any] = (
        list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    )
    if not all(isinstance(text, str) for text in texts):
        message = _(
            "assume_conventions must be the name of a convention or several names, got {value!r}"
        )
        raise TypeError(message.format(value=names))
    known = {name: cls.name for cls in handlers() for name in lower_case_names(cls)} | {AUTO: AUTO}
    requested = {text: known.get(text.strip().rstrip(":").lower()) for text in texts}
    if unknown := [text for text, name in requested.items() if name is None]:
        message = _("assume_conventions: unknown convention {names}; known conventions are {known}")
        text = message.format(
            names=", ".join(map(repr, unknown)),
            known=", ".join([*sorted({*known.values()} - {AUTO}), AUTO]),
        )
        if Multiscales.name in unknown:  # a convention, but no array follows it
            text += _(
                ". multiscales only describes how levels are derived from each other; "
                "to use it, assume 'spatial' or 'geozarr'"
            )
        raise ValueError(text)
    return frozenset(name for name in requested.values() if name is not None)


def declarable() -> Handlers:
    """Return all handlers, and the conventions that can be declared but define no coordinates."""
    return (*handlers(), *WITHOUT_COORDINATES)


def convention_meant_by(declaration: Mapping[str, Any]) -> Handler | None:
    """Return the convention that a declaration means, by its name, its identifiers or one of its URLs, or None."""
    urls = ({key: declaration[key]} for key in IDENTIFIERS[1:] if key in declaration)
    for candidate in ({"name": declaration.get("name")}, declaration, *urls):
        for convention in declarable():
            if matches(convention, candidate):
                return convention
    return None


def in_handler_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names of conventions, in the order of priority of their handlers."""
    named = frozenset(names)
    return tuple(cls.name for cls in handlers() if cls.name in named)


def declared_principal(attributes: Mapping[str, Any]) -> Handler | None:
    """Return the handler of the first principal convention that a node's attributes declare, or None."""
    declared = declared_by(attributes)
    principals = (cls for cls in handlers() if cls.tier == "principal")
    return next((cls for cls in principals if cls in declared), None)


def why_not_declared(attributes: Mapping[str, Any]) -> str:
    """Return why ``zarr_conventions`` of a node declares no principal convention, or "" if there is no reason to report.

    The first of these reasons is returned: the identifier does not belong to the convention that is meant, an item is
    malformed, a convention has no handler.
    """
    written = attributes.get(CONVENTIONS_KEY)
    if written is None:
        return ""
    items, findings = DECLARATIONS.read(Fragment(Node(0, ""), (CONVENTIONS_KEY,), written))
    without_handler = []
    for item in items or ():
        texts = {key: getattr(item, key) for key in (*IDENTIFIERS, "name")}
        declared = {key: text for key, text in texts.items() if text}
        meant = convention_meant_by(declared)
        if meant is not None and item.identity and not matches(meant, declared):
            key, value = item.identity
            repositories = (it for it in meant.identifiers or () if "/" in it)
            expected = ", ".join(repositories) if key != "uuid" else meant.uuid
            return _("{name!r} is declared with {key} {value!r}, not with {expected}").format(
                name=declared_name({"name": item.name or meant.name}),
                key=key,
                value=redact(value)[:_SHOWN],
                expected=expected or _("its name alone"),
            )
        if declared and meant is None and not is_known_without_coordinates(declared):
            message = _("no handler is installed for the declared convention {name!r}")
            name = redact(declared_name(declared))[:_SHOWN]
            without_handler.append(message.format(name=name))
    malformed = [f"{'/'.join(finding.place.keys)}: {finding.text}" for finding in findings]
    return next(iter((*malformed, *without_handler)), "")


@cache
def _installed() -> Handlers:
    """Return the built-in handlers and those of installed plug-ins; warn once about unusable plug-ins."""
    usable, warnings = build_handlers(BUILT_IN, entry_points(group=ENTRY_POINT_GROUP))
    for warning in warnings:
        warn_user(warning)
    return usable


def build_handlers(
    built_in: Handlers, plugins: Iterable[EntryPoint]
) -> tuple[Handlers, list[XGroupPluginWarning]]:
    """Return the built-in handlers followed by those of plug-ins, sorted by name, and warnings about plug-ins.

    A plug-in is left out with a warning if it cannot be imported, if it is not a handler, or if its convention
    already has a handler.
    """
    usable = list(built_in)
    warnings = []
    problem: str | None
    for plugin in sorted(plugins, key=lambda plugin: (plugin.name, plugin.value)):
        try:
            handler = plugin.load()
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything on import
            handler, problem = None, f"{type(error).__name__}: {error}"
        else:
            problem = _why_unusable(handler, usable)
        if problem:
            message = _("Convention plug-in {name} ({value}) is not used: {problem}").format(
                name=plugin.name, value=plugin.value, problem=problem
            )
            warnings.append(XGroupPluginWarning(message))
        else:
            usable.append(handler)
    return tuple(usable), warnings


def _why_unusable(handler: object, known: Iterable[Handler]) -> str | None:
    """Return why an object cannot be used as a handler in addition to known ones, or None if it can be used."""
    if not (isinstance(handler, type) and issubclass(handler, ConventionHandler)):
        return _("it is not a subclass of zarr_xgroup.conventions.ConventionHandler")
    if getattr(handler, "tier", None) not in ("principal", "service"):
        return _("its 'tier' is neither 'principal' nor 'service'")
    if not isinstance(getattr(handler, "name", None), str):
        return _("it has no 'name'")
    if not isinstance(handler.priority, int):
        return _("its 'priority' is not an integer")
    for key, kind in _TUPLE_ITEMS.items():
        items = getattr(handler, key)
        if not (isinstance(items, tuple | list) and all(isinstance(item, kind) for item in items)):
            return _("its {key!r} is not a tuple of {kind}").format(key=key, kind=kind.__name__)
    for other in known:
        if _handles_same_convention(handler, other):
            return _("{module} already handles the same convention").format(module=other.__module__)
    if not gives_coordinates(handler):
        return _("it has neither 'interpret' nor 'get_variables'")
    return None


#: The attributes of a handler that must be tuples (or lists), and the type of their items.
_TUPLE_ITEMS: Mapping[str, type] = {
    "identifiers": str,
    "described": Attribute,
    "rules": Rule,
}


def _handles_same_convention(handler: object, other: Handler) -> bool:
    """Return whether two handlers have the same uuid, or the name of one is a name or alias of the other."""
    name, uuid = getattr(handler, "name", None), getattr(handler, "uuid", None)
    has_same_name = isinstance(name, str) and name.lower() in lower_case_names(other)
    has_same_uuid = isinstance(uuid, str) and uuid.lower() == (other.uuid or "").lower()
    return has_same_name or has_same_uuid
