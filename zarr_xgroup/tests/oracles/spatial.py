"""Oracle for `spatial`, `multiscales` and `proj`: the grid of an array.

The attributes of an array are, in this order: its own; those of the layout item that names the array; of its
group; of the item that names the group; of the group with the layout, whose transform and shape apply only to
its direct arrays that no item names. Which of the two named dimensions is Y and which is X follows from the stored
coordinates, else from their names if they are a known pair, else from the order Y, X. A level derived from another level follows the grid and registration of
that level. The numbers of its transform are in the order of the array's axes.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from zarr_xgroup.tests.oracles.stores import (
    Nodes,
    attributes,
    dims_of,
    is_array,
    joined,
    name_of,
    parent,
    sizes_of,
    upwards,
)

#: Attributes of a layout's group that do not apply to the levels.
_OF_ONE_GRID = ("spatial:transform", "spatial:shape")

#: Names of dimensions along Y and X.
PAIRS = [("y", "x"), ("lat", "lon"), ("latitude", "longitude"), ("northing", "easting")]
PAIRS += [("row", "col"), ("row", "column"), ("rows", "cols"), ("rows", "columns")]
#: The axis of a coordinate by values of its attributes.
LETTERS = {
    "standard_name": {"latitude": "Y", "longitude": "X"},
    "axis": {"Y": "Y", "X": "X"},
    "units": {"degrees_north": "Y", "degrees_east": "X"},
}


@dataclass(frozen=True)
class Grid:
    """An affine grid: x = a * column + b * row + c, y = d * column + e * row + f.

    Attributes
    ----------
    numbers : tuple of Fraction
        a, b, c, d, e, f.
    centre : Fraction
        The index of the first cell's centre: 1/2 if index 0 is its outer corner, otherwise 0.
    """

    numbers: tuple[Fraction, ...]
    centre: Fraction

    @property
    def is_rotated(self) -> bool:
        return bool(self.numbers[1] or self.numbers[3])

    def at(self, row: Fraction | int, column: Fraction | int) -> tuple[Fraction, Fraction]:
        """Return x and y at an index."""
        a, b, c, d, e, f = self.numbers
        return a * column + b * row + c, d * column + e * row + f

    def cell(self, row: int, column: int) -> tuple[Fraction, Fraction]:
        """Return x and y of the centre of a cell."""
        return self.at(row + self.centre, column + self.centre)

    def from_corner(self) -> tuple[Fraction, ...]:
        """Return the numbers of the same grid with index 0 at the outer corner."""
        a, b, _c, d, e, _f = self.numbers
        off = self.centre - Fraction(1, 2)
        x, y = self.at(off, off)
        return a, b, x, d, e, y

    def part(self, scale: list[Any], offset: list[Any]) -> "Grid":
        """Return the grid whose index (row, column) is the index (scale * index + offset) of this grid."""
        rows, columns = map(Fraction, scale)
        a, b, _c, d, e, _f = self.numbers
        x, y = self.at(*map(Fraction, offset))
        return Grid((a * columns, b * rows, x, d * columns, e * rows, y), self.centre)


@dataclass(frozen=True)
class Spatial:
    """Reads the grids of the arrays of a store."""

    nodes: Nodes

    def axes(self, path: str) -> tuple[int, int] | None:
        """Return the positions of Y and X among the axes of an array."""
        names, dims = self.attribute(path, "spatial:dimensions"), dims_of(self.nodes, path)
        rank = self.nodes[path].values.ndim
        if names is not None and not dims and rank >= 2:
            return rank - 2, rank - 1
        if names is None or not set(names) <= set(dims):
            return None
        y, x = (dims.index(name) for name in names)
        pair = tuple(name.lower() for name in names)
        is_x_first = pair[::-1] in PAIRS
        letters = [self.letter(path, axis) for axis in (y, x)]
        if len({*letters, None}) == 1 + len(list(filter(None, letters))) > 1:
            is_x_first = letters[0] == "X" or letters[1] == "Y"
        return (x, y) if is_x_first else (y, x)

    def letter(self, path: str, axis: int) -> str | None:
        """Return the axis of a stored coordinate by the first attribute that tells it, else by its name."""
        if self.own(path, axis) is None:
            return None
        name = dims_of(self.nodes, path)[axis]
        told = attributes(self.nodes, f"{parent(path)}/{name}".lstrip("/"))
        for key, letters in LETTERS.items():
            if told.get(key) in letters:
                return letters[told[key]]
        return next(
            (
                letter
                for pair in PAIRS
                for letter, own in zip("YX", pair, strict=True)
                if own == name.lower()
            ),
            None,
        )

    def own(self, path: str, axis: int) -> Any:
        """Return the values of the dimension coordinate of an axis in the array's group, or None."""
        if not dims_of(self.nodes, path):
            return None
        dim = dims_of(self.nodes, path)[axis]
        own, length = f"{parent(path)}/{dim}".lstrip("/"), self.nodes[path].values.shape[axis]
        if not is_array(self.nodes, own) or sizes_of(self.nodes, own) != {dim: length}:
            return None
        return self.nodes[own].values

    def attribute(self, path: str, key: str) -> Any:
        group, layout = parent(path), self.layout(path)
        own = attributes(self.nodes, path)
        of_array, of_group = self.item(layout, path), self.item(layout, group)
        places = [own, of_array]
        if not (of_array and layout == group and key in _OF_ONE_GRID):
            places.append(attributes(self.nodes, group))
        places.append(of_group)
        if layout is not None and layout != group and key not in _OF_ONE_GRID:
            places.append(attributes(self.nodes, layout))
        return next((it[key] for it in places if it.get(key) is not None), None)

    def layout(self, path: str) -> str | None:
        """Return the nearest ancestor with a layout, or None."""
        groups = (it for it in upwards(parent(path)) if "multiscales" in attributes(self.nodes, it))
        return next(groups, None)

    def item(self, layout: str | None, path: str) -> dict[str, Any]:
        if layout is None:
            return {}
        items = attributes(self.nodes, layout)["multiscales"]["layout"]
        return next((it for it in items if joined(layout, it["asset"]) == path), {})

    def grid(self, path: str) -> Grid | None:
        """Return the grid of an array, or None if it has none."""
        centre = Fraction(0 if self.attribute(path, "spatial:registration") == "node" else 1, 2)
        if self.axes(path) is None:
            return None
        written = self.attribute(path, "spatial:transform")
        if written is not None:
            return Grid(tuple(map(Fraction, written)), centre)
        if self.contradicts(path):
            return None
        return self.derived(path, centre) or self.of_box(path, centre)

    def relation(self, path: str) -> tuple[str | None, dict[str, Any]]:
        """Return the array from which a level is derived, or None, and the layout item of the level."""
        layout = self.layout(path)
        items = (self.item(layout, it) for it in (path, parent(path)))
        item = next((it for it in items if it.get("transform")), {})
        if layout is None or "derived_from" not in item:
            return None, item
        return self.level(joined(layout, item["derived_from"]) or "", name_of(path)), item

    def contradicts(self, path: str) -> bool:
        """Return whether the size of a level, or of one of its sources, contradicts the layout.

        A cell of a level is `scale` cells of its source, so `scale` times its size is the size of the source,
        plus or minus one cell of the coarser level. It may be smaller if the level has a translation.
        """
        source, item = self.relation(path)
        if source is None or self.attribute(path, "spatial:transform") is not None:
            return False
        relation, (height, width), whole = item["transform"], self.size(path), self.size(source)
        scale = self.for_rows_and_columns(path, relation.get("scale", [1, 1]))
        offset = self.for_rows_and_columns(path, relation.get("translation", [0, 0]))
        for n, cells, of, shift in zip(scale, (height, width), whole, offset, strict=True):
            step = abs(Fraction(n))
            more, cell = step * cells - of, max(step, Fraction(1)) * Fraction(1001, 1000)
            if more > cell or (not shift and -more > cell):
                return True
        return self.contradicts(source)

    def size(self, path: str) -> tuple[int, int]:
        """Return the number of rows and of columns of an array."""
        axes = self.axes(path)
        assert axes is not None
        rows, columns = (self.nodes[path].values.shape[it] for it in axes)
        return rows, columns

    def derived(self, path: str, centre: Fraction) -> Grid | None:
        layout, (source, item) = self.layout(path), self.relation(path)
        if not item or layout is None:
            return None
        if "derived_from" in item:
            base = None if source is None else self.grid(source)
        else:  # the level from which the others are derived
            written = attributes(self.nodes, layout).get("spatial:transform")
            base = None if written is None else Grid(tuple(map(Fraction, written)), centre)
        relation = item["transform"]
        scale = self.for_rows_and_columns(path, relation.get("scale", [1, 1]))
        offset = self.for_rows_and_columns(path, relation.get("translation", [0, 0]))
        return None if base is None else base.part(scale, offset)

    def level(self, path: str, name: str) -> str | None:
        """Return the array of a level (an array or a group) with a name, or None."""
        array = path if is_array(self.nodes, path) else f"{path}/{name}".lstrip("/")
        return array if is_array(self.nodes, array) else None

    def for_rows_and_columns(self, path: str, numbers: list[Any]) -> list[Any]:
        """Return the numbers for Y and X, from numbers for all axes or for these two."""
        axes = self.axes(path)
        assert axes is not None
        if len(numbers) == 2:
            return [numbers[sorted(axes).index(it)] for it in axes]
        return [numbers[it] for it in axes]

    def of_box(self, path: str, centre: Fraction) -> Grid | None:
        """Return the north-up grid in a bounding box of outer edges, or of outermost centres."""
        box = self.attribute(path, "spatial:bbox")
        axes = self.axes(path)
        if box is None or axes is None:
            return None
        left, bottom, right, top = map(Fraction, box)
        height, width = (self.nodes[path].values.shape[it] - (not centre) for it in axes)
        zero = Fraction(0)
        step = (right - left) / width, (top - bottom) / height
        return Grid((step[0], zero, left, zero, -step[1], top), centre)

    def code(self, path: str) -> str | None:
        """Return the code of the CRS of an array of two dimensions or more."""
        if self.nodes[path].values.ndim < 2:
            code: str | None = attributes(self.nodes, path).get("proj:code")
            return code
        return self.attribute(path, "proj:code")  # type: ignore[no-any-return]
