"""Why a store or a part of it cannot be read, in words that say what kind of failure it is."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from zarr_xgroup._requirements import missing_package
from zarr_xgroup.i18n import _
from zarr_xgroup.redaction import chain_of, redact

#: Names of error classes of storage libraries, which need not be installed.
_TIMEOUT = frozenset({"TimeoutError", "ReadTimeoutError", "ConnectTimeoutError"})
_NO_PERMISSION = frozenset({"PermissionError", "PermissionDeniedError", "UnauthenticatedError"})
_UNREACHABLE = frozenset(
    {"gaierror", "ClientConnectorError", "EndpointConnectionError", "TransportError"}
)


def late() -> str:
    """Return the words for a foreign store that took longer to answer than an open waits."""
    return _("timeout: no answer in the time that cross_store_timeout gives")


def reason_of(error: BaseException) -> str:
    """Return why a store or a part of it cannot be read: the kind of failure, and its text."""
    chain = list(chain_of(error))
    text = redact(str(error))
    detail = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if any(isinstance(link, ImportError) for link in chain):
        return missing_package(chain) or _("a package is missing ({detail})").format(detail=detail)
    return _kind_of(chain).format(detail=detail, option="storage_options={'anon': True}")


def _kind_of(chain: Sequence[BaseException]) -> str:
    """Return what kind of failure an error is that came from others, with places for its text and an option."""
    names = {kind.__name__ for link in chain for kind in type(link).__mro__}
    if "NoCredentialsError" in names:  # of botocore, which has sent no request
        return _("no credentials ({detail}); what is public opens with {option}")
    if names & _TIMEOUT:
        return _("timeout ({detail})")
    if names & _NO_PERMISSION or any(map(_is_refusal, chain)):
        return _("no permission ({detail})")
    if any(getattr(link, "errno", None) == errno.ECONNREFUSED for link in chain):
        return _("connection refused ({detail})")
    if names & _UNREACHABLE:
        return _("unreachable ({detail})")
    return _("not found ({detail})") if "FileNotFoundError" in names else "{detail}"


def _is_refusal(error: BaseException) -> bool:
    """Tell whether a server denied access: by the HTTP status of aiohttp or gcsfs, else by the text."""
    status = error.status if hasattr(error, "status") else getattr(error, "code", None)
    return status in (401, 403) or str(error).startswith("Forbidden:")  # gcsfs
