"""Arrays as lazy variables: as engine zarr makes them, fill values, and what is shared."""

import base64
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.abc.store import Store
from zarr.storage import MemoryStore

from zarr_xgroup import XGroupMetadataError, XGroupMetadataWarning
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.storage.library import Library
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    Open,
    ZarrFormat,
    assert_same,
    build,
    compare,
    coordinate,
    declaring,
    encoded_fill_value,
    memory_store,
    opened,
    opened_with_warnings,
    recording_store,
)
from zarr_xgroup.variables.factory import VariableFactory
from zarr_xgroup.variables.fillvalues import can_hold, plain_fill_value
from zarr_xgroup.variables.sources import Stored

OPEN_FUNCTIONS: tuple[Open, ...] = (xr.open_dataset, xr.open_groups, xr.open_datatree)
each_function = pytest.mark.parametrize("function", OPEN_FUNCTIONS, ids=lambda f: f.__name__)
each_format = pytest.mark.parametrize("zarr_format", [2, 3], ids=["v2", "v3"])

NAN = float("nan")
INF = float("inf")


# What a plain fill value means.

F4_1E20 = float(np.float32(1e20))

PLAIN: list[tuple[str, Any, Any]] = [
    # Floats: numbers, and the spellings of the Zarr v3 core specification.
    *((dtype, 0, 0.0) for dtype in ("f2", "f4", "f8")),
    *((dtype, -999, -999.0) for dtype in ("f2", "f4", "f8")),
    *((dtype, "NaN", NAN) for dtype in ("f2", "f4", "f8")),
    *((dtype, NAN, NAN) for dtype in ("f2", "f4", "f8")),
    *((dtype, "Infinity", INF) for dtype in ("f2", "f4", "f8")),
    *((dtype, "-Infinity", -INF) for dtype in ("f2", "f4", "f8")),
    *((dtype, INF, INF) for dtype in ("f2", "f4", "f8")),
    ("f8", 1e20, 1e20),
    ("f8", 0.1, 0.1),
    ("f4", 1e20, F4_1E20),
    ("f4", 9.96921e36, float(np.float32(9.96921e36))),
    ("f4", 0.1, float(np.float32(0.1))),
    ("f4", "0x7fc00000", NAN),
    ("f4", "0x3f800000", 1.0),
    ("f4", "0xff800000", -INF),
    ("f8", "0x7ff8000000000000", NAN),
    ("f8", "0x3ff0000000000000", 1.0),
    ("f2", "0x3c00", 1.0),
    (">f4", "0x3f800000", 1.0),
    (">f4", 1e20, F4_1E20),
    ("f8", 10**20, 1e20),
    # What is no float.
    ("f4", "nan", None),
    ("f4", "inf", None),
    ("f4", "", None),
    ("f4", "1.0", None),
    ("f4", "0x", None),
    ("f4", "0x7f", None),
    ("f4", "0xnothex!", None),
    ("f4", True, None),
    ("f4", False, None),
    ("f4", None, None),
    ("f4", [1.0], None),
    ("f4", {"a": 1}, None),
    ("f8", 10**400, None),
    # Complex numbers: pairs.
    ("c8", [1, 2], 1 + 2j),
    ("c16", [1.5, -2.5], 1.5 - 2.5j),
    ("c8", [1e20, 0], complex(F4_1E20, 0)),
    ("c16", ["NaN", "NaN"], complex(NAN, NAN)),
    ("c16", ["Infinity", "0x0000000000000000"], complex(INF, 0)),
    ("c16", 5, None),
    ("c16", [1], None),
    ("c16", [1, 2, 3], None),
    ("c16", "NaN", None),
    ("c16", [True, 1], None),
    ("c16", [None, 1], None),
    # Strings and bytes.
    ("O", "missing", "missing"),
    ("O", "", ""),
    ("U7", "missing", "missing"),
    ("S7", "missing", b"missing"),
    ("O", 5, None),
    ("U7", None, None),
    ("S7", ["a"], None),
    # Types of numbers that xarray reads as they are, so that this is never asked for.
    ("V4", "AAAA", None),
    ("V4", 5, None),
    # Times.
    ("M8[s]", 5, np.datetime64(5, "s")),
    ("m8[s]", 5, np.timedelta64(5, "s")),
    ("M8[s]", "2000-01-01", np.datetime64("2000-01-01", "s")),
    ("M8[s]", True, None),
    ("M8[s]", "not a date", None),
    ("m8[s]", {"a": 1}, None),
]


