"""Files of the project agree with one another: requirements, package, citation, and pages that name tests."""

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import warnings
import zipfile
from collections.abc import Iterable
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup import __version__
from zarr_xgroup._requirements import EXTRAS, MINIMUM_VERSIONS, check_requirements
from zarr_xgroup.conventions import registry
from zarr_xgroup.options import DecodingOptions, EngineZarrOptions, OpenTreeOptions
from zarr_xgroup.tests.documents import script
from zarr_xgroup.tests.pages import DOCS, REPOSITORY
from zarr_xgroup.tests.servers import FileServer, serve_http

SOURCE = Path(str(zarr_xgroup.__file__))
BOTH = (
    "one is not installed (needed: 2.0 or newer); two 2024.9.0 is too old (needed: 2024.10.0 or newer)"
    '. Run: pip install -U "one>=2.0" "two>=2024.10.0"'
)
TOO_OLD = 'one {} is too old (needed: 2.0 or newer). Run: pip install -U "one>=2.0"'


# Without the repository, too: what is installed here.


@pytest.mark.parametrize(
    ("versions", "problems"),
    [
        ({"one": "2.0", "two": "2024.10.0"}, None),
        ({"one": "2.0.0", "two": "2024.10"}, None),
        ({"one": "10.0", "two": "2025.1.0rc1"}, None),
        ({"one": "2.0.post1", "two": "2024.10.1.dev3+g1234567"}, None),
        ({"one": "1.9", "two": "2024.10.0"}, TOO_OLD.format("1.9")),
        ({"one": "2.0rc1", "two": "2024.10.0"}, TOO_OLD.format("2.0rc1")),
        ({"two": "2024.9.0"}, BOTH),
    ],
)
def test_missing_or_old_packages_are_named_with_one_command(
    versions: dict[str, str], problems: str | None
) -> None:
    def version_of(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    text = re.escape(f"xarray-zarr-xgroup cannot be used: {problems}")
    with pytest.raises(ImportError, match=f"^{text}$") if problems else nullcontext():
        check_requirements({"one": "2.0", "two": "2024.10.0"}, version_of)


def test_requirements_are_met_here_and_checked_before_anything_else_is_imported() -> None:
    check_requirements()
    assert Version(version("xarray-zarr-xgroup")) == Version(__version__)
    lines = [ast.unparse(node) for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body]
    imports = [n for n, line in enumerate(lines) if line.startswith("from zarr_xgroup.")]
    assert lines.index("check_requirements()") < imports[1]
    assert lines[imports[0]].startswith("from zarr_xgroup._requirements import")


def test_an_old_python_can_parse_the_module_that_reports_it() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 4))
    assert ast.unparse(tree.body[1]) == "import sys"
    assert isinstance(tree.body[2], ast.If)
    assert not any(isinstance(node, ast.JoinedStr) for node in ast.walk(tree))  # from 3.6 on


