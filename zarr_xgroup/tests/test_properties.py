"""Law 1 for any hierarchy without conventions: both engines open it identically."""

import json
from typing import Any

import numpy as np
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zarr_xgroup.tests.builders import (
    DECODES_TIMEDELTAS,
    Array,
    Contents,
    Group,
    ZarrFormat,
    assert_same,
    build,
    compare,
    memory_store,
    opened,
)

stable = settings(
    deadline=None,
    derandomize=True,
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# What xarray, zarr or a convention reads in attributes is given on purpose, or not at all.
KEYS_WITH_A_MEANING = {
    *("_ARRAY_DIMENSIONS", "_FillValue", "_Unsigned", "add_offset", "ancillary_variables"),
    *("bounds", "calendar", "cell_measures", "climatology", "coordinates", "dtype", "filters"),
    *("formula_terms", "grid_mapping", "missing_value", "scale_factor", "units"),
}

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
attributes = st.dictionaries(
    texts.filter(lambda key: key not in KEYS_WITH_A_MEANING and not key.lower().startswith("_nc")),
    json_values,
    max_size=3,
)

DIMENSIONS = ("x", "y", "time", "n")
ARRAY_NAMES = ("a", "B", "temperature", "data_1", "é")
GROUP_NAMES = ("g1", "g2", "Group")
DTYPES = ("f8", "f4", "i8", "i4", "i2", "u1", "b1", "c8", "str")


@st.composite
def values(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Draw the values of an array."""
    size = int(np.prod(shape))
    kind = draw(st.sampled_from(DTYPES))
    if kind == "str":
        items = draw(st.lists(texts, min_size=size, max_size=size))
        result = np.empty(size, object)
        result[:] = items
        return result.reshape(shape)
    dtype = np.dtype(kind)
    low = 0 if dtype.kind in "ub" else -100
    numbers = draw(st.lists(st.integers(low, 100), min_size=size, max_size=size))
    return np.array(numbers, "i8").astype(dtype).reshape(shape)


@st.composite
def arrays(draw: st.DrawFn, sizes: dict[str, int]) -> Array:
    """Draw an array of a group whose dimensions have these sizes."""
    dims = draw(st.lists(st.sampled_from(DIMENSIONS), max_size=3, unique=True))
    shape = tuple(sizes[dim] for dim in dims)
    data = draw(values(shape))
    chunks = tuple(draw(st.integers(1, max(1, size))) for size in shape)
    attrs = dict(draw(attributes))
    missing: float | None = None
    if data.dtype.kind in "iuf":
        missing = draw(st.none() | st.integers(0, 100))
        if missing is not None and data.dtype.kind == "f":
            missing = draw(st.sampled_from([float(missing), float("nan")]))
        attrs |= draw(st.sampled_from([{}, {"scale_factor": 0.5}, {"add_offset": 2}]))
    return Array(data, dims, attrs, missing, chunks)


@st.composite
def times(draw: st.DrawFn, size: int) -> Array:
    """Draw an array of encoded times, or of durations."""
    units = ["days since 2000-01-01", "hours since 1850-01-01T06:00:00", "seconds since 1970-01-01"]
    attrs: dict[str, Any] = {"units": draw(st.sampled_from(units))}
    attrs["calendar"] = draw(
        st.sampled_from(["standard", "noleap", "360_day", "proleptic_gregorian"])
    )
    if DECODES_TIMEDELTAS and draw(st.booleans()):
        attrs = {"units": draw(st.sampled_from(["days", "seconds"]))}
    numbers = draw(st.lists(st.integers(0, 20_000), min_size=size, max_size=size))
    return Array(np.array(numbers, draw(st.sampled_from(["i4", "i8", "f8"]))), ("time",), attrs)


@st.composite
def groups(draw: st.DrawFn, sizes: dict[str, int], depth: int) -> Group:
    """Draw a group and what is below it; a dimension has one size in the whole hierarchy."""
    members: dict[str, Group | Array] = {}
    for name in draw(st.lists(st.sampled_from(ARRAY_NAMES), max_size=3, unique=True)):
        members[name] = draw(arrays(sizes))
    has_times: bool = draw(st.booleans())
    if has_times:
        members["when"] = draw(times(sizes["time"]))
    for dim in draw(st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True)):
        # The same wherever it is: what differs is the subject of test_alignment.py.
        members[dim] = Array(np.arange(sizes[dim]) * 1.5, (dim,), {"axis": dim})
    has_reference: bool = draw(st.booleans())
    if members and has_reference:
        referring, referred = (draw(st.sampled_from(sorted(members))) for _ in range(2))
        node = members[referring]
        if isinstance(node, Array):
            attrs = {**node.attrs, "coordinates": f"{referred} absent"}
            members[referring] = Array(node.values, node.dims, attrs, node.missing, node.chunks)
    if depth:
        for name in draw(st.lists(st.sampled_from(GROUP_NAMES), max_size=2, unique=True)):
            members[name] = draw(groups(sizes, depth - 1))
    return Group(members, draw(attributes))


@st.composite
def stores(draw: st.DrawFn) -> tuple[ZarrFormat, Contents]:
    """Draw a store without conventions."""
    sizes = {dim: draw(st.integers(0, 4)) for dim in DIMENSIONS}
    # Times of which there are none cannot be decoded by all versions of xarray.
    sizes["time"] = max(1, sizes["time"])
    root = draw(groups(sizes, depth=2))
    zarr_format: ZarrFormat = draw(st.sampled_from([2, 3]))
    return zarr_format, build(root, zarr_format, consolidated=draw(st.booleans()))


def group_paths(contents: Contents) -> list[str]:
    """Return the paths of all groups."""
    documents = {
        key: json.loads(value)
        for key, value in contents.items()
        if key.rpartition("/")[2] in (".zgroup", "zarr.json")
    }
    return [
        key.rpartition("/")[0]
        for key, document in documents.items()
        if document.get("node_type", "group") == "group"
    ]


@given(stores())
@stable
def test_any_store_opens_identically(drawn: tuple[ZarrFormat, Contents]) -> None:
    _zarr_format, contents = drawn
    store = memory_store(contents)
    compare(xr.open_groups, store)
    compare(xr.open_datatree, store)


@given(stores(), st.data())
@stable
def test_any_group_opens_identically(
    drawn: tuple[ZarrFormat, Contents], data: st.DataObject
) -> None:
    zarr_format, contents = drawn
    store = memory_store(contents)
    options = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "consolidated": st.sampled_from([None, False]),
                "zarr_format": st.sampled_from([None, zarr_format]),
                "mask_and_scale": st.booleans(),
                "decode_times": st.booleans(),
                "decode_coords": st.sampled_from([True, False, "all"]),
                "drop_variables": st.lists(st.sampled_from(ARRAY_NAMES), max_size=2),
                "chunks": st.sampled_from([None, {}, -1]),
            },
        )
    )
    group = data.draw(st.sampled_from(group_paths(contents)))
    compare(xr.open_dataset, store, group=group, **options)


@given(stores())
@stable
def test_any_store_is_the_same_by_all_ways(drawn: tuple[ZarrFormat, Contents]) -> None:
    _zarr_format, contents = drawn
    store = memory_store(contents)
    groups_of = opened(xr.open_groups, store)
    tree = opened(xr.open_datatree, store)
    assert sorted(node.path for node in tree.subtree) == sorted(groups_of)
    assert sorted(groups_of) == sorted(f"/{path}" for path in group_paths(contents))
    for path, dataset in groups_of.items():
        assert_same(opened(xr.open_dataset, store, group=path), dataset)
    assert_same(tree, xr.DataTree.from_dict(groups_of))
