"""The `spatial` convention: coordinates of gridded imagery that follow from a transform."""

import json
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyproj
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup import XGroupDimensionWarning, XGroupResolutionWarning
from zarr_xgroup.errors import XGroupMetadataError, XGroupReferenceError
from zarr_xgroup.tests.builders import (
    Json,
    ZarrFormat,
    declaring,
    opened,
    opened_with_warnings,
    recording_folder,
    without_principal,
)
from zarr_xgroup.tests.documents import ALL_FORMS, array, committed, group, write
from zarr_xgroup.tests.samples import sample

Form: TypeAlias = tuple[ZarrFormat, bool]

NAME = "spatial_test"

TRANSFORM = [10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0]
ROTATED = [8.0, 6.0, 500_000.0, 6.0, -8.0, 5_000_000.0]
OFFSET = {"pixel": 0.5, "node": 0.0}

CREATES_INDEXES_OPTIONALLY = Version("2025.11") <= Version(xr.__version__)
without_indexes = pytest.mark.skipif(
    not CREATES_INDEXES_OPTIONALLY, reason="this xarray always builds default indexes"
)
some = settings(derandomize=True, deadline=None, max_examples=30)


# Documents.


def spatial(
    transform: Any = None,
    dimensions: Any = ("y", "x"),
    code: str | None = None,
    **more: Any,
) -> Json:
    """Return attributes that declare the convention; `more` is without its prefix."""
    attributes = declaring("spatial", "proj")
    for key, value in (("dimensions", dimensions), ("transform", transform)):
        if value is not None:
            attributes[f"spatial:{key}"] = list(value) if isinstance(value, tuple) else value
    if code is not None:
        attributes["proj:code"] = code
    return {**attributes, **{f"spatial:{key}": value for key, value in more.items()}}


def layout(*items: Json, **attributes: Any) -> Json:
    """Return attributes of a group that has the layout of a pyramid."""
    declared = spatial(**attributes)
    declared["zarr_conventions"] += declaring("multiscales")["zarr_conventions"]
    return {**declared, "multiscales": {"layout": list(items)}}


def derived(
    asset: str, source: str, scale: Sequence[float] | None, translation: Any = None
) -> Json:
    """Return an item of a layout that is told relative to another one."""
    relation: Json = {} if scale is None else {"scale": list(scale)}
    if translation is not None:
        relation["translation"] = list(translation)
    return {"asset": asset, "derived_from": source, "transform": relation}


def one_array(attributes: Json, shape: Sequence[int] = (2, 3), dims: Any = ("y", "x")) -> Any:
    """Return the documents of a store whose root has attributes and one array `a`."""
    return {"": group(attributes), "a": array(shape, dims)}


def open_one(
    tmp_path: Path, documents: Mapping[str, Json], data: Any = None, **options: Any
) -> xr.Dataset:
    """Open a group of a store, of which nothing must be told."""
    store = write(tmp_path / "store.zarr", documents, data)
    dataset: xr.Dataset = opened(xr.open_dataset, store, **options)
    return dataset


# What must come out.


def centres(origin: float, step: float, size: int, offset: float = 0.5) -> list[float]:
    """Return the centres of cells, by the arithmetic of Python's floats."""
    return [origin + step * (i + offset) for i in range(size)]


def along(transform: Sequence[float], shape: Sequence[int], offset: float = 0.5) -> Any:
    """Return the coordinates of rows and of columns of a grid that is not rotated."""
    a, b, c, d, e, f = transform
    assert b == d == 0
    return centres(f, e, shape[0], offset), centres(c, a, shape[1], offset)


def assert_exactly(coordinate: xr.DataArray, expected: Any, dims: Sequence[str]) -> None:
    assert coordinate.dims == tuple(dims)
    assert coordinate.dtype == np.float64
    np.testing.assert_array_equal(coordinate.values, np.asarray(expected, np.float64))


def assert_grid(
    variable: xr.DataArray,
    transform: Sequence[float],
    offset: float = 0.5,
    dims: tuple[str, str] = ("y", "x"),
) -> None:
    """Assert that an array has the 1-D coordinates of a transform and nothing but these."""
    y, x = along(transform, [variable.sizes[name] for name in dims], offset)
    assert_exactly(variable.coords[dims[0]], y, dims[:1])
    assert_exactly(variable.coords[dims[1]], x, dims[1:])
    assert set(variable.coords) <= {*dims, "spatial_ref"}


#: What is told where no coordinates follow from anything.
NOTHING = (
    "spatial is declared, but there is neither spatial:transform, nor spatial:bbox, nor 1-D arrays "
    "y, x: these dimensions have no coordinates from it"
)


# The store of the repository.

DEGREES = [0.1, 0.0, -0.7, 0.0, -0.3, 60.2]

#: By group, the array looked at: its transform, and where the centre of a cell is.
PLAIN: dict[str, tuple[str, tuple[str, str], list[float], float]] = {
    "array_level": ("image", ("y", "x"), TRANSFORM, 0.5),
    "inherited": ("red", ("lat", "lon"), DEGREES, 0.5),
    "node": ("height", ("lat", "lon"), [45.0, 0, -180.0, 0, -45.0, 90.0], 0.0),
    "orders": ("straight", ("y", "x"), TRANSFORM, 0.5),
    "pyramid/r10m": ("b02", ("y", "x"), TRANSFORM, 0.5),
    "pyramid/r20m": ("b02", ("y", "x"), [20.0, 0, 500_000.0, 0, -20.0, 5_000_000.0], 0.5),
    "pyramid/r60m": ("b03", ("y", "x"), [60.0, 0, 500_000.0, 0, -60.0, 5_000_000.0], 0.5),
    "chain/full": ("image", ("y", "x"), TRANSFORM, 0.5),
    "chain/half": ("image", ("y", "x"), [20.0, 0, 500_000.0, 0, -20.0, 5_000_000.0], 0.5),
    "chain/sixth": ("image", ("y", "x"), [60.0, 0, 500_000.0, 0, -60.0, 5_000_000.0], 0.5),
    "chain/tiny": ("image", ("y", "x"), [180.0, 0, 500_000.0, 0, -120.0, 5_000_000.0], 0.5),
    "chain/shifted": ("image", ("y", "x"), [40.0, 0, 500_020.0, 0, -20.0, 4_999_990.0], 0.5),
    "bbox": ("height", ("lat", "lon"), [30.0, 0, -180.0, 0, -30.0, 90.0], 0.5),
    "bbox_node": ("height", ("lat", "lon"), [45.0, 0, -180.0, 0, -45.0, 90.0], 0.0),
    "unnamed": ("image", ("y", "x"), TRANSFORM, 0.5),
}

