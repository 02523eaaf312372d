"""References: what is written where, and the array that it leads to or the error that says why it leads to none."""

import json
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from zarr.storage import MemoryStore

from zarr_xgroup import XGroupError, XGroupReferenceError, XGroupWarning
from zarr_xgroup.conventions.ref import RefHandler
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.paths import relative_path
from zarr_xgroup.metadata.references import Reference, at_pointer, references_in
from zarr_xgroup.resolver import MAX_DEPTH
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    Json,
    build,
    consolidate,
    declaring,
    memory_store,
    opened_with_warnings,
    write_local,
)
from zarr_xgroup.tests.tables import rows

fast = settings(derandomize=True, deadline=None, max_examples=120)

#: Paths of arrays, and of groups if they end with a slash, in one text or with their attributes. An array is along
#: x and has two values, unless its length stands behind it: ``time[3]``.
Places: TypeAlias = str | Mapping[str, Json]


def ref(text: str, uri: str | None = None) -> Json:
    """Return a reference to a node, with a JSON pointer after ``#``."""
    node, sign, pointer = text.partition("#")
    members = {"node": node, "attribute": pointer if sign else None, "uri": uri}
    return {key: value for key, value in members.items() if value is not None}


def external(reference: Json) -> Json:
    """Return a CRS whose axis x has the values of an array."""
    return {"axes": {"x": {"coordinates": [{"values": {"external": reference}}]}}}


def nodes_of(places: Places, store: str = "") -> dict[str, Array | Group]:
    """Return nodes by path; each array has its own path as an attribute."""
    if isinstance(places, str):
        places = {place: {} for place in places.split()}
    nodes: dict[str, Array | Group] = {"": Group()}
    for place, attrs in places.items():
        path, _bracket, length = place.rstrip("/]").partition("[")
        if place.endswith("/"):
            nodes[path] = Group(attrs=attrs)
        else:
            own = {"path": f"{store}/{path}", **attrs}
            nodes[path] = Array(np.ones(int(length or 2)), ("x",), own)
    return nodes


def stored(places: Places, attributes: Json, at: str = "g/a") -> Contents:
    """Return a store of places and of an array with these attributes, which declares `cs` or `ref`."""
    declared = declaring("cs" if "cs" in attributes else "ref", **attributes)
    parent = at.rpartition("/")[0]
    nodes = nodes_of(places) | {at: Array(np.ones(2), ("x",), declared)}
    return build({"": Group(), parent: Group(), **nodes})


def follow(store: Contents | Path, group: str = "g") -> str:
    """Return the paths of the coordinates that a group has, and what is told of references, without its beginning."""
    address: MemoryStore | Path = store if isinstance(store, Path) else memory_store(store)
    dataset, warnings = opened_with_warnings(xr.open_dataset, address, group=group)
    paths = sorted(coord.attrs.get("path", "positions") for coord in dataset.coords.values())
    return "; ".join([" ".join(paths), *map(_told, warnings)])


def _told(warning: XGroupWarning) -> str:
    text = str(warning.error or warning).removeprefix("/g/a: ")
    return re.sub(r"^/g/a#/attributes/it: |^\S*/values/external: ", "", text)


# Where references lead.

