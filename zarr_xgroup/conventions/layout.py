"""The `multiscales` layout: what a parent group says of the levels below it.

And which attribute counts for an array: its own, or one of what is written around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node, Part
from zarr_xgroup.metadata.paths import is_below

#: Attributes that a layout's group has for one grid, not for all levels.
_OF_ONE_GRID = frozenset({"spatial:transform", "spatial:shape", "proj:transform", "proj:shape"})


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
        By their ``asset``, as `asset_path` has it.
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
                asset_path(asset.value): item.part
                for asset, item in named
                if asset is not None and isinstance(asset.value, str)
            }
        )

    @cached_property
    def groups(self) -> frozenset[str]:
        """The groups that assets are in."""
        return frozenset(asset.rpartition("/")[0] for asset in self.items)

    @cached_property
    def base(self) -> str | None:
        """The only asset that is derived from no other one, nor scaled; None if there are several."""
        found = [asset for asset, item in self.items.items() if _is_base(item.value)]
        return found[0] if len(found) == 1 else None

    def about(self, node: Node, group: Node) -> Fragment | None:
        """Return the item that names a node, given the group that has the layout."""
        if not is_below(node.path, group.path):
            return None
        part = self.items.get(node.path[len(group.path) :].strip("/"))
        return None if part is None else part.at(group)


def _is_base(item: Mapping[str, Any]) -> bool:
    """Tell whether an item neither names a source nor has numbers that change anything."""
    relation = item.get("transform") or {}
    if item.get("derived_from") is not None or not isinstance(relation, OBJECT):
        return False
    changes = (("scale", 1), ("translation", 0))
    lists = ((relation.get(key) or [], unit) for key, unit in changes)
    return all(isinstance(it, list) and all(n == unit for n in it) for it, unit in lists)


def asset_path(asset: str) -> str:
    """Return the path that an asset is, below the group of its layout: "" for that group itself."""
    path = asset.strip("/")
    return "" if path == "." else path.removeprefix("./")


@dataclass(frozen=True)
class Level:
    """What a layout says of an array, and the group that has the layout.

    Attributes
    ----------
    group : Node
        The group that has the attribute ``multiscales``.
    layout : Layout
        All items.
    of_array, of_group : Fragment or None
        The item that names the array, and that which names its group. There is one at least.
    """

    group: Node
    layout: Layout
    of_array: Fragment | None
    of_group: Fragment | None

    def other(self, asset: str) -> Fragment | None:
        """Return another item of the layout."""
        part = self.layout.items.get(asset)
        return None if part is None else part.at(self.group)

    @property
    def items(self) -> tuple[Fragment, ...]:
        """The items about the array, the one that counts first."""
        return tuple(item for item in (self.of_array, self.of_group) if item is not None)


#: Groups with their layouts.
Layouts: TypeAlias = tuple[tuple[Node, Layout], ...]


def level_in(layouts: Iterable[tuple[Node, Layout]], array: Node) -> Level | None:
    """Return the level that an array is of, by the first of some layouts that has it.

    An item is about the array that its ``asset`` names, or about the direct child arrays of
    the group that it names (multiscales convention).
    """
    for group, layout in layouts:
        level = Level(group, layout, *(layout.about(it, group) for it in (array, array.group)))
        if level.items:
            return level
    return None


def layout_of(array: ArrayView) -> Level | None:
    """Return the level that an array is of, by the nearest ancestor whose layout has it."""
    nothing: Layouts = ()
    layouts = array.of_groups_above(layouts_above, nothing)
    for group, layout in layouts:
        array.look_around()  # which item is about an array depends on its path
        if array.node.group.path[len(group.path) :].strip("/") in layout.groups:
            array.is_me(array.node)  # an item may be about this array and no other of its group
    level = level_in(layouts, array.node)
    for group, layout in layouts:
        for error in layout.wrong:
            array.problem(Fragment(group, error.keys, None).error(error.reason))
        if level is not None and group == level.group:
            break
    return level


def layouts_above(array: ArrayView, group: Node, above: Layouts) -> Layouts:
    """Return the groups from one upwards that have a layout, the nearest first."""
    multiscales = array.attribute_of(group, "multiscales")
    if multiscales is None:
        return above
    return ((group, array.parsed(Layout.parse, multiscales)), *above)


@dataclass(frozen=True)
class Places:
    """The objects in which attributes about an array may stand, the one that counts first.

    Attributes
    ----------
    own : tuple of Fragment
        The array's attributes, and the layout item that names it.
    around : tuple of Fragment
        Those of its group, the item that names the group, and those of the layout's group.
    shared : Fragment or None
        The one of these that is about all levels of the layout.
    """

    own: tuple[Fragment, ...]
    around: tuple[Fragment, ...]
    shared: Fragment | None

    @classmethod
    def about(
        cls,
        array: Node | None,
        group: Node,
        level: Level | None,
        attributes_of: Callable[[Node], Fragment | None],
    ) -> Places:
        """Return the places of an array of a group, given its level and who knows attributes.

        Those of all arrays of the group where it is None.
        """
        own = None if array is None else attributes_of(array)
        nearest = attributes_of(group)
        if level is None:
            return cls(_there(own), _there(nearest), None)
        if level.group == group:
            shared = None if level.of_array is None else nearest
            return cls(_there(own, level.of_array), _there(nearest, level.of_group), shared)
        shared = attributes_of(level.group)
        return cls(_there(own, level.of_array), _there(nearest, level.of_group, shared), shared)

    def get(self, key: str) -> Fragment | None:
        """Return the attribute that counts."""
        return self._first(key, is_of_all=key not in _OF_ONE_GRID)

    def get_of_level(self, key: str) -> Fragment | None:
        """Return the attribute that counts of those that are not about all levels."""
        return self._first(key, is_of_all=False)

    def _first(self, key: str, *, is_of_all: bool) -> Fragment | None:
        places = (it for it in (*self.own, *self.around) if is_of_all or it is not self.shared)
        return next((found for it in places if (found := it.get(key)) is not None), None)


def _there(*places: Fragment | None) -> tuple[Fragment, ...]:
    return tuple(place for place in places if place is not None)


def places_of(array: ArrayView) -> Places:
    """Return where attributes about an array may stand."""
    level = array.derived(layout_of)
    return Places.about(array.node, array.node.group, level, array.attributes_of)


class OfLevels(ConventionHandler):
    """A convention that the group of a layout declares for the arrays of all levels, too."""

    @classmethod
    def is_declared_around(cls, array: ArrayView) -> bool:
        """Tell whether the array's group declares the convention, or that of its layout."""
        if cls.is_declared_by_group(array):
            return True
        level = array.derived(layout_of)
        return level is not None and cls._is_declared_at(array, level.group)
