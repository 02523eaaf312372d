"""The HTML page of an explanation: one harmless file, and its behaviour in a browser."""

import base64
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from zarr_xgroup.report.explanation import FoundProblem
from zarr_xgroup.report.page import page
from zarr_xgroup.report.results import Explanation
from zarr_xgroup.tests.explanations import (
    HOSTILE_NAMES,
    hostile,
    of_arrays,
    of_groups,
    of_scenes,
    sample,
)
from zarr_xgroup.tests.tables import rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page

EACH = {
    "sample": sample(),
    "scenes": of_scenes(197),
    "hostile": hostile(*HOSTILE_NAMES),
    "empty": of_groups(),
}

#: What the row of the groups that are alike is called.
ALIKE = "scene_001 \u2026 scene_196"

each = pytest.mark.parametrize("name", EACH)


@cache
def made(name: str) -> str:
    """Return the page of an explanation; to make a large one takes a while."""
    return page(EACH[name])


class Elements(HTMLParser):
    """The elements of a page, the lines of its text, and the texts of those that are not HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.lines = [""]
        self._inside, self._depth = "", 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag
        self._depth += tag == "details"
        if tag in ("summary", "li", "h2", "p", "form"):
            self.lines.append("  " * (self._depth - (tag == "summary")))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""
        self._depth -= tag == "details"

    def handle_data(self, data: str) -> None:
        if self._inside in self.raw:
            self.raw[self._inside].append(data)
        elif data.strip():
            self.lines[-1] += f"{data.strip()} "

    def all(self, attribute: str) -> list[str | None]:
        """Return the values of an attribute, from top to bottom."""
        return [it[attribute] for _tag, it in self.found if attribute in it]


# The file.


def text_of(explanation: Explanation) -> list[str]:
    """Return the lines of what a page tells."""
    return [line.rstrip() for line in Elements(page(explanation)).lines if line.strip()]


def test_the_page_shows_the_explanation_of_a_store() -> None:
    expected = Path(__file__).with_name("sample_page.txt").read_text(encoding="utf-8")
    assert text_of(sample()) == expected.splitlines()


@each
def test_text_of_a_store_is_never_markup(name: str) -> None:
    def markup(name: str) -> set[tuple[str, ...]]:
        return {(tag, *attributes) for tag, attributes in Elements(made(name)).found}

    assert page(EACH[name]) == made(name)
    assert made(name).isascii()
    parts = Elements(made(name))
    like = {("span", "class"), ("a", "href"), ("ul",), ("li",)}
    assert markup(name) <= markup("sample") | like
    ids = parts.all("id")
    assert len(ids) == len(set(ids))
    assert {f"#{it}" for it in ids} >= set(parts.all("href"))
    classes = {it for value in parts.all("class") for it in (value or "").split()}
    assert all(re.fullmatch("[a-z]+", it) for it in classes)
    frame = Elements(EACH[name]._repr_html_()).found
    assert [tag for tag, _attributes in frame] == ["style", "iframe", "pre", "script"]
    assert frame[1][1]["srcdoc"] == made(name)


def test_the_page_loads_nothing_and_allows_its_own_style_and_script_only() -> None:
    parts = Elements(made("sample"))
    assert not parts.all("src")
    (style,), (script,) = parts.raw["style"], parts.raw["script"]
    own = style + script.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:)?//[a-z]|url\(|@import|fetch\(|XMLHttp|import\(", own)
    assert not re.search(r"(inner|outer)HTML|insertAdjacent|document\.write|eval\(|Function\(", own)

    def allowed(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert (
        f"default-src 'none'; style-src 'sha256-{allowed(style)}'; "
        f"script-src 'sha256-{allowed(script)}'; base-uri 'none'; form-action 'none'"
    ) in parts.all("content")


#: What is saved with a notebook: the page in a frame, or only text if the page is too large.
SAVED = {
    "groups alike": (of_scenes(1000), True),
    "arrays alike": (of_arrays(5000), True),
    "many arrays": (of_arrays(60_000), False),
    "long problems": (of_groups(problems=(FoundProblem("problem", "&" * 10_000),) * 200), False),
}


@rows(SAVED, "explanation, is_page")
def test_output_saved_in_a_notebook_is_never_large(
    explanation: Explanation, *, is_page: bool
) -> None:
    drawn = explanation._repr_html_()
    assert len(drawn) <= 300_000
    assert ("<iframe" in drawn) == is_page
    if not is_page:
        assert drawn.startswith("<pre>memory://")
        assert "xgroup explain --html" in drawn


# In a browser.

#: The elements with text that scrolls or is cut off.
CUT_OFF = """[...document.querySelectorAll("main *")].filter((element) => {
  const isHidden = getComputedStyle(element).overflowX !== "visible";
  return isHidden && element.checkVisibility() && element.scrollWidth > element.clientWidth + 1;
}).map((element) => element.textContent)"""

#: The elements whose text has a contrast below 4.5 (WCAG 2.2, 1.4.3).
PALE = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const luminance = (colours) => {
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const contrast = (element) => {
    const behind = [];
    for (let node = element; node !== null; node = node.parentElement)
      behind.unshift(getComputedStyle(node).backgroundColor);
    const pair = [luminance(behind), luminance([...behind, getComputedStyle(element).color])];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  };
  return [...document.querySelectorAll("body *")].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) &&
    !["SCRIPT", "STYLE", "text"].includes(element.tagName) &&
    element.checkVisibility() && contrast(element) < 4.5
  ).map((element) => element.textContent);
})()"""


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

    def open_page(name: str, width: int = 1280, text: str = "", **options: Any) -> "Page":
        file = tmp_path / f"{name}.html"
        file.write_text(text or made(name), encoding="utf-8")
        options |= {"viewport": {"width": width, "height": 900}}
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