NOT_FOUND = "(not found in store)"
LARGER = "; if the opened store is a group of a larger store, open that store with group=..."
#: Groups with references that other references lead to.
CHAIN: Json = {
    "s/": {"it": ref("../t#/attributes/it")},
    "t/": {"it": {"ref": ref("u/v#/attributes/it")}},
    "t/u/": {},
    "t/u/v": {"it": ref("w")},
    "t/u/w": {},
}
REFERENCES: dict[str, tuple[Places, Any, str]] = {
    "the group comes first, and the choice is reported": (
        "s/ s/time g/s/ g/s/time",
        ref("../s/time"),
        "/s/time; '../s/time' was resolved to /s/time, not to /g/s/time (which fits too)",
    ),
    "a group is passed over where an array is needed": (
        "s/ s/time/ g/s/ g/s/time",
        ref("../s/time"),
        "/g/s/time; '../s/time' was resolved to /g/s/time, not to /s/time (an array is needed, found a group)",
    ),
    "lists and deeper": ("g/b c", {"0": [ref("b"), {"1": ref("/c")}, "b"]}, "/c /g/b"),
    "a value in a document attaches nothing": ("g/b", ref("b#/attributes/path"), ""),
    "nor does a group, or its document": ("s/", [ref("/s"), ref("/s#")], ""),
    "nor does the array itself": ("", [ref("a"), ref("../a")], ""),
    "nothing is there": (
        "time",
        ref("lost"),
        f"; 'lost' cannot be resolved; tried /g/lost {NOT_FOUND}, /g/a/lost {NOT_FOUND}",
    ),
    "above the root": (
        "time g/time",
        ref("../../../time"),
        f"; '../../../time' points above the root of the store{LARGER}",
    ),
    "above the root from the root": (
        "time g/time",
        ref("/g/../../g/time"),
        "; '/g/../../g/time' points above the root of the store",
    ),
    "a pointer to nothing": (
        "g/b",
        ref("b#/attributes/no"),
        (
            "; 'b#/attributes/no' cannot be resolved; tried /g/b (there is no value at #/attributes/no), "
            f"/g/a/b {NOT_FOUND}"
        ),
    ),
    "a pointer that resolves in the second candidate": (
        {"": {"it": 1}, "g/": {"crs": {"x": ref("/c")}}, "c": {}},
        ref("..#/attributes/crs/x"),
        "/c; '..#/attributes/crs/x' was resolved to /g, not to / (there is no value at #/attributes/crs)",
    ),
    "a chain is followed from place to place": (CHAIN, ref("/s#/attributes/it"), "/t/u/w"),
    "the group of the array comes before that of the reference": (
        {"s/": {"it": ref("time")}, "s/time": {}, "g/time": {}},
        ref("/s#/attributes/it"),
        "/g/time",
    ),
    "the end of a chain is lost": (
        {"s/": {"it": ref("/lost")}},
        ref("/s#/attributes/it"),
        (
            "; '/s#/attributes/it' cannot be resolved; tried /s (/s#/attributes/it: '/lost' cannot be resolved; "
            f"tried /lost {NOT_FOUND})"
        ),
    ),
    "a circle, with the way into it": (
        {"s/": {"b": ref("/s#/attributes/c"), "c": ref("/s#/attributes/b")}},
        ref("/s#/attributes/b"),
        (
            "; references form a cycle: /g/a#/attributes/it -> /s#/attributes/b -> /s#/attributes/c "
            "-> /s#/attributes/b"
        ),
    ),
}


@rows(REFERENCES, "places, it, expected")
def test_targets_of_references(places: Places, it: Any, expected: str) -> None:
    assert follow(stored(places, {"it": it})) == expected


SHAPE = "(its shape is [3], but axis 'x' needs [2])"
#: The same of values of an axis, which are as many as the dimension is long.
VALUES: dict[str, tuple[Places, Json, str]] = {
    "the first candidate is too long": (
        "s/ s/time[3] g/s/ g/s/time",
        ref("../s/time"),
        f"/g/s/time; '../s/time' was resolved to /g/s/time, not to /s/time {SHAPE}",
    ),
    "of a shared CRS, all skipped targets are reported": (
        {"s/": {}, "s/u/": {"crs": external(ref("../t/time"))}, "s/t/": {}, "s/t/time": {}}
        | {"t/": {}, "t/time[3]": {}, "g/t/": {}, "g/t/time": {}},
        ref("/s/u#/attributes/crs"),
        f"/g/t/time; '../t/time' was resolved to /g/t/time, not to /t/time {SHAPE}, /s/t/time (which fits too)",
    ),
    "the group's own coordinate is used whichever node is meant": ("x g/x", ref("../x"), "/g/x"),
    "of an array of the shared CRS, its group comes first": (
        {"s/": {}, "s/b": {"crs": external(ref("../time"))}, "s/time": {}, "time": {}},
        ref("/s/b#/attributes/crs"),
        "/time; '../time' was resolved to /time, not to /s/time (which fits too)",
    ),
}


@rows(VALUES, "places, reference, expected")
def test_values_of_an_axis_have_to_fit(places: Places, reference: Json, expected: str) -> None:
    crs = reference if "attribute" in reference else external(reference)
    assert follow(stored(places, {"cs": {"crs": [crs]}})) == expected


