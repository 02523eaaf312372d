"""The grids of the levels of a `multiscales` layout: each follows that of the level it is derived from.

Source: multiscales convention (zarr-conventions/multiscales).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from affine import Affine

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.layout import Level, Places, asset_path
from zarr_xgroup.conventions.transforms import (
    Transform,
    affine_of,
    composed,
    finite_numbers,
    from_box,
    usable,
)
from zarr_xgroup.errors import XGroupError, XGroupReferenceError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.nodes import Fragment, Node

#: Half a cell: by how much centres differ from corners.
CENTRE = {"pixel": 0.5, "node": 0.0}

TRANSFORM, BOX = "spatial:transform", "spatial:bbox"


def check_kind(places: Places) -> None:
    """Raise XGroupMetadataError if what is written is another kind of transform."""
    kind = places.get("spatial:transform_type")
    if kind is not None and kind.as_text() != "affine":
        raise kind.error(_("is {kind!r}; only 'affine' is known").format(kind=kind.value))


def centre_in(places: Places) -> float:
    """Return where the centre of a cell is in its index, or raise XGroupMetadataError."""
    return _centre(places.get("spatial:registration"), CENTRE["pixel"])


def _centre(registration: Fragment | None, default: float) -> float:
    if registration is None:
        return default
    name = registration.as_text()
    if name not in CENTRE:
        raise registration.error(_("must be 'pixel' or 'node', got {name!r}").format(name=name))
    return CENTRE[name]


def box_in(places: Places) -> Fragment | None:
    """Return the bounding box; None also for the placeholder that products write."""
    box = places.get(BOX)
    return None if box is None or is_placeholder(box) else box


def is_placeholder(box: Fragment) -> bool:
    """Tell whether a bounding box is the zeros that products write for none."""
    return isinstance(box.value, list) and not any(box.value)


@dataclass(frozen=True)
class Site:
    """Where the grid of a level is declared.

    Attributes
    ----------
    places : Places
        Where its attributes may stand.
    sizes : tuple of int or None
        The number of rows, and of columns, if they are known.
    """

    places: Places
    sizes: tuple[int, int] | None


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
        known = self.array.models.of_groups
        asset = _asset(self._item)
        if self._item.get("transform") is not None:
            self.array.is_me(self.array.node)  # arrays of other levels are looked at by its name
        self._look_up(asset)
        below: dict[str, tuple[Site, Fragment]] = {}
        found: Transform | XGroupError | None
        site = here
        try:
            while (key := self._key(asset)) not in known:
                relation = self._relation(asset, site)
                if relation is None:
                    found = self._declared(asset, site)
                    break
                below[asset] = site, relation
                asset = self._source(asset, below)
                site = self._site(asset)
            else:
                found = known[key]
        except XGroupError as error:
            found = error
        for asset, (site, relation) in reversed(below.items()):
            found = known[self._key(asset)] = self._following(found, site, relation)
        if isinstance(found, XGroupError):
            raise found
        return found

    @property
    def _item(self) -> Fragment:
        """The item that says from which level the array's is derived, if one does."""
        items = self.level.items
        return next((it for it in items if it.get("transform") is not None), items[0])

    @property
    def _name(self) -> str:
        """What the array is called in all levels; "" if it is a level itself."""
        return "" if self._item == self.level.of_array else self.array.name

    def _key(self, asset: str) -> tuple[Any, ...]:
        """Return what the grid of a level, as an array sees it, depends on."""
        axes = tuple(self.array.dims.index(name) for name in self.dims)
        return Levels, self.level.group, asset, self._name, len(self.array.dims), axes

    def _look_up(self, asset: str) -> None:
        """Look up at once the documents of all levels that one may follow from."""
        known, items = self.array.models.of_groups, self.level.layout.items
        nodes: dict[str, Node] = {}
        while asset in items and self._key(asset) not in known:
            source = items[asset].value.get("derived_from")
            if not isinstance(source, str) or asset_path(source) in nodes:
                break
            asset = asset_path(source)
            nodes[asset] = self.level.group.child(asset)
        self.array.lookup.know(nodes.values())
        groups = (it for it in nodes.values() if not self._is_array(it))
        self.array.lookup.know(group.child(self._name) for group in groups)

    def _is_array(self, node: Node) -> bool:
        document = self.array.document_of(node)
        return document is not None and bool(document.is_array)

    def _relation(self, asset: str, site: Site) -> Fragment | None:
        """Return how a level follows from another one, None if it does not."""
        item = self.level.other(asset)
        if item is None or site.places.get(TRANSFORM) is not None:
            return None
        relation = item.get("transform")
        if relation is None or item.get("derived_from") is not None:
            return relation
        return relation if self._unnamed_source(asset) is not None else None

    def _unnamed_source(self, asset: str) -> str | None:
        """Return from what a level follows whose relation does not say it.

        That is the layout's group if it has a transform, else the only level that follows from none.
        """
        whole = self.array.attributes_of(self.level.group)
        if whole is not None and whole.get(TRANSFORM) is not None:
            return "" if asset else None
        base = self.level.layout.base
        return base if base != asset else None

    def _source(self, asset: str, below: Mapping[str, Any]) -> str:
        """Return the level that one is derived from, given those that are derived from it."""
        item = self.level.other(asset)
        named = None if item is None else item.get("derived_from")
        if named is None:
            return self._unnamed_source(asset) or ""
        source = asset_path(named.as_text())
        there = self.level.other(source)
        if there is None and source:
            reason = _("there is no level {asset!r}").format(asset=source)
            raise _leading_nowhere(str(item), source, reason)
        if source in below:
            chain = " -> ".join((*below, source))
            reason = _("levels are derived from one another: {chain}").format(chain=chain)
            raise _leading_nowhere(str(there), source, reason)
        return source

    def _site(self, asset: str) -> Site:
        """Return where another level's grid is declared: for its array of the same name, if any."""
        node = self.level.group.child(asset)
        if self._is_array(node):
            return self._site_at(node, node.group)
        at = node.child(self._name)
        return self._site_at(at if self._is_array(at) else None, node)

    def _site_at(self, at: Node | None, within: Node) -> Site:
        """Return where the grid of an array of a group is declared, or of a group without it."""
        group, layout = self.level.group, self.level.layout
        of_array = None if at is None else layout.about(at, group)
        level = Level(group, layout, of_array, layout.about(within, group))
        places = Places.about(at, within, level, self.array.attributes_of)
        return Site(places, None if at is None else self._sizes(at))

    def _stand_in(self, asset: str) -> Site | None:
        """Return the same for the first array of a level that lies along the same dimensions."""
        own, group = declared_dimensions(self.array.document), self.level.group
        along = {own[self.array.dims.index(name)] for name in self.dims}
        within = group.child(asset)
        for name, document in self.array.lookup.members(within).arrays(within.path).items():
            at = within.child(name)
            if along <= set(declared_dimensions(document)) and not self.level.layout.about(
                at, group
            ):
                return self._site_at(at, within)
        return None

    def _sizes(self, at: Node) -> tuple[int, int] | None:
        """Return the number of rows and of columns of another level's array."""
        document = self.array.document_of(at)
        if document is None:
            return None
        shape, names = document["shape"], declared_dimensions(document)
        own = declared_dimensions(self.array.document)
        axes = [self.array.dims.index(name) for name in self.dims]
        if all(own[axis] is not None and own[axis] in names for axis in axes):
            axes = [names.index(own[axis]) for axis in axes]
        return (shape[axes[0]], shape[axes[1]]) if max(axes) < len(shape) else None

    def _declared(self, asset: str, site: Site) -> Transform | None:
        """Return the transform of a level that follows from no other one."""
        written = site.places.get(TRANSFORM) or self._of_whole(asset, site)
        if written is None and site.sizes is None and shape_in(site.places) is None:
            site = self._stand_in(asset) or site
            written = site.places.get(TRANSFORM)
        return declared_transform(site, written)

    def _of_whole(self, asset: str, site: Site) -> Fragment | None:
        """Return the transform of the layout's group, if it can only be that of a level.

        That is the one of which all others follow, unless sizes or a box of its own contradict.
        """
        whole = self.array.attributes_of(self.level.group)
        if whole is None or asset != self.level.layout.base:
            return None
        shape, box = whole.get("spatial:shape"), site.places.get_of_level(BOX)
        is_other = shape is not None and site.sizes and shape.value != list(site.sizes)
        has_own = box is not None and not is_placeholder(box)
        return None if is_other or has_own else whole.get(TRANSFORM)

    def _following(
        self, source: Transform | XGroupError | None, site: Site, relation: Fragment
    ) -> Transform | XGroupError | None:
        """Return the transform of a level, or what is wrong, given that of its source."""
        if not isinstance(source, Transform):
            return source
        try:
            affine = composed(source.affine, self._affine(relation))
            registration = site.places.get_of_level("spatial:registration")
            return Transform(usable(affine, relation), _centre(registration, source.centre))
        except XGroupError as error:
            return error

    def _affine(self, relation: Fragment) -> Affine:
        """Return how positions of a level are positions of the one that it is derived from."""
        relation.as_object()
        rows, columns = self._along_grid(relation.get("scale"), 1.0)
        down, right = self._along_grid(relation.get("translation"), 0.0)
        return Affine(columns, 0.0, right, 0.0, rows, down)

    def _along_grid(self, numbers: Fragment | None, default: float) -> tuple[float, float]:
        """Return the numbers along Y and X, which stand in the order of the array's axes."""
        if numbers is None:
            return default, default
        names = self._order(len(numbers.as_list()))
        along = dict(zip(names, finite_numbers(numbers, len(names)), strict=True))
        return along[self.dims[0]], along[self.dims[1]]

    def _order(self, count: int) -> tuple[str, ...]:
        """Return the axes of so many numbers: those of the grid, or all of arrays of the group."""
        grid = tuple(name for name in self.array.dims if name in self.dims)
        if count <= len(grid):
            return grid
        arrays = (self.array.dims, *(tuple(sizes) for sizes in self.array.siblings.values()))
        return next((it for it in arrays if len(it) == count and set(it) >= set(grid)), grid)


def _asset(item: Fragment) -> str:
    return asset_path(item.value["asset"])


def _leading_nowhere(place: str, asset: str, reason: str) -> XGroupReferenceError:
    return XGroupReferenceError(f"{place}: {reason}", place=place, target=asset, reason=reason)


def declared_transform(site: Site, written: Fragment | None) -> Transform | None:
    """Return the transform that is written, else that of a grid that fills the bounding box."""
    check_kind(site.places)
    centre = centre_in(site.places)
    if written is not None:
        return Transform(affine_of(written), centre)
    box = box_in(site.places)
    sizes = site.sizes or shape_in(site.places)
    if box is None or sizes is None:
        return None
    return Transform(from_box(box, sizes, centre), centre)


def shape_in(places: Places) -> tuple[int, int] | None:
    """Return the number of rows and of columns that is declared."""
    shape = places.get("spatial:shape")
    if shape is None:
        return None
    rows, columns = finite_numbers(shape, 2)
    return int(rows), int(columns)
