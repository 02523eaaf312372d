"""CF across groups: the convention `cf`, declared or assumed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from zarr_xgroup import XGroupResolutionWarning, XGroupWarning
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    ZarrFormat,
    build,
    coordinate,
    declaring,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    recording_store,
    update,
)
from zarr_xgroup.tests.test_backend_roms import COMMITTED, GROUPS

DECLARED: Mapping[str, Any] = declaring("CF")
TIMES = {"units": "days since 2000-01-01", "calendar": "standard"}

each_format = pytest.mark.parametrize("zarr_format", [2, 3])
each_way = pytest.mark.parametrize("consolidated", [False, True])


def field(dims: tuple[str, ...] = ("y", "x"), size: int = 2, /, **attributes: Any) -> Array:
    return Array(np.arange(float(size ** len(dims))).reshape((size,) * len(dims)), dims, attributes)


def assuming(root: Group, group: str = "", zarr_format: ZarrFormat = 3, **options: Any) -> Any:
    store = memory_store(build(root, zarr_format))
    return opened(xr.open_dataset, store, group=group, assume_conventions="cf", **options)


def assuming_with_warnings(root: Group, group: str) -> Any:
    store = memory_store(build(root))
    return opened_with_warnings(xr.open_dataset, store, group=group, assume_conventions="cf")


# References.


def swath(dims: tuple[str, ...]) -> dict[str, Array]:
    """Return the latitudes and longitudes of a satellite product."""
    shape = (1, 3, 4)[-len(dims) :]
    cells = np.arange(12.0).reshape(shape)
    return {
        "latitude": Array(50 + cells, dims, {"units": "degrees_north"}, chunks=shape),
        "longitude": Array(9 + cells, dims, {"units": "degrees_east"}, chunks=shape),
    }


LINES = ("number_of_lines", "pixels_per_line")
SCANLINES = ("time", "scanline", "ground_pixel")
NASA = {"GEODATA": Group(swath(LINES))}
SENTINEL_5P = {"time": coordinate("time", [0], **TIMES), **swath(SCANLINES)}


def of_product(dims: tuple[str, ...], written: str) -> Array:
    shape = (1, 3, 4)[-len(dims) :]
    return Array(np.zeros(shape), dims, {"coordinates": written}, chunks=(*shape[:-2], 2, 3))


@pytest.mark.parametrize(
    ("group", "members"),
    [
        (
            "SCIENCE_DATA",
            {**NASA, "SCIENCE_DATA": Group({"a": of_product(LINES, "/GEODATA/latitude /GEODATA/longitude")})},
        ),
        (
            "SCIENCE_DATA/DETAILS",
            {
                **NASA,
                "SCIENCE_DATA": Group(
                    {"DETAILS": Group({"a": of_product(LINES, "../../GEODATA/longitude /GEODATA/latitude")})}
                ),
            },
        ),
        (
            "PRODUCT/SUPPORT_DATA/GEOLOCATIONS",
            {
                "PRODUCT": Group(
                    {
                        **SENTINEL_5P,
                        "SUPPORT_DATA": Group(
                            {"GEOLOCATIONS": Group({"a": of_product(SCANLINES, "longitude latitude")})}
                        ),
                    }
                )
            },
        ),
        (
            "PRODUCT/SUPPORT_DATA/INPUT_DATA",
            {
                "PRODUCT": Group(
                    {
                        **SENTINEL_5P,
                        "SUPPORT_DATA": Group(
                            {"INPUT_DATA": Group({"a": of_product(SCANLINES, "/PRODUCT/longitude /PRODUCT/latitude")})}
                        ),
                    }
                )
            },
        ),
    ],
    ids=["NASA", "NASA, a path up", "Sentinel-5P, names", "Sentinel-5P, paths"],
)  # fmt: skip
def test_latitudes_and_longitudes_of_satellite_products(group: str, members: Any) -> None:
    pytest.importorskip("dask")
    store: Any = recording_store(build(Group(members, DECLARED if group[0] == "P" else {})))
    options: Any = {"zarr_format": 3, "assume_conventions": "cf", "chunks": {}, "group": group}
    found = xr.open_dataset(store, engine="xgroup", **options)
    assert not {key for key in store.chunk_gets if "/time/" not in key}  # that one has an index
    assert {"latitude", "longitude"} == {*found["a"].coords} - {"time"}
    for name, first in (("latitude", 50), ("longitude", 9)):
        assert found[name].dims == found["a"].dims
        assert found[name].values.ravel().tolist() == [*range(first, first + 12)]
    assert "time" not in found["a"].dims or found["time"].values[0] == np.datetime64("2000-01-01")


def test_a_name_does_not_lead_to_a_sibling_group() -> None:
    """CF searches there for the coordinate variables of dimensions only (2.7)."""
    data = {"SCIENCE_DATA": Group({"a": of_product(LINES, "latitude longitude")})}
    found, told = assuming_with_warnings(Group({**NASA, **data}), "SCIENCE_DATA")
    assert not {*found["a"].coords}
    assert all("leads to no array" in str(it) for it in told)
    assert told


@pytest.mark.parametrize("written", ["b", "../b", "/a/b", "./b"])
def test_a_name_is_searched_upwards_and_a_path_is_not(written: str) -> None:
    near, far = Array(1.0, ()), Array(2.0, ())
    root = Group(
        {
            "b": far,
            "a": Group({"b": near, "c": Group({"d": Group({"v": field(coordinates=written)})})}),
        }
    )
    dataset, told = assuming_with_warnings(root, "a/c/d")
    if written in ("b", "/a/b"):
        assert float(dataset["b"]) == 1.0
        assert told == []
    else:
        assert "b" not in dataset.variables
        assert [type(warning) for warning in told] == [XGroupResolutionWarning]
        assert f"{written!r} leads to no array, tried" in str(told[0])


@each_format
@pytest.mark.parametrize("key", ["coordinates", "ancillary_variables"])
def test_a_name_is_that_of_an_array_along_dimensions_of_the_array(
    key: str, zarr_format: ZarrFormat
) -> None:
    coarse = {"lat": coordinate("lat", np.arange(4.0)), "lon": coordinate("lon", np.arange(8.0))}
    described = declaring("spatial", "CF") | {key: "lat lon"}
    described |= {"spatial:dimensions": ["y", "x"], "spatial:transform": [1.0, 0, 0, 0, -1.0, 0]}
    for fine, size in (({}, 6), ({"lat": field()}, 2)):
        array = field(("y", "x"), size, **described)
        root = Group({**coarse, "a": Group({**fine, "b": Group({"lat": Group(), "v": array})})})
        store = memory_store(build(root, zarr_format))
        dataset, told = opened_with_warnings(xr.open_dataset, store, group="a/b")
        # The nearest that fits is taken, whatever else there is of the name.
        assert set(dataset.coords) == {"y", "x", *(["a_lat"] if fine else [])}
        texts = [str(it) for it in told if isinstance(it, XGroupResolutionWarning)]
        places = [
            f"/a/b/v was opened without {name!r} of {key!r}: /a/b/v#/attributes/{key}: {name!r}"
            for name in ("lat", "lon")
        ]
        tried = "leads to no array along its dimensions, tried /a/b"
        assert [it.partition(f" {tried}")[0] for it in texts] == places[len(fine) :]


def test_letters_of_a_text_are_no_dimension_that_an_array_must_have() -> None:
    names = Array(np.array([[b"a", b"b", b"c"], [b"d", b"e", b"f"]], "S1"), ("y", "letters"))
    root = Group({"name": names, "g": Group({"v": field(coordinates="name")})})
    dataset = assuming(root, "g", 2)
    assert dataset["name"].values.tolist() == [b"abc", b"def"]


ATTRIBUTES = [
    ("coordinates", "lon", "lon"),
    ("bounds", "lon", "lon"),
    ("climatology", "lon", "lon"),
    ("ancillary_variables", "lon", "lon"),
    ("cell_measures", "area: lon", "area: lon"),
    ("cell_measures", "lon: lon", "lon: lon"),
    ("formula_terms", "a: lon b: /lon", "a: lon b: lon"),
    ("grid_mapping", "lon", "lon"),
    ("grid_mapping", "lon: p /q", "lon: p q"),
]


@pytest.mark.parametrize(("key", "written", "flat"), ATTRIBUTES)
def test_all_attributes(key: str, written: str, flat: str) -> None:
    root = Group({"lon": field(), "p": Array(0, ()), "q": Array(0, ()), "g": Group({"v": field()})})
    contents = build(root)
    contents = edit(contents, "g/v/zarr.json", update(attributes={key: written}))
    options: dict[str, Any] = {"group": "g", "assume_conventions": "cf", "decode_coords": False}
    dataset = opened(xr.open_dataset, memory_store(contents), **options)
    assert dataset["v"].attrs == {key: flat}
    assert "lon" in dataset.coords
    assert ("q" in dataset.coords) == ("q" in written)


@each_format
@pytest.mark.parametrize("declares", [True, False])
@pytest.mark.parametrize("itself", ["/ocean/s", "../ocean/s", "./s", "s"])
def test_all_terms_of_a_formula_get_flat_names(
    itself: str, zarr_format: ZarrFormat, declares: bool
) -> None:
    terms = f"s: {itself} C: /grid/C depth: ../grid/h depth_c: /grid/hc"
    members: dict[str, Array | Group] = {
        "s": coordinate("s", [0.0, 1.0], formula_terms=terms),
        "v": field(("s", "x")),
        "sub": Group({"w": field(("s", "x"))}),
    }
    grid = {"C": field(("s",)), "h": field(("x",)), "hc": Array(1.0, ())}
    ocean = Group(members, DECLARED if declares else {})
    store = memory_store(build(Group({"ocean": ocean, "grid": Group(grid)}), zarr_format))
    for group in ("ocean", "ocean/sub"):
        dataset = opened(xr.open_dataset, store, group=group, assume_conventions="cf")
        assert dataset["s"].attrs["formula_terms"] == "s: s C: C depth: h depth_c: hc"
        assert set(dataset.coords) == {"s", "C", "h", "hc"}


def test_what_is_in_the_group_stays_as_engine_zarr_has_it() -> None:
    members = {
        "x": coordinate("x", [1.0, 2.0], bounds="x_bounds"),
        "x_bounds": Array([[0.0, 1.0], [1.0, 2.0]], ("x", "bounds")),
        "crs": Array(0, (), {"grid_mapping_name": "latitude_longitude"}),
        "lon": field(),
        "v": field(
            coordinates="lon",
            grid_mapping="crs",
            cell_measures="area: area",
            ancillary_variables="quality",
        ),
        "area": field(),
        "quality": field(),
    }
    store = memory_store(build(Group({"g": Group(members)})))
    for decode_coords in (True, "all", False):
        options: dict[str, Any] = {"group": "g", "decode_coords": decode_coords}
        ours = opened(xr.open_dataset, store, assume_conventions="cf", **options)
        xr.testing.assert_identical(ours, oracle(xr.open_dataset, store, **options))


def test_what_is_attached_brings_what_it_refers_to() -> None:
    levels = {
        "lev": coordinate("lev", [0.1, 0.9], bounds="lev_bnds", formula_terms="a: lev ps: ps"),
        "lev_bnds": Array(
            [[0.0, 0.5], [0.5, 1.0]], ("lev", "nv"), {"formula_terms": "a: ../a_bnds ps: ps"}
        ),
        "ps": field(("x",)),
    }
    root = Group(
        {
            "a_bnds": Array([[0.0, 0.5], [0.5, 1.0]], ("lev", "nv")),
            "levels": Group(levels),
            "data": Group({"v": field(("lev", "x"))}),
        }
    )
    dataset = assuming(root, "data")
    assert set(dataset.coords) == {"lev", "lev_bnds", "ps", "a_bnds"}
    assert dataset["lev"].attrs["formula_terms"] == "a: lev ps: ps"
    assert dataset["lev"].attrs["bounds"] == "lev_bnds"
    assert dataset["lev_bnds"].attrs["formula_terms"] == "a: a_bnds ps: ps"


def test_boundaries_are_decoded_with_their_time() -> None:
    times = {
        "time": coordinate("time", [1.0, 2.0], bounds="time_bnds", **TIMES),
        "time_bnds": Array([[0.0, 1.0], [1.0, 2.0]], ("time", "nv")),
    }
    dataset = assuming(Group({**times, "g": Group({"v": field(("time",))})}), "g")
    expected = assuming(Group(times))
    xr.testing.assert_identical(dataset["time_bnds"].variable, expected["time_bnds"].variable)
    assert dataset["time_bnds"].dtype.kind == "M"


def test_two_of_one_name() -> None:
    root = Group(
        {
            "a": Group({"lon": field()}),
            "b": Group({"lon": field()}),
            "g": Group({"v": field(coordinates="/a/lon /b/lon")}),
        }
    )
    dataset, told = assuming_with_warnings(root, "g")
    assert dataset["v"].encoding["coordinates"] == "lon b_lon"
    assert set(dataset.coords) == {"lon", "b_lon"}
    assert len(told) == 1


def test_cycles_end() -> None:
    there = {"a": Array(0.0, (), {"coordinates": "b"}), "b": Array(0.0, (), {"coordinates": "a"})}
    root = Group({"there": Group(there), "g": Group({"v": field(coordinates="/there/a")})})
    dataset = assuming(root, "g")
    assert set(dataset.coords) == {"a", "b"}


def test_what_may_be_missing_is_not_told() -> None:
    root = Group(
        {"g": Group({"v": field(cell_measures="area: areacella", coordinates="y x")})},
        {"external_variables": "volcello areacella"},
    )
    dataset = assuming(root, "g")
    assert dataset["v"].attrs["cell_measures"] == "area: areacella"


def test_a_crs_further_up() -> None:
    pytest.importorskip("rioxarray")
    crs = Array(0, (), {"grid_mapping_name": "latitude_longitude", "crs_wkt": "EPSG:4326"})
    root = Group({"crs": crs, "g": Group({"v": field(grid_mapping="crs")})})
    assert assuming(root, "g")["v"].rio.crs.to_epsg() == 4326


# Coordinate variables of dimensions.


def dimension_tree(**members: Group | Array) -> Group:
    return Group({"a": Group({"b": Group({"v": field(("t",))}), **members})})


T = coordinate("t", [5.0, 7.0])
OTHER = coordinate("t", [6.0, 8.0])
LONGER = coordinate("t", [6.0, 8.0, 9.0])


@each_way
@each_format
@pytest.mark.parametrize(
    "members",
    [
        {"t": T},
        {"times": Group({"t": T})},
        {"t": T, "times": Group({"t": OTHER})},
        {"times": Group({"t": T, "more": Group({"t": OTHER})})},
        {"x": Group({"t": LONGER}), "y": Group({"deep": Group({"t": T})})},
    ],
    ids=["above", "aside", "above before aside", "less deep", "as long"],
)
def test_search(
    members: dict[str, Group | Array], zarr_format: ZarrFormat, consolidated: bool
) -> None:
    contents = build(dimension_tree(**members), zarr_format, consolidated=consolidated)
    options: dict[str, Any] = {"group": "a/b", "assume_conventions": "cf"}
    dataset = opened(xr.open_dataset, memory_store(contents), **options)
    assert dataset["t"].values.tolist() == [5.0, 7.0]
    assert dataset["v"].coords.keys() == {"t"}
    groups = opened(xr.open_groups, memory_store(contents), assume_conventions="cf")
    assert groups["/a/b"]["t"].values.tolist() == [5.0, 7.0]


@pytest.mark.parametrize(
    "root",
    [
        Group({"t": T, "a": Group({"t": LONGER, "b": Group({"v": field(("t",))})})}),
        Group({"x": Group({"t": T}), "a": Group({"t": LONGER, "b": Group({"v": field(("t",))})})}),
        Group({"a": Group({"b": Group({"v": field(("t",))})}), "t": Array(T.values, ("u",))}),
        Group({"a": Group({"b": Group({"v": field(("t",)), "t": Group()})}), "t": Array(0.0, ())}),
        Group(
            {"a": Group({"b": Group({"v": field(("t",))})}), "x": Group({"t": Array([1, 2], None)})}
        ),
    ],
    ids=["redefined", "redefined, aside", "other dimension", "scalar", "unnamed"],
)
def test_what_is_no_coordinate_of_the_dimension(root: Group) -> None:
    assert "t" not in assuming(root, "a/b").coords


def test_equally_near() -> None:
    root = dimension_tree(x=Group({"t": T}), y=Group({"t": OTHER}))
    dataset, told = assuming_with_warnings(root, "a/b")
    assert "t" not in dataset.coords
    assert len(told) == 1
    assert "/a/x/t, /a/y/t are equally near" in str(told[0])


def test_a_coordinate_that_the_array_refers_to_is_not_searched() -> None:
    v = field(("t",), coordinates="/x/t")
    root = Group({"x": Group({"t": T}), "a": Group({"t": OTHER, "b": Group({"v": v})})})
    assert assuming(root, "a/b")["t"].values.tolist() == [5.0, 7.0]


def test_a_broken_candidate_costs_nothing() -> None:
    contents = build(dimension_tree(x=Group({"t": OTHER}), y=Group({"t": T})))
    contents = edit(contents, "a/x/t/zarr.json", update(shape="broken"))
    options: dict[str, Any] = {"group": "a/b", "assume_conventions": "cf"}
    dataset = opened(xr.open_dataset, memory_store(contents), **options)
    assert dataset["t"].values.tolist() == [5.0, 7.0]


@each_way
def test_what_is_read(consolidated: bool) -> None:
    others = {f"x{n}": Group({"y": Group({"w": field()})}) for n in range(20)}
    root = dimension_tree(times=Group({"t": T}), **others)
    store = recording_store(build(root, consolidated=consolidated))
    dataset = opened(xr.open_dataset, store, group="a/b", assume_conventions="cf")
    assert "t" in dataset.coords
    assert max(store.metadata_gets.values()) == 1
    if consolidated:
        assert {key.rpartition("/")[0] for key in store.metadata_gets} == {"", "a/b"}


# NCZarr says which dimension is meant.


def nczarr(array: Array, *paths: str, zarr_format: ZarrFormat) -> Array:
    """Return an array whose metadata refer to its dimensions by their paths."""
    if zarr_format == 3:
        attributes = {**array.attrs, "_nczarr_array": {"dimension_references": list(paths)}}
        return Array(array.values, array.dims, attributes)
    return Array(array.values, array.dims, array.attrs, v2={"_NCZARR_ARRAY": {"dimrefs": [*paths]}})


@each_format
def test_arrays_of_one_shape_along_dimensions_of_several_groups(zarr_format: ZarrFormat) -> None:
    def along(path: str) -> Array:
        return nczarr(field(("t",)), path, zarr_format=zarr_format)

    root = Group(
        {
            "t": nczarr(OTHER, "/t", zarr_format=zarr_format),
            "a": Group(
                {
                    "t": nczarr(T, "/a/t", zarr_format=zarr_format),
                    "b": Group({"v": along("/a/t"), "w": along("/t")}),
                }
            ),
        }
    )
    store = memory_store(build(root, zarr_format))
    options: dict[str, Any] = {"group": "a/b", "assume_conventions": "cf"}
    dataset, told = opened_with_warnings(xr.open_dataset, store, **options)
    assert dataset["v"]["t"].values.tolist() == [5.0, 7.0]
    (dim,) = dataset["w"].dims
    assert dataset["w"][dim].values.tolist() == [6.0, 8.0]
    assert len(told) == 1


@each_format
def test_a_dimension_that_its_group_defines_is_not_searched_above(zarr_format: ZarrFormat) -> None:
    v = nczarr(field(("t",)), "/a/b/t", zarr_format=zarr_format)
    root = Group({"t": T, "a": Group({"b": Group({"v": v})})})
    assert "t" not in assuming(root, "a/b", zarr_format).coords


# Declared.


@each_format
@pytest.mark.parametrize("place", ["array", "group"])
def test_declared(place: str, zarr_format: ZarrFormat) -> None:
    v = field(("t",), **(DECLARED if place == "array" else {}))
    group = Group({"v": v}, DECLARED if place == "group" else {})
    store = memory_store(build(Group({"t": T, "g": group}), zarr_format))
    dataset = opened(xr.open_dataset, store, group="g")
    assert dataset["t"].values.tolist() == [5.0, 7.0]


def test_nothing_is_done_where_nothing_is_declared() -> None:
    store = memory_store(build(Group({"t": T, "g": Group({"v": field(("t",), coordinates="u")})})))
    ours = opened(xr.open_dataset, store, group="g")
    xr.testing.assert_identical(ours, oracle(xr.open_dataset, store, group="g"))


def test_beside_another_principal_convention() -> None:
    declared = declaring("cs", "CF")
    axes = {"y": {}, "x": {"coordinates": [{"values": {"explicit": [3.0, 4.0]}}]}}
    v = field(**declared, cs={"crs": [{"axes": axes}]}, coordinates="lon")
    x = coordinate("x", [8.0, 9.0])
    store = memory_store(build(Group({"lon": field(), "x": x, "g": Group({"v": v})})))
    dataset = opened(xr.open_dataset, store, group="g")
    assert dataset["x"].values.tolist() == [3.0, 4.0]
    assert "lon" in dataset["v"].coords


def test_the_handler_by_itself() -> None:
    root = zarr.open_group(COMMITTED, mode="r")
    array = root["ocean/temp"]
    assert isinstance(array, zarr.Array)
    assert CfHandler.detect(root, root, array) is False
    variables = CfHandler().get_variables(array, root, root)
    assert set(variables) == {
        "ocean_time",
        "s_rho",
        "lon_rho",
        "lat_rho",
        "Cs_r",
        "hc",
        "h",
        "zeta",
    }
    assert variables["s_rho"].attrs["formula_terms"] == (
        "s: s_rho C: Cs_r eta: zeta depth: h depth_c: hc"
    )


# A model's output.


COORDINATES = {
    "": set(),
    "grid": {"s_rho", "lon_rho", "lat_rho", "zeta"},
    "ocean": {"ocean_time", "s_rho", "lon_rho", "lat_rho", "Cs_r", "hc", "h"},
    "time": {"ocean_time"},
    "ocean/diagnostics": {"ocean_time", "lon_rho", "lat_rho"},
}


@pytest.mark.parametrize("group", GROUPS)
def test_the_ocean_model_opens_with_all_its_coordinates(group: str) -> None:
    name = group.strip("/")
    dataset = opened(xr.open_dataset, COMMITTED, group=name, assume_conventions="cf")
    assert dataset.coords.keys() == COORDINATES[name]
    theirs = oracle(xr.open_dataset, COMMITTED, group=name, consolidated=False)
    for variable in theirs.data_vars:
        np.testing.assert_array_equal(dataset[variable].values, theirs[variable].values)
        for other in dataset[variable].encoding.get("coordinates", "").split():
            assert other in dataset[variable].coords
    assert dataset.data_vars.keys() == theirs.data_vars.keys()


def test_the_tree_of_the_ocean_model_computes() -> None:
    cf_xarray = pytest.importorskip("cf_xarray")
    assert cf_xarray
    tree = opened(xr.open_datatree, COMMITTED, assume_conventions="cf")
    ocean = tree["ocean"].to_dataset()
    assert ocean.cf.coordinates["longitude"] == ["lon_rho"]
    assert set(ocean.cf.formula_terms["s_rho"].values()) <= set(ocean.variables)
    assert tree["ocean/diagnostics/mld"].sel(ocean_time="2026-05-04T06:00").dims[:1] == ("eta_rho",)


# Odd and hostile.


def test_a_dimension_twice_in_what_is_attached() -> None:
    twice = Array([[1.0, 2.0], [3.0, 4.0]], ("z", "z"), {"coordinates": "other"})
    there = {"twice": twice, "other": Array([1.0, 2.0], ("z",))}
    root = Group({"there": Group(there), "g": Group({"v": field(coordinates="/there/twice")})})
    dataset, _told = assuming_with_warnings(root, "g")
    assert dataset["v"].shape == (2, 2)


@pytest.mark.parametrize(
    "value", [5, None, [], {"a": 1}, "", ":", "a: ", "/", "..", "a//b", "/a/../b"]
)
@pytest.mark.parametrize("key", ["coordinates", "formula_terms", "grid_mapping", "bounds"])
def test_attributes_that_refer_to_nothing(key: str, value: Any) -> None:
    root = Group({"g": Group({"v": field(**{key: value}), "w": field()})})
    dataset, told = assuming_with_warnings(root, "g")
    assert set(dataset.data_vars) == {"v", "w"}
    assert all(isinstance(warning, XGroupWarning) for warning in told)


OUTSIDE = [
    "..",
    "../..",
    "/..",
    "/../private.zarr/x",
    "/g/../../private.zarr/x",
    "../../private.zarr/x",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_outside_of_the_store_is_asked_for(name: str) -> None:
    attributes = {"coordinates": name, "_nczarr_array": {"dimension_references": [name, "/x"]}}
    for dims in ((name, "x"), ("y", "x")):
        v = Array(np.ones((2, 2)), dims, attributes)
        w = Array([1.0, 2.0], (f"/{name}",))
        root = Group({"w": Array([1.0, 2.0], (name,)), "g": Group({"v": v, "w": w})})
        store = recording_store(build(root))
        opened_with_warnings(xr.open_dataset, store, group="g", assume_conventions="cf")
        assert not [key for key in store.metadata_gets if ".." in key.split("/")]


def test_many_that_refer_to_all_others() -> None:
    names = [f"a{number}" for number in range(60)]
    attributes = {"coordinates": " ".join(f"/there/{name}" for name in names)}
    members = {name: Array(0.0, (), attributes) for name in names}
    store = memory_store(build(Group({"there": Group(members), "g": Group(members)})))
    options: dict[str, Any] = {"assume_conventions": "cf", "group": "g"}
    dataset, told = opened_with_warnings(xr.open_dataset, store, **options)
    assert set(dataset.variables) == set(names)  # the group's own stand
    assert len([it for it in told if "refer to more than 100 others" in str(it)]) == 1


@pytest.mark.parametrize("consolidated", [False, True])
def test_groups_that_search_in_vain_list_each_group_once(consolidated: bool) -> None:
    groups = {f"g{number}": Group({"v": field(("t",))}) for number in range(30)}
    store = recording_store(build(Group(groups), consolidated=consolidated))
    opened(xr.open_datatree, store, assume_conventions="cf")
    assert max(store.metadata_gets.values()) == 1


@pytest.mark.parametrize("elsewhere", [[7.0, 8.0], [1.0, 2.0]], ids=["other", "equal"])
def test_a_path_beside_the_groups_own_coordinate(elsewhere: list[float]) -> None:
    paths = {"coordinates": "/other/x", "ancillary_variables": "../other/x"}
    group = {"x": Array([1.0, 2.0], ("x",)), "v": Array([5.0, 6.0], ("x",), paths)}
    root = Group({"other": Group({"x": Array(elsewhere, ("x",))}), "g": Group(group)})
    dataset, _told = assuming_with_warnings(root, "g")
    assert dataset["v"].encoding["coordinates"] == "x"
    assert dataset["x"].values.tolist() == [1.0, 2.0]
    # What is named and no coordinate is that which is named.
    assert dataset["v"].attrs["ancillary_variables"] == "other_x"
    np.testing.assert_array_equal(dataset["other_x"].values, elsewhere)


def test_what_is_named_twice_comes_with_its_boundaries_where_it_is_attached() -> None:
    names = {"coordinates": "../far/x", "ancillary_variables": "../far/x"}
    own = {"x": Array([1.0, 2.0], ("x",)), "v": Array([5.0, 6.0], ("x",), names)}
    edges = Array(np.ones((2, 2)), ("x", "n"))
    far = {"x": Array([7.0, 8.0], ("x",), {"bounds": "edges"}), "edges": edges}
    root = Group({"far": Group(far), "g": Group(own)})
    dataset, _told = assuming_with_warnings(root, "g")
    assert dataset["far_x"].attrs["bounds"] == "edges"
    assert set(dataset.coords) == {"x", "far_x", "edges"}


@each_format
@pytest.mark.parametrize("says", ["array", "coordinate"])
def test_a_dimension_of_which_one_of_two_arrays_says_the_group(
    says: str, zarr_format: ZarrFormat
) -> None:
    t, v = T, field(("t",))
    if says == "array":
        v = nczarr(v, "/t", zarr_format=zarr_format)
    else:
        t = nczarr(t, "/t", zarr_format=zarr_format)
    root = Group({"t": t, "g": Group({"v": v})})
    assert assuming(root, "g", zarr_format)["t"].values.tolist() == [5.0, 7.0]


def test_an_array_that_is_called_as_a_dimension_and_no_coordinate_keeps_others_away() -> None:
    own = Array(np.ones((2, 3)), ("t", "z"))
    dataset = assuming(Group({"t": T, "g": Group({"v": field(("t",)), "t": own})}), "g", 3)
    assert set(dataset.variables) == {"v", "t"}
    assert dataset["t"].dims == ("t", "z")


V = field(("t",))


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        pytest.param(
            Group({"t": T, "a": Group({"x": Group({"t": OTHER}), "b": Group({"v": V})})}),
            [5.0, 7.0],
            id="any above before those aside",
        ),
        pytest.param(
            Group({"a": Group({"t": LONGER, "x": Group({"t": T}), "b": Group({"v": V})})}),
            None,
            id="aside below another dimension",
        ),
        pytest.param(
            Group(
                {
                    "t": T,
                    "x": Group({"t": Array(0.0)}),
                    "a": Group({"b": Group({"v": field(("t",), coordinates="/x/t")})}),
                }
            ),
            [5.0, 7.0],
            id="beside a scalar that is called so",
        ),
    ],
)
def test_which_of_several_is_the_coordinate_of_a_dimension(
    root: Group, expected: list[float] | None
) -> None:
    coords = assuming_with_warnings(root, "a/b")[0]["v"].coords
    assert ("t" in coords) is (expected is not None)
    assert expected is None or coords["t"].values.tolist() == expected


@each_format
def test_the_groups_own_coordinate_stands_though_it_is_said_to_be_of_another_dimension(
    zarr_format: ZarrFormat,
) -> None:
    v = nczarr(V, "/t", zarr_format=zarr_format)
    own = nczarr(OTHER, "/g/t", zarr_format=zarr_format)
    store = memory_store(build(Group({"t": T, "g": Group({"v": v, "t": own})}), zarr_format))
    options: dict[str, Any] = {"group": "g", "assume_conventions": "cf"}
    dataset, _told = opened_with_warnings(xr.open_dataset, store, **options)
    assert [it.values.tolist() for it in dataset["v"].coords.values()] == [[6.0, 8.0]]


def test_groups_with_equal_arrays_have_the_coordinates_near_them() -> None:
    groups = {
        name: Group({"t": t, "below": Group({"v": V})}) for name, t in (("a", T), ("b", OTHER))
    }
    tree = opened(xr.open_groups, memory_store(build(Group(groups))), assume_conventions="cf")
    assert tree["/a/below"]["t"].values.tolist() == [5.0, 7.0]
    assert tree["/b/below"]["t"].values.tolist() == [6.0, 8.0]


def test_a_coordinate_of_a_dimension_that_cannot_be_opened_is_told() -> None:
    contents = edit(
        build(Group({"t": T, "g": Group({"v": V})})), "t/zarr.json", update(data_type="float1024")
    )
    options: dict[str, Any] = {"group": "g", "assume_conventions": "cf"}
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(contents), **options)
    assert set(dataset.variables) == {"v"}
    (text,) = map(str, told)
    lost = "/g/v was opened without coordinate 't'"
    assert text.startswith(f"{lost}: /g/v#/dimension_names: /t cannot be opened: ")


def test_the_coordinate_of_a_dimension_that_is_called_otherwise_is_called_like_it() -> None:
    group = Group({"v": V, "w": field(("t",), 3)})
    dataset, _told = assuming_with_warnings(Group({"t": LONGER, "g": group}), "g")
    (dim,) = dataset["w"].dims
    assert dataset["v"].dims == ("t",)
    assert {name: it.values.tolist() for name, it in dataset.coords.items()} == {dim: [6, 8, 9]}
