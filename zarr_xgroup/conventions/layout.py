"""The `multiscales` layout: what a parent group says of the levels below it.

And which attribute counts for an array: its own, or one of what is written around it.

Source: multiscales convention (zarr-conventions/multiscales).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView, attributes_above, once_per_array, parse_once
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.declaring import Convention, is_declared_at, is_declared_by_group
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    Attribute,
    Items,
    Kind,
    Member,
    Model,
    Nested,
    Parsed,
    Reader,
    Text,
    fields_of,
    got,
    shown,
    write,
)
from zarr_xgroup.conventions.spatial_model import ATTRIBUTES as SPATIAL
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node, Part
from zarr_xgroup.metadata.paths import is_below

DOCUMENT = "multiscales convention (zarr-conventions/multiscales)"

LAYOUT = Rule("multiscales/layout", DOCUMENT, "Field details")
ASSET = Rule("multiscales/asset", DOCUMENT, "Layout object: asset")
DERIVED = Rule("multiscales/derived-from", DOCUMENT, "Layout object: derived_from")
TRANSFORM = Rule("multiscales/transform", DOCUMENT, "Transform object")
RESAMPLING = Rule("multiscales/resampling-method", DOCUMENT, "Field details")
OF_GROUP = Rule("multiscales/of-groups", DOCUMENT, "Applicability")
THERE = Rule("multiscales/asset-is-there", DOCUMENT, "Layout object: asset")

RULES = rules_in(vars())

#: The member by which the draft of the GeoZarr standard says the levels of a pyramid.
TILES = "tile_matrix_set"

#: Attributes that a layout's group has for one grid, not for all levels, without their prefix.
_OF_ONE_GRID = ("transform", "shape")

#: Among how many levels the one is looked for that a wrong source probably means.
_MOST_MEANT = 100

_PATH = re.compile(r"(?!/)(?!.*\.\.)[^/]+(/[^/]+)*")


@dataclass(frozen=True)
class _Asset(Kind):
    """A string, which should be the path of a level."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the path, as `asset_path` has it."""
        is_text = isinstance(value.value, str)
        if not (is_text and _PATH.fullmatch(value.value)):
            reason = got(_("the path of a level, relative to the group"), value.value)
            meant = value.value.strip("/") if is_text else ""
            remedy = write(member.key, meant if _PATH.fullmatch(meant) else "r10m")
            reader.report(member, value, reason, remedy, value_kept=is_text)
        return asset_path(value.value) if is_text else UNUSABLE


def asset_path(asset: str) -> str:
    """Return the path that an asset is, below the group of its layout: "" for that group itself."""
    return "" if asset == "." else asset.strip("/")


def _numbers(written: Fragment) -> Part:
    finite_numbers(written, len(written.as_list()))
    return written.part


_NUMBERS = Parsed(_numbers)

#: How levels were made of others: for people.
_Method = Annotated[
    str,
    Text(),
    Member(rule=RESAMPLING, severity="warning", example='"resampling_method": "average"'),
]


class Relation(Model, frozen=True, kw_only=True):
    """How positions of a level are positions of the one that it is derived from."""

    form: ClassVar[Rule] = TRANSFORM
    required: ClassVar[Rule | None] = LAYOUT
    spelling: ClassVar[Rule | None] = LAYOUT

    scale: Annotated[Part | None, _NUMBERS, Member(example='"scale": [2.0, 2.0]')] = None
    translation: Annotated[Part | None, _NUMBERS, Member(example='"translation": [0.0, 0.0]')] = (
        None
    )

    @property
    def changes_nothing(self) -> bool:
        """Whether positions are the same."""
        written = (self.scale, 1), (self.translation, 0)
        is_same = all(it is None or {*it.value} <= {number} for it, number in written)
        return self.lost is None and is_same