def test_a_reference_that_consolidated_metadata_leave_out() -> None:
    contents = consolidate(stored("time", {"it": ref("lost")}))
    assert follow(contents) == (
        "; 'lost' cannot be resolved; tried /g/lost (not in the consolidated metadata), /g/a/lost "
        f"{NOT_FOUND}; if the store is newer, open it with consolidated=False"
    )


@pytest.mark.parametrize("more", [0, 10_000])
def test_a_chain_may_be_as_long_as_the_limit(more: int) -> None:
    last = MAX_DEPTH - 1 + more
    steps = {str(n): ref(f"/s#/attributes/{n + 1}") for n in range(1, last)}
    places = {"s/": {**steps, str(last): ref("/end")}, "end": {}}
    told = "/end"
    if more:
        places_told = ["/g/a#/attributes/it", *(f"/s#/attributes/{n}" for n in range(1, 17))]
        told = f"; there is a chain of more than 16 references: {' -> '.join(places_told)}"
    assert follow(stored(places, {"it": ref("/s#/attributes/1")})) == told


def test_work_does_not_double_with_each_reference() -> None:
    # Each reference has candidates that all lead on, each to the next reference.
    last = MAX_DEPTH - 2
    steps = {str(n): ref(f"../a#/attributes/{n + 1}") for n in range(last)}
    groups = ("g/h/i/j/", "g/h/i/", "g/h/", "g/", "")
    places: Json = {group: {} for group in groups[::-1]}
    places |= {f"{group}a": {**steps, str(last): ref("/lost")} for group in groups}
    text = follow(stored(places, {"it": ref("../a#/attributes/0")}, "g/h/i/j/b"), "g/h/i/j")
    assert 0 < len(text) < 100_000


#: References to a node of another store, in which others stand.
FOREIGN = {
    "relative means the root, too": ("time", "other/time"),
    "followed from a group there, never from here": (
        "s#/attributes/it",
        "other/s/time; /s#/attributes/it: 'time' was resolved to /s/time, not to /time (which fits too)",
    ),
    "to a third store that is not there": (
        "s#/attributes/lost",
        "; store file:///lost cannot be opened",
    ),
    "above the root": ("../time", "; '../time' points above the root of the store"),
}


@rows(FOREIGN, "node, expected")
def test_references_to_and_in_other_stores(node: str, expected: str, tmp_path: Path) -> None:
    places = {"s/": {"it": ref("time"), "lost": ref("t", "file:///lost")}, "s/time": {}, "time": {}}
    other = write_local(build(nodes_of(places, "other")), tmp_path / "other").as_uri()
    here = write_local(stored("time s/ s/time", {"it": ref(node, other)}), tmp_path / "here")
    # Why a store cannot be opened is told in words of zarr, which differ.
    assert follow(here).partition(": not found")[0] == expected


# What is written as a reference.

IT = "/g/a#/attributes/it"
NO_NODE = "is not a reference: it has no 'node'"
#: JSON, and the reference in short or the error.
WRITTEN = {
    '{"node": "time"}': "time",
    '{"node": "a b\u00e9~#?", "more": 1}': "a b\u00e9~#?",
    '{"node": "time", "attribute": ""}': "time#",
    '{"node": "time", "attribute": "/~0~1/", "uri": null}': "time#/~0~1/",
    '{"node": "t", "uri": "s3://b/k", "attribute": "/a"}': "s3://b/k|t#/a",
    "null": f"{IT}: must be an object, got null",
    '{"ref": "time"}': f"{IT}/ref: must be an object, got string",
    '{"ref": {"node": 5}}': f"{IT}/ref/node: must be a string, got number",
    **{
        f'{{"node": "{path}"}}': f"{IT}/node: '{path}' is not a valid path of a node"
        for path in ("//a", "a//", "a\\u0000b")
    },
    **{
        f'{{"node": "a", "attribute": "{pointer}"}}': f"{IT}/attribute: '{pointer}' is not a valid JSON pointer"
        for pointer in ("#/a", " /a", "/~", "/a/~x")
    },
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRITTEN.items())
def test_the_form_of_a_reference(text: str, expected: str) -> None:
    value = json.loads(text)
    written = [value] if expected.startswith(IT) else [value, {"ref": value}]
    for item in written:
        fragment = Fragment(Node(0, "g/a"), ("attributes", "it"), item)
        try:
            found = str(Reference.parse(fragment))
        except XGroupError as error:
            found = str(error).replace("\\x00", "\\u0000")
        assert found == expected


