"""Laws that hold for every store: each way to open it, compared with engine zarr."""

import gc
import json
import posixpath
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from pathlib import Path
from typing import Any, Generic, TypeVar

import xarray as xr
import zarr

import zarr_xgroup
from zarr_xgroup import XGroupError, XGroupNoPrincipalWarning, XGroupStoreError, XGroupWarning
from zarr_xgroup.metadata.paths import is_plain_name
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    OPENS_GROUPS,
    TRUSTS_CONSOLIDATED,
    Open,
    assert_same,
    memory_store,
    oracle_with_warnings,
    quietly,
)
from zarr_xgroup.tests.random_stores import (
    ASSUMED,
    Documents,
    Json,
    contents_of,
    node_paths,
    places,
)

T = TypeVar("T")

PACKAGE = Path(zarr_xgroup.__file__).parent

#: Texts in documents that declare conventions, in lower case.
DECLARATIONS = ("zarr_conventions", "nz-1.0")

#: The largest number of elements that the tests read.
READABLE = 1_000_000

#: A recursion limit that engine zarr reaches only for copies of groups in themselves.
FRAMES = 500

#: Warnings of numpy, xarray and zarr about the contents of documents, with any engine.
OF_DOCUMENTS = (
    "overflow encountered in",
    "Duplicate dimension names present",
    "Found an empty list of filters in the array metadata document",
    "NumPy will stop allowing conversion of out-of-bound Python integers",  # older xarray: fill values
    "Conversion of an array with ndim > 0 to a scalar is deprecated",  # older zarr: the same
    "The codec `vlen-utf8` is currently not part",  # zarr 3.0
    # decode_coords="all", of a group that engine zarr cannot open: the path is that of the document
    "Variable(s) referenced in grid_mapping not in variables: ['/",
)


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The result of a call: a value or an error, and the warnings."""

    value: T | None
    error: Exception | None
    warnings: tuple[Warning, ...] = ()


def attempt(function: Callable[..., T], *args: Any, **options: Any) -> Outcome[T]:
    """Call a function and return its value or error, and its warnings."""
    value, error = None, None
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        try:
            value = function(*args, **options)
        except Exception as caught:  # noqa: BLE001 - any error is a result
            error = caught
    messages = [item.message for item in caught_warnings]
    return Outcome(value, error, tuple(item for item in messages if isinstance(item, Warning)))


def described(error: BaseException) -> str:
    """Return the class of an error, the last function of this package in its traceback, and the traceback."""
    frames = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    ours = [
        f"{path.stem}.{name}"
        for path, name in zip(frames, names, strict=True)
        if path.is_relative_to(PACKAGE) and "tests" not in path.parts
    ]
    whole = "".join(traceback.format_exception(error)[-6:])[-3000:]
    return f"{type(error).__name__} in {ours[-1] if ours else 'xarray'}\n{whole}"


def unexpected_warnings(given: Iterable[Warning], *known: type[Warning]) -> Iterator[str]:
    """Yield the warnings that are neither of known classes nor about contents of documents."""
    for warning in given:
        if not (isinstance(warning, known) or str(warning).startswith(OF_DOCUMENTS)):
            yield f"warns: {type(warning).__name__}: {warning}"


def violations(store: Documents, **options: Any) -> list[str]:
    """Return the laws that are broken when a store is opened in each way, with options of xarray."""
    opened = Opened(store, options)
    if opened.is_huge_index and not HAS_INDEX_OPTION:
        return []  # this xarray would read it
    return [
        *opened.faults_of_tree(),
        *(fault for path in opened.paths for fault in opened.faults(path)),
    ]


class Opened:
    """A store whose groups are opened with both engines, and as a tree with engine xgroup.

    Parameters
    ----------
    store : dict
        The store.
    of_xarray : mapping, optional
        Options of xarray for both engines.
    """

    def __init__(self, store: Documents, of_xarray: Mapping[str, Any] | None = None) -> None:
        self._of_xarray = dict(of_xarray or {})
        self._documents = {key: value for key, value in store.items() if key != ASSUMED}
        self.contents = contents_of(self._documents)
        self._store = memory_store(self.contents)
        self.options = {key: store[key] for key in (ASSUMED,) if key in store}
        self.is_huge_index = any(_is_huge_index(key, self._documents) for key in self._documents)
        self.paths = [path for path in node_paths(self._documents) if self._is_group(path)]
        self._has_copies = any(
            posixpath.basename(key) == ".zmetadata" or "consolidated" in json.dumps(document)
            for key, document in self._documents.items()
        )
        # In v2 groups without "zarr_format", engine zarr looks for v3 nodes.
        is_odd = any(
            posixpath.basename(key) == ".zgroup"
            and not (isinstance(document, dict) and "zarr_format" in document)
            for key, document in self._documents.items()
        )
        self._has_oracle = not is_odd and not any(map(_is_huge, _all_of(self._documents)))
        self._ours = {path: self._by_us(xr.open_dataset, path) for path in self.paths}
        self._theirs = {path: self._by_engine_zarr(path) for path in self.paths}

    @cached_property
    def tree(self) -> Outcome[Any]:
        return self._by_us(xr.open_datatree)

    def _is_group(self, path: str) -> bool:
        prefix = f"{path}/" if path else ""
        document = self._documents.get(f"{prefix}zarr.json")
        if isinstance(document, dict) and "shape" not in document:
            return True
        return f"{prefix}.zgroup" in self._documents

    def _by_us(self, function: Open, group: str = "") -> Outcome[Any]:
        options = {**self.options, **self._of_xarray, "group": group}
        if self.is_huge_index:  # engine zarr would read it as well
            options["create_default_indexes"] = False
        return attempt(function, self._store, engine="xgroup", **options)

    def _by_engine_zarr(self, group: str) -> Outcome[Any]:
        """Return a group opened with engine zarr, or nothing if consolidated copies differ."""
        nothing: Outcome[Any] = Outcome(None, None)
        is_opened = all(map(_is_opened, filter(None, group.split("/"))))
        # Older versions of xarray and zarr answer differently if copies are inconsistent (law 1).
        has_oracle_of_copies = OPENS_GROUPS and TRUSTS_CONSOLIDATED
        if not (self._has_oracle and is_opened) or (self._has_copies and not has_oracle_of_copies):
            return nothing
        with _few_frames():
            outcome, *others = (
                attempt(
                    *(oracle_with_warnings, xr.open_dataset, self._store),
                    **{**self._of_xarray, **options, "group": group},
                )
                for options in ({}, *([{"consolidated": False}] if self._has_copies else []))
            )
        if isinstance(outcome.error, RecursionError):
            quietly(gc.collect)  # unfinished objects give their warnings now, not while we open
            return nothing
        for other in others:
            if other.value is None or outcome.value is None:
                return nothing
            if list(differences(outcome.value, other.value)):
                return nothing
        return outcome

    def faults(self, path: str) -> Iterator[str]:
        """Yield the faults of one group, opened alone."""
        ours, theirs = self._ours[path], self._theirs[path]
        yield from self._of_call(ours, path, *map(type, theirs.warnings))
        if ours.value is None:
            return
        yield from _unreadable(ours.value, theirs.value)
        reported = {path for warning in _our_warnings(ours) for path in warning.paths}
        if theirs.value is not None:
            names = [name for name in theirs.value.variables if _is_opened(name)]
            expected = [
                name for name in names if f"/{path}/{name}".replace("//", "/") not in reported
            ]
            yield from _lost(ours.value, theirs.value[expected])
            is_declared = bool(self.options) or self._declares(path)
            if len(expected) == len(theirs.value.variables) and not (is_declared or reported):
                yield from differences(ours.value, theirs.value)
        elif self._has_oracle and not self._has_copies:
            texts = " ".join(map(str, ours.warnings))
            known = {*map(str, ours.value.variables), *self._of_xarray.get("drop_variables", ())}
            for name in self._arrays_that_open_alone(path) - known:
                if _is_opened(name) and f"/{path}/{name}".replace("//", "/") not in texts:
                    yield f"loses a variable that engine zarr opens alone: {name!r}"

    def faults_of_tree(self) -> Iterator[str]:
        """Yield the faults of the tree."""
        their_warnings = (
            warning for outcome in self._theirs.values() for warning in outcome.warnings
        )
        yield from self._of_call(self.tree, "", *map(type, their_warnings))
        if self.tree.value is None:
            return
        nodes = {node.path.strip("/"): node for node in self.tree.value.subtree}
        alone = {
            path: outcome.value
            for path, outcome in self._ours.items()
            if posixpath.dirname(path) in nodes
        }
        for path, dataset in alone.items():
            names = path.split("/") if path else []
            if dataset is None or not all(map(_is_opened, names)) or self._has_copies:
                continue
            if path not in nodes:
                reported = [it for warning in _our_warnings(self.tree) for it in warning.paths]
                if not any(f"/{path}".startswith(start) for start in reported):
                    yield f"loses a group in the tree: {path}"
            else:
                yield from _lost_in_tree(nodes[path], dataset)
        if not self._has_copies:
            yield from (f"adds a group: {path}" for path in nodes.keys() - {*self.paths, ""})
        theirs = {path: outcome.value for path, outcome in self._theirs.items()}
        if bool(self.options) or _our_warnings(self.tree) or _declares(self._documents.values()):
            return
        if theirs.keys() == nodes.keys() and all(
            dataset is not None for dataset in theirs.values()
        ):
            datasets = {f"/{path}": dataset for path, dataset in theirs.items()}
            tree = attempt(xr.DataTree.from_dict, datasets)
            if tree.value is not None:
                yield from differences(self.tree.value, tree.value)

    def _of_call(
        self, ours: Outcome[Any], path: str, *their_warnings: type[Warning]
    ) -> Iterator[str]:
        """Yield unexpected errors and warnings."""
        is_expected = isinstance(ours.error, XGroupError) and self._is_broken(path)
        if isinstance(ours.error, XGroupStoreError) and self._has_damaged_values(ours.error):
            is_expected = True
        if "is not aligned with its parents" in str(ours.error) and not hides_indexes():
            is_expected = True
        if ours.error is not None and not is_expected:
            yield f"raises: {described(ours.error)}"
        known = (XGroupWarning, xr.SerializationWarning, *their_warnings)
        yield from unexpected_warnings(ours.warnings, *known)

    def _has_damaged_values(self, error: XGroupStoreError) -> bool:
        """Return whether an error is about an array whose values zarr cannot read either."""
        named = re.search(r": /(.*) cannot be read: .* drop_variables=", str(error), re.DOTALL)
        if named is None:
            return False

        def values() -> Any:
            return zarr.open_array(self._store, path=named[1], mode="r")[...]

        return attempt(values).error is not None

    def _is_broken(self, path: str) -> bool:
        """Return whether zarr cannot open a group, its path is not opened, or consolidated copies may differ."""
        is_opened = all(map(_is_opened, filter(None, path.split("/"))))
        alone = attempt(zarr.open_group, self._store, path=path, mode="r")
        return not is_opened or self._has_copies or alone.error is not None

    def _declares(self, path: str) -> bool:
        """Return whether a group, one of its members or an ancestor declares a convention."""
        ancestors = ["", *(path[: match.start()] for match in re.finditer("/", path)), path]
        return _declares(
            document
            for key, document in self._documents.items()
            if posixpath.dirname(key) in ancestors
            or posixpath.dirname(posixpath.dirname(key)) == path
            or "consolidated" in json.dumps(document)
        )

    def _arrays_that_open_alone(self, path: str) -> set[str]:
        """Return the names of the arrays of a group that engine zarr opens alone."""
        prefix = f"{path}/" if path else ""
        inside = [key.removeprefix(prefix) for key in self.contents if key.startswith(prefix)]
        own = {key: self.contents[key] for key in self.contents if posixpath.dirname(key) == path}
        names = set()
        for name in {key.partition("/")[0] for key in inside if "/" in key}:
            start = f"{prefix}{name}/"
            rest = {key: value for key, value in self.contents.items() if key.startswith(start)}
            store: Any = memory_store({**own, **rest})
            opened = attempt(xr.open_dataset, store, engine="zarr", group=path, consolidated=False)
            if opened.value is not None and name in opened.value.variables:
                names.add(name)
        return names


@contextmanager
def _few_frames() -> Iterator[None]:
    """Set a low recursion limit, so that endless recursion ends soon."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@cache
