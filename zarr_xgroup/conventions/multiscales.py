"""`multiscales`: one image at several resolutions.

A group lists its levels in a layout: groups or arrays below it, and from which level each is derived. A layout gives
no coordinates by itself. Other conventions ask which level an array belongs to (`level_of`), and which attribute is
used for an array (`scopes_of`).

Source: multiscales convention (zarr-conventions/multiscales).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    NodeView,
    attributes_above,
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
from zarr_xgroup.findings import Finding, Place, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node, Part, pointer_to
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

#: The member of ``multiscales`` with the levels of a pyramid in the draft of the GeoZarr standard.
TILES = "tile_matrix_set"

#: By how many cells a level may extend beyond its source: by up to one if its size is rounded up, and a little more
#: because numbers are rounded.
OVERHANG = 1.001

#: How many levels, or members of a group, a remedy names at most.
_MOST_NAMED = 50

#: A valid asset: a relative path without "..". An asset with slashes around it is reported, but used.
_PATH = re.compile(r"(?!/)(?!.*\.\.)[^/]+(/[^/]+)*")

#: A number for Y and one for X.
Pair = tuple[float, float]

_TRANSFORM = '"transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]}'


# The attribute.


def _numbers(written: Fragment) -> Part:
    """Return a list of finite numbers as a part: how many there must be depends on the array."""
    finite_numbers(written, len(written.as_list()))
    return written.part


#: How levels were resampled. It is information for people and has no effect.
_Method = Annotated[
    str,
    Text(),
    Member(rule=RESAMPLING, severity="warning", example='"resampling_method": "average"'),
]


def asset_path(asset: str) -> str:
    """Return the path of an asset relative to the group of its layout, "" for that group itself."""
    return "" if asset == "." else asset.strip("/")


class Relation(Model, frozen=True, kw_only=True):
    """The ``transform`` of a level: scale and translation from its cells to those of its source level."""

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

        The numbers are in the order of an array's axes: one for each axis, or only those along Y and X, `dims`.
        `orders` are all dimensions of the array, then those of other arrays of the level, which the numbers may be meant
        for. `sizes` and `source` are the rows and columns of the level and of its source, empty if not known. `group`
        has the layout.

        Raises XGroupMetadataError if no array has as many axes as there are numbers, or the level does not have the
        extent of its source, within a cell of the coarser one.
        """
        yx = tuple(dim for dim in orders[0] if dim in dims)
        pairs: list[Pair] = []
        for part, default in ((self.scale, 1.0), (self.translation, 0.0)):
            numbers: Mapping[str, float] = dict.fromkeys(dims, default)
            if part is not None:
                fitting = (axes for axes in (yx, *orders) if len(axes) == len(part.value))
                # If no order fits, `finite_numbers` raises, because there are not two numbers.
                axes = next((axes for axes in fitting if {*axes} >= {*dims}), yx)
                written = finite_numbers(part.at(group), len(axes))
                numbers = dict(zip(axes, written, strict=True))
            pairs.append((numbers[dims[0]], numbers[dims[1]]))
        scales, shifts = pairs
        spans = [abs(scale) * size for scale, size in zip(scales, sizes, strict=False)]
        for span, whole, scale, shift in zip(spans, source, scales, shifts, strict=False):
            cell = max(1.0, abs(scale)) * OVERHANG
            # A level that is shifted may be a part of its source, so it may be shorter.
            if span - whole > cell or (shift == 0 and whole - span > cell):
                text = _(
                    "makes {rows} x {columns} cells of the level span {spanned} of the level that it is "
                    "derived from, which has {whole}"
                ).format(
                    rows=sizes[0],
                    columns=sizes[1],
                    spanned=" x ".join(f"{span:g}" for span in spans),
                    whole=" x ".join(map(str, source)),
                )
                meant = {dim: n / max(m, 1) for dim, n, m in zip(dims, source, sizes, strict=True)}
                remedy = write("scale", [meant[dim] for dim in yx])
                raise self.place(group).error(text, TRANSFORM, remedy)
        return scales, shifts


