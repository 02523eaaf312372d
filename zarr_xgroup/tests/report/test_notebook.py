"""The tree of an explanation in a notebook: what it tells, that it is harmless and never large."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from zarr_xgroup.report.explanation import (
    Explanation,
    FoundArray,
    FoundGroup,
    FoundProblem,
    FoundReference,
    Place,
)
from zarr_xgroup.tests import explanations


class Reader(HTMLParser):
    """What is shown: texts, each with the summaries of the folds around it; and what is not."""

    def __init__(self, explanation: Explanation) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(explanation._repr_html_())
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _value in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def test_it_tells_what_was_found() -> None:
    text = Reader(explanations.small()).text
    for told in (
        "/data/ocean.zarr Zarr v3 consolidated 3 groups 3 arrays 2 references 1 problem",
        "ocean 1 array cs proj uom refers to /axes/time 1 problem",
        "temperature time 12 \xd7 lat 180 \xd7 lon 360 float32 cs proj uom no coordinate lon",
        "Conventions cs principal declared in /ocean/temperature proj service declared in /ocean",
        "uom service not declared",
        "time time 12 int64 coordinate",
        "time (time) array of another group /axes/time",
        "lat (lat) computed 180 values from -89.5 in steps of 1.0",
        "CRS WGS 84 EPSG:4326 spatial_ref",
        "leads nowhere there is no node /axes/lon, nor /ocean/axes/lon",
        "opened without coordinate 'lon'",
    ):
        assert told in text


@pytest.mark.parametrize(
    "explanation",
    [explanations.small(), explanations.large(), explanations.hostile()],
    ids=["small", "large", "hostile"],
)
def test_it_is_a_tree_of_elements_that_do_nothing(explanation: Explanation) -> None:
    reader = Reader(explanation)
    allowed = {"div", "style", "p", "ul", "li", "details", "summary", "bdi", "span", "code"}
    assert reader.tags <= allowed
    assert reader.attributes == {"class", "open"}
    assert not set("\x00\x07\x1b\u202e\u2066\ud800") & set(reader.text)
    assert explanation._repr_html_() == explanation._repr_html_()


def test_hostile_names_are_shown() -> None:
    text = Reader(explanations.hostile()).text
    for name in explanations.HOSTILE_NAMES[:4]:
        assert name in text
    assert "bidi\\u202egnp.exe" in text
    assert "long" * 100 not in text


def test_groups_that_are_alike_are_told_once() -> None:
    text = Reader(explanations.large()).text
    assert "195 more groups like this: scene_001 \u2026 scene_195" in text
    assert "scene_196 5 arrays" in text  # it has a problem
    assert "scene_100" not in text


def test_what_no_array_declares_is_told_of_all_and_of_each() -> None:
    text = Reader(explanations.large()).text
    assert "/ 1000 arrays 3 problems" in text
    assert "extra_000 n 1 uint8 no coordinate n Problems no principal convention" in text


def flat(number: int, name: str = "a") -> Explanation:
    """Return an explanation of many arrays in one group."""
    arrays = tuple(FoundArray(f"/{name}{one}", ("x",), (3,), "int8") for one in range(number))
    return Explanation("memory://", "/", 3, False, (FoundGroup("/", arrays),))


def unlike(number: int) -> Explanation:
    """Return an explanation of many groups of which none is like another, one in each fifth."""
    groups = tuple(
        FoundGroup(
            f"/{one // 5 * 5}" if one % 5 == 0 else f"/{one // 5 * 5}/{one}",
            (FoundArray(f"/{one // 5 * 5}/{one}/{'<' * 900}{one}", ("x",), (1,), "int8"),),
        )
        for one in range(number)
    )
    return Explanation("memory://", "/", 3, False, (FoundGroup("/"), *groups))


def problematic(number: int) -> Explanation:
    """Return an explanation of one array with many problems and references."""
    problems = tuple(
        FoundProblem("problem", f"{one}{'&' * 10_000}", None, ("/a0",)) for one in range(number)
    )
    references = tuple(
        FoundReference(Place("/a0", f"/{one}"), "<" * 10_000, None) for one in range(number)
    )
    return replace(flat(1), problems=problems, references=references)


@pytest.mark.parametrize(
    "explanation",
    [
        explanations.large(1000, 5000),
        flat(5000),
        flat(5000, "<" * 200),
        unlike(5000),
        problematic(5000),
        flat(0),
    ],
    ids=["alike", "one group", "long names", "unlike", "problems", "empty"],
)
def test_it_is_never_large(explanation: Explanation) -> None:
    assert len(Reader(explanation).text) > 10
    assert len(explanation._repr_html_()) <= 300_000


def test_what_finds_no_room_is_counted() -> None:
    text = Reader(flat(5000)).text
    shown = text.count("int8")
    assert shown > 1000
    assert f"{5000 - shown} more arrays" in text


def test_deep_groups_are_counted() -> None:
    paths = ["/" + "/".join(map(str, range(depth))) for depth in range(1, 2000)]
    groups = (FoundGroup("/"), *map(FoundGroup, paths))
    assert "1 more group" in Reader(Explanation("memory://", "/", 3, False, groups)).text


def test_what_concerns_no_group_that_is_shown_is_told_of_the_first() -> None:
    explanation = Explanation(
        "memory://",
        "/a",
        3,
        False,
        groups=(FoundGroup("/a"),),
        references=(FoundReference(Place("/elsewhere", "/x"), "there", Place("/b")),),
        problems=(FoundProblem("metadata", "what is wrong", None),),
    )
    text = Reader(explanation).text
    assert "/a refers to /b 1 problem Problems metadata what is wrong" in text
    assert "there leads to /b at /elsewhere#/x" in text
