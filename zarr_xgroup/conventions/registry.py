"""The handlers there are: those built in, of installed plug-ins, and registered ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from typing import Any, ClassVar, TypeAlias

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.base import (
    ConventionHandler,
    Surroundings,
    failure_of,
    gives_coordinates,
)
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.coords import CoordsHandler
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.declaring import ATTRIBUTE as DECLARATIONS
from zarr_xgroup.conventions.declaring import (
    Declaration,
    is_declared,
    is_of_other_things,
    matches,
    names_of,
)
from zarr_xgroup.conventions.descriptions import Attribute
from zarr_xgroup.conventions.dggs import DggsHandler
from zarr_xgroup.conventions.dialects.gcp import GcpHandler
from zarr_xgroup.conventions.dialects.geozarr import GeoZarrHandler
from zarr_xgroup.conventions.dialects.stac import StacProjHandler
from zarr_xgroup.conventions.geolocation import GeolocationHandler
from zarr_xgroup.conventions.layout import Multiscales
from zarr_xgroup.conventions.ref import RefHandler
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.uom import UomHandler
from zarr_xgroup.errors import Rule, XGroupPluginWarning, warn_user
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.redaction import redact

#: How much of another declaration messages show.
_SHOWN = 40

ENTRY_POINT_GROUP = "zarr_xgroup.conventions"

Handler: TypeAlias = type[ConventionHandler]
Handlers: TypeAlias = tuple[Handler, ...]

#: In the order in which they are asked; of principal conventions the first one counts.
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
    """NZ-1.0: what netCDF has beside arrays, in Zarr; it says nothing of coordinates.

    Source: NZ-1.0 convention (zarr-conventions/nz).
    """

    tier = "service"
    name = "NZ-1.0"
    uuid: ClassVar[str | None] = "d0a980b5-c644-4dcc-85a1-283799a58f40"
    repositories = ("zarr-conventions/nz",)
    named_by_root = re.compile(r"nz-1\.0")


#: Those that no array is asked about: of layouts, and of the structure of a store.
OTHERS: Handlers = (Multiscales, Nz)

_REGISTERED: list[Handler] = []


def register(handler: Handler) -> Handler:
    """Use a handler in this process, as if it were an installed plug-in.

    Can decorate a class. One that was registered before for the same convention is replaced.

    Raises
    ------
    TypeError
        If it is not a handler, or its convention is built in or handled by a plug-in.
    """
    others = [other for other in _REGISTERED if not _same_convention(handler, other)]
    problem = _why_not(handler, _installed())
    if problem is not None:
        message = _("{handler!r} cannot be registered: {problem}").format(
            handler=handler, problem=problem
        )
        raise TypeError(message)
    _REGISTERED[:] = [*others, handler]
    return handler


def handlers() -> Handlers:
    """Return all handlers: those built in, of installed plug-ins, and registered ones."""
    return (*_installed(), *_REGISTERED)


#: The name in `assume_conventions` of those whose marks the store has.
AUTO = "auto"


def named_conventions(names: object) -> frozenset[str]:
    """Return the conventions that `assume_conventions` names, as their handlers call them.

    Parameters
    ----------
    names : str, iterable of str or None
        Names in any case, with or without a trailing colon; ``"auto"`` stays what it is.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If there is no convention of a name; the error lists those there are.
    """
    known = {name: it.name for it in handlers() for name in names_of(it)} | {AUTO: AUTO}
    wanted = {name: known.get(name.strip().rstrip(":").lower()) for name in _texts(names)}
    if unknown := [name for name, found in wanted.items() if found is None]:
        message = _("assume_conventions: there is no convention {names}; there are {known}")
        text = message.format(
            names=", ".join(map(repr, unknown)),
            known=", ".join([*sorted({*known.values()} - {AUTO}), AUTO]),
        )
        if Multiscales.name in unknown:
            text += _(
                ". multiscales says how levels follow from one another; it is read wherever a "
                "transform is understood: assume 'spatial' or 'geozarr'"
            )
        raise ValueError(text)
    return frozenset(name for name in wanted.values() if name is not None)


def _texts(names: object) -> list[str]:
    """Return a text or several as a list, or raise TypeError."""
    found = [names] if isinstance(names, str) else names
    if found is None:
        return []
    if isinstance(found, Iterable):
        texts = list(found)
        if all(isinstance(text, str) for text in texts):
            return texts
    message = _("assume_conventions must be a name or several, got {value!r}")
    raise TypeError(message.format(value=names))


def declarable() -> Handlers:
    """Return all conventions that stores can declare: those of handlers, and those that give no coordinates."""
    return (*handlers(), *OTHERS)


def seemingly_meant(
    places: Collection[Mapping[str, Any]],
    above: Collection[Mapping[str, Any]],
    around: Surroundings,
    *,
    has_crs: bool,
) -> tuple[list[str], str]:
    """Return the conventions whose marks an array has of what it lacks, and that nobody declares.

    And how a handler failed to tell, "" if none did.

    Parameters
    ----------
    places, above : collection of mapping
        The attributes of the array, of its group, and of what describes its grid; those of all groups it is in.
    around : Surroundings
        What is around the array, which lacks coordinates along the dimensions that are bare.
    has_crs : bool
        Whether the array has a CRS.
    """
    names, failure = [], ""
    declaring = [attributes for attributes in (*places, *above) if CONVENTIONS_KEY in attributes]
    for it in handlers():
        try:
            if any(is_declared(it, attributes) for attributes in declaring):
                continue
            gives_coordinates = around.bare and any(
                it.seems_meant(attributes, around) for attributes in places
            )
            if gives_coordinates or (
                not has_crs
                and any(it.seems_to_say_crs(attributes, around) for attributes in places)
            ):
                names.append(it.name)
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
            failure = failure_of(it, error)
    return names, failure


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of conventions once, in the order in which these are asked."""
    named = frozenset(names)
    return tuple(it.name for it in handlers() if it.name in named)


