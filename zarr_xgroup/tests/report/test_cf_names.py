"""Mistakes in CF attributes that name other variables: one each, with what to write instead."""

import json
from pathlib import Path

import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import XGroupWarning
from zarr_xgroup.tests.builders import UUIDS, Json
from zarr_xgroup.tests.documents import array, group, write

#: What is wrong, by the attributes that say so, and what they become by the remedy.
MENDED = [
    ({"coordinates": "/latt/lat /grid/lon"}, {"coordinates": "lat /grid/lon"}),
    ({"coordinates": "lat lon"}, {"coordinates": "lat ../grid/lon"}),
    ({"coordinates": "lat, height"}, {"coordinates": "lat height"}),
    ({"coordinates": "lat,height"}, {"coordinates": "lat height"}),
    ({"coordinates": "lat; height"}, {"coordinates": "lat height"}),
    ({"coordinates": "lat:"}, {"coordinates": "lat"}),
    ({"coordinates": ["lat", "height"]}, {"coordinates": "lat height"}),
    ({"coordinates": "/gird/lon"}, {"coordinates": "../grid/lon"}),
    ({"coordinates": "../../../lon"}, {"coordinates": "../grid/lon"}),
    ({"coordinates": "/data/lat"}, {"coordinates": "lat"}),
    ({"ancillary_variables": "area"}, {"ancillary_variables": "../grid/area"}),
    ({"grid_mapping": "crs: y x"}, {"grid_mapping": "../grid/crs: y x"}),
    ({"grid_mapping": "/grid/crs:"}, {"grid_mapping": "/grid/crs"}),
    ({"cell_measures": "area:/grid/area"}, {"cell_measures": "area: /grid/area"}),
    (
        {"formula_terms": "a: /grid/a, b: /grid/a, orog: lat"},
        {"formula_terms": "a: /grid/a b: /grid/a orog: lat"},
    ),
    (
        {"formula_terms": "a: a b: /grid/a orog: lat"},
        {"formula_terms": "a: ../grid/a b: /grid/a orog: lat"},
    ),
]


def store(folder: Path, attributes: Json) -> Path:
    described: Json = {"zarr_conventions": [{"name": "CF", "uuid": UUIDS["CF"]}], **attributes}
    if "formula_terms" in attributes:
        described |= {"standard_name": "atmosphere_hybrid_height_coordinate", "positive": "up"}
    documents = {
        "": group(),
        "lat": array((4, 3), ("y", "x"), {"units": "degrees_north"}),
        "data": group(),
        "data/t": array((4, 3), ("y", "x"), described),
        "data/height": array((), ()),
        "grid": group(),
        "grid/lon": array((4, 3), ("y", "x"), {"units": "degrees_east"}),
        "grid/area": array((4, 3), ("y", "x"), {"units": "m2"}),
        "grid/a": array((4,), ("y",)),
        "grid/crs": array((), (), {"grid_mapping_name": "latitude_longitude"}),
    }
    return write(folder, documents)


def told(folder: Path, recwarn: pytest.WarningsRecorder) -> list[str]:
    recwarn.clear()
    xr.open_dataset(folder, engine="xgroup", group="data")
    return [str(it.message) for it in recwarn if isinstance(it.message, XGroupWarning)]


@pytest.mark.parametrize(("wrong", "right"), MENDED, ids=lambda it: json.dumps(it))
def test_a_remedy_is_right_when_it_is_pasted(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, wrong: Json, right: Json
) -> None:
    (mistake,) = zarr_xgroup.check(store(tmp_path / "wrong", wrong)).mistakes
    assert (mistake.place.node, mistake.place.pointer) == (
        "/data/t",
        f"/attributes/{next(iter(wrong))}",
    )
    assert mistake.rule.document == "CF conventions 1.12"
    assert json.loads(f"{{{mistake.remedy.removeprefix('write ')}}}") == right
    mended = store(tmp_path / "right", right)
    assert zarr_xgroup.check(mended).is_clean
    assert told(mended, recwarn) == []


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"coordinates": "nowhere"}, 'name an array that is there, or leave "coordinates" out'),
        (
            {"coordinates": "/latt/lat nowhere"},
            'name an array that is there, or write "coordinates": "lat"',
        ),
        # An array along other dimensions is not what is meant.
        ({"bounds": "lat_bnds"}, 'name an array that is there, or leave "bounds" out'),
        ({"grid_mapping": "lat lon: x y"}, 'leave "grid_mapping" out'),
        ({"formula_terms": "a: zzz b: /grid/a orog: lat"}, 'leave "formula_terms" out'),
        ({"cell_measures": "area: zzz"}, 'or write "external_variables": "zzz" on the root if'),
        ({"cell_measures": "lat"}, 'write, for example, "cell_measures": "area: cell_area"'),
    ],
    ids=str,
)
def test_what_may_be_written_where_nothing_is_alike(
    tmp_path: Path, wrong: Json, remedy: str
) -> None:
    (mistake,) = zarr_xgroup.check(store(tmp_path / "wrong", wrong)).mistakes
    assert remedy in mistake.remedy


def test_the_nearest_of_many_arrays_is_meant(tmp_path: Path) -> None:
    described = {"zarr_conventions": [{"name": "CF", "uuid": UUIDS["CF"]}], "coordinates": "lat"}
    documents = {"": group()}
    for index in range(210):
        documents |= {f"g{index}": group(), f"g{index}/grid": group()}
        documents[f"g{index}/grid/lat"] = array((4, 3), ("y", "x"))
    documents["g209/t"] = array((4, 3), ("y", "x"), described)
    (mistake,) = zarr_xgroup.check(write(tmp_path / "many", documents)).mistakes
    assert mistake.remedy == 'write "coordinates": "grid/lat"'


def test_an_open_says_what_is_there_in_one_warning(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    place = "/data/t#/attributes/coordinates: "
    assert told(store(tmp_path / "comma", {"coordinates": "lat, lon, height"}), recwarn) == [
        (
            "/data/t was opened without 'lat' of 'coordinates', 'lon' of 'coordinates': "
            f'{place}must be names with blanks between them, got string "lat, lon, height"'
        )
    ]
    assert told(store(tmp_path / "group", {"coordinates": "/grid"}), recwarn) == [
        (
            "/data/t was opened without '/grid' of 'coordinates': "
            f"{place}'/grid' leads to no array, tried /grid (a group)"
        )
    ]
    assert told(store(tmp_path / "above", {"coordinates": "../../lon"}), recwarn) == [
        (
            "/data/t was opened without '../../lon' of 'coordinates': "
            f"{place}'../../lon' leads above the root of the store"
        )
    ]
