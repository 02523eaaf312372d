"""The command line: ``python -m zarr_xgroup demo``."""

import argparse

from zarr_xgroup import __version__, demo
from zarr_xgroup.i18n import _


def main() -> None:
    """Run the command that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m zarr_xgroup",
        description=_("xarray backend for hierarchical Zarr stores (engine 'xgroup')"),
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser(
        "demo", help=_("open a small store with engine zarr and with engine xgroup and compare")
    ).set_defaults(run=demo.main)
    parser.parse_args().run()


if __name__ == "__main__":
    main()