#: What the store's arrays without names of dimensions make the reader say.
UNNAMED_TOLD = [
    f"/unnamed/{name}#{{pointer}}: gives axes {axes} of shape {shape} no usable name; "
    f"its dimensions are called {dims}"
    for name, axes, shape, dims in (
        ("image", [0, 1], [4, 6], ["y", "x"]),
        ("series", [0, 1, 2], [3, 4, 6], ["phony_dim_0", "y", "x"]),
    )
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return committed(NAME, tmp_path / f"{NAME}.zarr", (3, False))


@pytest.mark.parametrize("path", [path for path in PLAIN if path != "unnamed"])
def test_coordinates_are_centres_of_cells(store: Path, path: str) -> None:
    name, dims, transform, offset = PLAIN[path]
    dataset = opened(xr.open_dataset, store, group=path)
    y, x = along(transform, [dataset.sizes[dim] for dim in dims], offset)
    assert_exactly(dataset[name].coords[dims[0]], y, dims[:1])
    assert_exactly(dataset[name].coords[dims[1]], x, dims[1:])


@ALL_FORMS
def test_all_forms_of_the_store_give_the_same(
    store: Path, tmp_path: Path, form: tuple[ZarrFormat, bool]
) -> None:
    theirs, _told = opened_with_warnings(xr.open_groups, store)
    other = committed(NAME, tmp_path / "other.zarr", form)
    ours, told = opened_with_warnings(xr.open_groups, other)
    assert set(ours) == set(theirs)
    for path, dataset in ours.items():
        xr.testing.assert_identical(dataset, theirs[path])
        for name, variable in dataset.variables.items():
            assert variable.dtype == theirs[path].variables[name].dtype
    pointer = "/dimension_names" if form[0] == 3 else "/attributes/_ARRAY_DIMENSIONS"
    assert [str(warning) for warning in told] == [
        *(text.format(pointer=pointer) for text in UNNAMED_TOLD),
    ]
    assert {type(warning) for warning in told} == {XGroupDimensionWarning}


def test_arrays_without_a_principal_convention(store: Path) -> None:
    paths = without_principal(xr.open_datatree, store)
    # Those of a group that declares one are not told, nor those that have all coordinates.
    assert paths == []


def test_tree_has_the_coordinates_of_each_group(store: Path) -> None:
    tree, _told = opened_with_warnings(xr.open_datatree, store)
    groups, _told = opened_with_warnings(xr.open_groups, store)
    for path, dataset in groups.items():
        node = tree[path].to_dataset(inherit=False)
        assert set(node.coords) == set(dataset.coords)
        xr.testing.assert_identical(node, dataset)


def test_grandchildren_get_nothing(store: Path) -> None:
    dataset = opened(xr.open_dataset, store, group="inherited/below")
    assert set(dataset.variables) == {"red"}


@pytest.mark.parametrize(
    ("path", "x", "y"),
    [
        ("placeholder", [500_005 + 10 * i for i in range(6)], [4_999_995, 4_999_985]),
        ("real", [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], [9.0, 7.0]),
    ],
)
def test_real_coordinate_arrays_are_used(
    store: Path, path: str, x: list[float], y: list[float]
) -> None:
    dataset, told = opened_with_warnings(xr.open_dataset, store, group=path)
    assert told == []
    assert dataset["x"].values.tolist() == x
    assert dataset["y"].values.tolist()[:2] == y
    assert dataset["x"].dtype == (np.int64 if path == "placeholder" else np.float64)
    assert {"x", "y"} <= set(dataset.xindexes)


def test_placeholder_alone_gives_nothing_silently(store: Path) -> None:
    dataset = opened(xr.open_dataset, store, group="placeholder_bare")
    assert not {"x", "y"} & set(dataset.variables)


def test_names_of_dimensions_come_from_the_convention(store: Path) -> None:
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="unnamed")
    assert len(told) == 2
    assert dataset["image"].dims == ("y", "x")
    assert dataset["series"].dims == ("phony_dim_0", "y", "x")
    for name in dataset.data_vars:
        assert_grid(dataset.reset_coords(drop=True)[name], TRANSFORM)


# Exact values, on axes.

magnitude = st.floats(1e-6, 1e6)
origin = st.floats(-1e7, 1e7)
registration = st.sampled_from(["pixel", "node"])


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Give folders that do not exist, without end: one for each example."""
    folder = tmp_path_factory.mktemp("examples")
    return lambda: Path(tempfile.mkdtemp(dir=folder)) / "store.zarr"


def open_example(
    scratch: Callable[[], Path], documents: Mapping[str, Json], **options: Any
) -> xr.Dataset:
    dataset: xr.Dataset = opened(
        xr.open_dataset, write(scratch(), documents), cache=False, **options
    )
    return dataset


def test_integers_in_the_document_give_floats(tmp_path: Path) -> None:
    transform = [3, 0, 2**53, 0, -1, 10]
    dataset = open_one(tmp_path, one_array(spatial(transform)))
    assert_exactly(dataset["y"], [9.5, 8.5], ["y"])
    assert_exactly(dataset["x"], [2**53 + 1.5, 2**53 + 4.5, 2**53 + 7.5], ["x"])


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 3)])
def test_grids_of_hardly_any_cells(tmp_path: Path, shape: tuple[int, int]) -> None:
    dataset = open_one(tmp_path, one_array(spatial(TRANSFORM), shape))
    assert_grid(dataset["a"], TRANSFORM)


# Huge grids.

HUGE = 200_000


def huge(transform: Sequence[float]) -> dict[str, Json]:
    document = array((HUGE, HUGE), ("y", "x"), spatial(transform), dtype="uint8")
    document["chunk_grid"]["configuration"]["chunk_shape"] = [1024, 1024]
    return {"": group(), "a": document}


@pytest.fixture
def cost(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Measure how many bytes a call takes at most, besides what Python needs the first time."""
    warm_up = write(tmp_path / "small.zarr", one_array(spatial(ROTATED)))
    opened(xr.open_dataset, warm_up)["xc"].values.sum()
    opened(xr.open_dataset, warm_up)["xc"].isel(y=[0], x=[1]).values.sum()

    def measure(function: Callable[..., Any], *arguments: Any, **options: Any) -> int:
        tracemalloc.clear_traces()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        result = function(*arguments, **options)
        used = tracemalloc.get_traced_memory()[1] - before
        del result
        return used

    tracemalloc.start()
    yield measure
    tracemalloc.stop()


