"""The HTML page of an explanation: that it is one harmless file, and how it works in a browser."""

import base64
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from zarr_xgroup import explain
from zarr_xgroup.findings import Place
from zarr_xgroup.redaction import printable
from zarr_xgroup.report.explanation import (
    Explanation,
    FoundArray,
    FoundConvention,
    FoundGroup,
    FoundLevel,
    FoundProblem,
    FoundReference,
)
from zarr_xgroup.report.page import page
from zarr_xgroup.tests import explanations
from zarr_xgroup.tests.documents import STORES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page


def colourful() -> Explanation:
    """Return the small explanation with conventions of all tiers, and references of all kinds."""
    small = explanations.small()
    path = "/ocean/salinity"
    tiers: Any = {"cs": "principal", "uom": "service", "stac": "recognised", "radar": "unknown"}
    conventions = tuple(FoundConvention(name, tier, path) for name, tier in tiers.items())
    salinity = FoundArray(path, ("t",), (2,), "int16", conventions=conventions, missing=("t",))
    *others, ocean = small.groups
    time, mask = Place("/axes/time"), Place("/mask", store="https://example.org/masks.zarr")
    references = (
        FoundReference(Place(path, "/attributes/a"), "axes/time", time, by_fallback=True),
        FoundReference(Place(path, "/attributes/b"), "https://example.org/masks.zarr#/mask", mask),
    )
    return replace(
        small,
        groups=(*others, replace(ocean, arrays=(*ocean.arrays, salinity))),
        references=(*small.references, *references),
    )


EACH = {
    "small": explanations.small(),
    "colourful": colourful(),
    "large": explanations.large(),
    "hostile": explanations.hostile(),
    "empty": Explanation("memory://", "/", 3, False),
}

#: What the row of the groups that are alike of the large one is called.
ALIKE = "scene_000 \u2026 scene_195"

each = pytest.mark.parametrize("name", EACH)


@cache
def made(name: str) -> str:
    """Return the page of an explanation; to make a large one takes a while."""
    return page(EACH[name])


