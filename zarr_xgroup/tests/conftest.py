"""Fixtures: servers and folders that stores are put behind."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import fsspec
import pytest

from zarr_xgroup.tests.builders import Contents, http_server, write_local


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let zarr 3.0 say, as it does each time, that v3 has no strings yet."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore:The codec `vlen-utf8`:UserWarning"))


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Contents], str]]:
    """Serve stores over HTTP without listings; gives the URL of each."""
    with ExitStack() as stack:

        def start(contents: Contents) -> str:
            folder = write_local(contents, tmp_path / f"http_{len(list(tmp_path.iterdir()))}")
            return stack.enter_context(http_server(folder))

        yield start


@pytest.fixture
def fsspec_memory() -> Iterator[None]:
    """Leave nothing in fsspec's memory, which all tests of a process share."""
    yield
    fsspec.filesystem("memory").store.clear()
    fsspec.filesystem("memory").pseudo_dirs[:] = [""]


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests compare messages: whoever runs them, they are in English."""
    monkeypatch.setenv("LANGUAGE", "en")
