"""Arrays that declare their coordinates by `cs`, and what service conventions add to them."""

import copy
import inspect
import pickle
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import cftime
import numpy as np
import pytest
import xarray as xr
import zarr
from packaging.version import Version

from zarr_xgroup import (
    XGroupDimensionWarning,
    XGroupNameWarning,
    XGroupResolutionWarning,
    XGroupWarning,
)
from zarr_xgroup.tests.builders import (
    UUIDS,
    Json,
    ZarrFormat,
    declaring,
    opened,
    opened_with_warnings,
    recording_folder,
    some_pairs,
    without_principal,
)
from zarr_xgroup.tests.documents import (
    ALL_FORMS,
    FORMS,
    STORES,
    array,
    committed,
    crs_of,
    files,
    group,
    script,
    without_crs,
    write,
)
from zarr_xgroup.tests.samples import sample

STORE = STORES / "cs_test.zarr"
#: What scripts write, and is committed.
SCRIPTS = ("cs_test", "geolocation_test", "broken_refs", "roms_test", "spatial_test")
WGS84 = {"proj:code": "EPSG:4326"}

HAS_INDEX_OPTION = "create_default_indexes" in inspect.signature(xr.open_dataset).parameters
needs_index_option = pytest.mark.skipif(
    not HAS_INDEX_OPTION, reason="this xarray always builds indexes of dimension coordinates"
)


def of(name: str, **options: Any) -> xr.Dataset:
    """Open a group of the store, of which nothing may be told, and leave out the CRSs."""
    return without_crs(opened(xr.open_dataset, STORE, group=name, **options))


def check(
    dataset: xr.Dataset,
    name: str,
    values: Any,
    dims: tuple[str, ...] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> None:
    """Assert that a coordinate is exactly this, its dtype included."""
    coordinate = dataset.coords[name]
    expected = np.asarray(values)
    assert coordinate.dims == ((name,) if dims is None else dims)
    np.testing.assert_array_equal(coordinate.values, expected)
    assert coordinate.dtype == expected.dtype
    if attrs is not None:
        assert coordinate.attrs == attrs


def dates(*texts: str) -> Any:
    return np.array(texts, "datetime64[ns]")


# The store itself.


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_replace_a_store(tmp_path: Path, name: str) -> None:
    module = script(f"make_{name}_store")
    target = tmp_path / "store.zarr"
    module.write(target, zarr_format=2)
    (target / "stale").write_bytes(b"")
    module.write(target)
    assert files(target) == files(STORES / f"{name}.zarr")


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_leave_other_folders_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not a Zarr group; it is left alone"):
        script(f"make_{name}_store").write(tmp_path)
    assert files(tmp_path) == {"notes.txt": b"mine"}


@cache
def reference_tree() -> tuple[Any, list[XGroupWarning]]:
    """Return the tree of the committed store, read once, and what is told of it."""
    tree, told = opened_with_warnings(xr.open_datatree, STORE)
    return tree.load(), told


@ALL_FORMS
def test_all_forms_of_the_store_are_the_same(tmp_path: Path, form: tuple[ZarrFormat, bool]) -> None:
    reference, told = reference_tree()
    store = committed("cs_test", tmp_path / "cs_test.zarr", form)
    tree, given = opened_with_warnings(xr.open_datatree, store)
    xr.testing.assert_identical(tree, reference)
    assert [str(warning) for warning in given] == [str(warning) for warning in told]
    for name in ("axes", "times", "bounds", "references", "parametric/ocean"):
        dataset, _given = opened_with_warnings(xr.open_dataset, store, group=name)
        xr.testing.assert_identical(dataset, reference[name].to_dataset(inherit=False))


def test_all_that_is_told_of_the_store() -> None:
    _tree, given = opened_with_warnings(xr.open_datatree, STORE)
    told = [(type(warning), str(warning)) for warning in given]

    def renamed(array: str, name: str, to: str) -> tuple[type, str]:
        text = f"/collisions/{array}: its coordinate {name!r} is called {to!r}, because "
        return XGroupNameWarning, f"{text}{name!r} is something else here or cannot be a name"

    def diverging(array: str) -> tuple[type, str]:
        text = f"/collisions/{array}: other arrays of the group have other coordinate values "
        return XGroupDimensionWarning, f"{text}along its dimensions; renamed 'z' -> 'z_{array}'"

    other_size = (
        "/collisions/referring: dimensions of its coordinate 'grid' have another size here, "
        "and were renamed 'cell' -> 'cell_grid'"
    )
    other_node = (
        "/collisions/ambiguous/data#/attributes/cs/crs/0"
        "/axes/shared/coordinates/0/values/external: '../shared' was taken to be "
        "/collisions/shared, not /collisions/ambiguous/shared (which fits too)"
    )
    assert sorted(told, key=str) == sorted(
        [
            *(diverging(name) for name in "bcd"),
            renamed("referring", "quality", "collisions_other_quality"),
            renamed("referring", "other", "collisions_other_other"),
            (XGroupDimensionWarning, other_size),
            (XGroupResolutionWarning, other_node),
        ],
        key=str,
    )


def test_arrays_without_a_principal_convention() -> None:
    assert without_principal(xr.open_datatree, STORE) == []
    assert without_principal(xr.open_dataset, STORE, group="services") == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("axes", {"keyed", "listed", "swapped", "row"}),
        ("sets", {"track", "ordinal"}),
        ("scalars", {"tas"}),
        ("parametric/ocean", {"zeta", "temp", "w", "wind"}),
        ("described", {"field"}),
        ("identified", {"by_system", "by_cs", "not_geographic", "unknown", "rotated"}),
        ("services", {"flagged", "not_declaring", "mass", "grams", "scene"}),
        ("sharing/first", {"temp", "salt"}),
        ("sharing/second", {"oxygen"}),
        ("collisions", {"a", "b", "c", "d", "quality", "referring", "shared"}),
    ],
)
def test_only_first_class_arrays_are_data_variables(name: str, expected: set[str]) -> None:
    dataset, _given = opened_with_warnings(xr.open_dataset, STORE, group=name)
    assert set(dataset.data_vars) == expected


def test_every_data_variable_has_all_its_values() -> None:
    tree, _given = opened_with_warnings(xr.open_datatree, STORE)
    for node in tree.subtree:
        dataset = node.to_dataset(inherit=False)
        raw = xr.open_zarr(STORE / node.path.strip("/"), consolidated=False)
        for name in dataset.data_vars:
            np.testing.assert_array_equal(dataset[name].values, raw[name].values)


# Axes.

LON = {"units": "degrees", "axis": "X", "standard_name": "longitude", "bounds": "lon_bounds"}
LAT = {"units": "degrees", "axis": "Y", "standard_name": "latitude"}
TIMES = {"axis": "T", "standard_name": "time"}
LON_BOUNDS = [[-12.5, -7.5], [-7.5, -2.5], [-2.5, 2.5], [2.5, 7.5], [7.5, 12.5]]


