"""Text of explanations and verdicts, in terminals and other outputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace
from rich.cells import cell_len

from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, Place
from zarr_xgroup.redaction import printable
from zarr_xgroup.report.explanation import (
    FoundGroup,
    FoundProblem,
)
from zarr_xgroup.report.results import Explanation, Verdict
from zarr_xgroup.report.terminal import StreamConsole, explanation_parts, verdict_parts
from zarr_xgroup.tests.builders import some_pairs
from zarr_xgroup.tests.explanations import (
    Stream,
    array,
    hostile,
    of_depth,
    of_groups,
    of_scenes,
    sample,
)
from zarr_xgroup.tests.tables import rows

AXIS = Place("/sea/sst", "/attributes/cs/crs/0/axes/time/coordinates/0/values/external")
RULE = Rule("cs/axis-for-every-dimension", "cs 0.1", "Axes")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def drawn(
    value: Explanation | Verdict, *, is_whole: bool = False, stream: Stream | None = None
) -> str:
    draw: Any = explanation_parts if isinstance(value, Explanation) else verdict_parts
    stream = stream or Stream()
    StreamConsole(stream).show(draw(value, is_whole=is_whole, hint=" (--all)"))
    return stream.text


# Explanations.

SAMPLE = Path(__file__).with_name("sample.txt").read_text(encoding="utf-8").rstrip("\n")


def test_text_of_an_explanation() -> None:
    assert repr(sample()) == str(sample()) == SAMPLE
    shown = drawn(sample())
    assert shown.split() == SAMPLE.split()
    assert max(map(len, shown.splitlines())) > 100


#: What is folded unless all is asked for: what is drawn, parts of its text, and parts of its text in full.
FOLDED: dict[str, tuple[Explanation, list[str], list[str]]] = {
    "references to where a coordinate is stored, and the levels of a pyramid": (
        sample(),
        ["salinity, temperature (time: 3", "fine and 1 group like it: half", "refers to ../at/lon, found"],
        [
            "refers to ../axes/time, found at /axes/time",
            "refers to ../axes/lon: cannot be resolved; tried /axes/lon",
            "tile3 conventions spatial, proj; CRS EPSG:32633 WGS 84 / UTM zone 33N └── red (y: 20, x: 60)",
        ],
    ),
    "groups that are alike, but not one with a problem": (
        of_scenes(200),
        [
            "scene_000 │ ├── B00, B02 (time: 10, lat: 10) float32",
            "see [1] below",
            "scene_001 and 198 groups like it: scene_002, scene_003, scene_004, scene_005 and 194 more",
            "B00, B01, B02, B03, B04 (time: 10, lat: 10) float32",
        ],
        ["scene_199 ├── B00 (time: 10, lat: 10) float32"],
    ),
    "all but the first arrays and those with a problem": (
        of_groups(
            FoundGroup("/", tuple(array(f"/a{n}", n) for n in range(500))),
            problems=(FoundProblem("problem", "broken", None, ("/a400",)),),
        ),
        ["a10 (time: 10)", "── a400 (time: 400) float32", "... 488 more arrays (--all)"],
        ["── a200 (time: 200)"],
    ),
    "more than a few problems and arrays of one": (
        of_groups(
            problems=(
                FoundProblem("no principal convention", "", None, tuple(f"/a{n}" for n in range(50))),
                FoundProblem("problem", "was 'b' meant?", AXIS, ("/sea/sst",), "coordinate 'x'"),
                *(FoundProblem("choice", f"choice {n}") for n in range(29)),
                FoundProblem("choice", "and 97 more", count=98),
            )
        ),
        [
            "[1] No principal convention (/a0, /a1, /a2, /a3 and 46 more)",
            f"[2] Problem: {AXIS}: was 'b' meant? Opened without coordinate 'x' [3]",
            "[20] Choice: choice 17",
            "... 109 more problems (--all)",
            "Groups: 0. Arrays: 0. References: 0. Problems: 129.",
        ],
        ["[31] Choice: choice 28"],
    ),
    "problems that break one rule at one pointer": (
        of_groups(
            FoundGroup("/", tuple(array(f"/a{n}", n) for n in range(4))),
            problems=tuple(
                FoundProblem("choice", f"is {n}", Place(f"/a{n}", "/attributes/n"), (f"/a{n}",), rule="r/n")
                for n in range(4)
            ),
        ),
        ["[1] Choice: /a0#/attributes/n: is 0 ... 3 similar problems in /a1, /a2, /a3 (--all)", "Problems: 4."],
        ["[4] Choice: /a3#/attributes/n: is 3"],
    ),
}  # fmt: skip


@rows(FOLDED, "found, shown, unfolded")
def test_folded_lines(found: Explanation, shown: list[str], unfolded: list[str]) -> None:
    text, whole = drawn(found), drawn(found, is_whole=True)
    folded, full = (" ".join(it.split()) for it in (text, whole))
    assert [it for it in shown if it not in folded] == []
    assert [(it, it in folded, it in full) for it in unfolded] == [
        (it, False, True) for it in unfolded
    ]
    assert len(text.splitlines()) < 200
    assert "--all" not in repr(found) + whole


@pytest.mark.parametrize("width", [40, 80])
def test_groups_far_below_the_root_begin_anew_at_the_left(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    deep = drawn(of_depth(20), is_whole=True)
    assert ("─ /level0/level1/level2/level3/level4/level5/level6\n" in deep) == (width > 60)
    assert deep.count("── t (") == 20
    columns = {at for line in deep.splitlines() for at, letter in enumerate(line) if letter in "├└"}
    assert columns == set(range(0, 28, 4))


# Where it is drawn.


@pytest.mark.parametrize(
    ("is_terminal", "environment", "is_coloured"),
    [
        (False, {}, False),
        (True, {}, True),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_only_used_in_terminals_that_support_them(
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,
    environment: dict[str, str],
    is_coloured: bool,
) -> None:
    plain = drawn(sample())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    shown = drawn(sample(), stream=Stream(terminal=is_terminal))
    assert ("\x1b[36m" in shown) == ("\x1b" in shown) == is_coloured
    letters = re.compile(r"[^\s│]")
    assert letters.findall(COLOURS.sub("", shown)) == letters.findall(plain)
    assert repr(sample()) == SAMPLE


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_lines_are_drawn_with_characters_of_the_encoding(encoding: str) -> None:
    shown = drawn(sample(), stream=Stream(encoding=encoding))
    assert shown.isascii()
    assert "+-- sea" in shown


@pytest.mark.parametrize(
    ("letter", "width"), some_pairs(["a", "中", "a "], [40, 79, 80, 100, 200], 3)
)
def test_no_line_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, letter: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for line in drawn(hostile(letter * 300), is_whole=True).splitlines():
        assert cell_len(line) <= width


# Hostile stores.


def hostile_verdict(text: str) -> Verdict:
    place = Place(text, text, text)
    mistake = Finding(Rule(text, text, text), place, text, text, places=(place, Place(f"{text}2")))
    return Verdict(text, "/", (mistake, structs.replace(mistake, severity="warning")))


@pytest.mark.parametrize("terminal", [False, True])
@given(text=st.text(min_size=1).map(lambda text: text.replace("/", "|")))
@settings(max_examples=20, deadline=None)
def test_text_of_a_store_is_never_interpreted_by_the_terminal(terminal: bool, text: str) -> None:
    for value in (hostile(text), hostile_verdict(text)):
        for is_whole in (False, True):
            shown = drawn(value, is_whole=is_whole, stream=Stream(terminal=terminal))
            shown = (COLOURS.sub("", shown) if terminal else shown).replace("\n", "")
            assert printable(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07\x1b[2J", r"\x1b]0;title\x07\x1b[2J"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("\ud800", r"\ud800"),
        ("one\r\ntwo\u2028three", r"one\r\ntwo\u2028three"),
        ("[bold red]name[/] :smile:", "[bold red]name[/] :smile:"),
        ("température 海面", "température 海面"),
        ("a\u00a0b\u202f:", "a\u00a0b\u202f:"),
    ],
)
def test_invisible_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert f"[1] Problem: {shown}\n" in drawn(of_groups(problems=(FoundProblem("problem", text),)))


# Verdicts.


def test_a_mistake_shows_its_place_and_its_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    places = tuple(Place(f"/sea/a{number}", "/attributes/cs") for number in range(6))
    text = "dimension 'lon' has no axis that says it"
    mistake = Finding(RULE, places[0], text, "an axis 'lon'", places=places)
    warning = Finding(RULE, AXIS, "fallback", "../axes/time", "warning")
    assert drawn(Verdict("ocean.zarr", "/", (mistake, warning))).splitlines() == [
        "error: /sea/a0#/attributes/cs",
        "       /sea/a1#/attributes/cs",
        "       /sea/a2#/attributes/cs",
        "       and 3 more",
        "  dimension 'lon' has no axis that",
        "    says it",
        "  Instead: an axis 'lon'",
        "  cs/axis-for-every-dimension (cs 0.1,",
        "    Axes)",
        "",
        f"warning: /sea/sst#{AXIS.pointer}",
        "  fallback",
        "  Instead: ../axes/time",
        "  cs/axis-for-every-dimension (cs 0.1,",
        "    Axes)",
        "",
        "ocean.zarr: errors: 1, warnings: 1",
    ]


def test_verdicts_with_no_mistakes_and_with_many() -> None:
    clean, undeclared = (Verdict("a.zarr", "/", is_declared=it) for it in (True, False))
    assert drawn(clean) == "a.zarr: no problems found\n"
    assert drawn(undeclared) == (
        'a.zarr: no problems found, but little was checked: no node has "zarr_conventions"\n'
    )
    mistakes = tuple(Finding(RULE, Place("/a", f"/{n}"), f"mistake {n}", "") for n in range(25))
    many = Verdict("a.zarr", "/", mistakes)
    assert "... 5 more problems (--all)\n" in drawn(many)
    assert "... 5 more problems\n" in repr(many)
    assert "  mistake 24\n" in drawn(many, is_whole=True)


def test_a_verdict_shows_findings_of_one_rule_at_one_pointer_once() -> None:
    places = [Place(f"/a{n}", "/attributes/n") for n in range(5)]
    mistakes = tuple(Finding(RULE, place, f"is {place.node}", "be n") for place in places)
    same = Verdict("a.zarr", "/", mistakes)
    assert drawn(same).splitlines() == [
        *("error: /a0#/attributes/n", "       /a1#/attributes/n", "       /a2#/attributes/n"),
        *("       and 2 more", "  is /a0", "  Instead: be n"),
        "  ... 4 more problems of this kind (--all)",
        *("  cs/axis-for-every-dimension (cs 0.1, Axes)", "", "a.zarr: errors: 5, warnings: 0"),
    ]
    assert "is /a4" in drawn(same, is_whole=True)
    assert "is /a1" in drawn(replace(same, mistakes=mistakes[:2]))
