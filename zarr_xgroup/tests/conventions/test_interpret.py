"""What a third party's handler can say through the public interface alone."""

from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr
import zarr

from zarr_xgroup import XGroupDimensionWarning
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
    registry,
)
from zarr_xgroup.tests.builders import Array, Group, build, memory_store, opened_with_warnings


class LevelsHandler(ConventionHandler):
    """Vertical levels with boundaries and terms, a CRS, and names for axes without any."""

    tier = "principal"
    name = "levels"
    uuid = "1d1a4a5c-6a2d-4c55-9f7e-8a3a53c4c1de"
    asked: ClassVar[list[tuple[int, ...]]] = []

    def interpret(self, array: ArrayView) -> Interpretation:
        self.asked.append(array.shape)
        (size,) = array.shape
        centres = Regular(1.0, 2.0)
        edges = RegularBounds(centres, -1.0, 1.0)
        surface = array.attribute("levels")
        assert surface is not None
        node = array.resolver.array(surface.required("surface"))
        level = Coordinate(
            "level",
            Computed(centres, (size,), "float64", ("level",)),
            {"units": "1", "positive": "up"},
            bounds=Coordinate(
                "level_bounds", Computed(edges, (size, 2), "float64", ("level", "bounds"))
            ),
            formula_terms={
                "ps": Coordinate(node.name, array.stored(Stored(node, ()))),
                "p0": Coordinate("p0", Literal(np.array(1e5), ())),
            },
        )
        return array.interpretation(
            level, crs=Crs("proj:code", "EPSG:32632"), attributes={"levelled": 1}
        )

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        return ("level",)


@pytest.fixture(autouse=True)
def registered() -> type[ConventionHandler]:
    LevelsHandler.asked.clear()
    return register(LevelsHandler)


LEVELS = {
    "zarr_conventions": [{"name": "levels", "uuid": LevelsHandler.uuid}],
    "levels": {"surface": {"node": "/surface"}},
}
STORE = build(
    Group(
        {
            "surface": Array(3.0),
            "g": Group(
                {"a": Array([1.0, 2.0], None, LEVELS), "b": Array([3.0, 4.0], None, LEVELS)}
            ),
            "h": Group({"a": Array([1.0, 2.0], None, LEVELS)}),
        }
    )
)


def test_all_that_a_handler_can_say_is_attached() -> None:
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(STORE), group="g")
    assert {type(warning) for warning in told} == {XGroupDimensionWarning}
    assert dataset["a"].dims == ("level",)
    assert dataset["level"].values.tolist() == [1.0, 3.0]
    assert dataset["level"].attrs["formula_terms"] == "ps: surface p0: p0"
    assert dataset["level"].attrs["bounds"] == "level_bounds"
    assert dataset["level_bounds"].values.tolist() == [[0.0, 2.0], [2.0, 4.0]]
    assert dataset["surface"].item() == 3.0
    assert dataset["p0"].item() == 1e5
    assert dataset["a"].attrs["grid_mapping"] == "spatial_ref"
    assert "UTM zone 32N" in dataset["spatial_ref"].attrs["crs_wkt"]
    assert dataset["a"].attrs["levelled"] == 1
    assert set(dataset.data_vars) == {"a", "b"}


def test_a_handler_that_says_what_it_reads_is_asked_once_of_arrays_that_are_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = memory_store(STORE)
    opened_with_warnings(xr.open_datatree, store)
    assert len(LevelsHandler.asked) == 3
    LevelsHandler.asked.clear()
    monkeypatch.setattr(LevelsHandler, "reads", ())
    opened_with_warnings(xr.open_datatree, store)
    assert len(LevelsHandler.asked) == 2  # one in each group, which differ
    derived = type("DerivedHandler", (LevelsHandler,), {})
    registry._REGISTERED[:] = [derived]
    LevelsHandler.asked.clear()
    opened_with_warnings(xr.open_datatree, store)
    assert len(LevelsHandler.asked) == 3  # what it is derived from cannot know


def test_get_variables_follows_from_interpret() -> None:
    root = zarr.open_group(memory_store(STORE), mode="r")
    array = root["g/a"]
    assert isinstance(array, zarr.Array)
    variables = LevelsHandler().get_variables(array, root["g"], root)  # type: ignore[arg-type]
    assert set(variables) == {"level", "level_bounds", "surface", "p0"}
    assert variables["level"].attrs["formula_terms"] == "ps: surface p0: p0"
    assert variables["surface"].values.item() == 3.0
    assert LevelsHandler.detect(root, root["g"], array)  # type: ignore[arg-type]


def test_references_are_resolved_outside_of_an_open() -> None:
    root = zarr.open_group(memory_store(STORE), mode="r")
    array = root["g/a"]
    assert isinstance(array, zarr.Array)
    resolver = BoundResolver.of(array, root)
    assert resolver.variable({"node": "/surface"}).values.item() == 3.0
    assert resolver.variable({"node": "b"}, ["x"]).dims == ("x",)
    assert resolver.value({"node": "b", "attribute": "/shape"}) == [2]
    with pytest.raises(LookupError, match="leads nowhere"):
        resolver.variable({"node": "/nope"})


@pytest.mark.parametrize("answer", [None, "x", ["x"], (1,), (None,), ("x", "x"), 2], ids=repr)
def test_names_of_axes_that_are_none(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LevelsHandler, "axis_names", lambda *_arguments: answer)
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(STORE), group="g")
    assert dataset["a"].dims == dataset["b"].dims == ("phony_dim_0",)
    assert XGroupDimensionWarning in map(type, told)


class ZonesHandler(ConventionHandler):
    """The zone of a grid as its CRS."""

    tier = "service"
    name = "zone"

    @classmethod
    def crs(cls, array: ArrayView) -> Crs | None:
        zone = array.attributes["zone"]
        return Crs("zone", f"EPSG:{32600 + zone}")

    def interpret(self, array: ArrayView) -> Interpretation:
        return array.interpretation()


GRID = {
    "zarr_conventions": [{"name": "spatial"}, {"name": "zone"}],
    "spatial:dimensions": ["y", "x"],
    "spatial:transform": [10, 0, 0, 0, -10, 0],
}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"zone": 32}, "EPSG:32632"),
        ({"zone": 32, "proj:code": "EPSG:32631"}, "EPSG:32631"),
        ({}, None),
    ],
    ids=["by the handler", "by proj", "by a handler that fails"],
)
def test_coordinates_of_other_conventions_are_in_the_crs_that_a_handler_says(
    attributes: dict[str, Any], expected: str | None
) -> None:
    register(ZonesHandler)
    members = {"a": Array(np.zeros((2, 3)), ("y", "x"), {**GRID, **attributes})}
    store = memory_store(build(Group(members)))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].values.tolist() == [5.0, 15.0, 25.0]
    name = None if expected is None else "projection_x_coordinate"
    assert dataset["x"].attrs.get("standard_name") == name
    if expected is None:
        assert ["'zone'" in str(it) and "KeyError" in str(it) for it in told] == [True]
    else:
        assert f'ID["EPSG",{expected[5:]}]' in dataset["spatial_ref"].attrs["crs_wkt"]
        assert told == []