@pytest.mark.parametrize("name", ["axes", "references"])
def test_the_same_axes_are_one_coordinate(name: str) -> None:
    dataset = of(name)
    check(dataset, "lon", [-10.0, -5.0, 0.0, 5.0, 10.0], attrs=LON)
    check(dataset, "lat", [50.0, 51.5, 54.0, 60.0], attrs=LAT)
    check(dataset, "lon_bounds", LON_BOUNDS, ("lon", "bounds"), {})
    assert set(dataset.coords) <= {"lon", "lat", "lon_bounds", "time"}


def test_coordinates_are_attached_by_dimension() -> None:
    dataset = of("axes")
    for name in ("keyed", "listed", "swapped"):
        assert set(dataset[name].coords) == {"lon", "lat"}
    assert set(dataset["row"].coords) == {"lon"}
    assert set(dataset.coords) == {"lon", "lat", "lon_bounds"}
    assert dataset["swapped"].dims == ("lon", "lat")
    assert dataset["keyed"].sel(lat=54.0, lon=5.0).item() == 13.0
    assert dataset["swapped"].sel(lat=54.0, lon=5.0).item() == 214.0


@pytest.mark.parametrize("name", ["by_sibling", "by_group", "by_chain", "by_escaped_key"])
def test_references_in_shared_systems(name: str) -> None:
    dataset = of("references")
    assert set(dataset[name].coords) == {"lon", "lat"}
    for months in ("month", "month_by_group", "month_by_node"):
        assert set(dataset[months].coords) == {"time"}
    expected = [
        cftime.DatetimeNoLeap(2026, 1, 16, 12, has_year_zero=True),
        cftime.DatetimeNoLeap(2026, 2, 15, has_year_zero=True),
        cftime.DatetimeNoLeap(2026, 3, 16, 12, has_year_zero=True),
    ]
    check(dataset, "time", expected, attrs=TIMES)
    assert isinstance(dataset.xindexes["time"].to_pandas_index(), xr.CFTimeIndex)


# Values.


def test_values_of_all_kinds() -> None:
    dataset = of("values")
    check(dataset, "integers", [10, 15, 20, 25], attrs={})
    check(dataset, "floats", [0.5 + 0.1 * i for i in range(4)], attrs={})
    check(dataset, "mixed", [1.0, 1.5, 2.0, 2.5], attrs={})
    check(dataset, "descending", [90, 60, 30, 0], attrs={})
    check(dataset, "whole", [1, 2, 4, 8], attrs={})
    check(dataset, "decimals", [0.25, 1.0, 10.0, 100.0], attrs={})
    check(dataset, "words", ["sand", "silt", "clay", "größer"], attrs={})
    check(dataset, "depth", [0.5, 1.5, 3.0, 7.0], attrs={"units": "m"})
    check(dataset, "code", [7, 5, 3, 1], attrs={})
    check(dataset, "level", np.array([1000, 850, 500, 200], np.int32), attrs={"units": "hPa"})
    check(dataset, "height", [2.0, 10.0, 50.0, 100.0], attrs={"long_name": "height"})
    # Packed: unpacked by xarray.
    assert dataset["age"].values.tolist() == [10.0, 10.5, 11.0, 11.5]
    assert dataset["age"].attrs == {"units": "km"}
    assert set(dataset.coords) == set(dataset.sizes)
    assert {f"along_{name}" for name in dataset.coords} == set(dataset.data_vars)
    for name in dataset.coords:
        assert dataset[f"along_{name}"].dims == (name,)
        assert set(dataset[f"along_{name}"].coords) == {name}


@pytest.mark.skipif(
    Version(zarr.__version__) < Version("3.1"), reason="this zarr warns of arrays of strings"
)
def test_strings_that_are_stored(tmp_path: Path) -> None:
    axes = {"station": {"coordinates": [{"values": {"external": {"node": "names"}}}]}}
    names = {
        **array([2], ["any"]),
        "data_type": "string",
        "fill_value": "",
        "codecs": [{"name": "vlen-utf8"}],
    }
    documents = {"": group(), "data": array([2], ["station"], with_axes(axes)), "names": names}
    store = write(
        tmp_path / "s.zarr", documents, {"names": np.array(["Ísafjörður", "Vík"], object)}
    )
    dataset = opened(xr.open_dataset, store)
    assert dataset["station"].values.tolist() == ["Ísafjörður", "Vík"]
    assert dataset["data"].sel(station="Vík").dims == ()


def test_the_source_of_a_resolved_array_is_known() -> None:
    dataset = of("values")
    for name in ("depth", "age", "code"):
        source = dataset[name].encoding["source"]
        assert source.endswith(f"/cs_test.zarr/values/sources/{name}")
    for name in ("integers", "words", "level"):
        assert "source" not in dataset[name].encoding
    assert of("references")["time"].encoding["source"].endswith("/cs_test.zarr/time")


def test_several_sets_of_an_axis() -> None:
    dataset = of("sets")
    check(dataset, "point", [1, 2, 3], attrs={})
    check(dataset, "distance", [0.0, 2.5, 4.0], ("point",), {"units": "km"})
    check(dataset, "point_2", ["start", "middle", "end"], ("point",), {})
    check(dataset, "depth", [12.0, 30.0, 21.0], ("point",), {"units": "m"})
    assert set(dataset["track"].coords) == {"point", "distance", "point_2", "depth"}


def test_axes_without_sets_count_positions() -> None:
    dataset = of("sets")
    check(dataset, "index", [0, 1, 2, 3], attrs={"axis": "X"})
    check(dataset, "rank", [0, 1], attrs={})
    assert set(dataset["ordinal"].coords) == {"index", "rank"}


def test_scalar_axes() -> None:
    dataset = of("scalars")
    height = {"units": "m", "axis": "Z", "positive": "up", "bounds": "height_bounds"}
    check(dataset, "height", 2.0, (), height)
    check(dataset, "height_bounds", [0.0, 2.0], ("bounds",), {})
    pressure = {"units": "hPa", "axis": "Z", "positive": "down"}
    check(dataset, "pressure", 850, (), pressure)
    check(dataset, "member", "r1i1p1f1", (), {})
    # 2026-02-30 and a day, in months of 30 days.
    expected = cftime.Datetime360Day(2026, 3, 1, has_year_zero=True)
    assert dataset["reference_time"].item() == expected
    assert dataset["reference_time"].dims == ()
    check(dataset, "realization", [7], attrs={})
    check(dataset, "cell", [0, 1, 2], attrs={})


# Times.


def test_months_of_360_day() -> None:
    expected = cftime.Datetime360Day(2007, 7, 1, has_year_zero=True)
    assert of("times")["in_months"].item() == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("epoch_30_february", cftime.Datetime360Day(2026, 3, 1, has_year_zero=True)),
        ("epoch_29_february", cftime.DatetimeAllLeap(2026, 3, 1, has_year_zero=True)),
        ("epoch_z_noleap", cftime.DatetimeNoLeap(2000, 1, 3, 6, 30, has_year_zero=True)),
        ("epoch_offset_360_day", cftime.Datetime360Day(2000, 1, 3, 4, 30, has_year_zero=True)),
        ("reference", cftime.DatetimeNoLeap(1850, 1, 2, has_year_zero=True)),
    ],
)
def test_epochs_in_a_calendar(name: str, expected: cftime.datetime) -> None:
    coordinate = of("times").coords[name]
    assert coordinate.item() == expected
    assert type(coordinate.item()) is type(expected)
    assert coordinate.dims == ()


