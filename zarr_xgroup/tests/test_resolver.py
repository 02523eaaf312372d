"""References: parsed, resolved to the first candidate that fits. No store, no xarray."""

import json
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupPathError,
    XGroupReferenceError,
    XGroupStoreError,
)
from zarr_xgroup.metadata.documents import Document, Found, JsonObject
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.paths import relative_path
from zarr_xgroup.metadata.references import Reference, at_pointer, is_reference, references_in
from zarr_xgroup.metadata.tree import KnownStore, Lack, Tree
from zarr_xgroup.resolver import MAX_DEPTH, Resolver, candidates

T = TypeVar("T")

fast = settings(derandomize=True, deadline=None, max_examples=120)


# Documents without a store.


@dataclass(eq=False)
class Plain:
    """Documents in a dict, other stores in another one.

    Attributes
    ----------
    is_consolidated : bool
        Whether all is known from the start.
    """

    documents: Mapping[str, Any]
    others: Mapping[str, "Plain"] = field(default_factory=dict)
    is_consolidated: bool = False

    def add_to(self, tree: Tree) -> None:
        """Add what is known of the store before anything is asked for."""
        root = Node(len(tree.stores), "")
        tree.stores.append(KnownStore("plain", 3, is_foreign=root.store > 0))
        if self.is_consolidated:
            tree.learn_consolidated(root, {path: self.at(path) for path in self.documents})

    def at(self, path: str) -> Found:
        if path not in self.documents:
            return {}
        return {"zarr.json": json.dumps(self.documents[path]).encode()}

    def opened_from(self, uri: str) -> "Plain | XGroupStoreError":
        return self.others.get(uri, XGroupStoreError(f"store {uri} cannot be opened"))


