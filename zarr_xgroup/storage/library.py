"""The stores of one open call: each metadata document is read at most once, and only if it is needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import Any, Literal, Self, TypeAlias, TypeVar

import msgspec
import zarr
from zarr.abc.store import Store

from zarr_xgroup._compat import has_index_option
from zarr_xgroup.errors import XGroupEmptyGroupWarning, XGroupStoreError, warn_user
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import METADATA_KEYS, ZarrFormat
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import GroupFilter, normalize_path, path_in_tree
from zarr_xgroup.metadata.tree import StoreRecord, Tree, Unread
from zarr_xgroup.options import StoreOptions
from zarr_xgroup.storage.addresses import Address, address_of, open_store
from zarr_xgroup.storage.failures import check_foreign_root, reason_of, suggesting
from zarr_xgroup.storage.foreign import ForeignStores
from zarr_xgroup.storage.handles import Handle, handle_of
from zarr_xgroup.storage.limits import ForeignLimits
from zarr_xgroup.storage.reading import Reading, StoreReader, gather, read_together, wait
from zarr_xgroup.storage.start import check_group, find_start
from zarr_xgroup.storage.stores import OpenStore

T = TypeVar("T")

#: Which values of an array are read: all, or the first and the last one (the ends).
ValuesNeeded: TypeAlias = Literal["all", "ends"]

#: How many groups a message names if the group has no arrays, or no group matches `group_filter`.
_MOST_NEAR = 8
#: How many groups of each level are read to find groups with arrays: each costs requests.
_MOST_READ_PER_LEVEL = 100
#: How many groups are compared with a `group_filter` that no group matches: `difflib` takes long.
_MOST_COMPARED = 1000


class Library:
    """The stores of one open call, each metadata document read at most once.

    Parameters
    ----------
    options : StoreOptions
        The options for foreign stores.

    Attributes
    ----------
    tree : Tree
        The documents of the stores; number 0 is the store that the user opened.
    stores : list of OpenStore
        The stores themselves, by number.
    array : str
        The name of the array of the requested group that the address names; "" if it names a group.
    """

    def __init__(self, options: StoreOptions) -> None:
        self.tree = Tree()
        self.stores: list[OpenStore] = []
        self.array = ""
        self._foreign = ForeignStores(self._open_foreign, self.handle, options)

    @classmethod
    def of_store(cls, store: Store, zarr_format: ZarrFormat) -> Self:
        """Return a library of a store that is open already; no document is read yet."""
        library = cls({})
        library.add(handle_of(store), zarr_format)
        return library

    def open(self, store_like: Any, options: StoreOptions, *, allows_array: bool = False) -> str:
        """Open the user's store, and return the normalized path of the requested group in it.

        If `allows_array`, the address may name an array of the group, whose name is in `array` then.

        Parameters
        ----------
        store_like : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
            Any object that zarr opens as a store, or whose attribute `store` zarr opens.
        options : StoreOptions
            The group, and how to open the store.

        Raises
        ------
        XGroupStoreNotFoundError
            If there is no store, or it has no Zarr node.
        XGroupStoreError
            If the store cannot be opened or read, or consolidated metadata are required and missing.
        XGroupGroupError
            If the group does not exist, or is an array.
        XGroupMetadataError
            If the document of the group is not valid.
        XGroupPathError
            If `group` is not a valid path.
        """
        return wait(self._open_first(address_of(store_like, options), allows_array=allows_array))

    @property
    def findings(self) -> list[Finding]:
        """Problems of consolidated metadata and listings, of all stores."""
        return [finding for store in self.stores for finding in store.findings]

    def ask(
        self,
        question: Callable[[], T],
        also: Reading | None = None,
    ) -> T:
        """Return the result of a function of the tree, after reading all documents that it needs.

        The function is called repeatedly. Unread documents that one call needs are read concurrently before the next
        call. The result or exception of such a call is ignored. `also` is read at the same time as the first documents.
        """
        unread, read = self.tree.unread, set[Unread]()
        while True:
            unread.clear()
            try:
                answer = question()
            except Exception:
                if not unread:
                    raise
            else:
                if not unread:
                    if also is not None:
                        wait(also())
                    return answer
            if still := read.intersection(unread):  # the loop would never end
                message = _("still unread after reading: {items}").format(items=[*still])
                raise XGroupStoreError(message)
            read.update(unread)
            readings: list[Reading] = [partial(self._read, frozenset(unread))]
            if also is not None:
                readings.append(also)
                also = None
            wait(read_together(readings))

    def read_group(
        self, group: str, *, is_tree: bool = False, to_list: Container[Node] = ()
    ) -> None:
        """Read the documents of a group's children, and of the groups above it.

        `is_tree` is whether child groups will be listed next. Otherwise only those in `to_list` will.

        Raises
        ------
        XGroupStoreError
            If the group's members cannot be listed.
        """
        if not self.tree.is_consolidated(Node(0, "")):  # then nothing has to be read
            groups = [Node(0, group)]
            wait(self.stores[0].read_members(groups, is_tree=is_tree, to_list=to_list))

    def read_tree(self, group: str) -> None:
        """Read the documents of all nodes below a group, concurrently level by level.

        Raises
        ------
        XGroupStoreError
            If the group's own members cannot be listed.
        """
        self.read_group(group, is_tree=True)
        if not self.tree.is_consolidated(Node(0, "")):
            wait(self.stores[0].read_below(Node(0, group)))

    def read_filtered(self, group_filter: GroupFilter) -> list[Node]:
        """Read the root of a tree, all groups that match, and the groups above them; return these, parents first.

        Warns, with the nearest paths, if no group matches.

        Raises
        ------
        XGroupStoreError
            If the members of the root cannot be listed.
        """
        self.read_group(group_filter.top)
        store, top = self.stores[0], Node(0, group_filter.top)
        groups, problems = wait(store.find_groups(top, group_filter))
        matching = [group for group in groups if group_filter.matches(group.path)]
        opened = {top, *matching, *(above for group in matching for above in group.ancestors())}
        # The plans of the opened groups report the problems of these groups and of their members.
        store.findings += [finding for group, finding in problems if group not in opened]
        if not matching:
            candidates = dict.fromkeys([*groups[1:], *map(top.child, self.tree.groups(top))])
            nodes = {path_in_tree(node.path, top.path): str(node) for node in candidates}
            paths = list(islice(nodes, _MOST_COMPARED))
            nearest = get_close_matches(group_filter.pattern, paths, n=_MOST_NEAR, cutoff=0)
            message = _(
                "No group of {store} matches group_filter={pattern!r}; the nearest groups are: {names}"
            ).format(
                store=store.record.name,
                pattern=group_filter.pattern,
                names=", ".join(nearest) or "-",
            )
            warning = XGroupEmptyGroupWarning(message)
            warning.paths = tuple(map(nodes.__getitem__, nearest))
            warn_user(warning)
        groups = [group for group in groups if group in opened]
        wait(store.read_members(groups, with_parents=False))
        return groups

    def warning_if_empty(self, group: Node) -> XGroupEmptyGroupWarning | None:
        """Return a warning if a group has no arrays, but groups below it do; None otherwise.

        Searches breadth first for the nearest groups with arrays, at most eight. The search ends at a group that cannot
        be read.
        """
        tree = self.tree
        broken = (node.group for node in tree.problems if node.path and node.store == 0)
        if tree.arrays(group) or group in broken:
            return None
        nearest: list[str] = []
        level = [group]
        while level and len(nearest) < _MOST_NEAR:
            below = (parent.child(name) for parent in level for name in tree.groups(parent))
            level = list(islice(below, _MOST_READ_PER_LEVEL))
            try:
                wait(self.stores[0].read_members(level, is_tree=True, with_parents=False))
            except XGroupStoreError:  # only groups to suggest are missing
                break
            nearest += [str(node) for node in level if tree.arrays(node)]
        if not nearest:
            return None
        paths = tuple(nearest[:_MOST_NEAR])
        message = _(
            "Group {path} of {store} has no arrays, but groups below it do: {names}. Open one of "
            "these, or all with xarray.open_datatree"
        ).format(path=group, store=tree.stores[0].name, names=", ".join(paths))
        warning = XGroupEmptyGroupWarning(message)
        warning.paths = paths
        return warning

    def read_own_documents(self, groups: Sequence[Node], *, is_part: bool) -> int:
        """Read the own documents of consolidated groups and their members, as a second store; return its number.

        All consolidated nodes are read at once, then the other nodes if groups can be listed. If the groups
        are only part of a tree (`is_part`), no members of other groups are read.
        """
        known = self.tree.stores[0]
        handle = msgspec.structs.replace(self.stores[0].handle, path="", is_ours=False)
        second = self.add(handle, known.zarr_format, ignores_consolidated=True)
        top, paths = second.node(groups[0].path), {group.path for group in groups}
        members = (group.child(name) for group in groups for name in self.tree.names(group))
        nodes = [second.node(member.path) for member in members]
        wait(second.read_documents(nodes + [top] * (top.path != known.consolidated_at)))
        if wait(second.can_list(top)):
            wait(second.read_members([top]))
            wait(second.read_below(top, paths if is_part else None))
        return second.number

    async def read_values(
        self,
        arrays: Mapping[tuple[Node, ValuesNeeded], zarr.Array[Any]],
        names: Mapping[tuple[Node, ValuesNeeded], str] | None = None,
    ) -> dict[tuple[Node, ValuesNeeded], Any]:
        """Read values of arrays, which xarray is about to use, concurrently.

        Parameters
        ----------
        arrays : mapping
            The arrays, by node and requested part.
        names : mapping, optional
            The names of their variables, which the user can leave out.

        Returns
        -------
        dict
            By the same keys: all values, or the first and the last one; the XGroupStoreError of reading a foreign store.

        Raises
        ------
        XGroupStoreError
            If values of the opened store cannot be read.
        """

        async def values(key: tuple[Node, ValuesNeeded]) -> Any:
            node, part = key
            store = self.stores[node.store]
            with suggesting("" if names is None else _way_out(part, names[key])):
                try:
                    return await store.read_values(arrays[key], node.path, whole=part == "all")
                except XGroupStoreError as error:
                    if not store.record.is_foreign:
                        raise
                    return error

        return dict(zip(arrays, await gather(values, arrays), strict=True)) if arrays else {}

    async def missing(self, keys: Mapping[Node, str]) -> set[Node]:
        """Return the nodes whose given key, such as that of a chunk, does not exist.

        Raises XGroupStoreError if the opened store cannot be read; keys of foreign stores that cannot be read exist.
        """

        async def exists(node: Node) -> bool:
            store = self.stores[node.store]
            try:
                return await store.exists(node.path, keys[node])
            except XGroupStoreError:
                if not store.record.is_foreign:
                    raise
                return True

        found = zip(keys, await gather(exists, keys), strict=True) if keys else ()
        return {node for node, is_there in found if not is_there}

    def zarr_store(self, number: int) -> Store:
        """Return the zarr store with a number of the tree."""
        return self.stores[number].handle.store

    def handle(self, number: int) -> Handle:
        """Return the handle of the store with a number of the tree."""
        return self.stores[number].handle

    @property
    def closer(self) -> Callable[[], None] | None:
        """A function that closes the stores that the package opened; None if there are no such stores.

        It is not a method of the library, because a Dataset pickles the function with everything that it refers to.
        """
        stores = tuple(it.handle.store for it in self.stores if it.handle.is_ours)
        return partial(_close_all, stores) if stores else None

    def close(self) -> None:
        """Close all stores that the package opened."""
        if (closer := self.closer) is not None:
            closer()

    def release(self) -> None:
        """Drop all documents; the stores stay open."""
        self.tree.forget()
        for opened in self.stores:
            opened.forget()

    def add(
        self, handle: Handle, zarr_format: ZarrFormat, *, is_foreign: bool = False, **how: Any
    ) -> OpenStore:
        """Add an open store, and return it; `how` are further arguments of `OpenStore`."""
        record = StoreRecord(handle.name, zarr_format, is_foreign, handle.can_have)
        self.tree.stores.append(record)
        opened = OpenStore(len(self.stores), handle, self.tree, **how)
        self.stores.append(opened)
        return opened

    async def _open_first(self, address: Address, *, allows_array: bool) -> str:
        """Open the user's store, and return the path of the requested group in it."""
        # As in zarr, a backslash in the path of a group is a slash.
        group_path = (address.options.get("group") or "").replace("\\", "/")
        requested = normalize_path(group_path, is_served=False)
        start = await find_start(address, requested, allows_array=allows_array and not requested)
        self.array = start.array
        try:
            # 1. Add the store to the library, with the documents read first.
            tree, consolidated = self.tree, start.options.get("consolidated")
            opened = self.add(
                start.handle,
                start.zarr_format or 3,
                ignores_consolidated=consolidated is False,
                root=start.found.get("", {}),
            )
            for path, values in start.found.items():
                tree.learn_node(opened.node(path), values)
            opened.learn_consolidated(start.found, consolidated)

            # 2. Check that the group exists.
            group = opened.node(start.group)
            await check_group(start, tree)
            if start.listing is not None and not tree.is_listed(group):
                with opened.naming_store():
                    names = await start.listing
                opened.keep_listing(group, names)
        except BaseException:
            start.give_up()
            raise
        if start.listing is not None:
            start.listing.cancel()
        return group.path

    async def _open_foreign(self, address: Address, limits: ForeignLimits) -> int:
        """Open a foreign store, read its root, and return its number in the tree.

        Raises
        ------
        XGroupStoreError
            If it cannot be opened; with the reason.
        """
        try:
            handle = await open_store(address)
        except XGroupStoreError as error:
            raise XGroupStoreError(reason_of(error.__cause__ or error)) from error
        try:
            reader = StoreReader(handle, limits.timeout, most=limits.document)
            found = await reader.node("", METADATA_KEYS, "missing")
            zarr_format = check_foreign_root(found, reader.refusals.get(""))
        except BaseException:
            handle.store.close()
            raise
        opened = self.add(handle, zarr_format, is_foreign=True, limits=limits)
        self.tree.learn_node(opened.node(""), found)
        opened.learn_consolidated({"": found}, None)
        return opened.number

    async def _read(self, unread: Collection[Unread]) -> None:
        """Read documents, listings and foreign stores concurrently."""
        links: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
        documents: defaultdict[OpenStore, list[Node]] = defaultdict(list)
        members: defaultdict[OpenStore, list[Node]] = defaultdict(list)
        # Sorted for a reproducible result: if several URIs mean the same store, it is opened with the first.
        for node, of_members, uri in sorted(unread, key=lambda item: (item.uri or "", str(item))):
            if uri is not None:
                links[node.store, uri].append(node.path)
            else:
                (members if of_members else documents)[self.stores[node.store]].append(node)

        async def read_foreign(number: int, uri: str, paths: Iterable[str]) -> None:
            """Open the store at a URI, to which store `number` refers, and read documents at paths."""
            root = await self._foreign.root(uri, number)
            self.tree.links[number, uri] = root
            if isinstance(root, Node):
                nodes = [root.child(path) for path in paths]
                await self.stores[root.store].read_documents(nodes)

        readings = [
            *(partial(store.read_documents, nodes) for store, nodes in documents.items()),
            *(partial(store.read_members, groups) for store, groups in members.items()),
            *(partial(read_foreign, *link, paths) for link, paths in links.items()),
        ]
        await read_together(readings)


def _way_out(part: ValuesNeeded, name: str) -> str:
    """Return the remedy if the values of a variable cannot be read: the options with which the rest opens."""
    remedy = _("To open the rest, use drop_variables={names}")
    if part == "ends":
        remedy = _("To open the rest, use drop_variables={names} or decode_times=False")
    elif has_index_option():
        remedy = _(
            "To open the rest, use drop_variables={names} or create_default_indexes=False (for times, with "
            "decode_times=False)"
        )
    return remedy.format(names=[name])


def _close_all(stores: Iterable[Store]) -> None:
    """Close stores. This is a function of the module, so that `closer` can be pickled."""
    for store in stores:
        store.close()
