"""Shared code of the scripts that explore EOPF products: arguments, opening, comparing, drawing."""

import argparse
import contextlib
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import xarray as xr

T = TypeVar("T")

#: A public sample of the EOPF sample service (stac.core.eopf.eodc.eu): Sentinel-2, level 2A.
SAMPLE = (
    "https://objects.eodc.eu/e05ab01a9d56408d82ac32d69a5aae2a:202505-s02msil2a/18/products/"
    "cpm_v256/S2B_MSIL2A_20250518T112119_N0511_R037_T29RLL_20250518T140519.zarr"
)

_SECONDS = 10.0
#: The largest number of cells of a quicklook along each axis.
_MAX_CELLS = 500


#: A group of a product: its path, its Dataset opened with engine xgroup, and the warnings.
Opened: TypeAlias = tuple[str, xr.Dataset, list[str]]


def explore(description: str | None, groups: Callable[[str], Iterable[Opened]]) -> None:
    """Show the groups of the product given on the command line, and draw one band."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("product", nargs="?", default=SAMPLE, help="URL or path of a Zarr store")
    parser.add_argument("--quicklook", type=Path, default=Path("quicklook.png"))
    arguments = parser.parse_args()
    exit_without_network(arguments.product)
    with progress("reading metadata"):
        opened_groups = list(groups(arguments.product))
    for path, dataset, texts in opened_groups:
        show(path, dataset, open_with_engine_zarr(arguments.product, path))
        for text in texts:
            print(f"  ! {text}")
    quicklook(band_of([dataset for _path, dataset, _texts in opened_groups]), arguments.quicklook)


def exit_without_network(product: str) -> None:
    """Exit with a message if the product is at a URL whose host cannot be reached."""
    host = urllib.parse.urlsplit(product).hostname
    if "://" not in product or host is None:
        return
    try:
        with urllib.request.urlopen(f"{product.rstrip('/')}/.zmetadata", timeout=_SECONDS):
            return
    except urllib.error.HTTPError:
        return  # the host responds; opening reports the problem
    except (OSError, socket.gaierror) as error:
        sys.exit(f"No network: {host} cannot be reached ({getattr(error, 'reason', error)}).")


def progress(label: str) -> AbstractContextManager[object]:
    """Return a context that shows a spinner, if rich is installed."""
    if find_spec("rich") is None:
        return nullcontext()
    status: AbstractContextManager[object]
    status = import_module("rich.console").Console(stderr=True).status(label)
    return status


def opened(function: Callable[..., T], product: str, **options: Any) -> tuple[T, list[str]]:
    """Call a function that opens a product. Return its result and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(product, **options)
    return result, [f"{item.category.__name__}: {item.message}" for item in caught]


def open_with_engine_zarr(product: str, group: str) -> xr.Dataset | str:
    """Return a group opened with engine zarr, or the text of the error."""
    try:
        return opened(xr.open_dataset, product, engine="zarr", group=group, chunks=None)[0]
    except Exception as error:  # noqa: BLE001 - any error is shown
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def differences(ours: xr.Dataset, theirs: xr.Dataset | str) -> Iterator[str]:
    """Yield a line for each coordinate and attribute that only engine xgroup returns."""
    if isinstance(theirs, str):
        yield f"engine zarr cannot open this group: {theirs}"
        return
    for name in map(str, ours.coords):
        if name not in theirs.variables:
            variable = ours[name]
            yield f"coordinate {name} {dict(variable.sizes)} {variable.dtype}"
        elif name not in theirs.coords:
            yield f"{name} is a coordinate"
    for name in map(str, ours.variables):
        if name in theirs.variables:
            added = sorted(set(ours[name].attrs) - set(theirs[name].attrs))
            if added:
                yield f"{name}: attributes {', '.join(map(str, added))}"


def show(path: str, ours: xr.Dataset, theirs: xr.Dataset | str) -> None:
    """Print the contents of a group and what engine xgroup added."""
    if not ours.variables:
        return
    print(f"\n{path}  {dict(ours.sizes)}")
    print(f"  data: {', '.join(map(str, ours.data_vars)) or '-'}")
    print(f"  coordinates: {', '.join(map(str, ours.coords)) or '-'}")
    for line in differences(ours, theirs):
        print(f"  + {line}")


def band_of(datasets: Iterable[xr.Dataset]) -> xr.DataArray | None:
    """Return the smallest image with coordinates along both axes, of 100 cells or more if possible."""
    images = [
        array
        for dataset in datasets
        for array in dataset.data_vars.values()
        if array.ndim == 2
        and min(array.shape) > 1
        and array.dtype.kind in "fiu"
        and all(str(dim) in array.coords for dim in array.dims)
    ]
    large = [image for image in images if min(image.shape) >= 100]
    return min(large or images, key=lambda image: image.size, default=None)


def quicklook(band: xr.DataArray | None, target: Path) -> None:
    """Draw a band at its coordinates, if matplotlib is installed."""
    if band is None:
        print("\nNo band with coordinates to draw.")
        return
    if find_spec("matplotlib") is None:
        print("\nNo quicklook: matplotlib is not installed.")
        return
    import_module("matplotlib").use("Agg")
    steps = {dim: max(1, size // _MAX_CELLS) for dim, size in band.sizes.items()}
    drawn = band.isel({dim: slice(None, None, step) for dim, step in steps.items()})
    values = np.asarray(drawn.values, float)
    y, x = (drawn[dim].values for dim in drawn.dims)
    if not (np.isfinite(y).all() and np.isfinite(x).all()):
        print(f"\nNo quicklook: the coordinates of {band.name} are missing data.")
        return
    plt = import_module("matplotlib.pyplot")
    figure, axes = plt.subplots(figsize=(7, 6))
    mesh = axes.pcolormesh(x, y, values, shading="nearest", cmap="gray")
    axes.set(title=band.name, ylabel=str(drawn.dims[0]), xlabel=str(drawn.dims[1]))
    figure.colorbar(mesh)
    with contextlib.suppress(ValueError):
        axes.set_aspect("equal")
    figure.savefig(target, dpi=100)
    plt.close(figure)
    print(f"\nQuicklook of {band.name} written to {target}")
