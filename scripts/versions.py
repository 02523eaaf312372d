"""Run tests on several versions of Python, xarray and zarr, and print a table of the outcome.

``python scripts/versions.py zarr_xgroup/tests/test_laws.py`` runs those tests (default: all) with
the newest releases on each installed Python, and with the oldest and newest release of each of the
last minor series of xarray and zarr. Each run has its own temporary virtual environment. Unknown
arguments are passed to pytest.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

REPOSITORY = Path(__file__).resolve().parents[1]
#: The last one is free-threaded (no global interpreter lock).
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
VARIED = ("xarray", "zarr")


@dataclass(frozen=True)
class Environment:
    """A Python and pinned releases of packages. All other packages are the newest releases.

    Attributes
    ----------
    python : str
        The command.
    pins : dict of str to str
        The release of each pinned package.
    """

    python: str
    pins: dict[str, str] = field(default_factory=dict)


def ends_of_series(releases: list[str], oldest: str, number: int) -> list[str]:
    """Return the oldest and the newest release of each of the last minor series.

    Parameters
    ----------
    releases : list of str
        All releases, without pre-releases.
    oldest : str
        Older releases are ignored.
    number : int
        The number of series.
    """
    series: dict[tuple[int, ...], list[Version]] = {}
    for version in sorted(map(Version, releases)):
        if version >= Version(oldest):
            series.setdefault(version.release[:2], []).append(version)
    last = list(series.values())[-number:]
    return [
        str(version) for versions in last for version in dict.fromkeys((versions[0], versions[-1]))
    ]


def releases(package: str, python: str) -> list[str]:
    """Return the releases of a package that pip finds for a Python command."""
    command = [python, "-m", "pip", "index", "versions", package]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    match = re.search(r"Available versions: (.*)", text)
    return match[1].split(", ") if match else []


def oldest_supported(package: str) -> str:
    """Return the oldest release of a package that pyproject.toml allows."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = map(Requirement, project["project"]["dependencies"])
    specifiers = next(item.specifier for item in requirements if item.name == package)
    return next(item.version for item in specifiers if item.operator == ">=")


def pythons() -> dict[str, str]:
    """Return the command of each Python on the path or installed with pyenv, by version."""
    commands_by_version: dict[str, str] = {}
    for version in PYTHONS:
        number, is_free = version.removesuffix("t"), version.endswith("t")
        installed = sorted(Path.home().glob(f".pyenv/versions/{number}.*/bin/python"))
        installed = [path for path in installed if path.parts[-3].endswith("t") == is_free]
        commands = [f"python{version}", *map(str, installed)]
        if (command := next(filter(_runs, commands), None)) is not None:
            commands_by_version[version] = command
    return commands_by_version


def _runs(command: str) -> bool:
    # The commands that pyenv puts on the path run only if their version is selected.
    return bool(shutil.which(command)) and not _run(command, "--version").returncode


def environments(number: int) -> Iterator[Environment]:
    """Yield all environments, for a number of minor series of each package."""
    commands = pythons()
    for python in commands.values():
        yield Environment(python)
    # The newest releases may need the newest Python. Not every package supports a free-threaded one.
    newest = [python for version, python in commands.items() if not version.endswith("t")][-1]
    for package in VARIED:
        released = releases(package, newest)
        for release in ends_of_series(released, oldest_supported(package), number):
            yield Environment(newest, {package: release})


def outcome(environment: Environment, packages: list[str], arguments: list[str]) -> tuple[str, ...]:
    """Return a row of the table: the versions of Python, xarray and zarr, and the result."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "bin" / "python")
        pins = [f"{package}=={release}" for package, release in environment.pins.items()]
        _run(environment.python, "-m", "venv", folder)
        installed = _run(python, *_PIP, "-e", *packages, *pins)
        if installed.returncode:
            requested = [environment.pins.get(package, "newest") for package in VARIED]
            return (
                environment.python,
                *requested,
                f"not installed: {_last_line(installed.stderr)}",
            )
        versions = _run(python, "-c", _VERSIONS).stdout.split()
        tested = _run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
        if tested.returncode:
            print(tested.stdout[-5000:], tested.stderr[-1000:], file=sys.stderr)
        return (*versions, _last_line(tested.stdout or tested.stderr))


_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")

_VERSIONS = """
import platform, xarray, zarr
print(platform.python_version(), xarray.__version__, zarr.__version__)
"""


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def main() -> None:
    """Print each row of the table as soon as its tests have run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--series", type=int, default=4, help="number of minor series of each package"
    )
    parser.add_argument(
        "--with",
        nargs="+",
        dest="packages",
        help="packages to install instead of the extra 'test'",
    )
    options, arguments = parser.parse_known_args()
    packages = [str(REPOSITORY), *options.packages] if options.packages else [f"{REPOSITORY}[test]"]
    print(_row("Python", "xarray", "zarr", "outcome"), flush=True)
    for environment in environments(options.series):
        print(_row(*outcome(environment, packages, arguments)), flush=True)


def _row(python: str, xarray: str, zarr: str, result: str) -> str:
    return f"{python:12}{xarray:12}{zarr:12}{result}"


if __name__ == "__main__":
    main()
