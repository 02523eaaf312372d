"""What handlers return: which coordinates are one, and what becomes of one along other dimensions."""

from typing import Any

import numpy as np
import pytest

from zarr_xgroup.conventions import Coordinate, Literal, Stored
from zarr_xgroup.conventions.model import Link
from zarr_xgroup.metadata.nodes import Node


def literal(name: str, *dims: str, values: float = 0.0, **attributes: Any) -> Coordinate:
    return Coordinate(name, Literal(np.full((2,) * len(dims), values), dims), attributes)


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        ("x", {"x": "u"}, "u"),
        ("x_bounds", {"x": "u"}, "u_bounds"),
        ("x_of_x", {"x": "u"}, "u_of_x"),
        ("bounds_of_x_", {"x": "u"}, "bounds_of_x_"),
        ("xc", {"x": "u"}, "xc"),
        ("x_y", {"x": "u", "x_y": "v"}, "v"),
        ("y", {"x": "u"}, "y"),
        ("x", {}, "x"),
    ],
)
def test_a_coordinate_along_renamed_dimensions_is_called_by_them(
    name: str, names: dict[str, str], expected: str
) -> None:
    assert literal(name, "x").renamed(names).name == expected


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


def test_an_array_is_itself_whatever_it_is_called() -> None:
    source = Stored(Node(0, "lon"), ("x",))
    one, other = Coordinate("lon", source), Coordinate("l", source, {"units": "degrees_east"})
    assert one.identity == other.identity
    assert one.identity != Coordinate("lon", Stored(Node(0, "lat"), ("x",))).identity


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (literal("t", "x", units="days since 2000-01-01", calendar="noleap"), True),
        (literal("t", "x", units="days since 2000-01-01", calendar="noleap", axis="T"), True),
        (literal("u", "x", units="days since 2000-01-01", calendar="noleap"), False),
        (literal("t", "y", units="days since 2000-01-01", calendar="noleap"), False),
        (literal("t", "x", units="days since 2000-01-02", calendar="noleap"), False),
        (literal("t", "x", units="days since 2000-01-01", calendar="360_day"), False),
        (literal("t", "x", units=["days"], calendar="noleap"), False),
        (literal("t", "x", values=1.0, units="days since 2000-01-01", calendar="noleap"), False),
    ],
    ids=range(8),
)
def test_numbers_are_told_apart_by_name_unit_and_calendar(other: Coordinate, is_same: bool) -> None:
    one = literal("t", "x", units="days since 2000-01-01", calendar="noleap")
    assert len({one.identity, other.identity}) == (1 if is_same else 2)
