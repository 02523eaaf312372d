"""The library of one open: its stores, read once and no further than interpretation asks for.

The only thing of an open that changes, and the only one that waits for I/O.
"""

from __future__ import annotations

import asyncio
import threading
from _thread import start_new_thread
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from queue import SimpleQueue
from reprlib import Repr
from typing import Any, Self, TypeVar, cast

from zarr.abc.store import Store

from zarr_xgroup._compat import sync
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, XGroupStoreError
from zarr_xgroup.findings import Finding, of_store
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import (
    CONSOLIDATED_V2,
    GROUP_KEYS,
    METADATA_KEYS,
    NODE_KEYS,
    Found,
    ZarrFormat,
    consolidated_nodes,
    format_of,
    node_document,
)
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import ancestor_paths, is_node_name, join_path, normalize_path
from zarr_xgroup.metadata.snapshots import Needs, Snapshot, Snapshots
from zarr_xgroup.options import ForeignOptions, StoreOptions
from zarr_xgroup.storage.checks import (
    check_foreign_root,
    check_group,
    check_not_contradicted,
    check_not_stale,
    nothing_found,
    other_format,
    unlisted,
    unreadable_ends,
    unusable_consolidated,
)
from zarr_xgroup.storage.failures import reason_of
from zarr_xgroup.storage.foreign import ForeignStores
from zarr_xgroup.storage.limits import NO_LIMITS, ForeignLimits, request_limit
from zarr_xgroup.storage.opening import (
    describe_store,
    is_served,
    open_store,
    splits_at_backslash,
    supports_listing,
    uri_of,
)
from zarr_xgroup.storage.reading import StoreReader, gather
from zarr_xgroup.storage.values import ValueRequest, read_values

T = TypeVar("T")

#: In how many places a store is looked for inside of what is none.
_LOOKED_AT = 100

#: How many keys a message names, which can be of any length.
_NAMED = 3
_IN_SHORT = Repr()
_IN_SHORT.maxstring = 100
_FOREIGN_OPTIONS = frozenset(ForeignOptions.__annotations__)


@dataclass(frozen=True)
class OpenStore:
    """A store of an open.

    Attributes
    ----------
    store : zarr.abc.store.Store
        Where documents and chunks are read from.
    closes : bool
        Whether it was opened here, so that closing what is handed out closes it.
    limits : ForeignLimits
        How much an open may ask of it.
    ignores_consolidated : bool
        Whether consolidated metadata is not to be used.
    """

    store: Store
    closes: bool
    limits: ForeignLimits = NO_LIMITS
    ignores_consolidated: bool = False

    @cached_property
    def limit(self) -> asyncio.Semaphore:
        """What all requests to the store wait for, documents and values alike.

        Made when it is first asked for: by then the store's client has connections.
        """
        return request_limit(self.store)

    def reader(self) -> StoreReader:
        """Return what reads documents, the time for which begins now."""
        return StoreReader(self.store, self.limits.timeout, self.limit, self.limits.document)


