"""The start of an open call: the root of the store at an address, the first documents, and a check that the group exists."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches

import msgspec

from zarr_xgroup.errors import (
    XGroupError,
    XGroupGroupError,
    XGroupStoreError,
    XGroupStoreNotFoundError,
)
from zarr_xgroup.i18n import _, listed
from zarr_xgroup.metadata.documents import (
    CONSOLIDATED_V2,
    NODE_KEYS,
    Found,
    Text,
    ZarrFormat,
    consolidated_nodes,
    format_of,
    node_document,
)
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import is_node_name, join_path, normalize_path
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.options import StoreOptions
from zarr_xgroup.storage.addresses import Address, open_store
from zarr_xgroup.storage.failures import raising_store_errors, with_store_name
from zarr_xgroup.storage.handles import Handle
from zarr_xgroup.storage.reading import StoreReader, gather

#: How many groups a message names.
_NAMED_GROUPS = 10
#: How many child folders are probed for groups.
_MOST_PROBED = 100
#: How many names are compared with a missing one, and how many similar names are followed further down.
_MOST_COMPARED, _MOST_LIKELY = 1000, 3
#: How many levels of groups are searched for a missing path.
_MOST_LEVELS = 5


class Start(msgspec.Struct):
    """The store of an open call, the requested group, and the documents read first.

    Attributes
    ----------
    handle : Handle
        The store, with the path of the address in it.
    options : StoreOptions
        The options of the call, completed by those of the address.
    group : str
        The path of the requested group.
    found : dict of str to mapping
        The metadata documents of the root, of the node at the address, and of the requested group, by path.
    listing : asyncio.Future, optional
        The names in the group, if it is listed while its documents are read.
    refusals : dict of str to XGroupStoreError
        The errors of nodes whose documents are forbidden, by path. They are treated as missing.
    array : str
        The name of the array of the group that the address names; "" if it names the group.
    """

    handle: Handle
    options: StoreOptions
    group: str = ""
    found: dict[str, Found] = msgspec.field(default_factory=dict)
    listing: asyncio.Future[set[str]] | None = None
    refusals: dict[str, XGroupStoreError] = msgspec.field(default_factory=dict)
    array: str = ""

    @property
    def zarr_format(self) -> ZarrFormat | None:
        """The Zarr format of the first of these that exists: the group, the node at the address, the root; or None."""
        paths = (self.group, self.handle.path, "")
        formats = (format_of(self.found.get(path, {})) for path in paths)
        return next((zarr_format for zarr_format in formats if zarr_format is not None), None)

    def give_up(self) -> None:
        """Cancel the listing, and close the store unless the user opened it."""
        if self.listing is not None:
            self.listing.cancel()
        if self.handle.is_ours:
            self.handle.store.close()


async def find_start(address: Address, requested: str, *, allows_array: bool) -> Start:
    """Open the store that an address is, or is in, and read the first documents.

    An address like ``a.zarr/b`` is first tried as group ``b`` of the store ``a.zarr``, so that attributes
    of groups above are known. If ``a.zarr`` is not a Zarr group, the address is opened as a store. If `allows_array`, an
    address may name an array: then its group is opened.

    Raises
    ------
    XGroupStoreNotFoundError, XGroupStoreError
        If neither the node at the address nor the group `requested` exists and can be read.
    """
    known: dict[str, Found] = {}
    if address.above is not None:
        with suppress(XGroupStoreNotFoundError):
            start = await _start_at(address.above, requested)
            if _is_group(start.found[""], start.zarr_format):
                return await _at_group_of_array(start) if allows_array else start
            start.give_up()
            known = {"": start.found[start.handle.path], requested: start.found[start.group]}
    start = await _start_at(address, requested, known)
    if start.zarr_format is None:
        try:
            raise await _not_found_error(start)
        finally:
            start.give_up()
    return await _at_group_of_array(start) if allows_array else start


async def _at_group_of_array(start: Start) -> Start:
    """Return the start at the group of an array that the address names; the same start if it names a group."""
    path, zarr_format = start.handle.path, start.zarr_format
    found = start.found[path]
    document = node_document(found, zarr_format, "")[0] if zarr_format else None
    if not path or start.group != path or document is None or not document.is_array:
        return start
    if start.listing is not None:
        start.listing.cancel()
    parent, _slash, name = path.rpartition("/")
    # The documents of the root were read without consolidated metadata.
    known = {"": start.found[""]} if parent else {}
    handle = msgspec.structs.replace(start.handle, path=parent)
    again = await _read_start(handle, start.options, "", known)
    again.array = name
    return again


async def _start_at(
    address: Address, requested: str, known: dict[str, Found] | None = None
) -> Start:
    """Open a store, and read its first documents."""
    return await _read_start(await open_store(address), address.options, requested, known)


async def _read_start(
    handle: Handle, options: StoreOptions, requested: str, known: dict[str, Found] | None
) -> Start:
    """Read the documents of the root of a store, of the address in it, and of the group `requested` below that.

    Documents in `known`, by path, are not read again. The store is closed if reading fails.
    """
    start = Start(handle, options)
    try:
        start.group = join_path(handle.path, normalize_path(requested, is_served=handle.is_served))
        reader = StoreReader(handle)
        start.refusals = reader.refusals
        # The group is listed at the same time as the first requests, in case its members are not
        # consolidated: a further round of requests would take longer.
        with raising_store_errors(handle.name):
            lists_early = not options.get("consolidated") and handle.lists_early
        if lists_early:
            start.listing = asyncio.ensure_future(reader.names(start.group))
        # The consolidated metadata of groups above the address are not used.
        group_keys = list(_group_keys(options))
        keys = dict.fromkeys((handle.path, start.group), group_keys)
        keys_above = [key for key in group_keys if key != CONSOLIDATED_V2]
        start.found = dict(known or {})
        may_be_consolidated = options.get("consolidated") is not False
        is_first = start.listing is None and not handle.path and not start.found
        if start.group and is_first and may_be_consolidated:
            # As engine zarr does, read only the consolidated metadata of the root: one request.
            root = start.found[""] = await reader.node("", keys[""], "attributes")
            if handle.supports_consolidated and _is_consolidated_group(root, start.group, options):
                return start
        paths = [path for path in dict.fromkeys(["", *keys]) if path not in start.found]

        async def read(path: str) -> Found:
            if path in keys:
                return await reader.node(path, keys[path], "attributes")
            return await reader.node(path, keys_above, "missing")

        start.found |= await reader.nodes(
            {path: keys.get(path, keys_above) for path in paths}, read
        )
        # If the group does not exist, the error names a v2 array at its path.
        if format_of(start.found[start.group]) is None and options.get("zarr_format") != 3:
            array = await reader.node(start.group, NODE_KEYS[2][:1], "missing")
            start.found[start.group] = {**start.found[start.group], **array}
    except XGroupStoreError as error:
        start.give_up()
        raise with_store_name(error, handle.name) from error.__cause__
    except BaseException:
        start.give_up()
        raise
    return start


def _group_keys(options: StoreOptions) -> Iterator[str]:
    """Yield the keys of a group's documents that engine zarr requests; ``.zarray`` of v2 arrays is not one of them."""
    zarr_format = options.get("zarr_format")
    if zarr_format in (None, 3):
        yield from NODE_KEYS[3]
    if zarr_format in (None, 2):
        yield from NODE_KEYS[2][1:]
        if options.get("consolidated") is not False:
            yield CONSOLIDATED_V2


