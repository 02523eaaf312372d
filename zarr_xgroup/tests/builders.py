"""Stores for the tests: described as nested groups, written in any format to any backend.

`build` turns a description into the keys and bytes of a store (`Contents`). `edit` changes them, and
other functions write them to a backend. Documents, and chunks without codecs, are written without zarr,
so they do not depend on its version.
"""

import asyncio
import base64
import json
import struct
import warnings
import zipfile
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar

import fsspec
import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
import zarr
from packaging.version import Version
from zarr.abc.store import ByteRequest, Store
from zarr.storage import LocalStore, MemoryStore, WrapperStore

from zarr_xgroup import XGroupEmptyGroupWarning, XGroupNoPrincipalWarning, XGroupWarning
from zarr_xgroup._compat import default_buffer_prototype, sync
from zarr_xgroup.metadata.documents import METADATA_KEYS

if TYPE_CHECKING:  # newer than the oldest supported zarr
    from zarr.abc.buffer import Buffer, BufferPrototype

S = TypeVar("S")
T = TypeVar("T")

ZarrFormat: TypeAlias = Literal[2, 3]

Json: TypeAlias = dict[str, Any]

#: A whole store: key -> stored bytes.
Contents: TypeAlias = dict[str, bytes]

ZARR = Version(zarr.__version__)
XARRAY = Version(xr.__version__)

#: Whether engine zarr opens several groups at once.
OPENS_GROUPS = Version("2024.11") <= XARRAY

#: Whether xarray has the option `create_default_indexes`.
HAS_INDEX_OPTION = Version("2025.11") <= XARRAY

#: Whether zarr takes consolidated metadata as complete, and accepts their nodes in any order. Versions before 3.3 list
#: the members of a group that has none in the consolidated metadata. Before 3.4 the order matters.
TRUSTS_CONSOLIDATED = Version("3.4") <= ZARR

#: Marks tests in which xarray writes with the installed zarr.
needs_writing = pytest.mark.skipif(
    Version("2025.1") > XARRAY, reason="this xarray does not write with this zarr"
)

#: Whether zarr opens URLs of fsspec filesystems without asyncio (memory, zip).
HAS_SYNC_FSSPEC = Version("3.0.1") <= ZARR

#: Whether optional backends are installed and supported by the installed zarr.
HAS_OBSTORE = Version("3.0.8") <= ZARR and find_spec("obstore") is not None
HAS_ICECHUNK = find_spec("icechunk") is not None

#: xarray before 2025.1 fails on the timedeltas of pandas 3, which have other units.
DECODES_TIMEDELTAS = Version("2025.1") <= XARRAY or Version(version("pandas")) < Version("3")


#: The UUIDs of conventions, by declared name.
UUIDS = {
    "cs": "e4dbf0b7-7a00-4ce6-b23e-484292014ab4",
    "spatial": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    "multiscales": "d35379db-88df-4056-af3a-620245f8e347",
    "geolocation": "bb9ee930-8c60-4c47-ad6b-8daa558987ed",
    "ref": "d89b30cf-ed8c-43d5-9a16-b492f0cd8786",
    "proj": "f17cb550-5864-4468-aeb7-f3180cfb622f",
    "uom": "3bbe438d-df37-49fe-8e2b-739296d46dfb",
    "coords": "6ca4454a-658a-4348-a667-b39ced0e58cb",
    "dggs": "7b255807-140c-42ca-97f6-7a1cfecdbc38",
    "CF": "77c308c7-4db2-4774-8b2d-aa37e9997db6",
    "NZ-1.0": "d0a980b5-c644-4dcc-85a1-283799a58f40",
}


def declaring(*conventions: str | Mapping[str, Any], **attributes: Any) -> Json:
    """Return attributes of a node that declares conventions, each given by name or as an object."""
    declared = [
        {"uuid": UUIDS[convention], "name": convention}
        if isinstance(convention, str)
        else dict(convention)
        for convention in conventions
    ]
    return {"zarr_conventions": declared, **attributes}


