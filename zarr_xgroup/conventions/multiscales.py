"""`multiscales`: one image at several resolutions.

The layout of a group lists its levels, which are groups or arrays below it, and the source of each level. It defines no
coordinates. Other conventions need the level of an array (`level_of`) and the attributes that apply to it (`scopes_of`).

Source: multiscales convention (zarr-conventions/multiscales).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, ClassVar

import msgspec

from zarr_xgroup.conventions.array import (
    ArrayView,
    NodeView,
    attributes_above,
    declared_for_arrays_of,
    once_per_array,
    parse_once,
)
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.declaring import Convention
from zarr_xgroup.conventions.descriptions import (
    Items,
    Member,
    Model,
    Nested,
    Parsed,
    Reader,
    Text,
    must_be,
    shown,
    such_as,
    write,
)
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.errors import Rule, XGroupError, XGroupReferenceError, rules_in
from zarr_xgroup.findings import Finding, Place, Topic, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node, Part, pointer_to
from zarr_xgroup.metadata.paths import is_below
from zarr_xgroup.options import Pair

DOCUMENT = "multiscales convention (zarr-conventions/multiscales)"

LAYOUT = Rule("multiscales/layout", DOCUMENT, "Field details")
ASSET = Rule("multiscales/asset", DOCUMENT, "Layout object: asset")
DERIVED = Rule("multiscales/derived-from", DOCUMENT, "Layout object: derived_from")
TRANSFORM = Rule("multiscales/transform", DOCUMENT, "Transform object")
RESAMPLING = Rule("multiscales/resampling-method", DOCUMENT, "Field details")
OF_GROUP = Rule("multiscales/of-groups", DOCUMENT, "Applicability")
THERE = Rule("multiscales/asset-is-there", DOCUMENT, "Layout object: asset")

RULES = rules_in(vars())

#: The member of ``multiscales`` with the levels of a pyramid in the draft of the GeoZarr standard.
TILES = "tile_matrix_set"

#: By how many cells a level may extend beyond its source: one if its size is rounded up, plus a rounding error.
OVERHANG = 1.001

#: How many levels, or members of a group, a remedy names at most.
_MOST_NAMED = 50

#: A valid asset: a relative path without "..". An asset with slashes at its ends is reported, but used.
_PATH = re.compile(r"(?!/)(?!.*\.\.)[^/]+(/[^/]+)*")

_TRANSFORM = '"transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]}'


# The attribute.


def _numbers(written: Fragment) -> Part:
    """Return a list of finite numbers as a part, with the length still unchecked."""
    finite_numbers(written, len(written.as_list()))
    return written.part


#: How levels were resampled; information without effect.
_Method = Annotated[
    str,
    Text(),
    Member(rule=RESAMPLING, severity="warning", example='"resampling_method": "average"'),
]


def asset_path(asset: str) -> str:
    """Return the path of an asset relative to the group of its layout, "" for that group itself."""
    return "" if asset == "." else asset.strip("/")


class Relation(Model, frozen=True, kw_only=True):
    """The ``transform`` of a level: scale and translation from its cells to the cells of its source."""

    form: ClassVar[Rule] = TRANSFORM
    required: ClassVar[Rule | None] = LAYOUT
    spelling: ClassVar[Rule | None] = LAYOUT

    scale: Annotated[Part | None, Parsed(_numbers), Member(example='"scale": [2.0, 2.0]')] = None
    translation: Annotated[
        Part | None, Parsed(_numbers), Member(example='"translation": [0.0, 0.0]')
    ] = None

    def scale_and_shift(
        self,
        group: Node,
        dims: tuple[str, str],
        orders: Sequence[Collection[str]],
        sizes: Sequence[int],
        source: Sequence[int],
    ) -> tuple[Pair, Pair]:
        """Return scale and translation for rows and columns: ``(scale_y, scale_x), (shift_y, shift_x)``.

        There is one number for each axis of an array, or only for the axes along Y and X (`dims`), in the array's order.
        `orders` are the dimensions of the array, then those of other arrays of the level. `sizes` and `source` are the
        rows and columns of the level and of its source, empty if not known. `group` has the layout.

        Raises XGroupMetadataError if no array has as many axes as there are numbers, or if the extents of the level and
        its source differ by more than a cell of the coarser one.
        """
        yx = tuple(dim for dim in orders[0] if dim in dims)
        pairs: list[Pair] = []
        for part, default in ((self.scale, 1.0), (self.translation, 0.0)):
            numbers: Mapping[str, float] = dict.fromkeys(dims, default)
            if part is not None:
                fitting = (axes for axes in (yx, *orders) if len(axes) == len(part.value))
                # If no order fits, `finite_numbers` raises an error that there must be two numbers.
                axes = next((axes for axes in fitting if {*axes} >= {*dims}), yx)
                values = finite_numbers(part.at(group), len(axes))
                numbers = dict(zip(axes, values, strict=True))
            pairs.append((numbers[dims[0]], numbers[dims[1]]))
        scales, shifts = pairs
        spans = [abs(scale) * size for scale, size in zip(scales, sizes, strict=False)]
        for span, whole, scale, shift in zip(spans, source, scales, shifts, strict=False):
            cell = max(1.0, abs(scale)) * OVERHANG
            # A shifted level may be shorter, because it may be a part of its source.
            if span - whole > cell or (shift == 0 and whole - span > cell):
                text = _(
                    "maps the {rows} x {columns} cells of the level to {spanned} cells of its source, "
                    "which has {whole}"
                ).format(
                    rows=sizes[0],
                    columns=sizes[1],
                    spanned=" x ".join(f"{span:g}" for span in spans),
                    whole=" x ".join(map(str, source)),
                )
                ratio = {dim: n / max(m, 1) for dim, n, m in zip(dims, source, sizes, strict=True)}
                remedy = write("scale", [ratio[dim] for dim in yx])
                raise self.place(group).error(text, TRANSFORM, remedy)
        return scales, shifts


class Item(Model, frozen=True, kw_only=True):
    """An item of a layout, which describes one level.

    `asset` is the path by `asset_path` of the level's group or array. `whole` is the JSON object, which may have
    attributes of other conventions, such as ``spatial:transform``.
    """

    form: ClassVar[Rule] = LAYOUT
    required: ClassVar[Rule | None] = ASSET

    asset: Annotated[
        str | None, Text(), Member(rule=ASSET, required=True, example='"asset": "r10m"')
    ] = None
    derived_from: Annotated[
        str | None,
        Parsed(Fragment.as_text),
        Member(rule=DERIVED, example='"derived_from": "r10m"'),
    ] = None
    transform: Annotated[
        Relation | None, Nested(Relation), Member(rule=TRANSFORM, example=_TRANSFORM)
    ] = None
    resampling_method: _Method = ""
    whole: Part | None = None

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Report an asset that is not a relative path, and a derived level without a transform."""
        fields["whole"] = fragment.part
        if (asset := fields.get("asset")) is not None:
            if not _PATH.fullmatch(asset):
                text = must_be(_("the path of a level, relative to the group"), asset)
                stripped = asset.strip("/")
                remedy = write("asset", stripped if _PATH.fullmatch(stripped) else "r10m")
                reader.report(ASSET, fragment.required("asset"), text, remedy, value_kept=True)
            fields["asset"] = asset_path(asset)
        if "derived_from" in fields and "transform" not in fragment.value:
            reader.report(
                TRANSFORM,
                fragment.place("transform"),
                _("is missing, but the level is derived from a different one"),
                such_as(_TRANSFORM),
                severity="warning",
                value_kept=True,
            )

    @property
    def is_derived(self) -> bool:
        """Whether there is a ``derived_from``, valid or not."""
        return self.derived_from is not None or self.wrong_with("derived_from") is not None

    @property
    def has_transform(self) -> bool:
        """Whether there is a ``transform``, valid or not."""
        return self.transform is not None or self.wrong_with("transform") is not None

    @property
    def is_base(self) -> bool:
        """Whether the level has no source, and is not scaled or shifted."""
        relation = self.transform
        if self.is_derived or not self.has_transform:
            return not self.is_derived
        if relation is None or relation.lost:
            return False
        scale, shift = (
            part.value if part else () for part in (relation.scale, relation.translation)
        )
        return {*scale} <= {1} and {*shift} <= {0}

    def relation(self, group: Node) -> Relation:
        """Return the transform to the level's source, or raise XGroupMetadataError if it cannot be used.

        If there is no transform, it is the identity. `group` has the layout.
        """
        relation = self.transform or Relation(keys=self.keys)
        finding = self.wrong_with("transform") if self.transform is None else relation.lost
        if finding is not None:
            raise finding.at(group).as_error()
        return relation


