"""What handlers are lent: zarr objects in an open, and an array's surroundings outside of one."""

from __future__ import annotations

from collections.abc import Callable
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

from zarr_xgroup.conventions import ConventionHandler, register, registry
from zarr_xgroup.conventions.geolocation import GeolocationHandler
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.tests.builders import (
    Nodes,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
    stored,
    without,
    without_principal,
    write_local,
)

IT = declaring({"name": "it"})

each_format = pytest.mark.parametrize("zarr_format", [2, 3])


@pytest.fixture(autouse=True)
def _forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after each test what it registers."""
    monkeypatch.setattr(registry, "_REGISTERED", [])


class It(ConventionHandler):
    """A third party's, of which tests say what else it has."""

    tier = "principal"
    name = "it"


def giving(get_variables: Callable[..., Any]) -> None:
    """Register a handler with this `get_variables(array, group, root)`."""
    register(type("Giving", (It,), {"get_variables": staticmethod(get_variables)}))


class Alone:
    """An array that is open by itself, with its group and its root."""

    def __init__(self, store: MemoryStore, path: str, zarr_format: ZarrFormat = 3) -> None:
        self.root = zarr.open_group(store, mode="r", zarr_format=zarr_format)
        self.array = zarr.open_array(store, path=path, mode="r", zarr_format=zarr_format)

    def detects(self, handler: type[ConventionHandler]) -> bool:
        return handler.detect(self.root, self.root, self.array)

    def variables(self, handler: type[ConventionHandler]) -> dict[str, xr.Variable]:
        return handler().get_variables(self.array, self.root, self.root)


# Outside of an open.

