"""What conventions say of one array is told of another one only where they would say the same.

Handlers that look wherever they like give each array what they give it alone.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from zarr_xgroup import ConventionHandler
from zarr_xgroup.conventions import ArrayView, Interpretation, registry
from zarr_xgroup.conventions.array import attributes_above, once, own_dims_of, parsed, shape_of
from zarr_xgroup.datasets.asking import Answers
from zarr_xgroup.datasets.interpretation import Interpreter
from zarr_xgroup.errors import XGroupError
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import Array, Group, build, memory_store, quietly

Question = Callable[[ArrayView], Any]


def at(path: str) -> Node:
    return Node(0, path)


def led_to(array: ArrayView, target: str) -> Any:
    """Return where a reference leads that is written in the array."""
    try:
        return array.resolver.array(Fragment(array.node, ("k",), {"node": target})).path
    except XGroupError as error:
        return type(error).__name__


def sibling(array: ArrayView, name: str) -> Any:
    document = array.sibling(name)
    return document and document.attributes.get("k")


def value(fragment: Fragment | None) -> Any:
    return fragment and fragment.value


#: What a handler may ask, each by a name.
QUESTIONS: dict[str, Question] = {
    "an attribute": lambda it: it.attributes.get("k"),
    "a missing attribute": lambda it: "m" in it.attributes,
    "a fragment": lambda it: value(it.attribute("m")),
    "a prefix": lambda it: it.attributes.starting("p:"),
    "references": lambda it: it.attributes.referring(),
    "all attributes": lambda it: dict(it.attributes),
    "how many": lambda it: len(it.attributes),
    "of the group": lambda it: value(it.attribute("k", it.node.group)),
    "all of the group": lambda it: dict(it.attributes_of(it.node.group).value),  # type: ignore[union-attr]
    "of the group above": lambda it: value(it.attribute("k", it.node.group.group)),
    "of groups above": lambda it: [value(item) for item in attributes_above(it, "k")],
    "groups above": lambda it: [item.node.path for item in attributes_above(it, "k")],
    "document of itself": lambda it: it.document_of(it.node)["fill_value"],  # type: ignore[index]
    "document of its group": lambda it: dict(it.document_of(it.node.group).attributes),  # type: ignore[union-attr]
    "a sibling": lambda it: sibling(it, "b"),
    "another sibling": lambda it: sibling(it, "c"),
    "siblings": lambda it: sorted(it.siblings),
    "child of the group": lambda it: value(it.attribute("k", it.node.group.child("b"))),
    "another array": lambda it: value(it.attribute("k", at("g/a"))),
    "its name": lambda it: it.name,
    "its path": lambda it: it.node.path,
    "itself as text": lambda it: str(it.node),
    "itself as code": lambda it: repr(it.node),
    "place of an attribute": lambda it: str(it.attribute("k")),
    "node of an attribute": lambda it: it.attribute("k") and it.attribute("k").node.path,  # type: ignore[union-attr]
    "an error": lambda it: str(Fragment(it.node, ("k",), 1).error("is wrong")),
    "path of the group": lambda it: it.node.group.path,
    "name of the group": lambda it: it.node.group.name,
    "how deep": lambda it: len(list(it.node.ancestors())),
    "whether it is a": lambda it: it.node == at("g/a"),
    "whether it is not b": lambda it: at("h/b") != it.node,
    "whether it is among": lambda it: it.node in {at("g/b"), at("h/a")},
    "whether it is in g": lambda it: it.node.group == at("g"),
    "whether it is in h": lambda it: at("h") == it.node.group,
    "whether it is in the root": lambda it: it.node.group.group == at(""),
    "a neighbour": lambda it: led_to(it, "b"),
    "an uncle": lambda it: led_to(it, "../b"),
    "from the root": lambda it: led_to(it, "/g/b"),
    "whether that is it": lambda it: led_to(it, "/g/b") == "g/b" and it.node == at("g/b"),
    "its shape": lambda it: shape_of(it, it.node),
    "shape of a sibling": lambda it: shape_of(it, it.node.group.child("b")),
    "dimensions of a sibling": lambda it: own_dims_of(it, it.node.group.child("a")),
    "derived": lambda it: once(lambda array: array.node.path)(it),
    "parsed": lambda it: it.attribute("k") and parsed(it, str, it.attribute("k")),  # type: ignore[arg-type]
}


class Asking(ConventionHandler):
    """Asks what it is told to, and says by an attribute what it was answered."""

    tier: ClassVar[Literal["principal", "service"]] = "service"
    name = "it"
    questions: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        return True

    def interpret(self, array: ArrayView) -> Interpretation:
        answers = [QUESTIONS[question](array) for question in self.questions]
        return array.found(attributes={"answers": repr(answers)})


ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "k": st.sampled_from([1, "text", None, {"node": "/g/b"}]),
        "m": st.just(1),
        "p:q": st.just(2),
        "zarr_conventions": st.just([{"name": "it"}]),
    },
)
ARRAYS = st.builds(
    lambda length, attributes: Array([1.0] * length, ("x",), attributes),
    st.sampled_from([2, 2, 2, 3]),
    ATTRIBUTES,
)


def groups(members: Any) -> Any:
    return st.builds(
        Group,
        st.dictionaries(st.sampled_from("abc"), ARRAYS, max_size=3).flatmap(
            lambda arrays: st.builds(
                lambda below: {**arrays, **below},
                st.dictionaries(st.sampled_from(["g", "h"]), members, max_size=2),
            )
        ),
        ATTRIBUTES,
    )


#: Groups in groups, many of which are the same.
ROOTS = groups(groups(groups(st.nothing())))
FEW = st.sampled_from(sorted(QUESTIONS))


def answers(store: Any) -> dict[str, Any]:
    found = quietly(xr.open_groups, store, engine="xgroup")
    return {
        f"{path.rstrip('/')}/{name}": array.attrs["answers"]
        for path, dataset in found.items()
        for name, array in dataset.data_vars.items()
    }


def alone(store: Any) -> dict[str, Any]:
    """Return what is answered if nothing is kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Answers, "get", lambda _self, _view, _detected, ask: ask())
        patch.setattr(Interpreter, "_alike", lambda _self, group: group.reading())
        return answers(store)


def assert_each_its_own(root: Group, questions: tuple[str, ...]) -> None:
    store = memory_store(build(root))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_REGISTERED", [Asking])
        patch.setattr(Asking, "questions", questions)
        assert answers(store) == alone(store)


@settings(max_examples=30, deadline=None)
@given(root=ROOTS, other=ROOTS, questions=st.lists(FEW, min_size=1, max_size=3))
def test_a_handler_that_looks_anywhere(root: Group, other: Group, questions: list[str]) -> None:
    twice = Group({**root.members, "g": root, "h": root, "i": other}, root.attrs)
    assert_each_its_own(twice, tuple(questions))


A, B = (Array([1.0, 2.0], ("x",), {"k": key}) for key in (1, 2))
#: Groups that are alike, or nearly so.
ALIKE = Group(
    {
        "g": Group({"a": A, "b": B, "c": A}),
        "h": Group({"a": A, "b": B, "c": A}),
        "i": Group({"a": A, "c": A}),
        "j": Group({"a": A, "b": B, "c": A}, {"k": 1}),
        "l": Group({"a": A, "b": B, "c": A, "g": Group({"a": A, "b": B, "c": A})}, {"k": 2}),
        "a": A,
        "b": A,
    },
    {"k": 3},
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question(question: str) -> None:
    for questions in ((question,), ("an attribute", "a neighbour", question)):
        assert_each_its_own(ALIKE, questions)
