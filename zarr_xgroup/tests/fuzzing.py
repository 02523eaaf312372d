"""The laws that hold for every store whatever: what each way to open it gives, beside engine zarr."""

import gc
import json
import posixpath
import re
import sys
import traceback
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from math import prod
from typing import Any

import xarray as xr
import zarr

from zarr_xgroup import XGroupError, XGroupNoPrincipalWarning, XGroupWarning
from zarr_xgroup.metadata.documents import GROUP_KEYS
from zarr_xgroup.metadata.paths import is_plain_name
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    OPENS_GROUPS,
    Contents,
    Open,
    assert_same,
    memory_store,
    oracle_with_warnings,
    quietly,
)
from zarr_xgroup.tests.documents import array, group
from zarr_xgroup.tests.fuzzing_reports import report_violations
from zarr_xgroup.tests.outcomes import (
    OF_DOCUMENTS,
    Outcome,
    Violation,
    attempt,
    place_of,
    traceback_of,
)
from zarr_xgroup.tests.random_stores import (
    ASSUMED,
    DOCUMENT_NAMES,
    Documents,
    Json,
    contents_of,
    node_paths,
)
from zarr_xgroup.tests.strategies import places

#: What declares conventions, as documents write it, in small letters.
DECLARATIONS = ("zarr_conventions", "nz-1.0")

#: More elements than this nobody reads, engine zarr neither.
READABLE = 1_000_000

#: Frames that engine zarr needs for no hierarchy met here, but for copies of groups in themselves.
FRAMES = 500


def violations(store: Documents, *, with_reports: bool = True) -> list[Violation]:
    """Return the laws that are broken when a store is opened, each way to open it.

    Parameters
    ----------
    store : dict
        The store.
    with_reports : bool
        Whether it is explained and checked as well, which takes longer than all else.
    """
    examined = _Examined(store)
    if examined.has_huge_index and not HAS_INDEX_OPTION:
        return []  # xarray could not be kept from reading it
    groups = (it for path in examined.groups for it in examined.group(path))
    found = [*examined.tree(), *(examined.reports() if with_reports else ()), *groups]
    return list({violation.kind: violation for violation in found}.values())


