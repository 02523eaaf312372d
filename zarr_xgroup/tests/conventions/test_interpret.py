"""Interpretations that a handler of a third party can express through the public interface."""

from typing import Any

import numpy as np
import pytest
import zarr

from zarr_xgroup.conventions import (
    ArrayView,
    BoundResolver,
    Computed,
    ConventionHandler,
    Coordinate,
    Crs,
    Interpretation,
    Literal,
    Regular,
    RegularBounds,
    Stored,
    register,
)
from zarr_xgroup.tests.builders import Array, Group, Json
from zarr_xgroup.tests.tables import check, outcome, rows, store_of


class LevelsHandler(ConventionHandler):
    """Vertical levels with boundaries and terms, a CRS, and names for axes without any."""

    tier = "principal"
    name = "levels"
    uuid = "1d1a4a5c-6a2d-4c55-9f7e-8a3a53c4c1de"

    def interpret(self, array: ArrayView) -> Interpretation:
        (size,) = array.shape
        levels = array.attribute("levels")
        assert levels is not None
        centres = Regular(levels.required("first").value, 2.0)
        edges = Computed(
            RegularBounds(centres, -1.0, 1.0), (size, 2), "float64", ("level", "bounds")
        )
        node = array.resolver.array(levels.required("surface"))
        level = Coordinate(
            "level",
            Computed(centres, (size,), "float64", ("level",)),
            {"units": "1"},
            bounds=Coordinate("level_bounds", edges),
            formula_terms={
                "ps": Coordinate(node.name, array.stored(Stored(node, ()))),
                "k": Coordinate("level_k", Literal(np.arange(size), ("level",))),
            },
        )
        crs = Crs("proj:code", "EPSG:32632")
        return array.interpretation(level, crs=crs, attributes={"levelled": 1})

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        return ("level",)


def levels(first: float) -> Array:
    """Return an array without names of dimensions, whose levels begin with a value."""
    said = {"surface": {"node": "/surface"}, "first": first}
    declared = [{"name": "levels", "uuid": LevelsHandler.uuid}]
    return Array([1.0, 2.0], None, {"zarr_conventions": declared, "levels": said})


@pytest.fixture(autouse=True)
def registered() -> None:
    register(LevelsHandler)


ROOT = Group({"surface": Array(3.0), "i": Group({"a": levels(1.0), "b": levels(2.0)})})
LEVELS = """
    level (level) 1.0 3.0 | bounds=level_bounds formula_terms=ps: surface k: level_k units=1
    level_b (level_b) 2.0 4.0 | bounds=level_b_bounds formula_terms=ps: surface k: level_b_k units=1
    level_b_bounds (level_b bounds) [[1.0 3.0] [3.0 5.0]]
    level_b_k (level_b) 0 1
    level_bounds (level bounds) [[0.0 2.0] [2.0 4.0]]
    level_k (level) 0 1
    spatial_ref () EPSG:32632
    surface () 3.0
    ! Dimension: /i/a, /i/b: /i/a#/dimension_names and 1 more: has no usable names for axes [0]; its dimensions are named ['level']
    ! Dimension: /i/b: other arrays of the group have different coordinate values along its dimensions; renamed 'level' -> 'level_b'
"""  # fmt: skip


def test_interpretations_are_attached_along_renamed_dimensions() -> None:
    only = "level level_bounds level_k level_b level_b_bounds level_b_k surface spatial_ref"
    dataset = check(ROOT, LEVELS, only=only, group="i")
    assert dataset["a"].attrs["levelled"] == 1
    assert dataset["a"].attrs["grid_mapping"] == "spatial_ref"
    assert set(dataset.data_vars) == {"a", "b"}


def test_variables_and_references_of_a_resolver_used_directly() -> None:
    root = zarr.open_group(store_of(ROOT), mode="r")
    group: Any = root["i"]
    array = group["a"]
    variables = LevelsHandler().get_variables(array, group, root)
    assert set(variables) == {"level", "level_bounds", "surface", "level_k"}
    assert variables["level"].attrs["formula_terms"] == "ps: surface k: level_k"
    assert LevelsHandler.detect(root, group, array)
    resolver = BoundResolver.of(array, root)
    assert resolver.variable({"node": "/surface"}).values.item() == 3.0
    assert resolver.variable({"node": "b"}, ["x"]).dims == ("x",)
    assert resolver.value({"node": "b", "attribute": "/shape"}) == [2]
    with pytest.raises(LookupError, match="cannot be resolved"):
        resolver.variable({"node": "/nope"})


@pytest.mark.parametrize("answer", [None, "x", ["x"], (1,), ("x", "x"), 2], ids=repr)
def test_invalid_axis_names_are_ignored(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LevelsHandler, "axis_names", lambda *_arguments: answer)
    dataset = outcome(ROOT, group="i")[0]
    assert dataset["a"].dims == dataset["b"].dims == ("phony_dim_0",)


class ZonesHandler(ConventionHandler):
    """The zone of a grid as its CRS."""

    tier = "service"
    name = "zone"

    @classmethod
    def crs(cls, array: ArrayView) -> Crs | None:
        return Crs("zone", f"EPSG:{32600 + array.attributes['zone']}")

    def interpret(self, array: ArrayView) -> Interpretation:
        return array.interpretation()


IN_CRS = (
    "x (x) 5.0 15.0 25.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m"
)
ZONES: dict[str, tuple[Json, str]] = {
    "by the handler": ({"zone": 32}, f"spatial_ref () EPSG:32632\n{IN_CRS}"),
    "by none, if the handler fails": (
        {},
        """
        x (x) 5.0 15.0 25.0 | axis=X
        ! Resolution: /a was opened without the parts defined by convention 'zone': the handler of convention 'zone' (zarr_xgroup.tests.conventions.test_interpret) failed: KeyError: 'zone'
        """,
    ),
}  # fmt: skip


@rows(ZONES, "attributes, expected")
def test_coordinates_of_other_conventions_are_in_the_crs_of_a_handler(
    attributes: Json, expected: str
) -> None:
    register(ZonesHandler)
    declared = [{"name": "spatial"}, {"name": "zone"}]
    grid = {"spatial:dimensions": ["y", "x"], "spatial:transform": [10, 0, 0, 0, -10, 0]}
    attrs = {"zarr_conventions": declared, **grid, **attributes}
    members = {"a": Array(np.zeros((2, 3)), ("y", "x"), attrs)}
    check(Group(members), expected, only="x spatial_ref")
