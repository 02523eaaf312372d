"""The README is true: its Python blocks run, and what it lists is what there is."""

import re
import runpy
import warnings
from pathlib import Path

import pytest

import zarr_xgroup
from zarr_xgroup import XGroupWarning
from zarr_xgroup.hierarchy import StoreOptions

README = Path(__file__).parents[2] / "README.md"

pytestmark = pytest.mark.skipif(
    not README.is_file(), reason="installed without the repository's README.md"
)


@pytest.fixture
def text() -> str:
    return README.read_text(encoding="utf-8")


def python_blocks(text: str) -> str:
    """Return the lines of the Python code blocks where they are, and empty ones between."""
    within = False
    lines = []
    for line in text.splitlines():
        within = line == "```python" or (within and line != "```")
        lines.append(line if within and line != "```python" else "")
    return "\n".join(lines)


def test_python_blocks_run_in_order(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "readme.py"
    program.write_text(python_blocks(text), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGUAGE", "en")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XGroupWarning)
        runpy.run_path(str(program))
    renamed, not_a_group = capsys.readouterr().out.splitlines()
    assert "'lat' -> 'lat_coarse'" in renamed
    assert "is an array, not a group: open the group '/ocean' and take" in not_a_group


def test_all_parameters_are_explained(text: str) -> None:
    for name in StoreOptions.__annotations__:
        assert f"| `{name}` |" in text


@pytest.mark.parametrize("kind", ["Warning", "Error"])
def test_all_warnings_and_errors_are_explained(text: str, kind: str) -> None:
    names = {name for name in zarr_xgroup.__all__ if name.endswith(kind)} - {f"XGroup{kind}"}
    assert set(re.findall(rf"^\| `(\w+{kind})` \|", text, re.MULTILINE)) == names


def test_files_it_speaks_of_are_there(text: str) -> None:
    for name in ("xarray_zarr_xgroup_spec.md", ".ci/run", ".ci/oldest.txt", "scripts"):
        assert name in text
        assert (README.parent / name).exists()
