"""Snapshots of stores: documents read so far, nodes found absent, listed members.

Interpretation looks things up here and nowhere else. What is not known yet is not read on the
way: the lookup takes down that it is needed, and whoever drives the interpretation reads all
that is needed at once and interprets again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from zarr_xgroup.errors import XGroupError, XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import Document, Found, Pool, ZarrFormat, node_document
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import ancestor_paths, is_below, is_node_path, join_path

T = TypeVar("T")

#: How many groups without a document of their own a node may be in, one in the other; and how many there
#: may be for each node that is written, of hundreds of thousands of which each is in others.
_MOST_IMPLIED = 100
_IMPLIED_BY_EACH = 4


class Listings:
    """The listings of groups of a store, and the nodes that were found in them."""

    def __init__(self) -> None:
        self._nodes: dict[str, list[str]] = {}
        self._listed: dict[str, frozenset[str]] = {}
        self._deepest = 0
        self._unlisted: set[str] = set()
        self._places: defaultdict[str, list[str]] | None = None

    def __contains__(self, group: object) -> bool:
        """Tell whether the members of a group are known."""
        return group in self._nodes

    def is_unlisted(self, group: str) -> bool:
        """Tell whether the members of a group cannot be known."""
        return group in self._unlisted

    def names(self, group: str) -> list[str]:
        """Return the names of the nodes that are known to be directly below a group, sorted."""
        return self._nodes.get(group, [])

    def groups_with(self, name: str) -> list[str]:
        """Return the paths of the groups that are known to have a node of a name, sorted."""
        if self._places is None:
            self._places = defaultdict(list)
            for group in sorted(self._nodes):
                for child in self._nodes[group]:
                    self._places[child].append(group)
        return self._places.get(name, [])

    def rules_out(self, path: str) -> bool:
        """Tell whether a listing shows that there is no node at a path: it lacks it, or a group above it."""
        parent, _slash, last = path.rpartition("/")
        if last not in self._listed.get(parent, (last,)):
            return True
        group = ""
        for name in path.split("/", self._deepest + 1)[: self._deepest + 1]:
            if name and name not in self._listed.get(group, (name,)):
                return True
            group = join_path(group, name)
        return False

    def leave_out(self, path: str) -> None:
        """Have a group no longer list a node; it is there all the same for who refers to it."""
        group, _slash, name = path.rpartition("/")
        self.learn(group, [it for it in self.names(group) if it != name])

    def learn(self, group: str, nodes: Iterable[str], listed: Iterable[str] | None = None) -> None:
        """Add the nodes in a group, and the whole listing of it if there is one."""
        self._places = None
        self._nodes[group] = sorted(nodes)
        if listed is not None:
            self._listed[group] = frozenset(listed)
            self._deepest = max(self._deepest, group.count("/") + 1)

    def learn_unlisted(self, group: str) -> None:
        """Note that the members of a group cannot be found."""
        self._unlisted.add(group)


class Snapshot:
    """All that was read of one store so far. Only the code that reads adds to it (methods `learn_*`).

    Parameters
    ----------
    name : str
        What messages call the store.
    zarr_format : {2, 3}
        The format of all nodes.
    is_foreign : bool
        Whether a reference led here.
    can_have : callable
        Tells whether a path can be that of a node of the store.

    Attributes
    ----------
    consolidated_at : str or None
        The group whose consolidated document says all there is below it.
    problems : dict of str to XGroupError
        What is wrong with nodes that exist, by path: such a node has no document, or one
        without attributes if only these cannot be understood, or (a group) no children.
    listings : Listings
        What is in groups.
    """

    def __init__(
        self,
        name: str,
        zarr_format: ZarrFormat,
        *,
        is_foreign: bool = False,
        can_have: Callable[[str], bool] = is_node_path,
    ) -> None:
        self.name = name
        self.zarr_format = zarr_format
        self.is_foreign = is_foreign
        self.can_have = can_have
        self.consolidated_at: str | None = None
        self.problems: dict[str, XGroupError] = {}
        self._problems_near: defaultdict[str, list[str]] = defaultdict(list)
        self.listings = Listings()
        self._pool = Pool()
        self._documents: dict[str, Document] = {}
        self._undecoded: dict[str, Found] = {}
        self._absent: set[str] = set()
        self._stale: dict[str, bool] = {}

    def document(self, path: str) -> Document | None:
        """Return the document of a node, or None if there is none, or none is known."""
        found = self._undecoded.pop(path, None)
        if found is not None:
            self.learn_node(path, found)
        return self._documents.get(path)

    def is_known(self, path: str) -> bool:
        """Tell whether it is known what there is at a path, be it nothing.

        There is nothing at what cannot be the path of a node: a store is never asked for it.
        """
        if path in self._documents or path in self._absent or path in self.problems:
            return True
        if self.is_consolidated(path) or self.listings.rules_out(path):
            return True
        return not self.can_have(path) or "\0" in path

    def is_consolidated(self, path: str) -> bool:
        """Tell whether consolidated metadata says what there is at a path."""
        return self.consolidated_at is not None and is_below(path, self.consolidated_at)

    def problem(self, path: str) -> XGroupError | None:
        """Return why the node at a path, though it may be there, cannot be used."""
        problem = self.problems.get(path)
        return read_problem(self, str(problem)) if problem and self.is_foreign else problem

    def problems_near(self, group: str) -> Iterator[tuple[str, XGroupError]]:
        """Yield what is wrong with a group and with the nodes directly in it, each with the path."""
        for path in dict.fromkeys(self._problems_near.get(group, ())):
            if path in self.problems:
                yield path, self.problems[path]

    def why_absent(self, path: str) -> str | None:
        """Return why there is no node at a path that is known, or None if the store has to be asked.

        Consolidated metadata may be older than the store.
        """
        if self._stale.get(path):
            return _(
                "no such node in the consolidated metadata, though the store has it: open it with "
                "consolidated=False"
            )
        is_sure = path in self._absent or path in self._stale or not self.is_consolidated(path)
        if is_sure or not self.can_have(path) or self._is_in_array(path):
            return _("not found in store")
        return None

    def _is_in_array(self, path: str) -> bool:
        """Tell whether a path leads into an array, of those that consolidated metadata says all about."""
        for above in ancestor_paths(path):
            document = self.document(above)
            if document is not None and document.is_array:
                return True
            if document is None and self.is_consolidated(above):
                return False  # nor is there anything below
        return False

    def is_listed(self, group: str) -> bool:
        """Tell whether the members of a group are known."""
        return group in self.listings or self.is_consolidated(group)

    def arrays(self, group: str) -> dict[str, Document]:
        """Return the documents of a listed group's arrays, sorted by name."""
        members = ((it, self.document(join_path(group, it))) for it in self.listings.names(group))
        return {name: document for name, document in members if document and document.is_array}

    def groups(self, group: str) -> list[str]:
        """Return the names of a listed group's child groups, sorted."""
        members = ((it, self.document(join_path(group, it))) for it in self.listings.names(group))
        return [name for name, document in members if document and not document.is_array]

    def subtree(self, group: str) -> Iterator[str]:
        """Yield the path of a listed group and those of all groups below it, parents first."""
        queue = deque([group])
        while queue:
            path = queue.popleft()
            yield path
            queue.extend(join_path(path, name) for name in self.groups(path))

    def learn_node(self, path: str, found: Found) -> None:
        """Add the content of the metadata keys of a node."""
        document, problem = node_document(found, self.zarr_format, f"/{path}", self._pool)
        if document is not None:
            self._documents[path] = document
        if problem is not None:
            self._learn_problem(path, problem)
        else:
            self.problems.pop(path, None)
            if document is None:
                self._absent.add(path)

    def _learn_problem(self, path: str, problem: XGroupError) -> None:
        if path not in self.problems:
            for group in {path, path.rpartition("/")[0]}:
                self._problems_near[group].append(path)
        self.problems[path] = problem

    def learn_listing(self, group: str, names: Iterable[str] | XGroupStoreError) -> None:
        """Add the listing of a group whose documents were read, or why it cannot be listed."""
        if isinstance(names, XGroupStoreError):
            self.listings.learn_unlisted(group)
            self._learn_problem(group, names)
        else:
            nodes = [name for name in names if self.document(join_path(group, name)) is not None]
            self.listings.learn(group, nodes, names)

    def learn_staleness(self, path: str, *, is_there: bool) -> None:
        """Note whether the store has a node that its consolidated metadata lacks."""
        self._stale[path] = is_there

    def learn_consolidated(self, at: str, nodes: Mapping[str, Found]) -> list[str]:
        """Add consolidated metadata; each document is decoded when it is asked for.

        Returns
        -------
        list of str
            Keys that cannot be those of nodes, which are left out.
        """
        self.consolidated_at = at
        unusable = []
        known = {at}
        left = _MOST_IMPLIED + _IMPLIED_BY_EACH * len(nodes)
        children: defaultdict[str, list[str]] = defaultdict(list)
        for relative in sorted(nodes, key=len):  # groups before what is in them
            path_below = relative.strip("/")
            place = join_path(at, path_below)
            is_path = bool(path_below) and self.can_have(path_below)
            most = min(left, _MOST_IMPLIED)
            implied = _implied_groups(place, known, most) if is_path else None
            if implied is None or place in self._undecoded:  # written in two ways
                unusable.append(relative)
                continue
            left -= len(implied)
            self._undecoded[place] = nodes[relative]
            for group in implied:
                self._documents.setdefault(group, _implied_group(self.zarr_format))
            for path in {place, *implied} - known:
                parent, _slash, name = path.rpartition("/")
                children[parent].append(name)
                known.add(path)
        for group, names in children.items():
            self.listings.learn(group, names)
        return unusable

    def forget(self) -> None:
        """Drop all documents, now and not when Python next looks for cycles of objects."""
        for known in (self._documents, self._undecoded, self.problems):
            known.clear()
        self._pool, self.listings = Pool(), Listings()


