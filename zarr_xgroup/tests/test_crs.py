"""Which coordinate reference systems have longitude and latitude."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarr_xgroup.conventions.crs import Crs, is_geographic

_DATUM = (
    'DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563,'
    'LENGTHUNIT["metre",1]]]'
)
_DEGREE = 'ANGLEUNIT["degree",0.0174532925199433]'
_ELLIPSOIDAL = (
    f'CS[ellipsoidal,2],AXIS["latitude",north,ORDER[1],{_DEGREE}],'
    f'AXIS["longitude",east,ORDER[2],{_DEGREE}]'
)
_UTM = (
    'CONVERSION["UTM zone 33N",METHOD["Transverse Mercator",ID["EPSG",9807]],'
    f'PARAMETER["Latitude of natural origin",0,{_DEGREE}],'
    f'PARAMETER["Longitude of natural origin",15,{_DEGREE}],'
    'PARAMETER["Scale factor at natural origin",0.9996,SCALEUNIT["unity",1]],'
    'PARAMETER["False easting",500000,LENGTHUNIT["metre",1]],'
    'PARAMETER["False northing",0,LENGTHUNIT["metre",1]]],'
    'CS[Cartesian,2],AXIS["easting",east,ORDER[1],LENGTHUNIT["metre",1]],'
    'AXIS["northing",north,ORDER[2],LENGTHUNIT["metre",1]]'
)

WKT2 = f'GEOGCRS["WGS 84",{_DATUM},{_ELLIPSOIDAL}]'
WKT2_2015 = f'GEODCRS["WGS 84",{_DATUM},{_ELLIPSOIDAL}]'
WKT1 = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]'
)
WKT1_PROJECTED = (
    f'PROJCS["UTM",{WKT1},PROJECTION["Transverse_Mercator"],PARAMETER["central_meridian",15],'
    'PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],UNIT["metre",1]]'
)
WKT2_PROJECTED = f'PROJCRS["UTM 33N",BASEGEOGCRS["WGS 84",{_DATUM}],{_UTM}]'
WKT2_ROTATED = (
    f'GEOGCRS["Rotated pole",BASEGEOGCRS["WGS 84",{_DATUM}],DERIVINGCONVERSION["Pole rotation",'
    'METHOD["PROJ ob_tran o_proj=longlat"],PARAMETER["o_lon_p",0],PARAMETER["o_lat_p",39.25],'
    'PARAMETER["lon_0",18]],CS[ellipsoidal,2],AXIS["longitude",east,ORDER[1],'
    f'{_DEGREE}],AXIS["latitude",north,ORDER[2],{_DEGREE}]]'
)
WKT2_GEOCENTRIC = (
    f'GEODCRS["WGS 84",{_DATUM},CS[Cartesian,3],'
    'AXIS["(X)",geocentricX,ORDER[1],LENGTHUNIT["metre",1]],'
    'AXIS["(Y)",geocentricY,ORDER[2],LENGTHUNIT["metre",1]],'
    'AXIS["(Z)",geocentricZ,ORDER[3],LENGTHUNIT["metre",1]]]'
)

_JSON_DATUM = {
    "type": "GeodeticReferenceFrame",
    "name": "World Geodetic System 1984",
    "ellipsoid": {"name": "WGS 84", "semi_major_axis": 6378137, "inverse_flattening": 298.257},
}


def projjson(kind: str, subtype: str, *axes: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "type": kind,
        "name": "it",
        "datum": _JSON_DATUM,
        "coordinate_system": {
            "subtype": subtype,
            "axis": [
                {"name": name, "abbreviation": name, "direction": direction, "unit": unit}
                for name, direction, unit in axes
            ],
        },
    }


_LON, _LAT = ("Longitude", "east", "degree"), ("Latitude", "north", "degree")
PROJJSON = projjson("GeographicCRS", "ellipsoidal", _LAT, _LON)
PROJJSON_GEOCENTRIC = projjson(
    "GeodeticCRS",
    "Cartesian",
    *((f"({name})", f"geocentric{name}", "metre") for name in "XYZ"),
)
PROJJSON_ROTATED = {
    **{key: value for key, value in PROJJSON.items() if key != "datum"},
    "type": "DerivedGeographicCRS",
    "base_crs": PROJJSON,
    "conversion": {
        "name": "Pole rotation",
        "method": {"name": "PROJ ob_tran o_proj=longlat"},
        "parameters": [
            {"name": name, "value": value, "unit": "degree"}
            for name, value in [("o_lon_p", 0), ("o_lat_p", 39.25), ("lon_0", 18)]
        ],
    },
}

GEOGRAPHIC: dict[str, Any] = {
    "code": {"proj:code": "EPSG:4326"},
    "code in lower case": {"proj:code": "epsg:4326"},
    "code of CRS84": {"proj:code": "OGC:CRS84"},
    "epsg": {"proj:epsg": 4326},
    "wkt2": {"proj:wkt2": WKT2},
    "wkt2 of 2015": {"proj:wkt2": WKT2_2015},
    "wkt1": {"proj:wkt2": WKT1},
    "wkt with spaces": {"proj:wkt2": "\n  " + WKT2.replace("[", " [")},
    "projjson": {"proj:projjson": PROJJSON},
    "null beside": {"proj:projjson": None, "proj:wkt2": None, "proj:code": "EPSG:4326"},
}
NOT_GEOGRAPHIC: dict[str, Any] = {
    "code": {"proj:code": "EPSG:32633"},
    "epsg": {"proj:epsg": 32633},
    "wkt2": {"proj:wkt2": WKT2_PROJECTED},
    "wkt1": {"proj:wkt2": WKT1_PROJECTED},
    "geocentric wkt2": {"proj:wkt2": WKT2_GEOCENTRIC},
    "geocentric projjson": {"proj:projjson": PROJJSON_GEOCENTRIC},
    "geocentric code": {"proj:code": "EPSG:4978"},
    "rotated pole wkt2": {"proj:wkt2": WKT2_ROTATED},
    "rotated pole projjson": {"proj:projjson": PROJJSON_ROTATED},
    "more says otherwise": {"proj:wkt2": WKT2_PROJECTED, "proj:code": "EPSG:4326"},
    "nothing": {},
    "null": {"proj:code": None},
    "unknown key": {"code": "EPSG:4326"},
    "unknown code": {"proj:code": "EPSG:0"},
    "no code": {"proj:code": "rotated pole"},
    "empty": {"proj:code": ""},
    "number": {"proj:code": 0.5},
    "boolean": {"proj:epsg": True},
    "list": {"proj:code": ["EPSG:4326"]},
    "empty object": {"proj:projjson": {}},
    "other object": {"proj:projjson": {"type": "GeographicCRSs"}},
    "odd type": {"proj:projjson": {"type": [{}]}},
    "no wkt": {"proj:wkt2": "GEOGCR"},
    "no json": {"proj:wkt2": "{x"},
    "surrogate": {"proj:code": "\ud800"},
}


@pytest.mark.parametrize("identity", GEOGRAPHIC.values(), ids=GEOGRAPHIC)
def test_geographic(identity: Any) -> None:
    assert is_geographic(identity) is True
    # The name counts only where there is nothing better.
    assert is_geographic(identity, "UTM zone 33N") is True
    assert is_geographic(identity, 5) is True


@pytest.mark.parametrize("identity", NOT_GEOGRAPHIC.values(), ids=NOT_GEOGRAPHIC)
def test_not_geographic(identity: Any) -> None:
    assert is_geographic(identity) is False


@pytest.mark.parametrize("identity", [None, "EPSG:4326", 4326, 0.5, True, [], ["EPSG:4326"]])
def test_what_is_no_identity(identity: Any) -> None:
    assert is_geographic(identity) is False
    assert is_geographic(identity, "WGS84") is True


@pytest.mark.parametrize("name", ["WGS84", "WGS 84", "wgs84", "EPSG:4326", "OGC:CRS84"])
def test_names(name: str) -> None:
    assert is_geographic(None, name) is True
    assert is_geographic({}, name) is True
    assert is_geographic({"proj:code": None}, name) is True


@pytest.mark.parametrize(
    "name",
    [
        "",
        "rotated pole",
        "noleap",
        "UTM",
        "{x",
        "{}",
        "[",
        "\ud800",
        "\0",
        None,
        4326,
        [],
        {},
        True,
    ],
    ids=ascii,
)
def test_names_that_say_nothing(name: Any) -> None:
    assert is_geographic(None, name) is False
    assert is_geographic({"proj:code": "EPSG:4326"}, name) is True


@pytest.mark.parametrize(
    "code",
    ["EPSG:4258", "EPSG:4979", "urn:ogc:def:crs:EPSG::4326", "IAU_2015:49900", "ESRI:104905"],
)
def test_codes_of_the_data_base(code: str) -> None:
    assert is_geographic({"proj:code": code}) is True


@pytest.mark.parametrize("text", ["EPSG:2154", "EPSG:4326", "no CRS"])
def test_what_is_returned_cannot_be_changed(text: str) -> None:
    crs = Crs("proj:code", text)
    mapping, axes = crs.grid_mapping(), crs.axis_attributes()
    with pytest.raises(TypeError):
        crs.grid_mapping()["x"] = 1  # type: ignore[index]
    for attributes in crs.axis_attributes().values():
        attributes.clear()
    assert mapping
    assert crs.grid_mapping() == mapping
    assert all(axes.values())
    assert crs.axis_attributes() == axes


def test_pyproj_is_imported_when_a_crs_is_met() -> None:
    program = "import sys, zarr_xgroup.backend; sys.exit('pyproj' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values),
    max_leaves=5,
)
_KEYS = st.sampled_from(["proj:code", "proj:wkt2", "proj:projjson", "proj:epsg", "type"])
_BEGINNINGS = st.sampled_from(["", "GEOGCRS[", "{", "EPSG:", "+proj=longlat ", "[", "GEOGCS"])
_TEXTS = st.builds(str.__add__, _BEGINNINGS, st.text(max_size=8))


@settings(derandomize=True, deadline=None, max_examples=50)
@given(_JSON | st.dictionaries(_KEYS, _JSON | _TEXTS, max_size=2), _JSON | _TEXTS)
def test_nothing_raises(identity: Any, name: Any) -> None:
    assert is_geographic(identity, name) in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "+init={file}:key",
        "init={file}:key",
        " +proj=longlat +nadgrids={file} +type=crs",
        "+proj=pipeline +step +proj=hgridshift +grids={file}",
        "proj=longlat ellps=WGS84",
        "epsg:4326 +nadgrids={file}",
    ],
)
def test_no_file_is_opened_for_a_code(text: str, tmp_path: Path) -> None:
    file = tmp_path / "defs"
    file.write_text("<key> +proj=longlat +datum=WGS84 +type=crs <>\n")
    found = Crs("proj:code", text.format(file=file))
    assert not found.is_understood
    assert found.grid_mapping() == {"proj:code": found.text}


@pytest.mark.parametrize(
    "text",
    [
        "EPSG:32632",
        "epsg:4326",
        "OGC:CRS84",
        "urn:ogc:def:crs:EPSG::4326",
        "http://www.opengis.net/def/crs/EPSG/0/4326",
        "WGS 84 / UTM zone 32N",
    ],
)
def test_codes_and_names_are_understood(text: str) -> None:
    assert Crs("proj:code", text).is_understood


def test_a_projection_without_one_of_its_parameters_is_passed_on_as_wkt() -> None:
    attributes = Crs("proj:wkt2", WKT1_PROJECTED).grid_mapping()
    assert set(attributes) == {"crs_wkt", "spatial_ref"}
    assert "Transverse" in attributes["crs_wkt"]
