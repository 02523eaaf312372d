"""Which coordinate reference systems have longitude and latitude."""

import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import pyproj
import pytest
import xarray as xr

from zarr_xgroup import check
from zarr_xgroup.conventions.crs import (
    Crs,
    bucket_key,
    cf_length,
    crs_in,
    is_geographic,
    names_no_file,
)
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened,
)

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
    "code of a planet": {"proj:code": "IAU_2015:49900"},
    "code of a company": {"proj:code": "ESRI:104905"},
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


NAMES = dict.fromkeys(("WGS84", "WGS 84", "wgs84", "EPSG:4326", "OGC:CRS84"), True)
NAMES |= dict.fromkeys(
    ("", "rotated pole", "noleap", "UTM", "{x", "{}", "[", "\ud800", "\0"), False
)


@pytest.mark.parametrize(("name", "says"), NAMES.items(), ids=ascii)
def test_names(name: str, says: bool) -> None:
    for identity in (None, {}, {"proj:code": None}, "EPSG:4326", 4326, True, ["EPSG:4326"]):
        assert is_geographic(identity, name) is says
    assert is_geographic({"proj:code": "EPSG:4326"}, name) is True


@pytest.mark.parametrize("name", [None, 4326, [], {}, True], ids=str)
def test_names_that_are_no_text(name: Any) -> None:
    assert is_geographic(None, name) is False


_WGS84 = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]{extension}],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]'
)
_MERCATOR = (
    f'PROJCS["m",{_WGS84.format(extension="")},PROJECTION["Mercator_1SP"],'
    'PARAMETER["central_meridian",0],PARAMETER["scale_factor",1],PARAMETER["false_easting",0],'
    'PARAMETER["false_northing",0],UNIT["metre",1],EXTENSION["PROJ4","+proj=merc {extension}"]]'
)
_METHOD = (
    'PROJCRS["m",BASEGEOGCRS["WGS 84",DATUM["WGS_1984",ELLIPSOID["WGS 84",6378137,298.25722]]],'
    'CONVERSION["c",METHOD["{method}"]],CS[Cartesian,2],AXIS["e",east],AXIS["n",north],'
    'LENGTHUNIT["metre",1]]'
)
_BASED = "PROJ-based operation method: +proj=pipeline +step +proj=hgridshift"
_NULL_GRID = pyproj.CRS("+proj=longlat +ellps=bessel +nadgrids=@null +type=crs")

#: Texts that name a <file>. Which of them PROJ opens differs between its versions.
NAMING = {
    "init": "+init=<file>:key",
    "init without plus": "init=<file>:key",
    "grids": " +proj=longlat +nadgrids=<file> +type=crs",
    "pipeline": "+proj=pipeline +step +proj=hgridshift +grids=<file>",
    "after a code": "epsg:4326 +nadgrids=<file>",
    "parameters as JSON": '{"proj": "longlat", "nadgrids": "<file>"}',
    "init as JSON": '{"init": "<file>:key"}',
    "bound WKT": _NULL_GRID.to_wkt().replace("@null", "<file>"),
    "bound PROJJSON": _NULL_GRID.to_json().replace("@null", "<file>"),
    "extension of a datum": _WGS84.format(extension=',EXTENSION["PROJ4_GRIDS","<file>"]'),
    "extension of a vertical datum": (
        'VERT_CS["v",VERT_DATUM["d",2005,EXTENSION["PROJ4_GRIDS","<file>"]],UNIT["metre",1],AXIS["Up",UP]]'
    ),
    "extension of a projection": _MERCATOR.format(extension="+nadgrids=<file> +wktext"),
    "extension with init": _MERCATOR.format(extension="+init=<file>:key"),
    "doubled quotes": _MERCATOR.format(extension='+nadgrids=@null"",<file> +wktext'),
    "printed quotes": _MERCATOR.format(extension="+nadgrids=@null\u201d,<file> +wktext"),
    "a space that is none": _MERCATOR.format(extension="+nadgrids=@null\xa0,<file> +wktext"),
    "an equals sign more": _MERCATOR.format(extension="+nadgrids=@null=,<file> +wktext"),
    "method": _METHOD.format(method=_BASED + " +grids=<file>"),
    "method with spaces": _METHOD.format(method=_BASED + " +grids = <file>"),
    "method that is derived": _METHOD.format(method="PROJ ob_tran o_proj=longlat +init=<file>:key"),
    "operation": (
        'COORDINATEOPERATION["t",SOURCECRS[{0}],TARGETCRS[{0}],METHOD["{1} +grids=<file>"]]'.format(
            'GEOGCRS["a",DATUM["d",ELLIPSOID["e",6378137,298]],CS[ellipsoidal,2],'
            'AXIS["lat",north],AXIS["lon",east],ANGLEUNIT["degree",0.017]]',
            _BASED,
        )
    ),
}