def read_problem(snapshot: Snapshot, reason: str) -> XGroupStoreError:
    """Return the error of something in a store that cannot be read."""
    if not snapshot.is_foreign:
        return XGroupStoreError(reason)
    message = _("store {uri}: {reason}").format(uri=snapshot.name, reason=reason)
    return XGroupStoreError.of(snapshot.name, message)


def nodes_below(snapshot: Snapshot, group: str) -> Iterator[str]:
    """Yield the paths of all that a store is known to have below a group, parents first."""
    for path in snapshot.subtree(group):
        below = (join_path(path, name) for name in snapshot.listings.names(path))
        yield from (it for it in below if snapshot.document(it) is not None)


def _implied_group(zarr_format: ZarrFormat) -> Document:
    return Document.of({"zarr_format": zarr_format, "node_type": "group", "attributes": {}})


def _implied_groups(path: str, known: Container[str], most: int) -> list[str] | None:
    """Return groups without a document of their own, which only the paths of nodes in them show.

    None if there are too many: their paths could be far longer than all that is written.
    """
    groups: list[str] = []
    group = path.rpartition("/")[0]
    while group not in known and path not in known:
        groups.append(group)
        if len(groups) > most:
            return None
        group = group.rpartition("/")[0]
    return groups


@dataclass(frozen=True)
class Needs:
    """What must be read before an interpretation can go on.

    Attributes
    ----------
    documents : frozenset of Node
        Nodes whose documents are not known.
    members : frozenset of Node
        Groups whose members are not known.
    doubted : frozenset of Node
        Nodes that consolidated metadata lacks, and that may be in the store all the same.
    foreign : frozenset of tuple
        What is referred to in other stores: the referring store, the URI, the path of the node.
    """

    documents: frozenset[Node] = frozenset()
    members: frozenset[Node] = frozenset()
    doubted: frozenset[Node] = frozenset()
    foreign: frozenset[tuple[int, str, str]] = field(default=frozenset(), repr=False)

    def __bool__(self) -> bool:
        """Tell whether anything is lacking."""
        return bool(self.documents or self.members or self.doubted or self.foreign)


