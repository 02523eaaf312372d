"""What comes of a call, and what is said of one that breaks a law."""

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import zarr_xgroup

T = TypeVar("T")

PACKAGE = Path(zarr_xgroup.__file__).parent

#: What numpy and xarray warn of what is written, in whichever engine; engine zarr may not get there.
OF_DOCUMENTS = (
    "overflow encountered in cast",
    "Duplicate dimension names present",
    "Found an empty list of filters in the array metadata document",
    "NumPy will stop allowing conversion of out-of-bound Python integers",  # older xarray: fill values
    "Conversion of an array with ndim > 0 to a scalar is deprecated",  # older zarr: the same
)


@dataclass(frozen=True)
class Violation:
    """A law that one way to open a store breaks.

    Attributes
    ----------
    law : str
        In a few words.
    at : str
        The place in the code, or what it is about, as far as that is the same for other stores
        that break the law for the same reason.
    text : str
        What happened, in full.
    """

    law: str
    at: str
    text: str

    @property
    def kind(self) -> str:
        return f"{self.law}: {self.at}"


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came of a call: a value or an error, and the warnings."""

    value: T | None
    error: Exception | None
    warnings: tuple[Warning, ...]


def attempt(function: Callable[..., T], *args: Any, **options: Any) -> Outcome[T]:
    """Call a function, whatever comes of it."""
    value, error = None, None
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            value = function(*args, **options)
        except Exception as caught:  # noqa: BLE001 - what is raised is what is asked for
            error = caught
    told = [item.message for item in given]
    return Outcome(value, error, tuple(item for item in told if isinstance(item, Warning)))


def place_of(error: BaseException) -> str:
    """Return the last function of this package that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    inner = [frame for frame in ours if "tests" not in Path(frame.filename).parts]
    if not inner:
        return "xarray"
    return f"{Path(inner[-1].filename).stem}.{inner[-1].name}"


def traceback_of(error: BaseException) -> str:
    """Return the end of the traceback of an error."""
    return "".join(traceback.format_exception(error)[-6:])[-3000:]
