"""The store that `check` checks, with its groups and arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from zarr_xgroup.conventions.array import NodeView, declared_for_store
from zarr_xgroup.conventions.declaring import CONVENTIONS_KEY
from zarr_xgroup.conventions.registry import Handler
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import Tree


class CheckedStore:
    """The groups and arrays of a store that is checked.

    Parameters
    ----------
    tree : Tree
        The metadata documents of the store, with number 0, and of the stores to which it refers.
    groups : sequence of Node
        The groups to check with their arrays, parents first.
    assumed : collection of str
        The names of conventions that the user assumes for all arrays.

    Attributes
    ----------
    failed : set of handler classes
        Handlers of plug-ins whose `check` raised an error. It is not called again.
    faulty : set of str
        The paths of arrays that cannot be decoded.
    """

    def __init__(self, tree: Tree, groups: Sequence[Node], assumed: Collection[str] = ()) -> None:
        self.tree = tree
        self.assumed = assumed
        self.failed: set[Handler] = set()
        self.faulty: set[str] = set()
        self.groups = groups
        self._nodes: dict[str, NodeView | None] = {}

    def node(self, path: str) -> NodeView | None:
        """Return the group or array at a path, None if it does not exist or its document is unusable."""
        if path not in self._nodes:
            node = Node(0, path)
            document = self.tree.document_if_read(node)
            self._nodes[path] = (
                None
                if document is None
                else NodeView(*(node, document, self.tree), assumed=self.assumed, only_known=True)
            )
        return self._nodes[path]

    def nodes(self) -> Iterator[NodeView]:
        """Yield the groups and arrays to check: parents first, each group before its arrays."""
        for node in self.groups:
            group = self.node(node.path)
            if group is not None:
                yield group
                yield from group.arrays

    @cached_property
    def by_name(self) -> Mapping[str, list[str]]:
        """The absolute paths of the checked groups and arrays, by name (the last segment of the path)."""
        paths: defaultdict[str, list[str]] = defaultdict(list)
        for checked in self.nodes():
            paths[checked.node.name].append(str(checked.node))
        return paths

    @cached_property
    def declares_something(self) -> bool:
        """Whether any checked node or a group above declares a convention, the root names NZ-1.0, or one is assumed."""
        root, top = self.node(""), self.node(self.groups[0].path)
        if self.assumed or (root is not None and declared_for_store(root).identities):
            return True
        above = () if top is None else top.ancestors()
        return any(CONVENTIONS_KEY in node.attributes for node in (*above, *self.nodes()))
