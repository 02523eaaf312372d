"""One store's metadata: nodes found, listed and read once.

Nothing here knows xarray or builds zarr arrays: a node is its JSON document.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Self, TypedDict
from urllib.parse import unquote

from zarr.abc.store import Store
from zarr.core.sync import sync

from zarr_xgroup.documents import (
    CONSOLIDATED_V2,
    METADATA_KEYS,
    NODE_KEYS,
    Document,
    Found,
    ZarrFormat,
    consolidated_nodes,
    format_of,
    node_document,
)
from zarr_xgroup.errors import (
    XGroupError,
    XGroupGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupStoreError,
    XGroupStoreNotFoundError,
    XGroupWarning,
)
from zarr_xgroup.i18n import _
from zarr_xgroup.paths import join_path, normalize_path
from zarr_xgroup.stores import StoreReader, describe_store, gather, is_local, open_store
from zarr_xgroup.uris import URL, redact

_NAMED_GROUPS = 10


class StoreOptions(TypedDict, total=False):
    """The options of engine zarr that say how a store is opened, with the same meaning."""

    group: str | None
    consolidated: bool | None
    storage_options: dict[str, Any] | None
    zarr_format: ZarrFormat | None


@dataclass(eq=False)
class Hierarchy:
    """The nodes of one store, each metadata document read at most once.

    Attributes
    ----------
    store : zarr.abc.store.Store
        Where documents and chunks are read from.
    name : str
        What messages call the store.
    zarr_format : {2, 3}
        The format of all nodes.
    closes : bool
        Whether the store was opened here, so that closing what is handed out closes it.
    consolidated_at : str or None
        The group whose consolidated document says all there is below it.
    ignores_consolidated : bool
        Whether consolidated metadata is not to be used.
    problems : dict of str to XGroupError
        What is wrong with nodes that exist, by path: such a node has no document, or one
        without attributes if only these cannot be understood, or (a group) no children.
    warnings : list of XGroupWarning
        What is to be told of the store as a whole.
    """

    store: Store
    name: str
    zarr_format: ZarrFormat
    closes: bool
    consolidated_at: str | None = None
    ignores_consolidated: bool = False
    problems: dict[str, XGroupError] = field(default_factory=dict)
    warnings: list[XGroupWarning] = field(default_factory=list)
    _documents: dict[str, Document] = field(default_factory=dict)
    _children: dict[str, list[str]] = field(default_factory=dict)
    _absent: set[str] = field(default_factory=set)
    _foreign: ForeignStores = field(default_factory=lambda: ForeignStores())

    @classmethod
    def open(cls, store_like: Any, options: StoreOptions) -> tuple[Self, str]:
        """Open a store and find the group asked for.

        Parameters
        ----------
        store_like : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
            Whatever zarr opens as a store, or an object with such a `store`.
        options : StoreOptions
            The group, and how to open the store.

        Returns
        -------
        hierarchy : Hierarchy
            Rooted at the root of the whole store, whichever group was asked for.
        group : str
            The group's normalized path in it.

        Raises
        ------
        XGroupStoreNotFoundError
            If there is no store, or nothing of Zarr in it.
        XGroupStoreError
            If it cannot be opened or read, or consolidated metadata is required and missing.
        XGroupGroupError
            If the store has no such group, or has an array there.
        XGroupMetadataError
            If the document of the group cannot be understood.
        XGroupPathError
            If `group` cannot be a path.
        """
        return sync(cls._open(store_like, options))

    def document(self, path: str) -> Document | None:
        """Return the document of a node, or None if there is none, or none was read."""
        return self._documents.get(path)

    def find(self, path: str) -> Document | None:
        """Return the document of a node, read now if it was not yet; None if there is none."""
        self.load([path])
        return self._documents.get(path)

    def load(self, paths: Iterable[str]) -> None:
        """Read the documents of nodes, concurrently, as far as they are not known yet."""
        unknown = [path for path in dict.fromkeys(paths) if not self._is_known(path)]
        if unknown:
            sync(self._load(unknown))

    def foreign(self, uri: str) -> Hierarchy:
        """Return another store, opened once for all references to it.

        Raises
        ------
        XGroupStoreError
            If it cannot be opened, or must not be.
        """
        return self._foreign.open(uri, self)

    def why_absent(self, path: str) -> str:
        """Return why there is no node at a path, or none that can be used."""
        if path in self.problems:
            return str(self.problems[path])
        is_open = path not in self._absent and not self._is_below_array(path)
        if is_open and self._is_consolidated(path):
            if format_of(sync(self._read([path]))[0]) is None:
                self._absent.add(path)
                return _("no such node")
            return _(
                "no such node in the consolidated metadata, though the store has it: open it with "
                "consolidated=False"
            )
        return _("no such node")

    def is_listed(self, group: str) -> bool:
        """Tell whether the members of a group are known."""
        return group in self._children

    def arrays(self, group: str) -> dict[str, Document]:
        """Return the documents of a loaded group's arrays, sorted by name."""
        return dict(self._members(group, "array"))

    def groups(self, group: str) -> list[str]:
        """Return the names of a loaded group's child groups, sorted."""
        return [name for name, _document in self._members(group, "group")]

    def subtree(self, group: str) -> Iterator[str]:
        """Yield the path of a loaded group and those of all groups below it, parents first."""
        queue = deque([group])
        while queue:
            path = queue.popleft()
            yield path
            queue.extend(join_path(path, name) for name in self.groups(path))

    def load_group(self, group: str) -> None:
        """Read the documents of a group's children.

        Raises
        ------
        XGroupStoreError
            If the group's members cannot be listed.
        """
        sync(self._load_children([group]))
        if group not in self._children:
            raise self.problems[group]

    def load_tree(self, group: str) -> None:
        """Read the documents of all nodes below a group, concurrently level by level.

        Raises
        ------
        XGroupStoreError
            If the group's own members cannot be listed.
        """
        self.load_group(group)
        sync(self._load_below(group))

    def opened_stores(self) -> list[Store]:
        """Return the stores that were opened here: this one unless it came open, and foreign ones."""
        return ([self.store] if self.closes else []) + self._foreign.stores()

    def close(self) -> None:
        """Close all stores that were opened here."""
        for store in self.opened_stores():
            store.close()

    def _members(self, group: str, node_type: str) -> Iterator[tuple[str, Document]]:
        for name in self._children.get(group, ()):
            document = self._documents.get(join_path(group, name))
            if document is not None and document["node_type"] == node_type:
                yield name, document

    # Opening.

    @classmethod
    async def _open(cls, store_like: Any, options: StoreOptions) -> tuple[Self, str]:
        asked = normalize_path(options.get("group"))
        place = await open_store(store_like, options.get("storage_options"))
        group = join_path(place.path, asked)
        closes = place.store is not getattr(store_like, "store", store_like)
        try:
            found = await _read_ends(place.store, group, options)
            zarr_format = format_of(found[group]) or format_of(found[""])
            if zarr_format is None:
                raise _nothing_found(found, group, describe_store(store_like))
            hierarchy = cls(place.store, describe_store(store_like), zarr_format, closes)
            hierarchy.ignores_consolidated = options.get("consolidated") is False
            for path, values in found.items():
                hierarchy._add(path, values)
            hierarchy._take_consolidated(found, options.get("consolidated"))
            hierarchy._check_group(group)
        except XGroupError:
            if closes:
                place.store.close()
            raise
        return hierarchy, group

    def _add(self, path: str, found: Found) -> None:
        document, problem = node_document(found, self.zarr_format, f"/{path}")
        if document is not None:
            self._documents[path] = document
        if problem is not None:
            self.problems[path] = problem
        else:
            self.problems.pop(path, None)

    def _take_consolidated(self, found: dict[str, Found], required: bool | None) -> None:
        """Take over the first consolidated metadata there is: at the root, or at the group."""
        if required is False or not getattr(self.store, "supports_consolidated_metadata", True):
            return
        for at, values in found.items():
            try:
                nodes = consolidated_nodes(values, self.zarr_format, f"/{at}")
            except XGroupStoreError:
                if required:
                    raise
                continue  # a store may refuse to say that it has none
            except XGroupMetadataError as problem:
                if required:
                    raise
                message = _("{store} is read node by node: {reason}").format(
                    store=self.name, reason=problem
                )
                self.warnings.append(XGroupMetadataWarning(message, problem))
                continue
            if nodes is not None:
                self._add_consolidated(at, nodes)
                self._check_stale(at, nodes, set(found) - {at})
                return
        if required:
            message = _(
                "{store} has no consolidated metadata; open it with consolidated=False, or "
                "leave that out"
            ).format(store=self.name)
            raise XGroupStoreError(message)

    def _add_consolidated(self, at: str, nodes: dict[str, Found]) -> None:
        self.consolidated_at = at
        children: dict[str, set[str]] = {at: set()}
        for relative, values in nodes.items():
            path = join_path(at, relative.strip("/"))
            self._add(path, values)
            if path in self._documents and self._documents[path]["node_type"] == "group":
                children.setdefault(path, set())
            while path != at:
                parent, _slash, name = path.rpartition("/")
                children.setdefault(parent, set()).add(name)
                path = parent
        for path, names in children.items():
            self._children[path] = sorted(names)
            # A group that only its members show: consolidated documents made by hand leave
            # such groups out.
            if path not in self._documents and path not in self.problems:
                self._documents[path] = {
                    "zarr_format": self.zarr_format,
                    "node_type": "group",
                    "attributes": {},
                }

    def _check_stale(self, at: str, nodes: dict[str, Found], read: set[str]) -> None:
        """Raise if a node that was read itself is not in the consolidated metadata."""
        for path in read & set(self._documents):
            if (not at or path.startswith(f"{at}/")) and path not in self._children:
                relative = path[len(at) :].lstrip("/")
                if relative in nodes:
                    continue
                message = _(
                    "The consolidated metadata of {store} has no group {group!r}, though the "
                    "store itself does: open it with consolidated=False, and consolidate it anew"
                ).format(store=self.name, group=f"/{path}")
                raise XGroupGroupError(message)

    def _check_group(self, group: str) -> None:
        """Raise unless the group asked for is one."""
        document = self._documents.get(group)
        if document is None:
            problem = self.problems.get(group)
            if problem is not None:
                raise _of_store(problem, self.name)
            raise XGroupGroupError(self._no_group(group))
        if document["node_type"] == "array" and not group:
            message = _("{store} is an array, not a group of arrays").format(store=self.name)
            raise XGroupGroupError(message)
        if document["node_type"] == "array":
            parent, _slash, name = group.rpartition("/")
            message = _(
                "{path!r} in {store} is an array, not a group: open the group {parent!r} and "
                "take its variable {name!r}"
            ).format(path=f"/{group}", store=self.name, parent=f"/{parent}", name=name)
            raise XGroupGroupError(message)

    def _no_group(self, group: str) -> str:
        message = _("There is no group {group!r} in {store}").format(
            group=f"/{group}", store=self.name
        )
        if self.consolidated_at == "":
            names = [f"/{path}" for path in self.subtree("")][:_NAMED_GROUPS]
            message += _("; groups there are: {names}").format(names=", ".join(names))
        else:
            message += _("; xarray.open_groups(..., engine='xgroup') shows which there are")
        return message

    def _is_known(self, path: str) -> bool:
        if path in self._documents or path in self._absent or self._is_consolidated(path):
            return True
        return self._is_below_array(path)

    def _is_below_array(self, path: str) -> bool:
        """Tell whether there can be no node at a path, for there is an array above it."""
        parents = accumulate(path.split("/")[:-1], join_path)
        return any(
            (document := self._documents.get(parent)) is not None
            and document["node_type"] == "array"
            for parent in parents
        )

    def _is_consolidated(self, path: str) -> bool:
        at = self.consolidated_at
        return at is not None and (not at or path == at or path.startswith(f"{at}/"))

    # Reading.

    async def _load(self, paths: Iterable[str]) -> None:
        paths = list(paths)
        for path, values in zip(paths, await self._read(paths), strict=True):
            self._add(path, values)
            if path not in self._documents:
                self._absent.add(path)

    async def _read(self, paths: Iterable[str]) -> list[Found]:
        reader = StoreReader(self.store)
        keys = NODE_KEYS[self.zarr_format]
        return await gather(lambda path: reader.node(path, keys), paths)

    async def _load_below(self, group: str) -> None:
        level = [group]
        while level:
            level = [join_path(path, name) for path in level for name in self.groups(path)]
            await self._load_children(level)

    async def _load_children(self, groups: Iterable[str]) -> None:
        reader = StoreReader(self.store)
        groups = [path for path in groups if path not in self._children]
        listings = dict(zip(groups, await gather(reader.names, groups), strict=True))
        children = [
            join_path(path, name)
            for path, names in listings.items()
            if isinstance(names, set)
            for name in names - METADATA_KEYS
        ]
        await self._load(path for path in children if not self._is_known(path))
        for path, names in listings.items():
            self._add_listing(path, names)

    def _add_listing(self, group: str, names: set[str] | XGroupStoreError) -> None:
        reason = names if isinstance(names, XGroupStoreError) else None
        if reason is None and isinstance(names, set):
            nodes = {name for name in names if join_path(group, name) in self._documents}
            # A listing that works shows at least the group's own document, which was read.
            if nodes or names & METADATA_KEYS:
                self._children[group] = sorted(nodes)
                return
        if self.ignores_consolidated:
            message = _(
                "The members of group {group!r} cannot be found: {store} cannot be listed, and its "
                "consolidated metadata was not to be used. Leave consolidated=False out."
            )
        else:
            message = _(
                "The members of group {group!r} cannot be found: {store} cannot be listed and has "
                "no consolidated metadata. Who writes the store can add it by "
                "zarr.consolidate_metadata(store)."
            )
        problem = XGroupStoreError(message.format(group=f"/{group}", store=self.name))
        problem.__cause__ = reason
        self.problems[group] = problem