class LackingError(Exception):
    """Raised where an interpretation needs what was not read yet; the need is noted in `Lookup.needs`."""


class Snapshots(list[Snapshot]):
    """The snapshots of all stores of an open, by number; 0 is the one that is opened.

    Attributes
    ----------
    links : dict
        Where a URI that is written in a store leads, or why it leads nowhere, by both.
    """

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[tuple[int, str], Node | XGroupStoreError] = {}

    def forget(self) -> None:
        """Drop all that is known."""
        for snapshot in self:
            snapshot.forget()
        self.links.clear()


class Lookup:
    """Answers questions from snapshots, and notes what must be read to answer them.

    Parameters
    ----------
    snapshots : Snapshots
        What is known.

    Attributes
    ----------
    lacking : list of Needs
        What must be read, in the order in which it was found lacking.
    """

    def __init__(self, snapshots: Snapshots) -> None:
        self.snapshots = snapshots
        self.lacking: list[Needs] = []
        self._of_members: dict[tuple[Any, Node], Any] = {}

    @property
    def needs(self) -> Needs:
        """All that must be read."""
        return Needs(
            frozenset().union(*(it.documents for it in self.lacking)),
            frozenset().union(*(it.members for it in self.lacking)),
            frozenset().union(*(it.doubted for it in self.lacking)),
            frozenset().union(*(it.foreign for it in self.lacking)),
        )

    def store_of(self, node: Node) -> Snapshot:
        """Return the store of a node."""
        return self.snapshots[node.store]

    def document(self, node: Node) -> Document | None:
        """Return the document of a node, or None if there is no node, or none that can be used.

        Raises
        ------
        LackingError
            If it is not known.
        """
        document = self.snapshots[node.store].document(node.path)
        if document is None and not self.knows(node):
            raise LackingError
        return document

    def ask_for(self, needs: Needs) -> LackingError:
        """Note what must be read, and return the error to raise."""
        self.lacking.append(needs)
        return LackingError(needs)

    def knows(self, *nodes: Node) -> bool:
        """Tell whether the documents of nodes were read; if not, note which are needed."""
        unknown = [it for it in nodes if not self.snapshots[it.store].is_known(it.path)]
        if unknown:
            self.ask_for(Needs(documents=frozenset(unknown)))
        return not unknown

    def know(self, nodes: Iterable[Node]) -> None:
        """Raise LackingError, after noting all that are needed, unless the documents of nodes were read.

        Raises
        ------
        LackingError
            If one is not known.
        """
        if not self.knows(*nodes):
            raise LackingError

    def members(self, group: Node) -> Snapshot:
        """Return the store of a group whose members are known, or raise LackingError.

        A group that cannot be listed has no members, and a problem.
        """
        snapshot = self.snapshots[group.store]
        is_unlisted = snapshot.listings.is_unlisted(group.path)
        if not snapshot.is_listed(group.path) and not is_unlisted:
            raise self.ask_for(Needs(members=frozenset([group])))
        return snapshot

    def of_members(self, group: Node, function: Callable[[Snapshot, str], T]) -> T:
        """Return the result of a function of the members of a group; it is called once and kept."""
        key = function, group
        if key not in self._of_members:
            self._of_members[key] = function(self.members(group), group.path)
        found: T = self._of_members[key]
        return found

    def foreign(self, store: int, uri: str, path: str) -> Node:
        """Return the root of another store, of which a node is needed.

        Raises
        ------
        XGroupStoreError
            If it cannot be opened, or must not be.
        LackingError
            If that is not known.
        """
        target = self.snapshots.links.get((store, uri))
        if target is None:
            raise self.ask_for(Needs(foreign=frozenset([(store, uri, path)])))
        if isinstance(target, XGroupStoreError):
            raise target
        return target