# The nodes of a store.

#: Members of an array's document that do not affect its chunks.
_NOT_ABOUT_CHUNKS = frozenset({"attributes", "fill_value", "storage_transformers"})


@dataclass(frozen=True)
class Array:
    """The description of an array.

    Attributes
    ----------
    values : array_like
        All values. Strings become variable-length strings.
    dims : sequence of str or None
        The dimension names; None if the document has none.
    missing : object
        The value for missing data: the fill value in v2, `_FillValue` as xarray writes it in v3.
    chunks : tuple of int, optional
        The shape of chunks. Default: one chunk.
    v2, v3 : dict
        Members to add or replace in the metadata document of that format.
    """

    values: Any
    dims: Sequence[str | None] | None = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    missing: Any = None
    chunks: tuple[int, ...] | None = None
    v2: Mapping[str, Any] = field(default_factory=dict)
    v3: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> npt.NDArray[Any]:
        values = np.asarray(self.values)
        return values.astype(object) if values.dtype.kind == "U" else values

    @property
    def is_encoded(self) -> bool:
        """Whether zarr has to write the chunks: several chunks, strings, or changed encoding."""
        is_one_chunk = self.chunks is None or self.chunks == self.data.shape
        changes_encoding = not {*self.v2, *self.v3} <= _NOT_ABOUT_CHUNKS
        return self.data.dtype.kind == "O" or not is_one_chunk or changes_encoding


@dataclass(frozen=True)
class Group:
    """The description of a group: its members by name, and its attributes."""

    members: Mapping[str, "Group | Array"] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)


def stored(values: Any, dims: str | tuple[str, ...] = (), **attrs: Any) -> Array:
    """Return an array. Dimensions can be one string with spaces."""
    names = tuple(dims.split()) if isinstance(dims, str) else dims
    return Array(np.asarray(values), names, attrs)


def some_pairs(first: Iterable[S], second: Iterable[T], step: int) -> list[tuple[S, T]]:
    """Return every `step`-th pair of values, so that each value is paired with several others."""
    numbered = product(enumerate(first), enumerate(second))
    return [(one, other) for (n, one), (m, other) in numbered if (n + m) % step == 0]


def coordinate(name: str, values: Any, **attrs: Any) -> Array:
    """Return a dimension coordinate."""
    return Array(values, (name,), attrs)


BYTES: Json = {"name": "bytes", "configuration": {"endian": "little"}}


def _v3_document(array: Array) -> dict[str, Any]:
    data = array.data
    attributes = dict(array.attrs)
    fill_value: Any = False if data.dtype.kind == "b" else 0
    codecs: list[Json] = [BYTES]
    data_type = data.dtype.name
    if data.dtype.kind == "O":
        data_type, fill_value, codecs = "string", "", [{"name": "vlen-utf8"}]
    if data.dtype.kind == "c":
        fill_value = [0.0, 0.0]
    if array.missing is not None:
        attributes["_FillValue"] = encoded_fill_value(array.missing, data.dtype)
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(data.shape),
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": _chunks(array)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill_value,
        "codecs": codecs,
        "attributes": attributes,
    }
    if array.dims is not None:
        document["dimension_names"] = list(array.dims)
    return {**document, **array.v3}


def _v2_documents(array: Array) -> dict[str, dict[str, Any]]:
    data = array.data
    attributes = dict(array.attrs)
    if array.dims is not None:
        attributes["_ARRAY_DIMENSIONS"] = list(array.dims)
    missing = array.missing
    if isinstance(missing, float) and not np.isfinite(missing):
        missing = "NaN" if np.isnan(missing) else ("Infinity" if missing > 0 else "-Infinity")
    document = {
        "zarr_format": 2,
        "shape": list(data.shape),
        "chunks": _chunks(array),
        "dtype": "|O" if data.dtype.kind == "O" else data.dtype.str,
        "compressor": None,
        "fill_value": missing,
        "order": "C",
        "filters": [{"id": "vlen-utf8"}] if data.dtype.kind == "O" else None,
    }
    return {".zarray": {**document, **array.v2}, ".zattrs": attributes}


