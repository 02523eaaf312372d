"""Variables that xarray decodes, indexes and reads on opening, and variables that it cannot decode."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr
from xarray.indexes import PandasIndex

import zarr_xgroup
from zarr_xgroup import XGroupMetadataError, XGroupMetadataWarning, XGroupStoreError
from zarr_xgroup._compat import dataset_of
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    Array,
    Group,
    Json,
    Open,
    assert_same,
    build,
    compare,
    coordinate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    recorded,
    recording_store,
)
from zarr_xgroup.tests.tables import check, rows, store_of, text_of

TIME = {"units": "days since 2000-01-01"}
BAD_UNITS = {"units": "days since when", "long_name": "bad"}

#: Beside the array that cannot be decoded: one for each thing that xarray decodes.
SOUND: Mapping[str, Array | Group] = {
    "x": coordinate("x", [1.0, 2.0], units="m"),
    "time": Array(np.array([1, 2], "i4"), ("x",), {**TIME, "calendar": "noleap"}),
    "packed": Array(np.array([1, 2], "i2"), ("x",), {"scale_factor": 0.5}, missing=2),
    "lat": Array([1.0, 2.0], ("x",)),
    "v": Array([1.0, 2.0], ("x",), {"coordinates": "lat", "units": "K"}),
}


def store_with(members: Mapping[str, Any], **attributes: Any) -> Any:
    """Return a store of arrays that xarray can decode, and of others, or of what such have as attributes."""
    others = {k: it if isinstance(it, Array | Group) else ints(**it) for k, it in members.items()}
    return store_of(Group({**SOUND, **others}, {"title": "t", **attributes}))


def ints(**attributes: Any) -> Array:
    return Array(np.array([1, 2], "i4"), ("x",), attributes)


def of_axis(**axis: Any) -> Json:
    """Return attributes that declare an axis `x` in the way of `cs`."""
    return declaring("cs", cs={"crs": [{"axes": {"x": axis}}]})


TIMES = "opened with undecoded times: "
PACKED = "left undecoded, because xarray cannot decode it: "
ALL = {"decode_coords": "all"}
#: Attributes, what the open is told, and how the warning starts behind the path.
UNDECODED: dict[str, tuple[Any, Any, str]] = {
    "an epoch that is none": (BAD_UNITS, {}, f": {TIMES}"),
    "an epoch with a month 13": ({"units": "days since 2000-13-45"}, {}, f": {TIMES}"),
    "units that are unknown": ({"units": "fortnights since 2000-01-01"}, {}, f": {TIMES}"),
    "a calendar that is unknown": ({**TIME, "calendar": "martian"}, {}, f": {TIMES}"),
    "a calendar that is not a string": ({**TIME, "calendar": ["noleap"]}, {}, f": {PACKED}"),
    "two scale factors": ({"scale_factor": [1, 2]}, {}, f": {PACKED}"),
    "a text as scale factor": ({"scale_factor": "0.5"}, {}, f"#/attributes/scale_factor: {PACKED}'scale_factor' is not a number"),
    "an object as offset": ({"add_offset": {"a": 1}}, {}, f"#/attributes/add_offset: {PACKED}'add_offset' is not a number"),
    "both": ({"scale_factor": "", "add_offset": "x"}, {}, f"#/attributes/scale_factor: {PACKED}'scale_factor' is not a number; 'add_offset' is not a number"),
    "units that are not to blame": ({"scale_factor": "2", **BAD_UNITS}, {}, f"#/attributes/scale_factor: {PACKED}'scale_factor' is not a number"),
    "coordinates as a list": ({"coordinates": ["lat"], "units": "m"}, {}, "#/attributes/coordinates: opened without 'coordinates': not a string"),
    "coordinates as a number": ({"coordinates": 5}, {}, "#/attributes/coordinates: opened without 'coordinates': not a string"),
    "a grid mapping as a number": ({"grid_mapping": 5}, ALL, "#/attributes/grid_mapping: opened without 'grid_mapping': not a string"),
    "cell measures as a list": ({"cell_measures": ["area: a"]}, ALL, "#/attributes/cell_measures: opened without 'cell_measures': not a string"),
    "with options for other arrays": (BAD_UNITS, {"decode_times": {"time": False}, "mask_and_scale": {"packed": False}}, f": {TIMES}"),
    "in chunks": (BAD_UNITS, {"chunks": {}}, f": {TIMES}"),
}  # fmt: skip


@rows(UNDECODED, "attributes, options, told")
def test_variables_that_cannot_be_decoded_stay_encoded(
    attributes: Any, options: Any, told: str
) -> None:
    dataset, (warning,) = opened_with_warnings(
        xr.open_dataset, store_with({"bad": attributes}), **options
    )
    assert str(warning).startswith(f"/bad{told}")
    assert type(warning) is XGroupMetadataWarning
    assert type(warning.error) is XGroupMetadataError
    assert (dataset["bad"].values.tolist(), dataset["bad"].attrs) == ([1, 2], attributes)
    assert dataset["bad"].dtype == "i4"
    sound = opened(xr.open_dataset, store_with({}), **options)
    assert_same(dataset.drop_vars("bad"), sound)


def test_packing_that_is_not_applied_is_not_reported() -> None:
    store = store_with({"bad": {"scale_factor": "0.5"}})
    for options in ({"mask_and_scale": False}, {"decode_cf": False}):
        _dataset, told = opened_with_warnings(xr.open_dataset, store, **options)
        assert told == []


def test_a_dimension_coordinate_that_cannot_be_decoded_is_indexed() -> None:
    dataset, told = opened_with_warnings(xr.open_dataset, store_with({"x": BAD_UNITS}))
    assert len(told) == 1
    assert dataset.xindexes["x"].to_pandas_index().tolist() == [1, 2]


@pytest.mark.parametrize("function", [xr.open_groups, xr.open_datatree])
def test_each_variable_that_cannot_be_decoded_is_reported_in_its_group(function: Open) -> None:
    bad = {"a": ints(**BAD_UNITS), "b": ints(scale_factor=[1, 2]), "c": ints(coordinates=5)}
    store = store_with({"g": Group({**SOUND, **bad})})
    groups, told = opened_with_warnings(function, store)
    assert [str(it)[: len("/g/a: opened")] for it in told] == [
        "/g/a: opened",
        "/g/b: left u",
        "/g/c#/attrib",
    ]
    root, group = (
        it if isinstance(it, xr.Dataset) else it.to_dataset() for it in (groups["/"], groups["/g"])
    )
    assert_same(root, opened(xr.open_dataset, store_with({})))
    assert group["a"].values.tolist() == [1, 2]
    assert group["time"].dtype == object


#: Attributes of an array and of its group, and options, that xarray puts up with.
KNOWN: dict[str, tuple[Any, Any, Any]] = {
    **{f"scale factor {it}": ({"scale_factor": it}, {}, {}) for it in ([2.0], None, True, 2)},
    **{f"units {it}": ({"units": it}, {}, {}) for it in (5, ["m"], None)},
    "a calendar without units": ({"calendar": 5}, {}, {}),
    "coordinates that are not there": ({"coordinates": "nowhere"}, {}, {}),
    **{f"coordinates {it} of the group": ({}, {"coordinates": it}, {}) for it in (["lat"], 5, "lat")},
    **{f"{it}": (BAD_UNITS, {}, it) for it in (
        {"decode_times": False}, {"decode_times": {"bad": False}}, {"decode_cf": False}, {"drop_variables": "bad"})},
}  # fmt: skip


@rows(KNOWN, "attributes, of_group, options")
def test_attributes_that_xarray_tolerates_open_as_in_engine_zarr(
    attributes: Any, of_group: Any, options: Any
) -> None:
    compare(xr.open_dataset, store_with({"bad": attributes}, **of_group), **options)


def test_characters_are_joined_to_strings_as_by_engine_zarr() -> None:
    letters = np.array([[b"a", b"b"], [b"c", b"d"]], "S1")
    alone = Group({"v": Array(letters, ("x", "n"))})
    beside = Group({"v": Array(letters, ("x", "n")), "w": Array([1.0, 2.0], ("n",))})
    along = Group({"v": Array(letters, ("x", "n")), "n": coordinate("n", [1.0, 2.0])})
    for nodes, dims in ((alone, ("x",)), (beside, ("x", "n")), (along, ("x", "n"))):
        assert compare(xr.open_dataset, store_of(nodes, 2))["v"].dims == dims


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_invalid_scale_factors_cause_no_reads_on_opening(zarr_format: Any) -> None:
    shapes = {"s": (), "x": (2,), "yx": (3, 2), "ex": (0, 2)}
    arrays = {
        k: Array(np.ones(it, "i2"), tuple(k)[-len(it) or 9 :], {"scale_factor": "2"})
        for k, it in shapes.items()
    }
    store = recording_store(build(Group({f"v_{k}": it for k, it in arrays.items()}), zarr_format))
    expected = """
        v_ex (e x) | scale_factor=2
        v_s () | scale_factor=2
        v_x (x) | scale_factor=2
        v_yx (y x) | scale_factor=2
        ! Metadata: /v_ex, /v_s, /v_x, /v_yx: /v_ex#/attributes/scale_factor and 3 more: left undecoded, because xarray cannot decode it: 'scale_factor' is not a number
    """  # fmt: skip
    dataset = check(store, expected)
    assert not store.chunk_gets
    assert {it.dtype.name for it in dataset.load().values()} == {"int16"}


def external(node: str, **more: Any) -> Json:
    return {"coordinates": [{"values": {"external": {"node": node}}, **more}]}


@pytest.mark.parametrize("attributes", [{"scale_factor": 2}, {"add_offset": 1}, {"units": "days"}])
def test_strings_declared_as_numbers_stay_strings(attributes: Any) -> None:
    label = {"values": {"explicit": ["p", "q"]}, "name": "label"}
    axis = of_axis(coordinates=[{"values": {"regular": [0, 1]}}, label], attributes=attributes)
    store = store_of(Group({"a": Array([1.0, 2.0], ("x",), axis)}))
    dataset, (told,) = opened_with_warnings(xr.open_dataset, store, decode_timedelta=True)
    assert dataset["label"].values.tolist() == ["p", "q"]
    assert dataset["x"].dims == ("x",)
    assert re.match(r"/a: its coordinate 'label': .*undecoded", str(told))


def test_coordinates_with_a_string_as_scale_factor_stay_packed() -> None:
    lat = Array(np.ones(2, "i2"), ("x",), {"scale_factor": "0.1"})
    v = Group({"v": Array(np.ones(2), ("x",), declaring("CF", coordinates="/b/lat"))})
    undecoded = "left undecoded, because xarray cannot decode it: 'scale_factor' is not a number"
    attached = "lat (x) int16 1 1 | scale_factor=0.1\nv (x) @ lat"
    expected = f"""
        /:\n/a:\n{attached}\n/b:\nlat (x) | scale_factor=0.1\n/c:\n{attached}
        ! Metadata: /a/v, /c/v: its coordinate 'lat': {undecoded}
        ! Metadata: /b/lat#/attributes/scale_factor: {undecoded}
    """
    check(Group({"a": v, "b": Group({"lat": lat}), "c": v}), expected, function=xr.open_datatree)


# Groups that are alike.


@pytest.mark.parametrize("dtype", ["i2", "f4", "f8"])
def test_numpy_warns_about_overflowing_coordinates(
    dtype: str,
) -> None:
    own = {"x": coordinate("x", np.array([2, 3], dtype), scale_factor=1.7e308)}
    declared = {"coordinates": [{"values": {"explicit": [2, 3]}}]}
    axis = of_axis(**declared, attributes={"scale_factor": 1.7e308})
    attached = {"v": Array([1.0, 2.0], ("x",), axis)}
    for members in (own, attached):
        store: Any = store_of(Group({"a": Group(members), "b": Group(members)}))
        for engine in ("xgroup", "zarr")[: 1 + (members is own)]:
            dataset, told = recorded(
                xr.open_dataset, store, engine=engine, group="b", consolidated=False
            )
            texts = {str(it) for it in told if type(it) is RuntimeWarning}
            assert texts == {"overflow encountered in multiply"}
            assert np.isinf(dataset["x"]).all()


#: Units of a coordinate, and the coordinate with them: own and attached times agree.
UNITS: dict[str, tuple[Any, str]] = {
    "with tabs": ("days\tsince\t2000-01-01", "x (x) 2000-01-02 2000-01-03 | axis=T standard_name=time"),
    "a list": (["days since 2000-01-01"], 'x (x) 1.0 2.0 | axis=T units=["days since 2000-01-01"]'),
    "no epoch": ("days since banana", "x (x) 1.0 2.0 | axis=T units=days since banana"),
    "in other cases": ("Fortnights Since 2000-01-01", "x (x) 1.0 2.0 | axis=T units=Fortnights Since 2000-01-01"),
    "not decoded": ("months since 2000-01-01", "x (x) 1.0 2.0 | axis=T standard_name=time units=months since 2000-01-01"),
}  # fmt: skip


@pytest.mark.parametrize("is_own", [True, False], ids=["own", "attached"])
@rows(UNITS, "units, expected")
def test_units_that_are_times_and_others(units: Any, expected: str, *, is_own: bool) -> None:
    x = Array([1.0, 2.0], ("x",), {"units": units})
    axis = {"abbreviation": "T", "coordinates": [{"values": {"external": {"node": "/far/x"}}}]}
    data = Group({"v": ints(**of_axis(**axis)), **({"x": x} if is_own else {})})
    store = store_of(Group({"far": Group({"x": x}), "g": data}))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="g")
    if "\t" in units and "undecoded" in str(told):
        pytest.skip("this xarray does not decode units with tabs")
    assert text_of(dataset, ["x"]) == [expected]


def test_check_reports_units_of_time_that_opening_takes_for_times() -> None:
    def rules(units: str) -> list[str]:
        x = Array([1.0, 2.0], ("x",), {"units": units})
        store = store_of(Group({"x": x}, declaring("CF")))
        return [mistake.rule.name for mistake in zarr_xgroup.check(store).mistakes]

    assert rules("fortnights since 2000-01-01") == ["times/unit"]
    assert rules("Fortnights Since 2000-01-01") == []
    assert rules("days\tsince\tbanana") == ["times/epoch"]


def test_a_list_of_units_causes_no_reads_on_opening() -> None:
    contents = build(Group({"v": ints(**of_axis()), "t": ints(units=[TIME["units"]])}))
    contents = {key: b"" if key.startswith("t/c/") else value for key, value in contents.items()}
    assert opened(xr.open_dataset, memory_store(contents))["t"].dtype == "int32"


@pytest.mark.parametrize("dropped", [[], ["x"]], ids=str)
def test_bounds_of_times_that_cannot_be_decoded_stay_numbers(dropped: Any) -> None:
    times = Array([1.0, 2.0], ("x",), {**BAD_UNITS, "bounds": "b"})
    bounds = Array([[1.0, 2.0], [2.0, 3.0]], ("x", "n"))
    store = store_of(Group({"v": ints(**of_axis()), "x": times, "b": bounds}))
    dataset, told = opened_with_warnings(xr.open_dataset, store, drop_variables=dropped)
    assert dataset["b"].dtype == "float64"
    assert dataset["b"].attrs == {}
    assert len(told) == (0 if dropped else 1)


@pytest.mark.parametrize("own", [{}, {"units": "hours since 2000-01-01"}], ids=["bare", "units"])
@pytest.mark.parametrize("options", [{}, {"decode_times": False}, {"decode_cf": False}], ids=str)
def test_boundaries_of_times_that_are_dropped(own: Any, options: Any) -> None:
    """xarray decodes them by the units and the calendar of the times, which it drops afterwards."""

    def group(calendar: str) -> Group:
        times = {**TIME, "calendar": calendar, "bounds": "time_bounds"}
        bounds = Array([[0.0, 59.0], [60.0, 61.0]], ("time", "nv"), own)
        return Group({"time": Array([0.5, 60.5], ("time",), times), "time_bounds": bounds})

    store: Any = store_of(Group({it: group(it) for it in ("noleap", "360_day")}))
    compare(xr.open_groups, store, drop_variables="time", **options)
    compare(xr.open_dataset, store, group="noleap", drop_variables=["time"], **options)


def test_warnings_of_xarray_name_the_variable() -> None:
    field = Array(
        [1.0, 2.0], ("x",), of_axis(**external("/heights", boundaries={"regular": [-0.5, 0.5]}))
    )
    heights = Array([1.5, 2.5], ("x",), {"_Unsigned": "true"})
    store: Any = store_of(Group({"heights": heights, "g": Group({"v": field})}))
    with pytest.warns(xr.SerializationWarning) as given:
        xr.open_dataset(store, engine="xgroup", group="g")
    named = {str(it.message).split("'")[1] for it in given if "_Unsigned" in str(it.message)}
    assert named <= {"heights", "x"}


# Datasets, indexes, and what is read for them.


@pytest.mark.parametrize("with_indexes", [True, False])
def test_a_dataset_equals_that_of_its_constructor(*, with_indexes: bool) -> None:
    """Its order included: without it xarray shows, and writes, variables otherwise."""

    def parts() -> tuple[Any, ...]:
        x = xr.Variable("x", [1.0, 2.0], {"units": "m"}, {"dtype": "f4"})
        indexes = {}
        if with_indexes:
            indexes["x"] = PandasIndex.from_variables({"x": x}, options={})
            x = indexes["x"].create_variables({"x": x})["x"]
        grid = xr.Variable(("x", "y"), [[1, 2, 3], [4, 5, 6]])
        data = {None: grid, "y": grid.copy(), "v": xr.Variable("x", [3, 4], {"a": 1})}
        coordinates = {"lat": xr.Variable("z", [1, 2, 3, 4]), "x": x, "crs": xr.Variable((), 0)}
        return data, coordinates, indexes, {"title": "t"}

    made = dataset_of(*parts())
    data, coordinates, indexes, attributes = parts()
    expected = xr.Dataset(data, xr.Coordinates(coordinates, indexes), attributes)
    assert_same(made, expected)
    for mine, other in ((made, expected), (made["v"], expected["v"]), (made.copy(), expected)):
        assert repr(mine) == repr(other)
        assert list(mine.coords) == list(other.coords)
        assert list(mine.sizes.items()) == list(other.sizes.items())
    assert list(made.variables) == list(expected.variables)
    assert dataset_of({}, {}, {}, {}).identical(xr.Dataset())


INDEXED: dict[str, tuple[Any, Any]] = {
    **{it: (np.array([3, 1, 2], it), 3) for it in ("i1", "u2", "i4", "i8", "u4", "u8", "f4")},
    **{it: (np.array([1, 2], it), 2) for it in (">i4", ">f8")},
    "f8": (np.array([0.5, np.nan, -1e300]), 3),
    "empty": (np.array([], "f8"), 3),
    "bool": (np.array([True, False]), 3),
    "text": (np.array(["a", "bc"]), 3),
}


@rows(INDEXED, "values, zarr_format")
def test_an_index_is_the_one_of_engine_zarr(values: Any, zarr_format: Any) -> None:
    store: Any = store_of(Group({"x": coordinate("x", values)}), zarr_format)
    ours, theirs = opened(xr.open_dataset, store), oracle(xr.open_dataset, store)
    xr.testing.assert_identical(ours, theirs)
    index, other = ours.xindexes["x"], theirs.xindexes["x"]
    assert type(index.index) is type(other.index)
    assert (index.index.dtype, index.index.name) == (other.index.dtype, other.index.name)
    assert (index.coord_dtype, index.dim) == (other.coord_dtype, other.dim)
    assert ours["x"].dtype == theirs["x"].dtype
    assert type(ours["x"].variable._data) is type(theirs["x"].variable._data)


@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree])
def test_a_scalar_time_of_a_different_group_is_read_once(function: Open) -> None:
    days = {"unit": "days", "epoch": "2000-01-01"}
    time = external("/t", time=days, boundaries={"external": {"node": "/b"}})
    field = Array(np.ones(2), ("x",), declaring("cs", cs={"crs": [{"axes": {"time": time}}]}))
    times = {"t": Array([7.0], ("time",)), "b": Array([[6.0, 8.0]], ("time", "nv"))}
    store = recording_store(build(Group({**times, "g": Group({"a": field})})))
    expected = """
        time () 2000-01-08 | bounds=time_bounds standard_name=time
        time_bounds (bounds) 2000-01-07 2000-01-09
    """
    group = opened(function, store, group="g")
    assert store.chunk_gets == {"t/c/0": 1, "b/c/0/0": 1}
    assert group["time"].values == np.datetime64("2000-01-08")
    assert store.chunk_gets["t/c/0"] == 1
    check(store, expected, only="coords", group="g")


def test_values_that_are_needed_and_cannot_be_read_raise_an_error() -> None:
    field = Array(np.ones(2), ("x",), of_axis(**external("/x")))
    nodes = Group({"x": ints(), "g": Group({"a": field, "b": field})})
    store = recording_store(build(nodes))
    store.failing["x/c/0"] = OSError("broken")
    with pytest.raises(XGroupStoreError) as raised:
        opened(xr.open_dataset, store, group="g")
    text = "recording store: /x cannot be read: OSError: broken. To open the rest, use drop_variables=['x']"
    assert str(raised.value).startswith(text)
    assert set(opened(xr.open_dataset, store, group="g", drop_variables=["x"])) == {"a", "b"}
    if HAS_INDEX_OPTION:
        dataset = opened(xr.open_dataset, store, group="g", create_default_indexes=False)
        assert set(dataset.variables) == {"a", "b", "x"}


def test_computed_coordinates_of_equal_grids_have_the_chunks_of_their_own_group() -> None:
    rotated = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0.5, 0, 0.5, -1, 0]}
    attributes = declaring("spatial", **rotated)
    members = {
        path: Group({"v": Array(np.ones((4, 4)), ("y", "x"), attributes, chunks=chunks)})
        for path, chunks in {"a": (2, 2), "b": (4, 4)}.items()
    }
    groups = opened(xr.open_groups, store_of(Group(members)))
    found = {path: dict(groups[path]["xc"].encoding["preferred_chunks"]) for path in ("/a", "/b")}
    assert found == {"/a": {"y": 2, "x": 2}, "/b": {"y": 4, "x": 4}}
