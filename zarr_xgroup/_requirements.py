"""What has to be installed: the oldest that works, checked when the package is imported."""

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

from zarr_xgroup.i18n import _

#: Distribution name -> oldest supported version, as in pyproject.toml (a test compares them).
MINIMUM_VERSIONS: Mapping[str, str] = {
    "xarray": "2024.10.0",
    "zarr": "3.0.0",
    "numpy": "1.25",
    "packaging": "23.1",
    "msgspec": "0.19",
    "pyproj": "3.4",
    "affine": "2.3",
    "fsspec": "2024.12",
}

#: Extras of this package (``pip install xarray-zarr-xgroup[s3]``), by the package they install.
EXTRAS: Mapping[str, str] = {
    "aiohttp": "http",
    "cftime": "calendars",
    "gcsfs": "gcs",
    "rich": "cli",
    "s3fs": "s3",
}

#: Packages that bring codecs of Zarr v2, by how the names of these begin.
CODECS: Mapping[str, str] = {
    "fill_hdf_strings": "kerchunk",
    "fits": "kerchunk",
    "FITS": "kerchunk",
    "gribscan": "gribscan",
    "grib": "kerchunk",
    "imagecodecs_": "imagecodecs",
    "pcodec": "pcodec",
    "record_member": "kerchunk",
    "zfpy": "zfpy",
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


def missing_package(errors: Iterable[BaseException]) -> str | None:
    """Return which package is missing, and how to install it; None if no error is about one.

    Parameters
    ----------
    errors : iterable of BaseException
        An error, and those that it came from: of them ImportErrors say what is missing, and those
        of numcodecs which codec.
    """
    known = list(errors)
    for codec in (str(getattr(error, "codec_id", "")).strip("'") for error in known):
        for start, package in CODECS.items():
            if codec.startswith(start):
                return _("package {package} brings it: pip install {package}").format(
                    package=package
                )
    told = [f"{error} {error.name}" for error in known if isinstance(error, ImportError)]
    for package, extra in EXTRAS.items():
        if any(package in text for text in told):
            return _("package {package} is missing or too old: install the extra `{extra}`").format(
                package=package, extra=extra
            )
    return None


def _is_older(installed: str, needed: str) -> bool:
    # Imported late on purpose: packaging is itself one of the requirements, and the check
    # above reports its absence before this is reached.
    from packaging.version import Version

    return Version(installed) < Version(needed)
