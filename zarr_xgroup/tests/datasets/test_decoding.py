"""What xarray cannot decode: left undecoded alone, told of, and nothing else touched."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupMetadataError, XGroupMetadataWarning
from zarr_xgroup._compat import dataset_of
from zarr_xgroup.datasets.decode import why_not_times
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    Open,
    ZarrFormat,
    assert_same,
    build,
    compare,
    coordinate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    recording_store,
)

BAD_UNITS = {"units": "days since when", "long_name": "bad"}
TIME = {"units": "days since 2000-01-01"}

#: Beside the array that cannot be decoded: one for each thing that xarray decodes.
SOUND: Mapping[str, Array | Group] = {
    "x": coordinate("x", [1.0, 2.0], units="m"),
    "time": Array(np.array([1, 2], "i4"), ("x",), {**TIME, "calendar": "noleap"}),
    "packed": Array(np.array([1, 2], "i2"), ("x",), {"scale_factor": 0.5}, missing=2),
    "lat": Array([1.0, 2.0], ("x",)),
    "v": Array([1.0, 2.0], ("x",), {"coordinates": "lat", "units": "K"}),
}


def store_with(**members: Array | Group) -> Any:
    return memory_store(build(Group({**SOUND, **members}, {"title": "t"})))


def ints(attrs: Mapping[str, Any]) -> Array:
    return Array(np.array([1, 2], "i4"), ("x",), attrs)


def reason(store: Any, name: str, **options: Any) -> str:
    """Return why xarray cannot decode a variable, as it says itself."""
    raw = oracle(xr.open_dataset, store, decode_cf=False)
    try:
        xr.conventions.decode_cf_variables({name: raw.variables[name]}, {}, **options)
    except Exception as error:  # noqa: BLE001 - any
        return f"{type(error).__name__}: {error}"
    pytest.fail("xarray can decode it")


def check(
    attrs: Mapping[str, Any], text: str, undecoded: Mapping[str, Any], **options: Any
) -> xr.Dataset:
    """Assert what is opened where the array `bad` has attributes that cannot be decoded.

    Parameters
    ----------
    attrs : mapping
        Its attributes.
    text : str
        The warning, but for the reason.
    undecoded : mapping
        Options by which engine zarr opens the store, to the same Dataset.
    options
        Those of the open.
    """
    store = store_with(bad=ints(attrs))
    ours: xr.Dataset
    ours, told = opened_with_warnings(xr.open_dataset, store, **options)
    own = reason(store, "bad", **options)
    expected = f"/bad: {text}: {why_not_times(attrs) or own}"
    assert [str(warning) for warning in told] == [expected]
    assert type(told[0]) is XGroupMetadataWarning
    assert type(told[0].error) is XGroupMetadataError
    assert str(told[0].error) in own
    assert_same(ours, oracle(xr.open_dataset, store, **{**options, **undecoded}))
    rest = opened(xr.open_dataset, store_with(), **options)
    assert_same(ours.drop_vars("bad"), rest)
    return ours


UNDECODED_TIMES = {"decode_times": {"bad": False}, "decode_timedelta": {"bad": False}}
TIMES_TEXT = "opened with its times undecoded"


@pytest.mark.parametrize(
    "attrs",
    [
        BAD_UNITS,
        {"units": "days since 2000-13-45"},
        {"units": "fortnights since 2000-01-01"},
        {**TIME, "calendar": "martian"},
    ],
    ids=str,
)
def test_times_that_cannot_be_decoded(attrs: dict[str, Any]) -> None:
    ours = check(attrs, TIMES_TEXT, UNDECODED_TIMES)
    assert ours["bad"].values.tolist() == [1, 2]
    assert ours["bad"].attrs == attrs
    assert ours["time"].dtype == object
    assert np.isnan(ours["packed"].values).tolist() == [False, True]


@pytest.mark.parametrize("key", ["scale_factor", "add_offset"])
@pytest.mark.parametrize("value", ["two", "", "0.5", {"a": 1}], ids=repr)
@pytest.mark.parametrize("shape", [(2,), (3, 2), (), (0, 2)], ids=str)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_is_packed_by_no_number_can_be_read_undecoded(
    key: str, value: Any, shape: tuple[int, ...], zarr_format: ZarrFormat
) -> None:
    attrs = {key: value, "long_name": "packed"}
    bad = Array(np.ones(shape, "i2"), ("y", "x")[2 - len(shape) :], attrs)
    root = Group({**SOUND, "bad": bad}, {"title": "t"})
    store = recording_store(build(root, zarr_format))
    ours, (told,) = opened_with_warnings(xr.open_dataset, store)
    text = f"/bad#/attributes/{key}: left undecoded, xarray cannot decode it: {key!r} is no number"
    assert str(told) == text
    assert type(told) is XGroupMetadataWarning
    assert not [key for key in store.chunk_gets if key.startswith("bad/")]
    assert ours["bad"].dtype == np.dtype("i2")
    np.testing.assert_array_equal(ours["bad"].values, bad.data)
    assert ours["bad"].attrs == attrs
    assert_same(ours.drop_vars("bad"), opened(xr.open_dataset, store_with()), encoding=False)


def test_what_is_packed_by_no_number_above_and_below_a_referring_array() -> None:
    packed = Array(np.ones((2, 2), "i2"), ("y", "x"), {"scale_factor": "0.1"})
    v = Array(np.ones((2, 2)), ("y", "x"), declaring("CF", coordinates="/a/lat"))
    root = Group({"a": Group({"lat": packed}), "b": Group({"v": v}), "c": Group({"v": v})})
    tree, told = opened_with_warnings(xr.open_datatree, memory_store(build(root)))
    undecoded = "left undecoded, xarray cannot decode it: 'scale_factor' is no number"
    assert [str(warning) for warning in told] == [
        f"/a/lat#/attributes/scale_factor: {undecoded}",
        f"/b/v, /c/v: its coordinate 'lat': {undecoded}",
    ]
    for path in ("/a/lat", "/b/lat", "/c/lat"):
        assert tree[path].values.tolist() == [[1, 1], [1, 1]]


def test_units_of_what_is_packed_by_no_number_are_not_blamed() -> None:
    store = store_with(bad=ints({"scale_factor": [2.0], **BAD_UNITS}))
    _ours, (told,) = opened_with_warnings(xr.open_dataset, store)
    assert str(told).startswith(f"/bad: {TIMES_TEXT}: ")
    assert "/attributes" not in str(told)
    _ours, (told,) = opened_with_warnings(
        xr.open_dataset, store_with(bad=ints({"scale_factor": "2", **BAD_UNITS}))
    )
    assert str(told).endswith(": 'scale_factor' is no number")


@pytest.mark.parametrize("value", [[2.0], None, True, 2], ids=repr)
def test_what_xarray_can_unpack_by_is_as_in_engine_zarr(value: Any) -> None:
    compare(xr.open_dataset, store_with(bad=ints({"scale_factor": value})))


@pytest.mark.parametrize(
    ("attrs", "key", "options"),
    [
        ({"coordinates": ["lat"], "units": "m"}, "coordinates", {}),
        ({"coordinates": 5}, "coordinates", {}),
        ({"coordinates": {"a": "lat"}}, "coordinates", {}),
        ({"grid_mapping": 5}, "grid_mapping", {"decode_coords": "all"}),
        ({"cell_measures": ["area: a"]}, "cell_measures", {"decode_coords": "all"}),
    ],
    ids=str,
)
def test_attributes_that_cf_wants_as_strings(
    attrs: dict[str, Any], key: str, options: dict[str, Any]
) -> None:
    store = store_with(bad=ints(attrs))
    ours, told = opened_with_warnings(xr.open_dataset, store, **options)
    assert [str(warning) for warning in told] == [
        f"/bad#/attributes/{key}: opened without {key!r}: it must be a string"
    ]
    assert ours["bad"].attrs == attrs
    assert ours["bad"].values.tolist() == [1, 2]
    rest = opened(xr.open_dataset, store_with(), **options)
    assert_same(ours.drop_vars("bad"), rest)


@pytest.mark.parametrize(
    "attrs",
    [{"units": 5}, {"units": ["m"]}, {"units": None}, {"calendar": 5}, {"coordinates": "nowhere"}],
    ids=str,
)
def test_what_xarray_puts_up_with_is_as_in_engine_zarr(attrs: dict[str, Any]) -> None:
    compare(xr.open_dataset, store_with(bad=ints(attrs)))


@pytest.mark.parametrize("value", [["lat"], 5, "lat"], ids=repr)
def test_coordinates_of_the_group_that_are_no_string(value: Any) -> None:
    root = Group(SOUND, {"coordinates": value})
    compare(xr.open_dataset, memory_store(build(root)))


def test_a_calendar_that_is_no_string_is_no_other_calendar() -> None:
    attrs = {**TIME, "calendar": ["noleap"]}
    ours, told = opened_with_warnings(xr.open_dataset, store_with(bad=ints(attrs)))
    assert len(told) == 1
    assert ours["bad"].values.tolist() == [1, 2]
    assert ours["bad"].attrs == attrs


def test_each_variable_that_cannot_be_decoded_is_told_of() -> None:
    store = store_with(
        bad=ints(BAD_UNITS), worse=ints({"scale_factor": [1, 2]}), zbad=ints({"coordinates": 5})
    )
    ours, told = opened_with_warnings(xr.open_dataset, store)
    starts = (
        "/bad: opened with its times undecoded: ",
        "/worse: left undecoded, xarray cannot decode it: ",
        "/zbad#/attributes/coordinates: opened without 'coordinates': ",
    )
    for warning, start in zip(told, starts, strict=True):
        assert str(warning).startswith(start)
    rest = opened(xr.open_dataset, store_with())
    assert_same(ours.drop_vars(["bad", "worse", "zbad"]), rest)


@pytest.mark.parametrize("function", [xr.open_groups, xr.open_datatree])
def test_groups_are_decoded_apart(function: Open) -> None:
    store = store_with(g=Group({**SOUND, "bad": ints(BAD_UNITS)}))
    result, told = opened_with_warnings(function, store)
    (warning,) = told
    assert str(warning).startswith("/g/bad: opened with its times undecoded: ")
    whole = result["/"] if isinstance(result, dict) else result.to_dataset()
    assert_same(whole, opened(xr.open_dataset, store_with()))
    group = result["/g"] if isinstance(result, dict) else result["g"]
    assert group["bad"].values.tolist() == [1, 2]
    assert group["time"].dtype == object


def test_an_undecodable_dimension_coordinate() -> None:
    root = Group({"t": coordinate("t", [1, 2], **BAD_UNITS), "v": Array([1.0, 2.0], ("t",))})
    ours, told = opened_with_warnings(xr.open_dataset, memory_store(build(root)))
    assert len(told) == 1
    assert ours["v"].coords["t"].values.tolist() == [1, 2]
    assert "t" in ours.xindexes


# Options.


@pytest.mark.parametrize(
    "options",
    [
        {"decode_times": False},
        {"decode_times": {"bad": False}},
        {"decode_cf": False},
        {"drop_variables": "bad"},
    ],
    ids=str,
)
def test_what_is_not_to_be_decoded_is_not_told_of(options: dict[str, Any]) -> None:
    compare(xr.open_dataset, store_with(bad=ints(BAD_UNITS)), **options)


def test_options_given_as_a_mapping_still_hold_for_others() -> None:
    options = {"decode_times": {"time": False}, "mask_and_scale": {"packed": False}}
    ours = check(
        BAD_UNITS,
        TIMES_TEXT,
        {**UNDECODED_TIMES, "decode_times": {"time": False, "bad": False}},
        **options,
    )
    assert ours["time"].values.tolist() == [1, 2]
    assert ours["packed"].values.tolist() == [1, 2]


def test_chunks_of_what_was_left_undecoded() -> None:
    ours, _told = opened_with_warnings(xr.open_dataset, store_with(bad=ints(BAD_UNITS)), chunks={})
    assert ours["bad"].chunks == ((2,),)
    assert ours["bad"].compute().values.tolist() == [1, 2]


# What xarray raises only when values are read.


def with_axis(**axis: Any) -> Any:
    """Return a store with an array whose only axis has one coordinate, as metadata say."""
    attributes = declaring("cs", cs={"crs": [{"axes": {"y": axis}}]})
    return memory_store(build(Group({"a": Array([1.0, 2.0], ("y",), attributes)})))


@pytest.mark.parametrize(
    "attributes", [{"scale_factor": 2}, {"add_offset": 1}, {"units": "days"}], ids=str
)
def test_texts_that_are_declared_to_be_numbers(attributes: Mapping[str, Any]) -> None:
    values = {"values": {"explicit": ["p", "q"]}, "name": "label"}
    first = {"values": {"regular": [0, 1]}}
    store = with_axis(coordinates=[first, values], attributes=attributes)
    ours, told = opened_with_warnings(xr.open_dataset, store, decode_timedelta=True)
    assert ours["label"].values.tolist() == ["p", "q"]
    assert ours["y"].dims == ("y",)
    assert len(told) == 1
    assert "/a: its coordinate 'label': " in str(told[0])
    assert "undecoded" in str(told[0])


# Groups that are alike.


def alike_groups(number: int) -> Any:
    """Return a store whose groups differ in an attribute and the values of their array."""
    steps = {"values": {"regular": [0, 10]}, "attributes": {"notes": ["of the axis"]}}
    axes = {"x": {"coordinates": [steps]}, "z": {"coordinates": [external("/axes/z")]}}
    cs = {"crs": [{"axes": axes, "id": {"proj:code": "EPSG:32632"}}]}
    groups = {
        f"g{n}": Group(
            {"v": Array([1.0 * n, 2.0], ("x",), declaring("cs", cs=cs, notes=[n], units="K"))},
            {"title": [n]},
        )
        for n in range(number)
    }
    axes_group = Group({"z": Array(5.0, (), {"notes": ["of a scalar"]})})
    return memory_store(build(Group({"axes": axes_group, **groups})))


def external(node: str) -> Mapping[str, Any]:
    return {"values": {"external": {"node": node}}}


def assert_as_opened_alone(store: Any, groups: Mapping[str, xr.Dataset], number: int) -> None:
    for n in range(number):
        assert_same(groups[f"/g{n}"], xr.open_dataset(store, engine="xgroup", group=f"g{n}"))


@pytest.mark.parametrize("changed", range(4))
def test_nothing_of_groups_that_are_alike_can_be_changed_in_another(changed: int) -> None:
    store = alike_groups(4)
    groups = xr.open_groups(store, engine="xgroup")
    assert set(groups["/g0"].coords) == {"x", "z", "spatial_ref"}
    assert_as_opened_alone(store, groups, 4)
    dataset = groups[f"/g{changed}"]
    dataset.attrs["title"].append("changed")
    dataset.encoding["changed"] = True
    for variable in dataset.variables.values():
        variable.attrs.get("notes", []).append("changed")
        variable.attrs["changed"] = variable.encoding["changed"] = True
        values = variable.values
        if values.flags.writeable:
            values[...] = -1
    groups[f"/g{changed}"] = xr.open_dataset(store, engine="xgroup", group=f"g{changed}")
    assert_as_opened_alone(store, groups, 4)


def test_groups_that_are_alike_with_data_that_xarray_makes_coordinates() -> None:
    group = Group(
        {"a": Array(np.zeros((2, 3)), ("y", "x")), "x": Array(np.zeros((3, 2)), ("x", "y"))}
    )
    store: Any = memory_store(build(Group({f"g{n}": group for n in range(3)})))
    groups, _told = opened_with_warnings(xr.open_groups, store)
    assert "x" in groups["/g2"].coords
    for n in range(3):
        alone = oracle(xr.open_dataset, store, group=f"g{n}")
        assert_same(groups[f"/g{n}"], alone)


def overflows(open_it: Callable[..., object], store: Any, **options: Any) -> list[str]:
    """Return what numpy warns of while a store is opened."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        open_it(store, **options)
    told = [str(item.message) for item in given if item.category is RuntimeWarning]
    return [text for text in told if "consolidated" not in text]


