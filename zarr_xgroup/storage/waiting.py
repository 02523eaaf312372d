"""Running coroutines: the one place where an open waits for I/O."""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from zarr_xgroup._compat import sync

T = TypeVar("T")


def wait(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns.

    Ctrl-C interrupts the main thread alone. Were it to wait as zarr does, it could be interrupted
    while it holds a lock that zarr's event loop needs, and all later opens would wait for ever. So
    another thread does so, and the main one waits for that by what has no such moment.
    """
    if threading.current_thread() is not threading.main_thread():
        return sync(coroutine)
    answers: SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = SimpleQueue()
    context = copy_context()
    start_new_thread(_answer, (context.run, coroutine, answers.put))
    answer, error = answers.get()
    try:
        if error is not None:
            raise error
        return cast("T", answer)
    finally:
        del error  # it refers to this frame


def _answer(
    run: Callable[..., Any], coroutine: Coroutine[Any, Any, Any], put: Callable[[Any], None]
) -> None:
    """Put the result of a coroutine, or its exception, where the waiting thread finds it."""
    try:
        put((run(sync, coroutine), None))
    except BaseException as error:  # noqa: BLE001 - raised again by who waits
        put((None, error))
