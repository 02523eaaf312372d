"""Run tests on several versions of Python, xarray and zarr, and print a table of the outcome.

``python scripts/versions.py zarr_xgroup/tests/test_laws.py`` runs those tests (default: all) on
the newest release of everything for each Python that this machine has, and on the oldest and the
newest release of each of the last minor series of xarray and of zarr, each in a virtual
environment of its own that is thrown away. What is left of the arguments goes to pytest.
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
#: The last one has no global lock ("free-threaded").
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
VARIED = ("xarray", "zarr")


@dataclass(frozen=True)
class Environment:
    """What is asked for: a Python, and releases of packages; of others the newest.

    Attributes
    ----------
    python : str
        The command.
    pins : dict of str to str
        The release of each package that has to be a particular one.
    """

    python: str
    pins: dict[str, str] = field(default_factory=dict)


def ends_of_series(releases: list[str], oldest: str, number: int) -> list[str]:
    """Return the oldest and the newest release of each of the last minor series.

    Parameters
    ----------
    releases : list of str
        All there are; no pre-releases.
    oldest : str
        The oldest that counts.
    number : int
        How many series.
    """
    series: dict[tuple[int, ...], list[Version]] = {}
    for version in sorted(map(Version, releases)):
        if version >= Version(oldest):
            series.setdefault(version.release[:2], []).append(version)
    last = list(series.values())[-number:]
    return [str(version) for found in last for version in dict.fromkeys((found[0], found[-1]))]


def releases(package: str, python: str) -> list[str]:
    """Return the releases of a package that pip finds for a Python."""
    command = [python, "-m", "pip", "index", "versions", package]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Available versions: (.*)", text)
    return found[1].split(", ") if found else []


def oldest_supported(package: str) -> str:
    """Return the oldest release of a package that pyproject.toml allows."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = map(Requirement, project["project"]["dependencies"])
    specifiers = next(item.specifier for item in requirements if item.name == package)
    return next(item.version for item in specifiers if item.operator == ">=")


def pythons() -> dict[str, str]:
    """Return the command of each Python that this machine has, on the path or by pyenv."""
    found: dict[str, str] = {}
    for version in PYTHONS:
        number, is_free = version.removesuffix("t"), version.endswith("t")
        kept = sorted(Path.home().glob(f".pyenv/versions/{number}.*/bin/python"))
        kept = [path for path in kept if path.parts[-3].endswith("t") == is_free]
        commands = [f"python{version}", *map(str, kept)]
        if (command := next(filter(_runs, commands), None)) is not None:
            found[version] = command
    return found


def _runs(command: str) -> bool:
    # What pyenv puts on the path only runs if it was chosen.
    return bool(shutil.which(command)) and not _run(command, "--version").returncode


def environments(number: int) -> Iterator[Environment]:
    """Yield all environments, for that many minor series of each package."""
    found = pythons()
    for python in found.values():
        yield Environment(python)
    # Which the last releases may need; not every package is there for one without a lock.
    newest = [python for version, python in found.items() if not version.endswith("t")][-1]
    for package in VARIED:
        released = releases(package, newest)
        for release in ends_of_series(released, oldest_supported(package), number):
            yield Environment(newest, {package: release})


def outcome(environment: Environment, packages: list[str], arguments: list[str]) -> tuple[str, ...]:
    """Return a row of the table: versions of Python, xarray and zarr, and what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "bin" / "python")
        pins = [f"{package}=={release}" for package, release in environment.pins.items()]
        _run(environment.python, "-m", "venv", folder)
        installed = _run(python, *_PIP, "-e", *packages, *pins)
        if installed.returncode:
            wanted = [environment.pins.get(package, "newest") for package in VARIED]
            return (environment.python, *wanted, f"not installed: {_last_line(installed.stderr)}")
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
    """Print the table, row by row as they come."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--series", type=int, default=4, help="how many minor series of each")
    parser.add_argument(
        "--with",
        nargs="+",
        dest="packages",
        help="what is installed instead of the extra 'test', for tests that need less",
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