class Item(Model, frozen=True, kw_only=True):
    """An item of a layout: the description of one level.

    `asset` is the path of the level's group or array, as `asset_path` returns it. `derived_from` names its source, and
    `transform` leads from its cells to those of the source. `whole` is the JSON object, which may have attributes of
    other conventions, such as ``spatial:transform``.
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
    def report_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report an asset that is not a relative path, and a derived level without a transform."""
        found["whole"] = fragment.part
        if (asset := found.get("asset")) is not None:
            if not _PATH.fullmatch(asset):
                reason = must_be(_("the path of a level, relative to the group"), asset)
                meant = asset.strip("/")
                remedy = write("asset", meant if _PATH.fullmatch(meant) else "r10m")
                reader.report(ASSET, fragment.required("asset"), reason, remedy, value_kept=True)
            found["asset"] = asset_path(asset)
        if "derived_from" in found and "transform" not in fragment.value:
            reader.report(
                TRANSFORM,
                fragment.place("transform"),
                _("is missing, though the level is derived from another one"),
                such_as(_TRANSFORM),
                severity="warning",
                value_kept=True,
            )

    @property
    def is_derived(self) -> bool:
        """Whether ``derived_from`` is written, valid or not."""
        return self.derived_from is not None or self.wrong_with("derived_from") is not None

    @property
    def has_transform(self) -> bool:
        """Whether ``transform`` is written, valid or not."""
        return self.transform is not None or self.wrong_with("transform") is not None

    @property
    def is_base(self) -> bool:
        """Whether the level follows from no other level: it names no source, and is not scaled or shifted."""
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

        Without one it is the identity. `group` has the layout; errors name it.
        """
        relation = self.transform or Relation(keys=self.keys)
        wrong = self.wrong_with("transform") if self.transform is None else relation.lost
        if wrong is not None:
            raise wrong.at(group).as_error()
        return relation


class Layout(Model, frozen=True, kw_only=True, dict=True):
    """The attribute ``multiscales``. With a tile matrix set, as in the draft of GeoZarr, it has no items."""

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
        """The items by their asset, except items without an asset."""
        return {item.asset: item for item in self.layout if item.asset is not None}

    @cached_property
    def base(self) -> str | None:
        """The asset of the level that follows from no other level (`Item.is_base`); None unless there is exactly one."""
        found = [asset for asset, item in self.items.items() if item.is_base]
        return found[0] if len(found) == 1 else None

    def item_of(self, node: Node, group: Node) -> Item | None:
        """Return the item that names a node, None without one. `group` has the layout."""
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
        """Return a level, its source, the source of that, and so on. `group` has the layout.

        The second value is the error why the source of the last one cannot be used: it is not a level, or it is in
        the list already. It is None if the last one has no source.
        """
        levels: dict[str | None, Item] = {item.asset: item}
        while item.has_transform and item.is_derived:
            if wrong := item.wrong_with("derived_from"):
                return list(levels.values()), wrong.at(group).as_error()
            source, at, reason = self.source_of(item, group), item, ""
            if source in levels:
                at, names = self.items[source], " -> ".join(map(str, (*levels, source)))
                reason = _("levels are derived from one another: {chain}").format(chain=names)
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
    """Return the items of a group's layout as they are written; [] without a list of items, or for an array."""
    layout = None if subject.is_array else subject.attribute(ATTRIBUTE.key)
    levels = None if layout is None else layout.get("layout")
    return list(levels.items()) if levels is not None and isinstance(levels.value, list) else []


class Multiscales(ConventionHandler):
    """Reads and checks layouts. It gives no coordinates: other conventions ask which level an array belongs to."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "d35379db-88df-4056-af3a-620245f8e347"
    repositories = ("zarr-conventions/multiscales",)
    described = (ATTRIBUTE,)
    rules = RULES

    @classmethod
    def check(cls, subject: NodeView) -> Iterator[Finding]:
        """Yield items of a group's layout whose asset does not exist, or whose source is not a different level."""
        group, written = subject.node, subject.attribute(ATTRIBUTE.key)
        found = None if subject.is_array or written is None else ATTRIBUTE.read(written)[0]
        layout = found if isinstance(found, Layout) else Layout(keys=())
        for item in layout.layout:
            source = None if item.derived_from is None else layout.source_of(item, group)
            is_level = not source or source in layout.items
            if source is not None and (source == item.asset or not is_level):
                others = (asset for asset in layout.items if asset != item.asset)
                text = f"{shown(item.derived_from)} is no other level of the layout"
                remedy = f'name the "asset" of one of the others: {shown([*islice(others, _MOST_NAMED)])}'
                yield report(DERIVED, item.place(group, "derived_from"), text, remedy)
            if item.asset is None or any(finding.rule is ASSET for finding in item.wrong):
                continue  # reported already
            if subject.member(item.asset) is None:
                text = f"{shown(item.asset)} is neither a group nor an array here"
                names = shown(subject.members()[:_MOST_NAMED])
                remedy = f"name one of {names}, or leave this item out"
                yield report(THERE, item.place(group, "asset"), text, remedy)


