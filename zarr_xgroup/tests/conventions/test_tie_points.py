"""Coordinates between tie points: CF's coordinate subsampling, and ground control points of Sentinel-1."""

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version
from zarr.storage import MemoryStore

from zarr_xgroup import XGroupNoPrincipalWarning
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    consolidate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recording_store,
)
from zarr_xgroup.variables import tie_points

ROWS, COLUMNS = np.array([0, 2, 6]), np.array([0, 4, 5, 9])
LATITUDES = np.array([[50.0, 51.0, 60.0, 62.5], [48.0, 49.5, 58.0, 60.0], [40.0, 42.0, 50.0, 53.0]])
LONGITUDES = np.array([[170.0, 178.0, -179.0, -170.0]] * 3)
CONTAINER = {
    "interpolation_name": "bi_linear",
    "computational_precision": "64",
    "tie_point_mapping": "y: rows tp_y x: columns tp_x",
}
DATA = {"coordinate_interpolation": "latitude: longitude: how"}


def members(container: Any = CONTAINER, data: Any = DATA, **others: Any) -> dict[str, Any]:
    points = {
        "latitude": Array(
            LATITUDES, ("tp_y", "tp_x"), {"units": "degrees_north", "standard_name": "latitude"}
        ),
        "longitude": Array(
            LONGITUDES, ("tp_y", "tp_x"), {"units": "degrees_east", "standard_name": "longitude"}
        ),
        "rows": Array(ROWS, ("tp_y",)),
        "columns": Array(COLUMNS, ("tp_x",)),
        "how": Array(np.array(0), (), container),
    }
    field = Array(np.zeros((7, 10)), ("y", "x"), {**declaring("CF"), **data})
    return {**points, **others, "g": Group({"a": field})}


def by_hand(values: Any, rows: Any, columns: Any) -> np.ndarray[Any, Any]:
    """Return values between tie points, area by area, as numpy's own interpolation has them."""
    along = np.array([np.interp(np.arange(columns[-1] + 1), columns, row) for row in values])
    every = np.arange(rows[-1] + 1)
    return np.array([np.interp(every, rows, column) for column in along.T]).T


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_bilinear(zarr_format: ZarrFormat) -> None:
    store = memory_store(build(Group(members()), zarr_format=zarr_format))
    found = opened(xr.open_dataset, store, group="g")
    assert {*found["a"].coords} == {"latitude", "longitude"}
    latitude = found["latitude"]
    np.testing.assert_allclose(latitude.values, by_hand(LATITUDES, ROWS, COLUMNS), rtol=1e-14)
    assert (latitude.values[np.ix_(ROWS, COLUMNS)] == LATITUDES).all()  # exact at tie points
    assert latitude.attrs == {"units": "degrees_north", "standard_name": "latitude"}
    assert (
        latitude.isel(x=[7, 1], y=slice(5, 2, -1)).values.tolist()
        == latitude.values[5:2:-1, [7, 1]].tolist()
    )
    assert float(latitude[6, 9]) == 53.0


#: What cfdm 1.13.3 reads from netCDF files of the same contents.
BY_CFDM = {
    "bilinear": [
        [49.0, 49.3125, 49.625, 49.9375, 50.25, 59.0, 59.5625, 60.125, 60.6875, 61.25],
        [46.0, 46.40625, 46.8125, 47.21875, 47.625, 56.0, 56.5625, 57.125, 57.6875, 58.25],
    ],
    "quadratic": [1.0, 2.375, 3.5, 4.375, 5.0, 5.25, 6.0, 7.25, 9.0, 20.0, 24.0, 27.0, 29.0, 30.0],
}


def test_values_are_those_of_cfdm() -> None:
    found = opened(xr.open_dataset, memory_store(build(Group(members()))), group="g")
    assert found["latitude"].values[[1, 3]].tolist() == BY_CFDM["bilinear"]
    bent = one_dimension("quadratic", interpolation_parameters="w: bend")
    found = opened(xr.open_dataset, memory_store(build(Group(bent))), group="g")
    assert found["lat"].values.tolist() == BY_CFDM["quadratic"]


