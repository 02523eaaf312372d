"""Print what engine xgroup needs relative to engine zarr, with what is aimed at.

Stores are in memory, so that the machinery is timed and not a disk; only those without
consolidated metadata are in a folder. Each figure is a ratio of the medians of runs in this
process, in which the engines take turns. With `--row`, what is measured is what history.md has,
and what is printed is the row to append there.
"""

import argparse
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from .figures import Plan, Row, landing, rows

WIDTH = 70
#: How large trees are of which the history tells, and how often each is opened.
LANDING_GROUPS, LANDING_RUNS = 400, 3


def table(plan: Plan, folder: Path) -> Iterator[str]:
    """Yield the lines of the table as they are measured."""
    yield f"{'':{WIDTH}}        garbage collector"
    yield f"{'':{WIDTH}} {'N':>5} {'on':>8} {'off':>8}  goal"
    for row in rows(plan, folder):
        yield _line(row).rstrip()


def history_row(n_groups: int, runs: int, folder: Path) -> tuple[str, str]:
    """Return the titles of the history of landings, and a row for the commit that is checked out."""
    measured = list(landing(n_groups, runs, folder))
    git = ["git", "-C", str(Path(__file__).parent), "log", "-1", "--format=%cs | %h"]
    commit = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    titles = ["date", "commit", *(row.column for row in measured)]
    values = (_number(row.on, row.unit).removesuffix(" more") for row in measured)
    return f"| {' | '.join(titles)} |", f"| {commit} | {' | '.join(values)} |"


def _line(row: Row) -> str:
    on, off = (_number(value, row.unit) for value in (row.on, row.off))
    n = "" if row.n is None else row.n
    return f"{row.figure:{WIDTH}} {n:>5} {on:>8} {off:>8}  {row.goal} {row.unit}"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit:
        return f"{value:.0f} {unit}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m scripts.benchmarks", description=__doc__)
    parser.add_argument("--row", action="store_true", help="print a row for history.md")
    row = parser.parse_args().row
    warnings.simplefilter("ignore")  # giving them is timed, printing them is not
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = history_row(LANDING_GROUPS, LANDING_RUNS, folder) if row else table(Plan(), folder)
        for line in lines:
            print(line, flush=True)


if __name__ == "__main__":
    main()
