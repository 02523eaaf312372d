"""Requests and rounds of open calls over a network, for both engines: ``python -m scripts.benchmarks --clouds``.

A server holds requests until no further ones arrive: each such wave is a round, which costs a user one round trip.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from aiohttp import ClientError
from fsspec import get_filesystem_class

from zarr_xgroup.tests.builders import (
    Contents,
    Group,
    Nodes,
    below,
    build,
    coordinate,
    declaring,
    stored,
)
from zarr_xgroup.tests.servers import Server, Waves, serve_gcs, serve_http, serve_s3

from . import stores

#: Seconds without a new request after which a wave ends.
PAUSE = 0.15
WIDTH = 46
CLIENTS = ("s3fs", "gcsfs", "obstore", "http")
ENGINES = ("zarr", "xgroup")

#: Opens a store at an address, with options that contain the engine.
Opens: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """An open call: its store, or its stores by name, and the address of each."""

    title: str
    contents: Callable[[], Contents]
    opens: Opens = xr.open_dataset
    group: str = ""  # in the address
    copies: int = 1
    options: tuple[tuple[str, Any], ...] = ()
    clients: tuple[str, ...] = CLIENTS


def _axis(name: str, node: str) -> dict[str, Any]:
    axes = {name: {"coordinates": [{"values": {"external": {"node": node}}}]}}
    return declaring("cs", cs={"crs": [{"axes": axes}]})


def _grid() -> Group:
    axes = {name: coordinate(name, np.arange(2.0) + 1) for name in ("time", "y", "x")}
    data = {name: stored(np.ones((2, 2, 2)), "time y x") for name in ("t0", "t1", "t2")}
    return Group({**axes, **data})


def _referring() -> Nodes:
    return {
        "": {},
        "data": {},
        "data/v": stored([1.0, 2.0], "level", **_axis("level", "/axes/level")),
        "data/w": stored([1.0, 2.0], "height", **_axis("height", "../axes/deep/height")),
        "axes": {},
        "axes/level": coordinate("level", [1.0, 2.0]),
        "axes/deep": {},
        "axes/deep/height": coordinate("height", [1.0, 2.0]),
    }


def _levels() -> Group:
    transform = {"spatial:transform": [1, 0, 0, 0, -1, 0]}
    layout: list[Any] = [{"asset": "0", **transform}] + [
        {"asset": f"{n + 1}", "derived_from": f"{n}", "transform": {"scale": [2, 2]}}
        for n in range(3)
    ]
    attributes = declaring(
        *("spatial", "proj", "multiscales"),
        multiscales={"layout": layout},
        **{"spatial:dimensions": ["y", "x"], "proj:code": "EPSG:32632"},
    )
    levels = {str(n): Group({"v": stored(np.ones((2, 2)), "y x")}) for n in range(4)}
    return Group({"images": Group(levels, attributes)})


def _product(name: str, *, consolidated: bool) -> Contents:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(stores.product(name, Path(folder)))
        files = [path for path in root.rglob("*") if path.is_file()]
        contents = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    return {
        key: content
        for key, content in contents.items()
        if consolidated or not key.endswith(".zmetadata")
    }


S2, S1 = "sentinel2_l1c_eopf_v2", "sentinel1_grd_eopf_v2"
CASES = (
    Case("one plain group, consolidated", lambda: build(_grid(), consolidated=True)),
    Case(
        "a group with references, consolidated",
        lambda: build(_referring(), consolidated=True),
        options=(("group", "data"),),
    ),
    Case(
        "a group with references, not consolidated",
        lambda: build(_referring()),
        options=(("group", "data"),),
        clients=CLIENTS[:3],
    ),
    Case(
        "address below the root, Sentinel-2 v2",
        lambda: _product(S2, consolidated=True),
        group="measurements/reflectance/r10m",
    ),
    Case(
        "tree, Sentinel-2 v2, not consolidated",
        lambda: _product(S2, consolidated=False),
        xr.open_datatree,
        options=(("consolidated", False),),
        clients=CLIENTS[:3],
    ),
    Case(
        "tree, Sentinel-1 v2, consolidated",
        lambda: _product(S1, consolidated=True),
        xr.open_datatree,
    ),
    Case(
        "12 stores, open_mfdataset, consolidated",
        lambda: build(_grid(), consolidated=True),
        copies=12,
    ),
    Case(
        "resolution=, not consolidated",
        lambda: build(_levels()),
        options=(("group", "images"), ("resolution", 2)),
        clients=CLIENTS[:3],
    ),
)


class Clouds:
    """The servers of all clients, each started at its first use."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._servers: dict[str, Any] = {}

    def server(self, client: str) -> Any:
        """Return the server that a client reads from."""
        kind = {"s3fs": serve_s3, "obstore": serve_s3, "gcsfs": serve_gcs}.get(client)
        name = kind.__name__ if kind is not None else "http"
        if name not in self._servers:
            context: Any = serve_http({}) if kind is None else kind()
            self._servers[name] = self._stack.enter_context(context)
        return self._servers[name]

    def address(
        self, client: str, bucket: str, contents: Contents, path: str
    ) -> tuple[Any, dict[str, Any]]:
        """Upload a store to a bucket, and return an address of a group in it, and options."""
        server, at = self.server(client), f"p.zarr/{path}".rstrip("/")
        if client == "http":
            server.contents.update(below(contents, f"{bucket}/p.zarr"))
            return f"{server.url}/{bucket}/{at}", {}
        uri = server.upload(bucket, below(contents, "p.zarr"))
        if client != "obstore":
            return f"{uri}/{at}", {"storage_options": server.options}
        from zarr.storage import ObjectStore

        bucket_store = server.object_store(bucket, prefix="p.zarr")
        store = ObjectStore(bucket_store, read_only=True)
        return store, {"group": path} if path else {}


