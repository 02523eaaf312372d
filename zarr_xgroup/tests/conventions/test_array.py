"""An array as handlers see it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import xarray as xr
import zarr

from zarr_xgroup.conventions import ArrayView, Stored
from zarr_xgroup.conventions.array import own_dims_of, parse_once, shape_of
from zarr_xgroup.conventions.plugin_adapter import run_on_zarr
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import (
    Array,
    Nodes,
    build,
    edit,
    memory_store,
    opened_with_warnings,
    stored,
    update,
    write_local,
)
from zarr_xgroup.tests.strategies import cs_of

T = TypeVar("T")

NODES: Nodes = {
    "": {"of": "root"},
    "g": {"of": "g"},
    "g/a": stored(np.zeros((2, 3)), "y x", it={"one": {"n": 1}, "two": {"n": 2}}),
    "g/x": stored(np.zeros(3), "x", of="x"),
    "g/b": stored(np.zeros((2, 3)), "y x", it={"one": {"n": 1}, "two": {"n": 2}}),
    "g/twice": stored(np.zeros((2, 2)), "n n"),
    "g/nameless": Array(np.zeros((2, 2)), (None, "n")),
    "h": {},
    "h/x": stored(np.zeros(3), "x"),
}


def asked(question: Callable[[ArrayView], T], path: str = "g/a") -> T:
    """Return the answer to a question about an array of the store."""
    root = zarr.open_group(memory_store(build(NODES)), mode="r")
    array: Any = root[path]
    return run_on_zarr(question, array, root)


def node(path: str) -> Node:
    return Node(0, path)


@pytest.mark.parametrize("path", ["g", "nope"])
def test_there_is_no_view_of_what_is_no_array(path: str) -> None:
    def other(view: ArrayView) -> ArrayView:
        return ArrayView(node(path), (), view.tree, view.factory)

    with pytest.raises(XGroupMetadataError, match=rf"^there is no array /{path}$"):
        asked(other)


def test_an_array_that_cannot_be_opened_is_told_with_what_refers_to_it() -> None:
    source = Stored(node("nope"), ())
    place = Fragment(node("g/a"), ("attributes", "it"), {})
    for given, text in ((None, "/g/a"), (place, "/g/a#/attributes/it")):
        told_of = rf"^{text}: /nope cannot be opened: there is no array /nope$"
        with pytest.raises(XGroupMetadataError, match=told_of):
            asked(partial(ArrayView.stored, source=source, place=given))


def test_what_a_view_says_of_the_array_and_of_others() -> None:
    def described(view: ArrayView) -> tuple[Any, ...]:
        of = [view.attribute("of", node(path)) for path in ("", "g", "g/x", "h", "nope")]
        return (
            (view.name, view.dims, view.shape, view.sizes),
            [it and it.value for it in of],
            [own_dims_of(view, node(path)) for path in ("g/twice", "g/nameless", "nope")],
            [shape_of(view, node(path)) for path in ("g/twice", "nope")],
        )

    assert asked(described) == (
        ("a", ("y", "x"), (2, 3), {"y": 2, "x": 3}),
        ["root", "g", "x", None, None],
        [("n", "twice_dim_1"), ("nameless_dim_0", "n"), ()],
        [(2, 2), ()],
    )


def along_x(**reference: str) -> Array:
    """Return an array of which an array that it refers to is the coordinate along ``x``."""
    values = {"values": {"external": reference}}
    return stored([1.0, 2.0], "x", **cs_of({"axes": {"x": {"coordinates": [values]}}}))


@pytest.mark.parametrize(
    ("path", "attributes", "text"),
    [
        ("c/lon", 5, "/g/v: /c/lon was opened without attributes: 'attributes' "),
        ("g/lon", 5, "/g/lon was opened without attributes: /g/lon#/attributes: 'attributes' "),
        ("c/lon", {"_FillValue": "none"}, "/c/lon#/attributes/_FillValue: is 'none', which"),
    ],
    ids=["attributes", "attributes in the group", "fill value"],
)
def test_what_is_wrong_with_an_array_that_is_referred_to_is_told_once(
    path: str, attributes: Any, text: str
) -> None:
    members: Nodes = {"": {}, "c": {}, "g": {}, path: stored([5, 6], "x")}
    contents = build({**members, "g/v": along_x(node=f"/{path}")})
    contents = edit(contents, f"{path}/zarr.json", update(attributes=attributes))
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(contents), group="g")
    assert dataset["v"].coords["x"].values.tolist() == [5, 6]
    assert [str(it).startswith(text) for it in told] == [True]


def test_of_another_store_it_is_told_what_an_array_lacks_without_the_attributes_there(
    tmp_path: Path,
) -> None:
    other = build({"": {}, "lon": stored([5, 6], "x")})
    folder = write_local(edit(other, "lon/zarr.json", update(attributes=5)), tmp_path / "other")
    array = along_x(uri=folder.as_uri(), node="/lon")
    store = write_local(build({"": {}, "v": array}), tmp_path / "store")
    dataset, (warning,) = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].values.tolist() == [5, 6]
    assert "'attributes' must be a JSON object, got int" in str(warning)
    assert str(warning).startswith("/v was opened without the attributes of /lon: ")


def number(fragment: Fragment) -> Any:
    return fragment.value["n"]


@pytest.mark.parametrize("place", [(), ("attributes",), ("shape", "0"), ("nodes", "it")])
def test_what_is_in_no_attribute_is_parsed_as_it_is(place: tuple[str, ...]) -> None:
    def numbers(view: ArrayView) -> list[int]:
        return [parse_once(view, number, Fragment(view.node, place, {"n": n})) for n in (1, 2)]

    assert asked(numbers) == [1, 2]
