"""Random documents of `cs`: read as a slow, independent reader does; wrong ones harm nothing."""

import math
import posixpath
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import cftime
import numpy as np
import numpy.typing as npt
import xarray as xr
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from zarr_xgroup import XGroupNameWarning, XGroupNoPrincipalWarning, XGroupWarning
from zarr_xgroup.tests.builders import Array, Nodes, ZarrFormat, build, memory_store, stored
from zarr_xgroup.tests.strategies import (
    ARRAY,
    GROUP,
    ODD_VALUES,
    Json,
    cs_of,
    cs_stores,
    mutated_stores,
)

formats = st.sampled_from([2, 3])


def thorough(max_examples: int) -> settings:
    return settings(
        derandomize=True,
        deadline=None,
        max_examples=max_examples,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


# A slow reader of documents, which knows nothing of the package.


@dataclass
class Expected:
    """What a document says of one coordinate.

    Attributes
    ----------
    name : str
        What it should be called.
    dims : tuple of str
        Its dimensions.
    values : numpy.ndarray
        Its values, not decoded.
    attrs : dict
        The attributes it must have.
    since : tuple or None
        Unit, epoch and calendar of times.
    source : str or None
        The path of the array it is read from.
    """

    name: str
    dims: tuple[str, ...]
    values: npt.NDArray[Any]
    attrs: dict[str, Json] = field(default_factory=dict)
    since: tuple[str, str, str] | None = None
    source: str | None = None
    bounds: "Expected | None" = None
    terms: dict[str, "Expected"] = field(default_factory=dict)


def names_of(array: Array) -> tuple[str, ...]:
    """Return the names of an array's dimensions, which all have one."""
    return tuple(map(str, array.dims or ()))


@dataclass
class Reader:
    """Reads the coordinates of the array `ARRAY` from the documents of a store."""

    nodes: Nodes

    @property
    def sizes(self) -> dict[str, int]:
        array = self.stored(ARRAY)
        return dict(zip(names_of(array), array.values.shape, strict=True))

    def stored(self, path: str) -> Array:
        node = self.nodes[path]
        assert isinstance(node, Array)
        return node

    def group(self, path: str) -> Mapping[str, Json]:
        node = self.nodes[path]
        assert isinstance(node, dict)
        return node

    def coordinates(self) -> Iterator[Expected]:
        cs = self.stored(ARRAY).attrs["cs"]
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
            given["units"] = unit
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
        array = self.stored(path)
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
        array = self.stored(path)
        known = all(
            self.sizes.get(dim) == size
            for dim, size in zip(names_of(array), array.values.shape, strict=True)
        )
        dims = names_of(array) if known else (axis,)
        name = posixpath.basename(path)
        return Expected(name, dims, array.values, dict(array.attrs), source=path)

    def boundaries(self, axis: str, found: Expected, item: Json, written: str) -> Expected:
        name, dims = item.get("name", f"{found.name}_bounds"), (*found.dims, "bounds")
        if "regular" in item:
            pairs = np.stack([found.values + offset for offset in item["regular"]], axis=-1)
            bounds = Expected(name, dims, pairs)
        else:
            path = self.path(self.inner(item)["external"], written)
            array = self.stored(path)
            length, pairs = self.sizes.get(axis, 1), array.values
            if pairs.ndim == 2 and (
                pairs.shape != (length, 2) or names_of(array)[0] != axis == names_of(array)[1]
            ):
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
        reference = item.get("ref", item)
        if "node" not in reference:
            return item, ARRAY
        path = self.path(reference, ARRAY)
        value: Json = {"attributes": self.nodes[path]}
        for token in reference["attribute"].split("/")[1:]:
            value = value[token.replace("~1", "/").replace("~0", "~")]
        return value, path

    def path(self, reference: Json, written: str) -> str:
        """Return the first node there is; names are such that there is one only."""
        node = reference.get("ref", reference)["node"]
        bases = [GROUP, ARRAY, written, posixpath.dirname(written)]
        for base in [""] if node.startswith("/") else bases:
            path = posixpath.normpath(f"/top/{base}/{node}")
            if not f"{path}/".startswith("/top/"):
                continue
            found = path.removeprefix("/top").lstrip("/")
            if found not in self.nodes or found == ARRAY:
                continue
            if "attribute" not in reference.get("ref", reference) or "crs" in dict(
                self.group(found)
            ):
                return found
        raise AssertionError(reference)


_MICROSECONDS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000}


def as_times(values: npt.NDArray[Any], since: tuple[str, str, str]) -> list[tuple[int, ...]]:
    unit, epoch, calendar = since
    start = cftime.datetime(*map(int, re.findall(r"\d+", epoch)[:6]), calendar=calendar)
    length = _MICROSECONDS[unit[0]]
    return [
        fields(start + timedelta(microseconds=float(value) * length)) for value in values.ravel()
    ]


def fields(time: Any) -> tuple[int, ...]:
    if isinstance(time, np.datetime64):
        time = time.astype("M8[us]").item()
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    return tuple(getattr(time, name) for name in names)


# Opening.


