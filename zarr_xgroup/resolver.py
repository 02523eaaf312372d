"""References: what they may mean, and which candidate is meant.

Pure: documents are looked up in what is known (`zarr_xgroup.metadata.tree`). What is not known yet
counts as absent; the tree takes down that it was asked for.
Rules: specification, "References"; ref convention; RFC 3986, section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

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

#: How many references may follow one another before that is taken for a mistake.
MAX_DEPTH = 16

#: How much is shown of what is no reference.
_SHOWN = 60

T = TypeVar("T")


def candidates(reference: Reference, referrer: Node, written: Node, tree: Tree) -> list[Node]:
    """Return the nodes that a reference may mean, most likely first.

    Parameters
    ----------
    reference : Reference
        The reference.
    referrer : Node
        The array it is followed for.
    written : Node
        The node it is written in: the array itself, or another one that the array refers to.
    tree : Tree
        Knows the documents.

    Raises
    ------
    XGroupStoreError
        If the reference is to a store that cannot be opened.
    XGroupPathError
        If it leads above the root of the store, however it is understood.
    """
    store, paths = written.store, [relative_path("", reference.node.lstrip("/"))]
    if reference.uri is not None:
        root = tree.foreign(store, reference.uri, paths[0] or "")
        store = root.store
        paths = [None if path is None else join_path(root.path, path) for path in paths]
    elif not reference.node.startswith("/"):
        bases = [referrer.group.path, referrer.path] if store == referrer.store else []
        if written != referrer:
            document = tree.document(written)
            # A group's attributes stand in that group: its own path is what contains them.
            ends = [written.path, written.group.path]
            bases += ends if document is not None and not document.is_array else ends[::-1]
        paths = [relative_path(base, reference.node) for base in bases]
    nodes = [Node(store, path) for path in dict.fromkeys(paths) if path is not None]
    if not nodes:
        message = _("{target!r} leads above the root of the store")
        if store == 0 and not reference.node.startswith("/"):
            message += _(
                "; if that is a group of a larger store, open the larger one, with group=..."
            )
        message = message.format(target=reference.node)
        raise XGroupPathError(message, target=str(reference), reason=message)
    return nodes


@dataclass(frozen=True, slots=True)
class Followed:
    """A reference that was followed for an array, and where it led.

    Attributes
    ----------
    referrer : Node
        The array.
    written : Node
        The node that it is written in.
    keys : tuple of str
        The way to it in the document of that node.
    target : str
        What is written there, in short.
    leads_to : Node or None
        The node that it leads to, None if nowhere.
    leads_to_keys : tuple of str
        The way to the value meant in the document of that node.
    by_fallback : bool
        Whether a candidate before that one did not fit.
    text : str
        Why it leads nowhere, or which choice was made.
    is_reached : bool
        Whether another reference led to where it is written.
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

    def written_for(self, array: Node) -> Node:
        """Return where it is written for an array that says the same as the referrer.

        What is written in the referrer, or in a group that it is in, is written in the array, or in
        the group as many levels above it.
        """
        if array == self.referrer or self.is_reached:
            return self.written
        mine = (array, *array.ancestors())
        levels = zip((self.referrer, *self.referrer.ancestors()), mine, strict=False)
        return next((node for other, node in levels if other == self.written), self.written)

    def without_place(self) -> Followed:
        """Return what is the same of it wherever it is written, and for whichever array."""
        nowhere = Node(0, "")
        return replace(self, referrer=nowhere, written=nowhere, is_reached=False)