@pytest.mark.parametrize(("dtype", "written", "expected"), PLAIN, ids=repr)
def test_plain_fill_values(dtype: str, written: Any, expected: Any) -> None:
    value = plain_fill_value(written, np.dtype(dtype))
    assert type(value) is type(expected)
    np.testing.assert_equal(value, expected)


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]"])
def test_a_time_that_is_none(dtype: str) -> None:
    value = plain_fill_value("NaT", np.dtype(dtype))
    assert value is not None
    assert np.isnat(value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=6,
)
DTYPES = ("b1", "i1", "u8", "f2", ">f4", "f8", "c8", "c16", "O", "U4", "S4", "M8[ns]", "m8[D]")


@settings(derandomize=True, deadline=None, max_examples=120)
@given(json_values, st.sampled_from(DTYPES))
def test_whatever_is_written_means_a_value_that_the_array_can_hold_or_nothing(
    written: Any, dtype: str
) -> None:
    with np.errstate(all="ignore"):
        value = plain_fill_value(written, np.dtype(dtype))
    if value is not None:
        array = np.empty(1, dtype)
        array[0] = value
        np.testing.assert_equal(array[0], value if dtype not in ("U4", "S4") else value[:4])


# Fill values in stores.


def with_fill_value(array: Array, written: Any) -> Contents:
    """Return a v3 store of the array `v`, its `_FillValue` written as plain JSON."""
    root = Group({"v": Array(array.values, array.dims, {**array.attrs, "_FillValue": written})})
    return build(root)


@each_function
@pytest.mark.parametrize("written", [-999.0, -999, "NaN"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_plain_number_masks_missing_data(function: Open, written: Any, dtype: str) -> None:
    missing = NAN if written == "NaN" else written
    values = np.array([1.0, missing, 3.0], dtype)
    store = memory_store(with_fill_value(Array(values, ("x",), {"units": "m"}), written))
    result = opened(function, store)  # without a word: that is how GeoZarr and NZ-1.0 have it
    dataset = result["/"] if isinstance(result, dict) else result
    np.testing.assert_array_equal(dataset["v"].values, np.array([1.0, NAN, 3.0], dtype))
    assert dataset["v"].dtype == np.dtype(dtype)
    assert dataset["v"].attrs == {"units": "m"}


@pytest.mark.parametrize("written", [1e20, 9.96921e36, -1e34, 0.1])
def test_a_float32_masks_what_its_writer_stored(written: float) -> None:
    values = np.array([1.0, written, 3.0], "f4")
    assert float(values[1]) != written
    dataset = opened(xr.open_dataset, memory_store(with_fill_value(Array(values, ("x",)), written)))
    assert np.isnan(dataset["v"].values).tolist() == [False, True, False]
    assert dataset["v"].encoding["_FillValue"] == np.float32(written)


def test_a_plain_fill_value_is_as_one_in_base64() -> None:
    array = Array(np.array([[1.0, -5.0, 3.0]], "f4"), ("y", "x"), {"units": "K"})
    plain = opened(xr.open_dataset, memory_store(with_fill_value(array, -5.0)), chunks={})
    encoded = build(Group({"v": Array(array.values, array.dims, array.attrs, missing=-5.0)}))
    assert_same(plain, opened(xr.open_dataset, memory_store(encoded), chunks={}))


@pytest.mark.parametrize("mask_and_scale", [True, False])
@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (np.array([1.0, -5.0], "f4"), -5.0),
        (np.array([1.0, -5.0], "f8"), -5.0),
        (np.array([1.0, NAN], "f8"), NAN),
        (np.array([1.0, INF], "f8"), INF),
        (np.array([1, -5], "i2"), -5),
        (np.array([1, 255], "u1"), 255),
    ],
    ids=str,
)
def test_what_xarray_writes_is_read_as_by_engine_zarr(
    values: Any, missing: Any, mask_and_scale: bool
) -> None:
    store = memory_store(build(Group({"v": Array(values, ("x",), missing=missing)})))
    dataset = compare(xr.open_dataset, store, mask_and_scale=mask_and_scale)
    assert np.isnan(dataset["v"].values).tolist() == [
        False,
        mask_and_scale or bool(np.isnan(missing)),
    ]


