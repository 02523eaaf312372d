"""Print what engine xgroup needs relative to engine zarr.

Each figure is a ratio of the medians of processor times, of runs in which the engines take turns. Beside it are the aim and
the limit: the same ratio for an engine that only gives xarray variables that are ready. Stores are in memory; only products without
consolidated metadata are read from a folder. With `--row`, the row to append to history.md is printed.
"""

import argparse
import subprocess
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from .figures import Plan, Row, rows

WIDTH = 76


def table(measured: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{'':{WIDTH}} {'ratio':>7} {'aim':>7} {'limit':>7}"
    for row in measured:
        values = (_number(value) for value in (row.value, row.aim, row.limit))
        yield f"{row.title:{WIDTH}} {' '.join(f'{value:>7}' for value in values)}".rstrip()


def history_row(measured: Iterable[Row]) -> tuple[str, str]:
    """Return the titles of history.md, and a row for the commit that is checked out."""
    worst: dict[str, float] = {}
    for row in measured:
        worst[row.column] = max(row.value, worst.get(row.column, row.value))
    git = ["git", "-C", str(Path(__file__).parent), "log", "-1", "--format=%cs | %h"]
    commit = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    titles, values = ["date", "commit", *worst], [commit, *map(_number, worst.values())]
    return f"| {' | '.join(titles)} |", f"| {' | '.join(values)} |"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m scripts.benchmarks", description=__doc__)
    parser.add_argument("--row", action="store_true", help="print a row for history.md")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # giving them is timed, printing them is not
    with tempfile.TemporaryDirectory() as name:
        measured = rows(Plan(), Path(name))
        for line in history_row(measured) if arguments.row else table(measured):
            print(line, flush=True)


if __name__ == "__main__":
    main()
