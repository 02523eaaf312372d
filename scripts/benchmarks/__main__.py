"""Print the time and memory that engine xgroup needs, relative to engine zarr.

Each figure is a ratio of median processor times; the engines run in turns. The next columns are the aim and
the limit: the same ratio for an engine that already has all variables. Stores are in memory, except those
of real products. `--row` prints a row for history.md.
"""

import argparse
import subprocess
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import clouds
from .figures import Plan, Row, rows

WIDTH = 76


def table(measured: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{'':{WIDTH}} {'ratio':>7} {'aim':>7} {'limit':>7}"
    for row in measured:
        values = (_number(value) for value in (row.value, row.aim, row.limit))
        yield f"{row.title:{WIDTH}} {' '.join(f'{value:>7}' for value in values)}".rstrip()


def history_row(measured: Iterable[Row]) -> tuple[str, str]:
    """Return the header of history.md, and a row for the checked-out commit."""
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
    """Measure, and print the table or the row."""
    parser = argparse.ArgumentParser("python -m scripts.benchmarks", description=__doc__)
    parser.add_argument("--row", action="store_true", help="print a row for history.md")
    parser.add_argument("--clouds", action="store_true", help="print requests and rounds to clouds")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # the time includes giving warnings, but not printing them
    if arguments.clouds:
        for line in clouds.table():
            print(line, flush=True)
        return
    with tempfile.TemporaryDirectory() as name:
        measured = rows(Plan(), Path(name))
        for line in history_row(measured) if arguments.row else table(measured):
            print(line, flush=True)


if __name__ == "__main__":
    main()