class Elements(HTMLParser):
    """The elements of a page, its text, and the texts of those that are not HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.text = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.raw:
            self.raw[self._inside].append(data)
        else:
            self.text += data

    def all(self, attribute: str) -> list[str | None]:
        """Return the values of an attribute, from top to bottom."""
        return [it[attribute] for _tag, it in self.found if attribute in it]


# The file.


@pytest.mark.parametrize("store", sorted(STORES.glob("*.zarr")), ids=lambda store: store.stem)
def test_the_page_tells_all_that_was_found(store: Path) -> None:
    found = explain(store)
    text = Elements(page(found)).text
    arrays = [array for group in found.groups for array in group.arrays]
    told = [
        *(group.name for group in found.groups),
        *(told for array in arrays for told in (array.name, *array.dims, array.dtype)),
        *(convention.name for array in arrays for convention in array.conventions),
        *(reference.target for reference in found.references),
        *(problem.text for problem in found.problems),
    ]
    assert not [it for it in told if printable(it) not in text]


@each
def test_the_page_is_ascii_and_the_same_each_time(name: str) -> None:
    assert page(EACH[name]) == made(name)
    assert made(name).isascii()


@each
def test_nothing_of_a_store_is_markup(name: str) -> None:
    def markup(name: str) -> set[tuple[str, ...]]:
        return {(tag, *attributes) for tag, attributes in Elements(made(name)).found}

    parts = Elements(made(name))
    assert markup(name) <= markup("colourful") | {("details", "class")}  # many arrays as one row
    ids = parts.all("id")
    assert len(ids) == len(set(ids))
    assert {f"#{it}" for it in ids} >= set(parts.all("href"))
    classes = {it for value in parts.all("class") for it in (value or "").split()}
    assert all(re.fullmatch("[a-z]+", it) for it in classes)


def test_the_store_is_named_in_letters_that_show() -> None:
    text = page(Explanation("\u202e\ud800<b>", "/", 3, False))
    assert "<h1>\\u202e\\ud800&lt;b&gt;</h1>" in text
    assert "<title>What \\u202e\\ud800&lt;b&gt; says</title>" in text


def test_the_page_loads_nothing() -> None:
    text = made("small")
    assert not Elements(text).all("src")
    own = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:)?//[a-z]|url\(|@import|fetch\(|XMLHttp|import\(", own)


def test_the_page_allows_its_own_style_and_script_only() -> None:
    parts = Elements(made("small"))

    def allowed(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    (style,), (script,) = parts.raw["style"], parts.raw["script"]
    assert (
        f"default-src 'none'; style-src 'sha256-{allowed(style)}'; "
        f"script-src 'sha256-{allowed(script)}'; base-uri 'none'; form-action 'none'"
    ) in parts.all("content")


def test_the_script_makes_no_markup_of_texts() -> None:
    (script,) = Elements(made("small")).raw["script"]
    forbidden = ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(")
    assert not [name for name in forbidden if name in script]


def flat(number: int, name: Callable[[int], str] = lambda number: f"a{number}") -> Explanation:
    """Return an explanation of many arrays in one group."""
    arrays = tuple(FoundArray(f"/{name(one)}", ("x",), (3,), "int8") for one in range(number))
    return Explanation("memory://", "/", 3, False, (FoundGroup("/", arrays),))


def deep(number: int) -> Explanation:
    """Return an explanation of groups in one another."""
    groups = tuple(FoundGroup("/" + "/".join("g" * one)) for one in range(number))
    return Explanation("memory://", "/", 3, False, groups)


@pytest.mark.parametrize(
    ("explanation", "most"),
    [
        (EACH["small"], 30_000),
        (explanations.large(600, 3000), 50_000),
        (flat(3000), 100_000),
        (deep(2000), 1_000_000),
    ],
    ids=["small", "groups alike", "arrays alike", "deep"],
)
def test_what_is_alike_is_told_once(explanation: Explanation, most: int) -> None:
    assert len(page(explanation)) < most


# In a browser.


def chromium(default: str) -> str | None:
    """Return the Chromium that there is: one of the system, or playwright's own."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next(filter(None, map(shutil.which, names)), None)
    return found or (default if Path(default).exists() else None)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        path = chromium(playwright.chromium.executable_path)
        if path is None:
            pytest.skip("there is no Chromium")
        # Chromium has no sandbox for root.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        with playwright.chromium.launch(executable_path=path, args=arguments) as launched:
            yield launched