@pytest.mark.parametrize("dtype", ["i2", "f4", "f8"])
def test_own_coordinates_beyond_their_type_are_told_as_by_engine_zarr(dtype: str) -> None:
    own = coordinate("x", np.array([2, 3], dtype), scale_factor=1.7e308)
    store: Any = memory_store(build(Group({"x": own, "v": Array([1.0, 2.0], ("x",))})))
    told = overflows(xr.open_dataset, store, engine="xgroup")
    assert told == overflows(xr.open_dataset, store, engine="zarr")
    assert told == ["overflow encountered in multiply"]


def test_attached_coordinates_beyond_their_type_are_not_told() -> None:
    axis = {
        "coordinates": [{"values": {"explicit": [2, 3]}}],
        "attributes": {"scale_factor": 1.7e308},
    }
    field = Array([1.0, 2.0], ("x",), declaring("cs", cs={"crs": [{"axes": {"x": axis}}]}))
    store: Any = memory_store(build(Group({"a": Group({"v": field}), "b": Group({"v": field})})))
    assert overflows(xr.open_datatree, store, engine="xgroup") == []
    assert np.isinf(opened(xr.open_datatree, store)["b"]["x"].values).all()


@pytest.mark.parametrize("own", [{}, {"units": "hours since 2000-01-01"}], ids=["bare", "units"])
@pytest.mark.parametrize("options", [{}, {"decode_times": False}, {"decode_cf": False}], ids=str)
def test_boundaries_of_times_that_are_dropped(
    own: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """xarray decodes them by the units and the calendar of the times, which it drops afterwards."""

    def group(calendar: str) -> Group:
        times = {**TIME, "calendar": calendar, "bounds": "time_bounds"}
        bounds = Array([[0.0, 59.0], [60.0, 61.0]], ("time", "nv"), own)
        return Group({"time": Array([0.5, 60.5], ("time",), times), "time_bounds": bounds})

    store: Any = memory_store(build(Group({it: group(it) for it in ("noleap", "360_day")})))
    compare(xr.open_groups, store, drop_variables="time", **options)
    compare(xr.open_dataset, store, group="noleap", drop_variables=["time"], **options)
    bounds = opened(xr.open_dataset, store, group="360_day", drop_variables="time")["time_bounds"]
    assert bounds.values[0, 1].calendar == "360_day"


def test_what_xarray_warns_of_is_called_by_its_name() -> None:
    axis = {
        "coordinates": [
            {
                "values": {"external": {"node": "/heights"}},
                "boundaries": {"regular": [-0.5, 0.5]},
            }
        ]
    }
    field = Array([1.0, 2.0], ("z",), declaring("cs", cs={"crs": [{"axes": {"z": axis}}]}))
    heights = Array([1.5, 2.5], ("z",), {"_Unsigned": "true"})
    store: Any = memory_store(build(Group({"heights": heights, "g": Group({"v": field})})))
    with pytest.warns(xr.SerializationWarning) as given:
        xr.open_dataset(store, engine="xgroup", group="g")
    named = {str(it.message).split("'")[1] for it in given if "_Unsigned" in str(it.message)}
    assert named <= {"heights", "z"}


@pytest.mark.parametrize("with_indexes", [True, False])
def test_a_dataset_is_what_its_constructor_makes(*, with_indexes: bool) -> None:
    """Its order included: without it xarray shows, and writes, variables otherwise."""

    def parts() -> tuple[Any, ...]:
        x = xr.Variable("x", [1.0, 2.0], {"units": "m"}, {"dtype": "f4"})
        indexes = {}
        if with_indexes:
            indexes["x"] = xr.indexes.PandasIndex.from_variables({"x": x}, options={})
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
    assert set(made.xindexes) == set(expected.xindexes)
    kinds = [{name: type(it) for name, it in ds.variables.items()} for ds in (made, expected)]
    assert kinds[0] == kinds[1]
    assert dataset_of({}, {}, {}, {}).identical(xr.Dataset())
