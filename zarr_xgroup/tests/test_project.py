"""What others join, cite, build and publish the project by: each file says what pyproject.toml does."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from zarr_xgroup import __version__
from zarr_xgroup.tests.pages import REPOSITORY

yaml: Any = pytest.importorskip("yaml")
if not (REPOSITORY / "pyproject.toml").is_file():
    pytest.skip("installed without the repository", allow_module_level=True)

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def read(name: str) -> Any:
    return yaml.safe_load((REPOSITORY / name).read_text(encoding="utf-8"))


def as_conda(requirements: list[str]) -> set[str]:
    """Return requirements as conda writes them, which has no extras."""
    return {f"{it.name} {it.specifier}" for it in map(Requirement, requirements)}


def test_the_recipe_installs_what_the_command_of_the_readme_does() -> None:
    recipe = read("recipe/recipe.yaml")
    complete = [it for extra in ("cli", "http", "calendars") for it in EXTRAS[extra]]
    python = f"python {PROJECT['requires-python']}"
    needed = recipe["requirements"]
    assert set(needed["run"]) == {python, *as_conda([*PROJECT["dependencies"], *complete])}
    others = [it for extra in ("s3", "gcs", "dask") for it in EXTRAS[extra]]
    assert set(needed["run_constraints"]) == as_conda(others)
    assert recipe["package"]["name"] == PROJECT["name"]
    assert recipe["context"]["version"] == __version__
    scripts = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["about"]["license"] == PROJECT["license"]
    assert (REPOSITORY / "recipe" / recipe["source"]["path"]).resolve() == REPOSITORY


def test_the_citation_is_of_this_version() -> None:
    citation = read("CITATION.cff")
    assert citation["version"] == __version__
    assert citation["title"] == PROJECT["name"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]
    assert citation["abstract"] == PROJECT["description"]


def test_addresses_are_told_in_one_place() -> None:
    """[project.urls], for whoever publishes: what else has one has the same."""
    urls = PROJECT.get("urls", {})
    assert all(url.startswith("https://") for url in urls.values())
    assert read("CITATION.cff").get("repository-code") == urls.get("Repository")
    page = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    for key, name in (("repo_url", "Repository"), ("site_url", "Documentation")):
        told = re.search(rf"^{key}: (.*)", page, re.MULTILINE)
        assert (told and told[1]) == urls.get(name)
    about = read("recipe/recipe.yaml")["about"]
    assert about.get("repository") == urls.get("Repository")
    assert about.get("documentation") == urls.get("Documentation")


def test_all_checks_run_on_every_python_that_is_announced() -> None:
    announced = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    jobs = read(".github/workflows/checks.yml")["jobs"]
    matrix = jobs["all"]["strategy"]["matrix"]
    assert matrix["python"] == announced
    systems = {*matrix["system"], *(it["system"] for it in matrix["include"])}
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}
    assert jobs["all"]["steps"][-1]["run"].endswith(" .ci/run")


def test_the_site_is_built_with_what_builds_it_here() -> None:
    site = read(".readthedocs.yaml")
    assert (REPOSITORY / site["mkdocs"]["configuration"]).is_file()
    (install,) = site["python"]["install"]
    assert install["extra_requirements"] == ["docs"]
    assert "mkdocs" in {Requirement(it).name for it in EXTRAS["docs"]}


def test_what_is_committed_is_linted_as_by_all_checks() -> None:
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    commands = [hook["entry"].partition(" --")[0] for hook in repository["hooks"]]
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    steps = re.findall(
        r'^"\$newest/\$bin/(ruff \w+|mypy)', script.replace('ruff" ', "ruff "), re.MULTILINE
    )
    assert commands == steps
    assert {command.partition(" ")[0] for command in commands} <= {
        Requirement(it).name for it in EXTRAS["test"]
    }


@pytest.mark.parametrize("name", ["opens-wrong.yml", "convention.yml"])
def test_an_issue_form_is_one(name: str) -> None:
    form = read(f".github/ISSUE_TEMPLATE/{name}")
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids)
    for field in form["body"]:
        assert field["type"] in ("input", "textarea")
        assert {"label", "description"} <= field["attributes"].keys()


def test_files_that_contributors_are_sent_to_are_there() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 60
    links = re.findall(r"\]\((?!https?://)([^)#]+)", text)
    named = re.findall(r"`((?:zarr_xgroup|docs|scripts)/[^`< ]+|\.ci/run|CHANGELOG.md)`", text)
    assert len(links) > 4
    assert len(named) > 5
    for name in (*links, *named):
        assert (REPOSITORY / name).exists(), name


def test_versions_are_tried_on_every_python_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = REPOSITORY / "scripts" / "versions.py"
    specification = importlib.util.spec_from_file_location("versions", place)
    assert specification is not None
    versions: Any = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "versions", versions)  # dataclasses look there
    assert specification.loader is not None
    specification.loader.exec_module(versions)
    for name in ("3.12.1", "3.14.0", "3.14.0t"):
        command = tmp_path / ".pyenv" / "versions" / name / "bin" / "python"
        command.parent.mkdir(parents=True)
        command.write_text("#!/bin/sh\n")
        command.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/bin")
    kept = tmp_path / ".pyenv" / "versions"
    found = versions.pythons()
    for version, name in (("3.12", "3.12.1"), ("3.14", "3.14.0"), ("3.14t", "3.14.0t")):
        assert found[version] == str(kept / name / "bin" / "python")
