"""The pages of the documentation as programs: run their code and compare the output.

In each page, including README.md:

- All ``python`` blocks run in order, in one program. A block that imports a missing package is skipped.
  A ``py`` block never runs, for example because it needs a network.
- In ``sh`` blocks, the lines ``python scripts/make_...`` and ``xgroup ...`` run, and other lines do not.
- A ``text`` block directly after such a block is its output, including warnings of this package. ``...``
  matches anything, and white space is normalised. Each block with output must have one.
- An image directly after a block is the figure that the block draws. `scripts/make_pictures.py` saves it.
"""

import ast
import doctest
import importlib.util
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from zarr_xgroup import XGroupWarning

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"

#: Pages whose blocks are excerpts of the code.
_NO_PROGRAMS = ("design.md",)

_BLOCK = re.compile(
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$"
    r"(?:\n+^```text\n(?P<shown>.*?)^```$)?"
    r"(?:\n+^!\[[^]]*\]\((?P<image>[^)]+)\)$)?",
    re.MULTILINE | re.DOTALL,
)
_RUN_IN_SHELL = re.compile(r"^(python scripts/make_.*|xgroup .*)$", re.MULTILINE)
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def page_paths() -> list[Path]:
    """Return README.md and the pages of the documentation, or nothing without the repository."""
    if not DOCS.is_dir():
        return []
    pages = sorted(path for path in DOCS.rglob("*.md") if path.name not in _NO_PROGRAMS)
    return [REPOSITORY / "README.md", *pages]


@dataclass(frozen=True)
class Block:
    """A block of a page that runs.

    Attributes
    ----------
    language : str
        ``python`` or ``sh``.
    text : str
        The code.
    start : int
        The index of its first line in the page.
    span : tuple of int
        The positions in the page of its first and last characters, including output and image.
    shown : str or None
        The output in the page.
    image : str or None
        The path of the figure after the block, relative to the page.
    """

    language: str
    text: str
    start: int
    span: tuple[int, int]
    shown: str | None = None
    image: str | None = None

    def missing(self) -> list[str]:
        """Return the packages that the block needs and that are not installed."""
        if self.language != "python":
            return []
        imported: list[str] = []
        for node in ast.parse(self.text).body:
            if isinstance(node, ast.Import):
                imported += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.append(node.module)
        packages = {name.partition(".")[0] for name in imported}
        if self.image is not None:
            packages.add("matplotlib")
        return sorted(name for name in packages if importlib.util.find_spec(name) is None)

    def code(self) -> list[str]:
        """Return lines of Python that run the block."""
        if self.language == "python":
            return self.text.splitlines()
        return [f"_run_in_shell({line!r})" for line in self.text.splitlines()]


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page that run, in order."""
    blocks = []
    for match in _BLOCK.finditer(text):
        code = match["text"]
        if match["language"] == "sh":
            code = "".join(f"{line}\n" for line in _RUN_IN_SHELL.findall(code))
        if match["language"] in ("python", "sh") and code:
            start = text.count("\n", 0, match.start("text"))
            shown = match["shown"], match["image"]
            blocks.append(Block(match["language"], code, start, match.span(), *shown))
    return blocks


@dataclass(frozen=True)
class Run:
    """The result of running a page.

    Attributes
    ----------
    printed : tuple of tuple
        Each block and its output.
    left_out : frozenset of str
        The missing packages of skipped blocks.
    """

    printed: tuple[tuple[Block, str], ...]
    left_out: frozenset[str]

    def differences(self) -> Iterator[str]:
        """Yield the differences between the output in the page and the actual output."""
        for block, printed in self.printed:
            shown = block.shown or ""
            if not doctest.OutputChecker().check_output(shown, printed, _SAME):
                yield f"line {block.start}: the page shows\n{shown}\nand the actual output is\n{printed}"


def run_page(text: str, folder: Path, ended: Callable[[Block], None] = lambda _block: None) -> Run:
    """Run the blocks of a page in order.

    Parameters
    ----------
    text : str
        The page.
    folder : Path
        The folder in which it runs.
    ended : callable
        Called after each block.
    """
    blocks = blocks_of(text)
    runnable = [block for block in blocks if not block.missing()]
    printed: list[tuple[Block, str]] = []
    output = io.StringIO()

    def block_ended(number: int) -> None:
        # The name of the module of a program that a user runs.
        text = output.getvalue().replace("<run_path>", "__main__")
        printed.append((runnable[number], text))
        output.seek(0)
        output.truncate()
        ended(runnable[number])

    program = folder / "page.py"
    program.write_text(_program(runnable), encoding="utf-8")
    names = {"_block_ended": block_ended, "_run_in_shell": _run_in_shell}
    with chdir(folder), redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("error")
        # As Python does by default: these are about calls between other packages.
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("always", XGroupWarning)
        warnings.showwarning = _print_warning
        runpy.run_path(str(program), init_globals=names)
    return Run(tuple(printed), frozenset(name for block in blocks for name in block.missing()))


def _program(blocks: Iterable[Block]) -> str:
    """Return a program with the blocks, each at its line number in the page."""
    lines: list[str] = []
    for number, block in enumerate(blocks):
        lines += [""] * (block.start - len(lines))
        lines += [*block.code(), f"_block_ended({number})"]
    return "\n".join(lines)


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"{category.__name__}: {message}")


def _run_in_shell(line: str) -> None:
    """Run a script of the repository or the command `xgroup`, and print its output."""
    program, *arguments = shlex.split(line)
    if program == "xgroup":
        arguments = ["-m", "zarr_xgroup", *arguments]
    else:
        arguments[0] = str(REPOSITORY / arguments[0])
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, end="")
    # `xgroup check` exits with 1 if it finds problems.
    if done.returncode not in ((0, 1) if program == "xgroup" else (0,)):
        raise subprocess.CalledProcessError(done.returncode, line, done.stdout)
