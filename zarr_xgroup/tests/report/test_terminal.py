"""What is drawn of explanations and verdicts, in terminals and where there is none."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, Place
from zarr_xgroup.redaction import printable
from zarr_xgroup.report.checking import Verdict
from zarr_xgroup.report.explanation import (
    Explanation,
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundCrs,
    FoundGroup,
    FoundProblem,
    FoundReference,
)
from zarr_xgroup.report.terminal import StreamConsole, explanation_parts, verdict_parts
from zarr_xgroup.tests.builders import some_pairs

AXIS = Place("/sea/sst", "/attributes/cs/crs/0/axes/time/coordinates/0/values/external")
RULE = Rule("cs/axis-for-every-dimension", "cs 0.1", "Axes")


class Stream(io.TextIOWrapper):
    """Where output goes: a terminal or not, with an encoding."""

    def __init__(self, *, terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    @property
    def text(self) -> str:
        self.flush()
        content: Any = self.buffer
        return str(content.getvalue().decode(self.encoding))


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


def array(path: str, *sizes: int, **facts: Any) -> FoundArray:
    dims = ("time", "lat", "lon")[: len(sizes)]
    return FoundArray(path, dims, sizes, "float32", **facts)


def ocean() -> Explanation:
    """Return what is found where a time axis is in a group, and what refers to it in another."""
    cs = FoundConvention("cs", "principal", "/sea/sst")
    crs = FoundCrs("WGS 84", "EPSG:4326", "spatial_ref")
    names = ("time", "lat", "depth")
    facts: dict[str, Any] = {"conventions": (cs,), "coordinates": names, "crs": crs}
    sst = array("/sea/sst", 3, 2, 4, missing=("lon",), **facts)
    ice = array("/sea/ice", 3, 2, **facts)
    coordinates = (
        FoundCoordinate("time", ("time",), "stored", Place("/axes/time"), "an array", True),
        FoundCoordinate("lat", ("lat",), "computed", None, "44.5, 43.5", True, "lat_bounds"),
        FoundCoordinate("depth", (), "own", Place("/sea/depth"), ""),
    )
    return Explanation(
        "ocean.zarr",
        "/",
        3,
        is_consolidated=True,
        groups=(
            FoundGroup("/"),
            FoundGroup("/axes", (array("/axes/time", 3, is_coordinate=True),)),
            FoundGroup("/sea", (ice, sst), coordinates),
        ),
        references=(
            FoundReference(AXIS, "../axes/time", Place("/axes/time"), arrays=("/sea/sst",)),
            FoundReference(
                replace(AXIS, pointer="/attributes/m"), "../mask", None, text="tried /mask"
            ),
            FoundReference(
                replace(AXIS, pointer="/attributes/b"), "b", Place("/b"), by_fallback=True
            ),
        ),
        problems=(
            FoundProblem("problem", "there is no /mask", AXIS, ("/sea/sst",), "what 'm' refers to"),
        ),
    )


def groups_alike(count: int) -> Explanation:
    groups = [FoundGroup("/")]
    for number in range(count):
        path = f"/tile{number}"
        arrays = tuple(array(f"{path}/data/b{band}", 10, 10) for band in range(5))
        groups += [FoundGroup(path), FoundGroup(f"{path}/data", arrays)]
    return Explanation("tiles.zarr", "/", 3, False, tuple(groups))


# Explanations.


def test_what_is_to_know_of_an_array_stands_below_it() -> None:
    expected = """\
ocean.zarr: Zarr v3, consolidated

/
├── axes
│   └── time (time: 3) float32: coordinate
└── sea
    ├── ice (time: 3, lat: 2) float32
    │     convention cs of /sea/sst; CRS EPSG:4326 WGS 84
    │     time (time) from /axes/time, an array
    │     lat (lat) 44.5, 43.5, bounds lat_bounds
    │     coordinates of the group: depth
    └── sst (time: 3, lat: 2, lon: 4) float32
          convention cs; CRS EPSG:4326 WGS 84
          coordinates as above: time, lat, depth
          no coordinate along lon
          refers to ../mask
          refers to b, found at /b
          see [1] below

