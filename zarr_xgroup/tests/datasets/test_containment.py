"""A fault of one variable, name or node affects nothing else, whatever exception it causes."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from zarr_xgroup.tests.builders import (
    Array,
    Json,
    Nodes,
    assert_same,
    declaring,
    oracle,
    stored,
)
from zarr_xgroup.tests.tables import outcome, rows, store_of

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
    "a scale factor that is text": ({"scale_factor": "two"}, "scale_factor=two", "'scale_factor' is not a number"),
    "two that are text": ({"scale_factor": "", "add_offset": "two"}, "add_offset=two scale_factor=", "'scale_factor' is not a number; 'add_offset' is not a number"),
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
    undecoded = f"left undecoded, because xarray cannot decode it: {reason}"
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
    reason = r"((cannot decode it|undecoded times): \w+Error).*"
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
    "stored texts that are declared to be packed": (
        {**LABEL, "v": of_set(scale_factor=2.0), "w": of_set(scale_factor=2.0)},
        """
        label (x) a b | scale_factor=2.0
        x (x) 0 1
        v (x) @ label x
        w (x) @ label x
        ! Metadata: /v: its coordinate 'label': left undecoded, because xarray cannot decode it: 'scale_factor' is for numbers
        """,
    ),
    "units that are not a string": (
        {
            "t": along("h", external("g/h")), "g": {}, "g/h": ints("h", units={"of": "length"}),
            "u": along("i", EXPLICIT, attributes={"units": ["m"]}),
        },
        """
        h (h) int32 1 2 | units={"of": "length"}
        i (i) 1 2 | units=["m"]
        t (h) @ h
        u (i) @ i
        """,
    ),
    "texts that are boundaries of times": (
        {"y": ints("y", bounds="b", **TIMES), "b": stored([["a", "b"], ["c", "d"]], "y side")},
        """
        y (y) 2000-01-02 2000-01-03 | bounds=b
        b (y side) @ y | units=days since 2000-01-01
        ! Metadata: /b: left undecoded, because xarray cannot decode it: ValueError
        """,
    ),
    "boundaries of times in an unknown calendar": (
        {"y": ints("y", bounds="b", calendar="martian", **TIMES), "b": stored([[0.5, 1.5], [1.5, 2.5]], "y side")},
        """
        y (y) int32 1 2 | bounds=b calendar=martian units=days since 2000-01-01
        b (y side) @ y
        ! Metadata: /y: opened with undecoded times: 'martian' is not a calendar in which times can be decoded
        """,
    ),
    "dimensions with the names of computed coordinates": (
        {"v": cells("bounds"), "w": cells("spatial_ref")},
        """
        EPSG_4326 () EPSG:4326
        bounds (bounds) 0 1 2 | bounds=bounds_bounds
        bounds_bounds (bounds bounds_1) [[-0.5 0.5] [0.5 1.5] [1.5 2.5]]
        spatial_ref (spatial_ref) 0 1 2 | bounds=spatial_ref_bounds
        spatial_ref_bounds (spatial_ref bounds_spatial_ref_bounds) [[-0.5 0.5] [0.5 1.5] [1.5 2.5]]
        v (bounds) @ EPSG_4326 bounds | grid_mapping=EPSG_4326
        w (spatial_ref) @ EPSG_4326 spatial_ref | grid_mapping=EPSG_4326
        ! Dimension: /w: dimensions of its coordinate 'spatial_ref_bounds' have a different size in this group; renamed 'bounds' -> 'bounds_spatial_ref_bounds'
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
        ! Dimension: /w: dimensions of its coordinate 'b' have a different size in this group; renamed 's' -> 's_b'
        """,
    ),
}  # fmt: skip


@rows(WRONG)
def test_a_fault_affects_no_other_variable(nodes: Nodes, expected: str) -> None:
    check_but_reasons({"": {}, **nodes}, expected)
