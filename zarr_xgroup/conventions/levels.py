"""The grids of the levels of a `multiscales` layout: each follows that of the level it is derived from.

Source: multiscales convention (zarr-conventions/multiscales).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from affine import Affine

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.descriptions import write
from zarr_xgroup.conventions.layout import TRANSFORM as RELATION
from zarr_xgroup.conventions.layout import Item, Level, Places, Relation, asset_path
from zarr_xgroup.conventions.proj import crs_of
from zarr_xgroup.conventions.spatial_model import (
    BOX,
    CENTRES,
    REGISTRATION,
    SHAPE,
    TRANSFORM,
    TRANSFORM_TYPE,
    usable,
)
from zarr_xgroup.conventions.transforms import OVERHANG, Transform, composed, from_box
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.errors import XGroupError, XGroupReferenceError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node


@dataclass(frozen=True)
class Site:
    """Where the grid of a level is declared.

    Attributes
    ----------
    places : Places
        Where its attributes may stand.
    sizes : tuple of int or None
        The number of rows, and of columns, if they are known.
    crs : Crs or None
        The CRS of its coordinates.
    """

    places: Places
    sizes: tuple[int, int] | None
    crs: Crs | None

    def check_kind(self) -> None:
        """Raise XGroupMetadataError if what is written is another kind of transform."""
        kind = self.places.value(TRANSFORM_TYPE)
        if kind not in (None, "affine"):
            place = self.places.get(TRANSFORM_TYPE.key)
            message = _("is {kind!r}; only 'affine' is known").format(kind=kind)
            raise place.error(message)  # type: ignore[union-attr]

    @property
    def centre(self) -> float:
        """Where the centre of a cell is in its index, or raise XGroupMetadataError."""
        centre: float | None = self.places.value(REGISTRATION)
        return CENTRES["pixel"] if centre is None else centre

    @property
    def box(self) -> Fragment | None:
        """The bounding box; None also for the placeholder that products write."""
        box = self.places.get(BOX.key)
        return None if box is None or is_placeholder(box) else box

    def sides(self, box: Fragment) -> list[float]:
        """Return the sides of the bounding box: across the antimeridian it ends beyond 180 degrees east."""
        left, bottom, right, top = BOX.value(box)
        units = {} if self.crs is None else self.crs.axis_attributes().get("X", {})
        if left > right and units.get("units") == "degrees_east":
            right += 360
        return [left, bottom, right, top]

    def transform(self, written: Fragment | None) -> Transform | None:
        """Return the transform that is written, else that of a grid that fills the bounding box."""
        self.check_kind()
        centre = self.centre
        if written is not None:
            return Transform(TRANSFORM.value(written), centre)
        box = self.box
        sizes = self.sizes or self.places.value(SHAPE)
        if box is None or sizes is None:
            return None
        return from_box(box, self.sides(box), sizes, centre)


def is_placeholder(box: Fragment) -> bool:
    """Tell whether a bounding box is the zeros that products write for none."""
    return isinstance(box.value, list) and not any(box.value)


@dataclass(frozen=True)
class Levels:
    """The grids of the levels of a layout, as seen from an array of one of them.

    Attributes
    ----------
    array : ArrayView
        The array.
    dims : tuple of str
        Its dimensions along Y and X.
    level : Level
        The level that it is of.
    """

    array: ArrayView
    dims: tuple[str, str]
    level: Level

    def transform(self, here: Site) -> Transform | None:
        """Return the transform of the array: of the first level on its way that declares one.

        What was found for a level is known for all that are derived from it.
        """
        known, lacking = self._known, self.array.tree.lacking
        before = len(lacking)
        asset = self._item.asset or ""
        if not self._item.is_scaled:
            return self._declared(asset, here)
        self._look_up(asset)
        below: dict[str, tuple[Site, Item]] = {}
        found: Transform | XGroupError | None
        site = here
        try:
            while asset not in known:
                item = self._derived(asset, site)
                if item is None:
                    found = self._declared(asset, site)
                    break
                below[asset] = site, item
                asset = self._source(item, below)
                site = self._site_of(asset)
            else:
                found = known[asset]
        except XGroupError as error:
            found = error
        for asset, (own, item) in reversed(below.items()):
            found = self._following(found, site, own, item)
            if len(lacking) == before:
                known[asset] = found
            site = own
        if isinstance(found, XGroupError):
            raise found
        return found

    @property
    def _item(self) -> Item:
        """The item that says from which level the array's is derived, if one does."""
        items = self.level.items
        return next((it for it in items if it.is_scaled), items[0])

    @property
    def _name(self) -> str:
        """What the array is called in all levels; "" if it is a level itself."""
        return "" if self._item is self.level.of_array else self.array.name

    @property
    def _known(self) -> dict[str, Transform | XGroupError | None]:
        """The transforms that were found for levels, by asset: the same for arrays like this one in all levels."""
        axes = tuple(self.array.dims.index(name) for name in self.dims)
        alike = self.level.group, self._name, len(self.array.dims), axes
        return self.array.memo(_unknown, by=alike)

    def _look_up(self, asset: str) -> None:
        """Look up at once the documents of all levels that one may follow from."""
        known, items = self._known, self.level.layout.items
        nodes: dict[str, Node] = {}
        while asset in items and asset not in known:
            source = items[asset].derived_from
            if source is None or asset_path(source) in nodes:
                break
            asset = asset_path(source)
            nodes[asset] = self.level.group.child(asset)
        for node in nodes.values():
            document = self.array.document_of(node)
            if document is not None and not document.is_array:
                self.array.document_of(node.child(self._name))

    def _derived(self, asset: str, site: Site) -> Item | None:
        """Return the item by which a level follows from another one, None if it does not."""
        item = self.level.layout.items.get(asset)
        if (
            item is None
            or not (item.is_scaled and item.is_derived)
            or site.places.get(TRANSFORM.key) is not None
        ):
            return None
        return item

    def _source(self, item: Item, below: Mapping[str, Any]) -> str:
        """Return the level that one is derived from, given those that are derived from it."""
        source, items = item.source(self.level.group) or "", self.level.layout.items
        if source and source not in items:
            reason = _("there is no level {asset!r}").format(asset=source)
            raise _leading_nowhere(item, self.level, source, reason)
        if source in below:
            chain = " -> ".join((*below, source))
            reason = _("levels are derived from one another: {chain}").format(chain=chain)
            raise _leading_nowhere(items[source], self.level, source, reason)
        return source

    def _site_of(self, asset: str) -> Site:
        """Return where a level's grid is declared: for its array of the same name, if it has one."""
        node = self.level.group.child(asset)
        if _is_array(self.array, node):
            return self._at(node, node.group)
        at = node.child(self._name)
        return self._at(at if _is_array(self.array, at) else None, node)

    def _at(self, at: Node | None, within: Node) -> Site:
        """Return where the grid of an array of a group is declared, or of a group without it."""
        group, layout = self.level.group, self.level.layout
        of_array = None if at is None else layout.about(at, group)
        level = Level(group, layout, of_array, layout.about(within, group))
        places = Places.about(at, within, level, self.array.attributes_of)
        document = None if at is None else self.array.document_of(at)
        sizes = None if document is None else _sizes(self.array, self.dims, document)
        return Site(places, sizes, crs_of(self.array))

    def _declared(self, asset: str, site: Site) -> Transform | None:
        """Return the transform of a level that follows from no other one.

        That of the layout's group is that of the level of which all others follow, unless that one has a
        box of its own. None if there is a relation, but not to what: sizes may be rounded.
        """
        written, item = site.places.get(TRANSFORM.key), self.level.layout.items.get(asset)
        if written is None and item is not None and not (item.is_derived or item.is_base):
            return None
        if written is None and asset == self.level.layout.base:
            whole, box = (
                self.array.attributes_of(self.level.group),
                site.places.get_of_level(BOX.key),
            )
            if whole is not None and (box is None or is_placeholder(box)):
                written = whole.get(TRANSFORM.key)
        return site.transform(written)

    def _following(
        self, source: Transform | XGroupError | None, above: Site, site: Site, item: Item
    ) -> Transform | XGroupError | None:
        """Return the transform of a level, or what is wrong, given that of its source and where that is."""
        if not isinstance(source, Transform):
            return source
        group = self.level.group
        try:
            relation = item.relation(group)
            cells = _affine(relation, group, self.array, self.dims)
            self._check_sizes(cells, above.sizes, site.sizes, relation.place(group))
            affine = composed(source.affine, cells)
            registration = site.places.get_of_level(REGISTRATION.key)
            centre = source.centre if registration is None else REGISTRATION.value(registration)
            return Transform(usable(affine, relation.place(group)), centre)
        except XGroupError as error:
            return error

    def _check_sizes(
        self,
        cells: Affine,
        whole: tuple[int, int] | None,
        sizes: tuple[int, int] | None,
        place: Fragment,
    ) -> None:
        """Raise XGroupMetadataError if a level of some sizes cannot be of the same extent as its source."""
        if whole is None or sizes is None:
            return
        steps, shifts = (cells.e, cells.a), (cells.f, cells.c)
        if not all(map(spans_the_same, sizes, whole, steps, shifts)):
            spanned = [abs(step) * size for step, size in zip(steps, sizes, strict=True)]
            text = _(
                "makes {rows} x {columns} cells of the level span {spanned} of the level that it is "
                "derived from, which has {whole}"
            ).format(
                rows=sizes[0],
                columns=sizes[1],
                spanned=" x ".join(f"{it:g}" for it in spanned),
                whole=" x ".join(map(str, whole)),
            )
            by_name = {it: n / m for it, n, m in zip(self.dims, whole, sizes, strict=True)}
            scale = [by_name[name] for name in self.array.dims if name in by_name]
            raise place.error(text, RELATION, write("scale", scale))


