"""The committed stores, the same stores in other forms, and the scripts that write them."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from zarr_xgroup.tests import builders
from zarr_xgroup.tests.builders import ZarrFormat

TESTS = Path(__file__).parent
REPOSITORY = TESTS.parents[1]
STORES = TESTS / "stores"

#: All forms of a store: its format, and whether it is consolidated.
FORMS: tuple[tuple[ZarrFormat, bool], ...] = ((3, False), (3, True), (2, False), (2, True))
ALL_FORMS = pytest.mark.parametrize(
    "form", FORMS, ids=["v3", "v3-consolidated", "v2", "v2-consolidated"]
)


def consolidate(folder: Path) -> None:
    """Write consolidated metadata in the format of the store."""
    zarr_format: ZarrFormat = 2 if (folder / ".zgroup").exists() else 3
    whole = builders.consolidate(dict(sorted(files(folder).items())), zarr_format=zarr_format)
    key = ".zmetadata" if zarr_format == 2 else "zarr.json"
    (folder / key).write_bytes(whole[key])


def script(name: str) -> ModuleType:
    """Return one of the repository's scripts as a module, or skip the test if there is none."""
    folder = REPOSITORY / "scripts"
    if not (folder / f"{name}.py").is_file():
        pytest.skip("installed without the repository's scripts folder")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return importlib.import_module(name)


def files(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files in a folder by key."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def committed(name: str, folder: Path, form: tuple[ZarrFormat, bool]) -> Path:
    """Return a store of `STORES`, or write it to a folder if it has a different form."""
    if form == (3, False):
        return STORES / f"{name}.zarr"
    zarr_format, consolidated = form
    script(f"make_{name}_store").write(folder, zarr_format)
    if consolidated:
        consolidate(folder)
    return folder
