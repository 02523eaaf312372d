"""What a group's Dataset will hold: planned from readings, before any variable is made.

Pure. Naming and merging are done in `naming`; a plan is not edited afterwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Source, Stored


class PlannedVariable(msgspec.Struct, frozen=True, eq=False):
    """A variable of a group's Dataset. There are thousands."""

    name: str
    source: Source
    #: They may be others than those of the source.
    dims: tuple[str, ...]
    #: What it is, if it is a coordinate: equal in two groups if it is the same.
    identity: Hashable | None = None
    #: Whether it is an array of the group.
    is_own: bool = False
    #: Besides those that xarray makes such.
    is_coordinate: bool = False
    #: Added where it has none of the name.
    attributes: Mapping[str, Any] = msgspec.field(default_factory=dict)
    #: Those that are to be named in its encoding.
    coordinates: tuple[str, ...] = ()
    #: The array that brought it, if it is no array of the group.
    referrer: Node | None = None
    #: The arrays that have it as a coordinate.
    users: tuple[Node, ...] = ()
    #: Whether its metadata name its coordinates.
    names_coordinates: bool = False
    #: What is declared and it stands in the place of, with the array that declares it.
    stood_against: tuple[tuple[Source, Node], ...] = ()
    #: Attributes in which paths were replaced by names.
    rewritten: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: Units and calendar of times that are not wanted, and whose boundaries it is.
    of_times: Mapping[str, Any] = msgspec.field(default_factory=dict)
    #: Whether xarray decodes it as times: because of its units, or of those of what it bounds.
    is_time: bool = False
    #: Whether attributes that it has not itself have a say in how xarray decodes it.
    has_declared_decoding: bool = False

    @property
    def stored(self) -> Node | None:
        """The array whose values, all of them, are those of the variable."""
        return self.source.node if isinstance(self.source, Stored) else None


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