GRID: Nodes = {
    "": {},
    "g": {},
    "g/a": stored(
        np.ones((2, 3)),
        "y x",
        **declaring("spatial", "proj"),
        **{"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]},
    ),
    "g/x": stored([7.0, 8.0, 9.0], "x"),
    "g/spatial_ref": stored(0, crs_wkt=pyproj.CRS(4326).to_wkt()),
}


@each_format
def test_the_groups_own_arrays_count_outside_of_an_open_as_they_do_within(
    zarr_format: ZarrFormat,
) -> None:
    store = memory_store(build(GRID, zarr_format))
    variables = Alone(store, "g/a", zarr_format).variables(SpatialHandler)
    dataset, _told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert {name: it.values.tolist() for name, it in variables.items()} == {
        "x": [7.0, 8.0, 9.0],
        "y": [0.5, 1.5],
    }
    for name, variable in variables.items():
        assert variable.values.tolist() == dataset[name].values.tolist()
        assert variable.attrs == dataset[name].attrs
    assert variables["x"].attrs["standard_name"] == "longitude"


def test_a_group_is_listed_outside_of_an_open_where_all_its_arrays_count() -> None:
    geolocation = {"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}}
    nodes: Nodes = {
        "": declaring("geolocation", geolocation=geolocation),
        "lon": stored(np.zeros((2, 2)), "r c"),
        "lat": stored(np.zeros((2, 2)), "r c"),
        "other": stored(np.zeros((3, 3)), "u v"),
    }
    # About none of the group's arrays: tie points, which all arrays of two dimensions get.
    alone = Alone(memory_store(build(nodes)), "other")
    assert set(alone.variables(GeolocationHandler)) == {"lon", "lat"}
    located = memory_store(build({**nodes, "located": stored(np.zeros((2, 2)), "r c")}))
    assert set(Alone(located, "located").variables(GeolocationHandler)) == {"lon", "lat"}
    assert Alone(located, "other").variables(GeolocationHandler) == {}


@each_format
def test_an_array_in_a_group_without_a_document(zarr_format: ZarrFormat) -> None:
    code = {"proj:code": "EPSG:4326"}
    nodes: Nodes = {
        "": {},
        "g/h/a": stored(np.ones((1, 1)), "y x", **code),
        "g/h/b": stored(np.ones((1, 1)), "y x", **declaring("proj"), **code),
        "g/h/c": stored(np.ones((1, 1)), "y x", **declaring("proj")),
    }
    for root, expected in (({}, [False, True, True]), (declaring("proj"), [True, True, True])):
        groups = [f"{path}/{key}" for path in ("g", "g/h") for key in (".z", "zarr.json")]
        store = memory_store(without(build({**nodes, "": root}, zarr_format), *groups))
        found = [Alone(store, f"g/h/{name}", zarr_format) for name in "abc"]
        assert [it.detects(ProjHandler) for it in found] == expected
        assert not any(it.detects(GeolocationHandler) for it in found)
        assert [it.variables(ProjHandler) for it in found] == [{}, {}, {}]


def test_an_array_that_is_no_longer_there() -> None:
    store = memory_store(build(GRID))
    alone = Alone(store, "g/a")
    del store._store_dict["g/a/zarr.json"]
    with pytest.raises(XGroupMetadataError, match=r"^there is no array /g/a$"):
        alone.detects(SpatialHandler)


# Within an open: zarr objects.


@each_format
def test_the_root_that_is_lent_leads_to_all_nodes_though_it_has_no_document(
    zarr_format: ZarrFormat,
) -> None:
    def get_variables(_array: Any, group: zarr.Group, root: Any) -> Any:
        assert (dict(root.attrs), root.metadata.zarr_format) == ({}, zarr_format)
        assert root["g"].attrs["is"] == group.attrs["is"] == "g"
        return {"s": xr.Variable("s", root["h/shared"][:])}

    giving(get_variables)
    nodes: Nodes = {"": {}, "g": {"is": "g"}, "g/a": stored([1.0, 2.0], "x", **IT)}
    contents = build({**nodes, "h": {}, "h/shared": stored([7.0, 8.0], "s")}, zarr_format)
    bare = without(contents, ".z", "zarr.json")
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(bare), group="g")
    assert told == []
    assert dataset["s"].values.tolist() == [7.0, 8.0]


def test_attributes_that_a_handler_changes_stay_what_they_are_for_others() -> None:
    def get_variables(array: zarr.Array[Any], group: zarr.Group, root: zarr.Group) -> Any:
        for node in (array, group, root):
            assert node.metadata.attributes["list"] == [1]
            node.metadata.attributes["list"].append(2)
            node.metadata.attributes["more"] = 1
        return {}

    giving(get_variables)
    listed: Any = {"list": [1]}
    array = stored([1.0], "x", **IT, **listed)
    store = memory_store(build({"": listed, "a": array, "b": array}))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert told == []
    for attributes in (dataset.attrs, dataset["a"].attrs, dataset["b"].attrs):
        assert (attributes["list"], "more" in attributes) == ([1], False)


def test_what_a_handler_refers_to_lacks_no_convention() -> None:
    def get_variables(self: ConventionHandler, *_arguments: Any) -> Any:
        return {"s": self.resolver.variable({"node": "/h/shared"})}

    register(type("Referring", (It,), {"get_variables": get_variables}))
    nodes: Nodes = {
        "": {},
        "g": {},
        "g/a": stored([1.0, 2.0], "x", **IT),
        "h": {},
        "h/shared": stored(np.zeros((2, 2)), "r c"),
        "h/other": stored(np.zeros((2, 2)), "r c"),
    }
    (text,) = without_principal(xr.open_datatree, memory_store(build(nodes)))
    assert "/h/other" in text
    assert "/h/shared" not in text


# Within an open: what is one variable.


def coordinates_of(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the coordinates there are if a handler gives two arrays these variables."""
    given = {"a": first, "b": second}
    giving(lambda array, *_groups: given[array.path])
    nodes = {
        name: stored(np.zeros(variable.shape), variable.dims, **IT)
        for name, variables in given.items()
        for variable in variables.values()
    }
    dataset, _told = opened_with_warnings(xr.open_dataset, memory_store(build({"": {}, **nodes})))
    return {str(name): dataset[name].values.tolist() for name in dataset.coords}


ONE = np.array([1, 1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("x", ONE), ("y", ONE), id="dimension"),
        pytest.param(("x", ONE), ("x", ONE.astype("i2")), id="type"),
        pytest.param((("x", "y"), np.zeros((0, 2))), (("x", "y"), np.zeros((0, 3))), id="empty"),
    ],
)
def test_equal_numbers_of_other_kinds_are_several_variables(one: Any, other: Any) -> None:
    assert len(coordinates_of({"q": xr.Variable(*one)}, {"q": xr.Variable(*other)})) == 2


def lazy(array: Any, key: Any = slice(None)) -> xr.Variable:
    """Return a part of a stored array along ``x``, lazily."""
    wrapper: Any = ZarrArrayWrapper
    return xr.Variable("x", indexing.LazilyIndexedArray(wrapper(array)))[key]


@pytest.mark.parametrize("first", ["q", "r"])
def test_equal_numbers_of_other_names_are_several_variables(first: str) -> None:
    shared = zarr.open_array(
        memory_store(build({"": {}, "s": stored(ONE, "x")})), path="s", mode="r"
    )
    for variable in (xr.Variable("x", ONE), lazy(shared)):
        assert set(coordinates_of({first: variable}, {"p": variable})) == {first, "p"}


class Named(WrapperStore[Any]):
    """A store that is called as others are."""

    def __str__(self) -> str:
        return "store"


@pytest.mark.parametrize("kind", ["memory", "folder", "named"])
def test_arrays_of_one_path_in_two_stores_are_two_variables(kind: str, tmp_path: Path) -> None:
    def opened(number: int) -> Any:
        contents = build({"": {}, "s": stored([number, number + 1.0], "x")})
        if kind == "folder":
            return zarr.open_array(
                write_local(contents, tmp_path / f"{number}"), path="s", mode="r"
            )
        store = memory_store(contents)
        return zarr.open_array(Named(store) if kind == "named" else store, path="s", mode="r")

    found = coordinates_of({"q": lazy(opened(0))}, {"q": lazy(opened(1))})
    assert sorted(found.values()) == [[0.0, 1.0], [1.0, 2.0]]


@pytest.mark.parametrize("length", [2, 2000])
def test_elements_at_other_positions_are_other_variables(length: int) -> None:
    """With 2000 of them numpy shows only the first and the last ones."""
    values = np.arange(4.0 * length)
    shared = zarr.open_array(
        memory_store(build({"": {}, "s": stored(values, "x")})), path="s", mode="r"
    )
    one = np.arange(0, 2 * length, 2)
    other = one.copy()
    other[length // 2] += 1
    same = coordinates_of({"q": lazy(shared, one)}, {"q": lazy(shared, one.copy())})
    assert same == {"q": one.tolist()}
    found = coordinates_of({"q": lazy(shared, one)}, {"q": lazy(shared, other)})
    assert sorted(found.values()) == sorted([one.tolist(), other.tolist()])


class Twos(BackendArray):
    """What another backend has: no zarr array."""

    shape, dtype = (2,), np.dtype("f8")

    def __getitem__(self, key: Any) -> Any:
        return np.full(self.shape, 2.0)[key.tuple]


def lazy_twos() -> xr.Variable:
    return xr.Variable("x", indexing.LazilyIndexedArray(Twos()))


@pytest.mark.parametrize("kind", ["lazy", "dask"])
def test_data_of_another_kind_are_one_variable_if_they_are_one_object(kind: str) -> None:
    if kind == "dask":
        pytest.importorskip("dask.array")
    one, other = (
        xr.Variable("x", ONE).chunk() if kind == "dask" else lazy_twos() for _ in range(2)
    )
    assert len(coordinates_of({"q": one}, {"q": one})) == 1
    assert len(coordinates_of({"q": one}, {"q": other})) == 2


# Within an open: what is no answer.


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"q": 5}, "'q' is no xarray.Variable but int"),
        ({"q": np.zeros(1)}, "'q' is no xarray.Variable but ndarray"),
        ({"q": xr.DataArray([1.0], dims="x")}, "'q' is no xarray.Variable but DataArray"),
        ({5: xr.Variable("x", [1.0])}, "the name 5 is no string"),
        ({"good": xr.Variable("x", [1.0]), None: 5}, "the name None is no string"),
    ],
    ids=range(5),
)
def test_what_is_wrong_with_an_answer_is_told(given: Any, text: str) -> None:
    giving(lambda *_arguments: given)
    store = memory_store(build({"": {}, "a": stored([1.0], "x", **IT)}))
    _dataset, (warning,) = opened_with_warnings(xr.open_dataset, store)
    assert f"failed: TypeError: {text}." in str(warning)