def _unknown() -> dict[str, Transform | XGroupError | None]:
    return {}


def spans_the_same(size: int, whole: int, step: float, shift: float) -> bool:
    """Tell whether the cells of a level span those of its source along an axis, but for one of the coarser.

    They may span less where the level is shifted: it is a part then.

    Parameters
    ----------
    size, whole : int
        How many cells the level has, and its source.
    step : float
        How many cells of the source one of the level spans.
    shift : float
        Where the level begins in the source.
    """
    more, cell = abs(step) * size - whole, max(1.0, abs(step)) * OVERHANG
    return more <= cell and (shift != 0 or -more <= cell)


def _leading_nowhere(item: Item, level: Level, asset: str, reason: str) -> XGroupReferenceError:
    return XGroupReferenceError(
        reason, place=str(item.place(level.group)), target=asset, reason=reason
    )


def _is_array(array: ArrayView, node: Node) -> bool:
    """Tell whether a level is an array, else it is a group."""
    document = array.document_of(node)
    return document is not None and bool(document.is_array)


def _sizes(array: ArrayView, dims: tuple[str, str], document: Document) -> tuple[int, int] | None:
    """Return the number of rows and of columns of another level's array."""
    shape, names = document["shape"], declared_dimensions(document)
    own = declared_dimensions(array.document)
    axes = [array.dims.index(name) for name in dims]
    if all(own[axis] is not None and own[axis] in names for axis in axes):
        axes = [names.index(own[axis]) for axis in axes]
    return (shape[axes[0]], shape[axes[1]]) if max(axes) < len(shape) else None


