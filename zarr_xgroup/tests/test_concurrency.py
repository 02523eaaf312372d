"""Opening from many threads, event loops and processes, with interruptions, and hundreds of times."""

import asyncio
import gc
import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Self

import numpy as np
import psutil
import pytest
import xarray as xr

from zarr_xgroup import check, explain
from zarr_xgroup._compat import sync
from zarr_xgroup.storage import reading
from zarr_xgroup.tests.builders import (
    Contents,
    assert_same,
    build,
    coordinate,
    declaring,
    stored,
    write_local,
)
from zarr_xgroup.tests.servers import FileServer

STORES = Path(__file__).parent / "stores"
NAMES = ("geolocation_test", "roms_test")

#: Seconds after which something counts as hanging.
SAFEGUARD = 120

pytestmark = [
    # Warning filters belong to the process: `catch_warnings` in one thread undoes another's.
    pytest.mark.filterwarnings("ignore::zarr_xgroup.XGroupWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
# Python tells of what is raised while an object is freed, which nobody can catch.
unraisable = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def small() -> Contents:
    """Return a store in which one group refers to another."""
    values = {"external": {"node": "/axes/x"}}
    cs = {"crs": [{"axes": {"x": {"coordinates": [{"values": values}]}}}]}
    a, x = stored(np.arange(3.0), "x", **declaring("cs", cs=cs)), coordinate("x", [1.0, 2.0, 3.0])
    return build({"": {}, "axes": {}, "axes/x": x, "g": {}, "g/a": a}, consolidated=True)


def opened(store: Any) -> xr.DataTree:
    return xr.open_datatree(store, engine="xgroup")


@pytest.fixture(params=["local", pytest.param("http", marks=pytest.mark.server)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return a small store, in a folder and behind a server."""
    if request.param == "local":
        return str(write_local(small(), tmp_path))
    server = request.getfixturevalue("http_server")
    server.contents = small()
    return server.url


# Threads and event loops.


def test_threads_open_read_explain_and_check_the_same_stores() -> None:
    def used(name: str) -> tuple[xr.DataTree, Any]:
        store = STORES / f"{name}.zarr"
        return opened(store).load(), (explain(store), check(store))

    expected = {name: used(name) for name in NAMES}
    shared = {
        name: xr.open_datatree(STORES / f"{name}.zarr", engine="xgroup", cache=False)
        for name in NAMES
    }

    def work(name: str) -> tuple[xr.DataTree, xr.DataTree, Any]:
        return shared[name].copy().compute(), *used(name)

    names = NAMES * 3
    with ThreadPoolExecutor(len(names)) as pool:
        for name, (of_all, own, reports) in zip(
            names, pool.map(work, names, timeout=SAFEGUARD), strict=True
        ):
            assert_same(own, expected[name][0])
            assert_same(of_all, expected[name][0])
            assert reports == expected[name][1]


def test_opening_within_a_running_event_loop(http_server: FileServer) -> None:
    """As in a notebook, and in threads beside it."""
    http_server.contents = small()
    expected = opened(http_server.url).load()

    async def main() -> list[xr.DataTree]:
        here = opened(http_server.url).load()
        threads = [asyncio.to_thread(lambda: opened(http_server.url).load()) for _n in range(8)]
        return [here, *await asyncio.gather(*threads)]

    for tree in asyncio.run(main()):
        assert_same(tree, expected)


def test_the_nodes_of_a_slow_folder_are_read_concurrently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array, both = stored(np.arange(3.0), "x"), threading.Barrier(2)

    def open_slowly(path: str, mode: str) -> Any:
        if path.endswith(("a/zarr.json", "b/zarr.json")):  # neither is opened before the other
            both.wait(SAFEGUARD)
        return open(path, mode)

    monkeypatch.setattr(reading, "open", open_slowly, raising=False)
    tree = opened(write_local(build({"": {}, "a": array, "b": array}), tmp_path / "store.zarr"))
    assert {*tree.data_vars} == {"a", "b"}


# Processes.


def _read(tree: xr.DataTree, store: Any, connection: Any) -> None:
    """Send what is read of a tree that another process opened, and of the store opened here."""
    warnings.simplefilter("ignore")
    connection.send([it["g"].to_dataset()["a"].values.tolist() for it in (tree, opened(store))])


# Python says since 3.12 that a process with threads, as zarr starts one, should not fork.
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(
    "method", [it for it in ("fork", "spawn") if it in multiprocessing.get_all_start_methods()]
)
def test_another_process_reads_and_opens(method: str, tmp_path: Path) -> None:
    if method == "fork" and not hasattr(sys.modules[sync.__module__], "reset_resources_after_fork"):
        pytest.skip("this zarr waits forever in a process that was forked")
    store = write_local(small(), tmp_path)
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(opened(store), store, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        assert ours.poll(SAFEGUARD)
        assert ours.recv() == [[0.0, 1.0, 2.0]] * 2
    finally:
        process.kill()
        process.join()
        ours.close()


# Interruption.


class Interruption:
    """Raises KeyboardInterrupt in this thread when a number of Python functions were called.

    Not at a call of one of `threading`: to be interrupted where it begins to release a lock leaves any
    Python program with a lock that nobody releases.
    """

    def __init__(self, moment: float) -> None:
        self._moment = moment
        self.calls = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename != threading.__file__:
            self.calls += 1
            if self.calls == self._moment:
                raise KeyboardInterrupt


def interrupted_at_any_call(work: Callable[[], Any], times: int) -> Iterator[None]:
    """Do work until it was interrupted a number of times, each time at another call; yield after each.

    Work may end before the call is reached: how many calls it makes also depends on the objects that the garbage
    collector frees meanwhile. An interruption while an object is freed has no effect. Both do not count.
    """
    with Interruption(float("inf")) as whole:
        work()
    random, calls, interrupted = Random(0), whole.calls, 0
    for _attempt in range(5 * times):
        interruption = Interruption(random.randrange(1, calls))
        try:
            with interruption:
                work()
            calls = min(calls, interruption.calls)
        except KeyboardInterrupt:
            interrupted += 1
        yield
        if interrupted == times:
            return
    pytest.fail(f"interrupted {interrupted} times in {5 * times} attempts, not {times} times")


@unraisable
@pytest.mark.skipif(sys.gettrace() is not None, reason="something else follows the calls")
def test_opening_can_be_interrupted_at_any_call(place: Any) -> None:
    expected = opened(place).load()
    for _time in interrupted_at_any_call(lambda: opened(place), 12):
        assert_same(opened(place).load(), expected)


# Hundreds of times.

#: Types of a timer and its context: an event loop keeps those that were cancelled, up to a hundred.
TIMERS = frozenset({"TimerHandle", "Context", "hamt", "hamt_bitmap_node", "hamt_array_node"})
#: Parts of the names of threads that are bounded in number, but started as they are needed: of the
#: pool of zarr's event loop, and of the test's server, one a connection.
BOUNDED = ("asyncio_", "process_request_thread")


def resources() -> dict[str, int]:
    """Return how many objects, threads and descriptors there are, and bytes of memory.

    Timers that were cancelled and threads that are bounded are not counted. A thread that is just
    ending is.
    """
    gc.collect()
    process = psutil.Process()
    bounded = [it for it in threading.enumerate() if any(part in it.name for part in BOUNDED)]
    return {
        "objects": sum(type(it).__name__ not in TIMERS for it in gc.get_objects()),
        "threads": process.num_threads() - len(bounded),
        "descriptors": process.num_fds() if os.name == "posix" else process.num_handles(),
        "memory": process.memory_info().rss,
    }


def assert_nothing_is_left(server: FileServer, work: Callable[[], Any], objects: float) -> None:
    """Assert that after some work there are few more objects, threads and descriptors, and little more memory."""
    server.reset()
    before = resources()
    work()
    server.reset()
    after = resources()
    assert after["objects"] - before["objects"] < objects
    assert after["threads"] <= before["threads"] + 1
    assert after["descriptors"] <= before["descriptors"] + 2
    assert after["memory"] - before["memory"] < 2**25


def use(store: Any, times: int) -> None:
    """Open a store as a tree, which is closed, and a group of it, which is forgotten; and report on it."""
    for _time in range(times):
        with opened(store) as tree:
            tree["g"]["a"].load()
        xr.open_dataset(store, engine="xgroup", group="g")["a"].load()
        assert explain(store).group == "/"
        check(store)


def test_hundreds_of_calls_leave_no_objects(place: Any, http_server: FileServer) -> None:
    gc.collect()
    gc.freeze()  # what there is already is neither walked nor counted
    use(place, 8)  # what is made once
    assert_nothing_is_left(http_server, lambda: use(place, 25), 60)