@pytest.fixture
def opened(browser: "Browser", tmp_path: Path) -> Iterator[Callable[..., "Page"]]:
    """Open the page of an explanation; in the end, it has asked for nothing and met no error."""
    told: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_page(
        name: str, width: int = 1280, scheme: Any = "light", text: str = "", **options: Any
    ) -> "Page":
        file = tmp_path / f"{name}.html"
        file.write_text(text or made(name), encoding="utf-8")
        options |= {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        shown = context.new_page()
        shown.set_default_timeout(20_000)
        shown.on("console", lambda message: told.append(message.text))
        shown.on("pageerror", lambda error: told.append(str(error)))
        shown.on("request", lambda request: requests.append(request.url))
        shown.goto(file.as_uri())
        settled(shown)
        return shown

    yield open_page
    for context in contexts:
        context.close()
    assert not told
    assert len(requests) == len(contexts)


def settled(shown: "Page") -> None:
    """Wait until all is drawn."""
    shown.wait_for_timeout(50)


def rows(shown: "Page") -> list[str]:
    """Return the names of the rows that show, from top to bottom."""
    settled(shown)
    names: list[str] = shown.locator(".name:visible").all_inner_texts()
    return names


def row(shown: "Page | FrameLocator", name: str) -> Any:
    """Return the card of a row."""
    return shown.locator("summary").filter(has=shown.locator(".name").get_by_text(name, exact=True))


def facts(shown: "Page", name: str) -> str:
    """Return what unfolds below a card."""
    text: str = row(shown, name).locator("xpath=following-sibling::dl").inner_text()
    return text


def focused(shown: "Page") -> str:
    text: str = shown.evaluate("document.activeElement.querySelector('.name')?.textContent ?? ''")
    return text


SMALL = """\
  - group:
    - text: / 3 arrays 1 problem
    - group:
      - text: axes 2 arrays
      - group: time time 12
      - group: time_bounds time 12 \xd7 nv 2
    - group:
      - text: ocean 1 array 1 problem
      - group: temperature time 12 \xd7 lat 180 \xd7 lon 360 1 problem
"""


def test_what_a_screen_reader_is_told(opened: Callable[..., "Page"]) -> None:
    told = opened("small", 480).locator("main").aria_snapshot()
    assert SMALL in told
    assert told.index('heading "Problems" [level=2]') < told.index('heading "Groups and arrays"')
    assert re.findall("text: (1 reference from|to.*)", told) == [
        *("1 reference from", "to"),
        *("1 reference from", "to nowhere"),
    ]


def test_an_array_tells_what_was_found(opened: Callable[..., "Page"]) -> None:
    shown = opened("small")
    row(shown, "temperature").click()
    told = facts(shown, "temperature")
    for text in (
        "/ocean/temperature",
        "declared in /ocean",
        "EPSG:4326",
        "180 values from -89.5 in steps of 1.0",
        "stored in /axes/time",
        "there is no node /axes/lon, nor /ocean/axes/lon",
    ):
        assert text in told
    assert "opened without coordinate 'lon'" in shown.locator("#problems").inner_text()


def test_links_unfold_what_they_lead_to(opened: Callable[..., "Page"]) -> None:
    shown = opened("small")
    row(shown, "temperature").click()
    row(shown, "axes").click()
    assert "time" not in rows(shown)
    shown.get_by_role("searchbox").fill("float32")
    shown.get_by_role("link", name="/axes/time").first.click()
    assert focused(shown) == "time"
    assert "Referred to by\n/ocean/temperature" in facts(shown, "time")
    assert shown.get_by_role("searchbox").input_value() == ""
    shown.get_by_role("link", name="there is no node /axes/lon").click()
    assert shown.locator(".reached").get_attribute("id") == "p1"


def test_the_levels_of_a_group_are_a_table(opened: Callable[..., "Page"]) -> None:
    levels = (
        FoundLevel("/images/0", (10.0, 10.0), "m", (8, 12), (4, 4), (1.0, 1.0)),
        FoundLevel("/images/1", (20.0, 40.5), "m", (4, 3), (4, 3), (2.0, 4.0)),
        FoundLevel("/images/</td>"),
        FoundLevel("/images/3", shape=(3072,), refinement=4),
    )
    groups = (FoundGroup("/"), FoundGroup("/images", levels=levels), FoundGroup("/images/0"))
    shown = opened("levels", text=page(Explanation("s.zarr", "/", 3, False, groups)))
    assert [line.split("\t") for line in shown.locator("table").inner_text().splitlines()] == [
        ["level", "resolution", "rows x columns", "of a chunk", "factor"],
        ["/images/0", "10 m", "8 x 12", "4 x 4", "1"],
        ["/images/1", "20 x 40.5 m", "4 x 3", "4 x 3", "2 x 4"],
        ["/images/</td>", "?", "?", "?", "?"],
        ["/images/3", "refinement level 4", "3072", "?", "?"],
    ]


@pytest.mark.parametrize("width", [480, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_lines_stand_out(opened: Callable[..., "Page"], width: int, scheme: str) -> None:
    shown = opened("colourful", width, scheme)
    row(shown, "temperature").click()
    row(shown, "salinity").click()
    assert shown.evaluate(CONTRASTS) == []
    shown.get_by_role("searchbox").fill("temp")
    assert shown.evaluate(CONTRASTS) == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


#: What of the page has less contrast than WCAG 2.2 asks for: texts 4.5, what is drawn 3.
CONTRASTS = """() => {
  const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const light = (colour) => {
    const parts = numbers(colour).slice(0, 3).map((part) => part / 255);
    const linear = parts.map((p) => (p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let one = element; one !== null; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if ((numbers(colour)[3] ?? 1) > 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const contrast = (one, other) => {
    const [less, more] = [light(one), light(other)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
  };
  const found = [];
  const expect = (element, colour, least) => {
    const given = contrast(colour, behind(element));
    if (given < least) found.push([element.outerHTML.slice(0, 80), colour, given]);
  };
  for (const element of document.body.querySelectorAll('*')) {
    const hasText = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== '');
    const style = getComputedStyle(element);
    if (element.matches('path, rect')) {
      expect(element, style.fill === 'none' ? style.stroke : style.fill, 3);
    } else if (hasText && element.checkVisibility() && !element.matches('script, style, text')) {
      expect(element, style.color, 4.5);
    }
  }
  return found;
}"""


def test_groups_that_are_alike_are_one_row(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    assert shown.evaluate("document.getElementsByTagName('*').length") < 1000
    assert "196 groups alike" in row(shown, ALIKE).inner_text()
    told = facts(shown, ALIKE)
    assert "/scene_000" in told
    assert "scene_001, scene_002" in told
    assert "5,960" not in shown.locator("main").inner_text()


def test_sizes_are_told_where_groups_alike_have_others(opened: Callable[..., "Page"]) -> None:
    arrays = [FoundArray(f"/r{n}/b", ("y", "x"), (6, 60 // n), "int8") for n in (1, 2, 3)]
    groups = (FoundGroup("/"), *(FoundGroup(it.path[:-2], (it,)) for it in arrays))
    shown = opened("sizes", text=page(Explanation("s.zarr", "/", 3, False, groups)))
    assert rows(shown) == ["/", "r1, r2, r3", "b"]
    assert "r2 (x 30), r3 (x 20)" in facts(shown, "r1, r2, r3")


def arrows(shown: "Page") -> list[str]:
    """Return how many references each arrow stands for where these are several."""
    settled(shown)
    return sorted(shown.locator("#rows text").all_text_contents())


def test_arrows_lead_from_groups_to_groups(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    told = shown.locator("#arrows").inner_text()
    assert "10 references from /scene_196 to /grids/utm" in told
    assert (
        "196 references from /scene_000 and 195 like it to https://example.org/masks.zarr" in told
    )
    picture = shown.locator("#rows > svg")
    assert picture.locator(".arrow").count() == 6
    assert picture.locator(".head").count() == 3
    assert picture.locator(".fallback").count() == 2
    assert arrows(shown) == ["1,960", "10", "196", "196"]
    row(shown, "grids").click()  # its arrows become those of what is in it
    assert arrows(shown) == ["11", "196", "2,156"]
    row(shown, "/").click()
    assert arrows(shown) == ["197"]


@pytest.mark.parametrize("before", [480, 1280])
def test_arrows_touch_their_rows(opened: Callable[..., "Page"], before: int) -> None:
    shown = opened("colourful", before)
    shown.set_viewport_size({"width": 480, "height": 900})
    settled(shown)

    def box(locator: Any) -> Any:
        return locator.bounding_box()

    cards = [box(row(shown, name)) for name in ("axes", "https://example.org/masks.zarr")]
    heads = sorted(map(box, shown.locator("#rows .head").all()), key=lambda it: it["y"])
    for card, head in zip(cards, heads, strict=True):
        assert 0 <= head["x"] - card["x"] - card["width"] < 3
        assert card["y"] < head["y"] < head["y"] + head["height"] < card["y"] + card["height"]
    picture = shown.locator("#rows > svg").bounding_box()
    assert picture is not None
    assert picture["x"] + picture["width"] <= 480


def test_searching(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    row(shown, "utm").click()  # it folds
    before = rows(shown)
    search, status = shown.get_by_role("searchbox"), shown.get_by_role("status")
    search.fill("SCENE_19")
    search.fill("SCENE_19 b03")
    assert rows(shown) == ["/", ALIKE, "B02, B03, B04, B05", "scene_196", "B02, B03, B04"]
    assert status.inner_text() == f"2 of {shown.locator('.row').count()} rows"
    assert shown.locator(".hit .name").all_inner_texts() == [
        "B02, B03, B04, B05",
        "B02, B03, B04",
    ]
    search.press("Enter")
    assert focused(shown) == "B02, B03, B04, B05"
    search.press("Escape")
    assert rows(shown) == before
    assert status.inner_text() == ""
    search.fill("there is no such thing")
    assert rows(shown) == []


@pytest.mark.parametrize(
    ("name", "button", "found"),
    [
        ("small", "With problems", ["/", "ocean", "temperature"]),
        ("small", "References that lead nowhere", ["/", "ocean", "temperature"]),
        ("colourful", "Without a coordinate", ["/", "ocean", "temperature", "salinity"]),
    ],
)
def test_filtering(opened: Callable[..., "Page"], name: str, button: str, found: list[str]) -> None:
    shown = opened(name)
    before = rows(shown)
    shown.get_by_role("button", name=button).click()
    assert rows(shown) == found
    shown.get_by_role("button", name=button).click()
    assert rows(shown) == before


def test_only_what_there_is_can_be_filtered(opened: Callable[..., "Page"]) -> None:
    assert opened("empty").get_by_role("button").count() == 0


def test_counts_are_of_all_that_there_is(opened: Callable[..., "Page"]) -> None:
    small = EACH["small"]
    many = replace(small.problems[0], text="there is no node (and 97 more of this kind)", count=98)
    problems = (many, FoundProblem("choice", "two nodes are called 'x'"))
    shown = opened("many", text=page(replace(small, problems=problems)))
    assert "99 problems" in shown.locator("header").inner_text()
    assert row(shown, "/").locator(".badge").inner_text() == "99 problems"
    assert row(shown, "ocean").locator(".badge").inner_text() == "98 problems"


def test_the_legend_has_each_sign_that_there_is(opened: Callable[..., "Page"]) -> None:
    signs = ["refers to, a colour for each target", "leads nowhere"]
    chips = ["principal", "service", "something is lost"]
    legend = opened("small").locator("#legend > :visible")
    assert legend.all_inner_texts() == [*signs, *chips]
    shown = opened("colourful")
    legend = shown.locator("#legend > :visible")
    assert legend.all_inner_texts() == [
        "refers to, a colour for each target",
        "by another rule than the first",
        "leads nowhere",
        "elsewhere",
        "principal",
        "service",
        "recognised: nothing about coordinates",
        "unknown: nothing is read of it",
        "something is lost",
        "nothing is lost",
    ]
    looks = """all => [...new Set(all.map(getComputedStyle).map((it) =>
      [it.color, it.backgroundColor, it.borderStyle, it.borderColor].join()))].sort()"""
    in_rows = shown.locator("#rows summary").locator(".chip, .badge").evaluate_all(looks)
    assert legend.and_(shown.locator(".chip, .badge")).evaluate_all(looks) == in_rows
    assert len(in_rows) == 6
    assert opened("empty").locator("#legend").inner_text() == ""


def test_keys(opened: Callable[..., "Page"]) -> None:
    shown = opened("small")
    shown.get_by_role("button", name="Without a coordinate").focus()
    for name in ("/", "axes", "time"):
        while focused(shown) != name:
            shown.keyboard.press("Tab")
    shown.keyboard.press("Enter")
    assert "/axes/time" in facts(shown, "time")
    shown.keyboard.press("Shift+Tab")
    shown.keyboard.press("Space")
    assert rows(shown) == ["/", "axes", "ocean", "temperature"]


def test_hostile_names_are_names(opened: Callable[..., "Page"]) -> None:
    shown = opened("hostile", 480)
    shown.evaluate("for (const row of document.querySelectorAll('details')) row.open = true")
    settled(shown)
    assert shown.title() == f"What {explanations.HOSTILE_NAMES[0]} says"
    assert shown.locator("img[src], main script").count() == 0
    assert shown.evaluate("document.documentElement.scrollWidth") <= 480
    told = shown.locator("body").inner_text()
    for shown_as in ("bidi\\u202egnp.exe\\u2066", "lone \\ud800 surrogate", "\\x07\\x1b[31m"):
        assert shown_as in told
    assert not set("\u202e\u2066\x07\x1b") & set(told)


def test_nothing_to_show(opened: Callable[..., "Page"]) -> None:
    shown = opened("empty")
    assert rows(shown) == ["/"]
    assert shown.locator("#rows path").count() == 0


def test_a_page_without_its_script_tells_the_same(opened: Callable[..., "Page"]) -> None:
    shown = opened("small", java_script_enabled=False)
    assert shown.get_by_role("search").is_hidden()
    row(shown, "temperature").click()
    assert "declared in /ocean" in facts(shown, "temperature")
    assert "1 reference from /ocean to nowhere" in shown.locator("#arrows").inner_text()


# In a notebook.


def notebook(explanation: Explanation) -> str:
    """Return a page as notebooks are: what comes before, what an explanation gives, what comes after."""
    drawn = explanation._repr_html_()
    return f"<!doctype html><meta charset=utf-8><p>before</p><div>{drawn}</div><p>after</p>"


@pytest.mark.parametrize("width", [480, 1280])
def test_a_notebook_shows_the_page_as_high_as_it_is(
    opened: Callable[..., "Page"], width: int
) -> None:
    shown = opened("small", width, text=notebook(EACH["small"]))
    frame = shown.frame_locator("iframe")
    assert shown.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert not shown.locator("pre").is_visible()
    row(frame, "axes").click()  # it folds
    inside = frame.locator("body").evaluate("body => body.offsetHeight")
    shown.wait_for_function(f"() => document.querySelector('iframe').clientHeight === {inside}")
    assert frame.locator("html").evaluate("html => html.scrollWidth <= html.clientWidth")
    frame.get_by_role("link", name="/axes").last.click()
    frame.get_by_role("link", name="/ocean/temperature").click()
    assert "reached" in (row(frame, "temperature").get_attribute("class") or "")


def test_a_page_in_a_notebook_is_not_higher_than_a_screen(opened: Callable[..., "Page"]) -> None:
    shown = opened("large", text=notebook(EACH["large"]))
    shown.wait_for_function("() => document.querySelector('iframe').clientHeight === 900")


@pytest.mark.parametrize("name", ["small", "hostile"])
def test_text_shows_where_frames_do_not(opened: Callable[..., "Page"], name: str) -> None:
    # What cleans notebooks that are not trusted leaves neither frames, styles nor scripts.
    drawn = notebook(EACH[name])
    cleaned = re.sub(r"<(style|iframe|script)\b.*?</\1>", "", drawn, flags=re.DOTALL)
    shown = opened(name, text=cleaned)
    assert shown.locator("pre").text_content() == repr(EACH[name])


@each
def test_nothing_of_a_store_is_markup_in_a_notebook(name: str) -> None:
    parts = Elements(EACH[name]._repr_html_()).found
    assert [tag for tag, _attributes in parts] == ["style", "iframe", "pre", "script"]
    assert parts[1][1]["srcdoc"] == made(name)


@pytest.mark.parametrize(
    ("explanation", "is_page"),
    [
        (explanations.large(1000, 5000), True),
        (flat(5000), True),
        (flat(60_000), False),
        (flat(5000, lambda number: hashlib.sha512(b"%d" % number).hexdigest()), False),
        (
            replace(flat(0), problems=(FoundProblem("problem", "&" * 10_000),) * 200),
            False,
        ),
    ],
    ids=["groups alike", "arrays alike", "many", "long names", "long problems"],
)
def test_what_is_saved_with_a_notebook_is_never_large(
    explanation: Explanation, *, is_page: bool
) -> None:
    drawn = explanation._repr_html_()
    assert len(drawn) <= 300_000
    assert ("<iframe" in drawn) == is_page
    if not is_page:
        assert drawn.startswith("<pre>memory://")
        assert "xgroup explain --html" in drawn