def hides_indexes() -> bool:
    """Return whether a node's coordinate hides an index of its parent from the node's children.

    Older versions of xarray confuse the two, and refuse the children.
    """
    parent = xr.Dataset(coords={"y": [1, 2]})
    node = xr.Dataset(coords={"y": ("x", [1, 2, 3]), "x": [1, 2, 3]})
    nodes = {"/": parent, "/a": node, "/a/b": xr.Dataset()}
    return attempt(xr.DataTree.from_dict, nodes).error is None


# Documents.


def _declares(documents: Iterable[Json]) -> bool:
    """Return whether a document declares a convention, or names dimensions of ancestors."""
    for document in documents:
        text = json.dumps(document).lower()
        if any(declaration in text for declaration in DECLARATIONS):
            return True
        for key in ("dimension_names", "_ARRAY_DIMENSIONS"):
            names = document.get(key) if isinstance(document, dict) else None
            if isinstance(names, list) and any(str(dim).startswith("/") for dim in names):
                return True
    return False


def _all_of(documents: Documents) -> Iterator[Json]:
    for document in documents.values():
        yield document
        for container, key in places(document):
            yield container[key]


def _is_opened(name: Hashable) -> bool:
    """Return whether a node with a name is opened; other names refer to a different node (see the specification)."""
    return is_plain_name(str(name))


