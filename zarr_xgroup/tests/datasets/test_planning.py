"""What an open is told before it reads, and what it leaves behind when it fails."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zarr_xgroup import XGroupError
from zarr_xgroup.datasets.planning import planning
from zarr_xgroup.metadata.tree import Lack
from zarr_xgroup.storage.library import Library
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    declaring,
    memory_store,
    recording_store,
    write_local,
)

STORE = build(Group({"a": Array(np.ones(2), ("x",))}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"assume_conventions": "nope"}, "there is no convention 'nope'"),
        ({"convention_attrs": "nope"}, "nope"),
        ({"nope": 1}, "has no option nope"),
        ({"mode": "w"}, "only reads"),
    ],
    ids=str,
)
def test_nothing_is_read_with_options_that_are_wrong(options: Any, message: str) -> None:
    store = recording_store(STORE)
    with pytest.raises((TypeError, ValueError), match=message), planning(store, options):
        pass
    assert (store.gets, store.listed) == ([], [])


@pytest.mark.parametrize(
    ("given", "dropped"),
    [(None, set()), ("ab", {"ab"}), (["a", "b"], {"a", "b"}), ((it for it in "ab"), {"a", "b"})],
    ids=["none", "one", "several", "iterator"],
)
def test_names_of_variables_to_drop(given: Any, dropped: set[str]) -> None:
    with planning(memory_store(STORE), {"drop_variables": given}) as planned:
        assert planned.dropped == dropped


def test_a_store_is_closed_if_anything_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr(Library, "close", lambda _library: called.append("close"))
    monkeypatch.setattr(Library, "release", lambda _library: called.append("release"))
    path = write_local(STORE, tmp_path / "s.zarr")
    with planning(path, {}):
        pass
    assert called == ["release"]
    for error in (KeyboardInterrupt(), XGroupError("nothing")):
        called.clear()
        with pytest.raises(type(error)), planning(path, {}):
            raise error
        assert called == ["close", "release"]


def test_what_an_error_came_from_shows_no_credentials() -> None:
    error, cause = XGroupError("nothing"), ValueError("s3://me:secret@host/b?token=secret")
    with pytest.raises(XGroupError) as raised, planning(memory_store(STORE), {}):
        raise error from cause
    assert raised.value.__cause__ is not None
    assert "secret" not in str(raised.value.__cause__)


def test_what_several_groups_lack_is_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Collection[Lack]] = []
    read = Library._read_lacking

    async def counted(library: Library, lacking: Collection[Lack]) -> None:
        asked.append(lacking)
        await read(library, lacking)

    monkeypatch.setattr(Library, "_read_lacking", counted)
    other = [declaring("ref", other={"node": f"/{name}/b"}) for name in "pqr"]
    groups = {str(n): Group({"a": Array(np.ones(2), ("x",), it)}) for n, it in enumerate(other)}
    elsewhere = {name: Group({"b": Array(np.ones(2), ("x",))}) for name in "pqr"}
    store = memory_store(build(Group({"g": Group(groups), **elsewhere})))
    with planning(store, {"group": "g"}) as planned:
        plans = planned.plan_tree(with_indexes=False)
    names = [[variable.name for variable in plan.variables] for plan in plans]
    assert names == [[], *[["a", "b"]] * 3]
    assert len(asked) == 1
