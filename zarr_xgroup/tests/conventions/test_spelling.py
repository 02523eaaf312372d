"""Keys that are misspelt: which one was probably meant."""

import pytest

from zarr_xgroup.conventions.descriptions import alike, misspelt


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        ("lat", ["lon", "latitude"], "latitude"),
        ("latitude", ["lon", "lat"], "lat"),
        ("longest", ["lo", "lonely"], "lonely"),
        ("lattice", ["lat", "latices"], "latices"),  # nearly the same goes before short for
        ("time", ["tide_gauge", "temporal"], None),
        ("x", ["xyz"], None),
        ("lat", [], None),
    ],
)
def test_what_name_is_alike(name: str, others: list[str], expected: str | None) -> None:
    assert alike(name, others) == expected
    assert alike(name, iter(others)) == expected


def test_capital_letters_of_what_is_known() -> None:
    assert misspelt(["crs84"], ["CRS_84"]) == {"crs84": "CRS_84"}
