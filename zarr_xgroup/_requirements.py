"""The required versions of dependencies, checked when the package is imported, and optional packages."""

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
    "tenacity": "8.2.3",
    "rich": "13",
}

#: Extras of this package (``pip install xarray-zarr-xgroup[s3]``), by the package that they install.
EXTRAS: Mapping[str, str] = {
    "aiohttp": "http",
    "cftime": "calendars",
    "gcsfs": "gcs",
    "s3fs": "s3",
}

#: Packages that provide codecs of Zarr v2, by prefix of the codec name.
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
        The oldest supported version, by distribution name.
    installed_version : callable
        Returns a distribution's installed version or raises PackageNotFoundError.

    Raises
    ------
    ImportError
        If a dependency is missing or too old. The message names each of them with the installed and the
        required version, and ends with the pip command that installs them.
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
    """Return a text that names the missing package and how to install it; None if no error is about a missing package.

    Parameters
    ----------
    errors : iterable of BaseException
        An error and its causes. An ImportError names a package, an error of numcodecs a codec.
    """
    chain = list(errors)
    for codec in (str(getattr(error, "codec_id", "")).strip("'") for error in chain):
        for start, package in CODECS.items():
            if codec.startswith(start):
                return _("package {package} provides it: pip install {package}").format(
                    package=package
                )
    texts = [f"{error} {error.name}" for error in chain if isinstance(error, ImportError)]
    for package, extra in EXTRAS.items():
        if any(package in text for text in texts):
            return _("package {package} is missing or too old: {command}").format(
                package=package, command=f'pip install "xarray-zarr-xgroup[{extra}]"'
            )
    return None


def _is_older(installed: str, needed: str) -> bool:
    # Not imported at the top, because packaging is one of the checked requirements.
    from packaging.version import Version

    return Version(installed) < Version(needed)
