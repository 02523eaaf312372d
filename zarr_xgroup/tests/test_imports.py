"""What is imported before a store is opened: xarray imports the entry points of all its engines."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys
import xarray, zarr
before = set(sys.modules)
import zarr_xgroup.backend
print(json.dumps(sorted(set(sys.modules) - before)))
"""

OPENING = """
import sys
import zarr, zarr_xgroup.backend
store = zarr.storage.MemoryStore()
zarr.create_group(store)
print("zarr_xgroup.opening" in sys.modules)
zarr_xgroup.backend.XGroupBackendEntrypoint().open_dataset(store)
print("zarr_xgroup.opening" in sys.modules)
"""

#: Modules of the package that are light, and that every user of xarray has to import.
OURS = {
    *("zarr_xgroup", "zarr_xgroup._requirements", "zarr_xgroup.backend", "zarr_xgroup.errors"),
    *("zarr_xgroup.datasets", "zarr_xgroup.datasets.store", "zarr_xgroup.i18n"),
    *("zarr_xgroup.options", "zarr_xgroup.redaction"),
}


def printed(program: str) -> str:
    """Return what a new interpreter prints that runs a program."""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return run.stdout


def test_the_entry_point_imports_hardly_anything() -> None:
    modules = json.loads(printed(PROGRAM))
    assert {name for name in modules if name.partition(".")[0] == "zarr_xgroup"} == OURS
    packages = {name.partition(".")[0] for name in modules} - {"zarr_xgroup", "packaging"}
    assert packages <= sys.stdlib_module_names


def test_the_first_open_imports_the_rest() -> None:
    assert printed(OPENING).split() == ["False", "True"]
