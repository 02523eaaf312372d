"""The pages of the documentation: their blocks run and print the output that the pages show."""

import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from zarr_xgroup import __version__
from zarr_xgroup.tests.builders import XARRAY
from zarr_xgroup.tests.documents import script
from zarr_xgroup.tests.pages import DOCS, REPOSITORY, Block, page_paths, run_page

#: The first xarray whose Datasets look like those in the pages.
LOOKS_ALIKE = (2025, 9)
#: Pages about what an older xarray has not.
NEEDED = {
    "clouds.md": (2025, 6),
    "dggs.md": (2025, 1),
    "eopf.md": (2025, 1),
    "how-do-i.md": (2025, 6),
    "large-trees.md": (2025, 6),
    "many-stores.md": (2025, 1),
    "writing.md": (2025, 1),
}

PAGES = pytest.mark.parametrize(
    "path", page_paths(), ids=lambda path: str(path.relative_to(REPOSITORY))
)


def notebook_names() -> list[str]:
    """Return the pages that the site has as notebooks; none if there is no repository."""
    site = REPOSITORY / "mkdocs.yml"
    text = site.read_text(encoding="utf-8") if site.is_file() else ""
    listed = re.search(r"notebooks: \[(.*)\]", text)
    return listed[1].split(", ") if listed else []


@pytest.fixture(autouse=True)
def _as_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("COLUMNS", "80")


@PAGES
def test_blocks_run_in_order(path: Path, tmp_path: Path) -> None:
    if XARRAY.release < NEEDED.get(path.name, (0,)):
        pytest.skip("this xarray is too old for the page")
    run = run_page(path.read_text(encoding="utf-8"), tmp_path, check_figure)
    if XARRAY.release >= LOOKS_ALIKE:
        assert not "\n".join(run.differences())
    if run.left_out:
        pytest.skip(f"without blocks that import {', '.join(sorted(run.left_out))}")


def check_figure(block: Block) -> None:
    """Check that a block leaves a figure open if the page shows one after it."""
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        figures = pyplot.get_fignums()
        pyplot.close("all")
        assert bool(figures) == (block.image is not None), block.start


def test_all_pictures_exist_and_are_shown() -> None:
    shown = {
        (path.parent / link).resolve()
        for path in page_paths()
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
    }
    assert [picture for picture in shown if not picture.is_file()] == []
    assert shown >= set((DOCS / "images").glob("*"))


def test_the_page_about_handlers_shows_the_package_to_copy() -> None:
    package, page = DOCS / "examples" / "xgroup-stations", DOCS / "handlers.md"
    if not page.is_file():
        pytest.skip("installed without the documentation")
    text = page.read_text(encoding="utf-8")
    handler = (package / "xgroup_stations.py").read_text(encoding="utf-8")
    assert f"```python\n{handler}```" in text
    project = (package / "pyproject.toml").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert shown in project


PAGE = """
# A page

```python
import os

print("one")
```

```text
o...
```

```python
import no_such_package.part
```

```py
not run
```

```sh
pip install something
xgroup --version
```

```text
{version}
```
"""


def test_the_output_of_a_block_is_compared(tmp_path: Path) -> None:
    run = run_page(PAGE.format(version=__version__), tmp_path)
    assert not list(run.differences())
    assert run.left_out == {"no_such_package"}
    (difference,) = run_page(PAGE.format(version="another"), tmp_path).differences()
    assert "another" in difference


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("print(1)", "1\n"),
        ("import warnings\nwarnings.warn('so', XGroupNameWarning)", "XGroupNameWarning: so\n"),
        ("print('no newline', end='')", "no newline"),
    ],
)
def test_output_without_a_block_in_the_page_is_a_difference(
    code: str, printed: str, tmp_path: Path
) -> None:
    text = f"```python\nfrom zarr_xgroup import XGroupNameWarning\n{code}\n```\n"
    run = run_page(text, tmp_path)
    assert [found for _block, found in run.printed] == [printed]
    assert [it.partition(":")[0] for it in run.differences()] == ["line 1"]