def test_huge_rotated_grid_opens_in_kilobytes(tmp_path: Path, cost: Callable[..., int]) -> None:
    store = write(tmp_path / "huge.zarr", huge(ROTATED))
    assert cost(opened, xr.open_dataset, store) < 400_000


@without_indexes
def test_huge_grid_opens_in_kilobytes(tmp_path: Path, cost: Callable[..., int]) -> None:
    store = write(tmp_path / "huge.zarr", huge(TRANSFORM))
    options = {"create_default_indexes": False}
    assert cost(opened, xr.open_dataset, store, **options) < 400_000
    dataset = opened(xr.open_dataset, store, **options)
    x = dataset["x"].variable
    assert cost(lambda: x[HUGE - 1].values) < 40_000
    assert float(x[HUGE - 1].values) == 500_000.0 + 10.0 * (HUGE - 0.5)


@pytest.mark.parametrize(
    ("key", "most"),
    [
        ({"y": HUGE - 1, "x": 7}, 40_000),
        ({"y": slice(5, None, HUGE), "x": slice(0, 4)}, 40_000),
        # xarray itself writes out the positions along both axes before it selects some.
        ({"y": [3, HUGE - 1], "x": [0, HUGE - 2]}, 8 * 8 * HUGE),
        (
            {"y": xr.DataArray([3, 9], dims="p"), "x": xr.DataArray([0, 1], dims="p")},
            8 * 8 * HUGE,
        ),
        # One row: as many numbers as it has cells, and what the arithmetic takes.
        ({"y": 0}, 6 * 8 * HUGE),
    ],
    ids=["one", "slices", "lists", "points", "row"],
)
def test_value_of_a_huge_rotated_grid_costs_one_value(
    tmp_path: Path, cost: Callable[..., int], key: dict[str, Any], most: int
) -> None:
    dataset = opened(xr.open_dataset, write(tmp_path / "huge.zarr", huge(ROTATED)))
    assert cost(lambda: dataset["xc"].isel(key).values) < most
    rows, columns = (np.arange(HUGE)[_plain(key.get(name, slice(None)))] for name in ("y", "x"))
    if np.ndim(rows) and np.ndim(columns) and not isinstance(key["y"], xr.DataArray):
        rows, columns = np.meshgrid(rows, columns, indexing="ij")
    a, b, c, *_rest = ROTATED
    np.testing.assert_array_equal(
        dataset["xc"].isel(key).values, a * (columns + 0.5) + b * (rows + 0.5) + c
    )


def _plain(key: Any) -> Any:
    return key.values if isinstance(key, xr.DataArray) else key


def test_dask_chunks_of_rotated_coordinates_of_a_sharded_array(tmp_path: Path) -> None:
    pytest.importorskip("dask.array")
    document = array((8, 8), ("y", "x"), spatial(ROTATED))
    document["chunk_grid"]["configuration"]["chunk_shape"] = [4, 4]
    little = [{"name": "bytes", "configuration": {"endian": "little"}}]
    sharding = {
        "chunk_shape": [2, 2],
        "codecs": little,
        "index_codecs": [*little, {"name": "crc32c"}],
        "index_location": "end",
    }
    document["codecs"] = [{"name": "sharding_indexed", "configuration": sharding}]
    dataset = open_one(tmp_path, {"": group(), "a": document}, chunks={})
    assert dataset["xc"].chunks == dataset["yc"].chunks == dataset["a"].chunks
    assert set(dataset.chunks) == {"y", "x"}


# What an open reads.


@pytest.mark.parametrize("path", ["array_level", "rotated", "bbox", "chain/sixth"])
def test_open_reads_no_chunk_of_computed_coordinates(tmp_path: Path, path: str) -> None:
    store = recording_folder(committed(NAME, tmp_path, (3, False)))
    dataset = opened(xr.open_dataset, store, group=path)
    assert set(dataset.coords) & {"xc", "x", "lon"}
    assert not store.chunk_gets


@without_indexes
def test_open_does_not_compare_real_coordinates_with_the_transform(tmp_path: Path) -> None:
    store = recording_folder(committed(NAME, tmp_path, (3, False)))
    dataset = opened(xr.open_dataset, store, group="real", create_default_indexes=False)
    assert not store.chunk_gets
    assert dataset["y"].values.tolist() == [9.0, 7.0, 4.0, 0.0]
    assert store.chunk_gets == {"real/y/c/0": 1}


# Pyramids.


def test_layout_of_the_document_of_the_convention(tmp_path: Path) -> None:
    sizes = {"r10m": 1200, "r20m": 600, "r60m": 200}
    documents = {"": sample("spatial_multiscales_group")}
    for asset, size in sizes.items():
        documents |= {asset: group(), f"{asset}/b02": array((size, size), ("y", "x"))}
    datasets = opened(xr.open_groups, write(tmp_path / "store.zarr", documents))
    for asset in sizes:
        metres = float(asset[1:-1])
        transform = [metres, 0, 500_000.0, 0, -metres, 5_000_000.0]
        assert_grid(datasets[f"/{asset}"]["b02"], transform)


def two_levels(item: Json, **attributes: Any) -> dict[str, Json]:
    """Return a pyramid of groups ``fine`` and ``coarse``, the latter by an item of the layout."""
    items = [{"asset": "fine", "spatial:transform": TRANSFORM}, item]
    return {
        "": group(layout(*items, **attributes)),
        "fine": group(),
        "fine/a": array((4, 6), ("y", "x")),
        "coarse": group(),
        "coarse/a": array((2, 3), ("y", "x")),
    }


TWICE = [20.0, 0.0, 500_000.0, 0.0, -20.0, 5_000_000.0]


