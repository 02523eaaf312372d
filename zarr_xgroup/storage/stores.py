"""One store of an open call: reads metadata documents into the tree, each once, and values of arrays."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Container, Iterable, Mapping
from functools import cached_property, partial
from reprlib import Repr
from typing import Any

import zarr
from zarr.abc.store import Store

from zarr_xgroup.errors import XGroupError, XGroupMetadataError, XGroupStoreError
from zarr_xgroup.findings import Finding, Place, Topic, left_out, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import (
    GROUP_KEYS,
    METADATA_KEYS,
    NODE_KEYS,
    Found,
    Text,
    ZarrFormat,
    consolidated_nodes,
    node_document,
)
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import GroupFilter, is_below, is_node_path
from zarr_xgroup.metadata.tree import KnownStore, Tree
from zarr_xgroup.storage.addresses import is_served, splits_at_backslash
from zarr_xgroup.storage.failures import is_never_listed, reason_of
from zarr_xgroup.storage.foreign import NO_LIMITS, ForeignLimits
from zarr_xgroup.storage.reading import StoreReader, gather, request_limit

#: How many bytes a chunk of another store may have that is read while a store is opened.
MOST_STORED_BYTES = 2**28

#: How many keys a message names, and how they are shortened: a key can be of any length.
_MOST_NAMED = 3
_SHORTENED = Repr()
_SHORTENED.maxstring = 100


def store_record(
    store: Store, name: str, zarr_format: ZarrFormat, *, is_foreign: bool = False
) -> KnownStore:
    """Return the record of a store for the tree, with the rule for which node paths it can have; nothing is read."""
    splits = splits_at_backslash(store)
    can_have = partial(is_node_path, is_served=is_served(store), splits_at_backslash=splits)
    return KnownStore(name, zarr_format, is_foreign, can_have)


class OpenStore:
    """A store of an open call: reads its documents, listings and values.

    Parameters
    ----------
    number : int
        The index of the store in the tree; 0 is the store that the user opened.
    store : zarr.abc.store.Store
        Where documents and chunks are read from.
    tree : Tree
        The documents of all stores of the open call, to which this store adds its own.
    closes : bool
        Whether the package opened the store, not the user: then closing a Dataset closes the store.
    limits : ForeignLimits
        How long the open call may wait for the store, and how much it may read.
    ignores_consolidated : bool
        Whether the user gave ``consolidated=False``.
    user_path : str
        The path, in the store, of the address that the user gave: consolidated metadata of groups above
        it is not used.

    Attributes
    ----------
    findings : list of Finding
        Problems of consolidated metadata and of listings.
    listings : dict
        For groups whose members are not read yet: the names listed, or the error of listing.
    """

    def __init__(
        self,
        number: int,
        store: Store,
        tree: Tree,
        *,
        closes: bool = False,
        limits: ForeignLimits = NO_LIMITS,
        ignores_consolidated: bool = False,
        user_path: str = "",
    ) -> None:
        self.number = number
        self.store = store
        self.tree = tree
        self.closes = closes
        self.limits = limits
        self.findings: list[Finding] = []
        self.listings: dict[Node, set[str] | XGroupStoreError] = {}
        self._ignores_consolidated = ignores_consolidated
        self._user_path = user_path
        # Documents that a task is reading: other tasks that need one wait for its event.
        self._underway: dict[Node, asyncio.Event] = {}

    @property
    def known(self) -> KnownStore:
        """The record of the store: its name, Zarr format and consolidated group."""
        return self.tree.stores[self.number]

    def node(self, path: str) -> Node:
        """Return the node at a path of this store."""
        return Node(self.number, path)

    @cached_property
    def limit(self) -> asyncio.Semaphore:
        """The semaphore of all requests to the store, for documents and values alike.

        Made when it is first needed: by then the store's client has connections.
        """
        return request_limit(self.store)

    def _reader(self) -> StoreReader:
        """Return a reader of documents; the timeout of the limits starts with this call."""
        return StoreReader(self.store, self.limits.timeout, self.limit, self.limits.document)

    async def read_values(self, array: zarr.Array[Any], path: str, *, whole: bool) -> Any:
        """Return all values of an array if `whole`, else the first and the last one; XGroupStoreError if unreadable."""
        most = MOST_STORED_BYTES if self.known.is_foreign else None
        reader = StoreReader(self.store, self.limits.timeout, self.limit, most)
        found = await reader.values(array, f"/{path}", whole=whole)
        if not isinstance(found, XGroupStoreError):
            return found
        problem = self.tree.read_problem(self.number, str(found))
        problem.__cause__ = found.__cause__
        return problem

    async def read_documents(self, nodes: Iterable[Node], listed: Collection[Node] = ()) -> None:
        """Read into the tree the documents of nodes that it does not have yet.

        Groups among `listed` will be listed next: in Zarr v2 that request is made at once.
        """
        zarr_format = self.known.zarr_format
        reader, keys = self._reader(), NODE_KEYS[zarr_format]
        members = frozenset(listed) if zarr_format == 2 else frozenset()

        async def read(node: Node) -> Found:
            if node not in members:
                return await reader.node(node.path, keys)
            found, names = await reader.v2_member(node.path)
            if names is not None:
                self.keep_listing(node, names)
            return found

        # Each document is read by one task; `underway` has the event of whichever reads it.
        done = asyncio.Event()
        unknown = [node for node in dict.fromkeys(nodes) if not self.tree.is_known(node)]
        underway = {node: self._underway.setdefault(node, done) for node in unknown}
        own = [node for node, event in underway.items() if event is done]
        try:
            for node, found in zip(own, await gather(read, own), strict=True):
                self.tree.learn_node(node, found)
        finally:
            done.set()
            for node in own:
                del self._underway[node]
        for event in underway.values():
            await event.wait()

    async def read_members(
        self, groups: Iterable[Node], *, is_tree: bool = False, with_parents: bool = True
    ) -> None:
        """List groups and read the documents of their members into the tree.

        Parameters
        ----------
        groups : iterable of Node
            The groups.
        is_tree : bool
            Whether child groups will be listed next.
        with_parents : bool
            Whether documents of the groups above, whose attributes members inherit, are read along.
        """
        groups = list(dict.fromkeys(groups))
        listings = {group: self.listings.pop(group) for group in await self._list_unlisted(groups)}
        others = GROUP_KEYS[self.known.zarr_format]
        children = [
            group.child(name)
            for group, names in listings.items()
            if isinstance(names, set)
            for name in names - others
        ]
        above = (node for group in groups if with_parents for node in group.ancestors())
        parents = [node for node in dict.fromkeys(above) if node.path]
        await self.read_documents([*children, *parents], children if is_tree else ())
        for group, names in listings.items():
            self._learn_listing(group, names)

    async def _list_unlisted(self, groups: Iterable[Node]) -> list[Node]:
        """List the groups whose members the tree does not have, into `listings`; return these groups."""
        unlisted = [group for group in groups if not self.tree.is_listed(group)]
        asked = [group for group in unlisted if group not in self.listings]
        names_of = self._reader().names
        listed = await gather(lambda group: names_of(group.path), asked)
        for group, found in zip(asked, listed, strict=True):
            self.keep_listing(group, found)
        return unlisted

    async def find_groups(
        self, top: Node, group_filter: GroupFilter
    ) -> tuple[list[Node], list[tuple[Node, Finding]]]:
        """Return the group `top` and all groups below it that can match or contain a match, parents first.

        Also returns each group that cannot be searched completely with a finding that says why. A breadth-first
        search that lists groups and reads the documents of children that the filter leads to.
        """
        found, level = [], [top]
        problems: list[tuple[Node, Finding]] = []
        while level:
            found += level
            unlisted = set(await self._list_unlisted(level))
            children: list[Node] = []
            for group in level:
                names = self.listings[group] if group in unlisted else self.tree.names(group)
                if isinstance(names, XGroupStoreError):
                    problems.append((group, self._of_group(group, names.text, names)))
                    continue
                nodes = map(group.child, sorted({*names} - GROUP_KEYS[self.known.zarr_format]))
                children += [node for node in nodes if group_filter.leads_to(node.path)]
            await self.read_documents(children, children)
            level = []
            for child in children:
                document, problem = self.tree.known(child), self.tree.problems.get(child)
                if document is not None and not document.is_array:
                    level.append(child)
                elif document is None and problem is not None:  # an unread child may be a group
                    problems.append((child.group, left_out(child, problem)))
        return found, problems

    async def read_below(self, top: Node, only: Container[str] | None = None) -> None:
        """Read the documents of all nodes below a group whose members are known, level by level.

        If `only` is given, members are read of the groups at these paths.
        """
        level = [top]
        while level:
            below = (group.child(name) for group in level for name in self.tree.groups(group))
            level = [group for group in below if only is None or group.path in only]
            # The groups above have been read level by level; to look for them again would take long
            # in deep trees.
            await self.read_members(level, is_tree=True, with_parents=False)

    def keep_listing(self, group: Node, names: set[str] | XGroupStoreError) -> None:
        """Keep the names listed in a group that can be paths of nodes, until their documents are read.

        Other names are reported. An error of listing is kept as it is.
        """
        if isinstance(names, set):
            usable = {name for name in names if name and self.known.can_have(name)}
            message = _(
                "Group {path} of {store} has {count} members whose names zarr or a server would "
                "take for other paths; they were left out: {names}"
            )
            self._report_left_out_keys(group, sorted(names - usable - {".", ".."}), message)
            names = usable
        self.listings[group] = names

    def _learn_listing(self, group: Node, names: set[str] | XGroupStoreError) -> None:
        """Put the members of a group into the tree, or the error that they cannot be found, with the remedy in its text."""
        if isinstance(names, set):
            has_member = any(self.tree.known(group.child(name)) for name in names)
            # A listing that works shows at least the group's own document, which was read.
            if has_member or names & METADATA_KEYS:
                self.tree.learn_listing(group, names)
                return
        error = names if isinstance(names, XGroupStoreError) else None
        cause = None if error is None else error.__cause__
        reason = ""
        if cause is not None and not is_never_listed(cause):
            message = _("The members of group {group!r} of {store} cannot be listed: {reason}")
            reason = reason_of(cause)
        elif self._ignores_consolidated:
            message = _(
                "The members of group {group!r} cannot be found: {store} cannot be listed, and its "
                "consolidated metadata was not to be used. Leave consolidated=False out."
            )
        elif self._user_path:  # consolidated metadata of the root of the store does not count then
            message = _(
                "The members of group {group!r} cannot be found: {store} cannot be listed, and the group "
                "has no consolidated metadata of its own. If the root of the store has, open {store} "
                "with group={group!r}."
            )
        else:
            message = _(
                "The members of group {group!r} cannot be found: {store} cannot be listed and has "
                "no consolidated metadata. Who writes the store can add it by "
                "zarr.consolidate_metadata(store)."
            )
        problem = XGroupStoreError(
            message.format(group=str(group), store=self.known.name, reason=reason)
        )
        problem.__cause__ = error
        self.tree.learn_listing(group, problem)

    def learn_consolidated(self, found: Mapping[str, Found], required: bool | None) -> None:
        """Put the outermost consolidated metadata, at or below `user_path`, into the tree.

        Parameters
        ----------
        found : mapping of str to mapping
            The documents read at the root and at groups, by path, outermost first.
        required : bool or None
            Whether consolidated metadata must be used, must not be (False), or is used if there is some (None).

        Raises
        ------
        XGroupError
            If consolidated metadata is required, and is missing or unusable.
        """
        is_supported = getattr(self.store, "supports_consolidated_metadata", True)
        if required is False or not is_supported:
            return
        for at in (self.node(path) for path in found if is_below(path, self._user_path)):
            nodes = self._consolidated_nodes(at, found, is_required=bool(required))
            if nodes is not None:
                message = _(
                    "The consolidated metadata of {store} has {count} keys that cannot be paths of "
                    "nodes, which were left out: {names}"
                )
                self._report_left_out_keys(at, self.tree.learn_consolidated(at, nodes), message)
                return
        if required:
            message = _(
                "{store} has no consolidated metadata; open it with consolidated=False, or "
                "leave that out"
            ).format(store=self.known.name)
            raise XGroupStoreError(message)

    def _consolidated_nodes(
        self, at: Node, found: Mapping[str, Found], *, is_required: bool
    ) -> Mapping[str, Found | Text] | None:
        """Return the nodes consolidated at the group `at`, by path below it; None if there are none or they are unusable.

        Raises XGroupError in place of None if consolidated metadata is required and unusable.
        """
        name, zarr_format = self.known.name, self.known.zarr_format
        try:
            nodes = consolidated_nodes(found[at.path], zarr_format, str(at))
            # A group that was read must not be an array in the consolidated metadata.
            for path in found:
                document = self.tree.known(self.node(path))
                is_group = document is not None and not document.is_array
                if nodes is not None and is_group and path != at.path and is_below(path, at.path):
                    stated = nodes.get(path.removeprefix(at.path).strip("/"), {})
                    consolidated, _problem = node_document(stated, zarr_format, f"/{path}")
                    if consolidated is not None and consolidated.is_array:
                        message = _(
                            "its consolidated metadata make an array of the group {group!r}"
                        )
                        raise XGroupMetadataError(message.format(group=f"/{path}"))
        except XGroupError as problem:
            # An error of reading is not a fault of consolidated metadata: only a document that is wrong is reported.
            is_wrong = isinstance(problem, XGroupMetadataError)
            if is_required:
                message = _("{store}: {reason}; open it with consolidated=False")
                if is_wrong:
                    message = _(
                        "{store}: {reason}; open it with consolidated=False, and consolidate it anew"
                    )
                raise type(problem)(message.format(store=name, reason=problem)) from problem
            if is_wrong:
                message = _("{store} is read node by node: {reason}")
                text = message.format(store=name, reason=problem)
                self.findings.append(self._of_group(at, text, problem))
            return None
        return nodes

    def _report_left_out_keys(self, group: Node, names: list[str], message: str) -> None:
        """Report the keys in a group that cannot be nodes and were left out, if there are any."""
        if names:
            in_short = ", ".join(map(_SHORTENED.repr, names[:_MOST_NAMED]))
            text = message.format(
                path=group, store=self.known.name, count=len(names), names=in_short
            )
            self.findings.append(self._of_group(group, text, XGroupMetadataError(text)))

    def _of_group(self, group: Node, text: str, error: XGroupError) -> Finding:
        """Return a finding about a group or its members; the text names the store."""
        place = Place(str(group), store=self.known.name if self.number else None)
        return report(Topic.METADATA, place, text, arrays=(), error=error)
