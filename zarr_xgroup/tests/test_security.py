"""SECURITY.md: its sentences name tests, which exist."""

import ast
import re
from pathlib import Path

import pytest

import zarr_xgroup

PACKAGE = Path(zarr_xgroup.__file__).parent
PAGE = PACKAGE.parent / "SECURITY.md"


def existing_tests() -> set[str]:
    return {
        node.name
        for path in (PACKAGE / "tests").rglob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def items_of(heading: str) -> list[str]:
    section = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.split(r"^- ", section, flags=re.MULTILINE)[1:]


def test_tests_that_are_named_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 20
    assert named <= existing_tests()


@pytest.mark.parametrize("item", items_of("What it cannot do"), ids=lambda item: item[:30])
def test_what_a_store_cannot_do_is_tested(item: str) -> None:
    assert re.search(r"`test_\w+`", item)
