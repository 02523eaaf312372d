"""What becomes of the attributes of conventions, and files of netCDF, which hold no objects."""

import json
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import ConventionHandler, XGroupPluginWarning, drop_conventions
from zarr_xgroup.conventions import register, registry
from zarr_xgroup.tests.builders import (
    UUIDS,
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    some_pairs,
)
from zarr_xgroup.tests.documents import STORES

TRANSFORM = [10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0]
GRID = {
    "zarr_conventions": [{"name": "spatial"}, {"name": "proj:"}, {"name": "license"}],
    "spatial:dimensions": ["y", "x"],
    "spatial:transform": TRANSFORM,
    "proj:code": "EPSG:32632",
    "title": "a scene",
    "nested": {"list": [1, None]},
}
LATITUDES = {"unit": "degrees_north", "values": {"regular": [44.5, -1.0]}}
FIELD = declaring(
    "cs",
    "uom",
    "ref",
    cs={"crs": [{"axes": {"lat": {"abbreviation": "Y", "coordinates": [LATITUDES]}}}]},
    uom={"ucum": {"unit": "K"}},
    quality={"ref": {"node": "/flags/quality"}},
    long_name="temperature",
    valid_range=[0.0, 400.0],
)
STORE = build(
    Group(
        {
            "scene": Group({"red": Array(np.ones((2, 3)), ("y", "x"), {"units": "1"})}, GRID),
            "fields": Group({"t": Array([280.0, 281.0], ("lat",), FIELD)}),
            "flags": Group({"quality": Array([1, 0], ("lat",))}),
            "undeclared": Group(
                {"t": Array([1.0], ("n",), {"cs": {"of": "another kind"}, "proj:code": "none"})}
            ),
        },
        {"crs": {"shared": {"axes": {}}}},
    )
)


def attributes(data: Any) -> dict[str, Any]:
    """Return the attributes of a Dataset, and those of its variables, by name."""
    return {"": data.attrs, **{str(name): it.attrs for name, it in data.variables.items()}}


def whole(group: str, **options: Any) -> xr.Dataset:
    dataset: xr.Dataset = opened(xr.open_dataset, memory_store(STORE), group=group, **options)
    return dataset


def test_by_default_all_stay() -> None:
    assert whole("scene").attrs == whole("scene", convention_attrs="keep").attrs == GRID
    assert whole("fields")["t"].attrs == {**FIELD, "units": "K"}


def test_dropped_is_what_coordinates_say() -> None:
    scene = whole("scene", convention_attrs="drop")
    assert scene.attrs == {
        "zarr_conventions": '[{"name": "license"}]',
        "title": "a scene",
        "nested": '{"list": [1, null]}',
    }
    assert scene["x"].values.tolist() == [500_005.0, 500_015.0, 500_025.0]
    assert scene["spatial_ref"].attrs["grid_mapping_name"] == "transverse_mercator"
    assert scene["red"].attrs == {"units": "1", "grid_mapping": "spatial_ref"}
    fields = whole("fields", convention_attrs="drop")
    assert fields["t"].attrs == {
        "long_name": "temperature",
        "valid_range": [0.0, 400.0],
        "units": "K",
    }
    assert set(fields.coords) == {"lat", "quality"}


def test_what_nobody_declares_stays() -> None:
    dataset = whole("undeclared", convention_attrs="drop")
    assert dataset["t"].attrs == {"cs": '{"of": "another kind"}', "proj:code": "none"}
    assert drop_conventions(dataset)["t"].attrs == dataset["t"].attrs
    assumed = drop_conventions(dataset, assume_conventions=["cs", "proj"])
    assert assumed["t"].attrs == {}


def test_a_plug_in_that_cannot_say_what_it_owns() -> None:
    class Broken(ConventionHandler):
        tier, name = "service", "broken"

        @classmethod
        def owned(cls, attributes: Any) -> Any:
            return {attributes["nothing"]}

        def interpret(self, array: Any) -> Any:
            return array.interpretation()

    register(Broken)
    attributes = {**declaring({"name": "broken"}, "proj"), "proj:code": "EPSG:4326", "broken:a": 1}
    store = memory_store(build(Group({"v": Array(np.ones((2, 2)), ("y", "x"), attributes)})))
    given = opened(xr.open_dataset, store)
    dropped, told = opened_with_warnings(xr.open_dataset, store, convention_attrs="drop")
    with pytest.warns(XGroupPluginWarning, match=r"'broken' \(.*\) failed: KeyError: 'nothing'"):
        assert drop_conventions(given)["v"].attrs == dropped["v"].attrs
    assert dropped["v"].attrs == {"broken:a": 1, "grid_mapping": "spatial_ref"}
    assert {type(it) for it in told if "failed" in str(it)} == {XGroupPluginWarning}