[1] Problem: /sea/sst#/attributes/cs/crs/0/axes/time/coordinates/0/values/external: there is no
    /mask. Opened without what 'm' refers to

Groups: 3. Arrays: 3. References: 3. Problems: 1."""
    assert repr(ocean()) == expected
    shown = drawn(ocean())
    assert " ".join(shown.split()) == " ".join(expected.split())
    assert max(map(len, shown.splitlines())) > 100


def test_everything_is_shown_if_asked_for() -> None:
    told = ("refers to ../axes/time, found at /axes/time", "refers to ../mask: tried /mask")
    whole, shown = drawn(ocean(), is_whole=True), drawn(ocean())
    assert [(text in shown, text in whole) for text in told] == [(False, True)] * 2


def test_groups_that_are_alike_are_shown_once() -> None:
    shown = drawn(groups_alike(1000))
    assert len(shown.splitlines()) < 12
    assert "999 groups like it: tile1, tile2, tile3, tile4 and 995 more" in shown
    assert "b0, b1, b2, b3, b4 (time: 10, lat: 10) float32" in shown
    whole = drawn(groups_alike(30), is_whole=True)
    assert len(re.findall(r"b\d", whole)) == 150


def test_arrays_that_refer_to_different_places_are_not_alike() -> None:
    ends = {"/a": "/m", "/b": "/m", "/c": "/other"}
    references = tuple(
        FoundReference(Place(path, "/attributes/m"), end, Place(end)) for path, end in ends.items()
    )
    root = FoundGroup("/", tuple(array(path, 3) for path in ends))
    assert drawn(Explanation("a.zarr", "/", 3, False, (root,), references)).splitlines()[3:7] == [
        "├── a, b (time: 3) float32",
        "│     refers to /m",
        "└── c (time: 3) float32",
        "      refers to /other",
    ]


FLAT = Explanation(
    "flat.zarr", "/", 2, False, (FoundGroup("/", tuple(array(f"/a{n}", n) for n in range(500))),)
)
MANY_ARRAYS = tuple(f"/a{n}" for n in range(50))


@pytest.mark.parametrize(
    ("found", "problems", "told"),
    [
        (
            groups_alike(1000),
            [FoundProblem("metadata", "broken", Place("/tile700/data/b3"))],
            ["── tile700", "── b3 (time: 10, lat: 10) ", "see [1] below", "998 groups like it"],
        ),
        (
            FLAT,
            [FoundProblem("problem", "broken", None, ("/a400",))],
            ["── a400 (time: 400)", "... 488 more arrays (--all)"],
        ),
        (
            ocean(),
            [
                FoundProblem("no principal convention", "", None, MANY_ARRAYS),
                *(FoundProblem("choice", f"choice {n}") for n in range(30)),
            ],
            [
                "[1] No principal convention (/a0, /a1, /a2, /a3 and 46 more)",
                "[20] Choice: choice 18",
                "... 11 more problems (--all)",
            ],
        ),
        (
            ocean(),
            [FoundProblem("problem", "was 'b' meant?", AXIS, ("/sea/sst",), "coordinate 'x'")],
            ["was 'b' meant? Opened without coordinate 'x'"],
        ),
    ],
    ids=["group", "array", "many", "question"],
)
def test_what_is_wrong_is_shown_among_many_others(
    found: Explanation, problems: list[FoundProblem], told: list[str]
) -> None:
    shown = " ".join(drawn(replace(found, problems=tuple(problems))).split())
    assert [text for text in told if text not in shown] == []


def nested(depth: int) -> Explanation:
    """Return groups in one another, each with an array."""
    paths = ["".join(f"/level{n}" for n in range(level)) for level in range(depth)]
    groups = [FoundGroup(path or "/", (array(f"{path}/t", 3, missing=("lat",)),)) for path in paths]
    return Explanation("deep.zarr", "/", 3, False, tuple(groups))


@pytest.mark.parametrize("width", [40, 80, 131])
def test_groups_far_below_the_root_begin_anew_at_the_left(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = drawn(nested(7))
    for n in range(6):
        assert f"\n{'    ' * n}└── level{n}\n" in shown
    deep = drawn(nested(20), is_whole=True)
    assert ("─ /level0/level1/level2/level3/level4/level5/level6\n" in deep) == (width > 60)
    assert deep.count("── t (") == 20
    columns = {at for line in deep.splitlines() for at, letter in enumerate(line) if letter in "├└"}
    assert columns == set(range(0, 28, 4))


def test_text_of_a_deep_tree_is_short_and_its_whole_complete() -> None:
    found = nested(500)
    assert len(repr(found).splitlines()) < 200
    assert "... and more\n" in repr(found)
    assert "... and more (--all)\n" in drawn(found)
    assert drawn(found, is_whole=True).count("no coordinate along lat") == 500


def test_of_many_coordinates_the_first_are_shown() -> None:
    names = tuple(f"c{n}" for n in range(200))
    coordinates = [
        FoundCoordinate(name, ("x",), "computed" if n % 2 else "own", text=f"values {n}")
        for n, name in enumerate(names)
    ]
    found = FoundArray("/a", ("x",), (3,), "i1", coordinates=names, missing=names)
    group = FoundGroup("/", (found,), tuple(coordinates))
    explanation = Explanation("s.zarr", "/", 3, False, (group,))
    shown, whole = repr(explanation), drawn(explanation, is_whole=True)
    assert len(shown.splitlines()) < 30
    assert "... 82 more lines\n" in shown
    assert "and 170 more" in shown
    assert Counter(re.findall(r"\bc\d+", whole)) == dict.fromkeys(names, 2)


def test_a_store_of_no_groups() -> None:
    assert "Groups: 0." in drawn(Explanation("empty.zarr", "/", 3, False))


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
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,
    environment: dict[str, str],
    is_coloured: bool,
) -> None:
    plain, text = drawn(ocean()), repr(ocean())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    shown = drawn(ocean(), stream=Stream(terminal=is_terminal))
    assert ("\x1b[36m" in shown) == is_coloured
    assert ("\x1b" in shown) == is_coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown).split() == plain.split()
    assert repr(ocean()) == text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_lines_are_drawn_in_letters_that_the_encoding_has(encoding: str) -> None:
    shown = drawn(ocean(), stream=Stream(encoding=encoding))
    assert shown.isascii()
    assert "`-- sea" in shown


@pytest.mark.parametrize(
    ("letter", "width"), some_pairs(["a", "中", "a "], [40, 79, 80, 100, 200], 3)
)
def test_no_line_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, letter: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for line in drawn(hostile_explanation(letter * 300), is_whole=True).splitlines():
        assert cell_len(line) <= width


# Hostile stores.


def hostile_explanation(text: str) -> Explanation:
    """Return an explanation that has a text wherever one of a store can be."""
    path, place = f"/{text}/{text}", Place(text, text, text)
    found = FoundArray(
        path,
        (text,),
        (1,),
        text,
        conventions=(FoundConvention(text, "principal", text),),
        coordinates=(text, f"{text}2"),
        missing=(text,),
        crs=FoundCrs(text, text, text),
    )
    kinds: Any = ("own", "stored", "foreign", "computed", "inline", "given")
    coordinates = tuple(
        FoundCoordinate(f"{text}{kind}", (text,), kind, place, text, bounds=text) for kind in kinds
    )
    names = tuple(coordinate.name for coordinate in coordinates)
    other = replace(found, path=f"{path}2", coordinates=names, crs=FoundCrs(text))
    group = FoundGroup(f"/{text}", (found, other), coordinates)
    return Explanation(
        text,
        "/",
        3,
        is_consolidated=False,
        groups=(FoundGroup("/"), group, replace(group, path=f"/{text}3")),
        references=(
            FoundReference(place, text, None, text=text, arrays=(path,)),
            FoundReference(
                place, text, place, by_fallback=True, text=text, arrays=(path, f"/{text}")
            ),
        ),
        problems=(FoundProblem(text, text, place, (path, text), text),),
    )


def hostile_verdict(text: str) -> Verdict:
    place = Place(text, text, text)
    mistake = Finding(Rule(text, text, text), place, text, text, places=(place, Place(f"{text}2")))
    return Verdict(text, "/", (mistake, replace(mistake, severity="warning")))


@pytest.mark.parametrize("terminal", [False, True])
@given(text=st.text(min_size=1).map(lambda text: text.replace("/", "|")))
@settings(max_examples=20, deadline=None)
def test_nothing_in_a_store_is_obeyed(terminal: bool, text: str) -> None:
    for value in (hostile_explanation(text), hostile_verdict(text)):
        for is_whole in (False, True):
            shown = drawn(value, is_whole=is_whole, stream=Stream(terminal=terminal))
            if terminal:
                shown = re.sub(r"\x1b\[[0-9;]*m", "", shown)
            assert printable(shown.replace("\n", "")) == shown.replace("\n", "")


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
def test_what_is_not_to_be_seen_is_shown_as_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown
    problem = FoundProblem("problem", text)
    assert f"[1] Problem: {shown}\n" in drawn(replace(ocean(), problems=(problem,)))


# Verdicts.


def test_a_mistake_says_where_it_is_and_what_to_write_instead() -> None:
    places = tuple(Place(f"/sea/a{number}", "/attributes/cs") for number in range(6))
    mistake = Finding(
        RULE, places[0], "dimension 'lon' has no axis", "an axis 'lon'", places=places
    )
    warning = Finding(RULE, AXIS, "fallback", "../axes/time", "warning")
    assert drawn(Verdict("ocean.zarr", "/", (mistake, warning))).splitlines() == [
        "error: /sea/a0#/attributes/cs",
        "       /sea/a1#/attributes/cs",
        "       /sea/a2#/attributes/cs",
        "       and 3 more",
        "  dimension 'lon' has no axis",
        "  Instead: an axis 'lon'",
        "  cs/axis-for-every-dimension (cs 0.1, Axes)",
        "",
        f"warning: /sea/sst#{AXIS.pointer}",
        "  fallback",
        "  Instead: ../axes/time",
        "  cs/axis-for-every-dimension (cs 0.1, Axes)",
        "",
        "ocean.zarr: errors: 1, warnings: 1",
    ]


def test_places_stay_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    mistake = Finding(RULE, AXIS, "text " * 30, "remedy " * 30)
    place, *others = drawn(Verdict("ocean.zarr", "/", (mistake,))).splitlines()
    assert place == f"error: /sea/sst#{AXIS.pointer}"
    assert max(map(len, others)) <= 40


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (Verdict("ocean.zarr", "/"), "ocean.zarr: nothing to mend\n"),
        (
            Verdict("ocean.zarr", "/", is_declared=False),
            'ocean.zarr: nothing to mend, but no node has "zarr_conventions": little was checked\n',
        ),
    ],
)
def test_where_nothing_is_to_mend(verdict: Verdict, told: str) -> None:
    assert drawn(verdict) == told


def test_of_many_mistakes_the_first_are_shown() -> None:
    mistakes = tuple(Finding(RULE, AXIS, f"mistake {n}", "") for n in range(25))
    verdict = Verdict("ocean.zarr", "/", mistakes)
    assert "... 5 more problems (--all)\n" in drawn(verdict)
    assert "... 5 more problems\n" in repr(verdict)
    assert "  mistake 24\n" in drawn(verdict, is_whole=True)


def test_arrays_that_a_text_names_shortened_are_not_named_again() -> None:
    paths = tuple(f"/{'long' * 20}_{number}/sst" for number in range(3))
    problem = FoundProblem(
        "no principal convention", "3 arrays declare no ...: /long...", None, paths
    )
    text = drawn(Explanation("ocean.zarr", "/", 3, False, problems=(problem,)))
    assert paths[0] not in text.replace("\n    ", "")
