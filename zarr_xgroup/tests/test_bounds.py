"""What an open costs at most: steps, requests and memory that follow from the metadata's size."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
import xarray as xr
from zarr.storage import MemoryStore

from zarr_xgroup.datasets import naming
from zarr_xgroup.tests.builders import memory_store
from zarr_xgroup.tests.documents import Json, array, declaring, group, opened


def consolidated(documents: Mapping[str, Json]) -> MemoryStore:
    """Return a store that is nothing but consolidated metadata, the root's at ""."""
    nodes = {path: document for path, document in documents.items() if path}
    inline = {"kind": "inline", "must_understand": False, "metadata": nodes}
    root = {**documents[""], "consolidated_metadata": inline}
    return memory_store({"zarr.json": json.dumps(root).encode()})


def along(**sets: list[Json]) -> Json:
    """Return attributes that declare ``cs`` with sets of coordinates by axis."""
    axes = {name: {"coordinates": coordinates} for name, coordinates in sets.items()}
    return declaring("cs", cs={"crs": [{"axes": axes}]})


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Counter[str]:
    """Count the calls of a method from now on."""
    counter: Counter[str] = Counter()
    method = getattr(owner, name)

    def counting(*arguments: Any) -> Any:
        counter[name] += 1
        return method(*arguments)

    monkeypatch.setattr(owner, name, counting)
    return counter


# Names.


def test_names_are_numbered_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 300
    sets: list[Json] = [
        {"name": "t", "values": {"explicit": [float(n), n + 0.5]}} for n in range(count)
    ]
    store = consolidated({"": group(), "v": array([2], ["x"], along(x=sets))})
    asked = counted(monkeypatch, naming._Naming, "_is_free")
    dataset, _told = opened(xr.open_dataset, store)
    assert set(dataset.coords) == {"x", "t", *(f"t_{n}" for n in range(1, count - 1))}
    assert asked["_is_free"] < 10 * count


def test_dimensions_are_told_apart_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 300
    arrays = {
        f"v{n:03}": array([2], ["x"], along(x=[{"values": {"explicit": [float(n), 0.5]}}]))
        for n in range(count)
    }
    looked_at: list[str] = []

    class Variable(naming._Variable):
        def __getattribute__(self, name: str) -> Any:
            if name == "sizes":
                looked_at.append(name)
            return super().__getattribute__(name)

    monkeypatch.setattr(naming, "_Variable", Variable)
    dataset, _told = opened(xr.open_dataset, consolidated({"": group(), **arrays}))
    assert set(dataset.sizes) == {"x", *(f"x_v{n:03}" for n in range(1, count))}
    assert count < len(looked_at) < 50 * count
