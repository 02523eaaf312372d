"""Hook of mkdocs that converts the pages listed in `mkdocs.yml` to notebooks.

Text becomes Markdown cells, and `python` blocks become code cells without their outputs.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

# An installed package does not have the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from zarr_xgroup.tests.pages import Block, blocks_of

_LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?!https?:)([^)#]*?)(?:\.md)?(#[^)]*)?\)")
_IN_A_NOTEBOOK = (("python ", "%run "), ("xgroup ", "%run -m zarr_xgroup "))


def notebook_of(text: str, url: str = "") -> dict[str, Any]:
    """Return a page as a notebook, in nbformat 4.5.

    Parameters
    ----------
    text : str
        The page.
    url : str
        The URL of the page. Default: unknown; links to other pages become plain text.
    """
    cells = [
        {"id": f"cell-{number}", "metadata": {}, "source": source, **kind}
        for number, (kind, source) in enumerate(_cells(text, url))
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cells(text: str, url: str) -> Iterator[tuple[dict[str, Any], str]]:
    written = 0
    for block in blocks_of(text):
        begin, end = block.span
        # Other lines of `sh` blocks, such as installations, are not run.
        yield from _prose(text[written : begin if block.language == "python" else end], url)
        code: dict[str, Any] = {"cell_type": "code", "execution_count": None, "outputs": []}
        yield code, _code(block)
        written = end
    yield from _prose(text[written:], url)


def _prose(text: str, url: str) -> Iterator[tuple[dict[str, Any], str]]:
    def link(match: re.Match[str]) -> str:
        if not url:
            return match[1]
        page = f"{match[2]}.html" if match[2] else ""
        return f"[{match[1]}]({urljoin(url, page + (match[3] or ''))})"

    if text.strip():
        yield {"cell_type": "markdown"}, _LINK.sub(link, text.strip())


def _code(block: Block) -> str:
    text = block.text.strip()
    if block.language == "sh":
        for command, magic in _IN_A_NOTEBOOK:
            text = re.sub(f"^{command}", magic, text, flags=re.MULTILINE)
    return text


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the notebooks to the files of the site."""
    for name in config.extra["notebooks"]:
        text = (Path(config.docs_dir) / name).read_text(encoding="utf-8")
        place = urljoin(config.site_url, name.replace(".md", ".html")) if config.site_url else ""
        content = json.dumps(notebook_of(text, place), ensure_ascii=False, indent=1)
        files.append(File.generated(config, name.replace(".md", ".ipynb"), content=content))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert a link to the notebook below the title of a page."""
    path = Path(page.file.src_uri)
    if page.file.src_uri not in config.extra["notebooks"]:
        return markdown
    link = f"[Open as a notebook]({path.with_suffix('.ipynb').name}){{: download }}"
    return re.sub(r"\A(# .*\n)", rf"\1\n{link}\n", markdown)
