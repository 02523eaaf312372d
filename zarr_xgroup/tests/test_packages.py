"""What is built: all of the repository as source, all but the tests to be installed."""

import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from zarr_xgroup import __version__
from zarr_xgroup.tests.pages import REPOSITORY

pytest.importorskip("hatchling")
if Version("24.2") > Version(version("packaging")):
    pytest.skip("licence expressions need packaging 24.2 to build", allow_module_level=True)

NAME = f"xarray_zarr_xgroup-{__version__}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with sdist and wheel."""
    if not (REPOSITORY / "pyproject.toml").is_file():
        pytest.skip("installed without the repository's pyproject.toml")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    return folder


def repository_files() -> set[str]:
    """Return the files of the repository, new ones too, as git knows them."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not in a clone")
    files = {name for name in done.stdout.split("\0") if name}
    return {name for name in files if (REPOSITORY / name).is_file()}


def test_the_source_holds_the_repository_and_nothing_else(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert held == {*repository_files(), "PKG-INFO"}


def test_the_wheel_holds_the_package_without_its_tests(built: Path) -> None:
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        (licence,) = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
        assert archive.read(licence) == (REPOSITORY / "LICENSE").read_bytes()
    package = {name for name in repository_files() if name.startswith("zarr_xgroup/")}
    tests = {name for name in package if name.startswith("zarr_xgroup/tests/")}
    assert package - tests <= held
    assert not [name for name in held if name.startswith("zarr_xgroup/tests")]
    assert "zarr_xgroup/py.typed" in held
    assert {name.partition("/")[0] for name in held} == {"zarr_xgroup"}