@pytest.mark.parametrize(
    "item",
    [
        derived("coarse", "fine", [2, 2]),
        derived("coarse", "fine", [2, 2], [0, 0]),
        derived("/coarse/", "fine/", [2, 2]),
        {"asset": "coarse", "derived_from": "fine", "spatial:transform": TWICE},
        # What is absolute counts, not what is relative.
        {**derived("coarse", "fine", [3, 3]), "spatial:transform": TWICE},
        {"asset": "coarse/a", "spatial:transform": TWICE},
    ],
)
def test_level_however_it_is_written(tmp_path: Path, item: Json) -> None:
    dataset = open_one(tmp_path, two_levels(item), group="coarse")
    assert_grid(dataset["a"], TWICE)


def test_levels_at_a_distance_from_the_layout(tmp_path: Path) -> None:
    item = {"asset": "levels/coarse", "spatial:transform": TWICE}
    documents = {
        "": group(layout(item)),
        "levels": group(),
        "levels/coarse": group(),
        "levels/coarse/a": array((2, 3), ("y", "x")),
    }
    assert_grid(open_one(tmp_path, documents, group="levels/coarse")["a"], TWICE)


def test_transform_of_the_layouts_group_is_not_that_of_every_level(tmp_path: Path) -> None:
    items = [{"asset": "fine"}, {"asset": "coarse"}]
    documents = two_levels({"asset": "coarse"})
    documents[""] = group(layout(*items, transform=TRANSFORM))
    dataset, told = opened_with_warnings(
        xr.open_dataset, write(tmp_path / "s", documents), group="coarse"
    )
    assert set(dataset.coords) == set()
    assert [str(warning) for warning in told] == [f"/coarse/a: {NOTHING}"]


def two_sizes(attributes: Sequence[Json], dims: Any = ("y", "x")) -> dict[str, Json]:
    return {
        "": group(),
        "a": array((4, 6), dims, attributes[0]),
        "b": array((2, 3), dims, attributes[1]),
    }


