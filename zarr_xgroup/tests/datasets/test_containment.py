"""What is wrong with one variable, name or node costs that alone, whatever is raised for it."""

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version

from zarr_xgroup import XGroupMetadataError
from zarr_xgroup.datasets.build import Builder
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import containing
from zarr_xgroup.metadata.documents import JsonObject
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Json,
    Nodes,
    assert_same,
    build,
    compare,
    declaring,
    opened,
    opened_with_warnings,
    oracle,
    quietly,
    recording_store,
    stored,
)
from zarr_xgroup.tests.tables import check, outcome, rows, store_of
from zarr_xgroup.variables.sources import Literal

TIMES = {"units": "days since 2000-01-01"}

#: Beside what is wrong: one for each thing that xarray decodes.
SOUND: Mapping[str, Array] = {
    "time": stored(np.array([1, 2], "i4"), "time", **TIMES),
    "packed": Array(np.array([1, 2], "i2"), ("time",), {"scale_factor": 0.5}, missing=2),
    "lat": stored([1.0, 2.0], "time"),
    "v": stored([1.0, 2.0], "time", coordinates="lat", units="K"),
}


def ints(dim: str = "x", **attrs: Any) -> Array:
    return stored(np.array([1, 2], "i4"), dim, **attrs)


def data(dim: str = "x", *conventions: str, **attrs: Any) -> Array:
    return stored([1.0, 2.0], dim, **(declaring(*conventions) if conventions else {}), **attrs)


def along(dim: str, values: Any, axis: Json | None = None, **more: Any) -> Array:
    """Return an array whose coordinate along a dimension is declared by cs."""
    axes = {dim: {"coordinates": [{"values": values, **more}], **(axis or {})}}
    return data(dim, "cs", cs={"crs": [{"axes": axes}]})


EXPLICIT = {"explicit": [1, 2]}


def external(path: str) -> Json:
    return {"external": {"node": path}}


# What xarray raises when it decodes a variable, or builds its index.

#: Attributes by which the values of a coordinate cannot be had, as text, and what is told of them.
UNREADABLE: dict[str, tuple[Json, str, str]] = {
    "a scale factor that is text": ({"scale_factor": "two"}, "scale_factor=two", "'scale_factor' is no number"),
    "an empty scale factor": ({"scale_factor": ""}, "scale_factor=", "'scale_factor' is no number"),
    "a scale factor that is an object": ({"scale_factor": {"a": 1}}, 'scale_factor={"a": 1}', "'scale_factor' is no number"),
    "an offset that is text": ({"add_offset": "two"}, "add_offset=two", "'add_offset' is no number"),
    "two that are text": ({"scale_factor": "", "add_offset": "two"}, "add_offset=two scale_factor=", "'scale_factor' is no number; 'add_offset' is no number"),
    "the encoding of text": ({"_Encoding": "utf-8"}, "_Encoding=utf-8", "AttributeError"),
}  # fmt: skip


@rows(UNREADABLE, "attrs, text, reason")
def test_coordinates_that_cannot_be_decoded_are_left_undecoded(
    attrs: Json, text: str, reason: str
) -> None:
    nodes: Nodes = {
        "": {}, **SOUND, "x": ints(**attrs), "w": data(),
        "bounded": along("x", EXPLICIT, boundaries={"regular": [-0.5, 0.5]}),
        "declared": along("d", EXPLICIT, attributes=attrs),
        "of_array": along("a", external("g/a"), attributes=attrs),
        "of_own": along("b", external("g/b")),
        "g": {}, "g/a": ints("a"), "g/b": ints("b", **attrs),
        "below": {}, "below/c": ints("c", **attrs), "below/w": along("c", external("c")),
    }  # fmt: skip
    place = f"/x#/attributes/{next(iter(attrs))} and 2 more: " if "number" in reason else ""
    undecoded = f"left undecoded, xarray cannot decode it: {reason}"
    tree = check_but_reasons(
        nodes,
        f"""
        /:
        a (a) int32 1 2 | {text}
        b (b) int32 1 2 | {text}
        d (d) 1 2 | {text}
        x (x) int32 1 2 | {text}
        w (x) @ x
        /below:
        c (c) int32 1 2 | {text}
        w (c) @ c
        /g:
        ! Metadata: /x, /below/c, /g/b: {place}{undecoded}
        ! Metadata: /declared: its coordinate 'd': {undecoded}
        ! Metadata: /of_array: its coordinate 'a': {undecoded}
        ! Metadata: /of_own: its coordinate 'b': {undecoded}
        """,
        only="a b c d w x x_bounds",
        function=xr.open_datatree,
    )
    sound = oracle(xr.open_dataset, store_of({"": {}, **SOUND}))
    assert_same(tree.to_dataset()[["packed", "v"]], sound[["packed", "v"]])


