"""Paths of nodes in a store: without slashes at the ends, the root is ""."""

from collections.abc import Iterator
from itertools import accumulate

from zarr_xgroup.errors import XGroupPathError
from zarr_xgroup.i18n import _


def normalize_path(path: str | None) -> str:
    """Return a node's path without leading, trailing or doubled slashes (the root is "").

    Raises
    ------
    XGroupPathError
        If a segment is ``.`` or ``..``, which cannot be the name of a node (Zarr v3 core
        specification, "Node names").
    """
    segments = [segment for segment in (path or "").split("/") if segment]
    if {".", ".."} & set(segments):
        message = _("{path!r} is not the path of a group: '.' and '..' cannot name one").format(
            path=path
        )
        raise XGroupPathError(message)
    return "/".join(segments)


def is_node_path(path: str) -> bool:
    """Tell whether a path can be that of a node: no segment is empty, ``.`` or ``..``."""
    return not path or {"", ".", ".."}.isdisjoint(path.split("/"))


def join_path(parent: str, name: str) -> str:
    """Return the path of what is called `name` below the group at `parent`."""
    return f"{parent}/{name}" if parent and name else parent or name


def ancestor_paths(path: str) -> Iterator[str]:
    """Yield the paths of the groups that a node is in, but for the root, outermost first."""
    return accumulate(path.split("/")[:-1], join_path)


def is_below(path: str, group: str) -> bool:
    """Tell whether a path is that of a group or of something below it."""
    return not group or path == group or path.startswith(f"{group}/")


def relative_path(base: str, path: str) -> str | None:
    """Return where a relative path leads from a base group, or None if above the root.

    Parameters
    ----------
    base : str
        Path of a group, without leading slash.
    path : str
        Relative path; ``.`` and ``..`` segments as in RFC 3986, section 5.2.4, but never
        clamped at the root.
    """
    segments = base.split("/") if base else []
    for segment in path.rstrip("/").split("/"):
        if segment == "..":
            if not segments:
                return None
            segments.pop()
        elif segment != ".":
            segments.append(segment)
    return "/".join(segments)