@pytest.mark.parametrize("dims", [("y", "x"), None], ids=["named", "unnamed"])
def test_arrays_of_two_sizes_in_one_group(tmp_path: Path, dims: Any) -> None:
    documents = two_sizes([spatial(TRANSFORM), spatial(TWICE)], dims)
    dataset, told = opened_with_warnings(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    assert {type(warning) for warning in told} == {XGroupDimensionWarning}
    assert dataset["a"].dims == ("y", "x")
    assert dataset["b"].dims == ("y_b", "x_b")
    assert_grid(dataset["a"].reset_coords(drop=True), TRANSFORM)
    assert_grid(dataset["b"].reset_coords(drop=True), TWICE, dims=("y_b", "x_b"))
    assert dataset["x_b"].attrs["axis"] == "X"
    assert dataset["y_b"].attrs["axis"] == "Y"


def test_levels_that_are_arrays_of_the_same_dimensions(tmp_path: Path) -> None:
    items = [{"asset": "a", "spatial:transform": TRANSFORM}, derived("b", "a", [2, 2])]
    documents = {**two_sizes([{}, {}]), "": group(layout(*items))}
    store = write(tmp_path / "store.zarr", documents)
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert {type(warning) for warning in told} == {XGroupDimensionWarning}
    assert_grid(dataset["b"].reset_coords(drop=True), TWICE, dims=("y_b", "x_b"))
    assert without_principal(xr.open_dataset, store) == []


def test_rotated_grid_with_axes_in_two_orders_has_one_pair_of_coordinates(tmp_path: Path) -> None:
    documents = {
        "": group(spatial(ROTATED)),
        "a": array((4, 6), ("y", "x")),
        "b": array((6, 4), ("x", "y")),
    }
    dataset = open_one(tmp_path, documents)
    assert set(dataset.coords) == {"xc", "yc"}
    assert set(dataset["b"].coords) == {"xc", "yc"}


# Real coordinates.


def test_one_real_coordinate_array_leaves_the_other_to_the_transform(tmp_path: Path) -> None:
    documents = {**one_array(spatial(TRANSFORM)), "y": array((2,), ("y",))}
    store = write(tmp_path / "store.zarr", documents, {"y": [7.0, 6.0]})
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert told == []
    assert_exactly(dataset["y"], [7.0, 6.0], ["y"])
    assert_exactly(dataset["x"], centres(500_000.0, 10.0, 3), ["x"])


def test_real_coordinates_of_an_unknown_type_of_transform(tmp_path: Path) -> None:
    documents = {
        **one_array(spatial(transform_type="rpc")),
        "y": array((2,), ("y",)),
        "x": array((3,), ("x",)),
    }
    dataset = open_one(tmp_path, documents, {"y": [7.0, 6.0], "x": [1.0, 2.0, 3.0]})
    assert dataset["y"].values.tolist() == [7.0, 6.0]


def test_attributes_of_real_coordinates_stay_and_are_completed(tmp_path: Path) -> None:
    documents = {
        **one_array(spatial()),
        "y": array((2,), ("y",), {"units": "km", "axis": "Q"}),
        "x": array((3,), ("x",)),
    }
    dataset = open_one(tmp_path, documents)
    assert dataset["y"].attrs == {"units": "km", "axis": "Q"}
    assert dataset["x"].attrs == {"axis": "X"}


# Bounding boxes.


@some
@given(
    edges=st.tuples(origin, origin, magnitude, magnitude),
    shape=st.tuples(st.integers(2, 30), st.integers(2, 30)),
    registration=registration,
)
def test_grid_fills_its_bounding_box(
    scratch: Callable[[], Path],
    edges: tuple[float, float, float, float],
    shape: tuple[int, int],
    registration: str,
) -> None:
    left, bottom, width, height = edges
    right, top = left + width, bottom + height
    assume(left < right)
    assume(bottom < top)
    attributes = spatial(bbox=[left, bottom, right, top], registration=registration)
    dataset = open_example(scratch, one_array(attributes, shape))
    rows, columns = (size if registration == "pixel" else size - 1 for size in shape)
    transform = [(right - left) / columns, 0, left, 0, -(top - bottom) / rows, top]
    assert_grid(dataset["a"], transform, OFFSET[registration])
    # The same box beside the transform that it gives is no contradiction.
    open_example(scratch, one_array({**attributes, "spatial:transform": transform}, shape))


def test_box_of_a_rotated_grid_is_that_of_its_corners(tmp_path: Path) -> None:
    # Columns go by (8, 6), rows by (6, -8): the corners of 2 x 3 cells of 10 m.
    box = [500_000.0, 4_999_984.0, 500_036.0, 5_000_018.0]
    open_one(tmp_path, one_array(spatial(ROTATED, bbox=box)))


@pytest.mark.parametrize(
    "attributes",
    [
        spatial(bbox=[0.0, 0.0, 0.0, 0.0]),
        spatial(bbox=[0, 0, 0, 0]),
    ],
)
def test_nothing_but_a_placeholder(tmp_path: Path, attributes: Json) -> None:
    assert set(open_one(tmp_path, one_array(attributes)).variables) == {"a"}


@pytest.mark.parametrize(
    "attributes",
    [
        spatial(bbox=None),
        spatial(),
        spatial(transform_type="affine", registration="node", shape=[2, 3]),
    ],
)
def test_nothing_to_compute_coordinates_from(tmp_path: Path, attributes: Json) -> None:
    store = write(tmp_path / "store.zarr", one_array(attributes))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert set(dataset.variables) == {"a"}
    assert [str(warning) for warning in told] == [f"/a: {NOTHING}"]


def test_placeholder_beside_a_transform_is_no_contradiction(tmp_path: Path) -> None:
    attributes = spatial(TRANSFORM, bbox=[0.0, 0.0, 0.0, 0.0])
    assert_grid(open_one(tmp_path, one_array(attributes))["a"], TRANSFORM)


def test_null_is_none(tmp_path: Path) -> None:
    attributes = spatial(TRANSFORM, registration=None, shape=None, bbox=None, transform_type=None)
    assert_grid(open_one(tmp_path, one_array(attributes))["a"], TRANSFORM)


def test_stale_transform_of_stac_is_ignored(tmp_path: Path) -> None:
    stale = {"proj:transform": [60.0, 0, 1.0, 0, -60.0, 2.0], "proj:bbox": [1.0, 2.0, 3.0, 4.0]}
    documents = {"": group(), "a": array((2, 3), ("y", "x"), {**spatial(), **stale})}
    dataset, told = opened_with_warnings(xr.open_dataset, write(tmp_path / "stale", documents))
    assert set(dataset.variables) == {"a"}
    assert [str(warning) for warning in told] == [f"/a: {NOTHING}"]
    documents["a"]["attributes"] |= spatial(TRANSFORM)
    assert_grid(open_one(tmp_path, documents)["a"], TRANSFORM)


# Names of dimensions.


@pytest.mark.parametrize(
    ("shape", "names", "told_shape", "dims"),
    [
        ((4, 6), None, None, ("y", "x")),
        ((4, 6), None, [4, 6], ("y", "x")),
        ((4, 4), None, [4, 4], ("y", "x")),
        ((4, 6), ["y", None], None, ("y", "x")),
        ((3, 4, 6), ["time", None, None], [4, 6], ("time", "y", "x")),
        ((3, 4, 6), ["time", None, "x"], None, ("time", "y", "x")),
        ((3, 2, 4, 6), [None, "band", None, None], [4, 6], ("phony_dim_0", "band", "y", "x")),
    ],
)
def test_missing_names_that_the_convention_settles(
    tmp_path: Path,
    shape: tuple[int, ...],
    names: list[str | None] | None,
    told_shape: list[int] | None,
    dims: tuple[str, ...],
) -> None:
    documents = one_array(spatial(TRANSFORM, shape=told_shape), shape, names)
    dataset, told = opened_with_warnings(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    assert dataset["a"].dims == dims
    assert [type(warning) for warning in told] == [XGroupDimensionWarning]
    assert str(told[0]).endswith(f"no usable name; its dimensions are called {list(dims)}")
    assert_grid(dataset["a"], TRANSFORM)


@pytest.mark.parametrize("told_shape", [None, [4, 4]])
def test_missing_names_that_the_convention_does_not_settle(
    tmp_path: Path, told_shape: list[int] | None
) -> None:
    documents = one_array(spatial(TRANSFORM, shape=told_shape), (4,), None)
    dataset, _told = opened_with_warnings(
        xr.open_dataset, write(tmp_path / "store.zarr", documents)
    )
    assert not {"x", "y"} & set(dataset["a"].dims)
    assert set(dataset.coords) == set()


@ALL_FORMS
def test_names_are_found_in_any_case(tmp_path: Path, form: Form) -> None:
    documents = one_array(spatial(TRANSFORM, ("Y", "x")), dims=("y", "X"))
    store = write(tmp_path / "store.zarr", documents, form=form)
    dataset = opened(xr.open_dataset, store)
    assert_grid(dataset["a"], TRANSFORM, dims=("y", "X"))


def test_names_that_differ_in_case_only_are_told_apart(tmp_path: Path) -> None:
    attributes = spatial(TRANSFORM, ("Y", "X"))
    documents = one_array(attributes, (2, 5, 3, 7), ("y", "Y", "x", "X"))
    assert_grid(open_one(tmp_path, documents)["a"], TRANSFORM, dims=("Y", "X"))


# What is declared, and where.


def test_declaration_on_the_array_is_enough_for_attributes_of_the_group(tmp_path: Path) -> None:
    attributes = spatial(TRANSFORM)
    documents = {
        "": group({key: attributes[key] for key in attributes if key != "zarr_conventions"}),
        "a": array((2, 3), ("y", "x"), {"zarr_conventions": attributes["zarr_conventions"]}),
        "b": array((2, 3), ("v", "u")),
    }
    store = write(tmp_path / "store.zarr", documents)
    assert_grid(opened(xr.open_dataset, store)["a"], TRANSFORM)
    assert without_principal(xr.open_dataset, store) == ["/b"]


def test_attributes_without_a_declaration_mean_nothing(tmp_path: Path) -> None:
    attributes = {**spatial(TRANSFORM), "zarr_conventions": []}
    assert set(open_one(tmp_path, one_array(attributes)).variables) == {"a"}


def test_two_grids_of_one_size_in_one_group(tmp_path: Path) -> None:
    documents = {
        "": group(),
        "a": array((2, 3), ("y", "x"), spatial(TRANSFORM)),
        "b": array((2, 3), ("y", "x"), spatial(TWICE)),
    }
    dataset, told = opened_with_warnings(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    # A dimension has one coordinate of its name: the second grid has dimensions of its own.
    for name, dims, transform in (("a", ("y", "x"), TRANSFORM), ("b", ("y_b", "x_b"), TWICE)):
        assert dataset[name].dims == dims
        for dim, values in zip(dims, along(transform, (2, 3)), strict=True):
            assert_exactly(dataset[name].coords[dim], values, [dim])
    (warning,) = told
    assert type(warning) is XGroupDimensionWarning
    assert str(warning) == (
        "/b: other arrays of the group have other coordinate values along its dimensions; "
        "renamed 'y' -> 'y_b', 'x' -> 'x_b'"
    )


@pytest.mark.parametrize("rotated", ["a", "b"])
def test_a_rotated_grid_beside_another_one_of_its_size(tmp_path: Path, rotated: str) -> None:
    turned, straight = spatial([10.0, 1.0, 0.0, 1.0, -10.0, 400.0]), spatial(TRANSFORM)
    documents = {"": group()} | {
        name: array((2, 3), ("y", "x"), turned if name in (rotated, "c") else straight)
        for name in "abc"
    }
    dataset, told = opened_with_warnings(xr.open_dataset, write(tmp_path / "store.zarr", documents))
    for name in "abc":
        y, x = dataset[name].dims
        is_turned = name in (rotated, "c")
        assert set(dataset[name].coords) == ({"yc", "xc"} if is_turned else {y, x})
    assert dataset["c"].dims == dataset[rotated].dims
    assert {type(warning) for warning in told} == {XGroupDimensionWarning}


# Attributes of the coordinates.


LONGITUDE = {"axis": "X", "standard_name": "longitude", "units": "degrees_east"}
LATITUDE = {"axis": "Y", "standard_name": "latitude", "units": "degrees_north"}
EASTING = {"axis": "X", "standard_name": "projection_x_coordinate", "units": "m"}
NORTHING = {"axis": "Y", "standard_name": "projection_y_coordinate", "units": "m"}


def described(variable: xr.DataArray) -> dict[str, Any]:
    return {key: value for key, value in variable.attrs.items() if key != "long_name"}


def test_coordinates_of_an_unknown_crs_are_axes(tmp_path: Path) -> None:
    dataset = open_one(tmp_path, one_array(spatial(TRANSFORM)))
    assert dataset["x"].attrs == {"axis": "X"}
    assert dataset["y"].attrs == {"axis": "Y"}


def test_2d_coordinates_are_no_axes(tmp_path: Path) -> None:
    dataset = open_one(tmp_path, one_array(spatial(ROTATED)))
    assert dataset["xc"].attrs == dataset["yc"].attrs == {}


@pytest.mark.parametrize(
    ("code", "x", "y"),
    [
        ("EPSG:4326", LONGITUDE, LATITUDE),
        ("OGC:CRS84", LONGITUDE, LATITUDE),
        ("EPSG:32633", EASTING, NORTHING),
    ],
)
def test_coordinates_are_described_by_their_crs(
    tmp_path: Path, code: str, x: dict[str, str], y: dict[str, str]
) -> None:
    dataset = open_one(tmp_path, one_array(spatial(TRANSFORM, code=code)))
    assert described(dataset["x"]) == x
    assert described(dataset["y"]) == y


def test_2d_coordinates_are_described_by_their_crs(tmp_path: Path) -> None:
    dataset = open_one(tmp_path, one_array(spatial(ROTATED, code="EPSG:4326")))
    for name, expected in (("xc", LONGITUDE), ("yc", LATITUDE)):
        assert described(dataset[name]) == {k: v for k, v in expected.items() if k != "axis"}


def test_rotated_pole_has_no_longitude(tmp_path: Path) -> None:
    pole = pyproj.CRS.from_cf(
        {
            "grid_mapping_name": "rotated_latitude_longitude",
            "grid_north_pole_latitude": 39.25,
            "grid_north_pole_longitude": -162.0,
        }
    )
    attributes = {**spatial(TRANSFORM), "proj:wkt2": pole.to_wkt()}
    dataset = open_one(tmp_path, one_array(attributes))
    assert dataset["x"].attrs["standard_name"] == "grid_longitude"
    assert dataset["y"].attrs["standard_name"] == "grid_latitude"


# What is told.


def told_of(tmp_path: Path, documents: Mapping[str, Json], **options: Any) -> Any:
    store = write(tmp_path / "store.zarr", documents)
    dataset, told = opened_with_warnings(xr.open_dataset, store, **options)
    assert all(type(warning) is XGroupResolutionWarning for warning in told)
    return dataset, told


WITHOUT = "/a was opened without"
OF_SPATIAL = "the coordinates of 'spatial'"


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"transform": "x"}, "spatial:transform: must be a list, got string"),
        (
            {"transform": [1, 2]},
            "spatial:transform: must be 6 finite numbers, got [1, 2]",
        ),
        (
            {"transform": [True, 0, 0, 0, -1, 0]},
            "spatial:transform: must be 6 finite numbers, got [true, 0, 0, 0, -1, 0]",
        ),
        (
            {"transform": [1, 0, 0, 0, "1", 0]},
            'spatial:transform: must be 6 finite numbers, got [1, 0, 0, 0, "1", 0]',
        ),
        (
            {"transform": [1, 0, 0, 0, 0, 0]},
            "spatial:transform: is degenerate: cells have no area",
        ),
        (
            {"transform": [2, 1, 0, 4, 2, 0]},
            "spatial:transform: is degenerate: cells have no area",
        ),
        (
            {"registration": "corner"},
            "spatial:registration: must be 'pixel' or 'node', got 'corner'",
        ),
        ({"registration": ["pixel"]}, "spatial:registration: must be a string, got list"),
        (
            {"transform_type": "rpc"},
            "spatial:transform_type: is 'rpc'; only 'affine' is known",
        ),
        ({"transform_type": 1}, "spatial:transform_type: must be a string, got number"),
        ({"transform": None, "bbox": "x"}, "spatial:bbox: must be a list, got string"),
        (
            {"transform": None, "bbox": [1, 2, 3]},
            "spatial:bbox: must be 4 finite numbers, got [1, 2, 3]",
        ),
        (
            {"transform": None, "bbox": [1, 0, 1, 5]},
            "spatial:bbox: spans no area for 2 x 3 cells",
        ),
        (
            {"transform": None, "bbox": [0, 5, 5, 0]},
            "spatial:bbox: spans no area for 2 x 3 cells",
        ),
        (
            {"transform": None, "bbox": [-1e308, -1e308, 1e308, 1e308]},
            "spatial:bbox: is degenerate: cells have no area",
        ),
    ],
)
def test_what_cannot_be_used_is_told_and_the_array_opens(
    tmp_path: Path, attributes: Json, text: str
) -> None:
    dataset, told = told_of(tmp_path, one_array(spatial(**{"transform": TRANSFORM, **attributes})))
    assert [str(warning) for warning in told] == [
        f"{WITHOUT} coordinates along y, x: /#/attributes/{text}"
    ]
    assert isinstance(told[0].error, XGroupMetadataError)
    assert told[0].paths == ("/a",)
    assert set(dataset.variables) == {"a"}
    assert dataset["a"].values.shape == (2, 3)


