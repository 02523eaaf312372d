"""What is imported before a store is opened: xarray imports the entry points of all its engines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from zarr_xgroup._requirements import EXTRAS
from zarr_xgroup.tests.builders import Array, Group, build, write_local

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
    "zarr_xgroup.i18n",
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


# What extras install.

HIDING = """
import sys, warnings
warnings.simplefilter("ignore")

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r} or name in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
import xarray as xr
import zarr_xgroup
from zarr_xgroup import cli
"""


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The path of a store with times of a calendar that numpy does not have."""
    times = {"units": "days since 2001-02-27", "calendar": "noleap"}
    arrays = {"time": Array([0.0, 2.0], ("time",), times), "a": Array([1.0, 2.0], ("time",))}
    return str(write_local(build(Group(arrays)), tmp_path / "store.zarr"))


def without(packages: list[str], program: str) -> subprocess.CompletedProcess[str]:
    """Return what came of a program where packages are not installed."""
    program = HIDING.format(hidden=packages) + program
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_local_store_opens_without_what_extras_install(store: str) -> None:
    program = (
        f"print(xr.open_dataset({store!r}, engine='xgroup', decode_times=False).load())\n"
        f"print(xr.open_datatree({store!r}, engine='xgroup', decode_times=False).load())\n"
        f"print(zarr_xgroup.check({store!r}).is_clean)\n"
        f"sys.exit(cli.main(['explain', {store!r}, '--json']))"
    )
    bare, full = without([*EXTRAS], program), without([], program)
    assert (bare.returncode, bare.stderr) == (0, "")
    assert bare.stdout == full.stdout
    assert "a        (time) float64" in bare.stdout


#: What needs a package that an extra installs.
NEEDING = (
    ("aiohttp", "xr.open_dataset('http://127.0.0.1:9/a.zarr', engine='xgroup')"),
    ("s3fs", "xr.open_dataset('s3://bucket/a.zarr', engine='xgroup')"),
    ("gcsfs", "xr.open_datatree('gs://bucket/a.zarr', engine='xgroup')"),
    ("cftime", "warnings.simplefilter('error'); xr.open_dataset({store!r}, engine='xgroup')"),
    ("rich", "sys.exit(repr(zarr_xgroup.explain({store!r})))"),
    ("rich", "sys.exit(repr(zarr_xgroup.check({store!r})))"),
    ("rich", "sys.exit(cli.main(['explain', {store!r}]))"),
    ("rich", "sys.exit(cli.main(['check', {store!r}]))"),
    ("rich", "sys.exit(cli.main(['demo']))"),
)

#: Prints how each of some programs ends, and what it tells.
TRYING = """
import contextlib, io, json
ends = []
for program in {programs!r}:
    told, code = io.StringIO(), None
    with warnings.catch_warnings(), contextlib.redirect_stderr(told):
        try:
            exec(program)
        except SystemExit as end:
            code = end.code
        except Exception as error:
            code = str(error)
    ends.append((code, told.getvalue()))
print(json.dumps(ends))
"""


def test_what_is_missing_is_named_with_what_installs_it(store: str) -> None:
    programs = [program.format(store=store) for _package, program in NEEDING]
    run = without([package for package, _program in NEEDING], TRYING.format(programs=programs))
    ends = json.loads(run.stdout.splitlines()[-1])
    for (package, program), (code, told) in zip(NEEDING, ends, strict=True):
        assert code, program
        last = (code if isinstance(code, str) else told).strip().splitlines()[-1]
        remedy = f"install the extra `{EXTRAS[package]}`"
        assert f"package {package} is missing or too old: {remedy}" in last, program


def test_an_error_that_is_about_no_package_of_an_extra_stays(store: str) -> None:
    program = f"zarr_xgroup.explain = None\ncli.main(['explain', {store!r}])"
    assert "TypeError" in without([], program).stderr
    program = f"print(repr(zarr_xgroup.explain({store!r})))"
    assert (
        "No module named 'zarr_xgroup.report.folding'"
        in without(["zarr_xgroup.report.folding"], program).stderr
    )


def test_an_old_package_of_an_extra_is_named_like_a_missing_one(tmp_path: Path) -> None:
    described = tmp_path / "aiohttp-3.11.0.dist-info" / "METADATA"
    described.parent.mkdir()
    described.write_text("Metadata-Version: 2.1\nName: aiohttp\nVersion: 3.11.0\n")
    program = (
        "import asyncio\n"
        "from zarr_xgroup.storage import failures, foreign\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "try: asyncio.run(foreign.http_client(True))\n"
        "except ImportError as error: print(error, failures.reason_of(error), sep='\\n')"
    )
    told, reason = without([], program).stdout.splitlines()
    assert "aiohttp 3.11.0 is too old (needed: 3.12 or newer)" in told
    assert reason.endswith("aiohttp is missing or too old: install the extra `http`")