class _Examined:
    """A store, opened by both engines.

    Engine zarr opens its groups at once where it can, and else each alone.

    Parameters
    ----------
    store : dict
        The store.
    """

    def __init__(self, store: Documents) -> None:
        documents = {key: value for key, value in store.items() if key != ASSUMED}
        self._documents = documents
        self._assumed = store.get(ASSUMED)
        self._store = memory_store(contents_of(documents))
        self._has_oracle = not any(_is_huge(document) for document in _all_documents(documents))
        self.has_huge_index = any(_is_huge_index(key, documents) for key in documents)
        self._has_copies = any(
            posixpath.basename(key) == ".zmetadata" or "consolidated" in json.dumps(document)
            for key, document in documents.items()
        )
        self.groups = [path for path in node_paths(documents) if self._is_group(path)]
        self._theirs = self._by_engine_zarr(xr.open_groups)

    @cached_property
    def _ours(self) -> Outcome[Any]:
        """What we make of the whole store."""
        return self._by_us(xr.open_datatree)

    def _is_group(self, path: str) -> bool:
        prefix = f"{path}/" if path else ""
        document = self._documents.get(f"{prefix}zarr.json")
        if isinstance(document, dict) and "shape" not in document:
            return True
        return f"{prefix}.zgroup" in self._documents

    def group(self, path: str) -> Iterator[Violation]:
        """Yield what is wrong with one group, opened alone."""
        ours = self._by_us(xr.open_dataset, group=path)
        theirs = self._their_group(path)
        yield from self._of_any(ours, theirs, path)
        if ours.value is None:
            return
        is_known = self._is_known(path)
        yield from _unreadable(ours.value, theirs.value if is_known else None)
        if not is_known:
            return
        if theirs.value is not None:
            comparable = _comparable(theirs.value, ours, f"/{path}".rstrip("/"))
            yield from _lost(ours.value, comparable)
            is_alike = len(comparable.variables) == len(theirs.value.variables)
            if is_alike and not (self._declares(path) or _tells(ours)):
                yield from differences(ours.value, theirs.value)
        elif self._has_oracle and not self._has_copies:
            yield from _missing(ours.value, ours.warnings, self._alone(path), path)

    def tree(self) -> Iterator[Violation]:
        """Yield what is wrong with the tree."""
        ours, theirs = self._ours, self._theirs
        yield from self._of_any(ours, theirs, "")
        if ours.value is None or theirs.value is None:
            return
        known = {
            path: _comparable(dataset, ours, path.rstrip("/"))
            for path, dataset in theirs.value.items()
            if self._is_known(path) and not _tells_of_shape(ours, path)
        }
        for path, dataset in known.items():
            if path in ours.value.groups:
                yield from _lost_in_tree(ours.value[path], dataset)
            else:
                yield Violation("loses a group", "", path)
        added = set(ours.value.groups) - set(theirs.value)
        if not self._has_copies:
            yield from (
                Violation("adds a group", "", path)
                for path in added - {f"/{path}" for path in self.groups}
            )
        # Older versions of engine zarr leave out groups that they open alone.
        is_alike = len(known) == len(theirs.value) == len(ours.value.groups) and all(
            len(known[path].variables) == len(it.variables) for path, it in theirs.value.items()
        )
        is_declared = self._assumed is not None or _declares(self._documents.values())
        if is_alike and not is_declared and not _tells(ours):
            tree = attempt(xr.DataTree.from_dict, theirs.value)
            if tree.value is not None:
                yield from differences(ours.value, tree.value)

    def reports(self) -> Iterator[Violation]:
        """Yield what is wrong with what is told of the store."""
        if not self.has_huge_index:  # of which another open was made than is told of
            yield from report_violations(contents_of(self._documents), self._options, self._ours)

    @property
    def _options(self) -> dict[str, Any]:
        """The options of our own."""
        return {} if self._assumed is None else {ASSUMED: self._assumed}

    def _by_us(self, function: Open, **options: Any) -> Outcome[Any]:
        if self.has_huge_index:  # engine zarr would read it as well
            options["create_default_indexes"] = False
        return attempt(function, self._store, engine="xgroup", **self._options, **options)

    def _by_engine_zarr(self, function: Open, **options: Any) -> Outcome[Any]:
        if not self._has_oracle:
            return Outcome(None, None, ())
        with _few_frames():
            found = attempt(oracle_with_warnings, function, self._store, **options)
        if not isinstance(found.error, RecursionError):
            return found
        # What it left unfinished says so when it is deleted: now, and not while we open.
        found = Outcome(None, RecursionError(), found.warnings)
        quietly(gc.collect)
        return found

    def _their_group(self, path: str) -> Outcome[Any]:
        """Return what engine zarr makes of a group; it is the same alone and among all."""
        if OPENS_GROUPS and self._theirs.value is not None and f"/{path}" in self._theirs.value:
            return Outcome(self._theirs.value[f"/{path}"], None, self._theirs.warnings)
        return self._by_engine_zarr(xr.open_dataset, group=path)

    def _of_any(self, ours: Outcome[Any], theirs: Outcome[Any], path: str) -> Iterator[Violation]:
        """Yield errors and warnings that are not to be."""
        error = ours.error
        is_right = isinstance(error, XGroupError) and self._is_broken(path)
        if "is not aligned with its parents" in str(error) and not hides_indexes():
            is_right = True
        if error is not None and not is_right:
            yield Violation(
                "raises", f"{type(error).__name__} in {place_of(error)}", traceback_of(error)
            )
        known = (XGroupWarning, xr.SerializationWarning, *map(type, theirs.warnings))
        for warning in ours.warnings:
            if not (isinstance(warning, known) or str(warning).startswith(OF_DOCUMENTS)):
                kind = f"{type(warning).__name__}: {re.sub('[0-9]+', 'N', str(warning))[:40]}"
                yield Violation("warns", kind, str(warning))

    def _is_broken(self, path: str) -> bool:
        """Return whether engine zarr cannot open a group itself, or is not to, whatever is in it."""
        if not all(map(_is_taken, path.split("/") if path else ())):
            return True
        alone = attempt(zarr.open_group, self._store, path=path, mode="r")
        # It asks the root for the group, where copies of documents may say something else.
        root = attempt(zarr.open_group, self._store, mode="r").value
        asked = attempt(lambda: root[path] if root is not None and path else root)
        is_asked = root is None or root.metadata.consolidated_metadata is not None
        is_lost = is_asked and not isinstance(asked.value, zarr.Group)
        return alone.error is not None or (self._has_copies and is_lost)

    def _is_known(self, path: str) -> bool:
        """Return whether a group is taken, and engine zarr takes it for what it is."""
        names = [name for name in path.split("/") if name]
        if names and self._has_copies and not asks_root():
            return False
        normalized = "/".join(names)
        return (
            all(map(_is_taken, names))
            and self._says_its_format(normalized)
            and not (len(names) > 1 and self._is_bare_copy(normalized))
            and not self._is_copied_as_v2(normalized)
        )

    def _is_bare_copy(self, path: str) -> bool:
        """Return whether the root has a copy of a group, but of nothing that is in it.

        Engine zarr lists such a group in the store, if it is not directly in the root.
        """
        keys = list(_copied_keys(self._documents))
        is_there = {path, f"{path}/.zgroup"}.intersection(keys)
        inside = (key for key in keys if posixpath.basename(key) not in DOCUMENT_NAMES[1:4])
        of_v2 = (posixpath.dirname(key) for key in keys)
        return bool(is_there) and not any(it.startswith(f"{path}/") for it in (*inside, *of_v2))

    def _is_copied_as_v2(self, path: str) -> bool:
        """Return whether the root has a copy in v2 of a group that is one of v3.

        Alone it is opened as what it is, and engine zarr asks the root for it.
        """
        return f"{path}/zarr.json" in self._documents and f"{path}/.zgroup" in set(
            _copied_keys(self._documents)
        )

    def _says_its_format(self, path: str) -> bool:
        """Return whether no group of v2, of those that lead to a path, keeps its format to itself.

        Engine zarr looks in such a group for nodes of v3.
        """
        names = path.split("/") if path else []
        prefixes = ["/".join([*names[:depth], ""]) for depth in range(len(names) + 1)]
        documents = [
            self._documents.get(f"{prefix}.zgroup")
            for prefix in prefixes
            if f"{prefix}zarr.json" not in self._documents
        ]
        return not any(isinstance(it, dict) and "zarr_format" not in it for it in documents)

    def _declares(self, path: str) -> bool:
        """Return whether a group, what is in it or a group above declares a convention."""
        above = ["", *(path[: match.start()] for match in re.finditer("/", path)), path]
        documents = [
            document
            for key, document in self._documents.items()
            if posixpath.dirname(key) in above
            or posixpath.dirname(posixpath.dirname(key)) == path
            or "consolidated" in json.dumps(document)
        ]
        takes_dimensions = any(map(_takes_dimensions, documents))
        return self._assumed is not None or takes_dimensions or _declares(documents)

    def _alone(self, path: str) -> set[str]:
        """Return the names of the arrays of a group that engine zarr opens, each for itself."""
        prefix = f"{path}/" if path else ""
        whole = contents_of(self._documents)
        names = {
            key.removeprefix(prefix).partition("/")[0]
            for key in whole
            if "/" in key[len(prefix) :] and key.startswith(prefix)
        }
        own = {key: value for key, value in whole.items() if posixpath.dirname(key) == path}
        return {name for name in names if self._opens(own, whole, f"{prefix}{name}/", path, name)}

    def _opens(self, own: Contents, whole: Contents, prefix: str, path: str, name: str) -> bool:
        rest = {key: value for key, value in whole.items() if key.startswith(prefix)}
        store: Any = memory_store({**own, **rest})
        opened = attempt(xr.open_dataset, store, engine="zarr", group=path, consolidated=False)
        return opened.value is not None and name in opened.value.variables


