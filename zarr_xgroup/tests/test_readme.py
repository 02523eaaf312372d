"""The README is true: its Python blocks run, and what it lists is what there is."""

import importlib.util
import re
import runpy
import warnings
from pathlib import Path

import pytest

import zarr_xgroup
from zarr_xgroup import XGroupWarning, cli
from zarr_xgroup.conventions import registry
from zarr_xgroup.storage.library import StoreOptions

README = Path(__file__).parents[2] / "README.md"

pytestmark = pytest.mark.skipif(
    not README.is_file(), reason="installed without the repository's README.md"
)


@pytest.fixture
def text() -> str:
    return README.read_text(encoding="utf-8")


def python_blocks(text: str) -> str:
    """Return a program of the Python code blocks, each line at its number in the README.

    Blocks that import what is not installed are left out.
    """
    lines = [""] * text.count("\n")
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if all(map(importlib.util.find_spec, re.findall(r"^import (\w+)", block[1], re.MULTILINE))):
            start = text.count("\n", 0, block.start(1))
            code = block[1].splitlines()
            lines[start : start + len(code)] = code
    return "\n".join(lines)


def test_python_blocks_run_in_order(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "readme.py"
    program.write_text(python_blocks(text), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGUAGE", "en")
    # What the README registers is not to be there in other tests.
    monkeypatch.setattr(registry, "_REGISTERED", [])
    for _time in range(2):  # as a notebook is run again: it finds the stores it wrote
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", XGroupWarning)
            runpy.run_path(str(program))
    *shown, renamed, not_a_group = capsys.readouterr().out.splitlines()
    assert "'lat' -> 'lat_coarse'" in renamed
    assert "is an array, not a group: open the group '/surface' and take" in not_a_group
    # Versions of xarray differ in the order of variables.
    (printed,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert sorted(printed.splitlines()) == sorted(shown)


@pytest.fixture
def written(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the stores of the first block where commands run."""
    monkeypatch.chdir(tmp_path)
    (first, *_others) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    program = tmp_path / "readme.py"
    program.write_text(first, encoding="utf-8")
    runpy.run_path(str(program))


@pytest.mark.usefixtures("written")
def test_commands_print_what_it_shows(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    blocks = re.findall(r"^```console\n\$ xgroup (.*?)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert [command.split()[0] for command, _printed in blocks] == ["explain", "check"]
    for command, printed in blocks:
        assert cli.main(command.split()) == 0
        assert capsys.readouterr().out == printed


def test_blocks_that_need_what_is_not_installed_are_left_out() -> None:
    text = "a\n```python\nimport os\n```\n```python\nimport no_such_package\n```\nz\n"
    assert python_blocks(text).split("\n") == ["", "", "import os", "", "", "", "", ""]


def test_all_built_in_conventions_are_explained(text: str) -> None:
    for handler in registry.build_handlers(registry.BUILT_IN, [])[0]:
        assert f"| `{handler.name}` | {handler.tier} |" in text


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


def test_all_checks_run_the_tests_by_the_command_it_gives(text: str) -> None:
    script = (README.parent / ".ci" / "run").read_text(encoding="utf-8")
    command = re.compile(r"/bin/python\"? (-m pytest.*)$", re.MULTILINE)
    (given,) = command.findall(text)
    assert command.findall(script) == [given]
