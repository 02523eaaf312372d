"""What is required: checked when the package is imported, and written down once."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup._requirements import EXTRAS, MINIMUM_VERSIONS, check_requirements

REPOSITORY = Path(__file__).parents[2]
NEEDED = {"one": "2.0", "two": "2024.10.0"}

in_repository = pytest.mark.skipif(
    not (REPOSITORY / "pyproject.toml").is_file(),
    reason="installed without the repository's pyproject.toml",
)


def installed(**versions: str) -> Callable[[str], str]:
    """Return what tells the version of an installed distribution."""

    def version_of(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    return version_of


@pytest.mark.parametrize(
    "versions",
    [
        {"one": "2.0", "two": "2024.10.0"},
        {"one": "2.0.0", "two": "2024.10"},
        {"one": "10.0", "two": "2025.1.0rc1"},
        {"one": "2.0.post1", "two": "2024.10.1.dev3+g1234567"},
    ],
)
def test_new_enough(versions: dict[str, str]) -> None:
    check_requirements(NEEDED, installed(**versions))


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        (
            {"one": "1.9", "two": "2024.10.0"},
            (
                "xarray-zarr-xgroup cannot be used: one 1.9 is too old (needed: 2.0 or newer). "
                'Run: pip install -U "one>=2.0"'
            ),
        ),
        (
            {"one": "2.0rc1", "two": "2024.10.0"},
            (
                "xarray-zarr-xgroup cannot be used: one 2.0rc1 is too old (needed: 2.0 or newer). "
                'Run: pip install -U "one>=2.0"'
            ),
        ),
        (
            {"one": "2.0"},
            (
                "xarray-zarr-xgroup cannot be used: two is not installed (needed: 2024.10.0 or newer). "
                'Run: pip install -U "two>=2024.10.0"'
            ),
        ),
        (
            {"two": "2024.9.0"},
            (
                "xarray-zarr-xgroup cannot be used: one is not installed (needed: 2.0 or newer); "
                "two 2024.9.0 is too old (needed: 2024.10.0 or newer). "
                'Run: pip install -U "one>=2.0" "two>=2024.10.0"'
            ),
        ),
    ],
)
def test_all_that_is_missing_or_too_old_is_named_with_one_command(
    versions: dict[str, str], message: str
) -> None:
    with pytest.raises(ImportError) as caught:
        check_requirements(NEEDED, installed(**versions))
    assert str(caught.value) == message


def test_what_is_installed_here_is_new_enough() -> None:
    check_requirements()
    for name, needed in MINIMUM_VERSIONS.items():
        assert Version(version(name)) >= Version(needed)


def test_requirements_are_checked_before_anything_else_is_imported() -> None:
    source = Path(str(zarr_xgroup.__file__)).read_text(encoding="utf-8")
    calls = [
        node.lineno
        for node in ast.parse(source).body
        if isinstance(node, ast.Expr) and ast.unparse(node) == "check_requirements()"
    ]
    others = [
        node.lineno
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and node.module != "zarr_xgroup._requirements"
    ]
    assert len(calls) == 1
    assert calls[0] < min(others)


def project() -> dict[str, Any]:
    """Return what pyproject.toml says of the project."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text)["project"])


def lowest(requirements: Iterable[str]) -> dict[str, str]:
    """Return the lowest version of each package that some requirements allow."""
    return {
        requirement.name: specifier.version
        for requirement in map(Requirement, requirements)
        for specifier in requirement.specifier
        if specifier.operator == ">="
    }


@in_repository
def test_minimum_versions_are_those_of_the_project() -> None:
    requirements = project()["dependencies"]
    assert dict(MINIMUM_VERSIONS) == lowest(requirements)
    assert len(requirements) == len(MINIMUM_VERSIONS)


@in_repository
def test_extras_install_what_is_named_with_them() -> None:
    extras = project()["optional-dependencies"]
    for package, extra in EXTRAS.items():
        assert list(lowest(extras[extra])) == [package]
    (everything,) = extras["all"]
    assert Requirement(everything).extras == {*EXTRAS.values(), "dask"}


@in_repository
def test_the_oldest_tested_versions_are_the_minimum_ones() -> None:
    lines = (REPOSITORY / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = lowest(line.replace("==", ">=") for line in lines if not line.startswith("#"))
    extras = project()["optional-dependencies"]
    packages = [it for extra in (*EXTRAS.values(), "dask") for it in extras[extra]]
    needed = {**MINIMUM_VERSIONS, **lowest(packages)}
    found = {name: Version(pinned[name]) for name in needed}
    assert found == {name: Version(text) for name, text in needed.items()}


@in_repository
def test_the_version_has_one_source() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    source = REPOSITORY / project["tool"]["hatch"]["version"]["path"]
    assert source == Path(str(zarr_xgroup.__file__))
    assert f'__version__ = "{zarr_xgroup.__version__}"' in source.read_text(encoding="utf-8")
    others = [
        path
        for path in (REPOSITORY / "zarr_xgroup").rglob("*.py")
        if path != source and "__version__ =" in path.read_text(encoding="utf-8")
    ]
    assert [path for path in others if path != Path(__file__)] == []


def test_the_version_is_that_of_the_distribution() -> None:
    assert Version(version("xarray-zarr-xgroup")) == Version(zarr_xgroup.__version__)


# The version of Python.

OLD_PYTHON = """
import sys
sys.version_info = {version}
try:
    import zarr_xgroup
except ImportError as error:
    print(error)
print([name for name in sys.modules if name.startswith("zarr_xgroup.")])
"""


def test_an_old_python_is_told_before_anything_else() -> None:
    program = OLD_PYTHON.format(version=(3, 10, 4, "final", 0))
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.splitlines() == [
        (
            "xarray-zarr-xgroup needs Python 3.11 or newer, and this is Python 3.10: install it in "
            "an environment of a newer Python"
        ),
        "[]",
    ]


def test_an_old_python_can_parse_what_tells_it() -> None:
    path = Path(zarr_xgroup.__file__)
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 4))
    first, second, check = tree.body[:3]
    assert isinstance(first, ast.Expr)  # the docstring
    assert ast.unparse(second) == "import sys"
    assert isinstance(check, ast.If)
    assert not any(isinstance(node, ast.JoinedStr) for node in ast.walk(tree))  # from 3.6 on
