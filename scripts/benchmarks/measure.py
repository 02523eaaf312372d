"""Comparable measurements of the processor time and memory of calls."""

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from compileall import compile_dir
from pathlib import Path
from statistics import median
from typing import TypeAlias, TypeVar

import zarr_xgroup
from zarr_xgroup.variables.stored import template_of

Call: TypeAlias = Callable[[], object]
K = TypeVar("K")

_FIRST_OPEN = """
import re, resource, sys, time, warnings
warnings.simplefilter("ignore")
import xarray
store, engine, group = sys.argv[1:]
if engine == "xgroup":  # the class: with the name, xarray imports the engines of all installed packages
    from zarr_xgroup import XGroupBackendEntrypoint as engine
dataset = xarray.open_dataset(store, engine=engine, group=group)
taken, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:  # on Linux, the former is at least the memory of the process that started this one
    memory = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]
except (OSError, TypeError):
    pass
print(taken, memory)
"""


def seconds(call: Call) -> float:
    """Return the processor time of a call in all threads, in seconds, without freeing its result."""
    gc.collect()
    start = time.process_time()
    result = call()
    taken = time.process_time() - start
    del result
    return taken


def uncached(call: Call) -> Call:
    """Return a call that opens the first store of its kind: no array with the same metadata was opened before."""

    def first_of_its_kind() -> object:
        template_of.cache_clear()
        return call()

    return first_of_its_kind


def medians(calls: Mapping[K, Call], runs: int) -> dict[K, float]:
    """Return the median processor times of calls that run in turns, in seconds.

    Each call runs once before, unmeasured, to fill caches.
    """
    for call in calls.values():
        call()
    times: dict[K, list[float]] = {key: [] for key in calls}
    for _run in range(runs):
        for key, call in calls.items():
            times[key].append(seconds(call))
    return {key: median(taken) for key, taken in times.items()}


def peak(call: Call) -> int:
    """Return the peak memory of Python and NumPy during a call, in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        result = call()
        del result
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def first_opens(
    store: str, group: str, engines: tuple[str, ...], runs: int
) -> dict[str, tuple[float, float]]:
    """Return the median processor time (seconds) and peak memory of processes that open a group, by engine.

    The modules of the package are compiled first, as pip does when it installs a package.
    """
    compile_dir(Path(zarr_xgroup.__file__).parent, quiet=1)
    measured: dict[str, list[tuple[float, float]]] = {engine: [] for engine in engines}
    for _run in range(runs):
        for engine in engines:
            command = [sys.executable, "-c", _FIRST_OPEN, store, engine, group]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            taken, memory = map(float, printed.split())
            measured[engine].append((taken, memory))
    return {
        engine: (
            median(taken for taken, _memory in runs_of),
            median(memory for _taken, memory in runs_of),
        )
        for engine, runs_of in measured.items()
    }
