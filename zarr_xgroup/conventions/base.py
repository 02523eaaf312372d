"""The base class of all convention handlers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from zarr_xgroup.conventions import plugin_adapter
from zarr_xgroup.conventions.array import ArrayView, NodeView
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import Convention
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.errors import Rule, XGroupError
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _

if TYPE_CHECKING:
    import xarray as xr
    import zarr

__all__ = ["ConventionHandler", "Marks", "failure_message", "gives_coordinates"]


class Marks(msgspec.Struct, frozen=True):
    """The coordinates and CRS that an undeclared convention seems to define for an array.

    Attributes
    ----------
    dims : tuple of str
        The dimensions of the array that get coordinates if the convention is assumed.
    has_crs : bool
        Whether the array gets a CRS if the convention is assumed.
    """

    dims: tuple[str, ...] = ()
    has_crs: bool = False


class ConventionHandler(Convention):
    """Base class of all convention handlers, built-in and third-party.

    A handler returns the coordinates that its convention declares for an array. It implements `interpret` or, as in the
    specification, `get_variables`; by default, each calls the other. Opening then merges the coordinates of all arrays of
    the group, makes names unique, and warns.

    Attributes
    ----------
    tier : {"principal", "service"}
        Handlers of principal conventions are asked before those of services. If several give a coordinate of the same
        name and dimensions, the first one is used, and opening warns if both conventions are declared.
    priority : int
        The order among handlers of the same tier, the lowest first; handlers of equal priority are asked in the order
        in which they are installed.
    name : str
        The name by which arrays declare the convention, without a trailing colon.
    uuid : str or None
        The identifier of the convention in declarations.
    identifiers : tuple of str or None
        Further identifiers of the convention: ``owner/repository`` of the URLs `schema_url` and `spec_url` in
        declarations, other or earlier names, and other uuids. None if stores cannot declare the convention: users can
        only assume it (``assume_conventions``).
    described : tuple of Attribute
        Descriptions of the attributes that the handler reads: `zarr_xgroup.check` reports mistakes in them.
    rules : tuple of Rule
        The rules that the documents of the convention define.
    reads : tuple of str or None
        Further attributes of the array that the handler reads. Attributes with the name of the convention or its
        prefix, those in `described`, and those with a JSON object always count as read. A handler with `reads`, even
        if empty, is called once for all arrays of a group that are equal in these attributes, in dimensions, and in
        the rest of their metadata, and for equal groups. If None, or if `interpret` sets `depends_on_name` of the
        array, it is called for each array.
    resolver : BoundResolver
        Resolves references and makes lazy variables, for `get_variables`. It is bound during an open call; elsewhere,
        set it to `BoundResolver.of(array, root)`.
    """

    tier: ClassVar[Literal["principal", "service"]]
    priority: ClassVar[int] = 0
    described: ClassVar[tuple[Attribute, ...]] = ()
    rules: ClassVar[tuple[Rule, ...]] = ()
    reads: ClassVar[tuple[str, ...] | None] = None
    resolver: plugin_adapter.BoundResolver

    @classmethod
    def detect(cls, root: zarr.Group, group: zarr.Group, array: zarr.Array[Any]) -> bool:
        """Return whether this convention applies to an array; by default the result of `applies`.

        Parameters
        ----------
        root : zarr.Group
            The root group of the store.
        group : zarr.Group
            The group that contains the array.
        array : zarr.Array
            The array.
        """
        return plugin_adapter.run_on_zarr(cls.applies, array, root)

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Return whether this convention applies to an array.

        By default it does if the array or its group declares it, or the user assumes it. Not called for a class that
        overrides `detect`.
        """
        return array.follows(cls)

    @classmethod
    def marks(cls, array: ArrayView) -> Marks | None:
        """Return the coordinates and CRS that attributes seem to define by this convention, although it is not declared.

        With ``assume_conventions="auto"``, the convention is assumed for arrays with its marks. Otherwise, a warning about
        missing coordinates or CRSs recommends it.

        By default, an attribute of the array, or of a group that contains it, is a mark if it has the name of the
        convention as its prefix, or is a JSON object of this name. On the array or its group, it marks all dimensions.

        Parameters
        ----------
        array : ArrayView
            The array.

        Returns
        -------
        Marks or None
            None if the array does not have the marks.
        """
        near, anywhere = array.marking_names
        if not near.isdisjoint(cls.names()):
            return Marks(array.dims)
        return None if anywhere.isdisjoint(cls.names()) else Marks()

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield the names of the attributes that belong only to this convention.

        ``convention_attrs="drop"`` removes them. By default, these are the attribute named like the convention, and
        those with its name and a colon as prefix.

        Parameters
        ----------
        attributes : mapping
            The attributes of an array or a group that follows the convention.
        """
        prefixes = tuple(f"{name}:" for name in cls.names())
        return (key for key in attributes if key == cls.name or key.startswith(prefixes))

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates, CRS, attributes and findings that the convention gives an array.

        By default, the coordinates are the variables that `get_variables` returns.

        Parameters
        ----------
        array : ArrayView
            The array, for which `applies` or `detect` returned True. Report mistakes in its metadata with its method
            `report`.
        """
        self.resolver = plugin_adapter.BoundResolver(lambda question: question(array))
        return plugin_adapter.interpretation_from_variables(self.get_variables, array)

    @classmethod
    def check(cls, subject: NodeView) -> Iterable[Finding]:
        """Return problems in the metadata of a node that its producer should fix, for `zarr_xgroup.check`.

        By default none. Called for every group and array, whether or not it declares the convention.

        Parameters
        ----------
        subject : NodeView
            The node: its attributes, and those of the groups that contain it.

        Returns
        -------
        iterable of Finding
            Made by `zarr_xgroup.findings.new_finding`.
        """
        return ()

    @classmethod
    def crs(cls, array: ArrayView) -> Crs | None:
        """Return the CRS that the convention declares for an array, or None, which is the default.

        Called for arrays to which the convention applies, and used if neither a grid mapping variable nor `proj`
        defines a CRS.
        """
        return None

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        """Return dimension names for the last axes of an array with unnamed axes, by default none.

        Parameters
        ----------
        array : ArrayView
            The array; its `dims` are empty.
        """
        return ()

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        """Return the coordinate variables of an array by name.

        By default, these are the coordinates that `interpret` returns.

        Parameters
        ----------
        array : zarr.Array
            The array, for which `detect` returned True.
        group : zarr.Group
            The group that contains it.
        root : zarr.Group
            The root group of the store.

        Raises
        ------
        XGroupError
            For the first mistake in the metadata that makes a coordinate missing.
        NotImplementedError
            If the class has neither `interpret` nor `get_variables`.
        """
        if not gives_coordinates(type(self)):
            raise NotImplementedError(_("it has neither 'interpret' nor 'get_variables'"))
        return plugin_adapter.variables_of(self.interpret, array, root)


def failure_message(handler: type[ConventionHandler], error: BaseException) -> str:
    """Return the message that a handler raised an error."""
    message = _("the handler of convention {name!r} ({module}) failed: {kind}: {reason}")
    return message.format(
        name=handler.name,
        module=handler.__module__,
        kind=type(error).__name__,
        reason=error.text if isinstance(error, XGroupError) else error,
    )


def gives_coordinates(handler: type[ConventionHandler]) -> bool:
    """Return whether a handler overrides `interpret` or `get_variables`."""
    has_interpret = handler.interpret is not ConventionHandler.interpret
    return has_interpret or handler.get_variables is not ConventionHandler.get_variables
