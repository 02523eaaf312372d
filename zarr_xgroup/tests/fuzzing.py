"""The laws that hold for every store whatever: what each way to open it gives, beside engine zarr."""

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
from zarr_xgroup import XGroupError, XGroupNoPrincipalWarning, XGroupWarning
from zarr_xgroup.metadata.documents import GROUP_KEYS
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

#: What declares conventions, as documents write it, in small letters.
DECLARATIONS = ("zarr_conventions", "nz-1.0")

#: More elements than this nobody reads, engine zarr neither.
READABLE = 1_000_000

#: Frames that engine zarr needs for no hierarchy met here, but for copies of groups in themselves.
FRAMES = 500

#: What numpy and xarray warn of what is written, in whichever engine; engine zarr may not get there.
OF_DOCUMENTS = (
    "overflow encountered in",
    "Duplicate dimension names present",
    "Found an empty list of filters in the array metadata document",
    "NumPy will stop allowing conversion of out-of-bound Python integers",  # older xarray: fill values
    "Conversion of an array with ndim > 0 to a scalar is deprecated",  # older zarr: the same
    "The codec `vlen-utf8` is currently not part",  # zarr 3.0
)


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came of a call: a value or an error, and the warnings."""

    value: T | None
    error: Exception | None
    warnings: tuple[Warning, ...] = ()


def attempt(function: Callable[..., T], *args: Any, **options: Any) -> Outcome[T]:
    """Call a function, whatever comes of it."""
    value, error = None, None
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            value = function(*args, **options)
        except Exception as caught:  # noqa: BLE001 - what is raised is what is asked for
            error = caught
    told = [item.message for item in given]
    return Outcome(value, error, tuple(item for item in told if isinstance(item, Warning)))


def described(error: BaseException) -> str:
    """Return the class of an error, the last function of this package that it came through, and all of it."""
    frames = [Path(it.filename) for it in traceback.extract_tb(error.__traceback__)]
    names = [it.name for it in traceback.extract_tb(error.__traceback__)]
    ours = [
        f"{path.stem}.{name}"
        for path, name in zip(frames, names, strict=True)
        if path.is_relative_to(PACKAGE) and "tests" not in path.parts
    ]
    whole = "".join(traceback.format_exception(error)[-6:])[-3000:]
    return f"{type(error).__name__} in {ours[-1] if ours else 'xarray'}\n{whole}"


def unexpected_warnings(given: Iterable[Warning], *known: type[Warning]) -> Iterator[str]:
    """Yield the warnings that are not of known classes, and not of what a document says."""
    for warning in given:
        if not (isinstance(warning, known) or str(warning).startswith(OF_DOCUMENTS)):
            yield f"warns: {type(warning).__name__}: {warning}"


def violations(store: Documents, **options: Any) -> list[str]:
    """Return the laws that are broken when a store is opened with options of xarray, each way to open it."""
    opened = Opened(store, options)
    if opened.is_huge_index and not HAS_INDEX_OPTION:
        return []  # xarray could not be kept from reading it
    return [*opened.faults_of_tree(), *(it for path in opened.paths for it in opened.faults(path))]


class Opened:
    """A store, opened by both engines: the tree by ours, and each group by either.

    Parameters
    ----------
    store : dict
        The store.
    of_xarray : mapping, optional
        Options of xarray that both engines are given.
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
        # In groups of v2 that keep their format to themselves, engine zarr looks for nodes of v3.
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
        """Return what engine zarr makes of a group, nothing where copies of documents say something else."""
        nothing: Outcome[Any] = Outcome(None, None)
        is_taken = all(map(_is_taken, filter(None, group.split("/"))))
        # Older versions of xarray and zarr answer differently if copies are inconsistent (law 1).
        has_oracle_of_copies = OPENS_GROUPS and TRUSTS_CONSOLIDATED
        if not (self._has_oracle and is_taken) or (self._has_copies and not has_oracle_of_copies):
            return nothing
        with _few_frames():
            found, *others = (
                attempt(
                    *(oracle_with_warnings, xr.open_dataset, self._store),
                    **{**self._of_xarray, **options, "group": group},
                )
                for options in ({}, *([{"consolidated": False}] if self._has_copies else []))
            )
        if isinstance(found.error, RecursionError):
            quietly(gc.collect)  # what it left unfinished says so now, and not while we open
            return nothing
        for other in others:
            if other.value is None or found.value is None:
                return nothing
            if list(differences(found.value, other.value)):
                return nothing
        return found

    def faults(self, path: str) -> Iterator[str]:
        """Yield what is wrong with one group, opened alone."""
        ours, theirs = self._ours[path], self._theirs[path]
        yield from self._of_call(ours, path, *map(type, theirs.warnings))
        if ours.value is None:
            return
        yield from _unreadable(ours.value, theirs.value)
        told = {place for it in _told(ours) for place in it.paths}
        if theirs.value is not None:
            names = [it for it in theirs.value.variables if _is_taken(it)]
            expected = [it for it in names if f"/{path}/{it}".replace("//", "/") not in told]
            yield from _lost(ours.value, theirs.value[expected])
            is_declared = bool(self.options) or self._declares(path)
            if len(expected) == len(theirs.value.variables) and not (is_declared or told):
                yield from differences(ours.value, theirs.value)
        elif self._has_oracle and not self._has_copies:
            texts = " ".join(map(str, ours.warnings))
            known = {*map(str, ours.value.variables), *self._of_xarray.get("drop_variables", ())}
            for name in self._arrays_that_open_alone(path) - known:
                if _is_taken(name) and f"/{path}/{name}".replace("//", "/") not in texts:
                    yield f"loses a variable that engine zarr opens alone: {name!r}"

    def faults_of_tree(self) -> Iterator[str]:
        """Yield what is wrong with the tree, whose nodes are the groups."""
        their_warnings = (it for outcome in self._theirs.values() for it in outcome.warnings)
        yield from self._of_call(self.tree, "", *map(type, their_warnings))
        if self.tree.value is None:
            return
        nodes = {node.path.strip("/"): node for node in self.tree.value.subtree}
        alone = {
            path: it.value for path, it in self._ours.items() if posixpath.dirname(path) in nodes
        }
        for path, dataset in alone.items():
            names = path.split("/") if path else []
            if dataset is None or not all(map(_is_taken, names)) or self._has_copies:
                continue
            if path not in nodes:
                told = [it for warning in _told(self.tree) for it in warning.paths]
                if not any(f"/{path}".startswith(it) for it in told):
                    yield f"loses a group in the tree: {path}"
            else:
                yield from _lost_in_tree(nodes[path], dataset)
        if not self._has_copies:
            yield from (f"adds a group: {path}" for path in nodes.keys() - {*self.paths, ""})
        theirs = {path: it.value for path, it in self._theirs.items()}
        if bool(self.options) or _told(self.tree) or _declares(self._documents.values()):
            return
        if theirs.keys() == nodes.keys() and all(it is not None for it in theirs.values()):
            tree = attempt(xr.DataTree.from_dict, {f"/{path}": it for path, it in theirs.items()})
            if tree.value is not None:
                yield from differences(self.tree.value, tree.value)

    def _of_call(
        self, ours: Outcome[Any], path: str, *their_warnings: type[Warning]
    ) -> Iterator[str]:
        """Yield errors and warnings that are not to be."""
        is_right = isinstance(ours.error, XGroupError) and self._is_broken(path)
        if "is not aligned with its parents" in str(ours.error) and not hides_indexes():
            is_right = True
        if ours.error is not None and not is_right:
            yield f"raises: {described(ours.error)}"
        known = (XGroupWarning, xr.SerializationWarning, *their_warnings)
        yield from unexpected_warnings(ours.warnings, *known)

    def _is_broken(self, path: str) -> bool:
        """Return whether engine zarr cannot open a group itself, or is not to, or copies may say otherwise."""
        is_taken = all(map(_is_taken, filter(None, path.split("/"))))
        alone = attempt(zarr.open_group, self._store, path=path, mode="r")
        return not is_taken or self._has_copies or alone.error is not None

    def _declares(self, path: str) -> bool:
        """Return whether a group, what is in it or a group above declares a convention."""
        above = ["", *(path[: match.start()] for match in re.finditer("/", path)), path]
        return _declares(
            document
            for key, document in self._documents.items()
            if posixpath.dirname(key) in above
            or posixpath.dirname(posixpath.dirname(key)) == path
            or "consolidated" in json.dumps(document)
        )

    def _arrays_that_open_alone(self, path: str) -> set[str]:
        """Return the names of the arrays of a group that engine zarr opens, each for itself."""
        prefix = f"{path}/" if path else ""
        inside = [it.removeprefix(prefix) for it in self.contents if it.startswith(prefix)]
        own = {it: self.contents[it] for it in self.contents if posixpath.dirname(it) == path}
        found = set()
        for name in {it.partition("/")[0] for it in inside if "/" in it}:
            start = f"{prefix}{name}/"
            rest = {it: value for it, value in self.contents.items() if it.startswith(start)}
            store: Any = memory_store({**own, **rest})
            opened = attempt(xr.open_dataset, store, engine="zarr", group=path, consolidated=False)
            if opened.value is not None and name in opened.value.variables:
                found.add(name)
        return found


