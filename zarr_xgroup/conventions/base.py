"""The base class of the handlers of all conventions, and how an array declares a convention."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import methodcaller
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from zarr_xgroup.conventions import lending
from zarr_xgroup.conventions.array import CONVENTIONS_KEY, ArrayView
from zarr_xgroup.conventions.model import AxisNames, Interpretation
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node

if TYPE_CHECKING:
    import xarray as xr
    import zarr

__all__ = ["ConventionHandler", "declarations"]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class Checkable(Protocol):
    """A node of a store that `zarr_xgroup.check` looks at, as the `check` of a handler is given it."""

    @property
    def node(self) -> Node:
        """Its place; as text its absolute path."""

    @property
    def is_array(self) -> bool:
        """Whether it is an array, else it is a group."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Its attributes, not to be changed."""

    def attribute(self, key: str) -> Fragment | None:
        """Return one of its attributes, None where there is none or it is null."""

    @property
    def group(self) -> Checkable | None:
        """The group that it is in, None for the root."""

    def is_declared(self, convention: type[ConventionHandler]) -> bool:
        """Tell whether the node or a group that it is in declares a convention."""


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
    uuid : str or None
        The convention's identifier.
    repositories : tuple of str
        ``owner/repository`` of the places that its `schema_url` and `spec_url` point to.
    reads : tuple of str or None
        The attributes of arrays and of groups that it reads: names, and prefixes that end in a
        colon. Arrays of a group that have the same of these are interpreted once. Attributes
        with references are read by all. None if it is not known what it reads.
    resolver : BoundResolver
        References and lazy variables, for `get_variables`; bound while an open runs, and by
        `BoundResolver.of(array, root)` outside of one.
    """

    tier: ClassVar[Literal["principal", "service"]]
    name: ClassVar[str]
    uuid: ClassVar[str | None] = None
    repositories: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...] | None] = None
    resolver: lending.BoundResolver

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
        return lending.told(lambda view: cls.applies(view), array, root)

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether this convention applies to an array: it or its group declares it.

        So it does if it is assumed of the whole store. Not asked of a class that has a `detect` of its own.
        """
        return cls.is_declared_by_array(array) or cls.is_declared_by_group(array)

    @classmethod
    def is_declared_by_array(cls, array: ArrayView) -> bool:
        """Tell whether an array itself declares this convention."""
        return cls.is_declared(array.attributes)

    @classmethod
    def is_declared_by_group(cls, array: ArrayView) -> bool:
        """Tell whether the group of an array declares this convention, or it is assumed.

        What is assumed of all arrays of a store counts like what a group declares of its arrays.
        """
        return cls.name in array.assumed or cls._is_declared_in_group(array)

    @classmethod
    def is_only_assumed(cls, array: ArrayView) -> bool:
        """Tell whether this convention is assumed of an array that does not declare it."""
        if cls.name not in array.assumed:
            return False
        return not (cls.is_declared_by_array(array) or cls._is_declared_in_group(array))

    @classmethod
    def _is_declared_in_group(cls, array: ArrayView) -> bool:
        """Tell whether the group of an array declares this convention for it.

        What a group further up declares holds for attributes with the prefix of the convention.
        """
        group = array.node.group
        if cls._is_declared_at(array, group):
            return True
        return cls._has_prefixed(array.attributes) and cls._is_declared_above(array, group)

    @classmethod
    def _is_declared_at(cls, array: ArrayView, group: Node) -> bool:
        """Tell whether a group declares this convention, or has attributes of it below one that does."""
        document = array.document_of(group)
        if document is None:
            return False
        if cls.is_declared(document.attributes):
            return True
        return cls._has_prefixed(document.attributes) and cls._is_declared_above(array, group)

    @classmethod
    def _has_prefixed(cls, attributes: Mapping[str, Any]) -> bool:
        prefix = f"{cls.name}:"
        return any(map(methodcaller("startswith", prefix), attributes))

    @classmethod
    def _is_declared_above(cls, array: ArrayView, group: Node) -> bool:
        documents = (array.document_of(node) for node in group.ancestors())
        return any(item is not None and cls.is_declared(item.attributes) for item in documents)

    @classmethod
    def seems_meant(cls, attributes: Mapping[str, Any], siblings: Collection[str]) -> bool:
        """Tell whether attributes of a node look like this convention, declared or not.

        By default they do if one is prefixed with its name, or is an object called so.

        Parameters
        ----------
        attributes : mapping
            Those of an array, or of its group.
        siblings : collection of str
            The names of the group's arrays.
        """
        return cls._has_prefixed(attributes) or isinstance(attributes.get(cls.name), Mapping)

    @classmethod
    def is_declared(cls, attributes: Mapping[str, Any]) -> bool:
        """Tell whether attributes of a node declare this convention."""
        if CONVENTIONS_KEY not in attributes:
            return False
        return any(map(cls.matches, declarations(attributes)))

    @classmethod
    def is_declared_of_store(cls, attributes: Mapping[str, Any]) -> bool:
        """Tell whether attributes of the root declare this convention for the whole store."""
        return False

    @classmethod
    def matches(cls, declaration: Mapping[str, Any]) -> bool:
        """Tell whether an item of ``zarr_conventions`` is this convention.

        ``uuid`` decides alone where it is given, else ``schema_url``, else ``spec_url`` (of
        which the repository counts, since tags and branches move), else ``name``.
        """
        if isinstance(uuid := declaration.get("uuid"), str):
            return cls.uuid is not None and uuid.lower() == cls.uuid.lower()
        for key in ("schema_url", "spec_url"):
            if isinstance(url := declaration.get(key), str):
                known = {repository.lower() for repository in cls.repositories}
                return _repository(url) in known
        name = declaration.get("name")
        return isinstance(name, str) and name.strip().rstrip(":").lower() == cls.name.lower()

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
        return (key for key in attributes if key == cls.name or key.startswith(f"{cls.name}:"))

    @classmethod
    def lack(cls) -> str:
        """Return what an array lacks to which it does not apply though its group declares it."""
        return _("the convention does not apply to it")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return all that the convention says of an array.

        By default the coordinates that `get_variables` returns.

        Parameters
        ----------
        array : ArrayView
            The array, for which `applies` or `detect` was true. What is wrong with its
            metadata is said to its `problem` and `note`.
        """
        return lending.interpreted(self, array)

    @classmethod
    def check(cls, subject: Checkable) -> Iterable[Finding]:
        """Return what a producer should mend in the metadata of a node, for `zarr_xgroup.check`.

        By default nothing. Asked of every group and array, whether or not it declares the convention.

        Parameters
        ----------
        subject : Checkable
            The node: its attributes, and those of the groups that it is in.

        Returns
        -------
        iterable of Finding
            As `zarr_xgroup.findings.mistake` makes them.
        """
        return ()

    @classmethod
    def says_something(cls) -> bool:
        """Tell whether it has one of the two methods that say what an array's coordinates are."""
        has_interpret = cls.interpret is not ConventionHandler.interpret
        return has_interpret or cls.get_variables is not ConventionHandler.get_variables

    def axis_names(self, array: ArrayView) -> AxisNames:
        """Return what the convention says of the axes of an array that has no names for them.

        By default nothing.

        Parameters
        ----------
        array : ArrayView
            The array; its `dims` are empty.
        """
        return AxisNames()

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
        if not self.says_something():
            raise NotImplementedError(_("it has neither 'interpret' nor 'get_variables'"))
        return lending.variables_of(self, array, root)


def declarations(attributes: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the items of ``zarr_conventions`` that can be declarations.

    They are a list, or the members of an object by their uuid (framework 0.1.0).
    """
    items = attributes.get(CONVENTIONS_KEY)
    if isinstance(items, OBJECT):
        items = [
            {**item, "uuid": key}
            for key, item in items.items()
            if isinstance(item, OBJECT) and _UUID.fullmatch(key)
        ]
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, OBJECT))


def _repository(url: str) -> str | None:
    """Return ``owner/repository`` of a URL, in lower case."""
    match = re.match(
        r"[a-z][a-z0-9+.-]*://[^/]+/([^/]+/[^/]+?)(?:\.git)?(?:/|$)", url, re.IGNORECASE
    )
    return match[1].lower() if match else None