@pytest.mark.parametrize("kind", NAMING)
def test_pyproj_is_given_no_text_that_names_a_file(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zarr_xgroup.conventions.crs._pyproj", lambda: pytest.fail("handed over"))
    for key, name in product(
        ("proj:code", "proj:wkt2", "crs_wkt"), ("/path/to/file", "file", "12")
    ):
        found = Crs(key, NAMING[kind].replace("<file>", name))
        assert not found.is_understood
        assert found.grid_mapping() == {key: found.text}


def test_pyproj_is_given_no_projjson_that_names_a_file() -> None:
    value = json.loads(NAMING["bound PROJJSON"])
    (found,) = crs_in({"proj:projjson": value})
    assert not found.is_understood


def test_proj_opens_files_that_wkt_names(tmp_path: Path) -> None:
    """If this fails, PROJ has become harmless and `names_no_file` can go."""
    pipe = tmp_path / "grid"
    os.mkfifo(pipe)
    text = NAMING["bound WKT"].replace("<file>", str(pipe))
    script = "import sys, pyproj; pyproj.CRS(sys.argv[1]).to_cf()"
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", script, text]) as process:
        opened: list[int] = []
        # Opening a pipe waits for who opens its other end.
        writer = Thread(target=lambda: opened.append(os.open(pipe, os.O_WRONLY)), daemon=True)
        writer.start()
        writer.join(60)
        process.kill()
    assert opened
    os.close(opened[0])


HARMLESS = {
    "Mercator of web maps": pyproj.CRS(3857).to_wkt("WKT1_GDAL"),
    "rotated pole": pyproj.CRS(
        "+proj=ob_tran +o_proj=longlat +o_lat_p=40 +o_lon_p=0 +lon_0=10 +type=crs"
    ).to_wkt(),
    "geostationary": pyproj.CRS(
        "+proj=geos +h=35786023 +lon_0=-75 +sweep=x +ellps=GRS80 +type=crs"
    ).to_wkt("WKT1_GDAL"),
    "shift of a datum": pyproj.CRS("+proj=longlat +ellps=bessel +towgs84=1,2,3,4,5,6,7").to_wkt(),
    "PROJJSON": pyproj.CRS(32632).to_json(),
    "ESRI": pyproj.CRS(32632).to_wkt("WKT1_ESRI"),
    "a name with a number": _WGS84.format(extension="").replace("WGS 84", "sphere (R=6371229)"),
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_texts_that_name_no_file_are_understood(kind: str) -> None:
    assert Crs("proj:wkt2", HARMLESS[kind]).is_understood


@pytest.mark.parametrize("part", ["a", " ", "=", "a=", "=1", '""', "=.,", "1=1 "])
@pytest.mark.parametrize("frame", ["{}", 'A["{}"]', '{{"a": {}}}'])
def test_long_texts_are_judged_at_once(part: str, frame: str) -> None:
    text = part * 20_000  # compared letter by letter with the rest of it: minutes
    names_no_file(frame.format(json.dumps(text) if frame.startswith("{{") else text))


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


#: Texts, each with title, code, name of a variable, and whether the first axis runs north or south.
DESCRIBED = {
    "EPSG:4326": ("WGS 84", "EPSG:4326", "EPSG_4326", True),
    "OGC:CRS84": ("WGS 84 (CRS84)", "OGC:CRS84", "OGC_CRS84", False),
    "EPSG:32633": ("WGS 84 / UTM zone 33N", "EPSG:32633", "EPSG_32633", False),
    "EPSG:3035": ("ETRS89-extended / LAEA Europe", "EPSG:3035", "EPSG_3035", True),
    "EPSG:2065": ("S-JTSK (Ferro) / Krovak", "EPSG:2065", "EPSG_2065", True),
    WKT2_ROTATED: ("Rotated pole", None, "Rotated_pole", False),
    "(no CRS)": ("(no CRS)", None, "no_CRS", False),
    "x" * 50: ("x" * 50, None, "x" * 40, False),
}


@pytest.mark.parametrize(("text", "expected"), DESCRIBED.items(), ids=range(len(DESCRIBED)))
def test_what_a_crs_is_called(text: str, expected: tuple[str, str | None, str, bool]) -> None:
    crs = Crs("name", text)
    assert (crs.title, crs.code, crs.variable_name, crs.is_north_first) == expected


@pytest.mark.parametrize(
    ("text", "other", "is_same"),
    [
        ("EPSG:4326", "EPSG:4326", True),
        ("no CRS", "no CRS", True),
        ("EPSG:4326", "OGC:CRS84", True),  # but for the order of their axes
        ("EPSG:4326", WKT1, True),
        ("EPSG:32633", WKT2_PROJECTED, True),
        ("EPSG:32633", "EPSG:32632", False),
        (WKT2_ROTATED, WKT2_GEOCENTRIC, False),
        ("EPSG:4326", "no CRS", None),
        ("other", "no CRS", None),
    ],
)
def test_which_are_the_same(text: str, other: str, is_same: bool | None) -> None:
    one, two = Crs("proj:code", text), Crs("crs_wkt", other)
    for pair in ((one, two), (two, one)):
        assert pair[0].is_same(pair[1]) is (is_same is True)
        assert pair[0].differs(pair[1]) is (is_same is False)


def test_what_is_not_understood_stays_under_its_key() -> None:
    assert Crs("proj:code", "no CRS").grid_mapping() == {"proj:code": "no CRS"}
    understood = Crs("proj:code", "EPSG:32633").grid_mapping()
    assert understood["spatial_ref"] == understood["crs_wkt"] == pyproj.CRS(32633).to_wkt()
    assert "proj:code" not in understood


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        *((name, "m") for name in ("metre", "metres", "Meter", "meters", " METRES ", "1.0 metre")),
        ("1000 metre", "km"),
        ("0.3048 metre", "foot"),
        ("0.304800609601219 metre", "US_survey_foot"),
        ("US survey foot", "US_survey_foot"),
        ("0.914398530744441 metre", "0.914398530744441 m"),
        *((name, name) for name in ("degrees_east", "degree", "km", "", "per metre", "K")),
    ],
)
def test_units_are_written_as_udunits_reads_them(unit: str, expected: str) -> None:
    assert cf_length(unit) == expected