def test_other_warnings_and_commands_that_fail_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UserWarning, match="not ours"):
        run_page("```python\nimport warnings\nwarnings.warn('not ours')\n```\n", tmp_path)
    with pytest.raises(subprocess.CalledProcessError):
        run_page("```sh\npython scripts/make_nothing.py\n```\n", tmp_path)


NOTEBOOK_PAGE = """# A page

Read [this](#a-part), [that](page.md) and [those](https://example.org).

```sh
pip install something
python scripts/make_something.py a.zarr
xgroup explain a.zarr
```

```text
what it prints
```

## A part

```python
print(1)
```

```text
1
```

```py
not run
```
"""


def test_the_site_has_a_notebook_of_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = pytest.importorskip("mkdocs.config")
    build = pytest.importorskip("mkdocs.commands.build")
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(NOTEBOOK_PAGE, encoding="utf-8")
    site = {
        "site_name": "A site",
        "theme": {"name": "mkdocs"},
        "use_directory_urls": False,
        "hooks": [str(REPOSITORY / "scripts" / "make_notebooks.py")],
        "extra": {"notebooks": ["page.md"]},
        "markdown_extensions": ["attr_list"],
        "plugins": [],
        "strict": True,
    }
    (tmp_path / "mkdocs.yml").write_text(json.dumps(site), encoding="utf-8")
    with warnings.catch_warnings(action="ignore"):  # what mkdocs imports has its own
        build.build(config.load_config(str(tmp_path / "mkdocs.yml")))
    place = tmp_path / "site"
    assert 'href="page.ipynb"' in (place / "page.html").read_text(encoding="utf-8")
    notebook = json.loads((place / "page.ipynb").read_text(encoding="utf-8"))
    beginning = (
        "# A page\n\nRead this, that and [those](https://example.org).\n\n```sh\npip install something\n"
        "python scripts/make_something.py a.zarr\nxgroup explain a.zarr\n```\n\n"
        "```text\nwhat it prints\n```"
    )
    assert [(cell["cell_type"], cell["source"]) for cell in notebook["cells"]] == [
        ("markdown", beginning),
        ("code", "%run scripts/make_something.py a.zarr\n%run -m zarr_xgroup explain a.zarr"),
        ("markdown", "## A part"),
        ("code", "print(1)"),
        ("markdown", "```py\nnot run\n```"),
    ]


def test_a_notebook_links_to_the_site_if_its_url_is_known() -> None:
    pytest.importorskip("mkdocs")
    url = "https://docs.example.org/v1/tasks/page.html"
    text = "[a](#part), [b](../index.md#install), [c](https://example.org/page.md)"
    (cell,) = script("make_notebooks").notebook_of(text, url)["cells"]
    assert cell["source"] == (
        "[a](https://docs.example.org/v1/tasks/page.html#part), "
        "[b](https://docs.example.org/v1/index.html#install), [c](https://example.org/page.md)"
    )


@pytest.mark.parametrize("name", notebook_names())
def test_the_notebook_of_a_page_is_valid(name: str) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(script("make_notebooks").notebook_of((DOCS / name).read_text("utf-8")))


def test_a_notebook_runs(tmp_path: Path) -> None:
    """The shortest: what the blocks of each page do is tested above."""
    name = min(notebook_names(), key=lambda it: (DOCS / it).stat().st_size)
    for package in ("mkdocs", "IPython", "matplotlib", "rioxarray", "cf_xarray"):
        pytest.importorskip(package)
    notebook = script("make_notebooks").notebook_of((DOCS / name).read_text(encoding="utf-8"))
    (tmp_path / "page.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    shutil.copytree(REPOSITORY / "scripts", tmp_path / "scripts")
    run = [sys.executable, "-m", "IPython", "page.ipynb"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