def test_the_form_of_base64_is_no_plain_value() -> None:
    written = encoded_fill_value(-5.0, np.dtype("f4"))
    assert base64.b64decode(written) == struct.pack("<d", -5.0)
    store = memory_store(with_fill_value(Array(np.array([1.0, -5.0], "f4"), ("x",)), written))
    assert compare(xr.open_dataset, store)["v"].isnull().values.tolist() == [False, True]


@pytest.mark.parametrize(
    ("dtype", "written"),
    [
        *(("f4", written) for written in ({"a": 1}, [1.0], "minus five", True, None)),
        ("i2", -9.5),
        ("i2", 40_000),
        ("i2", True),
        ("i2", "-9"),
        ("i2", [-9]),
        ("i8", 1e300),
        ("u1", 300),
        ("u1", -1),
        ("u1", float("nan")),
        ("?", 5),
        ("?", 0.5),
    ],
)
@each_function
def test_what_is_no_value_of_the_type_masks_nothing(
    function: Open, dtype: str, written: Any
) -> None:
    values = np.array([1, -9, 44, 0]).astype(dtype)
    store = memory_store(with_fill_value(Array(values, ("x",), {"units": "m"}), written))
    result, told = opened_with_warnings(function, store)
    dataset = result["/"] if isinstance(result, dict) else result
    np.testing.assert_array_equal(dataset["v"].values, values)
    assert dataset["v"].dtype == np.dtype(dtype)
    assert dataset["v"].attrs["units"] == "m"
    assert [str(warning) for warning in told] == [
        (
            f"/v#/attributes/_FillValue: is {written!r}, which is no value of the array's type; "
            "nothing is masked by it"
        )
    ]
    assert type(told[0]) is XGroupMetadataWarning
    assert told[0].error is None


@each_function
def test_metadata_of_an_array_that_others_refer_to_are_told_once(function: Open) -> None:
    axes = {"x": {"coordinates": [{"values": {"external": {"node": "/lat"}}}]}}
    along_lat = Array([1.0, 2.0], ("x",), declaring("cs", cs={"crs": [{"axes": axes}]}))
    lat = Array([3.0, 4.0], ("x",), {"_FillValue": "minus five"})
    groups = {name: Group(dict.fromkeys("abc", along_lat)) for name in "gh"}
    store = memory_store(build(Group({**dict.fromkeys("abc", along_lat), "lat": lat, **groups})))
    _result, told = opened_with_warnings(function, store)
    assert [it.paths for it in told if isinstance(it, XGroupMetadataWarning)] == [("/lat",)]


@pytest.mark.parametrize("written", [-9, -9.0])
def test_a_whole_number_masks_integers_however_it_is_written(written: float) -> None:
    store = memory_store(with_fill_value(Array(np.array([1, -9], "i2"), ("x",)), written))
    assert compare(xr.open_dataset, store)["v"].isnull().values.tolist() == [False, True]


@pytest.mark.parametrize(("written", "holds"), [(255, True), (-1, True), (256, False)])
def test_integers_that_may_be_meant_without_sign(written: int, holds: bool) -> None:
    assert can_hold(np.dtype("i1"), written, either_sign=True) == holds
    assert can_hold(np.dtype("u1"), written, either_sign=True) == holds