@pytest.mark.parametrize(
    ("code", "units"),
    [("EPSG:2263", "US_survey_foot"), ("EPSG:2222", "foot"), ("EPSG:24382", "0.914398530744441 m")],
)
def test_coordinates_in_other_lengths(code: str, units: str) -> None:
    found = Crs("proj:code", code).axis_attributes()
    assert {it["units"] for it in found.values()} == {units}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            {"proj:code": "EPSG:4326", "proj:wkt2": "W"},
            [("proj:wkt2", "W"), ("proj:code", "EPSG:4326")],
        ),
        ({"proj:epsg": 4326}, [("proj:epsg", "EPSG:4326")]),
        ({"proj:projjson": {"b": 1, "a": 2}}, [("proj:projjson", '{"a": 2, "b": 1}')]),
        ({"proj:code": True, "proj:wkt2": " ", "proj:epsg": 1.5, "code": "EPSG:4326"}, []),
    ],
)
def test_what_attributes_give(values: Any, expected: list[tuple[str, str]]) -> None:
    assert [(crs.key, crs.text) for crs in crs_in(values)] == expected


def _with_part(code: Any, *keys: str | int, value: Any) -> str:
    described: Any = pyproj.CRS(code).to_json_dict()
    part = described
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    return json.dumps(described)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_with_part(4326, "id", "authority", value=""), True),  # of which PROJ writes no JSON
        (_with_part(4326, "area", value="\0"), True),
        (_with_part(7415, "components", 0, "area", value="\0"), False),
        (_with_part(7415, "components", 1, "name", value="\0"), False),
        (_with_part("+proj=utm +zone=32 +towgs84=1,2,3", "source_crs", "name", value="\0"), False),
        (
            pyproj.CRS(5041)
            .to_wkt("WKT1_GDAL")
            .replace('UNIT["metre",1,AUTHORITY["EPSG","9001"]],', ""),
            None,  # some versions of PROJ do not read it
        ),
    ],
)
def test_what_proj_reads_and_fails_at_later(text: str, expected: bool | None) -> None:
    crs = Crs("proj:projjson", text)
    is_understood = crs.is_understood
    assert expected in (is_understood, None)
    assert crs.is_geographic == (crs.title == "WGS 84")
    assert crs.differs(Crs("proj:code", "EPSG:32632")) == is_understood
    assert crs.axis_attributes().keys() == {"X", "Y"}
    assert (bucket_key(crs) == text) != is_understood
    assert ("crs_wkt" in crs.grid_mapping()) == is_understood


