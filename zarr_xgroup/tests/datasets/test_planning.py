"""What an open is told before it reads, what it leaves behind when it fails, and what it finds that arrays lack."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupError
from zarr_xgroup.datasets.planning import planning
from zarr_xgroup.storage.library import Library
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    below,
    build,
    coordinate,
    declaring,
    memory_store,
    recorded,
    recording_store,
    stored,
    without_principal,
    write_local,
)
from zarr_xgroup.tests.tables import rows, store_of

STORE = build(Group({"a": stored([1], "x")}))


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


# Arrays that follow no principal convention, and lack coordinates or a CRS.


def grid(**attributes: Any) -> Array:
    return stored(np.ones((2, 3)), "y x", **attributes)


Y, X = coordinate("y", [1, 2]), coordinate("x", [1, 2, 3])
IN_CRS = grid(**declaring("proj"), **{"proj:code": "EPSG:4326"})
PLACES = {"geodetic": {"x": {"node": "/axes/lon"}, "y": {"node": "/axes/lat"}}}
LACKING: dict[str, tuple[Any, list[str]]] = {
    "an array with a CRS": ({"": {}, "a": IN_CRS}, ["/a"]),
    "not one with a CRS and coordinates": ({"": {}, "a": IN_CRS, "y": Y, "x": X}, []),
    "not what others name": ({"": declaring("spatial"), "a": grid(coordinates="d"), "d": grid(), "y": Y, "x": X}, []),
    "an array called as a dimension that is no coordinate": ({"": {}, "x": stored([[1]], "x y")}, ["/x"]),
    "not an array that another group refers to":
        ({"": {}, "axes": Group({"lon": grid(), "lat": grid()}), "located": Group({"a": grid(**declaring("geolocation", geolocation=PLACES))})}, []),
    "nor one that a group below names":
        ({"": {}, "height": stored([1], "t"), "g": Group({"b": grid(coordinates="height"), "height": Group()})}, ["/g/b"]),
    "one of a layout of levels":
        ({"": {}, "p": Group({"0": Group({"c": grid()})}, {"multiscales": {"tile_matrix_set": "WebMercatorQuad"}})}, ["/p/0/c"]),
}  # fmt: skip


@rows(LACKING, "nodes, arrays")
def test_which_arrays_are_told_to_follow_no_principal_convention(
    nodes: Any, arrays: list[str]
) -> None:
    assert without_principal(xr.open_datatree, store_of(nodes)) == arrays


TOLD: dict[str, tuple[Any, str]] = {
    "none is declared, and no group above is known":
        (below(build(Group({"a": grid()})), "g"),
         "1 array lacks coordinates or a CRS and declares no principal convention (such as cs or spatial): /g/a"),
    "the group declares one":
        (build({"": {}, "g": declaring("spatial"), "g/a": grid(), "g/b": stored([1], "t"), "g/c": grid(), "g/y": Y}),
         "/g/a, /g/c: its group declares 'spatial', but "),
}  # fmt: skip


@rows(TOLD, "contents, text")
def test_what_is_told_of_them(contents: Any, text: str) -> None:
    store = memory_store(contents)
    _dataset, (told,) = recorded(xr.open_dataset, store, engine="xgroup", group="g")
    assert str(told).startswith(text)
