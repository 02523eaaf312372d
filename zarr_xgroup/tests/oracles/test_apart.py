"""The oracles do not import the package."""

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def imported(module: Path) -> set[str]:
    """Return the modules that a module imports."""
    nodes = list(ast.walk(ast.parse(module.read_text())))
    absolute = [alias.name for it in nodes if isinstance(it, ast.Import) for alias in it.names]
    return {*absolute, *(str(it.module) for it in nodes if isinstance(it, ast.ImportFrom))}


@pytest.mark.parametrize("name", sorted(it.stem for it in FOLDER.glob("[!t_]*.py")))
def test_an_oracle_imports_nothing_of_the_package(name: str) -> None:
    ours = {it for it in imported(FOLDER / f"{name}.py") if it.startswith("zarr_xgroup")}
    assert all(it.startswith("zarr_xgroup.tests.oracles.") for it in ours)
