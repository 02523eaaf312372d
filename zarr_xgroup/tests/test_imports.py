"""Modules that are imported before a store is opened, and missing optional packages."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import cli
from zarr_xgroup._requirements import EXTRAS
from zarr_xgroup.storage import clients, failures
from zarr_xgroup.tests.builders import Array, Group, build, write_local

#: Modules of the package that are light, and that every user of xarray has to import.
LIGHT = {"zarr_xgroup", *(f"zarr_xgroup.{name}" for name in ("_requirements", "backend", "errors"))}
LIGHT |= {f"zarr_xgroup.{name}" for name in ("i18n", "options", "redaction", "resolved")}

FIRST_STEPS = """
import json, sys
version, sys.version_info = sys.version_info, (3, 10, 4, "final", 0)
try:
    import zarr_xgroup
except ImportError as error:
    print(json.dumps([str(error), [name for name in sys.modules if name[:12] == "zarr_xgroup."]]))
sys.version_info = version
import xarray, zarr
before = set(sys.modules)
import zarr_xgroup.backend
print(json.dumps(sorted(set(sys.modules) - before)))
print(json.dumps([name for name in dir(zarr_xgroup) if name[:2] != "__"]))
store = zarr.storage.MemoryStore()
zarr.create_group(store)
closed = "zarr_xgroup.opening" in sys.modules
zarr_xgroup.backend.XGroupBackendEntrypoint().open_dataset(store)
print(json.dumps([closed, "zarr_xgroup.opening" in sys.modules]))
for name in dir(zarr_xgroup):
    getattr(zarr_xgroup, name)
"""


def printed(program: str) -> Any:
    """Return what a new interpreter prints that runs a program: a JSON value in each line."""
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stderr) == (0, "")
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_an_old_python_is_reported_and_few_modules_are_imported_before_the_first_call() -> None:
    (told, imported), modules, names, (before, after) = printed(FIRST_STEPS)
    assert told.startswith("xarray-zarr-xgroup needs Python 3.11 or newer, and this is Python 3.10")
    assert imported == []
    assert {name for name in modules if name.partition(".")[0] == "zarr_xgroup"} == LIGHT
    packages = {name.partition(".")[0] for name in modules} - {
        "zarr_xgroup",
        "packaging",
        "msgspec",
    }
    assert packages <= sys.stdlib_module_names
    public = {name for name in zarr_xgroup.__all__ if name[:2] != "__"}
    assert names == sorted(public | {"conventions", "report", "tutorial"})
    assert (before, after) == (False, True)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The path of a store with times of a calendar that numpy does not have."""
    times = {"units": "days since 2001-02-27", "calendar": "noleap"}
    arrays = {"time": Array([0.0, 2.0], ("time",), times), "a": Array([1.0, 2.0], ("time",))}
    return str(write_local(build(Group(arrays)), tmp_path / "store.zarr"))


HIDING = """
import contextlib, io, json, sys, warnings
warnings.simplefilter("ignore")

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
import xarray as xr
import zarr_xgroup
from zarr_xgroup import cli

for program in {programs!r}:
    told, end = io.StringIO(), None
    with warnings.catch_warnings(), contextlib.redirect_stderr(told), contextlib.redirect_stdout(told):
        try:
            exec(program)
        except SystemExit as raised:
            end = raised.code
        except Exception as error:
            end = str(error)
    print(json.dumps([end, told.getvalue()]))
"""

#: What does without packages of extras.
LOCAL = """
print(xr.open_dataset({store!r}, engine='xgroup', decode_times=False).load())
print(xr.open_datatree({store!r}, engine='xgroup', decode_times=False).load())
print(zarr_xgroup.check({store!r}).is_clean)
cli.main(['explain', {store!r}, '--json'])
"""

#: What needs one.
NEEDING = (
    ("aiohttp", "xr.open_dataset('http://127.0.0.1:9/a.zarr', engine='xgroup')"),
    ("s3fs", "xr.open_dataset('s3://bucket/a.zarr', engine='xgroup')"),
    ("gcsfs", "xr.open_datatree('gs://bucket/a.zarr', engine='xgroup')"),
    ("cftime", "warnings.simplefilter('error'); xr.open_dataset({store!r}, engine='xgroup')"),
)


def test_missing_packages_are_named_with_their_extra_and_local_stores_open_without_them(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = [it.format(store=store) for it in (LOCAL, *(program for _it, program in NEEDING))]
    (end, local), *ends = printed(HIDING.format(hidden={*EXTRAS}, programs=programs))
    assert end is None
    exec(programs[0], {"xr": xr, "zarr_xgroup": zarr_xgroup, "cli": cli})  # noqa: S102 - as above
    assert local == capsys.readouterr().out
    assert "a        (time) float64" in local
    for (package, program), (code, told) in zip(NEEDING, ends, strict=True):
        assert code, program
        last = (code if isinstance(code, str) else told).strip().splitlines()[-1]
        remedy = f'pip install "xarray-zarr-xgroup[{EXTRAS[package]}]"'
        assert f"package {package} is missing or too old: {remedy}" in last, program


def test_an_old_package_of_an_extra_is_named_like_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("aiohttp")
    described = tmp_path / "aiohttp-3.11.0.dist-info" / "METADATA"
    described.parent.mkdir()
    described.write_text("Metadata-Version: 2.1\nName: aiohttp\nVersion: 3.11.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    too_old = r"aiohttp 3\.11\.0 is too old \(needed: 3\.12 or newer\)"
    with pytest.raises(ImportError, match=too_old) as raised:
        asyncio.run(clients.http_client(True))
    told = failures.reason_of(raised.value)
    assert told.endswith('aiohttp is missing or too old: pip install "xarray-zarr-xgroup[http]"')
