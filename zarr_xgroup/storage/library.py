"""The stores of one open: each metadata document is read at most once, and only if it is needed.

With its stores the only thing of an open that changes.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import Any, Literal, Self, TypeAlias, TypeVar

import zarr
from zarr.abc.store import Store

from zarr_xgroup.errors import XGroupEmptyGroupWarning, XGroupStoreError, warn_user
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import METADATA_KEYS, ZarrFormat
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import Pattern, join_path, normalize_path
from zarr_xgroup.metadata.tree import KnownStore, Lack, Tree
from zarr_xgroup.options import ForeignOptions, StoreOptions
from zarr_xgroup.storage.failures import (
    check_foreign_root,
    check_group,
    check_not_stale,
    reason_of,
)
from zarr_xgroup.storage.foreign import ForeignLimits, ForeignStores
from zarr_xgroup.storage.opening import describe_store, named_by, open_store, uri_of
from zarr_xgroup.storage.reading import StoreReader, wait
from zarr_xgroup.storage.start import find_start, groups_near
from zarr_xgroup.storage.stores import OpenStore, known_store

T = TypeVar("T")

#: Which values of an array are read: all, or the first and the last one.
Part: TypeAlias = Literal["all", "ends"]

#: How many groups are named that hold arrays where one holds none, and of how many on each level
#: the members are read to find these.
_MOST_NEAR = 8
_MOST_LOOKED_AT = 100
#: How many groups are compared with a pattern that none matches.
_MOST_COMPARED = 1000


class Library:
    """The stores of one open, each metadata document read at most once.

    Parameters
    ----------
    options : ForeignOptions
        How other stores are opened that references lead to.

    Attributes
    ----------
    tree : Tree
        What is known of the stores; number 0 is the one that is opened.
    stores : list of OpenStore
        The stores themselves, by number.
    pattern : Pattern or None
        Which groups below the one that is opened are asked for; None for all.
    """

    def __init__(self, options: ForeignOptions) -> None:
        self.tree = Tree()
        self.stores: list[OpenStore] = []
        self.pattern: Pattern | None = None
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
            The group's normalized path in it; where a pattern was given, that of the group it begins at.

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
        return library, wait(_open(library, store_like, options))

    @classmethod
    def around(cls, store: Store, zarr_format: ZarrFormat) -> Self:
        """Return the library of a store that is open already, of which no document is read yet."""
        library = cls({})
        name = describe_store(store)
        library.add(store, known_store(store, name, zarr_format), uri_of(store))
        return library

    @property
    def findings(self) -> list[Finding]:
        """What was found about stores as a whole."""
        return [finding for store in self.stores for finding in store.findings]

    def ask(self, question: Callable[[], T]) -> T:
        """Return the answer to a question about the tree, asked again until it lacks nothing.

        All that it lacks is read at once. Until then neither its answer counts nor what it raises.
        """
        lacking = self.tree.lacking
        while True:
            lacking.clear()
            try:
                answer = question()
            except Exception:
                if not lacking:
                    raise
            else:
                if not lacking:
                    return answer
            wait(self._read(frozenset(lacking)))

    def read_group(self, group: str, *, is_tree: bool = False) -> None:
        """Read the documents of a group's children, and of the groups it is in.

        Raises
        ------
        XGroupStoreError
            If the group's members cannot be listed.
        """
        node = Node(0, group)
        if self.pattern is not None and not is_tree:  # which asks for several
            check_group(self.tree, join_path(group, self.pattern.text.strip("/")), [])
        wait(self.stores[0].read_members([node], is_tree=is_tree))
        if not self.tree.is_listed(node):
            raise self.tree.problems[node]

    def read_tree(self, group: str) -> None:
        """Read the documents of all nodes below a group, concurrently level by level.

        Raises
        ------
        XGroupStoreError
            If the group's own members cannot be listed.
        """
        self.read_group(group, is_tree=True)
        wait(self.stores[0].read_below(Node(0, group)))

    def read_matching(self, pattern: Pattern) -> list[Node]:
        """Read all groups that match a pattern and those that they are in, and return them, parents first.

        Raises
        ------
        XGroupStoreError
            If the members of the group that it begins at cannot be listed.
        """
        store, top = self.stores[0], Node(0, pattern.top)
        wait(store.read_members([top]))
        if not self.tree.is_listed(top):
            raise self.tree.problems[top]
        found = wait(store.find_groups(top, pattern))
        matching = [group for group in found if pattern.matches(group.path)]
        if not matching:
            known = [*found[1:], *map(top.child, self.tree.groups(top))]
            paths = [str(group) for group in islice(dict.fromkeys(known), _MOST_COMPARED)]
            nearest = get_close_matches(pattern.text, paths, n=_MOST_NEAR, cutoff=0)
            message = _("No group of {store} matches {pattern!r}; the nearest are: {names}").format(
                store=store.known.name, pattern=pattern.text, names=", ".join(nearest) or "-"
            )
            warning = XGroupEmptyGroupWarning(message)
            warning.paths = tuple(nearest)
            warn_user(warning)
        wanted = {top, *matching, *(above for group in matching for above in group.ancestors())}
        groups = [group for group in found if group in wanted]
        wait(store.read_members(groups, with_parents=False))
        return groups

    def read_beside_consolidated(self, group: str) -> int:
        """Return the number under which the tree has what nodes' own documents say of a consolidated group.

        All those that are consolidated are read at once; then all others, as far as they can be listed.
        """
        store, known = self.stores[0].store, self.tree.stores[0]
        itself = known_store(store, known.name, known.zarr_format)
        beside = self.add(store, itself, ignores_consolidated=True)
        top = beside.node(group)
        if (pattern := self.pattern) is not None:
            known_groups = [node.path for node in self.tree.subtree(Node(0, group))]
            wait(beside.read_members(map(beside.node, filter(pattern.matches, known_groups))))
            return beside.number
        nodes = [beside.node(node.path) for node in self.tree.nodes_below(Node(0, group))]
        wait(beside.read_documents(nodes + [top] * (group != known.consolidated_at)))
        wait(beside.read_members([top]))
        wait(beside.read_below(top))
        return beside.number

    def read_values(
        self, arrays: Mapping[tuple[Node, Part], zarr.Array[Any]]
    ) -> dict[tuple[Node, Part], Any]:
        """Return values of arrays that xarray is about to read, read all at once.

        Parameters
        ----------
        arrays : mapping
            By node, and which of its values are wanted.

        Returns
        -------
        dict
            All values, the first and the last one, or the XGroupStoreError of reading them.
        """

        async def read() -> list[Any]:
            return await asyncio.gather(
                *(
                    self.stores[node.store].read_values(array, node.path, whole=part == "all")
                    for (node, part), array in arrays.items()
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
        self.tree.forget()
        for opened in self.stores:
            opened.listings.clear()

    def add(self, store: Store, known: KnownStore, uri: str | None = None, **how: Any) -> OpenStore:
        """Add an open store with what is known of it, the one that is opened with its URI; see `OpenStore`."""
        if uri is not None:
            self._foreign.begin_at(uri)
        self.tree.stores.append(known)
        opened = OpenStore(len(self.stores), store, self.tree, **how)
        self.stores.append(opened)
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
            known = known_store(store, name, check_foreign_root(found), is_foreign=True)
        except BaseException:
            store.close()
            raise
        opened = self.add(store, known, closes=True, limits=limits)
        self.tree.learn_node(opened.node(""), found)
        opened.learn_consolidated({"": found}, None)
        return opened.number

    async def _read(self, lacking: Collection[Lack]) -> None:
        """Read what is lacking, concurrently.

        Raises
        ------
        XGroupStoreError
            If it is lacking even so: to ask again would never end.
        """

        async def read_foreign(number: int, uri: str, paths: Iterable[str]) -> None:
            root = await self._foreign.root(uri, number)
            self.tree.links[number, uri] = root
            if isinstance(root, Node):
                nodes = [root.child(path) for path in paths]
                await self.stores[root.store].read_documents(nodes)

        links: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
        documents: defaultdict[OpenStore, list[Node]] = defaultdict(list)
        members: defaultdict[OpenStore, list[Node]] = defaultdict(list)
        # The same order each time: of URIs that name one store the first is that by which it is opened.
        for node, of_members, uri in sorted(lacking, key=lambda lack: (lack.uri or "", str(lack))):
            if uri is not None:
                links[node.store, uri].append(node.path)
            else:
                (members if of_members else documents)[self.stores[node.store]].append(node)
        await asyncio.gather(
            *(store.read_documents(nodes) for store, nodes in documents.items()),
            *(store.read_members(groups) for store, groups in members.items()),
            *(read_foreign(*link, paths) for link, paths in links.items()),
        )
        if still := [lack for lack in lacking if not self.tree.is_answered(lack)]:
            message = _("what was read is still lacking: {needs}").format(needs=still)
            raise XGroupStoreError(message)


def groups_instead(library: Library, opened: str) -> list[str]:
    """Return, if a group that was read holds no array, the nearest groups below it that do, at most eight."""
    tree, node = library.tree, Node(0, opened)
    broken = (wrong.group for wrong in tree.problems if wrong.path and wrong.store == 0)
    if tree.arrays(node) or node in broken:
        return []
    found: list[str] = []
    level = [node]
    while level and len(found) < _MOST_NEAR:
        below = (parent.child(name) for parent in level for name in tree.groups(parent))
        level = list(islice(below, _MOST_LOOKED_AT))
        wait(library.stores[0].read_members(level, is_tree=True, with_parents=False))
        found += [group.path for group in level if tree.arrays(group)]
    return found[:_MOST_NEAR]


def _close(stores: Iterable[Store]) -> None:
    for store in stores:
        store.close()


async def _open(library: Library, store_like: Any, options: StoreOptions) -> str:
    """Open the store of a library, and return the path of the group asked for."""
    # As zarr has it: a backslash in the path of a group is a slash.
    given = (options.get("group") or "").replace("\\", "/")
    asked = normalize_path(given, is_served=False)
    is_pattern = not set("*?[").isdisjoint(asked)
    start = await find_start(store_like, "" if is_pattern else asked, options)
    try:
        # 1. What was found where the store begins.
        tree, consolidated = library.tree, options.get("consolidated")
        name = describe_store(start.store_like)
        opened = library.add(
            start.store,
            known_store(start.store, name, start.zarr_format or 3),
            uri_of(start.store_like),
            closes=start.is_opened_here,
            ignores_consolidated=consolidated is False,
            named=start.named,
        )
        for path, values in start.found.items():
            tree.learn_node(opened.node(path), values)
        opened.learn_consolidated(start.found, consolidated)

        # 2. Whether the group is there, and a group.
        group = opened.node(start.group)
        check_not_stale(tree, start.found)
        is_there = tree.known(group) is not None or group in tree.problems
        are_known = is_there or opened.known.consolidated_at == ""
        near = [] if are_known else await groups_near(start.store, start.group)
        check_group(tree, start.group, near)
        if start.listing is not None and not tree.is_listed(group):
            opened.keep_listing(group, await start.listing)

        # 3. A pattern, unless a group is called so.
        if is_pattern:
            called_so = opened.node(join_path(start.group, asked))
            await opened.read_documents([called_so])
            document = tree.known(called_so)
            if document is not None and not document.is_array:
                group = called_so
            else:
                text = f"/{asked}" if given.startswith("/") else asked
                library.pattern = Pattern(start.group, text)
    except BaseException:
        start.give_up()
        raise
    if start.listing is not None:
        start.listing.cancel()
    return group.path
