"""Where an open starts: the root of the store that an address is in, and what is read first.

The groups above what is named are looked for along with the first documents: the topmost one of
an unbroken chain is the root. Nothing above that is no group changes anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zarr.abc.store import Store
from zarr.storage import StorePath

from zarr_xgroup.errors import XGroupError, XGroupStoreNotFoundError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import (
    CONSOLIDATED_V2,
    NODE_KEYS,
    Found,
    ZarrFormat,
    format_of,
    node_document,
)
from zarr_xgroup.metadata.paths import ancestor_paths, is_node_name, join_path
from zarr_xgroup.options import StoreOptions
from zarr_xgroup.storage.above import Address, location_above
from zarr_xgroup.storage.failures import nothing_found, other_format, unreadable_ends
from zarr_xgroup.storage.limits import request_limit
from zarr_xgroup.storage.opening import describe_store
from zarr_xgroup.storage.reading import StoreReader, gather

#: How many child folders are probed for groups when a path is no Zarr store.
_MOST_PROBED = 100
#: How long a server may take to send the beginning of what is no Zarr store.
_SECONDS = 10.0
#: How many bytes are looked at of a file that is no Zarr store.
_LOOKED_AT = 512

_NETCDF = "engine='netcdf4'"
_RASTERIO = "engine='rasterio' of rioxarray"
#: How files begin, what they are, and the option of `xarray.open_dataset` that reads them.
_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89HDF\r\n\x1a\n", "HDF5 (netCDF-4)", "engine='h5netcdf'"),
    *((b"CDF" + version, "netCDF-3", _NETCDF) for version in (b"\x01", b"\x02", b"\x05")),
    (b"\x0e\x03\x13\x01", "HDF4", _NETCDF),
    *((order, "TIFF (GeoTIFF)", _RASTERIO) for order in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")),
    (b"\0\0\0\x0cjP  ", "JPEG 2000", _RASTERIO),
    (b"GRIB", "GRIB", "engine='cfgrib'"),
)

#: The key by which a group is known.
_GROUP_KEYS: Mapping[ZarrFormat, str] = {3: "zarr.json", 2: ".zgroup"}


@dataclass(frozen=True)
class Start:
    """What an open starts from.

    Attributes
    ----------
    store : zarr.abc.store.Store
        The store, from its root on.
    store_like : str, os.PathLike, ...
        What a user might have named to open that.
    named : str
        The path in it of what the user did name.
    group : str
        That of the group asked for.
    zarr_format : {2, 3}
        The format.
    found : dict of str to mapping
        The metadata documents of the root, of what is named, of groups between, and of the
        group asked for, by path; outermost first.
    """

    store: Store
    store_like: Any
    named: str
    group: str
    zarr_format: ZarrFormat
    found: dict[str, Found]


async def find_start(store_like: Any, place: StorePath, asked: str, options: StoreOptions) -> Start:
    """Read the first documents of what the user named, which is open at a place, and return where it begins.

    Raises
    ------
    XGroupStoreNotFoundError, XGroupStoreError
        If neither what is named nor the group is there, or can be read.
    """
    address = Address.of(place) if looks_above(options) else None
    group = join_path(place.path, asked)
    first = [group] if address is None else [place.path, group]
    keys = _keys_above(address, place.path, options)
    limit = request_limit(place.store)  # one for both: they are asked of one server
    reader = StoreReader(place.store, limit=limit)
    found, above = await asyncio.gather(
        read_ends(reader, first, options), _read_above(address, keys, limit)
    )
    zarr_format = _format(found[path] for path in (group, *found))
    if zarr_format is None:
        raise await why_nothing(place.store, found, group, describe_store(store_like), options)
    if address is None:
        return Start(place.store, store_like, place.path, group, zarr_format, found)
    depth = _depth(place.path)
    above[depth] = found[""]
    level = _level_of_root(found, place.path, above, zarr_format)
    up_to_root = {it: above[it] for it in range(level, 0, -1) if it in above}
    groups = await _groups_of(address, keys, up_to_root, zarr_format, options)
    whole = place.store, store_like, place.path
    store, store_like, path = whole if level == depth else _moved(store_like, address, level)
    paths = ["", *ancestor_paths(path)]
    ends = {"": found[""], **{paths[level - it]: values for it, values in groups.items()}}
    ends |= {path: found[place.path], join_path(path, asked): found[group]}
    return Start(store, store_like, path, join_path(path, asked), zarr_format, ends)


def _moved(store_like: Any, address: Address, level: int) -> tuple[Store, Any, str]:
    """Return the store that is rooted above an address, what it can be named by, and the path in it."""
    store = address.above(level)
    return store, location_above(store_like, store, level), address.path_from(level)


def looks_above(options: StoreOptions) -> bool:
    """Tell whether groups above what is named are to be looked for.

    Raises
    ------
    ValueError
        If the option `root` is none of its values.
    """
    root = options.get("root")
    if root is not None and root is not False and root != "auto":
        message = _("root must be 'auto' or False, got {value!r}").format(value=root)
        raise ValueError(message)
    return root is not False


def _format(found: Iterable[Found]) -> ZarrFormat | None:
    """Return the format of the first node that is there."""
    return next((it for it in map(format_of, found) if it is not None), None)


def _depth(path: str) -> int:
    return len(path.split("/")) if path else 0


def _keys_above(address: Address | None, named: str, options: StoreOptions) -> dict[int, list[str]]:
    """Return by which keys to look for groups above an address, by level.

    Where a name says that a store begins there, what is written of groups of Zarr v2 under other keys is read
    in the same round. The root of a store that was opened above what is named is read in any case.
    """
    if address is None:
        return {}
    asked = options.get("zarr_format")
    keys = [key for zarr_format, key in _GROUP_KEYS.items() if asked in (None, zarr_format)]
    if asked != 3 and any(map(address.is_root, address.levels)):
        keys += _rest_of_v2(options)
    return {level: keys for level in address.levels if level != _depth(named)}


def _rest_of_v2(options: StoreOptions) -> list[str]:
    return [".zattrs"] + [CONSOLIDATED_V2] * (options.get("consolidated") is not False)


async def _read_above(
    address: Address | None,
    keys: Mapping[int, Sequence[str]],
    limit: asyncio.Semaphore | None = None,
) -> dict[int, Found]:
    """Return what is found by keys so many levels above an address; errors there are no one's concern."""
    if address is None or not keys:
        return {}
    stores = list(map(address.above, keys))
    limit = limit or request_limit(stores[0])
    readers = (StoreReader(store, limit=limit) for store in stores)
    found = await asyncio.gather(
        *(reader.node("", at) for reader, at in zip(readers, keys.values(), strict=True))
    )
    return dict(zip(keys, found, strict=True))


