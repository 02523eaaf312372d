"""The store that `check` looks at: its groups and arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from zarr_xgroup.conventions.array import Memo, NodeView
from zarr_xgroup.conventions.declaring import CONVENTIONS_KEY
from zarr_xgroup.conventions.registry import Handler
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import Tree


class CheckedStore:
    """A store that is checked: its groups and arrays.

    Parameters
    ----------
    tree : Tree
        The metadata documents of the store, which has number 0, and of the stores that it refers to.
    groups : sequence of Node
        The groups that are checked with their arrays, parents first.
    assumed : collection of str
        The names of conventions that the user assumes for all arrays.

    Attributes
    ----------
    memo : Memo
        A cache for functions that rules call.
    failed : set of handler classes
        Handlers of plug-ins whose `check` raised an error: they are not asked again.
    """

    def __init__(self, tree: Tree, groups: Sequence[Node], assumed: Collection[str] = ()) -> None:
        self.tree = tree
        self.assumed = assumed
        self.memo = Memo(tree)
        self.failed: set[Handler] = set()
        self.groups = groups
        self._nodes: dict[str, NodeView | None] = {}

    def node(self, path: str) -> NodeView | None:
        """Return the group or array at a path, None if there is none or its document cannot be used."""
        if path not in self._nodes:
            node = Node(0, path)
            document = self.tree.known(node)
            self._nodes[path] = (
                None
                if document is None
                else NodeView(
                    *(node, document, self.tree, self.memo), assumed=self.assumed, only_known=True
                )
            )
        return self._nodes[path]

    def nodes(self) -> Iterator[NodeView]:
        """Yield the groups and arrays that are checked: parents first, each group before its arrays."""
        for node in self.groups:
            group = self.node(node.path)
            if group is not None:
                yield group
                yield from group.arrays

    @cached_property
    def by_name(self) -> Mapping[str, list[str]]:
        """The absolute paths of the checked groups and arrays, by name (the last segment of the path)."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for checked in self.nodes():
            found[checked.node.name].append(str(checked.node))
        return found

    @cached_property
    def declares_something(self) -> bool:
        """Whether any checked node or a group above declares a convention, the root names NZ-1.0, or one is assumed."""
        root, top = self.node(""), self.node(self.groups[0].path)
        if self.assumed or (root is not None and root.declared_for_store().identities):
            return True
        above = () if top is None else top.ancestors()
        return any(CONVENTIONS_KEY in node.attributes for node in (*above, *self.nodes()))