def test_longitudes_take_the_short_way() -> None:
    found = opened(xr.open_dataset, memory_store(build(Group(members()))), group="g")
    expected = [170.0, 172.0, 174.0, 176.0, 178.0, -179.0, -176.75, -174.5, -172.25, -170.0]
    assert found["longitude"].values[1].tolist() == expected
    wide = {**CONTAINER, "tie_point_mapping": "y: rows tp_y x: far tp_x"}
    given = members(wide, far=Array(np.array([0, 4, 8, 9]), ("tp_x",)))
    found = opened(xr.open_dataset, memory_store(build(Group(given))), group="g")
    assert found["longitude"].values[0, 4:9].tolist() == [178.0, 178.75, 179.5, -179.75, -179.0]


def test_tie_points_beside_the_data_keep_their_names() -> None:
    given = members()
    group = given.pop("g")
    found = opened(xr.open_dataset, memory_store(build(Group({**given, **group.members}))))
    assert found["latitude"].dims == ("tp_y", "tp_x")
    assert found["latitude_interpolated"].dims == ("y", "x")
    assert float(found["latitude_interpolated"][2, 4]) == 49.5


def one_dimension(method: str, **container: Any) -> dict[str, Any]:
    attributes = {"interpolation_name": method, "tie_point_mapping": "x: at tp sub", **container}
    return {
        "lat": Array(
            np.array([1.0, 5.0, 9.0, 20.0, 30.0], "f4"), ("tp",), {"units": "degrees_north"}
        ),
        "at": Array(np.array([0, 4, 8, 9, 13]), ("tp",)),
        "bend": Array(np.array([0.5, -1.0, 2.0]), ("sub",)),
        "how": Array(np.array(0), (), attributes),
        "g": Group(
            {
                "a": Array(
                    np.zeros(14),
                    ("x",),
                    {**declaring("CF"), "coordinate_interpolation": "lat: how"},
                )
            }
        ),
    }


@pytest.mark.parametrize("bends", [[0.0, 0.0, 0.0], [0.5, -1.0, 2.0]])
def test_linear_and_quadratic(bends: list[float]) -> None:
    """Areas end between neighbours (8 and 9), which no subarea has between them."""
    terms = {"interpolation_parameters": "w: bend"} if any(bends) else {}
    store = memory_store(
        build(Group(one_dimension("quadratic" if any(bends) else "linear", **terms)))
    )
    found = opened(xr.open_dataset, store, group="g")["lat"]
    expected = []
    for first, last, start, end, bend in (
        (0, 4, 1.0, 5.0, bends[0]),
        (4, 8, 5.0, 9.0, bends[1]),
        (9, 13, 20.0, 30.0, bends[2]),
    ):
        share = (np.arange(first, last + 1) - first) / (last - first)
        part = start + share * (end - start + 4 * bend * (1 - share))
        expected += part.tolist()[1 if first == 4 else 0 :]
    np.testing.assert_allclose(found.values, expected, rtol=1e-6)
    assert found.dtype == "f4"
    assert found.values[[0, 4, 8, 9, 13]].tolist() == [1.0, 5.0, 9.0, 20.0, 30.0]


PLACES = np.array([[10.0, 14.0, 20.0, 26.0], [11.0, 15.5, 21.0, 26.5], [12.0, 16.0, 23.0, 28.0]])
COEFFICIENTS = {
    "ce1": ("tp_y sub_x", [[0.01, -0.02], [0.015, 0.0], [-0.01, 0.03]]),
    "ca1": ("tp_y sub_x", [[0.002, 0.01], [-0.01, 0.005], [0.004, -0.003]]),
    "ce2": ("sub_y tp_x", [[0.01, 0.02, -0.03, 0.01], [-0.02, 0.01, 0.03, 0.02]]),
    "ca2": ("sub_y tp_x", [[0.02, -0.01, 0.01, 0.03], [0.01, 0.02, -0.02, 0.01]]),
    "ce3": ("sub_y sub_x", [[0.01, 0.02], [-0.01, 0.015]]),
    "ca3": ("sub_y sub_x", [[-0.02, 0.01], [0.03, -0.01]]),
}
IN_SPACE = {"flag_meanings": "location_use_3d_cartesian", "flag_masks": 1}
#: One subarea in space, one in degrees, and so the other way round in the second row of them.
FLAGS = [[1, 0], [0, 1]]