def _chunks(array: Array) -> list[int]:
    return [max(1, size) for size in array.chunks or array.data.shape]


def encoded_fill_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a `_FillValue` in the form that xarray writes to the attributes of a v3 array."""
    if dtype.kind == "f":
        return base64.standard_b64encode(struct.pack("<d", float(value))).decode()
    if dtype.kind == "S":
        return base64.standard_b64encode(value).decode()
    return value


#: A store: its nodes by path without leading slash, groups before their members. A dict of
#: attributes means a group.
Nodes: TypeAlias = Mapping[str, Array | Group | Json]


def build(
    root: Group | Nodes,
    zarr_format: ZarrFormat = 3,
    *,
    consolidated: bool | Sequence[str] = False,
    indent: int | None = None,
) -> Contents:
    """Return the contents of a store.

    Parameters
    ----------
    root : Group or mapping
        The root with all its members, or all nodes by path.
    zarr_format : {2, 3}
        The Zarr format.
    consolidated : bool or sequence of str
        Whether to write consolidated metadata at the root, or the groups to write it in.
    indent : int, optional
        Indentation of the documents. Default: one line.
    """
    nodes = dict(all_nodes(root))
    contents: Contents = {}
    for path, node in nodes.items():
        documents = documents_of(node, zarr_format)
        files = {key: to_json(value, indent) for key, value in documents.items()}
        files |= _only_chunk(node, zarr_format)
        contents |= {f"{path}/{key}" if path else key: content for key, content in files.items()}
    encoded = {
        path: node for path, node in nodes.items() if isinstance(node, Array) and node.is_encoded
    }
    groups = [""] if consolidated is True else list(consolidated or ())
    if not (encoded or groups):
        return contents
    store = memory_store(contents)
    with warnings.catch_warnings():
        # zarr warns that the v3 specification has no consolidated metadata and no strings.
        warnings.simplefilter("ignore")
        for path, array in encoded.items():
            target = zarr.open_array(store, path=path, mode="r+", zarr_format=zarr_format)
            target[...] = array.data
        for path in groups:
            zarr.consolidate_metadata(store, path=path or None, zarr_format=zarr_format)
    return contents_of(store)


def all_nodes(root: Group | Nodes) -> Iterator[tuple[str, Array | Group]]:
    """Yield all nodes by path, groups before their members."""
    for path, node in ({"": root} if isinstance(root, Group) else root).items():
        if not isinstance(node, Array | Group):
            yield path, Group(attrs=node)
            continue
        yield path, node
        if isinstance(node, Group):
            prefix = f"{path}/" if path else ""
            yield from all_nodes(
                {f"{prefix}{name}": member for name, member in node.members.items()}
            )


def documents_of(node: Array | Group, zarr_format: ZarrFormat) -> dict[str, dict[str, Any]]:
    """Return the metadata documents of a node by file name."""
    if isinstance(node, Array):
        return {"zarr.json": _v3_document(node)} if zarr_format == 3 else _v2_documents(node)
    attributes = dict(node.attrs)
    if zarr_format == 3:
        return {"zarr.json": {"zarr_format": 3, "node_type": "group", "attributes": attributes}}
    return {".zgroup": {"zarr_format": 2}, ".zattrs": attributes}


def _only_chunk(node: Array | Group, zarr_format: ZarrFormat) -> Contents:
    """Return the chunk of an array with one chunk that is not encoded."""
    if isinstance(node, Group) or node.is_encoded or not node.data.size:
        return {}
    data = node.data
    zeros = ["0"] * data.ndim
    key = "/".join(["c", *zeros]) if zarr_format == 3 else ".".join(zeros) or "0"
    return {key: data.astype(data.dtype.newbyteorder("<")).tobytes()}


def write_store(
    folder: Path, root: Group | Nodes, zarr_format: ZarrFormat = 3, **options: Any
) -> Path:
    """Write a store to a folder and return the folder. For the parameters see `build`."""
    return write_local(build(root, zarr_format, **options), folder)


_ZSTD: Json = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
_SHARDS: Json = {
    "chunk_shape": [1, 2],
    "codecs": [BYTES, _ZSTD],
    "index_codecs": [BYTES, {"name": "crc32c"}],
    "index_location": "end",
}
SHARDED: Json = {"codecs": [{"name": "sharding_indexed", "configuration": _SHARDS}]}

#: The store that most tests open: all kinds of arrays, three levels of groups, aligned as a tree.
SAMPLE = Group(
    {
        "time": coordinate("time", np.arange(3), units="days since 2000-01-30", calendar="noleap"),
        "x": coordinate("x", [0.5, 1.5, 2.5, 3.5], units="m", axis="X"),
        "station": Array(["a", "bc", "\u00e9"], ("time",), {"long_name": "station"}),
        "date": Array(np.array([0, 1, 2], "i4"), ("time",), {"units": "hours since 2000-01-01"}),
        **(
            {"lasting": Array(np.array([1, 2, 3], "i8"), ("time",), {"units": "seconds"})}
            if DECODES_TIMEDELTAS
            else {}
        ),
        "temperature": Array(
            np.arange(12, dtype="f4").reshape(3, 4),
            ("time", "x"),
            {
                "units": "K",
                "coordinates": "lat station",
                "grid_mapping": "crs",
                "nested": {"list": [1, {"a": None}]},
                "empty": [],
            },
            missing=5.0,
            chunks=(2, 2),
            v2={"compressor": {"id": "zlib", "level": 1}},
            v3=SHARDED,
        ),
        "nan": Array([1.0, np.nan, 3.0, 4.0], ("x",), missing=float("nan")),
        "packed": Array(
            np.arange(4, dtype="i2"),
            ("x",),
            {"scale_factor": 0.5, "add_offset": 1.0},
            missing=2,
            v2={"filters": [{"id": "delta", "dtype": "<i2"}], "order": "F"},
        ),
        "lat": Array(np.arange(4.0), ("x",), {"bounds": "lat_bounds", "units": "degrees_north"}),
        "lat_bounds": Array(np.arange(8.0).reshape(4, 2), ("x", "bounds"), chunks=(3, 1)),
        "crs": Array(np.int32(7), (), {"grid_mapping_name": "latitude_longitude"}),
        "flag": Array(np.array([True, False, True, True]), ("x",)),
        "complex": Array(np.array([1 + 2j, 0, 3, 4j], "c8"), ("x",)),
        "unsigned": Array(np.array([1, 255], "u1"), ("pair",), {"_Unsigned": "true"}),
        "empty": Array(np.zeros((0, 4)), ("none", "x")),
        "sub": Group(
            {
                "y": coordinate("y", [10, 20]),
                "value": Array(np.arange(8.0).reshape(2, 4), ("y", "x"), chunks=(1, 4)),
                "deep": Group({"w": Array(np.arange(2.0), ("y",))}, {"level": 2}),
            },
            {"title": "below"},
        ),
        "nothing": Group(),
    },
    {"Conventions": "CF-1.7", "list": [1, {"a": None}], "_NCProperties": "hidden"},
)

SAMPLE_GROUPS = ("", "nothing", "sub", "sub/deep")


# Contents.


def to_json(value: Any, indent: int | None = None) -> bytes:
    """Return a JSON document. Bytes are returned unchanged."""
    if isinstance(value, bytes):
        return value
    if indent is None:
        return json.dumps(value).encode()
    return (json.dumps(value, indent=indent, ensure_ascii=False) + "\n").encode()


def contents_of(store: MemoryStore) -> Contents:
    return {key: buffer.to_bytes() for key, buffer in store._store_dict.items()}


def edit(contents: Contents, key: str, change: Callable[[Any], Any] | bytes) -> Contents:
    """Return contents in which a function has changed one document and its consolidated copies.

    Bytes replace the document, but not its consolidated copies.
    """
    result = dict(contents)
    if isinstance(change, bytes):
        return {**result, key: change}
    if key in result:
        result[key] = to_json(change(json.loads(result[key])))
    path = key.rpartition("/")[0]
    for other, content in contents.items():
        group, _slash, name = other.rpartition("/")
        relative_to = f"{group}/" if group else ""
        may_have_copies = name in ("zarr.json", ".zmetadata") and path.startswith(relative_to)
        if other == key or not may_have_copies:
            continue
        document = json.loads(content)
        if name == ".zmetadata":
            copies, copy = document["metadata"], key.removeprefix(relative_to)
        else:
            copies = (document.get("consolidated_metadata") or {}).get("metadata", {})
            copy = path.removeprefix(relative_to)
        if copy in copies:
            copies[copy] = change(copies[copy])
            result[other] = to_json(document)
    return result


def consolidate(contents: Contents, *, zarr_format: ZarrFormat = 3) -> Contents:
    """Return contents with consolidated metadata at the root, written without zarr.

    Unlike zarr, this accepts invalid documents, and is fast for thousands of documents.
    """
    documents = {key: json.loads(value) for key, value in contents.items() if _is_metadata(key)}
    if zarr_format == 2:
        consolidated = {"zarr_consolidated_format": 1, "metadata": documents}
        return {**contents, ".zmetadata": to_json(consolidated)}
    root = documents.pop("zarr.json")
    nodes = {key.removesuffix("/zarr.json"): value for key, value in documents.items()}
    consolidated = {"kind": "inline", "must_understand": False, "metadata": nodes}
    return {**contents, "zarr.json": to_json({**root, "consolidated_metadata": consolidated})}


def update(**values: Any) -> Callable[[Any], Any]:
    """Return a change for `edit` that sets values of an object."""
    return lambda document: {**document, **values}


def without(contents: Contents, *prefixes: str) -> Contents:
    """Return contents without the keys that start with one of the prefixes."""
    return {key: value for key, value in contents.items() if not key.startswith(prefixes)}


def below(contents: Contents, path: str) -> Contents:
    """Return contents moved to `path`. No document is added for the group at `path`."""
    return {f"{path}/{key}": value for key, value in contents.items()}


# Backends.


def memory_store(contents: Contents) -> MemoryStore:
    buffers = {key: _buffer(value) for key, value in contents.items()}
    return MemoryStore(buffers)


def _buffer(content: bytes) -> "Buffer":
    return default_buffer_prototype().buffer.from_bytes(content)


def write_local(contents: Contents, path: Path) -> Path:
    """Write a store to a folder and return the folder."""
    for key, content in contents.items():
        target = path / key
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return path


def write_zip(contents: Contents, path: Path) -> Path:
    """Write a store to a .zip file and return the path of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Compressed: before 3.12.2, Python confuses concurrent seeks in uncompressed members.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, content in contents.items():
            archive.writestr(key, content)
    return path


