"""Scripts written for engine zarr: the same result with engine xgroup, or a sentence."""

import inspect
import json
import pickle
from collections.abc import Callable, Mapping
from functools import partial
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
)

both_formats = pytest.mark.parametrize("zarr_format", [2, 3])
all_functions = pytest.mark.parametrize(
    "function", [xr.open_dataset, xr.open_datatree, xr.open_groups]
)

PLAIN = Group(
    {
        "x": Array([0.5, 1.5, 2.5], ("x",)),
        "g": Group({"a": Array([1.0, 2.0, 3.0], ("x",), missing=2.0)}),
    }
)


def stored(root: Group, zarr_format: ZarrFormat = 3, **how: Any) -> Any:
    return memory_store(build(root, zarr_format, **how))


# Options.

#: Arrays in which zero is the fill value of the storage.
FILLED = Group(
    {
        "floats": Array([0.0, 1.0, 2.0], ("x",), v2={"fill_value": 0.0}),
        "integers": Array(np.array([0, 1, 2], "int16"), ("x",), v2={"fill_value": 0}),
        "x": Array([0.0, 1.0, 2.0], ("x",), v2={"fill_value": 0.0}),
    }
)


@both_formats
@pytest.mark.parametrize("masks", [None, False, True])
@pytest.mark.parametrize("with_attribute", [False, True])
def test_the_fill_value_of_the_storage_masks_as_engine_zarr_has_it(
    zarr_format: ZarrFormat, masks: bool | None, with_attribute: bool
) -> None:
    members: dict[str, Any] = dict(FILLED.members)
    if with_attribute and zarr_format == 3:  # of v2 it is the same as the storage's
        members["both"] = Array([0.0, 1.0, 2.0], ("x",), missing=1.0)
    store = stored(Group(members), zarr_format)
    # Its open_dataset takes the option, and pays no heed to it; its stores do.
    by_zarr: Any = ZarrStore.open_group(
        store, consolidated=False, use_zarr_fill_value_as_mask=masks
    )
    theirs = xr.open_dataset(by_zarr)
    ours = opened(xr.open_dataset, store, use_zarr_fill_value_as_mask=masks)
    assert_same(ours, theirs)
    is_masked = masks if masks is not None else zarr_format == 2
    assert np.isnan(ours["floats"].values).tolist() == [is_masked, False, False]


@all_functions
@both_formats
@pytest.mark.parametrize("mode", ["r", None])
def test_a_mode_that_reads(function: Any, mode: str | None, zarr_format: ZarrFormat) -> None:
    store = stored(PLAIN, zarr_format)
    theirs = quietly(compare, function, store)
    assert_same(opened(function, store, mode=mode), theirs)


@all_functions
@pytest.mark.parametrize("mode", ["a", "r+", "w", "w-", "a-", 1])
def test_a_mode_that_writes_is_refused_before_anything_is_opened(function: Any, mode: Any) -> None:
    store = recording_store(build(PLAIN))
    with pytest.raises(ValueError, match="engine 'xgroup' only reads: mode must be 'r', got "):
        function(store, engine="xgroup", mode=mode)
    assert not store.gets


@all_functions
@pytest.mark.parametrize("zarr_format", [None, 2])
def test_zarr_version_is_the_older_name_of_zarr_format(function: Any, zarr_format: Any) -> None:
    of_2 = Group({"a": Array([1.0], ("two",))})
    of_3 = Group({"a": Array([1.0], ("three",))})
    store: Any = memory_store({**build(of_3), **build(of_2, 2)})
    found = opened(function, store, zarr_version=2, zarr_format=zarr_format)
    assert_same(found, opened(function, store, zarr_format=2))
    root = found["/"] if function is xr.open_groups else found
    assert root["a"].dims == ("two",)
    assert opened(xr.open_dataset, store, zarr_version=None)["a"].dims == ("three",)


def test_two_formats_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^zarr_version 2 and zarr_format 3 are not the same$"):
        opened(xr.open_dataset, stored(PLAIN), zarr_version=2, zarr_format=3)


