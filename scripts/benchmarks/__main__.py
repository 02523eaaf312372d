"""Print what engine xgroup needs relative to engine zarr, with what is aimed at.

Stores are in memory, so that the machinery is timed and not a disk; only those without
consolidated metadata are in a folder. Each figure is a ratio of the medians of runs in this
process, in which the engines take turns.
"""

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from .figures import Plan, Row, rows

WIDTH = 70


def table(plan: Plan, folder: Path) -> Iterator[str]:
    """Yield the lines of the table as they are measured."""
    yield f"{'':{WIDTH}}        garbage collector"
    yield f"{'':{WIDTH}} {'N':>5} {'on':>8} {'off':>8}  goal"
    for row in rows(plan, folder):
        yield _line(row).rstrip()


def _line(row: Row) -> str:
    on, off = (_number(value, row.unit) for value in (row.on, row.off))
    n = "" if row.n is None else row.n
    return f"{row.figure:{WIDTH}} {n:>5} {on:>8} {off:>8}  {row.goal} {row.unit}"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:.0f} {unit}" if unit else f"{value:.2f}"


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")  # giving them is timed, printing them is not
    with tempfile.TemporaryDirectory() as folder:
        for line in table(Plan(), Path(folder)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
