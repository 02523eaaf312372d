"""The root of a store and the group asked for, read first; and what is there if they are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zarr.abc.store import Store

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
from zarr_xgroup.storage.failures import nothing_found, other_format, unreadable_ends
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
    there = [path for path in above if _is_group(found[path], f"/{path}")]
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
    return [path for path, values in nodes if _is_group(values, f"/{path}")]


def _is_group(found: Found, place: str) -> bool:
    zarr_format = format_of(found)
    document = node_document(found, zarr_format, place)[0] if zarr_format else None
    return document is not None and not document.is_array


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
