"""How much of a foreign store is read, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

import msgspec

from zarr_xgroup.i18n import _
from zarr_xgroup.options import DEFAULTS, StoreOptions


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
    """Limit the bytes of each document or chunk read within, for `check_size` and `http_client`; None for no limit."""
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


def is_limited() -> bool:
    """Return whether `reading_at_most` limits the bytes that are read now."""
    return _MOST_BYTES.get() is not None