async def _groups_of(
    address: Address,
    keys: Mapping[int, Sequence[str]],
    above: Mapping[int, Found],
    zarr_format: ZarrFormat,
    options: StoreOptions,
) -> dict[int, Found]:
    """Return what was found above an address and is a group, of Zarr v2 with what was not asked for yet."""
    groups = {level: it for level, it in above.items() if _is_group(it, zarr_format)}
    whole = "zarr.json" if zarr_format == 3 else ".zattrs"
    lacking = [level for level in groups if whole not in keys.get(level, [whole])]
    rest = await _read_above(address, dict.fromkeys(lacking, _rest_of_v2(options)))
    return {level: {**values, **rest.get(level, {})} for level, values in groups.items()}


def _level_of_root(
    found: Mapping[str, Found], named: str, above: Mapping[int, Found], zarr_format: ZarrFormat
) -> int:
    """Return how many levels above what is named the topmost group of an unbroken chain is.

    The root of the store that was opened counts whether or not the chain to it is unbroken.
    """
    is_rooted = bool(named) and _is_group(found[""], zarr_format)
    is_there = node_document(found[named], zarr_format, "")[0] is not None
    level = 0 if is_there and not is_rooted else _depth(named)
    while (is_there or is_rooted) and _is_group(above.get(level + 1), zarr_format):
        level += 1
    return level


def _is_group(found: Found | None, zarr_format: ZarrFormat | None) -> bool:
    """Tell whether a group was found, which says itself that it is of a format: not all JSON is Zarr."""
    document = node_document(found or {}, zarr_format, "")[0] if zarr_format else None
    says: object = None if document is None or document.is_array else document.get("zarr_format")
    return says is not None and says == zarr_format


# What is read first, and what is there if that is not.


async def read_ends(
    reader: StoreReader, groups: Sequence[str], options: StoreOptions
) -> dict[str, Found]:
    """Return the metadata documents found at the root and at groups, of every format that is allowed."""
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


async def why_nothing(
    store: Store, found: dict[str, Found], group: str, name: str, options: StoreOptions
) -> XGroupError:
    """Return the error of a store of which neither root nor group is there, naming what is there instead."""
    problem, reader = unreadable_ends(found, name), StoreReader(store)
    asked = options.get("zarr_format")
    if problem is None and asked is not None:
        other: ZarrFormat = 2 if asked == 3 else 3
        ends = await read_ends(reader, [group], {"zarr_format": other})
        if other in (format_of(ends[group]), format_of(ends[""])):
            return other_format(group, name, other)
    inside = [] if problem is not None else await _groups_in(reader, "")
    first = b"" if inside else await StoreReader(store, _SECONDS).beginning(_LOOKED_AT)
    is_text = problem is None and _is_text(first)
    if told := _told(first) or (_("it is a file of text") if is_text else ""):
        message = _("There is no Zarr group at {store}: {reason}").format(store=name, reason=told)
        return XGroupStoreNotFoundError(message)
    return problem if problem is not None else nothing_found(group, name, inside)


async def groups_near(store: Store, group: str) -> list[str]:
    """Return the nearest existing group above one that does not exist, and its child groups."""
    reader = StoreReader(store)
    above = ["", *ancestor_paths(group)]
    found = await read_ends(reader, above, {})
    there = [path for path in above if _is_group(found[path], format_of(found[path]))]
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


def _told(first: bytes) -> str:
    """Return, in words, of what format a file is by its first bytes, "" if it is none that is known."""
    for beginning, name, option in _BEGINNINGS:
        if first.startswith(beginning):
            return _("it is a file of {name}, which xarray opens with {option}").format(
                name=name, option=option
            )
    if first.startswith(b"PK\x03\x04"):
        return _("it is a ZIP archive: if a store is in it, name it zip::... or rename it to .zip")
    if first.lstrip().startswith(b"{") and b'"refs"' in first:
        return _("it is a file of references of kerchunk: name it reference::...")
    if first.lstrip().startswith(b"{") and b'"stac_version"' in first:
        return _("it is a STAC document: open the href of one of its assets")
    return ""


def _is_text(first: bytes) -> bool:
    """Tell whether bytes are text in UTF-8, of which the last letter may be cut off, and no page of a server."""
    if not first or first.lstrip().startswith(b"<"):
        return False
    try:
        text = first.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(first) - 4 and len(first) == _LOOKED_AT
    return all(letter.isprintable() or letter.isspace() for letter in text)
