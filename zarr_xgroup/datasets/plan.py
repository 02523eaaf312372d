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
    #: Its dimensions, which may be called otherwise than those of the source.
    dims: tuple[str, ...]
    #: The attributes of the array, or of a plug-in's variable.
    own_attributes: Mapping[str, Any]
    #: What it is, if it is a coordinate: equal in two groups if it is the same.
    identity: Hashable | None = None
    #: Whether it is an array of the group.
    is_own: bool = False
    #: Whether it is to be a coordinate; xarray makes some without being told.
    is_coordinate: bool = False
    #: Attributes added to its own, where these have none of the name.
    attributes: dict[str, Any] = {}
    #: Own attributes in which paths were replaced by names.
    rewritten: dict[str, str] = {}
    #: The coordinates that its encoding is to name.
    coordinates: tuple[str, ...] = ()
    #: The array of the group that brought it, "" if it is one itself.
    referrer: str = ""
    #: The arrays of the group that have it as a coordinate.
    users: list[str] = []
    #: The declared coordinates that it wins over, by identity: the source, and the array that declares it.
    overruled: dict[Hashable, tuple[Source, str]] = {}
    #: Units and calendar of the times, dropped by the user, that it is the boundaries of.
    dropped_times: Mapping[str, Any] = {}
    #: Whether xarray decodes it as times: by its units, or by those of what it bounds.
    is_time: bool = False
    #: Whether attributes that are not its own have a say in how xarray decodes it.
    has_declared_decoding: bool = False

    @property
    def stored(self) -> Node | None:
        """The array that it is read from, None if from something else."""
        return self.source.node if isinstance(self.source, Stored) else None

    def get(self, key: str) -> Any:
        """Return an attribute that the variable will have, or None."""
        if key in self.rewritten:
            return self.rewritten[key]
        own = self.own_attributes
        return own[key] if key in own else self.attributes.get(key)

    def has(self, key: str) -> bool:
        """Tell whether the variable will have an attribute."""
        return key in self.own_attributes or key in self.attributes

    def add(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes where there is none of the name: what is said first counts."""
        for key, value in attributes.items():
            if key not in self.own_attributes:
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
        self._last_numbers: Counter[str] = Counter()

    def add(self, name: str, sizes: Mapping[str, int]) -> None:
        """Use a name for a variable, and those of its dimensions."""
        self._is_scalar[name] = not sizes
        self._sizes.update(sizes)

    def remove(self, name: str) -> None:
        """Free the name of a variable."""
        del self._is_scalar[name]

    def is_dimension(self, name: str) -> bool:
        """Tell whether a variable has a dimension of this name."""
        return name in self._sizes

    def can_be_dimension(self, name: str, size: int) -> bool:
        """Tell whether a variable can have a dimension of this name and size."""
        # xarray refuses a dimension that is called as a scalar.
        return not self._is_scalar.get(name, False) and self._sizes.get(name, size) == size

    def is_free(self, name: str) -> bool:
        """Tell whether a dimension's coordinate can have this name."""
        # xarray's trees take no name with a slash.
        return "/" not in name and name not in self._is_scalar and name not in self._groups

    def is_free_for_others(self, name: str) -> bool:
        """Tell whether a variable that is no coordinate of a dimension can have this name."""
        return self.is_free(name) and name not in self._sizes

    def new_dimension(self, wanted: str, size: int) -> str:
        """Use a free name for a dimension, and return it."""

        def can_be(name: str) -> bool:
            return self.can_be_dimension(name, size) and name not in self._is_scalar

        name = self.first_free(wanted, "", can_be)
        self._sizes[name] = size
        return name

    def first_free(self, wanted: str, group: str, can_be: Callable[[str], bool]) -> str:
        """Return the wanted name, else that with the path of the group before it, else that numbered.

        `group` is the path of the group that the variable comes from. Counting goes on from the last
        number: to begin anew for each of many variables of one name would take quadratic time.
        """
        if can_be(wanted):
            return wanted
        longer = wanted.replace("/", "_")
        if group:
            longer = f"{group.replace('/', '_')}_{longer}"
            if can_be(longer):
                return longer
        number = self._last_numbers[longer] or 1
        while not can_be(f"{longer}_{number}"):
            number += 1
        self._last_numbers[longer] = number
        return f"{longer}_{number}"