LEAP_DAY = ("2000-02-29", "2000-03-01", "2000-03-02")


@pytest.mark.parametrize(
    ("calendar", "kind", "expected"),
    [
        ("standard", None, LEAP_DAY),
        ("gregorian", None, LEAP_DAY),
        ("proleptic_gregorian", None, LEAP_DAY),
        ("none", None, LEAP_DAY),
        ("julian", cftime.DatetimeJulian, LEAP_DAY),
        ("all_leap", cftime.DatetimeAllLeap, LEAP_DAY),
        ("366_day", cftime.DatetimeAllLeap, LEAP_DAY),
        ("noleap", cftime.DatetimeNoLeap, ("2000-03-01", "2000-03-02", "2000-03-03")),
        ("365_day", cftime.DatetimeNoLeap, ("2000-03-01", "2000-03-02", "2000-03-03")),
        ("360_day", cftime.Datetime360Day, ("2000-02-30", "2000-03-01", "2000-03-02")),
    ],
)
def test_calendars(calendar: str, kind: type | None, expected: tuple[str, ...]) -> None:
    coordinate = of("times")[f"calendar_{calendar}"].coords[f"t_{calendar}"]
    assert coordinate.dims == (f"t_{calendar}",)
    assert coordinate.attrs == {"standard_name": "time"}
    if kind is None:
        np.testing.assert_array_equal(coordinate.values, dates(*expected))
        return
    assert {type(value) for value in coordinate.values} == {kind}
    assert [str(value)[:10] for value in coordinate.values] == list(expected)
    assert isinstance(coordinate.to_index(), xr.CFTimeIndex)


def test_times_that_are_stored() -> None:
    dataset = of("times")
    named = {"standard_name": "time"}
    check(dataset, "t_bare", dates("2000-01-01", "2000-01-02", "2000-01-03"), attrs=named)
    # What an array says of itself is more than what is said of it.
    own = dates("2001-01-01T00", "2001-01-01T01", "2001-01-01T02")
    check(dataset, "t_own", own, attrs=named)
    assert dataset["t_own"].encoding["units"] == "hours since 2001-01-01"
    assert dataset["t_bare"].encoding["units"] == "days since 2000-01-01 00:00:00"


def test_times_can_be_left_undecoded() -> None:
    dataset = of("times", decode_times=False)
    noleap = {"units": "days since 2000-01-01 00:00:00", "calendar": "noleap"}
    check(dataset, "t_noleap", [59, 60, 61], attrs={**noleap, "standard_name": "time"})


# Boundaries.


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("day", [["01-01", "01-02"], ["01-02", "01-03"], ["01-03", "01-04"]]),
        ("month", [["01-01", "02-01"], ["02-01", "03-01"], ["03-01", "04-01"]]),
    ],
)
def test_boundaries_of_times_are_decoded_alike(axis: str, expected: Any) -> None:
    dataset = of("bounds")
    bounds = dataset.coords[f"{axis}_bounds"]
    assert bounds.dims == (axis, "bounds")
    assert {type(value) for value in bounds.values.ravel()} == {cftime.Datetime360Day}
    assert [[str(value)[5:10] for value in row] for row in bounds.values] == expected
    assert dataset[axis].attrs == {"bounds": f"{axis}_bounds", "standard_name": "time"}
    inside = (bounds[:, 0] <= dataset[axis]) & (dataset[axis] <= bounds[:, 1])
    assert inside.all()


def test_boundaries_in_the_group_keep_their_name() -> None:
    dataset = of("bounds")
    expected = [[0.5, 1.5], [1.5, 2.5], [2.5, 3.5]]
    check(dataset, "own_edges", expected, ("own", "nv"), {})
    assert dataset["own"].attrs == {"bounds": "own_edges"}
    assert "own_bounds" not in dataset.variables


# Parametric vertical coordinates.


def test_terms_that_are_stored() -> None:
    dataset = of("parametric/ocean")
    check(
        dataset,
        "s_rho",
        [-0.8, -0.5, -0.2],
        attrs={
            "units": "1",
            "axis": "Z",
            "positive": "up",
            "standard_name": "ocean_s_coordinate_g2",
            "formula_terms": "s: s_rho C: Cs_r eta: zeta depth: h depth_c: hc",
        },
    )
    check(dataset, "Cs_r", [-0.5, -0.2, -0.05], ("s_rho",), {})
    h = {"units": "m", "standard_name": "sea_floor_depth_below_geoid"}
    check(dataset, "h", [[100.0, 200.0], [300.0, 400.0]], ("eta_rho", "xi_rho"), h)
    check(dataset, "hc", 250.0, (), {"units": "m"})
    assert {"s_rho", "Cs_r", "h", "hc"} <= set(dataset["temp"].coords)
    # It is an array in its own right.
    assert "zeta" in dataset.data_vars


def test_terms_that_are_told() -> None:
    dataset = of("parametric/ocean")
    check(dataset, "s_w", [-0.75, -0.25])
    terms = "s: s_w_s C: s_w_C eta: zeta depth: h depth_c: s_w_depth_c"
    assert dataset["s_w"].attrs["formula_terms"] == terms
    check(dataset, "s_w_s", [-0.75, -0.25], ("s_w",), {})
    check(dataset, "s_w_C", [-0.6, -0.1], ("s_w",), {})
    check(dataset, "s_w_depth_c", 250.0, (), {})


def test_levels_without_values_are_numbered() -> None:
    dataset = of("parametric/ocean")
    check(
        dataset,
        "lev",
        [0, 1, 2],
        attrs={
            "axis": "Z",
            "positive": "up",
            "standard_name": "atmosphere_hybrid_height_coordinate",
            "formula_terms": "a: lev_a b: lev_b orog: orog",
        },
    )
    check(dataset, "lev_a", [20.0, 80.0, 180.0], ("lev",), {})
    check(dataset, "lev_b", [0.99, 0.97, 0.93], ("lev",), {})


def with_heights(dataset: xr.Dataset, names: list[str], along: str) -> xr.DataArray:
    """Return what cf_xarray makes of a parametric vertical coordinate."""
    some = dataset[names]
    some.cf.decode_vertical_coords(outnames={along: "height"})
    return some["height"]


def test_cf_xarray_decodes_vertical_coordinates() -> None:
    pytest.importorskip("cf_xarray", reason="cf_xarray is not installed")
    dataset = of("parametric/ocean")
    depth = np.array([[100.0, 200.0], [300.0, 400.0]])
    levels = {
        "temp": ("s_rho", [-0.8, -0.5, -0.2], [-0.5, -0.2, -0.05]),
        "w": ("s_w", [-0.75, -0.25], [-0.6, -0.1]),
    }
    for name, (along, s, stretching) in levels.items():
        # CF conventions 1.12, appendix D, ocean_s_coordinate_g2.
        share = 250 * np.array(s)[:, None, None] + depth * np.array(stretching)[:, None, None]
        share = share / (250 + depth)
        zeta = dataset["zeta"].values[:, None]
        found = with_heights(dataset, [name, "zeta"], along).transpose(*dataset[name].dims)
        np.testing.assert_allclose(found, zeta + (zeta + depth) * share)
    orography = np.array([[0.0, 500.0], [1000.0, 2000.0]])
    a, b = np.array([20.0, 80.0, 180.0]), np.array([0.99, 0.97, 0.93])
    found = with_heights(dataset, ["wind"], "lev").transpose(*dataset["wind"].dims)
    np.testing.assert_allclose(found, a[:, None, None] + b[:, None, None] * orography)


