"""The public API: its names and signatures as recorded in public_api.txt, and its types.

``python -m zarr_xgroup.tests.test_api`` updates public_api.txt.
"""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
import zarr

import zarr_xgroup
from zarr_xgroup.options import OpenOptions, OpenTreeOptions, ReportOptions, TreeReportOptions
from zarr_xgroup.tests.builders import Array, Group, build, declaring, memory_store, opened
from zarr_xgroup.tests.pages import DOCS

#: The modules that others may import; their `__all__` is the public API.
PUBLIC = (
    "zarr_xgroup",
    "zarr_xgroup.conventions",
    "zarr_xgroup.report",
    "zarr_xgroup.tutorial",
)

HERE = Path(__file__).parent
SNAPSHOT = HERE / "public_api.txt"
TYPED = HERE / "plugins" / "typed"


def public_api() -> str:
    """Return the options of an open, and the names and signatures of all that is public."""
    options = inspect.signature(FUNCTIONS["open_datatree"]).parameters.values()
    shown = sorted(f"  {it}" for it in options if it.name in OpenTreeOptions.__annotations__)
    lines = ["options of an open", *shown]
    for name in PUBLIC:
        module = importlib.import_module(name)
        lines.append(f"module {name}")
        for exported in sorted(module.__all__):
            value = getattr(module, exported)
            elsewhere = name != PUBLIC[0] and exported in zarr_xgroup.__all__
            described = ["(see zarr_xgroup)"] if elsewhere else list(_described(value))
            lines.append(f"  {exported}{described[0]}")
            lines += [f"    {line}" for line in described[1:]]
    return "\n".join(lines) + "\n"


def _described(value: Any) -> Iterator[str]:
    """Yield what follows the name of a public thing, then its members."""
    if not isinstance(value, type):
        yield _signature(value) if callable(value) else f": {type(value).__name__}"
        return
    bases = ", ".join(base.__name__ for base in value.__bases__)
    yield f"({bases})"
    # What other packages give it is not ours to promise.
    ours = [cls for cls in value.__mro__ if cls.__module__.startswith("zarr_xgroup")]
    members = {name: member for cls in reversed(ours) for name, member in vars(cls).items()}
    annotated = {name: text for cls in reversed(ours) for name, text in _annotations(cls)}
    for name in sorted({*members, *annotated}):
        if name == "__init__" or not name.startswith("_"):
            yield name + _member(members.get(name), annotated.get(name))


def _annotations(cls: type) -> Iterator[tuple[str, str]]:
    for name, annotation in inspect.get_annotations(cls).items():
        yield name, annotation if isinstance(annotation, str) else annotation.__name__


def _signature(function: Any) -> str:
    """Return a signature as text, all options of an open or a report as one: they are listed once."""
    found = inspect.signature(function)
    if not found.parameters.keys() >= set(ReportOptions.__annotations__):
        return str(found)
    shown = OpenTreeOptions.__annotations__
    kept = [it for it in found.parameters.values() if it.name not in shown]
    options = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)
    return str(found.replace(parameters=[*kept, options]))


def _member(member: Any, annotation: str | None) -> str:
    if isinstance(member, property):
        return f" -> {inspect.signature(member.fget).return_annotation}" if member.fget else ""
    if isinstance(member, classmethod | staticmethod):
        return f"{_signature(member.__func__)} ({type(member).__name__})"
    if inspect.isfunction(member):
        return _signature(member)
    return f": {annotation or type(member).__name__}"


def test_the_public_api_is_the_announced_one() -> None:
    """If it is to change: run this module, and tell of it in the message of the commit."""
    assert public_api().splitlines() == SNAPSHOT.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", PUBLIC)