def declared_principal(attributes: Mapping[str, Any]) -> Handler | None:
    """Return the principal convention that attributes of a node declare, or None."""
    principals = (it for it in handlers() if it.tier == "principal")
    return next((it for it in principals if is_declared(it, attributes)), None)


def why_not_declared(attributes: Mapping[str, Any]) -> str:
    """Return why attributes do not declare a principal convention, if they name one that is one or may be, or ""."""
    written = attributes.get(CONVENTIONS_KEY)
    if written is None:
        return ""
    found, wrong = DECLARATIONS.read(Fragment(Node(0, ""), (CONVENTIONS_KEY,), written))
    reasons = map(_why_no_declaration, found)
    forms = (f"{'/'.join(it.place.keys)}: {it.text}" for it in wrong)
    return next(filter(None, chain(reasons, forms, map(_without_handler, found))), "")


def _why_no_declaration(item: Declaration) -> str:
    """Return why an item of ``zarr_conventions`` is none of the principal conventions, if it names one."""
    name, given = item.name.strip().rstrip(":"), item.identity
    principals = (it for it in handlers() if it.tier == "principal")
    handler = next((it for it in principals if it.name.lower() == name.lower()), None)
    if handler is None or given is None or matches(handler, dict([given])):
        return ""
    key, value = given
    right = ", ".join(handler.repositories) if item.uuid is None else handler.uuid
    return _("{name!r} is declared with {key} {value!r}, not with {right}").format(
        name=name, key=key, value=redact(value)[:_SHOWN], right=right
    )


def _without_handler(item: Declaration) -> str:
    """Return that there is no handler for what an item names, if it is a convention that is not known."""
    name = item.name.strip().rstrip(":")
    declared = {"name": name, **({} if item.identity is None else dict([item.identity]))}
    is_known = any(matches(it, declared) for it in declarable())
    if not name or is_known or is_of_other_things(declared):
        return ""
    text = _("{name!r} is declared, for which no handler is installed")
    return text.format(name=redact(name)[:_SHOWN])


@cache
def _installed() -> Handlers:
    found, warnings = build_handlers(BUILT_IN, entry_points(group=ENTRY_POINT_GROUP))
    for warning in warnings:
        warn_user(warning)
    return found


def build_handlers(
    built_in: Handlers, plugins: Iterable[EntryPoint]
) -> tuple[Handlers, list[XGroupPluginWarning]]:
    """Return the built-in handlers followed by those of the plug-ins, sorted by name.

    A plug-in that cannot be imported, that is not a handler, or whose convention has a
    handler already is left out, with a warning.
    """
    found = list(built_in)
    warnings = []
    problem: str | None
    for plugin in sorted(plugins, key=lambda plugin: (plugin.name, plugin.value)):
        try:
            handler = plugin.load()
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything on import
            handler, problem = None, f"{type(error).__name__}: {error}"
        else:
            problem = _why_not(handler, found)
        if problem:
            message = _("Convention plug-in {name} ({value}) is not used: {problem}").format(
                name=plugin.name, value=plugin.value, problem=problem
            )
            warnings.append(XGroupPluginWarning(message))
        else:
            found.append(handler)
    return tuple(found), warnings


def _why_not(handler: object, known: Iterable[Handler]) -> str | None:
    """Return why a class cannot be used as a handler, or None if it can be."""
    if not (isinstance(handler, type) and issubclass(handler, ConventionHandler)):
        return _("it is not a subclass of zarr_xgroup.conventions.ConventionHandler")
    if getattr(handler, "tier", None) not in ("principal", "service"):
        return _("its 'tier' is neither 'principal' nor 'service'")
    if not isinstance(getattr(handler, "name", None), str):
        return _("it has no 'name'")
    for key, kind in _LISTED.items():
        items = getattr(handler, key)
        if not (isinstance(items, tuple | list) and all(isinstance(it, kind) for it in items)):
            return _("its {key!r} is no tuple of {kind}").format(key=key, kind=kind.__name__)
    for other in known:
        if _same_convention(handler, other):
            return _("{module} handles the same convention already").format(module=other.__module__)
    if not gives_coordinates(handler):
        return _("it has neither 'interpret' nor 'get_variables'")
    return None


#: What a class says in tuples, and of what.
_LISTED: Mapping[str, type] = {
    **dict.fromkeys(("aliases", "other_uuids", "repositories", "implies"), str),
    "described": Attribute,
    "rules": Rule,
}


def _same_convention(handler: object, other: Handler) -> bool:
    name, uuid = getattr(handler, "name", None), getattr(handler, "uuid", None)
    is_called_so = isinstance(name, str) and name.lower() in names_of(other)
    is_identified_so = isinstance(uuid, str) and uuid.lower() == (other.uuid or "").lower()
    return is_called_so or is_identified_so