def test_a_plug_in_that_restates_its_attributes() -> None:
    class Height(ConventionHandler):
        tier, name = "service", "height"

        @classmethod
        def restated(cls, attributes: Any, dims: Any) -> Any:
            return {**attributes, "height:of": sorted(dims)}

        def interpret(self, array: Any) -> Any:
            return array.interpretation()

    register(Height)
    members = {
        "v": Array(np.ones(2), ("x",), {**declaring({"name": "height"}), "height:of": None}),
        "w": Array(np.ones(2), ("x",), {"height:of": None}),
    }
    dataset = opened(xr.open_dataset, memory_store(build(Group(members))))
    assert dataset["v"].attrs["height:of"] == ["v", "w"]
    assert dataset["w"].attrs["height:of"] is None


def test_what_a_group_above_declares_counts_for_prefixed_ones() -> None:
    below = Group({"v": Array(np.ones((2, 2)), ("y", "x"), {"cs": {}, "proj:epsg": 4326})})
    root = Group({"g": below}, {"zarr_conventions": [{"name": "proj"}, {"name": "cs"}]})
    store = memory_store(build(root))
    dataset = opened(xr.open_dataset, store, group="g", convention_attrs="drop")
    assert dataset["v"].attrs == {"cs": "{}", "grid_mapping": "spatial_ref"}
    tree = opened(xr.open_datatree, store)
    for dropped in (
        drop_conventions(tree),
        opened(xr.open_datatree, store, convention_attrs="drop"),
    ):
        assert dropped["g/v"].attrs == dataset["v"].attrs
        assert dropped.attrs == {}


def test_shared_objects_of_a_group_go_with_those_that_refer_to_them() -> None:
    tree = opened(xr.open_datatree, memory_store(STORE), convention_attrs="drop")
    assert tree.attrs == {}
    assert whole("", convention_attrs="drop").attrs == {"crs": '{"shared": {"axes": {}}}'}


def test_a_layout_of_levels_is_dropped_with_its_declaration() -> None:
    path = STORES / "spatial_test.zarr"
    tree = quietly(xr.open_datatree, path, engine="xgroup", convention_attrs="drop")
    assert not {"multiscales", "zarr_conventions"} & set(tree["pyramid"].attrs)
    assert "x" in tree["pyramid/r20m"].coords


@pytest.mark.parametrize("form", [list, dict])
def test_declarations_of_other_conventions_stay_in_their_form(form: type) -> None:
    ours, other = UUIDS["proj"], "11111111-1111-1111-1111-111111111111"
    items: Any = {ours: {"name": "proj"}, other: {"name": "other"}}
    if form is list:
        items = [{"uuid": uuid} for uuid in items]
    dataset = xr.Dataset(attrs={"zarr_conventions": items})
    (left,) = json.loads(drop_conventions(dataset).attrs["zarr_conventions"])
    assert left == (other if form is dict else {"uuid": other})


@pytest.mark.parametrize(
    "kind", ["Dataset", "DataArray", "DataTree"], ids=["Dataset", "DataArray", "DataTree"]
)
def test_what_is_given_is_left_as_it_is(kind: str) -> None:
    dataset = whole("fields")
    before = json.dumps(attributes(dataset))
    data: Any = {"Dataset": dataset, "DataArray": dataset["t"]}.get(kind)
    if data is None:
        data = xr.DataTree(dataset)
    dropped = drop_conventions(data)
    assert type(dropped) is type(data)
    array = dropped if kind == "DataArray" else dropped["t"]
    assert "cs" not in array.attrs
    assert array.attrs["long_name"] == "temperature"
    assert set(array.coords) == {"lat", "quality"}
    assert json.dumps(attributes(dataset)) == before
    xr.testing.assert_equal(array.drop_attrs(), dataset["t"].drop_attrs())


def test_afterwards_as_while_opening() -> None:
    for group in ("scene", "fields", "undeclared"):
        xr.testing.assert_identical(
            drop_conventions(whole(group)), whole(group, convention_attrs="drop")
        )


