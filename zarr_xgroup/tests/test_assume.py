"""Conventions that a store does not declare and a user assumes: the option `assume_conventions`."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import zarr_xgroup
from zarr_xgroup import (
    ConventionHandler,
    XGroupNoPrincipalWarning,
    XGroupResolutionWarning,
    register,
)
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    ZarrFormat,
    build,
    coordinate,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    oracle,
    quietly,
    recorded,
)
from zarr_xgroup.tests.test_backend_roms import COMMITTED

each_format = pytest.mark.parametrize("zarr_format", [2, 3])

#: The group of a product that is opened.
RESOLUTION = "measurements/reflectance/r60m"

WKT1 = (
    'PROJCS["WGS 84 / UTM zone 32N",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,'
    '298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,'
    'AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],'
    'AUTHORITY["EPSG","4326"]],PROJECTION["Transverse_Mercator"],'
    'PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",9],'
    'PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],'
    'PARAMETER["false_northing",0],UNIT["metre",1,AUTHORITY["EPSG","9001"]],'
    'AXIS["Easting",EAST],AXIS["Northing",NORTH],AUTHORITY["EPSG","32632"]]'
)

#: What a product of EOPF writes on a band of 3 x 4 cells.
STAC: Mapping[str, Any] = {
    "proj:epsg": 32632,
    "proj:wkt2": WKT1,
    "proj:shape": [3, 4],
    "proj:transform": [10.0, 0.0, 300000.0, 0.0, -10.0, 5000040.0, 0.0, 0.0, 1.0],
    "proj:bbox": [300000.0, 5000010.0, 300040.0, 5000040.0],
}
X, Y = [300005.0, 300015.0, 300025.0, 300035.0], [5000035.0, 5000025.0, 5000015.0]
GEOTRANSFORM = "300000.0 10.0 0.0 5000040.0 0.0 -10.0"


def band(dims: tuple[str, ...] = ("y", "x"), /, **changed: Any) -> Array:
    shape = {"x": 4, "y": 3, "t": 2, "band": 2}
    values = np.ones([shape[dim] for dim in dims], "f4")
    attributes = {key: value for key, value in {**STAC, **changed}.items() if value is not None}
    return Array(values, dims, attributes)


def grid(**arrays: Array) -> Group:
    return Group({"x": coordinate("x", X), "y": coordinate("y", Y), **arrays})


def assuming(*names: str, root: Group, zarr_format: ZarrFormat = 3, **options: Any) -> Any:
    store = memory_store(build(root, zarr_format))
    return opened(xr.open_dataset, store, assume_conventions=names, **options)


def told_when_assuming(*names: str, root: Group) -> tuple[xr.Dataset, list[str]]:
    store = memory_store(build(root))
    dataset, told = opened_with_warnings(xr.open_dataset, store, assume_conventions=names)
    assert all(type(warning) is XGroupResolutionWarning for warning in told)
    return dataset, [str(warning) for warning in told]


# The option.


@pytest.mark.parametrize("nothing", [None, (), []])
def test_nothing_is_assumed_by_default(nothing: Any) -> None:
    store = memory_store(build(grid(b02=band())))
    theirs = oracle(xr.open_dataset, store)
    xr.testing.assert_identical(opened(xr.open_dataset, store), theirs)
    ours = opened(xr.open_dataset, store, assume_conventions=nothing)
    xr.testing.assert_identical(ours, theirs)


@pytest.mark.parametrize("names", ["proj", "proj:", " PROJ", ["cf", "proj"], ("proj",), {"proj"}])
@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree, xr.open_groups])
def test_names(names: Any, function: Any) -> None:
    store = memory_store(build(grid(b02=band())))
    result = opened(function, store, assume_conventions=names)
    dataset = result["/"] if isinstance(result, dict) else result
    assert "spatial_ref" in dataset.coords


@pytest.mark.parametrize("names", ["nope", ["proj", "nope"], "multiscales", ""])
def test_an_unknown_name(names: Any) -> None:
    with pytest.raises(ValueError, match=r"there is no convention .*; there are cf, "):
        xr.open_dataset(COMMITTED, engine="xgroup", assume_conventions=names)


@pytest.mark.parametrize("names", [5, [5], {"proj": 1, 2: 3}])
def test_what_is_no_name(names: Any) -> None:
    with pytest.raises(TypeError, match="assume_conventions must be a name or several, got"):
        xr.open_dataset(COMMITTED, engine="xgroup", assume_conventions=names)


# Each convention.


def test_spatial() -> None:
    attributes = {
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": [10.0, 0.0, 300000.0, 0.0, -10.0, 5000040.0],
    }
    members: dict[str, Group | Array] = {
        "a": Array(np.ones((3, 4)), ("y", "x"), attributes),
        "b": Group(
            {"c": Array(np.ones((3, 4)), ("y", "x")), "other": Array([1.0], ("z",))}, attributes
        ),
    }
    for group, name in (("", "a"), ("b", "c")):
        dataset = assuming("spatial", root=Group(members), group=group)
        assert dataset[name]["x"].values.tolist() == X
        assert dataset[name]["y"].values.tolist() == Y


def test_services() -> None:
    v = Array(
        [[1.0]],
        ("y", "x"),
        {
            "geolocation": {"geodetic": {"x": {"node": "p"}, "y": {"node": "q"}}},
            "more": {"node": "r"},
        },
    )
    located = {name: Array([[2.0]], ("y", "x")) for name in ("p", "q", "r")}
    dataset = assuming("geolocation", "ref", root=Group({"v": v, **located}))
    assert set(dataset.coords) == {"p", "q", "r"}


def test_what_is_declared_goes_before_what_is_assumed() -> None:
    axes = {"x": {"coordinates": [{"values": {"explicit": [3.0, 4.0]}}]}}
    cs = {"cs": {"crs": [{"axes": axes}]}}
    transform = [1.0, 0.0, 0.0, 0.0, -1.0, 0.0]
    described = {**cs, "spatial:dimensions": ["y", "x"], "spatial:transform": transform}
    undecided = Array([[1.0, 2.0]], ("y", "x"), described)
    decided = Array([[1.0, 2.0]], ("y", "x"), declaring("spatial", **described))
    for array, expected in ((undecided, [3.0, 4.0]), (decided, [0.5, 1.5])):
        dataset = assuming("cs", root=Group({"v": array}))
        assert dataset["x"].values.tolist() == expected


def test_a_convention_of_a_third_party(monkeypatch: pytest.MonkeyPatch) -> None:
    class Marked(ConventionHandler):
        tier = "principal"
        name = "marked"

        @classmethod
        def detect(cls, root: zarr.Group, group: zarr.Group, array: "zarr.Array[Any]") -> bool:
            return "marked" in array.attrs

        def get_variables(
            self, array: "zarr.Array[Any]", group: zarr.Group, root: zarr.Group
        ) -> dict[str, xr.Variable]:
            return {"x": xr.Variable(("x",), [7.0, 8.0])}

    register(Marked)
    root = Group({"v": Array([1.0, 2.0], ("x",))})
    assert "x" not in opened(xr.open_dataset, memory_store(build(root))).coords
    assert assuming("marked", root=root)["x"].values.tolist() == [7.0, 8.0]


# What STAC writes on arrays.


@each_format
@pytest.mark.parametrize("numbers", [6, 9])
def test_crs_and_transform(numbers: int, zarr_format: ZarrFormat) -> None:
    written = STAC["proj:transform"][:numbers]
    root = grid(b02=band(**{"proj:transform": written}))
    dataset = assuming("proj", root=root, zarr_format=zarr_format)
    assert dataset["b02"].attrs["grid_mapping"] == "spatial_ref"
    assert "GeoTransform" not in dataset["spatial_ref"].attrs
    assert dataset["x"].attrs["standard_name"] == "projection_x_coordinate"
    assert dataset["b02"].attrs["proj:shape"] == [3, 4]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("proj:epsg", 32632),
        ("proj:code", "EPSG:32632"),
        ("proj:wkt2", WKT1),
        ("proj:projjson", {"$ref": "made below"}),
    ],
)
def test_each_spelling_of_a_crs(key: str, value: Any) -> None:
    pyproj = pytest.importorskip("pyproj")
    if key == "proj:projjson":
        value = pyproj.CRS(32632).to_json_dict()
    plain = {"proj:epsg": None, "proj:wkt2": None, key: value}
    dataset = assuming("proj", root=grid(b02=band(**plain)))
    assert pyproj.CRS(dataset["spatial_ref"].attrs["crs_wkt"]).to_epsg() == 32632


@pytest.mark.parametrize("dims", [("y", "x"), ("t", "y", "x"), ("x", "y")])
def test_coordinates_where_the_group_has_none(dims: tuple[str, ...]) -> None:
    dataset = assuming("proj", root=Group({"b02": band(dims)}))
    assert dataset["x"].values.tolist() == X
    assert dataset["y"].values.tolist() == Y
    assert "GeoTransform" not in dataset["spatial_ref"].attrs


def test_a_transform_is_told_where_coordinates_cannot_say_it() -> None:
    flat = {"proj:shape": [1, 4], "proj:bbox": None}
    row = Array(np.ones((1, 4)), ("y", "x"), {**STAC, **flat})
    dataset = assuming("proj", root=Group({"b02": row}))
    assert dataset["spatial_ref"].attrs["GeoTransform"] == GEOTRANSFORM


def test_a_rotated_grid() -> None:
    rotated = {"proj:transform": [8.0, 6.0, 300000.0, 6.0, -8.0, 5000040.0], "proj:bbox": None}
    dataset = assuming("proj", root=Group({"b02": band(**rotated)}))
    assert set(dataset["b02"].coords) == {"xc", "yc", "spatial_ref"}
    assert dataset["spatial_ref"].attrs["GeoTransform"] == "300000.0 8.0 6.0 5000040.0 6.0 -8.0"
    with_arrays = assuming("proj", root=grid(b02=band(**rotated)))
    assert set(with_arrays["b02"].coords) == {"x", "y", "spatial_ref"}
    assert "GeoTransform" not in with_arrays["spatial_ref"].attrs


WRONG = [
    (
        {"proj:shape": [30, 40]},
        "/proj:shape: is [30, 40], so proj:transform is not that of [3, 4] cells",
    ),
    ({"proj:shape": "x"}, "/proj:shape: is x, so proj:transform is not that of [3, 4] cells"),
    ({"proj:transform": [1.0, 2.0]}, "/proj:transform: must be 6 finite numbers, got [1.0, 2.0]"),
    ({"proj:transform": "x"}, "/proj:transform: must be a list, got string"),
    ({"proj:transform": [0.0] * 6}, "/proj:transform: is degenerate"),
    (
        {"proj:transform": [*STAC["proj:transform"][:6], 0.0, 0.5, 1.0]},
        "/proj:transform: is no affine transform: its last row is not 0, 0, 1",
    ),
]


@pytest.mark.parametrize(("changed", "text"), WRONG)
def test_a_transform_that_cannot_be_used(changed: Mapping[str, Any], text: str) -> None:
    dataset, told = told_when_assuming("proj", root=Group({"b02": band(**changed)}))
    assert set(dataset.coords) == {"spatial_ref"}
    assert "GeoTransform" not in dataset["spatial_ref"].attrs
    assert len(told) == 1
    assert text in told[0]


@pytest.mark.parametrize(
    ("box", "text"),
    [
        (
            [0.0, 0.0, 40.0, 30.0],
            "by proj:transform it is [300000.0, 5000010.0, 300040.0, 5000040.0]",
        ),
        ([0.0], "/proj:bbox and 1 more: must be 4 finite numbers, got [0.0]"),
    ],
)
def test_another_box_is_told_once(box: list[float], text: str) -> None:
    wrong = {"proj:bbox": box}
    root = Group({"b02": band(**wrong), "b03": band(**wrong)})
    dataset, told = told_when_assuming("proj", root=root)
    assert dataset["x"].values.tolist() == X
    assert len({warning.partition(text)[1] for warning in told}) == 1
    assert text in told[0]


def test_a_box_of_zeros_says_nothing() -> None:
    assuming("proj", root=Group({"b02": band(**{"proj:bbox": [0.0] * 4})}))


def test_a_transform_counts_only_where_proj_is_assumed() -> None:
    attributes = {**STAC, **declaring("proj")}
    root = Group({"b02": Array(np.ones((3, 4)), ("y", "x"), attributes)})
    dataset = opened(xr.open_dataset, memory_store(build(root)))
    assert set(dataset.coords) == {"spatial_ref"}
    assert "GeoTransform" not in dataset["spatial_ref"].attrs


# What is told.


def no_principal_warning(store: Any, **options: Any) -> str:
    _dataset, given = recorded(xr.open_datatree, store, engine="xgroup", **options)
    (told,) = [item for item in given if type(item) is XGroupNoPrincipalWarning]
    assert len(str(told)) <= 400
    return str(told)


SET_OF_X = {"crs": [{"axes": {"x": {"coordinates": [{"values": {"explicit": [5.0]}}]}}}]}
SPATIAL = {"spatial:dimensions": ["y", "x"], "spatial:bbox": [0.0, 0.0, 4.0, 3.0]}


@pytest.mark.parametrize(
    ("root", "ending"),
    [
        (Group({"v": band()}), "assume_conventions='proj'"),
        (Group({"v": band(**SPATIAL)}), "assume_conventions=['spatial', 'proj']"),
        (Group({"v": Array(np.ones((3, 4)), ("y", "x"))}, SPATIAL), "assume_conventions='spatial'"),
        (
            Group({"v": Array([1.0], ("x",), {"cs": SET_OF_X})}),
            "assume_conventions='cs'",
        ),
        (
            Group(
                {
                    "v": Array([1.0], ("x",), {"coordinates": "/g/lon"}),
                    "g": Group({"lon": coordinate("x", [1.0])}),
                }
            ),
            "assume_conventions='cf'",
        ),
    ],
)
def test_the_warning_ends_with_the_option(root: Group, ending: str) -> None:
    assert no_principal_warning(memory_store(build(root))).endswith(f", open with {ending}")


def test_the_warning_names_no_option_that_would_not_help() -> None:
    plain = Group({"v": Array([1.0], ("x",), {"cs": "x", "coordinates": "lon"})})
    store = memory_store(build(plain))
    assert "assume_conventions" not in no_principal_warning(store)
    store = memory_store(build(Group({"v": band(("t", "y", "x"))})))
    assert "assume_conventions" not in no_principal_warning(store, assume_conventions="proj")


SWATH = {
    "geo": Group({name: Array(np.ones((3, 4)), ("line", "pixel")) for name in ("lat", "lon")}),
    "data": Group(
        {"v": Array(np.ones((3, 4)), ("line", "pixel"), {"coordinates": "/geo/lat /geo/lon"})}
    ),
}


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize(
    "function", [xr.open_dataset, xr.open_datatree, xr.open_groups], ids=lambda it: it.__name__
)
def test_coordinates_of_a_swath_in_another_group_are_known_by_their_paths(
    function: Any, consolidated: bool
) -> None:
    store: Any = memory_store(build(Group(SWATH), consolidated=consolidated))
    for assumed, ending in ((None, "open with assume_conventions='cf'"), ("auto", "took cf")):
        found, given = recorded(
            function, store, group="data", engine="xgroup", assume_conventions=assumed
        )
        (warning,) = given
        assert str(warning).endswith(ending)
        dataset = next(iter(found.values())) if isinstance(found, dict) else found
        assert set(dataset["v"].coords) == ({"lat", "lon"} if assumed else set())


def test_a_crs_that_attributes_of_stac_would_give_is_missed() -> None:
    store = memory_store(build(grid(b02=band())))
    dataset, (warning,) = recorded(xr.open_dataset, store, engine="xgroup")
    assert set(dataset.coords) == {"x", "y"}
    assert str(warning) == (
        "1 array lacks coordinates or a CRS and declares no principal convention (such as cs or "
        "spatial): /b02. For these, open with assume_conventions='proj'"
    )
    dataset, (warning,) = recorded(
        xr.open_dataset, store, engine="xgroup", assume_conventions="auto"
    )
    assert "spatial_ref" in dataset.coords
    assert str(warning) == "assume_conventions='auto' took proj"


@pytest.mark.parametrize(
    "root",
    [
        grid(b02=band(grid_mapping="crs"), crs=Array(0, (), {"crs_wkt": WKT1})),
        grid(b02=band(), spatial_ref=Array(0, (), {"crs_wkt": WKT1})),
        grid(b02=band(**{"proj:epsg": None, "proj:wkt2": None})),
        grid(b02=band(**declaring("proj"))),
        grid(
            v=Array(
                np.ones((3, 4)), ("y", "x"), {"coordinates": "lost", "cell_measures": "area: a"}
            )
        ),
    ],
    ids=["named", "beside", "says none", "declared", "has coordinates"],
)
def test_nothing_is_missed_of_grids_that_have_all_that_is_said(root: Group) -> None:
    for assumed in (None, "auto"):
        _dataset, given = recorded(
            xr.open_dataset, memory_store(build(root)), engine="xgroup", assume_conventions=assumed
        )
        assert given == []


@pytest.mark.parametrize(
    ("product", "advised", "name"),
    [
        ("sentinel1_grd_eopf_v2", "gcp", "latitude"),
        ("sentinel2_l1c_eopf_v2", "proj", "spatial_ref"),
    ],
)
def test_what_products_lack_is_advised_by_their_marks_and_auto_takes_it(
    tmp_path: Path, product: str, advised: str, name: str
) -> None:
    store: Any = products.write(product, tmp_path / "product")
    advice = no_principal_warning(store)
    assert advice.endswith(f"open with assume_conventions='{advised}'")
    for assumed in ("auto", ["auto", "cs"], {"Auto"}):
        tree, given = recorded(xr.open_datatree, store, engine="xgroup", assume_conventions=assumed)
        assert any(str(it).endswith(f"assume_conventions='auto' took {advised}") for it in given)
        assert any(name in node.coords for node in tree.subtree)


@pytest.mark.parametrize(
    ("attributes", "is_told"),
    [
        (declaring("ref", label={"node": "scalar"}), True),
        (declaring("ref", label={"node": "rows"}), True),
        (declaring("geolocation", geolocation={"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}}), True),
        (declaring("uom", uom={"ucum": {"unit": "m"}}), True),
        (declaring("ref", label={"node": "cube"}), False),
    ],
    ids=["a scalar", "along y", "along y and x", "none", "along all"],
)  # fmt: skip
def test_services_alone_are_told_where_they_leave_a_dimension_bare(
    attributes: Mapping[str, Any], is_told: bool
) -> None:
    arrays = {
        "v": Array(np.zeros((2, 3, 4)), ("t", "y", "x"), attributes),
        "scalar": Array(np.array(5.0), ()),
        "rows": Array(np.zeros(3), ("y",)),
        "cube": Array(np.zeros((2, 3, 4)), ("t", "y", "x")),
        **{name: Array(np.zeros((3, 4)), ("y", "x")) for name in ("lat", "lon")},
    }
    store = memory_store(build(Group(arrays)))
    _dataset, told = recorded(xr.open_dataset, store, engine="xgroup")
    paths = [path for it in told for path in getattr(it, "paths", ())]
    assert ("/v" in paths) is is_told


def test_what_a_list_holds_beside_auto_is_assumed_too() -> None:
    members = {**SWATH, "b": Group({"b02": band()})}
    store = memory_store(build(Group(members)))
    options: Any = {"engine": "xgroup", "assume_conventions": ["auto", "proj"]}
    tree, (warning,) = recorded(xr.open_datatree, store, **options)
    assert str(warning) == "assume_conventions='auto' took cf"
    assert {"lat", "lon"} <= set(tree["data/v"].coords)
    assert {"x", "y", "spatial_ref"} <= set(tree["b/b02"].coords)


def test_explain_and_check_take_auto_as_an_open_does() -> None:
    store: Any = memory_store(build(grid(b02=band())))
    explanation = zarr_xgroup.explain(store, assume_conventions="auto")
    (array,) = (it for it in explanation.groups[0].arrays if it.path == "/b02")
    assert array.crs is not None
    assert [it.text for it in explanation.problems] == ["assume_conventions='auto' took proj"]
    wrong = grid(b02=band(**{"proj:epsg": 1}))
    (mistake, *_others) = zarr_xgroup.check(
        memory_store(build(wrong)), assume_conventions=["auto"]
    ).mistakes
    assert "1" in mistake.text


def test_auto_is_taken_before_a_level_is_chosen() -> None:
    half = {"proj:shape": [2, 2], "proj:transform": [20.0, 0.0, 300000.0, 0.0, -20.0, 5000040.0]}
    coarse = Array(np.ones((2, 2)), ("y", "x"), {**STAC, **half})
    layout = {"multiscales": {"layout": [{"asset": "fine"}, {"asset": "coarse"}]}}
    members = {"fine": Group({"b": band()}), "coarse": Group({"b": coarse})}
    store = memory_store(build(Group(members, layout)))
    options: Any = {"resolution": 30, "assume_conventions": "auto"}
    dataset = quietly(xr.open_dataset, store, engine="xgroup", **options)
    assert dataset["x"].values.tolist() == [300010.0, 300030.0]


def test_help_says_what_auto_is() -> None:
    assert '"auto"' in str(zarr_xgroup.XGroupBackendEntrypoint.open_dataset.__doc__)
    for function in (zarr_xgroup.explain, zarr_xgroup.check):
        assert "'auto'" in str(inspect.signature(function).parameters["assume_conventions"])


def test_nothing_lacks_an_array_whose_grid_is_known_by_what_is_assumed() -> None:
    store = memory_store(build(Group({"v": band()})))
    tree, told = recorded(xr.open_datatree, store, engine="xgroup", assume_conventions="proj")
    assert told == []
    assert {"x", "y", "spatial_ref"} == set(tree.coords)


def test_arrays_of_an_assumed_principal_convention_are_none_without_one() -> None:
    tree, given = recorded(xr.open_datatree, COMMITTED, engine="xgroup", assume_conventions="cf")
    assert given == []
    assert "s_rho" in tree["ocean"].coords


# A product.


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rebuild one resolution of a product, with the values of its coordinates."""
    path = products.write("sentinel2_l1c_eopf_v2", tmp_path_factory.mktemp("product") / "s2.zarr")
    group = zarr.open_group(path / RESOLUTION, mode="r+")
    for name, values in (
        ("x", 300030 + 60 * np.arange(1830)),
        ("y", 5000010 - 60 * np.arange(1830)),
    ):
        array = group[name]
        assert isinstance(array, zarr.Array)
        array[:] = values
    return path