def _is_consolidated_group(root: Found, group: str, options: StoreOptions) -> bool:
    """Return whether the consolidated metadata of the root contain a group at a path."""
    zarr_format = format_of(root)
    if options.get("consolidated") is False or zarr_format is None:
        return False
    with suppress(XGroupError):  # reported by OpenStore.learn_consolidated
        nodes = consolidated_nodes(root, zarr_format, "/") or {}
        return group in nodes and _is_group(nodes[group], zarr_format)
    return False


def _is_group(found: Found | Text, zarr_format: ZarrFormat | None) -> bool:
    """Return whether documents are those of a group that states its Zarr format; other JSON may not be Zarr."""
    document = node_document(found, zarr_format, "")[0] if zarr_format else None
    stated: object = None if document is None or document.is_array else document.get("zarr_format")
    return stated is not None and stated == zarr_format


async def check_group(start: Start, tree: Tree) -> None:
    """Raise an error unless the requested group exists.

    The text names the group with a similar path, otherwise the nearest group above the path and its child groups.

    Raises
    ------
    XGroupGroupError
        If the node does not exist or is an array, or if the group is missing in the consolidated metadata.
    XGroupError
        If the document of the node cannot be read or is not valid.
    """
    store, node = tree.stores[0], Node(0, start.group)
    document = tree.document_if_read(node)
    problem = tree.problems.get(node) or start.refusals.get(node.path)
    if document is None and problem is not None:
        raise with_store_name(problem, store.name)
    if document is not None and document.is_array:
        message = _("{store} is an array, not a group")
        if node.path:
            message = _(
                "{path!r} in {store} is an array, not a group: open the group {parent!r} and "
                "take its variable {name!r}"
            )
        parent = str(node.group)
        message = message.format(store=store.name, path=str(node), parent=parent, name=node.name)
        raise XGroupGroupError(message)
    if document is not None:
        can_be_stale = node.path != store.consolidated_at and tree.is_consolidated(node)
        if can_be_stale and node.name not in tree.names(node.group):
            message = _(
                "The consolidated metadata of {store} do not have the group {group!r}, but the store does: "
                "open it with consolidated=False, and consolidate it again"
            ).format(store=store.name, group=str(node))
            raise XGroupGroupError(message)
        return
    message = _("There is no group {group!r} in {store}").format(group=str(node), store=store.name)
    similar, near = await _groups_instead(start, tree)
    below = await _groups_ending_in(start, tree, near[0])
    if below:
        names = listed([repr(f"/{path}") for path in below], _NAMED_GROUPS)
        message += _("; did you mean {groups}?").format(groups=names)
    elif similar is not None:
        message += _("; did you mean {group!r}?").format(group=f"/{similar}")
    elif near != [""]:
        names = ", ".join(f"/{path}" for path in near[:_NAMED_GROUPS])
        message += _("; existing groups: {names}").format(names=names)
    if not set("*?[").isdisjoint(node.path):
        message += _("; to choose groups of a tree by a pattern, use group_filter")
    raise XGroupGroupError(message)


