"""Zarr objects and resolvers for handlers, on opening and without it, and the identity of their variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr
from xarray.backends import BackendArray
from xarray.backends.zarr import ZarrArrayWrapper
from xarray.core import indexing
from zarr.storage import MemoryStore, WrapperStore

from zarr_xgroup.conventions import ConventionHandler, register
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.geolocation import GeolocationHandler
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.ref import RefHandler
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupPathError,
)
from zarr_xgroup.tests.builders import (
    Json,
    Nodes,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    stored,
    without,
    without_principal,
    write_local,
)
from zarr_xgroup.tests.strategies import cs_of
from zarr_xgroup.tests.tables import rows, store_of

IT = declaring({"name": "it"})

each_format = pytest.mark.parametrize("zarr_format", [2, 3])


def handler(**members: Any) -> type[ConventionHandler]:
    """Return a handler class of the convention ``it``, registered."""
    defaults = {"tier": "principal", "name": "it", "__module__": "third_party"}
    return register(type("Handler", (ConventionHandler,), {**defaults, **members}))


# Outside of an open.


class Alone:
    """An array that is open by itself, with its group and its root."""

    def __init__(self, store: MemoryStore, path: str, zarr_format: ZarrFormat = 3) -> None:
        self.root = zarr.open_group(store, mode="r", zarr_format=zarr_format)
        self.array = zarr.open_array(store, path=path, mode="r", zarr_format=zarr_format)

    def detects(self, handler: type[ConventionHandler]) -> bool:
        return handler.detect(self.root, self.root, self.array)

    def variables(self, handler: type[ConventionHandler]) -> dict[str, xr.Variable]:
        return handler().get_variables(self.array, self.root, self.root)


GRID: Json = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
BOUNDED: Json = {"values": {"regular": [1, 2]}, "boundaries": {"regular": [0, 2]}}
SIGMA: Json = {
    "formula": "atmosphere_sigma_coordinate",
    "terms": {"sigma": {"external": {"node": "/c/s"}}},
}
LOCATED: Json = {axis: {"node": f"/c/{name}"} for axis, name in (("x", "lon"), ("y", "lat"))}
MEMBERS: Nodes = {
    "g/x": stored([7.0, 8.0, 9.0], "x"),
    "g/spatial_ref": stored(0, crs_wkt=pyproj.CRS(4326).to_wkt()),
    "c": {},
    "c/s": stored([0.5, 1.0], "n"),
    "c/lon": stored(np.zeros((2, 3)), "r c"),
    "c/lat": stored(np.ones((2, 3)), "r c"),
}
BY_THEMSELVES: dict[str, tuple[type[ConventionHandler], Json, dict[str, Any]]] = {
    "the group's own arrays count": (
        SpatialHandler,
        declaring("spatial", **GRID),
        {"x": [7.0, 8.0, 9.0], "y": [0.5, 1.5]},
    ),
    "bounds are given, too": (
        CsHandler,
        cs_of({"axes": {"y": {"coordinates": [BOUNDED]}}}),
        {"y_bounds": [[1, 3], [3, 5]], "y": [1, 3]},
    ),
    "terms are given, too": (
        CsHandler,
        cs_of({"axes": {"y": {"coordinates": [{"parametric": SIGMA}]}}}),
        {"s": [0.5, 1.0], "y": [0, 1]},
    ),
    "references are followed": (
        GeolocationHandler,
        declaring("geolocation", geolocation={"geodetic": LOCATED}),
        {"lon": [[0.0] * 3] * 2, "lat": [[1.0] * 3] * 2},
    ),
    "a CRS is not a variable": (ProjHandler, declaring("proj", **{"proj:code": "EPSG:4326"}), {}),
}


@each_format
@rows(BY_THEMSELVES, "convention, attributes, expected")
def test_a_handler_called_directly_returns_the_opened_variables(
    convention: type[ConventionHandler],
    attributes: Json,
    expected: dict[str, Any],
    zarr_format: ZarrFormat,
) -> None:
    a = stored(np.ones((2, 3)), "y x", **attributes)
    store = store_of({"": {}, "g": {}, "g/a": a, **MEMBERS}, zarr_format)
    found = Alone(store, "g/a", zarr_format)
    assert found.detects(convention)
    variables = found.variables(convention)
    assert {name: it.values.tolist() for name, it in variables.items()} == expected
    dataset = quietly(xr.open_dataset, store, engine="xgroup", group="g")
    for name, variable in variables.items():
        if name in dataset.coords:
            assert (variable.dims, variable.attrs) == (dataset[name].dims, dataset[name].attrs)


BEYOND: Json = {"regular": [0, 100]}
RAISED: dict[str, tuple[type[ConventionHandler], Json, type[XGroupError], str]] = {
    "numbers beyond 64 bits": (
        CsHandler,
        cs_of({"axes": {"z": {"coordinates": [{"values": {"explicit": [2**63 - 10]}, "boundaries": BEYOND}]}}}),
        XGroupMetadataError,
        "boundaries/regular: gives boundaries beyond 64 bits",
    ),
    "a text for a reference": (
        GeolocationHandler,
        declaring("geolocation", geolocation={"planar": {"x": "lon", "y": {"node": "x"}}}),
        XGroupMetadataError,
        'geolocation/planar/x: must be a reference to an array, got string "lon"',
    ),
    "a path above the root": (
        RefHandler,
        declaring("ref", it=[{"node": "/.."}]),
        XGroupPathError,
        "it/0: '/..' points above the root of the store",
    ),
}  # fmt: skip


@rows(RAISED, "convention, attributes, kind, text")
def test_warnings_on_opening_are_errors_of_get_variables(
    convention: type[ConventionHandler], attributes: Json, kind: type[XGroupError], text: str
) -> None:
    store = store_of({"": {}, "g": {}, "g/a": stored([1, 2, 3], "x", **attributes), **MEMBERS})
    with pytest.raises(kind) as raised:
        Alone(store, "g/a").variables(convention)
    assert type(raised.value) is kind
    assert str(raised.value).startswith("/g/a#/attributes/")
    assert str(raised.value).endswith(text)


@each_format
def test_an_array_in_a_group_without_a_document(zarr_format: ZarrFormat) -> None:
    code = {"proj:code": "EPSG:4326"}
    nodes: Nodes = {
        "g/h/a": stored(np.ones((1, 1)), "y x", **code),
        "g/h/b": stored(np.ones((1, 1)), "y x", **declaring("proj"), **code),
        "g/h/c": stored(np.ones((1, 1)), "y x", **declaring("proj")),
    }
    for root, expected in (({}, [False, True, True]), (declaring("proj"), [True, True, True])):
        groups = [f"{path}/{key}" for path in ("g", "g/h") for key in (".z", "zarr.json")]
        store = memory_store(without(build({"": root, **nodes}, zarr_format), *groups))
        found = [Alone(store, f"g/h/{name}", zarr_format) for name in "abc"]
        assert [it.detects(ProjHandler) for it in found] == expected
        assert not any(it.detects(GeolocationHandler) for it in found)
        assert [it.variables(ProjHandler) for it in found] == [{}, {}, {}]


# Within an open.


@each_format
@pytest.mark.parametrize("has_root", [True, False])
def test_a_handler_is_given_real_zarr_objects_that_it_cannot_change(
    zarr_format: ZarrFormat, has_root: bool
) -> None:
    given: list[tuple[Any, ...]] = []

    def detect(root: zarr.Group, group: zarr.Group, array: zarr.Array[Any]) -> bool:
        given.append((root, group, array))
        return array.path == "g/h/a"

    def get_variables(_self: Any, array: Any, group: Any, root: Any) -> dict[str, xr.Variable]:
        given.append((root, group, array))
        return {"s": xr.Variable("s", root["other"][:])}

    handler(detect=staticmethod(detect), get_variables=get_variables)
    nodes: Nodes = {
        "": {"list": [1]},
        "g": {},
        "g/h": {"list": [2]},
        "g/h/a": stored([1, 2], "x", list=[3]),
        "other": stored([7, 8], "s"),
    }
    contents = build(nodes, zarr_format)
    store = memory_store(contents if has_root else without(contents, ".z", "zarr.json"))
    dataset = opened(xr.open_dataset, store, group="g/h")
    assert dataset["s"].values.tolist() == [7, 8]
    assert len(given) == 2
    for root, group, array in given:
        kinds = [
            isinstance(root, zarr.Group),
            isinstance(group, zarr.Group),
            isinstance(array, zarr.Array),
        ]
        assert kinds == [True, True, True]
        assert [node.path for node in (root, group, array)] == ["", "g/h", "g/h/a"]
        assert root.metadata.zarr_format == zarr_format
        assert root["g/h/a"][:].tolist() == array[:].tolist() == [1, 2]
        lists = [dict(node.attrs).get("list") for node in (root, group, array)]
        assert lists == [[1] if has_root else None, [2], [3]]
        array.metadata.attributes["list"].append(2)
    assert dataset["a"].attrs["list"] == [3]


def test_arrays_referenced_by_a_handler_need_no_principal_convention() -> None:
    def get_variables(self: ConventionHandler, *_arguments: Any) -> Any:
        return {"s": self.resolver.variable({"node": "/h/shared"}, "uv")}

    handler(get_variables=get_variables)
    grids = {f"h/{name}": stored(np.zeros((2, 2)), "r c") for name in ("shared", "other")}
    store = store_of(
        {"": {}, "g": {}, "g/a": stored(np.ones((2, 2)), "u v", **IT), "h": {}, **grids}
    )
    assert without_principal(xr.open_datatree, store) == ["/h/other"]
    assert opened(xr.open_dataset, store, group="g")["s"].dims == ("u", "v")


# Which variables are one.


def coordinates_of(first: xr.Variable, second: xr.Variable, names: str = "qq") -> list[Any]:
    """Return the values of the coordinates there are if a handler gives these of two arrays."""
    given = {"a": {names[0]: first}, "b": {names[1]: second}}
    handler(get_variables=lambda _self, array, *_groups: given[array.path])
    nodes = {
        name: stored(np.zeros(variable.shape), " ".join(map(str, variable.dims)), **IT)
        for name, (variable,) in ((name, it.values()) for name, it in given.items())
    }
    dataset, _told = opened_with_warnings(xr.open_dataset, store_of({"": {}, **nodes}))
    return sorted(dataset[name].values.tolist() for name in dataset.coords)


def array_of(values: Any, folder: Path | None = None) -> zarr.Array[Any]:
    """Return a stored array, in memory or in a folder."""
    contents = build({"": {}, "s": stored(values, "x")})
    store: Any = memory_store(contents) if folder is None else write_local(contents, folder)
    return zarr.open_array(store, path="s", mode="r")


def lazy(array: Any, key: Any = slice(None)) -> xr.Variable:
    """Return a part of a stored array along ``x``, lazily."""
    wrapper: Any = ZarrArrayWrapper
    return xr.Variable("x", indexing.LazilyIndexedArray(wrapper(array)))[key]


class Twos(BackendArray):
    """What another backend has: no zarr array."""

    shape, dtype = (2,), np.dtype("f8")

    def __getitem__(self, key: Any) -> Any:
        return np.full(self.shape, 2.0)[key.tuple]


class Named(WrapperStore[Any]):
    """A store that is called as others are."""

    def __str__(self) -> str:
        return "store"


ONE = np.array([1, 1])
SHARED = array_of(np.arange(8.0))
TWOS = xr.Variable("x", indexing.LazilyIndexedArray(Twos()))
ONE_OR_TWO: dict[str, tuple[xr.Variable, xr.Variable, int]] = {
    "equal numbers": (xr.Variable("x", ONE), xr.Variable("x", ONE.copy()), 1),
    "of other dimensions": (xr.Variable("x", ONE), xr.Variable("y", ONE), 2),
    "of another type": (xr.Variable("x", ONE), xr.Variable("x", ONE.astype("i2")), 2),
    "none, of other shapes": (xr.Variable(("x", "y"), np.zeros((0, 2))), xr.Variable(("x", "y"), np.zeros((0, 3))), 2),
    "the same slice": (lazy(SHARED, slice(2, 4)), lazy(zarr.open_array(SHARED.store, path="s", mode="r"), slice(2, 4)), 1),
    "another slice": (lazy(SHARED, slice(2, 4)), lazy(SHARED, slice(3, 5)), 2),
    "the same elements": (lazy(SHARED, [2, 5]), lazy(SHARED, np.array([2, 5])), 1),
    "other elements": (lazy(SHARED, [2, 5]), lazy(SHARED, [2, 6]), 2),
    "the same path in another store": (lazy(SHARED, [2, 5]), lazy(array_of(np.arange(1.0, 9)), [2, 5]), 2),
    "one object of another backend": (TWOS, TWOS, 1),
    "two objects of another backend": (TWOS, xr.Variable("x", indexing.LazilyIndexedArray(Twos())), 2),
}  # fmt: skip


@rows(ONE_OR_TWO, "first, second, number")
def test_a_coordinate_shared_by_arrays_is_one_variable(
    first: xr.Variable, second: xr.Variable, number: int
) -> None:
    values = [it.values.tolist() for it in (first, second)[:number]]
    assert coordinates_of(first, second) == sorted(values)
    if number == 1:  # but under two names it is two
        assert len(coordinates_of(first, second, "qp")) == 2


def test_all_elements_of_a_large_array_are_compared() -> None:
    """Of a thousand and more numpy shows only the first and the last."""
    array, one = array_of(np.arange(8000.0)), np.arange(0, 4000, 2)
    other = one.copy()
    other[1000] += 1
    assert len(coordinates_of(lazy(array, one), lazy(array, other))) == 2


@pytest.mark.parametrize("kind", ["one folder", "two folders", "stores of one name"])
def test_arrays_are_those_of_their_stores(kind: str, tmp_path: Path) -> None:
    if kind == "stores of one name":
        arrays = [
            zarr.open_array(Named(array_of([number, 2.0]).store), path="s", mode="r")
            for number in (0, 1)
        ]
    else:
        names = ("0", "1") if kind == "two folders" else ("0", "0")
        arrays = [array_of([int(name), 2.0], tmp_path / name) for name in names]
    found = coordinates_of(lazy(arrays[0]), lazy(arrays[1]))
    assert found == ([[0.0, 2.0]] if kind == "one folder" else [[0.0, 2.0], [1.0, 2.0]])


def test_dask_arrays_are_one_if_they_are_one_object() -> None:
    pytest.importorskip("dask.array")
    one, other = (xr.Variable("x", ONE).chunk() for _time in range(2))
    assert (len(coordinates_of(one, one)), len(coordinates_of(one, other))) == (1, 2)


@pytest.mark.parametrize("cache", [True, False])
def test_each_coordinate_from_one_file_is_kept_once(cache: bool) -> None:
    arrays = {f"v{n}": stored([n, n + 1.0], "x", scale_factor=2.0) for n in range(2)}
    store = store_of({"": {}, **arrays})
    dataset = quietly(xr.open_dataset, store, engine="zarr", consolidated=False, cache=cache)
    one, other = (dataset.variables[name] for name in arrays)
    for variable in (one, other):
        variable.encoding["source"] = "one_file.nc"  # as xarray says of a file's variables
    assert coordinates_of(one, other) == [[0.0, 2.0], [2.0, 4.0]]
    assert coordinates_of(one, one) == [[0.0, 2.0]]


def test_variables_kept_by_a_handler_are_copied_for_each_group() -> None:
    kept = xr.Variable("x", np.array([7, 8]), {"list": [1]}, {"note": "kept"})

    def get_variables(_self: Any, array: Any, *_groups: Any) -> dict[str, xr.Variable]:
        since = xr.Variable("x", [1.0, 2.0], {"units": f"days since {array.attrs['since']}-01-01"})
        return {"q": kept, "since": since}

    handler(get_variables=get_variables)
    years = {"g": 2000, "h": 1990}
    arrays = {f"{it}/a": stored([1, 2], "x", **IT, since=year) for it, year in years.items()}
    store = store_of({"": {}, "g": {}, "h": {}, **arrays})
    groups = opened(xr.open_groups, store)
    for path, year in years.items():
        assert groups[f"/{path}"]["since"].dt.year.values.tolist() == [year, year]
    first = groups["/g"]["q"]
    first.attrs["list"].append(2)
    first.values[0] = -1
    for unchanged in (groups["/h"]["q"], opened(xr.open_dataset, store, group="g")["q"], kept):
        assert (unchanged.values.tolist(), unchanged.attrs) == ([7, 8], {"list": [1]})
        assert unchanged.encoding["note"] == "kept"
    assert "q" not in opened(xr.open_dataset, store, group="g", drop_variables="q")
