"""The view of a group or array that `check` of a handler and all rules are given: its metadata, and nodes around it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from zarr_xgroup.conventions.array import Memo
from zarr_xgroup.conventions.declaring import (
    CONVENTIONS_KEY,
    Convention,
    declared_by,
    declared_by_root,
)
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.documents import Document, JsonObject
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.metadata.tree import Tree


class CheckedStore:
    """A store that is checked: its nodes, each made once.

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
        self.failed: set[type[Convention]] = set()
        self.groups = groups
        self._declared: dict[tuple[type[Convention], Node], bool] = {}
        self._nodes: dict[str, CheckedNode | None] = {}

    def node(self, path: str) -> CheckedNode | None:
        """Return the group or array at a path, None if there is none or its document cannot be used."""
        if path not in self._nodes:
            node = Node(0, path)
            document = self.tree.known(node)
            self._nodes[path] = None if document is None else CheckedNode(self, node, document)
        return self._nodes[path]

    def nodes(self) -> Iterator[CheckedNode]:
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
        if self.assumed or (root is not None and declared_by_root(root.attributes).identities):
            return True
        above = () if top is None else top.ancestors()
        return any(CONVENTIONS_KEY in node.attributes for node in (*above, *self.nodes()))


@dataclass(frozen=True, eq=False)
class CheckedNode:
    """A group or array of the store that `zarr_xgroup.check` looks at.

    Attributes
    ----------
    store : CheckedStore
        The store.
    node : Node
        The store and path of the group or array; as text the absolute path.
    document : Document
        The metadata document of the group or array, in the shape of a ``zarr.json``.
    """

    store: CheckedStore
    node: Node
    document: Document

    @property
    def is_array(self) -> bool:
        """Whether the node is an array, and not a group."""
        return bool(self.document.is_array)

    @property
    def attributes(self) -> JsonObject:
        """The attributes of the node, not to be changed."""
        return self.document.attributes

    @property
    def all_attributes(self) -> Fragment:
        """The attributes of the node as one JSON object, with its place."""
        return Fragment(self.node, ("attributes",), self.attributes)

    def attribute(self, key: str) -> Fragment | None:
        """Return an attribute of the node with its place, None if there is none of the name or it is null."""
        value = self.attributes.get(key)
        return None if value is None else Fragment(self.node, ("attributes", key), value)

    @cached_property
    def dims(self) -> tuple[str | None, ...]:
        """The dimension names in the metadata of an array; None for an axis without a name."""
        return declared_dimensions(self.document)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array."""
        return tuple(self.document["shape"])

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes of an array's named dimensions, by name."""
        named = zip(self.dims, self.shape, strict=True)
        return {name: size for name, size in named if name is not None}

    @property
    def group(self) -> CheckedNode | None:
        """The group that contains the node, None for the root."""
        return self.store.node(self.node.group.path) if self.node.path else None

    def ancestors(self) -> Iterator[CheckedNode]:
        """Yield the groups that contain the node, the nearest first."""
        groups = (self.store.node(node.path) for node in self.node.ancestors())
        return (group for group in groups if group is not None)

    def members(self) -> Sequence[str]:
        """Return the names of the groups and arrays directly in a group."""
        return self.store.tree.names(self.node)

    def member(self, path: str) -> CheckedNode | None:
        """Return the group or array at a path below a group, None if there is none or its document cannot be used."""
        return self.store.node(join_path(self.node.path, path))

    @cached_property
    def arrays(self) -> tuple[CheckedNode, ...]:
        """The arrays directly in a group."""
        documents = self.store.tree.arrays(self.node).items()
        return tuple(
            CheckedNode(self.store, self.node.child(name), document) for name, document in documents
        )

    def below(self) -> Iterator[CheckedNode]:
        """Yield all groups and arrays below a group, at any depth."""
        for node in self.store.tree.subtree(self.node):
            group = self.store.node(node.path)
            if group is not None:
                if node != self.node:
                    yield group
                yield from group.arrays

    def is_declared(self, convention: type[Convention]) -> bool:
        """Tell whether the node, a group that contains it, or the root for the whole store declares a convention."""
        # Each node on the way up gets the answer of the one where the search ends: many nodes share their ancestors.
        known, undeclared = self.store._declared, []
        for checked in chain((self,), self.ancestors()):
            key = convention, checked.node
            found = known[key] if key in known else convention in declared_by(checked.attributes)
            if found or key in known:
                break
            undeclared.append(key)
        else:
            root = self.store.node("")
            found = root is not None and convention in declared_by_root(root.attributes)
        known.update(dict.fromkeys(undeclared, found))
        return found
