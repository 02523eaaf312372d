"""Exceptions and warnings.

Exceptions. One is raised only if the whole call is impossible, or if the opened store cannot be read. Otherwise it is
the attribute ``.error`` of a warning::

    XGroupError
    ├── XGroupStoreError (OSError)          a store cannot be opened, reached or listed
    │   └── XGroupStoreNotFoundError (FileNotFoundError)    a store does not exist
    ├── XGroupGroupError (KeyError)         the requested group does not exist, or is an array
    ├── XGroupReferenceError (LookupError)  the target of a reference does not exist or does not fit
    ├── XGroupPathError (ValueError)        a path or pointer is not valid
    └── XGroupMetadataError (ValueError)    a metadata document is not valid

Warnings::

    XGroupWarning (UserWarning)
    ├── XGroupNoPrincipalWarning            arrays that declare no principal convention
    │   └── XGroupResolutionWarning         a failed reference, malformed convention metadata
    ├── XGroupDimensionWarning              a dimension that was named or renamed
    ├── XGroupEmptyGroupWarning             a group without arrays that has arrays in groups below it
    ├── XGroupNameWarning                   a variable that was renamed
    ├── XGroupMetadataWarning               metadata that was repaired, or an array that was left out
    └── XGroupPluginWarning                 a convention plug-in that cannot be used

A new one is exported by the package, is a member of `Topic` (`findings`), and has a row in ``docs/reference/warnings.md``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Literal, TypeAlias

import msgspec

from zarr_xgroup._requirements import missing_package
from zarr_xgroup.i18n import _
from zarr_xgroup.redaction import chain_of, presentable, redact_causes, redact_urls

#: Packages whose frames are skipped to find the user's line. contextlib has frames between those of decorated functions.
_SKIPPED = ("zarr_xgroup", "xarray", "contextlib")
#: Modules in these packages that open stores as users do.
_USERS = ("zarr_xgroup.tests",)


Severity: TypeAlias = Literal["error", "warning"]


class Rule(msgspec.Struct, frozen=True):
    """A rule that stores should follow.

    Attributes
    ----------
    name : str
        The name in output: ``<convention>/<rule>`` (``cs/axis-for-every-dimension``).
    document : str
        The document that defines the rule.
    section : str
        The section of that document.
    """

    name: str
    document: str
    section: str


def rules_in(module: Mapping[str, object]) -> tuple[Rule, ...]:
    """Return the rules among the `vars()` of a module."""
    return tuple(value for value in module.values() if isinstance(value, Rule))


def after_place(place: str, text: str) -> str:
    """Return a text with its place in front; the text alone if the place is ""."""
    return _("{place}: {text}").format(place=place, text=text) if place else text


class XGroupError(Exception):
    """Base class of all exceptions of this package.

    The text and the attributes contain no credentials of URLs. In the text, characters that are not
    printable are escaped. `place`, `target` and `store` are exact, for use by programs.

    Parameters
    ----------
    *arguments : object
        The lines of the message, without the place, which `str` puts in front.
    place, target, reason : str, optional
        The attributes. `reason` is the message by default.

    Attributes
    ----------
    place : str
        The place of the cause in the metadata: the path of the node, ``#`` and the JSON pointer. "" if
        unknown.
    target : str
        The short form of the reference at that place (``uri|node#attribute``), or the path.
    reason : str
        The reason, without the place and the target; printable.
    """

    def __init__(
        self, *arguments: object, place: str = "", target: str = "", reason: str = ""
    ) -> None:
        texts = (presentable(text) if isinstance(text, str) else text for text in arguments)
        super().__init__(*texts)
        self.place = redact_urls(place)
        self.target = redact_urls(target)
        self.reason = presentable(reason) or self.text

    @property
    def text(self) -> str:
        """The message, without the place."""
        return "\n".join(map(str, self.args))

    def __str__(self) -> str:
        """Return the message, with the place in front if it is known."""
        return after_place(presentable(self.place), self.text)


class XGroupStoreError(XGroupError, OSError):
    """A store cannot be opened, reached, read or listed.

    Parameters
    ----------
    *arguments : object
        The message.
    store : str, optional
        The attribute.
    **details : str
        As for `XGroupError`.

    Attributes
    ----------
    store : str
        The store if a reference points to it, otherwise "".
    """

    def __init__(self, *arguments: object, store: str = "", **details: str) -> None:
        super().__init__(*arguments, **details)
        self.store = redact_urls(store)


class XGroupStoreNotFoundError(XGroupStoreError, FileNotFoundError):
    """There is no Zarr store at the given location."""


class XGroupGroupError(XGroupError, KeyError):
    """The requested group does not exist in the store, or is an array."""


class XGroupReferenceError(XGroupError, LookupError):
    """The target of a reference does not exist or does not fit."""


class XGroupPathError(XGroupError, ValueError):
    """A path or pointer is malformed or points outside of the store."""


class XGroupMetadataError(XGroupError, ValueError):
    """A metadata document is not valid JSON, or not valid Zarr metadata.

    Parameters
    ----------
    *arguments : object
        The message.
    keys, rule, remedy, severity : optional
        The attributes.
    **details : str
        As for `XGroupError`.

    Attributes
    ----------
    keys : tuple of str
        The keys and indexes of the wrong value in its document; () if the error is not about a value.
    rule : Rule or None
        The rule of `zarr_xgroup.check` that is broken, if there is one.
    remedy : str
        The correct value, as a sentence; "" if unknown.
    severity : {"error", "warning"}
        "error" if the opened data are smaller than, or different from, what the store declares because of it, "warning" if
        not.
    """

    def __init__(
        self,
        *arguments: object,
        keys: tuple[str, ...] = (),
        rule: Rule | None = None,
        remedy: str = "",
        severity: Severity = "error",
        **details: str,
    ) -> None:
        super().__init__(*arguments, **details)
        self.keys, self.rule, self.remedy, self.severity = keys, rule, remedy, severity


@contextmanager
def converting_errors() -> Iterator[None]:
    """Convert any exception of other packages to XGroupMetadataError.

    xarray, zarr, numpy, pandas or pyproj may raise exceptions of any class while one variable is made, decoded or
    indexed. The caller catches XGroupError, reports it for that variable and continues with the others. Warnings are
    not converted: they are raised only if the user has turned warnings into errors.
    """
    try:
        yield
    except (XGroupError, Warning):
        raise
    except Exception as error:
        public = (cls.__name__ for cls in type(error).__mro__ if not cls.__name__.startswith("_"))
        message = _("{kind}: {reason}").format(kind=next(public), reason=error)
        missing = missing_package(chain_of(error))
        message = message if missing is None else f"{message} ({missing})"
        raise XGroupMetadataError(message) from error


def with_message(error: Exception, message: str) -> XGroupError:
    """Return an error with a different message, and the same class, attributes and reason.

    For a class that is not defined in this module, its nearest base class in this module is used, because its
    constructor may differ; XGroupMetadataError if there is no such base class.
    """
    classes = (cls for cls in type(error).__mro__ if cls.__module__ == __name__)
    kind: type[XGroupError] = next(classes, XGroupMetadataError)
    converted = kind(message, reason=str(error))
    if isinstance(error, XGroupError):
        converted.__dict__.update(error.__dict__)
    return converted


class XGroupWarning(UserWarning):
    """Base class of all warnings of this package.

    The text contains no credentials of URLs and is printable, like that of an `XGroupError`.

    Parameters
    ----------
    message : str
        The text.
    error : XGroupError, optional
        The cause of the warning.

    Attributes
    ----------
    paths : tuple of str
        The absolute paths of all nodes that the warning is about, unescaped; the text may name fewer.
    """

    paths: tuple[str, ...] = ()

    def __init__(self, message: str, error: XGroupError | None = None) -> None:
        super().__init__(presentable(message))
        self.error = error


class XGroupNoPrincipalWarning(XGroupWarning):
    """Arrays declare no principal convention and were opened without resolved coordinates."""


class XGroupResolutionWarning(XGroupNoPrincipalWarning):
    """A reference could not be resolved, or the metadata of a convention is malformed.

    ``.error`` is the XGroupReferenceError, XGroupStoreError, XGroupPathError or XGroupMetadataError that
    caused it; ``.paths`` are the affected arrays.
    """


class XGroupDimensionWarning(XGroupWarning):
    """A dimension had no name, or was renamed because sizes or coordinate values disagree."""


class XGroupEmptyGroupWarning(XGroupWarning):
    """The opened group has no arrays although groups below it have some, or no group matches `group_filter`.

    ``.paths`` are the nearest groups.
    """


class XGroupNameWarning(XGroupWarning):
    """A variable was renamed because a different variable has its name."""


class XGroupMetadataWarning(XGroupWarning):
    """Metadata could not be used as written, or an array was left out."""


class XGroupPluginWarning(XGroupWarning):
    """An installed convention plug-in cannot be used."""


def warn_user(warning: XGroupWarning) -> None:
    """Issue a warning that points at the first line outside of this package and xarray."""
    if warning.error is not None:
        redact_causes(warning.error)
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in _SKIPPED or module.startswith(_USERS):
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
