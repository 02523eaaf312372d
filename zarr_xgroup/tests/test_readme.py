"""What README.md and the reference pages list is what there is."""

import re
from pathlib import Path

import pytest

import zarr_xgroup
from zarr_xgroup.conventions import registry
from zarr_xgroup.options import DecodingOptions, EngineZarrOptions, OpenOptions
from zarr_xgroup.tests.pages import DOCS, REPOSITORY

README = REPOSITORY / "README.md"
REFERENCE = DOCS / "reference"

pytestmark = pytest.mark.skipif(
    not README.is_file(), reason="installed without the repository's README.md"
)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_all_built_in_conventions_are_explained() -> None:
    text = text_of(REFERENCE / "conventions.md")
    for handler in registry.build_handlers(registry.BUILT_IN, [])[0]:
        assert f"| `{handler.name}` | {handler.tier} |" in text
        assert handler.uuid is None or f"| `{handler.name}` | `{handler.uuid}` |" in text


def test_all_parameters_are_explained() -> None:
    text = text_of(REFERENCE / "options.md")
    known = EngineZarrOptions.__annotations__.keys() | DecodingOptions.__annotations__.keys()
    for name in OpenOptions.__annotations__.keys() - known:
        assert f"| `{name}` |" in text


@pytest.mark.parametrize("kind", ["Warning", "Error"])
def test_all_warnings_and_errors_are_explained(kind: str) -> None:
    names = {name for name in zarr_xgroup.__all__ if name.endswith(kind)} - {f"XGroup{kind}"}
    listed = re.findall(
        rf"^\| `(\w+{kind})`(?:{{: #\w+ }})? \|", text_of(REFERENCE / "warnings.md"), re.MULTILINE
    )
    assert set(listed) == names


def test_files_it_speaks_of_are_there() -> None:
    text = text_of(README)
    links = re.findall(r"\]\((?!https?://)([^)#]+)", text)
    for name in (*links, ".ci/run", ".ci/oldest.txt"):
        assert name in text
        assert (README.parent / name).exists()


def test_it_is_short() -> None:
    assert text_of(README).count("\n") <= 155


@pytest.mark.parametrize("page", [README, DOCS / "development.md"], ids=lambda page: page.name)
def test_all_checks_run_the_tests_by_the_command_it_gives(page: Path) -> None:
    script = text_of(REPOSITORY / ".ci" / "run")
    command = re.compile(r"bin/python\"? (-m pytest.*)$", re.MULTILINE)
    (given,) = command.findall(text_of(page))
    assert command.findall(script) == [given]


def test_the_specification_leads_to_the_same_pages_as_a_file_and_on_the_site() -> None:
    """Its links are relative to the repository; the page that includes it defines them anew."""
    definition = re.compile(r"^\[(\w+)\]: (\S+)$", re.MULTILINE)
    as_file = dict(definition.findall(text_of(REPOSITORY / "xarray_zarr_xgroup_spec.md")))
    on_site = dict(definition.findall(text_of(REFERENCE / "specification.md")))
    assert as_file.keys() == on_site.keys()
    for name, link in as_file.items():
        assert (REPOSITORY / link).is_file()
        assert (REPOSITORY / link).resolve() == (REFERENCE / on_site[name]).resolve()


def test_the_tests_that_the_specification_names_exist() -> None:
    table = text_of(REPOSITORY / "xarray_zarr_xgroup_spec.md").partition("## 16. ")[2]
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", table)
    assert len(named) > 20
    modules = {path.name: path for path in Path(__file__).parent.rglob("test_*.py")}
    for module, name in named:
        assert re.search(rf"^def {name}\(", text_of(modules[module]), re.MULTILINE), (
            f"{module}::{name}"
        )