def check_but_reasons(nodes: Nodes, expected: str, **options: Any) -> Any:
    """Assert what a store opens as; of the reasons of xarray, which differ by version, the kind counts."""
    opened, found = outcome(nodes, **options)
    reason = r"((cannot decode it|undecoded): \w+Error).*"
    found = [re.sub(reason, r"\1", line) for line in found]
    assert found == [line.strip() for line in expected.strip().splitlines()]
    return opened


def of_set(**more: Any) -> Array:
    """Return an array with a coordinate `x` and another one, that is the array `label` of a group."""
    label = {"name": "label", "values": external("/axes/label"), "attributes": more}
    axes = {"x": {"coordinates": [{"values": {"regular": [0, 1]}}, label]}}
    return data("x", "cs", cs={"crs": [{"axes": axes}]})


LABEL: Nodes = {"axes": {}, "axes/label": stored(["a", "b"], "x")}
PROJ = {"proj:code": "EPSG:4326"}


def cells(dim: str) -> Array:
    """Return an array with a CRS, and a coordinate with bounds."""
    axis = {"values": {"regular": [0, 1]}, "boundaries": {"regular": [-0.5, 0.5]}}
    cs = {"crs": [{"axes": {dim: {"coordinates": [axis]}}}]}
    return stored(np.arange(3.0), dim, **declaring("cs", "proj", cs=cs, **PROJ))


#: Nodes below a root -> what the root opens as.
WRONG: dict[str, tuple[Nodes, str]] = {
    "an array whose scale factor is text": (
        {"y": ints(scale_factor="two")},
        """
        y (x) | scale_factor=two
        ! Metadata: /y#/attributes/scale_factor: left undecoded, xarray cannot decode it: 'scale_factor' is no number
        """,
    ),
    "several scale factors": (
        {"x": ints(scale_factor=[1, 2]), "w": data()},
        """
        x (x) int32 1 2 | scale_factor=[1, 2]
        w (x) @ x
        ! Metadata: /x: left undecoded, xarray cannot decode it: ValueError
        """,
    ),
    "stored texts that are declared to be packed": (
        {**LABEL, "v": of_set(scale_factor=2.0), "w": of_set(scale_factor=2.0)},
        """
        label (x) a b | scale_factor=2.0
        x (x) 0 1
        v (x) @ label x
        w (x) @ label x
        ! Metadata: /v: its coordinate 'label': left undecoded, xarray cannot decode it: ValueError
        """,
    ),
    "units that are no text": (
        {
            "t": along("h", external("g/h")), "g": {}, "g/h": ints("h", units={"of": "length"}),
            "u": along("i", EXPLICIT, attributes={"units": ["m"]}),
            "v": along("j", EXPLICIT, axis={"attributes": {"units": 5}}),
            "w": along("k", EXPLICIT, axis={"unit": {}}),
        },
        """
        h (h) int32 1 2 | units={"of": "length"}
        i (i) 1 2 | units=["m"]
        j (j) 1 2 | units=5
        k (k) 1 2
        t (h) @ h
        u (i) @ i
        v (j) @ j
        w (k) @ k
        ! Resolution: /w was opened without 'unit' of axis 'k': /w#/attributes/cs/crs/0/axes/k/unit/ucum: is missing
        """,
    ),
    "texts that are boundaries of times": (
        {"y": ints("y", bounds="b", **TIMES), "b": stored([["a", "b"], ["c", "d"]], "y side")},
        """
        y (y) 2000-01-02 2000-01-03 | bounds=b
        b (y side) @ y | units=days since 2000-01-01
        ! Metadata: /b: opened with its times undecoded: ValueError
        """,
    ),
    "dimensions called as what is made": (
        {"v": cells("bounds"), "w": cells("spatial_ref")},
        """
        EPSG_4326 () EPSG:4326
        bounds (bounds) 0 1 2 | bounds=bounds_bounds
        bounds_bounds (bounds bounds_1) [[-0.5 0.5] [0.5 1.5] [1.5 2.5]]
        spatial_ref (spatial_ref) 0 1 2 | bounds=spatial_ref_bounds
        spatial_ref_bounds (spatial_ref bounds_spatial_ref_bounds) [[-0.5 0.5] [0.5 1.5] [1.5 2.5]]
        v (bounds) @ EPSG_4326 bounds | grid_mapping=EPSG_4326
        w (spatial_ref) @ EPSG_4326 spatial_ref | grid_mapping=EPSG_4326
        ! Dimension: /w: dimensions of its coordinate 'spatial_ref_bounds' have another size here, and were renamed 'bounds' -> 'bounds_spatial_ref_bounds'
        """,
    ),
    "coordinates along the name of the grid mapping, along a scalar, and along one dimension twice": (
        {
            "g": {}, "g/a": stored(np.zeros(3), "spatial_ref"), "g/b": stored(np.zeros(3), "s"),
            "g/c": stored(np.zeros((2, 3)), ("x", "x")), "s": stored(3.0),
            "w": data("x", "proj", "ref", **{it: {"node": f"g/{it}"} for it in "abc"}, **PROJ),
        },
        """
        EPSG_4326 () EPSG:4326
        a (spatial_ref) 0.0 0.0 0.0
        b (s_b) 0.0 0.0 0.0
        c (x c_dim_1) [[0.0 0.0 0.0] [0.0 0.0 0.0]]
        s () @ EPSG_4326
        w (x) @ EPSG_4326 | a={"node": "g/a"} b={"node": "g/b"} c={"node": "g/c"} grid_mapping=EPSG_4326
        ! Dimension: /w: dimensions of its coordinate 'b' have another size here, and were renamed 's' -> 's_b'
        """,
    ),
    "grid mappings that name dimensions": (
        {
            "u": stored(np.zeros(3), "spatial_ref"),
            "v": data("x", "proj", grid_mapping="x", **PROJ),
            "w": data("x", "proj", grid_mapping="spatial_ref", **PROJ),
        },
        """
        u (spatial_ref)
        v (x) | grid_mapping=x
        w (x) | grid_mapping=spatial_ref
        """,
    ),
}  # fmt: skip