class CountingTree(Tree):
    """A tree that counts how often a document is looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def document(self, node: Node) -> Document | None:
        self.count += 1
        return super().document(node)


class Known:
    """What was read of plain stores: what an interpretation lacks, and only after it did.

    Attributes
    ----------
    read : list of Node
        The nodes that were read.
    tree : CountingTree
        What is known.
    """

    def __init__(self, documents: Plain) -> None:
        self.tree = CountingTree()
        self.read: list[Node] = []
        self._stores: list[Plain] = []
        self._number_of(documents)

    def interpreted(self, function: Callable[[Tree], T]) -> T:
        """Return what a function gives once all that it looks up is known."""
        while True:
            self.tree.lacking.clear()
            try:
                found = function(self.tree)
            except XGroupError:
                if not self.tree.lacking:
                    raise
            else:
                if not self.tree.lacking:
                    return found
            self._read(list(dict.fromkeys(self.tree.lacking)))

    def document(self, node: Node) -> Document | None:
        return self.interpreted(lambda tree: tree.document(node))

    def _read(self, lacking: list[Lack]) -> None:
        for lack in lacking:
            node, of_members, uri = lack
            assert not of_members
            assert not self.tree.is_answered(lack)
            if uri is None:
                self.tree.learn_node(node, self._stores[node.store].at(node.path))
                self.read.append(node)
            else:
                other = self._stores[node.store].opened_from(uri)
                root = Node(self._number_of(other), "") if isinstance(other, Plain) else other
                self.tree.links[node.store, uri] = root

    def _number_of(self, documents: Plain) -> int:
        if documents not in self._stores:
            self._stores.append(documents)
            documents.add_to(self.tree)
        return self._stores.index(documents)


def group(**attributes: Any) -> dict[str, Any]:
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def array(*shape: int, **attributes: Any) -> dict[str, Any]:
    document = {"zarr_format": 3, "node_type": "array", "shape": list(shape)}
    return {**document, "attributes": attributes}


def ref(node: str, attribute: str | None = None, uri: str | None = None) -> dict[str, str]:
    members = {"node": node, "attribute": attribute, "uri": uri}
    return {key: value for key, value in members.items() if value is not None}


def within(value: Any) -> Fragment:
    """Return a value as the attribute ``it`` of the array /g/a."""
    return Fragment(Node(0, "g/a"), ("attributes", "it"), value)


#: Given the document of an array, says why it cannot be the one meant.
Fits = Callable[[Document], str | None]


class Following:
    """Follows references of one array; takes down the notes."""

    def __init__(self, documents: Plain, path: str) -> None:
        self.node = Node(0, path)
        self.known = Known(documents)
        self.notes: list[str] = []

    def resolver(self, tree: Tree) -> Resolver:
        return Resolver(tree, self.node, lambda text, place: self.notes.append(f"{place}: {text}"))

    def written(self, value: Any) -> Fragment:
        return Fragment(self.node, ("attributes", "it"), value)

    def array(self, value: Any, fits: Fits | None = None) -> str:
        return self.array_from(self.written(value), fits)

    def fragment(self, value: Any) -> Fragment:
        written = self.written(value)
        return self.known.interpreted(lambda tree: self.resolver(tree).fragment(written))

    def array_from(self, fragment: Fragment, fits: Fits | None = None) -> str:
        return str(self.node_from(fragment, fits))

    def node_from(self, fragment: Fragment, fits: Fits | None = None) -> Node:
        def resolved(tree: Tree) -> Node:
            if fits is None:
                return self.resolver(tree).array(fragment)
            return self.resolver(tree).array(fragment, lambda node: reason(tree, node))

        def reason(tree: Tree, node: Node) -> str | None:
            document = tree.document(node)
            assert document is not None
            assert fits is not None
            return fits(document)

        return self.known.interpreted(resolved)


def has_shape(*shape: int) -> Fits:
    def fits(document: Document) -> str | None:
        found = document["shape"]
        return None if found == list(shape) else f"its shape is {found}"

    return fits


# Parsing.


@pytest.mark.parametrize("wrap", [lambda it: it, lambda it: {"ref": it}], ids=["bare", "in ref"])
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"node": "time"}, Reference("time")),
        ({"node": "/"}, Reference("/")),
        ({"node": "/a/b"}, Reference("/a/b")),
        ({"node": ".."}, Reference("..")),
        ({"node": "../../a/"}, Reference("../../a/")),
        ({"node": "a b\u00e9~#?"}, Reference("a b\u00e9~#?")),
        ({"node": "time", "attribute": ""}, Reference("time", None, "")),
        ({"node": "time", "attribute": "/a"}, Reference("time", None, "/a")),
        ({"node": "time", "attribute": "/~0~1/"}, Reference("time", None, "/~0~1/")),
        ({"node": "t", "uri": "s3://b/k"}, Reference("t", "s3://b/k")),
        ({"node": "t", "uri": "file:///x", "attribute": "/a"}, Reference("t", "file:///x", "/a")),
        ({"node": "t", "uri": None, "attribute": None}, Reference("t")),
        ({"node": "t", "more": 1}, Reference("t")),
    ],
    ids=str,
)
def test_parse(
    written: dict[str, Any], expected: Reference, wrap: Callable[[Any], dict[str, Any]]
) -> None:
    assert Reference.parse(within(wrap(written))) == expected


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (None, "/g/a#/attributes/it: must be an object, got null"),
        ([{"node": "time"}], "/g/a#/attributes/it: must be an object, got list"),
        ({}, "/g/a#/attributes/it: is no reference: it has no 'node'"),
        ({"attribute": "/a"}, "/g/a#/attributes/it: is no reference: it has no 'node'"),
        ({"ref": {"uri": "x"}}, "/g/a#/attributes/it/ref: is no reference: it has no 'node'"),
        ({"ref": "time"}, "/g/a#/attributes/it/ref: must be an object, got string"),
        ({"node": 5}, "/g/a#/attributes/it/node: must be a string, got number"),
        ({"ref": {"node": 5}}, "/g/a#/attributes/it/ref/node: must be a string, got number"),
        ({"node": "a", "uri": {}}, "/g/a#/attributes/it/uri: must be a string, got object"),
        (
            {"ref": {"node": "a", "attribute": 0}},
            "/g/a#/attributes/it/ref/attribute: must be a string, got number",
        ),
    ],
    ids=str,
)
def test_parse_what_is_no_reference(written: Any, message: str) -> None:
    with pytest.raises(XGroupMetadataError, match=f"^{re.escape(message)}$"):
        Reference.parse(within(written))


@pytest.mark.parametrize("path", ["", "//", "//a", "a//b", "a//", "a\0b"], ids=repr)
@pytest.mark.parametrize("wrapped", [False, True])
def test_parse_what_is_no_path(path: str, wrapped: bool) -> None:
    written = {"ref": {"node": path}} if wrapped else {"node": path}
    place = "/g/a#/attributes/it/ref/node" if wrapped else "/g/a#/attributes/it/node"
    message = f"{place}: {path!r} is not the path of a node"
    with pytest.raises(XGroupPathError, match=f"^{re.escape(message)}$"):
        Reference.parse(within(written))


@pytest.mark.parametrize("pointer", ["a", "a/b", "#/a", " /a", "/~", "/a~", "/~2", "/a/~x", "~0"])
def test_parse_what_is_no_pointer(pointer: str) -> None:
    message = f"/g/a#/attributes/it/attribute: {pointer!r} is no JSON pointer"
    with pytest.raises(XGroupPathError, match=f"^{re.escape(message)}$"):
        Reference.parse(within({"node": "a", "attribute": pointer}))


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (Reference("../time"), "../time"),
        (Reference("/", None, "/attributes/crs/x"), "/#/attributes/crs/x"),
        (Reference("a", None, ""), "a#"),
        (Reference("a", "s3://b", "/c"), "s3://b|a#/c"),
    ],
)
def test_a_reference_in_short(reference: Reference, text: str) -> None:
    assert str(reference) == text


# Paths.


_SEGMENTS = st.sampled_from(["a", "b", "g", ".", "..", "...", "..a", "a.", "\u00e9 "])
_NAMES = st.sampled_from(["a", "b", "g", "h", "..."])


@fast
@given(
    st.lists(_NAMES, max_size=4).map("/".join),
    st.lists(_SEGMENTS, min_size=1, max_size=7).map("/".join),
    st.sampled_from(["", "/"]),
)
@example("g", "../../g", "")
def test_join_is_as_posixpath_has_it_but_never_clamped(base: str, path: str, end: str) -> None:
    # Far below a root that no path leads back to by name.
    above = "/".join(f"above{number}" for number in range(10))
    read = posixpath.normpath(f"{above}/{base}/{path}{end}")
    expected = read[len(above) :].lstrip("/") if f"{read}/".startswith(f"{above}/") else None
    assert relative_path(base, path + end) == expected


# Pointers.


@pytest.mark.parametrize(
    ("pointer", "at"),
    [
        ("/absent", "/absent"),
        ("/absent/more/~1", "/absent"),
        ("/list/2", "/list/2"),
        ("/list/-", "/list/-"),  # RFC 6901: the element after the last one
        ("/list/-1", "/list/-1"),
        ("/list/01", "/list/01"),
        ("/list/+1", "/list/+1"),
        ("/list/\u0661", "/list/\u0661"),  # an Arabic digit
        ("/list/a~1~0b/c", "/list/a~1~0b"),
        ("/text/0", "/text/0"),
        ("/number/0", "/number/0"),
        ("/null/0", "/null/0"),
        ("/list/" + "9" * 5000, "/list/" + "9" * 5000),
    ],
    ids=lambda text: text[:12],
)
def test_pointers_to_nothing(pointer: str, at: str) -> None:
    document = {"list": [0, 1], "text": "ab", "number": 5, "null": None}
    message = f"nothing stands at #{at}"
    with pytest.raises(XGroupReferenceError, match=f"^{re.escape(message)}$"):
        at_pointer(Node(0, "a"), document, pointer)


def rfc6901(document: Any, pointer: str) -> Any:
    """Read a pointer character by character; raise ValueError, or LookupError without a value."""
    tokens: list[str] = []
    position = 0
    while position < len(pointer):
        character = pointer[position]
        if character == "/":
            tokens.append("")
        elif not tokens:
            raise ValueError(pointer)
        elif character == "~":
            position += 1
            escaped = pointer[position : position + 1]
            if escaped not in ("0", "1") or not escaped:
                raise ValueError(pointer)
            tokens[-1] += "~" if escaped == "0" else "/"
        else:
            tokens[-1] += character
        position += 1
    for token in tokens:
        if isinstance(document, dict):
            document = document[token]
        elif isinstance(document, list):
            positions = {str(number): number for number in range(len(document))}
            document = document[positions[token]]
        else:
            raise KeyError(token)
    return document


_KEYS = st.text(alphabet="~/01a-", max_size=3)
_JSON = st.recursive(
    st.none() | st.integers(0, 9) | _KEYS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(_KEYS, values, max_size=4),
    max_leaves=12,
)


@fast
@given(
    st.dictionaries(_KEYS, _JSON, max_size=5),
    st.lists(st.sampled_from(["/", "~", "~0", "~1", "0", "1", "a", "-", "01", "2"]), max_size=8),
)
@example({"": {"": 1}}, ["/", "/"])
@example({"a": [1]}, ["/", "a", "/", "01"])
@example({"~1": 1}, ["/", "~0", "1"])
def test_pointers_are_read_as_an_independent_reader_does(
    document: dict[str, Any], parts: list[str]
) -> None:
    pointer = "".join(parts)
    members = {key: json.dumps(value).encode() for key, value in document.items()}
    for read in (document, JsonObject(members)):  # decoded, and not yet
        try:
            expected = rfc6901(document, pointer)
        except ValueError:
            with pytest.raises(XGroupPathError):
                at_pointer(Node(0, "a"), read, pointer)
        except LookupError:
            with pytest.raises(XGroupReferenceError):
                at_pointer(Node(0, "a"), read, pointer)
        else:
            found = at_pointer(Node(0, "a"), read, pointer)
            assert found.value == expected
            assert found.pointer == pointer


@fast
@given(st.dictionaries(_KEYS, _JSON, max_size=5))
def test_every_value_is_found_by_its_own_pointer(document: dict[str, Any]) -> None:
    fragments = [Fragment(Node(0, "a"), (), document)]
    while fragments:
        fragment = fragments.pop()
        assert at_pointer(Node(0, "a"), document, fragment.pointer) == fragment
        assert rfc6901(document, fragment.pointer) is fragment.value
        if isinstance(fragment.value, dict):
            fragments += [member for _key, member in fragment.members()]
        elif isinstance(fragment.value, list):
            fragments += fragment.items()


# Candidates: design, "References".


def test_candidates_of_a_fragment_of_another_store_are_in_that_store() -> None:
    third = Plain({})
    other = Plain({"s": group(), "s/b": array(1)}, {"file:///third": third})
    documents = Plain({"g/a": array(1), "time": array(1)}, {"file:///other": other})
    known = Known(documents)
    known.interpreted(lambda tree: tree.foreign(0, "file:///other", ""))

    def found(reference: Reference, written: str) -> list[Node]:
        return known.interpreted(
            lambda tree: candidates(reference, Node(0, "g/a"), Node(1, written), tree)
        )

    for written, node, expected in [
        ("s/b", "time", ["s/time", "s/b/time"]),
        ("s/b", "../time", ["time", "s/time"]),
        ("s", "time", ["s/time", "time"]),
        ("s", "/time", ["time"]),
    ]:
        assert found(Reference(node), written) == [Node(1, path) for path in expected]
    assert found(Reference("time", "file:///third"), "s/b") == [Node(2, "time")]
    # A foreign store knows stores by its own means, never by those of the referring one.
    with pytest.raises(XGroupStoreError, match=r"^store file:///fourth cannot be opened$"):
        found(Reference("time", "file:///fourth"), "s/b")


@pytest.mark.parametrize(
    ("referrer", "reference"),
    [
        ("a", Reference("../../time")),
        ("g/a", Reference("../../../time")),
        ("g/a", Reference("../../../g/time")),
        ("g/a", Reference("/../time")),
        ("g/a", Reference("/g/../../g/time")),
        ("g/a", Reference("../time", "file:///other")),
        ("g/a", Reference("/h/../../time", "file:///other")),
    ],
    ids=str,
)
def test_above_the_root_is_never_clamped(referrer: str, reference: Reference) -> None:
    everything = {"": group(), "g": group(), "time": array(1), "g/time": array(1)}
    documents = Plain(everything, {"file:///other": Plain(everything)})
    message = f"{reference.node!r} leads above the root of the store"
    if reference.uri is None and not reference.node.startswith("/"):
        message += "; if that is a group of a larger store, open the larger one, with group=..."
    following = Following(documents, referrer)
    node = following.node
    with pytest.raises(XGroupPathError, match=f"^{re.escape(message)}$"):
        following.known.interpreted(lambda tree: candidates(reference, node, node, tree))
    whole = f"/{referrer}#/attributes/it: {message}"
    with pytest.raises(XGroupPathError, match=f"^{re.escape(whole)}$"):
        following.array(ref(reference.node, uri=reference.uri))


# The first that exists and fits.

PLACES = Plain(
    {
        "": group(),
        "time": array(3),
        "g": group(crs={"x": {"axes": 1}}),
        "g/a": array(3, own=[{"deep": "own"}]),
        "g/time": array(4),
        "g/only": array(5),
        "g/level": group(),
        "level": array(6),
        "c": group(),
        "c/lat": array(7),
    }
)


@pytest.mark.parametrize(
    ("fits", "taken", "passed"),
    [
        (None, "/time", "/g/time (which fits too)"),
        (has_shape(4), "/g/time", "/time (its shape is [3])"),
        (has_shape(3), "/time", None),
    ],
    ids=["both", "the second", "the first"],
)
def test_the_first_that_fits_is_taken_with_a_note_on_others(
    fits: Fits | None, taken: str, passed: str | None
) -> None:
    following = Following(PLACES, "g/a")
    assert following.array(ref("../time"), fits) == taken
    note = f"/g/a#/attributes/it: '../time' was taken to be {taken}, not {passed}"
    assert following.notes == ([] if passed is None else [note])


def test_a_group_is_passed_over_where_an_array_is_needed() -> None:
    documents = Plain({**PLACES.documents, "h": group(), "h/a": array(1), "h/level": group()})
    following = Following(documents, "h/a")
    assert following.array(ref("../level")) == "/level"
    assert following.notes == []
    documents = Plain({**documents.documents, "level": group(), "h/level": array(6)})
    following = Following(documents, "h/a")
    assert following.array(ref("../level")) == "/h/level"
    assert following.notes == [
        (
            "/h/a#/attributes/it: '../level' was taken to be /h/level, not "
            "/level (an array is needed, found a group)"
        )
    ]


def test_all_that_was_passed_over_is_noted() -> None:
    documents = Plain(
        {
            "": group(),
            "g/a": array(1),
            "time": array(1),
            "g/time": array(2),
            "s": group(it=ref("../time")),
            "s/u": group(it=ref("../time")),
            "s/time": array(2),
        }
    )
    following = Following(documents, "g/a")
    fragment = Fragment(Node(0, "s/u"), ("attributes", "it"), ref("../time"))
    assert following.array_from(fragment, has_shape(2)) == "/g/time"
    assert following.notes == [
        (
            "/s/u#/attributes/it: '../time' was taken to be /g/time, not /time (its shape is [1]), "
            "/s/time (which fits too)"
        )
    ]


def test_the_same_node_reached_twice_is_no_choice() -> None:
    # From the group of the array, and from the group where the reference is written.
    documents = Plain({"g": group(it=ref("time")), "g/a": array(1), "g/time": array(1)})
    following = Following(documents, "g/a")
    fragment = Fragment(Node(0, "g"), ("attributes", "it"), ref("time"))
    assert following.array_from(fragment) == "/g/time"
    assert following.notes == []


def test_a_malformed_reference_is_told_as_such() -> None:
    with pytest.raises(XGroupMetadataError, match=r"^/g/a#/attributes/it: must be an object"):
        Following(PLACES, "g/a").array("time")


# Values.


@pytest.mark.parametrize("value", [None, 5, "time", [ref("x")], {"a": 1}, {"node": 5}], ids=str)
def test_a_value_that_is_no_reference_is_itself(value: Any) -> None:
    following = Following(PLACES, "g/a")
    assert following.fragment(value) == following.written(value)


def test_a_pointer_that_does_not_resolve_passes_on_to_the_next_candidate() -> None:
    following = Following(PLACES, "g/a")
    found = following.fragment(ref("..", "/attributes/crs/x"))
    assert str(found) == "/g#/attributes/crs/x"
    assert following.notes == [
        (
            "/g/a#/attributes/it: '..#/attributes/crs/x' was taken to be /g, not "
            "/ (nothing stands at #/attributes/crs)"
        )
    ]


# Chains.


def test_a_chain_is_followed_from_place_to_place() -> None:
    documents = Plain(
        {
            "g/a": array(1),
            "s": group(it=ref("../t", "/attributes/it")),
            "t": group(it={"ref": ref("u/v", "/attributes/it")}),
            "t/u": group(),
            "t/u/v": array(1, it=ref("w")),
            "t/u/w": array(2),
        }
    )
    following = Following(documents, "g/a")
    assert following.array(ref("/s", "/attributes/it")) == "/t/u/w"
    assert str(following.fragment(ref("/s", "/attributes/it"))) == "/t/u/w#"
    assert following.notes == []


def test_why_the_end_of_a_chain_does_not_fit() -> None:
    documents = Plain({"g/a": array(1), "s": group(it=ref("/lost"))})
    message = (
        "/g/a#/attributes/it: '/s#/attributes/it' leads nowhere, tried /s (/s#/attributes/it: "
        "'/lost' leads nowhere, tried /lost (not found in store))"
    )
    with pytest.raises(XGroupReferenceError, match=f"^{re.escape(message)}$"):
        Following(documents, "g/a").array(ref("/s", "/attributes/it"))


def test_a_cycle_ends_in_an_error_that_shows_it() -> None:
    # The way in is no part of the circle.
    on = {"it": "b", "b": "c", "c": "b"}
    attributes = {key: ref("/g/a", f"/attributes/{other}") for key, other in on.items()}
    following = Following(Plain({"g/a": array(1, **attributes)}), "g/a")
    chain = " -> ".join(f"/g/a#/attributes/{key}" for key in ("it", "b", "c", "b"))
    message = f"/g/a#/attributes/it: references form a cycle: {chain}"
    for follow in (following.array, following.fragment):
        with pytest.raises(XGroupReferenceError, match=f"^{re.escape(message)}$"):
            follow(attributes["it"])


def chain_of(length: int) -> Plain:
    """Return references 0 -> 1 -> ... of which the last one leads to an array."""
    attributes: dict[str, Any] = {
        str(number): ref("/a", f"/attributes/{number + 1}") for number in range(length - 1)
    }
    attributes[str(length - 1)] = ref("/end")
    return Plain({"a": array(1, **attributes), "end": array(1)})


def first_of(documents: Plain) -> Fragment:
    return Fragment(Node(0, "a"), ("attributes", "0"), documents.documents["a"]["attributes"]["0"])


def test_a_chain_may_be_as_long_as_the_limit() -> None:
    documents = chain_of(MAX_DEPTH)
    assert Following(documents, "a").array_from(first_of(documents)) == "/end"


@pytest.mark.parametrize("length", [MAX_DEPTH + 1, 10_000])
def test_a_longer_chain_ends_in_an_error_that_shows_it(length: int) -> None:
    documents = chain_of(length)
    chain = [f"/a#/attributes/{number}" for number in range(MAX_DEPTH + 1)]
    message = (
        f"/a#/attributes/0: more than {MAX_DEPTH} references follow one another: "
        f"{' -> '.join(chain)}"
    )
    with pytest.raises(XGroupReferenceError, match=f"^{re.escape(message)}$"):
        Following(documents, "a").array_from(first_of(documents))


@pytest.mark.parametrize("end", ["/end", "/lost"])
def test_work_does_not_double_with_each_reference(end: str) -> None:
    # Each reference has candidates that all lead on, each to the next reference.
    length = MAX_DEPTH - 1
    attributes = {
        str(number): ref("../a", f"/attributes/{number + 1}") for number in range(length - 1)
    }
    attributes[str(length - 1)] = ref(end)
    paths = ("a", "g/a", "g/h/a", "g/h/i/a", "g/h/i/j/a")
    documents = Plain({path: array(1, **attributes) for path in paths} | {"end": array(1)})
    following = Following(documents, "g/h/i/j/a")
    try:
        assert following.array(ref("../a", "/attributes/0")) == "/end"
    except XGroupReferenceError as error:
        assert end == "/lost"
        assert len(str(error)) < 100_000  # noqa: PT017 - it need not be raised for this end only
    assert following.known.tree.count < 5000
    assert len("".join(following.notes)) < 100_000


# What is lacking.


def test_nothing_is_needed_to_tell_an_error() -> None:
    documents = Plain(PLACES.documents, is_consolidated=True)
    following = Following(documents, "g/a")
    with pytest.raises(XGroupReferenceError) as error:
        following.array(ref("lost"))
    lookups = following.known.tree.count
    following.known.tree.forget()
    assert str(error.value) == (
        "/g/a#/attributes/it: 'lost' leads nowhere, tried /g/lost (not in the consolidated metadata), "
        "/g/a/lost (not found in store); if the store is newer, open it with consolidated=False"
    )
    assert following.known.tree.count == lookups


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"node": "a"}, True),
        ({"ref": {"node": "a"}}, True),
        ({"node": "a", "attribute": 5}, True),  # one that is malformed
        ({"node": 5}, False),
        # What is in 'ref' does not count beside a node.
        ({"node": "a", "ref": {"node": 5}}, True),
        ({"node": 5, "ref": {"node": "a"}}, False),
        ({"ref": {"node": None}}, False),
        ({"ref": "a"}, False),
        ({"ref": {"ref": {"node": "a"}}}, False),
        ({}, False),
        ([{"node": "a"}], False),
        ("a", False),
        (None, False),
    ],
    ids=str,
)
def test_what_is_written_as_a_reference(value: Any, expected: bool) -> None:
    assert is_reference(value) is expected


def test_references_within_a_value() -> None:
    value = {
        "a": {"node": "1", "attribute": {"node": "not looked for"}},
        "b": [{"ref": {"node": "2"}}, [{"c": {"node": "3"}}], 5, "node", None],
        "d~/": {"node": "4"},
        "node": 5,
    }
    found = [(str(item), item.value) for item in references_in(within(value))]
    assert found == [
        ("/g/a#/attributes/it/a", value["a"]),
        ("/g/a#/attributes/it/b/0", {"ref": {"node": "2"}}),
        ("/g/a#/attributes/it/b/1/0/c", {"node": "3"}),
        ("/g/a#/attributes/it/d~0~1", {"node": "4"}),
    ]