def on_sphere(
    flags: Any = FLAGS, attributes: Any = IN_SPACE, longitudes: Any = PLACES, **changed: Any
) -> dict[str, Any]:
    coefficients = {
        key: Array(np.array(it), dims.split()) for key, (dims, it) in COEFFICIENTS.items()
    }
    terms = " ".join(f"{term}: {term}" for term in coefficients)
    container = {
        "interpolation_name": "bi_quadratic_latitude_longitude",
        "computational_precision": "64",
        "tie_point_mapping": "y: rows tp_y sub_y x: columns tp_x sub_x",
        "interpolation_parameters": f"interpolation_subarea_flags: flags {terms}",
    }
    given = members(container)
    longitude = Array(longitudes, ("tp_y", "tp_x"), given["longitude"].attrs)
    flags = Array(np.array(flags), ("sub_y", "sub_x"), attributes)
    return {**given, "longitude": longitude, "flags": flags, **coefficients, **changed}


#: What cfdm 1.13.3 reads of rows 1, 3 and 2, where subareas meet, and of longitudes in space, moved by 160 degrees, of row 3.
ON_SPHERE_BY_CFDM: Any = {
    "latitude": [
        [49.034187757174955, 49.31758785654931, 49.61956363132533, 49.938555700280816, 50.27281926260226,
         58.9460624152286, 59.63404529337335, 60.252755835538736, 60.80219404172476, 61.28235991193143],
        [45.88616869796742, 46.31481717608965, 46.757750673520405, 47.214969190259694, 47.686472726307514,
         56.16407455643918, 56.679604586449344, 57.219008240316214, 57.7806355193674, 58.36252348214772],
        [48.0, 48.35182573660262, 48.71973240193436, 49.10279825643258, 49.5,
         58.0, 58.532437590769774, 59.04325012102636, 59.532437590769774, 60.0],
    ],
    "longitude": [
        [10.561051637802612, 11.496256187223267, 12.497336286244298, 13.567063933503736, 14.708321715105816,
         20.583246799749364, 21.925861645863623, 23.34470272848778, 24.839770047621826, 26.411063603265774],
        [11.373132245734142, 12.526634878446828, 13.648101121794165, 14.73753097577615, 15.794924440392785,
         21.312554141427942, 22.617229820482752, 23.995691509545523, 25.455578668650013, 27.005205547510773],
        [11.0, 12.067368686833266, 13.171704107557815, 14.315171769041214, 15.5,
         21.0, 22.30045267874317, 23.65060357165756, 25.05045267874317, 26.5],
    ],
    "moved": [171.3784902083, 172.5354644844, 173.6580618167, 174.7464576674, 175.8008979071,
              -178.6874458586, -177.3827701795, -176.0043084905, -174.5444213313, -172.9947944525],
}  # fmt: skip


def test_places_on_the_sphere_are_those_of_cfdm() -> None:
    found = opened(xr.open_dataset, memory_store(build(Group(on_sphere()))), group="g")
    for name, known in (("latitude", LATITUDES), ("longitude", PLACES)):
        np.testing.assert_allclose(
            found[name].values[[1, 3, 2]], ON_SPHERE_BY_CFDM[name], rtol=1e-14
        )
        assert (found[name].values[np.ix_(ROWS, COLUMNS)] == known).all()  # exact at tie points
        part = found[name].isel(x=[7, 1], y=slice(5, 2, -1)).values
        np.testing.assert_array_equal(part, found[name].values[5:2:-1, [7, 1]])
        assert found[name].isel(x=slice(0, 0)).shape == (7, 0)
        again = pickle.loads(pickle.dumps(found[name]))
        np.testing.assert_array_equal(again.values, found[name].values)


@pytest.mark.parametrize("is_pointwise", [False, True])
def test_values_are_computed_part_by_part(is_pointwise: bool, monkeypatch: Any) -> None:
    found = opened(xr.open_dataset, memory_store(build(Group(on_sphere()))), group="g")
    flat = opened(xr.open_dataset, memory_store(build(Group(members()))), group="g")
    y, x = xr.DataArray(np.arange(7), dims="n"), xr.DataArray(np.arange(7)[::-1], dims="n")
    places = {"y": y, "x": x} if is_pointwise else {"y": slice(None, None, -1), "x": [7, 1]}
    parts = (found["longitude"].isel(places), flat["longitude"].isel(places))
    whole = [it.copy().values for it in parts]
    monkeypatch.setattr(tie_points, "_CELLS", 3)
    for it, values in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(it.copy().values, values)


