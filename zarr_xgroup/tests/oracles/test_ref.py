"""Random references: targets agree with an oracle."""

from typing import Any

import numpy as np
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from zarr_xgroup.tests.builders import (
    Array,
    Json,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
)
from zarr_xgroup.tests.oracles.ref import candidates, target
from zarr_xgroup.tests.oracles.stores import is_array, name_of, parent
from zarr_xgroup.tests.strategies import cs_of, thorough

GROUPS = ("", "g", "g/h", "g/h/g", "k")

_steps = st.sampled_from(["..", "..", "a", "b", "g", "h", "k", ".", "v"])
_paths = st.lists(_steps, min_size=1, max_size=4).map("/".join)
_anywhere = _paths | st.sampled_from(["a", "../a", "../g/a", "b", "./b"]) | _paths.map("/{}".format)


def wrapped(draw: st.DrawFn, reference: Json) -> Json:
    return {"ref": reference} if draw(st.booleans()) else reference


def tree(draw: st.DrawFn, lengths: tuple[int | None, ...]) -> dict[str, Any]:
    """Return groups and arrays of one value each, scalars or as long as one of these."""
    nodes: dict[str, Any] = {group: {} for group in GROUPS}
    for number, group in enumerate(GROUPS):
        for offset, name in enumerate("ab"):
            length = draw(st.sampled_from([0, *lengths]))
            if length != 0:
                value = 10.0 * number + offset
                shape, dims = ((), ()) if length is None else ((length,), (f"n{length}",))
                nodes[f"{group}/{name}".lstrip("/")] = Array(np.full(shape, value), dims)
    return nodes


@st.composite
def with_references(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """Return stores in which one array, whose path is returned, refers to others."""
    nodes = tree(draw, (None, 3))
    path = f"{draw(st.sampled_from(GROUPS))}/v".lstrip("/")
    named = {f"to{n}": {"node": draw(_anywhere)} for n in range(draw(st.integers(1, 2)))}
    references = {key: wrapped(draw, it) for key, it in named.items()}
    nodes[path] = Array(np.ones(3), ("n3",), declaring("ref", **references))
    return nodes, path


@thorough(80)
@given(with_references(), st.sampled_from([3, 2]))
def test_referenced_arrays(drawn: tuple[dict[str, Any], str], fmt: ZarrFormat) -> None:
    nodes, path = drawn
    references = [it for key, it in nodes[path].attrs.items() if key.startswith("to")]
    targets = [target(nodes, it, path) for it in references]
    store: Any = memory_store(build(nodes, fmt))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group=parent(path))
    meant = (own_or(nodes, it, path) for it in targets if it is not None and it != path)
    expected = {it: nodes[it] for it in meant}
    attached = dataset["v"].coords
    assert sorted(it.values.flat[0] for it in attached.values()) == sorted(
        it.values.flat[0] for it in expected.values()
    )
    for place, array in expected.items():
        (name,) = (it for it, one in attached.items() if one.values.flat[0] == array.values.flat[0])
        taken = {name_of(it) for it in nodes if parent(it) == parent(path) and it != place}
        twins = [it for it in expected if name_of(it) == name_of(place)]
        if name_of(place) not in taken and len(twins) == 1:
            assert name == name_of(place)
        assert attached[name].shape == array.values.shape
    for reference, found in zip(references, targets, strict=True):
        assert_told(nodes, reference, path, found, told)


def own_or(nodes: dict[str, Any], target: str, path: str) -> str:
    """Return an array, or that of the group which is called so, along the same dimensions and as long."""
    own = f"{parent(path)}/{name_of(target)}".lstrip("/")
    if own == path or own not in nodes or not isinstance(nodes[own], Array):
        return target
    alike = [(it.dims, it.values.shape) for it in (nodes[own], nodes[target])]
    return own if alike[0] == alike[1] else target


def assert_told(
    nodes: dict[str, Any], reference: Json, path: str, found: str | None, told: list[Any]
) -> None:
    """Assert that it is told what leads nowhere, and where another candidate could be meant."""
    node = reference.get("ref", reference)["node"]
    there = [it for it in candidates(nodes, node, path, path) if it in nodes]
    others = [it for it in there if it != found and is_array(nodes, it)]
    earlier = there[: there.index(found)] if found is not None else []
    if not there or others or earlier:
        assert any(repr(node) in str(it) or f"/{found}" in str(it) for it in told)


@st.composite
def with_axes(draw: st.DrawFn) -> tuple[dict[str, Any], str, str, Json]:
    """Return stores in which the values of an axis are elsewhere, as the array or a group says."""
    nodes = tree(draw, (3, 3, 4, None))
    path = f"{draw(st.sampled_from(GROUPS))}/v".lstrip("/")
    reference = wrapped(draw, {"node": draw(_anywhere)})
    system: Json = {"axes": {"x": {"coordinates": [{"values": {"external": reference}}]}}}
    written = draw(st.sampled_from([path, path, *GROUPS]))
    if written != path:
        nodes[written] = {"crs": {"shared": system}}
        system = {"node": f"/{written}", "attribute": "/attributes/crs/shared"}
    nodes[path] = Array(np.ones(3), ("x",), cs_of(system))
    return nodes, path, written, reference


@thorough(80)
@given(with_axes(), st.sampled_from([3, 2]))
def test_values_of_an_axis(drawn: tuple[dict[str, Any], str, str, Json], fmt: ZarrFormat) -> None:
    nodes, path, written, reference = drawn

    def fits(it: str) -> bool:
        return is_array(nodes, it) and nodes[it].values.shape == (3,)

    found = target(nodes, reference, path, written, fits)
    store: Any = memory_store(build(nodes, fmt))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group=parent(path))
    along = [it for it in dataset["v"].coords.values() if it.dims == ("x",)]
    if found in (None, path):  # what declares a principal convention stays a data variable
        assert along == []
        assert told or found
        return
    assert found is not None
    (coordinate,) = along
    np.testing.assert_array_equal(coordinate.values, nodes[found].values)
    assert coordinate.name == "x"