@pytest.mark.parametrize("assumed", [None, "cs"])
@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree])
def test_afterwards_as_while_opening_where_a_group_above_declares(
    assumed: str | None, function: Any
) -> None:
    values = Array(np.ones((2, 2)), ("y", "x"), {"cs": {"crs": []}, "proj:epsg": 4326})
    root = Group({"g": Group({"v": values})}, {"zarr_conventions": [{"name": "proj"}]})
    options = {"group": "g", "assume_conventions": assumed}
    store = memory_store(build(root))
    dropped = quietly(function, store, engine="xgroup", convention_attrs="drop", **options)
    assert dropped["v"].attrs.keys().isdisjoint({"proj:epsg", *(["cs"] if assumed else [])})
    kept = quietly(function, store, engine="xgroup", **options)
    for data in (kept, kept.isel(x=[1]), pickle.loads(pickle.dumps(kept))):
        assert drop_conventions(data)["v"].attrs == dropped["v"].attrs
    assert kept["v"].attrs["proj:epsg"] == 4326


@pytest.mark.parametrize("function", [xr.open_groups, xr.open_datatree])
def test_what_a_group_beside_declares_counts_for_nobody_else(function: Any) -> None:
    values = Array(np.ones((2, 2)), ("y", "x"), {"proj:epsg": 4326})
    declared = {"zarr_conventions": [{"name": "proj"}]}
    below = Group({"below": Group({"v": values})}, declared)
    store = memory_store(build(Group({"g": Group({"v": values}), "h": below})))
    dropped = quietly(function, store, engine="xgroup", convention_attrs="drop")
    kept = quietly(function, store, engine="xgroup")
    for path, attributes in (
        ("/g", {"proj:epsg": 4326}),
        ("/h/below", {"grid_mapping": "spatial_ref"}),
    ):
        assert dropped[path]["v"].attrs == attributes
        assert drop_conventions(kept[path])["v"].attrs == attributes


def test_what_is_left_declares_nothing_when_it_is_written_and_read() -> None:
    left = whole("scene", convention_attrs="drop").attrs
    group = Group({"v": Array([1.0], ("x",))}, left)
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(group)))
    assert told == []
    assert dataset.attrs == left


def test_an_array_by_itself_needs_to_be_told_what_its_group_declared() -> None:
    red = whole("scene")["red"].assign_attrs({"proj:code": "EPSG:32632"})
    assert "proj:code" in drop_conventions(red).attrs
    assert "proj:code" not in drop_conventions(red, assume_conventions="proj").attrs


def test_a_plug_in_owns_what_is_called_like_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tides(ConventionHandler):
        tier = "service"
        name = "tides"

    monkeypatch.setattr(registry, "_REGISTERED", [Tides])  # without what it gives
    attrs = {"zarr_conventions": [{"name": "tides"}], "tides": {}, "tides:m2": 1, "tide": 2}
    assert drop_conventions(xr.Dataset(attrs=attrs)).attrs == {"tide": 2}


def test_as_json_text_where_netcdf_cannot_hold_it() -> None:
    scene = whole("scene", convention_attrs="json")
    assert json.loads(scene.attrs["zarr_conventions"]) == GRID["zarr_conventions"]
    assert json.loads(scene.attrs["nested"]) == {"list": [1, None]}
    assert scene.attrs["spatial:transform"] == TRANSFORM
    assert scene.attrs["title"] == "a scene"
    field = whole("fields", convention_attrs="json")["t"]
    assert json.loads(field.attrs["cs"]) == FIELD["cs"]
    assert field.attrs["valid_range"] == [0.0, 400.0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ([], "[]"),
        ({}, "{}"),
        (["a", "b"], '["a", "b"]'),
        ([1, "a"], '[1, "a"]'),
        ([1, True], "[1, true]"),
        ([[1], [2]], "[[1], [2]]"),
        (2**64, "18446744073709551616"),
    ],
    ids=str,
)
def test_what_netcdf_cannot_hold(value: Any, text: str) -> None:
    root = Group({"v": Array([1.0], ("x",), {"a": value, "b": 1, "c": [0, 1.5], "d": ""})})
    dataset = opened(xr.open_dataset, memory_store(build(root)), convention_attrs="json")
    assert dataset["v"].attrs == {"a": text, "b": 1, "c": [0, 1.5], "d": ""}