def write_fsspec_memory(contents: Contents, name: str) -> str:
    """Write a store to fsspec's memory filesystem and return its URL."""
    url = f"memory://{name}"
    filesystem = fsspec.filesystem("memory")
    for key, content in contents.items():
        filesystem.pipe(f"/{name}/{key}", content)
    return url


def copy_to(store: Store, contents: Contents) -> None:
    """Write contents to any store. Parents come first, because some stores require it."""

    async def write() -> None:
        for key in sorted(contents, key=lambda key: (_is_metadata(key) is False, key.count("/"))):
            await store.set(key, _buffer(contents[key]))

    sync(write())


def obstore_store(contents: Contents) -> Store:
    """Return an obstore-backed store in memory (zarr >= 3.0.8)."""
    from obstore.store import MemoryStore as ObjectMemory

    storage: Any = zarr.storage  # older versions have no ObjectStore
    store: Store = storage.ObjectStore(ObjectMemory())
    copy_to(store, contents)
    return store


def icechunk_session(contents: Contents) -> Any:
    """Return a read-only icechunk session of a repository in memory."""
    import icechunk

    repository = icechunk.Repository.create(icechunk.in_memory_storage())
    session = repository.writable_session("main")
    copy_to(session.store, contents)
    session.commit("all of it")
    return repository.readonly_session("main")


