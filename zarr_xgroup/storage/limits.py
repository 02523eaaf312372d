"""How much of a foreign store is read, and for how long: limits, and an HTTP client that keeps to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import msgspec

from zarr_xgroup._requirements import check_requirements
from zarr_xgroup.i18n import _
from zarr_xgroup.options import DEFAULTS, StoreOptions
from zarr_xgroup.storage.places import public_socket

if TYPE_CHECKING:
    import aiohttp  # at run time only where needed: importing it takes longer than all of this package


class ForeignLimits(msgspec.Struct, frozen=True):
    """The limits of an open call for foreign stores; None for no limit.

    Attributes
    ----------
    timeout : float or None
        Seconds to wait each time that documents or values of a store are read.
    document : int or None
        Largest size of a metadata document in bytes.
    stores : int or None
        Largest number of stores to which references are followed.
    """

    timeout: float | None = DEFAULTS["cross_store_timeout"]
    document: int | None = DEFAULTS["cross_store_max_bytes"]
    stores: int | None = DEFAULTS["cross_store_max_stores"]

    @classmethod
    def of(cls, options: StoreOptions) -> Self:
        """Return the limits in options; raise TypeError or ValueError if a value is not valid."""
        values = []
        for option, kind, least in (
            ("cross_store_timeout", int | float, 0),
            ("cross_store_max_bytes", int, 1),
            ("cross_store_max_stores", int, 0),  # 0: no other store may be opened
        ):
            value: Any = options.get(option, DEFAULTS[option])
            is_number = isinstance(value, kind) and not isinstance(value, bool)
            is_valid = is_number and (value >= least if kind is int else value > least)
            if value is not None and not is_valid:
                message = _(
                    "{option} must be an integer of at least {least} or None, got {value!r}"
                )
                if kind is not int:
                    message = _(
                        "{option} must be a positive number of seconds or None, got {value!r}"
                    )
                error = ValueError if is_number else TypeError
                raise error(message.format(option=option, least=least, value=value))
            values.append(value)
        return cls(*values)


#: The limits of the store that the user opens.
NO_LIMITS = ForeignLimits(None, None, None)

#: Largest size in bytes of the document or chunk being read, None for no limit; each task has its own value.
_MOST_BYTES: ContextVar[int | None] = ContextVar("most_bytes", default=None)


class TooLargeError(Exception):
    """A document or chunk of a foreign store is larger than the limit."""


@contextmanager
def reading_at_most(size: int | None) -> Iterator[None]:
    """Limit the bytes of each document or chunk read within, for `check_size` and the HTTP client; None for no limit."""
    token = _MOST_BYTES.set(size)
    try:
        yield
    finally:
        _MOST_BYTES.reset(token)


def check_size(size: int) -> None:
    """Raise TooLargeError if a size in bytes is beyond the limit of `reading_at_most`."""
    most = _MOST_BYTES.get()
    if most is not None and size > most:
        raise TooLargeError(_("it is larger than {count} bytes").format(count=most))


async def http_client(is_guarded: bool, **options: Any) -> aiohttp.ClientSession:
    """Return an HTTP client that reads no more of a response than `reading_at_most` allows.

    For the option ``get_client`` of fsspec's `HTTPFileSystem`. A range request is not enough, because a server may
    ignore it. If `is_guarded`, the client connects only to public addresses, also after redirects.
    """
    import aiohttp  # not at the top: importing it takes longer than all of this package

    if is_guarded:
        check_requirements({"aiohttp": "3.12"})  # the first version with socket_factory
        options["connector"] = aiohttp.TCPConnector(socket_factory=public_socket)
    return aiohttp.ClientSession(**{"response_class": _bounded_response(), **options})


@cache
def _bounded_response() -> type[aiohttp.ClientResponse]:
    """Return the class of bounded responses; a function, because importing aiohttp is slow."""
    import aiohttp

    class BoundedResponse(aiohttp.ClientResponse):
        """An HTTP response that reads no more bytes than `reading_at_most` allows."""

        async def read(self) -> bytes:
            """Return the body, or raise TooLargeError and close the connection."""
            if _MOST_BYTES.get() is None:
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
