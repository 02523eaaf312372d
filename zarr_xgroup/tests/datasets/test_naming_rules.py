"""What becomes of all that handlers may say of a group's arrays: names, dimensions, what belongs together.

A handler of these tests says of each array of the group `/g` what a test wants it to say. The arrays of
the group `/far` are elsewhere.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar
from typing import Literal as OneOf

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupWarning
from zarr_xgroup.conventions import ConventionHandler, register
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.datasets.plan import UsedNames
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    consolidate,
    memory_store,
    opened_with_warnings,
)
from zarr_xgroup.variables.factory import VariableFactory
from zarr_xgroup.variables.functions import Regular, RegularBounds
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Literal, Offset, Source, Stored

SIZES = {"y": 3, "z": 4}
DAYS = {"units": "days since 2000-01-01"}
HOURS = {"units": "hours since 2000-01-01"}


class Says(ConventionHandler):
    """Says of arrays of the group what a test told it."""

    tier: ClassVar[OneOf["principal", "service"]] = "service"
    name = "says"
    said: ClassVar[Mapping[str, Interpretation]] = {}

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        return array.node.group.path == "g" and array.node.name in cls.said

    def interpret(self, array: ArrayView) -> Interpretation:
        return self.said[array.node.name]


class Follows(Says):
    """A principal convention that says nothing."""

    tier = "principal"
    name = "follows"


@pytest.fixture(autouse=True)
def registered() -> None:
    register(Says)
    register(Follows)


def array(dims: str = "", /, **attributes: Any) -> Array:
    """Return an array along dimensions of one letter, two long but for those in `SIZES`."""
    return Array(np.ones([SIZES.get(dim, 2) for dim in dims]), tuple(dims), attributes)


#: The arrays of the group elsewhere.
FAR = {
    "x": array("x"),
    "t": array("x", **DAYS),
    "z": array("z"),
    "zz": array("z"),
    "lon": array("yx"),
    "tb": array("xn"),
    "c": array("x", bounds="tb", long_name="c", **DAYS),
    "scalar": array(),
    "bad": Array([1.0, 2.0], ("x",), v3={"storage_transformers": [{"name": "nothing"}]}),
}


def stored(path: str, dims: str = "x", **options: Any) -> Stored:
    """Return an array as a source, along dimensions of one letter."""
    return Stored(Node(0, path), tuple(dims), **options)


def inline(*values: Any, dim: str = "x") -> Literal:
    """Return values that stand in the metadata."""
    return Literal(np.array(values), (dim,))


def here(name: str, dims: str = "x", **options: Any) -> Coordinate:
    """Return an array of the group as a coordinate."""
    return Coordinate(name, stored(f"g/{name}", dims, **options))


def says(*coordinates: Coordinate, **others: Any) -> Interpretation:
    """Return what a handler says of an array."""
    return Interpretation(coordinates, **others)


def opened(
    arrays: Mapping[str, Array | Group],
    said: Mapping[str, Interpretation],
    *,
    first_class: Collection[str] = (),
    **options: Any,
) -> tuple[xr.Dataset, list[XGroupWarning]]:
    """Return the group and what is told; arrays of first class follow a principal convention."""
    Says.said, Follows.said = said, dict.fromkeys(first_class, Interpretation())
    store = memory_store(consolidate(build(Group({"g": Group(arrays), "far": Group(FAR)}))))
    return opened_with_warnings(xr.open_dataset, store, group="g", **options)


def dims_of(dataset: xr.Dataset) -> dict[str, str]:
    """Return the dimensions of all variables, in one text each."""
    return {str(name): " ".join(map(str, it.dims)) for name, it in dataset.variables.items()}


# Times.

T = Coordinate("t", stored("far/t"))
X = Coordinate("x", stored("far/x"))
LON = Coordinate("lon", stored("far/lon", "yx"))
CELLS = Coordinate("tb", stored("far/tb", "xn"))
OWN_TIMES = {"t": array("x", bounds="b", **DAYS), "b": array("xn")}


TIMES: dict[str, tuple[Any, Any, Any]] = {
    "own": (OWN_TIMES | {"c": array("xn")}, {}, "bt"),
    "boundaries with units": (OWN_TIMES | {"b": array("xn", units="m")}, {}, "t"),
    "declared": (OWN_TIMES | {"t": array("x", bounds="b")}, {"t": says(attributes=DAYS)}, "bt"),
    "elsewhere": ({"a": array("x")}, {"a": says(replace(T, bounds=CELLS))}, ["t", "tb"]),
    "declared elsewhere": ({"a": array("x")}, {"a": says(replace(X, attributes=DAYS))}, "x"),
    "boundaries by a path": (
        {"t": array("x", bounds="/far/tb", **DAYS)},
        {"t": says(links=(Link("bounds", "/far/tb", CELLS),))},
        ["t", "tb"],
    ),
    "own boundaries of times elsewhere": (
        {"a": array("x"), "b": array("xn")},
        {"a": says(replace(T, bounds=here("b", "xn")))},
        "bt",
    ),
}


@pytest.mark.parametrize(("arrays", "said", "times"), TIMES.values(), ids=TIMES)
def test_what_is_decoded_as_times(
    arrays: dict[str, Any], said: dict[str, Interpretation], times: Collection[str]
) -> None:
    dataset, told = opened(arrays, said)
    assert {name for name, it in dataset.variables.items() if it.dtype.kind == "M"} == set(times)
    assert told == []


def test_boundaries_of_times_that_are_not_wanted_are_times() -> None:
    dataset, _told = opened(OWN_TIMES, {}, drop_variables=["t"])
    assert dataset["b"].dtype.kind == "M"
    # What is elsewhere and called so is something else.
    arrays = {"t": array("x", bounds="tb", **DAYS), "a": array("x")}
    dataset, _told = opened(arrays, {"a": says(CELLS)}, drop_variables=["t"])
    assert dataset["tb"].dtype.kind == "f"


# What coordinates are.


def test_an_array_does_not_name_itself() -> None:
    both = says(here("a", "yx"), here("b", "yx"))
    dataset, _told = opened({"a": array("yx"), "b": array("yx")}, {"a": both})
    assert dataset["a"].encoding["coordinates"] == "b"


def test_arrays_that_say_themselves_what_they_count_are_what_they_are() -> None:
    said = {name: says(replace(T, attributes=it)) for name, it in (("a", DAYS), ("b", HOURS))}
    dataset, told = opened({"a": array("x"), "b": array("x")}, said)
    assert (set(dataset.coords), told) == ({"t"}, [])


@pytest.mark.parametrize(
    ("own", "declared", "names"),
    [
        ({}, [DAYS, HOURS, DAYS], {"c", "g_c"}),
        ({}, [DAYS, {**DAYS, "calendar": "noleap"}, HOURS], {"c", "g_c", "g_c_1"}),
        ({}, [{}, DAYS, {}], {"c"}),
        ({}, [DAYS, {}, DAYS], {"c"}),
        ({}, [{"units": "m"}, DAYS, {}], {"c", "g_c"}),
        ({"uom": "m"}, [{"units": "m"}, {"units": "km"}, {}], {"c"}),
        (DAYS, [DAYS, HOURS, {}], {"c"}),
    ],
)
def test_an_array_of_the_group_that_several_say_something_of(
    own: Any, declared: list[Any], names: set[str]
) -> None:
    said = {
        name: says(replace(here("c"), attributes=attributes))
        for name, attributes in zip("abd", declared, strict=True)
    }
    arrays = {name: array("x") for name in said} | {"c": array("x", **own)}
    dataset, told = opened(arrays, said, decode_times=False)
    times = {name: it.attrs for name, it in dataset.variables.items() if name not in said}
    assert times.keys() == names
    assert len({(it.get("units"), it.get("calendar")) for it in times.values()}) == len(names)
    assert len(told) == len(names) - 1


# Names.


@pytest.mark.parametrize(
    ("arrays", "coordinate", "name"),
    [
        ({}, Coordinate("c", stored("far/x")), "c"),
        ({"c": array("y")}, Coordinate("c", stored("far/x")), "far_c"),
        ({"c": Group()}, Coordinate("c", stored("far/x")), "far_c"),
        ({"c": array("y"), "far_c": array("y")}, Coordinate("c", stored("far/x")), "far_c_1"),
        ({"c": array("y")}, Coordinate("c", inline(1, 2)), "g_c"),
        ({}, Coordinate("p/q", stored("far/x")), "far_p_q"),
        ({}, Coordinate("y", stored("far/scalar", "")), "far_y"),
        ({}, Coordinate("y", stored("far/x")), "far_y"),
        ({}, Coordinate("y", stored("far/lon", "yx")), "far_y"),
        ({"c": array("y")}, Coordinate("c", HandlerVariable(xr.Variable("x", [1, 2]), "")), "g_c"),
        ({"c": array("x")}, Coordinate("c", HandlerVariable(xr.Variable("x", [1, 2]), "")), "g_c"),
    ],
)
def test_what_a_coordinate_is_called(
    arrays: dict[str, Any], coordinate: Coordinate, name: str
) -> None:
    dataset, told = opened({"a": array("yx"), **arrays}, {"a": says(coordinate)})
    assert dataset.coords[name].dims == coordinate.source.dims
    assert dataset.variables.keys() - {"a", *arrays} == {name}
    assert len(told) == (name != coordinate.name)


# Dimensions.


def along(name: str, *values: Any) -> Coordinate:
    """Return a coordinate with values that stand in the metadata."""
    return Coordinate(name, inline(*values, dim=name))


def test_other_values_along_a_dimension_make_it_another_one() -> None:
    flat = Coordinate("flat", inline(5, 6))
    said = {
        "a": says(along("x", 1, 2), along("y", 1, 2, 3)),
        "b": says(flat, along("y", 1, 2, 3), along("x", 3, 4)),
        "c": says(along("x", 3, 4), LON),
        "d": says(along("x", 1, 2), along("y", 4, 5, 6)),
        "e": says(Coordinate("x", stored("far/lon", "yx"))),
        "f": says(Coordinate("x_b", stored("far/scalar", ""))),
    }
    dataset, told = opened({name: array("yx") for name in said}, said)
    assert dims_of(dataset) == {
        "a": "y x",
        "b": "y x_b",
        "c": "y x_b",
        "d": "y_d x",
        "e": "y x",
        "f": "y x",
        "x": "x",
        "y": "y",
        "flat": "x_b",
        "x_b": "x_b",
        "lon": "y x_b",
        "y_d": "y_d",
        "far_x": "y x",
        "far_x_b": "",
    }
    named = {name: it.encoding.get("coordinates") for name, it in dataset.data_vars.items()}
    assert named == {"a": None, "b": "flat", "c": "lon", "d": None, "e": "far_x", "f": "far_x_b"}
    changed = [str(it).rpartition(" renamed ")[2] for it in told if "renamed" in str(it)]
    assert changed == ["'x' -> 'x_b'", "'y' -> 'y_d'"]  # one for b and c


def test_a_coordinate_that_does_not_fit_splits_no_dimension() -> None:
    # It is called x, but lies along another dimension: that of the group has another size.
    long = Coordinate("x", stored("far/z", "x"))
    dataset, told = opened({"a": array("x"), "b": array("x")}, {"a": says(long), "b": says(X)})
    assert dims_of(dataset) == {"a": "x", "b": "x", "x": "x_x", "far_x": "x"}
    assert len(told) == 2


def test_a_dimension_whose_coordinate_the_group_has_itself_is_one() -> None:
    said = {"a": says(along("x", 1, 2)), "b": says(along("x", 3, 4))}
    dataset, told = opened({"a": array("x"), "b": array("x"), "x": array("x")}, said)
    assert dims_of(dataset) == dict.fromkeys("abx", "x")
    assert told == []


def test_a_dimension_of_another_length_has_another_name() -> None:
    bounds = Coordinate("t", inline(1, 2, 3))
    said = {
        "a": says(Coordinate("p", stored("far/z")), Coordinate("q", stored("far/zz"))),
        "b": says(
            Coordinate("r", stored("far/lon", "xs")),
            Coordinate("b", stored("g/b"), bounds=bounds),
            Coordinate("x_p", stored("far/scalar", "")),
        ),
        "s": says(Coordinate("u", stored("far/z", "s"))),
    }
    dataset, told = opened({"a": array("x"), "b": array("x"), "s": array()}, said)
    # One name for one dimension of a group, another for what is called so and as long elsewhere.
    assert dims_of(dataset) == {
        "a": "x",
        "b": "x",
        "s": "",
        "p": "x_p",
        "q": "x_p",
        "r": "x_r s_r",
        "t": "x_t",
        "far_x_p": "",
        "u": "s_u",
    }
    assert sum("have another size here, and were renamed" in str(it) for it in told) == 5


def test_a_new_name_of_a_dimension_is_nothing_else() -> None:
    arrays = {"a": array("x"), "x_p": array("y"), "v": Array([1.0] * 3, ("x_s",))}
    others = Coordinate("p", stored("far/z")), Coordinate("s", inline(1, 2, 3, 4, 5))
    dims = dims_of(opened(arrays, {"a": says(*others)})[0])
    assert {name: dims[name] for name in "ps"} == {"p": "x_p_1", "s": "x_s_1"}


# What the group has itself.


POINT = Coordinate("p", stored("far/scalar", ""))
IN_GROUP: dict[str, tuple[Any, Any, Any]] = {
    "itself": ({"b": array("x")}, {"a": [Coordinate("c", stored("g/b"))]}, {"b": "x"}),
    "a dimension coordinate": (
        {"b": array("x")},
        {"a": [Coordinate("x", stored("g/b"))]},
        {"b": "x", "x": "x"},
    ),
    "along another dimension": (
        {"b": array("n"), "d": array("x")},
        {"a": [here("b")], "d": [replace(POINT, name="n")]},
        {"b": "n", "d": "x", "g_b": "x", "far_n": ""},
    ),
    "along a dimension of another length": (
        {"b": array("n"), "d": array("n")},
        {"a": [here("b", "y")]},
        {"b": "n", "d": "n", "g_b": "y_g_b"},
    ),
    "of a dimension that nothing else has": (
        {"n": array("n")},
        {"a": [here("n")]},
        {"n": "n", "g_n": "x"},
    ),
    "of a dimension that others have": (
        {"d": array("p"), "x": array("x")},
        {"d": [here("x", "p")]},
        {"d": "p", "x": "x", "g_x": "p"},
    ),
    "as boundaries, whatever their side is called": (
        {"b": array("xm")},
        {"a": [Coordinate("c", stored("far/x"), bounds=here("b", "xs"))]},
        {"b": "x m", "c": "x"},
    ),
    "as boundaries along another dimension": (
        {"b": array("ms")},
        {"a": [Coordinate("c", stored("far/x"), bounds=here("b", "xs"))]},
        {"b": "m s", "g_b": "x s", "c": "x"},
    ),
    "the other way round": (
        {"b": array("np", coordinates="b")},
        {"a": [here("b", "pn", transposed=True)]},
        {"b": "n p", "g_b": "n p"},
    ),
    "in part": ({"b": array("n")}, {"a": [here("b", "n", first=True)]}, {"b": "n", "g_b": ""}),
}


@pytest.mark.parametrize(("arrays", "said", "expected"), IN_GROUP.values(), ids=IN_GROUP)
def test_what_of_the_group_is_a_coordinate(
    arrays: dict[str, Any], said: dict[str, list[Coordinate]], expected: dict[str, str]
) -> None:
    told = {name: says(*coordinates) for name, coordinates in said.items()}
    dataset, _told = opened({"a": array("yx"), **arrays}, told)
    assert dims_of(dataset) == {"a": "y x", **expected}


def test_data_that_others_refer_to_stay_data() -> None:
    arrays = {name: array("yx") for name in "abcde"}
    refer = {"a": here("d", "yx"), "b": here("d", "yx", first=True), "c": here("d", "pq")}
    refer["e"] = here("d", "xy", transposed=True)
    said = {name: says(it) for name, it in refer.items()}
    dataset, _told = opened(arrays, said, first_class="d")
    assert dataset.data_vars.keys() == arrays.keys()
    assert dataset["d"].dims == ("y", "x")
    assert dataset.coords.keys() == {"g_d", "g_d_1", "g_d_2"}


def test_an_array_that_must_not_be_read_gets_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    beyond = {Node(0, "far/x")}
    monkeypatch.setattr(
        VariableFactory,
        "is_too_long",
        lambda _factory, source: getattr(source, "node", None) in beyond,
    )
    # What cannot be called as its dimension makes no other one of that of others.
    dataset, _told = opened(
        {"a": array("x"), "b": array("x")}, {"a": says(X), "b": says(along("x", 1, 2))}
    )
    assert dims_of(dataset) == dict.fromkeys(["a", "b", "far_x", "x"], "x")


# What stands beside what is declared.

GRID = Regular(0, 1)
EDGES = Computed(RegularBounds(GRID, -0.5, 0.25), (2, 2), "<f8", ("x", "s"))


@pytest.mark.parametrize(
    ("own", "bounds", "values"),
    [
        ([5.0, 7.0], EDGES, None),
        ([5.0, 7.0], Offset(inline(1.0, 2.0), -1.0, 1.0, "s"), None),
        ([5.0, 7.0], stored("far/tb", "xs"), [[1.0, 1.0], [1.0, 1.0]]),
        (["p", "q"], EDGES, None),
        (["p", "q"], stored("far/tb", "xs"), [[1.0, 1.0], [1.0, 1.0]]),
    ],
    ids=["grid", "offsets", "elsewhere", "texts", "of texts"],
)
def test_boundaries_declared_of_what_stands_are_added_if_they_are_an_array(
    own: Any, bounds: Source, values: Any
) -> None:
    declared = Coordinate("x", inline(*own), bounds=Coordinate("x_bounds", bounds))
    arrays = {"a": array("x"), "x": Array(np.array(own), ("x",))}
    dataset, _told = opened(arrays, {"a": says(declared)})
    assert ("bounds" in dataset["x"].attrs) is (values is not None)
    found = dataset["x_bounds"].values.tolist() if "x_bounds" in dataset else None
    assert found == values
    arrays["x"] = replace(arrays["x"], attrs={"bounds": "mine"})
    assert "x_bounds" not in opened(arrays, {"a": says(declared)})[0]


def test_what_any_array_declares_of_an_own_coordinate_is_added() -> None:
    said = {"a": says(X), "b": says(replace(X, attributes={"axis": "X"}))}
    arrays = {"a": array("x"), "b": array("x"), "x": Array([5.0, 6.0], ("x",))}
    dataset, told = opened(arrays, said)
    assert (set(dataset.variables), told) == ({"a", "b", "x"}, [])
    assert dataset["x"].attrs["axis"] == "X"
    assert dataset["x"].values.tolist() == [5.0, 6.0]


def test_what_an_attached_array_refers_to() -> None:
    cells = (Link("bounds", "tb", CELLS),)
    linked = Coordinate("c", stored("far/c"), links=cells)
    arrays = {"a": array("x"), "b": array("x", bounds="tb"), "tb": array("x")}
    itself = Coordinate("b", stored("g/b"), links=cells)
    dataset, _told = opened(arrays, {"a": says(linked, itself)})
    assert dataset["c"].encoding.get("bounds", dataset["c"].attrs.get("bounds")) == "far_tb"
    assert dataset["b"].attrs["bounds"] == "tb"


@pytest.mark.parametrize(
    ("name", "own", "stands"),
    [
        ("c", array("x", long_name="c"), True),
        ("c", array("x", long_name="c", units="m", bounds="b", title="t"), True),
        ("c", array("x", long_name="d"), True),
        ("c", array("x"), True),
        ("c", array("n"), False),
        ("c", array("z"), False),
        ("other", array("x", long_name="c"), False),
    ],
)
def test_which_array_of_the_group_is_the_coordinate(name: str, own: Array, stands: bool) -> None:
    said = {"a": says(Coordinate("c", stored("far/c")))}
    dataset, told = opened({"a": array("x"), name: own}, said)
    assert (dataset.variables.keys() == {"a", name}) is stands
    assert (name in dataset.coords) is stands
    assert len(told) == (not stands and name == "c")


@pytest.mark.parametrize("attribute", ["bounds", "ancillary_variables", "cell_measures"])
def test_what_is_named_and_no_coordinate_is_that_which_is_named(attribute: str) -> None:
    links = (Link(attribute, "/far/x", Coordinate("b", stored("far/x"))),)
    arrays = {"a": array("x", **{attribute: "/far/x"}), "b": array("x")}
    dataset, _told = opened(arrays, {"a": says(links=links)})
    assert set(dataset.variables) == {"a", "b", "far_b"}


def test_an_array_of_another_length_is_another_one() -> None:
    long = Coordinate("x", stored("far/z", "x"))
    dataset, told = opened({"a": array("x"), "x": array("x")}, {"a": says(long)})
    assert dataset.sizes == {"x": 2, "x_far_x": 4}
    assert dims_of(dataset) == {"a": "x", "x": "x", "far_x": "x_far_x"}
    assert len(told) == 2


def test_an_array_stands_in_the_place_of_one() -> None:
    arrays = {"a": array("z", coordinates="c"), "c": array("z")}
    both = [Coordinate("c", stored(f"far/{name}", "z")) for name in ("z", "zz")]
    dataset, _told = opened(arrays, {"a": says(*both)})
    assert dataset.variables.keys() == {"a", "c", "far_c"}
    assert dataset["far_c"].encoding["source"].endswith("/far/zz")
    # The second one stands by the name by which it would be attached.
    dataset, told = opened({**arrays, "far_c": array("z")}, {"a": says(*both)})
    assert (set(dataset.coords), told) == ({"c", "far_c"}, [])
    assert "source" not in dataset["far_c"].encoding


def test_what_fails_of_one_array_is_told_of_it_and_costs_nothing_else() -> None:
    said = {
        "a": says(along("x", 1, 2)),
        "b": says(Coordinate("x", stored("far/bad")), LON),
        "c": says(Coordinate("x_b", stored("far/scalar", ""))),
    }
    dataset, told = opened({name: array("yx") for name in said}, said)
    assert [it.paths for it in told if it.error is not None] == [("/g/b",)]
    assert dims_of(dataset) == {
        "a": "y x",
        "b": "y x_b",
        "c": "y x",
        "x": "x",
        "lon": "y x_b",
        "far_x_b": "",
    }


# Grid mappings.

UTM, GEODETIC = Crs("proj:code", "EPSG:32633"), Crs("proj:code", "EPSG:4326")
#: A CRS that is not understood: of its name no variable can be called.
ODD = Crs("name", "???")
NAMING = {"grid_mapping": "crs"}
WKT = {crs.text: crs.grid_mapping()["crs_wkt"] for crs in (UTM, GEODETIC)}


def crs_of(dataset: xr.Dataset) -> dict[str, Any]:
    """Return which grid mapping the variables name."""
    pairs = (
        (name, {**it.encoding, **it.attrs}.get("grid_mapping"))
        for name, it in dataset.variables.items()
    )
    return {str(name): it for name, it in pairs if it is not None}


def test_arrays_of_one_grid_have_one_grid_mapping() -> None:
    said, other = says(crs=UTM, geotransform="0 1 0 0 0 1"), says(crs=UTM, geotransform="0 1 0")
    again = says(X, crs=UTM, geotransform="0 1 0 0 0 1")
    arrays = {name: array("yx") for name in "abcde"} | {"f": array("yx", **NAMING)}
    told = {"a": said, "b": said, "c": again, "d": other, "e": says(crs=GEODETIC), "f": said}
    dataset, _told = opened(arrays, told)
    named = dict.fromkeys("abc", "spatial_ref") | {"d": "EPSG_32633", "e": "EPSG_4326", "f": "crs"}
    assert crs_of(dataset) == named
    for name in set(named.values()):
        attributes = dataset.coords[name].attrs
        assert attributes["crs_wkt"] == WKT[(GEODETIC if name == "EPSG_4326" else UTM).text]
        transforms = {"EPSG_4326": None, "EPSG_32633": other.geotransform}
        assert attributes.get("GeoTransform") == transforms.get(name, said.geotransform)


def test_grid_mappings_are_named_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def counted(method: str) -> Callable[..., Any]:
        function = getattr(UsedNames, method)

        def count(*arguments: Any) -> Any:
            calls[method] += 1
            return function(*arguments)

        return count

    for method in ("add", "is_free_for_others"):
        monkeypatch.setattr(UsedNames, method, counted(method))

    def number_of_calls(number: int) -> int:
        calls.clear()
        names = [f"a{i}" for i in range(number)]
        said = {name: says(crs=UTM, geotransform=f"0 1 0 0 0 {name[1:]}") for name in names}
        dataset, _told = opened({name: array("yx") for name in names}, said)
        assert len(set(crs_of(dataset).values())) == number
        return calls.total()

    assert number_of_calls(40) < 5 * number_of_calls(10)


IS_GEODETIC = array(crs_wkt=WKT[GEODETIC.text])
NAMES_IT = array("y", grid_mapping="spatial_ref")
MAPPINGS: dict[str, tuple[Any, Crs, str]] = {
    "none there": ({}, UTM, "spatial_ref"),
    "a group": ({"spatial_ref": Group()}, UTM, "EPSG_32633"),
    "a dimension": ({"b": Array([1.0], ("spatial_ref",))}, UTM, "EPSG_32633"),
    "without a name": ({"spatial_ref": Group()}, ODD, "spatial_ref_1"),
    "another one that nothing names": ({"spatial_ref": IS_GEODETIC}, UTM, "spatial_ref"),
    "that others name": ({"b": NAMES_IT, "spatial_ref": IS_GEODETIC}, UTM, "spatial_ref"),
}


@pytest.mark.parametrize(("arrays", "crs", "name"), MAPPINGS.values(), ids=MAPPINGS)
def test_which_grid_mapping_is_named(arrays: dict[str, Any], crs: Crs, name: str) -> None:
    dataset, _told = opened({"a": array("yx"), **arrays}, {"a": says(crs=crs)})
    assert crs_of(dataset)["a"] == name


@pytest.mark.parametrize(
    ("arrays", "attributes", "name"),
    [
        ({}, {}, "EPSG_4326"),
        ({}, NAMING, "crs"),
        ({}, {"grid_mapping": "crs: x y"}, "EPSG_4326"),
        ({}, {"grid_mapping": "x"}, "EPSG_4326"),
        ({"EPSG_4326": array()}, {}, "EPSG_4326_1"),
        ({"EPSG_4326": array("x", crs_wkt=WKT[GEODETIC.text])}, {}, "EPSG_4326_1"),
        ({"EPSG_4326": array(crs_wkt=WKT[UTM.text])}, {}, "EPSG_4326_1"),
        ({"EPSG_4326": array(crs_wkt=WKT[GEODETIC.text])}, {}, "EPSG_4326"),
        ({"EPSG_4326": array(**GEODETIC.grid_mapping())}, {}, "EPSG_4326"),
        ({"b": Array([1.0], ("EPSG_4326",))}, {}, "EPSG_4326_1"),
    ],
)
def test_the_crs_of_coordinates(
    arrays: dict[str, Any], attributes: dict[str, Any], name: str
) -> None:
    located = replace(LON, source=stored("g/lon", "yx"), crs=GEODETIC)
    arrays = {"a": array("yx"), "lon": array("yx", **attributes), **arrays}
    dataset, told = opened(arrays, {"a": says(located)})
    assert crs_of(dataset) == {"lon": attributes.get("grid_mapping", name)}
    assert (name in dataset.coords, told) == (True, [])


def test_the_crs_of_coordinates_is_not_that_of_the_grid() -> None:
    located = replace(LON, crs=GEODETIC)
    said = {"a": says(located, crs=GEODETIC, geotransform="0 1 0"), "b": says(crs=GEODETIC)}
    arrays = {"a": array("yx"), "b": array("yx")}
    named = {"a": "spatial_ref", "b": "EPSG_4326", "lon": "EPSG_4326"}
    assert crs_of(opened(arrays, said)[0]) == named
    odd = {"a": says(replace(LON, crs=ODD))}
    assert crs_of(opened({"a": array("yx")}, odd)[0]) == {"lon": "crs"}