def names(shown: "Page") -> list[str]:
    """Return the names of the rows that show, from top to bottom."""
    settled(shown)
    found: list[str] = shown.locator("#rows .name:visible").all_inner_texts()
    return found


def row(shown: "Page | FrameLocator", name: str) -> Any:
    """Return the card of a row."""
    return shown.locator("summary").filter(has=shown.locator(".name").get_by_text(name, exact=True))


def facts(shown: "Page", name: str) -> str:
    """Return what unfolds below a card."""
    text: str = row(shown, name).locator("xpath=following-sibling::ul").inner_text()
    return text


def focused(shown: "Page") -> str:
    text: str = shown.evaluate("document.activeElement.querySelector('.name')?.textContent ?? ''")
    return text


def test_rows_and_problems_have_labels_for_screen_readers(opened: Callable[..., "Page"]) -> None:
    told = opened("sample", 480).locator("main").aria_snapshot()
    assert re.search(r"- text: axes\n(.*\n)+? +- group: .?time \(time: 3\)", told)
    assert told.index('heading "Groups and arrays" [level=2]') < told.index('heading "Problems"')


def test_links_unfold_their_targets(opened: Callable[..., "Page"]) -> None:
    shown = opened("sample")
    row(shown, "ice").click()
    row(shown, "axes").click()
    assert "time" not in names(shown)
    shown.get_by_role("searchbox").fill("regular")
    shown.get_by_role("link", name="/axes/time").first.click()
    assert focused(shown) == "time"
    assert shown.get_by_role("searchbox").input_value() == ""
    row(shown, "salinity, temperature").click()
    shown.get_by_role("link", name="[1]").click()
    assert shown.locator(".reached").get_attribute("id") == "p1"


def test_searching(opened: Callable[..., "Page"]) -> None:
    shown = opened("scenes")
    row(shown, "axes").click()  # it folds
    before = names(shown)
    search, status = shown.get_by_role("searchbox"), shown.get_by_role("status")
    search.fill("SCENE_00")
    search.fill("SCENE_00 b02")
    found = ["B00, B02", "B00, B01, B02, B03, B04"]
    assert names(shown) == ["/", "scene_000", found[0], ALIKE, found[1]]
    assert status.inner_text() == f"2 of {shown.locator('.row').count()} rows"
    assert shown.locator(".hit .name").all_inner_texts() == found
    search.press("Enter")
    assert focused(shown) == found[0]
    search.press("Escape")
    assert names(shown) == before
    assert status.inner_text() == ""
    search.fill("there is no such thing")
    assert names(shown) == []


def test_filtering(opened: Callable[..., "Page"]) -> None:
    shown = opened("sample")
    before = names(shown)
    shown.get_by_role("button", name="With problems").click()
    assert "salinity, temperature" in names(shown)
    assert "ice" not in names(shown)
    shown.get_by_role("button", name="With problems").click()
    assert names(shown) == before
    # Only what there is can be filtered.
    empty = opened("empty")
    assert empty.get_by_role("button").count() == 0
    assert names(empty) == ["/"]


