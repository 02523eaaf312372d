"""Which node a reference means: the first candidate that is there and fits."""

from collections.abc import Callable
from typing import Any

from zarr_xgroup.tests.oracles.stores import Nodes, attributes, is_array, joined, parent


def candidates(nodes: Nodes, path: str, array: str, written: str) -> list[str]:
    """Return the nodes that a path may mean: from the group of an array, from the array, then
    from where it is written, if that is elsewhere. What is above the root is none.
    """
    bases = [parent(array), array]
    if written != array:
        bases += (
            [parent(written), written] if is_array(nodes, written) else [written, parent(written)]
        )
    places = [joined("" if path.startswith("/") else base, path) for base in bases]
    return list(dict.fromkeys(it for it in places if it is not None))


def target(
    nodes: Nodes,
    reference: dict[str, Any],
    array: str,
    written: str | None = None,
    fits: Callable[[str], bool] | None = None,
) -> str | None:
    """Return the first candidate that is there and fits, which any array does by default."""
    inner = reference.get("ref", reference)
    found = candidates(nodes, inner["node"], array, array if written is None else written)
    fitting = fits or (lambda path: is_array(nodes, path))
    return next((it for it in found if it in nodes and fitting(it)), None)


def value(nodes: Nodes, path: str, pointer: str) -> Any:
    """Return what a JSON pointer into the document of a node leads to; None where nothing is."""
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
