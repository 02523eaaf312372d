"""The base class of the handlers of all conventions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from zarr_xgroup.conventions import plugin_adapter
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.checked import CheckedNode
from zarr_xgroup.conventions.declaring import (
    has_prefixed,
    is_declared_by_array,
    is_declared_by_group,
)
from zarr_xgroup.conventions.descriptions import Attribute
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.errors import Rule, XGroupError
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import candidate_paths
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import Tree

if TYPE_CHECKING:
    import xarray as xr
    import zarr

    from zarr_xgroup.conventions.crs import Crs

__all__ = ["ConventionHandler", "failure_message", "gives_coordinates"]


@dataclass(frozen=True)
class Surroundings:
    """What is around an array that lacks coordinates or a CRS, as `seems_meant` of a handler is given it.

    Attributes
    ----------
    group : Node
        The group that it is in.
    names : frozenset of str
        The names of the group's arrays.
    dims : tuple of str
        Its dimensions.
    bare : tuple of str
        Those along which there is no coordinate; as a path where the store says that another group defines one.
    tree : Tree
        What is known of the store: nothing is read to word a hint.
    """

    group: Node
    names: frozenset[str]
    dims: tuple[str, ...]
    bare: tuple[str, ...]
    tree: Tree

    def leads_out(self, name: str) -> bool:
        """Tell whether a name or path of CF may lead to a node outside of the group.

        It may if there is such a node, or nobody has looked.
        """
        if name in self.names:
            return False
        tree, store = self.tree, self.group.store
        nodes = [Node(store, path) for path in candidate_paths(name, self.group.path)]
        is_above = any(tree.known(node) is not None or not tree.is_known(node) for node in nodes)
        return is_above or bool(tree.groups_with(store, name))


class ConventionHandler:
    """Base class of the handlers of all conventions, built in or third-party.

    A handler says what an array's coordinates are. It neither merges nor names nor warns:
    that is the business of who opens the group. It implements `interpret`, or, as the
    specification has it, `get_variables`: each is by default made of the other.

    Attributes
    ----------
    tier : {"principal", "service"}
        A principal convention defines an array's coordinate structure; an array follows at
        most one. Service conventions add to it, any number of them.
    name : str
        The convention's name, as arrays declare it (without a trailing colon).
    aliases : tuple of str
        What else it is, or was, called.
    uuid : str or None
        The convention's identifier.
    other_uuids : tuple of str
        Those of other conventions that say the same.
    repositories : tuple of str
        ``owner/repository`` of the places that its `schema_url` and `spec_url` point to.
    named_by_root : re.Pattern or None
        What it is called in ``conventions`` of a store's root (NZ-1.0), as a regular expression.
    is_declarable : bool
        Whether stores can declare it; else it is only assumed (``assume_conventions``).
    implies : tuple of str
        The names of services that an array which follows it follows, too.
    gives_way : bool
        Whether its coordinates are left out whose names those of another convention have. A principal
        convention that does so is asked besides another one.
    follows_names : bool
        Whether names in CF attributes lead to the groups above. Another principal convention goes first,
        and has its references followed in this way.
    described : tuple of Attribute
        The attributes that it reads, described: `zarr_xgroup.check` tells what is wrong with them.
    rules : tuple of Rule
        What its documents demand.
    reads : tuple of str or None
        Which attributes it reads of those that only describe an array (`long_name`, `units`, ...). Who says so,
        be it that there are none, says too that what it gives follows from nothing but the document of the array,
        the attributes of the groups that it is in, the other arrays of its group, and what these lead to: arrays
        that are alike in all that are then asked about once. Without it, it is asked about each array.
    arrays : tuple of str
        The names of arrays that mean something to it wherever they are.
    resolver : BoundResolver
        References and lazy variables, for `get_variables`; bound while an open runs, and by
        `BoundResolver.of(array, root)` outside of one.
    """

    tier: ClassVar[Literal["principal", "service"]]
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    uuid: ClassVar[str | None] = None
    other_uuids: ClassVar[tuple[str, ...]] = ()
    repositories: ClassVar[tuple[str, ...]] = ()
    named_by_root: ClassVar[re.Pattern[str] | None] = None
    is_declarable: ClassVar[bool] = True
    implies: ClassVar[tuple[str, ...]] = ()
    gives_way: ClassVar[bool] = False
    follows_names: ClassVar[bool] = False
    described: ClassVar[tuple[Attribute, ...]] = ()
    rules: ClassVar[tuple[Rule, ...]] = ()
    reads: ClassVar[tuple[str, ...] | None] = None
    arrays: ClassVar[tuple[str, ...]] = ()
    resolver: plugin_adapter.BoundResolver

    @classmethod
    def detect(cls, root: zarr.Group, group: zarr.Group, array: zarr.Array[Any]) -> bool:
        """Tell whether this convention applies to an array.

        By default it does if `applies` says so: if the array or its group declares it in
        ``zarr_conventions``.

        Parameters
        ----------
        root : zarr.Group
            The root of the store.
        group : zarr.Group
            The group that contains the array.
        array : zarr.Array
            The array.
        """
        return plugin_adapter.run_on_zarr(cls.applies, array, root)

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether this convention applies to an array: it or its group declares it.

        So it does if it is assumed of the whole store. Not asked of a class that has a `detect` of its own.
        """
        return is_declared_by_array(cls, array) or is_declared_by_group(cls, array)

    @classmethod
    def seems_meant(cls, attributes: Mapping[str, Any], around: Surroundings) -> bool:
        """Tell whether attributes that do not declare the convention have its marks, as to coordinates.

        By default they do if one is prefixed with its name, or is an object called so. Where an array
        lacks coordinates, a warning advises to assume it, and ``assume_conventions="auto"`` does.

        Parameters
        ----------
        attributes : mapping
            Those of an array, of its group, or of what describes its grid.
        around : Surroundings
            What is known around the array.
        """
        return has_prefixed(cls, attributes) or isinstance(attributes.get(cls.name), Mapping)

    @classmethod
    def seems_to_say_crs(cls, attributes: Mapping[str, Any], around: Surroundings) -> bool:
        """Tell the same as to the CRS of an array that has none; by default they say none."""
        return False

    @classmethod
    def shares_with(cls, array: ArrayView) -> Collection[str]:
        """Return the names of other conventions that say what this one leaves to them, of an array.

        By default none. They are asked, too, also where they are principal and nobody declares them.
        """
        return ()

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield the attributes of a node that say nothing to who does not know this convention.

        They can be dropped once coordinates say it (``convention_attrs="drop"``). By default those
        that are prefixed with its name and a colon, and the one that is called so.

        Parameters
        ----------
        attributes : mapping
            Those of an array or a group that follows the convention.
        """
        prefixes = tuple(f"{name}:" for name in (cls.name, *cls.aliases))
        return (key for key in attributes if key == cls.name or key.startswith(prefixes))

    @classmethod
    def restated(
        cls, attributes: Mapping[str, Any], dims: Mapping[str, tuple[str, ...]]
    ) -> Mapping[str, Any]:
        """Return the attributes of a node so that they stay true where its coordinates are attached.

        By default as they are.

        Parameters
        ----------
        attributes : mapping
            Those of an array or a group that follows the convention.
        dims : mapping
            The dimensions of the variables of its Dataset, by name.
        """
        return attributes

    @classmethod
    def why_not(cls) -> str:
        """Return why it does not apply to an array, where the array's group declares it."""
        return _("the convention does not apply to it")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return all that the convention says of an array.

        By default the coordinates that `get_variables` returns.

        Parameters
        ----------
        array : ArrayView
            The array, for which `applies` or `detect` was true. What is wrong with its
            metadata is said to its `report`.
        """
        self.resolver = plugin_adapter.BoundResolver(lambda question: question(array))
        return plugin_adapter.interpretation_from_variables(self.get_variables, array)

    @classmethod
    def check(cls, subject: CheckedNode) -> Iterable[Finding]:
        """Return what a producer should mend in the metadata of a node, for `zarr_xgroup.check`.

        By default nothing. Asked of every group and array, whether or not it declares the convention.

        Parameters
        ----------
        subject : CheckedNode
            The node: its attributes, and those of the groups that it is in.

        Returns
        -------
        iterable of Finding
            As `zarr_xgroup.findings.report` makes them.
        """
        return ()

    @classmethod
    def crs(cls, array: ArrayView) -> Crs | None:
        """Return the CRS of an array that neither its grid mapping variable nor `proj` says.

        By default none. Asked of arrays that the convention applies to, by whatever follows from a CRS.
        """
        return None

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        """Return what the convention calls the last axes of an array that has no names for some.

        By default nothing.

        Parameters
        ----------
        array : ArrayView
            The array; its `dims` are empty.
        """
        return ()

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        """Return the coordinate variables of an array, by the name each should have.

        By default those that `interpret` says.

        Parameters
        ----------
        array : zarr.Array
            The array, for which `detect` was true.
        group : zarr.Group
            The group that contains it.
        root : zarr.Group
            The root of the store.

        Raises
        ------
        XGroupError
            The first thing that is wrong with the metadata, if anything is.
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
    """Tell whether a handler has one of the two methods that say what an array's coordinates are."""
    has_interpret = handler.interpret is not ConventionHandler.interpret
    return has_interpret or handler.get_variables is not ConventionHandler.get_variables
