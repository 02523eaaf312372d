"""References: their candidate targets, and the choice between them.

No I/O: documents are looked up in `zarr_xgroup.metadata.tree`. A document that has not been read yet is treated as
missing, and the tree records that it is needed.
Rules: specification, "References"; ref convention; RFC 3986, section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from zarr_xgroup.errors import (
    XGroupError,
    XGroupPathError,
    XGroupReferenceError,
    XGroupStoreError,
)
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Keys, Node, kind_of
from zarr_xgroup.metadata.paths import join_path, relative_path
from zarr_xgroup.metadata.references import Reference, at_pointer, is_reference
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.redaction import redact

__all__ = ["MAX_DEPTH", "Followed", "Reference", "Resolver", "candidates"]

#: The longest valid chain of references. Chains in real stores are much shorter.
MAX_DEPTH = 16

#: How many characters a message shows of a JSON value that is not a reference.
_SHOWN = 60

T = TypeVar("T")


def candidates(reference: Reference, referrer: Node, written: Node, tree: Tree) -> list[Node]:
    """Return the candidate targets of a reference, most likely first; [] while their store is not open yet.

    Parameters
    ----------
    reference : Reference
        The reference.
    referrer : Node
        The array whose interpretation follows the reference.
    written : Node
        The node that contains the reference: the array itself, or a node that the array refers to.
    tree : Tree
        The documents, also of other stores.

    Raises
    ------
    XGroupStoreError
        If the store cannot be opened.
    XGroupPathError
        If all paths point above the root of the store.
    """
    store, is_relative = written.store, reference.uri is None and not reference.node.startswith("/")
    if is_relative:
        bases = _bases(referrer, written, tree)
        paths = [relative_path(base, reference.node) for base in bases]
    else:
        paths = [relative_path("", reference.node.lstrip("/"))]
    if reference.uri is not None:
        root = tree.foreign(store, reference.uri, paths[0] or "")
        if root is None:
            return []
        store = root.store
        paths = [None if path is None else join_path(root.path, path) for path in paths]
    nodes = [Node(store, path) for path in dict.fromkeys(paths) if path is not None]
    if not nodes:
        message = _("{target!r} points above the root of the store")
        if store == 0 and is_relative:
            message += _(
                "; if the opened store is a group of a larger store, open that store with group=..."
            )
        message = message.format(target=reference.node)
        raise XGroupPathError(message, target=str(reference), reason=message)
    return nodes


def _bases(referrer: Node, written: Node, tree: Tree) -> list[str]:
    """Return the possible base paths of a relative path in the store of `written`, in the order of the rules."""
    bases = [referrer.group.path, referrer.path] if written.store == referrer.store else []
    if written != referrer:
        document = tree.document(written)
        # The first base is the group itself for a path in the attributes of a group, and the group that
        # contains the array for a path in the attributes of an array.
        nearest = [written.path, written.group.path]
        bases += nearest if document is not None and not document.is_array else nearest[::-1]
    return bases


class Followed(msgspec.Struct, frozen=True):
    """A reference that was followed for an array, and the node that it refers to.

    Attributes
    ----------
    referrer : Node
        The array.
    written : Node
        The node that contains the reference.
    keys : tuple of str
        The keys of the reference in the document of that node.
    target : str
        The short form of the reference.
    leads_to : Node or None
        The node that it refers to, None if it cannot be resolved.
    leads_to_keys : tuple of str
        The keys of the value that it refers to, in the document of that node.
    by_fallback : bool
        Whether an earlier candidate did not fit.
    text : str
        Why it cannot be resolved, or which choice was made.
    is_reached : bool
        Whether the node that contains it was itself reached through a reference.
    """

    referrer: Node
    written: Node
    keys: Keys
    target: str
    leads_to: Node | None = None
    leads_to_keys: Keys = ()
    by_fallback: bool = False
    text: str = ""
    is_reached: bool = False

    @property
    def is_absolute(self) -> bool:
        """Whether it refers to the same node from wherever it is written."""
        return self.target.startswith("/") or "://" in self.target

    @property
    def choice(self) -> str:
        """A message about the choice between candidates."""
        return f"{self.target!r} {self.text}"

    def written_for(self, array: Node) -> Node:
        """Return the node that contains this reference for an array with the same metadata as the referrer.

        That is the array if the referrer contains the reference. If a group above the referrer contains it, it is
        the group at the same distance above the array.
        """
        if array == self.referrer or self.is_reached:
            return self.written
        counterparts = (array, *array.ancestors())
        pairs = zip((self.referrer, *self.referrer.ancestors()), counterparts, strict=False)
        return next((node for other, node in pairs if other == self.written), self.written)

    def without_place(self) -> Followed:
        """Return a copy without nodes; copies of the same reference of different arrays are equal."""
        nowhere = Node(0, "")
        return replace(self, referrer=nowhere, written=nowhere, is_reached=False)


class Resolver:
    """Follows the references of one array.

    Parameters
    ----------
    tree : Tree
        The documents.
    referrer : Node
        The array.
    note : callable
        Called with a text and the place of the reference for each choice between candidates.

    Attributes
    ----------
    followed : mapping
        The references that were followed, by containing node, keys and target.
    reached : set of Node
        The nodes that references refer to.
    """

    def __init__(self, tree: Tree, referrer: Node, note: Callable[[str, Fragment], None]) -> None:
        self.tree = tree
        self.referrer = referrer
        self.followed: dict[tuple[Node, Keys, str], Followed] = {}
        self.reached: set[Node] = set()
        self._note = note

    def record(
        self,
        place: Fragment,
        target: str,
        leads_to: Node | None = None,
        *,
        by_fallback: bool = False,
        text: str = "",
    ) -> None:
        """Record a followed reference, in place of an earlier record of it.

        `place` is where the reference is written; the other parameters are attributes of `Followed`.
        """
        fields = self.referrer, place.node, place.keys, target, leads_to
        self._record(Followed(*fields, by_fallback=by_fallback, text=text))

    def _record(self, reference: Followed) -> None:
        """Add a reference to `followed` and its target to `reached`."""
        if reference.written in self.reached:
            reference = replace(reference, is_reached=True)
        self.followed[reference.written, reference.keys, reference.target] = reference
        if reference.leads_to is not None:
            self.reached.add(reference.leads_to)

    def array(
        self, fragment: Fragment, fits: Callable[[Node], str | None] = lambda _node: None
    ) -> Node:
        """Return the array that a reference refers to.

        Parameters
        ----------
        fragment : Fragment
            The reference.
        fits : callable
            Called with an array; returns why it does not fit, or None if it fits.

        Raises
        ------
        XGroupReferenceError
            If no candidate is an array that fits, or the references form a cycle or a chain longer
            than `MAX_DEPTH`.
        XGroupPathError, XGroupStoreError, XGroupMetadataError
            If the reference points above the root or to a store that cannot be opened, or is malformed.
        """

        def accept(found: Fragment) -> Node:
            document = self.tree.document(found.node)
            if found.keys or document is None or not document.is_array:
                kind = _("a group") if not found.keys else kind_of(found.value)
                reason = _("an array is needed, found {kind}").format(kind=kind)
            else:
                reason = fits(found.node) or ""
            if reason:
                raise XGroupReferenceError(reason, target=str(found.node))
            return found.node

        return self._resolve(fragment, accept)

    def fragment(self, fragment: Fragment) -> Fragment:
        """Return the value that a reference refers to; any other JSON value unchanged.

        Raises
        ------
        XGroupReferenceError, XGroupPathError, XGroupStoreError, XGroupMetadataError
            As for `array`.
        """
        if not is_reference(fragment.value):
            return fragment
        return self._resolve(fragment, lambda found: found)

    def _resolve(self, fragment: Fragment, accept: Callable[[Fragment], T]) -> T:
        """Return the result of `accept` for the end of a reference, and record the references on the way."""
        end = _Search(self.tree, self.referrer, accept).follow(fragment)
        if isinstance(end, XGroupError):
            target = end.target or redact(str(fragment.value))[:_SHOWN]
            self.record(fragment, target, text=end.reason)
            raise end
        for reference in end.references:
            self._record(reference)
            if reference.text:
                place = Fragment(reference.written, reference.keys, None)
                self._note(reference.choice, place)
        return end.result


class _End(NamedTuple, Generic[T]):
    """The end of a chain of references: the result of `accept`, the node and keys, and the references on the way."""

    result: T
    node: Node
    keys: Keys
    references: tuple[Followed, ...] = ()


class _Search(Generic[T]):
    """A depth-first search for the end of one reference, in which each place is visited once.

    `accept` is called with the value at an end, and returns the result or raises XGroupError.
    """

    def __init__(self, tree: Tree, referrer: Node, accept: Callable[[Fragment], T]) -> None:
        self._tree = tree
        self._referrer = referrer
        self._accept = accept
        self._known: dict[tuple[Node, Keys], _End[T] | XGroupError] = {}
        self._may_be_newer = False

    def follow(self, *chain: Fragment) -> _End[T] | XGroupError:
        """Return the end of the last reference in a chain, or the error that explains why it has none.

        Results are cached by place, except the error of an endless chain, which depends on the whole chain.
        """
        key = (chain[-1].node, chain[-1].keys)
        if key not in self._known:
            places = [str(fragment) for fragment in chain]
            if len(places) > MAX_DEPTH or places[-1] in places[:-1]:
                reason = _("references form a cycle")
                if places[-1] not in places[:-1]:
                    reason = _("there is a chain of more than {number} references")
                reason = f"{reason.format(number=MAX_DEPTH)}: {' -> '.join(places)}"
                target = str(Reference.parse(chain[0]))
                return _EndlessError(reason, place=places[0], target=target)
            try:
                self._known[key] = self._choose(chain)
            except XGroupError as error:
                self._known[key] = error
        return self._known[key]

    def _choose(self, chain: Sequence[Fragment]) -> _End[T]:
        """Return the end of the last reference in a chain: of its first candidate that fits.

        The recorded text names the other candidates. Raises XGroupError if no candidate fits.
        """
        fragment, tree = chain[-1], self._tree
        reference = Reference.parse(fragment)
        try:
            nodes = candidates(reference, self._referrer, fragment.node, tree)
        except (XGroupPathError, XGroupStoreError) as error:
            raise _placed(fragment, reference, error) from error
        # An array has no children in Zarr, so candidates below these arrays are not looked up: most relative
        # references have one. Candidates below other arrays are, because the result must not depend on whether
        # those arrays have been read already.
        document = tree.document(fragment.node)
        arrays = [self._referrer]
        if document is not None and document.is_array:
            arrays.append(fragment.node)
        outcomes: list[tuple[Node, _End[T] | XGroupError | None]] = []
        for node in nodes:
            is_in_array = any(
                node.store == array.store and node.path.startswith(f"{array.path}/")
                for array in arrays
            )
            outcomes.append((node, None if is_in_array else self._at(node, reference, chain)))
        rejected: list[str] = []
        for index, (node, chosen) in enumerate(outcomes):
            if isinstance(chosen, _End):
                for other, end in outcomes[index + 1 :]:
                    if isinstance(end, _End) and end.result != chosen.result:
                        rejected.append(_("{node} (which fits too)").format(node=other))
                text = _("was resolved to {node}, not to {others}") if rejected else ""
                text = text.format(node=node, others=", ".join(rejected))
                followed = Followed(
                    *(self._referrer, fragment.node, fragment.keys, str(reference)),
                    *(chosen.node, chosen.keys),
                    by_fallback=index > 0,
                    text=text,
                )
                return chosen._replace(references=(followed, *chosen.references))
            if tree.document_if_read(node) is not None:
                rejected.append(f"{node} ({chosen})")
        raise self._failure(chain, reference, outcomes)

    def _at(
        self, node: Node, reference: Reference, chain: Sequence[Fragment]
    ) -> _End[T] | XGroupError | None:
        """Return the end of a reference at the candidate `node`, or an error; None if the node does not exist."""
        try:
            document = self._tree.document(node)
            if document is None:
                return self._tree.problem(node)
            found = Fragment(node, (), document)
            if reference.attribute is not None:
                found = at_pointer(node, document, reference.attribute)
                if is_reference(found.value):
                    return self.follow(*chain, found)
            return _End(self._accept(found), node, found.keys)
        except XGroupError as error:
            return error

    def _failure(
        self,
        chain: Sequence[Fragment],
        reference: Reference,
        outcomes: Sequence[tuple[Node, _End[T] | XGroupError | None]],
    ) -> XGroupError:
        """Return the error of a reference without a candidate that fits: an endless chain, a store, or all paths tried."""
        fragment, tree = chain[-1], self._tree
        for _node, failure in outcomes:
            if isinstance(failure, _EndlessError):
                return failure
            if isinstance(failure, XGroupStoreError) and failure.store:
                return _placed(fragment, reference, failure)
        tried = []
        is_above = relative_path(self._referrer.group.path, reference.node) is None
        if reference.uri is None and is_above:  # perhaps a group of a store was opened as a store
            tried.append(_("above the root of the store"))
        for node, failure in outcomes:
            why: object = failure
            if failure is None and tree.may_be_newer(node):
                why = _("not in the consolidated metadata")
                self._may_be_newer |= not tree.stores[node.store].is_foreign
            elif failure is None:
                why = _("not found in store")
            # Nested reasons of a long chain would grow without bound.
            tried.append(f"{node} ({why})" if len(chain) <= 2 else str(node))
        reason = _("cannot be resolved; tried {tried}").format(tried=", ".join(tried))
        if len(chain) == 1 and self._may_be_newer:
            reason += _("; if the store is newer, open it with consolidated=False")
        place, target = str(fragment), str(reference)
        message = f"{target!r} {reason}"
        return XGroupReferenceError(message, place=place, target=target, reason=reason)


def _placed(fragment: Fragment, reference: Reference, error: XGroupError) -> XGroupError:
    """Return an error about the path or store of a reference, with the place of the reference added."""
    place, target = str(fragment), str(reference)
    if isinstance(error, XGroupStoreError):
        return XGroupStoreError(error.reason, store=error.store, place=place, target=target)
    return XGroupPathError(error.reason, place=place, target=target)


class _EndlessError(XGroupReferenceError):
    """The references do not end, whichever candidate is chosen."""