@pytest.mark.parametrize(
    ("shape", "box", "expected"),
    [
        ((1, 3), [0, 0, 5, 5], {"x": [0.0, 2.5, 5.0]}),
        ((1, 3), [0, 5, 5, 5], {"x": [0.0, 2.5, 5.0], "y": [5.0]}),
        ((3, 1), [0, 0, 5, 5], {"y": [5.0, 2.5, 0.0]}),
        ((3, 1), [7, 0, 7, 5], {"y": [5.0, 2.5, 0.0], "x": [7.0]}),
        ((1, 1), [7, 5, 7, 5], {"y": [5.0], "x": [7.0]}),
        ((1, 1), [0, 0, 5, 5], {}),
    ],
)
def test_a_bounding_box_of_a_single_row_or_column_of_nodes(
    tmp_path: Path, shape: tuple[int, int], box: list[int], expected: dict[str, list[float]]
) -> None:
    documents = one_array(spatial(bbox=box, registration="node", code="EPSG:32632"), shape)
    dataset, told = told_of(tmp_path, documents)
    found = {name: dataset[name].values.tolist() for name in ("y", "x") if name in dataset.coords}
    assert found == expected
    lost = [name for name in ("y", "x") if name not in expected]
    rows, columns = shape
    text = f"/#/attributes/spatial:bbox: spans no area for {rows} x {columns} cells"
    texts = [f"{WITHOUT} coordinates along {', '.join(lost)}: {text}"] if lost else []
    assert [str(warning) for warning in told] == texts
    assert "GeoTransform" not in dataset["spatial_ref"].attrs


