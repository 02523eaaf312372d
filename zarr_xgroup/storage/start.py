"""Where an open starts: the root of the store that an address is in, and what is read first.

The groups above what is named are looked for along with the first documents: the topmost one of
an unbroken chain is the root. Nothing above that is no group changes anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zarr.abc.store import Store
from zarr.storage import StorePath

from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import (
    CONSOLIDATED_V2,
    Found,
    ZarrFormat,
    format_of,
    node_document,
)
from zarr_xgroup.metadata.paths import ancestor_paths, join_path
from zarr_xgroup.options import StoreOptions
from zarr_xgroup.storage.above import Address, location_above
from zarr_xgroup.storage.ends import read_ends, why_nothing
from zarr_xgroup.storage.limits import request_limit
from zarr_xgroup.storage.opening import describe_store
from zarr_xgroup.storage.reading import StoreReader

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


def _is_group(found: Found | None, zarr_format: ZarrFormat) -> bool:
    """Tell whether a group was found, which says itself that it is of a format: not all JSON is Zarr."""
    document, _problem = node_document(found or {}, zarr_format, "")
    if document is None or document.is_array:
        return False
    says: object = document.get("zarr_format")
    return says == zarr_format
