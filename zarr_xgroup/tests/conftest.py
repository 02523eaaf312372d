"""Fixtures: servers for stores, dask workers, and a record of closed stores."""

import asyncio
import gc
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

import fsspec
import pytest
import zarr
from hypothesis import HealthCheck, settings
from zarr.storage import FsspecStore, LocalStore, ZipStore

pytest.register_assert_rewrite("zarr_xgroup.tests.tables", "zarr_xgroup.tests.builders")

from zarr_xgroup.conventions import registry
from zarr_xgroup.tests.builders import Contents
from zarr_xgroup.tests.servers import (
    FileServer,
    GCSServer,
    S3Server,
    Server,
    serve_gcs,
    serve_http,
    serve_s3,
)

# gcsfs reads this on import. Otherwise it requests the type of each bucket over gRPC, which the
# emulator does not support, and waits for a minute.
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
# Tests compare English messages, whatever the language of the user.
os.environ["LANGUAGE"] = "en"
# Failed requests are made again at once.
zarr.config.set({"xgroup.retry_pauses": [0.001, 0.001, 0.001]})
# No deadlines: the time of an example depends on the load of the machine.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("patient")


SERVER_FIXTURES = frozenset(
    {"http_server", "public_server", "other_public_server", "s3_server", "gcs_server", "serve"}
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use servers, and run them last."""
    for item in items:
        if not SERVER_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.server)
    items.sort(key=lambda item: item.get_closest_marker("server") is not None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than processors, because some tests wait."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exclude modules and collected tests from garbage collection, which saves time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # fewer passes over later imports


@pytest.fixture(autouse=True)
def _servers_are_marked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail tests that start a server without the marker, so that `-m "not server"` starts none."""
    if request.node.get_closest_marker("server") is not None:
        return

    def refuse(*_args: Any, **_options: Any) -> None:
        pytest.fail("a test that starts a server needs the marker @pytest.mark.server")

    monkeypatch.setattr(Server, "__init__", refuse)


@pytest.fixture(autouse=True)
def _handlers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the handlers that a test registers after that test."""
    monkeypatch.setattr(registry, "_REGISTERED", [])


@pytest.fixture
def http_server() -> Iterator[FileServer]:
    """Return a running HTTP server without files and listings."""
    with serve_http({}) as server:
        yield server


#: The addresses of servers that are treated as public, and no others.
PUBLIC_HOSTS = ("127.0.0.2", "127.0.0.3")


def serve_public(host: str, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    """Return an HTTP server whose address is treated as public."""
    try:
        server = serve_http({}, host=host)
    except OSError:
        pytest.skip(f"this system has no {host}")
    monkeypatch.setattr("zarr_xgroup.storage.places.is_public", PUBLIC_HOSTS.__contains__)
    return server


@pytest.fixture
def public_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Return a running HTTP server with a public address."""
    with serve_public(PUBLIC_HOSTS[0], monkeypatch) as server:
        yield server


@pytest.fixture
def other_public_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """Return a running HTTP server with a different public address."""
    with serve_public(PUBLIC_HOSTS[1], monkeypatch) as server:
        yield server


@pytest.fixture
def s3_server() -> Iterator[S3Server]:
    """Return a running S3 server without buckets."""
    pytest.importorskip("moto.server")
    pytest.importorskip("boto3")
    with serve_s3() as server:
        yield server


@pytest.fixture
def gcs_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GCSServer]:
    """Return a running Google Cloud Storage server without buckets."""
    pytest.importorskip("gcp_storage_emulator")
    if find_spec("gcsfs") is not None:
        # gcsfs retries six times within half a minute, and has no option for that. The wait is the
        # minimum of a calculated time and a limit.
        monkeypatch.setattr("gcsfs.retry.min", lambda *_seconds: 0.0, raising=False)
    with serve_gcs() as server:
        yield server


@pytest.fixture
def serve() -> Iterator[Callable[[Contents], str]]:
    """Return a function that serves a store over HTTP without listings, and returns its URL."""
    with ExitStack() as stack:
        yield lambda contents: stack.enter_context(serve_http(contents)).url


@pytest.fixture
def fsspec_memory() -> Iterator[None]:
    """Clear fsspec's memory filesystem after a test, because tests in a process share it."""
    yield
    fsspec.filesystem("memory").store.clear()
    fsspec.filesystem("memory").pseudo_dirs[:] = [""]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines; xarray's tests have some."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def closed_stores(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that records closed stores."""
    closed: list[Any] = []

    def recording(close: Callable[[Any], None]) -> Callable[[Any], None]:
        def record(store: Any) -> None:
            closed.append(store)
            close(store)

        return record

    for kind in (LocalStore, FsspecStore, ZipStore):
        monkeypatch.setattr(kind, "close", recording(kind.close))
    return closed


@pytest.fixture(scope="session")
def dask_workers() -> Callable[[int], AbstractContextManager[Any]]:
    """Return a context manager that starts dask worker processes and gives their client."""
    distributed = pytest.importorskip("distributed")

    @contextmanager
    def started(number: int) -> Iterator[Any]:
        options: dict[str, Any] = {
            "threads_per_worker": 1,
            "dashboard_address": None,
            # The dashboard's server starts anyway. With port 0 several processes can start one.
            "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
        }
        with (
            distributed.LocalCluster(n_workers=number, host="127.0.0.1", **options) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client

    return started