ACROSS = [170.0, -10.0, -170.0, 10.0]


@pytest.mark.parametrize("transform", [None, [5.0, 0.0, 170.0, 0.0, -10.0, 10.0]])
@pytest.mark.parametrize("own", [(), ("x",)])
def test_a_bounding_box_across_the_antimeridian(
    tmp_path: Path, transform: list[float] | None, own: tuple[str, ...]
) -> None:
    attributes = spatial(transform, bbox=ACROSS, code="EPSG:4326")
    documents = one_array(attributes, (2, 4)) | {name: array((4,), (name,)) for name in own}
    dataset, told = told_of(tmp_path, documents)
    assert [str(warning) for warning in told] == []
    expected = [0.0] * 4 if own else [172.5, 177.5, 182.5, 187.5]
    assert dataset["x"].values.tolist() == expected
    assert dataset["y"].values.tolist() == [5.0, -5.0]
    assert not [
        it for it in zarr_xgroup.check(tmp_path / "store.zarr").mistakes if "box" in str(it)
    ]


@pytest.mark.parametrize("code", [None, "EPSG:32632"])
def test_a_bounding_box_that_ends_before_it_begins_on_no_globe(
    tmp_path: Path, code: str | None
) -> None:
    attributes = spatial(bbox=ACROSS) | {"proj:code": code}
    _dataset, told = told_of(tmp_path, one_array(attributes, (2, 4)))
    text = "/#/attributes/spatial:bbox: spans no area for 2 x 4 cells"
    assert [str(warning) for warning in told] == [f"{WITHOUT} coordinates along y, x: {text}"]


@pytest.mark.parametrize("key", ["transform", "bbox"])
def test_numbers_beyond_all_bounds(tmp_path: Path, key: str) -> None:
    numbers = {"transform": [10**400, 0, 0, 0, -1, 0], "bbox": [0, 0, 10**400, 1]}[key]
    attributes = {**spatial(), f"spatial:{key}": numbers}
    dataset, told = told_of(tmp_path, one_array(attributes))
    start = f"{WITHOUT} coordinates along y, x: /#/attributes/spatial:{key}: must be {len(numbers)} finite numbers, got ["
    assert [str(warning)[: len(start)] for warning in told] == [start]
    assert set(dataset.variables) == {"a"}


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        (
            {"shape": [3, 2]},
            "spatial:shape: is [3, 2], but the array has [2, 3] cells; the latter counts",
        ),
        (
            {"bbox": [500_000.0, 4_999_980.0, 500_041.0, 5_000_000.0]},
            (
                "spatial:bbox: is [500000.0, 4999980.0, 500041.0, 5000000.0], but the transform "
                "gives [500000.0, 4999980.0, 500030.0, 5000000.0]; the latter counts"
            ),
        ),
        (
            # The box of outermost centres is that of node registration.
            {"bbox": [500_000.0, 4_999_970.0, 500_040.0, 5_000_000.0], "registration": "node"},
            (
                "spatial:bbox: is [500000.0, 4999970.0, 500040.0, 5000000.0], but the transform "
                "gives [500000.0, 4999990.0, 500020.0, 5000000.0]; the latter counts"
            ),
        ),
    ],
)
def test_transform_wins_and_contradictions_are_told(
    tmp_path: Path, attributes: Json, text: str
) -> None:
    dataset, told = told_of(tmp_path, one_array(spatial(TRANSFORM, **attributes)))
    assert [str(warning) for warning in told] == [f"/a: /#/attributes/{text}"]
    assert_grid(dataset["a"], TRANSFORM, OFFSET[attributes.get("registration", "pixel")])


def test_box_that_cannot_be_used_does_not_spoil_the_transform(tmp_path: Path) -> None:
    dataset, told = told_of(tmp_path, one_array(spatial(TRANSFORM, bbox=[1, 2])))
    text = "/#/attributes/spatial:bbox: must be 4 finite numbers, got [1, 2]"
    assert [str(warning) for warning in told] == [f"{WITHOUT} what 'spatial:bbox' declares: {text}"]
    assert_grid(dataset["a"], TRANSFORM)


