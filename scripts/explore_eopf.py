"""Open an EOPF Sentinel product as a tree, and show what engine xgroup added.

The product is a URL or a path; the default is a public sample, which needs a network.
"""

from collections.abc import Iterator

import xarray as xr
from eopf_tools import Opened, explore, opened


def groups(product: str) -> Iterator[Opened]:
    """Yield all groups of a product. The last item has the warnings of the whole tree."""
    tree, texts = opened(xr.open_datatree, product, engine="xgroup")
    for node in tree.subtree:
        yield node.path, node.to_dataset(inherit=False), []
    yield "", xr.Dataset(), texts


if __name__ == "__main__":
    explore(__doc__, groups)