def measured(
    clouds: Clouds, case: Case, client: str, engine: str, number: int
) -> tuple[int, int] | None:
    """Return the requests and rounds of an open call; None if it fails."""
    server: Server = clouds.server(client)
    addresses = []
    for copy in range(case.copies):
        store, options = clouds.address(client, f"b{number}-{copy}", case.contents(), case.group)
        addresses.append(store)
    options = {**options, **dict(case.options), "engine": engine}
    if "resolution" in options and engine == "zarr":
        options["group"] = f"{options['group']}/{options.pop('resolution')}"
    if client != "obstore":
        get_filesystem_class(
            {"s3fs": "s3", "gcsfs": "gs"}.get(client, client)
        ).clear_instance_cache()
    server.requests.clear()
    server.waves = Waves(PAUSE)
    try:
        if case.copies > 1:
            xr.open_mfdataset(addresses, combine="nested", concat_dim="time", **options)
        else:
            case.opens(addresses[0], **options)
    except (OSError, KeyError, ValueError, ClientError):  # engine zarr cannot open it
        return None
    finally:
        rounds, server.waves = server.waves.count, None
    return len(server.requests), rounds


def table() -> Iterator[str]:
    """Yield the lines of the table: requests / rounds."""
    # gcsfs asks for the kind of a bucket over gRPC, which the emulator does not have.
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    names = [f"{client}, {engine}" for client in CLIENTS for engine in ENGINES]
    yield f"{'requests / rounds':{WIDTH}}" + "".join(f"{name:>18}" for name in names)
    with ExitStack() as stack:
        clouds = Clouds(stack)
        for number, case in enumerate(CASES):
            values = []
            for client, engine in product(CLIENTS, ENGINES):
                counts = None
                if client in case.clients:
                    counts = measured(clouds, case, client, engine, number)
                values.append("-" if counts is None else f"{counts[0]} / {counts[1]}")
            yield f"{case.title:{WIDTH}}" + "".join(f"{value:>18}" for value in values)
