"""The `multiscales` layout: what a parent group says of the levels below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.metadata.nodes import Fragment, Node, Part


class Multiscales(ConventionHandler):
    """What declares a layout. It gives no coordinates: `spatial` reads it."""

    tier = "service"
    name = "multiscales"
    uuid: ClassVar[str | None] = "d35379db-88df-4056-af3a-620245f8e347"
    repositories = ("zarr-conventions/multiscales",)


@dataclass(frozen=True)
class Layout:
    """The items of a ``multiscales`` attribute that name an asset.

    Attributes
    ----------
    items : mapping of str to Part
        By their ``asset``, without slashes at the ends.
    wrong : tuple of XGroupMetadataError
        Why it has no items.
    """

    items: Mapping[str, Part]
    wrong: tuple[XGroupMetadataError, ...] = ()

    @classmethod
    def parse(cls, multiscales: Fragment) -> Layout:
        """Parse a ``multiscales`` attribute."""
        layout = multiscales.get("layout")
        try:
            items = [] if layout is None else list(layout.items())
        except XGroupMetadataError as error:
            return cls({}, (error,))
        named = ((item.get("asset"), item) for item in items)
        return cls(
            {
                asset.value.strip("/"): item.part
                for asset, item in named
                if asset is not None and isinstance(asset.value, str)
            }
        )

    @cached_property
    def groups(self) -> frozenset[str]:
        """The groups that assets are in."""
        return frozenset(asset.rpartition("/")[0] for asset in self.items)


@dataclass(frozen=True)
class Level:
    """One item of a multiscales layout, and the group that holds the layout.

    Attributes
    ----------
    group : Node
        The group that has the attribute ``multiscales``.
    item : Fragment
        The item that is about the array in question.
    layout : Layout
        All items.
    """

    group: Node
    item: Fragment
    layout: Layout

    def other(self, asset: str) -> Fragment | None:
        """Return another item of the layout."""
        part = self.layout.items.get(asset)
        return None if part is None else part.at(self.group)


#: Groups with their layouts.
Layouts: TypeAlias = tuple[tuple[Node, Layout], ...]


def layout_of(array: ArrayView) -> Level | None:
    """Return the level that an array is of, by the nearest ancestor whose layout has it.

    An item is about the array that its ``asset`` names, or about the direct child arrays of
    the group that it names (multiscales convention).
    """
    nothing: Layouts = ()
    for group, layout in array.of_groups_above(layouts_above, nothing):
        array.look_around()  # which item is about an array depends on its path
        below = len(group.path)
        assets = [it.path[below:].strip("/") for it in (array.node, array.node.group)]
        if assets[1] in layout.groups:
            array.is_me(array.node)  # an item may be about this array and no other of its group
        for error in layout.wrong:
            array.problem(Fragment(group, error.keys, None).error(error.reason))
        for asset in assets:
            if asset in layout.items:
                return Level(group, layout.items[asset].at(group), layout)
    return None


def layouts_above(array: ArrayView, group: Node, above: Layouts) -> Layouts:
    """Return the groups from one upwards that have a layout, the nearest first."""
    multiscales = array.attribute_of(group, "multiscales")
    if multiscales is None:
        return above
    return ((group, array.parsed(Layout.parse, multiscales)), *above)