class Layout(Model, frozen=True, kw_only=True, dict=True):
    """The attribute ``multiscales``. It has no items if it has a tile matrix set (GeoZarr draft)."""

    form: ClassVar[Rule] = LAYOUT
    others: ClassVar[frozenset[str]] = frozenset({TILES, "tile_matrix_set_limits"})

    layout: Annotated[
        tuple[Item, ...],
        Items(Nested(Item), least=1),
        Member(
            required=True,
            unless=(TILES,),
            example='"layout": [{"asset": "0"}, '
            '{"asset": "1", "derived_from": "0", "transform": {...}}]',
        ),
    ] = ()
    resampling_method: _Method = ""

    @cached_property
    def items(self) -> Mapping[str, Item]:
        """The items that have an asset, by asset."""
        return {item.asset: item for item in self.layout if item.asset is not None}

    @cached_property
    def base(self) -> str | None:
        """The asset of the base level (`Item.is_base`); None unless there is exactly one."""
        assets = [asset for asset, item in self.items.items() if item.is_base]
        return assets[0] if len(assets) == 1 else None

    def item_of(self, node: Node, group: Node) -> Item | None:
        """Return the item whose asset is a node, or None. `group` has the layout."""
        path, within = node.path, group.path
        return self.items.get(path[len(within) :].strip("/")) if is_below(path, within) else None

    def source_of(self, item: Item, group: Node) -> str:
        """Return the asset of the level that an item is derived from, "" for the group that has the layout.

        ``derived_from`` may be empty, ``"."``, or the name or path of that group.
        """
        source = asset_path(item.derived_from or "")
        is_group = source not in self.items and source in (group.name, group.path)
        return "" if is_group else source

    def derivation(self, item: Item, group: Node) -> tuple[list[Item], XGroupError | None]:
        """Return a level, its source, the source of that, and so on, and an error. `group` has the layout.

        The error is None if the last level has no source. Otherwise it is the reason why that source cannot be used.
        """
        levels: dict[str | None, Item] = {item.asset: item}
        while item.has_transform and item.is_derived:
            if finding := item.wrong_with("derived_from"):
                return list(levels.values()), finding.at(group).as_error()
            source, at, reason = self.source_of(item, group), item, ""
            if source in levels:
                at, names = self.items[source], " -> ".join(map(str, (*levels, source)))
                reason = _("levels are derived from each other: {chain}").format(chain=names)
            elif source and source not in self.items:
                reason = _("there is no level {asset!r}").format(asset=source)
            if reason:
                error = XGroupReferenceError(reason, place=str(at.place(group)), target=source)
                return list(levels.values()), error
            # The source "" is the group of the layout itself, which does not need an item.
            item = levels[source] = self.items.get(source) or Item(keys=self.keys, asset=source)
        return list(levels.values()), None


