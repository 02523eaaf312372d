"""A store that breaks a law, cut down to what it takes."""

import copy
import json
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from zarr_xgroup.tests.random_stores import Documents, Json, node_paths

#: Without these a document is broken in another way than the one looked for.
_ALWAYS_THERE = frozenset({"zarr_format", "node_type", "shape", "chunk_shape", "chunks"})


def shrunk(store: Documents, breaks: Callable[[Documents], bool], seconds: float) -> Documents:
    """Return the smallest store found that still breaks a law; the search takes some seconds.

    Whatever can be left out or made simpler is, one by one, until nothing more can.
    """
    end = time.monotonic() + seconds
    found = True
    while found:
        found, position = False, 0
        while position < len(steps := _steps(store)):
            if time.monotonic() > end:
                return store
            candidate = steps[position](store)
            if _size(candidate) < _size(store) and breaks(candidate):
                store, found = candidate, True
            else:
                position += 1
    return store


def _steps(store: Documents) -> list[Callable[[Documents], Documents]]:
    """Return what makes a store smaller, what takes away most first."""
    ways = [way for way in sorted(_ways(store), key=len) if way[-1] not in _ALWAYS_THERE]
    return [
        *(partial(_without_node, path=path) for path in node_paths(store)),
        *(partial(_without, way=way) for way in ways),
        *(partial(_simplified, way=way) for way in ways),
    ]


def _ways(value: Json) -> Iterator[tuple[Any, ...]]:
    """Yield the keys that lead to each member of a JSON value."""
    if isinstance(value, dict | list):
        keys: Iterable[Any] = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield (key,)
            yield from ((key, *rest) for rest in _ways(value[key]))


def _without_node(store: Documents, path: str) -> Documents:
    return {key: value for key, value in store.items() if not key.startswith(f"{path}/")}


def _without(store: Documents, way: tuple[Any, ...]) -> Documents:
    result, container = _copied(store, way)
    del container[way[-1]]
    return result


def _simplified(store: Documents, way: tuple[Any, ...]) -> Documents:
    """Return a store with an empty value, of the type that it has, at one place."""
    result, container = _copied(store, way)
    container[way[-1]] = type(container[way[-1]] or 0)()
    return result


def _copied(store: Documents, way: tuple[Any, ...]) -> tuple[Documents, Any]:
    """Return a copy of a store, and what holds a member of it."""
    result = copy.deepcopy(store)
    container: Any = result
    for key in way[:-1]:
        container = container[key]
    return result, container


def _size(store: Documents) -> int:
    return len(json.dumps(store))
