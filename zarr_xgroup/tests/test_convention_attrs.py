"""Attributes of conventions in opened Datasets, and in netCDF files, which cannot store objects."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import ConventionHandler, XGroupPluginWarning, drop_conventions
from zarr_xgroup.conventions import register
from zarr_xgroup.tests.builders import (
    UUIDS,
    Array,
    Group,
    declaring,
    opened,
    quietly,
    recorded,
    stored,
)
from zarr_xgroup.tests.tables import rows, store_of

STORES = Path(__file__).parent / "stores"

GRID = {
    "zarr_conventions": [{"name": "spatial"}, {"name": "proj:"}, {"name": "license"}],
    "spatial:dimensions": ["y", "x"],
    "spatial:transform": [10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0],
    "proj:code": "EPSG:32632",
    "title": "a scene",
    "nested": {"list": [1, None]},
}
AXES = {"lat": {"coordinates": [{"unit": "degrees_north", "values": {"regular": [44.5, -1.0]}}]}}
FIELD = declaring(
    "cs",
    "uom",
    "ref",
    cs={"crs": [{"axes": AXES}]},
    uom={"ucum": {"unit": "K"}},
    quality={"ref": {"node": "/flags/quality"}},
    long_name="temperature",
    valid_range=[0.0, 400.0],
)
FIELDS = store_of(
    Group(
        {
            "scene": Group({"red": stored(np.ones((2, 3)), "y x")}, GRID),
            "fields": Group({"t": stored([280.0, 281.0], "lat", **FIELD)}),
            "flags": Group({"quality": stored([1, 0], "lat")}),
        }
    )
)


def whole(group: str, **options: Any) -> xr.Dataset:
    dataset: xr.Dataset = opened(xr.open_dataset, FIELDS, group=group, **options)
    return dataset


def in_store(of_array: Any, of_group: Any, above: Any = None) -> Any:
    """Return a store of an array `v` in the root, or in its group `g`."""
    group = Group({"v": stored(np.ones((2, 2)), "y x", **of_array)}, of_group)
    return store_of(group if above is None else Group({"g": group}, above))


# Dropped.

PROJ = {"zarr_conventions": [{"name": "proj"}]}
OTHER = "11111111-1111-1111-1111-111111111111"
SYSTEMS: Any = {"shared": {"axes": {}}}
#: Attributes of an array and of its group, and what is left of these.
DROPPED: dict[str, tuple[Any, Any, Any, Any]] = {
    "of an array": (FIELD, {}, {"long_name": "temperature", "valid_range": [0.0, 400.0], "units": "K"}, {}),
    "of a group":
        ({"units": "1"}, GRID, {"units": "1", "grid_mapping": "spatial_ref"},
         {"zarr_conventions": '[{"name": "license"}]', "title": "a scene", "nested": '{"list": [1, null]}'}),
    "what nobody declares stays":
        ({"cs": {"of": "another kind"}, "proj:code": "none"}, {"crs": SYSTEMS}, {"cs": '{"of": "another kind"}', "proj:code": "none"},
         {"crs": '{"shared": {"axes": {}}}'}),
    "shared objects of a group go with those that refer to them": (declaring("cs"), {"crs": SYSTEMS}, {}, {}),
    "a layout of levels is dropped with its declaration": ({}, declaring("multiscales", multiscales={"layout": []}), {}, {}),
    "lists of CF are joined by blanks, and others become JSON":
        ({"flag_meanings": ["A", "no data", "B"], "flag_values": [0, 1, 2], "cell_methods": ["time: mean", "x: sum"], "history": ["a", "b"]},
         {"Conventions": ["CF-1.8", "ACDD-1.3"], "external_variables": ["a", " "], "keywords": ["sea ice"]},
         {"flag_meanings": "A no_data B", "flag_values": [0, 1, 2], "cell_methods": "time: mean x: sum", "history": '["a", "b"]'},
         {"Conventions": "CF-1.8 ACDD-1.3", "external_variables": '["a", " "]', "keywords": '["sea ice"]'}),
    "other declarations in an object stay":
        ({}, {"zarr_conventions": {UUIDS["proj"]: {}, OTHER: {}}}, {}, {"zarr_conventions": json.dumps({OTHER: {}})}),
    "other declarations in a list stay":
        ({}, {"zarr_conventions": [{"uuid": UUIDS["proj"]}, {"uuid": OTHER}]}, {}, {"zarr_conventions": json.dumps([{"uuid": OTHER}])}),
}  # fmt: skip


@rows(DROPPED, "of_array, of_group, array_left, group_left")
def test_attributes_of_conventions_are_dropped_by_the_option_and_afterwards(
    of_array: Any, of_group: Any, array_left: Any, group_left: Any
) -> None:
    store = in_store(of_array, of_group)
    dropped = quietly(xr.open_dataset, store, engine="xgroup", convention_attrs="drop")
    kept = quietly(xr.open_dataset, store, engine="xgroup")
    for dataset in (dropped, drop_conventions(kept)):
        assert (dataset["v"].attrs, dataset.attrs) == (array_left, group_left)
    assert kept.attrs == of_group
    assert of_array.items() <= kept["v"].attrs.items()


@pytest.mark.parametrize("kind", ["Dataset", "DataArray", "DataTree"])
def test_the_input_is_unchanged(kind: str) -> None:
    dataset = whole("fields")
    data: Any = {"Dataset": dataset, "DataArray": dataset["t"]}.get(kind, xr.DataTree(dataset))
    dropped = drop_conventions(data)
    assert type(dropped) is type(data)
    array = dropped if kind == "DataArray" else dropped["t"]
    assert array.attrs.keys() == {"long_name", "valid_range", "units"}
    xr.testing.assert_equal(array.drop_attrs(), dataset["t"].drop_attrs())
    xr.testing.assert_identical(dataset, whole("fields"))


@pytest.mark.parametrize(
    ("assumed", "function"), [(None, xr.open_datatree), ("cs", xr.open_dataset)]
)
def test_declarations_of_ancestors_apply_to_prefixed_attributes(
    assumed: str | None, function: Any
) -> None:
    store = in_store({"cs": {"crs": []}, "proj:epsg": 4326}, {}, declaring("proj", "uom"))
    options = {"engine": "xgroup", "group": "g", "assume_conventions": assumed}
    left = {"grid_mapping": "spatial_ref"} | ({} if assumed else {"cs": '{"crs": []}'})
    kept = quietly(function, store, **options)
    dropped = quietly(function, store, convention_attrs="drop", **options)
    assert dropped["v"].attrs == left
    for data in (kept, kept.isel(x=[1]), pickle.loads(pickle.dumps(kept))):
        assert drop_conventions(data)["v"].attrs == left
    assert kept["v"].attrs["proj:epsg"] == 4326


def test_declarations_of_siblings_are_ignored() -> None:
    values = stored(np.ones((2, 2)), "y x", **{"proj:epsg": 4326})
    below = Group({"below": Group({"v": values}), "x": stored([1, 2], "x")}, PROJ)
    store = store_of(Group({"g": Group({"v": values}), "h": below}))
    dropped = quietly(xr.open_datatree, store, engine="xgroup", convention_attrs="drop")
    kept = quietly(xr.open_datatree, store, engine="xgroup")
    tree: Any
    for tree in (dropped, drop_conventions(kept)):
        assert tree["g/v"].attrs == {"proj:epsg": 4326}
        assert tree["h/below/v"].attrs == {"grid_mapping": "spatial_ref"}
        assert tree["h"].attrs == {}
        assert "x" not in tree["h/below"].to_dataset(inherit=False)


def test_a_data_array_needs_the_conventions_of_its_group_as_an_option() -> None:
    red = whole("scene")["red"].assign_attrs({"proj:code": "EPSG:32632"})
    assert "proj:code" in drop_conventions(red).attrs
    assert "proj:code" not in drop_conventions(red, assume_conventions="proj").attrs


def test_remaining_attributes_declare_nothing_after_writing() -> None:
    left = [whole(group, convention_attrs="json") for group in ("scene", "fields")]
    attrs = {key: value for key, value in left[1]["t"].attrs.items() if key != "units"}
    again = opened(xr.open_dataset, in_store(attrs, left[0].attrs))
    assert (again["v"].attrs, again.attrs) == (attrs, left[0].attrs)
    assert not again.coords


def test_invalid_options_are_errors() -> None:
    with pytest.raises(TypeError, match="must be a Dataset, a DataArray or a DataTree, got dict"):
        drop_conventions({})  # type: ignore[type-var]
    with pytest.raises(
        ValueError, match="convention_attrs must be one of 'keep', 'drop', 'json', got"
    ):
        whole("scene", convention_attrs="text")


# Plug-ins.


class Tides(ConventionHandler):
    """A convention of a third party that gives nothing."""

    tier, name = "service", "tides"

    def interpret(self, array: Any) -> Any:
        return array.interpretation()


TIDES = {"zarr_conventions": [{"name": "tides"}], "tides": {}, "tides:m2": 1, "tide": 2}


def test_a_plug_in_owns_attributes_with_its_name() -> None:
    register(Tides)
    assert drop_conventions(xr.Dataset(attrs=TIDES)).attrs == {"tide": 2}


def test_a_plug_in_that_cannot_name_its_attributes_is_reported() -> None:
    class Broken(Tides):
        @classmethod
        def owned(cls, attributes: Any) -> Any:
            return {attributes["nothing"]}

    register(Broken)
    attrs = {**declaring({"name": "tides"}, "proj"), "proj:code": "EPSG:4326", "tides:m2": 1}
    store, left = in_store(attrs, {}), {"tides:m2": 1, "grid_mapping": "spatial_ref"}
    given = opened(xr.open_dataset, store)
    with pytest.warns(XGroupPluginWarning, match=r"'tides' \(.*\) failed: KeyError: 'nothing'"):
        assert drop_conventions(given)["v"].attrs == left
    options = {"engine": "xgroup", "convention_attrs": "drop"}
    dataset, told = recorded(xr.open_dataset, store, **options)
    assert dataset["v"].attrs == left
    assert XGroupPluginWarning in map(type, told)


# As netCDF can hold them.

VALUES: dict[str, tuple[Any, Any]] = {
    "null": (None, "null"),
    "an empty list": ([], "[]"),
    "a number and a text": ([1, "a"], '[1, "a"]'),
    "a number and true": ([1, True], "[1, true]"),
    "nested lists": ([[1], [2]], "[[1], [2]]"),
    "a great integer": (2**63, "9223372036854775808"),
    "the greatest that it holds": (2**63 - 1, 2**63 - 1),
    "numbers": ([0, 1.5], [0, 1.5]),
}


@rows(VALUES, "value, expected")
def test_values_that_netcdf_cannot_store_become_json(value: Any, expected: Any) -> None:
    for how in ("json", "drop"):
        dataset = opened(
            xr.open_dataset, in_store({"a": value}, {"b": value}), convention_attrs=how
        )
        assert (dataset["v"].attrs, dataset.attrs) == ({"a": expected}, {"b": expected})


def test_names_reserved_by_netcdf_are_omitted() -> None:
    store = in_store({"CLASS": ["x"], "a": 1}, {"_NCProperties": "text"})
    dataset = opened(xr.open_dataset, store, convention_attrs="json")
    assert (dataset["v"].attrs, dataset.attrs) == ({"a": 1}, {})


# Written.


# Older xarray warns where packed values have no _FillValue, whether or not one is missing.
@pytest.mark.filterwarnings("ignore:saving variable:xarray.SerializationWarning")
@pytest.mark.parametrize(
    ("engine", "how", "store", "group"),
    [
        ("scipy", "drop", "cs_test", "parametric/ocean"),
        ("h5netcdf", "json", "cs_test", "references"),
        ("netcdf4", "drop", "geolocation_test", "in_crs"),
    ],
)
def test_to_netcdf_works_directly(
    engine: Any, how: str, store: str, group: str, tmp_path: Path
) -> None:
    pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)
    options: Any = {"engine": "xgroup", "group": group, "convention_attrs": how}
    before = quietly(xr.open_dataset, STORES / f"{store}.zarr", **options)
    before.to_netcdf(tmp_path / "of.nc", engine=engine)
    with xr.open_dataset(tmp_path / "of.nc", engine=engine) as again:
        assert set(again.coords) == set(before.coords)
        xr.testing.assert_equal(again, before)


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_a_tree_with_truth_values_to_netcdf(engine: Any, tmp_path: Path) -> None:
    pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)
    truth = Array(np.array([True, False]), ("x",), {"dtype": "<b1", "a": 1})
    store = store_of(Group({"g": Group({"v": truth}, GRID)}))
    before = quietly(xr.open_datatree, store, engine="xgroup", convention_attrs="json")
    before.to_netcdf(tmp_path / "tree.nc", engine=engine)
    with xr.open_datatree(tmp_path / "tree.nc", engine=engine) as again:
        xr.testing.assert_identical(again["g"].to_dataset(), before["g"].to_dataset())