# A store that records requests.


def _is_metadata(key: str) -> bool:
    return key.rpartition("/")[2] in METADATA_KEYS


class RecordingStore(WrapperStore[Store]):
    """A store that records each request, and lets selected requests fail.

    Attributes
    ----------
    gets : list of str
        The key of each read or partial read, in order.
    listed : list of str
        The prefix of each listing.
    closed : int
        The number of times the store was closed.
    failing : dict of str to Exception
        The error that reading a key raises; ``"*"`` means all keys.
    unlistable : dict of str to Exception
        The error that listing a prefix raises; ``"*"`` means all prefixes.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.gets: list[str] = []
        self.listed: list[str] = []
        self.closed = 0
        self.failing: dict[str, Exception] = {}
        self.unlistable: dict[str, Exception] = {}

    def _with_store(self, store: Store) -> Self:
        # A read-only copy for zarr: it records into the same lists.
        copy = type(self)(store)
        copy.__dict__.update({**self.__dict__, "_store": store})
        return copy

    def __str__(self) -> str:
        return "recording store"

    @property
    def metadata_gets(self) -> Counter[str]:
        """The number of reads of each metadata document."""
        return Counter(key for key in self.gets if _is_metadata(key))

    @property
    def chunk_gets(self) -> Counter[str]:
        """The number of reads of each chunk."""
        return Counter(key for key in self.gets if not _is_metadata(key))

    @property
    def _supports_sync_io(self) -> bool:
        return False  # so that zarr only uses the methods below

    @asynccontextmanager
    async def _request(self, operation: str, *keys: str) -> AsyncIterator[None]:
        """Record concurrent requests, and raise the errors of those that must fail."""
        failing = self.unlistable if operation == "list_dir" else self.failing
        record = self.listed if operation == "list_dir" else self.gets
        for key in keys:
            record.append(key)
            error = failing.get(
                key.strip("/") if operation == "list_dir" else key, failing.get("*")
            )
            if error and operation != "exists":
                raise error.with_traceback(None)  # without the traceback of an earlier raise
        await asyncio.sleep(0)  # let other tasks run, as during a real request
        yield

    async def get(
        self, key: str, prototype: "BufferPrototype", byte_range: ByteRequest | None = None
    ) -> "Buffer | None":
        async with self._request("get", key):
            return await self._store.get(key, prototype, byte_range)

    async def get_partial_values(
        self, prototype: "BufferPrototype", key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> "list[Buffer | None]":
        key_ranges = list(key_ranges)
        async with self._request("get_partial_values", *(key for key, _range in key_ranges)):
            return await self._store.get_partial_values(prototype, key_ranges)

    async def get_ranges(
        self, key: str, byte_ranges: Sequence[ByteRequest | None], **options: Any
    ) -> "AsyncIterator[Sequence[tuple[int, Buffer | None]]]":
        whole: Any = super()  # zarr has had this since 3.2
        async with self._request("get_ranges", key):
            async for part in whole.get_ranges(key, byte_ranges, **options):
                yield part

    async def _get_many(
        self, requests: "Iterable[tuple[str, BufferPrototype, ByteRequest | None]]"
    ) -> "AsyncGenerator[tuple[str, Buffer | None], None]":
        # Use `get` of this class, which records, instead of the method of the wrapped store.
        async for item in Store._get_many(self, requests):
            yield item

    async def exists(self, key: str) -> bool:
        async with self._request("exists", key):
            return await self._store.exists(key)

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        async with self._request("list_dir", prefix):
            async for name in self._store.list_dir(prefix):
                yield name

    def close(self) -> None:
        self.closed += 1
        super().close()


def recording_store(contents: Contents) -> RecordingStore:
    """Return a recording store in memory."""
    return RecordingStore(memory_store(contents))


def recording_folder(folder: Path) -> RecordingStore:
    """Return a recording store of the files in a folder."""
    return RecordingStore(LocalStore(folder, read_only=True))


# Opening, and comparing with engine zarr.

#: The end of the text of the last warning about a problem in a call.
HINT = ' (problems="raise" makes this an error)'

Open: TypeAlias = Callable[..., Any]


def recorded(function: Callable[..., T], *args: Any, **options: Any) -> tuple[T, list[Warning]]:
    """Return the result of a function and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args, **options)
    return result, list(map(without_hint, caught))