def test_keys(opened: Callable[..., "Page"]) -> None:
    shown = opened("sample")
    shown.get_by_role("searchbox").focus()
    for name in ("/", "axes", "time"):
        while focused(shown) != name:
            shown.keyboard.press("Tab")
    shown.keyboard.press("Enter")
    shown.keyboard.press("Shift+Tab")
    shown.keyboard.press("Space")
    assert names(shown)[:3] == ["/", "axes", "pyramid"]


def test_a_line_opens_a_group() -> None:
    lines = re.findall('<code class="copy".*?>(.*?)</code>', made("sample"))
    assert (
        "xr.open_dataset(&#x27;sample.zarr&#x27;, engine=&#x27;xgroup&#x27;, group=&#x27;/sea&#x27;)"
        in lines
    )
    (line,) = re.findall('<code class="copy".*?>(.*?)</code>', page(of_groups(assumed=("proj",))))
    assert (
        line
        == "xr.open_datatree(store, engine=&#x27;xgroup&#x27;, assume_conventions=[&#x27;proj&#x27;])"
    )


@pytest.mark.parametrize("width", [480, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_text_is_cut_off_or_pale(opened: Callable[..., "Page"], width: int, scheme: str) -> None:
    shown = opened("sample", width, color_scheme=scheme)
    shown.evaluate("for (const row of document.querySelectorAll('details')) row.open = true")
    settled(shown)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.evaluate(CUT_OFF) == []
    assert shown.evaluate(PALE) == []


def test_hostile_names_are_shown_as_text(opened: Callable[..., "Page"]) -> None:
    shown = opened("hostile", 480)
    shown.evaluate("for (const row of document.querySelectorAll('details')) row.open = true")
    settled(shown)
    assert shown.title() == f"Contents of {HOSTILE_NAMES[0]}"
    assert shown.locator("img[src], main script").count() == 0
    assert shown.evaluate("document.documentElement.scrollWidth") <= 480
    told = shown.locator("body").inner_text()
    for shown_as in ("bidi\\u202egnp.exe\\u2066", "lone \\ud800 surrogate", "\\x07\\x1b[31m"):
        assert shown_as in told
    assert not set("\u202e\u2066\x07\x1b") & set(told)


def test_a_page_without_its_script_has_the_same_content(opened: Callable[..., "Page"]) -> None:
    shown = opened("sample", java_script_enabled=False)
    assert shown.get_by_role("search").is_hidden()
    row(shown, "ice").click()
    assert "from /axes/time" in facts(shown, "ice")


# In a notebook.


def notebook(explanation: Explanation) -> str:
    """Return a page as notebooks are: what comes before, what an explanation gives, what comes after."""
    drawn = explanation._repr_html_()
    return f"<!doctype html><meta charset=utf-8><p>before</p><div>{drawn}</div><p>after</p>"


@pytest.mark.parametrize("width", [480, 1280])
def test_a_notebook_shows_the_page_in_full_height(
    opened: Callable[..., "Page"], width: int
) -> None:
    shown = opened("scenes", width, text=notebook(EACH["scenes"]))
    frame = shown.frame_locator("iframe")
    assert shown.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert not shown.locator("pre").is_visible()
    row(frame, "/").click()  # it folds
    inside = frame.locator("body").evaluate("body => body.offsetHeight")
    shown.wait_for_function(f"() => document.querySelector('iframe').clientHeight === {inside}")
    assert frame.locator("html").evaluate("html => html.scrollWidth <= html.clientWidth")
    frame.get_by_role("link", name="/scene_000/B01").first.click()
    assert "reached" in (row(frame, "B01").get_attribute("class") or "")
    frame.locator("body").evaluate("body => { body.style.height = '3000px' }")
    shown.wait_for_function("() => document.querySelector('iframe').clientHeight === 900")


@pytest.mark.parametrize("name", ["sample", "hostile"])
def test_text_is_shown_if_frames_are_not(opened: Callable[..., "Page"], name: str) -> None:
    # What cleans notebooks that are not trusted leaves neither frames, styles nor scripts.
    drawn = notebook(EACH[name])
    cleaned = re.sub(r"<(style|iframe|script)\b.*?</\1>", "", drawn, flags=re.DOTALL)
    shown = opened(name, text=cleaned)
    assert shown.locator("pre").text_content() == repr(EACH[name])