def _is_huge(document: Json) -> bool:
    """Return whether an array is too large to read, or has a chunk length above 2**63.

    zarr does not find chunks of such a length, and may return uninitialised memory.
    """
    if not isinstance(document, dict):
        return False
    shape, chunks = document.get("shape"), document.get("chunks")
    lengths = [size for size in shape if isinstance(size, int)] if isinstance(shape, list) else []
    return prod(lengths) > READABLE or (isinstance(chunks, int) and chunks > 2**63)


def _is_huge_index(key: str, documents: Documents) -> bool:
    """Return whether a document is that of a huge dimension coordinate, which engine zarr reads.

    If the document names no dimension, a convention may name it.
    """
    path, document = posixpath.dirname(key), documents[key]
    if not _is_huge(document):
        return False
    attributes = documents.get(f"{path}/.zattrs")
    named = attributes.get("_ARRAY_DIMENSIONS") if isinstance(attributes, dict) else None
    names = document.get("dimension_names", named)
    return names in (None, [None], [posixpath.basename(path)])


# Opened objects.


def _our_warnings(outcome: Outcome[Any]) -> list[XGroupWarning]:
    """Return our warnings, except about missing principal conventions."""
    ours = [warning for warning in outcome.warnings if isinstance(warning, XGroupWarning)]
    return [warning for warning in ours if type(warning) is not XGroupNoPrincipalWarning]