def test_the_page_of_the_api_has_each_public_name_once(name: str) -> None:
    page = DOCS / "reference" / "api.md"
    if not page.is_file():
        pytest.skip("installed without the documentation")
    blocks = page.read_text(encoding="utf-8").split("::: ")[1:]
    listed = [
        re.findall(r"^        - (\w+)$", it, re.MULTILINE) for it in blocks if it.split()[0] == name
    ]
    if name == "zarr_xgroup":
        names = [it for block in listed for it in block]
        assert sorted(names) == sorted(it for it in zarr_xgroup.__all__ if it != "__version__")
        assert names[:2] == ["explain", "check"]
    assert listed


@pytest.mark.parametrize("name", PUBLIC)
def test_all_public_names_exist(name: str) -> None:
    module = importlib.import_module(name)
    assert all(hasattr(module, exported) for exported in module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


FUNCTIONS: dict[str, Any] = {
    "explain": zarr_xgroup.explain,
    "check": zarr_xgroup.check,
    "open_dataset": zarr_xgroup.XGroupBackendEntrypoint().open_dataset,
    "open_groups": zarr_xgroup.XGroupBackendEntrypoint().open_groups_as_dict,
    "open_datatree": zarr_xgroup.XGroupBackendEntrypoint().open_datatree,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_and_completion_show_every_option_and_its_default(name: str) -> None:
    function: Any = FUNCTIONS[name]
    _store, *options = inspect.signature(function).parameters.values()
    kinds: dict[str, type] = {
        "open_dataset": OpenOptions,
        "explain": TreeReportOptions,
        "check": TreeReportOptions,
    }
    kind = kinds.get(name, OpenTreeOptions)
    assert {it.name for it in options} == set(kind.__annotations__)
    assert options[0].name == "group"
    assert "cross_store_timeout: 'float | None' = 30.0" in pydoc.plain(pydoc.render_doc(function))
    cs = {"cs": {"crs": [{"axes": {"x": {"coordinates": [{"values": {"regular": [1.0, 0.5]}}]}}}]}}
    arrays = {"a": Array([0, 1, 9], ("x",), {"_FillValue": 9, **declaring("cs"), **cs})}
    store = memory_store(build(Group(arrays)))
    given = {it.name: it.default for it in options}

    def outcome(**options: Any) -> str:
        found = function(store, **options)
        return repr(
            {path: it.load() for path, it in found.items()} if name == "open_groups" else found
        )

    assert outcome(**given) == outcome()


@pytest.mark.skipif(
    not hasattr(zarr.Array, "__class_getitem__"),
    reason="arrays of this zarr have no type arguments",
)
def test_a_typed_handler_checks_against_the_published_types() -> None:
    pytest.importorskip("mypy")
    root = HERE.parents[1]
    assert (root / "zarr_xgroup" / "py.typed").is_file()
    # The configuration is strict; what a check of the whole project left behind is used again.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(TYPED / "sound.py"), str(TYPED / "mistaken.py")],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (TYPED / "mistaken.py").read_text(encoding="utf-8").splitlines()
    expected = {n for n, line in enumerate(lines, 1) if line.endswith("# mistake")}
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    places = [line.partition(": error: ")[0].rpartition(":") for line in errors]
    typed = [(Path(file).name, int(line)) for file, _colon, line in places if TYPED.name in file]
    assert set(typed) == {("mistaken.py", line) for line in expected}, done.stdout


if __name__ == "__main__":
    SNAPSHOT.write_text(public_api(), encoding="utf-8")


def test_sample_product(tmp_path: Path) -> None:
    path = zarr_xgroup.tutorial.sample()
    assert zarr_xgroup.tutorial.sample(tmp_path / "product.zarr") == str(tmp_path / "product.zarr")
    for store in (path, tmp_path / "product.zarr"):
        scene = opened(xr.open_dataset, store, group="images/r240m")
        assert dict(scene.sizes) == {"y": 150, "x": 120}
        assert scene["spatial_ref"].attrs["crs_wkt"].startswith('PROJCRS["WGS 84 / UTM zone 28N"')
