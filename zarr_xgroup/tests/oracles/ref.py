"""Oracle for references: the target is the first candidate that exists and fits."""

from collections.abc import Callable
from typing import Any

from zarr_xgroup.tests.oracles.stores import Nodes, attributes, is_array, joined, parent


def candidates(nodes: Nodes, path: str, array: str, written: str) -> list[str]:
    """Return the possible targets of a path: relative to the group of an array, to the array, then
    to the node where it is written, if that is a different one. Paths above the root are omitted.
    """
    bases = [parent(array), array]
    if written != array:
        bases += (
            [parent(written), written] if is_array(nodes, written) else [written, parent(written)]
        )
    paths = [joined("" if path.startswith("/") else base, path) for base in bases]
    return list(dict.fromkeys(path for path in paths if path is not None))


def target(
    nodes: Nodes,
    reference: dict[str, Any],
    array: str,
    written: str | None = None,
    fits: Callable[[str], bool] | None = None,
) -> str | None:
    """Return the first candidate that exists and fits. By default any array fits."""
    inner = reference.get("ref", reference)
    paths = candidates(nodes, inner["node"], array, array if written is None else written)
    fitting = fits or (lambda path: is_array(nodes, path))
    return next((path for path in paths if path in nodes and fitting(path)), None)


def value(nodes: Nodes, path: str, pointer: str) -> Any:
    """Return the value at a JSON pointer in the document of a node, or None if there is none."""
    found: Any = {"attributes": attributes(nodes, path)}
    if is_array(nodes, path):
        found["shape"] = list(nodes[path].values.shape)
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(key)] if key.isdigit() and int(key) < len(found) else None
        else:
            found = found.get(key) if hasattr(found, "get") else None
    return found
