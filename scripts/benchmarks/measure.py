"""Times and memory of calls, taken so that they can be compared with each other."""

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import TypeAlias, TypeVar

Call: TypeAlias = Callable[[], object]
K = TypeVar("K")

_IMPORT = """
import time, xarray, zarr
start = time.perf_counter()
import zarr_xgroup.backend
print(time.perf_counter() - start)
"""


@contextmanager
def collector(*, on: bool) -> Iterator[None]:
    """Start without garbage, and with the garbage collector on (as users have it) or off."""
    gc.collect()
    if not on:
        gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(call: Call, *, collecting: bool) -> float:
    """Return how long a call takes, without giving back its result."""
    with collector(on=collecting):
        start = time.perf_counter()
        result = call()
        taken = time.perf_counter() - start
        del result
    return taken


def medians(calls: Mapping[K, Call], runs: int, *, collecting: bool) -> dict[K, float]:
    """Return the median times of calls that take turns, in seconds."""
    times: dict[K, list[float]] = {key: [] for key in calls}
    for _run in range(runs):
        for key, call in calls.items():
            times[key].append(seconds(call, collecting=collecting))
    return {key: median(taken) for key, taken in times.items()}


def peak(call: Call, *, collecting: bool) -> int:
    """Return how many bytes Python and NumPy hold at most during a call."""
    with collector(on=collecting):
        tracemalloc.start()
        try:
            result = call()
            del result
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def import_seconds(runs: int) -> float:
    """Return how long a new interpreter that has xarray and zarr imports zarr_xgroup (median)."""
    command = [sys.executable, "-c", _IMPORT]
    printed = (subprocess.run(command, check=True, capture_output=True) for _ in range(runs))
    return median(float(process.stdout) for process in printed)
