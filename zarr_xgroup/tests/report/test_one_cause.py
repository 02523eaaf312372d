"""One cause is told once, in words that are true of all that it concerns."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import XGroupWarning
from zarr_xgroup.tests.builders import UUIDS, Json
from zarr_xgroup.tests.documents import array, group, write


def declared(*names: str) -> list[Json]:
    return [{"name": name, "uuid": UUIDS[name]} for name in names]


def warnings_of(
    store: Any, recwarn: pytest.WarningsRecorder, **options: Any
) -> list[XGroupWarning]:
    recwarn.clear()
    xr.open_datatree(store, engine="xgroup", **options)
    return [it.message for it in recwarn if isinstance(it.message, XGroupWarning)]


def like_groups(number: int, members: Json, root: Json) -> dict[str, Json]:
    documents = {"": group(), "all": group(), **root}
    for index in range(number):
        documents[f"all/g{index}"] = group()
        documents |= {f"all/g{index}/{path}": it for path, it in members.items()}
    return documents


def test_choices_in_like_groups_are_one(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    described = {"zarr_conventions": declared("ref"), "ref": {"node": "../lat"}}
    members = {
        "y": array((3,), ("y",)),
        "lat": array((3,), ("y",)),
        "v": array((3,), ("y",), described),
    }
    documents = like_groups(20, members, {"all/lat": array((3,), ("y",))})
    store = write(tmp_path / "store.zarr", documents)
    named, chosen = warnings_of(store, recwarn)
    paths = [f"/all/g{index}/v" for index in range(20)]
    assert sorted(named.paths) == sorted(chosen.paths) == sorted(paths)
    assert "'../lat' was taken to be ../lat, not lat (which fits too)" in str(chosen)
    assert str(named).endswith("(and 19 more of this kind)")
    explanation = zarr_xgroup.explain(store)
    assert [len(it.arrays) for it in explanation.problems] == [20, 20]
    assert "was taken to be ../lat, not lat (which fits too)" in repr(explanation)
    assert repr(zarr_xgroup.check(store)).count("which fits too") == 1


def test_one_of_them_names_paths_in_full(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    described = {"zarr_conventions": declared("ref"), "ref": {"node": "../lat"}}
    members = {"lat": array((3,), ("y",)), "v": array((3,), ("y",), described)}
    documents = like_groups(1, members, {"all/lat": array((3,), ("y",))})
    *_others, told = warnings_of(write(tmp_path / "store.zarr", documents), recwarn)
    assert "was taken to be /all/lat, not /all/g0/lat (which fits too)" in str(told)


def test_other_words_are_another_cause(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    described = {"zarr_conventions": declared("ref"), "ref": {"node": "../lat"}}
    members = {"lat": array((3,), ("y",)), "v": array((3,), ("y",), described)}
    documents = like_groups(2, members, {"all/lat": array((3,), ("y",))})
    documents["all/g2"] = group()
    documents["all/g2/v"] = array((3,), ("y",), described | {"ref": {"node": "../late"}})
    told = warnings_of(write(tmp_path / "store.zarr", documents), recwarn)
    assert [len(it.paths) for it in told] == [2, 1, 2, 1]


def test_coordinates_beside_transforms_in_like_groups_are_one(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    documents: dict[str, Json] = {"": group(), "all": group()}
    values = {}
    for index, size in enumerate((12, 6, 3)):
        path = f"all/r{index}"
        transform = [10.0 * index + 10, 0.0, 0.0, 0.0, -10.0, 0.0, 0.0, 0.0, 1.0]
        described = {"proj:transform": transform, "proj:code": "EPSG:32632"}
        documents[path] = group()
        documents[f"{path}/b{index}"] = array((size, size), ("y", "x"), described)
        for name in ("y", "x"):
            documents[f"{path}/{name}"] = array((size,), (name,))
            values[f"{path}/{name}"] = np.arange(size) + 77.0
    store = write(tmp_path / "store.zarr", documents, values)
    (told,) = warnings_of(store, recwarn, assume_conventions="proj")
    assert told.paths == ("/all/r0/b0", "/all/r1/b1", "/all/r2/b2")
    assert "gives other coordinates than x, y; the latter were used" in str(told)
