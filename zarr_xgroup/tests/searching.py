"""Stores are examined in another process, which may hang or grow."""

import gc
import logging
import multiprocessing
import sys
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from random import Random

from zarr_xgroup.tests.fuzzing import violations
from zarr_xgroup.tests.outcomes import Violation
from zarr_xgroup.tests.random_stores import Documents, random_store

if sys.platform != "win32":
    import resource

#: By how many bytes a process may grow for one store, and how large it may become.
MEMORY, ADDRESS_SPACE = 2**28, 2**33


class Examiner:
    """Examines stores in a process of its own, which is ended when it takes too long.

    Parameters
    ----------
    seconds : float
        What a store may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process: BaseProcess | None = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_examine_all, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._connection.recv()

    def examine(self, store: Documents, *, with_reports: bool = True) -> list[Violation]:
        """Return the laws that a store breaks, see `violations`."""
        if self._process is None:
            self._start()
        self._connection.send((store, with_reports))
        if not self._connection.poll(self._seconds):
            self.close()
            return [Violation("hangs", "", f"for more than {self._seconds} s")]
        try:
            return list(self._connection.recv())
        except EOFError:
            self.close()
            return [Violation("ends the process", "", "")]

    def close(self) -> None:
        """End the process, if there is one; the next store begins another."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _examine_all(connection: Connection) -> None:
    """Examine each store that comes, until the other end is closed."""
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # zarr leaves errors behind
    violations(random_store(Random(0)))  # what is loaded once is no time and no memory of a store
    gc.freeze()  # none of it is garbage: collections need not look at it again
    gc.set_threshold(20_000, 50, 50)
    connection.send("ready")
    while True:
        try:
            store, with_reports = connection.recv()
        except EOFError:
            return
        before = _peak()
        found = violations(store, with_reports=with_reports)
        if _peak() - before > MEMORY:
            found.append(Violation("takes memory", "", f"{_peak() - before >> 20} MB"))
        connection.send(found)


def _peak() -> int:
    """Return the most memory in bytes that this process has had, as far as the system says."""
    if sys.platform == "win32":
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