@rows(WRONG)
def test_what_is_wrong_costs_nothing_else(nodes: Nodes, expected: str) -> None:
    check_but_reasons({"": {}, **nodes}, expected)


def test_a_coordinate_called_as_a_child_group_has_another_name() -> None:
    nodes = {"": {}, "w": along("x", {"regular": [0, 1]}), "x": {}, "x/q": data()}
    check(
        nodes,
        """
        /:
        x_1 (x) 0 1
        w (x) @ x_1
        /x:
        q (x)
        ! Name: /w: its coordinate 'x' is called 'x_1', because 'x' is something else here or cannot be a name
        """,
        function=xr.open_datatree,
    )


def test_an_array_of_the_group_that_has_a_dimension_twice_stays_as_it_is() -> None:
    nodes: Nodes = {"": {}, "w": data("x", "ref", it={"node": "a"})}
    store = store_of({**nodes, "a": stored(np.zeros((2, 2)), ("x", "x"))})
    dataset = quietly(xr.open_dataset, store, engine="xgroup")  # xarray warns of it
    assert dataset.coords["a"].dims == ("x", "x")


# What depends on the version of xarray.


def test_empty_booleans_that_are_to_be_times() -> None:
    store = store_of({"": {}, "x": Array(np.zeros(0, bool), ("x",), TIMES)})
    dataset, given = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].shape == (0,)
    if dataset["x"].dtype == bool:  # some versions can decode them
        start = "/x: opened with its times undecoded: UnboundLocalError: "
        assert [str(it).startswith(start) for it in given] == [True]


def refuses_formula_terms(terms: str) -> bool:
    """Tell whether this version of xarray refuses them, or only warns."""
    formula = {"x": xr.Variable("x", [1], {"formula_terms": terms})}
    try:
        quietly(xr.conventions.decode_cf_variables, formula, {}, decode_coords="all")
    except ValueError:
        return True
    return False