# Existing groups, for messages about a missing group.


async def _not_found_error(start: Start) -> XGroupError:
    """Return the error of a store that has neither a root nor the requested group.

    The text names a group of the other Zarr format, otherwise child groups.
    """
    name, group, reader = start.handle.name, start.group, StoreReader(start.handle)
    for refusal in start.refusals.values():
        return with_store_name(refusal, name)
    requested = start.options.get("zarr_format")
    if requested is not None:
        other: ZarrFormat = 2 if requested == 3 else 3
        nodes = await gather(lambda path: reader.node(path, NODE_KEYS[other]), ["", group])
        if other in map(format_of, nodes):
            message = _(
                "There is no Zarr v{requested} group {group!r} in {store}, which is Zarr v{existing}: "
                "open it with zarr_format={existing}, or leave out zarr_format"
            )
            return XGroupStoreNotFoundError(
                message.format(requested=requested, group=f"/{group}", store=name, existing=other)
            )
    message = _("{store} is not a Zarr store: it has neither a zarr.json nor a .zgroup")
    children = await _child_groups(reader, "")
    if group:
        message = _(
            "The Zarr group {group!r} in {store} does not exist: neither the group nor the root of the store "
            "has a zarr.json or a .zgroup"
        )
    elif not (children or start.handle.is_local):
        message = _(
            "{store} does not exist or is not a Zarr store: it has neither a zarr.json nor a .zgroup"
        )
    message = message.format(group=f"/{group}", store=name)
    if children:
        named = _("; it contains groups, which can be opened with group=...: {names}")
        message += named.format(names=", ".join(map(repr, children[:_NAMED_GROUPS])))
    elif name.endswith(".json"):
        references = _("; if it has references of kerchunk, open {address!r}")
        message += references.format(address=f"reference::{name}")
    return XGroupStoreNotFoundError(message)


async def _groups_instead(start: Start, tree: Tree) -> tuple[str | None, list[str]]:
    """Return the group whose path is similar, segment by segment, to the path of the missing group, or None.

    Also return the nearest existing group above the missing group, and its child groups. Child groups are read from the
    consolidated metadata if there are any, otherwise from listings.
    """
    reader, top = StoreReader(start.handle), start.handle.path
    if top == start.group or tree.document_if_read(Node(0, top)) is None:
        top = ""
    is_known = tree.stores[0].is_consolidated(top)
    similar, above, near = [top], top, [top]
    for segment in start.group.removeprefix(top).strip("/").split("/"):
        below: defaultdict[str, list[str]] = defaultdict(list)
        for parent in similar:
            if is_known:
                names = tree.groups(Node(0, parent))[:_MOST_COMPARED]
                paths = [join_path(parent, name) for name in names]
            else:
                paths = await _child_groups(reader, parent)
            if parent == above:
                near = [parent, *paths]
            for path in paths:
                below[path.rpartition("/")[2].lower()].append(path)
        above = join_path(above, segment)
        names = get_close_matches(segment.lower(), below, _MOST_LIKELY)
        similar = [path for name in names for path in below[name]]
    return similar[0] if similar else None, near


async def _groups_ending_in(start: Start, tree: Tree, above: str) -> list[str]:
    """Return the paths of groups that end in the missing path, at most some levels below the group `above`.

    `above` is the nearest existing group above the missing one.
    """
    reader, ending = StoreReader(start.handle), start.group.removeprefix(above).strip("/")
    is_known, level, found = tree.stores[0].is_consolidated(above), [above], list[str]()
    for _depth in range(_MOST_LEVELS):
        if is_known:
            nodes = [Node(0, path) for path in level]
            level = [node.child(name).path for node in nodes for name in tree.groups(node)]
        else:
            children = await gather(lambda path: _child_groups(reader, path), level)
            level = [path for paths in children for path in paths][:_MOST_PROBED]
        found += [path for path in level if f"/{path}".endswith(f"/{ending}")]
        if found or not level:
            break
    return found


async def _child_groups(reader: StoreReader, parent: str) -> list[str]:
    """Return the paths of child groups, those named ``*.zarr`` first; [] if they cannot be read."""
    keys = (*NODE_KEYS[3], *NODE_KEYS[2])
    try:
        usable = filter(is_node_name, await reader.names(parent))
        names = sorted(usable, key=lambda name: (not name.endswith(".zarr"), name))
        paths = [join_path(parent, name) for name in names[:_MOST_PROBED]]
        found = await gather(lambda path: reader.node(path, keys, "missing"), paths)
    except XGroupStoreError:  # only groups to suggest are missing
        return []
    nodes = zip(paths, found, strict=True)
    return [path for path, values in nodes if _is_group(values, format_of(values))]
