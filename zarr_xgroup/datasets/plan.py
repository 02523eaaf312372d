"""The plan of a group's Dataset, made by `planning` before any variable is made, and not modified later."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.conventions.units import TIME_KEYS, is_bare_unit_of_time, is_time, unit_and_epoch
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.cf import DECODED_BY, axis_by_attributes
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Source, Stored

#: The role of an array for the array that refers to it. A path in the CF attribute ``coordinates`` makes it "linked".
Role: TypeAlias = Literal["coordinate", "linked", "bounds", "other"]


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
    #: Attributes of an attached array that the variable does not get.
    removed: set[str] = set()
    #: The coordinates to name in ``coordinates`` of its encoding.
    coordinates: tuple[str, ...] = ()
    #: The first array of the group that refers to it, "" if it is an array of the group itself.
    referrer: str = ""
    #: The arrays of the group that have it as a coordinate.
    users: list[str] = []
    #: The first stored array that it replaces.
    instead_of: Node | None = None
    #: For bounds of times: the units and calendar of these, with which xarray decodes bounds that have none.
    inherited: Mapping[str, Any] = {}
    #: Whether it is decoded with these, and they are not stored in the group.
    inherits_declared: bool = False

    @property
    def stored(self) -> Node | None:
        """The array that it is read from, None if it is computed, literal, or made by a handler."""
        return self.source.node if isinstance(self.source, Stored) else None

    @property
    def is_dimension_coordinate(self) -> bool:
        """Whether it is the coordinate of its dimension: 1-D, with the name of the dimension."""
        return self.dims == (self.name,)

    @property
    def is_in_coords(self) -> bool:
        """Whether it is a coordinate of the Dataset, by a convention or by its name."""
        return self.is_coordinate or self.is_dimension_coordinate

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

    def remove(self, key: str) -> None:
        """Remove an attribute of an attached array."""
        own = self.own_attributes
        self.own_attributes = {name: value for name, value in own.items() if name != key}
        self.rewritten.pop(key, None)
        self.removed.add(key)

    @property
    def is_time(self) -> bool:
        """Whether xarray decodes it as times, by its units or those of the times that it bounds."""
        units = self.get("units")
        return is_time(self.inherited.get("units") if units is None else units)

    @property
    def times(self) -> dict[str, Any]:
        """The units and the calendar that the variable will have."""
        return {key: self.get(key) for key in TIME_KEYS if self.get(key) is not None}

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
                and unit_and_epoch(value) is not None
                and is_bare_unit_of_time(self.own_attributes[key])
            ):
                self.rewritten.setdefault(key, value)

    @property
    def declared_decoding(self) -> dict[str, Any]:
        """The added attributes that affect how xarray decodes it, sorted by name."""
        declared = {**self.attributes, **self.rewritten}
        return {key: declared[key] for key in sorted(DECODED_BY & declared.keys())}


#: The result for a declared coordinate:
#:
#: - "known": it is a variable that exists already, an array of the group or one that was attached before
#: - "new": it becomes a new variable
#: - "replaced": an array of the group is used instead
#: - "left out": it is not attached, because an array of the group replaces its axis
#: - "unusable": it is not attached, because it cannot be made
Outcome: TypeAlias = Literal["known", "new", "replaced", "left out", "unusable"]


class Declaration(msgspec.Struct, frozen=True, eq=False):
    """A coordinate that an array declares, and its outcome."""

    coordinate: Coordinate
    #: The array of the group that declares it, or the first of several that share the declaration.
    referrer: Node
    role: Role = "coordinate"
    outcome: Outcome = "new"
    #: The name of its variable, or of the array of the group that is used instead; "" if it is unusable.
    variable: str = ""
    #: Equal for coordinates that are one variable.
    identity: Hashable = None

    @property
    def source(self) -> Source:
        """The source of the coordinate."""
        return self.coordinate.source

    @property
    def is_replaced(self) -> bool:
        """Whether an array of the group is used instead."""
        return self.outcome == "replaced"


class GroupPlan(msgspec.Struct, frozen=True, eq=False):
    """The variables of a group's Dataset: its own arrays sorted by name, then the variables attached to them."""

    reading: GroupReading
    variables: tuple[PlannedVariable, ...]
    findings: tuple[Finding, ...]
    #: The declared coordinates that are replaced or left out, each once.
    replaced: tuple[Declaration, ...] = ()

    @property
    def node(self) -> Node:
        """The group."""
        return self.reading.node

    def of_array(self, name: str) -> GroupPlan:
        """Return the plan with the variables that an array of the group can have as coordinates, and its findings."""
        dims = {
            dim for variable in self.variables if variable.name == name for dim in variable.dims
        }
        path = str(self.node.child(name))
        return replace(
            self,
            variables=tuple(it for it in self.variables if dims.issuperset(it.dims)),
            findings=tuple(it for it in self.findings if not it.arrays or path in it.arrays),
        )
