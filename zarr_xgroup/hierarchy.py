"""One store's metadata: nodes found, listed and read once.

Nothing here knows xarray or builds zarr arrays: a node is its JSON document.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Self, cast

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
from zarr_xgroup.foreign import ForeignOptions, ForeignStores
from zarr_xgroup.i18n import _
from zarr_xgroup.paths import join_path, normalize_path
from zarr_xgroup.resolver import Node
from zarr_xgroup.stores import (
    StoreReader,
    describe_store,
    gather,
    open_store,
    reason_of,
    supports_listing,
    uri_of,
)

_NAMED_GROUPS = 10
_FOREIGN_OPTIONS = frozenset(ForeignOptions.__annotations__)


class StoreOptions(ForeignOptions, total=False):
    """The options that say how stores are opened: those of engine zarr, and of other stores."""

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
    is_foreign : bool
        Whether a reference led here.
    timeout : float or None
        How many seconds an open may wait for documents, and for values of arrays.
    """

    store: Store
    name: str
    zarr_format: ZarrFormat
    closes: bool
    consolidated_at: str | None = None
    ignores_consolidated: bool = False
    problems: dict[str, XGroupError] = field(default_factory=dict)
    warnings: list[XGroupWarning] = field(default_factory=list)
    is_foreign: bool = False
    timeout: float | None = None
    _documents: dict[str, Document] = field(default_factory=dict)
    _consolidated: dict[str, Found] = field(default_factory=dict)
    _children: dict[str, list[str]] = field(default_factory=dict)
    _absent: set[str] = field(default_factory=set)
    _listed: dict[str, set[str] | XGroupStoreError] = field(default_factory=dict)
    _foreign: ForeignStores[Hierarchy] = field(init=False)

    def __post_init__(self) -> None:
        self.follow(uri_of(self.store), {})

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

    def follow(self, uri: str | None, options: ForeignOptions) -> None:
        """Follow references to other stores as these options say.

        Parameters
        ----------
        uri : str or None
            Where this store is: what lies inside of it is no other store.
        options : ForeignOptions
            How others are opened.

        Raises
        ------
        TypeError, XGroupPathError
            If the options cannot be used.
        """
        self._foreign = ForeignStores(self, uri, options, self._open_foreign)

    def document(self, path: str) -> Document | None:
        """Return the document of a node, or None if there is none, or none was read."""
        found = self._consolidated.pop(path, None)
        if found is not None:
            self._add(path, found)
        return self._documents.get(path)

    def find(self, path: str) -> Document | None:
        """Return the document of a node, read now if it was not yet; None if there is none."""
        document = self.document(path)
        if document is None:
            self.load([path])
            document = self.document(path)
        return document

    def load(self, paths: Iterable[str]) -> None:
        """Read the documents of nodes, concurrently, as far as they are not known yet."""
        unknown = self._unknown(paths)
        if unknown:
            sync(self._load(unknown))

    async def load_nodes(self, paths: Iterable[str]) -> None:
        """Read the documents of nodes, concurrently, as far as they are not known yet."""
        unknown = self._unknown(paths)
        if unknown:
            await self._load(unknown)

    async def load_foreign(self, uri: str, paths: Iterable[str]) -> None:
        """Open another store and read the documents of nodes, as far as that can be done.

        Why it cannot is told when a reference to it is resolved.
        """
        await self._foreign.load(uri, self, list(paths))

    def foreign(self, uri: str) -> Node:
        """Return the root of another store, opened once for all references to it.

        Raises
        ------
        XGroupStoreError
            If it cannot be opened, or must not be.
        """
        return self._foreign.root(uri, self)

    def problem(self, path: str) -> XGroupError | None:
        """Return why the node at a path, though it may be there, cannot be used."""
        problem = self.problems.get(path)
        if problem is None or not self.is_foreign:
            return problem
        return self.read_problem(str(problem))

    def read_problem(self, reason: str) -> XGroupStoreError:
        """Return the error of something in the store that cannot be read."""
        if not self.is_foreign:
            return XGroupStoreError(reason)
        message = _("store {uri}: {reason}").format(uri=self.name, reason=reason)
        return XGroupStoreError.of(self.name, message)

    def why_absent(self, path: str) -> str:
        """Return why there is no node at a path."""
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
        return group in self._children or self._is_consolidated(group)

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
        """Read the documents of a group's children, and of the groups it is in.

        Raises
        ------
        XGroupStoreError
            If the group's members cannot be listed.
        """
        sync(self._load_children([group]))
        if not self.is_listed(group):
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
        foreign = [other.store for other in self._foreign.opened()]
        return [self.store, *foreign] if self.closes else foreign

    def all_warnings(self) -> list[XGroupWarning]:
        """Return what is to be told of this store and of all that were opened here."""
        foreign = [warning for other in self._foreign.opened() for warning in other.warnings]
        return [*self.warnings, *foreign]

    def release(self) -> None:
        """Forget all documents, now and not when Python next looks for cycles of objects."""
        for other in (self, *self._foreign.opened()):
            for known in (other._documents, other._consolidated, other._children, other.problems):
                known.clear()
        self._foreign.release()

    def close(self) -> None:
        """Close all stores that were opened here."""
        for store in self.opened_stores():
            store.close()

    def _members(self, group: str, node_type: str) -> Iterator[tuple[str, Document]]:
        for name in sorted(self._children.get(group, ())):
            document = self.document(join_path(group, name))
            if document is not None and document["node_type"] == node_type:
                yield name, document

    # Opening.

    @classmethod
    async def _open(cls, store_like: Any, options: StoreOptions) -> tuple[Self, str]:
        asked = normalize_path(options.get("group"))
        name = describe_store(store_like)
        place = await open_store(store_like, options.get("storage_options"))
        group = join_path(place.path, asked)
        closes = place.store is not getattr(store_like, "store", store_like)
        # The group's members are listed along with the first requests, in case they are not
        # consolidated: over a network it is waiting that takes time.
        is_listed = not options.get("consolidated") and supports_listing(place.store)
        names = StoreReader(place.store).names(group) if is_listed else None
        listing = None if names is None else asyncio.ensure_future(names)
        try:
            found = await _read_ends(StoreReader(place.store), [group], options)
            hierarchy = cls(place.store, name, _format(found, group, name), closes)
            hierarchy.ignores_consolidated = options.get("consolidated") is False
            hierarchy.follow(uri_of(store_like), _foreign_options(options))
            hierarchy._take(found, options.get("consolidated"))
            hierarchy._check_stale(set(found))
            hierarchy._check_group(group)
            if listing is not None and not hierarchy.is_listed(group):
                hierarchy._listed[group] = await listing
        except BaseException:
            if closes:
                place.store.close()
            raise
        finally:
            if listing is not None:
                listing.cancel()
        return hierarchy, group

    async def _open_foreign(
        self,
        location: str,
        storage_options: dict[str, Any] | None,
        name: str,
        timeout: float | None,
    ) -> Hierarchy:
        """Open a store that a reference leads to, or raise XGroupStoreError with the reason."""
        try:
            place = await open_store(location, storage_options)
        except XGroupStoreError as error:
            raise XGroupStoreError(reason_of(error.__cause__ or error)) from error
        try:
            found = await _read_ends(StoreReader(place.store, timeout), [], {})
            zarr_format = format_of(found[""]) or 3
            other = Hierarchy(place.store, name, zarr_format, closes=True)
            other.is_foreign, other.timeout = True, timeout
            other._foreign = self._foreign
            other._take(found, None)
            other._check_root(found[""])
        except BaseException:
            place.store.close()
            raise
        return other

    def _check_root(self, found: Found) -> None:
        """Raise XGroupStoreError unless the root of a foreign store is a group."""
        document = self.document("")
        problem = self.problems.get("")
        if problem is None and document is None:
            errors = (value for value in found.values() if isinstance(value, XGroupError))
            problem = next(errors, None)
        if isinstance(problem, XGroupStoreError):
            raise problem
        if problem is not None:
            message = _("it is not a Zarr store: {reason}").format(reason=problem)
            raise XGroupStoreError(message) from problem
        if document is None:
            raise XGroupStoreError(_("not found: it has neither a zarr.json nor a .zgroup"))
        if document.get("zarr_format") not in (2, 3):
            message = _("wrong format: its 'zarr_format' is {number!r}, neither 2 nor 3")
            raise XGroupStoreError(message.format(number=document.get("zarr_format")))
        if document["node_type"] == "array":
            raise XGroupStoreError(_("it is an array: the URI must be that of a group"))

    def _take(self, found: Mapping[str, Found], consolidated: bool | None) -> None:
        """Take over the documents found at the root and elsewhere, and what they consolidate."""
        for path, values in found.items():
            self._add(path, values)
        self._take_consolidated(found, consolidated)

    def _add(self, path: str, found: Found) -> None:
        document, problem = node_document(found, self.zarr_format, f"/{path}")
        if document is not None:
            self._documents[path] = document
        if problem is not None:
            self.problems[path] = problem
        else:
            self.problems.pop(path, None)

    def _take_consolidated(self, found: Mapping[str, Found], required: bool | None) -> None:
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
                return
        if required:
            message = _(
                "{store} has no consolidated metadata; open it with consolidated=False, or "
                "leave that out"
            ).format(store=self.name)
            raise XGroupStoreError(message)

    def _add_consolidated(self, at: str, nodes: dict[str, Found]) -> None:
        """Take over what is consolidated; a document is looked at when it is asked for."""
        self.consolidated_at = at
        self._consolidated = {
            join_path(at, relative.strip("/")): values for relative, values in nodes.items()
        }
        children: defaultdict[str, list[str]] = defaultdict(list)
        for path in self._consolidated:
            if path != at:
                parent, _slash, name = path.rpartition("/")
                children[parent].append(name)
        # Groups that only their members show: consolidated documents made by hand leave such
        # groups out.
        pending = [path for path in children if path != at and path not in self._consolidated]
        while pending:
            path = pending.pop()
            self._documents.setdefault(
                path,
                {"zarr_format": self.zarr_format, "node_type": "group", "attributes": {}},
            )
            parent, _slash, name = path.rpartition("/")
            is_new = parent not in children and parent not in self._consolidated
            if name not in children[parent]:
                children[parent].append(name)
            if is_new and parent != at:
                pending.append(parent)
        self._children.update(children)

    def _check_stale(self, read: set[str]) -> None:
        """Raise if a node that was read itself is not in the consolidated metadata."""
        for path in read:
            if self.document(path) is None:
                continue
            parent, _slash, name = path.rpartition("/")
            is_below = path != self.consolidated_at and self._is_consolidated(path)
            if is_below and name not in self._children.get(parent, ()):
                message = _(
                    "The consolidated metadata of {store} has no group {group!r}, though the "
                    "store itself does: open it with consolidated=False, and consolidate it anew"
                ).format(store=self.name, group=f"/{path}")
                raise XGroupGroupError(message)

    def _check_group(self, group: str) -> None:
        """Raise unless the group asked for is one."""
        document = self.document(group)
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

    def _unknown(self, paths: Iterable[str]) -> list[str]:
        return [path for path in dict.fromkeys(paths) if not self._is_known(path)]

    def _is_known(self, path: str) -> bool:
        if path in self._documents or path in self._absent or self._is_consolidated(path):
            return True
        return self._is_below_array(path)

    def _is_below_array(self, path: str) -> bool:
        """Tell whether there can be no node at a path, for there is an array above it."""
        parents = _parents(path)
        return any(
            (document := self.document(parent)) is not None and document["node_type"] == "array"
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
        reader = StoreReader(self.store, self.timeout)
        keys = NODE_KEYS[self.zarr_format]
        return await gather(lambda path: reader.node(path, keys), paths)

    async def _load_below(self, group: str) -> None:
        level = [group]
        while level:
            level = [join_path(path, name) for path in level for name in self.groups(path)]
            await self._load_children(level)

    async def _load_children(self, groups: Iterable[str]) -> None:
        reader = StoreReader(self.store, self.timeout)
        groups = list(groups)
        unlisted = [path for path in groups if not self.is_listed(path)]
        asked = [path for path in unlisted if path not in self._listed]
        found = await gather(reader.names, asked)
        self._listed.update(zip(asked, found, strict=True))
        listings = {path: self._listed.pop(path) for path in unlisted}
        children = [
            join_path(path, name)
            for path, names in listings.items()
            if isinstance(names, set)
            for name in names - METADATA_KEYS
        ]
        # What groups say of the arrays below them is asked for later.
        parents = [parent for path in groups for parent in _parents(path)]
        await self.load_nodes([*children, *parents])
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


def _parents(path: str) -> Iterable[str]:
    """Return the paths of the groups that a node is in, but for the root."""
    return accumulate(path.split("/")[:-1], join_path)


async def _read_ends(
    reader: StoreReader, groups: Iterable[str], options: StoreOptions
) -> dict[str, Found]:
    """Read the documents at the root and at groups, in whichever format there may be."""
    zarr_format = options.get("zarr_format")
    keys: list[str] = []
    if zarr_format in (None, 3):
        keys += NODE_KEYS[3]
    if zarr_format in (None, 2):
        keys += NODE_KEYS[2]
        if options.get("consolidated") is not False:
            keys.append(CONSOLIDATED_V2)
    paths = dict.fromkeys(["", *groups])
    found = await gather(lambda path: reader.node(path, keys), paths)
    return dict(zip(paths, found, strict=True))


def _foreign_options(options: StoreOptions) -> ForeignOptions:
    part: Any = {key: value for key, value in options.items() if key in _FOREIGN_OPTIONS}
    return cast(ForeignOptions, part)


def _format(found: dict[str, Found], group: str, store: str) -> ZarrFormat:
    """Return the format of a group, else of the root; raise if neither is there."""
    zarr_format = format_of(found[group]) or format_of(found[""])
    if zarr_format is None:
        raise _nothing_found(found, group, store)
    return zarr_format


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