def test_each_array_with_an_unusable_fill_value_is_told_of() -> None:
    array = Array(np.array([1.0, -5.0], "f4"), ("x",), {"_FillValue": "minus five"})
    root = Group({"a": array, "b": array, "g": Group({"c": array})})
    _tree, told = opened_with_warnings(xr.open_datatree, memory_store(build(root)))
    assert [str(warning).split(":")[0] for warning in told] == ["/a, /b, /g/c"]


def test_scaled_data_with_a_plain_fill_value() -> None:
    array = Array(np.array([1.0, -5.0], "f4"), ("x",), {"scale_factor": 2.0, "add_offset": 1.0})
    dataset = opened(xr.open_dataset, memory_store(with_fill_value(array, -5.0)))
    np.testing.assert_array_equal(dataset["v"].values, [3.0, NAN])


def test_undecoded_a_plain_fill_value_is_an_attribute_of_the_type_of_the_array() -> None:
    store = memory_store(with_fill_value(Array(np.array([1.0, 1e20], "f4"), ("x",)), 1e20))
    dataset = opened(xr.open_dataset, store, mask_and_scale=False)
    assert dataset["v"].attrs["_FillValue"] == F4_1E20
    np.testing.assert_array_equal(dataset["v"].values, np.array([1.0, 1e20], "f4"))


def test_no_chunk_is_read_for_a_fill_value() -> None:
    store = recording_store(with_fill_value(Array(np.array([1.0, -5.0], "f4"), ("x",)), -5.0))
    dataset = opened(xr.open_dataset, store)
    assert not store.chunk_gets
    dataset["v"].load()
    assert set(store.chunk_gets) == {"v/c/0"}


# As engine zarr makes them.


def reading(store: Store, *paths: str) -> tuple[Library, VariableFactory]:
    """Open a store, and read the documents of some nodes to make variables of."""
    library, _group = Library.open(store, {})
    library.ask(lambda: [library.tree.document(Node(0, path)) for path in paths])
    return library, VariableFactory(library.tree, library.zarr_store)


@pytest.mark.parametrize("path", ["nope", "v/deeper"])
def test_no_array_to_open(path: str) -> None:
    _library, factory = reading(memory_store(build(Group({"v": Array(1.0)}))), "v", path)
    node = Node(0, path)
    calls: tuple[Callable[[], object], ...] = (
        lambda: factory.variable(Stored(node, ())),
        lambda: factory.template(node, ()),
        lambda: factory.zarr_objects(node),
    )
    for call in calls:
        with pytest.raises(XGroupMetadataError) as caught:
            call()
        assert str(caught.value) == f"there is no array /{path}"


# Transposed.


@each_format
def test_a_transposed_variable_is_lazy_and_the_other_way_round(zarr_format: ZarrFormat) -> None:
    values = np.arange(24).reshape(2, 3, 4)
    root = Group({"v": Array(values, ("a", "b", "c"), {"units": "m"}, chunks=(2, 1, 3))})
    store = recording_store(build(root, zarr_format))
    _library, factory = reading(store, "v")
    along = ("a", "b", "c")
    variable = factory.variable(Stored(Node(0, "v"), along))
    result = factory.variable(Stored(Node(0, "v"), along, transposed=True))
    assert store.chunk_gets == {}
    assert result.dims == ("c", "b", "a")
    assert result.attrs == {"units": "m"}
    assert result.encoding["chunks"] == (3, 1, 2)
    assert result.encoding["preferred_chunks"] == {"a": 2, "b": 1, "c": 3}
    np.testing.assert_array_equal(result.values, values.T)
    assert variable.dims == ("a", "b", "c")
    assert variable.encoding["chunks"] == (2, 1, 3)


