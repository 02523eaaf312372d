"""Whom an array's interpretation holds for, and which conventions are asked for it."""

import numpy as np
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
)


def test_arrays_that_differ_in_nothing_but_what_they_declare() -> None:
    uom = {"uom": {"ucum": {"unit": "kg"}}}
    members = {
        "a": Array(np.ones(3), ("x",), declaring("uom", **uom)),
        "b": Array(np.ones(3), ("x",), uom),
    }
    dataset = opened(xr.open_dataset, memory_store(build(Group(members))))
    assert dataset["a"].attrs["units"] == "kg"
    assert "units" not in dataset["b"].attrs


def test_of_two_principal_conventions_one_is_asked() -> None:
    axes = {"x": {"coordinates": [{"values": {"explicit": [3.0, 4.0]}}]}}
    attributes = declaring("cs", "spatial", cs={"crs": [{"axes": axes}]})
    attributes |= {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
    store = memory_store(build(Group({"a": Array(np.ones((2, 2)), ("y", "x"), attributes)})))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].values.tolist() == [3.0, 4.0]
    assert "y" not in dataset.coords
    assert len(told) == 1
    assert "spatial" in str(told[0])


def test_groups_that_differ_in_nothing_but_what_is_declared_above() -> None:
    attributes = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
    inner = Group({"a": Array(np.ones((2, 2)), ("y", "x"), attributes)})
    above = {"p": declaring("spatial"), "q": declaring("uom")}
    members = {name: Group({"g": inner}, above[name]) for name in above}
    for order in (("p", "q"), ("q", "p")):
        root = Group({str(number): members[name] for number, name in enumerate(order)})
        tree = opened(xr.open_datatree, memory_store(build(root)))
        for number, name in enumerate(order):
            expected = {"y", "x"} if name == "p" else set()
            assert set(tree[f"{number}/g"].coords) == expected
