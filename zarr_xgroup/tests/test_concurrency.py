"""Opening from many threads, event loops and processes; interrupted, and hundreds of times."""

import asyncio
import gc
import multiprocessing
import os
import signal
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
import zarr

from zarr_xgroup import check, explain
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    assert_same,
    build,
    coordinate,
    declaring,
    memory_store,
)
from zarr_xgroup.tests.documents import STORES
from zarr_xgroup.tests.servers import FileServer

NAMES = ("geolocation_test", "roms_test")

#: Seconds after which something counts as hanging.
SAFEGUARD = 120

pytestmark = [
    # Warning filters belong to the process: `catch_warnings` in one thread undoes another's.
    pytest.mark.filterwarnings("ignore::zarr_xgroup.XGroupWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def small() -> Contents:
    """Return a store in which one group refers to another."""
    values = {"external": {"node": "/axes/x"}}
    cs = {"crs": [{"axes": {"x": {"coordinates": [{"values": values}]}}}]}
    field = Array(np.arange(3.0), ("x",), declaring("cs", cs=cs))
    axes = Group({"x": coordinate("x", [10.0, 20.0, 30.0], units="m")})
    return build(Group({"axes": axes, "g": Group({"a": field})}), consolidated=True)


def opened(store: Any) -> xr.DataTree:
    return xr.open_datatree(store, engine="xgroup")


def same(ours: xr.DataTree, expected: xr.DataTree) -> bool:
    """Return whether trees are the same, values included; else fail."""
    assert_same(ours, expected)
    return True


# Threads and event loops.


def test_sixteen_threads_open_the_same_and_other_stores() -> None:
    expected = {name: opened(STORES / f"{name}.zarr").load() for name in NAMES}

    def check(number: int) -> bool:
        name = NAMES[number // 4 % 2]
        return same(opened(STORES / f"{name}.zarr").load(), expected[name])

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(check, range(16), timeout=SAFEGUARD)) == [True] * 16


def test_sixteen_threads_read_what_one_has_opened() -> None:
    expected = opened(STORES / "geolocation_test.zarr").load()
    tree = xr.open_datatree(STORES / "geolocation_test.zarr", engine="xgroup", cache=False)
    with ThreadPoolExecutor(16) as pool:
        trees = list(pool.map(lambda _n: tree.copy().compute(), range(16), timeout=SAFEGUARD))
    assert all(same(each, expected) for each in trees)


def test_opening_within_a_running_event_loop(http_server: FileServer) -> None:
    http_server.contents = small()
    expected = opened(http_server.url).load()

    async def main() -> list[xr.DataTree]:
        here = opened(http_server.url).load()
        threads = [asyncio.to_thread(lambda: opened(http_server.url).load()) for _n in range(8)]
        return [here, *await asyncio.gather(*threads)]

    trees = asyncio.run(main())
    assert len(trees) == 9
    assert all(same(tree, expected) for tree in trees)


# Processes.


def _read(tree: xr.DataTree, store: Any, engine: str, connection: Any) -> None:
    """Send what is read of a tree that another process opened, and of the store opened here."""
    warnings.simplefilter("ignore")
    here = xr.open_datatree(store, engine=engine)
    connection.send([it["g"].to_dataset()["a"].values.tolist() for it in (tree, here)])


def values_in_another_process(method: str, store: Any, engine: str) -> Any:
    """Return what `_read` sends from a new process, None if it sends nothing."""
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    arguments = (xr.open_datatree(store, engine=engine), store, engine, theirs)
    process = context.Process(target=_read, args=arguments, daemon=True)
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(SAFEGUARD) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()
        ours.close()


each_method = pytest.mark.parametrize(
    "method", [it for it in ("fork", "spawn") if it in multiprocessing.get_all_start_methods()]
)
# Python says since 3.12 that a process with threads, as zarr starts one, should not fork.
forking = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


def skip_what_zarr_cannot(method: str) -> None:
    if method == "fork" and not hasattr(zarr.core.sync, "reset_resources_after_fork"):
        pytest.skip("this zarr waits forever in a process that was forked")


@forking
@each_method
def test_another_process_reads_and_opens(method: str, tmp_path: Path) -> None:
    skip_what_zarr_cannot(method)
    for key, content in small().items():
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(content)
    expected = [[0.0, 1.0, 2.0]] * 2
    assert values_in_another_process(method, tmp_path, "xgroup") == expected


# Interruption.


class Interruption:
    """Raises KeyboardInterrupt in this thread at some call of a Python function.

    Not of one of `threading`: to be interrupted where it begins to release a lock leaves any Python
    program with a lock that nobody releases.

    Parameters
    ----------
    moment : int
        How many calls go well.
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
    """Do work again and again, each time interrupted at another call; yield after each."""
    with Interruption(float("inf")) as whole:
        work()
    random, interrupted = Random(0), 0
    for _time in range(times):
        try:
            with Interruption(random.randrange(1, whole.calls * 9 // 10)):
                work()
        except KeyboardInterrupt:
            interrupted += 1
        yield
    assert interrupted > times * 3 // 4


@pytest.fixture(params=["local", pytest.param("http", marks=pytest.mark.server)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return a small store, in a folder and behind a server."""
    if request.param == "http":
        server = request.getfixturevalue("http_server")
        server.contents = small()
        return server.url
    for key, content in small().items():
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(content)
    return str(tmp_path)


# Python tells of what is raised while an object is freed, which nobody can catch.
unraisable = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@unraisable
@pytest.mark.skipif(sys.gettrace() is not None, reason="something else follows the calls")
def test_an_open_that_was_interrupted_at_any_call(place: Any) -> None:
    expected = opened(place).load()
    for _time in interrupted_at_any_call(lambda: opened(place), 40):
        assert same(opened(place).load(), expected)


@unraisable
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_an_open_that_was_interrupted_by_a_signal(place: Any) -> None:
    expected = opened(place).load()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    random = Random(0)
    try:
        for _time in range(40):
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 0.05))
                try:
                    opened(place).load()
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            assert same(opened(place).load(), expected)
    finally:
        signal.signal(signal.SIGALRM, before)


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


