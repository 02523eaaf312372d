"""The pages of the documentation are true: their blocks run and print what the pages show."""

from pathlib import Path

import pytest

from zarr_xgroup.conventions import registry
from zarr_xgroup.tests.builders import XARRAY
from zarr_xgroup.tests.pages import REPOSITORY, page_paths, run_page

#: The first xarray whose Datasets look like those in the pages.
LOOKS_ALIKE = (2025, 1)


@pytest.fixture(autouse=True)
def _as_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("COLUMNS", "80")
    # What a page registers is not to be there in other tests.
    monkeypatch.setattr(registry, "_REGISTERED", [])


@pytest.mark.parametrize("path", page_paths(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_blocks_run_in_order(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    run = run_page(text, tmp_path)
    if XARRAY.release >= LOOKS_ALIKE:
        assert not "\n".join(run.differences())
    if run.left_out:
        pytest.skip(f"without blocks that import {', '.join(sorted(run.left_out))}")


def test_a_page_can_be_run_again(tmp_path: Path) -> None:
    """As a notebook is: it finds the stores that it wrote."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for _time in range(2):
        run_page(text, tmp_path)
