"""Stores for the tests of conventions: raw metadata documents, written as any format.

Documents are given as those of Zarr v3. Chunks are written through zarr.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import zarr

from zarr_xgroup.tests import builders
from zarr_xgroup.tests.builders import Json, ZarrFormat, to_json, write_local

TESTS = Path(__file__).parent
REPOSITORY = TESTS.parents[1]
STORES = TESTS / "stores"

#: All forms that a store of the same contents can have: format, consolidated or not.
FORMS: tuple[tuple[ZarrFormat, bool], ...] = ((3, False), (3, True), (2, False), (2, True))
ALL_FORMS = pytest.mark.parametrize(
    "form", FORMS, ids=["v3", "v3-consolidated", "v2", "v2-consolidated"]
)


def group(attributes: Mapping[str, Any] | None = None) -> Json:
    """Return the document of a group."""
    return {"zarr_format": 3, "node_type": "group", "attributes": dict(attributes or {})}


def array(
    shape: Sequence[int],
    dims: Sequence[str | None] | None = (),
    attributes: Mapping[str, Any] | None = None,
    dtype: str = "float64",
) -> Json:
    """Return the document of an array, all in one chunk."""
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": dtype,
        "chunk_grid": {
            "name": "regular",
            "configuration": {"chunk_shape": [max(1, size) for size in shape]},
        },
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": dict(attributes or {}),
    }
    return document if dims is None else {**document, "dimension_names": list(dims)}


def write(
    folder: Path,
    documents: Mapping[str, Json],
    data: Mapping[str, Any] | None = None,
    form: tuple[ZarrFormat, bool] = (3, False),
) -> Path:
    """Write a store and return its folder.

    Parameters
    ----------
    folder : Path
        Need not exist.
    documents : mapping
        The nodes' documents by path, the root's at ``""``.
    data : mapping, optional
        The values of arrays by path. Default: what the fill value says.
    form : tuple
        The format, and whether the store is consolidated.
    """
    zarr_format, consolidated = form
    for path, document in documents.items():
        named = {"zarr.json": document} if zarr_format == 3 else v2_files(document)
        write_local({key: to_json(content) for key, content in named.items()}, folder / path)
    for path, values in (data or {}).items():
        opened = zarr.open_array(folder / path, mode="r+", zarr_format=zarr_format)
        opened[...] = np.asarray(values)
    if consolidated:
        consolidate(folder)
    return folder


def v2_files(document: Json) -> dict[str, Json]:
    """Return the documents of a node as those of Zarr v2, by name."""
    attributes = dict(document["attributes"])
    if document["node_type"] == "group":
        return {".zgroup": {"zarr_format": 2}, ".zattrs": attributes}
    if "dimension_names" in document:
        attributes["_ARRAY_DIMENSIONS"] = document["dimension_names"]
    metadata = {
        "zarr_format": 2,
        "shape": document["shape"],
        "chunks": document["chunk_grid"]["configuration"]["chunk_shape"],
        "dtype": np.dtype(document["data_type"]).newbyteorder("<").str,
        "compressor": None,
        "fill_value": None,
        "order": "C",
        "filters": None,
    }
    return {".zarray": metadata, ".zattrs": attributes}


def consolidate(folder: Path) -> None:
    """Consolidate a store's metadata, in the way of its format."""
    zarr_format: ZarrFormat = 2 if (folder / ".zgroup").exists() else 3
    whole = builders.consolidate(dict(sorted(files(folder).items())), zarr_format=zarr_format)
    key = ".zmetadata" if zarr_format == 2 else "zarr.json"
    (folder / key).write_bytes(whole[key])


def script(name: str) -> ModuleType:
    """Return one of the repository's scripts as a module, or skip the test without them."""
    folder = REPOSITORY / "scripts"
    if not (folder / f"{name}.py").is_file():
        pytest.skip("installed without the repository's scripts folder")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return importlib.import_module(name)


def files(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files of a store by key."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def committed(name: str, folder: Path, form: tuple[ZarrFormat, bool]) -> Path:
    """Return a store of `STORES`, or its twin of another form that is written to a folder."""
    if form == (3, False):
        return STORES / f"{name}.zarr"
    zarr_format, consolidated = form
    script(f"make_{name}_store").write(folder, zarr_format)
    if consolidated:
        consolidate(folder)
    return folder