@pytest.mark.skipif(not refuses_formula_terms("a b"), reason="this xarray takes them for terms")
@pytest.mark.parametrize("is_scaled", [False, True])
def test_relations_that_make_no_sense(is_scaled: bool) -> None:
    attrs: Json = {"formula_terms": "a b", "coordinates": 5}
    attrs |= {"scale_factor": [1, 2]} if is_scaled else {}
    dataset, (told,) = opened_with_warnings(
        xr.open_dataset, store_of({"": {}, "x": ints(**attrs)}), decode_coords="all"
    )
    without = "/x#/attributes/coordinates: opened without 'coordinates', 'formula_terms'"
    assert str(told).startswith("/x: left undecoded" if is_scaled else without)
    assert "must be a string" not in str(told)
    assert dataset["x"].values.tolist() == [1, 2]
    assert dataset["x"].attrs == attrs


def test_stored_texts_that_are_declared_to_be_something_harmless_are_not_read() -> None:
    store = recording_store(build({"": {}, **LABEL, "v": of_set(long_name="name")}))
    dataset = opened(xr.open_dataset, store)
    if Version("2025.1") <= XARRAY:  # those before read texts to find out that they are some
        assert not store.chunk_gets
    assert dataset.coords["label"].values.tolist() == ["a", "b"]


def test_own_texts_that_say_to_be_packed_are_opened_as_by_engine_zarr() -> None:
    store = store_of({"": {}, "y": stored(["a", "b"], "x", scale_factor=2.0)})
    dataset = opened(xr.open_dataset, store)
    with pytest.raises(Exception, match=r"ufunc|multiply|str"):
        dataset["y"].load()


def test_a_trial_of_one_variable_warns_of_nothing() -> None:
    x = ints(scale_factor="two", grid_mapping="crs")
    store = store_of({"": {}, "x": x, "crs": stored(np.int32(0))})
    _dataset, told = opened_with_warnings(xr.open_dataset, store, decode_coords="all")
    assert len(told) == 1


def test_nothing_is_wrong_where_nothing_is_decoded() -> None:
    compare(xr.open_dataset, store_of({"": {}, "y": ints(scale_factor="two")}), decode_cf=False)


# Whatever is raised.


def test_variables_that_do_not_go_together_are_left_out() -> None:
    def planned(name: str, *dims: str, size: int = 2) -> PlannedVariable:
        source = Literal(np.full((size,) * len(dims), name), dims)
        return PlannedVariable(name, source, dims, {}, is_own=True)

    def made(source: Literal) -> xr.Variable:
        if "e" in source.values:
            raise ZeroDivisionError
        return xr.Variable(source.dims, source.values, encoding={"source": "g"})

    variables = (
        *(planned("a", "x"), planned("b", "x", size=3), planned("c", "x")),
        *(planned("d", "y", size=4), planned("e", "y", size=4), planned("f", "y", size=5)),
        planned("y"),
    )
    library = SimpleNamespace(read_values=lambda _arrays: {})
    factory = SimpleNamespace(variable=made, attributes=lambda _node: JsonObject({}))
    planning: Any = SimpleNamespace(
        factory=factory, library=library, decoding={}, dropped=frozenset()
    )
    reading: Any = SimpleNamespace(node=Node(0, "g"))
    plan = GroupPlan(reading, variables, ())
    dataset, findings = Builder([plan], planning, with_indexes=True).dataset(plan)
    assert set(dataset.variables) == {"a", "c", "d"}
    assert [finding.arrays for finding in findings] == [("/g/e",), ("/g/b",), ("/g/f",), ("/g/y",)]
    assert all(finding.text.startswith("left out") for finding in findings)


class OddError(Exception):
    """Of no class that anybody would think of."""


class _HiddenError(OddError):
    pass


@pytest.mark.parametrize("kind", [OddError, _HiddenError, RecursionError, MemoryError])
def test_whatever_is_raised_is_contained(kind: type[Exception]) -> None:
    public = OddError if kind is _HiddenError else kind
    error = kind("why")
    with pytest.raises(XGroupMetadataError) as told, containing():
        raise error
    assert str(told.value) == f"{public.__name__}: why"
    assert told.value.__cause__ is error


@pytest.mark.parametrize("error", [XGroupMetadataError("ours"), UserWarning(), KeyboardInterrupt()])
def test_what_passes(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised, containing():
        raise error
    assert raised.value is error