# What coordinates are told to be.


def test_units_and_attributes() -> None:
    dataset = of("described")
    z = {
        "units": "m",
        "axis": "Z",
        "positive": "down",
        "comment": "of the set",
        "source": "a set",
        "long_name": "depth below sea level",
        "bounds": "z_bounds",
    }
    check(dataset, "z", [0, 10], attrs=z)
    check(
        dataset, "z_bounds", [[-5, 5], [5, 15]], ("z", "bounds"), {"comment": "of the boundaries"}
    )
    check(dataset, "mass", [1, 2], attrs={"units": "kg"})
    check(dataset, "warmth", [273.0, 274.0], attrs={"units": "K"})


def test_what_an_array_says_of_itself_stays() -> None:
    stored = {"units": "m", "long_name": "its own", "positive": "down"}
    added = {"axis": "Z", "comment": "added"}
    check(of("described"), "stored", [1.0, 2.0], attrs=stored | added)


@pytest.mark.parametrize(("number", "expected"), [(1, True), (2, True), (3, False), (4, False)])
def test_longitude_and_latitude_are_those_of_a_geographic_system(
    number: int, expected: bool
) -> None:
    # 1: its own id; 2: another id, overridden by that of the cs; 3: the reverse; 4: no id.
    dataset = of("identified")
    names = ("longitude", "latitude") if expected else (None, None)
    assert dataset[f"x{number}"].attrs.get("standard_name") == names[0]
    assert dataset[f"y{number}"].attrs.get("standard_name") == names[1]
    assert dataset[f"x{number}"].attrs["axis"] == "X"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("axes/keyed", "EPSG:4326"),
        ("axes/swapped", "EPSG:4326"),
        ("axes/row", "EPSG:4326"),
        ("axes/listed", None),
        ("references/by_sibling", "EPSG:4326"),
        ("references/by_root", "EPSG:4326"),
        ("references/month", None),
        ("identified/by_system", "EPSG:4326"),
        ("identified/by_cs", "EPSG:4326"),
        ("identified/not_geographic", "EPSG:3857"),
        ("identified/unknown", None),
        ("services/scene", "EPSG:32632"),
        ("services/mass", None),
        ("values/along_floats", None),
    ],
)
def test_the_crs_of_an_array(path: str, expected: str | None) -> None:
    parent, _slash, name = path.rpartition("/")
    dataset = opened(xr.open_dataset, STORE, group=parent)
    assert crs_of(dataset, name) == expected


def test_geolocation_arrays_of_a_system() -> None:
    dataset = of("identified")
    assert set(dataset["rotated"].coords) == {"rlon", "rlat", "lon", "lat"}
    plane = np.arange(6.0).reshape(2, 3)
    lon = {"units": "degrees_east", "standard_name": "longitude"}
    lat = {"units": "degrees_north", "standard_name": "latitude"}
    check(dataset, "lon", 8 + 0.5 * plane, ("rlat", "rlon"), lon)
    check(dataset, "lat", 46 + 0.25 * plane, ("rlat", "rlon"), lat)
    check(dataset, "rlon", [-1.0, -0.5, 0.0], attrs={"units": "degrees", "axis": "X"})


def test_cf_xarray_finds_axes_and_coordinates() -> None:
    pytest.importorskip("cf_xarray", reason="cf_xarray is not installed")
    dataset = of("axes")
    assert dataset.cf.axes == {"X": ["lon"], "Y": ["lat"]}
    assert dataset.cf.coordinates == {"longitude": ["lon"], "latitude": ["lat"]}
    assert dataset.cf.bounds == {
        "X": ["lon_bounds"],
        "lon": ["lon_bounds"],
        "longitude": ["lon_bounds"],
    }
    assert dataset.cf.get_bounds("X").dims == ("lon", "bounds")
    ocean = of("parametric/ocean")
    assert sorted(ocean.cf.axes["Z"]) == ["lev", "s_rho", "s_w"]
    assert ocean.cf.axes["T"] == ["ocean_time"]
    assert of("bounds").cf.get_bounds("month").dims == ("month", "bounds")


# Services.


def test_references_in_attributes() -> None:
    dataset = of("services")
    assert set(dataset.coords) == {"cell", "quality", "uncertainty", "mask"}
    check(dataset, "quality", np.array([0, 1, 2], np.int8), ("cell",), {})
    check(dataset, "uncertainty", [0.1, 0.2, 0.3], ("cell",), {})
    check(dataset, "mask", np.array([1, 0, 1], np.int8), ("cell",), {})
    # Attributes stay as they are written.
    attributes = dataset["flagged"].attrs
    assert attributes["quality"] == {"node": "quality"}
    assert attributes["related"] == [{"ref": {"node": "../other/uncertainty"}}, "a text", 3]
    assert attributes["nested"] == {"deep": {"mask": {"ref": {"node": "/services/other/mask"}}}}
    assert attributes["itself"] == {"node": "flagged"}


def test_units_of_measure() -> None:
    dataset = of("services")
    uom = {"ucum": {"unit": "kg", "version": "2.2"}, "description": "mass"}
    assert dataset["mass"].attrs["units"] == "kg"
    assert dataset["grams"].attrs["units"] == "g"
    assert dataset["mass"].attrs["uom"] == dataset["grams"].attrs["uom"] == uom


# Names that something else has.


def test_names_that_are_taken() -> None:
    dataset, _given = opened_with_warnings(xr.open_dataset, STORE, group="collisions")
    check(dataset, "z", [1, 2], attrs={})
    check(dataset, "z_b", [3, 4], attrs={})
    check(dataset, "z_c", [5, 6], attrs={})
    check(dataset, "z_d", [1, 2], attrs={"units": "m"})
    for name in "bcd":
        assert dataset[name].dims == (f"z_{name}",)
    flags = np.array([7, 8, 9], np.int8)
    check(dataset, "collisions_other_quality", flags, ("cell",), {})
    np.testing.assert_array_equal(dataset["quality"], [0.0, 1.0, 2.0])
    # Called like a child group, which the node of a tree cannot have.
    check(dataset, "collisions_other_other", [0.5, 0.6, 0.7], ("cell",), {})


def test_dimensions_that_are_taken() -> None:
    dataset, _given = opened_with_warnings(xr.open_dataset, STORE, group="collisions")
    assert dataset["grid"].dims == ("cell_grid", "z")
    assert dataset.sizes["cell"] == 3
    np.testing.assert_array_equal(dataset["grid"], [[0.0, 1.0], [2.0, 3.0]])
    assert dataset["grid"].encoding["preferred_chunks"] == {"cell_grid": 2, "z": 2}


