"""What can go wrong: the errors raised and the warnings given, as two trees.

Errors. Only what makes the whole open impossible is raised; everything else travels as
``.error`` of a warning::

    XGroupError
    ├── XGroupStoreError (OSError)          a store cannot be opened, reached or listed
    │   └── XGroupStoreNotFoundError (FileNotFoundError)    there is no store
    ├── XGroupGroupError (KeyError)         the group asked for is not there, or is an array
    ├── XGroupReferenceError (LookupError)  what a reference names is not there or does not fit
    ├── XGroupPathError (ValueError)        a path or pointer that cannot be one
    └── XGroupMetadataError (ValueError)    a metadata document that cannot be understood

Warnings::

    XGroupWarning (UserWarning)
    ├── XGroupNoPrincipalWarning            arrays that declare no principal convention
    │   └── XGroupResolutionWarning         a failed reference, malformed convention metadata
    ├── XGroupDimensionWarning              dimension names made up or changed
    ├── XGroupNameWarning                   a variable that could not keep its name
    ├── XGroupMetadataWarning               metadata that was repaired, or an array left out
    └── XGroupPluginWarning                 a convention plug-in that cannot be used
"""

import sys
import warnings
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Self

from zarr_xgroup.i18n import ngettext

_NAMED_PATHS = 30


class XGroupError(Exception):
    """Root of every error this package raises."""


class XGroupStoreError(XGroupError, OSError):
    """A store cannot be opened, reached, read or listed.

    Attributes
    ----------
    store : str
        The store, if it is one that a reference leads to, else "".
    reason : str
        What is wrong with that one.
    place : str
        Where the reference is written.
    """

    store: str = ""
    reason: str = ""
    place: str = ""

    @classmethod
    def of(cls, store: str, reason: str, place: str = "") -> Self:
        """Return the error of a store that a reference leads to."""
        error = cls(f"{place}: {reason}" if place else reason)
        error.store, error.reason, error.place = store, reason, place
        return error


class XGroupStoreNotFoundError(XGroupStoreError, FileNotFoundError):
    """There is no Zarr store at the place named."""


class XGroupGroupError(XGroupError, KeyError):
    """The group asked for does not exist in the store, or is an array."""

    def __str__(self) -> str:
        """Return the message itself, where KeyError would quote and escape it."""
        return str(self.args[0]) if self.args else ""


class XGroupReferenceError(XGroupError, LookupError):
    """What a reference names does not exist or does not fit."""


class XGroupPathError(XGroupError, ValueError):
    """A path or pointer is malformed or leads outside of the store."""


class XGroupMetadataError(XGroupError, ValueError):
    """A metadata document is not valid JSON, or not valid Zarr metadata."""


class XGroupWarning(UserWarning):
    """Root of every warning this package gives.

    Parameters
    ----------
    message : str
        The whole text.
    error : XGroupError, optional
        The error behind the warning, where there is one.
    """

    def __init__(self, message: str, error: XGroupError | None = None) -> None:
        super().__init__(message)
        self.error = error


def _listed(paths: Sequence[str]) -> str:
    """Return the first paths, and how many more there are."""
    names = ", ".join(paths[:_NAMED_PATHS])
    more = len(paths) - _NAMED_PATHS
    if more <= 0:
        return names
    return ngettext("{names} and {count} more", "{names} and {count} more", more).format(
        names=names, count=more
    )


class XGroupNoPrincipalWarning(XGroupWarning):
    """Arrays declare no principal convention and came without coordinate resolution.

    Attributes
    ----------
    paths : tuple of str
        The absolute paths of all arrays the warning is about, also of those its text
        leaves out.
    """

    paths: tuple[str, ...] = ()

    @classmethod
    def for_arrays(cls, paths: Iterable[str]) -> "XGroupNoPrincipalWarning":
        """Return the one warning of an open, about the arrays at the absolute `paths`."""
        paths = tuple(paths)
        message = ngettext(
            "{count} array declares no principal convention (such as cs or spatial), which "
            "could say where the coordinates of its dimensions are: {names}",
            "{count} arrays declare no principal convention (such as cs or spatial), which "
            "could say where the coordinates of their dimensions are: {names}",
            len(paths),
        ).format(count=len(paths), names=_listed(paths))
        warning = cls(message)
        warning.paths = paths
        return warning


class XGroupResolutionWarning(XGroupNoPrincipalWarning):
    """A reference could not be resolved, or the metadata of a convention is malformed.

    ``.error`` is the XGroupReferenceError, XGroupStoreError, XGroupPathError or
    XGroupMetadataError behind it; ``.paths`` are the arrays that it concerns.
    """

    @classmethod
    def for_problem(cls, paths: Iterable[str], error: XGroupError) -> "XGroupResolutionWarning":
        """Return a warning about what kept the arrays at the `paths` from being complete."""
        paths = tuple(paths)
        message = ngettext(
            "{error}. Array {names} was opened without what depends on it",
            "{error}. Arrays {names} were opened without what depends on it",
            len(paths),
        ).format(error=error, names=_listed(paths))
        warning = cls(message, error)
        warning.paths = paths
        return warning

    @classmethod
    def for_note(cls, paths: Iterable[str], text: str) -> "XGroupResolutionWarning":
        """Return a warning about a choice that was made for the arrays at the `paths`."""
        paths = tuple(paths)
        message = ngettext("Array {names}: {text}", "Arrays {names}: {text}", len(paths)).format(
            names=_listed(paths), text=text
        )
        warning = cls(message)
        warning.paths = paths
        return warning


class XGroupDimensionWarning(XGroupWarning):
    """A dimension had no name, or was renamed because sizes or values disagree."""


class XGroupNameWarning(XGroupWarning):
    """A variable could not keep its name because another one has it."""


class XGroupMetadataWarning(XGroupWarning):
    """Metadata was understood otherwise than written, or an array had to be left out."""


class XGroupPluginWarning(XGroupWarning):
    """An installed convention plug-in cannot be used."""


def warn_user(warning: XGroupWarning) -> None:
    """Give a warning, pointing at the first line outside of this package and xarray."""
    warnings.warn(warning, stacklevel=_user_stacklevel())


def _user_stacklevel() -> int:
    """Return the `stacklevel` for a `warnings.warn` call in the calling function."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
        level += 1
    return level


def _is_ours(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    if module.startswith("zarr_xgroup.tests"):
        return False
    # contextlib stands between the frames of functions that a context manager decorates.
    return module.partition(".")[0] in {"zarr_xgroup", "xarray", "contextlib"}