def test_a_text_that_is_not_unicode_is_not_understood() -> None:
    assert not Crs("crs_wkt", 'GEOGCS["\ud800"]').is_understood


_EASTING, _NORTHING = "projection_x_coordinate", "projection_y_coordinate"
_GRAD = 'ANGLEUNIT["grad",0.015707963267949]'
_OF_A_SITE = (
    'ENGCRS["site",EDATUM["site"],CS[{kind},2],AXIS["p",{x}],AXIS["q",{y}],LENGTHUNIT["metre",1]]'
)

#: Texts whose axes pyproj does not know by their names, with standard_name and units along X and Y.
DIRECTED: dict[str, tuple[str, tuple[Any, Any], tuple[Any, Any]]] = {
    "Lat, Long": (
        WKT1[:-1] + ',AXIS["Lat",NORTH],AXIS["Long",EAST]]',
        ("longitude", "degrees_east"),
        ("latitude", "degrees_north"),
    ),
    "rlon, rlat": (
        WKT2_ROTATED.replace('"longitude"', '"rlon"').replace('"latitude"', '"rlat"'),
        ("grid_longitude", "degrees"),
        ("grid_latitude", "degrees"),
    ),
    "with a height": (
        "EPSG:4979",
        ("longitude", "degrees_east"),
        ("latitude", "degrees_north"),
    ),
    "degrees and grads": (
        WKT2.replace(f"ORDER[2],{_DEGREE}", f"ORDER[2],{_GRAD}"),
        ("longitude", None),
        ("latitude", None),
    ),
    "X, Y": (
        WKT1_PROJECTED[:-1] + ',AXIS["X",EAST],AXIS["Y",NORTH]]',
        (_EASTING, "m"),
        (_NORTHING, "m"),
    ),
    "westing, southing": ("EPSG:2053", (_EASTING, "m"), (_NORTHING, "m")),
    "southing, westing": ("EPSG:5513", (_EASTING, "m"), (_NORTHING, "m")),
    "easting, northing, both to the north": (
        "EPSG:3031",
        (_EASTING, "m"),
        (_NORTHING, "m"),
    ),
    "X, Y, both to the north, and a height": (
        pyproj.CRS(3031).to_3d().to_wkt().replace("(E)", "X").replace("(N)", "Y"),
        (_EASTING, "m"),
        (_NORTHING, "m"),
    ),
    "X, Y, in no direction": (
        WKT1_PROJECTED[:-1] + ',AXIS["X",OTHER],AXIS["Y",OTHER]]',
        (_EASTING, "m"),
        (_NORTHING, "m"),
    ),
    "Y to the east": (
        WKT1_PROJECTED[:-1] + ',AXIS["Y",EAST],AXIS["X",NORTH]]',
        (_EASTING, "m"),
        (_NORTHING, "m"),
    ),
    "p, q, both to the north": (
        pyproj.CRS(3031).to_wkt().replace("(E)", "p").replace("(N)", "q"),
        (None, None),
        (None, None),
    ),
    "no direction": (
        _OF_A_SITE.format(kind="Cartesian", x="unspecified", y="unspecified"),
        (None, None),
        (None, None),
    ),
    "axes that are not at right angles": (
        _OF_A_SITE.format(kind="affine", x="east", y="north"),
        (None, None),
        (None, None),
    ),
    "time": (
        'TIMECRS["t",TDATUM["t"],CS[TemporalDateTime,1],AXIS["t",future]]',
        (None, None),
        (None, None),
    ),
}


@pytest.mark.parametrize("kind", DIRECTED)
def test_axes_lie_along_x_and_y_as_they_are_directed(kind: str) -> None:
    text, x, y = DIRECTED[kind]
    found = Crs("crs_wkt", text).axis_attributes()
    for axis, expected in (("X", x), ("Y", y)):
        assert found[axis]["axis"] == axis
        assert (found[axis].get("standard_name"), found[axis].get("units")) == expected


