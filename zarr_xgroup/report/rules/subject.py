"""What rules are given: a node of the store that is checked, and its surroundings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from zarr_xgroup.conventions.array import CONVENTIONS_KEY, Memo
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.declaring import is_declared, is_declared_of_store
from zarr_xgroup.conventions.multiscales import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.multiscales import Layout, Level, Places, level_in
from zarr_xgroup.conventions.registry import Nz, declarable
from zarr_xgroup.metadata.cf import candidate_paths
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.documents import Document, JsonObject
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.metadata.tree import Tree


class Checked:
    """A store that is checked: all that is known of it.

    Parameters
    ----------
    tree : Tree
        What is known; number 0 is the store.
    group : str
        The path of the group that is checked, with all below it.
    assumed : collection of str
        The conventions that are assumed of all arrays.

    Attributes
    ----------
    failed : set of handler classes
        Third parties' handlers whose rules raised something: they are not asked again.
    memo : Memo
        What was found out before.
    declared : dict
        Whether conventions are declared by nodes or groups that these are in, as far as was asked.
    """

    def __init__(self, tree: Tree, group: str, assumed: Collection[str] = ()) -> None:
        self.tree = tree
        self.assumed = assumed
        self._group = group
        self.failed: set[type[ConventionHandler]] = set()
        self.memo = Memo(tree)
        self.declared: dict[tuple[type[ConventionHandler], Node], bool] = {}
        self._subjects: dict[str, Subject | None] = {}

    def subject(self, path: str) -> Subject | None:
        """Return a node by its path, None where there is none that can be used."""
        if path not in self._subjects:
            node = Node(0, path)
            document = self.tree.known(node)
            found = None if document is None else Subject(self, node, document)
            self._subjects[path] = found
        return self._subjects[path]

    def subjects(self) -> Iterator[Subject]:
        """Yield the groups that are checked, parents first, each before its arrays."""
        for node in self.tree.subtree(Node(0, self._group)):
            group = self.subject(node.path)
            if group is not None:
                yield group
                yield from group.arrays

    @cached_property
    def by_name(self) -> Mapping[str, list[str]]:
        """The absolute paths of what is checked, by the last segment."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for subject in self.subjects():
            found[subject.node.name].append(str(subject.node))
        return found

    @cached_property
    def described(self) -> tuple[str, ...]:
        """How the attributes of conventions begin that are described."""
        found = (it for convention in declarable() for it in convention.described)
        return tuple(it.prefix or it.key for it in found)

    @cached_property
    def declares_something(self) -> bool:
        """Whether any node of what is checked, or a group above it, declares a convention.

        So does a root that names NZ-1.0, and whoever assumes one.
        """
        if self.assumed or self.is_declared_by_root(Nz):
            return True
        top = self.subject(self._group)
        above = [] if top is None else top.ancestors()
        return any(CONVENTIONS_KEY in it.attributes for it in (*above, *self.subjects()))

    def is_declared_by_root(self, convention: type[ConventionHandler]) -> bool:
        """Tell whether the root declares a convention for the whole store."""
        root = self.subject("")
        return root is not None and is_declared_of_store(convention, root.attributes)


@dataclass(frozen=True, eq=False)
class Subject:
    """A node of the store that is checked.

    Attributes
    ----------
    store : Checked
        The store.
    node : Node
        The place of the node.
    document : Document
        Its metadata, in the shape of a v3 document.
    """

    store: Checked
    node: Node
    document: Document

    @property
    def is_array(self) -> bool:
        """Whether it is an array, else it is a group."""
        return bool(self.document.is_array)

    @property
    def attributes(self) -> JsonObject:
        """Its attributes, not to be changed."""
        return self.document.attributes

    def attribute(self, key: str) -> Fragment | None:
        """Return one of its attributes, None where there is none or it is null."""
        value = self.attributes.get(key)
        return None if value is None else Fragment(self.node, ("attributes", key), value)

    @property
    def all_attributes(self) -> Fragment:
        """Its attributes as one value."""
        return Fragment(self.node, ("attributes",), self.attributes)

    @property
    def group(self) -> Subject | None:
        """The group that it is in, None for the root."""
        return self.store.subject(self.node.group.path) if self.node.path else None

    def ancestors(self) -> Iterator[Subject]:
        """Yield the groups that it is in, the nearest first."""
        for node in self.node.ancestors():
            subject = self.store.subject(node.path)
            if subject is not None:
                yield subject

    @cached_property
    def layout(self) -> Layout | None:
        """The layout of a pyramid that a group has."""
        written = self.attribute(LAYOUT.key)
        is_one = written is not None and isinstance(written.value, OBJECT)
        return Layout.read(written) if written is not None and is_one else None

    @cached_property
    def level(self) -> Level | None:
        """What the nearest layout that has an array says of it."""
        layouts = ((it.node, it.layout) for it in self.ancestors())
        return level_in(((node, it) for node, it in layouts if it is not None), self.node)

    @cached_property
    def places(self) -> Places:
        """Where attributes about an array may stand."""
        return Places.about(self.node, self.node.group, self.level, self._attributes_of)

    def _attributes_of(self, node: Node) -> Fragment | None:
        found = self if node == self.node else self.store.subject(node.path)
        return None if found is None else found.all_attributes

    @cached_property
    def arrays(self) -> tuple[Subject, ...]:
        """The arrays directly in a group."""
        members = self.store.tree.arrays(self.node).items()
        return tuple(Subject(self.store, self.node.child(name), it) for name, it in members)

    @cached_property
    def names_by_shape(self) -> Mapping[tuple[int, ...], tuple[str | None, ...]]:
        """The dimensions of the first array of a group of each shape that names all of them."""
        named = (it for it in reversed(self.arrays) if None not in it.dims)
        return {tuple(it.document["shape"]): it.dims for it in named}

    def named(self, name: str) -> Subject | None:
        """Return the array that a name or path in one of its CF attributes leads to."""
        found = map(self.store.subject, candidate_paths(name, self.node.group.path))
        return next((it for it in found if it is not None and it.is_array), None)

    def members(self) -> Sequence[str]:
        """Return the names of the groups and arrays directly in a group."""
        return self.store.tree.names(self.node)

    def member(self, path: str) -> Subject | None:
        """Return what is at a path below a group, None where there is nothing that can be read."""
        return self.store.subject(join_path(self.node.path, path))

    def below(self) -> Iterator[Subject]:
        """Yield all nodes below a group."""
        for node in self.store.tree.subtree(self.node):
            group = self.store.subject(node.path)
            if group is not None:
                if node != self.node:
                    yield group
                yield from group.arrays

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array."""
        return tuple(self.document["shape"])

    @cached_property
    def dims(self) -> tuple[str | None, ...]:
        """The names that an array's document gives its dimensions."""
        return declared_dimensions(self.document)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes of those of its dimensions that have a name."""
        named = zip(self.dims, self.document["shape"], strict=True)
        return {name: size for name, size in named if name is not None}

    def is_declared(self, convention: type[ConventionHandler]) -> bool:
        """Tell whether the node or a group that it is in declares a convention."""
        known = self.store.declared
        passed = []
        is_it = False
        for it in chain((self,), self.ancestors()):
            key = convention, it.node
            is_it = known[key] if key in known else is_declared(convention, it.attributes)
            if is_it or key in known:
                break
            passed.append(key)
        is_it = is_it or self.store.is_declared_by_root(convention)
        known.update(dict.fromkeys(passed, is_it))
        return is_it
