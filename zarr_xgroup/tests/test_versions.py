"""The versions that tests run on, and that no call of ours is deprecated in any of them."""

import warnings

import pytest

from zarr_xgroup.tests.documents import script


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, ["3.2.0"]),
        (2, ["3.1.0", "3.1.10", "3.2.0"]),
        (9, ["3.0.8", "3.0.9", "3.1.0", "3.1.10", "3.2.0"]),
    ],
)
def test_the_ends_of_the_last_series(number: int, expected: list[str]) -> None:
    releases = ["3.2.0", "3.1.10", "3.1.9", "3.1.0", "3.0.9", "3.0.8", "3.0.7", "2.18.7"]
    assert script("versions").ends_of_series(releases, "3.0.8", number) == expected


def test_the_oldest_releases_are_those_of_the_project() -> None:
    versions = script("versions")
    assert {name: versions.oldest_supported(name) for name in versions.VARIED} == {
        "xarray": "2024.10.0",
        "zarr": "3.0.0",
    }


@pytest.mark.parametrize("kind", [DeprecationWarning, PendingDeprecationWarning, FutureWarning])
def test_what_is_deprecated_is_an_error(kind: type[Warning]) -> None:
    with pytest.raises(kind):
        warnings.warn("soon gone", kind, stacklevel=1)
