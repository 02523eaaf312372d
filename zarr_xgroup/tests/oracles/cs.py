"""Oracle for `cs`: the coordinates of an array, computed slowly from its documents."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import cftime
import numpy as np
import numpy.typing as npt

from zarr_xgroup.tests.oracles.ref import target, value
from zarr_xgroup.tests.oracles.stores import Nodes, dims_of, name_of, sizes_of

Json = Any


@dataclass
class Expected:
    """The expected coordinate.

    Attributes
    ----------
    name : str
        The name.
    dims : tuple of str
        The dimensions.
    values : numpy.ndarray
        The values, not decoded.
    attrs : dict
        The required attributes.
    since : tuple or None
        Unit, epoch and calendar of times.
    source : str or None
        The path of the stored array.
    """

    name: str
    dims: tuple[str, ...]
    values: npt.NDArray[Any]
    attrs: dict[str, Json] = field(default_factory=dict)
    since: tuple[str, str, str] | None = None
    source: str | None = None
    bounds: "Expected | None" = None
    terms: dict[str, "Expected"] = field(default_factory=dict)


@dataclass
class Reader:
    """Reads the coordinates of an array from the documents of a store."""

    nodes: Nodes
    array: str

    @property
    def sizes(self) -> dict[str, int]:
        return sizes_of(self.nodes, self.array)

    def coordinates(self) -> Iterator[Expected]:
        cs = self.nodes[self.array].attrs["cs"]
        for item in cs["crs"]:
            system, written = self.value(item)
            identity = cs.get("id") or system.get("id")
            code = system.get("name") if identity is None else identity["proj:code"]
            axes = system["axes"]
            pairs = (
                [(axis["name"], axis) for axis in axes] if isinstance(axes, list) else axes.items()
            )
            for name, axis in pairs:
                yield from self.axis(name, axis, written, code in ("WGS84", "EPSG:4326"))

    def axis(self, name: str, axis: Json, written: str, geographic: bool) -> Iterator[Expected]:
        sets = axis.get("coordinates") or ([{}] if name in self.sizes else [])
        for index, item in enumerate(sets):
            found = self.values(name, item.get("values"), written)
            found.name = item.get("name", f"{name}_{index}") if index else name
            self.describe(found, axis, item, geographic)
            if "parametric" in item:
                found.attrs.setdefault("standard_name", item["parametric"]["formula"])
                found.terms = {
                    term: self.term(name, term, values, written)
                    for term, values in item["parametric"]["terms"].items()
                }
            if "boundaries" in item:
                found.bounds = self.boundaries(name, found, item["boundaries"], written)
            yield found

    def describe(self, found: Expected, axis: Json, item: Json, geographic: bool) -> None:
        own = found.attrs
        given = {**axis.get("attributes", {}), **item.get("attributes", {})}
        unit = item.get("unit")
        while isinstance(unit, dict):
            unit = unit.get("uom") or unit.get("ucum") or unit.get("unit")
        if "time" in item:
            time = item["time"]
            text = time.get("reference") or f"{time['unit']} since {time['epoch']}"
            unit, _since, epoch = text.partition(" since ")
            if "units" not in own:
                found.since = unit, epoch, time.get("calendar", "standard")
        elif unit is not None:
            given["units"] = {"Cel": "degC", "mm/a": "mm/year"}.get(unit, unit)  # UCUM, UDUNITS
        abbreviation = axis.get("abbreviation", "").upper()
        direction = (item.get("direction") or axis.get("direction") or "").lower()
        if abbreviation:
            given["axis"] = abbreviation
        if abbreviation == "Z" and direction in ("up", "down"):
            given["positive"] = direction
        along = abbreviation or {"east": "X", "north": "Y"}.get(direction)
        if geographic and along in ("X", "Y") and str(unit).startswith("degrees"):
            given["standard_name"] = "longitude" if along == "X" else "latitude"
        found.attrs = {**given, **own}

    def values(self, axis: str, values: Json, written: str) -> Expected:
        length, dims = self.sizes.get(axis, 1), (axis,) if axis in self.sizes else ()
        shape = (length,) if dims else ()
        if values is None:
            return Expected("", dims, np.arange(length))
        values = self.inner(values)
        if "regular" in values:
            first, step = values["regular"]
            numbers = np.array([first + step * position for position in range(length)])
            return Expected("", dims, numbers.reshape(shape))
        if "explicit" in values:
            return Expected("", dims, np.array(values["explicit"]).reshape(shape))
        path = self.path(values["external"], written)
        array = self.nodes[path]
        return Expected("", dims, array.values.reshape(shape), dict(array.attrs), source=path)

    def term(self, axis: str, term: str, values: Json, written: str) -> Expected:
        inner = self.inner(values)
        if "external" not in inner:
            explicit = inner.get("explicit", [])
            if len(explicit) == 1 != self.sizes[axis]:
                return Expected(f"{axis}_{term}", (), np.array(explicit[0]))
            found = self.values(axis, values, written)
            found.name = f"{axis}_{term}"
            return found
        path = self.path(inner["external"], written)
        array = self.nodes[path]
        known = sizes_of(self.nodes, path).items() <= self.sizes.items()
        dims = dims_of(self.nodes, path) if known else (axis,)
        name = name_of(path)
        return Expected(name, dims, array.values, dict(array.attrs), source=path)

    def boundaries(self, axis: str, found: Expected, item: Json, written: str) -> Expected:
        name, dims = item.get("name", f"{found.name}_bounds"), (*found.dims, "bounds")
        if "regular" in item:
            pairs = np.stack([found.values + offset for offset in item["regular"]], axis=-1)
            bounds = Expected(name, dims, pairs)
        else:
            path = self.path(self.inner(item)["external"], written)
            array = self.nodes[path]
            length, pairs, names = self.sizes.get(axis, 1), array.values, dims_of(self.nodes, path)
            if pairs.ndim == 2 and (pairs.shape != (length, 2) or names[0] != axis == names[1]):
                pairs = pairs.T
            pairs = pairs.reshape(*found.values.shape, 2)
            bounds = Expected(name, dims, pairs, dict(array.attrs), source=path)
        bounds.attrs = {**item.get("attributes", {}), **bounds.attrs}
        bounds.since = None if "units" in bounds.attrs else found.since
        return bounds

    # References.

    def inner(self, values: Json) -> Json:
        return values["ref"] if "external" in values.get("ref", ()) else values

    def value(self, item: Json) -> tuple[Json, str]:
        """Return a CRS, and the node where it is written."""
        reference = item.get("ref", item)
        if "node" not in reference:
            return item, self.array
        pointer = reference["attribute"]
        path = target(
            self.nodes, reference, self.array, fits=lambda it: value(self.nodes, it, pointer)
        )
        assert path is not None
        return value(self.nodes, path, pointer), path

    def path(self, reference: Json, written: str) -> str:
        """Return the referenced array. In the test stores the first candidate fits."""
        path = target(self.nodes, reference, self.array, written)
        assert path is not None
        return path


#: Lengths of units by the start of their names; `m` is a minute.
_MICROSECONDS = {
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "ms": 1_000,
    "m": 60_000_000,
    "s": 1_000_000,
}


def as_times(values: npt.NDArray[Any], since: tuple[str, str, str]) -> list[tuple[int, ...]]:
    unit, epoch, calendar = since
    start = cftime.datetime(*map(int, re.findall(r"\d+", epoch)[:6]), calendar=calendar)
    length = next(it for begin, it in _MICROSECONDS.items() if unit.startswith(begin))
    return [
        fields(start + timedelta(microseconds=float(value) * length)) for value in values.ravel()
    ]


def fields(time: Any) -> tuple[int, ...]:
    if isinstance(time, np.datetime64):
        time = time.astype("M8[us]").item()
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    return tuple(getattr(time, name) for name in names)