def test_a_scalar_and_a_dimension_of_one_name(tmp_path: Path) -> None:
    level = {"coordinates": [{"values": {"explicit": [850]}}]}
    documents = {
        "": group(),
        "at_level": array([2], ["x"], with_axes({"x": {}, "level": level})),
        "on_levels": array([3], ["level"], with_axes({})),
    }
    dataset, given = opened_with_warnings(xr.open_dataset, write(tmp_path / "s.zarr", documents))
    assert [type(warning) for warning in given] == [XGroupNameWarning]
    assert dataset["on_levels"].dims == ("level",)
    (name,) = set(dataset.coords) - {"x"}
    assert name != "level"
    check(dataset, str(name), 850, ())


# All spellings.


def with_axes(axes: Any, **more: Any) -> Json:
    return declaring("cs", "ref", cs={"crs": [{"axes": axes, **more}]})


def spelled(**changes: Any) -> tuple[dict[str, Json], Json]:
    """Return the documents of a store and its data, with some things spelled otherwise."""
    external = changes.get("external", lambda node: {"external": {"node": node}})
    place = changes.get("place", "../coords/{}").format
    degrees = changes.get("degrees", "degrees")
    lon_set = {
        "direction": "east",
        "unit": degrees,
        "values": {"regular": [0.5, 1.0]},
        "boundaries": {"regular": [-0.5, 0.5]},
    }
    lat_set = {"direction": "north", "unit": degrees, "values": {"explicit": [10.0, 20.0]}}
    time_set = {
        "direction": "future",
        "time": changes.get("time", {"unit": "days", "epoch": "2001-01-01", "calendar": "noleap"}),
        "values": external(place("time")),
        "boundaries": external(place("time_bnds")),
    }
    plane: Any = {
        "lon": {"abbreviation": "X", "coordinates": [lon_set]},
        "lat": {"abbreviation": "Y", "coordinates": [lat_set]},
    }
    time: Any = {"time": {"abbreviation": "T", "coordinates": [time_set]}}
    for axis in (*plane.values(), *time.values()):
        changes.get("axis", lambda _axis: None)(axis)
    as_axes = changes.get("axes", lambda axes: axes)
    systems: list[Json] = [
        {"type": "planar", "axes": as_axes(plane), "id": WGS84},
        {"type": "temporal", "axes": as_axes(time)},
    ]
    cs = {"crs": changes.get("systems", systems), **changes.get("cs", {})}
    conventions = changes.get("conventions", declaring("cs", "ref")["zarr_conventions"])
    shared = {"crs": {"plane": systems[0], "time": systems[1]}}
    in_root = changes.get("shared", "root") == "root"
    on_group = changes.get("on_group", False)
    declared = {"zarr_conventions": conventions}
    sides_first = changes.get("sides_first", True)
    bounds = [[0.0, 31.0, 59.0], [31.0, 59.0, 90.0]]
    documents = {
        "": group(shared if in_root else {}),
        "fields": group({**({} if in_root else shared), **(declared if on_group else {})}),
        "fields/data": array(
            [3, 2, 4], ["time", "lat", "lon"], {"cs": cs, **({} if on_group else declared)}
        ),
        "coords": group(),
        "coords/time": array([3], changes.get("dims", ["time_coord"])),
        "coords/time_bnds": array([2, 3] if sides_first else [3, 2], ["a", "b"]),
    }
    data = {
        "fields/data": np.arange(24.0).reshape(3, 2, 4),
        "coords/time": [15.0, 45.0, 74.0],
        "coords/time_bnds": bounds if sides_first else np.transpose(bounds),
    }
    return documents, data


def expected_of_all_spellings() -> xr.Dataset:
    noleap = cftime.DatetimeNoLeap
    days = [(2001, 1, 16), (2001, 2, 15), (2001, 3, 16)]
    edges = [(2001, 1, 1), (2001, 2, 1), (2001, 3, 1), (2001, 4, 1)]
    starts = [noleap(*day, has_year_zero=True) for day in edges]
    lon = np.array([0.5, 1.5, 2.5, 3.5])
    return xr.Dataset(
        {"data": (("time", "lat", "lon"), np.arange(24.0).reshape(3, 2, 4))},
        coords={
            "lon": ("lon", lon, LON),
            "lat": ("lat", np.array([10.0, 20.0]), LAT),
            "time": (
                "time",
                np.array([noleap(*day, has_year_zero=True) for day in days]),
                {**TIMES, "bounds": "time_bounds"},
            ),
            "lon_bounds": (("lon", "bounds"), np.stack([lon - 0.5, lon + 0.5], axis=-1)),
            "time_bounds": (
                ("time", "bounds"),
                np.array(list(pairwise(starts))),
            ),
        },
    )


def _listed(axes: Json) -> list[Json]:
    return [{"name": name, **axis} for name, axis in axes.items()]


def _direction_on_axis(axis: Json) -> None:
    axis["direction"] = axis["coordinates"][0].pop("direction").upper()


def _capital_direction(axis: Json) -> None:
    axis["coordinates"][0]["direction"] = axis["coordinates"][0]["direction"].capitalize()


def _lower_abbreviation(axis: Json) -> None:
    axis["abbreviation"] = axis["abbreviation"].lower()


def _named_set(axis: Json) -> None:
    axis["coordinates"][0]["name"] = "of no use to a dimension coordinate"


def _shared(**reference: Any) -> list[Json]:
    return [
        {**reference, "attribute": "/attributes/crs/plane"},
        {"ref": {**reference, "attribute": "/attributes/crs/time"}},
    ]


_RAW = "https://raw.githubusercontent.com/R-CF"
_DECLARED: dict[str, Json] = {
    "uuid": {"uuid": UUIDS["cs"]},
    "uuid in capitals": {"uuid": UUIDS["cs"].upper(), "name": "renamed"},
    "schema_url": {"schema_url": f"{_RAW}/zarr_convention_cs/main/schema.json", "name": "x"},
    "schema_url plural": {"schema_url": f"{_RAW}/zarr_conventions_cs/main/schema.json"},
    "schema_url of tag": {"schema_url": f"{_RAW}/zarr_convention_cs/refs/tags/v1/schema.json"},
    "spec_url": {"spec_url": "https://github.com/R-CF/zarr_convention_cs/blob/main/README.md"},
    "name": {"name": "cs"},
    "name with colon": {"name": "CS:", "description": "coordinate sets"},
}
_NOLEAP = {"calendar": "noleap"}

