"""Why a store or a part of it cannot be read, in words that say what kind of failure it is."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

from zarr_xgroup.i18n import _
from zarr_xgroup.redaction import redact

#: Extras of this package, by what they install.
_EXTRAS = {"s3fs": "s3", "gcsfs": "gcs"}
#: What errors of storage libraries, which need not be installed, are called.
_TIMEOUT = frozenset({"TimeoutError", "ReadTimeoutError", "ConnectTimeoutError"})
_NO_PERMISSION = frozenset(
    {"PermissionError", "PermissionDeniedError", "UnauthenticatedError", "NoCredentialsError"}
)
_UNREACHABLE = frozenset(
    {"gaierror", "ClientConnectorError", "EndpointConnectionError", "TransportError"}
)


def late() -> str:
    """Return the reason of what took longer than an open waits for another store."""
    return _("timeout: no answer in the time that cross_store_timeout gives")


def reason_of(error: BaseException) -> str:
    """Return why a store or a part of it cannot be read: the kind of failure, and its text."""
    chain = list(_chain(error))
    names = {kind.__name__ for link in chain for kind in type(link).__mro__}
    statuses = {_status(link) for link in chain}
    text = redact(str(error))
    detail = f"{type(error).__name__}: {text}" if text else type(error).__name__
    missing = next((link for link in chain if isinstance(link, ImportError)), None)
    if missing is not None:
        return _missing_package(missing, detail)
    if names & _TIMEOUT:
        return _("timeout ({detail})").format(detail=detail)
    is_forbidden = any(str(link).startswith("Forbidden:") for link in chain)  # gcsfs
    if names & _NO_PERMISSION or statuses & {401, 403} or is_forbidden:
        return _("no permission ({detail})").format(detail=detail)
    if any(getattr(link, "errno", None) == errno.ECONNREFUSED for link in chain):
        return _("connection refused ({detail})").format(detail=detail)
    if names & _UNREACHABLE:
        return _("unreachable ({detail})").format(detail=detail)
    if "FileNotFoundError" in names:
        return _("not found ({detail})").format(detail=detail)
    return detail


def _status(error: BaseException) -> Any:
    """Return the HTTP status of an error: of aiohttp, else of gcsfs."""
    return error.status if hasattr(error, "status") else getattr(error, "code", None)


def _missing_package(error: ImportError, detail: str) -> str:
    text = f"{error} {error.name}"
    for package, extra in _EXTRAS.items():
        if package in text:
            return _(
                "package {package} is missing: pip install 'xarray-zarr-xgroup[{extra}]'"
            ).format(package=package, extra=extra)
    return _("a package is missing ({detail})").format(detail=detail)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and those that it came from."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        link = pending.pop(0)
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            pending += [link.__cause__, link.__context__, getattr(link, "os_error", None)]
