"""Print how long engine xgroup takes to open stores, relative to engine zarr.

The stores are in memory, so that the machinery is timed and not a disk. Both engines take
turns in one process; each number is the ratio of the medians of their times.
"""

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Literal, TypeAlias

import numpy as np
import xarray as xr
import zarr
from zarr.storage import MemoryStore

Function: TypeAlias = Literal["open_datatree", "open_dataset"]

RUNS = 5
SIZES = (50, 400)
AXES = {"time": 3, "y": 4, "x": 5}
FIELDS = ("temperature", "salinity")


@dataclass(frozen=True)
class Case:
    """One line of the table: what is opened."""

    function: Function
    n_groups: int
    consolidated: bool

    def open(self, store: MemoryStore, engine: str) -> None:
        """Open it with an engine."""
        group = f"/group_{self.n_groups // 2:03}" if self.function == "open_dataset" else None
        getattr(xr, self.function)(
            store, engine=engine, group=group, consolidated=self.consolidated
        )


def make_store(n_groups: int, consolidated: bool) -> MemoryStore:
    """Return a store of groups that hold five arrays each, coordinates included."""
    store = MemoryStore()
    root = zarr.create_group(store, zarr_format=3)
    for number in range(n_groups):
        group = root.create_group(f"group_{number:03}")
        for name, size in AXES.items():
            _write_array(group, name, (name,), (size,))
        for name in FIELDS:
            _write_array(group, name, tuple(AXES), tuple(AXES.values()))
    if consolidated:
        zarr.consolidate_metadata(store)
    return store


def _write_array(
    group: zarr.Group, name: str, dimensions: tuple[str, ...], shape: tuple[int, ...]
) -> None:
    array = group.create_array(
        name, shape=shape, chunks=shape, dtype="float64", dimension_names=dimensions
    )
    array[...] = np.arange(np.prod(shape), dtype="float64").reshape(shape)


def seconds(function: Callable[[], object]) -> float:
    """Return how long a call takes."""
    gc.collect()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def medians(case: Case, store: MemoryStore, runs: int) -> tuple[float, float]:
    """Return the median times of engine xgroup and engine zarr, in seconds."""
    times: dict[str, list[float]] = {"xgroup": [], "zarr": []}
    for engine in times:
        case.open(store, engine)  # what only the first open pays for
    for _run in range(runs):
        for engine, taken in times.items():
            taken.append(seconds(partial(case.open, store, engine)))
    return median(times["xgroup"]), median(times["zarr"])


def table(runs: int = RUNS) -> Iterator[str]:
    """Yield the lines of the table as they are measured."""
    yield f"Groups of 5 arrays in memory; medians of {runs} runs of each engine, taking turns."
    yield f"{'':13} {'N groups':>8} {'consolidated':>12} {'xgroup':>9} {'zarr':>9} {'ratio':>6}"
    for n_groups in SIZES:
        for consolidated in (True, False):
            store = make_store(n_groups, consolidated)
            for function in ("open_datatree", "open_dataset"):
                case = Case(function, n_groups, consolidated)
                ours, theirs = medians(case, store, runs)
                yield (
                    f"{function:13} {n_groups:8} {'yes' if consolidated else 'no':>12} "
                    f"{ours * 1e3:6.0f} ms {theirs * 1e3:6.0f} ms {ours / theirs:6.2f}"
                )


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")  # giving them is timed, printing them is not
    for line in table():
        print(line, flush=True)


if __name__ == "__main__":
    main()
