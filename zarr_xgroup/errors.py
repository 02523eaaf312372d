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
    ├── XGroupEmptyGroupWarning             a group without arrays, though groups below it have some
    ├── XGroupNameWarning                   a variable that could not keep its name
    ├── XGroupMetadataWarning               metadata that was repaired, or an array left out
    └── XGroupPluginWarning                 a convention plug-in that cannot be used
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Literal, TypeAlias

from zarr_xgroup._requirements import missing_package
from zarr_xgroup.i18n import _
from zarr_xgroup.redaction import chain_of, presentable, redact_causes, redact_urls

#: What stands between those who open a store and the place where they are warned; contextlib, too:
#: its frames are between those of functions that a context manager decorates.
_PASSED_OVER = ("zarr_xgroup", "xarray", "contextlib")
#: What is in this package and opens stores as its users do.
_USERS = ("zarr_xgroup.tests",)


Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True)
class Rule:
    """A rule that stores should follow.

    Attributes
    ----------
    name : str
        What it is called in output: ``<convention>/<rule>`` (``cs/axis-for-every-dimension``).
    document : str
        The document that demands it.
    section : str
        Where in that document.
    """

    name: str
    document: str
    section: str


def rules_in(module: Mapping[str, object]) -> tuple[Rule, ...]:
    """Return the rules that have a name in a module, given by its `vars()`."""
    return tuple(value for value in module.values() if isinstance(value, Rule))


def after_place(place: str, text: str) -> str:
    """Return a text after the place that it is about, if there is one."""
    return _("{place}: {text}").format(place=place, text=text) if place else text


class XGroupError(Exception):
    """Root of every error this package raises.

    Nothing in it holds credentials of URLs. Its text is printable: what a store has in names that
    is not to be seen stands there as escapes. `place`, `target` and `store` are for programs, and
    exact.

    Parameters
    ----------
    *arguments : object
        The message, without the place: as a text, the error has that in front.
    place, target, reason : str, optional
        The attributes; `reason` is by default the message.

    Attributes
    ----------
    place : str
        Where in the metadata the cause is written (the node's path, ``#``, the JSON pointer), ""
        if it is not known or nowhere.
    target : str
        What is named there: the reference in short (``uri|node#attribute``), or the path.
    reason : str
        What is wrong, without the place and the target: text, as the message.
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
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        """Return the message, after the place where that is known."""
        return after_place(presentable(self.place), self.text)


class XGroupStoreError(XGroupError, OSError):
    """A store cannot be opened, reached, read or listed.

    Parameters
    ----------
    *arguments : object
        The message.
    store : str, optional
        The attribute.
    **known : str
        As for `XGroupError`.

    Attributes
    ----------
    store : str
        The store, if it is one that a reference leads to, else "".
    """

    def __init__(self, *arguments: object, store: str = "", **known: str) -> None:
        super().__init__(*arguments, **known)
        self.store = redact_urls(store)


class XGroupStoreNotFoundError(XGroupStoreError, FileNotFoundError):
    """There is no Zarr store at the place named."""


class XGroupGroupError(XGroupError, KeyError):
    """The group asked for does not exist in the store, or is an array."""


class XGroupReferenceError(XGroupError, LookupError):
    """What a reference names does not exist or does not fit."""


class XGroupPathError(XGroupError, ValueError):
    """A path or pointer is malformed or leads outside of the store."""


class XGroupMetadataError(XGroupError, ValueError):
    """A metadata document is not valid JSON, or not valid Zarr metadata.

    Parameters
    ----------
    *arguments : object
        The message.
    keys, rule, remedy, severity : optional
        The attributes.
    **known : str
        As for `XGroupError`.

    Attributes
    ----------
    keys : tuple of str
        The keys and indexes that lead to the wrong value in its document; () if the error is not about a value.
    rule : Rule or None
        The rule of `zarr_xgroup.check` that is broken, if there is one.
    remedy : str
        What to write instead.
    severity : {"error", "warning"}
        "error" if something is missing from the opened data because of it, "warning" if not.
    """

    def __init__(
        self,
        *arguments: object,
        keys: tuple[str, ...] = (),
        rule: Rule | None = None,
        remedy: str = "",
        severity: Severity = "error",
        **known: str,
    ) -> None:
        super().__init__(*arguments, **known)
        self.keys, self.rule, self.remedy, self.severity = keys, rule, remedy, severity


@contextmanager
def containing() -> Iterator[None]:
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


def retold(error: Exception, message: str) -> XGroupError:
    """Return an error with another message, which keeps the kind and the reason.

    Of the nearest class of this package, for others may be made in another way: an
    XGroupMetadataError where there is none.
    """
    ours = (cls for cls in type(error).__mro__ if cls.__module__ == __name__)
    kind: type[XGroupError] = next(ours, XGroupMetadataError)
    known = kind(message, reason=str(error))
    if isinstance(error, XGroupError):
        known.__dict__.update(error.__dict__)
    return known


class XGroupWarning(UserWarning):
    """Root of every warning this package gives.

    Its text holds no credentials of URLs and is printable, as that of an `XGroupError`.

    Parameters
    ----------
    message : str
        The whole text.
    error : XGroupError, optional
        The error behind the warning, where there is one.

    Attributes
    ----------
    paths : tuple of str
        The absolute paths of all nodes the warning is about, also of those its text leaves out;
        exact, also where the text has escapes.
    """

    paths: tuple[str, ...] = ()

    def __init__(self, message: str, error: XGroupError | None = None) -> None:
        super().__init__(presentable(message))
        self.error = error


class XGroupNoPrincipalWarning(XGroupWarning):
    """Arrays declare no principal convention and came without coordinate resolution."""


class XGroupResolutionWarning(XGroupNoPrincipalWarning):
    """A reference could not be resolved, or the metadata of a convention is malformed.

    ``.error`` is the XGroupReferenceError, XGroupStoreError, XGroupPathError or
    XGroupMetadataError behind it; ``.paths`` are the arrays that it concerns.
    """


class XGroupDimensionWarning(XGroupWarning):
    """A dimension had no name, or was renamed because sizes or values disagree."""


class XGroupEmptyGroupWarning(XGroupWarning):
    """The opened group has no array, though groups below it have some, or no group matches `group_filter`; ``.paths`` are the nearest groups."""


class XGroupNameWarning(XGroupWarning):
    """A variable could not keep its name because another one has it."""


class XGroupMetadataWarning(XGroupWarning):
    """Metadata was understood otherwise than written, or an array had to be left out."""


class XGroupPluginWarning(XGroupWarning):
    """An installed convention plug-in cannot be used."""


def warn_user(warning: XGroupWarning) -> None:
    """Give a warning, pointing at the first line outside of this package and xarray."""
    if warning.error is not None:
        redact_causes(warning.error)
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in _PASSED_OVER or module.startswith(_USERS):
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