def test_the_name_of_a_projected_axis_tells_where_it_runs() -> None:
    found = Crs("proj:code", "EPSG:2221").axis_attributes()
    assert [found[axis]["long_name"] for axis in "XY"] == ["Westing", "Northing"]


_NAME = "WGS 84 / UTM zone 33N"
_WITHOUT_CODES = re.sub(
    r',AUTHORITY\["\w+","\w+"\]', "", pyproj.CRS("EPSG:32633").to_wkt("WKT1_GDAL")
)
_FEET = 'UNIT["US survey foot",0.3048006096012192]'


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        (_WITHOUT_CODES, True),
        (_WITHOUT_CODES.replace(_NAME, "mine"), True),
        (_WITHOUT_CODES.replace("500000", "0"), False),
        (_WITHOUT_CODES.replace('"central_meridian",15', '"central_meridian",15.5'), False),
        (_WITHOUT_CODES.replace("6378137", "6378000"), False),
        (_WITHOUT_CODES.replace('UNIT["metre",1]', _FEET), False),
    ],
    ids=["its own", "another name", "easting", "meridian", "ellipsoid", "feet"],
)
def test_a_system_is_what_it_says_and_not_what_it_is_called(text: str, is_same: bool) -> None:
    crs, code = Crs("crs_wkt", text), Crs("proj:code", "EPSG:32633")
    assert crs.is_understood
    for one, other in ((crs, code), (code, crs)):
        assert one.is_same(other) is is_same
        assert one.differs(other) is not is_same


_SHIFT = "TOWGS84[598.1,73.7,418.2,0.202,0.045,-2.455,6.7]"


_LOCAL = 'LOCAL_CS["mine",UNIT["metre",1],AXIS["X",EAST],AXIS["Y",NORTH]]'
_ROTATED = "+proj=ob_tran +o_proj=longlat +o_lon_p=0 +o_lat_p=39.25 +lon_0=18 +type=crs"
_ROTATED = pyproj.CRS(_ROTATED).to_wkt()


def test_wkt_1_with_heights_is_the_system_of_its_code() -> None:
    text = pyproj.CRS("EPSG:5850").to_wkt("WKT1_GDAL")
    assert Crs("proj:wkt2", text).is_same(Crs("proj:code", "EPSG:5850"))
    other = Crs("proj:wkt2", text.replace("150000", "250000"))
    assert other.differs(Crs("proj:code", "EPSG:5850"))


@pytest.mark.parametrize("code", [2193, 3035, 31467, 32633])
@pytest.mark.parametrize("shift", ["", _SHIFT], ids=["no shift", "with a shift"])
@pytest.mark.parametrize("version", ["WKT1_GDAL", "WKT1_ESRI"])
def test_wkt_1_with_its_code_is_the_system_of_the_code(code: int, shift: str, version: str) -> None:
    spheroid = re.compile(r"(SPHEROID\[[^\[\]]*(\[[^\[\]]*\])?\])")
    text = pyproj.CRS(code).to_wkt(version)
    assert text is not None
    text = spheroid.sub(rf"\1,{shift}", text) if shift else text
    assert ("TOWGS84" in text) is bool(shift)
    written, system = Crs("proj:wkt2", text), Crs("proj:code", f"EPSG:{code}")
    assert written.is_understood
    assert written.is_same(system)
    assert bucket_key(written) == bucket_key(system)
    assert not system.differs(written)
    assert written.differs(Crs("proj:code", "EPSG:32634"))
    assert bucket_key(written) != bucket_key(Crs("proj:code", "EPSG:32634"))


@pytest.mark.parametrize("code", [2056, 2154, 3375, 3857, 4326, 5773, 5850, 6810, 27572, 27700])
def test_systems_are_alike_however_they_are_written(code: int) -> None:
    system = Crs("proj:code", f"EPSG:{code}")
    known = pyproj.CRS(code)
    texts = [known.to_wkt(it) for it in ("WKT1_GDAL", "WKT1_ESRI", "WKT2_2015", "WKT2_2019")]
    written = [Crs("crs_wkt", it) for it in texts if it]
    written.append(Crs("proj:projjson", known.to_json()))
    without_codes = re.compile(r',(AUTHORITY|ID)\["\w+","?\w+"?\]')
    written += [Crs("crs_wkt", without_codes.sub("", it.text)) for it in written[:-1]]
    same = [it for it in written if it.is_same(system)]
    assert len(same) >= 3
    assert {bucket_key(it) for it in same} == {bucket_key(system)}


