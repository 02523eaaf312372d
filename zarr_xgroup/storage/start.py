"""Where an open starts: the root of the store that an address leads into, and what is read first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from zarr.abc.store import Store

from zarr_xgroup.errors import XGroupError, XGroupStoreError, XGroupStoreNotFoundError
from zarr_xgroup.i18n import _
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
from zarr_xgroup.metadata.paths import ancestor_paths, is_node_name, join_path, normalize_path
from zarr_xgroup.options import StoreOptions
from zarr_xgroup.storage.failures import NAMED_GROUPS, first_error, of_store
from zarr_xgroup.storage.opening import (
    describe_store,
    is_served,
    open_store,
    root_of,
    supports_listing,
)
from zarr_xgroup.storage.reading import StoreReader, gather

#: How many child folders are probed for groups when a path is no Zarr store.
_MOST_PROBED = 100
#: How long a server may take to send the beginning of what is no Zarr store.
_SECONDS = 10.0
#: How many bytes are looked at of a file that is no Zarr store.
_LOOKED_AT = 512


@dataclass
class Start:
    """What an open starts from.

    Attributes
    ----------
    store : zarr.abc.store.Store
        The store, from its root on.
    store_like : str, os.PathLike, ...
        What a user would give to open this store.
    named : str
        The path in it of what the user gave.
    group : str
        The path of the group asked for.
    found : dict of str to mapping
        The metadata documents of the root, of what the user gave, and of the group asked for, by path.
    listing : asyncio.Future, optional
        The names in the group, if they are asked for at the same time.
    """

    store: Store
    store_like: Any
    named: str
    group: str
    found: dict[str, Found]
    listing: asyncio.Future[set[str] | XGroupStoreError] | None = None

    @property
    def zarr_format(self) -> ZarrFormat | None:
        """The format of the first node that is there; None if there is none."""
        formats = (format_of(self.found.get(path, {})) for path in (self.group, self.named, ""))
        return next((zarr_format for zarr_format in formats if zarr_format is not None), None)

    @property
    def is_opened_here(self) -> bool:
        """Whether the store was opened here, and not by the user."""
        return self.store is not getattr(self.store_like, "store", self.store_like)

    def give_up(self) -> None:
        """Close the store if it was opened here, and ask for no names any more."""
        if self.listing is not None:
            self.listing.cancel()
        if self.is_opened_here:
            self.store.close()


async def find_start(store_like: Any, asked: str, options: StoreOptions) -> Start:
    """Open what the user named, or the store that it leads into, and read the first documents.

    Raises
    ------
    XGroupStoreNotFoundError, XGroupStoreError
        If neither what is named nor the group is there, or can be read.
    """
    known: dict[str, Found] = {}
    if (address := root_of(store_like)) is not None:
        with suppress(XGroupStoreError):  # a root that may not be opened is none
            start = await _start_at(*address, asked, options)
            if _is_group(start.found[""], start.zarr_format):
                return start
            start.give_up()
            known = {"": start.found[start.named], asked: start.found[start.group]}
    start = await _start_at(store_like, "", asked, options, known)
    if start.zarr_format is None:
        try:
            raise await _why_nothing(start, options)
        finally:
            start.give_up()
    return start


async def _start_at(
    store_like: Any,
    behind: str,
    asked: str,
    options: StoreOptions,
    known: dict[str, Found] | None = None,
) -> Start:
    """Open a store; read its root, the path behind that, and the group asked for below that, as far as not known."""
    place = await open_store(store_like, options.get("storage_options"))
    start = Start(place.store, store_like, join_path(place.path, behind), "", {})
    try:
        start.group = join_path(
            start.named, normalize_path(asked, is_served=is_served(place.store))
        )
        reader = StoreReader(place.store)
        # The group's members are listed along with the first requests, in case they are not
        # consolidated: over a network it is waiting that takes time.
        if not options.get("consolidated") and supports_listing(place.store):
            start.listing = asyncio.ensure_future(reader.names(start.group))
        # Of what is above the address a document counts, and not what it keeps of those below.
        of_groups = list(_keys(options))
        keys = dict.fromkeys((start.named, start.group), of_groups)
        above = [key for key in of_groups if key != CONSOLIDATED_V2]
        start.found = dict(known or {})
        if start.listing is None and start.group and not start.named and not start.found:
            # What the root keeps of the group is all that engine zarr asks for, too.
            root = start.found[""] = await reader.node("", keys[""])
            can_keep = getattr(start.store, "supports_consolidated_metadata", True)
            if can_keep and _has_consolidated(root, start.group, options):
                return start
        paths = [path for path in dict.fromkeys(["", *keys]) if path not in start.found]
        found = await gather(lambda path: reader.node(path, keys.get(path, above)), paths)
        start.found |= dict(zip(paths, found, strict=True))
        if format_of(start.found[start.group]) is None and options.get("zarr_format") != 3:
            array = await reader.node(start.group, NODE_KEYS[2][:1])
            start.found[start.group] = {**start.found[start.group], **array}
    except BaseException:
        start.give_up()
        raise
    return start


def _keys(options: StoreOptions) -> Iterator[str]:
    """Yield the keys of groups, those that engine zarr asks for; arrays of Zarr v2 have another one."""
    zarr_format = options.get("zarr_format")
    if zarr_format in (None, 3):
        yield from NODE_KEYS[3]
    if zarr_format in (None, 2):
        yield from NODE_KEYS[2][1:]
        if options.get("consolidated") is not False:
            yield CONSOLIDATED_V2


def _has_consolidated(root: Found, group: str, options: StoreOptions) -> bool:
    """Tell whether there is such a group in the consolidated metadata of a root."""
    zarr_format = format_of(root)
    if options.get("consolidated") is False or zarr_format is None:
        return False
    with suppress(XGroupError):  # told where they are taken over
        nodes = consolidated_nodes(root, zarr_format, "/") or {}
        return group in nodes and _is_group(nodes[group], zarr_format)
    return False


def _is_group(found: Found | Text, zarr_format: ZarrFormat | None) -> bool:
    """Tell whether documents are those of a group, which names its format: not all JSON is Zarr."""
    document = node_document(found, zarr_format, "")[0] if zarr_format else None
    says: object = None if document is None or document.is_array else document.get("zarr_format")
    return says is not None and says == zarr_format


# What is there if that is not.


async def _why_nothing(start: Start, options: StoreOptions) -> XGroupError:
    """Return the error of a store without a root or the group asked for; it names what is there instead."""
    name, group, reader = describe_store(start.store_like), start.group, StoreReader(start.store)
    problem = first_error(start.found.values())
    asked = options.get("zarr_format")
    if problem is None and asked is not None:
        other: ZarrFormat = 2 if asked == 3 else 3
        ends = await gather(lambda path: reader.node(path, NODE_KEYS[other]), ["", group])
        if other in map(format_of, ends):
            message = _(
                "There is no Zarr v{asked} group {group!r} in {store}, but what is there is Zarr v{there}: "
                "open it with zarr_format={there}, or leave that out"
            )
            return XGroupStoreNotFoundError(
                message.format(asked=asked, group=f"/{group}", store=name, there=other)
            )
    inside = [] if problem is not None else await _groups_in(reader, "")
    first = b"" if inside else await StoreReader(start.store, _SECONDS).beginning(_LOOKED_AT)
    if kind := _kind_of_file(first, may_be_text=problem is None):
        message = _("There is no Zarr group at {store}: {reason}").format(store=name, reason=kind)
        return XGroupStoreNotFoundError(message)
    if problem is not None:
        return of_store(problem, name)
    message = _("There is no Zarr group at {store}: it has neither a zarr.json nor a .zgroup")
    if group:
        message = _(
            "There is no Zarr group {group!r} in {store}: neither there nor at the root of the "
            "store is a zarr.json or a .zgroup"
        )
    message = message.format(group=f"/{group}", store=name)
    if inside:
        named = _("; there are groups in it, to be asked for by group=...: {names}")
        message += named.format(names=", ".join(map(repr, inside[:NAMED_GROUPS])))
    return XGroupStoreNotFoundError(message)


def _kind_of_file(first: bytes, *, may_be_text: bool) -> str:
    """Return, in words, what a file is that begins so, with what opens it; "" if that is not known."""
    netcdf, raster = "engine='netcdf4'", "engine='rasterio' of rioxarray"
    for beginnings, name, option in (
        ((b"\x89HDF\r\n\x1a\n",), "HDF5 (netCDF-4)", "engine='h5netcdf'"),
        ((b"CDF\x01", b"CDF\x02", b"CDF\x05"), "netCDF-3", netcdf),
        ((b"\x0e\x03\x13\x01",), "HDF4", netcdf),
        ((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), "TIFF (GeoTIFF)", raster),
        ((b"\0\0\0\x0cjP  ",), "JPEG 2000", raster),
        ((b"GRIB",), "GRIB", "engine='cfgrib'"),
    ):
        if first.startswith(beginnings):
            return _("it is a file of {name}, which xarray opens with {option}").format(
                name=name, option=option
            )
    if first.startswith(b"PK\x03\x04"):
        return _("it is a ZIP archive: if a store is in it, name it zip::... or rename it to .zip")
    begin = first.lstrip()
    if begin.startswith(b"{") and b'"refs"' in first:
        return _("it is a file of references of kerchunk: name it reference::...")
    if begin.startswith(b"{") and b'"stac_version"' in first:
        return _("it is a STAC document: open the href of one of its assets")
    # The last letter may be cut off; what begins with "<" is a server's page about what is not there.
    text = first.decode("utf-8", errors="ignore")
    is_whole = len(first) - len(text.encode()) < (4 if len(first) == _LOOKED_AT else 1)
    is_text = is_whole and all(letter.isprintable() or letter.isspace() for letter in text)
    is_told = may_be_text and bool(begin) and not begin.startswith(b"<")
    return _("it is a file of text") if is_text and is_told else ""


async def groups_near(store: Store, group: str) -> list[str]:
    """Return the nearest existing group above one that does not exist, and its child groups."""
    reader = StoreReader(store)
    above = ["", *ancestor_paths(group)]
    keys = [*NODE_KEYS[3], *NODE_KEYS[2]]
    found = zip(above, await gather(lambda path: reader.node(path, keys), above), strict=True)
    there = [path for path, values in found if _is_group(values, format_of(values))]
    inside = await _groups_in(reader, there[-1]) if there else []
    return there[-1:] + inside if inside or there != [""] else []


async def _groups_in(reader: StoreReader, at: str) -> list[str]:
    """Return the groups directly in a place, as far as it can be listed; likely ones first."""
    listed = await reader.names(at)
    usable = filter(is_node_name, listed if isinstance(listed, set) else ())
    names = sorted(usable, key=lambda name: (not name.endswith(".zarr"), name))
    paths = [join_path(at, name) for name in names[:_MOST_PROBED]]
    keys = (*NODE_KEYS[3], *NODE_KEYS[2])
    nodes = zip(paths, await gather(lambda path: reader.node(path, keys), paths), strict=True)
    return [path for path, values in nodes if _is_group(values, format_of(values))]
