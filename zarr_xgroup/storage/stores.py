"""One store of an open call: reads metadata documents into the tree, each once, and values of arrays."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from reprlib import Repr
from typing import Any

import zarr

from zarr_xgroup.errors import Severity, XGroupError, XGroupMetadataError, XGroupStoreError
from zarr_xgroup.findings import Finding, Place, Topic, left_out, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import (
    CONSOLIDATED_V2,
    GROUP_KEYS,
    METADATA_KEYS,
    NODE_KEYS,
    Found,
    Text,
    consolidated_nodes,
    node_document,
)
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import GroupFilter, is_below
from zarr_xgroup.metadata.tree import StoreRecord, Tree
from zarr_xgroup.storage.handles import Handle
from zarr_xgroup.storage.limits import NO_LIMITS, ForeignLimits
from zarr_xgroup.storage.reading import Reading, StoreReader, gather, read_together, request_limit

#: Largest size in bytes of a chunk of a foreign store that is read during opening.
MOST_STORED_BYTES = 2**28

#: How many keys a message names, and the form in which they are shortened.
_MOST_NAMED = 3
_SHORTENED = Repr()
_SHORTENED.maxstring = 100


class OpenStore:
    """A store of an open call: reads its documents, listings and values.

    Parameters
    ----------
    number : int
        The index of the store in the tree; 0 is the store that the user opened.
    handle : Handle
        The zarr store, and the path, in it, of the address that the user gave: consolidated metadata of groups above
        it are used only if the address cannot be listed and has none.
    tree : Tree
        The documents of all stores of the open call, to which this store adds its own.
    limits : ForeignLimits
        The limits of time and size for reading.
    ignores_consolidated : bool
        Whether the user gave ``consolidated=False``.
    root : mapping
        The documents of the root, if they have been read.

    Attributes
    ----------
    findings : list of Finding
        Problems of consolidated metadata and of listings.
    listings : dict
        The listed names by group; only for groups whose members are not read yet.
    """

    def __init__(
        self,
        number: int,
        handle: Handle,
        tree: Tree,
        *,
        limits: ForeignLimits = NO_LIMITS,
        ignores_consolidated: bool = False,
        root: Found | None = None,
    ) -> None:
        self.number = number
        self.handle = handle
        self.tree = tree
        self.limits = limits
        self.findings: list[Finding] = []
        self.listings: dict[Node, set[str]] = {}
        self._ignores_consolidated = ignores_consolidated
        self._user_path = handle.path
        self._root = root
        # Documents that a task is reading: other tasks that need one wait for its event.
        self._underway: dict[Node, asyncio.Event] = {}

    @property
    def record(self) -> StoreRecord:
        """The record of the store: its name, Zarr format and consolidated group."""
        return self.tree.stores[self.number]

    def node(self, path: str) -> Node:
        """Return the node at a path of this store."""
        return Node(self.number, path)

    @cached_property
    def limit(self) -> asyncio.Semaphore:
        """The semaphore of all requests to the store, for documents and values.

        Made at its first use, when the store's client has connections.
        """
        return request_limit(self.handle)

    def _reader(self) -> StoreReader:
        """Return a reader of documents; its timeout starts with this call."""
        return StoreReader(self.handle, self.limits.timeout, self.limit, self.limits.document)

    async def read_values(self, array: zarr.Array[Any], path: str, *, whole: bool) -> Any:
        """Return all values of an array if `whole`, otherwise the first and the last."""
        most = MOST_STORED_BYTES if self.record.is_foreign else None
        reader = StoreReader(self.handle, self.limits.timeout, self.limit, most)
        with self.naming_store():
            return await reader.values(array, f"/{path}", whole=whole)

    async def exists(self, path: str, key: str) -> bool:
        """Return whether a key below a node exists."""
        with self.naming_store():
            return await self._reader().exists(path, key)

    @contextmanager
    def naming_store(self) -> Iterator[None]:
        """Add the name of the store to an error of reading that is raised within."""
        try:
            yield
        except XGroupStoreError as error:
            raise self.tree.read_problem(self.number, error.text) from error.__cause__

    async def read_documents(self, nodes: Iterable[Node], listed: Collection[Node] = ()) -> None:
        """Read the documents of nodes that the tree does not have yet.

        Groups in `listed` will be listed next. For Zarr v2 the listings are requested at the same time, unless the store
        is local.
        """
        zarr_format = self.record.zarr_format
        reader, keys = self._reader(), NODE_KEYS[zarr_format]
        members = frozenset(listed) if zarr_format == 2 else frozenset()

        async def read(path: str) -> Found | None:
            node = self.node(path)
            if self.record.is_foreign:
                try:
                    return await reader.node(node.path, keys)
                except XGroupStoreError as error:
                    self.tree.learn_failure(node, error)
                    return None
            if node not in members:
                is_above = is_below(self._user_path, node.path) and node.path != self._user_path
                return await reader.node(node.path, keys, "missing" if is_above else "raise")
            found, names = await reader.v2_member(node.path)
            if names is not None:
                self.keep_listing(node, names)
            return found

        # Each document is read by one task. `underway` has the event of that task.
        done = asyncio.Event()
        unknown = [node for node in dict.fromkeys(nodes) if not self.tree.is_known(node)]
        underway = {node: self._underway.setdefault(node, done) for node in unknown}
        own = [node for node, event in underway.items() if event is done]
        try:
            with self.naming_store():
                documents = await reader.nodes({node.path: keys for node in own}, read)
            for node in own:
                if (found := documents[node.path]) is not None:
                    self.tree.learn_node(node, found)
        finally:
            done.set()
            for node in own:
                del self._underway[node]
        for event in underway.values():
            await event.wait()

    async def read_members(
        self,
        groups: Iterable[Node],
        *,
        is_tree: bool = False,
        with_parents: bool = True,
        to_list: Container[Node] = (),
    ) -> None:
        """List groups and read the documents of their members into the tree.

        Parameters
        ----------
        groups : iterable of Node
            The groups.
        is_tree : bool
            Whether child groups will be listed next.
        with_parents : bool
            Whether to read the documents of the groups above, too, whose attributes members inherit.
        to_list : container of Node
            Child groups that will be listed next, if not all will be.
        """
        groups = list(dict.fromkeys(groups))
        listings = {group: self.listings.pop(group) for group in await self._list_unlisted(groups)}
        others = GROUP_KEYS[self.record.zarr_format]
        children = [
            group.child(name) for group, names in listings.items() for name in names - others
        ]
        above = (node for group in groups if with_parents for node in group.ancestors())
        parents = [node for node in dict.fromkeys(above) if node.path]
        listed = children if is_tree else [child for child in children if child in to_list]
        readings: list[Reading] = [partial(self.read_documents, [*children, *parents], listed)]
        if self.record.zarr_format == 3 and not is_tree:
            # An array of v3 has few names. `read_documents` lists groups of v2: an array may have a name for each chunk.
            readings.append(partial(self._list, listed))
        await read_together(readings)
        for group, names in listings.items():
            self._learn_listing(group, names)

    async def _list_unlisted(self, groups: Iterable[Node]) -> list[Node]:
        """List the groups whose members the tree does not have, into `listings`; return these groups.

        Raises
        ------
        XGroupStoreError
            If a group cannot be listed, and no consolidated metadata contain it.
        """
        unlisted = [group for group in groups if not self.tree.is_listed(group)]
        await self._list(group for group in unlisted if group not in self.listings)
        for group in unlisted if not self.record.is_foreign else ():
            # The listing of an existing group contains at least its own document.
            if not self.listings[group] and self.tree.document_if_read(group) is not None:
                await self._learn_root_consolidated(group)
        return [group for group in unlisted if not self.tree.is_listed(group)]

    async def _list(self, groups: Iterable[Node]) -> None:
        """List groups into `listings`."""
        reader, to_list = self._reader(), list(groups)

        async def names_of(group: Node) -> set[str]:
            try:
                return await reader.names(group.path)
            except XGroupStoreError as error:
                if not self.record.is_foreign:
                    raise
                self.findings.append(self._of_group(group, error.text, error))
                return set()

        with self.naming_store():
            listings = await gather(names_of, to_list)
        for group, names in zip(to_list, listings, strict=True):
            self.keep_listing(group, names)

    async def can_list(self, group: Node) -> bool:
        """Return whether a group can be listed. Its listing is kept."""
        with self.naming_store():
            self.keep_listing(group, await self._reader().names(group.path))
        return bool(self.listings[group])

    async def _learn_root_consolidated(self, group: Node) -> None:
        """Add the consolidated metadata of the root to the tree, because a group cannot be listed.

        Raises
        ------
        XGroupStoreError
            If they do not exist, or do not contain the group.
        """
        nodes: Mapping[str, Found | Text] | None = None
        is_allowed = self.handle.supports_consolidated and not self._ignores_consolidated
        if self._root is not None and self._user_path and is_allowed:
            if self.record.zarr_format == 2:
                with self.naming_store():
                    keys = (CONSOLIDATED_V2,)
                    self._root = {**self._root, **await self._reader().node("", keys, "missing")}
            nodes = self._consolidated_nodes(self.node(""), {"": self._root}, is_required=False)
        if nodes is None or group.path not in nodes:
            raise self._listing_error(group)
        self._learn_consolidated_nodes(self.node(""), nodes)

    async def find_groups(
        self, top: Node, group_filter: GroupFilter
    ) -> tuple[list[Node], list[tuple[Node, Finding]]]:
        """Return the group `top` and all groups below it that can match or contain a match, parents first.

        Also return each group that cannot be searched completely, with a finding that explains why. The search is
        breadth first. It lists groups, and reads the documents of children that can match or contain a match.
        """
        candidates, level = [], [top]
        problems: list[tuple[Node, Finding]] = []
        while level:
            candidates += level
            unlisted = set(await self._list_unlisted(level))
            children: list[Node] = []
            for group in level:
                names = self.listings[group] if group in unlisted else self.tree.names(group)
                nodes = map(group.child, sorted({*names} - GROUP_KEYS[self.record.zarr_format]))
                children += [node for node in nodes if group_filter.leads_to(node.path)]
            await self.read_documents(children, children)
            level = []
            for child in children:
                document, problem = self.tree.document_if_read(child), self.tree.problems.get(child)
                if document is not None and not document.is_array:
                    level.append(child)
                elif document is None and problem is not None:  # an unread child may be a group
                    problems.append((child.group, left_out(child, problem)))
        return candidates, problems

    async def read_below(self, top: Node, only: Container[str] | None = None) -> None:
        """Read the documents of all nodes below a group whose members are known, level by level.

        If `only` is given, only the members of the groups at these paths are read.
        """
        level = [top]
        while level:
            below = (group.child(name) for group in level for name in self.tree.groups(group))
            level = [group for group in below if only is None or group.path in only]
            # The groups above have been read already; looking for them again would be slow in deep trees.
            await self.read_members(level, is_tree=True, with_parents=False)

    def forget(self) -> None:
        """Drop the documents and listings that are not in the tree."""
        self._root = None
        self.listings.clear()

    def keep_listing(self, group: Node, names: set[str]) -> None:
        """Keep the listed names of a group that are valid names of nodes, until their documents are read.

        Other names are reported.
        """
        usable = {name for name in names if name and self.record.can_have(name)}
        message = _(
            "Group {path} of {store} has {count} members with names that zarr or a server could "
            "interpret as different paths; they were left out: {names}"
        )
        self._report_left_out_keys(group, sorted(names - usable - {".", ".."}), message)
        self.listings[group] = usable

    def _learn_listing(self, group: Node, names: set[str]) -> None:
        """Add the members of a group to the tree, or raise an error with a remedy if they cannot be found."""
        has_member = any(self.tree.document_if_read(group.child(name)) for name in names)
        # A valid listing contains at least the group's own document, which was read.
        is_own_group = self.tree.document_if_read(group) is not None and not self.record.is_foreign
        if is_own_group and not has_member and not names & METADATA_KEYS:
            raise self._listing_error(group)
        self.tree.learn_listing(group, names)

    def _listing_error(self, group: Node) -> XGroupStoreError:
        """Return the error of a group whose members cannot be found, with a remedy."""
        if self._ignores_consolidated:
            message = _(
                "The members of group {group!r} cannot be found: {store} cannot be listed, and "
                "consolidated=False excludes its consolidated metadata. Leave out consolidated=False."
            )
        elif not self.handle.supports_consolidated:
            message = _(
                "The members of group {group!r} cannot be found: {store} cannot be listed, and stores of its "
                "class have no consolidated metadata."
            )
        else:
            message = _(
                "The members of group {group!r} cannot be found: {store} cannot be listed and has "
                "no consolidated metadata. The producer of the store can add them with "
                "zarr.consolidate_metadata(store)."
            )
        return XGroupStoreError(message.format(group=str(group), store=self.record.name))

    def learn_consolidated(self, found: Mapping[str, Found], required: bool | None) -> None:
        """Add the outermost consolidated metadata, at or below `user_path`, to the tree.

        Parameters
        ----------
        found : mapping of str to mapping
            The documents of the root and of groups, by path, outermost first.
        required : bool or None
            True if consolidated metadata must be used, False if not, None to use them if they exist.

        Raises
        ------
        XGroupError
            If consolidated metadata are required, and are missing or unusable.
        """
        if required is False or not self.handle.supports_consolidated:
            return
        for at in (self.node(path) for path in found if is_below(path, self._user_path)):
            nodes = self._consolidated_nodes(at, found, is_required=bool(required))
            if nodes is not None:
                self._learn_consolidated_nodes(at, nodes)
                return
        if required:
            message = _(
                "{store} has no consolidated metadata; open it with consolidated=False, or "
                "leave out consolidated"
            ).format(store=self.record.name)
            raise XGroupStoreError(message)

    def _learn_consolidated_nodes(self, at: Node, nodes: Mapping[str, Found | Text]) -> None:
        """Add consolidated nodes to the tree, by path below the group `at`, and report paths that are not valid."""
        message = _(
            "The consolidated metadata of {store} have {count} keys that are not valid paths of "
            "nodes; they were left out: {names}"
        )
        self._report_left_out_keys(at, self.tree.learn_consolidated(at, nodes), message)

    def _consolidated_nodes(
        self, at: Node, found: Mapping[str, Found], *, is_required: bool
    ) -> Mapping[str, Found | Text] | None:
        """Return the nodes in the consolidated metadata of the group `at`, by path below it; None without usable metadata.

        Raises XGroupError if consolidated metadata are required and unusable.
        """
        name, zarr_format = self.record.name, self.record.zarr_format
        try:
            nodes = consolidated_nodes(found[at.path], zarr_format, str(at))
            # A group that was read must not be an array in the consolidated metadata.
            for path in found:
                document = self.tree.document_if_read(self.node(path))
                is_group = document is not None and not document.is_array
                if nodes is not None and is_group and path != at.path and is_below(path, at.path):
                    stated = nodes.get(path.removeprefix(at.path).strip("/"), {})
                    consolidated, _problem = node_document(stated, zarr_format, f"/{path}")
                    if consolidated is not None and consolidated.is_array:
                        message = _(
                            "its consolidated metadata describe the group {group!r} as an array"
                        )
                        raise XGroupMetadataError(message.format(group=f"/{path}"))
        except XGroupError as problem:
            if is_required:
                message = _(
                    "{store}: {reason}; open it with consolidated=False, and consolidate it again"
                )
                raise type(problem)(message.format(store=name, reason=problem)) from problem
            message = _("{store} is read without consolidated metadata: {reason}")
            text = message.format(store=name, reason=problem)
            # Nothing is missing, because the nodes' own documents are read.
            self.findings.append(self._of_group(at, text, problem, "warning"))
            return None
        return nodes

    def _report_left_out_keys(self, group: Node, names: list[str], message: str) -> None:
        """Report the keys in a group that are not valid names of nodes and were left out, if there are any."""
        if names:
            in_short = ", ".join(map(_SHORTENED.repr, names[:_MOST_NAMED]))
            text = message.format(
                path=group, store=self.record.name, count=len(names), names=in_short
            )
            self.findings.append(self._of_group(group, text, XGroupMetadataError(text)))

    def _of_group(
        self, group: Node, text: str, error: XGroupError, severity: Severity = "error"
    ) -> Finding:
        """Return a finding about a group or its members; the text names the store."""
        place = Place(str(group), store=self.record.name if self.number else None)
        return new_finding(Topic.METADATA, place, text, severity=severity, arrays=(), error=error)
