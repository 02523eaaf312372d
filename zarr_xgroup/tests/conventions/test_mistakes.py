"""Mistakes in metadata that would pass unseen: each is told once, with its place and a remedy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupResolutionWarning, check, explain
from zarr_xgroup.conventions.crs import ProjMembers
from zarr_xgroup.conventions.cs import Axis, CoordinateSet, Cs, System, Time
from zarr_xgroup.conventions.descriptions import Model, misspelt
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.units import Ucum
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import Json, declaring, opened_with_warnings
from zarr_xgroup.tests.documents import array, group, write

numbers = itertools.count()


def told_of(
    tmp_path: Path, documents: dict[str, Json], data: Any = None
) -> tuple[xr.Dataset, list[str]]:
    """Open a store; its Dataset and what was told, all of it of the kind for malformed metadata."""
    store = write(tmp_path / f"{next(numbers)}.zarr", documents, data)
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert {type(warning) for warning in told} <= {XGroupResolutionWarning}
    return dataset, [str(warning) for warning in told]


# cs.


def with_cs(cs: Any, shape: Any = (3, 4), dims: Any = ("lat", "lon")) -> dict[str, Json]:
    """Return a store with an array `a` that has a cs, and arrays of three lengths."""
    others = {f"v{n}": array((n,), (f"n{n}",)) for n in (1, 3, 4)}
    return {"": group(), "a": array(shape, dims, declaring("cs", cs=cs)), **others}


def axes(**found: Any) -> Json:
    """Return a cs of one CRS with these axes."""
    return {"crs": [{"axes": found}]}


def valued(values: Any, **more: Any) -> Json:
    """Return an axis with one coordinate set."""
    return {"coordinates": [{"values": values, **more}]}


LON = valued({"regular": [0, 1]})
AXIS = "/a#/attributes/cs/crs/0/axes"
SET = f"{AXIS}/lat/coordinates/0"
WITHOUT = "/a was opened without"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"regular": [0, 1]}, ": has regular values, but is no dimension of the array (lat, lon);"),
        ({"explicit": [1, 2, 3]}, "explicit: has 3 values, the axis needs 1"),
        ({"external": {"node": "v3"}}, "its shape is [3], the axis 'latt' needs [1]"),
    ],
    ids=str,
)
def test_an_axis_that_is_no_dimension(tmp_path: Path, values: Json, reason: str) -> None:
    dataset, (text,) = told_of(tmp_path, with_cs(axes(latt=valued(values), lon=LON)))
    assert text.startswith(f"{WITHOUT} coordinate 'latt': {AXIS}/latt")
    assert reason in text
    assert set(dataset.coords) == {"lon"}


@pytest.mark.parametrize(
    "axis",
    [
        valued({"explicit": [2]}),
        valued({"external": {"node": "v1"}}),
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("others", [{"lat": LON, "lon": LON}, {"lon": LON}], ids=["all", "one"])
def test_a_scalar_axis_is_no_mistake(tmp_path: Path, axis: Json, others: Json) -> None:
    _dataset, told = told_of(tmp_path, with_cs(axes(height=axis, **others)))
    assert told == []


@pytest.mark.parametrize(
    ("cs", "text", "lost"),
    [
        (
            axes(lat={"coordinate": [{"values": {"regular": [0, 1]}}]}),
            f"{AXIS}/lat/coordinate: is not known there; was 'coordinates' meant?",
            "coordinate 'lat'",
        ),
        (
            axes(lat=valued({"regular": [0, 1]}, bounds={"regular": [-1, 1]})),
            f"{SET}/bounds: is not known there; was 'boundaries' meant?",
            "'bounds' of axis 'lat'",
        ),
        (
            axes(lat=valued({"regular": [0, 1]}, units="m")),
            f"{SET}/units: is not known there; was 'unit' meant?",
            "'units' of axis 'lat'",
        ),
        (
            axes(lat={"coordinates": [{"value": {"regular": [0, 1]}}]}),
            f"{SET}/value: is not known there; was 'values' meant?",
            "coordinate 'lat'",
        ),
        (
            axes(lat=valued({"regular": [0, 1]}, time={"units": "days", "epoch": "2000-01-01"})),
            f"{SET}/time/units: is not known there; was 'unit' meant?",
            "'time' of axis 'lat'",
        ),
        (
            axes(
                lat=valued(
                    {"regular": [0, 1]},
                    time={"unit": "days", "epoch": "2000-01-01", "calender": "noleap"},
                )
            ),
            f"{SET}/time/calender: is not known there; was 'calendar' meant?",
            "'time' of axis 'lat'",
        ),
        (
            {"CRS": [{"axes": {"lat": LON}}]},
            "/a#/attributes/cs/CRS: is not known there; was 'crs' meant?",
            "what 'cs/CRS' declares",
        ),
        (
            {"crs": [{"axis": {"lat": LON}}]},
            "/a#/attributes/cs/crs/0/axis: is not known there; was 'axes' meant?",
            "what 'cs/crs/0/axis' declares",
        ),
        (
            {"crs": [{"axes": {"lat": LON}, "id": "EPSG:4326"}]},
            (
                "/a#/attributes/cs/crs/0/id: must be a proj object such as "
                '{"proj:code": "EPSG:4326"}, got string "EPSG:4326"'
            ),
            "what 'cs/crs/0/id' declares",
        ),
        (
            {"id": 4326, "crs": [{"axes": {"lat": LON}}]},
            (
                '/a#/attributes/cs/id: must be a proj object such as {"proj:code": "EPSG:4326"}, '
                "got number 4326"
            ),
            "what 'cs/id' declares",
        ),
        (
            {"id": {"code": "EPSG:4326"}, "crs": [{"axes": {"lat": LON}}]},
            "/a#/attributes/cs/id/code: is not known there; was 'proj:code' meant?",
            "what 'cs/id/code' declares",
        ),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_key_that_is_not_known(tmp_path: Path, cs: Json, text: str, lost: str) -> None:
    _dataset, told = told_of(tmp_path, with_cs(cs))
    assert told == [f"{WITHOUT} {lost}: {text}"]


@pytest.mark.parametrize("name", [{}, {"name": 7}], ids=str)
def test_an_axis_without_a_name_costs_itself(tmp_path: Path, name: Json) -> None:
    listed = [{"name": "lat", **LON}, {**name, **LON}, 5]
    dataset, told = told_of(tmp_path, with_cs({"crs": [{"axes": listed}]}))
    assert set(dataset.coords) == {"lat"}
    text = "{without} what 'cs/crs/0/axes/{index}' declares: {axis}/{index}: must have a 'name'"
    assert told == [text.format(axis=AXIS, index=index, without=WITHOUT) for index in (1, 2)]
    (store,) = tmp_path.iterdir()
    errors = [it.text for it in check(store).mistakes if it.severity == "error"]
    assert errors == ["must have a 'name'"]  # of both; not that a dimension has no axis, too


def test_positions_do_not_stand_for_misspelt_coordinates(tmp_path: Path) -> None:
    dataset, _told = told_of(tmp_path, with_cs(axes(lat={"coordinate": []})))
    assert "lat" not in dataset.coords


def test_other_unknown_keys_are_left_alone(tmp_path: Path) -> None:
    described = {"description": "d", "name": "n", "comment": "c", "note": [1]}
    time = {"unit": "days", "epoch": "2000-01-01", **described}
    axis = {**described, "coordinates": [{**described, "time": time, **valued({})}]}
    axis["coordinates"] = [{**described, "time": time, "values": {"regular": [0, 1]}}]
    cs = {**described, "crs": [{**described, "type": "planar", "axes": {"lat": axis}}]}
    _dataset, told = told_of(tmp_path, with_cs(cs))
    assert told == []


@pytest.mark.parametrize(
    ("given", "known", "expected"),
    [
        (["coordinate"], ["coordinates"], {"coordinate": "coordinates"}),
        (["coordinate", "coordinates"], ["coordinates"], {}),
        (["coordinate", "coordinatez"], ["coordinates"], {"coordinate": "coordinates"}),
        (["description"], ["direction", "attributes", "boundaries"], {}),
        (["anything"], ["coordinates"], {}),
        (["ID"], ["id"], {"ID": "id"}),
    ],
    ids=str,
)
def test_what_was_meant(given: list[str], known: list[str], expected: dict[str, str]) -> None:
    assert misspelt(given, known, {"description"}) == expected


# Epochs.


@pytest.mark.parametrize(
    "time",
    [
        {"unit": "days", "epoch": "01.02.2028"},
        {"unit": "days", "epoch": "2/1/2028", "calendar": "noleap"},
        {"reference": "days since 01.02.2028"},
        {"reference": "days since 01-02-2028"},
    ],
    ids=str,
)
def test_an_epoch_that_may_mean_anything(tmp_path: Path, time: Json) -> None:
    dataset, told = told_of(tmp_path, with_cs(axes(lat=valued({"regular": [0, 1]}, time=time))))
    key = "epoch" if "epoch" in time else "reference"
    assert told == [
        (
            f"{WITHOUT} 'time' of axis 'lat': {SET}/time/{key}: must give a date and time as ISO 8601 writes it (such as "
            f"2028-02-01T00:00:00), got {time[key]!r}; the times were left undecoded"
        )
    ]
    assert dataset["lat"].values.tolist() == [0, 1, 2]
    assert dataset["lat"].attrs == {}


@pytest.mark.parametrize(
    ("time", "key", "text"),
    [
        ({"epoch": "2020-02-30"}, "epoch", "the calendar 'standard' has no such day: \"2020-02-30"),
        ({"epoch": "2020-02-29", "calendar": "NoLeap"}, "epoch", "the calendar 'NoLeap' has no such day"),
        ({"unit": "months"}, "unit", '"months" is no unit by which times are decoded'),
        ({"unit": "parsecs"}, "unit", '"parsecs" is no unit of time'),
        ({"calendar": "nope"}, "calendar", "'nope' is no calendar in which times are decoded"),
        ({"reference": "days since 2020-02-30"}, "reference", "has no such day"),
        ({"reference": "years since 2020-02-28"}, "reference", '"years" is no unit by which'),
    ],
    ids=lambda it: str(it) if isinstance(it, dict) else "",
)  # fmt: skip
def test_times_that_cannot_be_decoded(tmp_path: Path, time: Json, key: str, text: str) -> None:
    given = time if "reference" in time else {"unit": "days", "epoch": "2000-01-01", **time}
    documents = with_cs(axes(lat=valued({"regular": [0, 1]}, time=given)))
    store = write(tmp_path / "a.zarr", documents)
    dataset, (told,) = opened_with_warnings(xr.open_dataset, store)
    start = f"/a: its coordinate 'lat': opened with its times undecoded: {text}"
    assert str(told).startswith(start.partition("has no")[0].partition('"')[0])
    assert text in str(told)
    assert "cftime" not in str(told)
    assert dataset["lat"].values.tolist() == [0, 1, 2]
    assert " since " in dataset["lat"].attrs["units"]  # for who knows more of them
    problems = [it.text for it in explain(store).problems if "undecoded" in it.text]
    assert [f"/a: {problem}" for problem in problems] == [str(told)]
    mistakes = [it for it in check(store).mistakes if it.place.pointer.endswith(f"/time/{key}")]
    assert [it.severity for it in mistakes] == ["error"]


@pytest.mark.parametrize("epoch", ["2020-13-01", "2020-01-01T25:00:00"])
def test_an_epoch_that_is_none(tmp_path: Path, epoch: str) -> None:
    time = {"unit": "days", "epoch": epoch}
    _dataset, told = told_of(tmp_path, with_cs(axes(lat=valued({"regular": [0, 1]}, time=time))))
    assert ["must give a date and time as ISO 8601" in text for text in told] == [True]


# spatial.


def with_spatial(size: tuple[int, int] = (4, 6), **attributes: Any) -> dict[str, Json]:
    """Return a store with arrays `a` and `b` below a group that has spatial attributes."""
    code = attributes.pop("code", None)
    declared = declaring("spatial", "proj")
    declared |= {"spatial:dimensions": ["y", "x"]}
    declared |= {f"spatial:{key}": value for key, value in attributes.items()}
    declared |= {} if code is None else {"proj:code": code}
    return {"": group(declared), "a": array(size, ("y", "x")), "b": array(size, ("y", "x"))}


LACKING = (
    "/a, /b: spatial is declared, but there is neither spatial:transform, nor "
    "spatial:bbox, nor 1-D arrays y, x: these dimensions have no coordinates from it"
)


def test_one_real_array_and_no_transform(tmp_path: Path) -> None:
    documents = {**with_spatial(), "y": array((4,), ("y",))}
    _dataset, (text,) = told_of(tmp_path, documents, {"y": np.arange(4.0)})
    assert text == LACKING


def test_coordinates_of_the_group_are_enough(tmp_path: Path) -> None:
    documents = with_spatial() | {"y": array((4,), ("y",)), "x": array((6,), ("x",))}
    data = {"y": np.arange(4.0), "x": np.arange(6.0)}
    _dataset, told = told_of(tmp_path, documents, data)
    assert told == []


GDAL = [500000.0, 10.0, 0.0, 4600000.0, 0.0, -10.0]
BOX = [500000.0, 4599960.0, 500060.0, 4600000.0]


@pytest.mark.parametrize(
    "attributes",
    [
        {"transform": GDAL, "code": "EPSG:32632", "size": (40, 60)},
        {"transform": GDAL, "code": "EPSG:32632"},
        {"transform": GDAL},
        {"transform": GDAL, "bbox": BOX},
        {"transform": GDAL, "bbox": BOX, "code": "EPSG:32632"},
        {"transform": [-180.0, 60.0, 0.0, 90.0, 0.0, -45.0], "code": "EPSG:4326"},
    ],
    ids=str,
)
def test_a_transform_in_the_order_of_gdal(tmp_path: Path, attributes: Json) -> None:
    dataset, (text,) = told_of(tmp_path, with_spatial(**attributes))
    assert text.startswith(
        f"/a, /b: /#/attributes/spatial:transform: is {attributes['transform']}, by"
    )
    c, a, b, f, d, e = attributes["transform"]
    assert "in the order of GDAL?" in text
    assert text.endswith(f"[a, b, c, d, e, f]: {[a, b, c, d, e, f]}")
    assert {"xc", "yc"} <= set(dataset.coords)  # as it is written


@pytest.mark.parametrize(
    "attributes",
    [
        {"transform": [10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0], "code": "EPSG:32632"},
        {"transform": [60.0, 0.0, -180.0, 0.0, -45.0, 90.0], "code": "EPSG:4326"},
        {"transform": [0.0, 10.0, 500000.0, -10.0, 0.0, 4600000.0], "code": "EPSG:32632"},
        {"transform": [7.0, 7.0, 500000.0, 7.0, -7.0, 4600000.0], "code": "EPSG:32632"},
        {"transform": [7.0, -7.0, 0.0, 7.0, 7.0, 0.0], "code": "EPSG:4326"},
        {"transform": [1e9, 0.0, 0.0, 0.0, -1e9, 0.0], "code": "EPSG:32632"},
    ],
    ids=str,
)
def test_other_transforms_are_not_doubted(tmp_path: Path, attributes: Json) -> None:
    _dataset, told = told_of(tmp_path, with_spatial(**attributes))
    assert told == []


def with_grid(
    dims: Sequence[str | None], declared: Sequence[str], **attributes: Any
) -> dict[str, Json]:
    """Return a store with an array of 4 x 6 cells of 10 m, whose dimensions are declared so."""
    transform = [10.0, 0, 500.0, 0, -10.0, 900.0]
    documents = with_spatial(dimensions=list(declared), transform=transform, **attributes)
    return {"": documents[""], "a": array((4, 6), dims)}


#: The box of 4 rows and 6 columns, and of 6 rows and 4 columns.
WIDE, HIGH = [500.0, 860.0, 560.0, 900.0], [500.0, 840.0, 540.0, 900.0]


@pytest.mark.parametrize(
    ("dims", "declared", "attributes"),
    [
        (("y", "x"), ("y", "x"), {}),
        (("x", "y"), ("y", "x"), {}),  # the array's axes may be in any order
        (("i", "j"), ("i", "j"), {}),
        (("i", "j"), ("j", "i"), {}),
        (("i", "j"), ("i", "j"), {"bbox": WIDE}),
        (("i", "j"), ("j", "i"), {"bbox": HIGH}),
        (("y", "x"), ("x", "y"), {"bbox": HIGH}),  # a northing may be called x
    ],
    ids=str,
)
def test_a_grid_whose_dimensions_are_declared_as_they_are(
    tmp_path: Path, dims: tuple[str, str], declared: tuple[str, str], attributes: Json
) -> None:
    documents = with_grid(dims, declared, **attributes)
    dataset, told = told_of(tmp_path, documents)
    assert told == []
    assert [dataset[name].attrs["axis"] for name in declared] == ["Y", "X"]


# What mutants of the conventions showed to be untested.


def test_a_set_without_values_is_not_one_of_many(tmp_path: Path) -> None:
    _dataset, (text,) = told_of(tmp_path, with_cs(axes(latt={"coordinates": [{}]}, lon=LON)))
    assert text == f"{WITHOUT} coordinate 'latt': {AXIS}/latt/coordinates/0/values: is missing"


@pytest.mark.parametrize(
    ("parse", "key"),
    [
        *((Cs.read, key) for key in ("crs", "id", "attributes")),
        *((System.read, key) for key in ("axes", "id", "geolocation")),
        *((Axis.read, key) for key in ("abbreviation", "direction", "coordinates", "attributes")),
        *((CoordinateSet.read, key) for key in ("direction", "unit", "time", "values")),
        *((CoordinateSet.read, key) for key in ("boundaries", "parametric", "attributes")),
    ],
)
def test_every_key_may_be_misspelt(parse: Any, key: str) -> None:
    model = parse(Fragment(Node(0, "a"), (), {f"{key}{key[-1]}": 1}))
    assert [at.keys[-1] for it in model.wrong for at in it.related] == [key]


@pytest.mark.parametrize(
    ("model", "written", "meant"),
    [
        (CoordinateSet, "bounds", "boundaries"),
        *((Axis, word, "coordinates") for word in ("coord", "coords")),
        *((model, "units", "unit") for model in (Axis, CoordinateSet, Time, Ucum)),
        *((ProjMembers, word, f"proj:{word}") for word in ("code", "epsg", "projjson")),
        *((ProjMembers, word, "proj:wkt2") for word in ("wkt", "wkt2")),
    ],
)
def test_words_of_others(model: type[Model], written: str, meant: str) -> None:
    assert model.misspelt({written: 1}) == {written: meant}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("geotransform", "transform"), ("GeoTransform", "transform")),
        *(("bounds", "bbox"), ("dims", "dimensions")),
    ],
)
def test_words_of_others_for_attributes(written: str, meant: str) -> None:
    found = misspelt([f"spatial:{written}"], [it.key for it in SpatialHandler.described])
    assert found == {f"spatial:{written}": f"spatial:{meant}"}


def test_an_epoch_that_is_misspelt(tmp_path: Path) -> None:
    time = {"unit": "days", "epochs": "2000-01-01"}
    _dataset, (text,) = told_of(tmp_path, with_cs(axes(lat=valued({"regular": [0, 1]}, time=time))))
    assert text.endswith(f"{SET}/time/epochs: is not known there; was 'epoch' meant?")


def test_what_may_stand_anywhere_is_no_misspelling() -> None:
    given = {"name": "n", "type": "t", "description": "d"}  # nearly "time" and "direction"
    for parse in (Cs.read, System.read, Axis.read, CoordinateSet.read):
        model: Any = parse(Fragment(Node(0, "a"), (), given))
        assert [it for it in model.wrong if it.related] == []


def test_capital_letters_of_what_is_known() -> None:
    assert misspelt(["crs84"], ["CRS_84"]) == {"crs84": "CRS_84"}
