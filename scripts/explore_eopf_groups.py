"""Open the groups of an EOPF Sentinel product one by one, and show what engine xgroup added.

The product is a URL or a path; the default is a public sample, which needs a network.
"""

from collections.abc import Iterator

import xarray as xr
from eopf_tools import Opened, explore, opened


def groups(product: str) -> Iterator[Opened]:
    """Yield all groups of a product."""
    paths, _texts = opened(xr.open_groups, product, engine="xgroup")
    for path in paths:
        dataset, texts = opened(xr.open_dataset, product, engine="xgroup", group=path)
        yield path, dataset, texts


if __name__ == "__main__":
    explore(__doc__, groups)