def opened(
    nodes: Nodes, zarr_format: ZarrFormat, **options: Any
) -> tuple[xr.Dataset, list[Warning]]:
    """Open the group by engine xgroup; the warnings without that on missing principals."""
    store: Any = memory_store(build(nodes, zarr_format))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        dataset = xr.open_dataset(store, engine="xgroup", group=GROUP, **options)
    told = [it.message for it in given if type(it.message) is not XGroupNoPrincipalWarning]
    return dataset, [it for it in told if isinstance(it, Warning)]


def quietly_opened(function: Any, nodes: Nodes, zarr_format: ZarrFormat, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(memory_store(build(nodes, zarr_format)), **options)


# Documents that follow the convention.


def assert_is(variable: xr.Variable, expected: Expected) -> None:
    assert variable.dims == expected.dims
    values = variable.values
    assert values.shape == expected.values.shape
    if expected.since is not None:
        times = [fields(time) for time in np.atleast_1d(values).ravel()]
        assert times == as_times(expected.values, expected.since)
        calendar = variable.encoding.get("calendar", "standard")
        assert calendar in (expected.since[2], "proleptic_gregorian")
    else:
        np.testing.assert_array_equal(values, expected.values)
        assert values.dtype.kind == expected.values.dtype.kind
    for key, value in expected.attrs.items():
        assert variable.attrs.get(key) == value, key


def named(expected: Expected, nodes: Nodes) -> str:
    """Return the name of a coordinate; an array of the group itself keeps its own."""
    group, _slash, own = (expected.source or "").rpartition("/")
    if group != GROUP or expected.dims == (expected.name,):
        return expected.name
    array = Reader(nodes).stored(f"{group}/{own}")
    if array.values.ndim == len(expected.dims):
        return own
    return expected.name  # one value of an array that has a dimension: beside it


def assert_holds(dataset: xr.Dataset, expected: Expected, nodes: Nodes) -> None:
    name = named(expected, nodes)
    assert name in dataset["a"].coords
    variable = dataset.variables[name]
    assert_is(variable, expected)
    if expected.bounds is not None:
        bounds = variable.attrs["bounds"]
        assert bounds in dataset.coords
        assert_is(dataset.variables[bounds], expected.bounds)
        group = (expected.bounds.source or "").rpartition("/")[0]
        if group != GROUP:
            assert bounds == expected.bounds.name
    if expected.terms:
        words = variable.attrs["formula_terms"].split()
        terms = dict(zip(words[::2], words[1::2], strict=True))
        assert list(terms) == [f"{term}:" for term in expected.terms]
        for term, values in expected.terms.items():
            assert terms[f"{term}:"] in dataset["a"].coords
            assert_is(dataset.variables[terms[f"{term}:"]], values)


@thorough(60)
@given(cs_stores(), formats)
def test_a_document_is_read_as_an_independent_reader_does(
    nodes: Nodes, zarr_format: ZarrFormat
) -> None:
    dataset, told = opened(nodes, zarr_format)
    for warning in told:
        # A choice between candidates, or inline terms of two sets, is nothing wrong.
        assert isinstance(warning, XGroupNameWarning) or "was taken to be" in str(warning)
    expected = list(Reader(nodes).coordinates())
    for coordinate in expected:
        assert_holds(dataset, coordinate, nodes)
    members = {path.rpartition("/")[2] for path in nodes if path.startswith(f"{GROUP}/")}
    assert members <= set(dataset.variables)
    assert set(dataset.data_vars) == members & {"a", "b", "other"}
    np.testing.assert_array_equal(dataset["a"].values, Reader(nodes).stored(ARRAY).values)
    if "b" in members:
        assert set(dataset["b"].coords) == set(dataset["a"].coords)


# Documents gone wrong.


def assert_harmless(nodes: Nodes, zarr_format: ZarrFormat) -> None:
    """Assert that what can be opened without `cs` is there, unchanged; read everything."""
    _dataset, told = opened(nodes, zarr_format)
    for warning in told:
        assert isinstance(warning, XGroupWarning), repr(warning)
    raw = quietly_opened(
        xr.open_dataset, nodes, zarr_format, engine="xgroup", group=GROUP, decode_cf=False
    )
    plain = quietly_opened(
        xr.open_dataset,
        nodes,
        zarr_format,
        engine="zarr",
        group=GROUP,
        decode_cf=False,
        consolidated=False,
    )
    for name, variable in plain.variables.items():
        assert name in raw.variables
        np.testing.assert_array_equal(raw.variables[name].values, variable.values)
        for key, value in variable.attrs.items():
            assert_same_json(raw.variables[name].attrs[key], value)
    assert {"a", "other"} <= set(raw.data_vars)
    raw.load()
    _dataset.load()
    tree = quietly_opened(xr.open_datatree, nodes, zarr_format, engine="xgroup")
    assert set(plain.variables) <= set(tree[f"/{GROUP}"].variables)
    for node in tree.subtree:
        node.to_dataset().load()


def assert_same_json(ours: Json, theirs: Json) -> None:
    assert type(ours) is type(theirs)
    if isinstance(theirs, Mapping):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same_json(ours[key], theirs[key])
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            assert_same_json(*pair)
    elif isinstance(theirs, float) and math.isnan(theirs):
        assert math.isnan(ours)
    else:
        assert ours == theirs


@thorough(35)
@given(mutated_stores(), formats)
def test_a_document_gone_wrong_harms_nothing(nodes: Nodes, zarr_format: ZarrFormat) -> None:
    assert_harmless(nodes, zarr_format)


def whole() -> dict[str, Any]:
    """Return attributes with every member that `cs` knows."""
    return cs_of(
        {
            "type": "compound",
            "name": "all",
            "id": {"proj:code": "EPSG:4326"},
            "geolocation": {"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}},
            "axes": {
                "x": {
                    "abbreviation": "X",
                    "direction": "east",
                    "attributes": {"long_name": "x"},
                    "coordinates": [
                        {
                            "name": "first",
                            "direction": "east",
                            "unit": {"uom": {"ucum": {"unit": "m"}}},
                            "values": {"regular": [0, 1]},
                            "boundaries": {"name": "cells", "regular": [-0.5, 0.5]},
                            "attributes": {"comment": "first"},
                        },
                        {
                            "name": "second",
                            "time": {"unit": "days", "epoch": "2000-01-01", "calendar": "noleap"},
                            "values": {"external": {"ref": {"node": "time"}}},
                            "boundaries": {"external": {"node": "time_bnds"}},
                        },
                        {
                            "name": "third",
                            "values": {"explicit": [1, 2, 3]},
                            "parametric": {
                                "formula": "atmosphere_sigma_coordinate",
                                "terms": {
                                    "sigma": {"explicit": [0.1, 0.2, 0.3]},
                                    "ptop": {"explicit": [10]},
                                    "ps": {"external": {"node": "ps"}},
                                },
                            },
                        },
                    ],
                },
                "height": {"coordinates": [{"unit": "m", "values": {"explicit": [2]}}]},
            },
        },
        {"node": ".", "attribute": "/attributes/crs/shared"},
        id={"proj:code": "EPSG:4326"},
    )


SHARED = {
    "axes": [
        {
            "name": "t",
            "coordinates": [
                {"time": {"reference": "days since 2000-01-01"}, "values": {"regular": [0, 1]}}
            ],
        }
    ]
}


def test_a_scalar_is_not_called_as_a_dimension() -> None:
    axes = {"z": {"coordinates": [{"values": {"explicit": [5]}}]}}
    dataset, told = opened(
        {
            "": {},
            GROUP: {},
            ARRAY: stored([1], "x", **cs_of({"axes": axes})),
            "g/b": stored([1, 2], "z"),
        },
        3,
    )
    assert dataset["a"].coords["g_z"].item() == 5
    assert [type(warning) for warning in told] == [XGroupNameWarning]


def store_with(attributes: Mapping[str, Json], shared: Json) -> Nodes:
    return {
        "": {},
        GROUP: {"crs": {"shared": shared}},
        ARRAY: Array(np.zeros((2, 3)), ("t", "x"), attributes),
        "g/time": stored([1, 2, 3], "x"),
        "g/time_bnds": stored(np.zeros((2, 3)), "bnds x"),
        "g/ps": stored(np.zeros((2, 3)), "t x"),
        "g/lon": stored(np.zeros((2, 3)), "t x"),
        "g/lat": stored(np.zeros((2, 3)), "t x"),
        "g/other": stored([1.0], "elsewhere"),
    }


def test_the_whole_document_is_read_without_a_warning() -> None:
    dataset, told = opened(store_with(whole(), SHARED), 3)
    assert told == []
    assert set(dataset.data_vars) == {"a", "other"}
    assert set(dataset["a"].coords) >= {"t", "x", "time", "third", "height", "lon", "lat", "x_ptop"}


def _places(value: Json, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield (*way, key)
            yield from _places(value[key], (*way, key))


def _replaced(value: Json, way: tuple[Any, ...], new: Json) -> Json:
    if not way:
        return new
    key, *rest = way
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[key] = _replaced(value[key], tuple(rest), new)
    return changed


_PLACES = [(*way,) for way in _places({"cs": whole()["cs"], "shared": SHARED})]


@thorough(35)
@given(st.sampled_from(_PLACES), st.sampled_from(ODD_VALUES))
@example(("cs", "crs", 0, "axes", "x", "coordinates", 0, "values", "regular", 0), 10**400)
@example(("cs", "crs", 0, "axes", "x", "coordinates", 0, "boundaries", "regular"), [0, 2**63])
@example(("cs", "crs", 0, "axes", "x", "coordinates", 1, "name"), "a/b")
@example(("cs", "crs", 0, "axes", "x", "coordinates", 1, "name"), "t")
@example(("cs", "crs", 0, "axes", "x", "coordinates", 0, "boundaries", "name"), "elsewhere")
def test_any_value_may_be_of_another_type(way: tuple[Any, ...], value: Json) -> None:
    both = _replaced({"cs": whole()["cs"], "shared": SHARED}, way, value)
    attributes = {**whole(), "cs": both["cs"]}
    assert_harmless(store_with(attributes, both["shared"]), 3)
