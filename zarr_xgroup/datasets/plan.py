"""The plan of a group's Dataset, made by `naming` before any variable is made, and not modified later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.units import is_bare_unit_of_time
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.cf import DECODED_BY, axis_by_attributes
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Source, Stored


class PlannedVariable(msgspec.Struct, eq=False):
    """A variable of a group's Dataset. A struct, because there are thousands."""

    name: str
    source: Source
    #: Its dimensions, whose names may differ from those of the source.
    dims: tuple[str, ...]
    #: The attributes of the array, or of a plug-in's variable.
    own_attributes: Mapping[str, Any]
    #: For a coordinate: equal in two groups if the variables have the same values and decoding. Otherwise None.
    identity: Hashable | None = None
    #: Whether it is an array of the group.
    is_own: bool = False
    #: Whether it has to be a coordinate. xarray makes some variables coordinates itself.
    is_coordinate: bool = False
    #: Whether it contains horizontal positions of cells along several dimensions, by a convention.
    places_cells: bool = False
    #: Attributes added to its own, which do not have these names.
    attributes: dict[str, Any] = {}
    #: Own attributes with new values: names in place of paths, and units of time completed with an epoch.
    rewritten: dict[str, str] = {}
    #: The coordinates to name in ``coordinates`` of its encoding.
    coordinates: tuple[str, ...] = ()
    #: The first array of the group that refers to it, "" if it is an array of the group itself.
    referrer: str = ""
    #: The arrays of the group that have it as a coordinate.
    users: list[str] = []
    #: The declared coordinates that it replaces, by identity: their source, and the array that declares them.
    overruled: dict[Hashable, tuple[Source, str]] = {}
    #: The names of parts of these declarations that are not arrays of the group and are not attached, by their sources.
    left_out: dict[Source, tuple[str, str]] = {}
    #: Units and calendar of the times that it bounds, if the user dropped these times.
    dropped_times: Mapping[str, Any] = {}
    #: Whether xarray decodes it as times, by its units or those of the times that it bounds.
    is_time: bool = False
    #: Whether these are bounds of times whose units are not stored in the group.
    bounds_declared_times: bool = False

    @property
    def stored(self) -> Node | None:
        """The array that it is read from, None if it is computed, literal, or made by a handler."""
        return self.source.node if isinstance(self.source, Stored) else None

    @property
    def is_transposed(self) -> bool:
        """Whether its dimensions are in the reverse order of those of its array."""
        return isinstance(self.source, Stored) and self.source.transposed

    def transpose_like(self, bounds: Source) -> None:
        """Transpose the group's own array if declared bounds have its dimensions in the reverse order."""
        if not (self.is_own and isinstance(self.source, Stored)) or self.source.transposed:
            return
        is_declared_as_stored = isinstance(bounds, Stored) and not bounds.transposed
        if not is_declared_as_stored and self.dims[:-1] != bounds.dims[:-1]:
            self.source, self.dims = replace(self.source, transposed=True), self.dims[::-1]

    def get(self, key: str) -> Any:
        """Return the value of an attribute that the variable will have, None if it will not have it."""
        if key in self.rewritten:
            return self.rewritten[key]
        own = self.own_attributes
        return own[key] if key in own else self.attributes.get(key)

    def has(self, key: str) -> bool:
        """Return whether the variable will have an attribute."""
        return key in self.own_attributes or key in self.attributes

    @property
    def horizontal_axis(self) -> str | None:
        """The horizontal axis of a coordinate by its attributes: X, Y or None."""
        keys = ("axis", "standard_name", "units")
        return axis_by_attributes({key: self.get(key) for key in keys})

    def add(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes that the variable does not have yet.

        Units with an epoch replace the variable's own unit of time without an epoch.
        """
        for key, value in attributes.items():
            if key not in self.own_attributes:
                self.attributes.setdefault(key, value)
            elif (
                key == "units"
                and " since " in str(value)
                and is_bare_unit_of_time(self.own_attributes[key])
            ):
                self.rewritten.setdefault(key, value)

    @property
    def declared_decoding(self) -> dict[str, Any]:
        """The added attributes that affect how xarray decodes it, sorted by name."""
        declared = {**self.attributes, **self.rewritten}
        return {key: declared[key] for key in sorted(DECODED_BY & declared.keys())}


class GroupPlan(msgspec.Struct, frozen=True, eq=False):
    """The variables of a group's Dataset: its own arrays sorted by name, then the variables attached to them."""

    reading: GroupReading
    variables: tuple[PlannedVariable, ...]
    findings: tuple[Finding, ...]

    @property
    def node(self) -> Node:
        """The group."""
        return self.reading.node


class UsedNames:
    """The names in use in a group: of child groups, variables, and dimensions with their sizes."""

    def __init__(self, groups: Collection[str], arrays: Iterable[ArrayReading]) -> None:
        self._groups = groups
        self._is_scalar: dict[str, bool] = {}
        self._sizes: dict[str, int] = {}
        self._last_numbers: Counter[str] = Counter()
        for array in arrays:
            self.add(array.node.name, array.sizes)

    def add(self, name: str, sizes: Mapping[str, int]) -> None:
        """Add the name of a variable and the names of its dimensions."""
        self._is_scalar[name] = not sizes
        self._sizes.update(sizes)

    def remove(self, name: str) -> None:
        """Free the name of a variable."""
        del self._is_scalar[name]

    def is_variable(self, name: str) -> bool:
        """Return whether a variable has this name."""
        return name in self._is_scalar

    def is_dimension(self, name: str) -> bool:
        """Return whether a variable has a dimension of this name."""
        return name in self._sizes

    def can_be_dimension(self, name: str, size: int) -> bool:
        """Return whether a variable can have a dimension of this name and size."""
        # xarray refuses a dimension with the name of a scalar variable.
        return not self._is_scalar.get(name, False) and self._sizes.get(name, size) == size

    def is_free(self, name: str) -> bool:
        """Return whether a new dimension coordinate can have this name."""
        # A DataTree does not accept a name with a slash, or the name of a child.
        return "/" not in name and name not in self._is_scalar and name not in self._groups

    def is_free_for_others(self, name: str) -> bool:
        """Return whether a new variable that is not a dimension coordinate can have this name."""
        return self.is_free(name) and name not in self._sizes

    def new_dimension(self, wanted: str, size: int) -> str:
        """Reserve and return a free name for a dimension."""

        def can_be(name: str) -> bool:
            return self.can_be_dimension(name, size) and name not in self._is_scalar

        name = self.first_free(wanted, "", can_be)
        self._sizes[name] = size
        return name

    def first_free(self, wanted: str, group: str, can_be: Callable[[str], bool]) -> str:
        """Return the first free name: the wanted one, with the prefix of a group's path, or also with a number.

        `group` is the path of the group that the variable comes from, or "". `can_be` returns whether a name is free.
        Numbers continue from the last one, because restarting for each of many equal names would take quadratic time.
        """
        if can_be(wanted):
            return wanted
        longer = longer_name(wanted, group)
        if group and can_be(longer):
            return longer
        number = self._last_numbers[longer] or 1
        while not can_be(f"{longer}_{number}"):
            number += 1
        self._last_numbers[longer] = number
        return f"{longer}_{number}"


def longer_name(name: str, group: str) -> str:
    """Return a name with the path of a group as its prefix, without slashes; without a prefix for the root."""
    return (f"{group}_{name}" if group else name).replace("/", "_")
