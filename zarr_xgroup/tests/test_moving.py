"""Groups with the same contents: what is found of one of them holds for the others, or is found anew."""

import re
from contextlib import suppress
from typing import Any

import pytest
import xarray as xr

from zarr_xgroup import XGroupError, explain
from zarr_xgroup.datasets import moving
from zarr_xgroup.datasets.interpretation import GroupReading, Interpreter
from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Group,
    assert_same,
    build,
    coordinate,
    declaring,
    memory_store,
    quietly,
    recorded,
)
from zarr_xgroup.tests.random_stores import Documents, contents_of, node_paths, random_store

#: Values are read by other tests; indexes of lengths that nobody wrote would fill the memory.
LAZY = {"create_default_indexes": False} if HAS_INDEX_OPTION else {}


def with_copies(store: Documents) -> Documents:
    """Return a store in which each group, with all that is in it, stands beside itself twice."""
    copies = {}
    for path in node_paths(store):
        for key, document in store.items():
            if path and key.startswith(f"{path}/"):
                for name in ("copy", "other"):
                    copies[f"{path}_{name}/{key[len(path) + 1 :]}"] = document
    return {**copies, **store}


def told_of(store: Any) -> tuple[Any, list[str]]:
    """Return what an explanation says, and the warnings of an open."""
    _datasets, told = recorded(xr.open_groups, store, engine="xgroup", consolidated=False, **LAZY)
    explained = quietly(explain, store, consolidated=False).to_dict()
    return explained, [re.sub(r"0x[0-9a-f]+", "", str(warning)) for warning in told]


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with the groups whose plans are made of other ones."""
    groups: list[str] = []
    move = moving._moved

    def moving_and_telling(plan: GroupPlan, reading: GroupReading) -> GroupPlan:
        groups.append(str(reading.node))
        return move(plan, reading)

    monkeypatch.setattr(moving, "_moved", moving_and_telling)
    return groups


def assert_as_read_anew(store: Any) -> None:
    """Assert that groups are opened and told of as if none was like another."""
    datasets, told = opened_groups(store), told_of(store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Interpreter, "_alike", lambda _self, group: group.reading())
        assert_same(datasets, opened_groups(store), values=False)
        assert told_of(store) == told


def opened_groups(store: Any) -> Any:
    return quietly(xr.open_groups, store, engine="xgroup", consolidated=False, **LAZY)


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_copies_of_random_groups(moved: list[str], first: int) -> None:
    for seed in range(first, first + 8):
        store = memory_store(contents_of(with_copies(random_store(seed))))
        with suppress(XGroupError):
            assert_as_read_anew(store)
    assert moved


def group_along(node: str) -> Group:
    """Return a group whose arrays refer to their coordinate, and that has an array called so."""
    axis = {"coordinates": [{"values": {"external": {"node": node}}}]}
    attributes = declaring("cs", cs={"crs": [{"axes": {"x": axis}}]})
    field = Array([1.0, 2.0], ("x",), attributes)
    return Group({"a": field, "b": field, "x": Array([3.0, 4.0], ("x",))})


@pytest.mark.parametrize(
    ("node", "alike"),
    [
        ("/axes/lon", {"/g1", "/g2"}),
        ("/g0/x", set()),
        ("/g1/x", set()),
        ("../axes/lon", set()),
        ("/nowhere", set()),
    ],
)
def test_groups_whose_arrays_refer_to(moved: list[str], node: str, alike: set[str]) -> None:
    groups = {f"g{n}": group_along(node) for n in range(3)}
    if node == "/axes/lon":
        groups = {path: Group({"a": it.members["a"]}) for path, it in groups.items()}
    axes = Group({"lon": coordinate("lon", [10.0, 20.0])})
    store: Any = memory_store(build(Group({"axes": axes, **groups})))
    assert_as_read_anew(store)
    assert set(moved) - {"/axes"} == alike


def test_groups_with_another_document_or_in_another_group(moved: list[str]) -> None:
    plain = Array([1.0, 2.0], ("x",))
    crs = declaring("proj", **{"proj:code": "EPSG:4326"})
    groups = {
        "a": Group({"v": plain}),
        "another_attribute": Group({"v": Array([1.0, 2.0], ("x",), {"units": "m"})}),
        "another_name": Group({"w": plain}),
        "another_child": Group({"v": plain, "x": Group()}),
        "in_another": Group({"v": Group({"v": plain})}, crs),
        "same": Group({"v": plain}),
    }
    assert_as_read_anew(memory_store(build(Group(groups))))
    assert "/same" in moved
    assert not {"/another_attribute", "/another_name", "/another_child", "/in_another/v"} & {*moved}


def test_what_is_inherited_is_not_that_of_another_group(moved: list[str]) -> None:
    fields: dict[str, Array] = {"v": Array([1.0, 2.0], ("/x",))}
    above: dict[str, Array | Group] = {"x": coordinate("x", [1.0, 2.0]), "g": Group(fields)}
    root = Group(
        {"a": Group({"g": Group(fields)}), "b": Group(above), "c": Group({"g": Group(fields)})}
    )
    store: Any = memory_store(build(root))
    assert_as_read_anew(store)
    assert not {"/b/g", "/c/g"} & {*moved}