def test_what_is_computed_on_the_way_is_small() -> None:
    """Blocks follow the chunks of the data, which may be as large as memory allows."""
    rows, columns = (xr.Variable("tp", np.array([0, 1999])) for _ in range(2))
    corners = xr.Variable(("tp_y", "tp_x"), np.array([[0.0, 1.0], [2.0, 3.0]]))
    function = tie_points.BetweenTiePoints((0, 1), 360.0)
    positions = np.ix_(np.arange(2000), np.arange(2000))
    tracemalloc.start()
    found = function(corners, rows, columns, *positions)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (2000, 2000)
    assert most < 2 * found.nbytes


@pytest.mark.parametrize(("low", "in_space"), [(-180, True), (0, True), (-180, False), (0, False)])
def test_places_at_the_date_line_keep_the_range_of_tie_points(low: int, in_space: bool) -> None:
    moved = (PLACES + 160 - low) % 360 + low
    given = on_sphere([[int(in_space)] * 2] * 2, longitudes=moved)
    found = opened(xr.open_dataset, memory_store(build(Group(given))), group="g")["longitude"]
    assert (found.values[np.ix_(ROWS, COLUMNS)] == moved).all()
    expected = (np.array(ON_SPHERE_BY_CFDM["moved"]) - low) % 360 + low
    np.testing.assert_allclose(found.values[3], expected, atol=1e-9 if in_space else 2e-2)


@pytest.mark.parametrize(
    ("flags", "attributes"),
    [
        ([[7, 3], [3, 7]], {"flag_values": 7}),
        ([[7, 3], [3, 7]], {"flag_meanings": "other location_use_3d_cartesian", "flag_values": [3, 7]}),
        ([[3, 2], [0, 1]], {"flag_meanings": "other location_use_3d_cartesian", "flag_masks": [2, 1]}),
        # cfdm takes 3 to be set, too: by CF 3.5 what is masked is compared.
        ([[2, 3], [3, 6]], {"flag_masks": 3, "flag_values": 2}),
    ],
)  # fmt: skip
def test_flags_of_subareas(flags: Any, attributes: Any) -> None:
    attributes = {"flag_meanings": "location_use_3d_cartesian", **attributes}
    store = memory_store(build(Group(on_sphere(flags, attributes))))
    found = opened(xr.open_dataset, store, group="g")
    np.testing.assert_allclose(
        found["latitude"].values[[1, 3, 2]], ON_SPHERE_BY_CFDM["latitude"], rtol=1e-14
    )


#: What cfdm 1.13.3 reads along a row of a bi-quadratic interpolation that has equal rows of tie points: it fails
#: on what is quadratic along one dimension in degrees.
ALONG_ONE = {
    "latitude": [50.0, 50.609026987291976, 51.148632348949114, 51.61396450299985, 52.0, 52.277294761251476,
                 52.53639301500197, 52.777294761251476, 53.0, 60.0, 60.90512355624814, 61.87402599337125,
                 62.905999437846695, 64.0],
    "longitude": [10.0, 11.825620442700718, 13.769675607230763, 15.829377752965195, 18.0, 18.509161889825506,
                  19.012215853100674, 19.509161889825506, 20.0, 30.0, 30.677547243955665, 31.397081272084822,
                  32.167590101016216, 33.0],
}  # fmt: skip


def test_places_along_one_dimension() -> None:
    given = one_dimension(
        "quadratic_latitude_longitude",
        computational_precision="64",
        interpolation_parameters="interpolation_subarea_flags: flags ce: ce ca: ca",
    )
    latitudes, longitudes = [50.0, 52, 53, 60, 64], [10.0, 18, 20, 30, 33]
    given["lat"] = Array(np.array(latitudes), ("tp",), {"units": "degrees_north"})
    given["lon"] = Array(np.array(longitudes), ("tp",), {"units": "degrees_E"})
    given["flags"] = Array(np.array([1, 0, 1]), ("sub",), IN_SPACE)
    given["ce"] = Array(np.array([0.01, -0.02, 0.03]), ("sub",))
    given["ca"] = Array(np.array([0.02, 0.01, -0.01]), ("sub",))
    attributes = {**declaring("CF"), "coordinate_interpolation": "lat: lon: how"}
    given["g"] = Group({"a": Array(np.zeros(14), ("x",), attributes)})
    found = opened(xr.open_dataset, memory_store(build(Group(given))), group="g")
    np.testing.assert_allclose(found["lat"].values, ALONG_ONE["latitude"], rtol=1e-14)
    np.testing.assert_allclose(found["lon"].values, ALONG_ONE["longitude"], rtol=1e-14)


