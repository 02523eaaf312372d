"""What handlers are lent, zarr objects in an open and surroundings outside of one; and what they give."""

from __future__ import annotations

import warnings
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

from zarr_xgroup import XGroupResolutionWarning, XGroupWarning
from zarr_xgroup.conventions import BoundResolver, ConventionHandler, register
from zarr_xgroup.conventions.geolocation import GeolocationHandler
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, XGroupReferenceError
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
    write_store,
)

IT = declaring({"name": "it"})

each_format = pytest.mark.parametrize("zarr_format", [2, 3])


def handler(**members: Any) -> type[ConventionHandler]:
    """Return a handler class of the convention ``it``, registered."""
    defaults = {"tier": "principal", "name": "it", "__module__": "third_party"}
    return register(type("Handler", (ConventionHandler,), {**defaults, **members}))


def giving(get_variables: Callable[..., Any]) -> None:
    """Register a handler with this `get_variables(array, group, root)`."""
    handler(get_variables=staticmethod(get_variables))


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


def test_a_geolocation_of_a_group_outside_of_an_open() -> None:
    geolocation = {"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}}
    nodes: Nodes = {
        "": declaring("geolocation", geolocation=geolocation),
        "lon": stored(np.zeros((2, 2)), "r c"),
        "lat": stored(np.zeros((2, 2)), "r c"),
        "other": stored(np.zeros((3, 3)), "u v"),
    }
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

    handler(get_variables=get_variables)
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
    assert f"failed: TypeError: {text}" in str(opened_array())


# Within an open: several arrays.

#: Three arrays that follow the convention of the tests, and what they share.
NODES: Nodes = {
    "": {},
    "g": {},
    "g/a": stored(np.arange(3.0), "x", **IT),
    "g/b": stored(np.arange(3.0), "x", **IT),
    "g/c": stored(np.arange(6.0).reshape(2, 3), "y x", **IT),
    "shared": stored([7.0, 8.0, 9.0, 10.0], "s"),
    "other": stored([1.0, 2.0, 3.0, 4.0], "s"),
}


def opened_group() -> tuple[xr.Dataset, list[Any]]:
    """Return the group of the three arrays, and what is told of it."""
    return opened_with_warnings(xr.open_dataset, memory_store(build(NODES)), group="g")


def opened_array() -> XGroupWarning:
    """Open one array alone, and return the one warning of it."""
    store = memory_store(build({"": {}, "b": NODES["g/b"]}))
    _dataset, (warning,) = opened_with_warnings(xr.open_dataset, store)
    return warning


def first_three(array: zarr.Array[Any], start: int = 0) -> xr.Variable:
    """Return three elements of an array, lazily."""
    return lazy(array)[start : start + 3]


# One and the same.


def of_root(root: zarr.Group, _group: zarr.Group) -> Any:
    return root["shared"]


def of_group(_root: zarr.Group, group: zarr.Group) -> Any:
    return zarr.open_array(group.store, path="shared", mode="r")


@pytest.mark.parametrize("find", [of_root, of_group], ids=lambda find: find.__name__)
@pytest.mark.parametrize("in_memory", [True, False], ids=["memory", "local"])
def test_one_array_in_new_wrappers_is_one_variable(
    find: Any, in_memory: bool, tmp_path: Path
) -> None:
    giving(lambda _array, group, root: {"s": first_three(find(root, group))})
    store = memory_store(build(NODES)) if in_memory else write_store(tmp_path / "store", NODES)
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert told == []
    assert set(dataset.coords) == {"s"}
    assert dataset["s"].values.tolist() == [7, 8, 9]
    for name in "abc":
        assert "s" in dataset[name].coords


@pytest.mark.parametrize("transposed", [False, True])
def test_one_array_of_a_dataset_is_one_variable(transposed: bool) -> None:
    def get_variables(_array: Any, _group: Any, root: zarr.Group) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset = xr.open_zarr(root.store, group="g", chunks=None, consolidated=False)
        variable = dataset.variables["c"]
        return {"q": variable.transpose() if transposed else variable}

    giving(get_variables)
    nodes = {key: value for key, value in NODES.items() if key != "g/b"}
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(nodes)), group="g")
    assert told == []
    assert set(dataset.coords) == {"q"}
    assert dataset["q"].shape == ((3, 2) if transposed else (2, 3))


# Different things.


def names_of(dataset: xr.Dataset) -> dict[str, list[float]]:
    return {str(name): dataset[name].values.tolist() for name in dataset.coords}