@pytest.mark.parametrize("text", ["EPSG:4978", "EPSG:5773", "EPSG:7405", "mine", _LOCAL, _ROTATED])
def test_systems_of_any_kind_can_be_looked_for(text: str) -> None:
    found = {bucket_key(Crs("crs_wkt", it)): it for it in (text, "EPSG:32633", text)}
    assert list(found.values()) == [text, "EPSG:32633"]


def test_systems_of_which_only_the_shifts_differ() -> None:
    texts = [f"+proj=utm +zone=30 +ellps=intl +towgs84={x},-98,-121 +type=crs" for x in (-87, -84)]
    one, other = (Crs("proj:wkt2", pyproj.CRS(text).to_wkt()) for text in texts)
    turned = Crs("proj:wkt2", pyproj.CRS(f"{texts[0]} +axis=neu").to_wkt())
    assert one.differs(other)
    assert one.is_same(turned)


def test_systems_without_a_code_are_not_the_same() -> None:
    texts = [pyproj.CRS(f"+proj=ortho +lon_0={n} +type=crs").to_wkt() for n in (1, 2)]
    one, other = (Crs("proj:wkt2", text) for text in texts)
    assert one.is_understood
    assert one.differs(other)


def without_units(code: str) -> dict[str, Any]:
    """Return the PROJJSON of a code, its axes without units, which its schema allows."""
    described: dict[str, Any] = pyproj.CRS(code).to_json_dict()
    pending: list[Any] = [described]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending += part.values()
            for axis in part.get("axis", ()):
                del axis["unit"]
        elif isinstance(part, list):
            pending += part
    return described


@pytest.mark.parametrize(
    "code", ["EPSG:32633", "EPSG:4326", "EPSG:4979", "EPSG:4978", "EPSG:5773", "EPSG:9518"]
)
def test_axes_of_projjson_need_no_units(code: str) -> None:
    bare, whole = next(crs_in({"proj:projjson": without_units(code)})), Crs("proj:code", code)
    assert bare.is_understood
    assert bare.is_same(whole)
    assert (bare.title, bare.code) == (whole.title, whole.code)
    assert (bare.is_geographic, bare.is_north_first) == (whole.is_geographic, whole.is_north_first)
    assert pyproj.CRS(bare.grid_mapping()["crs_wkt"]) == pyproj.CRS(code)
    expected = whole.axis_attributes()
    for attributes in expected.values():
        attributes.pop("units", None)  # it does not say
    assert bare.axis_attributes() == expected


def test_a_unit_of_projjson_that_is_none_is_not_understood() -> None:
    described = without_units("EPSG:32633")
    described["coordinate_system"]["axis"][0]["unit"] = None
    assert not next(crs_in({"proj:projjson": described})).is_understood


@pytest.mark.parametrize("axis", [7, None, [], {}, [7], [None], [{}], {"axis": [{}]}])
@pytest.mark.parametrize("subtype", ["Cartesian", 7, [], None])
def test_odd_axes_of_projjson_are_not_understood(axis: Any, subtype: Any) -> None:
    described = {
        **without_units("EPSG:4326"),
        "coordinate_system": {"subtype": subtype, "axis": axis},
    }
    assert not next(crs_in({"proj:projjson": described})).is_understood


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_grid_whose_projjson_has_axes_without_units(zarr_format: ZarrFormat) -> None:
    own = {
        "proj:projjson": without_units("EPSG:32633"),
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": [10.0, 0.0, 300000.0, 0.0, -10.0, 5000000.0],
    }
    field = Array([[1.0, 2.0]], ("y", "x"), declaring("spatial", "proj", **own))
    store = memory_store(build(Group({"v": field}), zarr_format=zarr_format))
    dataset = opened(xr.open_dataset, store)
    assert dataset.x.values.tolist() == [300005.0, 300015.0]
    assert dataset.x.attrs["standard_name"] == "projection_x_coordinate"
    assert "units" not in dataset.x.attrs
    assert pyproj.CRS(dataset.spatial_ref.attrs["crs_wkt"]) == pyproj.CRS(32633)
    assert check(store).is_clean