def is_marked(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("server") is not None


def test_a_fixture_that_serves_marks_its_test(
    http_server: FileServer, request: pytest.FixtureRequest
) -> None:
    assert is_marked(request)
    assert http_server.url


def test_no_server_starts_without_the_marker(request: pytest.FixtureRequest) -> None:
    assert not is_marked(request)
    with pytest.raises(pytest.fail.Exception, match=r"needs the marker @pytest\.mark\.server"):
        serve_http({})


@pytest.mark.parametrize("kind", [DeprecationWarning, PendingDeprecationWarning, FutureWarning])
def test_deprecation_warnings_are_errors(kind: type[Warning]) -> None:
    with pytest.raises(kind):
        warnings.warn("soon gone", kind, stacklevel=1)


# The repository.

in_repository = pytest.mark.skipif(
    not (REPOSITORY / "pyproject.toml").is_file(), reason="installed without the repository"
)


def text_of(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    """Return what pyproject.toml says of the project."""
    return dict(tomllib.loads(text_of("pyproject.toml"))["project"])


def required_by(*extras: str) -> list[str]:
    """Return the requirements that extras add."""
    return [it for extra in extras for it in project()["optional-dependencies"][extra]]


def lowest(requirements: Iterable[str]) -> dict[str, Version]:
    """Return the lowest version of each package that some requirements allow."""
    return {
        requirement.name: Version(specifier.version)
        for requirement in map(Requirement, requirements)
        for specifier in requirement.specifier
        if specifier.operator == ">="
    }


@in_repository
def test_minimum_versions_are_those_of_the_project_and_tested_as_the_oldest() -> None:
    minimum = {name: Version(text) for name, text in MINIMUM_VERSIONS.items()}
    assert minimum == lowest(project()["dependencies"])
    assert len(minimum) == len(project()["dependencies"])
    for package, extra in EXTRAS.items():
        assert list(lowest(required_by(extra))) == [package]
    (everything,) = required_by("all")
    assert Requirement(everything).extras == {*EXTRAS.values(), "dask"}
    lines = text_of(".ci/oldest.txt").splitlines()
    pinned = lowest(line.replace("==", ">=") for line in lines if not line.startswith("#"))
    assert pinned.items() >= (minimum | lowest(required_by(*EXTRAS.values(), "dask"))).items()


@in_repository
def test_the_version_is_written_once_in_the_code() -> None:
    written = tomllib.loads(text_of("pyproject.toml"))
    assert "version" not in written["project"]
    assert written["project"]["dynamic"] == ["version"]
    assert REPOSITORY / written["tool"]["hatch"]["version"]["path"] == SOURCE
    assert f'__version__ = "{__version__}"' in SOURCE.read_text(encoding="utf-8")


@in_repository
def test_recipe_and_citation_agree_with_pyproject() -> None:
    yaml: Any = pytest.importorskip("yaml")
    recipe, citation = (
        yaml.safe_load(text_of(it)) for it in ("recipe/recipe.yaml", "CITATION.cff")
    )

    def as_conda(requirements: list[str]) -> set[str]:
        return {f"{it.name} {it.specifier}" for it in map(Requirement, requirements)}

    known, about = project(), recipe["about"]
    complete = [*known["dependencies"], *required_by("http", "calendars")]
    python = f"python {known['requires-python']}"
    assert set(recipe["requirements"]["run"]) == {python, *as_conda(complete)}
    assert set(recipe["requirements"]["run_constraints"]) == as_conda(
        required_by("s3", "gcs", "dask")
    )
    scripts = [f"{name} = {place}" for name, place in known["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert (REPOSITORY / "recipe" / recipe["source"]["path"]).resolve() == REPOSITORY
    assert recipe["context"]["version"] == citation["version"] == __version__
    assert recipe["package"]["name"] == citation["title"] == known["name"]
    assert about["license"] == citation["license"] == known["license"]
    assert citation["authors"] == known["authors"]
    assert citation["abstract"] == known["description"]

    urls = known.get("urls", {})  # empty until somebody publishes
    assert all(url.startswith("https://") for url in urls.values())
    told = dict(re.findall(r"^(\w+_url): (.*)", text_of("mkdocs.yml"), re.MULTILINE))
    for place in (citation.get("repository-code"), told.get("repo_url"), about.get("repository")):
        assert place == urls.get("Repository")
    assert told.get("site_url") == about.get("documentation") == urls.get("Documentation")


@in_repository
def test_all_checks_run_on_every_announced_python_and_the_same_before_each_commit() -> None:
    yaml: Any = pytest.importorskip("yaml")
    jobs = yaml.safe_load(text_of(".github/workflows/checks.yml"))["jobs"]
    matrix = jobs["all"]["strategy"]["matrix"]
    assert matrix["python"] == re.findall(
        r"Python :: (3\.\d+)", "\n".join(project()["classifiers"])
    )
    systems = {*matrix["system"], *(it["system"] for it in matrix["include"])}
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}
    assert jobs["all"]["steps"][-1]["run"].endswith(" .ci/run")
    site = yaml.safe_load(text_of(".readthedocs.yaml"))
    assert (REPOSITORY / site["mkdocs"]["configuration"]).is_file()
    assert [it["extra_requirements"] for it in site["python"]["install"]] == [["docs"]]
    assert any(it.startswith("mkdocs>") for it in required_by("docs"))

    (repository,) = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
    commands = [hook["entry"].partition(" --")[0] for hook in repository["hooks"]]
    steps = r'^"\$newest/\$bin/(ruff \w+)'
    assert commands == re.findall(
        steps, text_of(".ci/run").replace('ruff" ', "ruff "), re.MULTILINE
    )
    tools = {Requirement(it).name for it in required_by("test")}
    assert {command.partition(" ")[0] for command in commands} <= tools
    tests = re.compile(r"bin/python\"? (-m pytest.*)$", re.MULTILINE)
    for page in ("README.md", "docs/development.md", ".ci/run"):
        assert tests.findall(text_of(page)) == tests.findall(text_of("README.md")) != []


@in_repository
@pytest.mark.parametrize("name", ["opens-wrong.yml", "convention.yml"])
def test_an_issue_form_is_one(name: str) -> None:
    form = pytest.importorskip("yaml").safe_load(text_of(f".github/ISSUE_TEMPLATE/{name}"))
    assert {"name", "description", "body"} <= form.keys()
    assert len({field["id"] for field in form["body"]}) == len(form["body"])
    for field in form["body"]:
        assert field["type"] in ("input", "textarea")
        assert {"label", "description"} <= field["attributes"].keys()


@in_repository
@pytest.mark.parametrize(("name", "most"), [("README.md", 155), ("CONTRIBUTING.md", 60)])
def test_a_page_for_newcomers_is_short_and_the_files_that_it_names_are_there(
    name: str, most: int
) -> None:
    text = text_of(name)
    assert text.count("\n") <= most
    links = re.findall(r"\]\((?!https?://)([^)#]+)", text)
    named = re.findall(r"`((?:zarr_xgroup|docs|scripts|\.ci)/[^`< ]+|CHANGELOG.md)`", text)
    assert len(links) > 4
    assert ".ci/run" in named
    assert [it for it in (*links, *named) if not (REPOSITORY / it).exists()] == []


@in_repository
def test_the_reference_explains_all_conventions_options_warnings_and_errors() -> None:
    pages = {
        it: text_of(f"docs/reference/{it}.md") for it in ("conventions", "options", "warnings")
    }
    for handler in registry.build_handlers(registry.BUILT_IN, [])[0]:
        assert f"| `{handler.name}` | {handler.tier} |" in pages["conventions"]
        row = f"| `{handler.name}` | `{handler.uuid}` |"
        assert handler.uuid is None or row in pages["conventions"]
    known = EngineZarrOptions.__annotations__.keys() | DecodingOptions.__annotations__.keys()
    for name in OpenTreeOptions.__annotations__.keys() - known:
        assert f"| `{name}` |" in pages["options"]
    names = {it for it in zarr_xgroup.__all__ if re.fullmatch(r"XGroup\w+(Warning|Error)", it)}
    listed = re.findall(r"^\| `(XGroup\w+)`(\{: #\1 \})? \|", pages["warnings"], re.MULTILINE)
    assert {name for name, _anchor in listed} == names
    assert all(bool(anchor) == name.endswith("Warning") for name, anchor in listed)


@in_repository
def test_links_of_the_specification_work_as_a_file_and_on_the_site() -> None:
    """Its links are relative to the repository; the page that includes it defines them anew."""
    definition = re.compile(r"^\[(\w+)\]: (\S+)$", re.MULTILINE)
    as_file = dict(definition.findall(text_of("xarray_zarr_xgroup_spec.md")))
    on_site = dict(definition.findall(text_of("docs/reference/specification.md")))
    assert as_file.keys() == on_site.keys()
    for name, link in as_file.items():
        assert (REPOSITORY / link).is_file()
        assert (REPOSITORY / link).resolve() == (DOCS / "reference" / on_site[name]).resolve()


def existing_tests() -> set[str]:
    """Return the names of all tests, alone and after those of their files."""
    return {
        name
        for path in SOURCE.parent.joinpath("tests").rglob("test_*.py")
        for test in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for name in (test, f"{path.name}::{test}")
    }


@in_repository
@pytest.mark.parametrize(
    ("page", "start", "pattern"),
    [
        ("SECURITY.md", "", r"`(test_\w+)`"),
        ("xarray_zarr_xgroup_spec.md", "## 16. ", r"`(test_\w+\.py::test_\w+)`"),
    ],
)
def test_tests_that_a_page_names_exist(page: str, start: str, pattern: str) -> None:
    named = set(re.findall(pattern, text_of(page).partition(start or "\n")[2]))
    assert len(named) > 10
    assert sorted(named - existing_tests()) == []


@in_repository
def test_statements_of_the_security_page_are_tested() -> None:
    section = text_of("SECURITY.md").partition("## What it cannot do\n")[2].partition("\n## ")[0]
    items = re.split(r"^- ", section, flags=re.MULTILINE)[1:]
    assert [item for item in items if not re.search(r"`test_\w+`", item)] == []


# What is built, and the versions that tests run on.


@in_repository
@pytest.mark.skipif(
    Version("24.2") > Version(version("packaging")),
    reason="licence expressions need packaging 24.2 to build",
)
def test_the_source_holds_the_repository_and_the_wheel_the_package_without_its_tests(
    tmp_path: Path,
) -> None:
    pytest.importorskip("hatchling")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(listing, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not in a clone")
    files = {name for name in done.stdout.split("\0") if name and (REPOSITORY / name).is_file()}
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    with tarfile.open(tmp_path / f"xarray_zarr_xgroup-{__version__}.tar.gz") as source:
        assert {it.partition("/")[2] for it in source.getnames()} == {*files, "PKG-INFO"}
    (path,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
        (licence,) = [name for name in wheel.namelist() if name.endswith("/licenses/LICENSE")]
        assert wheel.read(licence) == (REPOSITORY / "LICENSE").read_bytes()
    package = {name for name in files if name.startswith("zarr_xgroup/")}
    tests = {name for name in held | package if name.startswith("zarr_xgroup/tests/")}
    assert package - tests <= held - tests == held
    assert "zarr_xgroup/py.typed" in held
    assert {name.partition("/")[0] for name in held} == {"zarr_xgroup"}


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, ["3.2.0"]),
        (2, ["3.1.0", "3.1.10", "3.2.0"]),
        (9, ["3.0.8", "3.0.9", "3.1.0", "3.1.10", "3.2.0"]),
    ],
)
def test_the_oldest_and_newest_releases_of_a_series_are_tested(
    number: int, expected: list[str]
) -> None:
    releases = ["3.2.0", "3.1.10", "3.1.9", "3.1.0", "3.0.9", "3.0.8", "3.0.7", "2.18.7"]
    versions = script("versions")
    assert versions.ends_of_series(releases, "3.0.8", number) == expected
    for name in versions.VARIED:
        assert versions.oldest_supported(name) == MINIMUM_VERSIONS[name]


def test_versions_run_on_every_installed_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / ".pyenv" / "versions"
    for name in ("3.12.1", "3.14.0", "3.14.0t"):
        command = kept / name / "bin" / "python"
        command.parent.mkdir(parents=True)
        command.write_text("#!/bin/sh\n")
        command.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/bin")
    found = script("versions").pythons()
    for version_, name in (("3.12", "3.12.1"), ("3.14", "3.14.0"), ("3.14t", "3.14.0t")):
        assert found[version_] == str(kept / name / "bin" / "python")
