"""Write the synthetic product of `zarr_xgroup.tutorial` to a folder."""

import argparse
from pathlib import Path

from zarr_xgroup.tutorial import sample

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, help="a folder; an existing store there is replaced")
    sample(parser.parse_args().target)