SPELLINGS: dict[str, Json] = {
    "axes as a list": {"axes": _listed},
    "direction on the axis, in capitals": {"axis": _direction_on_axis},
    "direction with a capital": {"axis": _capital_direction},
    "abbreviation in lower case": {"axis": _lower_abbreviation},
    "set with a name": {"axis": _named_set},
    "external, wrapped": {"external": lambda node: {"external": {"ref": {"node": node}}}},
    "external, inside ref": {"external": lambda node: {"ref": {"external": {"node": node}}}},
    "path of the node": {"place": "../../coords/{}"},
    "absolute path": {"place": "/coords/{}"},
    "path with dots": {"place": ".././coords/../coords/{}"},
    "dimension called as the axis": {"dims": ["time"]},
    "dimension without a name": {"dims": None},
    "boundaries (n, 2)": {"sides_first": False},
    "unit as uom": {"degrees": {"ucum": {"unit": "degrees", "version": "2.2"}}},
    "unit as uom, wrapped": {"degrees": {"uom": {"ucum": {"unit": "degrees"}}}},
    "time as reference": {"time": {"reference": "days since 2001-01-01", **_NOLEAP}},
    "unit of time, singular": {"time": {"unit": "day", "epoch": "2001-01-01", **_NOLEAP}},
    "unit of time, short": {"time": {"unit": "d", "epoch": "2001-1-1", **_NOLEAP}},
    "epoch with T and Z": {"time": {"unit": "Days", "epoch": "2001-01-01T00:00:00Z", **_NOLEAP}},
    "epoch with an offset": {
        "time": {"unit": "days", "epoch": "2001-01-01T01:00:00+01:00", **_NOLEAP}
    },
    "CRS of the root": {"systems": _shared(node="/")},
    "CRS of the root, by path": {"systems": _shared(node="..")},
    "CRS of the root, by path of the node": {"systems": _shared(node="../..")},
    "CRS of the group": {"systems": _shared(node="."), "shared": "group"},
    "CRS of the group, absolute": {"systems": _shared(node="/fields"), "shared": "group"},
    "shared CRS, seen from the group": {"systems": _shared(node="/"), "place": "coords/{}"},
    "id of the cs": {"cs": {"id": WGS84, "name": "all of it"}},
    **{f"declared by {how}": {"conventions": [item]} for how, item in _DECLARED.items()},
    "declared by the group": {"on_group": True},
    "declared among others": {
        "conventions": [{"name": "unheard_of"}, {"uuid": "?"}, 7, None, _DECLARED["uuid"]]
    },
}


@pytest.mark.parametrize(("spelling", "form"), some_pairs(["none", *SPELLINGS], FORMS, 4), ids=str)
def test_all_spellings_give_the_same(
    tmp_path: Path, form: tuple[ZarrFormat, bool], spelling: str
) -> None:
    # The changes are objects that others use as well.
    documents, data = spelled(**copy.deepcopy(SPELLINGS.get(spelling, {})))
    store = write(tmp_path / "s.zarr", documents, data, form)
    functions = (xr.open_dataset, xr.open_datatree) if form == (3, False) else (xr.open_dataset,)
    for function in functions:
        result = opened(function, store, group="fields")
        dataset = without_crs(result if function is xr.open_dataset else result.to_dataset())
        dataset.attrs = {}
        dataset["data"].attrs = {}
        xr.testing.assert_identical(dataset, expected_of_all_spellings())


@pytest.mark.parametrize(
    "declaration",
    [
        {"uuid": "00000000-0000-4000-8000-000000000000", "name": "cs"},
        {"schema_url": "https://example.org/elsewhere/cs/schema.json", "name": "cs"},
        {"name": "csx"},
        "cs",
    ],
)
def test_other_conventions_are_not_this_one(tmp_path: Path, declaration: Any) -> None:
    documents, data = spelled(conventions=[declaration])
    store = write(tmp_path / "s.zarr", documents, data)
    assert without_principal(xr.open_dataset, store, group="fields") == ["/fields/data"]
    dataset = opened(xr.open_dataset, store, group="fields")
    assert set(dataset.variables) == {"data"}


# Stores elsewhere.


@ALL_FORMS
def test_coordinates_from_another_store(tmp_path: Path, form: tuple[ZarrFormat, bool]) -> None:
    uri = (tmp_path / "foreign.zarr").as_uri()
    shared = {"uri": uri, "node": "/", "attribute": "/attributes/crs/here"}
    level = {"coordinates": [{"values": {"external": {"uri": uri, "node": "/a/level"}}}]}
    inside = {"axes": {"t": {"coordinates": [{"values": {"external": {"node": "a/t"}}}]}}}
    write(
        tmp_path / "foreign.zarr",
        {
            "": group({"crs": {"here": inside}}),
            "a": group(),
            "a/level": array([2], ["anything"], {"units": "m"}),
            "a/t": array([3], ["t"]),
        },
        {"a/level": [5.0, 10.0], "a/t": [1.0, 2.0, 4.0]},
        form,
    )
    attributes = declaring("cs", "ref", cs={"crs": [{"axes": {"level": level}}, shared]})
    # Here is an array of the same path as the one there, which is not meant.
    documents = {
        "": group(),
        "one": array([2, 3], ["level", "t"], attributes),
        "two": array([3, 2], ["t", "level"], attributes),
        "a": group(),
        "a/t": array([3], ["t"]),
    }
    store = write(tmp_path / "store.zarr", documents)
    dataset = opened(xr.open_dataset, store)
    check(dataset, "level", [5.0, 10.0], attrs={"units": "m"})
    check(dataset, "t", [1.0, 2.0, 4.0], attrs={})
    assert set(dataset["two"].coords) == {"level", "t"}
    source = dataset["level"].encoding["source"]
    assert source.endswith("/foreign.zarr/a/level")
    again = pickle.loads(pickle.dumps(dataset))
    xr.testing.assert_identical(again, dataset)


def test_a_uri_may_be_percent_encoded(tmp_path: Path) -> None:
    documents = {"": group(), "x": array([2], ["x"])}
    foreign = write(tmp_path / "größer & weiter.zarr", documents, {"x": [1.0, 2.0]})
    assert "%" in foreign.as_uri()
    for number, uri in enumerate([foreign.as_uri(), f"file://{foreign}"]):
        item = {"values": {"external": {"uri": uri, "node": "/x"}}}
        data = array([2], ["x"], with_axes({"x": {"coordinates": [item]}}))
        store = write(tmp_path / f"{number}.zarr", {"": group(), "data": data})
        check(opened(xr.open_dataset, store), "x", [1.0, 2.0], attrs={})


# Laziness.


@ALL_FORMS
@pytest.mark.parametrize("name", ["open_dataset", "open_datatree"])
def test_each_document_is_read_once(
    tmp_path: Path, form: tuple[ZarrFormat, bool], name: str
) -> None:
    store = recording_folder(committed("cs_test", tmp_path / "cs_test.zarr", form))
    if name == "open_dataset":
        opened_with_warnings(xr.open_dataset, store, group="references")
    else:
        opened_with_warnings(xr.open_datatree, store)
    assert max(store.metadata_gets.values()) == 1
    if form[1]:
        # A reference to a group: that it leads to no array is found out with a look there.
        below = {key for key in store.metadata_gets if "/" in key and "flagged/other" not in key}
        assert name == "open_dataset" or below == set()
        assert store.metadata_gets.total() <= 10


def test_opening_reads_no_chunk_of_ours() -> None:
    store = recording_folder(STORE)
    tree, _given = opened_with_warnings(xr.open_datatree, store)
    # xarray reads dimension coordinates for their indexes, and ends of times to decode them.
    dimension_coordinates = {
        *("bounds/own", "bounds/sources/packed", "collisions/ambiguous/shared"),
        "collisions/shared",  # compared with the group's own coordinate
        *("described/sources/heights", "parametric/grid/s_rho"),
        *("sharing/coords/level", "sharing/coords/station"),
        *("values/height", "values/level", "values/sources/age"),
        *("values/sources/code", "values/sources/depth"),
    }
    times = {"bounds/month", "bounds/month_bnds", "time"}
    times |= {"times/sources/t_bare", "times/sources/t_own"}
    assert {key.partition("/c/")[0] for key in store.chunk_gets} <= dimension_coordinates | times
    store.gets.clear()
    tree["sharing/first/level_bounds"].variable.load()
    assert store.chunk_gets == {"sharing/coords/level_bnds/c/0/0": 1}


