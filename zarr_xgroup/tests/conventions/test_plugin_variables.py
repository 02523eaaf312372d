"""What third parties' handlers give: which variables are one and the same, and what is no answer."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from xarray.backends.zarr import ZarrArrayWrapper
from xarray.core import indexing

from zarr_xgroup import XGroupNoPrincipalWarning, XGroupResolutionWarning
from zarr_xgroup.conventions import BoundResolver, ConventionHandler, register, registry
from zarr_xgroup.errors import XGroupError, XGroupReferenceError
from zarr_xgroup.tests.builders import Nodes, build, declaring, memory_store, stored, write_store

IT = declaring({"name": "it"})

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


@pytest.fixture(autouse=True)
def _forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after each test what it registers."""
    monkeypatch.setattr(registry, "_REGISTERED", [])


def handler(**members: Any) -> type[ConventionHandler]:
    """Return a handler class of the convention ``it``, registered."""
    defaults = {"tier": "principal", "name": "it", "__module__": "third_party"}
    return register(type("Handler", (ConventionHandler,), {**defaults, **members}))


def opened(store: Any, function: Any = xr.open_dataset, **options: Any) -> tuple[Any, list[Any]]:
    """Open by engine xgroup; the warnings but that on missing principal conventions."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        result = function(store, engine="xgroup", **options)
    told = [it.message for it in given if type(it.message) is not XGroupNoPrincipalWarning]
    return result, told


def lazily(array: zarr.Array[Any], key: Any = None) -> xr.Variable:
    """Return an array as the specification's example does: new wrappers with each call."""
    wrapper: Any = ZarrArrayWrapper
    data = indexing.LazilyIndexedArray(wrapper(array), key)
    return xr.Variable(("x",), data)


def first_three(array: zarr.Array[Any], start: int = 0) -> xr.Variable:
    """Return three elements of an array, lazily."""
    return lazily(array)[start : start + 3]


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
    handler(get_variables=lambda _self, _array, group, root: {"s": first_three(find(root, group))})
    store = memory_store(build(NODES)) if in_memory else write_store(tmp_path / "store", NODES)
    dataset, told = opened(store, group="g")
    assert told == []
    assert set(dataset.coords) == {"s"}
    assert dataset["s"].values.tolist() == [7, 8, 9]
    for name in "abc":
        assert "s" in dataset[name].coords


@pytest.mark.parametrize("transposed", [False, True])
def test_one_array_of_a_dataset_is_one_variable(transposed: bool) -> None:
    def get_variables(_self: Any, array: zarr.Array[Any], _group: Any, root: zarr.Group) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset = xr.open_zarr(root.store, group="g", chunks=None, consolidated=False)
        variable = dataset.variables["c"]
        return {"q": variable.transpose() if transposed else variable}

    handler(get_variables=get_variables)
    nodes = {key: value for key, value in NODES.items() if key != "g/b"}
    dataset, told = opened(memory_store(build(nodes)), group="g")
    assert told == []
    assert set(dataset.coords) == {"q"}
    assert dataset["q"].shape == ((3, 2) if transposed else (2, 3))


# Different things.


def names_of(dataset: xr.Dataset) -> dict[str, list[float]]:
    return {str(name): dataset[name].values.tolist() for name in dataset.coords}


def test_parts_of_one_array_and_parts_of_others_are_different_things() -> None:
    parts = {"g/a": ("shared", 0), "g/b": ("shared", 1), "g/c": ("other", 0)}

    def get_variables(_self: Any, array: zarr.Array[Any], _group: Any, root: Any) -> Any:
        name, start = parts[array.path]
        return {"s": first_three(root[name], start)}

    handler(get_variables=get_variables)
    dataset, _told = opened(memory_store(build(NODES)), group="g")
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

    def get_variables(_self: Any, array: zarr.Array[Any], *_groups: Any) -> Any:
        return {"aux": dataset.variables[f"v{array.path[-1]}"]}

    handler(get_variables=get_variables)
    nodes: Nodes = {"": {}, **{f"a{n}": stored([1.0, 2.0], "x", **IT) for n in range(8)}}
    found, _told = opened(memory_store(build(nodes)))
    assert len(found.coords) == 8
    values = sorted(tuple(found[name].values.tolist()) for name in found.coords)
    assert values == [(2.0 * n, 2.0 * n + 2) for n in range(8)]


# What is no answer.


def one_problem(told: list[Any]) -> str:
    (warning,) = told
    assert type(warning) is XGroupResolutionWarning
    start = "the handler of convention 'it' (third_party) failed: "
    text = str(warning)
    assert text.startswith(start)
    return text[len(start) :].partition(". Arrays ")[0]


NO_MAPPING = [(None, "NoneType"), (5, "int"), ("text", "str"), ([1], "list")]


@pytest.mark.parametrize(("given", "kind"), NO_MAPPING)
def test_variables_that_are_no_mapping(given: Any, kind: str) -> None:
    handler(get_variables=lambda *_arguments: given)
    _dataset, told = opened(memory_store(build(NODES)), group="g")
    assert one_problem(told) == (
        f"TypeError: 'get_variables' must return a dict of xarray.Variable by name, got {kind}"
    )


@pytest.mark.parametrize(("given", "kind"), [*NO_MAPPING, ({}, "dict")])
def test_an_interpretation_that_is_none(given: Any, kind: str) -> None:
    it = handler(interpret=lambda *_arguments: given)
    _dataset, told = opened(memory_store(build(NODES)), group="g")
    text = f"'interpret' must return an Interpretation (see array.found), got {kind}"
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
    _dataset, told = opened(memory_store(build({"": {}, "b": NODES["g/b"]})))
    (warning,) = told
    assert str(warning) == (
        f"the handler of convention 'it' (third_party) failed: XGroupReferenceError: {text}. "
        "Array /b was opened without what convention 'it' gives"
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

    handler(get_variables=fail)
    _dataset, (warning,) = opened(memory_store(build({"": {}, "b": NODES["g/b"]})))
    assert isinstance(warning.error, kind)
    assert warning.error.reason == reason
    assert warning.error.target == getattr(error, "target", "")