def test_parts_of_one_array_and_parts_of_others_are_different_things() -> None:
    parts = {"g/a": ("shared", 0), "g/b": ("shared", 1), "g/c": ("other", 0)}

    def get_variables(array: zarr.Array[Any], _group: Any, root: Any) -> Any:
        name, start = parts[array.path]
        return {"s": first_three(root[name], start)}

    giving(get_variables)
    dataset, _told = opened_group()
    assert names_of(dataset) == {"s": [7, 8, 9], "g_s": [8, 9, 10], "g_s_1": [1, 2, 3]}


@pytest.mark.parametrize("cache", [True, False])
def test_of_coordinates_from_one_file_none_vanishes(cache: bool) -> None:
    others: Any = memory_store(
        build({"": {}, **{f"v{n}": stored([n, n + 1.0], "x", scale_factor=2.0) for n in range(8)}})
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = xr.open_dataset(others, engine="zarr", consolidated=False, cache=cache)
    for variable in dataset.variables.values():
        variable.encoding["source"] = "one_file.nc"  # as xarray says of a file's variables

    giving(lambda array, *_groups: {"aux": dataset.variables[f"v{array.path[-1]}"]})
    nodes: Nodes = {"": {}, **{f"a{n}": stored([1.0, 2.0], "x", **IT) for n in range(8)}}
    found, _told = opened_with_warnings(xr.open_dataset, memory_store(build(nodes)))
    assert len(found.coords) == 8
    values = sorted(tuple(found[name].values.tolist()) for name in found.coords)
    assert values == [(2.0 * n, 2.0 * n + 2) for n in range(8)]


# What is no answer.


def one_problem(told: list[Any]) -> str:
    (warning,) = told
    assert type(warning) is XGroupResolutionWarning
    lost = "/g/a, /g/b, /g/c were opened without what convention 'it' gives"
    start = f"{lost}: the handler of convention 'it' (third_party) failed: "
    text = str(warning)
    assert text.startswith(start)
    return text[len(start) :]


NO_MAPPING = [(None, "NoneType"), (5, "int"), ("text", "str"), ([1], "list")]


@pytest.mark.parametrize(("given", "kind"), NO_MAPPING)
def test_variables_that_are_no_mapping(given: Any, kind: str) -> None:
    giving(lambda *_arguments: given)
    _dataset, told = opened_group()
    assert one_problem(told) == (
        f"TypeError: 'get_variables' must return a dict of xarray.Variable by name, got {kind}"
    )


@pytest.mark.parametrize(("given", "kind"), [*NO_MAPPING, ({}, "dict")])
def test_an_interpretation_that_is_none(given: Any, kind: str) -> None:
    it = handler(interpret=lambda *_arguments: given)
    _dataset, told = opened_group()
    text = f"'interpret' must return an Interpretation (see array.interpretation), got {kind}"
    assert one_problem(told) == f"TypeError: {text}"
    root = zarr.open_group(memory_store(build(NODES)), mode="r")
    array: Any = root["g/a"]
    group: Any = root["g"]
    with pytest.raises(TypeError) as raised:
        it().get_variables(array, group, root)
    assert str(raised.value) == text


@pytest.mark.parametrize("given", ["x", 5, None, [("node", "x")]], ids=repr)
@pytest.mark.parametrize("method", ["variable", "value"])
def test_a_reference_that_is_no_mapping(given: Any, method: str) -> None:
    text = f'a reference must be a mapping such as {{"node": "../time"}}, got {given!r}'
    handler(get_variables=lambda self, *_arguments: getattr(self.resolver, method)(given))
    assert str(opened_array()) == (
        "/b was opened without what convention 'it' gives: "
        f"the handler of convention 'it' (third_party) failed: XGroupReferenceError: {text}"
    )
    root = zarr.open_group(memory_store(build(NODES)), mode="r")
    array: Any = root["g/a"]
    with pytest.raises(XGroupReferenceError) as raised:
        getattr(BoundResolver.of(array, root), method)(given)
    assert str(raised.value) == f"/g/a: {text}"
    assert raised.value.reason == text


class OwnError(XGroupError):
    """An error of a third party that is made in its own way."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}", reason="its own")


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (XGroupReferenceError("text", reason="why", target="t"), XGroupReferenceError, "why"),
        (XGroupReferenceError("text"), XGroupReferenceError, "text"),
        (OwnError("one", "two"), XGroupError, "its own"),
        (KeyError("k"), XGroupError, "'k'"),
    ],
    ids=repr,
)
def test_an_error_of_a_handler_keeps_its_reason(
    error: Exception, kind: type[XGroupError], reason: str
) -> None:
    def fail(*_arguments: Any) -> Any:
        raise error

    giving(fail)
    warning = opened_array()
    assert isinstance(warning.error, kind)
    assert warning.error.reason == reason
    assert warning.error.target == getattr(error, "target", "")