def test_places_along_one_dimension_beside_another_one(monkeypatch: Any) -> None:
    given = one_dimension(
        "quadratic_latitude_longitude",
        interpolation_parameters="interpolation_subarea_flags: flags",
    )
    rows = np.array([50.0, 52, 53, 60, 64])[:, None]
    given["lat"] = Array(rows + np.arange(3.0), ("tp", "b"), {"units": "degrees_north"})
    given["lon"] = Array(rows + 3 * np.arange(3.0), ("tp", "b"), {"units": "degrees_east"})
    given["flags"] = Array(np.array([1, 0, 1]), ("sub",), IN_SPACE)
    attributes = {**declaring("CF"), "coordinate_interpolation": "lat: lon: how"}
    given["g"] = Group({"a": Array(np.zeros((14, 3)), ("x", "b"), attributes)})
    found = opened(xr.open_dataset, memory_store(build(Group(given))), group="g")["lat"]
    whole = found.copy().values
    assert whole[[0, 4, 8, 9, 13]].tolist() == given["lat"].values.tolist()
    monkeypatch.setattr(tie_points, "_CELLS", 3)
    np.testing.assert_array_equal(found.copy().values, whole)


def test_a_window_reads_only_the_tie_points_around_it() -> None:
    chunked = {
        key: Array(it.values, it.dims, it.attrs, chunks=(1, 1))
        for key, it in on_sphere().items()
        if key != "flags" and isinstance(it, Array) and np.ndim(it.values) == 2
    }
    store: Any = recording_store(build(Group(on_sphere(**chunked))))
    found = xr.open_dataset(store, engine="xgroup", group="g", zarr_format=3)
    assert not store.chunk_gets
    found["latitude"][5:, 6:].load()
    read = {key.partition("/c/")[::2] for key in store.chunk_gets}
    assert {at for name, at in read if name in ("latitude", "longitude")} == {
        "1/2",
        "1/3",
        "2/2",
        "2/3",
    }
    assert {at for name, at in read if name == "ca1"} == {"1/1", "2/1"}
    assert {at for name, at in read if name == "ca3"} == {"1/1"}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"longitude": Array(PLACES, ("tp_y", "tp_x"))}, "one array of latitudes and one of longitudes"),
        ({"longitude": Array(PLACES[:, :2], ("tp_y", "z"), {"units": "degrees_east"})}, "along the same dimensions"),
        ({"ce1": Array(np.array([["a", "b"]] * 3), ("tp_y", "sub_x"))}, "names /ce1, which has no numbers"),
        ({"flags": [["a", "b"], ["c", "d"]]}, "names /flags, which has no numbers"),
        ({"attributes": {**IN_SPACE, "flag_masks": 2**70}}, "does not say by which flag"),
        ({"attributes": {}}, "does not say by which flag"),
        ({"attributes": {**IN_SPACE, "flag_masks": []}}, "does not say by which flag"),
        ({"ce1": Array(np.zeros((3, 2)), ("tp_y", "z"))}, "dimension 'z' is none of tie points or their subareas"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_places(changed: Any, text: str) -> None:
    store = memory_store(build(Group(on_sphere(**changed))))
    found, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert "latitude" not in found["a"].coords
    assert text in str(told[0])


def test_parameters_that_are_too_few_are_told_when_they_are_read() -> None:
    store = memory_store(build(Group(on_sphere(ce3=Array(np.zeros((1, 2)), ("sub_y", "sub_x"))))))
    found = opened(xr.open_dataset, store, group="g")
    assert found["latitude"][:2].shape == (2, 10)
    with pytest.raises(ValueError, match=r"of shape \[1, 2\] are too few for the tie points"):
        found["latitude"].load()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_position_0_is_one_where_it_stands_for_missing_data(zarr_format: ZarrFormat) -> None:
    """As in Zarr v2, whose writers give arrays the fill value 0 if nobody says another one."""
    masked = {
        "rows": Array(ROWS, ("tp_y",), missing=0),
        "columns": Array(COLUMNS, ("tp_x",), missing=0),
    }
    store = memory_store(build(Group(members(**masked)), zarr_format=zarr_format))
    found = opened(xr.open_dataset, store, group="g")
    np.testing.assert_allclose(
        found["latitude"].values, by_hand(LATITUDES, ROWS, COLUMNS), rtol=1e-14
    )


def test_a_missing_tie_point_is_missing_only_between_it_and_others() -> None:
    given = members()
    values = LATITUDES.copy()
    values[0, 0] = np.nan
    given["latitude"] = Array(values, ("tp_y", "tp_x"))
    found = opened(xr.open_dataset, memory_store(build(Group(given))), group="g")["latitude"].values
    assert np.isnan(found[:2, :4]).all()
    assert not np.isnan(found[2:]).any()
    assert not np.isnan(found[:, 4:]).any()


def test_opening_reads_no_chunk_and_blocks_are_computed_one_by_one() -> None:
    pytest.importorskip("dask")
    given = members()
    given["g"] = Group(
        {"a": Array(np.zeros((7, 10)), ("y", "x"), {**declaring("CF"), **DATA}, chunks=(3, 5))}
    )
    store: Any = recording_store(build(Group(given)))
    found = xr.open_dataset(store, engine="xgroup", group="g", chunks={}, zarr_format=3)
    assert not store.chunk_gets
    assert found["latitude"].chunks == found["a"].chunks == ((3, 3, 1), (5, 5))
    np.testing.assert_allclose(
        found["latitude"].values, by_hand(LATITUDES, ROWS, COLUMNS), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("container", "data", "text"),
    [
        ({**CONTAINER, "interpolation_name": "cubic"}, DATA, "is no interpolation that is known"),
        ({"tie_point_mapping": CONTAINER["tie_point_mapping"]}, DATA, "interpolation_name: is missing"),
        ({**CONTAINER, "interpolation_parameters": "w: rows"}, DATA, "has the terms w"),
        ({**CONTAINER, "tie_point_mapping": "y: rows"}, DATA, "must have the form"),
        (CONTAINER, {"coordinate_interpolation": "latitude: longitude:"}, "must have the form"),
        (CONTAINER, {"coordinate_interpolation": "how"}, "must have the form"),
        (CONTAINER, {"coordinate_interpolation": 5}, "must be a string"),
        ({**CONTAINER, "interpolation_name": "linear"}, DATA, "along 1 dimensions, not 2"),
        ({"interpolation_name": "bi_linear"}, DATA, "tie_point_mapping: is missing"),
        ({**CONTAINER, "tie_point_mapping": "y: nope tp_y x: columns tp_x"}, DATA, "'nope', which is no array"),
        ({**CONTAINER, "tie_point_mapping": "y: columns tp_y x: columns tp_x"}, DATA, "needs 3 positions"),
        ({**CONTAINER, "tie_point_mapping": "z: rows tp_y x: columns tp_x"}, DATA, "no dimension of the array for 'tp_y'"),
        ({**CONTAINER, "tie_point_mapping": "y: rows tp_y y: columns tp_x"}, DATA, "no dimension of the array for 'tp_x'"),
        ({**CONTAINER, "tie_point_mapping": "y: texts tp_y x: columns tp_x"}, DATA, "names /texts, which has no numbers"),
        ({"interpolation_description": "splines"}, DATA, "what 'interpolation_description' says is not known here"),
        (CONTAINER, {"coordinate_interpolation": "latitude: nope"}, "'nope', which is no array"),
        (CONTAINER, {"coordinate_interpolation": "nope: how"}, "'nope', which is no array"),
    ],
)  # fmt: skip
def test_what_is_wrong_costs_what_is_interpolated(container: Any, data: Any, text: str) -> None:
    texts = Array(np.array(["0", "2", "6"]), ("tp_y",))
    store = memory_store(build(Group(members(container, data, texts=texts))))
    found, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert not {*found["a"].coords}
    assert [text in str(it) for it in told] == [True], told


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ([5], [np.nan, np.nan, np.nan, np.nan, np.nan, 0, np.nan]),
        ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]),  # all are neighbours
        ([0, 1, 6], [0, 1, 1.2, 1.4, 1.6, 1.8, 2]),
        ([0, 5, 6], [0, 0.2, 0.4, 0.6, 0.8, 1, 2]),
        ([2, 4], [np.nan, np.nan, 0, 0.5, 1, np.nan, np.nan]),
        ([0, 12], [0, 1 / 12, 2 / 12, 3 / 12, 4 / 12, 5 / 12, 6 / 12]),  # beyond the array
    ],
)
def test_tie_points_anywhere(at: list[int], expected: list[float]) -> None:
    given = one_dimension("linear")
    given |= {"lat": Array(np.arange(float(len(at))), ("tp",)), "at": Array(np.array(at), ("tp",))}
    given["g"] = Group({"a": Array(np.zeros(7), ("x",), given["g"].members["a"].attrs)})
    found = opened(xr.open_dataset, memory_store(build(Group(given))), group="g")["lat"]
    np.testing.assert_allclose(found.values, expected, rtol=1e-14)
    for n, value in enumerate(expected):
        np.testing.assert_allclose(found[n].values, value, rtol=1e-14)


