"""Scripts written for engine zarr: the same result with engine xgroup, or a clear error."""

import inspect
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import xarray as xr
from xarray.backends import ZarrStore
from xarray.backends.zarr import ZarrBackendEntrypoint
from zarr.storage import FsspecStore

from zarr_xgroup import XGroupStoreNotFoundError
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    ZarrFormat,
    assert_same,
    build,
    compare,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recording_store,
    stored,
)
from zarr_xgroup.tests.tables import check, rows, store_of, text_of

each_format = pytest.mark.parametrize("zarr_format", [2, 3], ids=["v2", "v3"])
FUNCTIONS: tuple[Any, ...] = (xr.open_dataset, xr.open_datatree, xr.open_groups)
each_function = pytest.mark.parametrize("function", FUNCTIONS)

PLAIN = Group(
    {
        "x": Array([0.5, 1.5, 2.5], ("x",)),
        "g": Group({"a": Array([1.0, 2.0, 3.0], ("x",), missing=2.0)}),
    }
)

# Options.


@each_format
@pytest.mark.parametrize("masks", [None, False, True])
def test_the_stored_fill_value_masks_as_in_engine_zarr(
    zarr_format: ZarrFormat, masks: bool | None
) -> None:
    members = {
        name: Array(np.array([0, 1, 2], dtype), ("x",), v2={"fill_value": 0})
        for name, dtype in (("floats", "f8"), ("integers", "i2"), ("x", "f8"))
    }
    if zarr_format == 3:  # of v2 the attribute is the same as the storage's
        members["both"] = Array([0.0, 1.0, 2.0], ("x",), missing=1.0)
    store = store_of(Group(members), zarr_format)
    # Its open_dataset takes the option, and pays no heed to it; its stores do.
    by_zarr: Any = ZarrStore.open_group(
        store, consolidated=False, use_zarr_fill_value_as_mask=masks
    )
    ours = opened(xr.open_dataset, store, use_zarr_fill_value_as_mask=masks)
    assert_same(ours, xr.open_dataset(by_zarr))
    is_masked = masks if masks is not None else zarr_format == 2
    assert np.isnan(ours["floats"].values).tolist() == [is_masked, False, False]


def test_timedeltas_without_values_have_the_unit_of_engine_zarr() -> None:
    times = Array(np.zeros(0, "i8"), ("t",), {"units": "days"})
    compare(xr.open_dataset, store_of({"": {}, "t": times}), decode_timedelta=True)


#: What has no bearing on what is opened.
IGNORED: list[dict[str, Any]] = [
    *({"mode": it} for it in ("r", None)),
    *({it: None} for it in ("synchronizer", "chunk_store", "store", "zarr_version")),
    *({"cache_members": False}, {"stacklevel": 2}),
]


@each_function
@pytest.mark.parametrize("options", IGNORED, ids=str)
def test_options_without_effect_on_the_result(function: Any, options: dict[str, Any]) -> None:
    store: Any = store_of(PLAIN)
    ours = quietly(function, store, engine="xgroup", **options)
    assert_same(ours, compare(function, store))


REFUSED: dict[str, Any] = {
    **{
        f"mode {mode!r}": (
            {"mode": mode}, ValueError, f"engine 'xgroup' only reads: mode must be 'r', got {mode!r}"
        )
        for mode in ("a", "r+", "w", "w-", "a-", 1)
    },
    "a synchronizer": (
        {"synchronizer": object()}, TypeError,
        "engine 'xgroup' does not support the option 'synchronizer': it is for writing, and zarr no longer has it; leave it out",
    ),
    "a store of chunks": (
        {"chunk_store": object()}, TypeError,
        "engine 'xgroup' does not support the option 'chunk_store': zarr no longer supports separate stores for chunks and metadata; "
        + "open one store with both",
    ),
    "a second store": (
        {"store": object()}, TypeError,
        "engine 'xgroup' does not support the option 'store': the store to open is the first argument",
    ),
    "two formats": (
        {"zarr_version": 2, "zarr_format": 3}, ValueError,
        "zarr_version 2 differs from zarr_format 3; leave out zarr_version",
    ),
}  # fmt: skip


@rows(REFUSED, "options, kind, text")
def test_unsupported_options_are_refused_before_opening(
    options: dict[str, Any], kind: Any, text: str
) -> None:
    store = recording_store(build(PLAIN))
    for function in FUNCTIONS:
        with pytest.raises(kind) as error:
            function(store, engine="xgroup", **options)
        assert str(error.value) == text
    assert not store.gets


@each_function
@pytest.mark.parametrize("zarr_format", [None, 2])
def test_zarr_version_is_the_older_name_of_zarr_format(function: Any, zarr_format: Any) -> None:
    of_2, of_3 = (Group({"a": stored([1.0], dim)}) for dim in ("two", "three"))
    store: Any = memory_store({**build(of_3), **build(of_2, 2)})
    found = opened(function, store, zarr_version=2, zarr_format=zarr_format)
    assert_same(found, opened(function, store, zarr_format=2))
    assert (found["/"] if function is xr.open_groups else found)["a"].dims == ("two",)


