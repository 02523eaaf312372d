"""The servers and the delaying store that other tests put stores behind."""

import asyncio
import time

import pytest
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

from zarr_xgroup.tests.builders import memory_store
from zarr_xgroup.tests.servers import DelayingStore

pytestmark = pytest.mark.server

# A store that delays.


def test_rounds_are_requests_that_wait_for_one_another() -> None:
    store = DelayingStore(memory_store({f"{name}": b"" for name in "abcd"}), 0.02)
    prototype = default_buffer_prototype()

    async def read() -> None:
        await asyncio.gather(*(store.get(key, prototype) for key in "abcd"))
        assert (store.rounds, store.log.most_in_flight) == (1, 4)
        await asyncio.gather(store.exists("a"), store.get("missing", prototype))
        assert store.rounds == 2
        assert sorted([key async for key in store.list_dir("")]) == ["a", "b", "c", "d"]
        assert store.rounds == 3
        await store.get_partial_values(prototype, [("a", None), ("b", None)])
        assert store.rounds == 4

    start = time.monotonic()
    sync(read())
    assert time.monotonic() - start >= 0.08
    assert len(store.requests) == 9
    assert store.requests[-3:] == [
        ("list_dir", ""),
        ("get_partial_values", "a"),
        ("get_partial_values", "b"),
    ]
    store.log.clear()
    assert (store.requests, store.rounds) == ([], 0)


def test_a_long_request_beside_short_ones_is_one_round() -> None:
    slow = DelayingStore(memory_store({}), 0.1)
    quick = DelayingStore(memory_store({}), 0.01)
    quick.log = slow.log

    async def read() -> None:
        async def chain() -> None:
            await quick.exists("a")
            await quick.exists("b")

        await asyncio.gather(slow.exists("slow"), chain())
        await quick.exists("c")

    sync(read())
    assert slow.rounds == 3
