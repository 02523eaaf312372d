"""The pages of the documentation as programs: their blocks run in order, what they show is compared.

In a page, README.md among them,

- a block ``python`` is run, in one program with all others of the page; one that imports what is
  not installed is left out. A block ``py`` is only to be read: it needs a network, say;
- a line ``python scripts/make_...`` or ``xgroup ...`` of a block ``sh`` is run there, too; other lines,
  such as those that install something, are not;
- a block ``text`` right after one of these is what it prints, warnings of this package included;
  ``...`` stands for anything, and white space is as in prose. A block that prints something is
  followed by one;
- an image right after a block is the figure that it leaves open. `scripts/make_pictures.py` saves it.
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

#: Pages whose blocks are parts of the code, no programs.
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
    """Return README.md and the pages of the documentation; none if there is no repository."""
    if not DOCS.is_dir():
        return []
    pages = sorted(path for path in DOCS.rglob("*.md") if path.name not in _NO_PROGRAMS)
    return [REPOSITORY / "README.md", *pages]


@dataclass(frozen=True)
class Block:
    """A block of a page that can be run.

    Attributes
    ----------
    language : str
        ``python`` or ``sh``.
    text : str
        What is in it.
    start : int
        The number of its first line in the page, from 0.
    span : tuple of int
        Where it begins in the page, and where it ends with what the page shows after it, in characters.
    shown : str or None
        What the page shows as its output.
    image : str or None
        The figure that the page shows after it, relative to the page.
    """

    language: str
    text: str
    start: int
    span: tuple[int, int]
    shown: str | None = None
    image: str | None = None

    def missing(self) -> list[str]:
        """Return the packages that it needs, one to draw a figure among them, and that are not there."""
        if self.language != "python":
            return []
        found: list[str] = []
        for node in ast.parse(self.text).body:
            if isinstance(node, ast.Import):
                found += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.append(node.module)
        packages = {name.partition(".")[0] for name in found}
        if self.image is not None:
            packages.add("matplotlib")
        return sorted(name for name in packages if importlib.util.find_spec(name) is None)

    def code(self) -> list[str]:
        """Return lines of Python that run it."""
        if self.language == "python":
            return self.text.splitlines()
        return [f"_run_in_shell({line!r})" for line in self.text.splitlines()]


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page that can be run, in order."""
    found = []
    for match in _BLOCK.finditer(text):
        code = match["text"]
        if match["language"] == "sh":
            code = "".join(f"{line}\n" for line in _RUN_IN_SHELL.findall(code))
        if match["language"] in ("python", "sh") and code:
            start = text.count("\n", 0, match.start("text"))
            shown = match["shown"], match["image"]
            found.append(Block(match["language"], code, start, match.span(), *shown))
    return found


@dataclass(frozen=True)
class Run:
    """What came of a page that was run.

    Attributes
    ----------
    printed : tuple of tuple
        Each block, and what it printed.
    left_out : frozenset of str
        Packages that were missing for some of its blocks.
    """

    printed: tuple[tuple[Block, str], ...]
    left_out: frozenset[str]

    def differences(self) -> Iterator[str]:
        """Yield where a page shows something else than was printed."""
        for block, printed in self.printed:
            shown = block.shown or ""
            if not doctest.OutputChecker().check_output(shown, printed, _SAME):
                yield f"line {block.start}: the page shows\n{shown}\nand this was printed\n{printed}"


def run_page(text: str, folder: Path, ended: Callable[[Block], None] = lambda _block: None) -> Run:
    """Run the blocks of a page in order.

    Parameters
    ----------
    text : str
        The page.
    folder : Path
        Where it is run.
    ended : callable
        Called after each block.
    """
    blocks = blocks_of(text)
    runnable = [block for block in blocks if not block.missing()]
    printed: list[tuple[Block, str]] = []
    output = io.StringIO()

    def block_ended(number: int) -> None:
        printed.append((runnable[number], output.getvalue()))
        output.seek(0)
        output.truncate()
        ended(runnable[number])

    program = folder / "page.py"
    program.write_text(_program(runnable), encoding="utf-8")
    names = {"_block_ended": block_ended, "_run_in_shell": _run_in_shell}
    with chdir(folder), redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("error")
        # As Python itself by default: about code of other packages that calls that of others.
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("always", XGroupWarning)
        warnings.showwarning = _print_warning
        runpy.run_path(str(program), init_globals=names)
    return Run(tuple(printed), frozenset(name for block in blocks for name in block.missing()))


def _program(blocks: Iterable[Block]) -> str:
    """Return the program of blocks, whose lines are where the page has them."""
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
    """Run a command of the repository or of the package, and print what it prints."""
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
    # `xgroup check` ends with 1 if there is something to mend.
    if done.returncode not in ((0, 1) if program == "xgroup" else (0,)):
        raise subprocess.CalledProcessError(done.returncode, line, done.stdout)