@needs_index_option
def test_opening_without_indexes_reads_no_chunk() -> None:
    for name in ("values", "sets", "parametric/ocean", "sharing/first", "collisions"):
        store = recording_folder(STORE)
        dataset, _given = opened_with_warnings(
            xr.open_dataset, store, group=name, create_default_indexes=False
        )
        assert not store.chunk_gets
        assert dict(dataset.xindexes) == {}


@needs_index_option
def test_regular_values_are_computed_when_they_are_read(tmp_path: Path) -> None:
    huge = 10**15
    item = {"values": {"regular": [0, 3]}, "boundaries": {"regular": [-1, 2]}}
    document = array([huge], ["x"], with_axes({"x": {"coordinates": [item]}}))
    document["chunk_grid"]["configuration"]["chunk_shape"] = [1000]
    store = write(tmp_path / "s.zarr", {"": group(), "data": document})
    dataset = opened(xr.open_dataset, store, create_default_indexes=False)
    assert dataset["x"].shape == (huge,)
    assert dataset["x_bounds"].shape == (huge, 2)
    few = dataset.isel(x=[0, 7, huge - 1])
    assert few["x"].values.tolist() == [0, 21, 3 * (huge - 1)]
    last = 3 * (huge - 1)
    assert few["x_bounds"].values.tolist() == [[-1, 2], [20, 23], [last - 1, last + 2]]
    assert dataset["x"].isel(x=slice(10, 20, 5)).values.tolist() == [30, 45]


def test_coordinates_stay_lazy() -> None:
    dataset = of("axes")
    assert not dataset["lon_bounds"].variable._in_memory
    shared = of("sharing/first")
    assert not shared["level_bounds"].variable._in_memory
    assert not of("parametric/ocean")["Cs_r"].variable._in_memory


@pytest.mark.parametrize("name", ["axes", "values", "times", "bounds", "scalars", "sharing/first"])
def test_pickles_small(name: str) -> None:
    dataset = of(name)
    pickled = pickle.dumps(dataset)
    xr.testing.assert_identical(pickle.loads(pickled), dataset)
    assert len(pickled) < 6000 * len(dataset.variables)


@pytest.mark.parametrize("name", ["axes", "values", "times", "bounds", "scalars", "sharing/first"])
def test_with_dask(name: str) -> None:
    pytest.importorskip("dask.array", reason="dask is not installed")
    plain, chunked = of(name), of(name, chunks={})
    for key, variable in chunked.data_vars.items():
        assert variable.chunks is not None or variable.ndim == 0, key
    xr.testing.assert_identical(chunked.compute(), plain)
    assert {str(key): chunked[key].dims for key in chunked.coords} == {
        str(key): plain[key].dims for key in plain.coords
    }


# Trees.


def test_shared_coordinates_of_a_tree() -> None:
    store = recording_folder(STORE)
    tree, _given = opened_with_warnings(xr.open_datatree, store)
    level = {"units": "m", "axis": "Z", "positive": "up", "bounds": "level_bounds"}
    for name in ("first", "second"):
        dataset = tree[f"sharing/{name}"].to_dataset(inherit=False)
        check(dataset, "level", [5.0, 20.0, 50.0], attrs=level)
        check(dataset, "station", [11, 22], attrs={})
        expected = [[0.0, 10.0], [10.0, 30.0], [30.0, 70.0]]
        check(dataset, "level_bounds", expected, ("level", "bounds"), {})
    for name in ("level", "level_bnds", "station"):
        assert store.metadata_gets[f"sharing/coords/{name}/zarr.json"] == 1
    # What is added to a coordinate is added where it is one.
    assert tree["sharing/coords/level"].attrs == {"units": "m"}


def test_a_tree_hides_no_array() -> None:
    tree, _given = opened_with_warnings(xr.open_datatree, STORE)
    # Nodes inherit dimension coordinates, here of the same name as arrays of their own.
    for name in ("values", "bounds", "described", "times", "parametric"):
        for node in tree[name].subtree:
            own = node.to_dataset(inherit=False)
            for key, variable in own.variables.items():
                assert node[str(key)].dims == variable.dims
                assert node.dataset[key].dims == variable.dims
    assert tree["values/sources/depth"].dims == ("depth_coord",)
    assert tree["values/depth"].dims == ("depth",)


def test_each_object_is_its_own() -> None:
    tree, _given = opened_with_warnings(xr.open_datatree, STORE)
    again, _given = opened_with_warnings(xr.open_datatree, STORE)
    reference = again.copy(deep=True)
    first = tree["sharing/first"].dataset
    for name in ("level", "level_bounds", "station", "temp"):
        tree["sharing/first"][name].attrs["mine"] = [1]
        tree["sharing/first"][name].encoding["mine"] = 1
    tree["sharing/first/level_bounds"].load()
    tree["sharing/first/level_bounds"].values[...] = -1
    tree["sharing/first/temp"].attrs["cs"]["crs"].clear()
    assert "mine" in first["level"].attrs
    for name in ("sharing/second", "sharing/coords"):
        xr.testing.assert_identical(
            tree[name].to_dataset(inherit=False), reference[name].to_dataset(inherit=False)
        )
        for variable in tree[name].variables.values():
            assert "mine" not in variable.encoding
    assert tree["sharing/first/salt"].attrs == reference["sharing/first/salt"].attrs
    xr.testing.assert_identical(again, reference)


def test_references_are_those_of_the_node_that_declares_them(tmp_path: Path) -> None:
    axes = {"t": {"coordinates": [{"values": {"external": {"node": "t"}}}]}}
    documents = {"": group(), "data": array([2], ["t"], with_axes(axes)), "t": array([2], ["t"])}
    data: dict[str, Any] = {"t": [0.0, 1.0]}
    for number, name in enumerate(("a", "b")):
        documents |= {
            name: group(),
            f"{name}/data": array([2], ["t"], with_axes(axes)),
            f"{name}/t": array([2], ["t"]),
        }
        data[f"{name}/t"] = [10.0 * number, 10.0 * number + 1]
    store = write(tmp_path / "s.zarr", documents, data)
    groups = opened(xr.open_groups, store)
    for name, expected in (("/", [0.0, 1.0]), ("/a", [0.0, 1.0]), ("/b", [10.0, 11.0])):
        check(groups[name], "t", expected)
    for name in ("", "a", "b"):
        dataset = opened(xr.open_dataset, store, group=name)
        xr.testing.assert_identical(dataset, groups[f"/{name}"])


# Documents as the texts of conventions have them.


def store_of(folder: Path, document: Json, others: Mapping[str, Json], data: Json) -> Path:
    """Write a store of a sample of an array, its shape made small."""
    shape = [12, 6, 8]
    small = array(shape, document["dimension_names"], document["attributes"], "float32")
    root = {"": group()} | ({"": others[""]} if "" in others else {})
    rest = {path: node for path, node in others.items() if path}
    return write(folder, {**root, "data": small, **rest}, data)


