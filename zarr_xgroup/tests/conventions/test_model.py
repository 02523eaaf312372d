"""What handlers return: which coordinates are one, and what becomes of one along other dimensions."""

from typing import Any

import numpy as np

from zarr_xgroup.conventions import Coordinate, Literal
from zarr_xgroup.conventions.model import Link


def literal(name: str, *dims: str, values: float = 0.0, **attributes: Any) -> Coordinate:
    return Coordinate(name, Literal(np.full((2,) * len(dims), values), dims), attributes)


def test_all_that_belongs_to_a_coordinate_is_along_renamed_dimensions() -> None:
    plain = literal("x", "x", units="m")
    whole = Coordinate(
        "x",
        plain.source,
        plain.attributes,
        bounds=literal("x_bounds", "x", "side"),
        formula_terms={"ps": literal("ps", "x")},
        links=(Link("coordinates", "../lon", literal("lon", "x")),),
    )
    found = whole.renamed({"x": "u"})
    assert found.bounds is not None
    (link,) = found.links
    parts = (found, found.bounds, found.formula_terms["ps"], link.coordinate)
    assert [it.name for it in parts] == ["u", "u_bounds", "ps", "lon"]
    assert [it.source.dims for it in parts] == [("u",), ("u", "side"), ("u",), ("u",)]
    assert (link.attribute, link.path, found.attributes) == (
        "coordinates",
        "../lon",
        {"units": "m"},
    )
    assert plain.renamed({"x": "u"}).bounds is None
    assert whole.renamed({}) == whole