class ForeignStores:
    """Stores that references of one open lead to, each opened at most once."""

    def __init__(self) -> None:
        self._opened: dict[str, Hierarchy | XGroupStoreError] = {}

    def open(self, uri: str, referring: Hierarchy) -> Hierarchy:
        """Return the store at a URI, or raise XGroupStoreError."""
        place = uri.rstrip("/")
        if place not in self._opened:
            self._opened[place] = self._attempt(place, referring)
        opened = self._opened[place]
        if isinstance(opened, XGroupStoreError):
            raise opened
        return opened

    def stores(self) -> list[Store]:
        """Return the stores that were opened."""
        opened = self._opened.values()
        return [place.store for place in opened if isinstance(place, Hierarchy)]

    def _attempt(self, uri: str, referring: Hierarchy) -> Hierarchy | XGroupStoreError:
        match = URL.match(uri)
        if match is None:
            message = _("{uri!r} is not an absolute URI of a store").format(uri=uri)
            return XGroupStoreError(message)
        if match["scheme"].lower() != "file":
            message = _("store {uri} was not opened: only file:// URIs are followed so far").format(
                uri=redact(uri)
            )
            return XGroupStoreError(message)
        if not is_local(referring.store):
            message = _(
                "store {uri} was not opened: a store that is not local must not lead to local files"
            ).format(uri=redact(uri))
            return XGroupStoreError(message)
        try:
            hierarchy, _group = Hierarchy.open(_local_place(uri), {})
        except XGroupError as error:
            message = _("store {uri} cannot be opened: {reason}").format(
                uri=redact(uri), reason=error
            )
            return XGroupStoreError(message)
        hierarchy._foreign = self
        return hierarchy