@cache
def asks_root() -> bool:
    """Return whether engine zarr looks for groups in what is consolidated at the root.

    By older versions of xarray it does so at the group.
    """
    copies = {"g": group(), "g/a": array([2], ["x"])}
    inline = {"kind": "inline", "must_understand": False, "metadata": copies}
    root = {**group(), "consolidated_metadata": inline}
    store = memory_store(contents_of({"zarr.json": root, "g/zarr.json": group()}))
    opened = attempt(xr.open_dataset, store, engine="zarr", group="g")
    return opened.value is not None and "a" in opened.value


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


def _copied_keys(documents: Documents) -> Iterator[str]:
    """Yield the keys of what is consolidated at the root."""
    for key, outer in (("zarr.json", "consolidated_metadata"), (".zmetadata", None)):
        document = documents.get(key)
        holder = document.get(outer) if isinstance(document, dict) and outer else document
        copies = holder.get("metadata") if isinstance(holder, dict) else None
        if isinstance(copies, dict):
            yield from copies


def _declares(documents: Iterable[Json]) -> bool:
    """Return whether any of documents declares a convention."""
    texts = (json.dumps(document).lower() for document in documents)
    return any(declaration in text for text in texts for declaration in DECLARATIONS)


def _takes_dimensions(document: Json) -> bool:
    """Return whether an array has dimensions of groups above it."""
    keys = ("dimension_names", "_ARRAY_DIMENSIONS")
    names = [document.get(key) for key in keys] if isinstance(document, dict) else []
    return any(str(dim).startswith("/") for it in names if isinstance(it, list) for dim in it)