def without_hint(caught: warnings.WarningMessage) -> Any:
    """Return a recorded warning without the hint in its text that ``problems="raise"`` makes it an error."""
    warning: Any = caught.message
    warning.args = (str(warning).removesuffix(HINT), *warning.args[1:])
    return warning


def quietly(function: Callable[..., T], *args: Any, **options: Any) -> T:
    """Return the result of a function, ignoring its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


def opened(function: Open, store: Any, **options: Any) -> Any:
    """Open with engine xgroup. Assert that it only warns about missing principal conventions."""
    result, given = opened_with_warnings(function, store, **options)
    assert given == []
    return result


def opened_without_chunks(function: Open, store: Any, **options: Any) -> Any:
    """Open a store without chunks as `opened` does. It may also warn that chunks are missing."""
    result, given = opened_with_warnings(function, store, **options)
    assert [it for it in given if "chunks are missing in the store" not in str(it)] == []
    return result


def opened_with_warnings(
    function: Open, store: Any, **options: Any
) -> tuple[Any, list[XGroupWarning]]:
    """Open with engine xgroup. Return the warnings, except about missing principal conventions.

    Warnings of other packages are errors.
    """
    result, given, _about_principals = _opened(function, store, options)
    return result, given


def without_principal(function: Open, store: Any, **options: Any) -> list[str]:
    """Return the arrays that are reported to declare no principal convention."""
    _result, _given, about_principals = _opened(function, store, options)
    return [path for warning in about_principals for path in warning.paths]


def _opened(
    function: Open, store: Any, options: Json
) -> tuple[Any, list[XGroupWarning], list[XGroupNoPrincipalWarning]]:
    """Open with engine xgroup. Return the warnings, and at most one about missing principal conventions."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", XGroupWarning)
        # zarr 3.0 gives this warning for each v3 array of strings.
        warnings.filterwarnings("ignore", "The codec `vlen-utf8`")
        result = function(store, engine="xgroup", **options)
    given = [it for it in map(without_hint, caught) if isinstance(it, XGroupWarning)]
    given = [warning for warning in given if not isinstance(warning, XGroupEmptyGroupWarning)]
    # Not its subclasses, which report failed references.
    about_principals = [warning for warning in given if type(warning) is XGroupNoPrincipalWarning]
    assert len(about_principals) <= 1
    return (
        result,
        [warning for warning in given if warning not in about_principals],
        about_principals,
    )