def _local_place(uri: str) -> str:
    """Return the path of a ``file://`` URI: literally if it is there, else percent-decoded."""
    path = uri.removeprefix("file://")
    return path if Path(path).exists() else unquote(path)


async def _read_ends(store: Store, group: str, options: StoreOptions) -> dict[str, Found]:
    """Read the documents at the root and at the group, in whichever format there may be."""
    zarr_format = options.get("zarr_format")
    keys: list[str] = []
    if zarr_format in (None, 3):
        keys += NODE_KEYS[3]
    if zarr_format in (None, 2):
        keys += NODE_KEYS[2]
        if options.get("consolidated") is not False:
            keys.append(CONSOLIDATED_V2)
    reader = StoreReader(store)
    paths = dict.fromkeys(["", group])
    found = await gather(lambda path: reader.node(path, keys), paths)
    return dict(zip(paths, found, strict=True))


def _nothing_found(found: dict[str, Found], group: str, store: str) -> XGroupError:
    """Return why neither the root nor the group is there: reading failed, or nothing is."""
    for values in found.values():
        for value in values.values():
            if isinstance(value, XGroupError):
                return _of_store(value, store)
    message = _("There is no Zarr group {group!r} in {store}, nor any at its root").format(
        group=f"/{group}", store=store
    )
    return XGroupStoreNotFoundError(message)


def _of_store(error: XGroupError, store: str) -> XGroupError:
    """Return an error about something in a store with the name of the store."""
    named = type(error)(_("{store}: {reason}").format(store=store, reason=error))
    named.__cause__ = error.__cause__
    return named
