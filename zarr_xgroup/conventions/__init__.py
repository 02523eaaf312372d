"""The conventions: what handlers there are, and what those of an array find."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import deepcopy
from functools import cache, cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

import numpy as np
import xarray as xr
import zarr

from zarr_xgroup.conventions.base import (
    ArrayContext,
    BoundResolver,
    ConventionHandler,
    Coordinate,
    DocumentHandler,
    GridMapping,
)
from zarr_xgroup.conventions.cs import CsHandler, axis_lengths
from zarr_xgroup.conventions.geolocation import GeolocationHandler
from zarr_xgroup.conventions.proj import ProjHandler, crs_of
from zarr_xgroup.conventions.ref import RefHandler
from zarr_xgroup.conventions.spatial import SpatialHandler, geotransform_of, spatial_dimensions
from zarr_xgroup.conventions.uom import UomHandler
from zarr_xgroup.dimensions import Hints
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupPluginWarning,
    warn_user,
)
from zarr_xgroup.i18n import _
from zarr_xgroup.variables import zarr_objects

__all__ = [
    "ENTRY_POINT_GROUP",
    "ConventionHandler",
    "build_handlers",
    "handlers",
    "principal_of",
    "register",
    "resolve",
]

T = TypeVar("T")

ENTRY_POINT_GROUP = "zarr_xgroup.conventions"

Handlers = tuple[type[ConventionHandler], ...]

#: Attributes of arrays that the coordinates depend on, besides those with a prefix.
_SIGNIFICANT = frozenset({"cs", "geolocation"})

#: In the order in which they are asked; of principal conventions the first one counts.
_BUILT_IN: Handlers = (
    CsHandler,
    SpatialHandler,
    GeolocationHandler,
    RefHandler,
    UomHandler,
    ProjHandler,
)

#: Those whose coordinates follow from what `ArrayConventions.signature` has.
_DECIDED_BY_SIGNATURE: frozenset[type[ConventionHandler]] = frozenset(
    {CsHandler, SpatialHandler, GeolocationHandler, ProjHandler, UomHandler}
)
_REGISTERED: list[type[ConventionHandler]] = []


def register(handler: type[ConventionHandler]) -> type[ConventionHandler]:
    """Use a handler in this process, as if it were an installed plug-in.

    Can decorate a class. One that was registered before for the same convention is replaced.

    Raises
    ------
    TypeError
        If it is not a handler, or its convention is built in or handled by a plug-in.
    """
    others = [other for other in _REGISTERED if not _same_convention(handler, other)]
    problem = _why_not(handler, [*_installed(), *others])
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


@cache
def _installed() -> Handlers:
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
        if _same_convention(handler, other):
            return _("{module} handles the same convention already").format(module=other.__module__)
    return None


def _same_convention(handler: object, other: type[ConventionHandler]) -> bool:
    name, uuid = getattr(handler, "name", None), getattr(handler, "uuid", None)
    return name == other.name or (uuid is not None and uuid == other.uuid)


def axis_hints(context: ArrayContext) -> Hints:
    """Return what the conventions of an array whose dimensions have no names say of them."""
    if CsHandler.applies(context):
        return Hints(tuple(axis_lengths(context)))
    return Hints(tuple(spatial_dimensions(context)), in_order=True)


class ArrayConventions:
    """The handlers that apply to one array, and what they find.

    Attributes
    ----------
    context : ArrayContext
        The array; takes down what is wrong.
    principal : ConventionHandler or None
        The handler of its principal convention.
    """

    def __init__(self, context: ArrayContext, available: Handlers) -> None:
        self.context = context
        self._objects: tuple[zarr.Group, zarr.Group, zarr.Array[Any]] | None = None
        active = [
            found for handler in available if (found := self._active_handler(handler)) is not None
        ]
        principals = [handler for handler in active if handler.tier == "principal"]
        self.principal = principals[0] if principals else None
        self._services = [handler for handler in active if handler.tier == "service"]
        if len(principals) > 1:
            message = _("it declares the principal conventions {names}; {first} was used")
            names = ", ".join(handler.name for handler in principals)
            context.note(message.format(names=names, first=principals[0].name))

    @cached_property
    def signature(self) -> Hashable | None:
        """What the array's coordinates depend on besides its group; None if on more than that.

        Two arrays of a group with the same signature have the same coordinates and CRS. What
        `ref` gives depends on which array it is, and so does a group's `geolocation`.
        """
        context, kinds = self.context, [type(handler) for handler in self._active]
        document = context.node.document
        if document is None or not set(kinds) <= _DECIDED_BY_SIGNATURE:
            return None
        if GeolocationHandler in kinds and context.node.attribute("geolocation") is None:
            return None
        attributes = {
            key: value
            for key, value in document["attributes"].items()
            if key in _SIGNIFICANT or key.startswith(("proj:", "spatial:"))
        }
        return (
            tuple(kinds),
            context.dimensions,
            tuple(document["shape"]),
            repr((attributes, context.names, context.chunks)),
        )

    @property
    def _active(self) -> list[ConventionHandler]:
        return ([self.principal] if self.principal else []) + self._services

    def coordinates(self) -> Iterator[Coordinate]:
        """Yield the array's coordinates, those of the principal convention first."""
        for handler in self._active:
            yield from self._guarded(handler, partial(self._of, handler)) or ()

    def attributes(self) -> dict[str, Any]:
        """Return the attributes that the conventions add to the array itself."""
        attributes: dict[str, Any] = {}
        for handler in self._active:
            if isinstance(handler, DocumentHandler):
                given = self._guarded(handler, partial(handler.attributes, self.context))
                attributes = {**(given or {}), **attributes}
        return attributes

    def grid_mapping(self) -> GridMapping | None:
        """Return the array's CRS, for arrays that follow any convention built in."""
        if not any(isinstance(handler, DocumentHandler) for handler in self._active):
            return None
        crs = crs_of(self.context)
        if crs is None:
            return None
        spatial = isinstance(self.principal, SpatialHandler)
        return GridMapping(crs, geotransform_of(self.context) if spatial else None)

    def _zarr_objects(self) -> tuple[zarr.Group, zarr.Group, zarr.Array[Any]]:
        if self._objects is None:
            self._objects = zarr_objects(self.context.node)
        return self._objects

    def _active_handler(self, handler: type[ConventionHandler]) -> ConventionHandler | None:
        def made() -> ConventionHandler | None:
            if issubclass(handler, DocumentHandler):
                return handler() if handler.applies(self.context) else None
            return handler() if handler.detect(*self._zarr_objects()) else None

        return self._guarded(handler, made)

    def _of(self, handler: ConventionHandler) -> list[Coordinate]:
        if isinstance(handler, DocumentHandler):
            return list(handler.coordinates(self.context))
        root, group, array = self._zarr_objects()
        handler.resolver = BoundResolver(self.context)
        variables = handler.get_variables(array, group, root)
        return [_coordinate(name, variable) for name, variable in variables.items()]

    def _guarded(
        self, handler: ConventionHandler | type[ConventionHandler], call: Callable[[], T]
    ) -> T | None:
        """Return what a handler gives, or None after taking down what it raises.

        A plug-in may raise anything; whatever it is, it concerns this array and convention.
        """
        try:
            return call()
        except Exception as error:  # noqa: BLE001
            kind = handler if isinstance(handler, type) else type(handler)
            message = _(
                "the handler of convention {name!r} ({module}) failed: {kind}: {reason}"
            ).format(
                name=kind.name, module=kind.__module__, kind=type(error).__name__, reason=error
            )
            # What the resolver raised stays what it is.
            type_of = type(error) if isinstance(error, XGroupError) else XGroupMetadataError
            problem = type_of(message)
            problem.__cause__ = error
            self.context.problems.append(problem)
            return None


def _coordinate(name: str, variable: xr.Variable) -> Coordinate:
    """Return a plug-in's variable as a coordinate that shares nothing with it."""
    if not isinstance(name, str):
        message = _("the name {name!r} is no string").format(name=name)
        raise TypeError(message)
    if not isinstance(variable, xr.Variable):
        message = _("{name!r} is no xarray.Variable but {kind}").format(
            name=name, kind=type(variable).__name__
        )
        raise TypeError(message)
    in_memory = isinstance(variable._data, np.ndarray)
    own = variable.copy(deep=in_memory)
    own.attrs = deepcopy(dict(variable.attrs))  # a plug-in may give arrays among them
    own.encoding = dict(variable.encoding)
    if "source" in variable.encoding:
        # The name too: a plug-in may give parts of one array different names.
        identity: Any = (name, variable.encoding["source"], variable.dims)
    elif in_memory:
        values = variable.values
        identity = (name, variable.dims, values.shape, str(values.dtype), repr(values.tolist()))
    else:
        identity = (name, variable.dims, id(variable._data))
    return Coordinate(name, own, identity)