@all_functions
@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("synchronizer", "it is for writing, and zarr has none any more; leave it out"),
        (
            "chunk_store",
            "zarr takes no store of chunks beside that of metadata any more; open one that has both",
        ),
        ("store", "the store to open is the first argument"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_a_reason(
    function: Any, option: str, reason: str
) -> None:
    store = stored(PLAIN)
    with pytest.raises(TypeError) as error:
        function(store, engine="xgroup", **{option: object()})
    assert str(error.value) == f"engine 'xgroup' does not take {option!r}: {reason}"
    # As if it were not given.
    ours = quietly(partial(function, store, engine="xgroup", **{option: None}))
    assert_same(ours, opened(function, store))


@all_functions
@pytest.mark.parametrize("options", [{"cache_members": False}, {"stacklevel": 2}], ids=str)
def test_options_without_a_bearing_on_the_result(function: Any, options: dict[str, Any]) -> None:
    store = stored(PLAIN)
    assert_same(opened(function, store, **options), opened(function, store))


def own_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameters of a function of engine zarr, with their defaults."""
    parameters = dict(inspect.signature(function).parameters)
    for name in ("self", "filename_or_obj", "kwargs", "engine"):
        parameters.pop(name, None)
    return {name: parameter.default for name, parameter in parameters.items()}


@pytest.mark.parametrize(
    ("function", "entry_point"),
    [
        (xr.open_dataset, ZarrBackendEntrypoint.open_dataset),
        (xr.open_datatree, ZarrBackendEntrypoint.open_datatree),
        (xr.open_groups, ZarrBackendEntrypoint.open_groups_as_dict),
    ],
)
def test_all_that_engine_zarr_takes_can_be_given(
    function: Any, entry_point: Callable[..., Any]
) -> None:
    options = own_parameters(entry_point)
    assert {"mode", "group", "consolidated", "zarr_format"} <= set(options)
    store = stored(PLAIN, consolidated=True)
    ours = quietly(partial(function, store, engine="xgroup", **options))
    assert_same(ours, quietly(compare, function, store))


# References to chunks in other files, as kerchunk and VirtualiZarr write them.

CS = declaring(
    "cs",
    cs={
        "crs": [
            {"axes": {"time": {"coordinates": [{"values": {"external": {"node": "/axes/time"}}}]}}}
        ]
    },
)
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
    return {"version": 1, "refs": found}


Naming = Callable[[dict[str, Any], Path], tuple[Any, dict[str, Any]]]


def by_file(found: dict[str, Any], folder: Path) -> tuple[Any, dict[str, Any]]:
    (folder / "refs.json").write_text(json.dumps(found))
    return "reference://", {"fo": str(folder / "refs.json"), "remote_protocol": "file"}


def by_dict(found: dict[str, Any], _folder: Path) -> tuple[Any, dict[str, Any]]:
    return "reference://", {"fo": found, "remote_protocol": "file"}


def by_chain(found: dict[str, Any], folder: Path) -> tuple[Any, dict[str, Any]]:
    by_file(found, folder)
    return f"reference::{folder}/refs.json", {}


def by_store(found: dict[str, Any], _folder: Path) -> tuple[Any, dict[str, Any]]:
    options = {"fo": found, "remote_protocol": "file", "asynchronous": True}
    return FsspecStore(fsspec.filesystem("reference", **options)), {}


all_namings = pytest.mark.parametrize("naming", [by_file, by_dict, by_chain, by_store])


def check_hierarchy(tree: Any) -> None:
    assert [node.path for node in tree.subtree] == ["/", "/axes", "/g", "/g/h"]
    assert tree["g/a"].values.tolist() == [5.0, 6.0, 7.0]
    assert tree["g"]["time"].values.tolist() == [1.0, 2.0, 3.0]
    assert tree["g/h/b"].values.tolist() == [8.0, 9.0]
    assert tree["g/h"].attrs == {"title": "deep"}


@all_namings
@pytest.mark.parametrize(("zarr_format", "consolidated"), [(2, True), (3, False)])
def test_a_hierarchy_of_references(
    naming: Naming, zarr_format: ZarrFormat, consolidated: bool, tmp_path: Path
) -> None:
    contents = build(HIERARCHY, zarr_format, consolidated=consolidated)
    store, options = naming(references(contents, tmp_path), tmp_path)
    how = {"storage_options": options} if options else {}
    check_hierarchy(opened(xr.open_datatree, store, **how))
    groups = opened(xr.open_groups, store, **how)
    assert list(groups) == ["/", "/axes", "/g", "/g/h"]
    assert set(opened(xr.open_dataset, store, group="g/h", **how).variables) == {"b"}
    dataset = opened(xr.open_dataset, store, group="g", **how)
    copied = pickle.loads(pickle.dumps(dataset))
    assert copied["a"].values.tolist() == [5.0, 6.0, 7.0]


def test_references_below_a_path(tmp_path: Path) -> None:
    _url, options = by_dict(references(build(HIERARCHY), tmp_path), tmp_path)
    function, url = xr.open_datatree, "reference://g"
    tree, (warning,) = opened_with_warnings(function, url, storage_options=options)
    assert [node.path for node in tree.subtree] == ["/", "/h"]
    assert tree["h/b"].values.tolist() == [8.0, 9.0]
    assert "/axes/time" in str(warning)  # is not below the path


def test_a_group_that_references_lack(tmp_path: Path) -> None:
    _url, options = by_dict(references(build(HIERARCHY), tmp_path), tmp_path)
    with pytest.raises(KeyError, match="nowhere"):
        xr.open_dataset("reference://", engine="xgroup", group="nowhere", storage_options=options)
    empty = {"fo": {"version": 1, "refs": {}}, "remote_protocol": "file"}
    with pytest.raises(XGroupStoreNotFoundError):
        xr.open_dataset("reference://", engine="xgroup", storage_options=empty)


# Other ways to name a store.


@both_formats
def test_a_mapping_of_fsspec(zarr_format: ZarrFormat, tmp_path: Path) -> None:
    pytest.importorskip("zarr", minversion="3.1")
    found = references(build(HIERARCHY, zarr_format), tmp_path)
    mapper: Mapping[str, bytes] = fsspec.get_mapper(
        "reference://", fo=found, remote_protocol="file"
    )
    check_hierarchy(opened(xr.open_datatree, mapper))


@both_formats
def test_a_dict_of_buffers(zarr_format: ZarrFormat) -> None:
    buffers = memory_store(build(PLAIN, zarr_format))._store_dict
    compare(xr.open_dataset, dict(buffers), group="g", consolidated=False)


@both_formats
@all_functions
def test_a_variable_without_a_name(function: Any, zarr_format: ZarrFormat) -> None:
    root = Group({"__values__": Array([1.0, 2.0], ("x",)), "x": Array([0.5, 1.5], ("x",))})
    found = compare(function, stored(root, zarr_format))
    assert None in (found["/"] if isinstance(found, dict) else found).variables