@pytest.fixture
def only_new_objects() -> None:
    """Keep what there is already from the collector: it walks and counts what is made from now on."""
    gc.collect()
    gc.freeze()


def use(store: Any, times: int) -> None:
    """Open a store as a tree, which is closed, and three times a group of it, which is forgotten."""
    for _time in range(times // 4):
        with opened(store) as tree:
            tree["g"]["a"].load()
        for _each in range(3):
            xr.open_dataset(store, engine="xgroup", group="g")["a"].load()


@pytest.mark.usefixtures("only_new_objects")
def test_hundreds_of_opens_leave_nothing_behind(place: Any, http_server: FileServer) -> None:
    use(place, 40)  # what is made once
    http_server.reset()
    before = resources()
    use(place, 200)
    http_server.reset()
    after = resources()
    assert after["objects"] - before["objects"] < 100
    assert after["threads"] <= before["threads"] + 1
    assert after["descriptors"] <= before["descriptors"] + 2
    assert after["memory"] - before["memory"] < 2**25


# Explanations and checks.

each_report = pytest.mark.parametrize(
    ("place", "report"),
    [("local", explain), pytest.param("http", check, marks=pytest.mark.server)],
    indirect=["place"],
    ids=["local-explain", "http-check"],
)


def test_threads_explain_check_and_open_a_store_object_at_once() -> None:
    store: Any = memory_store(small())
    tree, reports = opened(store), (explain(store), check(store))

    def is_same(_number: int) -> bool:
        return same(opened(store), tree) and (explain(store), check(store)) == reports

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(is_same, range(16), timeout=SAFEGUARD))


@unraisable
@pytest.mark.skipif(sys.gettrace() is not None, reason="something else follows the calls")
@each_report
def test_a_report_that_was_interrupted_at_any_call(
    place: Any, http_server: FileServer, report: Any
) -> None:
    expected = report(place)
    http_server.reset()
    before = resources()
    for _time in interrupted_at_any_call(lambda: report(place), 12):
        assert report(place) == expected
    http_server.reset()
    after = resources()
    assert after["threads"] <= before["threads"] + 1
    assert after["descriptors"] <= before["descriptors"] + 2


@pytest.mark.usefixtures("only_new_objects")
@each_report
def test_thirty_reports_leave_nothing_behind(
    place: Any, http_server: FileServer, report: Any
) -> None:
    for _time in range(10):  # what is made once
        report(place)
    http_server.reset()
    before = resources()
    for _time in range(30):
        report(place)
    http_server.reset()
    after = resources()
    assert after["objects"] - before["objects"] < 30
    assert after["threads"] <= before["threads"] + 1
    assert after["descriptors"] <= before["descriptors"] + 2