class Item(Model, frozen=True, kw_only=True):
    """A level of a layout.

    Attributes
    ----------
    asset : str or None
        The group or array that it is, as `asset_path` has it.
    derived_from : str or None
        The asset of the level that it was made of.
    transform : Relation or None
        How it follows from that.
    resampling_method : str
        How it was made.
    whole : Part or None
        The object itself, which may have attributes of other conventions.
    """

    form: ClassVar[Rule] = LAYOUT
    required: ClassVar[Rule | None] = ASSET

    asset: Annotated[
        str | None, _Asset(), Member(rule=ASSET, required=True, example='"asset": "r10m"')
    ] = None
    derived_from: Annotated[
        str | None,
        Parsed(Fragment.as_text),
        Member(rule=DERIVED, example='"derived_from": "r10m"'),
    ] = None
    transform: Annotated[
        Relation | None,
        Nested(Relation),
        Member(
            rule=TRANSFORM,
            example='"transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]}',
        ),
    ] = None
    resampling_method: _Method = ""
    whole: Part | None = None

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down that it is derived, but not how, and what is wrong with its grid."""
        found["whole"] = fragment.part
        for attribute in SPATIAL:
            written = fragment.get(attribute.key)
            wrong = () if written is None else attribute.all_wrong(written)
            reader.wrong += (replace(it, topic=None) for it in wrong)
            if written is None and attribute.key in fragment.value:
                place = Fragment(fragment.node, (*fragment.keys, attribute.key), None)
                reader.null(place, attribute.form)
        _kind, member = fields_of(cls)["transform"]
        if "derived_from" in found and member.key not in fragment.value:
            reader.report(
                member,
                Fragment(fragment.node, (*fragment.keys, member.key), None),
                _("is missing, though the level is derived from another one"),
                severity="warning",
                value_kept=True,
            )

    def place_of_asset(self, node: Node) -> Fragment:
        """Return where its asset is written, given the node with the layout."""
        return self.place(node, "asset")

    @property
    def is_derived(self) -> bool:
        """Whether it says from which level it is derived, right or wrong."""
        return self.derived_from is not None or self.wrong_with("derived_from") is not None

    def source(self, group: Node) -> str | None:
        """Return the asset of the level that it is derived from, given the layout's group.

        Raises XGroupMetadataError if that cannot be used.
        """
        if wrong := self.wrong_with("derived_from"):
            raise wrong.at(group).as_error()
        return None if self.derived_from is None else asset_path(self.derived_from)

    @property
    def is_scaled(self) -> bool:
        """Whether it says how it follows from another level, right or wrong."""
        return self.transform is not None or self.wrong_with("transform") is not None

    def relation(self, group: Node) -> Relation:
        """Return how it follows from another level, given the layout's group.

        Raises XGroupMetadataError if that cannot be used.
        """
        relation = self.transform or Relation(keys=self.keys)
        wrong = self.wrong_with("transform") if self.transform is None else relation.lost
        if wrong is not None:
            raise wrong.at(group).as_error()
        return relation

    @property
    def is_base(self) -> bool:
        """Whether it neither names a source nor has numbers that change anything."""
        if self.is_derived:
            return False
        return not self.is_scaled or (self.transform is not None and self.transform.changes_nothing)


class Layout(Model, frozen=True, kw_only=True, dict=True):
    """The attribute ``multiscales``."""

    form: ClassVar[Rule] = LAYOUT

    layout: Annotated[
        tuple[Item, ...],
        Items(Nested(Item), least=1),
        Member(
            required=True,
            example='"layout": [{"asset": "0"}, '
            '{"asset": "1", "derived_from": "0", "transform": {...}}]',
        ),
    ] = ()
    resampling_method: _Method = ""

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down levels that are derived from what is no other level.

        An open tells of it if that one is needed.
        """
        items: tuple[Item, ...] = found.get("layout", ())
        assets = {item.asset: None for item in items if item.asset is not None}
        for item in items:
            source = item.derived_from
            if source is None or ((path := asset_path(source)) in assets and path != item.asset):
                continue
            others = list(islice((asset for asset in assets if asset != item.asset), _MOST_MEANT))
            text = _("{source} is no other level of the layout").format(source=shown(source))
            remedy = _('name the "asset" of one of the others: {assets}').format(
                assets=shown(others)
            )
            place = item.place(fragment.node, "derived_from")
            reader.report(DERIVED, place, text, remedy, value_kept=True)

    @property
    def unusable(self) -> Finding | None:
        """What is wrong with the list of levels, if it is none."""
        keys = (*self.keys, "layout")
        return next((it for it in self.wrong if it.place.keys == keys and it.topic), None)

    @cached_property
    def items(self) -> Mapping[str, Item]:
        """The levels by their asset."""
        return {item.asset: item for item in self.layout if item.asset is not None}

    @cached_property
    def groups(self) -> frozenset[str]:
        """The groups that assets are in."""
        return frozenset(asset.rpartition("/")[0] for asset in self.items)

    @cached_property
    def base(self) -> str | None:
        """The only asset that is derived from no other one, nor scaled; None if there are several."""
        found = [asset for asset, item in self.items.items() if item.is_base]
        return found[0] if len(found) == 1 else None

    def about(self, node: Node, group: Node) -> Item | None:
        """Return the item that names a node, given the group that has the layout."""
        if not is_below(node.path, group.path):
            return None
        return self.items.get(node.path[len(group.path) :].strip("/"))

    def about_array(self, array: Node, group: Node) -> Item | None:
        """Return the item that names an array, given the group that has the layout.

        The path of the array is looked at only where an item is about an array of its group.
        """
        path, within = array.group.path, group.path
        if not is_below(path, within) or path[len(within) :].strip("/") not in self.groups:
            return None
        return self.about(array, group)