def _opened_shape(dataset: xr.Dataset, name: Hashable) -> tuple[int, ...]:
    """Return the shape of a variable on opening, because zarr changes lengths above 2**53."""
    return tuple(dataset.sizes[dim] for dim in dataset.variables[name].dims)


def _lost(ours: xr.Dataset, theirs: xr.Dataset) -> Iterator[str]:
    """Yield the variables that only engine zarr returns, or returns with a different shape."""
    for name in theirs.variables:
        if name not in ours.variables:
            yield f"loses a variable: {name!r}"
        elif _opened_shape(ours, name) != _opened_shape(theirs, name):
            yield f"changes a shape: {name!r}"


def _lost_in_tree(node: xr.DataTree, alone: xr.Dataset) -> Iterator[str]:
    """Yield the variables that the group has only if it is opened alone.

    In a tree, xarray removes coordinates that an ancestor has, too. Dimensions that do not align with ancestors
    are renamed with their coordinates, and so are variables with the name of an inherited index.
    """
    in_tree = [*node.to_dataset(inherit=False).variables.items(), *node.coords.variables.items()]
    for name, variable in alone.variables.items():
        shapes = [
            in_tree_variable.shape
            for other, in_tree_variable in in_tree
            if f"_{name}_" in f"_{other}_"
        ]
        if variable.shape not in shapes:
            yield f"loses a variable in a tree: {name!r}"


def differences(ours: Any, theirs: Any) -> Iterator[str]:
    """Yield the differences of two opened objects, including their values if these can be read.

    Values that only engine zarr can read are compared for each group (`_unreadable`).
    """
    datasets: list[xr.Dataset] = []
    for opened in (ours, theirs):
        nodes = [opened] if isinstance(opened, xr.Dataset) else opened.subtree
        datasets += [it if it is opened else it.to_dataset(inherit=False) for it in nodes]
    readable = not any(attempt(lambda it: it.copy().load(), it).error for it in datasets)
    try:
        quietly(assert_same, ours, theirs, values=readable)
    except AssertionError as error:
        yield f"differs: {described(error)}"


def _unreadable(ours: xr.Dataset, theirs: xr.Dataset | None) -> Iterator[str]:
    """Yield the variables that cannot be read, although they can with engine zarr or are not stored.

    The encoding of stored variables names their source.
    """
    for name, variable in ours.variables.items():
        error = _reading_error(variable)
        if error is None:
            continue
        is_stored = "source" in variable.encoding or "preferred_chunks" in variable.encoding
        is_stored |= " in stored." in described(error)  # computed from an array
        their = None if theirs is None else theirs.variables.get(name)
        if not is_stored or (their is not None and not _reading_error(their)):
            yield f"cannot be read: {described(error)}"


def _reading_error(variable: Any) -> Exception | None:
    return attempt(lambda: variable.values).error if variable.size <= READABLE else None
