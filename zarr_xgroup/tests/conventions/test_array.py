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
from zarr_xgroup.conventions.lending import told
from zarr_xgroup.conventions.standing import is_standing
from zarr_xgroup.errors import XGroupError, XGroupMetadataError
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import (
    Array,
    Nodes,
    build,
    declaring,
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
    return told(question, array, root)


def node(path: str) -> Node:
    return Node(0, path)


@pytest.mark.parametrize(
    ("name", "dims", "attributes", "expected"),
    [
        ("x", ("x",), declaring("cs"), True),
        ("x", ("y",), declaring("cs"), False),
        ("x", ("x", "y"), declaring("cs"), False),
        ("x", (), {}, True),
        ("x", ("x", "y"), {"units": "m"}, True),
    ],
)
def test_which_arrays_stand(
    name: str, dims: tuple[str, ...], attributes: dict[str, Any], expected: bool
) -> None:
    assert is_standing(name, dims, attributes) is expected


def number(fragment: Fragment) -> Any:
    return fragment.value["n"]


def test_parts_of_one_attribute_are_parsed_each_by_itself() -> None:
    def numbers(view: ArrayView) -> list[int]:
        it = view.attribute("it")
        assert it is not None
        parts = [part for _key, part in it.members()]
        return [view.parsed(number, part) for part in (*parts, *parts)]

    assert asked(numbers) == [1, 2, 1, 2]


def test_parts_of_attributes_of_one_text_are_parsed_once() -> None:
    parsed = list[str]()

    def noted(fragment: Fragment) -> Any:
        parsed.append(str(fragment))
        return fragment.value["n"]

    def numbers(view: ArrayView) -> list[int]:
        parsed.clear()
        other = ArrayView(node("g/b"), ("y", "x"), view.lookup, view.describer, view.models)
        attributes = [it.attribute("it") for it in (view, other)]
        parts = [part for it in attributes if it is not None for _key, part in it.members()]
        return [view.parsed(noted, part) for part in parts]

    assert asked(numbers) == [1, 2, 1, 2]
    assert parsed == ["/#/attributes/it/one", "/#/attributes/it/two"]  # wherever it is written


@pytest.mark.parametrize("path", ["g", "nope"])
def test_there_is_no_view_of_what_is_no_array(path: str) -> None:
    def other(view: ArrayView) -> ArrayView:
        return ArrayView(node(path), (), view.lookup, view.describer)

    with pytest.raises(XGroupMetadataError, match=rf"^there is no array /{path}$"):
        asked(other)


def test_an_array_that_cannot_be_opened_is_told_with_what_refers_to_it() -> None:
    source = Stored(node("nope"), ())
    place = Fragment(node("g/a"), ("attributes", "it"), {})
    for given, text in ((None, "/g/a"), (place, "/g/a#/attributes/it")):
        told_of = rf"^{text}: /nope cannot be opened: there is no array /nope$"
        with pytest.raises(XGroupMetadataError, match=told_of):
            asked(partial(ArrayView.stored, source=source, place=given))


@pytest.mark.parametrize("place", [(), ("attributes",), ("shape", "0"), ("nodes", "it")])
def test_what_is_in_no_attribute_is_parsed_as_it_is(place: tuple[str, ...]) -> None:
    def numbers(view: ArrayView) -> list[int]:
        return [view.parsed(number, Fragment(view.node, place, {"n": n})) for n in (1, 2)]

    assert asked(numbers) == [1, 2]


def test_what_a_view_says_of_the_array_and_of_others() -> None:
    def described(view: ArrayView) -> tuple[Any, ...]:
        of = [view.attribute_of(node(path), "of") for path in ("", "g", "g/x", "h", "nope")]
        return (
            (view.name, view.dims, view.shape, view.sizes),
            [it and it.value for it in of],
            [view.own_dims_of(node(path)) for path in ("g/twice", "g/nameless", "nope")],
            [view.shape_of(node(path)) for path in ("g/twice", "nope")],
        )

    assert asked(described) == (
        ("a", ("y", "x"), (2, 3), {"y": 2, "x": 3}),
        ["root", "g", "x", None, None],
        [("n", "twice_dim_1"), ("nameless_dim_0", "n"), ()],
        [(2, 2), ()],
    )


def test_what_follows_from_an_array_is_derived_once() -> None:
    made = list[str]()

    def name(view: ArrayView) -> str:
        made.append(view.name)
        return view.name

    def derived(view: ArrayView) -> list[str]:
        made.clear()
        return [view.derived(name), view.derived(name)]

    assert asked(derived) == ["a", "a"]
    assert made == ["a"]


def test_what_is_attempted_quietly_leaves_nothing_behind() -> None:
    def attempts(view: ArrayView) -> tuple[Any, ...]:
        def follow_and_fail(error: XGroupError) -> None:
            view.note("a choice")
            view.resolver.array(Fragment(view.node, ("it",), {"node": "x"}))
            raise error

        counts = []
        for attempt in (view.quietly, view.attempt):
            attempt(follow_and_fail, XGroupMetadataError("wrong"))
            counts.append((len(view.findings), len(view.resolver.followed)))
        return (*counts, view.quietly(lambda: 5))

    assert asked(attempts) == ((0, 0), (2, 1), 5)


def along_x(**reference: str) -> Array:
    """Return an array of which an array that it refers to is the coordinate along ``x``."""
    values = {"values": {"external": reference}}
    return stored([1.0, 2.0], "x", **cs_of({"axes": {"x": {"coordinates": [values]}}}))


@pytest.mark.parametrize(
    ("path", "attributes", "text"),
    [
        ("c/lon", 5, "Array /g/v: /c/lon was opened without attributes: 'attributes' of /c/lon "),
        ("g/lon", 5, "Array /g/lon was opened without attributes: 'attributes' of /g/lon "),
        ("c/lon", {"_FillValue": "none"}, "Array /c/lon: /attributes/_FillValue is 'none', which"),
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
    assert "'attributes' of /lon must be a JSON object, got int" in str(warning)
    assert str(warning).endswith("Array /v was opened without the attributes of /lon")