ATTRIBUTE = Attribute(
    "multiscales",
    Nested(Layout),
    LAYOUT,
    '"multiscales": {"layout": [{"asset": "0"}, {"asset": "1"}]}',
    on="group",
    misplaced=OF_GROUP,
    marks=("layout",),
)


def items_in_layout(subject: NodeView) -> list[Fragment]:
    """Return the JSON of the items of a group's layout, [] if there are no items."""
    layout = None if subject.is_array else subject.attribute(ATTRIBUTE.key)
    levels = None if layout is None else layout.get("layout")
    return list(levels.items()) if levels is not None and isinstance(levels.value, list) else []


def nodes_in_layout(subject: NodeView) -> set[Node]:
    """Return a group and the nodes that its layout names, whether or not they exist; nothing if it has no layout."""
    group = subject.node
    if subject.attribute(ATTRIBUTE.key) is None:
        return set()
    assets = (item.get("asset") for item in items_in_layout(subject))
    paths = (asset.value for asset in assets if asset is not None)
    return {group, *(group.child(asset_path(path)) for path in paths if isinstance(path, str))}


class Multiscales(ConventionHandler):
    """Reads and checks layouts, which define no coordinates."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "d35379db-88df-4056-af3a-620245f8e347"
    identifiers = ("zarr-conventions/multiscales",)
    described = (ATTRIBUTE,)
    rules = RULES

    @classmethod
    def check(cls, subject: NodeView) -> Iterator[Finding]:
        """Report items of a group's layout whose asset does not exist, or whose source is not a different level."""
        group, written = subject.node, subject.attribute(ATTRIBUTE.key)
        value = None if subject.is_array or written is None else ATTRIBUTE.read(written)[0]
        layout = value if isinstance(value, Layout) else Layout(keys=())
        for item in layout.layout:
            source = None if item.derived_from is None else layout.source_of(item, group)
            is_level = not source or source in layout.items
            if source is not None and (source == item.asset or not is_level):
                others = (asset for asset in layout.items if asset != item.asset)
                text = f"{shown(item.derived_from)} is not a different level of the layout"
                remedy = f'name the "asset" of one of the others: {shown([*islice(others, _MOST_NAMED)])}'
                yield new_finding(DERIVED, item.place(group, "derived_from"), text, remedy)
            if item.asset is None or any(finding.rule is ASSET for finding in item.wrong):
                continue  # reported already
            if subject.member(item.asset) is None:
                text = f"{shown(item.asset)} does not exist below the group"
                names = shown(subject.members()[:_MOST_NAMED])
                remedy = f"name one of {names}, or leave this item out"
                yield new_finding(THERE, item.place(group, "asset"), text, remedy)