def test_references_within_a_value() -> None:
    value: Json = {
        "a": {"node": "1", "attribute": {"node": "not looked for"}, "ref": {"node": 5}},
        "b": [{"ref": {"node": "2"}}, [{"c": {"node": "3"}}], 5, "node", None],
        "d~/": {"node": 5, "ref": {"node": "4"}},
        "e": [{"ref": {"node": None}}, {"ref": "a"}, {}, {"attribute": "/a"}],
        "node": 5,
    }
    found = [str(item) for item in references_in(Fragment(Node(0, "g/a"), (), value))]
    assert found == ["/g/a#/a", "/g/a#/b/0", "/g/a#/b/1/0/c", "/g/a#/d~0~1/ref"]


def test_attributes_that_hold_references_can_be_dropped() -> None:
    reference = ref("b")
    others = {"cs": reference, "spatial:mine": reference, "zarr_conventions": [reference]}
    attributes = {"mine": {"deep": [reference]}, "empty": {}, "text": "b", **others}
    assert list(RefHandler.owned({**attributes, "yours": reference})) == ["mine", "yours"]


# The attribute `ref`, in which nothing but references is meant.

REF: dict[str, tuple[Any, str]] = {
    "an empty list": ([], ""),
    "by name": ({"time": ref("/b")}, "/b"),
    "a number": (7, "; /g/a#/attributes/ref: must be an object, got number"),
    "an item of a list without a node": (
        [ref("/b"), {"path": "b"}],
        f"/b; /g/a#/attributes/ref/1: {NO_NODE}",
    ),
}


@rows(REF, "value, expected")
def test_the_attribute_ref(value: Any, expected: str) -> None:
    assert follow(stored("b", {"ref": value})) == expected


def test_ref_of_an_array_that_does_not_declare_it_may_be_anything() -> None:
    attrs = declaring("spatial", ref="main", it=ref("b"))
    nodes = {**nodes_of("b"), "a": Array(np.ones(2), ("x",), attrs)}
    text = follow(build(nodes), "")
    assert not text.startswith("/b")
    assert "attributes/ref" not in text


# Paths and pointers.

_SEGMENTS = st.sampled_from(["a", "b", "g", ".", "..", "...", "..a", "a.", "\u00e9 "])
_NAMES = st.sampled_from(["a", "b", "g", "h", "..."])


@fast
@given(
    st.lists(_NAMES, max_size=4).map("/".join),
    st.lists(_SEGMENTS, min_size=1, max_size=7).map("/".join),
    st.sampled_from(["", "/"]),
)
@example("g", "../../g", "")
def test_paths_agree_with_posixpath_but_are_never_clamped(base: str, path: str, end: str) -> None:
    # Far below a root that no path leads back to by name.
    above = "/".join(f"above{number}" for number in range(10))
    read = posixpath.normpath(f"{above}/{base}/{path}{end}")
    expected = read[len(above) :].lstrip("/") if f"{read}/".startswith(f"{above}/") else None
    assert relative_path(base, path + end) == expected


DOCUMENT = {"": {"": 1}, "list": [0, {"~1": 2}], "a/~b": "ab", "null": None}
#: What stands at the places of JSON pointers (RFC 6901).
POINTERS: dict[str, Any] = {
    "": DOCUMENT, "/": {"": 1}, "//": 1, "/list/0": 0, "/list/1/~01": 2, "/a~1~0b": "ab", "/null": None,
}  # fmt: skip
#: Pointers to nothing, and how far they lead.
ENDING = {
    "/absent/more/~1": "/absent",
    "/list/a~1~0b/c": "/list/a~1~0b",
    **{it: it for it in ("/list/2", "/list/-", "/list/01", "/list/\u0661", "/a~1~0b/0", "/null/0")},
    "/list/" + "9" * 5000: "/list/" + "9" * 5000,
}


def test_targets_of_pointers() -> None:
    for pointer, value in POINTERS.items():
        found = at_pointer(Node(0, "a"), DOCUMENT, pointer)
        assert (found.value, found.pointer) == (value, pointer)
    for pointer, at in ENDING.items():
        with pytest.raises(XGroupReferenceError, match=f"^there is no value at #{at}$"):
            at_pointer(Node(0, "a"), DOCUMENT, pointer)