@dataclass(frozen=True)
class _LevelsOrTiles(Nested):
    """A layout, unless the levels are those of tiles."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the layout."""
        is_of_tiles = isinstance(value.value, OBJECT) and TILES in value.value
        return UNUSABLE if is_of_tiles else super().read(value, member, reader)


#: The attribute of a group.
ATTRIBUTE = Attribute(
    "multiscales",
    _LevelsOrTiles(Layout),
    LAYOUT,
    '"multiscales": {"layout": [{"asset": "0"}, {"asset": "1"}]}',
    on="group",
    misplaced=OF_GROUP,
    marks=("layout",),
)


class Multiscales(ConventionHandler):
    """What declares a layout. It gives no coordinates: `spatial` reads it."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "d35379db-88df-4056-af3a-620245f8e347"
    repositories = ("zarr-conventions/multiscales",)
    described = (ATTRIBUTE,)
    rules = RULES


@dataclass(frozen=True)
class Level:
    """What a layout says of an array, and the group that has the layout.

    Attributes
    ----------
    group : Node
        The group that has the attribute ``multiscales``.
    layout : Layout
        All items.
    of_array, of_group : Item or None
        The item that names the array, and that which names its group. There is one at least.
    """

    group: Node
    layout: Layout
    of_array: Item | None
    of_group: Item | None

    @property
    def items(self) -> tuple[Item, ...]:
        """The items about the array, the one that counts first."""
        return tuple(item for item in (self.of_array, self.of_group) if item is not None)

    def attributes(self, item: Item | None) -> Fragment | None:
        """Return an item as an object in which attributes about an array may stand."""
        return None if item is None or item.whole is None else item.whole.at(self.group)


def level_in(layouts: Iterable[tuple[Node, Layout]], array: Node) -> Level | None:
    """Return the level that an array is of, by the first of some layouts that has it.

    An item is about the array that its ``asset`` names, or about the direct child arrays of
    the group that it names (multiscales convention).
    """
    for group, layout in layouts:
        about = layout.about_array(array, group), layout.about(array.group, group)
        level = Level(group, layout, *about)
        if level.items:
            return level
    return None


@once_per_array
def layout_of(array: ArrayView) -> Level | None:
    """Return the level that an array is of, by the nearest ancestor whose layout has it."""
    layouts = [
        (written.node, parse_once(array, Layout.read, written))
        for written in attributes_above(array, ATTRIBUTE.key)
        if written.get("layout") is not None
    ]
    level = level_in(layouts, array.node)
    for group, layout in layouts:
        if (wrong := layout.unusable) is not None:
            array.report_wrong(group, [wrong])
        if level is not None and group == level.group:
            break
    return level


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
        of_array, of_group = map(level.attributes, (level.of_array, level.of_group))
        if level.group == group:
            shared = None if of_array is None else nearest
            return cls(_there(own, of_array), _there(nearest, of_group), shared)
        shared = attributes_of(level.group)
        return cls(_there(own, of_array), _there(nearest, of_group, shared), shared)

    def get(self, key: str) -> Fragment | None:
        """Return the attribute that counts."""
        is_of_one = key.rpartition(":")[2] in _OF_ONE_GRID
        return self._first(key, self.shared if is_of_one else None)

    def get_of_level(self, key: str) -> Fragment | None:
        """Return the attribute that counts of those that are not about all levels."""
        return self._first(key, self.shared)

    def value(self, attribute: Attribute) -> Any:
        """Return what the attribute that counts means, None where there is none.

        Raises
        ------
        XGroupMetadataError
            If it cannot be used.
        """
        written = self.get(attribute.key)
        return None if written is None else attribute.value(written)

    def _first(self, key: str, without: Fragment | None) -> Fragment | None:
        places = (it for it in (*self.own, *self.around) if without is None or it is not without)
        return next((found for it in places if (found := it.get(key)) is not None), None)


def _there(*places: Fragment | None) -> tuple[Fragment, ...]:
    return tuple(place for place in places if place is not None)


@once_per_array
def places_of(array: ArrayView) -> Places:
    """Return where attributes about an array may stand."""
    level = layout_of(array)
    return Places.about(array.node, array.node.group, level, array.attributes_of)


def is_declared_around(convention: type[Convention], array: ArrayView) -> bool:
    """Tell whether an array's group declares a convention, or that of its layout, for all levels."""
    if is_declared_by_group(convention, array):
        return True
    level = layout_of(array)
    return level is not None and is_declared_at(convention, array, level.group)