@contextmanager
def _few_frames() -> Iterator[None]:
    """Keep what goes round in circles from doing so for a second."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@cache
def hides_indexes() -> bool:
    """Return whether a node's coordinate hides an index of its parent from the node's children.

    Older versions of xarray take the index for that of the coordinate, and refuse the children.
    """
    parent = xr.Dataset(coords={"y": [1, 2]})
    node = xr.Dataset(coords={"y": ("x", [1, 2, 3]), "x": [1, 2, 3]})
    nodes = {"/": parent, "/a": node, "/a/b": xr.Dataset()}
    return attempt(xr.DataTree.from_dict, nodes).error is None


# What documents say.


def _declares(documents: Iterable[Json]) -> bool:
    """Return whether any of documents declares a convention, or takes dimensions of groups above it."""
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


def _is_taken(name: Hashable) -> bool:
    """Return whether a node of a name is opened at all; the specification says why others are not.

    They lead elsewhere; in a group of v3, what is called as a document of v2 is taken for one.
    """
    return is_plain_name(str(name)) and name not in GROUP_KEYS[2]


def _is_huge(document: Json) -> bool:
    """Return whether an array is too long to be read, or has chunks longer than any number can count.

    Of the latter zarr finds none: where nothing fills them, it gives what is in memory by chance.
    """
    if not isinstance(document, dict):
        return False
    shape, chunks = document.get("shape"), document.get("chunks")
    lengths = [it for it in shape if isinstance(it, int)] if isinstance(shape, list) else []
    return prod(lengths) > READABLE or (isinstance(chunks, int) and chunks > 2**63)


def _is_huge_index(key: str, documents: Documents) -> bool:
    """Return whether a document is that of a huge coordinate of its own dimension.

    Engine zarr reads all of it. Where no name of a dimension is written, a convention may say it.
    """
    path, document = posixpath.dirname(key), documents[key]
    if not _is_huge(document):
        return False
    attributes = documents.get(f"{path}/.zattrs")
    named = attributes.get("_ARRAY_DIMENSIONS") if isinstance(attributes, dict) else None
    names = document.get("dimension_names", named)
    return names in (None, [None], [posixpath.basename(path)])


# What was opened.


def _told(outcome: Outcome[Any]) -> list[XGroupWarning]:
    """Return our warnings but that arrays declare no principal convention."""
    told = [item for item in outcome.warnings if isinstance(item, XGroupWarning)]
    return [item for item in told if type(item) is not XGroupNoPrincipalWarning]


def _opened_shape(dataset: xr.Dataset, name: Hashable) -> tuple[int, ...]:
    """Return the shape that a variable had when it was opened; zarr reads lengths above 2**53 as others."""
    return tuple(dataset.sizes[dim] for dim in dataset.variables[name].dims)


def _lost(ours: xr.Dataset, theirs: xr.Dataset) -> Iterator[str]:
    """Yield the variables that only engine zarr gives, or gives in another shape."""
    for name in theirs.variables:
        if name not in ours.variables:
            yield f"loses a variable: {name!r}"
        elif _opened_shape(ours, name) != _opened_shape(theirs, name):
            yield f"changes a shape: {name!r}"


def _lost_in_tree(node: xr.DataTree, alone: xr.Dataset) -> Iterator[str]:
    """Yield the variables that only the group alone has, and those under another name.

    xarray leaves a coordinate that a group above has as well there. Dimensions that do not align with the groups
    above are renamed with their coordinates, and so are variables that have the name of an index above.
    """
    there = [*node.to_dataset(inherit=False).variables.items(), *node.coords.variables.items()]
    for name, variable in alone.variables.items():
        shapes = [it.shape for other, it in there if f"_{name}_" in f"_{other}_"]
        if variable.shape not in shapes:
            yield f"loses a variable in a tree: {name!r}"


def differences(ours: Any, theirs: Any) -> Iterator[str]:
    """Yield how what was opened differs, values included where they can be read.

    What only engine zarr can read is found group by group.
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
    """Yield the variables that cannot be read, but could by engine zarr or are read from no store.

    The others say in their encoding where they are read from.
    """
    for name, variable in ours.variables.items():
        error = _reading_error(variable)
        if error is None:
            continue
        is_stored = "source" in variable.encoding or "preferred_chunks" in variable.encoding
        is_stored |= " in stored." in described(error)  # what is worked out from an array
        their = None if theirs is None else theirs.variables.get(name)
        if not is_stored or (their is not None and not _reading_error(their)):
            yield f"cannot be read: {described(error)}"


def _reading_error(variable: Any) -> Exception | None:
    return attempt(lambda: variable.values).error if variable.size <= READABLE else None