def _all_documents(documents: Documents) -> Iterator[Json]:
    for document in documents.values():
        yield document
        for container, key in places(document):
            yield container[key]


def _is_taken(name: Hashable) -> bool:
    """Return whether a node of a name is opened at all; the specification says why others are not.

    They lead elsewhere; in a group of v3, what is called as a document of v2 is taken for one.
    """
    return is_plain_name(str(name)) and name not in GROUP_KEYS[2]


def _tells(outcome: Outcome[Any]) -> bool:
    """Return whether anything was told but that arrays declare no principal convention."""
    told = [item for item in outcome.warnings if isinstance(item, XGroupWarning)]
    return any(type(item) is not XGroupNoPrincipalWarning for item in told)


def _tells_of_shape(outcome: Outcome[Any], path: str) -> bool:
    """Return whether a node was told to have no shape, or chunks of no length.

    Engine zarr makes something of the former, and of the latter what raises when it is read.
    """
    reasons = ("'shape' must be", "its chunks [")
    return any(_tells_left_out(outcome, path, reason) for reason in reasons)


def _tells_left_out(outcome: Outcome[Any], path: str, reason: str) -> bool:
    """Return whether a node was told to be left out, for a reason that begins so."""
    told = [item for item in outcome.warnings if isinstance(item, XGroupWarning)]
    return any(path in item.paths and f": left out: {reason}" in str(item) for item in told)


def _comparable(theirs: xr.Dataset, ours: Outcome[Any], path: str) -> xr.Dataset:
    """Return what engine zarr gives without what is rightly left out."""
    return theirs.drop_vars(
        name
        for name, variable in theirs.variables.items()
        if not _is_taken(name)
        or _tells_of_shape(ours, f"{path}/{name}")
        or (_tells_of_reading(ours, f"{path}/{name}") and _reading_error(variable))
    )