@pytest.mark.parametrize("at", [[0, 8, 4, 9, 13], [0, 4, 4, 9, 13], [0, 4, 8, 9, np.nan]])
def test_positions_that_do_not_increase_are_told_when_they_are_read(at: list[float]) -> None:
    store = memory_store(
        build(Group({**one_dimension("linear"), "at": Array(np.array(at), ("tp",))}))
    )
    found = opened(xr.open_dataset, store, group="g")
    with pytest.raises(ValueError, match="do not increase"):
        found["lat"].load()


def test_no_tie_points_are_told() -> None:
    none = {"lat": Array(np.zeros(0), ("tp",)), "at": Array(np.zeros(0, "i8"), ("tp",))}
    store = memory_store(build(Group({**one_dimension("linear"), **none})))
    found, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert not {*found["a"].coords}
    assert ["names /at, which has no numbers" in str(it) for it in told] == [True]


def test_packed_positions_are_unpacked() -> None:
    at = Array(np.array([0, 2, 4]), ("tp",), {"scale_factor": 0.5, "add_offset": 0.5})
    given = {**one_dimension("linear"), "lat": Array(np.array([0.0, 1, 2]), ("tp",)), "at": at}
    found = opened(xr.open_dataset, memory_store(build(Group(given))), group="g")["lat"]
    np.testing.assert_allclose(found.values[:4], [np.nan, 0.5, 1.5, np.nan])


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
def test_places_that_were_cut_and_written_again_stand() -> None:
    store = memory_store(build(Group(on_sphere())))
    first = opened(xr.open_dataset, store, group="g")
    again = MemoryStore()
    quietly(first.isel(x=slice(2, 5)).to_zarr, again, zarr_format=3)
    found, told = opened_with_warnings(xr.open_dataset, again)
    np.testing.assert_array_equal(found["latitude"].values, first["latitude"].values[:, 2:5])
    assert ({*found["a"].coords}, told) == ({"latitude", "longitude"}, [])


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
@pytest.mark.parametrize("is_beside", [False, True], ids=["in another group", "beside the data"])
def test_what_was_cut_and_written_again_is_not_interpolated_anew(is_beside: bool) -> None:
    given = members()
    if is_beside:
        given |= given.pop("g").members
    store = memory_store(build(Group(given)))
    group = None if is_beside else "g"
    first = opened(xr.open_dataset, store, group=group).isel(x=slice(2, 5))
    again = MemoryStore()
    quietly(first.to_zarr, again, zarr_format=3)
    found, told = opened_with_warnings(xr.open_dataset, again)
    name = "latitude_interpolated" if is_beside else "latitude"
    np.testing.assert_allclose(
        found[name].values, by_hand(LATITUDES, ROWS, COLUMNS)[:, 2:5], rtol=1e-14
    )
    assert {*found["a"].coords} == {name, name.replace("latitude", "longitude")}
    assert told == []


