"""Paths of nodes in a store: without slashes at the ends, the root is ""."""

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


def join_path(parent: str, name: str) -> str:
    """Return the path of what is called `name` below the group at `parent`."""
    return f"{parent}/{name}" if parent and name else parent or name