@pytest.mark.parametrize("how", ["json", "drop"])
@pytest.mark.parametrize("name", ["_ARRAY_DIMENSIONS", "CLASS", "DIMENSION_LIST", "_NCProperties"])
def test_names_that_netcdf_keeps_for_itself(how: str, name: str) -> None:
    attributes = {name: ["x"], "_eopf_attrs": {"a": {"b": [None]}}}
    root = Group({"v": Array([1.0], ("x",), attributes)}, {name: "text"})
    dataset = opened(xr.open_dataset, memory_store(build(root)), convention_attrs=how)
    assert dataset["v"].attrs == {"_eopf_attrs": '{"a": {"b": [null]}}'}
    assert dataset.attrs == {}


@pytest.mark.parametrize("how", ["json", "drop"])
@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_truth_values_to_netcdf(how: str, engine: Any, tmp_path: Path) -> None:
    needed(engine)
    root = Group({"v": Array(np.array([True, False]), ("x",), {"dtype": "<b1", "a": 1})})
    dataset = opened(xr.open_dataset, memory_store(build(root)), convention_attrs=how)
    dataset.to_netcdf(tmp_path / "v.nc", engine=engine)
    with xr.open_dataset(tmp_path / "v.nc", engine=engine) as again:
        xr.testing.assert_identical(again, dataset)


def test_json_text_declares_nothing() -> None:
    attrs = {key: json.dumps(value) for key, value in FIELD.items()}
    root = Group({"t": Array([280.0, 281.0], ("lat",), attrs)})
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(root)))
    assert told == []
    assert dataset["t"].attrs == attrs
    assert not dataset.coords


@pytest.mark.parametrize("how", ["", "text", True, ["drop"]], ids=repr)
def test_values_of_the_option(how: Any) -> None:
    with pytest.raises(ValueError, match="convention_attrs must be 'keep', 'drop', 'json', got"):
        whole("scene", convention_attrs=how)


def test_what_attributes_cannot_be_dropped_from() -> None:
    with pytest.raises(TypeError, match="must be a Dataset, a DataArray or a DataTree, got dict"):
        drop_conventions({})  # type: ignore[type-var]


# netCDF.

ENGINES = ("scipy", "h5netcdf", "netcdf4")
STORED = {
    "cs_test": ["identified", "bounds", "parametric/ocean", "references", "scalars"],
    "geolocation_test": ["in_crs", "on_array/data"],
    "spatial_test": ["several_crs", "rotated", "pyramid/r20m"],
}


def needed(engine: str) -> None:
    pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)


# Older xarray warns where packed values have no _FillValue, whether or not one is missing.
@pytest.mark.filterwarnings("ignore:saving variable:xarray.SerializationWarning")
@pytest.mark.parametrize(
    ("way", "store"), some_pairs(product(ENGINES, ["drop", "json"]), STORED, 3)
)
def test_to_netcdf_works_directly(way: tuple[Any, str], store: str, tmp_path: Path) -> None:
    engine, how = way
    needed(engine)
    path = STORES / f"{store}.zarr"
    groups = quietly(xr.open_groups, path, engine="xgroup", convention_attrs=how)
    for group in STORED[store]:
        before = groups[f"/{group}"]
        file = tmp_path / f"{group.replace('/', '_')}.nc"
        before.to_netcdf(file, engine=engine)
        with xr.open_dataset(file, engine=engine) as again:
            assert set(again.coords) == set(before.coords)
            xr.testing.assert_equal(again, before)


@pytest.mark.parametrize(("engine", "how"), [("h5netcdf", "drop"), ("netcdf4", "json")])
def test_a_tree_to_netcdf(engine: Any, how: str, tmp_path: Path) -> None:
    needed(engine)
    path = STORES / "geolocation_test.zarr"
    before = quietly(xr.open_datatree, path, engine="xgroup", convention_attrs=how)
    before.to_netcdf(tmp_path / "tree.nc", engine=engine)
    with xr.open_datatree(tmp_path / "tree.nc", engine=engine) as again:
        xr.testing.assert_equal(again, before)


def test_with_all_attributes_xarray_itself_refuses(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    with pytest.raises(TypeError, match="Invalid value for attr"):
        whole("fields").to_netcdf(tmp_path / "f.nc", engine="scipy")
    drop_conventions(whole("fields")).to_netcdf(tmp_path / "f.nc", engine="scipy")
