"""Mutants of what follows a convention: a key taken away or misspelt, a value of another kind.

Each is judged by the JSON Schema of the convention, and by the rules of `check`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import zarr_xgroup
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import Keys, pointer_to
from zarr_xgroup.metadata.snapshots import Snapshot, Snapshots
from zarr_xgroup.report.rules import Checked, mistakes_of
from zarr_xgroup.tests.builders import Json, memory_store
from zarr_xgroup.tests.documents import contents_of

#: What stands in place of a value: of no kind, of any other, of too few and too many, of none that is known.
VALUES: tuple[Any, ...] = (None, True, 5, -1, 0.5, "text", "", [], ["a"], [[1]], {}, {"a": 1})

Documents = Mapping[str, Json]


@dataclass(frozen=True)
class Mutant:
    """A store with one change in the attributes of a node.

    Attributes
    ----------
    documents : mapping of str to dict
        The documents of the store as it was, by path.
    path : str
        The node.
    keys : tuple of str
        The way to the change in the node's document.
    how : str
        What was changed.
    attributes : dict
        The attributes of the node now.
    """

    documents: Documents
    path: str
    keys: Keys
    how: str
    attributes: Json

    @property
    def changed(self) -> dict[str, Json]:
        """The documents of the store now."""
        document = {**self.documents[self.path], "attributes": self.attributes}
        return {**self.documents, self.path: document}

    def __str__(self) -> str:
        """Return what was changed, and where."""
        return f"/{self.path}#{pointer_to(self.keys)} {self.how}"


def mutations(value: Any, values: tuple[Any, ...] = VALUES) -> Iterator[tuple[Keys, str, Any]]:
    """Yield a JSON value with one part changed: the way to it, what was done, the whole."""
    for other in values:
        if type(other) is not type(value) or other != value:
            yield (), f"is {json.dumps(other)}", other
    members = value.items() if isinstance(value, dict) else ()
    for key, item in members if not isinstance(value, list) else _ends(value):
        yield (str(key),), "is missing", _without(value, key)
        if isinstance(key, str):
            yield (key,), "is misspelt", {_misspelt(it, key): value[it] for it in value}
        for keys, how, changed in mutations(item, values):
            whole = value.copy()
            whole[key] = changed
            yield (str(key), *keys), how, whole


def _ends(items: list[Any]) -> Iterable[tuple[int, Any]]:
    """Return the first and the last item of a list."""
    return {0: items[0], len(items) - 1: items[-1]}.items() if items else ()


def _without(value: Any, key: Any) -> Any:
    rest = value.copy()
    del rest[key]
    return rest


def _misspelt(key: str, which: str) -> str:
    """Return a key, with its last letter doubled if it is a certain one."""
    return f"{key}{key[-1:]}" if key == which else key


def mutants_of(documents: Documents, name: str) -> Iterator[Mutant]:
    """Yield mutants of the attributes of a convention, of each way to a change one."""
    keys = set(zarr_xgroup.schema(name)["properties"])
    for path, document in documents.items():
        attributes = document["attributes"]
        for key in keys.intersection(attributes):
            for way, how, changed in mutations(attributes[key]):
                found = {**attributes, key: changed}
                yield Mutant(documents, path, ("attributes", key, *way), how, found)


class Judge:
    """Judges mutants by the rules of `check`, node by node.

    Parameters
    ----------
    documents : mapping of str to dict
        The documents of the store as it was, by path.
    """

    def __init__(self, documents: Documents) -> None:
        self._snapshots = Snapshots()
        self._snapshot = Snapshot("mutants", 3)
        self._snapshots.append(self._snapshot)
        nodes = {path: {"zarr.json": document} for path, document in documents.items()}
        self._snapshot.learn_consolidated("", nodes)
        self._documents = documents
        self._known = {path: self._found(path) for path in documents}

    def _found(self, path: str) -> set[Finding]:
        subject = Checked(self._snapshots, "").subject(path)
        return set() if subject is None else set(mistakes_of(subject))

    def told(self, mutant: Mutant) -> list[Finding]:
        """Return what is wrong with a mutant, and was not before."""
        self._snapshot.learn_node(mutant.path, {"zarr.json": mutant.changed[mutant.path]})
        try:
            found = self._found(mutant.path) - self._known[mutant.path]
        finally:
            original = self._documents[mutant.path]
            self._snapshot.learn_node(mutant.path, {"zarr.json": original})
        return [it for it in found if is_about(it, mutant)]


def is_about(found: Finding, mutant: Mutant) -> bool:
    """Tell whether a finding is at the place of a change, above it, or in what was put there.

    What an object lacks may be told of another member that would do.
    """
    keys, place = found.place.keys, mutant.keys[: -1 if mutant.how == "is missing" else None]
    common = min(len(keys), len(place))
    if found.place.node != f"/{mutant.path}":
        return False
    is_there = keys[:common] == place[:common]
    is_misspelt = keys == (*mutant.keys[:-1], _misspelt(mutant.keys[-1], mutant.keys[-1]))
    return is_there or is_misspelt


def checked(mutant: Mutant) -> list[Finding]:
    """Return what a whole check tells at the place of a mutant."""
    store = memory_store(contents_of(mutant.changed))
    return [it for it in zarr_xgroup.check(store).mistakes if is_about(it, mutant)]
