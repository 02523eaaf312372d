"""``python -m zarr_xgroup``: the same as the command ``xgroup``."""

import sys

from zarr_xgroup.cli import main

if __name__ == "__main__":
    sys.exit(main())