def test_a_product_is_georeferenced(product: Path) -> None:
    pytest.importorskip("rioxarray")
    options: dict[str, Any] = {"group": RESOLUTION, "assume_conventions": "proj"}
    dataset = opened(xr.open_dataset, product, **options)
    band = dataset["b01"]
    assert band.rio.crs.to_epsg() == dataset.rio.crs.to_epsg() == 32632
    # Of the versions of affine, some warn of what rioxarray does.
    transform = quietly(band.rio.transform)
    assert tuple(transform)[:6] == (60.0, 0.0, 300000.0, 0.0, -60.0, 5000040.0)
    assert quietly(band.rio.bounds) == (300000.0, 4890240.0, 409800.0, 5000040.0)
    small = quietly(band.isel(x=slice(0, 40), y=slice(0, 30)).rio.reproject, "EPSG:4326")
    assert small.rio.crs.to_epsg() == 4326
    left, _bottom, right, _top = quietly(small.rio.bounds)
    assert 6.4 < left < right < 6.6


# What is declared, and does not apply.


@pytest.mark.parametrize(
    ("declared", "lack"),
    [
        (declaring("spatial"), "spatial:dimensions does not name two"),
        ({"zarr_conventions": [{"name": "cs"}]}, "it has no attribute 'cs'"),
    ],
)
def test_what_an_array_lacks_whose_group_declares_a_convention(
    declared: Mapping[str, Any], lack: str
) -> None:
    members = {
        "v": Array(np.ones((3, 4)), ("y", "x")),
        "w": Array(np.ones((3, 4)), ("y", "x")),
        "named": coordinate("named", [1.0]),
        "short": Array([1.0, 2.0], ("n",)),
    }
    store = memory_store(build(Group(members, declared)))
    _dataset, given = recorded(xr.open_dataset, store, engine="xgroup")
    (told,) = given
    assert type(told) is XGroupResolutionWarning
    assert "/v, /w: its group declares" in str(told)
    assert lack in str(told)
    assert str(told).endswith("it has no coordinates along 'y', 'x'")