def test_shape_without_a_transform_is_told(tmp_path: Path) -> None:
    box = [0.0, 0.0, 3.0, 2.0]
    dataset, told = told_of(tmp_path, one_array(spatial(bbox=box, shape=[20, 30])))
    text = "spatial:shape: is [20, 30], but the array has [2, 3] cells; the latter counts"
    assert [str(warning) for warning in told] == [f"/a: /#/attributes/{text}"]
    assert_grid(dataset["a"], [1.0, 0, 0.0, 0, -1.0, 2.0])


def test_what_is_wrong_with_a_group_is_told_once(tmp_path: Path) -> None:
    documents = {"": group(), "g": group(spatial([1, 2]))}
    documents |= {f"g/{name}": array((2, 3), ("y", "x")) for name in "abc"}
    _dataset, told = told_of(tmp_path, documents, group="g")
    text = (
        "/g/a, /g/b, /g/c were opened without coordinates along y, x: "
        "/g#/attributes/spatial:transform: must be 6 finite numbers, got [1, 2]"
    )
    assert [str(warning) for warning in told] == [text]


@pytest.mark.parametrize(
    ("dimensions", "reason"),
    [
        (None, "is missing: an array that declares 'spatial' must have it"),
        *(
            (
                names,
                f'{json.dumps(names)} are not both dimensions of the array, which has ["y", "x"]',
            )
            for names in (["lat", "lon"], ["y", "lon"])
        ),
    ],
)
def test_array_that_declares_dimensions_it_does_not_have(
    tmp_path: Path, dimensions: Any, reason: str
) -> None:
    documents = {"": group(), "a": array((2, 3), ("y", "x"), spatial(TRANSFORM, dimensions))}
    dataset, told = told_of(tmp_path, documents)
    assert [str(warning) for warning in told] == [
        f"{WITHOUT} {OF_SPATIAL}: /a#/attributes/spatial:dimensions: {reason}"
    ]
    assert set(dataset.variables) == {"a"}


@pytest.mark.parametrize("dimensions", ["yx", [1, 2], ["y"], ["y", "y"], ["y", "x", "z"], {}])
@pytest.mark.parametrize("place", ["", "a"])
def test_dimensions_that_cannot_be(tmp_path: Path, place: str, dimensions: Any) -> None:
    documents = {"": group(), "a": array((2, 3), ("y", "x")), "t": array((2,), ("y",))}
    documents[place]["attributes"] = spatial(TRANSFORM, dimensions)
    dataset, told = told_of(tmp_path, documents)
    assert [str(warning) for warning in told] == [
        (
            f"{WITHOUT} {OF_SPATIAL}: /{place}#/attributes/spatial:dimensions: must be the names of "
            f"two dimensions, got {json.dumps(dimensions)}"
        )
    ]
    assert set(dataset.variables) == {"a", "t"}


LAYOUT = "/#/attributes/multiscales/layout"


@pytest.mark.parametrize(
    ("item", "text", "error"),
    [
        (
            derived("coarse", "missing", [2, 2]),
            f"{LAYOUT}/1: there is no level 'missing'",
            XGroupReferenceError,
        ),
        (
            derived("coarse", "coarse", [2, 2]),
            f"{LAYOUT}/1: levels are derived from one another: coarse -> coarse",
            XGroupReferenceError,
        ),
        (
            derived("coarse", "fine", [2]),
            f"{LAYOUT}/1/transform/scale: must be 2 finite numbers, got [2]",
            XGroupMetadataError,
        ),
        (
            derived("coarse", "fine", [2, 2], ["a", 0]),
            f'{LAYOUT}/1/transform/translation: must be 2 finite numbers, got ["a", 0]',
            XGroupMetadataError,
        ),
        (
            {"asset": "coarse", "derived_from": "fine", "transform": [2, 2]},
            f"{LAYOUT}/1/transform: must be an object, got list [2, 2]",
            XGroupMetadataError,
        ),
        (
            {"asset": "coarse", "derived_from": 0, "transform": {"scale": [2, 2]}},
            f"{LAYOUT}/1/derived_from: must be a string, got number",
            XGroupMetadataError,
        ),
        (
            {"asset": "coarse", "spatial:transform": [1]},
            f"{LAYOUT}/1/spatial:transform: must be 6 finite numbers, got [1]",
            XGroupMetadataError,
        ),
    ],
)
def test_levels_that_lead_nowhere(
    tmp_path: Path, item: Json, text: str, error: type[Exception]
) -> None:
    dataset, told = told_of(tmp_path, two_levels(item), group="coarse")
    assert [str(warning) for warning in told] == [
        f"/coarse/a was opened without coordinates along y, x: {text}"
    ]
    assert isinstance(told[0].error, error)
    assert set(dataset.variables) == {"a"}
    assert_grid(open_one(tmp_path, two_levels(item), group="fine")["a"], TRANSFORM)


def test_circle_of_levels_is_told_with_its_chain(tmp_path: Path) -> None:
    documents = two_levels(derived("coarse", "coarser", [2, 2]))
    items = documents[""]["attributes"]["multiscales"]["layout"]
    items.append(derived("coarser", "coarse", [2, 2]))
    _dataset, told = told_of(tmp_path, documents, group="coarse")
    text = (
        "/coarse/a was opened without coordinates along y, x: "
        f"{LAYOUT}/1: levels are derived from one another: coarse -> coarser -> coarse"
    )
    assert [str(warning) for warning in told] == [text]


@pytest.mark.parametrize("scale", [[0, 2], [2, 0]])
def test_scale_of_nothing_is_degenerate(tmp_path: Path, scale: list[int]) -> None:
    dataset, told = told_of(tmp_path, two_levels(derived("coarse", "fine", scale)), group="coarse")
    assert len(told) == 1
    assert str(told[0]).startswith(f"/coarse/a was opened without coordinates along y, x: {LAYOUT}")
    assert set(dataset.variables) == {"a"}


def test_layout_that_is_none(tmp_path: Path) -> None:
    documents = one_array({**spatial(TRANSFORM), "multiscales": {"layout": "none"}})
    dataset, told = told_of(tmp_path, documents)
    assert [str(warning) for warning in told] == [
        f"{WITHOUT} what 'multiscales/layout' declares: /#/attributes/multiscales/layout: must be a list, got string \"none\""
    ]
    assert_grid(dataset["a"], TRANSFORM)
