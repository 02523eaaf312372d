"""Strategies of hypothesis for stores that declare `cs`, and tools to draw parts of stores."""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from zarr_xgroup.tests.builders import Array, declaring, stored

Json: TypeAlias = Any


def thorough(max_examples: int) -> settings:
    """Return settings for a test that uses the same examples each time."""
    return settings(
        derandomize=True,
        deadline=None,
        max_examples=max_examples,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def cs_of(*systems: Json, **more: Json) -> dict[str, Json]:
    """Return attributes that declare `cs` with these coordinate reference systems."""
    return declaring("cs", cs={"crs": list(systems), **more})


def numbered(shape: Sequence[int], start: int = 0) -> npt.NDArray[Any]:
    """Return an array of consecutive floats."""
    size = math.prod(shape)
    return np.arange(start, start + size, dtype="f8").reshape(tuple(shape))


class Drawing:
    """Draws the parts of one random store."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def any(self, *choices: Any) -> Any:
        """Return one of several values, or a value drawn from one of several strategies."""
        return self._draw(
            st.one_of(
                *(
                    choice if isinstance(choice, st.SearchStrategy) else st.just(choice)
                    for choice in choices
                )
            )
        )

    def chance(self, one_of: int = 2) -> bool:
        """Return True with probability 1 / `one_of`."""
        return bool(self._draw(st.integers(1, one_of)) == one_of)


# Random documents of `cs`.

GROUP, ARRAY, COORDINATES = "g", "g/a", "coords"

_DIMENSIONS = ("t", "z", "y", "x")
_SCALARS = ("height", "member")
_ABBREVIATIONS = {"t": "T", "z": "Z", "y": "Y", "x": "X", "height": "Z"}
_DIRECTIONS = {"t": "future", "z": "up", "y": "north", "x": "east", "height": "down"}
_EPOCHS = {
    None: ("2000-01-01", "2000-02-29T12:00:00Z", "1999-12-31 06:30"),
    "standard": ("2000-01-01", "1582-10-15", "1970-01-01T00:00:00+00:00", "2000-01-01T06:00:00Z"),
    "proleptic_gregorian": ("2000-01-01", "2000-01-01 00:00:00 UTC"),
    "noleap": ("2001-02-28", "1850-01-01T00:00:00Z"),
    "360_day": ("2026-02-30", "1949-12-01"),
    "julian": ("1900-02-29", "1582-10-04"),
    "all_leap": ("2001-02-29", "1999-12-31T18:00:00"),
}
_TIME_UNITS = ("days", "day", "d", "hours", "h", "minute", "m", "seconds", "s", "ms")

_quarters = st.integers(-40, 40).map(lambda number: number / 4)
_numbers = st.integers(-20, 20) | _quarters
_steps = _numbers.filter(bool)
_attributes = st.dictionaries(
    st.sampled_from(["long_name", "comment", "nested"]),
    st.sampled_from(["some text", 5, [1, {"a": None}], {"b": [0.5]}]),
    max_size=2,
)


class _Builder(Drawing):
    """Draws the nodes of one random store."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(draw)
        self._count = 0
        self.arrays: dict[str, Array] = {}
        self.sizes: dict[str, int] = {}

    def optional(self, target: dict[str, Json], key: str, *strategies: Any) -> None:
        if self.chance():
            target[key] = self.any(*strategies)

    def unique(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    # Referenced arrays.

    def external(self, values: npt.NDArray[Any], dims: tuple[str, ...], written: str) -> Json:
        """Add an array to the group of the referring array or a different group. Return a reference."""
        name = self.unique("stored")
        group = self.any(GROUP, COORDINATES)
        attributes: dict[str, Json] = {}
        self.optional(attributes, "units", "units of its own")
        self.optional(attributes, "long_name", "name of its own")
        self.arrays[f"{group}/{name}"] = Array(values, dims, attributes)
        paths = {
            # Relative to the group of the array, to the array itself, and absolute.
            GROUP: [name, f"./{name}", f"../{name}", f"/{GROUP}/{name}"],
            COORDINATES: [
                f"../{COORDINATES}/{name}",
                f"../../{COORDINATES}/{name}",
                f"/{COORDINATES}/{name}",
            ],
        }[group]
        if written == "":
            paths.append(f"{group}/{name}")  # relative to the group of the reference
        return self.reference(self.any(*paths))

    def reference(self, node: str, attribute: str | None = None) -> Json:
        bare = {"node": node} | ({} if attribute is None else {"attribute": attribute})
        return self.any(bare, {"ref": bare})

    def external_values(self, reference: Json) -> Json:
        spellings = [{"external": reference}]
        if "ref" not in reference:
            spellings.append({"ref": {"external": reference}})
        return self.any(*spellings)

    # Axes.

    def axis(self, name: str, written: str) -> dict[str, Json]:
        axis: dict[str, Json] = {}
        if name in _ABBREVIATIONS:
            self.optional(axis, "abbreviation", _ABBREVIATIONS[name], _ABBREVIATIONS[name].lower())
        if name in _DIRECTIONS:
            self.optional(axis, "direction", _DIRECTIONS[name], _DIRECTIONS[name].upper())
        self.optional(axis, "attributes", _attributes)
        least = 0 if name in self.sizes else 1
        sets = [
            self.set(name, index, written) for index in range(self._draw(st.integers(least, 3)))
        ]
        if sets or self.chance():
            axis["coordinates"] = sets
        return axis

    def set(self, axis: str, index: int, written: str) -> dict[str, Json]:
        item: dict[str, Json] = {}
        if index and self.chance():
            item["name"] = self.unique("named")
        self.optional(item, "attributes", _attributes)
        if axis in _DIRECTIONS:
            self.optional(item, "direction", _DIRECTIONS[axis])
        if axis == "t" and self.chance():
            item["time"] = self.time()
        else:
            unit = self.any("m", "degrees", "degrees_north", "K", "Cel", "mm/a")
            uom = {"ucum": {"unit": unit}}
            self.optional(item, "unit", unit, uom, {"uom": uom})
        if axis == "z" and axis in self.sizes and self.chance():
            item["parametric"] = self.parametric(axis, written)
            if self.chance():
                return item
        item["values"] = self.values(axis, written)
        strings = isinstance((item["values"].get("explicit") or [0])[0], str)
        if strings:
            item.pop("time", None)
        elif self.chance():
            item["boundaries"] = self.boundaries(axis, written)
        return item

    def time(self) -> dict[str, Json]:
        calendar = self.any(*_EPOCHS)
        unit, epoch = self.any(*_TIME_UNITS), self.any(*_EPOCHS[calendar])
        time = self.any({"unit": unit, "epoch": epoch}, {"reference": f"{unit} since {epoch}"})
        return {**time} | ({} if calendar is None else {"calendar": calendar})

    def values(self, axis: str, written: str, *, texts: bool = True) -> dict[str, Json]:
        length = self.sizes.get(axis, 1)
        kinds = ["regular"] if axis in self.sizes else []
        kind = self.any(*kinds, "explicit", "external", *(["text"] if texts else []))
        if kind == "regular":
            return {"regular": [self.any(_numbers), self.any(_steps)]}
        if kind == "external":
            dtype = self.any("i4", "i8", "f4", "f8")
            values = np.array(self._draw(st.lists(_numbers, min_size=length, max_size=length)))
            name = self.any(self.unique("along"), *([axis] if axis in self.sizes else []))
            shape: tuple[int, ...] = (length,)
            dims: tuple[str, ...] = (name,)
            if axis not in self.sizes and self.chance():
                shape, dims = (), ()
            data = values.astype(dtype).reshape(shape)
            return dict(self.external_values(self.external(data, dims, written)))
        items = {
            "explicit": self.any(
                st.lists(st.integers(-20, 20), min_size=length, max_size=length),
                st.lists(_quarters, min_size=length, max_size=length),
            ),
            "text": self._draw(
                st.lists(st.sampled_from(["a", "bc", "\u00e9"]), min_size=length, max_size=length)
            ),
        }
        return {"explicit": items[kind]}

    def boundaries(self, axis: str, written: str) -> dict[str, Json]:
        length = self.sizes.get(axis, 1)
        boundaries: dict[str, Json] = {}
        self.optional(boundaries, "attributes", _attributes)
        if self.chance():
            boundaries["name"] = self.unique("cells")
        if self.chance():
            boundaries["regular"] = [self.any(_numbers), self.any(_numbers)]
            return boundaries
        number = 2 * length
        pairs = np.array(self._draw(st.lists(_quarters, min_size=number, max_size=number)))
        pairs = pairs.reshape(length, 2)
        along = axis if axis in self.sizes else self.unique("along")
        dims: tuple[str, ...] = (along, self.unique("sides"))
        if self.chance():
            pairs, dims = pairs.T, dims[::-1]
        if axis not in self.sizes and self.chance():
            pairs, dims = pairs.reshape(2), (self.unique("sides"),)
        reference = self.external(pairs, dims, written)
        return {**boundaries, **self.external_values(reference)}

    def parametric(self, axis: str, written: str) -> dict[str, Json]:
        terms: dict[str, Json] = {
            term: self.values(axis, written, texts=False)
            for term in self._draw(st.lists(st.sampled_from("ab"), min_size=1, unique=True))
        }
        if self.chance():
            terms["p0"] = {"explicit": [self.any(_quarters)]}
        shape = tuple(self.sizes[dim] for dim in self.sizes if dim != axis)
        if self.chance():
            dims = tuple(dim for dim in self.sizes if dim != axis)
            terms["ps"] = self.external_values(self.external(numbered(shape), dims, written))
        return {"formula": "atmosphere_hybrid_sigma_pressure_coordinate", "terms": terms}

    # Systems.

    def system(self, names: list[str], written: str) -> dict[str, Json]:
        axes = {name: self.axis(name, written) for name in names}
        system: dict[str, Json] = {}
        self.optional(system, "type", "compound", "planar")
        self.optional(system, "name", "WGS84", "rotated pole")
        self.optional(system, "id", {"proj:code": "EPSG:4326"}, {"proj:code": "EPSG:32633"})
        if self.chance():
            return {**system, "axes": axes}
        listed: list[Json] = [{"name": name, **axis} for name, axis in axes.items()]
        return {**system, "axes": listed}


@st.composite
def cs_stores(draw: st.DrawFn) -> dict[str, Array | Mapping[str, Json]]:
    """Return stores in which the array `ARRAY` declares a valid `cs`.

    The arrays that it refers to are in `GROUP` or in `COORDINATES`. A second array may have the
    same attributes. A third array declares no convention.
    """
    builder = _Builder(draw)
    dims = draw(st.lists(st.sampled_from(_DIMENSIONS), min_size=1, max_size=3, unique=True))
    builder.sizes = {dim: draw(st.integers(1, 4)) for dim in dims}
    scalars = draw(st.lists(st.sampled_from(_SCALARS), unique=True))
    axes = [name for name in [*dims, *scalars] if builder.chance()] or [dims[0]]
    half = draw(st.integers(0, len(axes)))
    groups: dict[str, dict[str, Json]] = {"": {"title": "root"}, GROUP: {}, COORDINATES: {}}
    systems: list[Json] = []
    for part in (axes[:half], axes[half:]):
        written = builder.any(ARRAY, GROUP, "")
        system = builder.system(part, written)
        if written != ARRAY:
            key = builder.any("plain", "a/b~")
            key = f"{key}{len(systems)}"
            groups[written].setdefault("crs", {})[key] = system
            paths = {GROUP: [".", "/g"], "": ["..", "/"]}[written]
            escaped = key.replace("~", "~0").replace("/", "~1")
            system = builder.reference(builder.any(*paths), f"/attributes/crs/{escaped}")
        systems.append(system)
    more: dict[str, Json] = {}
    builder.optional(more, "id", {"proj:code": "EPSG:4326"}, {"proj:code": "EPSG:32633"})
    attributes = cs_of(*systems, **more)
    data = numbered([*builder.sizes.values()])
    nodes: dict[str, Array | Mapping[str, Json]] = {
        **groups,
        ARRAY: Array(data, tuple(dims), attributes),
        **builder.arrays,
    }
    if builder.chance():
        nodes[f"{GROUP}/b"] = Array(data + 1, tuple(dims), copy.deepcopy(attributes))
    nodes[f"{GROUP}/other"] = stored(np.arange(3), "elsewhere", units="m")
    return nodes
