"""What a group's plan makes of what handlers say of its arrays: names, dimensions, what belongs together.

No handler is asked: each test says itself what one would say. The arrays are in the group `/g`,
those of the group `/far` are elsewhere.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.model import Claim, Coordinate, Interpretation, Link
from zarr_xgroup.datasets.budget import NO_LIMIT, IndexBudget
from zarr_xgroup.datasets.inheritance import AncestorCoordinate, Inherited
from zarr_xgroup.datasets.naming import plan_group
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.datasets.planning import planning
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.tests.builders import Array, Group, build, memory_store
from zarr_xgroup.variables.functions import Regular, RegularBounds
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Literal, Offset, Source, Stored

SIZES = {"y": 3, "z": 4}
DAYS = {"units": "days since 2000-01-01"}
HOURS = {"units": "hours since 2000-01-01"}


def array(dims: str = "", /, **attributes: Any) -> Array:
    """Return an array along dimensions of one letter, two long but for those in `SIZES`."""
    return Array(np.ones([SIZES.get(dim, 2) for dim in dims]), tuple(dims), attributes)


#: The arrays of the group elsewhere.
FAR = {
    "x": array("x"),
    "t": array("x", **DAYS),
    "w": array("x", **HOURS),
    "z": array("z"),
    "zz": array("z"),
    "lon": array("yx"),
    "tb": array("xn"),
    "c": array("x", bounds="tb", long_name="c", **DAYS),
    "scalar": array(),
    "crs": array(grid_mapping_name="latitude_longitude"),
    "bad": Array([1.0, 2.0], ("x",), v3={"storage_transformers": [{"name": "nothing"}]}),
}


def stored(path: str, dims: str = "x", **options: Any) -> Stored:
    """Return an array as a source, along dimensions of one letter."""
    return Stored(Node(0, path), tuple(dims), **options)


def inline(*values: Any, dim: str = "x") -> Literal:
    """Return values that stand in the metadata."""
    return Literal(np.array(values), (dim,))


def says(*coordinates: Coordinate, **others: Any) -> Interpretation:
    """Return what a handler says of an array."""
    return Interpretation(coordinates, **others)


def plan(
    arrays: Mapping[str, Array | Group],
    said: Mapping[str, Interpretation],
    *,
    inherited: Mapping[str, tuple[AncestorCoordinate, ...]] | None = None,
    first_class: Collection[str] = (),
    budget: IndexBudget = NO_LIMIT,
    drop_variables: Collection[str] = (),
) -> GroupPlan:
    """Return the plan of the group, given what is said of its arrays, by name.

    Some may inherit coordinates, and those that are first class follow a principal convention.
    """
    store = memory_store(build(Group({"g": Group(arrays), "far": Group(FAR)})))
    ancestors = inherited or {}
    with planning(store, {"drop_variables": drop_variables}) as planned:
        readings = [it.reading for it in planned.plan_tree(with_indexes=False)]
        (reading,) = (it for it in readings if it.node.path == "g")
        told = tuple(
            replace(
                it,
                interpretation=said.get(it.node.name, Interpretation()),
                conventions=(),
                is_first_class=it.node.name in first_class,
                inherited=Inherited(it.dims, ancestors.get(it.node.name, ())),
            )
            for it in reading.arrays
        )
        return plan_group(replace(reading, arrays=told, findings=()), planned.maker, budget)


def variables_of(found: GroupPlan) -> dict[str, PlannedVariable]:
    return {it.name: it for it in found.variables}


def dims_of(found: GroupPlan) -> dict[str, str]:
    """Return the dimensions of all variables, in one text each."""
    return {it.name: " ".join(it.dims) for it in found.variables}


# Times.

T = Coordinate("t", stored("far/t"))
BARE_TIMES = Coordinate("x", stored("far/x"), DAYS)
LINKED_BOUNDS = (Link("bounds", "/far/tb", Coordinate("tb", stored("far/tb", "xn"))),)


@pytest.mark.parametrize(
    ("arrays", "said", "times"),
    [
        pytest.param({"t": array("x", **DAYS)}, {}, {"t": False}, id="own"),
        pytest.param({"t": array("x", units="days")}, {}, {}, id="no times"),
        pytest.param(
            {"t": array("x", bounds="b", **DAYS), "b": array("xn"), "c": array("xn")},
            {},
            {"t": False, "b": False},
            id="own with boundaries",
        ),
        pytest.param(
            {"t": array("x", bounds="b", **DAYS), "b": array("xn", units="m")},
            {},
            {"t": False},
            id="boundaries with units",
        ),
        pytest.param(
            {"t": array("x", bounds="b", **DAYS)}, {}, {"t": False}, id="no boundaries there"
        ),
        pytest.param(
            {"t": array("x", bounds="b"), "b": array("xn")},
            {"t": says(attributes=DAYS)},
            {"t": True, "b": True},
            id="declared with boundaries",
        ),
        *(
            pytest.param(
                {
                    "t": array("x", bounds="b", **({} if first else DAYS)),
                    "u": array("x", bounds="b", **(DAYS if first else {})),
                    "b": array("xn"),
                },
                {("t" if first else "u"): says(attributes=DAYS)},
                {"t": first, "u": not first, "b": first},
                id=f"{which} declared with boundaries of both",
            )
            for which, first in (("first", True), ("second", False))
        ),
        pytest.param(
            {"t": array("x", **HOURS)}, {"t": says(attributes=DAYS)}, {"t": False}, id="own stand"
        ),
        pytest.param({"a": array("x")}, {"a": says(T)}, {"t": False}, id="elsewhere"),
        pytest.param(
            {"a": array("x")},
            {"a": says(Coordinate("t", HandlerVariable(xr.Variable("x", [1, 2], DAYS), "")))},
            {"t": False},
            id="given",
        ),
        pytest.param(
            {"a": array("x")}, {"a": says(BARE_TIMES)}, {"x": True}, id="declared elsewhere"
        ),
        pytest.param(
            {"a": array("x")},
            {"a": says(replace(T, bounds=Coordinate("tb", stored("far/tb", "xn"))))},
            {"t": False, "tb": True},
            id="boundaries elsewhere",
        ),
        pytest.param(
            {"t": array("x", bounds="/far/tb", **DAYS)},
            {"t": says(links=LINKED_BOUNDS)},
            {"t": False, "tb": True},
            id="boundaries by a path",
        ),
        pytest.param(
            {"a": array("x"), "b": array("xn")},
            {"a": says(replace(T, bounds=Coordinate("b", stored("g/b", "xn"))))},
            {"t": False, "b": True},
            id="own boundaries of times elsewhere",
        ),
    ],
)
def test_what_xarray_decodes_as_times(
    arrays: dict[str, Any], said: dict[str, Interpretation], times: dict[str, bool]
) -> None:
    found = plan(arrays, said).variables
    assert {it.name: it.has_declared_decoding for it in found if it.is_time} == times


@pytest.mark.parametrize(
    ("bounds", "times"),
    [
        ({}, {"b": (DAYS, True)}),
        ({"units": "m"}, {"b": (DAYS, False)}),
    ],
    ids=["bare", "units"],
)
def test_boundaries_of_times_that_are_not_wanted(
    bounds: dict[str, Any], times: dict[str, Any]
) -> None:
    arrays = {"t": array("x", bounds="b", **DAYS), "b": array("xn", **bounds), "c": array("x")}
    found = plan(arrays, {}, drop_variables=["t"]).variables
    assert {it.name: (it.of_times, it.is_time) for it in found if it.of_times} == times
    assert not any(it.has_declared_decoding for it in found)


def test_what_is_called_as_boundaries_that_are_not_wanted_either() -> None:
    arrays = {"t": array("x", bounds="tb", **DAYS), "tb": array("xn"), "a": array("x")}
    said = {"a": says(Coordinate("tb", stored("far/tb", "xn")))}
    found = variables_of(plan(arrays, said, drop_variables=["t", "tb"]))
    assert found["tb"].of_times == {}


# What variables say of coordinates, and what coordinates are.

LON = Coordinate("lon", stored("far/lon", "yx"))
X = Coordinate("x", stored("far/x"))


@pytest.mark.parametrize(
    ("arrays", "said", "named"),
    [
        pytest.param({"a": array("yx")}, says(X, LON), ("lon",), id="no dimension coordinates"),
        pytest.param({"a": array("y")}, says(LON), (), id="none of other dimensions"),
        pytest.param(
            {"a": array("yx"), "b": array("yx")},
            says(Coordinate("a", stored("g/a", "yx")), Coordinate("b", stored("g/b", "yx"))),
            ("b",),
            id="not itself",
        ),
        pytest.param({"a": array("yx", coordinates="b")}, says(LON), (), id="own words"),
        pytest.param(
            {"a": array("yx")}, says(LON, attributes={"coordinates": "b"}), (), id="declared words"
        ),
    ],
)
def test_which_coordinates_an_array_names(
    arrays: dict[str, Any], said: Interpretation, named: tuple[str, ...]
) -> None:
    found = variables_of(plan(arrays, {"a": said}))["a"]
    assert found.coordinates == named
    assert found.names_coordinates is ("coordinates" in {**arrays["a"].attrs, **said.attributes})


def users_of(found: GroupPlan) -> dict[str, str]:
    """Return the names of the arrays that have each coordinate."""
    return {it.name: " ".join(user.name for user in it.users) for it in found.variables if it.users}


def test_which_arrays_have_a_coordinate() -> None:
    said = says(
        LON, links=(Link("ancillary_variables", "/far/w", Coordinate("w", stored("far/w"))),)
    )
    arrays = {
        "a": array("yx", ancillary_variables="/far/w"),
        "b": array("yx", ancillary_variables="/far/w"),
        "c": array("yx"),
    }
    found = plan(arrays, {"a": said, "b": said, "c": says(LON)})
    assert users_of(found) == {"lon": "a b c", "w": "a b"}
    assert variables_of(found)["a"].rewritten == {"ancillary_variables": "w"}
    assert variables_of(found)["lon"].referrer == Node(0, "g/a")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({}, {}, True),
        (DAYS, DAYS, True),
        (DAYS, HOURS, False),
        (DAYS, {**DAYS, "calendar": "noleap"}, False),
        (DAYS, {}, True),
        ({"units": "m"}, {"units": "km"}, True),
    ],
    ids=["bare", "times", "units", "calendars", "times and numbers", "lengths"],
)
def test_one_array_that_two_say_something_of(one: Any, other: Any, is_same: bool) -> None:
    coordinates = [Coordinate("c", stored("far/x"), it) for it in (one, other)]
    said = dict(zip("ab", map(says, coordinates), strict=True))
    found = dims_of(plan({"a": array("x"), "b": array("x")}, said))
    assert found.keys() - {"a", "b"} == ({"c"} if is_same else {"c", "far_c"})


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
        name: says(Coordinate("c", stored("g/c"), attributes))
        for name, attributes in zip("abd", declared, strict=True)
    }
    found = plan({name: array("x") for name in said} | {"c": array("x", **own)}, said)
    times = {it.name: {**it.attributes, **own} for it in found.variables if it.name not in said}
    assert times.keys() == names
    assert len({repr(it) for it in times.values()}) == len(names)
    assert len(found.findings) == len(names) - 1


@pytest.mark.parametrize(("declared", "number"), [(DAYS, 1), ({}, 1), (HOURS, 2)])
def test_an_array_whose_unit_follows_from_what_it_declares(declared: Any, number: int) -> None:
    said = {
        "b": says(attributes=DAYS),
        "c": says(Coordinate("b", stored("g/b"), declared)),
    }
    found = plan({"b": array("x"), "c": array("x")}, said)
    assert len([it for it in found.variables if it.stored == Node(0, "g/b")]) == number


def test_arrays_that_say_themselves_what_they_count_are_what_they_are() -> None:
    times = [Coordinate("t", stored("far/t"), it) for it in (DAYS, HOURS)]
    other = Coordinate("w", stored("far/w"), DAYS)
    arrays = {"a": array("x"), "b": array("x")}
    found = plan(arrays, {"a": says(times[0], other), "b": says(times[1])})
    assert {it.name: it.stored for it in found.variables if not it.is_own} == {
        "t": Node(0, "far/t"),
        "w": Node(0, "far/w"),
    }


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({}, {}, True),
        ({"scale_factor": 2.0}, {"scale_factor": 2.0}, True),
        ({"scale_factor": 2.0}, {"scale_factor": 3.0}, False),
        ({"scale_factor": 2.0, "add_offset": 1}, {"add_offset": 1, "scale_factor": 2.0}, True),
        ({"missing_value": [1, 2]}, {"missing_value": [1, 2]}, True),
        ({"long_name": "one"}, {"long_name": "other"}, True),
    ],
    ids=str,
)
def test_what_a_coordinate_is_to_other_groups(one: Any, other: Any, is_same: bool) -> None:
    identities = []
    for attributes in (one, other):
        said = {"a": says(Coordinate("c", stored("far/x"), attributes))}
        found = variables_of(plan({"a": array("x")}, said))
        assert found["a"].identity is None
        assert found["c"].identity is not None
        identities.append(hash(found["c"].identity))
    assert (identities[0] == identities[1]) is is_same


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
    found = plan({"a": array("yx"), **arrays}, {"a": says(coordinate)})
    (added,) = (it for it in found.variables if not it.is_own)
    assert (added.name, added.source, added.is_coordinate) == (name, coordinate.source, True)
    assert len(found.findings) == (name != coordinate.name)


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
    found = plan({name: array("yx") for name in said}, said)
    assert dims_of(found) == {
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
    assert all(it.source.dims == it.dims for it in found.variables)
    named = {it.name: it.coordinates for it in found.variables if it.coordinates}
    assert named == {"b": ("flat",), "c": ("lon",), "e": ("far_x",), "f": ("far_x_b",)}
    changed = {it.arrays[0]: it.text.rpartition(" renamed ")[2] for it in found.findings[:3]}
    assert changed == {"/g/b": "'x' -> 'x_b'", "/g/c": "'x' -> 'x_b'", "/g/d": "'y' -> 'y_d'"}


def test_a_coordinate_that_does_not_fit_splits_no_dimension() -> None:
    # It is called x, but lies along another dimension: that of the group has another size.
    long = Coordinate("x", stored("far/z", "x"))
    found = plan({"a": array("x"), "b": array("x")}, {"a": says(long), "b": says(X)})
    assert dims_of(found) == {"a": "x", "b": "x", "x": "x_x", "far_x": "x"}
    assert len(found.findings) == 2


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
    found = plan({"a": array("x"), "b": array("x"), "s": array()}, said)
    # One name for one dimension of a group, another for what is called so and as long elsewhere.
    assert dims_of(found) == {
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
    for it in found.variables:
        names = dict(zip(it.source.dims, it.dims, strict=True))
        changes = ", ".join(f"{old!r} -> {new!r}" for old, new in names.items() if old != new)
        ends = f"coordinate {it.name!r} have another size here, and were renamed {changes}"
        assert any(finding.text.endswith(ends) for finding in found.findings) is bool(changes)


# What the group has itself.


@pytest.mark.parametrize(
    ("arrays", "said", "expected"),
    [
        pytest.param(
            {"b": array("x")},
            {"a": says(Coordinate("c", stored("g/b")))},
            {"b": "x"},
            id="itself",
        ),
        pytest.param(
            {"b": array("x")},
            {"a": says(Coordinate("x", stored("g/b")))},
            {"b": "x", "x": "x"},
            id="a dimension coordinate",
        ),
        pytest.param(
            {"b": array("n"), "d": array("x")},
            {
                "a": says(Coordinate("b", stored("g/b"))),
                "d": says(Coordinate("n", stored("far/scalar", ""))),
            },
            {"b": "x", "d": "x", "n": ""},
            id="along another dimension, which nothing has any more",
        ),
        pytest.param(
            {"b": array("n"), "d": array("x")},
            {
                "a": says(Coordinate("b", stored("g/b"))),
                "d": says(Coordinate("b", stored("g/b", "p"))),
            },
            {"b": "x", "d": "x", "g_b": "p"},
            id="along two other dimensions",
        ),
        pytest.param(
            {"b": array("n"), "d": array("n")},
            {"a": says(Coordinate("b", stored("g/b", "y")))},
            {"b": "n", "d": "n", "g_b": "y_g_b"},
            id="along a dimension of another length",
        ),
        pytest.param(
            {"b": array("nm")},
            {"a": says(Coordinate("b", stored("g/b", "xy")))},
            {"b": "n m", "g_b": "x y_g_b"},
            id="along two dimensions, one of another length",
        ),
        pytest.param(
            {"n": array("n")},
            {"a": says(Coordinate("n", stored("g/n")))},
            {"n": "x"},
            id="of a dimension that nothing else has",
        ),
        pytest.param(
            {"d": array("p"), "x": array("x")},
            {"d": says(Coordinate("x", stored("g/x", "p")))},
            {"d": "p", "x": "x", "g_x": "p"},
            id="of a dimension that others have",
        ),
        pytest.param(
            {"b": array("n"), "d": array("nm", coordinates="b")},
            {"a": says(Coordinate("b", stored("g/b")))},
            {"b": "n", "d": "n m", "g_b": "x"},
            id="that others name",
        ),
        pytest.param(
            {"b": array("n"), "d": array("n", coordinates="b")},
            {"a": says(Coordinate("b", stored("g/b")))},
            {"b": "n", "d": "n", "g_b": "x"},
            id="that others along it name",
        ),
        pytest.param(
            {"b": array("nm"), "d": array("nx", coordinates="b")},
            {"a": says(Coordinate("b", stored("g/b", "px")))},
            {"b": "p x", "d": "n x"},
            id="that others name but do not span",
        ),
        pytest.param(
            {"b": array("n", coordinates="b d"), "d": array("n", coordinates="b d")},
            {"a": says(*(Coordinate(it, stored(f"g/{it}")) for it in "bd"))},
            {"b": "x", "d": "x"},
            id="that coordinates name",
        ),
        pytest.param(
            {"b": array("n")},
            {
                "a": says(Coordinate("b", stored("g/b", "p"))),
                "b": says(Coordinate("p", stored("far/scalar", ""))),
            },
            {"b": "p", "far_p": ""},
            id="along a new dimension",
        ),
        pytest.param(
            {"b": array("np", coordinates="b")},
            {"a": says(Coordinate("b", stored("g/b", "pn", transposed=True)))},
            {"b": "n p", "g_b": "n p"},
            id="the other way round",
        ),
        pytest.param(
            {"b": array("n")},
            {"a": says(Coordinate("b", stored("g/b", "n", first=True)))},
            {"b": "n", "g_b": ""},
            id="in part",
        ),
        pytest.param(
            {"b": array("yx")},
            {"a": says(LON), "b": says(Coordinate("b", stored("far/lon", "yx")))},
            {"b": "y x", "lon": "y x"},
            id="called as one elsewhere",
        ),
    ],
)
def test_what_of_the_group_is_a_coordinate(
    arrays: dict[str, Any], said: dict[str, Interpretation], expected: dict[str, str]
) -> None:
    found = plan({"a": array("yx"), **arrays}, said)
    assert dims_of(found) == {"a": "y x", **expected}


def test_data_that_others_refer_to_stay_data() -> None:
    arrays = {name: array("yx") for name in "abcde"}
    said = {
        "a": says(Coordinate("d", stored("g/d", "yx"))),
        "b": says(Coordinate("d", stored("g/d", "yx", first=True))),
        "c": says(Coordinate("d", stored("g/d", "pq"))),
        "e": says(Coordinate("d", stored("g/d", "xy", transposed=True))),
    }
    found = variables_of(plan(arrays, said, first_class="d"))
    assert not found["d"].is_coordinate
    assert (found["d"].dims, found["d"].source) == (("y", "x"), stored("g/d", "yx"))
    assert found.keys() == {*arrays, "g_d", "g_d_1", "g_d_2"}


def test_an_array_that_several_have_as_a_coordinate_is_one() -> None:
    arrays = {name: array("yx") for name in "abcd"}
    of_times = says(Coordinate("d", stored("g/d", "yx"), DAYS))
    said = {"a": of_times, "b": says(Coordinate("d", stored("g/d", "yx"), DAYS), X), "c": of_times}
    found = plan(arrays, said)
    assert users_of(found) == {"d": "a b c", "x": "b"}
    assert variables_of(found)["d"].is_coordinate


def test_an_array_that_must_not_be_read_gets_no_index() -> None:
    said = {"a": says(Coordinate("x", stored("g/x")))}
    arrays = {"a": array("x"), "x": array("n"), "n": array("x")}
    beyond = IndexBudget(frozenset({Node(0, "g/x")}))
    assert dims_of(plan(arrays, said)) == {"a": "x", "x": "x", "n": "x"}
    assert dims_of(plan(arrays, said, budget=beyond))["x"] == "n"
    # Along another dimension than its own name nothing is read of it.
    said = {"a": says(Coordinate("b", stored("g/b")))}
    beyond = IndexBudget(frozenset({Node(0, "g/b")}))
    found = plan({"a": array("x"), "b": array("n")}, said, budget=beyond)
    assert dims_of(found) == {"a": "x", "b": "x"}


def test_an_array_of_the_group_that_is_not_wanted_is_no_other() -> None:
    made, there = Coordinate("b", inline(1, 2)), Coordinate("b", stored("g/b"))
    arrays = {"a": array("x"), "b": array("x")}
    found = plan(arrays, {"a": says(made, there)}, drop_variables=["b"])
    assert {it.name: it.source for it in found.variables if not it.is_own} == {
        "b": inline(1, 2),
        "g_b": stored("g/b"),
    }
    found = plan(arrays, {"a": says(there)}, drop_variables=["b"])
    assert [it.name for it in found.variables if it.source == stored("g/b")] == ["b"]


# What stands beside what is declared.

GRID = Regular(0, 1)
CENTRES = Computed(GRID, (2,), "<f8", ("x",))
EDGES = Computed(RegularBounds(GRID, -0.5, 0.25), (2, 2), "<f8", ("x", "s"))


@pytest.mark.parametrize(
    ("own", "declared", "stands"),
    [
        (array("x"), Coordinate("x", CENTRES), True),
        (array("x"), Coordinate("x", inline(1, 2)), True),
        (array("x"), Coordinate("x", stored("far/x")), True),
        (array("y"), Coordinate("x", CENTRES), False),
        (array("x"), Coordinate("x", HandlerVariable(xr.Variable("x", [1, 2]), "")), False),
        (array("x"), Coordinate("x", stored("g/x")), True),
    ],
)
def test_what_the_group_has_itself_stands(own: Array, declared: Coordinate, stands: bool) -> None:
    found = variables_of(plan({"a": array("yx"), "x": own}, {"a": says(declared)}))
    assert found["x"].source == stored("g/x", "".join(map(str, own.dims or ())))
    claimed = [claim.coordinate for claim, _node in found["x"].claims]
    is_rival = isinstance(declared.source, Stored) and declared.source != stored("g/x")
    is_compared = stands and not isinstance(declared.source, Stored)
    assert claimed == ([declared] if is_compared else [])
    rivals = {it.name: it.rival.own for it in found.values() if it.rival is not None}
    assert rivals == ({"far_x": "x"} if is_rival else {})
    others = {name: it.source for name, it in found.items() if not it.is_own}
    assert list(others.values()) == ([declared.source] if is_rival or not stands else [])


def test_a_field_of_the_group_stands_for_inline_values_alone() -> None:
    grid = Computed(GRID, (3, 2), "<f8", ("y", "x"))
    arrays = {"a": array("yx"), "lon": array("yx")}
    found = variables_of(plan(arrays, {"a": says(Coordinate("lon", grid))}))
    assert found.keys() == {"a", "lon"}
    assert found["lon"].is_coordinate
    assert found["lon"].claims
    found = variables_of(plan(arrays, {"a": says(LON)}))
    assert found.keys() == {"a", "lon", "far_lon"}
    assert (found["lon"].is_coordinate, found["lon"].claims) == (False, ())
    assert found["far_lon"].rival is None


def test_what_is_declared_of_a_coordinate_that_stands() -> None:
    terms = {"p": Coordinate("p", stored("far/scalar", ""))}
    other = replace(X, attributes=DAYS)
    declared = Coordinate("x", CENTRES, {"units": "m"}, formula_terms=terms)
    arrays = {"a": array("x"), "b": array("x"), "x": array("x", axis="X")}
    found = plan(arrays, {"a": says(declared), "b": says(other)})
    x, rival = variables_of(found)["x"], variables_of(found)["far_x"]
    assert x.attributes == {"units": "m", "formula_terms": "p: p"}
    assert x.identity is not None
    assert (rival.attributes, rival.is_coordinate) == (DAYS, True)
    assert rival.identity == (rival.source, ("units", DAYS["units"]))
    assert users_of(found) == {"x": "a b", "far_x": "b"}


@pytest.mark.parametrize(
    ("claimed", "arrays", "is_claimed"),
    [
        (CENTRES, {"x": array("x")}, True),
        (CENTRES, {"x": array("y")}, False),
        (CENTRES, {}, False),
    ],
)
def test_values_that_are_only_compared(
    claimed: Source, arrays: dict[str, Array], is_claimed: bool
) -> None:
    claim = Claim(Coordinate("x", claimed), "/attributes/here", 0.5)
    found = plan({"a": array("yx"), **arrays}, {"a": says(claims=(claim,))})
    expected = {"x": ((claim, Node(0, "g/a")),)} if is_claimed else {}
    assert {it.name: it.claims for it in found.variables if it.claims} == expected
    assert found.findings == ()


@pytest.mark.parametrize(
    ("own", "bounds", "source"),
    [
        (array("x"), EDGES, Offset(stored("g/x"), -0.5, 0.25, "s")),
        (
            array("x"),
            Offset(inline(1.0, 2.0), -1.0, 1.0, "s"),
            Offset(stored("g/x"), -1.0, 1.0, "s"),
        ),
        (array("x"), stored("far/tb", "xs"), stored("far/tb", "xs")),
        (Array(np.array([1, 2], "i2"), ("x",)), EDGES, Offset(stored("g/x"), -0.5, 0.25, "s")),
        (Array(["p", "q"], ("x",)), EDGES, None),
        (array("x", scale_factor="two"), EDGES, None),
        (Array(["p", "q"], ("x",)), stored("far/tb", "xs"), stored("far/tb", "xs")),
        (array("x", bounds="mine"), EDGES, None),
    ],
    ids=["grid", "offsets", "elsewhere", "integers", "texts", "nonsense", "of texts", "own"],
)
def test_boundaries_declared_of_what_stands_are_those_of_its_own_values(
    own: Array, bounds: Source, source: Source | None
) -> None:
    declared = Coordinate("x", CENTRES, bounds=Coordinate("x_bounds", bounds))
    planned = plan({"a": array("x"), "x": own}, {"a": says(declared)})
    found = variables_of(planned)
    assert planned.findings == ()
    assert ("bounds" in found["x"].attributes) is (source is not None)
    assert {it.name: it.source for it in found.values() if not it.is_own} == (
        {} if source is None else {"x_bounds": source}
    )
    assert all(it.bounds_of == "x" for it in found.values() if not it.is_own)


def test_boundaries_of_the_group_itself_stay_whatever_values_are_declared() -> None:
    declared = Coordinate("x", CENTRES, bounds=Coordinate("b", stored("g/b", "xn")))
    found = variables_of(plan({"x": array("x"), "b": array("xn")}, {"b": says(declared)}))
    assert found["x"].attributes == {"bounds": "b"}
    assert found["b"].bounds_of == ""


def test_boundaries_declared_of_a_scalar_that_stands() -> None:
    bounds = Offset(Literal(np.array(1.0), ()), -1.0, 1.0, "s")
    declared = Coordinate("p", bounds.values, bounds=Coordinate("p_bounds", bounds))
    found = variables_of(plan({"a": array("x"), "p": array()}, {"a": says(declared)}))
    assert found["p_bounds"].source == Offset(stored("g/p", ""), -1.0, 1.0, "s")


def test_what_an_attached_array_refers_to() -> None:
    cells = (Link("bounds", "tb", Coordinate("tb", stored("far/tb", "xn"))),)
    linked = Coordinate("c", stored("far/c"), links=cells)
    arrays = {"a": array("x"), "b": array("x", bounds="tb"), "tb": array("x")}
    itself = Coordinate("b", stored("g/b"), links=cells)
    found = plan(arrays, {"a": says(linked, itself)})
    assert variables_of(found)["c"].rewritten == {"bounds": "far_tb"}
    assert variables_of(found)["b"].rewritten == {}
    assert users_of(found) == {"b": "a", "c": "a", "far_tb": "a"}


# Copies: what was written again with its coordinates.


@pytest.mark.parametrize(
    ("name", "own", "is_copy"),
    [
        ("c", array("x", long_name="c"), True),
        ("far_c", array("x", long_name="c"), True),
        ("c", array("x", long_name="c", units="m", bounds="b", title="t"), True),
        ("c", array("x", long_name="d"), False),
        ("c", array("x"), False),
        ("c", array("n", long_name="c"), False),
        ("other", array("x", long_name="c"), False),
    ],
)
def test_which_array_of_the_group_is_a_copy(name: str, own: Array, is_copy: bool) -> None:
    arrays = {"a": array("x", coordinates="c far_c"), name: own}
    found = plan(arrays, {"a": says(Coordinate("c", stored("far/c")))})
    assert ({it.name for it in found.variables} == {"a", name}) is is_copy
    if is_copy:
        copy = variables_of(found)[name]
        assert (copy.is_coordinate, copy.source) == (True, stored("g/" + name))
        assert copy.identity == (copy.source,)
    # What nothing names was not written as a coordinate.
    found = plan({"a": array("x"), name: own}, {"a": says(Coordinate("c", stored("far/c")))})
    assert len(found.variables) == 3


def test_a_copy_is_one_of_one_array() -> None:
    arrays = {"a": array("z", coordinates="c"), "c": array("z")}
    both = [Coordinate("c", stored(f"far/{name}", "z")) for name in ("z", "zz")]
    found = variables_of(plan(arrays, {"a": says(*both)}))
    assert found.keys() == {"a", "c", "far_c"}
    assert found["far_c"].source == both[1].source


def test_what_is_made_is_no_copy() -> None:
    made = Coordinate("c", inline(1, 2, 3, 4, dim="z"))
    said = {"a": says(made, Coordinate("c", stored("far/z", "z")))}
    found = variables_of(plan({"a": array("z", coordinates="c")}, said))
    assert found.keys() == {"a", "c", "far_c"}


# What arrays have of the groups above.

BAD = AncestorCoordinate(Coordinate("bad", stored("far/bad")))
CELLS = {"bounds": {"tb": Coordinate("tb", stored("far/tb", "xn"))}}


def test_coordinates_of_groups_above() -> None:
    above = (
        AncestorCoordinate(Coordinate("x", stored("far/c")), CELLS),
        AncestorCoordinate(Coordinate("z", stored("far/z", "z"))),
    )
    arrays = {"a": array("zx"), "b": array("zx"), "c": array("zx"), "tb": array("y")}
    said = {"b": says(along("x", 1, 2)), "c": says(along("x", 1, 2))}
    inherited = {"a": above, "b": above}
    found = plan(arrays, {}, inherited=inherited)
    assert users_of(found) == {"x": "a b", "far_tb": "a b", "z": "a b"}
    assert variables_of(found)["x"].rewritten == {"bounds": "far_tb"}
    # What a convention says of an array goes before.
    found = plan(arrays, said, inherited={"c": above})
    assert users_of(found) == {"x": "b c", "z": "c"}
    assert found.findings == ()


def test_coordinates_of_groups_above_that_cannot_be_opened() -> None:
    partly = {"bounds": {"tb": replace(BAD.coordinate, name="tb")}}
    above = (
        BAD,
        AncestorCoordinate(Coordinate("x", stored("far/c")), partly),
        AncestorCoordinate(Coordinate("z", stored("far/z", "z"))),
    )
    found = plan({"a": array("zx"), "b": array("zx")}, {}, inherited={"a": above, "b": above})
    assert users_of(found) == {"x": "a b", "z": "a b"}
    assert variables_of(found)["x"].rewritten == {}
    lost = [(it.arrays, it.lost) for it in found.findings]
    names = ("bad", "tb")
    assert lost == [((f"/g/{it}",), f"coordinate {name!r}") for it in "ab" for name in names]
    assert all("/far/bad cannot be opened: " in it.text for it in found.findings)


def test_what_fails_of_one_array_is_told_of_it() -> None:
    said = {
        "a": says(along("x", 1, 2)),
        "b": says(Coordinate("x", BAD.coordinate.source), LON),
        "c": says(Coordinate("x_b", stored("far/scalar", ""))),
    }
    found = plan({name: array("yx") for name in said}, said)
    failed = [it.arrays for it in found.findings if it.error is not None]
    assert failed == [("/g/b",)]
    assert dims_of(found) == {
        "a": "y x",
        "b": "y x_b",
        "c": "y x",
        "x": "x",
        "far_x_b": "",
    }


# What must not be read.


def test_what_is_told_of_coordinates_without_an_index() -> None:
    beyond = IndexBudget(frozenset({Node(0, "far/x")}))
    other = Coordinate("c", stored("far/x"))
    arrays = {"a": array("x"), "b": array("x"), "c": array("y")}
    (told,) = plan(arrays, {"a": says(X)}, budget=beyond).findings
    assert "'x' of length 2 is called 'far_x' and has no index" in told.text
    (told,) = plan(arrays, {"a": says(other)}, budget=beyond).findings
    assert "'c' is something else here" in told.text
    # Beside the group's own coordinate it would have to be read to tell whether it is the same.
    arrays["x"] = array("x")
    found = plan(arrays, {"a": says(X)}, budget=beyond)
    assert "has no index" in found.findings[0].text
    assert variables_of(found)["far_x"].rival is None
    found = plan(arrays, {"a": says(X)})
    assert found.findings == ()
    rival = variables_of(found)["far_x"].rival
    assert rival is not None
    assert "'x' is something else here" in rival.finding.text


def test_a_new_name_of_a_dimension_is_nothing_else() -> None:
    arrays = {"a": array("x"), "x_p": array("y"), "v": Array([1.0] * 3, ("x_s",))}
    said = {
        "a": says(
            Coordinate("p", stored("far/z")),
            Coordinate("s", inline(1, 2, 3, 4, 5)),
        )
    }
    found = dims_of(plan(arrays, said))
    assert {name: found[name] for name in "ps"} == {"p": "x_p_1", "s": "x_s_1"}


# Grid mappings.

UTM, GEODETIC = Crs("proj:code", "EPSG:32633"), Crs("proj:code", "EPSG:4326")
#: CRSs that are not understood: of their names no variable can be called.
ODD, OTHER = Crs("name", "???"), Crs("name", "!!!")
NAMING = {"grid_mapping": "crs"}
WKT = {crs.text: crs.grid_mapping()["crs_wkt"] for crs in (UTM, GEODETIC)}


def crs_of(found: GroupPlan) -> dict[str, Any]:
    """Return which grid mapping the variables name."""
    return {
        it.name: name
        for it in found.variables
        if (name := it.attributes.get("grid_mapping")) is not None
    }


def made_for_crs(found: GroupPlan) -> dict[str, str]:
    """Return the WKT of each grid mapping that was made."""
    made = (it for it in found.variables if not it.is_own and "crs_wkt" in it.attributes)
    return {it.name: it.attributes["crs_wkt"] for it in made}


def test_arrays_of_one_grid_have_one_grid_mapping() -> None:
    said, other = says(crs=UTM, geotransform="0 1 0 0 0 1"), says(crs=UTM, geotransform="0 1 0")
    again = says(X, crs=UTM, geotransform="0 1 0 0 0 1")
    arrays = {name: array("yx") for name in "abcde"} | {"f": array("yx", **NAMING)}
    told = {"a": said, "b": said, "c": again, "d": other, "e": says(crs=GEODETIC), "f": said}
    found = plan(arrays, told)
    assert crs_of(found) == {
        **dict.fromkeys("abc", "spatial_ref"),
        "d": "EPSG_32633",
        "e": "EPSG_4326",
    }
    assert made_for_crs(found) == {
        "spatial_ref": WKT[UTM.text],
        "EPSG_32633": WKT[UTM.text],
        "EPSG_4326": WKT[GEODETIC.text],
        "crs": WKT[UTM.text],
    }
    made = variables_of(found)
    transforms = {name: made[name].attributes.get("GeoTransform") for name in made_for_crs(found)}
    assert transforms == {
        "spatial_ref": said.geotransform,
        "EPSG_32633": other.geotransform,
        "EPSG_4326": None,
        "crs": said.geotransform,
    }
    assert "GeoTransform" not in made["EPSG_4326"].attributes
    for name in made_for_crs(found):
        assert made[name].source == Literal(np.array(0, np.int64), ())
        assert made[name].is_coordinate


def test_one_crs_is_the_same_to_other_groups() -> None:
    identities = [
        variables_of(plan({"a": array("yx")}, {"a": says(crs=crs)}))["spatial_ref"].identity
        for crs in (UTM, UTM, GEODETIC)
    ]
    assert identities[0] == identities[1] != identities[2]


@pytest.mark.parametrize(
    ("arrays", "said", "named"),
    [
        pytest.param({}, says(crs=UTM), {"a": "spatial_ref"}, id="none there"),
        pytest.param({"spatial_ref": Group()}, says(crs=UTM), {"a": "EPSG_32633"}, id="a group"),
        pytest.param(
            {"spatial_ref": array("x")}, says(crs=UTM), {"a": "EPSG_32633"}, id="a vector"
        ),
        pytest.param(
            {"spatial_ref": array("x"), "b": Array([1.0], ("EPSG_32633",))},
            says(crs=UTM),
            {"a": "EPSG_32633_1"},
            id="a vector and a dimension",
        ),
        pytest.param(
            {"b": Array([1.0], ("spatial_ref",))},
            says(crs=UTM),
            {"a": "EPSG_32633"},
            id="a dimension",
        ),
        pytest.param(
            {"spatial_ref": Group()}, says(crs=ODD), {"a": "spatial_ref_1"}, id="without a name"
        ),
        pytest.param(
            {"spatial_ref": array(crs_wkt=WKT[GEODETIC.text])},
            says(crs=UTM),
            {"a": "spatial_ref"},
            id="another one that nothing names",
        ),
        pytest.param(
            {
                "b": array("y", grid_mapping="spatial_ref"),
                "spatial_ref": array(crs_wkt=WKT[GEODETIC.text]),
            },
            says(crs=UTM),
            {"a": "EPSG_32633"},
            id="that of others",
        ),
        pytest.param(
            {
                "b": array("y", grid_mapping="spatial_ref"),
                "spatial_ref": array(crs_wkt=WKT[UTM.text]),
            },
            says(crs=UTM),
            {"a": "spatial_ref"},
            id="also that of others",
        ),
        pytest.param(
            {"b": array("yx")},
            says(Coordinate("b", stored("g/b", "yx"), crs=GEODETIC), crs=UTM),
            {"a": "spatial_ref", "b": "EPSG_4326"},
            id="of coordinates",
        ),
    ],
)
def test_which_grid_mapping_is_named(
    arrays: dict[str, Any], said: Interpretation, named: dict[str, str]
) -> None:
    assert crs_of(plan({"a": array("yx"), **arrays}, {"a": said})) == named


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("crs", {"crs"}),
        ("crs: x y", {"spatial_ref"}),
        (7, {"spatial_ref"}),
        ("x", set()),
        ("b", set()),
        ("h", set()),
    ],
    ids=str,
)
def test_what_an_array_names_that_is_no_grid_mapping(text: Any, made: set[str]) -> None:
    arrays: dict[str, Array | Group] = {"a": array("yx", grid_mapping=text), "b": array("z")}
    found = plan({**arrays, "h": Group()}, {"a": says(crs=UTM)})
    assert {it.name for it in found.variables} == {"a", "b", *made}
    assert (crs_of(found), found.findings) == ({}, ())


def test_coordinates_are_of_the_crs_of_what_they_locate() -> None:
    arrays = {
        "a": array("yx", coordinates="b"),
        "b": array("yx", bounds="c"),
        "c": array("yxn"),
        "d": array("yx"),
        "x": array("x"),
        "lon": array("yx"),
    }
    said = dict.fromkeys("abcdx", says(crs=UTM)) | {
        "lon": says(crs=UTM),
        "a": says(Coordinate("lon", stored("g/lon", "yx")), crs=UTM),
    }
    assert crs_of(plan(arrays, said)).keys() == {"a", "d"}
    assert crs_of(plan(arrays, said, first_class="bc")).keys() == set("abcd")


@pytest.mark.parametrize(
    ("own", "key"),
    [
        ({"crs_wkt": WKT[UTM.text]}, None),
        ({"crs_wkt": WKT[GEODETIC.text]}, "crs_wkt"),
        ({"spatial_ref": WKT[GEODETIC.text]}, "spatial_ref"),
        ({"crs_wkt": "?", "spatial_ref": WKT[GEODETIC.text]}, "spatial_ref"),
        ({"grid_mapping_name": "latitude_longitude"}, "grid_mapping_name"),
        ({"crs_wkt": 7}, None),
    ],
)
def test_a_grid_mapping_of_the_group_itself_stands(own: dict[str, Any], key: str | None) -> None:
    arrays = {"a": array("yx", **NAMING), "b": array("yx", **NAMING), "crs": array(**own)}
    grid = says(X, crs=UTM, geotransform="0 1 0")
    found = plan(arrays, {"a": grid, "b": says(crs=UTM, geotransform="0 1 0")})
    crs = variables_of(found)["crs"]
    assert crs.attributes.get("GeoTransform") == (None if key else "0 1 0")
    told = f"the CRS (proj:code) is another one than that of 'crs' ({key})"
    assert [told in it.text for it in found.findings] == ([True, True] if key else [])


def test_two_crs_of_one_name_are_told_even_if_its_own_is_not_understood() -> None:
    arrays = {
        "a": array("yx", **NAMING),
        "b": array("yx", **NAMING),
        "crs": array(crs_wkt="?", spatial_ref="?"),
    }
    found = plan(arrays, {"a": says(crs=UTM), "b": says(crs=GEODETIC)})
    assert [it.arrays for it in found.findings] == [("/g/b",)]


LOCATED = replace(LON, crs=GEODETIC)


@pytest.mark.parametrize(
    ("arrays", "attributes", "name"),
    [
        ({}, {}, "EPSG_4326"),
        ({}, NAMING, "crs"),
        ({}, {"grid_mapping": "crs: x y"}, "EPSG_4326"),
        ({}, {"grid_mapping": 7}, "EPSG_4326"),
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
    located = replace(LOCATED, source=stored("g/lon", "yx"))
    arrays = {"a": array("yx"), "lon": array("yx", **attributes), **arrays}
    found = plan(arrays, {"a": says(located)})
    assert crs_of(found) == ({} if attributes else {"lon": name})
    assert variables_of(found)[name].is_coordinate
    assert not found.findings


def test_the_crs_of_coordinates_is_not_that_of_the_grid() -> None:
    said = {"a": says(LOCATED, crs=GEODETIC, geotransform="0 1 0"), "b": says(crs=GEODETIC)}
    assert crs_of(plan({"a": array("yx")}, said)) == {"a": "spatial_ref", "lon": "EPSG_4326"}
    found = plan({"a": array("yx"), "b": array("yx")}, said)
    assert crs_of(found) == {"a": "spatial_ref", "b": "EPSG_4326", "lon": "EPSG_4326"}
    found = plan({"a": array("yx")}, {"a": says(replace(LON, crs=ODD))})
    assert crs_of(found) == {"lon": "crs"}
    scalar = Coordinate("EPSG_4326", stored("far/crs", ""))
    found = plan({"a": array("yx")}, {"a": says(scalar, LOCATED)})
    assert crs_of(found) == {"lon": "EPSG_4326_1"}
