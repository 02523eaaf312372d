"""One open as it goes through the code: that docs/design.md tells it in this order, and how far it is.

Python's profile hook tells which functions are entered, in the main thread of a new process.
"""

import json
import re
import subprocess
import sys
from functools import cache
from itertools import pairwise

import pytest

from zarr_xgroup.tests.pages import DOCS

PROGRAM = """
import inspect, json, os, sys, warnings
from pathlib import Path
import xarray, zarr_xgroup

warnings.simplefilter("ignore")
package = Path(zarr_xgroup.__file__).parent
inside = os.path.join(package, "")
entered = {}

def on_event(frame, event, _argument):
    code = frame.f_code
    # Bodies of modules and of classes are no functions: they run when something is imported.
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:
        if code.co_filename.startswith(inside):
            entered[code.co_filename.removeprefix(inside), code.co_qualname] = None

sys.setprofile(on_event)
xarray.open_datatree(package / "demo.zarr", engine=zarr_xgroup.XGroupBackendEntrypoint)
sys.setprofile(None)
print(json.dumps([(path.replace(os.sep, '/'), name) for path, name in entered]))
"""

#: What the page calls a step of the walk: a function or a class, and the module in which it is.
STEP = re.compile(r"`(?P<name>[A-Za-z_.]+)(?:\([^`]*\))?`\s+\(`(?P<module>[a-z_/]+(?:\.py|/))`\)")

needs_page = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not there")


@cache
def entered() -> list[tuple[str, str]]:
    """Return the module and the name of each function of the package that an open enters, in order."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120
    )
    return [(module, name) for module, name in json.loads(run.stdout)]


def steps() -> list[tuple[str, str, str]]:
    """Return the section, the name and the module of each step that the page tells."""
    page = (DOCS / "design.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (\d\. \w+)\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    return [
        (title, step["name"], step["module"])
        for title, text in sections
        for step in STEP.finditer(text)
    ]


@needs_page
def test_the_page_tells_an_open_in_the_order_in_which_it_goes() -> None:
    def first(name: str, module: str) -> int:
        """Return when a function, or any method of a class, is first entered."""
        return next(
            number
            for number, (path, entry) in enumerate(entered())
            if path.startswith(module) and f"{entry}.".startswith(f"{name}.")
        )

    told = [(first(name, module), name) for _section, name, module in steps()]
    assert [names for (*names,) in pairwise(told) if names[0] >= names[1]] == []
    sections = [section for section, _name, _module in steps()]
    assert list(dict.fromkeys(sections)) == [
        *("1. Read", "2. Interpret", "3. Plan", "4. Build", "5. Tell")
    ]
    assert len(sections) >= 18


def test_an_open_enters_not_too_many_modules_and_classes() -> None:
    """What is aimed at is 48 and 55; these numbers are to go down."""
    modules = {module for module, _name in entered()}
    classes = {
        (module, name.partition(".<locals>")[0].rpartition(".")[0]) for module, name in entered()
    }
    assert len(modules) <= 92
    assert len({(module, name) for module, name in classes if name}) <= 106
