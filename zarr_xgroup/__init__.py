"""xarray backend for hierarchical Zarr stores whose arrays refer to one another.

Examples
--------
>>> import xarray as xr
>>> ds = xr.open_dataset(store, engine="xgroup", group="/ocean")  # doctest: +SKIP
>>> dt = xr.open_datatree(store, engine="xgroup")  # doctest: +SKIP
"""

import sys

# This file must be valid in older versions of Python. This check comes before all modules that are not.
if sys.version_info < (3, 11):  # noqa: UP036 - the package may be on the path of an older version
    raise ImportError(
        "xarray-zarr-xgroup needs Python 3.11 or newer, and this is Python %d.%d: "  # noqa: UP031
        "install it in an environment with a newer Python" % tuple(sys.version_info[:2])
    )

from zarr_xgroup._requirements import check_requirements

# Before the dependencies are imported: a dependency that is too old gets a clear message.
check_requirements()

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zarr_xgroup.backend import ResolvedZarrStore, XGroupBackendEntrypoint
from zarr_xgroup.errors import (
    Rule,
    XGroupDimensionWarning,
    XGroupEmptyGroupWarning,
    XGroupError,
    XGroupGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupNameWarning,
    XGroupNoPrincipalWarning,
    XGroupPathError,
    XGroupPluginWarning,
    XGroupReferenceError,
    XGroupResolutionWarning,
    XGroupStoreError,
    XGroupStoreNotFoundError,
    XGroupWarning,
)

if TYPE_CHECKING:
    from zarr_xgroup.conventions import ConventionHandler, register
    from zarr_xgroup.datasets.attributes import drop_conventions
    from zarr_xgroup.decoding import decode
    from zarr_xgroup.findings import Finding, Place, Topic
    from zarr_xgroup.report.checking import check
    from zarr_xgroup.report.explaining import explain, levels
    from zarr_xgroup.report.results import Explanation, Levels, Verdict

__version__ = "0.1.0"

__all__ = [
    "ConventionHandler",
    "Explanation",
    "Finding",
    "Levels",
    "Place",
    "ResolvedZarrStore",
    "Rule",
    "Topic",
    "Verdict",
    "XGroupBackendEntrypoint",
    "XGroupDimensionWarning",
    "XGroupEmptyGroupWarning",
    "XGroupError",
    "XGroupGroupError",
    "XGroupMetadataError",
    "XGroupMetadataWarning",
    "XGroupNameWarning",
    "XGroupNoPrincipalWarning",
    "XGroupPathError",
    "XGroupPluginWarning",
    "XGroupReferenceError",
    "XGroupResolutionWarning",
    "XGroupStoreError",
    "XGroupStoreNotFoundError",
    "XGroupWarning",
    "__version__",
    "check",
    "decode",
    "drop_conventions",
    "explain",
    "levels",
    "register",
]

#: The module of each public name that is imported at its first use, so that listing xarray's engines stays fast.
_LATER = {
    name: "zarr_xgroup." + module
    for module, names in (
        ("conventions", ("ConventionHandler", "register")),
        ("datasets.attributes", ("drop_conventions",)),
        ("decoding", ("decode",)),
        ("findings", ("Finding", "Place", "Topic")),
        ("report.checking", ("check",)),
        ("report.explaining", ("explain", "levels")),
        ("report.results", ("Explanation", "Levels", "Verdict")),
    )
    for name in names
}


#: The other public modules.
_MODULES = ("conventions", "report", "tutorial")


def __getattr__(name: str) -> Any:
    """Import a public name or module at its first use."""
    if name in _MODULES:
        return import_module("zarr_xgroup." + name)
    if name not in _LATER:
        # Not an f-string: those are not valid in Python 3.5.
        message = "module {!r} has no attribute {!r}".format(__name__, name)  # noqa: UP032
        raise AttributeError(message)
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    """Return the public names, imported or not, and the names that every module has."""
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name[:2] == "__")})
