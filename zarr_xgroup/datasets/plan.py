"""What a group's Dataset will hold: planned from readings, before any variable is made.

Pure. `naming` makes plans; nobody changes them afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Source, Stored


class PlannedVariable(msgspec.Struct, eq=False):
    """A variable of a group's Dataset. There are thousands."""

    name: str
    source: Source
    #: They may be others than those of the source.
    dims: tuple[str, ...]
    #: The attributes that it has itself.
    own: Mapping[str, Any]
    #: What it is, if it is a coordinate: equal in two groups if it is the same.
    identity: Hashable | None = None
    #: Whether it is an array of the group.
    is_own: bool = False
    #: Besides those that xarray makes such.
    is_coordinate: bool = False
    #: Added where it has none of the name.
    attributes: dict[str, Any] = {}
    #: Attributes in which paths were replaced by names.
    rewritten: dict[str, str] = {}
    #: Those that are to be named in its encoding.
    coordinates: tuple[str, ...] = ()
    #: The array of the group that brought it, "" if it is one itself.
    referrer: str = ""
    #: The arrays of the group that have it as a coordinate.
    users: list[str] = []
    #: What is declared and it stands in the place of, with the array that declares it, by what it is.
    stood_against: dict[Hashable, tuple[Source, str]] = {}
    #: Units and calendar of times that are not wanted, and whose boundaries it is.
    of_times: Mapping[str, Any] = {}
    #: Whether xarray decodes it as times: because of its units, or of those of what it bounds.
    is_time: bool = False
    #: Whether attributes that it has not itself have a say in how xarray decodes it.
    has_declared_decoding: bool = False

    @property
    def stored(self) -> Node | None:
        """The array whose values, all of them, are those of the variable."""
        return self.source.node if isinstance(self.source, Stored) else None

    def get(self, key: str) -> Any:
        """Return an attribute that the variable will have, or None."""
        if key in self.rewritten:
            return self.rewritten[key]
        return self.own[key] if key in self.own else self.attributes.get(key)

    def has(self, key: str) -> bool:
        """Tell whether the variable will have an attribute."""
        return key in self.own or key in self.attributes

    def add(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes where there is none of the name: what is said first counts."""
        for key, value in attributes.items():
            if key not in self.own:
                self.attributes.setdefault(key, value)


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """What a group's Dataset will hold: its own arrays sorted by name, then what these refer to."""

    reading: GroupReading
    variables: tuple[PlannedVariable, ...]
    findings: tuple[Finding, ...]

    @property
    def node(self) -> Node:
        """The group."""
        return self.reading.node


class UsedNames:
    """The names in use in a group: of child groups, variables, and dimensions with their sizes."""

    def __init__(self, groups: Collection[str]) -> None:
        self._groups = groups
        self._is_scalar: dict[str, bool] = {}
        self._sizes: dict[str, int] = {}
        self._numbers: Counter[str] = Counter()

    def add(self, name: str, sizes: Mapping[str, int]) -> None:
        """Use a name for a variable, and those of its dimensions."""
        self._is_scalar[name] = not sizes
        self._sizes.update(sizes)

    def remove(self, name: str) -> None:
        """Use a name no longer for a variable."""
        del self._is_scalar[name]

    def is_dimension(self, name: str) -> bool:
        """Tell whether a variable has a dimension of a name."""
        return name in self._sizes

    def can_be_dimension(self, name: str, size: int) -> bool:
        """Tell whether a variable can have a dimension of a name and size."""
        # xarray refuses a dimension that is called as a scalar.
        return not self._is_scalar.get(name, False) and self._sizes.get(name, size) == size

    def is_free(self, name: str) -> bool:
        """Tell whether a variable can be called so, whatever dimensions are."""
        # xarray's trees take no name with a slash.
        return "/" not in name and name not in self._is_scalar and name not in self._groups

    def is_free_for_others(self, name: str) -> bool:
        """Tell whether a variable can be called so that is no coordinate of a dimension."""
        return self.is_free(name) and name not in self._sizes

    def new_dimension(self, wanted: str, size: int) -> str:
        """Use a free name for a dimension, and return it."""

        def can_be(name: str) -> bool:
            return self.can_be_dimension(name, size) and name not in self._is_scalar

        name = self.first_free(wanted, "", can_be)
        self._sizes[name] = size
        return name

    def first_free(self, wanted: str, group: str, can_be: Callable[[str], bool]) -> str:
        """Return the best name that can be given.

        Numbers go on where they were: to begin anew for each of many variables of one name would
        take quadratic time.
        """
        # 1. The name that is wanted.
        if can_be(wanted):
            return wanted
        # 2. The path of the group that it comes from, then the name.
        longer = wanted.replace("/", "_")
        if group:
            longer = f"{group.replace('/', '_')}_{longer}"
            if can_be(longer):
                return longer
        # 3. That, numbered.
        number = self._numbers[longer] or 1
        while not can_be(f"{longer}_{number}"):
            number += 1
        self._numbers[longer] = number
        return f"{longer}_{number}"