def _affine(relation: Relation, group: Node, array: ArrayView, dims: tuple[str, str]) -> Affine:
    """Return how positions of a level are positions of the one that it is derived from."""
    (rows, columns), (down, right) = (
        (default, default)
        if numbers is None
        else for_y_and_x(numbers.at(group), dims, _orders_of_axes(array))
        for numbers, default in ((relation.scale, 1.0), (relation.translation, 0.0))
    )
    return Affine(columns, 0.0, right, 0.0, rows, down)


def _orders_of_axes(array: ArrayView) -> Iterator[tuple[str, ...]]:
    """Yield the dimensions of an array, then those of the others of its group if they are asked for."""
    yield array.dims
    yield from map(tuple, array.siblings.values())


def for_y_and_x(
    numbers: Fragment, dims: tuple[str, str], orders: Iterable[tuple[str, ...]]
) -> tuple[float, float]:
    """Return those of the numbers of a relation that are for rows and columns.

    They stand in the order of an array's axes: one for each, or for those along Y and X alone.

    Parameters
    ----------
    numbers : Fragment
        The numbers.
    dims : tuple of str
        The dimensions along Y and X.
    orders : iterable of tuple of str
        The dimensions of the array, then those of others of its group.

    Raises
    ------
    XGroupMetadataError
        If they are as many as no array has axes.
    """
    orders = iter(orders)
    own = next(orders)
    names = tuple(name for name in own if name in dims)
    count = len(numbers.value)
    if count > len(names):
        fitting = (it for it in chain([own], orders) if len(it) == count and set(it) >= set(dims))
        names = next(fitting, names)
    found = dict(zip(names, finite_numbers(numbers, len(names)), strict=True))
    return found[dims[0]], found[dims[1]]
