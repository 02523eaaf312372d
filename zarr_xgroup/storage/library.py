"""The stores of one open: each metadata document is read at most once, and only if it is needed.

With its stores the only thing of an open that changes.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any, Self, TypeVar

import zarr
from zarr.abc.store import Store

from zarr_xgroup.errors import XGroupError, XGroupStoreError
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import METADATA_KEYS, ZarrFormat, format_of
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import join_path, normalize_path
from zarr_xgroup.metadata.snapshots import Needs, Snapshot, Snapshots, nodes_below
from zarr_xgroup.options import ForeignOptions, StoreOptions
from zarr_xgroup.storage.failures import (
    check_foreign_root,
    check_group,
    check_not_stale,
    not_opened,
    reason_of,
)
from zarr_xgroup.storage.foreign import ForeignLimits, ForeignStores
from zarr_xgroup.storage.opening import describe_store, named_by, open_store, uri_of
from zarr_xgroup.storage.reading import StoreReader
from zarr_xgroup.storage.start import Start, find_start, groups_near
from zarr_xgroup.storage.stores import OpenStore, snapshot_of
from zarr_xgroup.storage.waiting import wait

K = TypeVar("K")

#: How many groups are named that hold arrays where one holds none, and of how many on each level
#: the members are read to find these.
_MOST_NEAR = 8
_MOST_LOOKED_AT = 100


class Library:
    """The stores of one open, each metadata document read at most once.

    Parameters
    ----------
    options : ForeignOptions
        How other stores are opened that references lead to.

    Attributes
    ----------
    snapshots : Snapshots
        What is known of the stores; number 0 is the one that is opened.
    stores : list of OpenStore
        The stores themselves, by number.
    """

    def __init__(self, options: ForeignOptions) -> None:
        self.snapshots = Snapshots()
        self.stores: list[OpenStore] = []
        self._satisfied: set[Needs] = set()
        self._foreign = ForeignStores(self._open_foreign, self.zarr_store, options)

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
        library : Library
            Of the whole store, whichever group was asked for.
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
        store_like, options = named_by(store_like, options)
        library = cls(options)
        try:
            return library, wait(_open(library, store_like, options))
        except (XGroupError, Warning):
            raise
        except Exception as error:
            raise not_opened(describe_store(store_like), error) from error

    @classmethod
    def around(cls, store: Store, zarr_format: ZarrFormat) -> Self:
        """Return the library of a store that is open already, of which no document is read yet."""
        library = cls({})
        name = describe_store(store)
        library.add(store, snapshot_of(store, name, zarr_format), uri_of(store))
        return library

    @property
    def findings(self) -> list[Finding]:
        """What was found about stores as a whole."""
        return [finding for store in self.stores for finding in store.findings]

    def read(self, needs: Needs) -> None:
        """Read all documents and listings that an interpretation needs, concurrently.

        Raises
        ------
        XGroupStoreError
            If just that was read before: to ask for it again would never end.
        """
        if needs in self._satisfied:
            message = _("what was read is still lacking: {needs}").format(needs=needs)
            raise XGroupStoreError(message)
        wait(self._read(needs))
        self._satisfied.add(needs)

    def read_group(self, group: str, *, is_tree: bool = False) -> None:
        """Read the documents of a group's children, and of the groups it is in.

        Raises
        ------
        XGroupStoreError
            If the group's members cannot be listed.
        """
        wait(self.stores[0].read_members([group], is_tree=is_tree))
        if not self.snapshots[0].is_listed(group):
            raise self.snapshots[0].problems[group]

    def read_tree(self, group: str) -> None:
        """Read the documents of all nodes below a group, concurrently level by level.

        Raises
        ------
        XGroupStoreError
            If the group's own members cannot be listed.
        """
        self.read_group(group, is_tree=True)
        wait(self.stores[0].read_below([group]))

    def read_beside_consolidated(self, group: str) -> Snapshot:
        """Return what nodes' own documents say of a group that is consolidated and all below it.

        All those that are consolidated are read at once; then all others, as far as they can be listed.
        """
        store, known = self.stores[0].store, self.snapshots[0]
        own = snapshot_of(store, known.name, known.zarr_format)
        beside = self.add(store, own, ignores_consolidated=True)
        nodes = [*nodes_below(known, group)] + [group] * (group != known.consolidated_at)
        wait(beside.read_documents(nodes))
        wait(beside.read_members([group]))
        wait(beside.read_below([group]))
        return own

    def read_values(
        self, arrays: Mapping[tuple[Node, bool], zarr.Array[Any]]
    ) -> dict[tuple[Node, bool], Any]:
        """Return values of arrays that xarray is about to read, read all at once.

        Parameters
        ----------
        arrays : mapping
            By node, and whether all values are wanted, or else the first and the last one.

        Returns
        -------
        dict
            The values, the first and the last one, or the XGroupStoreError of reading them.
        """

        async def read() -> list[Any]:
            return await asyncio.gather(
                *(
                    self.stores[node.store].read_values(array, node.path, whole=whole)
                    for (node, whole), array in arrays.items()
                )
            )

        return dict(zip(arrays, wait(read()), strict=True)) if arrays else {}

    def zarr_store(self, number: int) -> Store:
        """Return an open store."""
        return self.stores[number].store

    @property
    def closer(self) -> Callable[[], None] | None:
        """A function that closes the stores that were opened here, and holds nothing else.

        Not a method of the library, lest Datasets keep and pickle that.
        """
        stores = tuple(opened.store for opened in self.stores if opened.closes)
        if len(stores) == 1:
            return stores[0].close
        return partial(_close, stores) if stores else None

    def close(self) -> None:
        """Close all stores that were opened here."""
        _close(opened.store for opened in self.stores if opened.closes)

    def release(self) -> None:
        """Forget all documents; the stores stay open."""
        self.snapshots.forget()
        for opened in self.stores:
            opened.listings.clear()

    def add(
        self, store: Store, snapshot: Snapshot, uri: str | None = None, **how: Any
    ) -> OpenStore:
        """Add an open store with its snapshot, the one that is opened with its URI; see `OpenStore`."""
        if uri is not None:
            self._foreign.begin_at(uri)
        opened = OpenStore(len(self.stores), store, snapshot, **how)
        self.stores.append(opened)
        self.snapshots.append(snapshot)
        return opened

    async def _open_foreign(
        self, location: str, options: dict[str, Any] | None, name: str, limits: ForeignLimits
    ) -> int:
        """Open a store that a reference leads to and return its number.

        Raises
        ------
        XGroupStoreError
            With the reason why it cannot be opened.
        """
        try:
            store = (await open_store(location, options)).store
        except XGroupStoreError as error:
            raise XGroupStoreError(reason_of(error.__cause__ or error)) from error
        try:
            reader = StoreReader(store, limits.timeout, most=limits.document)
            found = await reader.node("", METADATA_KEYS)
            snapshot = snapshot_of(store, name, format_of(found) or 3, is_foreign=True)
            snapshot.learn_node("", found)
            check_foreign_root(snapshot, found)
        except BaseException:
            store.close()
            raise
        opened = self.add(store, snapshot, closes=True, limits=limits)
        opened.learn_consolidated({"": found}, None)
        return opened.number

    async def _read(self, needs: Needs) -> None:
        async def read_foreign(number: int, uri: str, paths: Iterable[str]) -> None:
            root = await self._foreign.root(uri, number)
            self.snapshots.links[number, uri] = root
            if isinstance(root, Node):
                below = [join_path(root.path, path) for path in paths]
                await self.stores[root.store].read_documents(below)

        links = _by_key(((number, uri), path) for number, uri, path in sorted(needs.foreign))
        documents, members, doubted = (
            _by_key((self.stores[node.store], node.path) for node in nodes)
            for nodes in (needs.documents, needs.members, needs.doubted)
        )
        await asyncio.gather(
            *(store.read_documents(paths) for store, paths in documents.items()),
            *(store.read_members(groups) for store, groups in members.items()),
            *(store.read_doubted(paths) for store, paths in doubted.items()),
            *(read_foreign(*link, paths) for link, paths in links.items()),
        )


def groups_instead(library: Library, group: str) -> list[str]:
    """Return, if a group that was read holds no array, the nearest groups below it that do, at most eight."""
    snapshot = library.snapshots[0]
    is_broken = any(path.rpartition("/")[0] == group for path in snapshot.problems if path)
    if snapshot.arrays(group) or is_broken:
        return []
    return wait(_groups_with_arrays(library.stores[0], group))


async def _groups_with_arrays(store: OpenStore, group: str) -> list[str]:
    """Return the nearest groups below one that hold arrays; on each level so many are looked at."""
    found: list[str] = []
    level = [group]
    while level and len(found) < _MOST_NEAR:
        below = (join_path(path, name) for path in level for name in store.snapshot.groups(path))
        level = list(islice(below, _MOST_LOOKED_AT))
        await store.read_members(level, is_tree=True, with_parents=False)
        found += [path for path in level if store.snapshot.arrays(path)]
    return found[:_MOST_NEAR]


def _by_key(pairs: Iterable[tuple[K, str]]) -> dict[K, list[str]]:
    grouped: defaultdict[K, list[str]] = defaultdict(list)
    for key, path in pairs:
        grouped[key].append(path)
    return grouped


def _close(stores: Iterable[Store]) -> None:
    for store in stores:
        store.close()


async def _open(library: Library, store_like: Any, options: StoreOptions) -> str:
    """Open the store of a library, and return the path of the group asked for."""
    # As zarr has it: a backslash in the path of a group is a slash.
    asked = normalize_path((options.get("group") or "").replace("\\", "/"), is_served=False)
    start = await find_start(store_like, asked, options)
    try:
        opened = _learn_start(library, start, options)
        await _check_start(opened, start)
        if start.listing is not None and not opened.snapshot.is_listed(start.group):
            opened.keep_listing(start.group, await start.listing)
    except BaseException:
        start.give_up()
        raise
    if start.listing is not None:
        start.listing.cancel()
    return start.group


def _learn_start(library: Library, start: Start, options: StoreOptions) -> OpenStore:
    """Add the store that is opened, with what was found where it begins."""
    name = describe_store(start.store_like)
    snapshot = snapshot_of(start.store, name, start.zarr_format or 3)
    consolidated = options.get("consolidated")
    opened = library.add(
        start.store,
        snapshot,
        uri_of(start.store_like),
        closes=start.is_ours,
        ignores_consolidated=consolidated is False,
        named=start.named,
    )
    for path, values in start.found.items():
        snapshot.learn_node(path, values)
    opened.learn_consolidated(start.found, consolidated)
    return opened


async def _check_start(opened: OpenStore, start: Start) -> None:
    """Raise an error unless the group asked for is there, and a group."""
    snapshot, group = opened.snapshot, start.group
    check_not_stale(snapshot, start.found)
    is_there = snapshot.document(group) is not None or group in snapshot.problems
    are_known = is_there or snapshot.consolidated_at == ""
    check_group(snapshot, group, [] if are_known else await groups_near(start.store, group))
