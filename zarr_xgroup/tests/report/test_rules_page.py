"""The page of the rules of `check` has all rules there are, and shows what is said of each."""

import re

import pytest

from zarr_xgroup.conventions.registry import BUILT_IN, OTHERS, Handler
from zarr_xgroup.errors import Rule
from zarr_xgroup.report.rules import RULES
from zarr_xgroup.tests.report import rules_page
from zarr_xgroup.tests.report.rules_page import PAGE, examples_of_rules, rendered

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="installed without the documentation")


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return examples_of_rules(tmp_path_factory.mktemp("examples"))


def test_rules_that_the_page_lacks_are_added_to_their_convention(
    examples: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    without = re.sub(r"^### uom/unit .*?^(?=##)", "", text, flags=re.MULTILINE | re.DOTALL)
    new = Rule("moorings/depths", "Moorings for Zarr", "mooring: top")
    monkeypatch.setattr(rules_page, "RULES", (*RULES, new))
    headings = re.findall(r"^##+ (\S+)", rendered(without, examples), re.MULTILINE)
    assert headings[-2:] == ["moorings", "moorings/depths"]
    before = headings.index("uom/unit") - 1
    assert headings[before].startswith("uom/")
    assert sorted(it for it in headings if "/" in it) == sorted(it.name for it in (*RULES, new))


def test_rules_of_every_convention_built_in_are_known() -> None:
    conventions: tuple[Handler, ...] = (*BUILT_IN, *OTHERS)
    found = {rule.name.partition("/")[0] for it in conventions for rule in it.rules}
    assert found >= {it.name.partition("-")[0].lower() for it in conventions if it.described}
    assert {rule for it in conventions for rule in it.rules} <= {*RULES}
    demanded = {it.form for convention in conventions for it in convention.described}
    assert demanded <= {*RULES}


def test_each_rule_is_explained_once() -> None:
    headings = re.findall(r"^### (\S+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(rule.name for rule in RULES)


def test_what_follows_from_the_code_is_up_to_date(examples: dict[str, str]) -> None:
    """If it is not: `python scripts/make_rules_page.py`."""
    text = PAGE.read_text(encoding="utf-8")
    assert rendered(text, examples) == text
