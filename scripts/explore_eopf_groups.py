"""Open the groups of an EOPF Sentinel product one by one, and show what engine xgroup added.

The product is a URL or a path; by default a public sample, for which a network is needed.
"""

import xarray as xr
from eopf_tools import (
    arguments,
    band_of,
    by_engine_zarr,
    leave_without_network,
    opened,
    quicklook,
    show,
    with_progress,
)


def main() -> None:
    """Explore the groups of the product that the command line names."""
    given = arguments(__doc__)
    leave_without_network(given.product)
    groups, _told = with_progress(
        "reading metadata", lambda: opened(xr.open_groups, given.product, engine="xgroup")
    )
    datasets: dict[str, xr.Dataset] = {}
    for path in groups:
        datasets[path], told = opened(xr.open_dataset, given.product, engine="xgroup", group=path)
        show(path, datasets[path], by_engine_zarr(given.product, path))
        for text in told:
            print(f"  ! {text}")
    quicklook(band_of(datasets), given.quicklook)


if __name__ == "__main__":
    main()
