"""What the scripts share that write test stores: nodes become documents and chunks.

Documents and chunks are written here and not by zarr, uncompressed: the same bytes come out
whatever versions of zarr and numpy are installed.
"""

import argparse
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

ZarrFormat: TypeAlias = Literal[2, 3]
Json: TypeAlias = dict[str, Any]

STORES = Path(__file__).resolve().parent.parent / "zarr_xgroup" / "tests" / "stores"

_UUIDS = {
    "cs": "e4dbf0b7-7a00-4ce6-b23e-484292014ab4",
    "ref": "d89b30cf-ed8c-43d5-9a16-b492f0cd8786",
    "proj": "f17cb550-5864-4468-aeb7-f3180cfb622f",
    "uom": "3bbe438d-df37-49fe-8e2b-739296d46dfb",
    "geolocation": "bb9ee930-8c60-4c47-ad6b-8daa558987ed",
}


@dataclass(frozen=True)
class Array:
    """An array: the names of its dimensions, all its values, its attributes."""

    dimensions: tuple[str, ...]
    values: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """The values, little-endian."""
        data = np.asarray(self.values)
        return data.astype(data.dtype.newbyteorder("<"))


@dataclass(frozen=True)
class Group:
    """A group: its attributes. Its members are nodes of their own."""

    attributes: Mapping[str, Any] = field(default_factory=dict)


#: A store: its nodes by path without leading slash, groups before their members.
Nodes: TypeAlias = Mapping[str, Array | Group]


def declaring(*conventions: str, **attributes: Any) -> Json:
    """Return attributes of a node that follows conventions, which it names by their uuid."""
    declared = [{"uuid": _UUIDS[name], "name": name} for name in conventions]
    return {"zarr_conventions": declared, **attributes}


def below(group: str, nodes: Nodes) -> dict[str, Array | Group]:
    """Return nodes with their paths below a group; the group itself is at ``""``."""
    return {f"{group}/{path}" if path else group: node for path, node in nodes.items()}


def write_store(target: str | Path, nodes: Nodes, zarr_format: ZarrFormat = 3) -> None:
    """Write a store, not consolidated.

    Parameters
    ----------
    target : str or Path
        A folder. A Zarr store that is there already is replaced.
    nodes : mapping of str to Array or Group
        All nodes, the root among them at ``""``.
    zarr_format : {2, 3}
        The format of all nodes.

    Raises
    ------
    FileExistsError
        If something other than a Zarr store is there.
    """
    target = Path(target)
    if target.exists():
        if not any((target / key).is_file() for key in ("zarr.json", ".zgroup")):
            message = f"{target} exists and is not a Zarr group; it is left alone"
            raise FileExistsError(message)
        shutil.rmtree(target)
    for path, node in nodes.items():
        folder = target / path
        folder.mkdir(parents=True)
        documents = _v3_documents(node) if zarr_format == 3 else _v2_documents(node)
        for key, document in documents.items():
            text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
            (folder / key).write_text(text, encoding="utf-8", newline="\n")
        if isinstance(node, Array):
            chunk = folder / _chunk_key(node.data.ndim, zarr_format)
            chunk.parent.mkdir(parents=True, exist_ok=True)
            chunk.write_bytes(node.data.tobytes())


def _v3_documents(node: Array | Group) -> dict[str, Json]:
    attributes = dict(node.attributes)
    if isinstance(node, Group):
        return {"zarr.json": {"zarr_format": 3, "node_type": "group", "attributes": attributes}}
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(node.data.shape),
        "data_type": node.data.dtype.name,
        "chunk_grid": {
            "name": "regular",
            "configuration": {"chunk_shape": list(node.data.shape)},
        },
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": attributes,
        "dimension_names": list(node.dimensions),
    }
    return {"zarr.json": document}


def _v2_documents(node: Array | Group) -> dict[str, Json]:
    if isinstance(node, Group):
        return {".zgroup": {"zarr_format": 2}, ".zattrs": dict(node.attributes)}
    document = {
        "zarr_format": 2,
        "shape": list(node.data.shape),
        "chunks": list(node.data.shape),
        "dtype": node.data.dtype.str,
        "compressor": None,
        "fill_value": None,
        "order": "C",
        "filters": None,
    }
    attributes = {**node.attributes, "_ARRAY_DIMENSIONS": list(node.dimensions)}
    return {".zarray": document, ".zattrs": attributes}


def _chunk_key(ndim: int, zarr_format: ZarrFormat) -> str:
    """Return the key of an array's only chunk."""
    if zarr_format == 3:
        return "/".join(["c", *["0"] * ndim])
    return ".".join(["0"] * ndim) or "0"


def writer_of(make_nodes: Callable[[], Nodes]) -> Callable[..., None]:
    """Return the function ``write(target, zarr_format=3)`` of the store with these nodes.

    For parameters and errors see `write_store`.
    """

    def write(target: str | Path, zarr_format: ZarrFormat = 3) -> None:
        write_store(target, make_nodes(), zarr_format)

    return write


def run(write: Callable[[Path, ZarrFormat], None], name: str, description: str | None) -> None:
    """Write a store where the command line says, by default among those of the tests."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("target", type=Path, nargs="?", default=STORES / name)
    parser.add_argument("--zarr-format", type=int, choices=(2, 3), default=3)
    arguments = parser.parse_args()
    write(arguments.target, arguments.zarr_format)
