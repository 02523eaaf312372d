"""An array as handlers see it, and what is told of arrays that it refers to."""

from pathlib import Path
from typing import Any

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
from zarr_xgroup.tests.tables import store_of

NODES: Nodes = {
    "": {"of": "root"},
    "g": {"of": "g"},
    "g/a": stored(np.zeros((2, 3)), "y x", it={"one": {"n": 1}, "two": {"n": 2}}),
    "g/x": stored(np.zeros(3), "x", of="x"),
    "g/twice": stored(np.zeros((2, 2)), "n n"),
    "g/nameless": Array(np.zeros((2, 2)), (None, "n")),
    "h": {},
}


def node(path: str) -> Node:
    return Node(0, path)


def test_what_a_view_says_of_the_array_and_of_others() -> None:
    def question(view: ArrayView) -> None:
        assert (view.name, view.dims, view.shape) == ("a", ("y", "x"), (2, 3))
        assert view.sizes == {"y": 2, "x": 3}
        of = [view.attribute("of", node(path)) for path in ("", "g", "g/x", "h", "nope")]
        assert [it and it.value for it in of] == ["root", "g", "x", None, None]
        dims = [own_dims_of(view, node(path)) for path in ("g/twice", "g/nameless", "nope")]
        assert dims == [("n", "twice_dim_1"), ("nameless_dim_0", "n"), ()]
        assert [shape_of(view, node(path)) for path in ("g/twice", "nope")] == [(2, 2), ()]

        for path in ("g", "nope"):
            with pytest.raises(XGroupMetadataError, match=rf"^there is no array /{path}$"):
                ArrayView(node(path), (), view.tree, view.factory)
        place = Fragment(node("g/a"), ("attributes", "it"), {})
        for given, text in ((None, "/g/a"), (place, "/g/a#/attributes/it")):
            told = rf"^{text}: /nope cannot be opened: there is no array /nope$"
            with pytest.raises(XGroupMetadataError, match=told):
                view.stored(Stored(node("nope"), ()), given)

        # Only of one and the same attribute are parts parsed once.
        for keys in ((), ("attributes",), ("shape", "0"), ("nodes", "it")):
            parts = [Fragment(view.node, keys, n) for n in (1, 2)]
            assert [parse_once(view, lambda it: it.value, part) for part in parts] == [1, 2]

    root = zarr.open_group(store_of(NODES), mode="r")
    array: Any = root["g/a"]
    run_on_zarr(question, array, root)


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
    dataset, (told,) = opened_with_warnings(xr.open_dataset, memory_store(contents), group="g")
    assert dataset["v"].coords["x"].values.tolist() == [5, 6]
    assert str(told).startswith(text)


def test_of_an_array_in_another_store_it_is_told_what_attributes_are_missing(
    tmp_path: Path,
) -> None:
    other = build({"": {}, "lon": stored([5, 6], "x")})
    folder = write_local(edit(other, "lon/zarr.json", update(attributes=5)), tmp_path / "other")
    array = along_x(uri=folder.as_uri(), node="/lon")
    store = write_local(build({"": {}, "v": array}), tmp_path / "store")
    dataset, (told,) = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].values.tolist() == [5, 6]
    assert str(told).startswith("/v was opened without the attributes of /lon: ")
    assert "'attributes' must be a JSON object, got int" in str(told)
