"""What a convention handler is, and how an array's metadata declares a convention."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import xarray as xr
import zarr

#: The attribute that lists the conventions an array or group follows.
CONVENTIONS_KEY = "zarr_conventions"


class ConventionHandler:
    """Base class of the handlers of all conventions, built in or third-party.

    A handler says what an array's coordinates are. It neither merges nor names nor warns:
    the assembly of the group does.

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
    """

    tier: ClassVar[Literal["principal", "service"]]
    name: ClassVar[str]
    uuid: ClassVar[str | None] = None
    repositories: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def detect(cls, root: zarr.Group, group: zarr.Group, array: zarr.Array[Any]) -> bool:
        """Tell whether this convention applies to an array.

        By default it does if the array or its group declares it in ``zarr_conventions``.

        Parameters
        ----------
        root : zarr.Group
            The root of the store.
        group : zarr.Group
            The group that contains the array.
        array : zarr.Array
            The array.
        """
        return cls.is_declared(array.attrs) or cls.is_declared(group.attrs)

    @classmethod
    def is_declared(cls, attributes: Mapping[str, Any]) -> bool:
        """Tell whether attributes of a node declare this convention."""
        return any(cls.matches(declaration) for declaration in declarations(attributes))

    @classmethod
    def matches(cls, declaration: Mapping[str, Any]) -> bool:
        """Tell whether an item of ``zarr_conventions`` is this convention.

        ``uuid`` decides alone where it is given, else ``schema_url``, else ``spec_url`` (of
        which the repository counts, since tags and branches move), else ``name``.
        """
        if isinstance(uuid := declaration.get("uuid"), str):
            return uuid.lower() == (cls.uuid or "").lower()
        for key in ("schema_url", "spec_url"):
            if isinstance(url := declaration.get(key), str):
                known = {repository.lower() for repository in cls.repositories}
                return _repository(url) in known
        name = declaration.get("name")
        return isinstance(name, str) and name.strip().rstrip(":").lower() == cls.name.lower()

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        """Return the coordinate variables of an array, by the name each should have.

        Parameters
        ----------
        array : zarr.Array
            The array, for which `detect` was true.
        group : zarr.Group
            The group that contains it.
        root : zarr.Group
            The root of the store.
        """
        raise NotImplementedError


def declarations(attributes: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the items of ``zarr_conventions`` that can be declarations."""
    items = attributes.get(CONVENTIONS_KEY)
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, Mapping))


def _repository(url: str) -> str | None:
    """Return ``owner/repository`` of a URL, in lower case."""
    match = re.match(
        r"[a-z][a-z0-9+.-]*://[^/]+/([^/]+/[^/]+?)(?:\.git)?(?:/|$)", url, re.IGNORECASE
    )
    return match[1].lower() if match else None
