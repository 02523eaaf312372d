"""Shapes and references to dimensions as documents of arrays write them."""

from typing import Any

import pytest

from zarr_xgroup.metadata.dimensions import dimension_references, shape_of


@pytest.mark.parametrize(("shape", "expected"), [(5, [5]), (True, [1]), ([2, True], [2, 1])])
def test_a_shape_is_read_as_zarr_reads_it(shape: Any, expected: list[int]) -> None:
    sizes = shape_of({"shape": shape})
    assert sizes == expected
    assert all(type(size) is int for size in sizes)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([{"dimrefs": ["/g/y", "/x"]}], ("/g/y", "/x")),
        ([{"dimrefs": ["y", "/x"]}], (None, "/x")),
        ([{"dimrefs": ["y/", 5]}], (None, None)),
        ([{"dimrefs": ["/x"]}], (None, None)),
        ([{"dimrefs": ["/x"], "dimension_references": ["/y", "/x"]}], ("/y", "/x")),
        ([{"dimrefs": ["/x"]}, {"dimrefs": ["/y", "/x"]}], ("/y", "/x")),
        ([{}], (None, None)),
        ([], (None, None)),
    ],
    ids=str,
)
def test_references_are_paths_from_the_root(
    written: list[Any], expected: tuple[str | None, ...]
) -> None:
    nczarr = dict(zip(("_NCZARR_ARRAY", "_nczarr_array"), written, strict=False))
    document = {"zarr_format": 2, "shape": [2, 3]}
    assert dimension_references({**document, **nczarr, "attributes": {}}) == expected
    assert dimension_references({**document, "attributes": nczarr}) == expected
