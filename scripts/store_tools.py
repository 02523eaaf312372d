"""Shared code of the scripts that write stores: target folder, format, command line."""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path

from zarr_xgroup.tests import builders
from zarr_xgroup.tests.builders import Array, Group, Json, Nodes, ZarrFormat

STORES = Path(__file__).resolve().parent.parent / "zarr_xgroup" / "tests" / "stores"


def below(group: str, nodes: Nodes) -> dict[str, Array | Group | Json]:
    """Return nodes moved below a group. The node at ``""`` becomes that group."""
    return {f"{group}/{path}" if path else group: node for path, node in nodes.items()}


def write_store(
    target: str | Path, nodes: Nodes, zarr_format: ZarrFormat = 3, *, indent: int = 1
) -> None:
    """Write a store without consolidated metadata.

    Parameters
    ----------
    target : str or Path
        A folder. An existing Zarr store there is replaced.
    nodes : mapping of str to Array or Group
        All nodes by path. The root is at ``""``.
    zarr_format : {2, 3}
        The Zarr format.
    indent : int
        Indentation of the documents.

    Raises
    ------
    FileExistsError
        If the target exists and is not a Zarr group.
    """
    target = Path(target)
    if target.exists():
        if not any((target / key).is_file() for key in ("zarr.json", ".zgroup")):
            message = f"{target} exists and is not a Zarr group; nothing was written"
            raise FileExistsError(message)
        shutil.rmtree(target)
    builders.write_store(target, nodes, zarr_format, indent=indent)


def writer_of(make_nodes: Callable[[], Nodes], *, indent: int = 1) -> Callable[..., None]:
    """Return a function ``write(target, zarr_format=3)`` that writes a store with these nodes.

    `write_store` documents its parameters and errors.
    """

    def write(target: str | Path, zarr_format: ZarrFormat = 3) -> None:
        write_store(target, make_nodes(), zarr_format, indent=indent)

    return write


def run(write: Callable[[Path, ZarrFormat], None], name: str, description: str | None) -> None:
    """Write a store to the folder given on the command line. Default: the stores of the tests."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("target", type=Path, nargs="?", default=STORES / name)
    parser.add_argument("--zarr-format", type=int, choices=(2, 3), default=3)
    arguments = parser.parse_args()
    write(arguments.target, arguments.zarr_format)