# The level of an array, and the attributes that apply to it.


class LevelMembership(msgspec.Struct, frozen=True):
    """The level of a layout to which an array belongs.

    An item describes the array that its ``asset`` names, or the direct child arrays of the group that it names
    (multiscales convention).

    Attributes
    ----------
    group : Node
        The group that has the attribute ``multiscales``.
    layout : Layout
        All items.
    of_array, of_group : Item or None
        The item that names the array, and the item that names its group.
    """

    group: Node
    layout: Layout
    of_array: Item | None
    of_group: Item | None

    @classmethod
    def of(cls, array: Node | None, within: Node, group: Node, layout: Layout) -> LevelMembership:
        """Return the level of an array, or of all arrays of a group if `array` is None.

        `within` is the group of the array, and `group` has the layout.
        """
        of_array = None if array is None else layout.item_of(array, group)
        return cls(group, layout, of_array, layout.item_of(within, group))

    @property
    def items(self) -> tuple[Item, ...]:
        """The items that describe the array, its own first."""
        return tuple(item for item in (self.of_array, self.of_group) if item is not None)


@once_per_array
def level_of(array: NodeView) -> LevelMembership | None:
    """Return the level of an array in the nearest layout above it that has one, or None.

    Report layouts up to that one whose list of levels cannot be used.
    """
    for written in attributes_above(array, ATTRIBUTE.key):
        if written.get("layout") is None:
            continue
        layout = parse_once(array, Layout.read, written)
        list_of_levels = Place("", pointer_to((*layout.keys, "layout")))
        findings = [finding for finding in layout.wrong if finding.place == list_of_levels]
        array.report_wrong(written.node, findings)
        level = LevelMembership.of(array.node, array.node.group, written.node, layout)
        if level.items:
            return level
    return None


