"""The tree of documents: everything known about the stores of an open call.

Interpretation uses only the tree. If a document has not been read yet, the tree returns None for it, and records it in
`Tree.unread`. `zarr_xgroup.storage.library.Library.ask` discards an interpretation that needed an unread document,
reads all recorded documents at once, and interprets again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import (
    Callable,
    Collection,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
)
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from zarr_xgroup.errors import XGroupError, XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import (
    DecodedTexts,
    Document,
    Found,
    Text,
    ZarrFormat,
    node_document,
)
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import (
    ancestor_paths,
    are_ordinary_paths,
    is_below,
    is_node_path,
)

T = TypeVar("T")

#: How many nested groups without their own document a path of consolidated metadata may add; and how many all paths
#: may add together, for each node in the metadata. This limits the memory for hostile, very deep paths, which is
#: quadratic in the depth.
_MOST_IMPLIED = 100
_IMPLIED_BY_EACH = 4


class StoreRecord(msgspec.Struct, frozen=True):
    """What the tree knows about a store of an open call.

    Attributes
    ----------
    name : str
        The name in messages.
    zarr_format : {2, 3}
        The format of all nodes.
    is_foreign : bool
        Whether the store was opened for a reference.
    can_have : callable
        Returns whether a path is a valid path of a node of the store.
    consolidated_at : str or None
        The path of the group whose consolidated metadata contain all nodes below it; None if there is no such group.
    """

    name: str
    zarr_format: ZarrFormat
    is_foreign: bool = False
    can_have: Callable[[str], bool] = is_node_path
    consolidated_at: str | None = None

    def is_consolidated(self, path: str) -> bool:
        """Return whether consolidated metadata show which node is at a path, or that there is none."""
        return self.consolidated_at is not None and is_below(path, self.consolidated_at)


class Unread(NamedTuple):
    """A document, the members of a group, or a foreign store that is needed but was not read yet.

    Attributes
    ----------
    node : Node
        The node.
    of_members : bool
        True if the names of its members are needed, False if its document is.
    uri : str or None
        If not None, a reference in the node's store points to the store at this URI, which is not open yet.
        The path of the node is then a path in that foreign store.
    """

    node: Node
    of_members: bool = False
    uri: str | None = None


class Memo:
    """A cache of function results during an open call.

    Parameters
    ----------
    tree : Tree
        The metadata documents. A result that needed an unread document is not kept: the function is called again when
        the document has been read.
    """

    def __init__(self, tree: Tree) -> None:
        self._unread = tree.unread
        self._results: dict[Hashable, Any] = {}

    def __call__(self, key: Hashable, function: Callable[..., T], *values: Any) -> T:
        """Return the result of a function for values, from the cache if the function was called with this key before.

        Parameters
        ----------
        key : hashable
            The key, which must determine the result. Different functions may have equal keys.
        function : callable
            The function. It must not be a method of the object that has this memo: the reference cycle would keep all
            results in memory until Python's garbage collector runs.
        *values : object
            The arguments.
        """
        key = (function, key)
        if key in self._results:
            known: T = self._results[key]
            return known
        before = len(self._unread)
        result = function(*values)
        if len(self._unread) == before:
            self._results[key] = result
        return result

    def upwards(self, key: Hashable, function: Callable[[Node, T | None], T], group: Node) -> T:
        """Return the result of a function of a group and of the function's result for the group above.

        The second argument is None for the root. The results for all groups above are kept, too.

        Parameters
        ----------
        key : hashable
            The key, which must determine the result together with the group.
        function : callable
            The function; it is not kept.
        group : Node
            The group.
        """
        unknown, before = [], len(self._unread)
        above: Any = None
        # Up to the nearest group with a result, then down again: groups may be nested too deep for recursion.
        for node in chain([group], group.ancestors()):
            if (above := self._results.get((key, node))) is not None:
                break
            unknown.append(node)
        for node in reversed(unknown):
            above = function(node, above)
            if len(self._unread) == before:
                self._results[key, node] = above
        result: T = above
        return result

    def forget(self) -> None:
        """Drop all results."""
        self._results.clear()


class Tree:
    """The documents of nodes that have been read. Only `zarr_xgroup.storage` adds to it (methods `learn_*`).

    Attributes
    ----------
    stores : list of StoreRecord
        The stores, by number; 0 is the store that the user opened.
    unread : list of Unread
        The items that were needed but not read yet, in the order of the queries. Only the tree and `Library` use it.
    memo : Memo
        The cache of a call.
    problems : dict of Node to XGroupError
        The problems of existing nodes whose document, attributes or members cannot be used. The tree has no document,
        a document without attributes, or no members for such a node.
    links : dict
        The root of a foreign store, or the error why it cannot be opened, by the number of the referring store and the
        URI.
    """

    def __init__(self) -> None:
        self.stores: list[StoreRecord] = []
        self.unread: list[Unread] = []
        self.problems: dict[Node, XGroupError] = {}
        self.links: dict[tuple[int, str], Node | XGroupStoreError] = {}
        #: The nodes with problems, by the group that contains them and by the node itself, which may be a group.
        self._problems_near: defaultdict[Node, list[Node]] = defaultdict(list)
        self._decoded: DecodedTexts = {}
        #: None for a node that does not exist or cannot be used. A consolidated document stays JSON text until it is
        #: needed: most are not.
        self._nodes: dict[Node, Document | Found | Text | None] = {}
        #: The names of the nodes in a group; and all names in its listing.
        self._members: dict[Node, list[str]] = {}
        self._listed: dict[Node, frozenset[str]] = {}
        self._deepest_listed = 0
        #: The groups that contain a node of a name, by store and name; None if it has to be computed again.
        self._groups_by_member: defaultdict[tuple[int, str], list[Node]] | None = None
        self.memo = Memo(self)

    # The queries of interpretation.

    def document(self, node: Node) -> Document | None:
        """Return the document of a node; None if it has no usable document, or if the document is unread, which is recorded."""
        document = self.document_if_read(node)
        if document is None and not self.is_known(node):
            self.unread.append(Unread(node))
        return document

    def document_if_read(self, node: Node) -> Document | None:
        """Return the document of a node; None if it has no usable document, or if the document is unread."""
        content = self._nodes.get(node)
        if content is None or isinstance(content, Document):
            return content
        return self.learn_node(node, content)

    def is_known(self, node: Node) -> bool:
        """Return whether the document of a node is known, or that it has none.

        A path that is not valid for nodes of the store has none: no request is made for it.
        """
        if node in self._nodes or self.is_consolidated(node) or self._is_ruled_out(node):
            return True
        return not self.stores[node.store].can_have(node.path) or "\0" in node.path

    def _is_ruled_out(self, node: Node) -> bool:
        """Return whether a listing shows that a node does not exist: the next name of its path is not in a group above."""
        last = node.name
        if last not in self._listed.get(node.group, (last,)):
            return True
        # From the root, but no deeper than groups were listed: paths may be very long.
        group = Node(node.store, "")
        for name in node.path.split("/", self._deepest_listed + 1)[: self._deepest_listed + 1]:
            if name and name not in self._listed.get(group, (name,)):
                return True
            group = group.child(name)
        return False

    def names(self, group: Node) -> list[str]:
        """Return the sorted names of the nodes directly in a group; [] if it was not listed yet."""
        if group not in self._members and not self.is_consolidated(group):
            self.unread.append(Unread(group, of_members=True))
        return self._members.get(group, [])

    def arrays(self, group: Node) -> dict[str, Document]:
        """Return the documents of a group's arrays, sorted by name."""
        members = ((name, self.document_if_read(group.child(name))) for name in self.names(group))
        return {name: document for name, document in members if document and document.is_array}

    def groups(self, group: Node) -> list[str]:
        """Return the names of a group's child groups, sorted."""
        members = ((name, self.document_if_read(group.child(name))) for name in self.names(group))
        return [name for name, document in members if document and not document.is_array]

    def subtree(self, group: Node, but_for: Container[Node] = ()) -> Iterator[Node]:
        """Yield a group and all groups below it, breadth first, except the groups of `but_for` and those below them."""
        queue = deque([group])
        while queue:
            parent = queue.popleft()
            yield parent
            children = map(parent.child, self.groups(parent))
            queue.extend(child for child in children if child not in but_for)

    def groups_with(self, store: int, name: str) -> list[Node]:
        """Return the sorted groups of a store that are known to contain a node of a name."""
        if self._groups_by_member is None:
            self._groups_by_member = defaultdict(list)
            for group in sorted(self._members, key=lambda node: node.path):
                for child in self._members[group]:
                    self._groups_by_member[group.store, child].append(group)
        return self._groups_by_member.get((store, name), [])

    def is_listed(self, group: Node) -> bool:
        """Return whether the members of a group are known."""
        return group in self._members or self.is_consolidated(group)

    def is_consolidated(self, node: Node) -> bool:
        """Return whether consolidated metadata decide whether a node exists."""
        return self.stores[node.store].is_consolidated(node.path)

    def foreign(self, store: int, uri: str, path: str) -> Node | None:
        """Return the root of the foreign store at a URI, which a reference in a store contains.

        If the foreign store is not open yet, the result is None, and the store is recorded as unread, with the `path` of
        the node that is needed in it.

        Raises
        ------
        XGroupStoreError
            If the foreign store cannot be opened, or must not be.
        """
        target = self.links.get((store, uri))
        if target is None:
            self.unread.append(Unread(Node(store, path), uri=uri))
        if isinstance(target, XGroupStoreError):
            raise target
        return target

    def whole(self, function: Callable[..., T], *values: Any) -> tuple[T, bool]:
        """Return the result of a function for values, and whether all documents that it needed have been read."""
        before = len(self.unread)
        result = function(*values)
        return result, len(self.unread) == before

    def first(self, function: Callable[[Node], T | None], nodes: Iterable[Node]) -> T | None:
        """Return the result of a function for the first of the nodes for which it is not None.

        The search ends with None at an unread document: later nodes may not be needed once it is read.
        """
        for node in nodes:
            result, is_whole = self.whole(function, node)
            if result is not None or not is_whole:
                return result
        return None

    # Problems of nodes.

    def problem(self, node: Node) -> XGroupError | None:
        """Return the error why the document or the members of a node cannot be used, None if they can."""
        problem = self.problems.get(node)
        if problem is None or not self.stores[node.store].is_foreign:
            return problem
        return self.read_problem(node.store, str(problem))

    def problems_near(self, group: Node) -> Iterator[tuple[Node, XGroupError]]:
        """Yield the problems of a group and of the nodes directly in it, each after its node, in the order of paths."""
        nodes = {*self._problems_near.get(group, ())}
        for node in sorted(nodes, key=lambda node: node.path):
            if node in self.problems:
                yield node, self.problems[node]

    def read_problem(self, store: int, reason: str) -> XGroupStoreError:
        """Return the error of a part of a store that cannot be read; its text names the store."""
        known = self.stores[store]
        if not known.is_foreign:
            text = _("{store}: {reason}").format(store=known.name, reason=reason)
            return XGroupStoreError(text)
        message = _("store {uri}: {reason}").format(uri=known.name, reason=reason)
        return XGroupStoreError(message, store=known.name)

    def may_be_newer(self, node: Node) -> bool:
        """Return whether a node that is not in the consolidated metadata may exist, because they may be outdated."""
        store = self.stores[node.store]
        if not (store.is_consolidated(node.path) and store.can_have(node.path)):
            return False
        for path in ancestor_paths(node.path):
            above = Node(node.store, path)
            document = self.document_if_read(above)
            if document is not None and document.is_array:
                return False
            if document is None and self.is_consolidated(above):
                return True  # nothing is known about nodes below a missing group
        return True

    # Adding nodes, listings and failures.

    def learn_failure(self, node: Node, error: XGroupStoreError) -> None:
        """Add a node of a foreign store whose documents cannot be read, with the error."""
        self._nodes[node] = None
        self._learn_problem(node, error)

    def learn_node(self, node: Node, found: Found | Text) -> Document | None:
        """Add a node by the content of its metadata keys; return its document, or None if it cannot be used."""
        zarr_format = self.stores[node.store].zarr_format
        document, problem = node_document(found, zarr_format, str(node), self._decoded)
        self._nodes[node] = document
        if problem is None:
            self.problems.pop(node, None)
        else:
            self._learn_problem(node, problem)
        return document

    def _learn_problem(self, node: Node, problem: XGroupError) -> None:
        """Add the problem of a node, and index it for `problems_near`."""
        if node not in self.problems:
            for group in {node, node.group}:
                self._problems_near[group].append(node)
        self.problems[node] = problem

    def learn_listing(self, group: Node, names: Collection[str]) -> None:
        """Add the listing of a group whose documents were read."""
        nodes = sorted(
            name for name in names if self.document_if_read(group.child(name)) is not None
        )
        self._members[group] = nodes
        self._listed[group] = frozenset(names)
        self._deepest_listed = max(self._deepest_listed, group.path.count("/") + 1)
        self._groups_by_member = None

    def learn_consolidated(self, root: Node, nodes: Mapping[str, Found | Text]) -> list[str]:
        """Add the consolidated metadata of a group; each document is decoded when it is needed.

        Parameters
        ----------
        root : Node
            The group.
        nodes : mapping of str to Found or Text
            The content of the nodes' metadata keys, by path relative to the group.

        Returns
        -------
        list of str
            The paths that were left out because they are not valid or too deep.
        """
        store = self.stores[root.store]
        self.stores[root.store] = replace(store, consolidated_at=root.path)
        unusable = []
        known, read = {root.path}, set()
        implied_left = _MOST_IMPLIED + _IMPLIED_BY_EACH * len(nodes)
        children: defaultdict[str, list[str]] = defaultdict(list)
        are_ordinary, above_all = are_ordinary_paths(nodes), f"{root.path}/" if root.path else ""
        for relative in sorted(nodes, key=len):  # groups before what is in them
            path = above_all + relative
            if not are_ordinary:
                path_below = relative.strip("/")
                path = above_all + path_below
                # A path may occur twice, in different forms.
                if not path_below or not store.can_have(path_below) or path in read:
                    unusable.append(relative)
                    continue
                read.add(path)
            parent, _slash, name = path.rpartition("/")
            # Groups above the node may have no document.
            if parent not in known:
                implied = _implied_groups(path, known, min(implied_left, _MOST_IMPLIED))
                if implied is None:
                    unusable.append(relative)
                    continue
                implied_left -= len(implied)
                for group in implied:
                    above, _slash, last = group.rpartition("/")
                    children[above].append(last)
                    known.add(group)
                    if self._nodes.get(Node(root.store, group)) is None:
                        self._nodes[Node(root.store, group)] = Document.of_group(store.zarr_format)
            self._nodes[Node(root.store, path)] = nodes[relative]
            if path not in known:
                children[parent].append(name)
                known.add(path)
        for parent, names in children.items():
            self._members[Node(root.store, parent)] = sorted(names)
        self._groups_by_member = None
        return unusable

    def forget(self) -> None:
        """Drop everything, to free its memory now, and not at the next run of Python's garbage collector."""
        self._nodes.clear()
        self._members.clear()
        self._listed.clear()
        self.memo.forget()
        self.problems.clear()
        self.unread.clear()
        self._problems_near.clear()
        self.links.clear()
        self._decoded.clear()
        self._groups_by_member = None


def _implied_groups(path: str, known: Container[str], limit: int) -> list[str] | None:
    """Return the groups above a path that have no document, the innermost first.

    None if there are more than the limit, as in hostile, very deep paths.
    """
    groups: list[str] = []
    group = path.rpartition("/")[0]
    while group not in known and path not in known:
        groups.append(group)
        if len(groups) > limit:
            return None
        group = group.rpartition("/")[0]
    return groups