# Ground control points.


def product(shape: tuple[int, int] = (7, 10), *, is_grid: bool = False, **changed: Any) -> Any:
    lines, pixels = np.meshgrid(ROWS, COLUMNS, indexing="ij")
    dims = ("azimuth_time", "ground_range") if is_grid else ("azimuth_time",)
    flat = (lambda it: it) if is_grid else np.ravel
    points = {
        "latitude": Array(flat(LATITUDES), dims),
        "longitude": Array(flat(LONGITUDES), dims),
        "line": Array(ROWS if is_grid else lines.ravel(), dims[:1]),
        "pixel": Array(COLUMNS if is_grid else pixels.ravel(), dims[-1:]),
        **changed,
    }
    measured = {"grd": Array(np.zeros(shape), ("azimuth_time", "ground_range"))}
    conditions = Group({"gcp": Group(points)})
    return build(Group({"conditions": conditions, "measurements": Group(measured)}))


@pytest.mark.parametrize("is_grid", [False, True])
def test_ground_control_points(is_grid: bool) -> None:
    store: Any = recording_store(product(is_grid=is_grid))
    options: Any = {"engine": "xgroup", "group": "measurements", "zarr_format": 3}
    found = xr.open_dataset(store, assume_conventions="gcp", **options)
    assert not store.chunk_gets
    latitude = found["grd"].coords["latitude"]
    np.testing.assert_allclose(latitude.values, by_hand(LATITUDES, ROWS, COLUMNS), rtol=1e-14)
    assert found["longitude"].values[3, [0, 5, 9]].tolist() == [170.0, -179.0, -170.0]
    assert latitude.attrs == {"units": "degrees_north", "standard_name": "latitude"}


