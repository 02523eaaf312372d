"""What lies above an address: the folders, prefixes or URLs that it is in, each opened as a store.

What people have in their hands is seldom the root of a store.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore, StorePath

from zarr_xgroup.metadata.paths import is_node_name
from zarr_xgroup.storage.opening import ARCHIVES, protocols_of
from zarr_xgroup.storage.uris import CACHES, Link

#: How many levels above an address its root may be.
MOST_LEVELS = 8

#: How the names of stores end: what is called so is the root, though it may lie in a group.
_ROOT = ".zarr"

_SERVER = re.compile(r"(https?://[^/?#]+)(/[^?#]*)?")
_GROUP_FILES = ("zarr.json", ".zgroup")

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Address:
    """Where something is in a store that can also be opened from higher up, or further down.

    Attributes
    ----------
    names : tuple of str
        The names of what it is in and its own, outermost first; not of the bucket or server, which
        nothing is above.
    rooted : callable
        Given the first of the names, opens the store that is rooted there; reads nothing.
    rules_out : callable
        Given the first of the names, tells if it is clear at once that there is no group.
    named : callable
        Returns the name of a node for one of the names.
    """

    names: Names
    rooted: Callable[[Names], Store]
    rules_out: Callable[[Names], bool] = lambda _names: False
    named: Callable[[str], str] = str

    @classmethod
    def of(cls, place: StorePath) -> Address | None:
        """Return the address of a place in a store, None if that can only be opened where it begins.

        That is so of memory, of what wraps a store, and of all stores that are not known here.
        """
        address = _address_of(place.store)
        return address and replace(address, names=address.names + _names_in(place.path))

    @property
    def levels(self) -> list[int]:
        """The numbers of levels above it at which its root may be, nearest first."""
        inside = len(list(takewhile(_is_in_group, reversed(self.names))))
        possible = range(1, min(inside, MOST_LEVELS) + 1)
        return list(takewhile(lambda level: not self.rules_out(self.names[:-level]), possible))

    def is_root(self, level: int) -> bool:
        """Tell whether the name of what is so many levels above says that a store begins there."""
        return level < len(self.names) and self.names[-level - 1].lower().endswith(_ROOT)

    def above(self, level: int) -> Store:
        """Return the store that is rooted so many levels above it."""
        return self.rooted(self.names[: len(self.names) - level])

    def path_from(self, level: int) -> str:
        """Return its path in the store that is rooted so many levels above it."""
        return "/".join(map(self.named, self.names[len(self.names) - level :]))


def location_above(store_like: Any, store: Store, level: int) -> Any:
    """Return what a user might have named to open a store that is rooted so many levels above what was."""
    if isinstance(store, LocalStore):
        given = Path(store_like) if isinstance(store_like, str | os.PathLike) else store.root
        is_spelt = level < len(given.parts) and {"..", "file:"}.isdisjoint(given.parts)
        return given.parents[level - 1] if is_spelt else store.root
    if not isinstance(store_like, str):
        return store
    links = store_like.split("::")
    at = next(n for n, link in enumerate(links) if Link.parse(link).scheme not in CACHES)
    scheme, colon, path = links[at].partition("://")
    links[at] = scheme + colon + "/".join(path.rstrip("/").split("/")[:-level])
    return "::".join(links)


def _is_in_group(name: str) -> bool:
    """Tell whether what has a name may be a group in another one, and no store on its own."""
    return is_node_name(name) and "\\" not in name and not name.lower().endswith(_ROOT)


def _names_in(path: str) -> Names:
    path = path.strip("/")
    return tuple(path.split("/")) if path else ()


def _address_of(store: Store) -> Address | None:
    # Of these classes and no others: what is derived from them, or wraps them, may be meant to be
    # all there is.
    if type(store) is LocalStore:
        address = _of_folder(store.root, lambda path: LocalStore(path, read_only=True))
        return replace(address, rules_out=_is_folder_without_group(store.root))
    if type(store) is FsspecStore:
        return _of_fsspec(store)
    if type(store).__module__ == "zarr.storage._obstore":
        return _of_obstore(store)
    return None


def _of_folder(folder: Path, opened: Callable[[Path], Store]) -> Address:
    folder = folder.resolve() if ".." in folder.parts else folder.absolute()
    return Address(folder.parts[1:], lambda names: opened(Path(folder.anchor, *names)))


def _is_folder_without_group(folder: Path) -> Callable[[Names], bool]:
    def has_no_file(names: Names) -> bool:
        root = folder.absolute().anchor
        return not any(os.path.exists(os.path.join(root, *names, it)) for it in _GROUP_FILES)

    return has_no_file


def _of_fsspec(store: FsspecStore) -> Address | None:
    server = _SERVER.fullmatch(store.path)
    if server is not None:
        first, names = server[1], _names_in(server[2] or "")
    elif "://" in store.path or "?" in store.path:  # of an unknown kind; signed, or of a version
        return None
    else:
        first, names = "", _names_in(store.path)
        if ARCHIVES.isdisjoint(protocols_of(store)):  # a bucket, or the first folder
            first, names = "/" * store.path.startswith("/") + "".join(names[:1]), names[1:]

    def rooted(below: Names) -> Store:
        path = "/".join([first, *below] if first else below)
        return FsspecStore(
            store.fs, read_only=True, path=path, allowed_exceptions=store.allowed_exceptions
        )

    return Address(names, rooted, named=str if server is None else _decoded)


def _decoded(name: str) -> str:
    """Return a segment of a URL as the name it stands for, if it is the same when asked for by that."""
    decoded = unquote(name)
    return name if {"%", "/", "?", "#"} & {*decoded} else decoded


def _of_obstore(store: Any) -> Address | None:
    """Return the address of the prefix of a store of obstore, which need not be installed."""
    inner = store.store
    kind: Any = type(inner)
    access = ("client_options", "retry_config", "credential_provider", "config")
    same = {name: getattr(inner, name) for name in access if hasattr(inner, name)}
    reopened: Callable[..., Store] = partial(store.__class__, read_only=True)
    server = _SERVER.fullmatch(getattr(inner, "url", ""))
    if server is not None:
        return Address(
            _names_in(server[2] or ""),
            lambda names: reopened(kind("/".join([server[1], *names]), **same)),
            named=_decoded,
        )
    if kind.__name__ == "LocalStore":
        return _of_folder(inner.prefix or Path("/"), lambda path: reopened(kind(path)))
    if not hasattr(inner, "prefix"):  # memory
        return None
    return Address(
        _names_in(inner.prefix or ""),
        lambda names: reopened(kind(prefix="/".join(names) or None, **same)),
    )
