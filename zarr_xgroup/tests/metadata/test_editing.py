"""Edited documents: what changes, and that nothing else does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zarr_xgroup.findings import Change, Place
from zarr_xgroup.metadata.editing import edited

TEXT = """{
    "number": 1.50e3, "nan": NaN,
\t"attributes" : {"x": [1,
      2], "\\u00e9": -0.0},
    "empty": {},
    "list":[ ]
}
"""


def changed(text: str, *changes: tuple[str, str | None, str | None]) -> str:
    made = (Change(Place("/", pointer), value, key) for pointer, value, key in changes)
    return edited(text, [(it.place.keys, it) for it in made])


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (("/number", "2", None), "1.50e3", "2"),
        (("/number", None, "called"), '"number": 1.50e3', '"called": 1.50e3'),
        (("/number", None, None), '"number": 1.50e3, ', ""),
        (("/nan", None, None), ', "nan": NaN', ""),
        (("/list", None, None), ',\n    "list":[ ]', ""),
        (("/attributes/x/1", "3", None), "\n      2]", "\n      3]"),
        (("/attributes/x/0", None, None), "1,\n      2]", "2]"),
        (("/attributes/x/-", "3", None), "\n      2]", "\n      2,\n      3]"),
        (("/attributes/é", None, "f"), '"\\u00e9": -0.0', '"f": -0.0'),
        (("/empty/new", '"ü"', None), "{},", '{\n        "new": "\\u00fc"\n    },'),
        (("/list/-", "[]", None), "[ ]", "[\n        []\n    ]"),
        (("/new/-", "1", None), "[ ]\n}", '[ ],\n    "new": [\n        1\n    ]\n}'),
    ],
)
def test_only_what_a_change_is_about_changes(
    change: tuple[str, str | None, str | None], before: str, after: str
) -> None:
    assert TEXT.count(before) == 1
    assert changed(TEXT, change) == TEXT.replace(before, after)


@pytest.mark.parametrize("pointer", ["/gone", "/attributes/gone", "/list/0", "/number/deep"])
@pytest.mark.parametrize("key", [None, "other"])
def test_what_is_not_there_cannot_be_taken_away_or_renamed(pointer: str, key: str | None) -> None:
    assert changed(TEXT, (pointer, None, key)) == TEXT


def test_documents_in_one_line_stay_in_one_line() -> None:
    new = ("/b", '{"c": [1, 2]}', None)
    assert changed('{"a":1}', new) == '{"a":1,"b":{"c":[1,2]}}'
    assert changed('{"a": 1}', new) == '{"a": 1, "b": {"c": [1, 2]}}'


def test_several_items_can_be_added_to_a_list_that_is_not_there() -> None:
    found = changed('{"a": 1}', ("/list/-", "1", None), ("/list/-", "2", None))
    assert found == '{"a": 1, "list": [1, 2]}'


def test_of_changes_of_one_value_the_first_counts() -> None:
    found = changed('{"a": {"b": 1}}', ("/a", "2", None), ("/a", "3", None), ("/a/b", "4", None))
    assert found == '{"a": 2}'


TEXTS = st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(TEXTS, VALUES, max_size=4), TEXTS, VALUES, st.sampled_from([None, 0, 2, "\t"])
)
def test_an_edited_document_says_what_a_changed_value_would(
    value: dict[str, object], key: str, new: object, indent: int | str | None
) -> None:
    text = json.dumps(value, indent=indent)
    place = Place("/", "/" + key.replace("~", "~0").replace("/", "~1"))
    written = edited(text, [(place.keys, Change(place, json.dumps(new)))])
    assert json.dumps(json.loads(written)) == json.dumps({**value, key: new})
    without = edited(text, [(place.keys, Change(place))])
    assert json.dumps(json.loads(without)) == json.dumps({k: value[k] for k in value if k != key})
