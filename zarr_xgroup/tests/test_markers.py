"""Markers of tests: those that start servers have one, whether or not somebody thought of it."""

import pytest

from zarr_xgroup.tests.servers import FileServer, serve_http


def is_marked(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("server") is not None


def test_a_fixture_that_serves_marks_its_test(
    http_server: FileServer, request: pytest.FixtureRequest
) -> None:
    assert is_marked(request)
    assert http_server.url


def test_no_server_starts_without_the_marker(request: pytest.FixtureRequest) -> None:
    assert not is_marked(request)
    with pytest.raises(pytest.fail.Exception, match=r"has the marker: @pytest\.mark\.server"):
        serve_http({})


@pytest.mark.server
def test_a_server_starts_with_the_marker() -> None:
    with serve_http({}) as server:
        assert server.url
