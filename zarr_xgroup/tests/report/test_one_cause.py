"""One cause is told once, in words that are true of all that it concerns."""

from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup import XGroupMetadataWarning, XGroupNoPrincipalWarning, XGroupWarning
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import UUIDS, ZARR, Json
from zarr_xgroup.tests.documents import array, group, write
from zarr_xgroup.tests.report.test_check import (
    AROUND,
    EXTERNAL,
    GRID,
    LAT,
    TAS,
    UOM,
    broken,
    completed,
    declared,
)


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
    (chosen,) = warnings_of(store, recwarn)
    assert sorted(chosen.paths) == sorted(f"/all/g{index}/v" for index in range(20))
    assert "'../lat' was taken to be ../lat, not lat (which fits too)" in str(chosen)
    explanation = zarr_xgroup.explain(store)
    assert [len(it.arrays) for it in explanation.problems] == [20]
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
    assert [len(it.paths) for it in told] == [1, 2, 1]


# Documents, products, and stores with one mistake.


def around(name: str) -> dict[str, Json]:
    """Return a sample with all that it refers to."""
    members, _told = AROUND[name]
    written = {
        path: completed(it or name) if isinstance(it, str) else it for path, it in members.items()
    }
    return {"": group(), **written}


def alone(name: str) -> dict[str, Json]:
    """Return a sample, and the groups that it is in."""
    path = next(path for path, it in AROUND[name][0].items() if it == "")
    above = path.rpartition("/")[0]
    return {"": group(), **({above: group()} if above else {}), path: completed(name)}


@pytest.mark.parametrize("name", sorted(AROUND))
def test_samples_are_told_little(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, name: str
) -> None:
    told = warnings_of(write(tmp_path / "around", around(name)), recwarn)
    # By the specification, services alone are no principal convention.
    expected = [XGroupNoPrincipalWarning] if name == "geolocation_geodetic_and_planar" else []
    assert [type(it) for it in told] == expected
    assert len(warnings_of(write(tmp_path / "alone", alone(name)), recwarn)) <= 5


@pytest.mark.parametrize("assumed", [None, "proj", "cf", "auto"])
@pytest.mark.parametrize("name", products.PRODUCTS)
def test_products_are_told_little(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, name: str, assumed: str | None
) -> None:
    store = products.write(name, tmp_path / "product")
    told = warnings_of(store, recwarn, assume_conventions=assumed)
    if Version("3.1") > ZARR:  # it does not know strings of fixed length
        told = [it for it in told if type(it) is not XGroupMetadataWarning]
    assert len(told) <= 3
    if assumed is None:
        # Each has arrays that lack what its attributes would give: coordinates, or the CRS of a mask.
        assert [type(it) for it in told] == [XGroupNoPrincipalWarning]


NO_CODEC = [{"name": "lost_codec", "configuration": {}}]
SCANS = "/swath/radiance#/attributes"


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ({}, None),
        ({f"{LAT}/coordinates/0": {"value": {"regular": [1.0, 2.0]}}}, "was 'values' meant?"),
        ({EXTERNAL: {"node": "dates"}}, "'dates' leads nowhere"),
        ({EXTERNAL: {"node": "/a", "uri": "file:///nowhere.zarr"}}, "cannot be opened: not found"),
        (
            {
                f"/grid/{name}": {**array((4, 6), ("y", "x")), "codecs": NO_CODEC}
                for name in ("a", "b", "c")
            },
            "/grid/a, /grid/b, /grid/c: left out: ",
        ),
        ({"/grid/band#/data_type": "quaternion"}, "/grid/band: left out"),
        ({f"{GRID}/proj:code": "EPSG:999999"}, "is no CRS that pyproj understands"),
        ({f"{GRID}/spatial:transform": [1, 2, 3]}, "must be 6 finite numbers, got [1, 2, 3]"),
        (
            {
                "/grid/band#/attributes/zarr_conventions": declared("CF"),
                "/grid/band#/attributes/grid_mapping": "crs",
            },
            "'crs' leads to no array",
        ),
        (
            {
                f"{SCANS}/zarr_conventions/-": declared("CF")[0],
                f"{SCANS}/coordinates": "lat, lon, height",
            },
            "names with blanks between them",
        ),
        ({f"{SCANS}/coordinates": ["lat", "lon"]}, "without 'coordinates': it must be a string"),
        ({"/grid/band#/attributes/_FillValue": "missing"}, "nothing is masked by it"),
        ({f"{UOM}/ucum": 5}, "must be an object, got number 5"),
        ({f"{TAS}/zarr_conventions/0/uuid": UUIDS["uom"]}, "'cs' is declared with uuid"),
        ({f"{LAT}/coordinates/0": {"values": {"explicit": [1.0, 2.0]}}}, "has 2 values"),
    ],
    ids=str,
)
def test_one_mistake_is_one_warning(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, edits: Json, text: str | None
) -> None:
    told = [str(it) for it in warnings_of(write(tmp_path / "store", broken(edits)), recwarn)]
    assert len(told) == (text is not None), told
    assert all(str(text) in it for it in told), told


def test_pointers_are_no_paths_of_nodes(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    reference = {"node": "../lat", "attribute": "/attributes/units"}
    wrong = {"zarr_conventions": declared("ref"), "ref": {"of": reference}}
    documents = {"": group(), "attributes": group()}
    for name in ("a", "b"):
        documents |= {
            f"attributes/{name}": group(),
            f"attributes/{name}/v": array((3,), ("y",), wrong),
            "attributes/lat": array((3,), ("y",)),
            f"attributes/{name}/lat": array((3,), ("y",)),
        }
    told = warnings_of(write(tmp_path / "store.zarr", documents), recwarn)
    (failed,) = [str(it) for it in told if "leads nowhere" in str(it)]
    assert "(nothing stands at #/attributes/units)" in failed
    assert "../lat" in failed