class Library:
    """The stores of one open, each metadata document read at most once.

    Attributes
    ----------
    snapshots : Snapshots
        What is known of the stores; number 0 is the one that is opened.
    findings : list of Finding
        What was found about stores as a whole.
    """

    def __init__(self) -> None:
        self.snapshots = Snapshots()
        self.findings: list[Finding] = []
        self._stores: list[OpenStore] = []
        self._underway: dict[Node, asyncio.Event] = {}
        self._listings: dict[tuple[int, str], set[str] | XGroupStoreError] = {}
        self._satisfied: set[Needs] = set()
        self._foreign = ForeignStores(self, None, {})

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
        library = cls()
        return library, library.wait(library._open(store_like, options))

    @classmethod
    def around(cls, store: Store, zarr_format: ZarrFormat) -> Self:
        """Return the library of a store that somebody has open, of which nothing is known yet."""
        library = cls()
        snapshot = _snapshot(store, describe_store(store), zarr_format)
        library._add(OpenStore(store, closes=False), snapshot)
        library._foreign = ForeignStores(library, uri_of(store), {})
        return library

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns; the one place where an open waits.

        Ctrl-C interrupts the main thread alone. Were it to wait as zarr does, it could be interrupted
        while it holds a lock that zarr's event loop needs, and all later opens would wait for ever. So
        another thread does so, and the main one waits for that by what has no such moment.
        """
        if threading.current_thread() is not threading.main_thread():
            return sync(coroutine)
        answers: SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = SimpleQueue()
        context = copy_context()
        start_new_thread(_answer, (context.run, coroutine, answers.put))
        answer, error = answers.get()
        try:
            if error is not None:
                raise error
            return cast("T", answer)
        finally:
            del error  # it refers to this frame

    def read(self, needs: Needs) -> None:
        """Read what an interpretation lacks, all at once.

        Raises
        ------
        RuntimeError
            If just that was read before: to ask for it again would never end.
        """
        if needs in self._satisfied:
            message = f"what was read is still lacking: {needs}"
            raise RuntimeError(message)
        self.wait(self._read(needs))
        self._satisfied.add(needs)

    def read_group(self, group: str) -> None:
        """Read the documents of a group's children, and of the groups it is in.

        Raises
        ------
        XGroupStoreError
            If the group's members cannot be listed.
        """
        self._read_group(group, is_tree=False)

    def read_tree(self, group: str) -> None:
        """Read the documents of all nodes below a group, concurrently level by level.

        Raises
        ------
        XGroupStoreError
            If the group's own members cannot be listed.
        """
        self._read_group(group, is_tree=True)
        self.wait(self._read_below(0, [group]))

    def read_beside_consolidated(self, group: str) -> Snapshot:
        """Return what nodes' own documents say of a group that is consolidated and all below it.

        All those that are consolidated are read at once; then all others, as far as they can be listed.
        """
        known = self.snapshots[0]
        own = _snapshot(self.zarr_store(0), known.name, known.zarr_format)
        store = OpenStore(self.zarr_store(0), closes=False, ignores_consolidated=True)
        number = self._add(store, own)
        nodes = [*known.nodes_below(group)] + [group] * (group != known.consolidated_at)
        self.wait(self._read_documents(number, nodes))
        self.wait(self._read_members(number, [group], is_tree=True, with_parents=False))
        self.wait(self._read_below(number, [group]))
        return own

    def values(self, requests: Iterable[ValueRequest]) -> list[Any]:
        """Return the values of arrays, or what is wrong with them, in the order of the requests."""
        return self.wait(read_values(requests))

    def zarr_store(self, number: int) -> Store:
        """Return an open store."""
        return self._stores[number].store

    def limit(self, number: int) -> asyncio.Semaphore:
        """Return what requests to a store wait for."""
        return self._stores[number].limit

    def timeout(self, number: int) -> float | None:
        """Return how long an open may wait for values of a store, in seconds."""
        return self._stores[number].limits.timeout

    @property
    def closer(self) -> Callable[[], None] | None:
        """What closes the stores that were opened here.

        Not a method of the library, lest Datasets keep and pickle that.
        """
        stores = tuple(opened.store for opened in self._stores if opened.closes)
        if len(stores) == 1:
            return stores[0].close
        return partial(_close, stores) if stores else None

    def close(self) -> None:
        """Close all stores that were opened here."""
        _close(opened.store for opened in self._stores if opened.closes)

    def release(self) -> None:
        """Forget all documents; the stores stay open."""
        self.snapshots.forget()
        self._listings.clear()

    # Opening.

    def _add(self, opened: OpenStore, snapshot: Snapshot) -> int:
        self._stores.append(opened)
        return self.snapshots.learn_store(snapshot)

    async def _open(self, store_like: Any, options: StoreOptions) -> str:
        # As zarr has it: a backslash in the path of a group is a slash.
        asked = normalize_path((options.get("group") or "").replace("\\", "/"), is_served=False)
        place = await open_store(store_like, options.get("storage_options"))
        closes = place.store is not getattr(store_like, "store", store_like)
        try:
            group = join_path(place.path, normalize_path(asked, is_served=is_served(place.store)))
            self._foreign = ForeignStores(self, uri_of(store_like), _foreign_options(options))
            await self._open_at(place.store, describe_store(store_like), group, closes, options)
        except BaseException:
            if closes:
                place.store.close()
            raise
        return group

    async def _open_at(
        self, store: Store, name: str, group: str, closes: bool, options: StoreOptions
    ) -> None:
        """Read the ends of a store: its root, and the group asked for."""
        consolidated = options.get("consolidated")
        # The group's members are listed along with the first requests, in case they are not
        # consolidated: over a network it is waiting that takes time.
        is_listed = not consolidated and supports_listing(store)
        listing = asyncio.ensure_future(StoreReader(store).names(group)) if is_listed else None
        try:
            found = await _read_ends(StoreReader(store), [group], options)
            zarr_format = format_of(found[group]) or format_of(found[""])
            if zarr_format is None:
                raise await _why_nothing(StoreReader(store), found, group, name, options)
            snapshot = _snapshot(store, name, zarr_format)
            ignores = consolidated is False
            number = self._add(OpenStore(store, closes, ignores_consolidated=ignores), snapshot)
            for path, values in found.items():
                snapshot.learn_node(path, values)
            self._learn_consolidated(number, found, consolidated)
            check_not_stale(snapshot, found)
            is_there = snapshot.document(group) is not None or group in snapshot.problems
            are_known = is_there or snapshot.consolidated_at == ""
            check_group(snapshot, group, [] if are_known else await _groups_near(store, group))
            if listing is not None and not snapshot.is_listed(group):
                self._keep_listing(number, group, await listing)
        finally:
            if listing is not None:
                listing.cancel()

    async def open_foreign(
        self, location: str, options: dict[str, Any] | None, name: str, limits: ForeignLimits
    ) -> int:
        """Open a store that a reference leads to and return its number.

        Raises
        ------
        XGroupStoreError
            With the reason why it cannot be opened.
        """
        try:
            place = await open_store(location, options)
        except XGroupStoreError as error:
            raise XGroupStoreError(reason_of(error.__cause__ or error)) from error
        try:
            reader = StoreReader(place.store, limits.timeout, most=limits.document)
            found = await _read_ends(reader, [], {})
            zarr_format = format_of(found[""]) or 3
            snapshot = _snapshot(place.store, name, zarr_format, is_foreign=True)
            for path, values in found.items():
                snapshot.learn_node(path, values)
            check_foreign_root(snapshot, found[""])
        except BaseException:
            place.store.close()
            raise
        number = self._add(OpenStore(place.store, closes=True, limits=limits), snapshot)
        self._learn_consolidated(number, found, None)
        return number

    def _learn_consolidated(
        self, number: int, found: dict[str, Found], required: bool | None
    ) -> None:
        """Take over the first consolidated metadata there is: at the root, or at the group."""
        snapshot, store = self.snapshots[number], self.zarr_store(number)
        if required is False or not getattr(store, "supports_consolidated_metadata", True):
            return
        for at, values in found.items():
            try:
                nodes = consolidated_nodes(values, snapshot.zarr_format, f"/{at}")
                check_not_contradicted(snapshot, at, nodes or {}, found)
            except XGroupError as problem:
                if required:
                    raise unusable_consolidated(problem, snapshot.name) from problem
                if isinstance(problem, XGroupMetadataError):
                    self.findings.append(_read_node_by_node(snapshot, Node(number, at), problem))
                continue  # a store may refuse to say that it has none
            if nodes is not None:
                unusable = snapshot.learn_consolidated(at, nodes)
                self.findings.extend(_left_out(snapshot, Node(number, at), unusable))
                return
        if required:
            message = _(
                "{store} has no consolidated metadata; open it with consolidated=False, or "
                "leave that out"
            ).format(store=snapshot.name)
            raise XGroupStoreError(message)

    # Reading.

    def _read_group(self, group: str, *, is_tree: bool) -> None:
        self.wait(self._read_members(0, [group], is_tree=is_tree))
        if not self.snapshots[0].is_listed(group):
            raise self.snapshots[0].problems[group]

    async def _read(self, needs: Needs) -> None:
        documents: defaultdict[int, list[str]] = defaultdict(list)
        members: defaultdict[int, list[str]] = defaultdict(list)
        doubted: defaultdict[int, list[str]] = defaultdict(list)
        foreign: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
        for wanted, nodes in (
            (documents, needs.documents),
            (members, needs.members),
            (doubted, needs.doubted),
        ):
            for node in nodes:
                wanted[node.store].append(node.path)
        for number, uri, path in sorted(needs.foreign):
            foreign[number, uri].append(path)
        await asyncio.gather(
            *(self._read_documents(number, paths) for number, paths in documents.items()),
            *(self._read_members(number, groups) for number, groups in members.items()),
            *(self._read_doubted(number, paths) for number, paths in doubted.items()),
            *(self._read_foreign(number, uri, paths) for (number, uri), paths in foreign.items()),
        )

    async def _read_documents(
        self, number: int, paths: Iterable[str], listed: Collection[str] = ()
    ) -> None:
        """Read documents that are not known yet; groups among those `listed` will be listed next."""
        snapshot = self.snapshots[number]
        asked = (Node(number, path) for path in dict.fromkeys(paths))
        unknown = [node for node in asked if not snapshot.is_known(node.path)]
        others = [self._underway[node] for node in unknown if node in self._underway]
        nodes, done = [node for node in unknown if node not in self._underway], asyncio.Event()
        self._underway.update(dict.fromkeys(nodes, done))
        try:
            read = await self._found(number, [node.path for node in nodes], listed)
            for node, found in zip(nodes, read, strict=True):
                snapshot.learn_node(node.path, found)
        finally:
            done.set()
            for node in nodes:
                del self._underway[node]
        for other in others:
            await other.wait()

    async def _found(
        self, number: int, paths: Collection[str], listed: Collection[str] = ()
    ) -> list[Found]:
        zarr_format = self.snapshots[number].zarr_format
        reader, keys = self._stores[number].reader(), NODE_KEYS[zarr_format]
        members = frozenset(listed) if zarr_format == 2 else frozenset()

        async def found(path: str) -> Found:
            if path not in members:
                return await reader.node(path, keys)
            values, names = await reader.v2_member(path)
            if names is not None:
                self._keep_listing(number, path, names)
            return values

        return await gather(found, paths)

    async def _read_doubted(self, number: int, paths: Collection[str]) -> None:
        """Ask a store for nodes that its consolidated metadata has not."""
        for path, found in zip(paths, await self._found(number, paths), strict=True):
            is_there = format_of(found) is not None
            self.snapshots[number].learn_staleness(path, is_there=is_there)

    async def _read_foreign(self, number: int, uri: str, paths: Iterable[str]) -> None:
        root = await self._foreign.root(uri, number)
        self.snapshots.learn_link(number, uri, root)
        if isinstance(root, Node):
            await self._read_documents(root.store, [join_path(root.path, path) for path in paths])

    async def _read_members(
        self,
        number: int,
        groups: Iterable[str],
        *,
        is_tree: bool = False,
        with_parents: bool = True,
    ) -> None:
        """Read the documents of what is in groups, and in a tree list the groups among that."""
        snapshot, opened = self.snapshots[number], self._stores[number]
        groups = list(dict.fromkeys(groups))
        unknown = [path for path in groups if not snapshot.is_listed(path)]
        reader = opened.reader()
        asked = [path for path in unknown if (number, path) not in self._listings]
        for path, names in zip(asked, await gather(reader.names, asked), strict=True):
            self._keep_listing(number, path, names)
        listings = {path: self._listings.pop((number, path)) for path in unknown}
        children = [
            join_path(path, name)
            for path, names in listings.items()
            if isinstance(names, set)
            for name in names - GROUP_KEYS[snapshot.zarr_format]
        ]
        # What groups say of the arrays below them is asked for later.
        above = groups if with_parents else []
        parents = [parent for path in above for parent in ancestor_paths(path)]
        await self._read_documents(number, [*children, *parents], children if is_tree else ())
        for path, names in listings.items():
            self._learn_listing(number, path, names)

    def _keep_listing(self, number: int, group: str, names: set[str] | XGroupStoreError) -> None:
        """Keep what is listed in a group until it is learnt, but for what can be no node."""
        if isinstance(names, set):
            snapshot = self.snapshots[number]
            usable = {name for name in names if name and snapshot.can_have(name)}
            unusable = sorted(names - usable - {".", ".."})
            self.findings.extend(_unlisted(snapshot, Node(number, group), unusable))
            names = usable
        self._listings[number, group] = names

    def _learn_listing(self, number: int, group: str, names: set[str] | XGroupStoreError) -> None:
        snapshot = self.snapshots[number]
        if isinstance(names, set):
            has_member = any(snapshot.document(join_path(group, name)) for name in names)
            # A listing that works shows at least the group's own document, which was read.
            if has_member or names & METADATA_KEYS:
                snapshot.learn_listing(group, names)
                return
        problem = unlisted(snapshot, group, ignores=self._stores[number].ignores_consolidated)
        problem.__cause__ = names if isinstance(names, XGroupStoreError) else None
        snapshot.learn_unlisted(group, problem)

    async def _read_below(self, number: int, groups: Iterable[str]) -> None:
        """Read all that is below groups whose members are known, level by level."""
        snapshot, level = self.snapshots[number], list(groups)
        while level:
            level = [join_path(path, name) for path in level for name in snapshot.groups(path)]
            # The groups that these are in are known.
            await self._read_members(number, level, is_tree=True, with_parents=False)


def _answer(
    run: Callable[..., Any], coroutine: Coroutine[Any, Any, Any], put: Callable[[Any], None]
) -> None:
    """Hand on what a coroutine returns, or what it raises."""
    try:
        put((run(sync, coroutine), None))
    except BaseException as error:  # noqa: BLE001 - raised again by who waits
        put((None, error))


def _snapshot(
    store: Store, name: str, zarr_format: ZarrFormat, *, is_foreign: bool = False
) -> Snapshot:
    """Return what is known of a store of which nothing was read yet."""
    return Snapshot(
        name,
        zarr_format,
        is_foreign=is_foreign,
        is_served=is_served(store),
        splits_at_backslash=splits_at_backslash(store),
    )


def _close(stores: Iterable[Store]) -> None:
    for store in stores:
        store.close()


async def _read_ends(
    reader: StoreReader, groups: Sequence[str], options: StoreOptions
) -> dict[str, Found]:
    """Read the documents at the root and at groups, in whichever format there may be."""
    keys = list(_possible_keys(options))
    paths = dict.fromkeys(["", *groups])
    found = await gather(lambda path: reader.node(path, keys), paths)
    return dict(zip(paths, found, strict=True))


def _possible_keys(options: StoreOptions) -> Iterator[str]:
    zarr_format = options.get("zarr_format")
    if zarr_format in (None, 3):
        yield from NODE_KEYS[3]
    if zarr_format in (None, 2):
        yield from NODE_KEYS[2]
        if options.get("consolidated") is not False:
            yield CONSOLIDATED_V2


def _foreign_options(options: StoreOptions) -> ForeignOptions:
    part: Any = {key: value for key, value in options.items() if key in _FOREIGN_OPTIONS}
    return cast(ForeignOptions, part)


async def _why_nothing(
    reader: StoreReader, found: dict[str, Found], group: str, name: str, options: StoreOptions
) -> XGroupError:
    """Return why neither the root nor the group is there, after looking for what is instead."""
    problem = unreadable_ends(found, name)
    if problem is not None:
        return problem
    asked = options.get("zarr_format")
    if asked is not None:
        other: ZarrFormat = 2 if asked == 3 else 3
        ends = await _read_ends(reader, [group], {"zarr_format": other})
        if other in (format_of(ends[group]), format_of(ends[""])):
            return other_format(group, name, other)
    return nothing_found(group, name, await _groups_in(reader, ""))


async def _groups_near(store: Store, group: str) -> list[str]:
    """Return the lowest group above one that is not there, and the groups in it."""
    reader = StoreReader(store)
    above = ["", *ancestor_paths(group)]
    found = await _read_ends(reader, above, {})
    there = [path for path in above if _is_group(found[path], f"/{path}")]
    inside = await _groups_in(reader, there[-1]) if there else []
    return there[-1:] + inside if inside or there != [""] else []


async def _groups_in(reader: StoreReader, at: str) -> list[str]:
    """Return the groups directly in a place, as far as it can be listed."""
    listed = await reader.names(at)
    usable = filter(is_node_name, listed if isinstance(listed, set) else ())
    paths = [join_path(at, name) for name in sorted(usable, key=_likelihood)[:_LOOKED_AT]]
    keys = (*NODE_KEYS[3], *NODE_KEYS[2])
    nodes = zip(paths, await gather(lambda path: reader.node(path, keys), paths), strict=True)
    return [path for path, values in nodes if _is_group(values, f"/{path}")]


def _likelihood(name: str) -> tuple[bool, str]:
    """Return where to put a name among those that may be groups, likely ones first."""
    return not name.endswith(".zarr"), name


def _is_group(found: Found, place: str) -> bool:
    zarr_format = format_of(found)
    document = node_document(found, zarr_format, place)[0] if zarr_format else None
    return document is not None and not document.is_array


def _left_out(snapshot: Snapshot, at: Node, keys: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding about keys of consolidated metadata that cannot be those of nodes."""
    message = _(
        "The consolidated metadata of {store} has {count} keys that cannot be paths of nodes, "
        "which were left out: {keys}"
    ).format(store=snapshot.name, count=len(keys), keys=_in_short(keys))
    if keys:
        yield of_store(message, at, snapshot.name, XGroupMetadataError(message))


def _unlisted(snapshot: Snapshot, group: Node, names: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding about names in a listing that zarr or a server would take for others."""
    message = _(
        "Group {path} of {store} has {count} members whose names zarr or a server would take "
        "for other paths; they were left out: {names}"
    ).format(path=group, store=snapshot.name, count=len(names), names=_in_short(names))
    if names:
        yield of_store(message, group, snapshot.name, XGroupMetadataError(message))


def _in_short(texts: Sequence[str]) -> str:
    return ", ".join(map(_IN_SHORT.repr, texts[:_NAMED]))


def _read_node_by_node(snapshot: Snapshot, at: Node, problem: XGroupError) -> Finding:
    message = _("{store} is read node by node: {reason}").format(
        store=snapshot.name, reason=problem
    )
    return of_store(message, at, snapshot.name, problem)
