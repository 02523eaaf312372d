"""The page of the rules of `check` has all rules there are, and shows what is said of each."""

import re
from pathlib import Path

import pytest

from zarr_xgroup.report.rules import RULES
from zarr_xgroup.tests.report.rules_page import PAGE, rendered

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="installed without the documentation")


def test_each_rule_is_explained_once() -> None:
    headings = re.findall(r"^### (\S+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(rule.name for rule in RULES)


def test_what_follows_from_the_code_is_up_to_date(tmp_path: Path) -> None:
    """If it is not: `python scripts/make_rules_page.py`."""
    text = PAGE.read_text(encoding="utf-8")
    assert rendered(text, tmp_path) == text