def report_translations(array: ArrayView, level: LevelMembership) -> None:
    """Report that translations of a layout move levels off their bounding box, in the same words for all levels."""
    translations = {}
    for asset, item in level.layout.items.items():
        shift = None if item.transform is None else item.transform.translation
        if shift is not None and any(shift.value):
            translations[asset] = shift.value
    text = _(
        "has translations by which levels do not begin at the corner of their spatial:bbox; they are "
        "used: {translations}"
    ).format(translations=shown(translations))
    zeros = [0.0] * max(map(len, translations.values()))
    remedy = f"{write('translation', zeros)} in each of these items"
    place = level.layout.place(level.group, "layout")
    array.report(TRANSFORM, place, text, remedy, topic=Topic.CHOICE, severity="warning")


class AttributeScopes(msgspec.Struct, frozen=True):
    """The JSON objects whose attributes apply to an array. The first one that has an attribute is used.

    Attributes
    ----------
    own : tuple of Fragment
        The array's attributes, and the layout item that names it.
    of_group : tuple of Fragment
        The attributes of its group, and the layout item that names the group.
    shared : tuple of Fragment
        The attributes of the group with the layout, which apply to all of its levels.
    """

    own: tuple[Fragment, ...]
    of_group: tuple[Fragment, ...]
    shared: tuple[Fragment, ...]

    @classmethod
    def of(
        cls, view: NodeView, array: Node | None, group: Node, level: LevelMembership | None
    ) -> AttributeScopes:
        """Return the scopes of an array, or of all arrays of a group if `array` is None.

        `view` returns the attributes of nodes.
        """
        own = [None if array is None else view.attributes_of(array)]
        of_group, shared = [view.attributes_of(group)], []
        if level is not None:
            if level.group != group:
                shared = [view.attributes_of(level.group)]
            elif level.of_array is not None:
                # The group has the layout, and the array is a level. Otherwise the group itself is a level.
                of_group, shared = [], of_group
            for scopes, item in ((own, level.of_array), (of_group, level.of_group)):
                if item is not None and item.whole is not None:
                    scopes.append(item.whole.at(level.group))
        return cls(*(tuple(filter(None, scopes)) for scopes in (own, of_group, shared)))

    @property
    def all(self) -> tuple[Fragment, ...]:
        """All objects, in the order of precedence."""
        return (*self.own, *self.of_group, *self.shared)

    def get(self, key: str, *, skip_shared: bool = False) -> Fragment | None:
        """Return an attribute of the first object that has it, or None.

        Transform and shape of the group with the layout do not apply to its levels, which differ in them. With
        `skip_shared`, none of its attributes apply.
        """
        shared = () if skip_shared or key.endswith((":transform", ":shape")) else self.shared
        for scope in (*self.own, *self.of_group, *shared):
            if (attribute := scope.get(key)) is not None:
                return attribute
        return None

    def value(self, attribute: Attribute) -> Any:
        """Return the parsed value of an attribute (`get`), or None; raise XGroupMetadataError if it is not valid."""
        written = self.get(attribute.key)
        return None if written is None else attribute.value(written)


@once_per_array
def scopes_of(array: NodeView) -> AttributeScopes:
    """Return the JSON objects whose attributes apply to an array."""
    return AttributeScopes.of(array, array.node, array.node.group, level_of(array))


def follows_by_level(convention: type[Convention], array: ArrayView) -> bool:
    """Return whether an array follows a convention, or the group with the layout of its level declares it."""
    if array.follows(convention):
        return True
    level = level_of(array)
    return level is not None and convention in declared_for_arrays_of(array, level.group)
