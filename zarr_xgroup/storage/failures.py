"""Failures of storage: which are tried again, texts for their reasons, and exceptions."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from zarr_xgroup._requirements import missing_package
from zarr_xgroup.errors import XGroupError, XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import Found, ZarrFormat, format_of, node_document
from zarr_xgroup.redaction import chain_of, redact

#: The marks of errors of a store that refuses access.
_NO_PERMISSION = (
    "PermissionError PermissionDeniedError UnauthenticatedError Forbidden status401 status403"
)
_TIMEOUT = "TimeoutError ReadTimeoutError ConnectTimeoutError"
_BROKEN = "ClientPayloadError IncompleteRead ServerDisconnectedError ConnectionResetError"
#: The marks of temporary errors: the same request may succeed later.
_TRANSIENT = (
    f"{_TIMEOUT} {_BROKEN} ConnectionError ClientConnectionError EndpointConnectionError gaierror "
    "status408 status429 status500 status502 status503 status504"
)
#: The marks of errors of requests for documents that cannot exist, such as one with a name that is too long.
_NO_DOCUMENT = f"errno{errno.ENAMETOOLONG} UnicodeEncodeError status410 status414"
#: The marks of errors of stores without a method to list keys.
_NO_LISTING = "NotImplementedError FileNotFoundError status405 status501"


class PrivateAddressError(OSError):
    """A client must not connect to an address, because it is not public."""


@contextmanager
def raising_store_errors(store: str, but: type[Exception] = XGroupError) -> Iterator[None]:
    """Convert any exception raised within to an XGroupStoreError: the store cannot be opened.

    Storage libraries raise exceptions with no common base class. Exceptions of class `but`, those of this package, and
    warnings that the user has turned into errors are not converted.
    """
    try:
        yield
    except (XGroupError, Warning, but):
        raise
    except Exception as error:
        message = _("Store {store} cannot be opened: {reason}")
        raise XGroupStoreError(message.format(store=store, reason=reason_of(error))) from error


@contextmanager
def suggesting(remedy: str) -> Iterator[None]:
    """Add a remedy to an XGroupStoreError of reading that is raised within. Other errors, which are sentences, have one."""
    try:
        yield
    except XGroupStoreError as error:
        if not remedy or error.text.endswith("."):
            raise
        text = _("{reason}. {remedy}").format(reason=error.text, remedy=remedy)
        raise XGroupStoreError(text, store=error.store) from error.__cause__


def reason_of(error: BaseException) -> str:
    """Return the reason why reading failed: the kind of failure, such as a timeout, and the redacted text of the error."""
    chain = list(chain_of(error))
    text = redact(str(error))
    detail = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if any(isinstance(link, ImportError) for link in chain):
        return missing_package(chain) or _("a package is missing ({detail})").format(detail=detail)
    for link in chain:
        if isinstance(link, PrivateAddressError):
            return str(link.strerror)
    marks_of_error = _marks_of_chain(error)
    status = next((number for link in chain if (number := _status_of(link))), None)
    if status is not None:
        detail = f"{status.value} {status.phrase}"
        if status.value >= 500:  # caches of fsspec raise FileNotFoundError
            return detail
    # By names of classes, because storage libraries may not be installed.
    for marks, text_of_kind in (
        # Raised by botocore before any request.
        ("NoCredentialsError", _("no credentials ({detail}); for public data use {option}")),
        (_TIMEOUT, _("timeout ({detail})")),
        (_BROKEN, _("the connection was closed before the response was complete")),
        (_NO_PERMISSION, _("no permission ({detail})")),
        (f"errno{errno.ECONNREFUSED}", _("connection refused ({detail})")),
        (
            "gaierror ClientConnectorError EndpointConnectionError TransportError",
            _("unreachable ({detail})"),
        ),
        ("FileNotFoundError", _("not found ({detail})")),
    ):
        if not marks_of_error.isdisjoint(marks.split()):
            return text_of_kind.format(detail=detail, option="storage_options={'anon': True}")
    return detail


def is_forbidden(error: BaseException) -> bool:
    """Return whether an error shows that a store refuses access."""
    return not _marks_of_chain(error).isdisjoint(_NO_PERMISSION.split())


def is_transient(error: BaseException) -> bool:
    """Return whether an error is temporary: a timeout, a broken connection, or a server that is too busy."""
    marks = _marks_of_chain(error)
    return PrivateAddressError.__name__ not in marks and not marks.isdisjoint(_TRANSIENT.split())


def is_of_reading(error: BaseException) -> bool:
    """Return whether an error shows that a store cannot be read, not that its content is invalid."""
    return any(isinstance(link, OSError) for link in chain_of(error)) or is_transient(error)


def is_missing(error: BaseException) -> bool:
    """Return whether an error shows that a document cannot exist, because its name is not possible."""
    return not _marks_of_chain(error).isdisjoint(_NO_DOCUMENT.split())


def retry_after(error: BaseException) -> float:
    """Return the seconds to wait that a server states in its response (RFC 9110, section 10.2.3); 0 if it does not."""
    headers = (getattr(link, "headers", None) or {} for link in chain_of(error))
    stated: Any = next((value for each in headers if (value := each.get("Retry-After"))), "0")
    with suppress(ValueError):
        return max(0.0, float(stated))
    with suppress(ValueError):
        return max(0.0, (parsedate_to_datetime(stated) - datetime.now(UTC)).total_seconds())
    return 0.0


def is_never_listed(error: BaseException) -> bool:
    """Return whether the error of a listing shows that a store does not support listing, or forbids it."""
    return not _marks_of_chain(error).isdisjoint(f"{_NO_PERMISSION} {_NO_LISTING}".split())


def _marks_of_chain(error: BaseException) -> set[str]:
    """Return the marks of an error and of its causes."""
    return {mark for link in chain_of(error) for mark in _marks_of(link)}


def _status_of(error: BaseException) -> HTTPStatus | None:
    """Return the HTTP status in an error; None if it has none."""
    status = error.status if hasattr(error, "status") else getattr(error, "code", None)
    with suppress(ValueError):
        return HTTPStatus(status)  # type: ignore[arg-type]
    return None


def _marks_of(error: BaseException) -> Iterator[str]:
    """Yield marks by which an error is classified: names of its classes, its HTTP status, its errno."""
    yield from (kind.__name__ for kind in type(error).__mro__)
    if (status := _status_of(error)) is not None:
        yield f"status{status.value}"
    yield f"errno{getattr(error, 'errno', None)}"
    if str(error).startswith("Forbidden:"):  # the text of gcsfs for HTTP 403
        yield "Forbidden"


# Checks of documents.


def check_foreign_root(found: Found, refusal: XGroupStoreError | None) -> ZarrFormat:
    """Return the Zarr format of a store from the documents of its root; raise XGroupStoreError unless it is a group.

    `refusal` is the error of documents that are forbidden.
    """
    if refusal is not None:
        raise refusal
    zarr_format = format_of(found) or 3
    document, problem = node_document(found, zarr_format, "/")
    if problem is not None:
        message = _("it is not a Zarr store: {reason}").format(reason=problem)
        raise XGroupStoreError(message) from problem
    if document is None:
        raise XGroupStoreError(_("not found: it has neither a zarr.json nor a .zgroup"))
    if document.get("zarr_format") not in (2, 3):
        message = _("wrong format: its 'zarr_format' is {number!r}, neither 2 nor 3")
        raise XGroupStoreError(message.format(number=document.get("zarr_format")))
    if document.is_array:
        raise XGroupStoreError(_("it is an array, but the URI must name a group"))
    return zarr_format


def with_store_name(error: XGroupError, store: str) -> XGroupError:
    """Return a copy of an error with the name of the store in front of its text."""
    named = type(error)(_("{store}: {reason}").format(store=store, reason=error))
    named.__cause__ = error.__cause__
    return named