# What is assumed is not what arrays are.


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("assumed", [["cf"], ["cf", "spatial"], ["cf", "geolocation"]])
def test_declared_latitudes_and_longitudes_stay_coordinates(
    zarr_format: ZarrFormat, assumed: list[str]
) -> None:
    places = {"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}}
    data = Array(np.ones((3, 4)), ("line", "pixel"), declaring("geolocation", geolocation=places))
    located = Array(np.ones((3, 4)), ("line", "pixel"))
    root = Group({"data": data, "lat": located, "lon": located, "other": located})
    dataset = assuming(*assumed, root=root, zarr_format=zarr_format)
    assert set(dataset.data_vars) == {"data", "other"}
    assert set(dataset["data"].coords) == {"lat", "lon"}


@pytest.mark.parametrize("own", [("time", "y_1km", "x_1km"), ("y_1km", "x_1km")], ids=str)
def test_nothing_is_told_of_a_grid_that_has_coordinates_along_its_rows_and_columns(
    own: tuple[str, ...],
) -> None:
    sizes = {"time": 2, "band": 3, "y_1km": 4, "x_1km": 5, "y": 6, "x": 7}
    embeddings = Array(np.ones((2, 3, 4, 5)), ("time", "band", "y_1km", "x_1km"))
    members = {name: coordinate(name, np.arange(float(sizes[name]))) for name in (*own, "y", "x")}
    members |= {"embeddings_1km": embeddings, "red": Array(np.ones((6, 7)), ("y", "x"))}
    declared = declaring("spatial", **{"spatial:dimensions": ["y", "x"]})
    store = memory_store(build(Group(members, declared)))
    _dataset, told = recorded(xr.open_dataset, store, engine="xgroup")
    assert [str(it) for it in told] == []
    assert zarr_xgroup.check(store).mistakes == ()
