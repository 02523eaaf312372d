"""Arrays as lazy variables: the meaning of fill values, and transposed arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from zarr_xgroup.tests.builders import (
    SHARDED,
    Array,
    Group,
    Nodes,
    build,
    compare,
    edit,
    encoded_fill_value,
    memory_store,
    needs_writing,
    opened,
    opened_with_warnings,
    oracle,
    recording_store,
    stored,
    update,
    write_local,
)
from zarr_xgroup.tests.strategies import cs_of
from zarr_xgroup.tests.tables import check, rows, store_of
from zarr_xgroup.variables.fillvalues import plain_fill_value

NAN, INF = float("nan"), float("inf")

# What a plain fill value means.

FLOATS = [(0, 0.0), (-999, -999.0), ("NaN", NAN), (NAN, NAN), ("Infinity", INF), ("-Infinity", -INF), (INF, INF)]  # fmt: skip
NO_FLOATS = ["nan", "inf", "", "1.0", "0x", "0x7f", "0xnothex!", True, False, None, [1.0], {"a": 1}]
F4_1E20 = float(np.float32(1e20))
#: Types of arrays -> what is written, and what it means; None is nothing.
MEANINGS: Mapping[str, list[tuple[Any, Any]]] = {
    "f2": [*FLOATS, ("0x3c00", 1.0)],
    "f4": [*FLOATS, (1e20, F4_1E20), (0.1, float(np.float32(0.1))), ("0x7fc00000", NAN), ("0x3f800000", 1.0), ("0xff800000", -INF), *((it, None) for it in NO_FLOATS)],
    ">f4": [("0x3f800000", 1.0), (1e20, F4_1E20)],
    "f8": [*FLOATS, (1e20, 1e20), (0.1, 0.1), ("0x7ff8000000000000", NAN), ("0x3ff0000000000000", 1.0), (10**20, 1e20), (10**400, None)],
    "c8": [([1, 2], 1 + 2j), ([1e20, 0], complex(F4_1E20, 0))],
    "c16": [([1.5, -2.5], 1.5 - 2.5j), (["NaN", "NaN"], complex(NAN, NAN)), (["Infinity", "0x0000000000000000"], complex(INF, 0)),
            *((it, None) for it in (5, [1], [1, 2, 3], "NaN", [True, 1], [None, 1]))],
    "O": [("missing", "missing"), ("", ""), (5, None)],
    "U7": [("missing", "missing"), (None, None)],
    "S7": [("missing", b"missing"), (["a"], None)],
    "V4": [("AAAA", None), (5, None)],
    "M8[s]": [(5, np.datetime64(5, "s")), ("2000-01-01", np.datetime64("2000-01-01", "s")), ("NaT", np.datetime64("NaT", "s")), (True, None), ("not a date", None)],
    "m8[s]": [(5, np.timedelta64(5, "s")), ("NaT", np.timedelta64("NaT", "s")), ({"a": 1}, None)],
}  # fmt: skip


@rows(MEANINGS, "meanings")
def test_plain_fill_values(meanings: Any, request: pytest.FixtureRequest) -> None:
    dtype = np.dtype(request.node.callspec.id)
    for written, expected in meanings:
        value = plain_fill_value(written, dtype)
        assert type(value) is type(expected), written
        np.testing.assert_equal(value, expected, str(written))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=6,
)
DTYPES = ("b1", "i1", "u8", "f2", ">f4", "f8", "c8", "c16", "O", "U4", "S4", "M8[ns]", "m8[D]")


@settings(derandomize=True, deadline=None, max_examples=120)
@given(json_values, st.sampled_from(DTYPES))
def test_any_fill_value_is_a_value_of_the_dtype_or_ignored(written: Any, dtype: str) -> None:
    with np.errstate(all="ignore"):
        value = plain_fill_value(written, np.dtype(dtype))
    if value is not None:
        array = np.empty(1, dtype)
        array[0] = value
        np.testing.assert_equal(array[0], value if dtype not in ("U4", "S4") else value[:4])


# Fill values in stores.


def filled(values: Any, written: Any, dtype: str, **attributes: Any) -> Group:
    """Return a store of an array whose `_FillValue` is written as plain JSON."""
    array = np.array(values).astype(dtype)
    return Group({"v": Array(array, ("x",), {**attributes, "_FillValue": written})})


#: An array, and its values when it is opened.
MASKED: dict[str, tuple[Group, list[float]]] = {
    "a float": (filled([1, -999], -999.0, "f4"), [1, NAN]),
    "a whole number": (filled([1, -999], -999, "f8"), [1, NAN]),
    "NaN": (filled([1, NAN], "NaN", "f4"), [1, NAN]),
    "a number that the array has rounded": (filled([1, 1e20], 1e20, "f4"), [1, NAN]),
    "another one": (filled([1, 9.96921e36], 9.96921e36, "f4"), [1, NAN]),
    "a fraction": (filled([1, 0.1], 0.1, "f4"), [1, NAN]),
    "of scaled data": (filled([1, -5], -5.0, "f4", scale_factor=2.0, add_offset=1.0), [3, NAN]),
}


@rows(MASKED)
def test_a_plain_number_masks_missing_data(nodes: Any, expected: Any) -> None:
    store = recording_store(build(nodes))
    dataset = check(store, "v (x)")
    assert not store.chunk_gets
    array = nodes.members["v"]
    np.testing.assert_array_equal(dataset["v"].values, np.array(expected, array.values.dtype))
    written = np.array(float(array.attrs["_FillValue"]), array.values.dtype)
    np.testing.assert_array_equal(dataset["v"].encoding["_FillValue"], written)


#: Fill values in the forms that xarray writes, or reads: base64 of floats, numbers of others.
BY_XARRAY: dict[str, tuple[Any, Any, str]] = {
    "infinity": ([1, INF], encoded_fill_value(INF, np.dtype("f8")), "f8"),
    "integers as floats": ([1, -5], -5.0, "i2"),
}


@pytest.mark.parametrize("mask_and_scale", [True, False])
@rows(BY_XARRAY, "values, written, dtype")
def test_stores_written_by_xarray_open_as_with_engine_zarr(
    values: Any, written: Any, dtype: str, mask_and_scale: bool
) -> None:
    store = store_of(filled(values, written, dtype))
    dataset = compare(xr.open_dataset, store, mask_and_scale=mask_and_scale)
    assert bool(dataset["v"].isnull()[1]) is (mask_and_scale or bool(np.isnan(values[1])))


def test_undecoded_a_plain_fill_value_is_an_attribute_of_the_type_of_the_array() -> None:
    dataset = opened(xr.open_dataset, store_of(filled([1, 1e20], 1e20, "f4")), mask_and_scale=False)
    assert dataset["v"].attrs["_FillValue"] == F4_1E20
    np.testing.assert_array_equal(dataset["v"].values, np.array([1.0, 1e20], "f4"))


#: Types of arrays -> what is no value of them.
NO_VALUES: Mapping[str, list[Any]] = {
    "f4": [{"a": 1}, [1.0], "minus five", True, None],
    "i2": [-9.5, 40_000, True, "-9", [-9]],
    "i8": [1e300],
    "u1": [300, -1, NAN],
    "?": [5, 0.5],
}


@pytest.mark.parametrize("dtype", NO_VALUES)
def test_an_invalid_fill_value_masks_nothing(dtype: str) -> None:
    values = np.array([1, -9, 44, 0])
    for written in NO_VALUES[dtype]:
        text = f"is {written!r}, not a valid value of the array's type; no data are masked"
        expected = f"! Metadata: /v#/attributes/_FillValue: {text}"
        dataset = check(filled(values, written, dtype), expected, only="")
        np.testing.assert_array_equal(dataset["v"].values, values.astype(dtype))
        assert dataset["v"].dtype == np.dtype(dtype)


# What is wrong with an array that others refer to.


def along_x(**reference: str) -> Array:
    """Return an array of which an array that it refers to is the coordinate along ``x``."""
    values = {"values": {"external": reference}}
    return stored([1.0, 2.0], "x", **cs_of({"axes": {"x": {"coordinates": [values]}}}))


@pytest.mark.parametrize(
    ("path", "attributes", "text"),
    [
        ("c/lon", 5, "/g/v: /c/lon was opened without attributes: 'attributes' "),
        ("g/lon", 5, "/g/lon was opened without attributes: /g/lon#/attributes: 'attributes' "),
        ("c/lon", {"_FillValue": "none"}, "/c/lon#/attributes/_FillValue: is 'none', not a valid"),
    ],
    ids=["attributes", "attributes in the group", "fill value"],
)
def test_a_fault_of_a_referenced_array_is_reported_once(
    path: str, attributes: Any, text: str
) -> None:
    members: Nodes = {"": {}, "c": {}, "g": {}, path: stored([5, 6], "x")}
    contents = build({**members, "g/v": along_x(node=f"/{path}")})
    contents = edit(contents, f"{path}/zarr.json", update(attributes=attributes))
    dataset, (told,) = opened_with_warnings(xr.open_dataset, memory_store(contents), group="g")
    assert dataset["v"].coords["x"].values.tolist() == [5, 6]
    assert str(told).startswith(text)


def test_unreadable_attributes_of_a_foreign_array_are_reported(
    tmp_path: Path,
) -> None:
    other = build({"": {}, "lon": stored([5, 6], "x")})
    folder = write_local(edit(other, "lon/zarr.json", update(attributes=5)), tmp_path / "other")
    array = along_x(uri=folder.as_uri(), node="/lon")
    store = write_local(build({"": {}, "v": array}), tmp_path / "store")
    dataset, (told,) = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].values.tolist() == [5, 6]
    assert str(told).startswith("/v was opened without the attributes of /lon: ")
    assert "'attributes' must be a JSON object, got int" in str(told)


# One element of an array.


@needs_writing
@pytest.mark.parametrize(("zarr_format", "is_sharded"), [(2, False), (3, False), (3, True)])
def test_a_scalar_coordinate_has_no_encoding_of_the_axis_of_its_array(
    zarr_format: Any, is_sharded: bool, tmp_path: Path
) -> None:
    of_h = {"values": {"external": {"node": "/one/h"}}}
    cs = cs_of({"axes": {"h": {"coordinates": [of_h]}}})
    (codec,) = SHARDED["codecs"]
    configuration = {**codec["configuration"], "chunk_shape": [1]}
    v3 = {"codecs": [{**codec, "configuration": configuration}]} if is_sharded else {}
    h = Array([850.0], ("h",), chunks=(1,), v3=v3)
    nodes = Group({"one": Group({"h": h}), "a": Array([1.0], ("x",), cs)})
    dataset = opened(xr.open_dataset, store_of(nodes, zarr_format))
    encoding = dataset["h"].encoding
    assert (encoding.get("chunks"), encoding["preferred_chunks"]) == (None, {})
    assert encoding.get("shards") is None
    dataset.to_zarr(tmp_path, zarr_format=zarr_format, consolidated=False)
    assert opened(xr.open_dataset, tmp_path)["h"].values == 850


# Arrays the other way round.


@pytest.mark.parametrize(
    ("zarr_format", "chunks", "v3"), [(2, (1, 2), {}), (3, (1, 2), {}), (3, (2, 4), SHARDED)]
)
def test_transposed_bounds_are_lazy_and_have_transposed_chunks(
    zarr_format: Any, chunks: tuple[int, int], v3: Any
) -> None:
    values = {"values": {"regular": [0, 1]}, "boundaries": {"external": {"node": "edges"}}}
    cs = cs_of({"axes": {"x": {"coordinates": [values]}}})
    edges = np.arange(8.0).reshape(2, 4)
    nodes: Nodes = {
        "": {},
        "a": Array(np.zeros(4), ("x",), cs),
        "edges": Array(edges, ("side", "x"), {"units": "m"}, chunks=chunks, v3=v3),
    }
    store = recording_store(build(nodes, zarr_format))
    bounds = opened(xr.open_dataset, store)["edges"].variable
    assert store.chunk_gets == {}
    assert (bounds.dims, bounds.attrs) == (("x", "side"), {"units": "m"})
    written = store_of({"": {}, "edges": nodes["edges"]}, zarr_format)
    for key in ("chunks", "shards"):
        plain = oracle(xr.open_dataset, written)["edges"].encoding.get(key)
        assert bounds.encoding.get(key) == (plain and plain[::-1])
    side, x = oracle(xr.open_dataset, written)["edges"].encoding["chunks"]
    assert bounds.encoding["preferred_chunks"] == {"x": x, "side": side}
    np.testing.assert_array_equal(bounds.values, edges.T)
    keys: list[Any] = [(2, 1), (slice(1, None), 0), ([2, 0], slice(None)), ([2, 0], 1)]
    for key in keys:
        np.testing.assert_array_equal(bounds[key].values, edges.T[key])
    np.testing.assert_array_equal(bounds[[2, 0], [1, 0]].values, edges.T[[2, 0]][:, [1, 0]])
