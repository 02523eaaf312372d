"""What is found of one array or group holds for another one only where it would be found of it alone.

It is found once for arrays that are alike in what `datasets.interpretation` says. That handlers look at nothing
else is tested by what they look at, and by what comes out when each array is asked alone.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal

import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import ConventionHandler, XGroupError
from zarr_xgroup.conventions import ArrayView, Interpretation, registry
from zarr_xgroup.conventions.array import Memo
from zarr_xgroup.conventions.handler_set import Answer, HandlerSet
from zarr_xgroup.datasets.interpretation import DESCRIBING
from zarr_xgroup.metadata.documents import JsonObject
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.references import may_refer
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Group,
    assert_same,
    build,
    memory_store,
    quietly,
)
from zarr_xgroup.tests.products import PRODUCTS
from zarr_xgroup.tests.products import write as write_product
from zarr_xgroup.tests.random_stores import (
    ASSUMED,
    Documents,
    contents_of,
    node_paths,
    random_store,
)

STORES = sorted((Path(zarr_xgroup.__file__).parent / "tests" / "stores").glob("*.zarr"))

#: Values are read by other tests; indexes of lengths that nobody wrote would fill the memory.
LAZY = {"create_default_indexes": False} if HAS_INDEX_OPTION else {}
only_without_indexes = pytest.mark.skipif(
    not HAS_INDEX_OPTION, reason="this xarray reads coordinates of any length for its indexes"
)


def with_copies(store: Documents) -> Documents:
    """Return a store in which each group, with all that is in it, stands beside itself twice."""
    copies = {}
    for path in node_paths(store):
        for key, document in store.items():
            if path and key.startswith(f"{path}/"):
                for name in ("copy", "other"):
                    copies[f"{path}_{name}/{key[len(path) + 1 :]}"] = document
    return {**copies, **store}


@pytest.mark.parametrize("first", [30, 80])
def test_random_groups_as_if_asked_alone(first: int) -> None:
    for seed in range(first, first + 10):
        store: Any = memory_store(contents_of(with_copies(random_store(Random(seed)))))
        options = {"engine": "xgroup", "consolidated": False, **LAZY}
        with suppress(XGroupError):
            for path, dataset in quietly(xr.open_groups, store, **options).items():
                alone = quietly(xr.open_dataset, store, group=path, **options)
                assert_same(dataset, alone, values=False)


@contextmanager
def each_alone() -> Iterator[None]:
    """Have nothing kept that was found of one array or group, for the length of a context."""
    ask = HandlerSet.ask
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memo, "__call__", lambda _self, function, *values, **_by: function(*values))
        patch.setattr(HandlerSet, "ask", lambda *given: replace(ask(*given), is_for_one_array=True))
        yield


def outcome(store: Any, assumed: Any) -> Any:
    """Return the Datasets of a store and what is told, or what is raised."""
    options = {"consolidated": False, "assume_conventions": assumed, **LAZY}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = xr.open_groups(store, engine="xgroup", **options)
        except XGroupError as error:
            return {}, [str(error)]
    return found, sorted(f"{it.category.__name__} {it.message}" for it in told)


@only_without_indexes
@pytest.mark.parametrize("first", range(200, 400, 50))
def test_random_arrays_as_if_asked_alone(first: int) -> None:
    for seed in range(first, first + 50):
        documents = random_store(Random(seed))
        store, assumed = memory_store(contents_of(documents)), documents.get(ASSUMED)
        found, told = outcome(store, assumed)
        with each_alone():
            alone, told_alone = outcome(store, assumed)
        assert told == told_alone
        assert set(found) == set(alone)
        for path, dataset in found.items():
            assert_same(dataset, alone[path], values=False)


class Looked:
    """What handlers look at in the attributes of the arrays that they are asked about."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._attributes: JsonObject | None = None
        self._seen: set[str] = set()
        self.missed: set[str] = set()
        for method in ("__getitem__", "__contains__", "get"):
            patch.setattr(JsonObject, method, self._watched(getattr(JsonObject, method)))
        ask = HandlerSet.ask

        def watched(handlers: HandlerSet, view: ArrayView) -> Answer:
            self._attributes, self._seen = view.attributes, set()
            try:
                answer = ask(handlers, view)
            finally:
                self._attributes = None
            if not answer.is_for_one_array:
                seen = DESCRIBING.intersection(self._seen).difference(answer.reads)
                self.missed |= {key for key in seen if not may_refer(view.attributes.text(key))}
            return answer

        patch.setattr(HandlerSet, "ask", watched)

    def _watched(self, method: Any) -> Any:
        def watching(attributes: JsonObject, key: str, *default: Any) -> Any:
            if attributes is self._attributes:
                self._seen.add(key)
            return method(attributes, key, *default)

        return watching