class Resolver:
    """Follows the references of one array.

    Parameters
    ----------
    tree : Tree
        Knows the documents.
    referrer : Node
        The array.
    note : callable
        Called where a choice had to be made between candidates, with a text and where that is written.

    Attributes
    ----------
    followed : mapping
        The references that were followed, by node, way to them and target.
    reached : set of Node
        Where references led, also those that were followed quietly.
    """

    def __init__(self, tree: Tree, referrer: Node, note: Callable[[str, Fragment], None]) -> None:
        self.tree = tree
        self.referrer = referrer
        self.followed: dict[tuple[Node, Keys, str], Followed] = {}
        self.reached: set[Node] = set()
        self._note = note

    def take_down(
        self,
        place: Fragment,
        target: str,
        leads_to: Node | None = None,
        *,
        by_fallback: bool = False,
        text: str = "",
    ) -> None:
        """Take down a reference that is followed for the array, in place of what was known of it."""
        written = place.node, place.keys, target, leads_to
        self._add([Followed(self.referrer, *written, by_fallback=by_fallback, text=text)])

    def _add(self, references: Iterable[Followed]) -> None:
        for it in references:
            is_reached = it.written in self.reached
            known = replace(it, is_reached=True) if is_reached else it
            self.followed[it.written, it.keys, it.target] = known
            if it.leads_to is not None:
                self.reached.add(it.leads_to)

    def array(
        self, fragment: Fragment, fits: Callable[[Node], str | None] = lambda _node: None
    ) -> Node:
        """Return the array that a reference leads to.

        Parameters
        ----------
        fragment : Fragment
            The reference.
        fits : callable
            Given an array, says why it cannot be the one meant, or None if it can be.

        Raises
        ------
        XGroupReferenceError
            If no candidate is an array that fits, or references form a cycle or a chain of
            more than `MAX_DEPTH`.
        XGroupPathError, XGroupStoreError, XGroupMetadataError
            If the reference leads above the root, to a store that cannot be opened, or is
            malformed.
        """

        def accept(found: Fragment) -> Node:
            document = self.tree.document(found.node)
            if found.keys or document is None or not document.is_array:
                kind = _("a group") if not found.keys else kind_of(found.value)
                message = _("an array is needed, found {kind}").format(kind=kind)
                raise XGroupReferenceError(message, target=str(found.node), reason=message)
            reason = fits(found.node)
            if reason is not None:
                raise XGroupReferenceError(reason, target=str(found.node), reason=reason)
            return found.node

        return self._resolve(fragment, accept)

    def fragment(self, fragment: Fragment) -> Fragment:
        """Return a value itself, or what it leads to if it is a reference.

        Raises
        ------
        XGroupReferenceError, XGroupPathError, XGroupStoreError, XGroupMetadataError
            As for `array`.
        """
        if not is_reference(fragment.value):
            return fragment
        return self._resolve(fragment, lambda found: found)

    def _resolve(self, fragment: Fragment, accept: Callable[[Fragment], T]) -> T:
        search = _Search(self.tree, self.referrer, accept)
        found = search.follow(fragment)
        if isinstance(found.result, XGroupError):
            error = found.result
            try:
                target = str(Reference.parse(fragment))
            except XGroupError:  # which is that error
                target = error.target or redact(str(fragment.value))[:_SHOWN]
            self.take_down(fragment, target, text=error.reason or str(error))
            raise error
        self._add(found.links)
        for link in found.links:
            if link.text:
                place = Fragment(link.written, link.keys, None)
                self._note(f"{link.target!r} {link.text}", place)
        return cast("T", found.result)  # an error is raised where there is nothing


