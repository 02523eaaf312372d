"""The conventions: what handlers there are, and which of them an array follows."""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.errors import XGroupPluginWarning, warn_user
from zarr_xgroup.i18n import _

__all__ = ["ENTRY_POINT_GROUP", "ConventionHandler", "build_handlers", "handlers"]

ENTRY_POINT_GROUP = "zarr_xgroup.conventions"

Handlers = tuple[type[ConventionHandler], ...]

_BUILT_IN: Handlers = ()


@cache
def handlers() -> Handlers:
    """Return all handlers: those built in, then those of installed plug-ins."""
    found, warnings = build_handlers(_BUILT_IN, entry_points(group=ENTRY_POINT_GROUP))
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


def _why_not(handler: object, known: Iterable[type[ConventionHandler]]) -> str | None:
    if not (isinstance(handler, type) and issubclass(handler, ConventionHandler)):
        return _("it is not a subclass of zarr_xgroup.conventions.ConventionHandler")
    if getattr(handler, "tier", None) not in ("principal", "service"):
        return _("its 'tier' is neither 'principal' nor 'service'")
    if not isinstance(getattr(handler, "name", None), str):
        return _("it has no 'name'")
    for other in known:
        if handler.name == other.name or (handler.uuid and handler.uuid == other.uuid):
            return _("{module} handles the same convention already").format(module=other.__module__)
    return None