def opened_sample(store: Path, **options: Any) -> xr.Dataset:
    return without_crs(opened(xr.open_dataset, store, **options))


def regular(first: float, step: float, length: int) -> Any:
    return np.array([first + step * i for i in range(length)])


CELLS = np.array([[-0.5, 0.5]])


def test_cmip6_monthly(tmp_path: Path) -> None:
    document = sample("cs_cmip6_monthly_axes_keyed")
    middles = np.arange(12) * 30.0 + 15
    others = {
        "time": array([12], ["time"]),
        "time_bnds": array([12, 2], ["time", "bnds"]),
    }
    data = {"time": middles, "time_bnds": np.stack([middles - 15, middles + 15], axis=-1)}
    dataset = opened_sample(store_of(tmp_path, document, others, data))
    check(dataset, "lon", regular(0.625, 1.25, 8), attrs=LON)
    lat = regular(-89.5, 1, 6)
    check(dataset, "lat", lat, attrs={**LAT, "bounds": "lat_bounds"})
    check(dataset, "lat_bounds", lat[:, None] + CELLS, ("lat", "bounds"), {})
    lon = regular(0.625, 1.25, 8)
    check(dataset, "lon_bounds", lon[:, None] + 1.25 * CELLS, ("lon", "bounds"), {})
    assert [str(value)[:10] for value in dataset["time"].values[:3]] == [
        "1850-01-16",
        "1850-02-15",
        "1850-03-17",
    ]
    assert {type(value) for value in dataset["time"].values} == {cftime.DatetimeNoLeap}
    bounds = dataset[dataset["time"].attrs["bounds"]]
    assert bounds.dims == ("time", "bnds")
    assert str(bounds.values[1, 0])[:10] == "1850-01-31"
    assert set(dataset.data_vars) == {"data"}


def test_cmip6_daily(tmp_path: Path) -> None:
    document = sample("cs_cmip6_daily_axes_list")
    dataset = opened_sample(store_of(tmp_path, document, {}, {}))
    check(dataset, "lon", regular(0.625, 1.25, 8), attrs=LON)
    check(dataset, "lat", regular(-89.5, 1, 6), attrs={**LAT, "bounds": "lat_bounds"})
    height = {"units": "m", "axis": "Z", "positive": "up"}
    check(dataset, "height", 2, (), height)
    # 27895 days of years of 365 after 1850-01-01.
    assert str(dataset["time"].values[0]) == "1926-06-05 12:00:00"
    assert str(dataset["time_bounds"].values[0, 1]) == "1926-06-06 00:00:00"
    bounds = {"lon_bounds", "lat_bounds", "time_bounds"}
    assert set(dataset.coords) == {"lon", "lat", "time", "height"} | bounds


def test_cordex(tmp_path: Path) -> None:
    document = sample("cs_cordex_geolocation")
    others = {"lon": array([6, 8], ["rlat", "rlon"]), "lat": array([6, 8], ["rlat", "rlon"])}
    plane = np.arange(48.0).reshape(6, 8)
    data = {"lon": plane, "lat": -plane}
    dataset = opened_sample(store_of(tmp_path, document, others, data))
    check(dataset, "rlon", regular(-28.375, 0.11, 8), attrs={"units": "degrees", "axis": "X"})
    check(dataset, "rlat", regular(-23.375, 0.11, 6), attrs={"units": "degrees", "axis": "Y"})
    check(dataset, "lon", plane, ("rlat", "rlon"), {"standard_name": "longitude"})
    check(dataset, "lat", -plane, ("rlat", "rlon"), {"standard_name": "latitude"})
    assert str(dataset["time"].values[0]) == "2006-01-01 12:00:00"
    assert {type(value) for value in dataset["time"].values} == {cftime.Datetime360Day}
    assert set(dataset["data"].coords) == {"rlon", "rlat", "lon", "lat", "time"}


@pytest.mark.parametrize("name", ["cs_array_refers_to_group", "cs_array_refers_to_parent_by_node"])
def test_shared_systems(tmp_path: Path, name: str) -> None:
    document, shared = sample(name), sample("cs_group_shared_crs")
    others = {"": shared, "time": array([12], ["time"], dtype="int64")}
    data = {"time": np.arange(12) * 30}
    dataset = opened_sample(store_of(tmp_path, document, others, data))
    lon = {key: value for key, value in LON.items() if key != "bounds"}
    check(dataset, "lon", regular(-179.75, 0.5, 8), attrs=lon)
    check(dataset, "lat", regular(-89.75, 0.5, 6), attrs=LAT)
    expected = np.datetime64("1900-01-01", "ns") + np.arange(12) * np.timedelta64(30, "D")
    check(dataset, "time", expected, attrs=TIMES)
    assert dataset.attrs == shared["attributes"]


def test_geodetic_and_planar_arrays(tmp_path: Path) -> None:
    document = sample("geolocation_geodetic_and_planar")
    names = {
        "geodetic/longitude": "longitude",
        "geodetic/latitude": "latitude",
        "UTM28N/easting": "projection_x_coordinate",
        "UTM28N/northing": "projection_y_coordinate",
    }
    plane = np.arange(48.0).reshape(6, 8)
    others = {
        "swath": group(),
        **{f"geolocation{path}": group() for path in ("", "/geodetic", "/UTM28N")},
        **{f"geolocation/{path}": array([6, 8], ["y", "x"]) for path in names},
    }
    data = {f"geolocation/{path}": plane + number for number, path in enumerate(names)}
    small = array([12, 6, 8], document["dimension_names"], document["attributes"])
    store = write(tmp_path, {"": group(), **others, "swath/data": small}, data)
    dataset = opened_sample(store, group="swath")
    assert set(dataset["data"].coords) == {"longitude", "latitude", "easting", "northing"}
    for number, (path, standard_name) in enumerate(names.items()):
        name = path.rpartition("/")[2]
        expected = {"standard_name": standard_name} if path.startswith("geodetic") else {}
        check(dataset, name, plane + number, ("y", "x"), expected)
    # In the root of a store `..` is above it: the path is that of the node then.
    dataset = opened_sample(store_of(tmp_path / "s.zarr", document, others, data))
    assert set(dataset["data"].coords) == {"longitude", "latitude", "easting", "northing"}


def test_attributes_of_samples_pass_through(tmp_path: Path) -> None:
    scene, levels = sample("proj_wkt2"), sample("spatial_multiscales_group")
    documents = {
        "": group(),
        "scene": array([3, 4], ["Y", "X"], scene["attributes"]),
        "levels": levels,
        **{f"levels/r{size}m": group() for size in (10, 20, 60)},
        **{
            f"levels/r{size}m/data": array([120 // size, 120 // size], ["Y", "X"])
            for size in (10, 20, 60)
        },
    }
    tree, _given = opened_with_warnings(xr.open_datatree, write(tmp_path, documents))
    assert tree["scene"].dims == ("Y", "X")
    assert tree["scene"].attrs.items() >= scene["attributes"].items()
    assert tree["levels"].attrs.items() >= levels["attributes"].items()
    for size in (10, 20, 60):
        assert tree[f"levels/r{size}m/data"].shape == (120 // size, 120 // size)