def oracle(function: Open, store: Any, **options: Any) -> Any:
    """Open with engine zarr, group by group if its version cannot open several groups at once."""
    return quietly(oracle_with_warnings, function, store, **options)


def oracle_with_warnings(function: Open, store: Any, **options: Any) -> Any:
    if OPENS_GROUPS or function not in (xr.open_groups, xr.open_datatree):
        return function(store, engine="zarr", **options)
    options.pop("decode_cf", None)  # these two functions ignore it
    requested = options.pop("group", None) or ""
    parent = requested.strip("/")
    root = zarr.open_group(
        store,
        path=parent,
        mode="r",
        use_consolidated=options.get("consolidated"),
        zarr_format=options.get("zarr_format"),
    )
    if options.get("consolidated"):
        options["consolidated"] = None  # required at the root only
    datasets = {}
    for path in _group_paths(root):
        group = f"{parent}/{path}".strip("/")
        dataset = xr.open_dataset(store, engine="zarr", group=group, **options)
        dataset.encoding = {}
        datasets[f"/{path}"] = dataset
    if function is xr.open_datatree:
        return xr.DataTree.from_dict(datasets)
    if not requested:
        return datasets
    return {path.strip("/") or ".": dataset for path, dataset in datasets.items()}


def _group_paths(group: zarr.Group) -> Iterator[str]:
    yield ""
    for name, child in group.groups():
        for path in _group_paths(child):
            yield f"{name}/{path}".strip("/")