@only_without_indexes
@pytest.mark.parametrize("assumed", [None, "auto", ["gcp", "cf", "geozarr"]], ids=str)
def test_handlers_read_no_attribute_but_those_by_which_arrays_are_told_apart(
    assumed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for product in PRODUCTS:
        write_product(product, tmp_path / f"{product}.zarr")
    folders = [*STORES, *tmp_path.glob("*.zarr")]
    stores = [memory_store(contents_of(random_store(Random(seed)))) for seed in range(50)]
    looked = Looked(monkeypatch)
    for store in [*folders, *stores]:
        with suppress(XGroupError):
            quietly(xr.open_groups, store, engine="xgroup", assume_conventions=assumed, **LAZY)
    assert looked.missed == set()


def led_to(array: ArrayView, target: str) -> Any:
    """Return where a reference leads that is written in the array."""
    try:
        return array.resolver.array(Fragment(array.node, ("k",), {"node": target})).path
    except XGroupError as error:
        return type(error).__name__


def value(fragment: Fragment | None) -> Any:
    return fragment and fragment.value


class Asking(ConventionHandler):
    """Asks one question of an array, and says by an attribute what it was answered."""

    tier: ClassVar[Literal["principal", "service"]] = "service"
    name = "it"
    question: ClassVar[str]

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        return True

    def interpret(self, array: ArrayView) -> Interpretation:
        return array.interpretation(attributes={"answer": repr(QUESTIONS[self.question](array))})


QUESTIONS: dict[str, Any] = {
    "an attribute": lambda array: array.attributes.get("k"),
    "all attributes": lambda array: dict(array.attributes),
    "of the group": lambda array: value(array.attribute("k", array.node.group)),
    "of the group above": lambda array: value(array.attribute("k", array.node.group.group)),
    "its document": lambda array: array.document_of(array.node)["fill_value"],
    "a sibling": lambda array: value(array.attribute("k", array.node.group.child("b"))),
    "another array": lambda array: value(array.attribute("k", Node(0, "g/a"))),
    "its name": lambda array: array.name,
    "its path": lambda array: array.node.path,
    "place of an attribute": lambda array: str(array.attribute("k")),
    "an error": lambda array: str(Fragment(array.node, ("k",), 1).error("is wrong")),
    "how deep": lambda array: len(list(array.node.ancestors())),
    "whether it is a": lambda array: array.node == Node(0, "g/a"),
    "whether it is among": lambda array: array.node in {Node(0, "g/b"), Node(0, "h/a")},
    "whether it is in g": lambda array: array.node.group == Node(0, "g"),
    "a neighbour": lambda array: led_to(array, "b"),
    "an uncle": lambda array: led_to(array, "../b"),
    "from the root": lambda array: led_to(array, "/g/b"),
}

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
def test_each_array_is_answered_as_if_asked_alone(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", [Asking])
    monkeypatch.setattr(Asking, "question", question, raising=False)
    store: Any = memory_store(build(ALIKE))
    for path, dataset in quietly(xr.open_groups, store, engine="xgroup").items():
        for name, array in dataset.data_vars.items():
            others = [other for other in dataset.variables if other != name]
            options = {"group": path, "drop_variables": others}
            alone = quietly(xr.open_dataset, store, engine="xgroup", **options)
            assert array.attrs["answer"] == alone[name].attrs["answer"]