@pytest.mark.parametrize(
    ("function", "entry_point"),
    [
        (xr.open_dataset, ZarrBackendEntrypoint.open_dataset),
        (xr.open_datatree, ZarrBackendEntrypoint.open_datatree),
        (xr.open_groups, ZarrBackendEntrypoint.open_groups_as_dict),
    ],
)
def test_all_options_of_engine_zarr_are_accepted(
    function: Any, entry_point: Callable[..., Any]
) -> None:
    parameters = inspect.signature(entry_point).parameters
    not_options = ("self", "filename_or_obj", "kwargs", "engine")
    options = {key: it.default for key, it in parameters.items() if key not in not_options}
    assert {"mode", "group", "consolidated", "zarr_format"} <= set(options)
    store: Any = store_of(PLAIN, consolidated=True)
    ours = quietly(function, store, engine="xgroup", **options)
    assert_same(ours, quietly(compare, function, store))


# References to chunks in other files, as kerchunk and VirtualiZarr write them.

VALUES = {"external": {"node": "/axes/time"}}
CS = declaring("cs", cs={"crs": [{"axes": {"time": {"coordinates": [{"values": VALUES}]}}}]})
HIERARCHY = Group(
    {
        "axes": Group({"time": Array([1.0, 2.0, 3.0], ("time",))}),
        "g": Group(
            {
                "a": Array([5.0, 6.0, 7.0], ("time",), CS, chunks=(2,)),
                "h": Group({"b": Array([8.0, 9.0], ("x",))}, {"title": "deep"}),
            }
        ),
    }
)
TREE = """
    /:
    /axes:
    time (time) 1.0 2.0 3.0
    /g:
    time (time) 1.0 2.0 3.0
    a (time) @ time
    /g/h:
    b (x)
"""


def references(contents: Contents, folder: Path) -> dict[str, Any]:
    """Return a store as references: documents inline, chunks as parts of one file."""
    found: dict[str, Any] = {}
    chunks = b"header"
    for key, content in contents.items():
        if key.rpartition("/")[2].startswith((".z", "zarr.json")):
            found[key] = content.decode()
        else:
            found[key] = [str(folder / "data.bin"), len(chunks), len(content)]
            chunks += content
    (folder / "data.bin").write_bytes(chunks)
    (folder / "refs.json").write_text(json.dumps(found))
    return {"fo": {"version": 1, "refs": found}, "remote_protocol": "file"}


#: Ways to name references: options of the filesystem, folder -> what is opened, storage options.
NAMINGS: dict[str, Callable[[dict[str, Any], Path], tuple[Any, Any]]] = {
    "file": lambda fs, folder: ("reference://", {**fs, "fo": str(folder / "refs.json")}),
    "dict": lambda fs, _folder: ("reference://", fs),
    "chain": lambda _fs, folder: (f"reference::{folder}/refs.json", None),
    "store": lambda fs, _folder: (
        FsspecStore(fsspec.filesystem("reference", **fs, asynchronous=True)), None
    ),
}  # fmt: skip


@rows(NAMINGS, "naming")
@pytest.mark.parametrize(("zarr_format", "consolidated"), [(2, True), (3, False)])
def test_a_hierarchy_of_references(
    naming: Any, zarr_format: ZarrFormat, consolidated: bool, tmp_path: Path
) -> None:
    contents = build(HIERARCHY, zarr_format, consolidated=consolidated)
    store, options = naming(references(contents, tmp_path), tmp_path)
    how = {"storage_options": options} if options else {}
    tree = check(store, TREE, function=xr.open_datatree, **how)
    assert tree["g/h"].attrs == {"title": "deep"}
    assert list(opened(xr.open_groups, store, **how)) == ["/", "/axes", "/g", "/g/h"]
    assert set(opened(xr.open_dataset, store, group="g/h", **how).variables) == {"b"}
    dataset = opened(xr.open_dataset, store, group="g", **how)
    assert pickle.loads(pickle.dumps(dataset))["a"].values.tolist() == [5.0, 6.0, 7.0]


def test_references_below_a_path_and_to_a_missing_group(tmp_path: Path) -> None:
    options = references(build(HIERARCHY), tmp_path)
    tree, (warning,) = opened_with_warnings(
        xr.open_datatree, "reference://g", storage_options=options
    )
    assert text_of(tree) == ["/:", "a (time)", "/h:", "b (x)"]
    assert "'/axes/time' cannot be resolved" in str(warning)  # is not below the path
    with pytest.raises(KeyError, match="nowhere"):
        xr.open_dataset("reference://", engine="xgroup", group="nowhere", storage_options=options)
    empty = {"fo": {"version": 1, "refs": {}}, "remote_protocol": "file"}
    with pytest.raises(XGroupStoreNotFoundError):
        xr.open_dataset("reference://", engine="xgroup", storage_options=empty)


# Other ways to name a store, and a variable.


@each_format
def test_a_mapping_of_fsspec(zarr_format: ZarrFormat, tmp_path: Path) -> None:
    pytest.importorskip("zarr", minversion="3.1")
    options = references(build(HIERARCHY, zarr_format), tmp_path)
    mapper = fsspec.get_mapper("reference://", **options)
    tree = opened(xr.open_datatree, mapper)
    assert tree["g/a"].values.tolist() == [5.0, 6.0, 7.0]


@each_format
def test_a_dict_of_buffers(zarr_format: ZarrFormat) -> None:
    buffers = store_of(PLAIN, zarr_format)._store_dict
    compare(xr.open_dataset, dict(buffers), group="g", consolidated=False)


@each_format
@each_function
def test_a_variable_without_a_name(function: Any, zarr_format: ZarrFormat) -> None:
    root = Group({"__values__": Array([1.0, 2.0], ("x",)), "x": Array([0.5, 1.5], ("x",))})
    found = compare(function, store_of(root, zarr_format))
    assert None in (found["/"] if isinstance(found, dict) else found).variables
