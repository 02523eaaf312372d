"""HTTP clients of other stores, which stop reading when an answer is too large."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from zarr.abc.store import Store

from zarr_xgroup.storage.limits import check_size, most_bytes

if TYPE_CHECKING:
    import aiohttp

# aiohttp is imported where it is needed, because that takes longer than all of this package.


async def plain_client(**options: Any) -> aiohttp.ClientSession:
    """Return an HTTP client as fsspec makes it."""
    import aiohttp

    return aiohttp.ClientSession(**options)


async def bounded_client(
    make: Callable[..., Awaitable[aiohttp.ClientSession]], **options: Any
) -> aiohttp.ClientSession:
    """Return an HTTP client that reads no more of an answer than `limits.at_most` allows.

    For the option ``get_client`` of fsspec's `HTTPFileSystem`. To ask for a range is not enough:
    a server may ignore that.
    """
    return await make(**{"response_class": _bounded_response(), **options})


def is_bounded(store: Store) -> bool:
    """Tell whether the HTTP client of a store stops by itself when an answer is too large."""
    made_by = getattr(getattr(store, "fs", None), "get_client", None)
    return isinstance(made_by, partial) and made_by.func is bounded_client


@cache
def _bounded_response() -> type[aiohttp.ClientResponse]:
    import aiohttp

    class BoundedResponse(aiohttp.ClientResponse):
        """An HTTP response of which no more bytes are read than `limits.at_most` allows."""

        async def read(self) -> bytes:
            """Return the body, or raise TooLargeError and close the connection."""
            if most_bytes() is None:
                return await super().read()
            body = bytearray()
            try:
                check_size(self.content_length or 0)
                async for part in self.content.iter_any():
                    body += part
                    check_size(len(body))
            except BaseException:
                self.close()
                raise
            return bytes(body)

    return BoundedResponse