# Which level an array belongs to, and which attribute is used for it.


@dataclass(frozen=True)
class LevelMembership:
    """The level of a layout that an array belongs to.

    An item is about the array that its ``asset`` names, or about the direct child arrays of the group that it names
    (multiscales convention).

    Attributes
    ----------
    group : Node
        The group that has the attribute ``multiscales``.
    layout : Layout
        All items.
    of_array, of_group : Item or None
        The item that names the array, and the one that names its group, for all of its arrays.
    """

    group: Node
    layout: Layout
    of_array: Item | None
    of_group: Item | None

    @classmethod
    def of(cls, array: Node | None, within: Node, group: Node, layout: Layout) -> LevelMembership:
        """Return the items about an array of a group, or if it is None, about all arrays of the group."""
        of_array = None if array is None else layout.item_of(array, group)
        return cls(group, layout, of_array, layout.item_of(within, group))

    @property
    def items(self) -> tuple[Item, ...]:
        """The items about the array, that of the array itself first; empty if it belongs to no level."""
        return tuple(item for item in (self.of_array, self.of_group) if item is not None)


@once_per_array
def level_of(array: NodeView) -> LevelMembership | None:
    """Return the level that an array belongs to, by the nearest group whose layout has an item about it, else None.

    Report layouts up to that group whose list of levels cannot be used.
    """
    for written in attributes_above(array, ATTRIBUTE.key):
        if written.get("layout") is None:
            continue
        layout = parse_once(array, Layout.read, written)
        list_of_levels = Place("", pointer_to((*layout.keys, "layout")))
        wrong = [finding for finding in layout.wrong if finding.place == list_of_levels]
        array.report_wrong(written.node, wrong)
        level = LevelMembership.of(array.node, array.node.group, written.node, layout)
        if level.items:
            return level
    return None


@dataclass(frozen=True)
class AttributeScopes:
    """The objects that may have an attribute of an array. The first object that has the attribute is used.

    The order is that of these fields.

    Attributes
    ----------
    own : tuple of Fragment
        The array's attributes, and the layout item that names it.
    around : tuple of Fragment
        The attributes of its group, and the layout item that names the group.
    shared : tuple of Fragment
        The attributes of the group that has the layout, which apply to all of its levels.
    """

    own: tuple[Fragment, ...]
    around: tuple[Fragment, ...]
    shared: tuple[Fragment, ...]

    @classmethod
    def of(
        cls, view: NodeView, array: Node | None, group: Node, level: LevelMembership | None
    ) -> AttributeScopes:
        """Return the scopes of an array of a level, or if it is None, those of all arrays of a group.

        `view` gives the attributes of nodes.
        """
        own = [None if array is None else view.attributes_of(array)]
        around, shared = [view.attributes_of(group)], []
        if level is not None:
            if level.group != group:
                shared = [view.attributes_of(level.group)]
            elif level.of_array is not None:
                # The group has the layout, and the array is a level. Without such an item the group is a level itself.
                around, shared = [], around
            for scopes, item in ((own, level.of_array), (around, level.of_group)):
                if item is not None and item.whole is not None:
                    scopes.append(item.whole.at(level.group))
        return cls(*(tuple(filter(None, scopes)) for scopes in (own, around, shared)))

    @property
    def all(self) -> tuple[Fragment, ...]:
        """All objects, the one that takes precedence first."""
        return (*self.own, *self.around, *self.shared)

    def get(self, key: str, *, skip_shared: bool = False) -> Fragment | None:
        """Return an attribute of the first object that has it, else None.

        Levels differ in transform and shape: those of the group that has the layout do not apply to a level. With
        `skip_shared` none of its attributes do.
        """
        shared = () if skip_shared or key.endswith((":transform", ":shape")) else self.shared
        for scope in (*self.own, *self.around, *shared):
            if (found := scope.get(key)) is not None:
                return found
        return None

    def value(self, attribute: Attribute) -> Any:
        """Return the parsed value of an attribute (`get`), None without it; XGroupMetadataError if it cannot be used."""
        written = self.get(attribute.key)
        return None if written is None else attribute.value(written)


@once_per_array
def scopes_of(array: NodeView) -> AttributeScopes:
    """Return the objects that may have an attribute of an array."""
    return AttributeScopes.of(array, array.node, array.node.group, level_of(array))


def follows_by_level(convention: type[Convention], array: ArrayView) -> bool:
    """Return whether an array follows a convention, or the group whose layout has the array's level declares it."""
    if array.follows(convention):
        return True
    level = level_of(array)
    return level is not None and convention in array.declared_for_arrays_of(level.group)