@dataclass(frozen=True)
class _Found(Generic[T]):
    """Where a reference leads: what was accepted there, or why nothing was.

    Attributes
    ----------
    result : object, XGroupError or None
        What was accepted, or the error; None where there is nothing.
    end : tuple of Node and keys
        Where what was accepted stands.
    links : tuple of Followed
        The references on the way.
    """

    result: T | XGroupError | None
    end: tuple[Node | None, Keys] = (None, ())
    links: tuple[Followed, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether something was accepted."""
        return self.result is not None and not isinstance(self.result, XGroupError)


class _Search(Generic[T]):
    """The search for the end of one reference, each place on the way looked at once.

    Parameters
    ----------
    tree : Tree
        Knows the documents.
    referrer : Node
        The array that the reference is followed for.
    accept : callable
        Given what stands at an end, returns the result or raises XGroupError.
    """

    def __init__(self, tree: Tree, referrer: Node, accept: Callable[[Fragment], T]) -> None:
        self._tree = tree
        self._referrer = referrer
        self._accept = accept
        self._known: dict[tuple[Node, Keys], _Found[T]] = {}

    def follow(self, fragment: Fragment, *before: Fragment) -> _Found[T]:
        """Follow a reference that others have led to, one after the other."""
        key = (fragment.node, fragment.keys)
        if key not in self._known:
            if (endless := _endless(before, fragment)) is not None:
                return _Found(endless)
            try:
                self._known[key] = self._choose(*before, fragment)
            except XGroupError as error:
                self._known[key] = _Found(error)
        return self._known[key]

    def _choose(self, *chain: Fragment) -> _Found[T]:
        """Return the first candidate of the last reference that fits; note what else there was."""
        fragment = chain[-1]
        reference = Reference.parse(fragment)
        try:
            nodes = candidates(reference, self._referrer, fragment.node, self._tree)
        except (XGroupPathError, XGroupStoreError) as error:
            raise _told_of(fragment, reference, error, str(error)) from error
        # Zarr has no node in an array: most references could mean one in the array itself, which is not
        # asked for. What is in any other array is: whether that is known to be one depends on what was read.
        arrays, document = [self._referrer], self._tree.document(fragment.node)
        if document is not None and document.is_array:
            arrays.append(fragment.node)

        def led_to(node: Node) -> _Found[T]:
            for array in arrays:
                if node.store == array.store and node.path.startswith(f"{array.path}/"):
                    return _Found(None)
            return self._at(node, reference, chain)

        outcomes = [(node, led_to(node)) for node in nodes]
        first = next((index for index, (_node, found) in enumerate(outcomes) if found.fits), None)
        if first is None:
            raise self._failure(fragment, reference, outcomes, is_nested=len(chain) > 2)
        node, chosen = outcomes[first]
        # Told is what was there and does not fit, and what would have fitted and is something else.
        others = [
            f"{other} ({found.result})"
            for other, found in outcomes[:first]
            if self._tree.known(other) is not None
        ]
        others += [
            _("{node} (which fits too)").format(node=other)
            for other, found in outcomes[first + 1 :]
            if found.fits and found.result != chosen.result
        ]
        text = _("was taken to be {node}, not {others}") if others else ""
        text = text.format(node=node, others=", ".join(others))
        ends = fragment.node, fragment.keys, str(reference), *chosen.end
        link = Followed(self._referrer, *ends, by_fallback=first > 0, text=text)
        return replace(chosen, links=(link, *chosen.links))

    def _at(self, node: Node, reference: Reference, chain: Sequence[Fragment]) -> _Found[T]:
        """Return what a reference to a node, or to a part of its document, leads to."""
        try:
            document = self._tree.document(node)
            if document is None:
                return _Found(self._tree.problem(node))
            if reference.attribute is None:
                return _Found(self._accept(Fragment(node, (), document)), end=(node, ()))
            found = at_pointer(node, document, reference.attribute)
            if not is_reference(found.value):
                return _Found(self._accept(found), end=(node, found.keys))
        except XGroupError as error:
            return _Found(error)
        return self.follow(found, *chain)

    def _failure(
        self,
        fragment: Fragment,
        reference: Reference,
        outcomes: Sequence[tuple[Node, _Found[Any]]],
        *,
        is_nested: bool,
    ) -> XGroupError:
        """Return the error of a reference none of whose candidates fits."""
        for _node, found in outcomes:
            failure = found.result
            if isinstance(failure, _EndlessError):
                return failure
            if isinstance(failure, XGroupStoreError) and failure.store:
                return _told_of(fragment, reference, failure, failure.reason)
        tried = []
        is_above = relative_path(self._referrer.group.path, reference.node) is None
        if reference.uri is None and is_above:  # perhaps a group of a store was opened as a store
            tried.append(_("above the root of the store"))
        for node, found in outcomes:
            if is_nested:  # reasons of reasons of reasons would grow without bound
                tried.append(str(node))
            else:
                why = self._tree.why_absent(node) if found.result is None else found.result
                tried.append(f"{node} ({why})")
        place, target = str(fragment), str(reference)
        reason = _("leads nowhere, tried {tried}").format(tried=", ".join(tried))
        message = f"{target!r} {reason}"
        return XGroupReferenceError(message, place=place, target=target, reason=reason)


def _told_of(
    fragment: Fragment, reference: Reference, error: XGroupError, reason: str
) -> XGroupError:
    """Return an error of the path or store of a reference with the place where that is written."""
    place, target = str(fragment), str(reference)
    if isinstance(error, XGroupStoreError):
        return XGroupStoreError.of(error.store, reason, place, target)
    return XGroupPathError(reason, place=place, target=target, reason=reason)


def _endless(before: Sequence[Fragment], fragment: Fragment) -> _EndlessError | None:
    """Return the error of references that lead to one of themselves, or to too many, None if they do not."""
    if not before:
        return None
    places = [str(link) for link in (*before, fragment)]
    if places[-1] in places[:-1]:
        reason = _("references form a cycle")
    elif len(places) > MAX_DEPTH:
        reason = _("more than {number} references follow one another").format(number=MAX_DEPTH)
    else:
        return None
    reason = f"{reason}: {' -> '.join(places)}"
    target = str(Reference.parse(before[0]))
    return _EndlessError(reason, place=places[0], target=target, reason=reason)


class _EndlessError(XGroupReferenceError):
    """References that do not end, whichever candidate is taken."""