def stored_and_transposed(
    shape: tuple[int, ...], **options: Any
) -> tuple[xr.Variable, xr.Variable]:
    """Return an array that zarr writes as a variable, and the same the other way round."""
    store = MemoryStore()
    root = zarr.open_group(store, mode="w", zarr_format=3)
    root.create_array("v", shape=shape, dtype="f8", **options)
    _library, factory = reading(store, "v")
    source = Stored(Node(0, "v"), ("a", "b")[: len(shape)])
    return factory.variable(source), factory.variable(replace(source, transposed=True))


def test_transposed_shards() -> None:
    variable, result = stored_and_transposed((2, 4), chunks=(1, 2), shards=(2, 4))
    if "shards" not in variable.encoding:
        pytest.skip("this xarray does not say how arrays are sharded")
    assert result.encoding == {**variable.encoding, "chunks": (2, 1), "shards": (4, 2)}
    assert variable.encoding["chunks"] == (1, 2)
    assert variable.encoding["shards"] == (2, 4)


def test_transposed_without_shards() -> None:
    variable, result = stored_and_transposed((2, 4), chunks=(2, 4))
    if "shards" not in variable.encoding:
        pytest.skip("this xarray does not say how arrays are sharded")
    assert variable.encoding["shards"] is None
    assert result.encoding == {**variable.encoding, "chunks": (4, 2)}


# Shared with nothing.

NESTED: dict[str, Any] = {"list": [1, [2, {"a": 3}]], "object": {"list": ["x"]}, "text": "t"}
SHARED = Group(
    {
        "x": coordinate("x", [1.0, 2.0], **NESTED),
        "v": Array([1.0, 2.0], ("x",), NESTED),
        "g": Group(
            {
                "v": Array([1.0, 2.0], ("x",), NESTED),
                "h": Group({"v": Array([1.0, 2.0], ("x",), NESTED)}, NESTED),
            },
            NESTED,
        ),
    },
    NESTED,
)


def spoil(value: Any) -> None:
    """Change a JSON value in every list and object of it."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoiled"] = True
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoiled")


def attributes_in(result: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all attributes that were handed out, each with its place."""
    nodes = (
        {node.path: node.to_dataset(inherit=False) for node in result.subtree}
        if isinstance(result, xr.DataTree)
        else (result if isinstance(result, dict) else {"/": result})
    )
    for path, dataset in nodes.items():
        yield path, dataset.attrs
        for name, variable in dataset.variables.items():
            yield f"{path}#{name}", variable.attrs


@each_function
@each_format
@pytest.mark.parametrize("consolidated", [False, True])
def test_changing_attributes_shows_nowhere_else(
    function: Open, zarr_format: ZarrFormat, consolidated: bool
) -> None:
    store = memory_store(build(SHARED, zarr_format, consolidated=consolidated))
    result = opened(function, store)
    places = [place for place, _attributes in attributes_in(result)]
    assert len(places) == (3 if function is xr.open_dataset else 7)
    for number, place in enumerate(places):
        for where, attributes in attributes_in(result):
            if where == place:
                spoil(attributes)
                assert attributes != NESTED
            elif where in places[number:]:
                assert attributes == NESTED, f"changing {places[:number]} changed {where}"
    for where, attributes in attributes_in(opened(function, store)):
        assert attributes == NESTED, where


@each_format
def test_changing_attributes_does_not_change_the_store(zarr_format: ZarrFormat) -> None:
    store = memory_store(build(SHARED, zarr_format))
    before = {key: buffer.to_bytes() for key, buffer in store._store_dict.items()}
    group = zarr.open_group(store, mode="r")
    for _where, attributes in attributes_in(opened(xr.open_datatree, group)):
        spoil(attributes)
    assert isinstance(store, MemoryStore)
    assert {key: buffer.to_bytes() for key, buffer in store._store_dict.items()} == before
    assert dict(group.attrs) == NESTED


def test_changing_values_shows_nowhere_else() -> None:
    store = memory_store(build(SHARED))
    tree = opened(xr.open_datatree, store)
    tree["v"].values[:] = -1
    assert tree["g/v"].values.tolist() == [1.0, 2.0]
    assert opened(xr.open_dataset, store)["v"].values.tolist() == [1.0, 2.0]