def compare(function: Open, store: Any, **options: Any) -> Any:
    """Open with both engines, assert that the results are the same, and return ours.

    Engine xgroup may give the warnings of engine zarr, and warn about missing principal conventions.
    """
    theirs, their_warnings = recorded(oracle_with_warnings, function, store, **options)
    ours, our_warnings = recorded(function, store, engine="xgroup", **options)
    known = {(type(item), str(item)) for item in their_warnings}
    for item in our_warnings:
        assert type(item) is XGroupNoPrincipalWarning or (type(item), str(item)) in known, item
    assert_same(ours, theirs)
    return ours


def assert_same(ours: Any, theirs: Any, *, encoding: bool = True, values: bool = True) -> None:
    """Assert that two Datasets, trees, or dicts of Datasets are identical.

    Encodings, or values except those of indexes, are only compared if requested.
    """
    if isinstance(ours, xr.DataTree):
        ours = {node.path: node.to_dataset(inherit=False) for node in ours.subtree}
        theirs = {node.path: node.to_dataset(inherit=False) for node in theirs.subtree}
    if isinstance(ours, dict):
        assert set(ours) == set(theirs)
        for path in theirs:
            assert_same(ours[path], theirs[path], encoding=encoding, values=values)
        return
    if values:
        xr.testing.assert_identical(ours, theirs)
    assert set(ours.variables) == set(theirs.variables)
    assert dict(ours.sizes) == dict(theirs.sizes)
    assert set(ours.coords) == set(theirs.coords)
    assert set(ours.xindexes) == set(theirs.xindexes)
    for index in theirs.xindexes:
        assert ours.xindexes[index].equals(theirs.xindexes[index]), index
    assert_equal(ours.attrs, theirs.attrs, "attrs")
    if encoding:
        assert_equal(ours.encoding, theirs.encoding, "encoding")
    for name, variable in theirs.variables.items():
        assert_same_variable(
            ours.variables[name], variable, str(name), encoding=encoding, values=values
        )


def assert_same_variable(
    ours: xr.Variable, theirs: xr.Variable, name: str, *, encoding: bool, values: bool
) -> None:
    assert ours.shape == theirs.shape, name
    assert ours.dims == theirs.dims, name
    assert ours.dtype == theirs.dtype, name
    assert type(ours) is type(theirs), name
    assert ours.chunks == theirs.chunks, name
    assert_equal(ours.attrs, theirs.attrs, f"{name} attrs")
    if encoding:
        assert_equal(ours.encoding, theirs.encoding, f"{name} encoding")
    if values:
        xr.testing.assert_equal(ours, theirs)


def assert_equal(ours: Any, theirs: Any, where: str) -> None:
    """Assert that values of attributes or encodings have the same types and are equal."""
    assert type(ours) is type(theirs), f"{where}: {ours!r}, {theirs!r}"
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key in theirs:
            assert_equal(ours[key], theirs[key], f"{where}/{key}")
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), where
        for index, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_equal(*pair, f"{where}/{index}")
    elif isinstance(theirs, np.ndarray):
        np.testing.assert_array_equal(ours, theirs, err_msg=where)
    else:
        both_nan = isinstance(theirs, float | np.floating) and np.isnan(theirs) and np.isnan(ours)
        assert both_nan or ours == theirs, where
