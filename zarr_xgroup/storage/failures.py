"""Failures of storage: texts for their reasons, and exceptions."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from zarr_xgroup._requirements import missing_package
from zarr_xgroup.errors import XGroupError, XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.documents import Found, ZarrFormat, format_of, node_document
from zarr_xgroup.redaction import chain_of, redact

#: The marks of errors of a store that refuses access.
_NO_PERMISSION = (
    "PermissionError PermissionDeniedError UnauthenticatedError Forbidden status401 status403"
)
#: The marks of errors of stores without a method to list keys.
_NO_LISTING = "NotImplementedError FileNotFoundError status405 status501"


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


def reason_of(error: BaseException) -> str:
    """Return the reason why reading failed: the kind of failure, such as a timeout, and the redacted text of the error."""
    chain = list(chain_of(error))
    text = redact(str(error))
    detail = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if any(isinstance(link, ImportError) for link in chain):
        return missing_package(chain) or _("a package is missing ({detail})").format(detail=detail)
    marks_of_error = {mark for link in chain for mark in _marks_of(link)}
    # By names of classes, because storage libraries may not be installed.
    for marks, text_of_kind in (
        # Raised by botocore before any request.
        ("NoCredentialsError", _("no credentials ({detail}); for public data use {option}")),
        ("TimeoutError ReadTimeoutError ConnectTimeoutError", _("timeout ({detail})")),
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


def is_never_listed(error: BaseException | None) -> bool:
    """Return whether the error of a listing (None if the listing is empty) shows that a store does not support listing.

    Such a store needs consolidated metadata. Other errors may be temporary.
    """
    marks = {mark for link in (chain_of(error) if error else ()) for mark in _marks_of(link)}
    return not marks or not marks.isdisjoint(f"{_NO_PERMISSION} {_NO_LISTING}".split())


def _marks_of(error: BaseException) -> Iterator[str]:
    """Yield marks by which an error is classified: names of its classes, its HTTP status, its errno."""
    yield from (kind.__name__ for kind in type(error).__mro__)
    yield f"status{error.status if hasattr(error, 'status') else getattr(error, 'code', None)}"
    yield f"errno{getattr(error, 'errno', None)}"
    if str(error).startswith("Forbidden:"):  # the text of gcsfs for HTTP 403
        yield "Forbidden"


# Checks of documents.


def check_foreign_root(found: Found) -> ZarrFormat:
    """Return the Zarr format of a store from the documents of its root; raise XGroupStoreError unless it is a group."""
    zarr_format = format_of(found) or 3
    document, problem = node_document(found, zarr_format, "/")
    if problem is None and document is None:
        problem = first_error([found])
    if isinstance(problem, XGroupStoreError):
        raise problem
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


def first_error(found: Iterable[Found]) -> XGroupError | None:
    """Return the first error of reading among documents, or None."""
    values = (value for documents in found for value in documents.values())
    return next((value for value in values if isinstance(value, XGroupError)), None)


def with_store_name(error: XGroupError, store: str) -> XGroupError:
    """Return a copy of an error with the name of the store in front of its text."""
    named = type(error)(_("{store}: {reason}").format(store=store, reason=error))
    named.__cause__ = error.__cause__
    return named
