"""The HTML page of an explanation: that it is one harmless file, and how it works in a browser."""

import base64
import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from zarr_xgroup import explain
from zarr_xgroup.findings import Place
from zarr_xgroup.report import page as pages
from zarr_xgroup.report.explanation import (
    Explanation,
    FoundArray,
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

EACH = {
    "small": explanations.small(),
    "large": explanations.large(),
    "hostile": explanations.hostile(),
    "empty": Explanation("memory://", "/", 3, False),
}

#: What the groups that are alike of the large one are called.
ALIKE = "scene_000 \u2026 scene_195"

each = pytest.mark.parametrize("name", EACH)


@cache
def made(name: str) -> str:
    """Return the page of an explanation; to make a large one takes a while."""
    return page(EACH[name])


class Elements(HTMLParser):
    """The elements of a page, and the texts of those that are not HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
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


def embedded(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(Elements(text).raw["script"][0])))


# The file.


@each
def test_the_page_holds_the_explanation(name: str) -> None:
    expected = json.loads(json.dumps(EACH[name].to_dict()))
    assert embedded(made(name))["explanation"] == expected


@pytest.mark.parametrize("store", sorted(STORES.glob("*.zarr")), ids=lambda store: store.stem)
def test_stores_are_drawn(store: Path) -> None:
    explanation = explain(store)
    assert embedded(page(explanation))["explanation"] == explanation.to_dict()


@each
def test_the_page_is_the_same_each_time(name: str) -> None:
    assert page(EACH[name]) == made(name)


@each
def test_nothing_of_a_store_is_markup(name: str) -> None:
    def shape(text: str) -> list[tuple[str, list[str]]]:
        return [(tag, list(attributes)) for tag, attributes in Elements(text).found]

    assert shape(made(name)) == shape(made("empty"))


def test_the_store_is_named_in_letters_that_show() -> None:
    text = page(Explanation("\u202e\ud800<b>", "/", 3, False))
    assert "<h1>\\u202e\\ud800&lt;b&gt;</h1>" in text
    assert "<title>What \\u202e\\ud800&lt;b&gt; says</title>" in text


@each
def test_the_page_is_ascii(name: str) -> None:
    assert made(name).isascii()


def test_the_page_loads_nothing() -> None:
    text = made("small")
    parts = Elements(text)
    assert not [attributes for _tag, attributes in parts.found if {"src", "href"} & set(attributes)]
    own = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:)?//[a-z]|url\(|@import|fetch\(|XMLHttp|import\(", own)


def test_the_page_allows_its_own_style_and_script_only() -> None:
    parts = Elements(made("small"))
    policy = next(
        attributes["content"]
        for tag, attributes in parts.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )

    def allowed(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    (style,), (_data, script) = parts.raw["style"], parts.raw["script"]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{allowed(style)}'; "
        f"script-src 'sha256-{allowed(script)}'; base-uri 'none'; form-action 'none'"
    )


def test_the_script_makes_no_markup_of_texts() -> None:
    script = pages._part("page.js")
    forbidden = ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(")
    assert not [name for name in forbidden if name in script]


def test_the_page_is_not_much_larger_than_what_it_holds() -> None:
    data = json.dumps(EACH["large"].to_dict(), separators=(",", ":"))
    assert len(made("large")) - len(data) < 80_000


def test_the_script_uses_the_texts_that_there_are() -> None:
    script = pages._part("page.js")
    dynamic = {
        *(f"{key}Flag" for key in ("problems", "broken", "missing")),
        *(f"{key}Title" for key in re.findall(r'section\("(\w+)"', script)),
        *("legendTo", "legendFallback", "legendNowhere"),
        *("group", "array", "store", "outside"),
        *("principal", "service", "recognised", "unknown"),
        *("own", "stored", "foreign", "computed", "inline", "given"),
    }
    named = set(re.findall(r'(?:\btexts\.|\bsay\(")(\w+)', script))
    named |= {"arrow", "arrowNowhere", "from", "to"}
    assert named | dynamic == set(pages._texts()) - set(pages._IN_TEMPLATE)
    assert set(re.findall(r'\bcount\("(\w+)"', script)) == set(pages._counts())


def test_counts_take_the_form_of_their_number() -> None:
    forms: Any = pages._forms(pages._counts()["arrays"])
    assert forms["forms"] == ["{count} arrays", "{count} array"]
    assert [forms["which"][number] for number in (0, 1, 2, 101)] == [0, 1, 0, 0]


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
        shown.set_default_timeout(60_000)
        shown.on("console", lambda message: told.append(message.text))
        shown.on("pageerror", lambda error: told.append(str(error)))
        shown.on("request", lambda request: requests.append(request.url))
        shown.goto(file.as_uri())
        if not text:
            shown.get_by_role("treeitem").first.wait_for()
        return shown

    yield open_page
    for context in contexts:
        context.close()
    assert not told
    assert len(requests) == len(contexts)


def rows(shown: "Page") -> list[str]:
    """Return the names of the rows, from top to bottom."""
    names: list[str] = shown.locator("[role=treeitem] .name").all_inner_texts()
    return names


def row(shown: "Page | FrameLocator", name: str) -> Any:
    named = shown.locator("[role=treeitem]")
    return named.filter(has=shown.locator(".name").get_by_text(name, exact=True))


def focused(shown: "Page") -> str:
    text: str = shown.evaluate("document.activeElement.querySelector('.name')?.textContent ?? ''")
    return text


def size(shown: "Page") -> int:
    number: int = shown.evaluate("document.getElementsByTagName('*').length")
    return number


SMALL = """\
- main:
  - region "Groups and arrays":
    - heading "Groups and arrays" [level=2]
    - paragraph: refers to leads nowhere something is lost
    - tree "Groups and arrays":
      - treeitem "/ 3 arrays 1 problem" [expanded] [level=1]
      - treeitem "axes 2 arrays ; 1 reference from /ocean" [expanded] [level=2]
      - treeitem "time time 12" [level=3]
      - treeitem "time_bounds time 12 \xd7 nv 2" [level=3]
      - treeitem "ocean 1 array 1 problem ; 1 reference to /axes; 1 reference to nowhere" \
[expanded] [level=2]
      - treeitem "temperature time 12 \xd7 lat 180 \xd7 lon 360 1 problem" [level=3]
    - img "References between groups. 1 reference of /ocean to /axes. \
1 reference of /ocean to nowhere."
"""


def test_what_a_screen_reader_is_told(opened: Callable[..., "Page"]) -> None:
    shown = opened("small", 480)
    assert shown.locator("main").aria_snapshot().splitlines() == SMALL.splitlines()
    row(shown, "temperature").click()
    details = shown.locator("#details").aria_snapshot().splitlines()
    assert details[:4] == [
        '- complementary "/ocean/temperature":',
        '  - button "Close": \xd7',
        "  - paragraph: Array",
        '  - heading "/ocean/temperature" [level=2]',
    ]
    assert [line.strip() for line in details if "[level=3]" in line] == [
        '- heading "Problems 1" [level=3]',
        '- heading "Conventions 3" [level=3]',
        '- heading "Coordinates 2" [level=3]',
        '- heading "References 2" [level=3]',
    ]


def test_an_array_tells_what_was_found(opened: Callable[..., "Page"]) -> None:
    shown = opened("small")
    row(shown, "temperature").click()
    told = shown.locator("#details").inner_text()
    for text in (
        "/ocean/temperature",
        "float32",
        "declared in /ocean",
        "EPSG:4326",
        "180 values from -89.5 in steps of 1.0",
        "stored in /axes/time",
        "there is no node /axes/lon, nor /ocean/axes/lon",
        "opened without coordinate 'lon'",
    ):
        assert text in told
    shown.locator("#details").get_by_role("button", name="/axes/time", exact=True).first.click()
    assert focused(shown) == "time"
    assert shown.locator("#details-title").inner_text() == "/axes/time"


def test_the_levels_of_a_group_are_a_table(opened: Callable[..., "Page"]) -> None:
    levels = (
        FoundLevel("/images/0", (10.0, 10.0), "m", (8, 12), (4, 4), (1.0, 1.0)),
        FoundLevel("/images/1", (20.0, 40.0), "m", (4, 3), (4, 3), (2.0, 4.0)),
        FoundLevel("/images/</td>"),
        *(
            FoundLevel(f"/images/{n}", (1.0, 1.0), "", (1, 1), (1, 1), (1.0, 1.0))
            for n in range(60)
        ),
    )
    groups = (FoundGroup("/"), FoundGroup("/images", levels=levels), FoundGroup("/images/0"))
    shown = opened("levels", text=page(Explanation("s.zarr", "/", 3, False, groups)))
    row(shown, "images").click()
    told = [line.split("\t") for line in shown.locator("#details table").inner_text().splitlines()]
    assert told[:4] == [
        ["level", "resolution", "rows x columns", "of a chunk", "factor"],
        ["/images/0", "10 m", "8 \u00d7 12", "4 \u00d7 4", "1"],
        ["/images/1", "20 \u00d7 40 m", "4 \u00d7 3", "4 \u00d7 3", "2 \u00d7 4"],
        ["/images/</td>", "?", "?", "?", "?"],
    ]
    assert len(told) == 51
    shown.locator("#details .levels .more").click()
    assert shown.locator("#details tbody tr").count() == 63
    assert shown.evaluate("document.activeElement.id") == "details"
    shown.locator("#details table").get_by_role("button", name="/images/0").first.click()
    assert focused(shown) == "0"


@pytest.mark.parametrize("width", [480, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_lines_stand_out(opened: Callable[..., "Page"], width: int, scheme: str) -> None:
    shown = opened("small", width, scheme)
    shown.get_by_role("button", name="Problems").click()
    row(shown, "temperature").click()
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
    if (element.matches('path')) {
      expect(element, style.fill === 'none' ? style.stroke : style.fill, 3);
    } else if (hasText && element.checkVisibility() && !element.matches('script, style, text')) {
      expect(element, style.color, 4.5);
    }
  }
  return found;
}"""


def test_a_thousand_arrays_are_folded(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    assert size(shown) < 600
    assert ALIKE in rows(shown)
    alike = row(shown, ALIKE)
    assert "196 groups alike" in alike.inner_text()
    assert "1,960 references to /grids/utm" in alike.text_content()
    alike.click()
    assert "scene_049" in rows(shown)
    assert "scene_050" not in rows(shown)
    row(shown, "146 more").click()
    assert focused(shown) == "scene_050"
    assert size(shown) < 3000


def test_arrows_lead_from_groups_to_groups(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    picture = shown.get_by_role("img", name="References between groups.")
    text = picture.get_attribute("aria-label") or ""
    assert "10 references of /scene_196 to /grids/utm." in text
    assert f"196 references of {ALIKE} to https://example.org/masks.zarr." in text
    assert picture.locator(".arrow").count() == 6
    assert picture.locator(".head").count() == 3
    assert picture.locator(".fallback").count() == 2
    assert sorted(picture.locator("text").all_text_contents()) == ["1,960", "10", "196", "196"]


@pytest.mark.parametrize("before", [480, 1280])
def test_arrows_touch_their_rows(opened: Callable[..., "Page"], before: int) -> None:
    shown = opened("large", before)
    shown.set_viewport_size({"width": 480, "height": 900})
    shown.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    edges = shown.evaluate(
        """() => [...document.querySelectorAll('.card')].map((card) => card.getBoundingClientRect())
             .map((box) => box.right)"""
    )
    picture = shown.locator("#hierarchy > svg").bounding_box()
    assert picture is not None
    assert {round(edge) for edge in edges} == {round(picture["x"])}
    assert picture["x"] + picture["width"] <= 480


def test_searching(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    row(shown, "utm").locator(".twisty").click()
    before = rows(shown)
    shown.get_by_role("searchbox").fill("SCENE_19")
    shown.get_by_role("searchbox").fill("SCENE_19 b03")
    assert shown.get_by_role("status").inner_text() == "7 of 1,000 arrays"
    assert rows(shown).count("B03") == 7
    assert "utm" in rows(shown)  # what they refer to
    assert "B01" not in rows(shown)
    shown.keyboard.press("Escape")
    assert shown.get_by_role("searchbox").input_value() == ""
    assert rows(shown) == before
    shown.get_by_role("searchbox").fill("there is no such thing")
    assert shown.get_by_role("status").inner_text() == "0 of 1,000 arrays"


def test_a_search_shows_the_rows_that_it_finds(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    search = shown.get_by_role("searchbox")
    search.fill("b03")
    assert shown.get_by_role("status").inner_text() == "197 of 1,000 arrays"
    assert rows(shown).count("B03") >= 20
    assert set(shown.locator("mark").all_inner_texts()) == {"B03"}
    assert "1 of 5 arrays" in row(shown, "scene_000").inner_text()
    assert "196 of 980 arrays" in row(shown, ALIKE).inner_text()
    assert "x" not in rows(shown)  # only where what was found refers to
    search.press("Enter")
    assert focused(shown) == "B03"
    assert size(shown) < 3000
    shown.keyboard.press("Escape")
    assert shown.get_by_role("status").inner_text() == ""
    assert focused(shown) == ALIKE


def test_groups_alike_stay_one_row_where_they_are_only_referred_to(
    opened: Callable[..., "Page"],
) -> None:
    zones = [f"/zones/z{number}" for number in range(5)]
    bands = tuple(FoundArray(f"/band{number}", ("x",), (3,), "int8") for number in range(5))
    groups = [FoundGroup("/", bands), FoundGroup("/zones")]
    groups += [FoundGroup(it, (FoundArray(f"{it}/x", ("x",), (3,), "int8"),)) for it in zones]
    references = tuple(
        FoundReference(Place(band.path, "/attributes/cs"), f"{zone}/x", Place(f"{zone}/x"))
        for band, zone in zip(bands, zones, strict=True)
    )
    explanation = Explanation("s.zarr", "/", 3, False, tuple(groups), references)
    shown = opened("zones", text=page(explanation))
    shown.get_by_role("searchbox").fill("band")
    folded = ["/", *(it.name for it in bands), "zones", "z0 \u2026 z4"]
    assert rows(shown) == folded
    shown.get_by_role("searchbox").fill("z3")
    assert rows(shown) == ["/", "zones", "z3", "x"]


def test_a_search_says_what_it_finds(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    shown.get_by_role("searchbox").fill("masks.zarr")
    assert shown.get_by_role("status").inner_text() == "0 of 1,000 arrays, 1 of 1 place"
    shown.get_by_role("searchbox").fill("utm")
    assert shown.get_by_role("status").inner_text() == "1 of 201 groups, 987 of 1,000 arrays"


def test_arrows_of_what_is_not_shown_yet_begin_where_it_will_be(
    opened: Callable[..., "Page"],
) -> None:
    shown = opened("large")
    row(shown, ALIKE).click()
    assert "1,460 references to /grids/utm" in row(shown, "146 more").text_content()
    assert "references to" not in row(shown, ALIKE).text_content()
    row(shown, "146 more").focus()
    shown.keyboard.press("Enter")
    assert "960 references to /grids/utm" in row(shown, "96 more").text_content()


def test_counts_are_of_all_that_there_is(opened: Callable[..., "Page"]) -> None:
    small = EACH["small"]
    many = replace(small.problems[0], text="there is no node (and 97 more of this kind)", count=98)
    problems = (many, FoundProblem("choice", "two nodes are called 'x'"))
    shown = opened("many", text=page(replace(small, problems=problems)))
    assert "99 problems" in shown.locator("#summary").inner_text()
    assert row(shown, "/").locator(".badge").inner_text() == "99 problems"
    assert row(shown, "ocean").locator(".badge").inner_text() == "98 problems"
    assert "Problems 99" in shown.locator("#details").inner_text()


def test_the_legend_has_each_colour_that_there_is(opened: Callable[..., "Page"]) -> None:
    signs = ".chip, .badge"
    legend = opened("small").locator("#legend").locator(signs)
    assert legend.all_inner_texts() == ["principal", "service", "something is lost"]
    shown = opened("large")
    legend = shown.locator("#legend").locator(signs)
    assert legend.all_inner_texts() == [
        "principal",
        "service",
        "something is lost",
        "nothing is lost",
    ]
    row(shown, "11 arrays").click()
    colours = "all => [...new Set(all.map((one) => getComputedStyle(one).color))].sort()"
    in_rows = shown.locator("#tree").locator(signs)
    assert legend.evaluate_all(colours) == in_rows.evaluate_all(colours)
    assert opened("empty").locator("#legend").inner_text() == ""


def test_filtering(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    problems = shown.get_by_role("button", name="Problems")
    problems.click()
    assert problems.get_attribute("aria-pressed") == "true"
    assert shown.get_by_role("status").inner_text() == "1 of 1,000 arrays"
    assert "B05" in rows(shown)
    assert "B04" not in rows(shown)
    problems.click()
    shown.get_by_role("combobox").select_option("spatial")
    assert shown.get_by_role("status").inner_text() == "985 of 1,000 arrays"
    shown.get_by_role("button", name="Without a coordinate").click()
    assert shown.get_by_role("status").inner_text() == "0 of 1,000 arrays"


def test_what_no_array_declares_is_told_of_all_and_of_each(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    assert row(shown, "/").locator(".badge").inner_text() == "3 problems"
    row(shown, "11 arrays").click()
    array = row(shown, "extra_000")
    assert array.locator(".badge").inner_text() == "no coordinate n"
    array.click()
    assert "no principal convention" in shown.locator("#details").inner_text()


def test_links_lead_out_of_a_filter(opened: Callable[..., "Page"]) -> None:
    shown = opened("large")
    shown.get_by_role("searchbox").fill("B05")
    row(shown, "B05").last.click()
    shown.get_by_role("button", name="/grids/utm/y", exact=True).first.click()
    assert focused(shown) == "y"
    assert shown.get_by_role("searchbox").input_value() == ""


def test_keys(opened: Callable[..., "Page"]) -> None:
    shown = opened("small")
    tabbable = shown.locator("[role=treeitem][tabindex='0']")

    def pressed(key: str) -> str:
        shown.keyboard.press(key)
        assert tabbable.count() == 1
        return focused(shown)

    row(shown, "/").focus()
    assert pressed("ArrowDown") == "axes"
    assert pressed("ArrowRight") == "time"
    assert pressed("ArrowLeft") == "axes"
    assert pressed("ArrowLeft") == "axes"
    assert "time" not in rows(shown)
    assert pressed("ArrowRight") == "axes"
    assert "time" in rows(shown)
    assert pressed("End") == "temperature"
    assert pressed("ArrowDown") == "temperature"
    assert pressed("ArrowUp") == "ocean"
    assert pressed("Home") == "/"
    assert pressed("t") == "time"
    assert pressed("Enter") == "time"
    assert shown.locator("#details-title").inner_text() == "/axes/time"
    assert row(shown, "time").get_attribute("aria-selected") == "true"
    assert pressed("Escape") == "time"
    assert shown.locator("#details").is_hidden()
    assert pressed(" ") == "time"
    assert shown.locator("#details").is_visible()


def test_hostile_names_are_names(opened: Callable[..., "Page"]) -> None:
    shown = opened("hostile", 480)
    number = 2 * len(explanations.HOSTILE_NAMES)
    select = "number => document.getElementById(`row-${number}`).click()"
    for below in range(1, 1 + number):
        shown.evaluate(select, below)
        assert shown.locator("#details-title").count() == 1
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
    assert shown.locator("#hierarchy > svg").count() == 0


def test_the_place_of_a_problem_is_shown_once(opened: Callable[..., "Page"]) -> None:
    (problem,) = EACH["small"].problems
    assert problem.place is not None
    shown = opened("small")
    row(shown, "temperature").click()
    told = shown.locator("#details section.problems").inner_text()
    assert problem.text in told
    assert told.count(problem.place.pointer) == 1


# In a notebook.


def notebook(name: str) -> str:
    """Return a page as notebooks are: what comes before, what an explanation gives, what comes after."""
    drawn = EACH[name]._repr_html_()
    return f"<!doctype html><meta charset=utf-8><p>before</p><div>{drawn}</div><p>after</p>"


@pytest.mark.parametrize("width", [480, 1280])
def test_a_notebook_shows_the_page_as_high_as_it_is(
    opened: Callable[..., "Page"], width: int
) -> None:
    shown = opened("small", width, text=notebook("small"))
    frame = shown.frame_locator("iframe")
    frame.get_by_role("treeitem").first.wait_for()
    assert shown.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert not shown.locator("pre").is_visible()
    inside = frame.locator("body").evaluate("body => body.offsetHeight")
    shown.wait_for_function(f"() => document.querySelector('iframe').clientHeight === {inside}")
    assert frame.locator("html").evaluate("html => html.scrollWidth <= html.clientWidth")
    row(frame, "axes").locator(".twisty").click()  # it folds
    shown.wait_for_function(f"() => document.querySelector('iframe').clientHeight < {inside}")


def test_a_page_in_a_notebook_is_not_higher_than_a_screen(opened: Callable[..., "Page"]) -> None:
    shown = opened("large", text=notebook("large"))
    shown.frame_locator("iframe").get_by_role("treeitem").first.wait_for()
    shown.wait_for_function("() => document.querySelector('iframe').clientHeight === 900")


@pytest.mark.parametrize("name", ["small", "hostile"])
def test_text_shows_where_frames_do_not(opened: Callable[..., "Page"], name: str) -> None:
    # What cleans notebooks that are not trusted leaves neither frames, styles nor scripts.
    cleaned = re.sub(r"<(style|iframe|script)\b.*?</\1>", "", notebook(name), flags=re.DOTALL)
    shown = opened(name, text=cleaned)
    assert shown.locator("pre").text_content() == repr(EACH[name])


def test_text_shows_where_scripts_do_not(opened: Callable[..., "Page"]) -> None:
    inside = dict(Elements(notebook("small")).found)["iframe"]["srcdoc"] or ""
    shown = opened("small", text=inside, java_script_enabled=False)
    assert shown.locator("body").inner_text().strip() == repr(EACH["small"])


@each
def test_nothing_of_a_store_is_markup_in_a_notebook(name: str) -> None:
    parts = Elements(EACH[name]._repr_html_()).found
    assert [tag for tag, _attributes in parts] == ["style", "iframe", "pre", "script"]
    assert parts[1][1]["srcdoc"] == pages._page(EACH[name], repr(EACH[name]))


def flat(number: int, name: Callable[[int], str] = lambda number: f"a{number}") -> Explanation:
    """Return an explanation of many arrays in one group."""
    arrays = tuple(FoundArray(f"/{name(one)}", ("x",), (3,), "int8") for one in range(number))
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


@pytest.mark.parametrize(
    "explanation",
    [
        explanations.large(1000, 5000),
        flat(5000),
        flat(5000, lambda number: f"{'<' * 200}{number}"),
        unlike(5000),
        flat(0),
    ],
    ids=["alike", "one group", "long names", "unlike", "empty"],
)
def test_a_page_in_a_notebook_is_never_large(explanation: Explanation) -> None:
    drawn = explanation._repr_html_()
    assert "<iframe" in drawn
    assert len(drawn) <= 300_000


def test_text_shows_where_a_page_would_be_too_large() -> None:
    hostile = flat(5000, lambda number: hashlib.sha512(b"%d" % number).hexdigest())
    problems = tuple(FoundProblem("problem", f"{'&' * 10_000}{n}") for n in range(200))
    for explanation in (flat(60_000), hostile, replace(hostile, problems=problems)):
        drawn = explanation._repr_html_()
        assert drawn.startswith("<pre>memory:// ")
        assert "xgroup explain --html" in drawn
        assert len(drawn) <= 300_000
