"""Open an EOPF Sentinel product as a tree, and show what engine xgroup added.

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
    """Explore the product that the command line names."""
    given = arguments(__doc__)
    leave_without_network(given.product)
    tree, told = with_progress(
        "reading metadata", lambda: opened(xr.open_datatree, given.product, engine="xgroup")
    )
    datasets = {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
    for path, dataset in datasets.items():
        show(path, dataset, by_engine_zarr(given.product, path))
    for text in told:
        print(f"\n{text}")
    quicklook(band_of(datasets), given.quicklook)


if __name__ == "__main__":
    main()