def test_control_points_are_only_assumed_and_advised() -> None:
    store: Any = memory_store(consolidate(product()))
    options: Any = {"engine": "xgroup", "group": "measurements"}
    with pytest.warns(XGroupNoPrincipalWarning, match="open with assume_conventions='gcp'"):
        found = xr.open_dataset(store, **options)
    assert not {*found.coords}
    with pytest.warns(XGroupNoPrincipalWarning, match="'auto' took gcp"):
        found = xr.open_dataset(store, assume_conventions="auto", **options)
    assert {*found.coords} == {"latitude", "longitude"}


def test_beyond_control_points_nothing_is_made_up() -> None:
    store = memory_store(product((9, 12)))
    found = opened(xr.open_dataset, store, group="measurements", assume_conventions="gcp")
    latitude = found["latitude"].values
    assert np.isnan(latitude[7:]).all()
    assert np.isnan(latitude[:, 10:]).all()
    assert not np.isnan(latitude[:7, :10]).any()


def control_points(lines: Any, pixels: Any) -> Any:
    """Return a product with control points at some lines and pixels, which have these as their places."""
    line, pixel = (np.ravel(it) for it in np.meshgrid(lines, pixels, indexing="ij"))
    places = {"line": line, "pixel": pixel, "latitude": line * 1.0, "longitude": pixel * 1.0}
    points: Any = {name: Array(it, ("azimuth_time",)) for name, it in places.items()}
    return product(**points)


def test_control_points_of_one_line_say_nothing_of_others() -> None:
    store = memory_store(control_points([3], [0, 9]))
    found = opened(xr.open_dataset, store, group="measurements", assume_conventions="gcp")
    assert found["longitude"].values[3].tolist() == [*range(10)]
    assert np.isnan(found["longitude"].values[[0, 1, 2, 4, 5, 6]]).all()


def test_control_points_may_be_between_cells() -> None:
    store = memory_store(control_points([-0.5, 6.5], [-0.5, 9.5]))
    found = opened(xr.open_dataset, store, group="measurements", assume_conventions="gcp")
    np.testing.assert_allclose(found["latitude"].values[:, 4], np.arange(7), atol=1e-14)


def test_no_control_points_are_told() -> None:
    store = memory_store(control_points([], []))
    found, told = opened_with_warnings(
        xr.open_dataset, store, group="measurements", assume_conventions="gcp"
    )
    assert not {*found.coords}
    assert ["names /conditions/gcp/line, which has no numbers" in str(it) for it in told] == [True]


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
def test_what_was_cut_of_a_product_and_written_again_keeps_its_places() -> None:
    tree = opened(xr.open_datatree, memory_store(product()), assume_conventions="gcp")
    tree["measurements"] = tree["measurements"].isel(ground_range=slice(2, 5))
    again = MemoryStore()
    quietly(tree.to_zarr, again, zarr_format=3)
    found, told = opened_with_warnings(
        xr.open_dataset, again, group="measurements", assume_conventions="gcp"
    )
    expected = by_hand(LATITUDES, ROWS, COLUMNS)[:, 2:5]
    np.testing.assert_allclose(found["latitude"].values, expected, rtol=1e-14)
    assert ({*found["grd"].coords}, told) == ({"latitude", "longitude"}, [])


def test_points_that_are_no_grid_are_told() -> None:
    pixel = Array(np.arange(12), ("azimuth_time",))
    store = memory_store(product(pixel=pixel))
    found = opened(xr.open_dataset, store, group="measurements", assume_conventions="gcp")
    with pytest.raises(ValueError, match="no grid of rows and columns"):
        found["latitude"].load()
    store = memory_store(product(pixel=Array(np.arange(5), ("azimuth_time_1",))))
    found, told = opened_with_warnings(
        xr.open_dataset, store, group="measurements", assume_conventions="gcp"
    )
    assert "latitude" not in found.coords
    assert ["lines and pixels of the points are" in str(it) for it in told] == [True, True] or len(
        told
    ) == 1