def _tells_of_reading(outcome: Outcome[Any], path: str) -> bool:
    """Return whether an array was told not to be readable, which became a dimension's coordinate."""
    return _tells_left_out(outcome, path, f"{path} cannot be read")


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


def _opened_shape(dataset: xr.Dataset, name: Hashable) -> tuple[int, ...]:
    """Return the shape that a variable had when it was opened; zarr reads lengths above 2**53 as others."""
    return tuple(dataset.sizes[dim] for dim in dataset.variables[name].dims)


def _lost(ours: xr.Dataset, theirs: xr.Dataset) -> Iterator[Violation]:
    """Yield the variables that only engine zarr gives, or gives in another shape."""
    for name in theirs.variables:
        if name not in ours.variables:
            yield Violation("loses a variable", "", f"{name!r}")
        elif _opened_shape(ours, name) != _opened_shape(theirs, name):
            yield Violation("changes a shape", "", f"{name!r}")


def _lost_in_tree(ours: xr.DataTree, theirs: xr.Dataset) -> Iterator[Violation]:
    """Yield the variables that only engine zarr gives, and those under another name.

    A coordinate that a group above has as well is left there by xarray; what does not align
    with the groups above is called otherwise.
    """
    there = [*ours.to_dataset(inherit=False).variables.items(), *ours.coords.variables.items()]
    for name, variable in theirs.variables.items():
        shapes = [it.shape for other, it in there if f"{other}_".startswith(f"{name}_")]
        if variable.shape not in shapes:
            yield Violation("loses a variable", "in a tree", f"{name!r}")


def _missing(
    ours: xr.Dataset, given: Iterable[Warning], names: set[str], path: str
) -> Iterator[Violation]:
    """Yield the arrays that engine zarr opens alone, and that are left out without a word."""
    told = " ".join(map(str, given))
    for name in sorted(filter(_is_taken, names - set(map(str, ours.variables)))):
        if f"/{path}/{name}".replace("//", "/") not in told:
            yield Violation("loses a variable", "that engine zarr opens alone", f"{name!r}")


def _datasets_of(opened: Any) -> list[xr.Dataset]:
    """Return a Dataset, or those of the nodes of a tree with what these hide from it."""
    if isinstance(opened, xr.Dataset):
        return [opened]
    return [node.to_dataset(inherit=False) for node in opened.subtree]


def differences(ours: Any, theirs: Any) -> Iterator[Violation]:
    """Yield how what was opened differs, values included where they can be read.

    What only engine zarr can read is found group by group.
    """
    datasets = [dataset for opened in (ours, theirs) for dataset in _datasets_of(opened)]
    readable = not any(attempt(dataset.copy().load).error for dataset in datasets)
    try:
        quietly(assert_same, ours, theirs, values=readable)
    except AssertionError as error:
        line = traceback.extract_tb(error.__traceback__)[-1].line
        yield Violation("differs", str(line), traceback_of(error))


def _unreadable(ours: xr.Dataset, theirs: xr.Dataset | None) -> Iterator[Violation]:
    """Yield the variables that cannot be read, but could by engine zarr or are read from no store.

    The others say in their encoding where they are read from.
    """
    for name, variable in ours.variables.items():
        error = _reading_error(variable)
        if error is None:
            continue
        is_stored = "source" in variable.encoding or "preferred_chunks" in variable.encoding
        is_stored |= place_of(error).startswith("stored.")  # what is worked out from an array
        their = None if theirs is None else theirs.variables.get(name)
        if not is_stored or (their is not None and not _reading_error(their)):
            kind = f"{type(error).__name__} in {place_of(error)}"
            yield Violation("cannot be read", kind, traceback_of(error))


def _reading_error(variable: Any) -> Exception | None:
    return attempt(lambda: variable.values).error if variable.size <= READABLE else None
