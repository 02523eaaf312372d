"""Paths of nodes in a store: without slashes at the ends; the path of the root is ""."""

import os
import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import PurePosixPath
from urllib.parse import unquote

import msgspec

from zarr_xgroup.errors import XGroupPathError
from zarr_xgroup.i18n import _

_SEPARATORS = re.compile(f"[/{re.escape(os.sep)}]")
_SPECIAL = re.compile(r"[%;/\\]")
#: Paths without special characters, as nearly all paths are.
_ORDINARY = re.compile(r"[a-zA-Z0-9_][\w.\-]*(?:/[a-zA-Z0-9_][\w.\-]*)*", re.ASCII)
_ORDINARY_LINES = re.compile(r"(?:[a-zA-Z0-9_][\w.\-]*[/\n])*+", re.ASCII)
#: How many times a name is percent-decoded at most.
_MOST_ENCODED = 8


def normalize_path(path: str | None, *, is_served: bool = True) -> str:
    """Return a node's path without leading, trailing or doubled slashes (the root is "").

    Parameters
    ----------
    path : str or None
        The path that the user gave.
    is_served : bool
        Whether a server may interpret the path. If not, names are literal.

    Raises
    ------
    XGroupPathError
        If a segment is not a valid name of a node.
    """
    normalized = "/".join(segment for segment in (path or "").split("/") if segment)
    if not is_node_path(normalized, is_served=is_served):
        message = _("{path!r} is not a valid path of a group: '.' and '..' are not allowed")
        if is_node_path(normalized, is_served=False):
            message = _("{path!r} is not opened: a server may interpret it as a different path")
        raise XGroupPathError(message.format(path=path))
    return normalized


def is_node_path(path: str, *, is_served: bool = True, splits_at_backslash: bool = False) -> bool:
    """Return whether a path is a valid path of a node: each segment is a valid name.

    Parameters
    ----------
    path : str
        The path.
    is_served : bool
        Whether a server may interpret the path. If not, names are literal.
    splits_at_backslash : bool
        Whether zarr would read the chunks of a node with a backslash in its name from a different path.
    """
    if _ORDINARY.fullmatch(path):
        return True
    if splits_at_backslash and "\\" in path:
        return False
    is_name = is_node_name if is_served else is_plain_name
    return not path or all(map(is_name, path.split("/")))


def are_ordinary_paths(paths: Collection[str]) -> bool:
    """Return whether no path has special characters: then each is a valid path of a node, in its normal form."""
    lines = "".join(f"{path}\n" for path in paths)
    return lines.count("\n") == len(paths) and _ORDINARY_LINES.fullmatch(lines) is not None


def is_plain_name(segment: str) -> bool:
    """Return whether a segment of a path is a valid name of a node in a store with literal names.

    It must not be empty, ``.`` or ``..`` (Zarr v3 core specification, "Node names"), nor several segments on this
    operating system.
    """
    return {"", ".", ".."}.isdisjoint(_SEPARATORS.split(segment))


def is_node_name(segment: str) -> bool:
    """Return whether a segment of a path is a valid name of a node on servers of all kinds.

    It must not be empty, ``.`` or ``..`` (Zarr v3 core specification, "Node names"), nor a text that a server may
    interpret as these. Servers decode percent-encoded text, servers behind them may decode it again, some read
    backslashes as slashes, and some remove the text after a semicolon.
    """
    if _SPECIAL.search(segment) is None:
        return segment not in ("", ".", "..")
    decoded = decoded_to_the_end(segment)
    parts = (part.partition(";")[0] for part in decoded.split("\\"))
    has_slash = "/" in decoded or decoded.count("\\") > segment.count("\\")
    return not has_slash and {".", ".."}.isdisjoint(parts)


def decoded_to_the_end(text: str) -> str:
    """Return a text percent-decoded until nothing changes; ``..`` if that takes too many steps."""
    for _attempt in range(_MOST_ENCODED):
        decoded = unquote(text)
        if decoded == text:
            return text
        text = decoded
    return ".."


def join_path(parent: str, name: str) -> str:
    """Return the path of the node with a name (or relative path) below the group at `parent`."""
    return f"{parent}/{name}" if parent and name else parent or name


def ancestor_paths(path: str) -> Iterator[str]:
    """Yield the paths of the groups that contain a node, except the root, outermost first."""
    return accumulate(path.split("/")[:-1], join_path)


def is_below(path: str, group: str) -> bool:
    """Return whether a path is the path of a group, or below it."""
    return not group or path == group or path.startswith(f"{group}/")


def relative_path(base: str, path: str) -> str | None:
    """Return the path that a relative path from a base group refers to, None if it is above the root.

    Parameters
    ----------
    base : str
        The path of a group, without leading slash.
    path : str
        The relative path. ``.`` and ``..`` are as in RFC 3986, section 5.2.4, but never clamped at the root.
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


def path_in_tree(path: str, top: str) -> str:
    """Return the path of a group in the tree whose root is the group at `top`, with a leading slash."""
    return f"/{path[len(top) :].lstrip('/')}"


class GroupFilter(msgspec.Struct, frozen=True):
    """The groups of a tree that the option `group_filter` chooses.

    Paths match as in `PurePosixPath.match` of Python 3.13, in every version of Python. The root never matches.

    Attributes
    ----------
    pattern : str
        With a leading slash it is compared with the whole path in the tree, otherwise with the end of that path.
    top : str
        The path of the root of the tree in the store.
    """

    pattern: str
    top: str

    def matches(self, path: str) -> bool:
        """Return whether the group at a path matches."""
        names, segments = self._parts(path)
        if segments[0].startswith("/"):
            return len(names) == len(segments) > 1 and self.leads_to(path)
        return len(names) > len(segments) and all(map(fnmatchcase, names[::-1], segments[::-1]))

    def leads_to(self, path: str) -> bool:
        """Return whether the group at a path, or a group below it, can match."""
        names, segments = self._parts(path)
        is_near = len(names) <= len(segments) and all(map(fnmatchcase, names, segments))
        return is_near or not segments[0].startswith("/")

    def _parts(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the segments of a path in the tree, of which the root "/" is the first, and those of the pattern."""
        in_tree = PurePosixPath(path_in_tree(path, self.top))
        return in_tree.parts, PurePosixPath(self.pattern).parts
