"""The oldest dependencies that work, checked when the package is imported."""

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version

from zarr_xgroup.i18n import _

#: Distribution name -> oldest supported version, as in pyproject.toml (a test compares them).
MINIMUM_VERSIONS: Mapping[str, str] = {
    "xarray": "2024.10.0",
    "zarr": "3.0.0",
    "numpy": "1.24",
    "packaging": "23",
    "aiohttp": "3.12",
    "msgspec": "0.19",
    "pyproj": "3.4",
    "affine": "2.3",
    "rich": "13",
}


def check_requirements(
    minimum_versions: Mapping[str, str] = MINIMUM_VERSIONS,
    installed_version: Callable[[str], str] = version,
) -> None:
    """Check that every dependency is installed and new enough.

    Parameters
    ----------
    minimum_versions : mapping of str to str
        Distribution name to the oldest version that works.
    installed_version : callable
        Gives a distribution's installed version or raises PackageNotFoundError.

    Raises
    ------
    ImportError
        If any is missing or too old. The message names each with what is installed and what
        is needed, and ends in the pip command that mends all of them.
    """
    problems = {}
    for name, needed in minimum_versions.items():
        try:
            installed = installed_version(name)
        except PackageNotFoundError:
            problems[name] = _("{name} is not installed (needed: {needed} or newer)").format(
                name=name, needed=needed
            )
            continue
        if _is_older(installed, needed):
            problems[name] = _("{name} {installed} is too old (needed: {needed} or newer)").format(
                name=name, installed=installed, needed=needed
            )
    if problems:
        command = " ".join(f'"{name}>={minimum_versions[name]}"' for name in problems)
        raise ImportError(
            _("xarray-zarr-xgroup cannot be used: {problems}. Run: {command}").format(
                problems="; ".join(problems.values()), command=f"pip install -U {command}"
            )
        )


def _is_older(installed: str, needed: str) -> bool:
    # Imported late on purpose: packaging is itself one of the requirements, and the check
    # above reports its absence before this is reached.
    from packaging.version import Version

    return Version(installed) < Version(needed)
