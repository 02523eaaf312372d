"""The input of the oracles: the nodes of a store by path."""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

#: Paths have no leading slash. A group is a dict of its attributes.
Nodes: TypeAlias = Mapping[str, Any]


def is_array(nodes: Nodes, path: str) -> bool:
    return path in nodes and hasattr(nodes[path], "dims")


def attributes(nodes: Nodes, path: str) -> Mapping[str, Any]:
    node = nodes.get(path, {})
    attrs: Mapping[str, Any] = node.attrs if hasattr(node, "dims") else node
    return attrs


def dims_of(nodes: Nodes, path: str) -> tuple[str, ...]:
    return tuple(map(str, nodes[path].dims or ()))


def sizes_of(nodes: Nodes, path: str) -> dict[str, int]:
    return dict(zip(dims_of(nodes, path), nodes[path].values.shape, strict=True))


def parent(path: str) -> str:
    return posixpath.dirname(path)


def name_of(path: str) -> str:
    return posixpath.basename(path)


def upwards(group: str) -> Iterator[str]:
    """Yield a group and its ancestors, up to the root."""
    while group:
        yield group
        group = parent(group)
    yield ""


def arrays_in(nodes: Nodes, group: str) -> list[str]:
    """Return the paths of the direct child arrays of a group, sorted."""
    return sorted(path for path in nodes if is_array(nodes, path) and parent(path) == group)


def joined(base: str, path: str) -> str | None:
    """Return a path relative to a node as an absolute one, or None if it is above the root."""
    steps = [] if path.startswith("/") else base.split("/") if base else []
    for step in path.split("/"):
        if step == "..":
            if not steps:
                return None
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)
